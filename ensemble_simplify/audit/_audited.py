"""The model that is asked: its forest, the domain and a row, in numbers and as the user's."""

from __future__ import annotations

import numpy as np
from scipy.sparse import issparse

from ensemble_simplify.base import check_column_names, check_missing
from ensemble_simplify.grid import Axes, float32_floor, read_domain
from ensemble_simplify.reading import UNKNOWN, Model, column_index


class Audited:
    """A fitted classifier on the cells of its domain, and the row that the question is about.

    `forest` has the thresholds that count in the domain, and `axes` are those of its cut points;
    `with_ties`, features that the model never looks at have axes, too, where the domain ties them
    to others: they change with these. `row`, of shape (n_features,), is the row in float64 numbers.
    A model that compares such is followed only on those that float32 represents: where rounding
    could matter, the row is rounded. `cell`, of shape (1, n_axes), is where it lies.
    """

    def __init__(self, model, domain, row=None, with_ties=False):
        self.model = Model.of(model, classifier=True)
        forest, self.table = self.model.forest, self.model.table
        missing = None
        if row is not None:
            self.row = self._numbers(row)
            missing = np.isnan(self.row)
            rounded = self.row.astype(np.float32)[None]
        codes = self.table.highest_code
        self.inside = read_domain(domain, forest.n_features, self.table.names, missing, codes)
        if self.inside is not None and row is not None:
            self.inside.check_rows(rounded)
        check_missing(self.inside, self.model)
        self.forest = forest if self.inside is None else self.inside.read(forest)
        self.axes = Axes.of(self.forest)
        if with_ties and self.inside is not None:
            self.axes = self.inside.with_ties(self.axes)
        if row is not None:
            self.cell = np.ascontiguousarray(self.axes.encode_rows(rounded).T)
            if forest.input_dtype == "float64":
                self._round(rounded[0])

    def _round(self, rounded):
        """Round the numbers that a cut point could part from the float32 next to them."""
        known = np.where(np.isnan(self.row), 0.0, self.row)
        around = np.stack([float32_floor(known), -float32_floor(-known)])
        codes = self.axes.encode_rows(around.astype(np.float32))
        apart = self.axes.features[codes[:, 0] != codes[:, 1]]
        self.row[apart] = np.where(np.isnan(self.row), np.nan, rounded)[apart]

    def _numbers(self, row):
        """A row of the user's as float64 numbers."""
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
        return self.table.read(row, name="row")[0].copy()

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
