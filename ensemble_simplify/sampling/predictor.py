"""The predictor that a tree represents: questions, checks of what it says, agreement with it."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from threading import RLock
from typing import Any

import numpy as np
from sklearn.metrics import r2_score

from ensemble_simplify.base import safe_indexing, warn
from ensemble_simplify.reading import Model

_LARGEST = 1e145  # Values of regressors whose squares can be added up.


@dataclass(eq=False)
class Predictor:
    """Ask the predictor about rows, and write its answers as a matrix.

    The matrix holds one-hot labels, probabilities, or one column of values, as `target` says.
    """

    asked: Model
    target: str
    name: str
    classes: Any = None  # an array, once the first answers are known
    batch_size: int = 2**16  # rows in one question
    n_queries: int = 0
    says: str = ""  # how errors about answers begin
    # threads ask most models one at a time: they need not be made for more
    turn: Any = field(default_factory=RLock, init=False)

    def __post_init__(self) -> None:
        self.says = self.says or f"the model {self.name} returned"

    def __getstate__(self):
        return {name: value for name, value in vars(self).items() if name != "turn"}

    def __setstate__(self, state):
        vars(self).update(state, turn=RLock())

    def first_answers(self, X, y, known=None) -> np.ndarray:
        """Answers to the training rows; `known`, if they are.

        The classes are the model's own; where it tells none, the labels of `y` and of the answers,
        or, for probabilities, those of `y`, or numbers.
        """
        raw = self._ask(X) if known is None else self._checked(known, len(X))
        if self.target != "value":
            classes = getattr(self.asked.estimator, "classes_", None)
            if classes is None and self.target == "label":
                classes = np.unique(raw) if y is None else np.union1d(raw, y)
            elif classes is None:
                classes = np.arange(raw.shape[1]) if y is None else np.unique(y)
            self.classes = np.asarray(classes)
        return self._as_matrix(raw)

    def in_codes_of(self, table) -> Predictor:
        """The same predictor, to be asked about rows in the codes of this table."""
        return replace(self, asked=Model(self.asked.estimator, table))

    def told(self, given) -> np.ndarray:
        """Labels or values that a user gives, as answers."""
        kind = "value" if self.target == "value" else "label"
        told = replace(self, target=kind, says="answers= holds")
        return told._as_matrix(told._checked(given, len(given)))

    def answers(self, X) -> np.ndarray:
        """Answers to any rows."""
        return self._as_matrix(self._ask(X))

    def decisions(self, X, given=None) -> np.ndarray:
        """Labels or values, as the predictor decides; about rows as they were `given`, if any."""
        if self.target != "probabilities":
            return self._ask(X, given)
        if hasattr(self.asked.estimator, "predict"):
            return self._one_each(self._call("predict", X, given), X.shape[0])
        return self.decode(self._ask(X, given))

    def chances(self, X) -> np.ndarray | None:
        """The model's probabilities of the classes; None if it gives none."""
        if self.target == "probabilities":
            return self.answers(X)
        if not hasattr(self.asked.estimator, "predict_proba"):
            return None
        asks = replace(self, target="probabilities", n_queries=0)
        chances = asks.answers(X)
        self.n_queries += asks.n_queries
        return chances

    def decode(self, answers) -> np.ndarray:
        """Labels or values of answers."""
        if self.target == "value":
            return answers[:, 0]
        return self.classes[answers.argmax(axis=1)]

    def encode(self, y) -> np.ndarray:
        """Labels or values as answers; a row of zeros for a label that is none of the classes."""
        if self.target == "value":
            return np.asarray(y, dtype=np.float64)[:, None]
        order = np.argsort(self.classes, kind="stable")
        position = np.searchsorted(self.classes, y, sorter=order)
        position = order[np.minimum(position, self.classes.size - 1)]
        known = np.flatnonzero(self.classes[position] == y)
        one_hot = np.zeros((len(y), self.classes.size))
        one_hot[known, position[known]] = 1.0
        return one_hot

    def _ask(self, X, given=None):
        method = "__call__"
        if hasattr(self.asked.estimator, "predict"):
            method = "predict_proba" if self.target == "probabilities" else "predict"
        return self._checked(self._call(method, X, given), X.shape[0])

    def _checked(self, raw, n_rows):
        if self.target == "probabilities":
            return self._finite(self._of_shape(raw, n_rows, 2))
        raw = self._one_each(raw, n_rows)
        return self._finite(raw) if self.target == "value" else raw

    def _call(self, method, X, given=None):
        answers = []
        # without rows it is asked once, too: the shape of no answers is checked as any other
        for begin in range(0, max(len(X), 1), self.batch_size):
            rows = slice(begin, begin + self.batch_size)
            of_given = None if given is None else safe_indexing(given, rows)
            answers.append(self._call_once(method, X[rows], of_given))
        return answers[0] if len(answers) == 1 else np.concatenate(answers)

    def _call_once(self, method, X, given):
        try:
            with self.turn:
                self.n_queries += X.shape[0]
            with nullcontext() if self.asked.takes_threads else self.turn:
                if given is None:
                    return self.asked.answers(X, method)
                return self.asked.ask(given, method)
        except Exception as error:
            told = (
                f"the model {self.name} failed on {X.shape[0]} rows with {X.shape[1]} columns: "
                f"{type(error).__name__}: {error}"
            )
            if isinstance(error, ValueError) and (missing := np.isnan(X).any(axis=0)).any():
                names = None if self.asked.table is None else self.asked.table.names
                columns = np.flatnonzero(missing) if names is None else names[missing]
                raise ValueError(
                    f"{told}\nRows lack something in the columns {columns.tolist()[:8]}. Fill in "
                    "values if the model does not take such rows."
                ) from error
            raise RuntimeError(told) from error

    # ------------------------------------------------------------------ checks

    def _one_each(self, raw, n_rows):
        return self._of_shape(raw[:, 0] if raw.shape == (n_rows, 1) else raw, n_rows, 1)

    def _of_shape(self, raw, n_rows, ndim):
        if raw.ndim != ndim or raw.shape[0] != n_rows:
            asked = f"response={'class' if self.target == 'label' else self.target!r}"
            wanted = f"({n_rows},)" if ndim == 1 else f"({n_rows}, n_classes)"
            raise ValueError(
                f"{self.says} an array of shape {raw.shape} for {n_rows} "
                f"rows, but {asked} needs {wanted}."
            )
        return raw

    def _finite(self, raw):
        raw = raw.astype(np.float64)
        if not np.isfinite(raw).all():
            raise ValueError(f"{self.says} a value that is not finite.")
        # costs are sums of squares, over all rows that a tree sees
        if self.target == "value" and np.abs(raw).max(initial=0.0) > _LARGEST:
            raise ValueError(
                f"{self.says} the value {np.abs(raw).max():.3g}, whose "
                f"squares are too large to add up. Scale the target below {_LARGEST:g}."
            )
        return raw

    def _as_matrix(self, raw):
        if self.target == "label":
            answers = self.encode(raw)
            if (unknown := raw[~answers.any(axis=1)]).size:
                first = unknown[:1].tolist()[0]
                raise ValueError(
                    f"{self.says} the label {first!r}, which is none of the classes "
                    f"{self.classes.tolist()}. Pass a y that holds every class."
                )
            return answers
        if self.target == "value":
            return raw[:, None]
        if raw.shape[1] != self.classes.size:
            raise ValueError(
                f"{self.says} probabilities of {raw.shape[1]} classes, but "
                f"there are {self.classes.size}: {self.classes.tolist()}."
            )
        if raw.min() < 0.0 or np.abs(raw.sum(axis=1) - 1.0).max() > 1e-3:
            raise ValueError(
                f"{self.says} rows that are not probabilities: they must "
                "not be negative and must sum to 1. Use response='class' for scores."
            )
        return raw


def one_hot(answers) -> np.ndarray:
    """Answers with the whole of each row in its largest place."""
    return np.eye(answers.shape[1])[answers.argmax(axis=1)]


# ------------------------------------------------------------------ agreement


@dataclass(eq=False)
class RowsAside:
    """Rows that were set aside, and what is true of them."""

    X: np.ndarray
    weight: np.ndarray
    target: str
    truth: np.ndarray | None = None  # of `y`, or of the predictor without one, as answers
    decisions: Any = None  # of the predictor
    encoded: Any = None  # the same as answers

    @classmethod
    def of(cls, predictor, X, y, weight):
        """Ask the predictor about the rows, if there are any."""
        if not len(X):
            return cls(X, weight, predictor.target)
        decisions = predictor.decisions(X)
        encoded = predictor.encode(decisions)
        if y is not None:
            truth = predictor.encode(y)
        else:
            truth = predictor.answers(X) if predictor.target == "probabilities" else encoded
        return cls(X, weight, predictor.target, truth, decisions, encoded)

    @property
    def n_rows(self) -> int:
        return len(self.X)

    @property
    def effective_size(self):
        """Rows of equal weight that would tell as much; 0 without any."""
        if not self.n_rows:
            return 0.0
        return self.weight.sum() ** 2 / np.square(self.weight).sum()

    @property
    def labelled_size(self):
        """The same where rows have labels, of which shares agree; 0 for values."""
        return 0.0 if self.target == "value" else self.effective_size


def agreement(decisions, answers, target, sample_weight=None) -> float:
    """Share of equal labels, or the part of the variance of the decisions that is explained."""
    if target != "value":
        return float(np.average(decisions == answers, weights=sample_weight))
    if np.ptp(decisions) == 0.0:  # r2_score has no answer where the predictor is constant
        return float(np.allclose(answers, decisions))
    return float(r2_score(decisions, answers, sample_weight=sample_weight))


def agreement_by_class(decisions, answers, classes, sample_weight=None):
    """Share of equal labels among the rows that the predictor gives each class; nan for none."""
    weight = np.ones(len(decisions)) if sample_weight is None else sample_weight
    shares = np.full(classes.size, np.nan)
    for k, c in enumerate(classes):
        mine = decisions == c
        if mine.any():
            shares[k] = weight[mine] @ (answers[mine] == c) / weight[mine].sum()
    return shares


def warn_of_lost_classes(decisions, answers, classes, what, remedy) -> None:
    """Say so if what was learned never gives a class that the predictor gives to training rows."""
    given = np.isin(classes, decisions)
    lost = given & ~np.isin(classes, answers)
    if not lost.any():
        return
    names = ", ".join(repr(c) for c in classes[lost].tolist()[:8])
    counts = [int(np.count_nonzero(decisions == c)) for c in classes[lost]]
    only = np.unique(answers)
    how = f"answers {only.tolist()[0]!r} everywhere" if only.size == 1 else "has lost classes"
    warn(
        f"the {what} {how}: it never answers {names}, which the model gives to {sum(counts)} "
        f"of {len(decisions)} training rows. {remedy}"
    )
