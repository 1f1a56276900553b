"""merge_trees: the exact mean of fitted trees, on rows with missing values too."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import adversarial_rows, thresholds_of
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    RandomForestClassifier,
)
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, export_text

from ensemble_simplify import merge_trees
from ensemble_simplify.base.limits import TimeLimitError


@given(st.integers(0, 10**6), st.integers(2, 4), st.sampled_from([2, 3, 5]))
def test_merged_tree_is_the_exact_mean(seed, k, depth):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(80, 4)).round(1)
    y = rng.integers(0, 3, 80)
    trees = [
        DecisionTreeClassifier(max_depth=depth, random_state=i, splitter="random").fit(
            X[rng.integers(0, 80, 80)], y
        )
        for i in range(k)
    ]
    merged = merge_trees(trees)
    points = adversarial_rows(thresholds_of(*trees), rng, 2000)
    points = np.vstack([points, rng.normal(size=(500, 4))])
    mean = np.mean([tree.predict_proba(points) for tree in trees], axis=0)
    np.testing.assert_allclose(merged.predict_proba(points), mean, atol=1e-12)
    # One leaf for every intersection; none is empty, so each can be met on a grid of points.
    leaves = np.column_stack([tree.apply(points) for tree in trees])
    assert len(np.unique(leaves, axis=0)) <= merged.get_n_leaves()
    own = merged.apply(points)
    assert len(np.unique(np.column_stack([leaves, own]), axis=0)) == len(np.unique(own))


@pytest.mark.parametrize("class_weight", [None, "balanced"])
def test_shrinkage_is_taken_in_every_tree_and_keeps_the_labels_of_the_mean(class_weight):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4)).round(1)
    y = np.searchsorted([-0.8, 0.7], X[:, 0] * X[:, 1] + rng.normal(scale=0.5, size=300))
    trees = [
        DecisionTreeClassifier(
            min_samples_leaf=2, class_weight=class_weight, random_state=i, splitter="random"
        ).fit(X[i::3], y[i::3], sample_weight=rng.integers(1, 4, 100))
        for i in range(3)
    ]
    points = rng.normal(size=(1000, 4))
    plain, shrunk = merge_trees(trees), merge_trees(trees, shrinkage=4)
    np.testing.assert_array_equal(shrunk.apply(points), plain.apply(points))
    np.testing.assert_array_equal(shrunk.predict(points), plain.predict(points))

    def by_hand(tree, path):
        """The probabilities at the end of a path, from the fractions on it."""
        t = tree.tree_
        n, fraction = t.weighted_n_node_samples[path], t.value[path, 0]
        total = fraction[0] = (n[0] * fraction[0] + 1 / 3) / (n[0] + 1)
        for i in range(1, len(path)):
            total = total + (fraction[i] - fraction[i - 1]) * n[i - 1] / (n[i - 1] + 4)
        return total

    want = np.zeros((len(points), 3))
    for tree in trees:
        paths = tree.decision_path(points)
        for row in range(len(points)):
            want[row] += by_hand(tree, np.sort(paths[row].indices)) / 3
    kept = want.argmax(axis=1) == plain.predict(points)
    assert 0.5 < kept.mean() < 1
    np.testing.assert_allclose(shrunk.predict_proba(points)[kept], want[kept], atol=1e-12)
    assert shrunk.predict_proba(points).min() > 0
    np.testing.assert_allclose(shrunk.predict_proba(points).sum(axis=1), 1.0, atol=1e-12)


def test_a_shrunk_copy_of_a_shrunk_tree_starts_from_its_leaves():
    """Counts of inner nodes are the sums of the leaves', whatever values the nodes have."""
    X, y = load_iris(return_X_y=True)
    tree = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)
    once = merge_trees([tree], shrinkage=5)
    np.testing.assert_array_equal(once.predict(X), tree.predict(X))
    other = merge_trees([tree])
    other.tree_.value[other.tree_.children_left >= 0] = 1 / 3
    np.testing.assert_allclose(
        merge_trees([other], shrinkage=5).predict_proba(X), once.predict_proba(X), atol=1e-12
    )


@pytest.mark.parametrize("shrinkage", [-1, np.nan, np.inf, "much"])
def test_shrinkage_is_a_number(shrinkage):
    tree = DecisionTreeClassifier().fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(ValueError, match="shrinkage"):
        merge_trees([tree], shrinkage=shrinkage)


def test_merging_a_tree_with_itself_is_the_tree():
    X, y = load_breast_cancer(return_X_y=True)
    for seed in range(6):
        tree = DecisionTreeClassifier(random_state=seed, max_features=5).fit(X, y)
        for k in (1, 2, 3):
            merged = merge_trees([tree] * k)
            np.testing.assert_array_equal(merged.tree_.feature, tree.tree_.feature)
            np.testing.assert_array_equal(merged.tree_.children_left, tree.tree_.children_left)
            np.testing.assert_array_equal(merged.tree_.children_right, tree.tree_.children_right)
            np.testing.assert_array_equal(merged.apply(X), tree.apply(X))
            leaf = tree.tree_.feature < 0
            np.testing.assert_allclose(merged.tree_.value[leaf], tree.tree_.value[leaf], atol=1e-12)
            np.testing.assert_allclose(
                merged.tree_.weighted_n_node_samples, k * tree.tree_.weighted_n_node_samples
            )


def test_sites_with_different_classes_and_weights():
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    first = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X[y < 2], names[y < 2])
    second = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X[y > 0], names[y > 0])
    merged = merge_trees([first, FrozenEstimator(second)], weights=[100, 300])
    assert merged.classes_.tolist() == ["setosa", "versicolor", "virginica"]
    want = np.zeros((150, 3))
    want[:, :2] += 0.25 * first.predict_proba(X)
    want[:, 1:] += 0.75 * second.predict_proba(X)
    np.testing.assert_allclose(merged.predict_proba(X), want, atol=1e-12)


@pytest.mark.parametrize(
    "forest",
    [
        RandomForestClassifier(4, max_depth=3, random_state=0),
        ExtraTreesClassifier(3, max_depth=3, random_state=0),
        BaggingClassifier(DecisionTreeClassifier(max_depth=3), 3, max_features=0.5, random_state=0),
    ],
    ids=lambda forest: type(forest).__name__,
)
def test_forest_becomes_its_one_tree(forest):
    X, y = load_wine(return_X_y=True)
    forest.fit(X, y)
    merged = merge_trees([forest])
    rng = np.random.default_rng(0)
    points = rng.uniform(X.min(axis=0), X.max(axis=0), size=(3000, X.shape[1]))
    np.testing.assert_allclose(
        merged.predict_proba(points), forest.predict_proba(points), atol=1e-12
    )
    alone = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y)
    both = merge_trees([forest, alone], weights=[1, 3])
    want = 0.25 * forest.predict_proba(points) + 0.75 * alone.predict_proba(points)
    np.testing.assert_allclose(both.predict_proba(points), want, atol=1e-12)


def test_merged_tree_is_a_usable_scikit_learn_tree():
    pandas = pytest.importorskip("pandas")
    X, y = load_iris(return_X_y=True, as_frame=True)
    trees = [
        DecisionTreeClassifier(max_depth=3, random_state=i, max_features=2).fit(X, y)
        for i in range(3)
    ]
    merged = merge_trees(trees)
    assert merged.feature_names_in_.tolist() == list(X.columns)
    assert "petal" in export_text(merged, feature_names=list(X.columns))
    assert merged.feature_importances_.sum() == pytest.approx(1.0)
    assert np.array_equal(pickle.loads(pickle.dumps(merged)).predict(X), merged.predict(X))
    other = DecisionTreeClassifier().fit(pandas.DataFrame(X.values, columns=list("abcd")), y)
    with pytest.raises(ValueError, match=r"models\[1\] was fitted on the features"):
        merge_trees([trees[0], other])


def test_merge_trees_rejects_bad_input():
    X, y = load_iris(return_X_y=True)
    tree = DecisionTreeClassifier(random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="models is empty"):
        merge_trees([])
    with pytest.raises(TypeError, match="'models' parameter"):
        merge_trees(tree)
    with pytest.raises(NotFittedError):
        merge_trees([DecisionTreeClassifier()])
    with pytest.raises(TypeError, match="regressor"):
        merge_trees([DecisionTreeRegressor().fit(X, y)])
    with pytest.raises(ValueError, match=r"models\[1\] was fitted on 2 features"):
        merge_trees([tree, DecisionTreeClassifier().fit(X[:, :2], y)])
    with pytest.raises(TypeError, match="mean of its trees"):
        merge_trees([AdaBoostClassifier(n_estimators=3).fit(X, y)])
    with pytest.raises(ValueError, match="max_leaf_nodes=3"):
        merge_trees([tree], max_leaf_nodes=3)
    with pytest.raises(ValueError, match="max_leaf_nodes=3"):
        merge_trees([tree, tree], max_leaf_nodes=3)
    with pytest.raises(ValueError, match="time_limit"):
        merge_trees([tree], time_limit=0)
    with pytest.raises(ValueError, match="weights"):
        merge_trees([tree, tree], weights=[1])
    with pytest.raises(ValueError, match="weights"):
        merge_trees([tree, tree], weights=[1, -1])
    with pytest.raises(ValueError, match="mix text labels and numbers"):
        merge_trees([tree, DecisionTreeClassifier().fit(X, y.astype(str))])


def test_out_of_time_has_its_own_error():
    X, y = load_digits(return_X_y=True)
    forest = RandomForestClassifier(30, random_state=0).fit(X, y)
    with pytest.raises(TimeLimitError, match=r"time_limit=0\.01"):
        merge_trees([forest], max_leaf_nodes=10**9, time_limit=0.01)


# ---------------------------------------------------------------- missing values


def data_with_gaps(seed, n=150, n_features=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n_features)).round(1)
    X[rng.random(X.shape) < 0.3] = np.nan
    # Whether a value is missing tells something about the class.
    y = (np.nan_to_num(X[:, 0]) > 0).astype(int) + np.isnan(X[:, 1])
    return X, y


def rows_with_gaps(trees, n_features, rng):
    rows = adversarial_rows(thresholds_of(*trees), rng, 2000)
    rows[rng.random(rows.shape) < 0.4] = np.nan
    return rows


@given(st.integers(0, 10**6), st.sampled_from(["best", "random"]), st.integers(1, 5))
def test_one_tree_is_copied_with_the_ways_of_missing_values(seed, splitter, depth):
    X, y = data_with_gaps(seed)
    tree = DecisionTreeClassifier(max_depth=depth, splitter=splitter, random_state=0).fit(X, y)
    rows = rows_with_gaps([tree], 3, np.random.default_rng(seed))
    for model in (tree, FrozenEstimator(tree)):
        merged = merge_trees([model])
        np.testing.assert_allclose(merged.predict_proba(rows), tree.predict_proba(rows))
        assert merged.get_n_leaves() == tree.get_n_leaves()
    bag = BaggingClassifier(tree, 1, max_features=2, random_state=seed).fit(X, y)
    np.testing.assert_allclose(merge_trees([bag]).predict_proba(rows), bag.predict_proba(rows))


@given(st.integers(0, 10**6), st.integers(1, 3), st.booleans())
def test_mean_of_trees_fitted_on_missing_values(seed, depth, bagged):
    """Some trees saw missing values, one did not: all say where they send them."""
    X, y = data_with_gaps(seed)
    trees = [
        DecisionTreeClassifier(max_depth=depth, splitter="random", random_state=i).fit(X, y)
        for i in range(2)
    ]
    trees.append(DecisionTreeClassifier(max_depth=depth).fit(np.nan_to_num(X), y))
    models = list(trees)
    if bagged:
        models.append(BaggingClassifier(trees[0], 2, max_features=2, random_state=0).fit(X, y))
    merged = merge_trees(models, allow_nan=True)
    rng = np.random.default_rng(seed)
    for rows in (rows_with_gaps(trees, 3, rng), adversarial_rows(thresholds_of(*trees), rng, 2000)):
        mean = np.mean([model.predict_proba(rows) for model in models], axis=0)
        np.testing.assert_allclose(merged.predict_proba(rows), mean, atol=1e-12)


def test_several_trees_fitted_on_missing_values_are_not_merged_unasked():
    X, y = data_with_gaps(0, n=400)
    forest = RandomForestClassifier(5, max_depth=4, random_state=0)
    with pytest.raises(ValueError, match=r"models\[0\]=RandomForest.*allow_nan=True"):
        merge_trees([forest.fit(X, y)])
    merged = merge_trees([forest], allow_nan=True)
    np.testing.assert_allclose(merged.predict_proba(X), forest.predict_proba(X), atol=1e-12)
    whole = DecisionTreeClassifier(max_depth=2).fit(np.nan_to_num(X), y)
    with pytest.raises(ValueError, match=r"models\[1\]=RandomForestClassifier"):
        merge_trees([whole, forest])
    # Merged trees, whose splits all send missing values right, are no sign of them.
    merge_trees([merge_trees([whole, whole]), whole])
