"""What the passes of ``_dp.pyx`` use of the layout; explained in ``_dp_layout.pyx``."""

from libc.stdint cimport int32_t, int64_t, uint16_t, uint64_t
from libcpp.vector cimport vector

from ensemble_simplify._typedefs cimport intp_t

cdef enum:
    MAX_AXES = 64


# ---------------------------------------------------------------------------- intervals of cells

cdef struct Interval:
    intp_t start
    intp_t length


cdef inline intp_t n_intervals(intp_t n) noexcept nogil:
    return n * (n + 1) // 2


cdef inline intp_t interval_id(intp_t n, intp_t start, intp_t length) noexcept nogil:
    """Intervals of an axis of n cells, numbered by length, then by start."""
    return (length - 1) * (n + 1) - (length - 1) * length // 2 + start


cdef inline Interval interval_of(intp_t n, intp_t id) noexcept nogil:
    """The interval of a number."""
    cdef Interval interval
    interval.length = 1
    while id >= n - interval.length + 1:
        id -= n - interval.length + 1
        interval.length += 1
    interval.start = id
    return interval


cdef inline intp_t n_inner_ends(Interval interval, intp_t n) noexcept nogil:
    """How many ends of an interval are not ends of the axis: splits needed to cut it out."""
    return (interval.start > 0) + (interval.start + interval.length < n)


# ----------------------------------------------------------------------------------- the layout

cdef struct Block:
    # What is stored for one outer box: the values of all boxes of its kept inner cells.
    intp_t n_cells[MAX_AXES]    # kept cells of each inner axis
    intp_t n_ids[MAX_AXES]      # intervals of them
    intp_t stride[MAX_AXES]
    intp_t n_lead               # inner axes before those that form the rows
    intp_t row_size
    intp_t n_rows
    intp_t size
    intp_t n_map                # sum of n_ids


cdef struct SplitSide:
    # One side of a split on an outer axis, seen from the block that is being solved.
    intp_t box
    bint same          # its block is laid out like ours
    bint same_row      # its rows are laid out like ours
    intp_t lead        # where in `maps` it is said where our intervals lie in its block
    intp_t row         # where in `row_maps` it is said where our row entries lie in its rows


cdef struct OpenBlock:
    # The block that is being solved.
    intp_t box
    Block block
    intp_t first[MAX_AXES]      # first cell of its box on each outer axis
    vector[SplitSide] parts          # lower and upper side of each split on an outer axis
    vector[intp_t] maps
    vector[int32_t] row_maps
    vector[int32_t] lead_ids    # (n_rows, n_lead): interval of each row on the axes before the rows
    vector[intp_t] cell_map     # scratch memory of `map_part`


cdef inline const int32_t *row_map(const OpenBlock *our, const SplitSide *part) noexcept nogil:
    """Where the entries of our rows lie in a part's rows; null: in the same order."""
    if part.same_row:
        return NULL
    return &our.row_maps[part.row]


cdef inline intp_t part_row(const OpenBlock *our, const SplitSide *part, intp_t row) noexcept nogil:
    """Where in a part's block the row starts that belongs to one of our rows."""
    cdef:
        intp_t j, place = 0
        intp_t m = part.lead
        const int32_t *ids
    if part.same:
        return row * our.block.row_size
    ids = our.lead_ids.data() + row * our.block.n_lead
    for j in range(our.block.n_lead):
        place += our.maps[m + ids[j]]
        m += our.block.n_ids[j]
    return place


cdef class Layout:
    # The methods are explained where they are defined.
    cdef:
        readonly object shape
        readonly intp_t n_states
        readonly double cost
        const uint16_t[::1] labels
        bint has_free
        intp_t n_axes, n_outer, n_inner, n_lead, n_words, n_boxes
        # Over all axes, in layout order: outer axes first. `axis` is the number in the grid.
        intp_t axis[MAX_AXES]
        intp_t size[MAX_AXES]
        intp_t cell_stride[MAX_AXES]
        intp_t word[MAX_AXES]
        intp_t shift[MAX_AXES]
        # Over outer axes.
        intp_t box_stride[MAX_AXES]
        vector[vector[Interval]] intervals
        # Over outer boxes.
        uint64_t[:, ::1] mask           # cuts that matter inside
        int32_t[::1] representative     # the box whose block is used
        int64_t[::1] offset             # where the block starts in the table

    cdef void mask_smallest_boxes(self, const uint64_t[:, ::1] cell_masks) noexcept nogil
    cdef void mask_larger_boxes(self) noexcept nogil
    cdef void drop_border_cuts(self) noexcept nogil
    cdef void find_representatives(self) noexcept nogil
    cdef void place_blocks(self) noexcept nogil
    cdef void intervals_in(self, intp_t box, intp_t *ids) noexcept nogil
    cdef bint next_box(self, intp_t *ids) noexcept nogil
    cdef intp_t with_interval(
        self, intp_t box, intp_t i, intp_t id, intp_t start, intp_t length) noexcept nogil
    cdef bint has_cut(self, intp_t box, intp_t i, intp_t cut) noexcept nogil
    cdef intp_t cuts_below(self, intp_t box, intp_t i, intp_t cell) noexcept nogil
    cdef void describe(self, intp_t box, Block *block) noexcept nogil
    cdef void list_parts(self, intp_t box, vector[SplitSide] *parts) noexcept nogil
    cdef void open_block(self, intp_t box, intp_t n_splits, OpenBlock *our) noexcept nogil
    cdef void map_part(self, OpenBlock *our, SplitSide *part) noexcept nogil
    cdef void map_row(self, OpenBlock *our, SplitSide *part) noexcept nogil
    cdef uint16_t class_of(self, const intp_t *lo, const intp_t *hi) noexcept nogil
