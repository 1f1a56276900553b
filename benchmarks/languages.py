"""Written ensembles beside the model itself: labels that differ, time and size.

    kinds    eight kinds of ensembles on a table with text and gaps, in every language: rows at
             thresholds and one float32 beside them, with gaps and levels that nobody knows
    peers    four ensembles of numbers, beside m2cgen, treelite, ONNX and orbital: rows at
             thresholds and one double beside them
    large    a forest of 100 deep trees in C, row by row and in blocks, beside itself and treelite
    dialects the models of ``tests/written_models.py`` in each database that is here (``--engines``)

``--postgres URL`` runs the queries on a PostgreSQL server, too. Peers that are not installed are
left out. Seconds are of the processor, but for PostgreSQL, which works in another process.
"""

from __future__ import annotations

import argparse
import ctypes
import subprocess
import sys
import tempfile
import time
import warnings
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, make_classification
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier

from benchmarks._record import ROOT, environment
from ensemble_simplify import FaithfulPruner, export_model, import_model
from ensemble_simplify.reading import Model

# Rows on which Python, which is slow, is tried.
PYTHON_ROWS = 20_000
MANY = """
void many(const double *rows, long n, long width, int *out)
{{
    for (long i = 0; i < n; i++) out[i] = {name}(rows + i * width);
}}
"""
IN_BLOCKS = """
void many(const double *rows, long n, long width, int *out)
{{
    (void)width;
    {name}_rows(rows, n, out);
}}
"""
M2CGEN = """
int own(const double *x)
{
    double out[2];
    score((double *)x, out);
    return out[1] > out[0];
}
"""


# ------------------------------------------------------------------- running what was written


class Loads:
    """Seconds of the processor, and the answer, of a function."""

    def __init__(self, function, clock=time.process_time):
        begin = clock()
        self.answer = function()
        self.seconds = clock() - begin


def compiled(text, folder, name="predict", strict=True, many=MANY):
    """The library of a C file with a loop over rows, and the bytes of its code and tables."""
    source, code, library = (folder / f"model{end}" for end in (".c", ".o", ".so"))
    source.write_text(text, encoding="utf-8")
    options = ["-std=c99", "-O2", "-fPIC", *(["-Wall", "-Werror"] if strict else ["-w"])]
    subprocess.run(["gcc", *options, "-c", "-o", code, source], check=True)
    told = subprocess.run(["size", code], check=True, capture_output=True, text=True).stdout
    n_bytes = sum(map(int, told.splitlines()[1].split()[:3]))
    source.write_text(text + many.format(name=name), encoding="utf-8")
    subprocess.run(["gcc", *options, "-shared", "-o", library, source, "-lm"], check=True)
    return ctypes.CDLL(str(library)), n_bytes


def by_c(text, rows, name="predict", strict=True, many=MANY):
    """Places of classes, seconds and bytes."""
    with tempfile.TemporaryDirectory() as folder:
        library, n_bytes = compiled(text, Path(folder), name, strict, many)
        rows = np.ascontiguousarray(rows, dtype=np.float64)
        out = np.empty(len(rows), dtype=np.int32)
        address = rows.ctypes.data_as(ctypes.c_void_p), out.ctypes.data_as(ctypes.c_void_p)
        length = map(ctypes.c_long, rows.shape)
        found = Loads(lambda: library.many(address[0], *length, address[1]))
    return out, found.seconds, n_bytes


def coded(text, model, rows):
    """Rows of a table as the C code takes them: its own functions turn levels into codes."""
    with tempfile.TemporaryDirectory() as folder:
        library, _ = compiled(text, Path(folder))
        codes = np.empty(rows.shape)
        for j, name in enumerate(rows):
            if f"predict_code_{j}(" not in text:
                codes[:, j] = pd.to_numeric(rows[name], errors="coerce")
                continue
            function = library[f"predict_code_{j}"]
            function.restype, function.argtypes = ctypes.c_double, [ctypes.c_char_p]
            known = {level: function(str(level).encode()) for level in rows[name].dropna().unique()}
            column = rows[name].astype(object)
            codes[:, j] = [function(None) if pd.isna(v) else known[v] for v in column]
    return codes


def by_sqlite(query, frame):
    """Labels and seconds."""
    import sqlite3

    with sqlite3.connect(":memory:") as connection:
        frame.to_sql("rows", connection, index=False)
        found = Loads(lambda: connection.execute(query).fetchall())
    return [label for _, label in sorted(found.answer)], found.seconds


def by_duckdb(query, frame):
    """The same in DuckDB, without two steps of its optimizer that take long on large queries."""
    import duckdb

    connection = duckdb.connect()
    connection.execute("SET threads = 1")
    connection.execute("SET disabled_optimizers = 'join_order,statistics_propagation'")
    connection.register("given", frame)
    connection.execute("CREATE TABLE rows AS SELECT * FROM given")
    found = Loads(lambda: connection.execute(query).fetchall())
    return [label for _, label in sorted(found.answer)], found.seconds


def by_postgres(query, frame, url):
    """The same in PostgreSQL, by the clock."""
    import psycopg2
    from psycopg2.extras import execute_values

    with psycopg2.connect(url) as connection, connection.cursor() as cursor:
        kinds = ["TEXT" if own.dtype == object else "DOUBLE PRECISION" for _, own in frame.items()]
        listed = ", ".join(f'"{n}" {k}' for n, k in zip(frame, kinds, strict=True))
        cursor.execute(f"DROP TABLE IF EXISTS rows; CREATE TABLE rows ({listed})")
        entries = frame.astype(object).where(frame.notna(), None).to_numpy().tolist()
        execute_values(cursor, "INSERT INTO rows VALUES %s", entries, page_size=5000)

        # else every CASE is compiled first, which takes a minute
        cursor.execute("SET jit = off")

        def answer():
            cursor.execute(query)
            return cursor.fetchall()

        found = Loads(answer, time.perf_counter)
    return [label for _, label in sorted(found.answer)], found.seconds


def by_python(text, rows):
    names: dict = {}
    exec(compile(text, "written", "exec"), names)
    found = Loads(lambda: [names["predict"](row) for row in rows])
    return found.answer, found.seconds


def line(*cells):
    """Print a line of a table."""
    print("| " + " | ".join(map(str, cells)) + " |", flush=True)


def differ(found, expected):
    """How many labels differ."""
    return int((np.asarray(found) != np.asarray(expected)).sum())


# ------------------------------------------------------------------- kinds


def pruned_forest(X, y):
    """A forest that `FaithfulPruner` has pruned."""
    from loans import WORDS

    X = X.drop(columns=WORDS).fillna(0.0)
    forest = RandomForestClassifier(60, max_depth=5, random_state=0)
    return FaithfulPruner(forest, max_changes=0, random_state=0).fit(X, y), X


def kinds(options):
    """Every kind in every language."""
    sys.path.insert(0, str(ROOT / "tests"))
    import loans

    found = [getattr(loans, name) for name in options.kinds]
    print(environment("lightgbm", "xgboost", "catboost", "duckdb", "psycopg2-binary"))
    print(f"\n{options.rows:,} rows each, {min(options.rows, PYTHON_ROWS):,} in Python.\n")
    line("model", "language", "labels that differ", "s", "bytes")
    line(*["---"] * 5)
    for kind in [*found, pruned_forest]:
        model, X = kind(*loans.credit())
        read = Model.of(model, rows=X)
        rows = loans.many(kind, X, read.forest, options.rows)
        own = Loads(lambda kind=kind, model=model, rows=rows: loans.labels_of(kind, model, rows))
        expected, name = own.answer, kind.__name__.replace("_", " ")
        line(name, "the model itself", "", f"{own.seconds:.2f}", "")
        for form in ("tables", "nested"):
            text = export_model(model, "c", X=X, form=form)
            codes = coded(text, model, rows)
            places, seconds, n_bytes = by_c(text, codes)
            labels = read.forest.classes[places]
            line(name, f"C, {form}", differ(labels, expected), f"{seconds:.2f}", f"{n_bytes:,}")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            text = export_model(model, "c", X=X, precision="int16")
            again = import_model(export_model(model, "json", X=X, precision="int16"))
        places, seconds, n_bytes = by_c(text, codes)
        labels = read.forest.classes[places]
        if differ(again.predict(rows), labels):
            raise AssertionError(f"{name}: C in 16 bits is not what was read back")
        line(name, "C, 16 bits", f"{differ(labels, expected):,}", f"{seconds:.2f}", f"{n_bytes:,}")
        query = export_model(model, "sql", table="rows", keys=["id"], X=X)
        frame = rows.copy()
        for column in frame:
            if not pd.api.types.is_numeric_dtype(frame[column]):
                own = frame[column].astype(object)
                frame[column] = own.where(own.notna(), None)
        frame.insert(0, "id", np.arange(len(frame)))
        for language, run in databases(options):
            labels, seconds = run(query, frame)
            line(name, language, differ(labels, expected), f"{seconds:.2f}", f"{len(query):,}")
        text = export_model(model, "python", X=X)
        few = rows[:PYTHON_ROWS].astype(object).to_dict("records")
        labels, seconds = by_python(text, few)
        line(
            name, "Python", differ(labels, expected[: len(few)]), f"{seconds:.2f}", f"{len(text):,}"
        )
        text = export_model(model, "json", X=X)
        found = Loads(lambda text=text, rows=rows: import_model(text).predict(rows))
        line(
            name, "JSON, read back", differ(found.answer, expected), f"{found.seconds:.2f}",
            f"{len(text):,}",
        )  # fmt: skip


def databases(options):
    """Names of databases, and what runs a query on a frame there."""
    found = [("SQLite", by_sqlite), ("DuckDB", by_duckdb)]
    if options.postgres:
        found.append(("PostgreSQL", partial(by_postgres, url=options.postgres)))
    return found


# ------------------------------------------------------------------- peers


def numeric():
    """Four ensembles of numbers, as name and model."""
    import lightgbm
    import xgboost

    X, y = load_breast_cancer(return_X_y=True)
    found = {
        "forest": RandomForestClassifier(50, random_state=0),
        "gradient boosting": GradientBoostingClassifier(n_estimators=50, random_state=0),
        "LightGBM": lightgbm.LGBMClassifier(n_estimators=50, verbose=-1, n_jobs=1),
        "XGBoost": xgboost.XGBClassifier(n_estimators=50, n_jobs=1),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return X, {name: model.fit(X, y) for name, model in found.items()}


def beside(forest, X, n):
    """Rows of which half the numbers are at a threshold of their column or one double beside it."""
    rng = np.random.default_rng(0)
    rows = X[rng.integers(len(X), size=n)]
    for j in range(X.shape[1]):
        cuts = np.unique(forest.threshold[forest.feature == j])
        if len(cuts):
            beside = [np.nextafter(cuts, side) for side in (-np.inf, np.inf)]
            at = np.flatnonzero(rng.random(n) < 0.5)
            rows[at, j] = rng.choice(np.concatenate([cuts, *beside]), len(at))
    return rows


def as_onnx(model, rows):
    import onnxruntime

    first = [("X", _float_type(model)([None, rows.shape[1]]))]
    if type(model).__module__.startswith("sklearn"):
        from skl2onnx import convert_sklearn

        made = convert_sklearn(model, initial_types=first, options={id(model): {"zipmap": False}})
    else:
        import onnxmltools

        convert = {"LGBM": onnxmltools.convert_lightgbm, "XGBC": onnxmltools.convert_xgboost}
        made = convert[type(model).__name__[:4]](model, initial_types=first)
    text = made.SerializeToString()
    limits = onnxruntime.SessionOptions()
    limits.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(text, limits, providers=["CPUExecutionProvider"])
    given = {"X": rows.astype(np.float32)}
    found = Loads(lambda: session.run(None, given)[0])
    return found.answer.ravel(), found.seconds, len(text)


def _float_type(model):
    if type(model).__module__.startswith("sklearn"):
        from skl2onnx.common.data_types import FloatTensorType
    else:
        from onnxmltools.convert.common.data_types import FloatTensorType
    return FloatTensorType


def as_treelite(model, rows):
    import treelite

    kind = type(model).__name__
    if kind == "LGBMClassifier":
        made = treelite.frontend.from_lightgbm(model.booster_)
    elif kind == "XGBClassifier":
        made = treelite.frontend.from_xgboost(model.get_booster())
    else:
        made = treelite.sklearn.import_model(model)
    # in the type in which the model compares, as treelite asks of its users
    rows = rows.astype(np.float32 if kind != "LGBMClassifier" else np.float64)
    found = Loads(lambda: treelite.gtil.predict(made, rows, nthread=1))
    answer = np.asarray(found.answer).reshape(len(rows), -1)
    labels = answer.argmax(axis=1) if answer.shape[1] > 1 else (answer[:, 0] > 0.5).astype(int)
    return labels, found.seconds, len(made.serialize_bytes())


def as_m2cgen(model, rows):
    import m2cgen

    text = m2cgen.export_to_c(model)
    return by_c(text + M2CGEN, rows, "own", strict=False)


def as_orbital(model, rows):
    import duckdb
    import orbital
    from orbital import types
    from sklearn.pipeline import Pipeline

    names = [f"x{j}" for j in range(rows.shape[1])]
    features = dict.fromkeys(names, types.DoubleColumnType())
    made = orbital.parse_pipeline(Pipeline([("model", model)]), features=features)
    query = orbital.export_sql("rows", made, dialect="duckdb")
    connection = duckdb.connect()
    connection.execute("SET threads = 1")
    connection.register("given", pd.DataFrame(rows, columns=names))
    connection.execute("CREATE TABLE rows AS SELECT * FROM given")
    found = Loads(lambda: connection.execute(query).df())
    column = next(c for c in found.answer if "label" in c)
    return found.answer[column].to_numpy().astype(int), found.seconds, len(query)


PEERS = {"m2cgen": as_m2cgen, "treelite": as_treelite, "ONNX": as_onnx, "orbital": as_orbital}


def peers(options):
    """Ours and those of others on the same rows."""
    print(
        environment(
            "lightgbm", "xgboost", "m2cgen", "treelite", "skl2onnx", "onnxmltools", "onnxruntime",
            "orbital", "duckdb",
        )
    )  # fmt: skip
    print(f"\n{options.rows:,} rows at thresholds; for orbital and its rival {options.few:,}.\n")
    line("model", "written by", "labels that differ", "s", "bytes")
    line(*["---"] * 5)
    X, models = numeric()
    for name, model in models.items():
        forest = Model.of(model).finest
        rows = beside(forest, X, options.rows)
        expected = model.predict(rows)
        for form in ("tables", "nested"):
            found, seconds, n_bytes = by_c(export_model(model, "c", form=form), rows)
            line(name, f"C, {form}", differ(found, expected), f"{seconds:.3f}", f"{n_bytes:,}")
        text = export_model(model, "c", precision="int16", X=X)
        found, seconds, n_bytes = by_c(text, rows)
        line(name, "C, 16 bits", f"{differ(found, expected):,}", f"{seconds:.3f}", f"{n_bytes:,}")
        frame = pd.DataFrame(rows[: options.few], columns=[f"x{j}" for j in range(X.shape[1])])
        frame.insert(0, "id", np.arange(len(frame)))
        query = export_model(model, "sql", table="rows", keys=["id"])
        for language, run in databases(options):
            labels, seconds = run(query, frame)
            wrong = differ(labels, expected[: options.few])
            line(name, language, f"{wrong} of {len(frame):,}", f"{seconds:.2f}", f"{len(query):,}")
        for peer, run in PEERS.items():
            own = rows[: options.few] if peer == "orbital" else rows
            try:
                labels, seconds, n_bytes = run(model, own)
            except ImportError:
                continue
            except Exception as error:  # a peer refuses in its own way
                line(name, peer, f"refused: {type(error).__name__}", "", "")
                continue
            wrong = f"{differ(labels, expected[: len(own)]):,}"
            wrong += f" of {len(own):,}" if peer == "orbital" else ""
            line(name, peer, wrong, f"{seconds:.3f}", f"{n_bytes:,}")


def large(options):
    """A forest that the processor's cache does not hold."""
    X, y = make_classification(20_000, 20, n_informative=10, flip_y=0.2, random_state=0)
    model = RandomForestClassifier(100, random_state=0).fit(X, y)
    n_leaves = sum(tree.get_n_leaves() for tree in model.estimators_)
    rows = X + np.random.default_rng(0).normal(scale=0.05, size=X.shape)
    text = export_model(model, "c")
    ways = {
        "C, row by row": lambda: by_c(text, rows),
        "C, in blocks": lambda: by_c(text, rows, many=IN_BLOCKS),
        "treelite": lambda: as_treelite(model, rows),
    }
    expected, seconds = model.predict(rows), {"the model itself": []}
    for _ in range(3):
        seconds["the model itself"].append(Loads(lambda: model.predict(rows)).seconds)
        for name, run in ways.items():
            labels, own, _ = run()
            if differ(labels, expected):
                raise AssertionError(f"{name} answers otherwise")
            seconds.setdefault(name, []).append(own)
    print(environment("treelite"))
    print(f"\n{n_leaves:,} leaves; medians of 3 runs of {len(rows):,} rows, labels all alike.\n")
    line("written by", "µs a row")
    line("---", "---")
    for name, own in seconds.items():
        line(name, f"{1e6 * np.median(own) / len(rows):.1f}")


def dialects(options):
    """Rows that differ, by dialect and kind of model, as a table of reStructuredText."""
    sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "writing")]
    import written_models
    from test_dialects import n_wrong, query_of

    from benchmarks._engines import ENGINES, NotHere

    written_models.N_ROWS = 3000
    cases = [*written_models.CASES, *written_models.TREES_OF_LEVELS]
    columns, wrong = [], {}
    for dialect in options.engines or ENGINES:
        try:
            with ENGINES[dialect]() as (run, title):
                columns.append(title)
                for case in cases:
                    model, rows, expected, more = written_models.made(case, dialect)
                    query = query_of(model, more, dialect)
                    n = n_wrong(run(query, rows, "some rows"), expected)
                    told = " (said)" if "can differ" in query else ""
                    wrong[case, title] = f"{n} of {len(rows):,}{told}"
        except NotHere as why:
            print(f"{dialect}: {why}", file=sys.stderr)
    print(".. list-table::\n   :header-rows: 1\n")
    for head, *cells in [
        ["model", *columns],
        *([case.replace("_", " "), *(wrong[case, own] for own in columns)] for case in cases),
    ]:
        print("\n".join([f"   * - {head}", *(f"     - {cell}" for cell in cells)]))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=["kinds", "peers", "large", "dialects"])
    parser.add_argument("--engines", nargs="+", default=None)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--few", type=int, default=10_000)
    parser.add_argument("--postgres", default=None)
    parser.add_argument(
        "--kinds",
        nargs="+",
        default=[
            "forest",
            "forest_with_a_cut_off",
            "calibrated_forest",
            "histogram",
            "lightgbm_booster",
            "xgboost_classifier",
            "catboost_classifier",
        ],
    )
    options = parser.parse_args()
    parts = {"kinds": kinds, "peers": peers, "large": large, "dialects": dialects}
    parts[options.part](options)


if __name__ == "__main__":
    main()
