"""What the kernels share that sweep a sorted column for the best split.

A column is sorted as 64-bit **keys**, the float32 value in the upper half and the place of the row
in the lower one, so that rows of one value keep their order whatever sorts them. A sweep moves row
after row to the left side and rates the **cut** between two different values. Rounding must not
choose between cuts: a gain counts only if it is larger by more than that, and the first cut wins.
"""

from libc.math cimport log2
from libc.string cimport memcpy
from libcpp.algorithm cimport sort
from libcpp.vector cimport vector

from ensemble_simplify._typedefs cimport float32_t, int32_t, intp_t, uint32_t, uint64_t

cdef extern from *:
    """
    #define ES_TIE 1e-12
    """
    # Gains, impurities or weights closer than this are equal.
    const double TIE "ES_TIE"

cdef enum:
    SHORT_COLUMN = 200          # keys; fewer are sorted by comparing

ctypedef fused real:
    float
    double


cdef inline bint is_better(double gain, double best, double scale) noexcept nogil:
    """Whether a gain is larger than the best by more than rounding of numbers of a scale."""
    return gain > best + TIE * scale


# --------------------------------------------------------------------- keys

cdef inline uint64_t key_of(float32_t x, intp_t place) noexcept nogil:
    """A number that sorts like x, then place."""
    cdef uint32_t bits
    x += <float32_t>0.0  # -0.0 and 0.0 are one value
    memcpy(&bits, &x, sizeof(uint32_t))
    bits = ~bits if bits >> 31 else bits | <uint32_t>0x80000000
    return (<uint64_t>bits << 32) | <uint32_t>place


cdef inline intp_t place_of(uint64_t key) noexcept nogil:
    return <uint32_t>key


cdef inline float32_t value_of(uint64_t key) noexcept nogil:
    cdef uint32_t bits = key >> 32
    cdef float32_t x
    bits = bits & <uint32_t>0x7FFFFFFF if bits >> 31 else ~bits
    memcpy(&x, &bits, sizeof(uint32_t))
    return x


cdef inline bint same_value(uint64_t a, uint64_t b) noexcept nogil:
    return a >> 32 == b >> 32


cdef inline double middle(uint64_t a, uint64_t b) noexcept nogil:
    """The threshold of the cut between two values."""
    return (<double>value_of(a) + <double>value_of(b)) / 2.0


cdef inline void sort_keys(
    vector[uint64_t] &keys,     # places ascending
    vector[uint64_t] &spare,    # scratch, as many
    intp_t n_values,            # the upper halves are below this
) noexcept nogil:
    """Byte by byte, from the lowest of the upper half; by comparing where that is quicker."""
    cdef intp_t n = keys.size(), shift = 32, i, b, count, total
    cdef intp_t[256] first
    if n < SHORT_COLUMN:
        sort(keys.begin(), keys.end())
        return
    while n_values > 1:
        for b in range(256):
            first[b] = 0
        for i in range(n):
            first[(keys[i] >> shift) & 255] += 1
        if first[(keys[0] >> shift) & 255] < n:
            total = 0
            for b in range(256):
                count = first[b]
                first[b] = total
                total += count
            for i in range(n):
                b = (keys[i] >> shift) & 255
                spare[first[b]] = keys[i]
                first[b] += 1
            keys.swap(spare)
        shift += 8
        n_values = (n_values + 255) >> 8


cdef inline void sort_column(
    const real *column,         # of all rows; the next row's value is `stride` further on
    intp_t stride,
    const intp_t *rows,         # of the node, in any order; NULL: the first ones
    intp_t n_rows,
    vector[uint64_t] &keys,     # OUT: a row's place is that in `rows`
    vector[uint64_t] &spare,    # scratch
) noexcept nogil:
    cdef intp_t i
    keys.resize(n_rows)
    spare.resize(n_rows)
    for i in range(n_rows):
        keys[i] = key_of(<float32_t>column[(i if rows == NULL else rows[i]) * stride], i)
    sort_keys(keys, spare, (<intp_t>1) << 32)


# --------------------------------------------------------------------- impurity

cdef inline double gini(double squares, double total) noexcept nogil:
    """Gini impurity times weight, from the sum of the squared class weights."""
    return total - squares / total if total > 0.0 else 0.0


cdef inline double impurity(const double *weights, intp_t k, bint entropy) noexcept nogil:
    """Entropy or Gini impurity of class weights, times weight."""
    cdef intp_t c
    cdef double total = 0.0, value = 0.0
    for c in range(k):
        total += weights[c]
    if total <= 0.0:
        return 0.0
    for c in range(k):
        if not entropy:
            value += weights[c] * weights[c]
        elif weights[c] > 0.0:
            value -= weights[c] * log2(weights[c] / total)
    return value if entropy else gini(value, total)


cdef inline int32_t heaviest(const double *weights, intp_t n_classes) noexcept nogil:
    """The first class of the largest weight."""
    cdef intp_t c
    cdef int32_t label = 0
    for c in range(1, n_classes):
        if weights[c] > weights[label]:
            label = <int32_t> c
    return label
