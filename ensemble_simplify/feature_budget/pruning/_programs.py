"""Feature-budget pruning by linear and integer programs.

The linear program of Nan, Wang and Saligrama (2016) is stated for HiGHS from the nodes and rows
themselves, without contraction: an answer that owes nothing to the minimum cut. The integer program
finds the best pruning within a budget. All objectives are scaled so that the absolute tolerances of
HiGHS are small shares of them.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from ensemble_simplify.grid import LinearProgram, time_left

# Objectives and budgets are stated as this many units; HiGHS tolerates errors of 1e-7 to 1e-6.
_SCALE = 1e3


def solve_lp(problem, lam, *, shared=True):
    """The optimal pruning at one price level, by linear programming.

    Returns
    -------
    keep : ndarray of uint8, shape (n_nodes,), or None if time ran out
    objective : float
        ``loss + lam * cost``.
    bound : float
        The objective cannot be lower.
    """
    program, unit, constant = linear_program(problem, lam, shared=shared)
    solution = program.solve(time_left())
    keep = None
    if solution.status == "optimal":
        splits = np.flatnonzero(problem.split)
        keep = np.zeros_like(problem.split)
        # Every level set of an optimal point is optimal.
        keep[splits] = solution.x[: len(splits)] > 0.5
    return keep, solution.objective * unit + constant, solution.bound * unit + constant


def linear_program(problem, lam, *, shared=True):
    """State the program of `solve_lp`: minimise ``loss + lam * cost``.

    p_h = 1 iff h stays a split, w_r = 1 iff a row pays for a resource (once, or in every tree):
    ``p_child <= p_parent``, ``p_h <= w_r``. The matrix is the transpose of that of a network, and
    so every vertex is integral.

    Returns
    -------
    program : LinearProgram
    unit, constant : float
        The objective is that of the program times the unit, plus the constant.
    """
    # Columns: every split, then every payment.
    splits = np.flatnonzero(problem.split)
    node, resource, row = problem.uses(splits)
    key = resource.astype(np.int64) * problem.n_rows + row
    if shared:
        paid, payment = np.unique(key, return_inverse=True)
    else:
        tree = np.searchsorted(problem.offsets, node, side="right") - 1
        paid, payment = np.unique(key * problem.n_trees + tree, return_inverse=True)
        paid = paid // problem.n_trees
    price = problem.prices[paid // problem.n_rows] * problem.weight[paid % problem.n_rows]
    price = lam * price / problem.total_weight
    n = len(splits)
    place = np.full(problem.parent.shape[0], -1, dtype=np.int64)
    place[splits] = np.arange(n)
    below = splits[problem.parent[splits] >= 0]
    A = _at_most(
        np.concatenate([place[below], place[node]]),
        np.concatenate([place[problem.parent[below]], n + payment]),
        n + len(price),
    )
    unit = problem.error_scale / _SCALE or 1.0
    cost = np.concatenate([-problem.gain_unit * problem.gain[splits], price]) / unit
    roots = problem.offsets[:-1]
    constant = problem.unit * float(problem.loss_of_node[roots].sum())
    return LinearProgram(cost, A, row_upper=0.0, upper=1.0), unit, constant


def _at_most(smaller, larger, n_columns):
    """Rows that say: column ``smaller[i]`` is at most column ``larger[i]``."""
    row = np.arange(len(smaller))
    ones = np.ones(len(smaller))
    return sparse.csr_array(
        (
            np.concatenate([ones, -ones]),
            (np.concatenate([row, row]), np.concatenate([smaller, larger])),
        ),
        shape=(len(smaller), n_columns),
    )


def solve_within_budget(problem, budget, start):
    """The best pruning within a budget, by integer programming.

    `start` holds the contracted nodes (bool) of a pruning within the budget to begin with.

    Returns
    -------
    chosen : ndarray of bool, shape (n_contracted,)
        No worse than `start`.
    bound : float
        No pruning within the budget has a lower loss.
    """
    closure = problem.closure
    n, m = closure.n_nodes, len(closure.price)
    below = np.flatnonzero(closure.parent >= 0)
    implied = _at_most(
        np.concatenate([below, closure.arc_node]),
        np.concatenate([closure.parent[below], n + closure.items]),
        n + m,
    )
    # Costs are whole numbers in the closure, and so is the budget.
    cost = np.concatenate([closure.own, closure.price])
    budget *= 1 + 1e-12
    room = np.floor((budget + problem.cost_error) / problem.cost_unit)
    cost_unit = max(room, 1.0) / _SCALE
    # What is too dear by itself is left out: HiGHS loses small prices beside it.
    allowed = cost <= room
    cost = np.where(allowed, cost, 0)
    A = sparse.vstack([implied, sparse.csr_array(cost[None, :] / cost_unit)])
    gain_unit = max(1.0, np.abs(closure.gain).sum() / _SCALE)
    program = LinearProgram(
        np.concatenate([-closure.gain / gain_unit, np.zeros(m)]),
        A,
        row_upper=np.append(np.zeros(implied.shape[0]), room / cost_unit),
        upper=allowed.astype(np.float64),
        integer=np.arange(n + m) < n,
    )
    program.start_from(np.concatenate([start, closure.paid(start)]))
    solution = program.solve(time_left())
    chosen = start
    if np.isfinite(solution.objective):
        rounded = solution.x[:n] > 0.5
        fits = closure.cost(rounded) <= room and problem.cost_of(rounded) <= budget
        if fits and closure.gain[rounded].sum() > closure.gain[start].sum():
            chosen = rounded
    return chosen, float(problem.loss_of_gain(-solution.bound * gain_unit))
