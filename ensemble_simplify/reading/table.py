"""Columns: how the rows of a user's table become numbers, and numbers rows of that table.

Models that take tables of text and categories know the levels of each such column. The code of a
level is its place among them; the columns of a tree over codes are the user's own, and a missing
value is NaN in both.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

# What stands for a level that a model never saw, where it takes such.
UNKNOWN = "<unknown>"


@dataclass(frozen=True, eq=False)
class Columns:
    """The columns of a table.

    Attributes
    ----------
    names : ndarray of str, shape (n_columns,), or None
        Names of the columns of a frame; None: the table is an array.
    levels : tuple of (ndarray or None)
        Levels of each column in the order of their codes; None: a column of numbers.
    unknown : tuple of {"refused", "code", "missing"}
        What other levels are: refused by the model, a code after the last one, or missing.
    as_category : bool
        Whether the model wants columns with levels as pandas' categories.
    as_none : frozenset of int
        Columns with levels whose missing values the model knows as None. In others they are NaN,
        and None is taken for one unless the model knows a level NaN, which is not None to it.
    as_nan : frozenset of int
        Columns with levels of which the model knows NaN as a level or fills it in.
    """

    names: np.ndarray | None
    levels: tuple
    unknown: tuple
    as_category: bool = False
    as_none: frozenset = frozenset()
    as_nan: frozenset = frozenset()

    def __len__(self):
        return len(self.levels)

    @property
    def highest(self):
        """Highest code of each column, as a float array; infinity where there are no levels."""
        return np.array(
            [
                np.inf if own is None else len(own) - 1.0 + (unknown == "code")
                for own, unknown in zip(self.levels, self.unknown, strict=True)
            ]
        )

    @property
    def categorical(self):
        """Which columns have levels, as a bool array."""
        return np.array([own is not None for own in self.levels])

    def same_levels(self, other):
        """Whether other columns have the same codes for the same levels."""
        pairs = zip(self.levels, other.levels, strict=True)
        return len(self) == len(other) and all(
            (a is None) == (b is None) and (a is None or a.tolist() == b.tolist()) for a, b in pairs
        )

    def encode(self, X):
        """Numbers for a table.

        Parameters
        ----------
        X : frame or array-like of shape (n_rows, n_columns)

        Returns
        -------
        frame of the same type, or ndarray, of shape (n_rows, n_columns)
            float64; codes in columns with levels.

        Raises
        ------
        ValueError
            If the number of columns is another, or a level is not known and the model refuses
            such, or an entry of a column of numbers is none.
        """
        named = hasattr(X, "columns")
        table = X if named else np.asarray(X, dtype=object)
        if table.ndim != 2 if not named else False:
            raise ValueError(f"X has {table.ndim} dimensions instead of 2. Give rows.")
        given = list(X.columns) if named else list(range(table.shape[1]))
        if len(given) != len(self):
            raise ValueError(
                f"X has {len(given)} features, but the ensemble was fitted on {len(self)}. Pass "
                "the columns it was fitted on."
            )
        columns = {}
        for j, name in enumerate(given):
            values = X[name] if named else table[:, j]
            columns[name] = self._numbers(j, name, values)
        if named:
            return type(X)(columns)
        return np.column_stack(list(columns.values())) if columns else np.empty(table.shape)

    def decode(self, rows):
        """Rows of the table for rows of numbers: a frame where there are names.

        Parameters
        ----------
        rows : array-like of shape (n_rows, n_columns)
            Codes, in columns with levels.
        """
        rows = np.asarray(rows, dtype=np.float64)
        values = [self._entries(j, rows[:, j]) for j in range(len(self))]
        if self.names is None:
            table = np.empty(rows.shape, dtype=object)
            for j, column in enumerate(values):
                table[:, j] = column
            return table
        import pandas

        if self.as_category:
            values = [
                column if own is None else pandas.Categorical(column, categories=own)
                for column, own in zip(values, self.levels, strict=True)
            ]
        # text stays as it is, whatever pandas would make of it
        values = [
            pandas.Series(column, dtype=object) if column.dtype == object else column
            for column in values
        ]
        return pandas.DataFrame(dict(zip(self.names, values, strict=True)))

    def level(self, j, code):
        """The level of a code of column j, as text."""
        own = self.levels[j]
        return str(own[code]) if code < len(own) else UNKNOWN

    def _numbers(self, j, name, values):
        levels = self.levels[j]
        values = np.asarray(values, dtype=None if levels is None else object)
        if levels is None:
            try:
                return _with_nan(values).astype(np.float64)
            except (TypeError, ValueError) as error:
                raise ValueError(
                    f"The column {name!r} of X holds {values.dtype} where the ensemble was "
                    f"fitted on numbers ({error})."
                ) from error
        place = {level: float(code) for code, level in enumerate(levels.tolist())}
        rest = {"code": float(len(levels)), "missing": np.nan, "refused": -1.0}[self.unknown[j]]

        def code(value):
            if is_missing(value) and self._means_missing(j, value):
                return np.nan
            return place.get(value, rest)

        entries = values.tolist()
        # each distinct entry is looked at once
        code_of = {value: code(value) for value in dict.fromkeys(entries)}
        codes = np.array([code_of[value] for value in entries], dtype=np.float64)
        if (wrong := np.flatnonzero(codes < 0)).size:
            raise ValueError(
                f"X[{wrong[0]}] has {values[wrong[0]]!r} in the column {name!r}, a level that the "
                f"ensemble has never seen and refuses. It knows {_some(levels)}."
            )
        return codes

    def _means_missing(self, j, value):
        """Whether None or NaN is what the model knows as a missing value of a column."""
        if value is None:
            return j not in self.as_nan
        return j not in self.as_none

    def _entries(self, j, codes):
        levels = self.levels[j]
        if levels is None:
            return codes
        text = levels.dtype.kind in "OSU"
        other = UNKNOWN if text else _number_outside(levels)
        absent = None if j in self.as_none else np.nan
        table = np.empty(len(levels) + 2, dtype=object)
        table[:] = [*levels.tolist(), other, absent]
        place = np.where(np.isnan(codes), len(levels) + 1, np.nan_to_num(codes)).astype(np.intp)
        return table[place] if text else table[place].astype(np.float64)


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


def is_plain(X):
    """Whether a table holds numbers alone, as far as its types tell."""
    if hasattr(X, "dtypes") and hasattr(X, "columns"):
        kinds = [getattr(kind, "kind", None) for kind in list(X.dtypes)]
        if None in kinds:  # polars
            return all(kind.is_numeric() or str(kind) == "Boolean" for kind in X.dtypes)
        return all(kind in "biuf" for kind in kinds)
    if hasattr(X, "dtype"):
        return getattr(X.dtype, "kind", "f") in "biufc"
    return True


def _with_nan(values):
    """Entries with NaN for whatever else says that one is missing."""
    if values.dtype.kind != "O":
        return values
    return np.array([np.nan if is_missing(v) else v for v in values.tolist()])


def _number_outside(levels):
    return float(levels.max()) + 1.0 if len(levels) else 0.0


def _some(levels):
    shown = ", ".join(repr(level) for level in levels[:8].tolist())
    return shown + (", ..." if len(levels) > 8 else "")
