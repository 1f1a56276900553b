"""Tables: how a user's rows become numbers, and numbers rows that a model takes.

A `Table` says what the columns are called, in which dtype and kind of frame they come, which levels
they have, and what a level that nobody knows and a gap mean. The code of a level is its place among
the levels; a missing value is NaN in rows of numbers. Whatever names columns, codes levels, fills
gaps or builds frames does so here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date, time, timedelta
from numbers import Integral, Real

import numpy as np
from sklearn.utils import check_array

from ensemble_simplify.reading.entries import (
    are_float32,
    are_numbers,
    are_texts,
    distinct_levels,
    fits,
    is_missing,
    is_whole,
    itself,
    lacks_none,
    levels_of,
    narrow_floats,
    number_outside,
    plain_level,
    scale_of,
    some_of,
    with_nan,
    with_room,
)
from ensemble_simplify.reading.gaps import Gaps
from ensemble_simplify.reading.level_hash import is_stand_in, level_hash, text_of

# What stands for a level that a model never saw, where it takes such.
UNKNOWN = "<unknown>"
# Entries, such as dates, that are no numbers and have an order of themselves.
_OF_TIME = (date, time, timedelta)


@dataclass(frozen=True, eq=False)
class Table:
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
    as_none : tuple of int
        Columns with levels whose missing values the model knows as None. In others they are NaN,
        and None is taken for one unless the model knows a level NaN, which is not None to it.
    as_nan : tuple of int
        Columns with levels of which the model knows NaN as a level or fills it in.
    codes : ndarray of bool, shape (n_columns,), or None
        Columns of numbers that are codes of categories themselves, whole and from 0; None: none.
    frame : type or None
        The type of frames; None: pandas'.
    dtypes : tuple or None
        What `decode` makes of each column: the dtype of a column with levels, a narrow float of a
        column of numbers; None: what comes of itself.
    by_dtype : bool
        Whether the model answers numbers of float32 in another way than the same ones of float64.
    as_text : tuple of int
        Columns with levels that are texts of other objects, by which entries are looked up.
    as_objects : bool
        Whether entries come as objects, which are looked at one by one even if all are numbers.
    gaps : Gaps or None
        What the table lacked when it was seen.
    hashed : tuple of int
        Columns with levels that the model (CatBoost) knows by a hash of their text alone, by which
        entries are looked up, and in which nothing is ever missing. A level whose name nobody told
        is a text with its hash: see `named_by`.
    categories : tuple of (ndarray or None), or None
        Levels in the order of pandas' categories that the model wants, where that of the codes is
        another; None: it is the same.
    whole : tuple or None
        Dtypes of columns of integers and booleans, which `decode` gives to columns of which it can
        be said; None for others, or where such columns come as floats.
    scales : tuple of (ndarray or None), or None
        The levels of each column in the order that the user gave them by the dtype of the column;
        None: no order was given.
    """

    names: np.ndarray | None
    levels: tuple
    unknown: tuple
    as_category: bool = False
    as_none: tuple = ()
    as_nan: tuple = ()
    codes: np.ndarray | None = None
    frame: type | None = None
    dtypes: tuple | None = None
    by_dtype: bool = False
    as_text: tuple = ()
    as_objects: bool = False
    gaps: Gaps | None = None
    hashed: tuple = ()
    categories: tuple | None = None
    whole: tuple | None = None
    scales: tuple | None = None

    @classmethod
    def of_numbers(cls, n_columns, names=None, codes=None):
        """A table without levels."""
        names = None if names is None else np.asarray(names, dtype=object)
        return cls(names, (None,) * n_columns, ("refused",) * n_columns, codes=codes)

    @classmethod
    def of_codes(cls, categorical, names=None):
        """A table in which some columns hold codes that stand for themselves; None if none does."""
        return cls.of_numbers(len(categorical), names, categorical) if categorical.any() else None

    @classmethod
    def of_rows(cls, X, known=None, *, unknown="code"):
        """What an array or a frame of rows holds.

        Where the table of a model is `known`, its levels come first, in its order, and those that
        only the rows have after them. `unknown` is what levels are that neither has.
        """
        named = hasattr(X, "columns")
        names = np.array(list(X.columns), dtype=object) if named else None
        n_columns = X.shape[1]
        known = known or cls.of_numbers(n_columns)
        known._check_width(n_columns, "X")
        levels, as_none = (None,) * n_columns, known.as_none
        as_objects = not is_plain(X) or bool(known.hashed)
        if as_objects:
            columns = [X[name] for name in names] if named else list(X.T)
            levels = tuple(known._joined(j, column) for j, column in enumerate(columns))
            if unknown == "missing":  # in the rows of a model that does not say how it knows gaps
                untold = [j for j in range(n_columns) if known.levels[j] is None]
                as_none += tuple(
                    j for j in untold if levels[j] is not None and lacks_none(columns[j])
                )
        table = replace(
            known,
            names=names,
            levels=levels,
            unknown=(unknown,) * n_columns,
            as_none=as_none,
            as_objects=as_objects,
        ).like(X)
        return replace(table, gaps=Gaps.of(_doubles(table.encode(X))))

    def named_by(self, X):
        """The table with the names that levels which it knows by their hashes have in some rows.

        Levels that only the rows have come after its own.
        """
        if isinstance(X, Table):
            self._check_width(len(X), "X")
            told = X.levels
        else:
            X = X if hasattr(X, "shape") else np.asarray(X, dtype=object)
            self._check_width(X.shape[1], "X")
            told = [X[name] for name in X.columns] if hasattr(X, "columns") else list(X.T)
        levels = list(self.levels)
        for j in self.hashed:
            levels[j] = self._named(j, () if told[j] is None else told[j])
        return replace(self, levels=tuple(levels))

    def _named(self, j, entries):
        """Levels of a column that is known by hashes, with the names that some entries have."""
        name_of = {level_hash(level): level for level in self.levels[j].tolist()}
        texts = {text_of(e) for e in np.asarray(entries).tolist() if not is_missing(e)}
        for text in sorted(texts, key=lambda text: (is_stand_in(text), text)):
            if is_stand_in(name_of.setdefault(level_hash(text), text)):
                name_of[level_hash(text)] = text
        levels = np.empty(len(name_of), dtype=object)
        levels[:] = list(name_of.values())
        return levels

    def unnamed(self, j):
        """Whether the names of some levels of column j are not known."""
        return j in self.hashed and any(map(is_stand_in, self.levels[j].tolist()))

    def _key_of(self, j):
        """What entries of a column are looked up by, as a function."""
        if j in self.hashed:
            return level_hash
        return str if j in self.as_text else itself

    def _joined(self, j, column):
        """Levels of a column: those of this table, then others of the rows; None: it has none."""
        if j in self.hashed:
            return self._named(j, column)
        known = self.levels[j]
        if known is None:
            own = None if self.categorical[j] else levels_of(column)
            # a model that knows the levels of others takes this one for numbers
            numbers = self.coded.any() and own is not None and are_numbers(own)
            return None if numbers else own
        own = levels_of(column)
        own = distinct_levels(column) if own is None else own
        seen = set(known.tolist())
        more = [level for level in own.tolist() if level not in seen]
        if not more:
            return known
        joined = np.empty(len(known) + len(more), dtype=object)
        joined[:] = [*known.tolist(), *more]
        return joined if known.dtype.kind in "OSU" else joined.astype(np.float64)

    def reordered(self, orders):
        """The table with the codes of some columns in another order.

        `orders` has, for each column, the places that its levels have now in their new order, or
        None for a column that stays. Rows of codes are carried over by `recoded`.
        """
        if all(order is None for order in orders):
            return self
        levels = tuple(
            own if order is None else own[order]
            for own, order in zip(self.levels, orders, strict=True)
        )
        return replace(self, levels=levels, categories=self.categories or self.levels)

    def orders_like(self, other):
        """For `reordered`, the order in which another table has the levels; its lacking ones last.

        None for a column that is in this order, or without levels in either.
        """
        orders = []
        for j, (own, levels) in enumerate(zip(self.levels, other.levels, strict=True)):
            order, key = None, self._key_of(j)
            if own is not None and levels is not None:
                place = {key(level): i for i, level in enumerate(levels.tolist())}
                places = [place.get(key(level), len(place)) for level in own.tolist()]
                order = np.argsort(places, kind="stable")
                order = None if np.array_equal(order, np.arange(len(own))) else order
            orders.append(order)
        return orders

    def recoded(self, rows, orders):
        """Rows of codes of this table, in those of `reordered`."""
        rows = np.array(rows, dtype=np.float64)
        for j, order in enumerate(orders):
            if order is not None:
                known = ~np.isnan(rows[:, j])
                rows[known, j] = np.argsort(order)[rows[known, j].astype(np.intp)]
        return rows

    def check_bounds(self, inside):
        """Refuse (ValueError) bounds of a domain that choose among levels which are `reordered`.

        Their codes are not those of the model, and say nothing to a user.
        """
        if inside is None or self.categories is None:
            return
        for j, (own, kept) in enumerate(zip(self.levels, self.categories, strict=True)):
            if own is None or own[: len(kept)].tolist() == kept.tolist():
                continue
            last, name = len(own) - 1, j if self.names is None else self.names[j]
            if inside.low[j] > 0 or inside.high[j] < last:
                raise ValueError(
                    f"domain bounds the codes of the column {name!r} of levels, which are numbered "
                    "in an order that suits the model. Leave the bounds out, or give "
                    f"(0, {last}), which holds all known levels."
                )

    def scale(self, j):
        """The levels of a column in the order that the user gave them, as a list.

        None where no order was given, or one of other levels than those of the column.
        """
        found = None if self.scales is None else self.scales[j]
        if found is None or self.levels[j] is None:
            return None
        return found.tolist() if set(found.tolist()) == set(self.levels[j].tolist()) else None

    def natural_order(self, j):
        """Places of the levels of a column in the order that they have of themselves, or None.

        Numbers have one, dates, and levels that the user gave one; what this lacks comes after it.
        """
        levels, given = self.levels[j].tolist(), None if self.scales is None else self.scales[j]
        if given is not None:
            place = {level: i for i, level in enumerate(given.tolist())}
            return np.argsort([place.get(level, len(place)) for level in levels], kind="stable")
        if are_numbers(self.levels[j]):
            return np.argsort(np.array(levels, dtype=np.float64), kind="stable")
        if len({type(level) for level in levels}) == 1 and isinstance(levels[0], _OF_TIME):
            return np.array(sorted(range(len(levels)), key=levels.__getitem__), dtype=np.intp)
        return None

    def like(self, X):
        """The same columns in the dtypes, and the kind of frame, in which some rows come.

        `X` can be a table that knows them, too.
        """
        if isinstance(X, Table):
            self._check_width(len(X), "X")
            # the dtype of levels is none for their codes, which one of the two may hold
            kinds = zip(X.dtypes or (None,) * len(X), self.coded == X.coded, strict=True)
            dtypes = tuple(kind if alike else None for kind, alike in kinds)
            dtypes = dtypes if any(dtypes) else None
            return replace(self, frame=X.frame, dtypes=dtypes, scales=X.scales)
        if hasattr(X, "columns"):
            frame, kinds = type(X), list(X.dtypes)
            self._check_width(len(kinds), "X")
        else:
            frame, kinds = self.frame, [getattr(X, "dtype", None)] * len(self)
        narrow = narrow_floats(
            [kind for own, kind in zip(self.levels, kinds, strict=True) if own is None]
        )
        # integers have no place for gaps, nor for levels that nobody knows
        dtypes = tuple(
            next(narrow)
            if own is None
            else None
            if getattr(kind, "kind", "O") in ("biuf" if j in self.hashed else "biu")
            else kind
            for j, (own, kind) in enumerate(zip(self.levels, kinds, strict=True))
        )
        like = replace(self, frame=frame, dtypes=dtypes if any(dtypes) else None)
        return like.scaled_like(X)

    def scaled_like(self, X):
        """The same columns, with the orders of their levels that the dtypes of some rows give."""
        if not hasattr(X, "columns"):
            return self
        self._check_width(len(X.columns), "X")
        kinds = zip(self.levels, list(X.dtypes), strict=True)
        scales = tuple(None if own is None else scale_of(kind) for own, kind in kinds)
        return replace(self, scales=scales if any(own is not None for own in scales) else None)

    def as_whole(self, X):
        """The same columns, in which integers and booleans come as such, as they do in a frame."""
        if not hasattr(X, "columns"):
            return self
        whole = tuple(
            kind if own is None and is_whole(kind) else None
            for own, kind in zip(self.levels, list(X.dtypes), strict=True)
        )
        return replace(self, whole=whole if any(kind is not None for kind in whole) else None)

    def same_dtypes(self, X):
        """Whether rows come in the dtypes of this table, where the model minds."""
        if not self.by_dtype:
            return True
        kinds = [table.dtypes or (None,) * len(self) for table in (self, self.like(X))]
        return all(
            own is not None or first == second
            for own, first, second in zip(self.levels, *kinds, strict=True)
        )

    @classmethod
    def common(cls, tables, *, order=0, any_levels=False, on_codes=(False, False)):
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
        first = [*with_levels, *named, *tables][0]
        merged = [table for table, coded in zip(tables, on_codes, strict=True) if not coded]
        if order:
            merged = merged[::-1]
        levels = tuple(cls._merged(j, merged, any_levels) for j in range(len(first)))
        said = zip(*(table.unknown for table in with_levels or tables), strict=True)
        unknown = tuple(min(each, key=("refused", "code", "missing").index) for each in said)
        codes = np.array([own is not None for own in levels], dtype=bool)
        for table in tables:
            of_numbers = np.array([own is None for own in table.levels], dtype=bool)
            codes |= table.categorical & of_numbers
        # where others know other things than text, 1 and "1" stay two levels
        hashed = {j for table in merged for j in table.hashed if are_texts(levels[j])}
        return replace(
            first, levels=levels, unknown=unknown, codes=codes, hashed=tuple(sorted(hashed))
        )

    @staticmethod
    def _merged(j, tables, any_levels):
        """The levels of column j of some tables, those of the first one first; None: numbers."""
        coded = [table for table in tables if table.levels[j] is not None]
        if not coded:
            return None
        name = repr(j if tables[0].names is None else tables[0].names[j])
        known = [table.levels[j].tolist() for table in coded]
        if len(coded) < len(tables):
            are_single = coded[0].has_numbers(j) and are_float32(known[0])
            if are_single and coded[0].unknown[j] != "refused":
                return None
            if not are_single and not any_levels:
                raise ValueError(
                    f"In the column {name}, one model was fitted on levels and the other on "
                    "numbers, and some levels are not numbers that float32 represents. Fit both "
                    "models on the same table."
                )
        if all(levels == known[0] for levels in known):
            return coded[0].levels[j]
        every = dict.fromkeys(level for levels in known for level in levels)
        if any(j in table.hashed for table in coded):
            by_hash = {}
            for level in sorted(every, key=is_stand_in):
                by_hash.setdefault(level_hash(level), level)
            every = dict.fromkeys(by_hash[key] for key in map(level_hash, every))
        for table in coded:
            if table.unknown[j] != "refused":
                continue
            own = set(table.levels[j].tolist())
            if not any_levels and (lacking := [level for level in every if level not in own]):
                raise ValueError(
                    f"The column {name} has the level {plain_level(lacking[0])!r}, which one of "
                    "the models was fitted on and the other one refuses: it knows "
                    f"{some_of(table.levels[j])}. Fit both on rows with the same levels, or "
                    "encoders with handle_unknown='ignore'."
                )
            every = dict.fromkeys(level for level in every if level in own)
        if all(table.levels[j].dtype.kind in "iuf" for table in coded):
            return np.array(list(every))
        merged = np.empty(len(every), dtype=object)
        merged[:] = list(every)
        return merged

    def has_numbers(self, j):
        """Whether the levels of a column are numbers."""
        return all(isinstance(level, Real | np.bool_) for level in self.levels[j].tolist())

    def knows_kinds_of(self, other):
        """Whether columns in which another table has text have levels here, too."""
        return all(
            own is not None or levels is None or other.has_numbers(j)
            for j, (own, levels) in enumerate(zip(self.levels, other.levels, strict=True))
        )

    def codes_of(self, other):
        """What the columns of another table are to this one, where it is another thing; by column.

        Each is a pair: own codes, or numbers, of all codes of the other table; or, of a column that
        holds numbers there, of the intervals between some ends; and these ends, or None. A level
        that this table lacks is unknown to it, and has the code after its last one.
        """
        found = {}
        for j, (own, levels) in enumerate(zip(self.levels, other.levels, strict=True)):
            if own is None and levels is None:
                continue
            if own is None:
                values = levels.astype(np.float64)
                found[j] = np.append(values, number_outside(values)), None
                continue
            key_of = self._key_of(j)
            place = {key_of(level): code for code, level in enumerate(own.tolist())}
            if levels is None:
                points = np.array(own, dtype=np.float32)
                ends = np.unique([np.nextafter(points, np.float32(-np.inf)), points])
                ends = ends.astype(np.float64)
                codes = [place.get(end, len(own)) for end in ends.tolist()]
                found[j] = np.array([*codes, len(own)], dtype=np.float64), ends
                continue
            found_at = [place.get(key_of(level), len(own)) for level in levels.tolist()]
            codes = np.array(found_at, dtype=np.float64)
            if other.unknown[j] == "code":
                codes = np.append(codes, len(own))
            as_they_are = np.array_equal(codes, np.arange(len(codes)))
            if not as_they_are or (
                self.unknown[j] == "missing" and codes.max(initial=0) == len(own)
            ):
                found[j] = codes, None
        return found

    def translated(self, j, values, codes, ends):
        """Own codes of entries of a column of another table; see `codes_of`."""
        if ends is None:
            return codes[values.astype(np.intp)]
        place = {level: code for code, level in enumerate(self.levels[j].tolist())}
        distinct, inverse = np.unique(values, return_inverse=True)
        own = [place.get(value, len(place)) for value in distinct.tolist()]
        return np.array(own, dtype=np.float64)[inverse]

    def __len__(self):
        return len(self.levels)

    @property
    def is_plain(self):
        """Whether it holds numbers alone."""
        return not self.as_objects and all(own is None for own in self.levels)

    @property
    def is_uniform(self):
        """Whether it holds numbers of one type alone, so that an array can stand for it."""
        return self.is_plain and len(set(self.dtypes or ())) < 2

    @property
    def narrow(self):
        """Which columns hold numbers in a dtype that is narrower than float64, as a bool array."""
        kinds = zip(self.levels, self.dtypes or (None,) * len(self), strict=True)
        return np.array([own is None and kind is not None for own, kind in kinds], dtype=bool)

    @property
    def row_dtype(self):
        """The type of the columns of numbers, in words, where the model minds; else None."""
        if not self.by_dtype:
            return None
        kinds = zip(self.levels, self.dtypes or (None,) * len(self), strict=True)
        found = {np.dtype(kind or np.float64).name for own, kind in kinds if own is None}
        return " and ".join(sorted(found))

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
        """Which columns hold codes of categories, as a bool array."""
        return self.coded if self.codes is None else self.coded | self.codes

    @property
    def coded(self):
        """Which columns have levels, as a bool array."""
        return np.array([own is not None for own in self.levels], dtype=bool)

    @property
    def highest_code(self):
        """Highest code of each column, -1 in columns of numbers; None if there are no codes."""
        categorical = self.categorical
        return np.where(categorical, self.highest, -1.0) if categorical.any() else None

    def may_miss(self, rows=None):
        """Columns that may be missing where no domain says otherwise, as a bool array.

        They are those that lack something in rows of numbers, and those with levels where the model
        takes every level that it never saw for a missing value: nobody can rule these out.
        """
        pairs = zip(self.levels, self.unknown, strict=True)
        found = [own is not None and unknown == "missing" for own, unknown in pairs]
        found = np.array(found, dtype=bool)
        return found if rows is None else found | np.isnan(rows).any(axis=0)

    # ------------------------------------------------------------------ rows to numbers

    def encode(self, X):
        """Numbers for a table, a frame of the same type or an array; one of numbers alone stays.

        Columns with levels become codes, all are float64. ValueError if the number of columns is
        another, or a level is not known and the model refuses such, or an entry of a column of
        numbers is none.
        """
        named = hasattr(X, "columns")
        if not self.coded.any() and (is_plain(X) or (self.is_plain and not named)):
            return X
        table = X if named else np.asarray(X, dtype=object)
        if table.ndim != 2 if not named else False:
            raise ValueError(f"X has {table.ndim} dimensions instead of 2. Give rows.")
        given = list(X.columns) if named else list(range(table.shape[1]))
        self._check_width(len(given), "X")
        columns = {}
        for j, name in enumerate(given):
            values = X[name] if named else table[:, j]
            columns[name] = self.numbers_of(j, values, name)
        if named:
            return type(X)(columns)
        return np.column_stack(list(columns.values())) if columns else np.empty(table.shape)

    def read(self, X, dtype=np.float64, name="X"):
        """A checked array of numbers for rows of the table, NaN where they lack one.

        `dtype` is that of `check_array`, a list too; errors call the rows by `name`.
        """
        X = check_array(self.encode(X), dtype=dtype, ensure_all_finite="allow-nan")
        self._check_width(X.shape[1], name)
        return X

    def _check_width(self, given, name):
        if given != len(self):
            raise ValueError(
                f"{name} has {given} features, but the ensemble was fitted on {len(self)}. Pass "
                "the columns it was fitted on."
            )

    def numbers_of(self, j, values, name):
        """Numbers for entries of column j, which errors call by `name`."""
        levels = self.levels[j]
        values = np.asarray(values, dtype=None if levels is None else object)
        if levels is None:
            try:
                return with_nan(values).astype(np.float64)
            except (TypeError, ValueError) as error:
                raise ValueError(
                    f"The column {name!r} of X holds {values.dtype} where the ensemble was "
                    f"fitted on numbers ({error})."
                ) from error
        key_of = self._key_of(j)
        place = {key_of(level): float(code) for code, level in enumerate(levels.tolist())}
        rest = {"code": float(len(levels)), "missing": np.nan, "refused": -1.0}[self.unknown[j]]

        def code(value):
            if is_missing(value) and self._means_missing(j, value):
                return np.nan
            return place.get(key_of(value), rest)

        entries = values.tolist()
        # each distinct entry is looked at once
        code_of = {value: code(value) for value in dict.fromkeys(entries)}
        codes = np.array([code_of[value] for value in entries], dtype=np.float64)
        if (wrong := np.flatnonzero(codes < 0)).size:
            raise ValueError(
                f"X[{wrong[0]}] has {values[wrong[0]]!r} in the column {name!r}, a level that the "
                f"ensemble has never seen and refuses. It knows {some_of(levels)}."
            )
        return codes

    def _means_missing(self, j, value):
        """Whether None or NaN is what the model knows as a missing value of a column."""
        if value is None:
            return j not in self.as_nan
        return j not in self.as_none

    # ------------------------------------------------------------------ numbers to rows

    def decode(self, rows):
        """Rows of the table for rows of numbers and codes: a frame where there are names."""
        rows = np.asarray(rows)
        if self.is_plain and (self.names is None or not self._builds_frames()):
            kinds = set(self.dtypes or (None,))
            return rows if len(kinds) > 1 else rows.astype(kinds.pop() or rows.dtype, copy=False)
        if self.is_plain and not (self.dtypes or self.whole) and self._builds_pandas():
            return self._frame()(rows, columns=self.names)
        kinds = self.dtypes or (None,) * len(self)
        values = [self._entries(j, rows[:, j]) for j in range(len(self))]
        values = [
            column.astype(kind) if own is None and kind is not None else column
            for column, own, kind in zip(values, self.levels, kinds, strict=True)
        ]
        if self.names is None:
            table = np.empty(rows.shape, dtype=object)
            for j, column in enumerate(values):
                table[:, j] = column
            return table
        whole = self._whole_columns(rows)
        if not self._builds_pandas():
            # a list: other frames make columns of text of it, with gaps where there is None
            values = [
                column
                if own is None and j not in whole
                else [None if is_missing(entry) else entry for entry in column.tolist()]
                for j, (column, own) in enumerate(zip(values, self.levels, strict=True))
            ]
            frame = self._frame()(dict(zip(self.names, values, strict=True)))
            known = {
                j: kind
                for j, (own, kind) in enumerate(zip(self.levels, kinds, strict=True))
                if own is not None and kind is not None
            }
            return frame.cast({self.names[j]: k for j, k in (known | whole).items()}, strict=False)
        import pandas

        if self.as_category:
            values = [
                column
                if own is None
                else pandas.Categorical(
                    column, self._categories(j), ordered=getattr(kinds[j], "ordered", False)
                )
                for j, (column, own) in enumerate(zip(values, self.levels, strict=True))
            ]
        # text stays as it is, whatever pandas would make of it
        values = [
            pandas.Series(column, dtype=object) if column.dtype == object else column
            for column in values
        ]
        frame = self._frame()(dict(enumerate(values)))
        given = {
            j: with_room(kind, values[j])
            for j, (own, kind) in enumerate(zip(self.levels, kinds, strict=True))
            if own is not None and kind is not None and not self.as_category
        }
        given |= whole
        frame = frame.astype(given) if given else frame
        frame.columns = self.names
        return frame

    def _whole_columns(self, rows):
        """Dtypes of the columns of which rows can be integers or booleans, by column."""
        kinds = enumerate(self.whole or ())
        return {j: kind for j, kind in kinds if kind is not None and fits(rows[:, j], kind)}

    def shown(self, rows):
        """Rows of numbers as a user knows them: an array, if one type of numbers will do."""
        if not self.is_uniform:
            return self.decode(rows)
        return rows if self.dtypes is None else rows.astype(self.dtypes[0])

    def rounded(self, rows):
        """Rows with the codes that drawn numbers are next to, in columns with levels."""
        if self.is_plain:
            return rows
        coded = self.coded
        rows = np.array(rows, dtype=np.float64)
        rows[:, coded] = np.clip(np.rint(rows[:, coded]), 0.0, self.highest[coded])
        return rows

    def level(self, j, code):
        """The level of a code of column j, as text."""
        own = self.levels[j]
        return str(own[code]) if code < len(own) else UNKNOWN

    def _entries(self, j, codes):
        levels = self.levels[j]
        if levels is None:
            return codes
        text = levels.dtype.kind in "OSU"
        other = UNKNOWN if text else number_outside(levels)
        absent = None if j in self.as_none else np.nan
        table = np.empty(len(levels) + 2, dtype=object)
        table[:] = [*levels.tolist(), other, absent]
        place = np.where(np.isnan(codes), len(levels) + 1, np.nan_to_num(codes)).astype(np.intp)
        return table[place] if text else table[place].astype(np.float64)

    def _categories(self, j):
        """Levels of a column in the order that the model wants, then others that are known."""
        own = self.levels[j]
        wanted = own if self.categories is None else self.categories[j]
        if len(wanted) == len(own):
            return wanted
        return list(dict.fromkeys([*wanted.tolist(), *own.tolist()]))

    def _builds_pandas(self):
        return self.frame is None or hasattr(self.frame, "iloc")

    def _builds_frames(self):
        """Whether frames can be had: a model that was fitted on one may be used without pandas."""
        if self.frame is not None:
            return True
        try:
            import pandas  # noqa: F401
        except ImportError:
            return False
        return True

    def _frame(self):
        if self.frame is not None:
            return self.frame
        import pandas

        return pandas.DataFrame


def is_plain(X):
    """Whether a table holds numbers alone, as far as its types tell."""
    if hasattr(X, "dtypes") and hasattr(X, "columns"):
        kinds: list = [getattr(kind, "kind", None) for kind in list(X.dtypes)]
        if None in kinds:  # polars
            return all(kind.is_numeric() or str(kind) == "Boolean" for kind in X.dtypes)
        return all(kind in "biuf" for kind in kinds)
    if hasattr(X, "dtype"):
        return getattr(X.dtype, "kind", "f") in "biufc"
    return True


def column_index(key, parameter, n_features, names=None):
    """Index of a column that a user gave by name or index; errors call it `parameter`."""
    if isinstance(key, str):
        if names is None:
            raise ValueError(
                f"{parameter} names the column {key!r}, but X has no column names. "
                "Pass a DataFrame, or use column indices."
            )
        found = np.flatnonzero(names == key)
        if not found.size:
            raise ValueError(
                f"{parameter} names the column {key!r}, which X does not have. Its columns "
                f"are {some_of(names)}."
            )
        return int(found[0])
    if not isinstance(key, Integral) or not 0 <= key < n_features:
        given = key.item() if isinstance(key, np.generic) else key
        raise ValueError(
            f"{parameter} has the column {given!r}. Columns are names, or indices from 0 to "
            f"{n_features - 1}."
        )
    return int(key)


def column_indices(columns, parameter, n_features, names=None):
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


def _doubles(rows):
    """Rows of numbers as an array, with NaN for what pandas calls NA."""
    return check_array(rows, dtype=np.float64, ensure_all_finite=False, ensure_min_samples=0)
