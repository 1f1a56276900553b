"""How often, and where, two classifiers agree: intervals from rows, bounds on volume."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from time import monotonic
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ensemble_simplify.base import (
    Interval,
    binomial_interval,
    check_column_names,
    deadline_after,
    validate_params,
)
from ensemble_simplify.grid import Domain, cell_shares, read_domain
from ensemble_simplify.proof.forest_pair import Space, may_begin
from ensemble_simplify.proof.given_rows import Given, differ
from ensemble_simplify.reading import Model, common_forests, common_table
from ensemble_simplify.writing import percent

# Points drawn from the box without a time limit.
SAMPLES = 100_000
# Boxes that are proven or halved without a time limit.
BOXES = 20_000
# Without a time limit, proofs end after so many boxes
FIRST_BOXES = 1_000
# if less than this share of the volume is settled then, as with deep forests.
LEAST_SETTLED = 0.01
# Boxes inside of a box that its proof may look at before the box is halved.
BOXES_OF_ONE = 200
# Where the proven bounds on a volume are closer than this, no estimate is drawn.
SHARP = 0.02
# Rows shown on which the models differ.
SHOWN = 10
# Points predicted at once; and those that are drawn where the time is up before.
BATCH, LATE_BATCH = 10_000, 1_000
_COUNT = itertools.count()

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True, eq=False, repr=False)
class Agreement:
    """Outcome of `agreement`.

    Parameters
    ----------
    share : float
        Share of the rows of `X` that the models answer alike; nan without rows.
    interval : pair of float
        Where the probability that they answer alike lies, for rows drawn as those of `X` were, at
        the confidence asked for (Clopper and Pearson); (0, 1) without rows.
    n_rows, n_different : int
        Rows of `X`, and how many the models answer otherwise.
    volume : pair of float
        Where the share of the volume of the box lies on which they answer alike: proven, if both
        models can be read; otherwise the interval below. The volume is that of all real numbers in
        the box, in the arithmetic of doubles. Where a model compares numbers that are finer than
        float32 (HistGradientBoosting, LightGBM, pipelines), those between a threshold and the
        next float32 count as not settled.
    volume_estimate : float
        The same share, estimated from points drawn from the box.
    volume_interval : pair of float
        Its interval at the confidence asked for; independent of the proof.
    box : pair of ndarray of shape (n_features,)
        Lower and upper ends of the box: the range of the rows, or the bounds of the domain.
    counterexamples : ndarray of shape (n, n_features)
        Some rows on which the models differ, those of `X` first.
    predictions : list of pairs of labels
        What the models answer to them.
    confidence : float
        Of the intervals.
    is_read : bool
        Whether both models could be read, so that the bounds on volume are proven.
    seconds : float
        Time taken.
    table : Table
        What the numbers of `counterexamples` stand for, where the models take tables of text or
        categories; see `to_frame`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from ensemble_simplify import agreement
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(5, random_state=0).fit(X[::2], y[::2])
    >>> tree = DecisionTreeClassifier(random_state=0).fit(X[::2], y[::2])
    >>> outcome = agreement(forest, tree, X[1::2], random_state=0)
    >>> outcome.n_rows
    75
    >>> outcome.interval[0] < outcome.share < outcome.interval[1]
    True
    """

    share: float
    interval: tuple
    n_rows: int
    n_different: int
    volume: tuple
    volume_estimate: float
    volume_interval: tuple
    box: tuple
    counterexamples: np.ndarray
    predictions: list
    confidence: float
    is_read: bool
    seconds: float
    table: Any = None

    def to_frame(self, feature_names: Sequence[str] | None = None) -> pandas.DataFrame:
        """The counterexamples as a data frame, with what the models answer.

        Parameters
        ----------
        feature_names : sequence of str or None, default=None
            None: ``x0``, ``x1``, ...

        Returns
        -------
        pandas.DataFrame
            A row each: its features, and the columns ``model_a`` and ``model_b``.
        """
        import pandas as pd

        names = feature_names
        if self.table is not None:
            rows = self.table.decode(self.counterexamples)
            names = list(getattr(rows, "columns", names or range(rows.shape[1])))
            frame = pd.DataFrame(rows, columns=names)
            return self._with_answers(frame)
        if names is None:
            names = [f"x{j}" for j in range(self.counterexamples.shape[1])]
        return self._with_answers(pd.DataFrame(self.counterexamples, columns=list(names)))

    def _with_answers(self, frame):
        frame["model_a"] = [first for first, _ in self.predictions]
        frame["model_b"] = [second for _, second in self.predictions]
        return frame

    def __repr__(self):
        parts = []
        if self.n_rows:
            parts.append(
                f"the same answer on {percent(self.share)} of {self.n_rows} rows "
                f"(probability {_range(self.interval)} at confidence {self.confidence:g})"
            )
        about, volume = percent(self.volume_estimate), _range(self.volume)
        if not self.is_read:
            volume = f"{volume} of the volume (at confidence {self.confidence:g})"
        elif self.volume[1] - self.volume[0] < SHARP:
            # single rows, as those at an end of the box, have no volume
            rows = ", but for single rows" if self.n_different and self.volume[0] == 1 else ""
            volume = f"{volume} of the volume (proven{rows})"
        else:
            volume = f"about {about} of the volume (proven: {volume})"
        parts.append(f"the same answer on {volume}")
        return f"Agreement({', '.join(parts)}, {self.seconds:.3g} s)"


def _range(ends):
    low, high = (percent(end) for end in ends)
    return low if low == high else f"{low} to {high}"


@validate_params(
    {
        "X": ["array-like", None],
        "domain": [Domain, dict, None],
        "confidence": [Interval(Real, 0, 1, closed="neither")],
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
        "random_state": ["random_state"],
    },
    prefer_skip_nested_validation=False,
)
def agreement(
    model_a: Any,
    model_b: Any,
    X: ArrayLike | None = None,
    *,
    domain: Domain | dict | None = None,
    confidence: float = 0.95,
    time_limit: float | None = None,
    random_state: int | np.random.RandomState | None = None,
) -> Agreement:
    """Measure how often, and where, two classifiers agree.

    The agreement is measured on the rows `X`, and on the volume of a box of possible inputs.

    Read more in the :ref:`User Guide <verify>`.

    Parameters
    ----------
    model_a, model_b : estimator
        Fitted classifiers on the same features, of any kind. If both are tree models that can be
        read (see :func:`verify`), the bounds on the volume are proven. Otherwise they are estimated
        from random points.
    X : array-like of shape (n_samples, n_features) or None, default=None
        Rows on which neither model was fitted, and which are like the rows on which the agreement
        matters. Without them, `domain` must bound every feature.
    domain : Domain, dict or None, default=None
        The box in which the volume is measured. Its bounds replace the range of the rows; features
        that it calls integers are counted in whole numbers. Groups and implications are not
        supported here. None: the range of the rows.
    confidence : float in (0, 1), default=0.95
        Confidence of the intervals.
    time_limit : float or None, default=None
        Seconds for random points and bounds on the volume together. None: 100,000 points, and at
        most 20,000 boxes, or 1,000 if these settle less than 1 % of the volume.
    random_state : int, RandomState instance or None, default=None
        Seeds the random points.

    Returns
    -------
    agreement : Agreement
        ``share``: the share of the rows with the same answer; ``interval``: a confidence interval
        of the probability of the same answer; ``volume``: bounds on the share of the box with the
        same answer; ``counterexamples``: some rows with different answers.

    Raises
    ------
    ValueError
        If neither rows nor the domain bound a feature, a row is outside the domain, or the models
        have different features.

    See Also
    --------
    verify : Whether they agree everywhere.

    Notes
    -----
    The interval of Clopper and Pearson covers the true probability at least as often as
    `confidence` says, if the rows are drawn independently. The bounds on the volume hold for
    certain, if both models can be read: a box is settled if both models provably give the same
    answer in it, or one class each. All other boxes are halved, the largest first, until the time
    or the number of boxes is used up. Most models round numbers to float32 before they compare
    them, and the bounds count how many numbers are rounded to which side of a threshold. Two models
    that compare float64 numbers (HistGradientBoosting, LightGBM) are compared on all of these. Of
    pipelines, and of models of both kinds, numbers between a threshold and the next float32 remain
    open: that matters where a column spans few float32 numbers, as seconds since 1970 do.

    References
    ----------
    .. [1] C. J. Clopper, E. S. Pearson (1934). The Use of Confidence or Fiducial Limits
       Illustrated in the Case of the Binomial. Biometrika 26, 404-413.
       https://doi.org/10.1093/biomet/26.4.404

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from ensemble_simplify import agreement
    >>> X, y = load_iris(return_X_y=True)
    >>> deep = DecisionTreeClassifier(random_state=0).fit(X[::2], y[::2])
    >>> flat = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X[::2], y[::2])
    >>> outcome = agreement(deep, flat, X[1::2], random_state=0)
    >>> low, high = outcome.volume
    >>> bool(low == high)
    True
    """
    begin, deadline = monotonic(), deadline_after(time_limit)
    rng = check_random_state(random_state)
    models = _read_both(model_a, model_b)
    check_column_names([model.estimator for model in models], X)
    table = common_table(models, X)
    is_read = all(model.forest is not None for model in models)
    forests = common_forests(models) if is_read else None
    given = None if X is None else Given.of(table, X)
    rows = np.empty((0, len(table))) if given is None else given.numbers
    missing, codes = table.may_miss(rows), table.highest_code
    inside = read_domain(domain, len(table), table.names, missing, codes)
    table.check_bounds(inside)
    if inside is not None and inside.clauses:
        raise ValueError(
            "domain has groups or implications, which agreement does not support. Leave them out, "
            "or give their features integers and bounds."
        )
    answers = None
    if X is not None:
        if inside is not None:
            inside.check_rows(rows)
        table = table.like(X)
        batches = [answered for _, answered in given.answers(models)]
        answers = [np.concatenate(own) for own in zip(*batches, strict=True)]
    low, high, integer = _box(rows.astype(np.float64), inside)
    different = np.zeros(0, dtype=bool) if answers is None else differ(*answers)
    # what is drawn need not be finer than what all models look at
    rounds = is_read and all(model.forest.input_dtype == "float32" for model in models)
    shown = [rows[different][:SHOWN]]
    told = [] if answers is None else _pairs(answers, different)
    n_drawn, n_apart = 0, 0
    half = deadline if forests is None else (begin + deadline) / 2
    while n_drawn < SAMPLES and (monotonic() < half or not n_drawn):
        n_points = BATCH if monotonic() < half else LATE_BATCH
        points = _drawn(low, high, integer, rounds, n_points, rng).astype(rows.dtype)
        drawn = [model.answers(points) for model in models]
        apart = differ(*drawn)
        n_drawn, n_apart = n_drawn + len(points), n_apart + int(apart.sum())
        room = SHOWN - sum(map(len, shown))
        shown.append(points[apart][:room])
        told += _pairs(drawn, apart)[:room]
    n_rows, n_different = len(rows), int(different.sum())
    interval = _interval(n_rows - n_different, n_rows, confidence)
    volume_interval = _interval(n_drawn - n_apart, n_drawn, confidence)
    volume = volume_interval
    if forests is not None:
        volume = _proven_volume(forests, inside, low, high, integer, deadline)
    return Agreement(
        share=1.0 - n_different / n_rows if n_rows else np.nan,
        interval=interval,
        n_rows=n_rows,
        n_different=n_different,
        volume=volume,
        volume_estimate=1.0 - n_apart / n_drawn,
        volume_interval=volume_interval,
        box=(low, high),
        counterexamples=np.concatenate(shown),
        predictions=told[:SHOWN],
        confidence=confidence,
        is_read=is_read,
        seconds=monotonic() - begin,
        table=table,
    )


def _read_both(*fitted):
    """Two models; they can only be asked, if one cannot be read."""
    try:
        return [Model.of(model, classifier=True) for model in fitted]
    except (TypeError, ImportError):
        models = [Model.unread(model) for model in fitted]
        for model in models:
            check_is_fitted(model.estimator)
        return models


def _box(rows, inside):
    """Ends of the box, and which features are whole numbers."""
    n_features = rows.shape[1]
    low, high = np.full(n_features, -np.inf), np.full(n_features, np.inf)
    integer = np.zeros(n_features, dtype=bool)
    if inside is not None:
        low, high, integer = inside.low.copy(), inside.high.copy(), inside.integer
    if len(rows):
        known = ~np.isnan(rows)
        rows = np.where(known.any(axis=0), rows, 0.0)  # of a column without a number, any will do
        known |= ~known.any(axis=0)
        least = rows.min(axis=0, where=known, initial=np.inf)
        most = rows.max(axis=0, where=known, initial=-np.inf)
        low = np.where(np.isfinite(low), low, least)
        high = np.where(np.isfinite(high), high, most)
    unbounded = np.flatnonzero(~(np.isfinite(low) & np.isfinite(high)))
    if unbounded.size:
        raise ValueError(
            f"Nothing bounds feature {unbounded[0]}. Give rows X, or a domain with bounds for "
            "every feature."
        )
    return low, high, integer


def _drawn(low, high, integer, rounds, n, rng):
    """Points drawn evenly from the box; if `rounds`, as plain numbers that float32 represents."""
    share = rng.random_sample((n, len(low)))
    points = low + share * (high - low)
    whole = np.minimum(np.floor(low + share * (high - low + 1)), high)
    points = np.where(integer, whole, points)
    if rounds:
        points = points.astype(np.float32).astype(np.float64)
    return np.clip(points, low, high)


def _pairs(answers, different):
    chosen = np.flatnonzero(different)[:SHOWN]
    return [tuple(answer[i] for answer in answers) for i in chosen]


def _interval(n_alike, n, confidence):
    """Ends, as plain numbers, of the interval of a probability."""
    low, high = binomial_interval(n_alike, n, confidence)
    return float(low), float(high)


def _proven_volume(forests, inside, low, high, integer, deadline):
    """Bounds on the share of the box on which two forests answer alike."""
    if not may_begin(forests, deadline):
        return 0.0, 1.0
    space = Space(forests, domain=inside)
    alone = [Space([forest], space.axes, inside).certifier for forest in forests]
    finer = any(forest.is_finer for forest in forests)
    shares = _shares(space.axes, low, high, integer, finer)
    # the largest first, so that the bounds close as fast as they can
    open_, n_boxes = [], 0
    _push(open_, shares, *space.whole)
    alike = apart = 0.0
    while open_ and n_boxes < BOXES and monotonic() < deadline:
        if n_boxes == FIRST_BOXES and deadline == np.inf and alike + apart < LEAST_SETTLED:
            break
        n_boxes += 1
        share, _, lo, hi = heapq.heappop(open_)
        equal, _, _ = space.certifier.prove(lo, hi, deadline, BOXES_OF_ONE)
        if equal:
            alike -= share
        elif equal is False and all(
            model.prove(lo, hi, deadline, BOXES_OF_ONE)[0] for model in alone
        ):
            # one class each, and not the same
            apart -= share
        else:
            a, cut = _halved(shares, lo, hi)
            for first, last in ((lo[a], cut), (cut + 1, hi[a])):
                part_lo, part_hi = lo.copy(), hi.copy()
                part_lo[a], part_hi[a] = first, last
                _push(open_, shares, part_lo, part_hi)
    if not open_ and not finer:
        return (min(alike, 1.0), min(alike, 1.0))
    return alike, max(1.0 - apart, alike)


def _shares(axes, low, high, integer, finer):
    """For every axis, the share of the box in the cells before each of its cells, and in all.

    Without the share that is in no cell, for models that compare `finer` numbers than float32.
    """
    shares = []
    for j, cuts in zip(axes.features, axes.cuts, strict=True):
        before = np.cumsum(cell_shares(cuts, low[j], high[j], integer[j], axes.row_dtype, finer))
        shares.append(np.concatenate([[0.0], before if finer else before / before[-1]]))
    return shares


def _push(open_, shares, lo, hi):
    """Note a box that is still open, without its rims of no volume."""
    lo, hi, size = lo.copy(), hi.copy(), 1.0
    for a, before in enumerate(shares):
        width = np.diff(before)[lo[a] : hi[a] + 1]
        some = np.flatnonzero(width > 0)
        if not some.size:
            return
        lo[a], hi[a] = lo[a] + some[0], lo[a] + some[-1]
        size *= before[hi[a] + 1] - before[lo[a]]
    # heaps have the smallest first; equal sizes are told apart by a count
    heapq.heappush(open_, (-size, next(_COUNT), lo, hi))


def _halved(shares, lo, hi):
    """Axis and cell after which a box is halved most evenly, the widest axis first."""
    best = (-1.0, 0, 0)
    for a, before in enumerate(shares):
        if lo[a] == hi[a]:
            continue
        inner = before[lo[a] + 1 : hi[a] + 1] - before[lo[a]]
        total = before[hi[a] + 1] - before[lo[a]]
        smaller = np.minimum(inner, total - inner)
        k = int(np.argmax(smaller))
        best = max(best, (float(smaller[k]), a, int(lo[a] + k)))
    return best[1], best[2]
