"""Trees grown top-down on rows that an ensemble has voted on.

The rows stand in the order of their codes on every axis, and a split divides all these orders
without disturbing them, so that a node is one slice of each. A walk along a slice meets every
test that the rows can tell apart.
"""

import numpy as np

from libc.string cimport memcpy
from libcpp.vector cimport vector

from ensemble_simplify.grid._regions cimport Node, nodes_to_array, set_sizes
from ensemble_simplify.grid._sweep cimport heaviest, impurity, is_better
from ensemble_simplify._typedefs cimport float64_t, int32_t, intp_t
from ensemble_simplify.grid._limits cimport should_stop

# Poll for Ctrl-C and the limit of time after so many rows looked at.
cdef intp_t WORK_PER_POLL = 1 << 17


cdef struct OpenNode:
    # A node to be made: its rows are the places begin .. end - 1 of every order.
    intp_t begin
    intp_t end
    intp_t depth


cdef struct Test:
    double gain
    int32_t axis
    int32_t cut


cdef void scan_axis(
    const int32_t *code,
    const int32_t *order,
    const double *votes,
    const double *whole,
    intp_t n,
    intp_t k,
    intp_t least,       # rows on both sides
    int32_t axis,
    double before,
    double *left,       # scratch, 2 * k
    Test *best,         # OUT: replaced by a better test of this axis
) noexcept nogil:
    cdef intp_t i, c
    cdef int32_t here, above
    cdef double gain
    cdef double *right = left + k
    for c in range(k):
        left[c] = 0.0
    for i in range(n - 1):
        for c in range(k):
            left[c] += votes[order[i] * k + c]
        here, above = code[order[i]], code[order[i + 1]]
        if here == above or i + 1 < least or n - i - 1 < least:
            continue
        for c in range(k):
            # rounding must not leave a negative weight
            right[c] = max(whole[c] - left[c], 0.0)
        gain = before - impurity(left, k, True) - impurity(right, k, True)
        if is_better(gain, best.gain, 1.0 + before):
            best.gain = gain
            best.axis = axis
            # between two neighbouring rows, the middle one of the ensemble's tests
            best.cut = here + (above - here) // 2


cdef intp_t divide(
    const int32_t *code,
    Test test,
    intp_t n_rows,
    intp_t n_axes,
    OpenNode current,
    int32_t *orders,    # OUT: every slice, rows that go left first
    char *goes_left,    # scratch, n_rows
    int32_t *right,     # scratch, n_rows
) noexcept nogil:
    """Divide the orders of a node; where its right rows begin."""
    cdef intp_t axis, i, n_left = 0, n_right
    cdef int32_t row
    cdef int32_t *order
    # Every axis has its own order of the same rows: which go left is noted once, by row.
    for i in range(current.begin, current.end):
        row = orders[i]
        goes_left[row] = code[test.axis * n_rows + row] <= test.cut
    for axis in range(n_axes):
        order = orders + axis * n_rows
        n_left = n_right = 0
        for i in range(current.begin, current.end):
            row = order[i]
            # Both sides keep the order of the axis, so that nothing is ever sorted again.
            if goes_left[row]:
                order[current.begin + n_left] = row
                n_left += 1
            else:
                right[n_right] = row
                n_right += 1
        memcpy(order + current.begin + n_left, right, n_right * sizeof(int32_t))
    return current.begin + n_left


def grow(
    const int32_t[:, ::1] codes,
    const float64_t[:, ::1] votes,
    *,
    intp_t max_depth,
    intp_t min_samples_split,
    intp_t min_samples_leaf,
):
    """Grow a tree on rows with weighted class distributions, no further after the limit of time.

    `codes` are of shape (n_axes, n_rows); with a negative `max_depth` there is no limit.

    Returns
    -------
    nodes : int32 array of shape (n_nodes, 3)
        The tree over axes; the number of a leaf is its first heaviest class.
    weights : float64 array of shape (n_nodes, n_classes)
        Sum of the votes of the rows in every node.
    n_rows : intp array of shape (n_nodes,)
    stopped : bool
        Whether time was over.
    """
    cdef intp_t n_axes = codes.shape[0], n = codes.shape[1], k = votes.shape[1]
    cdef intp_t i, c, middle, n_here, work = 0
    cdef int32_t axis
    cdef double before
    cdef bint stopped = False, one_label
    cdef int32_t[:, ::1] orders = np.argsort(codes, axis=1, kind="stable").astype(np.int32)
    cdef int32_t[::1] label = np.argmax(votes, axis=1).astype(np.int32)
    cdef int32_t *order = &orders[0, 0]
    cdef const int32_t *code = &codes[0, 0]
    cdef const double *vote = &votes[0, 0]
    cdef vector[Node] nodes
    cdef vector[double] weights, whole, sides
    cdef vector[intp_t] sizes
    cdef vector[OpenNode] stack
    cdef vector[char] goes_left
    cdef vector[int32_t] right
    cdef OpenNode current, child
    cdef Test test
    cdef Node node
    with nogil:
        goes_left.resize(n)
        right.resize(n)
        whole.resize(k)
        sides.resize(2 * k)
        current.begin, current.end, current.depth = 0, n, 0
        stack.push_back(current)
        while stack.size():
            current = stack.back()
            stack.pop_back()
            whole.assign(k, 0.0)
            one_label = True
            n_here = current.end - current.begin
            for i in range(current.begin, current.end):
                for c in range(k):
                    whole[c] += vote[order[i] * k + c]
                one_label = one_label and label[order[i]] == label[order[current.begin]]
            test.axis, test.cut = -1, 0
            if not (
                stopped or one_label or current.depth == max_depth
                or n_here < max(min_samples_split, 2 * min_samples_leaf)
            ):
                before = impurity(whole.data(), k, True)
                test.gain = 0.0
                for axis in range(<int32_t> n_axes):
                    scan_axis(
                        code + axis * n, order + axis * n + current.begin, vote, whole.data(),
                        n_here, k, min_samples_leaf, axis, before, sides.data(), &test,
                    )
                # What is open when the time is over becomes a leaf.
                work += n_axes * n_here
                if work > WORK_PER_POLL:
                    work = 0
                    stopped = should_stop()
            node.axis = test.axis
            node.cut = heaviest(whole.data(), k) if test.axis < 0 else test.cut
            node.size = 1
            nodes.push_back(node)
            weights.insert(weights.end(), whole.begin(), whole.end())
            sizes.push_back(n_here)
            if test.axis < 0:
                continue
            middle = divide(
                code, test, n, n_axes, current, order, goes_left.data(), right.data()
            )
            child.depth = current.depth + 1
            # The left child is on top, so that nodes come in pre-order.
            child.begin, child.end = middle, current.end
            stack.push_back(child)
            child.begin, child.end = current.begin, middle
            stack.push_back(child)
        set_sizes(nodes)
    out_weights = np.empty((nodes.size(), k))
    out_rows = np.empty(nodes.size(), dtype=np.intp)
    cdef float64_t[:, ::1] weights_view = out_weights
    cdef intp_t[::1] rows_view = out_rows
    for i in range(<intp_t> nodes.size()):
        rows_view[i] = sizes[i]
        for c in range(k):
            weights_view[i, c] = weights[i * k + c]
    return nodes_to_array(nodes), out_weights, out_rows, bool(stopped)
