"""Scores of trees, and their pruned copies; see `_pruner.pyx`."""

cimport cython
from libcpp.vector cimport vector

from ensemble_simplify._typedefs cimport int32_t, intp_t
from ensemble_simplify.genesim.population._rows cimport RowBits
from ensemble_simplify.genesim.population._trees cimport CountedTree, ScoredTree


@cython.final
cdef class TreeScorer:
    cdef int metric
    cdef intp_t n_classes
    cdef double total                # sum of a tree without errors, not yet divided
    cdef double training_weight      # what the score on the training rows counts
    cdef double training_share       # the same for what a leaf adds, before the division
    cdef vector[double] val_total    # weight of every class among the validation rows
    cdef vector[double] train_total  # and among the training rows

    cdef double hits(self, const double *weights, int32_t label) noexcept nogil
    cdef double train_hits(self, const double *weights, int32_t label) noexcept nogil
    cdef double leaf_value(self, const double *weights, int32_t label) noexcept nogil
    cdef double from_sum(self, double sum_of_values) noexcept nogil
    cdef double f1(self, const double *hits, const double *calls) noexcept nogil


cdef struct PruningStep:
    # A split that weakest-link pruning makes a leaf, and the price of a leaf from which on.
    float price
    int32_t node


@cython.final
cdef class Pruner:
    cdef TreeScorer scorer
    cdef int how
    cdef intp_t n_classes, max_leaves, known_bytes
    cdef bint keep_paths
    # Of the nodes of the tree at hand:
    cdef vector[int32_t] label
    cdef vector[double] leaf_score   # what it adds to the score as a leaf
    cdef vector[double] impurity
    cdef vector[double] price        # as of `critical_prices`
    cdef vector[int32_t] pruned_at   # step of the path that makes it a leaf, or one above it
    cdef vector[char] is_leaf
    # Of the path:
    cdef vector[PruningStep] steps
    cdef vector[int32_t] path_leaves
    cdef vector[double] path_score
    # Weight of training, then of validation rows by class: labelled well, and labelled so.
    cdef vector[double] hits
    cdef vector[double] calls

    cdef void add_trees(
        self, const CountedTree *tree, const vector[double] &front_score, vector[ScoredTree] &out
    ) noexcept nogil
    cdef intp_t best_step(self, intp_t first) noexcept nogil
    cdef void add_for_front(
        self, const CountedTree *tree, intp_t first, intp_t best,
        const vector[double] &front_score, vector[ScoredTree] &out
    ) noexcept nogil
    cdef void look_at_nodes(self, const CountedTree *tree) noexcept nogil
    cdef void cost_complexity_path(self, const CountedTree *tree) noexcept nogil
    cdef void list_steps(self, const CountedTree *tree) noexcept nogil
    cdef void f1_path(self, const CountedTree *tree) noexcept nogil
    cdef void count_calls(self, const CountedTree *tree, intp_t node, double sign) noexcept nogil
    cdef void drop_calls_below(
        self, const CountedTree *tree, intp_t node, int32_t step
    ) noexcept nogil
    cdef void reduced_error(self, const CountedTree *tree) noexcept nogil
    cdef void add_another(
        self, const CountedTree *tree, int32_t step, vector[ScoredTree] &out
    ) noexcept nogil
    cdef void add(
        self, const CountedTree *tree, int32_t step, vector[ScoredTree] &out
    ) noexcept nogil
    cdef int32_t mark_leaves(self, const CountedTree *tree, int32_t step) noexcept nogil
    cdef bint make_room(self, int32_t n_leaves, ScoredTree &copy) noexcept nogil
    cdef void copy_leaf(
        self, const CountedTree *tree, intp_t node, intp_t leaf, ScoredTree &copy
    ) noexcept nogil


cdef double best_at(const vector[double] &front_score, intp_t n_leaves) noexcept nogil
cdef double rounded(double score) noexcept nogil
