"""Trees for labelled rows and their lines, as other kernels use them; see `_line_trees.pyx`."""

cimport cython
from libcpp.unordered_map cimport unordered_map
from libcpp.vector cimport vector

from ensemble_simplify.grid._regions cimport Node
from ensemble_simplify._typedefs cimport float64_t, int32_t, intp_t, uint8_t, uint64_t


cdef cppclass Subset:
    # stars whose row is inside, and runs that reach inside
    vector[int32_t] stars
    vector[int32_t] runs
    # first and last cell of the region
    vector[int32_t] lo
    vector[int32_t] hi


cdef struct ScoredCut:
    double score
    int32_t axis
    int32_t cut


cdef cppclass Known:
    # a region without ends that tell nothing apart, and leaves that are too few for it
    vector[int32_t] box
    int32_t too_few


cdef struct Run:
    int32_t star
    int32_t axis
    int32_t first
    int32_t last
    int32_t label
    int32_t joined


cdef class LineTrees:
    cdef:
        intp_t n_axes, n_columns, n_stars, n_others
        const int32_t[:, ::1] cells
        const int32_t[::1] labels
        const int32_t[:, ::1] own_first
        const int32_t[:, ::1] own_last
        const uint8_t[:, ::1] own_joined
        const int32_t[:, ::1] runs
        const float64_t[::1] star_weight
        const Run *run
        # the last label for which a leaf of each label is right
        const int32_t[::1] alike
        const float64_t[::1] numbers
        bint has_moments
        vector[intp_t] first
        # by position and column, what is added up: of points there, and of runs from here on
        vector[float64_t] mass
        vector[float64_t] change
        vector[uint8_t] event
        # of each axis of the region, the first cell and those with an event, in order, from
        # `first` of the axis on
        vector[int32_t] marks
        vector[intp_t] n_marks
        # whether cells are so many that only those with an event are looked at
        bint is_sparse
        vector[float64_t] total, left, running
        vector[double] reach
        vector[Subset *] pool
        vector[ScoredCut] splits
        vector[vector[ScoredCut]] candidates
        uint64_t random
        double noise
        int criterion
        double work, work_limit, next_poll, deadline
        bint stopped
        # whether no point may be wrong, so that errors need not be told
        bint quick
        double weight
        # the split with the least error of its two sides, and that error
        ScoredCut stump
        double stump_error
        vector[int32_t] stamp
        int32_t stamps
        # regions that are known not to fit into so many leaves
        unordered_map[uint64_t, vector[Known]] known
        double n_known

    cdef void set_limits(self, double work, double deadline) noexcept

    @cython.final
    cdef Subset *room(self, intp_t i) noexcept nogil

    @cython.final
    cdef Subset *everything(self) noexcept nogil

    @cython.final
    cdef Run run_of(self, int32_t number) noexcept nogil

    @cython.final
    cdef Subset *side(
        self, const Subset *whole, int32_t axis, int32_t cut, bint right, intp_t place
    ) noexcept nogil

    @cython.final
    cdef void add(
        self, float64_t *columns, int32_t label, double weight
    ) noexcept nogil

    @cython.final
    cdef void add_moments(self, float64_t *columns, int32_t label, double weight) noexcept nogil

    @cython.final
    cdef void add_point(
        self, const Subset *part, intp_t axis, int32_t at, int32_t label, double weight
    ) noexcept nogil

    @cython.final
    cdef void add_run(
        self, const Subset *part, intp_t axis, int32_t lo, int32_t hi, int32_t label
    ) noexcept nogil

    @cython.final
    cdef void mark(self, const Subset *part, intp_t axis, int32_t at) noexcept nogil

    @cython.final
    cdef void forget(self, const Subset *part) noexcept nogil

    @cython.final
    cdef void sort_marks(self, const Subset *part, intp_t a) noexcept nogil

    @cython.final
    cdef void begin_axis(self) noexcept nogil

    @cython.final
    cdef void count(self, const Subset *part) noexcept nogil

    @cython.final
    cdef bint serves(self, int32_t leaf, int32_t label) noexcept nogil
    cdef double leaf_error(self, const Subset *part, int32_t *label) noexcept nogil

    @cython.final
    cdef void score_splits(self, const Subset *part) noexcept nogil

    @cython.final
    cdef bint rate(self, double *score, double *error) noexcept nogil

    @cython.final
    cdef bint rate_moments(self, double *score, double *error) noexcept nogil

    @cython.final
    cdef double impurity(self) noexcept nogil

    @cython.final
    cdef bint best_split(self, ScoredCut *split) noexcept nogil

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
    cdef int fits_below(
        self, const Subset *part, intp_t place, int32_t axis, int32_t cut,
        intp_t n_left, intp_t n_right, vector[Node] &out,
    ) except -2 nogil
    cdef int fits_divided(
        self, const Subset *part, intp_t place, int32_t axis, intp_t n_left, intp_t n_leaves,
        int32_t low, int32_t high, const vector[int32_t] &cuts, vector[Node] &out,
    ) except -2 nogil
