"""The model that is asked: its forest, the domain and a row, in numbers and as the user's."""

from __future__ import annotations

from itertools import product
from numbers import Integral

import numpy as np
from scipy.sparse import issparse

from ensemble_simplify.base import check_column_names, check_missing
from ensemble_simplify.grid import Axes, float32_floor, next_after, read_domain
from ensemble_simplify.proof import Given
from ensemble_simplify.reading import UNKNOWN, Model, column_index, is_plain

# Numbers of a row between two of float32 for which both of these are tried.
MAX_APART = 8


class Audited:
    """A fitted model on the cells of its domain, and the row that the question is about.

    `forest` has the thresholds that count in the domain, and `axes` are those of its cut points;
    `with_ties`, features that the model never looks at have axes, too, where the domain ties them
    to others: they change with these. `given`, of shape (n_features,), is the row in numbers, and
    `answer` what the model answers to it, as it was given. `row` is the same in float64. A model
    that compares such is followed only on those that float32 represents: numbers between a cut
    point and the next float32 become one of the two, so that the answer stays; `moved` says whether
    there are any. `cell`, of shape (1, n_axes), is where it lies. `near`, of shape (n_rows,
    n_features), are rows near which the question is asked, rounded to numbers of the forest.
    """

    def __init__(self, model, domain, row=None, with_ties=False, classifier=True, near=None):
        self.model = Model.of(model, classifier=classifier)
        self.table, rounded, self.moved = self.model.table, None, False
        if row is not None:
            row = self._rows_of(row)
            if is_plain(row) or self.model.forest.table.by_dtype:
                self.table = self.model.take(row).table
            self.model.name_levels(row)
            self.table = self.model.table
            self.given = self.table.read(row, [np.float64, np.float32], name="row")[0].copy()
            self.row = self.given.astype(np.float64)
        if near is not None:
            check_column_names([self.model.estimator], near, "near")
            if is_plain(near) or self.model.forest.table.by_dtype:
                self.model.take(near)
            self.model.name_levels(near)
            self.table = self.model.table
        forest = self.model.finest
        self.near = None
        if near is not None:
            self.near = Given.of(self.table, near).rounded(forest.row_dtype)
            rounded = self.near
        if row is not None:
            rounded = self.row.astype(forest.row_dtype)[None]
        missing, codes = self.table.may_miss(rounded), self.table.highest_code
        self.inside = read_domain(domain, forest.n_features, self.table.names, missing, codes)
        self.table.check_bounds(self.inside)
        if self.inside is not None and rounded is not None:
            self.inside.check_rows(rounded)
        check_missing(self.inside, self.model)
        self.forest = forest if self.inside is None else self.inside.read(forest)
        self.axes = Axes.of(self.forest)
        if with_ties and self.inside is not None:
            self.axes = self.inside.with_ties(self.axes)
        if row is not None:
            self.answer = self.model.ask_given(row, self.given[None])[0]
            if self.finer:
                self._round()
            self.cell = np.ascontiguousarray(self.axes.encode_rows(self.row[None]).T)

    @property
    def finer(self):
        """Whether the model compares numbers that are finer than those it is followed on."""
        return self.forest.is_finer

    def _round(self):
        """Round the numbers that a cut point parts from the float32 next to them.

        The nearest numbers are taken that the model answers as the row itself.
        """
        apart = self.axes.features[self.axes.between(self.row[None])[:, 0]]
        if not apart.size:
            return
        nearest = self.row[apart].astype(np.float32).astype(np.float64)
        below = float32_floor(self.row[apart])
        other = np.where(nearest == below, next_after(below), below)
        # on the first of them, if they are many, the other one is tried as well
        sides = np.array(list(product((False, True), repeat=min(len(apart), MAX_APART))))
        sides = sides[np.argsort(sides.sum(axis=1), kind="stable")]
        rows = np.tile(self.row, (len(sides), 1))
        rows[:, apart] = nearest
        tried = apart[: sides.shape[1]]
        rows[:, tried] = np.where(sides, other[: len(tried)], nearest[: len(tried)])
        if self.inside is not None:
            rows = rows[self.inside.contains(rows.astype(np.float32))]
        alike = np.flatnonzero(self.model.answers(rows) == self.answer) if len(rows) else []
        if not len(alike):
            names = [self.key(j) for j in apart]
            raise ValueError(
                f"{self.model.name}(...) answers {self.answer!r} to row={self.given.tolist()}, but "
                "another class where its numbers are rounded to float32: those of the features "
                f"{names} lie between a threshold and the next float32. Ask about numbers that "
                "float32 represents, row.astype(numpy.float32).astype(numpy.float64)."
            )
        self.row, self.moved = rows[alike[0]], True

    def _rows_of(self, row):
        """A row of the user's as a table of one row."""
        if issparse(row):
            raise TypeError("row is sparse. Give a dense row: row.toarray().")
        if getattr(row, "ndim", None) == 1 and hasattr(row, "to_frame"):
            row = row.to_frame().T
        elif not hasattr(row, "columns"):
            row = np.asarray(row, dtype=None if self.table.is_plain else object)
            row = row[None] if row.ndim == 1 else row
        check_column_names([self.model.estimator], row, "row")
        if row.ndim == 2 and row.shape[0] != 1:
            raise ValueError(f"row holds {row.shape[0]} rows. Give one.")
        return row

    def check(self, label):
        """Raise the error for a row to which the model answers otherwise than its trees' label."""
        # a row that was not moved was asked about already
        if self.answer != label or (self.moved and self.model.answers(self.row[None])[0] != label):
            raise self.disagrees(self.given[None])

    def disagrees(self, rows):
        """The error for rows on which the model itself answers otherwise than its trees."""
        return RuntimeError(
            f"The trees of {self.model.name}(...) and its own predict answer otherwise to "
            f"{np.asarray(rows).tolist()}. Scores that are nearly tied can depend on the order of "
            "addition: set n_jobs=None in the ensemble and its members."
        )

    def key(self, j):
        """What the user calls a feature: its name, or its number."""
        return int(j) if self.table.names is None else self.table.names[j]

    def index(self, key, parameter):
        """The number of a feature that the user calls so, in some parameter."""
        return column_index(key, parameter, self.forest.n_features, self.table.names)

    def indices(self, keys, parameter):
        """The numbers of one feature or several that the user calls so, none of them twice."""
        single = isinstance(keys, str | Integral)
        found = [self.index(key, parameter) for key in ([keys] if single else keys)]
        if not found or len(set(found)) < len(found):
            raise ValueError(
                f"{parameter}={keys!r} names {'a feature twice' if found else 'no feature'}. Name "
                "each of the features that are asked about once."
            )
        return found

    def levels(self, j, low, high):
        """The levels with codes above `low`, up to `high`; codes where there are no levels."""
        known = self.table.levels[j]
        if known is None:
            last = self.table.highest[j] if np.isinf(high) else high
            first = 0 if np.isinf(low) else int(np.floor(low)) + 1
            return [] if np.isinf(last) else list(range(first, int(last) + 1))
        codes = range(int(self.table.highest[j]) + 1)
        return [
            known[code] if code < len(known) else UNKNOWN for code in codes if low < code <= high
        ]
