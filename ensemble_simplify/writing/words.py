"""What users give or read, as text: names and labels in one line, numbers, shares in per cent.

And what all written languages share: names and literals that are checked, and blocks of tests.
"""

from __future__ import annotations

import functools
import json
import keyword
import math
import re
import textwrap
from decimal import Decimal

import numpy as np

from ensemble_simplify.grid import float32_floor, shortest_decimal
from ensemble_simplify.reading import plain as plain  # labels and levels as text is made of them

# In a drawn box: letters and lines of a text.
_LONGEST, _MOST_LINES = 26, 4


def number(value):
    """A number with as many digits as tell it from others: nine where float32 represents it."""
    with np.errstate(over="ignore"):
        is_single = float(np.float32(value)) == value
    text = f"{value:.9g}"
    if is_single or float(text) == value:
        return text
    return repr(float(value)).removesuffix(".0")


@functools.lru_cache(maxsize=1 << 14)
def end_of_interval(end, decimals=None):
    """The end of an interval, in as few digits as split float32 numbers alike; None: no end.

    With `decimals`, it is the largest number of so many digits that is not above the end: numbers
    of so many digits, compared in float32, stay on their side.
    """
    if np.isinf(end):
        return None
    if decimals is not None:
        step = Decimal(1).scaleb(-decimals)
        text = Decimal(f"{end:.{decimals}f}")
        while np.float32(float(text)) > end:
            text -= step
        return f"{text:f}"
    return f"{shortest_decimal(float32_floor(end)):.9g}"


def between(name, low, high):
    """What is above one end and up to another, both in words; None: no end, or no condition."""
    if low is None:
        return None if high is None else f"{name} <= {high}"
    return f"{name} > {low}" if high is None else f"{low} < {name} <= {high}"


def number_up(value):
    """Three digits of a positive number, rounded up."""
    digits = float(f"{value:.3g}")
    return number(digits if digits >= value else float(f"{1.005 * value:.3g}"))


def one_line(text):
    """Text in one line, as it can be shown anywhere.

    White space becomes single spaces. Characters that print nothing, or change how others are
    printed (control characters, those that change the direction of text, surrogates), are written
    as Python's escapes.
    """
    text = " ".join(str(text).split())
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def as_json(value):
    """A value as JSON, in which characters that do not print are escaped.

    ValueError for numbers that JSON does not have.
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    if text.isprintable():
        return text
    # outside of its strings, JSON on one line is ASCII
    return "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in text)


def level_in_words(level):
    """A level of a column: text in quotes, so that it is told from numbers."""
    return as_json(level) if isinstance(level, str) else str(level)


def set_in_words(members):
    """A set of what is already in words."""
    return f"{{{', '.join(members)}}}"


def in_drawing(text):
    """Text for matplotlib, to which dollar signs mean formulas."""
    return one_line(text).replace("$", r"\$")


def aligned(rows, to_left=(), *, gap=2):
    """Lines of a table: the first column and those named to the left, the others to the right.

    Rows without cells are empty lines.
    """
    widths = [max(map(len, column)) for column in zip(*filter(None, rows), strict=True)]
    return [
        (" " * gap)
        .join(
            cell.ljust(width) if i in (0, *to_left) else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=False))
        )
        .rstrip()
        for row in rows
    ]


def wrapped(line):
    """A line of a drawn box in lines that are not too long, cut if they are too many."""
    parts = textwrap.wrap(line, _LONGEST, max_lines=_MOST_LINES, placeholder=" …")
    return "\n".join(map(in_drawing, parts))


def counted(n, name, many=None):
    """A number of things: "1 box", "2 boxes", "1,000 rows"."""
    return f"{n:,} {name if n == 1 else many or name + 's'}"


def percent(share, *, digits=1, brief=False):
    """A share in per cent; what is not all, or not none, is never rounded to it.

    Parameters
    ----------
    share : float
    digits : int, default=1
        After the point.
    brief : bool, default=False
        Whether it is for a table: signs in place of words, the same digits in all cells, and
        nothing for what is not known.
    """
    if brief and math.isnan(share):
        return ""
    text, step = f"{100 * share:.{digits}f}", 10.0**-digits
    more, less = (">", "<") if brief else ("more than", "less than")
    if float(text) == 100:
        return "100 %" if share >= 1 else f"{more} {100 - step:.{digits}f} %"
    if float(text) == 0 < share:
        return f"{less} {step:.{digits}f} %"
    return f"{text if brief else text.removesuffix('.0')} %"


# Reserved words of C and C++, and what the written function uses itself.
_C_WORDS = frozenset(
    "alignas alignof and and_eq asm auto bitand bitor bool break case catch char class compl const "
    "constexpr continue default delete do double else enum explicit export extern false float for "
    "friend goto if inline int isnan long main mutable namespace new noexcept not not_eq NAN NULL "
    "nullptr operator or or_eq private proba protected public register restrict return short "
    "signed sizeof static strcmp struct switch template this throw true try typedef typename union "
    "unsigned using virtual void volatile wchar_t while x xor xor_eq".split()
)


# Reserved words of other languages with braces, and what their written functions use themselves.
_BRACES_WORDS = _C_WORDS | frozenset(
    "abstract any arguments as async await base beyond boolean byte chan choose classes code codes "
    "column debugger decimal defer delegate doubles end entry eval event explicit extends "
    "fallthrough final finally fixed foreach from func function implements implicit import in "
    "instanceof int64 interface internal ints is largest leaf leavesOf left let levels lock map "
    "module native nil null number object out override package params power range read readonly "
    "ref right roots round row sbyte select sigmoid single softmax spread stackalloc step string "
    "strictfp sum sumSingle super text throws transient type typeof uint ulong "
    "unchecked unsafe ushort values var with yield Model".split()
)


# And of Python, with what its written function uses.
_PYTHON_WORDS = frozenset(keyword.kwlist) | frozenset(
    "ValueError bool bytes dict float int isinstance len math max range repr reversed row str "
    "struct sum tuple type zip".split()
)


def checked_function(name, language):
    name = "predict" if name is None else name
    words = {"c": _C_WORDS, "python": _PYTHON_WORDS}
    reserved = words.get(language, _BRACES_WORDS)
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


def blocks(nodes, test, leaf, close):
    """Lines of nested tests of which each returns; at most log2(leaves) deep.

    The `nodes` of a tree, in pre-order, have arrays ``left`` and ``right`` of children. The smaller
    side of a split stands inside, the larger one goes on below. ``test(node, left)`` is the line
    that opens the block of those who go left, or right, ``leaf(node)`` are lines that return, and
    `close` is the line that ends a block, if any.
    """
    left, right = nodes.left.tolist(), nodes.right.tolist()
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
