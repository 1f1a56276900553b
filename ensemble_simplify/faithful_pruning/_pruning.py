"""From a promise to proven weights: search, proof in the ensemble's own arithmetic, path.

Every step is given a share of the time. What was found when time is over is kept.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from ensemble_simplify.base import warn
from ensemble_simplify.faithful_pruning._everywhere import Everywhere
from ensemble_simplify.faithful_pruning._numbers import Numbers
from ensemble_simplify.faithful_pruning._path import Step, find_path
from ensemble_simplify.faithful_pruning._promise import NearRows, Votes
from ensemble_simplify.faithful_pruning._weights import WeightSearch
from ensemble_simplify.faithful_pruning._within import Within
from ensemble_simplify.grid import Axes, Stopped, at_least, is_late, until
from ensemble_simplify.reading import Forest, Model, Table
from ensemble_simplify.writing import reweighted

# Effort by method: searches from other costs, and trees tried for a lower bound.
EFFORT = {"heuristic": (0, 0), "auto": (3, 30), "exact": (3, np.iinfo(np.int64).max)}
# Promised points whose exceptions are counted for every ensemble of the path.
PATH_POINTS = 1 << 28
# When the first search, others and the lower bound have to end, as shares of the time: the rest is
# for the path, or for the proof where that takes long.
WITH_PATH, WITHOUT_PATH = (0.5, 0.6, 0.75), (0.7, 0.8, 1.0)
# Share of the time limit that the last check of a pruned ensemble may take besides.
CHECK_SHARE = 0.25


@dataclass(eq=False)
class Pruning:
    """Finds weights of trees that keep a promise.

    `estimator` is the whole ensemble, which is written with other weights, `table` what its rows
    stand for, `model` what was read of it, and `forest` its trees inside the `domain` (what
    `read_domain` answers, or None). `cells` are those of the promised rows, `price` is what every
    tree costs. `proves`: whether a lower bound is of use. `time_limit` seconds were left of the
    limit in force when it began. `tell` takes a line of text.

    Attributes
    ----------
    n_points : float
        Promised points.
    bound : float
        No trees that keep the promise cost less.
    is_complete : bool
        False where time ran out.
    """

    estimator: object
    table: Table
    model: Model
    forest: Forest
    axes: Axes
    cells: np.ndarray
    domain: Any
    max_changes: int | None
    price: np.ndarray
    method: str
    proves: bool
    rng: np.random.Generator
    time_limit: float | None
    tell: Callable
    n_points: Any = field(default=np.inf, init=False)
    bound: float = field(default=0.0, init=False)
    is_complete: bool = field(default=True, init=False)

    @property
    def _outside(self):
        return None if self.domain is None else self.domain.outside(self.axes)

    def for_classes(self, out_of_bag, asked):
        """Proven weights, and those of smaller ensembles with counted exceptions, as `Step`.

        `out_of_bag` are the cells of the rows that the ensemble was fitted on, and which trees were
        grown without each; None if these are not known. `asked` tells which finer rows weights
        change.
        """
        forest = self.forest
        where = Votes(forest), self.axes, self._outside, self.cells
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
        with at_least(CHECK_SHARE * (self.time_limit or 0.0) * is_quick):
            weights = self._proven(search, promise)
        # trees that were taken by their votes can have fewer leaves than guides allow
        self.bound = min(search.bound, search.cost)
        steps = [Step(weights, 0)]
        if counts and not is_late():
            path = find_path(promise, search.weights, search.demands.leads, self.rng)
            steps = [*self._counted(path[:-1], promise), Step(weights, 0)]
            self.is_complete &= not is_late()
        return steps

    def for_numbers(self, atol, asks):
        """Proven weights under which numbers stay within `atol`, and those of fewer trees."""

        def answers(rows, *pruned):
            return (self._model_of(*pruned) if pruned else self.model).answers(rows, asks)

        within = Within(
            Numbers(self.forest, atol),
            self.axes,
            self.domain,
            self._outside,
            self.cells,
            self.max_changes,
            answers=answers,
            written=self._forest_of,
            tell=self.tell,
        )
        try:
            search = within.begin(self.price, self.rng)
        except Stopped:
            return self._unpruned(0.0, 0.0)
        self.n_points = within.promise.n_points
        self.tell(f"{self.forest.n_trees} trees, {self.n_points:,} promised points")
        counts = within.has_path and self.n_points <= PATH_POINTS
        self._run(search, WITH_PATH if counts else WITHOUT_PATH)
        steps = within.steps()
        self.bound = min(search.bound, search.cost)
        self.is_complete &= not is_late()
        return steps

    def _unpruned(self, *numbers):
        """The path where time was over before the search began."""
        self.is_complete = False
        return [Step(np.ones(self.forest.n_trees), 0, *numbers)]

    def _run(self, search, shares):
        """Search and prove, each within its share of the time."""
        starts, rounds = EFFORT[self.method]
        prove = partial(search.prove, rounds if self.proves else 0)
        stages = [search.run, partial(search.again, starts), prove]
        for stage, share in zip(stages, shares, strict=True):
            try:
                with until(share, self.time_limit):
                    stage()
            except Stopped:
                self.is_complete = False

    def _model_of(self, weights, offset=0.0):
        """The ensemble that is written with some weights, read anew."""
        written = reweighted(self.estimator, weights, offset)
        return Model.of(written, rows=self.table, check=False)

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


def scaled(weights, votes):
    """Weights whose mean is 1, where only their ratios count."""
    if votes.start.any():
        return weights
    return weights * (len(weights) / weights.sum())
