"""Broken ensembles and node arrays are refused with a clear error, or answered for exactly.

``python -m benchmarks.fuzz`` looks at more of them.
"""

import numpy as np
import pytest
from malformed import CHECKS, break_node, cut_to_root, was_refused
from oracles import trees_of
from sklearn.ensemble import RandomForestClassifier, VotingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.tree import DecisionTreeClassifier
from strategies import CLASSIFIERS, small_data

from ensemble_simplify import (
    BornAgainClassifier,
    FeatureBudgetPruner,
    InterpretableSingleModel,
    RepresenterTree,
    merge_trees,
    verify,
)
from ensemble_simplify.reading.forest import read_forest

#: Seeds that once crashed, hung or answered wrongly: duplicate classes, a weight that is not a
#: number, nodes that no root reaches, values that overflow, features of a nested subset, classes
#: in another order.
FOUND = [4, 10, 52, 76, 175, 1104, 1760, 1972, 2040, 10155, 10193, 10243]


def compiled(estimator):
    return [tree.tree_ for tree in trees_of(estimator)]


@pytest.mark.parametrize("name", sorted(CHECKS))
def test_broken_input(name):
    refused = {what for seed in range(120) for what in CHECKS[name](seed)}
    expected = {
        "ensemble": {"read_forest", "born_again", "verify", "estimate", "pruner", "merge_trees"},
        "boosting": {"read_forest of hist"},
        "writer": {"preorder", "apply_nodes", "write_classifier", "write_regressor"},
    }
    assert refused >= expected[name]


@pytest.mark.parametrize("seed", FOUND)
def test_what_was_found_stays_mended(seed):
    CHECKS["ensemble"](seed)


@pytest.mark.parametrize("kind", ["tree", "forest", "bagging_forests", "boosting", "voting_soft"])
def test_every_change_of_a_child_is_seen(kind):
    """No child but the right one passes: each makes a cycle, a gap or a second parent."""
    X, y = small_data(3)
    estimator = CLASSIFIERS[kind](3).fit(X, y)
    for tree in compiled(estimator)[:2]:
        for children in (tree.children_left, tree.children_right):
            for node in np.flatnonzero(children >= 0):
                kept = children[node]
                for child in {-2, 0, int(node), tree.node_count, 2**40} - {int(kept)}:
                    children[node] = child
                    with pytest.raises(ValueError, match=r"damaged tree: in tree .* node .*Fit it"):
                        read_forest(estimator)
                children[node] = kept
    read_forest(estimator)


def test_trees_cut_back_by_hand_are_trees_for_every_method():
    X, y = small_data(1)
    forest = CLASSIFIERS["forest"](1).fit(X, y)
    cut_to_root(compiled(forest)[0])
    frozen = FrozenEstimator(forest)
    rows = np.random.default_rng(0).normal(size=(500, X.shape[1]))
    assert BornAgainClassifier(frozen).fit(X, y).verify().equal
    merged = merge_trees([forest])
    np.testing.assert_allclose(merged.predict_proba(rows), forest.predict_proba(rows), atol=1e-12)
    for labels in ("tree", "sample"):
        pruner = FeatureBudgetPruner(frozen, labels=labels, drop_trees=False).fit(X, y)
        assert pruner.pruned_estimator_.estimators_[0].get_n_leaves() == 1
        again = FeatureBudgetPruner(
            FrozenEstimator(pruner.pruned_estimator_), labels=labels, lam=0
        ).fit(X, y)
        assert again.error_ == pytest.approx(pruner.error_)
    InterpretableSingleModel(frozen).fit(X, y)
    RepresenterTree(frozen, random_state=0).fit(X, y)


def test_a_thousand_classes():
    rng = np.random.default_rng(0)
    X, y = rng.random((2000, 3)), np.arange(2000) % 1000
    tree = DecisionTreeClassifier(max_leaf_nodes=6, random_state=0).fit(X, y)
    forest = RandomForestClassifier(2, max_leaf_nodes=4, max_features=1, random_state=0).fit(X, y)
    rows = rng.random((300, 3))
    for model in (tree, forest):
        found = read_forest(model)
        assert found.n_classes == 1000
        np.testing.assert_array_equal(found.classes[found.predict_index(rows)], model.predict(rows))
        again = BornAgainClassifier(FrozenEstimator(model)).fit(X, y)
        np.testing.assert_array_equal(again.predict(rows), model.predict(rows))
        assert again.verify().equal
        merged = merge_trees([model])
        np.testing.assert_allclose(merged.predict_proba(rows), model.predict_proba(rows))


def test_trees_of_one_node_each():
    X, y = small_data(0)
    forest = RandomForestClassifier(3, max_leaf_nodes=2, random_state=0).fit(X, y)
    for tree in compiled(forest):
        cut_to_root(tree)
    stumps = DecisionTreeClassifier().fit(X[:1], y[:1])
    for model in (forest, stumps):
        frozen = FrozenEstimator(model)
        rows = y if model is forest else np.repeat(y[:1], len(X))
        again = BornAgainClassifier(frozen).fit(X, rows)
        assert (again.depth_, again.n_leaves_) == (0, 1)
        assert merge_trees([model]).get_n_leaves() == 1
        assert FeatureBudgetPruner(frozen).fit(X, rows).cost_ == 0
        assert verify(model, again).equal


def test_thresholds_beyond_float32_split_nothing():
    X, y = small_data(2)
    forest = CLASSIFIERS["forest"](2).fit(X, y)
    rows = np.random.default_rng(0).choice([-3.4e38, -1.0, 0.0, 1e-45, 3.4e38], (400, X.shape[1]))
    for number in (np.inf, -np.inf, 1e300, -1e300, 3.5e38, -3.5e38):
        for tree in compiled(forest):
            tree.threshold[0] = number
        again = BornAgainClassifier(FrozenEstimator(forest)).fit(X, y)
        assert again.verify().equal
        np.testing.assert_array_equal(again.predict(rows), forest.predict(rows))
        merged = merge_trees([forest])
        np.testing.assert_allclose(merged.predict_proba(rows), forest.predict_proba(rows))
    compiled(forest)[1].threshold[0] = np.nan
    with pytest.raises(ValueError, match="threshold that is not a number"):
        BornAgainClassifier(FrozenEstimator(forest)).fit(X, y)


@pytest.mark.parametrize(
    ("attribute", "value", "message"),
    [
        ("classes_", np.array(["ant", "bee", "bee"]), "not distinct"),
        ("classes_", np.array(["ant", "bee"]), "has 2 classes_, but its trees vote for 3|share"),
        ("n_features_in_", 2, "gives 2 features to a member"),
        ("estimators_", [], "empty estimators_"),
    ],
)
def test_attributes_that_contradict_the_trees(attribute, value, message):
    X, y = small_data(0)
    forest = CLASSIFIERS["forest"](0).fit(X, y)
    setattr(forest, attribute, value)
    with pytest.raises(ValueError, match=message):
        read_forest(forest)


def test_feature_subsets_are_features():
    X, y = small_data(0)
    bagging = CLASSIFIERS["bagging_subsets"](0).fit(X, y)
    bagging.estimators_features_ = [-subset - 1 for subset in bagging.estimators_features_]
    with pytest.raises(ValueError, match=r"estimators_features_\[0\]=.* not all features"):
        read_forest(bagging)
    bagging.estimators_features_ = bagging.estimators_features_[:2]
    with pytest.raises(ValueError, match="for 2 members, but 5"):
        read_forest(bagging)


@pytest.mark.parametrize("weights", [[np.nan, 1, 1], [np.inf, 1, 1], [1, -1, 0]])
def test_weights_of_a_vote_are_numbers(weights):
    X, y = small_data(0)
    members = [(str(i), DecisionTreeClassifier(max_depth=i)) for i in (1, 2, 3)]
    vote = VotingClassifier(members, voting="soft").fit(X, y)
    vote.weights = weights
    with pytest.raises(ValueError, match="must be finite"):
        read_forest(vote)


def test_sums_that_overflow():
    X, y = small_data(0)
    boosted = CLASSIFIERS["boosting"](0).fit(X, y)
    for tree in compiled(boosted):
        tree.value[:] = 1.7e308  # times the learning rate, 0.1, in 12 trees
    with pytest.raises(ValueError, match="sums are not finite"):
        read_forest(boosted)


def test_the_fuzzer_can_fail():
    """An error from elsewhere, or a short one, is no refusal."""
    with pytest.raises(ValueError, match="invalid literal"):
        was_refused(lambda: int("no number at all"))
    with pytest.raises(IndexError):
        was_refused(lambda: read_forest(DecisionTreeClassifier().fit([[0]], [0])).left[7])
    rng = np.random.default_rng(0)
    X, y = small_data(0)
    tree = DecisionTreeClassifier().fit(X, y)
    before = tree.tree_.__getstate__()["nodes"].tobytes()
    changed = [field for _ in range(9) for field in break_node(tree.tree_, rng)]
    assert len(changed) >= 9
    assert before != tree.tree_.__getstate__()["nodes"].tobytes()
