"""ScorecardClassifier and ScorecardRegressor: cards of rows, tables, sizes, errors."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from loans import credit, strange
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import GridSearchCV

from ensemble_simplify import (
    ScorecardClassifier,
    ScorecardRegressor,
    export_model,
    import_model,
    verify,
)

SMALL = {"max_bins": 10, "n_samples": 1500, "sampler": "copula", "random_state": 0}


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    forest = RandomForestClassifier(10, max_depth=4, random_state=0).fit(X, y)
    return X, y, ScorecardClassifier(FrozenEstimator(forest), **SMALL).fit(X, y), forest


def test_totals_labels_and_probabilities_are_one(cancer):
    X, _, scorecard, _ = cancer
    totals, card = scorecard.total_points(X), scorecard.card_
    numbers = X.to_numpy()
    by_hand = np.full(len(X), card.base[0])
    for term in card.terms:
        (j,), (edges,) = term.columns, term.edges
        by_hand += term.points[np.searchsorted(edges, numbers[:, j]), 0]
    np.testing.assert_array_equal(totals, by_hand)
    assert (totals == np.rint(totals)).all()
    labels, chances = scorecard.predict(X), scorecard.predict_proba(X)
    np.testing.assert_array_equal(labels, (scorecard.decision_function(X) > 0).astype(int))
    np.testing.assert_array_equal(labels, chances.argmax(axis=1))
    by_total = np.argsort(totals, kind="stable")
    assert (np.diff(chances[by_total, 1]) >= 0).all()
    table = scorecard.score_table_
    assert set(table["total"]) <= set(totals)
    assert table["share"].sum() == pytest.approx(1.0)


def test_figures_are_those_of_the_rows(cancer):
    X, _, scorecard, forest = cancer
    assert scorecard.card_.n_bins <= 10
    assert scorecard.fidelity_ > 0.9
    assert scorecard.fidelity(X) == accuracy_score(forest.predict(X), scorecard.predict(X))
    weight = np.arange(len(X), dtype=float)
    assert scorecard.fidelity(X, weight) == pytest.approx(
        accuracy_score(forest.predict(X), scorecard.predict(X), sample_weight=weight)
    )
    for line in scorecard.path_:
        assert line.fidelity_low <= line.fidelity <= line.fidelity_high
        assert 0.0 <= line.score <= 1.0
    sizes = [line.n_bins for line in scorecard.path_]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] == 0


def test_without_targets_the_bins_are_the_same(cancer):
    X, y, _, forest = cancer
    scorecard = ScorecardClassifier(FrozenEstimator(forest), validation_fraction=0, **SMALL)
    one, two = clone(scorecard).fit(X, y), clone(scorecard).fit(X)
    assert "score" in one.path_[0]
    assert "score" not in two.path_[0]
    assert np.isnan(one.fidelity_)
    for a, b in zip(one.card_.terms, two.card_.terms, strict=True):
        assert a.columns == b.columns
        np.testing.assert_array_equal(a.edges[0], b.edges[0])


def test_rounding_changes_no_more_classes_than_allowed(cancer):
    X, y, _, forest = cancer
    options = {"validation_fraction": 0.0, **SMALL}
    real = ScorecardClassifier(FrozenEstimator(forest), points="real", **options).fit(X, y)
    assert real.rounded_ is None
    for most in (0.0, 0.05):
        whole = ScorecardClassifier(FrozenEstimator(forest), max_changed=most, **options).fit(X, y)
        changed = whole.predict(X) != real.predict(X)
        assert changed.mean() <= most
        assert whole.rounded_.n_changed == changed.sum()


def test_smaller_cards_of_the_path(cancer):
    X, _, scorecard, _ = cancer
    smaller = scorecard.at(6)
    assert 0 < smaller.card_.n_bins <= 6
    assert smaller.max_bins == 6
    assert smaller.path_[0].n_bins <= 6
    assert scorecard.card_.n_bins > 6  # is as it was
    assert smaller.at(4).fidelity(X) == scorecard.at(4).fidelity(X)
    with pytest.raises(ValueError, match=r"n_bins=11 is not a size on the path\. .* from 2 to 10"):
        scorecard.at(11)
    with pytest.raises(NotFittedError):
        ScorecardClassifier().at(3)


def test_few_features_and_pairs(cancer):
    X, y, _, forest = cancer
    two = ScorecardClassifier(FrozenEstimator(forest), max_features=2, **SMALL).fit(X, y)
    assert len(two.card_.features) == 2
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(600, 3))
    pair = ScorecardClassifier(_both_signs, interactions=1, **SMALL).fit(rows)
    alone = ScorecardClassifier(_both_signs, **SMALL).fit(rows)
    assert pair.fidelity(rows) > 0.9 > 0.8 > alone.fidelity(rows)
    assert (0, 1) in [tuple(sorted(term.columns)) for term in pair.card_.terms]


def _both_signs(X):
    return (X[:, 0] > 0) == (X[:, 1] > 0)


def test_real_rows_in_each_bin(cancer):
    X, y, _, forest = cancer
    options = {"validation_fraction": 0.0, "min_samples_bin": 60, **SMALL}
    scorecard = ScorecardClassifier(FrozenEstimator(forest), **options).fit(X, y)
    for term in scorecard.card_.terms:
        counts = np.bincount(np.searchsorted(term.edges[0], X.to_numpy()[:, term.columns[0]]))
        assert counts.min() >= 60


@pytest.mark.parametrize("monotone", [{"b": 1, "a": -1}, [-1, 1, 0], {0: -1, 1: 1}])
def test_points_rise_where_they_are_to(monotone):
    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.normal(size=(500, 3)), columns=["a", "b", "c"])
    y = (np.sin(3 * X["a"]) + np.cos(2 * X["b"]) + X["c"] > 0).astype(int)
    model = FrozenEstimator(GradientBoostingClassifier(n_estimators=20, random_state=0).fit(X, y))
    scorecard = ScorecardClassifier(model, monotone=monotone, **SMALL).fit(X, y)
    signs = {0: -1, 1: 1}
    for term in scorecard.card_.terms:
        steps = np.diff(term.points[:-1, 0])
        assert (steps * signs.get(term.columns[0], 0) >= 0).all()


def test_several_classes():
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    forest = RandomForestClassifier(10, random_state=0)
    scorecard = ScorecardClassifier(forest, **SMALL).fit(X, names)
    assert scorecard.total_points(X).shape == (150, 3)
    assert scorecard.score_table_ is None
    assert scorecard.score(X, names) > 0.9
    np.testing.assert_array_equal(
        scorecard.predict(X), scorecard.classes_[scorecard.predict_proba(X).argmax(axis=1)]
    )
    with pytest.raises(ValueError, match="monotone is for two classes, but there are 3"):
        ScorecardClassifier(forest, monotone={0: 1}, **SMALL).fit(X, names)


def test_values():
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    forest = FrozenEstimator(RandomForestRegressor(10, random_state=0).fit(X, y))
    scorecard = ScorecardRegressor(forest, **SMALL).fit(X, y)
    assert scorecard.fidelity_ > 0.5
    assert scorecard.fidelity(X) == pytest.approx(r2_score(forest.predict(X), scorecard.predict(X)))
    np.testing.assert_array_equal(scorecard.predict(X), scorecard.total_points(X))
    assert np.isnan(scorecard.path_[0].fidelity_low)
    rising = ScorecardRegressor(forest, monotone={"bmi": 1}, **SMALL).fit(X, y)
    rows = X.iloc[[0] * 9].assign(bmi=np.linspace(-0.1, 0.2, 9))
    assert (np.diff(rising.predict(rows)) >= 0).all()


@pytest.mark.parametrize("kind", ["codes", "categories"])
def test_tables_with_text_and_gaps(kind):
    X, y = credit()
    model = RandomForestClassifier(10, max_depth=5, random_state=0)
    if kind == "categories":
        words = X.select_dtypes(exclude="number").columns
        X[words] = X[words].astype("category")
        model = HistGradientBoostingClassifier(
            max_iter=20, categorical_features="from_dtype", random_state=0
        )
    scorecard = ScorecardClassifier(model, **SMALL | {"max_bins": 24}).fit(X, y)
    assert scorecard.fidelity_ > 0.7
    assert set(scorecard.predict(X)) == {"lost", "paid"}
    new = strange(X)
    gaps = new.copy()
    gaps["purpose"] = gaps["purpose"].astype(object).where(gaps["purpose"] != "boat", None)
    gaps["purpose"] = gaps["purpose"].astype(new["purpose"].dtype)
    # a level that nobody knows is as good as a gap
    np.testing.assert_array_equal(scorecard.total_points(new), scorecard.total_points(gaps))
    again = import_model(export_model(scorecard, "json"))
    np.testing.assert_array_equal(again.predict(new), scorecard.predict(new))
    np.testing.assert_allclose(again.predict_proba(new), scorecard.predict_proba(new), rtol=1e-12)
    assert verify(scorecard, again).equal


def test_rows_of_weight_zero_are_not_there():
    X, y = load_breast_cancer(return_X_y=True)
    weight = (np.arange(len(X)) % 3 > 0).astype(float)
    options = SMALL | {"validation_fraction": 0.0}
    forest = FrozenEstimator(RandomForestClassifier(5, random_state=0).fit(X, y))
    all_rows = ScorecardClassifier(forest, **options).fit(X, y, sample_weight=weight)
    some = ScorecardClassifier(forest, **options).fit(X[weight > 0], y[weight > 0])
    np.testing.assert_array_equal(all_rows.total_points(X), some.total_points(X))


def test_a_class_that_is_never_answered_is_told():
    X = np.random.default_rng(0).normal(size=(200, 2))
    y = (X[:, 0] > 1.8).astype(int)
    model = DummyClassifier().fit(X, y)
    with pytest.warns(UserWarning, match="the card has no bins: the model answers 0 to every"):
        card = ScorecardClassifier(FrozenEstimator(model), **SMALL).fit(X, y)
    assert not card.card_.terms


def test_rare_classes_are_kept():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(1500, 4))
    scorecard = ScorecardClassifier(_rare, **SMALL).fit(X)
    assert 0 < _rare(X).mean() < 0.03
    found = scorecard.predict(X)
    assert found[_rare(X)].mean() > 0.8
    with pytest.warns(UserWarning, match="the card answers False everywhere.*max_bins"):
        ScorecardClassifier(_rare, **SMALL | {"min_samples_bin": 700}).fit(X)


def _rare(X):
    return X[:, 0] > 2.1


def test_one_class_alone():
    X = np.random.default_rng(0).normal(size=(60, 2))
    scorecard = ScorecardClassifier(RandomForestClassifier(3), **SMALL).fit(X, np.full(60, "a"))
    assert (scorecard.predict(X) == "a").all()
    assert scorecard.card_.n_bins == 0


def test_grid_search_clones_and_pickles(cancer):
    X, y, scorecard, forest = cancer
    again = pickle.loads(pickle.dumps(scorecard))
    np.testing.assert_array_equal(again.predict_proba(X), scorecard.predict_proba(X))
    np.testing.assert_array_equal(again.at(5).predict(X), scorecard.at(5).predict(X))
    search = GridSearchCV(
        ScorecardClassifier(FrozenEstimator(forest), **SMALL), {"max_bins": [2, 8]}, cv=2
    ).fit(X, y)
    assert search.best_params_ == {"max_bins": 8}
    assert clone(scorecard).get_params()["max_bins"] == 10


def test_rare_answers_have_another_law():
    X = np.random.default_rng(0).normal(size=(300, 3))
    options = SMALL | {"sampler": "auto"}
    assert ScorecardClassifier(_both_signs, **options).fit(X).sampler_ == "leaves"
    assert ScorecardClassifier(_rare, **options).fit(X).sampler_ == "copula"
    assert ScorecardRegressor(_first, **options).fit(X).sampler_ == "leaves"


def _first(X):
    return X[:, 0]


def test_out_of_time_there_is_a_card(cancer):
    X, y, _, forest = cancer
    with pytest.warns(ConvergenceWarning, match="time_limit=1e-09 ended the search"):
        scorecard = ScorecardClassifier(FrozenEstimator(forest), **SMALL, time_limit=1e-9).fit(X, y)
    assert set(scorecard.predict(X)) <= {0, 1}


def test_kinds_of_predictors_are_told_apart():
    X, y = load_iris(return_X_y=True)
    assert is_classifier(ScorecardClassifier())
    assert is_regressor(ScorecardRegressor())
    with pytest.raises(ValueError, match="is a regressor, but ScorecardClassifier is for a class"):
        ScorecardClassifier(RandomForestRegressor()).fit(X, y)
    with pytest.raises(ValueError, match="is a classifier, but ScorecardRegressor is for a regr"):
        ScorecardRegressor(RandomForestClassifier()).fit(X, y)


def test_errors_name_the_parameter():
    X, y = credit(60)
    forest = RandomForestClassifier(3, random_state=0)
    for monotone, match in [
        ({"age": 2}, r"monotone\['age'\]=2 is none of -1 \(falls\), 0 \(any\), 1 \(rises\)"),
        ({"ages": 1}, "monotone names the column 'ages', which X does not have"),
        ([1, 0], r"monotone has shape \(2,\), but there are 7 columns"),
        ({"purpose": 1}, "along the column 'purpose', but its levels have no order"),
    ]:
        with pytest.raises(ValueError, match=match):
            ScorecardClassifier(forest, monotone=monotone, **SMALL).fit(X, y)


def test_nothing_is_said_where_nothing_is_wrong(cancer):
    X, y, _, forest = cancer
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ScorecardClassifier(FrozenEstimator(forest), **SMALL).fit(X, y)
