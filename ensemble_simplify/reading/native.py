"""Boosters of LightGBM and XGBoost as they train them themselves, without a scikit-learn wrapper.

Such an object has no classes, and its ``predict`` answers probabilities, margins or numbers. A
stand-in answers in its place as the wrapper of its library does: classes are numbers from 0.
"""

from __future__ import annotations

import json
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, softmax
from sklearn.base import BaseEstimator
from sklearn.utils import ClassifierTags, RegressorTags
from sklearn.utils.metaestimators import available_if


def is_booster(model):
    """Whether a model is a ``lightgbm.Booster`` or an ``xgboost.Booster``."""
    return _key(model) in _STAND_INS


def stand_in(booster):
    """The stand-in for a booster."""
    return _STAND_INS[_key(booster)](booster)


def library_of(estimator):
    """The library of a wrapper or stand-in; None for anything else.

    "lightgbm", "xgboost" or "catboost".
    """
    own = {
        ("catboost", "CatBoost"): "catboost",
        ("lightgbm", "LGBMModel"): "lightgbm",
        ("xgboost", "XGBModel"): "xgboost",
        (__name__.partition(".")[0], "LightGBMBooster"): "lightgbm",
        (__name__.partition(".")[0], "XGBoostBooster"): "xgboost",
    }
    keys = ((kind.__module__.partition(".")[0], kind.__name__) for kind in type(estimator).__mro__)
    return next((own[key] for key in keys if key in own), None)


def _key(model):
    kind = type(model)
    return kind.__module__.partition(".")[0], kind.__name__


def _knows_odds(self):
    return self._n_classes is not None and self._objective != "binary:hinge"


class _StandIn(BaseEstimator):
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

    def __init__(self, model: Any):
        self.model = model

    @property
    def _objective(self) -> Any:
        raise NotImplementedError

    @property
    def _n_classes(self) -> Any:
        """Number of classes; None for regression."""
        raise NotImplementedError

    @property
    def _names(self) -> Any:
        """Names of the columns; None if there are none."""
        raise NotImplementedError

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

    def __sklearn_is_fitted__(self):
        return True

    def __sklearn_clone__(self):
        return self

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        if self._n_classes is None:
            tags.estimator_type, tags.regressor_tags = "regressor", RegressorTags()
        else:
            tags.estimator_type, tags.classifier_tags = "classifier", ClassifierTags()
        return tags

    def fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Do nothing: the booster was trained by its library."""
        return self

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

    @property
    def _objective(self) -> str:
        """The booster's own name of what it was trained for."""
        raise NotImplementedError

    @property
    def _n_classes(self) -> int | None:
        """Number of classes; None: it answers values."""
        raise NotImplementedError

    @property
    def _names(self) -> list | None:
        """Names of the columns, if the booster was trained on such."""
        raise NotImplementedError

    def _answer(self, X):
        """What the booster itself answers."""
        raise NotImplementedError

    def _labels(self, X):
        raise NotImplementedError

    def _probabilities(self, X):
        raise NotImplementedError


class LightGBMBooster(_StandIn):
    """A ``lightgbm.Booster``: with the number of trees that its own ``predict`` uses."""

    @property
    def booster_(self):
        """The booster, as LightGBM's wrappers call it."""
        return self.model

    @cached_property
    def n_features_in_(self):
        return int(self.model.num_feature())

    @cached_property
    def _objective(self):
        head = self.model.model_to_string(num_iteration=1).partition("\nTree=")[0].splitlines()
        found = [line.partition("=")[2].split()[0] for line in head if line[:10] == "objective="]
        return (found or ["none"])[0]

    @property
    def _n_classes(self):
        own = {"binary": 2, "multiclass": self.model.num_model_per_iteration()}
        return own.get(self._objective)

    @property
    def _names(self):
        names = self.model.feature_name()
        return None if names == [f"Column_{j}" for j in range(len(names))] else names

    def _answer(self, X):
        return self.model.predict(X if hasattr(X, "shape") else np.asarray(X))

    def _labels(self, X):
        return self.predict_proba(X).argmax(axis=1)

    def _probabilities(self, X):
        return self._answer(X)


class XGBoostBooster(_StandIn):
    """An ``xgboost.Booster``: with all its trees, as its own ``predict`` uses them."""

    missing = np.nan

    def get_booster(self):
        """Answer the booster, as XGBoost's wrappers do."""
        return self.model

    @cached_property
    def _settings(self):
        return json.loads(self.model.save_config())["learner"]

    @property
    def booster(self):
        """The kind of trees."""
        return self._settings["gradient_booster"]["name"]

    @cached_property
    def n_features_in_(self):
        return int(self.model.num_features())

    @property
    def _objective(self):
        return self._settings["objective"]["name"]

    @property
    def _n_classes(self):
        kind = self._objective.partition(":")[0]
        own = {"binary": 2, "multi": int(self._settings["learner_model_param"]["num_class"])}
        return own.get(kind)

    @property
    def _names(self):
        return self.model.feature_names

    def _answer(self, X, *, margin=False):
        import xgboost

        # Columns of a booster without names are known by their places, whatever X calls them; one
        # with names takes the columns of an array for them, and checks those of a frame.
        if not hasattr(X, "columns") or self._names is None:
            X = X if hasattr(X, "tocsr") else np.asarray(X)
            matrix = xgboost.DMatrix(X, feature_names=self._names)
        else:
            matrix = xgboost.DMatrix(X, enable_categorical=True)
        return self.model.predict(matrix, output_margin=margin)

    def _labels(self, X):
        if self._objective == "binary:logitraw":
            return (self._answer(X) > 0).astype(np.intp)
        found = self._answer(X)
        if found.ndim == 2:
            return found.argmax(axis=1)
        # classes, or probabilities of the upper class
        multi = self._objective == "multi:softmax"
        return (found if multi else found > 0.5).astype(np.intp)

    def _probabilities(self, X):
        if self._objective == "binary:logitraw":
            return expit(self._answer(X))
        if self._objective == "multi:softmax":
            return softmax(self._answer(X, margin=True), axis=1)
        return self._answer(X)


_STAND_INS: dict = {
    ("lightgbm", "Booster"): LightGBMBooster,
    ("xgboost", "Booster"): XGBoostBooster,
}
