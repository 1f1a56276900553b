"""Boxes of cells in which sums over trees are too small for something to be so, or a point of it.

A *form* gives every leaf of every tree a number; at a point, it is the sum of the numbers of the
leaves that the point ends in. On a box of cells a form is at most the sum, over the trees, of the
largest number that each can still reach there. Where that is too little for one of the forms that
something needs, it is not so in the box.

A *claim* is about the answers of one use of a model, or of two, some pairs of which are *wrong*. An
answer needs forms, as its leads over the others, and so does a pair of answers: forms of its own,
which weigh both uses at once and fall short long before those of either do alone, as most of the
trees of two alike models cancel. A box is done with where a form of every wrong pair falls short.
Else it is halved, depth first, until every tree is decided: single leaves of all trees are put to a
judge. That a probability is far above another one is one demand on their log-odds and the
differences of these: see `_rise`.

JointSearch
    The trees, loaded once, and the search: `find` looks for points at which all of some forms are
    as large as is needed, as one wrong answer needs them; `cover` writes down, as a tree, the boxes
    that it is done with.
"""

import numpy as np

cimport cython
from libc.math cimport INFINITY, exp, log
from libcpp.vector cimport vector

from ensemble_simplify.grid._boxes cimport BoundedTrees, Gain
from ensemble_simplify.grid._regions cimport Node
from ensemble_simplify._typedefs cimport (
    float64_t, int32_t, int64_t, intp_t, uint8_t, uint64_t,
)

cdef enum:
    # Cells that are judged at a time: of a search for points, and where all are judged in the end.
    FEW_JUDGED = 256
    JUDGED = 1024
    # What stands in place of an answer: several, outside, and a cell for the judge.
    SEVERAL = -1
    OUTSIDE = -2

# What the other forms count, beside those that are closest to falling short, where points are
# looked for, and where boxes are written down.
cdef float64_t OTHERS = 1e-3
cdef float64_t OTHERS_COVERED = 1e-6
# What a half counts in the choice of a cut of which it gains nothing.
cdef float64_t EITHER = 0.1


cdef inline float64_t sigmoid(float64_t x) noexcept nogil:
    return 1.0 / (1.0 + exp(-x))


@cython.final
cdef class JointSearch(BoundedTrees):
    """Trees on a grid of cells, ready to be searched for points of large sums, or covered by boxes.

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
        What ended the last search: a limit, or, of a cover, a cell in which the claim does not
        hold.
    highest : float
        In every box that the last search did with, the form that fell shortest did so by at least
        the negative of this; -inf without such a box.
    """

    cdef:
        readonly float64_t highest
        readonly object stopped
        int limit
        intp_t n_points, n_judged
        int64_t max_boxes
        object judge
        # whether the boxes are written down; whether answers are classes; whether the forms are
        # log-odds, of which probabilities have to be this far apart; and whether the first box is
        # halved where it need not be
        bint is_cover, has_classes, are_odds, must_halve
        float64_t apart_by
        vector[float64_t] start, scale, upper, weight
        intp_t heaviest
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
        # points found, cells to be judged and their leaves; and the tree that is written
        vector[int32_t] found, pending, waiting
        vector[int32_t] axis_of, cut_of
        vector[float64_t] bound_of

    # ------------------------------------------------------------------ bounds in the box

    cdef float64_t _rise(self, intp_t *largest) noexcept nogil:
        """The most that one probability exceeds another, by bounds on log-odds in `upper`.

        With u the log-odds of a class against each other one at the first point, and v those at
        the second, the forms are ``u``, ``-v`` and ``u - v``. The class has the log-odds
        ``-log(sum(exp(-u)))`` against all others, which rise by no more than one of `u` does.
        """
        cdef intp_t k, m = self.width // 3
        cdef float64_t first = 0.0, second = 0.0, rise = -INFINITY, at, lowest, highest
        cdef const float64_t *upper = self.upper.data()
        for k in range(m):
            first += exp(-upper[k])
            second += exp(upper[m + k])
            if upper[2 * m + k] > rise:
                rise = upper[2 * m + k]
                largest[0] = 2 * m + k
        highest = -log(first)
        lowest = -log(second)
        if highest - lowest <= rise:
            return 1.0 / (1.0 + first) - 1.0 / (1.0 + second)
        lowest += rise
        if rise < 0.0:
            # the steepest part is where it falls most
            return max(
                sigmoid(lowest) - sigmoid(lowest - rise), sigmoid(highest) - sigmoid(highest - rise)
            )
        # one half is in the middle, where that can be
        at = 0.5 * rise
        at = at if at > lowest else lowest
        at = at if at < highest else highest
        return sigmoid(at) - sigmoid(at - rise)

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
        cdef float64_t least, lightest = INFINITY
        cdef const float64_t *upper = self.upper.data()
        self.heaviest = 0
        if self.are_odds:
            for k in range(self.width):
                self.weight[k] = 0.0
            least = self._rise(&self.heaviest) - self.apart_by
            self.weight[self.heaviest] = 1.0
            if least < 0.0:
                self.highest = max(self.highest, least)
            return least >= 0.0
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
                    if least < lightest:
                        lightest = least
                        self.heaviest = best
        return is_open

    cdef bint _choose(self, int32_t *axis, int32_t *cut, int32_t *side) noexcept nogil:
        """The cut that takes most off the weighty forms; False if every tree is decided."""
        cdef intp_t t, k
        cdef const Gain *best
        cdef Gain *gain
        cdef const Node *root
        cdef const float64_t *both
        cdef const float64_t *left
        cdef const float64_t *right
        cdef float64_t a, b, total
        cdef bint is_shared
        for t in range(self.n_trees):
            if self.nodes[self.roots[t]].axis < 0:
                continue
            both = self.bound.data() + t * 3 * self.width
            left = both + self.width
            right = left + self.width
            gain = self._gain(t)
            is_shared = self.is_shared[t]
            for k in range(self.width):
                if is_shared and self.is_change[k]:
                    continue
                a = (both[k] - left[k]) * self.scale[k]
                b = (both[k] - right[k]) * self.scale[k]
                if self.weight[k] > 0.0:
                    gain.left += a
                    gain.right += b
                gain.spread += a + b
        total = 0.0
        if self.is_cover:
            for k in range(self.width):
                if self.weight[k] > 0.0:
                    total += max(self.upper[k] * self.scale[k], 1e-9)
            total = max(total, 1e-9)
        for k in range(self.n_touched):
            gain = &self.gains[self.touched[k]]
            if self.is_cover:
                # what brings both halves nearer to their end, rather than one of them alone
                a = min(gain.left / total, 1.0) + EITHER
                b = min(gain.right / total, 1.0) + EITHER
                gain.score = a * b + OTHERS_COVERED * gain.spread
            else:
                gain.score = gain.left + gain.right + OTHERS * gain.spread
        best = self._take_best()
        if best == NULL:
            return False
        root = &self.nodes[self.roots[best.tree]]
        axis[0] = root.axis
        cut[0] = root.cut
        if not self.is_cover:
            # the half in which the form can be larger is looked at first
            left = self.bound.data() + (best.tree * 3 + 1) * self.width
            side[0] = left[self.heaviest] < left[self.width + self.heaviest]
        return True

    # ------------------------------------------------------------------ what is written down

    cdef void _leaf(self, int32_t answer, float64_t bound) noexcept nogil:
        self.axis_of.push_back(-1)
        self.cut_of.push_back(answer)
        self.bound_of.push_back(bound)

    cdef void _settle(self) noexcept nogil:
        """Note a box in which the bounds leave nothing wrong."""
        cdef intp_t a, b, k, one = -1, two = -1
        cdef int32_t form
        cdef float64_t lead = INFINITY, most = -INFINITY, least
        if not (self.has_classes or self.are_odds):
            for a in range(self.n_first):
                least = INFINITY
                for k in range(self.n_own):
                    form = self.first[a, k]
                    if form >= 0 and self.upper[form] < least:
                        least = self.upper[form]
                most = max(most, least)
            self.highest = max(self.highest, most)
            if self.is_cover:
                self._leaf(SEVERAL, most)
        if not (self.has_classes and self.is_cover):
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
        """Have the cells put aside judged; 0 if enough points were found."""
        cdef intp_t i, a, n = self.pending.size() // self.n_axes
        if n == 0:
            return 1
        with gil:
            cells = self._cells(self.pending.data(), n)
            if self.is_cover:
                answers = self.judge(cells)
                kept = np.flatnonzero(answers < OUTSIDE).tolist()
                for i in range(n):
                    self.cut_of[self.waiting[i]] = answers[i]
            elif self.judge is None:
                kept = range(n)
            else:
                kept = np.flatnonzero(self.judge(cells)).tolist()
            for i in kept:
                for a in range(self.n_axes):
                    self.found.push_back(self.pending[i * self.n_axes + a])
        self.pending.clear()
        self.waiting.clear()
        return <intp_t> self.found.size() < self.n_points * self.n_axes

    # ------------------------------------------------------------------ the search

    cdef int _look(self, int32_t *axis, int32_t *cut, int32_t *side) except -1 nogil:
        """Look at the box: 0 done with, 1 to be halved where it says, 2 to end."""
        cdef intp_t a
        cdef int where
        side[0] = 0
        self.limit = self._count(self.max_boxes)
        if self.limit:
            return 2
        where = self._inside(axis, cut)
        if where == 0:
            if self.is_cover:
                self._leaf(OUTSIDE, 0.0)
            return 0
        self._sum_up()
        if not self._weigh_open() and not (self.must_halve and self.n_boxes == 1):
            self._settle()
            return 0
        if self._choose(axis, cut, side):
            return 1
        if where < 0:
            # every tree is decided: cut off what lies outside
            return 1
        for a in range(self.n_axes):
            self.pending.push_back(self.lo[a])
        if self.is_cover:
            self.waiting.push_back(<int32_t> self.axis_of.size())
            self._leaf(SEVERAL, 0.0)
        if <intp_t> self.pending.size() < self.n_judged * self.n_axes:
            return 0
        return 0 if self._flush() else 2

    cdef int _search(self) except -1 nogil:
        """Look at the box and its halves; 1 if all are done with, 0 if something ended it."""
        cdef int32_t axis, cut, side
        cdef int verdict
        while True:
            verdict = self._look(&axis, &cut, &side)
            if verdict == 2:
                return 0
            if verdict == 1:
                if self.is_cover:
                    self.axis_of.push_back(axis)
                    self.cut_of.push_back(cut)
                    self.bound_of.push_back(0.0)
                self._enter(axis, cut, side)
            elif not self._turn():
                return 1

    def _run(self, const float64_t[:, ::1] forms, start, claim, lo, hi, outside, twins, judge):
        """Search a box, for answers as of `cover`; what else there is to say has been set."""
        cdef intp_t t, k
        cdef const int32_t[::1] first = lo, last = hi
        self._leave_out(outside)
        self._weigh(forms)
        self.first, self.second, self.joint, self.wrong = claim
        self.n_first, self.n_second = self.wrong.shape[0], self.wrong.shape[1]
        self.n_own, self.n_other = self.first.shape[1], self.second.shape[1]
        self.n_joint = self.joint.shape[2]
        self.judge = judge
        self.n_boxes = 0
        self.limit = 0
        self.highest = -INFINITY
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
        self.start.assign(self.width, 0.0)
        for k in range(self.width):
            self.start[k] = start[k]
        # forms are compared as shares of how far apart their numbers lie in a tree
        self._add_spreads(self.scale)
        for k in range(self.width):
            self.scale[k] = 1.0 / self.scale[k] if self.scale[k] > 0.0 else 1.0
        self.axis_of.clear()
        self.cut_of.clear()
        self.bound_of.clear()
        self.found.clear()
        self.pending.clear()
        self.waiting.clear()
        self._load(&first[0], &last[0])
        try:
            with nogil:
                # at a limit, points that were put aside are not lost
                if self._search() or (self.limit and not self.is_cover):
                    self._flush()
        finally:
            self.judge = None
        self.stopped = (None, "time", "boxes")[self.limit]

    def find(
        self,
        const float64_t[:, ::1] forms,
        const float64_t[::1] start,
        const float64_t[::1] need,
        *,
        box=None,
        outside=None,
        intp_t n_points=1,
        judge=None,
        bint are_odds=False,
        max_boxes=None,
    ):
        """Points at which every form is at least what is needed.

        Parameters
        ----------
        forms : float64 array of shape (n_leaf_numbers, n_forms)
            What the leaves add.
        start : float64 array of shape (n_forms,)
            Where the sums begin.
        need : float64 array of shape (n_forms,)
        box : pair of int32 arrays of shape (n_axes,) or None
            First and last cells of where to look; None: everywhere.
        outside : pair of int32 arrays of shape (n_regions, n_axes) or None
            First and last cells of regions that do not count.
        n_points : int
            Where to stop.
        judge : callable or None
            ``judge(cells)`` says which of some cells count; None: all do.
        are_odds : bool
            Whether the forms are log-odds, see `_rise`, and a probability has to exceed another one
            by the first of the needs.
        max_boxes : int or None
            Boxes to look at, at most.

        Returns
        -------
        int32 array of shape (n, n_axes)
            Cells; if the attribute ``stopped`` is None, there are others only if there are
            `n_points` of them.
        """
        cdef intp_t width = forms.shape[1]
        if not width or start.shape[0] != width or need.shape[0] != width:
            raise ValueError(f"{width} forms need a start and a need each, and there is one")
        self.is_cover = self.has_classes = self.must_halve = False
        self.are_odds = are_odds
        self.apart_by = need[0]
        self.n_points = n_points
        self.n_judged = 1 if judge is None else FEW_JUDGED
        self.max_boxes = (2**63 - 1) if max_boxes is None else max_boxes
        begin = np.asarray(start) if are_odds else np.asarray(start) - np.asarray(need)
        if box is None:
            whole = [self.n_cells[a] - 1 for a in range(self.n_axes)]
            box = np.zeros(self.n_axes, dtype=np.int32), np.array(whole, dtype=np.int32)
        # one answer that is wrong, and needs all forms
        claim = (
            np.arange(width, dtype=np.int32)[None],
            np.empty((1, 0), dtype=np.int32),
            np.empty((1, 1, 0), dtype=np.int32),
            np.ones((1, 1), dtype=np.uint8),
        )
        self._run(forms, begin, claim, *box, outside, None, judge)
        return self._cells(self.found.data(), self.found.size() // self.n_axes)

    def cover(
        self,
        const float64_t[:, ::1] forms,
        start,
        first,
        second,
        joint,
        wrong,
        *,
        judge,
        bint has_classes,
        lo,
        hi,
        outside=None,
        int64_t max_boxes=2**62,
        twins=None,
        bint halve=False,
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
        halve : bool
            Whether the box is halved, if it can be, where bounds leave nothing wrong in it, too.

        Returns
        -------
        axis, cut : int32 arrays of shape (n_nodes,)
            Where boxes were halved, in pre-order. The axis of those that were not is -1, and their
            cut the answer there, or -1: several, -2: outside.
        bound : float64 array of shape (n_nodes,)
            Of such with an answer, the least lead of it; of numbers, the most that one exceeds.
        """
        self.is_cover = True
        self.has_classes = has_classes
        self.must_halve = halve
        self.are_odds = False
        self.n_points = 1
        self.n_judged = JUDGED
        self.max_boxes = max_boxes
        claim = first, second, joint, wrong
        self._run(forms, start, claim, lo, hi, outside, twins, judge)
        if self.found.size():
            self.stopped = "refuted"
        cdef intp_t i, size = <intp_t> self.axis_of.size()
        axis, cut = np.empty(size, dtype=np.int32), np.empty(size, dtype=np.int32)
        bound = np.empty(size)
        cdef int32_t[::1] axis_ = axis, cut_ = cut
        cdef float64_t[::1] bound_ = bound
        for i in range(size):
            axis_[i], cut_[i], bound_[i] = self.axis_of[i], self.cut_of[i], self.bound_of[i]
        return axis, cut, bound
