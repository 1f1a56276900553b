"""The genetic algorithm: the first trees settle and vote, then the population breeds.

Trees are scored on held-out and training rows, by the kernel's metrics or any scorer.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from numbers import Real
from typing import Any

import numpy as np
from sklearn import metrics
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Bunch

from ensemble_simplify.base import report
from ensemble_simplify.grid import in_threads, limits, time_left

# Scores that the kernel computes itself.
KERNEL_METRICS = ("accuracy", "balanced_accuracy", "neg_log_loss")


@dataclass(eq=False)
class DividedRows:
    """The rows given to fit, with the numbers of their classes, and what each is for."""

    X: np.ndarray  # float32 (n_rows, n_features)
    label: np.ndarray  # int32 (n_rows,)
    weight: np.ndarray
    kept: np.ndarray  # numbers of the rows of positive weight
    train: np.ndarray  # of those by which leaves are labelled
    val: np.ndarray  # of those by which trees are judged; where none is held out, these are `train`
    held_out: bool
    seed: int  # of the forest that votes
    votes: np.ndarray | None = None  # of this forest about the rows kept; None: it is not asked
    target: Any = None  # the class that each of `val` is to get

    def some(self, numbers) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """X, label and weight of some rows."""
        return self.X[numbers], self.label[numbers], self.weight[numbers]


class Scorer:
    """Scores class probabilities of the validation rows.

    `rows` are `DividedRows`. `weighted` says whether the user gave weights, which scorers are then
    given. The score on the training rows is added `training_weight` times in the fitness of a tree.
    """

    def __init__(self, model, rows, *, weighted):
        self.scoring = scoring = model.scoring
        self.classes = classes = model.classes_
        self.training_weight = model.training_weight
        self.target, self.val_weight = rows.target, rows.weight[rows.val]
        self.slow = not (isinstance(scoring, str) and scoring in KERNEL_METRICS)
        self.kernel_metric = "accuracy" if self.slow else scoring
        if self.slow:
            self.scorer = metrics.get_scorer(scoring) if isinstance(scoring, str) else scoring
            weight = rows.weight[rows.train]
            self.rows = {
                "val": (rows.X[rows.val], classes[self.target], self.val_weight),
                "train": (rows.X[rows.train], classes[rows.label[rows.train]], weight),
            }
            self.weighted = weighted

    def score(self, proba) -> float:
        """Score class probabilities of the validation rows."""
        if self.slow:
            return self._ask_scorer(proba, "val")
        options = {"sample_weight": self.val_weight}
        if self.scoring == "neg_log_loss":
            return float(np.average(self._log_likelihood(proba), weights=self.val_weight))
        labels = proba.argmax(axis=1)
        if self.scoring == "balanced_accuracy":
            weights = self.val_weight / np.bincount(self.target, self.val_weight)[self.target]
            return float(np.average(labels == self.target, weights=weights))
        return float(metrics.accuracy_score(self.target, labels, **options))

    def rescore(self, population, candidates) -> None:
        """Replace the kernel's fitness by that of a scorer it does not know."""
        if not self.slow:
            return
        for i in range(len(candidates)):
            nodes = candidates.nodes(i)
            fitness = self._ask_scorer(validation_proba(population, nodes), "val")
            if self.training_weight > 0:
                proba = validation_proba(population, nodes, validation=False)
                fitness += self.training_weight * self._ask_scorer(proba, "train")
            candidates.set_score(i, fitness)

    def front_score(self, population, i, fitness) -> float:
        """Score of a tree of the front, of this fitness, on the validation rows alone."""
        if self.training_weight == 0:
            return fitness  # which is this score already
        return self.score(validation_proba(population, population.nodes(i, "front")))

    def standard_error(self, population, nodes) -> float:
        """Standard error of the mean accuracy (or log loss) of a tree on the validation rows."""
        proba = validation_proba(population, nodes)
        if self.scoring == "neg_log_loss":
            values = self._log_likelihood(proba)
        else:
            values = (proba.argmax(axis=1) == self.target).astype(np.float64)
        weight = self.val_weight / self.val_weight.sum()
        variance = weight @ np.square(values - weight @ values)
        return float(np.sqrt(variance * np.square(weight).sum()))

    def _log_likelihood(self, proba):
        picked = proba[np.arange(len(self.target)), self.target]
        # scikit-learn's log loss clips there, too
        return np.log(np.maximum(picked, np.finfo(np.float64).eps))

    def _ask_scorer(self, proba, which) -> float:
        X, y, weight = self.rows[which]
        options = {"sample_weight": weight} if self.weighted else {}
        score = self.scorer(_Answers(self.classes, proba), X, y, **options)
        if not isinstance(score, Real) or not np.isfinite(score):
            rows = "validation" if which == "val" else "training"
            raise ValueError(
                f"scoring={self.scoring!r} gave {score!r} for a tree on the {rows} rows. "
                "Use a scorer that returns a finite number, or give more rows."
            )
        return float(score)


class _Answers(ClassifierMixin, BaseEstimator):
    """Stands for a tree before a scorer: knows what it answers on the validation rows."""

    def __init__(self, classes, proba):
        self.classes_ = classes
        self.proba = proba

    def fit(self, X, y):
        """Answers are given; there is nothing to fit."""
        return self

    def predict(self, X):
        """Classes of the validation rows."""
        return self.classes_[self.proba.argmax(axis=1)]

    def predict_proba(self, X):
        """Class probabilities of the validation rows."""
        return self.proba


def validation_proba(population, nodes, *, validation=True) -> np.ndarray:
    """Class fractions of the training rows in the leaf of each validation (or training) row."""
    nodes, _, weights = population.label_tree(nodes)
    # of these columns, the first half are of the training rows
    train = weights[:, : weights.shape[1] // 2]
    leaves = population.apply(nodes, validation=validation)
    return (train / train.sum(axis=1, keepdims=True))[leaves]


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
