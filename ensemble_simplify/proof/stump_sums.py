"""Points at which sums of functions of one feature each are large, or tied.

Boosted stumps, and trees of a single feature, add up to such sums: each axis chooses a cell, and
with it a pair of numbers, its part of one ensemble's lead of a class and its part of another one's
lead of another class. Whether both leads can be there at once is a knapsack with multiple choices.
`both_lead` lists the pairs of partial sums, axis after axis, and leaves those out that another
pair beats in both numbers, or whose best completion falls short for some weighted sum of the two
leads (Lagrange). `near_ties` finds the points at which one such sum is zero but for rounding.
"""

from __future__ import annotations

import numpy as np

from ensemble_simplify.grid import check_time

# Mixtures of the two leads that bound the rest, as powers of two around the best one.
MIXTURES = 2.0 ** np.array(sorted(np.arange(-4.0, 4.01, 0.25), key=abs))
# Pairs of sums that are listed at most.
MAX_SUMS = 1 << 21
# With more sums in both halves, the few that are in pairs are picked out first.
FEW = 1 << 12


class TooMany(Exception):
    """More partial sums than are listed."""


def both_lead(one, two, start, slack):
    """Points at which the first sum and the second are both not negative.

    `one` and `two` are lists of float64 arrays of shape (n_cells of the axis,); for each sum,
    `start` says where it begins, and `slack` how far below zero still counts. Raises `TooMany`, or
    `Stopped` when the time is over.

    Returns
    -------
    cells : int32 array of shape (n, n_axes)
        Points that no other point beats in both sums; none iff there is no point at all.
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
        check_time()
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


def near_ties(parts, start, slack):
    """Points at which a sum of functions of one feature each is all but zero.

    The two halves of the axes meet in the middle: all sums of each half are listed, and then the
    pairs of a sum of one half with a sum of the other that all but cancels it.

    `parts` are float64 arrays of shape (n_cells of the axis,), `start` is where the sum begins, and
    `slack` the largest size of a sum that counts. The points are cells, int32 of shape (n, n_axes).
    Raises `TooMany`, or `Stopped` when the time is over.
    """
    halves = _even_halves([len(part) for part in parts])
    sums, others = (_all_sums([parts[a] for a in half]) for half in halves)
    pairs = _close_pairs(sums, -others - start, slack)
    cells = np.zeros((len(pairs[0]), len(parts)), dtype=np.int32)
    for half, places in zip(halves, pairs, strict=True):
        if half:
            shape = [len(parts[a]) for a in half]
            cells[:, half] = np.column_stack(np.unravel_index(places, shape))
    return cells


def _even_halves(n_cells):
    """The axes in two lists with about equally many cells, those with most cells first."""
    halves, sizes = ([], []), [1.0, 1.0]
    for a in sorted(range(len(n_cells)), key=lambda a: -n_cells[a]):
        smaller = int(sizes[1] < sizes[0])
        halves[smaller].append(a)
        sizes[smaller] *= n_cells[a]
    if max(sizes) > MAX_SUMS * 4:
        raise TooMany
    return halves


def _all_sums(parts):
    """The sums for all choices of a cell on every axis, in the order of the cells."""
    total = np.zeros(1)
    for part in parts:
        total = np.add.outer(total, part).ravel()
    return total


def _close_pairs(sums, wanted, slack):
    """Places of sums and of wanted numbers: all pairs that differ by at most `slack`."""
    i, j = np.arange(len(sums)), np.arange(len(wanted))
    if min(len(sums), len(wanted)) > FEW:
        i, j = _those_in_pairs(sums, wanted, slack)
    i = i[np.argsort(sums[i])]
    rising, wanted = sums[i], wanted[j]
    # the sums that are close to a wanted number follow one another
    begin = np.searchsorted(rising, wanted - slack, side="left")
    count = np.searchsorted(rising, wanted + slack, side="right") - begin
    n_pairs = count.sum()
    if n_pairs > MAX_SUMS:
        raise TooMany
    n_before = np.cumsum(count) - count
    return i[np.arange(n_pairs) + np.repeat(begin - n_before, count)], np.repeat(j, count)


def _those_in_pairs(sums, wanted, slack):
    """Places of the sums and of the wanted numbers that are in some pair; most are in none.

    Numbers alone are sorted much faster than numbers with their places. So the wanted numbers in
    pairs are found without their places, and only then the places of these few.
    """
    rising, close = np.sort(sums), np.sort(wanted)
    check_time()
    begin = np.searchsorted(rising, close - slack, side="left")
    close = close[np.searchsorted(rising, close + slack, side="right") > begin]
    check_time()
    in_pair = _within(sums, close - slack, close + slack), _within(wanted, close, close)
    return [np.flatnonzero(mask) for mask in in_pair]


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
