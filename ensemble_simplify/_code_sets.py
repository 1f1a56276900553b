"""Sets of codes as thresholds: trees that ask whether a category is in a set, written as others.

In the order of its codes, a set is a number of runs. A balanced tree of thresholds halfway between
neighbouring runs finds the run of a code, and each run of a side gets a copy of that side's branch,
in which only the run's codes are left to be told apart. Missing values follow a run of their side.
"""

from __future__ import annotations

import numpy as np

# Nodes of one tree, written out.
MAX_NODES = 1 << 24

# What is left of a feature's codes where its value is missing.
NO_CODE = (0, -1, True)


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
    left, right = left.tolist(), right.tolist()
    feature, threshold = feature.tolist(), threshold.tolist()
    missing_left = missing_left.tolist()
    out_right, out_feature, out_threshold, out_missing, origin = [], [], [], [], []
    # Parent whose right child comes next; the node to write, and runs of its codes still to be told
    # apart; by feature, the codes left: first, last, and whether the value may be missing.
    stack = [(-1, 0, None, {})]
    while stack:
        parent, node, runs, left_over = stack.pop()
        if len(out_right) > MAX_NODES:
            raise ValueError(
                f"A tree with tests of sets of categories takes more than {MAX_NODES:,} nodes "
                "when it is written with thresholds. Use fewer levels or shallower trees."
            )
        if parent >= 0:
            out_right[parent] = len(out_right)
        cut = None
        while left[node] >= 0:
            j = feature[node]
            if node not in sets:
                cut, to_left = threshold[node], missing_left[node]
                sides, inside = ((left[node], None), (right[node], None)), (left_over, left_over)
                break
            first, last, absent = left_over.get(j, (0, np.inf, may_miss))
            way_of_missing = left[node] if missing_left[node] else right[node]
            if runs is None:
                runs = _runs(sets[node], left[node], right[node], first, last)
            if not runs or (len(runs) == 1 and (not absent or runs[0][0] == way_of_missing)):
                node, runs = runs[0][0] if runs else way_of_missing, None
                continue
            if len(runs) == 1:
                # all codes go one way, missing values the other
                cut, to_left = np.inf, False
                sides = (runs[0][0], None), (way_of_missing, None)
                inside = (first, last, False), NO_CODE
            else:
                middle = len(runs) // 2
                begin = runs[middle][1]
                cut, to_left = begin - 0.5, any(to == way_of_missing for to, _ in runs[:middle])
                sides = (node, runs[:middle]), (node, runs[middle:])
                inside = (
                    (first, begin - 1, absent and to_left),
                    (begin, last, absent and not to_left),
                )
            inside = tuple({**left_over, j: codes} for codes in inside)
            break
        here = len(out_right)
        out_right.append(-1)
        origin.append(node)
        if cut is None:
            out_feature.append(-1)
            out_threshold.append(-2.0)
            out_missing.append(False)
            continue
        out_feature.append(feature[node])
        out_threshold.append(cut)
        out_missing.append(to_left)
        stack.append((here, *sides[1], inside[1]))
        stack.append((-1, *sides[0], inside[0]))
    out_right = np.array(out_right, dtype=np.intp)
    return (
        np.where(out_right >= 0, np.arange(len(out_right)) + 1, -1),
        out_right,
        np.array(out_feature, dtype=np.intp),
        np.array(out_threshold, dtype=np.float64),
        np.array(out_missing, dtype=bool),
        np.array(origin, dtype=np.intp),
    )


def _runs(goes_left, left, right, first, last):
    """The runs of codes from first to last: pairs of the child where they go and the first code."""
    if first > last:
        return []
    begin, end = (int(min(code, len(goes_left) - 1)) for code in (first, last))
    part = goes_left[begin : end + 1]
    starts = [0, *(np.flatnonzero(np.diff(part)) + 1).tolist()]
    return [(left if part[i] else right, begin + i if i else first) for i in starts]
