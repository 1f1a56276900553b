"""Labels of two models compared where the rows lie: by one query of a database, and by witnesses.

The query has the labels of the second model beside those of the first, and sums up what an
`Agreement` is made of. Its first rows with different labels, and the ends of each column, are then
compared in memory. So the models themselves confirm that labels differ, and refuse what they do not
take.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from ensemble_simplify.proof.agreed import SHOWN, Agreement, interval_of
from ensemble_simplify.writing import DIALECTS, NamedEnsemble, caveats, ensemble_in_sql

_INTEGERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER")
_OF_FLOATS = "NULLIF({0}, 'NaN')"
_CELLS = {"FLOAT": _OF_FLOATS, "DOUBLE": _OF_FLOATS, "BOOLEAN": "CAST({0} AS INTEGER)"}
# Types of PostgreSQL by their numbers, which never change, as DuckDB calls them.
_POSTGRESQL = {16: "BOOLEAN", 20: "BIGINT", 21: "SMALLINT", 23: "INTEGER", 700: "FLOAT"}
_POSTGRESQL |= {701: "DOUBLE", 25: "VARCHAR", 1043: "VARCHAR"}
# Larger whole numbers may be no doubles, and then are not rounded alike everywhere.
_WHOLE = 2**53


def agreement_inside(
    models: list, X: Any, ask: Callable[[Any], Agreement], confidence: float
) -> Agreement:
    """The agreement of labels on the rows of a database; `ask` compares rows in memory."""
    if isinstance(X, tuple) and len(X) == 2 and hasattr(X[0], "cursor"):
        dialect, names, kinds, answer = _of_postgresql(*X)
    elif all(hasattr(X, name) for name in ("query", "columns", "types")):
        dialect, names, kinds, answer = _of_duckdb(X)
    else:
        what = f"X is a {type(X).__name__}"
        raise _refusal(f"{what}, neither a relation of DuckDB nor a connection and a query")
    widths = [len(model.table) for model in models]
    if widths != [len(names)] * 2:
        raise ValueError(
            f"X has {len(names)} columns, but the models were fitted on {widths[0]} and "
            f"{widths[1]}. Select the columns that they were fitted on."
        )
    if any(model.classes is None for model in models):
        raise _refusal("regressors have no labels")
    n, n_different, *told = answer(_query(models, names, kinds, dialect))
    if not n:
        raise ValueError("X is a relation without rows. Give one with some.")
    first, held = told[: len(names)], told[len(names) :]
    # the ends of columns with fewer of them stand there twice
    ends = [[own[i % len(own)] for own in held] for i in range(max(map(len, held)))]
    rows = list(zip(*first, strict=True)) if n_different else []
    parts = [ask(_frame(own, names, kinds)) for own in (rows, ends) if own]
    whole, n_shown = parts[0].merge(*parts[1:]), len(rows)
    if rows and parts[0].n_different < n_shown:
        raise _refusal(f"{dialect.title} answers some rows of X otherwise than the models do")
    return replace(
        whole,
        share=1.0 - n_different / n,
        interval=interval_of(n - n_different, n, confidence),
        n_rows=n,
        n_different=n_different,
        counterexamples=whole.counterexamples[:n_shown],
        predictions=whole.predictions[:n_shown],
    )


def _of_duckdb(relation):
    """The dialect, names and types of columns, and what answers a query, of a relation."""
    # steps that are not kept whole are streams: memory does not grow with the rows
    dialect = replace(DIALECTS["duckdb"], opens="AS (")
    names, kinds = list(relation.columns), [str(kind) for kind in relation.types]
    return dialect, names, kinds, lambda q: relation.query("rows_of_x", f"WITH {q}").fetchall()[0]


def _of_postgresql(connection, source):
    """The same of a query and the connection to PostgreSQL that answers it."""

    def asked(query):
        with connection.cursor() as cursor:
            cursor.execute(f"WITH rows_of_x AS ({source}) {query}")
            return cursor.description, cursor.fetchone()

    columns, _ = asked("SELECT * FROM rows_of_x LIMIT 0")
    names = [own[0] for own in columns]
    kinds = [_POSTGRESQL.get(own[1], f"with the number {own[1]}") for own in columns]
    # an offset keeps steps from being merged, and computed wherever their columns are used
    dialect = replace(DIALECTS["postgresql"], opens="AS (", closes="\n  OFFSET 0")
    return dialect, names, kinds, lambda query: asked(f", {query}")[1]


def _query(models, names, kinds, dialect):
    """Steps, and a query of one row: counts, the first rows that differ, the ends of columns."""
    cells, ends, columns = [], [], [f"x{j}" for j in range(len(names))]
    for j, (x, name, kind) in enumerate(zip(columns, names, kinds, strict=True)):
        known = [model.table.levels[j] for model in models]
        levels = [level for own in known if own is not None for level in own.tolist()]
        cells.append(f"{_cell(name, kind, levels, dialect)} AS {x}")
        own = f"ARRAY[min({x}), max({x})]"
        if levels:
            own = f"array_agg(DISTINCT {x}) FILTER (WHERE {x} IS NOT NULL)"
        ends.append(
            f"CASE WHEN count({x}) < count(*) THEN array_append({own}, NULL) ELSE {own} END"
        )
    carried, source = columns, "cells"
    steps = [f"cells AS (SELECT {', '.join(cells)} FROM rows_of_x)"]
    classes = [model.classes.tolist() for model in models]
    # labels are numbers, the same wherever labels are
    every = [*classes[0], *(label for label in classes[1] if label not in classes[0])]
    codes = [[every.index(label) for label in own] for own in classes]
    for model, label, own in zip(models, ("label_a", "label_b"), codes, strict=True):
        called = {"feature_names": columns, "class_names": own}
        written = NamedEnsemble.of(model.estimator, **called).shortened()
        parts = [model.estimator, *model.estimator.get_params().values()]
        if model.forest.is_finer and any(isinstance(part, Pipeline) for part in parts):
            raise _refusal(f"{model.name}(...) computes with the numbers of a column")
        if told := caveats(written, dialect, None):
            raise _refusal(f"SQL of {model.name}(...) is not exact. {told[0]}")
        text = ensemble_in_sql(written, False, label, source, carried, dialect=dialect)
        steps.append(f"with_{label} AS ({text})")
        carried, source = [*carried, label], f"with_{label}"
    # the number of rows so far that differ: the first ones are known without sorting
    apart = "label_a IS DISTINCT FROM label_b"
    counted = f"sum(CASE WHEN {apart} THEN 1 ELSE 0 END) OVER (ROWS UNBOUNDED PRECEDING)"
    steps.append(f"counted AS (SELECT *, {counted} AS place FROM {source})")
    first = [
        f"array_agg({x} ORDER BY place) FILTER (WHERE {apart} AND place <= {SHOWN})"
        for x in columns
    ]
    summed = ", ".join(["count(*)", f"count(*) FILTER (WHERE {apart})", *first, *ends])
    return f"{', '.join(steps)} SELECT {summed} FROM counted"


def _cell(name, kind, levels, dialect):
    """A column in SQL, in which every gap is NULL."""
    column, is_text = dialect.name(name), {isinstance(level, str) for level in levels}
    if kind in _CELLS and not levels:
        return _CELLS[kind].format(column)
    if (kind in _INTEGERS and True not in is_text) or (kind == "VARCHAR" and is_text == {True}):
        return column
    raise _refusal(f"X has the column {name!r} of the type {kind}, which models can read otherwise")


def _frame(rows, names, kinds):
    """Rows as a frame, whose columns have the types in which the rows come as a stream."""
    import pandas as pd

    frame, kind_of = pd.DataFrame(rows, columns=names), dict(zip(names, kinds, strict=True))
    for name in names:
        if kind_of[name] == "BIGINT" and (frame[name].abs() > _WHOLE).any():
            raise _refusal(f"X has whole numbers beyond {_WHOLE} in the column {name!r}")
    return frame.astype({name: np.float32 for name in names if kind_of[name] == "FLOAT"})


def _refusal(what):
    return ValueError(
        f"in_database=True, but {what}. Leave in_database out, and give a relation of DuckDB or "
        "frames of the rows: they are then compared in memory, batch by batch."
    )
