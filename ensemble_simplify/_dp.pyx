"""Exact born-again search: the smallest tree of every region of a grid of cells.

Regions are boxes of cells. The value of a region (depth, or number of splits, of its smallest
tree) is 0 if it can be a leaf, else one plus the best join of two parts over all splits. A region
can be a leaf if it holds one class, or as it is told region by region. A
`Solver` finds the values of all regions, small ones first, in tables that compilers vectorise; a
``Layout`` says where in the table each stands. `RegionValues` answers what was found, and
`smallest_tree` reads the tree of the whole grid out of it.
"""

from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint16_t
from libcpp.vector cimport vector

from ensemble_simplify._dp_layout cimport (
    Block, Interval, Layout, MAX_AXES, OpenBlock, SplitSide, interval_id, interval_of, n_inner_ends,
    n_intervals, part_row, row_map,
)
from ensemble_simplify.grid._limits cimport stop_if_late
from ensemble_simplify.grid._regions cimport Node, nodes_to_array, set_sizes
from ensemble_simplify._typedefs cimport intp_t

cdef extern from "_dp_rows.h" nogil:
    T es_mixed[T](T like)
    T es_infinite[T](T like)
    T es_merge[T](T a, T b)
    T es_most[T](T a, T b)
    void es_join_min[T](T *acc, const T *a, const T *b, intp_t n)
    void es_join_min_mapped[T](
        T *acc, const T *a, const int32_t *ia, const T *b, const int32_t *ib, intp_t n)
    enum Merge:
        CLASSES
        FREE_CLASSES
        LARGEST
    void es_merge_mapped[T](
        T *out, const T *a, const int32_t *ia, const T *b, const int32_t *ib, intp_t n, Merge merge)
    int es_solve_row[T](
        bint is_next, T *row, const T *below, const T *acc, const int32_t *start,
        const int32_t *left, const int32_t *right, intp_t n)
    int es_solve_axis[T](bint is_next, T *row, const T *below, T *acc, intp_t n)

# Unsigned: depth. Signed: number of splits. The wider types are for many classes or splits.
ctypedef fused value_t:
    uint8_t
    uint16_t
    int16_t
    int32_t

cdef enum:
    # Entries of a block worked on at a time; their accumulator stays in the first-level cache.
    CHUNK = 8192
    # Rows of one axis with more cells than this have no lists of splits, which grow with the
    # fourth power of the cells: they are solved by ``es_solve_axis``.
    LONG_AXIS = 16
    # Joins between two looks at the clock.
    POLL = 4000000
    # In place of a number of splits: a block is no next layer, but solved where its classes are.
    IN_PLACE = -1000000


cdef enum Kind:
    DEPTH_8
    DEPTH_16
    SPLITS_16
    SPLITS_32


cdef struct RowSplits:
    # The splits inside a row: entry e has the parts left[x] and right[x] for start[e] <= x and
    # x < start[e + 1].
    vector[int32_t] start
    vector[int32_t] left
    vector[int32_t] right


cdef int count_joins(intp_t *joins_left, intp_t n_joins) except -1 nogil:
    """Count joins; now and then look at the clock, which raises `Stopped`, and for Ctrl-C."""
    joins_left[0] -= n_joins
    if joins_left[0] > 0:
        return 0
    joins_left[0] = POLL
    return stop_if_late()


# ----------------------------------------------------------------- which regions hold one class

cdef void merge_parts(
        const OpenBlock *our, Merge merge, value_t **where) noexcept nogil:  # where: IN, OUT
    """Classes of the regions of a block, from those of the two sides of an outer split."""
    cdef:
        value_t *block = where[our.box]
        intp_t row, n = our.block.row_size
        const SplitSide *one = &our.parts[0]
        const SplitSide *two = &our.parts[1]
        const int32_t *ia = row_map(our, one)
        const int32_t *ib = row_map(our, two)
    for row in range(our.block.n_rows):
        es_merge_mapped(
            block + row * n,
            where[one.box] + part_row(our, one, row), ia,
            where[two.box] + part_row(our, two, row), ib, n, merge)


cdef void merge_cells(
        Layout layout, const OpenBlock *our, Merge merge, const uint16_t *codes,
        value_t *block) noexcept nogil:  # block: OUT
    """The same for an outer box without splits: all its outer cells are alike.

    `codes` are those of the labels, where the largest counts.
    """
    cdef:
        const Block *here = &our.block
        intp_t e, j, rest, id, i, cut, m, place, corner = 0, part, other
        Interval interval
        # for each inner axis, where in `labels` each kept cell begins, from the first one on
        vector[vector[intp_t]] cells
    for i in range(layout.n_outer):
        corner += our.first[i] * layout.cell_stride[i]
    cells.resize(layout.n_inner)
    for j in range(layout.n_inner):
        i = layout.n_outer + j
        cells[j].push_back(0)
        for cut in range(layout.size[i] - 1):
            if layout.has_cut(our.box, i, cut):
                cells[j].push_back((cut + 1) * layout.cell_stride[i])
    for e in range(here.size):
        rest = e
        place = corner
        part = -1
        other = -1
        for j in range(layout.n_inner):
            id = rest // here.stride[j]
            rest -= id * here.stride[j]
            m = here.n_cells[j]
            if id < m:
                place += cells[j][id]
                continue
            interval = interval_of(m, id)
            # all but the last cell, and the last cell
            part = e + (
                interval_id(m, interval.start, interval.length - 1) - id) * here.stride[j]
            other = e + (interval.start + interval.length - 1 - id) * here.stride[j]
            break
        if part < 0:
            # a free class, 0xFFFF, becomes 0
            block[e] = <value_t> (
                codes[layout.labels[place]] if merge == LARGEST
                else <uint16_t> (layout.labels[place] + 1))
        elif merge == LARGEST:
            block[e] = es_most(block[part], block[other])
        else:
            block[e] = es_merge(block[part], block[other])


cdef int merge_all(
        Layout layout, Merge merge, const uint16_t *codes, value_t **where,
        intp_t *joins_left) except -1 nogil:  # where: IN, OUT
    """Classes, or codes, of all regions."""
    cdef:
        OpenBlock our
        intp_t box
    for box in range(layout.n_boxes):
        if layout.representative[box] == box:
            # the two sides of any one split tell the class
            layout.open_block(box, 1, &our)
            if our.parts.size():
                merge_parts(&our, merge, where)
            else:
                merge_cells(layout, &our, merge, codes, where[box])
            count_joins(joins_left, 2 * our.block.size)
    return 0


# ------------------------------------------------------------------------ the best of all splits

cdef void join_outer(
        const OpenBlock *our, value_t **where, intp_t first, intp_t last,
        value_t *acc) noexcept nogil:  # acc: OUT
    """Best join over the splits on outer axes, for the rows first..last-1 of the block."""
    cdef:
        intp_t n = our.block.row_size
        intp_t s, row
        const SplitSide *one
        const SplitSide *two
        const value_t *a
        const value_t *b
        value_t *out
        const int32_t *ia
        const int32_t *ib
    for row in range((last - first) * n):
        acc[row] = es_infinite(<value_t> 0)
    for s in range(<intp_t> our.parts.size() // 2):
        one = &our.parts[2 * s]
        two = &our.parts[2 * s + 1]
        a = where[one.box]
        b = where[two.box]
        if one.same and two.same:
            es_join_min(acc, a + first * n, b + first * n, (last - first) * n)
            continue
        ia = row_map(our, one)
        ib = row_map(our, two)
        out = acc
        for row in range(first, last):
            es_join_min_mapped(
                out, a + part_row(our, one, row), ia, b + part_row(our, two, row), ib, n)
            out += n


cdef inline void join_lead(
        const OpenBlock *our, const value_t *values, intp_t row,
        value_t *acc) noexcept nogil:  # acc: OUT
    """Best join over the splits of one row on the inner axes before those of the rows."""
    cdef:
        const Block *block = &our.block
        intp_t n = block.row_size
        intp_t j, id, k, m
        Interval here
        const value_t *mine = values + row * n
    for j in range(block.n_lead):
        id = our.lead_ids[row * block.n_lead + j]
        if id < block.n_cells[j]:
            continue
        m = block.n_cells[j]
        here = interval_of(m, id)
        for k in range(1, here.length):
            es_join_min(
                acc,
                mine + (interval_id(m, here.start, k) - id) * block.stride[j],
                mine + (interval_id(m, here.start + k, here.length - k) - id) * block.stride[j],
                n)


# ------------------------------------------------------------------------------------ the solver

cdef class Solver:
    """Finds the values of all regions of a layout."""

    cdef:
        readonly Layout layout
        # whether each region can be a leaf; None: those of one class can
        public object leaves
        # by the shape of the row; empty if rows are one long axis
        vector[RowSplits] row_splits
        bint long_rows
        # of each outer box, once layers are asked for: the least number of splits above it
        bytearray splits_above

    def __init__(self, Layout layout not None):
        self.layout = layout
        self.long_rows = (
            layout.n_inner - layout.n_lead == 1 and layout.size[layout.n_axes - 1] > LONG_AXIS)
        if not self.long_rows:
            self.list_row_splits()

    # -------------------------------------------------------------- what may be asked from Python

    def largest_code(
            self, const uint16_t[::1] codes, uint16_t[::1] table):  # table: OUT
        """For every region the largest code of its cells, by the codes of labels.

        `codes` has an entry for each of the 65,536 labels. `table` is of n_states entries. Raises
        `Stopped` when the time is up.
        """
        cdef:
            Layout layout = self.layout
            intp_t joins_left = POLL
            vector[uint16_t *] where
            intp_t box
        if table.shape[0] != layout.n_states or codes.shape[0] != 1 << 16:
            raise ValueError("table must have an entry for each region, codes one for each label")
        where.resize(layout.n_boxes)
        for box in range(layout.n_boxes):
            where[box] = &table[0] + layout.offset[box]
        with nogil:
            merge_all(layout, LARGEST, &codes[0], where.data(), &joins_left)

    def solve(self, value_t[::1] table):
        """Solve all regions: unsigned values are depths, signed ones numbers of splits.

        `table`, of n_states entries, is filled. Raises `Stopped` when the time is up.
        """
        cdef:
            Layout layout = self.layout
            intp_t joins_left = POLL
            RegionValues values = self.region_classes(table, &joins_left)
            value_t **where = <value_t **> values.where.data()
            vector[value_t] acc
            OpenBlock our
            intp_t box
        with nogil:
            acc.resize(self.chunk_size())
            for box in range(layout.n_boxes):
                if layout.representative[box] == box:
                    layout.open_block(box, layout.n_boxes, &our)
                    self.solve_block(&our, where, where[box], acc.data(), IN_PLACE, &joins_left)
        return values

    def first_layer(self, value_t[::1] table):
        """Values of trees of depth 0: 0 where a region holds one class, else infinite."""
        cdef:
            intp_t joins_left = POLL
            RegionValues values = self.region_classes(table, &joins_left)
            value_t mixed = es_mixed(<value_t> 0)
            value_t infinite = es_infinite(<value_t> 0)
            intp_t i
        self.count_splits_above()
        with nogil:
            for i in range(table.shape[0]):
                table[i] = infinite if table[i] == mixed else 0
        return values

    def blocks_to_update(self, RegionValues below, intp_t max_splits_above):
        """Which blocks differ in the next layer, perhaps, and how many entries they have.

        Only regions count that a tree can have below at most `max_splits_above` splits.
        """
        cdef:
            Layout layout = self.layout
            bytearray result = bytearray(layout.n_boxes)
            uint8_t[::1] update = result
            const uint8_t[::1] changed = below.changed
            const uint8_t[::1] splits_above = self.splits_above
            vector[SplitSide] parts
            Block block
            intp_t box, i
            int64_t entries = 0
        with nogil:
            for box in range(layout.n_boxes):
                if layout.representative[box] != box or splits_above[box] > max_splits_above:
                    continue
                update[box] = changed[box]
                if not update[box]:
                    layout.list_parts(box, &parts)
                    for i in range(<intp_t> parts.size()):
                        update[box] |= changed[parts[i].box]
                if update[box]:
                    layout.describe(box, &block)
                    entries += block.size
        return result, entries

    def next_layer(
            self, RegionValues below, const uint8_t[::1] update, intp_t max_splits_above,
            value_t[::1] table, bint in_place):
        """Fewest splits among trees one level deeper than in the layer below.

        Right for regions that a tree can have below at most `max_splits_above` splits; others
        are left as they were. `update` is from `blocks_to_update`. `table` is room for the entries
        of these blocks. With `in_place` it is room for the largest block only: the layer below is
        overwritten, largest regions first, so that parts are still old.
        """
        cdef:
            Layout layout = self.layout
            RegionValues values = RegionValues(layout, below.kind)
            value_t **old = <value_t **> below.where.data()
            value_t **where = <value_t **> values.where.data()
            value_t *block
            vector[value_t] acc
            OpenBlock our
            intp_t joins_left = POLL
            intp_t step, box, place = 0, i
            const uint8_t[::1] splits_above = self.splits_above
            uint8_t[::1] changed = values.changed
        values.memory = [*below.memory] if in_place else [*below.memory, table]
        with nogil:
            acc.resize(self.chunk_size())
            for step in range(layout.n_boxes):
                box = layout.n_boxes - 1 - step
                where[box] = old[box]
                if layout.representative[box] != box or not update[box]:
                    continue
                layout.open_block(box, layout.n_boxes, &our)
                block = &table[place]
                changed[box] = self.solve_block(
                    &our, old, block, acc.data(), max_splits_above - splits_above[box], &joins_left)
                if in_place:
                    for i in range(our.block.size):
                        old[box][i] = block[i]
                else:
                    where[box] = block
                    place += our.block.size
        return values

    # ----------------------------------------------------------------------------- preparations

    cdef list_row_splits(self):
        """The splits inside a row, for every shape that a row can take."""
        cdef:
            Layout layout = self.layout
            intp_t n_shapes = 1
            intp_t shape, rest, j, i, e, size, id, k, stride
            intp_t cells[MAX_AXES]
            RowSplits *splits
            Interval here
        for j in range(layout.n_lead, layout.n_inner):
            n_shapes *= layout.size[layout.n_outer + j]
        self.row_splits.resize(n_shapes)
        for shape in range(n_shapes):
            rest = shape
            size = 1
            for j in range(layout.n_inner - 1, layout.n_lead - 1, -1):
                i = layout.n_outer + j
                cells[j] = rest % layout.size[i] + 1
                rest //= layout.size[i]
                size *= n_intervals(cells[j])
            splits = &self.row_splits[shape]
            splits.start.push_back(0)
            for e in range(size):
                rest = e
                stride = 1
                for j in range(layout.n_inner - 1, layout.n_lead - 1, -1):
                    id = rest % n_intervals(cells[j])
                    rest //= n_intervals(cells[j])
                    here = interval_of(cells[j], id)
                    for k in range(1, here.length):
                        splits.left.push_back(<int32_t> (
                            e + (interval_id(cells[j], here.start, k) - id) * stride))
                        splits.right.push_back(<int32_t> (
                            e + (interval_id(cells[j], here.start + k, here.length - k) - id)
                            * stride))
                    stride *= n_intervals(cells[j])
                splits.start.push_back(<int32_t> splits.left.size())

    cdef inline const RowSplits *splits_in_row(self, const Block *block) noexcept nogil:
        """The splits inside the rows of a block; null for long rows."""
        cdef intp_t j, shape = 0
        if self.long_rows:
            return NULL
        for j in range(self.layout.n_lead, self.layout.n_inner):
            shape = shape * self.layout.size[self.layout.n_outer + j] + block.n_cells[j] - 1
        return &self.row_splits[shape]

    cdef intp_t chunk_size(self) noexcept nogil:
        """Entries of the accumulator: a chunk of rows, or one row where rows are longer."""
        cdef intp_t j, n = 1
        for j in range(self.layout.n_lead, self.layout.n_inner):
            n *= n_intervals(self.layout.size[self.layout.n_outer + j])
        return max(<intp_t> CHUNK, n)

    cdef count_splits_above(self):
        """How many splits a tree needs at least to cut each outer box out of the grid."""
        cdef:
            Layout layout = self.layout
            bytearray result = bytearray(layout.n_boxes)
            uint8_t[::1] least = result
            intp_t ids[MAX_AXES]
            vector[SplitSide] parts
            intp_t step, box, i, n
        with nogil:
            layout.intervals_in(0, ids)
            for box in range(layout.n_boxes):
                n = 0
                for i in range(layout.n_outer):
                    n += n_inner_ends(layout.intervals[i][ids[i]], layout.size[i])
                least[box] = n
                least[layout.representative[box]] = min(least[layout.representative[box]], n)
                layout.next_box(ids)
            # Boxes of one function can have several representatives, so that this is not enough:
            # a part of a box has at most one split more above it.
            for step in range(layout.n_boxes):
                box = layout.n_boxes - 1 - step
                if layout.representative[box] != box:
                    continue
                layout.list_parts(box, &parts)
                for i in range(<intp_t> parts.size()):
                    least[parts[i].box] = min(least[parts[i].box], least[box] + 1)
        self.splits_above = result

    cdef RegionValues region_classes(self, value_t[::1] table, intp_t *joins_left):
        """The common class of every region, as 1 + class (0: all cells are free), or `mixed`.

        Where it is told which regions can be leaves, 0 or `mixed`.
        """
        cdef:
            Layout layout = self.layout
            RegionValues values
            value_t **where
            value_t mixed = es_mixed(<value_t> 0)
            const uint8_t[::1] leaves
            intp_t box, i
        if table.shape[0] != layout.n_states:
            raise ValueError(f"table must have {layout.n_states} entries, got {table.shape[0]}")
        if value_t is uint8_t:
            values = RegionValues(layout, DEPTH_8)
        elif value_t is uint16_t:
            values = RegionValues(layout, DEPTH_16)
        elif value_t is int16_t:
            values = RegionValues(layout, SPLITS_16)
        else:
            values = RegionValues(layout, SPLITS_32)
        values.memory = [table]
        values.changed = bytearray(b"\1") * layout.n_boxes
        where = <value_t **> values.where.data()
        for box in range(layout.n_boxes):
            where[box] = &table[0] + layout.offset[box]
        if self.leaves is not None:
            leaves = self.leaves
            with nogil:
                for i in range(table.shape[0]):
                    table[i] = 0 if leaves[i] else mixed
            return values
        with nogil:
            merge_all(layout, FREE_CLASSES if layout.has_free else CLASSES, NULL, where, joins_left)
        return values

    # --------------------------------------------------------------------------- one block's values

    cdef inline intp_t row_splits_above(self, const OpenBlock *our, intp_t row) noexcept nogil:
        """How many splits the axes before the rows need to cut the regions of a row out."""
        cdef:
            const Block *block = &our.block
            const int32_t *ids = our.lead_ids.data() + row * block.n_lead
            intp_t j, n = 0
        for j in range(block.n_lead):
            n += n_inner_ends(interval_of(block.n_cells[j], ids[j]), block.n_cells[j])
        return n

    cdef int solve_block(
            self, const OpenBlock *our, value_t **below, value_t *block, value_t *acc,
            intp_t splits_left, intp_t *joins_left) except -1 nogil:
        """Values of the regions of a block, in place of their classes or from the layer below.

        In place, `splits_left` is `IN_PLACE`. Of a next layer, rows that so many splits cut out are
        made, and others stay.

        Returns 0: equals the layer below; 1: differs.
        """
        cdef:
            const value_t *old = below[our.box]
            intp_t n = our.block.row_size
            intp_t step = max(1, CHUNK // n)
            intp_t first = 0, last, row, e
            intp_t n_cells = our.block.n_cells[self.layout.n_inner - 1]
            bint is_next = splits_left != IN_PLACE
            int changed = 0
            const RowSplits *splits = self.splits_in_row(&our.block)
            value_t *best
        while first < our.block.n_rows:
            if is_next and self.row_splits_above(our, first) > splits_left:
                for e in range(first * n, (first + 1) * n):
                    block[e] = old[e]
                first += 1
                continue
            last = first + 1
            while last < our.block.n_rows and last < first + step and (
                    not is_next or self.row_splits_above(our, last) <= splits_left):
                last += 1
            join_outer(our, below, first, last, acc)
            best = acc
            for row in range(first, last):
                join_lead(our, old, row, best)
                if self.long_rows:
                    changed |= es_solve_axis(is_next, block + row * n, old + row * n, best, n_cells)
                else:
                    changed |= es_solve_row(
                        is_next, block + row * n, old + row * n, best, splits.start.data(),
                        splits.left.data(), splits.right.data(), n)
                best += n
            count_joins(joins_left, (last - first) * n * (4 + our.parts.size()))
            first = last
        return changed


# ---------------------------------------------------------------------------- what has been found

cdef struct GridSplit:
    intp_t axis      # in layout order, -1: none
    intp_t cut
    int64_t join     # value of its two parts together


cdef class RegionValues:
    """The values of all regions: for each outer box, where its block lies.

    From a `Solver`. A layer of depth d holds the fewest splits of trees of depth at most d.
    """

    cdef:
        Layout layout
        Kind kind
        int64_t infinite     # value of a region without a tree
        vector[void *] where
        list memory          # what keeps the blocks alive
        bytearray changed    # by outer box: differs from the layer below

    def __cinit__(self, Layout layout not None, Kind kind):
        self.layout = layout
        self.kind = kind
        # in the order of the kinds
        self.infinite = (
            es_infinite(<uint8_t> 0), es_infinite(<uint16_t> 0), es_infinite(<int16_t> 0),
            es_infinite(<int32_t> 0))[kind]
        self.where.resize(layout.n_boxes)
        self.changed = bytearray(layout.n_boxes)

    def value(self, lo, hi):
        """Value of the region of cells lo..hi (inclusive, a number an axis of the grid)."""
        cdef:
            intp_t a[MAX_AXES]
            intp_t b[MAX_AXES]
        self.in_layout_order(lo, a)
        self.in_layout_order(hi, b)
        return self.at(a, b)

    def solved(self):
        """Whether the value of the whole grid is finite."""
        shape = self.layout.shape
        return self.value([0] * len(shape), [n - 1 for n in shape]) < self.infinite

    def split(self, lo, hi):
        """Best split of a region as (axis, cut, value), by the values of its parts; or None."""
        cdef:
            intp_t a[MAX_AXES]
            intp_t b[MAX_AXES]
            GridSplit best
        self.in_layout_order(lo, a)
        self.in_layout_order(hi, b)
        best = self.best_split(a, b)
        if best.axis < 0:
            return None
        return self.layout.axis[best.axis], best.cut, best.join + 1

    cdef in_layout_order(self, position, intp_t *out):
        cdef intp_t i
        for i in range(self.layout.n_axes):
            out[i] = position[self.layout.axis[i]]

    cdef int64_t at(self, const intp_t *lo, const intp_t *hi) noexcept nogil:
        """Value of the region lo..hi, axes in layout order."""
        cdef:
            intp_t i, j, first, box = 0, place = 0
            Block block
            void *values
        for i in range(self.layout.n_outer):
            box += self.layout.box_stride[i] * interval_id(
                self.layout.size[i], lo[i], hi[i] - lo[i] + 1)
        box = self.layout.representative[box]
        self.layout.describe(box, &block)
        for j in range(self.layout.n_inner):
            i = self.layout.n_outer + j
            first = self.layout.cuts_below(box, i, lo[i])
            place += block.stride[j] * interval_id(
                block.n_cells[j], first, self.layout.cuts_below(box, i, hi[i]) - first + 1)
        values = self.where[box]
        if self.kind == DEPTH_8:
            return (<uint8_t *> values)[place]
        if self.kind == DEPTH_16:
            return (<uint16_t *> values)[place]
        if self.kind == SPLITS_16:
            return (<int16_t *> values)[place]
        return (<int32_t *> values)[place]

    cdef GridSplit best_split(self, const intp_t *lo, const intp_t *hi) noexcept nogil:
        """The best split of a region by the values of its parts.

        Of equal ones, the one whose parts are most alike (fewest splits in all where depth
        counts, least of the larger part where splits count).
        """
        cdef:
            bint depth = self.kind == DEPTH_8 or self.kind == DEPTH_16
            intp_t i, k
            intp_t a[MAX_AXES]
            intp_t b[MAX_AXES]
            int64_t one, two, join, spread, best_spread = 0
            GridSplit best = GridSplit(-1, -1, self.infinite)
        for i in range(self.layout.n_axes):
            a[i] = lo[i]
            b[i] = hi[i]
        for i in range(self.layout.n_axes):
            for k in range(lo[i], hi[i]):
                b[i] = k
                one = self.at(a, b)
                b[i] = hi[i]
                if one > best.join:
                    continue
                a[i] = k + 1
                two = self.at(a, b)
                a[i] = lo[i]
                join = max(one, two) if depth else one + two
                spread = one + two if depth else max(one, two)
                if join < best.join or (
                        join == best.join and best.axis >= 0 and spread < best_spread):
                    best = GridSplit(i, k, join)
                    best_spread = spread
        return best


cdef struct Subtree:
    # A region whose part of the tree has still to be read.
    intp_t depth          # levels left below its root
    intp_t lo[MAX_AXES]
    intp_t hi[MAX_AXES]


def smallest_tree(list layers, depth):
    """The smallest tree of the whole grid, from solved regions.

    `layers` are one, from ``Solver.solve``, or the layers 0..depth-1 for trees of this depth. Nodes
    are those of a tree over axes, an int32 array of shape (n_nodes, 3); the numbers of its leaves
    are classes, `FREE` in leaves of free cells only.
    """
    cdef:
        vector[Subtree] stack
        Subtree here, below
        RegionValues pure = layers[0]
        RegionValues values
        Layout layout = pure.layout
        GridSplit best
        vector[Node] nodes
        intp_t i
    here.depth = depth
    for i in range(layout.n_axes):
        here.lo[i] = 0
        here.hi[i] = layout.size[i] - 1
    stack.push_back(here)
    while stack.size():
        here = stack.back()
        stack.pop_back()
        if pure.at(here.lo, here.hi) == 0:
            nodes.push_back(Node(-1, <int32_t> layout.class_of(here.lo, here.hi), 1))
            continue
        values = pure if len(layers) == 1 else layers[here.depth - 1]
        best = values.best_split(here.lo, here.hi)
        if best.axis < 0:
            raise RuntimeError("no split found for a region that was reported solvable")
        nodes.push_back(Node(<int32_t> layout.axis[best.axis], <int32_t> best.cut, 1))
        # right part first: the left one is taken off the stack before it
        below = here
        below.depth = here.depth - 1
        below.lo[best.axis] = best.cut + 1
        stack.push_back(below)
        below.lo[best.axis] = here.lo[best.axis]
        below.hi[best.axis] = best.cut
        stack.push_back(below)
    set_sizes(nodes)
    return nodes_to_array(nodes)
