"""What rows that a user gives say of written code: truth values, and thresholds of fewer digits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ensemble_simplify.grid import float32_floor, next_after, shortest_decimal
from ensemble_simplify.writing.named_columns import truth_values

# Whole numbers up to this are float32 numbers.
_WHOLE = 2.0**24


def like_rows(named, X):
    """A tree or an ensemble that knows which of its columns hold truth values in some rows."""
    return replace(named, booleans=truth_values(_kinds(X, named.n_features).values()))


def _kinds(X, n_features) -> dict:
    """The dtype of each column, in small letters; empty where there are no rows."""
    kinds = getattr(X, "dtypes", None)
    if kinds is None:
        kinds = [getattr(X, "dtype", "")] * n_features
    return {j: str(kind).lower() for j, kind in enumerate(kinds)}


def with_short_ends(named, X, rows):
    """The same with thresholds of as few digits as part its rows, and floats of their type, alike.

    Floats are those of the type in which the model compares, or in which a column of `X` comes if
    it is narrower: whole numbers in columns of integers. `rows` are `X` as doubles and codes.
    """
    kinds, found = _kinds(X, named.n_features), {}
    for j, threshold, end in named.splits_of_numbers():
        kind, column = kinds.get(j, ""), rows[:, j]
        if "int" in kind and abs(end) < _WHOLE:
            low, after = np.floor(end), np.floor(end) + 1.0
        elif named.compares_in == "float32" or "float32" in kind:
            low = float32_floor(end)
            after = next_after(low)
        else:
            low, after = end, np.nextafter(end, np.inf)
        low = max(low, column[column <= end].max(initial=-np.inf))
        after = min(after, column[column > end].min(initial=np.inf))
        found[j, threshold] = shortest_decimal(float(low), float(after))
    return replace(named, ends=found)
