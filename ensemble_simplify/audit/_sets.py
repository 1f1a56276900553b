"""Sets of axes that can flip the class of a row: no others have to be looked at.

A leaf is *reached* by changing the axes on which the row is outside of its box. Whatever values a
set of axes takes, each tree then ends in a leaf that part of the set reaches; so the lead of the
row's class falls by no more than the largest fall among such leaves, summed over the trees. Sets
are built axis by axis, and a beginning is given up once no further axes can close the lead.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np

from ensemble_simplify.grid import check_time, children

# Roundings of the bounds stay below this part of the largest sum of leaf values.
_ROUNDING = 1e-9
# Half of the least difference between sums that are exact.
_HALF_STEP = 2.0**-21


def sets_of_axes(lines, cell, own, wanted, units, ends, n) -> Iterator[tuple[int, ...]]:
    """Sets of `n` units of axes whose values could flip the class, the likely ones first.

    `lines` are of the forest, the row of class `own` lies in `cell`, and `wanted` are the classes
    that it may become. Axes of a unit change together, and each may go to the cells between its two
    `ends`. Yields the first axes of units; sets that do not come are proven not to flip the class.
    """
    first = [int(unit[0]) for unit in units]
    if lines.sums is None:
        # the vote is no sum, and nothing is known beforehand
        yield from combinations(first, n)
    elif n <= len(units) and len(wanted):
        reach = _Reach(lines, cell, own, wanted, units, ends, n)
        for places in reach.sets():
            yield tuple(first[place] for place in places)


class _Reach:
    """The leaves that at most `n` changes reach, and how far each takes the lead down.

    Units of axes are known by their places among those that may change, and are called axes from
    here on. `tree` has the tree of each leaf, `needed` the axes to be changed (-1 behind the last
    one), `falls` by how much the lead over each rival is smaller than in the leaf of the row, and
    `lead` what has to be taken off.
    """

    def __init__(self, lines, cell, own, wanted, units, ends, n):
        self.n, self.n_axes = n, len(units)
        self.n_trees, self.n_rivals = len(lines.trees), len(wanted)
        sums = lines.sums
        leaf, self.tree, self.needed = self._found(lines.trees, cell, units, ends)
        value = sums.folded[leaf]
        ahead = value[:, own, None] - value[:, wanted]
        is_own = self.needed[:, 0] < 0
        of_row = np.empty((self.n_trees, self.n_rivals))
        of_row[self.tree[is_own]] = ahead[is_own]
        self.tree, self.needed = self.tree[~is_own], self.needed[~is_own]
        self.falls = of_row[self.tree] - ahead[~is_own]
        self.lead = of_row.sum(axis=0) - self._margin(sums, own, wanted)

    def _found(self, trees, cell, units, ends):
        """Leaves by number, their trees, and the axes that have to change."""
        place, (low, high) = np.full(len(cell) + 1, -1), ends
        for i, unit in enumerate(units):
            place[unit] = i
        axis, cut = trees.nodes[:, 0], trees.nodes[:, 1]
        left, right = children(trees.nodes)
        node, tree = trees.offsets[:-1], np.arange(len(trees))
        needed = np.full((len(tree), self.n), -1)
        found = []
        while node.size:
            check_time()
            is_leaf = axis[node] < 0
            found.append((cut[node[is_leaf]], tree[is_leaf], needed[is_leaf]))
            node, tree, needed = node[~is_leaf], tree[~is_leaf], needed[~is_leaf]
            goes_left = cell[axis[node]] <= cut[node]
            near = np.where(goes_left, left[node], right[node])
            far = np.where(goes_left, right[node], left[node])
            at = place[axis[node]]
            known = (needed == at[:, None]).any(axis=1)
            goes_far = np.where(
                goes_left, high[axis[node]] > cut[node], low[axis[node]] <= cut[node]
            )
            may = (at >= 0) & goes_far & (known | (needed[:, -1] < 0))
            beyond = needed[may]
            new = np.flatnonzero(~known[may])
            beyond[new, (beyond[new] >= 0).sum(axis=1)] = at[may][new]
            node = np.concatenate([near, far[may]])
            tree, needed = np.concatenate([tree, tree[may]]), np.concatenate([needed, beyond])
        return tuple(np.concatenate(part) for part in zip(*found, strict=True))

    def _margin(self, sums, own, wanted):
        """How close to nothing a lead may come before the model could answer another class."""
        margin = np.full(self.n_rivals, 2.0 * sums.rounding + _ROUNDING * sums.magnitude)
        if sums.is_exact and self.n_trees * 1e-14 * sums.magnitude < _HALF_STEP:
            # at a tie, rivals on one side still lose
            loses = wanted > own
            margin[loses != sums.tie_upper] = -_HALF_STEP
        return margin

    def sets(self):
        """Tuples of `n` places."""
        fallen = np.zeros((self.n_trees, self.n_rivals))
        return self._further((), np.arange(self.n_axes), fallen, np.arange(len(self.tree)), self.n)

    def _further(self, begun, open_, fallen, leaves, n):
        """The sets that add `n` of the `open_` axes to some.

        `fallen` is how far the axes so far take the lead down in each tree, and `leaves` are those
        that these and `n` more of the open ones reach.
        """
        check_time()
        falls = self._shares(open_, fallen, leaves, begun)
        missing = self.lead - fallen.sum(axis=0)
        order = np.argsort(-(falls - missing / n).max(axis=1), kind="stable")
        open_, falls = open_[order], falls[order]
        if n == 1:
            for axis in open_[(falls >= missing).any(axis=1)].tolist():
                yield (*begun, axis)
            return
        # what the axes after each one can add at most
        later = np.maximum.accumulate(falls[::-1])[::-1][1:]
        may = (falls[:-1] + (n - 1) * later >= missing).any(axis=1)
        # the last axes begin no set of n
        for i in np.flatnonzero(may[: len(open_) - n + 1]).tolist():
            chosen, rest = (*begun, int(open_[i])), open_[i + 1 :]
            kept, now_fallen = self._with(chosen, rest, fallen, leaves, n - 1)
            yield from self._further(chosen, rest, now_fallen, kept, n - 1)

    def _shares(self, open_, fallen, leaves, begun):
        """How far each open axis takes the lead down at most, of shape (n_open, n_rivals).

        What a leaf takes off is shared among the axes that it still needs, so that no set takes off
        more than the sum of what its axes do; of the last axis to come, it is what the set does.
        """
        tree, needed = self.tree[leaves], self.needed[leaves]
        is_open = (needed >= 0) & ~np.isin(needed, begun)
        more = np.maximum(self.falls[leaves] - fallen[tree], 0.0) / is_open.sum(axis=1)[:, None]
        width = self.n_axes * self.n_rivals
        largest = np.zeros(self.n_trees * width)
        for column, counts in zip(needed.T, is_open.T, strict=True):
            first = tree[counts] * width + column[counts] * self.n_rivals
            at = first[:, None] + np.arange(self.n_rivals)
            np.maximum.at(largest, at.ravel(), more[counts].ravel())
        largest = largest.reshape(self.n_trees, self.n_axes, self.n_rivals)
        return largest.sum(axis=0)[open_]

    def _with(self, chosen, rest, fallen, leaves, n):
        """The leaves to which axes lead with `n` more of the rest; how far they take it alone."""
        state = np.full(self.n_axes + 1, self.n + 1)
        state[rest] = 1
        state[list(chosen)] = state[-1] = 0
        wanted = state[self.needed[leaves]].sum(axis=1)
        reached, fallen = leaves[wanted == 0], fallen.copy()
        np.maximum.at(fallen, self.tree[reached], self.falls[reached])
        return leaves[(wanted > 0) & (wanted <= n)], fallen
