"""A selective tree in words, in a drawing, and in other languages."""

from __future__ import annotations

import json
import re
from copy import copy
from dataclasses import dataclass

import numpy as np

from ensemble_simplify.writing import (
    NamedTree,
    counted,
    dialect_of,
    export_model,
    export_tree,
    percent,
    read_nodes,
    tree_in_sql,
    write_tree,
)

_ASKS = "ask the model"


@dataclass(frozen=True, eq=False)
class NamedSelectiveTree(NamedTree):
    """A tree of which some leaves, in the order of their ids, answer.

    Attributes
    ----------
    notes : dict of int to str
        For each leaf what calibration rows say of it.
    may_answer : dict of int to bool
    """

    notes: dict | None = None
    may_answer: dict | None = None

    def outcome(self, node, probabilities=False, decimals=None):
        """What a leaf says, in words."""
        told = super().outcome(node, probabilities, decimals).rpartition(" (")[0]
        told = told if self.may_answer[node] else f"{_ASKS} (the tree would say {told})"
        return f"{told} ({self.notes[node]})"


def named(model, **names):
    """The tree of a fitted selective tree with its words."""
    plain = NamedTree.of(model._tree, name="estimator", **names)
    table = model.certified_
    place = {int(plain.order[node]): int(node) for node in plain.nodes.leaves}
    notes, may_answer = {}, {}
    for k, leaf in enumerate(table.leaf):
        node, n, wrong = place[int(leaf)], int(table.n_rows[k]), int(table.n_wrong[k])
        notes[node] = f"wrong on {wrong} of {counted(n, 'calibration row')}"
        if table.proven[k]:
            notes[node] = "proven: the model answers alike on every input here"
        may_answer[node] = bool(table.answers[k])
    own = {name: getattr(plain, name) for name in plain.__dataclass_fields__}
    return NamedSelectiveTree(**own, notes=notes, may_answer=may_answer)


def drawn(model, ax, **options):
    """The tree drawn, leaves that ask in grey."""
    tree = named(model)
    notes = tree.draw(ax, node_ids=True, **options)
    place = {int(tree.order[node]): int(node) for node in tree.nodes.leaves}
    for note in notes:
        found = re.match(r"(?:node )?#(\d+)\n", note.get_text())
        if found is None:
            continue
        rest, node = note.get_text()[found.end() :], place.get(int(found[1]))
        if node is not None and not tree.may_answer[node]:
            rest = f"{_ASKS}\n{tree.notes[node]}"
            note.get_bbox_patch().set_facecolor("#e4e6e9")
        elif node is not None:
            rest = f"{tree.label(node)}\n{tree.notes[node]}"
        note.set_text(rest)
    return notes


def head(model):
    """What is promised, in some sentences."""
    table = model.certified_
    if not table.answers.any():
        return "No leaf may answer: the model is asked about every row."
    each = "" if model.groups is None else " in each group"
    text = (
        f"The tree answers {percent(model.coverage_)} of the calibration rows. Of new rows like "
        f"them that it answers, at most {percent(model.limit_)}{each} {model._wrong()}, with "
        f"confidence {percent(model.confidence)}."
    )
    n_proven = int(table.proven.sum())
    if n_proven:
        by = counted(n_proven, "leaf", "leaves")
        share = table.n_rows[table.proven].sum() / max(table.n_rows.sum(), 1)
        text += f" In {by}, with {percent(share)} of these rows, that is proven."
    return text


def _gate(model):
    """A tree of two classes: 1 where the tree may answer."""
    contents, tree = read_nodes(model.decision_tree_), copy(model._tree)
    nodes = contents.nodes
    named_tree = named(model)
    may = np.zeros(nodes.n_nodes, dtype=bool)
    for node, answers in named_tree.may_answer.items():
        may[node] = answers
    tree.decision_tree_ = write_tree(
        nodes,
        np.column_stack([~may, may]).astype(float),
        contents.n_node_samples,
        contents.weighted_n_node_samples,
        np.zeros(nodes.n_nodes),
        n_features=model.n_features_in_,
        classes=np.array([0, 1]),
        feature_names=getattr(model, "feature_names_in_", None),
        missing_go_to_left=named_tree.missing_left,
    )
    return tree


def written(model, language, otherwise, name, table, keys, dialect):
    """The tree and what is done elsewhere, in a language; see the method `export`."""
    if language == "sql":
        return _in_sql(model, otherwise, name or "prediction", table, keys, dialect)
    if language == "json":
        return _in_json(model, otherwise)
    name = name or "predict"
    parts = [
        export_tree(_gate(model), language, name="tree_may_answer"),
        export_tree(model._tree, language, name="tree_answer"),
    ]
    if otherwise == "model":
        parts.append(export_model(model.estimator_, language, name="model_answer"))
    if language == "python":
        rest = "None" if otherwise is None else f"row[{otherwise!r}]"
        rest = "model_answer(row)" if otherwise == "model" else rest
        parts.append(
            f"def {name}(row):\n"
            '    """The answer of the tree where it may answer."""\n'
            "    if tree_may_answer(row):\n        return tree_answer(row)\n"
            f"    return {rest}\n"
        )
        return "\n\n".join(parts)
    is_value = not hasattr(model, "classes_")
    rest = "NAN" if is_value else "-1"
    rest = "model_answer(x)" if otherwise == "model" else rest
    parts.append(
        f"/* The answer of the tree where it may answer, else {rest}. */\n"
        f"{'double' if is_value else 'int'} {name}(const double *x)\n{{\n"
        f"    return tree_may_answer(x) ? tree_answer(x) : {rest};\n}}\n"
    )
    return "\n".join(parts)


def _in_sql(model, otherwise, name, table, keys, dialect):
    known = dialect_of(dialect)
    may, answer = (
        tree_in_sql(NamedTree.of(own), False, None, table, known, whole=False).strip()
        for own in (_gate(model), model._tree)
    )
    of_table, as_name = known.name(table), f"AS {known.name(name)}"
    listed = "".join(f"{of_table}.{known.name(key)}, " for key in keys)
    if otherwise != "model":
        rest = "NULL" if otherwise is None else f"{of_table}.{known.name(otherwise)}"
        answer = f"CASE WHEN ({may}) = 1 THEN ({answer}) ELSE {rest} END"
        return f"SELECT {listed}{answer} {as_name}\nFROM {of_table}\n"
    rest = export_model(
        model.estimator_, "sql", table="asked_rows", keys=keys, name=name, dialect=dialect
    )
    # one list of steps: not all databases take a query with steps inside of another one
    asked = f"{known.name('asked_rows')} AS (\n  SELECT * FROM {of_table} WHERE ({may}) = 0\n)"
    rest = re.sub("^WITH ", lambda _: f"WITH {asked},\n", rest, count=1, flags=re.MULTILINE)
    return (
        f"{rest}UNION ALL\nSELECT {listed}({answer}) {as_name}\nFROM {of_table} WHERE ({may}) = 1\n"
    )


def _in_json(model, otherwise):
    asked = json.loads(export_model(model.estimator_, "json")) if otherwise == "model" else None
    tree = named(model)
    return json.dumps(
        {
            "tree": json.loads(export_tree(model._tree, "json")),
            "answering_leaves": [int(node) for node, may in tree.may_answer.items() if may],
            "otherwise": otherwise,
            "model": asked,
        },
        indent=1,
    )
