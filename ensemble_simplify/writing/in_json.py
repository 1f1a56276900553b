"""Fitted trees in JSON, and back."""

from __future__ import annotations

import math

import numpy as np

from ensemble_simplify.grid import preorder
from ensemble_simplify.reading import Column, Levels, Table
from ensemble_simplify.writing.literals import literal_kind
from ensemble_simplify.writing.sklearn_tree import write_tree
from ensemble_simplify.writing.words import as_json

FORMAT, VERSION = "ensemble_simplify.tree", 1
_UNKNOWN = ("refused", "code", "missing")


def columns_in_json(named):
    """What is written of the columns of a tree or an ensemble."""
    columns = []
    for j in range(named.n_features):
        levels, of_text = (None, False) if named.levels(j) is None else named.literals(j)
        for level in levels or ():
            literal_kind(level, "level", "JSON")
        column = {
            "name": None if named.names is None else named.names[j],
            "levels": levels,
            "unknown": None if levels is None else named.unknown(j),
        }
        columns.append(column | {"of_text": True} if of_text else column)
    return columns


def tree_in_json(tree):
    nodes = tree.nodes
    for label in tree.classes or ():
        literal_kind(label, "label", "JSON")
    columns = columns_in_json(tree)
    written = []
    for node in range(nodes.n_nodes):
        entry = {}
        if nodes.left[node] >= 0:
            threshold = float(nodes.threshold[node])
            entry = {
                "column": int(nodes.feature[node]),
                "threshold": None if np.isinf(threshold) else threshold,
                "missing": "left" if tree.missing_left[node] else "right",
                "left": int(nodes.left[node]),
                "right": int(nodes.right[node]),
            }
        value = tree.value[node].tolist()
        entry["value"] = value[0] if tree.classes is None else value
        entry["rows"] = int(tree.rows[node])
        entry["weight"] = float(tree.weight[node])
        # scikit-learn's can be below zero by rounding, and no number where squares overflow
        impurity = float(tree.impurity[node])
        entry["impurity"] = max(impurity, 0.0) if math.isfinite(impurity) else None
        written.append(entry)
    head = {
        "format": FORMAT,
        "version": VERSION,
        "kind": "regressor" if tree.classes is None else "classifier",
        "columns": columns,
        "classes": tree.classes,
    }
    # one line for each entry of a list: to be read, and to be compared line by line
    parts = [f'"{key}": {json_lines(value)}' for key, value in {**head, "nodes": written}.items()]
    return "{\n" + ",\n".join(parts) + "\n}\n"


def json_lines(value):
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return "[\n" + ",\n".join(f"  {as_json(entry)}" for entry in value) + "\n]"
    return as_json(value)


def _as_array(levels):
    """Levels as an array; text and numbers stay what they are."""
    are_texts = any(isinstance(level, str) for level in levels)
    array = np.array(levels, dtype=object if are_texts else None)
    if array.ndim != 1:
        raise ValueError(f'text has "levels": {levels!r}. It is a list of levels. Export it again.')
    return array


def read_tree(data):
    columns, entries, classes = data["columns"], data["nodes"], data["classes"]
    if (data["kind"] == "classifier") != (classes is not None):
        raise ValueError(f"text is a {data['kind']} with classes {classes!r}. Export it again.")
    for label in classes or ():
        literal_kind(label, "label", "JSON")
    if len(set(classes or ())) < len(classes or ()):
        raise ValueError(f"text names a class twice: {classes}. Export it again.")
    inner = ["left" in entry for entry in entries]

    def of_splits(key, other, read=lambda x: x):
        return [
            read(entry[key]) if split else other
            for entry, split in zip(entries, inner, strict=True)
        ]

    ways = of_splits("missing", "right")
    if wrong := [way for way in ways if way not in ("left", "right")]:
        raise ValueError(f'text has "missing": {wrong[0]!r}. It is "left" or "right".')
    nodes, order = preorder(
        of_splits("left", -1),
        of_splits("right", -1),
        of_splits("column", -1),
        of_splits("threshold", 0.0, lambda t: np.inf if t is None else float(t)),
    )
    table = table_of_columns(columns)

    def of_all(key):
        return np.array([entry[key] for entry in entries])[order]

    tree = write_tree(
        nodes,
        value=of_all("value"),
        n_node_samples=of_all("rows"),
        weighted_n_node_samples=of_all("weight"),
        impurity=of_all("impurity"),
        n_features=len(columns),
        classes=classes,
        feature_names=table.names,
        missing_go_to_left=np.array([way == "left" for way in ways])[order],
    )
    if not table.is_plain:
        # so that it can be written again in these words
        tree._table = table
    return tree


def table_of_columns(columns):
    """The table whose columns were written."""
    names = [column["name"] for column in columns]
    for column in columns:
        if column["levels"] is not None and column["unknown"] not in _UNKNOWN:
            raise ValueError(
                f'text has "unknown": {column["unknown"]!r} in the column {column["name"]!r}. It '
                f"is one of {', '.join(_UNKNOWN)}."
            )
    return Table(
        tuple(map(_column, columns)),
        None if None in names else np.array(names, dtype=object),
    )


def _column(written) -> Column:
    """A column that was written."""
    unknown = written["unknown"] or "refused"
    if written["levels"] is None:
        return Column(unknown=unknown)
    levels, by_text = _as_array(written["levels"]), bool(written.get("of_text"))
    return Levels(levels=levels, unknown=unknown, by_text=by_text)
