"""Alternating optimisation of a tree: every split in turn, with all others fixed.

Columns are codes: code b of a column lies between its cuts b - 1 and b, and a row goes left at a
split by cut c if its code is at most c. The code after the last stands for a missing value. A row
costs what it loses by the answer of its leaf, times its weight: whether the labels differ, or the
squared difference of the values. A column is swept by a histogram over its codes. The first rows
are real; a split into two leaves gives each of them enough of these.
"""

from libc.math cimport INFINITY, log
from libcpp.algorithm cimport pop_heap, push_heap
from libcpp.utility cimport pair
from libcpp.vector cimport vector

from ensemble_simplify._typedefs cimport (
    float64_t, int32_t, intp_t, popcount, should_stop, uint8_t, uint16_t, uint64_t,
)
from ensemble_simplify.grid._sweep cimport TIE

cdef enum:
    ERROR = 0               # what the best answer of each side loses
    SQUARES = 1             # the variance; for labels the Gini impurity
    ENTROPY = 2
    FEW = 8                 # rows are few if there are so many times as many codes
    POLL = 1 << 22          # entries of columns read between two looks for an interruption


cdef struct Rows:
    intp_t n_rows
    intp_t n_columns
    intp_t n_outputs
    const uint16_t *codes       # (n_columns, n_rows)
    const int32_t *n_cuts       # (n_columns,)
    intp_t n_tried
    const int32_t *tried        # (n_tried,): columns that may split, ascending
    const int32_t *label        # (n_rows,); NULL: values
    const float64_t *value      # (n_rows, n_outputs), of mean 0
    const float64_t *weight     # (n_rows,)
    intp_t n_real               # rows, the first ones, that are counted
    double least                # of them in a leaf


cdef struct Nodes:
    int32_t *column             # -1: a leaf
    int32_t *cut
    uint8_t *missing_left
    int32_t *left
    int32_t *right
    int32_t *label              # of leaves
    float64_t *value            # (n_nodes, n_outputs), of leaves


cdef struct Split:
    double score                # the larger, the better
    int32_t column              # -1: none
    int32_t cut
    bint missing_left
    bint is_swapped             # rows up to the cut go right


cdef struct Part:
    # A node and its rows, a piece of `Room.rows`.
    intp_t node
    intp_t begin
    intp_t end


cdef cppclass Room:
    # Working room, taken once.
    vector[int32_t] rows        # in the order of the leaves as far as they are known
    vector[int32_t] spare
    vector[int32_t] differ      # rows whose answer depends on the split
    vector[double] gain         # of each of these, by going left
    vector[double] bins         # sums of the rows of each code of a column; all 0 between columns
    vector[uint64_t] is_met     # a bit for each code that rows have; all 0 between columns
    vector[int32_t] met         # codes that rows have
    vector[double] sums, left, right, with_missing, inverse
    vector[Part] stack
    vector[intp_t] visited      # nodes of a pass, parents first
    vector[uint8_t] is_moved    # nodes whose rows are others than in the last pass
    vector[uint8_t] is_new      # nodes that have changed, or a node below, in this or the last pass
    intp_t n_read


# --------------------------------------------------------------------- rows and nodes

cdef inline bint goes_left(const Rows *r, const Nodes *t, intp_t node, intp_t row) noexcept nogil:
    cdef int32_t j = t.column[node]
    cdef int32_t code = r.codes[j * r.n_rows + row]
    return t.missing_left[node] if code > r.n_cuts[j] else code <= t.cut[node]


cdef inline intp_t leaf_of(
    const Rows *r, const Nodes *t, intp_t node, intp_t row
) noexcept nogil:
    """The leaf below a node that a row comes to."""
    while t.column[node] >= 0:
        node = t.left[node] if goes_left(r, t, node, row) else t.right[node]
    return node


cdef inline double loss(const Rows *r, const Nodes *t, intp_t leaf, intp_t row) noexcept nogil:
    """What a row loses by the answer of a leaf, without its weight."""
    cdef double total = 0.0, difference
    cdef intp_t k
    if r.label != NULL:
        return 0.0 if r.label[row] == t.label[leaf] else 1.0
    for k in range(r.n_outputs):
        difference = r.value[row * r.n_outputs + k] - t.value[leaf * r.n_outputs + k]
        total += difference * difference
    return total


cdef intp_t divide(const Rows *r, const Nodes *t, Part part, Room &room) noexcept nogil:
    """Put the rows of a node that go left before the others, and return where these begin."""
    cdef intp_t i, boundary = part.begin, n_right = 0
    cdef int32_t row
    for i in range(part.begin, part.end):
        row = room.rows[i]
        if goes_left(r, t, part.node, row):
            room.rows[boundary] = row
            boundary += 1
        else:
            room.spare[n_right] = row
            n_right += 1
    for i in range(n_right):
        room.rows[boundary + i] = room.spare[i]
    return boundary


cdef void push_children(const Rows *r, const Nodes *t, Part part, Room &room) noexcept nogil:
    cdef intp_t boundary = divide(r, t, part, room)
    cdef Part child
    child.node, child.begin, child.end = t.right[part.node], boundary, part.end
    room.stack.push_back(child)
    child.node, child.begin, child.end = t.left[part.node], part.begin, boundary
    room.stack.push_back(child)


cdef inline void add_row(const Rows *r, double *sums, intp_t row) noexcept nogil:
    """Add a row to the sums of a side: of each label or value, of weights, and of real rows."""
    cdef intp_t k
    cdef double weight = r.weight[row]
    if r.label != NULL:
        sums[r.label[row]] += weight
    else:
        for k in range(r.n_outputs):
            sums[k] += weight * r.value[row * r.n_outputs + k]
    sums[r.n_outputs] += weight
    if row < r.n_real:
        sums[r.n_outputs + 1] += 1.0


cdef void add_rows(const Rows *r, Part part, Room &room) noexcept nogil:
    cdef intp_t i
    room.sums.assign(r.n_outputs + 2, 0.0)
    for i in range(part.begin, part.end):
        add_row(r, room.sums.data(), room.rows[i])


cdef bint set_answer(const Rows *r, const Nodes *t, Part part, Room &room) noexcept nogil:
    """Give a leaf the answer that costs its rows least; tells whether it is another one.

    The label that it has stays where labels tie.
    """
    cdef intp_t k, best = t.label[part.node]
    cdef bint is_new = False
    cdef double value
    if part.begin == part.end:
        return False
    add_rows(r, part, room)
    if r.label != NULL:
        for k in range(r.n_outputs):
            if room.sums[k] > room.sums[best] + TIE * room.sums[r.n_outputs]:
                best = k
        is_new = best != t.label[part.node]
        t.label[part.node] = best
        return is_new
    for k in range(r.n_outputs):
        value = room.sums[k] / room.sums[r.n_outputs]
        is_new |= value != t.value[part.node * r.n_outputs + k]
        t.value[part.node * r.n_outputs + k] = value
    return is_new


cdef double cost_of(const Rows *r, const Nodes *t) noexcept nogil:
    cdef double total = 0.0
    cdef intp_t row
    for row in range(r.n_rows):
        total += r.weight[row] * loss(r, t, leaf_of(r, t, 0, row), row)
    return total


# --------------------------------------------------------------------- one split

cdef void meet_codes(
    const uint16_t *codes, const int32_t *rows, intp_t n_rows, intp_t n_codes, Room &room
) noexcept nogil:
    """List the codes that some rows have, ascending: all codes where there are many rows."""
    cdef intp_t i, w
    cdef uint64_t bits, lowest
    if n_rows >= n_codes:
        for i in range(n_codes):
            room.met.push_back(<int32_t>i)
        return
    for i in range(n_rows):
        room.is_met[codes[rows[i]] >> 6] |= (<uint64_t>1) << (codes[rows[i]] & 63)
    # a cut below all of the rows, as among all codes
    if n_rows * FEW >= n_codes:
        room.is_met[0] |= 1
    for w in range(<intp_t>room.is_met.size()):
        bits = room.is_met[w]
        room.is_met[w] = 0
        while bits:
            lowest = bits & (~bits + 1)
            room.met.push_back(<int32_t>(64 * w + popcount(lowest - 1)))
            bits ^= lowest


cdef void forget_codes(Room &room, intp_t width) noexcept nogil:
    """Make the bins empty again."""
    cdef size_t i
    cdef intp_t k
    for i in range(room.met.size()):
        for k in range(room.met[i] * width, (room.met[i] + 1) * width):
            room.bins[k] = 0.0
    room.met.clear()


cdef inline void take(
    Split *best, double score, double scale, intp_t column, intp_t cut, bint missing_left,
    bint is_swapped,
) noexcept nogil:
    if score > best.score + TIE * scale:
        best.score, best.column, best.cut = score, <int32_t>column, <int32_t>cut
        best.missing_left, best.is_swapped = missing_left, is_swapped


cdef void find_between(
    const Rows *r, const Nodes *t, Part part, Room &room, Split *best
) noexcept nogil:
    """The split that costs least, with the two branches below it as they are.

    `best` is the present split, with a score of 0; the score is what is gained over it.
    """
    cdef intp_t i, j, m, b, n_differ = 0, row
    cdef double gain, now = 0.0, scale = 0.0, left, present, missing, before
    cdef const uint16_t *codes
    for i in range(part.begin, part.end):
        row = room.rows[i]
        gain = r.weight[row] * (
            loss(r, t, leaf_of(r, t, t.right[part.node], row), row)
            - loss(r, t, leaf_of(r, t, t.left[part.node], row), row)
        )
        if gain == 0.0:
            continue
        room.differ[n_differ], room.gain[n_differ] = <int32_t>row, gain
        n_differ += 1
        scale += abs(gain)
        if goes_left(r, t, part.node, row):
            now += gain
    for m in range(r.n_tried):
        j = r.tried[m]
        codes = r.codes + j * r.n_rows
        meet_codes(codes, room.differ.data(), n_differ, r.n_cuts[j] + 2, room)
        present = 0.0
        for i in range(n_differ):
            room.bins[codes[room.differ[i]]] += room.gain[i]
            present += room.gain[i]
        missing = room.bins[r.n_cuts[j] + 1]
        present -= missing
        left = 0.0
        before = max(missing, 0.0) - now
        for i in range(<intp_t>room.met.size()):
            b = room.met[i]
            if b > r.n_cuts[j]:
                break
            left += room.bins[b]
            take(best, left + before, scale, j, b, missing > 0.0, False)
            take(best, present - left + before, scale, j, b, missing > 0.0, True)
        forget_codes(room, 1)
    room.n_read += r.n_tried * n_differ


cdef inline double score_side(
    const double *sums, intp_t n_outputs, int criterion
) noexcept nogil:
    """How good a side is, times its weight, up to what is the same for all splits of a node."""
    cdef double score = 0.0, weight = sums[n_outputs]
    cdef intp_t k
    if weight <= 0.0:
        return 0.0
    if criterion == ERROR:
        for k in range(n_outputs):
            score = max(score, sums[k])
        return score
    if criterion == SQUARES:
        for k in range(n_outputs):
            score += sums[k] * sums[k]
        return score / weight
    for k in range(n_outputs):
        if sums[k] > 0.0:
            score += sums[k] * log(sums[k] / weight)
    return score


cdef inline bint is_hopeless(
    const double *left, const double *right, const double *inverse, double least, intp_t n
) noexcept nogil:
    """Whether two sides surely gain no more entropy than so much (`least`).

    They gain at most the chi-squared statistic, which needs no logarithm; `inverse` are the shares
    of the labels in the node, inverted.
    """
    cdef double gain = -left[n] - right[n]
    cdef intp_t k
    for k in range(n):
        gain += inverse[k] * (left[k] * left[k] / left[n] + right[k] * right[k] / right[n])
    return gain <= least


cdef inline double score_both(
    const Rows *r, const double *left, double *right, const double *sums, int criterion, intp_t n,
    const double *inverse, double least,
) noexcept nogil:
    """The score of a left side and of the rest of the sums; -inf if one has too few rows.

    It is -inf, too, of a gain of entropy that does not exceed `least`.
    """
    cdef intp_t k
    for k in range(n + 2):
        right[k] = sums[k] - left[k]
    if min(left[n], right[n]) <= TIE * sums[n] or min(left[n + 1], right[n + 1]) < r.least:
        return -INFINITY
    if criterion == ENTROPY and is_hopeless(left, right, inverse, least, n):
        return -INFINITY
    return score_side(left, n, criterion) + score_side(right, n, criterion)


cdef inline void sweep_columns(
    const Rows *r, Part part, int criterion, intp_t n_outputs, Room &room, Split *best
) noexcept nogil:
    cdef intp_t i, j, m, b, k, width = n_outputs + 2
    cdef double scale
    cdef const uint16_t *codes
    cdef double *bins = room.bins.data()
    cdef double *missing
    cdef double *left = room.left.data()
    cdef double *right = room.right.data()
    cdef double *with_missing = room.with_missing.data()
    cdef double *inverse = room.inverse.data()
    cdef const double *sums
    cdef double score, whole = best.score
    add_rows(r, part, room)
    sums = room.sums.data()
    for k in range(n_outputs):
        inverse[k] = sums[n_outputs] / sums[k] if sums[k] > 0.0 else 0.0
    scale = sums[n_outputs]
    if r.label == NULL:
        scale = 0.0
        for i in range(part.begin, part.end):
            for k in range(room.rows[i] * n_outputs, (room.rows[i] + 1) * n_outputs):
                scale += r.weight[room.rows[i]] * r.value[k] * r.value[k]
    for m in range(r.n_tried):
        j = r.tried[m]
        codes = r.codes + j * r.n_rows
        meet_codes(
            codes, room.rows.data() + part.begin, part.end - part.begin, r.n_cuts[j] + 2, room
        )
        for i in range(part.begin, part.end):
            add_row(r, bins + codes[room.rows[i]] * width, room.rows[i])
        missing = bins + (r.n_cuts[j] + 1) * width
        for k in range(width):
            left[k] = 0.0
        for i in range(<intp_t>room.met.size()):
            b = room.met[i]
            if b > r.n_cuts[j]:
                break
            if bins[b * width + n_outputs] == 0.0:
                continue
            for k in range(width):
                left[k] += bins[b * width + k]
            score = score_both(
                r, left, right, sums, criterion, n_outputs, inverse, best.score - whole
            )
            take(best, score, scale, j, b, False, False)
            if missing[n_outputs] > 0.0:
                for k in range(width):
                    with_missing[k] = left[k] + missing[k]
                score = score_both(
                    r, with_missing, right, sums, criterion, n_outputs, inverse, best.score - whole
                )
                take(best, score, scale, j, b, True, False)
        forget_codes(room, width)
    room.n_read += r.n_tried * (part.end - part.begin)


cdef void find_stump(
    const Rows *r, Part part, int criterion, Room &room, Split *best
) noexcept nogil:
    """The split into two leaves whose answers are free; its score must be above that of `best`.

    By entropy, that is the score of the node as a leaf.
    """
    # compiled for two labels alone, which most models have, loops over them are gone
    if r.n_outputs == 2 and criterion == SQUARES:
        sweep_columns(r, part, SQUARES, 2, room, best)
    elif r.n_outputs == 2 and criterion == ENTROPY:
        sweep_columns(r, part, ENTROPY, 2, room, best)
    else:
        sweep_columns(r, part, criterion, r.n_outputs, room, best)


cdef bint improve(const Rows *r, const Nodes *t, Part part, Room &room) noexcept nogil:
    """Put the best split into a node; tells whether it is another one."""
    cdef intp_t node = part.node, left = t.left[node], right = t.right[node], boundary
    cdef Split best
    cdef Part side
    cdef double score
    best.score, best.column, best.is_swapped = 0.0, -1, False
    if t.column[left] < 0 and t.column[right] < 0:
        boundary = divide(r, t, part, room)
        side.node, side.begin, side.end = left, part.begin, boundary
        add_rows(r, side, room)
        score = score_side(room.sums.data(), r.n_outputs, ERROR if r.label != NULL else SQUARES)
        side.begin, side.end = boundary, part.end
        add_rows(r, side, room)
        best.score = score + score_side(
            room.sums.data(), r.n_outputs, ERROR if r.label != NULL else SQUARES
        )
        find_stump(r, part, ERROR if r.label != NULL else SQUARES, room, &best)
    else:
        find_between(r, t, part, room, &best)
    if best.column < 0:
        return False
    t.column[node], t.cut[node] = best.column, best.cut
    t.missing_left[node] = best.missing_left
    if best.is_swapped:
        t.left[node], t.right[node] = <int32_t>right, <int32_t>left
        t.missing_left[node] = not best.missing_left
    return True


# --------------------------------------------------------------------- called from Python

cdef class Alternating:
    """Rows as codes, with what is known of them, on which trees are optimised.

    Parameters
    ----------
    codes : uint16 array of shape (n_columns, n_rows)
    n_cuts : int32 array of shape (n_columns,)
    label : int32 array of shape (n_rows,), or (0,) for values
    value : float64 array of shape (n_rows, n_outputs), or (0, n_outputs) for labels
    weight : float64 array of shape (n_rows,)
    n_real : int
        Rows, the first ones, that are real.
    least : int
        Real rows of each leaf of a split into two leaves.
    tried : int32 array
        Columns that may split, ascending.
    """

    cdef const uint16_t[:, ::1] codes
    cdef const int32_t[::1] n_cuts
    cdef const int32_t[::1] label
    cdef const float64_t[:, ::1] value
    cdef const float64_t[::1] weight
    cdef const int32_t[::1] tried
    cdef Rows rows
    cdef Room room

    def __init__(
        self,
        const uint16_t[:, ::1] codes,
        const int32_t[::1] n_cuts,
        const int32_t[::1] label,
        const float64_t[:, ::1] value,
        const float64_t[::1] weight,
        intp_t n_real,
        intp_t least,
        const int32_t[::1] tried,
    ):
        cdef Rows *r = &self.rows
        cdef intp_t n_codes = 0, j
        self.codes, self.n_cuts, self.weight = codes, n_cuts, weight
        self.label, self.value, self.tried = label, value, tried
        r.n_columns, r.n_rows, r.n_outputs = codes.shape[0], codes.shape[1], value.shape[1]
        r.codes = &codes[0, 0]
        r.n_cuts = &n_cuts[0]
        r.n_tried, r.tried = tried.shape[0], &tried[0]
        r.weight = &weight[0]
        r.n_real, r.least = n_real, least
        r.label = NULL
        r.value = NULL
        if label.shape[0]:
            r.label = &label[0]
        else:
            r.value = &value[0, 0]
        self.room.rows.resize(r.n_rows)
        self.room.spare.resize(r.n_rows)
        self.room.differ.resize(r.n_rows)
        self.room.gain.resize(r.n_rows)
        for j in range(r.n_columns):
            n_codes = max(n_codes, <intp_t>n_cuts[j] + 2)
        self.room.bins.assign(n_codes * (r.n_outputs + 2), 0.0)
        self.room.is_met.assign((n_codes + 63) >> 6, 0)
        self.room.met.reserve(n_codes)
        self.room.sums.resize(r.n_outputs + 2)
        self.room.left.resize(r.n_outputs + 2)
        self.room.right.resize(r.n_outputs + 2)
        self.room.with_missing.resize(r.n_outputs + 2)
        self.room.inverse.resize(r.n_outputs)
        self.room.n_read = 0

    cdef Part everything(self) noexcept nogil:
        cdef Part part
        cdef intp_t row
        for row in range(self.rows.n_rows):
            self.room.rows[row] = <int32_t>row
        part.node, part.begin, part.end = 0, 0, self.rows.n_rows
        return part

    cdef int poll(self) except -1 nogil:
        if self.room.n_read > POLL:
            self.room.n_read = 0
            should_stop(INFINITY)
        return 0

    cdef bint visit(self, Nodes *t) except -1 nogil:
        """Optimise each split and answer once, parents first; tells whether anything is new.

        Where neither the rows of a node nor what is below it are new since the last pass, there is
        nothing to find.
        """
        cdef Rows *r = &self.rows
        cdef Part part
        cdef intp_t i, node
        cdef bint is_split_new
        self.room.visited.clear()
        self.room.stack.clear()
        self.room.stack.push_back(self.everything())
        while self.room.stack.size():
            part = self.room.stack.back()
            node = part.node
            self.room.stack.pop_back()
            if not self.room.is_moved[node] and not self.room.is_new[node]:
                continue
            self.room.visited.push_back(node)
            if part.begin == part.end:
                self.room.is_new[node] = False
                continue
            if t.column[node] < 0:
                self.room.is_new[node] = set_answer(r, t, part, self.room)
                continue
            is_split_new = improve(r, t, part, self.room)
            self.room.is_new[node] = is_split_new
            self.room.is_moved[t.left[node]] = is_split_new or self.room.is_moved[node]
            self.room.is_moved[t.right[node]] = is_split_new or self.room.is_moved[node]
            self.poll()
            push_children(r, t, part, self.room)
        for i in range(<intp_t>self.room.visited.size() - 1, -1, -1):
            node = self.room.visited[i]
            self.room.is_moved[node] = False
            if t.column[node] >= 0 and (
                self.room.is_new[t.left[node]] or self.room.is_new[t.right[node]]
            ):
                self.room.is_new[node] = True
        return self.room.is_new[0]

    def optimise(
        self,
        int32_t[::1] column,                # (n_nodes,), of splits; -1: a leaf
        int32_t[::1] cut,
        uint8_t[::1] missing_left,
        int32_t[::1] left,                  # (n_nodes,): children
        int32_t[::1] right,
        int32_t[::1] label,                 # (n_nodes,), of leaves
        float64_t[:, ::1] value,            # (n_nodes, n_outputs), of leaves
        intp_t most,                        # passes
        double enough,                      # a pass must lower the cost by this share
    ):
        """Optimise each split and each answer in turn, in place; returns the cost.

        The cost never rises. Two leaves below a split are chosen with it. A branch that no row
        comes to stays as it is.
        """
        cdef Rows *r = &self.rows
        cdef Nodes t
        cdef intp_t _pass
        cdef double cost, before
        t.column, t.cut, t.missing_left = &column[0], &cut[0], &missing_left[0]
        t.left, t.right, t.label, t.value = &left[0], &right[0], &label[0], &value[0, 0]
        with nogil:
            self.room.is_moved.assign(column.shape[0], True)
            self.room.is_new.assign(column.shape[0], True)
            cost = cost_of(r, &t)
            for _pass in range(most):
                if not self.visit(&t):
                    break
                before = cost
                cost = cost_of(r, &t)
                if before - cost <= enough * before:
                    break
        return cost

    def grow(
        self,
        int32_t[::1] column,                # (n_nodes,), as above, with room for further nodes
        int32_t[::1] cut,
        uint8_t[::1] missing_left,
        int32_t[::1] left,
        int32_t[::1] right,
        int32_t[::1] label,
        float64_t[:, ::1] value,
        intp_t n_nodes,                     # that are there
        bint by_entropy,                    # of labels; otherwise by the variance
        intp_t max_depth,                   # of leaves; the root is at 0
    ):
        """Split leaves, the one whose split lowers the impurity most first, while there is room.

        Returns the number of nodes.
        """
        cdef Rows *r = &self.rows
        cdef Nodes t
        cdef Part part
        cdef Split best
        cdef intp_t k, node, leaf
        cdef int criterion = ENTROPY if by_entropy else SQUARES
        cdef double score
        cdef vector[Split] splits
        cdef vector[Part] parts
        cdef vector[intp_t] depth
        cdef vector[pair[double, intp_t]] heap
        t.column, t.cut, t.missing_left = &column[0], &cut[0], &missing_left[0]
        t.left, t.right, t.label, t.value = &left[0], &right[0], &label[0], &value[0, 0]
        with nogil:
            depth.assign(column.shape[0], 0)
            splits.resize(column.shape[0])
            parts.resize(column.shape[0])
            self.room.stack.clear()
            self.room.stack.push_back(self.everything())
            while True:
                while self.room.stack.size():
                    part = self.room.stack.back()
                    self.room.stack.pop_back()
                    node = part.node
                    if t.column[node] >= 0:
                        depth[t.left[node]] = depth[t.right[node]] = depth[node] + 1
                        push_children(r, &t, part, self.room)
                        continue
                    if part.begin == part.end:
                        continue
                    set_answer(r, &t, part, self.room)
                    if depth[node] >= max_depth:
                        continue
                    add_rows(r, part, self.room)
                    score = score_side(self.room.sums.data(), r.n_outputs, criterion)
                    best.score, best.column = score, -1
                    find_stump(r, part, criterion, self.room, &best)
                    self.poll()
                    if best.column >= 0:
                        parts[node], splits[node] = part, best
                        # of equal leaves, the first
                        heap.push_back(pair[double, intp_t](best.score - score, -node))
                        push_heap(heap.begin(), heap.end())
                if heap.empty() or n_nodes + 2 > column.shape[0]:
                    break
                node = -heap[0].second
                pop_heap(heap.begin(), heap.end())
                heap.pop_back()
                best = splits[node]
                t.column[node], t.cut[node] = best.column, best.cut
                t.missing_left[node] = best.missing_left
                t.left[node], t.right[node] = <int32_t>n_nodes, <int32_t>(n_nodes + 1)
                for leaf in range(n_nodes, n_nodes + 2):
                    t.column[leaf], t.label[leaf] = -1, t.label[node]
                    for k in range(r.n_outputs):
                        t.value[leaf * r.n_outputs + k] = t.value[node * r.n_outputs + k]
                n_nodes += 2
                self.room.stack.push_back(parts[node])
        return n_nodes

    def leaves(
        self,
        int32_t[::1] column,
        int32_t[::1] cut,
        uint8_t[::1] missing_left,
        int32_t[::1] left,
        int32_t[::1] right,
        int32_t[::1] leaf,                  # OUT (n_rows,)
    ):
        """The leaf of each row."""
        cdef Nodes t
        cdef intp_t row
        t.column, t.cut, t.missing_left = &column[0], &cut[0], &missing_left[0]
        t.left, t.right = &left[0], &right[0]
        with nogil:
            for row in range(self.rows.n_rows):
                leaf[row] = <int32_t>leaf_of(&self.rows, &t, 0, row)
