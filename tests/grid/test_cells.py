"""Cells of a forest: painting, labels, and which cuts matter."""

from itertools import product

import numpy as np
import pytest
from cell_grids import random_grid
from ensemble_simplify.grid._cells import change_masks, changes_across, paint
from hypothesis import given
from hypothesis import strategies as st
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from strategies import CLASSIFIERS, fitted_classifiers, rows_of_cells, small_data

from ensemble_simplify.born_again.everywhere import _grid
from ensemble_simplify.born_again.everywhere._grid import CellTrees, Grid, grid_bytes
from ensemble_simplify.grid.axes import Axes, distinct_rows
from ensemble_simplify.grid.thresholds import FLOAT32_MAX, cut_points
from ensemble_simplify.reading.forest import read_forest


def read(model, voting="estimator"):
    forest = read_forest(model, voting=voting)
    return forest, cut_points(forest.feature, forest.threshold, forest.n_features)


def trees_of(forest, cuts):
    return CellTrees.of(forest, Axes(cuts))


def label_grid(forest, cuts):
    """The grid of all cells, labelled."""
    axes = Axes(cuts)
    return Grid(axes.features, axes.cuts, trees_of(forest, cuts).labels())


# ---------------------------------------------------------------------------------- painting


def painted(trees, first, last, roots=None):
    first, last = np.array(first, dtype=np.int32), np.array(last, dtype=np.int32)
    sums = np.zeros((int(np.prod(last - first + 1)), trees.value.shape[1]))
    roots = trees.offsets[:-1] if roots is None else roots
    paint(trees.nodes, roots, trees.value, first, last, sums)
    return sums


@given(fitted_classifiers(), st.randoms(use_true_random=False))
def test_painted_boxes(fitted, random):
    """Every box holds the sums that routing its cells' rows through the trees gives."""
    forest, cuts = read(fitted[0])
    trees = trees_of(forest, cuts)
    shape = trees.shape
    rows = rows_of_cells(cuts)
    leaves = forest.apply(rows)
    expected = np.zeros((len(rows), forest.n_scores))
    for tree in range(forest.n_trees):
        expected += forest.value[leaves[:, tree]]
    expected = expected.reshape(*shape, forest.n_scores)
    for _ in range(4):
        first = [random.randrange(n) for n in shape]
        last = [random.randrange(a, n) for a, n in zip(first, shape, strict=True)]
        window = tuple(slice(a, b + 1) for a, b in zip(first, last, strict=True))
        sums = painted(trees, first, last)
        # bit for bit: the same additions in the same order
        np.testing.assert_array_equal(sums, expected[window].reshape(sums.shape))


def test_painting_adds_and_checks_sizes():
    X, y = small_data(0)
    forest, cuts = read(CLASSIFIERS["forest"](0).fit(X, y))
    trees = trees_of(forest, cuts)
    first, last = [0] * len(trees.shape), [n - 1 for n in trees.shape]
    once = painted(trees, first, last)
    one = painted(trees, first, last, trees.offsets[:1])
    rest = painted(trees, first, last, trees.offsets[1:-1])
    np.testing.assert_allclose(one + rest, once)
    assert not painted(trees, first, last, trees.offsets[:0]).any()
    with pytest.raises(ValueError, match="row for each cell"):
        paint(
            trees.nodes,
            trees.offsets[:-1],
            trees.value,
            np.array(first, dtype=np.int32),
            np.array(last, dtype=np.int32),
            np.zeros((3, forest.n_scores)),
        )


# ----------------------------------------------------------------------------------- labels


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_labels_are_predictions(kind):
    for seed in range(3):
        X, y = small_data(seed, n_classes=2 + seed, levels=4)
        model = CLASSIFIERS[kind](seed).fit(X, y)
        forest, cuts = read(model)
        grid = label_grid(forest, cuts)
        answer = model.predict(rows_of_cells(cuts))
        np.testing.assert_array_equal(forest.classes[grid.labels.reshape(-1)], answer)
        assert grid.labels.shape == tuple(len(c) + 1 for c in cuts if len(c))
        np.testing.assert_array_equal(grid.features, [j for j, c in enumerate(cuts) if len(c)])
        small = grid.simplified()
        np.testing.assert_array_equal(forest.classes[told_by(small, rows_of_cells(cuts))], answer)


def told_by(grid, X):
    """Class index that a grid gives each row."""
    at = [
        np.searchsorted(cuts, X[:, j].astype(np.float32))
        for j, cuts in zip(grid.features, grid.cuts, strict=True)
    ]
    return grid.labels[tuple(at)] if at else np.full(len(X), int(grid.labels))


@pytest.mark.parametrize("slab", [1, 2, 5, 7, 16, 64, 1000])
@pytest.mark.parametrize("kind", ["forest", "boosting", "voting_nested_soft", "adaboost"])
def test_slabs_of_every_size(kind, slab, monkeypatch):
    X, y = small_data(1, n_features=4)
    forest, cuts = read(CLASSIFIERS[kind](1).fit(X, y))
    whole = label_grid(forest, cuts)
    monkeypatch.setattr(_grid, "SLAB", slab)
    np.testing.assert_array_equal(label_grid(forest, cuts).labels, whole.labels)


@pytest.mark.parametrize("slab", [1, 3, 10, 24, 100])
@pytest.mark.parametrize("shape", [(), (7,), (2, 3), (5, 1, 4), (3, 2, 2, 5)])
def test_slabs_cover_the_grid_in_order(shape, slab, monkeypatch):
    monkeypatch.setattr(_grid, "SLAB", slab)
    number = np.arange(int(np.prod(shape, dtype=int))).reshape(shape)
    seen = []
    for first, last in _grid._slabs(shape):
        window = tuple(slice(a, b + 1) for a, b in zip(first, last, strict=True))
        part = number[window].ravel()
        assert part.size <= slab
        seen.extend(part.tolist())
    assert seen == list(range(number.size))


@pytest.mark.filterwarnings("ignore:The number of unique classes:UserWarning")
def test_many_classes():
    """More classes than a byte holds."""
    rng = np.random.default_rng(0)
    X = rng.permutation(300)[:, None].astype(float)
    model = RandomForestClassifier(1, bootstrap=False).fit(X, np.arange(300))
    forest, cuts = read(model)
    grid = label_grid(forest, cuts)
    answer = model.predict(rows_of_cells(cuts))
    np.testing.assert_array_equal(forest.classes[grid.labels], answer)
    assert grid.simplified().labels.shape == (300,)


def test_long_and_short_axes():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.random(400), rng.integers(0, 2, 400), rng.random(400)])
    y = (X[:, 0] * 7 + X[:, 1] + X[:, 2] * 3).astype(int) % 2
    model = RandomForestClassifier(10, max_depth=6, random_state=0).fit(X, y)
    forest, cuts = read(model)
    assert max(map(len, cuts)) > 64
    rows = rows_of_cells(cuts)
    grid = label_grid(forest, cuts)
    np.testing.assert_array_equal(forest.classes[grid.labels.ravel()], model.predict(rows))


def test_splits_that_send_all_rows_one_way():
    """Thresholds beyond the float32 range, at the roots of trees and below."""
    X, y = small_data(2, n_classes=2)
    model = RandomForestClassifier(4, max_depth=3, random_state=0).fit(X, y)
    low, high = np.float64(-FLOAT32_MAX) * 1.5, np.float64(FLOAT32_MAX) * 1.5
    for estimator, (node, far) in zip(
        model.estimators_, [(0, low), (0, high), (1, high), (1, low)], strict=True
    ):
        if estimator.tree_.children_left[node] >= 0:
            estimator.tree_.threshold[node] = far
    estimator.tree_.threshold[0] = FLOAT32_MAX
    forest, cuts = read(model)
    assert all((np.abs(c) < FLOAT32_MAX).all() for c in cuts)
    trees = trees_of(forest, cuts)
    for a, n in enumerate(trees.shape):
        used = trees.nodes[trees.nodes[:, 0] == a, 1]
        assert used.max() < n
    rows = rows_of_cells(cuts)
    rows = np.concatenate([rows, -rows, np.full((1, 3), -FLOAT32_MAX)])
    grid = label_grid(forest, cuts)
    with np.errstate(over="ignore", invalid="ignore"):
        answer = model.predict(rows.astype(np.float32))
    np.testing.assert_array_equal(forest.classes[told_by(grid, rows)], answer)


def test_forest_without_splits():
    X, _ = small_data(0)
    model = RandomForestClassifier(3).fit(X, np.full(len(X), "only"))
    forest, cuts = read(model)
    grid = label_grid(forest, cuts)
    assert (grid.labels.shape, grid.labels.tolist(), grid.n_cells) == ((1,), [0], 1)
    assert grid.simplified().labels.shape == ()


def test_scores_that_start_elsewhere():
    X, y = small_data(0, n_classes=2)
    model = GradientBoostingClassifier(n_estimators=1, max_depth=1, learning_rate=1e-9).fit(X, y)
    forest, cuts = read(model)
    grid = label_grid(forest, cuts)
    np.testing.assert_array_equal(
        forest.classes[grid.labels.ravel()], model.predict(rows_of_cells(cuts))
    )


def test_shapes_and_bytes():
    axes = Axes([np.array([1.0]), np.array([]), np.array([1.0, 2.0])])
    assert (axes.features.tolist(), axes.shape) == ([0, 2], (2, 3))
    # one axis at least, and the arrays of cells have a column
    assert Axes([np.array([]), np.array([])]).shape == (1,)
    assert grid_bytes([10**9] * 5) >= 10**45  # no overflow


# ------------------------------------------------------------------------- cuts that matter


def changes_by_hand(labels, axis):
    pairs = zip(
        np.split(labels, labels.shape[axis], axis)[:-1],
        np.split(labels, labels.shape[axis], axis)[1:],
        strict=True,
    )
    return [bool((one != two).any()) for one, two in pairs]


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
@pytest.mark.parametrize("seed", range(20))
def test_changes_and_masks(seed, dtype):
    labels = random_grid(seed).astype(dtype)
    shape = labels.shape
    word, shift, bit = [], [], 3 + 13 * seed
    for axis, n in enumerate(shape):
        before, after = int(np.prod(shape[:axis])), int(np.prod(shape[axis + 1 :]))
        told = changes_across(labels.reshape(-1), before, n, after)
        assert [bool(c) for c in told] == changes_by_hand(labels, axis)
        word.append(bit // 64)
        shift.append(bit % 64)
        bit += n - 1 + 17 * (seed % 4)
    masks = np.zeros((labels.size, bit // 64 + 1), dtype=np.uint64)
    arrays = [np.array(v, dtype=np.intp) for v in (shape, word, shift)]
    change_masks(labels.reshape(-1), *arrays, masks)
    expected = np.zeros_like(masks)
    for i, cell in enumerate(np.ndindex(*shape)):
        for axis, k in enumerate(cell):
            above = (*cell[:axis], k + 1, *cell[axis + 1 :])
            if k + 1 < shape[axis] and labels[cell] != labels[above]:
                at = 64 * word[axis] + shift[axis] + k
                expected[i, at // 64] |= np.uint64(1 << (at % 64))
    np.testing.assert_array_equal(masks, expected)


def test_changes_on_an_axis_of_one_cell():
    assert changes_across(np.zeros(6, dtype=np.uint8), 2, 1, 3) == bytearray()


@pytest.mark.parametrize("seed", range(25))
def test_simplified_grids_keep_the_function(seed):
    labels = random_grid(seed, 2000).astype(np.uint16)
    cuts = [np.sort(np.random.default_rng(seed).random(n - 1)) for n in labels.shape]
    grid = Grid(np.arange(labels.ndim) * 2 + 1, cuts, labels)
    small = grid.simplified()
    for axis in range(small.labels.ndim):
        assert all(changes_by_hand(small.labels, axis))
    assert len(small.features) == len(small.cuts) == small.labels.ndim
    X = np.zeros((labels.size, 2 * labels.ndim))
    points = [np.append(c, 2.0).astype(np.float32) for c in cuts]
    grid = Grid(grid.features, [p[:-1].astype(float) for p in points], labels)
    X[:, grid.features] = list(product(*points))
    np.testing.assert_array_equal(told_by(grid.simplified(), X), labels.ravel())
    # nothing more to remove
    assert small.simplified().labels.shape == small.labels.shape
    assert grid.labels is labels


@given(st.integers(0, 10**6))
def test_sub_grids(seed):
    labels = random_grid(seed).astype(np.uint16)
    rng = np.random.default_rng(seed)
    cuts = [np.arange(n - 1) for n in labels.shape]
    lo = [int(rng.integers(n)) for n in labels.shape]
    hi = [int(rng.integers(a, n)) for a, n in zip(lo, labels.shape, strict=True)]
    part = Grid(np.arange(labels.ndim), cuts, labels).sub_grid(lo, hi)
    for a, (first, last) in enumerate(zip(lo, hi, strict=True)):
        assert part.cuts[a].tolist() == list(range(first, last))
        assert part.labels.shape[a] == last - first + 1
    assert part.labels[(0,) * labels.ndim] == labels[tuple(lo)]
    assert part.labels[(-1,) * labels.ndim] == labels[tuple(hi)]


# ----------------------------------------------------------------------- trees on a box only


@given(fitted_classifiers(), st.randoms(use_true_random=False))
def test_trees_restricted_to_a_box(fitted, random):
    forest, cuts = read(fitted[0])
    trees = trees_of(forest, cuts)
    labels = trees.labels()
    lo = [random.randrange(n) for n in trees.shape]
    hi = [random.randrange(a, n) for a, n in zip(lo, trees.shape, strict=True)]
    part, axes, kept = trees.restricted(lo, hi)
    assert part.shape == tuple(len(c) + 1 for c in kept)
    for axis, cut in zip(axes, kept, strict=True):
        assert lo[axis] <= min(cut)
        assert max(cut) < hi[axis]
    told = part.labels()
    window = labels[tuple(slice(a, b + 1) for a, b in zip(lo, hi, strict=True))]
    for cell in np.ndindex(*window.shape):
        place = tuple(
            int(np.searchsorted(c, lo[axis] + cell[axis]))
            for axis, c in zip(axes, kept, strict=True)
        )
        assert told[place] == window[cell]


@given(fitted_classifiers())
def test_labels_of_single_cells(fitted):
    forest, cuts = read(fitted[0])
    trees = trees_of(forest, cuts)
    labels = trees.labels()
    cells = np.array(list(np.ndindex(*trees.shape)), dtype=np.int32).reshape(labels.size, -1)
    np.testing.assert_array_equal(trees.labels_of(cells), labels.ravel())


@given(st.integers(0, 2**32 - 1))
def test_distinct_rows(seed):
    """As numpy finds them, however many numbers the rows can stand for."""
    rng = np.random.default_rng(seed)
    shape = rng.integers(0, 40), rng.integers(1, 12)
    most = rng.choice([1, 3, 1000, 2**31 - 1], size=shape[1])
    cells = (rng.random(shape) * most).astype(np.int32)[rng.integers(0, max(shape[0], 1), shape[0])]
    distinct, first, place = np.unique(cells, axis=0, return_index=True, return_inverse=True)
    got = distinct_rows(cells)
    np.testing.assert_array_equal(got[0], first)
    np.testing.assert_array_equal(got[1], place.ravel())
    np.testing.assert_array_equal(cells[got[0]], distinct)
