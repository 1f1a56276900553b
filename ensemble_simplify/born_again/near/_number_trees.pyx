"""Small trees for rows and lines of cells whose answers are numbers.

The labels of `LineTrees` are places in the rising list of all numbers, and a leaf is right for
those from its own label to the last one that is alike: to which one number is close enough. So a
leaf is a window that is moved along the numbers, and its error is the weight outside of the
heaviest window.

NumberTrees
    `LineTrees` for numbers.
"""

import numpy as np

from libcpp.algorithm cimport sort
from libcpp.vector cimport vector

from ensemble_simplify.grid._regions cimport Node, array_to_nodes, right_child
from ensemble_simplify.born_again.near._line_counts cimport Run, Subset
from ensemble_simplify.born_again.near._line_trees cimport LineTrees
from ensemble_simplify._typedefs cimport int32_t, intp_t

cdef enum:
    # Before and after all labels.
    BEFORE = -1
    AFTER = 0x7FFFFFFF


cdef struct Weighed:
    int32_t label
    double weight


cdef bint is_before(const Weighed &one, const Weighed &two) noexcept nogil:
    return one.label < two.label


cdef class NumberTrees(LineTrees):
    """`LineTrees` for numbers: `alike` and `numbers` must be given.

    The numbers are in units of the tolerance, which is half of a window, and best near zero.
    """

    cdef:
        vector[Weighed] found
        # by cell of an axis: least and largest label of what begins there, and of what ends there
        vector[int32_t] begin_lo, begin_hi, end_lo, end_hi

    cdef bint is_pure(self, const Subset *part, int32_t *lowest) noexcept nogil:
        """Whether one leaf is right for a subset, and the least label."""
        cdef intp_t i
        cdef int32_t label, low = AFTER, high = BEFORE
        for i in range(<intp_t> part.stars.size()):
            label = self.labels[part.stars[i]]
            low = min(low, label)
            high = max(high, label)
        for i in range(<intp_t> part.runs.size()):
            label = self.run_of(part.runs[i]).label
            low = min(low, label)
            high = max(high, label)
        lowest[0] = low if high >= 0 else 0
        return high < 0 or high <= self.alike[low]

    cdef void gather(self, const Subset *part) noexcept nogil:
        """Labels of a subset in their order, with weights, into `found`."""
        cdef:
            intp_t i
            Weighed one
            Run run
        self.found.clear()
        for i in range(<intp_t> part.stars.size()):
            one.label = self.labels[part.stars[i]]
            one.weight = self.weight_of(part, part.stars[i])
            self.found.push_back(one)
        for i in range(<intp_t> part.runs.size()):
            run = self.run_of(part.runs[i])
            one.label = run.label
            one.weight = min(run.last, part.hi[run.axis]) - max(run.first, part.lo[run.axis]) + 1
            self.found.push_back(one)
        sort(self.found.begin(), self.found.end(), is_before)
        self.work += 20.0 * self.found.size()

    cdef double leaf_error(self, const Subset *part, int32_t *label) noexcept nogil:
        """Weight outside of the heaviest window; if `quick`, only whether there is any."""
        cdef:
            intp_t i, end = 0, n
            double inside = 0.0, most = -1.0, weight = 0.0
        if self.is_pure(part, label):
            return 0.0
        if self.quick and not self.stopped:
            return 1.0
        self.gather(part)
        n = self.found.size()
        for i in range(n):
            while end < n and self.found[end].label <= self.alike[self.found[i].label]:
                inside += self.found[end].weight
                end += 1
            if inside > most:
                most = inside
                label[0] = self.found[i].label
            inside -= self.found[i].weight
            weight += self.found[i].weight
        return weight - most

    cdef intp_t n_apart(
        self, const Subset *part, intp_t most, int32_t *label
    ) noexcept nogil:
        """Windows that hold all labels, of which no fewer do."""
        cdef:
            intp_t i, n = 0
            int32_t last = BEFORE
        if self.is_pure(part, label):
            return 1
        self.gather(part)
        for i in range(<intp_t> self.found.size()):
            if self.found[i].label > last:
                n += 1
                last = self.alike[self.found[i].label]
                if n > most:
                    break
        return n

    cdef void pure_ends(
        self, const Subset *part, intp_t a, int32_t *low, int32_t *high
    ) noexcept nogil:
        """Last cut of an axis below which one leaf is right, and first one above which one is."""
        cdef:
            intp_t i, n = part.hi[a] - part.lo[a] + 1
            int32_t at, star, least, most
            Run run
        self.begin_lo.assign(n, AFTER)
        self.begin_hi.assign(n, BEFORE)
        self.end_lo.assign(n, AFTER)
        self.end_hi.assign(n, BEFORE)
        for i in range(<intp_t> part.stars.size()):
            star = part.stars[i]
            self.widen(
                max(self.own_first[star, a], part.lo[a]) - part.lo[a],
                min(self.own_last[star, a], part.hi[a]) - part.lo[a],
                self.labels[star],
            )
        for i in range(<intp_t> part.runs.size()):
            run = self.run_of(part.runs[i])
            if run.axis == a:
                self.widen(
                    max(run.first, part.lo[a]) - part.lo[a],
                    min(run.last, part.hi[a]) - part.lo[a],
                    run.label,
                )
            else:
                at = self.cells[run.star, a] - part.lo[a]
                self.widen(at, at, run.label)
        self.work += 4.0 * (part.stars.size() + part.runs.size() + n)
        low[0] = part.lo[a] - 1
        high[0] = part.hi[a]
        least, most = AFTER, BEFORE
        for i in range(n - 1):
            least = min(least, self.begin_lo[i])
            most = max(most, self.begin_hi[i])
            if most >= 0 and most > self.alike[least]:
                break
            low[0] = part.lo[a] + <int32_t> i
        least, most = AFTER, BEFORE
        for i in range(n - 1, 0, -1):
            least = min(least, self.end_lo[i])
            most = max(most, self.end_hi[i])
            if most >= 0 and most > self.alike[least]:
                break
            high[0] = part.lo[a] + <int32_t> i - 1

    cdef void widen(self, int32_t begin, int32_t end, int32_t label) noexcept nogil:
        """Note that a label is on the cells from one to another of an axis."""
        self.begin_lo[begin] = min(self.begin_lo[begin], label)
        self.begin_hi[begin] = max(self.begin_hi[begin], label)
        self.end_lo[end] = min(self.end_lo[end], label)
        self.end_hi[end] = max(self.end_hi[end], label)

    def spans(self, const int32_t[:, ::1] nodes):
        """The labels that the nodes of a tree hold, as int32 of shape (n_nodes, 4).

        The least and the largest of all points, and the same of the points for which the leaf is
        right; for splits, and leaves without points, -1.
        """
        cdef vector[Node] tree
        array_to_nodes(nodes, tree)
        found = np.full((nodes.shape[0], 4), -1, dtype=np.int32)
        cdef int32_t[:, ::1] found_ = found
        with nogil:
            self.span(self.everything(), 1, tree.data(), 0, found_)
        return found

    cdef void span(
        self, const Subset *part, intp_t place, const Node *nodes, int32_t at,
        int32_t[:, ::1] found,
    ) noexcept nogil:
        cdef:
            intp_t i, right, n_stars = part.stars.size()
            int32_t label, leaf = -1
        if nodes[at].axis >= 0:
            for right in range(2):
                self.span(
                    self.side(part, nodes[at].axis, nodes[at].cut, right, place), place + 1, nodes,
                    right_child(nodes, at) if right else at + 1, found,
                )
            right = right_child(nodes, at)
            found[at, 0] = found[at + 1, 0]
            if found[at, 0] < 0 or 0 <= found[right, 0] < found[at, 0]:
                found[at, 0] = found[right, 0]
            found[at, 1] = max(found[at + 1, 1], found[right, 1])
            return
        leaf = nodes[at].cut
        for i in range(n_stars + <intp_t> part.runs.size()):
            if i < n_stars:
                label = self.labels[part.stars[i]]
            else:
                label = self.run_of(part.runs[i - n_stars]).label
            found[at, 0] = label if found[at, 0] < 0 else min(found[at, 0], label)
            found[at, 1] = max(found[at, 1], label)
            if self.serves(leaf, label):
                found[at, 2] = label if found[at, 2] < 0 else min(found[at, 2], label)
                found[at, 3] = max(found[at, 3], label)
