"""What the leaves of trees near rows answer where answers are numbers.

All answers stand in a rising list, and one leaf is right for a stretch of it: a window.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ensemble_simplify.born_again.everywhere._search import CellTree
from ensemble_simplify.grid import with_sizes

# Of the range of the numbers, the least that counts as a unit when splits are scored.
LEAST_UNIT = 1e-4


def last_alike(kinds, closeness):
    """For each of some sorted answers, the last up to which one leaf is right for all between.

    int32 of shape (n_kinds,); `closeness` is a `Tolerance`.
    """
    lower, upper = closeness.ends(kinds)
    if kinds.shape[1] == 1:
        last = np.searchsorted(lower[:, 0], upper[:, 0], side="right") - 1
        return last.astype(np.int32)
    # the ends that 1, 2, 4, ... answers from each on have in common
    spans, n = [(lower.copy(), upper.copy())], len(kinds)  # both are narrowed below
    while 2 ** len(spans) < n:
        half, (low, high) = 2 ** (len(spans) - 1), spans[-1]
        spans.append((np.maximum(low[:-half], low[half:]), np.minimum(high[:-half], high[half:])))
    last = np.arange(n)
    for k in range(len(spans) - 1, -1, -1):
        low, high = spans[k]
        at = np.flatnonzero(last + 1 < len(low))
        begin = last[at] + 1
        low, high = np.maximum(lower[at], low[begin]), np.minimum(upper[at], high[begin])
        fits = closeness.meet(low, high)
        at = at[fits]
        lower[at], upper[at] = low[fits], high[fits]
        last[at] += 2**k
    return last.astype(np.int32)


def n_windows(alike):
    """The fewest leaves that are right for all answers, wherever they are."""
    n = last = 0
    while last < len(alike):
        last = int(alike[last]) + 1
        n += 1
    return n


def in_windows(numbers, atol):
    """Numbers about their middle, in units of the tolerance, or of a little of their range."""
    unit = max(atol, LEAST_UNIT * float(np.ptp(numbers)), np.finfo(np.float64).tiny)
    return np.ascontiguousarray((numbers - np.median(numbers)) / unit)


@dataclass(frozen=True, eq=False)
class Windows:
    """What the nodes of a tree hold, and what its leaves answer.

    Arrays of shape (n_nodes, n_outputs).
    """

    least: np.ndarray  # the first and the last answer, in their order, of all points in a node
    most: np.ndarray
    lower: np.ndarray  # ends of what a leaf may answer to be right for its window; splits: NaN
    upper: np.ndarray

    @classmethod
    def of(cls, trees, nodes, kinds, closeness):
        """Those of a tree, by the kernel for its points."""
        spans = trees.spans(nodes)
        leaf = nodes[:, 0] < 0
        # leaves without points
        bare = leaf & (spans[:, 0] < 0)
        spans[bare] = nodes[bare, 1:2]
        # where no point suits the window, it is left as it is
        none = leaf & (spans[:, 2] < 0)
        spans[none, 2:] = nodes[none, 1:2]
        ends = np.full((2, len(nodes), kinds.shape[1]), np.nan)
        ends[:, leaf] = common_ends(kinds[spans[leaf, 2]], kinds[spans[leaf, 3]], closeness)
        return cls(kinds[spans[:, 0]], kinds[spans[:, 1]], *ends)

    def answers(self, nodes, cells, known, weights, closeness):
        """What the leaves answer, by node; NaN in splits.

        It is the mean of the answers that are `known` in some cells, as near as a leaf's ends
        allow.
        """
        place = CellTree(nodes).apply(cells)
        total = np.bincount(place, weights, len(nodes))
        sums = [np.bincount(place, weights * column, len(nodes)) for column in known.T]
        with np.errstate(invalid="ignore"):
            wish = np.column_stack(sums) / total[:, None]
        found, leaf = np.full(wish.shape, np.nan), nodes[:, 0] < 0
        found[leaf] = closeness.chosen(self.lower[leaf], self.upper[leaf], wish[leaf])
        return found

    def largest_difference(self, answers):
        """The largest difference of the leaves' answers from those of any point in them."""
        leaf = ~np.isnan(answers[:, -1])
        answers = answers[leaf]
        apart = np.maximum(np.abs(answers - self.least[leaf]), np.abs(answers - self.most[leaf]))
        return float(apart[:, -1].max())

    def pruned(self, nodes, closeness):
        """The smallest pruning of a tree that is right for all points, by another tolerance.

        Returns its nodes and its `Windows`; None if there is none.
        """
        ends = common_ends(self.least, self.most, closeness)
        whole = closeness.meet(*ends)
        if not whole[nodes[:, 0] < 0].all():
            return None
        kept, at = [], 0
        while at < len(nodes):
            kept.append(at)
            at += nodes[at, 2] if whole[at] else 1
        pruned = nodes[kept].copy()
        pruned[whole[kept], 0] = -1
        lower, upper = np.where(whole[:, None], ends, np.nan)[:, kept]
        return with_sizes(pruned), Windows(self.least[kept], self.most[kept], lower, upper)


def common_ends(first, last, closeness):
    """Ends of what leaves may answer to be right from one answer to another, in their order."""
    lower, upper = np.maximum.reduce, np.minimum.reduce
    one, two = closeness.ends(first), closeness.ends(last)
    return np.stack([lower([one[0], two[0]]), upper([one[1], two[1]])])


def are_alike(told, truth, closeness):
    """Which answers of a tree are right: the same class, or near enough."""
    if closeness is None:
        return told == truth
    apart = np.abs(told - truth.reshape(told.shape))
    near = apart[:, closeness.labelled :] <= closeness.atol
    return near.all(axis=1) & (apart[:, 0] == 0 if closeness.labelled else True)
