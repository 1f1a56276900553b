"""A space of cells cut into boxes, in each of which a claim holds by a bound or at its one cell.

A claim is about the answers of one use of a model, or of two. Each use has some answers, and it is
told which pairs of them are *wrong*. A *form* gives every leaf a number, and an answer needs that
the sums of its forms are all as large as is needed; so does a pair of answers, of forms of its
own, which weigh both uses at once. In a box, a form is at most the sum over the trees of the
largest number that each can still reach. Where that falls short for one form of every wrong pair,
the box is done with. Else it is halved, at the cut that takes most off the forms closest to
falling short, until every tree is decided: then a judge is asked.

Partition
    The trees, and the search, which notes where it halved.
"""

import numpy as np

cimport cython
from libc.math cimport INFINITY
from libcpp.vector cimport vector

from ensemble_simplify.grid._boxes cimport BoundedTrees, Gain
from ensemble_simplify.grid._regions cimport Node
from ensemble_simplify._typedefs cimport (
    float64_t, int32_t, int64_t, intp_t, uint8_t, uint64_t,
)

cdef enum:
    # Cells that are judged at a time.
    JUDGED = 1024
    # What stands in place of an answer: several, outside, and a cell for the judge.
    SEVERAL = -1
    OUTSIDE = -2

# What the other forms count, beside those that are closest to falling short.
cdef float64_t OTHERS = 1e-6
# What a half counts in the choice of a cut of which it gains nothing.
cdef float64_t EITHER = 0.1


@cython.final
cdef class Partition(BoundedTrees):
    """Trees on a grid of cells, ready to be cut into boxes in which claims hold.

    Parameters
    ----------
    shape : sequence of int
        Cells on each axis.
    nodes, offsets : trees over axes
        The numbers of their leaves are rows of the forms.

    Attributes
    ----------
    n_boxes : int
        Boxes looked at by the last search.
    stopped : {None, "time", "boxes", "refuted"}
        What ended the last search: a limit, or a cell in which the claim does not hold.
    """

    cdef:
        readonly object stopped
        int limit
        int64_t max_boxes
        object judge
        bint has_classes
        vector[float64_t] start, scale, upper, weight
        vector[uint8_t] cannot_first, cannot_second
        # of each tree its twin, -1: none, and the axes (modulo 64) that are another's in the twin;
        # of each form whether twins that end in the same leaf add nothing, and whether every pair
        # of twins has to fall short
        vector[int32_t] twin
        vector[uint64_t] apart
        vector[uint8_t] is_change, by_tree, is_shared
        # answers of the first use, of the second, and forms of each answer and of both together
        intp_t n_first, n_second, n_own, n_other, n_joint
        const int32_t[:, ::1] first
        const int32_t[:, ::1] second
        const int32_t[:, :, ::1] joint
        const uint8_t[:, ::1] wrong
        # the tree that is written, and cells to be judged
        vector[int32_t] axis_of, cut_of, pending, waiting
        vector[float64_t] bound_of

    cdef void _sum_up(self) noexcept nogil:
        """The most that every form can exceed what is needed in the box."""
        cdef intp_t t, u, k
        cdef const float64_t *bound
        cdef const float64_t *other
        cdef float64_t *upper = self.upper.data()
        cdef float64_t both
        for k in range(self.width):
            upper[k] = self.start[k]
        for t in range(self.n_trees):
            bound = self.bound.data() + t * 3 * self.width
            u = self.twin[t]
            if u < 0:
                for k in range(self.width):
                    upper[k] += bound[k]
                continue
            if u < t:
                continue
            other = self.bound.data() + u * 3 * self.width
            self.is_shared[t] = self.is_shared[u] = self._end_alike(t, u)
            for k in range(self.width):
                if self.is_change[k] and self.is_shared[t]:
                    continue
                both = bound[k] + other[k]
                upper[k] += max(both, 0.0) if self.by_tree[k] else both

    cdef bint _end_alike(self, intp_t t, intp_t u) noexcept nogil:
        """Whether twins end in the same leaf at every point of the box."""
        cdef int32_t one = self.roots[t], two = self.roots[u]
        if one - self.root_of[t] != two - self.root_of[u]:
            return False
        return not (self.mask[one] & self.apart[t]) and not (self.mask[two] & self.apart[u])

    cdef bint _weigh_open(self) noexcept nogil:
        """Find out which wrong pairs are left, and weigh their tightest forms; False: none is."""
        cdef intp_t a, b, k, best
        cdef int32_t form
        cdef bint is_open = False
        cdef float64_t least
        cdef const float64_t *upper = self.upper.data()
        for a in range(self.n_first):
            self.cannot_first[a] = 0
            for k in range(self.n_own):
                form = self.first[a, k]
                if form >= 0 and upper[form] < 0.0:
                    self.cannot_first[a] = 1
                    break
        for b in range(self.n_second):
            self.cannot_second[b] = 0
            for k in range(self.n_other):
                form = self.second[b, k]
                if form >= 0 and upper[form] < 0.0:
                    self.cannot_second[b] = 1
                    break
        for k in range(self.width):
            self.weight[k] = 0.0
        for a in range(self.n_first):
            if self.cannot_first[a]:
                continue
            for b in range(self.n_second):
                if self.cannot_second[b] or not self.wrong[a, b]:
                    continue
                least = INFINITY
                best = -1
                for k in range(self.n_joint):
                    form = self.joint[a, b, k]
                    if form >= 0 and upper[form] * self.scale[form] < least:
                        least = upper[form] * self.scale[form]
                        best = form
                if least < 0.0:
                    continue
                for k in range(self.n_joint):
                    # few trees count there: it falls short soon where these are looked at
                    form = self.joint[a, b, k]
                    if form >= 0 and self.by_tree[form]:
                        self.weight[form] = 1.0
                for k in range(self.n_own):
                    form = self.first[a, k]
                    if form >= 0 and upper[form] * self.scale[form] < least:
                        least = upper[form] * self.scale[form]
                        best = form
                for k in range(self.n_other):
                    form = self.second[b, k]
                    if form >= 0 and upper[form] * self.scale[form] < least:
                        least = upper[form] * self.scale[form]
                        best = form
                is_open = True
                if best >= 0:
                    self.weight[best] = 1.0
        return is_open

    cdef bint _choose(self, int32_t *axis, int32_t *cut) noexcept nogil:
        """The cut that takes most off the weighty forms; False if every tree is decided."""
        cdef intp_t t, k
        cdef const Gain *best
        cdef Gain *gain
        cdef const Node *root
        cdef const float64_t *both
        cdef const float64_t *left
        cdef const float64_t *right
        cdef float64_t a, b, total
        for t in range(self.n_trees):
            if self.nodes[self.roots[t]].axis < 0:
                continue
            both = self.bound.data() + t * 3 * self.width
            left = both + self.width
            right = left + self.width
            gain = self._gain(t)
            for k in range(self.width):
                if self.is_shared[t] and self.is_change[k]:
                    continue
                a = (both[k] - left[k]) * self.scale[k]
                b = (both[k] - right[k]) * self.scale[k]
                if self.weight[k] > 0.0:
                    gain.left += a
                    gain.right += b
                gain.spread += a + b
        total = 0.0
        for k in range(self.width):
            if self.weight[k] > 0.0:
                total += max(self.upper[k] * self.scale[k], 1e-9)
        total = max(total, 1e-9)
        for k in range(self.n_touched):
            gain = &self.gains[self.touched[k]]
            # what brings both halves nearer to their end, rather than one of them alone
            a = min(gain.left / total, 1.0) + EITHER
            b = min(gain.right / total, 1.0) + EITHER
            gain.score = a * b
            gain.score += OTHERS * gain.spread
        best = self._take_best()
        if best == NULL:
            return False
        root = &self.nodes[self.roots[best.tree]]
        axis[0] = root.axis
        cut[0] = root.cut
        return True

    cdef void _leaf(self, int32_t answer, float64_t bound) noexcept nogil:
        self.axis_of.push_back(-1)
        self.cut_of.push_back(answer)
        self.bound_of.push_back(bound)

    cdef void _settle(self) noexcept nogil:
        """Write a leaf for a box in which the bounds leave nothing wrong."""
        cdef intp_t a, b, k, one = -1, two = -1
        cdef int32_t form
        cdef float64_t lead = INFINITY, most = -INFINITY, least
        if not self.has_classes:
            for a in range(self.n_first):
                least = INFINITY
                for k in range(self.n_own):
                    form = self.first[a, k]
                    if form >= 0 and self.upper[form] < least:
                        least = self.upper[form]
                most = max(most, least)
            self._leaf(SEVERAL, most)
            return
        for a in range(self.n_first):
            if not self.cannot_first[a]:
                if one >= 0:
                    self._leaf(SEVERAL, 0.0)
                    return
                one = a
        for b in range(self.n_second):
            if not self.cannot_second[b]:
                if two >= 0:
                    self._leaf(SEVERAL, 0.0)
                    return
                two = b
        if one < 0 or two < 0:
            # bounds exclude every answer only where rounding lets them
            self._leaf(SEVERAL, 0.0)
            return
        for a in range(self.n_first):
            if a != one and self.first[a, one] >= 0:
                lead = min(lead, -self.upper[self.first[a, one]])
        if self.n_other:
            for b in range(self.n_second):
                if b != two and self.second[b, two] >= 0:
                    lead = min(lead, -self.upper[self.second[b, two]])
        self._leaf(<int32_t> one, max(lead, 0.0) if lead < INFINITY else 0.0)

    cdef int _flush(self) except -1 nogil:
        """Have the cells put aside judged; 0 if the claim does not hold in one of them."""
        cdef intp_t i, n = self.waiting.size()
        if n == 0:
            return 1
        with gil:
            answers = self.judge(self._cells(self.pending.data(), n))
            for i in range(n):
                if answers[i] < OUTSIDE:
                    return 0
                self.cut_of[self.waiting[i]] = answers[i]
        self.pending.clear()
        self.waiting.clear()
        return 1

    cdef int _look(self, int32_t *axis, int32_t *cut) except -1 nogil:
        """Look at the box: 0 done with, 1 to be halved where it says, 2 to end."""
        cdef intp_t a
        cdef int where
        self.limit = self._count(self.max_boxes)
        if self.limit:
            return 2
        where = self._inside(axis, cut)
        if where == 0:
            self._leaf(OUTSIDE, 0.0)
            return 0
        self._sum_up()
        if not self._weigh_open():
            self._settle()
            return 0
        if self._choose(axis, cut):
            return 1
        if where < 0:
            # every tree is decided: cut off what lies outside
            return 1
        self.waiting.push_back(<int32_t> self.axis_of.size())
        for a in range(self.n_axes):
            self.pending.push_back(self.lo[a])
        self._leaf(SEVERAL, 0.0)
        if <intp_t> self.waiting.size() < JUDGED or self._flush():
            return 0
        self.limit = 3
        return 2

    cdef int _search(self) except -1 nogil:
        cdef int32_t axis, cut
        cdef int verdict
        while True:
            verdict = self._look(&axis, &cut)
            if verdict == 2:
                return 0
            if verdict == 1:
                self.axis_of.push_back(axis)
                self.cut_of.push_back(cut)
                self.bound_of.push_back(0.0)
                self._enter(axis, cut, 0)
            elif not self._turn():
                return 1

    def grow(
        self,
        const float64_t[:, ::1] forms,
        const float64_t[::1] start,
        const int32_t[:, ::1] first,
        const int32_t[:, ::1] second,
        const int32_t[:, :, ::1] joint,
        const uint8_t[:, ::1] wrong,
        *,
        judge,
        bint has_classes,
        lo,
        hi,
        outside=None,
        int64_t max_boxes=2**62,
        twins=None,
    ):
        """Cut a box of cells into boxes in which no wrong pair of answers is possible.

        Parameters
        ----------
        forms : float64 array of shape (n_leaf_numbers, n_forms)
            What the leaves add.
        start : float64 array of shape (n_forms,)
            Where the sums begin; a form falls short where its sum is below zero.
        first, second : int32 arrays of shape (n_answers, n)
            The forms of each answer of the first use and of the second; -1: none.
        joint : int32 array of shape (n_first, n_second, n)
            The forms of each pair of answers.
        wrong : uint8 array of shape (n_first, n_second)
            Pairs of answers with which the claim does not hold.
        judge : callable
            ``judge(cells)``: the answer in each of some cells of one leaf of every tree, -1 where
            there is not one, and below -2 where the claim does not hold.
        has_classes : bool
            Whether answers are classes: form ``first[a, c]`` is then the lead of a over c.
        lo, hi : int32 arrays of shape (n_axes,)
            First and last cell of the box on every axis.
        outside : pair of int32 arrays of shape (n_regions, n_axes) or None
            First and last cells of regions that do not count.
        max_boxes : int
        twins : tuple or None
            Of two uses of one model, the twin of each tree, -1: none (int32 array of shape
            (n_trees,)); the axes on which they split otherwise than their twins (uint64, of the
            same shape, bit a modulo 64); which forms are changes, to which twins that end in the
            same leaf add nothing (uint8 array of shape (n_forms,)); and which need that every pair
            of twins adds nothing more than zero (the same).

        Returns
        -------
        axis, cut : int32 arrays of shape (n_nodes,)
            Where boxes were halved, in pre-order. The axis of those that were not is -1, and their
            cut the answer there, or -1: several, -2: outside.
        bound : float64 array of shape (n_nodes,)
            Of such with an answer, the least lead of it; of numbers, the most that one exceeds.
        """
        cdef intp_t t, i, k
        cdef const int32_t[::1] lo_ = lo, hi_ = hi
        self._leave_out(outside)
        self._weigh(forms)
        self.first, self.second, self.joint, self.wrong = first, second, joint, wrong
        self.n_first, self.n_second = wrong.shape[0], wrong.shape[1]
        self.n_own, self.n_other, self.n_joint = first.shape[1], second.shape[1], joint.shape[2]
        self.has_classes = has_classes
        self.judge = judge
        self.max_boxes = max_boxes
        self.n_boxes = 0
        self.limit = 0
        self.cannot_first.assign(self.n_first, 0)
        self.cannot_second.assign(self.n_second, 0)
        self.upper.assign(self.width, 0.0)
        self.weight.assign(self.width, 0.0)
        self.twin.assign(self.n_trees + 1, -1)
        self.apart.assign(self.n_trees + 1, 0)
        self.is_shared.assign(self.n_trees + 1, 0)
        self.is_change.assign(self.width, 0)
        self.by_tree.assign(self.width, 0)
        if twins is not None:
            twin, apart, is_change, by_tree = twins
            for t in range(self.n_trees):
                self.twin[t] = twin[t]
                self.apart[t] = apart[t]
            for k in range(self.width):
                self.is_change[k] = is_change[k]
                self.by_tree[k] = by_tree[k]
        self.start.assign(&start[0], &start[0] + self.width)
        # forms are compared as shares of how far apart their numbers lie in a tree
        self._add_spreads(self.scale)
        for k in range(self.width):
            self.scale[k] = 1.0 / self.scale[k] if self.scale[k] > 0.0 else 1.0
        self.axis_of.clear()
        self.cut_of.clear()
        self.pending.clear()
        self.waiting.clear()
        self.bound_of.clear()
        self._load(&lo_[0], &hi_[0])
        try:
            with nogil:
                if self._search() and not self._flush():
                    self.limit = 3
        finally:
            self.judge = None
        self.stopped = (None, "time", "boxes", "refuted")[self.limit]
        size = <intp_t> self.axis_of.size()
        axis, cut = np.empty(size, dtype=np.int32), np.empty(size, dtype=np.int32)
        bound = np.empty(size)
        cdef int32_t[::1] axis_ = axis, cut_ = cut
        cdef float64_t[::1] bound_ = bound
        for i in range(size):
            axis_[i], cut_[i], bound_[i] = self.axis_of[i], self.cut_of[i], self.bound_of[i]
        return axis, cut, bound
