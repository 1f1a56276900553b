"""Merging trees: the exact overlay of several trees, and the breeding of small ones.

A **split** is a pair (feature, code): rows whose code on that axis is at most `code` go left.
Codes count the sorted cut points of an axis, so no floating-point comparison is left here.
A **tree** is an ``int32`` array of shape (n_nodes, 3) in pre-order with the columns

feature
    Axis of the split, -1 in a leaf.
code
    Code of the split; in a leaf its label (in an overlay: its running number).
size
    Number of nodes of the subtree. The left child of node i is i + 1, the right child
    i + 1 + size[i + 1]; a subtree is a slice.

Merging walks all trees at once through a **region** (the codes `lo` to `hi` of every axis). Each
tree **restricted** to the region shows a root that cuts the region, or a leaf. Splitting on any
of these roots is always possible, so every order ends in one leaf for every non-empty
intersection of leaves.

Rows are kept as bitsets of which only the non-zero words are stored: a node of r rows costs at
most r words, and 64 rows of a large node cost one.
"""

import numpy as np

from libc.math cimport floor, log
from libc.string cimport memcmp, memcpy
from libcpp.algorithm cimport pop_heap, push_heap, sort
from libcpp.utility cimport move
from libcpp.vector cimport vector

from ensemble_simplify._regions cimport (
    Node, array_to_nodes, nodes_to_array, restrict_root, set_sizes,
)
from ensemble_simplify._typedefs cimport (
    float32_t, float64_t, int32_t, int64_t, intp_t, next_random, now, scramble, should_stop,
    uint32_t, uint64_t,
)

cdef extern from *:
    """
    #include <cstdint>
    static inline int es_popcount(unsigned long long x) {
        x = x - ((x >> 1) & 0x5555555555555555ULL);
        x = (x & 0x3333333333333333ULL) + ((x >> 2) & 0x3333333333333333ULL);
        x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0fULL;
        return (int)((x * 0x0101010101010101ULL) >> 56);
    }
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
    int popcount "es_popcount"(uint64_t) noexcept nogil
    int lowest_bit "es_lowest"(uint64_t) noexcept nogil
    uint64_t at_most "es_at_most"(const int32_t*, int32_t) noexcept nogil

cdef enum:
    ACCURACY = 0
    BALANCED_ACCURACY = 1
    LOG_LOSS = 2
    F1_MACRO = 3

cdef enum:
    PRUNE_NONE = 0
    PRUNE_CCP = 1
    PRUNE_REDUCED_ERROR = 2

cdef enum:
    ORDER_FIRST = 0    # root of the first tree that is not in a leaf
    ORDER_RANDOM = 1   # any root
    ORDER_GAIN = 2     # root with the largest decrease of Gini impurity

# Trees on the way of a pruning path are offered to the front up to this size.
cdef enum:
    FRONT_LEAVES = 512

cdef double NEVER = float("inf")
cdef double TIE = 1e-12            # weights and gains closer than this are equal
cdef double SMALLEST_PROBABILITY = np.finfo(np.float64).eps
# Up to so many rows of a word are looked up one by one.
cdef int FEW_BITS = 4
# Poll for Ctrl-C and the deadline after so many words of work (about a millisecond).
cdef intp_t WORK_PER_POLL = 1 << 19


cdef struct Split:
    int32_t axis
    int32_t cut


cdef struct Row:
    double weight
    uint64_t mark         # random; leaves are compared by the sums of their marks
    int32_t label


cdef struct Frame:
    intp_t words          # first stored word of the node, and how many
    intp_t n_words
    intp_t n_left
    intp_t n_right
    intp_t n_train        # training rows in the node, and in its left child
    intp_t n_train_left
    intp_t n_train_right
    intp_t top            # end of the stored words when the node was opened
    intp_t at             # where its positions in the k trees begin
    int32_t pos           # its number in the output
    int32_t axis
    int32_t cut
    int32_t saved         # bound of the region to restore
    int32_t stage         # 0: to be opened, 1: left child done, 2: right child done


cdef struct Change:
    # Where a mutant differs from its parent: two slices of it, and where the nodes between the two
    # stand in the parent. Everything else of the two trees is the same.
    intp_t first
    intp_t first_end
    intp_t second
    intp_t second_end
    intp_t shift


cdef cppclass Tree:
    vector[Node] nodes
    # Of the leaves from left to right, as in `Scratch`; empty if that takes too much memory.
    vector[double] counts
    vector[int32_t] n_rows
    vector[uint64_t] marks
    double score
    uint64_t behaviour    # equal for trees that answer alike on every row
    int32_t n_leaves
    bint front_only       # offered to the front, not to the population


cdef struct Link:
    # A pruning: how much impurity each leaf costs that it saves, and the split that becomes a leaf.
    double cost
    int32_t node


cdef cppclass Scratch:
    # What one thread needs to merge, prune and score.
    vector[Node] out
    vector[double] counts         # 2 * n_classes a node: training weights, validation weights
    vector[int32_t] n_rows        # 2 a node: training rows, validation rows
    vector[uint64_t] marks
    bint keep_alike               # leave splits with one answer on both sides
    vector[Frame] stack
    vector[int32_t] at
    vector[Split] roots
    vector[uint32_t] index
    vector[uint64_t] word
    vector[int32_t] lo
    vector[int32_t] hi
    vector[double] tally
    vector[vector[uint64_t]] cache
    vector[int64_t] cached
    # pruning
    vector[int32_t] label
    vector[double] leaf_score
    vector[double] impurity
    vector[double] below_impurity
    vector[int32_t] below_leaves
    vector[double] below_score
    vector[double] cost
    vector[int32_t] pruned_at
    vector[char] is_leaf
    vector[Link] links
    vector[int32_t] path_leaves
    vector[double] path_score
    vector[double] hits
    vector[double] calls
    # mutation
    vector[Node] draft
    Change change
    vector[int32_t] half_done     # splits being copied, complemented after their left child
    vector[int32_t] choice
    intp_t work


cdef inline double draw_uniform(uint64_t* state) noexcept nogil:
    return <double>(next_random(state) >> 11) * (1.0 / 9007199254740992.0)


cdef inline intp_t draw_below(intp_t n, uint64_t* state) noexcept nogil:
    return <intp_t>(draw_uniform(state) * <double>n)


cdef inline uint64_t stream(uint64_t seed, uint64_t generation, uint64_t child) noexcept nogil:
    """Random state of one child: depends on nothing but its place."""
    return scramble(scramble(scramble(seed) ^ (generation + 1) * <uint64_t>0x9e3779b97f4a7c15)
               ^ (child + 1) * <uint64_t>0xd1b54a32d192ed03)


cdef inline uint64_t label_mark(int32_t label) noexcept nogil:
    return scramble(<uint64_t>label + 1) | 1


cdef inline intp_t unchanged(const Change& change, intp_t pos, intp_t size) noexcept nogil:
    """Where the subtree at `pos` of a mutant stands in its parent; -1 if it is another there."""
    if pos + size <= change.first or pos >= change.second_end:
        return pos
    if pos >= change.first_end and pos + size <= change.second:
        return pos + change.shift
    return -1


cdef class Brood:
    """Trees bred by one call of :meth:`Population.breed`, not yet part of the population.

    With ``keep_paths``, also those on pruning paths that only the front is offered.
    """

    cdef vector[Tree] trees
    cdef public bint stopped

    def __len__(self):
        return self.trees.size()

    def nodes(self, intp_t i):
        """Tree `i` as an int32 array of shape (n_nodes, 3)."""
        if not 0 <= i < <intp_t>self.trees.size():
            raise IndexError(i)
        return nodes_to_array(self.trees[i].nodes)

    def set_score(self, intp_t i, double score):
        """Give tree `i` a score computed elsewhere."""
        if not 0 <= i < <intp_t>self.trees.size():
            raise IndexError(i)
        self.trees[i].score = rounded(score)


cdef struct Rank:
    double score
    uint64_t behaviour
    intp_t size
    intp_t position


cdef bint fitter(const Rank& a, const Rank& b) noexcept nogil:
    """Higher score, then fewer nodes; the rest makes the order the same everywhere."""
    if a.score != b.score:
        return a.score > b.score
    if a.size != b.size:
        return a.size < b.size
    return a.position < b.position


cdef bint smaller(const Rank& a, const Rank& b) noexcept nogil:
    """Fewer nodes, then higher score."""
    if a.size != b.size:
        return a.size < b.size
    if a.score != b.score:
        return a.score > b.score
    return a.position < b.position


cdef void rank(const vector[Tree]& trees, vector[Rank]& ranks) noexcept nogil:
    cdef intp_t i
    cdef Rank entry
    ranks.clear()
    for i in range(<intp_t>trees.size()):
        entry.score = trees[i].score
        entry.behaviour = trees[i].behaviour
        entry.size = trees[i].nodes.size()
        entry.position = i
        ranks.push_back(entry)


cdef inline double rounded(double score) noexcept nogil:
    """Scores that differ by rounding of their sums alone become equal."""
    return floor(score * 1e12 + 0.5) * 1e-12


cdef bint cheaper(const Link& a, const Link& b) noexcept nogil:
    if a.cost != b.cost:
        return a.cost < b.cost
    return a.node < b.node


cdef inline double log_of(double p) noexcept nogil:
    return log(p if p > SMALLEST_PROBABILITY else SMALLEST_PROBABILITY)


cdef class Population:
    """Training and validation rows, the trees living on them, and the best of every size.

    Every tree that enters is restricted to what training rows can reach, labelled by them and
    free of siblings with one label. Trees that answer alike on all rows are kept once.

    Parameters
    ----------
    train_code, val_code : int32 arrays of shape (n_features, n_rows)
        Code of every row on every axis.
    train_label, val_label : int32 arrays of shape (n_rows,)
        Class of every row; the validation labels are what trees are scored against.
    train_weight, val_weight : float64 arrays of shape (n_rows,)
    n_codes : int32 array of shape (n_features,)
        Number of cut points of every axis; codes run from 0 to this number.
    n_classes : int
    min_samples_leaf : int
        Training rows that a leaf has at least.
    max_leaf_nodes : int
        Larger trees are cut back along their cost-complexity path; 0 for no limit.
    metric : {"accuracy", "balanced_accuracy", "neg_log_loss", "f1_macro"}
    prune : {"ccp", "reduced_error", "none"}
        How the pruned twin of every tree is made.
    n_scratch : int
        How many threads may breed at the same time.
    cache_bytes : int
        Memory for the bitsets of splits, over all threads.
    known_bytes : int
        Memory for what the leaves of one tree hold; of larger trees, rows are counted again.
    keep_paths : bool
        Offer the trees on pruning paths to the front.
    """

    cdef vector[int32_t] code            # n_features x (64 * n_words), training words first
    cdef vector[Row] rows                # 64 * n_words
    cdef vector[int32_t] place           # where each row stands; training rows first
    cdef vector[uint64_t] everything     # words of all rows
    cdef vector[int64_t] first_split     # running number of the first split of every axis
    cdef vector[int32_t] n_codes
    cdef intp_t n_features, n_classes, n_words, n_train_words, n_train, n_val
    cdef intp_t min_leaf, max_leaves
    cdef double total                    # score of a tree without errors, not yet divided
    cdef vector[double] val_total
    cdef int metric, prune
    cdef intp_t known_bytes
    cdef bint keep_paths
    cdef vector[Scratch] scratch
    cdef vector[Tree] trees
    cdef vector[Tree] front
    cdef vector[double] front_score      # best score of at most i leaves

    def __init__(
        self,
        const int32_t[:, ::1] train_code,
        const int32_t[::1] train_label,
        const float64_t[::1] train_weight,
        const int32_t[:, ::1] val_code,
        const int32_t[::1] val_label,
        const float64_t[::1] val_weight,
        const int32_t[::1] n_codes,
        *,
        intp_t n_classes,
        intp_t min_samples_leaf=1,
        intp_t max_leaf_nodes=0,
        str metric="accuracy",
        str prune="ccp",
        intp_t n_scratch=1,
        intp_t cache_bytes=1 << 28,
        intp_t known_bytes=1 << 20,
        bint keep_paths=True,
    ):
        cdef intp_t i, f, row, slots
        cdef int64_t n_splits = 0
        self.n_features = train_code.shape[0]
        self.n_classes = n_classes
        self.n_train = train_code.shape[1]
        self.n_val = val_code.shape[1]
        self.n_train_words = (self.n_train + 63) // 64
        self.n_words = self.n_train_words + (self.n_val + 63) // 64
        self.min_leaf = min_samples_leaf
        self.max_leaves = max_leaf_nodes
        self.metric = {"accuracy": ACCURACY, "balanced_accuracy": BALANCED_ACCURACY,
                       "neg_log_loss": LOG_LOSS, "f1_macro": F1_MACRO}[metric]
        self.prune = {"none": PRUNE_NONE, "ccp": PRUNE_CCP,
                      "reduced_error": PRUNE_REDUCED_ERROR}[prune]
        self.known_bytes = known_bytes
        self.keep_paths = keep_paths
        with nogil:
            self.code.resize(self.n_features * self.n_words * 64)
            self.rows.resize(self.n_words * 64)
            self.place.resize(self.n_train + self.n_val)
            self.everything.resize(self.n_words)
            self.val_total.resize(n_classes)
            row = 0
            for i in range(self.n_train + self.n_val):
                if i == self.n_train:
                    row = self.n_train_words * 64
                self.everything[row >> 6] |= (<uint64_t>1) << (row & 63)
                self.place[i] = <int32_t>row
                self.rows[row].mark = scramble(<uint64_t>row + <uint64_t>0x632be59bd9b4e019)
                if i < self.n_train:
                    self.rows[row].label = train_label[i]
                    self.rows[row].weight = train_weight[i]
                else:
                    self.rows[row].label = val_label[i - self.n_train]
                    self.rows[row].weight = val_weight[i - self.n_train]
                    self.val_total[self.rows[row].label] += self.rows[row].weight
                    self.total += self.rows[row].weight
                row += 1
            if self.metric == BALANCED_ACCURACY:
                self.total = 0.0
                for i in range(n_classes):
                    self.total += self.val_total[i] > 0.0
            for f in range(self.n_features):
                row = f * self.n_words * 64
                for i in range(self.n_train):
                    self.code[row + i] = train_code[f, i]
                row += self.n_train_words * 64
                for i in range(self.n_val):
                    self.code[row + i] = val_code[f, i]
                self.first_split.push_back(n_splits)
                self.n_codes.push_back(n_codes[f])
                n_splits += n_codes[f]
            slots = cache_bytes // (n_scratch * 8 * (self.n_words if self.n_words else 1))
            if slots > n_splits:
                slots = n_splits
            self.scratch.resize(n_scratch)
            for i in range(n_scratch):
                self.scratch[i].cache.resize(slots)
                self.scratch[i].cached.assign(slots, -1)
                self.scratch[i].work = 0
                self.scratch[i].keep_alike = False

    cdef intp_t leaf_at(self, const Node* nodes, intp_t row) noexcept nogil:
        """Position of the leaf that a row (by its place) lies in."""
        cdef intp_t at = 0, stride = self.n_words * 64
        while nodes[at].axis >= 0:
            if self.code[nodes[at].axis * stride + row] <= nodes[at].cut:
                at += 1
            else:
                at += 1 + nodes[at + 1].size
        return at

    def arrange(self):
        """Lay the rows out in the order of the leaves of the fittest tree.

        The rows of a node of a similar tree then stand in few words. No answer depends on it.
        """
        if self.trees.size() == 0:
            raise IndexError("the population is empty")
        cdef const Node* nodes = self.trees[0].nodes.data()
        cdef intp_t i, f, first, n, at, part, stride = self.n_words * 64
        cdef vector[int32_t] leaf, start, to, codes
        cdef vector[Row] rows
        with nogil:
            to.resize(stride)
            leaf.resize(stride)
            for i in range(stride):
                to[i] = <int32_t>i
            for part in range(2):
                first = self.n_train_words * 64 if part else 0
                n = self.n_val if part else self.n_train
                start.assign(self.trees[0].nodes.size() + 1, 0)
                for i in range(first, first + n):
                    at = self.leaf_at(nodes, i)
                    leaf[i] = <int32_t>at
                    start[at + 1] += 1
                for i in range(<intp_t>start.size() - 1):
                    start[i + 1] += start[i]
                for i in range(first, first + n):
                    to[i] = <int32_t>first + start[leaf[i]]
                    start[leaf[i]] += 1
            rows.resize(stride)
            for i in range(stride):
                rows[to[i]] = self.rows[i]
            self.rows.swap(rows)
            for i in range(<intp_t>self.place.size()):
                self.place[i] = to[self.place[i]]
            codes.resize(stride)
            for f in range(self.n_features):
                for i in range(stride):
                    codes[to[i]] = self.code[f * stride + i]
                memcpy(&self.code[f * stride], codes.data(), stride * sizeof(int32_t))
            for i in range(<intp_t>self.scratch.size()):
                self.scratch[i].cached.assign(self.scratch[i].cached.size(), -1)

    # ----------------------------------------------------------------- splitting rows

    cdef const uint64_t* split_bits(
        self, Scratch* s, int32_t feature, int32_t code, intp_t n_words
    ) noexcept nogil:
        """Bitset of the rows going left; NULL if it is cheaper to look the few rows up."""
        cdef intp_t slots = s.cached.size()
        if slots == 0:
            return NULL
        cdef int64_t split = self.first_split[feature] + code
        cdef intp_t slot = split % slots
        if s.cached[slot] == split:
            return s.cache[slot].data()
        if 4 * n_words < self.n_words:
            return NULL
        cdef intp_t w
        cdef const int32_t* codes = &self.code[feature * self.n_words * 64]
        s.cache[slot].resize(self.n_words)
        for w in range(self.n_words):
            s.cache[slot][w] = at_most(codes + w * 64, code)
        s.cached[slot] = split
        s.work += 16 * self.n_words
        return s.cache[slot].data()

    cdef uint64_t left_bits(
        self, const int32_t* codes, uint32_t index, uint64_t word, int32_t code
    ) noexcept nogil:
        cdef uint64_t left = 0, rest = word
        cdef int bit
        if popcount(word) > FEW_BITS:
            return word & at_most(codes + <intp_t>index * 64, code)
        while rest:
            bit = lowest_bit(rest)
            rest &= rest - 1
            if codes[<intp_t>index * 64 + bit] <= code:
                left |= (<uint64_t>1) << bit
        return left

    cdef bint try_split(self, Scratch* s, Frame* node, Split split) noexcept nogil:
        """Divide the rows of a node; False if a side has too few training rows.

        The words of the left, then of the right child are stored at the node's `top`. The
        training rows of both sides are left in the node either way.
        """
        cdef intp_t j, n_left = 0, n_right = 0, train_left = 0, n = node.n_words
        cdef uint64_t word, left
        cdef uint32_t index
        cdef const uint64_t* bits = self.split_bits(s, split.axis, split.cut, n)
        cdef const int32_t* codes = &self.code[split.axis * self.n_words * 64]
        if <intp_t>s.word.size() < node.top + 2 * n:
            s.word.resize(2 * (node.top + 2 * n))
            s.index.resize(s.word.size())
        for j in range(n):
            word = s.word[node.words + j]
            index = s.index[node.words + j]
            if bits != NULL:
                left = word & bits[index]
            else:
                left = self.left_bits(codes, index, word, split.cut)
            if left:
                s.word[node.top + n_left] = left
                s.index[node.top + n_left] = index
                n_left += 1
                if <intp_t>index < self.n_train_words:
                    train_left += popcount(left)
            if left != word:
                s.word[node.top + n + n_right] = word ^ left
                s.index[node.top + n + n_right] = index
                n_right += 1
        s.work += n
        node.n_train_left = train_left
        node.n_train_right = node.n_train - train_left
        if node.n_train_left < self.min_leaf or node.n_train_right < self.min_leaf:
            return False
        if n_left < n:
            for j in range(n_right):
                s.word[node.top + n_left + j] = s.word[node.top + n + j]
                s.index[node.top + n_left + j] = s.index[node.top + n + j]
        node.n_left = n_left
        node.n_right = n_right
        return True

    cdef double gain(self, Scratch* s, const Frame* node, Split split) noexcept nogil:
        """Sum of squared class weights over weight on both sides: larger is purer."""
        cdef intp_t j, c, k = self.n_classes
        cdef uint64_t word, left
        cdef double total_left = 0.0, total_right = 0.0, square_left = 0.0, square_right = 0.0
        cdef uint32_t index
        cdef intp_t row
        cdef const uint64_t* bits = self.split_bits(s, split.axis, split.cut, node.n_words)
        cdef const int32_t* codes = &self.code[split.axis * self.n_words * 64]
        s.tally.assign(2 * k, 0.0)
        for j in range(node.n_words):
            index = s.index[node.words + j]
            if <intp_t>index >= self.n_train_words:
                break
            word = s.word[node.words + j]
            left = word & bits[index] if bits != NULL else self.left_bits(
                codes, index, word, split.cut
            )
            while word:
                row = <intp_t>index * 64 + lowest_bit(word)
                c = self.rows[row].label
                if not left & (word & (~word + 1)):
                    c += k
                s.tally[c] += self.rows[row].weight
                word &= word - 1
        s.work += 4 * node.n_words
        for c in range(k):
            total_left += s.tally[c]
            square_left += s.tally[c] * s.tally[c]
            total_right += s.tally[k + c]
            square_right += s.tally[k + c] * s.tally[k + c]
        if total_left <= 0.0 or total_right <= 0.0:
            return -1.0
        return square_left / total_left + square_right / total_right

    cdef bint is_pure(self, Scratch* s, const Frame* node) noexcept nogil:
        """Whether the training rows of a node are of one class."""
        cdef intp_t j, row
        cdef int32_t seen = -1
        cdef uint64_t word
        for j in range(node.n_words):
            if <intp_t>s.index[node.words + j] >= self.n_train_words:
                break
            word = s.word[node.words + j]
            while word:
                row = <intp_t>s.index[node.words + j] * 64 + lowest_bit(word)
                word &= word - 1
                if seen < 0:
                    seen = self.rows[row].label
                elif seen != self.rows[row].label:
                    return False
        return True

    # ----------------------------------------------------------------- merging

    cdef int32_t heaviest(self, const double* counts) noexcept nogil:
        cdef intp_t c
        cdef int32_t label = 0
        for c in range(1, self.n_classes):
            if counts[c] > counts[label]:
                label = <int32_t>c
        return label

    cdef void open_node(self, Scratch* s) noexcept nogil:
        cdef intp_t k = self.n_classes
        s.counts.resize(s.counts.size() + 2 * k)
        s.marks.push_back(0)
        s.n_rows.resize(s.n_rows.size() + 2)

    cdef void emit_leaf(self, Scratch* s, const Frame* frame) noexcept nogil:
        cdef intp_t j, row, shift, k = self.n_classes
        cdef uint64_t word, mark = 0
        cdef Node node
        cdef intp_t first = s.counts.size()
        cdef int32_t n_val = 0
        self.open_node(s)
        for j in range(frame.n_words):
            word = s.word[frame.words + j]
            shift = first
            if <intp_t>s.index[frame.words + j] >= self.n_train_words:
                shift += k
                n_val += popcount(word)
            while word:
                row = <intp_t>s.index[frame.words + j] * 64 + lowest_bit(word)
                word &= word - 1
                s.counts[shift + self.rows[row].label] += self.rows[row].weight
                mark += self.rows[row].mark
        s.work += 4 * frame.n_words
        s.marks[s.marks.size() - 1] = mark
        s.n_rows[s.n_rows.size() - 2] = <int32_t>frame.n_train
        s.n_rows[s.n_rows.size() - 1] = n_val
        node.axis = -1
        node.cut = self.heaviest(&s.counts[first])
        node.size = 1
        s.out.push_back(node)

    cdef void truncate(self, Scratch* s, intp_t n_nodes) noexcept nogil:
        s.out.resize(n_nodes)
        s.counts.resize(n_nodes * 2 * self.n_classes)
        s.marks.resize(n_nodes)
        s.n_rows.resize(2 * n_nodes)

    cdef void close_node(self, Scratch* s, int32_t pos) noexcept nogil:
        """Add the children up; a split with one answer on both sides becomes that answer."""
        cdef intp_t i
        cdef intp_t left = pos + 1
        cdef intp_t n = s.out[left].size
        cdef intp_t right = left + n
        s.out[pos].size = <int32_t>s.out.size() - pos
        self.add_up(s, pos, left, right)
        if s.keep_alike:
            return
        if s.out[right].size != n or memcmp(&s.out[left], &s.out[right], n * sizeof(Node)):
            return
        for i in range(n):
            s.out[pos + i] = s.out[left + i]
            self.add_up(s, pos + i, left + i, right + i)
        self.truncate(s, pos + n)

    cdef inline void add_up(self, Scratch* s, intp_t to, intp_t a, intp_t b) noexcept nogil:
        cdef intp_t c, k2 = 2 * self.n_classes
        s.marks[to] = s.marks[a] + s.marks[b]
        s.n_rows[2 * to] = s.n_rows[2 * a] + s.n_rows[2 * b]
        s.n_rows[2 * to + 1] = s.n_rows[2 * a + 1] + s.n_rows[2 * b + 1]
        for c in range(k2):
            s.counts[to * k2 + c] = s.counts[a * k2 + c] + s.counts[b * k2 + c]

    cdef void copy_known(self, Scratch* s, const Tree* tree, intp_t at) noexcept nogil:
        """Append a subtree whose leaves are known, as walking its rows would."""
        cdef intp_t i, k2 = 2 * self.n_classes, leaf = 0, end = at + tree.nodes[at].size
        cdef int32_t pos
        for i in range(at):
            leaf += tree.nodes[i].axis < 0
        s.half_done.clear()
        for i in range(at, end):
            pos = <int32_t>s.out.size()
            s.out.push_back(tree.nodes[i])
            self.open_node(s)
            if tree.nodes[i].axis >= 0:
                s.half_done.push_back(pos)
                continue
            memcpy(&s.counts[pos * k2], &tree.counts[leaf * k2], k2 * sizeof(double))
            memcpy(&s.n_rows[pos * 2], &tree.n_rows[leaf * 2], 2 * sizeof(int32_t))
            s.marks[pos] = tree.marks[leaf]
            leaf += 1
            while s.half_done.size() and s.half_done.back() < 0:
                self.close_node(s, ~s.half_done.back())
                s.half_done.pop_back()
            if s.half_done.size():
                s.half_done[s.half_done.size() - 1] = ~s.half_done.back()

    cdef int merge(
        self, Scratch* s, const Node** trees, intp_t k, int order, uint64_t* state,
        double deadline, const Tree* parent=NULL,
    ) except -1 nogil:
        """Merge k trees over the rows into ``s.out``; 1 if the deadline passed meanwhile.

        With a `parent`, the tree is a mutant that differs from it as ``s.change`` says; rows are
        then followed only to where it does.
        """
        cdef intp_t i, j, top, chosen
        cdef Frame frame
        cdef Frame* current
        cdef Split split
        cdef Node node
        cdef int32_t pos
        cdef double value, best
        cdef bint found, seen

        self.truncate(s, 0)
        s.lo.assign(self.n_features, 0)
        s.hi.resize(self.n_features)
        for i in range(self.n_features):
            s.hi[i] = self.n_codes[i]
        if <intp_t>s.word.size() < 4 * self.n_words:
            s.word.resize(4 * self.n_words)
            s.index.resize(4 * self.n_words)
        for i in range(self.n_words):
            s.word[i] = self.everything[i]
            s.index[i] = <uint32_t>i
        s.at.assign(k, 0)
        s.stack.clear()
        frame.words = 0
        frame.n_words = self.n_words
        frame.n_train = self.n_train
        frame.top = self.n_words
        frame.at = 0
        frame.stage = 0
        s.stack.push_back(frame)
        while s.stack.size():
            current = &s.stack.back()
            if current.stage == 0:
                if s.work > WORK_PER_POLL:
                    s.work = 0
                    if should_stop(deadline):
                        return 1
                s.work += k
                current.pos = <int32_t>s.out.size()
                if parent != NULL:
                    pos = restrict_root(trees[0], s.at[current.at], s.lo.data(), s.hi.data())
                    i = unchanged(s.change, pos, trees[0][pos].size)
                    if i >= 0:
                        self.copy_known(s, parent, i)
                        s.at.resize(current.at)
                        s.stack.pop_back()
                        continue
                found = False
                if current.n_train >= 2 * self.min_leaf and not self.is_pure(s, current):
                    while True:
                        s.roots.clear()
                        for i in range(k):
                            pos = restrict_root(
                                trees[i], s.at[current.at + i], s.lo.data(), s.hi.data()
                            )
                            s.at[current.at + i] = pos
                            split.axis = trees[i][pos].axis
                            split.cut = trees[i][pos].cut
                            if split.axis < 0:
                                continue
                            seen = False
                            for j in range(<intp_t>s.roots.size()):
                                if (s.roots[j].axis == split.axis
                                        and s.roots[j].cut == split.cut):
                                    seen = True
                            if not seen:
                                s.roots.push_back(split)
                        if s.roots.size() == 0:
                            break
                        chosen = 0
                        if s.roots.size() > 1 and order == ORDER_RANDOM:
                            chosen = draw_below(s.roots.size(), state)
                        elif s.roots.size() > 1 and order == ORDER_GAIN:
                            best = -1.0
                            for j in range(<intp_t>s.roots.size()):
                                value = self.gain(s, current, s.roots[j])
                                if value > best + TIE:
                                    best = value
                                    chosen = j
                        split = s.roots[chosen]
                        found = self.try_split(s, current, split)
                        if found:
                            break
                        # One side is (nearly) empty: all rows of use are on the other one.
                        for i in range(k):
                            pos = s.at[current.at + i]
                            if (trees[i][pos].axis == split.axis
                                    and trees[i][pos].cut == split.cut):
                                if current.n_train_left < self.min_leaf:
                                    s.at[current.at + i] = pos + 1 + trees[i][pos + 1].size
                                else:
                                    s.at[current.at + i] = pos + 1
                if not found:
                    self.emit_leaf(s, current)
                    s.at.resize(current.at)
                    s.stack.pop_back()
                    continue
                node.axis = split.axis
                node.cut = split.cut
                node.size = 0
                s.out.push_back(node)
                self.open_node(s)
                current.axis = split.axis
                current.cut = split.cut
                current.saved = s.hi[split.axis]
                s.hi[split.axis] = split.cut
                current.stage = 1
                frame.words = current.top
                frame.n_words = current.n_left
                frame.n_train = current.n_train_left
            elif current.stage == 1:
                s.hi[current.axis] = current.saved
                current.saved = s.lo[current.axis]
                s.lo[current.axis] = current.cut + 1
                current.stage = 2
                frame.words = current.top + current.n_left
                frame.n_words = current.n_right
                frame.n_train = current.n_train_right
            else:
                s.lo[current.axis] = current.saved
                self.close_node(s, current.pos)
                s.at.resize(current.at)
                s.stack.pop_back()
                continue
            frame.top = current.top + current.n_left + current.n_right
            frame.at = current.at + k
            frame.stage = 0
            s.at.resize(frame.at + k)
            for i in range(k):
                s.at[frame.at + i] = s.at[current.at + i]
            s.stack.push_back(frame)
        return 0

    # ----------------------------------------------------------------- scoring and pruning

    cdef inline double hits_of(self, const double* counts, int32_t label) noexcept nogil:
        """Validation weight that a leaf labels well, by class if classes count alike."""
        cdef double hits = counts[self.n_classes + label]
        if self.metric == BALANCED_ACCURACY and hits > 0.0:
            return hits / self.val_total[label]
        return hits

    cdef double leaf_value(self, const double* counts, int32_t label) noexcept nogil:
        """What a leaf adds to the score (an F1 score is not a sum; see `f1`)."""
        cdef intp_t c
        cdef double weight = 0.0, value = 0.0
        if self.metric != LOG_LOSS:
            return self.hits_of(counts, label)
        for c in range(self.n_classes):
            weight += counts[c]
        for c in range(self.n_classes):
            if counts[self.n_classes + c] > 0.0:
                value += counts[self.n_classes + c] * log_of(counts[c] / weight)
        return value

    cdef double f1(self, Scratch* s) noexcept nogil:
        """Macro F1 from true positives `hits` and predicted weights `calls`."""
        cdef intp_t c, present = 0
        cdef double total = 0.0
        for c in range(self.n_classes):
            if self.val_total[c] + s.calls[c] > TIE:
                present += 1
                total += 2.0 * s.hits[c] / (self.val_total[c] + s.calls[c])
        return rounded(total / present) if present else 0.0

    cdef void count_calls(self, Scratch* s, intp_t node, double sign) noexcept nogil:
        cdef intp_t c, k = self.n_classes
        cdef const double* counts = &s.counts[node * 2 * k]
        s.hits[s.label[node]] += sign * counts[k + s.label[node]]
        for c in range(k):
            s.calls[s.label[node]] += sign * counts[k + c]

    cdef double finish(self, double sum_of_values) noexcept nogil:
        return rounded(sum_of_values / self.total) if self.total > 0.0 else 0.0

    cdef void study(self, Scratch* s) noexcept nogil:
        """Labels, impurities and leaf scores of all nodes in ``s.out``, and sums over leaves."""
        cdef intp_t i, c, right, k = self.n_classes, n = s.out.size()
        cdef double weight, square
        cdef const double* counts
        s.label.resize(n)
        s.leaf_score.resize(n)
        s.impurity.resize(n)
        s.below_impurity.resize(n)
        s.below_leaves.resize(n)
        s.below_score.resize(n)
        s.cost.resize(n)
        s.pruned_at.assign(n, n + 1)
        s.is_leaf.resize(n)
        for i in range(n - 1, -1, -1):
            counts = &s.counts[i * 2 * k]
            s.label[i] = self.heaviest(counts)
            s.leaf_score[i] = self.leaf_value(counts, s.label[i])
            weight = 0.0
            square = 0.0
            for c in range(k):
                weight += counts[c]
                square += counts[c] * counts[c]
            s.impurity[i] = weight - square / weight if weight > 0.0 else 0.0
            if s.out[i].axis < 0:
                s.below_impurity[i] = s.impurity[i]
                s.below_leaves[i] = 1
                s.below_score[i] = s.leaf_score[i]
            else:
                right = i + 1 + s.out[i + 1].size
                s.below_impurity[i] = s.below_impurity[i + 1] + s.below_impurity[right]
                s.below_leaves[i] = s.below_leaves[i + 1] + s.below_leaves[right]
                s.below_score[i] = s.below_score[i + 1] + s.below_score[right]

    cdef void push_splits(self, Scratch* s, intp_t first, intp_t end) noexcept nogil:
        """Push the highest splits of a slice that are pruned by themselves onto the heap."""
        cdef intp_t i = first
        cdef Link link
        while i < end:
            if s.out[i].axis < 0 or s.cost[i] == NEVER:
                i += 1
                continue
            link.cost = s.cost[i]
            link.node = <int32_t>i
            s.links.push_back(link)
            push_heap(s.links.begin(), s.links.end(), &cheaper)
            i += s.out[i].size

    cdef void cost_of_pruning(self, Scratch* s, intp_t node) noexcept nogil:
        """When weakest-link pruning makes a split a leaf, given that of the splits below it.

        Of the prunings below it, those that cost less come first; the others never come, which
        is noted as a cost of `NEVER`. The sums over the leaves below the split are set to
        what they are just before its own pruning.
        """
        cdef intp_t x, left = node + 1, right = left + s.out[left].size
        cdef double impurity = s.impurity[left] + s.impurity[right]
        cdef double score = s.leaf_score[left] + s.leaf_score[right]
        cdef int32_t n_leaves = 2
        s.links.clear()
        self.push_splits(s, left, node + s.out[node].size)
        while True:
            # In single precision, so that rounding does not choose between equal costs.
            s.cost[node] = <float32_t>((s.impurity[node] - impurity) / (n_leaves - 1))
            if s.links.size() == 0 or s.links.front().cost < s.cost[node]:
                break
            x = s.links.front().node
            pop_heap(s.links.begin(), s.links.end(), &cheaper)
            s.links.pop_back()
            s.cost[x] = NEVER
            impurity += s.below_impurity[x] - s.impurity[x]
            score += s.below_score[x] - s.leaf_score[x]
            n_leaves += s.below_leaves[x] - 1
            self.push_splits(s, x + 1, x + s.out[x].size)
        s.below_impurity[node] = impurity
        s.below_score[node] = score
        s.below_leaves[node] = n_leaves

    cdef void drop_calls_below(self, Scratch* s, intp_t node, int32_t step) noexcept nogil:
        """Take back the calls of all present leaves below a node."""
        cdef intp_t i = node + 1, end = node + s.out[node].size
        while i < end:
            if s.out[i].axis < 0 or s.pruned_at[i] < step:
                self.count_calls(s, i, -1.0)
                i += s.out[i].size
            else:
                i += 1

    cdef void cost_complexity_path(self, Scratch* s) noexcept nogil:
        """Weakest-link pruning to the root: `pruned_at`, and leaves and score of each step."""
        cdef intp_t i, n = s.out.size()
        cdef int32_t node, step, n_leaves = s.below_leaves[0]
        cdef double score = s.below_score[0]
        cdef Link link
        s.path_leaves.clear()
        s.path_score.clear()
        for i in range(n - 1, -1, -1):
            if s.out[i].axis >= 0:
                self.cost_of_pruning(s, i)
        s.links.clear()
        for i in range(n):
            if s.out[i].axis >= 0 and s.cost[i] != NEVER:
                link.cost = s.cost[i]
                link.node = <int32_t>i
                s.links.push_back(link)
        sort(s.links.begin(), s.links.end(), &cheaper)
        if self.metric == F1_MACRO:
            s.hits.assign(self.n_classes, 0.0)
            s.calls.assign(self.n_classes, 0.0)
            for i in range(n):
                if s.out[i].axis < 0:
                    self.count_calls(s, i, 1.0)
        s.path_leaves.push_back(n_leaves)
        s.path_score.push_back(self.f1(s) if self.metric == F1_MACRO else self.finish(score))
        for step in range(1, <int32_t>s.links.size() + 1):
            node = s.links[step - 1].node
            if self.metric == F1_MACRO:
                self.drop_calls_below(s, node, step)
                self.count_calls(s, node, 1.0)
            s.pruned_at[node] = step
            n_leaves += 1 - s.below_leaves[node]
            score += s.leaf_score[node] - s.below_score[node]
            s.path_leaves.push_back(n_leaves)
            s.path_score.push_back(self.f1(s) if self.metric == F1_MACRO else self.finish(score))

    cdef void reduced_error(self, Scratch* s) noexcept nogil:
        """Mark every node whose validation rows a leaf would label as well (`pruned_at` = 0)."""
        cdef intp_t i, right, k = self.n_classes
        cdef double leaf
        s.below_score.resize(s.out.size())
        for i in range(<intp_t>s.out.size() - 1, -1, -1):
            leaf = self.hits_of(&s.counts[i * 2 * k], s.label[i])
            if s.out[i].axis < 0:
                s.below_score[i] = leaf
            else:
                right = i + 1 + s.out[i + 1].size
                s.below_score[i] = s.below_score[i + 1] + s.below_score[right]
                if leaf >= s.below_score[i] - TIE:
                    s.below_score[i] = leaf
                    s.pruned_at[i] = 0

    cdef void write(self, Scratch* s, int32_t step, Tree* tree) noexcept nogil:
        """``s.out`` after `step` prunings (-1: none), without siblings of one label."""
        cdef intp_t i, right, leaf, k2 = 2 * self.n_classes, n = s.out.size()
        cdef intp_t leaf_bytes = k2 * sizeof(double) + 2 * sizeof(int32_t) + sizeof(uint64_t)
        cdef Node node
        cdef double value = 0.0
        cdef bint known
        tree.n_leaves = 0
        for i in range(n - 1, -1, -1):
            s.is_leaf[i] = s.out[i].axis < 0 or s.pruned_at[i] <= step
            if not s.is_leaf[i]:
                right = i + 1 + s.out[i + 1].size
                s.is_leaf[i] = (
                    s.is_leaf[i + 1] and s.is_leaf[right] and s.label[i + 1] == s.label[right]
                )
        tree.nodes.clear()
        i = 0
        while i < n:
            tree.n_leaves += s.is_leaf[i]
            i += s.out[i].size if s.is_leaf[i] else 1
        known = tree.n_leaves * leaf_bytes <= self.known_bytes
        tree.nodes.reserve(2 * tree.n_leaves - 1)
        tree.counts.resize(known * tree.n_leaves * k2)
        tree.n_rows.resize(known * tree.n_leaves * 2)
        tree.marks.resize(known * tree.n_leaves)
        tree.behaviour = 0
        tree.front_only = False
        if self.metric == F1_MACRO:
            s.hits.assign(self.n_classes, 0.0)
            s.calls.assign(self.n_classes, 0.0)
        i = 0
        leaf = 0
        while i < n:
            node = s.out[i]
            if s.is_leaf[i]:
                node.axis = -1
                node.cut = s.label[i]
                if known:
                    memcpy(&tree.counts[leaf * k2], &s.counts[i * k2], k2 * sizeof(double))
                    memcpy(&tree.n_rows[leaf * 2], &s.n_rows[i * 2], 2 * sizeof(int32_t))
                    tree.marks[leaf] = s.marks[i]
                    leaf += 1
                tree.behaviour += s.marks[i] * label_mark(s.label[i])
                value += s.leaf_score[i]
                if self.metric == F1_MACRO:
                    self.count_calls(s, i, 1.0)
                i += s.out[i].size
            else:
                i += 1
            tree.nodes.push_back(node)
        set_sizes(tree.nodes)
        tree.score = self.f1(s) if self.metric == F1_MACRO else self.finish(value)

    cdef void deliver(self, Scratch* s, Brood brood) noexcept nogil:
        """Put ``s.out`` and its pruned twin into the brood, and what its path adds to the front."""
        cdef intp_t step, first = 0, best, n_steps
        cdef double top
        cdef Tree tree
        cdef bint limited
        self.study(s)
        limited = self.max_leaves > 0 and s.below_leaves[0] > self.max_leaves
        if self.prune != PRUNE_CCP and not limited:
            self.write(s, -1, &tree)
            brood.trees.push_back(move(tree))
            if self.prune == PRUNE_REDUCED_ERROR:
                self.reduced_error(s)
                self.write(s, 0, &tree)
                if tree.behaviour != brood.trees.back().behaviour:
                    brood.trees.push_back(move(tree))
            return
        self.cost_complexity_path(s)
        n_steps = s.path_leaves.size()
        if limited:
            while s.path_leaves[first] > self.max_leaves:
                first += 1
        self.write(s, <int32_t>first, &tree)
        brood.trees.push_back(move(tree))
        if self.prune == PRUNE_NONE:
            return
        best = first
        for step in range(first, n_steps):
            if s.path_score[step] >= s.path_score[best]:
                best = step
        if best != first:
            self.write(s, <int32_t>best, &tree)
            if tree.behaviour != brood.trees.back().behaviour:
                brood.trees.push_back(move(tree))
        if not self.keep_paths:
            return
        top = -NEVER
        for step in range(n_steps - 1, first, -1):
            if s.path_leaves[step] > FRONT_LEAVES:
                break
            if s.path_score[step] > top:
                top = s.path_score[step]
                if step != best and top > self.score_at(s.path_leaves[step]):
                    self.write(s, <int32_t>step, &tree)
                    tree.front_only = True
                    brood.trees.push_back(move(tree))

    cdef double score_at(self, intp_t n_leaves) noexcept nogil:
        """Best score in the front with at most so many leaves."""
        cdef intp_t n = self.front_score.size()
        if n == 0:
            return -NEVER
        return self.front_score[n_leaves if n_leaves < n else n - 1]

    # ----------------------------------------------------------------- mutating

    cdef bint move_threshold(self, Scratch* s, const Tree& tree, uint64_t* state) noexcept nogil:
        """Copy a tree into ``s.draft`` with one threshold replaced inside its node's region."""
        cdef intp_t i, node = -1, n_splits = tree.nodes.size() - tree.n_leaves
        cdef intp_t wanted, at = 0
        cdef int32_t f, c, lo = 0, hi
        if n_splits == 0:
            return False
        wanted = draw_below(n_splits, state)
        for i in range(<intp_t>tree.nodes.size()):
            if tree.nodes[i].axis >= 0:
                if wanted == 0:
                    node = i
                    break
                wanted -= 1
        f = tree.nodes[node].axis
        hi = self.n_codes[f]
        while at != node:
            c = tree.nodes[at].cut
            i = at + 1 + tree.nodes[at + 1].size
            if node < i:
                if tree.nodes[at].axis == f and c < hi:
                    hi = c
                at += 1
            else:
                if tree.nodes[at].axis == f and c + 1 > lo:
                    lo = c + 1
                at = i
        if hi - lo < 2:
            return False
        c = lo + <int32_t>draw_below(hi - lo - 1, state)
        if c >= tree.nodes[node].cut:
            c += 1
        s.draft = tree.nodes
        s.draft[node].cut = c
        s.change.first = node
        s.change.first_end = node + tree.nodes[node].size
        s.change.second = s.change.second_end = s.change.first_end
        s.change.shift = 0
        return True

    cdef bint swap_subtrees(self, Scratch* s, const Tree& tree, uint64_t* state) noexcept nogil:
        """Copy a tree into ``s.draft`` with two subtrees, neither inside the other, swapped."""
        cdef intp_t n = tree.nodes.size(), a, b, attempt, a_end, b_end
        if n < 5:
            return False
        for attempt in range(20):
            a = 1 + draw_below(n - 1, state)
            b = 1 + draw_below(n - 1, state)
            if a > b:
                a, b = b, a
            a_end = a + tree.nodes[a].size
            b_end = b + tree.nodes[b].size
            if b < a_end or (tree.nodes[a].axis < 0 and tree.nodes[b].axis < 0
                             and tree.nodes[a].cut == tree.nodes[b].cut):
                continue
            s.draft.clear()
            s.draft.insert(s.draft.end(), tree.nodes.begin(), tree.nodes.begin() + a)
            s.draft.insert(s.draft.end(), tree.nodes.begin() + b, tree.nodes.begin() + b_end)
            s.draft.insert(s.draft.end(), tree.nodes.begin() + a_end, tree.nodes.begin() + b)
            s.draft.insert(s.draft.end(), tree.nodes.begin() + a, tree.nodes.begin() + a_end)
            s.draft.insert(s.draft.end(), tree.nodes.begin() + b_end, tree.nodes.end())
            set_sizes(s.draft)
            s.change.shift = tree.nodes[a].size - tree.nodes[b].size
            s.change.first = a
            s.change.first_end = a_end - s.change.shift
            s.change.second = b - s.change.shift
            s.change.second_end = b_end
            return True
        return False

    # ----------------------------------------------------------------- breeding

    cdef int cross(
        self, Scratch* s, Brood brood, intp_t n_parents, intp_t tournament_size, int order,
        uint64_t* state, double deadline,
    ) except -1 nogil:
        cdef intp_t n = self.trees.size(), i, j, swap
        cdef int32_t best, drawn
        cdef vector[const Node*] parents
        if n < 2:
            return 0
        if n_parents > n:
            n_parents = n
        if n_parents * tournament_size > n:
            tournament_size = n // n_parents
        s.choice.resize(n)
        for i in range(n):
            s.choice[i] = <int32_t>i
        for i in range(n_parents):
            best = -1
            for j in range(i * tournament_size, (i + 1) * tournament_size):
                swap = j + draw_below(n - j, state)
                drawn = s.choice[swap]
                s.choice[swap] = s.choice[j]
                s.choice[j] = drawn
                if best < 0 or drawn < best:
                    best = drawn
            parents.push_back(self.trees[best].nodes.data())
        if self.merge(s, parents.data(), n_parents, order, state, deadline):
            return 1
        self.deliver(s, brood)
        return 0

    cdef int settle(
        self, Scratch* s, Brood brood, double deadline, const Tree* parent=NULL
    ) except -1 nogil:
        """Clean the tree in ``s.draft``, maybe a mutant of `parent`, and put it into the brood."""
        cdef const Node* nodes = s.draft.data()
        if parent != NULL and parent.marks.size() == 0:
            parent = NULL
        if self.merge(s, &nodes, 1, ORDER_FIRST, NULL, deadline, parent):
            return 1
        self.deliver(s, brood)
        return 0

    def found(self, list trees, *, intp_t scratch=0, double seconds=NEVER):
        """Clean, label and prune trees that come from outside.

        Parameters
        ----------
        trees : list of int32 arrays of shape (n_nodes, 3)
        scratch : int
            Number of the calling thread.
        seconds : float
            Stop after so many seconds.

        Returns
        -------
        brood : Brood
        """
        cdef Brood brood = Brood()
        cdef Scratch* s = &self.scratch[scratch]
        cdef double deadline = now() + seconds
        cdef const int32_t[:, ::1] nodes
        for nodes in trees:
            with nogil:
                array_to_nodes(nodes, s.draft)
                if self.settle(s, brood, deadline):
                    brood.stopped = True
            if brood.stopped:
                break
        return brood

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
        intp_t scratch=0,
        double seconds=NEVER,
    ):
        """Make the children `start` to `stop` of one generation; the population stays as it is.

        Children 0 to `n_crossovers` are merged from the winners of disjoint tournaments, child
        ``n_crossovers + i`` is the pair of mutants of tree i, made with `mutation_prob`. The
        random numbers of a child depend on `seed`, `generation` and its number alone.
        """
        cdef Brood brood = Brood()
        cdef Scratch* s = &self.scratch[scratch]
        cdef double deadline = now() + seconds
        cdef intp_t child, i
        cdef uint64_t state
        cdef int how = ORDER_GAIN if order == "gain" else ORDER_RANDOM
        with nogil:
            for child in range(start, stop):
                state = stream(seed, generation, child)
                if child < n_crossovers:
                    if self.cross(s, brood, n_parents, tournament_size, how, &state, deadline):
                        brood.stopped = True
                        break
                    continue
                i = child - n_crossovers
                if i >= <intp_t>self.trees.size() or draw_uniform(&state) >= mutation_prob:
                    continue
                if self.move_threshold(s, self.trees[i], &state):
                    if self.settle(s, brood, deadline, &self.trees[i]):
                        brood.stopped = True
                        break
                if self.swap_subtrees(s, self.trees[i], &state):
                    if self.settle(s, brood, deadline, &self.trees[i]):
                        brood.stopped = True
                        break
        return brood

    def absorb(self, list broods, *, intp_t size):
        """Add broods in the given order, keep the best `size` trees, and update the front.

        The broods are used up.
        """
        cdef Brood brood
        cdef intp_t i, j
        cdef vector[Rank] ranks
        cdef vector[uint64_t] behaviours
        cdef vector[Tree] survivors
        cdef bint seen
        for brood in broods:
            with nogil:
                for i in range(<intp_t>brood.trees.size()):
                    if brood.trees[i].score > self.score_at(brood.trees[i].n_leaves):
                        self.front.push_back(brood.trees[i])
                    if not brood.trees[i].front_only:
                        self.trees.push_back(move(brood.trees[i]))
                brood.trees.clear()
        with nogil:
            self.keep_front()
            rank(self.trees, ranks)
            sort(ranks.begin(), ranks.end(), &fitter)
            for i in range(<intp_t>ranks.size()):
                if <intp_t>survivors.size() == size:
                    break
                seen = False
                for j in range(<intp_t>behaviours.size()):
                    if behaviours[j] == ranks[i].behaviour:
                        seen = True
                        break
                if not seen:
                    behaviours.push_back(ranks[i].behaviour)
                    survivors.push_back(move(self.trees[ranks[i].position]))
            self.trees.swap(survivors)

    cdef void keep_front(self) noexcept nogil:
        """Keep the trees that no smaller one equals, by rising size, and index their scores."""
        cdef intp_t i
        cdef vector[Rank] ranks
        cdef vector[Tree] kept
        cdef double best = -NEVER
        rank(self.front, ranks)
        sort(ranks.begin(), ranks.end(), &smaller)
        for i in range(<intp_t>ranks.size()):
            if ranks[i].score > best:
                best = ranks[i].score
                kept.push_back(move(self.front[ranks[i].position]))
        self.front.swap(kept)
        self.front_score.clear()
        for i in range(<intp_t>self.front.size()):
            while <intp_t>self.front_score.size() < self.front[i].n_leaves:
                self.front_score.push_back(
                    self.front_score.back() if self.front_score.size() else -NEVER
                )
            self.front_score.push_back(self.front[i].score)

    # ----------------------------------------------------------------- looking

    def __len__(self):
        return self.trees.size()

    @property
    def n_front(self):
        """Number of trees in the front."""
        return self.front.size()

    def describe(self, str where="trees"):
        """Scores (float64) and numbers of leaves (intp) of the population or the ``"front"``."""
        cdef vector[Tree]* group = &self.front if where == "front" else &self.trees
        cdef intp_t i
        score = np.empty(group.size(), dtype=np.float64)
        n_leaves = np.empty(group.size(), dtype=np.intp)
        for i in range(<intp_t>group.size()):
            score[i] = group[0][i].score
            n_leaves[i] = group[0][i].n_leaves
        return score, n_leaves

    def nodes(self, intp_t i, str where="trees"):
        """Tree `i` of the population or the ``"front"`` as an int32 array of shape (n_nodes, 3)."""
        cdef vector[Tree]* group = &self.front if where == "front" else &self.trees
        if not 0 <= i < <intp_t>group.size():
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
        cdef Scratch* s = &self.scratch[0]
        cdef const Node* nodes
        with nogil:
            array_to_nodes(tree, s.draft)
            nodes = s.draft.data()
            self.merge(s, &nodes, 1, ORDER_FIRST, NULL, NEVER)
        return self.counted(s)

    def label_front(self, intp_t i, *, bint validation):
        """Tree `i` of the front, what its leaves hold, and its labels by all rows.

        Parameters
        ----------
        i : int
        validation : bool
            Whether the validation rows count as training rows, and label.

        Returns
        -------
        nodes, n_rows, weights
            As of :meth:`label_tree`; with `validation` no row is left for validation.
        """
        if not 0 <= i < <intp_t>self.front.size():
            raise IndexError(i)
        cdef Scratch* s = &self.scratch[0]
        cdef const Tree* tree = &self.front[i]
        cdef const Node* nodes = tree.nodes.data()
        cdef Tree joined
        cdef intp_t node, leaf = 0, c, k = self.n_classes
        with nogil:
            # Answers that are alike by the training rows need not be so by all rows.
            s.keep_alike = validation
            if tree.marks.size():
                self.truncate(s, 0)
                self.copy_known(s, tree, 0)
            else:
                self.merge(s, &nodes, 1, ORDER_FIRST, NULL, NEVER)
            s.keep_alike = False
            if validation:
                joined.nodes = s.out
                for node in range(<intp_t>s.out.size()):
                    if s.out[node].axis >= 0:
                        continue
                    for c in range(k):
                        joined.counts.push_back(
                            s.counts[node * 2 * k + c] + s.counts[node * 2 * k + k + c]
                        )
                    joined.counts.resize(joined.counts.size() + k)
                    joined.n_rows.push_back(s.n_rows[2 * node] + s.n_rows[2 * node + 1])
                    joined.n_rows.push_back(0)
                    joined.marks.push_back(s.marks[node])
                    joined.nodes[node].cut = self.heaviest(&joined.counts[leaf * 2 * k])
                    leaf += 1
                self.truncate(s, 0)
                self.copy_known(s, &joined, 0)
        return self.counted(s)

    cdef tuple counted(self, Scratch* s):
        """What is in ``s.out`` as arrays."""
        cdef intp_t i, c
        n_rows = np.empty((s.out.size(), 2), dtype=np.intp)
        weights = np.empty((s.out.size(), 2 * self.n_classes), dtype=np.float64)
        cdef intp_t[:, ::1] n_rows_view = n_rows
        cdef float64_t[:, ::1] weights_view = weights
        for i in range(<intp_t>s.out.size()):
            n_rows_view[i, 0] = s.n_rows[2 * i]
            n_rows_view[i, 1] = s.n_rows[2 * i + 1]
            for c in range(2 * self.n_classes):
                weights_view[i, c] = s.counts[i * 2 * self.n_classes + c]
        return nodes_to_array(s.out), n_rows, weights

    def apply(self, const int32_t[:, ::1] tree, *, bint validation=True):
        """Leaf (position in `tree`) of every validation or training row, as an intp array."""
        cdef intp_t row, first = self.n_train if validation else 0
        cdef intp_t n = self.n_val if validation else self.n_train
        cdef vector[Node] nodes
        leaf = np.empty(n, dtype=np.intp)
        cdef intp_t[::1] view = leaf
        with nogil:
            array_to_nodes(tree, nodes)
            for row in range(n):
                view[row] = self.leaf_at(nodes.data(), self.place[first + row])
        return leaf
