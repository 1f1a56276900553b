"""How much of all weight a tree can have, and how few trees that leaves.

Weights that keep a promise can be divided by their sum: shares. A linear program says how large the
share of a tree can be, whatever the others are; trees that can have a tenth of all weight at
most are at least ten. The least sum of each share divided by its largest value is a sharper bound,
for a tree counts as one where this quotient is at most one. Nothing depends on how exactly
programs are solved: bounds are found anew from the multipliers of the demands, and any will do.
"""

from __future__ import annotations

import numpy as np

from ensemble_simplify.base import product
from ensemble_simplify.faithful_pruning._lazy import LazyProgram

ROUNDING = 1e-9  # Leads that are zero but for rounding.


class Shares:
    """Shares of trees in all weight that fall behind in none of some demands.

    The last column of `leads` is what is there without trees, whose factor is not negative. Trees
    that are not usable have no share; no tree's is above its `largest`. Methods raise `Stopped`.
    """

    def __init__(self, leads, usable):
        # where all answer one class, nothing leads
        self.leads = leads / (np.abs(leads).max(initial=0.0) or 1.0)
        self.usable = usable
        self.largest = usable.astype(float)
        n_trees = len(usable)
        one = np.append(np.ones(n_trees), 0.0)[None]
        self.program = LazyProgram(
            0.0, one, row_lower=1.0, row_upper=1.0, upper=np.append(self.largest, np.inf)
        )
        self.program.add_rows(self.leads, lower=0.0)

    def least(self, cost, deadline=np.inf):
        """A lower bound on the cost of all shares, given the cost of each tree's."""
        self.program.set_cost(np.append(cost, 0.0))
        solution = self.program.solve(deadline)
        if solution.status != "optimal":
            return -np.inf
        multipliers = np.maximum(self.program.multipliers(solution), 0.0)
        # Leads are not negative, so cost - multipliers @ leads bounds the cost from below. That
        # bound is least where the cheapest trees have their largest shares.
        mixture = product(multipliers, self.leads)
        if mixture[-1] > ROUNDING:
            # the votes without trees lower this bound, and their factor has no upper limit
            return -np.inf
        cost = cost - mixture[:-1]
        order = np.flatnonzero(self.usable)
        order = order[np.argsort(cost[order], kind="stable")]
        before = np.cumsum(self.largest[order]) - self.largest[order]
        share = np.clip(1.0 - before, 0.0, self.largest[order])
        return float(product(cost[order], share))

    def tighten(self, deadline=np.inf):
        """Find the largest share of every tree."""
        for t in np.flatnonzero(self.usable):
            cost = np.zeros(len(self.usable))
            cost[t] = -1.0
            self.largest[t] = min(self.largest[t], -self.least(cost, deadline))
        self.program.set_upper(np.append(self.largest, np.inf))

    def fewest(self, price, deadline=np.inf):
        """A lower bound on the price of all trees with a share."""
        can = self.largest > 0
        cost = np.divide(price, self.largest, out=np.zeros(len(price)), where=can)
        self.usable = self.usable & can
        return self.least(cost, deadline)
