"""How well answers agree with the predictor's, and the rows set aside to measure it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics import accuracy_score, r2_score

from ensemble_simplify.base import warn


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
            truth = predictor.answers(X) if predictor.target == "proba" else encoded
        return cls(X, weight, predictor.target, truth, decisions, encoded)

    @property
    def n_rows(self):
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


def agreement(decisions, answers, target, sample_weight=None):
    """Share of equal labels, or the part of the variance of the decisions that is explained."""
    if target != "value":
        return float(accuracy_score(decisions, answers, sample_weight=sample_weight))
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


def warn_of_lost_classes(decisions, answers, classes, what, remedy):
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
