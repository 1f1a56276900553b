"""Points at which an ensemble answers one class and a reweighting of its trees prefers another.

Both votes add up over the same trees. With h the lead of class a over class b in a tree, the whole
ensemble needs ``sum h >= 0`` and the reweighted one ``-sum w h >= 0``; so, for every multiplier
``m >= 0``, ``sum (m - w) h >= 0``: one ensemble again, whose bound on a box of cells needs no more
than the least and the largest lead that each tree can reach there. The best multiplier is found
anew in every box, by bisection over a convex function of it, starting from that of the box around.

Boxes are halved depth first, at the cut that takes most off the bounds, until no lead is possible
or every tree is decided.
"""

import numpy as np

from libcpp.vector cimport vector

from ensemble_simplify._regions cimport Node, array_to_nodes, restrict_root, right_child
from ensemble_simplify._typedefs cimport float64_t, int32_t, int64_t, intp_t, should_stop

cdef enum:
    # Boxes between two looks at the clock.
    POLL = 512
    # Steps of the search for the multiplier of a box.
    STEPS = 8

cdef float64_t HUGE = 1e300


cdef class JointSearch:
    """Trees on a grid of cells, ready to be searched for one answer of the whole ensemble.

    Parameters
    ----------
    shape : sequence of int
        Cells on each axis.
    nodes, offsets : trees over axes
    lead : float64 array of shape (n_leaf_numbers, n_rivals)
        Lead of the answer over every other class in each leaf.
    start : float64 array of shape (n_rivals,)
        Leads that are there without trees.

    Attributes
    ----------
    n_boxes : int
        Boxes looked at by the last search.
    """

    cdef:
        intp_t n_axes, n_trees, n_rivals, rival
        readonly int64_t n_boxes
        intp_t n_points
        float64_t whole_slack, slack, deadline
        bint stopped
        vector[Node] nodes
        vector[int32_t] root_of, roots, lo, hi, n_cells, first_cut
        # for every node and rival, the least and largest lead below it
        vector[float64_t] least, most
        # for every tree and rival, the same in the box
        vector[float64_t] low, high
        vector[float64_t] start, weight, gain
        vector[int32_t] saved_tree, saved_root
        vector[float64_t] saved_low, saved_high
        vector[int32_t] found
        const int32_t[:, ::1] out_lo
        const int32_t[:, ::1] out_hi

    def __init__(self, shape, nodes, offsets, lead, start):
        cdef const int32_t[:, ::1] nodes_ = nodes
        cdef const intp_t[::1] offsets_ = offsets
        cdef const float64_t[:, ::1] lead_ = lead
        cdef intp_t i, k, n_cuts = 0
        cdef int32_t right
        self.n_axes = len(shape)
        self.n_trees = offsets_.shape[0] - 1
        self.n_rivals = lead_.shape[1]
        array_to_nodes(nodes_, self.nodes)
        for i in range(self.n_axes):
            self.n_cells.push_back(shape[i])
            self.first_cut.push_back(<int32_t> n_cuts)
            n_cuts += shape[i] - 1
        self.gain.assign(n_cuts + 1, 0.0)
        for i in range(self.n_trees):
            self.root_of.push_back(<int32_t> offsets_[i])
        for k in range(self.n_rivals):
            self.start.push_back(start[k])
        self.least.assign(self.nodes.size() * self.n_rivals, 0.0)
        self.most.assign(self.nodes.size() * self.n_rivals, 0.0)
        for i in range(<intp_t> self.nodes.size() - 1, -1, -1):
            for k in range(self.n_rivals):
                if self.nodes[i].axis < 0:
                    self.least[i * self.n_rivals + k] = lead_[self.nodes[i].cut, k]
                    self.most[i * self.n_rivals + k] = lead_[self.nodes[i].cut, k]
                    continue
                right = right_child(self.nodes.data(), <int32_t> i)
                self.least[i * self.n_rivals + k] = min(
                    self.least[(i + 1) * self.n_rivals + k], self.least[right * self.n_rivals + k]
                )
                self.most[i * self.n_rivals + k] = max(
                    self.most[(i + 1) * self.n_rivals + k], self.most[right * self.n_rivals + k]
                )
        self.roots.resize(self.n_trees)
        self.low.resize(self.n_trees * self.n_rivals)
        self.high.resize(self.n_trees * self.n_rivals)
        self.lo.assign(self.n_axes + 1, 0)
        self.hi.assign(self.n_axes + 1, 0)

    cdef void _reach(self, int32_t node, float64_t *low, float64_t *high) noexcept nogil:
        """Widen the bounds by the leaves that the box can reach below a node."""
        cdef const float64_t *least
        cdef const float64_t *most
        cdef Node *split
        cdef intp_t k
        while True:
            least = self.least.data() + node * self.n_rivals
            most = self.most.data() + node * self.n_rivals
            for k in range(self.n_rivals):
                if least[k] < low[k] or most[k] > high[k]:
                    break
            else:
                return
            split = self.nodes.data() + node
            if split.axis < 0:
                for k in range(self.n_rivals):
                    low[k] = min(low[k], least[k])
                    high[k] = max(high[k], most[k])
                return
            if self.hi[split.axis] <= split.cut:
                node += 1
            elif self.lo[split.axis] > split.cut:
                node = right_child(self.nodes.data(), node)
            else:
                self._reach(node + 1, low, high)
                node = right_child(self.nodes.data(), node)

    cdef void _restrict(self, intp_t tree) noexcept nogil:
        cdef float64_t *low = self.low.data() + tree * self.n_rivals
        cdef float64_t *high = self.high.data() + tree * self.n_rivals
        cdef intp_t k
        self.roots[tree] = restrict_root(
            self.nodes.data(), self.roots[tree], self.lo.data(), self.hi.data()
        )
        for k in range(self.n_rivals):
            low[k] = HUGE
            high[k] = -HUGE
        self._reach(self.roots[tree], low, high)

    cdef void _narrow(self, int32_t axis, int32_t lo, int32_t hi) noexcept nogil:
        """Shrink the box on one axis, saving the trees that may change."""
        cdef intp_t t, k
        self.lo[axis] = lo
        self.hi[axis] = hi
        for t in range(self.n_trees):
            if self.nodes[self.roots[t]].axis < 0:
                continue
            self.saved_tree.push_back(<int32_t> t)
            self.saved_root.push_back(self.roots[t])
            for k in range(self.n_rivals):
                self.saved_low.push_back(self.low[t * self.n_rivals + k])
                self.saved_high.push_back(self.high[t * self.n_rivals + k])
            self._restrict(t)

    cdef void _undo(self, intp_t n_saved) noexcept nogil:
        cdef intp_t t, k
        while <intp_t> self.saved_tree.size() > n_saved:
            t = self.saved_tree.back()
            self.roots[t] = self.saved_root.back()
            self.saved_tree.pop_back()
            self.saved_root.pop_back()
            for k in range(self.n_rivals - 1, -1, -1):
                self.low[t * self.n_rivals + k] = self.saved_low.back()
                self.high[t * self.n_rivals + k] = self.saved_high.back()
                self.saved_low.pop_back()
                self.saved_high.pop_back()

    cdef float64_t _joint(self, float64_t m, float64_t *slope) noexcept nogil:
        """Bound on ``m * lead of the whole - lead of the reweighted``; its slope in m."""
        cdef intp_t t, n = self.n_rivals, r = self.rival
        cdef float64_t total = (m - 1.0) * self.start[r]
        cdef float64_t lead
        slope[0] = self.start[r]
        for t in range(self.n_trees):
            lead = self.high[t * n + r] if m > self.weight[t] else self.low[t * n + r]
            total += (m - self.weight[t]) * lead
            slope[0] += lead
        return total

    cdef bint _is_open(self, float64_t *multiplier) noexcept nogil:
        """Whether both leads may be there somewhere in the box."""
        cdef intp_t t, k, step, n = self.n_rivals
        cdef float64_t total, slope, m, below, above, bound
        for k in range(n):
            total = self.start[k]
            for t in range(self.n_trees):
                total += self.high[t * n + k]
            if total < -self.whole_slack:
                return False
        m = multiplier[0]
        below, above = 0.0, -1.0
        for step in range(STEPS):
            bound = self._joint(m, &slope)
            if bound < -(m * self.whole_slack + self.slack):
                multiplier[0] = m
                return False
            # convex in m: go against the slope
            if slope > 0.0:
                above = m
            else:
                below = m
            if above < 0.0:
                m = 2.0 * m
            else:
                m = 0.5 * (below + above)
        multiplier[0] = m
        # without a multiplier: the reweighted trees alone
        return self._joint(0.0, &slope) >= -self.slack

    cdef bint _choose(self, float64_t m, int32_t *axis, int32_t *cut) noexcept nogil:
        """The cut at which the bounds have most to lose; False if every tree is decided."""
        cdef intp_t t, n = self.n_rivals, r = self.rival
        cdef Node *split
        cdef float64_t spread, best = -1.0
        cdef intp_t at
        for t in range(self.n_trees):
            split = self.nodes.data() + self.roots[t]
            if split.axis < 0:
                continue
            spread = self.high[t * n + r] - self.low[t * n + r]
            spread *= 1e-9 + (m - self.weight[t] if m > self.weight[t] else self.weight[t] - m)
            at = self.first_cut[split.axis] + split.cut
            self.gain[at] += spread
            if self.gain[at] > best:
                best = self.gain[at]
                axis[0] = split.axis
                cut[0] = split.cut
        for t in range(self.n_trees):
            split = self.nodes.data() + self.roots[t]
            if split.axis >= 0:
                self.gain[self.first_cut[split.axis] + split.cut] = 0.0
        return best >= 0.0

    cdef int _inside(self, int32_t *axis, int32_t *cut) noexcept nogil:
        """1: the box is inside the domain; 0: outside; -1: both, and where to cut it."""
        cdef intp_t i, a
        cdef bint apart
        cdef int32_t where, at
        for i in range(self.out_lo.shape[0]):
            apart = False
            where = -1
            at = 0
            for a in range(self.n_axes):
                if self.hi[a] < self.out_lo[i, a] or self.lo[a] > self.out_hi[i, a]:
                    apart = True
                    break
                if where < 0 and self.lo[a] < self.out_lo[i, a]:
                    where = <int32_t> a
                    at = self.out_lo[i, a] - 1
                elif where < 0 and self.hi[a] > self.out_hi[i, a]:
                    where = <int32_t> a
                    at = self.out_hi[i, a]
            if apart:
                continue
            if where < 0:
                return 0
            axis[0] = where
            cut[0] = at
            return -1
        return 1

    cdef int _search(self, float64_t multiplier) except -1 nogil:
        """Look for points in the box; 1 to go on, 0 at a limit."""
        cdef int32_t axis = 0, cut = 0, lo, hi
        cdef intp_t a, n_saved, side
        cdef int where
        cdef float64_t m = multiplier
        cdef int32_t[2] firsts
        cdef int32_t[2] lasts
        self.n_boxes += 1
        if self.n_boxes % POLL == 0 and should_stop(self.deadline):
            self.stopped = True
            return 0
        where = self._inside(&axis, &cut)
        if where == 0 or not self._is_open(&m):
            return 1
        if not self._choose(m, &axis, &cut):
            if where == 1:
                for a in range(self.n_axes):
                    self.found.push_back(self.lo[a])
                return <intp_t> self.found.size() < self.n_points * self.n_axes
            # the bounds hold as they are: what is cut off lies outside
            self._inside(&axis, &cut)
        lo, hi = self.lo[axis], self.hi[axis]
        firsts[0], lasts[0] = lo, cut
        firsts[1], lasts[1] = cut + 1, hi
        n_saved = self.saved_tree.size()
        for side in range(2):
            self._narrow(axis, firsts[side], lasts[side])
            where = self._search(m)
            self._undo(n_saved)
            self.lo[axis] = lo
            self.hi[axis] = hi
            if where == 0:
                return 0
        return 1

    def find(
        self,
        const float64_t[::1] weight,
        intp_t rival,
        double whole_slack,
        double slack,
        outside=None,
        intp_t n_points=1,
        double deadline=float("inf"),
    ):
        """Points at which the whole ensemble may give the answer, and the reweighted one a rival.

        Parameters
        ----------
        weight : float64 array of shape (n_trees,)
            What every tree's votes are multiplied by.
        rival : int
            Column of `lead`.
        whole_slack, slack : float
            How far below zero the leads still count.
        outside : pair of int32 arrays of shape (n_regions, n_axes) or None
            First and last cells of regions that do not count.
        n_points : int
            Where to stop.
        deadline : float
            On the clock of ``time.monotonic()``.

        Returns
        -------
        int32 array of shape (n, n_axes), or None
            Cells; none iff there are none. None if the time was up before there was one.
        """
        cdef intp_t t, a, i
        cdef double total = 0.0
        none = np.empty((0, self.n_axes), dtype=np.int32)
        self.out_lo, self.out_hi = (none, none) if outside is None else outside
        if weight.shape[0] != self.n_trees or not 0 <= rival < self.n_rivals:
            raise ValueError(f"{self.n_trees} weights and a rival below {self.n_rivals} are needed")
        self.rival = rival
        self.whole_slack = whole_slack
        self.slack = slack
        self.deadline = deadline
        self.n_points = n_points
        self.n_boxes = 0
        self.stopped = False
        self.found.clear()
        self.saved_tree.clear()
        self.saved_root.clear()
        self.saved_low.clear()
        self.saved_high.clear()
        self.weight.assign(self.n_trees, 0.0)
        for t in range(self.n_trees):
            self.weight[t] = weight[t]
            total += weight[t]
        for a in range(self.n_axes):
            self.lo[a] = 0
            self.hi[a] = self.n_cells[a] - 1
        for t in range(self.n_trees):
            self.roots[t] = self.root_of[t]
            self._restrict(t)
        with nogil:
            self._search(total / self.n_trees + 1e-12)
        cells = np.empty((self.found.size() // self.n_axes, self.n_axes), dtype=np.int32)
        cdef int32_t[:, ::1] cells_ = cells
        for i in range(cells_.shape[0]):
            for a in range(self.n_axes):
                cells_[i, a] = self.found[i * self.n_axes + a]
        return None if self.stopped and not len(cells) else cells
