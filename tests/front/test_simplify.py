"""One call that tries every method: its figures are true, its choice follows the stated rule."""

import copy
import subprocess
import sys
import time
import types

import joblib
import numpy as np
import pandas as pd
import pytest
from scipy.stats import beta
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_iris, make_classification, make_regression
from sklearn.ensemble import (
    AdaBoostClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import balanced_accuracy_score, r2_score
from sklearn.multioutput import MultiOutputRegressor
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, SVR
from sklearn.tree import DecisionTreeClassifier

from ensemble_simplify import (
    GuideTree,
    TimeLimitError,
    export_tree,
    is_monotone,
    nearest_flip,
    simplify,
    verify,
)
from ensemble_simplify.front import _inputs, _methods, _simplify
from ensemble_simplify.front._methods import METHODS, Method
from ensemble_simplify.front._scores import choose, gap

ALL = [name for name in METHODS if not name.startswith("plain")]


@pytest.fixture(scope="module")
def classified():
    """A forest, and rows that it has not seen."""
    X, y = make_classification(400, 6, n_informative=4, n_redundant=0, random_state=3)
    return RandomForestClassifier(6, max_depth=3, random_state=0).fit(X[:200], y[:200]), X, y


@pytest.fixture(scope="module")
def states(classified):
    """What all methods make of the model, and hashes of what they got, before and after."""
    model, X, y = classified
    rows, labels = X[200:].copy(), y[200:].copy()
    before = joblib.hash((model, rows, labels))
    found = simplify(FrozenEstimator(model), rows, labels, random_state=0)
    return found, before, joblib.hash((model, rows, labels))


@pytest.fixture(scope="module")
def outcome(states):
    return states[0]


def rows_of(found):
    return {row.name: row for row in found.table}


def kept_aside(model, X, y, seed=0, fraction=0.25):
    """The rows that are kept aside, by the same draw."""
    answers = model.predict(X)
    by_class = hasattr(model, "classes_")
    rng = np.random.RandomState(seed)
    learn, aside = _simplify._divided(answers, y, by_class, fraction, rng)
    assert np.array_equal(np.sort(np.r_[learn, aside]), np.arange(len(answers)))
    return aside


def test_figures_are_those_of_the_predictions(outcome, classified):
    model, X, y = classified
    X, y = X[200:], y[200:]
    aside = kept_aside(model, X, y)
    assert len(aside) == outcome.n_rows_aside == 50
    answers = model.predict(X[aside])
    assert {"plain_tree", "representer", "born_again_1", "faithful", "genesim"} <= set(
        outcome.fitted
    )
    for name, fitted in outcome.fitted.items():
        row = rows_of(outcome)[name]
        predicted = fitted.predict(X[aside])
        alike = predicted == answers
        assert row.agreement == alike.mean()
        assert row.accuracy == np.mean(predicted == y[aside])
        assert row.balanced_accuracy == pytest.approx(balanced_accuracy_score(y[aside], predicted))
        assert row.class_agreement == {c: alike[answers == c].mean() for c in np.unique(answers)}
        hits, n = alike.sum(), len(alike)
        low = beta.ppf(0.025, hits, n - hits + 1) if hits else 0.0
        high = beta.ppf(0.975, hits + 1, n - hits) if hits < n else 1.0
        assert (row.agreement_low, row.agreement_high) == pytest.approx((low, high))


def test_sizes_and_promises_are_true(outcome):
    for name, row in rows_of(outcome).items():
        if not row.is_measured or name == "model":
            continue
        fitted = outcome[name]
        if name == "faithful":
            assert row.trees == fitted.n_trees_ <= 6
        elif name == "cultivated":
            assert row.leaves == fitted.n_leaves_
        else:
            tree = getattr(fitted, "decision_tree_", fitted)
            assert row.leaves == tree.get_n_leaves()
            assert row.trees == 1
        if row.is_proven:
            assert fitted.verify()
            assert "proven" in row.promise
    small = rows_of(outcome).get("born_again_1_small")
    if small is not None:
        fitted = outcome["born_again_1_small"]
        assert small.leaves <= 8
        assert f"{fitted.n_points_:,} points" in small.promise


def by_hand(trees, hits, answers):
    """Names that the stated rule may recommend if no class is rare, from the rows themselves."""
    leaves = {row.name: row.leaves for row in trees}

    def share(name, rows=slice(None)):
        return hits[name][rows].mean()

    favourite = next(n for n in ("representer", "born_again_1_small", "plain_tree") if n in leaves)
    leading = [n for n in leaves if is_clearly_better(hits[n], hits[favourite])]
    top = max(share(n) for n in leaves)
    starts = [n for n in leaves if share(n) == top] if leading else [favourite]
    fewest = min(leaves[n] for n in starts)
    found = set()
    for start in (n for n in starts if leaves[n] == fewest):
        good = [
            n
            for n in leaves
            if leaves[n] < leaves[start]
            and share(n) >= share(start)
            and all(
                share(n, answers == c) >= share(start, answers == c) for c in np.unique(answers)
            )
        ]
        least = min((leaves[n] for n in good), default=leaves[start])
        found |= {n for n in [*good, start] if leaves[n] == least}
    return found


def is_clearly_better(hits, others):
    """Whether the sum of the differences of 0 and 1 is above its standard error around 0."""
    lead = hits.astype(int) - others.astype(int)
    return lead.sum() > np.sqrt(np.sum(lead**2))


def aside_of(classified):
    model, X, y = classified
    X, y = X[200:], y[200:]
    rows = kept_aside(model, X, y)
    return X[rows], model.predict(X[rows])


def test_best_is_by_the_stated_rule(outcome, classified):
    rows = [r for r in outcome.table if r.is_measured and r.name != "model"]
    trees = [r for r in rows if r.trees == 1 and r.leaves <= 8 and r.name != "cultivated"]
    best = rows_of(outcome)[outcome.best]
    proven = [r for r in trees if r.is_proven]
    if proven:
        assert best.is_proven
    else:
        X, answers = aside_of(classified)
        hits = {r.name: outcome[r.name].predict(X) == answers for r in trees}
        assert best.name in by_hand(trees, hits, answers)
    assert outcome.best_model is outcome[outcome.best]
    assert outcome.best in repr(outcome)
    assert outcome.reason.endswith(".")


def bunch(name, leaves, shares, n=100, proven=False, trees=1):
    """A row of the table, of a method that agrees on these shares of two classes."""
    row = _simplify._empty_row(name)
    alike = np.concatenate([np.arange(n) < round(s * n) for s in shares])
    answers = np.repeat([0, 1], n)
    row.update(_simplify.score(np.where(alike, answers, 1 - answers), answers, None, True))
    row.leaves, row.trees, row.is_proven, row.is_measured = leaves, trees, proven, True
    row.is_tree = trees == 1 and name != "cultivated"
    row.promise = "kept, proven" if proven else "none: measured"
    return row


def test_favourite_stays_unless_another_is_clearly_better_or_smaller_and_as_good():
    model = bunch("model", 900, (1, 1), trees=50)
    plain = bunch("plain_tree", 8, (0.8, 0.8))
    better = bunch("representer", 8, (0.96, 0.96))
    assert choose([model, plain, better], 8, True)[0] == "representer"
    assert choose([model, plain], 8, True)[0] == "plain_tree"
    # a tree that agrees on one row more does not replace it: a difference of one, its error is one
    equal = bunch("plain_tree", 8, (0.96, 0.97))
    best, reason, notes = choose([model, equal, better], 8, True)
    assert best == "representer"
    assert "by more than one standard error" in reason
    assert any("plain tree" in note and "as good" in note for note in notes)
    # two rows more do
    clearly = bunch("plain_tree", 8, (0.97, 0.97))
    best, reason, _ = choose([model, clearly, better], 8, True)
    assert best == "plain_tree"
    assert "no other tree of at most 8 leaves does better." in reason
    # a smaller tree must agree on as many rows, and of each class
    for shares, expected in [
        ((0.96, 0.96), "genesim"),
        ((0.97, 0.96), "genesim"),
        ((0.95, 0.97), "representer"),
        ((0.96, 0.95), "representer"),
    ]:
        smaller = bunch("genesim", 4, shares)
        best, reason, notes = choose([model, plain, better, smaller], 8, True)
        assert best == expected
        if expected == "genesim":
            assert "leaves does better." in reason
        else:  # what it lacks is within one standard error: it is named
            assert any("Smaller" in note and "4 leaves" in note for note in notes)
    # the smaller one is as good as the favourite, though another agrees on a row more
    smaller, most = bunch("genesim", 4, (0.96, 0.96)), bunch("plain_tree", 8, (0.97, 0.96))
    best, reason, _ = choose([model, most, better, smaller], 8, True)
    assert best == "genesim"
    assert "the smallest tree that does at least as well as the representer tree" in reason
    # much worse trees are not named
    tiny = bunch("born_again_0", 2, (0.8, 0.96))
    _, _, notes = choose([model, better, tiny], 8, True)
    assert not any("Smaller" in note for note in notes)
    small = bunch("genesim", 4, (0.96, 0.96))
    # a proven tree comes first, but not one that is too large to read
    proven = bunch("born_again", 8, (0.97, 0.96), proven=True)
    assert choose([model, plain, better, small, proven], 8, True)[0] == "born_again"
    near = bunch("born_again_1", 7, (1, 1), proven=True)
    assert choose([model, plain, near], 8, True)[0] == "born_again_1"
    assert choose([model, plain, near, proven], 8, True)[0] == "born_again"
    proven.leaves = 9
    best, _, notes = choose([model, plain, better, small, proven], 8, True)
    assert best == "genesim"
    assert any("born-again" in note and "proven" in note for note in notes)
    assert choose([model], 8, True)[0] is None
    # soft splits are no ordinary tree
    soft = bunch("cultivated", 8, (1, 1))
    best, _, notes = choose([model, plain, soft], 8, True)
    assert best == "plain_tree"
    assert any("soft splits" in note for note in notes)


def test_tree_that_loses_a_rare_class_is_not_chosen():
    model = bunch("model", 900, (1, 1), trees=50)
    model.class_rows = {0: 194, 1: 6}
    answers = np.r_[np.zeros(194, int), np.ones(6, int)]
    never, finds = bunch("plain_tree", 2, (1, 1)), bunch("representer", 8, (1, 1))
    never.update(_simplify.score(np.zeros(200, int), answers, None, True))
    some = answers.copy()
    some[:8] = 1
    finds.update(_simplify.score(some, answers, None, True))
    assert never.agreement > finds.agreement
    best, reason, notes = choose([model, never, finds], 8, True)
    assert best == "representer"
    assert "as the average of the classes" in reason
    assert any("answers 1 to 6 of the held-out rows" in note for note in notes)


def counted(name, alike, answers, leaves=8):
    """A row of the table, of a method that agrees on these rows."""
    row = _simplify._empty_row(name)
    row.update(_simplify.score(np.where(alike, answers, 1 - answers), answers, None, True))
    row.update(leaves=leaves, trees=1, is_measured=True, is_tree=name != "model")
    return row


def test_where_a_class_is_rare_the_mean_of_the_classes_decides():
    answers = np.repeat([0, 1], [170, 30])
    places = np.arange(200)
    model = counted("model", places >= 0, answers)
    model.class_rows = {0: 170, 1: 30}
    often = counted("representer", places < 185, answers)  # all of 0, half of 1
    rarely = counted("plain_tree", (places >= 12) & (places < 195), answers)
    assert often.agreement > rarely.agreement
    lead = {label: (rarely.alike * 1.0 - often.alike)[answers == label] for label in (0, 1)}
    expected = np.mean([lead[label].mean() for label in lead])
    error = np.sqrt(sum(np.sum(lead[c] ** 2) / (len(lead[c]) * 2) ** 2 for c in lead))
    assert gap(rarely, often, even=False) == pytest.approx((expected, error))
    assert expected > error
    assert choose([model, rarely, often], 8, True)[0] == "plain_tree"
    model.class_rows = {0: 100, 1: 100}  # as if none were rare: all rows count alike
    assert choose([model, rarely, often], 8, True)[0] == "representer"
    # perhaps as good among all rows, but clearly worse in a class: not named
    small = counted("genesim", (places >= 4) & (places < 189), answers, leaves=3)
    best, _, notes = choose([model, often, small], 8, True)
    assert best == "representer"
    assert not any("Smaller" in note for note in notes)


def test_in_regression_the_plain_tree_stays_unless_another_is_clearly_better():
    rng = np.random.default_rng(0)
    answers = rng.normal(size=300)
    noise, more = rng.normal(size=(2, 300))

    def row(name, predicted, leaves=8):
        new = _simplify._empty_row(name)
        new.update(_simplify.score(predicted, answers, None, False))
        new.update(leaves=leaves, trees=1, is_tree=name != "model", is_measured=True)
        return new

    model = row("model", answers)
    plain = row("plain_tree", answers + 0.5 * noise)
    near = row("representer", answers + 0.5 * noise + 1e-3 * more)
    good = row("representer", answers + 0.2 * noise)
    small = row("plain_tree", answers + 0.2 * noise, 3)
    assert choose([model, plain, near], 8, False)[0] == "plain_tree"
    assert choose([model, plain, good], 8, False)[0] == "representer"
    assert choose([model, small, good], 8, False)[0] == "plain_tree"


def test_refit_learns_from_all_rows(outcome, classified):
    model, X, _ = classified
    X = X[200:]
    plain = outcome.refit(X, name="plain_tree")
    by_hand = DecisionTreeClassifier(max_leaf_nodes=8, random_state=outcome.seed)
    by_hand.fit(X, model.predict(X))
    assert np.array_equal(plain.predict_proba(X), by_hand.predict_proba(X))
    again = outcome.refit(X)
    assert type(again) is type(outcome.best_model)
    assert again is not outcome.best_model
    near = outcome.refit(X[:40], name="born_again_1", time_limit=0.7)
    assert near.verify()
    assert near.n_rows_ == 40
    with pytest.raises(ValueError, match="y was not given"):
        outcome.refit(X, name="plain_tree_on_y")
    with pytest.raises(ValueError, match="at least 8"):
        outcome.refit(X[:3])
    for name in ("model", "magic"):
        with pytest.raises(KeyError, match=name):
            outcome.refit(X, name=name)


def test_model_and_data_stay_as_they_were(states):
    _, before, after = states
    assert before == after


def test_small_model_is_answered_by_a_proven_tree():
    X, y = load_iris(return_X_y=True)
    model = RandomForestClassifier(3, max_depth=2, random_state=0).fit(X, y)
    found = simplify(model, X, y, max_leaves=20, methods=["born_again"], random_state=0)
    assert found.best == "born_again"
    assert verify(model, found.best_model)
    assert "proven" in found.reason
    assert [row.name for row in found.table] == [
        "model",
        "plain_tree",
        "plain_tree_on_y",
        "born_again",
    ]


def test_boosted_stumps_are_pruned_everywhere():
    X, y = make_classification(200, 4, n_informative=3, n_redundant=0, random_state=0)
    model = AdaBoostClassifier(n_estimators=12, random_state=0).fit(X, y)
    found = simplify(model, X, y, methods=["faithful"], random_state=0)
    assert "every input" in rows_of(found)["faithful"].promise
    assert verify(model, found["faithful"])


def test_feature_budget_is_tried_where_prices_are_given(classified):
    model, X, y = classified
    found = simplify(
        model, X, y, methods=["feature_budget"], feature_costs=[1, 2, 3, 4, 5, 6], random_state=0
    )
    pruner, row = found["feature_budget"], rows_of(found)["feature_budget"]
    assert pruner.cost_ <= 0.5 * pruner.unpruned_cost_
    assert f"{pruner.cost_:.3g}" in row.promise
    without = simplify(model, X, y, methods=["feature_budget"], random_state=0)
    assert "feature_costs" in rows_of(without)["feature_budget"].note


@pytest.mark.parametrize(
    "model",
    [
        make_pipeline(StandardScaler(), MLPClassifier((8,), max_iter=50, random_state=0)),
        SVC(),
    ],
    ids=["mlp", "svc"],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_predictor_whose_trees_cannot_be_read(model, classified):
    _, X, y = classified
    found = simplify(model.fit(X[:200], y[:200]), X[200:], y[200:], random_state=0)
    rows = rows_of(found)
    for name in ("born_again", "born_again_1", "born_again_0", "faithful", "genesim"):
        assert rows[name].note == "not tried: the model's trees cannot be read"
        assert name not in found
        with pytest.raises(KeyError, match="plain_tree"):
            found[name]
    assert rows["representer"].is_measured
    assert rows["model"].leaves is None
    assert found.best is not None


@pytest.mark.parametrize(
    "model", [RandomForestRegressor(10, max_depth=4, random_state=0), SVR()], ids=["forest", "svr"]
)
def test_regression(model):
    X, y = make_regression(160, 4, noise=5, random_state=0)
    found = simplify(model.fit(X, y), X, y, random_state=0)
    aside = kept_aside(model, X, y)
    for name in ("plain_tree", "plain_tree_on_y", "representer"):
        predicted, row = found[name].predict(X[aside]), rows_of(found)[name]
        assert row.agreement == pytest.approx(r2_score(model.predict(X[aside]), predicted))
        assert row.accuracy == pytest.approx(r2_score(y[aside], predicted))
        assert row.agreement_low < row.agreement < row.agreement_high
    assert "classification" in rows_of(found)["faithful"].note
    assert "R²" in found.report()


def test_without_labels_there_is_no_accuracy(classified):
    model, X, _ = classified
    found = simplify(model, X, methods=["cultivated"], random_state=0)
    assert np.isnan(rows_of(found)["plain_tree"].accuracy)
    assert rows_of(found)["plain_tree_on_y"].note == "not tried: y was not given"
    assert "accuracy" not in found.report()


def ship(n=160, seed=0):
    """A table of text, categories, numbers and missing values, labels of text."""
    rng = np.random.RandomState(seed)
    X = pd.DataFrame(
        {
            "sex": rng.choice(["male", "female"], n),
            "age": rng.normal(35, 12, n).round(1),
            "port": pd.Categorical(rng.choice(["S", "C", "Q"], n)),
            "class": rng.choice([1, 2, 3], n),
        }
    )
    y = np.where((X["sex"] == "female") & (X["class"] < 3) | (X["age"] < 20), "lived", "died")
    X.loc[rng.random_sample(n) < 0.15, "age"] = np.nan
    X.loc[rng.random_sample(n) < 0.1, "port"] = None
    return X, y


def ship_model():
    X, y = ship(seed=5)
    encode = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    prepare = make_column_transformer((encode, ["sex", "port"]), remainder="passthrough")
    return make_pipeline(prepare, RandomForestClassifier(5, max_depth=5, random_state=0)).fit(X, y)


def test_frame_with_text_categories_and_missing_values():
    X, y = ship(n=100)
    methods = ["representer", "cultivated", "born_again_1", "faithful", "genesim"]
    found = simplify(ship_model(), X, y, methods=methods, random_state=0)
    rows = rows_of(found)
    assert {"plain_tree", "representer", "cultivated", "born_again_1"} <= set(found.fitted)
    new, _ = ship(seed=1)
    for name, fitted in found.fitted.items():
        assert set(fitted.predict(new)) <= {"lived", "died"}, name
    assert set(rows["plain_tree"].class_agreement) == {"lived", "died"}
    assert found["born_again_1"].verify()
    assert "numbers only" in rows["genesim"].note
    # the tree is told in the words of the table, and not in codes
    text = found.report()
    assert "sex is" in text
    assert "sex ≤" not in text


def test_a_column_that_had_no_gaps_may_have_one_later():
    X, y = ship()
    found = simplify(ship_model(), X, y, methods=["representer"], time_limit=3, random_state=0)
    new, _ = ship(seed=1)
    new["class"] = new["class"].astype(float)
    new.loc[::3, "class"] = np.nan
    new.loc[::4, "sex"] = None
    answers = found["representer"].predict(new)
    assert set(answers) <= {"lived", "died"}
    complete = new[["class", "sex"]].notna().all(axis=1).to_numpy()
    np.testing.assert_array_equal(answers[complete], found["representer"].predict(new[complete]))


def test_gaps_in_rows_kept_aside_alone():
    """What a row kept aside lacks is part of the promise, though no row to learn from lacks it."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(160, 3))
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    model = RandomForestClassifier(2, max_depth=2, random_state=0).fit(X, y)
    methods = ["born_again", "born_again_1", "born_again_0"]
    for row in range(8):
        lacking = X.copy()
        lacking[row, 1] = np.nan
        learn, _ = _simplify._divided(
            model.predict(lacking), None, True, 0.25, np.random.RandomState(0)
        )
        if row not in learn:
            break
    assert row not in learn
    found = simplify(model, lacking, methods=methods, validation_fraction=0.25, random_state=0)
    for name in methods:
        found[name].predict(lacking)
    np.testing.assert_array_equal(found["born_again"].predict(lacking), model.predict(lacking))


def test_rules_answer_as_the_tree_does():
    """The report's lines, read by a small interpreter, against the tree's predictions."""
    X, y = ship(n=300, seed=2)
    new, _ = ship(n=200, seed=3)
    new = new.astype({"sex": object, "port": object})
    for methods in ([], ["representer"]):
        found = simplify(ship_model(), X, y, max_leaves=12, methods=methods, random_state=0)
        name = methods[0] if methods else "plain_tree"
        object.__setattr__(found, "best", name)
        told = found.report().partition(f"The recommended tree ({name}):\n\n")[2].splitlines()
        answers = [interpreted(told, row) for _, row in new.iterrows()]
        assert answers == found[name].predict(new).tolist()


@pytest.mark.parametrize("column", ["age", "port"])
def test_rules_tell_what_becomes_of_missing_values(column):
    X, _ = ship(n=300, seed=2)
    y = np.where(X[column].isna(), "lost", np.where(X["class"] < 2, "first", "known"))
    model = HistGradientBoostingClassifier(max_iter=20, categorical_features="from_dtype")
    model.fit(X.astype({"sex": "category"}), y)
    found = simplify(
        model, X.astype({"sex": "category"}), y, methods=["representer"], random_state=0
    )
    new = ship(n=100, seed=4)[0].astype({"sex": object, "port": object})
    for name in ("plain_tree", "representer"):
        object.__setattr__(found, "best", name)
        told = found.report().partition(f"The recommended tree ({name}):\n\n")[2].splitlines()
        answers = [interpreted(told, row) for _, row in new.iterrows()]
        assert "lost" in answers
        assert answers == found[name].predict(new).tolist()


def interpreted(told, row):
    """What indented lines of rules answer to a row."""
    depth, open_ = 0, None
    for line in told:
        indent, text = (len(line) - len(line.lstrip())) // 4, line.strip()
        if indent != depth:
            continue
        if text.startswith("else"):
            taken, answer = not open_, text.removeprefix("else:").strip()
        else:
            condition, _, answer = text.removeprefix("if ").partition(":")
            taken = open_ = holds(condition, row)
        if taken and answer:
            return answer.strip()
        if taken:
            depth, open_ = depth + 1, None
    raise AssertionError("no rule for the row")


def holds(condition, row):
    """Whether a row meets a condition in words."""
    condition, may_miss = condition.removesuffix(" or missing"), condition.endswith(" or missing")
    name = condition.split()[0]
    value, rest = row[name], condition.removeprefix(name).strip()
    missing = value is None or value != value
    if rest == "is known":
        return not missing
    if rest == "is missing" or missing:
        return missing and (may_miss or rest == "is missing")
    if rest.startswith("≤"):
        return bool(value <= float(rest.removeprefix("≤")))
    if rest.startswith("is not "):
        return value != rest.removeprefix("is not ")
    return value in rest.removeprefix("is ").replace(" or ", ", ").split(", ")


def python_function(text):
    space = {}
    exec(text, space)
    return space["predict"]


def test_export_is_that_of_the_recommended_tree(outcome, classified):
    _, X, _ = classified
    assert outcome.export("sql", table="t") == export_tree(outcome.best_model, "sql", table="t")
    assert outcome.export(result="plain_tree") == export_tree(outcome["plain_tree"])
    answer = python_function(outcome.export("python"))
    assert [answer(row) for row in X] == outcome.best_model.predict(X).tolist()
    with pytest.raises(KeyError, match="magic"):
        outcome.export(result="magic")
    for name in ("model", "cultivated", "faithful"):
        with pytest.raises(TypeError, match="not one tree"):
            outcome.export(result=name)
    nothing = copy.copy(outcome)
    object.__setattr__(nothing, "best", None)
    with pytest.raises(KeyError, match="No tree"):
        nothing.export()


def test_export_is_in_the_words_of_the_table():
    X, y = ship(n=200, seed=2)
    found = simplify(ship_model(), X, y, methods=["representer"], random_state=0)
    answer = python_function(found.export("python", result="plain_tree"))
    new = ship(n=200, seed=3)[0].astype({"sex": object, "port": object})
    rows = new.to_dict("records")
    assert [answer(row) for row in rows] == found["plain_tree"].predict(new).tolist()
    assert '"sex" IN' in found.export("sql", result="plain_tree")
    with pytest.raises(ValueError, match="missing values as numbers"):
        found.export(result="representer")
    full = X.dropna().reset_index(drop=True)
    found = simplify(ship_model(), full, methods=["representer"], random_state=0)
    answer = python_function(found.export("python", result="representer"))
    rows = full.astype({"sex": object, "port": object}).to_dict("records")
    assert [answer(row) for row in rows] == found["representer"].predict(full).tolist()


def next_steps_of(text):
    lines = text.partition("\nNext:\n")[2].splitlines()
    return [line.partition("#")[0].strip() for line in lines]


@pytest.mark.parametrize("n_classes", [2, 3])
def test_next_steps_of_the_report_run(n_classes):
    X, y = load_iris(return_X_y=True, as_frame=True)
    X, y = X[y < n_classes], y[y < n_classes]
    model = RandomForestClassifier(4, max_depth=3, random_state=0).fit(X, y)
    outcome = simplify(model, X, methods=["representer"], random_state=0)
    space = {
        "outcome": outcome, "X": X, "row": X.iloc[60], "nearest_flip": nearest_flip,
        "is_monotone": is_monotone,
    }  # fmt: skip
    steps = next_steps_of(outcome.report())
    assert len(steps) == 4
    refitted, written, flip, monotone = (eval(step, space) for step in steps)
    assert refitted.predict(X).shape == y.shape
    assert "CASE" in written
    assert flip.proven
    assert monotone.monotone in (True, False)


def test_next_steps_are_those_that_work(outcome, tmp_path):
    outcome.report(tmp_path / "page.html")
    assert "nearest_flip(" in (tmp_path / "page.html").read_text(encoding="utf-8")
    X, y = make_regression(60, 3, random_state=0)
    found = simplify(SVR().fit(X, y), X, methods=[], random_state=0)
    steps = next_steps_of(found.report())
    assert [step.partition("(")[0] for step in steps] == ["outcome.refit", "outcome.export"]
    # codes of text stand before the tree: it is asked about codes, not about the table
    rows, labels = ship()
    found = simplify(ship_model(), rows, labels, methods=[], random_state=0)
    steps = next_steps_of(found.report())
    assert [step.partition("(")[0] for step in steps] == ["outcome.refit", "outcome.export"]


def test_rare_class_is_not_lost():
    X, y = make_classification(
        900, 6, n_informative=4, n_redundant=0, weights=[0.96], flip_y=0, random_state=2
    )
    y = np.where(y, "yes", "no")
    model = RandomForestClassifier(20, class_weight="balanced", random_state=0).fit(X, y)
    found = simplify(model, X, y, methods=["representer", "cultivated"], random_state=0)
    assert "balanced accuracy" in found.report()
    assert "yes" in found.best_model.predict(X)
    assert rows_of(found)[found.best].class_agreement["yes"] > 0


def test_method_for_other_models_is_not_tried(classified, monkeypatch):
    model, X, y = classified

    def refuse(case, seconds):
        raise TypeError("it does not hold scikit-learn trees")

    monkeypatch.setitem(METHODS, "representer", Method("representer tree", 3.0, refuse))
    row = rows_of(simplify(model, X, y, methods=["representer"], random_state=0))["representer"]
    assert row.note == "not tried: it does not hold scikit-learn trees"


def test_failure_of_a_method_is_a_row(classified, monkeypatch):
    model, X, y = classified

    def fail(case, seconds):
        raise TimeLimitError("time_limit is over <& nothing was found>")

    monkeypatch.setitem(METHODS, "representer", Method("representer tree", 3.0, fail))
    found = simplify(model, X, y, methods=["representer"], random_state=0)
    row = rows_of(found)["representer"]
    assert row.note == "failed: time_limit is over <& nothing was found>"
    assert not row.is_measured
    assert "&lt;&amp; nothing" in found._repr_html_()

    def broken(case, seconds):
        raise ZeroDivisionError

    monkeypatch.setitem(METHODS, "representer", Method("representer tree", 3.0, broken))
    with pytest.raises(ZeroDivisionError):  # an error of ours is not hidden
        simplify(model, X, y, methods=["representer"], random_state=0)


def test_time_used_up_leaves_the_plain_trees(classified, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)  # as if it were not installed
    model, X, y = classified
    begin = time.monotonic()
    found = simplify(model, X, y, time_limit=1e-3, random_state=0, verbose=1)
    assert time.monotonic() - begin < 30
    assert rows_of(found)["born_again"].note == "not tried: time_limit was used up"
    assert found.best in ("plain_tree", "plain_tree_on_y")
    told = capsys.readouterr()
    assert told.out == ""
    assert [line.split(":")[0] for line in told.err.splitlines()] == [
        f"[simplify] {row.title}" for row in found.table[1:]
    ]


def test_progress_is_a_bar_where_tqdm_is_installed(classified, capsys, monkeypatch):
    calls = []

    class Bar:
        def __init__(self, total, **options):
            calls.append(("total", total))

        def set_description(self, text):
            calls.append(("begin", text))

        def set_postfix_str(self, text):
            calls.append(("end", text))

        def update(self, n):
            calls.append(("update", n))

        def close(self):
            calls.append(("close", None))

    module = types.ModuleType("tqdm.auto")
    module.tqdm = Bar
    monkeypatch.setitem(sys.modules, "tqdm", types.ModuleType("tqdm"))
    monkeypatch.setitem(sys.modules, "tqdm.auto", module)
    model, X, y = classified
    found = simplify(model, X[:80], y[:80], methods=[], random_state=0, verbose=True)
    assert capsys.readouterr() == ("", "")
    assert calls[0] == ("total", 2)
    assert calls[-1] == ("close", None)
    assert [text for kind, text in calls if kind == "begin"] == [r.title for r in found.table[1:]]
    assert sum(n for kind, n in calls if kind == "update") == 2
    calls.clear()
    simplify(model, X[:80], y[:80], methods=[], random_state=0)
    assert not calls


def test_many_rows_are_drawn_from(classified, monkeypatch):
    model, X, y = classified
    monkeypatch.setattr(_inputs, "MOST_ENTRIES", 1)
    X, y = np.tile(X, (3, 1)), np.tile(y, 3)
    found = simplify(model, X, y, methods=[], random_state=0)
    assert found.n_rows + found.n_rows_aside == 1000
    assert any("1,000 were drawn" in note for note in found.notes)


def test_promise_names_the_rows_it_is_about(classified, monkeypatch):
    model, X, y = classified
    monkeypatch.setattr(_methods, "NEAR_ROWS", 40)
    found = simplify(model, X, y, methods=["born_again_1"], random_state=0)
    assert "one of 40 training rows" in rows_of(found)["born_again_1"].promise
    assert found["born_again_1"].n_rows_ == 40
    assert found["born_again_1"].verify()


@pytest.mark.parametrize("fraction", [0.1, 0.25, 0.5, 0.9])
def test_rows_kept_aside_are_alike_in_classes(fraction):
    rng = np.random.RandomState(0)
    y = np.repeat([0, 1, 2], [40, 400, 200])
    learn, aside = _simplify._divided(y, y, True, fraction, rng)
    for label in range(3):
        share = np.mean(aside[:, None] == np.flatnonzero(y == label), axis=0).size
        assert share
        n = np.isin(aside, np.flatnonzero(y == label)).sum()
        assert abs(n - fraction * np.sum(y == label)) <= 1
    assert not set(learn) & set(aside)


@pytest.mark.parametrize(
    ("change", "error", "text"),
    [
        ({"model": RandomForestClassifier()}, NotFittedError, "not fitted"),
        ({"model": StandardScaler()}, ValueError, "predict"),
        ({"methods": ["magic"]}, ValueError, "'magic'"),
        ({"max_leaves": 1}, ValueError, "max_leaves"),
        ({"time_limit": 0}, ValueError, "time_limit"),
        ({"X": np.zeros((3, 6)), "y": None}, ValueError, "at least 8"),
        ({"X": np.zeros(20), "y": None}, ValueError, "dimensions"),
        ({"y": np.repeat("a", 400)}, ValueError, "labels like 'a'"),
        ({"y": np.zeros(3)}, ValueError, "inconsistent"),
    ],
)
def test_wrong_input_is_refused(classified, change, error, text):
    model, X, y = classified
    with pytest.raises(error, match=text):
        simplify(**{"model": model, "X": X, "y": y, **change})


def test_more_outputs_are_refused():
    X, y = make_regression(50, 3, n_targets=2, random_state=0)
    model = MultiOutputRegressor(SVR()).fit(X, y)
    with pytest.raises(ValueError, match="2 outputs"):
        simplify(model, X)


def test_page_and_frame(outcome, tmp_path):
    page = tmp_path / "report.html"
    text = outcome.report(page)
    html = page.read_text(encoding="utf-8")
    assert html.startswith("<!DOCTYPE html>")
    assert "http" not in html.replace("http://www.w3.org/2000/svg", "")  # no other file is needed
    assert html.count("<tr") == len(outcome.table) + 1
    assert html.count("<table>") == 1
    leaves = rows_of(outcome)[outcome.best].leaves
    assert html.count("<rect") == 2 * leaves - 1
    assert f"The recommended tree ({outcome.best})" in text
    frame = outcome.to_frame()
    assert list(frame.index) == [row.name for row in outcome.table]
    assert frame.loc["plain_tree", "agreement"] == rows_of(outcome)["plain_tree"].agreement


def test_plot_marks_the_front_and_the_best(outcome):
    pytest.importorskip("matplotlib")
    display = outcome.plot()
    rows = [row for row in outcome.table if row.is_measured and row.name != "model"]
    assert len(display.axes_) == 2
    labels = display.axes_[0].get_legend_handles_labels()[1]
    assert [row.title for row in rows] == [label for label in labels if label in display.titles]
    assert "recommended" in labels
    line = next(x for x in display.axes_[0].lines if str(x.get_label()).startswith("Pareto"))
    heights = [
        row.agreement
        for row in rows
        if all(
            o.agreement < row.agreement for o in rows if o is not row and (o.leaves < row.leaves)
        )
        and all(o.agreement <= row.agreement for o in rows if o.leaves == row.leaves)
    ]
    assert sorted(set(heights)) == line.get_ydata().tolist()
    assert display.plot(axes=display.axes_).figure_ is display.figure_


def test_single_tree_as_model():
    X, y = load_iris(return_X_y=True)
    model = DecisionTreeClassifier(max_leaf_nodes=5, random_state=0).fit(X, y)
    found = simplify(model, X, y, methods=["faithful", "born_again"], random_state=0)
    assert rows_of(found)["faithful"].note == "not tried: the model is a single tree"
    assert found["born_again"].n_leaves_ <= 5


# ------------------------------------------------------------------- command line


def test_command_line(tmp_path):
    X, y = ship()
    joblib.dump(ship_model(), tmp_path / "model.joblib")
    X.assign(fate=y, number=np.arange(len(X))).to_csv(tmp_path / "data.csv", index=False)
    command = [sys.executable, "-m", "ensemble_simplify", "model.joblib", "data.csv"]
    done = subprocess.run(
        [*command, "--target", "fate", "--time-limit", "0.2", "--html", "page.html"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert "What RandomForestClassifier can become" in done.stdout
    assert "run any code" in done.stderr
    assert (tmp_path / "page.html").stat().st_size > 3000


def test_command_line_errors(tmp_path, capsys):
    from ensemble_simplify.front import main

    X, y = load_iris(return_X_y=True)
    model, data = tmp_path / "model.joblib", tmp_path / "data.csv"
    joblib.dump(DecisionTreeClassifier().fit(X, y), model)
    pd.DataFrame(X).assign(y=y, z=0).to_csv(data, index=False)
    for arguments, text in [
        ([tmp_path / "none.joblib", data], "there is no file"),
        ([data, data], "not a model that joblib can read"),
        ([model, tmp_path / "none.csv"], "there is no file"),
        ([model, data, "--target", "w"], "no column 'w'"),
        ([model, data, "--target", "y"], "5 columns besides the target"),
    ]:
        assert main([str(argument) for argument in arguments]) == 2
        assert text in capsys.readouterr().err
    frame = pd.DataFrame(X, columns=list("abcd"))
    joblib.dump(DecisionTreeClassifier().fit(frame, y), model)
    assert main([str(model), str(data)]) == 2
    assert "no column 'a'" in capsys.readouterr().err


def test_command_line_reads_skops(tmp_path, capsys):
    skops = pytest.importorskip("skops.io")
    from ensemble_simplify.front import main

    X, y = load_iris(return_X_y=True)
    data = tmp_path / "data.csv"
    pd.DataFrame(X).assign(y=y).to_csv(data, index=False)
    options = ["--target", "y", "--time-limit", "0.1"]
    skops.dump(GaussianNB().fit(X, y), tmp_path / "bayes.skops")
    assert main([str(tmp_path / "bayes.skops"), str(data), *options]) == 0
    assert "What GaussianNB can become" in capsys.readouterr().out
    skops.dump(GuideTree().fit(X, y), tmp_path / "own.skops")  # of types that skops does not know
    assert main([str(tmp_path / "own.skops"), str(data), *options]) == 2
    assert "--trust" in capsys.readouterr().err
    assert main([str(tmp_path / "own.skops"), str(data), *options, "--trust"]) == 0


def test_leaves_of_a_pipeline_are_those_of_its_forest():
    """Over the columns of the table, a split by levels counts several times."""
    X = pd.DataFrame({"level": list("abcdef") * 20, "number": np.arange(120) % 17})
    y = (X["level"].isin(["a", "d"]) ^ (X["number"] > 8)).astype(int)
    encode = make_column_transformer((OneHotEncoder(), ["level"]), remainder="passthrough")
    model = make_pipeline(encode, RandomForestClassifier(5, max_depth=4, random_state=0)).fit(X, y)
    frame = simplify(model, X, methods=[], random_state=0).to_frame()
    assert frame.loc["model", "leaves"] == sum(tree.get_n_leaves() for tree in model[-1])
    assert frame.loc["model", "trees"] == 5
