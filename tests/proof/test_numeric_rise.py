"""What the trees of two rows add up to once they are joined, against every cell.

The questions that are answered by them are asked in tests/audit.
"""

import numpy as np
import pytest
from coded_trees import all_cells
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from strategies import CLASSIFIERS, REGRESSORS, rows_of_cells, small_data

from ensemble_simplify.audit._audited import Audited
from ensemble_simplify.audit._pairs import Pairs
from ensemble_simplify.grid import leaves_of_cells
from ensemble_simplify.grid.thresholds import cut_points
from ensemble_simplify.proof import joined_trees, rising_sums
from ensemble_simplify.proof.joined_trees import JoinedPair, without_equal_leaves


def sums_at(nodes, offsets, numbers, cells):
    leaves = np.empty((len(offsets) - 1, len(cells)), dtype=np.intp)
    leaves_of_cells(nodes, offsets, cells, leaves)
    return numbers[leaves].sum(axis=0)


def pairs_of(kind, features, seed=1):
    X, y = small_data(seed, n_classes=2)
    model = CLASSIFIERS[kind](seed).fit(X, y)
    return model, Pairs(Audited(model, None), features)


@pytest.mark.parametrize("twins", [None, "common", "all"])
@pytest.mark.parametrize("kind", ["forest", "forest_stumps", "boosting", "extra_trees"])
def test_twins_add_up_to_the_difference(kind, twins, monkeypatch):
    for room in (joined_trees.MAX_OF_TWINS, 3):
        monkeypatch.setattr(joined_trees, "MAX_OF_TWINS", room)
        model, pairs = pairs_of(kind, [1])
        sums = [rising_sums(forest, 1)[0] for forest in pairs.forests]
        trees = [pairs.axes.encode_forest(forest) for forest in pairs.forests]
        pair = JoinedPair(sums, [np.zeros(1, dtype=np.intp)] * 2, trees, pairs.axes, twins)
        cells = np.array(all_cells(*(end.tolist() for end in pairs.axes.whole)), dtype=np.int32)
        numbers = pair.leaves[0] - pair.leaves[1]
        found = sums_at(pair.trees.nodes, pair.trees.offsets, numbers, cells)[:, 0]
        odds = [
            np.log(answers[:, 1] / answers[:, 0]) if kind == "boosting" else answers[:, 1]
            for answers in map(model.predict_proba, pairs.rows(cells))
        ]
        np.testing.assert_allclose(found, odds[0] - odds[1], atol=1e-9)
        bound = pair.trees.most(numbers)[0]
        assert bound >= found.max() - 1e-12
        nodes, offsets, fewer = without_equal_leaves(pair.trees.nodes, pair.trees.offsets, numbers)
        np.testing.assert_array_equal(
            sums_at(nodes, offsets, fewer, cells),
            sums_at(pair.trees.nodes, pair.trees.offsets, numbers, cells),
        )
        assert len(fewer) <= len(numbers)
        inner = np.flatnonzero(nodes[:, 0] >= 0)
        # no split is left whose two leaves are the same
        both = [at for at in inner if nodes[at, 2] == 3]
        assert all((fewer[nodes[at + 1, 1]] != fewer[nodes[at + 2, 1]]).any() for at in both)


def test_bounds_of_twins_are_closer():
    _, pairs = pairs_of("forest", [1])
    sums = [rising_sums(forest, 1)[0] for forest in pairs.forests]
    trees = [pairs.axes.encode_forest(forest) for forest in pairs.forests]
    bounds = []
    for twins in (None, "all"):
        pair = JoinedPair(sums, [np.zeros(1, dtype=np.intp)] * 2, trees, pairs.axes, twins)
        bounds.append(pair.trees.most(pair.leaves[0] - pair.leaves[1])[0])
    assert bounds[1] < bounds[0]


@pytest.mark.parametrize("column", [0, 1, 2])
@pytest.mark.parametrize("kind", ["boosting", "adaboost", "forest", "voting_soft_weights"])
def test_sums_with_which_a_probability_rises(kind, column):
    X, y = small_data(2, n_classes=3)
    model = CLASSIFIERS[kind](2).fit(X, y)
    forest = Audited(model, None).forest
    sums, answers = rising_sums(forest, column)
    rows = rows_of_cells(cut_points(forest.feature, forest.threshold, 3))
    leaves = forest.apply(rows).T
    found = sums.start + sums.value[leaves].sum(axis=0)
    if answers == "odds":
        found = 1 / (1 + np.exp(-found).sum(axis=1, keepdims=True))
    expected = model.predict_proba(rows)[:, column]
    np.testing.assert_allclose(found[:, 0], expected, atol=sums.rounding + 1e-12)
    # the terms are in the order of what the leaves add
    for k in range(sums.value.shape[1]):
        order = np.argsort(sums.terms[:, k], kind="stable")
        assert (np.diff(sums.value[order, k]) >= 0).all() or kind == "voting_soft_weights"


def test_values_and_what_is_no_such_sum():
    X, y = small_data(2, n_classes=3)
    values = REGRESSORS["boosting"](0).fit(X, X[:, 0] + X[:, 1])
    sums, kind = rising_sums(Audited(values, None).forest, 0)
    assert kind is None
    assert sums.value.shape[1] == 1
    for kind in ("voting_hard", "voting_boosted"):
        model = CLASSIFIERS[kind](0).fit(X, y)
        assert rising_sums(Audited(model, None).forest, 0)[0] is None


def test_two_classes_have_opposite_odds():
    X, y = small_data(2, n_classes=2)
    for make in (GradientBoostingClassifier, RandomForestClassifier):
        model = make(n_estimators=3, max_depth=2, random_state=0).fit(X, y)
        lower, upper = (rising_sums(Audited(model, None).forest, k)[0] for k in (0, 1))
        if make is GradientBoostingClassifier:
            np.testing.assert_array_equal(lower.value, -upper.value)
            np.testing.assert_array_equal(lower.terms, -upper.terms)
        else:
            inner = upper.value[:, 0] + lower.value[:, 0]
            np.testing.assert_allclose(inner, 1 / 3, atol=1e-12)
