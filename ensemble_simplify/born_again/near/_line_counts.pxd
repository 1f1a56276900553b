"""What a region of a neighbourhood holds, as other kernels use it; see `_line_counts.pyx`."""

cimport cython
from libcpp.vector cimport vector

from ensemble_simplify._typedefs cimport float64_t, int32_t, intp_t, uint8_t, uint64_t

cdef extern from *:
    """
    #define ES_TINY 1e-9
    """
    # Costs, and weights of points, that are closer than this are equal.
    const double TINY "ES_TINY"


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


cdef struct Run:
    int32_t star
    int32_t axis
    int32_t first
    int32_t last
    int32_t label
    int32_t joined


cdef class LineCounts:
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
        double work, work_limit, next_poll
        bint stopped
        # whether no point may be wrong, so that errors need not be told
        bint quick
        double weight
        # the split with the least error of its two sides, and that error
        ScoredCut stump
        double stump_error

    cdef void set_limit(self, double work) noexcept

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
