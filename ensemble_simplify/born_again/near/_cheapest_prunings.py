"""The cheapest prunings of trees to every number of leaves."""

from __future__ import annotations

import numpy as np

from ensemble_simplify.grid import children, with_sizes


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
