"""Trees that are optimised split by split on one sample, from several starts."""

from __future__ import annotations

from functools import partial

import numpy as np
from sklearn.utils import Bunch

from ensemble_simplify.grid import code_columns
from ensemble_simplify.sampling._alternating import Alternating
from ensemble_simplify.sampling.grown_tree import GrownTree
from ensemble_simplify.sampling.law import ColumnSplit

# Bins of a column; one of fewer values is swept at every threshold.
_BINS = 255

# Passes over a tree, at most, and the share of the cost that a further pass must save.
_MOST_PASSES, _ENOUGH = 20, 1e-4

# A tree that is pruned has so many times the leaves that it is pruned to, before; and how often, at
# most, an optimised one is grown on to spend free leaves.
OVERGROWN, _MOST_REGROWN = 3, 4

# A lower cost is lower by more than this share of the root's.
_ROUNDING = 1e-12


def _room_for(n_leaves, n_outputs) -> Bunch:
    """A leaf alone, with room for further nodes: the arrays of a tree in the kernel's order."""
    leaf = {"column": -1, "cut": 0, "missing_left": 0, "left": -1, "right": -1, "label": 0}
    size = 2 * n_leaves - 1
    nodes = Bunch(**{name: np.full(size, fill, dtype=np.int32) for name, fill in leaf.items()})
    nodes.missing_left = nodes.missing_left.astype(np.uint8)
    nodes.value = np.zeros((size, n_outputs))
    return nodes


class Alternation:
    """Rows of a sample on which trees are grown and optimised.

    Every split in turn gets the column and the threshold that cost the rows least, with all others
    fixed. The cost is the share of wrong labels, or the squared error; it never rises. Each leaf
    has at least so many (`least`) of the real rows, which are the first ones.
    """

    def __init__(self, rows, is_label, max_depth=None, least=0):
        self.rows, self.is_label = rows, is_label
        self.least = least if rows.n_real else 0
        self.max_depth = len(rows.X) if max_depth is None else max_depth
        n_rows, n_columns = rows.X.shape
        codes = np.empty((n_columns, n_rows), dtype=np.uint16)
        self._cuts = code_columns(rows.X, _BINS, codes)
        self._centre = np.average(rows.answers, axis=0, weights=rows.weight)
        n_outputs = rows.answers.shape[1]
        self._label, value = np.empty(0, dtype=np.int32), np.empty((0, n_outputs))
        if is_label:
            self._label = rows.answers.argmax(axis=1).astype(np.int32)
        else:
            # Sums of squares keep their digits only around the mean.
            value = rows.answers - self._centre
            value[np.abs(value) <= _ROUNDING * np.abs(rows.answers)] = 0.0
        n_cuts = np.array([cuts.size for cuts in self._cuts], dtype=np.int32)
        # each tree has a kernel of its own: its working room is that of one thread
        self._made = partial(
            Alternating, codes, n_cuts, self._label, value, rows.weight, rows.n_real, self.least
        )
        self._tried = np.arange(n_columns, dtype=np.int32)

    def _kernel(self):
        return self._made(self._tried)

    def narrow(self, trees):
        """From now on, try only columns that some trees split on: others cost time alone."""
        used = np.unique(np.concatenate([tree.nodes[~tree.is_leaf, 0] for tree in trees]))
        self._tried = used if used.size else self._tried

    def grown(self, n_leaves, *, by_entropy=False, above=None):
        """A tree of so many leaves, grown best first; below the leaves of another, if one is given.

        It is grown by the variance of the answers, or by the entropy of the labels.
        """
        nodes, n_nodes = self._branches(above, n_leaves), 1 if above is None else len(above.nodes)
        self._kernel().grow(*nodes.values(), n_nodes, by_entropy, self.max_depth)
        return self._as_grown(nodes)

    def optimised(self, tree):
        """A tree after alternating optimisation, in which branches can lose their rows."""
        nodes = self._branches(tree, tree.n_leaves)
        self._kernel().optimise(*nodes.values(), _MOST_PASSES, _ENOUGH)
        return self._as_grown(nodes)

    def best(self, starts, n_leaves):
        """The least costly tree of at most so many leaves, from the prunings of some larger trees.

        Each is pruned and optimised. Leaves that are free then are spent: the best tree is grown on
        and pruned again, as long as that lowers its cost.
        """
        trees = [self.optimised(start.pruned(n_leaves)) for start in starts]
        best = min(trees, key=lambda tree: tree.loss)
        for _ in range(_MOST_REGROWN):
            # A branch that was emptied leaves a leaf to be spent elsewhere.
            larger = self.grown(OVERGROWN * n_leaves, above=best)
            tree = self.optimised(larger.prunings(n_leaves).pruned(n_leaves))
            if tree.loss >= best.loss - _ROUNDING * tree.cost[0]:
                break
            best = tree
        return best

    def _branches(self, tree, n_leaves):
        n_leaves = n_leaves if tree is None else max(n_leaves, tree.n_leaves)
        nodes = _room_for(n_leaves, self.rows.answers.shape[1])
        if tree is None:
            return nodes
        n_nodes = len(tree.nodes)
        nodes.label[:n_nodes] = tree.mean.argmax(axis=1)
        nodes.value[:n_nodes] = tree.mean - self._centre
        for t in np.flatnonzero(~tree.is_leaf):
            split = tree.splits[t]
            nodes.column[t], nodes.missing_left[t] = split.column, split.missing_left
            nodes.cut[t] = np.searchsorted(self._cuts[split.column], split.threshold)
            nodes.left[t], nodes.right[t] = tree.children(t)
        return nodes

    def _as_grown(self, nodes):
        """The tree of the kernel's nodes, without branches that too few real rows come to."""
        leaf = np.empty(len(self.rows.X), dtype=np.int32)
        self._kernel().leaves(*list(nodes.values())[:5], leaf)
        order, stack = [], [0]
        while stack:
            t = stack.pop()
            order.append(t)
            if nodes.column[t] >= 0:
                stack += [int(nodes.right[t]), int(nodes.left[t])]
        place = np.zeros(len(nodes.column), dtype=np.intp)
        place[order] = np.arange(len(order))
        splits = [self._split(nodes, t) for t in order]
        tree = GrownTree.of(splits, self.rows, self.is_label, place[leaf])
        tree = tree.reached(self.rows, self.least)
        if self.rows.gaps is not None:
            tree.send_gaps(self.rows.X, self.rows.gaps.seen)
        return tree

    def _split(self, nodes, t):
        column, cuts = int(nodes.column[t]), self._cuts[nodes.column[t]]
        if column < 0:
            return None
        threshold = np.inf if nodes.cut[t] == cuts.size else float(cuts[nodes.cut[t]])
        gaps = self.rows.gaps
        seen = gaps is not None and bool(gaps.seen[column])
        return ColumnSplit(column, threshold, missing_left=seen and bool(nodes.missing_left[t]))
