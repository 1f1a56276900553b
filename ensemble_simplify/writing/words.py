"""Numbers in words: with the digits that they need, and shares in per cent."""

from __future__ import annotations

import math

import numpy as np


def number(value):
    """A number with as many digits as tell it from others: nine where float32 represents it."""
    with np.errstate(over="ignore"):
        is_single = float(np.float32(value)) == value
    text = f"{value:.9g}"
    return text if is_single or float(text) == value else repr(float(value))


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
