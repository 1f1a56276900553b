"""Grown trees as scikit-learn's: their pruning path, and what is written of a pruning."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.utils import Bunch

from ensemble_simplify.grid import TreeNodes, preorder
from ensemble_simplify.sampling import GrownTree
from ensemble_simplify.writing import (
    apply_nodes,
    sums_on_path,
    weakest_links,
    write_classifier,
    write_regressor,
)


def pruning_path(tree, values):
    """Weakest-link pruning, with the sums of some values over the leaves of each tree.

    Returns the tree of the path, from 0, in which each node is no longer split; ``alphas``,
    ``n_leaves`` and ``costs`` of the trees; and, for values of shape (n_nodes, n_values), sums
    of shape (n_trees, n_values).
    """
    pruned_at, alphas, n_leaves, costs = weakest_links(tree.nodes, tree.cost)
    sums = sums_on_path(tree.nodes, pruned_at, values)
    return pruned_at, Bunch(alphas=alphas, n_leaves=n_leaves, costs=costs), sums


@dataclass(eq=False)
class WrittenTree:
    """A grown tree as one of thresholds alone, from which smaller ones are written."""

    tree: GrownTree
    nodes: TreeNodes
    source: np.ndarray  # node of the grown tree that each of `nodes` stems from
    missing_left: np.ndarray  # which splits send missing values left

    @classmethod
    def of(cls, tree, levels, may_miss=False):
        return cls(tree, *tree.as_thresholds(~tree.is_leaf, levels, may_miss))

    def leaves(self, X):
        """The leaf of each row."""
        return apply_nodes(self.nodes, X, self.missing_left).astype(np.int32)

    def answers(self, is_split, leaves):
        """The answers of the tree with some of its splits to rows in such leaves."""
        return self.tree.mean[self.tree.ends(is_split)[self.source[leaves]]]

    def numbered(self, is_split):
        """The nodes of the tree with some of its splits, in pre-order.

        Returns `TreeNodes`, the node of this tree that each of theirs is, and the node of theirs
        that the rows in each node of this tree are in.
        """
        here = is_split[self.source]
        nodes, order = preorder(
            np.where(here, self.nodes.left, -1),
            np.where(here, self.nodes.right, -1),
            self.nodes.feature,
            self.nodes.threshold,
            drop_unreached=True,
        )
        # nodes are in pre-order: what is not kept follows the leaf that it is part of
        kept = np.zeros(self.nodes.n_nodes, dtype=np.intp)
        kept[order] = 1
        return nodes, order, np.cumsum(kept) - 1

    def write(
        self, is_split, leaves, answers, *, n_features, classes=None, names=None, weight=None
    ):
        """The tree with some of its splits as scikit-learn's; a classifier if there are classes.

        Counts and impurities come from the `answers` to the training rows, whose `leaves` are
        known. Leaves hold the mean answers to all rows that the tree was grown on.
        """
        nodes, order, number = self.numbered(is_split)
        value = self.tree.mean[self.source[order[nodes.leaves]]]
        leaf_of_row = number[leaves]
        options = {
            "n_features": n_features,
            "feature_names": names,
            "sample_weight": weight,
            "missing_go_to_left": self.missing_left[order] & (nodes.left >= 0),
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
