"""What all written languages share: names and literals that are checked, and blocks of tests."""

from __future__ import annotations

import keyword
import math
import re

import numpy as np

from ensemble_simplify.writing.named_columns import ALL

# Reserved words of C and C++, and what the written function uses itself.
_C_WORDS = frozenset(
    "alignas alignof and and_eq asm auto bitand bitor bool break case catch char class compl const "
    "constexpr continue default delete do double else enum explicit export extern false float for "
    "friend goto if inline int isnan long main mutable namespace new noexcept not not_eq NAN NULL "
    "nullptr operator or or_eq private proba protected public register restrict return short "
    "signed sizeof static strcmp struct switch template this throw true try typedef typename union "
    "unsigned using virtual void volatile wchar_t while x xor xor_eq".split()
)


def checked_function(name, language):
    name = "predict" if name is None else name
    reserved = _C_WORDS if language == "c" else frozenset({*keyword.kwlist, "row", "float"})
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII):
        raise ValueError(f"name={name!r} is not the name of a function. Use letters, digits, _.")
    if name in reserved:
        raise ValueError(f"name={name!r} means something else in {language}. Choose another.")
    return name


def literal_kind(value, what, language):
    """The plain kind of a label or level, or an error."""
    for kind in (bool, int, float, str):
        if isinstance(value, kind) and (kind is not float or math.isfinite(value)):
            return kind
    raise TypeError(
        f"The {what} {value!r} is a {type(value).__name__}, which cannot be written in {language}. "
        "Strings, finite numbers and truth values can: give class_names, or fit on such labels."
    )


def checked_text(text, what, language):
    """Text that goes into the written code as it is, or an error."""
    if "\0" in text:
        raise TypeError(
            f"The {what} {text!r} holds a null character, which {language} cannot write. Rename it."
        )
    if any("\ud800" <= c <= "\udfff" for c in text):
        raise TypeError(
            f"The {what} {text!r} holds half a character (a surrogate), which no encoding can "
            f"write, and so {language} cannot. Rename it."
        )
    return text


def used_features(tree):
    return np.unique(tree.nodes.feature[tree.nodes.left >= 0]).tolist()


def codes_left(tree, j, threshold):
    return tree.codes(j, ALL.below(threshold, False))


def blocks(tree, test, leaf, close):
    """Lines of nested tests of which each returns; at most log2(leaves) deep.

    The smaller side of a split stands inside, the larger one goes on below. ``test(node, left)`` is
    the line that opens the block of those who go left, or right, ``leaf(node)`` are lines that
    return, and `close` is the line that ends a block, if any.
    """
    left, right = tree.nodes.left.tolist(), tree.nodes.right.tolist()
    size = np.ones(len(left), dtype=np.intp)
    for node in range(len(left) - 1, -1, -1):
        if left[node] >= 0:
            size[node] = size[left[node]] + size[right[node]]
    lines, stack = [], [(0, 1)]
    while stack:
        node, depth = stack.pop()
        indent = "    " * depth
        if node < 0:
            lines.append(indent + close)
        elif left[node] < 0:
            lines += [indent + line for line in leaf(node)]
        else:
            left_inside = size[left[node]] <= size[right[node]]
            inside, after = left[node], right[node]
            if not left_inside:
                inside, after = after, inside
            lines.append(indent + test(node, left_inside))
            stack.append((after, depth))
            if close is not None:
                stack.append((-1, depth))
            stack.append((inside, depth + 1))
    return lines
