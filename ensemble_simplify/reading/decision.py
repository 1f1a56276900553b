"""How an ensemble counts: leaf values become scores, and scores a class.

A `Vote` says which sums of leaf values are formed and what decides between them; `labels_of` and
`scores_of` follow it with the NumPy expressions of the ensembles' own ``predict``, in their order,
so that every rounding is theirs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np


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
        it is above zero, or at zero if `tie_upper`, else first argmax; after `link` if given;
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
        Divisor of ``"mean"`` and ``"samme"``; slope of the sigmoid.
    tie_upper : bool
        Whether the upper of two classes wins a tie.
    columns : ndarray of int or None
        Of a member: the class index, in the vote around it, of each of its classes.
    link : {None, "sigmoid", "softmax"}
        What turns the sums of ``"additive"`` into the probabilities that are compared.
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
    dtype: str = "float64"
    divisor: int = 1
    offset: np.ndarray | None = None
    above: float = 0.0

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
    def is_one_tree(self):
        """Whether it answers what a single tree does."""
        return self.rule == "mean" and not self.members and self.stop - self.start == 1

    @property
    def is_boosted(self):
        """Whether its scores are no mean of leaf values: boosting, but for members' labels."""
        return self.rule in ("samme", "additive") or any(
            member.rule != "hard" and member.is_boosted for member in self.members
        )

    @property
    def largest_start(self):
        """Largest absolute number from which it, or a member, starts its sums."""
        own = 0.0 if self.init is None else np.abs(self.init).max()
        if self.offset is not None:
            own += self.divisor * np.abs(self.offset).max()
        return max([own, *(member.largest_start for member in self.members)])


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
    if member.columns is None or scores.shape[1] == vote.n_scores:
        return scores
    full = np.zeros((scores.shape[0], vote.n_scores))
    full[:, member.columns] = scores
    return full


def labels_of(vote, sums):
    """Class indices of a vote; `sums` as in `Forest.decide`."""
    if vote.rule == "hard":
        return _hard_labels(vote, sums)
    if vote.rule == "samme":
        return _samme_labels(vote, sums)
    if vote.rule == "additive":
        return _boosted_labels(vote, sums)
    return _first_largest(scores_of(vote, sums))


def _first_largest(scores):
    """``scores.argmax(axis=1)``, in a tenth of the time for two columns; no entry is NaN."""
    if scores.shape[1] == 2:
        return (scores[:, 1] > scores[:, 0]).astype(np.intp)
    return scores.argmax(axis=1)


def _hard_labels(vote, sums):
    labels = np.stack([m.columns[labels_of(m, sums)] for m in vote.members], axis=1)
    weights = np.ones(len(vote.members)) if vote.weights is None else vote.weights
    counts = np.zeros((labels.shape[0], vote.n_scores))
    rows = np.arange(labels.shape[0])
    for member, weight in enumerate(weights):
        counts[rows, labels[:, member]] += weight
    # np.bincount ends at the largest label: classes beyond it cannot win, whatever the weights.
    counts[np.arange(vote.n_scores) > labels.max(axis=1)[:, None]] = -np.inf
    return counts.argmax(axis=1)


def _samme_labels(vote, sums):
    if vote.members:
        scores = 0.0
        for member, weight in zip(vote.members, vote.weights, strict=True):
            label = member.columns[labels_of(member, sums)]
            scores = scores + samme_votes(label, weight, vote.n_scores)
        scores = scores / vote.scale
    else:
        scores = scores_of(vote, sums)
    if vote.n_scores == 2:
        return (-scores[:, 0] + scores[:, 1] > 0).astype(np.intp)
    return _first_largest(scores)


def _boosted_labels(vote, sums):
    scores = scores_of(vote, sums)
    if vote.n_scores == 1:
        scores = scores[:, 0]
        label = (scores >= vote.above if vote.tie_upper else scores > vote.above).astype(np.intp)
        if vote.link is not None:
            close = np.abs(scores) < link_margin(vote)
            upper = _sigmoid(scores[close], vote.scale)
            # LightGBM's test; XGBoost's, above one half, is the same.
            label[close] = upper > 1 - upper
        return label
    label = _first_largest(scores)
    if vote.link is not None:
        first_two = np.partition(scores, -2, axis=1)[:, -2:]
        close = first_two[:, 1] - first_two[:, 0] < link_margin(vote)
        label[close] = _softmax(scores[close]).argmax(axis=1)
    return label


def link_margin(vote):
    """Scores that differ by more keep their order through the sigmoid or softmax."""
    return 64.0 * float(np.finfo(vote.dtype).eps) / abs(vote.scale)


def _exp(x):
    # The C library's exponential, which the packages use; NumPy has its own.
    return np.array([math.exp(v) for v in x.ravel().tolist()], dtype=x.dtype).reshape(x.shape)


def _sigmoid(scores, slope):
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
