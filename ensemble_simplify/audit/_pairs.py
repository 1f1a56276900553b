"""Pairs of rows that differ in some features alone, as points of a space with these twice.

The model is two forests there: one splits on the features, the other one, read from the same trees,
on their copies. So what `proof` knows of two models holds of one model and two rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from sys import maxsize
from typing import NamedTuple

import numpy as np

from ensemble_simplify.evidence import Claim, Near, Use
from ensemble_simplify.grid import Axes, Stopped, distinct_rows, in_boxes
from ensemble_simplify.proof import Rise, Space, may_begin, points_in, prove

# Random pairs looked at before anything is searched.
PROBED = 4096


class FoundPair(NamedTuple):
    """Two rows that are answered otherwise, if there are any."""

    exists: bool | None  # None: a limit came first, the `reason`
    rows: np.ndarray | None = None  # the two
    largest: float | None = None  # of numbers: the largest move that was seen
    bound: float | None = None  # no move is larger
    n_boxes: int = 0
    reason: str | None = None  # "time" or "rounding"


@dataclass(frozen=True, eq=False)
class NearBoxes:
    """Boxes that hold the points near some rows: all but some of the `shared` axes are fixed.

    They can be many, and come one after the other.
    """

    axes: Axes
    cells: np.ndarray
    shared: np.ndarray
    max_changes: int

    def __iter__(self):
        lo, hi = self.axes.whole
        n_free = min(self.max_changes, len(self.shared))
        for free in combinations(self.shared.tolist(), n_free):
            fixed = np.setdiff1d(self.shared, free)
            kept = np.sort(distinct_rows(self.cells[:, fixed])[0]) if len(fixed) else [0]
            for cell in self.cells[kept]:
                first, last = lo.copy(), hi.copy()
                first[fixed] = last[fixed] = cell[fixed]
                yield first, last


class Pairs:
    """The pairs of inputs of a model that differ in some features alone."""

    def __init__(self, audited, features):
        self.audited, self.features = audited, features
        forest, self.n = audited.forest, audited.forest.n_features
        may_miss = forest.missing
        if may_miss is not None:
            may_miss = np.append(may_miss, may_miss[features])
        first = replace(
            forest,
            n_features=self.n + len(features),
            missing=may_miss,
            double_threshold=None,
            table=None,
            filled=None,
        )
        place = np.arange(self.n)
        place[features] = self.n + np.arange(len(features))
        inner = forest.feature >= 0
        second = replace(first, feature=np.where(inner, place[forest.feature], -1))
        self.forests = [first, second]
        self.inside = None if audited.inside is None else audited.inside.doubled(features)
        self.axes = Axes.of(*self.forests)
        if audited.near is not None and self.inside is not None:
            self.axes = self.inside.with_ties(self.axes)
        self.shared = ~np.isin(self.axes.features, [*features, *place[features]])

    @property
    def are_one(self):
        """Whether the model does not look at the features: all rows of a pair are one to it."""
        return bool(self.shared.all()) or not any(map(len, self.axes.by_feature))

    def rows(self, cells):
        """The first and the second row of pairs: two arrays of shape (n, n_features)."""
        points = points_in(self.axes, self.inside, cells)
        first, second = points[:, : self.n], points[:, : self.n].copy()
        second[:, self.features] = points[:, self.n :]
        return first, second

    def search(self, response, gap, max_changes) -> FoundPair:
        """A pair with another class, or of which a number moves by more than a gap.

        With rows that the question is asked near, at most `max_changes` features are changed.
        """
        is_class = response.kind == "class"
        if self.are_one:
            return FoundPair(False, largest=0.0, bound=0.0)
        try:
            if not may_begin(self.forests):
                raise Stopped
            boxes = None if self.audited.near is None else self._near(max_changes)
            search = self._classes if is_class else self._numbers
            outcome, cell, *told = search(response, gap, boxes)
        except Stopped:
            return FoundPair(None, largest=0.0, bound=np.inf, reason="time")
        rows = None
        if cell is not None:
            rows = np.concatenate(self.rows(cell[None]))
            if boxes is not None:
                rows = self._like_near(cell, rows, response, gap)
            rows = self._of_fewer_changes(rows, response, gap)
        return FoundPair(None if outcome is None else not outcome, rows, *told)

    def claim(self, response, gap, found, max_changes=None):
        """What was found, as evidence says it; None where it is undecided."""
        if found.exists is None:
            return None
        audited, is_class, point, near = self.audited, response.kind == "class", None, None
        moved = (self.n + np.arange(len(self.features))).tolist()
        if found.exists:
            point = np.append(found.rows[0], found.rows[1, self.features])
        elif audited.near is not None:
            rows = np.hstack([audited.near, audited.near[:, self.features]]).astype(np.float64)
            vary = [[j] for j in range(self.n) if j not in self.features]
            near = Near(rows, max_changes or 0, vary, [*map(int, self.features), *moved])
        first, second = np.arange(self.n), np.arange(self.n)
        second[self.features] = moved
        data = {} if is_class else {"of": response.in_evidence, "atol": gap, "rtol": 0.0}
        return Claim(
            "same_class" if is_class else "within",
            [audited.model],
            [audited.model.finest],
            [Use(0, first), Use(0, second)],
            self.inside,
            data,
            near=near,
            point=point,
        )

    def _classes(self, _, __, boxes):
        """Look for two classes; the rows of a pair can change places."""
        space = Space(
            self.forests,
            self.axes,
            self.inside,
            wrong=lambda labels: np.triu(np.ones((len(labels),) * 2, dtype=bool), 1),
        )
        if boxes is None:
            # Where the answer is yes, a few random pairs mostly show it long before a proof fails.
            cells = self._random(space.outside)
            differ = space.judge(0, cells) != space.judge(1, cells) if len(cells) else cells[:, 0]
            if differ.any():
                return False, cells[int(np.argmax(differ))]
        outcome, cells, n_boxes = prove(space, maxsize, boxes=boxes)
        cell = None if cells is None else cells[0]
        return outcome, cell, None, None, n_boxes, None if outcome is not None else "time"

    def _numbers(self, response, gap, boxes):
        """Look for a large move of a number."""
        model = self.audited.model

        def answers(cells):
            return [response.numbers(model, rows)[:, None] for rows in self.rows(cells)]

        search = Rise(self.forests, response.column, self.axes, self.inside, answers, gap, boxes)
        found = search.decide(np.random.default_rng(0))
        bound = max(found.bound, found.largest)
        return found.outcome, found.cell, found.largest, bound, search.n_boxes, found.reason

    def _random(self, outside):
        """Random cells inside the domain."""
        first, last = self.axes.whole
        rng = np.random.default_rng(0)
        cells = rng.integers(first, last + 1, size=(PROBED, len(first)), dtype=np.int32)
        return cells[~in_boxes(cells, outside)]

    def _near(self, max_changes):
        """Boxes of the pairs near the rows."""
        rows = self.audited.near
        rows = np.hstack([rows, rows[:, self.features]])
        self.cells = np.ascontiguousarray(self.axes.encode_rows(rows).T)
        return NearBoxes(self.axes, self.cells, np.flatnonzero(self.shared), max_changes)

    def _like_near(self, cell, rows, response, gap):
        """The two rows of a cell, like one that they are near, but for the fewest features.

        If that one itself has an answer that is far from one of theirs, it takes the place of the
        other.
        """
        changed = (self.cells != cell) & self.shared
        i = int(changed.sum(axis=1).argmin())
        near = self.audited.near[i].copy()
        moved = self.axes.features[changed[i]]
        near[moved] = rows[0, moved]
        kept = np.setdiff1d(np.arange(self.n), self.features)
        rows[:, kept] = near[kept]
        # A row that was given says more than one that was made.
        far = [self._are_apart(np.stack([near, row]), response, gap) for row in rows]
        return np.stack([near, rows[far.index(True)]]) if any(far) else rows

    def _of_fewer_changes(self, rows, response, gap):
        """Two rows, the second without changes that are not needed."""
        for j in self.features:
            fewer = rows.copy()
            fewer[1, j] = rows[0, j]
            if self._are_apart(fewer, response, gap):
                rows = fewer
        return rows

    def _are_apart(self, rows, response, gap) -> bool:
        """Whether two rows are inside the domain, and their answers as is asked for."""
        inside = self.audited.inside
        if inside is not None and not inside.contains(rows).all():
            return False
        first, second = response.numbers(self.audited.model, rows).tolist()
        return first != second if response.kind == "class" else abs(first - second) > gap
