"""What an ensemble computes, step by step, so that any language can be told to do the same.

`Code` is made of a forest and its vote. It names every addition, division and comparison in
the order in which the ensemble's own ``predict`` does them, so that code that follows it in doubles
has the same roundings. Languages need a handful of kinds of numbers and labels; what a vote is,
they need not know.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, partial, singledispatch
from typing import Any

import numpy as np

from ensemble_simplify.grid import last_number
from ensemble_simplify.reading import has_probabilities, labels_of_scores, name_of, steps

_VISITOR = "Writing a model in a language"
# Changes of the class that a cut-off may have in written code.
_MOST_CHANGES = 16


# ------------------------------------------------------------------- numbers


@dataclass(frozen=True)
class Constant:
    """A number."""

    value: float


@dataclass(frozen=True)
class LeafSum:
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
class Exponential:
    """The exponential of a number; `single`: in float32."""

    number: Any
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


@dataclass(frozen=True)
class Text:
    """A text for each line of each part: an earlier label names the part, and a number the line.

    The label is one more than the place of the part; 0: of none, which is the empty text.
    """

    label: int
    numbers: tuple
    texts: tuple


# ------------------------------------------------------------------- labels


@dataclass(frozen=True)
class Best:
    """The place of the largest of some numbers: of the first, or the `last`, where several are.

    `softmax`: of what the softmax makes of them, in their own type, which can round to one number.
    """

    numbers: tuple
    last: bool = False
    softmax: str | None = None


@dataclass(frozen=True)
class Beyond:
    """A class that changes from `first` to the other one of two wherever a number passes one.

    `at` are ascending, and `inclusive` says whether the number itself is already beyond.
    """

    number: Any
    at: tuple
    first: int
    inclusive: bool


@dataclass(eq=False)
class Code:
    """What an ensemble computes from the leaves of its trees.

    Attributes
    ----------
    labels : list of Best and Beyond
        Classes of members, which later steps ask for by their number here.
    result : Best, Beyond or a number
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


def code_of(forest, estimator) -> Code:
    """The `Code` of a forest that was read of an estimator, which errors name."""
    writer = _Lowering(forest, estimator)
    program, vote = writer.program, forest.vote
    if forest.classes is None:
        program.result = writer.value(vote)
        return program
    program.result = writer.label(vote)
    if has_probabilities(vote):
        program.outputs = writer.probabilities(vote)
    return program


def with_reasons(code, event, order, texts, n=4) -> Code:
    """A code whose outputs are the first reasons for its answer, as texts.

    Tree by tree in some `order`, the leaves of a tree say, in columns, how much they speak for the
    answer: for the `event` (None: for a value) and for the other class; then which of its `texts`
    tells so.
    """
    labels = list(code.labels)
    lines = tuple(LeafSum(t, t + 1, 3, 0.0, False) for t in order)
    numbers = [LeafSum(t, t + 1, 1, 0.0, False) for t in order]
    if event is not None:
        answer, labels = len(labels), [*labels, code.result]
        # one times a number, and nothing, is the number itself
        sides = Chosen(answer, event, 1.0, 0.0), Chosen(answer, event, 0.0, 1.0)
        others = (LeafSum(t, t + 1, 2, 0.0, False) for t in order)
        pairs = (
            map(partial(Operation, "*"), sides, pair) for pair in zip(numbers, others, strict=True)
        )
        numbers = [Operation("+", *pair) for pair in pairs]
    outputs = []
    for _ in range(n):
        outputs.append(Text(len(labels), lines, texts))
        labels.append(Best((Constant(0.0), *numbers)))
        told = [Chosen(len(labels) - 1, k, -1e30, 0.0) for k in range(1, len(numbers) + 1)]
        numbers = list(map(partial(Operation, "+"), numbers, told))
    return Code(labels, code.result, outputs, code.margin)


class _Lowering:
    """Follows a vote as `decision` does, and notes what is done."""

    def __init__(self, forest, estimator):
        self.forest, self.estimator = forest, estimator
        self.program, self.noted = Code(), {}

    def refuse(self, what, remedy):
        """Raise an error that names the model."""
        raise TypeError(f"{name_of(self.estimator)} {what}, which cannot be written. {remedy}")

    # --------------------------------------------------------------- scores

    def scores(self, vote):
        """What `decision.scores_of` answers, as numbers, one for each score."""
        if vote.calibrated is not None:
            self.refuse(
                "averages calibrations of several folds or many classes",
                "Fit the calibration with ensemble=False, or write the model without it.",
            )
        return _scores(vote.numbers, self)

    def members(self, numbers, write=None):
        """What is written of each member, in the classes of the whole: a list for each class.

        It is its probabilities, if not told otherwise.
        """
        write = write or partial(self.probabilities_of_member, n_scores=numbers.n_scores)
        written = list(map(write, numbers.members))
        return [[one[k] for one in written] for k in range(numbers.n_scores)]

    def probabilities_of_member(self, member, n_scores):
        """Probabilities of a member, in the classes of the whole; labels count as ones."""
        if member.counts_labels:
            return self.chosen(member, n_scores, 1.0, 0.0)
        if member.link is None:
            scores = self.scores(member)
        elif member.columns is None:
            scores = [self.value(member)]
        else:
            scores = list(map(self.as_number, self.probabilities(member)))
        if member.columns is None or len(scores) == n_scores:
            return scores
        full = [Constant(0.0)] * n_scores
        for score, k in zip(scores, member.columns.tolist(), strict=True):
            full[k] = score
        return full

    def as_number(self, number):
        """A number that others are made of: a probability of two classes as its formula."""
        if not isinstance(number, Probability):
            return number
        if number.link != "sigmoid":
            self.refuse(
                "averages probabilities of more than two classes behind a softmax",
                "Write its members (estimators_).",
            )
        upper = _sigmoid(number.numbers[0], number.single)
        return upper if number.column else Operation("-", Constant(1.0), upper, number.single)

    def chosen(self, member, n_scores, yes, no):
        """For every class one number if it is the label of a member, another one if not."""
        # labels and probabilities of the whole may both ask for a label
        if id(member) not in self.noted:
            self.program.labels.append(self.label(member))
            self.noted[id(member)] = len(self.program.labels) - 1
        places = np.full(n_scores, -1)
        places[member.columns] = np.arange(len(member.columns))
        return [Chosen(self.noted[id(member)], k, yes, no) for k in places.tolist()]

    # --------------------------------------------------------------- labels

    def label(self, vote):
        """What `decision.labels_of` answers."""
        return _label(vote.choice, vote, self.scores(vote), self)

    # --------------------------------------------------------------- values and probabilities

    def value(self, vote):
        """What `decision.values_of` answers, but for the roundings of the exponential."""
        (score,) = self.scores(vote)
        if vote.link is None:
            return score
        single = vote.dtype == "float32"
        if vote.link.kind == "sigmoid":
            return _sigmoid(score, single)
        base = vote.link.log_base
        if base is None:
            self.refuse(
                "changes its sums by a function of its own",
                "Write the model inside (regressor_), and change its values where they are used.",
            )
        if base != 1.0:
            score = Operation("*", Constant(base), score, single)
        value = Exponential(score, single)
        return Operation("+", value, Constant(-1.0), single) if vote.link.kind == "expm1" else value

    def probabilities(self, vote):
        """What `decision.probabilities_of` answers, but for the roundings of the exponential."""
        scores, n, link = self.scores(vote), vote.n_classes, vote.link
        if vote.is_mean and link is None:
            return scores
        single = vote.dtype == "float32"
        if vote.is_of_votes:
            if vote.n_scores == 2:
                scores = [_lead(scores)]
            else:
                scores = [Operation("/", score, Constant(n - 1.0)) for score in scores]
        elif link.kind == "sigmoid":
            scores = scores[-1:]  # of means, what they say of the upper class
        if link.slope != 1.0:
            slope = Constant(float(link.slope))
            scores = [Operation("*", slope, score, single) for score in scores]
        if link.shift != 0.0:
            shift = Constant(float(link.shift))
            scores = [Operation("+", score, shift, single) for score in scores]
        kind = "softmax" if len(scores) > 1 else "sigmoid"
        return [Probability(kind, tuple(scores), k, single) for k in range(n)]


def _sigmoid(score, single) -> Operation:
    below = Exponential(Operation("*", Constant(-1.0), score, single), single)
    return Operation("/", Constant(1.0), Operation("+", below, Constant(1.0), single), single)


# ------------------------------------------------------------------- numbers, step by step


@singledispatch
def _scores(numbers, writer):
    raise steps.unknown_step(numbers, _VISITOR)


@_scores.register
def _(numbers: steps.TreeMean | steps.TreeVotes, writer):
    return [_over(_tree_sum(numbers, k), numbers.divisor) for k in range(numbers.n_scores)]


@_scores.register
def _(numbers: steps.TreeCount, writer):
    return [_tree_sum(numbers, k) for k in range(numbers.n_scores)]


@_scores.register
def _(numbers: steps.TreeSum, writer):
    single, scores = numbers.dtype == "float32", []
    for k in range(numbers.n_scores):
        init = 0.0 if numbers.init is None else float(numbers.init[k])
        score = _tree_sum(numbers, k, init, single)
        if numbers.divisor != 1:
            score = _over(score, numbers.divisor, single)
        if numbers.offset is not None:
            # added in float64, then rounded
            score = Operation("+", score, Constant(float(numbers.offset[k])), single)
        scores.append(score)
    return scores


def _tree_sum(numbers, k, init=0.0, single=False) -> LeafSum:
    return LeafSum(numbers.start, numbers.stop, k, init, single)


def _over(number, divisor, single=False) -> Operation:
    return Operation("/", number, Constant(float(divisor)), single)


@_scores.register
def _(numbers: steps.MemberMean, writer):
    return [_over(_added(terms, 0.0), numbers.divisor) for terms in writer.members(numbers)]


@_scores.register
def _(numbers: steps.MemberAverage, writer):
    weights, columns = numbers.weights, writer.members(numbers)
    if weights is None:
        # NumPy's mean of what is all float32 is in float32
        single = all(own.dtype == "float32" and own.link is not None for own in numbers.members)
        return [_over(_added(terms, None, single), float(len(terms)), single) for terms in columns]
    weights = np.asarray(weights, dtype=np.float64)
    # the total is NumPy's own, in its order
    ones = np.ones((len(weights), 2, numbers.n_scores))
    total = float(np.average(ones, axis=0, weights=weights, returned=True)[1].flat[0])
    factors = [Constant(float(weight)) for weight in weights]
    return [
        _over(_added(map(partial(Operation, "*"), terms, factors), None), total)
        for terms in columns
    ]


@_scores.register
def _(numbers: steps.MemberMedian | steps.MemberStack, writer):
    if isinstance(numbers, steps.MemberStack) and numbers.weights is not None:
        terms = [writer.probabilities_of_member(member, 1)[0] for member in numbers.members]
        weights = [Constant(float(weight)) for weight in numbers.weights]
        return [_added(map(partial(Operation, "*"), terms, weights), None)]
    writer.refuse(
        "makes no sum of what its members answer",
        "Write its members (estimators_), or a tree that simplify makes of it.",
    )


@_scores.register
def _(numbers: steps.MemberVotes, writer):
    n, weights = numbers.n_scores, iter(numbers.weights)

    def votes(member):
        weight = float(next(weights)) if n > 1 else 0.0
        return writer.chosen(member, n, weight, -1 / (n - 1) * weight if n > 1 else 0.0)

    columns = writer.members(numbers, votes)
    return [_over(_added(terms, 0.0), numbers.divisor) for terms in columns]


@_scores.register
def _(numbers: steps.MemberCount, writer):
    weights = [1.0] * len(numbers.members)
    weights = weights if numbers.weights is None else np.asarray(numbers.weights, float).tolist()
    if min(weights) < 0 or not max(weights) > 0:
        writer.refuse("votes with weights that are negative, or all zero", "Use positive ones.")
    given = iter(weights)
    columns = writer.members(
        numbers, lambda member: writer.chosen(member, numbers.n_scores, next(given), 0.0)
    )
    return [_added(terms, 0.0) for terms in columns]


# ------------------------------------------------------------------- labels, step by step


@singledispatch
def _label(choice, vote, scores, writer):
    raise steps.unknown_step(choice, _VISITOR)


@_label.register
def _(choice: steps.Largest, vote, scores, writer):
    return Best(tuple(scores), choice.last, vote.dtype if choice.by_link else None)


@_label.register
def _(choice: steps.Temperature, vote, scores, writer):
    # scores of at most this size; others have a larger margin, and are as rarely close
    sums = writer.forest.sums
    margin = choice.margin(1.0 if sums is None else float(sums.magnitude))
    writer.program.margin = max(writer.program.margin, float(margin))
    return Best(tuple(scores))


@_label.register
def _(choice: steps.Lead, vote, scores, writer):
    return Beyond(_lead(scores), (0.0,), 0, False)


@_label.register
def _(choice: steps.Above, vote, scores, writer):
    if not choice.by_link:
        return Beyond(scores[0], (float(choice.at),), 0, choice.inclusive)

    def is_lower(x):
        return labels_of_scores(vote, x[:, None].astype(vote.dtype)) == 0

    # the largest score of the lower class, by the exponential of the library
    (at,) = last_number(is_lower, 1, vote.dtype).tolist()
    return Beyond(scores[0], (at,), 0, False)


@_label.register
def _(choice: steps.Cut, vote, scores, writer):
    if len(choice.at) > _MOST_CHANGES:
        writer.refuse(
            f"changes its class {len(choice.at)} times while its score rises",
            "Fit the calibration again, or write the model without it.",
        )
    if vote.is_of_votes:
        number = _lead(scores)
    else:
        number = scores[0 if vote.n_scores == 1 else choice.column]
    return Beyond(number, choice.at, choice.first, True)


def _lead(scores) -> Operation:
    return Operation("-", scores[1], scores[0])


def _added(terms, init, single=False):
    """The sum of some terms, one after the other, from a number on; None: from the first term."""
    terms = list(terms)
    total = terms.pop(0) if init is None else Constant(init)
    for term in terms:
        total = Operation("+", total, term, single)
    return total


# ------------------------------------------------------------------- what languages share


class StepWriter:
    """Writes the steps of a program in a language, each number in a variable.

    A language says how it writes what is only named here.
    """

    # A number as it stands in the language; the variables for a `LeafSum`, an `Operation` on two
    # variables, an `Exponential` of one and a `Chosen`; what stands for a `Text`, of the lines of
    # whose parts there are variables.
    literal: Callable
    tree_sum: Callable
    operation: Callable
    exponential: Callable
    chosen: Callable
    text_of: Callable
    # They write the steps of a `Beyond` and of a `Best`.
    above: Callable
    largest: Callable

    def number(self, number):
        """The variable, or literal, that holds a number; what it takes is written before."""
        if isinstance(number, Constant):
            return self.literal(number.value)
        if isinstance(number, LeafSum):
            return self.tree_sum(number)
        if isinstance(number, Operation):
            one, two = self.known(number.one), self.known(number.two)
            return self.operation(number.sign, one, two, number.single)
        if isinstance(number, Exponential):
            return self.exponential(self.number(number.number), number.single)
        if isinstance(number, Chosen):
            return self.chosen(number)
        if isinstance(number, Text):
            return self.text_of(number, [self.known(line) for line in number.numbers])
        raise TypeError(f"{type(number).__name__} is no number")

    def known(self, number):
        """The same; what was written before is not written again."""
        if number not in self._kept:
            self._kept[number] = self.number(number)
        return self._kept[number]

    @cached_property
    def _kept(self):
        return {}

    def label(self, label, target):
        """Write the steps that put a class in a variable."""
        if isinstance(label, Beyond):
            self.above(label, self.number(label.number), target)
        else:
            self.largest(label, [self.known(score) for score in label.numbers], target)

    def labels(self, program):
        """Write the labels of members."""
        for i, label in enumerate(program.labels):
            self.label(label, f"label_{i}")
