"""Linear programs over weights of trees: with rows on demand, and over shares of all weight.

Simplex steps cost by the number of rows. Of some thousand demands on a hundred weights, a few
hundred are ever tight, so `LazyProgram` gives HiGHS only those that its solutions break.

`Shares` tells how few trees can be enough. Weights that keep a promise can be divided by their sum:
shares. A linear program says how large the share of a tree can be, whatever the others are; trees
that can have a tenth of all weight at most are at least ten. The least sum of each share divided by
its largest value is a sharper bound, for a tree counts as one where this quotient is at most one.
Nothing depends on how exactly programs are solved: bounds are found anew from the multipliers of
the demands, and any will do.
"""

from __future__ import annotations

import numpy as np

from ensemble_simplify.base import product
from ensemble_simplify.grid import LinearProgram, Stopped, time_left

FIRST = 50  # Rows that HiGHS gets at first.
MORE = 30  # Broken rows that it gets at a time, at most.
BROKEN = 1e-8  # A row that HiGHS does not have counts as broken from here on.
ROUNDING = 1e-9  # Leads of shares that are zero but for rounding.


def solved(program):
    """The solution of a program, or `Stopped` where time is over first."""
    solution = program.solve(time_left())
    if solution.status == "time_limit":
        raise Stopped
    return solution


class LazyProgram:
    """Minimise a cost over columns that are not negative; rows are passed on when they are broken.

    The arguments are those of the `LinearProgram` to begin with, whose rows are always in it.
    """

    def __init__(self, cost, A, **bounds):
        self.program = LinearProgram(cost, A, **bounds)
        n_columns = self.program.n_columns
        self.n_always = self.program.n_rows
        self.rows = np.empty((0, n_columns))
        self.lower, self.upper = np.empty(0), np.empty(0)
        self.is_passed = np.empty(0, dtype=bool)
        # numbers of the rows that were passed on, in the order of the program
        self.passed = np.empty(0, dtype=np.intp)
        self.set_cost, self.set_upper = self.program.set_cost, self.program.set_upper

    def add_rows(self, rows, *, lower, upper=np.inf):
        """Add rows; equalities, and some others if there are none yet, are passed on at once."""
        begin = len(self.rows)
        self.rows = np.concatenate([self.rows, rows])
        self.lower = np.append(self.lower, np.broadcast_to(lower, len(rows)))
        self.upper = np.append(self.upper, np.broadcast_to(upper, len(rows)))
        self.is_passed = np.append(self.is_passed, np.zeros(len(rows), dtype=bool))
        at_once = self.lower[begin:] == self.upper[begin:]
        if not begin:
            at_once[np.argsort(rows.sum(axis=1), kind="stable")[:FIRST]] = True
        self._pass_on(begin + np.flatnonzero(at_once))

    def _pass_on(self, new):
        if len(new):
            self.program.add_rows(self.rows[new], lower=self.lower[new], upper=self.upper[new])
            self.is_passed[new] = True
            self.passed = np.append(self.passed, new)

    def solve(self):
        """Solve with all rows, or raise `Stopped`. Its `row_dual` is of rows passed on."""
        while True:
            solution = solved(self.program)
            if solution.status != "optimal":
                return solution
            value = product(self.rows, solution.x)
            short = np.maximum(self.lower - value, value - self.upper)
            broken = np.flatnonzero((short > BROKEN) & ~self.is_passed)
            if not broken.size:
                return solution
            # as near as rounding are equal
            self._pass_on(broken[np.argsort(-np.round(short[broken], 9), kind="stable")[:MORE]])

    def multipliers(self, solution):
        """Multipliers of all rows that were added; zero for those that HiGHS never got."""
        of_rows = np.zeros(len(self.rows))
        of_rows[self.passed] = solution.row_dual[self.n_always :]
        return of_rows


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

    def least(self, cost):
        """A lower bound on the cost of all shares, given the cost of each tree's."""
        self.program.set_cost(np.append(cost, 0.0))
        solution = self.program.solve()
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

    def tighten(self):
        """Find the largest share of every tree."""
        for t in np.flatnonzero(self.usable):
            cost = np.zeros(len(self.usable))
            cost[t] = -1.0
            self.largest[t] = min(self.largest[t], -self.least(cost))
        self.program.set_upper(np.append(self.largest, np.inf))

    def fewest(self, price):
        """A lower bound on the price of all trees with a share."""
        can = self.largest > 0
        cost = np.divide(price, self.largest, out=np.zeros(len(price)), where=can)
        self.usable = self.usable & can
        return self.least(cost)
