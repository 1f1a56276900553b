"""Trees for rows and their lines, against dynamic programming over all boxes of cells."""

from itertools import combinations

import numpy as np
import pytest
from cell_grids import random_grid
from ensemble_simplify.born_again.near._line_trees import LineTrees
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import FREE, min_leaves

from ensemble_simplify.born_again.near._line_search import leaves_beside_cuts, row_weights
from ensemble_simplify.born_again.near._path_trees import Front, Prunings
from ensemble_simplify.grid import limits
from ensemble_simplify.grid.axes import children
from ensemble_simplify.proof.near_rows import Lines, Neighbourhood

TINY = 1e-7


class GridLines(Lines):
    """Lines of a table of classes."""

    def __init__(self, grid):
        self.grid = grid
        self.n_classes = int(grid.max()) + 1
        self.first = np.concatenate([[0], np.cumsum(grid.shape)]).astype(np.intp)

    def labels(self, cells, from_axis=None):
        parts = []
        for a in range(self.grid.ndim):
            walked = np.repeat(cells[:, None], self.grid.shape[a], axis=1)
            walked[:, :, a] = np.arange(self.grid.shape[a])
            parts.append(self.grid[tuple(np.moveaxis(walked, -1, 0))])
        return np.concatenate(parts, axis=1).astype(np.uint16)

    def classes_of(self, cells, to_end=False):
        return self.grid[tuple(cells.T)]


def problem(seed, max_changes, max_regions=500):
    """A neighbourhood of a few cells of a small grid, and the grid with other cells free."""
    grid = random_grid(seed, max_regions=max_regions)
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 1 + min(12, grid.size)))
    cells = np.column_stack(np.unravel_index(rng.integers(grid.size, size=n), grid.shape))
    near = Neighbourhood.of(GridLines(grid), cells.astype(np.int32), max_changes)
    known = np.full(grid.shape, FREE)
    for cell in near.cells:
        for a in range(grid.ndim) if max_changes else ():
            index = (*cell[:a], slice(None), *cell[a + 1 :])
            known[index] = grid[index]
        known[tuple(cell)] = grid[tuple(cell)]
    return grid, near, known


def kernel(grid, near, share=0.5, seed=0):
    return LineTrees(
        np.array(grid.shape, dtype=np.intp), int(grid.max()) + 1, near.cells, near.labels,
        row_weights(near, share), near.own_first, near.own_last, near.own_joined, near.runs, seed,
    )  # fmt: skip


def answers(nodes, shape):
    """Class of every cell of a grid, by walking down."""
    told = np.empty(shape, dtype=int)
    _, right = children(nodes)
    for cell in np.ndindex(*shape):
        at = 0
        while nodes[at, 0] >= 0:
            at = at + 1 if cell[nodes[at, 0]] <= nodes[at, 1] else right[at]
        told[cell] = nodes[at, 1]
    return told


def wrong_points(near, grid, told):
    """Promised points that a tree gets wrong: rows, rows by count, and others with their axis."""
    rows = [i for i, cell in enumerate(near.cells) if told[tuple(cell)] != grid[tuple(cell)]]
    others = []
    for cell in near.cells if near.max_changes else ():
        for a in range(grid.ndim):
            for value in range(grid.shape[a]):
                other = (*cell[:a], value, *cell[a + 1 :])
                if value != cell[a] and told[other] != grid[other]:
                    others.append((a, value))
    return rows, others


def forced_places(near, known, first):
    """Places, beginning at `first` for each axis, after a promised neighbour of another class."""
    places = set()
    for cell in near.cells if near.max_changes else ():
        for a in range(known.ndim):
            line = known[(*cell[:a], slice(None), *cell[a + 1 :])]
            places |= {int(first[a]) + 1 + int(k) for k in np.flatnonzero(line[1:] != line[:-1])}
    return sorted(places)


@given(st.integers(0, 10**6), st.integers(0, 1))
@settings(max_examples=120)
def test_trees_bounds_and_proofs(seed, max_changes):
    grid, near, known = problem(seed, max_changes)
    trees = kernel(grid, near, seed=seed)
    best = min_leaves(known)
    promised = known != FREE
    for width in (0, 3):
        cost, nodes = trees.find(TINY, width, 2, criterion=seed % 2)
        told = answers(nodes, grid.shape)
        np.testing.assert_array_equal(told[promised], grid[promised])
        assert cost == pytest.approx(TINY * (len(nodes) + 1) / 2)
        assert (len(nodes) + 1) // 2 >= best
    better = trees.improve(nodes, TINY, 6, 2, 1e6)
    assert best <= (len(better) + 1) // 2 <= (len(nodes) + 1) // 2
    np.testing.assert_array_equal(answers(better, grid.shape)[promised], grid[promised])
    # lower bounds
    forced = trees.forced_cuts()
    first = np.cumsum([0, *grid.shape[:-1]])
    np.testing.assert_array_equal(np.flatnonzero(forced), forced_places(near, known, first))
    assert forced.sum() + 1 <= best
    points = trees.fooling_points(seed, 1e5)
    assert len(points) <= best
    for some in (points, points[::2], points[:1]):  # a part of a fooling set is one
        beside = leaves_beside_cuts(some, np.cumsum(forced), first)
        parted = np.ptp(np.cumsum(forced)[some[:, :-1] + first], axis=0).sum()
        assert type(beside) is int
        assert len(some) + forced.sum() - parted <= beside <= best
    for one, two in combinations(points, 2):
        box = tuple(
            slice(min(a, b), max(a, b) + 1) for a, b in zip(one[:-1], two[:-1], strict=True)
        )
        inside = known[box][known[box] != FREE]
        assert len(np.unique(inside)) > 1
    assert all(known[tuple(point[:-1])] == point[-1] for point in points)
    # the proof by exhaustion
    if best <= 9:
        for n in range(1, best):
            assert trees.prove(n, np.inf) == (False, None)
        fits, nodes = trees.prove(best, np.inf)
        assert fits
        assert len(nodes) == 2 * best - 1
        np.testing.assert_array_equal(answers(nodes, grid.shape)[promised], grid[promised])


@given(st.integers(0, 10**6), st.integers(0, 1), st.sampled_from([0.5, 2.5, 7.0]))
@settings(max_examples=60)
def test_exceptions_are_counted(seed, max_changes, price):
    grid, near, _ = problem(seed, max_changes, max_regions=2000)
    trees = kernel(grid, near)
    weight = row_weights(near, 0.5)
    cost, nodes = trees.find(price, 4, 2)
    rows, others = wrong_points(near, grid, answers(nodes, grid.shape))
    error = weight[rows].sum() + len(others)
    assert cost == pytest.approx(error + price * (len(nodes) + 1) / 2)
    assert trees.cost(nodes) == error
    held = [np.arange(n) + 1.0 for n in grid.shape]
    before = np.concatenate([np.concatenate([[0.0], np.cumsum(h)]) for h in held])
    counts = near.weights.astype(np.intp)
    found = trees.wrong(nodes, counts, before)
    assert found[0] == len(rows) + len(others)
    assert found[1] == counts[rows].sum()
    assert found[2] == pytest.approx(sum(held[a][value] for a, value in others))
    better = trees.improve(nodes, price, 4, 2, 1e6)
    leaves = [(len(n) + 1) / 2 for n in (better, nodes)]
    assert trees.cost(better) + price * leaves[0] <= error + price * leaves[1] + 1e-6
    # one leaf and two, by trying all
    one, two = trees.few_leaves()
    labels = [np.array([[-1, c, 1]], dtype=np.int32) for c in range(int(grid.max()) + 1)]
    every = [trees.cost(leaf) for leaf in labels]
    assert one == min(every)
    for a, n in enumerate(grid.shape):
        for cut in range(n - 1):
            for left in labels:
                for right in labels:
                    stump = np.concatenate([[[a, cut, 3]], left, right]).astype(np.int32)
                    every.append(trees.cost(stump))
    assert two == min(every)


def all_prunings(nodes, classes, at=0):
    """Every pruning of a subtree, as tuples of nodes."""
    _, right = children(nodes)
    found = [((-1, int(classes[at]), 1),)]
    if nodes[at, 0] >= 0:
        found += [
            ((*nodes[at, :2].tolist(), 1 + len(one) + len(two)), *one, *two)
            for one in all_prunings(nodes, classes, at + 1)
            for two in all_prunings(nodes, classes, right[at])
        ]
    return found


@given(st.integers(0, 10**6))
@settings(max_examples=40)
def test_prunings_are_the_cheapest(seed):
    grid, near, _ = problem(seed, 1, max_regions=300)
    trees = kernel(grid, near)
    _, nodes = trees.find(TINY)
    if len(nodes) > 21:
        return
    errors, classes = trees.leaf_errors(nodes)
    prunings = Prunings(nodes, errors, classes)
    best = np.full((len(nodes) + 1) // 2, np.inf)
    for pruned in all_prunings(nodes, classes):
        n = (len(pruned) + 1) // 2
        best[n - 1] = min(best[n - 1], trees.cost(np.array(pruned, dtype=np.int32)))
    np.testing.assert_array_equal(prunings.errors, np.minimum.accumulate(best))
    front = Front()
    front.add(prunings)
    for m in range(1, len(best) + 1):
        pruned = prunings.tree(m)
        assert (len(pruned) + 1) // 2 <= m
        assert trees.cost(pruned) == prunings.errors[m - 1]
        np.testing.assert_array_equal(front.tree(m), pruned)
    assert front.sizes()[0] == 1


def test_a_front_takes_the_best_of_each():
    nodes = np.array([[0, 0, 5], [-1, 0, 1], [0, 1, 3], [-1, 1, 1], [-1, 0, 1]], dtype=np.int32)
    classes = np.array([0, 0, 0, 1, 0], dtype=np.int32)
    front = Front()
    front.add(Prunings(nodes, np.array([9.0, 0, 4, 0, 2]), classes))
    front.add(Prunings(nodes[:1] * 0 + [[-1, 1, 1]], np.array([5.0]), np.array([1])))
    np.testing.assert_array_equal(front.errors, [5, 4, 2])
    assert front.tree(1)[0, 1] == 1
    assert len(front.tree(2)) == 3
    np.testing.assert_array_equal(front.sizes(), [1, 2, 3])


def test_work_ends_a_search():
    grid = np.random.default_rng(0).integers(2, size=(30, 30))
    cells = np.column_stack(np.unravel_index(np.arange(0, 900, 3), grid.shape)).astype(np.int32)
    near = Neighbourhood.of(GridLines(grid), cells, 1)
    trees = kernel(grid, near)
    _, nodes = trees.find(TINY)
    assert trees.cost(nodes) == 0
    # too little work: leaves are wrong, and the cost says so
    short, some = trees.find(TINY, 5, 2, work=10.0)
    assert trees.cost(some) == pytest.approx(short - TINY * (len(some) + 1) / 2)
    assert short > 1
    same = trees.improve(nodes, TINY, 5, 2, 0.0)
    np.testing.assert_array_equal(same, nodes)
    assert trees.prove(20, 0.0) in [(None, None), (False, None)]
    with limits(0.0):
        assert trees.find(TINY)[0] > 1
