"""Sizes of trees that are grown without a fold of the rows, and how they are learned."""

from __future__ import annotations

import numpy as np

from ensemble_simplify.representer._grower import grow_trees
from ensemble_simplify.representer._grown_tree import ExactPrunings

# The smallest tree that folds are asked about.
_SMALLEST = 4

# Where a law is chosen: leaves of the largest trees, at most; and where no size is asked for.
_MOST_TRIED_LEAVES, _USUAL_LEAVES = 32, 16


def trial_sizes(max_leaf_nodes, n_classes):
    """Sizes of trees that choose a law."""
    if max_leaf_nodes is None:
        return sizes(max(_USUAL_LEAVES, n_classes), n_classes)
    return sizes(min(max_leaf_nodes, _MOST_TRIED_LEAVES), n_classes)


def sizes(max_leaf_nodes, n_classes):
    """Sizes of trees to ask about: powers of two, and the largest; none below the classes."""
    found = []
    size = _SMALLEST
    while size < max_leaf_nodes:
        if size >= n_classes:
            found.append(size)
        size *= 2
    return np.array([*found, max_leaf_nodes])


def pruned_trees(rows, n_leaves, target, **how):
    """Learn trees of some sizes from rows: a function that answers other rows, once a size."""
    largest = int(max(n_leaves))
    trees = grow_trees(rows, target, max_leaf_nodes=largest, **how)
    prunings = ExactPrunings(trees, largest)
    sized = [prunings.best(n) for n in n_leaves]
    ends = [(trees[which], trees[which].ends(is_split)) for which, is_split in sized]
    return lambda X: np.array([tree.mean[at[tree.leaves(X)]] for tree, at in ends])
