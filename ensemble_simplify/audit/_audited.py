"""The model that is asked: its forest, the domain and rows, in numbers and as the user's."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from numbers import Integral
from typing import Any

import numpy as np
from scipy.sparse import issparse

from ensemble_simplify.audit._response import CLASS
from ensemble_simplify.base import Rows, check_column_names, check_missing
from ensemble_simplify.evidence import Claim, Use
from ensemble_simplify.grid import MANY, Axes, float32_floor, next_after, unlimited
from ensemble_simplify.reading import UNKNOWN, Model, column_index, is_plain


def every_input(outcome):
    """The inputs that an outcome is proven for, in words."""
    where = "every input that float32 represents" if outcome.finer else "every input"
    is_inside = outcome.domain is not None and not getattr(outcome, "keeping", ())
    return f"{where} in the domain" if is_inside else where


# Of twice a threshold: below this, the float32 next to a whole number is close to it.
TELLING = 2**17


def kept_in_words(keeping):
    """What inputs keep of the rows of a frame, where these say what can occur."""
    return f", keeping {' and '.join(keeping)}" if keeping else ""


# Numbers of a row between two of float32 for which both of these are tried.
MAX_APART = 8


class Audited:
    """A fitted model on the cells of its domain, and the row that the question is about.

    `forest` has the thresholds that count in the domain, and `axes` are those of its cut points;
    `with_ties`, features that the model never looks at have axes, too, where the domain ties them
    to others: they change with these. Without `rows`, which errors call by `name`, that is all;
    then `near` may be rows near which the question is asked, rounded where `finer`. Else, `on`
    answers with a copy that is about one of them.

    By its `layout`, tests of sets are written as thresholds: of the "whole" forest, "if small", or
    "never". `lays_out` says whether they are; if not, axes have all borders of the sets.

    Where the user gives no domain, a frame of rows says what can occur: whole numbers, known
    levels, and gaps where the row itself has them. `keeping` names what this restricts.
    """

    # Of the row: as it was given, in numbers; in float64, rounded if the model is followed on what
    # float32 represents alone (`moved` says whether that changed it); its cell, of shape
    # (1, n_axes); and what the model answers to it, as it was given.
    given: np.ndarray
    row: np.ndarray
    cell: np.ndarray
    answer: Any

    def __init__(
        self,
        model,
        domain,
        rows=None,
        *,
        name="row",
        with_ties=False,
        layout="whole",
        near=None,
    ):
        self.model = Model.of(model, classifier=False)
        self.domain, self.with_ties, self.name = domain, with_ties, name
        self.layout = layout
        self.question, self.moved, self._grounds, self._answered = CLASS, False, {}, {}
        self.table, self.near, self.keeping = self.model.table, None, ()
        if rows is None:
            rounded = None
            if near is not None:
                check_column_names([self.model.estimator], near, "near")
                self._come_as(near)
                self.rows = near
                given, finest = Rows.of(self.table, near), self.model.finest
                self._keep_to_rows(near, given.numbers)
                rounded = given.rounded(finest.row_dtype)
                self.near = rounded if finest.is_finer else given.numbers.astype(np.float64)
            self._stand_on(rounded)
            return
        self.rows = self._rows_of(rows)
        self._come_as(self.rows)
        self.forest = self.model.finest
        self.numbers = self.table.read(self.rows, [np.float64, np.float32], name=name).copy()
        self._keep_to_rows(self.rows, self.numbers)

    def _keep_to_rows(self, rows, numbers) -> None:
        """Take the domain from rows of a frame, if nobody gave one and that leaves anything out."""
        if self.domain is not None or not hasattr(rows, "columns"):
            return
        domain = self.table.domain_of(rows)
        whole = self._split_as_whole(numbers)
        whole[[self.index(key, "rows") for key in domain.integers]] = True
        whole &= ~self.table.categorical
        open_levels = self.table.coded & (np.array(self.table.unknown, dtype=object) != "refused")
        kept = {"whole numbers": whole.any(), "known levels": open_levels.any()}
        self.keeping = tuple(words for words, is_kept in kept.items() if is_kept)
        if self.keeping:
            self.domain = replace(domain, integers=np.flatnonzero(whole).tolist())

    def _split_as_whole(self, numbers):
        """Columns of whole numbers that the model splits as such: at them, or half way between.

        Where a column may have gaps, its whole numbers are floats. A few rows do not tell, but the
        model has seen many.
        """
        forest = self.model.finest
        is_split = forest.feature >= 0
        feature, twice = forest.feature[is_split], 2.0 * forest.threshold[is_split]
        # thresholds are the number next to what is meant, at times
        is_half = np.isclose(twice, np.round(twice), rtol=3e-7, atol=1e-9)
        is_half &= np.abs(twice) < TELLING
        n_splits, n_half = (
            np.bincount(each, minlength=numbers.shape[1]) for each in (feature, feature[is_half])
        )
        are_whole = (np.isnan(numbers) | (np.floor(numbers) == numbers)).all(axis=0)
        return are_whole & (n_splits == n_half) & (n_splits >= MANY)

    def _come_as(self, rows) -> None:
        """Read the model for the form in which some rows come."""
        if is_plain(rows) or self.model.forest.table.by_dtype:
            self.model = self.model.in_dtypes_of(rows)
        self.model = self.model.with_names_in(rows)
        self.table = self.model.table

    def alone(self):
        """The same for another thread or process: proofs are for one at a time."""
        return self._copy(_grounds={})

    def _copy(self, **changed):
        one = object.__new__(Audited)
        one.__dict__.update(self.__dict__ | changed)
        return one

    def on(self, i, question=CLASS) -> Audited:
        """The same about row `i` and a question."""
        one = self._copy(question=question, place=i, given=self.numbers[i])
        one.row = one.given.astype(np.float64)
        rounded = one.row.astype(self.model.finest.row_dtype)[None]
        one._stand_on(rounded, i)
        one.answer = one.answers_to_rows()[i]
        if one.finer:
            one._round()
        # one row takes no time, and what is said of it when time is over needs its cell
        with unlimited():
            one.cell = np.ascontiguousarray(one.axes.encode_rows(one.row[None]).T)
        return one

    def _stand_on(self, rounded, i=0) -> None:
        """Read the domain and the forest on it: rows that lack the same values share them."""
        lacking = None if rounded is None else np.isnan(rounded).tobytes()
        highest, unknown = self.table.highest_known, None
        if "known levels" in self.keeping:
            # a level that a row holds can be, even if the model does not know it
            unknown = (rounded > highest).any(axis=0)
            highest, unknown = np.where(unknown, -1, highest), unknown.tobytes()
        key = lacking, unknown, self.question
        known = self._grounds.get(key)
        if known is None:
            missing = self.table.may_miss(rounded)
            if "known levels" in self.keeping:
                missing = np.isnan(rounded).any(axis=0)
            inside = self.table.inside(self.domain, missing, highest)
        else:
            inside = known[0]
        if rounded is not None:
            self.table.check_inside(inside, rounded, self.rows, i)
        if known is None:
            check_missing(inside, self.model)
            forest = self.question.forest(self.model)
            forest = forest if inside is None else inside.read(forest)
            lays_out = forest.sets is None or self.layout == "whole"
            lays_out = lays_out or (self.layout == "if small" and forest.is_small)
            axes = Axes.of(forest) if lays_out else Axes.of_tests(forest)
            if self.with_ties and inside is not None:
                axes = inside.with_ties(axes)
            # what is found out about the question is kept beside it
            known = self._grounds[key] = inside, forest, axes, lays_out, {}
        self.inside, self.forest, self.axes, self.lays_out, self.kept = known

    @property
    def finer(self):
        """Whether the model compares numbers that are finer than those it is followed on."""
        return self.forest.is_finer

    def answers_to_rows(self, question=None):
        """What the model answers to all rows, as they were given."""
        question = self.question if question is None else question
        method = question.response.method
        answers = self._answered.get(method)
        if answers is None:
            # Asked once: the model itself can take longer than a proof.
            answers = self._answered[method] = self.model.ask_given(self.rows, self.numbers, method)
        return question.response.among(answers)

    def answers(self, rows):
        """What the model answers to rows of numbers: labels, or numbers."""
        return self.question.response.numbers(self.model, rows)

    def labels(self, rows):
        """The classes that are asked about, of rows of numbers."""
        return self.question.labels(self.answers(rows))

    def _round(self) -> None:
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
        alike = np.flatnonzero(self.answers(rows) == self.answer) if len(rows) else []
        if not len(alike):
            names = [self.key(j) for j in apart]
            what = "class" if self.question.range is None else "number"
            raise ValueError(
                f"{self.model.name}(...) answers {self.answer!r} to {self.name}="
                f"{self.given.tolist()}, but another {what} where its numbers are rounded to "
                f"float32: those of the features {names} lie between a threshold and the next "
                "float32. Ask about numbers that float32 represents, "
                f"{self.name}.astype(numpy.float32).astype(numpy.float64)."
            )
        self.row, self.moved = rows[alike[0]], True

    def _rows_of(self, rows):
        """Rows of the user's as a table."""
        name = self.name
        if issparse(rows):
            raise TypeError(f"{name} is sparse. Give a dense one: {name}.toarray().")
        if getattr(rows, "ndim", None) == 1 and hasattr(rows, "to_frame"):
            rows = rows.to_frame().T
        elif not hasattr(rows, "columns"):
            rows = np.asarray(rows, dtype=None if self.table.is_plain else object)
            rows = rows[None] if rows.ndim == 1 else rows
        check_column_names([self.model.estimator], rows, name)
        if rows.ndim == 2 and (rows.shape[0] < 1 or (rows.shape[0] > 1 and name == "row")):
            raise ValueError(f"{name} holds {rows.shape[0]} rows. Give one.")
        return rows

    def check(self, label) -> None:
        """Raise the error for a row to which the model answers otherwise than its trees' label."""
        # a row that was not moved was asked about already
        if self.question.labels(self.answer) != label or (
            self.moved and self.labels(self.row[None])[0] != label
        ):
            raise self.disagrees(self.given[None])

    def disagrees(self, rows) -> RuntimeError:
        """The error for rows on which the model itself answers otherwise than its trees."""
        method = self.question.response.method
        return RuntimeError(
            f"The trees of {self.model.name}(...) and its own {method} answer otherwise to"
            f" {np.asarray(rows).tolist()}. Scores that are nearly tied can depend on "
            "the order of addition: set n_jobs=None in the ensemble and its members."
        )

    def claim(self, box=None, near=None, point=None, avoided=None) -> Claim:
        """That the model answers the row as it does: its class, or a number in the range.

        With `avoided`, True or the place of a class: that it does not reach the range, or that
        class.
        """
        asked, data = self.question.response, {}
        model, forest = self.model, self.model.finest
        if self.question.range is None:
            own = int(np.flatnonzero(model.classes == self.answer)[0])
            data["class"] = own if avoided is None else avoided
        else:
            low, high = (None if np.isinf(end) else float(end) for end in self.question.range)
            data = {"of": asked.in_evidence, "column": asked.column, "low": low, "high": high}
        kinds = ("in_range", "out_of_range") if data.get("of") else ("class_is", "class_is_not")
        return Claim(
            kinds[avoided is not None],
            [model],
            [forest],
            [Use(0, np.arange(forest.n_features))],
            self.inside,
            data,
            box=box,
            near=near,
            point=point,
        )

    def key(self, j):
        """What the user calls a feature: its name, or its number."""
        return int(j) if self.table.names is None else self.table.names[j]

    def index(self, key, parameter):
        """The number of a feature that the user calls so, in some parameter."""
        return column_index(key, parameter, self.model.forest.n_features, self.table.names)

    def indices(self, keys, parameter):
        """The numbers of one feature or several that the user calls so, none of them twice."""
        single = isinstance(keys, str | Integral)
        numbers = [self.index(key, parameter) for key in ([keys] if single else keys)]
        if not numbers or len(set(numbers)) < len(numbers):
            raise ValueError(
                f"{parameter}={keys!r} names {'a feature twice' if numbers else 'no feature'}. "
                "Name each of the features that are asked about once."
            )
        return numbers

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
