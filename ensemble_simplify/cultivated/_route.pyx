"""Routing rows through a grown tree of modules.

A row goes both ways at a module, so it may end in many leaves. Rows are taken in blocks; the rows
of a block that reach a node stand in one segment of two arrays, row and fraction, and the
segments that are still to be divided are a stack on top of them: the memory for a block is what
one path from the root to a leaf needs.
"""

import numpy as np

from libcpp.vector cimport vector

from ensemble_simplify._typedefs cimport intp_t, uint8_t
from ensemble_simplify.cultivated._fractions cimport (
    filled, left_part, lower_bound, smallest_fraction,
)
from ensemble_simplify.grid._limits cimport should_stop

cdef enum:
    BLOCK = 512                     # rows routed together
    BLOCKS_PER_CHECK = 64           # between two looks for Ctrl-C


cdef enum Answer:
    MEAN                            # what becomes of a row in a leaf
    MOMENTS
    LEAVES


cdef struct Segment:
    intp_t node, start, count


cdef cppclass Walk:
    # The rows of a block on their way, and what they have met in leaves.
    vector[intp_t] row
    vector[double] fraction
    vector[Segment] stack
    vector[double] share            # (BLOCK,) fraction of each whole row that goes left
    vector[intp_t] left_row
    vector[double] left_fraction
    vector[double] arrived          # (BLOCK,) fraction of each row that has reached leaves
    vector[intp_t] found_row, found_leaf
    vector[double] found_fraction


cdef class Router:
    """Routes rows through a `ModuleTree`, whose arrays have the same names here."""

    cdef const intp_t[::1] left, right, option_start, option_feature, cut_start
    cdef const double[:, ::1] response
    cdef const uint8_t[::1] option_flip
    cdef const double[::1] option_missing, cut_threshold, cut_suffix
    cdef double smallest

    def __init__(self, tree, double min_fraction):
        self.left, self.right, self.response = tree.left, tree.right, tree.response
        self.option_start, self.option_feature = tree.option_start, tree.option_feature
        self.option_flip = tree.option_flip.view(np.uint8)
        self.option_missing, self.cut_start = tree.option_missing, tree.cut_start
        self.cut_threshold, self.cut_suffix = tree.cut_threshold, tree.cut_suffix
        self.smallest = smallest_fraction(min_fraction)

    def mean(self, const double[:, ::1] X, double[:, ::1] proba):  # OUT: proba
        """Weighted mean of the leaf values of each row; `proba` comes in as zeros."""
        cdef Walk walk
        with nogil:
            self.route(X, MEAN, &walk, proba, proba)

    def moments(
        self, const double[:, ::1] X, double[:, ::1] mean, double[:, ::1] variance  # OUT
    ):
        """Weighted mean and variance of the leaf values; both come in as zeros."""
        cdef Walk walk
        with nogil:
            self.route(X, MOMENTS, &walk, mean, variance)

    def leaves(self, const double[:, ::1] X):
        """Triplets (row, node of the leaf, fraction), ordered by leaf within blocks of rows."""
        cdef Walk walk
        cdef double[:, ::1] nothing = np.empty((1, 1))
        with nogil:
            self.route(X, LEAVES, &walk, nothing, nothing)
        n = walk.found_row.size()
        return (
            filled(np.empty(n, dtype=np.intp), walk.found_row.data()),
            filled(np.empty(n, dtype=np.intp), walk.found_leaf.data()),
            filled(np.empty(n, dtype=np.float64), walk.found_fraction.data()),
        )

    def share(self, intp_t node, const double[:, ::1] X, double[::1] share):  # OUT: share
        """Fraction of each whole row that the module `node` sends left."""
        cdef intp_t i
        cdef vector[intp_t] row
        for i in range(X.shape[0]):
            row.push_back(i)
        if X.shape[0]:
            self.share_rows(node, X, row.data(), X.shape[0], &share[0])

    cdef void share_rows(
        self, intp_t node, const double[:, ::1] X, const intp_t* row, intp_t count,
        double* share,  # OUT
    ) noexcept nogil:
        cdef intp_t first = self.option_start[node], last = self.option_start[node + 1]
        cdef intp_t o, i, feature, n_cuts
        cdef const double* cut
        cdef const double* suffix
        cdef double x, low
        for i in range(count):
            share[i] = 0.0
        for o in range(first, last):
            feature = self.option_feature[o]
            n_cuts = self.cut_start[o + 1] - self.cut_start[o]
            cut = &self.cut_threshold[self.cut_start[o]]
            suffix = &self.cut_suffix[self.cut_start[o]]
            for i in range(count):
                x = X[row[i], feature]
                if x != x:
                    share[i] += self.option_missing[o]
                    continue
                if x > cut[n_cuts - 1]:
                    low = 0.0
                elif x <= cut[0]:
                    low = 1.0
                else:
                    low = suffix[lower_bound(cut, cut + n_cuts, x) - cut]
                share[i] += 1.0 - low if self.option_flip[o] else low
        for i in range(count):
            share[i] /= last - first

    cdef int route(
        self, const double[:, ::1] X, Answer answer, Walk* walk,
        double[:, ::1] first, double[:, ::1] second,  # OUT
    ) except -1 nogil:
        # Depth first, a block of rows at a time; a node's rows lie on top of its ancestors'.
        cdef intp_t n = X.shape[0], begin = 0, n_blocks = 0
        cdef Segment segment
        walk.share.resize(BLOCK)
        walk.left_row.resize(BLOCK)
        walk.left_fraction.resize(BLOCK)
        while begin < n:
            self.start(walk, begin, min(<intp_t> BLOCK, n - begin))
            while not walk.stack.empty():
                segment = walk.stack.back()
                walk.stack.pop_back()
                if self.left[segment.node] < 0:
                    self.arrive(segment, begin, answer, walk, first, second)
                else:
                    self.divide(X, segment, walk)
            begin += BLOCK
            n_blocks += 1
            if n_blocks % BLOCKS_PER_CHECK == 0:
                should_stop()  # all rows are routed, whatever the clock says
        return 0

    cdef int start(self, Walk* walk, intp_t begin, intp_t count) except -1 nogil:
        # A block of whole rows at the root.
        cdef intp_t i
        walk.arrived.assign(BLOCK, 0.0)
        if <intp_t> walk.row.size() < count:
            walk.row.resize(count)
            walk.fraction.resize(count)
        for i in range(count):
            walk.row[i] = begin + i
            walk.fraction[i] = 1.0
        walk.stack.push_back(Segment(0, 0, count))
        return 0

    cdef int arrive(
        self, Segment segment, intp_t begin, Answer answer, Walk* walk,
        double[:, ::1] first, double[:, ::1] second,  # OUT
    ) except -1 nogil:
        # Rows in a leaf.
        cdef intp_t n_classes = self.response.shape[1]
        cdef const double* value = &self.response[segment.node, 0]
        cdef intp_t i, c, r
        cdef double f, delta
        for i in range(segment.start, segment.start + segment.count):
            r = walk.row[i]
            f = walk.fraction[i]
            if answer == MEAN:
                for c in range(n_classes):
                    first[r, c] += f * value[c]
            elif answer == MOMENTS:
                # Mean and variance of weighted numbers that come one by one (West, 1979).
                walk.arrived[r - begin] += f
                for c in range(n_classes):
                    delta = value[c] - first[r, c]
                    first[r, c] += delta * f / walk.arrived[r - begin]
                    second[r, c] += f * delta * (value[c] - first[r, c])
            else:
                walk.found_row.push_back(r)
                walk.found_leaf.push_back(segment.node)
                walk.found_fraction.push_back(f)
        return 0

    cdef int divide(self, const double[:, ::1] X, Segment segment, Walk* walk) except -1 nogil:
        # Rows at a module: those that go right are put on top, and those that go left above them.
        cdef intp_t top = segment.start + segment.count, needed = top + 2 * segment.count
        cdef intp_t n_left = 0, n_right = 0, i, r
        cdef double f, to_left, to_right
        if <intp_t> walk.row.size() < needed:
            walk.row.resize(needed)
            walk.fraction.resize(needed)
        self.share_rows(
            segment.node, X, walk.row.data() + segment.start, segment.count, walk.share.data()
        )
        for i in range(segment.count):
            r = walk.row[segment.start + i]
            f = walk.fraction[segment.start + i]
            to_left = left_part(f, walk.share[i], self.smallest)
            to_right = f - to_left
            if to_right > 0.0:
                walk.row[top + n_right] = r
                walk.fraction[top + n_right] = to_right
                n_right += 1
            if to_left > 0.0:
                walk.left_row[n_left] = r
                walk.left_fraction[n_left] = to_left
                n_left += 1
        if n_right > 0:
            walk.stack.push_back(Segment(self.right[segment.node], top, n_right))
        if n_left > 0:
            for i in range(n_left):
                walk.row[top + n_right + i] = walk.left_row[i]
                walk.fraction[top + n_right + i] = walk.left_fraction[i]
            walk.stack.push_back(Segment(self.left[segment.node], top + n_right, n_left))
        return 0
