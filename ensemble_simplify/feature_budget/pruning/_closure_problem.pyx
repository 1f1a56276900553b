"""From routed rows to the closure problem of feature-budget pruning.

A forest is given by its node arrays (global ids) and by the leaf each row ends in. Rows are
grouped so that the rows of any node are one contiguous run. A *resource* is something with
a price that a row pays at most once: a feature, or a group of features. A split *needs* a
resource when none of its ancestors has paid for it.
"""

import numpy as np

from libcpp.unordered_map cimport unordered_map
from libcpp.vector cimport vector

from ensemble_simplify._typedefs cimport (
    float64_t, int32_t, int64_t, intp_t, popcount, scramble, uint8_t, uint32_t, uint64_t,
)
from ensemble_simplify.grid._sweep cimport sort_keys

ctypedef fused number:
    int64_t
    float64_t

# Values of `representative` that are not ids of contracted nodes: nodes that every optimal
# pruning keeps, and nodes that none keeps.
cpdef enum:
    ALWAYS = -2
    NEVER = -1


def group_rows(
    const int32_t[:, :] leaf,
    const intp_t[::1] parent,
    const intp_t[::1] order,
    const intp_t[::1] offsets,
    int32_t[:, ::1] rows,  # OUT (n_trees, n_rows)
    int32_t[::1] first,    # OUT (n_nodes,)
    int32_t[::1] last,     # OUT (n_nodes,)
):
    """Sort each tree's rows by leaf: rows[t, first[h]:last[h]] are those that pass node h."""
    cdef intp_t n = leaf.shape[0], n_trees = leaf.shape[1], t, i, k, h
    cdef vector[int32_t] place
    cdef int32_t count
    with nogil:
        place.resize(order.shape[0])
        for k in range(order.shape[0]):
            last[k] = 0
        # Tree by tree, whose nodes stay in the cache.
        for t in range(n_trees):
            for i in range(n):
                last[leaf[i, t]] += 1
        # Totals upwards; `last` holds counts until the runs are laid out.
        for k in range(order.shape[0] - 1, -1, -1):
            h = order[k]
            if parent[h] >= 0:
                last[parent[h]] += last[h]
        for t in range(n_trees):
            for k in range(offsets[t], offsets[t + 1]):
                h = order[k]
                if parent[h] < 0:
                    first[h] = 0
                    place[h] = 0
                else:
                    # place[parent]: start of the next child's run.
                    first[h] = place[parent[h]]
                    place[parent[h]] += last[h]
                    place[h] = first[h]
        for k in range(order.shape[0]):
            count = last[k]
            last[k] = first[k] + count
            place[k] = first[k]
        for t in range(n_trees):
            for i in range(n):
                h = leaf[i, t]
                rows[t, place[h]] = <int32_t>i
                place[h] += 1


def node_sums(
    const int32_t[:, :] leaf,
    const float64_t[:, ::1] values,
    const uint8_t[:, ::1] counted,
    const intp_t[::1] parent,
    const intp_t[::1] order,
    float64_t[:, ::1] sums,  # OUT (n_nodes, n_values), zeros on entry
):
    """Sums of ``values`` over the rows of each node, where ``counted[row, tree]``.

    An empty `counted` (shape (0, 0)) counts every row in every tree.
    """
    cdef intp_t n_values = values.shape[1], i, t, k, h, c
    cdef bint every = counted.shape[0] == 0
    with nogil:
        for t in range(leaf.shape[1]):
            for i in range(leaf.shape[0]):
                if every or counted[i, t]:
                    h = leaf[i, t]
                    for c in range(n_values):
                        sums[h, c] += values[i, c]
        for k in range(order.shape[0] - 1, -1, -1):
            h = order[k]
            if parent[h] >= 0:
                for c in range(n_values):
                    sums[parent[h], c] += sums[h, c]


def needed_resources(
    const intp_t[::1] parent,
    const intp_t[::1] order,
    const intp_t[::1] feature,
    const int32_t[:, ::1] resources,  # (n_features, 2): of the feature, of its group; -1: none
    int32_t[:, ::1] needs,            # OUT (n_nodes, 2)
):
    """The resources that each split is the first on its path to use."""
    cdef intp_t k, h, q, f
    cdef int32_t r
    cdef int j
    with nogil:
        for k in range(order.shape[0]):
            h = order[k]
            f = feature[h]
            for j in range(2):
                r = resources[f, j] if f >= 0 else -1
                needs[h, j] = r
                if r < 0:
                    continue
                q = parent[h]
                while q >= 0:
                    if resources[feature[q], j] == r:
                        needs[h, j] = -1
                        break
                    q = parent[q]


def contract(
    const intp_t[::1] parent,
    const intp_t[::1] order,
    const int32_t[:, ::1] needs,
    const int64_t[::1] gain,
    const uint8_t[::1] split,
    int32_t[::1] representative,     # OUT (n_nodes,)
    int32_t[::1] contracted_parent,  # OUT (n_nodes,), the first n_contracted are used
    int64_t[::1] contracted_gain,    # OUT likewise
):
    """Nodes that any optimal pruning may keep, free splits merged into their parents; how many.

    A split that loses even when nothing has a price is never kept. A split that needs no
    resource and does not lose is kept whenever its parent is.
    """
    cdef vector[int64_t] worth
    cdef intp_t n = order.shape[0], k, h, q
    cdef int32_t m = 0, c
    with nogil:
        worth.assign(n, 0)
        for k in range(n - 1, -1, -1):
            h = order[k]
            if not split[h]:
                worth[h] = -1
                continue
            worth[h] += gain[h]
            if parent[h] >= 0 and worth[h] > 0:
                worth[parent[h]] += worth[h]
        for k in range(n):
            h = order[k]
            q = parent[h]
            if not split[h] or worth[h] < 0 or (q >= 0 and representative[q] == NEVER):
                representative[h] = NEVER
            elif needs[h, 0] < 0 and needs[h, 1] < 0 and gain[h] >= 0:
                c = ALWAYS if q < 0 else representative[q]
                representative[h] = c
                if c >= 0:
                    contracted_gain[c] += gain[h]
            else:
                contracted_parent[m] = max(representative[q], -1) if q >= 0 else -1
                contracted_gain[m] = gain[h]
                representative[h] = m
                m += 1
    return m


cdef class SharedItems:
    """What the contracted nodes pay: own costs, and items that several nodes share.

    Rows for which exactly the same nodes need a resource are one item; an item that a
    single node needs is that node's own cost.

    Attributes
    ----------
    n_items, n_arcs : int
    """

    cdef vector[uint64_t] arc   # an item in the upper half, a node that needs it in the lower
    cdef vector[float64_t] price
    cdef intp_t n_contracted

    def __init__(
        self,
        const int32_t[:, ::1] rows,
        const int32_t[::1] first,
        const int32_t[::1] last,
        const intp_t[::1] offsets,
        const int32_t[:, ::1] needs,
        const int32_t[::1] representative,
        const float64_t[::1] weight,
        const float64_t[::1] cost,   # (n_resources,)
        float64_t[::1] own,          # OUT (n_contracted,), zeros on entry
    ):
        cdef intp_t n_rows = weight.shape[0], n_resources = cost.shape[0]
        cdef vector[int32_t] degree, item_of_row, stamp
        cdef vector[uint64_t] key_a, key_b, second
        cdef unordered_map[uint64_t, int32_t] seen
        cdef vector[float64_t] price
        cdef intp_t h, r, k, i, u
        cdef uint64_t a, b
        cdef int32_t c, w, begin
        cdef float64_t paid
        self.n_contracted = own.shape[0]
        # Nodes that need a resource, one resource after the other.
        needed = np.where(np.asarray(representative)[:, None] >= 0, needs, -1)
        node, kind = np.nonzero(needed >= 0)
        needed = needed[node, kind]
        order = np.argsort(needed, kind="stable")
        cdef const intp_t[::1] user = node[order]
        cdef const intp_t[::1] start = np.searchsorted(needed[order], np.arange(n_resources + 1))
        cdef const intp_t[::1] tree = np.searchsorted(offsets, np.asarray(user), side="right") - 1
        with nogil:
            item_of_row.resize(n_rows)
            for r in range(n_resources):
                key_a.assign(n_rows, 0)
                key_b.assign(n_rows, 0)
                degree.assign(n_rows, 0)
                for k in range(start[r], start[r + 1]):
                    h = user[k]
                    a = scramble(<uint64_t>h * 2 + 1)
                    b = scramble(a ^ <uint64_t>0x9E3779B97F4A7C15)
                    for u in range(first[h], last[h]):
                        i = rows[tree[k], u]
                        key_a[i] ^= a
                        key_b[i] ^= b
                        degree[i] += 1
                seen.clear()
                second.clear()
                begin = <int32_t>price.size()
                for i in range(n_rows):
                    item_of_row[i] = -1
                    if degree[i] < 2:
                        continue
                    # Chains of equal first keys are walked until the second key agrees too.
                    a = key_a[i]
                    while True:
                        if seen.count(a) == 0:
                            w = <int32_t>price.size()
                            seen[a] = w
                            second.push_back(key_b[i])
                            price.push_back(0.0)
                            break
                        w = seen[a]
                        if second[w - begin] == key_b[i]:
                            break
                        a = scramble(a + 1)
                    item_of_row[i] = w
                    price[w] += cost[r] * weight[i]
                stamp.assign(price.size() - begin, -1)
                for k in range(start[r], start[r + 1]):
                    h = user[k]
                    c = representative[h]
                    paid = 0.0
                    for u in range(first[h], last[h]):
                        i = rows[tree[k], u]
                        w = item_of_row[i]
                        if w < 0:
                            paid += cost[r] * weight[i]
                        elif stamp[w - begin] != c:
                            stamp[w - begin] = c
                            self.arc.push_back(<uint64_t>w << 32 | <uint32_t>c)
                    own[c] += paid
            self.price.swap(price)

    @property
    def n_items(self):
        return self.price.size()

    @property
    def n_arcs(self):
        return self.arc.size()

    def read(
        self,
        int64_t[::1] start,     # OUT (n_contracted + 1,)
        int32_t[::1] items,     # OUT (n_arcs,)
        float64_t[::1] price,   # OUT (n_items,)
    ):
        """Write the items by node, and release the memory held here.

        Items are numbered anew by the number of nodes that share them, and listed in that order:
        a node's gain is best spent first on what few others pay for.
        """
        cdef intp_t k, n_arcs = self.arc.size(), n_items = self.price.size()
        cdef vector[uint64_t] spare
        degree, place = np.zeros((2, n_items), dtype=np.int64)
        cdef int64_t[::1] degree_of = degree, place_of = place
        for k in range(n_arcs):
            degree_of[self.arc[k] >> 32] += 1
        place[np.argsort(degree, kind="stable")] = np.arange(n_items)
        start[:] = 0
        with nogil:
            for k in range(n_items):
                price[place_of[k]] = self.price[k]
            for k in range(n_arcs):
                self.arc[k] = <uint64_t>place_of[self.arc[k] >> 32] << 32 | <uint32_t>self.arc[k]
            spare.resize(n_arcs)
            sort_keys(self.arc, spare, n_items)
            # Nodes change to the upper half: a stable sort by them leaves the items in order.
            for k in range(n_arcs):
                self.arc[k] = self.arc[k] << 32 | self.arc[k] >> 32
            sort_keys(self.arc, spare, self.n_contracted)
            for k in range(n_arcs):
                items[k] = <int32_t>self.arc[k]
                start[(self.arc[k] >> 32) + 1] += 1
            for k in range(self.n_contracted):
                start[k + 1] += start[k]
        vector[uint64_t]().swap(self.arc)


def extend_free(
    const int32_t[::1] parent,
    const int64_t[::1] gain,
    const int64_t[::1] own,
    const int64_t[::1] start,
    const int32_t[::1] items,
    const int64_t[::1] price,
    int32_t[::1] last,   # OUT (n_items,): last pruning of a path in which the item is paid
    int32_t[::1] until,  # IN / OUT: last pruning in which the node is kept; -1: in none
):
    """Keep nodes of no gain for as long as their parents are kept and others pay their items."""
    cdef intp_t v, k
    cdef int32_t free
    with nogil:
        for k in range(last.shape[0]):
            last[k] = -1
        for v in range(parent.shape[0]):
            for k in range(start[v], start[v + 1]):
                last[items[k]] = max(last[items[k]], until[v])
        for v in range(parent.shape[0]):
            if gain[v] != 0 or own[v] != 0:
                continue
            free = until[parent[v]] if parent[v] >= 0 else 0x7FFFFFFF
            for k in range(start[v], start[v + 1]):
                if free <= until[v]:
                    break
                if price[items[k]] > 0:
                    free = min(free, last[items[k]])
            until[v] = max(until[v], free)


def drop_idle(
    const intp_t[::1] parent,
    const intp_t[::1] order,
    const int64_t[::1] gain,
    uint8_t[::1] keep,  # IN / OUT
):
    """Shrink an optimal set of splits: subtrees that gain nothing become leaves."""
    cdef vector[int64_t] worth
    cdef intp_t k, h
    with nogil:
        worth.assign(order.shape[0], 0)
        for k in range(order.shape[0] - 1, -1, -1):
            h = order[k]
            if not keep[h]:
                continue
            worth[h] += gain[h]
            if parent[h] >= 0:
                worth[parent[h]] += worth[h]
        for k in range(order.shape[0]):
            h = order[k]
            if keep[h] and (worth[h] <= 0 or (parent[h] >= 0 and not keep[parent[h]])):
                keep[h] = 0


def best_subtrees(
    const int32_t[::1] parent,
    const number[::1] worth,
    uint8_t[::1] keep,        # OUT
    number[::1] value=None,   # OUT: worth of each node with the best of what is below it
):
    """Smallest closed set of largest worth when nothing is shared (parents first); its worth."""
    cdef intp_t n = parent.shape[0], v
    cdef number total = 0
    if value is None:
        value = np.empty_like(worth)
    with nogil:
        value[:] = worth
        for v in range(n - 1, -1, -1):
            if value[v] > 0:
                if parent[v] >= 0:
                    value[parent[v]] += value[v]
                else:
                    total += value[v]
        for v in range(n):
            keep[v] = value[v] > 0 and (parent[v] < 0 or keep[parent[v]])
    return total


def gains_of_one_more(
    const int32_t[::1] parent,
    const int64_t[::1] gain,
    const int32_t[::1] feature,
    const uint8_t[::1] allowed,   # (n_features,)
    const uint8_t[::1] within,
    int64_t[::1] won,             # OUT (n_features,)
):
    """Gain that each feature would add to the allowed ones, alone (parents come first)."""
    cdef intp_t n = parent.shape[0]
    cdef vector[int64_t] worth
    cdef vector[int32_t] missing  # the one feature that a way down lacks; -1: none, -2: several
    cdef intp_t v
    cdef int32_t above
    with nogil:
        worth.assign(n, 0)
        missing.assign(n, -1)
        won[:] = 0
        for v in range(n):
            above = -1 if parent[v] < 0 else missing[parent[v]]
            if not within[v]:
                missing[v] = -2
            elif allowed[feature[v]] or above == feature[v]:
                missing[v] = above
            else:
                missing[v] = feature[v] if above == -1 else -2
        for v in range(n - 1, -1, -1):
            if missing[v] < 0:
                continue
            worth[v] += gain[v]
            if worth[v] <= 0:
                continue
            if parent[v] >= 0 and missing[parent[v]] == missing[v]:
                worth[parent[v]] += worth[v]
            else:
                won[missing[v]] += worth[v]


def paid_items(
    const int64_t[::1] start,
    const int32_t[::1] items,
    const uint8_t[::1] chosen,
    uint8_t[::1] paid,   # OUT (n_items,)
):
    """Which items a set of nodes needs."""
    cdef intp_t v
    cdef int64_t a
    with nogil:
        paid[:] = 0
        for v in range(chosen.shape[0]):
            if chosen[v]:
                for a in range(start[v], start[v + 1]):
                    paid[items[a]] = 1


def stopping_nodes(
    const intp_t[::1] parent,
    const intp_t[::1] order,
    const uint8_t[::1] keep,
    int32_t[::1] stop,  # OUT (n_nodes,)
):
    """For each node the node where a row on its way there stops in the pruned forest."""
    cdef intp_t k, h, q
    with nogil:
        for k in range(order.shape[0]):
            h = order[k]
            q = parent[h]
            stop[h] = <int32_t>h if q < 0 or (stop[q] == q and keep[q]) else stop[q]


def buy(
    const int32_t[:, :] leaf,               # (n_rows, n_trees)
    const intp_t[::1] offsets,
    const intp_t[::1] parent,
    const intp_t[::1] order,
    const intp_t[::1] feature,
    const int32_t[:, ::1] bits_of_feature,  # (n_features, n_kinds); -1: none
    const uint8_t[::1] keep,
    uint64_t[:, ::1] bits,                  # OUT (n_rows, n_words), zeros on entry
):
    """Mark what rows buy at the kept splits on their ways."""
    cdef vector[uint64_t] bought    # of the nodes of one tree
    cdef intp_t n_words = bits.shape[1], n_kinds = bits_of_feature.shape[1]
    cdef intp_t t, k, h, q, w, i, at, above
    cdef int32_t b
    with nogil:
        for t in range(offsets.shape[0] - 1):
            bought.assign((offsets[t + 1] - offsets[t]) * n_words, 0)
            for k in range(offsets[t], offsets[t + 1]):
                h = order[k]
                q = parent[h]
                if q < 0:
                    continue
                at = (h - offsets[t]) * n_words
                above = (q - offsets[t]) * n_words
                for w in range(n_words):
                    bought[at + w] = bought[above + w]
                if keep[q]:
                    for w in range(n_kinds):
                        b = bits_of_feature[feature[q], w]
                        if b >= 0:
                            bought[at + b // 64] |= <uint64_t>1 << (b % 64)
            for i in range(leaf.shape[0]):
                at = (leaf[i, t] - offsets[t]) * n_words
                for w in range(n_words):
                    bits[i, w] |= bought[at + w]


def bit_sums(
    const uint64_t[:, ::1] bits,
    const float64_t[::1] weight,
    float64_t[::1] sums,   # OUT (n_bits,), zeros on entry
):
    """Weight of the rows in which each bit is set."""
    cdef intp_t i, w
    cdef uint64_t left, one
    with nogil:
        for i in range(bits.shape[0]):
            for w in range(bits.shape[1]):
                left = bits[i, w]
                while left:
                    one = left & (~left + 1)
                    sums[64 * w + popcount(one - 1)] += weight[i]
                    left ^= one
