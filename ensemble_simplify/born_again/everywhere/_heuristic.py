"""Faithful trees without a proof of smallness, for grids of any size.

The feature space is divided greedily until the boxes are small enough to be solved exactly
(`Draft`). The tree is faithful: a box becomes a leaf only when all its cells have been looked at.

A faithful tree is made smaller in two ways. First its upper splits are chosen anew, each by the
size of the trees that would be grown below. Then its parts are solved exactly, in sweeps from the
root down (`Refinement`): a sweep solves the largest parts whose forecast work is below a limit,
which rises from sweep to sweep. No step makes the tree worse, and the steps do not depend on the
time limit, so more time gives a tree that is as good or better."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from heapq import heappop, heappush
from time import monotonic

import numpy as np

from ensemble_simplify.born_again.everywhere._fooling import known_labels
from ensemble_simplify.born_again.everywhere._grid import (
    UNNAMED,
    CellTrees,
    Grid,
    TooLarge,
    TooManyAnswers,
    grid_bytes,
    halves,
    n_cells,
)
from ensemble_simplify.born_again.everywhere._search import PASSES, CellTree, n_regions, solve
from ensemble_simplify.grid import (
    FREE,
    Stopped,
    check_time,
    class_counts,
    depths,
    is_late,
    limits,
    time_left,
    with_sizes,
)

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
        last = np.array(self.shape, dtype=np.int32) - 1
        sides = halves(self.lo, self.hi, self.axis, self.cut)
        here = halves(np.zeros_like(last), last, axis, cut)
        self.parts = tuple(self._part(*ends) for ends in zip(sides, here, strict=True))
        self.trees = self.grid = None

    def _part(self, side, here):
        (lo, hi), (first, last) = side, here
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
        nodes, stack = [], [self.root]
        while stack:
            box = stack.pop()
            if box.tree is None:
                nodes.append(np.array([[box.axis, box.cut, 0]], dtype=np.int32))
                stack.extend(box.parts[::-1])
            else:
                nodes.append(box.tree.nodes)
        tree = CellTree(with_sizes(np.concatenate(nodes)))
        return tree if self.is_optimal else tree.merged()


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
    n_classes = int(labels.max(where=labels != FREE, initial=0)) + 1
    # free cells are counted last, and left out
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
    labels, inside = known_labels(trees, cells)
    cells, labels = cells[inside], labels[inside]
    if trees.tolerance is not None and len(labels):
        labels = _levels(labels, trees.tolerance)
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


# Work of a part of the tree that is solved in the first sweep, in nanoseconds by forecast.
FIRST_WORK = 3e6
WORK_RISE = 8.0  # In each further sweep, parts of so many times the work are solved.
CELL_WORK = 12.0  # Forecast of the nanoseconds to label a cell: this,
VOTE_WORK = 0.5  # and this for each tree and score.
PART_WORK = 5e5  # Forecast of the nanoseconds that a part takes besides.
# The dynamic programme stores fewer regions than there are, hardly ever by more than this factor.
MOST_SAVED = 64.0
LATE = 1.5  # An exact search of the whole grid may take so many times its forecast.
LAYOUT_SHARE = 0.1  # Share of a pass that the choice of a layout may take.
TRIALS = 10  # Choosing the upper splits: how many are tried in each part,
SMALL_PART = 32  # and the leaves up to which a part is left as it is.


def label_work(trees):
    """Forecast of the nanoseconds that labelling all cells takes."""
    a_cell = CELL_WORK + VOTE_WORK * trees.n_trees * trees.value.shape[1]
    return n_cells(trees.shape) * a_cell


def choose_upper_splits(space, trees, tree, objective, rng, max_grown):
    """A faithful tree whose upper splits were chosen by the size of what is grown below them.

    The largest part of the tree is divided first: at the cut, among those of least entropy and
    the present one, that has the smallest sum of n log n over the leaves n of the trees of both
    sides (for the objective ``"depth"``: of n^2). So of cuts that leave about as many leaves, the
    one that parts them evenly is taken, which makes the tree less deep. It ends when `max_grown`
    leaves were grown in all, or time is over. With the objectives ``"leaves"`` and ``"depth"`` the
    tree is not larger in the objective than `tree`, which `space` has grown.
    """
    certifier = space.certifier

    def cost(*sides):
        n_leaves = np.array([(len(nodes) + 1) // 2 for nodes in sides], dtype=float)
        factor = n_leaves if objective == "depth" else np.log2(n_leaves + 1.0)
        return round(float(n_leaves @ factor), 6)

    # parts: [lo, hi, nodes, split, lower part, upper part]
    whole: list = [*space.whole, tree.nodes, None, None, None]
    heap, grown, count = [(-tree.n_leaves, 0, whole)], 0, 0
    while heap and grown < max_grown:
        n_leaves, _, part = heappop(heap)
        if -n_leaves <= SMALL_PART:
            break
        lo, hi, nodes = part[:3]
        present = (int(nodes[0, 0]), int(nodes[0, 1]))
        lower, upper = nodes[1 : 1 + nodes[1, 2]], nodes[1 + nodes[1, 2] :]
        best, chosen = cost(lower, upper), (*present, lower, upper)
        restricted, axes, cuts = trees.restricted(lo, hi)
        for a, c in sampled_cuts(restricted, rng, TRIALS):
            axis, cut = int(axes[a]), int(cuts[a][c])
            if (axis, cut) == present:
                continue
            sides = []
            for first, last in halves(lo, hi, axis, cut):
                if not is_late():
                    sides.append(certifier.grow(first, last, -4 * n_leaves))
                if not sides or sides[-1] is None:
                    break
                grown += len(sides[-1]) // 2
            if len(sides) == 2 and sides[1] is not None:
                here = cost(*sides)
                if here < best:
                    best, chosen = here, (axis, cut, *sides)
        axis, cut, *sides = chosen
        part[3] = axis, cut
        for place, half, side in zip((4, 5), halves(lo, hi, axis, cut), sides, strict=True):
            part[place] = [*half, side, None, None, None]
            count += 1
            heappush(heap, (-((len(side) + 1) // 2), count, part[place]))
        if is_late():
            break
    pieces: list = []
    stack: list = [whole]
    while stack:
        _, _, nodes, split, lower, upper = stack.pop()
        if split is None:
            pieces.append(nodes)
        else:
            pieces.append(np.array([[*split, 0]], dtype=np.int32))
            stack += [upper, lower]
    chosen = CellTree(with_sizes(np.concatenate(pieces)))
    # where depth comes first, a tree with a few leaves more but more even paths is kept
    worse = {"depth": chosen.depth > tree.depth, "leaves": chosen.n_leaves > tree.n_leaves}
    return tree if worse.get(objective, False) else chosen


class _TooDeep(Exception):
    """A part has no tree as shallow as asked for, or none that can be found in time."""


class Refinement:
    """A faithful tree whose parts are solved exactly, one after the other.

    It ends where time is over, or after `max_work` nanoseconds by forecast: what it finds then does
    not depend on the speed of the machine. `is_optimal` says whether it was solved as a whole.
    `depth_bound` and `leaves_bound` hold for every faithful tree: no tree of a part is larger than
    one of the whole.
    """

    def __init__(self, trees, tree, objective, *, max_bytes, max_work, report):
        self.trees = trees
        self.tree = tree
        self.objective = objective
        self.max_bytes = max_bytes
        self.work_left = max_work
        self.report = report
        self.is_optimal = False
        self.depth_bound, self.leaves_bound = 0, 1
        self.limit = FIRST_WORK
        # nodes at which a part begins that was solved: nothing is to be gained inside
        self.solved = np.zeros(len(tree.nodes), dtype=bool)
        # of all parts solved: time taken, and forecast work
        self.seconds = self.forecast = 0.0
        self.told = monotonic()

    @property
    def is_over(self):
        return self.is_optimal or self.most_work <= 0

    @property
    def most_work(self):
        """Forecast work for which there still is time."""
        return min(self.work_left, 1e9 * time_left())

    def step(self):
        """One sweep, and what it allows to save in depth; then the limit rises."""
        self.sweep()
        while self.objective != "leaves" and not self.is_over and self.lessen_depth():
            self.report(f"depth {self.tree.depth}, {self.tree.n_leaves} leaves")
        self.limit *= WORK_RISE
        # nothing is left that the last sweep has not tried
        if self.limit > WORK_RISE * self.most_work:
            self.work_left = 0.0

    def sweep(self):
        """Solve the largest parts whose forecast work is within the limit."""
        tree = self.tree
        nodes, depth = tree.nodes, tree.depth

        def smaller(at, lo, hi, above):
            solution = self._solve_part(lo, hi, depth - above, at == 0)
            if solution is not None and self.objective == "depth":
                # of trees as deep, the smaller one
                old = CellTree(nodes[at : at + nodes[at, 2]])
                if (old.depth, old.n_leaves) < (solution.depth, solution.n_leaves):
                    return old
            return solution

        self._replace(self._visit(lambda at: not self.solved[at], smaller))
        if monotonic() - self.told > PROGRESS_SECONDS:
            self.told = monotonic()
            self.report(f"depth {self.tree.depth}, {self.tree.n_leaves} leaves")

    def lessen_depth(self):
        """Make the tree less deep, if parts within the limit allow it; returns whether it is."""
        nodes, depth_of = self.tree.nodes, depths(self.tree.nodes)
        depth = int(depth_of.max())

        def is_deepest(at):
            return depth_of[at : at + nodes[at, 2]].max() == depth

        def less_deep(at, lo, hi, above):
            grid = self._table(lo, hi)
            part = None if grid is None else self._solved(grid, "depth")
            if part is None:
                return None
            room = depth - 1 - above
            if part.tree.depth > room:
                raise _TooDeep
            if self.objective != "depth":
                # the search for least depth did not minimise the leaves: search again for both
                part = self._solved(grid, "depth_then_leaves", room)
                if part is None:
                    raise _TooDeep
            return part.tree.on_grid(grid)

        before, solved = self.tree, self.solved
        try:
            self._replace(self._visit(is_deepest, less_deep))
        except (_TooDeep, Stopped):
            return False
        if self.tree.depth < depth:
            return True
        # time ended before all of the longest paths were shorter
        self.tree, self.solved = before, solved
        return False

    @property
    def pace(self):
        """Seconds that solving parts has taken, for one of its forecast; 1 at least."""
        return max(1.0, self.seconds / max(1e-9 * self.forecast, 1e-9))

    def solve_whole(self, grid, seconds):
        """Solve the whole grid, which is given, if that is forecast to take so many seconds."""
        self.limit, limit = 1e9 * seconds / (self.pace * PASSES[self.objective]), self.limit
        solution = None
        with suppress(Stopped), limits(LATE * seconds):
            solution = self._solved(grid, self.objective)
        self.limit = limit
        if solution is not None:
            self.tree, self.is_optimal = solution.tree.on_grid(grid), True

    # --------------------------------------------------------------------------- walking

    def _visit(self, wanted, solve_part):
        """Trees of parts as (at, tree), solved from the root down and from left to right.

        ``wanted(at)`` tells whether to look at the part that begins at a node;
        ``solve_part(at, lo, hi, above)`` gives a tree of it, by its region and the number of splits
        above it, or None if its own parts are to be looked at.
        """
        nodes = self.tree.nodes
        found, stack = [], [(0, *self.trees.whole, 0)]
        while stack and not self.is_over:
            at, lo, hi, above = stack.pop()
            axis, cut, size = nodes[at].tolist()
            if size == 1 or not wanted(at):
                continue
            tree = solve_part(at, lo, hi, above)
            if tree is not None:
                found.append((at, tree))
                continue
            lower, upper = halves(lo, hi, axis, cut)
            stack.append((at + 1 + int(nodes[at + 1, 2]), *upper, above + 1))
            stack.append((at + 1, *lower, above + 1))
        return found

    def _table(self, lo, hi):
        """The grid of a part; None if it is too large for the limit."""
        trees, axes, cuts = self.trees.restricted(lo, hi)
        if label_work(trees) > self.limit:
            return None
        if grid_bytes(trees.shape, trees.n_numbers) > self.max_bytes:
            return None
        try:
            return trees.table(axes, cuts).simplified()
        except TooManyAnswers:
            return None

    def _solve_part(self, lo, hi, room, is_whole):
        """The smallest tree of a part, not deeper than `room`; None where it takes too much."""
        try:
            grid = self._table(lo, hi)
            if grid is None:
                return None
            objective = self.objective
            if objective == "depth_then_leaves" and not is_whole:
                # where depth does not bind, fewest leaves are found in a tenth of the time
                part = self._solved(grid, "leaves")
                if part is not None and part.tree.depth > room:
                    part = self._solved(grid, objective, room)
            else:
                part = self._solved(grid, objective)
                self.is_optimal = is_whole and part is not None
        except Stopped:
            return None
        return None if part is None else part.tree.on_grid(grid)

    def _solved(self, grid, objective, max_depth=None):
        """`solve` a grid within the limit; None where it takes too much."""
        passes, begin = PASSES[objective], monotonic()
        if n_regions(grid.labels.shape) > MOST_SAVED * self.limit:
            return None
        try:
            solution = solve(
                grid,
                objective,
                max_bytes=self.max_bytes,
                max_work=min(self.limit, self.most_work / passes),
                max_depth=max_depth,
                layout_share=LAYOUT_SHARE,
            )
        except TooLarge:
            return None
        self.work_left -= passes * solution.work + PART_WORK
        self.seconds += monotonic() - begin
        self.forecast += passes * solution.work + PART_WORK
        if objective == "leaves":
            self.leaves_bound = max(self.leaves_bound, solution.tree.n_leaves)
        elif max_depth is None:
            self.depth_bound = max(self.depth_bound, solution.tree.depth)
        return solution

    def _replace(self, replaced):
        """Put trees in the place of parts, given in order by the nodes at which they begin."""
        nodes, solved = self.tree.nodes, self.solved
        pieces, flags, end = [], [], 0
        for at, tree in replaced:
            pieces += [nodes[end:at], tree.nodes]
            flags += [solved[end:at], np.arange(len(tree.nodes)) == 0]
            end = at + nodes[at, 2]
        pieces.append(nodes[end:])
        flags.append(solved[end:])
        self.tree = CellTree(with_sizes(np.concatenate(pieces)))
        self.solved = np.concatenate(flags)
