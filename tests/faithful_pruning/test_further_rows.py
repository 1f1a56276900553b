"""Rows beside the training rows: `X_more`, and the out-of-bag answers of a forest's own rows."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from oracles import seconds, with_later_thresholds
from scipy.optimize import linprog
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris, load_wine, make_classification
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from ensemble_simplify import FaithfulPruner
from ensemble_simplify.faithful_pruning._promise import NearRows, Votes
from ensemble_simplify.faithful_pruning._weights import nearest_first
from ensemble_simplify.grid import Stopped, limits
from ensemble_simplify.grid.axes import Axes
from ensemble_simplify.reading import held_out, out_of_bag
from ensemble_simplify.reading.forest import read_forest

HIST = HistGradientBoostingClassifier(
    max_iter=30, max_leaf_nodes=4, learning_rate=0.3, random_state=0
)


@pytest.fixture(scope="module")
def cancer():
    return train_test_split(*load_breast_cancer(return_X_y=True), random_state=0)


# ------------------------------------------------------------------- X_more


@pytest.mark.parametrize("max_changes", [0, 1])
def test_further_rows_are_promised_like_training_rows(max_changes, cancer):
    X, X_new, y, _ = cancer
    forest = RandomForestClassifier(20, random_state=0).fit(X, y)
    options = {"max_changes": max_changes, "method": "heuristic", "random_state": 0}
    few = FaithfulPruner(FrozenEstimator(forest), **options).fit(X, y)
    more = FaithfulPruner(FrozenEstimator(forest), **options).fit(X, y, X_more=X_new)
    assert more.n_points_ > few.n_points_
    assert more.covers(X_new).all()
    assert not few.covers(X_new).all()
    rows = np.concatenate([X, X_new])
    np.testing.assert_array_equal(more.predict(rows), forest.predict(rows))
    assert more.verify()
    assert more.verify(X_new)
    assert more.n_exceptions_ == 0


def test_further_rows_are_not_fitted_on(cancer):
    X, X_new, y, _ = cancer
    forest = RandomForestClassifier(8, max_depth=3, random_state=0)
    pruner = FaithfulPruner(forest, max_changes=0, random_state=0).fit(X, y, X_more=X_new)
    whole = forest.fit(X, y)
    np.testing.assert_array_equal(
        pruner.estimator_.predict_proba(X_new), whole.predict_proba(X_new)
    )


def test_further_rows_of_a_table(cancer):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"a": rng.normal(size=80), "b": rng.normal(size=80)})
    table["c"] = pd.Categorical(rng.choice(["low", "high"], 80))
    table.loc[::9, "b"] = np.nan
    y = (table["a"] + (table["c"] == "low") > 0.3).astype(int)
    model = HistGradientBoostingClassifier(
        max_iter=8, max_leaf_nodes=4, categorical_features="from_dtype"
    ).fit(table, y)
    old, new = table.iloc[:50], table.iloc[50:]
    pruner = FaithfulPruner(FrozenEstimator(model), max_changes=1, random_state=0)
    pruner.fit(old, y[:50], X_more=new)
    assert pruner.covers(new).all()
    np.testing.assert_array_equal(pruner.predict(new), model.predict(new))
    assert pruner.verify()


def test_a_gap_in_further_rows_is_promised():
    X, y = load_iris(return_X_y=True)
    X_more = X[:20].copy()
    X_more[::2, 2] = np.nan
    forest = RandomForestClassifier(10, max_depth=4, random_state=0)
    forest.fit(np.concatenate([X, X_more]), np.concatenate([y, y[:20]]))
    pruner = FaithfulPruner(FrozenEstimator(forest), max_changes=1, random_state=0)
    pruner.fit(X, y, X_more=X_more)
    assert pruner.covers(X_more).all()
    np.testing.assert_array_equal(pruner.predict(X_more), forest.predict(X_more))


def test_further_rows_that_are_finer_than_cells_are_asked_as_given():
    X, y = seconds()
    model = make_pipeline(FunctionTransformer(), HIST).fit(X, y)
    later = with_later_thresholds(model)
    for i in range(0, 30, 2):
        model[-1]._predictors[i] = later[-1]._predictors[i]
    old, new = slice(None, None, 2), slice(1, None, 2)
    pruner = FaithfulPruner(
        FrozenEstimator(model), max_changes=0, method="heuristic", random_state=0
    )
    pruner.fit(X[old], y[old], X_more=X[new])
    wrong = pruner.predict(X) != model.predict(X)
    assert wrong[old].any()
    assert wrong[new].any()
    assert pruner.n_exceptions_ == wrong.sum()
    assert pruner.verify().equal is False


@pytest.mark.parametrize(
    ("X_more", "match"),
    [
        (np.zeros((3, 2)), "X_more has 2 features"),
        (np.full((3, 4), np.nan), "X_more has missing values"),
        (pd.DataFrame(np.zeros((3, 4)), columns=[*"abdc"]), "X_more has the column 'd'"),
    ],
)
def test_further_rows_that_do_not_fit(X_more, match):
    X, y = load_iris(return_X_y=True, as_frame=True)
    X = X.set_axis([*"abcd"], axis=1)
    with pytest.raises(ValueError, match=match):
        FaithfulPruner(AdaBoostClassifier(n_estimators=3), max_changes=0).fit(X, y, X_more=X_more)


def test_further_rows_outside_the_domain_are_refused():
    X, y = load_iris(return_X_y=True)
    pruner = FaithfulPruner(max_changes=0, domain={"bounds": {0: (0, 9)}})
    with pytest.raises(ValueError, match="domain"):
        pruner.fit(X, y, X_more=X + 5)


def test_further_rows_of_another_type_behind_a_scaler():
    X, y = load_iris(return_X_y=True)
    X = X.astype(np.float32).astype(np.float64)
    model = make_pipeline(StandardScaler(), RandomForestClassifier(5, random_state=0)).fit(X, y)
    pruner = FaithfulPruner(FrozenEstimator(model), max_changes=0)
    with pytest.raises(ValueError, match=r"X_more\.astype"):
        pruner.fit(X, y, X_more=X.astype(np.float32))
    assert pruner.fit(X, y, X_more=X).covers(X).all()


# ------------------------------------------------------------------- a forest's own rows


@pytest.mark.parametrize(
    "model",
    [
        RandomForestClassifier(25, oob_score=True, random_state=0),
        RandomForestClassifier(25, max_depth=2, oob_score=True, random_state=0),
        BaggingClassifier(n_estimators=25, max_features=0.5, oob_score=True, random_state=0),
    ],
)
def test_guides_ask_for_the_out_of_bag_answers(model):
    X, y = load_wine(return_X_y=True)
    model.fit(X, y)
    forest = read_forest(model)
    axes = Axes.of(forest)
    cells = axes.encode_rows(X.astype(np.float32)).T
    promise = NearRows(Votes(forest), axes, None, cells, 0)
    mask = held_out(model, X)
    promise.follow_out_of_bag(cells, mask)
    shares = np.array([tree.predict_proba(X[:, at]) for tree, at in _members(model, X)])
    rows = np.arange(len(X))
    answers, voted = out_of_bag(model, X)
    held = np.einsum("tn,tnc->nc", mask, shares)
    np.testing.assert_array_equal(held.argmax(axis=1)[voted], answers[voted])
    clear = held[rows, answers][:, None] - held > 1e-4
    assert clear.any(axis=1).sum() > 0.9 * len(X)
    for w in np.random.default_rng(0).uniform(0, 1, (20, 25)):
        votes = np.einsum("t,tn,tnc->nc", w, mask, shares)
        lead = votes[rows, answers][:, None] - votes
        np.testing.assert_allclose(promise.guides.leads[:, :-1] @ w, lead[clear], atol=1e-9)
    assert not promise.guides.may_tie.any()
    assert not promise.guides.leads[:, -1].any()


@pytest.mark.parametrize("seed", range(4))
def test_the_fewest_trees_that_can_keep_the_out_of_bag_answers(seed):
    X, y = make_classification(
        60,
        3,
        n_informative=3,
        n_redundant=0,
        n_classes=3,
        n_clusters_per_class=1,
        random_state=seed,
    )
    forest = RandomForestClassifier(8, random_state=seed).fit(X, y)
    pruner = FaithfulPruner(
        FrozenEstimator(forest), max_changes=0, method="exact", random_state=0
    ).fit(X, y)
    votes = np.array([tree.predict_proba(X) for tree in forest.estimators_])
    mask = held_out(forest, X)
    demands = []
    # tied answers of the forest are to lead, too; tied out-of-bag answers ask for nothing
    for said, least in ((votes, -1.0), (votes * mask[:, :, None], 1e-4)):
        total = said.sum(axis=0)
        answer = total.argmax(axis=1)
        for row in range(len(X)):
            for other in {0, 1, 2} - {answer[row]}:
                if total[row, answer[row]] - total[row, other] > least:
                    demands.append(said[:, row, answer[row]] - said[:, row, other])
    demands = np.array(demands)

    def can_keep(chosen):
        return linprog(
            np.zeros(len(chosen)), A_ub=-demands[:, chosen], b_ub=-np.ones(len(demands))
        ).success

    sizes = (some for n in range(1, 9) for some in combinations(range(8), n))
    fewest = next(len(some) for some in sizes if can_keep(list(some)))
    assert pruner.n_trees_ == pruner.n_trees_lower_bound_ == fewest
    np.testing.assert_array_equal(pruner.predict(X), forest.predict(X))
    assert pruner.verify()


def _members(model, X):
    every = [np.arange(X.shape[1])] * 25
    return zip(model.estimators_, getattr(model, "estimators_features_", every), strict=True)


def test_own_rows_keep_more_trees_and_follow_the_forest_further(cancer):
    X, X_new, y, _ = cancer
    forest = RandomForestClassifier(random_state=0).fit(X, y)
    options = {"max_changes": 0, "method": "heuristic", "random_state": 0}
    own = FaithfulPruner(FrozenEstimator(forest), **options).fit(X, y)
    # in another order they cannot be told to be the forest's own
    other = FaithfulPruner(FrozenEstimator(forest), **options, n_samples=0).fit(X[::-1], y[::-1])
    assert own.n_trees_ > other.n_trees_
    for pruner in (own, other):
        np.testing.assert_array_equal(pruner.predict(X), forest.predict(X))
        assert pruner.verify()
    agreement = [np.mean(p.predict(X_new) == forest.predict(X_new)) for p in (own, other)]
    assert agreement[0] > agreement[1]


def test_weights_are_as_equal_as_the_promise_allows(cancer):
    X, _, y, _ = cancer
    forest = RandomForestClassifier(40, random_state=0).fit(X, y)
    pruner = FaithfulPruner(FrozenEstimator(forest), max_changes=0, random_state=0).fit(X, y)
    kept = pruner.weights_[pruner.weights_ > 0]
    assert 1 < len(kept) < 40
    np.testing.assert_allclose(kept, 40 / len(kept))


@pytest.mark.parametrize("seed", range(3))
def test_least_leads_are_those_of_the_votes(seed):
    X, y = load_wine(return_X_y=True)
    forest = RandomForestClassifier(9, max_depth=3, random_state=seed).fit(X, y)
    read = read_forest(forest)
    axes = Axes.of(read)
    cells = axes.encode_rows(X.astype(np.float32)).T
    promise = NearRows(Votes(read), axes, None, cells, 0)
    weights = np.random.default_rng(seed).uniform(size=9)
    votes = np.array([tree.predict_proba(X) for tree in forest.estimators_])
    votes = np.einsum("t,tnc->nc", weights, votes)
    answers = forest.predict(X)
    own = votes[np.arange(len(X)), answers]
    votes[np.arange(len(X)), answers] = -np.inf
    assert promise.least_lead(weights) == pytest.approx((own - votes.max(axis=1)).min())
    with limits(0.0), pytest.raises(Stopped):
        promise.least_lead(weights)


@pytest.mark.parametrize("seed", range(3))
def test_trees_by_votes_are_those_of_plain_sums(seed):
    rng = np.random.default_rng(seed)
    votes = rng.random((12, 40))
    usable = rng.random(12) < 0.8
    target, total, left = votes.mean(axis=0), np.zeros(40), list(np.flatnonzero(usable))
    for n, t in enumerate(nearest_first(votes, usable), start=1):
        far = [np.square((total + votes[other]) / n - target).sum() for other in left]
        assert left[int(np.argmin(far))] == t
        left.remove(t)
        total += votes[t]
    assert not left


def test_rows_of_weight_zero_ask_for_nothing():
    X, y = load_wine(return_X_y=True)
    weight = np.ones(len(X))
    weight[::3] = 0.0
    pruner = FaithfulPruner(
        RandomForestClassifier(30, random_state=0), max_changes=0, random_state=0
    )
    pruner.fit(X, y, sample_weight=weight)
    own = X[weight > 0]
    np.testing.assert_array_equal(pruner.predict(own), pruner.estimator_.predict(own))
    assert pruner.verify()


def test_forests_without_held_out_rows_have_no_guides(cancer, monkeypatch):
    X, _, y, _ = cancer

    def follow(*_):
        raise AssertionError("there are no out-of-bag answers")

    monkeypatch.setattr(NearRows, "follow_out_of_bag", follow)
    forest = ExtraTreesClassifier(20, random_state=0)
    FaithfulPruner(forest, max_changes=0, random_state=0).fit(X, y)
    forest = RandomForestClassifier(20, random_state=0)
    FaithfulPruner(forest, max_changes=1, method="heuristic", random_state=0).fit(X, y)


# ------------------------------------------------------------------- synthetic rows


def noisy(n=200, seed=0):
    X, y = make_classification(n, 8, n_informative=4, flip_y=0.2, random_state=seed)
    return X.astype(np.float32), y


def test_synthetic_rows_join_the_promise_of_boosting():
    X, y = noisy()
    new = noisy(seed=1)[0]
    model = FrozenEstimator(HIST.fit(X, y))
    alone, usual = (
        FaithfulPruner(model, max_changes=0, random_state=0, n_samples=n).fit(X, y)
        for n in (0, "auto")
    )
    assert alone.n_points_ <= len(X) < usual.n_points_ <= len(X) + 3000
    assert usual.n_trees_ > alone.n_trees_
    agreements = [np.mean(one.predict(new) == model.predict(new)) for one in (alone, usual)]
    assert agreements[1] > agreements[0] + 0.05
    assert usual.verify()
    assert usual.covers(X).all()


def test_each_synthetic_row_takes_its_values_from_rows():
    X, y = noisy(60)
    X[:, 0] = np.round(X[:, 0])
    model = FrozenEstimator(HIST.fit(X, y))
    domain = {"bounds": {1: (X[:, 1].min(), X[:, 1].max())}, "integers": [0]}
    pruner = FaithfulPruner(model, max_changes=0, domain=domain, random_state=0)
    drawn = pruner.fit(X, y)._drawn(X, True, pruner._inside, np.random.default_rng(0))
    assert len(drawn) == 3000
    assert all(np.isin(drawn[:, j], X[:, j]).all() for j in range(X.shape[1]))
    own = (drawn[:, None, :] == X[None]).sum(axis=2).max(axis=1)
    assert 0.6 < np.mean(own) / X.shape[1] < 0.85


@pytest.mark.parametrize("way", ["X_more", "changes", "forest", "atol", "none"])
def test_no_synthetic_rows_where_there_is_more(way):
    X, y = noisy(40)
    options, more, model = {"max_changes": 0, "random_state": 0}, None, clone(HIST)
    if way == "X_more":
        more = noisy(30, seed=1)[0]
    elif way == "changes":
        options |= {"max_changes": 1, "method": "heuristic"}
    elif way == "forest":
        model = RandomForestClassifier(20, random_state=0)
    elif way == "atol":
        options["atol"] = 0.2
    else:
        options["n_samples"] = 0
    pruner = FaithfulPruner(model, **options).fit(X, y, X_more=more)
    rows = X if more is None else np.concatenate([X, more])
    assert len(pruner._cells) <= len(rows)


def test_synthetic_rows_need_a_promise_on_rows():
    with pytest.raises(ValueError, match=r"n_samples=10 .* max_changes=1. Set max_changes=0"):
        FaithfulPruner(HIST, max_changes=1, n_samples=10).fit(*noisy(40))
