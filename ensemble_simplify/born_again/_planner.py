"""Which search for which ensemble: exact while memory and time allow, else the heuristic."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from time import monotonic

import numpy as np

from ensemble_simplify._axes import Axes
from ensemble_simplify._cells import Stopped
from ensemble_simplify._forest import Forest
from ensemble_simplify._regions import leaf_boxes
from ensemble_simplify._thresholds import merged_thresholds
from ensemble_simplify._verify import Space
from ensemble_simplify.born_again._grid import CellTrees, Grid, grid_bytes, n_cells
from ensemble_simplify.born_again._heuristic import Draft
from ensemble_simplify.born_again._search import (
    CellTree,
    TooLarge,
    lay_out,
    leaves_bound,
    n_regions,
    pareto_front,
    solve,
)

# Forecast work (nanoseconds) after which a search without a time limit stops joining boxes, and
# solving the parts of a tree that was grown on a large grid: so the result does not depend on the
# speed of the machine.
JOIN_WORK, REFINE_WORK = 1e7, 3e9
# Largest tree that is written out, and largest that is solved again in parts.
MAX_LEAVES, REFINED_LEAVES = 1_000_000, 200_000
# ``method="auto"`` refuses at once where so many leaves are forecast; seconds for the forecast.
REFUSED_LEAVES, FORECAST_SECONDS = 100 * MAX_LEAVES, 1.0
# Share of the time for the first tree where the domain has groups and implications: the proof
# that grows it knows nothing of them.
FIRST_TREE_SHARE = 0.2
# Seconds that writing out a leaf takes.
LEAF_SECONDS = 3e-5
# Grids of more cells are not labelled as a whole unless ``method="exact"``: their tables of
# regions would not fit either. Nor are those whose labels would take more than a share of the
# time limit: seconds a cell, and a cell, tree and score.
TABLE_CELLS = 1 << 24
LABEL_SHARE, CELL_SECONDS, VOTE_SECONDS = 0.2, 3e-8, 1.5e-9
# Passes of an exact search over its regions, and bytes a region.
PASSES = {"depth": (1, 1), "leaves": (1, 2), "depth_then_leaves": (5, 6)}
# Share of the time for the exact search where a tree to return is at hand already. Then it is not
# begun where planning it (so many seconds a cell, which is little beside the search itself) would
# take a good part of its time, nor where a pass is forecast to take several times as long.
EXACT_SHARE, EXACT_HOPE = 0.7, 4.0
PLAN_SHARE, PLAN_SECONDS = 0.2, 3e-7
# Share of the time limit for lower bounds, and their seconds without a limit.
BOUND_SHARE, BOUND_SECONDS = 0.1, 2.0
# Cells of the part of a large grid on which a lower bound is sought.
BOUND_CELLS = 1 << 15


@dataclass(eq=False)
class Problem:
    """A forest over the cells that its cuts make: what is searched.

    Attributes
    ----------
    forest : Forest
        Whose function the tree shall have.
    axes : Axes
        Its cut points.
    trees : CellTrees
        The forest over the cells; knows which are outside the domain.
    """

    forest: Forest
    axes: Axes
    trees: CellTrees

    @classmethod
    def of(cls, forest, domain=None):
        """The problem of a forest, inside a domain (an ``Inside``) if there is one."""
        axes = Axes.of(forest)
        outside = None if domain is None else domain.outside(axes)
        return cls(forest, axes, CellTrees.of(forest, axes, outside))

    @cached_property
    def space(self):
        """The same cells as a proof knows them: grows a faithful tree, and forecasts its size."""
        return Space([self.forest], self.axes)

    @property
    def label_seconds(self):
        """Forecast of the time that labelling all cells takes."""
        a_cell = CELL_SECONDS + VOTE_SECONDS * self.forest.n_trees * self.forest.n_scores
        return n_cells(self.trees.shape) * a_cell

    def can_label_all(self, max_bytes, seconds):
        """Whether looking at every cell is worth its memory and time."""
        return (
            n_cells(self.trees.shape) <= TABLE_CELLS
            and grid_bytes(self.trees.shape) <= max_bytes
            and self.label_seconds <= LABEL_SHARE * seconds
        )


def read_problem(forest, domain=None, merge_rows=None):
    """The problem of a forest as it was read.

    Parameters
    ----------
    forest : Forest
    domain : Inside or None
    merge_rows : array of shape (n_rows, n_features) or None
        Thresholds are merged as far as these rows allow it; None: not.
    """
    if domain is not None:
        forest = domain.read(forest)
    if merge_rows is not None:
        forest = replace(forest, threshold=merged_thresholds(forest, merge_rows))
        if domain is not None:
            forest = domain.read(forest)
    return Problem.of(forest, domain)


@dataclass(eq=False)
class Result:
    """What a search found.

    Attributes
    ----------
    tree : CellTree
        Over all axes and cuts of the grid.
    shape : tuple
        Cells on each axis, without cuts that do not matter where that is known.
    optimal : bool
    depth_bound, leaves_bound : int
        No faithful tree is less deep or has fewer leaves; with the objective
        ``"depth_then_leaves"`` and `optimal`, none of least depth has fewer leaves.
    """

    tree: CellTree
    shape: tuple
    optimal: bool
    depth_bound: int
    leaves_bound: int

    @classmethod
    def proven(cls, tree, shape, objective):
        """A tree that is smallest in the objective."""
        depth, leaves = tree.depth, tree.n_leaves
        if objective == "leaves":
            depth = _least_depth_of(leaves)
        elif objective == "depth":
            leaves = depth + 1
        return cls(tree, shape, True, depth, leaves)


class OutOfTime(Exception):
    """No faithful tree was found in time.

    Attributes
    ----------
    n_leaves : int
        Leaves found so far.
    share : float
        Part of the cells they cover.
    """

    def __init__(self, n_leaves=0, share=0.0):
        super().__init__(f"{n_leaves} leaves on {share:.3%} of the cells")
        self.n_leaves = n_leaves
        self.share = share


class TooManyLeaves(Exception):
    """A faithful tree would have more leaves than anybody can use.

    Attributes
    ----------
    n_leaves : float
        Forecast of their number.
    """

    def __init__(self, n_leaves):
        super().__init__(f"about {n_leaves:.1g} leaves")
        self.n_leaves = n_leaves


def find_tree(problem, objective, *, method, max_bytes, seconds, rng, report=None):
    """A faithful tree of a forest: smallest if possible, else as small as time allows.

    Parameters
    ----------
    problem : Problem
    objective : {"depth", "leaves", "depth_then_leaves"}
    method : {"auto", "exact", "heuristic"}
    max_bytes : float
    seconds : float
        Time limit; inf for none.
    rng : numpy Generator
    report : callable or None
        Called with messages on progress.

    Returns
    -------
    Result

    Raises
    ------
    TooLarge
        With ``method="exact"``, if memory does not suffice.
    OutOfTime
        If no faithful tree was found in time.
    TooManyLeaves
        With ``method="auto"``, if none of a reasonable size is to be expected.
    """
    search = _Search(problem, objective, method, max_bytes, seconds, rng, report)
    if method == "exact" or problem.can_label_all(max_bytes, seconds):
        search.label_all_cells()
        if search.grid.n_cells == 1:
            only = CellTree.leaf(search.grid.labels.reshape(-1)[0])
            return Result.proven(only, (), objective)
    if search.limited or search.grid is None:
        # something to return, at once
        search.grow_first_tree()
    if search.grid is not None and method != "heuristic":
        tree = search.solve_exactly()
        if tree is not None:
            return Result.proven(tree, search.grid.labels.shape, objective)
    return search.search_heuristically()


class _Search:
    """One search: what was asked for, and what is known so far.

    Attributes
    ----------
    grid : Grid or None
        The class of every cell; None where there are too many cells to look at each.
    tree : CellTree or None
        The smallest faithful tree so far.
    """

    def __init__(self, problem, objective, method, max_bytes, seconds, rng, report):
        self.problem = problem
        self.trees = problem.trees
        self.objective = objective
        self.method = method
        self.max_bytes = max_bytes
        self.deadline = monotonic() + seconds
        self.limited = np.isfinite(seconds)
        self.bound_seconds = min(BOUND_SHARE * seconds, BOUND_SECONDS)
        self.rng = rng
        self.report = report or (lambda message: None)
        self.grid = self.tree = None

    def label_all_cells(self):
        """Look at every cell."""
        self.grid = _labelled(self.trees, self.max_bytes, self.deadline)
        regions = n_regions(self.grid.labels.shape)
        self.report(f"{self.grid.n_cells} cells, {regions:.3g} regions")

    def grow_first_tree(self):
        """A faithful tree by the halvings of a proof, or none where there is no time for it."""
        tied = self.trees.outside is not None
        # only where nothing else can give a tree, a forecast or a large tree is reason to refuse
        may_refuse = self.method == "auto" and self.grid is None and not tied
        space, n_leaves = self.problem.space, np.nan
        if may_refuse:
            n_leaves = space.forecast_leaves(FORECAST_SECONDS, self.rng)
        if n_leaves > REFUSED_LEAVES:
            raise TooManyLeaves(n_leaves)
        share = FIRST_TREE_SHARE if tied else 1.0
        grown = space.grow(share * (self.deadline - monotonic()), MAX_LEAVES)
        if grown is not None:
            self.tree = _inside_domain(CellTree(grown), self.trees)
            self.report(f"first tree: depth {self.tree.depth}, {self.tree.n_leaves} leaves")
        elif may_refuse and not self.limited:
            raise TooManyLeaves(max(n_leaves, MAX_LEAVES))

    def solve_exactly(self):
        """The smallest tree; None where memory or time did not suffice but heuristics may."""
        seconds, max_work = self.deadline - monotonic(), np.inf
        if self.tree is not None and self.method != "exact":
            # leave time to improve the tree at hand, and do not begin what cannot end
            seconds *= EXACT_SHARE
            if PLAN_SECONDS * self.grid.n_cells > PLAN_SHARE * seconds:
                return None
            max_work = 1e9 * EXACT_HOPE * seconds
        try:
            solution = solve(
                self.grid.labels,
                self.objective,
                max_bytes=self.max_bytes,
                seconds=seconds,
                max_work=max_work,
            )
        except TooLarge:
            if self.method == "exact":
                raise
            return None
        except Stopped:
            if self.tree is None:
                raise OutOfTime from None
            return None
        return solution.tree.on_grid(self.grid)

    def search_heuristically(self):
        """Divide greedily, solve the parts, join parts while time remains; then bounds."""
        n_leaves = 0 if self.tree is None else self.tree.n_leaves
        end = self.deadline - self.bound_seconds - LEAF_SECONDS * n_leaves
        drafts = []
        if self.tree is not None and n_leaves <= REFINED_LEAVES:
            # where all cells are labelled there is a second way, and each gets half of the time
            now = monotonic()
            drafts.append(self.refined(end if self.grid is None else now + (end - now) / 2))
        optimal = any(draft.is_optimal for draft in drafts)
        if self.tree is None or (self.grid is not None and not optimal):
            drafts.append(self.divided(end))
            optimal = drafts[-1].is_optimal
        if optimal:
            return Result.proven(self.tree, self.shape, self.objective)
        return self.bounded(drafts)

    @property
    def shape(self):
        """Cells on each axis, as far as they matter."""
        return self.trees.shape if self.grid is None else self.grid.labels.shape

    def draft(self, deadline):
        return Draft(
            self.trees,
            self.objective,
            max_bytes=self.max_bytes,
            deadline=deadline,
            rng=self.rng,
            report=self.report,
        )

    def refined(self, deadline):
        """The draft that begins with the tree at hand and solves its parts."""
        draft = self.draft(deadline)
        draft.adopt(self.tree)
        draft.improve(draft.refine(np.inf if self.limited else REFINE_WORK))
        self.offer(draft.tree())
        return draft

    def divided(self, deadline):
        """The draft that divides the grid greedily."""
        draft = self.draft(deadline)
        try:
            draft.build()
        except Stopped:
            if self.tree is None:
                raise OutOfTime(draft.n_leaves, draft.share) from None
            return draft
        draft.improve(np.inf if self.limited else JOIN_WORK)
        self.offer(draft.tree())
        return draft

    def offer(self, tree):
        """Keep a tree if none so far is smaller."""

        def size(tree):
            if self.objective == "leaves":
                return tree.n_leaves, tree.depth
            return tree.depth, tree.n_leaves

        if self.tree is None or size(tree) < size(self.tree):
            self.tree = tree

    def bounded(self, drafts):
        """The tree at hand, and what no faithful tree can be smaller than."""
        labels = _part_of_grid(self.trees, self.rng) if self.grid is None else self.grid.labels
        leaves = _leaves_bound(labels, self.bound_seconds, self.rng)
        depth = max([draft.depth_bound for draft in drafts], default=0)
        leaves = max([leaves, depth + 1, *(draft.leaves_bound for draft in drafts)])
        depth = max(depth, _least_depth_of(leaves))
        self.report(f"bounds: depth {depth}, {leaves} leaves")
        return Result(self.tree, self.shape, False, depth, leaves)


def _least_depth_of(n_leaves):
    """Depth that a tree of so many leaves has at least."""
    return (int(n_leaves) - 1).bit_length()


def _leaves_bound(labels, seconds, rng):
    return leaves_bound(labels, seconds, rng) if labels.size > 1 else 1


def _inside_domain(tree, trees):
    """The tree without leaves that are outside the domain."""
    if trees.outside is None:
        return tree
    whole = np.array(trees.shape, dtype=np.int32) - 1
    leaves, lows, highs = leaf_boxes(tree.nodes, np.zeros_like(whole), whole)
    outside = np.zeros(len(tree.nodes), dtype=bool)
    for first, last in zip(*trees.outside, strict=True):
        outside[leaves] |= ((first <= lows) & (highs <= last)).all(axis=1)
    return tree.without(outside)


def find_front(problem, *, max_bytes, seconds):
    """The front of depth and leaves, see `pareto_front`; raises like ``find_tree``."""
    deadline = monotonic() + seconds
    grid = _labelled(problem.trees, max_bytes, deadline)
    try:
        return pareto_front(grid.labels, max_bytes=max_bytes, seconds=deadline - monotonic())
    except Stopped:
        raise OutOfTime from None


@dataclass(eq=False)
class Forecast:
    """What a search is expected to need and to find.

    Attributes
    ----------
    shape : tuple
        Cells on each axis, as in `Result`.
    n_states : float
        Regions to be stored.
    n_bytes : float
        Memory of the exact search.
    seconds : float
        Time of the exact search.
    n_leaves : float
        Leaves of a faithful tree.
    leaves_bound : int
        No faithful tree has fewer.
    """

    shape: tuple
    n_states: float
    n_bytes: float
    seconds: float
    n_leaves: float
    leaves_bound: int


def forecast(problem, objective, *, max_bytes, seconds, rng):
    """Look at a forest for a moment, and extrapolate."""
    deadline = monotonic() + seconds
    labels, shape = None, problem.trees.shape
    if problem.can_label_all(max_bytes, seconds):
        with suppress(OutOfTime):
            labels = _labelled(problem.trees, max_bytes, deadline).labels
            shape = labels.shape
    n_states = work = float(n_regions(shape))
    if labels is not None and labels.size > 1:
        with suppress(Stopped, TooLarge):
            layout = lay_out(labels, deadline)
            n_states, work = float(layout.n_states), layout.cost
    passes, width = PASSES[objective]
    n_leaves = _forecast_leaves(problem, objective, labels, max_bytes, seconds, rng)
    part = _part_of_grid(problem.trees, rng) if labels is None else labels
    bound = _leaves_bound(part, BOUND_SHARE * seconds, rng)
    return Forecast(
        shape,
        n_states,
        grid_bytes(problem.trees.shape) + width * n_states,
        problem.label_seconds + 1e-9 * passes * work,
        float(np.fmax(n_leaves, bound)),
        bound,
    )


def _forecast_leaves(problem, objective, labels, max_bytes, seconds, rng):
    """Leaves of a faithful tree: of one that is found in a moment, else extrapolated."""
    deadline = monotonic() + seconds / 2
    if labels is None:
        grown = problem.space.grow(seconds / 2, MAX_LEAVES)
        if grown is not None:
            return CellTree(grown).n_leaves
    else:
        draft = Draft(problem.trees, objective, max_bytes=max_bytes, deadline=deadline, rng=rng)
        with suppress(Stopped):
            draft.build()
            return draft.n_leaves
    return problem.space.forecast_leaves(BOUND_SHARE * seconds, rng)


def _labelled(trees, max_bytes, deadline):
    """The simplified grid of all cells, with its axes and cuts numbered."""
    needed = grid_bytes(trees.shape)
    if needed > max_bytes:
        raise TooLarge(needed)
    try:
        labels = trees.labels(deadline)
    except Stopped:
        raise OutOfTime from None
    numbers = [np.arange(n - 1) for n in labels.shape]
    return Grid(np.arange(labels.ndim), numbers, labels).simplified()


def _part_of_grid(trees, rng):
    """Classes on a part of the grid: some positions on every axis.

    A tree for the whole grid is one for the part, so its bounds hold for the whole.
    """
    kept = [np.arange(n) for n in trees.shape]
    while np.prod([float(len(k)) for k in kept]) > BOUND_CELLS:
        longest = max(range(len(kept)), key=lambda a: len(kept[a]))
        gone = rng.integers(len(kept[longest]))
        kept[longest] = np.delete(kept[longest], gone)
    # few axes vary; arrays have at most 32 dimensions in parts of NumPy
    varied = [a for a, k in enumerate(kept) if len(k) > 1]
    cells = np.tile([k[0] for k in kept], (int(np.prod([len(k) for k in kept])), 1))
    for a, index in zip(
        varied,
        np.unravel_index(np.arange(len(cells)), [len(kept[a]) for a in varied]),
        strict=True,
    ):
        cells[:, a] = kept[a][index]
    kept = [kept[a] for a in varied]
    labels = trees.labels_of(np.ascontiguousarray(cells, dtype=np.int32)).astype(np.uint16)
    part = Grid(
        np.arange(len(kept)),
        [np.arange(len(k) - 1) for k in kept],
        labels.reshape([len(k) for k in kept]),
    )
    return part.simplified().labels
