"""How well a model and its simpler form tell the true answers: ranking, chances and errors.

Figures are scikit-learn's. Their intervals come from what each row adds to a figure, so that two
figures of the same rows can be compared row by row.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.special import expit, logit
from scipy.stats import rankdata
from sklearn.metrics import brier_score_loss, log_loss, mean_absolute_error, roc_auc_score

from ensemble_simplify.base import binomial_interval, safe_indexing
from ensemble_simplify.front._judged import accuracy_stated, lost_stated, spread, stated
from ensemble_simplify.front._methods import NotTried, made_again, method_of, of_tree
from ensemble_simplify.front._statement import Statement
from ensemble_simplify.front._trials import ON_Y
from ensemble_simplify.writing import one_line

# Groups of rows whose predictions are compared with what came true.
TENTHS = 10
# Standard errors in half of a 95 % interval.
_ENDS = 1.96


class NotMeasured(ValueError):
    """The true answers cannot judge; the text says why, and what to do."""


@dataclass(frozen=True, eq=False)
class Side:
    """What the model, or its simpler form, predicts for the rows that judge.

    Parameters
    ----------
    of : str
        Whose predictions these are.
    truth : ndarray of shape (n_rows,)
        True values, or 1 where the event came true and 0 elsewhere.
    predicted : ndarray of shape (n_rows,)
        Values, or chances of the event.
    """

    of: str
    truth: np.ndarray
    predicted: np.ndarray

    @cached_property
    def tenths(self) -> np.ndarray:
        """The group of each row, by its prediction; equal predictions are never parted."""
        cuts = np.quantile(self.predicted, np.arange(1, TENTHS) / TENTHS, method="higher")
        return np.searchsorted(np.unique(cuts), self.predicted, side="right")


@dataclass(frozen=True)
class Compared:
    """One figure of both, and what is lost where the simpler form stands for the model."""

    model: Statement
    form: Statement
    lost: Statement | None = None


@dataclass(frozen=True, eq=False)
class Performance:
    """Both sides on rows with true answers; `event` is the class whose chance is told, or None."""

    model: Side
    form: Side
    event: object
    judged: object
    candidate: object

    @property
    def n_rows(self) -> int:
        """Rows that judge."""
        return len(self.model.truth)

    def compared(self) -> list[Compared]:
        """All figures, with their intervals."""
        if self.event is None:
            made = (accuracy_stated(self.candidate, self.judged, of) for of in ("model", None))
            named = (replace(own, estimand="R2") for own in made)
            r2 = Compared(*named, lost_stated(self.candidate, self.judged))
            return [r2, *map(self._of, _OF_VALUES)]
        auc = self._of(_AUC)
        slopes = (self._stated("calibration slope", side, *_slope(side)) for side in self._sides)
        return [auc, _gini(auc), *map(self._of, _OF_CHANCES), Compared(*slopes)]

    @property
    def _sides(self):
        return self.model, self.form

    def _of(self, kind):
        model, form = (kind.parts(side) for side in self._sides)
        own = [
            self._stated(kind.name, side, kind.score(side.truth, side.predicted), _error(parts))
            for side, parts in zip(self._sides, (model, form), strict=True)
        ]
        if kind.sign == 0:
            return Compared(*own)
        apart = [kind.sign * (one - two) for one, two in zip(model, form, strict=True)]
        value = kind.sign * (own[0].value - own[1].value)
        return Compared(*own, self._stated(f"{kind.name} lost", self.form, value, _error(apart)))

    def _stated(self, estimand, side, value, error):
        error *= _ENDS * np.sqrt(spread(self.judged))
        record = stated(
            self.candidate, self.judged, estimand, value, (value - error, value + error), of=side.of
        )
        return replace(record, is_share=False)

    def by_tenths(self, side) -> list[tuple]:
        """Rows, mean prediction, what came true, and ends of an interval in each tenth of a side.

        The interval is that of the rate that came true; of values, that of their mean error.
        """
        found = []
        for tenth in np.unique(side.tenths):
            rows = side.tenths == tenth
            truth, n = side.truth[rows], int(rows.sum())
            if self.event is None:
                errors = side.predicted[rows] - truth
                half = _ENDS * _error([errors]) if n > 1 else np.nan
                ends = errors.mean() - half, errors.mean() + half
            else:
                counted = n / spread(self.judged)
                ends = binomial_interval(truth.mean() * counted, counted)
            found.append((n, side.predicted[rows].mean(), truth.mean(), *map(float, ends)))
        return found


# ------------------------------------------------------------------- figures


@dataclass(frozen=True)
class _Kind:
    """A figure: its score, what each row adds to it, and whether more of it is better."""

    name: str
    score: Callable
    # groups of rows, each with its own mean; the figure moves as the sum of these means
    parts: Callable
    sign: int  # 1: more is better; -1: less is; 0: neither


def _placements(side):
    """The share of the other kind of rows that each row stands beyond, events first [1]_.

    References
    ----------
    .. [1] E. R. DeLong, D. M. DeLong, D. L. Clarke-Pearson (1988). Comparing the areas under two or
       more correlated receiver operating characteristic curves. Biometrics 44, 837-845.
    """
    is_event = side.truth > 0
    ranks, found = rankdata(side.predicted), []
    for own, sign in ((is_event, 1.0), (~is_event, -1.0)):
        beyond = (ranks[own] - rankdata(side.predicted[own])) / np.count_nonzero(~own)
        found.append(sign * beyond)
    return found


def _losses(side):
    chance = np.clip(side.predicted, *_CHANCES)
    return [-np.log(np.where(side.truth > 0, chance, 1.0 - chance))]


# as scikit-learn has it: a chance of nothing would cost without end
_CHANCES = np.finfo(np.float64).eps, 1.0 - np.finfo(np.float64).eps

_AUC = _Kind("AUC", roc_auc_score, _placements, 1)
# of chances and of values it has two names, since only the former has no unit
_BIAS, _MEAN_ERROR = (
    _Kind(
        name,
        lambda truth, predicted: float(np.mean(predicted - truth)),
        lambda side: [side.predicted - side.truth],
        0,
    )
    for name in ("bias", "mean error")
)
_OF_CHANCES = (
    _Kind("Brier score", brier_score_loss, lambda s: [np.square(s.predicted - s.truth)], -1),
    _Kind("log loss", log_loss, _losses, -1),
    _BIAS,
)
_OF_VALUES = (
    _Kind("mean absolute error", mean_absolute_error, lambda s: [abs(s.predicted - s.truth)], -1),
    _MEAN_ERROR,
)


def _error(parts):
    """Standard error of a sum of means of independent rows."""
    return float(np.sqrt(sum(part.var(ddof=1) / len(part) for part in parts)))


def _gini(auc):
    """Twice what the area has beyond a half."""

    def scaled(own, moved):
        ends = {name: 2.0 * getattr(own, name) - moved for name in ("value", "low", "high")}
        return replace(own, estimand=own.estimand.replace("AUC", "Gini"), **ends)

    return Compared(scaled(auc.model, 1.0), scaled(auc.form, 1.0), scaled(auc.lost, 0.0))


def _slope(side):
    """Slope of the true log odds in the predicted ones, and its error; nan where there is none.

    It is 1 where chances are as far apart as the rates; less where they are too extreme.
    """
    # chances of 0 and 1 count as half a row of all, since their odds have no end
    least = 0.5 / len(side.truth)
    odds = logit(np.clip(side.predicted, least, 1.0 - least))
    columns, weights = np.column_stack([np.ones_like(odds), odds]), np.array([0.0, 1.0])
    if np.ptp(odds) == 0.0:
        return np.nan, np.nan
    for _ in range(_MOST_STEPS):
        rates = expit(columns @ weights)
        curved = columns.T @ (columns * (rates * (1.0 - rates))[:, None])
        if np.linalg.cond(curved) > _SINGULAR:  # one cut parts all events from the others
            return np.nan, np.nan
        move = np.linalg.solve(curved, columns.T @ (side.truth - rates))
        weights += move
        if np.abs(move).max() < _STILL:
            return float(weights[1]), float(np.sqrt(np.linalg.inv(curved)[1, 1]))
    return np.nan, np.nan


# Steps of Newton's method, the move at which it ends, and where its matrix says nothing more.
_MOST_STEPS, _STILL, _SINGULAR = 50, 1e-9, 1e12


def in_doubt(compared, event):
    """Sentences on what the rows speak against, or do not decide, of one figure."""
    for own in (compared.model, compared.form):
        low, high = own.low, own.high
        what = f"{own.of}'s " + ("values" if event is None else f"chances of {one_line(event)}")
        told = f"{own.text}, 95 % interval {own.interval}"
        if own.estimand == "AUC" and low <= 0.5:
            yield f"Whether {what} rank rows better than luck is not decided (AUC {told})."
        if own.estimand in ("bias", "mean error") and not low <= 0.0 <= high:
            side = "high" if own.value > 0 else "low"
            yield _sentence(f"{what} are too {side} on average ({own.estimand} {told}).")
        if own.estimand == "calibration slope" and not low <= 1.0 <= high:
            side = "too extreme" if own.value < 1 else "not far enough apart"
            yield _sentence(
                f"{what} are {side}: calibration slope {told}, where 1 is right. Calibrate them "
                "before they are used as probabilities."
            )
    lost = compared.lost
    if compared.model.estimand in ("AUC", "R2") and lost.low > 0.0:
        yield (
            f"The true answers are told worse without the model: {compared.model.estimand} lost "
            f"{lost.text}, 95 % interval {lost.interval}."
        )


def _sentence(text):
    return text[:1].upper() + text[1:]


# ------------------------------------------------------------------- predictions


def performance(found, positive=None) -> Performance:
    """Both sides on the rows that judge; `NotMeasured` where these cannot.

    `positive` is the event; None: the last of two classes.
    """
    judged, candidate = found._judged, found._candidates[found.best]
    if judged.y is None:
        why = "no true answers were given. Give simplify y."
        if found._task.y is not None:
            why = "the model has learned from these rows. Give simplify rows that it has not seen."
        raise NotMeasured(why)
    rows, event = candidate.rows, None
    truth, *told = judged.y[rows], judged.answers[rows], candidate.predicted[rows]
    if judged.is_classifier:
        event = _event(found, positive)
        truth = truth == event
        if not 1 < truth.sum() < len(truth) - 1:
            raise NotMeasured(
                "fewer than two of these rows have, or lack, the event. Give more rows."
            )
        at = np.flatnonzero(found._task.fold_of >= 0)[rows]
        told = _of_model(found, at, event), _of_form(found, at, event)
    truth, *told = (np.asarray(own, dtype=np.float64) for own in (truth, *told))
    names = "the model", f"the {candidate.noun}"
    sides = (Side(of, truth, own) for of, own in zip(names, told, strict=True))
    return Performance(*sides, event, judged, candidate)


def _event(found, positive):
    classes = found.best_model.classes_
    if not hasattr(found.model, "predict_proba"):
        raise NotMeasured("the model gives no probabilities.")
    if positive is not None:
        return positive
    if len(classes) != 2:
        raise NotMeasured(
            f"the model has {len(classes)} classes. Name the one whose probability counts: "
            "positive=."
        )
    return classes[1]


def _probability(fitted, X, event):
    """The probability of the event by an estimator, which may not know of it."""
    places = np.flatnonzero(fitted.classes_ == event)
    told = np.asarray(fitted.predict_proba(X), dtype=np.float64)
    return told[:, places[0]] if len(places) else np.zeros(len(told))


def _of_model(found, at, event):
    """What the model says; or where it has learned the rows, its copies that have not."""
    task = found._task
    if not task.copies:
        return _probability(found.model, safe_indexing(task.X, at), event)
    chance = np.full(len(task.answers), np.nan)
    for fold, (copy, _) in enumerate(task.copies):
        own = np.flatnonzero(task.fold_of == fold)
        chance[own] = _probability(copy, safe_indexing(task.X, own), event)
    return chance[at]


def _of_form(found, at, event):
    """What results say that were made as the recommended one, each of rows that it has not seen."""
    name = found.best
    task = found._task.of_size(found._candidates[name].size)
    chance = np.full(len(task.answers), np.nan)
    for fold in np.unique(task.fold_of[at]):
        part, own = task.without(fold), np.flatnonzero(task.fold_of == fold)
        # what learns nothing from rows is the same without them, but for the rates in its leaves
        made = found.best_model.fitted
        if method_of(name).judged != "never":
            made = _again(name, part)
        for rows, rated in _rated(task, part, own, name, made):
            chance[rows] = _probability(rated, safe_indexing(task.X, rows), event)
    return chance[at]


def _again(name, part):
    """What is made of a part of the rows."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # simplify has told what all rows make it say
            return made_again(name, part).fitted
    except NotTried as reason:
        raise NotMeasured(f"without a part of the rows, {reason}.") from None


def _rated(task, part, own, name, made):
    """Rows to ask about, and the result with chances that none of these has told."""
    if not hasattr(made, "decision_tree_"):
        yield own, made
    elif len(part.y):
        yield own, of_tree(part, name, made).fitted
    else:
        # all rows with labels judge at once: each part of them gets the rates of the others
        places = np.random.RandomState(task.seed).permutation(len(own)) % ON_Y
        for place in range(ON_Y):
            others = own[places != place]
            labelled = replace(part, X=safe_indexing(task.X, others), y=task.y[others])
            yield own[places == place], of_tree(labelled, name, made).fitted
