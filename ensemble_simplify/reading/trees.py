"""What a reader answers: trees as their ensemble keeps them, and the vote over them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from ensemble_simplify.grid import as_thresholds
from ensemble_simplify.reading.level_order import order_of_sides
from ensemble_simplify.reading.program import Program
from ensemble_simplify.reading.table import Table

# Codes are below this number: there, float32 represents the threshold n + 1/2 for every code n.
MAX_CODE = 1 << 22
# Nodes of all trees of an ensemble together, with sets of codes as thresholds.
MAX_NODES = 1 << 26


@dataclass(eq=False)
class Tree:
    """One tree as its ensemble keeps it: local node ids, -1 for no child.

    A row goes left iff its value, rounded to `dtype`, is at most the threshold, or is missing and
    the node is in `missing_left` (None: none is). Features are numbered as the tree knows them;
    `columns` are those of the ensemble (None: the same).
    `estimator` is the scikit-learn tree, if it is one, and `origin` which of its nodes each node is
    (None: the same; of splits, the one whose test it has a part in).
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
    missing_left: np.ndarray | None = None
    origin: np.ndarray | None = None


@dataclass(eq=False)
class Reading:
    """What was read of an ensemble: trees, the vote over them, classes (None for regression).

    `table`: what the features are, where some hold codes of categories, whole numbers from 0 (None:
    none do). Tests of sets of codes are written as thresholds between codes: see `write`. `filled`:
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

    def write(self, like=None):
        """Write tests of sets of codes as thresholds, the levels of the table in a new order.

        The order is that of the levels of another table `like` it, if given.
        """
        if isinstance(self.trees, Trees):
            self.trees, self.table = self.trees.written(self.table, like)


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


def spread(value, columns, n_columns):
    """Put the columns of `value` at `columns` of a wider array of zeros."""
    if value.shape[1] == n_columns:
        return value
    wide = np.zeros((value.shape[0], n_columns))
    wide[:, columns] = value
    return wide


def tree_of_thresholds(tree, sets):
    """A tree with its tests of sets of codes as tests of thresholds; see `as_thresholds`."""
    if not sets:
        return tree
    *arrays, origin = as_thresholds(
        tree.left, tree.right, tree.feature, tree.threshold, tree.missing_left, sets
    )
    names = ("left", "right", "feature", "threshold", "missing_left")
    written = dict(zip(names, arrays, strict=True))
    return replace(tree, **written, value=tree.value[origin], origin=origin)


def check_children(tree):
    """Check that no node has two parents before parts are copied or walked through."""
    inner = np.flatnonzero(tree.left != -1)
    child = np.stack([tree.left[inner], tree.right[inner]])
    wrong = ((child <= 0) | (child >= len(tree.left))).any(axis=0)
    wrong |= (tree.feature[inner] < 0) | (tree.feature[inner] >= tree.n_features)
    if wrong.any() or (np.bincount(child.ravel(), minlength=1) > 1).any():
        where = f" at node {inner[wrong.argmax()]}" if wrong.any() else ""
        raise ValueError(
            f"A damaged tree ({tree.name}): children or features{where} are not valid. Fit it "
            "again."
        )


class Trees(list):
    """Trees of an ensemble, and their tests of sets of codes, which are still to be written."""

    def __init__(self, estimator):
        super().__init__()
        self.name = name_of(estimator)
        self.sets = []

    def add(self, tree, sets):
        """Add a tree, checked, and its tests of sets of codes; see `SetTree`."""
        check_children(tree)
        self.append(tree)
        self.sets.append(sets)

    def on_codes(self, n_trees=None):
        """The first trees (None: all) with thresholds alone, on the codes that their sets hold.

        ValueError if they take too many nodes.
        """
        return self._of_thresholds(self.sets[:n_trees])

    def written(self, table, like=None):
        """The trees with thresholds alone, and the table with the codes that these are on.

        Levels are put in the order in which they are in the table `like` it. Without one, in an
        order in which the trees take few nodes. Codes that stand for themselves stay.
        """
        if table is None or not table.coded.any():
            return self.on_codes(), table
        orders = self._orders(table) if like is None else table.orders_like(like)
        sets, known = [dict(own) for own in self.sets], {}
        for own, node, column, _ in self._tests(sets):
            if table.levels[column] is None:
                continue
            key = column, own[node].tobytes()
            if key not in known:
                sides = _of_codes(own[node], table.highest[column])
                order = orders[column]
                if order is not None:
                    sides[: len(order)] = sides[order]
                known[key] = sides
            own[node] = known[key]
        return self._of_thresholds(sets), table.reordered(orders)

    def _orders(self, table):
        """For each column the order of its levels that suits the tests; None: as it is."""
        found = {column: {} for column in np.flatnonzero(table.coded).tolist()}
        for own, node, column, below in self._tests(self.sets):
            if column not in found:
                continue
            key = own[node].tobytes()
            if key not in found[column]:
                found[column][key] = [
                    _of_codes(own[node], table.highest[column]),
                    0,
                    np.zeros(2, int),
                ]
            found[column][key][1] += 1
            found[column][key][2] += below
        # behind encoders, trees are large, and ask about levels one by one
        encoded = all(tree.folded for tree in self)
        return [
            _order_of(*found[column].values(), n_levels=len(own), encoded=encoded)
            if found.get(column)
            else None
            for column, own in enumerate(table.levels)
        ]

    def _tests(self, sets):
        """Tests of sets: the dict of their tree, the node, the column, the nodes right and left."""
        for tree, own in zip(self, sets, strict=True):
            nodes = np.array(sorted(own), dtype=np.intp)
            columns = tree.feature[nodes]
            columns = columns if tree.columns is None else tree.columns[columns]
            below = _nodes_below(tree.left, tree.right)
            below = np.column_stack([below[tree.right[nodes]], below[tree.left[nodes]]])
            for node, column, both in zip(nodes.tolist(), columns.tolist(), below, strict=True):
                yield own, node, column, both

    def _of_thresholds(self, sets):
        trees, n_nodes = [], 0
        for tree, own in zip(self, sets, strict=False):
            trees.append(tree_of_thresholds(tree, own))
            n_nodes += len(trees[-1].left)
            if n_nodes > MAX_NODES:
                raise ValueError(
                    f"{self.name} takes more than {MAX_NODES:,} nodes when its tests of sets of "
                    "categories are written as thresholds on codes. Use fewer or shallower trees, "
                    "or code the categories so that neighbours are alike."
                )
        return trees


def _order_of(*tests, n_levels, encoded):
    """The order of levels that suits some sets, their counts, and the nodes below them."""
    sides, count, below = (np.array(each) for each in zip(*tests, strict=True))
    return order_of_sides(sides, n_levels, count, below if encoded else None)


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


def _of_codes(sides, highest):
    """Where each code up to the highest one goes."""
    return sides[np.minimum(np.arange(int(highest) + 1), len(sides) - 1)]


def set_of(codes, goes_left, estimator):
    """Where each code goes, if some go left, or right, and all others to the other side."""
    codes = np.asarray(codes, dtype=np.int64)
    if codes.size and not 0 <= codes.min() <= codes.max() < MAX_CODE:
        raise ValueError(
            f"{name_of(estimator)} splits on a category with a code below 0 or from {MAX_CODE:,} "
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
