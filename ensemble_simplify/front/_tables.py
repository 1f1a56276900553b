"""Tables of text, categories or missing values as numbers, for methods that take numbers alone."""

from __future__ import annotations

from sklearn.base import BaseEstimator, TransformerMixin, is_classifier
from sklearn.utils import ClassifierTags, RegressorTags

from ensemble_simplify.reading import Model


class TableCodes(TransformerMixin, BaseEstimator):
    """Number the levels of columns of text, and replace missing values if asked to.

    Parameters
    ----------
    table : Table
        With the gaps of the rows that were seen.
    fill : bool, default=False
        Whether a number below all others stands for a missing value; otherwise NaN stays.
    """

    def __init__(self, table=None, fill=False):
        self.table = table
        self.fill = fill

    def __sklearn_is_fitted__(self):
        return True

    def fit(self, X, y=None):
        """Do nothing: the levels are known."""
        return self

    def transform(self, X):
        """Numbers for a table; a frame stays a frame."""
        numbers = self.table.encode(X)
        return self.table.gaps.fill(numbers) if self.fill else numbers


class AnsweringCodes(BaseEstimator):
    """A model that is asked about rows of numbers, and answers about the table they stand for.

    Parameters
    ----------
    model : estimator
        Fitted on tables.
    codes : TableCodes
        How the rows were made.
    """

    def __init__(self, model, codes):
        self.model = model
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
        return len(self.codes.table)

    @property
    def classes_(self):
        """The model's classes."""
        return self.model.classes_

    def fit(self, X, y=None):
        """Do nothing: the model is fitted."""
        return self

    def predict(self, X):
        """What the model answers to the table."""
        table = self.codes.table
        return Model(self.model, table).answers(table.gaps.restore(X) if self.codes.fill else X)
