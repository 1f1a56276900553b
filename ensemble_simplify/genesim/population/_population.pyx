"""The population of a genetic algorithm over trees, and the best tree of every size.

Trees are those of `grid/_regions`, over the axes on which the rows are coded; the number of a leaf
is its label. `RowBits` holds the rows for all threads. Each thread has a `Splitter` that divides
the rows of nodes, a `Merger` that merges trees over them, a `Pruner` that scores and prunes what
comes out (a `TreeScorer` knows the metric), and a `Breeder` that makes new trees with these three.
`Population` keeps the fittest.

Rows are known by their codes on the axes, 64 of them to a word. The rows of a node are a list of
words of which only the non-zero ones are stored: a node of r rows costs at most r words, and 64
rows of a large node cost one.

Merging walks all trees at once through a region. Each tree restricted to it shows a root that
cuts the region, or a leaf. Splitting on any of these roots is always possible, so every order ends
in one leaf for every non-empty intersection of leaves. Where a side of a split has too few
training rows, the node goes on as the other side. Leaves are labelled by their training rows, and
a split with one answer on both sides becomes that answer. Merging one tree alone cleans it.

Of a merged tree, these are offered to the population: itself, cut back to the largest size allowed;
its best pruned copy, on the cost-complexity path or by reduced-error pruning; and what else of the
path the front could use.
"""

import numpy as np

cimport cython
from libc.math cimport INFINITY, floor, log
from libc.string cimport memcmp, memcpy
from libcpp.algorithm cimport sort
from libcpp.utility cimport move
from libcpp.vector cimport vector

from ensemble_simplify._typedefs cimport (
    float32_t, float64_t, int32_t, int64_t, intp_t, popcount, random_below, random_unit, scramble,
    uint32_t, uint64_t,
)
from ensemble_simplify.grid._limits cimport should_stop
from ensemble_simplify.grid._regions cimport (
    Node, array_to_nodes, nodes_to_array, restrict_root, right_child, set_sizes,
)
from ensemble_simplify.grid._sweep cimport TIE, heaviest, is_better
from ensemble_simplify.writing._cost_complexity cimport critical_prices

cdef extern from *:
    """
    #if defined(_MSC_VER)
    #include <intrin.h>
    static inline int es_lowest(unsigned long long x) {
        unsigned long i; _BitScanForward64(&i, x); return (int)i;
    }
    #else
    static inline int es_lowest(unsigned long long x) { return __builtin_ctzll(x); }
    #endif
    // Bit i: whether code[i] <= limit, for 64 codes.
    #if defined(__SSE2__) || defined(_M_X64)
    #include <emmintrin.h>
    static inline unsigned long long es_at_most(const int* code, int limit) {
        const __m128i* four = (const __m128i*)code;
        const __m128i bound = _mm_set1_epi32(limit);
        unsigned long long above = 0;
        for (int i = 0; i < 4; i++, four += 4) {
            __m128i a = _mm_cmpgt_epi32(_mm_loadu_si128(four), bound);
            __m128i b = _mm_cmpgt_epi32(_mm_loadu_si128(four + 1), bound);
            __m128i c = _mm_cmpgt_epi32(_mm_loadu_si128(four + 2), bound);
            __m128i d = _mm_cmpgt_epi32(_mm_loadu_si128(four + 3), bound);
            __m128i all = _mm_packs_epi16(_mm_packs_epi32(a, b), _mm_packs_epi32(c, d));
            above |= (unsigned long long)(unsigned)_mm_movemask_epi8(all) << (16 * i);
        }
        return ~above;
    }
    #else
    static inline unsigned long long es_at_most(const int* code, int limit) {
        unsigned long long bits = 0;
        for (int i = 0; i < 64; i++) bits |= (unsigned long long)(code[i] <= limit) << i;
        return bits;
    }
    #endif
    """
    int lowest_bit "es_lowest"(uint64_t) noexcept nogil
    uint64_t at_most "es_at_most"(const int32_t*, int32_t) noexcept nogil

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
    double score
    uint64_t behaviour            # equal for trees that answer alike on every row
    int32_t n_leaves
    bint front_only               # offered to the front, not to the population


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


cdef struct PruningStep:
    # A split that weakest-link pruning makes a leaf, and the price of a leaf from which on.
    float price
    int32_t node


# Up to so many rows of a word are looked up one by one.
cdef int FEW_BITS = 4


@cython.final
cdef class RowBits:
    """Training rows, and validation rows after them: codes (n_axes, n_rows), labels, weights.

    Codes run from 0 to `n_cuts` of the axis; trees are scored against the validation labels.
    """

    cdef readonly intp_t n_axes, n_classes, n_train, n_val
    cdef intp_t n_words, n_train_words
    cdef vector[int32_t] codes           # n_axes x (64 * n_words), training words first
    cdef vector[Row] rows                # 64 * n_words
    cdef vector[int32_t] place           # where each row stands; training rows first
    cdef vector[uint64_t] everything     # words of all rows
    cdef vector[int32_t] n_cuts

    def __init__(
        self,
        const int32_t[:, ::1] codes,
        const int32_t[::1] label,
        const float64_t[::1] weight,
        const int32_t[::1] n_cuts,
        *,
        intp_t n_train,
        intp_t n_classes,
    ):
        cdef intp_t i, axis, place
        self.n_axes, self.n_classes, self.n_train = codes.shape[0], n_classes, n_train
        self.n_val = codes.shape[1] - n_train
        self.n_train_words = (self.n_train + 63) // 64
        self.n_words = self.n_train_words + (self.n_val + 63) // 64
        with nogil:
            self.codes.resize(self.n_axes * self.n_words * 64)
            self.rows.resize(self.n_words * 64)
            self.place.resize(codes.shape[1])
            self.everything.resize(self.n_words)
            for axis in range(self.n_axes):
                self.n_cuts.push_back(n_cuts[axis])
            for i in range(codes.shape[1]):
                place = i if i < n_train else self.n_train_words * 64 + i - n_train
                self.everything[place >> 6] |= (<uint64_t> 1) << (place & 63)
                self.place[i] = <int32_t> place
                self.rows[place].mark = scramble(<uint64_t> place + <uint64_t> 0x632be59bd9b4e019)
                self.rows[place].label = label[i]
                self.rows[place].weight = weight[i]
                for axis in range(self.n_axes):
                    self.codes[axis * self.n_words * 64 + place] = codes[axis, i]

    cdef intp_t leaf_at(self, const Node *nodes, intp_t place) noexcept nogil:
        """Position of the leaf that a row, known by its place, lies in."""
        cdef intp_t stride = self.n_words * 64
        cdef int32_t at = 0
        while nodes[at].axis >= 0:
            if self.codes[nodes[at].axis * stride + place] <= nodes[at].cut:
                at += 1
            else:
                at = right_child(nodes, at)
        return at

    cdef void lay_out(self, const vector[Node] &nodes) noexcept nogil:
        """Lay the rows out in the order of the leaves of a tree.

        The rows of a node of a similar tree then stand in few words. No answer depends on it.
        """
        cdef intp_t i, axis, first, n, at, held_out, stride = self.n_words * 64
        cdef vector[int32_t] leaf, start, to, codes
        cdef vector[Row] rows
        to.resize(stride)
        leaf.resize(stride)
        for i in range(stride):
            to[i] = <int32_t> i
        # Training and validation rows stay apart, each kind beginning at a word of its own. Within
        # a kind this is a counting sort: how many rows come before each leaf's, then their places.
        for held_out in range(2):
            first = self.n_train_words * 64 if held_out else 0
            n = self.n_val if held_out else self.n_train
            start.assign(nodes.size() + 1, 0)
            for i in range(first, first + n):
                at = self.leaf_at(nodes.data(), i)
                leaf[i] = <int32_t> at
                start[at + 1] += 1
            for i in range(<intp_t> start.size() - 1):
                start[i + 1] += start[i]
            for i in range(first, first + n):
                to[i] = <int32_t> first + start[leaf[i]]
                start[leaf[i]] += 1
        # Copied back, not swapped: splitters know where the rows are.
        rows = self.rows
        for i in range(stride):
            self.rows[to[i]] = rows[i]
        for i in range(<intp_t> self.place.size()):
            self.place[i] = to[self.place[i]]
        codes.resize(stride)
        for axis in range(self.n_axes):
            for i in range(stride):
                codes[to[i]] = self.codes[axis * stride + i]
            memcpy(&self.codes[axis * stride], codes.data(), stride * sizeof(int32_t))


@cython.final
cdef class Splitter:
    """Divides the rows of nodes; one a thread.

    Both sides of a split have at least `min_leaf` training rows; bitsets of splits are kept in
    `cache_bytes` of memory.
    """

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

    def __init__(self, RowBits rows, intp_t min_leaf, intp_t cache_bytes):
        cdef intp_t i, slots
        cdef int64_t n_splits = 0
        self.rows = rows
        self.codes = rows.codes.data()
        self.row = rows.rows.data()
        self.n_words = rows.n_words
        self.n_train_words = rows.n_train_words
        self.n_classes = rows.n_classes
        self.min_leaf = min_leaf
        for i in range(rows.n_axes):
            self.first_split.push_back(n_splits)
            n_splits += rows.n_cuts[i]
        # A split's slot is its number modulo the slots, so a newer one takes the place of an older.
        slots = cache_bytes // (8 * (self.n_words if self.n_words else 1))
        if slots > n_splits:
            slots = n_splits
        self.cache.resize(slots)
        self.forget()
        self.work = 0

    cdef void forget(self) noexcept nogil:
        """Empty the cache: the rows have been laid out anew."""
        self.cached.assign(self.cache.size(), -1)

    cdef void all_rows(self, Group *group) noexcept nogil:
        """The rows of a root."""
        cdef intp_t i
        if <intp_t> self.word.size() < 4 * self.n_words:
            self.word.resize(4 * self.n_words)
            self.index.resize(4 * self.n_words)
        for i in range(self.n_words):
            self.word[i] = self.rows.everything[i]
            self.index[i] = <uint32_t> i
        group.first = 0
        group.n_words = self.n_words
        group.n_train = self.rows.n_train
        group.end = self.n_words

    cdef const uint64_t* left_words(self, AxisCut split, intp_t n_words) noexcept nogil:
        """Words of all rows that go left; NULL if it is cheaper to look `n_words` words up."""
        cdef intp_t slots = self.cached.size()
        if slots == 0:
            return NULL
        cdef int64_t number = self.first_split[split.axis] + split.cut
        cdef intp_t slot = number % slots
        if self.cached[slot] == number:
            return self.cache[slot].data()
        # A small node does not pay for a bitset of all rows.
        if 4 * n_words < self.n_words:
            return NULL
        cdef intp_t w
        cdef const int32_t* codes = self.codes + split.axis * self.n_words * 64
        self.cache[slot].resize(self.n_words)
        for w in range(self.n_words):
            self.cache[slot][w] = at_most(codes + w * 64, split.cut)
        self.cached[slot] = number
        self.work += 16 * self.n_words
        return self.cache[slot].data()

    cdef uint64_t left_bits(
        self, const int32_t* codes, uint32_t index, uint64_t word, int32_t cut
    ) noexcept nogil:
        """The rows of one word that go left."""
        cdef uint64_t left = 0, rest = word
        cdef int bit
        if popcount(word) > FEW_BITS:
            return word & at_most(codes + <intp_t> index * 64, cut)
        while rest:
            bit = lowest_bit(rest)
            rest &= rest - 1
            if codes[<intp_t> index * 64 + bit] <= cut:
                left |= (<uint64_t> 1) << bit
        return left

    cdef bint divide(self, Group *group, AxisCut split) noexcept nogil:
        """Divide the rows of a node; False if a side has too few training rows.

        The words of the left, then of the right child are stored at the end of the group. The
        numbers of training rows on both sides are left in the group either way.
        """
        cdef intp_t j, n_left = 0, n_right = 0, train_left = 0, n = group.n_words
        cdef intp_t first = group.first, end = group.end
        cdef uint64_t word, left
        cdef uint32_t index
        cdef const uint64_t* bits = self.left_words(split, n)
        cdef const int32_t* codes = self.codes + split.axis * self.n_words * 64
        if <intp_t> self.word.size() < end + 2 * n:
            self.word.resize(2 * (end + 2 * n))
            self.index.resize(self.word.size())
        # How many words each side has is known in the end only: there is room for all on both.
        for j in range(n):
            word = self.word[first + j]
            index = self.index[first + j]
            if bits != NULL:
                left = word & bits[index]
            else:
                left = self.left_bits(codes, index, word, split.cut)
            if left:
                self.word[end + n_left] = left
                self.index[end + n_left] = index
                n_left += 1
                if <intp_t> index < self.n_train_words:
                    train_left += popcount(left)
            if left != word:
                self.word[end + n + n_right] = word ^ left
                self.index[end + n + n_right] = index
                n_right += 1
        self.work += n
        group.n_train_left = train_left
        group.n_train_right = group.n_train - train_left
        if group.n_train_left < self.min_leaf or group.n_train_right < self.min_leaf:
            return False
        if n_left < n:
            # The words of the right child move up to those of the left one.
            for j in range(n_right):
                self.word[end + n_left + j] = self.word[end + n + j]
                self.index[end + n_left + j] = self.index[end + n + j]
        group.n_left = n_left
        group.n_right = n_right
        return True

    cdef double gain(self, const Group *group, AxisCut split) noexcept nogil:
        """Sum of squared class weights over weight on both sides: larger is purer."""
        cdef intp_t j, c, row, k = self.n_classes
        cdef uint64_t word, left
        cdef double total_left = 0.0, total_right = 0.0, square_left = 0.0, square_right = 0.0
        cdef uint32_t index
        cdef const uint64_t* bits = self.left_words(split, group.n_words)
        cdef const int32_t* codes = self.codes + split.axis * self.n_words * 64
        self.tally.assign(2 * k, 0.0)
        for j in range(group.n_words):
            index = self.index[group.first + j]
            # Words are in rising order: what follows are validation rows, which have no say.
            if <intp_t> index >= self.n_train_words:
                break
            word = self.word[group.first + j]
            left = word & bits[index] if bits != NULL else self.left_bits(
                codes, index, word, split.cut
            )
            while word:
                row = <intp_t> index * 64 + lowest_bit(word)
                c = self.row[row].label
                # The lowest bit of the word is this row: whether it is among those that go left.
                if not left & (word & (~word + 1)):
                    c += k
                self.tally[c] += self.row[row].weight
                word &= word - 1
        self.work += 4 * group.n_words
        for c in range(k):
            total_left += self.tally[c]
            square_left += self.tally[c] * self.tally[c]
            total_right += self.tally[k + c]
            square_right += self.tally[k + c] * self.tally[k + c]
        if total_left <= 0.0 or total_right <= 0.0:
            return -1.0
        return square_left / total_left + square_right / total_right

    cdef bint is_pure(self, const Group *group) noexcept nogil:
        """Whether the training rows of a node are of one class."""
        cdef intp_t j, row
        cdef int32_t seen = -1
        cdef uint64_t word
        for j in range(group.n_words):
            if <intp_t> self.index[group.first + j] >= self.n_train_words:
                break
            word = self.word[group.first + j]
            while word:
                row = <intp_t> self.index[group.first + j] * 64 + lowest_bit(word)
                word &= word - 1
                if seen < 0:
                    seen = self.row[row].label
                elif seen != self.row[row].label:
                    return False
        return True

    cdef uint64_t add_up(
        self,
        const Group *group,
        double *weights,    # OUT: 2 * n_classes, as in `CountedTree`; zeros before
        int32_t *n_rows,    # OUT: 2
    ) noexcept nogil:
        """Count the rows of a node; the sum of their marks."""
        cdef intp_t j, row, first_row
        cdef int32_t n_val = 0
        cdef uint64_t word, mark = 0
        cdef double *by_class
        for j in range(group.n_words):
            word = self.word[group.first + j]
            first_row = <intp_t> self.index[group.first + j] * 64
            by_class = weights
            if first_row >= 64 * self.n_train_words:
                by_class += self.n_classes
                n_val += popcount(word)
            while word:
                row = first_row + lowest_bit(word)
                word &= word - 1
                by_class[self.row[row].label] += self.row[row].weight
                mark += self.row[row].mark
        self.work += 4 * group.n_words
        n_rows[0] = <int32_t> group.n_train
        n_rows[1] = n_val
        return mark


# Poll for Ctrl-C and the limit of time after so many words of work (about a millisecond).
cdef intp_t WORK_PER_POLL = 1 << 19


cdef inline bint same_cut(const Node &node, const AxisCut &split) noexcept nogil:
    return node.axis == split.axis and node.cut == split.cut


@cython.final
cdef class Merger:
    """Merges trees over rows; one a thread."""

    cdef RowBits rows
    cdef Splitter splitter
    cdef CountedTree out            # what was merged last
    cdef vector[MergeFrame] stack
    cdef vector[int32_t] at         # of every frame, the positions in the k trees
    cdef vector[AxisCut] roots
    cdef vector[int32_t] lo         # the region of the node at hand
    cdef vector[int32_t] hi

    def __init__(self, RowBits rows, Splitter splitter):
        self.rows, self.splitter = rows, splitter

    cdef int merge(
        self,
        const Node **trees,
        intp_t k,
        int order,
        uint64_t *state,
        bint may_stop,
    ) except -1 nogil:
        """Merge k trees into ``out``; 1 if it `may_stop` and the limit of time passed meanwhile."""
        cdef intp_t i
        cdef MergeFrame frame
        cdef MergeFrame *current
        self.start(k, &frame)
        # A recursion with its own stack, which takes trees of any depth. A frame is visited three
        # times: to split its node, after its left child, and after its right one (stages 0 to 2).
        while self.stack.size():
            current = &self.stack.back()
            if current.stage == 0:
                if self.splitter.work > WORK_PER_POLL:
                    self.splitter.work = 0
                    if should_stop() and may_stop:
                        return 1
                self.splitter.work += k
                current.pos = <int32_t> self.out.nodes.size()
                if not self.find_split(trees, k, order, state, current):
                    self.add_leaf(current)
                    self.leave(current)
                    continue
                self.open_node(current.split.axis, current.split.cut)
                current.stage = 1
                # The box of the left child; it is put back before the right one is visited.
                current.saved = self.hi[current.split.axis]
                self.hi[current.split.axis] = current.split.cut
                frame.group.first = current.group.end
                frame.group.n_words = current.group.n_left
                frame.group.n_train = current.group.n_train_left
            elif current.stage == 1:
                current.stage = 2
                self.hi[current.split.axis] = current.saved
                current.saved = self.lo[current.split.axis]
                self.lo[current.split.axis] = current.split.cut + 1
                frame.group.first = current.group.end + current.group.n_left
                frame.group.n_words = current.group.n_right
                frame.group.n_train = current.group.n_train_right
            else:
                self.lo[current.split.axis] = current.saved
                self.close_node(current.pos)
                self.leave(current)
                continue
            frame.group.end = current.group.end + current.group.n_left + current.group.n_right
            frame.at = current.at + k
            frame.stage = 0
            self.at.resize(frame.at + k)
            for i in range(k):
                self.at[frame.at + i] = self.at[current.at + i]
            self.stack.push_back(frame)
        return 0

    cdef void start(self, intp_t k, MergeFrame *frame) noexcept nogil:
        """Put the root, with all rows, on the stack."""
        cdef intp_t i
        self.truncate(0)
        self.lo.assign(self.rows.n_axes, 0)
        self.hi.resize(self.rows.n_axes)
        for i in range(self.rows.n_axes):
            self.hi[i] = self.rows.n_cuts[i]
        self.at.assign(k, 0)
        self.stack.clear()
        self.splitter.all_rows(&frame.group)
        frame.at = 0
        frame.stage = 0
        self.stack.push_back(frame[0])

    cdef void leave(self, const MergeFrame *current) noexcept nogil:
        self.at.resize(current.at)
        self.stack.pop_back()

    # ----------------------------------------------------------------- the split of a node

    cdef bint find_split(
        self, const Node **trees, intp_t k, int order, uint64_t *state, MergeFrame *current
    ) noexcept nogil:
        """Divide the rows of a node at the root of a tree; False if it is a leaf."""
        cdef intp_t i
        cdef int32_t *at
        cdef bint to_left
        # No split can leave enough rows on both sides, or tell anything apart.
        if current.group.n_train < 2 * self.splitter.min_leaf:
            return False
        if self.splitter.is_pure(&current.group):
            return False
        while True:
            self.list_roots(trees, k, &self.at[current.at])
            if self.roots.size() == 0:
                return False
            current.split = self.roots[self.pick(order, state, current)]
            if self.splitter.divide(&current.group, current.split):
                return True
            # One side is (nearly) empty: all rows of use are on the other one, to which trees move.
            to_left = current.group.n_train_left >= self.splitter.min_leaf
            at = &self.at[current.at]
            for i in range(k):
                if same_cut(trees[i][at[i]], current.split):
                    at[i] = at[i] + 1 if to_left else right_child(trees[i], at[i])

    cdef void list_roots(
        self, const Node **trees, intp_t k, int32_t *at
    ) noexcept nogil:
        """Move to the roots of the restricted trees, and list their different splits."""
        cdef intp_t i, j
        cdef Node root
        self.roots.clear()
        for i in range(k):
            at[i] = restrict_root(trees[i], at[i], self.lo.data(), self.hi.data())
            root = trees[i][at[i]]
            if root.axis < 0:
                continue
            for j in range(<intp_t> self.roots.size()):
                if same_cut(root, self.roots[j]):
                    break
            else:
                self.roots.push_back(AxisCut(root.axis, root.cut))

    cdef intp_t pick(self, int order, uint64_t *state, const MergeFrame *current) noexcept nogil:
        """Which of the roots comes first."""
        cdef intp_t j, chosen = 0
        cdef double value, best = -1.0
        if self.roots.size() == 1 or order == ORDER_FIRST:
            return 0
        if order == ORDER_RANDOM:
            return random_below(self.roots.size(), state)
        # Equal but for rounding is equal: the first one stays.
        for j in range(<intp_t> self.roots.size()):
            value = self.splitter.gain(&current.group, self.roots[j])
            if is_better(value, best, 1.0):
                best = value
                chosen = j
        return chosen

    # ----------------------------------------------------------------- nodes of the result

    cdef void open_node(self, int32_t axis, int32_t cut) noexcept nogil:
        self.truncate(self.out.nodes.size() + 1)
        self.out.nodes.back().axis, self.out.nodes.back().cut = axis, cut
        self.out.nodes.back().size = 1

    cdef void add_leaf(self, const MergeFrame *frame) noexcept nogil:
        cdef intp_t pos = self.out.nodes.size()
        cdef double *weights
        self.open_node(-1, 0)
        weights = &self.out.weights[pos * 2 * self.rows.n_classes]
        self.out.marks[pos] = self.splitter.add_up(
            &frame.group, weights, &self.out.n_rows[2 * pos]
        )
        self.out.nodes[pos].cut = heaviest(weights, self.rows.n_classes)

    cdef void truncate(self, intp_t n_nodes) noexcept nogil:
        """Drop the last nodes, or make room for more."""
        self.out.nodes.resize(n_nodes)
        self.out.weights.resize(n_nodes * 2 * self.rows.n_classes)
        self.out.marks.resize(n_nodes)
        self.out.n_rows.resize(2 * n_nodes)

    cdef void close_node(self, int32_t pos) noexcept nogil:
        """Add the children up; a split with one answer on both sides becomes that answer."""
        cdef intp_t i
        cdef intp_t left = pos + 1
        cdef intp_t n = self.out.nodes[left].size
        cdef intp_t right = left + n
        self.out.nodes[pos].size = <int32_t> self.out.nodes.size() - pos
        self.add_children(pos, left, right)
        if self.out.nodes[right].size != n or memcmp(
            &self.out.nodes[left], &self.out.nodes[right], n * sizeof(Node)
        ):
            return
        # Both children are the same tree: one of them, with the rows of both, takes the place.
        for i in range(n):
            self.out.nodes[pos + i] = self.out.nodes[left + i]
            self.add_children(pos + i, left + i, right + i)
        self.truncate(pos + n)

    cdef void add_children(self, intp_t to, intp_t a, intp_t b) noexcept nogil:
        """What is in a node is what is in two others."""
        cdef intp_t c, n = 2 * self.rows.n_classes
        cdef double *weights = self.out.weights.data()
        cdef int32_t *n_rows = self.out.n_rows.data()
        self.out.marks[to] = self.out.marks[a] + self.out.marks[b]
        for c in range(2):
            n_rows[2 * to + c] = n_rows[2 * a + c] + n_rows[2 * b + c]
        for c in range(n):
            weights[to * n + c] = weights[a * n + c] + weights[b * n + c]


cdef enum:
    ACCURACY = 0
    BALANCED_ACCURACY = 1
    LOG_LOSS = 2

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


cdef bint earlier(const PruningStep &a, const PruningStep &b) noexcept nogil:
    if a.price != b.price:
        return a.price < b.price
    return a.node < b.node


# --------------------------------------------------------------------- scores

@cython.final
cdef class TreeScorer:
    """A metric on the validation rows, and, `training_weight` times, on the training rows.

    All metrics are sums over the leaves.
    """

    cdef int metric
    cdef intp_t n_classes
    cdef double total                # sum of a tree without errors, not yet divided
    cdef double training_weight      # what the score on the training rows counts
    cdef double training_share       # the same for what a leaf adds, before the division
    # weight of every class among the training rows, then among the validation rows
    cdef vector[double] class_total

    def __init__(self, RowBits rows, str metric, double training_weight=0.0):
        cdef intp_t i, place, is_val, k = rows.n_classes
        cdef double[2] total
        self.metric = {"accuracy": ACCURACY, "balanced_accuracy": BALANCED_ACCURACY,
                       "neg_log_loss": LOG_LOSS}[metric]
        self.n_classes = k
        self.class_total.resize(2 * k)
        total[0] = total[1] = 0.0
        for i in range(rows.n_train + rows.n_val):
            place, is_val = rows.place[i], i >= rows.n_train
            self.class_total[is_val * k + rows.rows[place].label] += rows.rows[place].weight
            total[is_val] += rows.rows[place].weight
        if self.metric == BALANCED_ACCURACY:
            # recalls are added up, and divided by the number of classes that there are
            for is_val in range(2):
                total[is_val] = 0.0
                for i in range(k):
                    total[is_val] += self.class_total[is_val * k + i] > 0.0
        self.total = total[1]
        self.training_weight = training_weight
        self.training_share = 0.0
        if training_weight > 0.0 and total[0] > 0.0:
            # so that both scores can be one sum, which is divided by the validation total
            self.training_share = training_weight * self.total / total[0]

    cdef double hits(self, const double *weights, intp_t at) noexcept nogil:
        """What a leaf labels well at a place of `class_total`; its share if classes count alike."""
        if self.metric == BALANCED_ACCURACY and weights[at] > 0.0:
            return weights[at] / self.class_total[at]
        return weights[at]

    cdef double leaf_value(self, const double *weights, int32_t label) noexcept nogil:
        """What a leaf adds to the score."""
        cdef intp_t c, k = self.n_classes
        cdef double weight = 0.0, value = 0.0, counts
        if self.metric != LOG_LOSS:
            return self.hits(weights, k + label) + self.training_share * self.hits(weights, label)
        for c in range(k):
            weight += weights[c]
        for c in range(k):
            counts = weights[k + c] + self.training_share * weights[c]
            if counts > 0.0:
                value += counts * log_of(weights[c] / weight)
        return value

    cdef double from_sum(self, double sum_of_values) noexcept nogil:
        """The score, of the sum of what the leaves add."""
        return rounded(sum_of_values / self.total) if self.total > 0.0 else 0.0


# --------------------------------------------------------------------- pruning

@cython.final
cdef class Pruner:
    """Scores and prunes trees; one a thread. Parameters are as of `Population`."""

    cdef TreeScorer scorer
    cdef int how
    cdef intp_t n_classes, max_leaves
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

    def __init__(
        self, TreeScorer scorer, str prune, intp_t max_leaf_nodes, bint keep_paths,
    ):
        self.scorer = scorer
        self.how = {"none": PRUNE_NONE, "ccp": PRUNE_CCP,
                    "reduced_error": PRUNE_REDUCED_ERROR}[prune]
        self.n_classes = scorer.n_classes
        self.max_leaves = max_leaf_nodes
        self.keep_paths = keep_paths

    cdef void add_trees(
        self,
        const CountedTree *tree,
        const vector[double] &front_score,
        vector[ScoredTree] &out,    # OUT: the tree, its pruned copy, and what the front could use
    ) noexcept nogil:
        cdef intp_t first = 0, best, step
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
        # the last of the steps with the best score
        best = first
        for step in range(first, <intp_t> self.path_score.size()):
            if self.path_score[step] >= self.path_score[best]:
                best = step
        if best != first:
            self.add_another(tree, <int32_t> best, out)
        if self.keep_paths:
            self.add_for_front(tree, first, best, front_score, out)

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
            as_leaf = self.scorer.hits(&tree.weights[i * 2 * k], k + self.label[i])
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
        cdef intp_t i = 0, n = tree.nodes.size()
        cdef Node node
        cdef double value = 0.0
        cdef ScoredTree copy
        copy.n_leaves, copy.behaviour, copy.front_only = self.mark_leaves(tree, step), 0, False
        copy.nodes.reserve(2 * copy.n_leaves - 1)
        while i < n:
            node = tree.nodes[i]
            if self.is_leaf[i]:
                node.axis = -1
                node.cut = self.label[i]
                copy.behaviour += tree.marks[i] * label_mark(self.label[i])
                value += self.leaf_score[i]
                i += tree.nodes[i].size
            else:
                i += 1
            copy.nodes.push_back(node)
        set_sizes(copy.nodes)
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
    cdef vector[int32_t] choice

    def __init__(self, RowBits rows, Merger merger, Pruner pruner):
        self.rows = rows
        self.merger = merger
        self.pruner = pruner

    cdef int clean(
        self, const vector[double] &front_score, bint may_stop, vector[ScoredTree] &out,
    ) except -1 nogil:
        """Add the tree in ``draft``, cleaned."""
        cdef const Node *nodes = self.draft.data()
        if self.merger.merge(&nodes, 1, ORDER_FIRST, NULL, may_stop):
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
        if self.merger.merge(parents.data(), n_parents, order, state, True):
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
        if self.move_threshold(parent, state) and self.clean(front_score, True, out):
            return 1
        return self.swap_subtrees(parent, state) and self.clean(front_score, True, out)

    cdef bint move_threshold(self, const ScoredTree *tree, uint64_t *state) noexcept nogil:
        """Copy a tree into ``draft`` with one threshold replaced inside its node's region."""
        cdef intp_t node, n, n_splits = tree.nodes.size() - tree.n_leaves
        cdef int32_t cut, lo, hi
        if n_splits == 0:
            return False
        # of the splits, in the order of the nodes, the one of a random number
        node, n = -1, random_below(n_splits, state)
        while n >= 0:
            node += 1
            n -= tree.nodes[node].axis >= 0
        self.range_of_cuts(tree, node, &lo, &hi)
        if hi - lo < 2:
            return False
        cut = lo + <int32_t> random_below(hi - lo - 1, state)
        # Any cut but the present one, all with the same chance.
        if cut >= tree.nodes[node].cut:
            cut += 1
        self.draft = tree.nodes
        self.draft[node].cut = cut
        return True

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
            return True
        return False

    cdef void append(self, const ScoredTree *tree, intp_t first, intp_t end) noexcept nogil:
        """Add nodes `first` to `end` of a tree to ``draft``."""
        self.draft.insert(
            self.draft.end(), tree.nodes.begin() + first, tree.nodes.begin() + end
        )


# --------------------------------------------------------------------- survival

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
    metric : {"accuracy", "balanced_accuracy", "neg_log_loss"}
        By which trees are scored on the validation rows.
    training_weight : float
        So many times the score on the training rows is added.
    prune : {"ccp", "reduced_error", "none"}
        How the pruned copy of every tree is made.
    n_threads : int
        How many threads may breed at the same time.
    cache_bytes : int
        Memory for the bitsets of splits, over all threads.
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
        bint keep_paths=True,
    ):
        self.rows = rows
        scorer = TreeScorer(rows, metric, training_weight)
        self.breeders = [
            Breeder(
                rows,
                Merger(rows, Splitter(rows, min_samples_leaf, cache_bytes // n_threads)),
                Pruner(scorer, prune, max_leaf_nodes, keep_paths),
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
                if breeder.clean(self.front_score, may_stop, out.trees):
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
        cdef const intp_t[::1] order
        for some in candidates:
            with nogil:
                for i in range(<intp_t> some.trees.size()):
                    if some.trees[i].score > best_at(self.front_score, some.trees[i].n_leaves):
                        self.front.push_back(some.trees[i])
                    if not some.trees[i].front_only:
                        self.trees.push_back(move(some.trees[i]))
                some.trees.clear()
        # Of trees that are equal in both, the first comes first: the order is one everywhere.
        score, n_leaves = self.describe("front")
        order = np.lexsort((-score, n_leaves))
        with nogil:
            self.keep_front(order)
        score, n_leaves = self.describe()
        order = np.lexsort((n_leaves, -score))
        with nogil:
            self.keep_fittest(order, size)

    cdef void keep_fittest(self, const intp_t[::1] order, intp_t size) noexcept nogil:
        """Keep the fittest trees, the first of the order, one of those that answer alike."""
        cdef intp_t i, j
        cdef vector[ScoredTree] kept
        for i in range(order.shape[0]):
            if <intp_t> kept.size() == size:
                break
            for j in range(<intp_t> kept.size()):
                if kept[j].behaviour == self.trees[order[i]].behaviour:
                    break
            else:
                kept.push_back(move(self.trees[order[i]]))
        self.trees.swap(kept)

    cdef void keep_front(self, const intp_t[::1] order) noexcept nogil:
        """Keep the trees that no smaller one equals, by rising size, and index their scores."""
        cdef intp_t i
        cdef vector[ScoredTree] kept
        cdef double best = -INFINITY
        for i in range(order.shape[0]):
            if self.front[order[i]].score > best:
                best = self.front[order[i]].score
                kept.push_back(move(self.front[order[i]]))
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
            self.rows.lay_out(self.trees[0].nodes)
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
        cdef intp_t i, c, n, n_columns = 2 * self.rows.n_classes
        cdef vector[Node] given
        cdef const Node* nodes
        with nogil:
            array_to_nodes(tree, given)
            nodes = given.data()
            merger.merge(&nodes, 1, ORDER_FIRST, NULL, False)
        n = merger.out.nodes.size()
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
