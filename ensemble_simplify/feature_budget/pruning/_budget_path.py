"""All optimal prunings by parametric minimum cut."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ensemble_simplify.feature_budget.pruning._closure import solve_path


@dataclass(frozen=True, eq=False)
class BudgetPath:
    """Nested prunings, from the one of lowest loss to the one of no cost."""

    lams: np.ndarray  # pruning `k` is optimal from lams[k] to lams[k + 1]
    losses: np.ndarray
    costs: np.ndarray
    # Whether no other pruning is optimal between two neighbours; False where time ran out.
    proven: np.ndarray
    # Pairs (lam, loss + lam * cost at the optimum): each is a line below all prunings.
    supports: np.ndarray
    # The contracted node is kept in prunings 0, ..., smallest; -1: in none.
    smallest: np.ndarray
    # The same where nodes that change neither loss nor cost are kept as well.
    largest: np.ndarray
    shared: bool  # whether trees share what they buy, or each pays anew

    def chosen(self, k, ties="keep"):
        """Mask of the contracted nodes in pruning `k`."""
        return (self.largest if ties == "keep" else self.smallest) >= k


def find_path(problem, *, shared=True) -> BudgetPath:
    """All optimal prunings by parametric minimum cut, as far as the limit of time lets it go.

    With `shared` a row pays once for all trees, otherwise in every tree anew.
    """
    if not problem.has_costs:
        return _ends(problem, shared)
    closure = problem.closure if shared else problem.closure.unshared()
    last, edges, cuts = nested_optima(closure)
    # An edge without cost is never taken: its nodes stay to the end.
    edges = edges[edges[:, 1] > 0]
    d_gain, d_cost, proven = edges.T
    kept = last >= 0
    gains = closure.gain[kept].sum() - np.concatenate(([0], np.cumsum(d_gain)))
    costs = closure.cost(kept) - np.concatenate(([0], np.cumsum(d_cost)))
    losses = problem.loss_of_gain(gains)
    costs = costs * problem.cost_unit
    # A pruning is optimal from the slope of the edge before it on.
    lams = np.concatenate(([0.0], d_gain / d_cost * problem.lam_unit))
    d_gain, d_cost, gain, cost = cuts.T
    lam_of_cut = d_gain / d_cost * problem.lam_unit
    of_cut = problem.loss_of_gain(gain) + lam_of_cut * cost * problem.cost_unit
    of_edge = losses[:-1] + lams[1:] * costs[:-1]
    supports = [
        [(0.0, losses[0])],
        np.column_stack([lams[1:], of_edge])[proven.astype(bool)],
        np.column_stack([lam_of_cut, of_cut]),
    ]
    return BudgetPath(
        lams=lams,
        losses=losses,
        costs=problem.nested_costs(last, len(lams)),
        proven=proven.astype(bool),
        supports=np.concatenate(supports),
        smallest=last,
        largest=closure.extended(last),
        shared=shared,
    )


def _ends(problem, shared):
    """The path where there is no time for more: the pruning of lowest loss, and that of no cost."""
    active = problem.closure.active.astype(bool)
    losses = [problem.loss(problem.expand(chosen)) for chosen in (active, np.zeros_like(active))]
    cost, last = problem.cost(problem.expand(active)), np.where(active, 0, -1).astype(np.int32)
    n = 2 if cost > 0 else 1
    return BudgetPath(
        lams=np.array([0.0, (losses[1] - losses[0]) / cost if cost > 0 else np.inf][:n]),
        losses=np.array(losses[:n]),
        costs=np.array([cost, 0.0][:n]),
        proven=np.zeros(n - 1, dtype=bool),
        supports=np.array([(0.0, losses[0])]),
        smallest=last,
        largest=last,
        shared=shared,
    )


def nested_optima(closure, *, room=None, pays=None):
    """Nested optimal sets of a closure, for all price levels.

    With a `room`, only the two sets on either side of this cost are wanted. It is counted in the
    prices of `pays`, the same nodes with other prices (None: `closure`).

    Returns
    -------
    last : ndarray of int32, shape (n_nodes,)
        The node is in sets ``0, ..., last``; -1: in none.
    edges : ndarray of int64, shape (n_sets - 1, 3)
        Gain and cost between a set and the next, and whether no optimum lies between.
    cuts : ndarray of int64, shape (n_cuts, 4)
        Gain and cost of a chord, and of the largest optimal set at its slope.
    """
    n_active = int(closure.active.sum())
    last = np.empty(closure.n_nodes, dtype=np.int32)
    edges = np.zeros((n_active + 1, 3), dtype=np.int64)
    cuts = np.zeros((2 * n_active + 1, 4), dtype=np.int64)
    options = {}
    if room is not None:
        pays = closure if pays is None else pays
        whole, priced = float(pays.price.sum()), float(closure.price.sum())
        options = {
            "room": float(room),
            "paid": pays.own.astype(np.float64),
            "paid_per_price": whole / priced if priced else 0.0,
        }
    known = *closure.nodes_and_items, closure.active
    n_edges, n_cuts = solve_path(*known, last, edges, cuts, **options)
    return last, edges[:n_edges], cuts[:n_cuts]
