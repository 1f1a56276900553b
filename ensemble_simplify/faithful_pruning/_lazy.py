"""A linear program with many more rows than matter, which is told those that its solutions break.

Simplex steps cost by the number of rows. Of some thousand demands on a hundred weights, a few
hundred are ever tight.
"""

from __future__ import annotations

import time

import numpy as np

from ensemble_simplify._lp import LinearProgram
from ensemble_simplify.base import product
from ensemble_simplify.grid import Stopped

# Rows to begin with, and most rows told at a time.
FIRST, MORE = 50, 30
# By how much a row may be broken that was not told yet.
BROKEN = 1e-8


class LazyProgram:
    """Minimise a cost over columns that are not negative, with rows told as they are broken.

    Parameters
    ----------
    cost, A, **bounds
        Of the `LinearProgram` to begin with, whose rows are always told.
    """

    def __init__(self, cost, A, **bounds):
        self.program = LinearProgram(cost, A, **bounds)
        n_columns = self.program.n_columns
        self.n_always = self.program.n_rows
        self.rows = np.empty((0, n_columns))
        self.lower, self.upper = np.empty(0), np.empty(0)
        self.is_told = np.empty(0, dtype=bool)
        # numbers of the rows in the program, in its order
        self.told = np.empty(0, dtype=np.intp)
        self.set_cost, self.set_upper = self.program.set_cost, self.program.set_upper

    def add_rows(self, rows, *, lower, upper=np.inf):
        """Add rows; equalities, and some others if there are none yet, are told at once.

        Parameters
        ----------
        rows : float64 array of shape (n, n_columns)
        lower, upper : float or float64 array of shape (n,)
        """
        begin = len(self.rows)
        self.rows = np.concatenate([self.rows, rows])
        self.lower = np.append(self.lower, np.broadcast_to(lower, len(rows)))
        self.upper = np.append(self.upper, np.broadcast_to(upper, len(rows)))
        self.is_told = np.append(self.is_told, np.zeros(len(rows), dtype=bool))
        at_once = self.lower[begin:] == self.upper[begin:]
        if not begin:
            at_once[np.argsort(rows.sum(axis=1), kind="stable")[:FIRST]] = True
        self._tell(begin + np.flatnonzero(at_once))

    def _tell(self, new):
        if len(new):
            self.program.add_rows(self.rows[new], lower=self.lower[new], upper=self.upper[new])
            self.is_told[new] = True
            self.told = np.append(self.told, new)

    def solve(self, deadline=np.inf):
        """Solve with all rows.

        Parameters
        ----------
        deadline : float
            On the clock of ``time.monotonic()``.

        Returns
        -------
        Solution
            Its `row_dual` is about the rows told; see `multipliers`.

        Raises
        ------
        Stopped
            When the time is up.
        """
        while True:
            solution = self.program.solve(deadline - time.monotonic())
            if solution.status == "time_limit":
                raise Stopped
            if solution.status != "optimal":
                return solution
            value = product(self.rows, solution.x)
            short = np.maximum(self.lower - value, value - self.upper)
            broken = np.flatnonzero((short > BROKEN) & ~self.is_told)
            if not broken.size:
                return solution
            # as near as rounding are equal
            self._tell(broken[np.argsort(-np.round(short[broken], 9), kind="stable")[:MORE]])

    def multipliers(self, solution):
        """Of all rows added, those that were never told at zero.

        Returns
        -------
        float64 array of shape (n_rows,)
        """
        found = np.zeros(len(self.rows))
        found[self.told] = solution.row_dual[self.n_always :]
        return found
