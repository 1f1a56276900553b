"""Points near rows: which they are, and what a model answers there."""

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_iris
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from strategies import CLASSIFIERS, small_data

from ensemble_simplify.grid import FREE, Stopped, limits
from ensemble_simplify.grid.axes import Axes
from ensemble_simplify.grid.domain import read_domain
from ensemble_simplify.proof.near_rows import (
    Lines,
    Neighbourhood,
    TreeLines,
    n_near,
    points_apart,
    walks,
)
from ensemble_simplify.reading.forest import read_forest


def read(model, domain=None):
    """Lines of a fitted model, and its axes."""
    forest = read_forest(model)
    outside = None
    if domain is not None:
        domain = read_domain(domain, forest.n_features)
        forest = domain.read(forest)
        outside = domain.outside(Axes.of(forest))
    axes = Axes.of(forest)
    return Lines(forest, axes, outside), axes


def cells_of(axes, X):
    return np.ascontiguousarray(axes.encode_rows(X.astype(np.float32)).T)


def near(cell, shape, max_changes):
    """All cells that differ from one in at most so many axes, by going through all subsets."""
    found = set()
    for n in range(max_changes + 1):
        for axes in combinations(range(len(shape)), n):
            for values in product(*(range(shape[a]) for a in axes)):
                other = list(cell)
                for a, value in zip(axes, values, strict=True):
                    other[a] = value
                found.add(tuple(other))
    return found


def own_answers(model, axes, cells):
    """What ``predict`` answers in some cells, as class indices."""
    answers = model.predict(axes.points(cells))
    return np.searchsorted(model.classes_, answers)


@pytest.mark.parametrize("name", sorted(CLASSIFIERS))
def test_lines_answer_as_predict(name):
    X, y = small_data(3, n_features=3)
    model = CLASSIFIERS[name](0).fit(X, y)
    lines, axes = read(model)
    cells = cells_of(axes, X)
    labels = lines.labels(cells)
    assert labels.shape == (len(cells), sum(axes.shape))
    row, position = (index.ravel() for index in np.indices(labels.shape))
    asked = lines.cells_at(cells[row], position)
    np.testing.assert_array_equal(labels.ravel(), own_answers(model, axes, asked))
    np.testing.assert_array_equal(lines.classes_of(cells), own_answers(model, axes, cells))


def test_lines_of_deep_forests_answer_as_predict():
    X, y = load_iris(return_X_y=True)
    for model in (
        RandomForestClassifier(100, random_state=0),
        RandomForestClassifier(30, max_depth=3, random_state=1),
        GradientBoostingClassifier(n_estimators=20, random_state=0),
    ):
        model.fit(X, y)
        lines, axes = read(model)
        cells = cells_of(axes, X[::5])
        labels = lines.labels(cells)
        row, position = (index.ravel() for index in np.indices(labels.shape))
        asked = lines.cells_at(cells[row], position)
        np.testing.assert_array_equal(labels.ravel(), own_answers(model, axes, asked))
        # the next number above every cut point, too, and the cut point itself
        for a, (feature, cuts) in enumerate(zip(axes.features, axes.cuts, strict=True)):
            probe = np.repeat(X[:1].astype(np.float32), 2 * len(cuts), axis=0)
            ends = cuts.astype(np.float32)
            probe[:, feature] = np.concatenate([ends, np.nextafter(ends, np.float32(np.inf))])
            codes = np.concatenate([np.arange(len(cuts)), np.arange(len(cuts)) + 1])
            told = lines.labels(cells_of(axes, X[:1]))[0, lines.first[a] + codes]
            np.testing.assert_array_equal(model.classes_[told], model.predict(probe))


def test_lines_from_an_axis_on():
    X, y = small_data(0, n_features=4)
    model = RandomForestClassifier(5, max_depth=3, random_state=0).fit(X, y)
    lines, axes = read(model)
    cells = cells_of(axes, X[:6])
    begin = np.array([0, 1, 2, 3, 1, 0])
    some, whole = lines.labels(cells, from_axis=begin), lines.labels(cells)
    for i, a in enumerate(begin):
        assert (some[i, : lines.first[a]] == FREE).all()
        np.testing.assert_array_equal(some[i, lines.first[a] :], whole[i, lines.first[a] :])


def test_lines_keep_to_the_domain():
    rng = np.random.default_rng(0)
    group = np.eye(3)[rng.integers(3, size=60)]
    X = np.column_stack([group, rng.integers(5, size=60)])
    y = (group[:, 0] > 0) ^ (X[:, 3] > 2)
    model = RandomForestClassifier(10, random_state=0).fit(X, y)
    lines, axes = read(model, dict(one_hot=[[0, 1, 2]], bounds={3: (0, 4)}))
    cells = np.unique(cells_of(axes, X), axis=0)
    labels = lines.labels(cells)
    row, position = (index.ravel() for index in np.indices(labels.shape))
    asked = lines.cells_at(cells[row], position)
    inside = (axes.points(asked)[:, :3] > 0.5).sum(axis=1) == 1
    np.testing.assert_array_equal(labels.ravel() != FREE, inside)
    # a single change cannot move a row to another member of the group
    found = Neighbourhood.of(lines, cells, 1)
    assert found.n_points == len(cells) + len(cells) * (axes.shape[-1] - 1)
    # two can
    numbers = np.arange(2)
    tree = TreeLines(np.array([[-1, 0, 1]], dtype=np.int32), 2, lines)
    wrong = {
        tuple(cell)
        for row, part in points_apart((lines, numbers), (tree, numbers), cells, axes.shape, 2)
        for cell in part
    }
    every = np.array(sorted({c for cell in cells for c in near(cell, axes.shape, 2)}), np.int32)
    inside = (axes.points(every)[:, :3] > 0.5).sum(axis=1) == 1
    every = every[inside]
    assert wrong == {tuple(c) for c in every[own_answers(model, axes, every) != 0]}


def test_lines_stop():
    X, y = load_iris(return_X_y=True)
    lines, axes = read(RandomForestClassifier(20, random_state=0).fit(X, y))
    with pytest.raises(Stopped):
        with limits(-1):
            lines.labels(cells_of(axes, X))


@given(st.integers(0, 10**6), st.integers(0, 3))
@settings(max_examples=25)
def test_differences_are_complete(seed, max_changes):
    X, y = small_data(seed, n_features=3, n_classes=2 + seed % 2)
    model = RandomForestClassifier(3, max_depth=3, random_state=seed).fit(X, y)
    other = RandomForestClassifier(3, max_depth=3, random_state=seed + 1).fit(X, y)
    forests = [read_forest(model), read_forest(other)]
    axes = Axes.of(*forests)
    numbers = np.arange(len(model.classes_))
    models = [(Lines(forest, axes), numbers) for forest in forests]
    cells = np.unique(cells_of(axes, X[:7]), axis=0)
    found, by_threads = (
        [
            (int(i), tuple(cell))
            for row, part in points_apart(*models, cells, axes.shape, max_changes, n_jobs)
            for i, cell in zip(row, part, strict=True)
        ]
        for n_jobs in (None, 3)
    )
    assert by_threads == found
    assert len(found) == len(set(found))
    expected = set()
    for i, cell in enumerate(cells):
        every = np.array(sorted(near(cell, axes.shape, max_changes)), dtype=np.int32)
        points = axes.points(every)
        differ = model.predict(points) != other.predict(points)
        expected |= {(i, tuple(c)) for c in every[differ]}
    assert set(found) == expected


@pytest.mark.parametrize("max_changes", [0, 1, 2, 3, 4])
def test_n_near(max_changes):
    shape = (3, 1, 4, 2)
    cells = np.zeros((2, 4), dtype=np.int32)
    assert n_near(2, shape, max_changes) == 2 * len(near(cells[0], shape, max_changes))
    if max_changes:
        lines = sum(
            sum(shape[a] for a in range(begin, 4))
            for _, part, from_axis in walks(cells, shape, max_changes)
            for begin in from_axis
        )
        assert lines >= n_near(2, shape, max_changes)


@given(st.integers(0, 10**6))
@settings(max_examples=25)
def test_runs_hold_every_point_once(seed):
    X, y = small_data(seed, n_features=3)
    model = RandomForestClassifier(4, max_depth=3, random_state=seed).fit(X, y)
    lines, axes = read(model)
    cells = cells_of(axes, X)
    found = Neighbourhood.of(lines, cells, 1)
    unique, counts = np.unique(cells, axis=0, return_counts=True)
    np.testing.assert_array_equal(found.cells, unique)
    np.testing.assert_array_equal(found.weights, counts)
    assert found.n_points == n_near(len(unique), axes.shape, 1)
    labels = lines.labels(unique)
    told = np.full(labels.shape, -1)
    for i, a in product(range(len(unique)), range(len(axes.shape))):
        first, last = found.own_first[i, a], found.own_last[i, a]
        told[i, lines.first[a] + first : lines.first[a] + last + 1] = found.labels[i]
        assert first <= unique[i, a] <= last
        assert found.own_joined[i, a] == (first > 0)
    for i, a, first, last, label, joined in found.runs:
        part = told[i, lines.first[a] + first : lines.first[a] + last + 1]
        assert (part == -1).all()
        assert joined == (first > 0)
        part[:] = label
    np.testing.assert_array_equal(told, labels)
    # some rows only
    kept = np.arange(0, len(unique), 2)
    part, alone = found.of_rows(kept), Neighbourhood.of(lines, unique[kept], 1, counts[kept])
    for name in ("cells", "weights", "labels", "own_first", "own_last", "own_joined", "runs"):
        np.testing.assert_array_equal(getattr(part, name), getattr(alone, name))
    both = part.joined_with(found.of_rows(np.arange(1, len(unique), 2)))
    assert both.n_points == found.n_points
