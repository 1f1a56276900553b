"""SQL in the dialect of each database answers as the model does: by running it there.

What cannot be run here is parsed in its dialect by sqlglot, and run in DuckDB.
"""

import os
import re

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from written_models import CASES, NAMES, TREES_OF_LEVELS, as_array, made, tree_of_levels

from benchmarks._engines import ENGINES, NotHere
from ensemble_simplify import export_model, export_tree
from ensemble_simplify.writing import DIALECTS

# Spark takes half a minute to start: it is run where this is set, every night.
_SPARK = pytest.mark.skipif("RUN_SPARK" not in os.environ, reason="RUN_SPARK is not set")
RUN = [pytest.param(name, marks=[_SPARK] * (name == "spark")) for name in ENGINES]
PARSED = [name for name in DIALECTS if name not in ENGINES]


def query_of(model, options, dialect):
    options = dict(options, table="some rows", dialect=dialect)
    if hasattr(model, "defers"):
        return model.export("sql", keys=["id"], **options)
    if isinstance(model, DecisionTreeClassifier | DecisionTreeRegressor):
        text = export_tree(model, "sql", name="prediction", **options)
        # as a user adds a key
        key = DIALECTS[dialect].name("id") if dialect else '"id"'
        return text.replace("SELECT ", f"SELECT {key}, ", 1)
    return export_model(model, "sql", keys=["id"], **options)


def n_wrong(found, expected):
    found = found.sort_values("id")["prediction"].to_numpy()
    assert len(found) == len(expected)
    if expected.dtype.kind == "f":
        return int((found.astype(float) != expected).sum())
    return int(sum(a != b for a, b in zip(found.tolist(), expected.tolist(), strict=True)))


@pytest.fixture(scope="module", params=RUN)
def engine(request):
    """A dialect, and what runs a query in it."""
    try:
        with ENGINES[request.param]() as (run, _):
            yield request.param, run
    except NotHere as why:
        pytest.skip(str(why))


@pytest.mark.parametrize("case", [*CASES, *TREES_OF_LEVELS])
def test_answers(case, engine):
    dialect, run = engine
    model, rows, expected, options = made(case, dialect)
    query = query_of(model, options, dialect)
    found = n_wrong(run(query, rows, "some rows"), expected)
    if "can differ" in query:
        # it adds in doubles what the model adds in float32
        assert DIALECTS[dialect].single is None
        assert case in ("xgboost", "xgboost_of_values")
        assert found < 5 or case == "xgboost_of_values"
        return
    assert found == 0


@pytest.mark.parametrize("kind", ["forest_of_three", "boosting"])
def test_probabilities(kind, engine):
    dialect, run = engine
    model, rows, _, options = made(kind, dialect)
    options = dict(options, table="rows", keys=["id"], dialect=dialect, output="probabilities")
    found = run(export_model(model, "sql", **options), rows).sort_values("id").drop(columns="id")
    expected = model.predict_proba(as_array(rows))
    np.testing.assert_allclose(found.to_numpy(float), expected, rtol=0, atol=1e-14)


def test_columns_that_are_not_there_are_errors(engine):
    dialect, run = engine
    model, rows, _, options = made("tree_of_numbers", dialect)
    ensemble, _, _, more = made("forest_of_three", dialect)
    rows = rows.rename(columns={NAMES[0]: "other"})
    texts = [query_of(model, options, dialect), query_of(ensemble, more, dialect)]
    if dialect == "sqlite":
        # also where no table is named, and where no dialect is
        alone = export_tree(model, "sql", dialect=dialect, **options)
        texts += [f"SELECT {alone} FROM [some rows]", query_of(model, options, None)]
        texts += [query_of(ensemble, more, None)]
    for text in texts:
        with pytest.raises(Exception, match=r"(?i)column|field|schema"):
            run(text, rows, "some rows")


@pytest.mark.parametrize("case", [*CASES, *TREES_OF_LEVELS])
@pytest.mark.parametrize("dialect", PARSED)
def test_dialects_that_are_parsed(dialect, case):
    sqlglot = pytest.importorskip("sqlglot")
    model, rows, expected, options = made(case, dialect)
    query = query_of(model, options, dialect)
    if dialect == "oracle":
        # a literal of a double, which sqlglot does not know
        query = re.sub(r"(\dE-?\d+)D\b", r"\1", query)
    (text,) = sqlglot.transpile(query, read=dialect, write="duckdb")
    # what is to compare byte by byte does so in DuckDB by itself; its types have no lengths
    text = re.sub(r"COLLATE\(([^()]*), ''\)", r"\1", text)
    text = re.sub(r" COLLATE (utf8|case_sensitive|BINARY|\"\")", "", text).replace("(MAX)", "")
    text = text.replace(" AS BLOB)", " AS TEXT)")
    with ENGINES["duckdb"]() as (run, _):
        found = run(text, rows, "some rows")
    assert n_wrong(found, expected) == 0 or "can differ" in query


def test_names_that_a_database_cannot_hold():
    tree, _, _, _ = made("tree_of_values", None)
    with pytest.raises(TypeError, match="no name in Oracle"):
        export_tree(tree, "sql", feature_names=['a"', "b", "c"], dialect="oracle")
    with_empty = tree_of_levels("code")[0]
    with pytest.raises(TypeError, match="no empty text"):
        export_tree(with_empty, "sql", dialect="oracle")
    with pytest.raises(ValueError, match="form='tables' is not known to run in Spark"):
        export_model(tree, "sql", table="t", dialect="spark", form="tables")
    with pytest.raises(ValueError, match="Choose one of sqlite, duckdb"):
        export_tree(tree, "sql", dialect="sybase")
    with pytest.raises(ValueError, match="goes with language='sql' alone"):
        export_tree(tree, "c", dialect="spark")


@pytest.mark.parametrize("case", ["forest_of_three", "histogram_of_levels"])
@pytest.mark.parametrize("end", ["sql", "csv", "parquet"])
def test_nodes_in_a_table_of_their_own(case, end, tmp_path):
    duckdb = pytest.importorskip("duckdb")
    if end == "parquet":
        pytest.importorskip("pyarrow")
    model, rows, expected, options = made(case, None)
    path = tmp_path / f"own nodes.{end}"
    options = dict(options, table="rows", keys=["id"], form="tables", nodes=path)
    query = export_model(model, "sql", dialect="duckdb", **options)
    assert len(query) < 5000
    with duckdb.connect() as connection:
        frame = rows.assign(id=range(len(rows))).astype(object).where(rows.notna(), None)
        connection.register("rows", frame.assign(id=range(len(rows))))
        load = path.read_text() if end == "sql" else f"CREATE TABLE \"own nodes\" AS FROM '{path}'"
        connection.execute(load)
        found = connection.execute(query).fetchall()
    assert [label for _, label in sorted(found)] == expected.tolist()
    with pytest.raises(ValueError, match="goes with SQL in form='tables'"):
        export_model(model, "c", nodes=path)
