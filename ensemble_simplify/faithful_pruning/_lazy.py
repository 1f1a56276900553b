"""A linear program with many rows, of which HiGHS gets only those that its solutions break.

Simplex steps cost by the number of rows. Of some thousand demands on a hundred weights, a few
hundred are ever tight.
"""

from __future__ import annotations

import time

import numpy as np

from ensemble_simplify.base import product
from ensemble_simplify.grid import LinearProgram, Stopped

FIRST = 50  # Rows that HiGHS gets at first.
MORE = 30  # Broken rows that it gets at a time, at most.
BROKEN = 1e-8  # A row that HiGHS does not have counts as broken from here on.


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

    def solve(self, deadline=np.inf):
        """Solve with all rows, or raise `Stopped`. Its `row_dual` is of rows passed on."""
        while True:
            solution = self.program.solve(deadline - time.monotonic())
            if solution.status == "time_limit":
                raise Stopped
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
        found = np.zeros(len(self.rows))
        found[self.passed] = solution.row_dual[self.n_always :]
        return found
