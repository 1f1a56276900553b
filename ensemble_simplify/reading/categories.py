"""Sets of codes as thresholds: trees that ask whether a category is in a set, written as others.

In the order of its codes, a set is a number of runs. A balanced tree of thresholds halfway between
neighbouring runs finds the run of a code, and each run of a side gets a copy of that side's branch,
in which only the run's codes are left to be told apart. Missing values follow a run of their side,
the last where they can: splits that send them right are cheaper later.
"""

from __future__ import annotations

import numpy as np

from ensemble_simplify.reading._category_splits import write_out

# Nodes of one tree, written out.
MAX_NODES = 1 << 24


def as_thresholds(left, right, feature, threshold, missing_left, sets, *, may_miss=True):
    """Write a tree with tests of sets of codes as one of thresholds alone.

    O(nodes written), which is at worst exponential in the tests of one feature on a path.

    Parameters
    ----------
    left, right : int arrays of shape (n_nodes,)
        Children, -1 in leaves; the root is node 0.
    feature : int array of shape (n_nodes,)
    threshold : float array of shape (n_nodes,)
        Not read where there is a set.
    missing_left : bool array of shape (n_nodes,)
        Whether missing values go left.
    sets : dict of int to bool array
        For nodes that test a set: whether each code goes left, from 0 on; the last entry holds for
        all codes beyond, too.
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
        If the tree takes more than `MAX_NODES` nodes.
    """
    n_nodes = len(left)
    borders, first_left = [], np.zeros(n_nodes, dtype=np.uint8)
    sizes, has_set = np.zeros(n_nodes, dtype=np.intp), np.zeros(n_nodes, dtype=np.uint8)
    for node in sorted(sets):
        goes_left = np.asarray(sets[node], dtype=bool)
        own = np.flatnonzero(goes_left[1:] != goes_left[:-1]) + 1
        borders.append(own)
        first_left[node], sizes[node], has_set[node] = goes_left[0], len(own), True
    new_right, origin, new_threshold, new_missing = write_out(
        left.astype(np.intp),
        right.astype(np.intp),
        feature.astype(np.intp),
        threshold.astype(np.float64),
        missing_left.astype(np.uint8),
        np.concatenate([[0], np.cumsum(sizes)]).astype(np.intp),
        np.concatenate([*borders, []]).astype(np.int64),
        first_left,
        has_set,
        int(feature[left >= 0].max(initial=0)) + 1,
        may_miss,
        MAX_NODES,
    )
    if new_right is None:
        raise ValueError(
            f"A tree with tests of sets of categories takes more than {MAX_NODES:,} nodes "
            "when it is written with thresholds. Use fewer levels or shallower trees."
        )
    inner = new_right >= 0
    return (
        np.where(inner, np.arange(len(new_right)) + 1, -1),
        new_right,
        np.where(inner, feature[origin], -1),
        new_threshold,
        new_missing.astype(bool),
        origin,
    )
