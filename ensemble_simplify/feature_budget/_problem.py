"""The optimisation problem of feature-budget pruning, stated once and solved three ways.

Keeping the set P of splits of a forest (closed under parents) costs

    loss(P) = loss of the root-only forest  -  sum of gain[h] over P
    cost(P) = mean over rows of the price of the resources that splits of P make the row use

and the pruning wanted minimises ``loss + lam * cost``. `PruningProblem` holds the arrays; its
methods are the whole path by parametric minimum cut, the linear programs of Nan, Wang and
Saligrama (2016) by HiGHS, and their Dantzig-Wolfe decomposition.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from time import monotonic

import numpy as np
from joblib import Parallel, delayed
from scipy import sparse

from ensemble_simplify._lp import LinearProgram
from ensemble_simplify.feature_budget._closure import solve_cut, solve_path
from ensemble_simplify.feature_budget._model import (
    ALWAYS,
    Items,
    acquired_features,
    best_subtrees,
    contract,
    drop_idle,
    extend_free,
    group_rows,
    needed_resources,
    order_nodes,
    stopping_nodes,
)

# Numbers that are not whole in any decimal unit are rounded to this share of their total.
_RESOLUTION = 2.0**50

# Shares of the price that every tree pays by itself, tried to fill a jump of the path.
_THETAS = (0.003, 0.01, 0.03, 0.08, 0.16, 0.32, 0.64)

_DW_TOLERANCE = 1e-9


def to_integers(*arrays):
    """Scale arrays by one factor to whole numbers, exactly where a decimal unit allows it.

    Returns
    -------
    scale : float
    *arrays : ndarray of int64
        ``array * scale``, rounded.
    """
    values = np.concatenate([np.ravel(a) for a in arrays]).astype(np.float64)
    scale = _decimal_scale(values)
    return scale, *(np.rint(np.asarray(a) * scale).astype(np.int64) for a in arrays)


def _decimal_scale(values):
    """The factor of `to_integers`."""
    total = np.abs(values).sum()
    if total == 0:
        return 1.0
    for digits in range(7):
        scaled = values * 10.0**digits
        if total * 10.0**digits > _RESOLUTION:
            break
        whole = np.rint(scaled)
        if np.all(np.abs(scaled - whole) <= 1e-12 * np.abs(scaled)):
            return 10.0**digits / float(np.gcd.reduce(np.abs(whole).astype(np.int64)))
    return _RESOLUTION / total


@dataclass(frozen=True, eq=False)
class BudgetPath:
    """Nested prunings, from the one of lowest loss to the one of no cost.

    Attributes
    ----------
    lams : ndarray of shape (n_prunings,)
        Pruning `k` is optimal from ``lams[k]`` to ``lams[k + 1]``.
    losses, costs : ndarray of shape (n_prunings,)
    proven : ndarray of shape (n_prunings - 1,), bool
        Whether no other pruning is optimal between two neighbours; False where time ran out.
    supports : ndarray of shape (n_supports, 2)
        Pairs (lam, loss + lam * cost at the optimum): each is a line below all prunings.
    edge_of : ndarray of int32, shape (n_contracted,)
        The contracted node is kept in prunings ``0, ..., edge_of``; -1: in none.
    largest : ndarray of int32, shape (n_contracted,)
        The same where nodes that change neither loss nor cost are kept as well.
    """

    lams: np.ndarray
    losses: np.ndarray
    costs: np.ndarray
    proven: np.ndarray
    supports: np.ndarray
    edge_of: np.ndarray
    largest: np.ndarray

    def bound(self, budget):
        """Loss that no pruning of cost at most `budget` can go below."""
        return float(np.max(self.supports[:, 1] - self.supports[:, 0] * budget))


class PruningProblem:
    """A forest, routed rows and prices.

    Parameters
    ----------
    offsets, left, right, feature : ndarray
        Node arrays as in `Forest`.
    leaf : ndarray of intp, shape (n_rows, n_trees)
        The leaf of each row in each tree.
    weight : ndarray of float64, shape (n_rows,)
        Weights of the rows in the cost.
    loss_of_node : ndarray of float64, shape (n_nodes,)
        What each node adds to the loss when it is a leaf, up to the factor `unit`.
    unit : float
        ``loss = unit * sum of loss_of_node over leaves``.
    prices : ndarray of float64, shape (n_resources,)
    resources : ndarray of int32, shape (n_features, 2)
        Resource of each feature, and of its group; -1 where there is none to pay for.
    shared : bool, default=True
        Whether a row pays once for all trees, or in every tree anew.
    """

    def __init__(
        self,
        *,
        offsets,
        left,
        right,
        feature,
        leaf,
        weight,
        loss_of_node,
        unit,
        prices,
        resources,
        shared=True,
    ):
        n_nodes = left.shape[0]
        self.n_trees = offsets.shape[0] - 1
        self.n_rows = leaf.shape[0]
        self.offsets = offsets
        self.feature = feature
        self.prices = np.ascontiguousarray(prices, dtype=np.float64)
        self.resources = np.ascontiguousarray(resources, dtype=np.int32)
        self.shared = shared
        self.unit = unit
        self.weight = np.ascontiguousarray(weight, dtype=np.float64)
        self.total_weight = self.weight.sum()
        self.loss_of_node = loss_of_node
        self.split = np.ascontiguousarray(left >= 0, dtype=np.uint8)
        self.parent = np.empty(n_nodes, dtype=np.intp)
        self.order = np.empty(n_nodes, dtype=np.intp)
        order_nodes(offsets, left, right, self.parent, self.order)

        inner = self.split.astype(bool)
        gain = np.zeros(n_nodes)
        gain[inner] = loss_of_node[inner] - loss_of_node[left[inner]] - loss_of_node[right[inner]]
        self.gain_scale, self.gain = to_integers(gain)
        self.needs = np.empty((n_nodes, 2), dtype=np.int32)
        needed_resources(self.parent, self.order, feature, self.resources, self.needs)
        self.rows = np.empty((self.n_trees, self.n_rows), dtype=np.int32)
        self.first = np.empty(n_nodes, dtype=np.int32)
        self.last = np.empty(n_nodes, dtype=np.int32)
        group_rows(leaf, self.parent, self.order, offsets, self.rows, self.first, self.last)
        self._contract()

    def _contract(self):
        n_nodes = self.parent.shape[0]
        self.representative = np.empty(n_nodes, dtype=np.int32)
        parent = np.empty(n_nodes, dtype=np.int32)
        gain = np.zeros(n_nodes, dtype=np.int64)
        active = np.zeros(n_nodes, dtype=np.uint8)
        n = contract(
            self.parent,
            self.order,
            self.needs,
            self.gain,
            self.split,
            self.representative,
            parent,
            gain,
            active,
        )
        self.c_parent, self.c_gain, self.c_active = parent[:n], gain[:n], active[:n]
        own = np.zeros(n)
        items = Items(
            self.rows,
            self.first,
            self.last,
            self.offsets,
            self.needs,
            self.representative,
            self.weight,
            self.prices,
            own,
        )
        self.c_start = np.empty(n + 1, dtype=np.int64)
        self.c_items = np.empty(items.n_arcs, dtype=np.int32)
        price = np.empty(items.n_items)
        items.read(self.c_start, self.c_items, price)
        self.cost_scale, self.c_own, self.c_price = to_integers(own, price)
        always = self.representative == ALWAYS
        self.base_gain = int(self.gain[always].sum())
        root_loss = self.loss_of_node[self.offsets[:-1]].sum()
        self._root_loss = float(root_loss)

    # Sets of contracted nodes and of splits.

    @property
    def n_contracted(self):
        """Number of contracted nodes."""
        return self.c_parent.shape[0]

    @cached_property
    def c_solo(self):
        """Cost of each contracted node if it had to pay all it needs by itself."""
        arcs = np.concatenate(([0], np.cumsum(self.c_price[self.c_items])))
        return self.c_own + np.diff(arcs[self.c_start])

    @property
    def closure(self):
        """Arrays of the closure problem that `solve_path` and `solve_cut` take."""
        if self.shared:
            return (
                self.c_parent,
                self.c_gain,
                self.c_own,
                self.c_start,
                self.c_items,
                self.c_price,
            )
        nothing = np.zeros(self.n_contracted + 1, dtype=np.int64)
        return (
            self.c_parent,
            self.c_gain,
            self.c_solo,
            nothing,
            np.empty(0, dtype=np.int32),
            np.empty(0, dtype=np.int64),
        )

    def expand(self, chosen, ties="keep"):
        """Splits kept by a set of contracted nodes.

        Parameters
        ----------
        chosen : ndarray of bool or uint8, shape (n_contracted,)
        ties : {"keep", "prune"}
            "prune": subtrees that gain nothing become leaves.

        Returns
        -------
        ndarray of uint8, shape (n_nodes,)
        """
        chosen = np.asarray(chosen, dtype=np.uint8)
        keep = np.append(chosen, np.uint8(0))[np.maximum(self.representative, -1)]
        keep[self.representative == ALWAYS] = 1
        if ties == "prune":
            drop_idle(self.parent, self.order, self.gain, keep)
        return keep

    def loss(self, keep):
        """Loss of the pruning that keeps the splits `keep`."""
        return self.unit * float(self.loss_of_node[self.leaves(keep)].sum())

    def leaves(self, keep):
        """Leaves of a pruning, as a mask over nodes."""
        stop = self.stops(keep)
        return (stop == np.arange(stop.shape[0])) & (keep == 0)

    def stops(self, keep):
        """For each node, the node of the pruning where its rows end."""
        stop = np.empty(self.parent.shape[0], dtype=np.intp)
        stopping_nodes(self.parent, self.order, keep, stop)
        return stop

    def cost(self, keep, *, shared=True):
        """Mean cost per row of a pruning: what rows pay if trees share, or if each pays anew."""
        node = np.flatnonzero((keep != 0) & (self.needs >= 0).any(axis=1))
        _, resource, row = self._uses(node)
        if not shared:
            return float(self.prices[resource] @ self.weight[row]) / self.total_weight
        used = np.zeros((self.prices.shape[0], self.n_rows), dtype=bool)
        used[resource, row] = True
        return float(self.prices @ (used @ self.weight)) / self.total_weight

    def _uses(self, nodes):
        """All (node, resource, row) where a row first uses a resource of a tree in a node."""
        parts = []
        tree = np.searchsorted(self.offsets, nodes, side="right") - 1
        for j in range(2):
            has = self.needs[nodes, j] >= 0
            h, t = nodes[has], tree[has]
            count = (self.last[h] - self.first[h]).astype(np.int64)
            node = np.repeat(h, count)
            within = np.arange(node.shape[0]) - np.repeat(np.cumsum(count) - count, count)
            row = self.rows[np.repeat(t, count), np.repeat(self.first[h], count) + within]
            parts.append((node, self.needs[node, j], row))
        return tuple(np.concatenate(column) for column in zip(*parts, strict=True))

    # Minimum cut.

    def path(self, time_limit=None):
        """All optimal prunings by parametric minimum cut.

        Returns
        -------
        BudgetPath
        """
        n_active = int(self.c_active.sum())
        edge_of = np.empty(self.n_contracted, dtype=np.int32)
        edges = np.zeros((n_active + 1, 3), dtype=np.int64)
        cuts = np.zeros((2 * n_active + 1, 4), dtype=np.int64)
        n_edges, n_cuts = solve_path(
            *self.closure,
            self.c_active,
            edge_of,
            edges,
            cuts,
            np.inf if time_limit is None else float(time_limit),
        )
        edges, cuts = edges[:n_edges], cuts[:n_cuts]
        return self._path(edge_of, edges, cuts)

    def _path(self, edge_of, edges, cuts):
        # An edge without cost is never taken: its nodes stay to the end.
        taken = edges[:, 1] > 0
        edges = edges[taken]
        kept = self.base_gain + int(self.c_gain[edge_of >= 0].sum())
        gains = kept - np.concatenate(([0], np.cumsum(edges[:, 0])))
        losses = self._loss_of_gain(gains)
        total = self._total_cost(edge_of >= 0)
        objective_costs = (total - np.concatenate(([0], np.cumsum(edges[:, 1])))) / self._per_row
        to_lam = self._to_lam
        lams = np.concatenate(([0.0], edges[:, 0] / np.maximum(edges[:, 1], 1) * to_lam))
        supports = [(0.0, losses[0])]
        supports += [
            (lam, loss + lam * cost)
            for lam, loss, cost, proven in zip(
                lams[1:], losses[:-1], objective_costs[:-1], edges[:, 2], strict=True
            )
            if proven
        ]
        # The gain and cost of a cut are counted from the optimum at lam = 0.
        for d_gain, d_cost, gain, cost in cuts.tolist():
            lam = d_gain / d_cost * to_lam
            loss = float(self._loss_of_gain(self.base_gain + gain))
            supports.append((lam, loss + lam * cost / self._per_row))
        return BudgetPath(
            lams=lams,
            losses=losses,
            costs=objective_costs if self.shared else self._shared_costs(edge_of, len(edges)),
            proven=edges[:, 2].astype(bool),
            supports=np.array(supports),
            edge_of=edge_of,
            largest=self._largest(edge_of),
        )

    def _largest(self, edge_of):
        """Until when a node may stay for nothing: it gains nothing, others pay what it needs."""
        _, gain, own, start, items, price = self.closure
        last = np.empty(price.shape[0], dtype=np.int32)
        largest = edge_of.copy()
        extend_free(self.c_parent, gain, own, start, items, price, last, largest)
        return largest

    @property
    def _per_row(self):
        return self.cost_scale * self.total_weight

    @property
    def _to_lam(self):
        """Price level in units of loss and cost, for one in units of the closure problem."""
        return self.unit * self._per_row / self.gain_scale

    def _loss_of_gain(self, gain):
        return self.unit * (self._root_loss - gain / self.gain_scale)

    def _total_cost(self, chosen):
        _, _, own, start, items, price = self.closure
        paid = np.zeros(price.shape[0], dtype=bool)
        paid[items[np.repeat(chosen, np.diff(start))]] = True
        return int(own[chosen].sum() + price[paid].sum())

    def _shared_costs(self, edge_of, n_edges):
        """Costs of the prunings of a path when trees share what they buy."""
        kept = edge_of >= 0
        # The last pruning of the path in which some node needs an item.
        last = np.full(self.c_price.shape[0], -1, dtype=np.int32)
        np.maximum.at(last, self.c_items, np.repeat(edge_of, np.diff(self.c_start)))
        amount = np.concatenate([self.c_own[kept], self.c_price])
        until = np.concatenate([edge_of[kept], last])
        paid = until >= 0
        lost = np.bincount(
            np.minimum(until[paid], n_edges), weights=amount[paid], minlength=n_edges + 1
        )
        return (lost.sum() - np.concatenate(([0], np.cumsum(lost[:n_edges])))) / self._per_row

    def at_vertex(self, path, k, ties="keep"):
        """Splits kept by pruning `k` of a path."""
        return self.expand((path.largest if ties == "keep" else path.edge_of) >= k, ties)

    def cut(self, lam, ties="keep", time_limit=None):
        """The optimal pruning at one price level, by one minimum cut.

        Returns
        -------
        ndarray of uint8, shape (n_nodes,), or None if time ran out
        """
        chosen = np.empty(self.n_contracted, dtype=np.uint8)
        limit = np.inf if time_limit is None else float(time_limit)
        finished = solve_cut(*self.closure, self.c_active, float(lam) / self._to_lam, chosen, limit)
        return self.expand(chosen, ties) if finished else None

    # Between two prunings of the path.

    def fill(self, path, k, budget, ties="keep", time_limit=None):
        """The best pruning found between neighbours `k` and `k + 1` of the path within `budget`.

        The same parametric cut is run with a share theta of the price paid by every tree for
        itself, for several theta: these prunings lie above the hull, at other costs.

        Returns
        -------
        keep : ndarray of uint8, shape (n_nodes,)
        """
        deadline = None if time_limit is None else monotonic() + time_limit
        low = path.edge_of > k
        nodes = np.flatnonzero(path.edge_of == k)
        paid = np.zeros(self.c_price.shape[0], dtype=bool)
        arcs_of = np.repeat(np.arange(self.n_contracted), np.diff(self.c_start))
        paid[self.c_items[low[arcs_of]]] = True
        wanted = (path.edge_of == k)[arcs_of] & ~paid[self.c_items]
        place = np.full(self.n_contracted, -1, dtype=np.int32)
        place[nodes] = np.arange(nodes.shape[0])
        node_of_arc = place[arcs_of[wanted]]
        used, items = np.unique(self.c_items[wanted], return_inverse=True)
        start = np.concatenate(([0], np.cumsum(np.bincount(node_of_arc, minlength=len(nodes)))))
        parent = self.c_parent[nodes]
        parent = np.where(parent >= 0, place[np.maximum(parent, 0)], -1).astype(np.int32)
        gain, own, price = self.c_gain[nodes], self.c_own[nodes], self.c_price[used]
        solo = own + np.bincount(node_of_arc, weights=price[items], minlength=len(nodes)).astype(
            np.int64
        )
        room = budget * self._per_row - self._total_cost(low)
        best_gain, best = 0, None
        active = np.ones(len(nodes), dtype=np.uint8)
        for theta in _THETAS:
            left = np.inf if deadline is None else deadline - monotonic()
            if left <= 0:
                break
            _, own_theta, price_theta = to_integers(
                (1 - theta) * own + theta * solo, (1 - theta) * price
            )
            edge_of = np.empty(len(nodes), dtype=np.int32)
            edges = np.zeros((len(nodes) + 1, 3), dtype=np.int64)
            cuts = np.zeros((2 * len(nodes) + 1, 4), dtype=np.int64)
            arrays = (parent, gain, own_theta, start, items.astype(np.int32), price_theta)
            n_edges, _ = solve_path(*arrays, active, edge_of, edges, cuts, left)
            last = np.full(len(used), -1, dtype=np.int64)
            np.maximum.at(last, items, edge_of[node_of_arc])
            until = np.concatenate([edge_of, last])
            amounts = np.concatenate([own, price])
            cost_lost = np.bincount(until, weights=amounts, minlength=n_edges)
            costs = cost_lost.sum() - np.concatenate(([0], np.cumsum(cost_lost)))
            gain_lost = np.bincount(edge_of, weights=gain, minlength=n_edges)
            gains = gain_lost.sum() - np.concatenate(([0], np.cumsum(gain_lost)))
            within = np.flatnonzero(costs <= room * (1 + 1e-12))
            if within.size and gains[within].max() > best_gain:
                j = within[np.argmax(gains[within])]
                best_gain, best = gains[j], edge_of >= j
        chosen = low.copy()
        if best is not None:
            chosen[nodes[best]] = True
        return self.expand(chosen, ties)

    def solve_budget_mip(self, budget, start=None, time_limit=None):
        """The best pruning within a budget, by integer programming.

        Parameters
        ----------
        budget : float
        start : ndarray of uint8, shape (n_nodes,), or None
            A pruning within the budget to begin with.
        time_limit : float or None

        Returns
        -------
        keep : ndarray of uint8, shape (n_nodes,), or None if no pruning was found
        bound : float
            No pruning within the budget has a lower loss.
        """
        parent, gain, own, start_of, items, price = self.closure
        n, m = len(gain), len(price)
        p_parent = np.flatnonzero(parent >= 0)
        arcs = np.repeat(np.arange(n), np.diff(start_of))
        rows = len(p_parent) + len(arcs)
        index = np.arange(rows)
        larger = np.concatenate([parent[p_parent], n + items])
        smaller = np.concatenate([p_parent, arcs])
        A = sparse.coo_array(
            (
                np.concatenate([np.ones(rows), -np.ones(rows)]),
                (np.concatenate([index, index]), np.concatenate([smaller, larger])),
            ),
            shape=(rows, n + m),
        )
        # Budget row and objective in their own units, so that tolerances mean something.
        cost = np.concatenate([own, price]) / self._per_row
        A = sparse.vstack([A, sparse.csr_array(cost[None, :])])
        upper = np.append(np.zeros(rows), budget)
        worth = np.concatenate([-gain / self.gain_scale * self.unit, np.zeros(m)])
        whole = np.arange(n + m) < n
        program = LinearProgram(worth, A, row_upper=upper, upper=1.0, integer=whole)
        if start is not None:
            chosen = np.zeros(n, dtype=bool)
            # A contracted node is kept iff the split it stands for, its topmost one, is.
            top = (self.representative >= 0) & ((self.needs >= 0).any(axis=1) | (self.gain < 0))
            chosen[self.representative[top]] = start[top] != 0
            paid = np.zeros(m)
            paid[items[chosen[arcs]]] = 1.0
            program.start_from(np.concatenate([chosen, paid]))
        solution = program.solve(time_limit)
        constant = float(self._loss_of_gain(self.base_gain))
        keep = None
        if np.isfinite(solution.objective):
            keep = self.expand(solution.x[:n] > 0.5)
        return keep, constant + solution.bound

    # Linear programs.

    def solve_lp(self, lam, form="difference", time_limit=None):
        """The optimal pruning at one price level, by linear programming.

        Stated from the nodes and rows themselves, without contraction or merging.

        Parameters
        ----------
        lam : float
        form : {"difference", "printed"}
            ``"difference"``: p_h = 1 iff h stays a split, w_r = 1 iff a row pays for a resource;
            ``p_child <= p_parent``, ``p_h <= w``. ``"printed"``: (IP3) of the paper.
        time_limit : float or None

        Returns
        -------
        keep : ndarray of uint8, shape (n_nodes,), or None if time ran out
        Solution
            Its objective is ``loss + lam * cost``.
        """
        cost, A, lower, upper, constant, splits = self.linear_program(lam, form)
        program = LinearProgram(cost, A, row_lower=lower, row_upper=upper, upper=1.0)
        solution = program.solve(time_limit)
        if solution.status != "optimal":
            return None, solution
        solution = replace(
            solution,
            objective=solution.objective + constant,
            bound=solution.bound + constant,
        )
        return self._round(solution, form, splits), solution

    def _round(self, solution, form, splits):
        keep = np.zeros(self.parent.shape[0], dtype=np.uint8)
        n = len(splits)
        if form == "difference":
            # Every level set of an optimal point is optimal.
            keep[splits] = solution.x[:n] > 0.5
            return keep
        # A node is split iff neither it nor an ancestor is a leaf.
        cut_off = self._ancestors() @ solution.x[: self.parent.shape[0]]
        keep[splits] = cut_off[splits] < 0.5
        return keep

    def linear_program(self, lam, form="difference"):
        """Arrays of the linear program, its constant, and the ids of the splits."""
        splits = np.flatnonzero(self.split)
        node, resource, row = self._uses(splits)
        key = resource.astype(np.int64) * self.n_rows + row
        if not self.shared:
            tree = np.searchsorted(self.offsets, node, side="right") - 1
            key = key * self.n_trees + tree
        paid, w = np.unique(key, return_inverse=True)
        if not self.shared:
            paid = paid // self.n_trees
        price = self.prices[paid // self.n_rows] * self.weight[paid % self.n_rows]
        price = lam * price / self.total_weight
        build = self._difference_form if form == "difference" else self._printed_form
        return *build(splits, node, w, price), splits

    def _difference_form(self, splits, node, w, price):
        n, m = len(splits), len(price)
        place = np.full(self.parent.shape[0], -1, dtype=np.int64)
        place[splits] = np.arange(n)
        below = splits[self.parent[splits] >= 0]
        small = np.concatenate([place[below], place[node]])
        large = np.concatenate([place[self.parent[below]], n + w])
        index = np.arange(len(small))
        A = sparse.coo_array(
            (
                np.concatenate([np.ones(len(small)), -np.ones(len(small))]),
                (np.concatenate([index, index]), np.concatenate([small, large])),
            ),
            shape=(len(small), n + m),
        )
        cost = np.concatenate([-self.unit * self.gain[splits] / self.gain_scale, price])
        return cost, A, -np.inf, 0.0, self.unit * self._root_loss

    def _printed_form(self, splits, node, w, price):
        # Columns: z of every node, w^(t) of every first use, w of every paid resource.
        n, m, k = self.parent.shape[0], len(price), len(node)
        above = self._ancestors()
        leaves = np.flatnonzero(self.split == 0)
        ones = sparse.csr_array(sparse.identity(k))
        blank = sparse.csr_array((len(leaves), k + m))
        paths = sparse.hstack([above[leaves], blank])
        first_use = sparse.hstack([above[node], ones, sparse.csr_array((k, m))])
        share = sparse.csr_array((np.ones(k), (np.arange(k), w)), shape=(k, m))
        linked = sparse.hstack([sparse.csr_array((k, n)), ones, -share])
        A = sparse.vstack([paths, first_use, linked], format="csr")
        equal = np.ones(len(leaves) + k)
        lower = np.concatenate([equal, np.full(k, -np.inf)])
        upper = np.concatenate([equal, np.zeros(k)])
        cost = np.concatenate([self.unit * self.loss_of_node, np.zeros(k), price])
        return cost, A, lower, upper, 0.0

    def _ancestors(self):
        """Sparse matrix: row h has ones at h and its ancestors."""
        n = self.parent.shape[0]
        node = np.arange(n)
        rows, columns, up = [node], [node], self.parent.copy()
        while (up >= 0).any():
            has = np.flatnonzero(up >= 0)
            rows.append(has)
            columns.append(up[has])
            up[has] = self.parent[up[has]]
        rows, columns = np.concatenate(rows), np.concatenate(columns)
        return sparse.csr_array((np.ones(len(rows)), (rows, columns)), shape=(n, n))

    # Dantzig-Wolfe.

    def solve_dantzig_wolfe(self, lam, n_jobs=None, time_limit=None, max_rounds=10_000):
        """The optimal pruning at one price level, by column generation.

        The master program holds prunings of single trees, and one row for each pair of a tree
        and an item it may use. Each round prices every tree by dynamic programming, in parallel
        through joblib, and adds the prunings that would still lower the objective.

        Returns
        -------
        keep : ndarray of uint8, shape (n_nodes,), or None if time ran out in the first round
        objective : float
        bound : float
            Lagrangian bound: the objective cannot be lower.
        n_rounds : int
        """
        deadline = np.inf if time_limit is None else monotonic() + time_limit
        trees = self._single_trees(lam)
        price = self.closure[5]
        level = float(lam) / self._to_lam
        # Rows: (tree, item), then one of convexity for each tree with nodes.
        first_row = np.concatenate(([0], np.cumsum([len(t.items) for t in trees])))
        n_links, n_trees, m = int(first_row[-1]), len(trees), len(price)
        item_of_row = np.concatenate([t.items for t in trees] or [np.empty(0, dtype=np.int64)])
        A = sparse.coo_array(
            (-np.ones(n_links), (np.arange(n_links), item_of_row)), shape=(n_links + n_trees, m)
        )
        lower = np.concatenate([np.full(n_links, -np.inf), np.ones(n_trees)])
        upper = np.concatenate([np.zeros(n_links), np.ones(n_trees)])
        program = LinearProgram(
            level * price / self._money, A, row_lower=lower, row_upper=upper, upper=1.0
        )
        columns, column_tree = [], []

        def add(found):
            costs, data = [], []
            for t, chosen in found:
                tree = trees[t]
                used = np.unique(tree.arc_item[chosen[tree.arc_node]])
                rows = np.append(first_row[t] + used, n_links + t)
                data.append((rows, np.full(len(rows), len(costs))))
                costs.append(-tree.worth[chosen].sum() / self._money)
                columns.append(chosen)
                column_tree.append(t)
            rows, cols = (np.concatenate(part) for part in zip(*data, strict=True))
            new = sparse.csc_array(
                (np.ones(len(rows)), (rows, cols)), shape=(n_links + n_trees, len(costs))
            )
            program.add_columns(costs, new)

        starts = [(t, np.zeros(len(tree.worth), dtype=bool)) for t, tree in enumerate(trees)]
        for share in (0.0, 0.1, 0.3, 1.0):
            starts += [(t, tree.alone(share * level)) for t, tree in enumerate(trees)]
        if starts:
            add(_distinct(starts))
        solution, bound, rounds = None, -np.inf, 0
        with Parallel(n_jobs=n_jobs) as parallel:
            while True:
                master = program.solve(None if deadline == np.inf else deadline - monotonic())
                rounds += 1
                if master.status != "optimal":
                    break
                solution, dual = master, master.row_dual
                found = parallel(
                    delayed(_price_tree)(tree, dual[first_row[t] : first_row[t + 1]] * self._money)
                    for t, tree in enumerate(trees)
                )
                gap = sum(
                    max(0.0, worth / self._money + dual[n_links + t])
                    for t, (worth, _) in enumerate(found)
                )
                bound = max(bound, solution.objective - gap)
                better = [
                    (t, chosen)
                    for t, (worth, chosen) in enumerate(found)
                    if worth / self._money + dual[n_links + t] > _DW_TOLERANCE / max(1, n_trees)
                ]
                done = not better or solution.objective - bound <= _DW_TOLERANCE
                if done or rounds == max_rounds or monotonic() > deadline:
                    break
                add(better)
        if solution is None:
            return None, np.inf, -np.inf, rounds
        share = np.zeros(self.n_contracted)
        # The last columns are missing where time ran out in the master program.
        for t, chosen, alpha in zip(column_tree, columns, solution.x[m:], strict=False):
            share[trees[t].nodes[chosen]] += alpha
        # Every level set of an optimal point is optimal.
        keep = self.expand(share > 0.5)
        constant = self._loss_of_gain(self.base_gain)
        scale = self.unit * self._money / self.gain_scale
        return keep, constant + scale * solution.objective, constant + scale * bound, rounds

    @property
    def _money(self):
        # Scales the master's objective to about one.
        return float(max(1, np.abs(self.c_gain).sum()))

    def _single_trees(self, lam):
        """The contracted nodes of each tree that can be kept at all."""
        parent, gain, own, start, items, price = self.closure
        level = float(lam) / self._to_lam
        node = np.flatnonzero(self.representative >= 0)
        tree_of = np.full(self.n_contracted, -1)
        tree_of[self.representative[node]] = np.searchsorted(self.offsets, node, side="right") - 1
        tree_of = np.where(self.c_active.astype(bool), tree_of, -1)
        trees = []
        for t in range(self.n_trees):
            nodes = np.flatnonzero(tree_of == t)
            if not len(nodes):
                continue
            place = np.full(self.n_contracted, -1, dtype=np.int32)
            place[nodes] = np.arange(len(nodes))
            up = parent[nodes]
            arcs = np.concatenate([np.arange(start[v], start[v + 1]) for v in nodes])
            used, arc_item = np.unique(items[arcs.astype(np.intp)], return_inverse=True)
            trees.append(
                _Tree(
                    nodes=nodes,
                    parent=np.where(up >= 0, place[np.maximum(up, 0)], -1).astype(np.int32),
                    worth=gain[nodes] - level * own[nodes],
                    arc_node=np.repeat(np.arange(len(nodes)), np.diff(start)[nodes]),
                    arc_item=arc_item,
                    items=used.astype(np.int64),
                    item_price=price[used].astype(np.float64),
                )
            )
        return trees

    # Rows.

    def acquired(self, leaf, keep):
        """Which features each of other rows uses, from the leaves they end in unpruned."""
        acquired = np.zeros((leaf.shape[0], self.resources.shape[0]), dtype=np.uint8)
        acquired_features(leaf, self.parent, self.feature, keep, acquired)
        return acquired.astype(bool)


@dataclass(frozen=True, eq=False)
class _Tree:
    """One tree of a Dantzig-Wolfe decomposition, small enough to be sent around."""

    nodes: np.ndarray
    parent: np.ndarray
    worth: np.ndarray
    arc_node: np.ndarray
    arc_item: np.ndarray
    items: np.ndarray
    item_price: np.ndarray

    def alone(self, level):
        """The best pruning if this tree paid for all it uses."""
        return _price_tree(self, -level * self.item_price)[1]


def _price_tree(tree, dual):
    """The tree's best pruning, where using item `i` changes the worth by ``dual[i]``."""
    worth = tree.worth + np.bincount(
        tree.arc_node, weights=dual[tree.arc_item], minlength=len(tree.worth)
    )
    keep = np.empty(len(tree.worth), dtype=np.uint8)
    total = best_subtrees(tree.parent, worth, keep)
    return total, keep.astype(bool)


def _distinct(found):
    seen = {}
    for t, chosen in found:
        seen[t, chosen.tobytes()] = (t, chosen)
    return list(seen.values())
