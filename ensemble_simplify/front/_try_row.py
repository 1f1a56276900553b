"""A part of the report's page in which a reader enters a row, or picks one, and sees its way.

The page holds the tree as JSON and a script that walks it; nothing is fetched. Without scripts, and
on paper, the part is not there.
"""

from __future__ import annotations

import json

import numpy as np

from ensemble_simplify.base import Html, element, in_html, safe_indexing, style_sheet
from ensemble_simplify.reading import Table

# Rows that can be picked, at most.
_MOST_ROWS = 1_000


def try_section(tree, rows=None) -> Html:
    """A form for the columns that a `NamedTree` tests, and what it says of the row in it.

    `rows` (None: none), as the tree takes them, can be picked.
    """
    nodes, used = _nodes(tree)
    columns = [
        {
            "name": tree.shown(j),
            "levels": None if tree.levels(j) is None else [str(level) for level in tree.levels(j)],
        }
        for j in used
    ]
    picked = [] if rows is None else _entries(tree, rows, used)
    told = {"columns": columns, "nodes": nodes, "rows": picked}
    # "<" could end the script that holds it
    data = Html(json.dumps(told, ensure_ascii=False).replace("<", "\\u003c"))
    form = [_entry(column, k, nodes) for k, column in enumerate(columns)]
    if picked:
        options = [element("option", f"row {i + 1}", value=str(i)) for i in range(len(picked))]
        options.insert(0, element("option", "enter a row below", value=""))
        form.insert(0, _field("row", element("select", options, class_="pick"), ""))
    shown = [
        element("h2", "Try a row"),
        element("div", form, class_="fields"),
        element("p", "Answer: ", element("b", "", class_="answer"), aria_live="polite"),
        element("p", "The way through the tree:"),
        element("ol", class_="way"),
        element("p", "Changes of one column that lead to another answer:"),
        element("ul", class_="flips"),
        element("script", data, type="application/json"),
    ]
    script = element("script", Html(style_sheet(__package__, "try_row.js")))
    return in_html([element("section", shown, class_="try-row", hidden="hidden"), script])


def _nodes(tree):
    """The nodes as the script reads them, and the columns that are tested."""
    questions = {
        node: tree.question(node, spans)
        for node, spans in tree.paths()
        if tree.nodes.left[node] >= 0
    }
    order = list(dict.fromkeys(node for node, _ in tree.paths()))
    used = sorted({int(tree.nodes.feature[node]) for node in questions})
    place = {node: i for i, node in enumerate(order)}
    nodes = []
    for node in order:
        if node not in questions:
            told = tree.outcome(node, False, None)
            nodes.append({"answer": told.partition(" (")[0], "told": told})
            continue
        missing = "left" if tree.missing_left[node] else "right"
        nodes.append(
            {
                "question": questions[node],
                "column": used.index(int(tree.nodes.feature[node])),
                "threshold": float(tree.nodes.threshold[node]),
                "missing": missing,
                "left": place[int(tree.nodes.left[node])],
                "right": place[int(tree.nodes.right[node])],
            }
        )
    return nodes, used


def _entries(tree, rows, used):
    """Numbers and codes of levels in the columns that are tested, None for gaps."""
    rows = safe_indexing(rows, np.arange(min(len(rows), _MOST_ROWS)))
    table = Table.of_numbers(tree.n_features) if tree.table is None else tree.table
    numbers = table.read(rows)[:, used].tolist()
    return [[None if value != value else value for value in row] for row in numbers]


def _entry(column, k, nodes):
    """What a reader fills in for a column: a list of levels, or a number."""
    if column["levels"] is not None:
        options = [
            element("option", level, value=str(code)) for code, level in enumerate(column["levels"])
        ]
        options.append(element("option", "(missing)", value=""))
        return _field(column["name"], element("select", options, data_column=str(k)), "")
    ends = [node["threshold"] for node in nodes if node.get("column") == k]
    ends = [end for end in ends if abs(end) < np.finfo(np.float32).max]
    hint = f"asked at {', '.join(f'{end:.6g}' for end in sorted(set(ends)))}" if ends else ""
    entry = element("input", type="number", step="any", placeholder="(missing)", data_column=str(k))
    return _field(column["name"], entry, hint)


def _field(name, entry, hint):
    return element("label", element("span", name), entry, element("small", hint, class_="faint"))
