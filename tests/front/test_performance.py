"""Figures on true answers: beside all pairs of rows, samples, and labels that were turned round."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import expit
from sklearn.ensemble import GradientBoostingRegressor, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, mean_absolute_error, r2_score, roc_auc_score

from ensemble_simplify import simplify
from ensemble_simplify.front._judged import Candidate, Judged
from ensemble_simplify.front._methods import METHODS, NotTried
from ensemble_simplify.front._performance import (
    NotMeasured,
    Performance,
    Side,
    in_doubt,
    performance,
)
from ensemble_simplify.front._report import limits_reached
from ensemble_simplify.front._verdict import in_its_place


def rows(n=200, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    y = np.where(X[:, 0] + X[:, 1] + rng.normal(size=n) > 0.5, "yes", "no")
    return X, y


@pytest.fixture(scope="module")
def outcome():
    X, y = rows()
    forest = RandomForestClassifier(20, max_depth=4, random_state=0).fit(X[:100], y[:100])
    return simplify(forest, X[100:], y[100:], max_leaf_nodes=4, random_state=0)


def of_chances(truth, model, form):
    """Both sides as a document has them, of chances that are given."""
    judged = Judged(np.where(truth > 0, 1, 0), truth)
    candidate = Candidate("tree", 4, judged.answers)
    sides = (Side(of, truth, own) for of, own in (("the model", model), ("the tree", form)))
    return Performance(*sides, 1, judged, candidate)


def drawn(rng, n):
    """Events that come true as told, and two chances: the right ones, and too extreme ones."""
    odds = rng.normal(size=n)
    truth = (rng.random(n) < expit(odds)).astype(float)
    return truth, expit(odds), expit(2 * odds + rng.normal(size=n))


def named(told, estimand):
    return next(own for own in told.compared() if own.model.estimand == estimand)


def test_area_and_interval_by_all_pairs():
    truth, model, form = drawn(np.random.default_rng(0), 80)
    model = model.round(1)  # with ties
    own = named(of_chances(truth, model, form), "AUC")

    def pairs(chance):
        high, low = chance[truth > 0][:, None], chance[truth == 0][None, :]
        return (high > low) + 0.5 * (high == low)

    wins = pairs(model), pairs(form)
    assert own.model.value == pytest.approx(wins[0].mean())
    assert own.lost.value == pytest.approx(wins[0].mean() - wins[1].mean())
    for record, table in ((own.model, wins[0]), (own.lost, wins[0] - wins[1])):
        error = np.sqrt(sum(table.mean(axis=1 - j).var(ddof=1) / table.shape[j] for j in (0, 1)))
        assert record.high - record.value == pytest.approx(1.96 * error)
        assert record.value - record.low == pytest.approx(1.96 * error)
    gini = named(of_chances(truth, model, form), "Gini")
    assert gini.model.low == pytest.approx(2 * own.model.low - 1)
    assert gini.lost.high == pytest.approx(2 * own.lost.high)


def test_errors_are_those_of_samples():
    rng = np.random.default_rng(1)
    truth, model, form = drawn(rng, 400)
    told = of_chances(truth, model, form)

    def slope(truth, chance):
        chance = np.clip(chance, 0.5 / len(truth), 1 - 0.5 / len(truth))
        odds = np.log(chance / (1 - chance))[:, None]
        return LogisticRegression(C=1e9, tol=1e-8).fit(odds, truth).coef_[0, 0]

    for estimand, score in (
        ("AUC", roc_auc_score),
        ("log loss", log_loss),
        ("Brier score", lambda truth, chance: np.mean((truth - chance) ** 2)),
        ("bias", lambda truth, chance: np.mean(chance - truth)),
        ("calibration slope", slope),
    ):
        own = named(told, estimand).form
        assert own.value == pytest.approx(score(truth, form), rel=1e-4)
        places = [rng.integers(len(truth), size=len(truth)) for _ in range(300)]
        error = np.std([score(truth[at], form[at]) for at in places])
        assert (own.high - own.low) / 2 == pytest.approx(1.96 * error, rel=0.2)


def test_intervals_hold_the_truth():
    rng, held = np.random.default_rng(2), []
    big, model, form = drawn(rng, 200_000)
    area = {"model": roc_auc_score(big, model), "form": roc_auc_score(big, form)}
    for _ in range(300):
        truth, model, form = drawn(rng, 150)
        own = named(of_chances(truth, model, form), "AUC")
        slope = named(of_chances(truth, model, form), "calibration slope").model
        held.append(
            [
                own.model.low <= area["model"] <= own.model.high,
                own.lost.low <= area["model"] - area["form"] <= own.lost.high,
                slope.low <= 1.0 <= slope.high,
            ]
        )
    assert np.all(np.mean(held, axis=0) > 0.91)
    assert np.all(np.mean(held, axis=0) < 0.99)


def test_no_slope_where_one_cut_parts_all():
    truth = np.repeat([0.0, 1.0], 20)
    own = named(of_chances(truth, np.linspace(0.1, 0.9, 40), np.full(40, 0.5)), "calibration slope")
    assert np.isnan([own.model.value, own.form.value]).all()
    assert own.model.text == own.model.interval == ""


def test_tenths_hold_all_rows(outcome):
    told = performance(outcome)
    for side in (told.model, told.form):
        parts = told.by_tenths(side)
        assert sum(part[0] for part in parts) == told.n_rows == 100
        assert sum(n * mean for n, mean, *_ in parts) == pytest.approx(side.predicted.sum())
        assert sum(n * true for n, _, true, *_ in parts) == side.truth.sum()
        assert all(low <= true <= high for _, _, true, low, high in parts)
        # rows of one chance are in one part
        for chance in np.unique(side.predicted):
            assert len(set(side.tenths[side.predicted == chance])) == 1


def test_the_model_is_asked_on_the_rows_that_judge(outcome):
    told, task = performance(outcome, "no"), outcome._task
    assert np.array_equal(told.model.predicted, outcome.model.predict_proba(task.X)[:, 0])
    assert np.array_equal(told.model.truth, task.y == "no")
    other = performance(outcome)
    assert told.compared()[0].model.value == pytest.approx(other.compared()[0].model.value)


@pytest.mark.parametrize("has_more", [False, True])
@pytest.mark.parametrize("kinds", ["tree", "scorecard"])
def test_no_row_tells_its_own_chance(has_more, kinds):
    """Labels of a part of the rows are turned round: the chances that judge it stay."""
    X, y = rows(300)
    forest = RandomForestClassifier(10, max_depth=3, random_state=0).fit(X[:100], y[:100])
    more = {"X_more": X[:100], "validation_fraction": 0.5} if has_more else {}
    found = simplify(
        forest, X[100:], y[100:], kinds=kinds, max_leaf_nodes=4, random_state=0, **more
    )
    if has_more:  # all rows with labels judge at once, as it is with more than 2,000 rows
        fold_of = np.where(np.arange(len(found._task.answers)) < 200, 0, -1)
        object.__setattr__(found, "_task", replace(found._task, fold_of=fold_of))
    told, task = performance(found).form.predicted, found._task
    part = np.flatnonzero(task.fold_of == 0)
    if has_more:
        part = np.flatnonzero(np.random.RandomState(task.seed).permutation(200) % 5 == 0)
    turned = task.y.copy()
    turned[part] = np.where(turned[part] == "yes", "no", "yes")
    object.__setattr__(found, "_task", replace(task, y=turned))
    again = performance(found).form.predicted
    assert np.array_equal(told[part], again[part])
    # those of other parts have learned from these labels, but for cards without labels
    if not (has_more and kinds == "scorecard"):
        assert not np.array_equal(told, again)


def test_copies_judge_rows_that_the_model_has_learned():
    X, y = rows(120)
    forest = RandomForestClassifier(10, max_depth=3, random_state=0).fit(X, y)
    found = simplify(forest, X, y, max_leaf_nodes=4, random_state=0)
    assert found._task.copies
    told = performance(found).model.predicted
    for fold, (copy, _) in enumerate(found._task.copies):
        own = found._task.fold_of == fold
        assert np.array_equal(told[own], copy.predict_proba(X[own])[:, 1])


def test_values():
    X, _ = rows(160)
    y = 100 * X[:, 0] + X[:, 1]
    model = GradientBoostingRegressor(n_estimators=20, random_state=0).fit(X[:80], y[:80])
    found = simplify(model, X[80:], y[80:], max_leaf_nodes=4, random_state=0)
    told, truth = performance(found), found._task.y
    r2, distance, error = told.compared()
    assert (r2.model.value, r2.form.value) == (
        found.verdict.model_accuracy,
        found.verdict.tree_accuracy,
    )
    assert r2.model.value == pytest.approx(r2_score(truth, model.predict(X[80:])))
    assert r2.model.low < r2.model.value < r2.model.high
    own = model.predict(X[80:])
    assert distance.model.value == pytest.approx(mean_absolute_error(truth, own))
    assert error.model.value == pytest.approx(np.mean(own - truth))
    parts = told.by_tenths(told.model)
    means = sum(n * (mean - true) for n, mean, true, *_ in parts) / told.n_rows
    assert means == pytest.approx(error.model.value)
    assert all(low < mean - true < high for _, mean, true, low, high in parts)


def test_not_measured(outcome):
    X, y = rows()
    forest = RandomForestClassifier(5, max_depth=3, random_state=0).fit(X, y)
    with pytest.raises(NotMeasured, match="no true answers were given"):
        performance(simplify(forest, X[:50] + 0.01, max_leaf_nodes=4, random_state=0))
    three = np.array(["a", "b", "c"])[np.digitize(X[:, 0], [-0.5, 0.5])]
    forest = RandomForestClassifier(5, max_depth=3, random_state=0).fit(X[:100], three[:100])
    found = simplify(forest, X[100:], three[100:], max_leaf_nodes=4, random_state=0)
    with pytest.raises(NotMeasured, match="Name the one whose probability"):
        performance(found)
    told = performance(found, "b")
    assert np.array_equal(told.model.predicted, forest.predict_proba(X[100:])[:, 1])
    assert np.array_equal(told.model.truth, three[100:] == "b")
    object.__setattr__(found, "_judged", replace(found._judged, y=None))
    with pytest.raises(NotMeasured, match="has learned from these rows"):
        performance(found)


def test_methods_that_make_no_smaller_tree_of_a_part(monkeypatch):
    X, y = rows()
    forest = RandomForestClassifier(5, max_depth=3, random_state=0).fit(X[:100], y[:100])
    options = {"methods": ["born_again_0"], "max_leaf_nodes": 4, "random_state": 0}
    found = replace(simplify(forest, X[100:], y[100:], **options), best="born_again_0_small")
    method = METHODS["born_again_0"]

    def whole(task, seconds):
        return [own for own in method.attempt(task, seconds) if own.name == "born_again_0"]

    def none(task, seconds):
        raise NotTried("there is too little of it")

    told = performance(found).form.predicted
    monkeypatch.setitem(METHODS, "born_again_0", replace(method, attempt=whole))
    again = performance(found).form.predicted
    assert len(told) == len(again) == (found._task.fold_of == 0).sum()
    # of the whole tree, in place of the one of at most four leaves
    assert len(np.unique(told)) <= 4
    assert not np.array_equal(told, again)
    monkeypatch.setitem(METHODS, "born_again_0", replace(method, attempt=none))
    with pytest.raises(NotMeasured, match="there is too little of it"):
        performance(found)


def test_doubts_are_told_by_intervals():
    truth, model, form = drawn(np.random.default_rng(3), 2000)
    told = [of_chances(truth, model, own) for own in (form, 0.8 * model + 0.2)]
    said = [text for both in told for own in both.compared() for text in in_doubt(own, 1)]
    assert any("The tree's chances of 1 are too extreme" in text for text in said)
    assert any("The tree's chances of 1 are too high on average" in text for text in said)
    assert any("told worse without the model: AUC lost" in text for text in said)
    assert not any("The model's" in text for text in said)
    luck = np.random.default_rng(4).random(2000)
    (area, *_) = of_chances(truth, luck, luck).compared()
    assert "better than luck is not decided" in next(in_doubt(area, 1))


def test_what_follows_in_its_place(outcome):
    judged, task = outcome._judged, outcome._task
    assert outcome.verdict.level != "follows"
    assert "Not measured: trees of more than 4 leaves; a scorecard; a" in in_its_place(outcome)
    right = Candidate("representer", 16, judged.answers, size=16)
    larger = Candidate("representer", 32, judged.answers, size=32)
    told = in_its_place(replace(outcome, _over_sizes=[larger, right]))
    assert told.startswith("Measured to follow it: the tree of 16 leaves (100 %, 95 % interval ")
    assert "32" not in told
    assert task.copies is None


def test_limits_are_named(outcome):
    assert limits_reached(outcome) == ""
    slow = [SimpleNamespace(name="genesim", note="time_limit=1 ended it", is_measured=True)]
    found = SimpleNamespace(
        table=slow,
        not_tried={"faithful": "time_limit was used up", "born_again": "too large"},
        _task=SimpleNamespace(time_limit=2.5),
    )
    assert limits_reached(found) == (
        "time_limit=2.5 of simplify was reached: more seconds may better what genesim found; more "
        "seconds may lead to a result of faithful."
    )
