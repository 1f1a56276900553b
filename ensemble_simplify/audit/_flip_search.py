"""The search for the nearest flips of a row.

All cells that differ from the row's in one feature stand on its lines (`near_rows`), and every one
of them is looked at. For changes of several features at once, the sets that could flip the class
(`_sets`) are looked at one after the other: a proof settles all values of a set together, and where
there are flips among them, boxes of values are halved until the nearest one is known. What a row
does not decide (trees, lines, proofs, the values on the other side of cut points) is shared by all
rows.
"""

from __future__ import annotations

import heapq
from dataclasses import replace
from itertools import count, product
from sys import maxsize

import numpy as np

from ensemble_simplify.audit._sets import sets_of_axes
from ensemble_simplify.grid import Axes, Stopped, next_after
from ensemble_simplify.proof import AskedLines, Lines, Space, certify, may_begin, points_in

# What the distances of the changed features add up to.
METRICS = {
    "l1": sum,
    "l2": lambda parts: float(np.sqrt(sum(part * part for part in parts))),
    "linf": lambda parts: max(parts, default=0.0),
}


def _of_feature(inside, j):
    """The domain of one feature alone; None: everything is inside."""
    if inside is None:
        return None
    names = ("low", "high", "integer", "missing")
    of_feature = {name: getattr(inside, name)[[j]] for name in names}
    # groups and implications exclude cells, but do not change the values inside of a cell
    return replace(inside, clauses=frozenset(), **of_feature)


def scales_of(audited, scales):
    """What counts 1 in each feature: where the user says nothing (NaN), the range that the model
    looks at, domain or not.
    """
    axes = audited.axes
    # a domain leaves thresholds out
    if audited.inside is not None:
        forest = audited.question.forest(audited.model)
        axes = Axes.of(forest) if forest.sets is None else Axes.of_tests(forest)
    ranges = [
        np.ptp(known) if len(known := cuts[np.isfinite(cuts)]) > 1 else 1.0
        for cuts in axes.by_feature
    ]
    return np.where(np.isnan(scales), ranges, scales)


class Field:
    """Where changes can lead on the axes of a model, whatever the row is.

    What it knows of the cells of all axes stands one axis after the other, as on `lines`: `axis`
    and `place` of each cell. Axes of one of the `units` change together, and `unit_of` says which
    features count as one change.
    """

    def __init__(self, audited, may, sides, scales):
        inside, axes = audited.inside, audited.axes
        self.forest, self.axes, self.inside = audited.forest, axes, inside
        outside = None if inside is None else inside.outside(axes)
        lines = Lines if audited.lays_out else AskedLines
        self.lines = lines(audited.forest, axes, outside)
        n_cells = np.array(axes.shape, dtype=np.intp)
        self.axis = np.repeat(np.arange(len(n_cells)), n_cells)
        self.place = np.arange(len(self.axis)) - self.lines.first[self.axis]
        features = np.asarray(axes.features, dtype=np.intp)
        self.features = features[self.axis]
        parts = [_values(audited, a) for a in range(len(n_cells))]
        none = np.zeros(0)
        self.anywhere, self.from_above, self.from_below = (
            np.concatenate([none, *own]) for own in zip(*parts, strict=True) or (none, none, none)
        )
        self.scale = scales_of(audited, scales)[self.features]
        self.is_coded = audited.table.categorical[self.features]
        self.may, self.side = may[features], sides[features]
        # the last cell of numbers on each axis
        self.last = n_cells - 1
        self.last_number = np.array([np.isfinite(cuts).sum() for cuts in axes.cuts], dtype=np.intp)
        self._count(features)
        self._spaces = {}  # proofs of one class and aims, which learn from one row to the next

    def _count(self, features) -> None:
        """Find out which axes change together."""
        self.unit_of = np.arange(self.forest.n_features, dtype=np.intp)
        self.units = [np.array([a]) for a in range(len(features))]
        groups = [] if self.inside is None else self.inside.exclusive
        place = {int(j): a for a, j in enumerate(features)}
        for group in groups:
            self.unit_of[group] = group[0]
            on = np.array([place[j] for j in group if j in place], dtype=np.intp)
            if len(on):
                self.units = [unit for unit in self.units if unit[0] not in on] + [on]

    def values(self, audited) -> np.ndarray:
        """The value of each cell that is nearest to a row's."""
        own = audited.cell[0][self.axis]
        x = audited.row[self.features]
        known = ~np.isnan(x)
        value = np.where(known & (self.place < own), self.from_above, self.anywhere)
        above = known & (self.place > own) & (self.place <= self.last_number[self.axis])
        value = np.where(above, self.from_below, value)
        return np.where(known & (self.place == own), x, value)

    def distances(self, audited):
        """The distance of each cell from a row, as far as its axis goes."""
        own, x = audited.cell[0], audited.row[self.features]
        value = self.values(audited)
        distance = np.abs(value - x) / self.scale
        distance[self.is_coded | np.isnan(value) | np.isnan(x)] = 1.0
        for unit in self.units:
            if len(unit) > 1:
                # another member of a group: what it takes is told by the one that goes, if any
                for a in unit:
                    cells = slice(self.lines.first[a], self.lines.first[a + 1])
                    distance[cells] = own[a] or not own[unit].any()
        distance[self.place == own[self.axis]] = 0.0
        return distance

    def ends(self, audited):
        """First and last cell of each axis that the row may go to."""
        own = audited.cell[0]
        low, high = np.zeros_like(own), self.last.astype(own.dtype)
        lacks = own > self.last_number
        stays = ~self.may | (lacks & (self.side != 0))
        low = np.where(stays | (self.side > 0), own, low)
        high = np.where(stays | (self.side < 0), own, high)
        rises = ~stays & (self.side > 0)
        return low, np.where(rises, self.last_number, high).astype(own.dtype)

    def space(self, own, wanted):
        """The forest beside one that answers a class: what is wanted there is wrong."""
        key = own, wanted.tobytes()
        if key not in self._spaces:
            if not may_begin([self.forest]):
                raise Stopped
            pair = [self.forest, self.forest.constant(own)]
            aims = set(self.forest.classes[wanted].tolist())
            start = self.forest.classes[own]

            def wrong(labels):
                is_aim = np.array([label in aims for label in labels])
                return is_aim[:, None] & np.array([label == start for label in labels])

            self._spaces[key] = Space(pair, self.axes, self.inside, wrong)
        return self._spaces[key]


def _values(audited, a):
    """Values in the cells of an axis: any, the nearest from above, and the nearest from below."""
    inside, j, cuts = audited.inside, audited.axes.features[a], audited.axes.cuts[a]
    finite = cuts[np.isfinite(cuts)]
    cells = np.arange(audited.axes.shape[a])[:, None]
    anywhere = points_in(Axes([cuts], audited.axes.row_dtype), _of_feature(inside, j), cells)[:, 0]
    whole = inside is not None and inside.integer[j]
    dtype = "float32" if audited.table.narrow[j] else audited.axes.row_dtype
    ends = np.floor(finite) if whole else finite
    after = next_after(finite, dtype)
    # numbers so large that they are all whole are further apart than by one
    after = np.maximum(np.floor(finite) + 1.0, after) if whole else after
    from_above, from_below = anywhere.copy(), anywhere.copy()
    from_above[: len(finite)], from_below[1 : len(finite) + 1] = ends, after
    if inside is not None:
        low, high = (ends[j] for ends in inside.ends(audited.axes.row_dtype))
        from_above, from_below = (np.clip(own, low, high) for own in (from_above, from_below))
    return anywhere, from_above, from_below


class FlipSearch:
    """The search for the flips of the fewest changes and, of these, of the least distance.

    Attributes
    ----------
    plans : list of pairs of float and int32 array of shape (n_axes,)
        The distances and cells of the flips, the best first.
    fewest : int
        No flip has fewer changes.
    """

    def __init__(self, field, audited, own, wanted, metric, n_plans):
        self.field, self.lines, self.metric = field, field.lines, metric
        self.own, self.wanted = own, wanted
        self.row = audited.cell[0]
        self.distances = np.split(field.distances(audited), self.lines.first[1:-1])
        self.low, self.high = field.ends(audited)
        self.n_plans, self.plans, self.fewest = n_plans, [], 1
        # of each number of changes: the flips of sets of units
        self.level = {}

    def run(self, max_changes) -> bool:
        """Look for flips of at most so many changes; False if the time was up first."""
        moves = self.low < self.high
        units = [unit for unit in self.field.units if moves[unit].any()]
        smaller = []
        try:
            for n in range(1, max_changes + 1):
                if n == 1:
                    self._walk_lines(units)
                else:
                    for chosen in self._sets(units, n):
                        if not any(own <= set(chosen) for own in smaller):
                            self._look_at(chosen)
                flipping = list(self.level)
                self._keep()
                if len(self.plans) == self.n_plans:
                    return True
                if not self.plans:
                    self.fewest = n + 1
                # all changes of a flip are needed
                smaller += [set(chosen) for chosen in flipping]
                units = [unit for unit in units if (int(unit[0]),) not in flipping]
        except Stopped:
            self._keep()
            return False
        return True

    def _sets(self, units, n):
        """Sets of units, by their first axes, that could flip the class together."""
        limits = self.low, self.high
        wanted = np.flatnonzero(self.wanted)
        yield from sets_of_axes(self.lines, self.row, self.own, wanted, units, limits, n)

    def _keep(self) -> None:
        """Take the best flips of the level among the plans."""
        room = self.n_plans - len(self.plans)
        self.plans += sorted(self.level.values(), key=lambda found: found[0])[:room]
        self.level = {}

    def _bound(self, chosen):
        """Flips of a set of units that are no nearer than this are not looked for."""
        room, others = self.n_plans - len(self.plans), dict(self.level)
        best = others.pop(chosen, (np.inf, None))[0]
        if len(others) < room:
            return best
        return min(best, sorted(distance for distance, _ in others.values())[room - 1])

    def _note(self, chosen, distance, cell) -> None:
        """Keep a flip of a set of units if it is the nearest one."""
        if distance < self._bound(chosen):
            self.level[chosen] = distance, cell

    def _walk_lines(self, units) -> None:
        """Look at all changes of one unit."""
        labels = self.lines.labels(self.row[None])[0]
        flips = np.append(self.wanted, False)[np.minimum(labels, len(self.wanted))]
        first = self.lines.first
        for unit in units:
            if len(unit) > 1:
                self._walk_group(unit)
                continue
            (a,) = unit.tolist()
            cells = slice(self.low[a], self.high[a] + 1)
            total = np.where(flips[first[a] : first[a + 1]], self.distances[a], np.inf)[cells]
            at = int(total.argmin())
            if total[at] < np.inf:
                cell = self.row.copy()
                cell[a] += at - (self.row[a] - self.low[a])
                self._note((a,), total[at], cell)

    def _walk_group(self, unit) -> None:
        """Look at all moves inside of a group."""
        goes = unit[self.row[unit] == 1]
        if self.low[goes].any():
            return
        comes = unit[(self.row[unit] == 0) & (self.high[unit] == 1)]
        # the last one leaves all of them out
        cells = np.tile(self.row, (len(comes) + len(goes), 1))
        cells[:, goes] = 0
        cells[np.arange(len(comes)), comes] = 1
        labels = self.lines.classes_of(cells)
        flips = np.append(self.wanted, False)[np.minimum(labels, len(self.wanted))]
        if flips.any():
            self._note((int(unit[0]),), self.metric([1.0]), cells[flips.argmax()])

    def _look_at(self, chosen) -> None:
        """Look at all changes of some units together."""
        units = [unit for unit in self.field.units if int(unit[0]) in chosen]
        axes = np.concatenate(units)
        lo, hi = self.row.copy(), self.row.copy()
        lo[axes], hi[axes] = self.low[axes], self.high[axes]
        boxes, number = [], count()
        if self._flips(chosen, units, lo, hi):
            # every unit changes: fewer changes flip nothing
            for sides in product(*(self._sides(unit) for unit in units)):
                part_lo, part_hi = lo.copy(), hi.copy()
                for a, first, last in sides:
                    part_lo[a], part_hi[a] = first, last
                self._push(boxes, number, chosen, units, part_lo, part_hi)
        # The box with the nearest cell comes first: what is left when a flip is nearer is not
        # looked at.
        while boxes:
            least, _, lo, hi = heapq.heappop(boxes)
            if least >= self._bound(chosen):
                return
            if not self._flips(chosen, units, lo, hi):
                continue
            a = max(axes, key=lambda a: hi[a] - lo[a])
            middle = (lo[a] + hi[a]) // 2
            for first, last in ((lo[a], middle), (middle + 1, hi[a])):
                part_lo, part_hi = lo.copy(), hi.copy()
                part_lo[a], part_hi[a] = first, last
                self._push(boxes, number, chosen, units, part_lo, part_hi)

    def _sides(self, unit):
        """The ranges of cells, as triples with an axis, that are a change of a unit."""
        if len(unit) > 1:
            goes = [(a, self.low[a], 0) for a in unit if self.row[a] == 1]
            return goes or [(a, 1, self.high[a]) for a in unit]
        (a,) = unit
        return [(a, self.low[a], self.row[a] - 1), (a, self.row[a] + 1, self.high[a])]

    def _push(self, boxes, number, chosen, units, lo, hi) -> None:
        """Note a box by the least distance in it, unless it is empty or that is too large."""
        if (lo > hi).any():
            return
        least = self.metric(
            [sum(self.distances[a][lo[a] : hi[a] + 1].min() for a in unit) for unit in units]
        )
        if least < self._bound(chosen):
            heapq.heappush(boxes, (least, next(number), lo, hi))

    def _flips(self, chosen, units, lo, hi) -> bool:
        """Whether a box has a cell that is wanted; one that is nearer than any yet is kept."""
        space = self.field.space(self.own, self.wanted)
        held, cells, _ = certify(space, lo, hi, maxsize)
        if held is None:
            raise Stopped
        if held:
            return False
        cell = cells[0]
        distance = self.metric([sum(self.distances[a][cell[a]] for a in unit) for unit in units])
        self._note(chosen, distance, cell)
        return True
