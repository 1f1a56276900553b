"""Fitted trees in C."""

from __future__ import annotations

import math

import numpy as np

from ensemble_simplify.grid import rounding_boundary
from ensemble_simplify.writing.literals import blocks, checked_text, literal_kind, used_features
from ensemble_simplify.writing.named_columns import ALL
from ensemble_simplify.writing.words import one_line


def c_comment(text):
    """Text inside of a comment: nothing in it ends the comment or joins lines."""
    return (
        one_line(text).replace("*/", "* /").replace("/*", "/ *").replace("??", "? ?").rstrip("\\")
    )


def c_string(text):
    """A string literal of ASCII, in UTF-8."""
    own = checked_text(text, "level", "C").encode("utf-8")
    as_is = set(range(32, 127)) - {ord('"'), ord("\\"), ord("?")}
    return '"' + "".join(chr(b) if b in as_is else f"\\{b:03o}" for b in own) + '"'


def c_number(value):
    """A double in hexadecimal, without zeros at its end."""
    digits, exponent = float(value).hex().split("p")
    return f"{digits.rstrip('0').removesuffix('.') if '.' in digits else digits}p{exponent}"


def c_codes(tree, j, name):
    """The function that turns a level of a column into its code."""
    levels, _ = tree.literals(j, mixed=False)
    kinds = {literal_kind(level, "level", "C") for level in levels}
    other = {"code": f"{len(levels)}", "missing": "NAN", "refused": "-1"}[tree.unknown(j)]
    text = str in kinds
    missing, equal = "level == NULL", "strcmp(level, {}) == 0"
    if not text:
        missing, equal = "isnan(level)", "level == {}"
    lines = [
        f"/* Code of a level of {c_comment(tree.shown(j))}, for x[{j}]; "
        f"{'NULL' if text else 'NAN'} is missing, {other} stands for other levels. */",
        f"double {name}_code_{j}({'const char *' if text else 'double '}level)",
        "{",
        f"    if ({missing}) return NAN;",
    ]
    for code, level in enumerate(levels):
        literal = c_string(level) if text else c_number(level)
        lines.append(f"    if ({equal.format(literal)}) return {code};")
    return [*lines, f"    return {other};", "}", ""], text


def tree_in_c(tree, probabilities, name):
    def test(node, left):
        j, to_left = int(tree.nodes.feature[node]), bool(tree.missing_left[node])
        threshold = float(tree.nodes.threshold[node])
        comment, has_levels = "", tree.levels(j) is not None
        if has_levels:
            words = tree.condition(j, ALL.below(threshold, to_left))
            comment = f" /* {'' if left else 'not: '}{c_comment(words)} */" if words else ""
        if np.isinf(threshold):
            goes_left = "1" if to_left else f"!isnan(x[{j}])"
        else:
            goes_left = f"x[{j}] < {math.floor(threshold) + 0.5!r}"
            if not has_levels:
                boundary, inclusive = rounding_boundary(threshold)
                goes_left = f"x[{j}] {'<=' if inclusive else '<'} {c_number(boundary)}"
            goes_left += f" || isnan(x[{j}])" if to_left else ""
        return f"if ({goes_left if left else f'!({goes_left})'}) {{{comment}"

    def leaf(node):
        if probabilities:
            parts = [f"proba[{k}] = {c_number(p)};" for k, p in enumerate(tree.value[node])]
            return [*parts, "return;"]
        if tree.classes is None:
            return [f"return {c_number(tree.label(node))};"]
        k = int(tree.value[node].argmax())
        return [f"return {k}; /* {c_comment(tree.classes[k])} */"]

    used = used_features(tree)
    codes, any_text, checks = [], False, []
    for j in used:
        if tree.levels(j) is None:
            continue
        lines, text = c_codes(tree, j, name)
        codes += lines
        any_text |= text
        if tree.unknown(j) == "refused":
            checks.append(f"x[{j}] < 0")
    nothing = ["return NAN;"] if tree.classes is None else ["return -1;"]
    if probabilities:
        nothing = [f"proba[{k}] = NAN;" for k in range(len(tree.classes))] + ["return;"]
    refusal = [f"    if ({' || '.join(checks)}) {{", *(f"        {n}" for n in nothing), "    }"]
    about = [f"   x[{j}]: {c_comment(tree.shown(j))}" for j in used]
    if tree.classes is not None:
        about += [f"   class {k}: {c_comment(label)}" for k, label in enumerate(tree.classes)]
    kind = "int" if tree.classes is not None else "double"
    head = f"void {name}(const double *x, double *proba)"
    return "\n".join(
        [
            "#include <math.h>",
            *(["#include <string.h>"] if any_text else []),
            "",
            *codes,
            f"/* A decision tree of {tree.nodes.n_leaves} leaves on rows of {tree.n_features} "
            "columns; NAN is missing.",
            *about,
            "*/",
            head if probabilities else f"{kind} {name}(const double *x)",
            "{",
            *([] if used else ["    (void)x;"]),
            *(refusal if checks else []),
            *blocks(tree, test, leaf, "}"),
            "}",
            "",
        ]
    )
