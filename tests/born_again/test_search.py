"""Solving a labelled grid: the tree, its size, and what happens when memory or time ends."""

from math import ceil, log2

import numpy as np
import pytest
from cell_grids import columns_of, forest_grid, labelled, labels_of_tree, random_grid, tree_grid
from hypothesis import given
from hypothesis import strategies as st
from oracles import min_depth, min_leaves, min_leaves_at_min_depth, pareto_front

from ensemble_simplify.born_again.everywhere import _search as search
from ensemble_simplify.born_again.everywhere._grid import Grid
from ensemble_simplify.born_again.everywhere._search import (
    CellTree,
    TooLarge,
    lay_out,
    n_regions,
    solve,
)
from ensemble_simplify.grid import Stopped, limits

OBJECTIVES = ["depth", "leaves", "depth_then_leaves"]


def simplified(labels):
    """Without idle cuts, as the search gets its grids."""
    return labelled(labels).simplified().labels


def check(labels, objective, **options):
    """Solve and check the tree cell by cell; return (depth, leaves)."""
    tree = solve(
        labelled(labels), objective, max_bytes=options.pop("max_bytes", 1e9), **options
    ).tree
    told, depth, leaves = labels_of_tree(*columns_of(tree.nodes), labels.shape)
    np.testing.assert_array_equal(told, labels)
    assert (tree.depth, tree.n_leaves) == (depth, leaves)
    return depth, leaves


def check_optimal(labels, **options):
    depth = min_depth(labels)
    assert check(labels, "depth", **options)[0] == depth
    assert check(labels, "leaves", **options)[1] == min_leaves(labels)
    best = (depth, min_leaves_at_min_depth(labels))
    assert check(labels, "depth_then_leaves", **options) == best


@pytest.mark.parametrize("block", range(6))
def test_optimal(block):
    for seed in range(25 * block, 25 * block + 25):
        check_optimal(simplified(random_grid(seed)))


@given(st.integers(0, 10**6))
def test_optimal_anywhere(seed):
    check_optimal(simplified(random_grid(seed, max_regions=1000, max_axes=5)))


def test_regions_are_counted():
    assert n_regions((2, 3)) == 3 * 6
    assert n_regions(()) == 1
    # beyond 64 bits
    assert n_regions([1000] * 20) == (1000 * 1001 // 2) ** 20


def test_one_cell():
    for objective in OBJECTIVES:
        for labels in (np.full((), 3, dtype=np.uint16), np.full((1, 1), 3, dtype=np.uint16)):
            tree = solve(labelled(labels), objective, max_bytes=0).tree
            assert (tree.depth, tree.n_leaves, tree.nodes.tolist()) == (0, 1, [[-1, 3, 1]])


def least_bytes(labels, objective):
    """Smallest allowance that suffices, by bisection."""
    low, high = 0, 1 << 30
    while high - low > 1:
        middle = (low + high) // 2
        try:
            solve(labelled(labels), objective, max_bytes=middle)
        except TooLarge:
            low = middle
        else:
            high = middle
    return high


@pytest.mark.parametrize("seed", range(12))
def test_layers_overwritten_when_memory_ends(seed):
    """Down to the least that suffices, the answer stays optimal; below it the error says so."""
    rng = np.random.default_rng(seed)
    labels = simplified(forest_grid((4, 4, 5), rng, 6, 3))
    if labels.size == 1:
        pytest.skip("one class")
    best = (min_depth(labels), min_leaves_at_min_depth(labels))
    least = least_bytes(labels, "depth_then_leaves")
    for more in (0, 1, 50, 200, 500, 1000, 2000, 5000, 20_000):
        assert check(labels, "depth_then_leaves", max_bytes=least + more) == best
    with pytest.raises(TooLarge) as caught:
        solve(labelled(labels), "depth_then_leaves", max_bytes=least - 1)
    assert caught.value.n_bytes > least - 1


@pytest.mark.parametrize("seed", range(25))
def test_parts_solved_anew(seed):
    """Noise, where depth is scarce and most layers differ."""
    rng = np.random.default_rng(seed)
    shape = [(5, 5, 3), (7, 8), (3, 3, 3, 2), (2, 9, 3)][seed % 4]
    labels = simplified(rng.integers(0, 2 + seed % 3, shape))
    least = least_bytes(labels, "depth_then_leaves")
    best = (min_depth(labels), min_leaves_at_min_depth(labels))
    for more in (0, 100, 1000):
        assert check(labels, "depth_then_leaves", max_bytes=least + more) == best


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_too_large(objective):
    labels = simplified(np.random.default_rng(0).integers(0, 3, (6, 6, 6)))
    for allowed in (0, 10, 1000):
        with pytest.raises(TooLarge) as caught:
            solve(labelled(labels), objective, max_bytes=allowed)
        assert caught.value.n_bytes > allowed
    least = least_bytes(labels, objective)
    check(labels, objective, max_bytes=least)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_out_of_time(objective):
    labels = np.random.default_rng(0).integers(0, 2, (12, 12, 12, 5)).astype(np.uint16)
    with limits(0.01), pytest.raises(Stopped):
        solve(labelled(labels), objective, max_bytes=1e10)


@pytest.mark.parametrize("n_classes", [100, 126, 127, 128, 200, 253, 254, 255, 256, 257, 300])
def test_many_classes_by_depth(n_classes):
    line = np.random.default_rng(0).permutation(n_classes).astype(np.uint16)[:40]
    line[7] = n_classes - 1
    line = simplified(line)
    assert check(line, "depth")[0] == ceil(log2(len(line)))


@pytest.mark.parametrize("n_classes", [100, 127, 200, 254, 255, 256, 257, 300])
def test_many_classes(n_classes):
    line = np.random.default_rng(0).permutation(n_classes).astype(np.uint16)[:40]
    line[7] = n_classes - 1
    line = simplified(line)
    assert check(line, "leaves")[1] == len(line)
    assert check(line, "depth_then_leaves") == (ceil(log2(len(line))), len(line))


def test_three_hundred_classes_on_a_plane():
    labels = np.arange(300, dtype=np.uint16).reshape(20, 15)
    assert check(labels, "leaves")[1] == 300
    assert check(labels, "depth")[0] == ceil(log2(20)) + ceil(log2(15))


@pytest.mark.parametrize("n", [65, 66, 80])
def test_long_axes(n):
    rng = np.random.default_rng(n)
    line = rng.integers(0, 3, n)
    runs = 1 + int((line[1:] != line[:-1]).sum())
    plane = np.stack([line, np.full(n, 3), line, np.full(n, 1)])
    assert check(simplified(line), "depth_then_leaves") == (ceil(log2(runs)), runs)
    told = check(simplified(plane), "leaves")[1]
    assert told <= 2 * runs + 2


def test_many_axes():
    """Sixteen binary axes: parity of three, and-or of all but the first, which is idle."""
    cells = np.indices((2,) * 16)
    parity = cells[0] ^ cells[7] ^ cells[15]
    assert check(simplified(parity), "depth") == (3, 8)
    chain = np.zeros((2,) * 16, dtype=np.intp)
    for axis in range(16):
        chain = np.where(cells[axis] == 1, axis % 2, chain)
    # read-once: a tree has to ask for every axis on some way down, and has a leaf more than axes
    for objective in OBJECTIVES[1:]:
        assert check(simplified(chain), objective) == (15, 16)


def test_larger_grids_stay_true():
    """Beyond exhaustive search: cell by cell faithful, and the objectives in order."""
    for seed in range(6):
        rng = np.random.default_rng(seed)
        labels = simplified(forest_grid((9, 8, 7, 6), rng, 7, 3))
        depth = check(labels, "depth")[0]
        leaves = check(labels, "leaves")
        both = check(labels, "depth_then_leaves")
        assert both[0] == depth <= leaves[0]
        assert leaves[1] <= both[1]
        # a tree that made the grid bounds what the search finds
    labels = tree_grid((9, 8, 7, 6), np.random.default_rng(1), 5, 3)
    assert check(simplified(labels), "depth")[0] <= 5
    assert check(simplified(labels), "leaves")[1] <= 32


def test_cost_of_the_layout_is_what_max_work_limits():
    for seed in range(20):
        labels = simplified(random_grid(seed))
        if labels.size == 1:
            continue
        programme = lay_out(labels)
        assert 1 <= programme.n_states <= n_regions(labels.shape)
        solution = solve(labelled(labels), "leaves", max_bytes=1e9, max_work=programme.cost)
        assert (solution.n_states, solution.work) == (programme.n_states, programme.cost)
        with pytest.raises(TooLarge):
            solve(
                labelled(labels), "leaves", max_bytes=1e9, max_work=np.nextafter(programme.cost, 0)
            )


def test_joined_trees_and_other_grids():
    left, right = CellTree.leaf(1), CellTree.joined(0, 2, CellTree.leaf(0), CellTree.leaf(2))
    tree = CellTree.joined(1, 0, left, right)
    told, depth, leaves = labels_of_tree(*columns_of(tree.nodes), (4, 2))
    np.testing.assert_array_equal(told, [[1, 0], [1, 0], [1, 0], [1, 2]])
    assert (depth, leaves) == (tree.depth, tree.n_leaves) == (2, 3)
    grid = Grid(np.array([3, 5]), [np.array([10, 20, 30]), np.array([7])], None)
    moved = tree.on_grid(grid)
    assert moved.nodes.tolist() == [[5, 7, 5], [-1, 1, 1], [3, 30, 3], [-1, 0, 1], [-1, 2, 1]]


@pytest.mark.parametrize("seed", range(12))
def test_layers_that_are_not_kept(seed, monkeypatch):
    """The same depth and leaves where every layer overwrites the one below."""
    labels = simplified(random_grid(seed))
    sizes = check(labels, "depth_then_leaves")
    monkeypatch.setattr(search, "LAYER_BYTES", 0)
    assert check(labels, "depth_then_leaves") == sizes


@pytest.mark.parametrize("seed", range(12))
def test_fewest_leaves_within_a_depth(seed):
    labels = simplified(random_grid(seed))
    if labels.size > 1:
        front = dict(pareto_front(labels))
        for depth in range(min(front), max(front) + 2):
            found, leaves = check(labels, "depth_then_leaves", max_depth=depth)
            assert found <= depth
            assert leaves == min(n for d, n in front.items() if d <= depth)
