"""Training and validation rows as codes; see `_rows.pyx`."""

cimport cython
from libcpp.vector cimport vector

from ensemble_simplify.grid._regions cimport Node
from ensemble_simplify._typedefs cimport int32_t, int64_t, intp_t, uint32_t, uint64_t
from ensemble_simplify.genesim.population._trees cimport AxisCut


cdef struct Row:
    double weight
    uint64_t mark           # random; sets of rows are compared by the sums of their marks
    int32_t label


cdef struct Group:
    # The rows of a node, as stored words; once divided, those of its children stand after them.
    intp_t first            # first stored word of the node, and how many
    intp_t n_words
    intp_t n_left
    intp_t n_right
    intp_t n_train          # training rows in the node, and in its children
    intp_t n_train_left
    intp_t n_train_right
    intp_t end              # of the stored words when the node was opened


@cython.final
cdef class RowBits:
    cdef readonly intp_t n_axes, n_classes, n_train, n_val
    cdef intp_t n_words, n_train_words
    cdef vector[int32_t] codes           # n_axes x (64 * n_words), training words first
    cdef vector[Row] rows                # 64 * n_words
    cdef vector[int32_t] place           # where each row stands; training rows first
    cdef vector[uint64_t] everything     # words of all rows
    cdef vector[int32_t] n_cuts

    cdef intp_t leaf_at(self, const Node *nodes, intp_t place) noexcept nogil
    cdef void sort(self, const vector[Node] &nodes) noexcept nogil


@cython.final
cdef class Splitter:
    cdef RowBits rows
    cdef const int32_t *codes            # those of `rows`
    cdef const Row *row
    cdef intp_t n_words, n_train_words, n_classes
    cdef readonly intp_t min_leaf
    cdef vector[uint32_t] index          # stored words: which they are, and their bits
    cdef vector[uint64_t] word
    cdef vector[double] tally
    cdef vector[int64_t] first_split     # running number of the first split of every axis
    cdef vector[vector[uint64_t]] cache  # words of the rows that go left, of some splits
    cdef vector[int64_t] cached          # of which
    cdef intp_t work                     # words looked at since this was last set to 0

    cdef void forget(self) noexcept nogil
    cdef void all_rows(self, Group *group) noexcept nogil
    cdef const uint64_t* left_words(self, AxisCut split, intp_t n_words) noexcept nogil
    cdef uint64_t left_bits(
        self, const int32_t* codes, uint32_t index, uint64_t word, int32_t cut
    ) noexcept nogil
    cdef bint divide(self, Group *group, AxisCut split) noexcept nogil
    cdef double gain(self, const Group *group, AxisCut split) noexcept nogil
    cdef bint is_pure(self, const Group *group) noexcept nogil
    cdef uint64_t add_up(self, const Group *group, double *weights, int32_t *n_rows) noexcept nogil
