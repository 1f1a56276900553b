"""The fewest stumps whose sum, everywhere, is near that of all: exact, feature by feature.

The stumps of one feature add up to a step function, and with free weights and an offset, any of
these stumps add up to any step function with their thresholds. How near it can come with so many
thresholds is told by cutting the cells of the feature into runs: half of what the numbers span in
the widest run. Features share nothing but the number of stumps, so that the distances of all add
up, and a knapsack over the features finds the best for every number of stumps.
"""

from __future__ import annotations

import numpy as np

# Stumps whose sides differ by less than this share of what they say cannot stand for others.
FLAT = 1e-9
# Where no stump is needed, one is kept that moves sums by this share of what they differ by.
TOUCH = 1e-6


def best_of_each_number(numbers, trees, axes):
    """For each number of stumps, from one on, the largest difference and the weights.

    `numbers` are such as have a place for an offset; `trees` are coded over the `axes`, on none of
    which values can be missing, and split once at most. Returns a list of pairs; numbers of stumps
    that come no nearer than fewer do are left out. None where no tree splits.
    """
    steps = _steps_of_axes(numbers, trees, axes)
    if not steps:
        return None
    n_trees = len(trees)
    total = sum(len(step.trees) for step in steps)
    error = np.full(total + 1, np.inf)
    error[0] = 0.0
    taken = []
    # axis by axis, like a knapsack: errors of axes add up, for each is free of the others
    for step in steps:
        ways = np.full((len(step.error), total + 1), np.inf)
        for k, more in enumerate(step.error):
            ways[k, k:] = error[: total + 1 - k] + more
        taken.append(ways.argmin(axis=0))
        error = ways.min(axis=0)
    best = []
    for n in range(1, total + 1):
        # more stumps that come no nearer are worth nothing
        if best and not error[n] < best[-1][0]:
            continue
        weights, left = np.zeros(n_trees + 1), n
        for step, counts in zip(steps[::-1], taken[::-1], strict=True):
            step.put(weights, int(counts[left]))
            left -= int(counts[left])
        weights[-1] += numbers.value[_roots_of_constants(trees), 0].sum()
        more = 0.0
        # a constant is the nearest single step: an ensemble has a tree all the same
        if n == 1 and not weights.any():
            more = _touch(weights, steps, TOUCH * float(error[0]))
        if weights[:-1].any():
            best.append((float(error[n]) + more, weights))
    return best


def _touch(weights, steps, size):
    """Give a weight to some stump, for an ensemble has a tree; it moves no sum by more than that.

    Returns by how much it does.
    """
    stumps = [stump for step in steps for stump in step.stumps]
    if not stumps:
        return 0.0
    _, t, left, right = max(stumps)
    weights[t] = 2.0 * size / (right - left)
    weights[-1] -= weights[t] * 0.5 * (left + right)
    return size


def _roots_of_constants(trees):
    return [int(trees[t][0, 1]) for t in range(len(trees)) if len(trees[t]) == 1]


def _steps_of_axes(numbers, trees, axes):
    """The step function of each axis that is split."""
    stumps = {}
    for t in range(len(trees)):
        nodes = trees[t]
        if len(nodes) == 3:
            left, right = numbers.value[nodes[1:, 1], 0].tolist()
            stumps.setdefault(int(nodes[0, 0]), []).append((int(nodes[0, 1]), t, left, right))
    return [_Steps(of_axis, axes.shape[a]) for a, of_axis in sorted(stumps.items())]


class _Steps:
    """The stumps of one axis: pairs of a threshold and a tree, and what both sides say.

    Attributes
    ----------
    trees : list of int
        One for each threshold, in rising order: that whose sides differ by most.
    error : float64 array of shape (n_trees + 1,)
        How near so many of them come to all.
    """

    def __init__(self, stumps, n_cells):
        self.values = np.zeros(n_cells)
        best = {}
        for cut, t, left, right in stumps:
            self.values[: cut + 1] += left
            self.values[cut + 1 :] += right
            size = abs(right - left)
            # of several stumps at one threshold, each can do the work of all
            if size > FLAT * max(abs(left), abs(right)) and size > best.get(cut, (0.0,))[0]:
                best[cut] = size, t, left, right
        self.cuts = np.array(sorted(best), dtype=np.intp)
        self.stumps = [best[cut] for cut in self.cuts.tolist()]
        self.trees = [t for _, t, _, _ in self.stumps]
        # pieces between neighbouring thresholds, and what the values span from one to another
        first = np.append(0, self.cuts + 1)
        low = np.minimum.reduceat(self.values, first)
        high = np.maximum.reduceat(self.values, first)
        n = len(first)
        self.low, self.high = np.full((n, n), np.inf), np.full((n, n), -np.inf)
        for i in range(n):
            self.low[i, i:] = np.minimum.accumulate(low[i:])
            self.high[i, i:] = np.maximum.accumulate(high[i:])
        self._cut_into_runs(n)

    def _cut_into_runs(self, n):
        """For each number of runs, the least half of what the widest spans, for pieces 0 to j."""
        # a run is answered by the middle of what it spans, and is off by half of that at most
        half = 0.5 * (self.high - self.low)
        error, self.begins = [half[0]], [np.zeros(n, dtype=np.intp)]
        for _ in range(1, n):
            before = error[-1]
            # the last run begins at piece i: what is before it rises with i, its own span falls
            ends = np.maximum(np.append(0.0, before[:-1])[:, None], np.maximum(half, 0.0))
            ends[np.arange(n)[:, None] > np.arange(n)] = np.inf
            self.begins.append(ends.argmin(axis=0))
            error.append(ends.min(axis=0))
        self.error = np.array([of_pieces[-1] for of_pieces in error])

    def put(self, weights, n):
        """Set the weights of `n` of the trees, and what they leave to the offset."""
        ends, last = [], len(self.cuts)
        for k in range(n, -1, -1):
            begin = int(self.begins[k][last])
            ends.append((begin, last))
            last = begin - 1
            if last < 0:
                break
        ends.reverse()
        levels = [0.5 * (self.low[i, j] + self.high[i, j]) for i, j in ends]
        weights[-1] += levels[0]
        for (begin, _), below, level in zip(ends[1:], levels, levels[1:], strict=False):
            _, t, left, right = self.stumps[begin - 1]
            weights[t] = (level - below) / (right - left)
            weights[-1] -= weights[t] * left
