"""Scorecards beside trees: they are named by what they are, and all that a result does works."""

from __future__ import annotations

import sqlite3
from dataclasses import replace

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeRegressor

from ensemble_simplify import Reason, ScorecardClassifier, SimplifiedModel, simplify
from ensemble_simplify.front import _command
from ensemble_simplify.front._choice import choose
from ensemble_simplify.front._command import main
from ensemble_simplify.front._judged import Candidate, Judged
from ensemble_simplify.front._verdict import judge, notes


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(160, 3)).round(2), columns=["age", "debt", "pay"])
    y = np.where(X.sum(axis=1) + rng.normal(size=160) > 0, "yes", "no")
    return X, y, RandomForestClassifier(10, random_state=0).fit(X[:80], y[:80])


@pytest.fixture(scope="module")
def outcome(data):
    X, y, forest = data
    return simplify(
        forest, X[80:], y[80:], kinds="scorecard", max_leaf_nodes=4, validation_fraction=0.5,
        random_state=0,
    )  # fmt: skip


def test_card_is_recommended_where_nothing_else_is_asked_for(outcome):
    assert outcome.best == "scorecard"
    assert isinstance(outcome.best_model.fitted, ScorecardClassifier)
    row = outcome.to_frame().loc["scorecard"]
    assert row["bins"] == outcome.best_model.fitted.card_.n_bins <= 12
    assert np.isnan(row["leaves"])
    assert list(outcome.results) == ["plain_tree", "plain_tree_on_y", "scorecard"]
    assert not outcome.curve


def test_chances_of_a_card_are_rates_of_the_labels(data, outcome):
    X, y, forest = data
    card = outcome.best_model.fitted
    assert card.chance_source_ == "y"
    assert f"chance of '{card.event_}'" in outcome.best_model.export_text()
    table = card.score_table_
    assert table["observed"] @ table["share"] == pytest.approx((y[80:] == card.event_).mean())
    # without labels, they are the mean of what the model says
    options = {"kinds": "scorecard", "max_leaf_nodes": 4, "random_state": 0}
    bare = simplify(forest, X[80:], **options).best_model.fitted
    assert bare.chance_source_ == "model"
    assert "observed" not in bare.score_table_


def test_rules_where_a_card_differs_name_the_card(tmp_path):
    X = np.random.default_rng(0).uniform(-1, 1, (120, 2))
    model = DecisionTreeRegressor(max_depth=4).fit(X, np.where(X[:, 0] > 0, X[:, 1], -X[:, 1]))
    found = simplify(model, X, kinds="scorecard", max_leaf_nodes=4, random_state=0)
    found.report(tmp_path / "card.html")
    page = (tmp_path / "card.html").read_text(encoding="utf-8")
    assert "the model says</th>" in page
    assert "the scorecard</th>" in page
    assert "the tree" not in page


def test_card_is_never_called_a_tree(outcome, tmp_path):
    text = outcome.report(tmp_path / "card.html")
    page = (tmp_path / "card.html").read_text(encoding="utf-8")
    assert text.startswith("RandomForestClassifier as one small scorecard")
    assert f"The scorecard of {outcome.best_model.fitted.card_.n_bins} bins" in outcome.verdict.text
    for part in (outcome.verdict.text, outcome.reason.replace("No other tree or scorecard", "")):
        assert "tree" not in part.replace("A plain tree of", "")
    for told in (text, page):
        assert "the tree" not in told.lower()
        assert "recommended tree" not in told
        assert "points" in told
    assert outcome.best_model.export_text() in f"\n{text}\n" or "start" in text
    assert repr(outcome.best_model).startswith("SimplifiedModel(scorecard: a scorecard of")
    assert '<table class="scorecard">' in page
    assert '<table class="scorecard">' in outcome.best_model._repr_html_()


def test_card_does_what_a_result_does(data, outcome, tmp_path):
    X = data[0]
    outcome.save(tmp_path / "card.joblib")
    again = SimplifiedModel.load(tmp_path / "card.joblib")
    assert np.array_equal(again.predict(X), outcome.predict(X))
    assert again.export_text() == outcome.export_text()
    with pytest.raises(TypeError, match="scorecard is kept with its model"):
        outcome.save(tmp_path / "card.json")
    assert isinstance(outcome.best_model.reasons(X[:1])[0][0], Reason)
    assert outcome.agreement(X[80:]).share == np.mean(
        data[2].predict(X[80:]) == outcome.predict(X[80:])
    )
    query = outcome.export("sql", table="rows", keys=["index"])
    database = sqlite3.connect(":memory:")
    X.to_sql("rows", database)
    told = pd.read_sql(query, database).set_index("index").iloc[:, 0]
    assert np.array_equal(told.loc[X.index], outcome.predict(X))
    again = outcome.refit(X[:60])
    assert again.fitted.card_.n_bins <= 12
    outcome.plot().figure_.canvas.draw()


def test_command_takes_kinds(data, outcome, tmp_path, capsys, monkeypatch):
    X, y, forest = data
    joblib.dump(forest, tmp_path / "forest.joblib")
    X[80:].assign(y=y[80:]).to_csv(tmp_path / "rows.csv", index=False)
    asked = {}
    monkeypatch.setattr(_command, "simplify", lambda *_, **o: asked.update(o) or outcome)
    told = [str(tmp_path / "forest.joblib"), str(tmp_path / "rows.csv"), "--target", "y"]
    assert main(["export", *told, "--kinds", "scorecard"]) == 2
    assert "a scorecard has no rules" in capsys.readouterr().err
    assert not asked
    told += ["--kinds", "tree,scorecard", "--language", "python"]
    assert main(["export", *told]) == 0
    assert asked["kinds"] == ["tree", "scorecard"]
    found: dict = {}
    exec(capsys.readouterr().out, found)
    rows = X.to_dict("records")
    assert [found["predict"](row) for row in rows] == outcome.predict(X).tolist()


def test_kinds_are_checked(data):
    X, _, forest = data
    with pytest.raises(ValueError, match="kinds has 'list'"):
        simplify(forest, X, kinds="list")
    with pytest.raises(ValueError, match="kinds is empty"):
        simplify(forest, X, kinds=())
    with pytest.raises(ValueError, match="Give kinds="):
        simplify(forest, X, methods=["representer", "scorecard"])


# ------------------------------------------------------------------- the choice


def _sides(n_right, n_more, *, n=400, **of_card):
    """A tree that is right on some rows, and a card that is on more."""
    answers = np.arange(n) % 2
    told = [np.where(np.arange(n) < right, answers, 1 - answers) for right in (n_right, n_more)]
    tree = Candidate("representer", 8, told[0])
    card = Candidate("scorecard", 16, told[1], is_tree=False, is_card=True, **of_card)
    return tree, card, Judged(answers)


def test_card_wins_where_it_is_clearly_better():
    tree, card, judged = _sides(340, 380)
    choice = choose([tree, card], judged, max_leaf_nodes=8)
    assert choice.best == "scorecard"
    assert choice.reason.startswith("This scorecard is better than representer")
    tree, card, judged = _sides(340, 341)
    choice = choose([tree, card], judged, max_leaf_nodes=8)
    assert choice.best == "representer"
    assert "No other tree or scorecard that can be recommended agrees clearly" in choice.reason


def test_bins_are_not_compared_with_leaves():
    # as good with fewer bins than the tree has leaves
    tree, card, judged = _sides(390, 390, n=4000)
    assert choose([tree, replace(card, n_leaves=4)], judged, max_leaf_nodes=8).best == "representer"
    small = replace(card, name="small", n_leaves=10)
    card = replace(card, predicted=judged.answers)
    assert not any("small" in note for note in notes([tree, card, small], judged, card))


def test_verdict_names_the_card():
    _, card, judged = _sides(340, 396)
    assert judge(card, judged).text.startswith("The scorecard of 16 bins follows the model")
    _, card, judged = _sides(340, 200)
    assert judge(card, judged).text.startswith(
        "No small scorecard follows this model. The best one, of 16 bins,"
    )
