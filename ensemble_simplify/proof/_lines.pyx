"""Lines of cells: what a forest says when one feature of a row takes any value.

The *line* of a row along an axis is the cells that differ from the row's cell on that axis only.
Along it, a tree answers as on the row until a split on the axis sends the line elsewhere; so the
votes of all cells of a line are those of the row, plus a change for each leaf that the line
reaches besides. A row with all its lines costs O(trees * (leaves reached) + cells * scores), not
a walk through each tree for each cell.

The sums are real arithmetic with a bound on its rounding. Where two classes are closer than the
bound, the cell is `UNSURE`, and the caller asks the ensemble's own arithmetic.

LineWalker
    A sum over trees, which labels the lines of rows.
"""

cimport cython
from libcpp.vector cimport vector

from ensemble_simplify.grid._limits cimport stop_if_late
from ensemble_simplify.grid._regions cimport Node, right_child, rows_of
from ensemble_simplify._typedefs cimport FREE as FREE_LABEL
from ensemble_simplify._typedefs cimport float64_t, int32_t, intp_t, uint8_t, uint16_t

cdef enum:
    # Class of a cell whose votes are too close to tell.
    UNSURE_LABEL = 0xFFFE
    # Rows between two looks at the clock.
    POLL = 16

UNSURE = <int> UNSURE_LABEL


@cython.final
cdef class LineWalker:
    """A sum over trees that gives the cells of the lines of rows their classes.

    Not for two threads at a time.

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
    first : intp array of shape (n_axes + 1,)
        Position at which the cells of each axis begin, among those of all lines of a row.
    outside : pair of int32 arrays of shape (n_regions, n_axes)
        First and last cells of regions whose class is free.
    """

    cdef:
        const int32_t[:, ::1] node_array
        const Node *nodes
        const intp_t[::1] offsets
        const float64_t[:, ::1] value
        bint exact, tie_upper
        double tolerance
        const intp_t[::1] first
        const int32_t[:, ::1] outside_lo, outside_hi
        intp_t n_axes, n_scores
        vector[int32_t] n_cuts          # of each axis
        # the row: its cell, its votes, and the path and the votes of its leaf in the last tree
        const int32_t *cell
        vector[float64_t] base
        vector[int32_t] path
        const float64_t *own
        vector[int32_t] low, high       # first and last cell of each line still on the path
        # its lines: how the votes change from a position on, where they do, and how often
        vector[float64_t] change        # (positions + 1, n_scores)
        vector[uint8_t] touched
        vector[intp_t] n_changes        # along each axis
        vector[float64_t] votes

    def __init__(self, nodes, offsets, value, *, exact, tie_upper, tolerance, first, outside):
        cdef intp_t a
        self.node_array, self.offsets, self.value = nodes, offsets, value
        self.nodes = <const Node *> &self.node_array[0, 0]
        self.exact, self.tie_upper, self.tolerance = exact, tie_upper, tolerance
        self.first = first
        self.outside_lo, self.outside_hi = outside
        self.n_axes = self.first.shape[0] - 1
        self.n_scores = self.value.shape[1]
        for a in range(self.n_axes):
            self.n_cuts.push_back(<int32_t> (self.first[a + 1] - self.first[a] - 1))
        self.base.resize(self.n_scores)
        self.votes.resize(self.n_scores)
        self.change.resize((self.first[self.n_axes] + 1) * self.n_scores)
        self.touched.resize(self.first[self.n_axes] + 1)
        self.n_changes.resize(self.n_axes)
        self.low.resize(self.n_axes)
        self.high = self.n_cuts

    def label(
        self,
        const int32_t[:, ::1] cells,
        const intp_t[::1] from_axis,
        uint16_t[:, ::1] labels,  # OUT
    ):
        """Classes of all cells of the lines of some rows.

        Parameters
        ----------
        cells : int32 array of shape (n_rows, n_axes)
            The cells of the rows.
        from_axis : intp array of shape (n_rows,)
            Lines along this axis and later ones are walked; of others nothing is written.
        labels : uint16 array of shape (n_rows, first[n_axes])

        Raises
        ------
        Stopped
            If the time was up first.
        """
        self._walk(cells, from_axis, labels, False)

    def steps(
        self,
        const int32_t[:, ::1] cells,
        const intp_t[::1] from_axis,
        uint16_t[:, ::1] steps,  # OUT
    ):
        """Where the votes of a tree change along the lines of some rows.

        As `label`; instead of classes, 1 is written where they change and 0 where they do not.
        """
        self._walk(cells, from_axis, steps, True)

    cdef int _walk(
        self,
        const int32_t[:, ::1] cells,
        const intp_t[::1] from_axis,
        uint16_t[:, ::1] labels,
        bint only_steps,
    ) except -1:
        cdef intp_t i, t, a
        with nogil:
            for i in range(cells.shape[0]):
                if i % POLL == 0:
                    stop_if_late()
                self.cell = &cells[i, 0]
                self.base.assign(self.n_scores, 0.0)
                self.n_changes.assign(self.n_axes, 0)
                for t in range(self.offsets.shape[0] - 1):
                    self._walk_tree(<int32_t> self.offsets[t], from_axis[i])
                for a in range(from_axis[i], self.n_axes):
                    if only_steps:
                        self._note_steps(a, &labels[i, 0])
                    else:
                        self._label_line(a, &labels[i, 0])
                self._free_outside(from_axis[i], &labels[i, 0])
        return 0

    cdef int _walk_tree(self, int32_t at, intp_t from_axis) except -1 nogil:
        """Add the row's votes of a tree, and note where lines are voted on otherwise."""
        cdef:
            intp_t s, k
            int32_t axis, cut
        self.path.clear()
        while self.nodes[at].axis >= 0:
            self.path.push_back(at)
            axis = self.nodes[at].axis
            cut = self.nodes[at].cut
            at = at + 1 if self.cell[axis] <= cut else right_child(self.nodes, at)
        self.own = &self.value[self.nodes[at].cut, 0]
        for s in range(self.n_scores):
            self.base[s] += self.own[s]
        # at each split of the path, the cells beyond the cut leave it
        for k in range(<intp_t> self.path.size()):
            at = self.path[k]
            axis = self.nodes[at].axis
            cut = self.nodes[at].cut
            if axis < from_axis:
                continue
            if self.cell[axis] <= cut:
                if cut < self.high[axis]:
                    self._note(right_child(self.nodes, at), axis, cut + 1, self.high[axis])
                    self.high[axis] = cut
            elif cut >= self.low[axis]:
                self._note(at + 1, axis, self.low[axis], cut)
                self.low[axis] = cut + 1
        for k in range(<intp_t> self.path.size()):
            axis = self.nodes[self.path[k]].axis
            self.low[axis] = 0
            self.high[axis] = self.n_cuts[axis]
        return 0

    cdef void _note(self, int32_t at, int32_t axis, int32_t lo, int32_t hi) noexcept nogil:
        """Note the leaves that the cells lo..hi of a line reach below a node."""
        cdef:
            intp_t s, here
            int32_t cut
            const float64_t *votes
            bint same = True
        while self.nodes[at].axis >= 0:
            cut = self.nodes[at].cut
            if self.nodes[at].axis != axis:
                if self.cell[self.nodes[at].axis] <= cut:
                    at += 1
                else:
                    at = right_child(self.nodes, at)
            elif hi <= cut:
                at += 1
            elif lo > cut:
                at = right_child(self.nodes, at)
            else:
                self._note(at + 1, axis, lo, cut)
                lo = cut + 1
                at = right_child(self.nodes, at)
        votes = &self.value[self.nodes[at].cut, 0]
        for s in range(self.n_scores):
            same = same and votes[s] == self.own[s]
        if same:
            return
        here = self.first[axis] + lo
        self.touched[here] = 1
        for s in range(self.n_scores):
            self.change[here * self.n_scores + s] += votes[s] - self.own[s]
        self.n_changes[axis] += 1
        if hi < self.n_cuts[axis]:
            here = self.first[axis] + hi + 1
            self.touched[here] = 1
            for s in range(self.n_scores):
                self.change[here * self.n_scores + s] -= votes[s] - self.own[s]
            self.n_changes[axis] += 1

    cdef void _label_line(self, intp_t axis, uint16_t *labels) noexcept nogil:
        """Write the classes along one line, and forget the changes."""
        cdef:
            intp_t p, s
            intp_t n_trees = self.offsets.shape[0] - 1
            uint16_t label
            # the tolerance grants a rounding to every tree, a line makes some more
            double slack = self.tolerance * (
                2.0 + 2.0 * self.n_changes[axis] / <double> (n_trees + 16)
            )
        for s in range(self.n_scores):
            self.votes[s] = self.base[s]
        label = self._decided(slack)
        for p in range(self.first[axis], self.first[axis + 1]):
            if self.touched[p]:
                self.touched[p] = 0
                for s in range(self.n_scores):
                    self.votes[s] += self.change[p * self.n_scores + s]
                    self.change[p * self.n_scores + s] = 0.0
                label = self._decided(slack)
            labels[p] = label

    cdef void _note_steps(self, intp_t axis, uint16_t *steps) noexcept nogil:
        """Write where the votes change along one line, and forget the changes."""
        cdef intp_t p, s
        for p in range(self.first[axis], self.first[axis + 1]):
            steps[p] = self.touched[p]
            if self.touched[p]:
                self.touched[p] = 0
                for s in range(self.n_scores):
                    self.change[p * self.n_scores + s] = 0.0

    cdef uint16_t _decided(self, double slack) noexcept nogil:
        """The class of the largest vote; `UNSURE` where another comes within the slack."""
        cdef const float64_t *votes = self.votes.data()
        cdef intp_t s, best = 0
        cdef double second = -1e308
        for s in range(1, self.n_scores):
            if votes[s] > votes[best] or (self.tie_upper and votes[s] == votes[best]):
                second = votes[best]
                best = s
            elif votes[s] > second:
                second = votes[s]
        if self.exact or self.n_scores == 1 or votes[best] - second > slack:
            return <uint16_t> best
        return UNSURE_LABEL

    cdef void _free_outside(self, intp_t from_axis, uint16_t *labels) noexcept nogil:
        """Mark the cells of the lines that lie in regions whose class is free."""
        cdef intp_t k, a, n_apart, apart
        cdef int32_t position
        for k in range(self.outside_lo.shape[0]):
            # a line reaches a region that holds the row's cell on all other axes
            n_apart = 0
            apart = -1
            for a in range(self.n_axes):
                if not self.outside_lo[k, a] <= self.cell[a] <= self.outside_hi[k, a]:
                    n_apart += 1
                    apart = a
            if n_apart > 1:
                continue
            for a in range(from_axis, self.n_axes):
                if n_apart == 0 or a == apart:
                    for position in range(self.outside_lo[k, a], self.outside_hi[k, a] + 1):
                        labels[self.first[a] + position] = FREE_LABEL


ctypedef fused label_t:
    uint16_t
    int32_t


cdef struct Run:
    # cells of one label along a line of a row; `before` is the label of the cell before them
    int32_t row, axis, first, last, label, before


def find_runs(
    const label_t[:, ::1] labels,
    label_t free,
    const int32_t[:, ::1] cells,
    const intp_t[::1] first,
    int32_t[:, ::1] own_first,  # OUT
    int32_t[:, ::1] own_last,  # OUT
    int32_t[:, ::1] own_before,  # OUT
):
    """The runs of one label along the lines of some rows.

    O(cells of the lines).

    Parameters
    ----------
    labels : uint16 or int32 array of shape (n_rows, first[n_axes])
        Of all lines of each row.
    free : int
        The label of cells that do not count.
    cells : int32 array of shape (n_rows, n_axes)
    first : intp array of shape (n_axes + 1,)
    own_first, own_last : int32 arrays of shape (n_rows, n_axes)
        The run of each line that holds the row itself.
    own_before : int32 array of shape (n_rows, n_axes)
        The label of the cell before it; -1 if that is free, or there is none.

    Returns
    -------
    int32 array of shape (n_runs, 6)
        All other runs whose label is not free: row, axis, first and last cell, label, and that of
        the cell before the first (or -1).
    """
    cdef:
        intp_t n_rows = cells.shape[0], n_axes = cells.shape[1]
        intp_t i, a
        int32_t p, q, n, before
        label_t label
        vector[Run] found
    with nogil:
        for i in range(n_rows):
            for a in range(n_axes):
                n = <int32_t> (first[a + 1] - first[a])
                p = 0
                before = -1
                while p < n:
                    label = labels[i, first[a] + p]
                    q = p
                    while q + 1 < n and labels[i, first[a] + q + 1] == label:
                        q += 1
                    if p <= cells[i, a] <= q:
                        own_first[i, a] = p
                        own_last[i, a] = q
                        own_before[i, a] = before
                    elif label != free:
                        found.push_back(
                            Run(<int32_t> i, <int32_t> a, p, q, <int32_t> label, before))
                    before = -1 if label == free else <int32_t> label
                    p = q + 1
    return rows_of(<const int32_t *> found.data(), found.size(), 6)
