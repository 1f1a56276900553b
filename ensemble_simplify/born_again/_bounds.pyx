"""Lower bounds on trees for a grid of cells."""

from libc.stdint cimport int64_t
from libcpp.vector cimport vector

from ensemble_simplify._typedefs cimport FREE, intp_t, now, should_stop, uint8_t

cdef enum:
    # Boxes of up to this many cells are searched in full for another class.
    SEARCH = 128
    MAX_AXES = 64


ctypedef fused label_t:
    unsigned char
    unsigned short


def sensitivity(const label_t[::1] labels, const intp_t[::1] shape, uint8_t[::1] faces):
    """Count, for each cell, the neighbours of another class; ``faces`` is zeros, changed."""
    cdef:
        intp_t a, b, k, i, at, before = 1, after = labels.shape[0]
        intp_t n_axes = shape.shape[0]
    with nogil:
        for a in range(n_axes):
            after = after // shape[a]
            for b in range(before):
                for k in range(shape[a] - 1):
                    at = (b * shape[a] + k) * after
                    for i in range(at, at + after):
                        if labels[i] != labels[i + after]:
                            faces[i] += 1
                            faces[i + after] += 1
            before *= shape[a]


cdef inline bint is_other(label_t one, label_t label) noexcept nogil:
    return one != label and one != FREE


cdef bint fool(
        const label_t *labels, intp_t n_axes, const intp_t *stride,
        const intp_t *one, const intp_t *two, intp_t start, label_t label) noexcept nogil:
    """Whether the box spanned by two cells of a class is seen to hold another class.

    Looks along two paths between the cells, at single steps from either, and at all of a small
    box. False may be wrong, True never is.
    """
    cdef:
        intp_t a, k, at, size = 1, end = start, rest, place
        intp_t lo[MAX_AXES]
        intp_t width[MAX_AXES]
    for a in range(n_axes):
        end += (two[a] - one[a]) * stride[a]
    for a in range(n_axes):
        k = (two[a] - one[a]) * stride[a]
        if k and (is_other(labels[start + k], label) or is_other(labels[end - k], label)):
            return True
    at = start
    for a in range(n_axes):
        at += (two[a] - one[a]) * stride[a]
        if is_other(labels[at], label):
            return True
    at = start
    for a in range(n_axes - 1, -1, -1):
        at += (two[a] - one[a]) * stride[a]
        if is_other(labels[at], label):
            return True
    at = 0
    for a in range(n_axes):
        lo[a] = min(one[a], two[a])
        width[a] = max(one[a], two[a]) - lo[a] + 1
        at += lo[a] * stride[a]
        size *= width[a]
        if size > SEARCH:
            return False
    for k in range(size):
        rest = k
        place = at
        for a in range(n_axes):
            place += rest % width[a] * stride[a]
            rest //= width[a]
        if is_other(labels[place], label):
            return True
    return False


def fooling_set(
    const label_t[::1] labels,
    const intp_t[::1] shape,
    const int64_t[::1] candidates,
    double seconds,
):
    """Size of a set of cells no two of which can share a leaf, chosen greedily.

    Every faithful tree has at least that many leaves: a leaf is a box of one class (and of cells
    whose class is free), and the box spanned by any two of these cells holds more than one.

    Parameters
    ----------
    labels : (n_cells,) array
    shape : (n_axes,) array
    candidates : cells in the order in which they are tried, none of free class
    seconds : float
        Time limit; the set found by then counts.
    """
    cdef:
        intp_t n_axes = shape.shape[0]
        intp_t stride[MAX_AXES]
        intp_t cell[MAX_AXES]
        vector[intp_t] chosen       # coordinates, n_axes each
        vector[intp_t] place
        intp_t a, i, c, at, rest, n = labels.shape[0], work = 0
        double deadline = now() + seconds
        bint take
    for a in range(n_axes):
        n //= shape[a]
        stride[a] = n
    with nogil:
        for i in range(candidates.shape[0]):
            at = candidates[i]
            rest = at
            for a in range(n_axes):
                cell[a] = rest // stride[a]
                rest -= cell[a] * stride[a]
            take = True
            for c in range(<intp_t> place.size()):
                if labels[place[c]] != labels[at]:
                    continue
                work += 1
                if not fool(&labels[0], n_axes, stride, cell, &chosen[c * n_axes], at, labels[at]):
                    take = False
                    break
            if take:
                place.push_back(at)
                for a in range(n_axes):
                    chosen.push_back(cell[a])
            if work > 200000:
                work = 0
                if should_stop(deadline):
                    break
    return <intp_t> place.size()
