"""Sets of cells no two of which can share a leaf: see `_fooling.py`."""

import numpy as np

from libcpp.vector cimport vector

from ensemble_simplify._typedefs cimport (
    int32_t, int64_t, intp_t, random_below, uint8_t, uint16_t, uint64_t,
)
from ensemble_simplify.grid._limits cimport should_stop

cdef enum:
    # Cells compared with one at a time.
    TILE = 1024
    # Neighbours that take as long to look at as the rest of a step takes.
    A_STEP = 16


def unfooled_pairs(
    const uint16_t[:, ::1] cells,
    const uint16_t[:, ::1] first,
    const uint16_t[:, ::1] width,
    const intp_t[::1] offsets,
    intp_t max_pairs,
    double max_work,
):
    """Pairs of cells of one class that their lines do not show to fool each other.

    Two cells fool each other where one lies, on some axis, outside the run of cells of the
    other's class on the other's line along that axis: the box they span then holds the end of
    that run.

    The arrays are of shape (n_axes, n_cells): cells grouped by class, which begins at `offsets`;
    the first cell, and the number of cells without one, of the run of the cell's class around it.
    `max_work` is in comparisons of two cells on an axis.

    Returns the pairs, int32 of shape (n_pairs, 2), the smaller number first; and how many cells of
    each class, the first of them, were compared with each other: all, if no limit came first.
    """
    cdef:
        intp_t n_axes = cells.shape[0], n_classes = offsets.shape[0] - 1
        intp_t c, i, j, k, a, start, width_, most = 0
        uint16_t here, low, wide
        const uint16_t *at
        const uint16_t *low_at
        const uint16_t *wide_at
        vector[int32_t] pairs
        uint16_t apart[TILE]
        intp_t done = 0, work = 0
        double total = 0.0
        size_t n_kept = 0
        bint full = False
    for c in range(n_classes):
        most = max(most, offsets[c + 1] - offsets[c])
    with nogil:
        for k in range(most):
            for c in range(n_classes):
                i = offsets[c] + k
                if i >= offsets[c + 1]:
                    continue
                start = offsets[c] - TILE
                while start + TILE < i:
                    start += TILE
                    width_ = min(<intp_t> TILE, i - start)
                    for j in range(width_):
                        apart[j] = 0
                    for a in range(n_axes):
                        here = cells[a, i]
                        low = first[a, i]
                        wide = width[a, i]
                        at = &cells[a, start]
                        low_at = &first[a, start]
                        wide_at = &width[a, start]
                        for j in range(width_):
                            # unsigned differences wrap round below the run
                            apart[j] |= (
                                (<uint16_t> (at[j] - low) > wide)
                                | (<uint16_t> (here - low_at[j]) > wide_at[j])
                            )
                    for j in range(width_):
                        if not apart[j]:
                            pairs.push_back(<int32_t> (start + j))
                            pairs.push_back(<int32_t> i)
                    work += width_
                if work > (1 << 22):
                    work = 0
                    if should_stop():
                        full = True
                total += <double> ((i - offsets[c]) * n_axes)
                if total > max_work:
                    full = True
                if <intp_t> pairs.size() > 2 * max_pairs:
                    full = True
                if full:
                    break
            if full:
                break
            done = k + 1
            n_kept = pairs.size()
    found = np.empty((n_kept // 2, 2), dtype=np.int32)
    cdef int32_t[:, ::1] found_ = found
    for i in range(<intp_t> n_kept // 2):
        found_[i, 0] = pairs[2 * i]
        found_[i, 1] = pairs[2 * i + 1]
    return found, done


cdef class Packing:
    """Independent sets of a graph of `n` vertices, by local search; `pairs` are its edges.

    A vertex outside the set is *tight* as often as it has neighbours inside. Vertices that are
    not tight join at once; one that is tight once takes the place of its neighbour, which may
    free others. O(degree) a step.
    """

    cdef:
        intp_t n
        vector[intp_t] offset
        vector[int32_t] neighbour
        vector[int32_t] tight
        vector[uint8_t] inside
        # vertices outside that are tight once, and where each stands among them (-1: nowhere)
        vector[int32_t] once
        vector[int32_t] place
        vector[int64_t] left_at
        vector[int32_t] loose
        readonly intp_t size
        # neighbours looked at
        int64_t work

    def __init__(self, intp_t n, const int32_t[:, ::1] pairs):
        cdef intp_t i, m = pairs.shape[0]
        self.n = n
        self.offset.assign(n + 1, 0)
        self.neighbour.resize(2 * m)
        for i in range(m):
            self.offset[pairs[i, 0] + 1] += 1
            self.offset[pairs[i, 1] + 1] += 1
        for i in range(n):
            self.offset[i + 1] += self.offset[i]
        cdef vector[intp_t] end = self.offset
        for i in range(m):
            self.neighbour[end[pairs[i, 0]]] = pairs[i, 1]
            end[pairs[i, 0]] += 1
            self.neighbour[end[pairs[i, 1]]] = pairs[i, 0]
            end[pairs[i, 1]] += 1
        self.tight.assign(n, 0)
        self.inside.assign(n, 0)
        self.place.assign(n, -1)
        self.left_at.assign(n, 0)

    cdef void _listed(self, int32_t v, bint listed) noexcept nogil:
        """Keep the list of vertices that are tight once."""
        cdef int32_t other
        if listed and self.place[v] < 0:
            self.place[v] = <int32_t> self.once.size()
            self.once.push_back(v)
        elif not listed and self.place[v] >= 0:
            other = self.once.back()
            self.once[self.place[v]] = other
            self.place[other] = self.place[v]
            self.once.pop_back()
            self.place[v] = -1

    cdef void _enter(self, int32_t v) noexcept nogil:
        cdef intp_t k
        cdef int32_t w
        self.inside[v] = 1
        self.size += 1
        self.work += self.offset[v + 1] - self.offset[v]
        self._listed(v, False)
        for k in range(self.offset[v], self.offset[v + 1]):
            w = self.neighbour[k]
            self.tight[w] += 1
            self._listed(w, self.tight[w] == 1 and not self.inside[w])

    cdef void _leave(self, int32_t v) noexcept nogil:
        """Take a vertex out; vertices that are free then go to `loose`."""
        cdef intp_t k
        cdef int32_t w
        self.inside[v] = 0
        self.size -= 1
        self.work += self.offset[v + 1] - self.offset[v]
        self._listed(v, self.tight[v] == 1)
        for k in range(self.offset[v], self.offset[v + 1]):
            w = self.neighbour[k]
            self.tight[w] -= 1
            self._listed(w, self.tight[w] == 1 and not self.inside[w])
            if self.tight[w] == 0 and not self.inside[w]:
                self.loose.push_back(w)

    cdef void _force(self, int32_t v) noexcept nogil:
        """Put a vertex in, its neighbours out, and what they free in."""
        cdef intp_t k
        cdef int32_t w
        self.loose.clear()
        for k in range(self.offset[v], self.offset[v + 1]):
            w = self.neighbour[k]
            if self.inside[w]:
                self._leave(w)
        self._enter(v)
        while not self.loose.empty():
            w = self.loose.back()
            self.loose.pop_back()
            if not self.inside[w] and self.tight[w] == 0:
                self._enter(w)

    def improve(
        self,
        const int32_t[::1] order,
        uint64_t seed,
        intp_t max_steps,
        double max_work,
    ):
        """Fill the set up in an order, then search; returns the largest set found, sorted.

        `max_work` counts neighbours looked at.
        """
        cdef:
            intp_t i, k, _, n_steps = 0
            int32_t v = 0, w
            uint64_t random = seed
            vector[uint8_t] best
            intp_t best_size
        with nogil:
            for i in range(order.shape[0]):
                v = order[i]
                if not self.inside[v] and self.tight[v] == 0:
                    self._enter(v)
            best = self.inside
            best_size = self.size
            while n_steps < max_steps and self.work < max_work and not self.once.empty():
                n_steps += 1
                self.work += self.offset[v + 1] - self.offset[v] + A_STEP
                # of a few vertices, the one that has been outside longest
                v = self.once[random_below(<intp_t> self.once.size(), &random)]
                for _ in range(4):
                    w = self.once[random_below(<intp_t> self.once.size(), &random)]
                    if self.left_at[w] < self.left_at[v]:
                        v = w
                for k in range(self.offset[v], self.offset[v + 1]):
                    w = self.neighbour[k]
                    if self.inside[w]:
                        self.left_at[w] = n_steps
                self._force(v)
                if self.size > best_size:
                    best_size = self.size
                    best = self.inside
                if n_steps % 4096 == 0 and should_stop():
                    break
        return np.flatnonzero([best[i] for i in range(self.n)])
