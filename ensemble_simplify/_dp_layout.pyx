"""Layout of the exact search: where the value of every region of a grid is stored.

Regions are boxes of cells, and most of them have the function of a smaller one. Those are stored
once, as far as that costs no search: the axes are divided into *outer* and *inner* ones. For each
box of the outer axes only those inner cuts are kept across which a class changes somewhere in the
box, and an outer box whose border slab repeats its neighbour shares the block of the smaller box.
A block holds all boxes of the kept inner cells; its last axes form *rows*, the unit of the vector
loops in ``_dp_rows.h``.
"""

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint16_t, uint64_t
from libcpp.vector cimport vector

from ensemble_simplify._typedefs cimport FREE, intp_t, popcount


cdef class Layout:
    """The regions of a labelled grid, laid out for dynamic programming.

    `labels` holds the class of each cell, or `FREE`; no axis is of length 1. `masks`, of shape
    (n_cells, n_words), is from ``_cells.change_masks``; `word` and `shift` tell where the cuts of
    each axis lie in a mask. Axes are divided into `outer` and `inner` ones; the last `n_row` inner
    axes form the rows. `n_states` counts the regions stored after those of equal function are
    merged, `cost` forecasts one pass over all, in nanoseconds of a 2020s core.
    """

    def __init__(self, labels, masks, word, shift, outer, inner, n_row):
        cdef:
            intp_t i, a, id
            const uint64_t[:, ::1] cell_masks = masks
        order = [*outer, *inner]
        self.n_axes = len(order)
        if self.n_axes > MAX_AXES:
            raise ValueError(f"more than {MAX_AXES} axes")
        self.shape = labels.shape
        self.labels = np.ascontiguousarray(labels, dtype=np.uint16).reshape(-1)
        self.has_free = labels.max() == FREE
        self.n_outer, self.n_inner = len(outer), len(inner)
        self.n_lead = self.n_inner - n_row
        self.n_words = masks.shape[1]
        strides = [stride // labels.itemsize for stride in labels.strides]
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
        self.intervals.resize(self.n_outer)
        for i in range(self.n_outer):
            for id in range(n_intervals(self.size[i])):
                self.intervals[i].push_back(interval_of(self.size[i], id))
        self.mask = np.zeros((self.n_boxes, self.n_words), dtype=np.uint64)
        self.representative = np.empty(self.n_boxes, dtype=np.int32)
        self.offset = np.empty(self.n_boxes, dtype=np.int64)
        with nogil:
            self.mask_smallest_boxes(cell_masks)
            self.mask_larger_boxes()
            self.drop_border_cuts()
            self.find_representatives()
            self.place_blocks()

    def largest_block(self):
        """Entries of the largest block."""
        cdef:
            Block block
            intp_t box, largest = 0
        for box in range(self.n_boxes):
            if self.representative[box] == box:
                self.describe(box, &block)
                largest = max(largest, block.size)
        return largest

    # ---------------------------------------------------------------------------- outer boxes

    cdef void intervals_in(self, intp_t box, intp_t *ids) noexcept nogil:
        """The number of a box's interval on each outer axis."""
        cdef intp_t i
        for i in range(self.n_outer):
            ids[i] = box // self.box_stride[i]
            box -= ids[i] * self.box_stride[i]

    cdef bint next_box(self, intp_t *ids) noexcept nogil:
        """From the intervals of a box to those of the box after it; False after the last."""
        cdef intp_t i = self.n_outer - 1
        while i >= 0:
            ids[i] += 1
            if ids[i] < n_intervals(self.size[i]):
                return True
            ids[i] = 0
            i -= 1
        return False

    cdef inline intp_t with_interval(
            self, intp_t box, intp_t i, intp_t id, intp_t start, intp_t length) noexcept nogil:
        """The box with another interval on outer axis i, in place of the interval `id`."""
        return box + (interval_id(self.size[i], start, length) - id) * self.box_stride[i]

    cdef bint has_cut(self, intp_t box, intp_t i, intp_t cut) noexcept nogil:
        """Whether a cut of axis i matters inside a box."""
        cdef intp_t bit = self.shift[i] + cut
        return (self.mask[box, self.word[i] + (bit >> 6)] >> (bit & 63)) & 1

    cdef intp_t cuts_below(self, intp_t box, intp_t i, intp_t cell) noexcept nogil:
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
            count += popcount(bits)
            first = ((first >> 6) + 1) << 6
        return count

    # ---------------------------------------------------- which cuts matter, which boxes are equal

    cdef void mask_smallest_boxes(self, const uint64_t[:, ::1] cell_masks) noexcept nogil:
        """Boxes of one outer cell: the cuts that matter in any of their inner cells."""
        cdef:
            intp_t n_axes = self.n_axes
            intp_t a, i, w, cell, box = 0
            intp_t position[MAX_AXES]
            # over axes in the order of the grid
            intp_t stride[MAX_AXES]
            intp_t size[MAX_AXES]
        for i in range(n_axes):
            a = self.axis[i]
            position[a] = 0
            # the interval of one cell has the cell's number
            stride[a] = self.box_stride[i] if i < self.n_outer else 0
            size[a] = self.size[i]
        for cell in range(cell_masks.shape[0]):
            for w in range(self.n_words):
                self.mask[box, w] |= cell_masks[cell, w]
            a = n_axes - 1
            while a >= 0:
                position[a] += 1
                box += stride[a]
                if position[a] < size[a]:
                    break
                box -= size[a] * stride[a]
                position[a] = 0
                a -= 1

    cdef void mask_larger_boxes(self) noexcept nogil:
        """Larger boxes: the cuts of all but the last slab of cells, and those of the last slab."""
        cdef:
            intp_t box, i, w, below, last
            intp_t ids[MAX_AXES]
            Interval here
        self.intervals_in(0, ids)
        for box in range(self.n_boxes):
            for i in range(self.n_outer):
                here = self.intervals[i][ids[i]]
                if here.length == 1:
                    continue
                below = self.with_interval(box, i, ids[i], here.start, here.length - 1)
                last = self.with_interval(box, i, ids[i], here.start + here.length - 1, 1)
                for w in range(self.n_words):
                    self.mask[box, w] = self.mask[below, w] | self.mask[last, w]
                break
            self.next_box(ids)

    cdef void drop_border_cuts(self) noexcept nogil:
        """The cut above the last slab of a box is not inside the box."""
        cdef:
            intp_t box, i, end, bit
            intp_t ids[MAX_AXES]
            uint64_t one = 1
        self.intervals_in(0, ids)
        for box in range(self.n_boxes):
            for i in range(self.n_outer):
                end = self.intervals[i][ids[i]].start + self.intervals[i][ids[i]].length
                if end < self.size[i]:
                    bit = self.shift[i] + end - 1
                    self.mask[box, self.word[i] + (bit >> 6)] &= ~(one << (bit & 63))
            self.next_box(ids)

    cdef void find_representatives(self) noexcept nogil:
        """A border slab that repeats its neighbour can go: the smaller box stands for both."""
        cdef:
            intp_t box, i, start
            intp_t ids[MAX_AXES]
            Interval here
        self.intervals_in(0, ids)
        for box in range(self.n_boxes):
            self.representative[box] = <int32_t> box
            for i in range(self.n_outer):
                here = self.intervals[i][ids[i]]
                if here.length == 1:
                    continue
                start = here.start
                if not self.has_cut(box, i, start):
                    start += 1
                elif self.has_cut(box, i, start + here.length - 2):
                    continue
                self.representative[box] = self.representative[
                    self.with_interval(box, i, ids[i], start, here.length - 1)]
                break
            self.next_box(ids)

    # --------------------------------------------------------------------------------- blocks

    cdef void describe(self, intp_t box, Block *block) noexcept nogil:
        """What is stored for an outer box."""
        cdef intp_t j, n
        block.size = 1
        block.row_size = 1
        block.n_map = 0
        block.n_lead = self.n_lead
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

    cdef void place_blocks(self) noexcept nogil:
        """Give every block its place in the table, and forecast the work."""
        cdef:
            intp_t box, i, j, n_splits
            intp_t ids[MAX_AXES]
            int64_t place = 0
            double cost = 0, entry_cost
            Interval here
            Block block
        self.intervals_in(0, ids)
        for box in range(self.n_boxes):
            if self.representative[box] != box:
                self.offset[box] = self.offset[self.representative[box]]
                self.next_box(ids)
                continue
            self.describe(box, &block)
            self.offset[box] = place
            place += block.size
            n_splits = 0
            for i in range(self.n_outer):
                here = self.intervals[i][ids[i]]
                n_splits += (
                    self.cuts_below(box, i, here.start + here.length - 1)
                    - self.cuts_below(box, i, here.start))
            # measured: nanoseconds of a block, of its splits on outer and on inner axes
            entry_cost = 2.0 + 1.2 * n_splits
            for j in range(self.n_inner):
                entry_cost += (0.3 if j < self.n_lead else 0.7) * (block.n_cells[j] - 1)
            cost += 200.0 + 300.0 * n_splits + block.size * entry_cost
            self.next_box(ids)
        self.n_states = place
        self.cost = cost

    # ------------------------------------------------------------------- a block and its parts

    cdef void list_parts(self, intp_t box, vector[SplitSide] *parts) noexcept nogil:
        """The boxes on the two sides of each split on an outer axis, without their maps."""
        cdef:
            intp_t i, k, end
            intp_t ids[MAX_AXES]
            Interval here
            SplitSide part
        parts.clear()
        self.intervals_in(box, ids)
        for i in range(self.n_outer):
            here = self.intervals[i][ids[i]]
            end = here.start + here.length
            for k in range(here.start, end - 1):
                if not self.has_cut(box, i, k):
                    continue
                part.box = self.representative[
                    self.with_interval(box, i, ids[i], here.start, k + 1 - here.start)]
                parts.push_back(part)
                part.box = self.representative[
                    self.with_interval(box, i, ids[i], k + 1, end - 1 - k)]
                parts.push_back(part)

    cdef void open_block(self, intp_t box, intp_t n_splits, OpenBlock *our) noexcept nogil:
        """Describe the block of a box, and map the parts of its first `n_splits` outer splits."""
        cdef:
            intp_t i, j, row, n_lead
            intp_t ids[MAX_AXES]
        our.box = box
        self.describe(box, &our.block)
        # counted, not divided out: rows are looked up for every split of the block
        n_lead = our.block.n_lead
        our.lead_ids.assign(our.block.n_rows * n_lead, 0)
        for row in range(1, our.block.n_rows):
            for j in range(n_lead):
                our.lead_ids[row * n_lead + j] = our.lead_ids[(row - 1) * n_lead + j]
            j = n_lead - 1
            while our.lead_ids[row * n_lead + j] == our.block.n_ids[j] - 1:
                our.lead_ids[row * n_lead + j] = 0
                j -= 1
            our.lead_ids[row * n_lead + j] += 1
        self.intervals_in(box, ids)
        for i in range(self.n_outer):
            our.first[i] = self.intervals[i][ids[i]].start
        our.maps.clear()
        our.row_maps.clear()
        self.list_parts(box, &our.parts)
        for i in range(min(<intp_t> our.parts.size(), 2 * n_splits)):
            self.map_part(our, &our.parts[i])

    cdef void map_part(self, OpenBlock *our, SplitSide *part) noexcept nogil:
        """Where the regions of our block lie in the block of a part."""
        cdef:
            Block other
            Block *block = &our.block
            intp_t j, i, cut, kept, start, length, first, place
        self.describe(part.box, &other)
        part.same = True
        part.same_row = True
        part.lead = our.maps.size()
        part.row = -1
        for j in range(self.n_inner):
            if other.n_cells[j] != block.n_cells[j]:
                part.same = False
                if j >= self.n_lead:
                    part.same_row = False
        if part.same:
            return
        place = part.lead
        our.maps.resize(place + block.n_map)
        for j in range(self.n_inner):
            i = self.n_outer + j
            # where each of our kept cells lies among the kept cells of the part
            if <intp_t> our.cell_map.size() < self.size[i]:
                our.cell_map.resize(self.size[i])
            our.cell_map[0] = 0
            kept = 0
            for cut in range(self.size[i] - 1):
                if self.has_cut(our.box, i, cut):
                    our.cell_map[kept + 1] = (
                        our.cell_map[kept] + self.has_cut(part.box, i, cut))
                    kept += 1
            for length in range(1, block.n_cells[j] + 1):
                for start in range(block.n_cells[j] - length + 1):
                    first = our.cell_map[start]
                    our.maps[place] = other.stride[j] * interval_id(
                        other.n_cells[j], first, our.cell_map[start + length - 1] - first + 1)
                    place += 1
        if not part.same_row:
            self.map_row(our, part)

    cdef void map_row(self, OpenBlock *our, SplitSide *part) noexcept nogil:
        """Where the entries of our rows lie in a part's rows: sums over the axes of a row."""
        cdef:
            Block *block = &our.block
            intp_t j, n, e, id, n_entries = 1
            intp_t first = part.lead + block.n_map
        part.row = our.row_maps.size()
        our.row_maps.resize(part.row + block.row_size)
        our.row_maps[part.row] = 0
        for j in range(self.n_lead, self.n_inner):
            first -= block.n_ids[j]
        for j in range(self.n_lead, self.n_inner):
            n = block.n_ids[j]
            # backwards, so that what is still to be read is not overwritten
            for e in range(n_entries - 1, -1, -1):
                for id in range(n - 1, -1, -1):
                    our.row_maps[part.row + e * n + id] = <int32_t> (
                        our.row_maps[part.row + e] + our.maps[first + id])
            n_entries *= n
            first += n

    # --------------------------------------------------------------------------------- classes

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
