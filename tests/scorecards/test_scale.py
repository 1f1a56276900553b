"""Points that double the odds: by hand from chances, and the same wherever the card is written."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from random_cards import every_combination
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
from written_code import by_c, by_python, by_sqlite, needs_gcc
from written_models import around

from ensemble_simplify import ScorecardClassifier, export_model, import_model, verify

SCALE = {"pdo": 20, "base_points": 600, "base_odds": 50}
SMALL = {"max_bins": 12, "n_samples": 3000, "random_state": 0}


def loans(n, seed):
    """Loans with text and gaps."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "income": rng.lognormal(10.0, 0.5, n).round(),
            "late": rng.poisson(0.6, n).astype(float),
            "job": rng.choice(np.array(["cook", "clerk", "it's", "guard"], dtype=object), n),
        }
    )
    score = 1.6 * (np.log(X["income"]) - 10.0) - 0.7 * X["late"] + (X["job"] == "clerk") + 1.0
    X.loc[rng.random(n) < 0.1, "income"] = np.nan
    X.loc[rng.random(n) < 0.1, "job"] = None
    return X, np.where(rng.random(n) < 1.0 / (1.0 + np.exp(-score)), "paid", "lost")


@pytest.fixture(scope="module")
def cards():
    """Cards of one model and its rows: with and without a scale, whole and real."""
    X, y = loans(2000, 0)
    model = RandomForestClassifier(20, min_samples_leaf=5, random_state=0)

    def card(**options):
        return ScorecardClassifier(model, **SMALL, **options).fit(X, y)

    plain = card(points="real", positive="lost")
    real = card(points="real", positive="lost", **SCALE)
    return plain, real, card(positive="lost", **SCALE), card(positive="paid", **SCALE)


def edge_rows(card, n=400):
    """Rows at the edges of a card and beside them, with gaps and levels that nobody knows."""
    rng, rows = np.random.default_rng(1), loans(n, 3)[0]
    for term in card.card_.terms:
        (j,), (edges,) = term.columns, term.edges
        if j < 2:
            rows.iloc[:, j] = around(edges, rng, n)
    rows = rows.mask(rng.random(rows.shape) < 0.1)
    rows["job"] = rows["job"].astype(object).where(rows["job"].notna(), None)
    rows.loc[rng.random(n) < 0.1, "job"] = "pilot"
    return rows


def test_totals_are_what_a_hand_makes_of_chances(cards):
    plain, real, *wholes = cards
    rows = edge_rows(plain)
    chance = plain.predict_proba(rows)[:, plain.classes_.tolist().index("lost")]
    by_hand = 600 + 20 * np.log2(chance / (1 - chance) / 50)
    np.testing.assert_allclose(real.total_points(rows), by_hand, rtol=1e-9)
    np.testing.assert_array_equal(real.predict(rows), plain.predict(rows))
    for card in (real, *wholes):
        odds = card.predict_proba(rows)[:, card.classes_.tolist().index(card.event_)]
        odds = odds / (1 - odds)
        np.testing.assert_allclose(
            card.total_points(rows), 600 + 20 * np.log2(odds / 50), rtol=1e-9
        )
        is_event = card.predict(rows) == card.event_
        totals = card.total_points(rows)
        assert totals[~is_event].max() <= card.card_.at <= totals[is_event].min()
        np.testing.assert_array_equal(
            card.decision_function(rows) > 0, card.predict(rows) == card.classes_[1]
        )
        assert "The odds double every 20 points, and are 50 to 1 at a total of 600" in (
            card.export_text()
        )
        assert "are 50 to 1 at a total of 600" in card.to_html()


def test_what_whole_points_cost_is_told(cards):
    _, real, whole, other = cards
    cells = every_combination(whole.card_, 3)
    apart = whole.card_.scores(cells) - real.card_.scores(cells)
    told = whole.rounded_
    assert np.abs(apart).max() == pytest.approx(told.score_change)
    # half a point for the start and the whole totals, and for each feature; mending moves by one
    assert told.score_change <= 0.5 * (len(whole.card_.terms) + 2)
    chances = whole.card_.chances(whole.card_.scores(cells)[:, 0])
    moved = np.abs(chances - real.card_.chances(real.card_.scores(cells)[:, 0])).max()
    assert 0 < moved <= told.probability_change < 0.05
    changed = whole.card_.index_of(whole.card_.scores(cells)) != real.card_.index_of(
        real.card_.scores(cells)
    )
    assert told.everywhere.n_changed == changed.sum()
    for card in (whole, other):
        assert (card.total_points(edge_rows(card)) % 1 == 0).all()
    X, y = loans(2000, 0)
    with pytest.warns(UserWarning, match=r"pdo=0.1 .* changes the class of \d+\.\d+% of"):
        coarse = ScorecardClassifier(whole.estimator, pdo=0.1, max_changed=0.0, **SMALL).fit(X, y)
    assert coarse.rounded_.share_changed > 0


@needs_gcc
@pytest.mark.parametrize("which", [1, 2, 3])
def test_the_rule_of_the_card_is_the_same_in_every_language(cards, which, tmp_path):
    card = cards[which]
    rows = edge_rows(card)
    answers = card.predict(rows).tolist()
    # the rule as it is printed
    told = re.search(r"is '(\w+)' if the total is (?:(\S+) or more|more than (\S+)),", " ".join(
        card.export_text().split()
    ))  # fmt: skip
    totals = card.total_points(rows)
    by_rule = totals >= float(told[2]) if told[2] else totals > float(told[3])
    assert [told[1] == answer for answer in answers] == by_rule.tolist()
    query = export_model(card, "sql", table="rows", keys=["id"])
    assert by_sqlite(query, rows).iloc[:, 0].tolist() == answers
    assert by_python(export_model(card, "python"), rows.to_dict("records")) == answers
    places = by_c(export_model(card, "c"), card._numbers_of(rows), tmp_path)
    assert card.classes_[places].tolist() == answers
    again = import_model(export_model(card, "json"))
    assert again.predict(rows).tolist() == answers
    np.testing.assert_allclose(again.predict_proba(rows), card.predict_proba(rows), rtol=1e-12)
    assert verify(card, again).equal
    # reasons speak for the answer, in points of the scale
    terms = card.to_frame().set_index("bin")["points"]
    for answer, reasons in zip(answers[:40], card.reasons(rows[:40], 1), strict=True):
        sign = 1 if answer == card.event_ else -1
        assert [sign * terms[own.text] for own in reasons] == [own.points for own in reasons]


def test_what_cannot_be_scaled_is_refused():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match=r"pdo=20 .* there are 3"):
        ScorecardClassifier(pdo=20).fit(X, y)
    with pytest.raises(ValueError, match="'base_odds'"):
        ScorecardClassifier(pdo=20, base_odds=0).fit(X, y)


@needs_gcc
@pytest.mark.parametrize("which", [0, 2, 3])
def test_the_chance_of_the_event_is_written_in_every_language(cards, which, tmp_path):
    card = cards[which]
    rows = edge_rows(card)
    # the column of the event, as the card itself tells it
    chances = card.predict_proba(rows)[:, card.classes_.tolist().index(card.event_)]
    query = export_model(card, "sql", table="rows", keys=["id"], output="chance")
    found = {
        "sql": by_sqlite(query, rows).iloc[:, 0],
        "python": by_python(export_model(card, "python", output="chance"), rows.to_dict("records")),
        "c": by_c(
            export_model(card, "c", output="chance"), card._numbers_of(rows), tmp_path, real=True
        ),
        "json": import_model(export_model(card, "json", output="chance")).predict(rows),
    }
    for told in found.values():
        np.testing.assert_allclose(np.asarray(told, dtype=float), chances, rtol=1e-11)
    proba = by_python(export_model(card, "python", output="probabilities"), rows.to_dict("records"))
    np.testing.assert_allclose([own[card.event_] for own in proba], chances, rtol=1e-11)
    with pytest.raises(ValueError, match="output='chance', but the model is no scorecard"):
        export_model(card.estimator_, "python", output="chance")
