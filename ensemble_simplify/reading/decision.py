"""Evaluating a `Program`: leaf values become scores, and scores a class, a number or probabilities.

Each step is followed with the NumPy expressions of the ensembles' own ``predict``, in their order,
so that every rounding is theirs.
"""

from __future__ import annotations

import math
from functools import singledispatch
from typing import NamedTuple

import numpy as np
from scipy.special import expit
from sklearn.utils.extmath import softmax

from ensemble_simplify.reading import program as steps
from ensemble_simplify.reading._routes import exponentials

_VISITOR = "Evaluating a model"


# ------------------------------------------------------------------- means of means


class Share(NamedTuple):
    """A program of trees inside of another one, its columns there, and its factor."""

    program: steps.Program
    columns: np.ndarray
    factor: float


def shares_of(program, columns, factor=1.0, *, through_labels=False) -> list[Share] | None:
    """The programs of trees of which a mean of means is made.

    `columns` are those, in the whole, of the program's classes, `factor` is what it is multiplied
    by there. None where a member is asked for its label, unless such members count
    (`through_labels`), or answers what is no sum.
    """
    if type(program.numbers) not in steps.NUMBERS:
        raise steps.unknown_step(program.numbers, "The linear form of a model")
    if not program.members:
        return [Share(program, columns, factor)]
    is_stack = isinstance(program.numbers, steps.MemberStack)
    if program.is_of_votes or isinstance(program.numbers, steps.MemberMedian):
        return None
    if is_stack and program.numbers.weights is None:
        return None
    if program.counts_labels and not through_labels:
        return None
    if not program.counts_labels and any(member.is_curved for member in program.members):
        return None
    weights = program.member_weights
    is_mean = isinstance(program.numbers, steps.MemberMean)
    total = program.divisor if is_mean or is_stack else weights.sum()
    shares = []
    for member, weight in zip(program.members, weights, strict=True):
        places = columns if member.columns is None else columns[member.columns]
        below = shares_of(member, places, factor * weight / total, through_labels=through_labels)
        if below is None:
            return None
        shares += below
    return shares


# ------------------------------------------------------------------- scores


def scores_of(program, sums) -> np.ndarray:
    """Mean probabilities, raw values or counts of labels; `sums` as in `Forest.decide`."""
    return _scores(program.numbers, sums)


@singledispatch
def _scores(numbers, sums):
    raise steps.unknown_step(numbers, _VISITOR)


@_scores.register
def _(numbers: steps.TreeMean | steps.TreeCount | steps.TreeVotes, sums):
    total = sums(numbers.start, numbers.stop, None)[:, : numbers.n_scores]
    return total / numbers.divisor


@_scores.register
def _(numbers: steps.TreeSum, sums):
    n_scores = numbers.n_scores
    if numbers.dtype == "float32":
        total = numbers.init[:n_scores].astype(np.float32)
        for tree in range(numbers.start, numbers.stop):
            total = total + sums(tree, tree + 1, None)[:, :n_scores].astype(np.float32)
    else:
        total = sums(numbers.start, numbers.stop, numbers.init)[:, :n_scores]
    if numbers.divisor != 1:
        total = total / total.dtype.type(numbers.divisor)
    if numbers.offset is not None:
        total = (total.astype(np.float64) + numbers.offset).astype(total.dtype)
    return total


@_scores.register
def _(numbers: steps.MemberAverage, sums):
    probabilities = [_member_scores(member, numbers.n_scores, sums) for member in numbers.members]
    return np.average(np.asarray(probabilities), axis=0, weights=numbers.weights)


@_scores.register
def _(numbers: steps.MemberMean, sums):
    total = 0.0
    for member in numbers.members:
        own = _member_scores(member, numbers.n_scores, sums)
        # probabilities are added up in float64, whatever members answer
        total = total + (own if member.columns is None else own.astype(np.float64))
    return total / numbers.divisor


@_scores.register
def _(numbers: steps.MemberVotes, sums):
    scores = 0.0
    for member, weight in zip(numbers.members, numbers.weights, strict=True):
        label = member.columns[labels_of(member, sums)]
        scores = scores + samme_votes(label, weight, numbers.n_scores)
    return scores / numbers.divisor


@_scores.register
def _(numbers: steps.MemberCount, sums):
    members, n_scores = numbers.members, numbers.n_scores
    weights = np.ones(len(members)) if numbers.weights is None else np.asarray(numbers.weights)
    labels = np.stack([m.columns[labels_of(m, sums)] for m in members], axis=1)
    counts = np.zeros((labels.shape[0], n_scores))
    rows = np.arange(labels.shape[0])
    for member, weight in enumerate(weights):
        counts[rows, labels[:, member]] += weight
    # np.bincount ends at the largest label: classes beyond it cannot win, whatever the weights.
    counts[np.arange(n_scores) > labels.max(axis=1)[:, None]] = -np.inf
    return counts


@_scores.register
def _(numbers: steps.MemberMedian, sums):
    answers = np.hstack([_member_scores(member, 1, sums) for member in numbers.members])
    # the first answer, in ascending order, up to which half the weight is
    order = np.argsort(answers, axis=1)
    below = np.cumsum(numbers.weights[order], axis=1)
    first = (below >= 0.5 * below[:, -1:]).argmax(axis=1)[:, None]
    return np.take_along_axis(answers, np.take_along_axis(order, first, axis=1), axis=1)


@_scores.register
def _(numbers: steps.MemberStack, sums):
    scores = np.hstack([scores_of(member, sums) for member in numbers.members])
    # no ensemble takes a table without rows
    found = numbers.function(scores) if len(scores) else np.zeros(0, dtype=np.intp)
    return found[:, None] if numbers.n_scores == 1 else one_hot(found, numbers.n_scores)


def _member_scores(member, n_scores, sums):
    """Probabilities of a member, in the classes of the whole, or its value; labels are ones."""
    if member.counts_labels:
        return one_hot(member.columns[labels_of(member, sums)], n_scores)
    scores = scores_of(member, sums)
    if member.calibrated is not None:
        scores = member.calibrated.predict_proba(scores)
    elif member.link is not None:
        scores = (
            values_of(member, scores)[:, None]
            if member.columns is None
            else probabilities_of(member, scores)
        )
    if member.columns is None or scores.shape[1] == n_scores:
        return scores
    full = np.zeros((scores.shape[0], n_scores))
    full[:, member.columns] = scores
    return full


# ------------------------------------------------------------------- classes


def labels_of(program, sums) -> np.ndarray:
    """Class indices; `sums` as in `Forest.decide`."""
    return labels_of_scores(program, scores_of(program, sums))


def labels_of_scores(program, scores) -> np.ndarray:
    """Class indices for the scores of a program."""
    return _labels(program.choice, program, scores)


@singledispatch
def _labels(choice, program, scores):
    raise steps.unknown_step(choice, _VISITOR)


@_labels.register
def _(choice: steps.Largest, program, scores):
    if choice.by_link:
        return _labels_by(scores, steps.link_margin(program), lambda s: _softmax(s).argmax(axis=1))
    return _largest(scores, choice.last)


@_labels.register
def _(choice: steps.Lead, program, scores):
    return (decision_of(program, scores) > 0).astype(np.intp)


@_labels.register
def _(choice: steps.Above, program, scores):
    scores = scores[:, 0]
    label = (scores >= choice.at if choice.inclusive else scores > choice.at).astype(np.intp)
    if choice.by_link:
        close = np.abs(scores) < steps.link_margin(program)
        upper = _sigmoid(scores[close], program.slope)
        # LightGBM's test; XGBoost's, above one half, is the same.
        label[close] = upper > 1 - upper
    return label


@_labels.register
def _(choice: steps.Cut, program, scores):
    if program.is_of_votes:
        number = decision_of(program, scores)
    else:
        number = scores[:, 0 if program.n_scores == 1 else choice.column]
    if len(choice.at) == 1 and not choice.ranges:
        return np.where(number >= choice.at[0], choice.last, choice.first).astype(np.intp)
    turns = np.searchsorted(choice.at, number, side="right")
    return np.array(choice.ranges)[turns] if choice.ranges else (choice.first + turns) % 2


@_labels.register
def _(choice: steps.Temperature, program, scores):
    def labels(scores):
        """The roundings of scikit-learn's temperature scaling."""
        if choice.logits != "scores":
            scores = _softmax(scores) if choice.logits == "log_softmax" else scores
            scores = np.log(scores + 1e-12)
        return softmax(choice.beta * scores).argmax(axis=1)

    return _labels_by(scores, choice.margin(float(np.abs(scores).max(initial=0.0))), labels)


def _largest(scores, last=False):
    """``scores.argmax(axis=1)``, in a tenth of the time for two columns; no entry is NaN.

    The first class wins a tie, or the `last`.
    """
    if scores.shape[1] == 2:
        above = scores[:, 1] >= scores[:, 0] if last else scores[:, 1] > scores[:, 0]
        return above.astype(np.intp)
    if last:
        return scores.shape[1] - 1 - scores[:, ::-1].argmax(axis=1)
    return scores.argmax(axis=1)


def _labels_by(scores, margin, labels):
    """The class of the largest score; ``labels`` says it where two are closer than the margin."""
    label = _largest(scores)
    first_two = np.partition(scores, -2, axis=1)[:, -2:]
    close = first_two[:, 1] - first_two[:, 0] < margin
    label[close] = labels(scores[close])
    return label


# ------------------------------------------------------------------- values


def values_of(program, scores) -> np.ndarray:
    """What a regressor's ``predict`` makes of its scores, in the type of these."""
    link, values = program.link, scores[:, 0]
    if link is None:
        return values
    if link.kind == "function":
        return link.function(values)
    if link.kind not in _VALUES:
        raise steps.unknown_step(link, _VISITOR)
    return _VALUES[link.kind](values, _exp if link.by_library else np.exp)


# ------------------------------------------------------------------- probabilities


def has_probabilities(program) -> bool:
    """Whether it is known what turns the scores of a program into its ``predict_proba``."""
    kind = program.link_kind
    return kind in ("sigmoid", "softmax") or (program.is_mean and kind is None)


def probabilities_of(program, scores) -> np.ndarray:
    """What an ensemble's ``predict_proba`` makes of its scores, see `has_probabilities`."""
    link = program.link
    if program.is_mean and link is None:
        return scores
    number = decision_of(program, scores)
    # AdaBoost's own probabilities; another slope or shift is that of a calibration over it
    if program.is_of_votes and link.slope == 1.0 and link.shift == 0.0:
        if program.n_scores == 2:
            return softmax(np.vstack([-number, number]).T / 2)
        return softmax(number / (program.n_scores - 1))
    if link.kind == "softmax":
        return _softmax(scores) if link.by_library else softmax(link.slope * scores)
    if number.ndim == 2:  # of means, what they say of the upper class
        number = number[:, 1]
    if link.by_library:
        upper = _sigmoid(number, link.slope)
    else:
        upper = expit(link.slope * number + link.shift)
    return np.column_stack([1 - upper, upper])


def decision_of(program, scores) -> np.ndarray:
    """What an ensemble's ``decision_function``, if it has one, makes of its scores."""
    if program.n_scores == 1:
        return scores[:, 0]
    if program.is_of_votes and program.n_scores == 2:
        return -scores[:, 0] + scores[:, 1]
    return scores


# The largest number that has a finite exponential.
_MOST = 709.782712893384


def _exp(x):
    # The C library's exponential, which the packages use; NumPy has its own.
    if x.dtype == np.float32:
        powers = np.empty(x.size, dtype=np.float32)
        exponentials(np.ascontiguousarray(x.ravel()), powers)
        return powers.reshape(x.shape)
    powers = [math.exp(v) if v <= _MOST else math.inf for v in x.ravel().tolist()]
    with np.errstate(over="ignore"):
        return np.array(powers, dtype=x.dtype).reshape(x.shape)


# What values are made of numbers, by kinds of links, each with the exponential that it uses.
_VALUES = {
    "exp": lambda x, exp: exp(x),
    "expm1": lambda x, exp: np.expm1(x),
    "exp2": lambda x, exp: 2.0**x,
    "sigmoid": lambda x, exp: _sigmoid(x, 1.0),
    "softplus": lambda x, exp: np.array([math.log1p(v) for v in exp(x).tolist()], dtype=x.dtype),
    "square": lambda x, exp: np.sign(x) * x * x,
}


def _sigmoid(scores, slope):
    one = scores.dtype.type(1)
    return one / (one + _exp(-scores.dtype.type(slope) * scores))


def _softmax(scores):
    # the powers are added up one after the other in float64, as the packages do
    powers = _exp(scores - scores.max(axis=1, keepdims=True))
    total = np.zeros(scores.shape[0])
    for k in range(scores.shape[1]):
        total += powers[:, k]
    return powers / total.astype(scores.dtype)[:, None]


def one_hot(label, n_classes):
    return (label[:, None] == np.arange(n_classes)).astype(np.float64)


def samme_votes(label, weight, n_classes):
    """What AdaBoost adds for a member that answers `label`."""
    if n_classes == 1:
        return np.zeros((label.shape[0], 1))
    return np.where(label[:, None] == np.arange(n_classes), weight, -1 / (n_classes - 1) * weight)


class Vote:
    """What pickles of 0.3.0 ask for, so that these are refused with what to do."""
