"""Faithful trees without a proof of smallness, for grids of any size.

The feature space is divided greedily until the boxes are small enough to be solved exactly;
then neighbouring boxes are joined and solved again, as long as time allows. Every tree is
faithful: a box becomes a leaf only when all its cells have been looked at, or when bounds on
the trees prove its class.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from time import monotonic

import numpy as np

from ensemble_simplify._cells import class_counts
from ensemble_simplify._dp import Stopped
from ensemble_simplify._grid import CellTrees, Grid
from ensemble_simplify._search import CellTree, TooLarge, n_regions, solve

# Boxes of up to this many cells are labelled as a whole, larger ones are sampled.
TABLE_CELLS = 1 << 17
SAMPLE = 512
# Regions of a box that is solved exactly at once.
TAIL_REGIONS = 1_000_000
# Boxes with more leaves than this are not joined: their solution would not pay.
PROGRESS_SECONDS = 1.0


@dataclass(eq=False)
class Box:
    """A box of cells in the draft of a tree.

    Attributes
    ----------
    axes : intp array
        Axes of the whole grid on which the box is still divided.
    numbers : list of intp arrays
        The cuts left on each of them, by their number in the whole grid.
    trees : CellTrees or None
        The trees restricted to the box, over these cuts; None once there is a table.
    labels : array or None
        The class of each cell, for small boxes.
    depth : int
        Splits above it.
    axis, cut : int
        Its split, in numbers of the whole grid; -1 if it has no parts.
    parts : tuple of Box
    tree : CellTree or None
        A faithful tree over the whole grid's axes and cuts, for boxes without parts.
    exact : bool
        Whether `tree` is proven smallest.
    """

    axes: np.ndarray
    numbers: list
    trees: CellTrees | None
    labels: np.ndarray | None = None
    depth: int = 0
    axis: int = -1
    cut: int = -1
    parts: tuple = ()
    tree: CellTree | None = None
    exact: bool = False
    size: tuple = field(default=(0, 0))

    def tabulate(self):
        """Replace the trees by a table of classes, without the cuts that do not matter."""
        grid = Grid(self.axes, self.numbers, self.trees.labels()).simplified()
        self._set_table(grid)
        return self

    def _set_table(self, grid):
        self.axes, self.numbers, self.labels = grid.features, grid.cuts, grid.labels
        self.trees = None

    def part(self, axis, cut, upper):
        """One side of a split on a local axis and cut."""
        shape = self.trees.shape if self.labels is None else self.labels.shape
        lo, hi = [0] * len(shape), [n - 1 for n in shape]
        if upper:
            lo[axis] = cut + 1
        else:
            hi[axis] = cut
        part = Box(self.axes, self.numbers, None, depth=self.depth + 1)
        if self.labels is not None:
            part._set_table(Grid(self.axes, self.numbers, self.labels).sub_grid(lo, hi).simplified())
            return part
        part.trees, axes, cuts = self.trees.restricted(lo, hi)
        part.axes = self.axes[axes]
        part.numbers = [self.numbers[a][c] for a, c in zip(axes, cuts, strict=True)]
        return part


class Draft:
    """A faithful tree in the making.

    Parameters
    ----------
    trees : CellTrees
        The forest over its grid.
    objective : {"depth", "leaves", "depth_then_leaves"}
    max_bytes : float
        Memory for the exact solution of boxes.
    deadline : float
        By ``time.monotonic``.
    seed : int
        Of the samples of cells by which large boxes are divided.
    report : callable or None
        Called with the number of leaves from time to time.
    """

    def __init__(self, trees, objective, *, max_bytes, deadline, seed=0, report=None):
        self.objective = objective
        self.max_bytes = max_bytes
        self.deadline = deadline
        self.rng = np.random.default_rng(seed)
        self.report = report
        self.root = Box(
            np.arange(len(trees.shape)), [np.arange(n - 1) for n in trees.shape], trees
        )
        self.n_leaves = 0
        self.n_boxes = 0

    # ------------------------------------------------------------------------- divide greedily

    def build(self):
        """Divide the whole grid until every box has a tree.

        Raises
        ------
        Stopped
            When the time is up first.
        """
        stack = [self.root]
        told = monotonic()
        while stack:
            box = stack.pop()
            self._check_time()
            self.n_boxes += 1
            parts = self._divide_or_solve(box)
            # deep first, so that memory holds one path
            stack.extend(parts)
            if self.report and monotonic() - told > PROGRESS_SECONDS:
                told = monotonic()
                self.report(self.n_leaves, len(stack))

    def _check_time(self):
        if monotonic() >= self.deadline:
            raise Stopped

    def _divide_or_solve(self, box):
        if box.labels is None and _n_cells(box.trees.shape) <= TABLE_CELLS:
            box.tabulate()
        if box.labels is not None:
            if n_regions(box.labels.shape) <= TAIL_REGIONS and self._solve(box):
                self.n_leaves += box.tree.n_leaves
                return ()
            axis, cut = _purest_split(*_table_counts(box.labels))
        else:
            axis, cut = self._sampled_split(box)
        box.parts = (box.part(axis, cut, False), box.part(axis, cut, True))
        box.axis, box.cut = int(box.axes[axis]), int(box.numbers[axis][cut])
        box.trees = None
        return box.parts[::-1]

    def _sampled_split(self, box):
        shape = np.array(box.trees.shape)
        cells = self.rng.integers(0, shape, size=(SAMPLE, len(shape)), dtype=np.intp)
        labels = box.trees.labels_of(cells)
        first = np.concatenate([[0], np.cumsum(shape)])
        n_classes = int(labels.max()) + 1
        place = (first[:-1] + cells) * n_classes + labels[:, None]
        counts = np.bincount(place.ravel(), minlength=int(first[-1]) * n_classes)
        if len(np.unique(labels)) == 1:
            # nothing to tell apart: halve the votes that most trees still need
            used = np.bincount(
                first[box.trees.axis[box.trees.roots]] + box.trees.cut[box.trees.roots],
                weights=box.trees.axis[box.trees.roots] >= 0,
                minlength=int(first[-1]),
            )
            best = int(used.argmax())
            axis = int(np.searchsorted(first, best, side="right")) - 1
            return axis, best - int(first[axis])
        return _purest_split(counts.reshape(-1, n_classes), tuple(shape))

    def _solve(self, box):
        """Solve a box exactly; False if that takes more memory than allowed."""
        try:
            solution = solve(
                box.labels,
                self.objective,
                max_bytes=self.max_bytes,
                seconds=self.deadline - monotonic(),
            )
        except TooLarge:
            return False
        box.tree = solution.tree.on_grid(Grid(box.axes, box.numbers, box.labels))
        box.exact = True
        return True

    # ----------------------------------------------------------------------------- the tree

    def tree(self):
        """The tree of the draft as it stands."""
        # parts before wholes
        order, stack = [], [self.root]
        while stack:
            box = stack.pop()
            order.append(box)
            stack.extend(box.parts)
        done = {}
        for box in reversed(order):
            if box.tree is not None:
                done[id(box)] = box.tree
            else:
                left, right = (done.pop(id(part)) for part in box.parts)
                done[id(box)] = _joined(box.axis, box.cut, left, right)
        return done[id(self.root)]


def _joined(axis, cut, left, right):
    if left.n_leaves == right.n_leaves == 1 and left.label[0] == right.label[0]:
        return left
    return CellTree.joined(axis, cut, left, right)


def _n_cells(shape):
    return float(np.prod(np.array(shape, dtype=float)))


def _table_counts(labels):
    counts = np.zeros((sum(labels.shape), int(labels.max()) + 1), dtype=np.intp)
    class_counts(labels.reshape(-1), np.array(labels.shape, dtype=np.intp), counts)
    return counts, labels.shape


def _purest_split(counts, shape):
    """The cut whose sides have the least entropy: (axis, cut).

    Parameters
    ----------
    counts : array of shape (sum of shape, n_classes)
        Cells of each class at each position of each axis.
    """
    best, chosen, base = np.inf, None, 0
    for axis, n in enumerate(shape):
        below = counts[base : base + n].cumsum(axis=0)
        base += n
        if n < 2:
            continue
        above = below[-1] - below[:-1]
        cost = _entropy(below[:-1]) + _entropy(above)
        cut = int(cost.argmin())
        if cost[cut] < best:
            best, chosen = cost[cut], (axis, cut)
    return chosen


def _entropy(counts):
    """Entropy of each row, times its total."""
    total = counts.sum(axis=1)
    logs = np.log(np.maximum(counts, 1))
    return total * np.log(np.maximum(total, 1)) - (counts * logs).sum(axis=1)
