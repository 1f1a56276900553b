"""Exact born-again search: the smallest tree of every region of a grid of cells.

Regions are boxes of cells. The value of a region (depth, or number of splits, of its smallest
tree) is 0 if it holds one class, else one plus the best join of two parts over all splits.
All regions are solved, small ones first, in tables that compilers vectorise.

Regions of equal function are stored once, as far as that costs no search: the axes are divided
into *outer* and *inner* ones. For each box of the outer axes only those inner cuts are kept
across which a class changes somewhere in the box, and outer boxes whose border slab repeats
its neighbour share the smaller box's block. A block holds all boxes of the remaining inner
cells; its last axes form *rows*, the unit of the vector loops in ``_dp_rows.h``.
"""

import numpy as np

from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint16_t, uint64_t
from libc.stdlib cimport free, malloc
from libcpp.vector cimport vector

from ensemble_simplify._cells import Stopped
from ensemble_simplify._typedefs cimport FREE, intp_t, now, should_stop

cdef extern from "_dp_rows.h" nogil:
    T es_mixed[T](T like)
    T es_infinite[T](T like)
    T es_join[T](T a, T b)
    T es_merge[T](T a, T b)
    T es_plus_one[T](T a)
    void es_join_min[T](T *acc, const T *a, const T *b, intp_t n)
    void es_join_min_mapped[T](
        T *acc, const T *a, const int32_t *ia, const T *b, const int32_t *ib, intp_t n)
    void es_merge_mapped[T](
        T *out, const T *a, const int32_t *ia, const T *b, const int32_t *ib, intp_t n, int free)
    void es_finish_row[T](
        T *row, const T *acc, const int32_t *start, const int32_t *left, const int32_t *right,
        intp_t n)
    int es_next_row[T](
        T *row, const T *below, const T *acc, const int32_t *start, const int32_t *left,
        const int32_t *right, intp_t n)
    void es_finish_axis[T](T *row, T *acc, intp_t n)
    int es_next_axis[T](T *row, const T *below, T *acc, intp_t n)
    int es_popcount(uint64_t x)

# Unsigned: depth. Signed: number of splits. The wider types are for many classes or splits.
ctypedef fused value_t:
    uint8_t
    uint16_t
    int16_t
    int32_t

cdef enum:
    MAX_AXES = 64
    # Entries of a block worked on at a time; their accumulator stays in the first-level cache.
    CHUNK = 8192
    # Cells of an axis whose splits are not listed: their lists grow with the fourth power.
    LONG_AXIS = 16
    # Joins between two looks at the clock.
    POLL = 4000000


cdef enum Kind:
    DEPTH_8
    DEPTH_16
    SPLITS_16
    SPLITS_32


# ---------------------------------------------------------------------------- intervals of cells

cdef inline intp_t n_intervals(intp_t n) noexcept nogil:
    return n * (n + 1) // 2


cdef inline intp_t interval_id(intp_t n, intp_t start, intp_t length) noexcept nogil:
    """Intervals of an axis of n cells, numbered by length, then by start."""
    return (length - 1) * (n + 1) - (length - 1) * length // 2 + start


cdef struct Interval:
    intp_t start
    intp_t length


cdef inline Interval interval_of(intp_t n, intp_t id) noexcept nogil:
    """The interval of a number."""
    cdef Interval iv
    iv.length = 1
    while id >= n - iv.length + 1:
        id -= n - iv.length + 1
        iv.length += 1
    iv.start = id
    return iv


cdef inline intp_t sides_of(Interval iv, intp_t n) noexcept nogil:
    """How many ends of an interval are not ends of the axis."""
    return (iv.start > 0) + (iv.start + iv.length < n)


# ------------------------------------------------------------------------------------- the layout

cdef struct Child:
    # one side of an outer split, seen from the block that is being solved
    intp_t box
    bint same          # its block has the layout of ours
    bint same_row      # its rows have the layout of ours
    intp_t lead        # where its maps of leading ids start in `maps`
    intp_t row         # where its map of row entries starts in `row_maps`


cdef struct RowProgram:
    # the splits inside a row: entry e has parts left[x], right[x], start[e] <= x < start[e + 1]
    vector[int32_t] start
    vector[int32_t] left
    vector[int32_t] right


cdef struct Block:
    # the block of one outer box; arrays over inner axes
    intp_t n_cells[MAX_AXES]
    intp_t n_ids[MAX_AXES]
    intp_t stride[MAX_AXES]
    intp_t row_size
    intp_t n_rows
    intp_t size
    intp_t n_map        # sum of n_ids


cdef struct Split:
    intp_t axis      # in programme order, -1: none
    intp_t cut
    int64_t join


cdef struct Work:
    # scratch memory, and the block at hand
    intp_t box
    Block block
    intp_t lo[MAX_AXES]
    vector[Child] children
    vector[intp_t] maps
    vector[int32_t] row_maps
    vector[intp_t] cell_map   # of one axis
    intp_t until_poll
    double deadline


cdef inline const int32_t *row_map(const Work *work, const Child *child) noexcept nogil:
    """Where the entries of our rows lie in a child's rows; null: in the same order."""
    if child.same_row:
        return NULL
    return &work.row_maps[child.row]


cdef class Programme:
    """The regions of a labelled grid, laid out for the dynamic programme.

    Parameters
    ----------
    labels : C-contiguous uint8 or uint16 array
        Class of each cell, or `FREE`; no axis of length 1.
    masks : (n_cells, n_words) uint64 array
        From ``_cells.change_masks``.
    word, shift : (n_axes,) arrays
        Where each axis's cuts lie in a mask.
    outer, inner : lists of axes
        How the axes are divided; the last `n_row` inner axes form the rows.

    Attributes
    ----------
    shape : tuple of int
        Cells on each axis.
    n_states : int
        Regions stored after those of equal function are merged.
    cost : float
        Forecast of the work of one pass, in nanoseconds of a 2020s core.
    """

    cdef:
        readonly object shape
        readonly intp_t n_states
        readonly double cost
        object labels_
        const uint16_t[::1] labels
        bint has_free
        list outer_axes, inner_axes
        intp_t n_axes, n_outer, n_inner, n_lead, n_words, n_boxes
        # arrays over axes in programme order: outer axes first
        intp_t axis[MAX_AXES]
        intp_t size[MAX_AXES]
        intp_t cell_stride[MAX_AXES]
        intp_t word[MAX_AXES]
        intp_t shift[MAX_AXES]
        # outer boxes
        intp_t box_stride[MAX_AXES]
        vector[vector[Interval]] intervals
        uint64_t[:, ::1] mask
        int32_t[::1] canon
        uint8_t[::1] sides
        int64_t[::1] offset
        # row programmes by the shape of the row
        vector[RowProgram] programs
        vector[intp_t] program_of

    def __init__(self, labels, masks, word, shift, outer, inner, n_row):
        cdef intp_t i, a, stride
        order = [*outer, *inner]
        self.shape = labels.shape
        self.n_axes = len(order)
        if self.n_axes > MAX_AXES:
            raise ValueError(f"more than {MAX_AXES} axes")
        self.labels = np.ascontiguousarray(labels, dtype=np.uint16).reshape(-1)
        self.has_free = labels.max() == FREE
        self.outer_axes, self.inner_axes = list(outer), list(inner)
        self.n_outer, self.n_inner = len(outer), len(inner)
        self.n_lead = self.n_inner - n_row
        self.n_words = masks.shape[1]
        strides = [int(np.prod(labels.shape[a + 1:], dtype=np.int64)) for a in range(self.n_axes)]
        self.n_boxes = 1
        for i in range(self.n_axes - 1, -1, -1):
            a = order[i]
            self.axis[i] = a
            self.size[i] = labels.shape[a]
            self.cell_stride[i] = strides[a]
            self.word[i] = word[a]
            self.shift[i] = shift[a]
            if i < self.n_outer:
                self.box_stride[i] = self.n_boxes
                self.n_boxes *= n_intervals(self.size[i])
        self._number_intervals()
        self._merge_boxes(masks)
        self._place_blocks()

    cdef _number_intervals(self):
        cdef intp_t i, id
        self.intervals.resize(self.n_outer)
        for i in range(self.n_outer):
            for id in range(n_intervals(self.size[i])):
                self.intervals[i].push_back(interval_of(self.size[i], id))

    cdef _merge_boxes(self, const uint64_t[:, ::1] cell_masks):
        """Cuts that matter inside each outer box, and the box that stands for it."""
        cdef:
            intp_t n_words = self.n_words
            intp_t n_cells = cell_masks.shape[0]
            intp_t box, a, b, i, w, cell, at, n, bit
            intp_t position[MAX_AXES]
            intp_t contribution[MAX_AXES]
            intp_t n_axes = self.n_axes
            intp_t by_axis[MAX_AXES]
            uint64_t one = 1
        self.mask = np.zeros((self.n_boxes, n_words), dtype=np.uint64)
        self.canon = np.empty(self.n_boxes, dtype=np.int32)
        self.sides = np.empty(self.n_boxes, dtype=np.uint8)
        # unit boxes: the union over the cells of all inner axes (cells in C order of the grid)
        for i in range(n_axes):
            contribution[self.axis[i]] = self.box_stride[i] if i < self.n_outer else 0
            by_axis[self.axis[i]] = self.size[i]
        with nogil:
            for a in range(n_axes):
                position[a] = 0
            box = 0
            for cell in range(n_cells):
                for w in range(n_words):
                    self.mask[box, w] |= cell_masks[cell, w]
                a = n_axes - 1
                while a >= 0:
                    position[a] += 1
                    box += contribution[a]
                    if position[a] < by_axis[a]:
                        break
                    box -= by_axis[a] * contribution[a]
                    position[a] = 0
                    a -= 1
            # larger boxes: the union of all but the last slab and the last slab
            for box in range(self.n_boxes):
                at = box
                for i in range(self.n_outer):
                    a = at // self.box_stride[i]
                    at -= a * self.box_stride[i]
                    n = self.intervals[i][a].length
                    if n == 1:
                        continue
                    b = self.intervals[i][a].start
                    for w in range(n_words):
                        self.mask[box, w] = (
                            self.mask[
                                box + (interval_id(self.size[i], b, n - 1) - a)
                                * self.box_stride[i], w]
                            | self.mask[
                                box + (interval_id(self.size[i], b + n - 1, 1) - a)
                                * self.box_stride[i], w]
                        )
                    break
            # the cut above the last slab is not inside the box
            for box in range(self.n_boxes):
                at = box
                for i in range(self.n_outer):
                    a = at // self.box_stride[i]
                    at -= a * self.box_stride[i]
                    n = self.intervals[i][a].start + self.intervals[i][a].length
                    if n == self.size[i]:
                        continue
                    bit = self.shift[i] + n - 1
                    self.mask[box, self.word[i] + (bit >> 6)] &= ~(one << (bit & 63))
            # a border slab that repeats its neighbour can go: the smaller box stands for both
            for box in range(self.n_boxes):
                self.canon[box] = <int32_t> box
                self.sides[box] = 0
                at = box
                for i in range(self.n_outer):
                    a = at // self.box_stride[i]
                    at -= a * self.box_stride[i]
                    self.sides[box] += sides_of(self.intervals[i][a], self.size[i])
                at = box
                for i in range(self.n_outer):
                    a = at // self.box_stride[i]
                    at -= a * self.box_stride[i]
                    n = self.intervals[i][a].length
                    if n == 1:
                        continue
                    b = self.intervals[i][a].start
                    if not self.has_cut(box, i, b):
                        b += 1
                    elif self.has_cut(box, i, b + n - 2):
                        continue
                    self.canon[box] = self.canon[
                        box + (interval_id(self.size[i], b, n - 1) - a) * self.box_stride[i]]
                    break
            for box in range(self.n_boxes):
                at = self.canon[box]
                self.sides[at] = min(self.sides[at], self.sides[box])

    cdef void spread_sides(self) noexcept nogil:
        """Let no part of a box be further from the whole grid than one split.

        Boxes of one function can have several canonical boxes, so that counting sides is not
        enough.
        """
        cdef:
            Work work
            intp_t step, box, i, part
        for step in range(self.n_boxes):
            box = self.n_boxes - 1 - step
            if self.canon[box] != box:
                continue
            self.list_parts(box, &work)
            for i in range(<intp_t> work.children.size()):
                part = work.children[i].box
                self.sides[part] = <uint8_t> min(self.sides[part], self.sides[box] + 1)

    cdef inline bint has_cut(self, intp_t box, intp_t i, intp_t cut) noexcept nogil:
        cdef intp_t bit = self.shift[i] + cut
        return (self.mask[box, self.word[i] + (bit >> 6)] >> (bit & 63)) & 1

    cdef inline intp_t cuts_below(self, intp_t box, intp_t i, intp_t cell) noexcept nogil:
        """How many kept cuts of an axis lie below a cell: the cell's index in the box's block."""
        cdef:
            intp_t first = self.shift[i]
            intp_t end = first + cell
            intp_t w = self.word[i]
            intp_t count = 0
            uint64_t bits, one = 1
        while first < end:
            bits = self.mask[box, w + (first >> 6)] >> (first & 63)
            if end - first < 64:
                bits &= (one << (end - first)) - 1
            count += es_popcount(bits)
            first = ((first >> 6) + 1) << 6
        return count

    cdef void describe(self, intp_t box, Block *block) noexcept nogil:
        cdef intp_t j, n
        block.size = 1
        block.row_size = 1
        block.n_map = 0
        for j in range(self.n_inner - 1, -1, -1):
            n = self.cuts_below(box, self.n_outer + j, self.size[self.n_outer + j] - 1) + 1
            block.n_cells[j] = n
            block.n_ids[j] = n_intervals(n)
            block.n_map += block.n_ids[j]
            block.stride[j] = block.size
            block.size *= block.n_ids[j]
            if j >= self.n_lead:
                block.row_size = block.size
        block.n_rows = block.size // block.row_size

    cdef inline bint has_long_rows(self) noexcept nogil:
        """Whether rows have one axis with too many splits to list them."""
        return self.n_inner - self.n_lead == 1 and self.size[self.n_axes - 1] > LONG_AXIS

    cdef void prepare_rows(self) noexcept nogil:
        """Splits inside a row, for every shape that a row can take."""
        cdef:
            intp_t shapes = 1
            intp_t shape, rest, j, i, e, size, id, k, stride
            intp_t cells[MAX_AXES]
            RowProgram *program
            Interval iv
        if self.programs.size() or self.has_long_rows():
            return
        for j in range(self.n_lead, self.n_inner):
            shapes *= self.size[self.n_outer + j]
        self.programs.resize(shapes)
        for shape in range(shapes):
            rest = shape
            size = 1
            for j in range(self.n_inner - 1, self.n_lead - 1, -1):
                i = self.n_outer + j
                cells[j] = rest % self.size[i] + 1
                rest //= self.size[i]
                size *= n_intervals(cells[j])
            program = &self.programs[shape]
            program.start.push_back(0)
            for e in range(size):
                rest = e
                stride = 1
                for j in range(self.n_inner - 1, self.n_lead - 1, -1):
                    id = rest % n_intervals(cells[j])
                    rest //= n_intervals(cells[j])
                    iv = interval_of(cells[j], id)
                    for k in range(1, iv.length):
                        program.left.push_back(<int32_t> (
                            e + (interval_id(cells[j], iv.start, k) - id) * stride))
                        program.right.push_back(<int32_t> (
                            e + (interval_id(cells[j], iv.start + k, iv.length - k) - id)
                            * stride))
                    stride *= n_intervals(cells[j])
                program.start.push_back(<int32_t> program.left.size())

    cdef inline RowProgram *program(self, const Block *block) noexcept nogil:
        cdef intp_t j, shape = 0
        if self.has_long_rows():
            return NULL
        for j in range(self.n_lead, self.n_inner):
            shape = shape * self.size[self.n_outer + j] + block.n_cells[j] - 1
        return &self.programs[shape]

    cdef _place_blocks(self):
        """Give every canonical box its place in the table; forecast the work."""
        cdef:
            intp_t box, j, pairs, i, k, at, a
            int64_t place = 0
            double cost = 0, inner
            Block block
        self.offset = np.empty(self.n_boxes, dtype=np.int64)
        with nogil:
            for box in range(self.n_boxes):
                if self.canon[box] != box:
                    self.offset[box] = self.offset[self.canon[box]]
                    continue
                self.describe(box, &block)
                self.offset[box] = place
                place += block.size
                pairs = 0
                at = box
                for i in range(self.n_outer):
                    a = at // self.box_stride[i]
                    at -= a * self.box_stride[i]
                    pairs += (
                        self.cuts_below(box, i, self.intervals[i][a].start + self.intervals[i][a].length - 1)
                        - self.cuts_below(box, i, self.intervals[i][a].start))
                inner = 2.0
                for j in range(self.n_inner):
                    inner += (0.3 if j < self.n_lead else 0.7) * (block.n_cells[j] - 1)
                cost += 200.0 + 300.0 * pairs + block.size * (inner + 1.2 * pairs)
        self.n_states = place
        self.cost = cost

    # ------------------------------------------------------------------------------ one block

    cdef void open_box(self, intp_t box, Work *work, intp_t most) noexcept nogil:
        """Describe a box's block and map the two sides of its outer splits (the first `most`)."""
        cdef:
            intp_t at = box
            intp_t i, a
        work.box = box
        self.describe(box, &work.block)
        work.children.clear()
        work.maps.clear()
        work.row_maps.clear()
        for i in range(self.n_outer):
            a = at // self.box_stride[i]
            at -= a * self.box_stride[i]
            work.lo[i] = self.intervals[i][a].start
        self.list_parts(box, work)
        for a in range(min(<intp_t> work.children.size(), 2 * most)):
            self.map_child(work, &work.children[a])

    cdef void map_child(self, Work *work, Child *child) noexcept nogil:
        """Where the regions of our block lie in the block of a part."""
        cdef:
            Block other
            Block *block = &work.block
            intp_t j, i, n, c, start, length, e, m, first
            intp_t box = work.box
            intp_t part = child.box
        self.describe(part, &other)
        child.same = True
        child.same_row = True
        child.lead = work.maps.size()
        child.row = -1
        for j in range(self.n_inner):
            if other.n_cells[j] != block.n_cells[j]:
                child.same = False
                if j >= self.n_lead:
                    child.same_row = False
        if child.same:
            return
        # where each kept interval of ours lies in the part's block
        m = child.lead
        work.maps.resize(m + block.n_map)
        for j in range(self.n_inner):
            i = self.n_outer + j
            n = block.n_cells[j]
            work.cell_map[0] = 0
            e = 0
            for c in range(self.size[i] - 1):
                if self.has_cut(box, i, c):
                    work.cell_map[e + 1] = work.cell_map[e] + self.has_cut(part, i, c)
                    e += 1
            for length in range(1, n + 1):
                for start in range(n - length + 1):
                    first = work.cell_map[start]
                    work.maps[m] = other.stride[j] * interval_id(
                        other.n_cells[j], first, work.cell_map[start + length - 1] - first + 1)
                    m += 1
        if child.same_row:
            return
        # the entries of a row: sums over its axes
        child.row = work.row_maps.size()
        work.row_maps.resize(child.row + block.row_size)
        m = child.lead + block.n_map
        e = 1
        work.row_maps[child.row] = 0
        first = child.lead + block.n_map
        for j in range(self.n_lead, self.n_inner):
            first -= block.n_ids[j]
        for j in range(self.n_lead, self.n_inner):
            n = block.n_ids[j]
            # backwards, so that what is still to be read is not overwritten
            for c in range(e - 1, -1, -1):
                for m in range(n - 1, -1, -1):
                    work.row_maps[child.row + c * n + m] = <int32_t> (
                        work.row_maps[child.row + c] + work.maps[first + m])
            e *= n
            first += n

    cdef inline intp_t lead_place(
            self, const Work *work, const Child *child, intp_t row) noexcept nogil:
        """Where the row of a child's block starts that belongs to one of our rows."""
        cdef:
            intp_t j, id, place = 0
            intp_t m = child.lead
            intp_t rest = row
            intp_t row_stride
        if child.same:
            return row * work.block.row_size
        for j in range(self.n_lead):
            row_stride = work.block.stride[j] // work.block.row_size
            id = rest // row_stride
            rest -= id * row_stride
            place += work.maps[m + id]
            m += work.block.n_ids[j]
        return place

    cdef void join_outer(
            self, Work *work, value_t **where, value_t *acc,
            intp_t first, intp_t last) noexcept nogil:
        """Best join over all outer splits, for rows first..last-1 of the block."""
        cdef:
            intp_t n = work.block.row_size
            intp_t c, row
            const Child *one
            const Child *two
            const value_t *a
            const value_t *b
            value_t *out
            const int32_t *ia
            const int32_t *ib
        for row in range((last - first) * n):
            acc[row] = es_infinite(<value_t> 0)
        c = 0
        while c < <intp_t> work.children.size():
            one = &work.children[c]
            two = &work.children[c + 1]
            a = where[one.box]
            b = where[two.box]
            if one.same and two.same:
                es_join_min(acc, a + first * n, b + first * n, (last - first) * n)
            else:
                ia = row_map(work, one)
                ib = row_map(work, two)
                out = acc
                for row in range(first, last):
                    es_join_min_mapped(
                        out, a + self.lead_place(work, one, row), ia,
                        b + self.lead_place(work, two, row), ib, n)
                    out += n
            c += 2

    cdef inline void join_lead(
            self, Work *work, const value_t *block, value_t *acc, intp_t row) noexcept nogil:
        """Best join over the splits of one row on the leading inner axes."""
        cdef:
            Block *here = &work.block
            intp_t n = here.row_size
            intp_t j, id, rest = row, k, m, row_stride
            Interval iv
            const value_t *mine = block + row * n
        for j in range(self.n_lead):
            row_stride = here.stride[j] // n
            id = rest // row_stride
            rest -= id * row_stride
            if id < here.n_cells[j]:
                continue
            m = here.n_cells[j]
            iv = interval_of(m, id)
            for k in range(1, iv.length):
                es_join_min(
                    acc,
                    mine + (interval_id(m, iv.start, k) - id) * here.stride[j],
                    mine + (interval_id(m, iv.start + k, iv.length - k) - id) * here.stride[j],
                    n)

    # -------------------------------------------------------------------- which regions are pure

    cdef void sweep_block(self, Work *work, value_t **where) noexcept nogil:
        """Common class (or `mixed`) of every region of a block."""
        cdef:
            value_t *block = where[work.box]
            intp_t row, n = work.block.row_size
            const Child *one
            const Child *two
            const int32_t *ia
            const int32_t *ib
        if work.children.size() == 0:
            self.sweep_cell(work, block)
            return
        one = &work.children[0]
        two = &work.children[1]
        ia = row_map(work, one)
        ib = row_map(work, two)
        for row in range(work.block.n_rows):
            es_merge_mapped(
                block + row * n,
                where[one.box] + self.lead_place(work, one, row), ia,
                where[two.box] + self.lead_place(work, two, row), ib, n, self.has_free)

    cdef void sweep_cell(self, Work *work, value_t *block) noexcept nogil:
        """The same for an outer box without splits: all its outer cells are alike."""
        cdef:
            Block *here = &work.block
            intp_t e, j, rest, id, i, c, m, place, corner = 0, part, other
            Interval iv
            vector[vector[intp_t]] cells
        for i in range(self.n_outer):
            corner += work.lo[i] * self.cell_stride[i]
        # place of the first cell of each kept cell
        cells.resize(self.n_inner)
        for j in range(self.n_inner):
            i = self.n_outer + j
            cells[j].push_back(0)
            for c in range(self.size[i] - 1):
                if self.has_cut(work.box, i, c):
                    cells[j].push_back((c + 1) * self.cell_stride[i])
        for e in range(here.size):
            rest = e
            place = corner
            part = -1
            other = -1
            for j in range(self.n_inner):
                id = rest // here.stride[j]
                rest -= id * here.stride[j]
                m = here.n_cells[j]
                if id < m:
                    place += cells[j][id]
                    continue
                iv = interval_of(m, id)
                part = e + (interval_id(m, iv.start, iv.length - 1) - id) * here.stride[j]
                other = e + (iv.start + iv.length - 1 - id) * here.stride[j]
                break
            if part < 0:
                # a free class becomes 0
                block[e] = <value_t> <uint16_t> (self.labels[place] + 1)
            else:
                block[e] = es_merge(block[part], block[other])

    # ------------------------------------------------------------------------------ the programme

    cdef int poll(self, Work *work, intp_t joins) except -1 nogil:
        """Count joins; now and then look at the clock and for Ctrl-C. 1: out of time."""
        work.until_poll -= joins
        if work.until_poll > 0:
            return 0
        work.until_poll = POLL
        return should_stop(work.deadline)

    cdef int solve_block(self, Work *work, value_t **where, value_t *acc) except -1 nogil:
        """Values of all regions of a block, in place of their classes. 1: out of time."""
        cdef:
            value_t *block = where[work.box]
            intp_t n = work.block.row_size
            intp_t step = max(1, CHUNK // n)
            intp_t first = 0, last, row
            bint long_row = self.has_long_rows()
            RowProgram *program = self.program(&work.block)
            value_t *here
        while first < work.block.n_rows:
            last = min(first + step, work.block.n_rows)
            self.join_outer(work, where, acc, first, last)
            here = acc
            for row in range(first, last):
                self.join_lead(work, block, here, row)
                if long_row:
                    es_finish_axis(block + row * n, here, work.block.n_cells[self.n_inner - 1])
                else:
                    es_finish_row(
                        block + row * n, here, program.start.data(), program.left.data(),
                        program.right.data(), n)
                here += n
            if self.poll(work, (last - first) * n * (4 + work.children.size())):
                return 1
            first = last
        return 0

    cdef inline intp_t row_sides(self, const Work *work, intp_t row) noexcept nogil:
        """Sides in which all regions of a row differ from the whole grid, at least."""
        cdef:
            const Block *here = &work.block
            intp_t j, id, rest = row, row_stride
            intp_t sides = self.sides[work.box]
        for j in range(self.n_lead):
            row_stride = here.stride[j] // here.row_size
            id = rest // row_stride
            rest -= id * row_stride
            sides += sides_of(interval_of(here.n_cells[j], id), here.n_cells[j])
        return sides

    cdef int next_block(
            self, Work *work, value_t **below, value_t *block, value_t *acc,
            intp_t reach) except -1 nogil:
        """The next layer of a block, as far as it is at most `reach` splits from the whole grid.

        Returns 0: equals the layer below; 1: differs; 2: out of time.
        """
        cdef:
            const value_t *old = below[work.box]
            intp_t n = work.block.row_size
            intp_t step = max(1, CHUNK // n)
            intp_t first = 0, last, row, e
            int changed = 0
            bint long_row = self.has_long_rows()
            RowProgram *program = self.program(&work.block)
            value_t *here
        while first < work.block.n_rows:
            if self.row_sides(work, first) > reach:
                for e in range(first * n, (first + 1) * n):
                    block[e] = old[e]
                first += 1
                continue
            last = first + 1
            while (last < work.block.n_rows and last < first + step
                   and self.row_sides(work, last) <= reach):
                last += 1
            self.join_outer(work, below, acc, first, last)
            here = acc
            for row in range(first, last):
                self.join_lead(work, old, here, row)
                if long_row:
                    changed |= es_next_axis(
                        block + row * n, old + row * n, here,
                        work.block.n_cells[self.n_inner - 1])
                else:
                    changed |= es_next_row(
                        block + row * n, old + row * n, here, program.start.data(),
                        program.left.data(), program.right.data(), n)
                here += n
            if self.poll(work, (last - first) * n * (4 + work.children.size())):
                return 2
            first = last
        return changed

    # -------------------------------------------------------------------------------- reading out

    cdef value_t *find(self, value_t **where, const intp_t *lo, const intp_t *hi) noexcept nogil:
        """The entry of the region lo..hi (cells of the axes in programme order)."""
        cdef:
            intp_t i, j, first, box = 0, place = 0
            Block block
        for i in range(self.n_outer):
            box += interval_id(self.size[i], lo[i], hi[i] - lo[i] + 1) * self.box_stride[i]
        box = self.canon[box]
        self.describe(box, &block)
        for j in range(self.n_inner):
            i = self.n_outer + j
            first = self.cuts_below(box, i, lo[i])
            place += block.stride[j] * interval_id(
                block.n_cells[j], first, self.cuts_below(box, i, hi[i]) - first + 1)
        return where[box] + place

    cdef Split best_split(
            self, value_t **where, const intp_t *lo, const intp_t *hi) noexcept nogil:
        """The best split of a region by the values of its parts.

        Of equal ones, the one whose parts are most alike (fewest splits in all where depth
        counts, least of the larger part where splits count).
        """
        cdef:
            intp_t i, k, saved
            intp_t a[MAX_AXES]
            intp_t b[MAX_AXES]
            value_t one, two
            int64_t join, spread
            int64_t best_spread = 0
            Split best
        best.axis = -1
        best.cut = -1
        best.join = es_infinite(<value_t> 0)
        for i in range(self.n_axes):
            a[i] = lo[i]
            b[i] = hi[i]
        for i in range(self.n_axes):
            for k in range(lo[i], hi[i]):
                saved = b[i]
                b[i] = k
                one = self.find(where, a, b)[0]
                b[i] = saved
                if one >= best.join + 1:
                    continue
                saved = a[i]
                a[i] = k + 1
                two = self.find(where, a, b)[0]
                a[i] = saved
                join = es_join(one, two)
                if value_t is uint8_t or value_t is uint16_t:
                    spread = <int64_t> one + two
                else:
                    spread = max(one, two)
                if join < best.join or (
                        join == best.join and best.axis >= 0 and spread < best_spread):
                    best.axis = i
                    best.cut = k
                    best.join = join
                    best_spread = spread
        return best

    cdef Split split_of(self, Layer layer, const intp_t *lo, const intp_t *hi) noexcept:
        if layer.kind == DEPTH_8:
            return self.best_split(<uint8_t **> layer.where, lo, hi)
        if layer.kind == DEPTH_16:
            return self.best_split(<uint16_t **> layer.where, lo, hi)
        if layer.kind == SPLITS_16:
            return self.best_split(<int16_t **> layer.where, lo, hi)
        return self.best_split(<int32_t **> layer.where, lo, hi)

    cdef uint16_t class_of(self, const intp_t *lo, const intp_t *hi) noexcept nogil:
        """The class of the cells of a region that have one (of the first such), else `FREE`."""
        cdef:
            intp_t at[MAX_AXES]
            intp_t i, place = 0
        for i in range(self.n_axes):
            at[i] = lo[i]
            place += lo[i] * self.cell_stride[i]
        while self.labels[place] == FREE:
            i = self.n_axes - 1
            while i >= 0 and at[i] == hi[i]:
                place -= (hi[i] - lo[i]) * self.cell_stride[i]
                at[i] = lo[i]
                i -= 1
            if i < 0:
                break
            at[i] += 1
            place += self.cell_stride[i]
        return self.labels[place]

    cdef int64_t value_of(self, Layer layer, const intp_t *lo, const intp_t *hi) noexcept:
        if layer.kind == DEPTH_8:
            return self.find(<uint8_t **> layer.where, lo, hi)[0]
        if layer.kind == DEPTH_16:
            return self.find(<uint16_t **> layer.where, lo, hi)[0]
        if layer.kind == SPLITS_16:
            return self.find(<int16_t **> layer.where, lo, hi)[0]
        return self.find(<int32_t **> layer.where, lo, hi)[0]

    # --------------------------------------------------------------------------- to be called

    def solve(self, value_t[::1] table, double seconds):
        """Solve all regions.

        Parameters
        ----------
        table : (n_states,) array
            Unsigned: depths; signed: numbers of splits. Filled.
        seconds : float
            Time limit.

        Returns
        -------
        Layer

        Raises
        ------
        Stopped
            When the time is up.
        """
        cdef:
            Layer layer = self.pure_regions(table, seconds)
            value_t **where = <value_t **> layer.where
            vector[value_t] acc
            Work work
            intp_t box
            bint stopped = False
        self.start(&work, seconds)
        with nogil:
            acc.resize(self.chunk_size())
            for box in range(self.n_boxes):
                if self.canon[box] == box:
                    self.open_box(box, &work, self.n_boxes)
                    if self.solve_block(&work, where, acc.data()):
                        stopped = True
                        break
        if stopped:
            raise Stopped
        return layer

    def first_layer(self, value_t[::1] table, double seconds):
        """The layer of trees of depth 0: 0 where a region holds one class, else infinite."""
        cdef:
            Layer layer = self.pure_regions(table, seconds)
            value_t mixed = es_mixed(<value_t> 0)
            value_t infinite = es_infinite(<value_t> 0)
            intp_t i
        with nogil:
            self.spread_sides()
            for i in range(table.shape[0]):
                table[i] = infinite if table[i] == mixed else 0
        return layer

    def pending(self, Layer below, intp_t reach):
        """Which blocks the next layer can change, and how many entries they have.

        Only regions that `reach` splits can cut out of the grid count.
        """
        cdef:
            bytearray result = bytearray(self.n_boxes)
            uint8_t[::1] dirty = result
            const uint8_t[::1] changed = below.changed
            Work work
            Child *child
            intp_t box, i
            int64_t entries = 0
        with nogil:
            for box in range(self.n_boxes):
                if self.canon[box] != box or self.sides[box] > reach:
                    continue
                dirty[box] = changed[box]
                if not dirty[box]:
                    self.list_parts(box, &work)
                    for i in range(<intp_t> work.children.size()):
                        dirty[box] |= changed[work.children[i].box]
                if dirty[box]:
                    self.describe(box, &work.block)
                    entries += work.block.size
        return result, entries

    def next_layer(
            self, Layer below, const uint8_t[::1] dirty, intp_t reach, value_t[::1] table,
            bint in_place, double seconds):
        """Fewest splits among trees one level deeper than in the layer below.

        Right for regions that `reach` splits can cut out of the grid; others are left as they
        were.

        Parameters
        ----------
        below : Layer
        dirty, reach : from and as for `pending`
        table : array
            Room for the dirty blocks' entries; with `in_place`, for the largest block.
        in_place : bool
            Overwrite the layer below (largest regions first, so that parts are still old).
        seconds : float
        """
        cdef:
            Layer layer = Layer(self.n_boxes, below.kind)
            value_t **old = <value_t **> below.where
            value_t **where = <value_t **> layer.where
            value_t *block
            vector[value_t] acc
            Work work
            intp_t step, box, place = 0, i
            int outcome
            bint stopped = False
            bytearray result = bytearray(self.n_boxes)
            uint8_t[::1] changed = result
        layer.memory = [*below.memory] if in_place else [*below.memory, table]
        layer.changed = result
        self.start(&work, seconds)
        with nogil:
            acc.resize(self.chunk_size())
            for step in range(self.n_boxes):
                box = self.n_boxes - 1 - step
                where[box] = old[box]
                if self.canon[box] != box or not dirty[box]:
                    continue
                self.open_box(box, &work, self.n_boxes)
                block = &table[place]
                outcome = self.next_block(&work, old, block, acc.data(), reach)
                if outcome == 2:
                    stopped = True
                    break
                changed[box] = outcome
                if in_place:
                    for i in range(work.block.size):
                        old[box][i] = block[i]
                else:
                    where[box] = block
                    place += work.block.size
        if stopped:
            raise Stopped
        return layer

    def largest_block(self):
        """Entries of the largest block."""
        cdef:
            Block block
            intp_t box, largest = 0
        for box in range(self.n_boxes):
            if self.canon[box] == box:
                self.describe(box, &block)
                largest = max(largest, block.size)
        return largest

    def value(self, Layer layer, lo, hi):
        """Value of the region of cells lo..hi (inclusive, a number an axis of the grid)."""
        cdef intp_t a[MAX_AXES]
        cdef intp_t b[MAX_AXES]
        for i in range(self.n_axes):
            a[i], b[i] = lo[self.axis[i]], hi[self.axis[i]]
        return self.value_of(layer, a, b)

    def solved(self, Layer layer):
        """Whether the value of the whole grid is finite."""
        whole = [n - 1 for n in self.shape]
        cdef Kind kind = layer.kind
        value = self.value(layer, [0] * self.n_axes, whole)
        if kind == DEPTH_8:
            return value < es_infinite(<uint8_t> 0)
        if kind == DEPTH_16:
            return value < es_infinite(<uint16_t> 0)
        if kind == SPLITS_16:
            return value < es_infinite(<int16_t> 0)
        return value < es_infinite(<int32_t> 0)

    def split(self, Layer layer, lo, hi):
        """Best split of a region as (axis, cut, value), by the values of its parts; or None."""
        cdef intp_t a[MAX_AXES]
        cdef intp_t b[MAX_AXES]
        cdef Split best
        for i in range(self.n_axes):
            a[i], b[i] = lo[self.axis[i]], hi[self.axis[i]]
        best = self.split_of(layer, a, b)
        if best.axis < 0:
            return None
        return self.axis[best.axis], best.cut, best.join + 1

    def tree(self, list layers, depth):
        """The smallest tree of the whole grid, from solved layers.

        Parameters
        ----------
        layers : list of Layer
            From `solve`, one layer; or the layers 0..depth-1.
        depth : int
            Depth allowed (any number with one layer).

        Returns
        -------
        left, right, axis, cut, label : lists of int
            Nodes in pre-order; -1 where it does not apply. The label is `FREE` in leaves of free
            cells only.
        """
        cdef:
            vector[intp_t] stack
            vector[intp_t] lo_
            vector[intp_t] hi_
            intp_t *lo
            intp_t *hi
            intp_t n = self.n_axes
            intp_t i, at, node, parent, side, budget, saved
            Layer pure = layers[0]
            Split best
        left, right, axis, cut, label = [], [], [], [], []
        # a stack frame: parent, side, budget, lo..., hi...
        stack.push_back(-1)
        stack.push_back(0)
        stack.push_back(depth)
        for i in range(n):
            stack.push_back(0)
        for i in range(n):
            stack.push_back(self.size[i] - 1)
        lo_.resize(n + 1)
        hi_.resize(n + 1)
        lo = lo_.data()
        hi = hi_.data()
        while stack.size():
            at = stack.size() - 3 - 2 * n
            parent, side, budget = stack[at], stack[at + 1], stack[at + 2]
            for i in range(n):
                lo[i] = stack[at + 3 + i]
                hi[i] = stack[at + 3 + n + i]
            stack.resize(at)
            node = len(left)
            if parent >= 0:
                (right if side else left)[parent] = node
            left.append(-1)
            right.append(-1)
            if self.value_of(pure, lo, hi) == 0:
                axis.append(-1)
                cut.append(-1)
                label.append(self.class_of(lo, hi))
                continue
            best = self.split_of(pure if len(layers) == 1 else layers[budget - 1], lo, hi)
            if best.axis < 0:
                raise RuntimeError("no split found for a region that was reported solvable")
            axis.append(self.axis[best.axis])
            cut.append(best.cut)
            label.append(-1)
            # right part first: the left one is taken off the stack before it
            for side in range(1, -1, -1):
                stack.push_back(node)
                stack.push_back(side)
                stack.push_back(budget - 1)
                saved = lo[best.axis] if side else hi[best.axis]
                if side:
                    lo[best.axis] = best.cut + 1
                else:
                    hi[best.axis] = best.cut
                for i in range(n):
                    stack.push_back(lo[i])
                for i in range(n):
                    stack.push_back(hi[i])
                if side:
                    lo[best.axis] = saved
                else:
                    hi[best.axis] = saved
        return left, right, axis, cut, label

    # ------------------------------------------------------------------------------------ helpers

    cdef void start(self, Work *work, double seconds) noexcept nogil:
        cdef intp_t i
        for i in range(self.n_axes):
            if self.size[i] > <intp_t> work.cell_map.size():
                work.cell_map.resize(self.size[i])
        self.prepare_rows()
        work.until_poll = POLL
        work.deadline = now() + seconds

    cdef intp_t chunk_size(self) noexcept nogil:
        """Entries of the accumulator: a chunk of rows, or one row where rows are longer."""
        cdef intp_t j, n = 1
        for j in range(self.n_lead, self.n_inner):
            n *= n_intervals(self.size[self.n_outer + j])
        return max(<intp_t> CHUNK, n)

    cdef void list_parts(self, intp_t box, Work *work) noexcept nogil:
        """The sides of each outer split, without their maps."""
        cdef:
            intp_t at = box
            intp_t i, a, k, n
            Interval iv
            Child child
        work.children.clear()
        for i in range(self.n_outer):
            a = at // self.box_stride[i]
            at -= a * self.box_stride[i]
            iv = self.intervals[i][a]
            n = self.size[i]
            for k in range(iv.start, iv.start + iv.length - 1):
                if not self.has_cut(box, i, k):
                    continue
                child.box = self.canon[
                    box + (interval_id(n, iv.start, k - iv.start + 1) - a) * self.box_stride[i]]
                work.children.push_back(child)
                child.box = self.canon[
                    box + (interval_id(n, k + 1, iv.start + iv.length - 1 - k) - a)
                    * self.box_stride[i]]
                work.children.push_back(child)

    cdef Layer pure_regions(self, value_t[::1] table, double seconds):
        """The common class of every region, or `mixed`."""
        cdef:
            Layer layer
            value_t **where
            Work work
            intp_t box
            bint stopped = False
        if table.shape[0] != self.n_states:
            raise ValueError(f"table must have {self.n_states} entries, got {table.shape[0]}")
        if value_t is uint8_t:
            layer = Layer(self.n_boxes, DEPTH_8)
        elif value_t is uint16_t:
            layer = Layer(self.n_boxes, DEPTH_16)
        elif value_t is int16_t:
            layer = Layer(self.n_boxes, SPLITS_16)
        else:
            layer = Layer(self.n_boxes, SPLITS_32)
        layer.memory = [table]
        layer.changed = bytearray(b"\1") * self.n_boxes
        where = <value_t **> layer.where
        for box in range(self.n_boxes):
            where[box] = &table[0] + self.offset[box]
        self.start(&work, seconds)
        with nogil:
            for box in range(self.n_boxes):
                if self.canon[box] == box:
                    self.open_box(box, &work, 1)
                    self.sweep_block(&work, where)
                    if self.poll(&work, 2 * work.block.size):
                        stopped = True
                        break
        if stopped:
            raise Stopped
        return layer


cdef class Layer:
    """Values of all regions: for each outer box, where its block lies."""

    cdef:
        void **where
        Kind kind
        list memory          # what keeps the blocks alive
        bytearray changed    # by box: differs from the layer below

    def __cinit__(self, intp_t n_boxes, Kind kind):
        self.where = <void **> malloc(max(n_boxes, 1) * sizeof(void *))
        if self.where == NULL:
            raise MemoryError
        self.kind = kind

    def __dealloc__(self):
        free(self.where)
