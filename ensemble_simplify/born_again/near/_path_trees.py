"""Trees on the path of exceptions: what their leaves answer, and the cheapest for every size.

Where answers are numbers, all of them stand in a rising list, and one leaf is right for a stretch
of it: a window."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ensemble_simplify.born_again.everywhere._search import CellTree
from ensemble_simplify.grid import children, with_sizes

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
        kept = CellTree(nodes).cut_back(whole)
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


@dataclass(frozen=True)
class PathTree:
    """A tree on the path from one leaf to the tree without exceptions."""

    nodes: np.ndarray
    n_leaves: int
    # promised points, the rows' cells among them, on which it differs or that were not looked at
    n_exceptions: int
    n_row_exceptions: int  # training rows on which it differs
    weighted_share: float  # share of the weight of all points on which it differs
    # the same of points looked at without the rows, each by the rows that hold its changed value
    held_share: float
    agreement: float  # share of held-out rows on which it agrees; NaN if none were
    # of numbers:
    r2: float = np.nan  # R2 on the held-out rows, of the ensemble's own answers
    max_difference: float = np.nan  # the largest at any point that was looked at
    windows: Windows | None = None  # what it holds
    answers: np.ndarray | None = None  # and what its leaves answer, by node

    def answers_at(self, cells):
        """What it answers in some cells: classes, or numbers."""
        return answers_at(self.nodes, self.answers, cells)

    def within(self, closeness, cells, known, weights):
        """It, cut back as far as a wider tolerance allows at every point; None if it is not enough.

        The other arguments are those of `Windows.answers`.
        """
        found = self.windows.pruned(self.nodes, closeness)
        if found is None:
            return None
        nodes, windows = found
        answers = windows.answers(nodes, cells, known, weights, closeness)
        leaf = nodes[:, 0] < 0
        nodes[leaf, 1] = answers[leaf, 0] if closeness.labelled else 0
        shares, difference = (0.0, 0.0, np.nan, np.nan), windows.largest_difference(answers)
        return PathTree(nodes, n_leaves(nodes), 0, 0, *shares, difference, windows, answers)

    def ends(self, leaves):
        """Ends of what some leaves may answer, of shape (n_leaves, 2, n_outputs); None of classes.

        A number is what it is: both ends.
        """
        if self.windows is None:
            return None
        if self.answers.shape[1] == 1:
            return np.stack([self.answers[leaves]] * 2, axis=1)
        return np.stack([self.windows.lower[leaves], self.windows.upper[leaves]], axis=1)


def answers_at(nodes, answers, cells):
    """What a tree answers in some cells, given the answers of its nodes; None: its numbers."""
    tree = CellTree(nodes)
    return tree.numbers_of(cells) if answers is None else answers[tree.apply(cells)]


def n_leaves(nodes):
    """Leaves of a tree."""
    return (len(nodes) + 1) // 2


class Prunings:
    """The cheapest prunings of one tree to every number of leaves, by dynamic programming.

    `errors` and `classes` tell what each node would get wrong as a leaf, and of which class it
    would be. Entry m - 1 of the attribute `errors` is the least of a pruning of at most m leaves.
    """

    def __init__(self, nodes, errors, classes):
        self.nodes, self.classes = nodes, classes
        self.left, self.right = children(nodes)
        # for each node, the least error of its subtree with 1, 2, ... leaves
        self.fronts: list = [None] * len(nodes)
        for i in range(len(nodes) - 1, -1, -1):
            if self.left[i] < 0:
                self.fronts[i] = errors[i : i + 1]
                continue
            one, two = self.fronts[self.left[i]], self.fronts[self.right[i]]
            if len(one) > len(two):
                one, two = two, one
            front = np.full(len(one) + len(two), np.inf)
            front[0] = errors[i]
            for k in range(len(one)):
                ways = front[k + 1 : k + 1 + len(two)]
                np.minimum(ways, one[k] + two, out=ways)
            self.fronts[i] = np.minimum.accumulate(front)
        self.errors = self.fronts[0]

    def tree(self, n_leaves):
        """Nodes of the cheapest pruning of at most so many leaves; leaves have classes as numbers.

        Of several it is one with the fewest leaves.
        """
        out, stack = [], [(0, min(n_leaves, len(self.errors)))]
        while stack:
            node, n = stack.pop()
            front = self.fronts[node]
            while n > 1 and front[n - 2] == front[n - 1]:
                n -= 1
            if n == 1:
                out.append((-1, self.classes[node], 1))
                continue
            left, right = self.left[node], self.right[node]
            one, two = self.fronts[left], self.fronts[right]
            k = np.arange(max(1, n - len(two)), min(len(one), n - 1) + 1)
            best = int(k[np.argmin(one[k - 1] + two[n - k - 1])])
            out.append((*self.nodes[node, :2], 0))
            stack += [(right, n - best), (left, best)]
        return with_sizes(np.array(out, dtype=np.int32))


class Front:
    """The cheapest of all prunings of some trees, for every number of leaves.

    Entry m - 1 of `errors` is the least with at most m leaves; more than its length gain nothing.
    """

    def __init__(self):
        self.prunings = []
        self.errors, self.which = np.array([np.inf]), np.zeros(1, dtype=np.intp)

    def add(self, prunings):
        """Consider the prunings of one more tree."""
        number, new = len(self.prunings), prunings.errors
        self.prunings.append(prunings)
        size = max(len(new), len(self.errors))
        # more leaves than either has gain nothing
        old, which, new = (
            np.pad(array, (0, size - len(array)), mode="edge")
            for array in (self.errors, self.which, new)
        )
        self.which = np.where(new < old, number, which)
        self.errors = np.minimum(new, old)

    def tree(self, n_leaves):
        """Nodes of the cheapest tree of at most so many leaves."""
        n_leaves = min(n_leaves, len(self.errors))
        return self.prunings[self.which[n_leaves - 1]].tree(n_leaves)

    def sizes(self):
        """Numbers of leaves at which the error becomes less, as an array from 1 on."""
        fewer = np.flatnonzero(np.diff(self.errors) < 0) + 2
        return np.append(1, fewer)
