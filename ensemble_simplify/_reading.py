"""What a reader answers: trees as their ensemble keeps them, and the vote over them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ensemble_simplify._columns import Columns
from ensemble_simplify._votes import Vote


@dataclass(eq=False)
class Tree:
    """One tree as its ensemble keeps it: local node ids, -1 for no child.

    A row goes left iff its value, rounded to `dtype`, is at most the threshold, or is missing and
    the node is in `missing_left` (None: none is). Features are numbered as the tree knows them;
    `columns` are those of the ensemble (None: the same).
    `estimator` is the scikit-learn tree, if it is one. `folded`: thresholds are float32 numbers
    that decide only for float32 numbers as the tree does.
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
    missing_left: np.ndarray | None = None


@dataclass(eq=False)
class Reading:
    """What was read of an ensemble: trees, the vote over them, classes (None for regression).

    `categorical`: which features hold codes of categories, whole numbers from 0 (None: none). Tests
    of sets of codes are written as thresholds between codes.

    `columns`: the table of a model that was fitted on categories that are no whole numbers (None:
    rows are numbers, and codes stand for themselves). `filled`: features whose missing values are
    filled in from other features (None: none are).
    """

    trees: list[Tree]
    vote: Vote
    classes: np.ndarray | None
    categorical: np.ndarray | None = None
    columns: Columns | None = None
    filled: np.ndarray | None = None


def name_of(estimator):
    """Name of an estimator's class, for errors."""
    return type(estimator).__name__


def spread(value, columns, n_columns):
    """Put the columns of `value` at `columns` of a wider array of zeros."""
    if value.shape[1] == n_columns:
        return value
    wide = np.zeros((value.shape[0], n_columns))
    wide[:, columns] = value
    return wide
