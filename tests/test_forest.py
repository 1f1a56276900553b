"""The forest that is read decides exactly as the ensemble does."""

import numpy as np
import pytest
from hypothesis import given
from strategies import (
    CLASSIFIERS,
    REGRESSORS,
    cell_points,
    edge_points,
    fitted_classifiers,
    small_data,
)

from ensemble_simplify._forest import read_forest, tree_estimators


def points(model, forest, seed=0):
    """Rows where a reader could go wrong."""
    stored = [tree.tree_.threshold for tree, _ in tree_estimators(model)]
    edges = edge_points(np.concatenate(stored), forest.n_features, seed=seed)
    return np.concatenate([cell_points(forest, seed=seed), edges])


def assert_same_labels(model, X):
    forest = read_forest(model)
    X = points(model, forest)
    np.testing.assert_array_equal(forest.classes[forest.predict_index(X)], model.predict(X))


@pytest.mark.parametrize("n_classes", [2, 3, 4])
@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_every_classifier(kind, n_classes):
    for seed in range(3):
        X, y = small_data(seed, n_classes=n_classes)
        assert_same_labels(CLASSIFIERS[kind](seed).fit(X, y), X)


@given(fitted_classifiers())
def test_any_classifier(fitted):
    model, X, _ = fitted
    assert_same_labels(model, X)


@pytest.mark.parametrize("kind", REGRESSORS)
def test_every_regressor(kind):
    for seed in range(3):
        X, y = small_data(seed, labels="plain")
        model = REGRESSORS[kind](seed).fit(X, y + np.sin(X[:, 1]))
        forest = read_forest(model)
        X = points(model, forest)
        np.testing.assert_array_equal(forest.predict_index(X), model.predict(X))
