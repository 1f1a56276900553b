"""Fitted trees in Python."""

from __future__ import annotations

import numpy as np

from ensemble_simplify.grid import rounding_boundary
from ensemble_simplify.writing.literals import blocks, codes_left, literal_kind, used_features
from ensemble_simplify.writing.named_columns import ALL


def python_value(value, what):
    literal_kind(value, what, "Python")
    return repr(value)


def python_set(levels):
    listed = ", ".join(python_value(level, "level") for level in levels)
    return f"({listed},)" if len(levels) == 1 else f"({listed})"


def tree_in_python(tree, probabilities, name):
    used = used_features(tree)
    labels = [python_value(c, "label") for c in tree.classes or ()]

    def test(node, left):
        j, to_left = int(tree.nodes.feature[node]), bool(tree.missing_left[node])
        threshold = float(tree.nodes.threshold[node])
        if tree.levels(j) is not None:
            goes_left = python_levels(tree, j, threshold)
            goes_left += f" or missing{j}" if to_left else ""
        elif np.isinf(threshold):
            goes_left = "True" if to_left else f"x{j} == x{j}"
        else:
            boundary, inclusive = rounding_boundary(threshold)
            goes_left = f"x{j} {'<=' if inclusive else '<'} {float(boundary)!r}"
            goes_left += f" or x{j} != x{j}" if to_left else ""
        return f"if {goes_left if left else f'not ({goes_left})'}:"

    def leaf(node):
        if probabilities:
            pairs = zip(labels, tree.value[node].tolist(), strict=True)
            return [f"return {{{', '.join(f'{label}: {p!r}' for label, p in pairs)}}}"]
        if tree.classes is None:
            return [f"return {tree.label(node)!r}"]
        return [f"return {labels[int(tree.value[node].argmax())]}"]

    body = blocks(tree, test, leaf, None)
    lines = [
        f"def {name}(row):",
        f'    """Answer of a decision tree of {tree.nodes.n_leaves} leaves for one row."""',
    ]
    for j in used:
        key = j if tree.names is None else tree.names[j]
        if tree.levels(j) is None:
            lines.append(f"    x{j} = row[{key!r}]")
            lines.append(f'    x{j} = float("nan") if x{j} is None else float(x{j})')
            continue
        lines.append(f"    x{j} = row[{key!r}]")
        absent = f"x{j} is None or x{j} != x{j}"
        if tree.table.columns[j].lacks_none:
            absent = f"x{j} is None"
        elif tree.table.columns[j].knows_nan:
            absent = f"x{j} != x{j}"
        levels, of_text = tree.literals(j)
        known, entry = python_set(levels), f"str(x{j})" if of_text else f"x{j}"
        if not any(f"missing{j}" in line for line in body) and tree.unknown(j) != "refused":
            continue
        if tree.unknown(j) == "missing":
            absent += f" or {entry} not in {known}"
        lines.append(f"    missing{j} = {absent}")
        if tree.unknown(j) == "refused":
            lines.append(f"    if not (missing{j} or {entry} in {known}):")
            lines.append(f'        raise ValueError("unknown level: " + repr(x{j}))')
    return "\n".join([*lines, *body, ""])


def python_levels(tree, j, threshold):
    """The test whether a level goes left that is not missing."""
    (levels, of_text), codes = tree.literals(j), codes_left(tree, j, threshold)
    if codes == tree.codes(j, ALL):
        return f"not missing{j}"
    listed = python_set([levels[code] for code in codes if code < len(levels)])
    return f"str(x{j}) in {listed}" if of_text else f"x{j} in {listed}"
