"""Proof that two tree models answer alike on every finite input, or a row on which they differ.

Nothing of the born-again search is used here: boxes are settled by bounds on the restricted trees
of each model (`_certify`), then of both at once (`_pairing`); numbers are compared by bounds on
their difference (`_closeness`). Every counterexample is put to the models' own ``predict``.
"""

from __future__ import annotations

import copy
import time
import warnings
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral, Real

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils import check_array

from ensemble_simplify._axes import Axes, children
from ensemble_simplify._base import (
    Interval,
    StrOptions,
    check_missing,
    columns_of,
    unwrap,
    validate_params,
)
from ensemble_simplify._cells import Stopped, paint_lines
from ensemble_simplify._certify import Certifier
from ensemble_simplify._closeness import Closeness, CloseOdds, Found, Scores
from ensemble_simplify._domain import Domain, read_domain
from ensemble_simplify._forest import read_forest, readable
from ensemble_simplify._neighbourhood import Lines, differences
from ensemble_simplify._pairing import PairOfVotes, Sums

_EPS = float(np.finfo(np.float64).eps)
# Leaves whose depths forecast the size of a tree.
FORECAST_LEAVES = 2000
# Boxes in which two models differ, beyond which they are compared everywhere.
MOST_CHANGED = 200
# Boxes looked at with bounds on each model alone, before bounds on both together; and how many
# times more where they take turns.
FIRST_BOXES, MORE_BOXES = 2000, 16
# Near ties of changed models: times that every box is searched, cells at a time, passes over their
# coordinates; seconds at most, and the share of a time limit.
TIE_STARTS, TIE_CELLS, TIE_SWEEPS, TIE_SECONDS, TIE_SHARE = 16, 8, 3, 5.0, 0.4


@dataclass(frozen=True, eq=False, repr=False)
class Verification:
    """Outcome of `verify`.

    It is true (in the sense of ``if``) only where equality, or closeness, is proven.

    Parameters
    ----------
    equal : bool or None
        True: proven; False: there is a counterexample; None: a limit came first.
    counterexample : ndarray of shape (n_features,) or None
        A row of float64, which float32 represents exactly, on which the models differ. Of models
        that take tables of text or categories, a table of one row.
    predictions : tuple or None
        What the two models answer to it: labels, values of regressors, or the probabilities of
        each one's classes.
    n_boxes : int
        Boxes of the feature space that were looked at.
    seconds : float
        Time taken.
    domain : Domain, dict or None
        Where the models were compared; None: on every finite input.
    max_changes : int or None
        Compared were the points that differ from some row in at most so many features; None: all.
    row : int or None
        With `max_changes`, the row of `X` from which the counterexample differs.
    tolerance : pair of float or None
        Of numbers that were compared: ``(atol, rtol)``; None: labels were.
    max_difference : float or None
        Of numbers: the largest absolute difference that was seen, of the models' own answers.
    max_difference_bound : float or None
        Of numbers: no absolute difference is larger, at any point that counts.
    reason : {None, "time", "boxes", "rounding"}
        Why it is undecided: `time_limit`, `max_boxes`, or the largest difference lies within
        rounding of the tolerance at too many points to look at each.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from ensemble_simplify import verify
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = DecisionTreeClassifier(random_state=0).fit(X, y)
    >>> outcome = verify(tree, tree)
    >>> outcome.equal, outcome.counterexample
    (True, None)
    """

    equal: bool | None
    counterexample: np.ndarray | None
    predictions: tuple | None
    n_boxes: int
    seconds: float
    domain: Domain | dict | None = None
    max_changes: int | None = None
    row: int | None = None
    tolerance: tuple | None = None
    max_difference: float | None = None
    max_difference_bound: float | None = None
    reason: str | None = None

    def __bool__(self):
        return self.equal is True

    def __repr__(self):
        effort = f"{self.n_boxes} boxes in {self.seconds:.3g} s"
        if self.max_changes is not None:
            effort = f"{self.seconds:.3g} s"
        if self.tolerance is not None:
            effort = f"{self._range()}; {effort}"
        if self.equal:
            where = "every finite input" if self.domain is None else "every input in the domain"
            if self.max_changes is not None:
                where += _near(self.max_changes)
            return f"Verification(equal=True: proven for {where}; {effort})"
        if self.equal is None:
            why = (
                "within rounding of the tolerance" if self.reason == "rounding" else "at the limit"
            )
            return f"Verification(equal=None: undecided {why}; {effort})"
        first, second = self.predictions
        return (
            f"Verification(equal=False: {first!r} against {second!r} at "
            f"{_shown(self.counterexample)}; {effort})"
        )

    def _range(self):
        """The largest difference, in words."""
        low, high = f"{self.max_difference:.6g}", f"{self.max_difference_bound:.6g}"
        return f"largest difference {low}" if low == high else f"largest difference {low} to {high}"


@validate_params(
    {
        "voting": [StrOptions({"estimator", "hard"})],
        "domain": [Domain, dict, None],
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
        "max_boxes": [Interval(Integral, 1, None, closed="left"), None],
        "X": ["array-like", None],
        "max_changes": [Interval(Integral, 0, None, closed="left"), None],
        "atol": [Interval(Real, 0, None, closed="left"), None],
        "rtol": [Interval(Real, 0, None, closed="left"), None],
    },
    prefer_skip_nested_validation=False,
)
def verify(
    model_a,
    model_b,
    *,
    voting="estimator",
    domain=None,
    X=None,
    max_changes=None,
    atol=None,
    rtol=None,
    time_limit=None,
    max_boxes=None,
):
    """Prove that two tree models predict alike on every finite input, or find where they differ.

    Two classifiers are compared by their labels or, with `atol`, by their probabilities; two
    regressors by their values. With `X` and `max_changes`, only points near the rows of `X` count.

    Read more in the :ref:`User Guide <verify>`.

    Parameters
    ----------
    model_a, model_b : estimator
        Two fitted classifiers, or two regressors, on the same number of features: supported
        ensembles, decision trees, or estimators of this package, by what they wrap. They are left
        as they are.
    voting : {"estimator", "hard"}, default="estimator"
        ``"estimator"``: what ``predict`` answers (with ``n_jobs=None``); ``"hard"``: the
        majority of an ensemble's trees, each with the same weight, ties to the smaller class.
    domain : Domain, dict or None, default=None
        Which inputs can occur: equality is proven for them, and a counterexample is one of them.
        See :class:`Domain`. None: every finite input, and, near rows of `X`, missing values in
        columns of `X` that have some.
    X : array-like of shape (n_samples, n_features) or None, default=None
        Rows near which the models are compared; needed with `max_changes`.
    max_changes : int or None, default=None
        Equality is proven for every point that differs from some row of `X` in at most so many
        features, whatever values those take: 0, the rows; 1, every change of a single feature.
        All these points are looked at, so time grows as the product of the cut points of so many
        features. None: every input counts.
    atol, rtol : float or None, default=None
        Absolute and relative tolerance of numbers: answers a and b of the two models are alike
        where ``abs(a - b) <= atol + rtol * abs(b)``, as in :func:`numpy.isclose`. Of classifiers,
        these are the probabilities of each class (0 for one that a model does not know). None is
        0; if both are, classifiers are compared by label, and regressors must answer the very
        same numbers.
    time_limit : float or None, default=None
        Seconds after which the attempt ends undecided.
    max_boxes : int or None, default=None
        Boxes of the feature space to look at before the attempt ends undecided; not used with
        `max_changes`.

    Returns
    -------
    verification : Verification
        Its attribute ``equal`` is True (proven), False (with a counterexample) or None (a limit
        came first, see its ``reason``). Of numbers, ``max_difference`` and
        ``max_difference_bound`` say what the largest difference lies between.

    Raises
    ------
    TypeError
        If a model cannot be read, one is a classifier and the other a regressor, or their
        probabilities are not supported.
    ValueError
        If a parameter is out of range or does not go with the others, the models have different
        features, or a row is outside the domain.

    See Also
    --------
    agreement : How often, and where, two classifiers agree.
    FaithfulPruner : Fewer trees that keep every answer.

    Notes
    -----
    Predictions are compared by label, so the models may know different classes or keep them in
    another order. Models that compare float64 numbers (HistGradientBoosting, LightGBM) are
    compared on the rows that float32 represents, the others on every finite row.

    Probabilities can be compared where they are means of what trees say (trees, forests, bagging,
    soft votes of these), and, by `atol` alone, between two boosted classifiers of the same two
    classes, whose probabilities are a sigmoid of a sum. Others are refused.

    Bounds are in real numbers, with margins for all rounding, and what comes within a margin of a
    tie or of the tolerance is decided by the models themselves. So another order of the same trees
    is a different model: sums round otherwise, and where classes are all but tied that can turn
    a label. Regressors without a tolerance are alike only if they are bit for bit; a tolerance of
    ``1e-9`` times the largest value forgives rounding.

    Time can grow exponentially with the number of features: deciding equality is NP-hard. With
    `max_changes` it cannot: there are at most ``n_samples * cuts ** max_changes`` points. Bounds
    on both models at once are close where the models are much alike, as a pruned ensemble and the
    whole one are: each box needs, for a weight m, the largest sum of m times the one's lead and
    the other's lead the other way, in which most trees cancel [1]_.

    References
    ----------
    .. [1] A. Kantchelian, J. D. Tygar, A. D. Joseph (2016). Evasion and Hardening of Tree Ensemble
       Classifiers. Proceedings of Machine Learning Research 48, 2387-2396.
       https://proceedings.mlr.press/v48/kantchelian16.html

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from ensemble_simplify import verify
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(5, max_depth=2, random_state=0).fit(X, y)
    >>> tree = DecisionTreeClassifier(random_state=0).fit(X, forest.predict(X))
    >>> outcome = verify(forest, tree)
    >>> bool(outcome)
    False
    >>> row = outcome.counterexample.reshape(1, -1)
    >>> bool(forest.predict(row) == tree.predict(row))
    False

    A model whose leaves were rounded, and how far its predictions can move:

    >>> from copy import deepcopy
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.ensemble import GradientBoostingRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = GradientBoostingRegressor(n_estimators=20, random_state=0).fit(X, y)
    >>> rounded = deepcopy(model)
    >>> for tree in rounded.estimators_.ravel():
    ...     tree.tree_.value[...] = tree.tree_.value.round(3)
    >>> outcome = verify(model, rounded, atol=0.001)
    >>> outcome.equal
    True
    >>> outcome.max_difference <= outcome.max_difference_bound < 0.001
    True
    """
    begin = time.perf_counter()
    models = [unwrap(model) for model in (model_a, model_b)]
    forests = [read_forest(model, voting=voting) for model in models]
    if forests[0].n_features != forests[1].n_features:
        raise ValueError(
            f"model_a was fitted on {forests[0].n_features} features, but model_b on "
            f"{forests[1].n_features}. Compare models of the same columns."
        )
    tolerance = _tolerance(models, forests, voting, atol, rtol)
    if (X is None) != (max_changes is None):
        raise ValueError(
            f"max_changes={max_changes} {'needs' if X is None else 'was given with'} the rows X. "
            "Give both, or neither to compare the models everywhere."
        )
    missing, table = None, common_table(models)
    if X is not None:
        X = _rows_near(X if table is None else table.encode(X), forests[0].n_features)
        missing = np.isnan(X).any(axis=0)
    codes = highest_codes(forests)
    inside = read_domain(domain, forests[0].n_features, names_of(models), missing, codes)
    if inside is not None and X is not None:
        inside.check_rows(X)
    for model, forest in zip(models, forests, strict=True):
        check_missing(inside, model, forest)
    end = np.inf if time_limit is None else begin + time_limit
    models = [Answering(model, table) for model in models]
    if tolerance is not None:
        outcome = _compare_numbers(
            models, forests, inside, tolerance, X, max_changes, end, max_boxes
        )
    else:
        outcome = _compare_labels(models, forests, inside, voting, X, max_changes, end, max_boxes)
    row = outcome.counterexample
    return replace(
        outcome,
        counterexample=row if row is None or table is None else table.decode(row[None]),
        seconds=time.perf_counter() - begin,
        domain=domain,
        max_changes=max_changes,
        tolerance=tolerance,
    )


def _tolerance(models, forests, voting, atol, rtol):
    """How far apart numbers may be; None where labels are compared."""
    kinds = [forest.classes is None for forest in forests]
    if kinds[0] != kinds[1]:
        names = [type(model).__name__ for model in models]
        raise TypeError(
            f"{names[kinds.index(True)]}(...) is a regressor, {names[kinds.index(False)]}(...) a "
            "classifier. Give two of a kind."
        )
    if atol is None and rtol is None and not kinds[0]:
        return None
    if voting == "hard":
        raise ValueError(
            "voting='hard' goes with labels, but atol or rtol compares probabilities. Use "
            "voting='estimator', or leave the tolerances out."
        )
    return float(atol or 0.0), float(rtol or 0.0)


def _compare_labels(models, forests, inside, voting, X, max_changes, end, max_boxes):
    """Compare what two classifiers predict."""
    n_boxes, row_of = 0, None
    if max_changes is None:
        space = Space(forests, domain=inside)
        equal, cells, n_boxes = prove(space, end, max_boxes)
        if equal is False:
            row = points_in(space.axes, inside, cells)[0]
    else:
        equal, row_of, row = _compare_near(forests, inside, X, max_changes, end)
    if not equal:
        reason = None
        if equal is None:
            reason = "time" if time.perf_counter() >= end else "boxes"
            return Verification(None, None, None, n_boxes, 0.0, reason=reason)
        if voting == "hard":
            predictions = tuple(f.classes[f.predict_index(row[None])[0]] for f in forests)
        else:
            predictions = tuple(model.answers(row[None]).tolist()[0] for model in models)
        if predictions[0] == predictions[1]:
            raise RuntimeError(
                f"The trees of the models differ at {_shown(row)}, but their own predict "
                f"answers {predictions[0]!r} in both. Scores that are nearly tied can depend on "
                "the order of addition: set n_jobs=None in the ensembles and their members."
            )
        return Verification(False, row, predictions, n_boxes, 0.0, row=row_of)
    return Verification(True, None, None, n_boxes, 0.0)


def _compare_numbers(models, forests, inside, tolerance, X, max_changes, end, max_boxes):
    """Compare the values of two regressors, or the probabilities of two classifiers."""
    kind, scores, last = _scores_of(models, forests, tolerance)
    columns = [np.zeros(1, dtype=np.intp)] * 2
    if forests[0].classes is not None:
        _, columns = _common_labels(forests)
    if inside is not None:
        forests = [inside.read(forest) for forest in forests]
    axes = Axes.of(*forests)
    if inside is not None and max_changes is not None:
        axes = inside.with_ties(axes)
    trees = [axes.encode_forest(forest) for forest in forests]
    n_outputs = 1 + max(int(own.max()) for own in columns)

    def numbers(rows):
        found = np.zeros((2, len(rows), n_outputs))
        for out, model, own in zip(found, models, columns, strict=True):
            out[:, own] = _own_numbers(model, rows)
        return found

    outside = None if inside is None else inside.outside(axes)
    closeness = kind(
        scores,
        columns if kind is Closeness else [np.zeros(1, dtype=np.intp)] * 2,
        trees,
        axes,
        outside,
        lambda cells: numbers(points_in(axes, inside, cells)),
        tolerance[0],
        last,
    )
    deadline = time.monotonic() + end - time.perf_counter()
    row_of, row = None, None
    if _is_copy(forests, trees):
        found = Found(True, bound=0.0)
        # what is not read of the models would show here
        closeness.climb(np.random.default_rng(0), deadline)
    elif max_changes is None:
        found = closeness.everywhere(np.random.default_rng(0), deadline, max_boxes)
        if found.cell is not None:
            row = points_in(axes, inside, found.cell[None])[0]
    else:
        cells = np.ascontiguousarray(axes.encode_rows(X.astype(np.float32)).T)
        _, first = np.unique(cells, axis=0, return_index=True)
        first.sort()
        found = closeness.near(cells[first], min(max_changes, len(axes.shape)), deadline)
        if found.cell is not None:
            row_of = int(first[found.row])
            row = _moved(X[row_of], cells[row_of], found.cell, axes, inside)
    predictions = None
    if row is not None:
        predictions = tuple(_own_numbers(model, row[None])[0] for model in models)
        if forests[0].classes is None:
            predictions = tuple(float(own[0]) for own in predictions)
    return Verification(
        found.outcome,
        row,
        predictions,
        closeness.n_boxes,
        0.0,
        row=row_of,
        max_difference=found.largest,
        max_difference_bound=max(found.bound, found.largest),
        reason=found.reason,
    )


def _scores_of(models, forests, tolerance):
    """How numbers are compared: a class, the sums of both models, and its last argument."""
    scores = [Scores.of(forest) for forest in forests]
    if all(part is not None for part in scores):
        return Closeness, scores, tolerance[1]
    odds = [
        Scores.of_margin(forest, _slope(model.estimator))
        for model, forest in zip(models, forests, strict=True)
    ]
    if any(part is None for part in odds) or tolerance[1] > 0:
        at = [part is None for part in scores].index(True)
        raise TypeError(
            f"atol and rtol compare probabilities, but those of {models[at].name}(...) "
            "are no means of what its trees say. They are supported for two regressors; for "
            "trees, forests, bagging and soft votes over these; and, atol alone, for two boosted "
            "classifiers of two classes each. Leave them out to compare labels."
        )
    if forests[0].classes.tolist() != forests[1].classes.tolist():
        raise ValueError(
            f"model_a has the classes {forests[0].classes.tolist()}, model_b "
            f"{forests[1].classes.tolist()}. Probabilities of boosted classifiers are compared "
            "for the same classes only."
        )
    dtypes = [forest.vote.dtype for forest in forests]
    return CloseOdds, odds, "float32" if "float32" in dtypes else "float64"


def _slope(model):
    """What a boosted classifier multiplies its sum by before the sigmoid."""
    model = readable(model)
    while isinstance(model, Pipeline):
        model = readable(model.steps[-1][1])
    # gradient boosting of scikit-learn with the loss of AdaBoost
    return 2.0 if getattr(model, "loss", None) == "exponential" else 1.0


def _own_numbers(model, X):
    """Values or probabilities that a model itself answers, of shape (n, n_outputs)."""
    if model.is_classifier:
        return np.asarray(model.answers(X, "predict_proba"), dtype=np.float64)
    return np.asarray(model.answers(X), dtype=np.float64)[:, None]


def _is_copy(forests, trees):
    """Whether two forests add the same numbers in the same order."""
    one, two = trees
    if not _same_vote(*forests) or len(one.nodes) != len(two.nodes):
        return False
    leaf = one.nodes[:, 0] < 0
    if not (
        np.array_equal(one.offsets, two.offsets)
        and np.array_equal(leaf, two.nodes[:, 0] < 0)
        and np.array_equal(one.nodes[~leaf], two.nodes[~leaf])
    ):
        return False
    values = [f.value[t.nodes[leaf, 1]] for f, t in zip(forests, trees, strict=True)]
    return np.array_equal(*values)


def points_in(axes, inside, cells):
    """A row in each of some cells, inside the domain."""
    return axes.points(cells) if inside is None else inside.points(axes, cells)


def _rows_near(X, n_features):
    """The rows near which models are compared, as plain numbers that float32 represents."""
    X = check_array(X, dtype=np.float32, ensure_all_finite="allow-nan")
    if X.shape[1] != n_features:
        raise ValueError(
            f"X has {X.shape[1]} features, but the models were fitted on {n_features}. Pass the "
            "columns they were fitted on."
        )
    return X.astype(np.float64)


def _compare_near(forests, inside, X, max_changes, end):
    """Compare two models near some rows: (outcome, number of a row, point near it)."""
    if inside is not None:
        forests = [inside.read(forest) for forest in forests]
    axes = Axes.of(*forests)
    outside = None
    if inside is not None:
        axes = inside.with_ties(axes)
        outside = inside.outside(axes)
    _, columns = _common_labels(forests)
    models = [(Lines(f, axes, outside), c) for f, c in zip(forests, columns, strict=True)]
    cells = np.ascontiguousarray(axes.encode_rows(X.astype(np.float32)).T)
    _, first = np.unique(cells, axis=0, return_index=True)
    first.sort()
    deadline = time.monotonic() + end - time.perf_counter()
    max_changes = min(max_changes, len(axes.shape))
    try:
        for row, found in differences(*models, cells[first], axes.shape, max_changes, deadline):
            if len(row):
                original = first[row[0]]
                return (
                    False,
                    int(original),
                    _moved(X[original], cells[original], found[0], axes, inside),
                )
    except Stopped:
        return None, None, None
    return True, None, None


def _common_labels(forests):
    """All class labels of some forests, and the places of each forest's own among them."""
    labels = list(dict.fromkeys(c for forest in forests for c in forest.classes.tolist()))
    place = {label: i for i, label in enumerate(labels)}
    columns = [
        np.array([place[c] for c in forest.classes.tolist()], dtype=np.intp) for forest in forests
    ]
    return labels, columns


def _moved(x, cell, target, axes, inside):
    """The row of a cell, changed only on the axes on which another cell differs."""
    target = target[None]
    points = points_in(axes, inside, target)
    changed = axes.features[cell != target[0]]
    moved = x.copy()
    moved[changed] = points[0, changed]
    return moved


def _near(max_changes):
    """A promise near rows, in words."""
    if max_changes == 0:
        return " that is a row of X"
    return (
        f" that differs from a row of X in at most {max_changes} "
        f"feature{'s' if max_changes > 1 else ''}"
    )


def prove(space, end, max_boxes, near_ties=True):
    """Prove that two models are equal inside the domain, or no pair of their answers wrong.

    Parameters
    ----------
    space : Space
        Of two forests.
    end : float
        On the clock of ``time.perf_counter()``.
    max_boxes : int or None
    near_ties : bool
        Whether to look for a difference near ties first, which can take seconds.

    Returns
    -------
    outcome : bool or None
    cells : int32 array of shape (1, n_axes) or None
        What refutes.
    n_boxes : int
    """
    stack = [space.whole]
    n_boxes = 0
    if space.changed is not None:
        stack = space.changed
        if near_ties:
            n_boxes, cells = _search_ties(space, end)
            if cells is not None:
                return False, cells, n_boxes
    for lo, hi in stack:
        equal, first = None, FIRST_BOXES
        while equal is None:
            left = None if max_boxes is None else max_boxes - n_boxes
            if time.perf_counter() >= end or (left is not None and left <= 0):
                return None, None, n_boxes
            # a bound on each vote alone is all it takes for most pairs
            limit = left if space.pair is None else _least(left, first)
            equal, cells, looked_at = certify(space, lo, hi, end, limit)
            n_boxes += looked_at
            if equal is not None or space.pair is None:
                break
            left = None if max_boxes is None else max_boxes - n_boxes
            deadline = time.monotonic() + end - time.perf_counter()
            box = None
            if space.changed is not None:
                # subtrees that are equal tell more there, if the two are alike in most of the box
                box, left = (lo, hi), _least(left, first)
            equal, cells = space.pair.refute(box, deadline, left)
            n_boxes += space.pair.n_boxes
            first *= MORE_BOXES
        if not equal:
            return equal, cells, n_boxes
    return True, None, n_boxes


def _least(left, limit):
    """The lower one of two limits, the first of which may be None."""
    return limit if left is None else min(left, limit)


def certify(space, lo, hi, end, max_boxes):
    """Prove the two models equal in a box by bounds on each: (outcome, cells, boxes)."""
    stack = [(lo, hi)]
    n_boxes = 0
    while stack:
        lo, hi = stack.pop()
        left = None if max_boxes is None else max_boxes - n_boxes
        seconds = end - time.perf_counter()
        if seconds <= 0 or (left is not None and left <= 0):
            return None, None, n_boxes
        equal, _, cells = space.certifier.prove(lo, hi, seconds=seconds, max_boxes=left)
        n_boxes += space.certifier.n_boxes
        if equal is None:
            return None, None, n_boxes
        if equal:
            continue
        gap = None if space.outside is None else _box_around(cells[0], *space.outside)
        if gap is None:
            return False, cells, n_boxes
        # the rest of the box, without the part around the cell that is outside the domain
        for a, (first, last) in enumerate(zip(*gap, strict=True)):
            if first > lo[a]:
                below = hi.copy()
                below[a] = first - 1
                stack.append((lo.copy(), below))
            if last < hi[a]:
                above = lo.copy()
                above[a] = last + 1
                stack.append((above, hi.copy()))
            lo, hi = lo.copy(), hi.copy()
            lo[a], hi[a] = max(lo[a], first), min(hi[a], last)
    return True, None, n_boxes


def _search_ties(space, end):
    """Look for a cell on which two changed models differ, where the first is nearly tied.

    From random cells in the boxes outside of which the models are equal, one coordinate after the
    other goes to where, on its line of cells, the two largest scores are closest. That finds in
    moments what bounds cannot: in a box with hundreds of trees they leave everything open.

    Returns
    -------
    n_boxes : int
        Boxes that were searched.
    cells : int32 array of shape (1, n_axes) or None
    """
    rng = np.random.default_rng(0)
    begin = time.perf_counter()
    end = begin + min(TIE_SECONDS, TIE_SHARE * (end - begin))
    n_boxes = 0
    for _ in range(TIE_STARTS):
        for lo, hi in space.changed:
            n_boxes += 1
            cells = rng.integers(lo, hi + 1, size=(TIE_CELLS, len(lo)), dtype=np.int32)
            for _ in range(TIE_SWEEPS):
                differ = np.flatnonzero(space.differ(cells))
                for at in differ:
                    if space.outside is None or _box_around(cells[at], *space.outside) is None:
                        return n_boxes, cells[at : at + 1]
                for axis in rng.permutation(np.flatnonzero(lo < hi)):
                    if time.perf_counter() >= end:
                        return n_boxes, None
                    _move_to_ties(space, cells, axis, lo[axis], hi[axis], rng)
    return n_boxes, None


def _move_to_ties(space, cells, axis, first, last, rng):
    """Move cells along an axis, in first..last, to where the first model is closest to a tie."""
    trees, forest, length = space.trees[0], space.forests[0], space.axes.shape[axis]
    scores = np.zeros((len(cells) * length, forest.n_scores))
    if forest.vote.init is not None:
        scores += forest.vote.init[: forest.n_scores]
    paint_lines(trees.nodes, trees.offsets[:-1], forest.value, cells, axis, length, scores)
    scores = scores.reshape(len(cells), length, -1)[:, first : last + 1]
    if scores.shape[2] == 1:
        gap = np.abs(scores[:, :, 0])
    else:
        scores = np.partition(scores, -2, axis=2)
        gap = scores[:, :, -1] - scores[:, :, -2]
    # any of those that are closest
    closest = gap <= gap.min(axis=1, keepdims=True)
    cells[:, axis] = first + (closest * rng.random(gap.shape)).argmax(axis=1)


def _box_around(cell, first, last):
    """The first of some boxes that holds a cell, or None."""
    holds = np.flatnonzero(((first <= cell) & (cell <= last)).all(axis=1))
    return (first[holds[0]], last[holds[0]]) if holds.size else None


class Space:
    """The common grid of one or two forests, and a `Certifier` on it.

    Parameters
    ----------
    forests : list of one or two Forest
        Classifiers on the same features.
    axes : Axes or None
        With all of the forests' cut points among theirs; None: just those.
    domain : Inside or None
        Where the forests are compared.
    wrong : callable or None
        ``wrong(labels)``: which pairs of answers of two forests refute, as a bool array of shape
        (n_labels, n_labels), never an answer with itself. None: those that differ.

    Attributes
    ----------
    certifier : Certifier
        On `axes`; labels are positions in `labels`.
    labels : list
        All class labels of the forests.
    axes : Axes
    whole : pair of int32 arrays
        First and last cell of the whole grid on every axis.
    outside : pair of int32 arrays or None
        First and last cells of regions outside the domain.
    """

    def __init__(self, forests, axes=None, domain=None, wrong=None):
        if domain is not None:
            forests = [domain.read(forest) for forest in forests]
        self.forests = forests
        self.axes = Axes.of(*forests) if axes is None else axes
        self.outside = None if domain is None else domain.outside(self.axes)
        self.whole = self.axes.whole
        self.labels, self.columns = _common_labels(forests)
        n_labels = max(2, len(self.labels))
        self.wrong = ~np.eye(n_labels, dtype=bool)
        if wrong is not None:
            self.wrong[: len(self.labels), : len(self.labels)] = wrong(self.labels)
        units = []
        unit_of, value = [], []
        for model, forest in enumerate(forests):
            builder = _Units(forest, model, n_labels, units)
            builder.add(forest.vote, np.arange(forest.n_classes), self.columns[model])
            unit_of.append(builder.unit_of)
            value.append(builder.value)
        trees = self.trees = [self.axes.encode_forest(forest) for forest in forests]
        nodes = np.concatenate([part.nodes for part in trees])
        offsets = np.concatenate([[0], *(np.diff(part.offsets) for part in trees)]).cumsum()
        # leaves of the second forest have their votes below those of the first
        second = nodes[len(trees[0].nodes) :]
        second[second[:, 0] < 0, 1] += forests[0].n_nodes
        exact = [_exact_rule(f, c) for f, c in zip(forests, self.columns, strict=True)]
        scores = _stacked([forest.value for forest in forests])
        twin = None
        # where two forests can differ at all; None: anywhere
        self.changed = None
        if len(forests) == 2 and _same_vote(forests[0], forests[1]):
            same = np.array_equal(self.columns[0], self.columns[1])
            twin = _equal_subtrees(nodes, offsets, scores) if same else None
            if twin is not None:
                self.changed = _changed_boxes(trees, twin, self.whole) or None
        self.certifier = Certifier(
            self.axes.shape,
            nodes,
            offsets,
            np.concatenate(value),
            np.concatenate(unit_of),
            units,
            self.judge,
            exact,
            scores,
            twin,
            self.wrong,
        )

    def grow(self, seconds, max_leaves):
        """A tree over the axes of the whole grid, see ``Certifier.grow``; None at a limit."""
        return self.certifier.grow(*self.whole, seconds, max_leaves)

    def forecast_leaves(self, seconds, rng):
        """Leaves that `grow` would come to without a limit; unbiased, from a sample of them."""
        seed = int(rng.integers(1 << 63))
        depths = self.certifier.sample_depths(*self.whole, FORECAST_LEAVES, seed, seconds)
        with np.errstate(over="ignore"):
            return float(np.exp2(depths.astype(float)).mean())

    @cached_property
    def pair(self):
        """The two votes as sums over the same trees, or None where they are none."""
        if min(forest.n_trees for forest in self.forests) == 1:
            # bounds on each vote decide faster, leaf by leaf of the tree
            return None
        sums = [Sums.of(forest) for forest in self.forests]
        if any(part is None for part in sums):
            return None
        return PairOfVotes(
            sums, self.columns, self.trees, self.axes, self.outside, self.differ, self.wrong
        )

    def differ(self, cells):
        """At which of some cells the own answers of two forests differ, or are wrong."""
        return self.wrong[self.judge(0, cells), self.judge(1, cells)]

    def judge(self, model, cells):
        """Labels of cells in the arithmetic of a forest's own ``predict``."""
        return self.columns[model][self.forests[model].predict_index(self.axes.points(cells))]


class _Units:
    """Splits the vote of a forest into sums over trees whose labels are votes in other sums."""

    def __init__(self, forest, model, n_labels, units):
        self.forest = forest
        self.model = model
        self.units = units
        self.value = np.zeros((forest.n_nodes, n_labels))
        self.unit_of = np.zeros(forest.n_trees, dtype=np.intp)

    def add(self, vote, classes, labels):
        """Add the unit of a vote, after those below it; return its number.

        `classes` are the vote's class indices, `labels` their places among all labels.
        """
        linear = self._linear(vote, len(classes))
        rank = np.full(self.value.shape[1], -1)
        rank[labels] = classes
        unit = dict(model=self.model, parent=-1, weight=0.0, opaque=False, rank=rank.tolist())
        if linear is not None:
            nodes = self._put(vote, linear, labels, 1.0)
            if linear.tie_upper:
                unit["rank"] = np.where(rank >= 0, len(classes) - 1 - rank, -1).tolist()
            one_tree = vote.rule == "mean" and vote.stop - vote.start == 1
            bound = 0.0 if one_tree else linear.error_bound
            unit["tolerance"] = bound and bound + self._rounding(nodes, vote)
            below = []
        else:
            below = self._gather(vote, labels, 1.0)
            if below is None:
                self.value[self._nodes(vote)] = 0.0
                unit["opaque"] = True
                below = []
            weights = np.array([weight for _, weight in below])
            whole = np.ldexp(weights, 20)
            if vote.rule == "hard" and weights.sum() < 2.0**20 and (whole == np.rint(whole)).all():
                unit["tolerance"] = 0.0
            else:
                total = np.abs(weights).sum()
                unit["tolerance"] = self._rounding(self._nodes(vote), vote) * 4 + (
                    16.0 * (len(below) + 16) * _EPS * total
                )
        number = len(self.units)
        self.units.append(unit)
        own = np.ones(vote.stop - vote.start, dtype=bool)
        for child, weight in below:
            self.units[child].update(parent=number, weight=weight)
        if below:
            own = self.unit_of[vote.start : vote.stop] < 0
        self.unit_of[vote.start : vote.stop][own] = number
        return number

    def _gather(self, vote, labels, factor):
        """Put trees that add up into `value`; return (unit, weight) of all other members.

        None if a weight is negative: then nothing is bounded.
        """
        if vote.rule == "samme" or vote.rule == "hard":
            weights = np.ones(len(vote.members)) if vote.weights is None else vote.weights
            if (np.asarray(weights) < 0).any():
                return None
            n = vote.n_scores
            lead = 1.0 + 1.0 / (n - 1) if vote.rule == "samme" and n > 1 else 1.0
            return [
                (self._below(member, labels), factor * lead * float(weight))
                for member, weight in zip(vote.members, weights, strict=True)
            ]
        if vote.rule == "mean":
            shares = np.full(len(vote.members), 1.0 / vote.scale)
        else:
            weights = np.ones(len(vote.members)) if vote.weights is None else vote.weights
            shares = np.asarray(weights) / np.sum(weights)
        if (shares < 0).any():
            return None
        below = []
        for member, share in zip(vote.members, shares, strict=True):
            linear = None if member.rule == "hard" else self._linear(member, len(member.columns))
            if member.rule == "hard":
                below.append((self._below(member, labels), factor * float(share)))
            elif linear is not None:
                scale = 1.0 if member.members else member.scale
                self._put(member, linear, labels[member.columns], factor * share / scale)
                self.unit_of[member.start : member.stop] = -1
            else:
                inner = self._gather(member, labels[member.columns], factor * float(share))
                if inner is None:
                    return None
                below += inner
        return below

    def _below(self, member, labels):
        return self.add(member, np.arange(len(member.columns)), labels[member.columns])

    def _linear(self, vote, n_classes):
        return replace(self.forest, vote=vote, classes=np.arange(n_classes)).linear_votes()

    def _nodes(self, vote):
        return slice(self.forest.offsets[vote.start], self.forest.offsets[vote.stop])

    def _put(self, vote, linear, labels, factor):
        nodes = self._nodes(vote)
        self.value[nodes, labels] = linear.value[nodes] * factor
        return nodes

    def _rounding(self, nodes, vote):
        """Bound on the error of the certifier's own sums."""
        largest = np.abs(self.value[nodes]).max(axis=1, initial=0.0)
        starts = self.forest.offsets[vote.start : vote.stop] - nodes.start
        magnitude = np.maximum.reduceat(largest, starts).sum()
        return 8.0 * (vote.stop - vote.start + 16) * _EPS * float(magnitude)


def _exact_rule(forest, columns):
    """How the certifier can follow `Forest.decide` itself, for votes without members."""
    vote = forest.vote
    rule = "ask"
    start = np.zeros(vote.n_scores)
    plain = vote.divisor == 1 and vote.offset is None and vote.above == 0.0
    if not vote.members and vote.dtype == "float64" and vote.link is None and plain:
        if vote.rule in ("mean", "majority") or (vote.rule == "samme" and vote.n_scores != 2):
            rule = "first_largest"
        elif vote.rule == "samme":
            rule = "second_above"
        elif vote.rule == "additive":
            rule = "first_largest"
            if vote.n_scores == 1:
                rule = "not_below_zero" if vote.tie_upper else "above_zero"
    if vote.init is not None:
        start = vote.init[: vote.n_scores]
    scale = vote.scale if vote.rule in ("mean", "samme") else 1.0
    return dict(rule=rule, scale=float(scale), start=start.tolist(), labels=columns.tolist())


def _same_vote(a, b):
    """Whether two forests decide alike whenever their trees add the same scores."""

    def same(first, second):
        if len(first.members) != len(second.members):
            return False
        for name, one in vars(first).items():
            other = getattr(second, name)
            if name == "members":
                if not all(map(same, one, other)):
                    return False
            elif not np.array_equal(one, other):
                return False
        return True

    return a.n_scores == b.n_scores and a.n_trees == b.n_trees and same(a.vote, b.vote)


def _equal_subtrees(nodes, offsets, scores):
    """Number subtrees so that equal numbers mean equal splits and equal scores."""
    left, right = children(nodes)
    levels, level = [], offsets[:-1]
    while level.size:
        levels.append(level)
        level = level[left[level] >= 0]
        level = np.concatenate([left[level], right[level]])
    number = np.zeros(len(nodes), dtype=np.int64)
    leaves = np.flatnonzero(left < 0)
    number[leaves] = _numbered(scores[nodes[leaves, 1]].T + 0.0)
    height = np.zeros(len(nodes), dtype=np.intp)
    for level in reversed(levels):
        split = level[left[level] >= 0]
        height[split] = 1 + np.maximum(height[left[split]], height[right[split]])
    count = leaves.size
    by_height = np.argsort(height, kind="stable")
    ends = np.searchsorted(height[by_height], np.arange(1, len(levels) + 1))
    for split in np.split(by_height, ends)[1:]:
        columns = nodes[split, 0], nodes[split, 1], number[left[split]], number[right[split]]
        number[split] = count + _numbered(columns)
        count += split.size
    return number


def _numbered(columns):
    """Numbers of the rows of some columns, equal where the rows are."""
    number = np.zeros(len(columns[0]), dtype=np.int64)
    for column in columns:
        values, inverse = np.unique(column, return_inverse=True)
        # both factors are at most the number of rows: their product is far below 2^63
        _, number = np.unique(number * len(values) + inverse, return_inverse=True)
    return number


def _changed_boxes(trees, number, whole):
    """Boxes outside of which two forests of the same vote add the same scores.

    Each is where one of two trees at the same place has a subtree that the other has not.

    Parameters
    ----------
    trees : pair of CodedTrees
    number : int array of shape (n_nodes,)
        From `_equal_subtrees`, over the nodes of both.
    whole : pair of int32 arrays

    Returns
    -------
    list of (lo, hi), or None if there are too many, or one is the whole
    """
    first, second = trees
    boxes = {}
    for a, b in zip(first.offsets[:-1].tolist(), second.offsets[:-1].tolist(), strict=True):
        stack = [(a, b, *whole)]
        while stack:
            a, b, lo, hi = stack.pop()
            if number[a] == number[len(first.nodes) + b]:
                continue
            axis, cut, _ = first.nodes[a].tolist()
            if axis < 0 or (axis, cut) != tuple(second.nodes[b, :2].tolist()):
                boxes[lo.tobytes() + hi.tobytes()] = lo, hi
                if len(boxes) > MOST_CHANGED or (lo is whole[0] and hi is whole[1]):
                    return None
                continue
            below, above = hi.copy(), lo.copy()
            below[axis], above[axis] = cut, cut + 1
            left = a + 1, b + 1, lo, below
            right = a + 1 + int(first.nodes[a + 1, 2]), b + 1 + int(second.nodes[b + 1, 2])
            stack += [(*right, above, hi), left]
    return list(boxes.values())


def _stacked(arrays):
    width = max(array.shape[1] for array in arrays)
    return np.concatenate([np.pad(a, ((0, 0), (0, width - a.shape[1]))) for a in arrays])


def names_of(models):
    for model in models:
        if hasattr(model, "feature_names_in_"):
            return list(model.feature_names_in_)
    return None


def highest_codes(forests):
    """Highest codes of the features of some forests, -1 for numbers; None if there are no codes."""
    codes = [forest.highest_code for forest in forests or () if forest.categorical is not None]
    return np.max(codes, axis=0) if codes else None


def common_table(models):
    """The table that models take, where they take any, after checking that they agree in it."""
    tables = [table for table in map(columns_of, models) if table is not None]
    for other in tables[1:]:
        if not tables[0].same_levels(other):
            raise ValueError(
                "model_a and model_b were fitted on different levels of some column, or keep them "
                "in another order. Fit them on the same table."
            )
    return tables[0] if tables else None


class Answering:
    """A model as the other one's rows are put to it.

    Parameters
    ----------
    model : fitted estimator
    table : Columns or None
        What rows stand for: codes become levels, if this model takes tables.
    """

    def __init__(self, model, table=None):
        self.estimator, self.name = model, type(model).__name__
        self.is_classifier = hasattr(model, "classes_")
        self._table = table if table is not None and columns_of(model) is not None else None
        if getattr(model, "n_jobs", None) not in (None, 1):
            model = copy.copy(model)
            model.n_jobs = None
        self._model = model

    def answers(self, X, method="predict"):
        """What a method of the model answers when its trees are added up in order."""
        if self._table is not None:
            X = self._table.decode(X)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="X does not have valid feature names")
            return np.asarray(getattr(self._model, method)(X))


def _plain(value):
    return f"{value:.9g}" if isinstance(value, float) else repr(value)


def _shown(row):
    if hasattr(row, "columns"):
        values = [(name, row[name].tolist()[0]) for name in row.columns[:8]]
        pairs = [f"{name}={_plain(value)}" for name, value in values]
        return ", ".join(pairs) + (", ..." if row.shape[1] > 8 else "")
    if row.dtype == object:
        return str(row.ravel().tolist())
    entries = [f"{entry:.9g}" for entry in row[:8]]
    return "[" + ", ".join(entries) + (", ..." if len(row) > 8 else "") + "]"
