"""Numbers of any size as whole numbers, so that sums and comparisons are exact.

Prices, weights and errors come in units of the user's choice. Where all of them are whole
multiples of a decimal unit (1, 0.01, 1e-9 ...) that unit is found and nothing is rounded.
"""

from __future__ import annotations

import numpy as np

# Numbers without a decimal unit are rounded to this share of their total.
_RESOLUTION = 2.0**50

# Digits, from the first of the largest number on, after which no decimal unit is looked for.
_MAX_DIGITS = 13

# The largest power of ten that is a number.
_MAX_EXPONENT = 308


def to_integers(*arrays):
    """A factor, and arrays times it, rounded to int64: exactly where a decimal unit allows it."""
    values = np.concatenate([np.ravel(a) for a in arrays]).astype(np.float64)
    scale = _decimal_scale(values)
    if scale is None:
        scale = _RESOLUTION / np.abs(values).sum()
    return scale, *(np.rint(np.asarray(a) * scale).astype(np.int64) for a in arrays)


def in_units(values):
    """A unit, and numbers as multiples of it: whole ones where a decimal unit allows it.

    The numbers are not negative, and not all zero; the multiples are float64.
    """
    scale = _decimal_scale(values)
    if scale is None:
        unit = float(values.max())
        return unit, values / unit
    return 1.0 / scale, np.rint(values * scale)


def _decimal_scale(values):
    """The smallest factor, a power of ten over a whole number, to make values whole; or None."""
    largest = np.abs(values).max(initial=0.0)
    if largest == 0:
        return 1.0
    first = -int(np.floor(np.log10(largest)))
    some = values[:: max(1, len(values) // 64)]
    total = np.abs(values).sum()
    for digits in range(first, min(first + _MAX_DIGITS, _MAX_EXPONENT + 1)):
        if total * 10.0**digits > _RESOLUTION:
            return None
        if _are_whole(some * 10.0**digits) and _are_whole(values * 10.0**digits):
            whole = np.abs(np.rint(values * 10.0**digits)).astype(np.int64)
            return 10.0**digits / float(np.gcd.reduce(whole))
    return None


def _are_whole(values):
    """Whether numbers are whole, to rounding."""
    return np.all(np.abs(values - np.rint(values)) <= np.minimum(1e-12 * np.abs(values), 1e-3))
