"""Born-again search over a labelled grid: plan, solve, read out the tree."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from ensemble_simplify._dp import Solver, smallest_tree
from ensemble_simplify._dp_layout import Layout
from ensemble_simplify.born_again.everywhere._grid import UNNAMED, Grid, TooLarge
from ensemble_simplify.grid import (
    FREE,
    CodedTrees,
    change_masks,
    check_time,
    children,
    depths,
    with_sizes,
)

# Outer boxes a layout may have: each costs some tens of bytes and a microsecond.
MAX_BOXES = 1 << 20
BOX_COST = 80  # Forecast of the nanoseconds that an outer box takes in a layout.
LAYOUT_SHARE = 0.12  # Share of a pass that the outer boxes of one more layout may take.
LAYOUT_COST = 3e4  # Nanoseconds to forecast a layout: this,
LAYOUT_CELL_COST = 1.0  # and this for each cell.
ROW = 30  # Entries a row should at least have for the vector loops to pay.
# Largest number of splits whose sum with another fits int16.
INT16_SPLITS = 16382
# Bytes of layers that are kept so that the tree can be read out of them. Where they are more,
# solving the two sides of the best split anew takes less time than the memory is worth.
LAYER_BYTES = 6e8
EVERYWHERE = 1 << 30  # More splits than can stand above any region: no region is left out.
# Time of the search for depth and then leaves, as a multiple of one pass over the regions.
DL_PASSES = 6.5
# Time of an exact search for each objective, as a multiple of one pass over the regions.
PASSES = {"depth": 1.0, "leaves": 1.0, "depth_then_leaves": DL_PASSES}
LEAVES_AT_ONCE = 1 << 16  # Regions that are told at a time whether they can be leaves.


@dataclass(frozen=True, eq=False)
class CellTree:
    """One tree over the cells of a grid."""

    # over axes (see `grid/_regions`); the numbers of leaves are classes, or `UNNAMED`
    nodes: np.ndarray

    @classmethod
    def leaf(cls, label):
        """The tree of one leaf."""
        return cls(np.array([[-1, label, 1]], dtype=np.int32))

    @classmethod
    def joined(cls, axis, cut, left, right):
        """The tree with a split at its root and two trees below."""
        root = np.array([[axis, cut, 0]], dtype=np.int32)
        return cls(with_sizes(np.concatenate([root, left.nodes, right.nodes])))

    @property
    def is_leaf(self):
        """Which nodes are leaves, as a bool array."""
        return self.nodes[:, 0] < 0

    @property
    def n_leaves(self):
        """Number of leaves."""
        return (len(self.nodes) + 1) // 2

    @property
    def depth(self):
        """Splits on the longest way down."""
        return int(depths(self.nodes).max())

    def on_grid(self, grid):
        """The same tree over the axes and cuts that `grid` names as features and cuts."""
        nodes = self.nodes.copy()
        for a, (feature, numbers) in enumerate(zip(grid.features, grid.cuts, strict=True)):
            here = self.nodes[:, 0] == a
            nodes[here, 0] = feature
            nodes[here, 1] = numbers[self.nodes[here, 1]]
        return CellTree(nodes)

    def apply(self, cells):
        """Node of the leaf in which each cell lies; cells are int32, of shape (n, n_axes)."""
        nodes = self.nodes.copy()
        leaves = np.flatnonzero(self.is_leaf)
        nodes[leaves, 1] = leaves
        return CellTree(nodes).numbers_of(cells)

    def numbers_of(self, cells):
        """The number of the leaf in which each cell lies."""
        return CodedTrees(self.nodes, np.array([0, len(self.nodes)])).leaves(cells)[0]

    def cut_back(self, is_leaf):
        """The nodes that are left where some of them, a bool for each, become leaves."""
        kept, at = [], 0
        while at < len(self.nodes):
            kept.append(at)
            at += self.nodes[at, 2] if is_leaf[at] else 1
        return kept

    def merged(self):
        """The tree without the leaves of class `FREE`; see `without`."""
        return self.without(self.is_leaf & (self.nodes[:, 1] == FREE))

    def without(self, gone):
        """The tree without the leaves `gone`, and without splits between leaves of one class.

        Leaves without a name stay apart. From the bottom up, a split one of whose sides is gone
        gives way to its other side. If `gone`, a bool for each node, names all leaves, the first
        stays.
        """
        axis, number = self.nodes[:, 0].tolist(), self.nodes[:, 1].tolist()
        left, right = (side.tolist() for side in children(self.nodes))
        # which node stands where a node was; -1: none
        stands = np.where(gone, -1, np.arange(len(axis))).tolist()
        for node in range(len(axis) - 1, -1, -1):
            if axis[node] < 0:
                continue
            one, two = stands[left[node]], stands[right[node]]
            if one < 0 or two < 0:
                stands[node] = max(one, two)
            elif axis[one] < 0 and axis[two] < 0 and number[one] == number[two] != UNNAMED:
                stands[node] = one
        if stands[0] < 0:
            return CellTree.leaf(self.nodes[self.is_leaf, 1][0])
        order, stack = [], [0]
        while stack:
            node = stands[stack.pop()]
            order.append(node)
            if axis[node] >= 0:
                stack += [right[node], left[node]]
        return CellTree(with_sizes(self.nodes[order]))


def n_regions(shape):
    """Boxes of cells of a grid: the states of the plain dynamic programme."""
    return prod(int(n) * (int(n) + 1) // 2 for n in shape)


def regions_forecast(shape):
    """`n_regions` as a float; infinity where there are more than a float holds."""
    return prod(0.5 * n * (n + 1.0) for n in map(float, shape))


def lay_out(labels, share=np.inf):
    """The cheapest `Layout` found for a grid, by its own forecast.

    Axes become outer axes one at a time, each time the one that lowers the cost of a pass
    most: O(axes^2) layouts, each O(cells + outer boxes). That ends before looking at them is
    forecast to take more than a `share` of the cheapest pass so far.
    """
    shape = labels.shape
    n_axes = len(shape)
    bits = np.concatenate([[0], np.cumsum([n - 1 for n in shape])]).astype(np.intp)
    word, shift = bits[:-1] // 64, bits[:-1] % 64
    masks = np.zeros((labels.size, int(bits[-1]) // 64 + 1), dtype=np.uint64)
    change_masks(labels.reshape(-1), np.array(shape, dtype=np.intp), word, shift, masks)
    intervals = [n * (n + 1) // 2 for n in shape]

    def layout(outer):
        check_time()
        inner = sorted(set(range(n_axes)) - set(outer), key=lambda a: shape[a])
        if not inner or n_regions([shape[a] for a in inner]) >= 2**62:
            return None
        n_row, row = 1, intervals[inner[-1]]
        while row < ROW and n_row < len(inner):
            n_row += 1
            row *= intervals[inner[-n_row]]
        return Layout(labels, masks, word, shift, outer, inner, n_row)

    best, outer, boxes = layout([]), [], 1
    cost = np.inf if best is None else best.cost
    while True:
        # looking at a layout must cost little beside a pass over it
        axes = [
            a
            for a in range(n_axes)
            if a not in outer
            and boxes * intervals[a] <= MAX_BOXES
            and boxes * intervals[a] * BOX_COST < LAYOUT_SHARE * cost
        ]
        look = LAYOUT_COST + LAYOUT_CELL_COST * labels.size
        if sum(look + boxes * intervals[a] * BOX_COST for a in axes) > share * cost:
            break
        trials = [(a, trial) for a in axes if (trial := layout([*outer, a])) is not None]
        if trials:
            a, trial = min(trials, key=lambda pair: pair[1].cost)
            if trial.cost >= cost:
                break
            best, cost = trial, trial.cost
        elif best is None and axes:
            # too many regions to count: more outer axes first
            a = max(axes, key=lambda axis: intervals[axis])
        else:
            break
        outer.append(a)
        boxes *= intervals[a]
    if best is None:
        raise TooLarge(n_regions(shape))
    return best


@dataclass(eq=False)
class SmallestTree:
    """A smallest tree, the regions stored for it, and the forecast of a pass over them in ns."""

    tree: CellTree
    n_states: int = 1
    work: float = 0.0


def forced_cuts(grid):
    """Cuts of a simplified grid at which every faithful tree splits."""
    labels, kinds = grid.labels, grid.kinds
    if kinds is None and not grid.has_free:
        return sum(labels.shape) - labels.ndim
    count = 0
    for a in range(labels.ndim):
        slabs = np.moveaxis(labels, a, 0)
        one, two = slabs[:-1], slabs[1:]
        changes = (one != two) & (one != FREE) & (two != FREE)
        if kinds is not None:
            changes[changes] = kinds.apart(one[changes], two[changes])
        count += int(changes.reshape(len(changes), -1).any(axis=1).sum())
    return count


def solve(
    grid,
    objective,
    *,
    max_bytes,
    max_work=np.inf,
    max_depth=None,
    begin=None,
    layout_share=np.inf,
):
    """The smallest tree of a grid from ``Grid.simplified``, proven optimal.

    Cells of class `FREE` may get any class. `max_work` limits the forecast nanoseconds of one
    pass. With ``"depth_then_leaves"`` and `max_depth`, the tree has the fewest leaves of all of at
    most this depth, of which there must be one. `begin` is called with the forecast seconds before
    the tables are filled; `layout_share` is as `share` of `lay_out`. Raises `TooLarge` before
    anything large is allocated or long is begun, and `Stopped` where time is over.
    """
    if grid.is_leaf:
        return SmallestTree(_only_leaf(grid))
    labels = grid.labels
    n_words = -(-sum(n - 1 for n in labels.shape) // 64)
    _reserve(8 * n_words * labels.size, max_bytes)
    layout = lay_out(labels, layout_share)
    n_states = layout.n_states
    if layout.cost > max_work:
        raise TooLarge(n_states)
    if objective == "depth":
        # the codes above the largest class mark mixed and unsolved regions
        dtypes = [_depth_type(grid)]
    else:
        dtypes = [np.int16, np.int32]
    _reserve(np.dtype(dtypes[0]).itemsize * n_states, max_bytes)
    if begin is not None:
        begin(1e-9 * PASSES[objective] * layout.cost)
    solver, held = _solver(layout, grid.kinds, max_bytes)
    for dtype in dtypes:
        if dtype == np.int16 and _largest_class(grid) >= INT16_SPLITS:
            # the number type must tell classes from mixed regions, too
            continue
        _reserve(np.dtype(dtype).itemsize * n_states + held, max_bytes)
        if objective == "depth_then_leaves":
            if max_depth is None:
                max_depth = _smallest_depth(solver, grid)
            tree = _layered(solver, grid, dtype, max_depth, max_bytes - held)
        else:
            values = solver.solve(np.empty(n_states, dtype=dtype))
            # None: too many splits for the number type
            tree = _read_out(grid, [values], 1) if values.solved() else None
        if tree is not None:
            return SmallestTree(tree.merged() if grid.has_free else tree, n_states, layout.cost)
    raise TooLarge(8 * n_states)


def _only_leaf(grid):
    """The tree of a grid for which one leaf can stand."""
    label = grid.labels.reshape(-1)[0]
    known = grid.labels.size > 1 or label != FREE
    return CellTree.leaf(UNNAMED if grid.kinds is not None and known else label)


def _largest_class(grid):
    """The largest number that tells a class while those of regions are found; 0: none does."""
    if grid.kinds is not None:
        return 0
    return grid.labels.max(where=grid.labels != FREE, initial=0)


def _depth_type(grid):
    return np.uint8 if _largest_class(grid) < 254 else np.uint16


def _solver(layout, kinds, max_bytes):
    """A solver that knows which regions can be leaves, and the bytes that it holds."""
    solver = Solver(layout)
    if kinds is None:
        return solver, 0
    n_states = layout.n_states
    _reserve((2 * kinds.n_codes + 1) * n_states, max_bytes)
    codes = kinds.codes(FREE + 1)
    largest = np.empty((kinds.n_codes, n_states), dtype=np.uint16)
    for code, table in zip(codes, largest, strict=True):
        solver.largest_code(code, table)
    leaves = np.empty(n_states, dtype=np.uint8)
    for i in range(0, n_states, LEAVES_AT_ONCE):
        check_time()
        part = slice(i, i + LEAVES_AT_ONCE)
        leaves[part] = kinds.meet(largest[:, part])
    solver.leaves = leaves
    return solver, n_states


def _read_out(grid, layers, depth):
    """The smallest tree of a solved grid; leaves of numbers have no name yet."""
    nodes = smallest_tree(layers, depth)
    if grid.kinds is not None:
        nodes[(nodes[:, 0] < 0) & (nodes[:, 1] != FREE), 1] = UNNAMED
    return CellTree(nodes)


def _reserve(n_bytes, max_bytes):
    if n_bytes > max_bytes:
        raise TooLarge(n_bytes)


def pareto_front(grid, *, max_bytes):
    """Pairs, from the least depth: each depth that makes fewer leaves possible, and how few."""
    if grid.is_leaf:
        return [(0, 1)]
    labels = grid.labels
    solver, held = _solver(lay_out(labels), grid.kinds, max_bytes)
    n_states, room = solver.layout.n_states, solver.layout.largest_block()
    dtype = np.int16 if labels.size <= INT16_SPLITS else np.int32
    _reserve(np.dtype(dtype).itemsize * (n_states + room) + held, max_bytes)
    layer = solver.first_layer(np.empty(n_states, dtype))
    block = np.empty(room, dtype)
    whole = [0] * labels.ndim, [n - 1 for n in labels.shape]
    front, depth = [], 0
    while True:
        depth += 1
        split = layer.split(*whole)
        if split is not None and (not front or split[2] + 1 < front[-1][1]):
            front.append((depth, split[2] + 1))
        update, entries = solver.blocks_to_update(layer, EVERYWHERE)
        if entries == 0:
            return front
        layer = solver.next_layer(layer, update, EVERYWHERE, block, True)


def _smallest_depth(solver, grid):
    table = np.empty(solver.layout.n_states, dtype=_depth_type(grid))
    values = solver.solve(table)
    return values.value([0] * len(grid.shape), [n - 1 for n in grid.shape])


def _layered(solver, grid, dtype, limit, max_bytes):
    """Fewest leaves at depth at most `limit`, by layers of growing depth.

    Layer d holds, for every region, the fewest splits of its trees of depth at most d. It is
    needed only for regions that the splits above can have cut out: those that differ from the
    grid in at most ``limit - d`` sides. Only blocks that changed are stored again. When memory
    (or `LAYER_BYTES`) ends, layers are overwritten, and the two sides of the best split are solved
    anew, each a smaller problem. None if the number type `dtype` is too small.
    """
    labels = grid.labels
    table = np.empty(solver.layout.n_states, dtype=dtype)
    layers = [solver.first_layer(table)]
    used = table.nbytes
    depth = 1
    while depth < limit:
        splits_above = limit - depth
        update, entries = solver.blocks_to_update(layers[-1], splits_above)
        if entries == 0:
            # more depth changes nothing
            break
        fresh = entries * table.itemsize
        in_place = len(layers) != depth or used + fresh > min(max_bytes, LAYER_BYTES)
        room = solver.layout.largest_block() if in_place else entries
        layer = solver.next_layer(
            layers[-1],
            update,
            splits_above,
            np.empty(room, dtype=table.dtype),
            in_place,
        )
        if in_place:
            layers = [layer]
        else:
            layers.append(layer)
            used += fresh
        depth += 1
    split = layers[-1].split([0] * labels.ndim, [n - 1 for n in labels.shape])
    if split is None:
        return None
    if len(layers) == depth:
        return _read_out(grid, layers, depth)
    axis, cut, _ = split
    # the parts need the memory
    del table, layers, layer
    parts = []
    for side in (slice(None, cut + 1), slice(cut + 1, None)):
        part = labels[(slice(None),) * axis + (side,)]
        # cuts carry their numbers, so that the part's tree can be told in ours
        numbers = [np.arange(n - 1) for n in part.shape]
        if side.start is not None:
            numbers[axis] += side.start
        here = Grid(np.arange(part.ndim), numbers, part, grid.kinds).simplified()
        options = {"max_bytes": max_bytes, "max_depth": depth - 1}
        parts.append(solve(here, "depth_then_leaves", **options).tree.on_grid(here))
    return CellTree.joined(axis, cut, *parts)
