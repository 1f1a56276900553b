"""Weakest-link pruning: against every pruning there is, scikit-learn, and a plain heap."""

import numpy as np
import pytest
from ensemble_simplify.grid._regions import with_sizes
from ensemble_simplify.writing._cost_complexity import sums_on_path, weakest_links
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from ensemble_simplify.grid.tree_nodes import preorder


def random_tree(rng, n_splits):
    """Nodes in pre-order of a random tree."""
    axis, stack = [], [n_splits]
    while stack:
        n = stack.pop()
        axis.append(0 if n else -1)
        if n:
            n_left = int(rng.integers(0, n))
            stack += [n - 1 - n_left, n_left]
    nodes = np.zeros((len(axis), 3), dtype=np.int32)
    nodes[:, 0] = axis
    return with_sizes(nodes)


def children(nodes, i):
    return i + 1, i + 1 + nodes[i + 1, 2]


def prunings(nodes, i=0):
    """Every pruning of a branch, as a set of leaves."""
    yield frozenset([i])
    if nodes[i, 2] > 1:
        left, right = children(nodes, i)
        for a in prunings(nodes, left):
            for b in prunings(nodes, right):
                yield a | b


def leaves_of(nodes, is_split, i=0):
    if not is_split[i]:
        return frozenset([i])
    left, right = children(nodes, i)
    return leaves_of(nodes, is_split, left) | leaves_of(nodes, is_split, right)


@given(
    seed=st.integers(0, 2**32),
    n_splits=st.integers(0, 7),
    scale=st.sampled_from([1e-200, 8.0, 1e9]),
)
def test_path_against_all_prunings(seed, n_splits, scale):
    """Costs of few values, so that there are ties, branches that cost more than their root too."""
    rng = np.random.default_rng(seed)
    nodes = random_tree(rng, n_splits)
    cost = rng.integers(0, 6, len(nodes)) * scale
    pruned_at, price, n_leaves, costs = weakest_links(nodes, cost)
    values = rng.random((len(nodes), 2))
    sums = sums_on_path(nodes, pruned_at, values)
    everything = [(sum(cost[list(s)]), len(s), s) for s in prunings(nodes)]

    assert price.size == n_leaves.size == costs.size == len(sums)
    assert n_leaves[0] == (len(nodes) + 1) // 2
    assert n_leaves[-1] == 1
    assert (np.diff(n_leaves) < 0).all()
    assert (np.diff(price[price > -np.inf]) > 0).all()
    assert 0.0 in price[:2]
    for k in range(price.size):
        leaves = leaves_of(nodes, pruned_at > k)
        assert len(leaves) == n_leaves[k]
        assert costs[k] == pytest.approx(cost[list(leaves)].sum(), abs=1e-9 * scale)
        np.testing.assert_allclose(sums[k], values[list(leaves)].sum(axis=0), atol=1e-12)
        if price[k] == -np.inf:
            continue
        # at its own price the smallest of the best; just before the next the only best
        best = min(c + price[k] * n for c, n, _ in everything)
        tied = [s for c, n, s in everything if c + price[k] * n <= best + 1e-9 * scale]
        assert leaves == min(tied, key=len)
        if k + 1 < price.size:
            between = (price[k] + price[k + 1]) / 2
            best = min(c + between * n for c, n, _ in everything)
            assert costs[k] + between * n_leaves[k] == pytest.approx(best, abs=1e-9 * scale)
    if price[0] == -np.inf:  # some pruning is as good at no price
        assert min(c for c, n, _ in everything if n < n_leaves[0]) <= costs[0]


@pytest.mark.parametrize("regression", [False, True])
def test_path_against_scikit_learn(regression):
    X, y = (load_diabetes if regression else load_breast_cancer)(return_X_y=True)
    tree = (DecisionTreeRegressor if regression else DecisionTreeClassifier)(random_state=0)
    expected = tree.cost_complexity_pruning_path(X, y)
    tree = tree.fit(X, y).tree_
    shape, order = preorder(tree.children_left, tree.children_right, tree.feature, tree.threshold)
    nodes = np.zeros((tree.node_count, 3), dtype=np.int32)
    nodes[:, 0] = shape.feature
    weight = tree.weighted_n_node_samples / tree.weighted_n_node_samples[0]
    cost = (tree.impurity * weight)[order]
    _, price, _, costs = weakest_links(with_sizes(nodes), cost)
    # scikit-learn does not join what rounding sets apart
    alphas, impurities = expected.ccp_alphas, expected.impurities
    last = np.append(np.diff(alphas) > 1e-9 * cost[0], True)
    np.testing.assert_allclose(price, np.maximum(alphas[last], 0), atol=1e-9 * cost[0])
    np.testing.assert_allclose(costs, impurities[last], atol=1e-9 * cost[0])


def pruned_step_by_step(nodes, cost):
    """Prune the weakest split, look at all again, and so on."""
    is_split = nodes[:, 2] > 1
    prices = []
    while is_split[0]:
        below, leaves = cost.copy(), np.ones(len(nodes))
        link = np.full(len(nodes), np.inf)
        for i in np.flatnonzero(is_split)[::-1]:
            left, right = children(nodes, i)
            below[i], leaves[i] = below[left] + below[right], leaves[left] + leaves[right]
            link[i] = (cost[i] - below[i]) / (leaves[i] - 1)
        i = int(link.argmin())
        prices.append(link[i])
        is_split[i : i + nodes[i, 2]] = False
    return np.array(prices)


@given(seed=st.integers(0, 2**32))
def test_prices_of_larger_trees(seed):
    rng = np.random.default_rng(seed)
    nodes = random_tree(rng, 60)
    cost = rng.random(len(nodes))
    cost[nodes[:, 2] > 1] *= 8
    _, price, _, _ = weakest_links(nodes, cost)
    expected = pruned_step_by_step(nodes, cost)
    assert (np.diff(expected) > -1e-12).all()
    np.testing.assert_allclose(price[price > 0], np.unique(expected[expected > 0].round(12)))


@pytest.mark.parametrize("to_the_left", [True, False])
def test_a_deep_chain(to_the_left):
    """A thousand times deeper than trees are; the weakest link is at the end."""
    n_splits = 100_000
    nodes = np.zeros((2 * n_splits + 1, 3), dtype=np.int32)
    nodes[:, 0] = -1
    nodes[: n_splits if to_the_left else -1 : 1 if to_the_left else 2, 0] = 0
    with_sizes(nodes)
    depth = np.zeros(len(nodes))
    depth[nodes[:, 0] >= 0] = np.arange(n_splits)[::1]
    cost = np.where(nodes[:, 0] >= 0, (n_splits - depth) ** 2.0, 0.0)
    _, price, n_leaves, _ = weakest_links(nodes, cost)
    assert n_leaves.tolist() == list(range(n_splits + 1, 0, -1))
    np.testing.assert_allclose(price[1:], 2 * np.arange(1.0, n_splits + 1) - 1)


def test_a_root_alone():
    nodes = np.array([[-1, 0, 1]], dtype=np.int32)
    pruned_at, price, n_leaves, costs = weakest_links(nodes, np.array([0.25]))
    assert pruned_at.tolist() == [0]
    assert (price.tolist(), n_leaves.tolist(), costs.tolist()) == ([0.0], [1], [0.25])


def test_costs_must_be_finite():
    nodes = with_sizes(np.array([[0, 0, 0], [-1, 0, 0], [-1, 0, 0]], dtype=np.int32))
    with pytest.raises(ValueError, match="not finite"):
        weakest_links(nodes, np.array([1.0, np.nan, 0.0]))
