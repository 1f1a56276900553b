"""Numbers of a pruned ensemble that must stay near those of the whole one, at promised points.

The numbers are the values of a regressor, or the probabilities of classes. Each tree adds something
to them, or to the log-odds of two classes, so that the difference of both ensembles is a sum over
trees again. `NumbersNear` walks the lines of rows for the points at which it is largest;
`NumbersAnywhere` walks those of points found so far, then searches boxes (`grid/_joint`).
Weights of trees come with one more entry at the end: what is added without any tree.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import expit, logit

from ensemble_simplify.base import product
from ensemble_simplify.faithful_pruning._promise import Near, differing, minimal, reached_nodes
from ensemble_simplify.grid import (
    Stopped,
    in_boxes,
    is_late,
)
from ensemble_simplify.proof import JoinedPair, JoinedTrees, axis_lines, odds_apart
from ensemble_simplify.reading import Sums, tree_shares

_EPS = float(np.finfo(np.float64).eps)
# Numbers held at once while lines of cells are walked, and in the leaves of rows.
LINE_NUMBERS, HELD = 1 << 21, 1 << 21
LOOKED_AT = 1 << 11  # Lines with points that are too far off from which the worst are chosen.
TOLD = 64  # Rows on whose lines pairs of points are looked for that trees must tell apart.
# Points whose single-feature changes are searched at once: random ones if more are known.
AROUND = 200
POINTS = 16  # Points that one search over boxes lists at most.
# Differences that are looked for first, each half as far above the tolerance as the one before.
BARS = 6


@dataclass(frozen=True, eq=False)
class Apart:
    """Points at which numbers are too far apart.

    Attributes
    ----------
    cells : int32 array of shape (n, n_axes)
        Some of them, the worst first.
    largest : float
        The largest difference at points looked at; where none is too large, a bound on all.
    n : int
        How many there are, of those looked at.
    """

    cells: np.ndarray
    largest: float
    n: int


class Numbers:
    """What every tree of a forest adds to numbers that may move by `atol` at most.

    Attributes
    ----------
    value : float64 array of shape (n_nodes, n_columns)
        What each leaf adds.
    start : float64 array of shape (n_columns,)
    is_odds : bool
        Whether the sums are log-odds, of which the promised number is the sigmoid.
    mass : float64 array of shape (n_trees,) or None
        Shares of the trees in a mean of votes: it has no place for an offset, weights are not
        negative, and the weighted shares add up to the same. None: leaves can be scaled.
    margin : float
        What is kept off the tolerance for all rounding.
    """

    def __init__(self, forest, atol):
        self.forest, self.atol, vote = forest, atol, forest.vote
        sums = forest.number_sums
        self.is_odds = sums is None
        sums = forest.odds_sums if sums is None else sums
        if sums is None:
            raise TypeError(
                "atol cannot be promised for the numbers of this ensemble: they are neither sums "
                "or means over its trees nor the sigmoid of such a sum. Of boosting of more than "
                "two classes, leave atol out to keep the classes; of values that are exponentials, "
                "as with loss='poisson', use BornAgainRegressor or RepresenterTree."
            )
        self.sums, self.value, self.start = sums, sums.value, sums.start
        if forest.n_classes == 2 and not self.is_odds:
            # the other probability is what is left
            self.value, self.start = sums.value[:, 1:], sums.start[1:]
        self.mass = None
        if forest.classes is not None and vote.is_of_votes:
            self.mass = np.abs(forest.value[forest.offsets[:-1], 0])
        elif forest.classes is not None and not vote.is_boosted_sum:
            self.mass = np.array([share for share, _ in tree_shares(vote, forest.n_classes, 1.0)])
        self.tree_of = np.repeat(np.arange(forest.n_trees), np.diff(forest.offsets))
        self.is_leaf = (forest.left < 0) & reached_nodes(forest)
        self.margin = 4.0 * self.rounding + 4.0 * self.summing

    @property
    def rounding(self):
        """By how much the ensemble's own answers can be off."""
        if self.is_odds:
            # the sigmoid is no steeper than a quarter, and rounds itself
            return 0.25 * self.sums.rounding + 32.0 * float(np.finfo(self.forest.vote.dtype).eps)
        return self.sums.rounding + 2.0 * _EPS * self.atol

    @cached_property
    def summing(self):
        """By how much float64 sums over the trees can be off, in any order."""
        largest = np.maximum.reduceat(np.abs(self.value).max(axis=1), self.forest.offsets[:-1])
        return 4.0 * (self.forest.n_trees + 16) * _EPS * float(largest.sum())

    @property
    def tolerance(self):
        """The tolerance for sums of real numbers."""
        return self.atol - self.margin

    @property
    def n_columns(self):
        """Sums at each point."""
        return self.value.shape[1]

    @cached_property
    def middle(self):
        """The middle of what each tree says: float64 of shape (n_trees,), of the first column."""
        least, most = self._ends
        return 0.5 * (least[:, 0] + most[:, 0])

    @cached_property
    def is_constant(self):
        """Trees that say the same everywhere."""
        least, most = self._ends
        return (least == most).all(axis=1)

    @cached_property
    def _ends(self):
        """The least and the most that each tree says, of shape (n_trees, n_columns)."""
        begin, leaf = self.forest.offsets[:-1], self.is_leaf[:, None]
        least = np.minimum.reduceat(np.where(leaf, self.value, np.inf), begin)
        return least, np.maximum.reduceat(np.where(leaf, self.value, -np.inf), begin)

    def weighted(self, weights):
        """`value` under some weights."""
        return self.value * weights[:-1][self.tree_of][:, None]

    def shown(self, sums):
        """The promised numbers, for sums."""
        return expit(sums) if self.is_odds else sums

    def limits(self, sums, more=0.0):
        """Least and largest sums that are near enough to some; with `more` of a tolerance."""
        near = self.tolerance + more
        if not self.is_odds:
            return sums - near, sums + near
        p = expit(sums)
        return logit(np.maximum(p - near, 0.0)), logit(np.minimum(p + near, 1.0))

    def offset_of(self, weights):
        """What is added to the raw sums of the trees, as `reweighted` takes it."""
        return float(weights[-1]) / (self.forest.vote.slope if self.is_odds else 1.0)

    def deviation(self, weights, written, axes, trees):
        """How far the numbers of what was written can be from those of the weights, anywhere.

        `written` are the `Numbers` of the forest that was read anew; its own rounding counts.
        """
        virtual = Sums(self.weighted(weights), self.start + weights[-1], 0.0, 0.0)
        both = virtual, Sums(written.value, written.start, 0.0, 0.0)
        columns = [np.arange(self.n_columns)] * 2
        pair = JoinedPair(both, columns, (trees, axes.encode_forest(written.forest)), axes)
        leaves, start = pair.leaves[0] - pair.leaves[1], pair.start[0] - pair.start[1]
        most = pair.trees.most(np.hstack([leaves, -leaves])) + np.append(start, -start)
        apart = float(most.max()) + self.summing + written.summing
        return (0.25 if self.is_odds else 1.0) * apart + written.rounding


class NumbersNear(Near):
    """The points that differ from some row in at most so many features.

    The arguments are a `Numbers`, and those of `NearRows`.
    """

    def __init__(self, numbers, axes, outside, cells, max_changes):
        super().__init__(axes, outside, cells, max_changes)
        self.numbers = numbers
        self.trees = axes.encode_forest(numbers.forest)
        self.joined = JoinedTrees(axes, [self.trees])
        if self.max_changes == 1 and outside is not None:
            # some points are outside the domain: they are counted, which is quick for one change
            lines = self._walk(self.cells, 1, None)
            self.n_points = sum(np.count_nonzero(apart >= 0) for _, _, apart in lines)

    def rows_of(self, cells):
        """What the trees add at some cells: one row for each column of sums, shape (n, n_trees)."""
        said = self.numbers.value[self.trees.leaves(cells)]
        return np.ascontiguousarray(said.transpose(1, 2, 0)).reshape(-1, len(self.trees))

    def seek(self, weights, rng, *, all_points=False):
        """The points at which trees of these weights are too far off, as `Apart`.

        Unless `all_points`, the walk may end early, once there are very many. Raises `Stopped`.
        """
        return self.seek_near(self.cells, self.max_changes, weights, rng, all_points=all_points)

    def seek_near(self, cells, max_changes, weights, rng, *, all_points=False):
        """The same near some other cells."""
        # in a random order: a walk that ends early has seen some of all
        if len(cells) > 1:
            cells = np.ascontiguousarray(cells[rng.permutation(len(cells))])
        tolerance, worst_of_lines, size = self.numbers.tolerance, [], []
        n, n_lines, largest = 0, 0, 0.0
        for walked, axis, apart in self._walk(cells, max_changes, weights):
            largest = max(largest, float(apart.max(initial=0.0)))
            # one point of each line becomes a demand: its neighbours ask for much the same
            worst = apart.argmax(axis=1)
            top = apart[np.arange(len(apart)), worst]
            at = np.flatnonzero(top > tolerance)
            if not at.size:
                continue
            n += int(np.count_nonzero(apart[at] > tolerance))
            n_lines += len(at)
            moved = walked[at]
            if axis is not None:
                moved[:, axis] = worst[at]
            worst_of_lines.append(moved)
            size.append(top[at])
            if n_lines > LOOKED_AT and not all_points:
                break
        if not worst_of_lines:
            return Apart(self.cells[:0], largest, 0)
        worst_of_lines, size = np.concatenate(worst_of_lines), np.concatenate(size)
        # rounded, so that the last bit of a sum does not decide
        order = np.argsort(-np.round(size / largest, 9), kind="stable")[:LOOKED_AT]
        return Apart(np.ascontiguousarray(worst_of_lines[order]), largest, n)

    def telling_trees(self):
        """Sets of trees of which one must be kept each, none inside another.

        Two promised points whose numbers are more than two tolerances apart cannot be answered
        alike. Lines are cut into pieces, each just long enough to hold such a pair; the trees that
        do not say the same at both are a set.
        """
        numbers, n_trees = self.numbers, len(self.trees)
        sets = np.empty((0, n_trees), dtype=bool)
        if not self.has_lines:
            return sets
        cells = np.ascontiguousarray(self.cells[:: max(-(-len(self.cells) // TOLD), 1)])
        leaves = self.joined.leaf_sums(numbers.value)
        limit = 2.0 * (numbers.atol + numbers.margin)
        for axis, length in enumerate(self.axes.shape):
            if is_late():
                break
            sums = self.joined.sums_on_lines(leaves, numbers.start, cells, axis)
            shown = numbers.shown(sums).reshape(len(cells), length, -1)
            inside = np.ones((len(cells), length), dtype=bool)
            if self.outside is not None:
                inside = ~in_boxes(self._line_cells(cells, axis), self.outside)
                inside = inside.reshape(len(cells), length)
            pairs = [
                (row, *pair)
                for row in range(len(cells))
                for column in shown[row].T
                for pair in _far_pairs(column, np.flatnonzero(inside[row]), limit)
            ]
            if pairs:
                row, one, other = np.array(pairs).T
                ends = np.repeat(cells[row][None], 2, axis=0)
                ends[:, :, axis] = one, other
                telling = differing(numbers.value, self.trees, *map(np.ascontiguousarray, ends))
                sets = minimal(np.concatenate([sets, telling]))
        return sets

    @property
    def has_lines(self):
        """Whether all points that differ from a row in one feature are promised."""
        return self.max_changes > 0

    def _line_cells(self, cells, axis):
        length = self.axes.shape[axis]
        moved = np.repeat(cells, length, axis=0)
        moved[:, axis] = np.tile(np.arange(length), len(cells))
        return moved

    def _walk(self, cells, max_changes, weights):
        """Batches of lines (a cell of each, their axis) with differences, of shape (n, length).

        Points that do not count, or were on an earlier line, have -1. Without changes the cells
        themselves are one point each, on no axis. No weights: the differences are zero.
        """
        if max_changes == 0:
            step = max(1, HELD // (len(self.trees) * self.numbers.n_columns))
            for i in range(0, len(cells), step):
                if i and is_late():
                    raise Stopped
                some = cells[i : i + step]
                yield some, None, self._at(some, weights)[:, None]
            return
        leaves, start = self._parts(weights)
        shape = self.axes.shape
        step = max(1, LINE_NUMBERS // (max(shape) * max(leaves.shape[1], len(shape))))
        for _, here, axis, again in axis_lines(cells, shape, max_changes, step):
            apart = self._on_lines(here, axis, leaves, start)
            # the point that is walked from lies on all its lines, and counts on the first
            again = np.flatnonzero(again)
            apart[again, here[again, axis]] = -1.0
            yield here, axis, apart

    def _parts(self, weights):
        """What the joined leaves add to the difference, or to both log-odds, and its start."""
        numbers = self.numbers
        if weights is None:
            leaves = np.zeros((len(self.joined.leaf_sums(numbers.value[:, :1])), 1))
            return leaves, np.zeros(1)
        if numbers.is_odds:
            both = np.hstack([numbers.value, numbers.weighted(weights)])
            return self.joined.leaf_sums(both), np.append(
                numbers.start, numbers.start + weights[-1]
            )
        less = np.append(weights[:-1] - 1.0, weights[-1])
        leaves = self.joined.leaf_sums(numbers.weighted(less))
        return leaves, np.full(numbers.n_columns, weights[-1])

    def difference(self, sums):
        """Differences of the promised numbers, for sums of `_parts`."""
        if self.numbers.is_odds and sums.shape[-1] == 2:
            return np.abs(np.diff(expit(sums), axis=-1))[..., 0]
        return np.abs(sums).max(axis=-1)

    def _on_lines(self, cells, axis, leaves, start):
        sums = self.joined.sums_on_lines(leaves, start, cells, axis)
        apart = self.difference(sums).reshape(len(cells), self.axes.shape[axis])
        if self.outside is not None:
            is_outside = in_boxes(self._line_cells(cells, axis), self.outside)
            apart[is_outside.reshape(apart.shape)] = -1.0
        return apart

    def _at(self, cells, weights):
        """Differences at some cells."""
        numbers = self.numbers
        rows = self.rows_of(cells)
        sums = product(rows, np.ones(len(self.trees))).reshape(len(cells), -1) + numbers.start
        others = product(rows, weights[:-1]).reshape(len(cells), -1) + numbers.start + weights[-1]
        return np.abs(numbers.shown(others) - numbers.shown(sums)).max(axis=1)


class NumbersAnywhere(NumbersNear):
    """Every input, or those of a domain; the arguments are a `Numbers` and those of `NearRows`."""

    def __init__(self, numbers, axes, outside, cells):
        super().__init__(numbers, axes, outside, cells, 0)
        self.known = self.cells
        self.n_points = np.inf

    @property
    def has_lines(self):
        """Whether all points that differ from a row in one feature are promised."""
        return True

    def seek(self, weights, rng, *, all_points=False):
        """The same; where points are listed, there may be others that are further apart."""
        too_far = self._around(weights, rng)
        if not too_far.n:
            too_far = self._boxes(weights)
        if too_far.n:
            self.known = np.unique(np.concatenate([self.known, too_far.cells[:AROUND]]), axis=0)
        return too_far

    def _around(self, weights, rng):
        cells = self.known
        if len(cells) > AROUND:
            cells = cells[rng.choice(len(cells), AROUND, replace=False)]
        return self.seek_near(cells, 1, weights, rng)

    def _boxes(self, weights):
        """A search over boxes, for large differences first."""
        numbers, tolerance, search = self.numbers, self.numbers.tolerance, self.joined.search
        leaves, start = self._parts(weights)
        if numbers.is_odds:
            sums = [np.ascontiguousarray(leaves[:, [k]]) for k in range(2)]
            apart = self.joined.most(np.hstack([sums[0] - sums[1], sums[1] - sums[0]]))
            top = float(
                np.tanh(0.25 * (apart + np.array([1.0, -1.0]) * (start[0] - start[1])).max())
            )

            def cases(bar):
                margin = 4.0 * numbers.rounding
                return odds_apart(sums, [start[:1], start[1:]], bar, margin)
        else:
            top = self.joined.most(np.hstack([leaves, -leaves])) + np.append(start, -start)
            top = float(top.max())

            def cases(bar):
                for k in range(numbers.n_columns):
                    for sign in (1.0, -1.0):
                        form = np.ascontiguousarray(sign * leaves[:, [k]])
                        yield form, sign * start[[k]], np.array([bar])

        none = Apart(self.cells[:0], tolerance, 0)
        if top <= tolerance:
            return Apart(none.cells, max(top, 0.0), 0)
        # high bars first: what is furthest off is the best demand, and bounds rule out most there
        for bar in [*(tolerance + (top - tolerance) * 0.5 ** np.arange(1, BARS)), tolerance]:
            for forms, begin, need in cases(bar):
                cells = search.find(
                    forms,
                    begin,
                    need,
                    outside=self.outside,
                    n_points=POINTS,
                    judge=lambda cells: self._at(cells, weights) > tolerance,
                )
                if len(cells):
                    apart = self._at(cells, weights)
                    order = np.argsort(-np.round(apart / apart.max(), 9), kind="stable")
                    return Apart(cells[order], float(apart.max()), len(cells))
                if search.stopped:
                    raise Stopped
        return none


def _far_pairs(values, positions, limit):
    """Pairs of positions with values further apart than a limit, in pieces that do not overlap."""
    pairs, low, high = [], None, None
    for i in positions.tolist():
        value = values[i]
        if low is None or value < values[low]:
            low = i
        if high is None or value > values[high]:
            high = i
        if values[high] - values[low] > limit:
            pairs.append((low, high))
            # the next piece begins here: pieces share no cut, so their sets share few trees
            low = high = i
    return pairs
