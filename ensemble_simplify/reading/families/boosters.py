"""What the boosters of XGBoost and LightGBM share, whose trees are read from what they save.

A native booster has no classes, and its ``predict`` answers probabilities, margins or numbers. A
stand-in answers in its place as the wrapper of its library does: classes are numbers from 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.metaestimators import available_if

from ensemble_simplify.reading.families.held import ComesFitted
from ensemble_simplify.reading.family import Family
from ensemble_simplify.reading.table import Table
from ensemble_simplify.reading.trees import Reading, column_of


def _knows_odds(self):
    return self._n_classes is not None and self._objective != "binary:hinge"


class StandIn(ComesFitted):
    """What the stand-ins share: they come fitted and hold nothing but their booster.

    Parameters
    ----------
    model : Booster

    Attributes
    ----------
    n_features_in_ : int
    feature_names_in_ : ndarray of str, shape (n_features_in_,)
        Only if the booster was trained on names.
    classes_ : ndarray of int, shape (n_classes,)
        0, 1, ...; only of classifiers, by the objective of the booster.
    """

    n_features_in_: int
    # the booster's own name of what it was trained for
    _objective: str
    # None: it answers values
    _n_classes: int | None
    # of the columns; None: it was trained on columns without names
    _names: list | None
    # what the booster itself answers, and what that means
    _answer: Callable
    _labels: Callable
    _probabilities: Callable

    def __init__(self, model: Any):
        self.model = model

    @property
    def classes_(self):
        if self._n_classes is None:
            raise AttributeError(f"The booster has the objective {self._objective!r}: no classes.")
        return np.arange(self._n_classes)

    @property
    def feature_names_in_(self):
        if self._names is None:
            raise AttributeError("The booster was trained on columns without names.")
        return np.array(self._names, dtype=object)

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Predict numbers of classes; values, if the booster answers values.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        return self._answer(X) if self._n_classes is None else self._labels(X)

    @available_if(_knows_odds)
    def predict_proba(self, X: ArrayLike) -> np.ndarray:
        """Predict probabilities of the classes.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
        """
        found = self._probabilities(X)
        return found if found.ndim == 2 else np.column_stack([1 - found, found])


class OfSeveral(Family):
    """Boosting whose leaves can hold several outputs, each of which is a sum by itself."""

    # whether they are read, for `outputs`
    _takes_several = False

    def outputs(self, output: int, rows: Any = None) -> Reading | None:
        self._takes_several = True
        reading = self.trees(rows)
        return None if reading.classes is not None else column_of(reading, output)


class Boosted(Family):
    """A wrapper of XGBoost or LightGBM, or the stand-in of a booster."""

    writes_nodes = True

    def own_levels(self) -> Table | None:
        return self.read().table

    def table_of_levels(self, categorical: Any, levels: list, unknown: str, names: Any):
        """The table for levels given as pandas' categories, which `unknown` ones become."""
        if all(own is None for own in levels):
            return Table.of_codes(categorical, getattr(self.estimator, "feature_names_in_", None))
        names = getattr(self.estimator, "feature_names_in_", names)
        names = np.asarray(names, dtype=object) if names is not None and len(names) else None
        return Table.of_levels(names, levels, unknown, codes=categorical, as_category=True)


def stages_of(weights: np.ndarray, scores: Any, n_scores: int) -> np.ndarray:
    """The trees of weights other than zero, in stages of one for each score.

    `scores` are those that the trees add to. An array of objects, of shape (n_stages, n_scores);
    None where a score has fewer trees left than another, and one that adds nothing has to stand.
    """
    columns: list[list[int]] = [[] for _ in range(n_scores)]
    for t in np.flatnonzero(weights).tolist():
        columns[scores[t]].append(t)
    stages = np.full((max(map(len, columns)), n_scores), None, dtype=object)
    for k, column in enumerate(columns):
        stages[: len(column), k] = column
    return stages


def goes_with(link: str | None, n_scores: int, n_classes: int) -> bool:
    """Whether so many scores, and this link, are those of so many classes."""
    if link is None or (link == "softmax") != (n_scores > 1):
        return False
    return n_scores == n_classes or (n_scores == 1 and n_classes == 2)
