"""Regions: boxes of cells, and what is left of trees inside them.

An *axis* is a feature's sorted cut points, a *cell* one box between neighbouring cut points on
every axis, a *region* a box of cells, given by its first and last cell on every axis. A tree over
axes is an ``int32`` array of shape (n_nodes, 3), nodes in pre-order, with the columns

axis
    Axis of the split, -1 in a leaf.
cut
    A cell goes left iff its index on the axis is at most this; in a leaf, a number of it.
size
    Nodes of the subtree. The left child of node i is i + 1, the right child
    i + 1 + size[i + 1]; a subtree is a slice, and a slice is a tree.

A tree *restricted* to a region keeps only the leaves that the region reaches. Several trees stand
one after the other in one array, tree t in the rows ``offsets[t], ..., offsets[t + 1] - 1``.
"""

import numpy as np

from libc.string cimport memcpy
from libcpp.vector cimport vector

from ensemble_simplify.grid._limits cimport should_stop
from ensemble_simplify._typedefs cimport int32_t, intp_t, uint8_t


# ----------------------------------------------------------------- arrays of nodes

cdef void set_sizes(vector[Node] &nodes) noexcept nogil:
    cdef intp_t i
    for i in range(<intp_t> nodes.size() - 1, -1, -1):
        nodes[i].size = 1
        if nodes[i].axis >= 0:
            nodes[i].size += nodes[i + 1].size
            nodes[i].size += nodes[i + nodes[i].size].size


cdef object rows_of(const int32_t *numbers, intp_t n, intp_t width):
    """Numbers that stand one after the other, as an int32 array of shape (n, width)."""
    array = np.empty((n, width), dtype=np.int32)
    cdef int32_t[:, ::1] view = array
    if n and width:
        memcpy(&view[0, 0], numbers, n * width * sizeof(int32_t))
    return array


cdef object nodes_to_array(const vector[Node] &nodes):
    return rows_of(<const int32_t *> nodes.data(), nodes.size(), 3)


cdef void array_to_nodes(const int32_t[:, ::1] array, vector[Node] &nodes) noexcept nogil:
    cdef intp_t i
    nodes.resize(array.shape[0])
    for i in range(array.shape[0]):
        nodes[i].axis = array[i, 0]
        nodes[i].cut = array[i, 1]
        nodes[i].size = array[i, 2]


def with_sizes(int32_t[:, ::1] nodes):
    """Fill the column of sizes of one tree, in place, and return its array. O(nodes)."""
    cdef intp_t i
    with nogil:
        for i in range(nodes.shape[0] - 1, -1, -1):
            nodes[i, 2] = 1
            if nodes[i, 0] >= 0:
                nodes[i, 2] += nodes[i + 1, 2]
                nodes[i, 2] += nodes[i + nodes[i, 2], 2]
    return np.asarray(nodes)


# What is known, on the way down a tree, of the value on an axis.
cdef enum Known:
    PRESENT     # it is not missing, or cannot be
    MISSING
    UNKNOWN     # it may be missing

# What a split does with the cells that reach it.
cdef enum Fate:
    ALL_LEFT
    ALL_RIGHT
    CUT             # some go left, the others right
    MISSING_LEFT    # the same, and missing values, which stand in the last cell, go left

cdef enum TaskKind:
    WRITE   # write the node `which` and all that is below it
    KNOW    # from here on, the value on the axis `which` is `known`

cdef struct Task:
    TaskKind kind
    Known known
    intp_t which

cdef struct Splits:
    # Trees of any numbering, as `encode_trees` takes them.
    const intp_t *left
    const intp_t *right
    const intp_t *axis
    const int32_t *cut
    const int32_t *n_cuts
    const uint8_t *missing_left
    const int32_t *missing_cell


cdef inline Fate fate_of(const Splits *splits, intp_t node, Known known) noexcept nogil:
    """What a split does with the cells, of whose value on its axis something is known."""
    cdef intp_t axis = splits.axis[node]
    cdef int32_t cut = splits.cut[node]
    # the last cell of values, where there is a cell of missing ones behind it
    cdef int32_t last = splits.missing_cell[axis] - 1
    if known == PRESENT:
        if cut < 0:
            return ALL_RIGHT
        return ALL_LEFT if cut >= splits.n_cuts[axis] or cut == last else CUT
    if known == MISSING:
        return ALL_LEFT if splits.missing_left[node] else ALL_RIGHT
    if splits.missing_left[node]:
        return MISSING_LEFT if cut < last else ALL_LEFT
    return ALL_RIGHT if cut < 0 else CUT


cdef inline void put_off(
    vector[Task] &stack, intp_t axis, intp_t right, Known on_right
) noexcept nogil:
    """Put off the right side of a split that tells something of a value that may be missing."""
    stack.push_back(Task(KNOW, UNKNOWN, axis))
    stack.push_back(Task(WRITE, UNKNOWN, right))
    stack.push_back(Task(KNOW, on_right, axis))


def encode_trees(
    const intp_t[::1] offsets,
    const intp_t[::1] left,
    const intp_t[::1] right,
    const intp_t[::1] axis,
    const int32_t[::1] cut,
    const int32_t[::1] n_cuts,
    const uint8_t[::1] missing_left=None,
    const int32_t[::1] missing_cell=None,
    max_nodes=None,
):
    """Trees over axes from trees of any numbering.

    Splits that send every cell to one side are left out, and so is what they never reach. A split
    that sends the cell of missing values, the last one, left is written as one that tells them
    apart, with the others at its own cut below. Below a split that tells whether a value is
    missing, that is known.

    Parameters
    ----------
    offsets : intp array of shape (n_trees + 1,)
        Root of every tree; `left` and `right` hold ids over all trees, -1 in leaves.
    left, right, axis : intp arrays of shape (n_nodes,)
    cut : int32 array of shape (n_nodes,)
        Cut of the split, anything in leaves; below 0 every cell goes right, from the number of
        cuts on every cell goes left.
    n_cuts : int32 array of shape (n_axes,)
    missing_left : uint8 array of shape (n_nodes,) or None
        Whether a split sends missing values left; None: none does.
    missing_cell : int32 array of shape (n_axes,) or None
        Number of the last cell of an axis on which values may be missing, else -1; None: on all.
    max_nodes : int or None
        None: as many as there are, of which none is written twice.

    Returns
    -------
    nodes : int32 array of shape (n_nodes_new, 3), or None if there are more than `max_nodes`
        The number of a leaf is its old id; where values may be missing, ids can stand in several
        leaves.
    offsets : intp array of shape (n_trees + 1,)
    """
    cdef intp_t t, node, a
    cdef intp_t limit = left.shape[0] if max_nodes is None else max_nodes
    cdef Splits splits
    cdef Task task
    cdef Fate fate
    cdef bint only_missing
    cdef vector[Task] stack
    cdef vector[Known] known
    cdef vector[Node] nodes
    new_offsets = np.zeros(offsets.shape[0], dtype=np.intp)
    cdef intp_t[::1] begin = new_offsets
    if missing_left is None or missing_cell is None:
        missing_left = np.zeros(left.shape[0], dtype=np.uint8)
        missing_cell = np.full(n_cuts.shape[0], -1, dtype=np.int32)
    splits.left, splits.right, splits.axis = &left[0], &right[0], &axis[0]
    splits.cut, splits.n_cuts = &cut[0], &n_cuts[0]
    splits.missing_left, splits.missing_cell = &missing_left[0], &missing_cell[0]
    with nogil:
        nodes.reserve(left.shape[0])
        for a in range(missing_cell.shape[0]):
            known.push_back(PRESENT if missing_cell[a] < 0 else UNKNOWN)
        for t in range(offsets.shape[0] - 1):
            stack.push_back(Task(WRITE, UNKNOWN, offsets[t]))
            while stack.size():
                task = stack.back()
                stack.pop_back()
                if task.kind == KNOW:
                    known[task.which] = task.known
                    continue
                node = task.which
                while left[node] >= 0 and <intp_t> nodes.size() <= limit:
                    a = axis[node]
                    fate = fate_of(&splits, node, known[a])
                    if fate == ALL_LEFT:
                        node = left[node]
                    elif fate == ALL_RIGHT:
                        node = right[node]
                    elif fate == MISSING_LEFT:
                        # missing values go to its left side, the others to the same node again
                        nodes.push_back(Node(<int32_t> a, missing_cell[a] - 1, 1))
                        put_off(stack, a, left[node], MISSING)
                        known[a] = PRESENT
                    else:
                        nodes.push_back(Node(<int32_t> a, cut[node], 1))
                        if known[a] == PRESENT:
                            stack.push_back(Task(WRITE, UNKNOWN, right[node]))
                        else:
                            only_missing = cut[node] == missing_cell[a] - 1
                            put_off(stack, a, right[node], MISSING if only_missing else UNKNOWN)
                            known[a] = PRESENT
                        node = left[node]
                if <intp_t> nodes.size() > limit:
                    break
                nodes.push_back(Node(-1, <int32_t> node, 1))
            begin[t + 1] = nodes.size()
        if <intp_t> nodes.size() <= limit:
            # a subtree ends where its tree ends, so one pass over all trees will do
            set_sizes(nodes)
    if <intp_t> nodes.size() > limit:
        return None, new_offsets
    return nodes_to_array(nodes), new_offsets


def depths(const int32_t[:, ::1] nodes):
    """Depth of every node of one tree, the root's being 0. O(nodes).

    Returns
    -------
    int32 array of shape (n_nodes,)
    """
    depth = np.zeros(nodes.shape[0], dtype=np.int32)
    cdef int32_t[::1] of = depth
    cdef intp_t i
    with nogil:
        for i in range(nodes.shape[0]):
            if nodes[i, 0] >= 0:
                of[i + 1] = of[i] + 1
                of[i + 1 + nodes[i + 1, 2]] = of[i] + 1
    return depth


# ----------------------------------------------------------------- cells

def leaves_of_cells(
    const int32_t[:, ::1] nodes,
    const intp_t[::1] offsets,
    const int32_t[:, ::1] cells,
    intp_t[:, ::1] leaves,  # OUT
):
    """Number of the leaf of each tree in which each cell lies. O(cells * trees * depth).

    Parameters
    ----------
    nodes, offsets : trees over axes
    cells : int32 array of shape (n_cells, n_axes)
    leaves : intp array of shape (n_trees, n_cells)
    """
    cdef:
        const Node *tree = <const Node *> &nodes[0, 0]
        const Node *node
        const int32_t *cell
        intp_t t, c, n_axes = cells.shape[1]
    if cells.shape[0] == 0:
        return
    with nogil:
        for t in range(offsets.shape[0] - 1):
            cell = &cells[0, 0] if n_axes else NULL
            for c in range(cells.shape[0]):
                node = tree + offsets[t]
                while node.axis >= 0:
                    node += 1 if cell[node.axis] <= node.cut else 1 + node[1].size
                leaves[t, c] = node.cut
                cell += n_axes


cdef struct Leaves:
    # Leaves that were found, and the first and last cells of their regions.
    vector[int32_t] at
    vector[int32_t] first
    vector[int32_t] last


cdef void add_leaves(
    const Node *nodes, int32_t at, int32_t *lo, int32_t *hi, intp_t n_axes, Leaves &found
) noexcept nogil:
    """Add the leaves that a region reaches of the subtree at `at`."""
    cdef int32_t axis, cut, saved
    at = restrict_root(nodes, at, lo, hi)
    axis = nodes[at].axis
    cut = nodes[at].cut
    if axis < 0:
        found.at.push_back(at)
        found.first.insert(found.first.end(), lo, lo + n_axes)
        found.last.insert(found.last.end(), hi, hi + n_axes)
        return
    saved = hi[axis]
    hi[axis] = cut
    add_leaves(nodes, at + 1, lo, hi, n_axes, found)
    hi[axis] = saved
    saved = lo[axis]
    lo[axis] = cut + 1
    add_leaves(nodes, right_child(nodes, at), lo, hi, n_axes, found)
    lo[axis] = saved


def leaf_boxes(const int32_t[:, ::1] nodes, const int32_t[::1] lo, const int32_t[::1] hi):
    """The regions of the leaves of one tree inside a region, from left to right.

    O(leaves * (axes + depth)) time, O(leaves * axes) memory.

    Returns
    -------
    at : intp array of shape (n_leaves,)
        Positions of the leaves that the region reaches.
    first, last : int32 arrays of shape (n_leaves, n_axes)
        Their first and last cells.
    """
    cdef intp_t a, n_leaves, n_axes = lo.shape[0]
    cdef vector[int32_t] low, high
    cdef Leaves found
    for a in range(n_axes):
        low.push_back(lo[a])
        high.push_back(hi[a])
    with nogil:
        add_leaves(<const Node *> &nodes[0, 0], 0, low.data(), high.data(), n_axes, found)
    n_leaves = found.at.size()
    return (
        rows_of(found.at.data(), n_leaves, 1)[:, 0].astype(np.intp),
        rows_of(found.first.data(), n_leaves, n_axes),
        rows_of(found.last.data(), n_leaves, n_axes),
    )


# ----------------------------------------------------------------- restricted trees

cdef void copy_restricted(
    const Node *nodes,
    int32_t at,
    int32_t *lo,
    int32_t *hi,
    const intp_t *first,
    vector[Node] &out,
    vector[uint8_t] &used,
) noexcept nogil:
    """Append what a region reaches of the subtree at `at`, and mark the cuts that are left."""
    cdef intp_t here = out.size()
    cdef int32_t axis, cut, saved
    at = restrict_root(nodes, at, lo, hi)
    axis = nodes[at].axis
    cut = nodes[at].cut
    out.push_back(nodes[at])
    out[here].size = 1
    if axis < 0:
        return
    used[first[axis] + cut] = 1
    saved = hi[axis]
    hi[axis] = cut
    copy_restricted(nodes, at + 1, lo, hi, first, out, used)
    hi[axis] = saved
    saved = lo[axis]
    lo[axis] = cut + 1
    copy_restricted(nodes, right_child(nodes, at), lo, hi, first, out, used)
    lo[axis] = saved
    out[here].size = <int32_t> (<intp_t> out.size() - here)


def restrict(
    const int32_t[:, ::1] nodes,
    const intp_t[::1] offsets,
    const int32_t[::1] lo,
    const int32_t[::1] hi,
    const intp_t[::1] also_axis,
    const intp_t[::1] also_cut,
):
    """Trees restricted to a region, over the cuts they still use there.

    O(nodes left * depth + cuts of the region).

    Parameters
    ----------
    nodes, offsets : trees over axes
    lo, hi : int32 arrays of shape (n_axes,)
        The region.
    also_axis, also_cut : intp arrays of shape (n,)
        Cuts to keep as well, inside the region.

    Returns
    -------
    nodes : int32 array of shape (n_nodes_left, 3)
        Axes and cuts are numbered anew; the numbers of leaves stay.
    offsets : intp array of shape (n_trees + 1,)
    axes : intp array
        The axes that still have cuts.
    cuts : list of intp arrays
        The cuts left on each of them, in the numbers of the given trees.
    """
    cdef:
        intp_t n_axes = lo.shape[0]
        intp_t n_trees = offsets.shape[0] - 1
        intp_t a, c, t, i, n, total = 0
        vector[int32_t] low, high, axis_rank, rank
        vector[intp_t] first, kept
        vector[uint8_t] used
        vector[Node] out
        const Node *tree = <const Node *> &nodes[0, 0]
    new_offsets = np.zeros(n_trees + 1, dtype=np.intp)
    cdef intp_t[::1] begin = new_offsets
    axes, cuts = [], []
    with nogil:
        axis_rank.resize(n_axes)
        for a in range(n_axes):
            low.push_back(lo[a])
            high.push_back(hi[a])
            # cut c of axis a has its mark at first[a] + c
            first.push_back(total - lo[a])
            total += hi[a] - lo[a]
        used.assign(total + 1, 0)
        rank.resize(total + 1)
        for t in range(n_trees):
            copy_restricted(
                tree, <int32_t> offsets[t], low.data(), high.data(), first.data(), out, used
            )
            begin[t + 1] = out.size()
        for i in range(also_axis.shape[0]):
            used[first[also_axis[i]] + also_cut[i]] = 1
    cdef intp_t[::1] cut_view
    for a in range(n_axes):
        kept.clear()
        for c in range(lo[a], hi[a]):
            rank[first[a] + c] = <int32_t> kept.size()
            if used[first[a] + c]:
                kept.push_back(c)
        n = kept.size()
        if n:
            axis_rank[a] = <int32_t> len(axes)
            axes.append(a)
            array = np.empty(n, dtype=np.intp)
            cut_view = array
            for i in range(n):
                cut_view[i] = kept[i]
            cuts.append(array)
    with nogil:
        for i in range(<intp_t> out.size()):
            a = out[i].axis
            if a >= 0:
                out[i].axis = axis_rank[a]
                out[i].cut = rank[first[a] + out[i].cut]
    return nodes_to_array(out), new_offsets, np.array(axes, dtype=np.intp), cuts


# ----------------------------------------------------------------- overlay

cdef struct OverlayFrame:
    intp_t at           # where its positions in the k trees begin
    int32_t pos         # its number in the output
    int32_t axis
    int32_t cut
    int32_t saved       # end of the region to restore
    int32_t stage       # 0: to be opened, 1: left child done, 2: right child done


def overlay(
    list trees,
    const int32_t[::1] lo,
    const int32_t[::1] hi,
    *,
    intp_t max_leaves,
):
    """Exact overlay of several trees inside a region; of one tree: the tree restricted to it.

    Splitting on the root of any restricted tree is always possible, so every order ends in one
    leaf for every non-empty intersection of leaves; here the first tree that is left comes first.

    Parameters
    ----------
    trees : list of int32 arrays of shape (n_nodes, 3)
        Trees over axes.
    lo, hi : int32 arrays of shape (n_axes,)
        The region.
    max_leaves : int
        Stop when the overlay has more leaves.

    Returns
    -------
    nodes : int32 array of shape (n_nodes, 3) or None
        Leaves are numbered from left to right. None if a limit stopped the overlay.
    parts : intp array of shape (n_leaves, n_trees)
        Position of the leaf of every tree that a leaf of the overlay lies in.
    """
    cdef intp_t k = len(trees), i, top, n_leaves = 0, polled = 0
    cdef vector[vector[Node]] stored
    cdef vector[const Node*] tree
    cdef vector[Node] out
    cdef vector[OverlayFrame] stack
    cdef vector[int32_t] at, region_lo, region_hi, parts
    cdef OverlayFrame frame
    cdef OverlayFrame* current
    cdef Node node
    cdef int32_t chosen
    cdef bint stopped = False
    stored.resize(k)
    for i in range(k):
        array_to_nodes(trees[i], stored[i])
        tree.push_back(stored[i].data())
    with nogil:
        for i in range(lo.shape[0]):
            region_lo.push_back(lo[i])
            region_hi.push_back(hi[i])
        at.resize(k)
        frame.at = 0
        frame.stage = 0
        stack.push_back(frame)
        while stack.size():
            current = &stack.back()
            top = current.at
            if current.stage == 0:
                polled += 1
                if n_leaves > max_leaves or (polled & 0xffff == 0 and should_stop()):
                    stopped = True
                    break
                chosen = -1
                for i in range(k):
                    at[top + i] = restrict_root(
                        tree[i], at[top + i], region_lo.data(), region_hi.data()
                    )
                    if chosen < 0 and tree[i][at[top + i]].axis >= 0:
                        chosen = <int32_t> i
                current.pos = <int32_t> out.size()
                node.size = 1
                if chosen < 0:
                    node.axis = -1
                    node.cut = <int32_t> n_leaves
                    n_leaves += 1
                    out.push_back(node)
                    for i in range(k):
                        parts.push_back(at[top + i])
                    stack.pop_back()
                    at.resize(top)
                    continue
                node = tree[chosen][at[top + chosen]]
                out.push_back(node)
                current.axis = node.axis
                current.cut = node.cut
                current.stage = 1
                current.saved = region_hi[node.axis]
                region_hi[node.axis] = node.cut
            elif current.stage == 1:
                region_hi[current.axis] = current.saved
                current.saved = region_lo[current.axis]
                region_lo[current.axis] = current.cut + 1
                current.stage = 2
            else:
                region_lo[current.axis] = current.saved
                out[current.pos].size = <int32_t> out.size() - current.pos
                stack.pop_back()
                at.resize(top)
                continue
            frame.at = top + k
            at.resize(top + 2 * k)
            for i in range(k):
                at[top + k + i] = at[top + i]
            stack.push_back(frame)
    if stopped or n_leaves > max_leaves:
        return None, None
    return nodes_to_array(out), rows_of(parts.data(), n_leaves, k).astype(np.intp)
