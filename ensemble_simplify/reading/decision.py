"""How an ensemble decides: leaf values become scores, and scores a class or a number.

A `Vote` says which sums of leaf values are formed, what decides between them, and what turns them
into probabilities; `labels_of` and `scores_of` follow it with the NumPy expressions of the
ensembles' own ``predict``, in their order, so that every rounding is theirs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.special import expit
from sklearn.utils.extmath import softmax


@dataclass(frozen=True)
class Cut:
    """Where one number decides between classes: two, or ranges of the number.

    The number is the score where there is one, the lead of the upper class in ``"samme"``, and else
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
    def n_classes(self):
        """Number of classes between which it decides."""
        return 3 if self.ranges else 2

    @property
    def last(self):
        """The class from the last of them on."""
        return self.ranges[-1] if self.ranges else (self.first + len(self.at)) % 2

    def middle(self, beside=None):
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

    def labels(self, vote, scores):
        """Class indices for the scores of a vote."""
        number = decision_of(vote, scores) if vote.rule == "samme" else scores[:, self._of(vote)]
        if len(self.at) == 1 and not self.ranges:
            return np.where(number >= self.at[0], self.last, self.first).astype(np.intp)
        turns = np.searchsorted(self.at, number, side="right")
        return np.array(self.ranges)[turns] if self.ranges else (self.first + turns) % 2

    def _of(self, vote):
        return 0 if vote.n_scores == 1 else self.column


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

    def margin(self, largest):
        """Scores no larger than this that differ by more than what is answered keep their order."""
        eps = float(np.finfo(np.asarray(self.beta).dtype).eps)
        return 64.0 * eps * (8.0 + largest) * (1.0 + 1.0 / float(self.beta))

    def labels(self, vote, scores):
        """Class indices, with the roundings of scikit-learn's temperature scaling."""
        if self.logits != "scores":
            scores = _softmax(scores) if self.logits == "log_softmax" else scores
            scores = np.log(scores + 1e-12)
        return softmax(self.beta * scores).argmax(axis=1)


@dataclass(frozen=True, eq=False)
class Vote:
    """How leaf votes become a class.

    Attributes
    ----------
    rule : {"mean", "majority", "samme", "additive", "soft", "hard"}
        ``"mean"``: sums divided by `scale`, first argmax (for regression, the mean);
        ``"majority"``: counts of tree labels, first argmax;
        ``"samme"``: AdaBoost; sums divided by `scale`, the sum of the weights;
        ``"additive"``: boosting, sums from `init`; with one score, class 1 iff
        it is above `above`, or at it if `tie_upper`, else first argmax;
        ``"soft"`` and ``"hard"``: a `VotingClassifier` over `members`.
    start, stop : int
        Its trees are ``start, ..., stop - 1``.
    n_scores : int
        Number of leading score columns in use.
    members : tuple of Vote
        Votes it is made of; if empty, it adds up leaf values itself. Besides
        ``"soft"`` and ``"hard"``, also ``"mean"`` and ``"samme"`` may have members.
    weights : ndarray of shape (n_members,) or None
        Weights of the members.
    init : ndarray of shape (n_scores of the forest,) or None
        Where the sums start.
    scale : float
        Divisor of ``"mean"`` and ``"samme"``.
    tie_upper : bool
        Whether the upper of two classes wins a tie.
    cut : Cut or None
        Which scores lead to which of two classes, or of ranges of a number. None: the rule says
        so. Probabilities do not depend on it.
    temperature : Temperature or None
        What scales the scores of more classes before they are compared.
    columns : ndarray of int or None
        Of a member: the class index, in the vote around it, of each of its classes.
    link : {None, "sigmoid", "softmax", "unknown"}
        What turns sums into probabilities; None: they are the probabilities, or the values. Of
        ``"samme"``, the sums are the leads of the upper class; of ``"mean"`` and ``"soft"``, what
        they say of the upper class is what goes into the sigmoid.
    slope, shift : float
        What a sum is multiplied by before the sigmoid or softmax, and what is added then.
    calibrated : object or None
        Of a member: its ``predict_proba(scores)`` answers the probabilities that count.
    by_probability : bool
        Whether the probabilities are compared, with the roundings of `link`, and not the sums.
    dtype : {"float64", "float32"}
        Type in which the sums of ``"additive"`` are rounded, tree after tree (float32: XGBoost).
    divisor : int
        By what the sums of ``"additive"`` are divided before `link` (LightGBM's forests).
    offset : ndarray of shape (n_scores,) or None
        What is added to sums (or quotients) of ``"additive"`` at the end, where `init` is not.
    above : float
        With one score of ``"additive"``: class 1 iff it is above this number.
    """

    rule: str
    start: int
    stop: int
    n_scores: int
    members: tuple[Vote, ...] = ()
    weights: np.ndarray | None = None
    init: np.ndarray | None = None
    scale: float = 1.0
    tie_upper: bool = False
    columns: np.ndarray | None = None
    link: str | None = None
    slope: float = 1.0
    shift: float = 0.0
    by_probability: bool = False
    dtype: str = "float64"
    divisor: int = 1
    offset: np.ndarray | None = None
    above: float = 0.0
    cut: Cut | None = None
    temperature: Temperature | None = None
    calibrated: object = None

    def moved(self, by):
        """The same vote over trees that stand `by` places further on."""
        members = tuple(member.moved(by) for member in self.members)
        return replace(self, start=self.start + by, stop=self.stop + by, members=members)

    def widened(self, n_scores):
        """The same vote, its sums starting from `n_scores` columns, the new ones from zero."""
        members = tuple(member.widened(n_scores) for member in self.members)
        init = self.init
        if init is not None:
            init = np.pad(init, (0, n_scores - init.shape[0]))
        return replace(self, members=members, init=init)

    @property
    def trees(self):
        """Its trees, as a range."""
        return range(self.start, self.stop)

    @property
    def n_trees(self):
        """Number of its trees."""
        return self.stop - self.start

    @property
    def has_one_score(self):
        """Whether one sum decides between two classes, or is the value."""
        return self.rule == "additive" and self.n_scores == 1

    @property
    def n_classes(self):
        """Number of classes that it can answer."""
        if self.cut is not None:
            return self.cut.n_classes
        return 2 if self.has_one_score else self.n_scores

    @property
    def is_mean_of_trees(self):
        """Whether it goes by the mean of what its trees say."""
        return self.rule == "mean" and not self.members

    @property
    def averages_trees(self):
        """Whether its values, or probabilities, are that mean."""
        return self.is_mean_of_trees and self.link is None

    @property
    def is_one_tree(self):
        """Whether it answers what a single tree does."""
        return self.averages_trees and self.n_trees == 1 and self.cut is None

    @property
    def counts_trees(self):
        """Whether it counts labels of single trees, none with a negative weight."""
        trees = all(member.is_one_tree for member in self.members)
        return self.rule == "hard" and trees and not (self.member_weights < 0).any()

    @property
    def member_weights(self):
        """Weights of its members, as an array."""
        return np.ones(len(self.members)) if self.weights is None else np.asarray(self.weights)

    @property
    def moved_by(self):
        """What its sums of leaves are moved by before they are divided by `divisor`."""
        moved = np.zeros(self.n_scores)
        if self.init is not None:
            moved += self.init[: self.n_scores]
        if self.offset is not None:
            moved += self.divisor * self.offset
        return moved

    @property
    def coarsest(self):
        """Rounding unit of the coarsest type in which it, or a member, adds up."""
        own = float(np.finfo(self.dtype).eps)
        return max([own, *(member.coarsest for member in self.members)])

    @property
    def is_rising(self):
        """Whether its scores never fall where a leaf rises: sums and means, of weights above 0."""
        if self.rule not in ("mean", "soft", "additive") or self.calibrated is not None:
            return False
        return bool(
            (self.member_weights >= 0).all() and all(member.is_rising for member in self.members)
        )

    @property
    def is_boosted(self):
        """Whether its probabilities are no mean of leaf values, but for members' labels."""
        return (
            self.rule in ("samme", "additive")
            or self.link is not None
            or any(member.rule != "hard" and member.is_boosted for member in self.members)
        )

    @property
    def largest_start(self):
        """Largest absolute number from which it, or a member, starts its sums."""
        own = 0.0 if self.init is None else float(np.abs(self.init).max())
        if self.offset is not None:
            own += self.divisor * float(np.abs(self.offset).max())
        return max([own, *(member.largest_start for member in self.members)])


class Part(NamedTuple):
    """A vote without members inside of another one, its columns there, and its factor."""

    vote: Vote
    columns: np.ndarray
    factor: float


def parts_of(vote, columns, factor=1.0, *, through_labels=False):
    """The votes without members of which a mean of means is made, as a list of `Part`.

    `columns` are those, in the whole, of the vote's classes, `factor` is what it is multiplied by
    there. None where a member is asked for its label, unless such members count
    (`through_labels`), or is calibrated.
    """
    if vote.calibrated is not None:
        return None
    if not vote.members:
        return [Part(vote, columns, factor)]
    if vote.rule == "samme" or (vote.rule == "hard" and not through_labels):
        return None
    weights = vote.member_weights
    total = vote.scale if vote.rule == "mean" else weights.sum()
    found = []
    for member, weight in zip(vote.members, weights, strict=True):
        own = columns if member.columns is None else columns[member.columns]
        below = parts_of(member, own, factor * weight / total, through_labels=through_labels)
        if below is None:
            return None
        found += below
    return found


def scores_of(vote, sums):
    """Mean probabilities (or raw values) of a vote; `sums` as in `Forest.decide`."""
    if vote.rule == "soft":
        probabilities = np.asarray([_member_scores(member, vote, sums) for member in vote.members])
        return np.average(probabilities, axis=0, weights=vote.weights)
    if vote.rule == "mean" and vote.members:
        total = 0.0
        for member in vote.members:
            total = total + _member_scores(member, vote, sums)
        return total / vote.scale
    if vote.rule == "samme" and vote.members:
        scores = 0.0
        for member, weight in zip(vote.members, vote.weights, strict=True):
            label = member.columns[labels_of(member, sums)]
            scores = scores + samme_votes(label, weight, vote.n_scores)
        return scores / vote.scale
    if vote.dtype == "float32":
        total = vote.init[: vote.n_scores].astype(np.float32)
        for tree in range(vote.start, vote.stop):
            total = total + sums(tree, tree + 1, None)[:, : vote.n_scores].astype(np.float32)
        return _finished(vote, total)
    total = sums(vote.start, vote.stop, vote.init)[:, : vote.n_scores]
    if vote.rule in ("mean", "samme"):
        return total / vote.scale
    return _finished(vote, total)


def _finished(vote, total):
    """Sums of an additive vote after what is done to them at the end."""
    if vote.divisor != 1:
        total = total / total.dtype.type(vote.divisor)
    if vote.offset is not None:
        total = (total.astype(np.float64) + vote.offset).astype(total.dtype)
    return total


def _member_scores(member, vote, sums):
    """Probabilities of a member, in the classes of the vote around it; labels count as ones."""
    if member.rule == "hard":
        return one_hot(member.columns[labels_of(member, sums)], vote.n_scores)
    scores = scores_of(member, sums)
    if member.calibrated is not None:
        scores = member.calibrated.predict_proba(scores)
    if member.columns is None or scores.shape[1] == vote.n_scores:
        return scores
    full = np.zeros((scores.shape[0], vote.n_scores))
    full[:, member.columns] = scores
    return full


def labels_of(vote, sums):
    """Class indices of a vote; `sums` as in `Forest.decide`."""
    if vote.rule == "hard":
        return _hard_labels(vote, sums)
    return labels_of_scores(vote, scores_of(vote, sums))


def labels_of_scores(vote, scores):
    """Class indices for the scores of a vote, which does not count labels."""
    if vote.cut is not None:
        return vote.cut.labels(vote, scores)
    if vote.temperature is not None:
        margin = vote.temperature.margin(float(np.abs(scores).max(initial=0.0)))
        return _labels_by(vote, scores, margin, vote.temperature.labels)
    if vote.rule == "samme" and vote.n_scores == 2:
        return (decision_of(vote, scores) > 0).astype(np.intp)
    if vote.rule == "additive":
        return _boosted_labels(vote, scores)
    return _largest(scores, vote.tie_upper)


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


def _labels_by(vote, scores, margin, labels):
    """The class of the largest score; ``labels`` says it where two are closer than the margin."""
    label = _largest(scores)
    first_two = np.partition(scores, -2, axis=1)[:, -2:]
    close = first_two[:, 1] - first_two[:, 0] < margin
    label[close] = labels(vote, scores[close])
    return label


def _hard_labels(vote, sums):
    labels = np.stack([m.columns[labels_of(m, sums)] for m in vote.members], axis=1)
    counts = np.zeros((labels.shape[0], vote.n_scores))
    rows = np.arange(labels.shape[0])
    for member, weight in enumerate(vote.member_weights):
        counts[rows, labels[:, member]] += weight
    # np.bincount ends at the largest label: classes beyond it cannot win, whatever the weights.
    counts[np.arange(vote.n_scores) > labels.max(axis=1)[:, None]] = -np.inf
    return counts.argmax(axis=1)


def _boosted_labels(vote, scores):
    if vote.n_scores == 1:
        scores = scores[:, 0]
        label = (scores >= vote.above if vote.tie_upper else scores > vote.above).astype(np.intp)
        if vote.by_probability:
            close = np.abs(scores) < link_margin(vote)
            upper = sigmoid(scores[close], vote.slope)
            # LightGBM's test; XGBoost's, above one half, is the same.
            label[close] = upper > 1 - upper
        return label
    if vote.by_probability:
        return _labels_by(vote, scores, link_margin(vote), lambda _, s: _softmax(s).argmax(axis=1))
    return _largest(scores, vote.tie_upper)


def link_of(n_scores):
    """What turns so many scores into probabilities, in boosting."""
    return "sigmoid" if n_scores == 1 else "softmax"


def link_margin(vote):
    """Scores that differ by more keep their order through the sigmoid or softmax."""
    return 64.0 * float(np.finfo(vote.dtype).eps) / abs(vote.slope)


def has_probabilities(vote):
    """Whether it is known what turns the scores of a vote into its ``predict_proba``."""
    is_mean = vote.rule in ("mean", "soft") and vote.link is None
    return is_mean or vote.rule == "samme" or vote.link in ("sigmoid", "softmax")


def probabilities_of(vote, scores):
    """What an ensemble's ``predict_proba`` makes of its scores, see `has_probabilities`."""
    if vote.rule in ("mean", "soft") and vote.link is None:
        return scores
    number = decision_of(vote, scores)
    if vote.rule == "samme" and not is_calibrated(vote):
        if vote.n_scores == 2:
            return softmax(np.vstack([-number, number]).T / 2)
        return softmax(number / (vote.n_scores - 1))
    if vote.link == "softmax":
        return _softmax(scores) if vote.by_probability else softmax(vote.slope * scores)
    if number.ndim == 2:  # of means, what they say of the upper class
        number = number[:, 1]
    if vote.by_probability:
        upper = sigmoid(number, vote.slope)
    else:
        upper = expit(vote.slope * number + vote.shift)
    return np.column_stack([1 - upper, upper])


def is_calibrated(vote):
    """Whether a sigmoid has a slope, or shift, of its own."""
    return vote.slope != 1.0 or vote.shift != 0.0


def decision_of(vote, scores):
    """What an ensemble's ``decision_function``, if it has one, makes of its scores."""
    if vote.n_scores == 1:
        return scores[:, 0]
    if vote.rule == "samme" and vote.n_scores == 2:
        return -scores[:, 0] + scores[:, 1]
    return scores


# The largest number that has a finite exponential.
_MOST = 709.782712893384


def _exp(x):
    # The C library's exponential, which the packages use; NumPy has its own.
    powers = [math.exp(v) if v <= _MOST else math.inf for v in x.ravel().tolist()]
    with np.errstate(over="ignore"):
        return np.array(powers, dtype=x.dtype).reshape(x.shape)


def sigmoid(scores, slope):
    one = scores.dtype.type(1)
    return one / (one + _exp(-scores.dtype.type(slope) * scores))


def _softmax(scores):
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
