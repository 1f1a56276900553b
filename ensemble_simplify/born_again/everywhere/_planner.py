"""Which search for which ensemble: exact while memory and time allow, else the heuristic."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ensemble_simplify.born_again.everywhere._fooling import leaves_bound
from ensemble_simplify.born_again.everywhere._grid import (
    UNNAMED,
    CellTrees,
    TooLarge,
    TooManyAnswers,
    grid_bytes,
    n_cells,
)
from ensemble_simplify.born_again.everywhere._heuristic import (
    MOST_SAVED,
    Draft,
    Refinement,
    choose_upper_splits,
    forecast_leaves,
    label_work,
)
from ensemble_simplify.born_again.everywhere._search import (
    PASSES,
    CellTree,
    forced_cuts,
    lay_out,
    n_regions,
    pareto_front,
    regions_forecast,
    solve,
)
from ensemble_simplify.grid import (
    Axes,
    Stopped,
    at_least,
    children,
    leaf_boxes,
    limits,
    merged_thresholds,
    time_left,
    with_sizes,
)
from ensemble_simplify.proof import Space
from ensemble_simplify.reading import Forest

MAX_LEAVES = 1_000_000  # Largest tree that is written out.
# ``method="auto"`` refuses at once where so many leaves are forecast.
REFUSED_LEAVES = 100 * MAX_LEAVES
# Bytes that an exact search takes for each region.
REGION_BYTES = {"depth": 1, "leaves": 2, "depth_then_leaves": 6}


@dataclass(frozen=True)
class PlanEffort:
    """How much is tried: by forecast work without a time limit, by shares of the time with one."""

    # Without a time limit, choosing the upper splits grows at most so many leaves,
    grown_leaves: float = 2e6
    # and parts of the tree are solved for so many nanoseconds, by forecast.
    refine_work: float = 3e9
    # Choosing the upper splits grows so many times the leaves of the first tree.
    upper_factor: int = 60
    grow_seconds: float = 1e-6  # Forecast of the seconds to grow a leaf.
    # Upper splits are chosen if that takes less than this share of a time limit, by forecast.
    upper_share: float = 0.25
    # Share of a time limit for the forecast by which ``method="auto"`` may refuse.
    forecast_share: float = 0.1
    # Without a time limit, `forecast` does work that should take so many seconds;
    forecast_seconds: float = 1.0
    forecast_grown: int = 50_000  # it grows a tree of at most so many leaves,
    forecast_cells: int = 1 << 18  # and divides grids of at most so many cells.
    # Share of the time for the first tree where the domain has groups and implications: the proof
    # that grows it knows nothing of them.
    first_tree_share: float = 0.2
    leaf_seconds: float = 3.5e-6  # Forecast of the seconds to write out a leaf.
    answer_seconds: float = 6e-4  # The same for a leaf that answers a number.
    draft_seconds: float = 3e-3  # Forecast of the seconds to find such a leaf.
    late_seconds: float = 0.3  # By how many seconds a time limit may be passed.
    # Leaves of the first tree before siblings of one class are merged, for each one afterwards.
    unmerged: float = 2.0
    # Grids of more cells are not labelled as a whole unless ``method="exact"``: their tables of
    # regions would not fit either.
    table_cells: int = 1 << 24
    label_share: float = 0.2  # Share of a time limit that labelling a whole grid may take.
    # With a time limit, grids of at most so many regions are solved exactly before there is a tree,
    direct_regions: float = 2e7
    direct_share: float = 0.2  # if that takes less than this share of the time, by forecast.
    region_seconds: float = 2e-8  # Forecast of the seconds for one region in one pass.
    # Share of the time that is left for an exact search where there is a tree already.
    exact_share: float = 0.5
    # Forecast of the seconds to plan an exact search, for each cell of the grid.
    plan_seconds: float = 3e-7
    plan_share: float = 0.2  # Share of an exact search that planning it may take.
    # Without a time limit, lower bounds take so many seconds of forecast work;
    bound_seconds: float = 3.0
    bound_share: float = 0.15  # with one, they take this share of it,
    most_bound_seconds: float = 30.0  # but at most so many seconds.
    # Forecast of the seconds to find the box of a leaf, in which cells for bounds are drawn.
    box_seconds: float = 4e-7
    # Without a time limit, an exact search that should take so many seconds is announced,
    patience: float = 10.0
    # with the size of a tree if one of at most so many leaves can be grown,
    announced_leaves: int = 100_000
    tell_seconds: float = 0.5  # and a lower bound that takes so many seconds of forecast work.


EFFORT = PlanEffort()


@dataclass(eq=False)
class Problem:
    """A forest over the cells that its cuts make: what is searched."""

    forest: Forest  # whose function the tree shall have
    axes: Axes  # its cut points
    trees: CellTrees  # the forest over the cells; knows which are outside the domain

    @classmethod
    def of(cls, forest, domain=None, tolerance=None):
        """The problem of a forest, inside a domain (an ``Inside``) if there is one.

        With a `Tolerance`, leaves answer numbers.
        """
        axes = Axes.of(forest)
        outside = None if domain is None else domain.outside(axes)
        return cls(forest, axes, CellTrees.of(forest, axes, outside, tolerance))

    @property
    def table_bytes(self):
        """Bytes that looking at every cell takes."""
        return grid_bytes(self.trees.shape, self.trees.n_numbers)

    @cached_property
    def space(self):
        """The same cells as a proof knows them: grows a faithful tree, and forecasts its size."""
        return Space([self.forest], self.axes)

    @property
    def label_seconds(self):
        """Forecast of the time that labelling all cells takes."""
        return 1e-9 * label_work(self.trees)

    def can_label_all(self, max_bytes, seconds):
        """Whether looking at every cell is worth its memory and time."""
        return (
            n_cells(self.trees.shape) <= EFFORT.table_cells
            and self.table_bytes <= max_bytes
            and self.label_seconds <= EFFORT.label_share * seconds
        )


def read_problem(forest, domain=None, merge_rows=None, tolerance=None):
    """The problem of a forest as it was read, thresholds merged as far as `merge_rows` allow.

    Trees that are not reached in time keep their thresholds.
    """
    forest = forest.on_thresholds
    if domain is not None:
        forest = domain.read(forest)
    if merge_rows is not None:
        forest = replace(forest, threshold=merged_thresholds(forest, merge_rows))
        if domain is not None:
            forest = domain.read(forest)
    return Problem.of(forest, domain, tolerance)


@dataclass(eq=False)
class Result:
    """What a search found."""

    tree: CellTree  # over all axes and cuts of the grid
    shape: tuple  # cells on each axis, without cuts that do not matter where that is known
    optimal: bool
    # no faithful tree is less deep or has fewer leaves; with the objective "depth_then_leaves" and
    # `optimal`, none of least depth has fewer leaves
    depth_bound: int
    leaves_bound: int
    # of numbers, for every leaf: the first and the last double that its answers can be, an array of
    # shape (n_leaves, 2, n_numbers)
    ends: np.ndarray | None = None

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
    """No faithful tree was found in time: so many leaves so far, on this share of the cells."""

    def __init__(self, n_leaves=0, share=0.0):
        super().__init__(f"{n_leaves} leaves on {share:.3%} of the cells")
        self.n_leaves = n_leaves
        self.share = share


class TooManyLeaves(Exception):
    """A faithful tree would have more leaves, by forecast, than anybody can use."""

    def __init__(self, n_leaves):
        super().__init__(f"about {n_leaves:.1g} leaves")
        self.n_leaves = n_leaves


def find_tree(problem, objective, *, method, max_bytes, rng, report=None, warn=None):
    """A faithful tree of a forest: smallest if possible, else as small as time allows.

    `report` is called with messages on progress, `warn` with one before a long search without a
    limit of time. Raises `TooLarge` (``method="exact"``, if memory does
    not suffice), `OutOfTime`, or `TooManyLeaves` (``method="auto"``).
    """
    search = _TreeSearch(problem, objective, method, max_bytes, rng, report, warn)
    if search.is_direct and search.solve_exactly():
        result = Result.proven(search.tree, search.shape, objective)
    else:
        # not at once, or not exactly: a faithful tree, made smaller while time remains; then bounds
        if search.tree is None:
            search.grow_first_tree()
        parts: list = [search.divide_greedily()] if search.tree is None else []
        if not any(part.is_optimal for part in parts):
            parts.append(search.refine())
        if parts[-1].is_optimal:
            result = Result.proven(search.tree, search.shape, objective)
        else:
            result = search.bounded(parts)
    if problem.trees.tolerance is not None:
        result.tree, result.ends = with_ends(result.tree, problem.trees)
    return result


class _TreeSearch:
    """One search: what was asked for, what was found so far, and a method for each phase."""

    def __init__(self, problem, objective, method, max_bytes, rng, report, warn):
        self.problem = problem
        self.trees = problem.trees
        self.objective = objective
        self.method = method
        self.max_bytes = max_bytes
        self.seconds = time_left()
        # shares of an infinite limit are infinite: only what is counted in work asks for this
        self.limited = np.isfinite(self.seconds)
        self.bound_seconds = EFFORT.bound_seconds
        if self.limited:
            self.bound_seconds = min(EFFORT.bound_share * self.seconds, EFFORT.most_bound_seconds)
        self.leaf_seconds = EFFORT.leaf_seconds
        if problem.trees.tolerance is not None:
            self.leaf_seconds = EFFORT.answer_seconds
        self.rng = rng
        self.report = report or (lambda message: None)
        self.warn = warn or (lambda message: None)
        # the class of every cell; None where not every cell was looked at
        self.grid: Any = None
        # the smallest faithful tree so far
        self.tree: Any = None

    @property
    def is_direct(self):
        """Whether the exact search begins before there is a tree to return."""
        if self.method != "auto":
            return self.method == "exact"
        passes = PASSES[self.objective]
        most = min(
            EFFORT.direct_regions,
            EFFORT.direct_share * self.seconds / (EFFORT.region_seconds * passes),
        )
        small = not self.limited or n_regions(self.trees.shape) <= most
        return small and self.problem.can_label_all(self.max_bytes, self.seconds)

    def label_all_cells(self):
        """Look at every cell."""
        self.grid = _labelled(self.problem, self.max_bytes)
        regions = n_regions(self.grid.labels.shape)
        self.report(f"{self.grid.n_cells} cells, {regions:.3g} regions")

    def solve_exactly(self):
        """Find the smallest tree; False where memory did not suffice but heuristics may."""
        try:
            self.label_all_cells()
        except TooManyAnswers:
            if self.method == "exact":
                raise
            return False
        try:
            solution = solve(
                self.grid, self.objective, max_bytes=self.max_bytes, begin=self.announce
            )
        except TooLarge:
            if self.method == "exact":
                raise
            return False
        except Stopped:
            raise OutOfTime from None
        self.tree = solution.tree.on_grid(self.grid)
        return True

    def announce(self, seconds):
        """Tell where the search stands before it goes on for so long, by the forecast."""
        if self.limited or seconds < EFFORT.patience:
            return
        known = ""
        if self.trees.outside is None and self.trees.tolerance is None:
            grown = self.problem.space.grow(EFFORT.announced_leaves)
            if grown is not None:
                self.tree = CellTree(grown)
                bound = self.lower_bound(EFFORT.tell_seconds)
                known = (
                    f" A tree of {self.tree.n_leaves:,} leaves with the same answers is known, and "
                    f"none has fewer than {bound:,}."
                )
        self.warn(
            f"The exact search is expected to take about {duration(seconds)}.{known} To end it "
            "earlier with the best tree found by then, set time_limit or use method='heuristic'."
        )

    def grow_first_tree(self):
        """A faithful tree by the halvings of a proof, or none where there is no time for it.

        Of numbers, that proof knows nothing.
        """
        if self.trees.tolerance is not None:
            return
        tied = self.trees.outside is not None
        # only where nothing else can give a tree, a forecast or a large tree is reason to refuse
        may_refuse = self.method == "auto" and self.grid is None and not tied
        space, n_leaves = self.problem.space, np.nan
        if may_refuse:
            with limits(EFFORT.forecast_share * time_left()):
                n_leaves = space.forecast_leaves(self.rng)
        if n_leaves > REFUSED_LEAVES:
            raise TooManyLeaves(n_leaves)
        in_time = EFFORT.unmerged * (time_left() + EFFORT.late_seconds) / EFFORT.leaf_seconds
        most = max(1, int(min(MAX_LEAVES, in_time)))
        with limits((EFFORT.first_tree_share if tied else 1.0) * time_left()):
            grown = space.grow(most)
        if grown is not None:
            self.tree = CellTree(grown)
            self.report(f"first tree: depth {self.tree.depth}, {self.tree.n_leaves} leaves")
            self.choose_upper_splits()
            self.tree = _inside_domain(self.tree, self.trees)
        elif may_refuse and not self.limited:
            raise TooManyLeaves(max(n_leaves, MAX_LEAVES))

    def choose_upper_splits(self):
        """Choose the upper splits of the first tree anew, where there is time."""
        n_grown = EFFORT.upper_factor * self.tree.n_leaves
        if n_grown * EFFORT.grow_seconds > EFFORT.upper_share * self.seconds_for_tree:
            return
        if not self.limited:
            n_grown = min(n_grown, EFFORT.grown_leaves)
        with limits(self.seconds_for_tree):
            self.tree = choose_upper_splits(
                self.problem.space, self.trees, self.tree, self.objective, self.rng, n_grown
            )
        self.report(f"upper splits: depth {self.tree.depth}, {self.tree.n_leaves} leaves")

    def divide_greedily(self):
        """A faithful tree without the help of a proof."""
        if self.trees.tolerance is not None and self.method == "auto":
            with limits(EFFORT.forecast_share * time_left()):
                n_leaves = forecast_leaves(self.trees, self.rng, self.max_bytes)
            # a draft of numbers takes longer than what a proof grows
            if n_leaves > (REFUSED_LEAVES if self.limited else MAX_LEAVES):
                raise TooManyLeaves(n_leaves)
            if not self.limited and n_leaves * EFFORT.draft_seconds >= EFFORT.patience:
                self.warn(
                    f"The tree is expected to have about {n_leaves:,.0f} leaves, and the search is "
                    f"expected to take about {duration(n_leaves * EFFORT.draft_seconds)}. Use a "
                    "larger atol, a smaller ensemble or max_changes=1. Set time_limit to end the "
                    "search earlier, with an error if there is no tree by then."
                )
        draft = Draft(
            self.trees,
            self.objective,
            max_bytes=self.max_bytes,
            rng=self.rng,
            report=self.report,
        )
        try:
            with limits(self.seconds_for_tree):
                draft.build()
        except Stopped:
            raise OutOfTime(draft.n_leaves, draft.share) from None
        self.tree = draft.tree()
        return draft

    @property
    def seconds_for_tree(self):
        """Time left for the search for a tree: the rest is for bounds and for writing it."""
        n_leaves = 0 if self.tree is None else self.tree.n_leaves
        return time_left() - self.bound_seconds - self.leaf_seconds * n_leaves

    @property
    def shape(self):
        """Cells on each axis, as far as they matter."""
        return self.trees.shape if self.grid is None else self.grid.labels.shape

    def refine(self):
        """Make the tree smaller by solving parts of it, or the whole if that can end in time."""
        refinement = Refinement(
            self.trees,
            self.tree,
            self.objective,
            max_bytes=self.max_bytes,
            max_work=np.inf if self.limited else EFFORT.refine_work,
            report=self.report,
        )
        with limits(self.seconds_for_tree):
            refinement.step()
            if self.limited and self.method == "auto" and not refinement.is_over:
                self.solve_whole(refinement)
            while not refinement.is_over:
                refinement.step()
        self.tree = refinement.tree.merged()
        return refinement

    def solve_whole(self, refinement):
        """The exact search beside a tree at hand, unless it would not end in time."""
        seconds = EFFORT.exact_share * time_left()
        passes = PASSES[self.objective]
        most_regions = MOST_SAVED * 1e9 * seconds / passes
        shape = self.trees.shape
        quick = self.problem.label_seconds <= EFFORT.plan_share * EFFORT.label_share * seconds
        if not (quick or n_regions(shape) <= most_regions):
            return
        if not self.problem.can_label_all(self.max_bytes, seconds):
            return
        try:
            self.label_all_cells()
        except TooManyAnswers:
            return
        n_here = self.grid.n_cells
        if (
            n_regions(self.shape) > most_regions
            or n_here * EFFORT.plan_seconds > EFFORT.plan_share * seconds
        ):
            return
        refinement.solve_whole(self.grid, seconds)

    def lower_bound(self, seconds):
        """Leaves that every faithful tree has at least."""
        if self.grid is None and self.problem.can_label_all(self.max_bytes, seconds):
            # lines of a table are read in less time than they are labelled one by one
            with suppress(OutOfTime, TooManyAnswers):
                self.label_all_cells()
            seconds -= min(self.problem.label_seconds, seconds / 2)
        starts = _starts_anywhere(self.trees, self.rng)
        if EFFORT.box_seconds * self.tree.n_leaves < seconds / 2:
            starts = _starts_in(self.tree, self.trees, self.rng)
        within = 1e9 * seconds, self.rng, self.tree.n_leaves
        # without a limit, only work counts; with one, a little time is spent even where it is over
        exactly = seconds if self.limited else None
        with at_least(exactly or 0.0), limits(exactly):
            return _bound_on(self.grid or self.trees, starts, *within)

    def bounded(self, parts):
        """The tree, and lower bounds: of its cells, and of the parts that were solved."""
        left = time_left() - self.leaf_seconds * self.tree.n_leaves
        leaves = self.lower_bound(max(min(self.bound_seconds, left), 0.1 * self.bound_seconds))
        depth = max(part.depth_bound for part in parts)
        leaves = max([leaves, depth + 1, *(part.leaves_bound for part in parts)])
        depth = max(depth, _least_depth_of(leaves))
        self.report(f"bounds: depth {depth}, {leaves} leaves")
        optimal = {
            "depth": self.tree.depth <= depth,
            "leaves": self.tree.n_leaves <= leaves,
            "depth_then_leaves": self.tree.depth <= depth and self.tree.n_leaves <= leaves,
        }[self.objective]
        return Result(self.tree, self.shape, optimal, depth, leaves)


def _starts_in(tree, trees, rng):
    """A function that draws cells in the leaves of a tree, leaf by leaf in random order."""
    _, first, last = leaf_boxes(tree.nodes, *trees.whole)
    order = rng.permutation(len(first))
    done = 0

    def starts(n):
        nonlocal done
        which = order[np.arange(done, done + n) % len(order)]
        done += n
        return rng.integers(first[which], last[which] + 1, dtype=np.int32)

    return starts


def _starts_anywhere(trees, rng):
    """A function that draws cells."""
    return lambda n: rng.integers(0, trees.shape, size=(n, len(trees.shape)), dtype=np.int32)


def _bound_on(grid, starts, *within):
    """`leaves_bound` on CellTrees or a labelled Grid; `starts` draws from that of all cuts."""
    if isinstance(grid, CellTrees):
        return leaves_bound(grid, starts, *within)
    if grid.is_leaf:
        return 1
    bound = leaves_bound(grid, lambda n: grid.cells_here(starts(n)), *within)
    return max(forced_cuts(grid) + 1, bound)


def duration(seconds):
    """Seconds in words."""
    if seconds < 2:
        return f"{max(seconds, 0.01):.2g} s"
    for size, name in ((86400, "days"), (3600, "hours"), (60, "minutes")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {name}"
    return f"{seconds:.0f} seconds"


def _least_depth_of(n_leaves):
    """Depth that a tree of so many leaves has at least."""
    return (int(n_leaves) - 1).bit_length()


def _inside_domain(tree, trees):
    """The tree without leaves that are outside the domain."""
    if trees.outside is None:
        return tree
    leaves, lows, highs = leaf_boxes(tree.nodes, *trees.whole)
    outside = np.zeros(len(tree.nodes), dtype=bool)
    for first, last in zip(*trees.outside, strict=True):
        outside[leaves] |= ((first <= lows) & (highs <= last)).all(axis=1)
    return tree.without(outside)


def with_ends(tree, trees):
    """The tree, two leaves for which one can stand made one, and the ends of its leaves.

    See `Result`.
    """
    nodes, tolerance = tree.nodes, trees.tolerance
    low, high = np.full((2, len(nodes), trees.n_numbers), np.nan)
    for leaf, first, last in zip(*leaf_boxes(nodes, *trees.whole), strict=True):
        low[leaf], high[leaf] = trees.extremes(first, last)
    left, right = children(nodes)
    is_leaf = tree.is_leaf
    for node in np.flatnonzero(~is_leaf)[::-1]:
        one, two = left[node], right[node]
        if is_leaf[one] and is_leaf[two]:
            both = np.minimum(low[one], low[two]), np.maximum(high[one], high[two])
            if tolerance.spans(*(e[None] for e in both))[0]:
                is_leaf[node], low[node], high[node] = True, *both
    kept = tree.cut_back(is_leaf)
    new = nodes[kept].copy()
    new[is_leaf[kept], :2] = -1, UNNAMED
    leaves = np.array(kept)[is_leaf[kept]]
    ends = tolerance.ends(high[leaves])[0], tolerance.ends(low[leaves])[1]
    return CellTree(with_sizes(new)), np.stack(ends, axis=1)


def find_front(problem, *, max_bytes):
    """The front of depth and leaves, see `pareto_front`; raises like ``find_tree``."""
    grid = _labelled(problem, max_bytes)
    try:
        return pareto_front(grid, max_bytes=max_bytes)
    except Stopped:
        raise OutOfTime from None


def forecast(problem, objective, *, max_bytes, rng):
    """Look at a forest for a moment, and extrapolate: entries of an `Estimate`, by their names."""
    limit = time_left()
    seconds = EFFORT.forecast_seconds if np.isinf(limit) else limit
    grid, labels, shape = None, None, problem.trees.shape
    if problem.can_label_all(max_bytes, seconds):
        with suppress(OutOfTime, TooManyAnswers):
            grid = _labelled(problem, max_bytes)
            labels = grid.labels
            shape = labels.shape
    n_states = work = regions_forecast(shape)
    if labels is not None and labels.size > 1:
        with suppress(Stopped, TooLarge):
            layout = lay_out(labels, 1e9 * seconds / work)
            n_states, work = float(layout.n_states), layout.cost
    n_leaves = _forecast_leaves(problem, objective, labels, max_bytes, rng)
    starts = _starts_anywhere(problem.trees, rng)
    bound = _bound_on(grid or problem.trees, starts, 1e9 * EFFORT.bound_share * seconds, rng)
    return {
        "n_cells": n_cells(shape),
        "n_regions": regions_forecast(shape),
        "n_bytes": problem.table_bytes + REGION_BYTES[objective] * n_states,
        "seconds": problem.label_seconds + 1e-9 * PASSES[objective] * work,
        "n_leaves": float(np.fmax(n_leaves, bound)),
        "n_leaves_lower_bound": bound,
    }


def _forecast_leaves(problem, objective, labels, max_bytes, rng):
    """Leaves of a faithful tree: of one that is found in a moment, else extrapolated."""
    seconds = time_left()
    limited = np.isfinite(seconds)
    with limits(0.5 * seconds):
        if problem.trees.tolerance is not None:
            return forecast_leaves(problem.trees, rng, max_bytes)
        if labels is None or not (limited or labels.size <= EFFORT.forecast_cells):
            grown = problem.space.grow(MAX_LEAVES if limited else EFFORT.forecast_grown)
            if grown is not None:
                return CellTree(grown).n_leaves
        else:
            draft = Draft(problem.trees, objective, max_bytes=max_bytes, rng=rng)
            with suppress(Stopped):
                draft.build()
                return draft.n_leaves
    with limits(EFFORT.bound_share * seconds):
        return problem.space.forecast_leaves(rng)


def _labelled(problem, max_bytes):
    """The simplified grid of all cells, with its axes and cuts numbered."""
    if problem.table_bytes > max_bytes:
        raise TooLarge(problem.table_bytes)
    numbers = [np.arange(n - 1) for n in problem.trees.shape]
    try:
        grid = problem.trees.table(np.arange(len(numbers)), numbers)
    except Stopped:
        raise OutOfTime from None
    return grid.simplified()
