"""Merging: the overlay of trees, followed over the rows that reach its nodes.

Merging walks all trees at once through a region. Each tree restricted to it shows a root that
cuts the region, or a leaf. Splitting on any of these roots is always possible, so every order ends
in one leaf for every non-empty intersection of leaves. Where a side of a split has too few
training rows, the node goes on as the other side. Leaves are labelled by their training rows, and
a split with one answer on both sides becomes that answer. Merging one tree alone cleans it.
"""

cimport cython
from libc.string cimport memcmp, memcpy

from ensemble_simplify.grid._limits cimport should_stop
from ensemble_simplify.grid._regions cimport Node, restrict_root, right_child
from ensemble_simplify.grid._sweep cimport is_better
from ensemble_simplify._typedefs cimport int32_t, intp_t, random_below, uint64_t
from ensemble_simplify.genesim.population._rows cimport RowBits, Splitter
from ensemble_simplify.genesim.population._trees cimport Change, ScoredTree, AxisCut, heaviest

# Poll for Ctrl-C and the limit of time after so many words of work (about a millisecond).
cdef intp_t WORK_PER_POLL = 1 << 19


cdef inline intp_t unchanged(const Change *change, intp_t pos, intp_t size) noexcept nogil:
    """Where the subtree at `pos` of a mutant stands in its parent; -1 if it is another there."""
    if pos + size <= change.first or pos >= change.second_end:
        return pos
    if pos >= change.first_end and pos + size <= change.second:
        return pos + change.shift
    return -1


@cython.final
cdef class Merger:
    """Merges trees over rows; one a thread."""

    def __init__(self, RowBits rows, Splitter splitter):
        self.rows = rows
        self.splitter = splitter
        self.keep_alike = False

    cdef int merge(
        self,
        const Node **trees,
        intp_t k,
        int order,
        uint64_t *state,
        bint may_stop,
        const ScoredTree *parent,
        const Change *change,
    ) except -1 nogil:
        """Merge k trees into ``out``; 1 if it `may_stop` and the limit of time passed meanwhile.

        With a `parent` whose leaves are known, the one tree is a mutant that differs from it as
        `change` says; rows are then followed only to where it does.
        """
        cdef intp_t i
        cdef MergeFrame frame
        cdef MergeFrame *current
        self.start(k, &frame)
        # A recursion with its own stack, which takes trees of any depth. A frame is visited three
        # times: to split its node, after its left child, and after its right one (stages 0 to 2).
        while self.stack.size():
            current = &self.stack.back()
            if current.stage == 0:
                if self.splitter.work > WORK_PER_POLL:
                    self.splitter.work = 0
                    if should_stop() and may_stop:
                        return 1
                self.splitter.work += k
                current.pos = <int32_t> self.out.nodes.size()
                if parent != NULL and self.copy_unchanged(trees[0], parent, change, current):
                    self.leave(current)
                    continue
                if not self.find_split(trees, k, order, state, current):
                    self.add_leaf(current)
                    self.leave(current)
                    continue
                self.open_node(current.split.axis, current.split.cut)
                current.stage = 1
                # The box of the left child; it is put back before the right one is visited.
                current.saved = self.hi[current.split.axis]
                self.hi[current.split.axis] = current.split.cut
                frame.group.first = current.group.end
                frame.group.n_words = current.group.n_left
                frame.group.n_train = current.group.n_train_left
            elif current.stage == 1:
                current.stage = 2
                self.hi[current.split.axis] = current.saved
                current.saved = self.lo[current.split.axis]
                self.lo[current.split.axis] = current.split.cut + 1
                frame.group.first = current.group.end + current.group.n_left
                frame.group.n_words = current.group.n_right
                frame.group.n_train = current.group.n_train_right
            else:
                self.lo[current.split.axis] = current.saved
                self.close_node(current.pos)
                self.leave(current)
                continue
            frame.group.end = current.group.end + current.group.n_left + current.group.n_right
            frame.at = current.at + k
            frame.stage = 0
            self.at.resize(frame.at + k)
            for i in range(k):
                self.at[frame.at + i] = self.at[current.at + i]
            self.stack.push_back(frame)
        return 0

    cdef void start(self, intp_t k, MergeFrame *frame) noexcept nogil:
        """Put the root, with all rows, on the stack."""
        cdef intp_t i
        self.truncate(0)
        self.lo.assign(self.rows.n_axes, 0)
        self.hi.resize(self.rows.n_axes)
        for i in range(self.rows.n_axes):
            self.hi[i] = self.rows.n_cuts[i]
        self.at.assign(k, 0)
        self.stack.clear()
        self.splitter.all_rows(&frame.group)
        frame.at = 0
        frame.stage = 0
        self.stack.push_back(frame[0])

    cdef void leave(self, const MergeFrame *current) noexcept nogil:
        self.at.resize(current.at)
        self.stack.pop_back()

    # ----------------------------------------------------------------- the split of a node

    cdef bint find_split(
        self, const Node **trees, intp_t k, int order, uint64_t *state, MergeFrame *current
    ) noexcept nogil:
        """Divide the rows of a node at the root of a tree; False if it is a leaf."""
        # No split can leave enough rows on both sides, or tell anything apart.
        if current.group.n_train < 2 * self.splitter.min_leaf:
            return False
        if self.splitter.is_pure(&current.group):
            return False
        while True:
            self.list_roots(trees, k, &self.at[current.at])
            if self.roots.size() == 0:
                return False
            current.split = self.roots[self.pick(order, state, current)]
            if self.splitter.divide(&current.group, current.split):
                return True
            # One side is (nearly) empty: all rows of use are on the other one.
            self.pass_root(
                trees, k, current.split, current.group.n_train_left >= self.splitter.min_leaf,
                &self.at[current.at],
            )

    cdef void list_roots(
        self, const Node **trees, intp_t k, int32_t *at
    ) noexcept nogil:
        """Move to the roots of the restricted trees, and list their different splits."""
        cdef intp_t i, j
        cdef AxisCut split
        cdef bint seen
        self.roots.clear()
        for i in range(k):
            at[i] = restrict_root(trees[i], at[i], self.lo.data(), self.hi.data())
            split.axis = trees[i][at[i]].axis
            split.cut = trees[i][at[i]].cut
            if split.axis < 0:
                continue
            seen = False
            for j in range(<intp_t> self.roots.size()):
                if self.roots[j].axis == split.axis and self.roots[j].cut == split.cut:
                    seen = True
            if not seen:
                self.roots.push_back(split)

    cdef intp_t pick(self, int order, uint64_t *state, const MergeFrame *current) noexcept nogil:
        """Which of the roots comes first."""
        cdef intp_t j, chosen = 0
        cdef double value, best = -1.0
        if self.roots.size() == 1 or order == ORDER_FIRST:
            return 0
        if order == ORDER_RANDOM:
            return random_below(self.roots.size(), state)
        # Equal but for rounding is equal: the first one stays.
        for j in range(<intp_t> self.roots.size()):
            value = self.splitter.gain(&current.group, self.roots[j])
            if is_better(value, best, 1.0):
                best = value
                chosen = j
        return chosen

    cdef void pass_root(
        self, const Node **trees, intp_t k, AxisCut split, bint to_left, int32_t *at
    ) noexcept nogil:
        """Move the trees whose root is `split` on to its left or right child."""
        cdef intp_t i
        for i in range(k):
            if trees[i][at[i]].axis == split.axis and trees[i][at[i]].cut == split.cut:
                at[i] = at[i] + 1 if to_left else right_child(trees[i], at[i])

    # ----------------------------------------------------------------- nodes of the result

    cdef void open_node(self, int32_t axis, int32_t cut) noexcept nogil:
        cdef Node node
        node.axis = axis
        node.cut = cut
        node.size = 1
        self.out.nodes.push_back(node)
        self.out.weights.resize(self.out.weights.size() + 2 * self.rows.n_classes)
        self.out.marks.push_back(0)
        self.out.n_rows.resize(self.out.n_rows.size() + 2)

    cdef void add_leaf(self, const MergeFrame *frame) noexcept nogil:
        cdef intp_t pos = self.out.nodes.size()
        cdef double *weights
        self.open_node(-1, 0)
        weights = &self.out.weights[pos * 2 * self.rows.n_classes]
        self.out.marks[pos] = self.splitter.add_up(
            &frame.group, weights, &self.out.n_rows[2 * pos]
        )
        self.out.nodes[pos].cut = heaviest(weights, self.rows.n_classes)

    cdef void truncate(self, intp_t n_nodes) noexcept nogil:
        self.out.nodes.resize(n_nodes)
        self.out.weights.resize(n_nodes * 2 * self.rows.n_classes)
        self.out.marks.resize(n_nodes)
        self.out.n_rows.resize(2 * n_nodes)

    cdef void close_node(self, int32_t pos) noexcept nogil:
        """Add the children up; a split with one answer on both sides becomes that answer."""
        cdef intp_t i
        cdef intp_t left = pos + 1
        cdef intp_t n = self.out.nodes[left].size
        cdef intp_t right = left + n
        self.out.nodes[pos].size = <int32_t> self.out.nodes.size() - pos
        self.add_children(pos, left, right)
        if self.keep_alike or self.out.nodes[right].size != n or memcmp(
            &self.out.nodes[left], &self.out.nodes[right], n * sizeof(Node)
        ):
            return
        # Both children are the same tree: one of them, with the rows of both, takes the place.
        for i in range(n):
            self.out.nodes[pos + i] = self.out.nodes[left + i]
            self.add_children(pos + i, left + i, right + i)
        self.truncate(pos + n)

    cdef void add_children(self, intp_t to, intp_t a, intp_t b) noexcept nogil:
        """What is in a node is what is in two others."""
        cdef intp_t c, n = 2 * self.rows.n_classes
        cdef double *weights = self.out.weights.data()
        cdef int32_t *n_rows = self.out.n_rows.data()
        self.out.marks[to] = self.out.marks[a] + self.out.marks[b]
        for c in range(2):
            n_rows[2 * to + c] = n_rows[2 * a + c] + n_rows[2 * b + c]
        for c in range(n):
            weights[to * n + c] = weights[a * n + c] + weights[b * n + c]

    # ----------------------------------------------------------------- what is known

    cdef bint copy_unchanged(
        self, const Node *nodes, const ScoredTree *parent, const Change *change, MergeFrame *current
    ) noexcept nogil:
        """Copy from the parent what a mutant has of it; False if it is another here."""
        cdef int32_t pos = restrict_root(
            nodes, self.at[current.at], self.lo.data(), self.hi.data()
        )
        cdef intp_t i = unchanged(change, pos, nodes[pos].size)
        if i < 0:
            return False
        self.copy_branch(parent, i)
        return True

    cdef void copy(self, const ScoredTree *tree) noexcept nogil:
        """Put a tree whose leaves are known into ``out``."""
        self.truncate(0)
        self.copy_branch(tree, 0)

    cdef void copy_branch(self, const ScoredTree *tree, intp_t at) noexcept nogil:
        """Append a branch whose leaves are known, as walking its rows would."""
        cdef intp_t i, n = 2 * self.rows.n_classes, leaf = 0, end = at + tree.nodes[at].size
        cdef int32_t pos
        for i in range(at):
            leaf += tree.nodes[i].axis < 0
        # Splits whose children are being copied; bitwise complements have their left one already.
        # Nodes are closed as in `merge`, bottom up, so equal children are joined here, too.
        self.half_done.clear()
        for i in range(at, end):
            pos = <int32_t> self.out.nodes.size()
            self.open_node(tree.nodes[i].axis, tree.nodes[i].cut)
            if tree.nodes[i].axis >= 0:
                self.half_done.push_back(pos)
                continue
            memcpy(&self.out.weights[pos * n], &tree.weights[leaf * n], n * sizeof(double))
            memcpy(&self.out.n_rows[pos * 2], &tree.n_rows[leaf * 2], 2 * sizeof(int32_t))
            self.out.marks[pos] = tree.marks[leaf]
            leaf += 1
            while self.half_done.size() and self.half_done.back() < 0:
                self.close_node(~self.half_done.back())
                self.half_done.pop_back()
            if self.half_done.size():
                self.half_done[self.half_done.size() - 1] = ~self.half_done.back()
