"""FeatureBudgetPruner against enumeration, linear programming and row-by-row counting."""

import pickle
import warnings
from dataclasses import replace
from itertools import pairwise, product

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_iris,
    make_classification,
)
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import log_loss
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, export_text

from ensemble_simplify import BudgetPathDisplay, FeatureBudgetPruner, TimeLimitError
from ensemble_simplify.feature_budget.pruning import _problem
from ensemble_simplify.feature_budget.pruning._programs import (
    linear_form,
    solve_dantzig_wolfe,
    solve_lp,
)
from ensemble_simplify.grid import LinearProgram, Stopped
from ensemble_simplify.reading.forest import Forest, tree_estimators


def tiny_case(seed):
    """A forest small enough to list all its prunings, with prices, groups and weights."""
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(6, 14)), int(rng.integers(2, 5))
    X = rng.integers(0, 5, (n, k)).astype(float)
    y = rng.integers(0, 2 + seed % 2, n)
    y[:3] = [0, 1, 1]
    depth = 2 if seed % 3 else 3
    forest = RandomForestClassifier(
        2 if depth == 3 else 3, max_depth=depth, random_state=seed, bootstrap=seed % 5 > 0
    )
    options = {
        "feature_costs": rng.integers(1, 6, k).astype(float),
        "labels": ["tree", "sample"][seed % 2],
        "ties": ["keep", "prune"][seed // 2 % 2],
    }
    if seed % 4 == 0:
        options |= {"groups": {"draw": [0, 1]}, "group_costs": float(rng.integers(1, 4))}
    if seed % 7 == 0:
        options["feature_costs"][0] = 0.0
    weight = rng.integers(1, 4, n).astype(float) if seed % 3 == 0 else None
    if seed % 6 == 0:
        weight = rng.uniform(0.1, 2, n)
    # Judge on other rows than those of the fit, every other time.
    rows = rng.integers(0, 5, (n, k)).astype(float) if seed % 2 else X
    labels = y[rng.permutation(n)] if seed % 2 else y
    return FrozenEstimator(forest.fit(X, y)), options, rows, labels, weight


def all_prunings(problem):
    """Every closed set of splits, as masks over the nodes."""
    splits = problem.order[problem.split[problem.order] > 0]
    for bits in product((0, 1), repeat=len(splits)):
        keep = np.zeros(len(problem.parent), dtype=np.uint8)
        keep[splits] = bits
        up = problem.parent[splits]
        if all(up[i] < 0 or keep[up[i]] or not b for i, b in enumerate(bits)):
            yield keep


def count_by_rows(pruner, X, y, weight):
    """Mean tree error and cost of the written ensemble, from its own predictions and paths."""
    weight = np.ones(len(X)) if weight is None else weight
    trees = tree_estimators(pruner.pruned_estimator_)
    errors = []
    used = np.zeros(X.shape, dtype=bool)
    for tree, columns in trees:
        columns = np.arange(X.shape[1]) if columns is None else columns
        part = X[:, columns]
        proba = tree.predict_proba(part)
        # Members of forests hold class indices.
        labels = np.searchsorted(pruner.classes_, y)
        label = tree.classes_[proba.argmax(axis=1)].astype(int)
        errors.append(np.average(label != labels, weights=weight))
        for node in np.flatnonzero(tree.tree_.feature >= 0):
            on_path = tree.decision_path(part)[:, [node]].toarray()[:, 0] > 0
            used[on_path, columns[tree.tree_.feature[node]]] = True
    prices = pruner.feature_costs
    prices = np.ones(X.shape[1]) if prices is None else np.asarray(prices)
    cost = used @ prices
    for name, members in (pruner.groups or {}).items():
        price = pruner.group_costs
        price = price[name] if isinstance(price, dict) else price
        cost = cost + price * used[:, members].any(axis=1)
    return np.mean(errors), np.average(cost, weights=weight), used, cost


@pytest.mark.parametrize("block", range(5))
def test_tiny_forests_against_enumeration_and_both_programs(block):
    """100 forests: path, both linear programs and enumeration agree to rounding."""
    for seed in range(20 * block, 20 * block + 20):
        frozen, options, X, y, weight = tiny_case(seed)
        lam = float(np.random.default_rng(seed).choice([0.003, 0.01, 0.03, 0.06, 0.1, 0.2]))
        pruner = FeatureBudgetPruner(frozen, lam=lam, **options).fit(X, y, weight)
        problem = pruner._problem
        points = np.array([(problem.loss(k), problem.cost(k)) for k in all_prunings(problem)])
        best = (points @ [1.0, lam]).min()
        assert pruner.error_ + lam * pruner.cost_ == pytest.approx(best, abs=1e-9)
        assert pruner.is_budget_optimal_
        for form in ("printed", "difference"):
            keep, solution = solve_lp(problem, lam, form)
            assert solution.objective == pytest.approx(best, abs=1e-9)
            assert problem.loss(keep) + lam * problem.cost(keep) == pytest.approx(best, abs=1e-9)
        # The whole path is the lower hull of all prunings.
        path = pruner.path_
        slopes = np.diff(path.lams)
        assert np.all(slopes > 0)
        for k, (error, cost) in enumerate(zip(path.errors, path.costs, strict=True)):
            keep = pruner._case.kept(k, pruner.ties)
            assert problem.loss(keep) == pytest.approx(error, abs=1e-9)
            assert problem.cost(keep) == pytest.approx(cost, abs=1e-9)
            # No pruning of that cost or less has a lower error.
            assert error <= points[points[:, 1] <= cost + 1e-9, 0].min() + 1e-9
        # A budget anywhere: within it, and the bound holds.
        budget = float(np.random.default_rng(seed).uniform(0, 1.1) * pruner.unpruned_cost_)
        truth = points[points[:, 1] <= budget + 1e-9, 0].min()
        for fill in ("vertex", "theta", "mip")[: 3 if seed % 4 == 0 else 2]:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                limited = pruner.set_params(fill=fill).at(budget=budget)
            assert limited.cost_ <= budget + 1e-9
            assert limited.error_bound_ <= truth + 1e-9
            assert limited.error_ >= truth - 1e-9
            if limited.is_budget_optimal_ or fill == "mip":
                assert limited.error_ == pytest.approx(truth, abs=1e-6)


def with_a_dear_feature(seed):
    """A tiny case of which one feature, or its group, costs up to 1e14 times the others."""
    frozen, options, X, y, weight = tiny_case(seed)
    rng = np.random.default_rng([seed, 1])
    factor = 10.0 ** rng.integers(5, 15)
    options["feature_costs"][rng.integers(X.shape[1])] *= factor
    if "groups" in options and seed % 3 == 0:
        options["group_costs"] *= factor
    if seed % 5 == 1:
        options["feature_costs"] *= rng.uniform(0.5, 1.5, X.shape[1])  # no decimal unit
    return frozen, options, X, y, weight


@pytest.mark.parametrize("block", range(4))
def test_a_budget_holds_whatever_the_prices(block):
    for seed in range(9 * block, 9 * block + 9):
        frozen, options, X, y, weight = with_a_dear_feature(seed)
        sharing = ("ensemble", "tree")[seed % 3 == 1]
        options |= {"sharing": sharing, "drop_trees": False}
        pruner = FeatureBudgetPruner(frozen, **options).fit(X, y, weight)
        problem = pruner._problem
        keeps = list(all_prunings(problem))
        errors, costs = np.array([(problem.loss(k), problem.cost(k)) for k in keeps]).T
        kept = [pruner._case.kept(k, pruner.ties) for k in range(len(pruner.path_.lams))]
        on_path = [problem.cost(keep) for keep in kept]
        assert pruner.path_.costs == pytest.approx(on_path, rel=1e-12)
        cheap = np.unique(costs[costs < 1e-3 * costs.max()])
        rng = np.random.default_rng(seed)
        for budget in (0.0, cheap[-1], rng.choice(cheap), 0.999 * rng.choice(cheap)):
            truth = errors[costs <= budget * (1 + 1e-9)].min()
            fills = ("vertex", "theta", "mip")[: 3 if sharing == "ensemble" else 2]
            solvers = ("min_cut", "highs", "dantzig_wolfe")[: 3 if seed % 4 == 0 else 1]
            for fill, solver in product(fills, solvers):
                other = clone(pruner).set_params(fill=fill, solver=solver, budget=budget)
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    found = other.fit(X, y, weight)
                _, cost, _, _ = count_by_rows(found, X, y, weight)
                assert cost <= budget * (1 + 1e-9)
                assert found.cost_ == pytest.approx(cost, rel=1e-9)
                assert found.error_bound_ <= truth + 1e-9
                if found.status_ == "optimal":
                    assert found.error_ == pytest.approx(truth, abs=1e-9)


@pytest.mark.parametrize("seed", range(40))
def test_error_and_cost_are_what_the_written_forest_does(seed):
    frozen, options, X, y, weight = tiny_case(seed)
    options["drop_trees"] = False
    path = FeatureBudgetPruner(frozen, **options).fit(X, y, weight).path_
    for lam in path.lams[:: max(1, len(path.lams) // 3)]:
        pruner = FeatureBudgetPruner(frozen, lam=lam, **options).fit(X, y, weight)
        error, cost, used, paid = count_by_rows(pruner, X, y, weight)
        assert pruner.error_ == pytest.approx(error, abs=1e-9)
        assert pruner.cost_ == pytest.approx(cost, abs=1e-9)
        assert np.array_equal(pruner.acquired_features(X), used)
        assert pruner.feature_cost(X) == pytest.approx(paid, abs=1e-9)
        wrong = pruner.predict(X) != y
        assert pruner.forest_error_ == pytest.approx(np.average(wrong, weights=weight), abs=1e-9)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("form", ["printed", "difference"])
def test_vertices_are_integral(seed, form):
    """Total unimodularity: simplex ends in whole numbers, for random objectives too."""
    frozen, options, X, y, weight = tiny_case(seed)
    problem = FeatureBudgetPruner(frozen, **options).fit(X, y, weight)._problem
    rng = np.random.default_rng(seed)
    for lam in (0.01, 0.05, 0.2):
        _, solution = solve_lp(problem, lam, form)
        assert np.abs(solution.x - np.rint(solution.x)).max() < 1e-9
    stated = linear_form(problem, 0.05, form)
    for _ in range(5):
        x = replace(stated, cost=rng.normal(size=len(stated.cost))).program().solve().x
        assert np.abs(x - np.rint(x)).max() < 1e-9


@pytest.fixture(scope="module")
def cancer():
    return load_breast_cancer(return_X_y=True)


@pytest.fixture(scope="module")
def forest(cancer):
    return RandomForestClassifier(20, random_state=0).fit(*cancer)


@pytest.fixture(scope="module")
def pruner(forest, cancer):
    return FeatureBudgetPruner(FrozenEstimator(forest)).fit(*cancer)


def test_path_is_nested_sorted_and_equal_to_linear_programs(pruner):
    problem, path = pruner._problem, pruner._path
    assert np.all(np.diff(path.lams) > 0)
    assert np.all(np.diff(path.costs) < 0)
    assert np.all(np.diff(path.losses) > 0)
    assert path.costs[-1] == pytest.approx(0.0, abs=1e-12)
    for ties in ("keep", "prune"):
        keeps = [problem.expand(path.chosen(k, ties), ties) for k in range(len(path.lams))]
        for a, b in pairwise(keeps):
            assert np.all(b <= a)
        assert [problem.loss(k) for k in keeps] == pytest.approx(path.losses, abs=1e-9)
        assert [problem.cost(k) for k in keeps] == pytest.approx(path.costs, abs=1e-9)
    rng = np.random.default_rng(0)
    for lam in np.exp(rng.uniform(np.log(path.lams[1]), np.log(path.lams[-1]), 4)):
        keep, _ = solve_lp(problem, lam)
        best = np.min(path.losses + lam * path.costs)
        assert problem.loss(keep) + lam * problem.cost(keep) == pytest.approx(best, abs=1e-11)


def test_path_bunch_counts(pruner):
    path = pruner.path_
    for k in range(0, len(path.lams), 7):
        at = pruner.at(lam=path.lams[k])
        trees = [tree for tree, _ in tree_estimators(at.pruned_estimator_)]
        used = np.concatenate([t.tree_.feature[t.tree_.feature >= 0] for t in trees])
        assert path.n_splits[k] == len(used)
        assert path.n_features[k] == len(np.unique(used))


@pytest.mark.parametrize("labels", ["tree", "sample"])
def test_trees_alone_keep_less(forest, cancer, labels):
    frozen = FrozenEstimator(forest)
    shared = FeatureBudgetPruner(frozen, labels=labels).fit(*cancer)
    alone = FeatureBudgetPruner(frozen, labels=labels, sharing="tree").fit(*cancer)
    for lam in np.geomspace(1e-5, 1, 25):
        a, b = alone.at(lam=lam), shared.at(lam=lam)
        assert np.all(a._pruning.keep <= b._pruning.keep)
        assert b.error_ + lam * b.cost_ <= a.error_ + lam * a.cost_ + 1e-12
    for k in range(0, len(alone._path.lams), 5):
        keep = alone._case.kept(k, alone.ties)
        assert alone._problem.cost(keep) == pytest.approx(alone.path_.costs[k], abs=1e-9)


def test_scaling_prices_scales_lams(forest, cancer, pruner):
    double = FeatureBudgetPruner(FrozenEstimator(forest), feature_costs=np.full(30, 2.5))
    path = double.fit(*cancer).path_
    assert path.lams == pytest.approx(pruner.path_.lams / 2.5)
    assert path.costs == pytest.approx(pruner.path_.costs * 2.5)


def test_order_of_rows_does_not_matter(forest, cancer, pruner):
    X, y = cancer
    rows = np.random.default_rng(0).permutation(len(X))
    path = FeatureBudgetPruner(FrozenEstimator(forest)).fit(X[rows], y[rows]).path_
    assert path.lams == pytest.approx(pruner.path_.lams)
    assert path.errors == pytest.approx(pruner.path_.errors)


def test_integer_weights_equal_repeated_rows(forest, cancer):
    X, y = cancer
    weight = np.random.default_rng(0).integers(0, 3, len(X))
    a = FeatureBudgetPruner(FrozenEstimator(forest)).fit(X, y, weight).path_
    b = FeatureBudgetPruner(FrozenEstimator(forest))
    b = b.fit(np.repeat(X, weight, axis=0), np.repeat(y, weight)).path_
    assert a.lams == pytest.approx(b.lams)
    assert a.errors == pytest.approx(b.errors)


def test_free_features_are_never_pruned_for_cost(forest, cancer):
    costs = np.ones(30)
    costs[:15] = 0
    pruner = FeatureBudgetPruner(FrozenEstimator(forest), feature_costs=costs, lam=1e6)
    pruner.fit(*cancer)
    assert pruner.cost_ == 0
    assert pruner.acquired_features(cancer[0])[:, :15].any()
    assert not pruner.acquired_features(cancer[0])[:, 15:].any()
    assert pruner.error_ < pruner.at(lam=0).unpruned_error_ + 0.3


def test_neither_lam_nor_budget_costs_no_accuracy(forest, cancer, pruner):
    assert pruner.lam_ == 0
    assert pruner.error_ <= pruner.unpruned_error_
    assert pruner.cost_ < pruner.unpruned_cost_
    assert pruner.is_budget_optimal_
    given = FeatureBudgetPruner(FrozenEstimator(forest), labels="sample").fit(*cancer)
    assert given.error_ == pytest.approx(given.unpruned_error_, abs=1e-12)


def test_prune_ties_gives_smaller_trees_of_equal_worth(forest, cancer, pruner):
    small = FeatureBudgetPruner(FrozenEstimator(forest), ties="prune", lam=0.001).fit(*cancer)
    large = pruner.at(lam=0.001)
    assert small.error_ == pytest.approx(large.error_, abs=1e-12)
    assert small.cost_ == pytest.approx(large.cost_, abs=1e-12)
    assert small._pruning.keep.sum() < large._pruning.keep.sum()
    assert np.all(small._pruning.keep <= large._pruning.keep)


@pytest.mark.parametrize("solver", ["highs", "highs_printed", "dantzig_wolfe"])
def test_solvers_agree(cancer, solver):
    X, y = cancer[0][::3], cancer[1][::3]
    frozen = FrozenEstimator(RandomForestClassifier(4, max_depth=4, random_state=0).fit(X, y))
    exact = FeatureBudgetPruner(frozen).fit(X, y)
    lams = exact.path_.lams
    for lam in (0.0, 0.4 * lams[2] + 0.6 * lams[3], 1.3 * lams[len(lams) // 2]):
        a = exact.at(lam=lam)
        b = FeatureBudgetPruner(frozen, solver=solver, lam=lam).fit(X, y)
        assert np.array_equal(b._pruning.keep, a._pruning.keep)
        assert b.error_ + lam * b.cost_ == pytest.approx(a.error_ + lam * a.cost_, abs=1e-9)
        assert b.error_ == pytest.approx(a.error_, abs=1e-7)
        assert b.status_ == "optimal"
        assert b.is_budget_optimal_
        assert np.array_equal(b.predict(X), b.pruned_estimator_.predict(X))
    budget = 0.5 * exact.unpruned_cost_
    for options in ({"fill": "vertex"}, {"fill": "theta"}, {"ties": "prune"}):
        a = FeatureBudgetPruner(frozen, budget=budget, **options)
        b = FeatureBudgetPruner(frozen, budget=budget, solver=solver, **options)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            a.fit(X, y)
            b.fit(X, y)
        assert b.error_ == pytest.approx(a.error_, abs=1e-9)
        assert b.cost_ == pytest.approx(a.cost_, abs=1e-9)
        assert b.error_bound_ == pytest.approx(a.error_bound_, abs=1e-7)
        assert np.array_equal(b._pruning.keep, a._pruning.keep)


def test_dantzig_wolfe_with_unshared_trees(cancer):
    X, y = cancer[0][::4], cancer[1][::4]
    frozen = FrozenEstimator(RandomForestClassifier(4, max_depth=3, random_state=0).fit(X, y))
    a = FeatureBudgetPruner(frozen, sharing="tree", lam=0.01).fit(X, y)
    for solver in ("highs", "dantzig_wolfe"):
        b = FeatureBudgetPruner(frozen, sharing="tree", lam=0.01, solver=solver).fit(X, y)
        assert b.error_ == pytest.approx(a.error_, abs=1e-9)
        assert b.cost_ == pytest.approx(a.cost_, abs=1e-9)


@pytest.mark.parametrize("loss", ["gini", "log_loss"])
@pytest.mark.parametrize("labels", ["tree", "sample"])
def test_probability_losses(cancer, loss, labels):
    X, y = cancer
    frozen = FrozenEstimator(RandomForestClassifier(5, max_depth=4, random_state=1).fit(X, y))
    pruner = FeatureBudgetPruner(frozen, loss=loss, labels=labels, lam=0.002).fit(X, y)
    losses = []
    for tree, _ in tree_estimators(pruner.pruned_estimator_):
        proba = tree.predict_proba(X)
        if loss == "gini":
            losses.append(np.square(proba - np.eye(2)[y]).sum(axis=1).mean())
        else:
            losses.append(log_loss(y, np.clip(proba, np.finfo(float).eps, 1)))
    assert pruner.error_ == pytest.approx(np.mean(losses), rel=1e-9)
    path = pruner._path
    assert np.all(np.diff(path.lams) > 0)
    keep, _ = solve_lp(pruner._problem, 0.002)
    objective = pruner._problem.loss(keep) + 0.002 * pruner._problem.cost(keep)
    assert pruner.error_ + 0.002 * pruner.cost_ == pytest.approx(objective, abs=1e-11)


@pytest.mark.parametrize("labels", ["tree", "sample"])
def test_regression(labels):
    X, y = load_diabetes(return_X_y=True)
    y = y + 1e6
    models = [
        RandomForestRegressor(6, max_depth=5, random_state=0),
        BaggingRegressor(DecisionTreeRegressor(max_depth=4), 4, max_features=5, random_state=0),
        DecisionTreeRegressor(max_depth=4),
    ]
    for model in models:
        pruner = FeatureBudgetPruner(FrozenEstimator(model.fit(X, y)), labels=labels)
        pruner.fit(X, y)
        lams = pruner.path_.lams
        at = pruner.at(lam=lams[len(lams) // 2])
        trees = tree_estimators(at.pruned_estimator_)
        answers = [t.predict(X if c is None else X[:, c]) for t, c in trees]
        error = np.mean([np.mean((a - y) ** 2) for a in answers])
        assert at.error_ == pytest.approx(error, rel=1e-9)
        assert at.forest_error_ == pytest.approx(np.mean((at.predict(X) - y) ** 2), rel=1e-9)
        assert at.score(X, y) == at.pruned_estimator_.score(X, y)
        assert not hasattr(at, "predict_proba")
        lam = at.lam_ * 1.0001
        keep, _ = solve_lp(pruner._problem, lam)
        best = pruner.at(lam=lam)
        objective = pruner._problem.loss(keep) + lam * pruner._problem.cost(keep)
        assert best.error_ + lam * best.cost_ == pytest.approx(objective, rel=1e-12)


@pytest.mark.parametrize(
    "model",
    [
        DecisionTreeClassifier(max_depth=6),
        ExtraTreesClassifier(5, max_depth=5, random_state=0),
        BaggingClassifier(DecisionTreeClassifier(), 5, max_features=0.5, random_state=0),
        BaggingClassifier(
            DecisionTreeClassifier(), 5, max_features=3, bootstrap_features=True, random_state=0
        ),
    ],
    ids=lambda m: type(m).__name__,
)
def test_ensembles(cancer, model):
    X, y = cancer
    names = np.array(["benign", "malignant"])[y]
    fitted = model.fit(X, names)
    options = {"budget": "50%", "drop_trees": False}
    pruner = FeatureBudgetPruner(FrozenEstimator(fitted), **options).fit(X, names)
    assert type(pruner.pruned_estimator_) is type(fitted)
    error, cost, _, _ = count_by_rows_of_labels(pruner, X, names)
    assert pruner.error_ == pytest.approx(error, abs=1e-9)
    assert pruner.cost_ == pytest.approx(cost, abs=1e-9)
    assert pruner.cost_ <= 0.5 * pruner.unpruned_cost_ + 1e-9
    assert set(pruner.predict(X)) <= set(names)


def count_by_rows_of_labels(pruner, X, names):
    """As `count_by_rows`, for trees that may hold labels themselves."""
    index = np.searchsorted(pruner.classes_, names)
    trees = tree_estimators(pruner.pruned_estimator_)
    errors, used = [], np.zeros(X.shape, dtype=bool)
    for tree, columns in trees:
        columns = np.arange(X.shape[1]) if columns is None else columns
        label = tree.predict(X[:, columns])
        truth = names if label.dtype.kind in "UO" else index
        errors.append(np.mean(label != truth))
        paths = tree.decision_path(X[:, columns]).toarray() > 0
        for node in np.flatnonzero(tree.tree_.feature >= 0):
            used[paths[:, node], columns[tree.tree_.feature[node]]] = True
    return np.mean(errors), used.sum(axis=1).mean(), used, used.sum(axis=1)


def test_single_tree_estimator_is_pruned_in_a_copy(cancer):
    X, y = cancer
    tree = DecisionTreeClassifier(random_state=0).fit(X, y)
    before = tree.tree_.node_count
    pruner = FeatureBudgetPruner(FrozenEstimator(tree), lam=0.01).fit(X, y)
    assert tree.tree_.node_count == before
    assert pruner.pruned_estimator_.tree_.node_count < before
    assert "feature" in export_text(pruner.pruned_estimator_)


def test_users_ensemble_is_untouched_and_result_pickles(forest, cancer):
    X, y = cancer
    before = pickle.dumps(forest)
    pruner = FeatureBudgetPruner(FrozenEstimator(forest), budget="30%")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pruner.fit(X, y)
    assert pickle.dumps(forest) == before
    again = pickle.loads(pickle.dumps(pruner))
    assert np.array_equal(again.predict_proba(X), pruner.predict_proba(X))
    assert again.at(lam=0.01).cost_ == pruner.at(lam=0.01).cost_
    alone = pickle.loads(pickle.dumps(pruner.pruned_estimator_))
    assert np.array_equal(alone.predict_proba(X), pruner.predict_proba(X))


def test_out_of_bag_errors(cancer):
    X, y = cancer
    for model in (
        RandomForestClassifier(10, random_state=0),
        BaggingClassifier(DecisionTreeClassifier(), 10, random_state=0),
    ):
        fitted = model.fit(X, y)
        pruner = FeatureBudgetPruner(FrozenEstimator(fitted), errors="oob", lam=0.002).fit(X, y)
        errors = []
        for (tree, _), rows in zip(
            tree_estimators(pruner.pruned_estimator_), fitted.estimators_samples_, strict=True
        ):
            out = np.setdiff1d(np.arange(len(X)), rows)
            errors.append(np.mean(tree.predict(X[out]) != y[out]))
        assert pruner.error_ == pytest.approx(np.mean(errors), abs=1e-9)
        assert pruner.unpruned_error_ > 0.02


def test_lazy_prediction_fetches_what_is_paid_for(forest, cancer):
    X, y = cancer
    frame = pd.DataFrame(X, columns=[f"c{i}" for i in range(30)])
    model = RandomForestClassifier(10, random_state=0).fit(frame, y)
    pruner = FeatureBudgetPruner(FrozenEstimator(model), lam=0.002).fit(frame, y)
    asked = np.zeros(X.shape, dtype=int)

    def fetch(name, rows):
        k = int(name[1:])
        asked[rows, k] += 1
        return X[rows, k]

    result = pruner.predict_lazy(fetch, len(X))
    assert np.array_equal(result.prediction, pruner.predict(frame))
    assert np.array_equal(result.acquired, pruner.acquired_features(frame))
    assert np.array_equal(asked, result.acquired.astype(int))
    assert np.array_equal(result.cost, pruner.feature_cost(frame))
    one = pruner.predict_lazy(lambda name, rows: X[5, int(name[1:])])
    assert one.prediction[0] == pruner.predict(frame.iloc[[5]])[0]
    with pytest.raises(ValueError, match="returned"):
        pruner.predict_lazy(lambda name, rows: np.inf)


def test_at_equals_fitting_again(forest, cancer, pruner):
    for settings in ({"lam": 0.01}, {"budget": 7.5}, {"budget": "55%"}, {}):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            a = pruner.at(**settings)
            b = FeatureBudgetPruner(FrozenEstimator(forest), **settings).fit(*cancer)
        assert (a.cost_, a.error_, a.error_bound_) == (b.cost_, b.error_, b.error_bound_)
        assert np.array_equal(a._pruning.keep, b._pruning.keep)
    assert pruner.lam is None
    with pytest.raises(ValueError, match="both"):
        pruner.at(lam=1.0, budget=2.0)


def test_select_on_validation_rows(cancer):
    X, y = cancer
    model = RandomForestClassifier(20, max_features=None, random_state=0).fit(X[::2], y[::2])
    pruner = FeatureBudgetPruner(FrozenEstimator(model)).fit(X[::2], y[::2])
    chosen = pruner.select(X[1::2], y[1::2], max_loss=0.02)
    error = np.mean(chosen.predict(X[1::2]) != y[1::2])
    assert error <= np.mean(model.predict(X[1::2]) != y[1::2]) + 0.02 + 1e-12
    assert chosen.cost_ < 0.7 * pruner.unpruned_cost_
    scores = pruner.path_scores(X[1::2], y[1::2])
    k = int(np.flatnonzero(scores.lams == chosen.lam_)[0])
    assert scores.errors[k] == pytest.approx(error)
    assert scores.costs[k] == pytest.approx(chosen.feature_cost(X[1::2]).mean())


def test_pruning_path_fits_a_clone(cancer):
    X, y = cancer
    pruner = FeatureBudgetPruner(RandomForestClassifier(5, random_state=0), budget="50%")
    path = pruner.pruning_path(X, y)
    assert not hasattr(pruner, "path_")
    assert path.costs[0] > path.costs[-1] == 0
    assert list(path) == ["lams", "costs", "errors", "n_splits", "n_features"]


def test_budgets_are_kept_and_filled():
    """A path with wide steps; filling them closes much of the mean gap to the bound."""
    X, y = make_classification(300, 8, n_informative=6, random_state=0)
    frozen = FrozenEstimator(RandomForestClassifier(20, random_state=0).fit(X, y))
    pruner = FeatureBudgetPruner(frozen).fit(X, y)
    gap = {"vertex": 0.0, "theta": 0.0}
    for share in np.linspace(2, 98, 25):
        for fill in gap:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                at = pruner.set_params(fill=fill).at(budget=f"{share}%")
            assert at.cost_ <= share / 100 * pruner.unpruned_cost_ + 1e-9
            assert at.error_bound_ <= at.error_ + 1e-12
            gap[fill] += at.error_ - at.error_bound_
    assert gap["theta"] <= 0.6 * gap["vertex"]


def test_integer_program_closes_the_gap(cancer):
    X, y = cancer[0][::3], cancer[1][::3]
    frozen = FrozenEstimator(RandomForestClassifier(4, max_depth=3, random_state=0).fit(X, y))
    bound, best = [], []
    for fill in ("vertex", "theta", "mip"):
        pruner = FeatureBudgetPruner(frozen, budget="37%", fill=fill)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            pruner.fit(X, y)
        bound.append(pruner.error_bound_)
        best.append(pruner.error_)
    assert best[0] >= best[1] >= best[2] - 1e-9
    assert max(bound[:2]) <= best[2] + 1e-9
    assert pruner.is_budget_optimal_


def test_wide_step_warns_and_says_what_helps():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 20))
    y = (X[:, :10].sum(axis=1) > 0).astype(int)
    model = RandomForestClassifier(30, random_state=0).fit(X, y)
    with pytest.warns(UserWarning, match="max_features=None") as fitting:
        pruner = FeatureBudgetPruner(FrozenEstimator(model), budget="30%").fit(X, y)
    with pytest.warns(UserWarning, match="max_features=None") as moving:
        pruner.at(budget="29%")
    assert [warning.filename for warning in (*fitting, *moving)] == [__file__] * 2
    assert not pruner.is_budget_optimal_
    assert pruner.error_bound_ < pruner.error_


def test_out_of_time():
    X, y = load_breast_cancer(return_X_y=True)
    frozen = FrozenEstimator(RandomForestClassifier(40, random_state=0).fit(X, y))
    with pytest.warns(ConvergenceWarning, match="time_limit"):
        pruner = FeatureBudgetPruner(frozen, lam=0.003, time_limit=1e-9).fit(X, y)
    assert pruner.status_ == "feasible"
    exact = FeatureBudgetPruner(frozen, lam=0.003).fit(X, y)
    assert pruner.error_ + 0.003 * pruner.cost_ >= exact.error_ + 0.003 * exact.cost_ - 1e-12
    assert pruner.error_bound_ <= exact.at(budget=pruner.cost_).error_ + 1e-9


@pytest.mark.parametrize("solver", ["min_cut", "highs"])
@pytest.mark.parametrize("options", [{}, {"ties": "prune"}, {"fill": "mip"}, {"sharing": "tree"}])
def test_no_time_to_state_what_rows_share(cancer, forest, monkeypatch, solver, options):
    """Prunings on the best features, or of the first trees, are compared as they are."""
    if options.get("sharing") == "tree" and solver == "highs":
        options = {**options, "fill": "vertex"}
    X, y = cancer
    options = {"solver": solver, "labels": "sample", **options}
    frozen = FrozenEstimator(forest)
    exact = FeatureBudgetPruner(frozen, labels="sample").fit(X, y)
    monkeypatch.setattr(_problem, "USE_SECONDS", 1e9)
    with pytest.warns(ConvergenceWarning, match="time_limit"):
        pruner = FeatureBudgetPruner(frozen, time_limit=1e6, **options).fit(X, y)
    assert not pruner._problem.has_costs
    assert pruner.unpruned_cost_ == exact.unpruned_cost_
    assert pruner.error_ == pytest.approx(exact.error_, rel=1e-12)
    assert pruner.cost_ <= exact.unpruned_cost_
    for share in ("5%", "40%", "80%"):
        with pytest.warns(ConvergenceWarning, match="time_limit"):
            some = pruner.at(budget=share)
        assert some.cost_ <= some.budget_ * (1 + 1e-9)
        assert some.cost_ == pytest.approx(some.feature_cost(X).mean(), rel=1e-12)
        best = exact.at(budget=share)
        assert some.status_ == "feasible"
        assert some.error_bound_ <= best.error_ + 1e-12
        used = some.acquired_features(X).mean(axis=0)
        np.testing.assert_allclose(some.feature_usage_, used, rtol=1e-12)


def test_no_time_to_send_rows_through_the_trees(cancer, forest, monkeypatch):
    def stopped(*arguments):
        raise Stopped

    monkeypatch.setattr(Forest, "apply", stopped)
    with pytest.raises(TimeLimitError, match="569 rows had been sent through"):
        FeatureBudgetPruner(FrozenEstimator(forest)).fit(*cancer)


@pytest.mark.parametrize("solver", ["highs", "highs_printed", "dantzig_wolfe"])
def test_linear_programs_out_of_time(cancer, forest, solver):
    X, y = cancer
    options = {"lam": 0.003, "solver": solver, "time_limit": 1e-9}
    with pytest.warns(ConvergenceWarning, match="time_limit"):
        pruner = FeatureBudgetPruner(FrozenEstimator(forest), **options).fit(X, y)
    assert pruner.status_ == "feasible"
    exact = FeatureBudgetPruner(FrozenEstimator(forest)).fit(X, y)
    assert pruner.cost_ <= exact.unpruned_cost_
    assert pruner.error_bound_ <= exact.at(budget=pruner.cost_).error_ + 1e-9


def test_columns_of_an_interrupted_decomposition(cancer, forest, monkeypatch):
    """The master program ends early: the answer is that of the round before, and allowed."""
    X, y = cancer
    best = FeatureBudgetPruner(FrozenEstimator(forest), lam=0.003).fit(X, y)
    problem = best._problem
    solve, rounds = LinearProgram.solve, []

    def interrupted(program, time_limit=None):
        rounds.append(solve(program, time_limit))
        return replace(rounds[-1], status="time_limit" if len(rounds) == 3 else "optimal")

    monkeypatch.setattr(LinearProgram, "solve", interrupted)
    keep, objective, bound, n_rounds = solve_dantzig_wolfe(problem, 0.003)
    assert n_rounds == 3
    value = best.error_ + 0.003 * best.cost_
    assert bound < value < objective
    assert problem.loss(keep) + 0.003 * problem.cost(keep) >= value


def test_budget_of_trees_alone_by_linear_programs(cancer, forest):
    X, y = (part[::3] for part in cancer)
    options = {"budget": "50%", "sharing": "tree"}
    cut = FeatureBudgetPruner(FrozenEstimator(forest), **options).fit(X, y)
    lp = FeatureBudgetPruner(FrozenEstimator(forest), solver="highs", **options).fit(X, y)
    assert lp.cost_ <= 0.5 * lp.unpruned_cost_
    assert (lp.error_, lp.cost_) == pytest.approx((cut.error_, cut.cost_), abs=1e-6)


class Unweighted(DecisionTreeClassifier):
    """A tree that bagging fits on rows instead of weights: it may miss a class."""

    def fit(self, X, y):
        return super().fit(X, y)


def test_values_of_rows_in_trees_grown_without_a_class():
    X, y = load_iris(return_X_y=True)
    seen = np.concatenate([np.arange(100), [149]])
    bag = BaggingClassifier(Unweighted(max_depth=2), 8, random_state=0)
    frozen = FrozenEstimator(bag.fit(X[seen], y[seen]))
    assert {2, 3} == {len(tree.classes_) for tree in bag.estimators_}
    two = y < 2
    pruner = FeatureBudgetPruner(frozen, labels="sample").fit(X[two], y[two])
    np.testing.assert_array_equal(pruner.predict(X[two]), y[two])
    with pytest.raises(ValueError, match="Use labels='tree'"):
        FeatureBudgetPruner(frozen, labels="sample").fit(X, y)


def test_default_ensemble_and_names(cancer):
    frame = load_breast_cancer(as_frame=True)
    pruner = FeatureBudgetPruner(
        feature_costs={"mean radius": 2.0, "mean texture": 1.0, 3: 4},
        groups={"size": ["mean radius", "mean area"], "rest": [7, 8]},
        group_costs={"size": 3.0, "rest": 0.0},
        lam=0.001,
        random_state=0,
    ).fit(frame.data, frame.target)
    assert len(pruner.estimator_.estimators_) == 40
    assert list(pruner.feature_names_in_) == list(frame.data.columns)
    used = pruner.acquired_features(frame.data)
    cost = used[:, 0] * 2 + used[:, 1] + used[:, 3] * 4 + 3 * (used[:, 0] | used[:, 3])
    assert pruner.feature_cost(frame.data) == pytest.approx(cost)
    assert pruner.cost_ == pytest.approx(cost.mean())
    assert pruner.feature_usage_ == pytest.approx(used.mean(axis=0))


BAD = [
    ({"lam": 1.0, "budget": 2.0}, "both"),
    ({"lam": -1.0}, "lam"),
    ({"budget": -1.0}, "budget"),
    ({"budget": "sixty"}, "60%"),
    ({"budget": "-5%"}, "60%"),
    ({"budget": "nan%"}, "60%"),
    ({"feature_costs": [1.0, 2.0]}, "shape"),
    ({"feature_costs": [1.0, 2.0, 3.0, np.nan]}, r"feature_costs\[3\]=.*nan"),
    ({"feature_costs": [1.0, 2.0, np.inf, 1.0]}, r"feature_costs\[2\]=.*inf"),
    ({"feature_costs": [1.0, -2.0, 3.0, 1.0]}, r"feature_costs\[1\]=.*-2"),
    ({"feature_costs": [0, 0, 0, 0]}, "all zero"),
    ({"feature_costs": {"age": 1.0}}, "no column names"),
    ({"feature_costs": {4: 1.0}}, "indices from 0 to 3"),
    ({"feature_costs": {0: "dear"}}, "not a price"),
    ({"groups": {"a": [0, 1]}}, "have no prices"),
    ({"groups": {"a": [0, 1]}, "group_costs": {"b": 1.0}}, "no price for the group 'a'"),
    ({"groups": {"a": [0]}, "group_costs": {"a": 1.0, "b": 1.0}}, "'b'"),
    ({"groups": {"a": [0, 1], "b": [1]}, "group_costs": 1.0}, "one group only"),
    ({"groups": {"a": [0, 9]}, "group_costs": 1.0}, "indices"),
    ({"groups": {"a": "sepal"}, "group_costs": 1.0}, "not a list"),
    ({"groups": {"a": [0]}, "group_costs": {"a": -1.0}}, "not a price"),
    ({"group_costs": 1.0}, "needs groups"),
    ({"errors": "oob", "estimator": ExtraTreesClassifier(3)}, "bootstrap"),
    ({"errors": "oob", "estimator": DecisionTreeClassifier()}, "bootstrap"),
    ({"loss": "squared_error"}, "does not fit a classifier"),
]


@pytest.mark.parametrize(("options", "message"), BAD, ids=[m for _, m in BAD])
def test_bad_parameters(options, message):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match=message):
        FeatureBudgetPruner(**{"random_state": 0, **options}).fit(X, y)


@pytest.mark.parametrize(
    "model",
    [
        AdaBoostClassifier(n_estimators=2),
        GradientBoostingClassifier(n_estimators=2),
        HistGradientBoostingClassifier(max_iter=1),
        IsolationForest(n_estimators=3),
    ],
    ids=lambda m: type(m).__name__,
)
def test_boosting_is_refused_with_the_reason(model):
    X, y = load_iris(return_X_y=True)
    for estimator in (model, FrozenEstimator(clone(model).fit(X, y))):
        with pytest.raises(TypeError, match="no error of their own"):
            FeatureBudgetPruner(estimator).fit(X, y)


def test_bad_rows(forest, cancer):
    X, y = cancer
    frozen = FrozenEstimator(forest)
    with pytest.raises(ValueError, match="label"):
        FeatureBudgetPruner(frozen).fit(X, np.where(y == 1, 7, y))
    with pytest.raises(ValueError, match="features"):
        FeatureBudgetPruner(frozen).fit(X[:, :5], y)
    with pytest.raises(ValueError, match="weight"):
        FeatureBudgetPruner(frozen).fit(X, y, np.zeros(len(X)))
    with pytest.raises(ValueError, match=r"[Nn]egative"):
        FeatureBudgetPruner(frozen).fit(X, y, -np.ones(len(X)))
    with pytest.raises(ValueError, match=r"minimum of 1"):
        FeatureBudgetPruner(frozen).fit(X[:0], y[:0])
    huge = X.copy()
    huge[3, 4] = 1e300
    with pytest.raises(ValueError, match=r"float32|infinity"):
        FeatureBudgetPruner(frozen).fit(huge, y)
    with pytest.raises(ValueError, match="fitted on"):
        FeatureBudgetPruner(frozen, errors="oob").fit(X[:50], y[:50])
    frame = pd.DataFrame(X, columns=[f"c{i}" for i in range(30)])
    named = FrozenEstimator(RandomForestClassifier(3, random_state=0).fit(frame, y))
    with pytest.raises(ValueError, match="c0"):
        FeatureBudgetPruner(named).fit(frame[frame.columns[::-1]], y)
    with pytest.raises(ValueError, match="does not have"):
        FeatureBudgetPruner(named, feature_costs={"weight": 1.0}).fit(frame, y)
    with pytest.raises(ValueError, match=r"output|shape"):
        FeatureBudgetPruner(RandomForestClassifier(3)).fit(X, np.column_stack([y, y]))


def test_trees_of_one_leaf():
    X = np.arange(8.0)[:, None]
    model = DecisionTreeClassifier().fit(X, np.zeros(8))
    pruner = FeatureBudgetPruner(FrozenEstimator(model), budget=0.5).fit(X, np.zeros(8))
    assert pruner.cost_ == pruner.error_ == 0
    assert pruner.is_budget_optimal_


@pytest.mark.parametrize("regression", [False, True])
def test_display(cancer, regression):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    X, y = load_diabetes(return_X_y=True) if regression else cancer
    model = RandomForestRegressor if regression else RandomForestClassifier
    model = model(6, max_depth=4, random_state=0).fit(X[::2], y[::2])
    pruner = FeatureBudgetPruner(FrozenEstimator(model), budget="50%").fit(X[::2], y[::2])
    _, ax = plt.subplots()
    display = BudgetPathDisplay.from_estimator(pruner, X[1::2], y[1::2], ax=ax, linewidth=3)
    assert display.ax_ is ax
    assert display.figure_ is ax.figure
    assert [line.get_linewidth() for line in display.lines_] == [3, 3]
    shared, alone = display.curves.values()
    scores = pruner.path_scores(X[1::2], y[1::2])
    assert np.array_equal(shared.costs, scores.costs)
    other = clone(pruner).set_params(sharing="tree", budget=None).fit(X[::2], y[::2])
    assert np.array_equal(alone.errors, other.path_scores(X[1::2], y[1::2]).errors)
    error = np.mean((pruner.predict(X[1::2]) - y[1::2]) ** 2)
    assert display.chosen == (pytest.approx(pruner.feature_cost(X[1::2]).mean()), error)
    assert display.unpruned[0] >= display.chosen[0]
    assert display.plot().ax_ is not ax
    # Every mark has its name.
    legend = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    names = ["pruned as an ensemble", "its 95 % interval", "pruned tree by tree"]
    assert legend == [*names, "not pruned", "chosen", "budget"]
    assert display.budget == pruner.budget_ == pytest.approx(0.5 * pruner.unpruned_cost_)
    loss = (pruner.at(lam=scores.lams[1]).predict(X[1::2]) - y[1::2]) ** 2
    assert scores.standard_errors[1] == pytest.approx(np.std(loss) / np.sqrt(len(loss)))
    display.plot_costs()
    assert sum(display.ax_.collections[0].get_paths()[0].get_extents().extents) > 0
    plt.close("all")


def test_what_the_money_goes_to_along_the_path(cancer, forest):
    X, y = cancer
    prices = {"feature_costs": np.arange(30.0), "groups": {"g": [1, 2, 7]}, "group_costs": 5.0}
    pruner = FeatureBudgetPruner(FrozenEstimator(forest), **prices).fit(X, y)
    scores = pruner.path_scores(X, y)
    assert "feature 0" not in scores.costs_by_name  # it is free
    for k in range(0, len(scores.lams), 5):
        used = pruner.at(lam=scores.lams[k]).acquired_features(X)
        assert scores.costs_by_name["feature 7"][k] == pytest.approx(7 * used[:, 7].mean())
        shared = used[:, [1, 2, 7]].any(axis=1).mean()
        assert scores.costs_by_name["group g"][k] == pytest.approx(5 * shared)
        spent = sum(part[k] for part in scores.costs_by_name.values())
        assert spent == pytest.approx(scores.costs[k])


def test_display_of_candidates(cancer):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    X, y = cancer
    X = X[:, :10]
    model = RandomForestClassifier(4, max_depth=3, random_state=0)
    pruner = FeatureBudgetPruner(model, budget="30%").fit(X[::2], y[::2])
    display = BudgetPathDisplay.from_estimator(pruner, X[1::2], y[1::2], individual=False)
    legend = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert legend[:2] == ["candidates, out of bag", "their lower envelope"]
    assert display.candidates is pruner.candidates_
    assert len(display.lines_) == 1
    display.plot_costs()
    legend = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    used = {f"feature {k}" for k in np.flatnonzero(pruner.feature_usage_)}
    assert used <= {*legend, "budget"}
    plt.close("all")


@pytest.mark.parametrize("refit", [False, "auto"])
def test_missing_values(refit):
    """Routing, costs and answers of rows that lack values are those of the pruned ensemble."""
    rng = np.random.RandomState(0)
    X = rng.normal(size=(150, 4))
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    X[rng.random_sample(X.shape) < 0.2] = np.nan
    model = RandomForestClassifier(8, max_depth=4, random_state=0)
    model = FrozenEstimator(model.fit(X, y)) if refit is False else model
    pruner = FeatureBudgetPruner(model, refit=refit, budget=2.5, random_state=0).fit(X, y)
    new = rng.normal(size=(80, 4))
    new[rng.random_sample(new.shape) < 0.3] = np.nan
    asked = pruner.predict_lazy(lambda name, rows: new[rows, name], len(new))
    np.testing.assert_array_equal(asked.prediction, pruner.predict(new))
    np.testing.assert_allclose(asked.cost, pruner.feature_cost(new))
    assert pruner.feature_cost(X).mean() <= 2.5 + 1e-9
    np.testing.assert_array_equal(asked.acquired, pruner.acquired_features(new))
