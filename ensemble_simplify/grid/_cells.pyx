"""Cells: what a forest says on every cell of a region, and where the classes of cells change.

Cells, regions and trees over axes are those of `_regions.pyx`. Grids of cells are stored in C
order: the last axis is contiguous.
"""

from libcpp.vector cimport vector

from ensemble_simplify.grid._regions cimport Node, right_child
from ensemble_simplify._typedefs cimport FREE as FREE_LABEL
from ensemble_simplify._typedefs cimport float64_t, int32_t, intp_t, uint8_t, uint64_t

# Class of the cells whose class is free: no input that can occur lies in them.
FREE = <int> FREE_LABEL


cdef struct Painter:
    const Node *nodes
    const float64_t *value
    intp_t n_scores
    # the region being painted, and where it starts
    intp_t n_axes
    const int32_t *first
    const intp_t *stride      # cells between neighbours on an axis, inside the painted region
    int32_t *lo
    int32_t *hi
    int32_t *at
    float64_t *sums           # OUT, (cells of the region, n_scores)


cdef inline void add_run(
        float64_t *out, intp_t run, const float64_t *vote, intp_t n_scores) noexcept nogil:
    """Add a vote to `run` neighbouring cells; the usual numbers of scores in loops of their own."""
    cdef intp_t i, s
    cdef float64_t a = vote[0], b, c
    if n_scores == 1:
        for i in range(run):
            out[i] += a
    elif n_scores == 2:
        b = vote[1]
        for i in range(run):
            out[2 * i] += a
            out[2 * i + 1] += b
    elif n_scores == 3:
        b = vote[1]
        c = vote[2]
        for i in range(run):
            out[3 * i] += a
            out[3 * i + 1] += b
            out[3 * i + 2] += c
    else:
        for i in range(run):
            for s in range(n_scores):
                out[i * n_scores + s] += vote[s]


cdef void add_to_region(Painter *p, const float64_t *vote) noexcept nogil:
    """Add one leaf's vote to every cell of the region lo..hi."""
    cdef:
        intp_t last = p.n_axes - 1
        intp_t a, s, run, offset
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
        add_run(p.sums + offset * p.n_scores, run, vote, p.n_scores)
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


cdef void paint_node(Painter *p, int32_t node) noexcept nogil:
    cdef:
        int32_t axis = p.nodes[node].axis
        int32_t cut = p.nodes[node].cut
        int32_t saved
    if axis < 0:
        add_to_region(p, p.value + cut * p.n_scores)
        return
    if p.lo[axis] <= cut:
        saved = p.hi[axis]
        p.hi[axis] = min(saved, cut)
        paint_node(p, node + 1)
        p.hi[axis] = saved
    if p.hi[axis] > cut:
        saved = p.lo[axis]
        p.lo[axis] = max(saved, cut + 1)
        paint_node(p, right_child(p.nodes, node))
        p.lo[axis] = saved


def paint(
    const int32_t[:, ::1] nodes,
    const intp_t[::1] roots,
    const float64_t[:, ::1] value,
    const int32_t[::1] lo,
    const int32_t[::1] hi,
    float64_t[:, ::1] sums,  # IN / OUT
):
    """Add the leaf votes of some trees, in their order, to every cell of a region.

    Each tree's leaves are painted as regions, so a tree costs one addition a cell and score,
    whatever its size: O(trees * cells * scores).

    Parameters
    ----------
    nodes : int32 array of shape (n_nodes, 3)
        Trees over axes.
    roots : intp array of shape (n_trees,)
        Where the trees to be added begin.
    value : float64 array of shape (n_leaf_numbers, n_scores)
        Votes by the number of a leaf.
    lo, hi : int32 arrays of shape (n_axes,)
        The region.
    sums : float64 array of shape (cells of the region, n_scores), changed in place
    """
    cdef:
        Painter p
        intp_t n_axes = lo.shape[0]
        intp_t a, t, n_cells = 1
        vector[int32_t] scratch
        vector[intp_t] stride
    scratch.resize(3 * n_axes + 1)
    stride.resize(n_axes)
    for a in range(n_axes - 1, -1, -1):
        stride[a] = n_cells
        n_cells *= hi[a] - lo[a] + 1
    if sums.shape[0] != n_cells or sums.shape[1] != value.shape[1]:
        raise ValueError("sums must have a row for each cell of the region and a column a score")
    if roots.shape[0] == 0 or n_cells == 0:
        return
    p.n_axes = n_axes
    p.n_scores = value.shape[1]
    p.lo = scratch.data()
    p.hi = p.lo + n_axes
    p.at = p.hi + n_axes
    p.stride = stride.data()
    p.nodes = <const Node *> &nodes[0, 0]
    p.value = &value[0, 0]
    p.first = &lo[0] if n_axes else NULL
    p.sums = &sums[0, 0]
    with nogil:
        for t in range(roots.shape[0]):
            for a in range(n_axes):
                p.lo[a] = lo[a]
                p.hi[a] = hi[a]
            paint_node(&p, <int32_t> roots[t])


cdef void add_to_line(
        const Node *nodes, int32_t node, const int32_t *cell, intp_t axis, intp_t first,
        intp_t last, const float64_t *value, intp_t n_scores, float64_t *sums) noexcept nogil:
    """Add a tree's votes to the cells first..last of the line along `axis` through a cell."""
    while nodes[node].axis >= 0:
        if nodes[node].axis != axis:
            if cell[nodes[node].axis] <= nodes[node].cut:
                node += 1
            else:
                node = right_child(nodes, node)
        elif last <= nodes[node].cut:
            node += 1
        elif first > nodes[node].cut:
            node = right_child(nodes, node)
        else:
            add_to_line(
                nodes, node + 1, cell, axis, first, nodes[node].cut, value, n_scores, sums)
            first = nodes[node].cut + 1
            node = right_child(nodes, node)
    add_run(
        sums + first * n_scores, last - first + 1, value + nodes[node].cut * n_scores, n_scores)


def paint_lines(
    const int32_t[:, ::1] nodes,
    const intp_t[::1] roots,
    const float64_t[:, ::1] value,
    const int32_t[:, ::1] cells,
    intp_t axis,
    intp_t length,
    float64_t[:, ::1] sums,  # IN / OUT
):
    """Add the leaf votes of some trees, in their order, to every cell of some lines.

    Parameters
    ----------
    nodes, roots, value
        As for `paint`.
    cells : int32 array of shape (n_lines, n_axes)
        A cell on each line.
    axis : int
        The axis along which the lines run.
    length : int
        Cells on that axis.
    sums : float64 array of shape (n_lines * length, n_scores), changed in place
    """
    cdef intp_t i, t, n_scores = value.shape[1]
    cdef const Node *tree
    if sums.shape[0] != cells.shape[0] * length or sums.shape[1] != n_scores:
        raise ValueError("sums must have a row for each cell of the lines and a column a score")
    if roots.shape[0] == 0 or cells.shape[0] == 0:
        return
    tree = <const Node *> &nodes[0, 0]
    with nogil:
        for i in range(cells.shape[0]):
            for t in range(roots.shape[0]):
                add_to_line(
                    tree, <int32_t> roots[t], &cells[i, 0], axis, 0, length - 1,
                    &value[0, 0], n_scores, &sums[i * length, 0])


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
