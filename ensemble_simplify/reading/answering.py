"""Asking fitted models: rows in the form that a model takes, and its own answers to them."""

from __future__ import annotations

import copy
import warnings

import numpy as np
from sklearn.utils import check_array

from ensemble_simplify.reading.sklearn import columns_of


def names_of(models):
    for model in models:
        if hasattr(model, "feature_names_in_"):
            return list(model.feature_names_in_)
    return None


def highest_codes(forests):
    """Highest codes of the features of some forests, -1 for numbers; None if there are no codes."""
    codes = [forest.highest_code for forest in forests or () if forest.categorical is not None]
    return np.max(codes, axis=0) if codes else None


def numeric_rows(X, n_features, dtype=np.float64):
    """Rows as numbers, of the columns that the models were fitted on."""
    X = check_array(X, dtype=dtype, ensure_all_finite="allow-nan")
    if X.shape[1] != n_features:
        raise ValueError(
            f"X has {X.shape[1]} features, but the models were fitted on {n_features}. Pass the "
            "columns they were fitted on."
        )
    return X


def on_common_table(models, forests=None):
    """Two models that can be asked about the same rows, and the table that rows belong to.

    Parameters
    ----------
    models : list of two fitted estimators
    forests : list of two Forest or None
        As they were read, if they were.

    Returns
    -------
    answering : list of Answering
    table : Columns or None
        Of those that take one; None: all take numbers.

    Raises
    ------
    ValueError
        If they take tables of different levels.
    """
    tables = [columns_of(*pair) for pair in zip(models, forests or (None, None), strict=True)]
    known = [table for table in tables if table is not None]
    if known and not known[0].same_levels(known[-1]):
        raise ValueError(
            "model_a and model_b were fitted on different levels of some column, or keep them "
            "in another order. Fit them on the same table."
        )
    answering = [
        Answering(model, None if own is None else known[0])
        for model, own in zip(models, tables, strict=True)
    ]
    return answering, known[0] if known else None


class Answering:
    """A model that is asked about rows of numbers, and gets them in the form that it takes.

    Parameters
    ----------
    model : fitted estimator
    table : Columns or None
        What rows stand for: codes become levels; None: the model takes numbers.
    """

    def __init__(self, model, table=None):
        self.estimator, self.name = model, type(model).__name__
        self.is_classifier = hasattr(model, "classes_")
        self._table = table
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
