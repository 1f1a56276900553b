"""Trees merged over rows; see `_merger.pyx`."""

cimport cython
from libcpp.vector cimport vector

from ensemble_simplify.grid._regions cimport Node
from ensemble_simplify._typedefs cimport int32_t, intp_t, uint64_t
from ensemble_simplify.genesim.population._rows cimport Group, RowBits, Splitter
from ensemble_simplify.genesim.population._trees cimport Change, CountedTree, ScoredTree, AxisCut

cdef enum:
    ORDER_FIRST = 0    # root of the first tree that is not in a leaf
    ORDER_RANDOM = 1   # any root
    ORDER_GAIN = 2     # root with the largest decrease of Gini impurity


cdef struct MergeFrame:
    Group group
    AxisCut split
    intp_t at             # where its positions in the k trees begin
    int32_t pos           # its number in the output
    int32_t saved         # bound of the region to restore
    int32_t stage         # 0: to be opened, 1: left child done, 2: right child done


@cython.final
cdef class Merger:
    cdef RowBits rows
    cdef Splitter splitter
    cdef CountedTree out            # what was merged last
    cdef bint keep_alike            # leave splits with one answer on both sides
    cdef vector[MergeFrame] stack
    cdef vector[int32_t] at         # of every frame, the positions in the k trees
    cdef vector[AxisCut] roots
    cdef vector[int32_t] lo         # the region of the node at hand
    cdef vector[int32_t] hi
    cdef vector[int32_t] half_done  # splits being copied, complemented after their left child

    cdef int merge(
        self, const Node **trees, intp_t k, int order, uint64_t *state, bint may_stop,
        const ScoredTree *parent, const Change *change
    ) except -1 nogil
    cdef void start(self, intp_t k, MergeFrame *frame) noexcept nogil
    cdef void leave(self, const MergeFrame *current) noexcept nogil
    cdef bint find_split(
        self, const Node **trees, intp_t k, int order, uint64_t *state, MergeFrame *current
    ) noexcept nogil
    cdef void list_roots(self, const Node **trees, intp_t k, int32_t *at) noexcept nogil
    cdef intp_t pick(self, int order, uint64_t *state, const MergeFrame *current) noexcept nogil
    cdef void pass_root(
        self, const Node **trees, intp_t k, AxisCut split, bint to_left, int32_t *at
    ) noexcept nogil
    cdef void open_node(self, int32_t axis, int32_t cut) noexcept nogil
    cdef void add_leaf(self, const MergeFrame *frame) noexcept nogil
    cdef void truncate(self, intp_t n_nodes) noexcept nogil
    cdef void close_node(self, int32_t pos) noexcept nogil
    cdef void add_children(self, intp_t to, intp_t a, intp_t b) noexcept nogil
    cdef bint copy_unchanged(
        self, const Node *nodes, const ScoredTree *parent, const Change *change, MergeFrame *current
    ) noexcept nogil
    cdef void copy(self, const ScoredTree *tree) noexcept nogil
    cdef void copy_branch(self, const ScoredTree *tree, intp_t at) noexcept nogil
