"""The genetic algorithm: the first trees settle and vote, then the population breeds."""

from __future__ import annotations

import time
from functools import partial
from itertools import pairwise

import numpy as np
from sklearn.utils import Bunch
from sklearn.utils.parallel import Parallel, delayed

from ensemble_simplify.base import report
from ensemble_simplify.genesim.population._scoring import validation_proba
from ensemble_simplify.grid import carried, limits, time_left

# Trees of the first population that a thread cleans at once.
_TREES_AT_ONCE = 16
# Forecast of the time that the end takes for each tree of the front, as a multiple of the time in
# which the largest tree answers the validation rows.
_PASSES_AT_END = 5.0


class Evolution:
    """Fills a population with trees and lets it breed until the limit of time.

    The model's parameters are read, none is set. `history` is as ``GenesimClassifier.history_``,
    `ensemble_score` the score of the first trees voting together, `stopped` whether time ran out.
    """

    def __init__(self, model, population, scorer, n_threads):
        self.model = model
        self.population = population
        self.scorer = scorer
        self.n_threads = n_threads
        self.reserve = 0.0  # seconds that it takes to write the front
        self.history = Bunch(best_score=[], mean_score=[], n_leaves=[], population_size=[])
        self.stopped = False

    def settle(self, trees) -> None:
        """Clean, label and prune the first trees, and let them vote."""
        # The first tree settles whatever the clock says, so that there is an answer.
        self._select([self.population.clean(trees[:1], may_stop=False)])
        votes = validation_proba(self.population, trees[0])
        chunk = _TREES_AT_ONCE * self.n_threads
        for start in range(1, len(trees), chunk):
            next_trees = trees[start : start + chunk]
            ends = range(0, len(next_trees), _TREES_AT_ONCE)
            calls = [(next_trees[i : i + _TREES_AT_ONCE],) for i in ends]
            self._select(self._run(self.population.clean, calls))
            for tree in next_trees:
                if self.stopped or self._time_left() <= 0:
                    break
                votes += validation_proba(self.population, tree)
            if self.stopped:
                break
        self.ensemble_score = self.scorer.score(votes / votes.sum(axis=1, keepdims=True))
        self._record()

    def breed(self, seed) -> None:
        """Let the population breed for the iterations that the model asks for."""
        model, best, stale = self.model, self.history.best_score, 0
        for generation in range(model.n_iter):
            if self.stopped or self._time_left() <= 0:
                self.stopped = True
                break
            # Rows of one leaf side by side fill few words. The best tree changes less and less, so
            # they are sorted at generations 0, 1, 2, 4, 8 ...
            if generation & (generation - 1) == 0:
                self.population.sort_rows()
            n_children = model.n_crossovers + len(self.population)
            ends = np.linspace(0, n_children, self.n_threads + 1).astype(int).tolist()
            breed = partial(
                self.population.breed,
                seed=seed,
                generation=generation,
                n_crossovers=model.n_crossovers,
                n_parents=model.n_parents,
                tournament_size=model.tournament_size,
                mutation_prob=model.mutation_prob,
                order=model.merge_order,
            )
            self._select(self._run(breed, list(pairwise(ends))))
            self._record()
            stale = 0 if best[-1] > best[-2] else stale + 1
            if self.stopped or stale == model.n_iter_no_change:
                break

    def _time_left(self) -> float:
        return time_left() - self.reserve

    def _set_reserve(self) -> None:
        """All rows are sent through every tree of the front in the end, to count and to rate."""
        if time_left() == np.inf:
            return
        last = len(self.population.describe("front")[0]) - 1
        start = time.monotonic()
        validation_proba(self.population, self.population.nodes(last, "front"))
        self.reserve = _PASSES_AT_END * (last + 1) * (time.monotonic() - start)

    def _run(self, function, calls):
        """Call a method of the population for each tuple of arguments, a thread each."""
        calls = [partial(function, *args, thread=i) for i, args in enumerate(calls)]
        with limits(self._time_left()):
            return in_threads(self.n_threads, calls)

    def _select(self, candidates) -> None:
        for of_thread in candidates:
            self.scorer.rescore(self.population, of_thread)
        self.population.select(candidates, size=self.model.population_size)
        self.stopped = any(of_thread.stopped for of_thread in candidates)

    def _record(self) -> None:
        self._set_reserve()
        score, n_leaves = self.population.describe()
        self.history.best_score.append(score[0])
        self.history.mean_score.append(score.mean())
        self.history.n_leaves.append(n_leaves[0])
        self.history.population_size.append(len(score))
        report(
            self.model,
            f"iteration {len(self.history.best_score) - 1}: best score {score[0]:.4f} with "
            f"{n_leaves[0]} leaves, mean {score.mean():.4f}",
        )


def in_threads(n_threads, calls) -> list:
    """Run functions without arguments in threads; results in their order."""
    if n_threads == 1 or len(calls) == 1:
        return [call() for call in calls]
    return Parallel(n_jobs=n_threads, require="sharedmem")(
        delayed(carried(call))() for call in calls
    )
