"""Training and validation rows as bitsets, and how a split divides them.

Rows are known by their codes on the axes, 64 of them to a word. The rows of a node are a list of
words of which only the non-zero ones are stored: a node of r rows costs at most r words, and 64
rows of a large node cost one. `RowBits` holds what all threads read, a `Splitter` what one of them
needs to divide the rows of nodes.
"""

cimport cython
from libc.string cimport memcpy
from libcpp.vector cimport vector

from ensemble_simplify.grid._regions cimport Node, right_child
from ensemble_simplify._typedefs cimport (
    float64_t, int32_t, int64_t, intp_t, popcount, scramble, uint32_t, uint64_t,
)
from ensemble_simplify.genesim.population._trees cimport AxisCut

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

# Up to so many rows of a word are looked up one by one.
cdef int FEW_BITS = 4


@cython.final
cdef class RowBits:
    """Training and validation rows: codes of shape (n_axes, n_rows), labels and weights.

    Codes run from 0 to `n_cuts` of the axis; trees are scored against the validation labels.
    """

    def __init__(
        self,
        const int32_t[:, ::1] train_codes,
        const int32_t[::1] train_label,
        const float64_t[::1] train_weight,
        const int32_t[:, ::1] val_codes,
        const int32_t[::1] val_label,
        const float64_t[::1] val_weight,
        const int32_t[::1] n_cuts,
        *,
        intp_t n_classes,
    ):
        cdef intp_t i, axis, place
        self.n_axes = train_codes.shape[0]
        self.n_classes = n_classes
        self.n_train = train_codes.shape[1]
        self.n_val = val_codes.shape[1]
        self.n_train_words = (self.n_train + 63) // 64
        self.n_words = self.n_train_words + (self.n_val + 63) // 64
        with nogil:
            self.codes.resize(self.n_axes * self.n_words * 64)
            self.rows.resize(self.n_words * 64)
            self.place.resize(self.n_train + self.n_val)
            self.everything.resize(self.n_words)
            place = 0
            for i in range(self.n_train + self.n_val):
                if i == self.n_train:
                    place = self.n_train_words * 64
                self.everything[place >> 6] |= (<uint64_t> 1) << (place & 63)
                self.place[i] = <int32_t> place
                self.rows[place].mark = scramble(<uint64_t> place + <uint64_t> 0x632be59bd9b4e019)
                if i < self.n_train:
                    self.rows[place].label = train_label[i]
                    self.rows[place].weight = train_weight[i]
                else:
                    self.rows[place].label = val_label[i - self.n_train]
                    self.rows[place].weight = val_weight[i - self.n_train]
                place += 1
            for axis in range(self.n_axes):
                place = axis * self.n_words * 64
                for i in range(self.n_train):
                    self.codes[place + i] = train_codes[axis, i]
                place += self.n_train_words * 64
                for i in range(self.n_val):
                    self.codes[place + i] = val_codes[axis, i]
                self.n_cuts.push_back(n_cuts[axis])

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

    cdef void sort(self, const vector[Node] &nodes) noexcept nogil:
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
