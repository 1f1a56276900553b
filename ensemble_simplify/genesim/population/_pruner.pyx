"""Scores of counted trees on the rows, and their pruned copies.

A `TreeScorer` knows the metric. A `Pruner` turns a merged tree into the trees that are offered to
the population: itself, cut back to the largest size allowed; its best pruned copy, on the
cost-complexity path or by reduced-error pruning; and what else of the path the front could use.
"""

import numpy as np

cimport cython
from libc.math cimport INFINITY, floor, log
from libc.string cimport memcpy
from libcpp.algorithm cimport sort
from libcpp.utility cimport move
from libcpp.vector cimport vector

from ensemble_simplify.writing._cost_complexity cimport critical_prices
from ensemble_simplify.grid._regions cimport Node, right_child, set_sizes
from ensemble_simplify._typedefs cimport float32_t, int32_t, intp_t, scramble, uint64_t
from ensemble_simplify.grid._sweep cimport TIE
from ensemble_simplify.genesim.population._rows cimport RowBits
from ensemble_simplify.genesim.population._trees cimport CountedTree, ScoredTree, heaviest

cdef enum:
    ACCURACY = 0
    BALANCED_ACCURACY = 1
    LOG_LOSS = 2
    F1_MACRO = 3

cdef enum:
    PRUNE_NONE = 0
    PRUNE_CCP = 1
    PRUNE_REDUCED_ERROR = 2

# Trees on the way of a pruning path are offered to the front up to this size.
cdef enum:
    FRONT_LEAVES = 512

cdef double SMALLEST_PROBABILITY = np.finfo(np.float64).eps


cdef double rounded(double score) noexcept nogil:
    """Scores that differ by rounding of their sums alone become equal."""
    return floor(score * 1e12 + 0.5) * 1e-12


cdef double best_at(const vector[double] &front_score, intp_t n_leaves) noexcept nogil:
    """Best score in the front with at most so many leaves."""
    cdef intp_t n = front_score.size()
    if n == 0:
        return -INFINITY
    return front_score[n_leaves if n_leaves < n else n - 1]


cdef inline double log_of(double p) noexcept nogil:
    return log(p if p > SMALLEST_PROBABILITY else SMALLEST_PROBABILITY)


cdef inline uint64_t label_mark(int32_t label) noexcept nogil:
    return scramble(<uint64_t> label + 1) | 1


cdef double macro_f1(
    const vector[double] &total, const double *hits, const double *calls
) noexcept nogil:
    """Mean of the F1 scores of the classes that occur or are predicted."""
    cdef intp_t c, present = 0
    cdef double sum_of_scores = 0.0
    for c in range(<intp_t> total.size()):
        if total[c] + calls[c] > TIE:
            present += 1
            sum_of_scores += 2.0 * hits[c] / (total[c] + calls[c])
    return sum_of_scores / present if present else 0.0


cdef bint earlier(const PruningStep &a, const PruningStep &b) noexcept nogil:
    if a.price != b.price:
        return a.price < b.price
    return a.node < b.node


# --------------------------------------------------------------------- scores

@cython.final
cdef class TreeScorer:
    """A metric on the validation rows, and, `training_weight` times, on the training rows.

    All metrics but F1 are sums over the leaves.
    """

    def __init__(self, RowBits rows, str metric, double training_weight=0.0):
        cdef intp_t i, place
        cdef double train_total = 0.0
        self.metric = {"accuracy": ACCURACY, "balanced_accuracy": BALANCED_ACCURACY,
                       "neg_log_loss": LOG_LOSS, "f1_macro": F1_MACRO}[metric]
        self.n_classes = rows.n_classes
        self.val_total.resize(rows.n_classes)
        self.train_total.resize(rows.n_classes)
        self.total = 0.0
        for i in range(rows.n_train + rows.n_val):
            place = rows.place[i]
            if i < rows.n_train:
                self.train_total[rows.rows[place].label] += rows.rows[place].weight
                train_total += rows.rows[place].weight
            else:
                self.val_total[rows.rows[place].label] += rows.rows[place].weight
                self.total += rows.rows[place].weight
        if self.metric == BALANCED_ACCURACY:
            # recalls are added up, and divided by the number of classes that there are
            self.total = 0.0
            train_total = 0.0
            for i in range(rows.n_classes):
                self.total += self.val_total[i] > 0.0
                train_total += self.train_total[i] > 0.0
        self.training_weight = training_weight
        self.training_share = 0.0
        if training_weight > 0.0 and train_total > 0.0:
            # so that both scores can be one sum, which is divided by the validation total
            self.training_share = training_weight * self.total / train_total

    cdef double hits(self, const double *weights, int32_t label) noexcept nogil:
        """Validation weight that a leaf labels well, by class if classes count alike."""
        cdef double hits = weights[self.n_classes + label]
        if self.metric == BALANCED_ACCURACY and hits > 0.0:
            return hits / self.val_total[label]
        return hits

    cdef double train_hits(self, const double *weights, int32_t label) noexcept nogil:
        """The same of the training rows."""
        if self.metric == BALANCED_ACCURACY and weights[label] > 0.0:
            return weights[label] / self.train_total[label]
        return weights[label]

    cdef double leaf_value(self, const double *weights, int32_t label) noexcept nogil:
        """What a leaf adds to the score (an F1 score is not a sum; see `f1`)."""
        cdef intp_t c
        cdef double weight = 0.0, value = 0.0, counts
        if self.metric != LOG_LOSS:
            return self.hits(weights, label) + self.training_share * self.train_hits(weights, label)
        for c in range(self.n_classes):
            weight += weights[c]
        for c in range(self.n_classes):
            counts = weights[self.n_classes + c] + self.training_share * weights[c]
            if counts > 0.0:
                value += counts * log_of(weights[c] / weight)
        return value

    cdef double from_sum(self, double sum_of_values) noexcept nogil:
        """The score, of the sum of what the leaves add."""
        return rounded(sum_of_values / self.total) if self.total > 0.0 else 0.0

    cdef double f1(self, const double *hits, const double *calls) noexcept nogil:
        """Macro F1 from true positives and predicted weights, by kind of rows and class."""
        cdef intp_t k = self.n_classes
        cdef double score = macro_f1(self.val_total, hits + k, calls + k)
        if self.training_weight > 0.0:
            score += self.training_weight * macro_f1(self.train_total, hits, calls)
        return rounded(score)


# --------------------------------------------------------------------- pruning

@cython.final
cdef class Pruner:
    """Scores and prunes trees; one a thread. Parameters are as of `Population`."""

    def __init__(
        self, TreeScorer scorer, str prune, intp_t max_leaf_nodes, intp_t known_bytes,
        bint keep_paths,
    ):
        self.scorer = scorer
        self.how = {"none": PRUNE_NONE, "ccp": PRUNE_CCP,
                    "reduced_error": PRUNE_REDUCED_ERROR}[prune]
        self.n_classes = scorer.n_classes
        self.max_leaves = max_leaf_nodes
        self.known_bytes = known_bytes
        self.keep_paths = keep_paths

    cdef void add_trees(
        self,
        const CountedTree *tree,
        const vector[double] &front_score,
        vector[ScoredTree] &out,    # OUT: the tree, its pruned copy, and what the front could use
    ) noexcept nogil:
        cdef intp_t first = 0, best
        cdef bint limited = (
            self.max_leaves > 0 and <intp_t> (tree.nodes.size() + 1) // 2 > self.max_leaves
        )
        self.look_at_nodes(tree)
        if self.how != PRUNE_CCP and not limited:
            self.add(tree, -1, out)
            if self.how == PRUNE_REDUCED_ERROR:
                self.reduced_error(tree)
                self.add_another(tree, 0, out)
            return
        self.cost_complexity_path(tree)
        if limited:
            while self.path_leaves[first] > self.max_leaves:
                first += 1
        self.add(tree, <int32_t> first, out)
        if self.how == PRUNE_NONE:
            return
        best = self.best_step(first)
        if best != first:
            self.add_another(tree, <int32_t> best, out)
        if self.keep_paths:
            self.add_for_front(tree, first, best, front_score, out)

    cdef intp_t best_step(self, intp_t first) noexcept nogil:
        """The last of the steps with the best score."""
        cdef intp_t step, best = first
        for step in range(first, <intp_t> self.path_score.size()):
            if self.path_score[step] >= self.path_score[best]:
                best = step
        return best

    cdef void add_for_front(
        self, const CountedTree *tree, intp_t first, intp_t best,
        const vector[double] &front_score, vector[ScoredTree] &out,
    ) noexcept nogil:
        """Add the trees of the path that are better than all smaller ones."""
        cdef intp_t step
        cdef double top = -INFINITY
        # From the smallest tree on: a larger one has to be better than all before it.
        for step in range(<intp_t> self.path_leaves.size() - 1, first, -1):
            if self.path_leaves[step] > FRONT_LEAVES:
                break
            if self.path_score[step] > top:
                top = self.path_score[step]
                if step != best and top > best_at(front_score, self.path_leaves[step]):
                    self.add(tree, <int32_t> step, out)
                    out.back().front_only = True

    cdef void look_at_nodes(self, const CountedTree *tree) noexcept nogil:
        """Labels, impurities and leaf scores of all nodes; none is pruned."""
        cdef intp_t i, c, k = self.n_classes, n = tree.nodes.size()
        cdef double weight, square
        cdef const double *weights
        self.label.resize(n)
        self.leaf_score.resize(n)
        self.impurity.resize(n)
        self.pruned_at.assign(n, <int32_t> n + 1)
        self.is_leaf.resize(n)
        for i in range(n):
            weights = &tree.weights[i * 2 * k]
            self.label[i] = heaviest(weights, k)
            self.leaf_score[i] = self.scorer.leaf_value(weights, self.label[i])
            weight = 0.0
            square = 0.0
            for c in range(k):
                weight += weights[c]
                square += weights[c] * weights[c]
            self.impurity[i] = weight - square / weight if weight > 0.0 else 0.0

    # ----------------------------------------------------------------- the cost-complexity path

    cdef void cost_complexity_path(self, const CountedTree *tree) noexcept nogil:
        """Weakest-link pruning to the root: `pruned_at`, and leaves and score of each step."""
        cdef intp_t i, step, n = tree.nodes.size(), n_steps
        cdef int32_t right
        critical_prices(tree.nodes.data(), n, self.impurity.data(), self.price)
        self.list_steps(tree)
        n_steps = self.steps.size() + 1
        self.path_leaves.assign(n_steps, 0)
        self.path_score.assign(n_steps, 0.0)
        for i in range(n):
            if tree.nodes[i].axis < 0:
                self.path_leaves[0] += 1
                self.path_score[0] += self.leaf_score[i]
                continue
            # What the step changes: a split that becomes a leaf takes two away and adds one. Splits
            # below it go at the same step or earlier, so that all differences add up.
            step = self.pruned_at[i]
            right = right_child(tree.nodes.data(), <int32_t> i)
            self.path_leaves[step] -= 1
            self.path_score[step] += (
                self.leaf_score[i] - self.leaf_score[i + 1] - self.leaf_score[right]
            )
        for step in range(1, n_steps):
            self.path_leaves[step] += self.path_leaves[step - 1]
            self.path_score[step] += self.path_score[step - 1]
        if self.scorer.metric == F1_MACRO:
            self.f1_path(tree)
            return
        for step in range(n_steps):
            self.path_score[step] = self.scorer.from_sum(self.path_score[step])

    cdef void list_steps(self, const CountedTree *tree) noexcept nogil:
        """The splits that go by themselves, in their order, and when every split goes.

        Prices are compared in single precision, so that rounding does not choose between equals.
        """
        cdef intp_t i, n = tree.nodes.size()
        cdef int32_t right
        cdef PruningStep step
        self.steps.clear()
        for i in range(n):
            if tree.nodes[i].axis < 0:
                continue
            # `pruned_at` is 0 where the split above goes at the same price, and this with it.
            if self.pruned_at[i] != 0:
                step.price = <float32_t> self.price[i]
                step.node = <int32_t> i
                self.steps.push_back(step)
            right = right_child(tree.nodes.data(), <int32_t> i)
            if <float32_t> self.price[i + 1] == <float32_t> self.price[i]:
                self.pruned_at[i + 1] = 0
            if <float32_t> self.price[right] == <float32_t> self.price[i]:
                self.pruned_at[right] = 0
        sort(self.steps.begin(), self.steps.end(), &earlier)
        for i in range(<intp_t> self.steps.size()):
            self.pruned_at[self.steps[i].node] = <int32_t> i + 1
        for i in range(n):
            if tree.nodes[i].axis < 0:
                continue
            right = right_child(tree.nodes.data(), <int32_t> i)
            if self.pruned_at[i + 1] == 0:
                self.pruned_at[i + 1] = self.pruned_at[i]
            if self.pruned_at[right] == 0:
                self.pruned_at[right] = self.pruned_at[i]

    cdef void f1_path(self, const CountedTree *tree) noexcept nogil:
        """Scores of the steps of the path by F1."""
        cdef intp_t i, n = tree.nodes.size()
        cdef int32_t step
        self.hits.assign(2 * self.n_classes, 0.0)
        self.calls.assign(2 * self.n_classes, 0.0)
        for i in range(n):
            if tree.nodes[i].axis < 0:
                self.count_calls(tree, i, 1.0)
        self.path_score[0] = self.scorer.f1(self.hits.data(), self.calls.data())
        for step in range(1, <int32_t> self.steps.size() + 1):
            self.drop_calls_below(tree, self.steps[step - 1].node, step)
            self.count_calls(tree, self.steps[step - 1].node, 1.0)
            self.path_score[step] = self.scorer.f1(self.hits.data(), self.calls.data())

    cdef void count_calls(
        self, const CountedTree *tree, intp_t node, double sign
    ) noexcept nogil:
        cdef intp_t first, kind, c, k = self.n_classes, label = self.label[node]
        cdef const double *weights = &tree.weights[node * 2 * k]
        # of the training rows, then of the validation rows
        for kind in range(2):
            first = kind * k
            self.hits[first + label] += sign * weights[first + label]
            for c in range(k):
                self.calls[first + label] += sign * weights[first + c]

    cdef void drop_calls_below(
        self, const CountedTree *tree, intp_t node, int32_t step
    ) noexcept nogil:
        """Take back the calls of all present leaves below a node."""
        cdef intp_t i = node + 1, end = node + tree.nodes[node].size
        while i < end:
            if tree.nodes[i].axis < 0 or self.pruned_at[i] < step:
                self.count_calls(tree, i, -1.0)
                i += tree.nodes[i].size
            else:
                i += 1

    # ----------------------------------------------------------------- reduced-error pruning

    cdef void reduced_error(self, const CountedTree *tree) noexcept nogil:
        """Mark every node whose validation rows a leaf would label as well (`pruned_at` = 0)."""
        cdef intp_t i, k = self.n_classes
        cdef int32_t right
        cdef double as_leaf
        cdef vector[double] below
        below.resize(tree.nodes.size())
        for i in range(<intp_t> tree.nodes.size() - 1, -1, -1):
            # Children stand after their parents: backwards, they are known before.
            as_leaf = self.scorer.hits(&tree.weights[i * 2 * k], self.label[i])
            if tree.nodes[i].axis < 0:
                below[i] = as_leaf
                continue
            right = right_child(tree.nodes.data(), <int32_t> i)
            below[i] = below[i + 1] + below[right]
            # Of equals the smaller tree, whatever the rounding of the two sums.
            if as_leaf >= below[i] - TIE:
                below[i] = as_leaf
                self.pruned_at[i] = 0

    # ----------------------------------------------------------------- pruned copies

    cdef void add_another(
        self, const CountedTree *tree, int32_t step, vector[ScoredTree] &out
    ) noexcept nogil:
        """Add a pruned copy, if it does not answer like the tree before."""
        cdef intp_t last = <intp_t> out.size() - 1
        self.add(tree, step, out)
        if out[last + 1].behaviour == out[last].behaviour:
            out.pop_back()

    cdef void add(
        self, const CountedTree *tree, int32_t step, vector[ScoredTree] &out
    ) noexcept nogil:
        """Add the tree after `step` prunings (-1: none), without siblings of one label."""
        cdef intp_t i = 0, leaf = 0, n = tree.nodes.size()
        cdef int32_t n_leaves = self.mark_leaves(tree, step)
        cdef Node node
        cdef double value = 0.0
        cdef ScoredTree copy
        cdef bint known = self.make_room(n_leaves, copy)
        if self.scorer.metric == F1_MACRO:
            self.hits.assign(2 * self.n_classes, 0.0)
            self.calls.assign(2 * self.n_classes, 0.0)
        while i < n:
            node = tree.nodes[i]
            if self.is_leaf[i]:
                node.axis = -1
                node.cut = self.label[i]
                if known:
                    self.copy_leaf(tree, i, leaf, copy)
                    leaf += 1
                copy.behaviour += tree.marks[i] * label_mark(self.label[i])
                value += self.leaf_score[i]
                if self.scorer.metric == F1_MACRO:
                    self.count_calls(tree, i, 1.0)
                i += tree.nodes[i].size
            else:
                i += 1
            copy.nodes.push_back(node)
        set_sizes(copy.nodes)
        if self.scorer.metric == F1_MACRO:
            copy.score = self.scorer.f1(self.hits.data(), self.calls.data())
        else:
            copy.score = self.scorer.from_sum(value)
        out.push_back(move(copy))

    cdef int32_t mark_leaves(self, const CountedTree *tree, int32_t step) noexcept nogil:
        """Which nodes are leaves after `step` prunings, and how many of them are reached."""
        cdef intp_t i, n = tree.nodes.size()
        cdef int32_t right, n_leaves = 0
        for i in range(n - 1, -1, -1):
            self.is_leaf[i] = tree.nodes[i].axis < 0 or self.pruned_at[i] <= step
            if not self.is_leaf[i]:
                right = right_child(tree.nodes.data(), <int32_t> i)
                self.is_leaf[i] = (
                    self.is_leaf[i + 1] and self.is_leaf[right]
                    and self.label[i + 1] == self.label[right]
                )
        i = 0
        while i < n:
            n_leaves += self.is_leaf[i]
            i += tree.nodes[i].size if self.is_leaf[i] else 1
        return n_leaves

    cdef bint make_room(self, int32_t n_leaves, ScoredTree &copy) noexcept nogil:
        """An empty tree for so many leaves; whether what they hold is kept."""
        cdef intp_t n = 2 * self.n_classes
        cdef intp_t leaf_bytes = n * sizeof(double) + 2 * sizeof(int32_t) + sizeof(uint64_t)
        cdef bint known = n_leaves * leaf_bytes <= self.known_bytes
        copy.nodes.reserve(2 * n_leaves - 1)
        copy.weights.resize(known * n_leaves * n)
        copy.n_rows.resize(known * n_leaves * 2)
        copy.marks.resize(known * n_leaves)
        copy.n_leaves = n_leaves
        copy.behaviour = 0
        copy.front_only = False
        return known

    cdef void copy_leaf(
        self, const CountedTree *tree, intp_t node, intp_t leaf, ScoredTree &copy
    ) noexcept nogil:
        cdef intp_t n = 2 * self.n_classes
        memcpy(&copy.weights[leaf * n], &tree.weights[node * n], n * sizeof(double))
        memcpy(&copy.n_rows[leaf * 2], &tree.n_rows[node * 2], 2 * sizeof(int32_t))
        copy.marks[leaf] = tree.marks[node]
