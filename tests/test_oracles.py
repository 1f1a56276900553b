"""The oracles agree with listing every tree, and with forests themselves."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from oracles import (
    FLOAT32_MAX,
    adversarial_rows,
    brute_force_trees,
    labels_by_predict,
    min_depth,
    min_leaves,
    min_leaves_at_min_depth,
    pareto_front,
    tree_depth,
    tree_labels,
    tree_leaves,
)
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

SHAPES = [(1,), (2,), (5,), (7,), (2, 2), (2, 3), (3, 3), (2, 4), (1, 3, 2), (2, 2, 2)]


@st.composite
def grids(draw):
    """Labels of tiny grids, few enough trees to list."""
    shape = draw(st.sampled_from(SHAPES))
    return draw(arrays(np.intp, shape, elements=st.integers(0, draw(st.integers(1, 3)))))


@settings(deadline=None, max_examples=60)
@given(grids())
def test_oracles_agree_with_listing_all_trees(labels):
    sizes = set()
    for tree in brute_force_trees(labels):
        np.testing.assert_array_equal(tree_labels(tree, labels.shape), labels)
        sizes.add((tree_depth(tree), tree_leaves(tree)))
    front = {
        (depth, leaves)
        for depth, leaves in sizes
        if not any(d <= depth and n <= leaves and (d, n) != (depth, leaves) for d, n in sizes)
    }
    assert min_depth(labels) == min(depth for depth, _ in sizes)
    assert min_leaves(labels) == min(leaves for _, leaves in sizes)
    assert (min_depth(labels), min_leaves_at_min_depth(labels)) == min(sizes)
    assert pareto_front(labels) == sorted(front)


@pytest.mark.parametrize(
    ("shape", "n_trees"),
    [((1,), 1), ((3,), 5), ((4,), 15), ((2, 2), 9), ((2, 3), 62), ((3, 3), 1241)],
)
def test_all_trees_are_listed_once(shape, n_trees):
    # On a grid of one class every tree is faithful: 1 leaf, or a split and a tree on either side.
    trees = list(brute_force_trees(np.zeros(shape, dtype=np.intp)))
    assert len(trees) == len(set(trees)) == n_trees


def test_too_many_cells_to_list():
    with pytest.raises(ValueError, match="20 cells have too many trees"):
        brute_force_trees(np.zeros((4, 5), dtype=np.intp))


def test_known_optima():
    checkerboard = np.indices((4, 4)).sum(axis=0) % 2
    assert min_depth(checkerboard) == 4
    assert min_leaves(checkerboard) == 16
    assert pareto_front(checkerboard) == [(4, 16)]
    stripes = np.arange(5) % 2
    assert (min_depth(stripes), min_leaves(stripes)) == (3, 5)
    uniform = np.full((3, 4, 2), 2)
    assert pareto_front(uniform) == [(0, 1)]


def test_depth_and_leaves_can_disagree():
    rng = np.random.default_rng(0)
    fronts = [pareto_front(rng.integers(0, 2, size=(4, 4))) for _ in range(300)]
    assert any(len(front) > 1 for front in fronts)
    for front in fronts:
        assert front == sorted(front)
        assert [leaves for _, leaves in front] == sorted((n for _, n in front), reverse=True)


@pytest.fixture(scope="module")
def forest_and_cuts():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    y = np.array(["b", "c", "a"])[(X[:, 0] > 0).astype(int) + (X[:, 1] * X[:, 2] > 0)]
    forest = RandomForestClassifier(3, max_depth=2, random_state=0).fit(X, y)
    cuts = [set(), set(), set()]
    for tree in forest.estimators_:
        for feature, threshold in zip(tree.tree_.feature, tree.tree_.threshold, strict=True):
            if feature >= 0:
                cut = np.float32(threshold)
                if cut > threshold:
                    cut = np.nextafter(cut, np.float32(-np.inf))
                cuts[feature].add(float(cut))
    return forest, [np.array(sorted(axis)) for axis in cuts]


def test_labels_by_predict_hold_everywhere(forest_and_cuts):
    forest, cuts = forest_and_cuts
    labels = labels_by_predict(forest, cuts)
    assert labels.shape == tuple(len(axis) + 1 for axis in cuts)
    X = adversarial_rows(cuts, np.random.default_rng(1), 5000)
    cells = tuple(np.searchsorted(axis, X[:, j].astype(np.float32)) for j, axis in enumerate(cuts))
    np.testing.assert_array_equal(forest.classes_[labels[cells]], forest.predict(X))


def test_labels_by_predict_without_cuts():
    X, y = np.zeros((4, 2)), np.array([3, 3, 3, 5])
    tree = DecisionTreeClassifier().fit(X, y)
    np.testing.assert_array_equal(labels_by_predict(tree, [[], []]), [[0]])


def test_adversarial_rows_reach_what_they_should(forest_and_cuts):
    _, cuts = forest_and_cuts
    X = adversarial_rows(cuts, np.random.default_rng(2), 5000)
    assert X.shape == (5000, 3)
    assert X.dtype == np.float64
    assert np.isfinite(X.astype(np.float32)).all()
    assert np.abs(X).max() == FLOAT32_MAX
    for j, axis in enumerate(cuts):
        for cut in axis:
            assert (X[:, j] == cut).any()
            assert (X[:, j] == np.nextafter(cut, np.inf)).any()
            assert (X[:, j] == np.nextafter(np.float32(cut), np.float32(np.inf))).any()
        counts = np.bincount(np.searchsorted(axis, X[:, j]), minlength=len(axis) + 1)
        assert counts.min() > 0


def test_adversarial_rows_at_the_ends_of_float32():
    cuts = [np.array([-FLOAT32_MAX, np.nextafter(np.float32(FLOAT32_MAX), np.float32(0))])]
    X = adversarial_rows(cuts, np.random.default_rng(3), 500)
    assert np.isfinite(X.astype(np.float32)).all()
