"""The inducers against SciPy's tests, exhaustive search and their own definitions."""

import numpy as np
import pytest
from ensemble_simplify.genesim.inducers._statistics import quartile_groups
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, stats
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.ensemble import BaggingClassifier
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from ensemble_simplify import C45Tree, GenesimClassifier, GuideTree, QuestTree
from ensemble_simplify.genesim.inducers import _inducers
from ensemble_simplify.genesim.inducers._inducers import error_limit, splits_of_bags

INDUCERS = [C45Tree, QuestTree, GuideTree]


@parametrize_with_checks([inducer() for inducer in INDUCERS])
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


def nodes_of(X, y, weight=None, n_nodes=1):
    """The same rows `n_nodes` times as the nodes of one depth."""
    weight = np.ones(len(y)) if weight is None else np.asarray(weight, dtype=np.float64)
    totals = np.bincount(y, weight)
    return _inducers._Level(
        np.ascontiguousarray(X, dtype=np.float32),
        y.astype(np.intp),
        np.tile(np.arange(len(y)), n_nodes),
        np.tile(weight, n_nodes),
        len(y) * np.arange(n_nodes + 1),
        np.tile(totals, (n_nodes, 1)),
    )


def test_error_limits_are_those_of_quinlans_book():
    """C4.5 interpolates the last one (0.157); ours is the binomial limit itself."""
    np.testing.assert_allclose(
        error_limit([0, 0, 0], [6, 9, 1], 0.25), [0.206, 0.143, 0.75], atol=6e-4
    )
    assert error_limit(1, 16, 0.25) == pytest.approx(0.157, abs=3e-3)
    assert error_limit(3, 3, 0.25) == 1.0
    limit = float(error_limit(4, 20, 0.1))
    assert stats.binom.cdf(4, 20, limit) == pytest.approx(0.1)


def test_quinlans_example_of_pruning():
    """Three leaves with 6, 9 and 1 cases and no error become one leaf with one error."""
    # Beside it, a tree that is a leaf from the start.
    levels = [
        (np.array([2, -1]), np.array([0, -1]), np.zeros(2), np.array([[15.0, 1], [1, 0]])),
        (np.array([-1, 4]), np.array([-1, 0]), np.zeros(2), np.array([[6.0, 0], [9, 1]])),
        (np.array([-1, -1]), np.array([-1, -1]), np.zeros(2), np.array([[9.0, 0], [0, 1]])),
    ]
    at = np.repeat([2, 4, 5, 1], [6, 9, 1, 1])
    columns, first, leaf = _inducers._pruned(levels, at, 0.25)
    assert first.tolist() == [0, 1, 2]
    assert columns[0].tolist() == [-1, -1]
    assert leaf.tolist() == [0] * 16 + [1]
    columns, first, leaf = _inducers._pruned(levels, at, None)
    assert first.tolist() == [0, 5, 6]
    left, right = columns[:2]
    assert left.tolist() == [1, -1, 3, -1, -1, -1]
    assert right.tolist() == [2, -1, 4, -1, -1, -1]
    assert leaf.tolist() == [1] * 6 + [3] * 9 + [4] + [5]


@given(st.integers(0, 10**6))
def test_p_values_are_those_of_scipy(seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, 40)
    y[:3] = range(3)
    X = rng.normal(size=(40, 4)).round(1) + y[:, None] * [0, 0.3, 1, 0]
    X = X.astype(np.float32).astype(np.float64)

    def tested(X, y, test=stats.f_oneway):
        return [test(*[column[y == k] for k in range(3)]).pvalue for column in X.T]

    want = tested(X, y)
    for p in nodes_of(X, y, n_nodes=3).variance_p():
        np.testing.assert_allclose(p, want, rtol=1e-6)
    # Weights are frequencies.
    times = rng.integers(1, 4, 40)
    repeated = np.repeat(X, times, axis=0), np.repeat(y, times)
    nodes = nodes_of(X, y, times)
    np.testing.assert_allclose(nodes.variance_p(), [tested(*repeated)], rtol=1e-6)

    def levene(*groups):
        return stats.levene(*groups, center="mean")

    np.testing.assert_allclose(
        nodes.variance_p(spread=True), [tested(*repeated, levene)], rtol=1e-6
    )
    groups = rng.integers(0, 4, (40, 4))
    groups[:4, :] = np.arange(4)[:, None]
    got = nodes_of(X, y, times, n_nodes=2).chi_square_p(np.tile(groups, (2, 1)), 4)
    for j in range(4):
        table = np.zeros((4, 3))
        np.add.at(table, (groups[:, j], y), times)
        want = stats.chi2_contingency(table, correction=False).pvalue
        np.testing.assert_allclose(got[:, j], want)


@given(st.integers(0, 10**6), st.sampled_from([1, 2, 5]))
def test_scan_finds_the_best_cut(seed, least):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 6, (25, 3)).astype(np.float64)
    y = rng.integers(0, 3, 25)
    y[:3] = range(3)
    nodes = nodes_of(X, y, n_nodes=2)
    (gain, same), (ratio, _), (cut, _), (n_cuts, _) = nodes.cuts("entropy", least)
    np.testing.assert_array_equal(gain, same)

    def entropy(labels):
        return stats.entropy(np.bincount(labels), base=2) if len(labels) else 0.0

    for j in range(3):
        best = -np.inf
        for t in np.unique(X[:, j])[:-1] + 0.5:
            left = X[:, j] <= t
            if min(left.sum(), (~left).sum()) >= least:
                share = left.mean()
                value = entropy(y) - share * entropy(y[left]) - (1 - share) * entropy(y[~left])
                best = max(best, value)
        assert gain[j] == pytest.approx(best)
        assert n_cuts[j] == len(np.unique(X[:, j])) - 1
        if np.isfinite(best):
            share = np.mean(X[:, j] <= cut[j])
            assert ratio[j] == pytest.approx(best / stats.entropy([share, 1 - share], base=2))


def test_quartile_groups_split_the_weight():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    times = rng.integers(1, 4, 200)
    nodes = nodes_of(X, np.zeros(200, dtype=int), times)
    groups = quartile_groups(nodes.X, nodes.row, nodes.weight, nodes.start)
    want = np.quantile(
        np.repeat(nodes.X, times, axis=0), (0.25, 0.5, 0.75), axis=0, method="inverted_cdf"
    )
    np.testing.assert_array_equal(groups, (nodes.X > want[:, None]).sum(axis=0))


def test_discriminant_point_makes_the_densities_equal():
    rng = np.random.default_rng(1)
    for scale in (1.0, 2.0):
        x = np.concatenate([rng.normal(0, 1, 300), rng.normal(4, scale, 200)])
        y = np.repeat([0, 1], [300, 200])
        point, same = _inducers._discriminant_points(
            np.tile(x, 2), nodes_of(x[:, None], y, n_nodes=2)
        )
        assert point == same

        def difference(t, x=x, y=y):
            a, b = x[y == 0], x[y == 1]
            return 300 * stats.norm.pdf(t, a.mean(), a.std()) - 200 * stats.norm.pdf(
                t, b.mean(), b.std()
            )

        assert point == pytest.approx(optimize.brentq(difference, 0.5, 3.5))


@pytest.mark.parametrize("inducer", INDUCERS)
@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer])
def test_trees_are_real_and_weights_are_frequencies(inducer, load):
    X, y = load(return_X_y=True)
    train, test = np.arange(len(X)) % 3 > 0, np.arange(len(X)) % 3 == 0
    model = inducer().fit(X[train], y[train])
    assert type(model.decision_tree_) is DecisionTreeClassifier
    assert model.score(X[test], y[test]) > 0.85
    times = np.random.default_rng(0).integers(0, 3, train.sum())
    weighted = inducer().fit(X[train], y[train], sample_weight=times)
    repeated = inducer().fit(np.repeat(X[train], times, axis=0), np.repeat(y[train], times, axis=0))
    np.testing.assert_array_equal(weighted.predict(X), repeated.predict(X))
    large = inducer(confidence=None).fit(X[train], y[train])
    small = inducer(confidence=0.01).fit(X[train], y[train])
    sizes = [m.decision_tree_.tree_.node_count for m in (small, model, large)]
    assert sizes == sorted(sizes)
    assert inducer(max_depth=2).fit(X, y).decision_tree_.get_depth() <= 2


@pytest.mark.parametrize("inducer", [QuestTree, GuideTree])
def test_features_with_many_values_are_not_preferred(inducer):
    """With labels of pure noise, a feature of 60 values is chosen as often as one of two."""
    rng = np.random.default_rng(0)
    chosen = []
    for _ in range(200):
        X = np.column_stack([rng.normal(size=60), rng.integers(0, 2, (60, 1))])
        y = rng.integers(0, 2, 60)
        tree = inducer(max_depth=1, confidence=None).fit(X, y).decision_tree_
        if tree.tree_.node_count > 1:
            chosen.append(tree.tree_.feature[0] == 0)
    assert len(chosen) > 100
    assert 0.35 < np.mean(chosen) < 0.65


def test_guide_finds_an_interaction_that_no_single_feature_shows():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (400, 4))
    y = (X[:, 1] * X[:, 3] > 0).astype(int)
    tree = GuideTree().fit(X, y).decision_tree_
    assert tree.tree_.feature[0] in (1, 3)
    assert set(tree.tree_.feature[tree.tree_.feature >= 0]) <= {0, 1, 2, 3}
    assert tree.score(X, y) > 0.9


@pytest.mark.parametrize("inducer", INDUCERS)
def test_bags_grown_together_are_those_grown_alone(inducer):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 5)).round(1).astype(np.float32)
    y = rng.integers(0, 3, 120) + (X[:, 1] > 0)
    bags = rng.multinomial(120, np.full(120, 1 / 120), size=6).astype(np.float64)
    bags[2] = np.where(y == 1, bags[2], 0.0)  # a tree that is a leaf
    splits = splits_of_bags(inducer(), X, y, bags)
    assert splits.n_nodes == splits.offsets[-1]
    for i, bag in enumerate(bags):
        tree = inducer().fit(X, y, sample_weight=bag).decision_tree_.tree_
        own = slice(*splits.offsets[i : i + 2])
        inner = tree.children_left >= 0
        assert len(inner) == splits.offsets[i + 1] - splits.offsets[i]
        for children, column in (
            (tree.children_left, splits.left),
            (tree.children_right, splits.right),
        ):
            np.testing.assert_array_equal(
                np.where(inner, children + splits.offsets[i], -1), column[own]
            )
        np.testing.assert_array_equal(tree.feature[inner], splits.feature[own][inner])
        np.testing.assert_array_equal(tree.threshold[inner], splits.threshold[own][inner])
    assert splits.offsets[3] - splits.offsets[2] == 1
    assert splits.n_nodes > 20


@pytest.mark.parametrize(
    ("inducer", "alike"), [(C45Tree, np.negative), (QuestTree, np.negative), (GuideTree, np.exp)]
)
def test_of_equal_features_the_first_is_taken(inducer, alike):
    """Whatever rounding does to the statistics of a feature and, say, its mirror image."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        x = rng.integers(0, 5, 60)
        y = (x + rng.integers(0, 4, 60) > 4).astype(int)
        order = rng.permutation(60)
        for copy in (x, alike(x)):
            X = np.column_stack([x, copy])[order]
            tree = inducer(max_depth=1, confidence=None).fit(X, y[order]).decision_tree_.tree_
            assert tree.feature[0] in (0, -2)


@pytest.mark.parametrize("inducer", INDUCERS)
def test_weights_are_numbers_of_rows(inducer):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(90, 4)).round(1)
    y = rng.integers(0, 3, 90) + 2 * (X[:, 0] > 0)
    times = rng.integers(0, 4, 90)
    weighted = inducer(confidence=0.5).fit(X, y, sample_weight=times)
    # a class without a row of positive weight would still be one of the classes
    assert set(y[times > 0]) == set(y)
    repeated = inducer(confidence=0.5).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    assert weighted.get_n_leaves() == repeated.get_n_leaves() > 2
    np.testing.assert_array_equal(weighted.predict_proba(X), repeated.predict_proba(X))
    # Weights that sum to one count as their rows.
    positive = np.maximum(times, 1).astype(float)
    light = inducer().fit(X, y, sample_weight=np.full(90, 1 / 90))
    np.testing.assert_array_equal(light.predict(X), inducer().fit(X, y).predict(X))
    for bad in (-positive, positive * np.nan):
        with pytest.raises(ValueError, match=r"[Nn]egative|NaN"):
            inducer().fit(X, y, sample_weight=bad)


@pytest.mark.parametrize("inducer", INDUCERS)
@pytest.mark.parametrize("estimators", ["one", "list", "bag"])
def test_genesim_breeds_inducers_given_alone_in_lists_and_in_bags(inducer, estimators):
    X, y = load_iris(return_X_y=True)
    given = {
        "one": inducer(),
        "list": [inducer(), inducer(confidence=None)],
        "bag": BaggingClassifier(inducer(), n_estimators=4, random_state=0),
    }[estimators]
    model = GenesimClassifier(given, n_iter=3, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.9
