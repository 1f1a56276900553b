"""Chances of totals, the event that they are about, and directions that go against the rows."""

from __future__ import annotations

import sqlite3
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, logit
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import log_loss

from ensemble_simplify import ScorecardClassifier, export_model, import_model, verify

SMALL = {"max_bins": 20, "n_samples": 6000, "sampler": "copula", "random_state": 0}


def credit(n, seed):
    """Loans whose chances of default are known."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "income": rng.lognormal(10.0, 0.5, n),
            "age": rng.integers(20, 75, n),
            "late": rng.poisson(0.6, n),
            "amount": rng.gamma(2.0, 2000.0, n),
        }
    )
    score = -1.6 * (np.log(X["income"]) - 10.0) - 0.025 * (X["age"] - 45.0)
    score += 0.7 * np.minimum(X["late"], 4) + 0.00012 * (X["amount"] - 4000.0) - 2.0
    chance = expit(score.to_numpy())
    return X, np.where(rng.random(n) < chance, "bad", "good"), chance


@pytest.fixture(scope="module")
def loans():
    X, y, _ = credit(8000, 0)
    return X, y, RandomForestClassifier(30, min_samples_leaf=10, random_state=0).fit(X, y)


@pytest.mark.parametrize("options", [{}, {"points": "real"}, {"weights": "balanced"}])
def test_stated_chances_are_the_true_ones(loans, options):
    X, y, model = loans
    options = dict(options)
    if options.pop("weights", None):
        # such a model parts classes at another chance than one half
        model = RandomForestClassifier(
            30, min_samples_leaf=10, class_weight="balanced", random_state=0
        ).fit(X, y)
    card = ScorecardClassifier(FrozenEstimator(model), positive="bad", **options, **SMALL).fit(X, y)
    new, labels, chance = credit(30_000, 1)
    stated = card.predict_proba(new)
    totals = card.total_points(new)
    cuts = np.unique(np.quantile(totals, np.arange(1, 25) / 25))
    band = np.searchsorted(cuts, totals)
    for k in np.unique(band):
        inside = band == k
        if inside.mean() >= 0.02:
            assert stated[inside, 0].mean() == pytest.approx(chance[inside].mean(), abs=0.02)
    # no worse than what is known of the rows by much, and better than the model itself
    told = log_loss(labels, stated)
    assert told < log_loss(labels, np.column_stack([chance, 1 - chance])) + 0.02
    # labels stay the model's
    assert card.fidelity(new) > 0.85


def test_chances_of_few_rows_are_no_further_apart_than_true_ones():
    """Bins and points that were fitted to 600 rows tell their labels too well."""
    off, slopes = [], []
    for seed in range(3):
        X, y, _ = credit(600, seed)
        model = RandomForestClassifier(20, min_samples_leaf=5, random_state=0)
        card = ScorecardClassifier(model, positive="bad", **SMALL).fit(X, y)
        new, _, chance = credit(10_000, 10 + seed)
        stated = card.predict_proba(new)[:, 0]
        order = np.argsort(stated, kind="stable")
        for inside in np.array_split(order, 10):
            off.append(stated[inside].mean() - chance[inside].mean())
        centred = logit(stated) - logit(stated).mean()
        slopes.append(centred @ logit(chance) / (centred @ centred))
    # fitted to the same rows, chances are up to .15 beside the true ones, with a slope of .80
    assert np.abs(off).max() < 0.08
    assert np.sqrt(np.mean(np.square(off))) < 0.03
    assert np.mean(slopes) > 0.9


def test_the_event_is_the_one_that_is_named(loans):
    X, y, model = loans
    bad, good = (
        ScorecardClassifier(FrozenEstimator(model), positive=label, **SMALL).fit(X, y)
        for label in ("bad", "good")
    )
    assert (bad.event_, good.event_) == ("bad", "good")
    np.testing.assert_array_equal(good.total_points(X), _whole(good, X))
    assert np.corrcoef(bad.total_points(X), good.total_points(X))[0, 1] < -0.95
    for card, label in ((bad, "bad"), (good, "good")):
        text = card.export_text()
        assert f"points for '{label}'" in text
        assert f"chance of '{label}'" in text
        totals, chances = card.total_points(X), card.predict_proba(X)
        order = np.argsort(totals, kind="stable")
        assert (np.diff(chances[order, card.classes_.tolist().index(label)]) >= 0).all()
        is_event = card.predict(X) == label
        assert totals[is_event].min() > totals[~is_event].max()
        table = card.score_table_
        # what was observed is told of the rows learned from: those not set aside
        assert table["observed"] @ table["share"] == pytest.approx((y == label).mean(), abs=0.01)
        # the first reason speaks for the answer
        for answer, reasons in zip(card.predict(X[:20]), card.reasons(X[:20], 1), strict=True):
            assert f"for '{answer}'" in reasons[0].sentence
        # the same card everywhere: JSON, SQL, and as the proof reads it
        assert verify(card, import_model(export_model(card, "json"))).equal
        database = sqlite3.connect(":memory:")
        X[:500].to_sql("loans", database, index_label="id")
        found = dict(database.execute(export_model(card, "sql", table="loans", keys=["id"])))
        assert [found[i] for i in range(500)] == card.predict(X[:500]).tolist()
        namespace = {}
        exec(export_model(card, "python", output="probabilities"), namespace)
        for i in range(20):
            told = namespace["predict"](X.iloc[i].to_dict())
            for k, name in enumerate(card.classes_):
                assert told[name] == pytest.approx(chances[i, k], abs=1e-12)


def _whole(card, X):
    return np.rint(card.total_points(X))


def test_what_has_no_labels_is_no_chance(loans):
    X, _, model = loans
    card = ScorecardClassifier(FrozenEstimator(model), **SMALL).fit(X[:2000])
    assert card.chance_source_ == "model"
    text = card.export_text()
    assert "model's mean probability of 'good'" in text
    assert "chance" not in text
    assert "chance of" not in card.to_html()
    assert "observed" not in card.score_table_
    own = model.predict_proba(X[:2000])[:, 1]
    assert card.predict_proba(X[:2000])[:, 1].mean() == pytest.approx(own.mean(), abs=0.01)
    answers = ScorecardClassifier(model.predict, **SMALL).fit(X[:2000])
    assert answers.chance_source_ == "answers"
    assert "how often the model says 'good'" in answers.export_text()


def test_a_direction_against_the_rows_is_told(loans):
    X, y, model = loans
    frozen = FrozenEstimator(model)
    with pytest.warns(
        UserWarning, match=r"monotone\['income'\]=1 .* rate of 'bad' falls from"
    ) as told:
        ScorecardClassifier(frozen, positive="bad", monotone={"income": 1}, **SMALL).fit(X, y)
    text = str(told[0].message)
    numbers = [
        float(part.rstrip(".")) for part in text.split() if part.rstrip(".").startswith("0.")
    ]
    low, high = (X["income"] <= X["income"].quantile(0.2)), X["income"] >= X["income"].quantile(0.8)
    assert numbers == pytest.approx([(y[low] == "bad").mean(), (y[high] == "bad").mean()], abs=0.02)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        card = ScorecardClassifier(
            frozen, positive="bad", monotone={"income": -1, "late": 1}, **SMALL
        ).fit(X, y)
    for term in card.card_.terms:
        sign = {0: -1, 2: 1}.get(term.columns[0], 0)
        assert (sign * np.diff(term.points[:-1, 0]) >= 0).all()


def test_an_event_that_is_no_class_is_refused(loans):
    X, y, model = loans
    with pytest.raises(
        ValueError, match=r"positive='worse', but the classes are \['bad', 'good'\]"
    ):
        ScorecardClassifier(model, positive="worse").fit(X, y)


def test_the_binning_table_counts_labelled_rows(loans):
    X, y, model = loans
    card = ScorecardClassifier(FrozenEstimator(model), positive="bad", **SMALL).fit(X, y)
    new, labels, _ = credit(3000, 2)
    table, frame = card.binning_table(new, labels), card.to_frame().set_index("bin")
    bad = labels == "bad"
    points = 0.0
    for line in table.bins.itertuples():
        assert line.points == frame.loc[line.bin, "points"]
        assert line.rows == 0 or line.rate == line.events / line.rows
    for feature, own in table.bins.groupby("feature"):
        assert (own["rows"].sum(), own["events"].sum()) == (3000, bad.sum())
        points += (own["points"] * own["events"]).sum()
        if (own["events"].between(1, own["rows"] - 1)).all():
            of_bad = own["events"] / bad.sum()
            of_good = (own["rows"] - own["events"]) / (~bad).sum()
            np.testing.assert_allclose(own["woe"], np.log(of_bad / of_good))
            value = ((of_bad - of_good) * own["woe"]).sum()
            assert table.features.set_index("feature").loc[feature, "iv"] == pytest.approx(value)
    totals = card.total_points(new)
    start = card.to_frame()["points"][0]
    # the bins are those whose points make the totals
    assert points == pytest.approx((totals[bad] - start).sum())
    beside = totals[bad][:, None] - totals[~bad]
    assert table.gini == pytest.approx(np.mean(np.sign(beside)))
    ends = np.unique(totals)
    apart = [(totals[~bad] <= end).mean() - (totals[bad] <= end).mean() for end in ends]
    assert table.ks == pytest.approx(max(apart))
    with pytest.raises(ValueError, match="y has the labels"):
        card.binning_table(new, np.where(bad, "bad", "fine"))


def test_totals_are_written_in_every_language(loans):
    X, y, model = loans
    card = ScorecardClassifier(FrozenEstimator(model), positive="bad", **SMALL).fit(X, y)
    totals = card.total_points(X[:300])
    database = sqlite3.connect(":memory:")
    X[:300].to_sql("loans", database, index_label="id")
    query = export_model(card, "sql", table="loans", keys=["id"], output="points")
    found = dict(database.execute(query))
    assert [found[i] for i in range(300)] == totals.tolist()
    namespace = {}
    exec(export_model(card, "python", output="points"), namespace)
    told = [namespace["predict"](row) for row in X[:300].to_dict("records")]
    assert told == totals.tolist()
    again = import_model(export_model(card, "json", output="points"))
    np.testing.assert_array_equal(again.predict(X[:300].to_numpy(float)), totals)
    with pytest.raises(ValueError, match="no scorecard"):
        export_model(model, "python", output="points")
