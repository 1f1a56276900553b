"""Feature-budget pruning by linear and integer programs.

The linear programs of Nan, Wang and Saligrama (2016) are stated for HiGHS from the nodes and rows
themselves, without contraction: an answer that owes nothing to the minimum cut. The integer program
finds the best pruning within a budget. All objectives are scaled so that the absolute tolerances of
HiGHS are small shares of them.

By Dantzig-Wolfe decomposition, the master program holds prunings of single trees, and one row for
each pair of a tree and an item it may use. Each round prices every tree by dynamic programming, in
parallel through joblib, and adds the prunings that would still lower the objective.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from joblib import Parallel, delayed
from scipy import sparse

from ensemble_simplify.feature_budget.pruning._closure_problem import best_subtrees
from ensemble_simplify.grid import LinearProgram, is_late, time_left

# Objectives and budgets are stated as this many units; HiGHS tolerates errors of 1e-7 to 1e-6.
_SCALE = 1e3


@dataclass(frozen=True, eq=False)
class LinearForm:
    """A linear program over columns between 0 and 1."""

    # In `unit` of loss + lam * cost, which `constant` has to be added to.
    cost: np.ndarray
    A: sparse.sparray
    row_lower: np.ndarray | float
    row_upper: np.ndarray | float
    constant: float
    unit: float

    def program(self):
        """The program for HiGHS."""
        return LinearProgram(
            self.cost, self.A, row_lower=self.row_lower, row_upper=self.row_upper, upper=1.0
        )


def solve_lp(problem, lam, form="difference", *, shared=True):
    """The optimal pruning at one price level, by linear programming.

    In the form "difference", p_h = 1 iff h stays a split, w_r = 1 iff a row pays for a resource;
    ``p_child <= p_parent``, ``p_h <= w``. "printed" is (IP3) of the paper.

    Returns
    -------
    keep : ndarray of uint8, shape (n_nodes,), or None if time ran out
    Solution
        Its objective is ``loss + lam * cost``.
    """
    stated = linear_form(problem, lam, form, shared=shared)
    solution = stated.program().solve(time_left())
    solution = replace(
        solution,
        objective=solution.objective * stated.unit + stated.constant,
        bound=solution.bound * stated.unit + stated.constant,
    )
    if solution.status != "optimal":
        return None, solution
    splits = np.flatnonzero(problem.split)
    keep = np.zeros_like(problem.split)
    if form == "difference":
        # Every level set of an optimal point is optimal.
        keep[splits] = solution.x[: len(splits)] > 0.5
    else:
        # A node is split iff neither it nor an ancestor is a leaf.
        cut_off = _ancestors(problem) @ solution.x[: len(keep)]
        keep[splits] = cut_off[splits] < 0.5
    return keep, solution


def linear_form(problem, lam, form="difference", *, shared=True):
    """State the linear program of `solve_lp`."""
    node, resource, row = problem.uses(np.flatnonzero(problem.split))
    key = resource.astype(np.int64) * problem.n_rows + row
    if shared:
        paid, payment = np.unique(key, return_inverse=True)
    else:
        tree = np.searchsorted(problem.offsets, node, side="right") - 1
        paid, payment = np.unique(key * problem.n_trees + tree, return_inverse=True)
        paid = paid // problem.n_trees
    price = problem.prices[paid // problem.n_rows] * problem.weight[paid % problem.n_rows]
    price = lam * price / problem.total_weight
    state = _difference_form if form == "difference" else _printed_form
    return state(problem, node, payment, price)


def _objective_unit(problem):
    return problem.error_scale / _SCALE or 1.0


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


def _difference_form(problem, node, payment, price):
    # Columns: every split, then every payment.
    splits = np.flatnonzero(problem.split)
    n = len(splits)
    place = np.full(problem.parent.shape[0], -1, dtype=np.int64)
    place[splits] = np.arange(n)
    below = splits[problem.parent[splits] >= 0]
    A = _at_most(
        np.concatenate([place[below], place[node]]),
        np.concatenate([place[problem.parent[below]], n + payment]),
        n + len(price),
    )
    unit = _objective_unit(problem)
    cost = np.concatenate([-problem.gain_unit * problem.gain[splits], price]) / unit
    roots = problem.offsets[:-1]
    return LinearForm(
        cost=cost,
        A=A,
        row_lower=-np.inf,
        row_upper=0.0,
        constant=problem.unit * float(problem.loss_of_node[roots].sum()),
        unit=unit,
    )


def _printed_form(problem, node, payment, price):
    # Columns: z of every node, w^(t) of every first use, w of every payment.
    n, m, k = problem.parent.shape[0], len(price), len(node)
    above = _ancestors(problem)
    leaves = np.flatnonzero(problem.split == 0)
    ones = sparse.csr_array(sparse.identity(k))
    blank = sparse.csr_array((len(leaves), k + m))
    paths = sparse.hstack([above[leaves], blank])
    first_use = sparse.hstack([above[node], ones, sparse.csr_array((k, m))])
    share = sparse.csr_array((np.ones(k), (np.arange(k), payment)), shape=(k, m))
    linked = sparse.hstack([sparse.csr_array((k, n)), ones, -share])
    equal = np.ones(len(leaves) + k)
    unit = _objective_unit(problem)
    return LinearForm(
        cost=np.concatenate([problem.unit * problem.loss_of_node, np.zeros(k), price]) / unit,
        A=sparse.vstack([paths, first_use, linked], format="csr"),
        row_lower=np.concatenate([equal, np.full(k, -np.inf)]),
        row_upper=np.concatenate([equal, np.zeros(k)]),
        constant=0.0,
        unit=unit,
    )


def _ancestors(problem):
    """Sparse matrix: row h has ones at h and its ancestors."""
    n = problem.parent.shape[0]
    node = np.arange(n)
    rows, columns, up = [node], [node], problem.parent.copy()
    while (up >= 0).any():
        has = np.flatnonzero(up >= 0)
        rows.append(has)
        columns.append(up[has])
        up[has] = problem.parent[up[has]]
    rows, columns = np.concatenate(rows), np.concatenate(columns)
    return sparse.csr_array((np.ones(len(rows)), (rows, columns)), shape=(n, n))


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


# The master's objective is about one: gaps and improvements below this share of it count as none.
_TOLERANCE = 1e-9

# The first columns: the best pruning of each tree if it paid this share of what it uses alone.
_FIRST_SHARES = (0.0, 0.1, 0.3, 1.0)


def solve_dantzig_wolfe(problem, lam, *, shared=True, n_jobs=None, progress=lambda message: None):
    """The optimal pruning at one price level, by column generation.

    Returns
    -------
    keep : ndarray of uint8, shape (n_nodes,), or None if time ran out in the first round
    objective : float
    bound : float
        Lagrangian bound: the objective cannot be lower.
    n_rounds : int
    """
    closure = problem.closure if shared else problem.closure.unshared()
    level = float(lam) / problem.lam_unit
    master = _Master(problem, closure, level)
    solution, bound, n_rounds = None, -np.inf, 0
    with Parallel(n_jobs=n_jobs) as parallel:
        found = [(t, np.empty(0, dtype=np.intp)) for t in range(problem.n_trees)]
        for share in _FIRST_SHARES:
            alone = -share * level * closure.price[master.item]
            found += [(t, nodes) for t, (_, nodes) in enumerate(master.priced(parallel, alone))]
        master.add(list({(t, nodes.tobytes()): (t, nodes) for t, nodes in found}.values()))
        while True:
            answer = master.program.solve(time_left())
            n_rounds += 1
            if answer.status != "optimal":
                break
            solution = answer
            of_links, of_trees = np.split(solution.row_dual, [len(master.item)])
            priced = master.priced(parallel, of_links * master.money)
            saved = np.array([worth for worth, _ in priced]) / master.money + of_trees
            bound = max(bound, solution.objective - np.maximum(saved, 0.0).sum())
            progress(
                f"round {n_rounds} of the decomposition: {len(master.columns)} prunings of trees, "
                f"gap {solution.objective - bound:.3g}"
            )
            better = np.flatnonzero(saved > _TOLERANCE / problem.n_trees)
            done = not better.size or solution.objective - bound <= _TOLERANCE
            if done or is_late():
                break
            master.add([(t, priced[t][1]) for t in better])
    if solution is None:
        return None, np.inf, -np.inf, n_rounds
    # Every level set of an optimal point is optimal.
    keep = problem.expand(master.shares(solution) > 0.5)
    constant = float(problem.loss_of_gain(0))
    scale = problem.gain_unit * master.money
    return keep, constant + scale * solution.objective, constant + scale * bound, n_rounds


class _Master:
    """The linear program that mixes prunings of single trees.

    Columns: the items, then the prunings, which are pairs of a tree's number and contracted nodes.
    Rows: *links*, pairs of a tree and an item that it may use, in which a pruning that uses the
    item is covered by the item's column; then one for each tree, whose prunings add up to one.
    """

    def __init__(self, problem, closure, level):
        # Contracted nodes are numbered tree by tree, and so are their arcs to items.
        tree, each = problem.top_tree, np.arange(problem.n_trees + 1)
        self.first = np.searchsorted(tree, each)
        self.parent = closure.parent
        # What no pruning keeps is worth less than any price could make up for.
        can_stay = closure.active != 0
        self.worth = np.where(can_stay, closure.gain - level * closure.own, -np.inf)
        # Scales the objective to about one.
        self.money = float(max(1, np.abs(closure.gain).sum()))
        arc_node, self.n_items = closure.arc_node, len(closure.price)
        counted = can_stay[arc_node]
        self.arc_node = arc_node[counted]
        pair = tree[self.arc_node] * self.n_items + closure.items[counted]
        pair, self.arc_link = np.unique(pair, return_inverse=True)
        self.item = pair % max(1, self.n_items)
        self.first_arc = np.searchsorted(self.arc_node, self.first)
        self.columns = []
        n_links, ones = len(pair), np.ones(problem.n_trees)
        self.program = LinearProgram(
            level * closure.price / self.money,
            sparse.csr_array(
                (-np.ones(n_links), (np.arange(n_links), self.item)),
                shape=(n_links + problem.n_trees, self.n_items),
            ),
            row_lower=np.concatenate([np.full(n_links, -np.inf), ones]),
            row_upper=np.concatenate([np.zeros(n_links), ones]),
            upper=1.0,
        )

    def priced(self, parallel, dual):
        """The best pruning of each tree, and its worth, where links change that by `dual`."""
        n = len(self.worth)
        worth = self.worth + np.bincount(self.arc_node, dual[self.arc_link], minlength=n)
        return parallel(
            delayed(_price_tree)(self.parent[first:last], worth[first:last], first)
            for first, last in pairwise(self.first)
        )

    def add(self, prunings) -> None:
        """Add prunings of trees."""
        costs, rows = [], []
        for t, nodes in prunings:
            arcs = slice(self.first_arc[t], self.first_arc[t + 1])
            used = np.unique(self.arc_link[arcs][np.isin(self.arc_node[arcs], nodes)])
            rows.append(np.append(used, len(self.item) + t))
            costs.append(-self.worth[nodes].sum() / self.money)
        start = np.concatenate(([0], np.cumsum([len(r) for r in rows])))
        index = np.concatenate(rows)
        shape = (self.program.n_rows, len(prunings))
        new = sparse.csc_array((np.ones(len(index)), index, start), shape=shape)
        self.program.add_columns(costs, new)
        self.columns += prunings

    def shares(self, solution):
        """The share of its tree's mix in which each contracted node is kept."""
        share = np.zeros(len(self.worth))
        # The last prunings are missing where time ran out in the round that they were added for.
        mix = solution.x[self.n_items :]
        for (_, nodes), alpha in zip(self.columns, mix, strict=False):
            share[nodes] += alpha
        return share


def _price_tree(parent, worth, first):
    """The best pruning of a tree whose nodes are numbered from `first` on: its worth and nodes."""
    keep = np.empty(len(worth), dtype=np.uint8)
    total = best_subtrees(np.where(parent >= 0, parent - first, -1).astype(np.int32), worth, keep)
    return total, first + np.flatnonzero(keep)
