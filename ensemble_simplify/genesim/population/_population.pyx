"""The population of a genetic algorithm over trees, and the best tree of every size.

Trees are those of `grid/_regions`, over the axes on which the rows are coded; the number of a leaf
is its label. The work is divided: `_rows` divides rows, `_merger` merges trees over them, `_pruner`
scores and prunes what comes out, a `Breeder` makes new trees with these three, one set a thread,
and `Population` keeps the fittest. `_trees` holds the forms of trees that they hand on.
"""

import numpy as np

cimport cython
from libc.math cimport INFINITY
from libcpp.algorithm cimport sort
from libcpp.utility cimport move
from libcpp.vector cimport vector

from ensemble_simplify.grid._regions cimport (
    Node, array_to_nodes, nodes_to_array, right_child, set_sizes,
)
from ensemble_simplify._typedefs cimport (
    float64_t, int32_t, intp_t, random_below, random_unit, scramble, uint64_t,
)
from ensemble_simplify.genesim.population._merger cimport (
    ORDER_FIRST, ORDER_GAIN, ORDER_RANDOM, Merger,
)
from ensemble_simplify.genesim.population._pruner cimport Pruner, TreeScorer, best_at, rounded
from ensemble_simplify.genesim.population._rows cimport RowBits, Splitter
from ensemble_simplify.genesim.population._trees cimport Change, ScoredTree, heaviest


# Pairs of subtrees drawn until two can be swapped.
cdef intp_t SWAP_ATTEMPTS = 20


cdef inline uint64_t state_of_child(
    uint64_t seed, uint64_t generation, uint64_t child
) noexcept nogil:
    """Random state of one child: depends on nothing but its place."""
    return scramble(
        scramble(scramble(seed) ^ (generation + 1) * <uint64_t> 0x9e3779b97f4a7c15)
        ^ (child + 1) * <uint64_t> 0xd1b54a32d192ed03
    )


@cython.final
cdef class Candidates:
    """New trees that are not yet part of the population.

    With ``keep_paths``, also those on pruning paths that only the front is offered.
    """

    cdef vector[ScoredTree] trees
    cdef public bint stopped

    def __len__(self):
        return self.trees.size()

    def nodes(self, intp_t i):
        """Tree `i` as an int32 array of shape (n_nodes, 3)."""
        if not 0 <= i < <intp_t> self.trees.size():
            raise IndexError(i)
        return nodes_to_array(self.trees[i].nodes)

    def set_score(self, intp_t i, double score):
        """Give tree `i` a score computed elsewhere."""
        if not 0 <= i < <intp_t> self.trees.size():
            raise IndexError(i)
        self.trees[i].score = rounded(score)


# --------------------------------------------------------------------- breeding

@cython.final
cdef class Breeder:
    """Makes new trees by merging and by mutation; one a thread.

    All of them go through the merger and the pruner, and are added to `out`. The methods that do so
    return 1 if the limit of time passed meanwhile.
    """

    cdef RowBits rows
    cdef Merger merger
    cdef Pruner pruner
    cdef vector[Node] draft       # the tree to be cleaned
    cdef Change change            # where it differs from its parent
    cdef vector[int32_t] choice

    def __init__(self, RowBits rows, Merger merger, Pruner pruner):
        self.rows = rows
        self.merger = merger
        self.pruner = pruner

    cdef int clean(
        self, const ScoredTree *parent, const vector[double] &front_score, bint may_stop,
        vector[ScoredTree] &out,
    ) except -1 nogil:
        """Add the tree in ``draft``, cleaned; a mutant of `parent` if that is not NULL."""
        cdef const Node *nodes = self.draft.data()
        if parent != NULL and parent.marks.size() == 0:    # its leaves are not known
            parent = NULL
        if self.merger.merge(&nodes, 1, ORDER_FIRST, NULL, may_stop, parent, &self.change):
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
        # Tournaments are drawn without putting back (Fisher and Yates), so no tree is its own mate.
        # The fittest stand first: the smallest number drawn has won.
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
        if self.merger.merge(parents.data(), n_parents, order, state, True, NULL, NULL):
            return 1
        self.pruner.add_trees(&self.merger.out, front_score, out)
        return 0

    cdef int mutate(
        self,
        const ScoredTree *parent,
        const vector[double] &front_score,
        uint64_t *state,
        vector[ScoredTree] &out,
    ) except -1 nogil:
        """Add a mutant with a threshold moved, and one with two subtrees swapped."""
        if self.move_threshold(parent, state) and self.clean(parent, front_score, True, out):
            return 1
        return self.swap_subtrees(parent, state) and self.clean(parent, front_score, True, out)

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
        # Any cut but the present one, all with the same chance.
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
        # Two nodes are drawn until neither holds the other, and they are no leaves of one label.
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
            # In the draft the first of the two has the size of the second.
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


# --------------------------------------------------------------------- survival

cdef struct Rank:
    double score
    uint64_t behaviour
    intp_t size
    intp_t position


cdef bint fitter(const Rank &a, const Rank &b) noexcept nogil:
    """Higher score, then fewer nodes; the rest makes the order the same everywhere."""
    if a.score != b.score:
        return a.score > b.score
    if a.size != b.size:
        return a.size < b.size
    return a.position < b.position


cdef bint smaller(const Rank &a, const Rank &b) noexcept nogil:
    """Fewer nodes, then higher score."""
    if a.size != b.size:
        return a.size < b.size
    if a.score != b.score:
        return a.score > b.score
    return a.position < b.position


cdef void rank(
    const vector[ScoredTree] &trees,
    vector[Rank] &ranks,    # OUT
) noexcept nogil:
    cdef intp_t i
    cdef Rank entry
    ranks.clear()
    for i in range(<intp_t> trees.size()):
        entry.score = trees[i].score
        entry.behaviour = trees[i].behaviour
        entry.size = trees[i].nodes.size()
        entry.position = i
        ranks.push_back(entry)


@cython.final
cdef class Population:
    """Trees on training and validation rows, and the best of every size.

    Every tree that enters is restricted to what training rows can reach, labelled by them and
    free of siblings with one label. Trees that answer alike on all rows are kept once.

    Parameters
    ----------
    rows : RowBits
    min_samples_leaf : int
        Training rows that a leaf has at least.
    max_leaf_nodes : int
        Larger trees are cut back along their cost-complexity path; 0 for no limit.
    metric : {"accuracy", "balanced_accuracy", "neg_log_loss", "f1_macro"}
        By which trees are scored on the validation rows.
    training_weight : float
        So many times the score on the training rows is added.
    prune : {"ccp", "reduced_error", "none"}
        How the pruned copy of every tree is made.
    n_threads : int
        How many threads may breed at the same time.
    cache_bytes : int
        Memory for the bitsets of splits, over all threads.
    known_bytes : int
        Memory for what the leaves of one tree hold; of larger trees, rows are counted again.
    keep_paths : bool
        Offer the trees on pruning paths to the front.
    """

    cdef RowBits rows
    cdef list breeders                   # one a thread
    cdef vector[ScoredTree] trees        # the fittest first
    cdef vector[ScoredTree] front        # the smallest first
    cdef vector[double] front_score      # best score of at most i leaves

    def __init__(
        self,
        RowBits rows not None,
        *,
        intp_t min_samples_leaf=1,
        intp_t max_leaf_nodes=0,
        str metric="accuracy",
        double training_weight=0.0,
        str prune="ccp",
        intp_t n_threads=1,
        intp_t cache_bytes=1 << 28,
        intp_t known_bytes=1 << 20,
        bint keep_paths=True,
    ):
        self.rows = rows
        scorer = TreeScorer(rows, metric, training_weight)
        self.breeders = [
            Breeder(
                rows,
                Merger(rows, Splitter(rows, min_samples_leaf, cache_bytes // n_threads)),
                Pruner(scorer, prune, max_leaf_nodes, known_bytes, keep_paths),
            )
            for _ in range(n_threads)
        ]

    # ----------------------------------------------------------------- new trees

    def clean(self, list trees, *, intp_t thread=0, bint may_stop=True):
        """Clean, label and prune trees, int32 arrays of shape (n_nodes, 3), that come from outside.

        The population stays as it is. `thread` is the number of the calling thread. Unless it
        `may_stop`, all of them are cleaned whatever the limit of time.
        """
        cdef Candidates out = Candidates()
        cdef Breeder breeder = self.breeders[thread]
        cdef const int32_t[:, ::1] nodes
        for nodes in trees:
            with nogil:
                array_to_nodes(nodes, breeder.draft)
                if breeder.clean(NULL, self.front_score, may_stop, out.trees):
                    out.stopped = True
            if out.stopped:
                break
        return out

    def breed(
        self,
        intp_t start,
        intp_t stop,
        *,
        uint64_t seed,
        intp_t generation,
        intp_t n_crossovers,
        intp_t n_parents,
        intp_t tournament_size,
        double mutation_prob,
        str order="random",
        intp_t thread=0,
    ):
        """Make the children `start` to `stop` of one generation; the population stays as it is.

        Children 0 to `n_crossovers` are merged from the winners of disjoint tournaments, child
        ``n_crossovers + i`` is the pair of mutants of tree i, made with `mutation_prob`. The
        random numbers of a child depend on `seed`, `generation` and its number alone.
        """
        cdef Candidates out = Candidates()
        cdef Breeder breeder = self.breeders[thread]
        cdef intp_t child, i
        cdef uint64_t state
        cdef int how = ORDER_GAIN if order == "gain" else ORDER_RANDOM
        with nogil:
            for child in range(start, stop):
                state = state_of_child(seed, generation, child)
                if child < n_crossovers:
                    if breeder.cross(
                        self.trees, self.front_score, n_parents, tournament_size, how, &state,
                        out.trees,
                    ):
                        out.stopped = True
                        break
                    continue
                i = child - n_crossovers
                if i >= <intp_t> self.trees.size() or random_unit(&state) >= mutation_prob:
                    continue
                if breeder.mutate(&self.trees[i], self.front_score, &state, out.trees):
                    out.stopped = True
                    break
        return out

    # ----------------------------------------------------------------- survival

    def select(self, list candidates, *, intp_t size):
        """Add candidates in the given order, keep the best `size` trees, and update the front.

        The candidates are used up.
        """
        cdef Candidates some
        cdef intp_t i
        for some in candidates:
            with nogil:
                for i in range(<intp_t> some.trees.size()):
                    if some.trees[i].score > best_at(self.front_score, some.trees[i].n_leaves):
                        self.front.push_back(some.trees[i])
                    if not some.trees[i].front_only:
                        self.trees.push_back(move(some.trees[i]))
                some.trees.clear()
        with nogil:
            self.keep_front()
            self.keep_fittest(size)

    cdef void keep_fittest(self, intp_t size) noexcept nogil:
        """Keep the fittest trees, one of those that answer alike."""
        cdef intp_t i, j
        cdef vector[Rank] ranks
        cdef vector[uint64_t] behaviours
        cdef vector[ScoredTree] kept
        cdef bint seen
        rank(self.trees, ranks)
        sort(ranks.begin(), ranks.end(), &fitter)
        for i in range(<intp_t> ranks.size()):
            if <intp_t> kept.size() == size:
                break
            seen = False
            for j in range(<intp_t> behaviours.size()):
                if behaviours[j] == ranks[i].behaviour:
                    seen = True
                    break
            if not seen:
                behaviours.push_back(ranks[i].behaviour)
                kept.push_back(move(self.trees[ranks[i].position]))
        self.trees.swap(kept)

    cdef void keep_front(self) noexcept nogil:
        """Keep the trees that no smaller one equals, by rising size, and index their scores."""
        cdef intp_t i
        cdef vector[Rank] ranks
        cdef vector[ScoredTree] kept
        cdef double best = -INFINITY
        rank(self.front, ranks)
        sort(ranks.begin(), ranks.end(), &smaller)
        for i in range(<intp_t> ranks.size()):
            if ranks[i].score > best:
                best = ranks[i].score
                kept.push_back(move(self.front[ranks[i].position]))
        self.front.swap(kept)
        self.front_score.clear()
        # A size that no tree of the front has is worth what the next smaller one has.
        best = -INFINITY
        for i in range(<intp_t> self.front.size()):
            self.front_score.resize(self.front[i].n_leaves, best)
            best = self.front[i].score
            self.front_score.push_back(best)

    def sort_rows(self):
        """Lay the rows out in the order of the leaves of the fittest tree.

        The rows of a node of a similar tree then stand in few words. No answer depends on it.
        """
        if self.trees.size() == 0:
            raise IndexError("the population is empty")
        cdef Breeder breeder
        with nogil:
            self.rows.sort(self.trees[0].nodes)
        # bitsets that are kept know the rows by their old places
        for breeder in self.breeders:
            breeder.merger.splitter.forget()

    # ----------------------------------------------------------------- looking

    def __len__(self):
        return self.trees.size()

    def describe(self, str where="trees"):
        """Scores (float64) and numbers of leaves (intp) of the population or the ``"front"``."""
        cdef vector[ScoredTree]* group = &self.front if where == "front" else &self.trees
        cdef intp_t i
        score = np.empty(group.size(), dtype=np.float64)
        n_leaves = np.empty(group.size(), dtype=np.intp)
        for i in range(<intp_t> group.size()):
            score[i] = group[0][i].score
            n_leaves[i] = group[0][i].n_leaves
        return score, n_leaves

    def nodes(self, intp_t i, str where="trees"):
        """Tree `i` of the population or the ``"front"`` as an int32 array of shape (n_nodes, 3)."""
        cdef vector[ScoredTree]* group = &self.front if where == "front" else &self.trees
        if not 0 <= i < <intp_t> group.size():
            raise IndexError(i)
        return nodes_to_array(group[0][i].nodes)

    def best_score(self):
        """Score of the fittest tree."""
        if self.trees.size() == 0:
            raise IndexError("the population is empty")
        return self.trees[0].score

    def label_tree(self, const int32_t[:, ::1] tree):
        """Clean and label one tree, and count its rows.

        Returns
        -------
        nodes : int32 array of shape (n_nodes, 3)
        n_rows : intp array of shape (n_nodes, 2)
            Training and validation rows of every node.
        weights : float64 array of shape (n_nodes, 2 * n_classes)
            Class weights of the training, then of the validation rows.
        """
        cdef Merger merger = (<Breeder> self.breeders[0]).merger
        cdef vector[Node] given
        cdef const Node* nodes
        with nogil:
            array_to_nodes(tree, given)
            nodes = given.data()
            merger.merge(&nodes, 1, ORDER_FIRST, NULL, False, NULL, NULL)
        return self.counted(merger)

    def label_front(self, intp_t i, *, bint validation):
        """Tree `i` of the front, what its leaves hold, and its labels by all rows, as `label_tree`.

        With `validation`, validation rows count as training rows, and label; none is left for
        validation.
        """
        if not 0 <= i < <intp_t> self.front.size():
            raise IndexError(i)
        cdef Merger merger = (<Breeder> self.breeders[0]).merger
        cdef const ScoredTree* tree = &self.front[i]
        cdef const Node* nodes = tree.nodes.data()
        cdef ScoredTree joined
        with nogil:
            # Answers that are alike by the training rows need not be so by all rows.
            merger.keep_alike = validation
            if tree.marks.size():
                merger.copy(tree)
            else:
                merger.merge(&nodes, 1, ORDER_FIRST, NULL, False, NULL, NULL)
            merger.keep_alike = False
            if validation:
                self.join_rows(merger, joined)
                merger.copy(&joined)
        return self.counted(merger)

    cdef void join_rows(
        self,
        Merger merger,
        ScoredTree &joined,    # OUT
    ) noexcept nogil:
        """The tree that was merged last, with its validation rows as training rows."""
        cdef intp_t node, leaf = 0, c, k = self.rows.n_classes
        cdef const double *weights
        joined.nodes = merger.out.nodes
        for node in range(<intp_t> joined.nodes.size()):
            if joined.nodes[node].axis >= 0:
                continue
            weights = &merger.out.weights[node * 2 * k]
            for c in range(k):
                joined.weights.push_back(weights[c] + weights[k + c])
            joined.weights.resize(joined.weights.size() + k)
            joined.n_rows.push_back(merger.out.n_rows[2 * node] + merger.out.n_rows[2 * node + 1])
            joined.n_rows.push_back(0)
            joined.marks.push_back(merger.out.marks[node])
            joined.nodes[node].cut = heaviest(&joined.weights[leaf * 2 * k], k)
            leaf += 1

    cdef tuple counted(self, Merger merger):
        """The tree that was merged last as arrays."""
        cdef intp_t i, c, n = merger.out.nodes.size(), n_columns = 2 * self.rows.n_classes
        n_rows = np.empty((n, 2), dtype=np.intp)
        weights = np.empty((n, n_columns), dtype=np.float64)
        cdef intp_t[:, ::1] n_rows_view = n_rows
        cdef float64_t[:, ::1] weights_view = weights
        for i in range(n):
            n_rows_view[i, 0] = merger.out.n_rows[2 * i]
            n_rows_view[i, 1] = merger.out.n_rows[2 * i + 1]
            for c in range(n_columns):
                weights_view[i, c] = merger.out.weights[i * n_columns + c]
        return nodes_to_array(merger.out.nodes), n_rows, weights

    def apply(self, const int32_t[:, ::1] tree, *, bint validation=True):
        """Leaf (position in `tree`) of every validation or training row, as an intp array."""
        cdef intp_t row, first = self.rows.n_train if validation else 0
        cdef intp_t n = self.rows.n_val if validation else self.rows.n_train
        cdef vector[Node] nodes
        leaf = np.empty(n, dtype=np.intp)
        cdef intp_t[::1] view = leaf
        with nogil:
            array_to_nodes(tree, nodes)
            for row in range(n):
                view[row] = self.rows.leaf_at(nodes.data(), self.rows.place[first + row])
        return leaf
