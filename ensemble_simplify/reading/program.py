"""What a model makes of the leaves of its trees: its `Program`, the only form of a vote.

A program is three typed steps. The first says which numbers are formed: of trees, by adding up
leaves, or of members, which are programs themselves. The second is the choice between classes, the
third what turns the numbers into probabilities. Whoever needs a vote visits these steps:
`decision` evaluates them, `sums` and `units` find linear forms and bounds, `cut_offs` puts another
choice in their place, and `writing` has them in JSON and as code. A visitor that meets a step of a
type that it does not know refuses it by name (`unknown_step`), so that no step is forgotten by one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

import numpy as np


def unknown_step(step, visitor):
    """The error of a visitor that has no rule for a step."""
    return TypeError(f"{visitor} does not know the step {type(step).__name__}.")


# ------------------------------------------------------------------- numbers of trees


@dataclass(frozen=True, eq=False)
class OfTrees:
    """Sums of leaf values, one tree after the other, divided at the end.

    Attributes
    ----------
    start, stop : int
        The trees are ``start, ..., stop - 1``.
    n_scores : int
        Leading columns of the leaf values that are in use.
    divisor : float
    """

    start: int
    stop: int
    n_scores: int
    divisor: float = 1.0


class TreeMean(OfTrees):
    """The mean of what trees say: probabilities, or the value of a regressor."""


class TreeCount(OfTrees):
    """How many trees say each label."""


class TreeVotes(OfTrees):
    """AdaBoost: the weight of a tree for its label, and less than nothing for the others.

    Two classes are told by the lead of the upper one.
    """


@dataclass(frozen=True, eq=False)
class TreeSum(OfTrees):
    """Boosting: the sum itself, which starts from something.

    Attributes
    ----------
    init : ndarray of shape (n_scores of the forest,) or None
        Where sums start.
    dtype : {"float64", "float32"}
        In which sums are rounded, tree after tree (float32: XGBoost).
    offset : ndarray of shape (n_scores,) or None
        What is added at the end, after the division, where `init` is not.
    """

    init: np.ndarray | None = None
    dtype: str = "float64"
    offset: np.ndarray | None = None


# ------------------------------------------------------------------- numbers of members


@dataclass(frozen=True, eq=False)
class OfMembers:
    """Numbers made of what members answer.

    Attributes
    ----------
    members : tuple of Program
        Each with its `columns`.
    n_scores : int
    weights : ndarray of shape (n_members,) or None
        None: ones.
    divisor : float
    """

    members: tuple[Program, ...]
    n_scores: int
    weights: Any = None
    divisor: float = 1.0


class MemberMean(OfMembers):
    """Bagging: the sum of what members answer, divided by the divisor."""


class MemberAverage(OfMembers):
    """Soft voting: the average of their probabilities by weight."""


class MemberVotes(OfMembers):
    """AdaBoost over ensembles: what `TreeVotes` are of trees."""


class MemberCount(OfMembers):
    """Hard voting: the weight of the members that say each label."""


class MemberMedian(OfMembers):
    """AdaBoost of regressors: the median of what members answer, by their weights."""


@dataclass(frozen=True, eq=False)
class MemberStack(OfMembers):
    """What an ensemble makes of the scores of its members, by a function that nobody looks into.

    With `weights`, it is the sum of the values of members by these, up to rounding.

    Attributes
    ----------
    function : callable or None
        What it makes of rows of the scores of all members, side by side: class indices, which
        count as a score of one, or values.
    """

    function: Any = None


NUMBERS = (
    *(TreeMean, TreeCount, TreeVotes, TreeSum),
    *(MemberMean, MemberAverage, MemberVotes, MemberCount, MemberMedian, MemberStack),
)


# ------------------------------------------------------------------- choices


@dataclass(frozen=True)
class Largest:
    """The class of the largest number: the first of them, or the `last`.

    Attributes
    ----------
    last : bool
    by_link : bool
        Whether it is the largest after the softmax, whose roundings can make numbers equal.
    """

    last: bool = False
    by_link: bool = False


@dataclass(frozen=True)
class Lead:
    """The second of two classes where its number is larger, by their difference."""


@dataclass(frozen=True)
class Above:
    """The second of two classes where the one number is above another, or `inclusive`, at it.

    Attributes
    ----------
    at : float
    inclusive : bool
    by_link : bool
        Whether it is where the sigmoid is above one half, with the roundings of the library.
    """

    at: float = 0.0
    inclusive: bool = False
    by_link: bool = False


@dataclass(frozen=True)
class Cut:
    """Where one number decides between classes: two, or ranges of the number.

    The number is the score where there is one, the lead of the upper class in AdaBoost, and else
    the score of one class.

    Attributes
    ----------
    at : tuple of float
        Ascending: from each of these on, the class is the other one. Mostly there is one; none:
        there is one answer for all.
    first : int
        The class below all of them.
    column : int
        The class whose score is the number.
    ranges : tuple of int
        The classes below all of them, between them and from the last on, where there are three:
        0 below a range, 1 in it, 2 above. Empty: two classes take turns.
    """

    at: tuple[float, ...]
    first: int
    column: int = 1
    ranges: tuple[int, ...] = ()

    @property
    def n_classes(self) -> int:
        """Number of classes between which it decides."""
        return 3 if self.ranges else 2

    @property
    def last(self) -> int:
        """The class from the last of them on."""
        return self.ranges[-1] if self.ranges else (self.first + len(self.at)) % 2

    def middle(self, beside=None) -> tuple[float, float]:
        """Halfway between the first and the last of them, and how far it is from both.

        Of ranges, those are taken at which the class `beside` begins or ends.
        """
        at = self.at
        if beside is not None:
            sides = zip(at, self.ranges[:-1], self.ranges[1:], strict=True)
            at = [
                number for number, below, above in sides if (below == beside) != (above == beside)
            ]
        half = (at[-1] - at[0]) / 2.0
        return at[0] + half, half


@dataclass(frozen=True)
class Temperature:
    """Scaling of many classes' scores before their largest is taken, which moves only near ties.

    Attributes
    ----------
    beta : float or float32
        What logits are multiplied by.
    logits : {"scores", "log", "log_softmax"}
        What they are: the scores, or logarithms of the scores or of their softmax.
    """

    beta: float
    logits: str

    def margin(self, largest) -> float:
        """Scores no larger than this that differ by more than what is answered keep their order."""
        eps = float(np.finfo(np.asarray(self.beta).dtype).eps)
        return 64.0 * eps * (8.0 + largest) * (1.0 + 1.0 / float(self.beta))


# ------------------------------------------------------------------- links


@dataclass(frozen=True)
class Link:
    """What turns numbers into probabilities, or into the value of a regressor.

    Attributes
    ----------
    kind : str or None
        "sigmoid" and "softmax" give probabilities; "unknown": nobody knows what does. Of means,
        what they say of the upper class goes into the sigmoid; of AdaBoost, its lead. Values are
        such sigmoids, exponentials ("exp"), these less one ("expm1"), powers of two ("exp2"),
        logarithms of one more than exponentials ("softplus"), squares with the sign of the number
        ("square"), or what a "function" makes of it.
    slope, shift : float
        What a number is multiplied by before, and what is added then.
    by_library : bool
        Whether the exponential is the C library's, with the roundings of XGBoost and LightGBM.
    is_followed : bool
        Whether all its roundings are known. Else values can differ in their last bits.
    function : callable or None
        Of the kind "function": what it makes of an array of numbers, never falling.
    """

    kind: str | None
    slope: float = 1.0
    shift: float = 0.0
    by_library: bool = False
    is_followed: bool = True
    function: Any = None

    @property
    def log_base(self) -> float | None:
        """Values are exponentials of so many times the number, or these less one; None: others."""
        return {"exp": 1.0, "expm1": 1.0, "exp2": math.log(2.0)}.get(self.kind)


# ------------------------------------------------------------------- programs


@dataclass(frozen=True, eq=False)
class Program:
    """How the leaves of trees become a class, probabilities or a number.

    Attributes
    ----------
    numbers : OfTrees or OfMembers
        The scores.
    choice : Largest, Lead, Above, Cut or Temperature
        The class, by the scores; probabilities do not depend on it.
    link : Link or None
        None: the scores are the probabilities (of means), or values.
    columns : ndarray of int or None
        Of a member: the class index, in the whole, of each of its classes.
    calibrated : object or None
        Of a member: its ``predict_proba(scores)`` answers the probabilities that count.
    """

    numbers: OfTrees | OfMembers
    choice: Largest | Lead | Above | Cut | Temperature
    link: Link | None = None
    columns: Any = None
    calibrated: object = None

    # --------------------------------------------------------------- the same, but for ...

    def moved(self, by) -> Program:
        """The same program over trees that stand `by` places further on."""
        numbers = self.numbers
        if self.members:
            numbers = replace(numbers, members=tuple(own.moved(by) for own in self.members))
        else:
            numbers = replace(numbers, start=numbers.start + by, stop=numbers.stop + by)
        return replace(self, numbers=numbers)

    def widened(self, n_scores) -> Program:
        """The same program, its sums starting from `n_scores` columns, the new ones from zero."""
        numbers = self.numbers
        if self.members:
            members = tuple(member.widened(n_scores) for member in self.members)
            numbers = replace(numbers, members=members)
        elif self.init is not None:
            init = np.pad(self.init, (0, n_scores - self.init.shape[0]))
            numbers = replace(numbers, init=init)
        return replace(self, numbers=numbers)

    def behind(self, link) -> Program:
        """The same numbers behind another link."""
        return replace(self, link=link)

    def chosen_by(self, choice) -> Program:
        """The same numbers under another choice; None: without a cut-off or a temperature."""
        if choice is None:
            choice = self.choice if self.cut is None else _plain_choice(self.numbers)
            choice = Largest() if isinstance(choice, Temperature) else choice
        return replace(self, choice=choice)

    # --------------------------------------------------------------- trees and members

    @property
    def members(self) -> tuple[Program, ...]:
        """Programs that it is made of; empty where it adds up leaf values itself."""
        return getattr(self.numbers, "members", ())

    @property
    def member_weights(self) -> np.ndarray:
        """Weights of its members, as an array."""
        weights = getattr(self.numbers, "weights", None)
        return np.ones(len(self.members)) if weights is None else np.asarray(weights)

    @property
    def start(self) -> int:
        """Its first tree; those of its members stand one after the other."""
        return self.members[0].start if self.members else self.numbers.start

    @property
    def stop(self) -> int:
        """The tree after its last one."""
        return self.members[-1].stop if self.members else self.numbers.stop

    @property
    def trees(self) -> range:
        """Its trees."""
        return range(self.start, self.stop)

    @property
    def n_trees(self) -> int:
        """Number of its trees."""
        return self.stop - self.start

    # --------------------------------------------------------------- numbers

    @property
    def n_scores(self) -> int:
        """Number of its scores."""
        return self.numbers.n_scores

    @property
    def divisor(self) -> float:
        """By what its sums are divided."""
        return self.numbers.divisor

    @property
    def dtype(self) -> str:
        """Type in which its own sums are rounded."""
        return getattr(self.numbers, "dtype", "float64")

    @property
    def init(self) -> np.ndarray | None:
        """Where its sums of leaves start; None: from zero."""
        return getattr(self.numbers, "init", None)

    @property
    def offset(self) -> np.ndarray | None:
        """What is added to its sums of leaves at the end."""
        return getattr(self.numbers, "offset", None)

    @property
    def moved_by(self) -> np.ndarray:
        """What its sums of leaves are moved by before they are divided."""
        moved = np.zeros(self.n_scores)
        if self.init is not None:
            moved += self.init[: self.n_scores]
        if self.offset is not None:
            moved += self.divisor * self.offset
        return moved

    @property
    def largest_start(self) -> float:
        """Largest absolute number from which it, or a member, starts its sums."""
        largest = 0.0 if self.init is None else float(np.abs(self.init).max())
        if self.offset is not None:
            largest += self.divisor * float(np.abs(self.offset).max())
        return max([largest, *(member.largest_start for member in self.members)])

    @property
    def coarsest(self) -> float:
        """Rounding unit of the coarsest type in which it, or a member, adds up."""
        unit = float(np.finfo(self.dtype).eps)
        return max([unit, *(member.coarsest for member in self.members)])

    # --------------------------------------------------------------- choice and link

    @property
    def cut(self) -> Cut | None:
        """Its choice where this is a cut-off."""
        return self.choice if isinstance(self.choice, Cut) else None

    @property
    def temperature(self) -> Temperature | None:
        """Its choice where this is a temperature."""
        return self.choice if isinstance(self.choice, Temperature) else None

    @property
    def tie_upper(self) -> bool:
        """Whether the last class wins a tie, not the first."""
        return bool(getattr(self.choice, "inclusive", getattr(self.choice, "last", False)))

    @property
    def above(self) -> float:
        """The number that the one score is compared with."""
        return getattr(self.choice, "at", 0.0) if isinstance(self.choice, Above) else 0.0

    @property
    def n_classes(self) -> int:
        """Number of classes that it can answer."""
        if self.cut is not None:
            return self.cut.n_classes
        return 2 if self.has_one_score else self.n_scores

    @property
    def link_kind(self) -> str | None:
        """How numbers become probabilities; None: they are."""
        return None if self.link is None else self.link.kind

    @property
    def slope(self) -> float:
        """What a number is multiplied by before the link."""
        return 1.0 if self.link is None else self.link.slope

    @property
    def shift(self) -> float:
        """What is added to it then."""
        return 0.0 if self.link is None else self.link.shift

    @property
    def by_probability(self) -> bool:
        """Whether its probabilities are rounded as XGBoost and LightGBM round and compare them."""
        return self.link is not None and self.link.by_library

    # --------------------------------------------------------------- kinds

    @property
    def is_boosted_sum(self) -> bool:
        """Whether it is a sum that starts from something."""
        return isinstance(self.numbers, TreeSum)

    @property
    def is_of_votes(self) -> bool:
        """Whether it adds up the votes of AdaBoost."""
        return isinstance(self.numbers, TreeVotes | MemberVotes)

    @property
    def is_mean(self) -> bool:
        """Whether its numbers are means of trees or members."""
        return isinstance(self.numbers, TreeMean | MemberMean | MemberAverage)

    @property
    def counts_labels(self) -> bool:
        """Whether it counts the labels of members."""
        return isinstance(self.numbers, MemberCount)

    @property
    def has_one_score(self) -> bool:
        """Whether one sum decides between two classes, or is the value."""
        return self.is_boosted_sum and self.n_scores == 1

    @property
    def is_mean_of_trees(self) -> bool:
        """Whether it goes by the mean of what its trees say."""
        return isinstance(self.numbers, TreeMean)

    @property
    def averages_trees(self) -> bool:
        """Whether its values, or probabilities, are that mean."""
        return self.is_mean_of_trees and self.link is None

    @property
    def is_one_tree(self) -> bool:
        """Whether it answers what a single tree does."""
        return self.averages_trees and self.n_trees == 1 and self.cut is None

    @property
    def counts_trees(self) -> bool:
        """Whether it counts labels of single trees, none with a negative weight."""
        trees = all(member.is_one_tree for member in self.members)
        return self.counts_labels and trees and not (self.member_weights < 0).any()

    @property
    def is_curved(self) -> bool:
        """Whether what it hands on, as a member, is no mean of leaf values."""
        return self.calibrated is not None or self.link is not None

    @property
    def is_rising(self) -> bool:
        """Whether its scores never fall where a leaf rises: sums and means, of weights above 0."""
        if not (self.is_mean or self.is_boosted_sum) or (self.member_weights < 0).any():
            return False
        return all(member.is_rising and not member.is_curved for member in self.members)


def _plain_choice(numbers):
    """How classes are told by numbers of a kind."""
    if isinstance(numbers, TreeVotes | MemberVotes) and numbers.n_scores == 2:
        return Lead()
    return Above() if isinstance(numbers, TreeSum) and numbers.n_scores == 1 else Largest()


def are_equal(one, two) -> bool:
    """Whether two steps, or programs, say the same of the same leaves."""
    if isinstance(one, tuple) and isinstance(two, tuple):
        return len(one) == len(two) and all(map(are_equal, one, two))
    if is_dataclass(one):
        names = [field.name for field in fields(one)]
        same = type(one) is type(two)
        return same and all(are_equal(getattr(one, k), getattr(two, k)) for k in names)
    return np.array_equal(one, two)


# ------------------------------------------------------------------- programs of families


def mean_of_trees(n_trees, n_scores, *, divisor=1.0, last=False) -> Program:
    """Forests and single trees: the largest mean, or the mean itself."""
    return Program(TreeMean(0, n_trees, n_scores, divisor), Largest(last))


def count_of_trees(n_trees, n_classes) -> Program:
    """The label that most trees say."""
    return Program(TreeCount(0, n_trees, n_classes), Largest())


def boosted(
    n_trees,
    n_scores,
    *,
    init=None,
    dtype="float64",
    divisor=1,
    offset=None,
    link=None,
    choice=None,
) -> Program:
    """Boosting, of a regressor (no `link`) or a classifier."""
    numbers = TreeSum(0, n_trees, n_scores, divisor, init, dtype, offset)
    if choice is None:
        by_link = link is not None and link.by_library
        choice = Above(by_link=by_link) if n_scores == 1 else Largest(by_link=by_link)
    return Program(numbers, choice, link)


def adaboost(n_classes, divisor, *, n_trees=0, members=(), weights=None) -> Program:
    """AdaBoost over trees, whose leaves hold the votes, or over other members."""
    numbers = TreeVotes(0, n_trees, n_classes, divisor)
    if members:
        numbers = MemberVotes(tuple(members), n_classes, weights, divisor)
    return Program(numbers, _plain_choice(numbers), Link(link_of(n_classes - 1)))


def mean_of_members(members, n_scores, link=None) -> Program:
    """Bagging of ensembles, and calibrations of several folds."""
    return Program(MemberMean(tuple(members), n_scores, None, len(members)), Largest(), link)


def voting(members, n_classes, *, soft, weights=None) -> Program:
    """A `VotingClassifier`."""
    kind = MemberAverage if soft else MemberCount
    return Program(kind(tuple(members), n_classes, weights), Largest())


def link_of(n_scores) -> str:
    """What turns so many scores into probabilities, in boosting."""
    return "sigmoid" if n_scores == 1 else "softmax"


def link_margin(program) -> float:
    """Scores that differ by more keep their order through the sigmoid or softmax."""
    return 64.0 * float(np.finfo(program.dtype).eps) / abs(program.slope)
