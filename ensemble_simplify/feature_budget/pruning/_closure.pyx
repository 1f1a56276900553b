"""Maximum-weight closures of a forest of nodes with shared prices, for all price levels.

The problem. Nodes form trees (``parent``); a node may be kept only if its parent is.
Keeping node `v` earns ``gain[v]`` and pays ``own[v]``; node `v` also needs the shared
items ``items[start[v]:start[v + 1]]``, and item `w` is paid once, ``price[w]``, however
many kept nodes need it. At a price level lam

    maximise  sum of gain  -  lam * (sum of own + sum of price of the needed items).

This is a maximum-weight closure: one minimum s-t cut solves it. All numbers are integers.

The cut is found by the first phase of push-relabel (a maximum preflow; no flow is returned to
the source), started from the preflow that is optimal for a single tree. Excess flows down in
sweeps: a sweep discharges each height once, from the top, and leaves a vertex that has to be
lifted to the next one, so that small amounts join before they move on. Global relabelling keeps
the sweeps on course. An arc from a node to an item has the capacity of the item, which loses
nothing and keeps the numbers small.

As lam grows the optimal sets only shrink. So between two known optimal sets only the
nodes in between have to be looked at: the cut at the slope of the chord either finds a
set strictly above the chord, and the stretch splits in two, or proves that the chord is
an edge of the lower hull of (cost, loss). The flow of a cut is kept for the two halves: no
flow leads from one to the other, below the chord prices have only risen against gains, and
above it gains against prices, so that scaled down it is a preflow of either.
"""

from libcpp.utility cimport move
from libcpp.vector cimport vector

from ensemble_simplify._typedefs cimport (
    float64_t, int32_t, int64_t, intp_t, uint8_t, uint64_t,
)
from ensemble_simplify.grid._limits cimport should_stop

# Capacities of one cut add up to less than this.
cdef int64_t CAPACITY = <int64_t>1 << 61
# Discharges between two looks at the clock.
cdef intp_t POLL = 65536


cdef cppclass Subproblem:
    # The nodes between two known optimal sets, with what they need and is not yet paid.
    vector[int32_t] node        # ids in the whole problem; parents come before children
    vector[int32_t] parent      # local ids; -1: the parent is kept already
    vector[int32_t] start       # items of local node v: item[start[v]:start[v + 1]]
    vector[int32_t] item        # local ids
    vector[int64_t] gain
    vector[int64_t] own
    vector[int64_t] price
    int64_t d_gain              # of all of them together
    int64_t d_cost
    # What rows pay for them, where that is not the cost that the cuts weigh; see solve_path.
    vector[float64_t] paid
    float64_t d_paid
    int is_closed               # its inside is not wanted
    # Flow of the cut that split this part off, in units in which `unit` stood for one of gain
    # (is_low: prices have risen against it) or of price (gains have risen). Empty: none.
    vector[int64_t] flow        # on arcs node -> item
    vector[int64_t] up          # on arcs node -> parent
    float64_t unit
    int is_low


cdef cppclass Network:
    # Residual network of one cut. Vertices: nodes 0..n-1, items n..n+m-1.
    int32_t n
    int32_t m
    float64_t unit_gain         # capacity that stands for one of gain, and of price
    float64_t unit_price
    int32_t far                 # height of a vertex that cannot reach the sink: n + m + 1
    vector[int64_t] excess
    vector[int64_t] to_sink     # residual capacity of the arc to the sink
    vector[int64_t] capacity    # of the item's arc to the sink
    vector[int64_t] flow        # on arcs node -> item
    vector[int64_t] up          # flow on the arc node -> parent
    vector[int32_t] height
    vector[int32_t] current     # next arc to try
    vector[int32_t] back_start  # arcs into an item, and the nodes they come from
    vector[int32_t] back
    vector[int32_t] back_node
    vector[int32_t] child_start
    vector[int32_t] child
    vector[int32_t] queue       # of the search, then the next vertex of the same height
    vector[uint8_t] queued
    vector[int32_t] touched     # vertices that a discharge has pushed to


cdef int compare_products(int64_t a, int64_t b, int64_t c, int64_t d) noexcept nogil:
    # Sign of a * b - c * d, exactly, for numbers that are not negative.
    cdef uint64_t low = 0xFFFFFFFF, t, u
    cdef uint64_t[2] x, y, high, rest
    cdef int k
    x[0] = <uint64_t>a
    y[0] = <uint64_t>b
    x[1] = <uint64_t>c
    y[1] = <uint64_t>d
    for k in range(2):
        t = (x[k] & low) * (y[k] & low)
        u = (x[k] >> 32) * (y[k] & low) + (t >> 32)
        t = (x[k] & low) * (y[k] >> 32) + (u & low)
        high[k] = (x[k] >> 32) * (y[k] >> 32) + (u >> 32) + (t >> 32)
        rest[k] = x[k] * y[k]
    if high[0] != high[1]:
        return 1 if high[0] > high[1] else -1
    if rest[0] != rest[1]:
        return 1 if rest[0] > rest[1] else -1
    return 0


cdef int64_t common_divisor(int64_t a, int64_t b) noexcept nogil:
    cdef int64_t t
    while b:
        t = a % b
        a = b
        b = t
    return a


cdef void wire(Subproblem* part, Network* net) noexcept nogil:
    # Fill the shape of the network; capacities follow.
    cdef int32_t n = <int32_t>part.node.size(), m = <int32_t>part.price.size()
    cdef int32_t n_arcs = part.start[n], v, w, a
    net.n = n
    net.m = m
    net.far = n + m + 1
    net.excess.assign(n + m, 0)
    net.to_sink.assign(n + m, 0)
    net.capacity.assign(m, 0)
    net.flow.assign(n_arcs, 0)
    net.up.assign(n, 0)
    net.height.assign(n + m, 0)
    net.current.assign(n + m, 0)
    net.queued.assign(n + m, 0)
    net.queue.assign(n + m, 0)
    net.back.resize(n_arcs)
    net.back_node.resize(n_arcs)
    net.back_start.assign(m + 2, 0)
    for a in range(n_arcs):
        net.back_start[part.item[a] + 2] += 1
    for w in range(m):
        net.back_start[w + 2] += net.back_start[w + 1]
    for v in range(n):
        for a in range(part.start[v], part.start[v + 1]):
            w = part.item[a]
            net.back[net.back_start[w + 1]] = a
            net.back_node[net.back_start[w + 1]] = v
            net.back_start[w + 1] += 1
    net.child.resize(n)
    net.child_start.assign(n + 2, 0)
    for v in range(n):
        if part.parent[v] >= 0:
            net.child_start[part.parent[v] + 2] += 1
    for v in range(n):
        net.child_start[v + 2] += net.child_start[v + 1]
    for v in range(n):
        if part.parent[v] >= 0:
            net.child[net.child_start[part.parent[v] + 1]] = v
            net.child_start[part.parent[v] + 1] += 1


cdef void push_up(Subproblem* part, Network* net, bint resumes) noexcept nogil:
    # Each node's gain pays for its own items, what is left goes to its parent: the best preflow
    # of a single tree. Where it resumes an earlier flow, as much of that as the new capacities
    # allow; the rest stays as excess.
    cdef int32_t n = net.n, v, w, a
    cdef int64_t e, d
    cdef float64_t factor = 0.0
    if resumes:
        factor = (net.unit_gain if part.is_low else net.unit_price) / part.unit
    for v in range(n - 1, -1, -1):
        e = net.excess[v]
        if e and net.to_sink[v]:
            d = min(e, net.to_sink[v])
            net.to_sink[v] -= d
            e -= d
        for a in range(part.start[v], part.start[v + 1]):
            if e == 0:
                break
            w = part.item[a]
            d = min(e, net.to_sink[n + w])
            if resumes:
                d = min(d, <int64_t>(factor * <float64_t>part.flow[a]))
            if d:
                net.flow[a] += d
                net.to_sink[n + w] -= d
                e -= d
        if e and part.parent[v] >= 0:
            d = min(e, <int64_t>(factor * <float64_t>part.up[v])) if resumes else e
            net.up[v] += d
            net.excess[part.parent[v]] += d
            e -= d
        net.excess[v] = e


cdef inline bint reached(Network* net, int32_t x, int32_t height, int32_t* last) noexcept nogil:
    # A vertex that nothing else has reached yet goes into the queue of the search.
    if net.height[x] != net.far:
        return False
    net.height[x] = height
    net.queue[last[0]] = x
    last[0] += 1
    return True


cdef void relabel_all(Subproblem* part, Network* net) noexcept nogil:
    # Exact distances to the sink; `far` where there is no way.
    cdef int32_t n = net.n, total = n + net.m
    cdef int32_t first = 0, last = 0, nodes_left = n, items_left = net.m
    cdef int32_t v, w, a, k, x, q, above
    net.current.assign(total, 0)
    net.height.assign(total, net.far)
    for x in range(total):
        if net.to_sink[x] > 0:
            reached(net, x, 1, &last)
            if x < n:
                nodes_left -= 1
            else:
                items_left -= 1
    while first < last and last < total:
        x = net.queue[first]
        first += 1
        above = net.height[x] + 1
        if x < n:
            q = part.parent[x]
            if q >= 0 and net.up[x] > 0:
                nodes_left -= reached(net, q, above, &last)
            for a in range(net.child_start[x], net.child_start[x + 1]):
                nodes_left -= reached(net, net.child[a], above, &last)
            if items_left == 0:
                continue
            for a in range(part.start[x], part.start[x + 1]):
                if net.flow[a] > 0:
                    items_left -= reached(net, part.item[a] + n, above, &last)
        elif nodes_left:
            w = x - n
            for k in range(net.back_start[w], net.back_start[w + 1]):
                v = net.back_node[k]
                if net.flow[net.back[k]] < net.capacity[w]:
                    nodes_left -= reached(net, v, above, &last)


cdef inline int64_t push_to(Network* net, int32_t x, int64_t amount) noexcept nogil:
    net.excess[x] += amount
    net.touched.push_back(x)
    return amount


cdef int64_t discharge_node(Subproblem* part, Network* net, int32_t v) noexcept nogil:
    # Push the excess of a node downhill until none is left or the node has to be lifted, which
    # is then done. Returns the work; vertices that received flow are added to `touched`.
    cdef int32_t n = net.n, total = n + net.m
    cdef int32_t first = part.start[v], n_items = part.start[v + 1] - first
    cdef int32_t child_first = net.child_start[v]
    cdef int32_t n_children = net.child_start[v + 1] - child_first
    # Arcs in turn: sink, parent, items, children.
    cdef int32_t n_arcs = 2 + n_items + n_children
    cdef int32_t k = net.current[v], x, a, lowest
    cdef int64_t d, e = net.excess[v], work = 0
    while e > 0:
        if k == n_arcs:
            # Relabel.
            work += n_arcs
            lowest = net.far
            if net.to_sink[v] > 0:
                lowest = 0
            else:
                x = part.parent[v]
                if x >= 0 and net.height[x] < lowest:
                    lowest = net.height[x]
                for a in range(first, first + n_items):
                    x = part.item[a]
                    if net.height[n + x] < lowest and net.flow[a] < net.capacity[x]:
                        lowest = net.height[n + x]
                for a in range(child_first, child_first + n_children):
                    x = net.child[a]
                    if net.height[x] < lowest and net.up[x] > 0:
                        lowest = net.height[x]
            k = 0
            net.height[v] = min(lowest + 1, net.far)
            break
        work += 1
        if k == 0:
            if net.to_sink[v] > 0 and net.height[v] == 1:
                d = min(e, net.to_sink[v])
                net.to_sink[v] -= d
                e -= d
        elif k == 1:
            x = part.parent[v]
            if x >= 0 and net.height[x] == net.height[v] - 1:
                net.up[v] += e
                e -= push_to(net, x, e)
        elif k < 2 + n_items:
            a = first + k - 2
            x = part.item[a]
            if net.height[n + x] == net.height[v] - 1:
                d = min(e, net.capacity[x] - net.flow[a])
                if d > 0:
                    net.flow[a] += d
                    e -= push_to(net, n + x, d)
        else:
            x = net.child[child_first + k - 2 - n_items]
            if net.height[x] == net.height[v] - 1 and net.up[x] > 0:
                d = min(e, net.up[x])
                net.up[x] -= d
                e -= push_to(net, x, d)
        if e > 0:
            k += 1
        if <int32_t>net.touched.size() > total:
            break
    net.excess[v] = e
    net.current[v] = k
    return work


cdef int64_t discharge_item(Network* net, int32_t w) noexcept nogil:
    # The same for an item. Arcs in turn: sink, nodes that need it.
    cdef int32_t n = net.n, total = n + net.m, x = n + w
    cdef int32_t first = net.back_start[w], n_arcs = 1 + net.back_start[w + 1] - first
    cdef int32_t k = net.current[x], a, v, lowest
    cdef int64_t d, e = net.excess[x], work = 0
    while e > 0:
        if k == n_arcs:
            work += n_arcs
            lowest = net.far
            if net.to_sink[x] > 0:
                lowest = 0
            else:
                for k in range(first, first + n_arcs - 1):
                    v = net.back_node[k]
                    if net.height[v] < lowest and net.flow[net.back[k]] > 0:
                        lowest = net.height[v]
            k = 0
            net.height[x] = min(lowest + 1, net.far)
            break
        work += 1
        if k == 0:
            if net.to_sink[x] > 0 and net.height[x] == 1:
                d = min(e, net.to_sink[x])
                net.to_sink[x] -= d
                e -= d
        else:
            v = net.back_node[first + k - 1]
            a = net.back[first + k - 1]
            if net.height[v] == net.height[x] - 1 and net.flow[a] > 0:
                d = min(e, net.flow[a])
                net.flow[a] -= d
                e -= push_to(net, v, d)
        if e > 0:
            k += 1
        if <int32_t>net.touched.size() > total:
            break
    net.excess[x] = e
    net.current[x] = k
    return work


cdef int push_relabel(Subproblem* part, Network* net) except -1 nogil:
    # Maximum preflow. Afterwards the vertices of height `far` are those that cannot reach
    # the sink: the largest optimal set. Returns 1 when the clock ran out.
    cdef int32_t total = net.n + net.m, x, y, top
    cdef int64_t limit = <int64_t>part.item.size() + total, work
    cdef intp_t polled = 0
    cdef size_t i
    cdef size_t left                # active vertices of this sweep
    cdef vector[int32_t] head       # stacks of active vertices by height
    cdef vector[int32_t] later      # active vertices of the next sweep
    # A discharge stops by itself when it has touched this many.
    net.touched.reserve(total + 2)
    if part.flow.size():
        push_up(part, net, True)
    push_up(part, net, False)
    while True:
        relabel_all(part, net)
        head.assign(net.far, -1)
        later.clear()
        for x in range(total):
            net.queued[x] = net.excess[x] > 0 and net.height[x] < net.far
            if net.queued[x]:
                later.push_back(x)
        if later.size() == 0:
            return 0
        work = 0
        while work < limit and later.size():
            top = 0
            left = later.size()
            for i in range(left):
                x = later[i]
                net.queued[x] = 1
                net.queue[x] = head[net.height[x]]
                head[net.height[x]] = x
                top = max(top, net.height[x])
            later.clear()
            while left:
                x = head[top]
                if x < 0:
                    # Climbing down past empty heights is work, too.
                    top -= 1
                    work += 1
                    continue
                head[top] = net.queue[x]
                net.queued[x] = 0
                left -= 1
                net.touched.clear()
                if x < net.n:
                    work += discharge_node(part, net, x)
                else:
                    work += discharge_item(net, x - net.n)
                if net.excess[x] > 0 and net.height[x] < net.far:
                    if net.height[x] > top:
                        later.push_back(x)
                    else:
                        net.touched.push_back(x)
                for y in net.touched:
                    if not net.queued[y] and net.excess[y] > 0:
                        net.queued[y] = 1
                        net.queue[y] = head[net.height[y]]
                        head[net.height[y]] = y
                        left += 1
                polled += 1
                if polled == POLL:
                    polled = 0
                    if should_stop():
                        return 1


cdef int cut(Subproblem* part, Network* net) except -1 nogil:
    # The cut at the slope of the chord, d_gain / d_cost: exact while the products fit in
    # 61 bits, else rounded to that precision. Returns 1 when the clock ran out.
    cdef int32_t n, v, w
    cdef int64_t divisor = common_divisor(part.d_gain, part.d_cost)
    cdef int64_t by_gain = part.d_cost // divisor
    cdef int64_t by_cost = part.d_gain // divisor
    cdef float64_t gains = 0.0, costs = 0.0, scale
    cdef int64_t net_gain
    wire(part, net)
    n = net.n
    for v in range(n):
        gains += abs(<float64_t>part.gain[v])
        costs += <float64_t>part.own[v]
    for w in range(net.m):
        costs += <float64_t>part.price[w]
    gains *= <float64_t>by_gain
    costs *= <float64_t>by_cost
    scale = <float64_t>CAPACITY / (gains + costs + 1.0)
    net.unit_gain = min(scale, 1.0) * <float64_t>by_gain
    net.unit_price = min(scale, 1.0) * <float64_t>by_cost
    for v in range(n):
        if scale >= 1.0:
            net_gain = part.gain[v] * by_gain - part.own[v] * by_cost
        else:
            net_gain = <int64_t>(
                scale * (<float64_t>part.gain[v] * <float64_t>by_gain)
                - scale * (<float64_t>part.own[v] * <float64_t>by_cost)
            )
        if net_gain >= 0:
            net.excess[v] = net_gain
        else:
            net.to_sink[v] = -net_gain
    for w in range(net.m):
        if scale >= 1.0:
            net.capacity[w] = part.price[w] * by_cost
        else:
            net.capacity[w] = <int64_t>(scale * (<float64_t>part.price[w] * <float64_t>by_cost))
        net.to_sink[n + w] = net.capacity[w]
    return push_relabel(part, net)


cdef void add_node(Subproblem* to, int32_t q, Subproblem* part, Network* net, int32_t v,
                   vector[int32_t]& item_place, vector[int32_t]* paid,
                   float64_t paid_per_price) noexcept nogil:
    # Copy node v of `part` under node q of `to`, and what it needs but the items already paid.
    cdef int32_t w, a
    to.node.push_back(part.node[v])
    to.parent.push_back(q)
    to.gain.push_back(part.gain[v])
    to.own.push_back(part.own[v])
    to.up.push_back(net.up[v])
    to.d_gain += part.gain[v]
    to.d_cost += part.own[v]
    to.paid.push_back(part.paid[v])
    to.d_paid += part.paid[v]
    for a in range(part.start[v], part.start[v + 1]):
        w = part.item[a]
        if paid != NULL and paid[0][w] >= 0:
            continue
        if item_place[w] < 0:
            item_place[w] = <int32_t>to.price.size()
            to.price.push_back(part.price[w])
            to.d_cost += part.price[w]
            to.d_paid += paid_per_price * <float64_t>part.price[w]
        to.item.push_back(item_place[w])
        to.flow.push_back(net.flow[a])
    to.start.push_back(<int32_t>to.item.size())


cdef void split(Subproblem* part, Network* net, Subproblem* low, Subproblem* high,
                float64_t paid_per_price) noexcept nogil:
    # low: the nodes the cut keeps; high: the others, for which the items of low are paid. Both
    # are empty at first.
    cdef int32_t n = net.n, far = net.far, v, q
    cdef vector[int32_t] place      # local id in low or high
    cdef vector[int32_t] item_low, item_high
    place.resize(n)
    item_low.assign(net.m, -1)
    item_high.assign(net.m, -1)
    low.start.push_back(0)
    high.start.push_back(0)
    for v in range(n):
        if net.height[v] == far:
            place[v] = <int32_t>low.node.size()
            q = part.parent[v]
            add_node(low, place[q] if q >= 0 else -1, part, net, v, item_low, NULL,
                     paid_per_price)
    for v in range(n):
        if net.height[v] < far:
            place[v] = <int32_t>high.node.size()
            q = part.parent[v]
            if q >= 0:
                q = place[q] if net.height[q] < far else -1
            add_node(high, q, part, net, v, item_high, &item_low, paid_per_price)
    low.unit = net.unit_gain
    low.is_low = 1
    high.unit = net.unit_price
    high.is_low = 0


cdef bint halve(Subproblem* part, Network* net, Subproblem* low, Subproblem* high,
                float64_t paid_per_price) noexcept nogil:
    # Divide a stretch at the set that its cut found; False if there is none above the chord.
    cdef int32_t x
    for x in range(net.n + net.m):
        if net.excess[x] > 0:
            # No item or loss could absorb this: there is profit.
            split(part, net, low, high, paid_per_price)
            # Of no more than rounding, where the capacities were rounded.
            return low.d_gain > 0 and compare_products(
                low.d_gain, part.d_cost, low.d_cost, part.d_gain
            ) > 0
    return False


cdef void take(const int32_t[::1] parent, const int64_t[::1] gain, const int64_t[::1] own,
               const int64_t[::1] start, const int32_t[::1] items, const int64_t[::1] price,
               const uint8_t[::1] active, const float64_t[::1] paid, bint has_paid,
               float64_t paid_per_price, Subproblem* part) noexcept nogil:
    # The whole problem, restricted to the active nodes (closed under parents); empty at first.
    cdef intp_t n = parent.shape[0], v, a
    cdef vector[int32_t] place, item_place
    cdef int32_t w, q
    place.assign(n, -1)
    item_place.assign(price.shape[0], -1)
    part.item.reserve(items.shape[0])
    part.start.push_back(0)
    for v in range(n):
        if not active[v]:
            continue
        place[v] = <int32_t>part.node.size()
        part.node.push_back(<int32_t>v)
        q = parent[v]
        if q >= 0:
            q = place[q]
        part.parent.push_back(q)
        part.gain.push_back(gain[v])
        part.own.push_back(own[v])
        part.d_gain += gain[v]
        part.d_cost += own[v]
        part.paid.push_back(paid[v] if has_paid else <float64_t>own[v])
        part.d_paid += part.paid.back()
        for a in range(start[v], start[v + 1]):
            w = items[a]
            if item_place[w] < 0:
                item_place[w] = <int32_t>part.price.size()
                part.price.push_back(price[w])
                part.d_cost += price[w]
                part.d_paid += paid_per_price * <float64_t>price[w]
            part.item.push_back(item_place[w])
        part.start.push_back(<int32_t>part.item.size())


def solve_path(
    const int32_t[::1] parent,
    const int64_t[::1] gain,
    const int64_t[::1] own,
    const int64_t[::1] start,
    const int32_t[::1] items,
    const int64_t[::1] price,
    const uint8_t[::1] active,
    int32_t[::1] edge_of_node,  # OUT
    int64_t[:, ::1] edges,      # OUT (n_active + 1, 3): gain, cost, proven
    int64_t[:, ::1] cuts,       # OUT (2 n_active + 1, 4): d_gain, d_cost, gain and cost of the set
    float64_t room=-1.0,
    const float64_t[::1] paid=None,   # (n_nodes,)
    float64_t paid_per_price=1.0,
):
    """All optimal sets, for every price level, as one nested sequence.

    ``active`` must be the smallest set of largest gain (the optimum at lam -> 0+). Edges are
    numbered from there; finding them takes ``2 * n_active + 1`` cuts at most. Edge `k` removes the
    nodes with ``edge_of_node == k``, loses ``edges[k, 0]`` of gain and saves ``edges[k, 1]`` of
    cost, and is optimal from ``lam = edges[k, 0] / edges[k, 1]`` on. An edge of cost zero is never
    taken. When the clock runs out the stretches not yet examined are left as edges with proven = 0.
    ``cuts`` records every solved cut: its slope and the largest optimal set found.

    With a `room` of zero or more only the edge across it is wanted: the two sets on either side of
    that cost. Stretches that lie on one side of it are left as edges with proven = 0. Where rows
    pay something else than the cost that is weighed, `paid` says what for each node and
    `paid_per_price` how much for a unit of an item's price; the room is counted in that.

    Returns
    -------
    n_edges, n_cuts : int
    """
    cdef vector[Subproblem] stack
    cdef Subproblem part, low, high, none
    cdef Network net
    cdef intp_t n_edges = 0, n_cuts = 0
    # Of everything below the stretch at hand:
    cdef int64_t base_gain, base_cost
    cdef float64_t base_paid
    cdef bint late = False, is_halved, is_edge
    cdef size_t k
    none.d_gain = none.d_cost = 0
    none.d_paid = 0.0
    none.is_closed = 0
    none.unit = 0.0
    none.is_low = 0
    for k in range(<size_t>edge_of_node.shape[0]):
        edge_of_node[k] = -1
    with nogil:
        part = none
        take(parent, gain, own, start, items, price, active, paid, paid is not None,
             paid_per_price, &part)
        base_gain, base_cost, base_paid = part.d_gain, part.d_cost, part.d_paid
        part.is_closed = room >= 0.0 and base_paid <= room
        if part.node.size():
            stack.push_back(move(part))
        # The upper half of a stretch is on top: edges come in their order, from the dearest on.
        while stack.size():
            part = move(stack.back())
            stack.pop_back()
            is_halved = False
            # No set lies inside a single node, or costs less than what is free.
            is_edge = part.d_cost == 0 or part.node.size() == 1
            if not (is_edge or late or part.is_closed):
                late = cut(&part, &net)
                if not late:
                    low = none
                    high = none
                    is_halved = halve(&part, &net, &low, &high, paid_per_price)
                    is_edge = not is_halved
                    cuts[n_cuts, 0] = part.d_gain
                    cuts[n_cuts, 1] = part.d_cost
                    cuts[n_cuts, 2] = base_gain - part.d_gain + (low.d_gain if is_halved else 0)
                    cuts[n_cuts, 3] = base_cost - part.d_cost + (low.d_cost if is_halved else 0)
                    n_cuts += 1
                    late = should_stop()
            if is_halved:
                if room >= 0.0:
                    low.is_closed = base_paid - part.d_paid + low.d_paid <= room
                    high.is_closed = not low.is_closed
                stack.push_back(move(low))
                stack.push_back(move(high))
                continue
            for k in range(part.node.size()):
                edge_of_node[part.node[k]] = <int32_t>n_edges
            edges[n_edges, 0] = part.d_gain
            edges[n_edges, 1] = part.d_cost
            edges[n_edges, 2] = is_edge
            n_edges += 1
            base_gain -= part.d_gain
            base_cost -= part.d_cost
            base_paid -= part.d_paid
    return n_edges, n_cuts
