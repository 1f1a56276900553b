"""Fitted ensembles in JSON, and back: the nodes of all trees, and the vote over them."""

from __future__ import annotations

import numpy as np

from ensemble_simplify.reading import (
    Cut,
    Model,
    Reading,
    Temperature,
    Tree,
    Vote,
    imported,
    set_of,
)
from ensemble_simplify.writing.in_json import columns_in_json, json_lines, table_of_columns
from ensemble_simplify.writing.literals import literal_kind

FORMAT, VERSION = "ensemble_simplify.ensemble", 1
# What is written of a vote, and how it is called there.
_PLAIN = {
    "rule": "rule",
    "start": "first_tree",
    "stop": "end_tree",
    "n_scores": "n_scores",
    "scale": "divisor",
    "divisor": "divisor_of_boosting",
    "tie_upper": "last_wins_ties",
    "link": "link",
    "slope": "slope",
    "shift": "shift",
    "by_probability": "by_probability",
    "dtype": "type",
    "above": "above",
}
_ARRAYS = {"weights": "weights", "init": "init", "offset": "offset", "columns": "columns"}


def ensemble_in_json(ensemble):
    """The whole file; see `export_model`."""
    forest = ensemble.forest
    for label in ensemble.classes or ():
        literal_kind(label, "label", "JSON")
    trees = []
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
        trees.append(
            {
                "column": forest.feature[nodes].tolist(),
                "end": [
                    _set_in_json(ensemble, begin + i)
                    if ensemble.has_set(begin + i)
                    else None
                    if own == np.inf
                    else own
                    for i, own in enumerate(ends.tolist())
                ],
                "missing_left": (missing_left & inner).astype(int).tolist(),
                "left": np.where(inner, left - begin, -1).tolist(),
                "right": np.where(inner, right - begin, -1).tolist(),
                "value": np.where(inner[:, None], 0.0, forest.value[nodes]).tolist(),
            }
        )
    parts = {
        "format": FORMAT,
        "version": VERSION,
        "kind": "regressor" if ensemble.classes is None else "classifier",
        "columns": columns_in_json(ensemble),
        "classes": ensemble.classes,
        "vote": _vote_in_json(forest.vote),
        "trees": trees,
    }
    lines = [f'"{key}": {json_lines(value)}' for key, value in parts.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _set_in_json(ensemble, node):
    """A test of a set of codes: those that go left, or those that go right."""
    codes, to_left = ensemble.listed(node)
    return {"left" if to_left else "right": codes}


def _vote_in_json(vote):
    plain = Vote("mean", 0, 0, 0)
    always = ("rule", "start", "stop", "n_scores")
    found = {
        name: getattr(vote, key)
        for key, name in _PLAIN.items()
        if key in always or getattr(vote, key) != getattr(plain, key)
    }
    for key, name in _ARRAYS.items():
        if getattr(vote, key) is not None:
            found[name] = np.asarray(getattr(vote, key)).tolist()
    if vote.cut is not None:
        found["cut"] = {
            "at": list(vote.cut.at),
            "first": int(vote.cut.first),
            "column": int(vote.cut.column),
        }
    if vote.temperature is not None:
        beta = vote.temperature.beta
        found["temperature"] = {
            "beta": float(beta),
            "type": str(np.asarray(beta).dtype),
            "logits": vote.temperature.logits,
        }
    if vote.members:
        found["members"] = [_vote_in_json(member) for member in vote.members]
    return found


def _read_vote(data):
    given = {key: data[name] for key, name in _PLAIN.items() if name in data}
    for key, name in _ARRAYS.items():
        if name in data:
            kind = np.intp if key == "columns" else np.float64
            given[key] = np.array(data[name], dtype=kind)
    if "cut" in data:
        own = data["cut"]
        given["cut"] = Cut(tuple(map(float, own["at"])), int(own["first"]), int(own["column"]))
    if "temperature" in data:
        own = data["temperature"]
        given["temperature"] = Temperature(np.dtype(own["type"]).type(own["beta"]), own["logits"])
    given["members"] = tuple(_read_vote(own) for own in data.get("members", ()))
    return Vote(**given)


def read_ensemble(data):
    """The ensemble that `ensemble_in_json` wrote, of what JSON holds."""
    columns, classes = data["columns"], data["classes"]
    if (data["kind"] == "classifier") != (classes is not None):
        raise ValueError(f"text is a {data['kind']} with classes {classes!r}. Export it again.")
    trees = []
    for i, own in enumerate(data["trees"]):
        sets = {
            node: set_of(codes, side == "left")
            for node, end in enumerate(own["end"])
            if isinstance(end, dict)
            for side, codes in end.items()
        }
        ends = [
            np.inf if end is None or node in sets else float(end)
            for node, end in enumerate(own["end"])
        ]
        trees.append(
            Tree(
                name=f"tree {i}",
                left=np.array(own["left"], dtype=np.intp),
                right=np.array(own["right"], dtype=np.intp),
                feature=np.array(own["column"], dtype=np.intp),
                threshold=np.array(ends),
                value=np.array(own["value"], dtype=np.float64),
                n_features=len(columns),
                dtype="float64",
                missing_left=np.array(own["missing_left"], dtype=bool),
                sets=sets,
            )
        )
    if classes is not None:
        texts = any(isinstance(label, str) for label in classes)
        classes = np.array(classes, dtype=object if texts else None)
    reading = Reading(trees, _read_vote(data["vote"]), classes, table_of_columns(columns))
    found = imported(reading, len(columns))
    found._forest = Model.of(found, check=False).finest
    return found
