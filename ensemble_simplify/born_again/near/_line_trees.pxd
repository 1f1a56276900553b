"""Trees for labelled rows and their lines, as other kernels use them; see `_line_trees.pyx`."""

cimport cython
from libcpp.unordered_map cimport unordered_map
from libcpp.vector cimport vector

from ensemble_simplify.born_again.near._line_counts cimport LineCounts, Subset
from ensemble_simplify.grid._regions cimport Node
from ensemble_simplify._typedefs cimport float64_t, int32_t, intp_t, uint64_t


cdef cppclass Known:
    # a region without ends that tell nothing apart, and leaves that are too few for it
    vector[int32_t] box
    int32_t too_few


cdef class LineTrees(LineCounts):
    cdef:
        vector[int32_t] stamp
        int32_t stamps
        # regions that are known not to fit into so many leaves
        unordered_map[uint64_t, vector[Known]] known
        double n_known

    @cython.final
    cdef bint out_of_time(self) except -1 nogil

    @cython.final
    cdef double put_leaf(
        self, int32_t label, double error, double price, vector[Node] &out
    ) noexcept nogil

    @cython.final
    cdef void put_split(self, int32_t axis, int32_t cut, vector[Node] &out) noexcept nogil
    cdef double grow(
        self, const Subset *part, intp_t place, double price, vector[Node] &out
    ) except -1.0 nogil
    cdef void choose_candidates(self, intp_t place, intp_t n, intp_t an_axis) noexcept nogil
    cdef double look_ahead(
        self, const Subset *part, intp_t place, double price, intp_t width, intp_t an_axis,
        vector[Node] &out,
    ) except -1.0 nogil
    cdef double wrong_in(self, const Subset *part, int32_t leaf) noexcept nogil

    @cython.final
    cdef double weight_of(self, const Subset *part, int32_t star) noexcept nogil
    cdef double cost_of(
        self, const Subset *part, intp_t place, double price, const Node *nodes, int32_t at
    ) noexcept nogil
    cdef int32_t choose_subtree(self, const vector[Node] &tree) noexcept nogil
    cdef Subset *reach_node(
        self, const vector[Node] &tree, int32_t target, intp_t *place
    ) noexcept nogil
    cdef bint fits_fewer(
        self, const Subset *part, intp_t place, intp_t n_leaves, vector[Node] &out
    ) except -1 nogil
    cdef void weigh_nodes(
        self, const Subset *part, intp_t place, const Node *nodes, int32_t at,
        float64_t *errors, int32_t *labels,
    ) noexcept nogil
    cdef void add_wrong(
        self, const Subset *part, intp_t place, const Node *nodes, int32_t at,
        const intp_t *counts, const float64_t *before, double *wrong,
    ) noexcept nogil
    cdef intp_t n_forced(self, const Subset *part) noexcept nogil

    @cython.final
    cdef intp_t stamped(self, intp_t axis, int32_t at) noexcept nogil
    cdef void pure_ends(
        self, const Subset *part, intp_t a, int32_t *low, int32_t *high
    ) noexcept nogil

    @cython.final
    cdef void note_ends(self, int32_t p, int32_t *low, int32_t *high) noexcept nogil
    cdef uint64_t canonical(self, const Subset *part, vector[int32_t] &box) noexcept nogil
    cdef intp_t n_apart(
        self, const Subset *part, intp_t most, int32_t *label
    ) noexcept nogil
    cdef int fits(
        self, const Subset *part, intp_t place, intp_t n_leaves, vector[Node] &out
    ) except -2 nogil
    cdef bint fits_two(
        self, const Subset *part, intp_t place, vector[int32_t] &low, vector[int32_t] &high,
        vector[Node] &out,
    ) noexcept nogil
    cdef int fits_split(
        self, const Subset *part, intp_t place, intp_t n_leaves, const vector[int32_t] &low,
        const vector[int32_t] &high, const vector[int32_t] &cuts, vector[Node] &out,
    ) except -2 nogil
    cdef int32_t too_few(self, uint64_t code, vector[int32_t] &box) noexcept nogil
    cdef void remember(
        self, uint64_t code, vector[int32_t] &box, intp_t n_leaves
    ) noexcept nogil
    cdef int fits_below(
        self, const Subset *part, intp_t place, int32_t axis, int32_t cut,
        intp_t n_left, intp_t n_right, vector[Node] &out,
    ) except -2 nogil
    cdef int fits_divided(
        self, const Subset *part, intp_t place, int32_t axis, intp_t n_left, intp_t n_leaves,
        int32_t low, int32_t high, const vector[int32_t] &cuts, vector[Node] &out,
    ) except -2 nogil
