"""Faithful trees without a proof of smallness, for grids of any size.

The feature space is divided greedily until the boxes are small enough to be solved exactly. The
tree is faithful: a box becomes a leaf only when all its cells have been looked at.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import monotonic

import numpy as np

from ensemble_simplify.born_again.everywhere._grid import (
    UNNAMED,
    CellTrees,
    Grid,
    TooLarge,
    n_cells,
)
from ensemble_simplify.born_again.everywhere._search import CellTree, n_regions, solve
from ensemble_simplify.grid import FREE, Stopped, check_time, class_counts, is_late, with_sizes

# Boxes of up to this many cells are labelled as a whole, larger ones are sampled.
TABLE_CELLS = 1 << 17
NUMBER_CELLS = UNNAMED  # The same where cells have numbers.
SAMPLE = 512
# Forecasts of leaves take so many random ways down, to boxes of so many cells.
WAYS, WAY_CELLS = 16, 1 << 12
MOST_LEVELS = 64  # Steps, at most, that numbers are told apart by where boxes are divided.
TAIL_REGIONS = 1_000_000  # Regions of a box that is solved exactly at once.
PROGRESS_SECONDS = 1.0


@dataclass(eq=False)
class Box:
    """A box of cells in the draft of a tree."""

    lo: np.ndarray  # first and last cell on each axis of the whole grid
    hi: np.ndarray
    axes: np.ndarray  # axes of the whole grid on which the box is still divided
    numbers: list  # the cuts left on each of them, by their number in the whole grid
    trees: CellTrees | None  # restricted to the box, over these cuts; None once there is a table
    grid: Grid | None = None  # the class, or answer, of each cell, for small boxes
    axis: int = -1  # its split, in numbers of the whole grid; -1 if it has no parts
    cut: int = -1
    parts: tuple = ()
    tree: CellTree | None = None  # smallest, over the whole grid, for boxes without parts

    @property
    def shape(self):
        """Cells on each axis that is left."""
        return tuple(len(cuts) + 1 for cuts in self.numbers)

    def tabulate(self):
        """Replace the trees by a table of classes, without the cuts that do not matter."""
        self.grid = self.trees.table(self.axes, self.numbers).simplified()
        self.axes, self.numbers, self.trees = self.grid.features, self.grid.cuts, None

    def divide(self, axis, cut):
        """Split the box on a local axis and cut."""
        self.axis, self.cut = int(self.axes[axis]), int(self.numbers[axis][cut])
        self.parts = (self._part(axis, cut, False), self._part(axis, cut, True))
        self.trees = self.grid = None

    def _part(self, axis, cut, upper):
        lo, hi = self.lo.copy(), self.hi.copy()
        first, last = [0] * len(self.shape), [n - 1 for n in self.shape]
        if upper:
            lo[self.axis], first[axis] = self.cut + 1, cut + 1
        else:
            hi[self.axis], last[axis] = self.cut, cut
        if self.grid is not None:
            grid = self.grid.sub_grid(first, last).simplified()
            return Box(lo, hi, grid.features, grid.cuts, None, grid)
        trees, axes, cuts = self.trees.restricted(first, last)
        numbers = [self.numbers[a][c] for a, c in zip(axes, cuts, strict=True)]
        return Box(lo, hi, self.axes[axes], numbers, trees)


class Draft:
    """A faithful tree in the making.

    `max_bytes` is for the exact solution of boxes, `rng` for the samples of cells by which large
    boxes are divided; `report` is called with a message from time to time.
    """

    def __init__(self, trees, objective, *, max_bytes, rng, report=None):
        self.objective = objective
        self.max_bytes = max_bytes
        self.rng = rng
        self.report = report
        self.trees = trees
        # boxes of so many cells have labels for all their answers
        self.table_cells = TABLE_CELLS if trees.tolerance is None else NUMBER_CELLS
        numbers = [np.arange(n - 1) for n in trees.shape]
        lo, hi = trees.whole
        self.root = Box(lo, hi, np.arange(len(numbers)), numbers, trees)
        self.n_leaves = 0
        # the part of the feature space, in cells, that has its tree
        self.share = 0.0
        # bounds for every faithful tree: those of the boxes solved exactly
        self.depth_bound = 0
        self.leaves_bound = 1

    @property
    def is_optimal(self):
        """Whether the whole grid was solved as one box."""
        return self.root.tree is not None

    # ------------------------------------------------------------------------- divide greedily

    def build(self):
        """Divide the whole grid until every box has a tree; `Stopped` is raised out of time."""
        stack = [self.root]
        told = monotonic()
        while stack:
            # deep first, so that memory holds one path
            box = stack.pop()
            check_time()
            only = None if box.trees is None else box.trees.only_class()
            if only is not None:
                box.tree, box.trees = CellTree.leaf(only), None
                self.n_leaves += 1
                self.share += self._share_of(box)
                continue
            if box.grid is None and n_cells(box.shape) <= self.table_cells:
                box.tabulate()
            if box.grid is not None and n_regions(box.shape) <= TAIL_REGIONS and self._solve(box):
                self.n_leaves += box.tree.n_leaves
                self.share += self._share_of(box)
                continue
            if box.grid is None:
                box.divide(*sampled_cuts(box.trees, self.rng, 1)[0])
            else:
                box.divide(*_purest_cuts(*_table_counts(box.grid), 1)[0])
            stack.extend(box.parts)
            if self.report and monotonic() - told > PROGRESS_SECONDS:
                told = monotonic()
                self.report(f"{self.n_leaves} leaves on {self.share:.1%} of the cells")

    def _share_of(self, box):
        return n_cells(box.hi - box.lo + 1) / n_cells(self.trees.shape)

    def _solve(self, box):
        """Solve a box exactly; False if that takes more memory than allowed."""
        try:
            solution = solve(box.grid, self.objective, max_bytes=self.max_bytes)
        except TooLarge:
            return False
        tree = solution.tree
        box.tree = tree.on_grid(box.grid)
        box.trees = box.grid = None
        # a faithful tree of the whole is at least as large as the smallest one of the box
        if self.objective == "leaves":
            self.leaves_bound = max(self.leaves_bound, tree.n_leaves)
        else:
            self.depth_bound = max(self.depth_bound, tree.depth)
        return True

    # ----------------------------------------------------------------------------- the tree

    def tree(self):
        """The tree of the draft as it stands."""
        order, stack = [], [self.root]
        while stack:
            box = stack.pop()
            order.append(box)
            stack.extend(box.parts[::-1])
        # a box is joined after both of its parts; two leaves of one class become one
        trees = {}
        for box in reversed(order):
            tree = box.tree
            if tree is None:
                one, two = (trees[id(part)] for part in box.parts)
                if one and two and one.n_leaves == two.n_leaves == 1:
                    same = one.nodes[0, 1] == two.nodes[0, 1] != UNNAMED
                    tree = one if same else None
            trees[id(box)] = tree
        nodes, stack = [], [self.root]
        while stack:
            box = stack.pop()
            tree = trees[id(box)]
            if tree is None:
                nodes.append(np.array([[box.axis, box.cut, 0]], dtype=np.int32))
                stack.extend(box.parts[::-1])
            else:
                nodes.append(tree.nodes)
        return CellTree(with_sizes(np.concatenate(nodes))).without_free()


def forecast_leaves(trees, rng, max_bytes):
    """Leaves that a draft over these trees would have, estimated; for numbers.

    Of some random ways down the boxes that it would divide, each ends in a small box that is
    drafted, and counts for two to the number of divisions: the mean is the number of leaves on
    average [1]_. NaN where none ended in time.

    References
    ----------
    .. [1] D. E. Knuth (1975). Estimating the efficiency of backtrack programs. Mathematics of
       Computation 29, 122-136.
    """
    found = []
    for _ in range(WAYS):
        here, factor = trees, 1.0
        while (only := here.only_class()) is None and n_cells(here.shape) > WAY_CELLS:
            if is_late():
                break
            here = here.halves(*sampled_cuts(here, rng, 1)[0])[int(rng.integers(2))]
            factor *= 2.0
        if only is not None:
            found.append(factor * (only != FREE))
            continue
        draft = Draft(here, "leaves", max_bytes=max_bytes, rng=rng)
        try:
            draft.build()
        except Stopped:
            break
        found.append(factor * draft.n_leaves)
    return float(np.mean(found)) if found else np.nan


def _table_counts(grid):
    """Cells of each class, or level of answers, at each position of each axis."""
    labels = grid.labels
    if grid.kinds is not None:
        levels = _levels(grid.kinds.answers, grid.tolerance)
        labels = np.append(levels, np.full(FREE + 1 - len(levels), FREE)).astype(np.uint16)[labels]
    n_classes = int(labels.max()) + 1
    if n_classes > FREE:
        # free cells are counted last, and left out
        n_classes = int(labels.max(where=labels != FREE, initial=0)) + 1
        labels = np.minimum(labels, np.uint16(n_classes))
    counts = np.zeros((sum(labels.shape), n_classes + 1), dtype=np.intp)
    class_counts(labels.reshape(-1), np.array(labels.shape, dtype=np.intp), counts)
    return counts[:, :n_classes], labels.shape


def _levels(answers, tolerance):
    """Answers in steps of the width that a leaf spans, numbered: classes to divide by."""
    width = np.full(answers.shape[1], 2.0 * tolerance.atol)
    if tolerance.labelled:
        width[0] = 1.0
    span = np.ptp(answers, axis=0)
    # as many as are worth telling apart
    width = np.maximum(width, span / MOST_LEVELS)
    steps = np.floor((answers - answers.min(axis=0)) / np.where(width > 0, width, 1.0))
    levels = np.zeros(len(answers), dtype=np.intp)
    for column in steps.T:
        _, levels = np.unique(levels * (MOST_LEVELS + 1) + column, return_inverse=True)
    return levels


def sampled_cuts(trees, rng, n):
    """The `n` cuts of a grid with least entropy on a sample of its cells: (axis, cut) each.

    One, on which most trees depend, where all cells of the sample are of one class.
    """
    shape = np.array(trees.shape)
    cells = rng.integers(0, shape, size=(SAMPLE, len(shape)), dtype=np.int32)
    if trees.tolerance is None:
        labels = trees.labels_of(cells)
        inside = labels != FREE
        labels = labels[inside]
    else:
        answers = trees.answers_of(cells)
        inside = ~np.isnan(answers[:, 0])
        labels = _levels(answers[inside], trees.tolerance) if inside.any() else np.empty(0)
    cells = cells[inside]
    first = np.concatenate([[0], np.cumsum(shape)])
    if len(np.unique(labels)) <= 1:
        # nothing to tell apart: halve the votes that most trees still need
        return [trees.commonest_split]
    n_classes = int(labels.max()) + 1
    place = (first[:-1] + cells) * n_classes + labels[:, None]
    counts = np.bincount(place.ravel(), minlength=int(first[-1]) * n_classes)
    return _purest_cuts(counts.reshape(-1, n_classes), trees.shape, n)


def _purest_cuts(counts, shape, n):
    """The `n` cuts whose sides have the least entropy: (axis, cut) each.

    `counts`, of shape (sum of shape, n_classes), tells the cells of each class at each position of
    each axis.
    """
    costs, cuts, base = [], [], 0
    for axis, length in enumerate(shape):
        below = counts[base : base + length].cumsum(axis=0)
        base += length
        above = below[-1] - below[:-1]
        costs.append(_entropy(below[:-1]) + _entropy(above))
        cuts += [(axis, cut) for cut in range(length - 1)]
    return [cuts[k] for k in np.concatenate(costs).argsort(kind="stable")[:n]]


def _entropy(counts):
    """Entropy of each row, times its total; equal where it is but for rounding."""
    total = counts.sum(axis=1)
    logs = np.log(np.maximum(counts, 1))
    entropy = total * np.log(np.maximum(total, 1)) - (counts * logs).sum(axis=1)
    return np.round(entropy, 6)
