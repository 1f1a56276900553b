"""Which size of tree is recommended, and which method's tree: pure functions on answers to rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.metrics import get_scorer
from sklearn.utils import check_random_state

from ensemble_simplify.base import binomial_interval
from ensemble_simplify.writing import percent

# What twice as many leaves must bring, at least: a point of agreement, or this much of the way
# from the best constant answer to the model's, in a coefficient of determination or another score.
POINT = 0.01
PART = 0.02
# Rows that are added to those of a class before their weight is taken.
FEW = 10
# Bootstrap samples for the correction, and for the interval of a coefficient of determination.
N_SAMPLES = 150
_N_DRAWN = 500
# Parts of the rows that are left out in turn, for the standard error of a score.
_N_PARTS = 25


@dataclass(frozen=True, eq=False)
class Candidate:
    """A result, and what it says on the rows that judge.

    Parameters
    ----------
    name : str
        As it is shown.
    n_leaves : int
        Leaves that it has.
    predicted : ndarray of shape (n_judged,)
        Labels or values.
    measured : ndarray of bool, shape (n_judged,), or None, default=None
        Rows to which its answers count; what it says on others is not looked at. None: all.
    size : int or None, default=None
        Leaves that were asked for. None: `n_leaves`.
    is_tree : bool, default=True
        Whether it is one ordinary tree.
    may_win : bool, default=True
        False: it is only shown.
    is_proven : bool, default=False
        Whether its answers are proven to be the model's at every input.
    """

    name: str
    n_leaves: int
    predicted: np.ndarray
    measured: np.ndarray | None = None
    size: int | None = None
    is_tree: bool = True
    may_win: bool = True
    is_proven: bool = False

    @cached_property
    def rows(self):
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

    def __post_init__(self):
        self.weights  # noqa: B018  both raise errors
        self.score  # noqa: B018

    @cached_property
    def _coded(self):
        if not self.is_classifier:
            return np.empty(0), np.zeros(len(self.answers), dtype=np.intp)
        return np.unique(self.answers, return_inverse=True)

    @property
    def labels(self):
        """The labels that the model gives to the rows, sorted; none in regression."""
        return self._coded[0]

    @property
    def places(self):
        """Place of each row's answer among the labels; 0 in regression."""
        return self._coded[1]

    @cached_property
    def shares(self):
        """Share of each label among the rows; one for all in regression."""
        return np.bincount(self.places) / len(self.places)

    @cached_property
    def weights(self):
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
                f"class_weight={given!r} names no label that the model gives to the held-out "
                f"rows. They are {', '.join(repr(label) for label in labels[:10])}."
            )
        if not (np.isfinite(weights).all() and (weights >= 0).all() and weights.any()):
            raise ValueError(
                f"class_weight={given!r} must have weights from 0 upwards, and one above 0."
            )
        return weights

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
    try:
        scorer = get_scorer(name)
    except ValueError as error:
        raise ValueError(
            f"scoring={name!r} is no scorer of scikit-learn. sklearn.metrics.get_scorer_names() "
            "lists them; a function of (answers, predicted) will do, too."
        ) from error
    if len(labels) != 2:
        return lambda answers, predicted: scorer(_Told(), predicted, answers)
    rarer = labels[np.argmin(shares)]
    return lambda answers, predicted: scorer(
        _Told(), (predicted == rarer).astype(int), (answers == rarer).astype(int)
    )


# ------------------------------------------------------------------- figures


def agreement_of(candidate, judged):
    """Agreement with the model: the share of rows, by their weights; the R2 in regression."""
    rows = candidate.rows
    if not judged.is_classifier:
        return r2(judged.answers[rows], candidate.predicted[rows])
    alike = candidate.predicted[rows] == judged.answers[rows]
    weights = judged.weights[judged.places[rows]]
    return float(np.average(alike, weights=weights)) if weights.any() else np.nan


def interval_of(candidate, judged, agreement=None):
    """Both ends of a 95 % interval of the agreement, or of `agreement` where it was corrected."""
    rows, measured = candidate.rows, agreement_of(candidate, judged)
    agreement = measured if agreement is None else agreement
    if judged.is_classifier:
        weights = judged.weights[judged.places[rows]]
        if not weights.any():
            return np.nan, np.nan
        n = weights.sum() ** 2 / np.sum(weights**2)
        low, high = binomial_interval(agreement * n, n)
        return float(low), float(high)
    answers, predicted = judged.answers[rows], candidate.predicted[rows]
    rng, n = np.random.default_rng(0), len(answers)
    drawn = []
    for _ in range(_N_DRAWN):
        sample = rng.integers(n, size=n)
        drawn.append(r2(answers[sample], predicted[sample]))
    low, high = np.quantile(drawn, [0.025, 0.975]) + (agreement - measured)
    return float(low), float(min(high, 1.0))


def figures(candidate, judged):
    """What the table shows of a result: agreement with the model, and accuracy where `y` is known.

    Where answers are labels, ``class_agreement`` holds the share of the rows of each answer of the
    model to which the candidate gives it, too.
    """
    rows = candidate.rows
    low, high = interval_of(candidate, judged)
    measured = {
        "agreement": agreement_of(candidate, judged),
        "agreement_low": low,
        "agreement_high": high,
        "class_agreement": class_agreement(candidate, judged),
    }
    if judged.y is None:
        return measured
    y, predicted = judged.y[rows], candidate.predicted[rows]
    if not judged.is_classifier:
        measured["accuracy"] = r2(y, predicted)
        return measured
    right = predicted == y
    measured["accuracy"] = float(right.mean())
    measured["balanced_accuracy"] = float(
        np.mean([right[y == label].mean() for label in np.unique(y)])
    )
    return measured


def class_agreement(candidate, judged):
    """Share of the rows of each of the model's answers that the candidate answers alike."""
    rows, found = candidate.rows, {}
    alike, places = candidate.predicted[rows] == judged.answers[rows], judged.places[rows]
    for place, label in enumerate(judged.labels.tolist()):
        if (places == place).any():
            found[label] = float(alike[places == place].mean())
    return found


def r2(truth, predicted):
    """As scikit-learn's, which takes much longer for the few rows of one of many samples."""
    error, spread = np.sum((truth - predicted) ** 2), np.sum((truth - truth.mean()) ** 2)
    if spread == 0:
        return float(error == 0)
    return float(1 - error / spread)


# ------------------------------------------------------------------- comparisons


@dataclass(frozen=True)
class _Lead:
    """How much more one result agrees than another, with standard errors; by class, too."""

    all: float
    error: float
    mixed: float
    mixed_error: float
    by_class: np.ndarray
    class_error: np.ndarray

    @property
    def is_worse(self):
        return self.all < -self.error

    @property
    def may_be_equal(self):
        """Whether the lead is within one standard error, among all rows and in each class."""
        return bool(self.all <= self.error < np.inf) and bool(
            (self.by_class <= self.class_error).all()
        )

    @property
    def is_as_good(self):
        # an infinite error: there are no rows that both were measured on
        return bool(self.all >= 0 and np.isfinite(self.error) and (self.by_class >= 0).all())


class Comparison:
    """Candidates side by side: sums over rows, of which some may count several times or never.

    A unit is a row in regression. Rows with the same answers of the model and the same agreements
    of all candidates are one unit, and where a score decides, so is each of 25 parts of the rows.

    Parameters
    ----------
    candidates : list of Candidate
        All that are compared.
    judged : Judged
        The rows.
    """

    def __init__(self, candidates, judged):
        self.candidates, self.judged = list(candidates), judged
        self.measured = np.array([c.rows for c in self.candidates])
        n_rows, self.by_class = len(judged.answers), judged.is_classifier and judged.score is None
        if judged.score is not None:
            order = np.random.RandomState(0).permutation(n_rows)
            keys = judged.places if judged.is_classifier else judged.answers
            order = order[np.argsort(keys[order], kind="stable")]
            self.unit_of = np.empty(n_rows, dtype=np.intp)
            self.unit_of[order] = np.arange(n_rows) % min(_N_PARTS, n_rows)
            self.places = np.zeros(min(_N_PARTS, n_rows), dtype=np.intp)
        elif judged.is_classifier:
            self.alike = np.array([c.predicted == judged.answers for c in self.candidates])
            codes = (self.alike + 2 * self.measured).astype(np.int8)
            columns = np.vstack([judged.places[None], codes])
            firsts, self.unit_of = _patterns(columns)
            self.values = self.alike[:, firsts].astype(np.float64)
            self.measured = self.measured[:, firsts]
            self.places = judged.places[firsts]
        else:
            self.unit_of = np.arange(n_rows)
            self.places = np.zeros(n_rows, dtype=np.intp)
            spread = np.var(judged.answers) or 1.0
            self.values = np.array(
                [
                    1.0 - np.where(c.rows, c.predicted - judged.answers, 0.0) ** 2 / spread
                    for c in self.candidates
                ]
            )
        self.counts = np.bincount(self.unit_of, minlength=len(self.places)).astype(np.float64)
        n_classes = len(judged.weights)
        self.weights = judged.weights if self.by_class else np.ones(1)
        self.mixed = self.weights
        if self.by_class and judged.class_weight is None and n_classes > 1:
            # a class counts by about the root of its share: between all rows alike, and all classes
            self.mixed = 1.0 / np.sqrt(judged.shares + FEW / n_rows)
        self._pairs = {}

    def _pair(self, i, j):
        """Differences of two candidates, by units that both were measured on."""
        if (i, j) not in self._pairs:
            if self.judged.score is None:
                units = np.flatnonzero(self.measured[i] & self.measured[j])
                lead = self.values[i, units] - self.values[j, units]
            else:
                both = self.measured[i] & self.measured[j]
                units, own = self._pseudo(i, both)
                lead = own - self._pseudo(j, both)[1]
            self._pairs[i, j] = units, lead, self.places[units]
        return self._pairs[i, j]

    def _pseudo(self, i, rows):
        """Jackknife values of the score: units, and what each adds to the mean."""
        answers, predicted = self.judged.answers, self.candidates[i].predicted
        units = np.unique(self.unit_of[rows])
        whole = self.judged.score(answers[rows], predicted[rows])
        values = np.full(len(units), whole)
        if len(units) > 1:
            for place, unit in enumerate(units):
                others = rows & (self.unit_of != unit)
                part = self.judged.score(answers[others], predicted[others])
                values[place] = whole + (len(units) - 1) * (whole - part)
            values += whole - values.mean()
        return units, values

    def lead(self, i, j, counts=None):
        """How much more the candidate at place i agrees than the one at place j."""
        counts = self.counts if counts is None else counts
        units, lead, places = self._pair(i, j)
        n_classes, counts = len(self.weights), counts[units]
        if self.judged.score is not None:
            counts = np.where(counts > 0, counts / self.counts[units], 0.0)
        sums = [
            np.bincount(places, weights=part, minlength=n_classes)
            for part in (counts, counts * lead, counts * lead**2)
        ]
        every, mixed = (self._mean(weights, *sums) for weights in (self.weights, self.mixed))
        n_rows = np.maximum(sums[0], 1e-300)
        return _Lead(*every, *mixed, sums[1] / n_rows, np.sqrt(sums[2]) / n_rows)

    @staticmethod
    def _mean(weights, n_rows, lead, square):
        total = weights @ n_rows
        if total == 0:
            return 0.0, np.inf
        return weights @ lead / total, np.sqrt(weights**2 @ square) / total

    def agreement(self, i, counts):
        """Agreement of a candidate on rows that count as told; nan on none."""
        judged = self.judged
        if judged.score is not None and judged.is_classifier:
            raise AssertionError("units of a score have no agreement")
        counts = counts * self.measured[i] * self.weights[self.places]
        return float(counts @ self.values[i] / counts.sum()) if counts.any() else np.nan


def _patterns(columns):
    """First row of each pattern of columns, and the pattern of each row."""
    code = np.zeros(columns.shape[1], dtype=np.int64)
    for column in columns:  # again and again made small numbers, so that none is too large
        code = np.unique(code * (int(column.max(initial=0)) + 1) + column, return_inverse=True)[1]
    _, firsts, code = np.unique(code, return_index=True, return_inverse=True)
    return firsts, code


# ------------------------------------------------------------------- the rules


@dataclass(frozen=True)
class Choice:
    """Which candidate is recommended.

    Parameters
    ----------
    best : str or None
        Its name; None if there is no tree.
    better : str or None
        Name of the larger tree that it is as good as, if there is one.
    reason : str
        Why, in a sentence.
    """

    best: str | None
    better: str | None
    reason: str


def choose_size(curve, judged):
    """The tree of a curve over sizes that is worth its leaves.

    It is the smallest one to which no larger one is clearly better: by more than one standard
    error of the difference, and by more than a point of agreement (in regression, 0.02 of R2) for
    each doubling. A size that loses an answer which a larger one keeps is passed over, unless the
    larger one agrees less among all rows.

    Parameters
    ----------
    curve : list of Candidate
        Trees of one method.
    judged : Judged
        The rows.

    Returns
    -------
    Candidate
        One of them.
    """
    curve = sorted(curve, key=lambda c: (c.size or c.n_leaves, c.n_leaves))
    comparison = Comparison(curve, judged)
    return curve[_knee(comparison, range(len(curve)), comparison.counts, step(judged))]


def choose(candidates, judged, favourite="representer", max_leaves=None):
    """The recommended tree among those that may win.

    Parameters
    ----------
    candidates : list of Candidate
        All results.
    judged : Judged
        The rows.
    favourite : str, default="representer"
        The method that is recommended unless another one is better.
    max_leaves : int or None, default=None
        Leaves that the recommended tree may have. None: any number.

    Returns
    -------
    Choice
        With the reason.
    """
    limit = np.inf if max_leaves is None else max_leaves
    size = "" if max_leaves is None else f" of at most {max_leaves} leaves"
    trees = _eligible(candidates, limit)
    if not trees:
        return Choice(None, None, f"No method found a tree{size}.")
    comparison = Comparison(trees, judged)
    best, better, first = _decide(comparison, range(len(trees)), comparison.counts, favourite)
    return Choice(
        trees[best].name,
        None if better == best else trees[better].name,
        _reason(trees[best], trees[better], trees[first], judged, size),
    )


def corrected_agreement(
    candidates, judged, curve=(), favourite="representer", max_leaves=None, random_state=None
):
    """Agreement of the recommended tree, corrected for its being the one that was chosen.

    The rows are drawn with replacement, the choice (of the size, too, if there is a curve) is made
    on those drawn, and what it chose is measured on the others; the mean over draws has no part of
    the luck that a choice makes use of [1]_.

    Parameters
    ----------
    candidates : list of Candidate
        All results, as for :func:`choose`.
    judged : Judged
        The rows.
    curve : list of Candidate, default=()
        Trees of the favourite method of all sizes, if the size was chosen by
        :func:`choose_size`.
    favourite : str, default="representer"
        As for :func:`choose`.
    max_leaves : int or None, default=None
        As for :func:`choose`.
    random_state : int, RandomState instance or None, default=None
        Which rows are drawn.

    Returns
    -------
    float
        The corrected agreement; nan if there is no tree.

    References
    ----------
    .. [1] I. Tsamardinos, E. Greasidou, G. Borboudakis (2018). Bootstrapping the out-of-sample
       predictions for efficient and accurate cross-validation. Machine Learning 107, 1895-1922.
       https://doi.org/10.1007/s10994-018-5714-4
    """
    trees = _eligible(candidates, np.inf if max_leaves is None else max_leaves)
    if not trees:
        return np.nan
    curve = sorted(curve, key=lambda c: (c.size or c.n_leaves, c.n_leaves))
    every = [*trees, *curve]
    comparison, least = Comparison(every, judged), step(judged)
    # what is taken from the rows that were not drawn is the agreement, whatever decides
    agreements = comparison
    if judged.score is not None:
        agreements = Comparison(every, Judged(judged.answers, None, judged.is_classifier))
    at, steps = range(len(trees)), range(len(trees), len(every))
    knee = _knee(comparison, steps, comparison.counts, least) if curve else None
    best = _decide(comparison, at, comparison.counts, favourite)[0]
    rng, n = check_random_state(random_state), len(judged.answers)
    differences = []
    for _ in range(N_SAMPLES):
        if judged.score is not None:
            n_units = len(comparison.counts)
            times = np.bincount(rng.randint(n_units, size=n_units), minlength=n_units)
            counts = times * comparison.counts
            is_out = times[comparison.unit_of] == 0
        else:
            times = np.bincount(rng.randint(n, size=n), minlength=n)
            counts = np.bincount(
                comparison.unit_of, weights=times, minlength=len(comparison.counts)
            )
            is_out = times == 0
        out = np.bincount(agreements.unit_of[is_out], minlength=len(agreements.counts))
        chosen = best
        if curve:
            chosen = _knee(comparison, steps, counts, least)
        if not curve or chosen == knee:
            chosen = _decide(comparison, at, counts, favourite)[0]
        if chosen != best:
            differences.append(agreements.agreement(chosen, out) - agreements.agreement(best, out))
        else:
            differences.append(0.0)
    # the mean of what the tree itself has on rows that were not drawn is its agreement
    return agreement_of(every[best], judged) + float(np.nanmean(differences))


def _eligible(candidates, max_leaves):
    return [
        c
        for c in candidates
        if c.is_tree and c.may_win and c.n_leaves <= max_leaves and c.rows.any()
    ]


def step(judged):
    """What twice as many leaves must bring."""
    if judged.score is None:
        return POINT if judged.is_classifier else PART
    constant = (
        judged.labels[np.argmax(judged.shares)] if judged.is_classifier else (judged.answers.mean())
    )
    floor = judged.score(judged.answers, np.full(len(judged.answers), constant))
    way = judged.score(judged.answers, judged.answers) - floor
    return PART * way if np.isfinite(way) else 0.0


def _knee(comparison, places, counts, least):
    """Place of the tree of a curve that is worth its leaves; places are in the order of sizes."""
    places = list(places)
    for at, i in enumerate(places[:-1]):
        own = comparison.candidates[i]
        if not any(
            _is_worth_it(
                comparison.lead(j, i, counts),
                least * np.log2((larger.size or larger.n_leaves) / (own.size or own.n_leaves)),
            )
            for j in places[at + 1 :]
            for larger in [comparison.candidates[j]]
        ):
            return i
    return places[-1]


def _is_worth_it(lead, least):
    """Whether a larger tree is better by so much that its leaves are worth reading."""
    return lead.mixed > max(lead.mixed_error, least)


def _decide(comparison, places, counts, favourite):
    """Places of the recommended tree, of the one that it is as good as, and of the favourite."""
    places, trees = list(places), comparison.candidates
    proven = [i for i in places if trees[i].is_proven]
    first = _favourite(places, trees, favourite)
    if proven:
        best = min(proven, key=lambda i: trees[i].n_leaves)
        return best, best, first
    better, most = first, 0.0
    for i in places:
        lead = comparison.lead(i, first, counts)
        # a little above the difference that chance makes, however few rows both were measured on
        if lead.mixed - lead.mixed_error > most and not lead.is_worse:
            better, most = i, lead.mixed - lead.mixed_error
    smaller = [
        i
        for i in places
        if trees[i].n_leaves < trees[better].n_leaves
        and comparison.lead(i, better, counts).is_as_good
    ]
    best = min([*smaller, better], key=lambda i: trees[i].n_leaves)
    return best, better, first


def _favourite(places, trees, favourite):
    for name in (favourite, "plain_tree"):
        found = [i for i in places if trees[i].name == name]
        if found:
            return found[0]
    return places[0]


def _reason(best, better, first, judged, size):
    if best.is_proven:
        return (
            f"{best.name} has {leaves(best.n_leaves)} and is proven to give the model's answer at "
            "every input."
        )
    share = agreement_of(best, judged)
    n_rows = int(best.rows.sum())
    says = (
        f"agrees with the model on {said(share, n_rows)} of the held-out rows"
        if judged.is_classifier
        else f"has an R2 of {share:.2f} with the model's values on the held-out rows"
    )
    text = f"{best.name} has {leaves(best.n_leaves)} and {says}: "
    if best is not better:
        where = ", among all rows and those of each answer" if judged.is_classifier else ""
        return f"{text}it is the smallest tree that does at least as well as {better.name}{where}."
    if best is not first:
        return f"{text}better than {first.name} by more than one standard error."
    return f"{text}no other tree{size} does better by more than one standard error."


def leaves(n):
    """Leaves in words."""
    return "1 leaf" if n == 1 else f"{n:,} leaves"


def said(share, n_rows):
    """A share in per cent, with as many digits as the rows can tell."""
    return percent(share, digits=int(n_rows >= 1000))
