"""Which search for which ensemble: exact while memory and time allow, else the heuristic."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from time import monotonic

import numpy as np

from ensemble_simplify._cells import Stopped
from ensemble_simplify._regions import leaf_boxes
from ensemble_simplify.born_again._grid import Grid, grid_bytes
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

# Joining boxes without a time limit ends after this much forecast work (nanoseconds), so that
# the result does not depend on the speed of the machine.
JOIN_WORK = 1e7
# The same for solving the parts of a tree that was grown on a large grid.
REFINE_WORK = 3e9
# A grown tree has at most so many leaves, and is solved in parts if it has at most so many.
MAX_LEAVES, REFINED_LEAVES = 1_000_000, 200_000
# ``method="auto"`` gives up at once where the forecast of its leaves is so many times that; and
# the seconds a forecast takes at most.
HOPELESS, FORECAST_SECONDS = 100, 1.0
# Share of the time for a tree from a proof where the domain has groups and implications, of which
# a proof knows nothing.
PROOF_SHARE = 0.2
# Seconds that writing out a leaf takes.
LEAF_SECONDS = 3e-5
# Grids of more cells than this are not looked at as a whole unless ``method="exact"``: their
# tables of regions would not fit either. Nor are those whose labels would take more than this
# share of the time limit, at so many seconds a cell, and a cell, tree and score.
TABLE_CELLS = 1 << 24
LABEL_SHARE, CELL_SECONDS, VOTE_SECONDS = 0.2, 3e-8, 1.5e-9
# Passes of an exact search over its regions, and bytes a region.
PASSES = {"depth": (1, 1), "leaves": (1, 2), "depth_then_leaves": (5, 6)}
# Share of the time that an exact search may take that can end without a result.
EXACT_SHARE = 0.7
# Share of the time limit that bounds may take, and their time without a limit (seconds).
BOUND_SHARE, BOUND_SECONDS = 0.1, 2.0
# Cells of the part of a large grid on which a lower bound is sought.
BOUND_CELLS = 1 << 15


@dataclass(eq=False)
class Found:
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


class OutOfTime(Exception):
    """No faithful tree was found in time.

    Attributes
    ----------
    n_leaves : int
        Leaves found so far.
    share : float
        Part of the cells they cover.
    """

    def __init__(self, n_leaves, share):
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


def find_tree(trees, space, objective, *, method, max_bytes, seconds, rng, report=None):
    """A faithful tree of a forest: smallest if possible, else as small as time allows.

    Parameters
    ----------
    trees : CellTrees
    space : Space
        Of the same forest: grows a faithful tree by the halvings of a proof, and forecasts its
        size.
    objective : {"depth", "leaves", "depth_then_leaves"}
    method : {"auto", "exact", "heuristic"}
    max_bytes : float
    seconds : float
        Time limit; inf for none.
    rng : numpy Generator
    report : callable or None
        Called with messages on progress.

    Raises
    ------
    TooLarge
        With ``method="exact"``, if memory does not suffice.
    OutOfTime
        If no faithful tree was found in time.
    TooManyLeaves
        With ``method="auto"``, if none of a reasonable size is to be expected.
    """
    deadline = monotonic() + seconds
    limited = np.isfinite(seconds)
    grid = None
    if method == "exact" or _worth_a_table(trees, max_bytes, seconds):
        grid = _labelled(trees, max_bytes, deadline)
        if report:
            report(f"{grid.n_cells} cells, {n_regions(grid.labels.shape):.3g} regions")
        if grid.n_cells == 1:
            return _proven(CellTree.leaf(grid.labels.reshape(-1)[0]), (), objective)
    options = {
        "max_bytes": max_bytes,
        "deadline": deadline,
        "rng": rng,
        "report": report,
    }
    incumbent = None
    if limited or grid is None:
        # something to return, at once
        share = 1.0 if trees.outside is None else PROOF_SHARE
        unsure = method != "auto" or grid is not None or trees.outside is not None
        n_leaves = np.nan if unsure else space.forecast_leaves(FORECAST_SECONDS, rng)
        if n_leaves > HOPELESS * MAX_LEAVES:
            raise TooManyLeaves(n_leaves)
        grown = space.grow(share * (deadline - monotonic()), MAX_LEAVES)
        if grown is None and not (unsure or limited):
            raise TooManyLeaves(max(n_leaves, MAX_LEAVES))
        if grown is not None:
            incumbent = _inside(CellTree(grown), trees)
            if report:
                report(f"incumbent: depth {incumbent.depth}, {incumbent.n_leaves} leaves")
    if grid is not None and method != "heuristic":
        try:
            # with an incumbent, leave time to improve it
            share = 1.0 if incumbent is None or method == "exact" else EXACT_SHARE
            tree = solve(
                grid.labels,
                objective,
                max_bytes=max_bytes,
                seconds=share * (deadline - monotonic()),
            ).tree
            return _proven(tree.on_grid(grid), grid.labels.shape, objective)
        except TooLarge:
            if method == "exact":
                raise
        except Stopped:
            if incumbent is None:
                raise OutOfTime(0, 0.0) from None
    spare = min(BOUND_SHARE * seconds, BOUND_SECONDS)
    n_leaves = 0 if incumbent is None else incumbent.n_leaves
    options["deadline"] = deadline - spare - LEAF_SECONDS * n_leaves
    draft = Draft(trees, objective, **options)
    if grid is not None:
        incumbent = _better(incumbent, _drafted(draft, limited, incumbent), objective)
    elif incumbent is None:
        _build(draft)
        draft.improve(np.inf if limited else JOIN_WORK)
        incumbent = draft.tree()
    elif incumbent.n_leaves <= REFINED_LEAVES:
        draft.adopt(incumbent)
        draft.improve(draft.refine(np.inf if limited else REFINE_WORK))
        incumbent = draft.tree()
    shape = trees.shape if grid is None else grid.labels.shape
    if draft.is_optimal:
        return _proven(incumbent, shape, objective)
    labels = _part_of_grid(trees, rng) if grid is None else grid.labels
    leaves = max(draft.leaves_bound, leaves_bound(labels, spare, rng) if labels.size > 1 else 1)
    leaves = max(leaves, draft.depth_bound + 1)
    depth = max(draft.depth_bound, _least_depth(leaves))
    if report:
        report(f"bounds: depth {depth}, {leaves} leaves")
    return Found(incumbent, shape, False, depth, leaves)


def _inside(tree, trees):
    """The tree without leaves that are outside the domain."""
    if trees.outside is None:
        return tree
    first, last = trees.outside
    hi = np.array(trees.shape, dtype=np.int32) - 1
    leaves, lows, highs = leaf_boxes(tree.nodes, np.zeros_like(hi), hi)
    outside = np.zeros(len(tree.nodes), dtype=bool)
    for region_first, region_last in zip(first, last, strict=True):
        outside[leaves] |= ((region_first <= lows) & (highs <= region_last)).all(axis=1)
    return tree.without(outside)


def _drafted(draft, limited, incumbent):
    """The tree of a draft built and improved; None if time was over before it was complete."""
    try:
        draft.build()
    except Stopped:
        if incumbent is None:
            raise OutOfTime(draft.n_leaves, draft.share) from None
        return None
    draft.improve(np.inf if limited else JOIN_WORK)
    return draft.tree()


def _better(one, two, objective):
    """The smaller of two trees; either may be None."""

    def size(tree):
        if objective == "leaves":
            return tree.n_leaves, tree.depth
        return tree.depth, tree.n_leaves

    return min((tree for tree in (one, two) if tree is not None), key=size)


def find_front(trees, *, max_bytes, seconds):
    """The front of depth and leaves, see `pareto_front`; raises like ``find_tree``."""
    deadline = monotonic() + seconds
    grid = _labelled(trees, max_bytes, deadline)
    try:
        return pareto_front(grid.labels, max_bytes=max_bytes, seconds=deadline - monotonic())
    except Stopped:
        raise OutOfTime(0, 0.0) from None


@dataclass(eq=False)
class Forecast:
    """What a search is expected to need and to find.

    Attributes
    ----------
    shape : tuple
        Cells on each axis, as in `Found`.
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


def forecast(trees, space, objective, *, max_bytes, seconds, rng):
    """Look at a forest for a moment, and extrapolate."""
    deadline = monotonic() + seconds
    shape = trees.shape
    cells = np.prod(np.array(shape, dtype=float))
    n_states = work = float(n_regions(shape))
    labels = None
    if _worth_a_table(trees, max_bytes, seconds):
        try:
            labels = _labelled(trees, max_bytes, deadline).labels
            shape = labels.shape
            n_states, work = 1.0, 0.0
            if labels.size > 1:
                programme = lay_out(labels, deadline)
                n_states, work = float(programme.n_states), programme.cost
        except (OutOfTime, Stopped, TooLarge):
            labels = None
    passes, width = PASSES[objective]
    n_leaves = np.nan
    if labels is None:
        grown = space.grow(seconds / 2, MAX_LEAVES)
        if grown is not None:
            n_leaves = float(CellTree(grown).n_leaves)
    else:
        draft = Draft(trees, objective, max_bytes=max_bytes, deadline=deadline, rng=rng)
        with suppress(Stopped):
            draft.build()
            n_leaves = float(draft.n_leaves)
    if np.isnan(n_leaves):
        n_leaves = space.forecast_leaves(BOUND_SHARE * seconds, rng)
    part = _part_of_grid(trees, rng) if labels is None else labels
    bound = leaves_bound(part, BOUND_SHARE * seconds, rng) if part.size > 1 else 1
    return Forecast(
        shape,
        n_states,
        grid_bytes(trees.shape) + width * n_states,
        cells * (CELL_SECONDS + VOTE_SECONDS * trees.n_trees * trees.value.shape[1])
        + 1e-9 * passes * work,
        n_leaves,
        bound,
    )


def _worth_a_table(trees, max_bytes, seconds):
    cells = np.prod(np.array(trees.shape, dtype=float))
    label_seconds = cells * (CELL_SECONDS + VOTE_SECONDS * trees.n_trees * trees.value.shape[1])
    return (
        cells <= TABLE_CELLS
        and grid_bytes(trees.shape) <= max_bytes
        and label_seconds <= LABEL_SHARE * seconds
    )


def _labelled(trees, max_bytes, deadline):
    """The simplified grid of all cells, with its axes and cuts numbered."""
    needed = grid_bytes(trees.shape)
    if needed > max_bytes:
        raise TooLarge(needed)
    try:
        labels = trees.labels(deadline)
    except Stopped:
        raise OutOfTime(0, 0.0) from None
    numbers = [np.arange(n - 1) for n in labels.shape]
    return Grid(np.arange(labels.ndim), numbers, labels).simplified()


def _build(draft):
    try:
        draft.build()
    except Stopped:
        raise OutOfTime(draft.n_leaves, draft.share) from None


def _proven(tree, shape, objective):
    depth, leaves = tree.depth, tree.n_leaves
    if objective == "leaves":
        depth = _least_depth(leaves)
    elif objective == "depth":
        leaves = depth + 1
    return Found(tree, shape, True, depth, leaves)


def _least_depth(n_leaves):
    """Depth that a tree of so many leaves has at least."""
    return int(np.ceil(np.log2(n_leaves)))


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
