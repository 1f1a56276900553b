"""Columns in their user's words: names, levels and codes, and which of their values are left."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import numpy as np

from ensemble_simplify.reading import Table
from ensemble_simplify.writing.words import between, end_of_interval, one_line, plain


@dataclass(frozen=True)
class Span:
    """Values of a feature that reach a node: above `low`, up to `high`, perhaps missing ones."""

    low: float = -np.inf
    high: float = np.inf
    missing: bool = True

    def below(self, threshold, missing_left):
        """The part that goes left at a threshold."""
        return Span(self.low, min(self.high, threshold), self.missing and missing_left)

    def above(self, threshold, missing_left):
        """The part that goes right."""
        return Span(max(self.low, threshold), self.high, self.missing and not missing_left)


ALL = Span()


def truth_values(dtypes: Iterable) -> frozenset:
    """Which columns hold truth values, by their dtypes."""
    return frozenset(j for j, dtype in enumerate(dtypes) if "bool" in str(dtype).lower())


@dataclass(frozen=True, eq=False)
class NamedColumns:
    """What a user calls the columns that features encode.

    Attributes
    ----------
    n_features : int
    names : list of str or None
        Names of the columns, None where there are none.
    table : Table or None
        The table whose columns the features encode.
    booleans : frozenset of int
        Features that are known to be truth values, not numbers.
    ends : dict
        Shorter numbers that stand for thresholds, each by its feature and itself.
    """

    n_features: int
    names: list | None
    table: Table | None
    booleans: frozenset = field(default=frozenset(), kw_only=True)
    ends: dict = field(default_factory=dict, kw_only=True)

    def renamed(self, feature_names=None, class_names=None):
        """The same under other names of columns, or of classes; None: as they are."""
        names, classes = self.names, getattr(self, "classes", None)
        if class_names is not None:
            classes = [plain(c) for c in checked_names("class_names", class_names, classes)]
        if feature_names is not None:
            given = checked_names("feature_names", feature_names, range(self.n_features))
            names = [str(name) for name in given]
            if len(set(names)) < self.n_features:
                raise ValueError(
                    f"feature_names={names!r} holds a name twice. Give each feature its own."
                )
        return replace(self, names=names, classes=classes)

    def levels(self, j):
        """Levels of a column as Python's own objects, in the order of their codes; None: none."""
        own = None if self.table is None else self.table.levels[j]
        return None if own is None else [plain(level) for level in own.tolist()]

    def literals(self, j, *, mixed=True):
        """Levels of a column as code can hold them, and whether they are the texts of levels.

        Time stamps, intervals and other objects are told by their texts, and so are text and
        numbers in one column, unless they may be `mixed`. TypeError if two levels have the same
        text, or one has that of a missing value.
        """
        if self.table.unnamed(j):
            raise ValueError(
                f"The column {self.shown(j)!r} has levels whose names are not known: the CatBoost "
                "model keeps but hashes of them. Fit on rows with all levels that it was fitted "
                "on, or give export_model such rows as X."
            )
        levels = self.levels(j)
        are_texts = [isinstance(level, str) for level in levels]
        if all(isinstance(level, bool | int | float | str | bytes) for level in levels) and (
            mixed or all(are_texts) or not any(are_texts)
        ):
            return levels, self.table.columns[j].by_text
        texts = [str(level) for level in levels]
        known = {"None", "nan", "NaT", "<NA>"}
        for level, text in zip(levels, texts, strict=True):
            if text in known:
                raise TypeError(
                    f"The column {self.shown(j)!r} has the level {level!r}, whose text {text!r} "
                    "stands for another level or a missing value. Rename it."
                )
            known.add(text)
        return texts, True

    def unknown(self, j):
        """How a column with levels treats unknown levels, as in `Table.unknown`."""
        return self.table.unknown[j]

    def codes(self, j, span):
        """Codes inside a span, including the code of unknown levels."""
        last = len(self.levels(j)) - 1 + (self.unknown(j) == "code")
        return [code for code in range(last + 1) if span.low < code <= span.high]

    def in_order(self, j, codes):
        """Codes of levels of a column in the order that the user gave these, else as they are."""
        scale = self._scale(j)
        if scale is None:
            return codes
        levels = self.levels(j)
        return sorted(codes, key=lambda code: scale.index(levels[code]))

    def run(self, j, codes):
        """Two ends, of which levels above the first and up to the second are those of some codes.

        The first is None if there is no level below, the second if there is none above. None is
        returned where the user gave the levels no order, or where others are between them.
        """
        scale, levels = self._scale(j), self.levels(j)
        if scale is None or not codes:
            return None
        places = sorted(scale.index(levels[code]) for code in codes)
        first, last = places[0], places[-1]
        if last - first >= len(places):
            return None
        below = None if first == 0 else scale[first - 1]
        return below, None if last == len(scale) - 1 else scale[last]

    def _scale(self, j):
        found = None if self.table is None else self.table.scale(j)
        return None if found is None else [plain(level) for level in found]

    def shown(self, j):
        """The name of a column in one line of text."""
        return one_line(f"x{j}" if self.names is None else self.names[j])

    def interval(self, j, span, decimals=None, write=end_of_interval):
        """The numbers of a span in words; None where every number is in it."""
        low, high = (write(end, decimals) for end in (span.low, span.high))
        return between(self.shown(j), low, high)


def checked_names(parameter, given, expected):
    if expected is None:
        raise ValueError(f"{parameter}={given!r}, but the tree is a regressor. Leave it out.")
    names = list(given)
    if len(names) != len(expected):
        raise ValueError(f"{parameter} has {len(names)} entries instead of {len(expected)}.")
    return names
