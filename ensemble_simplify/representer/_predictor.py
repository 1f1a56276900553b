"""The predictor that a tree represents: questions to it, and checks of what it says."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(eq=False)
class Predictor:
    """Ask the predictor about rows, and check what it says."""

    model: object
    target: str
    name: str
    wrap: type | None  # makes a data frame of a dict of columns
    names: np.ndarray | None
    classes: np.ndarray | None = None
    n_queries: int = 0

    def wrapped(self, X):
        if self.wrap is None:
            return X
        return self.wrap(dict(zip(self.names, X.T, strict=True)))

    def find_out(self, X, y):
        """Answers for the training rows; learns the class labels from them."""
        if self.target == "value":
            return self.answers(X)
        labels = getattr(self.model, "classes_", None)
        if self.target == "proba":
            raw = self._ask(X)
            if labels is None:
                labels = np.arange(raw.shape[1]) if y is None else np.unique(y)
            self.classes = np.asarray(labels)
            return self._checked_proba(raw)
        raw = self._ask(X)
        if labels is None:
            labels = np.unique(raw) if y is None else np.union1d(raw, y)
        self.classes = np.asarray(labels)
        return self.encode(raw, strict=True)

    def answers(self, X):
        """Answers as a matrix: one-hot labels, probabilities, or one column of values."""
        raw = self._ask(X)
        if self.target == "label":
            return self.encode(raw, strict=True)
        if self.target == "proba":
            return self._checked_proba(raw)
        return raw[:, None]

    def decisions(self, X):
        """Labels or values, as the predictor decides."""
        if self.target == "proba":
            if hasattr(self.model, "predict"):
                return self._checked(self._call(self.model.predict, X), X.shape[0], 1)
            return self.classes[self._ask(X).argmax(axis=1)]
        return self._ask(X)

    def decode(self, answers):
        """Labels or values of answers."""
        if self.target == "value":
            return answers[:, 0]
        return self.classes[answers.argmax(axis=1)]

    def encode(self, y, strict=False):
        """One column a class (or the values as they are); zeros for a label that is no class."""
        if self.target == "value":
            return np.asarray(y, dtype=np.float64)[:, None]
        position = np.searchsorted(self.classes, y)
        position = np.minimum(position, self.classes.size - 1)
        known = self.classes[position] == y
        if strict and not known.all():
            raise ValueError(
                f"{self.name} returned the label {y[~known][0]!r}, which is none of the classes "
                f"{self.classes.tolist()}. Pass a y that holds every class."
            )
        one_hot = np.zeros((len(y), self.classes.size))
        one_hot[np.flatnonzero(known), position[known]] = 1.0
        return one_hot

    def _ask(self, X):
        if not hasattr(self.model, "predict"):
            function = self.model
        else:
            function = self.model.predict_proba if self.target == "proba" else self.model.predict
        ndim = 2 if self.target == "proba" else 1
        return self._checked(self._call(function, X), X.shape[0], ndim)

    def _call(self, function, X):
        self.n_queries += X.shape[0]
        try:
            return function(self.wrapped(X))
        except Exception as error:
            raise RuntimeError(
                f"the predictor {self.name} failed on {X.shape[0]} rows with {X.shape[1]} columns: "
                f"{type(error).__name__}: {error}"
            ) from error

    def _checked(self, raw, n_rows, ndim):
        raw = np.asarray(raw)
        if ndim == 1 and raw.shape == (n_rows, 1):
            raw = raw[:, 0]
        if raw.ndim != ndim or raw.shape[0] != n_rows:
            wanted = f"({n_rows},)" if ndim == 1 else f"({n_rows}, n_classes)"
            raise ValueError(
                f"the predictor {self.name} returned an array of shape {raw.shape} for {n_rows} "
                f"rows, but target={self.target!r} needs {wanted}."
            )
        if self.target != "label" and ndim == (2 if self.target == "proba" else 1):
            raw = raw.astype(np.float64)
            if not np.isfinite(raw).all():
                raise ValueError(f"the predictor {self.name} returned a value that is not finite.")
        return raw

    def _checked_proba(self, raw):
        if raw.shape[1] != self.classes.size:
            raise ValueError(
                f"the predictor {self.name} returned probabilities of {raw.shape[1]} classes, but "
                f"there are {self.classes.size}: {self.classes.tolist()}."
            )
        if raw.min() < 0.0 or np.abs(raw.sum(axis=1) - 1.0).max() > 1e-3:
            raise ValueError(
                f"the predictor {self.name} returned rows that are not probabilities: they must "
                "not be negative and must sum to 1. Use target='label' for scores."
            )
        return raw
