"""GENESIM, ISM and the inducers on tables with text, categories and missing values."""

import pickle
import sqlite3
from functools import cache

import numpy as np
import pandas as pd
import pytest
from passengers import coded, in_cabins, later, pipeline_of
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import (
    AdaBoostClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.impute import KNNImputer
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from ensemble_simplify import (
    C45Tree,
    GenesimClassifier,
    GuideTree,
    InterpretableSingleModel,
    ParetoFrontDisplay,
    QuestTree,
    export_tree,
    merge_trees,
    simplify,
    verify,
)
from ensemble_simplify.genesim._merge_trees import GapColumns
from ensemble_simplify.genesim.inducers._inducers import splits_of_bags
from ensemble_simplify.grid import preorder
from ensemble_simplify.reading import Gaps, Model
from ensemble_simplify.writing import apply_nodes

pytestmark = pytest.mark.usefixtures("few_votes")
SMALL = {"n_bootstraps": 3, "n_iter": 4, "n_crossovers": 8, "random_state": 0}
FOREST = RandomForestClassifier(5, max_depth=4, random_state=0)


@cache
def boosting():
    X, y = in_cabins(5)
    X = X.astype({"sex": "category", "port": "category"})
    return HistGradientBoostingClassifier(max_iter=5, max_leaf_nodes=5, random_state=0).fit(X, y)


@cache
def frozen_pipelines():
    X, y = in_cabins(6)
    return [FrozenEstimator(pipeline_of(name).fit(X, y)) for name in ("one_hot_rare", "target")]


MODELS = {
    "auto": lambda: GenesimClassifier(**SMALL),
    "paper": lambda: GenesimClassifier("paper", **SMALL),
    "oob": lambda: GenesimClassifier(fitness="oob", **SMALL),
    "best": lambda: GenesimClassifier(training_weight=0, selection="best", **SMALL),
    "forest": lambda: GenesimClassifier([FOREST], **SMALL),
    "of numbers": lambda: GenesimClassifier(
        [
            AdaBoostClassifier(n_estimators=3, random_state=0),
            GradientBoostingClassifier(n_estimators=3, random_state=0),
            ExtraTreesClassifier(3, max_depth=4, random_state=0),
            DecisionTreeClassifier(random_state=0),
            GuideTree(),
        ],
        **SMALL,
    ),
    "pipelines": lambda: GenesimClassifier(frozen_pipelines(), **SMALL),
    "ISM": lambda: InterpretableSingleModel(FOREST),
    "ISM, boosting": lambda: InterpretableSingleModel(
        GradientBoostingClassifier(n_estimators=5, random_state=0), ccp_alpha=0.001
    ),
    "ISM, pipeline": lambda: InterpretableSingleModel(frozen_pipelines()[1]),
    "C45Tree": C45Tree,
    "QuestTree": QuestTree,
    "GuideTree": GuideTree,
}
each_model = pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)


def walked(tree, codes):
    """The leaf of each row, node by node."""
    nodes, leaves = tree.tree_, []
    for row in codes.astype(np.float32):
        at = 0
        while nodes.children_left[at] >= 0:
            x = row[nodes.feature[at]]
            goes_left = nodes.missing_go_to_left[at] if x != x else x <= nodes.threshold[at]
            at = (nodes.children_left if goes_left else nodes.children_right)[at]
        leaves.append(at)
    return np.array(leaves)


def levels_of(model):
    return [None if own is None else own.tolist() for own in model._table.levels]


@each_model
def test_the_tree_walked_by_hand_and_exported(make):
    X, y = in_cabins()
    model = make().fit(X, y)
    assert model.get_n_leaves() > 2
    np.testing.assert_array_equal(model.feature_names_in_, X.columns)
    for rows in (X, later()):
        tree = model.decision_tree_
        leaf = walked(tree, coded(rows, levels_of(model)))
        proba = tree.tree_.value[leaf, 0]
        np.testing.assert_array_equal(model.predict_proba(rows), proba)
        answers = model.classes_[proba.argmax(axis=1)]
        np.testing.assert_array_equal(model.predict(rows), answers)
        space = {}
        exec(export_tree(model, "python"), space)
        plain = rows.astype(object).where(rows.notna(), None)
        found = [space["predict"](row) for row in plain.to_dict("records")]
        np.testing.assert_array_equal(found, answers)
        base = sqlite3.connect(":memory:")
        base.execute(f"CREATE TABLE t ({', '.join(map(repr, X.columns))})")
        base.executemany("INSERT INTO t VALUES (?, ?, ?, ?, ?)", plain.to_numpy().tolist())
        told = base.execute(f"SELECT {export_tree(model, 'sql')} FROM t ORDER BY rowid")
        np.testing.assert_array_equal([label for (label,) in told], answers)
        base.close()
    for language in ("rules", "c", "json"):
        assert export_tree(model, language)
    assert verify(model, model.decision_tree_)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(later()), model.predict(later()))


@each_model
def test_unknown_levels_are_gaps(make):
    X, y = in_cabins()
    model = make().fit(X, y)
    new, lacking = X.copy(), X.copy()
    new["sex"], lacking["sex"] = "neither", None
    np.testing.assert_array_equal(model.predict_proba(new), model.predict_proba(lacking))
    with pytest.raises(ValueError, match="'age' where 'sex' stood in fit"):
        model.predict(X[["age", "sex", "port", "class", "fare"]])


@each_model
def test_counts_are_those_of_the_rows(make):
    X, y = in_cabins()
    model = make().fit(X, y)
    trees = [model.decision_tree_]
    if isinstance(model, GenesimClassifier):
        trees += model.pareto_front_.trees
    for tree in trees:
        # its decision_path sends gaps right in scikit-learn 1.6
        reached = tree.tree_.apply(model._table.read(X, np.float32))
        held = np.bincount(reached, minlength=tree.tree_.node_count)
        leaf = tree.tree_.children_left < 0
        np.testing.assert_array_equal(held[leaf], tree.tree_.n_node_samples[leaf])


@pytest.mark.parametrize("name", ["oob", "ISM", "C45Tree", "QuestTree", "GuideTree"])
def test_it_is_the_tree_of_the_codes(name):
    """Levels in the order of the mean label, ordered categories in their own."""
    X, y = in_cabins()
    model = MODELS[name]().fit(X, y)
    orders = [
        pd.Series(y == "lived").groupby(X[column]).mean().sort_values().index.tolist()
        for column in ("sex", "port")
    ]
    levels = [orders[0], None, orders[1], ["third", "first", "second"], None]
    by_hand = MODELS[name]().fit(coded(X, levels), y)
    for array in ("feature", "threshold", "value", "n_node_samples", "missing_go_to_left"):
        np.testing.assert_array_equal(
            getattr(model.decision_tree_.tree_, array),
            getattr(by_hand.decision_tree_.tree_, array),
        )
    np.testing.assert_array_equal(model.predict(later()), by_hand.predict(coded(later(), levels)))


def test_scores_and_history_are_about_the_tree_that_is_written():
    X, y = in_cabins()
    model = MODELS["best"]().fit(X, y)
    index = (y == "lived").astype(np.int32)
    rows = model._divide(None, index, np.ones(len(y)), np.random.RandomState(0))
    assert model.validation_score_ == model.history_.best_score[-1]
    front = model.pareto_front_
    for i, n_leaves in enumerate(front.n_leaves):
        own = model.at(n_leaves=n_leaves)
        # the validation rows, once counted in, only change labels for the better
        assert own.score(X.iloc[rows.val], y[rows.val]) >= front.score[i] - 1e-9
    assert front.score[-1] > 0.7


@pytest.mark.parametrize("n_levels", [20, 80])
def test_held_out_rows_have_no_say_in_the_order_of_levels(n_levels):
    rng = np.random.default_rng(0)
    who = rng.integers(0, n_levels, 400)
    y = (rng.random(400) < who % 7 / 7).astype(int)
    X = pd.DataFrame({"who": [f"p{i:03}" for i in who], "x": rng.normal(size=400)})
    model = GenesimClassifier(selection="best", **SMALL).fit(X, y)
    train = model._divide(None, y, np.ones(400), np.random.RandomState(0)).train
    of_train = GuideTree().fit(X.iloc[train], y[train])._table.levels[0].tolist()
    of_all = GuideTree().fit(X, y)._table.levels[0].tolist()
    order = model._table.levels[0].tolist()
    assert sorted(order) == sorted(of_all)  # those of the held-out rows are known, too
    assert [level for level in order if level in of_train] == of_train
    assert order != of_all


def test_native_categories_and_exchange_of_codes():
    """A frozen model's own codes are in another order than those of the table."""
    X, y = in_cabins()
    X = X.astype({"sex": "category", "port": "category"})
    frozen = FrozenEstimator(boosting())
    for model in (GenesimClassifier([frozen], **SMALL), InterpretableSingleModel(frozen)):
        model.fit(X, y)
        levels = levels_of(model)
        leaf = walked(model.decision_tree_, coded(X, levels))
        proba = model.decision_tree_.tree_.value[leaf, 0]
        np.testing.assert_array_equal(model.predict_proba(X), proba)
        assert np.mean(model.predict(X) == frozen.predict(X)) > 0.85
    # grown to the end, ISM's tree answers all training rows as the ensemble does
    whole = InterpretableSingleModel(frozen, min_samples_split=2).fit(X, y)
    assert whole.train_fidelity_ == np.mean(whole.predict(X) == frozen.predict(X)) == 1.0


def test_models_that_do_not_go_with_the_table():
    X, y = in_cabins()
    numbers = FrozenEstimator(clone(FOREST).fit(coded(X, levels_of(C45Tree().fit(X, y))), y))
    with pytest.raises(ValueError, match="numbers in the column 'sex', which is text in X"):
        GenesimClassifier([numbers], **SMALL).fit(X, y)
    with pytest.raises(ValueError, match="numbers in the column 'sex', which is text in X"):
        InterpretableSingleModel(numbers).fit(X, y)
    with pytest.raises(ValueError, match="continuous"):
        GuideTree().fit(X, np.linspace(0, 1, len(X)))


def test_frozen_forest_behind_codes_that_has_seen_the_rows_is_noticed():
    X, y = in_cabins()
    seen = InterpretableSingleModel(FOREST).fit(X, y).estimator_
    with pytest.warns(UserWarning, match="seems to have been fitted on the rows"):
        GenesimClassifier([FrozenEstimator(seen)], **SMALL).fit(X, y)


@pytest.mark.filterwarnings("error")
def test_frozen_forest_behind_codes_of_other_rows():
    X, y = in_cabins()
    unseen = InterpretableSingleModel(FOREST).fit(*in_cabins(8)).estimator_
    model = GenesimClassifier([FrozenEstimator(unseen)], **SMALL).fit(X, y)
    assert model.score(X, y) > 0.75


def test_weights_of_zero_are_rows_that_are_not_there():
    X, y = in_cabins()
    kept = np.arange(len(X)) % 3 > 0
    for make in (GuideTree, lambda: GenesimClassifier(fitness="oob", **SMALL)):
        model = make().fit(X, y, sample_weight=kept.astype(float))
        levels = levels_of(model)
        assert levels == levels_of(make().fit(X[kept], y[kept]))
        assert model.decision_tree_.tree_.n_node_samples[0] == kept.sum()


@pytest.mark.parametrize("name", ["auto", "ISM", "GuideTree"])
def test_arrays_of_objects(name):
    X, y = in_cabins()
    X = X.astype({"class": object})
    model = MODELS[name]().fit(X, y)
    entries = X.to_numpy(dtype=object)
    as_array = MODELS[name]().fit(entries, y)
    np.testing.assert_array_equal(as_array.predict(entries), model.predict(X))
    assert cross_val_score(clone(MODELS[name]()), entries, y, cv=2).mean() > 0.7


@pytest.mark.parametrize("name", ["auto", "ISM", "GuideTree"])
def test_frames_of_polars(name):
    polars = pytest.importorskip("polars")
    X, y = in_cabins()
    X = X.astype({"class": object})
    model = MODELS[name]().fit(X, y)
    frame = polars.DataFrame({key: [None if v != v else v for v in X[key]] for key in X})
    on_polars = MODELS[name]().fit(frame, y)
    np.testing.assert_array_equal(on_polars.predict(frame), model.predict(X))
    assert on_polars.export_text() == model.export_text()


def test_numbers_with_gaps():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    y = ((X[:, 0] > 0) | (X[:, 1] > 1)).astype(int)
    X[rng.random(400) < 0.3 * y, 0] = np.nan  # that it lacks tells the class
    for name in ("auto", "paper", "ISM", "C45Tree", "QuestTree", "GuideTree"):
        model = MODELS[name]().fit(X, y)
        tree = model.decision_tree_
        leaf = walked(tree, X)
        np.testing.assert_array_equal(model.predict_proba(X), tree.tree_.value[leaf, 0])
        assert model.predict(X[np.isnan(X[:, 0])]).mean() > 0.95, name
        assert "missing" in model.export_text()


def test_what_no_row_lacked_goes_to_the_side_of_more_rows():
    X, y = in_cabins()
    X = X.drop(columns=["age", "port"])
    for name in ("auto", "ISM", "QuestTree"):
        tree = MODELS[name]().fit(X, y).decision_tree_.tree_
        inner = tree.children_left >= 0
        weight = tree.weighted_n_node_samples
        more = weight[tree.children_left] > weight[tree.children_right]
        if name != "QuestTree":  # by weight there, by rows here
            more = (
                tree.n_node_samples[tree.children_left] > tree.n_node_samples[tree.children_right]
            )
        np.testing.assert_array_equal(tree.missing_go_to_left[inner], more[inner])


def test_display_and_words():
    X, y = in_cabins()
    model = MODELS["auto"]().fit(X, y)
    display = ParetoFrontDisplay.from_estimator(
        model, later(), y, others={"guide": GuideTree().fit(X, y)}
    )
    scores = [model.at(n_leaves=n).score(later(), y) for n in display.n_leaves]
    np.testing.assert_array_equal(display.score, scores)
    text = model.export_text()
    assert "sex" in text
    assert "missing, unknown}" in text or "missing or unknown" in text
    assert model.plot()


def test_simplify_breeds_a_tree_on_a_table():
    X, y = in_cabins()
    frozen = pipeline_of("one_hot_rare").fit(*in_cabins(5))
    found = simplify(frozen, X, y, methods="genesim", max_leaf_nodes=8, random_state=0)
    tree = found["genesim"]
    assert set(tree.predict(later())) <= {"died", "lived"}
    assert np.mean(tree.predict(X) == frozen.predict(X)) > 0.7


# ------------------------------------------------------------------- merged trees


@cache
def sites():
    """Models of four sites, whose tables have their levels in other orders, or lack some."""
    some, y = in_cabins(9)
    small = RandomForestClassifier(3, max_depth=3, random_state=0)
    without = some[some["port"] != "Q"], y[some["port"] != "Q"]
    return [
        GenesimClassifier(**SMALL).fit(*without),
        InterpretableSingleModel(small).fit(some, y).estimator_,
        pipeline_of("one_hot_rare", small).fit(*in_cabins(10)),
        GuideTree(confidence=0.01).fit(*in_cabins(11)),
        pipeline_of("ordinal_missing", DecisionTreeClassifier(max_depth=3, random_state=0)).fit(
            *in_cabins(12)
        ),
    ]


def in_single(X):
    """Numbers that float32 represents: others, a pipeline may scale to the other side of a cut."""
    return X.astype(dict.fromkeys(["age", "fare"], np.float32)).astype(
        {"age": float, "fare": float}
    )


def mean_of(models, rows):
    return np.mean([model.predict_proba(rows) for model in models], axis=0)


@pytest.mark.parametrize("seed", range(3))
def test_the_merged_tree_of_tables_is_the_mean_of_the_models(seed):
    models = sites()
    models = [models[i] for i in np.random.default_rng(seed).permutation(5)[:3]]
    merged = merge_trees(models, allow_nan=True)
    for rows in (in_single(in_cabins(13)[0]), in_single(later())):
        mean = mean_of(models, rows)
        np.testing.assert_allclose(merged.predict_proba(rows), mean, atol=1e-12)
        space = {}
        exec(export_tree(merged, "python"), space)
        # some of the encoders know NaN as a level, which None is not
        found = [space["predict"](row) for row in rows.astype(object).to_dict("records")]
        np.testing.assert_array_equal(found, merged.predict(rows))
    shrunk = merge_trees(models, allow_nan=True, shrinkage=5)
    np.testing.assert_array_equal(shrunk.predict(later()), merged.predict(later()))
    assert (shrunk.predict_proba(later()) > 0).all()


@pytest.mark.parametrize("i", range(5))
def test_a_model_of_a_table_is_its_own_mean(i):
    model = sites()[i]
    merged = merge_trees([model], allow_nan=True)
    for rows in (in_single(in_cabins(13)[0]), in_single(later())):
        mean = model.predict_proba(rows)
        np.testing.assert_allclose(merged.predict_proba(rows), mean, atol=1e-12)
    fitted = merged[-1].tree_
    assert fitted.weighted_n_node_samples[0] == pytest.approx(
        np.mean([tree.tree_.weighted_n_node_samples[0] for tree in trees_of(model)])
    )


def trees_of(model):
    last = getattr(model, "decision_tree_", model)
    last = last[-1] if hasattr(last, "steps") else last
    return getattr(last, "estimators_", [last])


def test_scaled_numbers_are_merged_in_their_own_units():
    X, y = load_breast_cancer(return_X_y=True)
    scaled = make_pipeline(StandardScaler(), DecisionTreeClassifier(max_depth=3)).fit(X, y)
    plain = DecisionTreeClassifier(max_depth=3).fit(X[::2], y[::2])
    X = X.astype(np.float32).astype(np.float64)
    merged = merge_trees([scaled, plain])
    assert isinstance(merged, DecisionTreeClassifier)
    np.testing.assert_allclose(merged.predict_proba(X), mean_of([scaled, plain], X), atol=1e-12)
    np.testing.assert_allclose(
        merge_trees([scaled]).predict_proba(X), scaled.predict_proba(X), atol=1e-12
    )


def test_tables_that_cannot_be_merged():
    X, y = in_cabins(14, 100)
    strict = OneHotEncoder(handle_unknown="error")
    few, of_few = X[["sex", "class"]], y
    strict = make_pipeline(strict, DecisionTreeClassifier(max_depth=2)).fit(few, of_few)
    more = few.assign(sex=few["sex"].replace("male", "neither"))
    with pytest.raises(ValueError, match="has the level 'neither'"):
        merge_trees([strict, GuideTree().fit(more, of_few)])
    numbers = DecisionTreeClassifier(max_depth=2).fit(few.apply(lambda c: c.factorize()[0]), y)
    with pytest.raises(ValueError, match="In the column 'sex', one model was fitted on levels"):
        merge_trees([strict, numbers])
    filled = make_pipeline(KNNImputer(), DecisionTreeClassifier(max_depth=2))
    filled.fit(X[["age", "fare"]], y)
    with pytest.raises(ValueError, match="fills in missing values from other columns"):
        merge_trees([filled, filled], allow_nan=True)


# ------------------------------------------------------------------- gaps as columns


def random_rows(seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(-3, 4, size=(200, 3)).astype(np.float32)
    X[rng.random((200, 3)) < [0.3, 0.1, 0.0]] = np.nan
    y = rng.integers(0, 3, 200) + np.isnan(X[:, 0])
    return X, y


@pytest.mark.parametrize("seed", range(6))
def test_trees_over_doubled_columns_are_those_of_the_rows(seed):
    """Encoded over axes, decoded, and written: every row, with its gaps, keeps its leaf."""
    X, y = random_rows(seed)
    columns = GapColumns(Gaps.of(X.astype(np.float64)))
    tree = DecisionTreeClassifier(max_leaf_nodes=25, random_state=seed).fit(X, y)
    bags = splits_of_bags(C45Tree(confidence=None), X, y, np.ones((1, len(X))))
    assert bags.missing_left.any()
    for forest in (Model.of(tree).forest, bags):
        axes, widened = columns.axes([forest])
        coded_tree = axes.encode_forest(widened[0])[0]
        nodes, order, missing_left = columns.written(
            axes.decode(coded_tree), np.ones(len(coded_tree), dtype=int)
        )
        # leaves over axes have the numbers of those of the forest
        leaf = coded_tree[order[apply_nodes(nodes, X, missing_left)], 1]
        own, ids = preorder(forest.left, forest.right, forest.feature, forest.threshold)
        np.testing.assert_array_equal(leaf, ids[apply_nodes(own, X, forest.missing_left[ids])])
