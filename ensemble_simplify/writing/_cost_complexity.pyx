"""Weakest-link pruning: the sequence of trees that are best as leaves become dearer.

Every node has a cost, what it would cost as a leaf. With a price a leaf, the best pruning of a
branch costs ``min(cost + price, best of the left child + best of the right child)``. As a function
of the price, the sum of the children's is concave and piecewise linear, its slope the number of
leaves, and its breakpoints are the prices at which the splits below go; from the *critical price*
of the node on, where the line ``cost + price`` undercuts it, the node is a leaf. The breakpoints
wait in a mergeable heap, dearest first: those beyond the node's own price never come, and each
leaves its heap once, so that all nodes take O(n log n), however deep the tree is.

Trees are those of `grid/_regions`: nodes in pre-order, of which only the sizes are read.
"""

import numpy as np

from libc.math cimport INFINITY, fabs
from libcpp.algorithm cimport sort
from libcpp.utility cimport pair
from libcpp.vector cimport vector

from ensemble_simplify.grid._regions cimport Node, right_child
from ensemble_simplify._typedefs cimport float64_t, int32_t, intp_t

# Prices that differ less than this, relative to the cost of the root, are one.
cdef double SLACK = 1e-13
# The same where the root costs nothing.
cdef double TINY = 2.2250738585072014e-308


# --------------------------------------------------------------------- heaps of splits

cdef struct HeapSplit:
    # A node of a leftist heap: the way to the right is the shortest, so merging takes O(log n).
    double price            # critical price: dearest on top
    double saved            # what the pruning adds to the cost
    int32_t left            # heaps below, -1: none
    int32_t right
    int32_t rank            # length of the way to the right
    int32_t lost            # leaves that the pruning saves


cdef int32_t merged(vector[HeapSplit] &splits, int32_t a, int32_t b) noexcept nogil:
    """The heap that holds the splits of two heaps."""
    cdef HeapSplit *top
    if a < 0 or b < 0:
        return b if a < 0 else a
    if splits[a].price < splits[b].price:
        a, b = b, a
    top = &splits[a]
    top.right = merged(splits, top.right, b)
    if top.left < 0 or splits[top.left].rank < splits[top.right].rank:
        top.left, top.right = top.right, top.left
    top.rank = 1 if top.right < 0 else splits[top.right].rank + 1
    return a


# --------------------------------------------------------------------- critical prices

cdef void critical_prices(
    const Node *nodes, intp_t n_nodes, const float64_t *cost, vector[double] &price
) noexcept nogil:
    """The price of a leaf from which on every node is no split: its own, or that of one above."""
    cdef vector[HeapSplit] splits
    cdef vector[int32_t] heaps      # of the branch below every node
    cdef intp_t i
    cdef int32_t a, b, top, right, n_leaves
    cdef double below
    splits.resize(n_nodes)
    heaps.assign(n_nodes, -1)
    price.assign(n_nodes, -INFINITY)
    for i in range(n_nodes - 1, -1, -1):
        if nodes[i].size == 1:
            continue
        right = right_child(nodes, <int32_t> i)
        below = cost[i + 1] + cost[right]
        n_leaves = 2
        top = merged(splits, heaps[i + 1], heaps[right])
        while True:
            price[i] = (cost[i] - below) / (n_leaves - 1)
            if top < 0 or splits[top].price < price[i]:
                break
            below -= splits[top].saved
            n_leaves += splits[top].lost
            a, b = splits[top].left, splits[top].right
            top = merged(splits, a, b)
        splits[i].price = price[i]
        splits[i].saved = cost[i] - below
        splits[i].lost = n_leaves - 1
        splits[i].left, splits[i].right, splits[i].rank = top, -1, 1
        heaps[i] = <int32_t> i
    # Where a node goes, so does all below it.
    for i in range(n_nodes):
        if nodes[i].size > 1:
            right = right_child(nodes, <int32_t> i)
            price[i + 1] = min(price[i + 1], price[i])
            price[right] = min(price[right], price[i])


# --------------------------------------------------------------------- the path

cdef void path_sums(
    const Node *nodes,
    const intp_t[::1] pruned_at,
    const float64_t[:, ::1] values,
    float64_t[:, ::1] sums,  # OUT: zeros
) noexcept nogil:
    """Sums of values over the leaves of every tree of the path.

    A node is a leaf from the tree that prunes it to the one that prunes its parent.
    """
    cdef intp_t i, j, k, child
    for i in range(values.shape[0]):
        for j in range(values.shape[1]):
            sums[pruned_at[i], j] += values[i, j]
        if nodes[i].size > 1:
            child = right_child(nodes, <int32_t> i)
            for j in range(values.shape[1]):
                sums[pruned_at[i], j] -= values[i + 1, j] + values[child, j]
    for k in range(1, sums.shape[0]):
        for j in range(sums.shape[1]):
            sums[k, j] += sums[k - 1, j]


def weakest_links(const int32_t[:, ::1] nodes, const float64_t[::1] cost):
    """The path of trees from the whole one to its root, the weakest splits pruned first.

    A branch may cost more than its root alone, where costs are estimates: such splits, and those
    that gain nothing, go first, at no price. Splits of one price go together.

    Parameters
    ----------
    nodes : int32 array of shape (n_nodes, 3)
        One tree in the form of `grid/_regions`; only sizes are read.
    cost : float64 array of shape (n_nodes,)
        Of every node, were it a leaf; finite.

    Returns
    -------
    pruned_at : intp array of shape (n_nodes,)
        Node i is a split in tree k of the path iff ``pruned_at[i] > k``; 0 in leaves.
    price : float64 array of shape (n_trees,)
        The price of a leaf from which on each tree has the least cost plus price of all prunings,
        and is the smallest of those; -inf for a whole tree that pruning improves at no price.
    n_leaves : intp array of shape (n_trees,)
    costs : float64 array of shape (n_trees,)
        Sum over the leaves of each tree.
    """
    cdef intp_t i, k, n_nodes = nodes.shape[0]
    cdef const Node *tree = <const Node *> &nodes[0, 0]
    cdef vector[double] price
    cdef vector[pair[double, intp_t]] order
    cdef vector[double] path
    cdef double slack, most
    if not np.isfinite(np.asarray(cost)).all():
        raise ValueError("a node has a cost that is not finite")
    pruned = np.zeros(n_nodes, dtype=np.intp)
    cdef intp_t[::1] pruned_at = pruned
    with nogil:
        slack = SLACK * max(fabs(cost[0]), TINY)
        critical_prices(tree, n_nodes, &cost[0], price)
        for i in range(n_nodes):
            if tree[i].size > 1:
                order.push_back(pair[double, intp_t](price[i], i))
        sort(order.begin(), order.end())
        if order.size() and order[0].first <= slack:
            path.push_back(-INFINITY)
        path.push_back(0.0)
        most = slack
        for k in range(<intp_t> order.size()):
            if order[k].first > most:
                path.push_back(order[k].first)
                most = order[k].first + slack
            pruned_at[order[k].second] = <intp_t> path.size() - 1
    n_trees = path.size()
    prices = np.array(path)
    values = np.ones((n_nodes, 2))
    values[:, 1] = cost
    sums = np.zeros((n_trees, 2))
    path_sums(tree, pruned_at, values, sums)
    return pruned, prices, np.rint(sums[:, 0]).astype(np.intp), sums[:, 1].copy()


def sums_on_path(
    const int32_t[:, ::1] nodes, const intp_t[::1] pruned_at, const float64_t[:, ::1] values
):
    """Sums of values over the leaves of every tree of a path. O(nodes x values).

    Parameters
    ----------
    nodes : int32 array of shape (n_nodes, 3)
    pruned_at : intp array of shape (n_nodes,)
        As `weakest_links` returns it.
    values : float64 array of shape (n_nodes, n_values)
        Of every node, were it a leaf.

    Returns
    -------
    float64 array of shape (n_trees, n_values)
    """
    sums = np.zeros((pruned_at[0] + 1, values.shape[1]))
    cdef float64_t[:, ::1] out = sums
    with nogil:
        path_sums(<const Node *> &nodes[0, 0], pruned_at, values, out)
    return sums
