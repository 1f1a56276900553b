"""Fitted ensembles in JSON, and back: the nodes of all trees, and the vote over them."""

from __future__ import annotations

from functools import singledispatch

import numpy as np

from ensemble_simplify.reading import (
    Above,
    Cut,
    Largest,
    Lead,
    Link,
    MemberAverage,
    MemberCount,
    MemberMean,
    MemberVotes,
    Model,
    Program,
    Reading,
    Temperature,
    Tree,
    TreeCount,
    TreeMean,
    TreeSum,
    TreeVotes,
    imported,
    unknown_step,
)
from ensemble_simplify.writing.in_json import columns_in_json, json_lines, table_of_columns
from ensemble_simplify.writing.literals import literal_kind

_VISITOR = "JSON"
FORMAT, VERSION = "ensemble_simplify.ensemble", 1
# How each kind of numbers is called in a file.
_RULES = {
    TreeMean: "mean",
    MemberMean: "mean",
    TreeCount: "majority",
    TreeVotes: "samme",
    MemberVotes: "samme",
    TreeSum: "additive",
    MemberAverage: "soft",
    MemberCount: "hard",
}
_OF_TREES = {_RULES[kind]: kind for kind in (TreeMean, TreeCount, TreeVotes, TreeSum)}
_OF_MEMBERS = {_RULES[kind]: kind for kind in (MemberMean, MemberVotes, MemberAverage, MemberCount)}


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
                "end": [None if own == np.inf else own for own in ends.tolist()],
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


def _vote_in_json(vote):
    """The three steps of a program in one object: keys that say nothing are left out."""
    rule = _RULES.get(type(vote.numbers))
    if rule is None or vote.calibrated is not None:
        raise unknown_step(vote.numbers if rule is None else vote.calibrated, _VISITOR)
    divisor = "divisor_of_boosting" if rule == "additive" else "divisor"
    link = vote.link or Link(None)
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
    raise unknown_step(choice, _VISITOR)


@_choice_in_json.register
def _(choice: Largest | Lead):
    return {"last_wins_ties": getattr(choice, "last", False) or None}


@_choice_in_json.register
def _(choice: Above):
    return {"last_wins_ties": choice.inclusive or None, "above": choice.at or None}


@_choice_in_json.register
def _(choice: Cut):
    if choice.ranges:
        raise TypeError(f"{_VISITOR} does not know a Cut into ranges.")
    return {
        "cut": {"at": list(choice.at), "first": int(choice.first), "column": int(choice.column)}
    }


@_choice_in_json.register
def _(choice: Temperature):
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
        if kind is TreeSum:
            more = {"dtype": data.get("type", "float64")}
            more |= {key: _array(data, key) for key in ("init", "offset")}
        numbers = kind(data["first_tree"], data["end_tree"], n_scores, divisor, **more)
    link, by_link = data.get("link"), data.get("by_probability", False)
    if link is not None:
        link = Link(link, data.get("slope", 1.0), data.get("shift", 0.0), by_link)
    last = data.get("last_wins_ties", False)
    if "cut" in data:
        cut = data["cut"]
        choice = Cut(tuple(map(float, cut["at"])), int(cut["first"]), int(cut["column"]))
    elif "temperature" in data:
        scaling = data["temperature"]
        beta = np.dtype(scaling["type"]).type(scaling["beta"])
        choice = Temperature(beta, scaling["logits"])
    elif rule == "samme" and n_scores == 2:
        choice = Lead()
    elif rule == "additive" and n_scores == 1:
        choice = Above(data.get("above", 0.0), last, by_link)
    else:
        choice = Largest(last, by_link)
    return Program(numbers, choice, link, _array(data, "columns", np.intp))


def _array(data, key, dtype=np.float64):
    return np.array(data[key], dtype=dtype) if key in data else None


def read_ensemble(data):
    """The ensemble that `ensemble_in_json` wrote, of what JSON holds."""
    columns, classes = data["columns"], data["classes"]
    if (data["kind"] == "classifier") != (classes is not None):
        raise ValueError(f"text is a {data['kind']} with classes {classes!r}. Export it again.")
    trees = []
    for i, own in enumerate(data["trees"]):
        ends = [np.inf if end is None else float(end) for end in own["end"]]
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
            )
        )
    if classes is not None:
        texts = any(isinstance(label, str) for label in classes)
        classes = np.array(classes, dtype=object if texts else None)
    reading = Reading(trees, _read_vote(data["vote"]), classes, table_of_columns(columns))
    found = imported(reading, len(columns))
    found._forest = Model.of(found, check=False).finest
    return found
