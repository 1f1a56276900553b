"""Tables with text, categories and gaps, and pipelines: priced by the user's columns."""

import pickle
import re
import sqlite3
import warnings

import numpy as np
import pandas as pd
import pytest
from passengers import PREPARED, coded, in_cabins, later, passengers, pipeline_of
from sklearn.base import clone, is_regressor
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    BaggingClassifier,
    ExtraTreesClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.impute import KNNImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils import get_tags

from ensemble_simplify import (
    BornAgainClassifier,
    BudgetForestClassifier,
    BudgetPathDisplay,
    FeatureBudgetPruner,
    export_tree,
    simplify,
    verify,
)
from ensemble_simplify.reading import Model, behind_codes

pytestmark = [
    pytest.mark.filterwarnings("ignore:budget=.* lies between two optimal prunings:UserWarning"),
    pytest.mark.filterwarnings("ignore:divide by zero encountered in log:RuntimeWarning"),
]
COSTS = {"sex": 1.0, "age": 2.0, "port": 4.0, "class": 3.0, "fare": 0.5}
FOREST = RandomForestClassifier(5, max_depth=4, random_state=0)
PRICED = BudgetForestClassifier(n_estimators=4, penalty=0.05, feature_costs=COSTS, random_state=0)


def walked(model, rows, source):
    """Mean values of the leaves of rows, and the columns asked for, split by split."""
    trees = getattr(model, "estimators_", [model])
    parts = getattr(model, "estimators_features_", [np.arange(len(source))] * len(trees))
    totals, asked = [], np.zeros((len(rows), source.max() + 1), dtype=bool)
    for i, row in enumerate(np.asarray(rows).astype(np.float32)):
        total = 0.0
        for tree, part in zip(trees, parts, strict=True):
            nodes, at = tree.tree_, 0
            while nodes.children_left[at] >= 0:
                column = part[nodes.feature[at]]
                x = row[column]
                asked[i, source[column]] = True
                goes_left = nodes.missing_go_to_left[at] if x != x else x <= nodes.threshold[at]
                at = (nodes.children_left if goes_left else nodes.children_right)[at]
            total = total + nodes.value[at, 0] / len(trees)
        totals.append(total)
    return np.array(totals), asked


def assert_paid_by_hand(pruner, X):
    """Answers, purchases and prices of rows of text, walked by hand."""
    last, steps, source = pruner.pruned_estimator_, [], np.arange(X.shape[1])
    while hasattr(last, "steps"):
        steps, last = [*steps, *(step for _, step in last.steps[:-1])], last.steps[-1][1]
    rows = coded(X, last._table.levels) if hasattr(last, "_table") and not steps else X
    for step in steps:
        rows = step.transform(rows)
        if hasattr(step, "get_feature_names_out"):
            made = [re.sub(r"^.*__(missingindicator_)?", "", name) for name in _names(step)]
            source = np.array([X.columns.get_loc(name.partition("_")[0]) for name in made])
    rows = rows.toarray() if hasattr(rows, "toarray") else rows
    values, asked = walked(last, rows, source)
    labels = pruner.classes_[values.argmax(axis=1)]
    np.testing.assert_array_equal(pruner.pruned_estimator_.predict(X), labels)
    np.testing.assert_array_equal(pruner.predict(X), labels)
    acquired = np.zeros(X.shape, dtype=bool)
    acquired[:, : asked.shape[1]] = asked
    np.testing.assert_array_equal(pruner.acquired_features(X), acquired)
    costs = acquired @ np.array([COSTS[name] for name in X])
    np.testing.assert_allclose(pruner.feature_cost(X), costs)
    fetched = []

    def fetch(name, rows):
        fetched.extend((name, row) for row in rows)
        return X[name].iloc[rows].tolist()

    lazy = pruner.predict_lazy(fetch, len(X))
    np.testing.assert_array_equal(lazy.prediction, labels)
    np.testing.assert_array_equal(lazy.acquired, acquired)
    np.testing.assert_allclose(lazy.cost, costs)
    assert len(set(fetched)) == len(fetched) == acquired.sum()
    return costs


def _names(step):
    return step.get_feature_names_out()


def pruned(estimator, X, y, **options):
    options = {"feature_costs": COSTS, "lam": 0.002, "refit": False} | options
    return FeatureBudgetPruner(estimator, **options).fit(X, y)


def assert_same_path(one, other):
    for name, found in one.path_.items():
        np.testing.assert_array_equal(found, other.path_[name], err_msg=name)


# ------------------------------------------------------------------- ensembles of numbers


@pytest.mark.parametrize(
    "estimator",
    [
        FOREST,
        ExtraTreesClassifier(5, max_depth=4, random_state=0),
        BaggingClassifier(DecisionTreeClassifier(max_depth=4), n_estimators=4, random_state=0),
        DecisionTreeClassifier(max_depth=5, random_state=0),
        None,
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_a_table_is_pruned_as_its_codes(estimator):
    X, y = in_cabins(n=240)
    pruner = pruned(estimator, X, y, random_state=0)
    codes, inner = behind_codes(pruner.estimator_)
    levels = codes.table.levels
    # ordered categories keep their order, text is in the order of the share of the last class
    assert levels[3].tolist() == ["third", "first", "second"]
    share = pd.Series(y == "lived").groupby(X["port"]).mean()
    assert share[levels[2]].is_monotonic_increasing
    rows = coded(X, levels)
    by_hand = clone(inner).fit(rows, y)
    other = pruned(FrozenEstimator(by_hand), rows, y, feature_costs=list(COSTS.values()))
    assert_same_path(pruner, other)
    assert (pruner.cost_, pruner.error_) == (other.cost_, other.error_)
    for budget in ("30%", "70%"):
        one, two = pruner.at(budget=budget), other.at(budget=budget)
        assert one.error_bound_ == two.error_bound_
        for new in (X, later(200)):
            new_rows = coded(new, levels)
            np.testing.assert_array_equal(one.predict_proba(new), two.predict_proba(new_rows))
            np.testing.assert_array_equal(one.feature_cost(new), two.feature_cost(new_rows))


def test_rows_with_gaps_and_new_levels_pay_as_they_walk():
    X, y = in_cabins(n=240)
    pruner = pruned(FOREST, X, y, budget="50%", lam=None)
    assert_paid_by_hand(pruner, later(200))
    costs = assert_paid_by_hand(pruner, X)
    assert pruner.cost_ == pytest.approx(costs.mean())
    assert pruner.cost_ <= 0.5 * pruner.unpruned_cost_
    assert pruner.score(X, y) > 0.75
    assert verify(pruner, pruner.pruned_estimator_)
    kept = pickle.loads(pickle.dumps(pruner.pruned_estimator_))
    np.testing.assert_array_equal(kept.predict(later(200)), pruner.predict(later(200)))


def test_path_and_choice_on_other_rows():
    X, y = in_cabins(n=240)
    new, labels = in_cabins(seed=3)
    pruner = pruned(FOREST, X, y)
    np.testing.assert_array_equal(pruner.pruning_path(X, y).costs, pruner.path_.costs)
    scores = pruner.path_scores(new, labels)
    for k in (0, len(scores.costs) // 2, -1):
        point = pruner.at(lam=scores.lams[k])
        assert scores.costs[k] == pytest.approx(point.feature_cost(new).mean())
        assert scores.errors[k] == pytest.approx((point.predict(new) != labels).mean())
    assert set(scores.costs_by_name) == set(COSTS)
    chosen = pruner.select(new, labels, max_loss=0.02)
    assert (chosen.predict(new) != labels).mean() <= scores.unpruned_error + 0.02 + 1e-9
    display = BudgetPathDisplay.from_estimator(pruner, new, labels)
    np.testing.assert_allclose(display.curves["pruned as an ensemble"].costs, scores.costs)


def test_weights_and_values_of_the_rows_reach_codes():
    X, y = in_cabins(n=240)
    weight = np.random.default_rng(0).integers(0, 3, len(X)).astype(float)
    pruner = FeatureBudgetPruner(FOREST, lam=0.001, labels="sample").fit(X, y, weight)
    assert pruner.cost_ == pytest.approx(np.average(pruner.feature_cost(X), weights=weight))
    wrong = pruner.predict(X) != y
    assert pruner.forest_error_ == pytest.approx(np.average(wrong, weights=weight))


def test_groups_and_prices_are_by_column():
    X, y = in_cabins(n=240)
    pruner = pruned(FOREST, X, y, groups={"ticket": ["port", "class"]}, group_costs=3.0)
    acquired = pruner.acquired_features(X)
    by_hand = acquired @ np.array(list(COSTS.values())) + 3.0 * acquired[:, 2:4].any(axis=1)
    np.testing.assert_allclose(pruner.feature_cost(X), by_hand)
    assert pruner.cost_ == pytest.approx(by_hand.mean())
    np.testing.assert_allclose(pruner.feature_usage_, acquired.mean(axis=0))


def test_objects_without_names():
    X, y = in_cabins(n=240)
    X = X.astype({"class": object})
    named = pruned(FOREST, X, y)
    rows = X.to_numpy(dtype=object)
    pruner = pruned(FOREST, rows, y, feature_costs=list(COSTS.values()))
    np.testing.assert_array_equal(pruner.predict(rows), named.predict(X))
    lazy = pruner.predict_lazy(lambda j, at: rows[at, j], len(rows))
    np.testing.assert_array_equal(lazy.cost, named.feature_cost(X))


def test_frames_of_polars():
    polars = pytest.importorskip("polars")
    X, y = in_cabins(n=240)
    X = X.astype({"class": object})
    frame = polars.DataFrame(
        {name: [None if entry != entry else entry for entry in X[name]] for name in X}
    )
    for estimator in (FOREST, PRICED):
        pruner, other = pruned(estimator, frame, y), pruned(estimator, X, y)
        np.testing.assert_array_equal(pruner.predict(frame), other.predict(X))
        np.testing.assert_array_equal(pruner.feature_cost(frame), other.feature_cost(X))


class Complete(RandomForestRegressor):
    """A forest that refuses gaps, as those of some criteria do before scikit-learn 1.8."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = False
        return tags


class CompleteTree(DecisionTreeRegressor):
    """A tree that refuses gaps."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = False
        return tags


def test_an_ensemble_of_complete_rows():
    """A number stands for a gap."""
    X, _ = in_cabins(n=240)
    target = X.pop("fare")
    trees = Complete(3, max_depth=4, random_state=0)
    costs = {name: COSTS[name] for name in X}
    pruner = pruned(trees, X, target, lam=0.5, feature_costs=costs)
    codes, _ = behind_codes(pruner.estimator_)
    assert codes.complete
    rows = coded(X, codes.table.levels)
    filled = np.where(np.isnan(rows), codes.table.gaps.stand_in, rows)
    assert (filled.min(axis=0) < np.nanmin(rows, axis=0)).tolist() == [False, True, True, False]
    values, asked = walked(behind_codes(pruner.pruned_estimator_)[1], filled, _same(X))
    np.testing.assert_allclose(pruner.predict(X), values[:, 0])
    np.testing.assert_array_equal(pruner.acquired_features(X), asked)


def _same(X):
    return np.arange(X.shape[1])


# ------------------------------------------------------------------- pipelines


@pytest.mark.parametrize("name", PREPARED)
def test_a_pipeline_pays_for_the_columns_that_go_into_it(name):
    """Columns made of one column are a group without prices of their own."""
    X, y = passengers(0, 240)
    pipeline = pipeline_of(name, FOREST).fit(X, y)
    pruner = pruned(FrozenEstimator(pipeline), X, y, fill="vertex")
    assert pruner.estimator_ is pipeline
    source = np.array([re.sub(r"^.*__(missingindicator_)?", "", c) for c in _names(pipeline[:-1])])
    source = np.array([c.partition("_")[0] for c in source])
    made = pipeline[:-1].transform(X)
    made = made.toarray() if hasattr(made, "toarray") else made
    last = pruned(
        FrozenEstimator(pipeline[-1]),
        made,
        y,
        fill="vertex",
        feature_costs=np.zeros(made.shape[1]),
        groups={column: np.flatnonzero(source == column).tolist() for column in set(source)},
        group_costs={column: COSTS[column] for column in set(source)},
    )
    for field in ("lams", "costs", "errors", "n_splits"):
        np.testing.assert_array_equal(pruner.path_[field], last.path_[field], err_msg=field)
    for budget in ("25%", "50%"):
        one, two = pruner.at(budget=budget), last.at(budget=budget)
        assert (one.cost_, one.error_, one.error_bound_) == (
            two.cost_,
            two.error_,
            two.error_bound_,
        )
        np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(made))
        np.testing.assert_array_equal(one.pruned_estimator_.predict(X), one.predict(X))
        np.testing.assert_allclose(one.feature_cost(X), two.feature_cost(made))
        assert_paid_by_hand(one, X)


@pytest.mark.parametrize("name", ["one_hot", "ordinal_missing", "constant"])
def test_new_levels_and_gaps_in_a_pipeline(name):
    X, y = passengers(0, 240)
    pruner = pruned(FrozenEstimator(pipeline_of(name, FOREST).fit(X, y)), X, y)
    new, _ = passengers(5, 150)
    new.loc[::7, "port"] = "never seen"
    new.loc[::5, "fare"] = np.nan
    assert_paid_by_hand(pruner, new)
    model = Model.of(pruner)
    read = model.forest.classes[model.forest.predict_index(model.table.read(new))]
    np.testing.assert_array_equal(read, pruner.predict(new))
    assert verify(pruner, pruner.pruned_estimator_)


def test_the_pipeline_is_left_as_it_is():
    X, y = passengers(0, 240)
    pipeline = pipeline_of("one_hot", FOREST).fit(X, y)
    before, sizes = pipeline.predict_proba(X), [t.tree_.node_count for t in pipeline[-1]]
    pruner = pruned(FrozenEstimator(pipeline), X, y, budget="20%", lam=None)
    assert pruner.pruned_estimator_[0] is not pipeline[0]
    np.testing.assert_array_equal(pipeline.predict_proba(X), before)
    assert [t.tree_.node_count for t in pipeline[-1]] == sizes
    assert sum(t.tree_.node_count for t in pruner.pruned_estimator_[-1]) < sum(sizes)


def test_pipelines_in_pipelines():
    X, y = passengers(0, 240)
    encode = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    encode = make_column_transformer((encode, ["sex", "port"]), remainder="passthrough")
    encode.set_output(transform="pandas")
    for last in (FOREST, FrozenEstimator(clone(FOREST).fit(encode.fit_transform(X), y))):
        pipeline = make_pipeline(encode, make_pipeline("passthrough", clone(last)))
        pruner = pruned(FrozenEstimator(pipeline.fit(X, y)), X, y)
        lazy = pruner.predict_lazy(lambda name, rows: X[name].iloc[rows], len(X))
        np.testing.assert_array_equal(lazy.prediction, pruner.pruned_estimator_.predict(X))
        assert lazy.cost.mean() == pytest.approx(pruner.cost_)
        # nothing is grown instead of a frozen last step
        assert FeatureBudgetPruner(pipeline, budget="50%")._may_refit() == (last is FOREST)


def test_an_estimator_of_this_package_is_pruned_on_its_table():
    X, y = in_cabins(n=240)
    tree = BornAgainClassifier(FOREST, max_changes=0, random_state=0).fit(X, y)
    pruner = pruned(FrozenEstimator(tree), X, tree.predict(X), lam=0.0)
    np.testing.assert_array_equal(pruner.pruned_estimator_.predict(X), tree.predict(X))
    again = pruned(FrozenEstimator(pruner), X, y, lam=0.02)
    assert_paid_by_hand(again, X)
    assert again.cost_ <= pruner.cost_


# ------------------------------------------------------------------- other ensembles compete


@pytest.mark.parametrize(
    ("estimator", "columns"),
    [
        (RandomForestClassifier(6, max_depth=4, random_state=0), None),
        (pipeline_of("one_hot", RandomForestClassifier(6, max_depth=4, random_state=0)), None),
        (ExtraTreesClassifier(5, max_depth=4, random_state=0), ["sex", "age", "port"]),
        (pipeline_of("one_hot", ExtraTreesClassifier(5, max_depth=4, random_state=0)), None),
        (PRICED, None),
    ],
    ids=["forest", "pipeline", "without samples", "pipeline without samples", "priced"],
)
def test_candidates_take_the_table(estimator, columns):
    X, y = passengers(0, 240) if hasattr(estimator, "steps") else in_cabins(n=240)
    X = X if columns is None else X[columns]
    costs = {name: COSTS[name] for name in X}
    pruner = FeatureBudgetPruner(estimator, feature_costs=costs, budget=4.0, random_state=0)
    pruner.fit(X, y)
    names = pruner.candidates_.names
    assert names[0] == "as given"
    # no set of features is worth more than a column of the user's
    assert all(set(part) <= set(range(X.shape[1])) for part in pruner.candidates_.features)
    seen = set()
    for budget in (1.0, 4.0, 9.0):
        point = pruner.at(budget=budget)
        seen.add(point.candidate_)
        assert point.cost_ <= budget * (1 + 1e-9)
        new = later(200)[list(X)] if columns or not hasattr(estimator, "steps") else X[::-1]
        for rows in (X, new):
            assert_paid_by_hand(point, rows)
    assert seen - {0}
    if estimator is PRICED:
        again = clone(pruner).fit(X, y)
        np.testing.assert_array_equal(again.predict(X), pruner.predict(X))


def test_candidates_of_regression_take_the_table():
    X, _ = in_cabins(n=240)
    value = X.pop("fare") * (1 + (X["sex"] == "male")) + 10 * (X["port"] == "Q")
    costs = {name: COSTS[name] for name in X}
    for kind in (RandomForestRegressor, Complete):
        forest = kind(4, max_depth=4, bootstrap=False, random_state=0)
        pruner = FeatureBudgetPruner(forest, feature_costs=costs, budget="60%", random_state=0)
        pruner.fit(X, value)
        for point in (pruner, pruner.at(budget="90%")):
            lazy = point.predict_lazy(lambda name, rows: X[name].iloc[rows], len(X))
            np.testing.assert_array_equal(lazy.prediction, point.predict(X))
            np.testing.assert_array_equal(lazy.prediction, point.pruned_estimator_.predict(X))
            assert lazy.cost.mean() == pytest.approx(point.cost_)


def test_candidates_of_a_frame_of_numbers_with_gaps():
    X, y = passengers(0, 240)
    X = X[["age", "class", "fare"]].assign(male=(X["sex"] == "male").astype(float))
    pruner = FeatureBudgetPruner(FOREST, budget="50%", random_state=0).fit(X, y)
    assert not hasattr(pruner.estimator_, "steps")
    assert "grown with prices" in pruner.candidates_.names
    assert pruner.feature_cost(X).mean() == pytest.approx(pruner.cost_)


# ------------------------------------------------------------------- forests grown with prices


@pytest.mark.parametrize("purchases", ["rows", "forest", "split"])
def test_budget_forest_on_a_table_is_that_on_complete_codes(purchases):
    X, y = in_cabins(n=240)
    options = {"n_estimators": 4, "purchases": purchases, "penalty": 0.05, "random_state": 0}
    forest = BudgetForestClassifier(feature_costs=COSTS, **options).fit(X, y)
    levels = forest._table.levels
    assert levels[3].tolist() == ["third", "first", "second"]
    rows = coded(X, levels)
    lacking = np.isnan(rows)
    filled = np.where(lacking, np.where(lacking.any(axis=0), -1000.0, 0.0), rows)
    other = BudgetForestClassifier(feature_costs=list(COSTS.values()), **options).fit(filled, y)
    np.testing.assert_array_equal(forest.predict_proba(X), other.predict_proba(filled))
    np.testing.assert_array_equal(forest.predict(X), other.predict(filled))
    np.testing.assert_allclose(
        forest.predict_log_proba(X), other.predict_log_proba(filled), atol=1e-12
    )
    assert forest.cost_ == other.cost_
    # what each row is asked for, by the trees themselves
    values, asked = walked(forest, rows, _same(X))
    np.testing.assert_allclose(forest.predict_proba(X), values, atol=1e-12)
    assert forest.cost_ == pytest.approx((asked @ np.array(list(COSTS.values()))).mean())
    new = later(200)
    values, _ = walked(forest, coded(new, levels), _same(X))
    np.testing.assert_allclose(forest.predict_proba(new), values, atol=1e-12)
    assert forest.feature_names_in_.tolist() == list(X)
    assert get_tags(forest).input_tags.allow_nan


def test_budget_forest_is_read_with_its_table():
    X, y = in_cabins(n=240)
    forest = clone(PRICED).fit(X, y)
    model, new = Model.of(forest), later(200)
    read = model.forest.classes[model.forest.predict_index(model.table.read(new))]
    np.testing.assert_array_equal(read, forest.predict(new))
    assert verify(forest, pickle.loads(pickle.dumps(forest)))
    tree = BornAgainClassifier(FrozenEstimator(forest), max_changes=0, random_state=0).fit(X, y)
    np.testing.assert_array_equal(tree.predict(X), forest.predict(X))
    pruner = pruned(FrozenEstimator(forest), X, y, lam=0.0)
    assert pruner.unpruned_cost_ == pytest.approx(forest.cost_)
    assert type(pruner.pruned_estimator_) is BudgetForestClassifier
    assert_paid_by_hand(pruner, new)
    again = pruned(FrozenEstimator(pruner), X, y, lam=0.01)
    assert type(again.estimator_) is BudgetForestClassifier
    assert_paid_by_hand(again, new)
    with pytest.raises(TypeError, match="members with categories of their own"):
        Model.of(VotingClassifier([("a", PRICED)]).fit(X, y))


class Turned(BudgetForestClassifier):
    def predict(self, X):
        return super().predict(X)[::-1]


def test_a_subclass_with_answers_of_its_own_is_not_read():
    X, y = in_cabins(n=240)
    with pytest.raises(TypeError, match="replaces the method predict"):
        Model.of(Turned(n_estimators=2).fit(X, y))


def test_budget_forest_on_numbers_with_gaps():
    X, y = passengers(0, 240)
    X = X[["age", "class", "fare"]].to_numpy()
    forest = BudgetForestClassifier(n_estimators=3, penalty=0.01, random_state=0).fit(X, y)
    values, asked = walked(forest, X, np.arange(3))
    np.testing.assert_allclose(forest.predict_proba(X), values, atol=1e-12)
    assert forest.cost_ == pytest.approx(asked.sum(axis=1).mean())
    with pytest.raises(ValueError, match="infinity"):
        forest.fit(np.where(np.isnan(X), np.inf, X), y)


# ------------------------------------------------------------------- what is written and said


@pytest.mark.parametrize(
    "tree",
    [
        DecisionTreeClassifier(max_depth=5, random_state=0),
        CompleteTree(max_depth=5, random_state=0),
    ],
)
def test_a_pruned_tree_is_exported_in_its_columns(tree):
    X, y = in_cabins(n=240)
    if is_regressor(tree):
        y = X["age"].fillna(0.0) * (X["sex"] == "male") + 20 * (X["port"] == "S")
    pruner = pruned(tree, X, y, lam=0.002)
    code = export_tree(pruner, "python")
    assert "'Q'" in code
    scope = {}
    exec(code, scope)
    for rows in (X, later(200)):
        rows = rows.astype(object)
        entries = rows.where(rows.notna(), None).to_numpy().tolist()
        records = [dict(zip(rows, entry, strict=True)) for entry in entries]
        found = np.array([scope["predict"](record) for record in records])
        np.testing.assert_array_equal(found, pruner.predict(rows))
        with sqlite3.connect(":memory:") as base:
            base.execute(f"CREATE TABLE people ({', '.join(map(repr, rows))})")
            places = ", ".join("?" * rows.shape[1])
            base.executemany(f"INSERT INTO people VALUES ({places})", map(tuple, entries))
            answers = base.execute(f"SELECT {export_tree(pruner, 'sql')} FROM people").fetchall()
        np.testing.assert_array_equal(np.array(answers)[:, 0].astype(found.dtype), found)


def test_simplify_prunes_tables_with_prices():
    X, y = passengers(0, 240)
    model = pipeline_of("one_hot", FOREST).fit(X, y)
    found = simplify(model, X, y, methods="feature_budget", feature_costs=COSTS, random_state=0)
    pruner = found["feature_budget"].fitted
    assert pruner.cost_ <= 0.5 * pruner.unpruned_cost_
    assert_paid_by_hand(pruner, X)


def test_what_cannot_be_priced_is_refused():
    X, y = passengers(0, 240)
    numbers = X[["age", "class", "fare"]]
    with pytest.raises(TypeError, match="fills in missing values of a column from others"):
        FeatureBudgetPruner(make_pipeline(KNNImputer(), FOREST)).fit(numbers, y)
    with pytest.raises(ValueError, match="names the column 'cabin'"):
        FeatureBudgetPruner(FOREST, feature_costs={"cabin": 1.0}).fit(X, y)
    pruner = FeatureBudgetPruner(FOREST).fit(X, y)
    with pytest.raises(ValueError, match="feature names should match"):
        pruner.predict(X[X.columns[::-1]])
    with pytest.raises(ValueError, match="infinity"):
        pruner.predict(X.assign(age=np.inf))
    with pytest.raises(ValueError, match=r"fetch\('.*', rows\) returned .* for 1 rows"):
        pruner.predict_lazy(lambda name, rows: [np.inf], 1)
    with pytest.raises(ValueError, match=r"for 3 rows.*one level"):
        pruner.predict_lazy(lambda name, rows: ["male"], 3)
    strict = pipeline_of("one_hot_dense", FOREST).fit(X, y)
    pruner = FeatureBudgetPruner(FrozenEstimator(strict)).fit(X, y)
    with pytest.raises(ValueError, match="unknown categories"):
        pruner.predict(X.assign(sex="other"))
    with pytest.raises(ValueError, match="a level that the ensemble has never seen and refuses"):
        pruner.predict_lazy(lambda name, rows: ["other"] if name == "sex" else [1.0], 1)


def test_no_warning_where_nothing_is_wrong():
    X, y = in_cabins(n=240)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for estimator in (FOREST, PRICED):
            pruner = pruned(estimator, X, y)
            pruner.predict(X)
            pruner.predict_proba(later(200))
            pruner.feature_cost(later(200))
            pruner.path_scores(X, y)
