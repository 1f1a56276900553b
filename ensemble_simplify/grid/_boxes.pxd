"""Trees over axes with bounds on what they add inside a box; see `_boxes.pyx`."""

cimport cython
from libcpp.vector cimport vector

from ensemble_simplify.grid._regions cimport Node
from ensemble_simplify.grid._limits cimport should_stop
from ensemble_simplify._typedefs cimport float64_t, int32_t, int64_t, intp_t, uint64_t

cdef enum:
    # Boxes between two looks at the clock.
    POLL = 256


cdef struct Frame:
    # a box that has been halved
    int32_t axis
    int32_t cut
    int32_t lo
    int32_t hi
    int32_t side        # which half is being searched: 0 left, 1 right
    int32_t half        # 0: the first, 1: the second
    intp_t n_saved      # trees saved before the first half was entered


cdef struct Gain:
    # What halving the box at a cut takes off the bounds, summed over the trees with this cut at
    # their restricted root.
    float64_t score         # the largest one chooses the cut; below 0: no tree is counted
    float64_t left, right   # what each half takes off
    float64_t spread        # how much the bounds leave open
    intp_t tree             # the first of the trees


cdef class BoundedTrees:
    # Not for two threads at a time.
    cdef readonly intp_t n_axes, n_trees
    # boxes looked at by the last search
    cdef readonly int64_t n_boxes
    # nodes looked at by all searches, and how many these may be
    cdef public int64_t n_visited, max_visited

    # trees
    cdef vector[Node] nodes
    cdef vector[uint64_t] mask          # axes (modulo 64) split in the subtree
    cdef vector[float64_t] most         # (n_nodes, width): largest entries in the subtree
    cdef intp_t width                   # entries of a leaf
    cdef vector[int32_t] root_of
    # axes
    cdef intp_t n_cuts
    cdef vector[int32_t] n_cells
    cdef vector[int32_t] first_cut      # number of an axis' first cut among the cuts of all
    # the box being looked at
    cdef vector[int32_t] lo, hi, roots
    cdef vector[float64_t] bound        # (n_trees, 3, width): all, left part, right part
    # first and last cells of boxes outside of the domain
    cdef const int32_t[:, ::1] out_lo
    cdef const int32_t[:, ::1] out_hi
    # boxes around it, and the trees they were looked at with
    cdef vector[Frame] stack
    cdef vector[int32_t] saved_tree, saved_root
    cdef vector[float64_t] saved_bound
    cdef intp_t n_saved
    # for choosing a cut: the gain of each, and those that are counted
    cdef vector[Gain] gains
    cdef vector[int32_t] touched
    cdef intp_t n_touched

    cdef int _weigh(self, const float64_t[:, ::1] entries) except -1
    cdef void _reach(self, int32_t node, float64_t *out) noexcept nogil
    cdef void _restrict(self, intp_t tree) noexcept nogil
    cdef void _load(self, const int32_t *lo, const int32_t *hi) noexcept nogil
    cdef int _narrow(self, int32_t axis, int32_t lo, int32_t hi) except -1 nogil
    cdef void _undo(self, intp_t n_saved) noexcept nogil
    cdef int _enter(self, int32_t axis, int32_t cut, int32_t side) except -1 nogil
    cdef int _narrow_to_half(self) except -1 nogil
    cdef int _turn(self) except -1 nogil
    cdef const Gain *_take_best(self) noexcept nogil
    cdef int _leave_out(self, outside) except -1
    cdef int _inside(self, int32_t *axis, int32_t *cut) noexcept nogil
    cdef int _add_spreads(self, vector[float64_t] &spread) except -1

    @cython.final
    cdef inline int _count(self, int64_t max_boxes) except -1 nogil:
        """Count a box that is looked at: 0, or 1 where time is over, 2 where boxes are."""
        if self.n_boxes >= max_boxes or self.n_visited >= self.max_visited:
            return 2
        self.n_boxes += 1
        return self.n_boxes % POLL == 0 and should_stop()

    @cython.final
    cdef inline Gain *_gain(self, intp_t tree) noexcept nogil:
        """The gain of the cut at the root of a tree, to be added to; it begins with zeros."""
        cdef const Node *root = &self.nodes[self.roots[tree]]
        cdef int32_t cut = self.first_cut[root.axis] + root.cut
        cdef Gain *gain = &self.gains[cut]
        if gain.score < 0.0:
            gain.score = gain.left = gain.right = gain.spread = 0.0
            gain.tree = tree
            self.touched[self.n_touched] = cut
            self.n_touched += 1
        return gain
