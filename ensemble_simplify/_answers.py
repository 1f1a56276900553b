"""Fitted models as rows are put to them: their tables, their names, their own answers."""

from __future__ import annotations

import copy
import warnings

import numpy as np

from ensemble_simplify._base import columns_of


def names_of(models):
    for model in models:
        if hasattr(model, "feature_names_in_"):
            return list(model.feature_names_in_)
    return None


def highest_codes(forests):
    """Highest codes of the features of some forests, -1 for numbers; None if there are no codes."""
    codes = [forest.highest_code for forest in forests or () if forest.categorical is not None]
    return np.max(codes, axis=0) if codes else None


def common_table(models):
    """The table that models take, where they take any, after checking that they agree in it."""
    tables = [table for table in map(columns_of, models) if table is not None]
    for other in tables[1:]:
        if not tables[0].same_levels(other):
            raise ValueError(
                "model_a and model_b were fitted on different levels of some column, or keep them "
                "in another order. Fit them on the same table."
            )
    return tables[0] if tables else None


class Answering:
    """A model as the other one's rows are put to it.

    Parameters
    ----------
    model : fitted estimator
    table : Columns or None
        What rows stand for: codes become levels, if this model takes tables.
    """

    def __init__(self, model, table=None):
        self.estimator, self.name = model, type(model).__name__
        self.is_classifier = hasattr(model, "classes_")
        self._table = table if table is not None and columns_of(model) is not None else None
        if getattr(model, "n_jobs", None) not in (None, 1):
            model = copy.copy(model)
            model.n_jobs = None
        self._model = model

    def answers(self, X, method="predict"):
        """What a method of the model answers when its trees are added up in order."""
        if self._table is not None:
            X = self._table.decode(X)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="X does not have valid feature names")
            return np.asarray(getattr(self._model, method)(X))
