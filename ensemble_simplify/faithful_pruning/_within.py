"""From an ensemble and a tolerance to proven weights of few trees, and to fewer, further off.

What is found is written, read anew, and compared with what was meant: the tolerance that was
searched for leaves room for all rounding, of both ensembles' own sums and of the leaves written.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ensemble_simplify.faithful_pruning._closest import NumberSearch, find_path
from ensemble_simplify.faithful_pruning._numbers import Numbers, NumbersAnywhere, NumbersNear
from ensemble_simplify.faithful_pruning._path import Step
from ensemble_simplify.grid import is_late
from ensemble_simplify.proof import points_in

UNCOUNTED = -1  # Some points are too far off, but nobody has counted them.
ASKED = 2048  # Points that both models are asked about, at most, beside all bounds.


@dataclass(eq=False)
class Within:
    """Few trees whose numbers stay within a tolerance.

    Parameters
    ----------
    numbers : Numbers
        Of the whole ensemble, inside the domain.
    axes : Axes
    inside : InsideDomain or None
    outside : pair of int32 arrays or None
    cells : int32 array of shape (n_rows, n_axes)
        Of the promised rows.
    max_changes : int or None
    answers : callable
        ``answers(rows, weights, offset)``: what the ensemble written with these weights answers
        itself; ``answers(rows)``, the whole one.
    written : callable
        ``written(weights, offset)``: its forest, read anew.
    tell : callable
    """

    numbers: Numbers
    axes: Any
    inside: Any
    outside: Any
    cells: np.ndarray
    max_changes: int | None
    answers: Any
    written: Any
    tell: Any

    def begin(self, price, rng):
        """The promise, and the search. Raises `Stopped`."""
        where = self.numbers, self.axes, self.outside, self.cells
        if self.max_changes is None:
            self.promise = NumbersAnywhere(*where)
        else:
            self.promise = NumbersNear(*where, self.max_changes)
        self.search = NumberSearch(self.promise, price, rng, self.tell)
        return self.search

    @property
    def has_path(self):
        """Whether the largest difference of fewer trees can be told."""
        return self.max_changes is not None or self.search.steps is not None

    def steps(self) -> list[Step]:
        """Proven weights, and those of smaller ensembles, as a list of `Step`."""
        weights = self._proven()
        if not self.has_path or self.numbers.tolerance <= 0.0 or is_late():
            return [self._step(weights, 0, self.numbers.atol)]
        if self.search.steps is not None:
            n_kept = np.count_nonzero(weights[:-1])
            smaller = [
                self._step(stumps, 0 if error <= self.numbers.tolerance else UNCOUNTED, error)
                for error, stumps in self.search.steps
                if np.count_nonzero(stumps[:-1]) < n_kept
            ]
            errors = [
                error for error, stumps in self.search.steps if np.array_equal(stumps, weights)
            ]
            return [*smaller, self._step(weights, 0, min([*errors, self.numbers.atol]))]
        path = find_path(self.search, weights)
        smaller = [self._step(fitted, n, largest) for largest, fitted, n in path[:-1]]
        return [*smaller, self._step(weights, 0, path[-1][0] if path else self.numbers.atol)]

    def _proven(self):
        """The weights found, after a look at what was written."""
        numbers, search = self.numbers, self.search
        while not self._is_whole(search.weights):
            needed = self._rounding(search.weights)
            if needed <= numbers.margin and not self._is_refuted(search.weights):
                break
            self.tell("rounding takes more of the tolerance")
            search.mend(2.0 * max(needed, numbers.margin))
        return search.weights

    def _rounding(self, weights):
        """By how much what is written can be further off than sums of real numbers say."""
        numbers = self.numbers
        written = Numbers(self.written(weights[:-1], numbers.offset_of(weights)), numbers.atol)
        in_leaves = numbers.deviation(weights, written, self.axes, self.promise.trees)
        # the sums of both ensembles round
        return 2.0 * numbers.rounding + in_leaves

    def _is_refuted(self, weights):
        """Whether the models themselves, asked about some points, are too far apart."""
        cells = self.promise.cells
        cells = np.ascontiguousarray(cells[:: max(-(-len(cells) // ASKED), 1)])
        rows = points_in(self.axes, self.inside, cells)
        pruned = self.answers(rows, weights[:-1], self.numbers.offset_of(weights))
        return bool((np.abs(pruned - self.answers(rows)) > self.numbers.atol).any())

    def _step(self, weights, n, largest):
        numbers = self.numbers
        if self._is_whole(weights):
            return Step(weights[:-1], 0, 0.0, 0.0)
        if n:
            largest += self._rounding(weights)
        else:
            largest = min(largest + numbers.margin, numbers.atol)
        return Step(weights[:-1], n, numbers.offset_of(weights), largest)

    @staticmethod
    def _is_whole(weights):
        return bool((weights[:-1] == 1).all() and weights[-1] == 0.0)
