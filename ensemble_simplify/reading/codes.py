"""A step of pipelines that numbers the levels of a table, and ensembles behind such a step."""

from __future__ import annotations

from copy import copy

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.pipeline import Pipeline

from ensemble_simplify.reading.table import Table


class TableCodes(TransformerMixin, BaseEstimator):
    """Number the levels of columns of text; what is missing stays so, or gets a number.

    Parameters
    ----------
    table : Table
        The columns.
    complete : bool, default=False
        Whether a number below all others of its column stands for whatever is missing.
    """

    def __init__(self, table=None, complete=False):
        self.table = table
        self.complete = complete

    def __sklearn_is_fitted__(self):
        return True

    @property
    def n_features_in_(self):
        """Number of columns."""
        return len(self.table)

    def __getattr__(self, name):
        # arrays have no names, and then there is no such attribute
        if name == "feature_names_in_" and getattr(self.table, "names", None) is not None:
            return np.asarray(self.table.names, dtype=object)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def fit(self, X, y=None):
        """Do nothing: the levels are known."""
        return self

    def transform(self, X):
        """Numbers for rows of the table, as an array of float64."""
        rows = self.table.read(X)
        return self.table.gaps.fill(rows) if self.complete else rows


def on_codes(codes, estimator):
    """A fitted estimator of numbers behind the step that makes them of a table.

    It is given arrays: names of columns that it knows are left out of a copy.
    """
    if "feature_names_in_" in vars(estimator):
        estimator = copy(estimator)
        del estimator.feature_names_in_
    return Pipeline([("codes", codes), ("model", estimator)])


def behind_codes(estimator):
    """The step that makes numbers of a table, and what `on_codes` put behind it.

    None, and the estimator itself, where there is no such step.
    """
    if isinstance(estimator, Pipeline) and len(estimator.steps) == 2:
        codes, inner = (step for _, step in estimator.steps)
        if isinstance(codes, TableCodes) and isinstance(codes.table, Table):
            return codes, inner
    return None, estimator
