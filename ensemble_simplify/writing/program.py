"""What an ensemble computes, step by step, so that any language can be told to do the same.

A `Program` is made of a forest and its vote. It names every addition, division and comparison in
the order in which the ensemble's own ``predict`` does them, so that code that follows it in doubles
has the same roundings. Languages need a handful of kinds of numbers and labels; what a vote is,
they need not know.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ensemble_simplify.grid import last_number
from ensemble_simplify.reading import (
    has_probabilities,
    labels_of_scores,
    name_of,
)

# Changes of the class that a cut-off may have in written code.
_MOST_CHANGES = 16


# ------------------------------------------------------------------- numbers


@dataclass(frozen=True)
class Constant:
    """A number."""

    value: float


@dataclass(frozen=True)
class TreeSum:
    """`init` plus what some trees say in a column, one after the other; `single`: in float32."""

    start: int
    stop: int
    column: int
    init: float
    single: bool


@dataclass(frozen=True)
class Operation:
    """``one + two``, and so on; `single`: rounded to float32."""

    sign: str
    one: Any
    two: Any
    single: bool = False


@dataclass(frozen=True)
class Chosen:
    """One number where an earlier label is a class, another one elsewhere."""

    label: int
    column: int
    yes: float
    no: float


@dataclass(frozen=True)
class Probability:
    """The probability of a class, by a sigmoid or softmax of some numbers; `single`: in float32."""

    link: str
    numbers: tuple
    column: int
    single: bool


# ------------------------------------------------------------------- labels


@dataclass(frozen=True)
class Largest:
    """The place of the largest of some numbers: of the first, or the `last`, where several are.

    `softmax`: of what the softmax makes of them, in their own type, which can round to one number.
    """

    numbers: tuple
    last: bool = False
    softmax: str | None = None


@dataclass(frozen=True)
class Above:
    """A class that changes from `first` to the other one of two wherever a number passes one.

    `at` are ascending, and `inclusive` says whether the number itself is already beyond.
    """

    number: Any
    at: tuple
    first: int
    inclusive: bool


@dataclass(eq=False)
class Program:
    """What an ensemble computes from the leaves of its trees.

    Attributes
    ----------
    labels : list of Largest and Above
        Classes of members, which later steps ask for by their number here.
    result : Largest, Above or a number
        The class, or the value.
    outputs : list of numbers or None
        Probabilities of the classes; None where they are not known.
    margin : float
        Classes whose scores are closer than this could be answered otherwise, for the ensemble
        compares what exponentials make of them; 0: never.
    """

    labels: list = field(default_factory=list)
    result: Any = None
    outputs: list | None = None
    margin: float = 0.0


def program_of(forest, estimator):
    """The `Program` of a forest that was read of an estimator, which errors name."""
    writer = _Writer(forest, estimator)
    program, vote = writer.program, forest.vote
    if forest.classes is None:
        (program.result,) = writer.scores(vote)
        return program
    program.result = writer.label(vote)
    if has_probabilities(vote):
        program.outputs = writer.probabilities(vote)
    return program


class _Writer:
    """Follows a vote as `decision` does, and notes what is done."""

    def __init__(self, forest, estimator):
        self.forest, self.estimator = forest, estimator
        self.program, self.noted = Program(), {}

    def refuse(self, what, remedy):
        raise TypeError(f"{name_of(self.estimator)} {what}, which cannot be written. {remedy}")

    # --------------------------------------------------------------- scores

    def scores(self, vote):
        """What `decision.scores_of` answers, as numbers, one for each score."""
        if vote.calibrated is not None:
            self.refuse(
                "averages calibrations of several folds or many classes",
                "Fit the calibration with ensemble=False, or write the model without it.",
            )
        if vote.rule == "soft":
            return self._soft(vote)
        if vote.rule == "mean" and vote.members:
            members = [self._member(member, vote) for member in vote.members]
            return [
                Operation("/", _added([own[k] for own in members], 0.0), Constant(vote.scale))
                for k in range(vote.n_scores)
            ]
        if vote.rule == "samme" and vote.members:
            return self._samme(vote)
        single = vote.dtype == "float32"
        init = np.zeros(vote.n_scores) if vote.init is None else vote.init[: vote.n_scores]
        sums = [
            TreeSum(vote.start, vote.stop, k, float(init[k]), single) for k in range(vote.n_scores)
        ]
        if vote.rule in ("mean", "samme"):
            return [Operation("/", own, Constant(vote.scale)) for own in sums]
        return [self._finished(vote, own, k) for k, own in enumerate(sums)]

    def _finished(self, vote, number, k):
        single = vote.dtype == "float32"
        if vote.divisor != 1:
            number = Operation("/", number, Constant(float(vote.divisor)), single)
        if vote.offset is not None:
            # added in float64, then rounded
            number = Operation("+", number, Constant(float(vote.offset[k])), single)
        return number

    def _soft(self, vote):
        members = [self._member(member, vote) for member in vote.members]
        weights = vote.weights
        if weights is None:
            total = float(len(members))
        else:
            weights = np.asarray(weights, dtype=np.float64)
            ones = np.ones((len(weights), 2, vote.n_scores))
            total = float(np.average(ones, axis=0, weights=weights, returned=True)[1].flat[0])
        scores = []
        for k in range(vote.n_scores):
            terms = [own[k] for own in members]
            if weights is not None:
                terms = [
                    Operation("*", term, Constant(float(weight)))
                    for term, weight in zip(terms, weights, strict=True)
                ]
            scores.append(Operation("/", _added(terms, None), Constant(total)))
        return scores

    def _member(self, member, vote):
        """Probabilities of a member, in the classes of the vote around it."""
        if member.rule == "hard":
            label = self._noted(member)
            return [Chosen(label, k, 1.0, 0.0) for k in self._places(member.columns, vote.n_scores)]
        if member.link is not None:
            self.refuse("averages probabilities behind a sigmoid or softmax", "Write its members.")
        scores = self.scores(member)
        if member.columns is None or len(scores) == vote.n_scores:
            return scores
        full = [Constant(0.0)] * vote.n_scores
        for own, k in zip(scores, member.columns.tolist(), strict=True):
            full[k] = own
        return full

    @staticmethod
    def _places(columns, n):
        """For every class of a vote, the class of the member that it is; -1: none."""
        places = np.full(n, -1)
        places[columns] = np.arange(len(columns))
        return places.tolist()

    def _samme(self, vote):
        n = vote.n_scores
        scores = []
        members = [(self._noted(member), member) for member in vote.members]
        for k in range(n):
            terms = []
            for (label, member), weight in zip(members, vote.weights, strict=True):
                other = 0.0 if n == 1 else -1 / (n - 1) * float(weight)
                own = 0.0 if n == 1 else float(weight)
                terms.append(Chosen(label, self._places(member.columns, n)[k], own, other))
            scores.append(Operation("/", _added(terms, 0.0), Constant(vote.scale)))
        return scores

    # --------------------------------------------------------------- labels

    def _noted(self, vote):
        """The number of the label of a member among those of the program."""
        # labels and probabilities of the whole may both ask for it
        if id(vote) not in self.noted:
            self.program.labels.append(self.label(vote))
            self.noted[id(vote)] = len(self.program.labels) - 1
        return self.noted[id(vote)]

    def label(self, vote):
        """What `decision.labels_of` answers."""
        if vote.rule == "hard":
            return self._hard(vote)
        scores = self.scores(vote)
        if vote.cut is not None:
            return self._cut(vote, scores)
        if vote.temperature is not None:
            # scores of at most this size; others have a larger margin, and are as rarely close
            self._doubt(vote.temperature.margin(self._largest(vote)))
            return Largest(tuple(scores))
        if vote.rule == "samme" and vote.n_scores == 2:
            return Above(self._lead(scores), (0.0,), 0, False)
        if vote.rule == "additive" and vote.n_scores == 1:
            if vote.by_probability:
                # the largest score of the lower class, by the exponential of the library
                def is_lower(x):
                    return labels_of_scores(vote, x[:, None].astype(vote.dtype)) == 0

                (at,) = last_number(is_lower, 1, vote.dtype).tolist()
                return Above(scores[0], (at,), 0, False)
            return Above(scores[0], (float(vote.above),), 0, vote.tie_upper)
        if vote.rule == "additive" and vote.by_probability:
            return Largest(tuple(scores), softmax=vote.dtype)
        return Largest(tuple(scores), vote.tie_upper)

    @staticmethod
    def _lead(scores):
        return Operation("-", scores[1], scores[0])

    def _largest(self, vote):
        sums = self.forest.sums
        return 1.0 if sums is None else float(sums.magnitude)

    def _doubt(self, margin):
        self.program.margin = max(self.program.margin, float(margin))

    def _hard(self, vote):
        weights = vote.member_weights
        if (weights < 0).any() or not (weights > 0).any():
            self.refuse("votes with weights that are negative, or all zero", "Use positive ones.")
        members = [(self._noted(member), member) for member in vote.members]
        counts = []
        for k in range(vote.n_scores):
            terms = [
                Chosen(label, self._places(member.columns, vote.n_scores)[k], float(weight), 0.0)
                for (label, member), weight in zip(members, weights, strict=True)
            ]
            counts.append(_added(terms, 0.0))
        return Largest(tuple(counts))

    def _cut(self, vote, scores):
        cut = vote.cut
        if len(cut.at) > _MOST_CHANGES:
            self.refuse(
                f"changes its class {len(cut.at)} times while its score rises",
                "Fit the calibration again, or write the model without it.",
            )
        if vote.rule == "samme":
            number = self._lead(scores)
        else:
            number = scores[0 if vote.n_scores == 1 else cut.column]
        return Above(number, cut.at, cut.first, True)

    # --------------------------------------------------------------- probabilities

    def probabilities(self, vote):
        """What `decision.probabilities_of` answers, but for the roundings of the exponential."""
        scores, n = self.scores(vote), vote.n_classes
        if vote.rule in ("mean", "soft") and vote.link is None:
            return scores
        single = vote.dtype == "float32"
        if vote.rule == "samme":
            if vote.n_scores == 2:
                scores = [self._lead(scores)]
            else:
                scores = [Operation("/", own, Constant(n - 1.0)) for own in scores]
        elif vote.link == "sigmoid":
            scores = scores[-1:]  # of means, what they say of the upper class
        if vote.slope != 1.0:
            slope = Constant(float(vote.slope))
            scores = [Operation("*", slope, own, single) for own in scores]
        if vote.shift != 0.0:
            scores = [Operation("+", own, Constant(float(vote.shift)), single) for own in scores]
        link = "softmax" if len(scores) > 1 else "sigmoid"
        return [Probability(link, tuple(scores), k, single) for k in range(n)]


def _added(terms, init):
    """The sum of some terms, one after the other, from a number on; None: from the first term."""
    terms = list(terms)
    total = terms.pop(0) if init is None else Constant(init)
    for term in terms:
        total = Operation("+", total, term)
    return total


# ------------------------------------------------------------------- what languages share


class StepWriter:
    """Writes the steps of a program in a language, each number in a variable.

    A language says how it writes what raises an error here.
    """

    def literal(self, value):
        """A number as it stands in the language."""
        raise NotImplementedError

    def tree_sum(self, own):
        """The variable for a `TreeSum`."""
        raise NotImplementedError

    def operation(self, sign, one, two, single):
        """The variable for an `Operation` on two variables."""
        raise NotImplementedError

    def chosen(self, own):
        """The variable for a `Chosen`."""
        raise NotImplementedError

    def above(self, label, number, target):
        """Write the steps of an `Above`."""
        raise NotImplementedError

    def largest(self, label, numbers, target):
        """Write the steps of a `Largest`."""
        raise NotImplementedError

    def number(self, number):
        """The variable, or literal, that holds a number; what it takes is written before."""
        if isinstance(number, Constant):
            return self.literal(number.value)
        if isinstance(number, TreeSum):
            return self.tree_sum(number)
        if isinstance(number, Operation):
            one, two = self.number(number.one), self.number(number.two)
            return self.operation(number.sign, one, two, number.single)
        if isinstance(number, Chosen):
            return self.chosen(number)
        raise TypeError(f"{type(number).__name__} is no number")

    def label(self, label, target):
        """Write the steps that put a class in a variable."""
        if isinstance(label, Above):
            self.above(label, self.number(label.number), target)
        else:
            self.largest(label, [self.number(own) for own in label.numbers], target)

    def labels(self, program):
        """Write the labels of members."""
        for i, label in enumerate(program.labels):
            self.label(label, f"label_{i}")
