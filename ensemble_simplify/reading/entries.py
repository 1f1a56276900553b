"""Entries of a column: which are missing, which are its levels, and the dtypes that hold them."""

from __future__ import annotations

from collections.abc import Hashable
from numbers import Real

import numpy as np

_NARROW = {"float32": np.float32, "float16": np.float16}


def is_missing(value):
    """Whether an entry of a table is missing: None, NaN, NaT or pandas.NA."""
    if value is None:
        return True
    try:
        return bool(value != value)
    except TypeError:  # pandas.NA says neither
        return True


def plain_levels(levels):
    """Levels without missing ones, and whether None and NaN are among these."""
    levels = np.asarray(levels)
    absent = [level for level in levels.tolist() if is_missing(level)]
    kept = np.array([not is_missing(level) for level in levels.tolist()], dtype=bool)
    return levels[kept], None in absent, any(level is not None for level in absent)


def narrow_floats(kinds):
    """For columns of numbers in these dtypes: float32 or float16, if they count as such, or None.

    Short integers do beside such columns: NumPy makes one array of them all, in that dtype.
    """
    plain = all(isinstance(kind, np.dtype) for kind in kinds)
    joined = _NARROW.get(str(np.result_type(*kinds))) if plain and kinds else None
    for kind in kinds:
        # pandas' Float32 is none: scikit-learn makes float64 of it; Polars' Float32 is
        name = str(kind) if hasattr(kind, "kind") else str(kind).lower()
        yield joined if getattr(kind, "kind", "f") in "biu" else _NARROW.get(name)


def levels_of(column):
    """Distinct entries of a column that does not hold numbers; None for one that does."""
    kind = getattr(column, "dtype", None)
    categories = getattr(kind, "categories", None)
    if hasattr(categories, "__len__"):  # not polars' Categories, which no column needs to hold all
        return np.asarray(categories)
    if getattr(kind, "kind", "O") in "biuf":
        return None
    entries = [entry for entry in np.asarray(column, dtype=object) if not is_missing(entry)]
    if not any(isinstance(entry, str) for entry in entries):
        try:
            np.asarray(entries, dtype=np.float64)
        except (TypeError, ValueError):
            if not all(isinstance(entry, Hashable) for entry in entries):
                raise
        else:
            return None
    return sorted_levels(entries)


def scale_of(kind):
    """The categories of a dtype in their order: of pandas' ordered ones, and of polars' Enum."""
    ordered = getattr(kind, "ordered", str(kind).startswith("Enum"))
    return np.asarray(kind.categories) if ordered else None


def are_numbers(levels):
    return all(isinstance(level, Real) for level in levels.tolist())


def distinct_levels(column):
    """Distinct entries of a column, sorted, as levels."""
    return sorted_levels(entry for entry in np.asarray(column).tolist() if not is_missing(entry))


def sorted_levels(entries):
    try:
        distinct = list(dict.fromkeys(entries))
        found = sorted(distinct, key=lambda entry: (type(entry).__name__, entry))
    except TypeError as error:
        raise TypeError(
            f"A column of X has entries that are neither numbers, nor text, nor dates ({error}). "
            "Leave it out, or make it text with astype(str)."
        ) from error
    levels = np.empty(len(found), dtype=object)
    levels[:] = found
    return levels


def lacks_none(column):
    """Whether None is what a column lacks its entries by."""
    missing = [e for e in np.asarray(column, dtype=object).tolist() if is_missing(e)]
    return bool(missing) and all(entry is None for entry in missing)


def are_float32(levels):
    """Whether numbers are some that float32 represents, with one below."""
    numbers = np.array(levels, dtype=np.float64)
    return bool((np.abs(numbers) < 1e38).all() and (numbers.astype(np.float32) == numbers).all())


def with_room(kind, column):
    """The dtype of a column, with all its entries among the categories where it has such."""
    if not hasattr(kind, "categories"):
        return kind
    known = set(kind.categories.tolist())
    entries = dict.fromkeys(np.asarray(column, dtype=object).tolist())
    more = [entry for entry in entries if not is_missing(entry) and entry not in known]
    return type(kind)([*kind.categories.tolist(), *more], kind.ordered) if more else kind


def is_whole(kind):
    """Whether a dtype is one of integers or booleans."""
    if hasattr(kind, "is_integer"):  # polars
        return (kind.is_integer() and "128" not in str(kind)) or str(kind) == "Boolean"
    return getattr(kind, "kind", None) in ("b", "i", "u")


def fits(numbers, kind):
    """Whether a dtype of integers or booleans holds some numbers."""
    known = numbers[~np.isnan(numbers)]
    if isinstance(kind, np.dtype) and known.size < numbers.size:
        return False
    name = str(kind).lower().partition("[")[0]  # of PyArrow, it is followed by [pyarrow]
    if name.startswith("bool"):
        return bool(np.isin(known, (0.0, 1.0)).all())
    ends = np.iinfo(name)
    inside = (known >= float(ends.min)) & (known < float(ends.max) + 1.0)
    return bool((inside & (known == np.rint(known))).all())


def plain_level(level):
    return level.item() if isinstance(level, np.generic) else level


def with_nan(values):
    """Entries with NaN for whatever else says that one is missing."""
    if values.dtype.kind != "O":
        return values
    return np.array([np.nan if is_missing(v) else v for v in values.tolist()])


def are_texts(levels):
    return levels is not None and all(isinstance(level, str) for level in levels.tolist())


def itself(entry):
    return entry


def number_outside(levels):
    return float(levels.max()) + 1.0 if len(levels) else 0.0


def some_of(levels):
    shown = ", ".join(repr(plain_level(level)) for level in levels[:8].tolist())
    return shown + (", ..." if len(levels) > 8 else "")
