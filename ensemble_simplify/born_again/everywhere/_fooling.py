"""How many leaves a faithful tree has at least: fooling sets of cells.

Two cells *fool* each other where the box they span holds more than one class. A leaf of a faithful
tree is a box of one class (and of cells whose class is free), so cells of which any two fool each
other lie in leaves of their own, and no faithful tree has fewer leaves than there are such cells.

Nothing of the grid is looked at but lines of cells: through each cell that is considered, one
along every axis. On it the cell lies in a *run* of cells of its class, and it fools all cells
that lie, on that axis, beyond the run. Cells with short runs fool most others, so every cell first
moves along its lines to where its runs are shorter. Of all cells considered, an independent set is
sought in the graph that joins those not seen to fool each other.

Where leaves answer numbers within a tolerance, cells fool each other where the box they span holds
two answers that are too far apart, and a run holds answers that are not too far from the cell's
own. Cells whose own answers are too far apart fool each other, too: so each output of the answers
is compared as if it were one more axis, its numbers in order.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ensemble_simplify.born_again.everywhere._bounds import Packing, unfooled_pairs
from ensemble_simplify.born_again.everywhere._grid import CellTrees, n_cells
from ensemble_simplify.grid import FREE, Stopped, check_time, is_late, time_left, until

# Positions on an axis that the comparison tells apart: cells are compared as 16-bit numbers.
POSITIONS = 1 << 16


@dataclass(frozen=True)
class FoolingEffort:
    """How many cells are collected and compared, and the forecasts by which work is counted."""

    all_cells: int = 1 << 13  # Of grids with at most so many cells, all cells are considered.
    batch: int = 1 << 19  # Entries, at most, of the lines of the cells that are moved together.
    small_batch: int = 64  # Cells that are moved together: at least so many,
    large_batch: int = 4096  # and at most so many.
    moves: int = 40  # Moves of a cell, at most.
    # Work goes into more cells until there are so many for each known leaf, then into moves.
    cells_per_leaf: float = 4.0
    most_per_leaf: float = 40.0  # Cells for each known leaf, at most.
    collect_share: float = 0.6  # Share of the work for collecting cells,
    compare_share: float = 0.25  # and for comparing them.
    # Pairs of cells that do not fool each other: so many are kept at most.
    max_pairs: int = 4_000_000
    # Forecast of the nanoseconds to look at a line: this for each of its cells,
    line_cell: float = 30.0
    line: float = 300.0  # this for the line,
    tree_line: float = 60.0  # this for each tree of a forest that labels it,
    score_line: float = 30.0  # and this for each score of each tree.
    compare: float = 0.15  # Forecast of the nanoseconds to compare two cells on one axis,
    neighbour: float = 8.0  # and to visit a neighbour in the search for an independent set.
    max_steps: int = 1 << 22  # Steps of that search, at most.


EFFORT = FoolingEffort()


def leaves_bound(grid, starts, work, rng, enough=np.inf):
    """A number of leaves that every faithful tree has.

    Classes are looked up by ``labels_of`` and ``labels_along`` of a Grid or CellTrees.
    ``starts(n)`` draws about `n` cells, an int32 array of shape (n, n_axes); best a few in every
    leaf of a faithful tree. `work` is in nanoseconds, by forecast: what is found does not depend on
    the machine's speed. No better bound is wanted than `enough`.
    """
    return max(1, len(fooling_set(grid, starts, work, rng, enough)))


def fooling_set(grid, starts, work, rng, enough=np.inf):
    """Cells of which any two fool each other, as an int32 array of shape (n, n_axes).

    Parameters are those of `leaves_bound`.
    """
    # of what time is left, too, collecting and comparing have their shares
    seconds = time_left()
    with until(EFFORT.collect_share, seconds):
        cells, labels, first, last, done = _collected(grid, starts, work, rng, enough)
    if len(labels) <= 1 or (grid.tolerance is None and len(np.unique(labels)) <= 1):
        return cells[:1]
    order = rng.random(len(labels)).argsort()
    if grid.tolerance is None:
        order = order[labels[order].argsort(kind="stable")]
    cells, labels, first, last = cells[order], labels[order], first[order], last[order]
    here, low, high = _as_positions(grid.shape, cells, first, last)
    if grid.tolerance is None:
        begins = np.searchsorted(labels, np.unique(labels)).astype(np.intp)
    else:
        # one group: what classes tell apart, the answers themselves do
        ranks = _as_ranks(labels, grid.tolerance)
        here, low, high = (np.vstack(pair) for pair in zip((here, low, high), ranks, strict=True))
        begins = np.zeros(1, dtype=np.intp)
    with until(0.9, seconds):
        pairs, n_done = unfooled_pairs(
            here,
            low,
            high - low,
            np.append(begins, len(labels)),
            EFFORT.max_pairs,
            max(EFFORT.compare_share * work, 0.9 * work - done) / EFFORT.compare,
        )
    # where a limit came first, only some cells of each class were compared
    sizes = np.diff(np.append(begins, len(labels)))
    kept = np.flatnonzero(np.arange(len(labels)) - np.repeat(begins, sizes) < n_done)
    compared = EFFORT.compare * len(here) * float((np.minimum(sizes, n_done) ** 2.0).sum()) / 2
    pairs = np.searchsorted(kept, pairs).astype(np.int32)
    # fewest neighbours first, in random order where as many
    n_pairs = np.bincount(pairs.ravel(), minlength=len(kept))
    chosen = Packing(len(kept), pairs).improve(
        np.lexsort((rng.random(len(kept)), n_pairs)).astype(np.int32),
        int(rng.integers(1 << 62)),
        EFFORT.max_steps,
        max(work - done - compared, 0.0) / EFFORT.neighbour,
    )
    return cells[kept[chosen]]


def _collected(grid, starts, work, rng, enough):
    """Different cells of known class with short runs: (cells, labels, first, last, work done)."""
    n_axes, longest = len(grid.shape), max(grid.shape, default=1)
    if n_cells(grid.shape) <= EFFORT.all_cells:
        every = np.indices(grid.shape, dtype=np.int32).reshape(n_axes, int(n_cells(grid.shape))).T
        every = rng.permutation(every)
        most = len(every)
    else:
        every = None
        most = int(np.sqrt(2 * EFFORT.compare_share * work / (EFFORT.compare * n_axes)))
        most = int(max(EFFORT.small_batch, min(most, EFFORT.most_per_leaf * enough)))
        if longest >= POSITIONS or grid.tolerance is not None:
            most = min(most, POSITIONS // 3)
    a_cell = _work_of_lines(grid)
    could, moves = EFFORT.collect_share * work / a_cell, 0
    if every is None:
        # work for more cells than are wanted goes into moves
        moves = int(np.clip(could / min(EFFORT.cells_per_leaf * enough, most) - 1, 0, EFFORT.moves))
    most = int(max(min(most, EFFORT.small_batch), min(most, could / (1 + moves))))
    largest = max(EFFORT.small_batch, min(EFFORT.large_batch, EFFORT.batch // longest))
    found, n_found, batch = [], 0, EFFORT.small_batch
    while n_found < most and not (found and is_late()):
        n = min(batch, most - n_found)
        cells = starts(n) if every is None else every[n_found : n_found + n]
        try:
            found.append(_moved(grid, cells, moves, rng))
        except Stopped:
            break
        n_found += n
        batch = min(2 * batch, largest)
    if not found:
        none = np.empty((0, n_axes), dtype=np.int32)
        return none, known_labels(grid, none)[0], none, none, 0.0
    cells, labels, first, last = (np.concatenate(parts) for parts in zip(*found, strict=True))
    _, once = np.unique(cells, axis=0, return_index=True)
    done = n_found * (1 + moves) * a_cell
    return cells[once], labels[once], first[once], last[once], done


def _as_ranks(answers, tolerance):
    """Answers, and the first and last that are not too far from each, as uint16 of their order.

    The three are of shape (n_outputs, n).
    """
    ranks = [[], [], []]
    for k, column in enumerate(answers.T):
        numbers, place = np.unique(column, return_inverse=True)
        # rounded outwards: only what is certainly too far is beyond
        most = 0.0 if tolerance.labelled and k == 0 else 2.0 * tolerance.atol
        most = most + 4e-12 * (most + np.abs(column))
        first = np.searchsorted(numbers, column - most, side="left")
        last = np.searchsorted(numbers, column + most, side="right") - 1
        for found, rank in zip(ranks, (place, first, last), strict=True):
            found.append(rank)
    return [np.array(rank, dtype=np.uint16).reshape(-1, len(answers)) for rank in ranks]


def _work_of_lines(grid):
    """Nanoseconds that the lines through a cell take, by forecast."""
    a_line = EFFORT.line
    if isinstance(grid, CellTrees):
        a_line += grid.n_trees * (EFFORT.tree_line + EFFORT.score_line * grid.value.shape[1])
    return EFFORT.line_cell * sum(grid.shape) + a_line * len(grid.shape)


def _moved(grid, cells, moves, rng):
    """Cells after so many moves to shorter runs: (cells, labels, first, last), free ones left out.

    `first` and `last` are the ends of the runs, int32 arrays of shape (n, n_axes). Raises `Stopped`
    where time is over before these are known.
    """
    labels, known = known_labels(grid, cells)
    cells, labels = np.ascontiguousarray(cells[known], dtype=np.int32), labels[known]
    n, n_axes = cells.shape
    first, last = np.zeros((2, n, n_axes), dtype=np.int32)
    for a in range(n_axes):
        check_time()
        first[:, a], last[:, a] = _runs(grid, cells, labels, a)
    lengths = np.log(last - first + 1.0)
    for _ in range(moves if n else 0):
        if is_late():
            break
        axis = int(rng.integers(n_axes))
        low, high = first[:, axis], last[:, axis]
        # to either end of the run, or anywhere inside
        choice = np.stack([low, high, rng.integers(low, high + 1)])
        to = choice[rng.integers(3, size=n), np.arange(n)]
        which = np.flatnonzero(to != cells[:, axis])
        new = cells[which]
        new[:, axis] = to[which]
        moved = labels[which]
        if (grid.has_free or grid.tolerance is not None) and len(which):
            moved, known = known_labels(grid, new)
            which, new, moved = which[known], new[known], moved[known]
        if not len(which):
            continue
        new_first, new_last = first[which], last[which]
        for a in range(n_axes):
            # of a class, the run along the axis of the move stays the same
            if a != axis or grid.tolerance is not None:
                new_first[:, a], new_last[:, a] = _runs(grid, new, moved, a)
        new_lengths = np.log(new_last - new_first + 1.0)
        # more than rounding
        better = new_lengths.sum(axis=1) < lengths[which].sum(axis=1) - 1e-9
        which = which[better]
        cells[which], labels[which] = new[better], moved[better]
        first[which], last[which] = new_first[better], new_last[better]
        lengths[which] = new_lengths[better]
    return cells, labels, first, last


def known_labels(grid, cells):
    """The class, or the answer, of some cells; and which are inside the domain."""
    labels = np.asarray(grid.labels_of(cells))
    return labels, labels != FREE if grid.tolerance is None else ~np.isnan(labels[:, 0])


def _runs(grid, cells, labels, axis):
    """First and last cell, on an axis, of the run around each cell."""
    length = grid.shape[axis]
    if length == 1:
        return 0, 0
    along = grid.labels_along(cells, axis)
    if grid.tolerance is None:
        other = (along != labels[:, None]) & (along != FREE)
    else:
        # nothing is apart from NaN
        other = grid.tolerance.apart(along, labels[:, None])
    position = np.arange(length)
    here = cells[:, axis, None]
    first = np.where(other & (position < here), position + 1, 0).max(axis=1)
    last = np.where(other & (position > here), position - 1, length - 1).min(axis=1)
    return first, last


def _as_positions(shape, *arrays):
    """Cells as contiguous uint16 arrays of shape (n_axes, n), their order kept on every axis."""
    arrays = [array.T.astype(np.int64) for array in arrays]
    for a, length in enumerate(shape):
        if length > POSITIONS:
            used = np.unique([array[a] for array in arrays])
            for array in arrays:
                array[a] = np.searchsorted(used, array[a])
    return [np.ascontiguousarray(array, dtype=np.uint16) for array in arrays]
