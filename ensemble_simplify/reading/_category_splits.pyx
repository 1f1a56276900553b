"""Trees with tests of sets of codes, written out as trees of thresholds.

See `_code_sets.as_thresholds`, of which this is the loop.
"""

import numpy as np

from libcpp.vector cimport vector

from ensemble_simplify._typedefs cimport float64_t, int64_t, intp_t, uint8_t

cdef double INFINITE = float("inf")
cdef int64_t LAST = <int64_t> 1 << 62

cdef enum:
    VISIT = 0
    RUNS = 1
    KNOW = 2

cdef struct Codes:
    # What is left of the codes of a feature, and whether its value may be missing.
    int64_t first
    int64_t last
    bint may_miss

cdef struct Task:
    # VISIT: write `node`, the right child of `parent` (-1: of no node, or a left child).
    # RUNS: the same, with but the borders begin..end - 1 of its runs left to be told apart.
    # KNOW: the codes of the feature `node` are `codes` from here on.
    int kind
    intp_t node
    intp_t parent
    intp_t begin
    intp_t end
    Codes codes


cdef Task know(intp_t feature, int64_t first, int64_t last, bint may_miss) noexcept nogil:
    cdef Task task
    task.kind, task.node, task.parent, task.begin, task.end = KNOW, feature, -1, 0, 0
    task.codes.first, task.codes.last, task.codes.may_miss = first, last, may_miss
    return task


cdef Task visit(int kind, intp_t node, intp_t parent, intp_t begin, intp_t end) noexcept nogil:
    cdef Task task
    task.kind, task.node, task.parent, task.begin, task.end = kind, node, parent, begin, end
    task.codes.first, task.codes.last, task.codes.may_miss = 0, LAST, True
    return task


def write_out(
    const intp_t[::1] left,
    const intp_t[::1] right,
    const intp_t[::1] feature,
    const float64_t[::1] threshold,
    const uint8_t[::1] missing_left,
    const intp_t[::1] offsets,
    const int64_t[::1] borders,
    const uint8_t[::1] first_left,
    const uint8_t[::1] has_set,
    intp_t n_features,
    bint may_miss,
    intp_t max_nodes,
):
    """Write a tree with tests of sets of codes as one of thresholds. O(nodes written).

    Parameters
    ----------
    left, right, feature : intp arrays of shape (n_nodes,)
        A tree; -1 in leaves.
    threshold : float64 array of shape (n_nodes,)
    missing_left, first_left, has_set : uint8 arrays of shape (n_nodes,)
        Whether missing values, and code 0, go left; whether a node tests a set.
    offsets : intp array of shape (n_nodes + 1,)
        ``borders[offsets[i]:offsets[i + 1]]`` are the codes at which the side of node i changes.
    borders : int64 array
    n_features : int
    may_miss : bool
        Whether values may be missing at the root.
    max_nodes : int

    Returns
    -------
    right, origin : intp arrays of shape (n_nodes_new,)
        Right children (the left one comes next), -1 in leaves; and the old nodes.
    threshold : float64 array of shape (n_nodes_new,)
    missing_left : uint8 array of shape (n_nodes_new,)
        All None if there are more than `max_nodes`.
    """
    cdef vector[Task] stack
    cdef vector[Codes] state
    cdef vector[intp_t] new_right, origin
    cdef vector[double] new_threshold
    cdef vector[uint8_t] new_missing
    cdef Task task
    cdef Codes all_codes, known
    cdef intp_t node, j, parent, begin, end, middle, here, base, lost, i
    cdef int64_t border
    cdef bint lost_left, side, to_left, to_right, split
    all_codes.first, all_codes.last, all_codes.may_miss = 0, LAST, may_miss
    with nogil:
        state.assign(n_features, all_codes)
        stack.push_back(visit(VISIT, 0, -1, 0, 0))
        while stack.size() and <intp_t> origin.size() <= max_nodes:
            task = stack.back()
            stack.pop_back()
            if task.kind == KNOW:
                state[task.node] = task.codes
                continue
            node, parent = task.node, task.parent
            here = origin.size()
            if parent >= 0:
                new_right[parent] = here
            begin, end = task.begin, task.end
            split = False
            while left[node] >= 0 and not split:
                j = feature[node]
                if not has_set[node]:
                    new_threshold.push_back(threshold[node])
                    new_missing.push_back(missing_left[node])
                    stack.push_back(visit(VISIT, right[node], here, 0, 0))
                    stack.push_back(visit(VISIT, left[node], -1, 0, 0))
                    split = True
                    continue
                known, base = state[j], offsets[node]
                if task.kind == VISIT:
                    begin, end = base, offsets[node + 1]
                    while begin < end and borders[begin] <= known.first:
                        begin += 1
                    while begin < end and borders[end - 1] > known.last:
                        end -= 1
                lost_left = missing_left[node]
                lost = left[node] if lost_left else right[node]
                # the side of the first run that is left
                side = first_left[node] ^ ((begin - base) & 1)
                if begin == end:
                    task.kind = VISIT
                    if known.first > known.last or (side == lost_left):
                        node = lost
                    elif not known.may_miss:
                        node = left[node] if side else right[node]
                    else:
                        # all codes go one way, missing values the other
                        new_threshold.push_back(INFINITE)
                        new_missing.push_back(False)
                        origin.push_back(node)
                        stack.push_back(know(j, known.first, known.last, True))
                        stack.push_back(visit(VISIT, lost, here, 0, 0))
                        stack.push_back(know(j, 0, -1, True))
                        stack.push_back(visit(VISIT, left[node] if side else right[node], -1, 0, 0))
                        stack.push_back(know(j, known.first, known.last, False))
                        split = True
                        break
                    continue
                middle = (begin + end - 1) // 2
                border = borders[middle]
                # missing values go right if a run of their side is there: that is cheaper later
                side = first_left[node] ^ ((middle + 1 - base) & 1)
                to_left, to_right = False, False
                if known.may_miss:
                    to_right = middle + 1 < end or side == lost_left
                    to_left = not to_right
                new_threshold.push_back(border - 0.5)
                new_missing.push_back(<uint8_t> to_left)
                origin.push_back(node)
                stack.push_back(know(j, known.first, known.last, known.may_miss))
                stack.push_back(visit(RUNS, node, here, middle + 1, end))
                stack.push_back(know(j, border, known.last, to_right))
                stack.push_back(visit(RUNS, node, -1, begin, middle))
                stack.push_back(know(j, known.first, border - 1, to_left))
                split = True
            if <intp_t> origin.size() == here:
                origin.push_back(node)
            if not split:
                new_threshold.push_back(-2.0)
                new_missing.push_back(False)
            new_right.push_back(-1)
    if <intp_t> origin.size() > max_nodes:
        return None, None, None, None
    found = [np.empty(origin.size(), dtype) for dtype in (np.intp, np.intp, np.float64, np.uint8)]
    cdef intp_t[::1] out_right = found[0], out_origin = found[1]
    cdef float64_t[::1] out_threshold = found[2]
    cdef uint8_t[::1] out_missing = found[3]
    for i in range(<intp_t> origin.size()):
        out_right[i], out_origin[i] = new_right[i], origin[i]
        out_threshold[i], out_missing[i] = new_threshold[i], new_missing[i]
    return tuple(found)
