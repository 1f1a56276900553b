"""Shares of the volume of a box: points drawn from it, and bounds on what is settled in it."""

from __future__ import annotations

import heapq
import itertools
from dataclasses import dataclass

import numpy as np

from ensemble_simplify.grid import cell_shares, is_late, time_left

# Nodes of trees, over all boxes, that are loaded before hardly settled volumes are given up.
NODES = 1e8
# Nodes loaded for boxes, for each row and tree: a row alone visits as many as a tree is deep.
NODES_PER_ROW = 3
# Fewer rows than these are worth the effort of so many: calls alone cost as much.
LEAST_ROWS = 1_000
_COUNT = itertools.count()


@dataclass(frozen=True)
class Effort:
    """What a volume may cost at most, counted in operations, so that it is the same everywhere.

    Attributes
    ----------
    points : int
        Points drawn.
    width : float
        No more points are drawn once the interval of the share is as narrow as this.
    boxes : int
        Boxes that are settled or halved.
    first : int
        After so many boxes it is looked at what was gained, unless there is a time limit.
    gain : float
        The search ends where less than this share of the open volume was settled since then.
    growth : int
        The next look comes after so many times as many boxes.
    """

    points: int = 100_000
    width: float = 0.0
    boxes: int = 20_000
    first: int = 1_000
    gain: float = 0.01
    growth: int = 20_000

    @classmethod
    def of_rows(cls, n_rows, forests) -> Effort:
        """Effort in proportion to the rows, which ends where the bounds hardly move."""
        n_rows, boxes, most = max(n_rows, LEAST_ROWS), 1, cls()
        if forests is not None:
            n_trees, n_nodes = (
                sum(getattr(forest, name) for forest in forests) for name in ("n_trees", "n_nodes")
            )
            boxes = max(1, min(NODES_PER_ROW * n_rows * n_trees // n_nodes, most.boxes))
        return cls(min(n_rows, most.points), 0.02, boxes, 16, 0.1, 2)

    def first_of(self, forests) -> int:
        """Boxes of `first`, fewer for large forests."""
        few = NODES / sum(forest.n_nodes for forest in forests)
        return min(self.first, int(np.clip(few, 50, 1_000)))


def box_of(rows, inside):
    """Ends of the box, and which features are whole numbers."""
    n_features = rows.shape[1]
    low, high = np.full(n_features, -np.inf), np.full(n_features, np.inf)
    integer = np.zeros(n_features, dtype=bool)
    if inside is not None:
        low, high, integer = inside.low.copy(), inside.high.copy(), inside.integer
    if len(rows):
        # these pass over gaps; of a column without a number, any will do
        least, most = (np.nan_to_num(_reduced(end, rows)) for end in (np.fmin, np.fmax))
        low = np.where(np.isfinite(low), low, least.astype(np.float64))
        high = np.where(np.isfinite(high), high, most.astype(np.float64))
    unbounded = np.flatnonzero(~(np.isfinite(low) & np.isfinite(high)))
    if unbounded.size:
        raise ValueError(
            f"Nothing bounds feature {unbounded[0]}. Give rows X, or a domain with bounds for "
            "every feature."
        )
    return low, high, integer


def _reduced(end, rows):
    """What a function of two numbers makes of each column, many rows at once where there are."""
    n, width = len(rows) // 64, rows.shape[1]
    if n > 1:
        # along rows of few columns, numpy goes number by number
        wide = end.reduce(rows[: 64 * n].reshape(n, 64 * width))
        rows = np.concatenate([wide.reshape(64, width), rows[64 * n :]])
    return end.reduce(rows)


def share_of(spans, low, high, integer, missing):
    """The share of a box in which some features are within spans, drawn one by one and evenly.

    Parameters
    ----------
    spans : dict of int to Span
        Ends are numbers that float32 represents.
    low, high, integer : arrays of shape (n_features,)
        As of `box_of`.
    missing : array of shape (n_features,)
        The probability that each feature is missing.

    Returns
    -------
    float
    """
    share = 1.0
    for j, span in spans.items():
        inside = 0.0
        if span.low < span.high:
            cuts = np.array([end for end in (span.low, span.high) if np.isfinite(end)])
            cells = cell_shares(cuts, low[j], high[j], integer[j])
            inside = cells[int(np.isfinite(span.low))]
        share *= float(missing[j] * span.missing + (1.0 - missing[j]) * inside)
    return share


def drawn(low, high, integer, rounds, n, rng):
    """Points drawn evenly from the box; if `rounds`, as plain numbers that float32 represents."""
    share = rng.random_sample((n, len(low)))
    points = low + share * (high - low)
    whole = np.minimum(np.floor(low + share * (high - low + 1)), high)
    points = np.where(integer, whole, points)
    if rounds:
        points = points.astype(np.float32).astype(np.float64)
    return np.clip(points, low, high)


def settled_volume(settle, axes, box, finer, effort, first):
    """Bounds on the share of a box on which something is so.

    Parameters
    ----------
    settle : callable
        ``settle(lo, hi)``: whether it is so in all cells between two, or in none; None: unknown.
    axes : Axes
    box : tuple of arrays of shape (n_features,)
        Lower and upper ends, and which features are whole numbers.
    finer : bool
        Whether models compare numbers that are finer than the cells of the axes.
    effort : Effort
    first : int
        Boxes after which it is first looked at what was gained.

    Returns
    -------
    low, high : float
    """
    shares = _Shares(axes, *box, finer)
    # the largest first, so that the bounds close as fast as they can
    open_, n_boxes = [], 0
    shares.push(open_, *axes.whole)
    yes = no = before = 0.0
    while open_ and n_boxes < effort.boxes and not is_late():
        if n_boxes == first and time_left() == np.inf:
            if yes + no - before < effort.gain * (1.0 - before):
                break
            before, first = yes + no, first * effort.growth
        n_boxes += 1
        share, _, lo, hi = heapq.heappop(open_)
        found = settle(lo, hi)
        if found:
            yes -= share
        elif found is False:
            no -= share
        else:
            a, cut = shares.halved(lo, hi)
            for begin, end in ((lo[a], cut), (cut + 1, hi[a])):
                part_lo, part_hi = lo.copy(), hi.copy()
                part_lo[a], part_hi[a] = begin, end
                shares.push(open_, part_lo, part_hi)
    if not open_ and not finer:
        return (min(yes, 1.0), min(yes, 1.0))
    return yes, max(1.0 - no, yes)


class _Shares:
    """For every axis, the share of the box in the cells before each of its cells, and in all.

    Those of all axes lie one after the other, so that a box of a thousand axes takes no loop.
    Without the share that is in no cell, for models that compare `finer` numbers than float32.
    """

    def __init__(self, axes, low, high, integer, finer):
        parts, after, last = [np.zeros(0)], [], []
        for j, cuts in zip(axes.features, axes.cuts, strict=True):
            cells = cell_shares(cuts, low[j], high[j], integer[j], axes.row_dtype, finer)
            before = np.concatenate([[0.0], np.cumsum(cells)])
            parts.append(before if finer else before / before[-1])
            # the next cell with a volume, and the last one before
            places, some = np.arange(len(before)), np.append(np.diff(parts[-1]) > 0, False)
            here = np.where(some, places, len(before))
            after.append(np.minimum.accumulate(here[::-1])[::-1])
            last.append(np.maximum.accumulate(np.where(some, places, -1)))
        self.before, sizes = np.concatenate(parts), [len(part) for part in parts[1:]]
        self.starts = (np.cumsum(sizes) - sizes).astype(np.intp)
        self.axis = np.repeat(np.arange(len(sizes)), sizes)
        self.places = np.arange(len(self.before))
        self.after, self.last = (
            np.concatenate([[], *own]).astype(np.int32) for own in (after, last)
        )

    def push(self, open_, lo, hi):
        """Note a box that is still open, without its rims of no volume."""
        lo, hi = self.after[self.starts + lo], self.last[self.starts + hi]
        if (lo > hi).any():
            return
        size = np.prod(self.before[self.starts + hi + 1] - self.before[self.starts + lo])
        # heaps have the smallest first; equal sizes are told apart by a count
        heapq.heappush(open_, (-float(size), next(_COUNT), lo, hi))

    def halved(self, lo, hi):
        """Axis and cell after which a box is halved most evenly, the widest axis first."""
        begin, end = self.starts + lo, self.starts + hi + 1
        inner = self.before - self.before[begin][self.axis]
        total = (self.before[end] - self.before[begin])[self.axis]
        smaller = np.minimum(inner, total - inner)
        smaller[(self.places <= begin[self.axis]) | (self.places >= end[self.axis])] = -1.0
        best = np.flatnonzero(smaller == smaller.max())
        a = int(self.axis[best[-1]])
        return a, int(best[np.searchsorted(best, self.starts[a])] - self.starts[a] - 1)
