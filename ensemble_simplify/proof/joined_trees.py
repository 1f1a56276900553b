"""The trees of one or two models joined to fewer trees that add up the same.

Trees of the same splits, and those of one feature, become one tree whose leaves add up theirs: of
two models that are much alike, most of them cancel.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from ensemble_simplify.grid import CodedTrees, JointSearch, overlay, paint_lines

# Leaves times trees in a tree that stands for several.
MAX_JOINED = 1 << 24
# Leaves of trees that stand for twins: of each, as a multiple of the nodes of both, and of all.
MAX_TWINS, MORE_LEAVES, MAX_OF_TWINS = 1 << 16, 16, 1 << 22


class JoinedTrees:
    """The trees of some forests over common axes, joined to fewer trees that add up the same.

    Parameters
    ----------
    axes : Axes
    parts : list of CodedTrees
        The numbers of their leaves are rows of one array, over all of them.
    twins : {None, "common", "all"}, default=None
        Of two forests that are read from one: whether tree t of the one is joined to tree t of the
        other, if that takes few leaves: those that have axes in common, or all.

    Attributes
    ----------
    nodes, offsets : trees over axes
        Their leaves are numbered from 0 on, over all trees.
    first : intp array of shape (n_trees,)
        First leaf of each.
    n_members : int
        Trees before.
    axis_of : list of int
        The axis of every tree if each has one alone, and no two the same; else None.
    """

    def __init__(self, axes, parts, twins=None):
        self.axes = axes
        if twins:
            groups, room = [], MAX_OF_TWINS
            for pair in zip(*parts, strict=True):
                groups += self._twins(*pair, twins == "all", room)
                room -= len(groups[-1][1])
        else:
            groups = _same_splits([trees[t] for trees in parts for t in range(len(trees))])
        self.n_members = sum(map(len, parts))
        groups = self._by_axis(groups)
        self.rows = [rows for _, rows in groups]
        sizes = [len(nodes) for nodes, _ in groups]
        self.first = np.concatenate([[0], np.cumsum([len(rows) for rows in self.rows])])[:-1]
        self.offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.intp)
        self.nodes = np.concatenate([nodes for nodes, _ in groups])
        leaf = self.nodes[:, 0] < 0
        self.nodes[leaf, 1] = np.arange(leaf.sum())
        used = [np.unique(nodes[nodes[:, 0] >= 0, 0]) for nodes, _ in groups]
        self.axis_of: Any = [int(own[0]) for own in used if len(own) == 1]
        if len(self.axis_of) < len(groups) or len(set(self.axis_of)) < len(groups):
            self.axis_of = None

    @cached_property
    def search(self):
        """The search over boxes for sums of leaves."""
        return JointSearch(self.axes.shape, self.nodes, self.offsets)

    def _twins(self, one, two, always, room):
        """The groups of two trees: one, if they are joined."""
        groups = _same_splits([one, two])
        used = [set(nodes[nodes[:, 0] >= 0, 0].tolist()) for nodes in (one, two)]
        if len(groups) == 1 or (all(used) and not always and used[0].isdisjoint(used[1])):
            return groups
        most = min(MAX_TWINS, MORE_LEAVES * (len(one) + len(two)), room)
        joined = self._joined(groups, most)
        return groups if joined is None else [joined]

    def _joined(self, groups, max_leaves=MAX_JOINED):
        """One tree of several; None if it has more leaves."""
        trees = [nodes for nodes, _ in groups]
        nodes, parts = overlay(trees, *self.axes.whole, max_leaves=max_leaves)
        if nodes is None:
            return None
        numbers = [tree[part, 1] for tree, part in zip(trees, parts.T, strict=True)]
        rows = [rows[number] for (_, rows), number in zip(groups, numbers, strict=True)]
        return nodes, np.hstack(rows)

    def _by_axis(self, groups):
        """Join the trees of a single axis."""
        single, constant, rest = {}, [], []
        for group in groups:
            axes = np.unique(group[0][group[0][:, 0] >= 0, 0])
            if len(axes) == 1:
                single.setdefault(int(axes[0]), []).append(group)
            elif len(axes):
                rest.append(group)
            else:
                constant.append(group)
        # trees of one leaf go with any other
        next(iter(single.values()), rest).extend(constant)
        for a, own in single.items():
            n_members = sum(rows.shape[1] for _, rows in own)
            if len(own) == 1 or self.axes.shape[a] * n_members > MAX_JOINED:
                rest += own
            else:
                rest.append(self._joined(own))
        return rest

    def leaf_sums(self, value):
        """What every leaf adds, of shape (n_leaves, n_columns), for one row of `value` a leaf."""
        sums = []
        for rows in self.rows:
            total = value[rows[:, 0]]
            for column in rows.T[1:]:
                total = total + value[column]
            sums.append(total)
        return np.concatenate(sums)

    def sums_on_lines(self, numbers, start, cells, axis):
        """Sums of numbers of leaves at all cells along an axis, one line after the other."""
        length = self.axes.shape[axis]
        sums = np.tile(start, (len(cells) * length, 1))
        paint_lines(self.nodes, self.offsets[:-1], numbers, cells, axis, length, sums)
        return sums

    def centred(self, numbers):
        """Numbers of leaves whose mean in each tree is zero, and the sum of these means.

        Trees that say the same but for a constant are the same then.
        """
        n_leaves = np.diff(np.append(self.first, len(numbers)))
        means = np.add.reduceat(numbers, self.first) / n_leaves[:, None]
        return numbers - np.repeat(means, n_leaves, axis=0), means.sum(axis=0)

    def most(self, numbers):
        """The largest sum over the trees, of shape (n_columns,), of numbers of leaves."""
        return np.maximum.reduceat(numbers, self.first).sum(axis=0)

    def tables(self, numbers):
        """Numbers of leaves by the cell of each tree's axis; with `axis_of` only."""
        tables = [np.zeros(n) for n in self.axes.shape]
        for t, a in enumerate(self.axis_of):
            nodes = self.nodes[self.offsets[t] : self.offsets[t + 1]]
            cuts = np.sort(nodes[nodes[:, 0] >= 0, 1])
            leaf = self.first[t] + np.searchsorted(cuts, np.arange(self.axes.shape[a]))
            tables[a] = numbers[leaf]
        return tables


class JoinedPair:
    """The sums of two models over the same joined trees.

    Parameters
    ----------
    sums : pair of Sums
    columns : pair of int arrays
        The places of each model's columns among all.
    trees : pair of CodedTrees
        The numbers of their leaves are nodes of their forests.
    axes : Axes
    twins : {None, "common", "all"}, default=None
        See `JoinedTrees`.

    Attributes
    ----------
    trees : JoinedTrees
    leaves : list of float64 arrays of shape (n_leaves, n_columns)
        What the leaves add for each model.
    start : list of float64 arrays of shape (n_columns,)
    """

    def __init__(self, sums, columns, trees, axes, twins=None):
        n_first = len(sums[0].value)
        second = trees[1].nodes.copy()
        second[second[:, 0] < 0, 1] += n_first
        self.trees = JoinedTrees(axes, [trees[0], CodedTrees(second, trees[1].offsets)], twins)
        n_columns = 1 + max(int(own.max()) for own in columns)
        n_rows = n_first + len(sums[1].value)
        self.leaves, self.start = [], []
        for part, own, rows in zip(
            sums, columns, (slice(n_first), slice(n_first, n_rows)), strict=True
        ):
            value, start = np.zeros((n_rows, n_columns)), np.zeros(n_columns)
            value[rows, own] = part.value
            start[own] = part.start
            self.leaves.append(self.trees.leaf_sums(value))
            self.start.append(start)


def _same_splits(trees):
    """Join trees of the same splits: pairs of nodes and the rows of their leaves.

    The leaves of the nodes are numbered from left to right.
    """
    kinds = {}
    for nodes in trees:
        leaf = nodes[:, 0] < 0
        rows = nodes[leaf, 1].astype(np.intp)
        nodes = nodes.copy()
        nodes[leaf, 1] = np.arange(len(rows))
        kinds.setdefault(nodes.tobytes(), (nodes, []))[1].append(rows)
    return [(nodes, np.column_stack(rows)) for nodes, rows in kinds.values()]


def without_equal_leaves(nodes, offsets, numbers):
    """Trees without the splits below which all leaves have the same row of numbers.

    Parameters
    ----------
    nodes, offsets : trees over axes
        Their leaves are numbered from 0 on, over all trees.
    numbers : float64 array of shape (n_leaves, n_columns)

    Returns
    -------
    nodes, offsets, numbers : the same of fewer nodes
        Trees of a single leaf stay.
    """
    is_leaf = nodes[:, 0] < 0
    before = np.append(0, np.cumsum(is_leaf))
    other = np.append(True, (numbers[1:] != numbers[:-1]).any(axis=1))
    turns = np.append(0, np.cumsum(other))
    at, end = np.arange(len(nodes)), np.arange(len(nodes)) + nodes[:, 2]
    # the leaves from the second one on are none like the one before
    constant = turns[before[end]] == turns[np.minimum(before[at] + 1, before[end])]
    depth = np.zeros(len(nodes) + 1, dtype=np.intp)
    top = np.flatnonzero(constant & ~is_leaf)
    np.add.at(depth, top + 1, 1)
    np.add.at(depth, end[top], -1)
    kept = np.cumsum(depth[:-1]) == 0
    place = np.append(0, np.cumsum(kept))
    found = nodes[kept].copy()
    found[:, 2] = (place[end] - place[at])[kept]
    ends = constant[kept]
    found[ends, 0], found[ends, 1] = -1, np.arange(ends.sum())
    return found, place[offsets], np.ascontiguousarray(numbers[before[at[kept][ends]]])
