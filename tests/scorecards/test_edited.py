"""Special codes, bins of one's own, peaks and valleys, and how far rows have moved."""

from __future__ import annotations

import re
from itertools import product

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from written_code import by_c, by_python, by_sqlite, needs_gcc

from ensemble_simplify import ScorecardClassifier, ScorecardRegressor, export_model
from ensemble_simplify.scorecards._bins import card_path, signs_of

SMALL = {"max_bins": 14, "n_samples": 2000, "random_state": 0}


def loans(n=1500, seed=0):
    """Loans in which -999 and -998 are two kinds of no answer, and 5 in `late` is one."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "income": rng.normal(30.0, 8.0, n).round(1),
            "late": rng.integers(0, 9, n).astype(float),
            "job": rng.choice(["cook", "clerk", "guard", "nurse"], n),
        }
    )
    X.loc[rng.random(n) < 0.15, "income"] = -999.0
    X.loc[rng.random(n) < 0.15, "income"] = -998.0
    return X, np.where(rng.random(n) < chance(X), "bad", "good")


def chance(X):
    income = X["income"].to_numpy()
    known = np.where(income > 0, 0.12 * (30.0 - income), np.where(income == -999.0, 2.0, -2.0))
    late = np.where(X["late"] == 5, -3.0, 0.5 * (X["late"] - 4))
    return 1.0 / (1.0 + np.exp(-(known + late + (X["job"] == "clerk"))))


CODES = {"income": [-999, -998], "late": 5}


@pytest.fixture(scope="module")
def card():
    X, y = loans()
    forest = RandomForestClassifier(15, min_samples_leaf=5, random_state=0)
    monotone = {"income": "falling", "late": "rising"}
    return ScorecardClassifier(
        forest, special_codes=CODES, monotone=monotone, positive="bad", **SMALL
    ).fit(X, y)


def beside_codes():
    X = loans(240, 1)[0]
    codes = [-999.0, -998.0, np.nextafter(-999.0, -1e9), np.nextafter(-998.0, 0.0), -998.5, -5e3]
    X.loc[:59, "income"] = np.resize(codes, 60)
    X.loc[60:119, "late"] = np.resize([5.0, np.nextafter(5.0, 0), np.nextafter(5.0, 9), 5.5], 60)
    return X


def test_codes_have_bins_of_their_own(card):
    X, y = loans()
    told = card.to_frame().set_index("bin")["points"]
    assert told["income = -999"] > told["income = -998"]
    assert told["late = 5"] < told.filter(like="late >").max()
    # along the numbers points go as they are asked to, whatever codes have
    for name, sign in (("income", -1), ("late", 1)):
        points = told[[text for text in told.index if re.match(f"(.+ < )?{name} [<>]", text)]]
        assert len(points) > 1
        assert (sign * np.diff(points) > 0).all()
    table = card.binning_table(X, y).bins.set_index("bin")
    for code in (-999, -998):
        line, rows = table.loc[f"income = {code}"], (X["income"] == code).to_numpy()
        assert line["rows"] == rows.sum()
        assert line["events"] == (y[rows] == "bad").sum()


def test_who_reads_the_text_of_codes_gets_the_totals(card):
    X, frame = beside_codes(), card.to_frame()
    total = np.full(len(X), frame["points"][0])
    for _, line in frame[1:].iterrows():
        text, _, other = line["bin"].partition(", but not ")
        if text.startswith("job: "):
            holds = X["job"].isin(text[5:].split(", "))
        elif text.endswith(("missing", "unknown")):
            holds = np.zeros(len(X), dtype=bool)
        else:
            holds = X.eval(text.replace(" = ", " == "))
            holds &= ~X[line["feature"]].isin([float(own) for own in other.split(" or ") if own])
        total += np.where(holds, line["points"], 0.0)
    np.testing.assert_array_equal(total, card.total_points(X))


@needs_gcc
def test_codes_are_codes_in_every_language(card, tmp_path):
    X = beside_codes()
    answers = card.predict(X).tolist()
    query = export_model(card, "sql", table="rows", keys=["id"])
    assert by_sqlite(query, X).iloc[:, 0].tolist() == answers
    assert by_python(export_model(card, "python"), X.to_dict("records")) == answers
    places = by_c(export_model(card, "c"), card._numbers_of(X), tmp_path)
    assert card.classes_[places].tolist() == answers


def test_codes_that_are_none_are_refused():
    X, y = loans(200)
    for codes, match in (
        ({"job": 3}, r"special_codes\['job'\]: the column has levels"),
        ({"income": np.nan}, r"special_codes\['income'\]=nan holds what is no finite number"),
        ({"income": "none"}, r"special_codes\['income'\]='none' holds what is no finite"),
        ({"wage": 3}, "special_codes names the column 'wage', which X does not have"),
    ):
        with pytest.raises(ValueError, match=match):
            ScorecardClassifier(special_codes=codes, **SMALL).fit(X, y)
    # a list is of all columns of numbers that have one; a code that no row has is none
    one = ScorecardClassifier(special_codes=[-999, -77], **SMALL).fit(X, y)
    assert one._codes == {0: [-999.0]}


def test_bins_of_ones_own_have_the_points_of_a_regression():
    X, y = loans()
    X["income"] = X["income"].mask(X["income"] < 0, 30.0)
    card = ScorecardClassifier(lambda rows: y[: len(rows)], points="real", **SMALL)
    card = ScorecardClassifier(
        RandomForestClassifier(15, min_samples_leaf=5, random_state=0),
        points="real", validation_fraction=0.0, **SMALL,
    ).fit(X, y)  # fmt: skip
    bins = {"income": [20, 30, 40], "job": [["cook", "guard"], ["clerk"]], "late": None}
    own = card.with_bins(bins)
    assert {term.columns for term in own.card_.terms} == {(0,), (2,)}
    told = own.to_frame().set_index("bin")["points"]
    assert {"20 < income <= 30", "income > 40", "job: clerk", "job: nurse"} <= set(told.index)
    assert any(set(text[5:].split(", ")) == {"cook", "guard"} for text in told.index[5:])
    # logistic regression of labels and the model's chances, half and half
    dummies = np.column_stack(
        [np.digitize(X["income"], [20, 30, 40], right=True) == k for k in range(4)]
        + [X["job"].isin(["cook", "guard"]), X["job"] == "clerk", X["job"] == "nurse"]
    ).astype(float)
    aim = (card.estimator_.predict_proba(X)[:, 1] + (y == card.classes_[1])) / 2
    fit = LogisticRegression(C=1e4, max_iter=1000).fit(
        np.vstack([dummies] * 2), np.repeat([1, 0], len(X)), np.r_[aim, 1 - aim]
    )
    totals = own.total_points(X)
    # up to the base, which is where classes are parted
    apart = totals - fit.decision_function(dummies)
    assert np.ptp(apart) < 0.15 < np.ptp(totals) / 10
    again = own.with_bins({"income": [25]})
    assert again.card_.terms[-1].edges[0].tolist() == [25.0]


def test_bins_are_checked(card):
    for bins, match in (
        ({"income": ["low"]}, r"bins\['income'\]=\['low'\], but the column holds numbers"),
        ({"income": [30, 20]}, r"bins\['income'\]=\[30.0, 20.0\] are no finite cuts that ascend"),
        ({"income": [-2e3, 30]}, r"above None up to -2000.0 holds 0 training rows"),
        ({"job": [["cook"], ["cook"]]}, r"the level 'cook' in two groups"),
        ({"job": [["pilot"]]}, r"the level 'pilot', which is none of"),
        ({"wage": [1]}, "bins names the column 'wage', which X does not have"),
        ([3], r"bins=\[3\] is no dict of columns"),
    ):
        with pytest.raises(ValueError, match=match):
            card.with_bins(bins)
    with pytest.warns(UserWarning, match="training rows, fewer than min_samples_bin=10"):
        own = card.with_bins({"income": [10.0, 30.0]})
    # codes keep bins of their own, and the asked direction holds
    told = own.to_frame().query("feature == 'income'").set_index("bin")["points"]
    assert told["income = -999"] > told["income = -998"]
    assert own.path_[0].n_bins == own.card_.n_bins or own.rounded_ is not None


def test_means_of_several_classes_and_values_are_refitted():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, (800, 2)).astype(float)
    values = np.array([1.0, 5.0, 2.0, 9.0])[X[:, 0].astype(int)]
    card = ScorecardRegressor(
        lambda rows: np.array([1.0, 5.0, 2.0, 9.0])[np.clip(rows[:, 0], 0, 3).astype(int)],
        points="real", **SMALL,
    ).fit(X)  # fmt: skip
    own = card.with_bins({0: [1, 2]})
    expected = np.array([values[X[:, 0] <= 1].mean(), 2.0, 9.0])
    found = own.predict(np.array([[0.0, 0], [2, 0], [3, 0]]))
    np.testing.assert_allclose(found, expected, atol=0.1)
    three = ScorecardClassifier(
        lambda rows: np.array(list("abca"))[np.clip(rows[:, 0], 0, 3).astype(int)], **SMALL
    ).fit(X)
    again = three.with_bins({0: [0, 1, 2]})
    np.testing.assert_array_equal(again.predict(X), np.array(list("abca"))[X[:, 0].astype(int)])


# ------------------------------------------------------------------- shapes


def test_signs_of_a_peak_are_the_nearest():
    rng = np.random.default_rng(0)
    for _ in range(50):
        steps = rng.normal(size=rng.integers(1, 6))
        for shape in (2, -2):
            way = np.sign(shape)
            kinds = [np.r_[np.ones(k), -np.ones(len(steps) - k)] for k in range(len(steps) + 1)]
            least = min(np.maximum(-way * kind * steps, 0).sum() for kind in kinds)
            signs = signs_of(shape, steps)
            assert any((signs == way * kind).all() for kind in kinds)
            assert np.maximum(-signs * steps, 0).sum() == pytest.approx(least)


@pytest.mark.parametrize(("link", "shape"), list(product(["logistic", "identity"], [2, -2])))
def test_points_have_one_peak_or_one_valley(link, shape):
    rng = np.random.default_rng(1)
    X = rng.uniform(-2, 2, (800, 2))
    wave = np.sign(shape) * (2 * np.sin(4 * X[:, 0]) - X[:, 0] ** 2) + X[:, 1]
    target = wave if link == "identity" else (wave + rng.normal(size=800) > 0).astype(float)
    options = {"link": link, "max_bins": 12}
    path = card_path(X, np.ones(800), target[:, None], shapes=[shape, 0], **options)
    free = card_path(X, np.ones(800), target[:, None], **options)

    def turns(card):
        term = next((t for t in card.terms if t.columns == (0,)), None)
        signs = [] if term is None else np.sign(shape * np.diff(term.points[:-1, 0]))
        return int((np.diff(signs) > 0).sum()) if len(signs) else 0

    assert max(turns(step.card) for step in path) == 0
    assert turns(free[0].card) > 0
    # it does turn once
    term = next(t for t in path[0].card.terms if t.columns == (0,))
    assert len(set(np.sign(np.diff(term.points[:-1, 0])))) == 2


def test_a_valley_stays_one_where_points_are_refitted():
    rng = np.random.default_rng(2)
    X = rng.uniform(0, 10, (1500, 1))
    y = rng.random(1500) < np.where(np.abs(X[:, 0] - 5) < 2, 0.3, 0.7) - 0.15 * (X[:, 0] > 9)
    forest = RandomForestClassifier(10, min_samples_leaf=5, random_state=0)
    card = ScorecardClassifier(forest, monotone=["valley"], points="real", **SMALL).fit(X, y)
    for own in (card, card.with_bins({0: [1, 3, 5, 7, 9]})):
        points = own.card_.terms[0].points[:-1, 0]
        least = points.argmin()
        assert (np.diff(points[: least + 1]) <= 0).all()
        assert (np.diff(points[least:]) >= 0).all()
        assert 0 < least < len(points) - 1


# ------------------------------------------------------------------- stability


def test_psi_is_the_formula(card):
    old, new = loans(800, 2)[0], loans(600, 3)[0]
    new["job"] = "clerk"
    table = card.psi(old, new)
    bins = table.bins.query("feature == 'late'")
    p, q = (bins[f"share_{name}"].to_numpy() for name in ("old", "new"))
    assert p.sum() == pytest.approx(1.0)
    expected = ((q - p) * np.log(q / p)).sum()
    told = table.features.set_index("feature")["psi"]
    assert told["late"] == pytest.approx(expected)
    assert p[bins["bin"] == "late = 5"] == pytest.approx((old["late"] == 5).mean())
    assert told["job"] > 0.25 > told["late"]
    assert card.psi(old, old).total == 0.0
    assert table.total > 0.0
