"""The points near rows at which a pruned ensemble must answer as the whole one.

What is asked of the weights of trees at a point is a *demand*: the trees' votes for the class of
the whole ensemble, less their votes for another class, must add up to more than nothing. Demands
are rows of a matrix with a column for each tree; the points whose demands the weights of trees
do not meet are found by walking all lines of the rows (`proof/_lines`) in both ensembles.

A *line* is all cells that differ from a row in one feature; along it, trees change their votes one
after the other, so each next cell costs one vote. With `max_changes` of 1 the points are those of
the lines through the rows; of more, those of the lines through points that differ in one feature
less; of 0, the rows alone. Walks are many, and what is the same in all of them is kept: without
changes the leaf of every tree at every row, a byte or two each, so that weights take one look-up a
tree; else the labels of the first walk, where they fit into memory, which later walks replay.

Points that are broken are counted all, but demands are asked for at some: the worst one of each of
`LOOKED_AT` points that are drawn evenly, and of these those that are least met, of different rows
first, since the points near one row ask for much the same.

Anywhere, or in a domain, points found once are looked around first: all single-feature changes of
them, and of the training rows, are walked along lines, which finds very many more points in no
time. Where that finds nothing, a complete search decides: over sums of functions of one feature
(`proof/stump_sums`), or by branch and bound over boxes with bounds on both ensembles at once
(`grid/_joint`)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ensemble_simplify.base import product
from ensemble_simplify.grid import FREE, Stopped, check_time, distinct_rows, time_left
from ensemble_simplify.proof import (
    AskedLines,
    JoinedTrees,
    Lines,
    Space,
    TooMany,
    both_lead,
    forms_of,
    n_near,
    near_ties,
    points_apart,
    prove,
)
from ensemble_simplify.reading import link_margin

# Labels of the whole ensemble that are kept, in bytes; beyond, they are found anew each time.
KEPT_LABELS = 1 << 28
# Share of the time left for the demands of the rows themselves, and seconds that one takes of each
# tree, in the programs too. They are a beginning: points that are broken become demands later on.
OWN_SHARE, DEMAND_SECONDS = 0.25, 1e-6
OWN_DEMANDS = 1 << 11  # Rows whose demands are a beginning, evenly spread.
LOOKED_AT = 1 << 12  # Broken points from which the worst are chosen.
HUGE = 1e9  # Votes beyond are scaled: HiGHS takes coefficients of moderate size.
# Votes of trees for classes, at rows, that are held at once: for out-of-bag answers, and in `said`.
HELD, SAID = 1 << 21, 1 << 20
# The least lead of an out-of-bag answer that is asked for, as a share of all trees' largest votes:
# rows that are all but tied say nothing.
OWN_LEAD = 1e-6
LABELS = 1 << 24  # Cells that one round looks at, at most.
REFUTED = 64  # Points, at most, at which what was written is found wrong at once.
PAIRS = 1 << 13  # Pairs of cells whose trees are compared in one round, at most.
COMPARED = 1 << 21  # Leaves that are compared at once.
ROUNDS = 3  # Rounds at most: each begins at the pairs of the one before.
GRID = 2.0**-10  # Votes that are multiples of this add up exactly under weights on a grid.


@dataclass(frozen=True, eq=False)
class Demands:
    """What is asked of the weights of trees, at some points."""

    # float64, (n_demands, n_trees + 1): lead of the answer over another class in every tree, and
    # without any
    leads: np.ndarray
    # bool, (n_demands,): whether a lead of exactly zero is enough, if the weights are on a grid:
    # the answer wins ties with the other class, and no tree's vote makes sums round
    may_tie: np.ndarray

    @classmethod
    def none(cls, n_trees):
        """No demands."""
        return cls(np.empty((0, n_trees + 1)), np.empty(0, dtype=bool))

    def __len__(self):
        return len(self.leads)

    def __getitem__(self, chosen):
        return Demands(self.leads[chosen], self.may_tie[chosen])

    def distinct(self):
        """Where each demand stands first."""
        return np.unique(np.column_stack([self.leads, self.may_tie]), axis=0, return_index=True)[1]

    def clearly(self):
        """The same where ties are never enough."""
        return Demands(self.leads, np.zeros(len(self), dtype=bool))

    def joined_with(self, others):
        """The demands of both."""
        return Demands(
            np.concatenate([self.leads, others.leads]),
            np.concatenate([self.may_tie, others.may_tie]),
        )


class Votes:
    """What every tree of a forest says, as sums that weights can be put on.

    `value`, of shape (n_nodes, n_classes), holds the votes of the leaves, `start` those that are
    there without any tree, and `largest` the largest vote of each tree; all are scaled where they
    are huge, by `scale`, and so is `rounding`, by which sums of them can be off. `on_grid` tells
    the leaves whose votes are multiples of `GRID`, of ensembles that are written with these votes.
    `tie_upper`: whether the upper of two classes wins a tie. `has_cut`: whether a cut-off is among
    the votes that are there without any tree.
    """

    def __init__(self, forest):
        sums, vote = forest.sums, forest.vote
        is_plain = vote.counts_labels or vote.is_mean_of_trees
        largest = np.maximum.reduceat(np.abs(sums.value).max(axis=1), forest.offsets[:-1])
        # a power of two rounds nothing
        scale = 2.0 ** -np.ceil(np.log2(largest.max())) if largest.max() > HUGE else 1.0
        self.forest, self.value, self.start = forest, sums.value * scale, sums.start * scale
        self.largest, self.rounding = largest * scale, sums.rounding * scale
        self.scale, self.tie_upper = scale, sums.tie_upper
        self.has_cut = vote.cut is not None and bool(self.start.any())
        steps = self.value / GRID
        self.on_grid = is_plain & (steps == np.rint(steps)).all(axis=1)
        self.reached = reached_nodes(forest)

    def merged(self, price):
        """Trees that say the same but for a factor become one.

        Returns weights of one tree of each kind, such that all votes are those of the forest; and
        which trees are usable: the cheapest, by its price, of every kind, and of every kind that
        says the opposite.
        """
        forest = self.forest
        weights, usable = np.zeros(forest.n_trees), np.zeros(forest.n_trees, dtype=bool)
        kinds = {}
        for t in range(forest.n_trees):
            nodes = slice(forest.offsets[t], forest.offsets[t + 1])
            leaf = forest.left[nodes] < 0
            value = np.where(leaf[:, None], self.value[nodes], 0.0)
            largest = np.abs(value).max()
            if largest > 0:
                entries = value.ravel()
                sign = np.sign(entries[np.flatnonzero(np.abs(entries) > 1e-9 * largest)[0]])
                factor = sign * largest
            else:
                factor = 1.0
            said = np.round(value / factor, 12) + 0.0
            key = [np.where(leaf, -1, forest.left[nodes] - nodes.start), forest.feature[nodes]]
            key += [forest.threshold[nodes], said]
            if forest.missing_left is not None:
                key.append(forest.missing_left[nodes])
            if forest.sets is not None:
                key.append(forest.sets.which[nodes])
            reached = said[leaf & self.reached[nodes]]
            if (reached == reached[0]).all():
                # it says one thing everywhere, wherever it splits
                key = [reached[0]]
            kinds.setdefault(b"".join(k.tobytes() for k in key), []).append((t, factor))
        for members in kinds.values():
            total = sum(factor for _, factor in members)
            for sign in (-1.0, 1.0):
                same = [(price[t], t, factor) for t, factor in members if factor * sign > 0]
                if same:
                    _, t, factor = min(same)
                    usable[t] = True
                    if total * sign > 0:
                        weights[t] = total / factor
        return weights, usable

    def most(self, weights):
        """What no sum of weighted votes exceeds."""
        return product(weights, self.largest) + np.abs(self.start).max()

    def can_be_written(self, weights):
        """Whether votes under some weights, and their sums, are within the range of doubles."""
        return self.most(weights) < np.finfo(np.float64).max * self.scale / len(weights)

    def weighted(self, weights):
        """The forest of the trees with a positive weight; their votes are sums in float64."""
        return self.forest.weighted(weights, self.value, self.start, tie_upper=self.tie_upper)


def reached_nodes(forest):
    """Nodes that some path reaches, as a bool array: others are leaves of nothing."""
    level, is_reached = forest.offsets[:-1], np.zeros(forest.n_nodes, dtype=bool)
    while level.size:
        is_reached[level] = True
        level = level[forest.left[level] >= 0]
        level = np.concatenate([forest.left[level], forest.right[level]])
    return is_reached


def leaf_counts(forest):
    """Number of leaves of every tree."""
    leaf = (forest.left < 0) & reached_nodes(forest)
    return np.add.reduceat(leaf.astype(np.intp), forest.offsets[:-1])


class Replayed:
    """Lines of a forest that is walked in the same way each time: labels are kept for the next.

    `kept` are the labels of earlier walks, in their order; it is filled.
    """

    def __init__(self, lines, kept):
        self.lines, self.kept, self.n_asked = lines, kept, 0
        self.first, self.cells_at, self.n_positions = lines.first, lines.cells_at, lines.n_positions

    def labels(self, cells, from_axis=None):
        """See `Lines.labels`."""
        self.n_asked += 1
        if self.n_asked > len(self.kept):
            self.kept.append(self.lines.labels(cells, from_axis))
        return self.kept[self.n_asked - 1]


class Near:
    """The points that differ from some row in at most so many features.

    `outside` are regions outside the domain, or None; `cells`, an int32 array of shape (n_rows,
    n_axes), those of the rows, inside it. In `n_points` a point counts for each cell of rows near
    which it is; of more than one change, those outside the domain count, too.
    """

    def __init__(self, axes, outside, cells, max_changes):
        self.axes, self.outside = axes, outside
        self.cells = np.ascontiguousarray(cells[distinct_rows(cells)[0]], dtype=np.int32)
        self.max_changes = min(max_changes, len(axes.shape))
        n_points = n_near(len(self.cells), axes.shape, self.max_changes)
        self.n_points: Any = int(n_points) if n_points < 2**53 else n_points


@dataclass(frozen=True, eq=False)
class _Nodes:
    """Nodes of rows in trees, one tree at a time: all at once are too many for a cache."""

    leaves: np.ndarray  # numbers of leaves in their trees, of shape (n_trees, n_rows)
    begins: np.ndarray  # the node at which each tree begins

    @property
    def shape(self):
        return self.leaves.shape

    def __getitem__(self, t):
        return self.leaves[t] + self.begins[t]


class NearRows(Near):
    """The same, where classes are promised. Where time is over, `Stopped` is raised."""

    def __init__(self, votes, axes, outside, cells, max_changes):
        super().__init__(axes, outside, cells, max_changes)
        self.votes = votes
        lays_out = max_changes != 0 or votes.forest.is_small
        self.lines = Lines if lays_out else AskedLines
        self.whole = self.lines(votes.forest, axes, outside)
        self.guides = Demands.none(votes.forest.n_trees)
        n_lines = n_near(len(self.cells), axes.shape, max(self.max_changes - 1, 0))
        fits = 2.0 * n_lines * self.whole.n_positions <= KEPT_LABELS
        self.kept: Any = [] if self.max_changes and fits else None
        if self.max_changes == 1 and fits:
            # those outside the domain do not count, and rows stand on each of their lines
            # the first walk is in the same batches as all that follow
            self.kept = [labels for _, labels in self.whole.batches(self.cells)]
            inside = sum(np.count_nonzero(labels != FREE) for labels in self.kept)
            self.n_points = inside - len(self.cells) * (len(axes.shape) - 1)

    @cached_property
    def leaves(self):
        """The leaf of every tree at every row, as its number in the tree: (n_trees, n_rows)."""
        begin, trees = self.votes.forest.offsets, self.whole.trees
        found = np.empty((len(trees), len(self.cells)), np.min_scalar_type(np.diff(begin).max()))
        for part in self._parts():
            found[:, part] = trees.leaves(self.cells[part]) - begin[:-1, None]
        return found

    @cached_property
    def labels(self):
        """Classes of the rows."""
        forest = self.votes.forest
        return np.concatenate([forest.decide_at(at) for _, at in self._nodes_of(forest)])

    def _parts(self):
        """Slices of the rows, of few leaves each."""
        step = max(HELD // len(self.whole.trees), 1)
        for i in range(0, len(self.cells), step):
            check_time()
            yield slice(i, i + step)

    def _nodes_of(self, forest, kept=slice(None)):
        """Nodes of the rows, slice by slice, in a forest of some of the trees."""
        for part in self._parts():
            yield part, _Nodes(self.leaves[kept, part], forest.offsets[:-1])

    @property
    def _in_time(self):
        """Rows for whose demands there is time, at least one."""
        a_row = DEMAND_SECONDS * len(self.whole.trees) * self.votes.forest.n_classes
        return max(OWN_SHARE * time_left() / a_row, 1.0)

    @cached_property
    def at_rows(self):
        """At each row, the demand that trees of equal weights meet least; no two equal.

        Of many rows, and with a limit of time, at some, evenly spread: what others ask for is
        added where weights break it, so that memory does not grow with the rows.
        """
        step = int(np.ceil(len(self.cells) / min(self._in_time, OWN_DEMANDS)))
        demands, at = self.demands(np.ascontiguousarray(self.cells[:: max(step, 1)]))
        # by row, then by the sum of the leads; of each row the first
        least = np.lexsort([demands.leads.sum(axis=1), at])
        least = demands[least[np.unique(at[least], return_index=True)[1]]]
        return least[least.distinct()]

    def follow_out_of_bag(self, cells, held_out):
        """Let `guides` ask for the answers of the trees that were grown without each row.

        A forest knows its training rows by heart, and nearly any few of its trees answer them as
        all do. `cells` are those of its rows; `held_out` is a mask of shape (n_trees, n_rows).
        """
        trees, votes = self.whole.trees, self.votes
        some = self._spread(len(cells), HELD)
        some = slice(None, None, max(some.step, int(np.ceil(len(cells) / self._in_time))))
        cells, held_out = cells[some], held_out[:, some]
        leaves = trees.leaves(cells)
        # what the trees that have not seen a row say of it together
        total = np.zeros((len(cells), votes.value.shape[1]))
        for leaf, counts in zip(leaves, held_out, strict=True):
            total += np.where(counts[:, None], votes.value[leaf], 0.0)
        answer = total.argmax(axis=1)
        of_answer = np.take_along_axis(total, answer[:, None], axis=1)
        clear = of_answer - total > OWN_LEAD * votes.largest.sum()
        leads = np.zeros((np.count_nonzero(clear), len(trees) + 1))
        row, other = np.nonzero(clear)
        for t, (leaf, counts) in enumerate(zip(leaves, held_out, strict=True)):
            value = votes.value[leaf[row]]
            # a tree that has seen the row says nothing of new ones like it
            lead = value[np.arange(len(row)), answer[row]] - value[np.arange(len(row)), other]
            leads[:, t] = np.where(counts[row], lead, 0.0)
        self.guides = Demands(leads, np.zeros(len(leads), dtype=bool))

    @property
    def said(self):
        """Votes of each tree at rows, evenly spread: float64 of shape (n_trees, n)."""
        trees = self.whole.trees
        leaves = trees.leaves(self.cells[self._spread(len(self.cells), SAID)])
        return self.votes.value[leaves].reshape(len(trees), -1)

    def least_lead(self, weights):
        """By how much the answers to the rows lead at least, with trees of these weights."""
        forest, least = self.votes.weighted(weights), np.inf
        for part, nodes in self._nodes_of(forest, weights > 0):
            total = forest.sums_at(nodes)(0, forest.n_trees, self.votes.start)
            answer = self.labels[part, None]
            of_answer = np.take_along_axis(total, answer, axis=1)[:, 0]
            # the answer is none of the others
            np.put_along_axis(total, answer, -np.inf, axis=1)
            least = min(least, float((of_answer - total.max(axis=1)).min()))
        return least

    def _spread(self, n_rows, n_votes):
        """Some of many rows, evenly spread, at which trees have so many votes."""
        most = max(n_votes // (len(self.whole.trees) * self.votes.value.shape[1]), 1)
        return slice(None, None, max(-(-n_rows // most), 1))

    def telling_trees(self):
        """Sets of trees of which one must be kept each; see `telling_trees`."""
        return telling_trees(self.votes, self.whole, self.cells, self.max_changes)

    def differences(self, forest):
        """Batches (row, cells) of points at which a forest of the same classes answers otherwise.

        The forest is over the same axes, in its own arithmetic. `row`, of shape (n,), is the row
        that each point is near; `cells` is an int32 array of shape (n, n_axes).
        """
        lines = self.lines(forest, self.axes, self.outside)
        if self.max_changes == 0:
            row = np.flatnonzero(lines.classes_of(self.cells) != self.labels)
            yield row, self.cells[row]
            return
        whole = self.whole if self.kept is None else Replayed(self.whole, self.kept)
        both = [(of, range(forest.n_classes)) for of in (whole, lines)]
        # what is replayed comes in one order: threads would mix it up
        yield from points_apart(*both, self.cells, self.axes.shape, self.max_changes, n_jobs=1)

    def _apart(self, weights):
        """The same, at which trees of these weights answer otherwise, in sums of float64."""
        forest = self.votes.weighted(weights)
        if self.max_changes:
            yield from self.differences(forest)
            return
        for part, nodes in self._nodes_of(forest, weights > 0):
            row = part.start + np.flatnonzero(forest.decide_at(nodes) != self.labels[part])
            yield row, self.cells[row]

    @staticmethod
    def least_share(n_trees):
        """See `Everywhere.least_share`: here, every point is put to what is written."""
        return 0.0

    def is_same(self, weights):
        """Whether trees of these weights, whose votes are the same but for rounding, keep it."""
        return not self.count(weights)

    def refuted(self, forest):
        """Demands, at some points at most, at which a forest answers otherwise."""
        for _, cells in self.differences(forest):
            if len(cells):
                return self.demands(cells[:REFUTED])[0]
        return Demands.none(len(self.whole.trees))

    def count(self, weights):
        """Number of points at which trees of these weights answer otherwise."""
        return sum(len(row) for row, _ in self._apart(weights))

    def worst(self, weights, n, rng):
        """Demands, `n` at most and no two equal, of points that such trees answer otherwise.

        There are none iff the promise is kept in sums of float64. Second, the number of points at
        which the answers differ; if `max_changes` exceeds 1, of those looked at. `rng` draws the
        points that are looked at where there are very many.
        """
        row, cells, n_broken = self.sample(weights, rng, all_points=False)
        if not n_broken:
            return Demands.none(len(weights)), 0
        return self._worst_of(row, cells, weights, n), n_broken

    def sample(self, weights, rng, *, all_points=True):
        """Points that trees of these weights answer otherwise: (row, cells, how many there are).

        They are drawn evenly from all, where there are very many. Unless `all_points`, the walk may
        end early, and the number is of those looked at.
        """
        drawn, n_broken = [], 0
        for row, cells in self._apart(weights):
            n_broken += len(row)
            if len(row):
                # points of the lowest random numbers are an even draw, however many come later
                lots = rng.integers(1 << 30, size=len(row))
                drawn.append(np.column_stack([row, cells, lots]))
            if sum(map(len, drawn)) > 4 * LOOKED_AT:
                if self.max_changes > 1 and not all_points:
                    break
                drawn = [_lowest(np.concatenate(drawn), LOOKED_AT)]
        if not drawn:
            return np.empty(0, dtype=np.intp), self.cells[:0], 0
        drawn = _lowest(np.concatenate(drawn), LOOKED_AT)
        return drawn[:, 0], np.ascontiguousarray(drawn[:, 1:-1], dtype=np.int32), n_broken

    def _worst_of(self, row, cells, weights, n):
        """The demands least met, those of different rows first."""
        demands, at = self.demands(cells)
        lead = np.round(product(demands.leads, np.append(weights, 1.0)), 9)
        # of each point, the class that comes out before the answer by most
        order = np.lexsort([lead, at])
        chosen = order[np.unique(at[order], return_index=True)[1]]
        chosen = chosen[demands[chosen].distinct()]
        chosen = chosen[np.argsort(lead[chosen], kind="stable")]
        first_of_row = np.zeros(len(chosen), dtype=bool)
        first_of_row[np.unique(row[at[chosen]], return_index=True)[1]] = True
        return demands[np.concatenate([chosen[first_of_row], chosen[~first_of_row]])[:n]]

    def demands(self, cells):
        """Demands at some cells, one for each class but the answer; and each one's cell number."""
        votes, trees = self.votes, self.whole.trees
        n_classes = votes.value.shape[1]
        leaves = trees.leaves(cells)
        answer = votes.forest.decide_at(leaves)
        of_answer = np.take_along_axis(votes.value[leaves], answer[None, :, None], axis=2)[:, :, 0]
        on_grid = votes.on_grid[leaves].all(axis=0)
        leads = np.empty((len(cells), n_classes - 1, len(trees) + 1))
        may_tie = np.empty((len(cells), n_classes - 1), dtype=bool)
        for k in range(n_classes - 1):
            other = k + (k >= answer)
            leads[:, k, :-1] = (of_answer - votes.value[leaves, other]).T
            leads[:, k, -1] = votes.start[answer] - votes.start[other]
            may_tie[:, k] = on_grid & ((answer < other) != votes.tie_upper)
        at = np.repeat(np.arange(len(cells)), n_classes - 1)
        # plus zero: demands are compared by their bytes, in which -0 is another number
        return Demands(leads.reshape(-1, len(trees) + 1) + 0.0, may_tie.ravel()), at


def _lowest(points, n) -> np.ndarray:
    """The rows with the lowest entries in the last column, at most so many."""
    if len(points) <= n:
        return points
    # stable: partitions stand in another order on another processor
    return points[np.argsort(points[:, -1], kind="stable")[:n]]


# ------------------------------------------------------------------ trees that tell points apart

# Take two points that the ensemble answers otherwise, and the trees whose votes are not the same
# at both. Without these trees all sums of votes are the same at the two points, so one of them
# must be kept, whatever the weights. Neighbouring cells on the line of a row mostly differ by one
# threshold, that is by one tree: it is needed then. This takes one walk along the lines, and no
# linear program.


def telling_trees(votes, lines, cells, n_rounds):
    """Sets of trees of which one must be kept each, none inside another.

    Lines of cells are walked, then those of the pairs found, `n_rounds` times in all: a pair of the
    n-th round differs from one of `cells` in at most n features.

    Returns
    -------
    bool array of shape (n_sets, n_trees)
        Those found in time.
    """
    n_trees = len(lines.trees)
    sets = np.empty((0, n_trees), dtype=bool)
    known = cells
    try:
        for _ in range(min(n_rounds, ROUNDS)):
            before, after = _pairs(lines, known)
            telling = differing(votes.forest.sums.value, lines.trees, before, after)
            n_needed = np.count_nonzero(sets.sum(axis=1) == 1)
            sets = minimal(np.concatenate([sets, telling]))
            # further rounds are for trees that are needed by themselves, which raise bounds most
            if not n_needed < np.count_nonzero(sets.sum(axis=1) == 1) < n_trees:
                break
            known = np.unique(before, axis=0)
    except Stopped:
        pass
    return sets


def least_price(sets, price):
    """A lower bound on the price of trees that meet all sets: those of sets that share no tree."""
    bound, met = 0.0, np.zeros(len(price), dtype=bool)
    for some in sets[np.argsort(sets.sum(axis=1), kind="stable")]:
        # a tree in two sets would meet both at one price
        if not met[some].any():
            bound += price[some].min()
            met |= some
    return float(bound)


def _pairs(lines, cells):
    """Neighbouring cells on the lines of some cells with other answers, spread over all cuts."""
    step = -(-len(cells) * lines.n_positions // LABELS)
    cells = np.ascontiguousarray(cells[:: max(step, 1)])
    row, position = [], []
    for batch, labels in lines.batches(cells):
        differ = (labels[:, 1:] != labels[:, :-1]) & (labels[:, 1:] != FREE)
        differ &= labels[:, :-1] != FREE
        # the last cell of a line and the first of the next
        differ[:, lines.first[1:-1] - 1] = False
        of_batch, at = np.nonzero(differ)
        row.append(of_batch + batch.start)
        position.append(at)
    row, position = np.concatenate(row), np.concatenate(position)
    # of each cut one pair first, then a second one, and so on
    order = np.argsort(position, kind="stable")
    begin = np.searchsorted(position[order], position[order], side="left")
    turn = np.arange(len(order)) - begin
    chosen = order[np.argsort(turn, kind="stable")[:PAIRS]]
    row, position = cells[row[chosen]], position[chosen]
    return lines.cells_at(row, position), lines.cells_at(row, position + 1)


def differing(value, trees, before, after):
    """Which trees vote otherwise at the second cell of each pair."""
    n_trees = len(trees)
    votes_differ = np.empty((len(before), n_trees), dtype=bool)
    step = max(1, COMPARED // n_trees)
    for i in range(0, len(before), step):
        one, other = (value[trees.leaves(cells[i : i + step])] for cells in (before, after))
        votes_differ[i : i + step] = (one != other).any(axis=2).T
    return votes_differ


def minimal(sets):
    """The sets that hold no other."""
    sets = np.unique(sets, axis=0)
    sets = sets[np.argsort(sets.sum(axis=1), kind="stable")]
    kept = sets[:0]
    while len(sets):
        kept = np.concatenate([kept, sets[:1]])
        sets = sets[~sets[:, sets[0]].all(axis=1)]
    return kept


CLEAR = 1e-6  # Weights are fitted to leads of at least 1; a lead below this counts as lost.
# Boxes that a proof looks at where leads are not clear of all rounding.
PROOF_BOXES = 1_000_000
# Points whose single-feature changes are searched at once: random ones if more are known.
AROUND = 400
POINTS = 64  # Points that one search over boxes lists at most.


class Everywhere(NearRows):
    """Every input, or those of a domain; the arguments are those of `NearRows`."""

    def __init__(self, votes, axes, outside, cells):
        super().__init__(votes, axes, outside, cells, 0)
        self.known = self.cells
        # the rounding unit of sums of float32; others have leads that are clear of theirs
        unit = votes.forest.vote.coarsest
        self.coarsest = unit if unit > np.finfo(np.float64).eps else 0.0
        self.slack = 2.0 * votes.rounding
        if self.coarsest:
            # leads below what its sums of float32 can lose are not what the ensemble answers by
            vote, n_trees = votes.forest.vote, votes.forest.n_trees
            lost = self._coarse_share(n_trees) * votes.most(np.ones(n_trees))
            lost += link_margin(vote) * votes.scale if vote.by_probability else 0.0
            self.slack = min(self.slack, lost)

    def telling_trees(self):
        """Sets of trees of which one must be kept each; see `telling_trees`."""
        return telling_trees(self.votes, self.whole, self.known, ROUNDS)

    def demands(self, cells):
        """See `NearRows.demands`; ties are never enough, for the search wants clear leads."""
        demands, at = super().demands(cells)
        return demands.clearly(), at

    def worst(self, weights, n, rng):
        """Demands that weights do not meet; see `NearRows.worst`.

        Raises `Stopped` when the time is up, or too many points are alike to tell.
        """
        # walking lines costs little; the complete search is for when they show nothing more
        cells = self._around(weights, rng)
        if not len(cells):
            cells = self._anywhere(weights)
        if not len(cells):
            return Demands.none(len(weights)), 0
        demands, at = self.demands(cells)
        lead = product(demands.leads, np.append(weights, 1.0))
        broken = np.flatnonzero(lead < self._clear(weights))
        if not broken.size:
            return Demands.none(len(weights)), 0
        broken = broken[np.argsort(lead[broken], kind="stable")]
        chosen = np.unique(at[broken[:AROUND]])
        # neighbours of broken points are likely to break next
        self.known = np.unique(np.concatenate([self.known, cells[chosen]]), axis=0)
        distinct = demands[broken].distinct()
        return demands[broken[np.sort(distinct)[:n]]], len(np.unique(at[broken]))

    def _clear(self, weights):
        """Leads of less may have fallen, or be made by rounding."""
        total = self.votes.most(weights)
        return max(CLEAR, 4.0 * _share_of_rounding(len(weights)) * total)

    def least_share(self, n_trees):
        """Leads of so many trees by a smaller share of all they can say are not looked for.

        Sums of float32 would lose them; zero for other sums.
        """
        return 4.0 * self._coarse_share(n_trees)

    def _coarse_share(self, n_trees):
        """By which share of all that so many trees can say their sums of float32 can be off."""
        return (n_trees + 4) * self.coarsest

    def _around(self, weights, rng):
        """Points that differ in one feature from known ones, and are answered otherwise."""
        cells = self.known
        if len(cells) > AROUND:
            cells = cells[rng.choice(len(cells), AROUND, replace=False)]
        near = NearRows(self.votes, self.axes, self.outside, cells, 1)
        return near.sample(weights, rng)[1]

    def _anywhere(self, weights):
        """Some points that are answered otherwise; none iff there are none at all."""
        n_classes = len(self.votes.start)
        pairs = [(c, k) for c in range(n_classes) for k in range(n_classes) if c != k]
        find = self._boxes
        # of two classes there is one lead, whose ends are sums of ends over the features
        if self.is_separable and n_classes == 2:
            find = self._separable
        return np.concatenate([self.known[:0], *(find(weights, *pair) for pair in pairs)])

    def _separable(self, weights, answer, other):
        one, two = self._lead(None, answer, other), self._lead(weights, other, answer)
        slack = self.slack, self._clear(weights)
        tables = [self.joined.tables(leaves) for leaves, _ in (one, two)]
        try:
            return both_lead(*tables, (one[1], two[1]), slack)
        except TooMany:
            return self._boxes(weights, answer, other)

    def _boxes(self, weights, answer, other):
        classes = np.arange(len(self.votes.start))
        least = -self.slack, -self._clear(weights)

        def lead(vote, a, b):
            return *self._lead(weights if vote else None, a, b), least[vote]

        both = classes, classes
        demands = forms_of(self.joined, lead, both, answer, other, lambda m: m * self.slack)
        search = self.joined.search
        cells = search.find(*demands, outside=self.outside, n_points=POINTS)
        # points that were found tell something, however the search ended; none tell nothing
        if search.stopped and not len(cells):
            raise Stopped
        return cells

    def _lead(self, weights, a, b):
        """Lead of a class over another of leaves, and at the start; weights None: all one."""
        value = self.votes.value[:, [a]] - self.votes.value[:, [b]]
        if weights is not None:
            value = value * np.repeat(weights, np.diff(self.votes.forest.offsets))[:, None]
        return self.joined.leaf_sums(value)[:, 0], self.votes.start[a] - self.votes.start[b]

    @property
    def is_separable(self):
        """Whether votes are sums of functions of one feature each, everywhere."""
        return self.outside is None and self.joined.axis_of is not None

    @cached_property
    def joined(self):
        """The trees, joined where that makes bounds sharper."""
        return JoinedTrees(self.axes, [self.whole.trees])

    def is_same(self, weights):
        """Whether trees of these weights, whose votes are the same but for rounding, keep it.

        Only points at which classes are all but tied can tell; they are listed, and known then.
        """
        if not self.is_separable:
            return False
        n_classes = len(self.votes.start)
        all_but_tied = [self.known]
        try:
            for c in range(n_classes):
                for k in range(c):
                    leaves, start = self._lead(None, c, k)
                    tables = self.joined.tables(leaves)
                    all_but_tied.append(near_ties(tables, start, 4.0 * self.slack))
        except TooMany:
            return False
        self.known = np.unique(np.concatenate(all_but_tied), axis=0)
        near = NearRows(self.votes, self.axes, self.outside, self.known, 0)
        return near.is_same(weights)

    def refuted(self, forest):
        """Demands at points at which a pruned ensemble, in its own arithmetic, differs.

        Where clear leads were asked for, beyond all rounding, what is left to look at are the
        points known, among them those at which classes are all but tied. Sums of float32, and
        probabilities that are compared, can round by more: these are proven in their own
        arithmetic. `Stopped` is raised if that takes too long.
        """
        near = NearRows(self.votes, self.axes, self.outside, self.known, 1)
        broken = near.refuted(forest).clearly()
        written, n_trees = Votes(forest), self.votes.forest.n_trees
        rounding = written.rounding / written.most(np.ones(forest.n_trees))
        if len(broken) or rounding <= 4.0 * _share_of_rounding(n_trees):
            return broken
        space = Space([self.votes.forest, forest], axes=self.axes)
        space.outside = self.outside
        equal, cells, _ = prove(space, max_boxes=PROOF_BOXES)
        if equal is None:
            raise Stopped
        return broken if equal else self.demands(cells)[0]


def _share_of_rounding(n_trees):
    """By which share of that sums of float64 can be off."""
    return 8.0 * (n_trees + 16) * np.finfo(np.float64).eps
