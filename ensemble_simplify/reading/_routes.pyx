"""Rows on their ways through trees: the leaf in which each row ends.

Tree by tree, whose nodes are packed so that a step reads one of them and stays in the cache.
"""

from libcpp.vector cimport vector

from ensemble_simplify.grid._limits cimport should_stop
from ensemble_simplify._typedefs cimport (
    float32_t, float64_t, int32_t, intp_t, uint8_t,
)

# Steps between two looks at the clock, at most.
cdef intp_t POLL = 1 << 20


ctypedef fused number_t:
    float32_t
    float64_t


cdef struct Packed:
    float64_t threshold
    int32_t left            # within its tree; -1 in leaves
    int32_t right
    int32_t feature
    bint missing_left


cdef void pack(
    const intp_t[::1] left, const intp_t[::1] right, const intp_t[::1] feature,
    const float64_t[::1] threshold, const uint8_t[::1] missing_left, bint has_missing,
    intp_t first, intp_t last, Packed *nodes,
) noexcept nogil:
    """The nodes of one tree."""
    cdef intp_t h
    for h in range(first, last):
        nodes[h - first].left = <int32_t>(left[h] - first) if left[h] >= 0 else -1
        nodes[h - first].right = <int32_t>(right[h] - first) if left[h] >= 0 else -1
        nodes[h - first].feature = <int32_t>feature[h]
        nodes[h - first].threshold = threshold[h]
        nodes[h - first].missing_left = has_missing and missing_left[h]


def route(
    const number_t[:, ::1] X,
    const intp_t[::1] offsets,
    const intp_t[::1] left,
    const intp_t[::1] right,
    const intp_t[::1] feature,
    const float64_t[::1] threshold,
    const uint8_t[::1] missing_left,   # None: missing values go right
    int32_t[:, ::1] leaves,            # OUT (n_trees, n_rows), numbered over the forest
):
    """Send rows, whose missing values are NaN, through all trees; whether all got there in time."""
    cdef intp_t n_rows = X.shape[0], n_trees = offsets.shape[0] - 1, t, i, steps = 0
    cdef bint has_missing = missing_left is not None, late = False
    cdef int32_t at
    cdef number_t x
    cdef vector[Packed] nodes
    cdef Packed *node
    with nogil:
        for t in range(n_trees):
            nodes.resize(offsets[t + 1] - offsets[t])
            pack(
                left, right, feature, threshold, missing_left, has_missing, offsets[t],
                offsets[t + 1], nodes.data(),
            )
            for i in range(n_rows):
                at = 0
                node = nodes.data()
                while node.left >= 0:
                    x = X[i, node.feature]
                    # no comparison with a missing value is true
                    if x <= node.threshold or (x != x and node.missing_left):
                        at = node.left
                    else:
                        at = node.right
                    node = nodes.data() + at
                    steps += 1
                leaves[t, i] = <int32_t>offsets[t] + at
                if steps >= POLL:
                    steps = 0
                    late = should_stop()
                    if late:
                        break
            if late:
                break
    return not late
