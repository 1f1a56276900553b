"""What results say on the rows that judge, and what is measured of it."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.stats import t as student
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.metrics import get_scorer

from ensemble_simplify.base import binomial_interval, r2
from ensemble_simplify.front._rules import size_in_words
from ensemble_simplify.front._statement import BY_COPIES, ON_ROWS, PROVEN, Statement

# What a result is told to have: a part of `figures`.
FIGURES = ("agreement", "agreement_low", "agreement_high", "accuracy")
# What is measured is that of copies of the model, or of results that learned without a part of the
# rows. These vary beyond what the rows let expect. So many times the variance of the rows alone is
# taken: with that alone, intervals of shares held the truth of new rows on 80 % of 20 tables by
# copies, and those of values on 81 % of 126 simulated tables. Both were then judged on others.
_OF_COPIES, _OF_VALUES = 2.0, 3.0
# Values of less skewness have none that rounding would not drown.
_SYMMETRIC = 1e-6


@dataclass(frozen=True, eq=False)
class Candidate:
    """A result, and what it says on the rows that judge.

    Parameters
    ----------
    name : str
        As it is shown.
    n_leaves : int
        Leaves that it has; of a scorecard, bins.
    predicted : ndarray of shape (n_judged,)
        Labels or values.
    measured : ndarray of bool, shape (n_judged,), or None, default=None
        Rows to which its answers count; what it says on others is not looked at. None: all.
    size : int or None, default=None
        Leaves that were asked for. None: `n_leaves`.
    is_tree : bool, default=True
        Whether it is one ordinary tree.
    is_card : bool, default=False
        Whether it is a scorecard.
    may_win : bool, default=True
        False: it is only shown.
    is_proven : bool, default=False
        Whether its answers are proven to be the model's at every input.
    within : float or None, default=None
        How far its values can be from the model's at any input, where that is proven.
    """

    name: str
    n_leaves: int
    predicted: np.ndarray
    measured: np.ndarray | None = None
    size: int | None = None
    is_tree: bool = True
    is_card: bool = False
    may_win: bool = True
    is_proven: bool = False
    within: float | None = None

    @property
    def noun(self) -> str:
        """What it is, in a word, where it can be recommended."""
        return "scorecard" if self.is_card else "tree"

    @property
    def in_size(self) -> str:
        """Its size in words."""
        return size_in_words(self.n_leaves, self.is_card)

    @cached_property
    def rows(self) -> np.ndarray:
        """Which rows it was measured on, as booleans."""
        if self.measured is None:
            return np.ones(len(self.predicted), dtype=bool)
        return np.asarray(self.measured, dtype=bool)


@dataclass(frozen=True, eq=False)
class Judged:
    """The rows that judge: what the model says there, and what counts.

    Parameters
    ----------
    answers : ndarray of shape (n_judged,)
        The model's labels or values.
    y : ndarray of shape (n_judged,) or None, default=None
        True labels or values.
    is_classifier : bool, default=True
        Whether `answers` are labels.
    scoring : str, callable or None, default=None
        A score of ``(answers, predicted)`` that decides in place of the agreement; larger is
        better. A str is the name of one of scikit-learn's scorers; those of two classes are about
        the rarer answer.
    class_weight : "balanced", dict or None, default=None
        Weights of the rows in the agreement, by the model's answers. A label that a dict lacks has
        weight 1.
    learned : str, default="unknown"
        Whether the model has learned from these rows; see :class:`Statement`.
    how : str, default="measured on ..."
        How what is measured on them is known; see :class:`Statement`.

    Raises
    ------
    TypeError
        If `scoring` or `class_weight` is of none of these kinds.
    ValueError
        If they are not known, or do not go with the answers or with one another.
    """

    answers: np.ndarray
    y: np.ndarray | None = None
    is_classifier: bool = True
    scoring: Any = None
    class_weight: Any = None
    learned: str = "unknown"
    how: str = ON_ROWS

    def __post_init__(self):
        self.weights  # noqa: B018  both raise errors
        self.score  # noqa: B018

    @cached_property
    def _coded(self):
        if not self.is_classifier:
            return np.empty(0), np.zeros(len(self.answers), dtype=np.intp)
        return np.unique(self.answers, return_inverse=True)

    @property
    def labels(self) -> np.ndarray:
        """The labels that the model gives to the rows, sorted; none in regression."""
        return self._coded[0]

    @property
    def places(self) -> np.ndarray:
        """Place of each row's answer among the labels; 0 in regression."""
        return self._coded[1]

    @cached_property
    def shares(self) -> np.ndarray:
        """Share of each label among the rows; one for all in regression."""
        return np.bincount(self.places) / len(self.places)

    @cached_property
    def weights(self) -> np.ndarray:
        """Weight of a row of each label."""
        given, labels = self.class_weight, self.labels.tolist()
        if given is None:
            return np.ones(max(len(labels), 1))
        if not self.is_classifier:
            raise ValueError(
                f"class_weight={given!r} is for classifiers; this model gives values. Leave it out."
            )
        if self.scoring is not None:
            raise ValueError(
                "scoring and class_weight cannot both be given: the one replaces the agreement, "
                "the other weights it. Leave one of them out."
            )
        if isinstance(given, str) and given == "balanced":
            return 1.0 / (len(labels) * self.shares)
        if not isinstance(given, dict):
            raise TypeError(
                f'class_weight={given!r} is neither "balanced" nor a dict of weights by label.'
            )
        unknown = [label for label in given if label not in labels]
        weights = np.array([given.get(label, 1.0) for label in labels], dtype=np.float64)
        if len(unknown) == len(given):
            raise ValueError(
                f"class_weight={given!r} names no label that the model gives to these "
                f"rows. They are {', '.join(repr(label) for label in labels[:10])}."
            )
        if not (np.isfinite(weights).all() and (weights >= 0).all() and weights.any()):
            raise ValueError(
                f"class_weight={given!r} must have weights from 0 upwards, and one above 0."
            )
        return weights

    @property
    def score_name(self) -> str:
        """What the score is called."""
        name = self.scoring if isinstance(self.scoring, str) else None
        return name or getattr(self.scoring, "__name__", "score")

    @cached_property
    def score(self) -> Callable | None:
        """The score that decides, as a function of answers and predicted; None: the agreement."""
        if self.scoring is None:
            return None
        if callable(self.scoring):
            scored = self.scoring
        elif isinstance(self.scoring, str):
            scored = _named_score(self.scoring, self.labels, self.shares)
        else:
            raise TypeError(
                f"scoring={self.scoring!r} is neither the name of a scorer of scikit-learn nor "
                "a function of (answers, predicted)."
            )

        def score(answers, predicted):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of labels that a small part of the rows lacks
                return float(scored(answers, predicted))

        # tried at once: a score that needs probabilities is refused before anything is fitted
        try:
            best = score(self.answers, self.answers)
        except (TypeError, ValueError, AttributeError) as error:
            several = len(self.labels) > 2 and "average" in str(error)
            hint = (
                f"The model gives {len(self.labels)} labels: take the average over them, such as "
                f'"{self.scoring}_macro".'
                if several
                else "It must be a score of the answers alone, not of probabilities: such as "
                + ('"balanced_accuracy"' if self.is_classifier else '"neg_mean_absolute_error"')
                + ", or a function of (answers, predicted) that returns a number."
            )
            raise ValueError(
                f"scoring={self.scoring!r} cannot compare answers with the model's. {hint}"
            ) from error
        if not np.isfinite(best):
            raise ValueError(
                f"scoring={self.scoring!r} is {best} for the model's own answers; it must be a "
                "finite number."
            )
        return score


class _Told(RegressorMixin, BaseEstimator):
    """An estimator that predicts what it is given, because a scorer wants one."""

    def predict(self, X):
        return X


def _named_score(name, labels, shares):
    """One of scikit-learn's scores; of labels, by the numbers of rows of each pair of them."""
    try:
        scorer = get_scorer(name)
    except ValueError as error:
        raise ValueError(
            f"scoring={name!r} is not a scorer of scikit-learn. Choose one that "
            "sklearn.metrics.get_scorer_names() lists, or give a function of (answers, predicted)."
        ) from error
    n_labels = len(labels)
    if n_labels == 0:
        return lambda answers, predicted: scorer(_Told(), predicted, answers)
    # with two labels, the rarer one is the positive one
    order = np.argsort(-shares, kind="stable") if n_labels == 2 else np.arange(n_labels)

    def coded(given):
        """Places of labels; one after the last for a label that the model does not give."""
        code = np.full(len(given), n_labels)
        for place, label in enumerate(labels[order]):
            code[given == label] = place
        return code

    def score(answers, predicted):
        # a score is asked for many times: so about pairs of labels, with their numbers of rows as
        # weights, and not about rows
        pairs = np.bincount(coded(answers) * (n_labels + 1) + coded(predicted))
        told, says = np.divmod(np.flatnonzero(pairs), n_labels + 1)
        return scorer(_Told(), says, told, sample_weight=pairs[pairs > 0])

    return score


# ------------------------------------------------------------------- figures


def agreement_of(candidate, judged) -> float:
    """Agreement with the model: the share of rows, by their weights; the R2 in regression."""
    rows = candidate.rows
    if not judged.is_classifier:
        return r2(judged.answers[rows], candidate.predicted[rows])
    alike = candidate.predicted[rows] == judged.answers[rows]
    weights = judged.weights[judged.places[rows]]
    return float(np.average(alike, weights=weights)) if weights.any() else np.nan


def interval_of(candidate, judged) -> tuple[float, float]:
    """Both ends of a 95 % interval of the agreement."""
    rows, agreement = candidate.rows, agreement_of(candidate, judged)
    if judged.is_classifier:
        weights = judged.weights[judged.places[rows]]
        if not weights.any():
            return np.nan, np.nan
        # rows of unequal weight tell as much as fewer rows of equal weight (Kish)
        n = weights.sum() ** 2 / np.sum(weights**2) / spread(judged)
        low, high = binomial_interval(agreement * n, n)
        return float(low), float(high)
    answers, predicted = judged.answers[rows], candidate.predicted[rows]
    low, high = explained(answers, np.square(answers - predicted), judged)
    return 1.0 - high, min(1.0 - low, 1.0)


def explained(truth, of_rows, judged) -> tuple[float, float]:
    """Ends of a 95 % interval of a sum of what rows have, as a share of the variance of the truth.

    Of such sums a few rows have the most, and where a sample lacks them, it lets both the figure
    and its error seem small. So the skewness is removed before the ends are taken [1]_.

    References
    ----------
    .. [1] P. Hall (1992). On the removal of skewness by transformation. Journal of the Royal
       Statistical Society B 54, 221-228.
    """
    apart = np.square(truth - truth.mean())
    if not apart.any() or not of_rows.any():
        share = float(of_rows.any())  # as `r2` has it
        return share, share
    n, share = len(truth), of_rows.sum() / apart.sum()
    parts = (of_rows - share * apart) / apart.mean()
    error, third = parts.std(ddof=1), np.mean(parts**3)
    if error == 0.0:
        return share, share
    skewness = third / error**3
    ends = student.ppf([0.975, 0.025], n - 1) * np.sqrt(spread(judged) / n)
    if abs(skewness) > _SYMMETRIC:
        ends = 3.0 * (np.cbrt(1.0 + skewness * (ends - skewness / (6.0 * n))) - 1.0) / skewness
    low, high = share - error * ends
    return float(low), float(high)


def spread(judged) -> float:
    """How many times the variance of the rows alone that of a figure is."""
    if not judged.is_classifier:
        return _OF_VALUES
    return _OF_COPIES if judged.how == BY_COPIES else 1.0


def stated(candidate, judged, estimand, value, ends=(np.nan, np.nan), *, of=None, how=None):
    """The record of a figure of a candidate."""
    everywhere = how == PROVEN
    return Statement(
        estimand=estimand,
        of=of or f"{candidate.name}, {candidate.in_size}",
        population="every input" if everywhere else "new rows like these",
        learned=judged.learned,
        value=float(value),
        low=float(ends[0]),
        high=float(ends[1]),
        how=how or judged.how,
        n_rows=int(candidate.rows.sum()),
        is_share=judged.is_classifier,
    )


def agreement_stated(candidate, judged) -> Statement:
    """The record of a candidate's own agreement with the model."""
    value, ends = agreement_of(candidate, judged), interval_of(candidate, judged)
    how = None
    if candidate.is_proven:
        value, ends, how = 1.0, (1.0, 1.0), PROVEN
    return stated(candidate, judged, "agreement", value, ends, how=how)


def accuracy_stated(candidate, judged, of=None) -> Statement:
    """The record of a candidate's accuracy, or R2 of `y`; of the model's, if `of` it."""
    rows = candidate.rows
    value, ends = np.nan, (np.nan, np.nan)
    if judged.y is not None:
        y = judged.y[rows]
        said = (judged.answers if of == "model" else candidate.predicted)[rows]
        if judged.is_classifier:
            value, n = np.mean(said == y), len(y) / spread(judged)
            ends = binomial_interval(value * n, n)
        else:
            value = r2(y, said)
            low, high = explained(y, np.square(y - said), judged)
            ends = 1.0 - high, min(1.0 - low, 1.0)
    return stated(candidate, judged, "accuracy", value, ends, of=of)


def lost_stated(candidate, judged) -> Statement:
    """The record of the accuracy that is lost where a candidate stands for the model."""
    model, own = (accuracy_stated(candidate, judged, of) for of in ("model", None))
    ends = np.nan, np.nan
    if judged.y is not None:
        rows = candidate.rows
        y, answers, predicted = judged.y[rows], judged.answers[rows], candidate.predicted[rows]
        if judged.is_classifier:
            # Agresti and Min: half a row more of each kind, so that few rows do not seem sure
            better, worse = (
                np.sum((first == y) & (second != y)) + 0.5
                for first, second in ((answers, predicted), (predicted, answers))
            )
            n = len(y) + 2.0
            middle = (better - worse) / n
            error = np.sqrt((better + worse) / n - middle**2) / np.sqrt(n)
            ends = middle - 1.96 * error, middle + 1.96 * error
        else:
            ends = explained(y, np.square(y - predicted) - np.square(y - answers), judged)
    return stated(candidate, judged, "lost", model.value - own.value, ends)


def coverage_stated(tree) -> Statement:
    """The record of the share of new rows that a selective tree answers."""
    low, high = tree.coverage_interval_
    return Statement(
        estimand="coverage",
        of=f"selective tree of {size_in_words(tree.get_n_leaves())}",
        population="new rows like these",
        learned="no",
        value=tree.coverage_,
        low=low,
        high=high,
        n_rows=tree.n_calibration_rows_,
    )


def figures(candidate, judged) -> dict:
    """What the table shows of a result: agreement with the model, and accuracy where `y` is known.

    Where answers are labels, ``class_agreement`` holds the share of the rows of each answer of the
    model to which the candidate gives it, too. ``statements`` are the records of these figures.
    """
    rows = candidate.rows
    agreement, accuracy = agreement_stated(candidate, judged), accuracy_stated(candidate, judged)
    measured = {
        "agreement": agreement.value,
        "agreement_low": agreement.low,
        "agreement_high": agreement.high,
        "class_agreement": class_agreement(candidate, judged),
        "accuracy": accuracy.value,
        "statements": (agreement, accuracy),
    }
    if judged.y is not None and judged.is_classifier:
        y, right = judged.y[rows], candidate.predicted[rows] == judged.y[rows]
        measured["balanced_accuracy"] = float(
            np.mean([right[y == label].mean() for label in np.unique(y)])
        )
    return measured


def class_agreement(candidate, judged) -> dict:
    """Share of the rows of each of the model's answers that the candidate answers alike."""
    rows, found = candidate.rows, {}
    alike, places = candidate.predicted[rows] == judged.answers[rows], judged.places[rows]
    for place, label in enumerate(judged.labels.tolist()):
        if (places == place).any():
            found[label] = float(alike[places == place].mean())
    return found
