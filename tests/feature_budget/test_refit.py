"""Ensembles fitted with prices in mind: sets of features, judging, and the choice."""

import pickle
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from efforts import set_effort
from scipy.linalg import hadamard
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, make_classification
from sklearn.ensemble import (
    BaggingClassifier,
    ExtraTreesClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import brier_score_loss
from sklearn.tree import DecisionTreeClassifier

from ensemble_simplify import BudgetForestClassifier, FeatureBudgetPruner
from ensemble_simplify.feature_budget._prices import Prices
from ensemble_simplify.feature_budget.refit import _refit
from ensemble_simplify.feature_budget.refit._refit import (
    JudgedEnsemble,
    PruningChoices,
    families,
    feature_sets,
    filled_up,
    fit_on,
    importances,
    losses_of_votes,
    lower_envelope,
    sparse_worth,
    within_price,
    without_the_least,
)
from ensemble_simplify.reading.forest import read_forest, tree_estimators

pytestmark = pytest.mark.filterwarnings(
    "ignore:budget=.* lies between two optimal prunings:UserWarning"
)


FEW = {"rows": (0.3, 1.0), "forest": (0.1,)}
SIX = [0, 1, 2, 3, 6, 7]  # features, two of them dear


@pytest.fixture(scope="module")
def data():
    """Two classes, nine features of which the dear ones say what the cheap ones say as well."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 9))
    X[:, 6:9] = X[:, :3] + 0.1 * rng.normal(size=(300, 3))
    y = (X[:, :3].sum(axis=1) + 0.3 * X[:, 3] > 0).astype(int)
    prices = np.where(np.arange(9) < 6, 1.0, 9.0)
    return X, y, prices


@pytest.fixture(scope="module")
def fitted(data):
    X, y, prices = data
    forest = RandomForestClassifier(9, random_state=0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_refit, "_PENALTIES", FEW)
        return FeatureBudgetPruner(forest, feature_costs=prices, budget=5, random_state=0).fit(X, y)


def test_price_of_a_set_by_rows():
    rng = np.random.default_rng(0)
    groups = {"a": [0, 2], "b": [3, 4, 5]}
    prices = Prices.read(rng.uniform(0, 2, 7), groups, {"a": 1.5, "b": 0.0}, 7)
    for size in range(1, 8):
        for features in combinations(range(7), size):
            row = np.isin(np.arange(7), features)[None]
            assert prices.of_set(list(features)) == pytest.approx(prices.paid(row)[0])
    for k, alone in enumerate(prices.alone()):
        assert alone == pytest.approx(prices.paid(np.arange(7)[None] == k)[0])


def test_prices_as_parameters_are_the_same_prices():
    rng = np.random.default_rng(0)
    groups = {"a": [0, 2], "b": [3, 4, 5]}
    prices = Prices.read([0.0, *rng.uniform(1, 2, 6)], groups, {"a": 1.5, "b": 0.0}, 7)
    options = prices.as_parameters()
    again = Prices.read(options["feature_costs"], options["groups"], options["group_costs"], 7)
    for size in range(1, 8):
        for features in combinations(range(7), size):
            assert again.of_set(list(features)) == pytest.approx(prices.of_set(list(features)))
    assert Prices.read([1.0, 2.0], None, None, 2).as_parameters()["groups"] is None


def test_trials_of_few_trees_decide_which_ensembles_are_grown(data, few_penalties, monkeypatch):
    X, y, prices = data
    set_effort(monkeypatch, _refit, trial_trees=3)
    lines = []
    monkeypatch.setattr(
        _refit.CandidateSearch,
        "_add",
        lambda self, *args, add=_refit.CandidateSearch._add: lines.append(args) or add(self, *args),
    )
    forest = RandomForestClassifier(12, random_state=0)
    pruner = FeatureBudgetPruner(forest, feature_costs=prices, budget=5, random_state=0).fit(X, y)
    sizes = [ensemble.n_estimators for _, ensemble, _ in lines]
    n_full = sizes.count(12)
    assert sizes == [3] * (len(sizes) - n_full) + [12] * n_full
    assert 0 < n_full < len(sizes) / 2
    assert len(pruner.candidates_.names) == 1 + n_full
    assert pruner.cost_ <= 5 * (1 + 1e-9)
    assert pruner._forest.n_trees == 12


def random_prices(rng):
    """Up to eight features, some of them free or in groups."""
    n = int(rng.integers(1, 9))
    group = rng.integers(0, 4, n)
    groups = {g: np.flatnonzero(group == g).tolist() for g in range(1, 4) if (group == g).any()}
    costs = rng.integers(0, 4, n).astype(float)
    costs[0] += 1
    return Prices.read(
        costs, groups or None, {g: float(rng.integers(3)) for g in groups} or None, n
    )


def test_what_is_left_out_and_filled_in_by_trying_all():
    rng = np.random.default_rng(0)
    for _ in range(300):
        prices = random_prices(rng)
        n = len(prices.resources)
        kept, value = np.sort(rng.permutation(n)[: rng.integers(1, n + 1)]), rng.random(n)
        group = prices.resources[kept, 1]
        moves = [[k] for k in kept] + [list(kept[group == g]) for g in np.unique(group) if g >= 0]
        rests = [np.setdiff1d(kept, move) for move in moves]
        saved = [prices.of_set(kept) - prices.of_set(rest) for rest in rests]
        ratios = [
            (value[move].sum() / price, rest.tolist())
            for move, price, rest in zip(moves, saved, rests, strict=True)
            if price > 0 and len(rest)
        ]
        found = without_the_least(prices, kept, value)
        assert (found is None) == (not ratios)
        if ratios:
            assert (pytest.approx(min(ratios)[0]), found.tolist()) in ratios
        goal = prices.of_set(kept) + rng.integers(0, 5)
        others = np.setdiff1d(np.arange(n), kept)
        full = filled_up(prices, kept, others, value, goal)
        assert set(kept) <= set(full)
        assert prices.of_set(full) <= goal
        left = np.setdiff1d(others, full)
        assert all(prices.of_set(np.append(full, k)) > goal for k in left)


def test_one_set_fills_the_budget():
    rng = np.random.default_rng(0)
    worth = rng.random(10)
    prices = Prices.read(np.ones(10), None, None, 10)
    for budget in (3.0, 5.0, 7.0, 9.0):
        sizes = [len(s) for s in feature_sets(prices, lambda kept: worth[kept], budget)]
        assert budget in sizes
        assert sizes == sorted(set(sizes))[::-1]
    plain = [len(s) for s in feature_sets(prices, lambda kept: worth[kept])]
    assert plain == [10, 8, 6, 4, 3, 2, 1]
    # The dear one that was left out is not worth its price, but a cheap one is what is left.
    prices = Prices.read([5.0, 4.0, 1.0, 1.0], None, None, 4)
    sets = feature_sets(prices, lambda kept: np.array([9.0, 4.0, 0.5, 0.1])[kept])
    assert [s.tolist() for s in sets][:2] == [[0, 1, 2, 3], [0, 2, 3]]


def test_sets_leave_out_the_least_worth_for_its_price_and_groups_at_once():
    """The scan is worth more than each of the others, but not its price."""
    worth = np.array([4.0, 3.0, 2.0, 5.0, 5.0])
    groups = {"scan": [3, 4]}
    prices = Prices.read([1.0, 1.0, 1.0, 0.1, 0.1], groups, {"scan": 20.0}, 5)
    sets = feature_sets(prices, lambda kept: worth[kept])
    assert [s.tolist() for s in sets] == [[0, 1, 2, 3, 4], [0, 1, 2], [0, 1], [0]]
    # Without groups it is one feature after the other, and none that is free.
    prices = Prices.read([1.0, 2.0, 4.0, 0.0], None, None, 4)
    sets = feature_sets(prices, lambda kept: np.ones(4)[kept])
    assert [s.tolist() for s in sets] == [[0, 1, 2, 3], [0, 1, 3], [0, 3], [3]]
    assert len(feature_sets(prices, lambda kept: None)) == 1


def test_what_an_l1_penalty_lets_in_by_the_formula_for_orthogonal_columns():
    """Then the coefficient of a column is zero from its covariance with the target on."""
    rng = np.random.default_rng(0)
    X = hadamard(32)[:, 1:9].astype(float)
    y = X @ np.array([0.1, 3.0, 0.0, 1.0, 0.4, 0.02, 2.0, 0.6])
    order = rng.permutation(32)
    worth = sparse_worth(X[order], y[order], np.ones(32), classification=False)
    covariance = np.abs((X * (y - y.mean())[:, None]).mean(axis=0))
    levels = 3.0 * np.geomspace(1, 3e-3, 16)
    for k in np.flatnonzero(worth):
        # At a level just below, the solver may stop before it joins.
        surely, perhaps = (levels[levels < part * covariance[k]] for part in (0.8, 1 - 1e-9))
        assert worth[k] <= (1.4 * perhaps[0] if len(perhaps) else 0)
        assert worth[k] >= (surely[0] if len(surely) else 0)
    assert np.argsort(-worth)[:6].tolist() == [1, 6, 3, 7, 4, 0]
    # One has no coefficient, and the last that would join is not asked for.
    assert np.flatnonzero(worth == 0).tolist() == [2, 5]
    # Weights count as rows, and columns have no unit.
    twice = np.append(order, order[:16])
    weight = np.bincount(twice, minlength=32).astype(float)
    np.testing.assert_allclose(
        sparse_worth(1000 * X, y, weight, classification=False),
        sparse_worth(X[twice], y[twice], np.ones(48), classification=False),
        rtol=1e-3,
    )


@pytest.mark.parametrize("n_classes", [2, 4])
def test_what_an_l1_penalty_lets_in_for_classes(n_classes):
    rng = np.random.default_rng(n_classes)
    X = rng.normal(size=(400, 9))
    X[:, 8] = 5.0
    truth = X[:, [1, 4]] @ np.array([2.0, 1.0])
    y = np.digitize(truth + 0.3 * rng.normal(size=400), [-1.5, 0, 1.5][: n_classes - 1])
    weight = np.ones(400)
    worth = sparse_worth(X, y, weight, classification=True)
    assert np.argsort(-worth)[:2].tolist() == [1, 4]
    assert worth[8] == 0
    assert (worth[[0, 2, 3, 5, 6, 7]] < 0.5 * worth[4]).all()
    # A missing value is the mean, and rows without weight are none.
    holes = np.where(rng.random(X.shape) < 0.2, np.nan, X)
    full = np.where(np.isnan(holes), np.nanmean(holes, axis=0), holes)
    again = np.vstack([holes, 100 * rng.normal(size=(5, 9))])
    other = np.append(y, [9] * 5)
    np.testing.assert_allclose(
        sparse_worth(again, other, np.append(weight, np.zeros(5)), classification=True),
        sparse_worth(full, y, weight, classification=True),
        rtol=1e-6,
    )
    assert not sparse_worth(X, np.zeros(400), weight, classification=True).any()


def test_sets_by_an_l1_penalty_are_tried_at_the_same_prices(data, few_penalties, monkeypatch):
    X, y, prices = data
    tried = []
    monkeypatch.setattr(
        _refit.CandidateSearch,
        "_add",
        lambda self, *args, add=_refit.CandidateSearch._add: (
            tried.append(tuple(args[2])) or add(self, *args)
        ),
    )
    forest = RandomForestClassifier(4, random_state=0)
    FeatureBudgetPruner(forest, feature_costs=prices, budget=5, random_state=0).fit(X, y)
    read = Prices.read(prices, None, None, 9)
    worth = sparse_worth(X, y, np.ones(len(X)), classification=True)
    by_price = {}
    for features in tried:
        by_price.setdefault(read.of_set(list(features)), set()).add(features)
    assert 5.0 in by_price
    n_new = 0
    for price, found in by_price.items():
        if price < prices.sum():
            assert tuple(within_price(read, np.arange(9), worth, price)) in tried
            n_new += len(found) > 1
    assert n_new


def test_an_ensemble_on_some_features_takes_rows_of_all(data):
    X, y, _ = data
    features = np.array([1, 4, 7])
    plain = BaggingClassifier(DecisionTreeClassifier(), 5)
    model = fit_on(plain, features, X, y, None, 3, None, names=None)
    same = clone(plain).set_params(random_state=3).fit(X[:, features], y)
    np.testing.assert_array_equal(model.predict_proba(X), same.predict_proba(X[:, features]))
    assert set(read_forest(model).feature) - {-1} <= set(features)
    worth = np.sum([tree.feature_importances_ for tree in same.estimators_], axis=0)
    np.testing.assert_allclose(importances(model, features), worth)


def test_trees_of_the_users_kind_lead():
    forest = RandomForestClassifier(7, max_depth=3, max_features=None, random_state=5)
    names = families(forest, 7)
    assert next(iter(names)) == "own"
    assert repr(names["own"].estimator) == "DecisionTreeClassifier(max_depth=3)"
    assert "own" not in families(RandomForestClassifier(random_state=1), 7)
    assert "own" not in families(DecisionTreeClassifier(), 7)
    own = families(BaggingClassifier(DecisionTreeClassifier(max_depth=2)), 7)["own"]
    assert own.estimator.max_depth == 2


def test_losses_of_votes(data):
    X, y, _ = data
    forest = read_forest(RandomForestClassifier(3, random_state=0).fit(X, y))
    rng = np.random.default_rng(0)
    share, counts = rng.random(300), rng.integers(0, 4, 300).astype(float)
    votes = counts[:, None] * np.column_stack([1 - share, share])
    errors, scores = losses_of_votes(forest, votes, counts, y)
    seen = counts > 0
    assert np.isnan(errors[~seen]).all()
    assert np.isnan(scores[~seen]).all()
    np.testing.assert_array_equal(errors[seen], (share[seen] > 0.5) != y[seen])
    brier = brier_score_loss(y[seen], share[seen])
    assert scores[seen].mean() == pytest.approx(errors[seen].mean() + brier)
    regression = read_forest(RandomForestRegressor(3, random_state=0).fit(X, share))
    errors, scores = losses_of_votes(regression, votes[:, :1], counts, y)
    np.testing.assert_allclose(errors[seen], (1 - share - y)[seen] ** 2)
    np.testing.assert_array_equal(scores, errors)


@pytest.mark.parametrize("sampled", [400, 2000])
@pytest.mark.parametrize("seed", range(5))
def test_the_choice_by_comparing_rows_one_by_one(seed, sampled, monkeypatch):
    """The dearest of those less than a standard error of the difference behind the best."""
    set_effort(monkeypatch, _refit, max_sampled=sampled)
    rng = np.random.default_rng(seed)
    weight, candidates = rng.integers(0, 4, 600).astype(float), []
    base, lost = rng.random(600), rng.random(600) < 0.1
    for k in range(4):
        of_rows = base + rng.normal(0.002 * k, 0.2, (5, 600))
        of_rows[:, lost & (rng.random(600) < 0.5)] = np.nan
        of_rows[0] = of_rows[1]
        scores = [np.average(r[r == r], weights=weight[r == r]) for r in of_rows]
        candidates.append(
            JudgedEnsemble(
                str(k),
                None if k == 2 else "an ensemble",
                np.arange(k + 1),
                np.array([-1, 0, 1, 2, 3]),
                rng.permutation(9)[:5].astype(float) + 1,
                np.zeros(5),
                np.array(scores),
                of_rows[:, _refit.sampled_rows(600)],
            )
        )
    points, n_dearer = PruningChoices(candidates, weight), 0
    sample = _refit.sampled_rows(600)
    assert len(sample) == min(sampled, 600)
    for budget in range(1, 11):
        for unpruned in (False, True):
            every = [
                (one, i, one.of_rows[i])
                for k, one in enumerate(candidates)
                for i in range(5)
                if k != 2 and one.costs[i] <= budget and (not unpruned or i == 0)
            ]
            if not every:
                continue
            first = min(every, key=lambda p: (p[0].scores[p[1]], p[0].costs[p[1]]))
            near = []
            for one, i, rows in every:
                seen = ~np.isnan(rows) & ~np.isnan(first[2])
                d, w = (rows - first[2])[seen], weight[sample][seen]
                spread = np.sqrt(np.sum((w * (d - np.average(d, weights=w))) ** 2)) / w.sum()
                spread *= np.sqrt(len(sample) / 600)
                if one.scores[i] - first[0].scores[first[1]] <= spread * (1 + 1e-9):
                    near.append((-one.costs[i], one.scores[i]))
            chosen = points.choice(budget, unpruned=unpruned)
            assert (-points.costs[chosen], points.scores[chosen]) == min(near)
            assert not unpruned or points.index[chosen] == -1
            assert unpruned or points.lowest(budget) == first[0].scores[first[1]]
            n_dearer += points.costs[chosen] > first[0].costs[first[1]]
    assert n_dearer


def test_lower_envelope_by_comparing_all_pairs():
    rng = np.random.default_rng(0)
    costs, errors = rng.integers(0, 9, 40).astype(float), rng.integers(0, 9, 40).astype(float)
    kept = lower_envelope(costs, errors)
    for i in range(40):
        beaten = (costs <= costs[i]) & (errors <= errors[i])
        beaten &= (costs < costs[i]) | (errors < errors[i])
        on_it = (costs[i], errors[i]) in set(zip(costs[kept], errors[kept], strict=True))
        assert on_it != beaten.any()
    assert (np.diff(costs[kept]) > 0).all()
    assert (np.diff(errors[kept]) < 0).all()


def test_the_choice_is_the_best_judged_within_the_budget(data, fitted):
    X, _, _ = data
    assert fitted.cost_ <= 5 * (1 + 1e-9)
    assert fitted.cost_ == pytest.approx(fitted.feature_cost(X).mean())
    found = fitted.candidates_
    assert len(found.names) == len(found.features) == len(found.costs) == len(found.errors)
    assert found.names[0] == "as given"
    assert "grown with prices" in found.names
    chosen = fitted.candidate_
    assert set(np.flatnonzero(fitted.feature_usage_)) <= set(found.features[chosen])
    # Whatever the budget, the one of choice has been kept.
    judged = fitted._contest.judged
    points = PruningChoices(judged, np.ones(len(X)))
    for budget in np.unique(np.concatenate(found.costs)):
        score = [
            one.scores[one.costs <= budget].min(initial=np.inf) for one in fitted._contest.judged
        ]
        assert points.scores[points.choice(budget)] >= min(score)
        # What has been forgotten would at most be a tie.
        assert points.lowest(budget) <= min(score) + 0.05
    assert any(one.estimator is None for one in judged)
    assert chosen in (0, points.of[points.choice(5)])


def votes_of_strangers(pruned, samples, X, rows):
    """Votes on some rows of the trees of a pruned ensemble that have not seen them."""
    votes, counts = np.zeros((len(X), 2)), np.zeros(len(X))
    trees = tree_estimators(pruned.pruned_estimator_)
    for (tree, columns), t in zip(trees, pruned.voting_trees_, strict=True):
        out = np.setdiff1d(rows, samples[t])
        part = X[out] if columns is None else X[np.ix_(out, columns)]
        votes[out] += tree.predict_proba(part)
        counts[out] += 1
    return votes, counts


@pytest.mark.parametrize("place", [0, 1, -1])
def test_scores_are_those_of_written_ensembles_on_rows_not_seen(data, fitted, place):
    X, y, prices = data
    kept = [k for k, one in enumerate(fitted._contest.judged) if one.estimator is not None]
    chosen = kept[place]
    candidate = fitted._contest.judged[chosen]
    frozen = FrozenEstimator(candidate.estimator)
    samples = candidate.estimator.estimators_samples_
    first = (
        np.random.default_rng(np.random.RandomState(0).randint(np.iinfo(np.int32).max)).permutation(
            len(X)
        )
        % 2
        == 0
    )
    options = {"feature_costs": prices, "errors": "given" if chosen == 0 else "oob"}
    whole = FeatureBudgetPruner(frozen, **options).fit(X, y)
    for k, cost, score in zip(candidate.index, candidate.costs, candidate.scores, strict=True):
        if k < 0:
            assert cost == pytest.approx(whole.unpruned_cost_)
            continue
        assert cost == pytest.approx(whole.path_.costs[k])
        if chosen == 0:
            pruned = whole.at(lam=whole.path_.lams[k])
            votes, counts = votes_of_strangers(pruned, samples, X, np.arange(len(X)))
        else:
            # The half that a pruning has looked at is judged by the other half's pruning.
            votes, counts = np.zeros((len(X), 2)), np.zeros(len(X))
            for half in (first, ~first):
                pruner = FeatureBudgetPruner(frozen, **options).fit(X, y, half.astype(float))
                near = np.argmin(np.abs(pruner.path_.costs - cost))
                pruned = pruner.at(lam=pruner.path_.lams[near])
                found = votes_of_strangers(pruned, samples, X, np.flatnonzero(~half))
                votes, counts = votes + found[0], counts + found[1]
        seen = counts > 0
        proba = votes[seen] / counts[seen, None]
        error = np.mean(proba.argmax(axis=1) != y[seen])
        assert score == pytest.approx(error + np.mean((proba[:, 1] - y[seen]) ** 2))


def test_dear_twins_of_cheap_features_are_not_bought(data, fitted):
    X, y, _ = data
    rng = np.random.default_rng(1)
    new = rng.normal(size=(1000, 9))
    new[:, 6:9] = new[:, :3] + 0.1 * rng.normal(size=(1000, 3))
    truth = (new[:, :3].sum(axis=1) + 0.3 * new[:, 3] > 0).astype(int)
    frozen = FrozenEstimator(RandomForestClassifier(9, random_state=0).fit(X, y))
    pruned = FeatureBudgetPruner(frozen, feature_costs=fitted.feature_costs, budget=5).fit(X, y)
    assert fitted.feature_usage_[6:].sum() < 0.1
    assert fitted.score(new, truth) > pruned.score(new, truth)


def test_without_refit_it_is_the_users_ensemble(data):
    X, y, prices = data
    forest = RandomForestClassifier(5, random_state=0)
    options = {"feature_costs": prices, "budget": "40%"}
    plain = FeatureBudgetPruner(forest, refit=False, **options).fit(X, y)
    frozen = FeatureBudgetPruner(FrozenEstimator(clone(forest).fit(X, y)), **options).fit(X, y)
    for other in (frozen, FeatureBudgetPruner(forest, feature_costs=prices).fit(X, y)):
        assert other.candidates_ is other.candidate_ is None
    assert plain.candidates_ is None
    np.testing.assert_array_equal(plain.predict_proba(X), frozen.predict_proba(X))
    assert (plain.cost_, plain.error_) == (frozen.cost_, frozen.error_)


def test_at_chooses_again_without_fitting(data, fitted, monkeypatch):
    X, _, _ = data
    before = fitted.predict_proba(X)
    # In another process, as the one that was fitted.
    copied = pickle.loads(pickle.dumps(fitted))
    for model in (BaggingClassifier, RandomForestClassifier):
        monkeypatch.setattr(model, "fit", lambda *_: pytest.fail("something was fitted"))
    costs = []
    for budget in (0, 1, 2, 3, 5, 20, "50%"):
        at = fitted.at(budget=budget)
        limit = 0.5 * fitted.unpruned_cost_ if budget == "50%" else budget
        assert at.cost_ <= limit * (1 + 1e-9)
        assert at.unpruned_cost_ == fitted.unpruned_cost_
        assert at.error_bound_ <= at.error_ + 1e-12
        np.testing.assert_array_equal(at.predict(X), copied.at(budget=budget).predict(X))
        costs.append(at.cost_)
    assert costs[0] == 0
    assert len(set(costs)) > 3
    np.testing.assert_array_equal(fitted.at(budget=5).predict_proba(X), before)
    np.testing.assert_array_equal(fitted.predict_proba(X), before)


@pytest.fixture
def few_penalties(monkeypatch):
    monkeypatch.setattr(_refit, "_PENALTIES", FEW)


@pytest.mark.parametrize("seeds", [(0, 3), (None, 3)], ids=["own", "of the estimator"])
def test_same_seed_same_choice(data, seeds, few_penalties):
    X, y, prices = data
    forest = RandomForestClassifier(6, random_state=seeds[1])
    pruner = FeatureBudgetPruner(forest, feature_costs=prices[3:8], budget=4)
    pruner.set_params(random_state=seeds[0])
    first, second = (clone(pruner).fit(X[:80, 3:8], y[:80]) for _ in range(2))
    np.testing.assert_array_equal(first.predict_proba(X[:, 3:8]), second.predict_proba(X[:, 3:8]))
    assert first.candidates_.names == second.candidates_.names


@pytest.mark.parametrize(
    "model",
    [
        DecisionTreeClassifier(max_depth=4, random_state=0),
        ExtraTreesClassifier(5, max_depth=4, random_state=0),
        BudgetForestClassifier(n_estimators=4, max_depth=4, random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_ensembles_of_all_rows_are_judged_by_cross_validation(
    data, model, few_penalties, monkeypatch
):
    set_effort(monkeypatch, _refit, n_trees=6)
    X, y, prices = data
    X, prices = X[:, SIX], prices[SIX]
    names = np.array(["low", "high"])[y]
    weight = np.random.default_rng(0).uniform(0.5, 1.5, len(X))
    pruner = FeatureBudgetPruner(model, feature_costs=prices, budget=4, random_state=0)
    pruner.fit(X[:150], names[:150], weight[:150])
    assert pruner.cost_ <= 4 * (1 + 1e-9)
    assert pruner.score(X[150:], names[150:]) > 0.75
    assert 0.02 < pruner.candidates_.errors[0].min() < 0.35


def test_regression(data):
    X, _, prices = data
    X, prices = X[:, SIX], prices[SIX]
    y = X[:, 0] + X[:, 1] * X[:, 2]
    forest = RandomForestRegressor(6, min_samples_leaf=3, random_state=0)
    pruner = FeatureBudgetPruner(forest, feature_costs=prices, budget=5).fit(X[:200], y[:200])
    assert pruner.cost_ <= 5 * (1 + 1e-9)
    assert "grown with prices" not in pruner.candidates_.names
    assert pruner.score(X[200:], y[200:]) > 0.3
    frozen = FrozenEstimator(clone(forest).fit(X[:200], y[:200]))
    pruned = FeatureBudgetPruner(frozen, feature_costs=prices, budget=5).fit(X[:200], y[:200])
    assert pruner.score(X[200:], y[200:]) > pruned.score(X[200:], y[200:])


def test_frames_groups_and_written_values(few_penalties):
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X = X.iloc[::2, :8]
    pruner = FeatureBudgetPruner(
        RandomForestClassifier(6, random_state=0),
        groups={"size": list(X.columns[:3])},
        group_costs=2.0,
        labels="sample",
        budget="30%",
        random_state=0,
    ).fit(X, y[::2])
    assert pruner.score(X, y[::2]) > 0.85
    assert list(pruner.pruned_estimator_.feature_names_in_) == list(X.columns)
    fetched = pruner.predict_lazy(lambda name, rows: X[name].to_numpy()[rows], len(X))
    np.testing.assert_array_equal(fetched.prediction, pruner.predict(X))
    with pytest.raises(ValueError, match="feature names"):
        pruner.predict(X[X.columns[::-1]])
    assert isinstance(X, pd.DataFrame)


def test_out_of_time_the_first_candidates_are_there():
    X, y = make_classification(150, 8, n_informative=6, random_state=0)
    forest = RandomForestClassifier(8, random_state=0)
    pruner = FeatureBudgetPruner(forest, budget="40%", time_limit=1e-9)
    with pytest.warns(ConvergenceWarning, match="time_limit"):
        pruner.fit(X, y)
    assert len(pruner.candidates_.names) <= 2
    assert pruner.cost_ <= 0.4 * pruner.unpruned_cost_ * (1 + 1e-9)


def test_many_rows_have_fewer_candidates(data, fitted, monkeypatch):
    X, y, _ = data
    set_effort(monkeypatch, _refit, many=100)
    few = clone(fitted).fit(X, y)
    assert set(few.candidates_.names) == {"as given", "forest"}
    assert len(few.candidates_.names) < len(fitted.candidates_.names) / 2
    assert few.cost_ <= 5 * (1 + 1e-9)
    assert few.score(X, y) > 0.9


def test_no_price_without_a_budget_and_bad_values(data):
    X, y, _ = data
    with pytest.raises(ValueError, match="'refit' parameter"):
        FeatureBudgetPruner(RandomForestClassifier(3), refit=True).fit(X, y)
