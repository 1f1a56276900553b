"""One column of a table: numbers, levels, or levels that a model knows by their hashes alone.

Each kind says what its entries are as numbers and what numbers are as entries, and how it stands
to the same column of another table: `Column` is one of numbers, `Levels` of text and categories,
`Hashed` of CatBoost's categories. What follows them knows entries and dtypes.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, field, fields, replace
from datetime import date, time, timedelta
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np

from ensemble_simplify.reading.level_hash import is_stand_in, level_hash, text_of

# What stands for a level that a model never saw, where it takes such.
UNKNOWN = "<unknown>"
# Entries, such as dates, that are no numbers and have an order of themselves.
_OF_TIME = (date, time, timedelta)
_NARROW = {"float32": np.float32, "float16": np.float16}


@dataclass(frozen=True, eq=False, kw_only=True)
class Column:
    """A column of numbers.

    Attributes
    ----------
    dtype : dtype or None
        What rows of the table have in this column: of numbers, a narrow float. None: what comes of
        itself.
    whole : dtype or None
        A dtype of integers or booleans, for rows of which it can be said.
    is_code : bool
        Whether the numbers are codes of categories themselves, whole and from 0.
    unknown : {"refused", "code", "missing"}
        What levels are that the column does not know: refused by the model, a code after the last
        one, or missing. A column of numbers has none; it is compared where another model has some.
    """

    dtype: Any = None
    whole: Any = None
    is_code: bool = False
    unknown: str = "refused"
    # None here, so that every column can be asked
    levels: Any = None

    @property
    def highest(self) -> float:
        """The highest code; infinity where there are no levels."""
        return np.inf

    # ------------------------------------------------------------------ entries and numbers

    def numbers(self, entries, name) -> np.ndarray:
        """Numbers for entries, NaN for gaps; errors call the column by `name`."""
        entries = np.asarray(entries)
        try:
            if entries.dtype.kind in "mM":  # NumPy would count something since some day
                raise TypeError("make numbers of its dates, or spans of time, before")
            return with_nan(entries).astype(np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"The column {name!r} of X holds {entries.dtype} where the ensemble was fitted on "
                f"numbers ({error})."
            ) from error

    def entries(self, numbers) -> np.ndarray:
        """Entries for numbers, as an array."""
        return numbers if self.dtype is None else numbers.astype(self.dtype)

    def frame_dtype(self, numbers) -> Any:
        """The dtype that a frame casts the entries of some numbers to; None: they stay."""
        return self.whole if self.whole is not None and fits(numbers, self.whole) else None

    # ------------------------------------------------------------------ as it comes in other rows

    def with_entries(self, entries, among_levels) -> Column:
        """The column with what it holds in some rows; `among_levels`: others have levels already.

        Levels that only the rows have come after its own.
        """
        levels = None if self.is_code else levels_of(entries)
        # a model that knows the levels of others takes this one for numbers
        if levels is None or (among_levels and are_numbers(levels)):
            return self
        return Levels(levels=levels, dtype=self.dtype, unknown=self.unknown)

    def in_dtype(self, kind, narrow: Iterator) -> Self:
        """The column as it comes in rows where it has a dtype; see `narrow_floats` for `narrow`."""
        dtype = next(narrow)
        return self if dtype is self.dtype else replace(self, dtype=dtype)

    def as_in(self, other: Column) -> Self:
        """The column in the dtype and the order of levels of another table's."""
        # the dtype of levels is none for their codes, which one of the two may hold
        alike = (self.levels is None) == (other.levels is None)
        dtype = other.dtype if alike else None
        return self if dtype is self.dtype else replace(self, dtype=dtype)

    # ------------------------------------------------------------------ beside another table's

    def knows_kind_of(self, other: Column) -> bool:
        """Whether there are levels here, too, if another table's column has text."""
        return not isinstance(other, Levels) or are_numbers(other.levels)

    def codes_of(self, other: Column) -> tuple | None:
        """What another table's column is to this one; see `Table.codes_of`."""
        if other.levels is None:
            return None
        values = other.levels.astype(np.float64)
        return np.append(values, number_outside(values)), None

    def translated(self, values, codes, ends) -> np.ndarray:
        """What entries of another table's column are here, by what `codes_of` answered."""
        return codes[values.astype(np.intp)]


@dataclass(frozen=True, eq=False, kw_only=True)
class LeftOut(Column):
    """A column that the steps of a pipeline leave out: whatever it holds, the model does not look.

    Its entries are numbers where they are such; others are all the same number, but for gaps.

    Attributes
    ----------
    other : object
        The entry of every number; None: the numbers themselves.
    """

    other: Any = None

    def showing(self, number, entry) -> Self:
        """The column in which a number that does not tell what was given stands for this entry."""
        return self if isinstance(plain(entry), Real) else replace(self, other=plain(entry))

    def numbers(self, entries, name) -> np.ndarray:
        try:
            return super().numbers(entries, name)
        except ValueError:
            return np.array([np.nan if is_missing(entry) else 0.0 for entry in entries])

    def entries(self, numbers) -> np.ndarray:
        if self.other is None:
            return super().entries(numbers)
        return as_objects([self.other] * len(numbers))

    def knows_kind_of(self, other: Column) -> bool:
        return True

    def codes_of(self, other: Column) -> tuple | None:
        return None if other.levels is None else (np.zeros(len(other.levels) + 1), None)


@dataclass(frozen=True, eq=False, kw_only=True)
class Levels(Column):
    """A column of text or categories, whose numbers are the places of its levels.

    Attributes
    ----------
    levels : ndarray
        In the order of their codes.
    by_text : bool
        Whether the levels are texts of other objects, by which entries are looked up.
    lacks_none : bool
        Whether the model knows a missing value as None, so that NaN is another level. Otherwise it
        is NaN, and None is taken for one, unless the model `knows_nan`.
    knows_nan : bool
        Whether the model knows NaN as a level or fills it in.
    categories : ndarray or None
        Levels in the order of pandas' categories that the model wants, where that of the codes is
        another; None: it is the same.
    scale : ndarray or None
        Levels in the order that the user gave them by the dtype of the column; None: none.
    other : object
        The entry of what no code of a level tells; None: one that is made up.
    """

    levels: np.ndarray = field()
    by_text: bool = False
    lacks_none: bool = False
    knows_nan: bool = False
    categories: np.ndarray | None = None
    scale: np.ndarray | None = None
    other: Any = None

    # pandas' and polars' integers have no place for gaps, nor for levels that nobody knows
    _no_dtype: ClassVar[str] = "biu"

    @property
    def highest(self) -> float:
        return len(self.levels) - 1.0 + (self.unknown == "code")

    def key(self, entry) -> Hashable:
        """What an entry is looked up by."""
        return str(entry) if self.by_text else entry

    def places(self) -> dict:
        """The code of each level, by its key."""
        return {self.key(level): code for code, level in enumerate(self.levels.tolist())}

    # ------------------------------------------------------------------ entries and numbers

    def numbers(self, entries, name) -> np.ndarray:
        """Codes of entries, NaN for gaps. ValueError for a level that the model refuses."""
        entries = np.asarray(entries, dtype=object)
        place = self.places()
        other = {"code": len(place), "missing": np.nan, "refused": -1}[self.unknown]
        # each distinct entry is looked at once
        code_of = {
            entry: np.nan if self._is_gap(entry) else place.get(self.key(entry), other)
            for entry in dict.fromkeys(entries.tolist())
        }
        codes = np.array([code_of[entry] for entry in entries.tolist()], dtype=np.float64)
        if (refused := np.flatnonzero(codes < 0)).size:
            raise ValueError(
                f"X[{refused[0]}] has {entries[refused[0]]!r} in the column {name!r}, a level that "
                f"the ensemble has never seen and refuses. It knows {some_of(self.levels)}."
            )
        return codes

    def _is_gap(self, entry) -> bool:
        """Whether an entry is what the model knows as a missing value."""
        if not is_missing(entry):
            return False
        return not (self.knows_nan if entry is None else self.lacks_none)

    def entries(self, numbers) -> np.ndarray:
        """Levels for codes: objects where they are text or the like, else numbers of float64."""
        # booleans are no numbers to pandas' categories
        is_text = self.levels.dtype.kind in "OSUb"
        other, lacking = self.other, None if self.lacks_none else np.nan
        if other is None:
            other = level_outside(self.levels) if is_text else number_outside(self.levels)
        elif self.unknown == "missing":
            lacking = other
        gap = len(self.levels) + 1
        entry_of = as_objects([*self.levels.tolist(), other, lacking])
        place = np.where(np.isnan(numbers), gap, np.nan_to_num(numbers)).astype(np.intp)
        return entry_of[place] if is_text else entry_of[place].astype(np.float64)

    def showing(self, number, entry) -> Self:
        """The column in which a number that does not tell what was given stands for this entry."""
        known = number < len(self.levels)  # which no gap is
        return self if known or is_missing(entry) else replace(self, other=plain(entry))

    def frame_dtype(self, numbers) -> Any:
        return self.dtype

    def category_dtype(self, entries, wanted) -> Any:
        """The dtype of pandas' categories for some entries.

        Either that of the rows, with all entries among the categories, or, if the model `wanted`
        them, its levels in the order that it wants, then others that are known.
        """
        import pandas

        if not wanted:
            known = self.dtype.categories.tolist()
            found = [entry for entry in dict.fromkeys(entries.tolist()) if not is_missing(entry)]
            more = [entry for entry in found if entry not in {*known}]
            return type(self.dtype)([*known, *more], self.dtype.ordered) if more else self.dtype
        levels = self.levels if self.categories is None else self.categories
        if len(levels) < len(self.levels):
            levels = list(dict.fromkeys([*levels.tolist(), *self.levels.tolist()]))
        return pandas.CategoricalDtype(levels, getattr(self.dtype, "ordered", False))

    # ------------------------------------------------------------------ as it comes in other rows

    def with_entries(self, entries, among_levels) -> Column:
        levels = levels_of(entries)
        if levels is None:  # numbers, which are levels beside others
            levels = sorted_levels(e for e in np.asarray(entries).tolist() if not is_missing(e))
        known = set(self.levels.tolist())
        more = [level for level in levels.tolist() if level not in known]
        if not more:
            return self
        joined = as_objects([*self.levels.tolist(), *more])
        of_objects = self.levels.dtype.kind in "OSUb"
        return replace(self, levels=joined if of_objects else joined.astype(np.float64))

    def in_dtype(self, kind, narrow: Iterator) -> Self:
        lost = getattr(kind, "kind", "O") in self._no_dtype
        return replace(self, dtype=None if lost else kind)

    def as_in(self, other: Column) -> Self:
        return replace(super().as_in(other), scale=getattr(other, "scale", None))

    # ------------------------------------------------------------------ orders of the levels

    def natural_order(self) -> np.ndarray | None:
        """Places of the levels in the order that they have of themselves; None: they have none.

        Numbers have one, dates, and levels that the user gave one; what this lacks comes after it.
        """
        levels = self.levels.tolist()
        if self.scale is not None:
            place = {level: i for i, level in enumerate(self.scale.tolist())}
            return np.argsort([place.get(level, len(place)) for level in levels], kind="stable")
        if are_numbers(self.levels):
            return np.argsort(np.array(levels, dtype=np.float64), kind="stable")
        if of_one_time(levels):
            return np.array(sorted(range(len(levels)), key=levels.__getitem__), dtype=np.intp)
        return None

    def given_order(self) -> list | None:
        """The levels in the order that the user gave; None: no order, or one of other levels."""
        if self.scale is None:
            return None
        scale = self.scale.tolist()
        return scale if set(scale) == set(self.levels.tolist()) else None

    def order_like(self, other: Column) -> np.ndarray | None:
        """Places of the levels in the order of another table's; None: they are in it."""
        if other.levels is None:
            return None
        place = {self.key(level): i for i, level in enumerate(other.levels.tolist())}
        places = [place.get(self.key(level), len(place)) for level in self.levels.tolist()]
        order = np.argsort(places, kind="stable")
        return None if np.array_equal(order, np.arange(len(order))) else order

    def with_levels(self, levels: np.ndarray, unknown: str, *, hashed: bool) -> Levels:
        """The column with other levels, which the model knows by their hashes or as they are."""
        kind = Hashed if hashed else Levels
        kept: dict[str, Any] = {each.name: getattr(self, each.name) for each in fields(self)}
        kept |= {"levels": levels, "unknown": unknown}
        return kind(**kept)

    def reordered(self, order) -> Self:
        """The column with codes in another order; the model keeps its own categories."""
        categories = self.levels if self.categories is None else self.categories
        return replace(self, levels=self.levels[order], categories=categories)

    @property
    def is_reordered(self) -> bool:
        """Whether the codes are other ones than the model's."""
        if self.categories is None:
            return False
        return self.levels[: len(self.categories)].tolist() != self.categories.tolist()

    # ------------------------------------------------------------------ beside another table's

    def knows_kind_of(self, other: Column) -> bool:
        return True

    def codes_of(self, other: Column) -> tuple | None:
        place, unknown = self.places(), len(self.levels)
        if other.levels is None:
            # numbers: a level is the interval from the float32 before it, without that, to itself
            points = np.array(self.levels, dtype=np.float32)
            ends = np.unique([np.nextafter(points, np.float32(-np.inf)), points])
            ends = ends.astype(np.float64)
            codes = [place.get(end, unknown) for end in ends.tolist()]
            return np.array([*codes, unknown], dtype=np.float64), ends
        codes = [place.get(self.key(level), unknown) for level in other.levels.tolist()]
        codes = np.array([*codes, unknown] if other.unknown == "code" else codes, dtype=np.float64)
        is_same = np.array_equal(codes, np.arange(len(codes)))
        # where what is unknown is missing, it has no code here, though it has one in the numbers
        loses = self.unknown == "missing" and codes.max(initial=0) == unknown
        return (codes, None) if loses or not is_same else None

    def translated(self, values, codes, ends) -> np.ndarray:
        if ends is None:
            return super().translated(values, codes, ends)
        place = {level: code for code, level in enumerate(self.levels.tolist())}
        distinct, inverse = np.unique(values, return_inverse=True)
        code_of = [place.get(value, len(place)) for value in distinct.tolist()]
        return np.array(code_of, dtype=np.float64)[inverse]


@dataclass(frozen=True, eq=False, kw_only=True)
class Hashed(Levels):
    """A column of levels that the model (CatBoost) knows by a hash of their text alone.

    Entries are looked up by it, and nothing is ever missing. A level whose name nobody told is a
    text with its hash: see `named`.
    """

    # CatBoost refuses floats as categories, too
    _no_dtype: ClassVar[str] = "biuf"

    @property
    def is_unnamed(self) -> bool:
        """Whether the names of some levels are not known."""
        return any(map(is_stand_in, self.levels.tolist()))

    def key(self, entry) -> Hashable:
        return level_hash(entry)

    def with_entries(self, entries, among_levels) -> Column:
        return self.named(entries)

    def named(self, entries) -> Self:
        """The column with the names that some entries have; levels that it lacks come last."""
        name_of = {level_hash(level): level for level in self.levels.tolist()}
        texts = {text_of(e) for e in np.asarray(entries).tolist() if not is_missing(e)}
        # stand-ins last: of two texts with one hash, it is a name that is kept
        for text in sorted(texts, key=lambda text: (is_stand_in(text), text)):
            if is_stand_in(name_of.setdefault(level_hash(text), text)):
                name_of[level_hash(text)] = text
        return replace(self, levels=as_objects(name_of.values()))


def common_levels(columns: list[Column], name, any_levels: bool) -> np.ndarray | None:
    """The levels that models are put in their columns, those of the first one first; None: numbers.

    See `Table.common`; errors call the column by `name`.
    """
    columns = [column for column in columns if not isinstance(column, LeftOut)]
    with_levels = [column for column in columns if isinstance(column, Levels)]
    if not with_levels:
        return None
    first = with_levels[0]
    if len(with_levels) < len(columns):
        # to the model of numbers, each level has to be one of these
        are_single = are_numbers(first.levels) and are_float32(first.levels.tolist())
        if are_single and first.unknown != "refused":
            return None
        if not are_single and not any_levels:
            raise ValueError(
                f"In the column {name}, one model was fitted on levels and the other on numbers, "
                "and some levels are not numbers that float32 represents. Fit both models on the "
                "same table."
            )
    if all(column.levels.tolist() == first.levels.tolist() for column in with_levels):
        return first.levels
    every = _distinct_levels(with_levels)
    for column in with_levels:
        if column.unknown == "refused":
            every = _not_refused(every, column, name, any_levels)
    of_numbers = all(column.levels.dtype.kind in "iuf" for column in with_levels)
    return np.array(every) if of_numbers else as_objects(every)


def _distinct_levels(columns: list[Levels]) -> list:
    """The levels of some columns, each of them once."""
    every = dict.fromkeys(level for column in columns for level in column.levels.tolist())
    if not any(isinstance(column, Hashed) for column in columns):
        return list(every)
    # two names of one hash are one level; a name goes before what stands in for one
    by_hash: dict[int, Any] = {}
    for level in sorted(every, key=is_stand_in):
        by_hash.setdefault(level_hash(level), level)
    return list(dict.fromkeys(by_hash[level_hash(level)] for level in every))


def _not_refused(levels: list, column: Levels, name, any_levels: bool) -> list:
    """Those of some levels that a column knows; ValueError for others, unless there may be any."""
    known = set(column.levels.tolist())
    lacking = [level for level in levels if level not in known]
    if lacking and not any_levels:
        raise ValueError(
            f"The column {name} has the level {plain(lacking[0])!r}, which one of the models was "
            f"fitted on and the other one refuses: it knows {some_of(column.levels)}. Fit both on "
            "rows with the same levels, or encoders with handle_unknown='ignore'."
        )
    return [level for level in levels if level in known]


# ------------------------------------------------------------------------------------ entries


def is_missing(value) -> bool:
    """Whether an entry of a table is missing: None, NaN, NaT or pandas.NA."""
    if value is None:
        return True
    try:
        return bool(value != value)
    except TypeError:  # pandas.NA says neither
        return True


def with_nan(values: np.ndarray) -> np.ndarray:
    """Entries with NaN for whatever else says that one is missing."""
    if values.dtype.kind != "O":
        return values
    return np.array([np.nan if is_missing(v) else v for v in values.tolist()])


def lacks_none(column) -> bool:
    """Whether None is what a column lacks its entries by."""
    missing = [e for e in np.asarray(column, dtype=object).tolist() if is_missing(e)]
    return bool(missing) and all(entry is None for entry in missing)


def plain(value) -> Any:
    """A label or a level as an object of Python's own."""
    return value.item() if isinstance(value, np.generic) else value


def some_of(levels: np.ndarray) -> str:
    """The first levels, in words."""
    shown = ", ".join(repr(plain(level)) for level in levels[:8].tolist())
    return shown + (", ..." if len(levels) > 8 else "")


# ------------------------------------------------------------------------------------ levels


def as_objects(levels: Iterable) -> np.ndarray:
    """An array of objects: NumPy would make one of text, or of two dimensions, of some levels."""
    levels = list(levels)
    array = np.empty(len(levels), dtype=object)
    array[:] = levels
    return array


def levels_of(column) -> np.ndarray | None:
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


def sorted_levels(entries: Iterable) -> np.ndarray:
    """Distinct entries, sorted within each of their types."""
    try:
        distinct = list(dict.fromkeys(entries))
        return as_objects(sorted(distinct, key=lambda entry: (type(entry).__name__, entry)))
    except TypeError as error:
        raise TypeError(
            f"A column of X has entries that are neither numbers, nor text, nor dates ({error}). "
            "Leave it out, or make it text with astype(str)."
        ) from error


def plain_levels(levels) -> tuple[np.ndarray, bool, bool]:
    """Levels without missing ones, and whether None and NaN are among these."""
    levels = np.asarray(levels)
    if levels.dtype.kind in "mM":
        levels = objects_of_time(levels)
    absent = [level for level in levels.tolist() if is_missing(level)]
    kept = np.array([not is_missing(level) for level in levels.tolist()], dtype=bool)
    return levels[kept], None in absent, any(level is not None for level in absent)


def objects_of_time(levels) -> np.ndarray:
    """Dates of NumPy as the entries of frames are, which equal those of Python's own."""
    import pandas

    return as_objects(pandas.Index(levels))


def are_numbers(levels: np.ndarray) -> bool:
    return all(isinstance(level, Real | np.bool_) for level in levels.tolist())


def are_texts(levels: np.ndarray) -> bool:
    return all(isinstance(level, str) for level in levels.tolist())


def of_one_time(levels: list) -> bool:
    """Whether levels are all dates, or all times, so that they have an order of themselves."""
    return len({type(level) for level in levels}) == 1 and isinstance(levels[0], _OF_TIME)


def are_float32(levels) -> bool:
    """Whether numbers are some that float32 represents, with one below."""
    numbers = np.array(levels, dtype=np.float64)
    return bool((np.abs(numbers) < 1e38).all() and (numbers.astype(np.float32) == numbers).all())


def level_outside(levels: np.ndarray) -> Any:
    """What is none of some levels, which are no numbers: of dates a later one, else a text."""
    known = levels.tolist()
    if of_one_time(known):
        return max(known) + timedelta(days=1)
    # a column of pandas' periods takes no text, either
    return max(known) + 1 if known and hasattr(known[0], "freqstr") else UNKNOWN


def number_outside(levels: np.ndarray) -> float:
    """A number that is none of some levels, which are numbers."""
    return float(levels.max()) + 1.0 if len(levels) else 0.0


# ------------------------------------------------------------------------------------ dtypes


def narrow_floats(kinds: list) -> Iterator[Callable | None]:
    """For columns of numbers in these dtypes: float32 or float16, if they count as such, or None.

    Short integers do beside such columns: NumPy makes one array of them all, in that dtype.
    """
    are_numpys = all(isinstance(kind, np.dtype) and kind.kind in "biufc" for kind in kinds)
    joined = _NARROW.get(str(np.result_type(*set(kinds)))) if are_numpys and kinds else None
    known: dict[Any, Callable | None] = {}  # a table of a thousand columns has few dtypes
    for kind in kinds:
        if kind not in known:
            # pandas' Float32 is none: scikit-learn makes float64 of it; Polars' Float32 is
            name = str(kind) if hasattr(kind, "kind") else str(kind).lower()
            is_short = getattr(kind, "kind", "f") in "biu"
            known[kind] = joined if is_short else _NARROW.get(name)
        yield known[kind]


def scale_of(kind) -> np.ndarray | None:
    """The categories of a dtype in their order: of pandas' ordered ones, and of polars' Enum."""
    ordered = getattr(kind, "ordered", str(kind).startswith("Enum"))
    return np.asarray(kind.categories) if ordered else None


def as_categories(entries, kind) -> Any:
    """Entries as pandas' categories; what is not among these is missing.

    By their places, since pandas finds no booleans among objects.
    """
    import pandas

    place = {category: i for i, category in enumerate(kind.categories.tolist())}
    codes = [place.get(entry, -1) for entry in entries.tolist()]
    return pandas.Categorical.from_codes(codes, dtype=kind)


def is_whole(kind) -> bool:
    """Whether a dtype is one of integers or booleans."""
    if hasattr(kind, "is_integer"):  # polars
        return (kind.is_integer() and "128" not in str(kind)) or str(kind) == "Boolean"
    return getattr(kind, "kind", None) in ("b", "i", "u")


def fits(numbers: np.ndarray, kind) -> bool:
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
