"""Which ensembles can be pruned, and how a table reaches their trees, through steps before them."""

from __future__ import annotations

from copy import copy, deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import is_regressor
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import (
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.pipeline import Pipeline
from sklearn.tree import BaseDecisionTree

from ensemble_simplify.base import comes_fitted, ordered_table, safe_indexing
from ensemble_simplify.reading import (
    Table,
    TableCodes,
    behind_codes,
    family_of,
    is_plain,
    on_codes,
    readable,
    transformers_of,
    unwrap,
)

_AVERAGING = (
    BaseDecisionTree,
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

# Rows that tell in which dtypes all of them come.
_SAMPLE = 50


@dataclass(frozen=True, eq=False)
class Entry:
    """A fitted ensemble, and what is made of a table before its trees split it."""

    whole: Any  # what takes the table: a pipeline, or the ensemble itself
    ensemble: Any  # what holds the trees
    transformers: Any  # the steps before it; None: there are none
    table: Table  # what it takes
    source: np.ndarray  # the user's column that each column is made of which the trees split

    @classmethod
    def of(cls, fitted, rows=None):
        """The entry of a fitted ensemble; an estimator of this package stands for what it holds.

        `rows` tell in which dtypes rows come. TypeError if a step before the trees makes a column
        of several, or is not known.
        """
        estimator = unwrap(fitted)
        whole, table = readable(estimator), family_of(estimator).table()
        takes_table = isinstance(whole, Pipeline) or family_of(whole).own_table() is not None
        if not takes_table and not table.is_plain:
            # a tree, or an ensemble, of the codes of its table
            whole = on_codes(TableCodes(table), whole)
        if not isinstance(whole, Pipeline):
            return cls(whole, whole, None, table, np.arange(len(table)))
        sample = None if rows is None else safe_indexing(rows, slice(_SAMPLE))
        transformers, last = transformers_of(whole, sample)
        if transformers.filled.any():
            raise TypeError(
                f"estimator={type(whole).__name__}(...) fills in missing values of a column from "
                "others, for which a row that lacks it would have to pay. Use SimpleImputer, or "
                "an ensemble that takes missing values."
            )
        return cls(whole, last, transformers, transformers.given, transformers.source)

    def numbers(self, rows) -> np.ndarray:
        """What the trees split, for `Rows` that were checked."""
        if self.transformers is not None:
            return self.transformers.of_rows(rows.given)
        if self.table.is_plain and rows.numbers is not None:
            return rows.numbers
        return self.table.read(rows.given if rows.numbers is None else rows.numbers)

    def of_column(self, j, numbers):
        """The columns made of the user's column j, for some numbers (or codes) in it."""
        if self.transformers is not None:
            return self.transformers.of_column(j, numbers)
        return numbers[:, None]

    def codes_for(self, X, y, sample_weight, *, complete):
        """The step before other ensembles that makes numbers of the rows; None: they are such.

        It is that of the given ensemble, where one stands before it. `complete` says that the
        ensemble takes no missing values.
        """
        codes, _ = behind_codes(self.whole)
        if codes is not None:
            return codes
        if is_plain(X) and not (complete and np.isnan(X).any()):
            return None
        table = self.table
        if self.transformers is not None:
            by_class = not is_regressor(self.ensemble)
            table = ordered_table(X, y, sample_weight, by_class=by_class)
        return TableCodes(table, complete)

    def around(self, ensemble):
        """What takes the table, with another ensemble in the place of this one."""
        return self.whole if ensemble is self.ensemble else _around(self.whole, ensemble)


def _around(whole, ensemble):
    if not isinstance(whole, Pipeline):
        return ensemble
    *before, (name, last) = whole.steps
    other = copy(whole)
    other.steps = [*deepcopy(before), (name, _around(readable(last), ensemble))]
    return other


def last_step(estimator):
    """What stands at the end of pipelines, fitted or not."""
    while isinstance(estimator, Pipeline):
        estimator = estimator.steps[-1][1]
    return estimator


def check_prunable(estimator) -> None:
    """Refuse ensembles whose error is no mean of errors of single trees; None is a forest."""
    last = None
    while estimator is not last:
        last = last_step(estimator)
        estimator = readable(last) if comes_fitted(last) else last
        # the error of a function of a mean is no mean of errors
        inside = family_of(estimator).inside
        if inside and not isinstance(estimator, TransformedTargetRegressor):
            estimator = readable(inside[0])
    if estimator is None or isinstance(estimator, _AVERAGING):
        return
    name = type(estimator).__name__
    raise TypeError(
        f"estimator={name}(...) cannot be pruned by feature cost: the error of the ensemble "
        "must be a mean of errors of single trees. Trees of a boosted ensemble correct one "
        "another and have no error of their own, and isolation forests have no labels. "
        "Supported: DecisionTree*, RandomForest*, ExtraTrees* and Bagging* of trees, and "
        "decision thresholds and calibrations around one of these that is fitted."
    )
