"""Comparisons of two models, everywhere in a domain or near rows: of labels, and of numbers.

Labels are compared by proofs on boxes (`prove`) or on the lines of rows (`near_rows`),
numbers by bounds on their difference (`numeric_difference`). The rows themselves are put to the
models as they were given (`base.Rows`), before anything else; and every counterexample is put to
the models' own ``predict``.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from sys import maxsize

import numpy as np

from ensemble_simplify.base import differ
from ensemble_simplify.grid import Axes, Stopped, distinct_rows, is_late, time_left
from ensemble_simplify.proof.changed_boxes import same_trees
from ensemble_simplify.proof.forest_pair import Space, common_labels, may_begin, points_in
from ensemble_simplify.proof.near_rows import Lines, points_apart
from ensemble_simplify.proof.numeric_difference import Closeness, CloseOdds, CloseValues
from ensemble_simplify.proof.outcome import Verification, shown_row
from ensemble_simplify.proof.prove import prove
from ensemble_simplify.reading import common_forests

# Boxes searched, where no limit is set, for ties of models that have the same trees in another
# order: bounds tell them apart only where hardly any tree is left to be decided.
TIE_BOXES = 200_000


def compare_labels(models, inside, given, max_changes, max_boxes, n_jobs):
    """Compare what two classifiers predict; `given` are the `Rows`, if there are any."""
    forests = common_forests(models)
    space, n_boxes, row_of = None, 0, None
    if given is not None:
        outcome = _labels_of_rows(models, given)
        if max_changes == 0 or not outcome.equal:
            return outcome
        equal, row_of, row = _compare_near(forests, inside, given, max_changes, n_jobs)
    elif not may_begin(forests):
        return Verification(None, reason="time")
    else:
        try:
            space = Space(forests, domain=inside, in_time=True)
            if space.same and time_left() == np.inf and max_boxes == maxsize:
                max_boxes = TIE_BOXES
            equal, n_boxes = _add_up_alike(space.same, lambda: space.forests[0].sums) or None, 1
            if equal is None:
                equal, cells, n_boxes = prove(space, max_boxes)
            if equal is False:
                row = points_in(space.axes, inside, cells)[0]
        except Stopped:
            # before the trees were laid out
            return Verification(None, reason="time")
    if not equal:
        reason = None
        if equal is None:
            reason = "time" if is_late() else "boxes"
            if space is not None and space.same:
                reason = "rounding"
            return Verification(None, n_boxes=n_boxes, reason=reason)
        row = row if given is None else row.astype(given.numbers.dtype)
        predictions = tuple(model.labels(row[None]).tolist()[0] for model in models)
        if predictions[0] == predictions[1]:
            raise RuntimeError(
                f"The trees of the models differ at {shown_row(row)}, but their own predict "
                f"answers {predictions[0]!r} in both. Scores that are nearly tied can depend on "
                "the order of addition: set n_jobs=None in the ensembles and their members."
            )
        return Verification(False, row, predictions, n_boxes, row=row_of)
    return Verification(True, n_boxes=n_boxes)


def _labels_of_rows(models, given):
    """Compare what two classifiers answer to rows as they were given."""
    try:
        for begin, (a, b) in given.answers(models):
            apart = np.flatnonzero(differ(a, b))
            if apart.size:
                i = int(apart[0])
                answers = a[i : i + 1].tolist()[0], b[i : i + 1].tolist()[0]
                return Verification(False, given.numbers[begin + i], answers, row=begin + i)
    except Stopped:
        return Verification(None, reason="time")
    return Verification(True)


def compare_numbers(models, inside, tolerance, given, max_changes, max_boxes, n_jobs):
    """Compare the values of two regressors, or the probabilities of two classifiers.

    `given` are the `Rows`, if there are any.
    """
    sums_of(models, tolerance, refuse=True)
    columns, n_outputs = places_of(models)
    largest = 0.0
    if given is not None:
        asked = _numbers_of_rows(models, given, columns, n_outputs, tolerance)
        if max_changes == 0 or asked.reason:
            return asked
        largest = asked.max_difference
    try:
        closeness = closeness_of(models, inside, tolerance, max_changes is not None)
    except Stopped:
        return Verification(
            None, max_difference=largest, max_difference_bound=np.inf, reason="time"
        )
    axes = closeness.axes
    if given is not None and not asked.equal:
        return replace(asked, max_difference_bound=max(closeness.furthest(), largest))
    closeness.found.largest = largest
    row_of, row = None, None
    is_copy = closeness.proves_copy()
    if is_copy or max_changes is None:
        found = closeness.found
        if not is_copy:
            found = closeness.everywhere(np.random.default_rng(0), max_boxes)
        if found.cell is not None:
            row = points_in(axes, inside, found.cell[None])[0]
    else:
        X = given.rounded(axes.row_dtype)
        found = closeness.found
        try:
            cells, first = _cells_of(axes, X)
            found = closeness.near(cells[first], min(max_changes, len(axes.shape)), n_jobs)
        except Stopped:
            found.bound, found.reason = closeness.furthest(), "time"
        if found.cell is not None:
            row_of = int(first[found.row])
            row = _moved(X[row_of], cells[row_of], found.cell, axes, inside)
            row = row.astype(given.numbers.dtype)
    predictions = None
    if row is not None:
        predictions = _predictions(models, [_own_numbers(m, row[None])[0] for m in models])
    return Verification(
        found.outcome,
        row,
        predictions,
        closeness.n_boxes,
        row=row_of,
        max_difference=found.largest,
        max_difference_bound=max(found.bound, found.largest),
        reason=found.reason,
    )


def closeness_of(models, inside, tolerance, near=False):
    """Two models' numbers on a common grid; None where they are no sums.

    With `near`, axes are those on which changes of rows are counted.
    """
    parts = sums_of(models, tolerance)
    if parts is None:
        return None
    (kind, sums, last), forests = parts, common_forests(models)
    columns, n_outputs = places_of(models)
    forests, axes, outside = _on_grid(forests, inside, near)
    trees = [axes.encode_forest(forest) for forest in forests]

    def numbers(cells):
        rows = points_in(axes, inside, cells)
        return side_by_side([_own_numbers(m, rows) for m in models], columns, n_outputs)

    closeness = kind(
        sums,
        columns if kind is Closeness else [np.zeros(1, dtype=np.intp)] * 2,
        trees,
        axes,
        outside,
        numbers,
        tolerance[0],
        last,
    )
    closeness.is_copy = _rounds_alike(models, forests) and _add_up_alike(
        same_trees(forests, trees), lambda: sums[0]
    )
    return closeness


def _numbers_of_rows(models, given, columns, n_outputs, tolerance):
    """How far apart two models' numbers are on rows as they were given."""
    atol, rtol = tolerance
    method = "predict_proba" if models[0].is_classifier else "predict"
    largest, row, predictions, reason = 0.0, None, None, None
    try:
        for begin, answers in given.answers(models, method):
            own = [np.asarray(part, dtype=np.float64) for part in answers]
            own = [part if part.ndim == 2 else part[:, None] for part in own]
            a, b = side_by_side(own, columns, n_outputs)
            difference = np.abs(a - b)
            largest = max(largest, float(difference.max()))
            apart = np.flatnonzero((difference > atol + rtol * np.abs(b)).any(axis=1))
            if apart.size and row is None:
                row = begin + int(apart[0])
                predictions = _predictions(models, [part[apart[0]] for part in own])
    except Stopped:
        reason = "time"
    equal = False if row is not None else (None if reason else True)
    return Verification(
        equal,
        None if row is None else given.numbers[row],
        predictions,
        row=row,
        max_difference=largest,
        max_difference_bound=np.inf if reason else largest,
        reason=reason,
    )


def side_by_side(answers, columns, n_outputs):
    """Numbers of two models, in the places of their outputs among those of both."""
    found = np.zeros((2, len(answers[0]), n_outputs))
    for out, own, place in zip(found, answers, columns, strict=True):
        out[:, place] = own
    return found


def _predictions(models, answers):
    """Both models' numbers for one row: values of regressors, or the probabilities of classes."""
    if models[0].is_classifier:
        return tuple(np.asarray(own, dtype=np.float64) for own in answers)
    return tuple(float(own[0]) for own in answers)


def places_of(models):
    """The places of each model's outputs among those of both, and how many there are."""
    if not models[0].is_classifier:
        return [np.zeros(1, dtype=np.intp)] * 2, 1
    labels, columns = common_labels([model.classes for model in models])
    return columns, len(labels)


def sums_of(models, tolerance, refuse=False):
    """How numbers are compared: a class, the sums of both models, and its last argument.

    None where their numbers are no sums of what their trees say; with `refuse`, an error tells why.
    """
    forests = common_forests(models)
    sums = [forest.number_sums for forest in forests]
    if all(part is not None for part in sums):
        return Closeness, sums, tolerance[1]
    links = {forest.vote.link_kind for forest in forests}
    if forests[0].classes is None and "sigmoid" not in links:
        less = float("expm1" in links)
        logs = [forest.log_sums_less(less) for forest in forests]
        # differences are the same once one is taken off both, their shares of a value are not
        shares = tolerance[1] > 0 and "expm1" in links
        if None not in (logs[0], logs[1]) and not shares and len(links - {None}) <= 1:
            return partial(CloseValues, less=less), logs, tolerance[1]
        if not refuse:
            return None
        if shares:
            raise TypeError(
                f"model_a and model_b are {models[0].name}(...) and {models[1].name}(...), whose "
                "values are exponentials less one: of these, rtol is not supported. Use atol."
            )
        raise TypeError(
            f"model_a and model_b are {models[0].name}(...) and {models[1].name}(...): values of "
            "one are sums over its trees, those of the other are exponentials of such sums, or "
            "neither. Both must be of one kind, or one of them a single tree of positive values. "
            "Give the models inside a TransformedTargetRegressor (regressor_), or compare rows "
            "with agreement."
        )
    odds = [forest.odds_sums for forest in forests]
    if any(part is None for part in odds) or tolerance[1] > 0:
        if not refuse:
            return None
        at = [part is None for part in sums].index(True)
        raise TypeError(
            f"atol and rtol compare probabilities, but those of {models[at].name}(...) "
            "are not means over its trees. Probabilities can be compared of trees, forests, "
            "bagging and soft votes over these and, with atol alone, of two boosted classifiers of "
            "two classes. Leave atol and rtol out to compare labels."
        )
    labels = [None if f.classes is None else f.classes.tolist() for f in forests]
    if labels[0] != labels[1]:
        if not refuse:
            return None
        raise ValueError(
            f"model_a has the classes {labels[0]}, model_b {labels[1]}. Probabilities of boosted "
            "classifiers can only be compared if both have the same classes. Leave atol out to "
            "compare labels."
        )
    dtypes = [forest.vote.dtype for forest in forests]
    return CloseOdds, odds, "float32" if "float32" in dtypes else "float64"


def _own_numbers(model, X):
    """Values or probabilities that a model itself answers, of shape (n, n_outputs)."""
    if model.is_classifier:
        return np.asarray(model.answers(X, "predict_proba"), dtype=np.float64)
    return np.asarray(model.answers(X), dtype=np.float64)[:, None]


def _add_up_alike(same, sums_of):
    """Whether forests of the same trees, see `same_trees`, come to the same sums, bit for bit.

    ``sums_of()`` answers the sums of the first; it is not called unless they matter.
    """
    if same == "in another order":
        sums = sums_of()
        return sums is not None and sums.is_exact
    return same is not None


def _rounds_alike(models, forests):
    """Whether models with equal sums answer equal numbers: libraries round exponentials apart."""
    links = [forest.vote.link for forest in forests]
    same = type(models[0].estimator) is type(models[1].estimator)
    return same or all(link is None or link.is_followed for link in links)


def _compare_near(forests, inside, given, max_changes, n_jobs):
    """Compare two models near some rows: (outcome, number of a row, point near it)."""
    try:
        forests, axes, outside = _on_grid(forests, inside, near=True)
        _, columns = common_labels([forest.classes for forest in forests])
        models = [(Lines(f, axes, outside), c) for f, c in zip(forests, columns, strict=True)]
        same = same_trees(forests, [lines.trees for lines, _ in models])
        if _add_up_alike(same, lambda: forests[0].sums):
            return True, None, None
        X = given.rounded(axes.row_dtype)
        max_changes = min(max_changes, len(axes.shape))
        cells, first = _cells_of(axes, X)
        near = cells[first], axes.shape, max_changes
        for row, found in points_apart(*models, *near, n_jobs):
            if len(row):
                i = int(first[row[0]])
                return False, i, _moved(X[i], cells[i], found[0], axes, inside)
    except Stopped:
        return None, None, None
    return True, None, None


def _on_grid(forests, inside, near):
    """Forests as their domain has them, their common axes, and regions outside of the domain.

    With `near`, axes are those on which changes of rows are counted. Raises `Stopped`.
    """
    if inside is None:
        return forests, Axes.of(*(forest.laid_out() for forest in forests)), None
    forests = [inside.read(forest) for forest in forests]
    axes = Axes.of(*(forest.laid_out() for forest in forests))
    axes = inside.with_ties(axes) if near else axes
    return forests, axes, inside.outside(axes)


def _cells_of(axes, X):
    """Cells of rows, int32 of shape (n_rows, n_axes), and the first row in each of them.

    Raises `Stopped` when the time is over.
    """
    cells = np.ascontiguousarray(axes.encode_rows(X).T)
    return cells, np.sort(distinct_rows(cells)[0])


def _moved(x, cell, target, axes, inside):
    """The row of a cell, changed only on the axes on which another cell differs."""
    target = target[None]
    points = points_in(axes, inside, target)
    changed = axes.features[cell != target[0]]
    moved = x.copy()
    moved[changed] = points[0, changed]
    return moved
