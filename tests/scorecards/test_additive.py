"""Additive models as cards: proven equal, audited, and written in other languages."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from random_cards import CLASSES, a_card, every_combination, fitted, rows_at_edges
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
)
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.tree import DecisionTreeClassifier
from written_code import by_c, by_python, by_sqlite, needs_gcc

from ensemble_simplify import (
    Domain,
    FaithfulPruner,
    export_model,
    import_model,
    is_monotone,
    is_sensitive,
    nearest_flip,
    sufficient_box,
    verify,
)
from ensemble_simplify.reading import Model
from ensemble_simplify.scorecards import scorecard

CANCER, WINE, DIABETES = load_breast_cancer, load_wine, load_diabetes
BOOSTING = GradientBoostingClassifier(n_estimators=30, max_depth=1, random_state=0)
MODELS = {
    "stumps": (BOOSTING, CANCER),
    "exponential": (clone(BOOSTING).set_params(loss="exponential"), CANCER),
    "stumps_of_many": (
        GradientBoostingClassifier(n_estimators=10, max_depth=1, random_state=0),
        WINE,
    ),
    "histogram": (HistGradientBoostingClassifier(max_iter=30, max_depth=1), CANCER),
    "ada": (AdaBoostClassifier(n_estimators=30, random_state=0), CANCER),
    "ada_of_many": (AdaBoostClassifier(n_estimators=20, random_state=0), WINE),
    "threshold": (FixedThresholdClassifier(BOOSTING, threshold=0.8), CANCER),
    "calibrated": (CalibratedClassifierCV(BOOSTING, ensemble=False, cv=2), CANCER),
    "pruned": (FaithfulPruner(BOOSTING, max_changes=0), CANCER),
    "numbers": (GradientBoostingRegressor(n_estimators=20, max_depth=1, random_state=0), DIABETES),
    "histogram_of_numbers": (HistGradientBoostingRegressor(max_iter=20, max_depth=1), DIABETES),
    "tariff": (HistGradientBoostingRegressor(loss="gamma", max_iter=20, max_depth=1), DIABETES),
    "tariff_of_pairs": (
        HistGradientBoostingRegressor(loss="poisson", max_iter=6, max_depth=2),
        DIABETES,
    ),
    "mean_of_pairs": (RandomForestRegressor(5, max_depth=2, random_state=0), DIABETES),
}


def made(model, load):
    X, y = load(return_X_y=True)
    return clone(model).fit(X, y), X, y


def beside_splits(model, X, seed=0, n=400):
    """Rows of which every number is beside a threshold of the model, in float32 numbers."""
    forest = Model.of(model).forest
    rng = np.random.default_rng(seed)
    rows = X[rng.integers(len(X), size=n)].astype(np.float32).astype(np.float64)
    for j in range(X.shape[1]):
        cuts = np.unique(forest.threshold[forest.feature == j])
        if len(cuts):
            cut = rng.choice(cuts, size=n).astype(np.float32)
            after = np.nextafter(cut, np.float32(np.inf))
            rows[:, j] = np.where(rng.random(n) < 0.5, cut, after)
    return rows


def check_alike(card, model, rows):
    if not hasattr(model, "classes_"):
        np.testing.assert_allclose(card.predict(rows), model.predict(rows), rtol=1e-12)
        return
    np.testing.assert_array_equal(card.predict(rows), model.predict(rows))
    expected = model.predict_proba(rows)
    np.testing.assert_allclose(card.predict_proba(rows), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", MODELS)
def test_card_is_proven_to_answer_as_the_model(name):
    model, X, _ = made(*MODELS[name])
    card = scorecard(model)
    assert card.verification_.equal is True
    check_alike(card, model, beside_splits(model, X))


@pytest.mark.filterwarnings("ignore:The card adds up")
@pytest.mark.parametrize(
    ("model", "load"),
    [
        (GradientBoostingClassifier(n_estimators=15, max_depth=2, random_state=0), CANCER),
        (GradientBoostingClassifier(n_estimators=5, max_depth=2, random_state=0), WINE),
        (HistGradientBoostingRegressor(max_iter=15, max_depth=2), DIABETES),
    ],
)
def test_pairs_are_grids(model, load):
    model, X, _ = made(model, load)
    card = scorecard(model, max_boxes=1000)
    assert {len(term.columns) for term in card.card_.terms} >= {2}
    check_alike(card, model, beside_splits(model, X))


def test_a_small_model_of_pairs_is_proven():
    X, y = load_wine(return_X_y=True)
    model = GradientBoostingClassifier(n_estimators=3, max_depth=2, random_state=0)
    card = scorecard(model.fit(X[:, :4], y == 1), max_boxes=None)
    assert card.verification_.equal is True


def test_gaps_have_the_points_of_their_side():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    X[rng.random(X.shape) < 0.2] = np.nan
    y = np.nan_to_num(X[:, 0], nan=2.0) + np.nan_to_num(X[:, 1], nan=-1.0) > 0.5
    model = HistGradientBoostingClassifier(max_iter=20, max_depth=1).fit(X, y)
    card = scorecard(model)
    assert card.verification_.equal is True
    assert card.verification_.domain.missing is not None
    rows = beside_splits(model, X)
    rows[rng.random(rows.shape) < 0.3] = np.nan
    check_alike(card, model, rows)


@pytest.mark.parametrize("kind", ["LGBMClassifier", "LGBMRegressor"])
def test_lightgbm(kind):
    lightgbm = pytest.importorskip("lightgbm")
    load = CANCER if kind == "LGBMClassifier" else DIABETES
    model = getattr(lightgbm, kind)(n_estimators=20, max_depth=1, verbose=-1, n_jobs=1)
    model, X, _ = made(model, load)
    card = scorecard(model)
    assert card.verification_.equal is True
    check_alike(card, model, beside_splits(model, X))


def test_xgboost():
    xgboost = pytest.importorskip("xgboost")
    model, X, _ = made(xgboost.XGBClassifier(n_estimators=15, max_depth=1, n_jobs=1), CANCER)
    card = scorecard(model)
    assert card.verification_.equal is True
    rows = beside_splits(model, X)
    np.testing.assert_array_equal(card.predict(rows), model.predict(rows))


def test_levels_of_a_table():
    lightgbm = pytest.importorskip("lightgbm")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 80, 500).astype(float),
            "job": pd.Categorical(rng.choice(["baker", "clerk", "smith", "tailor"], 500)),
        }
    )
    y = frame["age"] + 30 * frame["job"].isin(["baker", "smith"]) + 5 * rng.normal(size=500) > 62
    model = lightgbm.LGBMClassifier(
        n_estimators=20, max_depth=1, verbose=-1, n_jobs=1, min_data_per_group=5, cat_smooth=1
    )
    model.fit(frame, y)
    card = scorecard(model)
    assert card.verification_.equal is True
    assert card.card_.features == [0, 1]
    np.testing.assert_array_equal(card.predict(frame), model.predict(frame))
    frame.loc[:20, "job"] = None
    frame.loc[10:30, "age"] = np.nan
    np.testing.assert_array_equal(card.predict(frame), model.predict(frame))


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (GradientBoostingClassifier(n_estimators=2, max_depth=3, random_state=0), "two columns"),
        (BaggingClassifier(DecisionTreeClassifier(max_depth=1), 3), "add up its trees behind"),
        (CalibratedClassifierCV(BOOSTING, ensemble=False, cv=2, method="isotonic"), "add up"),
        (CalibratedClassifierCV(BOOSTING, cv=2), "add up"),
    ],
)
def test_model_that_is_no_sum_is_refused(model, words):
    model, _, _ = made(model, CANCER)
    with pytest.raises(TypeError, match=words):
        scorecard(model)


def test_an_open_proof_is_told():
    model, _, _ = made(GradientBoostingClassifier(n_estimators=20, max_depth=2), CANCER)
    with pytest.warns(UserWarning, match="in another order"):
        card = scorecard(model, max_boxes=10)
    assert card.verification_.equal is None


# ------------------------------------------------------------------- whatever takes ensembles


@pytest.mark.parametrize("seed", range(3))
def test_audits_of_a_card(seed):
    card = a_card(seed, n_pairs=0)
    model = fitted(card)
    for term in card.terms:
        (j,) = term.columns
        rises = bool((np.diff(term.points[:-1, 0]) >= 0).all())
        assert is_monotone(model, j, response="probabilities").monotone is rises
    cells = every_combination(card, gaps=False)
    labels = model.predict(cells)
    row, others = cells[0], np.flatnonzero(labels != labels[0])
    flip = nearest_flip(model, row)
    n_changes = (cells[others] != row).sum(axis=1)
    assert bool(flip) == bool(len(others) and n_changes.min() <= flip.max_changes)
    if flip:
        assert flip.proven
        assert len(flip.changes) == n_changes.min()
    # the cells of the first column are side by side
    n_first = len(np.unique(cells[:, 0]))
    by_first = labels.reshape(n_first, -1)
    assert is_sensitive(model, [0]).sensitive is bool((by_first != by_first[0]).any())
    box = sufficient_box(model, row)
    inside = np.all((cells > box.low) & (cells <= box.high), axis=1)
    assert (labels[inside] == labels[0]).all()


@pytest.mark.parametrize("link", ["logistic", "softmax", "identity"])
@pytest.mark.parametrize("whole", [False, True])
def test_card_in_other_languages(link, whole):
    card = a_card(3, link, whole=whole)
    model, X = fitted(card), rows_at_edges(card, 3, 2000)
    expected = model.predict(X)
    again = import_model(export_model(model, "json"))
    np.testing.assert_array_equal(again.predict(X), expected)
    assert verify(model, again, domain=Domain(missing=range(4)), max_boxes=100_000).equal
    found = by_python(export_model(model, "python"), X.tolist())
    np.testing.assert_array_equal(found, expected)
    frame = pd.DataFrame(X, columns=["x0", "x1", "x2", "x3"])
    query = export_model(model, "sql", table="rows", keys=["id"])
    np.testing.assert_array_equal(by_sqlite(query, frame)["prediction"], expected)
    if link != "identity":
        query = export_model(model, "sql", table="rows", keys=["id"], output="probabilities")
        found = by_sqlite(query, frame.iloc[:100]).to_numpy()
        np.testing.assert_allclose(found, model.predict_proba(X[:100]), rtol=0, atol=1e-14)


@needs_gcc
@pytest.mark.parametrize("link", ["logistic", "softmax", "identity"])
def test_card_in_c(link, tmp_path):
    card = a_card(3, link)
    model, X = fitted(card), rows_at_edges(card, 3, 2000)
    found = by_c(export_model(model, "c"), X, tmp_path, real=link == "identity")
    classes = CLASSES[link]
    np.testing.assert_array_equal(found if classes is None else classes[found], model.predict(X))


def test_ends_of_bins_are_told_in_few_digits():
    """Rows are rounded to float32, so a bin ends at a double of many digits."""
    X, y = load_breast_cancer(return_X_y=True)
    model = GradientBoostingClassifier(n_estimators=5, max_depth=1, random_state=0).fit(X, y)
    card = scorecard(model)
    for term in card.card_.terms:
        (j,), (edges,) = term.columns, term.edges
        told = [end for text in card.to_frame()["bin"] for end in re.findall(rf"x{j} > (.*)", text)]
        assert told
        assert max(map(len, told)) <= 11
        # they part float32 numbers as the card does
        last = np.unique(np.float32(X[:, j]))
        for end in map(float, told):
            assert any(np.array_equal(last <= edge, last <= end) for edge in edges.tolist())


@pytest.mark.parametrize("with_rows", [False, True])
def test_pairs_say_nothing_of_one_column_alone(with_rows):
    """Effects of a known function: the textbook's analysis of variance, on a full grid."""
    grid = np.array([(a, b, c) for a in range(5) for b in range(4) for c in range(3)], dtype=float)
    y = grid[:, 0] ** 2 + 3 * grid[:, 1] + 2 * grid[:, 0] * grid[:, 1] - (grid[:, 2] == 1)
    rng = np.random.default_rng(0)
    X = grid if with_rows else np.repeat(grid, 3, axis=0)
    model = HistGradientBoostingRegressor(
        max_iter=60, max_depth=2, min_samples_leaf=1, learning_rate=0.3
    ).fit(grid, y)
    card = scorecard(model, X=X if with_rows else None)
    assert card.verification_.equal
    check_alike(card, model, rng.permutation(X))
    pairs = [term for term in card.card_.terms if len(term.columns) == 2]
    assert pairs
    for term in pairs:
        weight = np.ones(term.points.shape[:-1])
        if with_rows:
            np.add.at(weight, term.bins(grid), weight.size)
        for axis in (0, 1):
            mean = np.average(term.points[..., 0], axis=axis, weights=weight)
            np.testing.assert_allclose(mean, 0.0, atol=1e-9)
    # each column's own effect is told once
    assert [term.columns for term in card.card_.terms if len(term.columns) == 1] == [
        (j,) for j in card.card_.features
    ]
    if with_rows:
        # nearly the means of the grid: effects of the columns, up to a constant
        term = next(term for term in card.card_.terms if term.columns == (0,))
        told = term.parts(np.column_stack([np.arange(5.0), np.zeros((5, 2))]))[:, 0]
        answers = model.predict(grid)
        means = np.array([answers[grid[:, 0] == a].mean() for a in range(5)])
        np.testing.assert_allclose(told - told[0], means - means[0], atol=0.6)
        assert card.to_frame()["rows"].notna().sum() > 5
