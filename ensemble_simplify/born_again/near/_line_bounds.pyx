"""A lower bound on trees for labelled rows and their lines: sets of points that fool any tree.

Two points of one class need two leaves where the box that they span holds a point of another
class. Points of which every two need two leaves are a *fooling set*; no tree has fewer leaves.
Where labels are places of numbers, a leaf is right for all from its least label to the last one
that is alike; two points need two leaves where the box that they span holds labels further apart.
"""

import numpy as np

from libcpp.vector cimport vector

from ensemble_simplify._typedefs cimport (
    int32_t,
    intp_t,
    random_below,
    random_unit,
    uint64_t,
)
from ensemble_simplify.grid._limits cimport should_stop

cdef enum:
    # Points tried between two looks at the clock.
    POLL = 64


cdef struct Points:
    intp_t n_axes
    intp_t n_stars
    intp_t n_runs
    const int32_t *cells
    const int32_t *labels
    const int32_t *own_first
    const int32_t *own_last
    const int32_t *runs         # columns star, axis, first, last, label, joined
    const int32_t *alike        # last label for which one leaf is right together with each
    double looks                # rows and runs held against a box so far


cdef bint in_box(
    const Points *p, intp_t star, const int32_t *lo, const int32_t *hi, intp_t but
) noexcept nogil:
    """Whether a row lies in a box on every axis but one."""
    cdef const int32_t *cell = p.cells + star * p.n_axes
    cdef intp_t a
    for a in range(p.n_axes):
        if (cell[a] < lo[a] or cell[a] > hi[a]) and a != but:
            return False
    return True


cdef inline bint widens(
    const Points *p, int32_t label, int32_t *least, int32_t *most
) noexcept nogil:
    """Whether no leaf is right from the least to the most of some labels and one more."""
    least[0] = min(least[0], label)
    most[0] = max(most[0], label)
    return most[0] > p.alike[least[0]]


cdef bint holds_apart(
    Points *p, const int32_t *lo, const int32_t *hi, int32_t least, int32_t most
) noexcept nogil:
    """Whether no leaf is right for some labels and all points of a box."""
    cdef:
        intp_t i, a, wrong, n_axes = p.n_axes
        const int32_t *cell
        const int32_t *run
    for i in range(p.n_stars):
        if least <= p.labels[i] <= most or p.labels[i] < 0:
            continue
        cell = p.cells + i * n_axes
        wrong = -1
        for a in range(n_axes):
            if cell[a] < lo[a] or cell[a] > hi[a]:
                if wrong >= 0:
                    break
                wrong = a
        else:
            if wrong < 0 or (
                p.own_first[i * n_axes + wrong] <= hi[wrong]
                and p.own_last[i * n_axes + wrong] >= lo[wrong]
            ):
                if widens(p, p.labels[i], &least, &most):
                    p.looks += i
                    return True
    for i in range(p.n_runs):
        run = p.runs + 6 * i
        if least <= run[4] <= most or run[2] > hi[run[1]] or run[3] < lo[run[1]]:
            continue
        if in_box(p, run[0], lo, hi, run[1]) and widens(p, run[4], &least, &most):
            p.looks += p.n_stars + i
            return True
    p.looks += p.n_stars + p.n_runs
    return False


cdef bint need_two(
    Points *p, const int32_t *one, const int32_t *two, int32_t *lo, int32_t *hi
) noexcept nogil:
    """Whether two points, each followed by its class, cannot share a leaf."""
    cdef intp_t a
    cdef int32_t least = min(one[p.n_axes], two[p.n_axes]), most = max(one[p.n_axes], two[p.n_axes])
    if most > p.alike[least]:
        return True
    for a in range(p.n_axes):
        lo[a] = min(one[a], two[a])
        hi[a] = max(one[a], two[a])
    return holds_apart(p, lo, hi, least, most)


cdef void draw_point(const Points *p, int32_t *point, uint64_t *random) noexcept nogil:
    """A row, or a point at an end of a run; its class goes last."""
    cdef:
        intp_t a, star, axis, n_axes = p.n_axes
        const int32_t *run
        double chance = random_unit(random)
    if chance < 0.3 and p.n_runs:
        run = p.runs + 6 * random_below(p.n_runs, random)
        star = run[0]
        for a in range(n_axes):
            point[a] = p.cells[star * n_axes + a]
        point[run[1]] = run[2] if random_unit(random) < 0.5 else run[3]
        point[n_axes] = run[4]
        return
    star = random_below(p.n_stars, random)
    for a in range(n_axes):
        point[a] = p.cells[star * n_axes + a]
    point[n_axes] = p.labels[star]
    if chance < 0.8:
        axis = random_below(n_axes, random)
        if random_unit(random) < 0.5:
            point[axis] = p.own_first[star * n_axes + axis]
        else:
            point[axis] = p.own_last[star * n_axes + axis]


def fooling_points(
    const int32_t[:, ::1] cells,
    const int32_t[::1] labels,
    const int32_t[:, ::1] own_first,
    const int32_t[:, ::1] own_last,
    const int32_t[:, ::1] runs,
    uint64_t seed,
    double looks,
    alike=None,
):
    """A fooling set, found by trying random points: cells, and their classes in the last column.

    A point that needs a leaf of its own beside all of the set joins it; one that could share a
    leaf with a single member may take its place. The arrays are those of `Neighbourhood` (`alike`
    None: a leaf is right for one class); `looks` limits the rows and runs to hold against the boxes
    of two points, each some nanoseconds.
    """
    cdef:
        Points p
        intp_t n_axes = cells.shape[1], width = n_axes + 1
        intp_t i, k, n_shared, shared = 0, n = 0
        vector[int32_t] members, point, lo, hi
        uint64_t random = seed
        intp_t done = 0
        const int32_t[::1] alike_
    if alike is None:
        largest = max(np.max(labels), np.max(np.asarray(runs)[:, 4], initial=0))
        alike = np.arange(1 + largest, dtype=np.int32)
    alike_ = alike
    p.n_axes, p.n_stars, p.n_runs = n_axes, cells.shape[0], runs.shape[0]
    p.cells, p.labels = &cells[0, 0], &labels[0]
    p.own_first, p.own_last = &own_first[0, 0], &own_last[0, 0]
    p.runs = &runs[0, 0] if runs.shape[0] else NULL
    p.alike = &alike_[0]
    point.resize(width)
    lo.resize(n_axes)
    hi.resize(n_axes)
    with nogil:
        p.looks = 0.0
        while p.looks < looks:
            if done % POLL == 0 and should_stop():
                break
            done += 1
            # so that it ends where no point needs a look
            p.looks += 1.0
            draw_point(&p, point.data(), &random)
            if point[n_axes] < 0:
                continue
            n_shared = 0
            for i in range(n):
                if not need_two(&p, point.data(), &members[i * width], lo.data(), hi.data()):
                    shared = i
                    n_shared += 1
                    if n_shared == 2:
                        break
            if n_shared == 0:
                members.insert(members.end(), point.begin(), point.end())
                n += 1
            elif n_shared == 1:
                for k in range(width):
                    members[shared * width + k] = point[k]
    found = np.empty((n, width), dtype=np.int32)
    cdef int32_t[:, ::1] found_ = found
    for i in range(n):
        for k in range(width):
            found_[i, k] = members[i * width + k]
    return found
