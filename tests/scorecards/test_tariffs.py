"""Tariffs: relativities that multiply to what a model answers, told and compared by hand."""

from __future__ import annotations

import re
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import mean_tweedie_deviance
from written_code import by_c, by_python, by_sqlite, needs_gcc

from ensemble_simplify import (
    Domain,
    ScorecardRegressor,
    dislocation,
    export_model,
    import_model,
    verify,
)

SMALL = {"link": "log", "max_bins": 7, "n_samples": 3000, "random_state": 0}


def rate(X):
    """Claims of a year: a product of known factors."""
    region = np.asarray(pd.Series(X["region"]).map({"city": 1.5, "town": 1.0, "country": 0.8}))
    return 0.1 * np.where(X["age"] <= 25, 2.0, 1.0) * np.where(X["power"] > 100, 1.4, 1.0) * region


def claims(n=3000, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "age": rng.integers(18, 70, n).astype(float),
            "power": 10.0 * rng.integers(3, 20, n),
            "region": rng.choice(["city", "town", "country"], n, p=[0.3, 0.5, 0.2]),
        }
    )
    exposure = rng.uniform(0.1, 1.0, n)
    return X, rng.poisson(rate(X) * exposure).astype(float), exposure


@pytest.fixture(scope="module")
def tariff():
    X, y, exposure = claims()
    return ScorecardRegressor(rate, **SMALL).fit(X, y, exposure=exposure)


def test_known_factors_are_found_with_base_one_where_most_exposure_is(tariff):
    X, _, exposure = claims()
    told = tariff.to_frame().set_index("bin")["relativity"]
    assert told["age <= 25"] == pytest.approx(2.0, abs=0.03)
    assert told["power <= 100"] / told["power > 100"] == pytest.approx(1 / 1.4, abs=0.01)
    assert told["region: city"] == pytest.approx(1.5, abs=0.03)
    for name, base in (("age", "age > 25"), ("region", "region: town")):
        assert told[base] == 1.0, name
    larger = X["power"] > 100
    most = exposure[larger].sum() > exposure[~larger].sum()
    assert told["power > 100" if most else "power <= 100"] == 1.0
    np.testing.assert_allclose(tariff.predict(X), rate(X), rtol=0.05)
    # the shares are of exposure
    share = tariff.to_frame().set_index("bin")["rows"]["region: city"]
    of_training = exposure[X["region"] == "city"].sum() / exposure.sum()
    assert share == pytest.approx(of_training, abs=0.02)
    assert tariff.export_text().splitlines()[3].split() == ["relativity", "exposure"]


def test_a_reader_of_the_text_multiplies_to_the_answer(tariff):
    X, text = claims(200, 1)[0], tariff.export_text()
    assert "Multiply it, for each block, by the relativity of the line" in " ".join(text.split())
    lines = re.findall(r"^(\S.*?) {2,}([\d.]+)(?: +\d+ %)?$", text, re.M)
    told = {words: float(number) for words, number in lines}
    found = np.full(len(X), told.pop("start"))
    for words, factor in told.items():
        if words.startswith("region: "):
            found[X["region"].isin(words[8:].split(", "))] *= factor
        else:
            found[X.eval(words)] *= factor
    np.testing.assert_allclose(found, tariff.predict(X), rtol=1e-9)
    assert "relativity" in tariff.to_html()
    for own in tariff.reasons(X[:20], 1):
        for reason in own:
            assert reason.points == told[reason.text]
            assert reason.more == pytest.approx(told[reason.text] / told[reason.beside])
            assert f"{reason.more:.2f} times that of" in str(reason)


@needs_gcc
def test_every_language_answers_alike(tariff, tmp_path):
    X = claims(200, 2)[0]
    X.loc[:5, "region"] = None
    X["region"] = X["region"].where(X["region"].notna(), None)
    answers = tariff.predict(X)
    found = [
        by_sqlite(export_model(tariff, "sql", table="rows", keys=["id"]), X)["prediction"],
        by_python(export_model(tariff, "python"), X.to_dict("records")),
        by_c(export_model(tariff, "c"), tariff._numbers_of(X), tmp_path, real=True),
        import_model(export_model(tariff, "json")).predict(X),
    ]
    for own in found:
        np.testing.assert_allclose(np.asarray(own, dtype=float), answers, rtol=1e-12)


def test_exposure_is_a_unit_of_what_is_counted():
    X, y, exposure = claims(1500, 3)
    X = X.astype({"region": "category"})
    model = HistGradientBoostingRegressor(loss="poisson", max_iter=20, max_leaf_nodes=6)
    one = ScorecardRegressor(model, **SMALL).fit(X, y, exposure=exposure)
    # in months, with counts of as many: rates are a twelfth
    other = ScorecardRegressor(model, **SMALL).fit(X, y, exposure=12 * exposure)
    np.testing.assert_allclose(12 * other.predict(X), one.predict(X), rtol=0.02)
    # the same as fitting to rates by weight
    third = ScorecardRegressor(model, **SMALL).fit(X, y / exposure, exposure)
    assert third.export_text().replace("weight", "exposure").split() == one.export_text().split()
    with pytest.raises(ValueError, match="exposure holds a number that is not positive"):
        one.fit(X, y, exposure=0 * exposure)
    with pytest.raises(ValueError, match=r"the model answers .*, which has no logarithm"):
        ScorecardRegressor(lambda rows: -rate(rows), **SMALL).fit(X)


def test_the_table_has_deviance_and_gini_of_card_and_model(tariff):
    X, y, exposure = claims(400, 4)
    table = tariff.binning_table(X, y, exposure=exposure)
    answers = tariff.predict(X)
    expected = mean_tweedie_deviance(y / exposure, answers, sample_weight=exposure, power=1)
    assert table.deviance == pytest.approx(expected)
    # the Gini index as the mean of a rank: twice the area between Lorenz curve and diagonal
    for told, ranked in ((table.gini, answers), (table.model_gini, rate(X))):
        below = [exposure @ ((ranked < own) + 0.5 * (ranked == own)) for own in ranked]
        expected = 2 * (y @ np.array(below)) / (y.sum() * exposure.sum()) - 1
        assert told == pytest.approx(expected)
    line = table.bins.set_index("bin").loc["age <= 25"]
    young = (X["age"] <= 25).to_numpy()
    assert line["rows"] == young.sum()
    assert line["observed"] == pytest.approx(y[young].sum() / exposure[young].sum())
    assert line["card"] == pytest.approx(np.average(answers[young], weights=exposure[young]))
    squares = tariff.binning_table(X, y, exposure=exposure, power=0)
    off = np.average((y / exposure - answers) ** 2, weights=exposure)
    assert squares.deviance == pytest.approx(off)


def test_the_ratio_to_a_model_is_proven():
    X, y, exposure = claims(1500, 5)
    X = X[["age", "power"]]
    model = HistGradientBoostingRegressor(loss="poisson", max_iter=10, max_depth=2)
    model.fit(X, y / exposure, sample_weight=exposure)
    card = ScorecardRegressor(FrozenEstimator(model), **SMALL).fit(X, y, exposure=exposure)
    ages, powers = np.arange(18.0, 70.0), 10.0 * np.arange(3, 20)
    grid = pd.DataFrame(np.array(np.meshgrid(ages, powers)).reshape(2, -1).T, columns=X.columns)
    ratio = np.abs(model.predict(grid) / card.predict(grid) - 1).max()
    domain = Domain.from_rows(grid)
    assert verify(model, card, rtol=1.001 * ratio, domain=domain).equal
    assert verify(model, card, rtol=0.999 * ratio, domain=domain).equal is False


def test_dislocation_is_told_by_segments(tariff):
    X, _, exposure = claims(500, 6)

    class Dearer:
        def predict(self, rows):
            return tariff.predict(rows) * np.where(rows["region"] == "city", 1.25, 0.96)

    report = dislocation(tariff, Dearer(), X, exposure=exposure)
    city = (X["region"] == "city").to_numpy()
    line = report.segments.set_index("segment").loc["city"]
    assert line["change"] == pytest.approx(0.25)
    assert line["up"] == 1.0
    assert line["exposure"] == pytest.approx(exposure[city].sum())
    bands = report.bands.set_index("from")["exposure"]
    assert bands[0.2] == pytest.approx(exposure[city].sum() / exposure.sum())
    assert bands[-0.05] == pytest.approx(exposure[~city].sum() / exposure.sum())
    paid = tariff.predict(X) * exposure
    assert report.change == pytest.approx((paid @ np.where(city, 1.25, 0.96)) / paid.sum() - 1)
    assert set(report.segments["feature"]) == {"age", "power", "region"}
    assert (report.segments.query("feature == 'age'")["segment"].size) == 10
    one = dislocation(tariff, Dearer(), X, by="region").segments
    assert set(one["feature"]) == {"region"}
    for options, match in (
        ({"by": ["zone"]}, "by names the column 'zone'"),
        ({"exposure": exposure[:3]}, r"exposure has the shape \(3,\), but X has 500 rows"),
        ({"exposure": exposure * np.nan}, "is not positive"),
    ):
        with pytest.raises(ValueError, match=match):
            dislocation(tariff, Dearer(), X, **options)


def test_a_workbook_says_what_it_needs(tariff, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(ImportError, match="needs the package openpyxl"):
        tariff.export_tables(tmp_path / "tariff.xlsx")


def test_tables_are_files(tariff, tmp_path):
    tariff.export_tables(tmp_path / "tariff.csv")
    again = pd.read_csv(tmp_path / "tariff.csv")
    np.testing.assert_array_equal(again["relativity"], tariff.to_frame()["relativity"])
    with pytest.raises(ValueError, match=r"End it in \.csv or \.xlsx"):
        tariff.export_tables(tmp_path / "tariff.txt")
    openpyxl = pytest.importorskip("openpyxl")
    tariff.export_tables(tmp_path / "tariff.xlsx")
    book = openpyxl.load_workbook(tmp_path / "tariff.xlsx")
    assert len(book.sheetnames) == 1 + len(tariff.card_.terms)
