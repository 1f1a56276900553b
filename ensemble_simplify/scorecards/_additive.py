"""Additive models as cards: ensembles no path of which tests more than two columns."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ensemble_simplify.base import Interval, validate_params, warn
from ensemble_simplify.grid import Domain
from ensemble_simplify.proof import verify
from ensemble_simplify.reading import (
    ImportedEnsemble,
    Model,
    TreeSum,
    TreeVotes,
    has_probabilities,
    imported,
    says_it_takes_gaps,
)
from ensemble_simplify.scorecards._card import Card, Term
from ensemble_simplify.scorecards._chances import based
from ensemble_simplify.scorecards._shown import ShowsCard

# Points of a card, at most.
_MOST_POINTS = 1 << 22
# Rounds in which main effects are taken out of a pair, and what of its points is nothing.
_ROUNDS, _NOTHING = 200, 1e-13
# What taking them out may round, as a part of the points.
_ROUNDED = 64 * float(np.finfo(np.float64).eps)


class AdditiveScorecard(ShowsCard, ImportedEnsemble):
    """A fitted additive model, written as a scorecard; it cannot be fitted again.

    :func:`scorecard` makes it. It predicts by adding up points, and is taken wherever a fitted
    ensemble is: by `verify`, the audit functions and `export_model`.

    Attributes
    ----------
    card_ : Card
        Its terms, with the edges and points of their bins.
    verification_ : Verification
        Whether the card is proven to answer as the model does; see :func:`verify`.
    classes_ : ndarray of shape (n_classes,)
        Only of classifiers.
    n_features_in_ : int
    feature_names_in_ : ndarray of str, shape (n_features,)
        Only if the columns have names.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.ensemble import GradientBoostingClassifier
    >>> from ensemble_simplify import scorecard
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = GradientBoostingClassifier(n_estimators=20, max_depth=1, random_state=0)
    >>> card = scorecard(model.fit(X, y))
    >>> card.verification_.equal, card.card_.n_bins, card.card_.features
    (True, 19, [7, 20, 22, 23, 27])
    """

    card_: Card

    def _numbers_of(self, X):
        return self._rows(X)


@validate_params(
    {
        "model": "no_validation",
        "X": ["array-like", None],
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
        "max_boxes": [Interval(Integral, 1, None, closed="left"), None],
    }
)
def scorecard(
    model: Any,
    *,
    X: ArrayLike | None = None,
    time_limit: float | None = None,
    max_boxes: int | None = 100_000,
) -> AdditiveScorecard:
    """Write a fitted additive model as a scorecard, and prove that it answers alike.

    Additive are boosted stumps, and other ensembles that sum up trees in which no path tests more
    than two columns: each leaf is then decided by one column, or a pair. All that is said of a
    column is summed up to the points of its bins, of a pair to a grid. What a grid says of one of
    its columns alone is told there: it is zero on average over each column of the pair (a
    functional analysis of variance [1]_), as the rows of `X` are spread over the grid, or evenly
    without them.

    Read more in the :ref:`guide <scorecard>`.

    Parameters
    ----------
    model : fitted estimator
        Gradient boosting of scikit-learn, LightGBM, XGBoost or CatBoost with trees of depth 1 or
        2 (or of more, if no path tests a third column; of a Poisson, gamma or Tweedie loss, it is a
        tariff), `AdaBoostClassifier` of such trees, a
        regressor that averages such trees, or what `FaithfulPruner` made of these; also behind a
        decision threshold or the sigmoid calibration of one model.
    X : array-like or frame of shape (n_samples, n_features), default=None
        Some rows as the model takes them, such as the training rows: how they are spread says what
        of a pair is the effect of one column. They are counted in the bins. Reading some models
        needs them: see :func:`export_model`.
    time_limit : float or None, default=None
        Seconds that the proof may take.
    max_boxes : int or None, default=100_000
        Boxes that the proof may look at; see :func:`verify`.

    Returns
    -------
    card : AdditiveScorecard
        Fitted. ``verification_`` is the proof: of labels, or, in regression, of numbers but for
        roundings. A warning tells if it is no proof of equality.

    Raises
    ------
    TypeError
        If the model cannot be read, is no sum, or tests three columns on a path.

    See Also
    --------
    ScorecardClassifier : Makes a small card from any model.
    verify : What proves it.

    Notes
    -----
    The points of a bin are summed up before they are added to those of others, so sums are rounded
    otherwise than the model's own. Where two classes are tied but for such a rounding, a label can
    differ. (XGBoost rounds to float32, tree after tree.)

    References
    ----------
    .. [1] B. Lengerich et al., "Purifying interaction effects with the functional ANOVA", AISTATS
       2020.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.ensemble import HistGradientBoostingRegressor
    >>> from ensemble_simplify import scorecard
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = HistGradientBoostingRegressor(max_iter=30, max_depth=1).fit(X, y)
    >>> card = scorecard(model)
    >>> card.verification_.equal
    True
    >>> [term.columns for term in card.card_.terms]
    [(2,), (3,), (6,), (8,), (9,)]
    """
    read = Model.of(model, rows=X)
    numbers = None if X is None else read.table.read(X)
    card = _parted(_card_of(read), numbers)
    if card.link == "log" and numbers is not None:
        card = based(card, numbers, np.ones(len(numbers)))
    reading = card.reading(read.classes, read.table)
    found = imported(reading, len(read.table), kind=AdditiveScorecard)
    found.card_ = card
    if numbers is not None:
        found._card_rows = [term.counts(numbers) for term in card.terms]
    found._may_miss = np.full(len(read.table), says_it_takes_gaps(read.estimator) is not False)
    found._forest = Model.of(found, check=False).finest
    tolerance = {}
    if read.classes is None:
        # both sum up with roundings of their own, and main effects were taken out of pairs
        largest = sum(np.abs(term.points).max() for term in card.terms)
        rounding = sum(_sums(forest).rounding for forest in (read.finest, found._forest))
        rounding += _ROUNDED * largest
        tolerance["rtol" if card.link == "log" else "atol"] = rounding
    limits = {"time_limit": time_limit, "max_boxes": max_boxes, **tolerance}
    found.verification_ = outcome = verify(read.estimator, found, domain=_with_gaps(read), **limits)
    if outcome.equal is None:
        warn(
            f"The card adds up what {read.name} does, in another order. Whether that turns a label "
            "where two classes are tied but for roundings is not decided (reason: "
            f"{outcome.reason}). Give the proof more time_limit or max_boxes, or ask about your "
            "rows: verify(model, card, X=X, max_changes=1)."
        )
    elif not outcome.equal:
        row = np.asarray(outcome.counterexample).ravel().tolist()
        warn(
            f"The card answers otherwise than {read.name} where two classes are tied but for "
            f"rounding: at {row}, {outcome.predictions[1]} in place of {outcome.predictions[0]}."
        )
    return found


def _with_gaps(model):
    """The domain with gaps wherever a model takes them; None: it takes none."""
    if not says_it_takes_gaps(model.estimator):
        return None
    filled = np.zeros(len(model.table), dtype=bool)
    if model.forest.filled is not None:
        filled |= model.forest.filled
    filled[list(model.table.hashed)] = True
    return Domain(missing=np.flatnonzero(~filled).tolist())


def _card_of(model):
    """The card of a model that was read; TypeError if it is none."""
    value, base, options = _sums_of(model)
    boxes = _boxes_of(model, value)
    # trees of one leaf add the same to every row
    base = base + sum((own for _, own in boxes.pop((), [])), np.zeros(len(base)))
    sizes = {columns: _edges_of(columns, own) for columns, own in boxes.items()}
    n_points = sum(np.prod([len(own) + 2 for own in edges]) for edges in sizes.values())
    if n_points > _MOST_POINTS:
        raise TypeError(
            f"{model.name} would be a card of {n_points:,} points, more than {_MOST_POINTS:,}. "
            "Fit it with fewer or shallower trees, or fewer bins (max_bins)."
        )
    order = sorted(sizes, key=lambda columns: (len(columns), columns))
    terms = [_term(columns, sizes[columns], boxes[columns], len(base)) for columns in order]
    return Card(terms, base, **options)


def _parted(card, X):
    """The card with what its pairs say of one column alone in the terms of these columns."""
    if all(len(term.columns) == 1 for term in card.terms):
        return card
    parts, terms = {}, []
    for term in card.terms:
        weight, points = np.ones(term.points.shape[:-1]), term.points.copy()
        if X is not None:
            # cells without a row count a little, so that their effects are known, too
            weight += weight.size * term.counts(X)
        weight = weight[..., None]
        moved = [np.zeros((n, card.n_scores)) for n in points.shape[:-1]]
        for _ in range(_ROUNDS if len(moved) == 2 else 0):
            largest = 0.0
            for axis in (0, 1):
                mean = (weight * points).sum(axis=1 - axis) / weight.sum(axis=1 - axis)
                points -= np.expand_dims(mean, 1 - axis)
                moved[axis] += mean
                largest = max(largest, np.abs(mean).max())
            if largest <= _NOTHING * np.abs(term.points).max():
                break
        if len(moved) == 2:
            terms.append(replace(term, points=points))
        else:
            moved = [points]
        for j, edges, own in zip(term.columns, term.edges, moved, strict=True):
            parts.setdefault(j, []).append(Term((j,), (edges,), own))
    mains = []
    for j, own in sorted(parts.items()):
        edges = card.edges_of(j)
        rows = np.zeros((len(edges) + 2, j + 1))
        rows[:, j] = [*edges, np.inf, np.nan]
        mains.append(Term((j,), (edges,), np.sum([term.parts(rows) for term in own], axis=0)))
    return replace(card, terms=[*mains, *terms])


def _sums_of(model):
    """What each node of the trees adds, where the sums begin, and the options of the card."""
    forest, vote = model.finest.on_thresholds, model.decision
    if forest.classes is None:
        sums = _sums(forest)
        if sums is None:
            _refuse(model, "does not add up its trees")
        return sums.value, sums.start, {"link": "log" if vote.link_kind == "exp" else "identity"}
    is_sum = isinstance(vote.numbers, TreeSum | TreeVotes)
    if not is_sum or not has_probabilities(vote) or vote.temperature is not None:
        _refuse(model, "does not add up its trees behind a sigmoid or softmax")
    options = {"slope": vote.slope, "shift": vote.shift}
    if vote.is_of_votes:
        value, base = forest.value[:, : vote.n_scores] / vote.divisor, np.zeros(vote.n_scores)
        if vote.n_scores > 2:
            options["slope"] = 1.0 / (vote.n_scores - 1)
            return value, base, {"link": "softmax", **options}
        value, base = value[:, 1:] - value[:, :1], np.zeros(1)
    else:
        value = forest.value[:, : vote.n_scores] / vote.divisor
        base = vote.moved_by / vote.divisor
        if vote.n_scores > 1:
            return value, base, {"link": "softmax", **options}
    at, tie_upper = vote.above, vote.tie_upper
    if vote.cut is not None:
        if len(vote.cut.at) != 1 or vote.cut.first != 0:
            _refuse(model, "does not answer one class up to a score and the other one from it on")
        (at,), tie_upper = vote.cut.at, True
    # the class goes by the score against zero
    options["shift"] += vote.slope * at
    return value, base - at, {"link": "logistic", "tie_upper": tie_upper, **options}


def _sums(forest):
    """What a regressor adds up: its values, or their logarithms."""
    return forest.log_sums if forest.vote.link_kind == "exp" else forest.number_sums


def _refuse(model, what):
    raise TypeError(
        f"{model.name} {what}, so that no card adds up to it. ScorecardClassifier and "
        "ScorecardRegressor make a card that follows any model."
    )


def _boxes_of(model, value):
    """The leaves by the columns that decide them: for each of these their boxes and values.

    A box has, for each column, the last number that is below it, its last one, and whether gaps
    are in it.
    """
    forest = model.finest.on_thresholds
    ends, to_left = forest.ends(model.table), forest.missing_left
    found = {}
    for root in forest.offsets[:-1].tolist():
        stack = [(root, {})]
        while stack:
            node, box = stack.pop()
            if forest.left[node] < 0:
                columns = tuple(sorted(box))
                found.setdefault(columns, []).append(([box[j] for j in columns], value[node]))
                continue
            j, end = int(forest.feature[node]), float(ends[node])
            low, high, gaps = box.get(j, (-np.inf, np.inf, True))
            # a card of three columns in one term would be a table that nobody reads
            if j not in box and len(box) == 2:
                _refuse(model, "has a path that tests more than two columns")
            gap_left = to_left is not None and bool(to_left[node])
            stack.append(
                (int(forest.right[node]), {**box, j: (max(low, end), high, gaps and not gap_left)})
            )
            stack.append(
                (int(forest.left[node]), {**box, j: (low, min(high, end), gaps and gap_left)})
            )
    return found


def _edges_of(columns, boxes):
    """The finite ends of some boxes along each axis, ascending."""
    ends = [np.unique([end for box, _ in boxes for end in box[i][:2]]) for i in range(len(columns))]
    return tuple(own[np.isfinite(own)] for own in ends)


def _term(columns, edges, boxes, n_scores):
    points = np.zeros((*(len(own) + 2 for own in edges), n_scores))
    for box, value in boxes:
        # a bin is in a box where its last number is, since all ends of boxes are edges
        inside = []
        for own, (low, high, gaps) in zip(edges, box, strict=True):
            last = np.append(own, np.inf)
            inside.append(np.append((last > low) & (last <= high), gaps))
        points[np.ix_(*inside)] += value
    return Term(columns, edges, points)
