"""Trees with tests of sets of codes, written as trees of thresholds.

In the order of the codes, a set is a number of *runs*: codes that go the same way, from one border
to the next. A test of a set becomes a balanced tree of thresholds halfway between neighbouring
runs, and each run gets a copy of the branch of its side. On the way down it is known which codes a
feature can still have, and whether its value can be missing, so that later tests of the feature
tell apart no more than what is left. Missing values follow a run of their side, the last one where
they can: splits that send them right are cheaper later.

SetTree
    The tree, and how it is written.
"""

import numpy as np

cimport cython
from libcpp.vector cimport vector

from ensemble_simplify._typedefs cimport float64_t, int64_t, intp_t, uint8_t

cdef double INFINITE = float("inf")
cdef int64_t LAST = <int64_t> 1 << 62

cdef struct Codes:
    # The codes that a feature can still have, and whether its value can be missing.
    int64_t first
    int64_t last
    bint may_miss

cdef enum TaskKind:
    WRITE   # write the node `which`, the right child of `parent`, and all that is below it
    KNOW    # from here on, the feature `which` has these codes

cdef struct Task:
    TaskKind kind
    intp_t which
    intp_t parent
    Codes codes


cdef struct Written:
    # A split or a leaf of the new tree, and the old node.
    intp_t right
    intp_t origin
    float64_t threshold
    bint missing_left


@cython.final
cdef class SetTree:
    """A tree with tests of sets of codes, to be written: as a whole, or where some codes can be.

    Parameters
    ----------
    left, right, feature : int arrays of shape (n_nodes,)
        Children, -1 in leaves; the root is node 0.
    threshold : float array of shape (n_nodes,)
        Not read where there is a set.
    missing_left : bool array of shape (n_nodes,)
        Whether missing values go left.
    sets : dict of int to bool array
        For nodes that test a set: whether each code goes left, from 0 on; the last entry holds for
        all codes beyond, too.
    """

    cdef:
        const intp_t[::1] left, right, feature
        const float64_t[::1] threshold
        const uint8_t[::1] missing_left
        # borders[offsets[i]:offsets[i + 1]]: the codes at which the side of node i changes
        const intp_t[::1] offsets
        const int64_t[::1] borders
        const uint8_t[::1] first_left       # whether code 0 goes left
        const uint8_t[::1] has_set
        vector[Task] stack
        vector[Codes] known                 # of each feature, at the node that is being written
        # the nodes that are written; the left child of each comes next
        vector[Written] written

    def __init__(self, left, right, feature, threshold, missing_left, sets):
        n_nodes = len(left)
        first_left, has_set = np.zeros((2, n_nodes), dtype=np.uint8)
        sizes, borders = np.zeros(n_nodes, dtype=np.intp), []
        for node in sorted(sets):
            goes_left = np.asarray(sets[node], dtype=bool)
            own = np.flatnonzero(goes_left[1:] != goes_left[: len(goes_left) - 1]) + 1
            borders.append(own)
            first_left[node], sizes[node], has_set[node] = goes_left[0], len(own), True
        self.left = left.astype(np.intp)
        self.right = right.astype(np.intp)
        self.feature = feature.astype(np.intp)
        self.threshold = threshold.astype(np.float64)
        self.missing_left = missing_left.astype(np.uint8)
        self.offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.intp)
        self.borders = np.concatenate([*borders, []]).astype(np.int64)
        self.first_left, self.has_set = first_left, has_set

    def write(self, bint may_miss, intp_t max_nodes, const int64_t[:, ::1] window=None):
        """The tree with thresholds alone. O(nodes written * log(codes)).

        Parameters
        ----------
        may_miss : bool
            Whether values may be missing at the root.
        max_nodes : int
        window : int64 array of shape (n_features, 3) or None
            The first and the last code that each feature can have, and whether its value can be
            missing: tests that these decide are left out. None: any code, `may_miss`.

        Returns
        -------
        right, origin : intp arrays of shape (n_nodes_new,)
            Right children (the left one comes next), -1 in leaves; and the old nodes.
        threshold : float64 array of shape (n_nodes_new,)
        missing_left : bool array of shape (n_nodes_new,)

        Or None, if there are more than `max_nodes`.
        """
        cdef intp_t i, n_features = 1
        cdef Task task
        for i in range(self.left.shape[0]):
            if self.left[i] >= 0 and self.feature[i] >= n_features:
                n_features = self.feature[i] + 1
        if window is not None and window.shape[0] < n_features:
            raise ValueError("window must have a row for each feature")
        with nogil:
            self.known.assign(n_features, Codes(0, LAST, may_miss))
            if window is not None:
                for i in range(n_features):
                    self.known[i] = Codes(window[i, 0], window[i, 1], window[i, 2] != 0)
            self._write_branch(0, max_nodes)
            while self.stack.size() and <intp_t> self.written.size() <= max_nodes:
                task = self.stack.back()
                self.stack.pop_back()
                if task.kind == KNOW:
                    self.known[task.which] = task.codes
                else:
                    self.written[task.parent].right = self.written.size()
                    self._write_branch(task.which, max_nodes)
            self.stack.clear()
        n = <intp_t> self.written.size()
        if n > max_nodes:
            self._forget()
            return None
        arrays = [np.empty(n, dtype) for dtype in (np.intp, np.intp, np.float64, np.bool_)]
        cdef intp_t[::1] right = arrays[0], origin = arrays[1]
        cdef float64_t[::1] threshold = arrays[2]
        cdef uint8_t[::1] missing_left = arrays[3].view(np.uint8)
        for i in range(right.shape[0]):
            right[i], origin[i] = self.written[i].right, self.written[i].origin
            threshold[i] = self.written[i].threshold
            missing_left[i] = self.written[i].missing_left
        self._forget()
        return arrays

    cdef void _forget(self) noexcept nogil:
        """Free what was written: it takes as much memory as the answer."""
        self.written = vector[Written]()

    cdef int _write_branch(self, intp_t node, intp_t max_nodes) except -1 nogil:
        """Write a node and what comes to the left below it; right sides are put off."""
        while self.left[node] >= 0 and <intp_t> self.written.size() <= max_nodes:
            if self.has_set[node]:
                node = self._write_set(node)
            else:
                self._put_off(self.right[node])
                self._add(node, self.threshold[node], self.missing_left[node])
                node = self.left[node]
        self._add(node, -2.0, False)
        return 0

    cdef intp_t _write_set(self, intp_t node) except -1 nogil:
        """Write a test of a set, except for right sides; return the node at the left end."""
        cdef:
            intp_t feature = self.feature[node]
            Codes codes = self.known[feature]
            intp_t begin = self._first_border_above(node, codes.first)
            intp_t end = self._first_border_above(node, codes.last)
            intp_t middle
            int64_t border
            intp_t to_codes, to_missing
            bint right_misses
        # halve the runs down to the first one
        while begin < end:
            middle = (begin + end - 1) // 2
            border = self.borders[middle]
            # missing values go right if a run of their side is there
            right_misses = codes.may_miss and (
                middle + 1 < end or self._goes_left(node, middle + 1) == self.missing_left[node]
            )
            self._put_off_known(feature, node, Codes(border, codes.last, right_misses))
            codes.last = border - 1
            codes.may_miss = codes.may_miss and not right_misses
            self.known[feature] = codes
            self._add(node, border - 0.5, codes.may_miss)
            end = middle
        # all codes that are left go one way
        to_codes = self.left[node] if self._goes_left(node, begin) else self.right[node]
        to_missing = self.left[node] if self.missing_left[node] else self.right[node]
        if codes.first > codes.last or to_codes == to_missing:
            return to_missing
        if codes.may_miss:
            self._put_off_known(feature, to_missing, Codes(0, -1, True))
            self._add(node, INFINITE, False)
            self.known[feature].may_miss = False
        return to_codes

    cdef intp_t _first_border_above(self, intp_t node, int64_t code) noexcept nogil:
        """The first border of a node that is above a code, by number; its run begins below."""
        cdef intp_t begin = self.offsets[node], end = self.offsets[node + 1]
        cdef intp_t middle
        while begin < end:
            middle = (begin + end) // 2
            if self.borders[middle] <= code:
                begin = middle + 1
            else:
                end = middle
        return begin

    cdef bint _goes_left(self, intp_t node, intp_t border) noexcept nogil:
        """Whether the codes just below a border of a node go left."""
        return self.first_left[node] ^ ((border - self.offsets[node]) & 1)

    cdef int _add(self, intp_t node, float64_t threshold, bint missing_left) except -1 nogil:
        """Write a split or leaf for a node."""
        self.written.push_back(Written(-1, node, threshold, missing_left))
        return 0

    cdef int _put_off(self, intp_t right) except -1 nogil:
        """Put off the right side of the split that is written next."""
        self.stack.push_back(Task(WRITE, right, self.written.size(), Codes(0, 0, False)))
        return 0

    cdef int _put_off_known(self, intp_t feature, intp_t right, Codes codes) except -1 nogil:
        """The same, with what is known of a feature there."""
        self.stack.push_back(Task(KNOW, feature, -1, self.known[feature]))
        self._put_off(right)
        self.stack.push_back(Task(KNOW, feature, -1, codes))
        return 0
