"""A forest's own training rows: what is said of them would hold on new rows, or is not said."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.metrics import accuracy_score, r2_score

from ensemble_simplify import simplify
from ensemble_simplify.reading import out_of_bag


@pytest.fixture(scope="module")
def noise():
    """Labels that nothing tells; the forest has learned them by heart."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 4)), rng.integers(2, size=300)
    return X, y, RandomForestClassifier(40, random_state=0).fit(X, y)


def rows_of(outcome):
    return {row.name: row for row in outcome.table}


def test_labels_that_a_forest_knows_by_heart_are_no_accuracy(noise):
    X, y, forest = noise
    outcome = simplify(forest, X, y, methods="representer", max_leaves=8, random_state=0)
    rows = rows_of(outcome)
    # that of its out-of-bag answers, where that of its own would be 1
    own = accuracy_score(y, out_of_bag(forest, X)[0])
    assert rows["model"].accuracy == own < 0.6
    # trees that learned the forest's answers to other rows know something of these
    for name in ("plain_tree", "representer"):
        assert np.isnan(rows[name].accuracy)
        assert np.isnan(outcome[name].accuracy_)
        assert rows[name].agreement < 1
    assert rows["plain_tree_on_y"].accuracy < 0.6
    assert np.isnan(outcome.verdict.tree_accuracy)
    assert "is right on" not in outcome.verdict.text
    assert "out-of-bag answers are compared" in outcome.notes[0]
    assert "out-of-bag answers are compared" in " ".join(outcome.report().split())


def test_other_rows_have_an_accuracy(noise):
    X, y, forest = noise
    outcome = simplify(forest, X[::-1], y[::-1], methods="representer", max_leaves=8)
    assert np.isfinite(rows_of(outcome)["representer"].accuracy)


def test_regression():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    y = X[:, 0] + rng.normal(size=300)
    forest = RandomForestRegressor(40, random_state=0).fit(X, y)
    rows = rows_of(simplify(forest, X, y, methods="representer", max_leaves=8, random_state=0))
    assert rows["model"].accuracy == pytest.approx(r2_score(y, out_of_bag(forest, X)[0]))
    assert np.isnan(rows["representer"].accuracy)
    assert np.isfinite(rows["plain_tree_on_y"].accuracy)
