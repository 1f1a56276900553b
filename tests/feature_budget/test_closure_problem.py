"""The arrays of the pruning problem against one-line definitions on random forests."""

from typing import NamedTuple

import numpy as np
from ensemble_simplify.feature_budget.pruning._closure_problem import (
    ALWAYS,
    NEVER,
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
    stopping_nodes,
)
from hypothesis import given
from hypothesis import strategies as st

from ensemble_simplify.feature_budget.pruning._problem import parents_and_order

seeds = st.integers(0, 10**6)
N_FEATURES = 4


class Case(NamedTuple):
    """A random forest as arrays, with rows in its leaves."""

    rng: np.random.Generator
    offsets: np.ndarray
    left: np.ndarray
    right: np.ndarray
    feature: np.ndarray
    parent: np.ndarray
    order: np.ndarray
    leaf: np.ndarray
    resources: np.ndarray

    @property
    def n_nodes(self):
        return len(self.left)

    def ancestors(self, node):
        """Nodes above a node, from its parent to the root."""
        above = np.flatnonzero((self.left == node) | (self.right == node))
        return [] if not above.size else [int(above[0]), *self.ancestors(above[0])]

    def below(self, node):
        """A node and all its descendants."""
        if self.left[node] < 0:
            return [node]
        return [node, *self.below(self.left[node]), *self.below(self.right[node])]


def case(seed, n_rows=12):
    """Trees whose nodes are numbered at random, but for the root, and perhaps not all reached."""
    rng = np.random.default_rng(seed)
    offsets, left, right, feature, leaf = [0], [], [], [], []
    for _ in range(rng.integers(1, 4)):
        begin = offsets[-1]
        children, leaves = {0: None}, [0]
        for _ in range(rng.integers(5)):
            node = leaves.pop(rng.integers(len(leaves)))
            children[node] = (len(children), len(children) + 1)
            children |= dict.fromkeys(children[node])
            leaves += children[node]
        n = len(children) + 2 * int(rng.random() < 0.3)  # two nodes that nothing reaches
        number = np.concatenate([[0], 1 + rng.permutation(n - 1)]) + begin
        own = np.full((3, n), -1)
        for node, pair in children.items():
            if pair:
                at = number[node] - begin
                own[:, at] = number[pair[0]], number[pair[1]], rng.integers(N_FEATURES)
        left, right, feature = [*left, *own[0]], [*right, *own[1]], [*feature, *own[2]]
        leaf.append(rng.choice(number[leaves], size=n_rows))
        offsets.append(begin + n)
    arrays = [np.array(a, dtype=np.intp) for a in (offsets, left, right, feature)]
    parent, order = parents_and_order(*arrays[:3])
    resources = np.full((N_FEATURES, 2), -1, dtype=np.int32)
    resources[:, 0] = np.where(rng.random(N_FEATURES) < 0.7, np.arange(N_FEATURES), -1)
    resources[:2, 1] = N_FEATURES
    leaf = np.array(leaf, dtype=np.int32).T
    return Case(rng, *arrays, parent, order, leaf, resources)


def closed(case):
    """A random set of splits that holds the parents of its members."""
    keep = np.zeros(case.n_nodes, dtype=np.uint8)
    for node in case.order:
        above = case.parent[node]
        if case.left[node] >= 0 and (above < 0 or keep[above]):
            keep[node] = case.rng.random() < 0.7
    return keep


def needs_of(case):
    needs = np.full((case.n_nodes, 2), -9, dtype=np.int32)
    needed_resources(case.parent, case.order, case.feature, case.resources, needs)
    return needs


@given(seeds)
def test_parents_and_order(seed):
    c = case(seed)
    for node in range(c.n_nodes):
        assert c.parent[node] == next(iter(c.ancestors(node)), -1)
    assert sorted(c.order) == list(range(c.n_nodes))
    place = np.argsort(c.order)
    has = np.flatnonzero(c.parent >= 0)
    assert (place[c.parent[has]] < place[has]).all()
    for begin, end in zip(c.offsets[:-1], c.offsets[1:], strict=True):
        assert c.order[begin] == begin
        assert set(c.order[begin:end]) == set(range(begin, end))
        reached = c.below(begin)
        assert list(c.order[begin : begin + len(reached)]) == reached


@given(seeds)
def test_rows_of_every_node(seed):
    c = case(seed)
    n_rows, n_trees = c.leaf.shape
    rows = np.full((n_trees, n_rows), -1, dtype=np.int32)
    first, last = (np.full(c.n_nodes, -9, dtype=np.int32) for _ in range(2))
    group_rows(c.leaf, c.parent, c.order, c.offsets, rows, first, last)
    values = np.ascontiguousarray(c.rng.normal(size=(n_rows, 3)))
    counted = (c.rng.random((n_rows, n_trees)) < 0.6).astype(np.uint8)
    every, some = np.zeros((c.n_nodes, 3)), np.zeros((c.n_nodes, 3))
    nothing = np.empty((0, 0), dtype=np.uint8)
    node_sums(c.leaf, values, nothing, c.parent, c.order, every)
    node_sums(c.leaf, values, counted, c.parent, c.order, some)
    for t in range(n_trees):
        for node in range(c.offsets[t], c.offsets[t + 1]):
            inside = np.isin(c.leaf[:, t], c.below(node))
            assert set(rows[t, first[node] : last[node]]) == set(np.flatnonzero(inside))
            assert last[node] - first[node] == inside.sum()
            np.testing.assert_allclose(every[node], values[inside].sum(axis=0), atol=1e-12)
            inside &= counted[:, t] > 0
            np.testing.assert_allclose(some[node], values[inside].sum(axis=0), atol=1e-12)


@given(seeds)
def test_a_path_needs_a_resource_once(seed):
    c = case(seed)
    needs = needs_of(c)
    for node in range(c.n_nodes):
        for j in range(2):
            own = c.resources[c.feature[node], j] if c.feature[node] >= 0 else -1
            above = {c.resources[c.feature[up], j] for up in c.ancestors(node)}
            assert needs[node, j] == (-1 if own in above else own)


@given(seeds)
def test_stops(seed):
    c = case(seed)
    keep = closed(c)
    stop = np.full(c.n_nodes, -9, dtype=np.int32)
    stopping_nodes(c.parent, c.order, keep, stop)
    for node in range(c.n_nodes):
        path = [*c.ancestors(node)[::-1], node]
        assert stop[node] == next((h for h in path if not keep[h]), node)


@given(seeds)
def test_what_rows_buy(seed):
    """In bits, of 150 features."""
    c = case(seed)
    keep = closed(c)
    n_rows = len(c.leaf)
    number = c.rng.permutation(150)[:N_FEATURES].astype(np.int32)[:, None]
    weight = c.rng.integers(0, 3, n_rows).astype(float)
    bought = np.zeros((n_rows, 150), dtype=bool)
    for row, leaves in enumerate(c.leaf):
        for h in (h for leaf in leaves for h in c.ancestors(leaf)):
            bought[row, number[c.feature[h]]] |= keep[h] > 0
    bits = np.zeros((n_rows, 3), dtype=np.uint64)
    buy(c.leaf, c.offsets, c.parent, c.order, c.feature, number, keep, bits)
    shown = np.unpackbits(bits.view(np.uint8), axis=1, bitorder="little")
    np.testing.assert_array_equal(shown[:, :150], bought)
    sums = np.zeros(150)
    bit_sums(bits, weight, sums)
    np.testing.assert_array_equal(sums, weight @ bought)


@given(seeds)
def test_idle_subtrees_go(seed):
    """Of an optimal set what stays is optimal, and every part of it gains."""
    c = case(seed)
    keep = closed(c)
    gain = c.rng.integers(-1, 3, c.n_nodes)

    def worth(node):
        return sum(gain[h] for h in c.below(node) if keep[h])

    # Make it optimal first: nothing that is kept loses.
    for node in c.order[::-1]:
        if keep[node] and worth(node) < 0:
            keep[c.below(node)] = 0
    before, total = keep.copy(), gain[keep > 0].sum()
    drop_idle(c.parent, c.order, gain, keep)
    assert gain[keep > 0].sum() == total
    assert (keep <= before).all()
    for node in np.flatnonzero(keep):
        assert worth(node) > 0
        assert c.parent[node] < 0 or keep[c.parent[node]]


@given(seeds)
def test_contracted_prunings_are_all_that_can_be_optimal(seed):
    """By enumeration: the largest ``gain - lam * cost`` over closed sets, at several prices."""
    c = case(seed, n_rows=6)
    n_rows, n_trees = c.leaf.shape
    splits = np.flatnonzero(c.left >= 0)
    if len(splits) > 9:
        return
    needs = needs_of(c)
    gain = c.rng.integers(-2, 4, c.n_nodes) * (c.left >= 0)
    representative = np.full(c.n_nodes, -9, dtype=np.int32)
    parent = np.full(c.n_nodes, -9, dtype=np.int32)
    c_gain = np.zeros(c.n_nodes, dtype=np.int64)
    split = (c.left >= 0).astype(np.uint8)
    n = contract(c.parent, c.order, needs, gain, split, representative, parent, c_gain)
    parent, c_gain, active = parent[:n], c_gain[:n], np.empty(n, dtype=np.uint8)
    best_subtrees(parent, c_gain, active)
    rows = np.empty((n_trees, n_rows), dtype=np.int32)
    first, last = (np.empty(c.n_nodes, dtype=np.int32) for _ in range(2))
    group_rows(c.leaf, c.parent, c.order, c.offsets, rows, first, last)
    weight, prices = c.rng.integers(1, 4, n_rows) * 1.0, c.rng.integers(1, 5, 5) * 1.0
    own = np.zeros(n)
    items = SharedItems(rows, first, last, c.offsets, needs, representative, weight, prices, own)
    start, item = np.empty(n + 1, dtype=np.int64), np.empty(items.n_arcs, dtype=np.int32)
    price = np.empty(items.n_items)
    items.read(start, item, price)

    def cost(keep):
        """What the rows pay for a closed set of splits: a resource once a row."""
        total = 0.0
        for row, leaves in enumerate(c.leaf):
            on_path = [h for leaf in leaves for h in c.ancestors(leaf) if keep[h]]
            paid = {r for h in on_path for r in c.resources[c.feature[h]] if r >= 0}
            total += weight[row] * sum(prices[r] for r in paid)
        return total

    always = gain[representative == ALWAYS].sum()
    contracted = []
    for code in range(1 << n):
        chosen = np.array([code >> v & 1 for v in range(n)], dtype=bool)
        if any(chosen[v] and parent[v] >= 0 and not chosen[parent[v]] for v in range(n)):
            continue
        used = {w for v in np.flatnonzero(chosen) for w in item[start[v] : start[v + 1]]}
        paid = own[chosen].sum() + sum(price[w] for w in used)
        keep = np.array([r == ALWAYS or (r >= 0 and chosen[r]) for r in representative])
        assert paid == cost(keep)  # the problem after contraction has the costs of the rows
        assert always + c_gain[chosen].sum() == gain[keep].sum()
        contracted.append((always + c_gain[chosen].sum(), paid))
    everything = []
    for code in range(1 << len(splits)):
        keep = np.zeros(c.n_nodes, dtype=bool)
        keep[splits] = [code >> k & 1 for k in range(len(splits))]
        if all(c.parent[h] < 0 or keep[c.parent[h]] for h in splits if keep[h]):
            everything.append((gain[keep].sum(), cost(keep)))
    for lam in (0.0, 0.05, 0.3, 1.0, 10.0):
        best = [max(g - lam * p for g, p in sets) for sets in (contracted, everything)]
        assert np.isclose(*best)
    assert (representative[c.left < 0] == NEVER).all()
    assert c_gain[active[:n] > 0].sum() + always == max(g for g, _ in everything)


@given(seeds)
def test_best_subtrees_by_enumeration(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 9))
    parent = np.array([rng.integers(-1, v) if v else -1 for v in range(n)], dtype=np.int32)
    worth = rng.integers(-3, 4, n)
    keep = np.full(n, 9, dtype=np.uint8)
    total = best_subtrees(parent, worth, keep)
    sums = {}
    for code in range(1 << n):
        chosen = np.array([code >> v & 1 for v in range(n)], dtype=bool)
        if all(parent[v] < 0 or chosen[parent[v]] for v in np.flatnonzero(chosen)):
            sums.setdefault(worth[chosen].sum(), []).append(chosen.sum())
    assert total == max(sums) == worth[keep > 0].sum()
    assert keep.sum() == min(sums[total])  # the smallest of the best sets


@given(seeds)
def test_free_nodes_stay_as_long_as_parents_and_payers(seed):
    rng = np.random.default_rng(seed)
    n, n_items = int(rng.integers(1, 8)), int(rng.integers(0, 4))
    parent = np.array([rng.integers(-1, v) if v else -1 for v in range(n)], dtype=np.int32)
    gain, own = rng.integers(0, 2, n), rng.integers(0, 2, n) * (rng.random(n) < 0.3)
    uses = [np.flatnonzero(rng.random(n_items) < 0.4) for _ in range(n)]
    start = np.cumsum([0, *map(len, uses)]).astype(np.int64)
    items = np.concatenate([*uses, []]).astype(np.int32)
    price = rng.integers(0, 2, n_items)
    until = rng.integers(-1, 4, n).astype(np.int32)
    for v in range(n):  # nested prunings: no node outlives its parent
        until[v] = min(until[v], until[parent[v]]) if parent[v] >= 0 else until[v]
    before = until.copy()
    last = np.full(n_items, -9, dtype=np.int32)
    extend_free(parent, gain, own.astype(np.int64), start, items, price, last, until)
    for w in range(n_items):
        assert last[w] == max([before[v] for v in range(n) if w in uses[v]], default=-1)
    for v in range(n):
        limits = [until[parent[v]]] if parent[v] >= 0 else []
        limits += [last[w] for w in uses[v] if price[w] > 0]
        free = gain[v] == 0 and own[v] == 0
        expected = max(before[v], min(limits, default=2**31 - 1)) if free else before[v]
        assert until[v] == expected
