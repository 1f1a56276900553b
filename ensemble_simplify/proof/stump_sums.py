"""Points at which sums of functions of one feature each are large, or tied.

Boosted stumps, and trees of a single feature, add up to such sums: each axis chooses a cell, and
with it a pair of numbers, its part of one ensemble's lead of a class and its part of another one's
lead of another class. Whether both leads can be there at once is a knapsack with multiple choices.
Axis after axis, the pairs of partial sums are listed; those that another pair beats in both, or
whose best completion falls short for some mixture of the two leads (Lagrange), are left out.
"""

from __future__ import annotations

import time

import numpy as np

from ensemble_simplify.grid import Stopped

# Mixtures of the two leads that bound the rest, as powers of two around the best one.
MIXTURES = 2.0 ** np.array(sorted(np.arange(-4.0, 4.01, 0.25), key=abs))
# Pairs of sums that are listed at most.
MAX_SUMS = 1 << 21
# Up to so many sums, their places are sorted with them.
FEW = 1 << 12


class TooMany(Exception):
    """More partial sums than are listed."""


def both_lead(one, two, start, slack, deadline=np.inf):
    """Points at which the first sum and the second are both not negative.

    Parameters
    ----------
    one, two : lists of float64 arrays of shape (n_cells of the axis,)
    start : pair of float
        Where the sums begin.
    slack : pair of float
        How far below zero still counts.
    deadline : float
        On the clock of ``time.monotonic()``.

    Returns
    -------
    cells : int32 array of shape (n, n_axes)
        Points that no other point beats in both sums; none iff there is no point at all.

    Raises
    ------
    TooMany, Stopped
    """
    order = np.argsort([-(np.ptp(f) + np.ptp(g)) for f, g in zip(one, two, strict=True)])
    mixtures = _mixtures(one, two, start)
    # the best that the axes still to come can add, for every mixture, and for each sum alone
    rest = [np.zeros(len(mixtures) + 2)]
    for a in order[::-1]:
        best = (np.multiply.outer(mixtures, one[a]) + two[a]).max(axis=1)
        rest.append(rest[-1] + np.concatenate([best, [one[a].max(), two[a].max()]]))
    rest.reverse()
    f, g = np.array([start[0]]), np.array([start[1]])
    history = []
    for step, a in enumerate(order):
        if time.monotonic() >= deadline:
            raise Stopped
        choices = _undominated(one[a], two[a])
        parent = np.repeat(np.arange(len(f)), len(choices))
        cell = np.tile(choices, len(f))
        f, g = f[parent] + one[a][cell], g[parent] + two[a][cell]
        later = rest[step + 1]
        kept = np.flatnonzero((f + later[-2] >= -slack[0]) & (g + later[-1] >= -slack[1]))
        # the best mixture first: it leaves little for the others
        for m, more in zip(mixtures, later, strict=False):
            kept = kept[m * f[kept] + g[kept] + more >= -(m * slack[0] + slack[1])]
        kept = kept[_undominated(f[kept], g[kept])]
        if len(kept) > MAX_SUMS:
            raise TooMany
        history.append((a, parent[kept], cell[kept]))
        f, g = f[kept], g[kept]
    cells = np.zeros((len(f), len(one)), dtype=np.int32)
    at = np.arange(len(f))
    for a, parent, cell in reversed(history):
        cells[:, a] = cell[at]
        at = parent[at]
    return cells


def near_ties(parts, start, slack, deadline=np.inf):
    """Points at which a sum of functions of one feature each is all but zero.

    The sums of one half of the axes, sorted, are looked up for each sum of the other half.

    Parameters
    ----------
    parts : list of float64 arrays of shape (n_cells of the axis,)
    start : float
    slack : float
        Largest size of a sum that counts.
    deadline : float
        On the clock of ``time.monotonic()``.

    Returns
    -------
    int32 array of shape (n, n_axes)

    Raises
    ------
    TooMany, Stopped
    """
    halves, sizes = ([], []), [1.0, 1.0]
    for a in sorted(range(len(parts)), key=lambda a: -len(parts[a])):
        smaller = int(sizes[1] < sizes[0])
        halves[smaller].append(a)
        sizes[smaller] *= len(parts[a])
    if max(sizes) > MAX_SUMS * 4:
        raise TooMany
    sums = []
    for half in halves:
        total = np.zeros(1)
        for a in half:
            total = np.add.outer(total, parts[a]).ravel()
        sums.append(total)
    asked = -sums[1] - start
    near = [np.arange(len(half)) for half in sums]
    if min(len(half) for half in sums) > FEW:
        # sorting numbers is much faster than sorting with their places: first, which come close
        rising, looked_up = np.sort(sums[0]), np.sort(asked)
        if time.monotonic() >= deadline:
            raise Stopped
        least = np.searchsorted(rising, looked_up - slack, side="left")
        some = np.searchsorted(rising, looked_up + slack, side="right") > least
        if time.monotonic() >= deadline:
            raise Stopped
        near[1] = np.flatnonzero(_among(asked, looked_up[some]))
        close = np.concatenate([looked_up[some] - slack, looked_up[some] + slack])
        near[0] = np.flatnonzero(_within(sums[0], *np.split(close, 2)))
    near[0] = near[0][np.argsort(sums[0][near[0]])]
    asked = asked[near[1]]
    ascending = sums[0][near[0]]
    least = np.searchsorted(ascending, asked - slack, side="left")
    most = np.searchsorted(ascending, asked + slack, side="right")
    n_near = (most - least).sum()
    if n_near > MAX_SUMS:
        raise TooMany
    second = near[1][np.repeat(np.arange(len(asked)), most - least)]
    begin = np.repeat(least - np.concatenate([[0], np.cumsum(most - least)[:-1]]), most - least)
    first = near[0][np.arange(n_near) + begin]
    cells = np.zeros((n_near, len(parts)), dtype=np.int32)
    for half, numbers in zip(halves, (first, second), strict=True):
        if half:
            cells[:, half] = np.column_stack(
                np.unravel_index(numbers, [len(parts[a]) for a in half])
            )
    return cells


def _among(numbers, rising):
    """Which numbers are among some others, in rising order."""
    return _within(numbers, rising, rising)


def _within(numbers, least, most):
    """Which numbers are in one of some ranges; both ends rise."""
    if not len(least):
        return np.zeros(len(numbers), dtype=bool)
    # the last range that begins at or below a number ends last of these
    at = np.searchsorted(least, numbers, side="right") - 1
    return (at >= 0) & (numbers <= most[at])


def _mixtures(one, two, start):
    """Weights of the first sum for which the bounds of both together are small."""
    widths = [sum(np.ptp(part) for part in parts) for parts in (one, two)]
    scale = widths[1] / widths[0] if widths[0] > 0 and widths[1] > 0 else 1.0
    tried = scale * 2.0 ** np.arange(-12.0, 12.01, 0.5)
    bounds = tried * start[0] + start[1]
    for f, g in zip(one, two, strict=True):
        bounds = bounds + (np.multiply.outer(tried, f) + g).max(axis=1)
    return tried[np.argmin(bounds)] * MIXTURES


def _undominated(f, g):
    """Pairs that no other beats in one number without losing in the other; one of equals."""
    order = np.lexsort([-g, -f])
    best = np.maximum.accumulate(g[order])
    wins = np.ones(len(order), dtype=bool)
    wins[1:] = g[order][1:] > best[:-1]
    return order[wins]
