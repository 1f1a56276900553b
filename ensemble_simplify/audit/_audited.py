"""The model that is asked: its forest, the domain and a row, in numbers and as the user's."""

from __future__ import annotations

import numpy as np

from ensemble_simplify.base import check_column_names, check_missing
from ensemble_simplify.grid import Axes, float32_floor, read_domain
from ensemble_simplify.reading import UNKNOWN, Model


class Audited:
    """A fitted classifier on the cells of its domain.

    Parameters
    ----------
    model : estimator
        See `Model.of`.
    domain : Domain, dict or None
    row : array-like, frame of one row, series or None
        The row that the question is about.
    with_ties : bool
        Whether features that the model never looks at have axes where the domain ties them to
        others: they change with these.

    Attributes
    ----------
    estimator : fitted estimator
    forest : Forest
        With the thresholds that count in the domain.
    axes : Axes
        Of its cut points, and of tied features if `with_ties`.
    inside : Inside or None
    table : Table
        The table that the model takes.
    names : list of str or None
    row : float64 array of shape (n_features,)
        The row in numbers. A model that compares float64 numbers is followed only on those that
        float32 represents: where rounding could matter, the row is rounded.
    cell : int32 array of shape (1, n_axes)
        Where the row lies.
    """

    def __init__(self, model, domain, row=None, with_ties=False):
        self._model = read = Model.of(model, classifier=True)
        self.estimator, forest, self.table = read.estimator, read.forest, read.table
        self.names = None if self.table.names is None else list(self.table.names)
        missing = None
        if row is not None:
            self.row = self._numbers(row)
            missing = np.isnan(self.row)
            rounded = self.row.astype(np.float32)[None]
        codes = self.table.highest_code
        self.inside = read_domain(domain, forest.n_features, self.names, missing, codes)
        if self.inside is not None and row is not None:
            self.inside.check_rows(rounded)
        check_missing(self.inside, read)
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
        if getattr(row, "ndim", None) == 1 and hasattr(row, "to_frame"):
            row = row.to_frame().T
        elif not hasattr(row, "columns"):
            row = np.asarray(row, dtype=None if self.table.is_plain else object)
            row = row[None] if row.ndim == 1 else row
        check_column_names([self.estimator], row, "row")
        if row.ndim == 2 and row.shape[0] != 1:
            raise ValueError(f"row holds {row.shape[0]} rows. Give one.")
        return self.table.read(row, name="row")[0].copy()

    def answers(self, rows):
        """What the model itself answers to rows of numbers."""
        return self._model.answers(rows)

    def disagrees(self, rows):
        """The error for rows on which the model itself answers otherwise than its trees."""
        return RuntimeError(
            f"The trees of {self._model.name}(...) and its own predict answer otherwise to "
            f"{np.asarray(rows).tolist()}. Scores that are nearly tied can depend on the order of "
            "addition: set n_jobs=None in the ensemble and its members."
        )

    def shown(self, rows):
        """Rows of numbers as the user's: of the table, if the model takes one."""
        return self.table.shown(rows)

    def is_coded(self, j):
        """Whether a feature holds codes of categories."""
        return bool(self.table.categorical[j])

    def key(self, j):
        """What the user calls a feature: its name, or its number."""
        return int(j) if self.names is None else self.names[j]

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
