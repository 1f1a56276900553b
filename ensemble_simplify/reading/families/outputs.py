"""One output of a model of several: each is a model over the shared trees."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.metaestimators import available_if

from ensemble_simplify.reading.families.held import StandsFor
from ensemble_simplify.reading.family import PACKAGE, Family, family_of
from ensemble_simplify.reading.trees import Reading


def _knows_probabilities(self):
    return self._classes is not None and hasattr(self.model, "predict_proba")


class OneOutput(StandsFor):
    """One output of a fitted model of several.

    Every function of this package takes it as it takes a fitted model of one output. Forests and
    trees of scikit-learn, ``MultiOutputClassifier`` and ``MultiOutputRegressor``, XGBoost (also
    with vectors in its leaves) and CatBoost's ``MultiRMSE`` are read.

    Parameters
    ----------
    model : fitted estimator
        Its ``predict`` answers a column for each output.
    output : int
        The number of the output, from 0.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels of the output, of a classifier.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.ensemble import RandomForestRegressor
    >>> from ensemble_simplify import OneOutput, verify
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> forest = RandomForestRegressor(3, max_depth=2, random_state=0).fit(X, X)
    >>> verify(OneOutput(forest, 0), OneOutput(forest, 1), atol=1.0).equal
    False
    """

    def __init__(self, model: Any, output: int):
        super().__init__(model)
        self.output = output

    @property
    def n_features_in_(self) -> int:
        """Number of columns that the model takes."""
        return family_of(self.model).n_features

    @property
    def _classes(self):
        found = getattr(self.model, "classes_", None)
        return found[self.output] if isinstance(found, list) else None

    @property
    def classes_(self) -> np.ndarray:
        if self._classes is None:
            raise AttributeError("The model is a regressor: it has no classes.")
        return self._classes

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Predict the output.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Rows, as the model takes them.

        Returns
        -------
        ndarray of shape (n_rows,)
            Labels, or values in regression.
        """
        return np.asarray(self.model.predict(X))[:, self.output]

    @available_if(_knows_probabilities)
    def predict_proba(self, X: ArrayLike) -> np.ndarray:
        """Predict probabilities of the classes of the output.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Rows, as the model takes them.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            One column for each of `classes_`.
        """
        return self.model.predict_proba(X)[self.output]


class Outputs(Family):
    """The trees of a model of several outputs, with the columns of one."""

    kinds = (f"{PACKAGE}.OneOutput",)
    title = "OneOutput of a model of several outputs"

    @property
    def _family(self):
        return family_of(self.estimator.model)

    def names_kept(self, names: np.ndarray) -> np.ndarray:
        return self._family.names_kept(names)

    def check_fitted(self) -> None:
        self._family.check_fitted()

    def trees(self, rows: Any = None) -> Reading:
        family, output = self._family, self.estimator.output
        family.check_supported()
        reading = family.outputs(output, rows)
        if reading is None:
            raise ValueError(
                f"output={output!r} is none of the outputs of {family.name}. They are counted from "
                "0. A model of one output is given as it is."
            )
        return reading


class MultiOutput(Family):
    """MultiOutputRegressor and MultiOutputClassifier: a model for each output."""

    kinds = ("sklearn.MultiOutputRegressor", "sklearn.MultiOutputClassifier")
    title = ""

    def outputs(self, output: int, rows: Any = None) -> Reading | None:
        members = self.estimator.estimators_
        return family_of(members[output]).read(rows) if output in range(len(members)) else None

    def trees(self, rows: Any = None) -> Reading:
        raise TypeError(
            f"{self.name} answers several outputs. Give one of its models, estimators_[0], or "
            "OneOutput(model, 0)."
        )
