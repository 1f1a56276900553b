"""How many leaves a faithful tree has at least: fooling sets of cells.

Two cells *fool* each other where the box they span holds more than one class. A leaf of a faithful
tree is a box of one class (and of cells whose class is free), so cells of which any two fool each
other lie in leaves of their own, and no faithful tree has fewer leaves than there are such cells.

Nothing of the grid is looked at but lines of cells: through each cell that is considered, one
along every axis. On it the cell lies in a *run* of cells of its class, and it fools all cells
that lie, on that axis, beyond the run. Cells with short runs fool most others, so every cell first
moves along its lines to where its runs are shorter. Of all cells considered, an independent set is
sought in the graph that joins those not seen to fool each other.
"""

from __future__ import annotations

from time import monotonic

import numpy as np

from ensemble_simplify.born_again.everywhere._bounds import Packing, unfooled_pairs
from ensemble_simplify.born_again.everywhere._grid import CellTrees
from ensemble_simplify.grid import FREE

# Grids of up to this many cells are considered as a whole.
ALL_CELLS = 1 << 13
# Entries of a batch of lines; least and largest number of cells that are moved together.
BATCH, SMALL_BATCH, LARGE_BATCH = 1 << 19, 64, 4096
# Most moves of a cell; how many cells for every leaf, as far as is known, are better than moves;
# and how many are considered at most.
MOVES, CELLS_PER_LEAF, MOST_PER_LEAF = 40, 4.0, 40.0
# Shares of the work for collecting cells and for comparing them, and pairs that are kept.
COLLECT_SHARE, COMPARE_SHARE, MAX_PAIRS = 0.6, 0.25, 4_000_000
# Nanoseconds, by which work is counted: for a cell of a line, for a line, and more for a line in
# each tree and each of its scores; for a comparison on one axis; and for a neighbour in the search
# for an independent set.
LINE_CELL, LINE, TREE_LINE, SCORE_LINE = 30.0, 300.0, 60.0, 30.0
COMPARE, NEIGHBOUR = 0.15, 8.0
# Steps of the search for an independent set.
MAX_STEPS = 1 << 22
# Positions on an axis that the comparison tells apart.
POSITIONS = 1 << 16


def leaves_bound(grid, starts, work, rng, enough=np.inf, deadline=np.inf):
    """A number of leaves that every faithful tree has.

    Parameters
    ----------
    grid : Grid or CellTrees
        The classes of the cells, looked up by ``labels_of`` and ``labels_along``.
    starts : callable
        ``starts(n)`` draws about `n` cells, an int32 array of shape (n, n_axes); best a few in
        every leaf of a faithful tree.
    work : float
        Effort: nanoseconds, by forecast. What is found does not depend on the machine's speed.
    rng : numpy Generator
    enough : float
        No better bound is wanted than this.
    deadline : float
        By ``time.monotonic``; it ends sooner then.
    """
    return max(1, len(fooling_set(grid, starts, work, rng, enough, deadline)))


def fooling_set(grid, starts, work, rng, enough=np.inf, deadline=np.inf):
    """Cells of which any two fool each other, as an int32 array of shape (n, n_axes).

    Parameters are those of `leaves_bound`.
    """
    # of what time is left, too, collecting and comparing have their shares
    now = monotonic()
    collect_until, compare_until = (
        now + share * (deadline - now) if deadline < np.inf else np.inf
        for share in (COLLECT_SHARE, 0.9)
    )
    cells, labels, first, last, done = _collected(grid, starts, work, rng, enough, collect_until)
    if len(np.unique(labels)) <= 1:
        return cells[:1]
    order = np.lexsort((rng.random(len(labels)), labels))
    cells, labels, first, last = cells[order], labels[order], first[order], last[order]
    here, low, high = _as_positions(grid.shape, cells, first, last)
    begins = np.searchsorted(labels, np.unique(labels)).astype(np.intp)
    pairs, n_done = unfooled_pairs(
        here,
        low,
        high - low,
        np.append(begins, len(labels)),
        MAX_PAIRS,
        max(COMPARE_SHARE * work, 0.9 * work - done) / COMPARE,
        compare_until,
    )
    # where a limit came first, only some cells of each class were compared
    sizes = np.diff(np.append(begins, len(labels)))
    kept = np.flatnonzero(np.arange(len(labels)) - np.repeat(begins, sizes) < n_done)
    compared = COMPARE * len(grid.shape) * float((np.minimum(sizes, n_done) ** 2.0).sum()) / 2
    pairs = np.searchsorted(kept, pairs).astype(np.int32)
    # fewest neighbours first, in random order where as many
    n_pairs = np.bincount(pairs.ravel(), minlength=len(kept))
    chosen = Packing(len(kept), pairs).improve(
        np.lexsort((rng.random(len(kept)), n_pairs)).astype(np.int32),
        int(rng.integers(1 << 62)),
        MAX_STEPS,
        max(work - done - compared, 0.0) / NEIGHBOUR,
        deadline,
    )
    return cells[kept[chosen]]


def _collected(grid, starts, work, rng, enough, deadline):
    """Different cells of known class with short runs: (cells, labels, first, last, work done)."""
    n_axes, longest = len(grid.shape), max(grid.shape, default=1)
    n_cells = float(np.prod(np.array(grid.shape, dtype=float)))
    if n_cells <= ALL_CELLS:
        every = np.indices(grid.shape, dtype=np.int32).reshape(n_axes, int(n_cells)).T
        every = rng.permutation(every)
        most = len(every)
    else:
        every = None
        most = int(np.sqrt(2 * COMPARE_SHARE * work / (COMPARE * n_axes)))
        most = int(max(SMALL_BATCH, min(most, MOST_PER_LEAF * enough)))
        if longest >= POSITIONS:
            most = min(most, POSITIONS // 3)
    a_cell = _work_of_lines(grid)
    could, moves = COLLECT_SHARE * work / a_cell, 0
    if every is None:
        # work for more cells than are wanted goes into moves
        moves = int(np.clip(could / min(CELLS_PER_LEAF * enough, most) - 1, 0, MOVES))
    most = int(max(min(most, SMALL_BATCH), min(most, could / (1 + moves))))
    largest = max(SMALL_BATCH, min(LARGE_BATCH, BATCH // longest))
    found, n_found, batch = [], 0, SMALL_BATCH
    while n_found < most and not (found and monotonic() >= deadline):
        n = min(batch, most - n_found)
        cells = starts(n) if every is None else every[n_found : n_found + n]
        found.append(_moved(grid, cells, moves, rng, deadline))
        n_found += n
        batch = min(2 * batch, largest)
    cells, labels, first, last = (np.concatenate(parts) for parts in zip(*found, strict=True))
    _, once = np.unique(cells, axis=0, return_index=True)
    done = n_found * (1 + moves) * a_cell
    return cells[once], labels[once], first[once], last[once], done


def _work_of_lines(grid):
    """Nanoseconds that the lines through a cell take, by forecast."""
    a_line = LINE
    if isinstance(grid, CellTrees):
        a_line += grid.n_trees * (TREE_LINE + SCORE_LINE * grid.value.shape[1])
    return LINE_CELL * sum(grid.shape) + a_line * len(grid.shape)


def _moved(grid, cells, moves, rng, deadline):
    """Cells after so many moves to shorter runs: (cells, labels, first, last), free ones left out.

    `first` and `last` are the ends of the runs, int32 arrays of shape (n, n_axes).
    """
    labels = np.asarray(grid.labels_of(cells))
    known = labels != FREE
    cells, labels = np.ascontiguousarray(cells[known], dtype=np.int32), labels[known]
    n, n_axes = cells.shape
    first, last = np.zeros((2, n, n_axes), dtype=np.int32)
    for a in range(n_axes):
        first[:, a], last[:, a] = _runs(grid, cells, labels, a)
    lengths = np.log(last - first + 1.0)
    for _ in range(moves if n else 0):
        if monotonic() >= deadline:
            break
        axis = int(rng.integers(n_axes))
        low, high = first[:, axis], last[:, axis]
        # to either end of the run, or anywhere inside
        choice = np.stack([low, high, rng.integers(low, high + 1)])
        to = choice[rng.integers(3, size=n), np.arange(n)]
        which = np.flatnonzero(to != cells[:, axis])
        new = cells[which]
        new[:, axis] = to[which]
        if grid.has_free and len(which):
            known = np.asarray(grid.labels_of(new)) != FREE
            which, new = which[known], new[known]
        if not len(which):
            continue
        new_first, new_last = first[which], last[which]
        for a in range(n_axes):
            # the line along the axis of the move stays the same
            if a != axis:
                new_first[:, a], new_last[:, a] = _runs(grid, new, labels[which], a)
        new_lengths = np.log(new_last - new_first + 1.0)
        # more than rounding
        better = new_lengths.sum(axis=1) < lengths[which].sum(axis=1) - 1e-9
        which = which[better]
        cells[which] = new[better]
        first[which], last[which] = new_first[better], new_last[better]
        lengths[which] = new_lengths[better]
    return cells, labels, first, last


def _runs(grid, cells, labels, axis):
    """First and last cell, on an axis, of the run of each cell's class around it."""
    length = grid.shape[axis]
    if length == 1:
        return 0, 0
    along = grid.labels_along(cells, axis)
    other = along != labels[:, None]
    if grid.has_free:
        other &= along != FREE
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
