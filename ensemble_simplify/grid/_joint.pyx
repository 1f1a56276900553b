"""Points at which several sums over trees are all large, by boxes of cells in which some are not.

A *form* gives every leaf of every tree a number; at a point, it is the sum of the numbers of the
leaves that the point ends in. On a box of cells a form is at most the sum, over the trees, of the
largest number that each can still reach there. Where that is too little for one of the forms, the
box is done with. Else it is halved, depth first, until every tree is decided: single leaves of all
trees are put to a judge. That a probability is far above another one is one demand on their
log-odds and the differences of these: see `_rise`.

JointSearch
    The trees, loaded once, and the search.
"""

import numpy as np

cimport cython
from libc.math cimport INFINITY, exp, log
from libcpp.vector cimport vector

from ensemble_simplify.grid._boxes cimport BoundedTrees, Gain
from ensemble_simplify.grid._regions cimport Node, rows_of
from ensemble_simplify._typedefs cimport float64_t, int32_t, int64_t, intp_t

cdef enum:
    # Cells that are judged at a time.
    JUDGED = 256

# What the other forms count, beside the one that is closest to falling short.
cdef float64_t OTHERS = 1e-3


cdef inline float64_t sigmoid(float64_t x) noexcept nogil:
    return 1.0 / (1.0 + exp(-x))


@cython.final
cdef class JointSearch(BoundedTrees):
    """Trees on a grid of cells, ready to be searched for points of large sums.

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
    stopped : {None, "time", "boxes"}
        What ended the last search: a limit.
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
        # whether the forms are log-odds, of which probabilities have to be this far apart
        bint are_odds
        float64_t apart_by
        vector[float64_t] start, scale, upper
        # the form that is closest to falling short
        intp_t tightest
        # points found, and cells to be judged
        vector[int32_t] found, pending

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

    cdef bint _falls_short(self) noexcept nogil:
        """Whether a form is too small in the whole box, by the most that each can be there."""
        cdef intp_t t, k
        cdef const float64_t *bound
        cdef float64_t *upper = self.upper.data()
        cdef float64_t least = INFINITY
        for k in range(self.width):
            upper[k] = self.start[k]
        for t in range(self.n_trees):
            bound = self.bound.data() + t * 3 * self.width
            for k in range(self.width):
                upper[k] += bound[k]
        if self.are_odds:
            least = self._rise(&self.tightest) - self.apart_by
        else:
            for k in range(self.width):
                if upper[k] < 0.0:
                    least = min(least, upper[k])
        if least < 0.0:
            self.highest = max(self.highest, least)
            return True
        if not self.are_odds:
            self.tightest = 0
            for k in range(1, self.width):
                if upper[k] * self.scale[k] < upper[self.tightest] * self.scale[self.tightest]:
                    self.tightest = k
        return False

    cdef bint _choose(self, int32_t *axis, int32_t *cut, int32_t *side) noexcept nogil:
        """The cut that takes most off the tightest form; False if every tree is decided."""
        cdef intp_t t, k
        cdef const Gain *best
        cdef Gain *gain
        cdef const Node *root
        cdef const float64_t *both
        cdef const float64_t *left
        cdef const float64_t *right
        cdef float64_t off
        for t in range(self.n_trees):
            if self.nodes[self.roots[t]].axis < 0:
                continue
            both = self.bound.data() + t * 3 * self.width
            left = both + self.width
            right = left + self.width
            gain = self._gain(t)
            for k in range(self.width):
                off = (2.0 * both[k] - left[k] - right[k]) * self.scale[k]
                gain.spread += off
                if k == self.tightest:
                    gain.left += off
        for k in range(self.n_touched):
            gain = &self.gains[self.touched[k]]
            gain.score = gain.left + OTHERS * gain.spread
        best = self._take_best()
        if best == NULL:
            return False
        root = &self.nodes[self.roots[best.tree]]
        axis[0] = root.axis
        cut[0] = root.cut
        # the half in which the form can be larger is looked at first
        left = self.bound.data() + (best.tree * 3 + 1) * self.width
        side[0] = left[self.tightest] < left[self.width + self.tightest]
        return True

    cdef int _flush(self) except -1 nogil:
        """Have the cells put aside judged; 0 if enough points were found."""
        cdef intp_t i, a, n = self.pending.size() // self.n_axes
        if n == 0:
            return 1
        with gil:
            cells = rows_of(self.pending.data(), n, self.n_axes)
            kept = range(n) if self.judge is None else np.flatnonzero(self.judge(cells)).tolist()
            for i in kept:
                for a in range(self.n_axes):
                    self.found.push_back(self.pending[i * self.n_axes + a])
        self.pending.clear()
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
        if where == 0 or self._falls_short():
            return 0
        if self._choose(axis, cut, side):
            return 1
        if where < 0:
            # every tree is decided: cut off what lies outside
            return 1
        for a in range(self.n_axes):
            self.pending.push_back(self.lo[a])
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
                self._enter(axis, cut, side)
            elif not self._turn():
                return 1

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
        cdef intp_t k
        self.are_odds = are_odds
        self.apart_by = need[0]
        self.n_points = n_points
        self.n_judged = 1 if judge is None else JUDGED
        self.max_boxes = (2**63 - 1) if max_boxes is None else max_boxes
        if box is None:
            whole = [self.n_cells[a] - 1 for a in range(self.n_axes)]
            box = np.zeros(self.n_axes, dtype=np.int32), np.array(whole, dtype=np.int32)
        cdef const int32_t[::1] first = box[0], last = box[1]
        self._leave_out(outside)
        self._weigh(forms)
        self.judge = judge
        self.n_boxes = 0
        self.limit = 0
        self.highest = -INFINITY
        self.upper.assign(self.width, 0.0)
        self.start.assign(self.width, 0.0)
        for k in range(self.width):
            self.start[k] = start[k] - (0.0 if are_odds else need[k])
        # forms are compared as shares of how far apart their numbers lie in a tree
        self._add_spreads(self.scale)
        for k in range(self.width):
            self.scale[k] = 1.0 / self.scale[k] if self.scale[k] > 0.0 else 1.0
        self.found.clear()
        self.pending.clear()
        self._load(&first[0], &last[0])
        try:
            with nogil:
                # at a limit, points that were put aside are not lost
                if self._search() or self.limit:
                    self._flush()
        finally:
            self.judge = None
        self.stopped = (None, "time", "boxes")[self.limit]
        return rows_of(self.found.data(), self.found.size() // self.n_axes, self.n_axes)
