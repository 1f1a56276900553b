"""The nodes of trees that their roots reach, in pre-order, and whether nodes stand in it."""

from libcpp.vector cimport vector

from ensemble_simplify._typedefs cimport intp_t, uint8_t


def reach(
    const intp_t[::1] left,   # negative in leaves
    const intp_t[::1] right,
    const intp_t[::1] roots,
    intp_t[::1] order,        # OUT (n_nodes,), the first n are used
):
    """How many nodes were reached, and the one that was reached for the second time, or -1."""
    cdef vector[intp_t] stack
    cdef vector[uint8_t] seen
    cdef intp_t i, node, n = 0, again = -1
    with nogil:
        seen.assign(left.shape[0], 0)
        # the first root is on top
        for i in range(roots.shape[0] - 1, -1, -1):
            stack.push_back(roots[i])
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


def depths_in_order(
    const intp_t[::1] left,   # negative in leaves
    const intp_t[::1] right,
    intp_t[::1] depth,        # OUT (n_nodes,)
):
    """The first node that does not stand where it is in pre-order, and the one that should; or -1.

    In place of the one that should, -1: the root reaches none there. The node after the last one
    does not stand where a node is still to come.
    """
    cdef vector[intp_t] stack, depths
    cdef intp_t node, below
    stack.push_back(0)
    depths.push_back(0)
    for node in range(left.shape[0]):
        if stack.empty() or stack.back() != node:
            return node, -1 if stack.empty() else stack.back()
        depth[node] = depths.back()
        stack.pop_back()
        depths.pop_back()
        if left[node] >= 0:
            below = depth[node] + 1
            stack.push_back(right[node])
            stack.push_back(left[node])
            depths.push_back(below)
            depths.push_back(below)
    if stack.empty():
        return -1, -1
    return left.shape[0], stack.back()
