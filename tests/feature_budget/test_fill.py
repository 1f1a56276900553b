"""Budgets between two prunings of the path: what is found, and which trees vote."""

import warnings
from itertools import product

import numpy as np
import pytest
from ensemble_simplify.feature_budget.pruning._closure import solve_path
from ensemble_simplify.feature_budget.pruning._closure_problem import (
    gains_of_one_more,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_digits, make_classification
from sklearn.ensemble import (
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

from ensemble_simplify import FeatureBudgetPruner
from ensemble_simplify.feature_budget._case import importance_ranking, is_grown_on
from ensemble_simplify.feature_budget.pruning._choice import fill_step, usable_nodes
from ensemble_simplify.grid import limits
from ensemble_simplify.reading.family import family_of
from ensemble_simplify.reading.forest import tree_estimators

pytestmark = pytest.mark.filterwarnings(
    "ignore:budget=.* lies between two optimal prunings:UserWarning"
)
seeds = st.integers(0, 10**6)


def small_trees(seed):
    """Nodes with gains and features, in trees: parents come first."""
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(1, 9)), int(rng.integers(1, 5))
    parent = np.array([rng.integers(-1, v) if v else -1 for v in range(n)], dtype=np.int32)
    gain = rng.integers(-3, 6, n)
    feature = rng.integers(0, k, n).astype(np.int32)
    allowed = (rng.random(k) < 0.6).astype(np.uint8)
    within = np.ones(n, dtype=np.uint8)
    for v in range(n):
        within[v] = rng.random() < 0.9 and (parent[v] < 0 or within[parent[v]])
    return parent, gain, feature, allowed, within


def best_gain(parent, gain, feature, allowed, within):
    """The largest gain of a closed set on some features, and the size of the smallest such set."""
    n, best = len(parent), (0, 0)
    for bits in product((0, 1), repeat=n):
        chosen = np.array(bits, dtype=bool)
        if all(within[v] and allowed[feature[v]] for v in np.flatnonzero(chosen)) and all(
            parent[v] < 0 or chosen[parent[v]] for v in np.flatnonzero(chosen)
        ):
            best = max(best, (int(gain[chosen].sum()), -int(chosen.sum())))
    return best


@settings(max_examples=100, deadline=None)
@given(seeds)
def test_best_set_on_some_features_by_enumeration(seed):
    arrays = parent, gain, feature, allowed, within = small_trees(seed)
    chosen, value = usable_nodes(parent, gain, feature, allowed > 0, within > 0)
    lost = np.bincount(feature[chosen], value[chosen], minlength=len(allowed))
    assert (gain[chosen > 0].sum(), -int(chosen.sum())) == best_gain(*arrays)
    # A feature that no way down tests twice loses what the best set without it gains less.
    for k in np.flatnonzero(allowed):
        ways = [[v] for v in np.flatnonzero(chosen)]
        for way in ways:
            while parent[way[-1]] >= 0:
                way.append(parent[way[-1]])
        if any(np.count_nonzero(feature[way] == k) > 1 for way in ways):
            continue
        fewer = allowed.copy()
        fewer[k] = 0
        assert lost[k] >= gain[chosen > 0].sum() - best_gain(*arrays[:3], fewer, within)[0]


@settings(max_examples=100, deadline=None)
@given(seeds)
def test_gain_of_one_more_feature_by_enumeration(seed):
    parent, gain, feature, allowed, within = small_trees(seed)
    gain = np.abs(gain) + 1  # every node helps: the best set is all that can be reached
    won = np.full(len(allowed), 9, dtype=np.int64)
    gains_of_one_more(parent, gain, feature, allowed, within, won)
    now = best_gain(parent, gain, feature, allowed, within)[0]
    for k in range(len(allowed)):
        more = allowed.copy()
        more[k] = 1
        assert won[k] == best_gain(parent, gain, feature, more, within)[0] - now


@settings(max_examples=150, deadline=None)
@given(seeds)
def test_the_edge_across_a_cost_is_that_of_the_whole_path(seed):
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(1, 30)), int(rng.integers(0, 20))
    parent = np.array([rng.integers(-1, v) if v else -1 for v in range(n)], dtype=np.int32)
    gain, own = rng.integers(1, 50, n), rng.integers(0, 9, n)
    needs = [rng.choice(m, rng.integers(0, min(m, 4) + 1), replace=False) for _ in range(n)]
    start = np.cumsum([0, *map(len, needs)])
    items = np.concatenate(needs).astype(np.int32)
    price = rng.integers(1, 20, m)

    def nested(**options):
        last = np.empty(n, dtype=np.int32)
        edges, cuts = np.zeros((n + 1, 3), dtype=np.int64), np.zeros((2 * n + 1, 4), dtype=np.int64)
        active = np.ones(n, dtype=np.uint8)
        found = solve_path(
            parent, gain, own, start, items, price, active, last, edges, cuts, **options
        )
        sets = [last >= k for k in range(found[0] + 1)]
        paid = [{w for v in np.flatnonzero(s) for w in needs[v]} for s in sets]
        costs = [own[s].sum() + sum(price[w] for w in p) for s, p in zip(sets, paid, strict=True)]
        return sets, np.array(costs), found[1]

    whole, costs, n_cuts = nested()
    room = float(rng.uniform(0, 1.1 * costs[0] + 1))
    branch, branch_costs, n_fewer = nested(room=room)
    assert n_fewer <= n_cuts
    dearest = next(s for s, c in zip(whole, costs, strict=True) if c <= room)
    found = next(s for s, c in zip(branch, branch_costs, strict=True) if c <= room)
    np.testing.assert_array_equal(found, dearest)
    # In other units, with items at another price than nodes.
    options = {"paid": 3.0 * own, "paid_per_price": 3.0}
    again, _, _ = nested(room=3 * room, **options)
    assert len(again) == len(branch)
    assert all(np.array_equal(a, b) for a, b in zip(again, branch, strict=True))


def test_ranking_of_features_is_that_of_the_ensemble():
    X, y = make_classification(250, 9, n_informative=5, random_state=0)
    forest = RandomForestClassifier(10, random_state=0).fit(X, y)
    case = FeatureBudgetPruner(FrozenEstimator(forest)).fit(X, y)._case
    np.testing.assert_array_equal(
        importance_ranking(case), np.argsort(-forest.feature_importances_)
    )
    bags = BaggingClassifier(DecisionTreeClassifier(), 6, max_features=4, random_state=0).fit(X, y)
    worth = np.zeros(9)
    for member, columns in zip(bags.estimators_, bags.estimators_features_, strict=True):
        worth[columns] += member.feature_importances_
    case = FeatureBudgetPruner(FrozenEstimator(bags)).fit(X, y)._case
    np.testing.assert_array_equal(importance_ranking(case), np.argsort(-worth))


@pytest.mark.parametrize("first", [True, False], ids=["trees", "features"])
def test_what_one_would_do_by_hand_is_among_the_fillings(first):
    """The first trees, and the features of a ranking, as many as the budget allows."""
    X, y = make_classification(250, 9, n_informative=5, random_state=0)
    forest = RandomForestClassifier(25, random_state=0).fit(X, y)
    price = np.array([1.0, 2, 3, 0, 5, 1, 2, 3, 0])
    pruner = FeatureBudgetPruner(FrozenEstimator(forest), feature_costs=price).fit(X, y)
    problem, rng = pruner._problem, np.random.default_rng(0)
    free = np.flatnonzero(price == 0)
    gainful = problem.expand(problem.closure.active) > 0
    wide = 0
    for share in (0.15, 0.3, 0.5, 0.7, 0.9):
        budget = share * pruner.unpruned_cost_
        k = int(np.argmax(pruner.path_.costs <= budget))
        low, high = (pruner._path.chosen(j) for j in (k, k - 1))
        ranking = rng.permutation(9)
        found = fill_step(problem, low, high, budget, rankings=[ranking])
        best = 0
        for n in range(26 if first else 10):
            if first:
                tree = np.repeat(np.arange(25), np.diff(pruner._forest.offsets))
                keep = problem.split * gainful * (tree < n)
            else:
                keep = problem.split * gainful
                for node in problem.order:
                    up = problem.parent[node]
                    usable = problem.feature[node] in {*ranking[:n], *free}
                    keep[node] &= usable and (up < 0 or keep[up])
            if problem.cost(keep) <= budget * (1 + 1e-9):
                best = max(best, problem.closure.gain[problem.chosen(keep)].sum())
        gains = [problem.closure.gain[one].sum() for one in found[1:]]
        assert max(gains, default=0) >= best
        wide += best > 0
    assert wide >= 3


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return train_test_split(X, y, test_size=0.4, random_state=1, stratify=y)


def test_default_forest_on_digits_beats_every_prefix_of_its_trees(digits):
    X, X_test, y, y_test = digits
    forest = RandomForestClassifier(100, random_state=1).fit(X, y)
    pruner = FeatureBudgetPruner(FrozenEstimator(forest)).fit(X, y)
    problem, tree = pruner._problem, np.repeat(np.arange(100), np.diff(pruner._forest.offsets))
    proba = np.cumsum([t.predict_proba(X_test) for t in forest.estimators_], axis=0)
    accuracy = np.mean(proba.argmax(axis=2) == y_test, axis=1)
    cost = np.array([problem.cost(problem.split * (tree < k)) for k in range(1, 20)])
    for share in (0.25, 0.5, 0.75):
        at = pruner.at(budget=f"{100 * share}%")
        fits = np.flatnonzero(cost <= share * pruner.unpruned_cost_)
        assert fits.size
        assert cost[-1] > share * pruner.unpruned_cost_
        assert at.cost_ <= share * pruner.unpruned_cost_ * (1 + 1e-9)
        assert at.score(X_test, y_test) >= accuracy[fits].max()
        assert at.error_bound_ <= at.error_


@pytest.mark.parametrize("seed", range(3))
def test_no_family_of_prunings_is_better(seed):
    """Not worse than any prefix of the trees, nor than the most important features alone."""
    rng = np.random.default_rng(seed)
    n_classes = 2 + seed % 3
    X, y = make_classification(250, 9, n_informative=5, n_classes=n_classes, random_state=seed)
    forest = RandomForestClassifier(25, random_state=seed).fit(X, y)
    price = rng.integers(1, 6, 9).astype(float)
    pruner = FeatureBudgetPruner(FrozenEstimator(forest), feature_costs=price).fit(X, y)
    problem = pruner._problem
    tree = np.repeat(np.arange(25), np.diff(pruner._forest.offsets))
    others = [problem.split * (tree < k) for k in range(1, 25)]
    for worth in (forest.feature_importances_, forest.feature_importances_ / price):
        ranked = np.argsort(-worth)
        for k in range(1, 10):
            keep = problem.split.copy()
            for node in problem.order:
                up = problem.parent[node]
                keep[node] &= problem.feature[node] in ranked[:k] and (up < 0 or keep[up])
            others.append(keep)
    error, cost = np.array([(problem.loss(keep), problem.cost(keep)) for keep in others]).T
    for share in (0.2, 0.4, 0.6, 0.8):
        budget = share * pruner.unpruned_cost_
        at = pruner.at(budget=budget)
        assert at.cost_ <= budget * (1 + 1e-9)
        assert at.error_bound_ <= at.error_
        k = int(np.argmax(pruner.path_.costs <= budget))
        low, high = (pruner._path.chosen(j) for j in (k, k - 1))
        rankings = [importance_ranking(pruner._case)]
        found = fill_step(problem, low, high, budget, rankings=rankings)
        found = [problem.expand(one) for one in found]
        best, *_ = [problem.loss(keep) for keep in found]
        assert best <= error[cost <= budget].min(initial=np.inf) + 1e-12
        assert best == min(problem.loss(keep) for keep in found)
        # The choice among them is by the votes of trees on rows that they have not seen.
        score = []
        for keep in found:
            assert problem.cost(keep) <= budget * (1 + 1e-9)
            proba, counts = np.zeros((len(X), n_classes)), np.zeros(len(X))
            stop = problem.stops(keep)[pruner._forest.apply(X)]
            grown = np.flatnonzero(keep[pruner._forest.offsets[:-1]])
            for t in grown if grown.size else range(25):
                out = np.setdiff1d(np.arange(len(X)), forest.estimators_samples_[t])
                proba[out] += pruner._forest.value[stop[out, t]]
                counts[out] += 1
            # A row that all of them have seen is answered by the mean of the roots.
            roots = [t.tree_.value[0, 0] for t in forest.estimators_]
            proba[counts == 0] = np.mean(roots, axis=0)
            proba /= np.maximum(counts, 1)[:, None]
            truth = y[:, None] == np.arange(n_classes)
            brier = np.mean(np.sum((proba - truth) ** 2, axis=1))
            score.append(np.mean(proba.argmax(axis=1) != y) + brier / 2)
        assert at.error_ == pytest.approx(problem.loss(found[int(np.argmin(score))]))


def test_filling_out_of_time_stays_within_the_budget():
    X, y = make_classification(300, 8, n_informative=6, random_state=0)
    forest = RandomForestClassifier(20, random_state=0).fit(X, y)
    pruner = FeatureBudgetPruner(FrozenEstimator(forest)).fit(X, y)
    budget = 0.5 * pruner.unpruned_cost_
    k = int(np.argmax(pruner.path_.costs <= budget))
    low, high = (pruner._path.chosen(j) for j in (k, k - 1))
    with limits(0.0):
        late = fill_step(pruner._problem, low, high, budget)[0]
    found = fill_step(pruner._problem, low, high, budget)[0]
    closure = pruner._problem.closure
    assert closure.gain[found].sum() >= closure.gain[late].sum() >= closure.gain[low].sum()
    for chosen in (late, found):
        assert closure.cost(chosen) * pruner._problem.cost_unit <= budget * (1 + 1e-9)


# Which trees vote.


@pytest.mark.parametrize(
    "model",
    [
        RandomForestClassifier(8, random_state=0),
        ExtraTreesClassifier(8, random_state=0),
        BaggingClassifier(DecisionTreeClassifier(), 8, max_features=0.5, random_state=0),
        RandomForestRegressor(8, random_state=0),
        BaggingRegressor(n_estimators=8, random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_some_members_of_an_ensemble(model):
    X, y = make_classification(120, 6, n_informative=4, random_state=0)
    fitted = model.fit(X, y)
    trees = tree_estimators(fitted)
    samples = getattr(fitted, "estimators_samples_", None)
    kept = np.array([1, 4, 5])
    answers = [trees[i][0].predict(X if trees[i][1] is None else X[:, trees[i][1]]) for i in kept]
    family_of(fitted).keep_members(kept)
    assert fitted.n_estimators == len(fitted.estimators_) == 3
    np.testing.assert_allclose(fitted.predict(X), np.round(np.mean(answers, axis=0), 12), atol=0.5)
    if hasattr(fitted, "predict_proba"):
        np.testing.assert_array_equal(fitted.predict(X), np.mean(answers, axis=0) > 0.5)
    if samples is not None:
        for rows, i in zip(fitted.estimators_samples_, kept, strict=True):
            np.testing.assert_array_equal(rows, samples[i])


def test_trees_without_splits_do_not_vote():
    """Constant trees would outvote the others wherever one class has most rows."""
    X, y = make_classification(400, 12, n_informative=6, weights=[0.75], random_state=0)
    forest = RandomForestClassifier(60, random_state=0).fit(X[::2], y[::2])
    frozen = FrozenEstimator(forest)
    every = FeatureBudgetPruner(frozen, drop_trees=False).fit(X[::2], y[::2])
    dropping = FeatureBudgetPruner(frozen).fit(X[::2], y[::2])
    some = 0
    for share in range(0, 101, 10):
        a, b = every.at(budget=f"{share}%"), dropping.at(budget="0%")
        b._set_pruning(a._pruning)
        assert (a.error_, a.cost_) == (b.error_, b.cost_)
        assert len(a.voting_trees_) == a.pruned_estimator_.n_estimators == 60
        trees = [t for t, _ in tree_estimators(a.pruned_estimator_)]
        split = np.flatnonzero([t.get_n_leaves() > 1 for t in trees])
        if not split.size:
            split = np.arange(60)
        np.testing.assert_array_equal(b.voting_trees_, split)
        mean = np.mean([trees[i].predict_proba(X) for i in split], axis=0)
        np.testing.assert_allclose(b.predict_proba(X), mean, rtol=1e-12)
        np.testing.assert_array_equal(b.feature_cost(X), a.feature_cost(X))
        assert b.forest_error_ == np.mean(b.predict(X[::2]) != y[::2])
        fetched = b.predict_lazy(lambda k, rows: X[rows, k], len(X))
        np.testing.assert_array_equal(fetched.prediction, b.predict(X))
        some += 0 < len(split) < 60
    assert some
    scores = dropping.path_scores(X[1::2], y[1::2])
    errors = [np.mean(dropping.at(lam=lam).predict(X[1::2]) != y[1::2]) for lam in scores.lams]
    np.testing.assert_allclose(scores.errors, errors)


def test_regression_by_the_trees_that_are_left():
    X = np.random.default_rng(0).normal(size=(200, 6))
    y = X[:, 0] + X[:, 1] * X[:, 2]
    forest = RandomForestRegressor(12, max_features=2, random_state=0).fit(X, y)
    pruner = FeatureBudgetPruner(FrozenEstimator(forest)).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        at = pruner.at(budget="30%")
    trees = [t for t, _ in tree_estimators(at.pruned_estimator_)]
    assert all(t.get_n_leaves() > 1 for t in trees)
    np.testing.assert_allclose(at.predict(X), np.mean([t.predict(X) for t in trees], axis=0))
    assert at.forest_error_ == pytest.approx(np.mean((at.predict(X) - y) ** 2))


def test_rows_that_trees_were_grown_on_are_recognised():
    X, y = make_classification(200, 6, n_informative=4, random_state=0)
    weight = np.arange(200) % 3.0
    for model in (
        RandomForestClassifier(4, random_state=0),
        BaggingClassifier(DecisionTreeClassifier(), 4, max_features=0.6, random_state=0),
        RandomForestRegressor(4, random_state=0),
    ):
        forest = FrozenEstimator(model.fit(X, y))
        assert is_grown_on(FeatureBudgetPruner(forest).fit(X, y)._case)
        assert not is_grown_on(FeatureBudgetPruner(forest).fit(X[::-1], y[::-1])._case)
        assert not is_grown_on(FeatureBudgetPruner(forest).fit(X[:150], y[:150])._case)
    weighted = FrozenEstimator(RandomForestClassifier(4, random_state=0).fit(X, y, weight))
    assert is_grown_on(FeatureBudgetPruner(weighted).fit(X, y, weight)._case)
    all_rows = FrozenEstimator(ExtraTreesClassifier(4, random_state=0).fit(X, y))
    assert not is_grown_on(FeatureBudgetPruner(all_rows).fit(X, y)._case)
