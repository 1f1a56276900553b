"""From a promise to proven weights: search, proof in the ensemble's own arithmetic, path.

Every step is given a share of the time. What was found when time is over is kept.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from ensemble_simplify.base import report, warn
from ensemble_simplify.faithful_pruning._choice import Step
from ensemble_simplify.faithful_pruning._closest import NumberSearch
from ensemble_simplify.faithful_pruning._numbers import Numbers, NumbersAnywhere, NumbersNear
from ensemble_simplify.faithful_pruning._promise import Everywhere, NearRows, Votes
from ensemble_simplify.faithful_pruning._weights import WeightSearch
from ensemble_simplify.grid import Stopped, at_least, is_late, until
from ensemble_simplify.proof import points_in
from ensemble_simplify.reading import Forest, Model
from ensemble_simplify.writing import reweighted

# Effort by method: searches from other costs, and trees tried for a lower bound. Where the programs
# of "auto" have more than so many entries, both are fewer in proportion.
EFFORT = {"heuristic": (0, 0), "auto": (3, 30), "exact": (3, np.iinfo(np.int64).max)}
ENTRIES = 100_000
# Promised points whose exceptions are counted for every ensemble of the path.
PATH_POINTS = 1 << 28
# When the first search, others and the lower bound have to end, as shares of the time: the rest is
# for the path, or for the proof where that takes long.
WITH_PATH, WITHOUT_PATH = (0.5, 0.6, 0.75), (0.7, 0.8, 1.0)
# Share of the time limit that the last check of a pruned ensemble may take besides.
CHECK_SHARE = 0.25
UNCOUNTED = -1  # Exceptions where some points are too far off, but nobody has counted them.
ASKED = 2048  # Points that both models are asked about, at most, beside all bounds.


@dataclass(eq=False)
class Pruning:
    """Finds weights of trees that keep a promise.

    Parameters
    ----------
    pruner : FaithfulPruner
        With the ensemble, its table, axes and cells of rows.
    model : Model
        The ensemble, read.
    forest : Forest
        Inside the domain.
    domain : Inside or None
    price : float array of shape (n_trees,)
        Whole numbers.
    rng : numpy Generator

    Attributes
    ----------
    n_points : int or float
        Promised points.
    bound : float
        No trees that keep the promise cost less.
    is_complete : bool
        Whether no search was ended by the time limit.
    """

    pruner: Any
    model: Model
    forest: Forest
    domain: Any
    price: np.ndarray
    rng: np.random.Generator
    n_points: Any = field(default=np.inf, init=False)
    bound: float = field(default=0.0, init=False)
    is_complete: bool = field(default=True, init=False)

    def __post_init__(self):
        self.max_changes, self.axes = self.pruner.max_changes, self.pruner._axes
        outside = None if self.domain is None else self.domain.outside(self.axes)
        self.where = self.axes, outside, self.pruner._cells
        self.tell = partial(report, self.pruner)

    def for_classes(self, out_of_bag, asked):
        """Proven weights, and those of smaller ensembles with counted exceptions, as `Step`.

        `out_of_bag` are the cells of the rows that the ensemble was fitted on, and which trees were
        grown without each; None if these are not known. `asked` tells which finer rows weights
        change.
        """
        forest = self.forest
        where = Votes(forest), *self.where
        try:
            if self.max_changes is None:
                promise = Everywhere(*where)
            else:
                promise = NearRows(*where, self.max_changes)
                self.n_points = promise.n_points
                if out_of_bag is not None:
                    promise.follow_out_of_bag(*out_of_bag)
        except Stopped:
            return self._unpruned()
        self.tell(f"{forest.n_trees} trees, {self.n_points:,} promised points")
        counts = self.max_changes is not None and self.n_points <= PATH_POINTS
        search = WeightSearch(promise, self.price, self.rng, self.tell)
        self._run(search, WITH_PATH if counts else WITHOUT_PATH)
        if self.max_changes == 0:
            fewest = search.weights
            with suppress(Stopped):
                search.follow()
            # rows that are finer than cells are no demands: following must not cost any of them
            if asked(search.weights).sum() > asked(fewest).sum():
                search.weights = fewest
        # without a check nothing is known, and it mostly takes moments; not so with many changes
        is_quick = self.max_changes is None or self.max_changes < 2
        with at_least(CHECK_SHARE * (self.pruner.time_limit or 0.0) * is_quick):
            weights = self._proven(search, promise)
        # trees that were taken by their votes can have fewer leaves than guides allow
        self.bound = min(search.bound, search.cost)
        steps = [Step(weights, 0)]
        if counts and not is_late():
            steps = [*self._counted(search.path()[:-1], promise), Step(weights, 0)]
            self.is_complete &= not is_late()
        return steps

    def for_numbers(self, atol):
        """Proven weights under which numbers stay within `atol`, and those of fewer trees.

        The tolerance that is searched for leaves room for all rounding, of both ensembles' own sums
        and of the leaves that are written.
        """
        self.numbers = Numbers(self.forest, atol)
        try:
            if self.max_changes is None:
                promise = NumbersAnywhere(self.numbers, *self.where)
            else:
                promise = NumbersNear(self.numbers, *self.where, self.max_changes)
            search = NumberSearch(promise, self.price, self.rng, self.tell)
        except Stopped:
            return self._unpruned(0.0, 0.0)
        self.n_points, self.trees = promise.n_points, promise.trees
        self.tell(f"{self.forest.n_trees} trees, {self.n_points:,} promised points")
        # whether the largest difference of fewer trees can be told, in time
        has_path = self.max_changes is not None or search.steps is not None
        counts = has_path and self.n_points <= PATH_POINTS
        self._run(search, WITH_PATH if counts else WITHOUT_PATH)
        steps = self._steps_of_numbers(search)
        self.bound = min(search.bound, search.cost)
        self.is_complete &= not is_late()
        return steps

    def _unpruned(self, *numbers):
        """The path where time was over before the search began."""
        self.is_complete = False
        return [Step(np.ones(self.forest.n_trees), 0, *numbers)]

    def _run(self, search, shares):
        """Search and prove, each within its share of the time."""
        if self.pruner.method == "exact":
            search.patience = np.inf
        stages = [
            search.run,
            lambda: search.again(self._effort(search)[0]),
            lambda: search.prove(self._effort(search)[1]),
        ]
        for stage, share in zip(stages, shares, strict=True):
            try:
                with until(share, self.pruner.time_limit):
                    stage()
            except Stopped:
                self.is_complete = False

    def _effort(self, search):
        """Searches from other costs, and trees that are tried for a lower bound."""
        starts, rounds = EFFORT[self.pruner.method]
        if self.pruner.method == "auto":
            scale = min(1.0, ENTRIES / max(search.program.rows.size, 1))
            # a program for a bound is dense: its time grows as the square of its entries, or faster
            starts, rounds = round(scale * starts), int(scale * scale * rounds)
        return starts, rounds if self.pruner.tolerance == 0 else 0

    def _model_of(self, weights, offset=0.0):
        """The ensemble that is written with some weights, read anew."""
        written = reweighted(self.pruner.estimator_, weights, offset)
        return Model.of(written, rows=self.pruner._table, check=False)

    def _forest_of(self, weights, offset=0.0):
        """The same as a forest inside the domain."""
        pruned = self._model_of(weights, offset).finest
        return pruned if self.domain is None else self.domain.read(pruned)

    def _proven(self, search, promise):
        """The weights found, after a check in the arithmetic of the ensemble that has them."""
        while True:
            weights = search.weights
            if (weights == 1).all():
                return weights
            if not search.tied.any():
                # ties are exact on the grid only, where the mean is about 1 already
                weights = scaled(weights, promise.votes)
            if not promise.votes.can_be_written(weights):
                warn(
                    "All trees are kept, because the weights for fewer trees would make votes too "
                    "large for float64. Scale the leaf values of the ensemble down."
                )
                search.weights = np.ones(len(weights))
                continue
            try:
                broken = promise.refuted(self._forest_of(weights))
            except Stopped:
                search.weights = np.ones(len(weights))
                continue
            if not len(broken):
                return weights
            # a lead that rounding took away: ask for a clear one there
            self.tell(f"{len(broken)} points are answered otherwise after rounding")
            before = search.weights
            search.mend(broken)
            # rounding takes the same leads away again: only all trees are known to keep them
            if np.array_equal(search.weights, before):
                search.weights = np.ones(len(before))

    def _counted(self, steps, promise):
        """Steps whose exceptions are counted in the arithmetic of their own ensembles."""
        counted: list[Step] = []
        with suppress(Stopped):
            # from the most trees down: what is counted in time joins on to the last step
            for step in reversed(steps):
                weights = scaled(step.weights, promise.votes)
                if not promise.votes.can_be_written(weights):
                    continue
                apart = promise.differences(self._forest_of(weights))
                n = sum(len(row) for row, _ in apart)
                if n > (counted[-1].n_exceptions if counted else 0):
                    counted.append(Step(weights, n))
        return counted[::-1]

    # ------------------------------------------------------------------ numbers

    def _steps_of_numbers(self, search) -> list[Step]:
        """Proven weights, and those of smaller ensembles."""
        numbers, weights = self.numbers, self._proven_numbers(search)
        has_path = self.max_changes is not None or search.steps is not None
        if not has_path or numbers.tolerance <= 0.0 or is_late():
            return [self._step(weights, 0, numbers.atol)]
        if search.steps is not None:
            n_kept = np.count_nonzero(weights[:-1])
            smaller = [
                self._step(stumps, 0 if error <= numbers.tolerance else UNCOUNTED, error)
                for error, stumps in search.steps
                if np.count_nonzero(stumps[:-1]) < n_kept
            ]
            errors = [error for error, stumps in search.steps if np.array_equal(stumps, weights)]
            return [*smaller, self._step(weights, 0, min([*errors, numbers.atol]))]
        path = search.path(weights)
        smaller = [self._step(fitted, n, largest) for largest, fitted, n in path[:-1]]
        return [*smaller, self._step(weights, 0, path[-1][0] if path else numbers.atol)]

    def _proven_numbers(self, search):
        """The weights found, after a look at what was written."""
        numbers = self.numbers
        while not _are_whole(search.weights):
            needed = self._rounding(search.weights)
            if needed <= numbers.margin and not self._is_refuted(search.weights, search.promise):
                break
            self.tell("rounding takes more of the tolerance")
            search.mend(2.0 * max(needed, numbers.margin))
        return search.weights

    def _rounding(self, weights):
        """By how much what is written can be further off than sums of real numbers say."""
        numbers = self.numbers
        written = Numbers(self._forest_of(weights[:-1], numbers.offset_of(weights)), numbers.atol)
        # the sums of both ensembles round
        return 2.0 * numbers.rounding + numbers.deviation(weights, written, self.axes, self.trees)

    def _is_refuted(self, weights, promise):
        """Whether the models themselves, asked about some points, are too far apart."""
        cells = promise.cells
        cells = np.ascontiguousarray(cells[:: max(-(-len(cells) // ASKED), 1)])
        rows = points_in(self.axes, self.domain, cells)
        pruned = self._model_of(weights[:-1], self.numbers.offset_of(weights))
        whole, pruned = (m.answers(rows, self.pruner._asks) for m in (self.model, pruned))
        return bool((np.abs(pruned - whole) > self.numbers.atol).any())

    def _step(self, weights, n, largest):
        numbers = self.numbers
        if _are_whole(weights):
            return Step(weights[:-1], 0, 0.0, 0.0)
        if n:
            largest += self._rounding(weights)
        else:
            largest = min(largest + numbers.margin, numbers.atol)
        return Step(weights[:-1], n, numbers.offset_of(weights), largest)


def _are_whole(weights):
    """Whether no tree of numbers has another weight than one."""
    return bool((weights[:-1] == 1).all() and weights[-1] == 0.0)


def scaled(weights, votes):
    """Weights whose mean is 1, where only their ratios count."""
    if votes.start.any():
        return weights
    return weights * (len(weights) / weights.sum())
