"""Proof that two tree models answer alike on every finite input, or a row on which they differ.

Nothing of the born-again search is used here: boxes are settled by bounds (`prove`,
`numeric_difference`). Every counterexample is put to the models' own ``predict``.
"""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral, Real
from sys import maxsize
from time import monotonic
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ensemble_simplify.base import (
    Interval,
    Rows,
    Stream,
    StrOptions,
    check_column_names,
    check_missing,
    validate_params,
)
from ensemble_simplify.evidence import Claim, Near
from ensemble_simplify.grid import Domain, limited
from ensemble_simplify.proof.compare import compare_labels, compare_numbers
from ensemble_simplify.proof.outcome import Verification
from ensemble_simplify.reading import Model, common_forests, common_table


@limited
@validate_params(
    {
        "voting": [StrOptions({"estimator", "hard"})],
        "domain": [Domain, dict, None],
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
        "max_boxes": [Interval(Integral, 1, None, closed="left"), None],
        "X": "no_validation",
        "max_changes": [Interval(Integral, 0, None, closed="left"), None],
        "atol": [Interval(Real, 0, None, closed="left"), None],
        "rtol": [Interval(Real, 0, None, closed="left"), None],
        "n_jobs": [Integral, None],
    }
)
def verify(
    model_a: Any,
    model_b: Any,
    *,
    voting: str = "estimator",
    domain: Domain | dict | None = None,
    X: ArrayLike | None = None,
    max_changes: int | None = None,
    atol: float | None = None,
    rtol: float | None = None,
    time_limit: float | None = None,
    max_boxes: int | None = None,
    n_jobs: int | None = None,
) -> Verification:
    """Prove that two tree models give the same answers, or find a row on which they differ.

    Two classifiers are compared by their labels or, with `atol`, by their probabilities. Two
    regressors are compared by their values. By default, all finite inputs are compared. With `X`
    and `max_changes`, only points near the rows of `X` are.

    Read more in the :ref:`guide <verify>`.

    Parameters
    ----------
    model_a, model_b : estimator
        Two fitted classifiers, or two fitted regressors, on the same features: tree ensembles,
        decision trees, native boosters of LightGBM or XGBoost, pipelines that end in one, or
        estimators of this package. They are not changed.
    domain : Domain, dict or None, default=None
        Which inputs can occur. Only these are compared. See :class:`Domain`. None: every finite
        input, whatever a table holds (for inputs like its rows, give ``Domain.from_rows(X)``). Near
        rows of `X`, a column may then also be missing if it is missing in some row of `X`. Levels
        that a model takes for missing values, because it never saw them, count there. If `X` is a
        frame, the counterexample has whole numbers and known levels as its rows do, where there is
        such a one.
    X : array-like of shape (n_samples, n_features), stream of such rows, or None, default=None
        Rows near which the models are compared. Needs `max_changes`. The rows themselves are
        compared first, as they are given. Streams are those of :func:`agreement`; only a row on
        which the models differ can then be saved, and the proof for all others cannot.
    max_changes : int or None, default=None
        How many features may differ from a row of `X`, whatever values they take. 0: the rows
        alone. 1: every change of one feature. All such points are tried, so the time grows with the
        number of thresholds, to the power of `max_changes`. None: every input is compared.
    atol, rtol : float or None, default=None
        Absolute and relative tolerance for numbers. Answers a and b of the two models count as
        equal if ``abs(a - b) <= atol + rtol * abs(b)``, as in :func:`numpy.isclose`. For
        classifiers, the numbers are the probabilities of each class (0 for a class that a model
        does not know). If both are None, classifiers are compared by label, and regressors must
        give the very same numbers. If one is None, it is 0.
    time_limit : float or None, default=None
        Seconds after which the attempt ends undecided.

    Returns
    -------
    verification : Verification
        Its attribute ``equal`` is True (proven), False (see ``counterexample``) or None (undecided,
        see ``reason``). If numbers are compared, the largest difference lies between
        ``max_difference`` and ``max_difference_bound``.

    Other Parameters
    ----------------
    voting : {"estimator", "hard"}, default="estimator"
        What counts as the answer of a classifier. ``"estimator"``: what ``predict`` returns (with
        ``n_jobs=None``). ``"hard"``: the class for which most trees vote, each with the same
        weight. A tie goes to the class that comes first.
    max_boxes : int or None, default=None
        How many boxes of the feature space are looked at before the attempt ends undecided. Unlike
        `time_limit`, it does not depend on the machine. Not used with `max_changes`.
    n_jobs : int or None, default=None
        Threads, which share the points near rows of `X`. None: 1 unless in a
        ``joblib.parallel_config`` context. -1: all processors. Without `time_limit`, the result
        does not depend on it. Not used without `max_changes`.

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
    agreement : How often, where, and how closely two models agree.
    differences : Where two models differ, in short rules.
    FaithfulPruner : Fewer trees that keep every answer.

    Notes
    -----
    The models may know different classes, or have them in another order: labels are compared, not
    their numbers.

    *Which inputs.* Two models that round to float32 themselves, and two that compare float64
    numbers (HistGradientBoosting, LightGBM), are compared on every finite row. One of each kind,
    and pipelines, are compared on the rows that float32 represents. With `max_changes`, these are
    near the rows rounded to float32.

    *Which probabilities.* Those that are means over trees: of trees, forests, bagging, soft votes
    of these, and forests converted to ONNX or treelite. By `atol` alone, also those of two boosted
    classifiers of the same two classes, which are a sigmoid of a sum. Others are refused.

    *Rounding.* Bounds are in real numbers and keep a margin for all rounding. Within the margin of
    a tie, or of the tolerance, the models themselves are asked. The same trees in the same order
    are equal at once. The same trees in another order are a different model if their sums round:
    the label can change where two classes are nearly tied. Regressors without a tolerance are equal
    only bit for bit. A tolerance of ``1e-9`` times the largest value forgives rounding.

    *Time.* To decide equality is NP-hard, so the time can grow exponentially with the number of
    features. With `max_changes` it cannot: there are at most ``n_samples * thresholds **
    max_changes`` points. Both models are bounded at once, and trees that they share cancel [1]_. So
    a pruned ensemble is compared with the whole one in few boxes.

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
    >>> outcome
    Verification(equal=False: 1 against 0 at [5.8499999, 2, 4, 0.774999976]; ... boxes in ... s)
    >>> row = outcome.counterexample.reshape(1, -1)
    >>> forest.predict(row), tree.predict(row)
    (array([1]), array([0]))

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
    >>> outcome.equal, round(outcome.max_difference, 4), round(outcome.max_difference_bound, 4)
    (True, 0.0005, 0.0005)
    """
    begin = monotonic()
    models = [Model.of(model, voting=voting) for model in (model_a, model_b)]
    tolerance = _tolerance(models, voting, atol, rtol)
    if (X is None) != (max_changes is None):
        given = "no rows X were" if X is None else "rows X were"
        raise ValueError(
            f"max_changes={max_changes}, but {given} given. Give both, or neither to compare the "
            "models everywhere."
        )
    settings = {"voting": voting, "max_changes": max_changes, "atol": atol, "rtol": rtol}
    effort = maxsize if max_boxes is None else max_boxes, n_jobs
    asked = models, tolerance, domain, settings, effort
    stream = Stream.of(X)
    found = _compared(X, *asked) if stream is None else _of_stream(stream, *asked)
    return replace(found, seconds=monotonic() - begin)


def _of_stream(stream, models, tolerance, domain, settings, effort):
    """The outcome on all rows of a stream, which are compared batch by batch."""
    named = domain.get("missing") if isinstance(domain, dict) else getattr(domain, "missing", None)
    lacks, n_rows, found = None, 0, []
    if named is None and not stream.can_repeat:
        raise ValueError(
            "X can be read only once, so nobody knows before which of its columns lack something. "
            "Name them: domain=Domain(missing=[...]), an empty list if none does."
        )
    for rows in stream if named is None else ():
        table, _ = common_table(models, rows)
        own = table.may_miss(Rows.of(table, rows).numbers)
        lacks = own if lacks is None else lacks | own
    for rows in stream:
        own = _compared(rows, models, tolerance, domain, settings, effort, lacks)
        own = own if own.row is None else replace(own, row=own.row + n_rows)
        found.append(own if own.equal is False else replace(own, claim=None))
        n_rows += len(rows)
        if own.equal is False:
            break
    if not found:
        raise ValueError("X is a stream without rows. Give one that was not read before.")
    # what is refuted is told first, then what is undecided
    told = min(found, key=lambda own: {False: 0, None: 1, True: 2}[own.equal])
    if tolerance is not None:
        ends = ("max_difference", "max_difference_bound")
        told = replace(told, **{end: max(getattr(own, end) for own in found) for end in ends})
    return replace(told, n_boxes=sum(own.n_boxes for own in found))


def _compared(X, models, tolerance, domain, settings, effort, lacks=None):
    """The outcome on all inputs, or near rows in memory, of which all together lack something."""
    check_column_names([model.estimator for model in models], X)
    table, models = common_table(models, X)
    given = None if X is None else Rows.of(table, X)
    rows = None if given is None else given.numbers
    max_changes = settings["max_changes"]
    inside = table.inside(domain, table.may_miss(rows) if lacks is None else lacks)
    if rows is not None:
        table.check_inside(inside, rows, X)
    for model in models:
        check_missing(inside, model)

    def compared(inside):
        if tolerance is not None:
            return compare_numbers(models, inside, tolerance, given, max_changes, *effort)
        return compare_labels(models, inside, given, max_changes, *effort)

    outcome = compared(inside)
    is_free = domain is None and hasattr(X, "columns")
    if given is not None and is_free and outcome.equal is False:
        # nearly the same proof again, for a row that a table like X can hold
        lacks = np.isnan(given.numbers).any(axis=0) if lacks is None else lacks
        alike = table.inside(table.domain_of(X), lacks)
        if not alike.contains(outcome.counterexample[None])[0]:
            likely = compared(alike)
            outcome = likely if likely.equal is False else outcome
    row = outcome.counterexample
    claim = None
    if outcome.equal is not None:
        claim = _claim(models, inside, outcome, tolerance, given, settings)
    return replace(
        outcome,
        counterexample=None if row is None else _shown(row, table, X),
        domain=domain,
        max_changes=max_changes,
        tolerance=tolerance,
        finer=any(forest.is_finer for forest in common_forests(models)),
        row_dtype=table.row_dtype,
        claim=claim,
    )


def _claim(models, inside, outcome, tolerance, given, settings):
    """What was proven, or refuted, for `Verification.save`."""
    kind, data = "same_class", {}
    if tolerance is not None:
        kind, data = "within", dict(zip(("atol", "rtol"), tolerance, strict=True))
    claim = Claim.of_pair(kind, models, inside, data=data, settings=settings)
    if not outcome.equal:
        return replace(claim, point=outcome.counterexample.astype(np.float64))
    if given is None:
        return claim
    forest = claim.forests[0]
    rows = given.numbers.astype(np.float64)
    if claim.is_finer:
        rows = given.rounded(forest.row_dtype).astype(np.float64)
    vary = [[j] for j in range(forest.n_features)]
    return replace(claim, near=Near(rows, settings["max_changes"], vary))


def _shown(row, table, X):
    """A row of numbers as the models take it: as an array, unless columns have kinds of their own.

    These are levels, or numbers of several types in a frame.
    """
    table = table if X is None else table.like(X)
    shown = table.shown(row[None])
    return shown[0] if table.is_uniform else shown


def _tolerance(models, voting, atol, rtol):
    """How far apart numbers may be; None where labels are compared."""
    kinds = [model.forest.classes is None for model in models]
    if kinds[0] != kinds[1]:
        names = [model.name for model in models]
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
