"""What users give or read, as text: names and labels in one line, numbers, shares in per cent."""

from __future__ import annotations

import functools
import json
import math
import textwrap

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
    """The end of an interval, in as few digits as split float32 numbers alike; None: no end."""
    if np.isinf(end):
        return None
    if decimals is not None:
        return f"{end:.{decimals}f}"
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
