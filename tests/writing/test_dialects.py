"""SQL in the dialect of each database answers as the model does: by running it there.

What cannot be run here is parsed in its dialect by sqlglot, and run in DuckDB.
"""

import os
import re

import numpy as np
import pandas as pd
import pytest
from loans import credit
from sklearn.datasets import load_diabetes, load_wine
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.frozen import FrozenEstimator
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from benchmarks._engines import ENGINES, NotHere
from ensemble_simplify import (
    ScorecardClassifier,
    SelectiveTreeClassifier,
    export_model,
    export_tree,
)
from ensemble_simplify.reading import Model, Table
from ensemble_simplify.writing import DIALECTS

# Spark takes half a minute to start: it is run where this is set, every night.
_SPARK = pytest.mark.skipif("RUN_SPARK" not in os.environ, reason="RUN_SPARK is not set")
RUN = [pytest.param(name, marks=[_SPARK] * (name == "spark")) for name in ENGINES]
PARSED = [name for name in DIALECTS if name not in ENGINES]
NAMES = ["petal width (cm)", "it's; DROP TABLE x--", "SELECT"]
ODD = [
    "",
    "a",
    "A",
    "a ",
    " a",
    "it's",
    "\u00e9",
    "E\u0301",
    "back\\slash",
    "\\'",
    "new\nline",
    "%s {}",
]


def around(ends, rng, n):
    """Numbers on some ends, one double and one float32 beside them."""
    single = np.float32(ends)
    beside = [np.nextafter(ends, way) for way in (np.inf, -np.inf)]
    beside += [np.nextafter(single, np.float32(way)) for way in (np.inf, -np.inf)]
    return rng.choice(np.concatenate([ends, single, *beside]).astype(float), n)


def hard_rows(model, names, n=500, gaps=True):
    """Rows at thresholds, as doubles and (every other column) as float32 numbers, with gaps."""
    rng, forest = np.random.default_rng(0), Model.of(model).finest
    ends = forest.ends(Model.of(model).table)
    frame = {}
    for j, name in enumerate(names):
        own = np.unique(ends[(forest.left >= 0) & (forest.feature == j) & np.isfinite(ends)])
        column = around(own if len(own) else np.zeros(1), rng, n)
        column[rng.random(n) < 0.1 * gaps] = np.nan
        frame[name] = column.astype(np.float32 if j % 2 else float)
    return pd.DataFrame(frame)


def as_array(frame):
    return frame.to_numpy(dtype=float)


def _xy(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)).round(3) * 10.0 ** np.array([0, 5, -30])
    y = (X[:, 0] > 0).astype(int) + (X[:, 1] > 0) * (X[:, 2] > 0)
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, y


def tree_of_numbers(**params):
    X, y = _xy(400)
    tree = DecisionTreeClassifier(random_state=0, **params)
    tree.fit(X, np.array(["it's", 'a "b"', "c\\d\u00e9\n"])[y])
    rows = hard_rows(tree, NAMES)
    return tree, rows, tree.predict(as_array(rows)), {"feature_names": NAMES}


def tree_of_values():
    X, y = _xy(300)
    tree = DecisionTreeRegressor(random_state=0).fit(X, y * np.pi)
    rows = hard_rows(tree, NAMES)
    return tree, rows, tree.predict(as_array(rows)), {"feature_names": NAMES}


def tree_of_levels(unknown, dialect=None):
    levels = [own for own in ODD if own or dialect != "oracle"]
    rng = np.random.default_rng(1)
    table = Table.of_levels(
        np.array(["l", "n"], dtype=object), (np.array(levels, object), None), (unknown, "refused")
    )
    codes = np.column_stack([rng.integers(0, len(levels), 600), rng.normal(size=600)])
    codes[rng.random(codes.shape) < 0.1] = np.nan
    tree = DecisionTreeClassifier(max_leaf_nodes=40, random_state=0)
    tree.fit(codes, (codes[:, 0] % 2 == 1) ^ (codes[:, 1] > 0.3))
    tree._table = table
    entries = [*levels, None]
    entries += (
        [] if unknown == "refused" else ["aa", "a  ", "IT'S", "e\u0301", "\u00c9", "backslash"]
    )
    rows = pd.DataFrame(
        {"l": rng.choice(np.array(entries, object), 400), "n": rng.normal(size=400)}
    )
    rows["l"] = rows["l"].astype(object)
    expected = tree.predict(np.asarray(table.encode(rows.to_numpy(object)), float))
    return tree, rows, expected, {}


def tree_of_flags():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {"flag": rng.random(300) < 0.5, "other": rng.random(300) < 0.5, "x": rng.normal(size=300)}
    )
    y = X["flag"] ^ (X["x"] > 0.2) | X["other"] & (X["x"] > 1)
    tree = DecisionTreeClassifier(random_state=0).fit(X, y)
    return tree, X, tree.predict(X), {"X": X}


def forest_of_flags():
    _, X, expected, options = tree_of_flags()
    forest = RandomForestClassifier(7, random_state=0).fit(X, expected)
    return forest, X, forest.predict(X), options


def forest_of_three():
    X, y = load_wine(return_X_y=True)
    model = RandomForestClassifier(12, random_state=0).fit(X, y)
    names = [f"c {j}" for j in range(X.shape[1])]
    rows = hard_rows(model, names)
    return model, rows, model.predict(as_array(rows)), {"feature_names": names}


def deep_forest():
    X, y = _xy(3000)
    model = RandomForestRegressor(3, random_state=0).fit(X, y + np.nan_to_num(X[:, 0]) ** 2)
    rows = hard_rows(model, NAMES)
    return model, rows, model.predict(as_array(rows)), {"feature_names": NAMES}


def boosting():
    X, y = _xy(400)
    model = GradientBoostingClassifier(n_estimators=10, random_state=0).fit(np.nan_to_num(X), y)
    rows = hard_rows(model, NAMES, gaps=False)
    return model, rows, model.predict(as_array(rows)), {"feature_names": NAMES}


def histogram_of_levels():
    X, y = credit(400)
    words = X.select_dtypes(["object", "str"]).columns
    X[words] = X[words].astype("category")
    model = HistGradientBoostingClassifier(max_iter=12, random_state=0).fit(X, y)
    rows = X.copy()
    rows[words] = rows[words].astype(object)
    upper = rows["purpose"].str.upper() + " "
    rows["purpose"] = rows["purpose"].where(np.arange(len(X)) % 5 > 0, upper)
    asked = rows.copy()
    for name in words:
        known = X[name].cat.categories
        asked[name] = pd.Categorical(rows[name].where(rows[name].isin(known)), known)
    return model, rows, model.predict(asked), {}


def xgboost():
    booster = pytest.importorskip("xgboost").XGBClassifier(n_estimators=12, n_jobs=1)
    X, y = _xy(600)
    model = booster.fit(X, y > 0)
    rows = hard_rows(model, NAMES)
    return model, rows, model.predict(as_array(rows)), {"feature_names": NAMES}


def xgboost_of_values():
    booster = pytest.importorskip("xgboost").XGBRegressor(n_estimators=12, n_jobs=1)
    X, y = _xy(600)
    model = booster.fit(X, y + np.nan_to_num(X[:, 0]))
    rows = hard_rows(model, NAMES)
    return model, rows, model.predict(as_array(rows)), {"feature_names": NAMES}


def card():
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    X, y = X.iloc[:, :4], y > 140
    model = ScorecardClassifier(random_state=0).fit(X, y)
    return model, X, model.predict(X), {}


def selective():
    X, y = _xy(700, 3)
    X = np.nan_to_num(X)
    forest = RandomForestClassifier(8, max_depth=4, random_state=0).fit(X[:200], y[:200])
    model = SelectiveTreeClassifier(
        FrozenEstimator(forest), random_state=0, max_disagreement=0.1
    ).fit(X[200:])
    frame = pd.DataFrame(X, columns=["x0", "x1", "x2"])
    assert 0 < model.defers(X).mean() < 1
    return model, frame, model.predict(X), {"otherwise": "model"}


CASES = {
    own.__name__: own
    for own in (
        tree_of_numbers, tree_of_values, tree_of_flags, forest_of_flags, forest_of_three,
        deep_forest, boosting, histogram_of_levels, xgboost, xgboost_of_values, card, selective,
    )
}  # fmt: skip
TREES_OF_LEVELS = ["code", "missing", "refused"]
_made = {}


def made(case, dialect):
    """A model, rows, what it answers, and options."""
    if case in TREES_OF_LEVELS:
        return tree_of_levels(case, dialect)
    if case not in _made:
        _made[case] = CASES[case]()
    return _made[case]


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
        assert (dialect, case) in (("sqlite", "xgboost"), ("sqlite", "xgboost_of_values"))
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
