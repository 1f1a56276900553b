"""Trees with what the rows say of their nodes: what the kernels of this wing hand on."""

from libcpp.vector cimport vector

from ensemble_simplify.grid._regions cimport Node
from ensemble_simplify._typedefs cimport int32_t, intp_t, uint64_t


cdef struct AxisCut:
    int32_t axis
    int32_t cut


cdef cppclass CountedTree:
    # A tree, and of every node:
    vector[Node] nodes
    vector[double] weights        # by class, of the training rows, then of the validation rows
    vector[int32_t] n_rows        # training rows, validation rows
    vector[uint64_t] marks        # sum of the marks of its rows


cdef cppclass ScoredTree:
    # A tree that lives in the population or the front.
    vector[Node] nodes
    # Of its leaves from left to right, as in `CountedTree`; empty if that takes too much memory.
    vector[double] weights
    vector[int32_t] n_rows
    vector[uint64_t] marks
    double score
    uint64_t behaviour            # equal for trees that answer alike on every row
    int32_t n_leaves
    bint front_only               # offered to the front, not to the population


cdef struct Change:
    # Where a mutant differs from its parent: two slices of it, and where the nodes between the two
    # stand in the parent. Everything else of the two trees is the same.
    intp_t first
    intp_t first_end
    intp_t second
    intp_t second_end
    intp_t shift


cdef inline int32_t heaviest(const double *weights, intp_t n_classes) noexcept nogil:
    """The first class of the largest weight."""
    cdef intp_t c
    cdef int32_t label = 0
    for c in range(1, n_classes):
        if weights[c] > weights[label]:
            label = <int32_t> c
    return label
