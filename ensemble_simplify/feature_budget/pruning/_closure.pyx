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
nothing and keeps the numbers small. The parent of a node is one more thing that it needs, so that
one rule moves flow along all arcs.

As lam grows the optimal sets only shrink. So between two known optimal sets only the
nodes in between have to be looked at: the cut at the slope of the chord either finds a
set strictly above the chord, and the stretch splits in two, or proves that the chord is
an edge of the lower hull of (cost, loss). The flow of a cut is kept for the two halves: no
flow leads from one to the other, below the chord prices have only risen against gains, and
above it gains against prices, so that scaled down it is a preflow of either.
"""

from libcpp.utility cimport move
from libcpp.vector cimport vector

from ensemble_simplify._typedefs cimport float64_t, int32_t, int64_t, intp_t, uint8_t
from ensemble_simplify.grid._limits cimport should_stop

# Capacities of one cut add up to less than this.
cdef int64_t CAPACITY = <int64_t>1 << 61
# Discharges between two looks at the clock.
cdef intp_t POLL = 65536


cdef cppclass Subproblem:
    # The nodes between two known optimal sets, with what they need and is not yet paid. Vertices
    # are the nodes, parents before children, then the items.
    vector[int32_t] node        # ids in the whole problem
    vector[int32_t] start       # vertex v needs the vertices need[start[v]:start[v + 1]]:
    vector[int32_t] need        # first its parent, unless that is kept already, then its items
    vector[int64_t] gain        # of every vertex
    vector[int64_t] cost
    int64_t d_gain              # of all of them together
    int64_t d_cost
    # What rows pay for them, where that is not the cost that the cuts weigh; see solve_path.
    vector[float64_t] paid
    float64_t d_paid
    int is_closed               # its inside is not wanted
    # Flow of the cut that split this part off, on the arcs of `need`, in units in which `unit`
    # stood for one of gain (is_low: prices have risen against it) or of price (gains have risen).
    # Empty: none.
    vector[int64_t] flow
    float64_t unit
    int is_low


cdef cppclass Network:
    # Residual network of one cut.
    float64_t unit_gain         # capacity that stands for one of gain, and of price
    float64_t unit_price
    int32_t far                 # height of a vertex that cannot reach the sink
    vector[int64_t] excess
    vector[int64_t] to_sink     # residual capacity of the arc to the sink
    vector[int64_t] capacity    # of the arcs into a vertex
    vector[int64_t] flow        # on the arcs of `need`
    vector[int32_t] height
    vector[int32_t] current     # next arc to try
    vector[int32_t] back_start  # arcs into a vertex, and the nodes they come from
    vector[int32_t] back
    vector[int32_t] back_node
    vector[int32_t] queue       # of the search, then the next vertex of the same height
    vector[uint8_t] queued
    vector[int32_t] touched     # vertices that a discharge has pushed to: the first n_touched
    int32_t n_touched


cdef int compare_products(int64_t a, int64_t b, int64_t c, int64_t d) noexcept nogil:
    # Sign of a * b - c * d, exactly, for numbers that are not negative. Where a / c and d / b have
    # one whole part, it can be taken out of both: the continued fractions are compared.
    cdef int64_t p, q
    while a and b and c and d:
        p, q = a // c, d // b
        if p != q:
            return 1 if p > q else -1
        a, b, c, d = b, a - p * c, d - q * b, c
    return (a > 0 and b > 0) - (c > 0 and d > 0)


cdef int64_t common_divisor(int64_t a, int64_t b) noexcept nogil:
    while b:
        a, b = b, a % b
    return a


cdef void wire(Subproblem* part, Network* net) noexcept nogil:
    # Fill the shape of the network; capacities follow.
    cdef int32_t total = <int32_t>part.gain.size(), n_arcs = <int32_t>part.need.size(), v, w, a
    net.far = total + 1
    net.excess.assign(total, 0)
    net.to_sink.assign(total, 0)
    net.capacity.assign(total, CAPACITY)
    net.flow.assign(n_arcs, 0)
    net.height.assign(total, 0)
    net.current.assign(total, 0)
    net.queued.assign(total, 0)
    net.queue.assign(total, 0)
    net.back.resize(n_arcs)
    net.back_node.resize(n_arcs)
    net.back_start.assign(total + 2, 0)
    for a in range(n_arcs):
        net.back_start[part.need[a] + 2] += 1
    for w in range(total):
        net.back_start[w + 2] += net.back_start[w + 1]
    for v in range(<int32_t>part.node.size()):
        for a in range(part.start[v], part.start[v + 1]):
            w = part.need[a]
            net.back[net.back_start[w + 1]] = a
            net.back_node[net.back_start[w + 1]] = v
            net.back_start[w + 1] += 1


cdef void push_up(Subproblem* part, Network* net, bint resumes) noexcept nogil:
    # Each node's gain pays for its own items, what is left goes to its parent: the best preflow
    # of a single tree. Where it resumes an earlier flow, as much of that as the new capacities
    # allow; the rest stays as excess.
    cdef int32_t n = <int32_t>part.node.size(), v, w, a, first, last, skipped
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
        first, last = part.start[v], part.start[v + 1]
        skipped = first < last and part.need[first] < n
        for a in range(first + skipped, last + skipped):
            if e == 0:
                break
            a = a if a < last else first  # the parent
            w = part.need[a]
            d = e if w < n else min(e, net.to_sink[w])
            if resumes:
                d = min(d, <int64_t>(factor * <float64_t>part.flow[a]))
            if d == 0:
                continue
            net.flow[a] += d
            e -= d
            if w < n:
                net.excess[w] += d
            else:
                net.to_sink[w] -= d
        net.excess[v] = e


cdef inline void reach(Network* net, int32_t x, int32_t height, int32_t* last) noexcept nogil:
    # A vertex that nothing else has reached yet goes into the queue of the search.
    net.height[x] = height
    net.queue[last[0]] = x
    last[0] += 1


cdef void relabel_all(Subproblem* part, Network* net) noexcept nogil:
    # Exact distances to the sink; `far` where there is no way.
    cdef int32_t n = <int32_t>part.node.size(), total = <int32_t>part.gain.size()
    cdef int32_t first = 0, last = 0, far = net.far, a, k, x, y, above, stop
    cdef int32_t[2] left = [n, total - n]   # nodes and items that are not reached
    net.current.assign(total, 0)
    net.height.assign(total, far)
    for x in range(total):
        if net.to_sink[x] > 0:
            reach(net, x, 1, &last)
            left[x >= n] -= 1
    while first < last and last < total:
        x = net.queue[first]
        first += 1
        above = net.height[x] + 1
        if left[0]:
            # Heights come first: most are known, and then no flow has to be looked up.
            for k in range(net.back_start[x], net.back_start[x + 1]):
                y = net.back_node[k]
                if net.height[y] == far and net.flow[net.back[k]] < net.capacity[x]:
                    reach(net, y, above, &last)
                    left[0] -= 1
        # Where all items are reached, only the parent is left, which comes first.
        stop = part.start[x + 1]
        if not left[1]:
            stop = min(stop, part.start[x] + 1)
        for a in range(part.start[x], stop):
            y = part.need[a]
            if net.flow[a] > 0 and net.height[y] == far:
                reach(net, y, above, &last)
                left[y >= n] -= 1


cdef inline int64_t push_to(Network* net, int32_t x, int64_t amount) noexcept nogil:
    net.excess[x] += amount
    net.touched[net.n_touched] = x
    net.n_touched += 1
    return amount


cdef int64_t discharge(Subproblem* part, Network* net, int32_t x) noexcept nogil:
    # Push the excess of a vertex downhill until none is left or the vertex has to be lifted, which
    # is then done. Returns the work; vertices that received flow are added to `touched`.
    cdef int32_t total = <int32_t>part.gain.size(), height = net.height[x]
    cdef int32_t first = part.start[x], n_needs = part.start[x + 1] - first
    cdef int32_t back = net.back_start[x] - n_needs - 1
    # Arcs in turn: sink, what it needs, what needs it.
    cdef int32_t n_arcs = net.back_start[x + 1] - back
    cdef int32_t k = net.current[x], y, a
    cdef int64_t d, e = net.excess[x], work = 0
    while e > 0:
        if k == n_arcs:
            work += n_arcs
            net.height[x] = lifted(part, net, x)
            k = 0
            break
        work += 1
        if k == 0:
            if height == 1:
                d = min(e, net.to_sink[x])
                net.to_sink[x] -= d
                e -= d
        elif k <= n_needs:
            a = first + k - 1
            y = part.need[a]
            if net.height[y] == height - 1:
                d = min(e, net.capacity[y] - net.flow[a])
                if d > 0:
                    net.flow[a] += d
                    e -= push_to(net, y, d)
        else:
            y = net.back_node[back + k]
            if net.height[y] == height - 1:
                a = net.back[back + k]
                d = min(e, net.flow[a])
                if d > 0:
                    net.flow[a] -= d
                    e -= push_to(net, y, d)
        if e > 0:
            k += 1
        if net.n_touched > total:
            break
    net.excess[x] = e
    net.current[x] = k
    return work


cdef inline int32_t lifted(Subproblem* part, Network* net, int32_t x) noexcept nogil:
    # One above the lowest vertex to which an arc still leads.
    cdef int32_t lowest = net.far - 1, a, k, y
    if net.to_sink[x] > 0:
        return 1
    for a in range(part.start[x], part.start[x + 1]):
        y = part.need[a]
        if net.height[y] < lowest and net.flow[a] < net.capacity[y]:
            lowest = net.height[y]
    for k in range(net.back_start[x], net.back_start[x + 1]):
        y = net.back_node[k]
        if net.height[y] < lowest and net.flow[net.back[k]] > 0:
            lowest = net.height[y]
    return lowest + 1


cdef int push_relabel(Subproblem* part, Network* net) except -1 nogil:
    # Maximum preflow. Afterwards the vertices of height `far` are those that cannot reach
    # the sink: the largest optimal set. Returns 1 when the clock ran out.
    cdef int32_t total = <int32_t>part.gain.size(), x, y, k, top
    cdef int64_t limit = <int64_t>part.need.size() + total, work
    cdef intp_t polled = 0
    cdef size_t left                # active vertices of this sweep
    cdef vector[int32_t] head       # stacks of active vertices by height
    cdef vector[int32_t] later      # active vertices of the next sweep
    # A discharge stops by itself when it has touched this many.
    net.touched.resize(total + 2)
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
            for x in later:
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
                net.n_touched = 0
                work += discharge(part, net, x)
                if net.excess[x] > 0 and net.height[x] < net.far:
                    if net.height[x] > top:
                        later.push_back(x)
                    else:
                        net.touched[net.n_touched] = x
                        net.n_touched += 1
                for k in range(net.n_touched):
                    y = net.touched[k]
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
    cdef int32_t n = <int32_t>part.node.size(), v
    cdef int64_t divisor = common_divisor(part.d_gain, part.d_cost)
    cdef int64_t by_gain = part.d_cost // divisor
    cdef int64_t by_cost = part.d_gain // divisor
    cdef float64_t gains = 0.0, costs = 0.0, scale
    cdef int64_t net_gain
    wire(part, net)
    for v in range(<int32_t>part.gain.size()):
        gains += abs(<float64_t>part.gain[v])
        costs += <float64_t>part.cost[v]
    gains *= <float64_t>by_gain
    costs *= <float64_t>by_cost
    scale = <float64_t>CAPACITY / (gains + costs + 1.0)
    net.unit_gain = min(scale, 1.0) * <float64_t>by_gain
    net.unit_price = min(scale, 1.0) * <float64_t>by_cost
    for v in range(<int32_t>part.gain.size()):
        if scale >= 1.0:
            net_gain = part.gain[v] * by_gain - part.cost[v] * by_cost
        else:
            net_gain = <int64_t>(
                scale * (<float64_t>part.gain[v] * <float64_t>by_gain)
                - scale * (<float64_t>part.cost[v] * <float64_t>by_cost)
            )
        if net_gain >= 0:
            net.excess[v] = net_gain
        else:
            net.to_sink[v] = -net_gain
        if v >= n:
            net.capacity[v] = net.to_sink[v]
    return push_relabel(part, net)


cdef void copy_some(Subproblem* part, const vector[uint8_t]& wanted, uint8_t which,
                    const vector[int64_t]& flow, Subproblem* to) noexcept nogil:
    # The vertices that are `which` of a part, without what they need of others; empty at first.
    # Items are numbered as nodes need them, so that those of a node lie close together.
    cdef int32_t n = <int32_t>part.node.size(), v, w, a
    cdef size_t k = 0
    cdef vector[int32_t] order, place
    place.assign(wanted.size(), -1)
    for v in range(n):
        if wanted[v] == which:
            place[v] = <int32_t>order.size()
            order.push_back(v)
    to.start.push_back(0)
    while k < order.size():
        v = order[k]
        k += 1
        to.gain.push_back(part.gain[v])
        to.cost.push_back(part.cost[v])
        to.paid.push_back(part.paid[v])
        to.d_gain += part.gain[v]
        to.d_cost += part.cost[v]
        to.d_paid += part.paid[v]
        if v < n:
            to.node.push_back(part.node[v])
        for a in range(part.start[v], part.start[v + 1]):
            w = part.need[a]
            if wanted[w] != which:
                continue
            if place[w] < 0:
                place[w] = <int32_t>order.size()
                order.push_back(w)
            to.need.push_back(place[w])
            if flow.size():
                to.flow.push_back(flow[a])
        to.start.push_back(<int32_t>to.need.size())


cdef bint halve(Subproblem* part, Network* net, Subproblem* low,
                Subproblem* high) noexcept nogil:
    # Divide a stretch at the set that its cut found; False if there is none above the chord.
    # low: the nodes the cut keeps; high: the others, for which the items of low are paid. Both
    # are empty at first.
    cdef int32_t v
    cdef int64_t profit = 0
    cdef vector[uint8_t] is_low
    for v in range(<int32_t>part.gain.size()):
        profit = max(profit, net.excess[v])
    if profit == 0:
        # Items and losses could absorb all gain.
        return False
    is_low.assign(part.gain.size(), 0)
    for v in range(<int32_t>part.node.size()):
        is_low[v] = net.height[v] == net.far
    mark_needed(part, is_low)
    copy_some(part, is_low, 1, net.flow, low)
    copy_some(part, is_low, 0, net.flow, high)
    low.unit = net.unit_gain
    low.is_low = 1
    high.unit = net.unit_price
    high.is_low = 0
    # Profit may be of no more than rounding, where the capacities were rounded.
    return low.d_gain > 0 and compare_products(
        low.d_gain, part.d_cost, low.d_cost, part.d_gain
    ) > 0


cdef void mark_needed(Subproblem* part, vector[uint8_t]& wanted) noexcept nogil:
    # What the nodes that are wanted need is wanted, too.
    cdef int32_t v, a
    for v in range(<int32_t>part.node.size()):
        if wanted[v]:
            for a in range(part.start[v], part.start[v + 1]):
                wanted[part.need[a]] = 1


cdef void take(const int32_t[::1] parent, const int64_t[::1] gain, const int64_t[::1] own,
               const int64_t[::1] start, const int32_t[::1] items, const int64_t[::1] price,
               const uint8_t[::1] active, const float64_t[::1] paid, bint has_paid,
               float64_t paid_per_price, Subproblem* part) noexcept nogil:
    # The whole problem, restricted to the active nodes (closed under parents); empty at first.
    cdef int32_t n = <int32_t>parent.shape[0], v, w, a
    cdef Subproblem whole
    cdef vector[uint8_t] wanted
    wanted.assign(n + price.shape[0], 0)
    whole.need.reserve(items.shape[0] + n)
    whole.start.push_back(0)
    for v in range(n):
        wanted[v] = active[v]
        whole.node.push_back(v)
        whole.gain.push_back(gain[v])
        whole.cost.push_back(own[v])
        whole.paid.push_back(paid[v] if has_paid else <float64_t>own[v])
        if parent[v] >= 0:
            whole.need.push_back(parent[v])
        for a in range(start[v], start[v + 1]):
            whole.need.push_back(n + items[a])
        whole.start.push_back(<int32_t>whole.need.size())
    for w in range(<int32_t>price.shape[0]):
        whole.gain.push_back(0)
        whole.cost.push_back(price[w])
        whole.paid.push_back(paid_per_price * <float64_t>price[w])
        whole.start.push_back(<int32_t>whole.need.size())
    mark_needed(&whole, wanted)
    copy_some(&whole, wanted, 1, whole.flow, part)


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
    edge_of_node[:] = -1
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
                    is_halved = halve(&part, &net, &low, &high)
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
