"""A walk over boxes of cells with bounds on what each tree can still add inside.

Each leaf has a row of *entries*. The trees are *restricted* to the box that is looked at: each
descends while the box decides its splits. What it can still add is at most, entry by entry, the
largest number among the leaves that the box reaches; for the tree as a whole, and for either part
of it beside the cut at its restricted root, which tells what halving the box there takes off.

A box is halved at a cut, depth first. Only trees that split on the cut's axis are restricted
anew; what they were is kept, and given back on the way out.

A subclass decides where to halve: it adds to the `Gain` of the cut at the root of each tree that
counts, and takes the cut with the largest.

BoundedTrees
    The trees, the box that is looked at, and the boxes around it.
"""

import numpy as np

cimport cython
from libc.math cimport INFINITY
from libc.string cimport memcpy
from libcpp.vector cimport vector

from ensemble_simplify.grid._regions cimport Node, array_to_nodes, restrict_root, right_child
from ensemble_simplify._typedefs cimport float64_t, int32_t, intp_t, uint64_t


cdef class BoundedTrees:
    """Trees on a grid of cells, ready to be restricted to boxes; what to look for is a subclass's.

    Parameters
    ----------
    shape : sequence of int
        Cells on each axis.
    nodes, offsets : trees over axes
        The numbers of their leaves are rows of the entries.

    Attributes
    ----------
    n_axes, n_trees : int
    n_boxes : int
        Boxes looked at by the last search.
    n_visited, max_visited : int
        Nodes of trees looked at by all searches, and after how many of these no more boxes are
        looked at. What a box costs grows with the trees: nodes measure effort over many searches.
    """

    def __init__(self, shape, nodes, offsets):
        cdef const int32_t[:, ::1] nodes_ = nodes
        cdef const intp_t[::1] offsets_ = offsets
        cdef intp_t i
        self.n_axes = len(shape)
        self.n_trees = offsets_.shape[0] - 1
        array_to_nodes(nodes_, self.nodes)
        self.n_cells.assign(self.n_axes + 1, 0)
        self.first_cut.assign(self.n_axes + 1, 0)
        self.n_cuts = 0
        for i in range(self.n_axes):
            self.n_cells[i] = shape[i]
            self.first_cut[i] = <int32_t> self.n_cuts
            self.n_cuts += shape[i] - 1
        self.root_of.assign(self.n_trees, 0)
        for i in range(self.n_trees):
            self.root_of[i] = <int32_t> offsets_[i]
        self.mask.assign(self.nodes.size(), 0)
        for i in range(<intp_t> self.nodes.size() - 1, -1, -1):
            if self.nodes[i].axis >= 0:
                self.mask[i] = (
                    (<uint64_t> 1 << (self.nodes[i].axis & 63))
                    | self.mask[i + 1]
                    | self.mask[right_child(self.nodes.data(), <int32_t> i)]
                )
        self.roots.assign(self.n_trees, 0)
        self.gains.assign(self.n_cuts + 1, Gain(-1.0, 0.0, 0.0, 0.0, 0))
        self.touched.assign(self.n_trees + 1, 0)
        self.n_touched = 0
        self.lo.assign(self.n_axes + 1, 0)
        self.hi.assign(self.n_axes + 1, 0)
        self.n_visited, self.max_visited = 0, 2**63 - 1

    cdef int _weigh(self, const float64_t[:, ::1] entries) except -1:
        """Give the leaves their entries."""
        cdef intp_t i, k
        cdef float64_t *out
        cdef const float64_t *a
        cdef const float64_t *b
        self.width = entries.shape[1]
        self.most.resize(self.nodes.size() * self.width)
        for i in range(<intp_t> self.nodes.size() - 1, -1, -1):
            out = self.most.data() + i * self.width
            if self.nodes[i].axis < 0:
                for k in range(self.width):
                    out[k] = entries[self.nodes[i].cut, k]
                continue
            a = self.most.data() + (i + 1) * self.width
            b = self.most.data() + right_child(self.nodes.data(), <int32_t> i) * self.width
            for k in range(self.width):
                out[k] = a[k] if a[k] > b[k] else b[k]
        self.bound.assign(self.n_trees * 3 * self.width, 0.0)
        # what was saved had another width
        self.n_saved = 0
        self.saved_tree.clear()
        self.saved_root.clear()
        self.saved_bound.clear()
        return 0

    cdef int _add_spreads(self, vector[float64_t] &spread) except -1:
        """For every entry, how far apart its numbers lie in a tree, summed over the trees."""
        cdef intp_t t, a, i, k
        cdef float64_t least
        spread.assign(self.width, 0.0)
        for k in range(self.width):
            for t in range(self.n_trees):
                least = INFINITY
                i = self.root_of[t]
                for a in range(i, i + self.nodes[i].size):
                    if self.nodes[a].axis < 0:
                        least = min(least, self.most[a * self.width + k])
                spread[k] += self.most[i * self.width + k] - least
        return 0

    # ------------------------------------------------------------------ restricting trees to a box

    # final: called without a look at the table of methods, in the innermost loop
    @cython.final
    cdef void _reach(self, int32_t node, float64_t *out) noexcept nogil:
        """Raise `out` to the largest entries among the leaves that the box can reach."""
        cdef const float64_t *most
        cdef Node *split
        cdef intp_t k
        while True:
            self.n_visited += 1
            most = self.most.data() + node * self.width
            split = self.nodes.data() + node
            if split.axis < 0:
                for k in range(self.width):
                    out[k] = most[k] if most[k] > out[k] else out[k]
                return
            if self.hi[split.axis] <= split.cut:
                node += 1
            elif self.lo[split.axis] > split.cut:
                node = right_child(self.nodes.data(), node)
            else:
                for k in range(self.width):
                    if most[k] > out[k]:
                        break
                else:
                    return
                self._reach(node + 1, out)
                node = right_child(self.nodes.data(), node)

    @cython.final
    cdef void _restrict(self, intp_t tree) noexcept nogil:
        """Descend while the box decides, and bound what the tree adds."""
        cdef int32_t node = restrict_root(
            self.nodes.data(), self.roots[tree], self.lo.data(), self.hi.data()
        )
        cdef float64_t *both = self.bound.data() + tree * 3 * self.width
        cdef float64_t *left = both + self.width
        cdef float64_t *right = left + self.width
        cdef intp_t k
        self.roots[tree] = node
        if self.nodes[node].axis < 0:
            for k in range(self.width):
                both[k] = self.most[node * self.width + k]
            return
        for k in range(self.width):
            left[k] = right[k] = -INFINITY
        self._reach(node + 1, left)
        self._reach(right_child(self.nodes.data(), node), right)
        for k in range(self.width):
            both[k] = left[k] if left[k] > right[k] else right[k]

    cdef void _load(self, const int32_t *lo, const int32_t *hi) noexcept nogil:
        """Make lo..hi the box that is looked at."""
        cdef intp_t a, t
        for a in range(self.n_axes):
            self.lo[a] = lo[a]
            self.hi[a] = hi[a]
        for t in range(self.n_trees):
            self.roots[t] = self.root_of[t]
            self._restrict(t)
        self.n_saved = 0
        self.stack.clear()

    cdef int _narrow(self, int32_t axis, int32_t lo, int32_t hi) except -1 nogil:
        """Shrink the box on one axis, saving the trees that may change."""
        cdef uint64_t bit = <uint64_t> 1 << (axis & 63)
        cdef intp_t t, size = 3 * self.width
        cdef float64_t *kept
        self.lo[axis] = lo
        self.hi[axis] = hi
        self.n_visited += self.n_trees
        if <intp_t> self.saved_tree.size() < self.n_saved + self.n_trees:
            self.saved_tree.resize(2 * (self.n_saved + self.n_trees))
            self.saved_root.resize(2 * (self.n_saved + self.n_trees))
            self.saved_bound.resize(2 * (self.n_saved + self.n_trees) * size)
        for t in range(self.n_trees):
            if self.mask[self.roots[t]] & bit:
                self.saved_tree[self.n_saved] = <int32_t> t
                self.saved_root[self.n_saved] = self.roots[t]
                kept = self.saved_bound.data() + self.n_saved * size
                memcpy(kept, self.bound.data() + t * size, size * sizeof(float64_t))
                self.n_saved += 1
                self._restrict(t)
        return 0

    cdef void _undo(self, intp_t n_saved) noexcept nogil:
        """Give the trees saved since `n_saved` back."""
        cdef intp_t t, size = 3 * self.width
        cdef const float64_t *kept
        while self.n_saved > n_saved:
            self.n_saved -= 1
            t = self.saved_tree[self.n_saved]
            self.roots[t] = self.saved_root[self.n_saved]
            kept = self.saved_bound.data() + self.n_saved * size
            memcpy(self.bound.data() + t * size, kept, size * sizeof(float64_t))

    # ------------------------------------------------------------------ choosing a cut

    cdef const Gain *_take_best(self) noexcept nogil:
        """The first gain of the largest score, NULL if none is counted; all begin anew."""
        cdef Gain *gain
        cdef const Gain *best = NULL
        cdef float64_t most = 0.0
        cdef intp_t k
        for k in range(self.n_touched):
            gain = &self.gains[self.touched[k]]
            if best == NULL or gain.score > most:
                most = gain.score
                best = gain
            gain.score = -1.0
        self.n_touched = 0
        return best

    # ------------------------------------------------------------------ the walk, depth first

    cdef int _enter(self, int32_t axis, int32_t cut, int32_t side) except -1 nogil:
        """Halve the box and look at one half of it: 0 the left, 1 the right."""
        self.stack.push_back(Frame(axis, cut, self.lo[axis], self.hi[axis], side, 0, self.n_saved))
        return self._narrow_to_half()

    cdef int _narrow_to_half(self) except -1 nogil:
        """Shrink the box that was halved last to the half that is to be looked at."""
        cdef Frame *top = &self.stack.back()
        if top.side == 0:
            return self._narrow(top.axis, top.lo, top.cut)
        return self._narrow(top.axis, top.cut + 1, top.hi)

    cdef int _turn(self) except -1 nogil:
        """Leave a half that is done with for the next that is not: 1, or 0 if there is none."""
        cdef Frame *top
        while not self.stack.empty():
            top = &self.stack.back()
            self._undo(top.n_saved)
            self.lo[top.axis] = top.lo
            self.hi[top.axis] = top.hi
            if top.half == 0:
                top.half = 1
                top.side = 1 - top.side
                self._narrow_to_half()
                return 1
            self.stack.pop_back()
        return 0

    cdef int _leave_out(self, outside) except -1:
        """Say which boxes are outside of the domain: first and last cells, or None."""
        none = np.empty((0, self.n_axes), dtype=np.int32)
        self.out_lo, self.out_hi = (none, none) if outside is None else outside
        return 0

    cdef int _inside(self, int32_t *axis, int32_t *cut) noexcept nogil:
        """1: the box is inside the domain; 0: outside; -1: both, and where to cut it."""
        cdef intp_t i, a
        cdef int32_t where, at
        cdef int verdict = 1
        for i in range(self.out_lo.shape[0]):
            where = -1
            at = 0
            for a in range(self.n_axes):
                if self.hi[a] < self.out_lo[i, a] or self.lo[a] > self.out_hi[i, a]:
                    break
                if where < 0 and self.lo[a] < self.out_lo[i, a]:
                    where = <int32_t> a
                    at = self.out_lo[i, a] - 1
                elif where < 0 and self.hi[a] > self.out_hi[i, a]:
                    where = <int32_t> a
                    at = self.out_hi[i, a]
            else:
                # the two meet: all of the box is outside, or it is cut at an end of what is
                if where < 0:
                    return 0
                if verdict == 1:
                    axis[0] = where
                    cut[0] = at
                    verdict = -1
        return verdict
