"""Lower bounds by fooling sets: against the definition, NumPy and exhaustive search."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from cell_grids import random_grid
from efforts import set_effort
from ensemble_simplify.born_again.everywhere._bounds import Packing, unfooled_pairs
from hypothesis import given
from hypothesis import strategies as st
from oracles import FREE, completions, min_leaves
from sklearn.datasets import load_iris, load_wine
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier

from ensemble_simplify.born_again.everywhere import _fooling as fooling
from ensemble_simplify.born_again.everywhere._fooling import fooling_set
from ensemble_simplify.born_again.everywhere._grid import Grid
from ensemble_simplify.born_again.everywhere._planner import read_problem
from ensemble_simplify.grid.domain import read_domain
from ensemble_simplify.reading.forest import read_forest


@st.composite
def grids(draw, n_cells=24, free=True):
    """Labels of a small grid, perhaps with free cells."""
    shape = draw(st.lists(st.integers(2, 4), min_size=1, max_size=4))
    while np.prod(shape) > n_cells:
        shape = shape[:-1]
    classes = [0, 1, 2, *([FREE] if free and draw(st.booleans()) else [])]
    size = int(np.prod(shape))
    labels = draw(st.lists(st.sampled_from(classes), min_size=size, max_size=size))
    return np.array(labels, dtype=np.uint16).reshape(shape)


def grid_of(labels):
    return Grid(np.arange(labels.ndim), [np.arange(n - 1) for n in labels.shape], labels)


def set_of(labels, seed=0, work=5e9):
    rng = np.random.default_rng(seed)

    def starts(n):
        return rng.integers(0, labels.shape, size=(n, labels.ndim), dtype=np.int32)

    return fooling_set(grid_of(labels), starts, work, rng)


def together(labels, one, two):
    """Whether a box of one class, and of free cells, holds two cells."""
    spanned = tuple(slice(min(a, b), max(a, b) + 1) for a, b in zip(one, two, strict=True))
    return len(np.setdiff1d(labels[spanned], [FREE])) == 1


@given(grids(), st.integers(0, 99), st.booleans())
def test_any_two_cells_fool_each_other(labels, seed, looked_for):
    """By definition: every box with two of them has another class."""
    with pytest.MonkeyPatch.context() as patch:
        if looked_for:
            set_effort(patch, fooling, all_cells=0)
        cells = set_of(labels, seed, work=2e7)
    assert len(cells) >= (labels != FREE).any()
    assert (labels[tuple(cells.T)] != FREE).all()
    assert not any(together(labels, one, two) for one, two in combinations(cells, 2))


@given(grids(n_cells=12), st.integers(0, 99))
def test_no_tree_has_fewer_leaves(labels, seed):
    if (labels == FREE).sum() <= 3:
        fewest = min(min_leaves(full) for full in completions(labels, 3))
        assert len(set_of(labels, seed)) <= fewest


@pytest.mark.parametrize("seed", range(20))
def test_bound_reaches_most_of_the_optimum(seed):
    """Lines of cells are not all that could be seen, but most."""
    labels = random_grid(seed, max_regions=300).astype(np.uint16)
    size, fewest = len(set_of(labels)), min_leaves(labels)
    assert fewest / 2 <= size <= fewest


def test_moves_shorten_runs():
    X, y = load_wine(return_X_y=True)
    trees = read_problem(
        read_forest(RandomForestClassifier(8, max_depth=3, random_state=0).fit(X, y))
    ).trees
    rng = np.random.default_rng(0)
    cells = rng.integers(0, trees.shape, size=(300, len(trees.shape)), dtype=np.int32)
    still = fooling._moved(trees, cells.copy(), 0, rng)
    moved = fooling._moved(trees, cells.copy(), 20, rng)
    np.testing.assert_array_equal(still[1], moved[1])
    np.testing.assert_array_equal(trees.labels_of(moved[0]), moved[1])
    lengths = [np.log(last - first + 1.0).sum(axis=1) for _, _, first, last in (still, moved)]
    assert (lengths[1] <= lengths[0] + 1e-9).all()
    assert lengths[1].mean() < lengths[0].mean() - 0.5
    for labels, first, last, here in zip(moved[1], moved[2], moved[3], moved[0], strict=True):
        for axis in range(len(trees.shape)):
            line = np.repeat(here[None], trees.shape[axis], axis=0)
            line[:, axis] = np.arange(trees.shape[axis])
            other = np.flatnonzero(trees.labels_of(line) != labels)
            below, above = other[other < here[axis]], other[other > here[axis]]
            assert first[axis] == (below[-1] + 1 if below.size else 0)
            assert last[axis] == (above[0] - 1 if above.size else trees.shape[axis] - 1)


@pytest.mark.parametrize("domain", [None, {"at_most_one": [[0, 1]], "implies": [[2, 3]]}])
@pytest.mark.parametrize("kind", [RandomForestClassifier, GradientBoostingClassifier])
def test_classes_along_lines(kind, domain):
    """Those of the cells one by one, and of the table of all."""
    X, y = load_iris(return_X_y=True)
    X = np.hstack([X > X.mean(axis=0), X])
    model = kind(n_estimators=9, max_depth=3, max_features=2, random_state=0).fit(X, y)
    inside = None if domain is None else read_domain(domain, X.shape[1], None)
    trees = read_problem(read_forest(model), inside).trees
    table = trees.labels()
    grid = grid_of(table)
    assert grid.has_free == trees.has_free == (domain is not None)
    rng = np.random.default_rng(0)
    cells = rng.integers(0, trees.shape, size=(50, len(trees.shape)), dtype=np.int32)
    np.testing.assert_array_equal(trees.labels_of(cells), grid.labels_of(cells))
    for axis, length in enumerate(trees.shape):
        lines = np.repeat(cells[:, None], length, axis=1)
        lines[:, :, axis] = np.arange(length)
        expected = table[tuple(np.moveaxis(lines, -1, 0))]
        np.testing.assert_array_equal(trees.labels_along(cells, axis), expected)
        np.testing.assert_array_equal(grid.labels_along(cells, axis), expected)


def test_cells_of_a_simplified_grid():
    """Cells of all cuts are found again among those that are left."""
    X, y = load_iris(return_X_y=True)
    model = RandomForestClassifier(8, max_depth=3, random_state=1).fit(X, y)
    trees = read_problem(read_forest(model)).trees
    whole = grid_of(trees.labels())
    grid = whole.simplified()
    assert grid.n_cells < whole.n_cells
    rng = np.random.default_rng(0)
    cells = rng.integers(0, trees.shape, size=(500, len(trees.shape)), dtype=np.int32)
    np.testing.assert_array_equal(grid.labels_of(grid.cells_here(cells)), whole.labels_of(cells))


@pytest.mark.parametrize("seed", range(20))
def test_pairs_that_lines_do_not_tell_apart(seed):
    rng = np.random.default_rng(seed)
    n_axes, n = rng.integers(1, 5), 60
    cells = rng.integers(0, 300, size=(n_axes, n))
    first = np.maximum(cells - rng.integers(0, 250, size=cells.shape), 0)
    last = cells + rng.integers(0, 250, size=cells.shape)
    offsets = np.array([0, 25, 25, n])
    pairs, n_done = unfooled_pairs(
        *(a.astype(np.uint16) for a in (cells, first, last - first)), offsets, 10**6, np.inf
    )

    def told_apart(i, j):
        beyond = (cells[:, i] < first[:, j]) | (cells[:, i] > last[:, j])
        return (beyond | (cells[:, j] < first[:, i]) | (cells[:, j] > last[:, i])).any()

    expected = [
        (i, j) for j in range(n) for i in range(j) if (i < 25) == (j < 25) and not told_apart(i, j)
    ]
    assert n_done == 35
    assert sorted(map(tuple, pairs.tolist())) == sorted(expected)
    some, n_done = unfooled_pairs(
        *(a.astype(np.uint16) for a in (cells, first, last - first)), offsets, 3, np.inf
    )
    begins = np.where(np.arange(n) < 25, 0, 25)
    compared = np.arange(n) - begins < n_done
    assert n_done < 35
    assert sorted(map(tuple, some.tolist())) == sorted(
        (i, j) for i, j in expected if compared[i] and compared[j]
    )


@pytest.mark.parametrize("seed", range(20))
def test_independent_sets(seed):
    rng = np.random.default_rng(seed)
    n = 14
    pairs = np.array([pair for pair in combinations(range(n), 2) if rng.random() < 0.3])
    pairs = pairs.astype(np.int32).reshape(-1, 2)
    joined = np.zeros((n, n), dtype=bool)
    joined[tuple(pairs.T)] = True
    joined |= joined.T

    def independent(chosen):
        return not joined[np.ix_(chosen, chosen)].any()

    order = rng.permutation(n).astype(np.int32)
    first = Packing(n, pairs).improve(order, 1, 0, np.inf)
    chosen = Packing(n, pairs).improve(order, 1, 2000, np.inf)
    largest = max(
        k for k in range(n + 1) if any(independent(list(c)) for c in combinations(range(n), k))
    )
    assert independent(first)
    assert independent(chosen)
    assert joined[:, first].any(axis=1).sum() + len(first) == n, "nothing can be added"
    assert len(first) <= len(chosen) == largest


@pytest.mark.parametrize("work", [0.0, 1e6])
def test_little_work(work):
    rng = np.random.default_rng(0)
    labels = rng.integers(2, size=(3,) * 9).astype(np.uint16)
    some, more = set_of(labels, work=work), set_of(labels, work=1e9)
    assert 0 < len(some) < len(more)
    assert not any(together(labels, one, two) for one, two in combinations(some, 2))


def test_an_axis_of_more_cells_than_16_bits_count():
    labels = (np.arange(70_000) // 1000 % 2).astype(np.uint16)
    assert len(set_of(labels, work=2e9)) == 70


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_one_cell_and_one_class(dtype):
    assert len(set_of(np.zeros((1,), dtype=dtype))) == 1
    assert len(set_of(np.zeros((3, 3), dtype=dtype))) == 1
    assert len(set_of(np.full((3, 3), FREE, dtype=np.uint16))) == 0
    assert set_of(np.zeros((2,) * 14, dtype=dtype)).shape == (1, 14)
