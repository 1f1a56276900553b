"""Making a faithful tree smaller, for grids of any size.

First its upper splits are chosen anew, each by the size of the trees that would be grown below.
Then its parts are solved exactly, in sweeps from the root down: a sweep solves the largest parts
whose forecast work is below a limit, which rises from sweep to sweep. No step makes the tree
worse, and the steps do not depend on the time limit, so more time gives a tree that is as good or
better.
"""

from __future__ import annotations

from contextlib import suppress
from heapq import heappop, heappush
from time import monotonic

import numpy as np

from ensemble_simplify.born_again.everywhere._grid import (
    UNNAMED,
    TooLarge,
    TooManyAnswers,
    grid_bytes,
    n_cells,
)
from ensemble_simplify.born_again.everywhere._heuristic import sampled_cuts
from ensemble_simplify.born_again.everywhere._search import (
    DL_PASSES,
    CellTree,
    n_regions,
    solve,
)
from ensemble_simplify.grid import Stopped, depths, is_late, limits, time_left, with_sizes

# Work of a part of the tree that is solved in the first sweep, in nanoseconds by forecast.
FIRST_WORK = 3e6
WORK_RISE = 8.0  # In each further sweep, parts of so many times the work are solved.
CELL_WORK = 12.0  # Forecast of the nanoseconds to label a cell: this,
VOTE_WORK = 0.5  # and this for each tree and score.
PART_WORK = 5e5  # Forecast of the nanoseconds that a part takes besides.
# The dynamic programme stores fewer regions than there are, hardly ever by more than this factor.
MOST_SAVED = 64.0
# Time of an exact search for each objective, as a multiple of one pass over the regions.
PASSES = {"depth": 1.0, "leaves": 1.0, "depth_then_leaves": DL_PASSES}
LATE = 1.5  # An exact search of the whole grid may take so many times its forecast.
LAYOUT_SHARE = 0.1  # Share of a pass that the choice of a layout may take.
TRIALS = 10  # Choosing the upper splits: how many are tried in each part,
SMALL_PART = 32  # and the leaves up to which a part is left as it is.
PROGRESS_SECONDS = 1.0


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
            for first, last in _halves(lo, hi, axis, cut):
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
        for place, half, side in zip((4, 5), _halves(lo, hi, axis, cut), sides, strict=True):
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


def _halves(lo, hi, axis, cut):
    """The two sides of a cut through a region."""
    middle_hi, middle_lo = hi.copy(), lo.copy()
    middle_hi[axis], middle_lo[axis] = cut, cut + 1
    return (lo, middle_hi), (middle_lo, hi)


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
            lower, upper = _halves(lo, hi, axis, cut)
            stack.append((at + 1 + int(nodes[at + 1, 2]), *upper, above + 1))
            stack.append((at + 1, *lower, above + 1))
        return found

    def _table(self, lo, hi):
        """The grid of a part; None if it is too large for the limit."""
        trees, axes, cuts = self.trees.restricted(lo, hi)
        cells = n_cells(trees.shape)
        if cells * (CELL_WORK + VOTE_WORK * trees.n_trees * trees.value.shape[1]) > self.limit:
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

    def finished(self):
        """The tree, without leaves of free class and without splits between leaves of one class."""
        tree = self.tree.without_free()
        nodes = tree.nodes
        splits = np.flatnonzero(nodes[:, 0] >= 0)
        right = splits + 1 + nodes[splits + 1, 2]
        pairs = (nodes[splits + 1, 0] < 0) & (nodes[right, 0] < 0)
        pairs &= nodes[right, 1] != UNNAMED
        if (pairs & (nodes[splits + 1, 1] == nodes[right, 1])).any():
            return tree.without(np.zeros(len(nodes), dtype=bool))
        return tree
