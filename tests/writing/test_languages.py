"""Trees in other languages answer as the tree: by running SQL, C, Python, rules, and JSON again."""

import ctypes
import datetime
import json
import math
import re
import shutil
import sqlite3
import subprocess
from dataclasses import replace
from functools import partial

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier

from ensemble_simplify import (
    BornAgainClassifier,
    C45Tree,
    CultivatedForestClassifier,
    GenesimClassifier,
    RepresenterTree,
    SelectiveTreeClassifier,
    export_tree,
    import_tree,
)
from ensemble_simplify.grid.thresholds import FLOAT32_MAX, rounding_boundary
from ensemble_simplify.grid.tree_nodes import preorder
from ensemble_simplify.reading.table import Table
from ensemble_simplify.writing.named_tree import NamedTree
from ensemble_simplify.writing.sklearn_tree import write_tree

GCC = shutil.which("gcc")
pytestmark = pytest.mark.filterwarnings("ignore:X does not have valid feature names")
needs_gcc = pytest.mark.skipif(GCC is None, reason="no C compiler")


# ------------------------------------------------------------------- trees and rows


def random_tree(rng, n_leaves, n_features=3, classes=("a", "b", "c"), chain=False, names=None):
    """A tree grown at random, with missing values on either side, or (`chain`) as a chain.

    Thresholds are cut points of doubles, float32 numbers with even and odd last digits, and (of
    features but the first) infinity.
    """
    left, right, feature, threshold = [-1], [-1], [-1], [0.0]
    leaves = [0]
    while len(leaves) < n_leaves:
        node = leaves.pop(-1 if chain else rng.randint(len(leaves)))
        feature[node] = rng.randint(n_features)
        left[node], right[node] = len(left), len(left) + 1
        threshold[node] = rng.choice(
            [rng.normal(), float(np.float32(rng.normal())), 0.0, 2.5, 1e30 * rng.normal(), 1e-40]
        )
        if chain:
            # wherever the chain goes on, both sides of the next test can be reached
            threshold[node] = rng.normal()
        elif feature[node] > 0 and rng.random_sample() < 0.1:
            threshold[node] = np.inf
        below = [left[node], right[node]]
        leaves += below if rng.random_sample() < 0.5 else below[::-1]
        for array, empty in ((left, -1), (right, -1), (feature, -1), (threshold, 0.0)):
            array += [empty, empty]
    nodes, _ = preorder(left, right, feature, threshold)
    rows = np.where(nodes.left < 0, 1, 0)
    for node in range(nodes.n_nodes - 1, -1, -1):
        if nodes.left[node] >= 0:
            rows[node] = rows[nodes.left[node]] + rows[nodes.right[node]]
    if classes is None:
        value = rng.normal(size=nodes.n_nodes) * 10.0 ** rng.randint(-8, 8, nodes.n_nodes)
    else:
        value = rng.dirichlet(np.ones(len(classes)), nodes.n_nodes)
    return write_tree(
        nodes,
        value,
        rows,
        rows.astype(float),
        np.zeros(nodes.n_nodes),
        n_features=n_features,
        classes=classes,
        feature_names=names,
        missing_go_to_left=(rng.random_sample(nodes.n_nodes) < 0.4) & np.isfinite(nodes.threshold),
    )


def hard_rows(tree, rng, n=400, missing=True):
    """Doubles on thresholds, one float32 beside them, and where rounding to float32 changes."""
    splits = tree.tree_.children_left >= 0
    columns = []
    for j in range(tree.n_features_in_):
        t = tree.tree_.threshold[splits & (tree.tree_.feature == j)]
        t = np.unique(t[np.isfinite(t)])
        single = t.astype(np.float32)
        up, down = (np.nextafter(single, np.float32(way)) for way in (np.inf, -np.inf))
        singles = np.concatenate([single, up, down]).astype(float)
        halfway = np.concatenate([(single.astype(float) + s) / 2 for s in (up, down)])
        beside = [np.nextafter(halfway, way) for way in (np.inf, -np.inf)]
        extreme = [-FLOAT32_MAX, FLOAT32_MAX, 0.0, -1e-300, 1e-46, 0.1, 5.0]
        values = np.concatenate([t, singles, halfway, *beside, extreme])
        column = rng.choice(values, n)
        # some rows walk deep: all entries near each other
        column[: n // 2] = rng.choice(values[: -len(extreme)] if len(t) else values, n // 2)
        if missing:
            column[rng.random_sample(n) < 0.15] = np.nan
        columns.append(column)
    return np.column_stack(columns)


def fitted(seed=0, kind=DecisionTreeClassifier, n_classes=3, missing=True, **params):
    rng = np.random.RandomState(seed)
    X = rng.normal(size=(120, 3)).round(2)
    y = (X.sum(axis=1) > 0).astype(int) + (X[:, 0] > 1) * (n_classes > 2)
    if missing:
        X[rng.random_sample(X.shape) < 0.2] = np.nan
    return kind(random_state=0, **params).fit(X, y)


ODD = ["petal length (cm)", 'a "quoted" name', "it's; DROP TABLE x--"]


def trees():
    rng = np.random.RandomState(0)
    yield "binary", fitted(n_classes=2)
    yield "multi_class", fitted(1)
    yield "numbers_alone", fitted(2, missing=False, max_depth=4)
    yield "entropy", fitted(3, criterion="entropy", class_weight="balanced")
    yield "extra", fitted(4, ExtraTreeClassifier)
    yield "regression", fitted(5, DecisionTreeRegressor)
    yield "single_leaf", random_tree(rng, 1)
    yield "single_value", random_tree(rng, 1, classes=None)
    yield "random", random_tree(rng, 60, names=ODD)
    yield "random_values", random_tree(rng, 60, classes=None)
    yield "number_labels", random_tree(rng, 20, classes=(-1, 7))
    yield "float_labels", random_tree(rng, 20, classes=(0.1, 1e-7, 3.0))
    yield "odd_labels", random_tree(rng, 20, classes=("it's", 'a "b"', "*/ \\ \u00e9 %d"))
    yield "true_or_not", random_tree(rng, 9, classes=(False, True))
    yield "chain", random_tree(rng, 201, chain=True, names=ODD)
    yield "wide", random_tree(rng, 400, n_features=300, chain=True)


TREES = dict(trees())


# ------------------------------------------------------------------- running what is written


def run_sql(text, columns, rows):
    """Answers of a SELECT on a table "data", row by row."""
    with sqlite3.connect(":memory:") as connection:
        quoted = ", ".join('"' + name.replace('"', '""') + '"' for name in columns)
        connection.execute(f'CREATE TABLE "data" ({quoted})')
        marks = ", ".join("?" * len(columns))
        entries = [[None if v != v else v for v in row] for row in rows]
        connection.executemany(f'INSERT INTO "data" VALUES ({marks})', entries)
        return connection.execute(text + "ORDER BY rowid").fetchall()


def compiled(text, folder):
    source, library = folder / "tree.c", folder / "tree.so"
    source.write_text(text, encoding="utf-8")
    command = [
        GCC,
        "-std=c99",
        "-pedantic",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-Wno-overlength-strings",
    ]
    command += ["-shared", "-fPIC", "-O1", "-o", str(library), str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return ctypes.CDLL(str(library))


def run_c(text, rows, folder, *, n_proba=0, real=False):
    function = compiled(text, folder).predict
    numbers = ctypes.POINTER(ctypes.c_double)
    rows = np.ascontiguousarray(rows, dtype=np.float64)
    pointers = [row.ctypes.data_as(numbers) for row in rows]
    if n_proba:
        out = np.empty((len(rows), n_proba))
        function.argtypes, function.restype = [numbers, numbers], None
        for row, into in zip(pointers, out, strict=True):
            function(row, into.ctypes.data_as(numbers))
        return out
    function.argtypes, function.restype = [numbers], ctypes.c_double if real else ctypes.c_int
    return np.array([function(row) for row in pointers])


def python_function(text, name="predict"):
    names = {}
    exec(compile(text, "tree.py", "exec"), names)
    return names[name]


@pytest.mark.parametrize("name", TREES)
def test_sql(name):
    tree, rng = TREES[name], np.random.RandomState(1)
    rows = hard_rows(tree, rng)
    columns = getattr(tree, "feature_names_in_", [f"x{j}" for j in range(rows.shape[1])])
    answers = run_sql(export_tree(tree, "sql", table="data"), columns, rows)
    assert [answer for (answer,) in answers] == tree.predict(rows).tolist()
    if not hasattr(tree, "classes_"):
        return
    text = export_tree(tree, "sql", table="data", output="probabilities", name="p")
    np.testing.assert_array_equal(run_sql(text, columns, rows), tree.predict_proba(rows))
    # the expressions alone, in a query of one's own
    text = f'SELECT {export_tree(tree, "sql")} FROM "data" '
    again = run_sql(text, columns, rows)
    assert again == answers


@needs_gcc
@pytest.mark.parametrize("name", TREES)
def test_c(name, tmp_path):
    tree, rng = TREES[name], np.random.RandomState(2)
    rows = hard_rows(tree, rng)
    text = export_tree(tree, "c")
    assert "malloc" not in text
    if not hasattr(tree, "classes_"):
        answers = run_c(text, rows, tmp_path, real=True)
        np.testing.assert_array_equal(answers, tree.predict(rows))
        return
    places = run_c(text, rows, tmp_path)
    assert tree.classes_[places].tolist() == tree.predict(rows).tolist()
    (tmp_path / "proba").mkdir()
    text = export_tree(tree, "c", output="probabilities")
    proba = run_c(text, rows, tmp_path / "proba", n_proba=len(tree.classes_))
    np.testing.assert_array_equal(proba, tree.predict_proba(rows))


@pytest.mark.parametrize("name", TREES)
def test_python(name):
    tree, rng = TREES[name], np.random.RandomState(3)
    rows = hard_rows(tree, rng)
    function = python_function(export_tree(tree, "python"))
    given = rows.tolist()
    if hasattr(tree, "feature_names_in_"):
        given = [dict(zip(tree.feature_names_in_, row, strict=True)) for row in given]
    assert [function(row) for row in given] == tree.predict(rows).tolist()
    if hasattr(tree, "classes_"):
        function = python_function(
            export_tree(tree, "python", output="probabilities", name="shares"), "shares"
        )
        proba = [list(function(row).values()) for row in given]
        np.testing.assert_array_equal(proba, tree.predict_proba(rows))
        assert list(function(given[0])) == tree.classes_.tolist()


@pytest.mark.parametrize("name", TREES)
def test_json_and_back(name):
    tree, rng = TREES[name], np.random.RandomState(4)
    rows = hard_rows(tree, rng)
    text = export_tree(tree, "json")
    again = import_tree(text)
    assert type(again) in (DecisionTreeClassifier, DecisionTreeRegressor)
    assert again.predict(rows).tolist() == tree.predict(rows).tolist()
    if hasattr(tree, "classes_"):
        np.testing.assert_array_equal(again.predict_proba(rows), tree.predict_proba(rows))
        assert again.classes_.tolist() == tree.classes_.tolist()
    assert again.tree_.n_leaves == tree.tree_.n_leaves
    assert sorted(again.tree_.n_node_samples) == sorted(tree.tree_.n_node_samples)
    assert export_tree(again, "json") == text
    kept = getattr(tree, "feature_names_in_", None)
    assert kept is None or again.feature_names_in_.tolist() == list(kept)
    json.loads(text)


# ------------------------------------------------------------------- rules


def holds(condition, row, levels):
    """Whether one condition of a rule holds for a row, a dict; None and unknown levels too."""
    condition = condition.strip()
    if condition.startswith("("):
        condition = condition[1:-1]
    if condition.endswith(" or missing") and " is " not in condition:
        return row_value(condition, row) is None or holds(
            condition[: -len(" or missing")], row, levels
        )
    name = name_in(condition, row)
    value = row[name]
    if found := re.search(r" is (not )?(.+)$", condition):
        state = "missing" if value is None else "unknown" if is_unknown(value, levels[name]) else ""
        return (state in found[2].split(" or ")) != bool(found[1])
    if found := re.search(r" in \{(.*)\}$", condition):
        members = [part.strip() for part in found[1].split(",")]
    elif found := re.search(r" = (.+)$", condition):
        members = [found[1]]
    else:
        if value is None:
            return False
        # decimals that split float32 numbers as the tree does
        value = float(np.float32(value))
        low, high = re.search(r"^(\S+) < ", condition), re.search(r" <= (\S+)$", condition)
        above = re.search(r" > (\S+)$", condition)
        return (
            (low is None or value > float(low[1]))
            and (high is None or value <= float(high[1]))
            and (above is None or value > float(above[1]))
        )
    if value is None:
        return "missing" in members
    if is_unknown(value, levels[name]):
        return "unknown" in members
    return json.dumps(value) in members


def is_unknown(value, levels):
    return levels is not None and value not in levels


def name_in(condition, row):
    return next(name for name in row if re.search(rf"(^| ){re.escape(name)} ", condition))


def row_value(condition, row):
    return row[name_in(condition, row)]


def answers_of_rules(text, rows, levels=None):
    """The answer of the one rule that holds for each row."""
    parsed = []
    for line in text.splitlines():
        head, outcome = re.match(r"(?:if (.*) then|always) (.*)$", line).groups()
        answer = re.match(r"(.*) \([^(]*\)$", outcome)[1]
        parsed.append(([] if head is None else head.split(" and "), answer))
    answers = []
    for row in rows:
        ours = levels or dict.fromkeys(row)
        found = [a for conditions, a in parsed if all(holds(c, row, ours) for c in conditions)]
        assert len(found) == 1, (row, found)
        answers.append(found[0])
    return answers


@pytest.mark.parametrize("name", [name for name in TREES if name not in ("float_labels", "wide")])
def test_rules(name):
    tree, rng = TREES[name], np.random.RandomState(5)
    # missing values are told where the tree has seen some
    missing = name not in ("numbers_alone", "single_leaf", "single_value", "chain")
    rows = hard_rows(tree, rng, 150, missing=missing)
    names = ["first", "second one", "third"]
    text = export_tree(tree, feature_names=names)
    assert text.count("\n") == tree.get_n_leaves()
    given = [dict(zip(names, [None if v != v else v for v in r], strict=True)) for r in rows]
    expected = tree.predict(rows).tolist()
    if not hasattr(tree, "classes_"):
        assert answers_of_rules(text, given) == [f"{value:.6g}" for value in expected]
    else:
        assert answers_of_rules(text, given) == [" ".join(str(e).split()) for e in expected]


def test_rules_by_hand():
    X = [[1.0, 0.0], [2.0, 0.0], [3.0, 0.0], [4.0, 0.0], [4.0, 5.0]]
    tree = DecisionTreeClassifier().fit(X, ["no", "yes", "yes", "no", "no"])
    assert export_tree(tree, feature_names=["size", "other"], class_names=["N", "Y"]) == (
        "if size <= 1.5 then N (100 %, 1 row)\n"
        "if 1.5 < size <= 3.5 then Y (100 %, 2 rows)\n"
        "if size > 3.5 then N (100 %, 2 rows)\n"
    )
    assert export_tree(tree, decimals=2, output="probabilities").splitlines()[1] == (
        "if 1.50 < x0 <= 3.50 then no: 0.00, yes: 1.00 (2 rows)"
    )
    missing = DecisionTreeClassifier().fit([[1.0], [2.0], [np.nan], [np.nan]], [0, 0, 1, 1])
    assert export_tree(missing) == (
        "if x0 is not missing then 0 (100 %, 2 rows)\nif x0 is missing then 1 (100 %, 2 rows)\n"
    )


# ------------------------------------------------------------------- tables


def table_tree(unknown, rng, levels=("C", "it's", "Q"), n_leaves=12):
    """A random tree over codes of two columns and a number, with its table."""
    tree = random_tree(rng, n_leaves, names=["port", "deck IN no.", "age"])
    contents = json.loads(export_tree(tree, "json"))
    contents["columns"][0] |= {"levels": list(levels), "unknown": unknown}
    contents["columns"][1] |= {"levels": [1, 2, 3.5], "unknown": unknown}
    for node in contents["nodes"]:
        if "column" in node and node["column"] < 2:
            node["threshold"] = float(rng.choice([0.5, 1.5, 2.5, 0.25]))
    return import_tree(json.dumps(contents))


def table_rows(tree, rng, n=300):
    """Rows of a table, and the codes that the tree sees."""
    table = tree._table
    port = [*table.levels[0].tolist(), None]
    deck = [*table.levels[1].tolist(), None]
    if table.unknown[0] != "refused":
        port, deck = [*port, "never seen"], [*deck, 99]
    age = hard_rows(tree, rng, n)[:, 2]
    rows = [
        [port[rng.randint(len(port))], deck[rng.randint(len(deck))], None if a != a else a]
        for a in age.tolist()
    ]
    return rows, np.asarray(table.encode(np.array(rows, dtype=object)), dtype=float)


@pytest.mark.parametrize("unknown", ["code", "missing", "refused"])
@pytest.mark.parametrize("seed", range(6))
def test_tables(unknown, seed, tmp_path):
    rng = np.random.RandomState(seed)
    tree = table_tree(unknown, rng)
    rows, codes = table_rows(tree, rng)
    expected = tree.predict(codes).tolist()
    names = ["port", "deck IN no.", "age"]
    sql = run_sql(export_tree(tree, "sql", table="data"), names, rows)
    assert [answer for (answer,) in sql] == expected
    function = python_function(export_tree(tree, "python"))
    given = [dict(zip(names, row, strict=True)) for row in rows]
    assert [function(row) for row in given] == expected
    if GCC is not None:
        text = export_tree(tree, "c")
        assert tree.classes_[run_c(text, codes, tmp_path)].tolist() == expected
        library = compiled(text, tmp_path)
        if 0 in tree.tree_.feature:
            code = library.predict_code_0
            code.argtypes, code.restype = [ctypes.c_char_p], ctypes.c_double
            texts = [None if row[0] is None else row[0].encode() for row in rows]
            np.testing.assert_array_equal([code(text) for text in texts], codes[:, 0])
        if 1 in tree.tree_.feature:
            code = library.predict_code_1
            code.argtypes, code.restype = [ctypes.c_double], ctypes.c_double
            numbers = [np.nan if row[1] is None else row[1] for row in rows]
            np.testing.assert_array_equal([code(number) for number in numbers], codes[:, 1])
    levels = {"port": ["C", "it's", "Q"], "deck IN no.": [1, 2, 3.5], "age": None}
    if "missing" in export_tree(tree):
        assert answers_of_rules(export_tree(tree), given, levels) == expected


LEVELS = {
    "text": [
        "a",
        "it's",
        'q"q',
        "new\nline",
        "back\\slash",
        "% {x}",
        "\u00e9\u6f22",
        "",
        "/* c */",
        "?" * 3,
    ],
    "hundred": [f"level {i}" for i in range(100)],
    "numbers": [3, 1, 2.5, 10**7, -5],
    "truth": [True, False],
    "mixed": ["yes", 1, 2.5],
    "timestamps": list(map(pd.Timestamp, ["2020-01-01", "2021-05-06 07:08:09", "2022-02-02"])),
    "dates": [datetime.date(2020, 1, 1), datetime.date(2021, 1, 1), datetime.date(2022, 2, 2)],
    "intervals": list(pd.interval_range(0, 3)),
    "periods": list(pd.period_range("2020-01", periods=3, freq="M")),
}
LABELS = {
    "int64": np.array([0, 1]),
    "bool": np.array([True, False]),
    "text": np.array(["it's", 'a "b"\n', "\\"]),
    "object": np.array([np.str_("x"), np.str_("y")], dtype=object),
}


@pytest.mark.parametrize("unknown", ["code", "missing"])
@pytest.mark.parametrize("labels", LABELS)
@pytest.mark.parametrize("kind", LEVELS)
def test_levels_and_labels_of_all_kinds(kind, labels, unknown, tmp_path):
    rng = np.random.default_rng(len(kind) + len(labels))
    levels = np.empty(len(LEVELS[kind]), dtype=object)
    levels[:] = LEVELS[kind]
    names = np.array(["lev\"'el", "num"], dtype=object)
    table = Table.of_levels(names, (levels, None), (unknown, "refused"))
    codes = np.column_stack([rng.integers(0, len(levels), 500), rng.normal(size=500)])
    codes[rng.random(codes.shape) < 0.2] = np.nan
    known = LABELS[labels]
    place = (codes[:, 0] % 2 == 1).astype(int) + (codes[:, 1] > 0.3)
    tree = DecisionTreeClassifier(max_leaf_nodes=24, random_state=0)
    tree.fit(codes, known[place % len(known)])
    assert {0, 1} <= set(tree.tree_.feature)
    tree._table = table

    other = "never seen" if isinstance(levels[0], str) else 99
    entries = [*levels.tolist(), None, float("nan"), other]
    around = hard_rows(tree, np.random.RandomState(0), 40)[:, 1].tolist()
    rows = [[entry, None if x != x else x] for entry in entries for x in around]
    frame = np.empty((len(rows), 2), dtype=object)
    frame[:] = rows
    seen = np.asarray(table.encode(frame), dtype=float)
    expected = tree.predict(seen).tolist()
    proba = tree.predict_proba(seen)

    given = [dict(zip(names, row, strict=True)) for row in rows]
    function = python_function(export_tree(tree, "python"))
    assert [function(row) for row in given] == expected
    function = python_function(export_tree(tree, "python", output="probabilities"))
    assert [list(function(row).values()) for row in given] == proba.tolist()
    plain = (bool, int, float, str)
    texts = [e if e is None or isinstance(e, plain) else str(e) for e, _ in rows]
    sql_rows = [[text, x] for text, (_, x) in zip(texts, rows, strict=True)]
    answers = run_sql(export_tree(tree, "sql", table="data"), names, sql_rows)
    assert [answer for (answer,) in answers] == expected
    text = export_tree(tree, "sql", table="data", output="probabilities")
    assert np.array_equal(run_sql(text, names, sql_rows), proba)
    again = import_tree(export_tree(tree, "json"))
    assert np.array_equal(again._table.encode(frame).astype(float), seen, equal_nan=True)
    assert again.predict(seen).tolist() == expected
    assert export_tree(again, "json") == export_tree(
        import_tree(export_tree(again, "json")), "json"
    )
    if GCC is None:
        return
    text = export_tree(tree, "c")
    assert tree.classes_[run_c(text, seen, tmp_path)].tolist() == expected
    code = ctypes.CDLL(str(tmp_path / "tree.so")).predict_code_0
    code.restype, of_text = ctypes.c_double, "code_0(const char" in text
    code.argtypes = [ctypes.c_char_p if of_text else ctypes.c_double]
    for (entry, _), wanted in zip(rows, seen[:, 0], strict=True):
        is_gap = entry is None or entry != entry
        if of_text:
            found = code(None if is_gap else str(entry).encode())
        else:
            found = code(math.nan if is_gap else float(entry))
        assert np.array_equal(found, wanted, equal_nan=True)


def test_levels_whose_texts_are_alike_are_refused():
    tree = table_tree("missing", np.random.RandomState(0))
    stamp = pd.Timestamp("2020-01-01")
    for levels in ([stamp, str(stamp), "x"], [stamp, "None", "x"]):
        own = np.empty(3, dtype=object)
        own[:] = levels
        first, *others = tree._table.columns
        tree._table = replace(tree._table, columns=(replace(first, levels=own), *others))
        for language in ("sql", "c", "python", "json"):
            with pytest.raises(TypeError, match="stands for another level or a missing value"):
                export_tree(tree, language)


def test_levels_that_are_refused(tmp_path):
    tree = table_tree("refused", np.random.RandomState(0))
    assert 0 in tree.tree_.feature
    row = {"port": "never seen", "deck IN no.": 1, "age": 3.0}
    with pytest.raises(ValueError, match="never seen"):
        python_function(export_tree(tree, "python"))(row)
    assert run_sql(export_tree(tree, "sql", table="data"), list(row), [row.values()]) == [(None,)]
    if GCC is not None:
        rows = [[-1.0, 0.0, 3.0]]
        assert run_c(export_tree(tree, "c"), rows, tmp_path).tolist() == [-1]
        text = export_tree(tree, "c", output="probabilities")
        (tmp_path / "p").mkdir()
        assert np.isnan(run_c(text, rows, tmp_path / "p", n_proba=3)).all()


def test_text_of_a_table_by_hand():
    columns = [
        {"name": "port", "levels": ["C", "Q", "S"], "unknown": "code"},
        {"name": "age", "levels": None, "unknown": None},
    ]

    def leaf(rows, *value):
        return {"value": value, "rows": rows, "weight": rows, "impurity": 0.0}

    def split(column, threshold, left, right, missing, rows):
        return leaf(rows, 0.5, 0.5) | {
            "column": column,
            "threshold": threshold,
            "left": left,
            "right": right,
            "missing": missing,
        }

    nodes = [
        split(0, 1.5, 1, 4, "right", 9),
        split(0, 0.5, 2, 3, "right", 4),
        leaf(3, 1.0, 0.0),
        leaf(1, 0.0, 1.0),
        split(1, None, 5, 6, "right", 5),
        leaf(2, 0.75, 0.25),
        leaf(3, 0.0, 1.0),
    ]
    tree = import_tree(
        json.dumps(
            {
                "format": "ensemble_simplify.tree",
                "version": 1,
                "kind": "classifier",
                "columns": columns,
                "classes": ["died", "lived"],
                "nodes": nodes,
            }
        )
    )
    assert export_tree(tree) == (
        'if port = "C" then died (100 %, 3 rows)\n'
        'if port = "Q" then lived (100 %, 1 row)\n'
        'if port in {"S", unknown} and age is not missing then died (75 %, 2 rows)\n'
        'if port in {"S", unknown} and age is missing then lived (100 %, 3 rows)\n'
    )
    holder = GenesimClassifier(shrinkage=0)
    holder.decision_tree_, holder._table = tree, tree._table
    assert holder.export_text() == (
        '|--- port in {"C", "Q"}\n'
        '|   |--- port = "C"\n'
        "|   |   |--- class: died (100 %, 3 rows)\n"
        '|   |--- port = "Q"\n'
        "|   |   |--- class: lived (100 %, 1 row)\n"
        '|--- port in {"S", unknown}\n'
        "|   |--- age is not missing\n"
        "|   |   |--- class: died (75 %, 2 rows)\n"
        "|   |--- age is missing\n"
        "|   |   |--- class: lived (100 %, 3 rows)\n"
    )
    assert holder.export_text(max_depth=0) == (
        '|--- port in {"C", "Q"}\n|   |--- (2 leaves)\n'
        '|--- port in {"S", unknown}\n|   |--- (2 leaves)\n'
    )


def test_none_and_nan_of_levels():
    # a model that knows None as missing takes NaN for a level it never saw, and the other way round
    tree = table_tree("code", np.random.RandomState(3))
    assert 0 in tree.tree_.feature
    for kept in ({"lacks_none": True}, {"knows_nan": True}):
        known = tree._table
        table = Table.of_levels(known.names, known.levels, known.unknown, **kept)
        holder = GenesimClassifier()
        holder.decision_tree_, holder._table = tree, table
        function = python_function(export_tree(holder, "python"))
        for port in (None, np.nan, "C", "Q", "other"):
            for age in (-3.0, 0.0, 3.0):
                for deck in (1, 3.5):
                    row = [port, deck, age]
                    code = table.encode(np.array([row], dtype=object)).astype(float)
                    given = dict(zip(known.names, row, strict=True))
                    assert function(given) == tree.predict(code)[0]


# ------------------------------------------------------------------- boundaries


@given(
    st.one_of(
        st.floats(-FLOAT32_MAX, FLOAT32_MAX),
        st.floats(-FLOAT32_MAX, FLOAT32_MAX, width=32),
        st.floats(-(2.0**-120), 2.0**-120, width=32),
        st.integers(-126, 127).map(lambda e: 2.0**e),
        st.integers(-126, 127).map(lambda e: -(2.0**e)),
    )
)
def test_boundary_is_where_rounding_changes(threshold):
    boundary, inclusive = rounding_boundary(threshold)
    if np.isinf(boundary):
        assert boundary > 0
        assert threshold >= FLOAT32_MAX
        return
    x = boundary + np.zeros(3)
    x[0], x[2] = np.nextafter(x[0], -np.inf), np.nextafter(x[2], np.inf)
    goes_left = x <= boundary if inclusive else x < boundary
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(goes_left, x.astype(np.float32).astype(float) <= threshold)
    # beyond its neighbours nothing changes: rounding to float32 is monotone
    assert goes_left[0]
    assert not goes_left[2]


def test_conditions_are_few_where_nesting_would_not_do():
    # nested CASE overflows the parser of SQLite; many terms overflow its limit of expressions
    text = export_tree(TREES["wide"], "sql")
    assert text.count("CASE") == 1
    assert max(line.count(" AND ") for line in text.split("\n")) > 100
    depth = max(
        len(re.match(" *", line)[0]) for line in export_tree(TREES["chain"], "c").split("\n")
    )
    assert depth <= 4 * 9


# ------------------------------------------------------------------- estimators


def small():
    rng = np.random.RandomState(0)
    X = rng.normal(size=(80, 3))
    return X, np.where(X[:, 0] + X[:, 1] > 0, "up", "down")


@pytest.mark.parametrize(
    "estimator",
    [
        BornAgainClassifier(RandomForestClassifier(2, max_depth=2, random_state=0)),
        RepresenterTree(RandomForestClassifier(5, random_state=0), random_state=0),
        GenesimClassifier(n_bootstraps=3, n_iter=2, population_size=20, random_state=0),
    ],
    ids=lambda e: type(e).__name__,
)
def test_estimators(estimator):
    plt = pytest.importorskip("matplotlib.pyplot")
    X, y = small()
    with pytest.raises(NotFittedError):
        export_tree(estimator)
    with pytest.raises(NotFittedError):
        estimator.export_text()
    estimator.fit(X, y)
    rows = np.random.RandomState(1).normal(size=(100, 3)).astype(np.float32).astype(float)
    function = python_function(export_tree(FrozenEstimator(estimator), "python"))
    assert [function(row) for row in rows.tolist()] == estimator.predict(rows).tolist()
    text = estimator.export_text(feature_names=["a", "b", "c"], decimals=2)
    assert text.count("class: ") == estimator.get_n_leaves()
    fig, ax = plt.subplots()
    notes = estimator.plot(ax=ax, feature_names=["a", "b", "$c$"], class_names=["D", "U"])
    assert {note.axes for note in notes} == {ax}
    n_boxes = sum("samples" in note.get_text() for note in notes)
    assert n_boxes == estimator.decision_tree_.tree_.node_count
    assert not any("#" in note.get_text() for note in notes)
    plt.close(fig)


def test_representers_of_regressors():
    X, _ = small()
    forest = RandomForestRegressor(5, random_state=0)
    tree = RepresenterTree(forest, random_state=0).fit(X, X[:, 0])
    function = python_function(export_tree(tree, "python"))
    assert [function(row) for row in X.tolist()] == tree.predict(X).tolist()
    assert tree.export_text().count("value: ") == tree.get_n_leaves()


def test_picture_speaks_of_levels():
    plt = pytest.importorskip("matplotlib.pyplot")
    tree = table_tree("missing", np.random.RandomState(1))
    holder = GenesimClassifier()
    holder.decision_tree_, holder._table = tree, tree._table
    fig, ax = plt.subplots()
    texts = [note.get_text() for note in holder.plot(ax=ax, node_ids=True, max_depth=2)]
    told = [text.split("\n")[1] for text in texts if "\n" in text.strip() and "(...)" not in text]
    assert any('"' in words for words in told)
    assert sum(text.startswith("node #") for text in texts) == len(told)
    fig.canvas.draw()
    boxes = [
        note.get_bbox_patch().get_window_extent()
        for note in ax.texts
        if note.get_bbox_patch() is not None
    ]
    for i, a in enumerate(boxes):
        for b in boxes[i + 1 :]:
            apart_x = a.x1 <= b.x0 + 1 or b.x1 <= a.x0 + 1
            assert apart_x or a.y1 <= b.y0 + 1 or b.y1 <= a.y0 + 1
    plt.close(fig)


@pytest.mark.parametrize("n_leaves", [1, 4, 32])
@pytest.mark.parametrize("own_axes", [False, True])
def test_boxes_of_pictures_do_not_overlap(n_leaves, own_axes):
    rng = np.random.default_rng(n_leaves)
    levels = np.array([f"a level of {i} long words, and more $of$ them" for i in range(9)])
    names = np.array(["a_name_without_any_white_space_that_goes_on", "a long name of a column"])
    X = np.column_stack([rng.integers(0, 9, 800), rng.normal(size=800)])
    y = np.array(["certainly not", "perhaps some other time", "yes"])[rng.integers(0, 3, 800)]
    tree = DecisionTreeClassifier(max_leaf_nodes=max(n_leaves, 2), random_state=0)
    tree.fit(X if n_leaves > 1 else X[:5], y if n_leaves > 1 else y[:1].repeat(5))
    tree._table = Table.of_levels(names.astype(object), (levels, None), ("missing", "refused"))
    plt.close("all")
    ax = plt.subplots()[1] if own_axes else None
    notes = NamedTree.of(tree).draw(ax)
    figure = notes[0].figure
    figure.canvas.draw()
    boxes = [n.get_bbox_patch().get_window_extent() for n in notes if n.get_bbox_patch()]
    assert len(boxes) == 2 * tree.get_n_leaves() - 1
    for i, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[:i])
        assert figure.bbox.x0 <= box.x0 <= box.x1 <= figure.bbox.x1
        assert figure.bbox.y0 <= box.y0 <= box.y1 <= figure.bbox.y1
    if not own_axes:
        # at the size of ordinary text
        assert notes[0].get_fontsize() > 8
    assert max(len(line) for note in notes for line in note.get_text().split("\n")) <= 28
    plt.close("all")


def test_categories_of_boosting():
    pandas = pytest.importorskip("pandas")
    rng = np.random.RandomState(0)
    port = rng.choice(["C", "Q", "S"], 200)
    table = pandas.DataFrame({"port": pandas.Categorical(port), "age": rng.normal(30, 9, 200)})
    y = (port == "Q") ^ (table["age"] > 35)
    model = HistGradientBoostingClassifier(
        categorical_features="from_dtype",
        max_iter=2,
        learning_rate=1.0,
        max_leaf_nodes=4,
        min_samples_leaf=5,
    ).fit(table, y)
    tree = BornAgainClassifier(FrozenEstimator(model)).fit(table, y)
    function = python_function(export_tree(tree, "python"))
    given = table.astype({"port": object}).to_dict("records")
    assert [function(row) for row in given] == model.predict(table).tolist()
    assert '"Q"' in tree.export_text()


# ------------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"language": "cobol"}, "rules, sql, c, python, json"),
        ({"output": "odds"}, "label or probabilities"),
        ({"language": "c", "table": "t"}, "goes with language='sql'"),
        ({"language": "c", "decimals": 2}, "goes with language='rules'"),
        ({"language": "json", "name": "f"}, "means nothing in json"),
        ({"language": "c", "name": "while"}, "something else in c"),
        ({"language": "python", "name": "class"}, "something else in python"),
        ({"language": "python", "name": "two words"}, "not the name of a function"),
        ({"feature_names": ["a"]}, "1 entries instead of 3"),
        ({"feature_names": ["a", "a", "b"]}, "twice"),
        ({"class_names": ["a"]}, "1 entries instead of"),
    ],
)
def test_parameters_that_do_not_go_together(params, message):
    with pytest.raises(ValueError, match=message):
        export_tree(TREES["binary"], **params)


def test_models_that_are_not_one_tree():
    X, y = small()
    forest = RandomForestClassifier(3, random_state=0).fit(X, y)
    with pytest.raises(TypeError, match=r"RandomForestClassifier.*not one tree.*FrozenEstimator"):
        export_tree(forest)
    with pytest.raises(TypeError, match="is a str"):
        export_tree("tree")
    with pytest.raises(ValueError, match="2 outputs"):
        export_tree(DecisionTreeClassifier().fit(X, np.column_stack([y, y])))
    with pytest.raises(ValueError, match="regressor"):
        export_tree(TREES["regression"], output="probabilities")
    with pytest.raises(ValueError, match="regressor"):
        export_tree(TREES["regression"], class_names=["a"])
    with pytest.raises(TypeError, match="cannot be written in SQL"):
        export_tree(TREES["binary"], "sql", class_names=[b"no", b"yes"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "other"}, "format"),
        ({"version": 2}, "version 2"),
        ({"nodes": [{}]}, "whole tree"),
        ({"kind": "regressor"}, "is a regressor with classes"),
    ],
)
def test_json_that_is_no_tree(change, message):
    data = json.loads(export_tree(TREES["binary"], "json")) | change
    with pytest.raises(ValueError, match=message):
        import_tree(json.dumps(data))
    with pytest.raises(ValueError, match="not JSON"):
        import_tree("{")


def test_cultivated_trees_are_drawn():
    plt = pytest.importorskip("matplotlib.pyplot")
    X, y = small()
    model = CultivatedForestClassifier(max_depth=2, random_state=0).fit(X, y)
    _, ax = plt.subplots()
    display = model.plot(ax=ax, feature_names=["a", "b", "c"])
    assert display.ax_ is ax
    assert any("a" in text.get_text() for text in ax.texts)
    plt.close("all")
    with pytest.raises(TypeError, match="export_text"):
        export_tree(model)


# ------------------------------------------------------------------- names that look like code

NASTY = [
    "*/ int evil; /*\u2028x",
    'a\n--"; DROP TABLE data\r',
    "\x1b[2J\u202eabc\u2066 \\",
    "'\"`??/ %s {0} ${x} </script>",
    "\ufeffbom\x85\x7f\t",
]


def nasty_tree(names=NASTY, classes=("x*/", "b\n'\x1b", "\u202e\u2029")):
    rng = np.random.RandomState(7)
    return random_tree(rng, 30, n_features=len(names), classes=classes, names=list(names))


def run_nasty(tree, rows, folder):
    """Answers of the written SQL, C and Python."""
    names = tree.feature_names_in_
    yield [a for (a,) in run_sql(export_tree(tree, "sql", table="data"), names, rows)]
    function = python_function(export_tree(tree, "python"))
    yield [function(dict(zip(names, row, strict=True))) for row in rows.tolist()]
    if GCC is not None:
        yield tree.classes_[run_c(export_tree(tree, "c"), rows, folder)].tolist()
    yield import_tree(export_tree(tree, "json")).predict(rows).tolist()


def test_names_and_labels_that_look_like_code(tmp_path):
    tree = nasty_tree()
    rows = hard_rows(tree, np.random.RandomState(8), n=200)
    for answers in run_nasty(tree, rows, tmp_path):
        assert answers == tree.predict(rows).tolist()
    for language in ("rules", "c", "python", "json"):
        for output in ("label", "probabilities"):
            text = export_tree(tree, language, output=output)
            assert all(line.isprintable() for line in text.split("\n")), language
    assert import_tree(export_tree(tree, "json")).feature_names_in_.tolist() == NASTY


def test_levels_that_look_like_code(tmp_path):
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame({"kind": [*NASTY, "plain"] * 12, "n": np.arange(72.0)})
    y = np.isin(table["kind"], NASTY[:2]) | (table["n"] > 60)
    model = HistGradientBoostingClassifier(
        max_iter=3, min_samples_leaf=2, categorical_features=["kind"]
    ).fit(table.astype({"kind": "category"}), y)
    tree = BornAgainClassifier(FrozenEstimator(model), max_changes=0, random_state=0)
    tree.fit(table.astype({"kind": "category"}), y)
    truth = tree.predict(table.astype({"kind": "category"})).tolist()
    function = python_function(export_tree(tree, "python"))
    assert [function(row) for row in table.to_dict("records")] == truth
    answers = run_sql(export_tree(tree, "sql", table="data"), table.columns, table.to_numpy())
    assert [a for (a,) in answers] == truth
    text = export_tree(tree, "c")
    assert all(line.isprintable() for line in text.split("\n"))
    if GCC is not None:
        library = compiled(text, tmp_path)
        code = library.predict_code_0
        code.argtypes, code.restype = [ctypes.c_char_p], ctypes.c_double
        rows = [(code(kind.encode()), n) for kind, n in table.itertuples(index=False)]
        library.predict.argtypes = [ctypes.POINTER(ctypes.c_double)]
        found = [library.predict((ctypes.c_double * 2)(*row)) for row in rows]
        assert tree.classes_[found].tolist() == truth


@pytest.mark.parametrize("text", [False, True])
@pytest.mark.parametrize("kind", ["representer", "born-again", "genesim", "C4.5", "selective"])
def test_truth_values_of_the_frame_that_was_fitted_on_are_such_in_sql(kind, text):
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"flag": rng.random(240) < 0.5, "n": rng.normal(size=240)})
    y = np.where(rows["flag"] & (rows["n"] > 0), "yes", "no")
    model = DecisionTreeClassifier(random_state=0)
    if text:
        rows["word"] = rng.choice(["a", "b"], 240)
        encode = make_column_transformer((OrdinalEncoder(), ["word"]), remainder="passthrough")
        model = make_pipeline(encode, model)
    model.fit(rows[::2], y[::2])
    made = {
        "representer": RepresenterTree(FrozenEstimator(model), max_leaf_nodes=4, random_state=0),
        "born-again": BornAgainClassifier(FrozenEstimator(model), max_changes=0),
        "genesim": GenesimClassifier(random_state=0),
        "C4.5": C45Tree(),
        "selective": SelectiveTreeClassifier(
            FrozenEstimator(model), max_disagreement=0.2, random_state=0
        ),
    }[kind].fit(rows[1::2], y[1::2])
    query = (made.export if kind == "selective" else partial(export_tree, made))(
        "sql", table="data"
    )
    # a database that has truth values compares them with no number
    assert re.search(r'NOT "data"."flag"', query)
    assert not re.search(r'"flag" *[<>=]', query)
    found = [answer for (answer,) in run_sql(query, rows.columns, rows.to_numpy())]
    expected = made.predict(rows).astype(object)
    if kind == "selective":
        assert not made.defers(rows).all()
        expected[made.defers(rows)] = None
    assert found == expected.tolist()
    # of a frame that holds numbers instead, they are such
    rows["flag"] = rows["flag"].astype(float)
    made.fit(rows[1::2], y[1::2])
    query = (made.export if kind == "selective" else partial(export_tree, made))(
        "sql", table="data"
    )
    assert '"data"."flag" <=' in query


@pytest.mark.parametrize("bad", ["half \ud800 x", "null \0 x"])
def test_names_that_no_code_can_hold(bad):
    tree = nasty_tree(names=["a", bad, "c"])
    with pytest.raises(TypeError, match="Rename it"):
        export_tree(tree, "sql")
    for language in ("rules", "c", "python", "json"):
        assert export_tree(tree, language).encode().isascii()
    assert import_tree(export_tree(tree, "json")).feature_names_in_.tolist() == ["a", bad, "c"]
    labels = nasty_tree(names=["a", "b", "c"], classes=("a", bad, "c"))
    with pytest.raises(TypeError, match="Rename it"):
        export_tree(labels, "sql")
    assert export_tree(labels, "c").encode().isascii()


@pytest.mark.parametrize("language", ["sql", "python", "json"])
def test_infinite_labels_are_refused(language):
    tree = random_tree(np.random.RandomState(0), 4, classes=(0, 1))
    with pytest.raises(TypeError, match=r"label inf .* cannot be written"):
        export_tree(tree, language, class_names=[np.inf, 1.0])


@pytest.mark.parametrize("scale", [1e154, 1e200, 1e300])
def test_huge_values(scale):
    X = np.random.RandomState(0).normal(size=(80, 3))
    tree = DecisionTreeRegressor(max_depth=3).fit(X, X[:, 0] * scale)
    assert not np.isfinite(tree.tree_.impurity).all()
    text = export_tree(tree, "json")
    again = import_tree(text)
    assert again.predict(X).tolist() == tree.predict(X).tolist()
    assert export_tree(again, "json") == text


# ------------------------------------------------------------------- what is no tree


@pytest.mark.parametrize(
    "text", ["[" * 100_000, '{"a":' * 100_000, "1" * 5000, b"\xff\xfe", "", "\0", None]
)
def test_nonsense_is_not_json(text):
    with pytest.raises(ValueError, match=r"text is not JSON .*Give what export_tree wrote"):
        import_tree(text)


WRONG = [None, True, -1, 2**63, 10**400, 1e400, float("nan"), "", [], {}, [[1]], [[]] * 3]


def places(part, path=()):
    if path:
        yield path
    items = part.items() if isinstance(part, dict) else enumerate(part)
    for key, inner in items if isinstance(part, (dict, list)) else ():
        yield from (
            places(inner, (*path, key)) if isinstance(inner, (dict, list)) else [(*path, key)]
        )


def imported(text):
    try:
        return import_tree(text), None
    except ValueError as error:
        return None, str(error)


@pytest.mark.parametrize("kind", [DecisionTreeClassifier, DecisionTreeRegressor])
def test_any_part_of_json_may_be_wrong(kind):
    X = np.random.RandomState(0).normal(size=(40, 2))
    text = export_tree(kind(max_depth=2).fit(X, X[:, 0] > 0), "json")
    n_refused = 0
    for path in places(json.loads(text)):
        for wrong in WRONG:
            data = part = json.loads(text)
            for key in path[:-1]:
                part = part[key]
            part[path[-1]] = wrong
            tree, error = imported(json.dumps(data))
            if error is None:
                import_tree(export_tree(tree, "json"))
            else:
                n_refused += 1
                assert re.search("Give what export_tree|Export the tree again|version", error)
    assert n_refused > 100
