"""Feature-budget pruning at one price level by Dantzig-Wolfe decomposition.

The master program holds prunings of single trees, and one row for each pair of a tree and an item
it may use. Each round prices every tree by dynamic programming, in parallel through joblib, and
adds the prunings that would still lower the objective.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from joblib import Parallel, delayed
from scipy import sparse

from ensemble_simplify.feature_budget.pruning._closure_problem import best_subtrees
from ensemble_simplify.grid import LinearProgram, is_late, time_left

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
