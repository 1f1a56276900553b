"""Sets of codes that nodes of trees test, and how they are written as thresholds between codes."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ensemble_simplify.grid._category_splits import SetTree

# Nodes of one tree that is written with thresholds.
MAX_TREE_NODES = 1 << 24


@dataclass(frozen=True, eq=False)
class CodeSets:
    """Which nodes test a set of codes, and the distinct sets.

    Sets are kept as one array, so that kernels read them: whether each code, from 0 on, goes left;
    the last entry of a set holds for all codes beyond, too.

    Attributes
    ----------
    which : intp array of shape (n_nodes,)
        The number of the set that each node tests; -1: it tests a threshold, or is a leaf.
    offsets : intp array of shape (n_sets + 1,)
    goes_left : uint8 array of shape (offsets[-1],)
    """

    which: np.ndarray
    offsets: np.ndarray
    goes_left: np.ndarray

    @classmethod
    def of(cls, sides_of_node: dict, n_nodes: int) -> CodeSets | None:
        """The sets of some nodes, by their numbers, as bool arrays; None if there are none."""
        if not sides_of_node:
            return None
        which, distinct = np.full(n_nodes, -1, dtype=np.intp), {}
        for node, sides in sides_of_node.items():
            which[node] = distinct.setdefault(sides.tobytes(), len(distinct))
        offsets = np.cumsum([0, *map(len, distinct)]).astype(np.intp)
        return cls(which, offsets, np.frombuffer(b"".join(distinct), dtype=np.uint8))

    @property
    def is_set(self) -> np.ndarray:
        """The nodes that test a set, as a bool array."""
        return self.which >= 0

    def sides(self, node: int) -> np.ndarray:
        """Where each code goes at a node that tests a set; the last entry is of all beyond."""
        number = self.which[node]
        return self.goes_left[self.offsets[number] : self.offsets[number + 1]].view(bool)

    def drawn_borders(self, rng) -> np.ndarray:
        """For each node a number between two codes that its set tells apart; NaN if there is none.

        It is drawn from all such numbers by `rng`.
        """
        ends = np.flatnonzero(self.goes_left[1:] != self.goes_left[:-1])
        number = np.searchsorted(self.offsets, ends, side="right") - 1
        inside = ends + 1 < self.offsets[number + 1]
        ends, number = ends[inside], number[inside]
        borders = ends - self.offsets[number] + 0.5
        count = np.bincount(number, minlength=len(self.offsets) - 1)
        drawn = np.cumsum(count) - count + (rng.random(len(count)) * count).astype(np.intp)
        found = np.append(borders, np.nan)[np.where(count, drawn, -1)]
        return np.append(found, np.nan)[self.which]

    def borders(self, feature: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Features that sets test, and the numbers between codes that these tell apart.

        Beside them stands infinity, above which values are missing.
        """
        found = []
        for j, number in np.unique(np.column_stack([feature, self.which])[self.is_set], axis=0):
            sides = self.goes_left[self.offsets[number] : self.offsets[number + 1]]
            ends = np.append(np.flatnonzero(sides[1:] != sides[:-1]) + 0.5, np.inf)
            found.append((np.full(len(ends), j), ends))
        feature, threshold = map(np.concatenate, zip(*found, strict=True))
        return feature, threshold

    def within(self, low: np.ndarray, high: np.ndarray) -> CodeSets | None:
        """The same for codes from `low` to `high` alone, which are given for each node.

        Other codes go where the nearest of these goes: what cannot occur is not told apart.
        """
        found, sets = {}, {}
        for node in np.flatnonzero(self.is_set).tolist():
            key = self.which[node], low[node], high[node]
            if key not in found:
                sides = self.sides(node)
                last = len(sides) - 1
                ends = max(np.ceil(key[1]), 0), min(np.floor(key[2]), last)
                codes = np.arange(max(*ends, 0) + 1)
                found[key] = sides[np.clip(codes, *ends).astype(np.intp)]
            sets[node] = found[key]
        return CodeSets.of(sets, len(self.which))

    def at(self, nodes: np.ndarray) -> CodeSets:
        """The same of other nodes, each of which is a copy of one of these."""
        return replace(self, which=self.which[nodes])


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
    tree = SetTree(left, right, feature, threshold, missing_left, sets)
    written = tree.write(may_miss, MAX_TREE_NODES)
    if written is None:
        raise ValueError(
            f"A tree with tests of sets of categories takes more than {MAX_TREE_NODES:,} nodes "
            "when it is written with thresholds. Use fewer levels or shallower trees."
        )
    return _with_children(written, feature)


def within_window(tree, feature, window, max_nodes):
    """What `as_thresholds` answers where features have some codes alone; None: too many nodes.

    `tree` is a `SetTree` of nodes with such a `feature`; `window` is as for ``SetTree.write``.
    """
    written = tree.write(True, max_nodes, window)
    return None if written is None else _with_children(written, feature)


def _with_children(written, feature):
    right, origin, threshold, missing_left = written
    inner = right >= 0
    left = np.where(inner, np.arange(len(right)) + 1, -1)
    return left, right, np.where(inner, feature[origin], -1), threshold, missing_left, origin
