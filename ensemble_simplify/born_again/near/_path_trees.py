"""Trees on the path of exceptions: what is known of each, and the cheapest for every size."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ensemble_simplify.born_again.everywhere._search import CellTree
from ensemble_simplify.born_again.near._leaf_answers import Windows
from ensemble_simplify.grid import children, with_sizes


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
    place = CellTree(nodes).apply(cells)
    return nodes[place, 1] if answers is None else answers[place]


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
        self.errors = np.empty(0)
        self.which = np.empty(0, dtype=np.intp)

    def add(self, prunings):
        """Consider the prunings of one more tree."""
        number, new = len(self.prunings), prunings.errors
        self.prunings.append(prunings)
        size = max(len(new), len(self.errors))
        old = np.full(size, np.inf)
        old[: len(self.errors)] = self.errors
        old[len(self.errors) :] = self.errors[-1] if len(self.errors) else np.inf
        which = np.full(size, self.which[-1] if len(self.which) else number)
        which[: len(self.which)] = self.which
        new = np.append(new, np.full(size - len(new), new[-1]))
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
