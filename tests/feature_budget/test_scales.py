"""Units of prices, targets and weights do not matter; what users get wrong is said."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.decomposition import PCA
from sklearn.ensemble import AdaBoostClassifier, RandomForestClassifier, RandomForestRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor

from ensemble_simplify import BudgetForestClassifier, FeatureBudgetPruner

FILLS = ("vertex", "theta", "mip")
SHARES = ("15%", "30%", "47%", "60%", "80%")


def fit(*args, **options):
    X, y, *weight = args
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return FeatureBudgetPruner(**options).fit(X, y, *weight)


def at(pruner, **settings):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pruner.at(**settings)


def structure(pruner):
    """Features of the pruned trees, node by node, in pre-order."""
    model = pruner.pruned_estimator_
    trees = getattr(model, "estimators_", [model])
    return [tree.tree_.feature.tolist() for tree in trees]


def assert_same(a, b, *, cost=1.0, error=1.0):
    """The same prunings; what `b` costs is `cost` times, its errors `error` times those of `a`."""
    assert structure(a) == structure(b)
    assert a.status_ == b.status_
    assert a.is_budget_optimal_ == b.is_budget_optimal_
    assert b.cost_ == pytest.approx(cost * a.cost_, rel=1e-9, abs=1e-9 * cost)
    assert b.error_ == pytest.approx(error * a.error_, rel=1e-9)
    assert b.error_bound_ == pytest.approx(error * a.error_bound_, rel=1e-7)
    assert b.lam_ == pytest.approx(a.lam_ * error / cost, rel=1e-9)


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return X[::2], y[::2]


@pytest.fixture(scope="module")
def forest(cancer):
    return FrozenEstimator(RandomForestClassifier(6, max_depth=4, random_state=0).fit(*cancer))


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("scale", [1e-12, 1e-9, 1e12])
def test_unit_of_the_prices(cancer, forest, scale, whole):
    rng = np.random.default_rng(0)
    prices = rng.integers(1, 9, 30) if whole else rng.uniform(1, 9, 30)
    one = fit(*cancer, estimator=forest, feature_costs=prices)
    other = fit(*cancer, estimator=forest, feature_costs=prices * scale)
    assert other.path_.lams == pytest.approx(one.path_.lams / scale)
    assert other.path_.costs == pytest.approx(one.path_.costs * scale, abs=1e-9 * scale)
    assert other.path_.n_splits.tolist() == one.path_.n_splits.tolist()
    for fill in FILLS:
        for share in SHARES:
            a = at(one.set_params(fill=fill), budget=share)
            b = at(other.set_params(fill=fill), budget=share)
            assert b.cost_ <= (1 + 1e-9) * float(share[:-1]) / 100 * b.unpruned_cost_
            assert_same(a, b, cost=scale)


@pytest.mark.parametrize("solver", ["highs", "highs_printed", "dantzig_wolfe"])
@pytest.mark.parametrize("scale", [1e-12, 1e12])
def test_unit_of_the_prices_in_linear_programs(cancer, solver, scale):
    X, y = cancer
    frozen = FrozenEstimator(RandomForestClassifier(3, max_depth=3, random_state=0).fit(X, y))
    prices = np.arange(1.0, 31.0)
    options = {"estimator": frozen, "solver": solver, "budget": "40%"}
    a = fit(X, y, feature_costs=prices, **options)
    b = fit(X, y, feature_costs=prices * scale, **options)
    assert_same(a, b, cost=scale)


@pytest.mark.parametrize("labels", ["tree", "sample"])
@pytest.mark.parametrize("scale", [1e-7, 1e5])
def test_unit_of_the_targets(labels, scale):
    X, y = load_diabetes(return_X_y=True)
    prunings = []
    for factor in (1.0, scale):
        model = RandomForestRegressor(5, max_depth=4, random_state=0).fit(X, y)
        for tree in model.estimators_:  # the same trees, whatever the rounding of their growth
            tree.tree_.value[:] *= factor
            tree.tree_.impurity[:] *= factor**2
        frozen = FrozenEstimator(model)
        prunings.append(fit(X, y * factor, estimator=frozen, labels=labels, ties="prune"))
    one, other = prunings
    assert other.path_.errors == pytest.approx(one.path_.errors * scale**2, rel=1e-9)
    for fill in FILLS:
        for share in SHARES:
            a = at(one.set_params(fill=fill), budget=share)
            b = at(other.set_params(fill=fill), budget=share)
            assert_same(a, b, error=scale**2)
    chosen = other.select(X, y * scale, max_loss=100.0 * scale**2)
    assert_same(one.select(X, y, max_loss=100.0), chosen, error=scale**2)
    assert chosen.cost_ < other.cost_


def test_gaps_of_small_targets_are_not_called_optimal():
    X, y = load_diabetes(return_X_y=True)
    model = RandomForestRegressor(20, max_depth=5, random_state=0).fit(X, y * 1e-7)
    pruner = fit(X, y * 1e-7, estimator=FrozenEstimator(model), fill="vertex")
    found = [pruner.at(budget=f"{share}%") for share in range(10, 100, 5)]
    gaps = [one for one in found if one.error_ > 1.001 * one.error_bound_]
    assert gaps
    assert not any(one.is_budget_optimal_ for one in gaps)
    assert {one.status_ for one in gaps} == {"feasible"}


@pytest.mark.parametrize("scale", [1e-300, 1e-30, 1e300])
def test_unit_of_the_weights(cancer, forest, scale):
    X, y = cancer
    weight = np.random.default_rng(0).integers(0, 4, len(X)).astype(float)
    one = fit(X, y, weight, estimator=forest)
    other = fit(X, y, weight * scale, estimator=forest)
    assert other.path_.lams == pytest.approx(one.path_.lams)
    for share in SHARES:
        assert_same(at(one, budget=share), at(other, budget=share))
    assert other.feature_usage_ == pytest.approx(one.feature_usage_)


def test_unit_of_the_prices_where_ensembles_are_fitted(cancer):
    X, y = (part[::2] for part in cancer)
    prices = np.random.default_rng(0).integers(1, 9, 10).astype(float)
    options = {"estimator": RandomForestClassifier(5, max_depth=4, random_state=0), "budget": "40%"}
    one = fit(X[:, :10], y, feature_costs=prices, **options)
    for scale in (1e-12, 1e12):
        other = fit(X[:, :10], y, feature_costs=prices * scale, **options)
        for share in ("20%", "40%", "70%"):
            a, b = at(one, budget=share), at(other, budget=share)
            assert a.candidate_ == b.candidate_
            np.testing.assert_array_equal(a.predict_proba(X[:, :10]), b.predict_proba(X[:, :10]))
            assert_same(a, b, cost=scale)


def test_unit_of_the_weights_where_ensembles_are_fitted(cancer):
    X, y = (part[::2] for part in cancer)
    options = {"estimator": RandomForestClassifier(5, max_depth=4, random_state=0), "budget": "40%"}
    weight = np.random.default_rng(0).integers(1, 4, len(X)).astype(float)
    one = fit(X[:, :6], y, weight, **options)
    other = fit(X[:, :6], y, weight * 1e-300, **options)
    # the first one is the user's own, which scikit-learn fits to the weights as they are
    assert one.candidates_.names[1:] == other.candidates_.names[1:]
    for name in ("costs", "errors"):
        pairs = zip(one.candidates_[name][1:], other.candidates_[name][1:], strict=True)
        for ours, theirs in pairs:
            np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("options", [{"purchases": "split", "alpha": 2.0}, {"purchases": "rows"}])
@pytest.mark.parametrize("scale", [1e-300, 1e-3])
def test_unit_of_the_weights_of_a_forest_grown_with_prices(cancer, scale, options):
    X, y = cancer
    options = {"n_estimators": 3, "random_state": 0} | options
    one = BudgetForestClassifier(**options).fit(X, y, np.ones(len(X)))
    other = BudgetForestClassifier(**options).fit(X, y, np.full(len(X), scale))
    assert max(tree.get_n_leaves() for tree in one.estimators_) > 2
    # the same trees; scikit-learn's mean over them may round in another order
    np.testing.assert_allclose(other.predict_proba(X), one.predict_proba(X), rtol=1e-14)
    for tree, same in zip(one.estimators_, other.estimators_, strict=True):
        np.testing.assert_array_equal(same.tree_.threshold, tree.tree_.threshold)


def test_impurities_below_zero_are_written_as_they_are():
    """scikit-learn leaves rounding errors such as -4e-16 in the impurities of a regressor."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 4)), np.repeat(rng.normal(size=100), 3)
    model = DecisionTreeRegressor(random_state=0).fit(X, y)
    model.tree_.impurity[model.tree_.children_left < 0] = -4e-16
    pruner = fit(X, y, estimator=FrozenEstimator(model), labels="sample")
    assert pruner.pruned_estimator_.tree_.impurity.min() < 0
    error = np.mean((pruner.pruned_estimator_.predict(X) - y) ** 2)
    assert pruner.error_ == pytest.approx(error, abs=1e-12)


def test_a_number_below_one_is_not_a_share(cancer, forest):
    pruner = FeatureBudgetPruner(forest, fill="vertex")
    for share in ("40%", 4.0, 0.0, None):
        with warnings.catch_warnings():
            warnings.filterwarnings("error", message=".*For a share")
            warnings.filterwarnings("ignore", message=".*step of the path")
            pruner.set_params(budget=share).fit(*cancer)
    with pytest.warns(UserWarning, match=r"0\.4 units a row.*budget='40%'") as fitting:
        pruner.set_params(budget=0.4).fit(*cancer)
    with pytest.warns(UserWarning, match=r"budget='25%'") as moving:
        assert pruner.at(budget=0.25).cost_ <= 0.25
    assert {w.filename for w in (*fitting, *moving)} == {__file__}
    # Where everything costs less than one, such a number is an ordinary budget.
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*For a share")
        warnings.filterwarnings("ignore", message=".*step of the path")
        pruner.set_params(feature_costs=np.full(30, 0.01), budget=0.1).fit(*cancer)


def test_a_pipeline_is_pruned_as_its_last_step(cancer):
    X, y = cancer
    pipeline = make_pipeline(StandardScaler(), RandomForestClassifier(3, random_state=0))
    fresh, scaled = clone(pipeline), pipeline.fit(X, y)[:-1].transform(X)
    last = fit(scaled, y, estimator=FrozenEstimator(pipeline[-1]), budget="50%")
    for estimator in (fresh, FrozenEstimator(pipeline)):
        pruner = fit(X, y, estimator=estimator, budget="50%", refit=False)
        np.testing.assert_array_equal(pruner.predict_proba(X), last.predict_proba(scaled))
        np.testing.assert_array_equal(pruner.feature_cost(X), last.feature_cost(scaled))
        np.testing.assert_array_equal(pruner.path_.costs, last.path_.costs)
        assert pruner.error_bound_ == last.error_bound_
    assert pruner.estimator_ is pipeline
    mixed = make_pipeline(StandardScaler(), PCA(4), RandomForestClassifier(3, random_state=0))
    with pytest.raises(TypeError, match=r"step 'pca'.*last step"):
        FeatureBudgetPruner(mixed).fit(X, y)
    boosted = make_pipeline(StandardScaler(), AdaBoostClassifier(n_estimators=2))
    with pytest.raises(TypeError, match="cannot be pruned by feature cost"):
        FeatureBudgetPruner(boosted).fit(X, y)


def test_status_says_whether_the_question_is_answered(cancer, forest):
    pruner = fit(*cancer, estimator=forest, fill="vertex")
    assert pruner.status_ == "optimal"
    path = pruner.path_
    for k in range(1, len(path.lams)):
        assert at(pruner, lam=path.lams[k]).status_ == "optimal"
        exact = at(pruner, budget=path.costs[k])
        assert (exact.status_, exact.is_budget_optimal_) == ("optimal", True)
    between = at(pruner, budget=0.3 * path.costs[5] + 0.7 * path.costs[6])
    assert (between.status_, between.is_budget_optimal_) == ("feasible", False)
    assert between.error_bound_ < between.error_
    found = at(pruner.set_params(fill="mip"), budget=0.3 * path.costs[5] + 0.7 * path.costs[6])
    assert found.status_ == "optimal"
    assert found.error_bound_ <= found.error_ <= between.error_


def test_no_path_of_an_earlier_fit_stays(cancer, forest):
    pruner = FeatureBudgetPruner(forest, lam=0.05).fit(*cancer)
    assert hasattr(pruner, "path_")
    assert not hasattr(pruner.set_params(solver="highs").fit(*cancer), "path_")


def test_integer_programs_need_trees_that_share(cancer, forest):
    with pytest.raises(ValueError, match="sharing='ensemble'"):
        FeatureBudgetPruner(forest, sharing="tree", fill="mip").fit(*cancer)


def test_verbose_names_every_candidate(cancer, capsys):
    X, y = cancer
    options = {"budget": "40%", "verbose": 1}
    model = RandomForestClassifier(4, max_depth=3, random_state=0)
    pruner = fit(X[:, :6], y, estimator=model, **options)
    lines = capsys.readouterr().out.splitlines()
    for name, features in zip(pruner.candidates_.names, pruner.candidates_.features, strict=True):
        start = f"[FeatureBudgetPruner] {name} on {len(features)} features, "
        assert any(line.startswith(start) for line in lines)


def test_verbose(cancer, forest, capsys):
    fit(*cancer, estimator=forest, budget="37%", fill="mip")
    BudgetForestClassifier(n_estimators=2, random_state=0).fit(*cancer)
    assert capsys.readouterr().out == ""
    fit(*cancer, estimator=forest, budget="37%", fill="mip", verbose=1)
    lines = capsys.readouterr().out.splitlines()
    assert all(line.startswith("[FeatureBudgetPruner] ") for line in lines)
    for word in (
        "6 trees",
        "path of",
        "lies between two prunings",
        "integer programming",
        "optimal",
    ):
        assert any(word in line for line in lines), word
    fit(*cancer, estimator=forest, lam=0.01, solver="dantzig_wolfe", verbose=1)
    assert "round 1 of the decomposition" in capsys.readouterr().out
    BudgetForestClassifier(n_estimators=2, random_state=0, verbose=1).fit(*cancer)
    assert "[BudgetForestClassifier] 2 trees with" in capsys.readouterr().out


@pytest.mark.parametrize("purchases", ["rows", "forest"])
@pytest.mark.parametrize("scale", [2.0**-40, 2.0**40])
def test_unit_of_the_prices_of_shared_purchases(cancer, scale, purchases):
    X, y = cancer
    prices = np.random.default_rng(0).uniform(1, 5, X.shape[1])
    options = {"n_estimators": 3, "purchases": purchases, "random_state": 0}
    one = BudgetForestClassifier(feature_costs=prices, **options).fit(X, y)
    other = BudgetForestClassifier(feature_costs=scale * prices, **options).fit(X, y)
    np.testing.assert_array_equal(one.predict_proba(X), other.predict_proba(X))
    assert other.cost_ == pytest.approx(scale * one.cost_, rel=1e-12)
