"""Tests of sets of codes, written as tests of thresholds between codes."""

from __future__ import annotations

import numpy as np

from ensemble_simplify.grid._category_splits import SetTree

# Nodes of one tree that is written with thresholds.
MAX_TREE_NODES = 1 << 24


def as_thresholds(left, right, feature, threshold, missing_left, sets, *, may_miss=True):
    """Write a tree with tests of sets of codes as one of thresholds alone.

    O(nodes written), which is at worst exponential in the tests of one feature on a path.

    Parameters
    ----------
    left, right, feature, threshold, missing_left, sets
        As for `SetTree`.
    may_miss : bool, default=True
        Whether values of features with sets may be missing.

    Returns
    -------
    left, right, feature, threshold, missing_left : arrays of shape (n_nodes_new,)
        The root is node 0.
    origin : intp array of shape (n_nodes_new,)
        Old node of every leaf; the node whose test it is of every split.

    Raises
    ------
    ValueError
        If the tree takes more than `MAX_TREE_NODES` nodes.
    """
    # the tree is not kept: what it wrote takes as much memory as the answer
    written = SetTree(left, right, feature, threshold, missing_left, sets).write(
        may_miss, MAX_TREE_NODES
    )
    if written is None:
        raise ValueError(
            f"A tree with tests of sets of categories takes more than {MAX_TREE_NODES:,} nodes "
            "when it is written with thresholds. Use fewer levels or shallower trees."
        )
    right, origin, threshold, missing_left = written
    inner = right >= 0
    left = np.where(inner, np.arange(len(right)) + 1, -1)
    return left, right, np.where(inner, feature[origin], -1), threshold, missing_left, origin
