"""The optimisation problem of feature-budget pruning.

Keeping the set P of splits of a forest (closed under parents) costs

    loss(P) = loss of the root-only forest  -  sum of gain[h] over P
    cost(P) = mean over rows of the price of the resources that splits of P make the row use

and the pruning wanted minimises ``loss + lam * cost``. `PruningProblem` holds nodes, rows and
prices. Its `closure` is the same problem after contraction, in whole numbers: splits that are free
are merged into their parents, and rows for which the same splits need a resource into one item.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ensemble_simplify.base import product
from ensemble_simplify.feature_budget.pruning._closure_problem import (
    ALWAYS,
    SharedItems,
    acquired_features,
    best_subtrees,
    bit_sums,
    buy,
    contract,
    drop_idle,
    extend_free,
    group_rows,
    needed_resources,
    node_sums,
    order_nodes,
    paid_items,
    stopping_nodes,
)
from ensemble_simplify.feature_budget.pruning._scaling import in_units, to_integers
from ensemble_simplify.grid import time_left

# Seconds that a row takes in a node where it first needs a resource: to state what is shared, and
# for one cut. Neither is interrupted.
USE_SECONDS = 1.5e-7


@dataclass(frozen=True, eq=False)
class Closure:
    """Trees of nodes; a set that holds each node's parent earns gains and pays prices.

    Attributes
    ----------
    parent : ndarray of int32, shape (n_nodes,)
        -1 at roots; parents come before their children.
    gain : ndarray of int64, shape (n_nodes,)
    own : ndarray of int64, shape (n_nodes,)
        What a node pays by itself.
    start : ndarray of int64, shape (n_nodes + 1,)
        Node `v` needs the shared items ``items[start[v]:start[v + 1]]``.
    items : ndarray of int32, shape (n_arcs,)
    price : ndarray of int64, shape (n_items,)
        Paid once, however many nodes of the set need the item.
    active : ndarray of uint8, shape (n_nodes,)
        The smallest set of largest gain.
    """

    parent: np.ndarray
    gain: np.ndarray
    own: np.ndarray
    start: np.ndarray
    items: np.ndarray
    price: np.ndarray
    active: np.ndarray

    @property
    def n_nodes(self):
        """Number of nodes."""
        return self.parent.shape[0]

    @property
    def nodes_and_items(self):
        """The arrays but `active`, as kernels take them."""
        return self.parent, self.gain, self.own, self.start, self.items, self.price

    @property
    def arc_node(self):
        """The node of each entry of `items`."""
        return np.repeat(np.arange(self.n_nodes), np.diff(self.start))

    @property
    def solo(self):
        """What each node would pay if it had to pay its items alone."""
        paid = np.concatenate(([0], np.cumsum(self.price[self.items])))
        return self.own + np.diff(paid[self.start])

    def unshared(self):
        """The same nodes, each paying for its items alone."""
        start = np.zeros(self.n_nodes + 1, dtype=np.int64)
        return replace(self, own=self.solo, start=start, items=self.items[:0], price=self.price[:0])

    def partly_shared(self, share):
        """The same nodes, paying a share of each item alone; costs in another unit."""
        _, own, price = to_integers(
            (1 - share) * self.own + share * self.solo, (1 - share) * self.price
        )
        return replace(self, own=own, price=price)

    def part(self, nodes, paid=None):
        """Some of the nodes (a mask), all active, without items that others have `paid` already.

        Also the items of this closure that are numbered anew in the part.
        """
        arc_node = self.arc_node
        wanted = nodes[arc_node]
        if paid is not None:
            wanted &= ~paid[self.items]
        chosen = np.flatnonzero(nodes)
        place = np.full(self.n_nodes, -1, dtype=np.int32)
        place[chosen] = np.arange(len(chosen))
        needed = self.items[wanted]
        seen = np.zeros(self.price.shape[0], dtype=bool)
        seen[needed] = True
        used, items = np.flatnonzero(seen), (np.cumsum(seen, dtype=np.int32) - 1)[needed]
        counts = np.bincount(place[arc_node[wanted]], minlength=len(chosen))
        up = self.parent[chosen]
        part = Closure(
            parent=np.where(up >= 0, place[np.maximum(up, 0)], -1).astype(np.int32),
            gain=self.gain[chosen],
            own=self.own[chosen],
            start=np.concatenate(([0], np.cumsum(counts))),
            items=items.astype(np.int32, copy=False),
            price=self.price[used],
            active=np.ones(len(chosen), dtype=np.uint8),
        )
        return part, used

    def paid(self, chosen):
        """Mask of the items that a set of nodes needs."""
        paid = np.empty(self.price.shape[0], dtype=np.uint8)
        paid_items(self.start, self.items, np.asarray(chosen, dtype=np.uint8), paid)
        return paid.view(bool)

    def cost(self, chosen):
        """What a set of nodes pays."""
        return int(self.own[chosen].sum() + self.price[self.paid(chosen)].sum())

    def nested_costs(self, last, n_sets):
        """What nested sets pay: set `k` holds the nodes with ``last >= k``."""
        kept = last >= 0
        last_of_item = np.full(self.price.shape[0], -1, dtype=last.dtype)
        np.maximum.at(last_of_item, self.items, last[self.arc_node])
        amount = np.concatenate([self.own[kept], self.price])
        until = np.concatenate([last[kept], last_of_item])
        return _nested_sums(amount, until, n_sets)

    def extended(self, last):
        """Nested sets with the nodes added that change neither gain nor cost."""
        last = last.copy()
        extend_free(*self.nodes_and_items, np.empty(self.price.shape[0], dtype=np.int32), last)
        return last


def _nested_sums(amount, last, n_sets):
    """Sums of the amounts with ``last >= k``, for k = 0, ..., n_sets - 1."""
    counted = last >= 0
    ends = np.minimum(last[counted], n_sets - 1)
    at = np.bincount(ends, weights=amount[counted], minlength=n_sets)
    return np.cumsum(at[::-1])[::-1]


class PruningProblem:
    """A forest, routed rows and prices.

    Parameters
    ----------
    offsets, left, right, feature : ndarray
        Node arrays as in `Forest`.
    leaf : ndarray of int32, shape (n_rows, n_trees)
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

    Attributes
    ----------
    leaf : ndarray of int32, shape (n_rows, n_trees)
    split : ndarray of uint8, shape (n_nodes,)
        The unpruned forest: 1 at splits.
    parent, order : ndarray of intp, shape (n_nodes,)
        Parents (-1 at roots), and the nodes tree by tree in pre-order.
    needs : ndarray of int32, shape (n_nodes, 2)
        Resources that a split is the first on its path to use; -1: none.
    gain : ndarray of int64, shape (n_nodes,)
        Loss that splitting the node saves, times ``gain_scale / unit``.
    closure : Closure
        The problem after contraction.
    has_costs : bool
        Whether the closure knows what nodes pay.
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
    ):
        n_nodes = left.shape[0]
        self.n_rows, self.n_trees = leaf.shape
        self.offsets = offsets
        self.feature = feature
        self.prices = np.ascontiguousarray(prices, dtype=np.float64)
        self.resources = np.ascontiguousarray(resources, dtype=np.int32)
        self.unit = unit
        self.weight = np.ascontiguousarray(weight, dtype=np.float64)
        self.total_weight = self.weight.sum()
        self.loss_of_node = loss_of_node
        self.split = np.ascontiguousarray(left >= 0, dtype=np.uint8)
        self.parent, self.order = (np.empty(n_nodes, dtype=np.intp) for _ in range(2))
        order_nodes(offsets, left, right, self.parent, self.order)

        inner = self.split.astype(bool)
        gain = np.zeros(n_nodes)
        gain[inner] = loss_of_node[inner] - loss_of_node[left[inner]] - loss_of_node[right[inner]]
        self.gain_scale, self.gain = to_integers(gain)
        self.needs = np.empty((n_nodes, 2), dtype=np.int32)
        needed_resources(self.parent, self.order, feature, self.resources, self.needs)
        self.leaf = leaf
        self._last_cost = np.empty(0), 0.0
        self.closure = self._contracted()

    def _contracted(self) -> Closure:
        n_nodes = self.parent.shape[0]
        self.representative, parent = (np.empty(n_nodes, dtype=np.int32) for _ in range(2))
        gain = np.zeros(n_nodes, dtype=np.int64)
        known = self.parent, self.order, self.needs, self.gain, self.split
        n = contract(*known, self.representative, parent, gain)
        parent, gain, active = parent[:n], gain[:n], np.empty(n, dtype=np.uint8)
        best_subtrees(parent, gain, active)
        self._always_gain = int(self.gain[self.representative == ALWAYS].sum())
        self._root_loss = float(self.loss_of_node[self.offsets[:-1]].sum())
        # Whole prices times whole weights: their sums are exact.
        price_unit, prices = in_units(self.prices)
        own = np.zeros(n)
        needing = (self.representative >= 0)[:, None] & (self.needs >= 0)
        n_uses = product(needing.sum(axis=1) * 1.0, self._node_sums(np.ones(self.n_rows)))
        # What is shared is left out where stating it would outlast the limit of time.
        self.has_costs = USE_SECONDS * n_uses < time_left()
        if not self.has_costs:
            self.cost_unit = price_unit / self.total_weight
            nothing = np.empty(0, dtype=np.int32), np.empty(0, dtype=np.int64)
            start = np.zeros(n + 1, dtype=np.int64)
            return Closure(parent, gain, np.zeros(n, dtype=np.int64), start, *nothing, active)
        runs = self._runs()
        shared = SharedItems(
            *runs, self.offsets, self.needs, self.representative, self.weight, prices, own
        )
        start = np.empty(n + 1, dtype=np.int64)
        items = np.empty(shared.n_arcs, dtype=np.int32)
        price = np.empty(shared.n_items)
        shared.read(start, items, price)
        scale, own, price = to_integers(own, price)
        self.cost_unit = price_unit / scale / self.total_weight
        return Closure(parent, gain, own, start, items, price, active)

    def _runs(self):
        """Rows of each tree sorted by leaf: those of node h are rows[tree, first[h]:last[h]]."""
        rows = np.empty((self.n_trees, self.n_rows), dtype=np.int32)
        first, last = (np.empty(self.parent.shape[0], dtype=np.int32) for _ in range(2))
        group_rows(self.leaf, self.parent, self.order, self.offsets, rows, first, last)
        return rows, first, last

    def _node_sums(self, values):
        """Sums of the values of the rows that pass each node."""
        sums = np.zeros((self.parent.shape[0], 1))
        nodes = self.parent, self.order
        node_sums(self.leaf, values[:, None], np.empty((0, 0), dtype=np.uint8), *nodes, sums)
        return sums[:, 0]

    # Where contracted nodes come from.

    @cached_property
    def top(self):
        """The topmost split of each contracted node."""
        node = self.order[self.representative[self.order] >= 0]
        _, first = np.unique(self.representative[node], return_index=True)
        return node[first]

    @cached_property
    def top_feature(self):
        """The feature that each contracted node tests."""
        return self.feature[self.top].astype(np.int32)

    @cached_property
    def top_tree(self):
        """The tree of each contracted node."""
        return np.searchsorted(self.offsets, self.top, side="right") - 1

    def marginal_prices(self, kept):
        """What each feature costs if the others of a set are there: no group is paid twice."""
        own, group = self.resources.T
        prices = np.where(own >= 0, self.prices[own], 0.0)
        members = np.bincount(group[kept & (group >= 0)], minlength=len(self.prices))
        alone = members[group] - kept == 0
        return prices + np.where((group >= 0) & alone, self.prices[group], 0.0)

    # Units: the closure counts gains and costs in whole numbers.

    @property
    def gain_unit(self):
        """Loss of one unit of gain in the closure; `cost_unit` is the mean cost of one of cost."""
        return self.unit / self.gain_scale

    @property
    def lam_unit(self):
        """Price level of one unit of gain for one of cost."""
        return self.gain_unit / self.cost_unit

    def loss_of_gain(self, gain):
        """Loss of the prunings whose contracted nodes earn this."""
        return self.unit * (self._root_loss - (self._always_gain + gain) / self.gain_scale)

    @cached_property
    def error_scale(self):
        """What losses are compared with: the loss of the roots, or of all splits if larger."""
        return max(self.unit * self._root_loss, self.loss(self.split))

    @cached_property
    def cost_scale(self):
        """What costs are compared with: the cost of all splits."""
        return self.cost(self.split)

    # Sets of contracted nodes and of splits.

    def expand(self, chosen, ties="keep"):
        """Splits kept by a set of contracted nodes, as uint8 of shape (n_nodes,).

        With ``ties="prune"``, subtrees that gain nothing become leaves.
        """
        chosen = np.asarray(chosen, dtype=np.uint8)
        keep = np.append(chosen, np.uint8(0))[np.maximum(self.representative, -1)]
        keep[self.representative == ALWAYS] = 1
        if ties == "prune":
            drop_idle(self.parent, self.order, self.gain, keep)
        return keep

    def chosen(self, keep):
        """The contracted nodes whose topmost split is kept: the inverse of `expand`."""
        chosen = np.zeros(self.closure.n_nodes, dtype=bool)
        merged = (self.needs < 0).all(axis=1) & (self.gain >= 0)
        top = (self.representative >= 0) & ~merged
        chosen[self.representative[top]] = keep[top] != 0
        return chosen

    def loss(self, keep):
        """Loss of the pruning that keeps the splits `keep`."""
        stop = self.stops(keep)
        leaves = (stop == np.arange(stop.shape[0])) & (keep == 0)
        return self.unit * float(self.loss_of_node[leaves].sum())

    def stops(self, keep):
        """For each node, the node of the pruning where its rows end."""
        stop = np.empty(self.parent.shape[0], dtype=np.int32)
        stopping_nodes(self.parent, self.order, keep, stop)
        return stop

    def cost(self, keep, *, shared=True):
        """Mean cost per row of a pruning: what rows pay if trees share, or if each pays anew."""
        if shared:
            if not np.array_equal(keep, self._last_cost[0]):
                paid = self._weight_of_buyers(keep, self.resources, len(self.prices))
                paid = float(product(self.prices, paid)) / self.total_weight
                self._last_cost = keep.copy(), paid
            return self._last_cost[1]
        node = np.flatnonzero((keep != 0) & (self.needs >= 0).any(axis=1))
        _, resource, row = self.uses(node)
        return float(product(self.prices[resource], self.weight[row])) / self.total_weight

    def usage(self, keep):
        """Share of the rows, by their weights, that use each feature."""
        each = np.arange(self.resources.shape[0], dtype=np.int32)[:, None]
        return self._weight_of_buyers(keep, each, len(each)) / self.total_weight

    def _weight_of_buyers(self, keep, bits_of_feature, n):
        """Weight of the rows that buy each of `n` things, which splits on features stand for."""
        bits = np.zeros((self.n_rows, max(1, -(-n // 64))), dtype=np.uint64)
        nodes = self.offsets, self.parent, self.order, self.feature
        keep = np.ascontiguousarray(keep, dtype=np.uint8)
        buy(self.leaf, *nodes, bits_of_feature, keep, bits)
        weight = np.zeros(n)
        bit_sums(bits, self.weight, weight)
        return weight

    def uses(self, nodes):
        """All (node, resource, row) where a row first uses a resource of a tree in a node."""
        parts = []
        rows, first, last = self._runs()
        tree = np.searchsorted(self.offsets, nodes, side="right") - 1
        for j in range(2):
            has = self.needs[nodes, j] >= 0
            h, t = nodes[has], tree[has]
            count = (last[h] - first[h]).astype(np.int64)
            node = np.repeat(h, count)
            within = np.arange(node.shape[0]) - np.repeat(np.cumsum(count) - count, count)
            row = rows[np.repeat(t, count), np.repeat(first[h], count) + within]
            parts.append((node, self.needs[node, j], row))
        return tuple(np.concatenate(column) for column in zip(*parts, strict=True))

    # Rows.

    def acquired(self, leaf, keep):
        """Which features each of some rows uses, from the leaves they end in unpruned."""
        acquired = np.zeros((leaf.shape[0], self.resources.shape[0]), dtype=np.uint8)
        acquired_features(leaf, self.parent, self.feature, keep, acquired)
        return acquired.astype(bool)
