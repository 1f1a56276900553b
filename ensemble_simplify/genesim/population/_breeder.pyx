"""Breeding: new trees out of those of the population, by merging and by mutation."""

cimport cython
from libcpp.vector cimport vector

from ensemble_simplify.grid._regions cimport Node, right_child, set_sizes
from ensemble_simplify._typedefs cimport int32_t, intp_t, random_below, uint64_t
from ensemble_simplify.genesim.population._merger cimport ORDER_FIRST, Merger
from ensemble_simplify.genesim.population._pruner cimport Pruner
from ensemble_simplify.genesim.population._rows cimport Rows
from ensemble_simplify.genesim.population._trees cimport ScoredTree

# Pairs of subtrees drawn until two can be swapped.
cdef intp_t SWAP_ATTEMPTS = 20


@cython.final
cdef class Breeder:
    """Makes new trees; one a thread. All of them go through the merger and the pruner.

    Parameters
    ----------
    rows : Rows
    merger : Merger
    pruner : Pruner
    """

    def __init__(self, Rows rows, Merger merger, Pruner pruner):
        self.rows = rows
        self.merger = merger
        self.pruner = pruner

    cdef int clean(
        self, const vector[double] &front_score, double deadline, vector[ScoredTree] &out
    ) except -1 nogil:
        """Add the tree in ``draft``, cleaned."""
        cdef const Node *nodes = self.draft.data()
        if self.merger.merge(&nodes, 1, ORDER_FIRST, NULL, deadline, NULL, NULL):
            return 1
        self.pruner.add_trees(&self.merger.out, front_score, out)
        return 0

    cdef int cross(
        self,
        const vector[ScoredTree] &trees,
        const vector[double] &front_score,
        intp_t n_parents,
        intp_t tournament_size,
        int order,
        uint64_t *state,
        double deadline,
        vector[ScoredTree] &out,
    ) except -1 nogil:
        """Merge the winners of disjoint tournaments; `trees` stand in the order of fitness."""
        cdef intp_t n = trees.size(), i, j, swap
        cdef int32_t best, drawn
        cdef vector[const Node*] parents
        if n < 2:
            return 0
        n_parents = min(n_parents, n)
        if n_parents * tournament_size > n:
            tournament_size = n // n_parents
        self.choice.resize(n)
        for i in range(n):
            self.choice[i] = <int32_t> i
        for i in range(n_parents):
            best = -1
            for j in range(i * tournament_size, (i + 1) * tournament_size):
                swap = j + random_below(n - j, state)
                drawn = self.choice[swap]
                self.choice[swap] = self.choice[j]
                self.choice[j] = drawn
                if best < 0 or drawn < best:
                    best = drawn
            parents.push_back(trees[best].nodes.data())
        if self.merger.merge(parents.data(), n_parents, order, state, deadline, NULL, NULL):
            return 1
        self.pruner.add_trees(&self.merger.out, front_score, out)
        return 0

    cdef int mutate(
        self,
        const ScoredTree *parent,
        const vector[double] &front_score,
        uint64_t *state,
        double deadline,
        vector[ScoredTree] &out,
    ) except -1 nogil:
        """Add a mutant with a threshold moved, and one with two subtrees swapped."""
        if self.move_threshold(parent, state):
            if self.clean_mutant(parent, front_score, deadline, out):
                return 1
        if self.swap_subtrees(parent, state):
            if self.clean_mutant(parent, front_score, deadline, out):
                return 1
        return 0

    cdef int clean_mutant(
        self, const ScoredTree *parent, const vector[double] &front_score, double deadline,
        vector[ScoredTree] &out,
    ) except -1 nogil:
        cdef const Node *nodes = self.draft.data()
        if parent.marks.size() == 0:    # its leaves are not known
            return self.clean(front_score, deadline, out)
        if self.merger.merge(&nodes, 1, ORDER_FIRST, NULL, deadline, parent, &self.change):
            return 1
        self.pruner.add_trees(&self.merger.out, front_score, out)
        return 0

    cdef bint move_threshold(self, const ScoredTree *tree, uint64_t *state) noexcept nogil:
        """Copy a tree into ``draft`` with one threshold replaced inside its node's region."""
        cdef intp_t node, n_splits = tree.nodes.size() - tree.n_leaves
        cdef int32_t cut, lo, hi
        if n_splits == 0:
            return False
        node = self.nth_split(tree, random_below(n_splits, state))
        self.range_of_cuts(tree, node, &lo, &hi)
        if hi - lo < 2:
            return False
        cut = lo + <int32_t> random_below(hi - lo - 1, state)
        if cut >= tree.nodes[node].cut:
            cut += 1
        self.draft = tree.nodes
        self.draft[node].cut = cut
        self.change.first = node
        self.change.first_end = node + tree.nodes[node].size
        self.change.second = self.change.second_end = self.change.first_end
        self.change.shift = 0
        return True

    cdef intp_t nth_split(self, const ScoredTree *tree, intp_t n) noexcept nogil:
        cdef intp_t i
        for i in range(<intp_t> tree.nodes.size()):
            if tree.nodes[i].axis >= 0:
                if n == 0:
                    return i
                n -= 1
        return -1

    cdef void range_of_cuts(
        self, const ScoredTree *tree, intp_t node,
        int32_t *lo,    # OUT
        int32_t *hi,    # OUT: one beyond the last
    ) noexcept nogil:
        """The cuts that the axis of a split has inside the region of its node."""
        cdef int32_t at = 0, cut, right
        cdef int32_t axis = tree.nodes[node].axis
        lo[0] = 0
        hi[0] = self.rows.n_cuts[axis]
        while at != node:
            cut = tree.nodes[at].cut
            right = right_child(tree.nodes.data(), at)
            if node < right:
                if tree.nodes[at].axis == axis:
                    hi[0] = min(hi[0], cut)
                at += 1
            else:
                if tree.nodes[at].axis == axis:
                    lo[0] = max(lo[0], cut + 1)
                at = right

    cdef bint swap_subtrees(self, const ScoredTree *tree, uint64_t *state) noexcept nogil:
        """Copy a tree into ``draft`` with two subtrees, neither inside the other, swapped."""
        cdef intp_t n = tree.nodes.size(), a, b, a_end, b_end, _
        if n < 5:
            return False
        for _ in range(SWAP_ATTEMPTS):
            a = 1 + random_below(n - 1, state)
            b = 1 + random_below(n - 1, state)
            if a > b:
                a, b = b, a
            a_end = a + tree.nodes[a].size
            b_end = b + tree.nodes[b].size
            if b < a_end or (tree.nodes[a].axis < 0 and tree.nodes[b].axis < 0
                             and tree.nodes[a].cut == tree.nodes[b].cut):
                continue
            self.draft.clear()
            self.append(tree, 0, a)
            self.append(tree, b, b_end)
            self.append(tree, a_end, b)
            self.append(tree, a, a_end)
            self.append(tree, b_end, n)
            set_sizes(self.draft)
            self.change.shift = tree.nodes[a].size - tree.nodes[b].size
            self.change.first = a
            self.change.first_end = a_end - self.change.shift
            self.change.second = b - self.change.shift
            self.change.second_end = b_end
            return True
        return False

    cdef void append(self, const ScoredTree *tree, intp_t first, intp_t end) noexcept nogil:
        """Add nodes `first` to `end` of a tree to ``draft``."""
        self.draft.insert(
            self.draft.end(), tree.nodes.begin() + first, tree.nodes.begin() + end
        )
