"""The inducers against SciPy's tests, exhaustive search and their own definitions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, stats
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from ensemble_simplify import _inducers
from ensemble_simplify._inducers import C45Tree, GuideTree, QuestTree, error_limit

INDUCERS = [C45Tree, QuestTree, GuideTree]


@parametrize_with_checks([inducer() for inducer in INDUCERS])
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


def one_hot(y, weight=None):
    counts = np.eye(y.max() + 1)[y]
    return counts if weight is None else counts * weight[:, None]


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
    left = np.array([1, -1, 3, -1, -1])
    right = np.array([2, -1, 4, -1, -1])
    totals = np.array([[15.0, 1], [6, 0], [9, 1], [9, 0], [0, 1]])
    tree, leaf_of_row = _inducers._pruned(
        left,
        right,
        np.array([0, -1, 0, -1, -1]),
        np.zeros(5),
        totals,
        np.repeat([1, 3, 4], [6, 9, 1]),
        0.25,
    )
    assert len(tree[0]) == 1
    assert set(leaf_of_row) == {0}


@given(st.integers(0, 10**6))
def test_p_values_are_those_of_scipy(seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, 40)
    y[:3] = range(3)
    X = rng.normal(size=(40, 4)).round(1) + y[:, None] * [0, 0.3, 1, 0]
    counts = one_hot(y)
    want = [stats.f_oneway(*[column[y == k] for k in range(3)]).pvalue for column in X.T]
    np.testing.assert_allclose(_inducers._anova_p(X, counts), want, rtol=1e-6)
    # Weights are frequencies.
    times = rng.integers(1, 4, 40)
    np.testing.assert_allclose(
        _inducers._anova_p(X, one_hot(y, times)),
        [
            stats.f_oneway(*[np.repeat(c, times)[np.repeat(y, times) == k] for k in range(3)])[1]
            for c in X.T
        ],
        rtol=1e-6,
    )
    groups = rng.integers(0, 4, (40, 4))
    groups[:4, :] = np.arange(4)[:, None]
    got = _inducers._chi_square_p(groups, counts, 4)
    for j in range(4):
        table = np.zeros((4, 3))
        np.add.at(table, (groups[:, j], y), 1)
        assert got[j] == pytest.approx(stats.chi2_contingency(table, correction=False).pvalue)


@given(st.integers(0, 10**6), st.sampled_from([1, 2, 5]))
def test_scan_finds_the_best_cut(seed, least):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 6, (25, 3)).astype(np.float64)
    y = rng.integers(0, 3, 25)
    y[:3] = range(3)
    counts = one_hot(y)
    gain, ratio, cut, n_cuts = _inducers._scan(X, counts, _inducers._entropy, least)

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


def test_weighted_quantiles_split_the_weight():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    times = rng.integers(1, 4, 200)
    got = _inducers._weighted_quantiles(X, times.astype(float), (0.25, 0.5, 0.75))
    want = np.quantile(
        np.repeat(X, times, axis=0), (0.25, 0.5, 0.75), axis=0, method="inverted_cdf"
    )
    np.testing.assert_allclose(got, want)


def test_discriminant_point_makes_the_densities_equal():
    rng = np.random.default_rng(1)
    for scale in (1.0, 2.0):
        x = np.concatenate([rng.normal(0, 1, 300), rng.normal(4, scale, 200)])
        y = np.repeat([0, 1], [300, 200])
        point = _inducers._discriminant_point(x, one_hot(y))

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
