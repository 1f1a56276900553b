"""HiGHS: linear programs and integer programs, built from sparse arrays.

The one module that knows highspy. A `LinearProgram` is stated once and solved with a time limit.
It keeps its basis: add columns or rows, change costs, solve again, and HiGHS goes on from where
it was.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy import sparse

# Of what HiGHS says of a model.
_STATUS = {
    "kOptimal": "optimal",
    "kTimeLimit": "time_limit",
    "kInfeasible": "infeasible",
    "kUnbounded": "unbounded",
    "kUnboundedOrInfeasible": "unbounded",
}


@dataclass(frozen=True, eq=False)
class Solution:
    """What HiGHS answered.

    Attributes
    ----------
    status : {"optimal", "time_limit", "infeasible", "unbounded", "error"}
    objective : float
        Of `x`; NaN without a feasible point.
    bound : float
        No feasible point has a lower objective than this; ``-inf`` if nothing is proven.
    x : ndarray of shape (n_columns,)
        The best point found; zeros without a feasible one.
    row_dual : ndarray of shape (n_rows,)
        Change of the optimum per unit of each row's active bound; zeros for integer programs.
    """

    status: str
    objective: float
    bound: float
    x: np.ndarray
    row_dual: np.ndarray


@cache
def _solver():
    """The module highspy, quiet; imported when it is needed."""
    import highspy

    class Quiet(highspy.Highs):
        """HiGHS that prints nothing: 1.16 prints its name as soon as it enables callbacks."""

        def enableCallbacks(self):
            self.silent()
            super().enableCallbacks()

    return highspy, Quiet


class LinearProgram:
    """Minimise ``cost @ x`` with ``row_lower <= A @ x <= row_upper`` and ``lower <= x <= upper``.

    One number stands for the same in every place. So clauses over 0/1 variables, each a row with
    1 for a variable, -1 for a negated one, and ``row_lower = 1 - number of negated ones``, can all
    be true at once iff ``LinearProgram(0.0, A, row_lower=..., upper=1.0, integer=True).solve()``
    has the status "optimal"; its `x` then says how, and "infeasible" that they cannot.

    Parameters
    ----------
    cost : float or array-like of shape (n_columns,)
    A : sparse array or array-like of shape (n_rows, n_columns)
        Best as CSR.
    row_lower, row_upper : float or array-like of shape (n_rows,)
    lower, upper : float or array-like of shape (n_columns,)
    integer : bool or array-like of bool, shape (n_columns,), default=False
        Columns that must be whole numbers. If any, the program is solved by branch and cut; else
        by the simplex method, whose solutions are vertices.

    Attributes
    ----------
    n_columns, n_rows : int
    """

    def __init__(
        self,
        cost,
        A,
        *,
        row_lower=-np.inf,
        row_upper=np.inf,
        lower=0.0,
        upper=np.inf,
        integer=False,
    ):
        A = sparse.csr_array(A)
        self.n_rows, self.n_columns = A.shape
        integer = np.broadcast_to(np.asarray(integer, dtype=bool), (self.n_columns,))
        self._is_mip = bool(integer.any())
        highspy, quiet = _solver()
        model = highspy.HighsLp()
        model.num_col_ = self.n_columns
        model.num_row_ = self.n_rows
        model.col_cost_ = _spread(cost, self.n_columns)
        model.col_lower_ = _spread(lower, self.n_columns)
        model.col_upper_ = _spread(upper, self.n_columns)
        model.row_lower_ = _spread(row_lower, self.n_rows)
        model.row_upper_ = _spread(row_upper, self.n_rows)
        model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        matrix = model.a_matrix_
        matrix.start_, matrix.index_, matrix.value_ = _parts(A)
        if self._is_mip:
            kinds = (highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger)
            model.integrality_ = [kinds[int(whole)] for whole in integer]
        # HiGHS does not look at the rows of a program without columns: there, they must allow 0.
        self._zero_is_feasible = bool(
            np.all(np.less_equal(row_lower, 0)) and np.all(np.greater_equal(row_upper, 0))
        )
        self._highs = quiet()
        self._highs.setOptionValue("output_flag", False)
        # One thread and a fixed seed: the same answer every time.
        self._highs.setOptionValue("threads", 1)
        self._highs.setOptionValue("random_seed", 0)
        if self._is_mip:
            self._highs.setOptionValue("mip_rel_gap", 0.0)
        else:
            self._highs.setOptionValue("solver", "simplex")
        self._check(self._highs.passModel(model), "passModel")

    def add_columns(self, cost, A, *, lower=0.0, upper=np.inf):
        """Add columns with a cost each, not restricted to whole numbers; the basis stays."""
        A = sparse.csc_array(A)
        n_new = A.shape[1]
        columns = (_spread(given, n_new) for given in (cost, lower, upper))
        self._check(self._highs.addCols(n_new, *columns, A.nnz, *_parts(A)), "addCols")
        self.n_columns += n_new

    def add_rows(self, A, *, lower=-np.inf, upper=np.inf):
        """Add rows, a matrix of shape (n_new, n_columns); the basis stays."""
        A = sparse.csr_array(A)
        n_new = A.shape[0]
        rows = _spread(lower, n_new), _spread(upper, n_new)
        self._check(self._highs.addRows(n_new, *rows, A.nnz, *_parts(A)), "addRows")
        self.n_rows += n_new

    def set_cost(self, cost):
        """Replace the cost of every column; the basis stays."""
        columns = np.arange(self.n_columns, dtype=np.int32)
        cost = _spread(cost, self.n_columns)
        self._check(self._highs.changeColsCost(self.n_columns, columns, cost), "changeColsCost")

    def set_upper(self, upper):
        """Replace the upper bound of every column, over lower bounds of zero; the basis stays."""
        columns = np.arange(self.n_columns, dtype=np.int32)
        status = self._highs.changeColsBounds(
            self.n_columns, columns, np.zeros(self.n_columns), _spread(upper, self.n_columns)
        )
        self._check(status, "changeColsBounds")

    def start_from(self, x):
        """Offer a feasible point to start an integer program from."""
        solution = _solver()[0].HighsSolution()
        solution.col_value = list(np.asarray(x, dtype=np.float64))
        self._check(self._highs.setSolution(solution), "setSolution")

    def solve(self, time_limit=None):
        """Solve, from the last basis if there is one; `time_limit` is for this call alone."""
        if not self.n_columns:
            return self._empty_solution()
        limit = np.inf if time_limit is None else max(0.0, float(time_limit))
        if np.isfinite(limit):
            # HiGHS counts the time of all its runs.
            limit += self._highs.getRunTime()
        self._highs.setOptionValue("time_limit", limit)
        self._run()
        highspy, told = _solver()[0], self._highs.getModelStatus()
        status = _STATUS.get(told.name, "error")
        info = self._highs.getInfo()
        feasible = info.primal_solution_status == highspy.kSolutionStatusFeasible
        point = self._highs.getSolution()
        objective = info.objective_function_value if feasible else np.nan
        if self._is_mip:
            bound = info.mip_dual_bound
        else:
            bound = objective if status == "optimal" else -np.inf
        return Solution(
            status=status,
            objective=objective,
            bound=bound,
            x=np.array(point.col_value) if feasible else np.zeros(self.n_columns),
            row_dual=np.array(point.row_dual) if len(point.row_dual) else np.zeros(self.n_rows),
        )

    def _empty_solution(self):
        feasible = self._zero_is_feasible
        return Solution(
            status="optimal" if feasible else "infeasible",
            objective=0.0 if feasible else np.nan,
            bound=0.0 if feasible else np.inf,
            x=np.zeros(0),
            row_dual=np.zeros(self.n_rows),
        )

    def _run(self):
        """Run HiGHS; Ctrl-C, which only the main thread gets to know of, stops it."""
        if threading.current_thread() is not threading.main_thread():
            self._highs.run()
            return
        if not self._highs.HandleUserInterrupt:
            self._highs.HandleUserInterrupt = True
        # Not join: interrupted, it may take a running thread for a stopped one (Python 3.11).
        done, cancelled = threading.Event(), threading.Event()

        def run():
            try:
                if not cancelled.is_set():
                    self._highs.run()
            finally:
                done.set()

        solver = threading.Thread(target=run, daemon=True)
        try:
            # Ctrl-C may come while the thread is being started, too.
            solver.start()
            while not done.wait(0.1):
                pass
        except KeyboardInterrupt:
            cancelled.set()
            self._highs.cancelSolve()
            # A thread that has not begun by then never will, or finds that it is too late.
            while not done.wait(1.0) and solver.is_alive():
                pass
            raise
        finally:
            if done.is_set():
                solver.join()

    @staticmethod
    def _check(status, call):
        if status.name == "kError":
            raise RuntimeError(
                f"HiGHS refused the model in {call}. Costs, bounds and coefficients must be "
                "numbers, and of moderate size."
            )


def _parts(A):
    """Starts, indices and values of a compressed matrix in the types of HiGHS."""
    return A.indptr.astype(np.int32), A.indices.astype(np.int32), A.data.astype(np.float64)


def _spread(values, size):
    return np.ascontiguousarray(np.broadcast_to(np.asarray(values, dtype=np.float64), (size,)))
