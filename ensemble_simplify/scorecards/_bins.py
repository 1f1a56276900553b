"""From labelled rows to cards of every size: cuts that come in and go out, all points refitted.

A card is a generalised additive model with few cuts. Every cut of a column adds a step to the
scores of the rows above it. Cuts come in one at a time, the one that lowers the loss most for each
bin that it costs, by a second-order estimate that lets all other points move with it. At every size
weak cuts are exchanged while that lowers the loss. All points are refitted after each change, by
Newton's method, on patterns: rows in the same bins of all columns in use have the same scores.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from scipy.special import log_expit

from ensemble_simplify.grid import code_columns, is_late, sums_of_bins, sums_of_pairs
from ensemble_simplify.scorecards._card import Card, Term, with_codes

# Candidate bins of a column.
_BINS = 64

# A row of the chance p costs (1 - p ** _BOUND) / _BOUND, the log loss for 0: a row that the
# card cannot tell costs little, however far off it is.
_BOUND = 0.5

# Steps are shrunk as by so many rows of average weight.
_RIDGE = 1.0

# A change must lower the loss of a row on average by this.
_ENOUGH = 1e-6

# The weakest cuts that are tried for exchange, or pairs of columns that are tried; and exchanges at
# a size, at most.
_TRIED, _MOST_EXCHANGED = 3, 20

# Bins of a column among which the cuts of pairs are looked for, and columns of which all pairs are
# looked at; of more, those of the columns in use.
_COARSE, _MOST_PAIRED = 8, 20

# Newton steps while cuts are chosen, and for the points that are handed out.
_FEW_STEPS, _MOST_STEPS = 5, 50

# Numbers closer than this, relative to the largest, are equal.
_ROUNDING = 1e-9

# Keys of bins, of which there may be so many before those that no row has are left out.
_KEYS = 1 << 14

# The least curvature of a row, which keeps steps finite.
_LEAST_CURVATURE = 1e-9

# How points may change along a column: the sign of each step, or of the first ones.
SHAPES = {"falling": -1, "rising": 1, "peak": 2, "valley": -2}


def signs_of(shape, steps) -> np.ndarray:
    """The sign that each of a column's steps, in their order, may have; 0: any.

    A peak rises up to the place where the least of all steps goes the wrong way.
    """
    if abs(shape) < 2:
        return np.full(len(steps), float(shape))
    up = np.sign(shape) * np.asarray(steps)
    wrong = [np.maximum(-up[:k], 0.0).sum() + np.maximum(up[k:], 0.0).sum() for k in range(len(up))]
    wrong.append(np.maximum(-up, 0.0).sum())
    return np.sign(shape) * np.where(np.arange(len(up)) < np.argmin(wrong), 1.0, -1.0)


@dataclass(frozen=True, eq=False)
class Step:
    """A card on the path.

    Attributes
    ----------
    card : Card
    n_bins : int
        Bins of all terms.
    features : list of int
        The columns that it uses, ascending.
    loss : float
        Mean loss of the weighted rows: twice one minus the root of the chance of the class, or half
        the squared error.
    """

    card: Card
    n_bins: int
    features: list[int]
    loss: float


def card_path(
    X,
    weight,
    target,
    *,
    link,
    real=None,
    max_bins=24,
    max_features=None,
    interactions=0,
    shapes=None,
    specials=None,
    min_samples_bin=1,
) -> list[Step]:
    """Cards of all sizes for weighted rows that are labelled, as many as the limit of time allows.

    Parameters
    ----------
    X : float64 array of shape (n_rows, n_columns)
        Numbers, compared in float32, or codes; NaN is a gap.
    weight : float64 array of shape (n_rows,)
    target : float64 array of shape (n_rows, n_scores)
        What the scores are to tell: one column with the chance of the second of two classes
        (logistic), one with that of each class (softmax), or one with values (identity).
    link : {"logistic", "softmax", "identity"}
    real : float64 array of shape (n_rows,) or None, default=None
        How many real rows each row stands for; None: one.
    max_bins : int
        Bins of the largest card, in all. A column that is used counts one bin more than it has
        cuts, and one for its gaps if it has any.
    max_features : int or None
        Columns that a card may use.
    interactions : int
        Pairs of columns that a card may use, each in two by two bins.
    shapes : array of shape (n_columns,) or None
        1 where a score may only rise with the column, -1 where it may only fall, 2 where it may
        fall once it has risen, -2 the other way round, 0 where it is free. For one score only.
        Gaps are free.
    specials : dict of list of float or None
        Numbers of a column, by its place, that are codes: each a bin of its own.
    min_samples_bin : float
        Real rows that a bin of numbers holds at least.

    Returns
    -------
    path : list of Step
        The largest card first. Smaller ones have larger losses. The last has no bins.
    """
    shapes = np.zeros(X.shape[1], dtype=np.intp) if shapes is None else np.asarray(shapes)
    search = _Search(X, weight, target, link, real, shapes, specials or {}, min_samples_bin)
    max_features = X.shape[1] if max_features is None else max_features
    return search.path(max_bins, max_features, interactions)


@dataclass(frozen=True, eq=False)
class _Fit:
    """Cuts with their points.

    `cuts` are places of bins: the one right above a cut, or that of gaps.
    """

    cuts: tuple[int, ...]
    points: np.ndarray  # (n_steps + 1, n_scores): the base, then the steps, those of grids last
    loss: float  # with the shrinkage
    curvature: list  # of each score, how strongly rows and the shrinkage hold the points
    # None of values without grids, which are fitted by sums over pairs of cuts alone
    scores: Any = None  # (n_patterns, n_scores)
    pattern: Any = None  # (n_rows,)
    grids: tuple[tuple[int, int], ...] = ()  # pairs of cuts that make two by two bins


class _Search:
    def __init__(self, X, weight, target, link, real, shapes, specials, min_samples_bin):
        X, self.source = _apart(np.array(X, dtype=np.float64), specials)
        self.specials, shapes = specials, np.r_[shapes, np.zeros(len(self.source) - len(shapes))]
        # the shrinkage counts rows, whatever unit the weights are in
        self.weight = weight / weight.mean()
        target, self.link = np.asarray(target, dtype=np.float64), link
        self.n_scores = target.shape[1]
        self.centre, self.scale = np.zeros(self.n_scores), 1.0
        if link == "identity":
            self.centre = np.average(target, axis=0, weights=weight)
            spread = float(np.sqrt(self.weight @ (target[:, 0] - self.centre) ** 2 / len(X)))
            self.scale = spread if spread > 0.0 else 1.0
            target = (target - self.centre) / self.scale
            target = np.hstack([np.ones_like(target), target, target**2])
        elif link == "logistic":
            target = np.hstack([1.0 - target, target])
        # all that scores need to know of rows, to be added up over rows with the same scores: the
        # weight of each class, or the moments of the values
        self.told = self.weight[:, None] * target
        self.codes = np.empty(X.T.shape, dtype=np.uint16)
        self.edges = code_columns(np.ascontiguousarray(X), _BINS, self.codes)
        # every column has a place for gaps, after those of its numbers
        sizes = np.array([len(edges) + 2 for edges in self.edges], dtype=np.intp)
        self.start = np.cumsum(sizes) - sizes
        self.gap = self.start + sizes - 1
        self.column = np.repeat(np.arange(len(sizes)), sizes)
        self.owner = self.source[self.column]
        is_missing = self.codes == (sizes - 1)[:, None]
        self.has_gap = is_missing.any(axis=1)
        real = np.ones(len(X)) if real is None else np.asarray(real, dtype=np.float64)
        self.real_rows = real
        self.real = self._above(real[:, None])[:, 0]
        self.mass = self._sums(self.weight[:, None])[:, 0]
        self._paired = {}
        if link == "identity":
            # (n_bins, 2): weights and values above each cut; and of all rows, with the squares
            self.moments, self.total = self._above(self.told[:, :2]), self.told.sum(axis=0)
        self.min_samples = min_samples_bin
        self.shape = shapes
        self.sign = np.where(np.abs(shapes) < 2, shapes, 0.0)[self.column]
        self.sign[self.gap] = 0.0
        self.is_cut = np.ones(self.column.size, dtype=bool)
        self.is_cut[self.start] = False
        self.is_cut[self.gap] = self.has_gap & (sizes > 2)

    # -------------------------------------------------------------- sums over rows

    def _sums(self, values):
        sums = np.zeros((self.column.size, values.shape[1]))
        sums_of_bins(self.codes, self.start, np.ascontiguousarray(values), sums)
        return sums

    def _above(self, values):
        """Sums over the rows above each cut, and over the gaps of each column."""
        return self._from_above(self._sums(values))

    def _from_above(self, sums):
        for begin, gap in zip(self.start, self.gap, strict=True):
            sums[begin:gap] = np.cumsum(sums[begin:gap][::-1], axis=0)[::-1]
        return sums

    def _is_above(self, cut):
        """Which rows are above a cut, or have a gap."""
        j = self.column[cut]
        code, own = cut - self.start[j], self.codes[j]
        if cut == self.gap[j]:
            return own == code
        return (own >= code) & (own < self.gap[j] - self.start[j])

    def _alike(self, cuts, grids):
        """The steps added for each pattern of bins, after a one, and the pattern of each row."""
        key, n_keys = np.zeros(self.codes.shape[1], dtype=np.int64), 1
        steps = [self._is_above(cut) for cut in [*cuts, *(cut for pair in grids for cut in pair)]]
        for step in steps:
            key, n_keys = 2 * key + step, 2 * n_keys
            if n_keys > _KEYS:
                key, n_keys = _numbered(key)
        pattern, n_patterns = _numbered(key)
        # any row of a pattern tells its steps
        some = np.empty(n_patterns, dtype=np.intp)
        some[pattern] = np.arange(len(pattern))
        steps = [step[some] for step in steps]
        columns = [np.ones(n_patterns), *steps[: len(cuts)]]
        for one, other in zip(steps[len(cuts) :: 2], steps[len(cuts) + 1 :: 2], strict=True):
            columns += [one, other, one & other]
        return np.column_stack(columns), pattern

    def _joints(self, cuts, held):
        """Sums of `held` over rows above each cut, and over those above both it and one of `cuts`.

        For each of its columns an array of shape (n_bins of all columns, n_cuts + 1).
        """
        if not cuts:
            yield from self._above(held).T[:, :, None]
            return
        n_first = n_groups = 0
        groups, ends = [], {}
        for j in sorted({int(self.column[cut]) for cut in cuts}):
            begin, gap = self.start[j], self.gap[j]
            own = sorted(cut for cut in cuts if begin < cut < gap)
            # rows between two cuts of a column are a group, and those that lack it
            of_code = np.searchsorted(own, np.arange(begin, gap + 1), side="right")
            of_code[-1] = len(own) + 1
            groups.append((n_groups + of_code).astype(np.uint16)[self.codes[j]])
            ends |= {cut: (n_groups + k + 1, n_groups + len(own) + 1) for k, cut in enumerate(own)}
            ends[int(gap)] = (n_groups + len(own) + 1, n_groups + len(own) + 2)
            n_groups += len(own) + 2
            n_first = n_first or n_groups
        groups = np.column_stack(groups)
        # every row is in one group of each column
        places = [(0, n_first), *(ends[cut] for cut in cuts)]
        for own in held.T:
            sums = np.zeros((self.column.size, n_groups))
            sums_of_pairs(self.codes, self.start, groups, np.ascontiguousarray(own), sums)
            sums = self._from_above(sums)
            yield np.column_stack([sums[:, slice(*own)].sum(axis=1) for own in places])

    def _joint_weights(self, cuts):
        """The same of weights, which never change: a column's cuts are counted once."""
        found = [self.moments[:, 0]]
        for cut in cuts:
            j = int(self.column[cut])
            if j not in self._paired:
                sums = np.zeros((self.column.size, self.gap[j] - self.start[j] + 1))
                codes = np.ascontiguousarray(self.codes[j][:, None])
                sums_of_pairs(self.codes, self.start, codes, self.weight, sums)
                sums = self._from_above(sums)
                sums[:, :-1] = np.cumsum(sums[:, -2::-1], axis=1)[:, ::-1]
                self._paired[j] = sums
            found.append(self._paired[j][:, cut - self.start[j]])
        return np.column_stack(found)

    # -------------------------------------------------------------- the loss

    def _log_chances(self, scores):
        """Logarithms of the chances of the classes."""
        if self.link == "logistic":
            return log_expit(np.hstack([-scores, scores]))
        scores = scores - scores.max(axis=1, keepdims=True)
        return scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))

    def _loss(self, scores, told):
        if self.link == "identity":
            weight, first, second = told.T
            s = scores[:, 0]
            return 0.5 * (second - 2.0 * s * first + s**2 * weight).sum()
        return (told * -np.expm1(_BOUND * self._log_chances(scores))).sum() / _BOUND

    def _slopes(self, scores, told, of=slice(None)):
        """How rows pull at their scores, and how strongly they hold them.

        `of` says which of the scores are those of each row.
        """
        if self.link == "identity":
            return told[:, 1:2] - told[:, :1] * scores[of], told[:, :1]
        logs = self._log_chances(scores)
        chance = np.exp(logs)[of]
        own = told * np.exp(_BOUND * logs)[of]
        total = own.sum(axis=1, keepdims=True)
        held = np.maximum(total * chance * (1.0 - chance), _LEAST_CURVATURE)
        first = 1 if self.link == "logistic" else 0
        return (own - total * chance)[:, first:], held[:, first:]

    # -------------------------------------------------------------- points

    def fit(self, cuts, points, most=_FEW_STEPS, grids=()) -> _Fit:
        """The best points of some cuts, from those given; steps of the wrong sign are left out."""
        cuts = tuple(cuts)
        while True:
            if self.link == "identity" and not grids:
                fitted = self._solved(cuts)
            else:
                fitted = self._newton(cuts, points, most, grids)
            is_wrong = self._is_wrong(cuts, fitted.points[1 : len(cuts) + 1, 0])
            if not is_wrong.any():
                return fitted
            # for good, so that this ends
            cuts = tuple(cut for cut, wrong in zip(cuts, is_wrong, strict=True) if not wrong)
            points = fitted.points[np.r_[True, ~is_wrong, np.full(3 * len(grids), True)]]

    def _is_wrong(self, cuts, steps):
        """Which steps go another way than the shapes of their columns."""
        sign = self.sign[list(cuts)]
        for j in np.flatnonzero(np.abs(self.shape) > 1):
            own = [cut for cut in sorted(cuts) if self.start[j] < cut < self.gap[j]]
            own = [cuts.index(cut) for cut in own]
            sign[own] = signs_of(self.shape[j], steps[own])
        return steps * sign < 0.0

    def _signs(self, fitted):
        """The sign that one more step may have at each place; 0: any."""
        sign = self.sign.copy()
        for j in np.flatnonzero(np.abs(self.shape) > 1):
            begin, gap, way = self.start[j], self.gap[j], np.sign(self.shape[j])
            own = [k for k, cut in enumerate(fitted.cuts) if begin < cut < gap]
            rises = [fitted.cuts[k] for k in own if way * fitted.points[k + 1, 0] > 0.0]
            falls = [fitted.cuts[k] for k in own if fitted.cuts[k] not in rises]
            at = np.arange(begin, gap)
            before = at < max(rises, default=begin)
            sign[begin:gap] = way * (1.0 * before - (at > min(falls, default=gap)))
        return sign

    def _solved(self, cuts):
        """The best points for values: of a square loss, one step."""
        places = list(cuts)
        joint = self._joint_weights(cuts)[places]
        curvature = np.empty((len(cuts) + 1, len(cuts) + 1))
        curvature[0, 0], curvature[0, 1:], curvature[1:] = self.total[0], joint[:, 0], joint
        pull = np.r_[self.total[1], self.moments[places, 1]]
        curvature = _held_by_ridge(curvature)
        points = np.linalg.solve(curvature, pull)
        # half of the squares that are left, with the shrinkage: points are where its slope is zero
        loss = 0.5 * (self.total[2] - points @ pull)
        return _Fit(cuts, points[:, None], float(loss), [curvature])

    def _newton(self, cuts, points, most, grids):
        design, pattern = self._alike(cuts, grids)
        told = np.column_stack([np.bincount(pattern, own) for own in self.told.T])
        points = points.copy()
        scores = design @ points
        shrink = np.full((len(points), 1), _RIDGE)
        # the base says how frequent answers are, and is no step
        shrink[0] = 0.0
        loss = self._loss(scores, told) + 0.5 * (shrink * points**2).sum()
        for _ in range(most):
            before = loss
            pull, held = self._slopes(scores, told)
            slope = design.T @ pull - shrink * points
            # each score as if the others stayed; what they do together the length makes good
            curvature = [self._curvature(design, own) for own in held.T]
            change = np.linalg.solve(curvature, slope.T[:, :, None])[:, :, 0].T
            along, promised, length = design @ change, (slope * change).sum(), 1.0
            # half the step, and half of that, until the loss falls as its slope promises (Armijo)
            while length > 1e-6:
                tried, moved = points + length * change, scores + length * along
                lower = self._loss(moved, told) + 0.5 * (shrink * tried**2).sum()
                if lower <= loss - 1e-4 * length * promised:
                    points, scores, loss = tried, moved, lower
                    break
                length /= 2.0
            if before - loss <= 0.1 * _ENOUGH * len(self.weight):
                break
        held = self._slopes(scores, told)[1]
        curvature = [self._curvature(design, own) for own in held.T]
        return _Fit(cuts, points, float(loss), curvature, scores, pattern, grids)

    def _curvature(self, design, held):
        """How strongly rows and the shrinkage hold the points."""
        return _held_by_ridge(design.T @ (held[:, None] * design))

    # -------------------------------------------------------------- choosing cuts

    def n_bins(self, cuts, grids=()):
        return len(cuts) + len({self.owner[cut] for cut in cuts}) + 4 * len(grids)

    def _columns(self, fitted):
        """The columns that a card uses."""
        cuts = [*fitted.cuts, *(cut for pair in fitted.grids for cut in pair)]
        return {int(self.owner[cut]) for cut in cuts}

    def _gains(self, fitted):
        """By how much each cut would lower the loss, estimated with all points refitted."""
        cuts = list(fitted.cuts)
        gain = np.zeros(self.column.size)
        if self.link == "identity":
            joints = [self._joint_weights(cuts)]
            pulls = self.moments[:, 1:] - joints[0] @ fitted.points
        else:
            pull, held = self._slopes(fitted.scores, self.told, fitted.pattern)
            pulls = self._above(pull)
            joints = self._joints(cuts, held)
        for pull, joint, curvature in zip(pulls.T, joints, fitted.curvature, strict=True):
            # what of a cut's curvature the present steps explain (a Schur complement): the rest is
            # by how much it stands for something new
            known = np.einsum("ij,ji->i", joint, np.linalg.solve(curvature, joint.T))
            own = joint[:, 0] + _RIDGE
            gain += 0.5 * pull**2 / np.maximum(own - known, _ROUNDING * own)
        gain[~self.is_cut] = -1.0
        gain[cuts] = -1.0
        # of one score alone, where a column must rise or fall
        gain[pulls[:, 0] * self._signs(fitted) < 0.0] = -1.0
        return gain

    def _costs(self, cuts, max_features):
        """Bins that each cut would cost; infinity for those that may not come in."""
        used = np.zeros(len(self.start), dtype=bool)
        used[self.owner[list(cuts)]] = True
        cost = np.where(used, 1.0, 2.0)
        if used.sum() >= max_features:
            cost[~used] = np.inf
        cost = cost[self.owner]
        # a column with gaps is used with a bin for them
        has_cuts = self.is_cut & ~used[self.owner] & self.has_gap[self.column]
        has_cuts[self.gap] = False
        cost[has_cuts] += 1.0
        # codes are told from each other where they are told from numbers
        cost[(self.owner != self.column) & ~used[self.owner]] = np.inf
        cost[self._narrow(cuts)] = np.inf
        return cost

    def _narrow(self, cuts):
        """Which cuts would leave a bin with too few real rows."""
        if self.min_samples <= 0:
            return np.zeros(self.column.size, dtype=bool)
        ends = np.unique(np.r_[self.start, list(cuts), self.gap].astype(np.intp))
        # real rows above each end, of which no column has any above its last one
        above = np.where(np.isin(ends, self.gap), 0.0, self.real[ends])
        nearest = np.searchsorted(ends, np.arange(self.column.size), side="left")
        is_narrow = above[nearest - 1] - self.real < self.min_samples
        is_narrow |= self.real - above[nearest] < self.min_samples
        is_narrow[self.gap] = False
        return is_narrow

    def _added(self, fitted, room, max_features):
        """The card with the best cut added for which there is room; None where none helps."""
        cost = self._costs(fitted.cuts, max_features)
        gain = self._gains(fitted)
        gain[cost > room] = -1.0
        # infinite for cuts that may not come in, whose gain of -1 would become 0 by it
        worth = gain / np.minimum(cost, 3.0)
        cut = _first_best(worth)
        if worth[cut] <= _ENOUGH:
            return None
        new = [cut]
        gap = self.gap[self.column[cut]]
        if cost[cut] > 2.0 and cut != gap:
            new.append(int(gap))
        points = np.vstack([fitted.points, np.zeros((len(new), fitted.points.shape[1]))])
        return self.fit((*fitted.cuts, *new), points)

    def _without(self, fitted, k):
        """The card without one of its cuts; the gaps of a column go with its last cut."""
        left = [i for i in range(len(fitted.cuts)) if i != k]
        cut = fitted.cuts[k]
        j = self.column[cut]
        others = [i for i in left if self.owner[fitted.cuts[i]] == j]
        if cut == self.gap[j]:
            left = [i for i in left if i not in others]
        elif len(others) == 1 and fitted.cuts[others[0]] == self.gap[j]:
            left.remove(others[0])
        return self.fit([fitted.cuts[i] for i in left], fitted.points[[0, *(i + 1 for i in left)]])

    def _weakest(self, fitted):
        """Cuts by what the loss would rise without them, estimated, the least first."""
        # as for Wald's test: a step that is small for how firmly rows hold it can go
        variance = np.diagonal(np.linalg.inv(fitted.curvature), axis1=1, axis2=2).T[1:]
        rise = (0.5 * fitted.points[1:] ** 2 / variance).sum(axis=1)
        return _ascending(rise)

    def _exchanged(self, fitted, max_features, note):
        """The card with one weak cut exchanged for a better one; None where that does not help."""
        size = self.n_bins(fitted.cuts)
        for k in self._weakest(fitted)[:_TRIED]:
            tried = self._without(fitted, int(k))
            note(tried)
            while tried is not None and self.n_bins(tried.cuts) < size:
                tried = self._added(tried, size - self.n_bins(tried.cuts), max_features)
                if tried is not None:
                    note(tried)
                    if tried.loss < fitted.loss - _ENOUGH * len(self.weight):
                        return tried
        return None

    # -------------------------------------------------------------- pairs of columns

    def _coarse(self, j):
        """Few cuts of a column, and the number of those that each row is above."""
        begin, gap = self.start[j], self.gap[j]
        share = np.cumsum(self.mass[begin:gap])
        wanted = np.arange(1, _COARSE) / _COARSE * share[-1]
        cuts = np.unique(np.searchsorted(share[:-1], wanted) + 1)
        cuts = cuts[cuts < gap - begin]
        codes = np.searchsorted(cuts, self.codes[j], side="right")
        codes[self.codes[j] == gap - begin] = 0
        return begin + cuts, codes

    def _with_grid(self, fitted, max_features):
        """The card with one more pair of columns, in two by two bins; None where none helps."""
        if fitted.pattern is None:
            fitted = self._newton(fitted.cuts, fitted.points, 0, ())
        pull, held = self._slopes(fitted.scores, self.told, fitted.pattern)
        values = [self.real_rows, held.mean(axis=1), *pull.T]
        used, known = (
            self._columns(fitted),
            {tuple(self.column[cut] for cut in pair) for pair in fitted.grids},
        )
        free = np.flatnonzero(self.shape[self.source] == 0).tolist()
        free = [j for j in free if int(self.source[j]) not in self.specials]
        if len(free) > _MOST_PAIRED:
            free = [j for j in free if j in used]
        coarse = {j: self._coarse(j) for j in free}
        found = []
        for i, j in combinations(free, 2):
            if (i, j) in known or len(used | {i, j}) > max_features:
                continue
            (cuts, own), (others, other) = coarse[i], coarse[j]
            if not len(cuts) or not len(others):
                continue
            shape = len(cuts) + 1, len(others) + 1
            cell = own * shape[1] + other
            sums = np.array(
                [np.bincount(cell, value, shape[0] * shape[1]).reshape(shape) for value in values]
            )
            # sums over the four bins that each two cuts make
            low = sums.cumsum(axis=1)[:, :-1]
            parts = []
            for half in (low, sums.sum(axis=1, keepdims=True) - low):
                left = half.cumsum(axis=2)[:, :, :-1]
                parts += [left, half.sum(axis=2, keepdims=True) - left]
            parts = np.array(parts)
            gain = 0.5 * (parts[:, 2:] ** 2).sum(axis=1) / (parts[:, 1] + _RIDGE)
            gain = gain.sum(axis=0)
            gain[(parts[:, 0] < self.min_samples).any(axis=0)] = -1.0
            k = _first_best(gain.ravel())
            a, b = divmod(k, gain.shape[1])
            found.append((float(gain.flat[k]), (int(cuts[a]), int(others[b]))))
        order = _ascending([-gain for gain, _ in found])
        best = None
        for gain, pair in (found[k] for k in order[:_TRIED]):
            if gain <= 0.0:
                break
            points = np.vstack([fitted.points, np.zeros((3, fitted.points.shape[1]))])
            # the estimate takes pairs by themselves, so the first few are fitted with all others
            tried = self.fit(fitted.cuts, points, grids=(*fitted.grids, pair))
            if best is None or _is_lower(tried.loss, best.loss):
                best = tried
        return best

    def _add_grids(self, best, max_bins, max_features, n_pairs):
        """Give cards of every size a pair where that is better than more cuts."""
        for _ in range(n_pairs):
            for n_bins, fitted in sorted(best.items()):
                if n_bins + 4 > max_bins or is_late():
                    break
                other = self._with_grid(fitted, max_features)
                if other is not None and (
                    n_bins + 4 not in best or _is_lower(other.loss, best[n_bins + 4].loss)
                ):
                    best[n_bins + 4] = other

    def path(self, max_bins, max_features, n_pairs) -> list[Step]:
        best = {}

        def note(fitted):
            n_bins = self.n_bins(fitted.cuts)
            if n_bins not in best or _is_lower(fitted.loss, best[n_bins].loss):
                best[n_bins] = fitted

        fitted = self.fit((), np.zeros((1, self.n_scores)), _MOST_STEPS)
        note(fitted)
        while not is_late():
            larger = self._added(fitted, max_bins - self.n_bins(fitted.cuts), max_features)
            if larger is None or not _is_lower(larger.loss, fitted.loss):
                break
            fitted = larger
            note(fitted)
            for _ in range(_MOST_EXCHANGED):
                other = self._exchanged(fitted, max_features, note)
                if other is None or is_late():
                    break
                fitted = other
        self._add_grids(best, max_bins, max_features, n_pairs)
        path, lowest = [], np.inf
        # a larger card that is no better is not on the path
        for n_bins in sorted(best):
            if _is_lower(best[n_bins].loss, lowest):
                lowest = best[n_bins].loss
                path.append(self._step(best[n_bins]))
        return path[::-1]

    # -------------------------------------------------------------- cards

    def _step(self, fitted):
        fitted = self.fit(fitted.cuts, fitted.points, _MOST_STEPS, fitted.grids)
        base, terms = fitted.points[0].copy(), []
        for j in sorted({int(self.owner[cut]) for cut in fitted.cuts}):
            term, centre = self._term(j, fitted)
            terms.append(self._with_codes(term, fitted) if j in self.specials else term)
            base += centre
        for k, pair in enumerate(fitted.grids):
            term, centre = self._grid_term(pair, fitted.points[len(fitted.cuts) + 3 * k + 1 :][:3])
            terms.append(term)
            base += centre
        base = base * self.scale + self.centre
        # the same for all classes changes no probability; around zero, points can be read
        if self.link == "softmax":
            base -= base.mean()
        card = Card(terms, base, self.link)
        features = sorted(self._columns(fitted))
        # without what the shrinkage adds
        loss = fitted.loss - 0.5 * _RIDGE * np.square(fitted.points[1:]).sum()
        loss *= self.scale**2 / len(self.weight)
        return Step(card, self.n_bins(fitted.cuts, fitted.grids), features, float(loss))

    def _with_codes(self, term, fitted):
        """The term of a column with bins for its codes."""
        (j,) = term.columns
        codes, own = self.specials[j], np.flatnonzero(self.source == j)[1:]
        steps = {code: np.zeros(self.n_scores) for code in codes}
        for code, k in zip(codes[len(codes) - len(own) :], own, strict=True):
            if (cut := self.start[k] + 1) in fitted.cuts:
                steps[code] = self.scale * fitted.points[fitted.cuts.index(cut) + 1]
        return with_codes(term, steps)

    def _grid_term(self, pair, steps):
        columns = [int(self.column[cut]) for cut in pair]
        one, other = (self._is_above(cut) for cut in pair)
        cell = 2 * one + other
        mass = np.bincount(cell, self.weight, 4).reshape(2, 2)
        points = np.zeros((2, 2, steps.shape[1]))
        points[1] += steps[0]
        points[:, 1] += steps[1]
        points[1, 1] += steps[2]
        # gaps are below a cut; those that no row had are where most rows are
        most = [int(mass.sum(axis=1).argmax()), int(mass.sum(axis=0).argmax())]
        places = [
            [0, 1, 0 if self.has_gap[j] else place] for j, place in zip(columns, most, strict=True)
        ]
        points, centre = self._centred(points, mass)
        points = points[np.ix_(*places)]
        edges = [
            self.edges[j][[cut - self.start[j] - 1]] for j, cut in zip(columns, pair, strict=True)
        ]
        return Term(tuple(columns), tuple(edges), points), centre

    def _term(self, j, fitted):
        """The steps of a column as points that are zero on average, and that average."""
        begin, gap = self.start[j], self.gap[j]
        own = sorted((cut, k + 1) for k, cut in enumerate(fitted.cuts) if begin < cut < gap)
        cuts = [cut for cut, _ in own]
        steps = np.array([fitted.points[k] for _, k in own]).reshape(len(own), self.n_scores)
        points = np.zeros((len(own) + 2, fitted.points.shape[1]))
        points[1:-1] = np.cumsum(steps, axis=0)
        mass = np.add.reduceat(self.mass[begin:gap], [0, *(cut - begin for cut in cuts)])
        if gap in fitted.cuts:
            points[-1] = fitted.points[fitted.cuts.index(gap) + 1]
        else:
            # gaps that no row had, or alike: as most rows
            points[-1] = points[mass.argmax()]
        points, centre = self._centred(points, np.r_[mass, self.mass[gap]])
        edges = self.edges[j][[cut - begin - 1 for cut in cuts]]
        return Term((j,), (edges,), points), centre

    def _centred(self, points, mass):
        """Points that are zero on average, and what was taken from them.

        So a part that tells nothing apart shows it.
        """
        centre = np.average(points.reshape(-1, self.n_scores), axis=0, weights=mass.ravel())
        points = points - centre
        if self.link == "softmax":
            points -= points.mean(axis=-1, keepdims=True)
        return points * self.scale, centre


def _apart(X, specials):
    """Rows in which codes are gaps, with a column for each code but one kind of gap, and sources.

    The other kind is told by the gaps of the column itself.
    """
    new, source = [], list(range(X.shape[1]))
    for j, codes in specials.items():
        is_code = [X[:, j] == code for code in codes]
        # without other gaps, those of the column are its first code
        for own in is_code if np.isnan(X[:, j]).any() else is_code[1:]:
            new.append(own.astype(np.float64))
            source.append(j)
        X[np.any(is_code, axis=0), j] = np.nan
    return np.column_stack([X, *new]), np.array(source)


def _held_by_ridge(curvature):
    """Curvature with that of the shrinkage; the base is held by next to nothing."""
    curvature[0, 0] += _LEAST_CURVATURE
    curvature.flat[len(curvature) + 1 :: len(curvature) + 1] += _RIDGE
    return curvature


def _numbered(keys):
    """Numbers from zero in place of keys, in their order, and how many there are."""
    is_there = np.bincount(keys) > 0
    return (np.cumsum(is_there) - 1)[keys], int(is_there.sum())


# Rounding must not choose, so that the path is the same on every machine.


def _first_best(values):
    """The first place whose value is the largest, but for rounding."""
    best = values.max()
    return int(np.flatnonzero(values >= best - _ROUNDING * abs(best))[0])


def _ascending(values):
    """Places by value; those whose values are the same but for rounding, in their order."""
    largest = np.abs(values).max(initial=1e-300)
    return np.argsort(np.rint(np.asarray(values) / (_ROUNDING * largest)), kind="stable")


def _is_lower(loss, other):
    return loss < other * (1.0 - _ROUNDING)
