"""Points, anywhere or in a domain, at which a pruned ensemble answers otherwise.

Points found once are looked around first: all single-feature changes of them, and of the training
rows, are walked along lines (`proof/_lines`), which finds very many more points in no time. Where
that finds nothing, a complete search decides: over sums of functions of one feature
(`proof/stump_sums`), or by branch and bound over boxes with bounds on both ensembles at once
(`grid/_joint`).
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from ensemble_simplify.base import product
from ensemble_simplify.faithful_pruning._pairs import ROUNDS, telling_trees
from ensemble_simplify.faithful_pruning._promise import Demands, NearRows, Votes
from ensemble_simplify.grid import JointSearch, Stopped
from ensemble_simplify.proof import (
    JoinedTrees,
    Space,
    TooMany,
    both_lead,
    forms_of,
    near_ties,
    prove,
)
from ensemble_simplify.reading import link_margin

CLEAR = 1e-6  # Weights are fitted to leads of at least 1; a lead below this counts as lost.
# Boxes that a proof looks at where leads are not clear of all rounding.
PROOF_BOXES = 1_000_000
# Points whose single-feature changes are searched at once: random ones if more are known.
AROUND = 400
POINTS = 64  # Points that one search over boxes lists at most.


class Everywhere:
    """Every input, or those of a domain; the arguments are those of `NearRows`."""

    def __init__(self, votes, axes, outside, cells):
        self.votes = votes
        self.axes = axes
        self.outside = outside
        self.rows = NearRows(votes, axes, outside, cells, 0)
        self.known, self.guides = self.rows.cells, self.rows.guides
        # the rounding unit of sums of float32; others have leads that are clear of theirs
        unit = votes.forest.vote.coarsest
        self.coarsest = unit if unit > np.finfo(np.float64).eps else 0.0
        self.slack = 2.0 * votes.rounding
        if self.coarsest:
            # leads below what its sums of float32 can lose are not what the ensemble answers by
            vote, n_trees = votes.forest.vote, votes.forest.n_trees
            lost = self._coarse_share(n_trees) * _total(votes, np.ones(n_trees))
            lost += link_margin(vote) * votes.scale if vote.by_probability else 0.0
            self.slack = min(self.slack, lost)

    @cached_property
    def at_rows(self):
        """Demands at the rows themselves."""
        return self._clearly(self.rows.at_rows)

    def telling_trees(self):
        """Sets of trees of which one must be kept each; see `_pairs`."""
        return telling_trees(self.votes, self.rows.whole, self.known, ROUNDS)

    def demands(self, cells):
        """See `NearRows.demands`; ties are never enough, for the search wants clear leads."""
        demands, at = self.rows.demands(cells)
        return self._clearly(demands), at

    @staticmethod
    def _clearly(demands):
        return Demands(demands.leads, np.zeros(len(demands), dtype=bool))

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
        total = _total(self.votes, weights)
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
        cells = self.search.find(*demands, outside=self.outside, n_points=POINTS)
        # points that were found tell something, however the search ended; none tell nothing
        if self.search.stopped and not len(cells):
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
        return JoinedTrees(self.axes, [self.rows.whole.trees])

    @cached_property
    def search(self):
        """The search over boxes."""
        return JointSearch(self.axes.shape, self.joined.nodes, self.joined.offsets)

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
        broken = self._clearly(near.refuted(forest))
        written, n_trees = Votes(forest), self.votes.forest.n_trees
        rounding = written.rounding / _total(written, np.ones(forest.n_trees))
        if len(broken) or rounding <= 4.0 * _share_of_rounding(n_trees):
            return broken
        space = Space([self.votes.forest, forest], axes=self.axes)
        space.outside = self.outside
        equal, cells, _ = prove(space, max_boxes=PROOF_BOXES)
        if equal is None:
            raise Stopped
        return broken if equal else self.demands(cells)[0]


def _total(votes, weights):
    """What no sum of weighted votes exceeds."""
    return weights @ votes.largest + np.abs(votes.start).max()


def _share_of_rounding(n_trees):
    """By which share of that sums of float64 can be off."""
    return 8.0 * (n_trees + 16) * np.finfo(np.float64).eps
