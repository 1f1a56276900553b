"""Where two forests of one vote can differ: nowhere, or in subtrees that only one has."""

from __future__ import annotations

from collections import Counter

import numpy as np

from ensemble_simplify.grid import check_time, children
from ensemble_simplify.reading import are_equal

# Boxes in which two models differ, beyond which they are compared everywhere.
MOST_CHANGED = 200


def same_vote(a, b):
    """Whether two forests decide alike whenever their trees add the same scores."""
    return a.n_scores == b.n_scores and a.n_trees == b.n_trees and are_equal(a.vote, b.vote)


def same_trees(forests, trees):
    """Whether two forests of one vote have the same trees, with the same leaves.

    Parameters
    ----------
    forests : pair of Forest
    trees : pair of CodedTrees
        Theirs, over common axes.

    Returns
    -------
    {"in order", "in another order", None}
        In order, every sum is made of the same numbers one after the other, with the same
        roundings. In another order, only sums of real numbers are known to be the same. None: the
        forests decide otherwise, or have other trees.
    """
    classes = [None if f.classes is None else f.classes.tolist() for f in forests]
    if classes[0] != classes[1] or not same_vote(*forests):
        return None
    one, two = trees
    if len(one.nodes) != len(two.nodes):
        return None
    # a sum does not tell 0.0 from -0.0
    one, two = (
        _keys(tree, forest.value + 0.0) for tree, forest in zip(trees, forests, strict=True)
    )
    if one == two:
        return "in order"
    for start, stop in _ranges(forests[0].vote):
        if Counter(one[start:stop]) != Counter(two[start:stop]):
            return None
    return "in another order"


def _keys(trees, value):
    """Of every tree over axes what tells it from others: its splits, and what its leaves add."""
    nodes = trees.nodes[:, :2].copy()
    leaf = nodes[:, 0] < 0
    added = value[nodes[leaf, 1]]
    nodes[leaf, 1] = 0
    first = np.concatenate([[0], np.cumsum(leaf)])[trees.offsets]
    return [
        (nodes[a:b].tobytes(), added[i:j].tobytes())
        for a, b, i, j in zip(trees.offsets, trees.offsets[1:], first, first[1:], strict=False)
    ]


def _ranges(vote):
    """First tree, and the one after the last, of every vote without members in a vote."""
    if not vote.members:
        return [(vote.start, vote.stop)]
    return [own for member in vote.members for own in _ranges(member)]


def equal_subtrees(nodes, offsets, scores):
    """Number subtrees so that equal numbers mean equal splits and equal scores.

    Raises `Stopped` when the time is over.
    """
    left, right = children(nodes)
    levels, level = [], offsets[:-1]
    while level.size:
        levels.append(level)
        level = level[left[level] >= 0]
        level = np.concatenate([left[level], right[level]])
    number = np.zeros(len(nodes), dtype=np.int64)
    leaves = np.flatnonzero(left < 0)
    number[leaves] = numbered(scores[nodes[leaves, 1]].T + 0.0)
    height = np.zeros(len(nodes), dtype=np.intp)
    for level in reversed(levels):
        split = level[left[level] >= 0]
        height[split] = 1 + np.maximum(height[left[split]], height[right[split]])
    count = leaves.size
    by_height = np.argsort(height, kind="stable")
    ends = np.searchsorted(height[by_height], np.arange(1, len(levels) + 1))
    for split in np.split(by_height, ends)[1:]:
        check_time()
        columns = nodes[split, 0], nodes[split, 1], number[left[split]], number[right[split]]
        number[split] = count + numbered(columns)
        count += split.size
    return number


def numbered(columns):
    """Numbers of the rows of some columns, equal where the rows are."""
    number = np.zeros(len(columns[0]), dtype=np.int64)
    for column in columns:
        values, inverse = np.unique(column, return_inverse=True)
        # both factors are at most the number of rows: their product is far below 2^63
        _, number = np.unique(number * len(values) + inverse, return_inverse=True)
    return number


def changed_boxes(trees, number, whole):
    """Boxes outside of which two forests of the same vote add the same scores.

    Each is where one of two trees at the same place has a subtree that the other has not: `number`,
    from `equal_subtrees`, counts over the nodes of both. The boxes are pairs of first and last
    cells; None if there are too many, or one is the `whole`.
    """
    first, second = trees
    boxes = {}
    for a, b in zip(first.offsets[:-1].tolist(), second.offsets[:-1].tolist(), strict=True):
        stack = [(a, b, *whole)]
        while stack:
            a, b, lo, hi = stack.pop()
            # no point comes to a split behind another one that leaves it nothing
            if number[a] == number[len(first.nodes) + b] or (lo > hi).any():
                continue
            axis, cut, _ = first.nodes[a].tolist()
            if axis < 0 or (axis, cut) != tuple(second.nodes[b, :2].tolist()):
                boxes[lo.tobytes() + hi.tobytes()] = lo, hi
                if len(boxes) > MOST_CHANGED or (lo is whole[0] and hi is whole[1]):
                    return None
                continue
            below, above = hi.copy(), lo.copy()
            below[axis], above[axis] = cut, cut + 1
            left = a + 1, b + 1, lo, below
            right = a + 1 + int(first.nodes[a + 1, 2]), b + 1 + int(second.nodes[b + 1, 2])
            stack += [(*right, above, hi), left]
    return list(boxes.values())
