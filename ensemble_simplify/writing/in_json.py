"""Fitted trees and ensembles in JSON, and back: columns, nodes, and the program over them."""

from __future__ import annotations

import json
import math
from functools import singledispatch

import numpy as np

from ensemble_simplify.grid import preorder
from ensemble_simplify.reading import (
    Column,
    Hashed,
    LeftOut,
    Levels,
    Model,
    Reading,
    Table,
    Tree,
    imported,
    set_of,
    steps,
)
from ensemble_simplify.writing.sklearn_tree import write_tree
from ensemble_simplify.writing.words import as_json, literal_kind

# The format of a file by what it holds.
_FORMATS = {"tree": "ensemble_simplify.tree", "model": "ensemble_simplify.ensemble"}
_VERSION = 1
_UNKNOWN = ("refused", "code", "missing")


# ------------------------------------------------------------------- what both kinds share


def _in_json(named, kind, **contents):
    """The text of a tree or an ensemble: its columns, its classes, and more.

    Each entry of a list stands on one line: to be read, and to be compared line by line.
    """
    for label in named.classes or ():
        literal_kind(label, "label", "JSON")
    parts = {
        "format": _FORMATS[kind],
        "version": _VERSION,
        "kind": "regressor" if named.classes is None else "classifier",
        "columns": _columns_in_json(named),
        "classes": named.classes,
        **contents,
    }
    lines = [f'"{key}": {_json_lines(value)}' for key, value in parts.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def read_json(text, kind):
    """The "tree", or "model", of what ``export_tree`` or ``export_model`` wrote."""
    try:
        data = json.loads(text)
    except (ValueError, TypeError, RecursionError) as error:
        raise ValueError(
            f"text is not JSON that can be read ({error}). Give what export_{kind} wrote as 'json'."
        ) from error
    form = data.get("format") if isinstance(data, dict) else None
    if form != _FORMATS[kind]:
        other = next((other for other, its in _FORMATS.items() if its == form), None)
        remedy = f"Use import_{other}." if other else f'Give what export_{kind}(..., "json") wrote.'
        raise ValueError(f'text has no "format": "{_FORMATS[kind]}". {remedy}')
    if data.get("version") != _VERSION:
        raise ValueError(
            f"text has version {data.get('version')!r} of the format; this package reads version "
            f"{_VERSION}. Use the version of the package that wrote it."
        )
    try:
        classes = data["classes"]
        if (data["kind"] == "classifier") != (classes is not None):
            raise ValueError(f"text is a {data['kind']} with classes {classes!r}. Export it again.")
        for label in classes or ():
            literal_kind(label, "label", "JSON")
        if len(set(classes or ())) < len(classes or ()):
            raise ValueError(f"text names a class twice: {classes}. Export it again.")
        table = _table_of(data["columns"])
        return (_read_tree if kind == "tree" else _read_ensemble)(data, classes, table)
    except (LookupError, TypeError, AttributeError, ArithmeticError, ValueError) as error:
        raise ValueError(
            f"text is not a whole {kind}: {type(error).__name__}: {str(error).rstrip('.')}. The "
            f"keys are listed on the page 'JSON of trees and ensembles'. Export the {kind} again."
        ) from error


def _columns_in_json(named):
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
        if named.table is not None and isinstance(named.table.columns[j], LeftOut):
            column["left_out"] = True
        if of_text:
            column["of_text"] = "catboost" if j in named.table.hashed else True
        columns.append(column)
    return columns


# ------------------------------------------------------------------- trees


def tree_in_json(tree):
    """The whole file; see `export_tree`."""
    nodes, written = tree.nodes, []
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
    return _in_json(tree, "tree", nodes=written)


def _json_lines(value):
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


def _read_tree(data, classes, table):
    """The tree that `tree_in_json` wrote."""
    entries = data["nodes"]
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

    def of_all(key):
        return np.array([entry[key] for entry in entries])[order]

    tree = write_tree(
        nodes,
        value=of_all("value"),
        n_node_samples=of_all("rows"),
        weighted_n_node_samples=of_all("weight"),
        impurity=of_all("impurity"),
        n_features=len(data["columns"]),
        classes=classes,
        feature_names=table.names,
        missing_go_to_left=np.array([way == "left" for way in ways])[order],
    )
    if not table.is_plain:
        # so that it can be written again in these words
        tree._table = table
    return tree


def _table_of(columns):
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
        return LeftOut(unknown=unknown) if written.get("left_out") else Column(unknown=unknown)
    levels, of_text = _as_array(written["levels"]), written.get("of_text")
    kind = Hashed if of_text == "catboost" else Levels
    return kind(levels=levels, unknown=unknown, by_text=bool(of_text))


# ------------------------------------------------------------------- ensembles

_VISITOR = "JSON"
# How each kind of numbers is called in a file.
_RULES = {
    steps.TreeMean: "mean",
    steps.MemberMean: "mean",
    steps.TreeCount: "majority",
    steps.TreeVotes: "samme",
    steps.MemberVotes: "samme",
    steps.TreeSum: "additive",
    steps.MemberAverage: "soft",
    steps.MemberCount: "hard",
}
_OF_TREES = {rule: kind for kind, rule in _RULES.items() if issubclass(kind, steps.OfTrees)}
_OF_MEMBERS = {rule: kind for kind, rule in _RULES.items() if issubclass(kind, steps.OfMembers)}


def ensemble_in_json(ensemble):
    """The whole file; see `export_model`."""
    forest, trees = ensemble.forest, []
    for begin, end in zip(forest.offsets[:-1], forest.offsets[1:], strict=True):
        nodes = slice(begin, end)
        inner = forest.left[nodes] >= 0
        ends, missing_left = np.where(inner, ensemble.end[nodes], 0.0), ensemble.missing_left[nodes]
        left, right = forest.left[nodes], forest.right[nodes]
        # where nothing but perhaps missing values goes left, sides are exchanged: all else does
        turned = ends == -np.inf
        ends[turned] = np.inf
        missing_left = missing_left != turned
        left, right = np.where(turned, right, left), np.where(turned, left, right)
        entries = [None if own == np.inf else own for own in ends.tolist()]
        for i in np.flatnonzero(ensemble.is_set[nodes]).tolist():
            # codes of a set that go left, or those that go right
            codes, goes_left = ensemble.listed(begin + i)
            entries[i] = {"left" if goes_left else "right": codes}
        trees.append(
            {
                "column": forest.feature[nodes].tolist(),
                "end": entries,
                "missing_left": (missing_left & inner).astype(int).tolist(),
                "left": np.where(inner, left - begin, -1).tolist(),
                "right": np.where(inner, right - begin, -1).tolist(),
                "value": np.where(inner[:, None], 0.0, forest.value[nodes]).tolist(),
            }
        )
    return _in_json(ensemble, "model", vote=_vote_in_json(forest.vote), trees=trees)


def _vote_in_json(vote):
    """The three steps of a program in one object: keys that say nothing are left out."""
    rule = _RULES.get(type(vote.numbers))
    if isinstance(vote.numbers, steps.MemberStack):
        raise TypeError(
            f"{_VISITOR} has no sum of members by weights, as of a StackingRegressor. Write SQL or "
            "code, or a tree that simplify makes of it."
        )
    if rule is None or vote.calibrated is not None:
        raise steps.unknown_step(vote.numbers if rule is None else vote.calibrated, _VISITOR)
    divisor = "divisor_of_boosting" if rule == "additive" else "divisor"
    link = vote.link or steps.Link(None)
    if link.function is not None:
        raise TypeError(
            f"{_VISITOR} does not know a function of the user's, such as the inverse in a "
            "TransformedTargetRegressor. Write the model inside, regressor_."
        )
    entries = {
        "rule": rule,
        "first_tree": vote.start,
        "end_tree": vote.stop,
        "n_scores": vote.n_scores,
        divisor: None if vote.divisor == 1 else vote.divisor,
        "link": link.kind,
        "slope": None if link.slope == 1 else link.slope,
        "shift": link.shift or None,
        "by_probability": link.by_library or None,
        "type": None if vote.dtype == "float64" else vote.dtype,
        "weights": getattr(vote.numbers, "weights", None),
        "init": vote.init,
        "offset": vote.offset,
        "columns": vote.columns,
        **_choice_in_json(vote.choice),
        "members": [_vote_in_json(member) for member in vote.members] or None,
    }
    entries = {name: entry for name, entry in entries.items() if entry is not None}
    return {
        name: entry.tolist() if isinstance(entry, np.ndarray | np.generic) else entry
        for name, entry in entries.items()
    }


@singledispatch
def _choice_in_json(choice):
    raise steps.unknown_step(choice, _VISITOR)


@_choice_in_json.register
def _(choice: steps.Largest | steps.Lead):
    return {"last_wins_ties": getattr(choice, "last", False) or None}


@_choice_in_json.register
def _(choice: steps.Above):
    return {"last_wins_ties": choice.inclusive or None, "above": choice.at or None}


@_choice_in_json.register
def _(choice: steps.Cut):
    if choice.ranges:
        raise TypeError(f"{_VISITOR} does not know a Cut into ranges.")
    return {
        "cut": {"at": list(choice.at), "first": int(choice.first), "column": int(choice.column)}
    }


@_choice_in_json.register
def _(choice: steps.Temperature):
    kind = str(np.asarray(choice.beta).dtype)
    return {"temperature": {"beta": float(choice.beta), "type": kind, "logits": choice.logits}}


def _read_vote(data):
    """The program that `_vote_in_json` wrote."""
    rule, n_scores = data["rule"], data["n_scores"]
    divisor = data.get("divisor_of_boosting" if rule == "additive" else "divisor", 1)
    if "members" in data:
        members = tuple(map(_read_vote, data["members"]))
        numbers = _OF_MEMBERS[rule](members, n_scores, _array(data, "weights"), divisor)
    else:
        kind, more = _OF_TREES[rule], {}
        if kind is steps.TreeSum:
            more = {"dtype": data.get("type", "float64")}
            more |= {key: _array(data, key) for key in ("init", "offset")}
        numbers = kind(data["first_tree"], data["end_tree"], n_scores, divisor, **more)
    link, by_link = data.get("link"), data.get("by_probability", False)
    if link is not None:
        link = steps.Link(link, data.get("slope", 1.0), data.get("shift", 0.0), by_link)
    last = data.get("last_wins_ties", False)
    if "cut" in data:
        cut = data["cut"]
        choice = steps.Cut(tuple(map(float, cut["at"])), int(cut["first"]), int(cut["column"]))
    elif "temperature" in data:
        scaling = data["temperature"]
        beta = np.dtype(scaling["type"]).type(scaling["beta"])
        choice = steps.Temperature(beta, scaling["logits"])
    elif rule == "samme" and n_scores == 2:
        choice = steps.Lead()
    elif rule == "additive" and n_scores == 1:
        choice = steps.Above(data.get("above", 0.0), last, by_link)
    else:
        choice = steps.Largest(last, by_link)
    return steps.Program(numbers, choice, link, _array(data, "columns", np.intp))


def _array(data, key, dtype=np.float64):
    return np.array(data[key], dtype=dtype) if key in data else None


def _read_ensemble(data, classes, table):
    """The ensemble that `ensemble_in_json` wrote."""
    n_features, trees = len(data["columns"]), []
    for i, of_tree in enumerate(data["trees"]):
        sets = {
            node: set_of(codes, side == "left")
            for node, end in enumerate(of_tree["end"])
            if isinstance(end, dict)
            for side, codes in end.items()
        }
        ends = [
            np.inf if end is None or node in sets else float(end)
            for node, end in enumerate(of_tree["end"])
        ]
        trees.append(
            Tree(
                name=f"tree {i}",
                left=np.array(of_tree["left"], dtype=np.intp),
                right=np.array(of_tree["right"], dtype=np.intp),
                feature=np.array(of_tree["column"], dtype=np.intp),
                threshold=np.array(ends),
                value=np.array(of_tree["value"], dtype=np.float64),
                n_features=n_features,
                dtype="float64",
                missing_left=np.array(of_tree["missing_left"], dtype=bool),
                sets=sets,
            )
        )
    if classes is not None:
        texts = any(isinstance(label, str) for label in classes)
        classes = np.array(classes, dtype=object if texts else None)
    reading = Reading(trees, _read_vote(data["vote"]), classes, table)
    model = imported(reading, n_features)
    model._forest = Model.of(model, check=False).finest
    return model
