"""Trees over axes, and what is left of them inside a region; see `_regions.pyx`."""

from libcpp.vector cimport vector

from ensemble_simplify._typedefs cimport int32_t, intp_t


cdef struct Node:
    # Nodes stand in pre-order: the left child of a split is the node after it.
    int32_t axis        # -1 in leaves
    # A cell goes left iff its index on the axis is at most this; in a leaf, a number, whose meaning
    # is the owner's.
    int32_t cut
    int32_t size        # nodes of the subtree, this one counted


cdef inline int32_t right_child(const Node *nodes, int32_t at) noexcept nogil:
    return at + 1 + nodes[at + 1].size


cdef inline int32_t restrict_root(
    const Node *nodes, int32_t at, const int32_t *lo, const int32_t *hi
) noexcept nogil:
    """The first node at or below `at` that cuts the region lo..hi, or the leaf it lies in."""
    cdef int32_t axis, cut
    while nodes[at].axis >= 0:
        axis = nodes[at].axis
        cut = nodes[at].cut
        if hi[axis] <= cut:
            at += 1
        elif lo[axis] > cut:
            at = right_child(nodes, at)
        else:
            break
    return at


# Fill `size` of pre-order nodes whose axes are right.
cdef void set_sizes(vector[Node] &nodes) noexcept nogil
# Numbers that stand one after the other, as an int32 array of shape (n, width).
cdef object rows_of(const int32_t *numbers, intp_t n, intp_t width)
# To and from int32 arrays of shape (n_nodes, 3).
cdef object nodes_to_array(const vector[Node] &nodes)
cdef void array_to_nodes(const int32_t[:, ::1] array, vector[Node] &nodes) noexcept nogil
