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

cdef void fill_sizes(Node *nodes, intp_t n) noexcept nogil:
    cdef intp_t i
    for i in range(n - 1, -1, -1):
        nodes[i].size = 1
        if nodes[i].axis >= 0:
            # the right child stands behind all that is below the left one
            nodes[i].size += nodes[i + 1].size
            nodes[i].size += nodes[i + nodes[i].size].size


cdef void set_sizes(vector[Node] &nodes) noexcept nogil:
    fill_sizes(nodes.data(), nodes.size())


cdef object rows_of(const int32_t *numbers, intp_t n, intp_t width):
    array = np.empty((n, width), dtype=np.int32)
    cdef int32_t[:, ::1] view = array
    if n and width:
        memcpy(&view[0, 0], numbers, n * width * sizeof(int32_t))
    return array


cdef object nodes_to_array(const vector[Node] &nodes):
    return rows_of(<const int32_t *> nodes.data(), nodes.size(), 3)


cdef void array_to_nodes(const int32_t[:, ::1] array, vector[Node] &nodes) noexcept nogil:
    # a row of the array is a node as it stands in memory
    nodes.resize(array.shape[0])
    if nodes.size():
        memcpy(nodes.data(), &array[0, 0], nodes.size() * sizeof(Node))


def with_sizes(int32_t[:, ::1] nodes):
    """Fill the column of sizes of one tree, in place, and return its array. O(nodes)."""
    with nogil:
        fill_sizes(<Node *> &nodes[0, 0], nodes.shape[0])
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


# ----------------------------------------------------------------- inside a region

cdef cppclass Walk:
    # A walk through the parts of a region in which each of some trees is one leaf.
    vector[const Node *] trees
    vector[int32_t] lo          # the part that is open: first and last cells
    vector[int32_t] hi
    vector[int32_t] at          # where it lies in each tree, after the same of all parts around it
    vector[Node] out            # the splits, and leaves that are numbered as they come
    vector[int32_t] places      # of each leaf, in each tree
    bint has_boxes              # whether the parts are wanted, too
    vector[int32_t] first
    vector[int32_t] last
    intp_t n_leaves
    intp_t max_leaves           # it ends where there are more, or time is over; -1: nowhere else
    intp_t polled


cdef void begin_walk(
    Walk *w, const int32_t[::1] lo, const int32_t[::1] hi, intp_t max_leaves
) noexcept nogil:
    cdef intp_t a
    w.n_leaves = w.polled = 0
    w.max_leaves, w.has_boxes = max_leaves, False
    for a in range(lo.shape[0]):
        w.lo.push_back(lo[a])
        w.hi.push_back(hi[a])


cdef bint walk_through(Walk *w) except -1 nogil:
    """Walk through the open part, whose place in the trees comes last in `at`; False: a limit."""
    cdef intp_t k = w.trees.size(), top = w.at.size() - k, here = w.out.size(), i, side
    cdef const Node *split = NULL
    cdef const Node *node
    cdef int32_t *end
    cdef int32_t saved
    w.polled += 1
    if w.max_leaves >= 0 and (
        w.n_leaves > w.max_leaves or (w.polled & 0xffff == 0 and should_stop())
    ):
        return False
    for i in range(k):
        w.at[top + i] = restrict_root(w.trees[i], w.at[top + i], w.lo.data(), w.hi.data())
        node = w.trees[i] + w.at[top + i]
        # of splits that are left, that of the first tree
        if split == NULL and node.axis >= 0:
            split = node
    if split == NULL:
        w.out.push_back(Node(-1, <int32_t> w.n_leaves, 1))
        w.n_leaves += 1
        w.places.insert(w.places.end(), w.at.begin() + top, w.at.end())
        if w.has_boxes:
            w.first.insert(w.first.end(), w.lo.begin(), w.lo.end())
            w.last.insert(w.last.end(), w.hi.begin(), w.hi.end())
        return True
    w.out.push_back(split[0])
    for side in range(2):
        for i in range(k):
            w.at.push_back(w.at[top + i])
        end = (w.lo.data() if side else w.hi.data()) + split.axis
        saved = end[0]
        end[0] = split.cut + <int32_t> side
        if not walk_through(w):
            return False
        end[0] = saved
        w.at.resize(top + k)
    w.out[here].size = <int32_t> (<intp_t> w.out.size() - here)
    return True


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
    cdef Walk w
    with nogil:
        begin_walk(&w, lo, hi, -1)
        w.has_boxes = True
        w.trees.push_back(<const Node *> &nodes[0, 0])
        w.at.push_back(0)
        walk_through(&w)
    return (
        rows_of(w.places.data(), w.n_leaves, 1)[:, 0].astype(np.intp),
        rows_of(w.first.data(), w.n_leaves, lo.shape[0]),
        rows_of(w.last.data(), w.n_leaves, lo.shape[0]),
    )


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
        vector[int32_t] axis_rank, rank
        vector[intp_t] first, kept
        vector[uint8_t] used
        const Node *tree = <const Node *> &nodes[0, 0]
        Node *node
        Walk w
    new_offsets = np.zeros(n_trees + 1, dtype=np.intp)
    cdef intp_t[::1] begin = new_offsets
    axes, cuts = [], []
    with nogil:
        axis_rank.resize(n_axes)
        for a in range(n_axes):
            # cut c of axis a has its mark at first[a] + c
            first.push_back(total - lo[a])
            total += hi[a] - lo[a]
        used.assign(total + 1, 0)
        rank.resize(total + 1)
        begin_walk(&w, lo, hi, -1)
        w.trees.push_back(tree)
        for t in range(n_trees):
            w.at.assign(1, <int32_t> offsets[t])
            walk_through(&w)
            begin[t + 1] = w.out.size()
        for i in range(<intp_t> w.out.size()):
            if w.out[i].axis >= 0:
                used[first[w.out[i].axis] + w.out[i].cut] = 1
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
        for i in range(<intp_t> w.out.size()):
            node = &w.out[i]
            if node.axis < 0:
                node.cut = tree[w.places[node.cut]].cut
            else:
                node.cut = rank[first[node.axis] + node.cut]
                node.axis = axis_rank[node.axis]
    return nodes_to_array(w.out), new_offsets, np.array(axes, dtype=np.intp), cuts


# ----------------------------------------------------------------- overlay

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
    cdef vector[vector[Node]] stored
    cdef Walk w
    cdef intp_t k = len(trees), i
    cdef bint is_whole
    stored.resize(k)
    for i in range(k):
        array_to_nodes(trees[i], stored[i])
        w.trees.push_back(stored[i].data())
    with nogil:
        begin_walk(&w, lo, hi, max_leaves)
        w.at.assign(k, 0)
        is_whole = walk_through(&w)
    if not is_whole or w.n_leaves > max_leaves:
        return None, None
    return nodes_to_array(w.out), rows_of(w.places.data(), w.n_leaves, k).astype(np.intp)
