"""agreement of rows that do not lie in memory: the same outcome as of all rows at once."""

from __future__ import annotations

import os
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.ensemble import RandomForestRegressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from benchmarks._engines import NotHere, spark_session
from ensemble_simplify import agreement
from ensemble_simplify.base import Stream

X, Y = load_diabetes(return_X_y=True, as_frame=True)


def regressors():
    forest = RandomForestRegressor(5, max_depth=4, random_state=0).fit(X[::2], Y[::2])
    return forest, DecisionTreeRegressor(max_depth=3, random_state=0).fit(X[::2], Y[::2])


def classifiers():
    high = Y > 140
    deep = DecisionTreeClassifier(max_depth=6, random_state=0).fit(X[::2], high[::2])
    return deep, DecisionTreeClassifier(max_depth=2, random_state=0).fit(X[::2], high[::2])


def of_iterator(frame):
    return iter(np.array_split(frame, [1, 2, 90, 300]))


def of_dask(frame):
    return pytest.importorskip("dask.dataframe").from_pandas(frame, npartitions=3)


@pytest.fixture(scope="module")
def of_spark():
    """A Spark frame of three partitions."""
    if "RUN_SPARK" not in os.environ:
        pytest.skip("RUN_SPARK is not set")
    try:
        with spark_session() as session:
            session.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "100")
            parts = [session.createDataFrame(part) for part in (X[:150], X[150:160], X[160:])]
            yield parts[0].union(parts[1]).union(parts[2])
    except NotHere as why:
        pytest.skip(str(why))


def of_arrow(frame):
    return pytest.importorskip("pyarrow").Table.from_pandas(frame)


def of_dataset(frame, folder):
    frame.to_parquet(folder / "rows.parquet", row_group_size=100)
    return pytest.importorskip("pyarrow.dataset").dataset(folder / "rows.parquet")


def of_path(frame, folder):
    of_dataset(frame, folder)
    return folder


def of_duckdb(frame):
    return pytest.importorskip("duckdb").from_df(frame)


def of_lazy_frame(frame):
    lazy = pytest.importorskip("polars").from_pandas(frame).lazy()
    if not hasattr(lazy, "collect_batches"):
        pytest.skip("This polars has no batches of lazy frames.")
    return lazy


FORMS = [of_iterator, of_dask, of_arrow, of_dataset, of_path, of_duckdb, of_lazy_frame]


@pytest.mark.parametrize(("pair", "atol"), [(regressors, 20.0), (classifiers, None)])
@pytest.mark.parametrize("form", FORMS)
def test_a_stream_has_the_outcome_of_its_rows(form, pair, atol, tmp_path):
    if form in (of_dataset, of_path):
        pytest.importorskip("pyarrow")
        stream, again = form(X, tmp_path), form(X, tmp_path)
    else:
        stream, again = form(X), form(X)
    assert_outcome_of_rows(pair(), stream, again, atol)


@pytest.mark.parametrize(("pair", "atol"), [(regressors, 20.0), (classifiers, None)])
@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support:FutureWarning")
def test_partitions_of_spark_have_the_outcome_of_its_rows(of_spark, pair, atol):
    assert of_spark.rdd.getNumPartitions() == 3
    assert_outcome_of_rows(pair(), of_spark, of_spark, atol)
    pd.testing.assert_frame_equal(pd.concat(Stream.of(of_spark), ignore_index=True), X)


def assert_outcome_of_rows(models, stream, again, atol):
    whole = agreement(*models, X, atol=atol, volume=False)
    parts = agreement(*models, stream, atol=atol)
    # the truth: predict and compare
    a, b = (model.predict(X) for model in models)
    apart = a != b if atol is None else np.abs(a - b) > atol
    for outcome in (whole, parts):
        assert (outcome.n_rows, outcome.n_different) == (len(X), apart.sum())
        assert np.isnan(outcome.volume_estimate)
        assert "volume not measured" in repr(outcome)
    assert agreement(*models, again, atol=atol, volume=False).n_different == apart.sum()
    assert parts.interval == whole.interval
    np.testing.assert_array_equal(parts.box, whole.box)
    np.testing.assert_array_equal(parts.counterexamples, whole.counterexamples)
    if atol is not None:
        np.testing.assert_array_equal(parts.differences, whole.differences)
        assert parts.quantile(0.9) == whole.quantile(0.9)
        assert parts.max_difference == whole.max_difference
        assert parts.r2 == pytest.approx(whole.r2, rel=1e-12)


def test_what_needs_all_rows_at_once_is_refused():
    models = regressors()
    for options, name in [({"volume": True}, "volume=True"), ({"atol": "10%"}, "atol='10%'")]:
        with pytest.raises(ValueError, match=f"{name} needs all rows at once"):
            agreement(*models, of_iterator(X), **options)
    with pytest.raises(ValueError, match="stream without rows"):
        agreement(*models, iter([]))
    with pytest.raises(ValueError, match="volume=False compares rows alone"):
        agreement(*models, volume=False)


def test_outcomes_of_other_tolerances_are_not_merged():
    models = regressors()
    one, other = (agreement(*models, X, atol=atol, volume=False) for atol in (5.0, 6.0))
    with pytest.raises(ValueError, match=r"atol=5\.0.*atol=6\.0.*cannot be merged"):
        one.merge(other)


def test_outcomes_of_other_models_or_columns_are_not_merged():
    forest, tree = regressors()
    other = DecisionTreeRegressor(max_depth=2, random_state=0).fit(X[::2], Y[::2])
    rows = {"atol": 5.0, "volume": False}
    one = agreement(forest, tree, X[:40], **rows)
    for models in ((forest, other), (tree, forest)):
        with pytest.raises(ValueError, match="different models cannot be merged"):
            one.merge(agreement(*models, X[40:], **rows))
    part = X.columns[:9]
    narrow = [clone(model).fit(X.loc[::2, part], Y[::2]) for model in (forest, tree)]
    with pytest.raises(ValueError, match=r"10 columns \(age, .*9 columns \(age"):
        one.merge(agreement(*narrow, X[part], **rows))


def test_outcomes_of_other_processes_are_merged_all_at_once():
    models = regressors()
    rows = {"atol": 20.0, "volume": False}
    parts = [X[i : i + 50] for i in range(0, len(X), 50)]
    # each with models of its own, as a worker has
    outcomes = [agreement(*pickle.loads(pickle.dumps(models)), part, **rows) for part in parts]
    first, *others = [pickle.loads(pickle.dumps(outcome)) for outcome in outcomes]
    merged, whole = first.merge(*others), agreement(*models, X, **rows)
    np.testing.assert_array_equal(merged.differences, whole.differences)
    assert merged.interval == whole.interval
    other = DecisionTreeRegressor(max_depth=2, random_state=0).fit(X[::2], Y[::2])
    with pytest.raises(ValueError, match="different models"):
        first.merge(agreement(models[0], other, X, **rows))


def test_rows_before_drawn_points_stay_in_a_merge():
    models = classifiers()
    first, second = pd.DataFrame(X[:40]), pd.DataFrame(X[40:60])
    merged = agreement(*models, first, random_state=0).merge(agreement(*models, second))
    a, b = (model.predict(X[:60]) for model in models)
    assert merged.n_different == np.sum(a != b)
    np.testing.assert_array_equal(merged.counterexamples, X[:60][a != b][:10])


def test_columns_without_names_are_numbered_in_frames():
    deep, flat = (
        DecisionTreeClassifier(max_depth=depth, random_state=0).fit(X.to_numpy(), Y > 140)
        for depth in (6, 2)
    )
    found = agreement(deep, flat, X.to_numpy(), volume=False)
    numbered = [f"x{j}" for j in range(X.shape[1])]
    assert list(found.to_frame().columns) == [*numbered, "model_a", "model_b"]
    letters = list("abcdefghij")
    assert list(found.to_frame(letters).columns) == [*letters, "model_a", "model_b"]
