"""From labelled rows to cards of every size: cuts that come in and go out, all points refitted.

A card is a generalised additive model with few cuts. Every cut of a column adds a step to the
scores of the rows above it. Cuts come in one at a time, the one that lowers the loss most for each
bin that it costs, by a second-order estimate that lets all other points move with it. At every size
weak cuts are exchanged while that lowers the loss. All points are refitted after each change, by
Newton's method.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, log_expit, logsumexp, softmax

from ensemble_simplify.grid import code_columns
from ensemble_simplify.scorecard._card import Card, Term
from ensemble_simplify.scorecard._sums import sums_of_bins

# Candidate bins of a column.
_BINS = 64

# Steps are shrunk as by so many rows of average weight.
_RIDGE = 1.0

# A change must lower the loss of a row on average by this.
_ENOUGH = 1e-6

# At each size, weakest cuts that are tried for exchange, and exchanges at most.
_WEAKEST, _MOST_EXCHANGED = 3, 20

# Newton steps while cuts are chosen, and for the points that are handed out.
_FEW_STEPS, _MOST_STEPS = 5, 50

# The least curvature of a row, which keeps steps finite.
_LEAST_CURVATURE = 1e-9


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
        Mean loss of the weighted rows: the log loss, or half the squared error.
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
    monotone=None,
    min_samples_bin=1,
    deadline=np.inf,
):
    """Cards of all sizes for weighted rows that are labelled.

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
    monotone : array of shape (n_columns,) or None
        1 where a score may only rise with the column, -1 where it may only fall, 0 where it is
        free. For one score only. Gaps are free.
    min_samples_bin : float
        Real rows that a bin of numbers holds at least.
    deadline : float
        When to stop, by `time.monotonic`.

    Returns
    -------
    path : list of Step
        The largest card first. Smaller ones have larger losses. The last has no bins.
    """
    search = _Search(X, weight, target, link, real, monotone, min_samples_bin)
    return search.path(max_bins, X.shape[1] if max_features is None else max_features, deadline)


@dataclass(frozen=True, eq=False)
class _Fit:
    """Cuts with their points.

    `cuts` are places of bins: the one right above a cut, or that of gaps.
    """

    cuts: tuple[int, ...]
    points: np.ndarray  # (n_cuts + 1, n_scores): the base, then the steps
    scores: np.ndarray  # (n_rows, n_scores)
    loss: float  # with the shrinkage


class _Search:
    def __init__(self, X, weight, target, link, real, monotone, min_samples_bin):
        self.weight = weight / weight.mean()
        self.target, self.link = np.asarray(target, dtype=np.float64), link
        self.centre, self.scale = np.zeros(self.target.shape[1]), 1.0
        if link == "identity":
            self.centre = np.average(self.target, axis=0, weights=weight)
            spread = float(np.sqrt(self.weight @ (self.target[:, 0] - self.centre) ** 2 / len(X)))
            self.scale = spread if spread > 0.0 else 1.0
            self.target = (self.target - self.centre) / self.scale
        self.codes = np.empty(X.T.shape, dtype=np.uint16)
        self.edges = code_columns(np.ascontiguousarray(X, dtype=np.float64), _BINS, self.codes)
        # every column has a place for gaps, after those of its numbers
        sizes = np.array([len(edges) + 2 for edges in self.edges], dtype=np.intp)
        self.start = np.cumsum(sizes) - sizes
        self.gap = self.start + sizes - 1
        self.column = np.repeat(np.arange(len(sizes)), sizes)
        is_missing = self.codes == (sizes - 1)[:, None]
        self.has_gap = is_missing.any(axis=1)
        real = np.ones(len(X)) if real is None else np.asarray(real, dtype=np.float64)
        self.real = self._above(real[:, None])[:, 0]
        self.mass = self._sums(self.weight[:, None])[:, 0]
        self.min_samples = min_samples_bin
        self.sign = np.zeros(self.column.size)
        if monotone is not None:
            self.sign = np.asarray(monotone, dtype=np.float64)[self.column]
            self.sign[self.gap] = 0.0
        self.is_cut = np.ones(self.column.size, dtype=bool)
        self.is_cut[self.start] = False
        self.is_cut[self.gap] = self.has_gap & (sizes > 2)

    # -------------------------------------------------------------- sums over rows

    def _sums(self, values):
        sums = np.zeros((self.column.size, values.shape[1]))
        sums_of_bins(self.codes, self.start, values, sums)
        return sums

    def _above(self, values):
        """Sums over the rows above each cut, and over the gaps of each column."""
        sums = self._sums(values)
        for begin, gap in zip(self.start, self.gap, strict=True):
            sums[begin:gap] = np.cumsum(sums[begin:gap][::-1], axis=0)[::-1]
        return sums

    def _design(self, cuts):
        """Which rows each step is added for, after a column of ones."""
        design = np.ones((self.codes.shape[1], len(cuts) + 1))
        for k, cut in enumerate(cuts):
            j = self.column[cut]
            code = cut - self.start[j]
            own = self.codes[j]
            is_gap = cut == self.gap[j]
            upto = self.gap[j] - self.start[j]
            design[:, k + 1] = own == code if is_gap else (own >= code) & (own < upto)
        return design

    # -------------------------------------------------------------- the loss

    def _loss(self, scores, steps):
        if self.link == "logistic":
            each = -self.target * log_expit(scores) - (1.0 - self.target) * log_expit(-scores)
        elif self.link == "softmax":
            each = (self.target.sum(axis=1) * logsumexp(scores, axis=1))[:, None]
            each = each - (self.target * scores).sum(axis=1, keepdims=True)
        else:
            each = 0.5 * (self.target - scores) ** 2
        return self.weight @ each[:, 0] + 0.5 * _RIDGE * (steps**2).sum()

    def _slopes(self, scores):
        """How each row pulls at its scores, and how strongly it holds them."""
        weight = self.weight[:, None]
        if self.link == "identity":
            return weight * (self.target - scores), np.broadcast_to(weight, scores.shape)
        chance = expit(scores) if self.link == "logistic" else softmax(scores, axis=1)
        held = np.maximum(chance * (1.0 - chance), _LEAST_CURVATURE)
        return weight * (self.target - chance), weight * held

    # -------------------------------------------------------------- points

    def fit(self, cuts, points, most=_FEW_STEPS):
        """The best points of some cuts, from those given; steps of the wrong sign are left out."""
        cuts = tuple(cuts)
        while True:
            fitted = self._newton(cuts, points, most)
            is_wrong = fitted.points[1:, 0] * self.sign[list(cuts)] < 0.0
            if not is_wrong.any():
                return fitted
            cuts = tuple(cut for cut, wrong in zip(cuts, is_wrong, strict=True) if not wrong)
            points = fitted.points[np.r_[True, ~is_wrong]]

    def _newton(self, cuts, points, most):
        design, points = self._design(cuts), points.copy()
        scores = design @ points
        loss = self._loss(scores, points[1:])
        shrink = np.full(len(points), _RIDGE)
        shrink[0] = 0.0
        for _ in range(most):
            before = loss
            for c in range(points.shape[1]):
                pull, held = self._slopes(scores)
                slope = design.T @ pull[:, c] - shrink * points[:, c]
                curvature = design.T @ (held[:, c, None] * design) + np.diag(shrink)
                change = np.linalg.solve(curvature + 1e-9 * np.eye(len(points)), slope)
                along, promised, length = design @ change, slope @ change, 1.0
                while length > 1e-6:
                    tried, moved = points.copy(), scores.copy()
                    tried[:, c] += length * change
                    moved[:, c] += length * along
                    lower = self._loss(moved, tried[1:])
                    if lower <= loss - 1e-4 * length * promised:
                        points, scores, loss = tried, moved, lower
                        break
                    length /= 2.0
            if before - loss <= 0.1 * _ENOUGH * len(scores):
                break
        return _Fit(cuts, points, scores, loss)

    # -------------------------------------------------------------- choosing cuts

    def n_bins(self, cuts):
        return len(cuts) + len({self.column[cut] for cut in cuts})

    def _gains(self, fitted):
        """By how much each cut would lower the loss, estimated with all points refitted."""
        cuts = list(fitted.cuts)
        pull, held = self._slopes(fitted.scores)
        # scores share the mean curvature: for one score, or for two classes, this is their own
        held = np.ascontiguousarray(held.mean(axis=1))
        design = self._design(cuts)
        n_scores = pull.shape[1]
        sums = self._above(np.hstack([pull, held[:, None] * design]))
        slope, joint = sums[:, :n_scores], sums[:, n_scores:]
        curvature = design.T @ (held[:, None] * design)
        curvature.flat[:: len(curvature) + 1] += _RIDGE
        curvature[0, 0] -= _RIDGE - 1e-9
        known = np.einsum("ij,ji->i", joint, np.linalg.solve(curvature, joint.T))
        own = joint[:, 0] + _RIDGE
        free = np.maximum(own - known, 1e-9 * own)
        gain = 0.5 * (slope**2).sum(axis=1) / free
        gain[~self.is_cut] = -1.0
        gain[cuts] = -1.0
        gain[slope[:, 0] * self.sign < 0.0] = -1.0
        return gain

    def _costs(self, cuts, max_features):
        """Bins that each cut would cost; infinity for those that may not come in."""
        used = np.zeros(len(self.start), dtype=bool)
        used[self.column[list(cuts)]] = True
        cost = np.where(used, 1.0, 2.0)
        if used.sum() >= max_features:
            cost[~used] = np.inf
        cost = cost[self.column]
        # a column with gaps is used with a bin for them
        has_cuts = self.is_cut & ~used[self.column] & self.has_gap[self.column]
        has_cuts[self.gap] = False
        cost[has_cuts] += 1.0
        cost[self._narrow(cuts)] = np.inf
        return cost

    def _narrow(self, cuts):
        """Which cuts would leave a bin with too few real rows."""
        is_narrow = np.zeros(self.column.size, dtype=bool)
        if self.min_samples <= 0:
            return is_narrow
        for begin, gap in zip(self.start, self.gap, strict=True):
            own = sorted(cut for cut in cuts if begin < cut < gap)
            places = np.arange(begin, gap)
            nearest = np.searchsorted(own, places, side="left")
            # real rows above the cut below each place, and above the one over it
            above = np.r_[self.real[begin], self.real[own], 0.0]
            own_above = self.real[begin:gap]
            is_narrow[begin:gap] = above[nearest] - own_above < self.min_samples
            is_narrow[begin:gap] |= own_above - above[nearest + 1] < self.min_samples
        return is_narrow

    def _added(self, fitted, room, max_features):
        """The card with the best cut added for which there is room; None where none helps."""
        cost = self._costs(fitted.cuts, max_features)
        gain = self._gains(fitted)
        gain[cost > room] = -1.0
        worth = gain / np.minimum(cost, 3.0)
        best = worth.max()
        if best <= _ENOUGH:
            return None
        # rounding does not choose
        cut = int(np.flatnonzero(worth >= best * (1.0 - 1e-9))[0])
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
        others = [i for i in left if self.column[fitted.cuts[i]] == j]
        if cut == self.gap[j]:
            left = [i for i in left if i not in others]
        elif len(others) == 1 and fitted.cuts[others[0]] == self.gap[j]:
            left.remove(others[0])
        return self.fit([fitted.cuts[i] for i in left], fitted.points[[0, *(i + 1 for i in left)]])

    def _weakest(self, fitted):
        """Cuts by what the loss would rise without them, estimated, the least first."""
        design = self._design(fitted.cuts)
        held = self._slopes(fitted.scores)[1].mean(axis=1)
        curvature = design.T @ (held[:, None] * design)
        curvature.flat[:: len(curvature) + 1] += _RIDGE
        curvature[0, 0] -= _RIDGE - 1e-9
        variance = np.diag(np.linalg.inv(curvature))[1:]
        rise = 0.5 * (fitted.points[1:] ** 2).sum(axis=1) / variance
        return np.argsort(rise, kind="stable")

    def _exchanged(self, fitted, max_features, note):
        """The card with one weak cut exchanged for a better one; None where that does not help."""
        size = self.n_bins(fitted.cuts)
        for k in self._weakest(fitted)[:_WEAKEST]:
            tried = self._without(fitted, int(k))
            note(tried)
            while tried is not None and self.n_bins(tried.cuts) < size:
                tried = self._added(tried, size - self.n_bins(tried.cuts), max_features)
                if tried is not None:
                    note(tried)
                    if tried.loss < fitted.loss - _ENOUGH * len(self.weight):
                        return tried
        return None

    def path(self, max_bins, max_features, deadline):
        n_scores = self.target.shape[1]
        best = {}

        def note(fitted):
            n_bins = self.n_bins(fitted.cuts)
            if n_bins not in best or fitted.loss < best[n_bins].loss:
                best[n_bins] = fitted

        fitted = self.fit((), np.zeros((1, n_scores)), _MOST_STEPS)
        note(fitted)
        while time.monotonic() < deadline:
            larger = self._added(fitted, max_bins - self.n_bins(fitted.cuts), max_features)
            if larger is None:
                break
            if larger.loss >= fitted.loss:
                break
            fitted = larger
            note(fitted)
            for _ in range(_MOST_EXCHANGED):
                other = self._exchanged(fitted, max_features, note)
                if other is None or time.monotonic() >= deadline:
                    break
                fitted = other
        path, lowest = [], np.inf
        for n_bins in sorted(best):
            if best[n_bins].loss < lowest:
                lowest = best[n_bins].loss
                path.append(self._step(best[n_bins]))
        return path[::-1]

    # -------------------------------------------------------------- cards

    def _step(self, fitted):
        fitted = self.fit(fitted.cuts, fitted.points, _MOST_STEPS)
        base, terms = fitted.points[0].copy(), []
        for j in sorted({int(self.column[cut]) for cut in fitted.cuts}):
            term, centre = self._term(j, fitted)
            terms.append(term)
            base += centre
        base = base * self.scale + self.centre
        if self.link == "softmax":
            base -= base.mean()
        card = Card(terms, base, self.link)
        features = [term.columns[0] for term in terms]
        loss = self._loss(fitted.scores, np.zeros(1)) / len(self.weight) * self.scale**2
        return Step(card, self.n_bins(fitted.cuts), features, float(loss))

    def _term(self, j, fitted):
        """The steps of a column as points that are zero on average, and that average."""
        begin, gap = self.start[j], self.gap[j]
        own = sorted((cut, k + 1) for k, cut in enumerate(fitted.cuts) if begin < cut < gap)
        cuts = [cut for cut, _ in own]
        steps = np.array([fitted.points[k] for _, k in own]).reshape(len(own), self.target.shape[1])
        points = np.zeros((len(own) + 2, fitted.points.shape[1]))
        points[1:-1] = np.cumsum(steps, axis=0)
        mass = np.add.reduceat(self.mass[begin:gap], [0, *(cut - begin for cut in cuts)])
        if gap in fitted.cuts:
            points[-1] = fitted.points[fitted.cuts.index(gap) + 1]
        else:
            # gaps that no row had, or alike: as most rows
            points[-1] = points[mass.argmax()]
        mass = np.r_[mass, self.mass[gap]]
        centre = mass @ points / mass.sum()
        points -= centre
        if self.link == "softmax":
            points -= points.mean(axis=1, keepdims=True)
        edges = self.edges[j][[cut - begin - 1 for cut in cuts]]
        return Term((j,), (edges,), points * self.scale), centre
