"""Cells: the boxes between neighbouring cut points, and what a forest says on them.

An *axis* is a feature's sorted cut points; a *cell* is one box between neighbouring cut
points on every axis; a *box* of cells is given by its first and last cell on every axis.
Grids are stored in C order: the last axis is contiguous.
"""

from libc.stdlib cimport free, malloc
from libcpp.vector cimport vector

from ensemble_simplify._typedefs cimport FREE as FREE_LABEL
from ensemble_simplify._typedefs cimport float64_t, intp_t, uint8_t, uint64_t

# Class of the cells whose class is free: no input that can occur lies in them.
FREE = <int> FREE_LABEL


class Stopped(Exception):
    """The time limit was reached before the search ended."""


cdef struct Painter:
    # trees
    const intp_t *left
    const intp_t *right
    const intp_t *axis        # axis of the split, -1 in leaves
    const intp_t *cut         # x goes left iff its cell on that axis is <= cut
    const float64_t *value
    intp_t n_scores
    # the box being painted, and where it starts
    intp_t n_axes
    const intp_t *first
    const intp_t *stride      # cells between neighbours on an axis, inside the painted box
    intp_t *lo
    intp_t *hi
    intp_t *at
    float64_t *sums           # OUT, (cells of the box, n_scores)


cdef void add_to_box(Painter *p, const float64_t *vote) noexcept nogil:
    """Add one leaf's vote to every cell of the box lo..hi."""
    cdef:
        intp_t last = p.n_axes - 1
        intp_t a, i, s, run, offset
        float64_t v
        float64_t *out
    if last < 0:
        for s in range(p.n_scores):
            p.sums[s] += vote[s]
        return
    run = p.hi[last] - p.lo[last] + 1
    offset = 0
    for a in range(p.n_axes):
        p.at[a] = p.lo[a]
        offset += (p.lo[a] - p.first[a]) * p.stride[a]
    while True:
        out = p.sums + offset * p.n_scores
        if p.n_scores == 1:
            v = vote[0]
            for i in range(run):
                out[i] += v
        else:
            for i in range(run):
                for s in range(p.n_scores):
                    out[i * p.n_scores + s] += vote[s]
        # step the odometer over all axes but the last
        a = last - 1
        while a >= 0:
            if p.at[a] < p.hi[a]:
                p.at[a] += 1
                offset += p.stride[a]
                break
            offset -= (p.hi[a] - p.lo[a]) * p.stride[a]
            p.at[a] = p.lo[a]
            a -= 1
        if a < 0:
            return


cdef void paint_node(Painter *p, intp_t node) noexcept nogil:
    cdef:
        intp_t axis = p.axis[node]
        intp_t cut, saved
    if axis < 0:
        add_to_box(p, p.value + node * p.n_scores)
        return
    cut = p.cut[node]
    if p.lo[axis] <= cut:
        saved = p.hi[axis]
        if cut < saved:
            p.hi[axis] = cut
        paint_node(p, p.left[node])
        p.hi[axis] = saved
    if p.hi[axis] > cut:
        saved = p.lo[axis]
        if cut + 1 > saved:
            p.lo[axis] = cut + 1
        paint_node(p, p.right[node])
        p.lo[axis] = saved


def paint(
    const intp_t[::1] left,
    const intp_t[::1] right,
    const intp_t[::1] axis,
    const intp_t[::1] cut,
    const float64_t[:, ::1] value,
    const intp_t[::1] roots,
    const intp_t[::1] first,
    const intp_t[::1] last,
    float64_t[:, ::1] sums,  # IN / OUT
):
    """Add the leaf votes of some trees, in their order, to every cell of a box.

    Each tree's leaves are painted as boxes, so a tree costs one addition a cell and
    score, whatever its size: O(trees * cells * scores).

    Parameters
    ----------
    left, right, axis, cut : (n_nodes,) arrays
        Trees over axes: a cell goes left iff its index on `axis` is at most `cut`
        (-1: never, number of cuts: always); `axis` is -1 in leaves.
    value : (n_nodes, n_scores) array
    roots : (n_trees,) array of node ids
    first, last : (n_axes,) arrays
        The box's first and last cell on every axis.
    sums : (cells of the box, n_scores) array, changed in place
    """
    cdef:
        Painter p
        intp_t n_axes = first.shape[0]
        intp_t a, t, n_cells = 1
        intp_t *scratch = <intp_t *> malloc((4 * n_axes + 1) * sizeof(intp_t))
    if scratch == NULL:
        raise MemoryError
    try:
        p.n_axes = n_axes
        p.n_scores = value.shape[1]
        p.lo = scratch
        p.hi = scratch + n_axes
        p.at = scratch + 2 * n_axes
        p.stride = scratch + 3 * n_axes
        for a in range(n_axes - 1, -1, -1):
            (<intp_t *> p.stride)[a] = n_cells
            n_cells *= last[a] - first[a] + 1
        if sums.shape[0] != n_cells or sums.shape[1] != value.shape[1]:
            raise ValueError("sums must have a row for each cell of the box and a column a score")
        if roots.shape[0] == 0 or n_cells == 0:
            return
        p.left = &left[0]
        p.right = &right[0]
        p.axis = &axis[0]
        p.cut = &cut[0]
        p.value = &value[0, 0]
        p.first = &first[0] if n_axes else NULL
        p.sums = &sums[0, 0]
        with nogil:
            for t in range(roots.shape[0]):
                for a in range(n_axes):
                    p.lo[a] = first[a]
                    p.hi[a] = last[a]
                paint_node(&p, roots[t])
    finally:
        free(scratch)


ctypedef fused label_t:
    unsigned char
    unsigned short


def changes_across(const label_t[::1] labels, intp_t before, intp_t length, intp_t after):
    """Which cuts of one axis separate two neighbouring cells of different class.

    Parameters
    ----------
    labels : (before * length * after,) array
        Class of each cell; the axis has `length` cells, `after` cells lie between two
        neighbours on it.

    Returns
    -------
    bytearray of length ``length - 1``, 1 where the cut matters. O(cells).
    """
    cdef:
        bytearray result = bytearray(max(length - 1, 0))
        uint8_t[::1] changes = result
        intp_t b, k, i
        const label_t *here
        const label_t *there
        uint8_t change
    if length < 2 or before == 0 or after == 0:
        return result
    with nogil:
        for b in range(before):
            for k in range(length - 1):
                if changes[k]:
                    continue
                here = &labels[(b * length + k) * after]
                there = here + after
                change = 0
                for i in range(after):
                    change |= here[i] != there[i]
                changes[k] = change
    return result


def change_masks(
    const label_t[::1] labels,
    const intp_t[::1] shape,
    const intp_t[::1] word,
    const intp_t[::1] shift,
    uint64_t[:, ::1] masks,  # OUT, zeros
):
    """For each cell, the cuts just above it across which the class changes, as a bit mask.

    Cell c on axis a has cut c above it, which is bit ``shift[a] + c`` counted from word
    ``word[a]``. O(cells * axes).
    """
    cdef:
        intp_t a, b, k, i, at, bit, before = 1, after = labels.shape[0]
        intp_t n_axes = shape.shape[0]
        uint64_t one = 1
    with nogil:
        for a in range(n_axes):
            after = after // shape[a]
            for b in range(before):
                for k in range(shape[a] - 1):
                    bit = shift[a] + k
                    at = (b * shape[a] + k) * after
                    for i in range(at, at + after):
                        if labels[i] != labels[i + after]:
                            masks[i, word[a] + (bit >> 6)] |= one << (bit & 63)
            before *= shape[a]


def class_counts(const label_t[::1] labels, const intp_t[::1] shape, intp_t[:, ::1] counts):
    """Count the cells of each class at each position of each axis.

    Parameters
    ----------
    labels : (n_cells,) array
    shape : (n_axes,) array
    counts : (sum of shape, n_classes) array of zeros, changed in place
        Positions of the first axis, then of the second, and so on.
    """
    cdef:
        intp_t n_axes = shape.shape[0]
        intp_t a, b, k, i, base = 0, before = 1, after = labels.shape[0]
        const label_t *run
    with nogil:
        for a in range(n_axes):
            after = after // shape[a]
            for b in range(before):
                for k in range(shape[a]):
                    run = &labels[(b * shape[a] + k) * after]
                    for i in range(after):
                        counts[base + k, run[i]] += 1
            before *= shape[a]
            base += shape[a]


def leaves_of_cells(
    const intp_t[::1] left,
    const intp_t[::1] right,
    const intp_t[::1] axis,
    const intp_t[::1] cut,
    const intp_t[::1] roots,
    const intp_t[:, ::1] cells,
    intp_t[:, ::1] leaves,  # OUT
):
    """Leaf of each tree in which each cell lies; ``leaves`` has shape (n_trees, n_cells)."""
    cdef intp_t t, c, node
    with nogil:
        for t in range(roots.shape[0]):
            for c in range(cells.shape[0]):
                node = roots[t]
                while axis[node] >= 0:
                    node = left[node] if cells[c, axis[node]] <= cut[node] else right[node]
                leaves[t, c] = node


cdef struct Reach:
    const intp_t *left
    const intp_t *right
    const intp_t *axis
    const intp_t *cut
    intp_t *lo
    intp_t *hi


cdef intp_t reach_node(
        Reach *r, intp_t node, vector[intp_t] *out, vector[vector[uint8_t]] *used) noexcept nogil:
    """Copy what a box reaches of a subtree, decided splits passed through; its new number."""
    cdef intp_t axis, cut, saved, new, child
    while True:
        axis = r.axis[node]
        if axis < 0:
            break
        cut = r.cut[node]
        if r.hi[axis] <= cut:
            node = r.left[node]
        elif r.lo[axis] > cut:
            node = r.right[node]
        else:
            break
    # a node is five numbers: left, right, axis, cut, origin
    new = out.size() // 5
    for child in range(4):
        out.push_back(-1)
    out.push_back(node)
    if axis < 0:
        return new
    used[0][axis][cut] = 1
    out[0][5 * new + 2] = axis
    out[0][5 * new + 3] = cut
    saved = r.hi[axis]
    r.hi[axis] = cut
    child = reach_node(r, r.left[node], out, used)
    out[0][5 * new] = child
    r.hi[axis] = saved
    saved = r.lo[axis]
    r.lo[axis] = cut + 1
    child = reach_node(r, r.right[node], out, used)
    out[0][5 * new + 1] = child
    r.lo[axis] = saved
    return new


def restrict(
    const intp_t[::1] left,
    const intp_t[::1] right,
    const intp_t[::1] axis,
    const intp_t[::1] cut,
    const intp_t[::1] roots,
    const intp_t[::1] first,
    const intp_t[::1] last,
    const intp_t[::1] also_axis,
    const intp_t[::1] also_cut,
):
    """The parts of trees that a box of cells reaches, over the cuts they still use.

    Parameters
    ----------
    left, right, axis, cut, roots : trees over axes, as for `paint`
    first, last : (n_axes,) arrays
        The box.
    also_axis, also_cut : (n,) arrays
        Cuts to keep as well, inside the box.

    Returns
    -------
    roots : list of int
    nodes : list of lists
        ``[left, right, axis, cut, origin]`` of each node; axes and cuts are renumbered.
    axes : list of int
        The axes still used.
    cuts : list of lists
        The cuts still used of each of these axes, in the numbers of the given trees.
    """
    cdef:
        intp_t n_axes = first.shape[0]
        intp_t a, c, t, i, n
        vector[intp_t] lo, hi, out, new_roots, axis_rank
        vector[vector[uint8_t]] used
        vector[vector[intp_t]] rank
        Reach r
    lo.resize(n_axes + 1)
    hi.resize(n_axes + 1)
    used.resize(n_axes)
    rank.resize(n_axes)
    axis_rank.resize(n_axes + 1)
    with nogil:
        for a in range(n_axes):
            lo[a] = first[a]
            hi[a] = last[a]
            used[a].resize(last[a] + 1)
        r.left = &left[0]
        r.right = &right[0]
        r.axis = &axis[0]
        r.cut = &cut[0]
        r.lo = lo.data()
        r.hi = hi.data()
        for t in range(roots.shape[0]):
            new_roots.push_back(reach_node(&r, roots[t], &out, &used))
        for i in range(also_axis.shape[0]):
            used[also_axis[i]][also_cut[i]] = 1
    axes, cuts = [], []
    for a in range(n_axes):
        rank[a].resize(used[a].size())
        kept = []
        for c in range(<intp_t> used[a].size()):
            rank[a][c] = len(kept)
            if used[a][c]:
                kept.append(c)
        if kept:
            axis_rank[a] = len(axes)
            axes.append(a)
            cuts.append(kept)
    n = out.size() // 5
    nodes = []
    for i in range(n):
        a = out[5 * i + 2]
        if a >= 0:
            nodes.append([out[5 * i], out[5 * i + 1], axis_rank[a], rank[a][out[5 * i + 3]],
                          out[5 * i + 4]])
        else:
            nodes.append([-1, -1, -1, -1, out[5 * i + 4]])
    return new_roots, nodes, axes, cuts
