"""What the trees of a model add up to: the linear form that proofs, pruning and export work on.

At a row, column k comes to ``start[k]`` plus ``value[leaf, k]`` over the leaves in which the row
ends. The same trees answer four questions: which class leads (`class_sums`), which number is
answered (`number_sums`), what the log-odds of two classes are (`odds_sums`), and those of a class
against each of many others (`lead_sums`). Sums are of real numbers; each form says how far the
roundings of the model itself can be from them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np

from ensemble_simplify.reading import program as steps
from ensemble_simplify.reading.decision import one_hot, shares_of

# Shares add up to one up to this.
_SHARES = 1e-14
# A cut-off that is this near to a fraction of a denominator of at most that is told by the
# fraction, so that sums of whole numbers stay whole.
_NEAR, _DENOMINATOR = 2.0**-50, 4096
_EPS = float(np.finfo(np.float64).eps)


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
    terms : float64 array like `value`, or None
        Numbers in the same order as those of each column of `value`, as the trees hold them:
        where two of `value` are rounded to one, these are not. Of numbers alone.
    """

    value: np.ndarray
    start: np.ndarray
    magnitude: float
    rounding: float
    error_bound: float = 0.0
    is_exact: bool = False
    tie_upper: bool = False
    first: slice | None = None
    terms: np.ndarray | None = None

    def column(self, k):
        """The sums of one column alone."""
        terms = None if self.terms is None else self.terms[:, k : k + 1]
        return replace(self, value=self.value[:, [k]], start=self.start[[k]], terms=terms)

    def times(self, factor):
        """The sums multiplied by one or minus one, which rounds nothing."""
        terms = None if self.terms is None else factor * self.terms
        return replace(self, value=factor * self.value, start=factor * self.start, terms=terms)

    def before(self, slope, shift):
        """The sums of which, multiplied by a number and moved by another, something is made."""
        magnitude = abs(slope) * self.magnitude + abs(shift)
        rounding = abs(slope) * self.rounding + 16.0 * _EPS * magnitude
        terms = np.sign(slope) * self.terms
        return Sums(
            slope * self.value, slope * self.start + shift, magnitude, rounding, terms=terms
        )

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
    if vote.cut is not None:
        return _cut_sums(forest, vote)
    if not isinstance(vote.choice, steps.Largest | steps.Lead | steps.Above | steps.Temperature):
        raise steps.unknown_step(vote.choice, "The linear form of a model")
    columns = np.arange(vote.n_classes)
    value, start = np.zeros((forest.n_nodes, vote.n_classes)), np.zeros(vote.n_classes)
    if vote.counts_labels:
        if not vote.counts_trees:
            return None
        for member, weight in zip(vote.members, vote.member_weights, strict=True):
            nodes = forest.nodes_of(member)
            label = member.columns[forest.value[nodes, : member.n_scores].argmax(axis=1)]
            value[nodes] = one_hot(label, vote.n_classes) * weight
    else:
        shares = shares_of(vote, columns)
        if shares is None:
            return None
        for own, columns, factor in shares:
            # dividing the whole cannot change which column is largest
            share = factor / own.divisor if vote.members else 1.0
            # of one score, the lower class has none: it wins where the sum is not above its end
            nodes, places = forest.nodes_of(own), columns[1:] if own.has_one_score else columns
            value[nodes, places] = forest.value[nodes, : own.n_scores] * share
            start[places] += own.moved_by - own.divisor * own.above
    leaves, magnitude = leaves_of(forest, vote, value)
    plain = vote.counts_labels or isinstance(vote.numbers, steps.TreeMean | steps.TreeCount)
    magnitude += 3.0 * (vote.largest_start + vote.divisor * abs(vote.above))
    # points of a scorecard
    is_whole = vote.is_boosted_sum and vote.dtype == "float64" and vote.divisor == 1
    is_whole &= vote.above == 0.0 and vote.offset is None and not vote.by_probability
    is_exact = (plain or is_whole) and _cannot_round(np.vstack([leaves, start]), magnitude)
    rounding = 8.0 * (vote.n_trees + 16) * vote.coarsest * magnitude
    if vote.by_probability:
        rounding += steps.link_margin(vote) * vote.divisor
    if vote.temperature is not None:
        rounding += vote.temperature.margin(magnitude) * vote.divisor
    bound = 0.0 if is_exact or (plain and vote.n_trees == 1) else rounding
    return Sums(
        value,
        start,
        magnitude,
        rounding,
        error_bound=bound,
        is_exact=is_exact,
        tie_upper=vote.tie_upper,
        first=_first_tree(forest, vote),
    )


def _first_tree(forest, vote):
    return slice(forest.offsets[vote.start], forest.offsets[vote.start + 1])


def _cut_sums(forest, vote):
    """The same for a vote with a `Cut`: the number of one class against the cut-off in the other.

    Where trees are averaged, the cut-off is shared out among them, so that this holds under other
    weights of the trees, too. Of ranges, the sums are straight lines in the number, of which the
    one for a range is the largest there. None where the number is no sum, or both its ends lead to
    one class.
    """
    cut = vote.cut
    value, start = np.zeros((forest.n_nodes, 2)), np.zeros(2)
    if not cut.at:
        start[cut.first] = 1.0
        return Sums(value, start, 1.0, 0.0, is_exact=True, first=_first_tree(forest, vote))
    if cut.first == cut.last:
        return None
    if isinstance(vote.numbers, steps.MemberMedian):
        return _median_sums(forest, vote)
    shares = shares_of(vote, np.arange(max(2, vote.n_scores)))
    if shares is None:
        return None
    # of ranges, the first of the two numbers that part them
    middle, half = cut.middle(cut.first if cut.ranges else None)
    at, fraction = middle, None
    if vote.is_mean_of_trees and half == 0.0 and not cut.ranges:
        fraction = _fraction_near(middle, *leaves_of(forest, vote, forest.value))
        at = middle if fraction is None else float(fraction.numerator)
    unit = 1.0
    for own, columns, factor in shares:
        nodes = forest.nodes_of(own)
        if own.has_one_score:
            # without members, all is left undivided, as the leaves are
            if not vote.members:
                unit = factor = own.divisor
            share = factor / own.divisor
            value[nodes, 1] = forest.value[nodes, 0] * share
            start += [middle * factor, own.moved_by[0] * share]
        elif own.is_of_votes:
            unit = own.divisor
            value[nodes] = forest.value[nodes, :2]
            # each node holds the weight of its tree, or the negative of it
            weight = np.abs(value[nodes, 0])
            total = weight[forest.offsets[own.start : own.stop] - nodes.start].sum()
            value[nodes, 0] += middle * unit / total * weight
        else:
            share = factor / own.n_trees
            if not vote.members:
                unit = own.divisor if fraction is None else own.divisor * fraction.denominator
                share *= unit
            place = np.flatnonzero(columns == cut.column)
            if len(place):
                value[nodes, 1] = forest.value[nodes, place[0]] * share
            value[nodes, 0] = at * (1.0 if fraction is not None else share)
    # of members, each takes its share of the cut-off; shares of a `MemberStack` are not all of it
    rest = 1.0 - sum(share.factor for share in shares) if vote.members else 0.0
    if abs(rest) > _SHARES:
        start[0] += middle * rest
    largest = abs(middle) + abs(middle * rest)
    if cut.ranges:
        beyond, half_beyond = cut.middle(cut.last)
        half, largest = max(half, half_beyond), largest + abs(beyond)
        value, start = (above - below for below, above in (value.T, start))
        value = np.column_stack([-value, np.zeros_like(value), value])
        start = np.array([-start, 0.0, start - unit * (beyond - middle)])
    if cut.last == 0:
        value, start = value[:, ::-1].copy(), start[::-1].copy()
    leaves, magnitude = leaves_of(forest, vote, value)
    magnitude += 3.0 * (vote.largest_start + unit * largest)
    rounding = 8.0 * (vote.n_trees + 16) * (vote.coarsest * magnitude + _EPS * unit * half)
    rounding += unit * half
    is_exact = fraction is not None and _cannot_round(leaves, magnitude)
    return Sums(
        value,
        start,
        magnitude,
        rounding,
        error_bound=0.0 if is_exact else rounding,
        is_exact=is_exact,
        # what is the fraction comes out, once divided, at the cut-off or right below it
        tie_upper=(cut.last == 1) != (fraction is not None and float(fraction) < middle),
        first=_first_tree(forest, vote),
    )


def _median_sums(forest, vote):
    """The same of a weighted median of trees: the weights of the trees on each side of a cut-off.

    It is below a number where half the weight is. None of members that are more than a tree.
    """
    cut, weights = vote.cut, np.repeat(vote.member_weights, np.diff(forest.offsets))
    if not all(member.is_one_tree for member in vote.members) or (weights < 0).any():
        return None
    leaf = forest.value[:, 0]
    if cut.ranges:
        below, above = (
            np.where(side, weights, -weights) for side in (leaf < cut.at[0], leaf >= cut.at[1])
        )
        value = np.column_stack([below, np.zeros_like(below), above])
    else:
        value = np.where(
            (leaf[:, None] < cut.at[0]) == (np.arange(2) == cut.first), weights[:, None], 0.0
        )
    value, magnitude = leaves_of(forest, vote, value)
    rounding = 8.0 * (vote.n_trees + 16) * _EPS * magnitude
    return Sums(
        value,
        np.zeros(value.shape[1]),
        magnitude,
        rounding,
        error_bound=rounding,
        tie_upper=not cut.ranges and cut.first == 1,
        first=_first_tree(forest, vote),
    )


def _fraction_near(number, leaves, magnitude):
    """The fraction of small numbers that a number is, up to rounding; None if there is none.

    None, too, where sums of leaves, multiplied by its denominator, can round.
    """
    found = Fraction(number).limit_denominator(_DENOMINATOR)
    near = abs(Fraction(number) - found) <= _NEAR
    size = float(found.denominator)
    return found if near and _cannot_round(leaves * size, magnitude * size) else None


def number_sums(forest):
    """The sums that a regressor answers, or the probabilities of a classifier.

    None where probabilities are no sums: votes of labels, and behind a sigmoid or softmax.
    """
    n_outputs = max(forest.n_classes, 1)
    shares = shares_of(forest.vote, np.arange(n_outputs))
    if shares is None or forest.vote.link is not None:
        return None
    value, start = np.zeros((forest.n_nodes, n_outputs)), np.zeros(n_outputs)
    terms = np.zeros_like(value)
    largest_start, one = 0.0, 0.0
    for own, columns, factor in shares:
        if own.link is not None or isinstance(own.numbers, steps.TreeVotes | steps.TreeCount):
            return None
        nodes, share = forest.nodes_of(own), factor / own.divisor
        held = forest.value[nodes, : own.n_scores]
        leaves, moved = held * share, own.moved_by * share
        if own.has_one_score and forest.classes is not None:
            # the score is the probability of the upper of two classes
            leaves, moved = leaves * [-1.0, 1.0], moved * [-1.0, 1.0] + [1.0, 0.0]
            one, held = 1.0, held * [-1.0, 1.0]
        value[nodes, columns] = leaves
        terms[nodes, columns] = np.sign(share) * held
        start[columns] += moved
        largest_start += own.largest_start * share
    magnitude = leaves_of(forest, forest.vote, value)[1] + largest_start
    rounding = (8.0 * (forest.n_trees + 16) * magnitude + one) * forest.vote.coarsest
    is_exact = forest.vote.averages_trees and _cannot_round(
        *leaves_of(forest, forest.vote, forest.value)
    )
    return Sums(value, start, magnitude + one, rounding, is_exact=is_exact, terms=terms)


def log_sums(forest, less=0.0):
    """The sums of which the values of a regressor are the exponentials, or these less one.

    None where there are none. Those of a single tree are logarithms of its values, to which is
    added what these are `less`, where all of them are above zero.
    """
    vote = forest.vote
    base = None if vote.link is None else vote.link.log_base
    if base is not None:
        sums = forest.sums_before_link
        return sums if sums is None or base == 1.0 else sums.before(base, 0.0)
    if not vote.is_one_tree or forest.classes is not None:
        return None
    value = np.where(forest.left[:, None] < 0, forest.value / vote.divisor + less, 1.0)
    return _of_one_tree(forest, np.log(value), 1.0) if (value > 0).all() else None


def _of_one_tree(forest, value, beside):
    """What leaves of a single tree say in place of their values, with the roundings of this."""
    magnitude = float(np.abs(value).max())
    rounding = 16.0 * _EPS * (beside + magnitude)
    terms = np.where(forest.left[:, None] < 0, forest.value, 0.0)
    return Sums(value, np.zeros(1), magnitude, rounding, terms=terms)


def odds_sums(forest):
    """The log-odds, in one column, of the upper of two classes: the probability is their sigmoid.

    So is a value between 0 and 1 of a regressor. None where there is no such.
    """
    vote = forest.vote
    if vote.is_one_tree and forest.classes is None:
        share = np.where(forest.left[:, None] < 0, forest.value / vote.divisor, 0.5)
        if not ((share > 0) & (share < 1)).all():
            return None
        return _of_one_tree(forest, np.log(share) - np.log1p(-share), 2.0)
    if vote.link_kind != "sigmoid" or forest.n_classes not in (0, 2):
        return None
    if vote.is_mean:
        # of means, they are a multiple of the mean probability of the upper class
        sums = forest.sums_before_link
        return None if sums is None else sums.column(1).before(vote.slope, vote.shift)
    if vote.members:
        return None
    if vote.is_of_votes:
        held = forest.value[:, 1:2] - forest.value[:, :1]
        value = held * vote.slope / vote.divisor
    else:
        held = forest.value[:, :1]
        value = held * (vote.slope / vote.divisor)
    start = vote.moved_by[:1] * (vote.slope / vote.divisor) + vote.shift
    magnitude = leaves_of(forest, vote, value)[1]
    magnitude += vote.largest_start * abs(vote.slope) / vote.divisor + abs(vote.shift)
    rounding = 16.0 * (forest.n_trees + 16) * vote.coarsest * magnitude
    return Sums(value, start, magnitude, rounding, terms=np.sign(vote.slope) * held)


def lead_sums(forest, column):
    """The log-odds of a class against each other one: a column for each of these.

    With u the numbers of a row, the probability of the class is ``1 / (1 + exp(-u).sum())``. None
    where there are no such.
    """
    vote = forest.vote
    if forest.n_classes == 2:
        odds = odds_sums(forest)
        return odds if odds is None or column == 1 else odds.times(-1.0)
    if vote.link_kind != "softmax" or not isinstance(vote.numbers, steps.TreeSum | steps.TreeVotes):
        return None
    shared = vote.divisor * (1 if vote.is_boosted_sum else vote.n_scores - 1) / vote.slope
    others = np.delete(np.arange(vote.n_scores), column)
    terms = forest.value[:, [column]] - forest.value[:, others]
    moved = vote.moved_by
    magnitude = 2.0 * (leaves_of(forest, vote, forest.value)[1] + vote.largest_start) / shared
    rounding = 16.0 * (forest.n_trees + 16) * vote.coarsest * magnitude
    start = (moved[column] - moved[others]) / shared
    return Sums(terms / shared, start, magnitude, rounding, terms=terms)


def tree_shares(vote, n_classes, total):
    """For every tree its share of a total, and the class index of each class it may know."""
    shares = shares_of(vote, np.arange(n_classes), total, through_labels=True)
    return [(factor / own.n_trees, columns) for own, columns, factor in shares for _ in own.trees]


def leaves_of(forest, vote, value):
    """Values of the leaves of a vote, zero in other nodes, and their largest sum, one a tree."""
    nodes = forest.nodes_of(vote)
    leaves = np.where(forest.left[nodes, None] < 0, value[nodes], 0.0)
    first = forest.offsets[vote.start : vote.stop] - nodes.start
    return leaves, float(np.maximum.reduceat(np.abs(leaves).max(axis=1), first).sum())


def _cannot_round(value, magnitude):
    """Whether sums of rows of `value` cannot round, nor meet when divided by a count."""
    scaled = np.ldexp(value, 20)
    return magnitude < 2.0**20 and bool((scaled == np.rint(scaled)).all())
