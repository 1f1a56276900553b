"""Tables: how a user's rows become numbers, and numbers rows that a model takes.

A `Table` is a list of columns, which say what they hold, and what rows of it are like: their kind
of frame, the names in it, their gaps. The code of a level is its place among the levels; a missing
value is NaN in rows of numbers. Whatever names columns, codes levels, fills gaps or builds frames
does so here.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.utils import check_array

from ensemble_simplify.grid import Domain, columns_of, domain_of_columns, read_domain
from ensemble_simplify.reading.columns import (
    Column,
    Hashed,
    LeftOut,
    Levels,
    are_texts,
    as_categories,
    common_levels,
    is_missing,
    is_whole,
    lacks_none,
    narrow_floats,
    plain,
    scale_of,
    some_of,
)

# What a level is that a model does not know, the most cautious first.
_UNKNOWN = ("refused", "code", "missing")
# One column of numbers stands for all of which nothing else is known.
_NUMBERS = Column()


@dataclass(frozen=True, eq=False)
class Gaps:
    """What rows lack, and what can stand for it where numbers are needed.

    Attributes
    ----------
    seen : ndarray of bool, shape (n_columns,)
        Columns in which some row lacks a number.
    low : ndarray of shape (n_columns,)
        The least number of each column; infinity where there is none.
    stand_in : ndarray of float32, shape (n_columns,)
        A number below all those of a column, for a gap in it.
    """

    seen: np.ndarray
    low: np.ndarray
    stand_in: np.ndarray

    @classmethod
    def of(cls, numbers) -> Self:
        """The gaps of some rows of numbers."""
        missing = np.isnan(numbers)
        low = np.where(missing, np.inf, numbers).min(axis=0, initial=np.inf)
        high = np.where(missing, -np.inf, numbers).max(axis=0, initial=-np.inf)
        # below all values, at a distance that float32 keeps
        with np.errstate(invalid="ignore"):  # a column without a number
            room = np.maximum(high - low, np.maximum(np.abs(low) * 1e-3, 1.0))
            below = np.where(np.isfinite(low), low - room, -1.0)
        stand_in = np.maximum(below, np.finfo(np.float32).min).astype(np.float32)
        return cls(missing.any(axis=0), low, stand_in)

    def fill(self, rows) -> np.ndarray:
        """Rows of numbers without gaps."""
        return np.where(np.isnan(rows), self.stand_in, rows)

    def restore(self, numbers) -> np.ndarray:
        """Rows of numbers with gaps where a column that had some holds what stands for one."""
        numbers = np.array(numbers, dtype=np.float64)
        numbers[(numbers <= self.stand_in) & self.seen] = np.nan
        return numbers


@dataclass(frozen=True, eq=False)
class Table:
    """The columns of a table.

    Attributes
    ----------
    columns : tuple of Column
        What each column holds.
    names : ndarray of str, shape (n_columns,), or None
        Names of the columns of a frame; None: the table is an array.
    frame : type or None
        The type of frames; None: pandas'.
    gaps : Gaps or None
        What the table lacked when it was seen.
    as_category : bool
        Whether the model wants columns with levels as pandas' categories.
    by_dtype : bool
        Whether the model answers numbers of float32 in another way than the same ones of float64.
    as_objects : bool
        Whether entries come as objects, which are looked at one by one even if all are numbers.
    """

    columns: tuple
    names: np.ndarray | None = None
    frame: type | None = None
    gaps: Gaps | None = None
    as_category: bool = False
    by_dtype: bool = False
    as_objects: bool = False

    @classmethod
    def of_numbers(cls, n_columns, names=None, codes=None) -> Self:
        """A table without levels; `codes` says which numbers are codes of categories themselves."""
        names = None if names is None else np.asarray(names, dtype=object)
        if codes is None:
            return cls((_NUMBERS,) * n_columns, names)
        return cls(tuple(Column(is_code=bool(is_code)) for is_code in codes), names)

    @classmethod
    def of_codes(cls, categorical, names=None) -> Self | None:
        """A table in which some columns hold codes that stand for themselves; None if none does."""
        return cls.of_numbers(len(categorical), names, categorical) if categorical.any() else None

    @classmethod
    def of_levels(cls, names, levels, unknown, *, codes=None, as_category=False, **kept) -> Self:
        """A table with the levels of each column, None for numbers, and what others are in each.

        `codes` says which numbers are codes of categories themselves. Further parameters are those
        of all columns with `Levels`.
        """
        unknown = (unknown,) * len(levels) if isinstance(unknown, str) else unknown
        codes = np.zeros(len(levels), dtype=bool) if codes is None else codes
        columns = tuple(
            Column(is_code=bool(is_code), unknown=other)
            if known is None
            else Levels(levels=known, unknown=other, **kept)
            for known, other, is_code in zip(levels, unknown, codes, strict=True)
        )
        return cls(columns, names, as_category=as_category)

    @classmethod
    def of_rows(cls, X, known=None, *, unknown="code") -> Self:
        """What an array or a frame of rows holds.

        Where the table of a model is `known`, its levels come first, in its order, and those that
        only the rows have after them. `unknown` is what levels are that neither has.
        """
        names = np.array(list(X.columns), dtype=object) if hasattr(X, "columns") else None
        known = known or cls.of_numbers(X.shape[1])
        known._check_width(X.shape[1], "X")
        as_objects = not is_plain(X) or bool(known.hashed)
        if not as_objects:
            known = cls.of_numbers(X.shape[1])
        columns = [replace(column, unknown=unknown) for column in known.columns]
        if as_objects:
            among_levels = bool(known.coded.any())
            for j, (column, entries) in enumerate(zip(columns, columns_of(X), strict=True)):
                columns[j] = column.with_entries(entries, among_levels)
                # a model of numbers does not say how it knows gaps among levels
                if unknown == "missing" and column.levels is None and columns[j].levels is not None:
                    columns[j] = replace(columns[j], lacks_none=lacks_none(entries))
        table = replace(known, columns=tuple(columns), names=names, as_objects=as_objects).like(X)
        return replace(table, gaps=Gaps.of(_doubles(table.encode(X))))

    @classmethod
    def common(cls, tables, *, order=0, any_levels=False, on_codes=None) -> Self:
        """The table whose rows two models are put, each in its own words.

        It has the levels of both, those of the table of number `order` first: see `codes_of`. A
        level that both refuse is put to neither; where one has a code for levels that it never saw,
        that is put to both. A column that holds numbers to one model, and to the other levels that
        are numbers, holds numbers, unless the other refuses further ones. Models that are
        `on_codes` take the codes of the other's levels. ValueError if a model refuses a level that
        the other knows, or takes numbers where the other knows text; if `any_levels`, such levels
        are left out, and such columns have levels.
        """
        with_levels = [table for table in tables if not table.is_plain]
        named = [table for table in tables if table.names is not None]
        base = [*with_levels, *named, *tables][0]
        on_codes = on_codes or [False] * len(tables)
        asked = [table for table, coded in zip(tables, on_codes, strict=True) if not coded]
        asked = asked[::-1] if order else asked
        if all(table._is_bare for table in tables):
            return base
        columns = []
        for j in range(len(base)):
            label = repr(j if asked[0].names is None else asked[0].names[j])
            levels = common_levels([table.columns[j] for table in asked], label, any_levels)
            unknown = min((table.unknown[j] for table in with_levels or tables), key=_UNKNOWN.index)
            alike = [base.columns[j], *(table.columns[j] for table in tables)]
            alike = [column for column in alike if (column.levels is None) == (levels is None)]
            # one of both can leave a column out that the other looks at
            alike.sort(key=lambda column: isinstance(column, LeftOut))
            if levels is None:
                is_code = any(column.is_code for column in alike)
                columns.append(replace(alike[0], unknown=unknown, is_code=is_code))
            else:
                # where others know other things than text, 1 and "1" stay two levels
                hashed = any(j in table.hashed for table in asked) and are_texts(levels)
                columns.append(alike[0].with_levels(levels, unknown, hashed=hashed))
        return replace(base, columns=tuple(columns))

    # ------------------------------------------------------------------ what the columns hold

    def __len__(self) -> int:
        return len(self.columns)

    @cached_property
    def levels(self) -> tuple:
        """Levels of each column in the order of their codes; None: a column of numbers."""
        return tuple(column.levels for column in self.columns)

    @cached_property
    def unknown(self) -> tuple[str, ...]:
        """What levels are that a column does not know, by column."""
        return tuple(column.unknown for column in self.columns)

    @cached_property
    def hashed(self) -> tuple[int, ...]:
        """Columns whose levels the model knows by their hashes alone."""
        return tuple(j for j, column in enumerate(self.columns) if isinstance(column, Hashed))

    @property
    def dtypes(self) -> tuple | None:
        """The dtype of each column, None for what comes of itself; None if all do."""
        dtypes = tuple(column.dtype for column in self.columns)
        return dtypes if any(dtypes) else None

    @property
    def coded(self) -> np.ndarray:
        """Which columns have levels, as a bool array."""
        return np.array([known is not None for known in self.levels], dtype=bool)

    @property
    def categorical(self) -> np.ndarray:
        """Which columns hold codes of categories, as a bool array."""
        return self.coded | np.array([column.is_code for column in self.columns], dtype=bool)

    @cached_property
    def is_plain(self) -> bool:
        """Whether it holds numbers alone."""
        return not self.as_objects and all(known is None for known in self.levels)

    @cached_property
    def _is_bare(self) -> bool:
        """Whether nothing is known of its columns but that they hold numbers."""
        return all(column is _NUMBERS for column in self.columns)

    @property
    def is_uniform(self) -> bool:
        """Whether it holds numbers of one type alone, so that an array can stand for it."""
        return self.is_plain and len({column.dtype for column in self.columns}) < 2

    @property
    def narrow(self) -> np.ndarray:
        """Which columns hold numbers in a dtype that is narrower than float64, as a bool array."""
        dtypes = [column.dtype is not None for column in self.columns]
        return ~self.coded & np.array(dtypes, dtype=bool)

    @property
    def row_dtype(self) -> str | None:
        """The type of the columns of numbers, in words, where the model minds; else None."""
        if not self.by_dtype:
            return None
        numbers = [column for column in self.columns if column.levels is None]
        return " and ".join(sorted({np.dtype(c.dtype or np.float64).name for c in numbers}))

    @property
    def highest(self) -> np.ndarray:
        """Highest code of each column, as a float array; infinity where there are no levels."""
        return np.array([column.highest for column in self.columns])

    @property
    def highest_code(self) -> np.ndarray | None:
        """Highest code of each column, -1 in columns of numbers; None if there are no codes."""
        categorical = self.categorical
        return np.where(categorical, self.highest, -1.0) if categorical.any() else None

    @property
    def highest_known(self) -> np.ndarray | None:
        """As `highest_code`, without codes for levels that the model has never seen."""
        if not self.categorical.any():
            return None
        known = [np.inf if own is None else len(own) - 1.0 for own in self.levels]
        return np.where(self.categorical, known, -1.0)

    def may_miss(self, rows=None) -> np.ndarray:
        """Columns that may be missing where no domain says otherwise, as a bool array.

        They are those that lack something in rows of numbers, and those with levels where the model
        takes every level that it never saw for a missing value: nobody can rule these out.
        """
        lost = self.coded & (np.array(self.unknown, dtype=object) == "missing")
        return lost if rows is None else lost | np.isnan(rows).any(axis=0)

    def unnamed(self, j) -> bool:
        """Whether the names of some levels of column j are not known."""
        return j in self.hashed and self.columns[j].is_unnamed

    def scale(self, j) -> list | None:
        """The levels of a column in the order that the user gave them; None: no order was given."""
        column = self.columns[j]
        return column.given_order() if isinstance(column, Levels) else None

    def natural_order(self, j) -> np.ndarray | None:
        """Places of the levels of a column in the order that they have of themselves, or None."""
        return self.columns[j].natural_order()

    def _check_width(self, given, name) -> None:
        if given != len(self):
            raise ValueError(
                f"{name} has {given} features, but the ensemble was fitted on {len(self)}. Pass "
                "the columns it was fitted on."
            )

    # ------------------------------------------------------------------ other orders, other rows

    def reordered(self, orders) -> Self:
        """The table with the codes of some columns in another order.

        `orders` has, for each column, the places that its levels have now in their new order, or
        None for a column that stays. Rows of codes are carried over by `recoded`.
        """
        pairs = zip(self.columns, orders, strict=True)
        return self._with_columns(
            column if order is None else column.reordered(order) for column, order in pairs
        )

    def orders_like(self, other: Table) -> list:
        """For `reordered`, the order in which another table has the levels; its lacking ones last.

        None for a column that is in this order, or without levels in either.
        """
        return [
            mine.order_like(theirs) if isinstance(mine, Levels) else None
            for mine, theirs in zip(self.columns, other.columns, strict=True)
        ]

    def recoded(self, rows, orders) -> np.ndarray:
        """Rows of codes of this table, in those of `reordered`."""
        rows = np.array(rows, dtype=np.float64)
        for j, order in enumerate(orders):
            if order is not None:
                known = ~np.isnan(rows[:, j])
                rows[known, j] = np.argsort(order)[rows[known, j].astype(np.intp)]
        return rows

    def domain_of(self, X) -> Domain:
        """Inputs like some rows of the table, however large their numbers; gaps are left open."""
        keys = range(len(self)) if self.names is None else self.names.tolist()
        domain = domain_of_columns(columns_of(X), keys, ranges=False)
        return replace(domain, missing=None)

    def inside(self, domain, missing, known=None) -> Any:
        """A domain of such rows, as an `Inside`, in which a mask may be missing if it does not say.

        `known` are the highest codes of the levels that a domain of known levels has; None: of
        those that the model knows. None is returned where every finite input is inside.
        """
        known = self.highest_known if known is None else known
        inside = read_domain(domain, len(self), self.names, missing, self.highest_code, known)
        self.check_bounds(inside)
        return inside

    def check_inside(self, inside, numbers, given, begin=0) -> None:
        """Raise ValueError if one of some rows of numbers lies outside of a domain.

        They begin at some row of those that were `given`, by which levels are called.
        """
        for j, column in enumerate(self.columns if inside is not None else ()):
            if not isinstance(column, Levels) or self.unnamed(j):
                continue
            codes, low, high = numbers[:, j], inside.low[j], inside.high[j]
            outside = (codes < low) | (codes > high) | (np.isnan(codes) & ~inside.missing[j])
            for row in begin + np.flatnonzero(outside)[:1]:
                level, name = _entry(given, row, j), j if self.names is None else self.names[j]
                levels = some_of(column.levels[int(low) : int(high) + 1])
                # of gaps, the domain tells itself
                if is_missing(level):
                    continue
                raise ValueError(
                    f"X[{row}] has {plain(level)!r} in the column {name!r}, a level that is "
                    f"outside the domain. It holds {levels}. "
                    "Correct the row, or the domain: known_levels leaves out the levels that the "
                    "model has never seen, also if the rows of Domain.from_rows have them."
                )
        if inside is not None:
            inside.check_rows(numbers, begin)

    def showing(self, numbers, given, row) -> Self:
        """The same columns, in which what the model does not know is as a row was given.

        `numbers` are those of one `row` of the `given` ones.
        """
        shown = self._with_columns(
            # columns of numbers, of which there can be thousands, show what they are
            column if type(column) is Column else column.showing(numbers[j], _entry(given, row, j))
            for j, column in enumerate(self.columns)
        )
        return shown if shown is self else replace(shown, as_objects=True)

    def check_bounds(self, inside) -> None:
        """Refuse (ValueError) bounds of a domain that choose among levels which are `reordered`.

        Their codes are not those of the model, and say nothing to a user.
        """
        for j, column in enumerate(self.columns if inside is not None else ()):
            if not isinstance(column, Levels) or not column.is_reordered:
                continue
            last, name = len(column.levels) - 1, j if self.names is None else self.names[j]
            if inside.low[j] > 0 or inside.high[j] < last:
                raise ValueError(
                    f"domain bounds the codes of the column {name!r} of levels, which are numbered "
                    "in an order that suits the model. Leave the bounds out, or give "
                    f"(0, {last}), which holds all known levels."
                )

    def named_by(self, X) -> Self:
        """The table with the names that levels which it knows by their hashes have in some rows.

        Levels that only the rows, or another table, have come after its own.
        """
        told = X.levels if isinstance(X, Table) else columns_of(X)
        self._check_width(len(told), "X")
        return self._with_columns(
            column.named(() if entries is None else entries)
            if isinstance(column, Hashed)
            else column
            for column, entries in zip(self.columns, told, strict=True)
        )

    def like(self, X) -> Self:
        """The same columns in the dtypes, and the kind of frame, in which some rows come.

        `X` can be a table that knows them, too.
        """
        if isinstance(X, Table):
            self._check_width(len(X), "X")
            pairs = zip(self.columns, X.columns, strict=True)
            columns = self._with_columns(mine.as_in(theirs) for mine, theirs in pairs)
            return replace(columns, frame=X.frame)
        if self._is_bare and not hasattr(X, "columns"):
            column = _NUMBERS.in_dtype(None, narrow_floats([getattr(X, "dtype", None)]))
            return self if column is _NUMBERS else replace(self, columns=(column,) * len(self))
        dtypes = _dtypes_of(X, len(self))
        self._check_width(len(dtypes), "X")
        pairs = list(zip(self.columns, dtypes, strict=True))
        narrow = narrow_floats([dtype for column, dtype in pairs if column.levels is None])
        like = self._with_columns(column.in_dtype(dtype, narrow) for column, dtype in pairs)
        like = replace(like, frame=type(X)) if hasattr(X, "columns") else like
        return like.scaled_like(X)

    def scaled_like(self, X) -> Self:
        """The same columns, with the orders of their levels that the dtypes of some rows give."""
        if not hasattr(X, "columns"):
            return self
        dtypes = _dtypes_of(X, len(self))
        self._check_width(len(dtypes), "X")
        return self._with_columns(
            replace(column, scale=scale_of(dtype)) if isinstance(column, Levels) else column
            for column, dtype in zip(self.columns, dtypes, strict=True)
        )

    def as_whole(self, X) -> Self:
        """The same columns, in which integers and booleans come as such, as they do in a frame."""
        if not hasattr(X, "columns"):
            return self
        return self._with_columns(
            column
            if column.levels is not None
            else replace(column, whole=dtype if is_whole(dtype) else None)
            for column, dtype in zip(self.columns, _dtypes_of(X, len(self)), strict=True)
        )

    def same_dtypes(self, X) -> bool:
        """Whether rows come in the dtypes of this table, where the model minds."""
        return not self.by_dtype or all(
            mine.levels is not None or mine.dtype == theirs.dtype
            for mine, theirs in zip(self.columns, self.like(X).columns, strict=True)
        )

    def _with_columns(self, columns: Iterable[Column]) -> Self:
        columns = tuple(columns)
        # a thousand columns mostly stay as they are, with what is known of them
        same = all(mine is theirs for mine, theirs in zip(self.columns, columns, strict=True))
        return self if same else replace(self, columns=columns)

    # ------------------------------------------------------------------ two tables

    def knows_kinds_of(self, other: Table) -> bool:
        """Whether columns in which another table has text have levels here, too."""
        pairs = zip(self.columns, other.columns, strict=True)
        return all(mine.knows_kind_of(theirs) for mine, theirs in pairs)

    def codes_of(self, other: Table) -> dict:
        """What the columns of another table are to this one, where it is another thing; by column.

        Each is a pair: own codes, or numbers, of all codes of the other table; or, of a column that
        holds numbers there, of the intervals between some ends; and these ends, or None. A level
        that this table lacks is unknown to it, and has the code after its last one.
        """
        if self._is_bare and other.is_plain:
            return {}
        pairs = enumerate(zip(self.columns, other.columns, strict=True))
        codes = {j: mine.codes_of(theirs) for j, (mine, theirs) in pairs}
        return {j: known for j, known in codes.items() if known is not None}

    # ------------------------------------------------------------------ rows to numbers

    def encode(self, X: Any) -> Any:
        """Numbers for a table, a frame of the same type or an array; one of numbers alone stays.

        Columns with levels become codes, all are float64. ValueError if the number of columns is
        another, or a level is not known and the model refuses such, or an entry of a column of
        numbers is none.
        """
        named = hasattr(X, "columns")
        if not self.coded.any() and (is_plain(X) or (self.is_plain and not named)):
            return X
        frame_type: Any = type(X)
        X = X if named else np.asarray(X, dtype=object)
        if not named and X.ndim != 2:
            raise ValueError(f"X has {X.ndim} dimensions instead of 2. Give rows.")
        names = list(X.columns) if named else list(range(X.shape[1]))
        self._check_width(len(names), "X")
        columns = {
            name: column.numbers(X[name] if named else X[:, name], name)
            for column, name in zip(self.columns, names, strict=True)
        }
        if named:
            return frame_type(columns)
        return np.column_stack(list(columns.values())) if columns else np.empty(X.shape)

    def read(self, X, dtype: Any = np.float64, name="X") -> np.ndarray:
        """A checked array of numbers for rows of the table, NaN where they lack one.

        `dtype` is that of `check_array`, a list too; errors call the rows by `name`.
        """
        X = check_array(self.encode(X), dtype=dtype, ensure_all_finite="allow-nan")
        self._check_width(X.shape[1], name)
        return X

    # ------------------------------------------------------------------ numbers to rows

    def as_taken(self, X) -> Any:
        """Rows as a user gave them; text as pandas' categories where the model wants these."""
        if not self.as_category or not hasattr(X, "iloc") or not hasattr(X, "columns"):
            return X
        kinds = [kind for kind, coded in zip(X.dtypes, self.coded, strict=False) if coded]
        if len(X.columns) != len(self) or all(hasattr(kind, "categories") for kind in kinds):
            return X  # of other columns, the model says itself what is wrong
        return self.decode(self.encode(X))

    def decode(self, rows) -> Any:
        """Rows of the table for rows of numbers and codes: a frame where there are names."""
        rows = np.asarray(rows)
        if self.is_plain and (self.names is None or self._frame is None):
            dtypes = {column.dtype for column in self.columns} or {None}
            return rows if len(dtypes) > 1 else rows.astype(dtypes.pop() or rows.dtype, copy=False)
        is_float64 = all(column.dtype is column.whole is None for column in self.columns)
        if self.is_plain and is_float64 and hasattr(self._frame, "iloc"):
            return self._frame(rows, columns=self.names)
        entries = [column.entries(rows[:, j]) for j, column in enumerate(self.columns)]
        if self.names is None:
            table = np.empty(rows.shape, dtype=object)
            for j, values in enumerate(entries):
                table[:, j] = values
            return table
        # what the frame is to make of them, once it holds them
        dtypes = [column.frame_dtype(rows[:, j]) for j, column in enumerate(self.columns)]
        if self.frame is None or hasattr(self.frame, "iloc"):
            return self._in_pandas(entries, dtypes)
        return self._in_others(entries, dtypes)

    def _in_pandas(self, entries, dtypes) -> Any:
        """A frame with the methods of pandas'."""
        import pandas

        columns: dict[int, Any] = {}
        for j, (column, values) in enumerate(zip(self.columns, entries, strict=True)):
            of_categories = self.as_category or hasattr(dtypes[j], "categories")
            if isinstance(column, Levels) and of_categories:
                kind = column.category_dtype(values, self.as_category)
                dtypes[j], values = None, as_categories(values, kind)
            elif values.dtype == object:
                # text stays as it is, whatever pandas would make of it
                values = pandas.Series(values, dtype=object)
            columns[j] = values
        # by number: two columns may have one name
        frame: Any = self._frame(columns)
        given = [(j, dtype) for j, dtype in enumerate(dtypes) if dtype is not None]
        if given:
            frame = frame.astype(dict(given))
        frame.columns = self.names
        return frame

    def _in_others(self, entries, dtypes) -> Any:
        """A frame with the methods of polars'."""
        columns: dict[str, Any] = {}
        kinds = {self.names[j]: dtype for j, dtype in enumerate(dtypes) if dtype is not None}
        for j, (values, dtype) in enumerate(zip(entries, dtypes, strict=True)):
            if self.levels[j] is not None or dtype is not None:
                # such frames make columns of text of lists, with gaps where there is None
                values = [None if is_missing(entry) else entry for entry in values.tolist()]
            columns[self.names[j]] = values
        return self._frame(columns).cast(kinds, strict=False)

    def shown(self, rows) -> Any:
        """Rows of numbers as a user knows them: an array, if one type of numbers will do."""
        if not self.is_uniform:
            return self.decode(rows)
        return rows if self.dtypes is None else rows.astype(self.dtypes[0])

    def rounded(self, rows) -> np.ndarray:
        """Rows with the codes that drawn numbers are next to, in columns with levels."""
        if self.is_plain:
            return rows
        coded = self.coded
        rows = np.array(rows, dtype=np.float64)
        rows[:, coded] = np.clip(np.rint(rows[:, coded]), 0.0, self.highest[coded])
        return rows

    @property
    def _frame(self) -> Any:
        """The type of frames; None: a model that was fitted on one is used without pandas."""
        if self.frame is not None:
            return self.frame
        try:
            import pandas
        except ImportError:
            return None
        return pandas.DataFrame


def is_plain(X) -> bool:
    """Whether a table holds numbers alone, as far as its types tell."""
    if hasattr(X, "dtypes") and hasattr(X, "columns"):
        kinds: list = [getattr(kind, "kind", None) for kind in list(X.dtypes)]
        if None in kinds:  # polars
            return all(kind.is_numeric() or str(kind) == "Boolean" for kind in X.dtypes)
        return all(kind in "biuf" for kind in kinds)
    if hasattr(X, "dtype"):
        return getattr(X.dtype, "kind", "f") in "biufc"
    return True


def column_index(key, parameter, n_features, names=None) -> int:
    """Index of a column that a user gave by name or index; errors call it `parameter`."""
    if isinstance(key, str):
        if names is None:
            raise ValueError(
                f"{parameter} names the column {key!r}, but X has no column names. "
                "Pass a DataFrame, or use column indices."
            )
        places = np.flatnonzero(names == key)
        if not places.size:
            # LightGBM keeps a name with underscores for spaces
            places = np.flatnonzero(names == key.replace(" ", "_"))
        if not places.size:
            raise ValueError(
                f"{parameter} names the column {key!r}, which X does not have. Its columns "
                f"are {some_of(names)}."
            )
        return int(places[0])
    if not isinstance(key, Integral) or not 0 <= key < n_features:
        raise ValueError(
            f"{parameter} has the column {plain(key)!r}. Columns are names, or indices from 0 to "
            f"{n_features - 1}."
        )
    return int(key)


def column_indices(columns, parameter, n_features, names=None) -> np.ndarray:
    """Distinct indices of columns that a user gave by names, indices or a mask, ascending."""
    columns = np.atleast_1d(np.asarray(columns))
    if columns.size == 0:
        return np.zeros(0, dtype=np.intp)
    if columns.ndim != 1:
        raise ValueError(f"{parameter} has shape {columns.shape}. Give a flat list of columns.")
    if columns.dtype.kind == "b":
        if columns.size != n_features:
            raise ValueError(
                f"{parameter} is a mask of {columns.size} columns, but X has {n_features}."
            )
        return np.flatnonzero(columns)
    numbers = [column_index(column, parameter, n_features, names) for column in columns.tolist()]
    return np.unique(np.array(numbers, dtype=np.intp))


def _doubles(rows) -> np.ndarray:
    """Rows of numbers as an array, with NaN for what pandas calls NA."""
    return check_array(rows, dtype=np.float64, ensure_all_finite=False, ensure_min_samples=0)


def _entry(rows, i, j) -> Any:
    """An entry of some rows as they were given."""
    if hasattr(rows, "iloc"):
        return rows.iloc[i, j]
    return columns_of(rows)[j][i]


def _dtypes_of(X, n_columns) -> list:
    """The dtype of each column of some rows; None where they have none."""
    return list(X.dtypes) if hasattr(X, "columns") else [getattr(X, "dtype", None)] * n_columns
