"""Tables of text, categories or missing values as numbers, for methods that take numbers alone."""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin, is_classifier
from sklearn.utils import ClassifierTags, RegressorTags

from ensemble_simplify.reading import Columns, is_missing, is_plain


class Codes(TransformerMixin, BaseEstimator):
    """Number the levels of columns of text, and replace missing values if asked to.

    Parameters
    ----------
    columns : Columns or None
        Levels of the columns; None: the rows are numbers already.
    fill : ndarray of shape (n_columns,) or None, default=None
        What stands for a missing value in each column: a number below all others. None: NaN stays.
    names : ndarray of str or None, default=None
        Names of the columns of a frame.
    """

    def __init__(self, columns=None, fill=None, names=None):
        self.columns = columns
        self.fill = fill
        self.names = names

    def __sklearn_is_fitted__(self):
        return True

    def fit(self, X, y=None):
        """Do nothing: the levels are known."""
        return self

    def transform(self, X):
        """Numbers for a table; a frame stays a frame."""
        encoded = X if self.columns is None else self.columns.encode(X)
        if self.fill is None:
            return encoded
        numbers = np.asarray(encoded, dtype=np.float64)
        numbers = np.where(np.isnan(numbers), self.fill, numbers)
        if not hasattr(encoded, "columns"):
            return numbers
        return type(encoded)(dict(zip(encoded.columns, numbers.T, strict=True)))


class AnsweringCodes(BaseEstimator):
    """A model that is asked about rows of numbers, and answers about the table they stand for.

    Parameters
    ----------
    model : estimator
        Fitted on tables.
    table : Table
    codes : Codes
        How the rows were made.
    """

    def __init__(self, model, table, codes):
        self.model = model
        self.table = table
        self.codes = codes

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        if is_classifier(self.model):
            tags.estimator_type, tags.classifier_tags = "classifier", ClassifierTags()
        else:
            tags.estimator_type, tags.regressor_tags = "regressor", RegressorTags()
        return tags

    def __sklearn_is_fitted__(self):
        return True

    @property
    def n_features_in_(self):
        """Number of columns."""
        return self.table.n_columns

    @property
    def classes_(self):
        """The model's classes."""
        return self.model.classes_

    def fit(self, X, y=None):
        """Do nothing: the model is fitted."""
        return self

    def predict(self, X):
        """What the model answers to the table."""
        numbers = np.array(X, dtype=np.float64)
        if self.codes.fill is not None:
            numbers[numbers <= self.codes.fill] = np.nan
        return self.model.predict(self.table.decode(numbers))


class Table:
    """What the columns of a user's table hold, and the table for rows of numbers.

    Parameters
    ----------
    X : array-like or data frame of shape (n_rows, n_columns)
    """

    def __init__(self, X):
        self.names = np.array(list(X.columns), dtype=object) if hasattr(X, "columns") else None
        self.n_columns = X.shape[1]
        self._frame_type = type(X) if self.names is not None else None
        self._kinds = None
        self.columns = None if is_plain(X) else self._columns(X)
        numbers = np.asarray(self.encode(X), dtype=np.float64)
        missing = np.isnan(numbers)
        self.missing = missing.any(axis=0)
        self.has_missing = bool(self.missing.any())
        low = np.where(missing, np.inf, numbers).min(axis=0, initial=np.inf)
        high = np.where(missing, -np.inf, numbers).max(axis=0, initial=-np.inf)
        # below all values, at a distance that float32 keeps
        room = np.maximum(high - low, np.maximum(np.abs(low) * 1e-3, 1.0))
        self.low = low
        gap = np.where(np.isfinite(low), low - room, -1.0)
        self.fill = np.where(self.missing, gap, -np.inf).astype(np.float32)

    def _columns(self, X):
        """Levels of the columns that do not hold numbers."""
        levels, kinds = [], {}
        for j in range(self.n_columns):
            column = X[self.names[j]] if self.names is not None else X[:, j]
            own = _levels(column)
            levels.append(own)
            if own is not None and self.names is not None:
                kinds[self.names[j]] = getattr(column, "dtype", None)
        self._kinds = kinds
        names = None if self.names is None else self.names.astype(str)
        return Columns(names, tuple(levels), ("code",) * self.n_columns)

    @property
    def is_plain(self):
        """Whether the table holds numbers alone, so that it needs no codes."""
        return self.columns is None

    def codes(self, *, fill):
        """The transformer; None if it would change nothing."""
        fill = self.fill if fill and self.has_missing else None
        return None if self.is_plain and fill is None else Codes(self.columns, fill, self.names)

    def encode(self, X):
        """Numbers for the table, missing ones NaN."""
        return X if self.is_plain else self.columns.encode(X)

    def decode(self, numbers):
        """The table for rows of numbers."""
        if self.is_plain:
            if self.names is None:
                return numbers
            return self._frame_type(dict(zip(self.names, numbers.T, strict=True)))
        rows = self.columns.decode(numbers)
        if self.names is None:
            return rows
        rows.columns = self.names
        return rows.astype({name: kind for name, kind in self._kinds.items() if kind is not None})


def _levels(column):
    """Distinct entries of a column that does not hold numbers; None for one that does."""
    categories = getattr(getattr(column, "dtype", None), "categories", None)
    if categories is not None:
        return np.asarray(categories)
    if getattr(getattr(column, "dtype", None), "kind", "O") in "biuf":
        return None
    entries = [entry for entry in np.asarray(column, dtype=object) if not is_missing(entry)]
    if not any(isinstance(entry, str) for entry in entries):
        try:
            np.asarray(entries, dtype=np.float64)
        except (TypeError, ValueError):
            pass
        else:
            return None
    distinct = list(dict.fromkeys(entries))
    levels = np.empty(len(distinct), dtype=object)
    levels[:] = sorted(distinct, key=lambda entry: (type(entry).__name__, entry))
    return levels
