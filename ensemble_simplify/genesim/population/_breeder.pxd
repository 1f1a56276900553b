"""New trees out of those of the population; see `_breeder.pyx`."""

cimport cython
from libcpp.vector cimport vector

from ensemble_simplify.grid._regions cimport Node
from ensemble_simplify._typedefs cimport int32_t, intp_t, uint64_t
from ensemble_simplify.genesim.population._merger cimport Merger
from ensemble_simplify.genesim.population._pruner cimport Pruner
from ensemble_simplify.genesim.population._rows cimport Rows
from ensemble_simplify.genesim.population._trees cimport Change, ScoredTree


@cython.final
cdef class Breeder:
    cdef Rows rows
    cdef Merger merger
    cdef Pruner pruner
    cdef vector[Node] draft       # the tree to be cleaned
    cdef Change change            # where it differs from its parent
    cdef vector[int32_t] choice

    # These return 1 if the deadline passed meanwhile; what they make is added to `out`.

    cdef int clean(
        self, const vector[double] &front_score, double deadline, vector[ScoredTree] &out
    ) except -1 nogil
    cdef int cross(
        self, const vector[ScoredTree] &trees, const vector[double] &front_score,
        intp_t n_parents, intp_t tournament_size, int order, uint64_t *state, double deadline,
        vector[ScoredTree] &out
    ) except -1 nogil
    cdef int mutate(
        self, const ScoredTree *parent, const vector[double] &front_score, uint64_t *state,
        double deadline, vector[ScoredTree] &out
    ) except -1 nogil
    cdef int clean_mutant(
        self, const ScoredTree *parent, const vector[double] &front_score, double deadline,
        vector[ScoredTree] &out
    ) except -1 nogil
    cdef bint move_threshold(self, const ScoredTree *tree, uint64_t *state) noexcept nogil
    cdef intp_t nth_split(self, const ScoredTree *tree, intp_t n) noexcept nogil
    cdef void range_of_cuts(
        self, const ScoredTree *tree, intp_t node, int32_t *lo, int32_t *hi
    ) noexcept nogil
    cdef bint swap_subtrees(self, const ScoredTree *tree, uint64_t *state) noexcept nogil
    cdef void append(self, const ScoredTree *tree, intp_t first, intp_t end) noexcept nogil
