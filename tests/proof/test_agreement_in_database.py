"""agreement inside DuckDB and PostgreSQL: as predicting and comparing in memory, without rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_iris
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from benchmarks._engines import NotHere, into_postgresql, postgresql_server
from ensemble_simplify import agreement

duckdb = pytest.importorskip("duckdb")
X, Y = load_iris(return_X_y=True, as_frame=True)
Y = np.array(["it's one", "two", "three"])[Y]


@pytest.fixture(scope="module")
def postgresql():
    """Writes a frame as a table of PostgreSQL, and gives what `agreement` takes as its rows."""
    try:
        with postgresql_server() as connection:

            def given(frame):
                into_postgresql(connection, frame, "given")
                return connection, "SELECT * FROM given"

            yield given
    except NotHere as why:
        pytest.skip(str(why))


def pair_of(deep, X, y=Y):
    small = DecisionTreeClassifier(max_leaf_nodes=4, random_state=1).fit(X.iloc[1::2], y[1::2])
    return deep.fit(X.iloc[::2], y[::2]), small


def thresholds_of(model, j):
    """Where column j is split, by any tree of scikit-learn inside the model."""
    found = []
    for tree in getattr(model, "estimators_", [model]):
        if hasattr(model, "_predictors"):
            break
        found += tree.tree_.threshold[tree.tree_.feature == j].tolist()
    for stage in getattr(model, "_predictors", []):
        for tree in stage:
            inner = tree.nodes[tree.nodes["is_leaf"] == 0]
            found += inner["num_threshold"][inner["feature_idx"] == j].tolist()
    return found


def around_thresholds(models, dtype):
    """Rows with a number at a threshold, its float32, or one unit beside either, in each column."""
    rng, columns = np.random.default_rng(0), {}
    for j, name in enumerate(X):
        ends = np.array([end for model in models for end in thresholds_of(model, j)])
        ends = ends if len(ends) else np.ones(1)
        # halfway to the next float32 number, the rounding turns
        single = ends.astype(np.float32)
        middle = (single.astype(float) + np.nextafter(single, np.float32(np.inf))) / 2
        near = [
            side
            for own in (ends, single.astype(float), middle)
            for side in (own, np.nextafter(own, np.inf), np.nextafter(own, -np.inf))
        ]
        columns[name] = rng.choice(np.concatenate(near), 3000).astype(dtype)
    return pd.DataFrame(columns)


def assert_same(models, rows, relation=None):
    relation = duckdb.from_df(rows) if relation is None else relation
    found = agreement(*models, relation, in_database=True)
    whole = agreement(*models, rows, volume=False)
    # the truth: predict and compare
    a, b = (model.predict(rows) for model in models)
    assert (found.n_rows, found.n_different) == (len(rows), np.sum(a != b))
    assert found.interval == whole.interval
    assert found.share == whole.share
    np.testing.assert_array_equal(found.box, whole.box)
    np.testing.assert_array_equal(found.counterexamples, whole.counterexamples)
    assert found.predictions == list(zip(a[a != b], b[a != b], strict=True))[:10]
    pd.testing.assert_frame_equal(found.to_frame(), whole.to_frame())
    return found


FORESTS = [
    RandomForestClassifier(10, random_state=0),
    HistGradientBoostingClassifier(max_iter=10, random_state=0),
    DecisionTreeClassifier(random_state=0),
]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("deep", FORESTS)
def test_numbers_at_thresholds(deep, dtype):
    models = pair_of(deep, X)
    rows = around_thresholds(models, dtype)
    assert assert_same(models, rows).n_different > 100


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("deep", FORESTS)
def test_numbers_at_thresholds_in_postgresql(deep, dtype, postgresql):
    models = pair_of(deep, X)
    rows = around_thresholds(models, dtype)
    assert assert_same(models, rows, postgresql(rows)).n_different > 100


def test_levels_and_gaps_in_postgresql(postgresql):
    rows = loans(1000, ["other", "rent"])
    assert assert_same(models_of_levels("ignore"), rows, postgresql(rows)).n_different > 10
    rows = X.mask(np.random.default_rng(0).random(X.shape) < 0.2)
    models = pair_of(HistGradientBoostingClassifier(max_iter=10, random_state=0), rows)
    connection, query = postgresql(rows)
    assert_same(models, rows, (connection, query))
    # a NaN is a gap as NULL is
    nan = ", ".join(f'coalesce("{name}", \'NaN\') AS "{name}"' for name in X)
    assert_same(models, rows, (connection, f"SELECT {nan} FROM given"))
    with pytest.raises(ValueError, match="without rows"):
        agreement(*models, (connection, f"{query} LIMIT 0"), in_database=True)


def test_gaps_of_both_kinds():
    rng = np.random.default_rng(0)
    rows = X.mask(rng.random(X.shape) < 0.2)
    models = pair_of(HistGradientBoostingClassifier(max_iter=10, random_state=0), rows)
    # a NaN is a gap as NULL is
    first, *others = (f'"{name}"' for name in X)
    listed = ", ".join([f"coalesce({first}, CAST('NaN' AS DOUBLE)) AS {first}", *others])
    with duckdb.connect() as connection:
        connection.register("given", rows)
        assert_same(models, rows, connection.sql(f"SELECT {listed} FROM given"))


def loans(n, more=()):
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "home": rng.choice(["own", "rent ", "Rent", "O'Neil", *more], n),
            "rooms": rng.integers(1, 6, n),
            "owner": rng.random(n) < 0.5,
            "income": rng.normal(size=n).round(3),
        }
    )


def models_of_levels(handle):
    rows = loans(400)
    y = (rows.income + (rows.home == "Rent") + rows.owner + rows.rooms / 4 > 1.5).to_numpy()
    coded = make_column_transformer(
        (OneHotEncoder(handle_unknown=handle), ["home"]), remainder="passthrough"
    )
    forest = RandomForestClassifier(5, random_state=0)
    small = DecisionTreeClassifier(max_leaf_nodes=4, random_state=0)
    return [make_pipeline(coded, model).fit(rows, y) for model in (forest, small)]


def test_texts_booleans_and_unknown_levels():
    models = models_of_levels("ignore")
    assert assert_same(models, loans(1000, ["other", "rent"])).n_different > 10
    # what refuses unknown levels in memory does so here
    strict, new = models_of_levels("error"), loans(1000, ["other"])
    assert_same(strict, loans(1000))
    with pytest.raises(ValueError, match="other"):
        agreement(*strict, new, volume=False)
    with pytest.raises(ValueError, match="other"):
        agreement(*strict, duckdb.from_df(new), in_database=True)


def test_labels_of_two_types_and_gaps_that_are_refused():
    codes = np.unique(Y, return_inverse=True)[1]
    forest = RandomForestClassifier(5, random_state=0).fit(X, codes)
    others = DecisionTreeClassifier(random_state=0).fit(X, codes.astype(str))
    found = agreement(forest, others, duckdb.from_df(X), in_database=True)
    assert found.share == 0.0
    floats = DecisionTreeClassifier(random_state=0).fit(X, codes.astype(float))
    assert agreement(forest, floats, duckdb.from_df(X), in_database=True).share > 0.9
    boosted = HistGradientBoostingClassifier(max_iter=2).fit(X.to_numpy(), codes)
    beyond = X.replace({"sepal width (cm)": {3.0: np.inf}})
    with pytest.raises(ValueError, match=r"infinity|too large"):
        agreement(forest, boosted, duckdb.from_df(beyond), in_database=True)


def test_what_does_not_run_inside_is_refused():
    models = pair_of(RandomForestClassifier(5, random_state=0), X)
    relation = duckdb.from_df(X)
    scaled = make_pipeline(StandardScaler(), RandomForestClassifier(5, random_state=0)).fit(X, Y)
    threads = RandomForestClassifier(7, max_leaf_nodes=4, random_state=0, n_jobs=2).fit(X, Y)
    values = DecisionTreeRegressor().fit(X, X.iloc[:, 0])
    narrow = relation.select(*[duckdb.ColumnExpression(name) for name in X.columns[:3]])
    large = duckdb.from_df(X.assign(**{X.columns[0]: 2**53 + 1}))
    for given, rows, options, told in [
        (models, X, {}, "neither a relation of DuckDB nor"),
        (models, relation, {"volume": True}, "labels of rows alone"),
        (models, relation, {"atol": 0.1}, "labels of rows alone"),
        (models, relation.limit(0), {}, "without rows"),
        (models, relation.project("CAST(columns(*) AS DECIMAL(8, 3))"), {}, "DECIMAL"),
        (models, narrow, {}, "3 columns"),
        ((values, values), relation, {}, "no labels"),
        (models, large, {}, "beyond"),
        ((scaled, models[1]), relation, {}, "computes with the numbers"),
        ((threads, models[1]), relation, {}, "not exact.*add"),
    ]:
        with pytest.raises(ValueError, match=told):
            agreement(*given, rows, in_database=True, **options)
