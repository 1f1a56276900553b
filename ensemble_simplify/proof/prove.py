"""Proofs that two models answer alike everywhere in a space, or a cell where they do not.

Boxes are settled by bounds on the restricted trees of each model (`_certify`), then of both at once
(`joined_trees`).
"""

from __future__ import annotations

import numpy as np

from ensemble_simplify.grid import in_boxes, is_late, limits, paint_lines, time_left

# Boxes searched with bounds on each model alone, before the bounds on both together are tried.
FIRST_BOXES = 2000
# If those fail, too, the bounds on each model alone get so many times more boxes in the next turn.
MORE_BOXES = 16
# The search for near ties: how often every box is searched.
TIE_STARTS = 16
# Random cells that are moved at once in a box.
TIE_CELLS = 8
# How often each of these cells is moved along every axis.
TIE_SWEEPS = 3
# Share of a time limit that this search may take.
TIE_SHARE = 0.4
# Work that this search may take, in nanoseconds by forecast.
TIE_WORK = 5e9
# Forecast of one move of the cells along an axis: this, and for each cell
TIE_MOVE = 3e4
# this for each tree,
TIE_TREE = 250.0
# and this for each score of each cell of its line.
TIE_SCORE = 15.0


def prove(space, max_boxes, near_ties=True, boxes=None):
    """Prove that no cell of the domain has two wrong answers, or find such a cell.

    Two different answers are wrong, unless the space says which pairs are.

    Parameters
    ----------
    space : Space
        Of two forests.
    max_boxes : int
    near_ties : bool
        Whether to look for a difference near ties first, which can take seconds.
    boxes : iterable of pairs of int32 arrays of shape (n_axes,), or None
        First and last cells of where to look; None: everywhere.

    Returns
    -------
    outcome : bool or None
    cells : int32 array of shape (1, n_axes) or None
        What refutes.
    n_boxes : int
    """
    stack = [space.whole] if boxes is None else boxes
    n_boxes = 0
    if boxes is None and space.changed is not None:
        stack = space.changed
        if near_ties:
            with limits(TIE_SHARE * time_left()):
                n_boxes, cells = _search_ties(space)
            if cells is not None:
                return False, cells, n_boxes
    for lo, hi in stack:
        equal, first = None, FIRST_BOXES
        while equal is None:
            left = max_boxes - n_boxes
            if is_late() or left <= 0:
                return None, None, n_boxes
            # a bound on each vote alone is all it takes for most pairs
            limit = left if space.pair is None else min(left, first)
            equal, cells, looked_at = certify(space, lo, hi, limit)
            n_boxes += looked_at
            if equal is not None or space.pair is None:
                break
            box, left = None, max_boxes - n_boxes
            if boxes is not None or space.changed is not None:
                # subtrees that are equal tell more there, if the two are alike in most of the box
                box, left = (lo, hi), min(left, first)
            equal, cells = space.pair.refute(box, left)
            n_boxes += space.pair.n_boxes
            first *= MORE_BOXES
        if not equal:
            return equal, cells, n_boxes
    return True, None, n_boxes


def certify(space, lo, hi, max_boxes):
    """Prove the two models equal in a box by bounds on each: (outcome, cells, boxes)."""
    stack = [(lo, hi)]
    n_boxes = 0
    while stack:
        lo, hi = stack.pop()
        if is_late() or n_boxes >= max_boxes:
            return None, None, n_boxes
        equal, _, cells = space.certifier.prove(lo, hi, max_boxes - n_boxes)
        n_boxes += space.certifier.n_boxes
        if equal is None:
            return None, None, n_boxes
        if equal:
            continue
        gap = None if space.outside is None else _box_around(cells[0], *space.outside)
        if gap is None:
            return False, cells, n_boxes
        # the rest of the box, without the part around the cell that is outside the domain
        for a, (first, last) in enumerate(zip(*gap, strict=True)):
            if first > lo[a]:
                below = hi.copy()
                below[a] = first - 1
                stack.append((lo.copy(), below))
            if last < hi[a]:
                above = lo.copy()
                above[a] = last + 1
                stack.append((above, hi.copy()))
            lo, hi = lo.copy(), hi.copy()
            lo[a], hi[a] = max(lo[a], first), min(hi[a], last)
    return True, None, n_boxes


def _search_ties(space):
    """Look for a cell on which two changed models differ, where the first is nearly tied.

    From random cells in the boxes outside of which the models are equal, one coordinate after the
    other goes to where, on its line of cells, the two largest scores are closest. That finds in
    moments what bounds cannot: in a box with hundreds of trees they leave everything open.

    Returns the number of boxes that were searched, and the cell, int32 of shape (1, n_axes), or
    None.
    """
    rng = np.random.default_rng(0)
    n_boxes, work = 0, 0.0
    forest, shape = space.forests[0], space.axes.shape
    for _ in range(TIE_STARTS):
        for lo, hi in space.changed:
            n_boxes += 1
            cells = rng.integers(lo, hi + 1, size=(TIE_CELLS, len(lo)), dtype=np.int32)
            for _ in range(TIE_SWEEPS):
                differ = np.flatnonzero(space.differ(cells) & ~in_boxes(cells, space.outside))
                if differ.size:
                    return n_boxes, cells[differ[:1]]
                for axis in rng.permutation(np.flatnonzero(lo < hi)):
                    if is_late() or work >= TIE_WORK:
                        return n_boxes, None
                    a_line = TIE_TREE * forest.n_trees + TIE_SCORE * forest.n_scores * shape[axis]
                    work += TIE_MOVE + TIE_CELLS * a_line
                    _move_to_ties(space, cells, axis, lo[axis], hi[axis], rng)
    return n_boxes, None


def _move_to_ties(space, cells, axis, first, last, rng) -> None:
    """Move cells along an axis, in first..last, to where the first model is closest to a tie."""
    trees, forest, length = space.trees[0], space.forests[0], space.axes.shape[axis]
    sums = forest.sums
    value = forest.value if sums is None else sums.folded
    scores = np.zeros((len(cells) * length, value.shape[1]))
    paint_lines(trees.nodes, trees.offsets[:-1], value, cells, axis, length, scores)
    scores = scores.reshape(len(cells), length, -1)[:, first : last + 1]
    scores = np.partition(scores, -2, axis=2)
    gap = scores[:, :, -1] - scores[:, :, -2]
    # any of those that are closest
    closest = gap <= gap.min(axis=1, keepdims=True)
    cells[:, axis] = first + (closest * rng.random(gap.shape)).argmax(axis=1)


def _box_around(cell, first, last):
    """The first of some boxes that holds a cell, or None."""
    holds = np.flatnonzero(((first <= cell) & (cell <= last)).all(axis=1))
    return (first[holds[0]], last[holds[0]]) if holds.size else None
