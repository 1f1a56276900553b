"""How far a number of an ensemble can rise from one row to another one of a pair.

A pair of rows is a point of a space in which some features stand twice, or in which one of them
stands no more because it is held; there, two forests, both read from the one ensemble, answer the
two rows. Trees are joined with their own twins: on a box, each adds to the rise at most the largest
difference that both together can reach, which is nothing where they end alike.
"""

from __future__ import annotations

from functools import cached_property
from sys import maxsize

import numpy as np

from ensemble_simplify.grid import JointSearch
from ensemble_simplify.proof.joined_trees import without_equal_leaves
from ensemble_simplify.proof.numeric_difference import (
    GREY_BOXES,
    Closeness,
    Found,
    values_above,
    values_of_sums,
)

# Boxes, as a multiple of those searched before, that may be searched for rises up to rounding.
MORE_GREY = 4


def rising_sums(forest, column):
    """What a value, or the probability of a class, rises with: its sums, and what it is of them.

    The `column` is that of the class, 0 of a value. A number rises with each column of its sums; it
    is the only one (None), the logarithm of the value ("log"), or they are the log-odds of the
    class against each other one ("odds"). Of other links, it is what the value never falls with
    ("link"). (None, None) where it is no function of such sums.
    """
    sums = forest.number_sums
    if sums is not None:
        return sums.column(column), None
    if forest.classes is None:
        if forest.log_sums is not None:
            return forest.log_sums, "log"
        if forest.odds_sums is not None:
            return forest.odds_sums, "odds"
        return forest.sums_before_link, "link"
    return forest.lead_sums(column), "odds"


class Rise(Closeness):
    """The rise of a number of one ensemble, from the second row of a pair to the first.

    Parameters
    ----------
    forests : pair of Forest
        For the first row and the second, with the same trees but for their splits.
    column : int
        See `rising_sums`.
    axes : Axes
    inside : Inside or None
        The domain.
    answers : callable
        ``answers(cells)``: what the model answers to both rows, two arrays of shape (n, 1).
    gap : float
        Only larger rises count.
    boxes : iterable of pairs of int32 arrays, or None
        First and last cells of where to look; None: everywhere.
    """

    # whether rises are looked for that are the gap but for rounding
    is_grey = False

    def __init__(self, forests, column, axes, inside, answers, gap, boxes=None):
        sums, kinds = zip(*(rising_sums(forest, column) for forest in forests), strict=True)
        self.of_odds, self.of_logs = kinds[0] == "odds", kinds[0] == "log"
        if kinds[0] == "link" and gap > 0:
            raise TypeError(
                "By how much a value changes is known of sums, exponentials and sigmoids of sums. "
                "Ask with gap=0, or ask the model inside (regressor_)."
            )
        n_columns = len(sums[0].start)
        twins = "all" if gap == 0 else "common"
        columns = [np.arange(n_columns)] * 2
        trees = [axes.encode_forest(forest) for forest in forests]
        outside = None if inside is None else inside.outside(axes)
        super().__init__(sums, columns, trees, axes, outside, answers, gap, 0.0, twins)
        if boxes is not None:
            self.boxes = boxes
        self.sums, self.forests = sums, forests
        # what counts of sums, in which one is left and none or some others are taken away
        self.of_sums = self.margin
        if self.of_odds:
            # the sigmoid is no steeper than a quarter
            vote = forests[0].vote
            eps = float(np.finfo(vote.dtype).eps)
            self.margin = 0.5 * self.margin + (32.0 + 4.0 * n_columns) * eps
        elif self.of_logs:
            self.largest_values, self.margin = values_of_sums(
                self.trees, self.leaves, self.start, self.of_sums
            )
        self.are_odds = self.of_odds and gap > 0

    def _difference(self, a, b):
        return a - b

    @cached_property
    def _forms(self):
        """Forms of the leaves, and where they start."""
        one, two = self.leaves
        first, second = self.start
        forms, start = [one - two], [first - second]
        if self.atol > 0 and (self.of_odds or self.of_logs):
            forms, start = [one, -two, *forms], [first, -second, *start]
        elif self.atol == 0:
            forms, start = [*forms, self._rises()], [*start, np.zeros(1)]
        return np.ascontiguousarray(np.hstack(forms)), np.concatenate(start)

    @cached_property
    def _fewer(self):
        """Forms of the leaves of fewer nodes, and the search for them.

        Where a tree takes no part in a rise, what it adds changes nothing but the rounding.
        """
        nodes, offsets, numbers = without_equal_leaves(
            self.trees.nodes, self.trees.offsets, self._forms[0]
        )
        return numbers, JointSearch(self.axes.shape, nodes, offsets)

    @cached_property
    def _all(self):
        """The same of all nodes: each point that it comes to has its own roundings."""
        return self._forms[0], self.trees.search

    @cached_property
    def search(self):
        return self._fewer[1]

    def _rises(self):
        """In how many trees, or pairs of them, a leaf may be a rise, of shape (n_leaves, 1).

        Where no term of a sum rises, neither does the sum, rounded term by term.
        """
        terms = [own.terms for own in self.sums]
        n_first, found = len(terms[0]), []
        tree_of = [
            np.repeat(np.arange(forest.n_trees), np.diff(forest.offsets)) for forest in self.forests
        ]
        for rows in self.trees.rows:
            one, two = rows[:, ::2], rows[:, 1::2] - n_first
            if one.shape == two.shape and (one < n_first).all() and (two >= 0).all():
                if (tree_of[0][one] == tree_of[1][two]).all():
                    rises = (terms[0][one] > terms[1][two]).any(axis=2)
                    found.append(rises.sum(axis=1, dtype=np.float64))
                    continue
            found.append(np.ones(len(rows)))
        return np.concatenate(found)[:, None]

    # ------------------------------------------------------------------ lines

    def _on_lines(self, cells, axis):
        sums = np.split(self._sums_on_lines(cells, axis), 2, axis=1)
        if self.of_odds:
            with np.errstate(over="ignore"):
                sums = [1.0 / (1.0 + np.exp(-own).sum(axis=1, keepdims=True)) for own in sums]
        elif self.of_logs:
            sums = np.exp(sums)
        rise = (sums[0] - sums[1]).reshape(len(cells), self.axes.shape[axis])
        return rise, rise

    # ------------------------------------------------------------------ boxes

    def furthest(self):
        apart = self.trees.most(self.leaves[0] - self.leaves[1]) + self.start[0] - self.start[1]
        top = max(float(apart.max()), 0.0)
        if self.of_logs:
            return float(self.largest_values[0]) * -float(np.expm1(-top)) + self.margin
        return (float(np.tanh(0.25 * top)) if self.of_odds else top) + self.margin

    def _cases(self, bar, rtol):
        numbers, start = (self._all if self.is_grey else self._fewer)[0], self._forms[1]
        if self.are_odds:
            yield numbers, start, np.full(len(start), bar)
        elif self.of_logs and self.atol > 0:
            begin = start[0], -start[1]
            yield values_above(numbers[:, 0], -numbers[:, 1], begin, max(bar, 0.0), self.of_sums)
        elif self.atol > 0:
            yield numbers, start, np.array([bar])
        else:
            for k in range(numbers.shape[1] - 1):
                pair = [k, -1]
                yield np.ascontiguousarray(numbers[:, pair]), start[pair], np.array([bar, 0.5])

    def _closed(self, bar):
        return max(bar, 0.0) if self.of_logs else super()._closed(bar)

    def _levels(self):
        if self.atol > 0:
            bar, last = self.atol + self.margin, self.atol - self.margin
            yield from self._bars(bar) if self.boxes is Closeness.boxes else [(bar, maxsize)]
        else:
            yield self.of_sums, maxsize
            if self._is_exact:
                return
            last = -self.of_sums
        self.search, self.is_grey = self._all[1], True
        yield last, max(GREY_BOXES, MORE_GREY * self.n_boxes)

    def _is_below(self, bar, judge, limit, max_boxes, rtol=0.0, box=None):
        below, reason = super()._is_below(bar, judge, limit, max_boxes, rtol, box)
        # without a gap, bars are of sums
        return below if self.atol > 0 else np.inf, reason

    @property
    def _is_exact(self):
        """Whether sums that differ do so by more than the margin."""
        vote = self.forests[0].vote
        step = 2.0**-21 / max(vote.n_trees, vote.divisor)
        return all(own.is_exact for own in self.sums) and step > 2.0 * self.of_sums

    def decide(self, rng, max_boxes=maxsize) -> Found:
        """Whether no rise is larger than the gap, at any point that counts.

        Random cells are moved to larger rises first, unless `rng` is None.
        """
        self.found.bound = self.furthest()
        if rng is not None and self.boxes is Closeness.boxes:
            self.climb(rng)
        self._decide(max_boxes)
        return self.found
