"""Lines of cells: what a forest says when one feature of a row takes any value.

The *line* of a row along an axis is the cells that differ from the row's cell on that axis only.
Along it, a tree answers as on the row until a split on the axis sends the line elsewhere; so the
votes of all cells of a line are those of the row, plus a change for each leaf that the line
reaches besides. A row with all its lines costs O(trees * (leaves reached) + cells * scores), not
a walk through each tree for each cell.

The sums are real arithmetic with a bound on its rounding. Where two classes are closer than the
bound, the cell is `UNSURE`, and the caller asks the ensemble's own arithmetic.
"""

import numpy as np

from libcpp.vector cimport vector

from ensemble_simplify.grid._regions cimport Node, right_child
from ensemble_simplify._typedefs cimport FREE as FREE_LABEL
from ensemble_simplify._typedefs cimport (
    float64_t,
    int32_t,
    intp_t,
    should_stop,
    uint8_t,
    uint16_t,
)

cdef enum:
    # Class of a cell whose votes are too close to tell.
    UNSURE_LABEL = 0xFFFE
    # Rows between two looks at the clock.
    POLL = 16

UNSURE = <int> UNSURE_LABEL


cdef struct Walk:
    const Node *nodes
    const float64_t *value
    const float64_t *own        # votes of the leaf in which the row ends
    intp_t n_scores
    const int32_t *cell
    const intp_t *first         # first position of every axis
    float64_t *change           # (positions + 1, n_scores): change of the votes from here on
    uint8_t *touched
    intp_t *n_changes           # for each axis
    const int32_t *n_cuts


cdef void leave_row(Walk *w, int32_t at, int32_t axis, int32_t lo, int32_t hi) noexcept nogil:
    """Note the leaves that the cells lo..hi of a line reach below a node."""
    cdef:
        intp_t s, here
        int32_t cut
        const float64_t *votes
        bint same = True
    while w.nodes[at].axis >= 0:
        cut = w.nodes[at].cut
        if w.nodes[at].axis != axis:
            at = at + 1 if w.cell[w.nodes[at].axis] <= cut else right_child(w.nodes, at)
        elif hi <= cut:
            at += 1
        elif lo > cut:
            at = right_child(w.nodes, at)
        else:
            leave_row(w, at + 1, axis, lo, cut)
            lo = cut + 1
            at = right_child(w.nodes, at)
    votes = w.value + w.nodes[at].cut * w.n_scores
    for s in range(w.n_scores):
        same = same and votes[s] == w.own[s]
    if same:
        return
    here = w.first[axis] + lo
    w.touched[here] = 1
    for s in range(w.n_scores):
        w.change[here * w.n_scores + s] += votes[s] - w.own[s]
    w.n_changes[axis] += 1
    if hi < w.n_cuts[axis]:
        here = w.first[axis] + hi + 1
        w.touched[here] = 1
        for s in range(w.n_scores):
            w.change[here * w.n_scores + s] -= votes[s] - w.own[s]
        w.n_changes[axis] += 1


cdef inline uint16_t decided(
    const float64_t *votes, intp_t n_scores, double tolerance, bint exact, bint tie_upper
) noexcept nogil:
    """The class of the largest vote; `UNSURE` where another comes within the tolerance."""
    cdef intp_t s, best = 0
    cdef double second = -1e308
    for s in range(1, n_scores):
        if votes[s] > votes[best] or (tie_upper and votes[s] == votes[best]):
            second = votes[best]
            best = s
        elif votes[s] > second:
            second = votes[s]
    if exact or n_scores == 1 or votes[best] - second > tolerance:
        return <uint16_t> best
    return UNSURE_LABEL


def label_lines(
    const int32_t[:, ::1] nodes,
    const intp_t[::1] offsets,
    const float64_t[:, ::1] value,
    bint exact,
    bint tie_upper,
    double tolerance,
    const int32_t[:, ::1] cells,
    const intp_t[::1] from_axis,
    const intp_t[::1] first,
    const int32_t[:, ::1] outside_lo,
    const int32_t[:, ::1] outside_hi,
    double deadline,
    uint16_t[:, ::1] labels,  # OUT
):
    """Classes of all cells of the lines of some rows.

    Parameters
    ----------
    nodes, offsets : trees over axes
    value : float64 array of shape (n_leaf_numbers, n_classes)
        Votes by the number of a leaf; the class of the largest sum is the answer.
    exact : bool
        Whether sums of votes never round; then `tolerance` is not looked at.
    tie_upper : bool
        Whether ties go to the last class (else the first).
    tolerance : float
        Bound on the difference between one sum over the trees, in any order, and the ensemble's
        own.
    cells : int32 array of shape (n_rows, n_axes)
        The cells of the rows.
    from_axis : intp array of shape (n_rows,)
        Lines along this axis and later ones are walked; of others nothing is written.
    first : intp array of shape (n_axes + 1,)
        Column of `labels` at which each axis begins.
    outside_lo, outside_hi : int32 arrays of shape (n_regions, n_axes)
        Regions whose class is free.
    deadline : float
        On the clock of ``time.monotonic()``; inf for none.
    labels : uint16 array of shape (n_rows, first[n_axes])

    Returns
    -------
    bool
        False if the time was up first.
    """
    cdef:
        intp_t n_rows = cells.shape[0], n_axes = cells.shape[1], n_scores = value.shape[1]
        intp_t i, t, a, p, s, k, begin, n_path, n_wrong, wrong, position
        int32_t at, axis, cut
        double slack
        vector[float64_t] base, votes, change
        vector[uint8_t] touched
        vector[intp_t] n_changes
        vector[int32_t] n_cuts, low, high, path
        Walk w
        bint stopped = False
        uint16_t label
    if n_rows == 0:
        return True
    n_cuts.resize(n_axes)
    for a in range(n_axes):
        n_cuts[a] = <int32_t> (first[a + 1] - first[a] - 1)
    base.resize(n_scores)
    votes.resize(n_scores)
    change.resize((first[n_axes] + 1) * n_scores)
    touched.resize(first[n_axes] + 1)
    n_changes.resize(n_axes)
    low.resize(n_axes)
    high.resize(n_axes)
    w.nodes = <const Node *> &nodes[0, 0]
    w.value = &value[0, 0]
    w.n_scores = n_scores
    w.first = &first[0]
    w.change = change.data()
    w.touched = touched.data()
    w.n_changes = n_changes.data()
    w.n_cuts = n_cuts.data()
    with nogil:
        for a in range(n_axes):
            high[a] = n_cuts[a]
        for i in range(n_rows):
            if i % POLL == 0 and should_stop(deadline):
                stopped = True
                break
            w.cell = &cells[i, 0]
            begin = from_axis[i]
            for s in range(n_scores):
                base[s] = 0.0
            for a in range(n_axes):
                n_changes[a] = 0
            for t in range(offsets.shape[0] - 1):
                path.clear()
                at = <int32_t> offsets[t]
                while w.nodes[at].axis >= 0:
                    path.push_back(at)
                    axis = w.nodes[at].axis
                    cut = w.nodes[at].cut
                    at = at + 1 if w.cell[axis] <= cut else right_child(w.nodes, at)
                w.own = w.value + w.nodes[at].cut * n_scores
                for s in range(n_scores):
                    base[s] += w.own[s]
                n_path = path.size()
                for k in range(n_path):
                    at = path[k]
                    axis = w.nodes[at].axis
                    cut = w.nodes[at].cut
                    if axis < begin:
                        continue
                    if w.cell[axis] <= cut:
                        if cut < high[axis]:
                            leave_row(&w, right_child(w.nodes, at), axis, cut + 1, high[axis])
                            high[axis] = cut
                    elif cut >= low[axis]:
                        leave_row(&w, at + 1, axis, low[axis], cut)
                        low[axis] = cut + 1
                for k in range(n_path):
                    axis = w.nodes[path[k]].axis
                    low[axis] = 0
                    high[axis] = n_cuts[axis]
            for a in range(begin, n_axes):
                # the tolerance grants a rounding to every tree, a line makes some more
                slack = tolerance * (2.0 + 2.0 * n_changes[a] / <double> (offsets.shape[0] + 15))
                for s in range(n_scores):
                    votes[s] = base[s]
                label = decided(votes.data(), n_scores, slack, exact, tie_upper)
                for p in range(first[a], first[a + 1]):
                    if touched[p]:
                        touched[p] = 0
                        for s in range(n_scores):
                            votes[s] += change[p * n_scores + s]
                            change[p * n_scores + s] = 0.0
                        label = decided(votes.data(), n_scores, slack, exact, tie_upper)
                    labels[i, p] = label
            for k in range(outside_lo.shape[0]):
                n_wrong = 0
                wrong = -1
                for a in range(n_axes):
                    if w.cell[a] < outside_lo[k, a] or w.cell[a] > outside_hi[k, a]:
                        n_wrong += 1
                        wrong = a
                if n_wrong > 1:
                    continue
                for a in range(begin, n_axes):
                    if n_wrong == 1 and a != wrong:
                        continue
                    for position in range(outside_lo[k, a], outside_hi[k, a] + 1):
                        labels[i, first[a] + position] = FREE_LABEL
    return not stopped


def find_runs(
    const uint16_t[:, ::1] labels,
    const int32_t[:, ::1] cells,
    const intp_t[::1] first,
    int32_t[:, ::1] own_first,  # OUT
    int32_t[:, ::1] own_last,  # OUT
):
    """The runs of one class along the lines of some rows.

    O(cells of the lines).

    Parameters
    ----------
    labels : uint16 array of shape (n_rows, first[n_axes])
        From `label_lines`, walked from the first axis on.
    cells : int32 array of shape (n_rows, n_axes)
    first : intp array of shape (n_axes + 1,)
    own_first, own_last : int32 arrays of shape (n_rows, n_axes)
        The run of each line that holds the row itself.

    Returns
    -------
    int32 array of shape (n_runs, 6)
        All other runs whose class is not free: row, axis, first and last cell, class, and
        whether the cell before the first belongs to another class (1) or is free or none (0).
    own_joined : uint8 array of shape (n_rows, n_axes)
        The same for the runs of the rows themselves.
    """
    cdef:
        intp_t n_rows = cells.shape[0], n_axes = cells.shape[1]
        intp_t i, a, k
        int32_t p, q, n
        uint16_t label
        vector[int32_t] found
        bint joined
    own_joined = np.zeros((n_rows, n_axes), dtype=np.uint8)
    cdef uint8_t[:, ::1] own_joined_ = own_joined
    with nogil:
        for i in range(n_rows):
            for a in range(n_axes):
                n = <int32_t> (first[a + 1] - first[a])
                p = 0
                while p < n:
                    label = labels[i, first[a] + p]
                    q = p
                    while q + 1 < n and labels[i, first[a] + q + 1] == label:
                        q += 1
                    joined = p > 0 and labels[i, first[a] + p - 1] != FREE_LABEL
                    if p <= cells[i, a] <= q:
                        own_first[i, a] = p
                        own_last[i, a] = q
                        own_joined_[i, a] = joined
                    elif label != FREE_LABEL:
                        found.push_back(<int32_t> i)
                        found.push_back(<int32_t> a)
                        found.push_back(p)
                        found.push_back(q)
                        found.push_back(label)
                        found.push_back(joined)
                    p = q + 1
    runs = np.empty((found.size() // 6, 6), dtype=np.int32)
    cdef int32_t[:, ::1] runs_ = runs
    for i in range(runs_.shape[0]):
        for k in range(6):
            runs_[i, k] = found[6 * i + k]
    return runs, own_joined
