"""Points at which one ensemble answers a class and another ensemble another one.

Both votes add up over trees. With h the first ensemble's lead of class a over class b, and g the
second's lead of b over a, a point where the first answers a and the second b has ``h >= 0`` and
``g >= 0``; so, for every ``m >= 0``, ``m h + g >= 0``: one sum again, in which most of the trees
of two alike ensembles cancel. For that, trees are joined first (`joined_trees`).

Boxes are searched for such points (`_joint`); where every tree is one of a single feature, tables
of its values tell more (`stump_sums`). All bounds are of real numbers, with margins for every
rounding: points within the margins are decided by the ensembles' own ``predict``.
"""

from __future__ import annotations

from sys import maxsize

import numpy as np

from ensemble_simplify.grid import Stopped, check_time, is_late
from ensemble_simplify.proof.joined_trees import JoinedPair
from ensemble_simplify.proof.stump_sums import TooMany, both_lead, near_ties

_EPS = float(np.finfo(np.float64).eps)
# Exact votes are multiples of 2^-20: a lead is at least that, or none.
HALF_STEP = 2.0**-21
# Weights of the first lead, as powers of two around the best one.
MIXTURES = 2.0 ** np.array([-2.0, -1.25, -0.75, -0.35, 0.0, 0.35, 0.75, 1.25, 2.0])
# Leads that differ by less than this share, but for a factor, are the same.
SAME = 1e-9
# Cells that are put to the forests at once.
ASKED = 1 << 14
# Boxes that every pair of classes is searched for in turn; then without limit.
ROUNDS = (256, 16_384, maxsize)


def forms_of(trees, lead, classes, a, b, rounding):
    """What a point needs at which one vote answers `a`, and another vote `b`: forms, start, need.

    See ``JointSearch.find``. `classes` are the labels of each vote. ``lead(vote, a, b)`` is the
    lead of a class over another in one of the two votes: of the leaves, at the start, and the least
    that counts. ``rounding(m)`` is the largest error of a sum of `m` times the first lead and the
    second.
    """
    first, second = classes
    forms = [(*lead(0, a, k), rounding(1.0)) for k in first.tolist() if k != a]
    forms += [(*lead(1, b, k), rounding(1.0)) for k in second.tolist() if k != b]
    if b in first and a in second:
        one, two = lead(0, a, b), lead(1, b, a)
        for m in _mixtures(trees, one, two):
            mixed = [m * x + y for x, y in zip(one, two, strict=True)]
            forms.append((*mixed, rounding(m)))
    leaves, start, least, error = zip(*forms, strict=True)
    need = np.array(least) - np.array(error)
    return np.ascontiguousarray(np.column_stack(leaves)), np.array(start), need


def _mixtures(trees, one, two):
    """Weights of the first lead for which the bound on both together is small."""
    spread = [float(trees.most(x) + trees.most(-x)) for x, _, _ in (one, two)]
    scale = spread[1] / spread[0] if min(spread) > 0 else 1.0
    tried = scale * 2.0 ** np.arange(-12.0, 12.01, 0.5)
    own = _factor(one[0], two[0])
    if own > 0:
        tried = np.append(tried, own)
    bounds = [trees.most(m * one[0] + two[0]) + m * one[1] + two[1] for m in tried]
    return tried[int(np.argmin(bounds))] * MIXTURES


def _factor(one, two):
    """What a lead is multiplied by to be the other one's negative, as nearly as can be."""
    square = float(one @ one)
    return -float(one @ two) / square if square > 0 else 0.0


class PairOfVotes:
    """Two forests that add up votes, over common axes.

    Parameters
    ----------
    sums : pair of Sums
    columns : pair of int arrays
        The places of each forest's classes among all labels.
    trees : pair of CodedTrees
        The numbers of their leaves are nodes of their forests.
    axes : Axes
    outside : pair of int32 arrays or None
        Regions outside the domain.
    differ : callable
        ``differ(cells)``: at which of some cells the forests' own answers are wrong.
    wrong : bool array of shape (n_labels, n_labels) or None
        Which pairs of answers are wrong; None: those that differ.
    """

    def __init__(self, sums, columns, trees, axes, outside, differ, wrong=None):
        self.axes, self.outside, self.differ = axes, outside, differ
        self.sums, self.columns, self.wrong = sums, columns, wrong
        pair = JoinedPair(sums, columns, trees, axes)
        self.trees = pair.trees
        self.votes, self.start, self.wins = [], [], []
        for part, own, leaves, start in zip(sums, columns, pair.leaves, pair.start, strict=True):
            centred, constant = self.trees.centred(leaves)
            self.votes.append(centred)
            self.start.append(start + constant)
            rank = np.zeros(len(start), dtype=np.intp)
            rank[own] = -np.arange(len(own)) if part.tie_upper else np.arange(len(own))
            self.wins.append(rank)
        self.search = self.trees.search
        self.n_boxes = 0

    def rounding(self, m):
        """Largest error of a sum of `m` times the first votes and the second ones."""
        terms = self.trees.n_members + 16
        return 16.0 * terms * _EPS * (m * self.sums[0].magnitude + self.sums[1].magnitude)

    def _lead(self, model, a, b):
        """Lead of a label over another: of leaves, at the start, and the least that counts."""
        sums, votes, start = self.sums[model], self.votes[model], self.start[model]
        if sums.is_exact:
            rank = self.wins[model]
            least = 0.0 if rank[a] < rank[b] else HALF_STEP
        else:
            least = -2.0 * sums.rounding
        return votes[:, a] - votes[:, b], start[a] - start[b], least

    def case(self, a, b):
        """What a point needs at which the first forest answers a label, the second another."""
        return forms_of(self.trees, self._lead, self.columns, a, b, self.rounding)

    def refute(self, box=None, max_boxes=maxsize):
        """Look for a cell on which the forests' own answers differ, or are wrong.

        `box` says where to look; None: everywhere.

        Returns
        -------
        equal : bool or None
            None: a limit came first.
        cells : int32 array of shape (0 or 1, n_axes)
            Where they differ.
        """
        self.n_boxes = 0
        first, second = self.columns
        pairs = [(a, b) for a in first.tolist() for b in second.tolist() if a != b]
        if self.wrong is not None:
            pairs = [pair for pair in pairs if self.wrong[pair]]
        none = np.empty((0, len(self.axes.shape)), dtype=np.int32)
        for limit in ROUNDS:
            left = []
            for a, b in pairs:
                if is_late() or self.n_boxes >= max_boxes:
                    return None, none
                cells = self.search.find(
                    *self.case(a, b),
                    box=box,
                    outside=self.outside,
                    judge=self.differ,
                    max_boxes=min(limit, max_boxes - self.n_boxes),
                )
                self.n_boxes += self.search.n_boxes
                if len(cells):
                    return False, cells[:1]
                if self.search.stopped:
                    left.append((a, b))
            pairs = left
            if not pairs:
                return True, none
            if limit == ROUNDS[0] and box is None:
                try:
                    pairs, cells = self._separable(pairs)
                except Stopped:
                    return None, none
                if len(cells) or not pairs:
                    return not len(cells), cells[:1]
        return None, none

    def _separable(self, pairs):
        """Pairs of classes that sums of functions of one feature leave open, and refuting cells."""
        none = np.empty((0, len(self.axes.shape)), dtype=np.int32)
        if self.trees.axis_of is None or self.outside is not None:
            return pairs, none
        first, second = self.columns
        two_classes = len(first) == len(second) == 2
        left, listed = [], set()
        for a, b in pairs:
            if frozenset((a, b)) in listed:
                continue
            if b not in first or a not in second:
                left.append((a, b))
                continue
            one, two = self._lead(0, a, b), self._lead(1, b, a)
            tables = [self.trees.tables(leaves) for leaves, _, _ in (one, two)]
            error = self.rounding(1.0)
            slack = error - one[2], error - two[2]
            m = _factor(one[0], two[0])
            apart = self.trees.most(np.abs(m * one[0] + two[0])) + abs(m * one[1] + two[1])
            magnitude = m * self.sums[0].magnitude + self.sums[1].magnitude
            is_same = m > 0 and apart <= SAME * magnitude
            cells = none
            try:
                if is_same:
                    # the same but for a factor: one says a and the other b only where both are tied
                    most = max(*slack, (max(slack) + float(apart)) / m) + error
                    cells = near_ties(tables[0], one[1], most)
                    listed.add(frozenset((a, b)))
                elif two_classes:
                    cells = both_lead(*tables, (one[1], two[1]), slack)
                    if len(cells):
                        left.append((a, b))
                else:
                    left.append((a, b))
            except TooMany:
                left.append((a, b))
                continue
            found = self._refuting(cells)
            if len(found):
                return left, found
        return left, none

    def _refuting(self, cells):
        """The first of some cells on which the forests' own answers differ, if there is one."""
        for i in range(0, len(cells), ASKED):
            check_time()
            part = cells[i : i + ASKED]
            differ = self.differ(part)
            if differ.any():
                return part[differ][:1]
        return cells[:0]
