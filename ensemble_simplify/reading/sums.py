"""What the trees of a model add up to: the linear form that proofs, pruning and export work on.

At a row, column k comes to ``start[k]`` plus ``value[leaf, k]`` over the leaves in which the row
ends. The same trees answer three questions: which class leads (`class_sums`), which number is
answered (`number_sums`), and what the log-odds of two classes are (`odds_sums`). Sums are of real
numbers; each form says how far the roundings of the model itself can be from them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ensemble_simplify.reading.decision import link_margin, one_hot, parts_of


@dataclass(frozen=True, eq=False)
class Sums:
    """Leaf vectors that add up, and what they start from.

    Attributes
    ----------
    value : float64 array of shape (n_nodes, n_columns)
        What each leaf adds; for classes, a column for each class.
    start : float64 array of shape (n_columns,)
        What is there without any tree.
    magnitude : float
        No sum of absolute values is larger.
    rounding : float
        Sums of floats in any order, each leaf added once, and the model's own answer are no
        further than this from the sum of real numbers. Of classes: where one leads all others by
        more, it is the model's answer.
    error_bound : float
        The same for sums in the order of the trees. Zero: these are exact.
    is_exact : bool
        Whether sums in any order are exact.
    tie_upper : bool
        Whether ties go to the last class, not the first.
    first : slice or None
        Nodes of the first tree.
    """

    value: np.ndarray
    start: np.ndarray
    magnitude: float
    rounding: float
    error_bound: float = 0.0
    is_exact: bool = False
    tie_upper: bool = False
    first: slice | None = None

    @cached_property
    def folded(self):
        """`value` with `start` in the leaves of the first tree, for sums that begin at zero."""
        if not self.start.any():
            return self.value
        value = self.value.copy()
        value[self.first] += self.start
        return value


def class_sums(forest, vote=None):
    """The sums whose largest column is the class that a vote answers (None: the forest's own).

    None where the vote adds up labels of ensembles, and for regression.
    """
    if forest.classes is None:
        return None
    vote = forest.vote if vote is None else vote
    columns = np.arange(vote.n_classes)
    value, start = np.zeros((forest.n_nodes, vote.n_classes)), np.zeros(vote.n_classes)
    if vote.rule == "hard":
        if not vote.counts_trees:
            return None
        for member, weight in zip(vote.members, vote.member_weights, strict=True):
            nodes = forest.nodes_of(member)
            label = member.columns[forest.value[nodes, : member.n_scores].argmax(axis=1)]
            value[nodes] = one_hot(label, vote.n_classes) * weight
    else:
        parts = parts_of(vote, columns)
        if parts is None:
            return None
        for own, columns, factor in parts:
            # dividing the whole cannot change which column is largest
            share = factor / own.scale if vote.members else 1.0
            nodes, places = forest.nodes_of(own), columns[1:] if own.has_one_score else columns
            value[nodes, places] = forest.value[nodes, : own.n_scores] * share
            start[places] += own.moved_by - own.divisor * own.above
    leaves, magnitude = _leaves(forest, vote, value)
    plain = vote.rule in ("majority", "hard") or (vote.rule == "mean" and not vote.members)
    is_exact = plain and _cannot_round(leaves, magnitude)
    magnitude += 3.0 * (vote.largest_start + vote.divisor * abs(vote.above))
    rounding = 8.0 * (vote.n_trees + 16) * vote.coarsest * magnitude
    if vote.by_probability:
        rounding += link_margin(vote) * vote.divisor
    bound = 0.0 if is_exact or (plain and vote.n_trees == 1) else rounding
    return Sums(
        value,
        start,
        magnitude,
        rounding,
        error_bound=bound,
        is_exact=is_exact,
        tie_upper=vote.tie_upper,
        first=slice(forest.offsets[vote.start], forest.offsets[vote.start + 1]),
    )


def number_sums(forest):
    """The sums that a regressor answers, or the probabilities of a classifier.

    None where probabilities are no sums: votes of labels, and behind a sigmoid or softmax.
    """
    n_outputs = max(forest.n_classes, 1)
    parts = parts_of(forest.vote, np.arange(n_outputs))
    if parts is None:
        return None
    value, start = np.zeros((forest.n_nodes, n_outputs)), np.zeros(n_outputs)
    largest_start, one = 0.0, 0.0
    for own, columns, factor in parts:
        if own.link is not None or own.rule in ("samme", "majority"):
            return None
        nodes, share = forest.nodes_of(own), factor / (own.scale * own.divisor)
        leaves, moved = forest.value[nodes, : own.n_scores] * share, own.moved_by * share
        if own.has_one_score and forest.classes is not None:
            # the score is the probability of the upper of two classes
            leaves, moved = leaves * [-1.0, 1.0], moved * [-1.0, 1.0] + [1.0, 0.0]
            one = 1.0
        value[nodes, columns] = leaves
        start[columns] += moved
        largest_start += own.largest_start * share
    magnitude = _leaves(forest, forest.vote, value)[1] + largest_start
    rounding = (8.0 * (forest.n_trees + 16) * magnitude + one) * forest.vote.coarsest
    is_exact = forest.vote.averages_trees and _cannot_round(
        *_leaves(forest, forest.vote, forest.value)
    )
    return Sums(value, start, magnitude + one, rounding, is_exact=is_exact)


def odds_sums(forest):
    """The log-odds, in one column, of the upper of two classes: the probability is their sigmoid.

    None where there is no such.
    """
    vote = forest.vote
    if vote.link != "sigmoid" or vote.members or forest.n_classes != 2:
        return None
    if vote.rule == "samme":
        value = (forest.value[:, 1:2] - forest.value[:, :1]) * vote.slope / vote.scale
    else:
        value = forest.value[:, :1] * (vote.slope / vote.divisor)
    start = vote.moved_by[:1] * (vote.slope / vote.divisor)
    magnitude = _leaves(forest, vote, value)[1]
    magnitude += vote.largest_start * abs(vote.slope) / vote.divisor
    rounding = 16.0 * (forest.n_trees + 16) * vote.coarsest * magnitude
    return Sums(value, start, magnitude, rounding)


def tree_shares(vote, n_classes, total):
    """For every tree its share of a total, and the class index of each class it may know."""
    parts = parts_of(vote, np.arange(n_classes), total, through_labels=True)
    return [(factor / own.n_trees, columns) for own, columns, factor in parts for _ in own.trees]


def _leaves(forest, vote, value):
    """Values of the leaves of a vote, zero in other nodes, and their largest sum, one a tree."""
    nodes = forest.nodes_of(vote)
    leaves = np.where(forest.left[nodes, None] < 0, value[nodes], 0.0)
    first = forest.offsets[vote.start : vote.stop] - nodes.start
    return leaves, float(np.maximum.reduceat(np.abs(leaves).max(axis=1), first).sum())


def _cannot_round(value, magnitude):
    """Whether sums of rows of `value` cannot round, nor meet when divided by a count."""
    scaled = np.ldexp(value, 20)
    return magnitude < 2.0**20 and bool((scaled == np.rint(scaled)).all())
