"""Weights on a grid, under which ties are exact.

Votes and weights are whole multiples of powers of two, so small that their products and sums never
round: two classes tie in floating point iff they tie. Trees' weights that hold some ties are the
solutions of linear equations with whole coefficients. With the equations reduced in exact
fractions, some trees' weights are free, and the others' are combinations of theirs; free weights
rounded to multiples of the common denominator make all of them whole.
"""

from __future__ import annotations

from fractions import Fraction
from math import lcm

import numpy as np

from ensemble_simplify.faithful_pruning._promise import GRID

# Weights are multiples of this; their mean over all trees, those left out too, is about one.
STEP = 2.0**-20
# Largest common denominator of the combinations; more would be too coarse.
MAX_DENOMINATOR = 1 << 12


def on_grid(weights, ties):
    """Weights next to some, multiples of `STEP`, that hold ties exactly; None if there are none.

    `weights`, one for each tree, hold the ties but for rounding; those found are positive for the
    same trees. `ties`, of shape (n_ties, n_trees), are leads of the trees, multiples of `GRID`,
    that must add up to zero.
    """
    kept = np.flatnonzero(weights)
    n = len(kept)
    whole = np.unique((ties[:, kept] / GRID).astype(np.int64), axis=0)
    # the trees of small weight are left free where there is a choice: rounding hits them least
    order = np.argsort(-weights[kept], kind="stable")
    pivots, rows = _reduced(whole[:, order])
    # free weights that are multiples of this make all others whole
    denominator = lcm(*(entry.denominator for row in rows for entry in row))
    if denominator > MAX_DENOMINATOR:
        return None
    free = np.setdiff1d(np.arange(n), pivots)
    scale = len(weights) / (weights.sum() * STEP * denominator)
    chosen = np.rint(weights[kept[order[free]]] * scale).astype(np.int64)
    numbers = np.zeros(n, dtype=np.int64)
    numbers[free] = denominator * chosen
    if len(pivots):
        combined = np.array(
            [[int(row[j] * denominator) for j in free] for row in rows], dtype=np.int64
        )
        numbers[pivots] = -(combined.reshape(len(pivots), len(free)) @ chosen)
    placed = np.zeros(n, dtype=np.int64)
    placed[order] = numbers
    # rounding can turn a small weight, break a tie, or make weights too large for the grid
    if (placed <= 0).any() or (whole @ placed).any() or placed.sum() * STEP > 2 * len(weights):
        return None
    exact = np.zeros(len(weights))
    exact[kept] = placed * STEP
    return exact


def _reduced(equations):
    """Equations in reduced row echelon form, in exact fractions: pivot columns, and the rows."""
    rows = [[Fraction(int(entry)) for entry in row] for row in equations]
    pivots, done = [], 0
    for column in range(equations.shape[1]):
        other = next((i for i in range(done, len(rows)) if rows[i][column]), None)
        if other is None:
            continue
        rows[done], rows[other] = rows[other], rows[done]
        pivot = rows[done][column]
        rows[done] = [entry / pivot for entry in rows[done]]
        for i, row in enumerate(rows):
            factor = row[column]
            if i != done and factor:
                rows[i] = [a - factor * b for a, b in zip(row, rows[done], strict=True)]
        pivots.append(column)
        done += 1
        if done == len(rows):
            break
    return np.array(pivots, dtype=np.intp), rows[:done]


def spanned(leads, chosen, usable):
    """Which rows of leads are combinations of chosen ones, over the usable columns."""
    # of each row, what is left outside the span of the chosen ones
    _, size, directions = np.linalg.svd(leads[chosen][:, usable], full_matrices=False)
    directions = directions[size > 1e-9 * size[0]]
    rest = leads[:, usable]
    rest = rest - (rest @ directions.T) @ directions
    return np.abs(rest).max(axis=1) < 1e-9 * np.abs(leads).max()
