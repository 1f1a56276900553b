"""Trees that stay within a tolerance near rows, against enumeration and plain recursion."""

from functools import cache
from itertools import combinations

import numpy as np
import pytest
from cell_grids import random_shape, tree_grid
from ensemble_simplify.born_again.near._line_bounds import fooling_points
from ensemble_simplify.born_again.near._number_trees import NumberTrees
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import splits, whole_box

from ensemble_simplify.born_again.everywhere._tolerance import Tolerance
from ensemble_simplify.born_again.near._cheapest_prunings import Prunings
from ensemble_simplify.born_again.near._leaf_answers import (
    Windows,
    in_windows,
    last_alike,
    n_windows,
)
from ensemble_simplify.born_again.near._line_search import leaves_beside_cuts, row_weights
from ensemble_simplify.grid.axes import children
from ensemble_simplify.proof.near_rows import Neighbourhood, NumberLines

TINY = 1e-7


class GridNumbers(NumberLines):
    """Lines of a table of numbers."""

    def __init__(self, grid, atol):
        self.grid, self._places = grid, {}
        self.first = np.concatenate([[0], np.cumsum(grid.shape)]).astype(np.intp)
        self.outside = (np.empty((0, grid.ndim), dtype=np.int32),) * 2
        self.last_alike = lambda kinds: last_alike(kinds, Tolerance(atol))

    def labels(self, cells, deadline=np.inf, from_axis=None):
        parts = []
        for a in range(self.grid.ndim):
            walked = np.repeat(cells[:, None], self.grid.shape[a], axis=1)
            walked[:, :, a] = np.arange(self.grid.shape[a])
            flat = self.classes_of(walked.reshape(-1, self.grid.ndim))
            parts.append(flat.reshape(len(cells), -1))
        return np.concatenate(parts, axis=1)

    def answers_of(self, cells, deadline=np.inf):
        return self.grid[tuple(cells.T)][:, None]


def problem(seed, max_changes, atol, max_regions=400):
    """A neighbourhood on a small grid of numbers, and the grid with NaN where nothing is known."""
    rng = np.random.default_rng(seed)
    shape = random_shape(rng, max_regions)
    # whole numbers and halves: all differences are exact
    grid = sum(tree_grid(shape, rng, 2, 4) for _ in range(3)).astype(float) / 2.0
    n = int(rng.integers(1, 1 + min(10, grid.size)))
    cells = np.column_stack(np.unravel_index(rng.integers(grid.size, size=n), shape))
    near = Neighbourhood.of(GridNumbers(grid, atol), cells.astype(np.int32), max_changes)
    known = np.full(shape, np.nan)
    for cell in near.cells:
        for a in range(grid.ndim) if max_changes else ():
            index = (*cell[:a], slice(None), *cell[a + 1 :])
            known[index] = grid[index]
        known[tuple(cell)] = grid[tuple(cell)]
    return grid, near, known


def kernel(grid, near, atol, share=0.5, seed=0):
    numbers = in_windows(near.kinds[:, 0], atol)
    return NumberTrees(
        np.array(grid.shape, dtype=np.intp), len(numbers), near.cells, near.labels,
        row_weights(near, share), near.own_first, near.own_last, near.own_joined, near.runs, seed,
        near.alike, numbers,
    )  # fmt: skip


def fewest_leaves(known, atol):
    """Fewest leaves of a tree within the tolerance, by recursion over all boxes."""

    @cache
    def fewest(box):
        inside = known[tuple(slice(first, last + 1) for first, last in box)]
        inside = inside[~np.isnan(inside)]
        if inside.size == 0 or np.ptp(inside) <= 2 * atol:
            return 1
        return min(fewest(one) + fewest(two) for _, _, one, two in splits(box))

    return fewest(whole_box(known))


def leaf_of(nodes, shape):
    """Number of the leaf of every cell of a grid, by walking down."""
    found = np.empty(shape, dtype=int)
    _, right = children(nodes)
    for cell in np.ndindex(*shape):
        at = 0
        while nodes[at, 0] >= 0:
            at = at + 1 if cell[nodes[at, 0]] <= nodes[at, 1] else right[at]
        found[cell] = at
    return found


def told(nodes, trees, near, grid, atol):
    """What a tree answers in every cell, and its windows."""
    closeness = Tolerance(atol)
    windows = Windows.of(trees, nodes, near.kinds, closeness)
    rows = near.cells, near.kinds[near.labels], near.weights
    answers = windows.answers(nodes, *rows, closeness)
    return answers[leaf_of(nodes, grid.shape), 0], windows, answers


def points_of(near, grid):
    """All promised points: cells, the axis that is changed (-1: none) and the row."""
    for i, cell in enumerate(near.cells):
        yield tuple(cell), -1, i
        for a in range(grid.ndim) if near.max_changes else ():
            for value in range(grid.shape[a]):
                if value != cell[a]:
                    yield (*cell[:a], value, *cell[a + 1 :]), a, i


TOLERANCES = st.sampled_from([0.0, 0.25, 0.5, 1.0, 2.0])


@given(st.integers(0, 10**6), st.integers(0, 1), TOLERANCES)
@settings(max_examples=120)
def test_trees_bounds_and_proofs(seed, max_changes, atol):
    grid, near, known = problem(seed, max_changes, atol)
    trees = kernel(grid, near, atol, seed=seed)
    best = fewest_leaves(known, atol)
    promised = ~np.isnan(known)
    for width in (0, 3):
        cost, nodes = trees.find(TINY, width, 2, criterion=seed % 2)
        answer, _, _ = told(nodes, trees, near, grid, atol)
        assert np.abs(answer - grid)[promised].max() <= atol
        assert cost == pytest.approx(TINY * (len(nodes) + 1) / 2)
        assert (len(nodes) + 1) // 2 >= best
    better = trees.improve(nodes, TINY, 6, 2, 1e6)
    assert best <= (len(better) + 1) // 2 <= (len(nodes) + 1) // 2
    answer, _, _ = told(better, trees, near, grid, atol)
    assert np.abs(answer - grid)[promised].max() <= atol
    # lower bounds
    forced = trees.forced_cuts()
    places = set()
    first = np.cumsum([0, *grid.shape[:-1]])
    for cell in near.cells if max_changes else ():
        for a in range(grid.ndim):
            line = grid[(*cell[:a], slice(None), *cell[a + 1 :])]
            apart = np.flatnonzero(np.abs(np.diff(line)) > 2 * atol)
            places |= {int(first[a]) + 1 + int(k) for k in apart}
    np.testing.assert_array_equal(np.flatnonzero(forced), sorted(places))
    assert forced.sum() + 1 <= best
    assert n_windows(near.alike) <= best
    points = fooling_points(
        near.cells, near.labels, near.own_first, near.own_last, near.runs, seed, 1e5, np.inf,
        near.alike,
    )  # fmt: skip
    assert len(points) <= leaves_beside_cuts(points, np.cumsum(forced), first) <= best
    for one, two in combinations(points, 2):
        ends = zip(one[:-1], two[:-1], strict=True)
        inside = known[tuple(slice(min(a, b), max(a, b) + 1) for a, b in ends)]
        assert np.nanmax(inside) - np.nanmin(inside) > 2 * atol
    for point in points:
        assert known[tuple(point[:-1])] == near.kinds[point[-1], 0]
    # the proof by exhaustion
    if best <= 8:
        for n in range(1, best):
            assert trees.prove(n, np.inf) == (False, None)
        fits, nodes = trees.prove(best, np.inf)
        assert fits
        assert len(nodes) == 2 * best - 1
        answer, _, _ = told(nodes, trees, near, grid, atol)
        assert np.abs(answer - grid)[promised].max() <= atol


@given(st.integers(0, 10**6), st.integers(0, 1), TOLERANCES, st.sampled_from([0.5, 2.5, 7.0]))
@settings(max_examples=60)
def test_exceptions_are_counted(seed, max_changes, atol, price):
    grid, near, _ = problem(seed, max_changes, atol, max_regions=2000)
    trees, weight = kernel(grid, near, atol), row_weights(near, 0.5)
    cost, nodes = trees.find(price, 4, 2)
    leaf, least = leaf_of(nodes, grid.shape), nodes[:, 1]
    # what a leaf is right for, by the number from which on its window goes
    numbers = near.kinds[:, 0]
    wrong = [
        (a, i, cell)
        for cell, a, i in points_of(near, grid)
        if not 0 <= grid[cell] - numbers[least[leaf[cell]]] <= 2 * atol
    ]
    error = sum(weight[i] if a < 0 else 1.0 for a, i, _ in wrong)
    assert cost == pytest.approx(error + price * (len(nodes) + 1) / 2)
    assert trees.wrong_weight(nodes) == error
    held = [np.arange(n) + 1.0 for n in grid.shape]
    before = np.concatenate([np.concatenate([[0.0], np.cumsum(h)]) for h in held])
    counts = near.weights.astype(np.intp)
    found = trees.wrong(nodes, counts, before)
    assert found[0] == len(wrong)
    assert found[1] == sum(counts[i] for a, i, _ in wrong if a < 0)
    assert found[2] == pytest.approx(sum(held[a][cell[a]] for a, _, cell in wrong if a >= 0))
    # every leaf has the heaviest window of its points, and answers are as far as is told
    answer, windows, answers = told(nodes, trees, near, grid, atol)
    for at in np.flatnonzero(nodes[:, 0] < 0):
        inside = [(cell, a, i) for cell, a, i in points_of(near, grid) if leaf[cell] == at]
        heavy = [weight[i] if a < 0 else 1.0 for _, a, i in inside]
        number = np.array([grid[cell] for cell, _, _ in inside])
        windowed = [
            np.dot(heavy, (number >= start) & (number <= start + 2 * atol)) for start in number
        ]
        own = (number >= numbers[least[at]]) & (number <= numbers[least[at]] + 2 * atol)
        assert np.dot(heavy, own) == max(windowed)
        assert (windows.least[at], windows.most[at]) == (number.min(), number.max())
        assert (np.abs(answers[at] - number[own]) <= atol).all()
    apart = [abs(answer[cell] - grid[cell]) for cell, _, _ in points_of(near, grid)]
    assert windows.largest_difference(answers) == max(apart)
    better = trees.improve(nodes, price, 4, 2, 1e6)
    leaves = [(len(n) + 1) / 2 for n in (better, nodes)]
    assert trees.wrong_weight(better) + price * leaves[0] <= error + price * leaves[1] + 1e-6
    # prunings have the errors that are told, and so does a single leaf
    prunings = Prunings(nodes, *trees.leaf_errors(nodes))
    for m in range(1, min(6, len(prunings.errors) + 1)):
        assert trees.wrong_weight(prunings.tree(m)) == prunings.errors[m - 1]
    assert trees.few_leaves() == (prunings.errors[0], 0.0)


@given(st.integers(0, 10**6), st.integers(0, 1), TOLERANCES, st.sampled_from([0.0, 0.5, 1.0, 3.0]))
@settings(max_examples=60)
def test_prunings_by_another_tolerance(seed, max_changes, atol, more):
    grid, near, known = problem(seed, max_changes, atol, max_regions=2000)
    trees = kernel(grid, near, atol)
    _, nodes = trees.find(TINY)
    _, windows, _ = told(nodes, trees, near, grid, atol)
    wider = Tolerance(atol + more)
    pruned, held = windows.pruned(nodes, wider)
    rows = near.cells, near.kinds[near.labels], near.weights
    answers = held.answers(pruned, *rows, wider)
    leaf, promised = leaf_of(pruned, grid.shape), ~np.isnan(known)
    apart = np.abs(answers[leaf, 0] - grid)[promised].max()
    assert apart <= wider.atol
    assert held.largest_difference(answers) == apart
    # no split has leaves on both sides that could be one
    _, right = children(pruned)
    for at in np.flatnonzero(pruned[:, 0] >= 0):
        below = np.isin(leaf, [at + 1, right[at]])
        if pruned[at + 1, 0] < 0 and pruned[right[at], 0] < 0:
            assert np.ptp(known[below & promised]) > 2 * wider.atol
    if atol:
        narrower = windows.pruned(nodes, Tolerance(0.0))
        purest = all(
            np.ptp(known[(leaf_of(nodes, grid.shape) == at) & promised]) == 0
            for at in np.flatnonzero(nodes[:, 0] < 0)
        )
        assert (narrower is not None) == purest


@given(st.integers(0, 10**6), st.floats(0.0, 3.0))
@settings(max_examples=60)
def test_windows_of_doubles(seed, atol):
    rng = np.random.default_rng(seed)
    scale = 10.0 ** rng.integers(-3, 16)
    kinds = np.unique(rng.normal(size=20).round(1) * scale)[:, None]
    for closeness in (Tolerance(atol), Tolerance(atol * scale), Tolerance(np.spacing(scale))):
        last = last_alike(kinds, closeness)
        assert (np.diff(last) >= 0).all()
        for i, end in enumerate(last):
            lower, upper = closeness.ends(kinds[i : end + 1])
            answer = closeness.chosen(lower.max(0)[None], upper.min(0)[None], np.array([[np.nan]]))
            assert (np.abs(answer - kinds[i : end + 1]) <= closeness.atol).all()
            if end + 1 < len(kinds):
                one, two = kinds[[i, end + 1], 0]
                middle = one / 2 + two / 2
                near_middle = middle + np.spacing(middle) * np.arange(-3, 4)
                both = np.maximum(np.abs(near_middle - one), np.abs(near_middle - two))
                assert (both > closeness.atol).all()


def test_windows_of_probabilities():
    # a class, and the probabilities of both: no window holds two classes
    upper = np.array([0.0, 0.1, 0.2, 0.45, 0.55, 0.6, 0.9])
    kinds = np.column_stack([upper > 0.5, 1 - upper, upper]).astype(float)
    last = last_alike(kinds, Tolerance(0.075, labelled=True))
    np.testing.assert_array_equal(last, [1, 2, 2, 3, 5, 5, 6])
    last = last_alike(kinds, Tolerance(1.0, labelled=True))
    np.testing.assert_array_equal(last, [3, 3, 3, 3, 6, 6, 6])
