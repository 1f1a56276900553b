"""From the faithful ensemble down to fewer trees: the best weights for each, exceptions counted."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from itertools import islice

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


def descend(first, tries, n_all):
    """Ensembles of fewer and fewer of `n_all` trees, from the fewest to one that keeps the promise.

    Each is a tuple: how bad it is, its weights, and what else is known of it.

    Parameters
    ----------
    first : callable
        Answers the one that keeps the promise.
    tries : callable
        ``tries(weights, n_trees)`` yields ensembles of so many trees at most, fitted after weights
        of more. Of each number of trees, the best of the first few is taken.
    n_all : int

    Returns
    -------
    list of tuples
        None has as few trees as another that is no worse. Where time is over, the smallest are
        missing, or all.
    """
    steps, useful = [], []
    with suppress(Stopped):
        steps.append(first())
        while (n_trees := np.count_nonzero(steps[-1][1][:n_all])) > 1:
            n_trees = n_trees - 1 if n_trees <= EACH else int(FALL * n_trees)
            tried = islice(tries(steps[-1][1], n_trees), FITS)
            steps.append(min(tried, key=lambda step: step[0]))
    for step in reversed(steps):
        if not useful or step[0] < useful[-1][0]:
            useful.append(step)
    return useful


def find_path(promise, faithful, demands, rng):
    """`descend` from `faithful` weights that keep the promise of classes, as a list of `Step`.

    A tree of little influence goes, the others' weights are fitted anew to demands that were
    broken before, and all exceptions are counted. `demands`, with a column for each tree and one
    without any, are some that are hard to meet.
    """
    hard = _chosen(demands, LOOKED_AT // 3, rng)
    at_rows = _chosen(promise.at_rows.leads, LOOKED_AT // 3, rng)
    broken = hard[:0]

    def tries(weights, n_trees):
        nonlocal broken
        allowed = _most_influential(weights, promise.at_rows.leads, n_trees)
        n = None
        while n != 0:
            fitted = _fitted(np.concatenate([at_rows, hard, broken]), weights, allowed)
            _row, cells, n = promise.sample(fitted, rng)
            if n:
                # what this fit breaks is asked for in the next one
                cells = _chosen(cells, LOOKED_AT // 3, rng)
                broken = _chosen(promise.demands(cells)[0].leads, LOOKED_AT // 3, rng)
            yield n, fitted

    path = descend(lambda: (0, faithful), tries, len(faithful))
    return [Step(weights, n) for n, weights in path]


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
    fitted = np.zeros(len(weights))
    fitted[kept] = best if best.any() else weights[kept]
    fitted[fitted < 1e-7 * fitted.max()] = 0.0
    return fitted
