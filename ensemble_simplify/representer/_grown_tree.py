"""The grown tree: its errors on rows, its pruning path, and its form as a scikit-learn tree."""

from __future__ import annotations

import heapq
from dataclasses import dataclass, replace

import numpy as np
from sklearn.utils import Bunch

from ensemble_simplify.base import product
from ensemble_simplify.grid import TreeNodes, sized_nodes
from ensemble_simplify.reading import as_thresholds
from ensemble_simplify.writing import (
    apply_nodes,
    sums_on_path,
    weakest_links,
    write_classifier,
    write_regressor,
)

# Weight of impurities beside costs, where a tree is pruned to a size.
_TIES = 1e-3


@dataclass(eq=False)
class GrownTree:
    """A tree whose nodes stand in pre-order; the left child of a split is the node after it."""

    nodes: np.ndarray  # int32 (n_nodes, 3): column (-1 in leaves), unused, nodes of the branch
    splits: list  # of ColumnSplit, None in leaves
    mean: np.ndarray  # float64 (n_nodes, n_outputs): of the predictor's answers
    cost: np.ndarray  # float64 (n_nodes,): probability times impurity
    probability: np.ndarray  # float64 (n_nodes,)
    is_complete: bool = True  # False if the time limit ended its growing

    @property
    def is_leaf(self):
        return self.nodes[:, 2] == 1

    @property
    def n_leaves(self):
        return (len(self.nodes) + 1) // 2

    def children(self, t):
        return t + 1, t + 1 + int(self.nodes[t + 1, 2])

    def errors(self, X, truth, weight, target):
        """For every node as a leaf: the loss of its rows, divided by the weight of all rows."""
        rows_of = [None] * len(self.nodes)
        rows_of[0] = np.arange(X.shape[0])
        errors = np.zeros(len(self.nodes))
        for t, rows in enumerate(rows_of):
            if target == "label":
                loss = 1.0 - truth[rows, self.mean[t].argmax()]
            else:
                loss = np.square(truth[rows] - self.mean[t]).sum(axis=1)
            errors[t] = product(weight[rows], loss)
            if self.splits[t] is not None:
                left, right = self.children(t)
                goes_left = self.splits[t].goes_left(X[rows, self.splits[t].column])
                rows_of[left], rows_of[right] = rows[goes_left], rows[~goes_left]
            rows_of[t] = None
        return errors / weight.sum()

    def send_gaps(self, X, columns):
        """Let splits on some columns, which X never lacks, send gaps to the side of more rows.

        `columns` is a bool array. Other splits stay as they are.
        """
        rows_of = [None] * len(self.nodes)
        rows_of[0] = np.arange(X.shape[0])
        for t, rows in enumerate(rows_of):
            split, rows_of[t] = self.splits[t], None
            if split is None:
                continue
            left, right = self.children(t)
            goes_left = split.goes_left(X[rows, split.column])
            rows_of[left], rows_of[right] = rows[goes_left], rows[~goes_left]
            if columns[split.column]:
                more = bool(2 * np.count_nonzero(goes_left) > rows.size)
                self.splits[t] = replace(split, missing_left=more)

    def pruning_path(self, values):
        """Weakest-link pruning, with the sums of some values over the leaves of each tree.

        Returns the tree of the path, from 0, in which each node is no longer split; ``alphas``,
        ``n_leaves`` and ``costs`` of the trees; and, for values of shape (n_nodes, n_values), sums
        of shape (n_trees, n_values).
        """
        pruned_at, alphas, n_leaves, costs = weakest_links(self.nodes, self.cost)
        sums = sums_on_path(self.nodes, pruned_at, values)
        return pruned_at, Bunch(alphas=alphas, n_leaves=n_leaves, costs=costs), sums

    def of_size(self, n_leaves, impurity):
        """This tree pruned to a number of leaves, by its costs, and by impurities where they tie.

        Weakest links are cut as long as enough leaves remain, then splits above two leaves, one by
        one.
        """
        if self.n_leaves <= n_leaves:
            return self
        cost = self.cost + _TIES * impurity
        pruned_at, _, sizes, _ = weakest_links(self.nodes, cost)
        is_split = pruned_at > np.flatnonzero(sizes >= n_leaves)[-1]
        for t in range(len(self.nodes)):  # parents come first
            if not is_split[t] and not self.is_leaf[t]:
                is_split[t + 1 : t + int(self.nodes[t, 2])] = False
        self._collapse(is_split, n_leaves, cost)
        kept = np.ones(len(self.nodes), dtype=bool)
        for t in np.flatnonzero(~is_split):
            kept[t + 1 : t + int(self.nodes[t, 2])] = False
        column = np.where(is_split, self.nodes[:, 0], -1)[kept]
        splits = [
            split if here else None for split, here in zip(self.splits, is_split, strict=True)
        ]
        return GrownTree(
            nodes=sized_nodes(column),
            splits=[split for split, here in zip(splits, kept, strict=True) if here],
            mean=self.mean[kept],
            cost=self.cost[kept],
            probability=self.probability[kept],
            is_complete=self.is_complete,
        )

    def _collapse(self, is_split, n_leaves, cost):
        """Turn splits above two leaves into leaves, those that cost least first."""
        parent = np.full(len(self.nodes), -1)
        for t in np.flatnonzero(is_split):
            parent[list(self.children(t))] = t

        def loss(t):
            return cost[t] - sum(cost[child] for child in self.children(t))

        def is_last(t):
            return not any(is_split[child] for child in self.children(t))

        last = [(loss(t), t) for t in np.flatnonzero(is_split) if is_last(t)]
        heapq.heapify(last)
        for _ in range(np.count_nonzero(is_split) + 1 - n_leaves):
            _, t = heapq.heappop(last)
            is_split[t] = False
            if parent[t] >= 0 and is_last(parent[t]):
                heapq.heappush(last, (loss(parent[t]), parent[t]))

    def as_thresholds(self, is_split, levels, may_miss=False):
        """Write splits into sets of levels as thresholds on the codes.

        Thresholds stand halfway between neighbouring codes; see `reading.as_thresholds`. Nodes that
        are no split are leaves, or below one; `levels` are the ascending codes (float32) of every
        categorical column, which may be missing if `may_miss`. Returns `TreeNodes`, the node of
        this tree that each leaf of theirs stems from, -1 for splits, and which splits send missing
        values left.
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
        of_sets = (left >= 0) & np.isin(source, list(sets)) & np.isfinite(threshold)
        for i in np.flatnonzero(of_sets).tolist():
            below, above = levels[feature[i]][[int(threshold[i]), int(threshold[i]) + 1]]
            threshold[i] = float(below) / 2.0 + float(above) / 2.0
        nodes = TreeNodes(left, right, feature, threshold)
        return nodes, np.where(left >= 0, -1, source), missing_left

    def write(
        self,
        is_split,
        levels,
        X,
        answers,
        *,
        classes=None,
        feature_names=None,
        weight=None,
        may_miss=False,
    ):
        """The selected tree as scikit-learn's; a classifier if there are classes.

        Leaves hold the mean answers to synthetic rows; counts and impurities come from the
        `answers` to the training rows X.
        """
        nodes, source, missing_left = self.as_thresholds(is_split, levels, may_miss)
        value = self.mean[source[nodes.leaves]]
        leaf_of_row = apply_nodes(nodes, X, missing_left)
        options = {
            "n_features": X.shape[1],
            "feature_names": feature_names,
            "sample_weight": weight,
            "missing_go_to_left": missing_left,
        }
        if classes is None:
            return write_regressor(nodes, value[:, 0], leaf_of_row, answers[:, 0], **options)
        return write_classifier(
            nodes,
            value.argmax(axis=1),
            value / value.sum(axis=1, keepdims=True),
            leaf_of_row,
            answers.argmax(axis=1),
            classes,
            **options,
        )
