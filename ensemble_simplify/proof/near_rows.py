"""The points near some rows: those that differ from a row in at most so many features.

A point that differs from a row in one feature lies on a *line* of the row (`_lines`). For at most
one change, the points are finitely many cells, rows x cut points, and a forest's class on all of
them is found by walking the lines. Points of two changes are on the lines of the points of one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from itertools import islice

import numpy as np
from joblib import effective_n_jobs

from ensemble_simplify.grid import (
    FREE,
    Axes,
    CodedTrees,
    Stopped,
    check_time,
    distinct_rows,
    in_boxes,
    in_threads,
    leaves_of_cells,
)
from ensemble_simplify.proof._lines import UNSURE, LineWalker, find_runs
from ensemble_simplify.reading import Forest, Sums

# Cells whose labels are held at once; and cells, times trees, whose class is computed at once.
BATCH_CELLS, BATCH_LEAVES = 1 << 22, 1 << 20
# Numbers in the cells whose lines are walked at once.
WALK_CELLS = 1 << 22


class Lines:
    """A forest on the lines of rows.

    Parameters
    ----------
    forest : Forest
    axes : Axes
        With all of the forest's cut points among theirs.
    outside : pair of int32 arrays of shape (n_regions, n_axes) or None
        First and last cells of regions whose class is free.

    Attributes
    ----------
    first : intp array of shape (n_axes + 1,)
        Column of labels at which the cells of each axis begin.
    free : int
        The label of cells outside the domain.
    """

    free = FREE

    def __init__(self, forest, axes, outside=None, *, trees=None):
        self.decide, self.n_classes = forest.decide_at, forest.n_classes
        self.trees = axes.encode_forest(forest) if trees is None else trees
        self.first = np.concatenate([[0], np.cumsum(axes.shape)]).astype(np.intp)
        none = np.empty((0, len(axes.shape)), dtype=np.int32)
        self.outside = (none, none) if outside is None else outside
        self.sums = forest.sums

    @property
    def n_positions(self):
        """Cells of all lines of a row; the row's own counts on each."""
        return int(self.first[-1])

    def labels(self, cells, from_axis=None) -> np.ndarray:
        """Classes on the lines of some rows, by the forest's own arithmetic.

        Only lines along `from_axis`, intp of shape (n_rows,), and later axes are walked (None:
        all).

        Returns
        -------
        uint16 array of shape (n_rows, n_positions)
            Class indices; `FREE` outside the domain, and where no line was walked.

        Raises
        ------
        Stopped
            When the time is over.
        """
        labels = np.full((len(cells), self.n_positions), FREE, dtype=np.uint16)
        if from_axis is None:
            from_axis = np.zeros(len(cells), dtype=np.intp)
        sums = self.sums
        if sums is None:
            # the vote is no sum: every cell is asked
            walked = np.repeat(np.arange(len(self.first) - 1), np.diff(self.first))
            labels[walked >= from_axis[:, None]] = UNSURE
        else:
            walker = self._walker(sums.folded, sums.is_exact, sums.tie_upper, sums.rounding)
            walker.label(cells, from_axis, labels)
        for at, asked in self._batches_at(cells, *np.nonzero(labels == UNSURE)):
            check_time()
            labels[at] = self.classes_of(asked)
        return labels

    def _walker(self, value, exact=True, tie_upper=False, tolerance=0.0):
        """What walks the lines with some numbers of the leaves."""
        return LineWalker(
            self.trees.nodes,
            self.trees.offsets,
            value,
            exact=exact,
            tie_upper=tie_upper,
            tolerance=tolerance,
            first=self.first,
            outside=self.outside,
        )

    def _batches_at(self, cells, rows, positions):
        """The cells at some positions of the lines of rows, few at a time, after their places."""
        step = max(1, BATCH_LEAVES // len(self.trees))
        for i in range(0, len(rows), step):
            at = rows[i : i + step], positions[i : i + step]
            yield at, self.cells_at(cells[at[0]], at[1])

    def batches(self, cells, from_axis=None):
        """Like `labels`, for few rows at a time: pairs of a slice of the rows and their classes."""
        step = max(1, BATCH_CELLS // self.n_positions)
        for i in range(0, len(cells), step):
            part = slice(i, i + step)
            begin = None if from_axis is None else from_axis[part]
            yield part, self.labels(cells[part], begin)

    def common(self, labels):
        """Labels as int32; -1 for those that are free."""
        return _common(labels, range(self.n_classes))

    def in_order(self, labels):
        """Labels as uint16, as places in a list of all in their order; `FREE` where they are."""
        return labels

    def cells_at(self, cells, positions):
        """The cells, of shape (n, n_axes), at one position of the lines of each of some rows."""
        axis = np.searchsorted(self.first, positions, side="right") - 1
        changed = cells.copy()
        changed[np.arange(len(cells)), axis] = positions - self.first[axis]
        return changed

    def classes_of(self, cells, to_end=False) -> np.ndarray:
        """Class (intp) of some cells, int32 of shape (n, n_axes); `FREE` outside the domain.

        Raises `Stopped` when the time is over before all are looked at, unless that is to be done
        `to_end`.
        """
        labels = np.concatenate([self.decide(leaves) for leaves in self._leaves(cells, to_end)])
        labels[in_boxes(cells, self.outside)] = FREE
        return labels

    def _leaves(self, cells, to_end):
        """The leaves of some cells in all trees, in batches; of no cells, one batch."""
        cells = np.ascontiguousarray(cells, dtype=np.int32)
        step = max(1, BATCH_LEAVES // len(self.trees))
        for i in range(0, max(len(cells), 1), step):
            if i and not to_end:
                check_time()
            some = cells[i : i + step]
            leaves = np.empty((len(self.trees), len(some)), dtype=np.intp)
            leaves_of_cells(self.trees.nodes, self.trees.offsets, some, leaves)
            yield leaves


@dataclass(frozen=True)
class AskedTrees:
    """Trees whose sets are not laid out, in place of `CodedTrees`: points stand for the cells."""

    forest: Forest
    axes: Axes

    def __len__(self):
        return self.forest.n_trees

    def leaves(self, cells):
        """See `CodedTrees.leaves`."""
        return self.forest.apply(self.axes.points(cells)).T


class AskedLines(Lines):
    """The same of a forest whose sets are not laid out: it is asked about a point of every cell."""

    def __init__(self, forest, axes, outside=None):
        super().__init__(forest, axes, outside, trees=AskedTrees(forest, axes))
        self.sums = None

    def _leaves(self, cells, to_end):
        step = max(1, BATCH_LEAVES // len(self.trees))
        for i in range(0, max(len(cells), 1), step):
            if i and not to_end:
                check_time()
            yield self.trees.leaves(cells[i : i + step])


class NumberLines(Lines):
    """A forest whose answers are numbers, on the lines of rows; labels stand for answers.

    Parameters
    ----------
    forest, axes, outside
        As of `Lines`.
    answers : callable
        The answers to rows, float64 of shape (n_rows, n_outputs), by their nodes in all trees:
        intp of shape (n_trees, n_rows). They are put in order by the first output, and then by
        the last one.
    last_alike : callable
        For answers in their order, for each the place of the last one, of those from it on, to
        which a single leaf can stand for all between: int32 of shape (n_kinds,).

    Attributes
    ----------
    kinds : list of bytes
        The answers so far; their places are the labels.
    """

    free = -1

    def __init__(self, forest, axes, outside, answers, last_alike):
        super().__init__(forest, axes, outside)
        self.answers, self.last_alike = answers, last_alike
        self.value = np.ascontiguousarray(forest.value)
        self._places: dict = {}

    def labels(self, cells, from_axis=None) -> np.ndarray:
        """Labels on the lines of some rows: int32; -1 outside the domain, or not walked."""
        if from_axis is None:
            from_axis = np.zeros(len(cells), dtype=np.intp)
        steps = np.full((len(cells), self.n_positions), FREE, dtype=np.uint16)
        self._walker(self.value).steps(cells, from_axis, steps)
        # a stretch begins where a line does, where votes change, and beside what is free
        free = steps == FREE
        begins = steps == 1
        begins[:, self.first[:-1]] = True
        begins[:, 1:] |= free[:, 1:] != free[:, :-1]
        begins &= ~free
        labels = np.full(begins.shape, -1, dtype=np.int32)
        for at, asked in self._batches_at(cells, *np.nonzero(begins)):
            labels[at] = self.classes_of(asked, is_inside=True)
        found, stretch = labels[begins], np.cumsum(begins).reshape(begins.shape) - 1
        return np.where(free, np.int32(-1), found[stretch] if len(found) else np.int32(-1))

    def classes_of(self, cells, to_end=False, is_inside=False) -> np.ndarray:
        """Labels of some cells; -1 outside the domain, unless all are known to be inside."""
        answers = self.answers_of(cells, to_end)
        kinds, place = np.unique(_as_bytes(answers), return_inverse=True)
        new = [self._places.setdefault(kind, len(self._places)) for kind in kinds.tolist()]
        labels = np.array(new, dtype=np.int32)[place]
        if not is_inside:
            labels[in_boxes(cells, self.outside)] = -1
        return labels

    def answers_of(self, cells, to_end=False) -> np.ndarray:
        """Answers to some cells, float64 of shape (n, n_outputs)."""
        return np.concatenate([self.answers(leaves) for leaves in self._leaves(cells, to_end)])

    def common(self, labels):
        """They are as they should be."""
        return labels

    def in_order(self, labels):
        """As of `Lines`; all have to be known by now, and fewer than `FREE`."""
        return np.append(self.order()[1], FREE).astype(np.uint16)[labels]

    def order(self):
        """All answers so far in order, and for each label its place among them."""
        answers = np.frombuffer(b"".join(self._places), dtype=np.float64)
        answers = answers.reshape(len(self._places), -1)
        order = np.lexsort((*answers[:, 1:-1].T, answers[:, -1], answers[:, 0]))
        place = np.empty(len(order), dtype=np.int32)
        place[order] = np.arange(len(order))
        return answers[order], place


def _as_bytes(answers):
    """The rows of answers as single items; no zero is negative."""
    answers = np.ascontiguousarray(answers + 0.0)
    return answers.view(f"V{answers.shape[1] * 8}")[:, 0]


class TreeLines(Lines):
    """A tree over the same axes as a forest, on lines; the numbers of its leaves are classes.

    Cells that are free in the `lines` of the forest are free here, too.
    """

    def __init__(self, nodes, n_classes, lines):
        self.trees = CodedTrees(nodes, np.array([0, len(nodes)], dtype=np.intp))
        self.n_classes, self.first, self.outside = n_classes, lines.first, lines.outside
        self.sums = Sums(np.eye(n_classes), np.zeros(n_classes), 1.0, 0.0, is_exact=True)

    def decide(self, leaves):
        """The class of a leaf is its number."""
        return leaves[0]


def n_near(n_rows, shape, max_changes):
    """Number of points that differ from a row on at most `max_changes` axes, added up over rows."""
    # after each axis: in how many ways 0, 1, 2, ... of the axes so far can be changed
    ways = np.zeros(max_changes + 1)
    ways[0] = 1.0
    with np.errstate(over="ignore"):
        for n in shape:
            ways[1:] += ways[:-1] * (n - 1)
        return float(n_rows * ways.sum())


def within(cells, known, max_changes):
    """Which cells differ on at most `max_changes` axes from at least one of the `known` cells.

    Both are int arrays over axes. O(cells * known * axes).
    """
    found = np.zeros(len(cells), dtype=bool)
    step = max(1, BATCH_CELLS // len(known))
    for i in range(0, len(cells), step):
        part = cells[i : i + step]
        changes = np.zeros((len(part), len(known)), dtype=np.int32)
        for a in range(known.shape[1]):
            changes += part[:, a, None] != known[None, :, a]
        found[i : i + step] = changes.min(axis=1) <= max_changes
    return found


def walks(cells, shape, max_changes):
    """Lines that together hold every point near some rows once; at least one change is allowed.

    Lines are those along `from_axis` and later axes of cells that differ from a row in less than
    `max_changes` axes, all before `from_axis`.

    Yields
    ------
    row : intp array of shape (n,)
        The row from which each cell differs.
    cells : int32 array of shape (n, n_axes)
    from_axis : intp array of shape (n,)
    """
    rows = np.arange(len(cells))
    yield rows, cells, np.zeros(len(cells), dtype=np.intp)
    yield from _further(rows, cells, 0, shape, max_changes - 1)


def _further(rows, cells, from_axis, shape, n):
    """`walks` of cells changed on one to `n` axes from an axis on."""
    step = max(1, WALK_CELLS // max(1, sum(shape) * len(shape)))
    for i in range(0, len(rows) if n else 0, step):
        part = slice(i, i + step)
        for a in range(from_axis, len(shape) - 1):
            row = np.repeat(rows[part], shape[a])
            changed = np.repeat(cells[part], shape[a], axis=0)
            # each row once for every cell of the axis, but for its own
            position = np.tile(np.arange(shape[a], dtype=np.int32), len(rows[part]))
            other = position != changed[:, a]
            changed[:, a] = position
            row, changed = row[other], changed[other]
            yield row, changed, np.full(len(row), a + 1, dtype=np.intp)
            yield from _further(row, changed, a + 1, shape, n - 1)


def axis_lines(cells, shape, max_changes, step):
    """The lines of `walks` axis by axis, of so many cells at a time; `Stopped` ends them.

    Yields
    ------
    row : intp array of shape (n,)
    cells : int32 array of shape (n, n_axes)
    axis : int
    again : bool array of shape (n,)
        Whether the cell itself was on a line before.
    """
    for row, walked, from_axis in walks(cells, shape, max_changes):
        for i in range(0, len(walked), step):
            part = slice(i, i + step)
            for axis in range(len(shape)):
                check_time()
                # points with more changes come from those with fewer along later axes only
                on = np.flatnonzero(from_axis[part] <= axis)
                if on.size:
                    here = np.ascontiguousarray(walked[part][on])
                    yield row[part][on], here, axis, (from_axis[part][on] > 0) | (axis > 0)


def points_apart(one, two, cells, shape, max_changes, n_jobs=None):
    """Points near some rows on which two models differ; each is found once for each row near it.

    Each model over the same axes is a pair of its `Lines` and the common numbers of its classes,
    int of shape (n_classes,). Threads share the rows; what they find comes in the order of these.
    Raises `Stopped` when the time is over.

    Yields
    ------
    row : intp array of shape (n,)
        The row of each difference; batches without one are empty.
    cells : int32 array of shape (n, n_axes)
        Where they differ.
    """
    if max_changes == 0:
        labels = [_common(m.classes_of(cells), numbers) for m, numbers in (one, two)]
        found = np.flatnonzero(labels[0] != labels[1])
        yield found, cells[found]
        return
    n_threads = effective_n_jobs(n_jobs)
    # all threads together hold as many labels as one alone would
    most = max(1, BATCH_CELLS // (one[0].n_positions * n_threads))
    for walk in walks(cells, shape, max_changes):
        step = max(1, min(most, -(-len(walk[0]) // n_threads)))
        parts = ([each[i : i + step] for each in walk] for i in range(0, len(walk[0]), step))
        while calls := [partial(_apart_in, one, two, *part) for part in islice(parts, n_threads)]:
            yield from in_threads(n_jobs, calls)


def _apart_in(one, two, row, walked, from_axis):
    """`points_apart` on some of the lines of `walks`."""
    lines = one[0]
    first, second = (_common(m.labels(walked, from_axis), numbers) for m, numbers in (one, two))
    at, position = np.nonzero(first != second)
    changed = lines.cells_at(walked[at], position)
    # The walked cell itself lies on all of its lines. If it is the row's cell, it counts on the
    # first line; else it was found before, from a cell with one change fewer.
    axis = np.searchsorted(lines.first, position, side="right") - 1
    is_walked = changed[np.arange(len(at)), axis] == walked[at, axis]
    once = ~is_walked | ((from_axis[at] == 0) & (axis == 0))
    return row[at[once]], changed[once]


def _common(labels, numbers):
    """Labels by their common numbers; -1 for those that are free."""
    numbers = np.array([*numbers, -1], dtype=np.int32)
    return numbers[np.minimum(labels, len(numbers) - 1)]


def _are_apart(before, label, alike):
    """Whether no leaf can be right for a cell and for that before it; -1: there is none."""
    known = (before >= 0) & (label >= 0)
    if alike is None:
        return known & (before != label)
    return known & (np.maximum(before, label) > alike[np.minimum(before, label)])


_OF_ROWS = ("cells", "weights", "labels", "own_first", "own_last", "own_joined", "seen")


@dataclass(frozen=True, eq=False)
class Neighbourhood:
    """Rows, the cells that differ from one of them in at most one axis, and their classes.

    Rows that lie in one cell are one. A cell on lines of several rows counts for each. Of numbers,
    the classes are places in the list of all answers, `kinds`.

    Attributes
    ----------
    max_changes : {0, 1}
        0: the rows' own cells only.
    cells : int32 array of shape (n_rows, n_axes)
        The distinct cells of the rows.
    weights : float64 array of shape (n_rows,)
        Of the rows in each.
    labels : int32 array of shape (n_rows,)
        Classes of these cells; -1 outside the domain.
    own_first, own_last : int32 arrays of shape (n_rows, n_axes)
        Run of one class that holds the row, on each of its lines: first and last cell.
    own_joined : uint8 array of shape (n_rows, n_axes)
        Whether the cell before this run has another class, or an answer for which no leaf can
        stand together with that of the run (0: not so, none, or free).
    seen : bool array of shape (n_rows,)
        Whether the lines of a row were looked at. Of others, only the row's own cell is there.
    runs : int32 array of shape (n_runs, 6)
        The other runs of one class on lines: row, axis, first and last cell, class, and what
        `own_joined` is of the others.
    kinds : float64 array of shape (n_kinds, n_outputs) or None
        The different answers in rising order.
    alike : int32 array of shape (n_kinds,) or None
        For each, the last one to which one leaf can stand for both and for all between.
    """

    max_changes: int
    cells: np.ndarray
    weights: np.ndarray
    labels: np.ndarray
    own_first: np.ndarray
    own_last: np.ndarray
    own_joined: np.ndarray
    seen: np.ndarray
    runs: np.ndarray
    kinds: np.ndarray | None = None
    alike: np.ndarray | None = None

    @classmethod
    def of(cls, lines, cells, max_changes, weights=None, rng=None):
        """The neighbourhood of rows: their cells, inside the domain, and weights (None: 1).

        At most one change is allowed. When the time is over, `Stopped` is raised; or, with
        `rng`, rows are looked at in random order, and the lines of those that remain are left out.
        """
        first, place = distinct_rows(cells)
        cells = np.ascontiguousarray(cells[first], dtype=np.int32)
        weights = np.bincount(place, weights, len(cells)).astype(np.float64)
        own_first, own_last = cells.copy(), cells.copy()
        before, none = np.full(cells.shape, -1, dtype=np.int32), np.empty((0, 6), dtype=np.int32)
        seen = np.full(len(cells), max_changes == 0)
        labels, found = np.empty(len(cells), dtype=np.int32), [none]
        order = np.arange(len(cells)) if rng is None else rng.permutation(len(cells))
        try:
            for part, on_lines in lines.batches(cells[order]) if max_changes else ():
                rows = order[part]
                own = on_lines[np.arange(len(rows)), lines.first[0] + cells[rows, 0]]
                labels[rows] = lines.common(own)
                ends = own_first[rows], own_last[rows], before[rows]
                runs = find_runs(on_lines, lines.free, cells[rows], lines.first, *ends)
                own_first[rows], own_last[rows], before[rows] = ends
                seen[rows] = True
                runs[:, 0] = rows[runs[:, 0]]
                found.append(runs)
        except Stopped:
            if rng is None:
                raise
        unknown = ~seen if max_changes else seen
        if unknown.any():
            labels[unknown] = lines.common(lines.classes_of(cells[unknown], to_end=max_changes > 0))
        runs = np.concatenate(found)
        runs = np.ascontiguousarray(runs[np.argsort(runs[:, 0], kind="stable")])
        kinds = alike = None
        if isinstance(lines, NumberLines):
            kinds, place = lines.order()
            alike = lines.last_alike(kinds)
            place = np.append(place, np.int32(-1))
            labels, before, runs[:, 4:] = place[labels], place[before], place[runs[:, 4:]]
        own = np.broadcast_to(labels[:, None], before.shape)
        joined = _are_apart(before, own, alike).astype(np.uint8)
        runs[:, 5] = _are_apart(runs[:, 5], runs[:, 4], alike)
        rows = cells, weights, labels, own_first, own_last, joined, seen
        return cls(max_changes, *rows, runs, kinds, alike)

    @cached_property
    def n_points(self):
        """Rows and cells, of lines looked at, that differ from a row on one axis.

        A cell counts for each row near it.
        """
        inside = self.labels >= 0
        own = (self.own_last - self.own_first)[inside].sum(dtype=np.int64)
        other = (self.runs[:, 3] - self.runs[:, 2] + 1).sum(dtype=np.int64)
        return int(inside.sum() + own + other)

    def of_rows(self, kept):
        """The neighbourhood of some of the rows, by number, in rising order."""
        place = np.full(len(self.cells), -1, dtype=np.int32)
        place[kept] = np.arange(len(kept))
        runs = self.runs[place[self.runs[:, 0]] >= 0]
        runs[:, 0] = place[runs[:, 0]]
        rows = [np.ascontiguousarray(getattr(self, name)[kept]) for name in _OF_ROWS]
        runs = np.ascontiguousarray(runs)
        return Neighbourhood(self.max_changes, *rows, runs, self.kinds, self.alike)

    def joined_with(self, other):
        """The neighbourhood of the rows of both."""
        runs = other.runs.copy()
        runs[:, 0] += len(self.cells)
        both = [np.concatenate([getattr(self, name), getattr(other, name)]) for name in _OF_ROWS]
        return Neighbourhood(self.max_changes, *both, np.concatenate([self.runs, runs]))
