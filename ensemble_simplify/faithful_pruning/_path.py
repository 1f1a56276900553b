"""From the faithful ensemble down to fewer trees: the best weights for each, exceptions counted."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ensemble_simplify.base import product
from ensemble_simplify.faithful_pruning._fit import fit
from ensemble_simplify.grid import Stopped

# Up to so many trees, each number has its ensemble; above, numbers fall by this factor.
EACH, FALL = 24, 0.9
FITS = 2  # Fits for each number of trees, each followed by a count of all exceptions.
LOOKED_AT = 6000  # Demands that a fit looks at, at most.
# Sweeps of a fit over the weights at most; it ends when one gains less than this share.
SWEEPS, GAIN = 200, 1e-9


@dataclass(frozen=True, eq=False)
class Step:
    """Weights of some trees, and at how many promised points they answer otherwise.

    Of numbers, these are points that are too far off; beside it, what is added to the weighted sum,
    and the largest difference anywhere.
    """

    weights: np.ndarray
    n_exceptions: int
    offset: float = 0.0
    largest: float = np.nan


def fewer(n_trees):
    """The number of trees that comes after another one on a path."""
    return n_trees - 1 if n_trees <= EACH else int(FALL * n_trees)


def find_path(promise, faithful, demands, rng, deadline=np.inf):
    """Weights for fewer and fewer trees, down from `faithful` ones that keep the promise.

    A tree of little influence goes, the others' weights are fitted anew to demands that were
    broken before, and all exceptions are counted. `demands`, with a column for each tree and one
    without any, are some that are hard to meet. From the fewest trees to the faithful ones; none
    has as few trees as another with no more exceptions. The path may end early, at the deadline.
    """
    steps = [Step(faithful, 0)]
    weights, n_trees = faithful, np.count_nonzero(faithful)
    hard = _chosen(demands, LOOKED_AT // 3, rng)
    own = _chosen(promise.own.leads, LOOKED_AT // 3, rng)
    broken = hard[:0]
    try:
        while n_trees > 1:
            n_trees = fewer(n_trees)
            allowed = _most_influential(weights, promise.own.leads, n_trees)
            best = None
            for _ in range(FITS):
                found = _fitted(np.concatenate([own, hard, broken]), weights, allowed)
                _row, cells, n = promise.sample(found, rng, deadline)
                if best is None or n < best.n_exceptions:
                    best = Step(found, n)
                if not n:
                    break
                cells = _chosen(cells, LOOKED_AT // 3, rng)
                broken = _chosen(promise.demands(cells)[0].leads, LOOKED_AT // 3, rng)
            weights, n_trees = best.weights, np.count_nonzero(best.weights)
            steps.append(best)
    except Stopped:
        pass
    useful = []
    for step in reversed(steps):
        if not useful or step.n_exceptions < useful[-1].n_exceptions:
            useful.append(step)
    return useful


def _chosen(demands, n, rng):
    if len(demands) <= n:
        return demands
    return demands[rng.choice(len(demands), n, replace=False)]


def _most_influential(weights, demands, n_trees):
    """Which trees move the votes most."""
    influence = weights * np.abs(demands[:, :-1]).mean(axis=0)
    allowed = np.zeros(len(weights), dtype=bool)
    allowed[np.argsort(-influence, kind="stable")[:n_trees]] = True
    return allowed & (weights > 0)


def _fitted(demands, weights, allowed):
    """Weights of the allowed trees of least squared shortfall of the demands' leads from one."""
    kept = np.flatnonzero(allowed)
    leads = np.ascontiguousarray(demands[:, kept].T)
    best = weights[kept]
    short = 1.0 - demands[:, -1] - product(best, leads)
    fit(leads, short, best, SWEEPS, GAIN)
    found = np.zeros(len(weights))
    found[kept] = best if best.any() else weights[kept]
    found[found < 1e-7 * found.max()] = 0.0
    return found
