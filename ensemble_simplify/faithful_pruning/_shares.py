"""How much of all weight a tree can have, and how few trees that leaves.

Weights that keep a promise can be divided by their sum: shares. A linear program says how large the
share of a tree can be, whatever the others are; trees that can have a tenth of all weight at
most are at least ten. The least sum of each share divided by its largest value is a sharper bound,
for a tree counts as one where this quotient is at most one. Nothing depends on how exactly
programs are solved: bounds are found anew from the multipliers of the demands, and any will do.
"""

from __future__ import annotations

import numpy as np

from ensemble_simplify._cells import Stopped
from ensemble_simplify._lp import LinearProgram

# Demands that a program begins with, and is given at a time.
FIRST, MORE = 50, 20
# Leads below this, as shares of all weight, are asked for.
FALLEN = 1e-7


class Shares:
    """Shares of trees in all weight that fall behind in none of some demands.

    Parameters
    ----------
    leads : float64 array of shape (n_demands, n_trees + 1)
        Of all trees, and of what is there without them, whose factor is not negative.
    usable : bool array of shape (n_trees,)
        The others have no share.

    Attributes
    ----------
    largest : float64 array of shape (n_trees,)
        No tree's share is larger.
    """

    def __init__(self, leads, usable):
        self.leads = leads / np.abs(leads).max()
        self.usable = usable
        self.largest = usable.astype(float)
        n_trees = len(usable)
        self.asked = np.zeros(len(leads), dtype=bool)
        one = np.append(np.ones(n_trees), 0.0)[None]
        self.program = LinearProgram(
            0.0, one, row_lower=1.0, row_upper=1.0, upper=np.append(self.largest, np.inf)
        )
        self.rows = np.empty(0, dtype=np.intp)
        self._ask(np.argsort(leads[:, :-1].sum(axis=1), kind="stable")[:FIRST])

    def _ask(self, new):
        self.asked[new] = True
        self.rows = np.append(self.rows, new)
        self.program.add_rows(self.leads[new], lower=0.0)

    def _multipliers(self, cost, seconds):
        """Of the demands, where shares cost least; None where HiGHS has no answer."""
        self.program.set_cost(cost)
        while True:
            solution = self.program.solve(seconds())
            if solution.status == "time_limit":
                raise Stopped
            if solution.status != "optimal":
                return None
            lead = self.leads @ solution.x
            fallen = np.flatnonzero((lead < -FALLEN) & ~self.asked)
            if not fallen.size:
                return np.maximum(solution.row_dual[1:], 0.0)
            self._ask(fallen[np.argsort(lead[fallen], kind="stable")[:MORE]])

    def least(self, cost, seconds):
        """A lower bound on the cost of all shares.

        Parameters
        ----------
        cost : float64 array of shape (n_trees,)
            Of each share.
        seconds : callable
            Seconds left, or None.

        Returns
        -------
        float

        Raises
        ------
        Stopped
            When the time is up.
        """
        multipliers = self._multipliers(np.append(cost, 0.0), seconds)
        if multipliers is None:
            return -np.inf
        # cost >= cost - multipliers * leads, as leads are not negative; that is least where the
        # cheapest trees have all they can have
        mixture = multipliers @ self.leads[self.rows]
        if mixture[-1] > FALLEN:
            # what is there without trees, of which there can be any amount, would pay
            return -np.inf
        cost = cost - mixture[:-1]
        order = np.flatnonzero(self.usable)
        order = order[np.argsort(cost[order], kind="stable")]
        before = np.cumsum(self.largest[order]) - self.largest[order]
        share = np.clip(1.0 - before, 0.0, self.largest[order])
        return float(cost[order] @ share)

    def tighten(self, seconds):
        """Find the largest share of every tree.

        Raises
        ------
        Stopped
            When the time is up.
        """
        for t in np.flatnonzero(self.usable):
            cost = np.zeros(len(self.usable))
            cost[t] = -1.0
            self.largest[t] = min(self.largest[t], -self.least(cost, seconds))
        self.program.set_upper(np.append(self.largest, np.inf))

    def fewest(self, price, seconds):
        """A lower bound on the price of all trees with a share.

        Raises
        ------
        Stopped
            When the time is up.
        """
        can = self.largest > 0
        cost = np.divide(price, self.largest, out=np.zeros(len(price)), where=can)
        self.usable = self.usable & can
        return self.least(cost, seconds)
