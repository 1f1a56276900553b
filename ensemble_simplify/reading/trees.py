"""What a reader answers: trees as their ensemble keeps them, and the vote over them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from ensemble_simplify.reading._category_splits import SetTree
from ensemble_simplify.reading.decision import Vote
from ensemble_simplify.reading.table import Table

# Codes are below this number: there, float32 represents the threshold n + 1/2 for every code n.
MAX_CODE = 1 << 22
# Nodes of one tree, and of all trees of an ensemble together, with sets of codes as thresholds.
MAX_TREE_NODES = 1 << 24
MAX_NODES = 1 << 26


@dataclass(eq=False)
class Tree:
    """One tree as its ensemble keeps it: local node ids, -1 for no child.

    A row goes left iff its value, rounded to `dtype`, is at most the threshold, or is missing and
    the node is in `missing_left` (None: none is). Features are numbered as the tree knows them;
    `columns` are those of the ensemble (None: the same).
    `estimator` is the scikit-learn tree, if it is one. `folded`: thresholds are float32 numbers
    that decide for float32 numbers as the tree does; `rescaled`: for other numbers, some decide
    otherwise, even once these are rounded; `by_dtype`: for those of the other of float32 and
    float64, some decide otherwise.
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


@dataclass(eq=False)
class Reading:
    """What was read of an ensemble: trees, the vote over them, classes (None for regression).

    `table`: what the features are, where some hold codes of categories, whole numbers from 0 (None:
    none do). Tests of sets of codes are written as thresholds between codes. `filled`: features
    whose missing values are filled in from other features (None: none are).
    `on_numbers`: the ensemble with its scores for rows, `knots`: scores at which what it answers
    can fall by a rounding, and `within_one`: whether its scores lie between 0 and 1, where a
    decision threshold or a calibration was read.
    """

    trees: list[Tree]
    vote: Vote
    classes: np.ndarray | None
    table: Table | None = None
    filled: np.ndarray | None = None
    on_numbers: object = None
    within_one: bool = False
    knots: np.ndarray = field(default_factory=lambda: np.zeros(0))


def name_of(estimator):
    """Name of an estimator's class, for errors."""
    return type(estimator).__name__


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


def tree_of_thresholds(tree, sets):
    """A tree with its tests of sets of codes as tests of thresholds; see `as_thresholds`."""
    if not sets:
        return tree
    *arrays, origin = as_thresholds(
        tree.left, tree.right, tree.feature, tree.threshold, tree.missing_left, sets
    )
    names = ("left", "right", "feature", "threshold", "missing_left")
    return replace(tree, **dict(zip(names, arrays, strict=True)), value=tree.value[origin])


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
    """Trees of an ensemble with tests of sets of codes, unless they take too many nodes."""

    def __init__(self, estimator):
        super().__init__()
        self.name = name_of(estimator)
        self.n_nodes = 0

    def add(self, tree, sets):
        """Add a tree, checked, its tests of sets of codes as thresholds."""
        check_children(tree)
        tree = tree_of_thresholds(tree, sets)
        self.n_nodes += len(tree.left)
        if self.n_nodes > MAX_NODES:
            raise ValueError(
                f"{self.name} takes more than {MAX_NODES:,} nodes when its tests of sets of "
                "categories are written as thresholds on codes. Use fewer or shallower trees, or "
                "code the categories so that neighbours are alike."
            )
        self.append(tree)


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
