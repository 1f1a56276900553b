"""One call that tries every method: its figures are true, and its result works on any table."""

import warnings

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer, load_iris, make_classification, make_regression
from sklearn.ensemble import (
    AdaBoostClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import balanced_accuracy_score, r2_score
from sklearn.multioutput import MultiOutputRegressor
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, SVR
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from what_is_said import condition_holds

from ensemble_simplify import (
    SimplifiedModel,
    export_tree,
    simplify,
    verify,
)
from ensemble_simplify.base import warn
from ensemble_simplify.front import _inputs, _methods
from ensemble_simplify.front._inputs import folds
from ensemble_simplify.front._methods import METHODS, Method, NotTried
from ensemble_simplify.front._table_tree import TableTree

SMALL = {"max_leaf_nodes": 8, "random_state": 0}


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
    found = simplify(FrozenEstimator(model), rows, labels, methods="all", **SMALL)
    return found, before, joblib.hash((model, rows, labels))


@pytest.fixture(scope="module")
def outcome(states):
    return states[0]


def rows_of(found):
    return {row.name: row for row in found.table}


def folds_by_hand(model, X, y, fraction=0.2):
    """The folds, by the same draw."""
    answers, by_class = model.predict(X), hasattr(model, "classes_")
    return folds(answers, len(answers), fraction, by_class, np.random.RandomState(0))


def plain_by_hand(model, X, y, labels, seed, size=8):
    """What plain trees say of the rows that each has not seen."""
    fold_of = folds_by_hand(model, X, y)
    predicted = np.empty_like(labels)
    for fold in range(fold_of.max() + 1):
        out = fold_of == fold
        tree = DecisionTreeClassifier(max_leaf_nodes=size, random_state=seed)
        tree.fit(X[~out], labels[~out])
        predicted[out] = tree.predict(X[out])
    return predicted


def test_figures_are_of_rows_that_were_left_out(outcome, classified):
    model, X, y = classified
    X, y = X[200:], y[200:]
    answers = model.predict(X)
    assert outcome.n_judged == outcome.n_rows == 200
    assert outcome.n_folds == 5
    for name, labels in (("plain_tree", answers), ("plain_tree_on_y", y)):
        seed = outcome[name].fitted.random_state
        predicted, row = plain_by_hand(model, X, y, labels, seed), rows_of(outcome)[name]
        assert row.agreement == pytest.approx(np.mean(predicted == answers))
        assert row.accuracy == pytest.approx(np.mean(predicted == y))
        assert row.balanced_accuracy == pytest.approx(balanced_accuracy_score(y, predicted))
        for label, share in row.class_agreement.items():
            assert share == pytest.approx(np.mean(predicted[answers == label] == label))
    row = rows_of(outcome)["model"]
    assert (row.agreement, row.accuracy) == (1.0, np.mean(answers == y))
    row = rows_of(outcome)["majority"]
    assert row.agreement == max(np.mean(answers), 1 - np.mean(answers))


def test_differences_are_of_rows_that_were_left_out(classified):
    model, X, y = classified
    X, y = X[200:], y[200:]
    # the same labels as floats are labels, too
    floats = clone(model).fit(classified[1][:200], classified[2][:200].astype(float))
    told = []
    for own in (model, floats):
        answers = own.predict(X)
        found = simplify(own, X, y, methods="plain_tree", **SMALL)
        assert found.best == "plain_tree"
        seed = found["plain_tree"].fitted.random_state
        apart = plain_by_hand(own, X, y, answers, seed) != answers
        differences = found.differences()
        assert (differences.n_rows, differences.n_differing) == (200, apart.sum())
        assert differences.atol is None
        for rule in differences:
            assert rule.n_differing == apart[rule.rows].sum()
        told.append(repr(differences).replace(".0", ""))
        assert found.differences(X).n_differing == np.sum(found.predict(X) != answers)
    assert told[0] == told[1]


def test_what_costs_much_is_measured_once(outcome, classified):
    model, X, y = classified
    X, y = X[200:], y[200:]
    out = folds_by_hand(model, X, y) == 0
    fitted = outcome["genesim"].fitted
    assert outcome.best == "genesim" or rows_of(outcome)["genesim"].agreement == np.mean(
        fitted.predict(X[out]) == model.predict(X[out])
    )


def test_sizes_and_promises_are_true(outcome):
    assert set(outcome.results) >= {"plain_tree", "representer", "faithful", "genesim"}
    for name, found in outcome.results.items():
        row, fitted = rows_of(outcome)[name], found.fitted
        assert isinstance(found, SimplifiedModel)
        if name == "faithful":
            assert row.trees == fitted.n_trees_ <= 6
        elif name == "cultivated":
            assert row.leaves == fitted.n_leaves_
        elif name != outcome.best:
            assert row.leaves == found.get_n_leaves()
            assert row.trees == 1
        if row.is_proven:
            assert fitted.verify()
            assert "proven" in row.promise
    small = rows_of(outcome).get("born_again_1_small")
    if small is not None:
        assert small.leaves <= 8
        assert f"{outcome['born_again_1_small'].fitted.n_points_:,} points" in small.promise


def test_best_learned_from_all_rows(classified):
    model, X, y = classified
    found = simplify(model, X[200:], y[200:], methods="representer", **SMALL)
    assert found.best == "representer"
    by_hand = clone(found.best_model.fitted)
    by_hand.fit(X[200:], fold_of=folds_by_hand(model, X[200:], y[200:]))
    tree = found.best_model.decision_tree_.tree_
    assert np.array_equal(by_hand.decision_tree_.tree_.threshold, tree.threshold)
    assert tree.n_node_samples[0] == 200
    part = simplify(model, X[200:], y[200:], methods="representer", refit=False, **SMALL)
    assert rows_of(part)["representer"].agreement == rows_of(found)["representer"].agreement
    assert part.best_model.decision_tree_.tree_.n_node_samples[0] == 160


def test_further_rows_are_learned_from_only(classified):
    model, X, y = classified
    alone = simplify(model, X[200:], y[200:], methods="representer", **SMALL)
    more = simplify(model, X[200:], y[200:], X_more=X[:150], methods="representer", **SMALL)
    assert (more.n_rows, more.n_judged) == (350, 200)
    for name in ("model", "majority", "plain_tree_on_y"):  # there are no labels of further rows
        assert rows_of(more)[name].agreement == rows_of(alone)[name].agreement
    tree, rows = more["plain_tree"], np.r_[X[200:], X[:150]]
    by_hand = DecisionTreeClassifier(max_leaf_nodes=8, random_state=tree.fitted.random_state)
    by_hand.fit(rows, model.predict(rows))
    # its leaves hold rates of y, where these are known, and the same labels
    assert np.array_equal(tree.predict(X), by_hand.predict(X))
    frame = pd.DataFrame(X, columns=list("abcdef"))
    for wrong, text in [
        (X[:200, :5], "5 columns"),
        (frame[:200], "X_more a DataFrame"),
    ]:
        with pytest.raises(ValueError, match=text):
            simplify(model, X[200:], X_more=wrong)
    named = RandomForestClassifier(3, random_state=0).fit(frame, y)
    for wrong, text in [
        (frame[list("bacdef")], "another order"),
        (frame[list("abcde")], "lacks the column 'f'"),
        (frame.assign(g=0), "column 'g', which X does not have"),
    ]:
        with pytest.raises(ValueError, match=text):
            simplify(named, frame, X_more=wrong)


def test_out_of_bag_answers_of_training_rows():
    X, y = make_classification(300, 6, n_informative=3, flip_y=0.2, random_state=1)
    model = RandomForestClassifier(60, oob_score=True, random_state=0).fit(X, y)
    found = simplify(model, X, y, methods="representer", **SMALL)
    known = model.oob_decision_function_.argmax(axis=1)
    without = simplify(model, X, methods="representer", **SMALL)
    assert np.array_equal(without._task.answers, known)
    assert any("out-of-bag" in note for note in without.notes)
    assert any("out-of-bag" in line for line in without.report().splitlines())
    # with labels, copies of the model are asked
    assert any("copies" in note for note in found.notes)
    fresh = simplify(model, X + 1e-3, y, methods="representer", **SMALL)
    assert not any("out-of-bag" in note for note in fresh.notes)


def test_sizes_are_compared(classified):
    model, X, y = classified
    found = simplify(model, X[200:], y[200:], methods="representer", random_state=0)
    sizes = [point.n_leaves for point in found.curve]
    assert sizes == [4, 8, 16, 32][: len(sizes)]
    if len(sizes) < 4:  # a size that gives the same tree is not listed again
        larger = {"methods": "representer", "max_leaf_nodes": 32, "random_state": 0}
        n_leaves = simplify(model, X[200:], y[200:], **larger).best_model.get_n_leaves()
        assert n_leaves == found.at(sizes[-1]).get_n_leaves()
    assert [point.n_leaves for point in found.curve if point.is_best] == [found.max_leaf_nodes]
    for point in found.curve:
        assert found.at(point.n_leaves).get_n_leaves() <= point.n_leaves
        assert point.agreement_low <= point.agreement <= point.agreement_high
    best = next(point for point in found.curve if point.is_best)
    assert best.agreement == rows_of(found)["representer"].agreement
    with pytest.raises(ValueError, match="n_leaves=5 was not looked at"):
        found.at(5)
    assert found.verdict.text in " ".join(found.report().split())


def test_proven_tree_of_a_table_with_gaps_takes_them_in_any_column():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(300, 3)).round(2), columns=list("abc"))
    y = (X["a"] > 0).astype(int)
    X.loc[::5, "b"] = np.nan
    model = HistGradientBoostingClassifier(max_iter=3, max_depth=1).fit(X, y)
    found = simplify(model, X, methods="born_again", max_leaf_nodes=4, random_state=0)
    assert found.best == "born_again"
    assert found.verify()
    new = X.mask(rng.random(X.shape) < 0.3)
    assert new.isna().any().all()
    assert np.array_equal(found.predict(new), model.predict(new))


def test_class_that_trees_know_of_one_row_alone():
    """The model gives it to that row, and the trees that have not seen the row do not."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(241, 3))
    y = (X[:, 0] > 0) + 2 * (X[:, 1] > 0)
    y[240], X[240] = 4, 9.0
    model = RandomForestClassifier(30, random_state=0).fit(X, y)
    new = rng.normal(size=(60, 3))
    found = simplify(model, new, X_more=X, methods="representer", random_state=0)
    assert found.best == "representer"
    # no size below the number of classes, and none that gives the same tree again
    sizes = [point.n_leaves for point in found.curve]
    assert sizes == [8, 16, 32][: len(sizes)]
    larger = {"methods": "representer", "max_leaf_nodes": 32, "random_state": 0}
    n_leaves = simplify(model, new, X_more=X, **larger).best_model.get_n_leaves()
    assert n_leaves == found.at(sizes[-1]).get_n_leaves()


def test_no_size_below_the_number_of_classes():
    X, _ = make_classification(300, 5, n_informative=5, n_redundant=0, random_state=0)
    y = np.arange(300) % 6
    X[:, 0] += y * 3
    model = RandomForestClassifier(10, random_state=0).fit(X, y)
    found = simplify(model, X[:150], y[:150], methods="representer", random_state=0)
    assert [point.n_leaves for point in found.curve] == [8, 16, 32]


def test_refit_learns_from_all_rows(outcome, classified):
    model, X, _ = classified
    X = X[200:]
    plain = outcome.refit(X, name="plain_tree")
    seed = plain.fitted.random_state
    by_hand = DecisionTreeClassifier(max_leaf_nodes=8, random_state=seed)
    by_hand.fit(X, model.predict(X))
    assert np.array_equal(plain.predict_proba(X), by_hand.predict_proba(X))
    again = outcome.refit(X)
    assert isinstance(again, SimplifiedModel)
    assert again is not outcome.best_model
    near = outcome.refit(X[:40], name="born_again_1", time_limit=0.7)
    assert near.verify()
    assert near.fitted.n_rows_ == 40
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


def test_same_result_again(outcome, classified):
    model, X, y = classified
    again = simplify(model, X[200:], y[200:], methods="all", **SMALL)
    frames = [found.to_frame().drop(columns="seconds").astype(str) for found in (outcome, again)]
    pd.testing.assert_frame_equal(*frames)
    assert again.export("python") == outcome.export("python")


def test_small_model_is_answered_by_a_proven_tree():
    X, y = load_iris(return_X_y=True)
    model = RandomForestClassifier(3, max_depth=2, random_state=0).fit(X, y)
    found = simplify(model, X, y, max_leaf_nodes=20, methods=["born_again"], random_state=0)
    assert found.best == "born_again"
    assert verify(model, found.best_model)
    assert found.verify()
    assert "proven" in found.reason
    assert [row.name for row in found.table] == [
        "model",
        "majority",
        "plain_tree",
        "plain_tree_on_y",
        "born_again",
    ]


def test_boosted_stumps_are_pruned_everywhere():
    X, y = make_classification(200, 4, n_informative=3, n_redundant=0, random_state=0)
    model = AdaBoostClassifier(n_estimators=12, random_state=0).fit(X, y)
    found = simplify(model, X, y, **SMALL)
    assert "every input" in rows_of(found)["faithful"].promise
    assert verify(model, found["faithful"])


def test_few_nodes_on_average_are_no_stumps():
    """Boosting with many classes has trees of one leaf beside large ones."""
    X, y = make_classification(200, 4, n_informative=3, n_redundant=0, random_state=0)
    model = RandomForestClassifier(12, max_leaf_nodes=8, random_state=0).fit(X, y)
    for tree in model.estimators_[1:]:
        tree.set_params(min_samples_split=len(X) + 1).fit(X, y)
    sizes = [tree.tree_.node_count for tree in model.estimators_]
    assert np.mean(sizes) <= 3 < max(sizes)
    assert "faithful" in simplify(model, X, y, **SMALL).not_tried


def test_feature_budget_is_tried_where_prices_are_given(classified):
    model, X, y = classified
    found = simplify(
        model, X, y, methods="feature_budget", feature_costs=[1, 2, 3, 4, 5, 6], **SMALL
    )
    pruner, row = found["feature_budget"].fitted, rows_of(found)["feature_budget"]
    assert pruner.cost_ <= 0.5 * pruner.unpruned_cost_
    assert f"{pruner.cost_:.3g}" in row.promise
    without = simplify(model, X, y, methods=["feature_budget"], **SMALL)
    assert without.not_tried == {"feature_budget": "feature_costs was not given"}


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
    for name in ("born_again", "born_again_1", "born_again_0", "faithful", "genesim"):
        assert found.not_tried[name] == "the model's trees cannot be read"
        assert name not in found
        with pytest.raises(KeyError, match="plain_tree"):
            found[name]
    assert rows_of(found)["representer"].is_measured
    assert rows_of(found)["model"].leaves is None
    assert found.best is not None


@pytest.mark.parametrize(
    "model", [RandomForestRegressor(10, max_depth=4, random_state=0), SVR()], ids=["forest", "svr"]
)
def test_regression(model):
    X, y = make_regression(320, 4, noise=5, random_state=0)
    found = simplify(model.fit(X[:160], y[:160]), X[160:], y[160:], random_state=0)
    answers = model.predict(X[160:])
    assert rows_of(found)["model"].accuracy == pytest.approx(r2_score(y[160:], answers))
    for name in ("plain_tree", "plain_tree_on_y", "representer"):
        row = rows_of(found)[name]
        assert row.agreement_low < row.agreement < row.agreement_high
    assert found.not_tried["cultivated"] == "for classification only"
    assert "R²" in found.report()
    assert r2_score(answers, found.predict(X[160:])) > 0.5


@pytest.mark.parametrize(("atol", "number"), [("30%", None), (1.25, 1.25)])
def test_values_are_promised_within_a_tolerance(atol, number):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 5, size=(120, 3)).astype(np.float64)
    y = X[:, 0] - 2 * (X[:, 1] > 2) + rng.normal(scale=0.5, size=120)
    model = GradientBoostingRegressor(max_depth=1, n_estimators=15, random_state=0).fit(X, y)
    found = simplify(model, X, y, methods="all", atol=atol, **SMALL)
    if number is None:
        number = float(f"{0.3 * model.predict(X).std():.3g}")
    n_near, n_rows = (found[f"born_again_{n}"].fitted.n_points_ for n in (1, 0))
    one_change = "that differ from a training row in at most one feature"
    for name, where in (
        ("born_again", "at every input"),
        ("faithful", "at every input"),
        ("born_again_1", f"at all {n_near} points {one_change}"),
        ("born_again_0", f"at all {n_rows} different points of the training rows"),
    ):
        promise = rows_of(found)[name].promise
        assert promise.startswith(f"a value within {number:g} of the model's {where}, proven")
        assert found[name].fitted.atol_ == number
    for name in ("born_again", "faithful"):
        assert found[name].verify()
        assert verify(model, found[name], atol=number)
    assert found["born_again_1"].verify()
    # that of the package checks near other rows, too
    assert verify(
        model, found["born_again_1"], X=found._task.without(0).X, max_changes=1, atol=number
    )
    assert np.abs(found["born_again_0"].predict(X) - model.predict(X)).max() <= number
    # it is a tree among others, within what it promises of the model
    assert "gives the model's answer to every input" not in found.verdict.text
    if found.best == "born_again":
        assert f"within {number:.3g} at every input, which is proven" in found.verdict.text


def test_a_tree_that_would_be_too_large_for_a_tolerance_is_not_tried():
    X, y = make_regression(200, 6, noise=5, random_state=0)
    model = GradientBoostingRegressor(n_estimators=30, random_state=0).fit(X, y)
    found = simplify(model, X, methods=["born_again"], atol=1e-3, **SMALL)
    assert "a tree that gives a value within 0.001 of the model's" in found.not_tried["born_again"]


def test_tolerances_are_checked_before_any_work(classified):
    model, X, y = classified
    with pytest.raises(ValueError, match="atol='little' is not a tolerance"):
        simplify(model, X[:3], y[:3], atol="little")


def test_without_labels_there_is_no_accuracy(classified):
    model, X, _ = classified
    found = simplify(model, X, methods=["cultivated"], **SMALL)
    assert np.isnan(rows_of(found)["plain_tree"].accuracy)
    assert found.not_tried["plain_tree_on_y"] == "y was not given"
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
    X, y = ship(n=160)
    methods = ["representer", "cultivated", "born_again_1", "genesim"]
    found = simplify(ship_model(), X, y, methods=methods, **SMALL)
    assert {"plain_tree", *methods} <= set(found.results)
    new, _ = ship(seed=1)
    for name, fitted in found.results.items():
        assert set(fitted.predict(new)) <= {"lived", "died"}, name
    assert set(rows_of(found)["plain_tree"].class_agreement) == {"lived", "died"}
    assert found["born_again_1"].verify()
    # the tree is told in the words of the table, and not in codes
    text = found.report()
    assert "sex is" in text
    assert "sex ≤" not in text


def later(seed):
    """Rows with gaps and levels that were not there before."""
    new, _ = ship(n=300, seed=seed)
    new = new.astype({"class": float, "sex": object, "port": object})
    new.loc[::3, "class"] = np.nan
    new.loc[::4, "sex"] = None
    new.loc[::7, "port"] = "Z"
    new.loc[::9, "sex"] = "?"
    return new


@pytest.mark.parametrize("again", [False, True])
def test_any_row_is_answered_and_written(again):
    """Gaps and levels that no row had before: the tree answers, and so does its export."""
    X, y = ship()
    found = simplify(ship_model(), X, y, methods="representer", **SMALL)
    for name in ("plain_tree", "representer"):
        tree = found.refit(X, name=name) if again else found[name]
        new = later(seed=1)
        answers = tree.predict(new)
        assert set(answers) <= {"lived", "died"}
        written = python_function(tree.export("python"))
        assert [written(row) for row in new.to_dict("records")] == answers.tolist()
        for language in ("rules", "sql", "c", "json"):
            assert tree.export(language)


def test_gaps_in_rows_kept_aside_alone():
    """What a row lacks is part of the promise, though no row to learn from lacks it."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(160, 3))
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    model = RandomForestClassifier(2, max_depth=2, random_state=0).fit(X, y)
    methods = ["born_again", "born_again_1", "born_again_0"]
    lacking = X.copy()
    lacking[5, 1] = np.nan
    found = simplify(model, lacking, methods=methods, random_state=0)
    for name in found.results:
        found[name].predict(lacking)
    np.testing.assert_array_equal(found["born_again"].predict(lacking), model.predict(lacking))


def told_tree(found):
    """The lines of the recommended tree in a report."""
    lines = found.report().splitlines()
    begin = next(i for i, line in enumerate(lines) if line.startswith("if "))
    end = next((i for i in range(begin, len(lines)) if not lines[i].strip()), len(lines))
    return lines[begin:end]


@pytest.mark.parametrize("methods", ["plain_tree", "representer"])
def test_rules_answer_as_the_tree_does(methods):
    """The report's lines, read by a small interpreter, against the tree's predictions."""
    X, y = ship(n=300, seed=2)
    new, _ = ship(n=200, seed=3)
    new = new.astype({"sex": object, "port": object})
    found = simplify(ship_model(), X, y, max_leaf_nodes=12, methods=methods, random_state=0)
    assert found.best == methods
    answers = [interpreted(told_tree(found), row) for _, row in new.iterrows()]
    assert answers == found.predict(new).tolist()


@pytest.mark.parametrize("column", ["age", "port"])
@pytest.mark.parametrize("methods", ["plain_tree", "representer"])
def test_rules_tell_what_becomes_of_missing_values(column, methods):
    X, _ = ship(n=300, seed=2)
    y = np.where(X[column].isna(), "lost", np.where(X["class"] < 2, "first", "known"))
    X = X.astype({"sex": "category"})
    model = HistGradientBoostingClassifier(max_iter=20, categorical_features="from_dtype")
    found = simplify(model.fit(X, y), X, y, methods=methods, **SMALL)
    new = ship(n=100, seed=4)[0].astype({"sex": object, "port": object})
    answers = [interpreted(told_tree(found), row) for _, row in new.iterrows()]
    assert "lost" in answers
    assert answers == found.predict(new).tolist()


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
            return answer.partition(" (")[0].strip()
        if taken:
            depth, open_ = depth + 1, None
    raise AssertionError("no rule for the row")


def holds(condition, row):
    """Whether a row meets a condition in words."""
    name, _, rest = condition.partition(" ")
    known = {"sex": {"male", "female"}, "port": {"S", "C", "Q"}}.get(name, {row[name]})
    return condition_holds(rest, row[name], known)


def python_function(text):
    space = {}
    exec(text, space)
    return space["predict"]


def test_export_is_that_of_the_recommended_tree(outcome, classified):
    _, X, _ = classified
    best = outcome.best_model
    assert outcome.export("sql", table="t") == export_tree(best, "sql", table="t")
    assert outcome.export(result="plain_tree") == export_tree(outcome["plain_tree"])
    answer = python_function(outcome.export("python"))
    assert [answer(row) for row in X] == outcome.predict(X).tolist()
    with pytest.raises(KeyError, match="magic"):
        outcome.export(result="magic")
    for name in ("cultivated", "faithful"):
        with pytest.raises(TypeError, match="not one tree"):
            outcome.export(result=name)


def test_delegates_are_those_of_the_best(outcome, classified, tmp_path):
    _, X, _ = classified
    best = outcome.best_model
    assert np.array_equal(outcome.predict(X), best.predict(X))
    assert np.array_equal(outcome.predict_proba(X), best.predict_proba(X))
    assert outcome.export_text() == best.export_text()
    assert outcome.agreement(X).share == best.agreement(X).share
    assert str(outcome.differences(X)) == str(best.differences(X))
    outcome.save(tmp_path / "tree.joblib")
    again = SimplifiedModel.load(tmp_path / "tree.joblib")
    assert np.array_equal(again.predict(X), best.predict(X))


def test_rare_class_is_not_lost():
    X, y = make_classification(
        900, 6, n_informative=4, n_redundant=0, weights=[0.96], flip_y=0, random_state=2
    )
    y = np.where(y, "yes", "no")
    model = RandomForestClassifier(20, class_weight="balanced", random_state=0).fit(X, y)
    found = simplify(model, X, y, methods=["representer", "cultivated"], **SMALL)
    assert "yes" in found.predict(X)
    assert rows_of(found)[found.best].class_agreement["yes"] > 0


@pytest.mark.parametrize(
    ("error", "tried", "note"),
    [
        (NotTried("the model is too large"), False, "the model is too large"),
        (ZeroDivisionError("<& by zero>"), True, "ZeroDivisionError: <& by zero>"),
        (MemoryError(), True, "MemoryError: "),
    ],
)
def test_what_a_method_raises_is_a_line(classified, monkeypatch, error, tried, note):
    model, X, y = classified

    def fail(task, seconds):
        raise error

    for name in ("representer", "cultivated", "born_again"):
        monkeypatch.setitem(METHODS, name, Method(3.0, fail))
        found = simplify(model, X[:80], y[:80], methods=[name], **SMALL)
        if tried:
            row = rows_of(found)[name]
            assert (row.is_measured, row.note) == (False, note)
        else:
            assert found.not_tried == {name: note}
        assert name not in found
        assert found.best == "plain_tree"
    if note.startswith("Zero"):
        assert "&lt;&amp; by" in found._repr_html_()


def test_notes_do_not_depend_on_the_number_of_threads(classified, monkeypatch):
    model, X, y = classified
    attempt = METHODS["cultivated"].attempt

    def warns(task, seconds):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # as threads of other folds may do
            warn(f"learned from {len(task.answers)} rows")
        return attempt(task, seconds)

    monkeypatch.setitem(METHODS, "cultivated", Method(3.0, warns))
    for n_jobs in (None, 2, 3):
        found = simplify(model, X[200:], y[200:], methods=["cultivated"], n_jobs=n_jobs, **SMALL)
        assert rows_of(found)["cultivated"].note == "learned from 200 rows"


def test_time_used_up_leaves_the_plain_trees(classified, capsys):
    model, X, y = classified
    found = simplify(model, X, y, time_limit=1e-3, random_state=0, verbose=1)
    assert found.not_tried["born_again"] == "time_limit was used up"
    assert found.best == "plain_tree"
    told = capsys.readouterr()
    assert told.out == ""


def test_many_rows_are_drawn_from(classified, monkeypatch):
    model, X, y = classified
    monkeypatch.setattr(_inputs, "MOST_ENTRIES", 1)
    X, y = np.tile(X, (3, 1)), np.tile(y, 3)
    found = simplify(model, X, y, X_more=X, methods=[], random_state=0)
    assert (found.n_rows, found.n_judged) == (2000, 1000)
    assert any("rows of X were used, drawn at random" in note for note in found.notes)


def test_of_many_rows_one_part_is_held_out(classified, monkeypatch):
    model, X, y = classified
    monkeypatch.setattr(_inputs, "MOST_IN_FOLDS", 100)
    found = simplify(model, X, y, methods=["cultivated"], validation_fraction=0.25, **SMALL)
    assert (found.n_rows, found.n_judged, found.n_folds) == (400, 100, 1)


def test_promise_names_the_rows_it_is_about(classified, monkeypatch):
    model, X, y = classified
    monkeypatch.setattr(_methods, "NEAR_ROWS", 40)
    found = simplify(model, X, y, methods=["born_again_1"], **SMALL)
    assert "one of 40 training rows" in rows_of(found)["born_again_1"].promise
    assert found["born_again_1"].fitted.n_rows_ == 40
    assert found["born_again_1"].verify()


@pytest.mark.parametrize("fraction", [0.1, 0.2, 0.25, 0.5, 0.9])
@pytest.mark.parametrize("most", [2000, 10])
def test_folds_are_alike_in_classes(fraction, most, monkeypatch):
    monkeypatch.setattr(_inputs, "MOST_IN_FOLDS", most)
    y = np.repeat([0, 1, 2], [40, 400, 200])
    fold_of = folds(y, 640, fraction, True, np.random.RandomState(0))
    n_folds = 1 if most == 10 or fraction == 0.9 else round(1 / fraction)
    assert set(fold_of) - {-1} == set(range(n_folds))
    assert (fold_of >= 0).all() == (n_folds > 1)
    for fold in range(n_folds):
        for label in range(3):
            n = np.count_nonzero(fold_of[y == label] == fold)
            assert abs(n - fraction * np.sum(y == label)) <= 1
    more = folds(np.r_[y, y], 640, fraction, True, np.random.RandomState(0))
    assert (more[640:] == -1).all()
    # as many more rows to learn from let all of many rows judge at once
    assert (more[:640] == 0).all() == (n_folds == 1)


@pytest.mark.parametrize(
    ("change", "error", "text"),
    [
        ({"model": RandomForestClassifier()}, NotFittedError, "not fitted"),
        ({"model": StandardScaler()}, ValueError, "predict"),
        ({"methods": ["magic"]}, ValueError, "'magic'"),
        ({"methods": "magic"}, ValueError, "'magic'"),
        ({"scoring": "magic"}, ValueError, "magic"),
        ({"class_weight": {"b": 1}}, ValueError, "class_weight"),
        ({"max_leaf_nodes": 1}, ValueError, "max_leaf_nodes"),
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


@pytest.mark.parametrize(
    ("columns", "text"),
    [
        (["sex", "age", "port"], "lacks the column 'class'"),
        (["sex", "age", "port", "class", "age2"], "has the column 'age2', on which the model"),
        (["age", "sex", "port", "class"], "has the column 'age' where"),
    ],
)
def test_other_columns_are_refused_by_name(columns, text):
    X, _ = ship()
    with pytest.raises(ValueError, match=text):
        simplify(ship_model(), X.assign(age2=X["age"])[columns])


def test_native_boosters_are_simplified():
    lightgbm = pytest.importorskip("lightgbm")
    X, y = load_iris(return_X_y=True)
    options = {"objective": "multiclass", "num_class": 3, "verbose": -1}
    booster = lightgbm.train(options, lightgbm.Dataset(X, y), 5)
    found = simplify(booster, X, methods=["plain_tree"], random_state=0)
    agrees = found.best_model.predict(X) == booster.predict(X).argmax(axis=1)
    assert agrees.mean() > 0.9


def test_more_outputs_are_refused():
    X, y = make_regression(50, 3, n_targets=2, random_state=0)
    model = MultiOutputRegressor(SVR()).fit(X, y)
    with pytest.raises(ValueError, match="2 outputs"):
        simplify(model, X)


def test_frame_of_the_table(outcome):
    frame = outcome.to_frame()
    assert list(frame.index) == [row.name for row in outcome.table]
    assert frame.loc["plain_tree", "agreement"] == rows_of(outcome)["plain_tree"].agreement


def test_single_tree_as_model():
    X, y = load_iris(return_X_y=True)
    model = DecisionTreeClassifier(max_leaf_nodes=5, random_state=0).fit(X, y)
    found = simplify(model, X, y, methods=["faithful", "born_again"], **SMALL)
    assert found.not_tried["faithful"] == "the model is a single tree"
    assert found["born_again"].get_n_leaves() <= 5


def test_leaves_of_a_pipeline_are_those_of_its_forest():
    """Over the columns of the table, a split by levels counts several times."""
    X = pd.DataFrame({"level": list("abcdef") * 20, "number": np.arange(120) % 17})
    y = (X["level"].isin(["a", "d"]) ^ (X["number"] > 8)).astype(int)
    encode = make_column_transformer((OneHotEncoder(), ["level"]), remainder="passthrough")
    model = make_pipeline(encode, RandomForestClassifier(5, max_depth=4, random_state=0)).fit(X, y)
    frame = simplify(model, X, methods=[], random_state=0).to_frame()
    assert frame.loc["model", "leaves"] == sum(tree.get_n_leaves() for tree in model[-1])
    assert frame.loc["model", "trees"] == 5


def test_frame_with_missing_whole_numbers():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.integers(0, 20, (120, 3)), columns=list("abc")).astype("Int64")
    X.iloc[::9, 0] = pd.NA
    y = (X["b"] > 9).astype(int).to_numpy()
    model = RandomForestClassifier(3, max_depth=3, random_state=0).fit(X, y)
    outcome = simplify(model, X, y, methods=["representer"], random_state=0)
    assert (outcome.best_model.predict(X) == model.predict(X)).mean() > 0.9
    assert outcome.refit(X) is not None


def test_a_tree_that_leaves_rows_to_the_model_is_told_with_its_coverage():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    model = RandomForestClassifier(30, random_state=0).fit(X[:280], y[:280])
    outcome = simplify(
        model,
        X[280:],
        y[280:],
        X_more=X[:280],
        kinds=("tree", "selective"),
        methods=[],
        max_leaf_nodes=3,
        random_state=0,
    )
    tree, verdict = outcome.selective, outcome.verdict
    assert verdict.level != "follows"
    assert tree.get_n_leaves() <= 3
    # all rows of X calibrate, and the share in the sentence is that of the record
    assert tree.n_calibration_rows_ == len(X) - 280
    assert tree.coverage_ == np.mean(~tree.defers(X[280:]))
    (told,) = [own for own in verdict.statements if own.estimand == "coverage"]
    assert told.value == tree.coverage_
    assert f"answers {told.text} of them" in verdict.text
    assert "outcome.selective" in outcome.report()
    # what the model has learned cannot calibrate
    with pytest.warns(UserWarning, match="has learned rows"):
        own = simplify(
            model,
            X[:280],
            kinds=("tree", "selective"),
            methods=[],
            max_leaf_nodes=3,
            random_state=0,
        )
    assert own.selective.defers(X).all()
    with pytest.raises(ValueError, match="leaves nothing to recommend"):
        simplify(model, X, kinds="selective")


@pytest.mark.parametrize("classifier", [True, False])
def test_smaller_plain_trees_are_those_of_scikit_learn(classifier):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(400, 5)).round(1)
    y = X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=400)
    kind = DecisionTreeRegressor
    if classifier:
        kind, y = DecisionTreeClassifier, np.digitize(y, [-0.5, 0.5])
    tree = TableTree(classifier, max_leaf_nodes=32, min_samples_leaf=3, random_state=7).fit(X, y)
    for n_leaves in (2, 3, 8, 31):
        alone = kind(max_leaf_nodes=n_leaves, min_samples_leaf=3, random_state=7).fit(X, y)
        smaller = tree.at(n_leaves)
        assert smaller.get_n_leaves() == n_leaves
        np.testing.assert_allclose(smaller.predict(X), alone.predict(X))
