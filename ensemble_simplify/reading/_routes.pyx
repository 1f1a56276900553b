"""Rows on their ways through trees: the leaf in which each row ends.

Tree by tree, whose nodes are packed so that a step reads one of them and stays in the cache.
"""

from libc.math cimport expf
from libcpp.vector cimport vector

from ensemble_simplify.grid._limits cimport stop_if_late
from ensemble_simplify._typedefs cimport (
    float32_t, float64_t, int32_t, intp_t, uint8_t,
)

# Steps between two looks at the clock, at most.
cdef intp_t POLL = 1 << 20


ctypedef fused number_t:
    float32_t
    float64_t


cdef struct Packed:
    float64_t threshold     # where a set is tested: the number of the set
    int32_t left            # within its tree; -1 in leaves
    int32_t right
    int32_t feature
    uint8_t missing_left
    uint8_t has_set


cdef void pack(
    const intp_t[::1] left, const intp_t[::1] right, const intp_t[::1] feature,
    const float64_t[::1] threshold, const uint8_t[::1] missing_left, bint has_missing,
    const intp_t[::1] which, bint has_sets, intp_t first, intp_t last, Packed *nodes,
) noexcept nogil:
    """The nodes of one tree."""
    cdef intp_t h
    for h in range(first, last):
        nodes[h - first].left = <int32_t>(left[h] - first) if left[h] >= 0 else -1
        nodes[h - first].right = <int32_t>(right[h] - first) if left[h] >= 0 else -1
        nodes[h - first].feature = <int32_t>feature[h]
        nodes[h - first].threshold = threshold[h]
        nodes[h - first].missing_left = has_missing and missing_left[h]
        nodes[h - first].has_set = has_sets and which[h] >= 0
        if nodes[h - first].has_set:
            nodes[h - first].threshold = <float64_t>which[h]


cdef inline bint is_in(
    const uint8_t[::1] goes_left, intp_t begin, intp_t last, float64_t code
) noexcept nogil:
    """Whether a set, which stands from begin to last, sends a code left; the last is of all beyond.

    A number between two codes goes with the nearer one, as with thresholds halfway between codes.
    """
    if code > last - begin - 0.5:
        return goes_left[last]
    return goes_left[begin + <intp_t>(code + 0.5) if code > 0.0 else begin]


def route(
    const number_t[:, ::1] X,
    const intp_t[::1] offsets,
    const intp_t[::1] left,
    const intp_t[::1] right,
    const intp_t[::1] feature,
    const float64_t[::1] threshold,
    const uint8_t[::1] missing_left,   # None: missing values go right
    const intp_t[::1] which,           # as of `CodeSets`; None: no node tests a set
    const intp_t[::1] first_code,
    const uint8_t[::1] goes_left,
    int32_t[:, ::1] leaves,            # OUT (n_trees, n_rows), numbered over the forest
):
    """Send rows, missing values NaN, through all trees; raises `Stopped` at the limit of time."""
    cdef intp_t n_rows = X.shape[0], n_trees = offsets.shape[0] - 1, t, i, steps = 0
    cdef bint has_missing = missing_left is not None, has_sets = which is not None
    cdef bint to_left
    cdef int32_t at
    cdef intp_t number
    cdef number_t x
    cdef vector[Packed] nodes
    cdef Packed *node
    with nogil:
        for t in range(n_trees):
            nodes.resize(offsets[t + 1] - offsets[t])
            pack(
                left, right, feature, threshold, missing_left, has_missing, which, has_sets,
                offsets[t], offsets[t + 1], nodes.data(),
            )
            for i in range(n_rows):
                at = 0
                node = nodes.data()
                while node.left >= 0:
                    x = X[i, node.feature]
                    if x != x:
                        to_left = node.missing_left
                    elif node.has_set:
                        number = <intp_t>node.threshold
                        to_left = is_in(
                            goes_left, first_code[number], first_code[number + 1] - 1, x
                        )
                    else:
                        to_left = x <= node.threshold
                    at = node.left if to_left else node.right
                    node = nodes.data() + at
                    steps += 1
                leaves[t, i] = <int32_t>offsets[t] + at
                if steps >= POLL:
                    steps = 0
                    stop_if_late()


def exponentials(
    const float32_t[::1] x,
    # OUT
    float32_t[::1] powers,
):
    """Exponentials of float32 by the C library, as XGBoost has them; NumPy's are others."""
    cdef intp_t i
    with nogil:
        for i in range(x.shape[0]):
            powers[i] = expf(x[i])
