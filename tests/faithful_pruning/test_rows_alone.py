"""A promise about rows alone: weights at leaves that are kept, and effort in proportion."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator

from ensemble_simplify import FaithfulPruner
from ensemble_simplify.faithful_pruning import _pruning
from ensemble_simplify.faithful_pruning._promise import NearRows, Votes
from ensemble_simplify.grid.axes import Axes
from ensemble_simplify.reading.forest import read_forest


@pytest.mark.parametrize("held", [1, 1 << 21])
def test_rows_that_weights_answer_otherwise_are_those_of_the_trees_themselves(held, monkeypatch):
    """The truth is what scikit-learn's trees say, weighted; batches of one row or all at once."""
    monkeypatch.setattr("ensemble_simplify.faithful_pruning._promise.HELD", held)
    X, y = load_iris(return_X_y=True)
    X = X.astype(np.float32)
    model = RandomForestClassifier(12, max_depth=3, random_state=0).fit(X, y)
    forest = read_forest(model)
    axes = Axes.of(forest)
    cells = axes.encode_rows(X).T
    promise = NearRows(Votes(forest), axes, None, cells, 0)
    assert promise.leaves.dtype == np.uint8
    first = [np.flatnonzero((cells == cell).all(axis=1))[0] for cell in promise.cells]
    said = np.array([tree.predict_proba(X[first]) for tree in model.estimators_])
    rng = np.random.default_rng(0)
    for _ in range(5):
        weights = rng.random(12) * (rng.random(12) < 0.4)
        weights[0] += 0.1
        total = np.tensordot(weights, said, 1)
        top = np.sort(total, axis=1)
        # where classes are all but tied, the order of a sum decides
        clear = top[:, -1] - top[:, -2] > 1e-9
        differs = total.argmax(axis=1) != model.predict(X[first])
        rows = np.concatenate([row for row, _ in promise._apart(weights)])
        assert clear.sum() > 50
        np.testing.assert_array_equal(np.isin(np.arange(len(first)), rows)[clear], differs[clear])
        lead = top[:, -1] - top[:, -2]
        if not differs.any():
            assert promise.least_lead(weights) == pytest.approx(lead.min())


def test_large_programs_get_less_effort(monkeypatch):
    X, y = load_breast_cancer(return_X_y=True)
    model = GradientBoostingClassifier(n_estimators=15, max_depth=2, random_state=0).fit(X, y)

    def pruned(method="auto"):
        options = {"max_changes": 0, "method": method, "random_state": 0}
        return FaithfulPruner(FrozenEstimator(model), **options).fit(X, y)

    whole = pruned()
    monkeypatch.setattr(_pruning, "ENTRIES", 1)
    quick = pruned()
    np.testing.assert_array_equal(quick.predict(X), model.predict(X))
    np.testing.assert_array_equal(quick.weights_, pruned("heuristic").weights_)
    assert quick.n_trees_lower_bound_ < whole.n_trees_lower_bound_ <= whole.n_trees_
    assert pruned("exact").n_trees_lower_bound_ >= whole.n_trees_lower_bound_
