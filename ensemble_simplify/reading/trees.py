"""What a reader answers: trees as their ensemble keeps them, and the vote over them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ensemble_simplify.reading.level_order import order_of_sides
from ensemble_simplify.reading.program import Above, Program
from ensemble_simplify.reading.table import Table

# Codes are below this number: there, float32 represents the threshold n + 1/2 for every code n.
MAX_CODE = 1 << 22


@dataclass(eq=False)
class Tree:
    """One tree as its ensemble keeps it: local node ids, -1 for no child.

    A row goes left iff its value, rounded to `dtype`, is at most the threshold, or is missing and
    the node is in `missing_left` (None: none is). Features are numbered as the tree knows them;
    `columns` are those of the ensemble (None: the same).
    `estimator` is the scikit-learn tree, if it is one. `sets` are those of nodes that test a set of
    codes, not their threshold: where each code goes, the last entry also for all codes beyond.
    `folded`: thresholds are float32 numbers that decide for float32 numbers as the tree does;
    `rescaled`: for other numbers, some decide otherwise, even once these are rounded; `by_dtype`:
    for those of the other of float32 and float64, some decide otherwise.
    """

    name: str
    left: np.ndarray
    right: np.ndarray
    feature: np.ndarray
    threshold: np.ndarray
    value: np.ndarray
    n_features: int
    columns: np.ndarray | None = None
    estimator: object = None
    dtype: str = "float32"
    folded: bool = False
    rescaled: bool = False
    by_dtype: bool = False
    missing_left: Any = None
    sets: dict = field(default_factory=dict)

    def __post_init__(self):
        if self.missing_left is None:
            self.missing_left = np.zeros(len(self.left), dtype=bool)


@dataclass(eq=False)
class Reading:
    """What was read of an ensemble: trees, the vote over them, classes (None for regression).

    `table`: what the features are, where some hold codes of categories, whole numbers from 0 (None:
    none do). Codes that trees test sets of are put in order by `put_in_order`. `filled`:
    features whose missing values are filled in from other features (None: none are).
    `on_numbers`: the ensemble with its scores for rows, `knots`: scores at which what it answers
    can fall by a rounding, and `within_one`: whether its scores lie between 0 and 1, where a
    decision threshold or a calibration was read.
    """

    trees: list[Tree]
    vote: Program
    classes: np.ndarray | None
    table: Table | None = None
    filled: np.ndarray | None = None
    on_numbers: object = None
    within_one: bool = False
    knots: np.ndarray = field(default_factory=lambda: np.zeros(0))

    def put_in_order(self, like=None) -> None:
        """Number the levels of the table, and the sets of the trees, in a new order.

        It is that of the levels of the table `like` it. Without one, it is an order in which the
        trees, written with thresholds on codes, take few nodes. Codes that stand for themselves
        stay.
        """
        table = self.table
        if table is None or not table.coded.any():
            return
        orders = self._orders() if like is None else table.orders_like(like)
        known = {}
        for sets, node, column, _ in self._tests():
            if table.levels[column] is None:
                continue
            key = column, sets[node].tobytes()
            if key not in known:
                sides = side_of_codes(sets[node], table.highest[column])
                order = orders[column]
                if order is not None:
                    sides[: len(order)] = sides[order]
                known[key] = sides
            sets[node] = known[key]
        self.table = table.reordered(orders)

    def _orders(self):
        """For each column the order of its levels that suits the tests; None: as it is."""
        table: Any = self.table
        found = {column: {} for column in np.flatnonzero(table.coded).tolist()}
        for sets, node, column, below in self._tests():
            if column not in found:
                continue
            key = sets[node].tobytes()
            if key not in found[column]:
                sides = side_of_codes(sets[node], table.highest[column])
                found[column][key] = [sides, 0, np.zeros(2, int)]
            # how many tests there are of the set, and how many nodes on either side of these
            found[column][key][1] += 1
            found[column][key][2] += below
        # behind encoders, trees are large, and ask about levels one by one
        encoded = all(tree.folded for tree in self.trees)
        orders = [None] * len(table)
        for column, tests in found.items():
            if tests:
                sides, count, below = map(np.array, zip(*tests.values(), strict=True))
                n_levels, below = len(table.levels[column]), below if encoded else None
                orders[column] = order_of_sides(sides, n_levels, count, below)
        return orders

    def _tests(self):
        """Tests of sets: the dict of their tree, the node, the column, the nodes right and left."""
        for tree in self.trees:
            nodes = np.array(sorted(tree.sets), dtype=np.intp)
            if not nodes.size:
                continue
            columns = tree.feature[nodes]
            columns = columns if tree.columns is None else tree.columns[columns]
            below = _nodes_below(tree.left, tree.right)
            below = np.column_stack([below[tree.right[nodes]], below[tree.left[nodes]]])
            for node, column, both in zip(nodes.tolist(), columns.tolist(), below, strict=True):
                yield tree.sets, node, column, both


def name_of(estimator):
    """Name of an estimator's class, for errors."""
    return type(estimator).__name__


def classes_of(estimator):
    """The classes of a fitted model; None of a regressor (CatBoost's have an empty list)."""
    found = getattr(estimator, "classes_", None)
    return None if found is None or not len(found) else np.asarray(found)


def constant_tree(estimator, value, dtype="float32"):
    """A tree of one leaf that stands in for what an ensemble lacks."""
    none = np.array([-1])
    return Tree(
        name=f"a tree of {name_of(estimator)}",
        left=none,
        right=none,
        feature=none,
        threshold=np.zeros(1),
        value=np.array([value], dtype=np.float64),
        n_features=int(estimator.n_features_in_),
        dtype=dtype,
    )


def column_of(reading: Reading, output: int) -> Reading | None:
    """The reading of one of several numbers; None where there are not so many."""
    numbers = reading.vote.numbers
    if output not in range(numbers.n_scores) or numbers.n_scores < 2:
        return None
    for tree in reading.trees:
        tree.value = tree.value[:, [output]]
    parts = {name: getattr(numbers, name) for name in ("init", "offset")}
    parts = {name: part if part is None else part[[output]] for name, part in parts.items()}
    numbers = replace(numbers, n_scores=1, **parts)
    reading.vote = replace(reading.vote, numbers=numbers, choice=Above())
    return reading


def spread(value, columns, n_columns):
    """Put the columns of `value` at `columns` of a wider array of zeros."""
    if value.shape[1] == n_columns:
        return value
    wide = np.zeros((value.shape[0], n_columns))
    wide[:, columns] = value
    return wide


def spread_to(trees, scores, n_scores) -> None:
    """Spread the values of trees of one column, in place, to the score that each adds to."""
    for tree, score in zip(trees, scores, strict=True):
        tree.value = spread(tree.value, [score], n_scores)


def asked_by_sets(trees, n_features) -> np.ndarray:
    """Which columns tests of sets ask, as a bool array."""
    asked = np.zeros(n_features, dtype=bool)
    for tree in trees:
        asked[tree.feature[list(tree.sets)]] = True
    return asked


class Nodes:
    """The nodes of several trees one after the other; ValueError where they are no trees."""

    def __init__(self, trees, n_features, estimator):
        self.trees = trees
        self.n_features = n_features
        self.name = name_of(estimator)
        self.sizes = np.array([tree.left.shape[0] for tree in trees], dtype=np.intp)
        if (self.sizes == 0).any():
            raise ValueError(f"{self.name} holds a tree without nodes. Fit it again.")
        self.offsets = np.concatenate([[0], np.cumsum(self.sizes)]).astype(np.intp)
        self.tree_of = np.repeat(np.arange(len(trees)), self.sizes)
        self.left = np.concatenate([tree.left for tree in trees]).astype(np.intp)
        self.right = np.concatenate([tree.right for tree in trees]).astype(np.intp)
        self.feature = np.concatenate([tree.feature for tree in trees]).astype(np.intp)
        self.threshold = np.concatenate([tree.threshold for tree in trees]).astype(np.float64)
        values = [tree.value for tree in trees]
        most = max(value.shape[1] for value in values)
        values = [spread(value, slice(value.shape[1]), most) for value in values]
        self.value = np.concatenate(values)
        self.inner = self.left != -1
        self.missing_left = np.concatenate([tree.missing_left for tree in trees])
        self._check_tests()
        self._check_structure()

    def _check(self, bad, what):
        if bad.size:
            node, tree = int(bad[0]), int(self.tree_of[bad[0]])
            raise ValueError(
                f"{self.name} holds a damaged tree: in tree {tree} ({self.trees[tree].name}), "
                f"node {node - self.offsets[tree]} {what}. Fit it again."
            )

    def _check_tests(self):
        """Check children, features and thresholds; number features as the ensemble does."""
        inner, tree_of = self.inner, self.tree_of
        for child, side in ((self.left, "left"), (self.right, "right")):
            wrong = inner & ((child < 0) | (child >= self.sizes[tree_of]))
            self._check(np.flatnonzero(wrong), f"has no valid {side} child")
        width = np.array([tree.n_features for tree in self.trees])
        wrong = inner & ((self.feature < 0) | (self.feature >= width[tree_of]))
        self._check(np.flatnonzero(wrong), "splits on an unknown feature")
        wrong = np.flatnonzero(inner & np.isnan(self.threshold))
        self._check(wrong, "has a threshold that is not a number")
        for tree, begin, end in zip(self.trees, self.offsets[:-1], self.offsets[1:], strict=True):
            if tree.columns is not None:
                part = slice(begin, end)
                self.feature[part] = tree.columns[np.where(inner[part], self.feature[part], 0)]
        wrong = np.flatnonzero(inner & (self.feature >= self.n_features))
        self._check(wrong, "splits on an unknown feature")

    def _check_structure(self):
        """Check that no node has two parents; what no path reaches (by hand) becomes a leaf."""
        reached = np.zeros(self.left.shape[0], dtype=bool)
        level = self.offsets[:-1]
        while level.size:
            level = np.sort(level)
            again = reached[level]
            again[1:] |= level[1:] == level[:-1]
            self._check(level[again], "has two parents")
            reached[level] = True
            split = level[self.inner[level]]
            begin = self.offsets[self.tree_of[split]]
            level = np.concatenate([self.left[split] + begin, self.right[split] + begin])
        self.leaf = reached & ~self.inner
        self.inner &= reached

    def check_values(self, vote):
        """Check that leaf values, and their sums, are finite."""
        leaves, largest = np.flatnonzero(self.leaf), np.zeros(len(self.leaf))
        largest[leaves] = np.abs(self.value[leaves]).max(axis=1)
        self._check(leaves[~np.isfinite(largest[leaves])], "has a value that is not finite")
        with np.errstate(over="ignore"):
            total = np.maximum.reduceat(largest, self.offsets[:-1]).sum() + vote.largest_start
        if not np.isfinite(total):
            raise ValueError(
                f"{self.name} has values whose sums are not finite. Scale the target, or fit "
                "it again."
            )


def _nodes_below(left, right):
    """How many nodes are below each node of a tree, with itself."""
    levels, nodes = [], np.zeros(1, dtype=np.intp)
    while nodes.size:
        nodes = nodes[left[nodes] >= 0]
        levels.append(nodes)
        nodes = np.concatenate([left[nodes], right[nodes]])
    n_nodes = np.ones(len(left), dtype=np.int64)
    for nodes in levels[::-1]:
        n_nodes[nodes] += n_nodes[left[nodes]] + n_nodes[right[nodes]]
    return n_nodes


def side_of_codes(sides, highest):
    """Where each code up to the highest one goes."""
    return sides[np.minimum(np.arange(int(highest) + 1), len(sides) - 1)]


def set_of(codes, goes_left, estimator=None):
    """Where each code goes, if some go left, or right, and all others to the other side."""
    codes = np.asarray(codes, dtype=np.int64)
    if codes.size and not 0 <= codes.min() <= codes.max() < MAX_CODE:
        name = "A tree" if estimator is None else name_of(estimator)
        raise ValueError(
            f"{name} splits on a category with a code below 0 or from {MAX_CODE:,} "
            "on. Encode the categories with OrdinalEncoder and fit again."
        )
    sides = np.full(codes.max(initial=-1) + 2, not goes_left)
    sides[codes] = goes_left
    return sides


def sides_of(known, inside, lost_left):
    """Where each code goes, if those `known`, in their order, go left where they are `inside`.

    Codes that are not known take the side of missing values, `lost_left`.
    """
    sides = np.full(known.max(initial=-1) + 2, lost_left)
    sides[known] = inside[: len(known)]
    return sides
