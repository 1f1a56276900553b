"""Codes of levels in the order in which a model's sets of them have few ends."""

from dataclasses import replace
from itertools import permutations, product

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, TargetEncoder
from written_code import by_sqlite

from ensemble_simplify import (
    BornAgainClassifier,
    FaithfulPruner,
    export_model,
    import_model,
    verify,
)
from ensemble_simplify.reading import Model, common_table
from ensemble_simplify.reading.forest import read_forest
from ensemble_simplify.reading.level_order import order_of_sides

pytestmark = [
    pytest.mark.filterwarnings("ignore:`TargetEncoder.shuffle`"),
    pytest.mark.filterwarnings("ignore:Found unknown categories"),
]
KINDS = ["hist", "lightgbm", "xgboost", "one_hot", "target"]


def n_ends(sides, order, n_levels):
    codes = [*order, *range(n_levels, sides.shape[1])]
    return int((sides[:, codes[1:]] != sides[:, codes[:-1]]).sum())


@pytest.mark.parametrize("n_more", [0, 1])
@pytest.mark.parametrize("seed", range(30))
def test_few_ends(seed, n_more):
    rng = np.random.default_rng(seed)
    n_levels = 6
    sides = rng.random((rng.integers(1, 8), n_levels + n_more)) < 0.5
    own = n_ends(sides, range(n_levels), n_levels)
    fewest = min(n_ends(sides, order, n_levels) for order in permutations(range(n_levels)))
    order = order_of_sides(sides, n_levels)
    if order is None:
        assert own <= 1.5 * fewest
        return
    assert sorted(order) == list(range(n_levels))
    found = n_ends(sides, order, n_levels)
    assert found < own
    assert found <= 1.5 * fewest


@pytest.mark.parametrize("seed", range(10))
def test_thresholds_in_any_order_are_found(seed):
    """Sets that are one threshold each in some order are so in the one that is found."""
    rng = np.random.default_rng(seed)
    place = rng.permutation(12)
    sides = place[None] <= rng.choice(11, 25)[:, None]
    sides ^= rng.random(25)[:, None] < 0.5
    order = order_of_sides(sides, 12)
    used = (sides.any(axis=1) & ~sides.all(axis=1)).sum()
    assert n_ends(sides, order, 12) == used
    # where nothing can be gained, all stays as it is
    assert order_of_sides(sides[:, order], 12) is None
    assert order_of_sides(np.ones((3, 12), dtype=bool), 12) is None


def table(seed=0, n_rows=900, n_levels=(9, 6), gaps=0.1):
    rng = np.random.default_rng(seed)
    X, score = pd.DataFrame({"size": rng.normal(size=n_rows).round(2)}), rng.normal(size=n_rows)
    score = score + X["size"].to_numpy()
    for j, n in enumerate(n_levels):
        code = rng.integers(0, n, n_rows)
        score += 2.0 * rng.normal(size=n)[code]
        # names in another order than the effects
        X[f"kind_{j}"] = pd.Series([f"{'hdaegbfcij'[i]}{j}" for i in code], dtype=object)
    for name in X:
        X.loc[rng.random(n_rows) < gaps, name] = np.nan if name == "size" else None
    return X, np.digitize(score, np.quantile(score, [0.3, 0.7]))


def as_categories(X, like):
    X = X.copy()
    for name in X.columns[1:]:
        levels = sorted(set(like[name].dropna()) | set(X[name].dropna()))
        X[name] = pd.Categorical(X[name], categories=levels)
    return X


def fitted(kind, X, y, **parameters):
    text = list(X.columns[1:])
    if kind == "hist":
        model = HistGradientBoostingClassifier(
            max_iter=8, max_leaf_nodes=8, categorical_features="from_dtype", **parameters
        )
        return model.fit(as_categories(X, X), y)
    if kind == "lightgbm":
        package = pytest.importorskip("lightgbm")
        model = package.LGBMClassifier(
            n_estimators=8, num_leaves=8, min_data_per_group=5, cat_smooth=1, verbose=-1, n_jobs=1
        )
        return model.fit(as_categories(X, X), y)
    if kind == "xgboost":
        package = pytest.importorskip("xgboost", "3.1")
        model = package.XGBClassifier(
            n_estimators=8, max_depth=3, enable_categorical=True, n_jobs=1, **parameters
        )
        return model.fit(as_categories(X, X), y)
    encoder = {
        "one_hot": OneHotEncoder(handle_unknown="ignore", sparse_output=False),
        "target": TargetEncoder(random_state=0),
        "ordinal": OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=99),
    }[kind]
    forest = RandomForestClassifier(8, max_leaf_nodes=10, random_state=0)
    prepare = make_column_transformer((encoder, text), remainder="passthrough")
    return make_pipeline(prepare, forest).fit(X, y > 0 if kind == "target" else y)


def odd_rows(kind, X, n_rows=10_000, seed=1):
    """Rows of all levels at random with gaps, and unknown levels where the model takes such."""
    rng = np.random.default_rng(seed)
    rows = pd.DataFrame(
        {name: rng.choice(X[name].to_numpy(), n_rows) for name in X.columns}
    ).astype(X.dtypes)
    # numbers that float32 represents, as all promises are about
    rows["size"] = rows["size"].astype(np.float32).astype(float)
    for name in rows.columns[1:]:
        if kind in ("hist", "one_hot", "target", "ordinal"):
            rows.loc[rng.random(n_rows) < 0.1, name] = "new"
    return rows if kind not in ("hist", "lightgbm", "xgboost") else as_categories(rows, X)


def in_order_of_the_model(model):
    """The forest with the levels in the order in which the model keeps them."""
    table = Model.of(model, check=False).table
    kept = (
        column
        if getattr(column, "categories", None) is None
        else replace(column, levels=column.categories)
        for column in table.columns
    )
    return read_forest(model, like=replace(table, columns=tuple(kept)))


def codes_labels(model, rows):
    return model.forest.classes[model.forest.predict_index(model.table.read(rows))]


@pytest.mark.parametrize("kind", KINDS)
def test_fewer_nodes_and_the_same_labels(kind):
    X, y = table()
    model = fitted(kind, X, y)
    read = Model.of(model, check=False)
    rows = odd_rows(kind, X)
    np.testing.assert_array_equal(codes_labels(read, rows), model.predict(rows))
    plain = in_order_of_the_model(model)
    assert 1.5 * read.forest.on_thresholds.n_nodes < plain.on_thresholds.n_nodes
    assert read.forest.n_nodes == plain.n_nodes
    # what is made of numbers is what the model takes: its categories in their order
    np.testing.assert_array_equal(read.answers(read.table.read(rows)), model.predict(rows))
    if kind in ("lightgbm", "xgboost"):
        frame = read.table.decode(read.table.read(rows))
        for name in X.columns[1:]:
            assert list(frame[name].dtype.categories) == sorted(set(X[name].dropna()))


@pytest.mark.parametrize("drop", [None, "first"])
def test_a_pipeline_has_its_own_nodes_alone(drop):
    """Thresholds on codes would be too many for any limit."""
    X, y = table(n_rows=900, n_levels=(10,) * 4, gaps=0.02)
    X["size"] = X["size"].fillna(0.0)
    handle = "infrequent_if_exist" if drop else "ignore"
    encoder = OneHotEncoder(handle_unknown=handle, drop=drop, min_frequency=24)
    prepare = make_column_transformer((encoder, list(X.columns[1:])), remainder="passthrough")
    model = make_pipeline(prepare, RandomForestClassifier(8, random_state=0)).fit(X, y)
    read = Model.of(model)
    own = [member.tree_.node_count for member in model[-1].estimators_]
    assert np.diff(read.forest.offsets).tolist() == own
    rows = odd_rows("one_hot", X, 1000)
    rows = rows.astype(object).where(rows.notna(), None).astype({"size": float})
    np.testing.assert_array_equal(codes_labels(read, rows), model.predict(rows))
    np.testing.assert_array_equal(
        import_model(export_model(model, "json")).predict(rows), model.predict(rows)
    )
    query = export_model(model, "sql", table="rows", keys=["id"])
    assert len(query) < 400 * sum(own)
    found = by_sqlite(query, rows.iloc[:300])["prediction"]
    np.testing.assert_array_equal(found, model.predict(rows.iloc[:300]))


def test_an_order_in_which_all_is_one_threshold_stays():
    X, y = table(gaps=0.0)
    model = fitted("ordinal", X, y)
    read = Model.of(model, check=False)
    assert read.table.levels[1].tolist() == sorted(set(X["kind_0"]))
    np.testing.assert_array_equal(codes_labels(read, X), model.predict(X))


@pytest.mark.parametrize("kind", ["hist", "one_hot"])
def test_every_row_of_a_small_table(kind):
    X, y = table(n_rows=400, n_levels=(5, 6), gaps=0.05)
    X["size"] = (X["size"] > 0).astype(float)
    model = fitted(kind, X, y)
    pools = [[0.0, 1.0]]
    pools += [[*sorted(set(X[name].dropna())), None, "new"] for name in X.columns[1:]]
    rows = pd.DataFrame(list(product(*pools)), columns=X.columns)
    rows = rows.astype(X.dtypes) if kind == "one_hot" else as_categories(rows, X)
    read = Model.of(model)
    np.testing.assert_array_equal(codes_labels(read, rows), model.predict(rows))
    tree = BornAgainClassifier(FrozenEstimator(model), random_state=0).fit(
        rows, model.predict(rows)
    )
    np.testing.assert_array_equal(tree.predict(rows), model.predict(rows))
    assert tree.verify()
    assert verify(model, tree)


@pytest.mark.parametrize("kind", KINDS)
def test_two_models_of_other_orders(kind):
    X, y = table(gaps=0.0)
    half = np.arange(len(X)) % 2 == 0
    models = [fitted(kind, X, y), fitted(kind, X[half].reset_index(drop=True), y[half])]
    read = [Model.of(model, check=False) for model in models]
    assert any(
        one is not None and one.tolist() != other.tolist()
        for one, other in zip(read[0].table.levels, read[1].table.levels, strict=True)
    )
    rows = odd_rows(kind, X)
    table_of_both, read = common_table(read)
    codes = table_of_both.read(rows)
    for model, own in zip(models, read, strict=True):
        labels = own.forest.classes[own.forest.predict_index(codes)]
        np.testing.assert_array_equal(labels, model.predict(rows))
        np.testing.assert_array_equal(own.answers(codes), model.predict(rows))
        # no more nodes than in the order of the model, on which both would be without another
        n_nodes = in_order_of_the_model(model).on_thresholds.n_nodes
        assert own.forest.on_thresholds.n_nodes <= 1.2 * n_nodes
    assert verify(models[0], models[0])
    assert not verify(*models)


@pytest.mark.parametrize("max_changes", [0, None])
def test_a_pruned_model_is_read_in_the_order_of_the_table(max_changes):
    X, y = table(n_rows=300)
    X = as_categories(X, X)
    model = fitted("hist", X, y > 0)
    pruner = FaithfulPruner(FrozenEstimator(model), max_changes=max_changes, random_state=0)
    pruner.fit(X, y > 0)
    read = Model.of(pruner)
    assert [None if own is None else own.tolist() for own in read.forest.table.levels] == [
        None if own is None else own.tolist() for own in pruner._table.levels
    ]
    rows = odd_rows("hist", X.astype({name: object for name in X.columns[1:]}), 2000)
    np.testing.assert_array_equal(codes_labels(read, rows), pruner.predict(rows))
    assert pruner.verify()


def test_bounds_that_choose_among_codes_are_refused():
    X, y = table(n_rows=300, gaps=0.0)
    model = fitted("one_hot", X, y)
    last = len(Model.of(model).table.levels[1]) - 1
    assert verify(model, model, domain={"bounds": {"kind_0": (0, last)}})
    with pytest.raises(ValueError, match=r"'kind_0' of levels.* give \(0, 8\)"):
        verify(model, model, domain={"bounds": {"kind_0": (0, last - 1)}})
