"""Points at which two sums of functions of one feature each decide otherwise.

Boosted stumps, and trees of a single feature, add up to such sums: each axis chooses a cell, and
with it a pair of numbers, its part of the whole ensemble's lead of a class and its part of the
pruned one's lead of another. Whether both leads can be there at once is a knapsack with
multiple choices. Axis after axis, the pairs of partial sums are listed; those that another pair
beats in both, or whose best completion falls short for some mixture of the two leads
(Lagrange), are left out. With more than two classes, the whole ensemble has to lead over all of
them, and HiGHS solves that as an integer program.
"""

from __future__ import annotations

import time

import numpy as np
from scipy import sparse

from ensemble_simplify._cells import Stopped
from ensemble_simplify._lp import LinearProgram
from ensemble_simplify._regions import leaves_of_cells

# Mixtures of the two leads that bound the rest, as powers of two around the best one.
MIXTURES = 2.0 ** np.array(sorted(np.arange(-4.0, 4.01, 0.25), key=abs))
# Pairs of sums that are listed at most.
MAX_SUMS = 1 << 21


class TooMany(Exception):
    """More partial sums than are listed."""


class Tables:
    """The votes of trees of one feature, by the cell of that feature.

    Parameters
    ----------
    votes : Votes
    trees : CodedTrees
    axes : Axes
        On which the trees stand.

    Attributes
    ----------
    is_complete : bool
        Whether every tree splits on one feature at most.
    """

    def __init__(self, votes, trees, axes):
        self.first = np.concatenate([[0], np.cumsum(axes.shape)])
        self.value = []
        self.trees_of = []
        axis_of = np.full(len(trees), -1)
        self.is_complete = True
        for t in range(len(trees)):
            used = np.unique(trees[t][:, 0])
            used = used[used >= 0]
            if len(used) > 1:
                self.is_complete = False
                return
            axis_of[t] = used[0] if len(used) else 0
        for a, n in enumerate(axes.shape):
            cells = np.zeros((n, len(axes.shape)), dtype=np.int32)
            cells[:, a] = np.arange(n)
            leaves = np.empty((len(trees), n), dtype=np.intp)
            leaves_of_cells(trees.nodes, trees.offsets, cells, leaves)
            own = np.flatnonzero(axis_of == a)
            self.trees_of.append(own)
            self.value.append(votes.value[leaves[own]])

    def sums(self, weights):
        """Weighted votes of every cell: arrays of shape (cells, n_classes), one an axis."""
        return [
            np.tensordot(weights[trees], value, axes=1)
            for trees, value in zip(self.trees_of, self.value, strict=True)
        ]


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


def near_ties(parts, start, slack):
    """Points at which a sum of functions of one feature each is all but zero.

    The sums of one half of the axes, sorted, are looked up for each sum of the other half.

    Parameters
    ----------
    parts : list of float64 arrays of shape (n_cells of the axis,)
    start : float
    slack : float
        Largest size of a sum that counts.

    Returns
    -------
    int32 array of shape (n, n_axes)

    Raises
    ------
    TooMany
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
    order = np.argsort(sums[0], kind="stable")
    ascending = sums[0][order]
    least = np.searchsorted(ascending, -sums[1] - start - slack, side="left")
    most = np.searchsorted(ascending, -sums[1] - start + slack, side="right")
    n_near = (most - least).sum()
    if n_near > MAX_SUMS:
        raise TooMany
    second = np.repeat(np.arange(len(sums[1])), most - least)
    begin = np.repeat(least - np.concatenate([[0], np.cumsum(most - least)[:-1]]), most - least)
    first = order[np.arange(n_near) + begin]
    cells = np.zeros((n_near, len(parts)), dtype=np.int32)
    for half, numbers in zip(halves, (first, second), strict=True):
        if half:
            cells[:, half] = np.column_stack(
                np.unravel_index(numbers, [len(parts[a]) for a in half])
            )
    return cells


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


def answer_falls(whole, pruned, start, answer, other, slack, deadline=np.inf):
    """Where the whole ensemble answers a class, and the pruned one prefers another, by HiGHS.

    Parameters
    ----------
    whole, pruned : lists of float64 arrays of shape (n_cells of the axis, n_classes)
    start : float64 array of shape (n_classes,)
    answer, other : int
        Classes.
    slack : pair of float
        How far below zero a lead still counts.
    deadline : float

    Returns
    -------
    cells : int32 array of shape (0 or 1, n_axes)

    Raises
    ------
    Stopped
    """
    n_classes = len(start)
    sizes = [len(part) for part in whole]
    whole, pruned = np.concatenate(whole), np.concatenate(pruned)
    rivals = [k for k in range(n_classes) if k != answer]
    leads = np.array([whole[:, answer] - whole[:, k] for k in rivals])
    gain = pruned[:, other] - pruned[:, answer]
    one_each = sparse.block_diag([np.ones((1, n)) for n in sizes], format="csr")
    n_axes = len(sizes)
    A = sparse.vstack([sparse.csr_array(one_each), sparse.csr_array(leads), gain[None]])
    least = np.array([-slack[0] - (start[answer] - start[k]) for k in rivals])
    begin = start[other] - start[answer]
    program = LinearProgram(
        -gain,
        A,
        row_lower=np.concatenate([np.ones(n_axes), least, [-slack[1] - begin]]),
        row_upper=np.concatenate([np.ones(n_axes), np.full(len(rivals) + 1, np.inf)]),
        upper=1.0,
        integer=True,
    )
    seconds = None
    if np.isfinite(deadline):
        seconds = deadline - time.monotonic()
        if seconds <= 0:
            raise Stopped
    solution = program.solve(seconds)
    if solution.status == "infeasible":
        return np.empty((0, n_axes), dtype=np.int32)
    if solution.status != "optimal":
        raise Stopped
    ends = np.cumsum(sizes)
    parts = np.split(solution.x, ends[:-1])
    return np.array([[part.argmax() for part in parts]], dtype=np.int32)
