"""Bounds on trees for a grid: against NumPy, exhaustive search and the definition."""

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import FREE, completions, min_leaves

from ensemble_simplify.born_again._bounds import fooling_set, sensitivity


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


def fooling(labels, order):
    shape = np.array(labels.shape, dtype=np.intp)
    return fooling_set(labels.reshape(-1), shape, np.asarray(order, dtype=np.int64), np.inf)


@given(grids())
def test_sensitivity_counts_neighbours_of_another_class(labels):
    for dtype in (np.uint16, np.uint8):
        typed = labels.astype(dtype)
        faces = np.zeros(labels.size, dtype=np.uint8)
        sensitivity(typed.reshape(-1), np.array(labels.shape, dtype=np.intp), faces)
        expected = np.zeros(labels.shape, dtype=int)
        for cell in product(*map(range, labels.shape)):
            for axis, step in product(range(labels.ndim), (-1, 1)):
                other = list(cell)
                other[axis] += step
                if 0 <= other[axis] < labels.shape[axis]:
                    expected[cell] += typed[tuple(other)] != typed[cell]
        np.testing.assert_array_equal(faces.reshape(labels.shape), expected)


@given(grids(n_cells=16), st.randoms(use_true_random=False))
def test_no_tree_has_fewer_leaves_than_a_fooling_set(labels, random):
    order = np.flatnonzero(labels.reshape(-1) != FREE).tolist()
    if (labels == FREE).sum() > 3:
        return
    random.shuffle(order)
    size = fooling(labels, order)
    fewest = min(min_leaves(full) for full in completions(labels, 3))
    assert bool(order) <= size <= fewest


@given(grids(), st.randoms(use_true_random=False))
def test_a_fooling_set_is_one(labels, random):
    """What is counted, cell by cell, cannot share leaves; and small boxes are searched in full."""
    order = np.flatnonzero(labels.reshape(-1) != FREE).tolist()
    random.shuffle(order)
    sizes = [0, *(fooling(labels, order[: k + 1]) for k in range(len(order)))]
    chosen = [cell for k, cell in enumerate(order) if sizes[k + 1] > sizes[k]]
    cells = [np.unravel_index(cell, labels.shape) for cell in chosen]

    def together(one, two):
        """Whether a box of one class, and of free cells, holds both."""
        spanned = tuple(slice(min(a, b), max(a, b) + 1) for a, b in zip(one, two, strict=True))
        return len(np.setdiff1d(labels[spanned], [FREE])) == 1

    assert not any(together(one, two) for one, two in combinations(cells, 2))
    for left_out in set(order) - set(chosen):
        here = np.unravel_index(left_out, labels.shape)
        assert any(together(here, cell) for cell in cells)


def test_out_of_time():
    rng = np.random.default_rng(0)
    labels = rng.integers(2, size=(3,) * 8).astype(np.uint16)
    order, shape = rng.permutation(labels.size), np.array(labels.shape, dtype=np.intp)
    full = fooling(labels, order)
    assert 0 < fooling_set(labels.reshape(-1), shape, order, 0.0) < full


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_one_cell(dtype):
    labels, shape = np.zeros(1, dtype=dtype), np.array([], dtype=np.intp)
    assert fooling_set(labels, shape, np.zeros(1, dtype=np.int64), np.inf) == 1
    faces = np.zeros(1, dtype=np.uint8)
    sensitivity(labels, shape, faces)
    assert faces[0] == 0
