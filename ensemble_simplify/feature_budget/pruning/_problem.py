"""The optimisation problem of feature-budget pruning.

Keeping the set P of splits of a forest (closed under parents) costs

    loss(P) = loss of the root-only forest  -  sum of gain[h] over P
    cost(P) = mean over rows of the price of the resources that splits of P make the row use

and the pruning wanted minimises ``loss + lam * cost``. `PruningProblem` holds nodes, rows and
prices. Its `closure` is the same problem after contraction, in whole numbers: splits that are free
are merged into their parents, and rows for which the same splits need a resource into one item.

Prices, weights and errors come in units of the user's choice. Where all of them are whole multiples
of a decimal unit (1, 0.01, 1e-9 ...) that unit is found and nothing is rounded, so that sums and
comparisons are exact.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ensemble_simplify.base import product
from ensemble_simplify.feature_budget.pruning._closure_problem import (
    ALWAYS,
    SharedItems,
    best_subtrees,
    bit_sums,
    buy,
    contract,
    drop_idle,
    extend_free,
    group_rows,
    needed_resources,
    node_sums,
    paid_items,
    stopping_nodes,
)
from ensemble_simplify.grid import time_left, walk

# Seconds that a row takes in a node where it first needs a resource: to state what is shared, and
# for one cut. Neither is interrupted.
USE_SECONDS = 1.5e-7

# Numbers without a decimal unit are rounded to this share of their total. Prices may differ by many
# powers of ten: they take as many bits as their sums over all nodes leave.
_RESOLUTION = 2.0**50
_PRICE_RESOLUTION = 2.0**60

# Two prices that differ by this share are one.
_EQUAL = 1e-12

# Digits, from the first of the largest number on, after which no decimal unit is looked for.
_MAX_DIGITS = 13

# The largest power of ten that is a number.
_MAX_EXPONENT = 308


@dataclass(frozen=True, eq=False)
class Closure:
    """Trees of nodes; a set that holds each node's parent earns gains and pays prices."""

    parent: np.ndarray  # int32, -1 at roots; parents come before their children
    gain: np.ndarray  # int64
    own: np.ndarray  # int64: what a node pays by itself
    start: np.ndarray  # int64: node `v` needs the shared items items[start[v]:start[v + 1]]
    items: np.ndarray  # int32
    price: np.ndarray  # int64, of an item: paid once, however many nodes of the set need it
    active: np.ndarray  # uint8: the smallest set of largest gain

    @property
    def n_nodes(self):
        """Number of nodes."""
        return self.parent.shape[0]

    @property
    def nodes_and_items(self):
        """The arrays but `active`, as kernels take them."""
        return self.parent, self.gain, self.own, self.start, self.items, self.price

    @property
    def arc_node(self) -> np.ndarray:
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

    def cost(self, chosen) -> int:
        """What a set of nodes pays."""
        return int(self.own[chosen].sum() + self.price[self.paid(chosen)].sum())

    def nested_costs(self, last, n_sets, amounts=None):
        """What nested sets pay: set `k` holds the nodes with ``last >= k``.

        `amounts` are what nodes and items cost. None: the whole numbers of the closure.
        """
        own, price = (self.own, self.price) if amounts is None else amounts
        kept = last >= 0
        last_of_item = np.full(self.price.shape[0], -1, dtype=last.dtype)
        np.maximum.at(last_of_item, self.items, last[self.arc_node])
        amount = np.concatenate([own[kept], price])
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

    Nodes are as in `Forest`, `nodes` as of `parents_and_order`, `leaf` (int32, rows by trees) has
    the leaf of each row in each tree, `weight` the weights of the rows in the cost, and prices are
    as in `Prices`. ``unit * loss_of_node`` is what each node adds to the loss when it is a leaf.

    Kept are `split` (uint8: 1 at splits), `parent` (-1 at roots), `order` (the nodes tree by tree
    in pre-order), `needs` (two resources that a split is the first on its path to use; -1: none),
    `gain` (what splitting saves, times ``gain_scale / unit``), the `closure` after contraction,
    `has_costs`: whether that knows what nodes pay, and `cost_error`: how far its whole numbers are
    from the cost of any set.
    """

    def __init__(self, forest, nodes, source, leaf, weight, loss_of_node, unit, prices):
        left, right, n_nodes = forest.left, forest.right, forest.n_nodes
        self.n_rows, self.n_trees = leaf.shape
        self.offsets, self.leaf = forest.offsets, leaf
        self.feature = feature = np.where(left >= 0, source[forest.feature], -1)
        self.prices = np.ascontiguousarray(prices.price, dtype=np.float64)
        self.resources = np.ascontiguousarray(prices.resources, dtype=np.int32)
        self.weight = np.ascontiguousarray(weight, dtype=np.float64)
        self.total_weight = self.weight.sum()
        self.unit, self.loss_of_node = unit, loss_of_node
        self.split = np.ascontiguousarray(left >= 0, dtype=np.uint8)
        self.parent, self.order = nodes

        inner = self.split.astype(bool)
        gain = np.zeros(n_nodes)
        gain[inner] = loss_of_node[inner] - loss_of_node[left[inner]] - loss_of_node[right[inner]]
        self.gain_scale, self.gain = to_integers(gain)
        self.needs = np.empty((n_nodes, 2), dtype=np.int32)
        needed_resources(self.parent, self.order, feature, self.resources, self.needs)
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
        own_price = np.zeros(n)
        needing = (self.representative >= 0)[:, None] & (self.needs >= 0)
        n_uses = product(needing.sum(axis=1) * 1.0, self._node_sums(np.ones(self.n_rows)))
        # What is shared is left out where stating it would outlast the limit of time.
        self.has_costs = USE_SECONDS * n_uses < time_left()
        if not self.has_costs:
            self.cost_unit = price_unit / self.total_weight
            self.cost_error = 0.0
            nothing = np.empty(0, dtype=np.int32), np.empty(0, dtype=np.int64)
            start = np.zeros(n + 1, dtype=np.int64)
            return Closure(parent, gain, np.zeros(n, dtype=np.int64), start, *nothing, active)
        runs = self._runs()
        shared = SharedItems(
            *runs, self.offsets, self.needs, self.representative, self.weight, prices, own_price
        )
        start = np.empty(n + 1, dtype=np.int64)
        items = np.empty(shared.n_arcs, dtype=np.int32)
        price = np.empty(shared.n_items)
        shared.read(start, items, price)
        amounts = np.append(own_price, price)
        in_all = amounts @ np.append(np.ones(n), np.bincount(items, minlength=len(price)))
        resolution = _PRICE_RESOLUTION * (amounts.sum() / in_all if in_all else 1.0)
        scale, whole = to_integers(amounts, resolution=resolution)
        # What has a price is never free.
        whole = np.maximum(whole, amounts > 0)
        self._unit = price_unit / self.total_weight
        self.cost_unit = self._unit / scale
        off = np.abs(whole / scale - amounts)
        self.cost_error = self._unit * float(off[off > _EQUAL * amounts].sum())
        self._amounts = amounts[:n], amounts[n:]
        return Closure(parent, gain, whole[:n], start, items, whole[n:], active)

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
    def unpruned_cost(self):
        """The cost of all splits."""
        return self.cost(self.split)

    # Sets of contracted nodes and of splits.

    def nested_costs(self, last, n_sets):
        """As `nested_costs` of the closure, but mean costs, and not rounded."""
        return self._unit * self.closure.nested_costs(last, n_sets, self._amounts)

    def cost_of(self, chosen):
        """What a set of contracted nodes costs, not rounded."""
        return self.nested_costs(np.where(chosen, 0, -1), 1)[0]

    def expand(self, chosen, ties="keep"):
        """Splits kept by a set of contracted nodes, as uint8 of shape (n_nodes,).

        With ``ties="prune"``, subtrees that gain nothing become leaves.
        """
        # ALWAYS (-2) and NEVER (-1) take the last two entries.
        kept = np.append(np.asarray(chosen, dtype=np.uint8), np.array([1, 0], dtype=np.uint8))
        keep = kept[self.representative]
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
        weight = np.zeros(n)
        bit_sums(self._bits(self.leaf, keep, bits_of_feature, n), self.weight, weight)
        return weight

    def _bits(self, leaf, keep, bits_of_feature, n):
        """Which of `n` things rows buy that end in some leaves, as bits."""
        bits = np.zeros((len(leaf), max(1, -(-n // 64))), dtype=np.uint64)
        nodes = self.offsets, self.parent, self.order, self.feature
        buy(leaf, *nodes, bits_of_feature, np.ascontiguousarray(keep, dtype=np.uint8), bits)
        return bits

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
        each = np.arange(len(self.resources), dtype=np.int32)[:, None]
        bits = self._bits(leaf, keep, each, len(each)).view(np.uint8)
        return np.unpackbits(bits, axis=1, count=len(each), bitorder="little").astype(bool)


def parents_and_order(offsets, left, right):
    """Parents (-1 at roots) and an order of the nodes: tree by tree, each in pre-order.

    Nodes that no root reaches (a tree cut back by hand may hold some) come last in their tree.
    """
    parent, inner = np.full(len(left), -1, dtype=np.intp), np.flatnonzero(left >= 0)
    parent[left[inner]] = parent[right[inner]] = inner
    reached = walk(left, right, offsets[:-1])
    order = np.append(reached, np.delete(np.arange(len(left)), reached))
    tree = np.searchsorted(offsets, order, side="right")
    return parent, order[np.argsort(tree, kind="stable")]


def node_losses(forest, nodes, leaf, target, weight, counted, *, loss, labels):
    """Loss of every node as a leaf, its unit, and the node values of the pruned trees.

    The loss of a pruning is ``unit`` times the sum of its leaves' losses. `leaf` and `counted` are
    of shape (n_rows, n_trees): the leaf of each row, and a mask of the rows on which each tree is
    judged (empty: all). `labels` says whether nodes keep the values of the forest, or get those of
    the rows. O(n_rows * n_trees + n_nodes), times the number of classes.
    """
    regression = forest.classes is None

    def sums(values, rows):
        out = np.zeros((forest.n_nodes, values.shape[1]))
        node_sums(leaf, np.ascontiguousarray(values), rows, *nodes, out)
        return out

    every = np.empty((0, 0), dtype=np.uint8)
    value = forest.value
    if regression:
        # Moments about the mean target: no digits are lost to its size.
        middle = float(np.average(target, weights=weight))
        centred = target - middle
        moments = np.column_stack([weight, weight * centred, weight * centred**2])
    else:
        moments = weight[:, None] * (target[:, None] == np.arange(forest.n_classes))
    if labels == "sample":
        total = sums(moments, every)
        value = value.copy()
        if regression:
            seen = total[:, 0] > 0
            value[seen, 0] = middle + total[seen, 1] / total[seen, 0]
        else:
            seen = total.sum(axis=1) > 0
            value[seen] = total[seen] / total[seen].sum(axis=1, keepdims=True)
    judged = sums(moments, counted)
    if regression:
        v = value[:, 0] - middle
        with np.errstate(over="ignore", invalid="ignore"):
            losses = judged[:, 2] - 2 * v * judged[:, 1] + v**2 * judged[:, 0]
        losses = np.maximum(losses, 0.0)
        mass = judged[:, 0]
    else:
        mass = judged.sum(axis=1)
        if loss == "error":
            losses = mass - judged[np.arange(len(judged)), value.argmax(axis=1)]
        elif loss == "gini":
            squares = np.square(value).sum(axis=1)
            losses = mass * (1.0 + squares) - 2.0 * (judged * value).sum(axis=1)
        else:
            floor = np.finfo(np.float64).eps
            losses = -(judged * np.log(np.clip(value, floor, 1.0))).sum(axis=1)
    if not np.isfinite(losses).all():
        raise ValueError(
            f"loss={loss!r} is not finite on these rows: values of the ensemble, or the targets, "
            "are too large. Scale the targets."
        )
    tree_mass = mass[forest.offsets[:-1]]
    if (tree_mass <= 0).any():
        t = int(np.argmin(tree_mass))
        raise ValueError(
            f"Tree {t} has no {'out-of-bag ' if counted.size else ''}row of positive weight "
            "to be judged on. Give more rows, or use errors='given'."
        )
    if counted.size:
        losses = losses / np.repeat(tree_mass, np.diff(forest.offsets))
        return losses, 1.0 / forest.n_trees, value
    return losses, 1.0 / (forest.n_trees * weight.sum()), value


# ------------------------------------------------------------ whole numbers


def to_integers(*arrays, resolution=_RESOLUTION):
    """A factor, and arrays times it, rounded to int64: exactly where a decimal unit allows it."""
    values = np.concatenate([np.ravel(a) for a in arrays]).astype(np.float64)
    scale = _decimal_scale(values, resolution)
    if scale is None:
        scale = resolution / np.abs(values).sum()
    return scale, *(np.rint(np.asarray(a) * scale).astype(np.int64) for a in arrays)


def in_units(values):
    """A unit, and numbers as multiples of it: whole ones where a decimal unit allows it.

    The numbers are not negative, and not all zero; the multiples are float64.
    """
    scale = _decimal_scale(values)
    if scale is None:
        unit = float(values.max())
        return unit, values / unit
    return 1.0 / scale, np.rint(values * scale)


def _decimal_scale(values, resolution=_RESOLUTION):
    """The smallest factor, a power of ten over a whole number, to make values whole; or None."""
    largest = np.abs(values).max(initial=0.0)
    if largest == 0:
        return 1.0
    first = -int(np.floor(np.log10(largest)))
    some = values[:: max(1, len(values) // 64)]
    total = np.abs(values).sum()
    for digits in range(first, min(first + _MAX_DIGITS, _MAX_EXPONENT + 1)):
        if total * 10.0**digits > resolution:
            return None
        if _are_whole(some * 10.0**digits) and _are_whole(values * 10.0**digits):
            whole = np.abs(np.rint(values * 10.0**digits)).astype(np.int64)
            return 10.0**digits / float(np.gcd.reduce(whole))
    return None


def _are_whole(values):
    """Whether numbers are whole, to rounding."""
    return np.all(np.abs(values - np.rint(values)) <= np.minimum(_EQUAL * np.abs(values), 1e-3))
