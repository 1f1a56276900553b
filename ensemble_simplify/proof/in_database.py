"""Labels of two models compared where the rows lie: by one query of DuckDB, and by some witnesses.

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
_OF_FLOATS = "CASE WHEN isnan({0}) THEN NULL ELSE {0} END"
_CELLS = {"FLOAT": _OF_FLOATS, "DOUBLE": _OF_FLOATS, "BOOLEAN": "CAST({0} AS INTEGER)"}
# Larger whole numbers may be no doubles, and then are not rounded alike everywhere.
_WHOLE = 2**53
# Steps that are not kept whole are streams: memory does not grow with the rows.
_STREAMING = replace(DIALECTS["duckdb"], opens="AS (")


def agreement_inside(
    models: list, relation: Any, ask: Callable[[Any], Agreement], confidence: float
) -> Agreement:
    """The agreement of labels on the rows of a relation; `ask` compares rows in memory."""
    if not all(hasattr(relation, name) for name in ("query", "columns", "types")):
        raise _refusal(f"X is a {type(relation).__name__}, and no relation of DuckDB")
    names, widths = list(relation.columns), [len(model.table) for model in models]
    if widths != [len(names)] * 2:
        raise ValueError(
            f"X has {len(names)} columns, but the models were fitted on {widths[0]} and "
            f"{widths[1]}. Select the columns that they were fitted on."
        )
    if any(model.classes is None for model in models):
        raise _refusal("regressors have no labels")
    kinds = [str(kind) for kind in relation.types]
    query = _query(models, names, kinds)
    ((n, n_different, first, *held),) = relation.query("rows_of_x", query).fetchall()
    if not n:
        raise ValueError("X is a relation without rows. Give one with some.")
    rows = [list(row.values()) for row in first or ()]
    # the ends of columns with fewer of them stand there twice
    ends = [[own[i % len(own)] for own in held] for i in range(max(map(len, held)))]
    parts = [ask(_frame(own, names, kinds)) for own in (rows, ends) if own]
    whole, n_shown = parts[0].merge(*parts[1:]), len(rows)
    if rows and parts[0].n_different < n_shown:
        raise _refusal("DuckDB answers some rows of X otherwise than the models do")
    return replace(
        whole,
        share=1.0 - n_different / n,
        interval=interval_of(n - n_different, n, confidence),
        n_rows=n,
        n_different=n_different,
        counterexamples=whole.counterexamples[:n_shown],
        predictions=whole.predictions[:n_shown],
    )


def _query(models, names, kinds):
    """A query of one row: counts, the first rows that differ, and the ends of each column."""
    cells, ends, columns = [], [], [f"x{j}" for j in range(len(names))]
    for j, (x, name, kind) in enumerate(zip(columns, names, kinds, strict=True)):
        known = [model.table.levels[j] for model in models]
        levels = [level for own in known if own is not None for level in own.tolist()]
        cells.append(f"{_cell(name, kind, levels)} AS {x}")
        own = f"list(DISTINCT {x})" if levels else f"[min({x}), max({x})]"
        ends.append(f"CASE WHEN count({x}) < count(*) THEN list_append({own}, NULL) ELSE {own} END")
    carried, source = ["place", *columns], "numbered"
    numbered = ", ".join(["row_number() OVER () AS place", *cells])
    steps = [f"numbered AS (SELECT {numbered} FROM rows_of_x)"]
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
        if told := caveats(written, _STREAMING, None):
            raise _refusal(f"SQL of {model.name}(...) is not exact. {told[0]}")
        text = ensemble_in_sql(written, False, label, source, carried, dialect=_STREAMING)
        steps.append(f"with_{label} AS ({text})")
        carried, source = [*carried, label], f"with_{label}"
    apart = "FILTER (WHERE label_a IS DISTINCT FROM label_b)"
    first = f"arg_min(struct_pack({', '.join(columns)}), place, {SHOWN}) {apart}"
    summed = ", ".join(["count(*)", f"count(*) {apart}", first, *ends])
    return f"WITH {', '.join(steps)} SELECT {summed} FROM {source}"


def _cell(name, kind, levels):
    """A column in SQL, in which every gap is NULL."""
    column, is_text = _STREAMING.name(name), {isinstance(level, str) for level in levels}
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
        f"in_database=True, but {what}. Leave in_database out: rows are then compared in memory, "
        "batch by batch."
    )
