"""Estimators that come fitted; and the family of those that hold their `Reading`.

These hold arrays of nodes and the vote over them: ensembles that were read back from their written
form, and scorecards.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils import ClassifierTags, RegressorTags
from sklearn.utils.metaestimators import available_if

from ensemble_simplify.reading.decision import has_probabilities
from ensemble_simplify.reading.family import PACKAGE, Family
from ensemble_simplify.reading.trees import Reading


class KeepsVersion:
    """Pickles and copies carry the version of this package, as scikit-learn's carry its own.

    What a fit leaves behind changes between minor versions: fitted estimators of another one are
    refused rather than answered wrongly. Those that are not fitted hold parameters alone.
    """

    def __getstate__(self):
        state: Any = super().__getstate__()
        return {**state, _STAMP: _version()}

    def __setstate__(self, state):
        state = dict(state)
        written, here = state.pop(_STAMP, "0.3 or before"), _version()
        parameters = {*self._get_param_names()} if isinstance(self, BaseEstimator) else set()
        is_usable = not any(name.endswith("_") for name in state)
        is_usable &= state.keys() >= parameters
        if _minor(written) != _minor(here) and not is_usable:
            raise ValueError(
                f"this {type(self).__name__} was pickled by version {written} of "
                f"{PACKAGE}; here is {here}, to which its contents mean other things. Fit it "
                f"again, or read it with version {written}. Trees and ensembles that are to be "
                'kept are written by export_tree or export_model as "json", which later versions '
                "read."
            )
        if isinstance(self, BaseEstimator):
            super().__setstate__(state)  # ty: ignore[missing-attribute]
        else:
            vars(self).update(state)


_STAMP = "_ensemble_simplify_version"


def _version():
    return sys.modules[PACKAGE].__version__


def _minor(version):
    return version.split(".")[:2]


class ComesFitted(KeepsVersion, BaseEstimator):
    """An estimator that was fitted elsewhere: copies are itself, and ``fit`` does nothing."""

    def __sklearn_is_fitted__(self):
        return True

    def __sklearn_clone__(self):
        return self

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        if hasattr(self, "classes_"):
            tags.estimator_type, tags.classifier_tags = "classifier", ClassifierTags()
        else:
            tags.estimator_type, tags.regressor_tags = "regressor", RegressorTags()
        return tags

    def fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Do nothing: it was fitted before it came here.

        Parameters
        ----------
        X : array-like
            Not used.
        y : array-like, default=None
            Not used.

        Returns
        -------
        ComesFitted
            Itself.
        """
        return self


class StandsFor(ComesFitted):
    """What answers in the place of a model that is neither a classifier nor a regressor.

    Parameters
    ----------
    model : fitted estimator
    """

    def __init__(self, model: Any):
        self.model = model

    @property
    def n_features_in_(self) -> int:
        """Number of columns that the model takes."""
        return int(self.model.n_features_in_)

    @property
    def feature_names_in_(self) -> np.ndarray:
        """Their names, where the model was fitted on names."""
        return self.model.feature_names_in_

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Predict what the model does.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        return np.asarray(self.model.predict(X))


def _knows_probabilities(self):
    return self._reading.classes is not None and has_probabilities(self._reading.vote)


class ImportedEnsemble(ComesFitted):
    """A fitted ensemble that `import_model` read.

    Every function and estimator of this package takes it as it takes a fitted ensemble. ``fit``
    does nothing.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels, for a classifier.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of str, shape (n_features,)
        Names of the columns, where they have names.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from ensemble_simplify import export_model, import_model
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(10, random_state=0).fit(X, y)
    >>> again = import_model(export_model(forest, "json"))
    >>> bool((again.predict(X) == forest.predict(X)).all())
    True
    """

    def __sklearn_is_fitted__(self):
        return hasattr(self, "_reading")

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Predict rows.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            Rows with the columns of the ensemble that was written; values may be missing.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels; numbers for regression.
        """
        forest, rows = self._forest, self._rows(X)
        found = forest.predict_index(rows)
        return found if forest.classes is None else forest.classes[found]

    @available_if(_knows_probabilities)
    def predict_proba(self, X: ArrayLike) -> np.ndarray:
        """Predict probabilities of the classes.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            As for ``predict``.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            In the order of ``classes_``.
        """
        return np.asarray(self._forest.probabilities(self._rows(X)))

    def _rows(self, X):
        known, given = self._table.names, getattr(X, "columns", None)
        if known is not None and given is not None and list(given) != list(known):
            raise ValueError(
                f"X has the columns {list(given)}, but the ensemble was fitted on {list(known)}. "
                "Give these, in this order."
            )
        return self._table.read(X, [np.float64, np.float32])


def imported(reading, n_features, kind=ImportedEnsemble):
    """The ensemble that a `Reading` with a table describes; it must be told its `_forest`."""
    found: Any = kind()
    found._reading, found._table, found.n_features_in_ = reading, reading.table, n_features
    if reading.classes is not None:
        found.classes_ = np.asarray(reading.classes)
    if reading.table.names is not None:
        found.feature_names_in_ = np.asarray(reading.table.names, dtype=object)
    return found


class Held(Family):
    """An estimator of this package that says itself what it computes, in a `Reading`."""

    kinds = tuple(
        f"{PACKAGE}.{name}"
        for name in ("ImportedEnsemble", "ScorecardClassifier", "ScorecardRegressor")
    )

    def trees(self, rows: Any = None) -> Reading:
        held = self.estimator._reading
        # what is read may be changed by who reads it
        trees = [replace(tree, sets=dict(tree.sets)) for tree in held.trees]
        return Reading(trees, held.vote, held.classes, held.table)
