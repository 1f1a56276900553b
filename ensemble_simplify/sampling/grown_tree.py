"""The grown tree: its errors on rows, its best prunings, and its form as thresholds alone."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ensemble_simplify.base import product
from ensemble_simplify.grid import TreeNodes, as_thresholds, sized_nodes

# Weight of impurities beside costs, where a tree is pruned to a size.
_TIES = 1e-3

# Costs of trees that are this near to each other, relative to the root's, are equal.
_ROUNDING = 1e-12


@dataclass(eq=False)
class GrownTree:
    """A tree whose nodes stand in pre-order; the left child of a split is the node after it."""

    nodes: np.ndarray  # int32 (n_nodes, 3): column (-1 in leaves), unused, nodes of the branch
    splits: list  # of ColumnSplit, None in leaves
    mean: np.ndarray  # float64 (n_nodes, n_outputs): of the predictor's answers
    cost: np.ndarray  # float64 (n_nodes,): probability times impurity
    probability: np.ndarray  # float64 (n_nodes,)
    impurity: np.ndarray | None = None  # as `cost`, of the impurity that splits lower
    is_label: bool = False  # whether leaves answer with their largest mean
    is_complete: bool = True  # False if the time limit ended its growing

    @classmethod
    def of(cls, splits, rows, is_label, leaf=None) -> GrownTree:
        """The tree of some splits, in pre-order, with what `rows` say in its nodes.

        `leaf` is the node that each row ends in; None: it is found.
        """
        nodes, nothing = sized_nodes([-1 if s is None else s.column for s in splits]), np.zeros(0)
        tree = cls(nodes, splits, nothing, nothing, nothing, is_label=is_label)
        leaf = tree.leaves(rows.X) if leaf is None else leaf
        size, n_outputs = len(nodes), rows.answers.shape[1]
        # of answers, of their squares, and of weights
        totals = np.zeros((size, n_outputs + 2))
        centre = np.zeros(n_outputs)
        if is_label:
            place = leaf * n_outputs + rows.answers.argmax(axis=1)
            sums = np.bincount(place, rows.weight, size * n_outputs)
            totals[:, :-2] = sums.reshape(size, n_outputs)
        else:
            # sums of squares keep their digits only around the mean
            centre = np.average(rows.answers, axis=0, weights=rows.weight)
            centred = rows.answers - centre
            for k, x in enumerate([*centred.T, np.square(centred).sum(axis=1)]):
                totals[:, k] = np.bincount(leaf, rows.weight * x, size)
        totals[:, -1] = np.bincount(leaf, rows.weight, size)
        for t in range(size - 1, -1, -1):
            if splits[t] is not None:
                left, right = tree.children(t)
                totals[t] = totals[left] + totals[right]
        weight = totals[:, -1:]
        mean = totals[:, :-2] / np.where(weight > 0, weight, 1.0)
        tree.probability = probability = weight[:, 0] / rows.weight.sum()
        if is_label:
            tree.cost, tree.impurity = (
                probability * (1.0 - mean.max(axis=1)),
                probability * np.maximum(1.0 - np.square(mean).sum(axis=1), 0.0),
            )
        else:
            cost = totals[:, -2] / rows.weight.sum() - probability * np.square(mean).sum(axis=1)
            tree.cost = tree.impurity = np.maximum(cost, 0.0)
            # what was taken off and is added again can leave the answers by a rounding
            least, most = rows.answers.min(axis=0), rows.answers.max(axis=0)
            mean = np.clip(mean + centre, least, most)
        tree.mean, tree.is_complete = mean, rows.is_complete
        return tree

    def reached(self, rows, least) -> GrownTree:
        """This tree without branches that fewer real rows than `least`, or no row, come to.

        What came there goes to the other branch.
        """
        n_rows = np.zeros(len(self.nodes))
        if rows.n_real:
            n_rows += np.bincount(self.leaves(rows.X[: rows.n_real]), minlength=len(n_rows))
        for t in range(len(n_rows) - 1, -1, -1):
            if self.splits[t] is not None:
                n_rows[t] = sum(n_rows[child] for child in self.children(t))
        is_few = (self.probability <= 0) | ((n_rows < least) & (rows.n_real > 0))
        if not is_few.any():
            return self
        splits, stack = [], [0]
        while stack:
            t = stack.pop()
            while self.splits[t] is not None and is_few[list(self.children(t))].any():
                left, right = self.children(t)
                t = right if is_few[left] else left
            splits.append(self.splits[t])
            if self.splits[t] is not None:
                stack += self.children(t)[::-1]
        return GrownTree.of(splits, rows, self.is_label)

    @property
    def is_leaf(self):
        return self.nodes[:, 2] == 1

    @property
    def n_leaves(self):
        return (len(self.nodes) + 1) // 2

    @property
    def loss(self) -> float:
        """What all leaves cost together."""
        return float(self.cost[self.is_leaf].sum())

    def children(self, t):
        return t + 1, t + 1 + int(self.nodes[t + 1, 2])

    def leaves(self, X):
        """The leaf, a node of this tree, of each row."""
        leaves = np.zeros(X.shape[0], dtype=np.int32)
        for t, rows in self._rows_of_nodes(X):
            leaves[rows] = t
        return leaves

    def _rows_of_nodes(self, X):
        """Every node with its rows, parents first."""
        rows_of = [None] * len(self.nodes)
        rows_of[0] = np.arange(X.shape[0])
        for t, split in enumerate(self.splits):
            rows, rows_of[t] = rows_of[t], None
            yield t, rows
            if split is not None:
                left, right = self.children(t)
                goes_left = split.goes_left(X[rows, split.column])
                rows_of[left], rows_of[right] = rows[goes_left], rows[~goes_left]

    def errors(self, X, truth, weight, target):
        """For every node as a leaf: the loss of its rows, divided by the weight of all rows."""
        errors = np.zeros(len(self.nodes))
        for t, rows in self._rows_of_nodes(X):
            if target == "label":
                loss = 1.0 - truth[rows, self.mean[t].argmax()]
            else:
                loss = np.square(truth[rows] - self.mean[t]).sum(axis=1)
            errors[t] = product(weight[rows], loss)
        return errors / weight.sum()

    def send_gaps(self, X, columns) -> None:
        """Let splits on some columns send gaps to the side of more rows.

        `columns` is a bool array. Splits that a row of X with a gap comes to stay as they are.
        """
        for t, rows in self._rows_of_nodes(X):
            split = self.splits[t]
            if split is None or not columns[split.column]:
                continue
            x = X[rows, split.column]
            if not np.isnan(x).any():
                n_left = np.count_nonzero(split.goes_left(x))
                self.splits[t] = replace(split, missing_left=bool(2 * n_left > rows.size))

    def centre_thresholds(self, X) -> None:
        """Put every threshold halfway between the rows of X in its node that it divides."""
        for t, rows in self._rows_of_nodes(X):
            split = self.splits[t]
            if split is None or not np.isfinite(split.threshold):
                continue
            x = X[rows, split.column].astype(np.float32).astype(np.float64)
            below, above = x[x <= split.threshold], x[x > split.threshold]
            if below.size and above.size:
                self.splits[t] = replace(split, threshold=float(below.max() + above.min()) / 2.0)

    def prunings(self, most):
        """The best trees of this one with each number of leaves up to `most`."""
        return ExactPruning(self, most)

    def collapsed(self, is_split):
        """This tree without some splits, and the nodes of this tree that are left."""
        kept = np.ones(len(self.nodes), dtype=bool)
        for t in np.flatnonzero(~is_split):
            kept[t + 1 : t + int(self.nodes[t, 2])] = False
        splits = [
            split if here else None for split, here in zip(self.splits, is_split, strict=True)
        ]
        tree = replace(
            self,
            nodes=sized_nodes(np.where(is_split, self.nodes[:, 0], -1)[kept]),
            splits=[split for split, here in zip(splits, kept, strict=True) if here],
            mean=self.mean[kept],
            cost=self.cost[kept],
            probability=self.probability[kept],
            impurity=self.impurity[kept],
        )
        return tree, np.flatnonzero(kept)

    def ends(self, is_split):
        """For each node of this tree, the leaf that it is part of without some splits.

        Nodes above the leaves stand for themselves.
        """
        ends = np.arange(len(self.nodes))
        for t in np.flatnonzero(~is_split):  # parents come first
            if ends[t] == t:
                ends[t : t + int(self.nodes[t, 2])] = t
        return ends

    def as_thresholds(self, is_split, levels, may_miss=False):
        """Write splits into sets of levels as thresholds on the codes.

        Thresholds stand halfway between neighbouring codes; see `grid.as_thresholds`. Nodes that
        are no split are leaves, or below one; `levels` are the ascending codes (float32) of every
        categorical column, which may be missing if `may_miss`. Returns `TreeNodes`, the node of
        this tree that each of theirs stems from, and which splits send missing values left.
        """
        n_nodes = len(is_split)
        left, right, feature = np.full((3, n_nodes), -1, dtype=np.intp)
        threshold, sets = np.zeros(n_nodes), {}
        missing_left = np.zeros(n_nodes, dtype=bool)
        for t in np.flatnonzero(is_split).tolist():
            split = self.splits[t]
            left[t], right[t] = self.children(t)
            feature[t], missing_left[t] = split.column, split.missing_left
            if split.values is None:
                threshold[t] = split.threshold
            else:
                sets[t] = np.isin(levels[split.column], split.values)
        left, right, feature, threshold, missing_left, source = as_thresholds(
            left, right, feature, threshold, missing_left, sets, may_miss=may_miss
        )
        # Sets were written over numbers of levels; the tree is to compare their codes.
        of_sets = (left >= 0) & np.isin(source, list(sets)) & np.isfinite(threshold)
        for i in np.flatnonzero(of_sets).tolist():
            below, above = levels[feature[i]][[int(threshold[i]), int(threshold[i]) + 1]]
            threshold[i] = float(below) / 2.0 + float(above) / 2.0
        nodes = TreeNodes(left, right, feature, threshold)
        return nodes, source, missing_left


class ExactPruning:
    """For each number of leaves, the pruning of a grown tree that costs least.

    Two leaves below one split never answer alike: such a split is worth no leaf. Dynamic
    programming over the nodes, children first; O(n_nodes * most) or less.
    """

    def __init__(self, tree, most):
        self.tree = tree
        price = tree.cost + _TIES * tree.impurity
        answer = tree.mean.argmax(axis=1)[:, None] if tree.is_label else tree.mean
        self._costs = [None] * len(price)  # of the best tree below a node with 1, 2, ... leaves
        self._left = [None] * len(price)  # and how many of them are below its left child
        for t in range(len(price) - 1, -1, -1):
            if tree.is_leaf[t]:
                self._costs[t] = price[t : t + 1]
                continue
            left, right = (self._costs[child] for child in tree.children(t))
            costs = np.full(min(most, left.size + right.size), np.inf)
            of_left = np.zeros(costs.size, dtype=np.intp)
            alike = np.array_equal(*(answer[child] for child in tree.children(t)))
            for i, cost in enumerate(left[: costs.size - 1]):  # i + 1 leaves on the left
                sums = cost + right[: costs.size - 1 - i]
                # Two leaves that answer alike are one: the split would be worth no leaf.
                if i == 0 and alike:
                    sums[0] = np.inf
                place = slice(i + 1, i + 1 + sums.size)
                better = sums < costs[place]
                costs[place][better] = sums[better]
                of_left[place][better] = i + 1
            costs[0] = price[t]
            self._costs[t], self._left[t] = costs, of_left

    def best(self, n_leaves):
        """The splits of the best tree of at most so many leaves; the smallest where costs tie."""
        costs = self._costs[0][:n_leaves]
        least = costs.min()
        n = int(np.flatnonzero(costs <= least + _ROUNDING * abs(costs[0]))[0]) + 1
        is_split = np.zeros(len(self._costs), dtype=bool)
        stack = [(0, n)]
        while stack:
            t, n = stack.pop()
            if n > 1:
                is_split[t] = True
                left, right = self.tree.children(t)
                of_left = int(self._left[t][n - 1])
                stack += [(left, of_left), (right, n - of_left)]
        return is_split

    def pruned(self, n_leaves):
        """The best tree of at most so many leaves."""
        return self.tree.collapsed(self.best(n_leaves))[0]


class ExactPrunings:
    """For each number of leaves, the pruning of some trees of one sample that costs least."""

    def __init__(self, trees, most):
        self.trees = trees
        self._of_each = [tree.prunings(most) for tree in trees]

    def best(self, n_leaves):
        """Which tree it is, and its splits; the smallest where costs tie."""
        best_of_each = [each.best(n_leaves) for each in self._of_each]
        losses = np.array(
            [
                tree.collapsed(is_split)[0].loss
                for tree, is_split in zip(self.trees, best_of_each, strict=True)
            ]
        )
        least = losses <= losses.min() + _ROUNDING * self.trees[0].cost[0]
        which = min(np.flatnonzero(least), key=lambda k: np.count_nonzero(best_of_each[k]))
        return int(which), best_of_each[which]
