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
    # Scales the master's objective to about one.
    money = float(max(1, np.abs(closure.gain).sum()))
    trees = _single_trees(problem, closure, level)
    master = _Master(trees, level * closure.price / money, money)
    starts = [(t, np.zeros(len(tree.worth), dtype=bool)) for t, tree in enumerate(trees)]
    for share in _FIRST_SHARES:
        starts += [(t, tree.alone(share * level)) for t, tree in enumerate(trees)]
    master.add(_distinct(starts))
    solution, bound, n_rounds = None, -np.inf, 0
    with Parallel(n_jobs=n_jobs) as parallel:
        while True:
            answer = master.program.solve(time_left())
            n_rounds += 1
            if answer.status != "optimal":
                break
            solution = answer
            priced = parallel(
                delayed(_price_tree)(tree, dual * money)
                for tree, dual in zip(trees, master.link_duals(solution), strict=True)
            )
            saved = [
                worth / money + dual
                for (worth, _), dual in zip(priced, master.tree_duals(solution), strict=True)
            ]
            bound = max(bound, solution.objective - sum(max(0.0, s) for s in saved))
            progress(
                f"round {n_rounds} of the decomposition: {len(master.columns)} prunings of trees, "
                f"gap {solution.objective - bound:.3g}"
            )
            better = [
                (t, chosen)
                for t, (_, chosen) in enumerate(priced)
                if saved[t] > _TOLERANCE / max(1, len(trees))
            ]
            done = not better or solution.objective - bound <= _TOLERANCE
            if done or is_late():
                break
            master.add(better)
    if solution is None:
        return None, np.inf, -np.inf, n_rounds
    # Every level set of an optimal point is optimal.
    keep = problem.expand(master.shares(solution, closure.n_nodes) > 0.5)
    constant = float(problem.loss_of_gain(0))
    scale = problem.gain_unit * money
    return keep, constant + scale * solution.objective, constant + scale * bound, n_rounds


@dataclass(frozen=True, eq=False)
class _PricedTree:
    """One tree of the decomposition, small enough to be sent around."""

    nodes: np.ndarray  # contracted nodes that can be kept at all
    parent: np.ndarray
    worth: np.ndarray
    arc_node: np.ndarray
    arc_item: np.ndarray
    items: np.ndarray
    item_price: np.ndarray

    def alone(self, level):
        """The best pruning if this tree paid for all it uses."""
        return _price_tree(self, -level * self.item_price)[1]


def _single_trees(problem, closure, level):
    node = np.flatnonzero(problem.representative >= 0)
    tree_of = np.full(closure.n_nodes, -1)
    tree_of[problem.representative[node]] = np.searchsorted(problem.offsets, node, side="right") - 1
    tree_of[closure.active == 0] = -1
    trees = []
    for t in np.unique(tree_of[tree_of >= 0]):
        of_tree, items = closure.part(tree_of == t)
        trees.append(
            _PricedTree(
                nodes=np.flatnonzero(tree_of == t),
                parent=of_tree.parent,
                worth=of_tree.gain - level * of_tree.own,
                arc_node=of_tree.arc_node,
                arc_item=of_tree.items,
                items=items,
                item_price=of_tree.price.astype(np.float64),
            )
        )
    return trees


def _price_tree(tree, dual):
    """The tree's best pruning, where using item `i` changes the worth by ``dual[i]``."""
    worth = tree.worth + np.bincount(
        tree.arc_node, weights=dual[tree.arc_item], minlength=len(tree.worth)
    )
    keep = np.empty(len(tree.worth), dtype=np.uint8)
    total = best_subtrees(tree.parent, worth, keep)
    return total, keep.astype(bool)


def _distinct(found):
    return list({(t, chosen.tobytes()): (t, chosen) for t, chosen in found}.values())


class _Master:
    """The linear program that mixes prunings of single trees.

    Columns: the items, then the prunings. Rows: (tree, item) pairs, in which a pruning that uses
    the item is covered by the item's column; then one for each tree, whose prunings add up to one.
    """

    def __init__(self, trees, item_cost, money):
        self.trees = trees
        self.money = money
        self.n_items = len(item_cost)
        self.first_row = np.concatenate(([0], np.cumsum([len(t.items) for t in trees]))).astype(int)
        self.n_links = int(self.first_row[-1])
        self.columns = []
        item = np.concatenate([t.items for t in trees] or [np.empty(0, dtype=np.int64)])
        A = sparse.csr_array(
            (-np.ones(self.n_links), (np.arange(self.n_links), item)),
            shape=(self.n_links + len(trees), self.n_items),
        )
        ones = np.ones(len(trees))
        self.program = LinearProgram(
            item_cost,
            A,
            row_lower=np.concatenate([np.full(self.n_links, -np.inf), ones]),
            row_upper=np.concatenate([np.zeros(self.n_links), ones]),
            upper=1.0,
        )

    def add(self, prunings) -> None:
        """Add prunings, pairs of a tree's number and a mask over its nodes."""
        if not prunings:
            return
        costs, rows = [], []
        for t, chosen in prunings:
            tree = self.trees[t]
            used = np.unique(tree.arc_item[chosen[tree.arc_node]])
            rows.append(np.append(self.first_row[t] + used, self.n_links + t))
            costs.append(-tree.worth[chosen].sum() / self.money)
        start = np.concatenate(([0], np.cumsum([len(r) for r in rows])))
        index = np.concatenate(rows)
        shape = (self.program.n_rows, len(prunings))
        new = sparse.csc_array((np.ones(len(index)), index, start), shape=shape)
        self.program.add_columns(costs, new)
        self.columns += prunings

    def link_duals(self, solution):
        """For each tree what an item is worth to it, by its items."""
        return np.split(solution.row_dual[: self.n_links], self.first_row[1:-1])[: len(self.trees)]

    def tree_duals(self, solution):
        """For each tree what its pruning costs now."""
        return solution.row_dual[self.n_links :]

    def shares(self, solution, n_nodes):
        """The share of its tree's mix in which each contracted node is kept."""
        share = np.zeros(n_nodes)
        # The last prunings are missing where time ran out in the round that they were added for.
        mix = solution.x[self.n_items :]
        for (t, chosen), alpha in zip(self.columns, mix, strict=False):
            share[self.trees[t].nodes[chosen]] += alpha
        return share
