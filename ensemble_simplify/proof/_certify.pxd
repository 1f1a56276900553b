"""Proofs about tree models on boxes of cells; see `_certify.pyx`."""

cimport cython
from libcpp.vector cimport vector

from ensemble_simplify.grid._boxes cimport BoundedTrees
from ensemble_simplify.grid._regions cimport Node
from ensemble_simplify._typedefs cimport (
    float64_t, int32_t, int64_t, intp_t, uint8_t, uint64_t,
)


cdef enum Outcome:
    UNDECIDED   # a limit came first
    PROVEN      # the box has one class; the two models agree on the box
    REFUTED     # two cells of different class; a cell on which the models differ


# final: its methods are called without a look at the table of methods
@cython.final
cdef class Certifier(BoundedTrees):
    # One or two models, loaded once, for any number of boxes. Not for two threads at a time.
    cdef readonly intp_t n_models, n_labels
    # About the last box: the witnesses of a refutation (two cells for one model, one cell for
    # two) and their labels, or the label of a proof (-1: no common one).
    cdef vector[int32_t] witness
    cdef intp_t witness_label[2]
    cdef readonly intp_t target

    # Is the box of cells lo..hi (inclusive, n_axes entries each) one class (one model), or do
    # the models agree on it (two)? An `Outcome`; raises only what Ctrl-C or the judge raises.
    cdef int certify(
        self, const int32_t *lo, const int32_t *hi, int64_t max_boxes
    ) except -1 nogil
    # Exact label of one cell.
    cdef intp_t label_of(self, intp_t model, const int32_t *cell) except -1 nogil

    # trees
    cdef vector[int32_t] twin           # equal number: equal subtree; empty: not comparable
    cdef vector[int32_t] first_tree
    cdef bint paired
    # units
    cdef intp_t n_units
    cdef vector[int32_t] unit_of, parent, model_of, top
    cdef vector[float64_t] weight, tolerance
    cdef vector[uint8_t] allowed, opaque
    cdef vector[int32_t] rank
    # exact arithmetic
    cdef object judge
    # which pairs of the labels of two models refute: as an array, and row after row
    cdef object wrong_pairs
    cdef vector[uint8_t] wrong
    cdef vector[int32_t] rule, used     # rule and number of scores of a model
    cdef vector[float64_t] scale, scores, start, sums
    cdef vector[int32_t] label_at       # (n_models, n_scores + 2)
    cdef intp_t n_scores
    # the box being looked at
    cdef vector[float64_t] upper        # (n_units, width)
    cdef vector[uint8_t] alive          # (n_units, n_labels)
    cdef vector[int32_t] n_alive
    # search
    cdef vector[int32_t] open           # (n_units, width): entries that are still open
    cdef vector[int32_t] n_open
    cdef int32_t next_axis, next_cut, next_side
    cdef vector[int32_t] pending
    cdef intp_t n_pending

    cdef void _bound_units(self) noexcept nogil
    cdef void _find_possible(self, intp_t unit) noexcept nogil
    cdef void _hand_up(self, intp_t unit) noexcept nogil
    cdef int _choose(self) noexcept nogil
    cdef intp_t _lone_tree(self) noexcept nogil
    cdef void _find_open(self) noexcept nogil
    cdef void _count_gains(self, bint only_different) noexcept nogil
    cdef bint _equals_twin(self, intp_t tree) noexcept nogil
    cdef intp_t _decide(self, intp_t model) noexcept nogil
    cdef intp_t _settled(self, intp_t model) noexcept nogil
    cdef int _point_out(self, const int32_t *cell) except -1 nogil
    cdef int _flush(self) except -1 nogil
    cdef int _look(self) except -1 nogil
    cdef intp_t _ask(self, intp_t model) except -1 nogil
    cdef intp_t _descend(self, uint64_t *random) except -1 nogil
    cdef int _grow(self, vector[Node] &tree, int64_t max_nodes) except -1 nogil
