"""The nodes of a tree that a root reaches, in pre-order."""

from libcpp.vector cimport vector

from ensemble_simplify._typedefs cimport intp_t, uint8_t


def reach(
    const intp_t[::1] left,   # negative in leaves
    const intp_t[::1] right,
    intp_t root,
    intp_t[::1] order,        # OUT (n_nodes,), the first n are used
):
    """How many nodes were reached, and the one that was reached for the second time, or -1."""
    cdef vector[intp_t] stack
    cdef vector[uint8_t] seen
    cdef intp_t node, n = 0, again = -1
    with nogil:
        seen.assign(left.shape[0], 0)
        stack.push_back(root)
        while stack.size():
            node = stack.back()
            stack.pop_back()
            if seen[node]:
                again = node
                break
            seen[node] = 1
            order[n] = node
            n += 1
            if left[node] >= 0:
                stack.push_back(right[node])
                stack.push_back(left[node])
    return n, again
