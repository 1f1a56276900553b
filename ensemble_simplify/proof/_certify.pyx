"""Proofs that a tree model has one class on a box of cells, or that two models agree on it.

The trees are *restricted* to the box: each descends while the box decides its splits. What a
tree can still add to the lead of class a over class b is at most the largest such lead among
its reachable leaves; the sum over trees bounds the lead of the whole vote. Where the bounds
leave one class (or the same one to both models), the box is settled; else it is halved at a
cut, depth first, and a half restricts only the trees that split on that axis. Where nothing is
left to halve and the lead is within rounding, the cell is judged in the ensemble's own
arithmetic. Time grows with the number of halvings, never with the number of cells.

Votes over votes (hard votes over forests) are *units*: a unit adds up its trees and, for
every unit below it, a weight on the label this one answers; its own label goes to the unit above.

Certifier
    One or two models: proves a box, grows a tree that equals a model on a box, and samples the
    depths of such a tree.
"""

import numpy as np

from libc.math cimport INFINITY

from ensemble_simplify.grid._boxes cimport BoundedTrees, Gain
from ensemble_simplify.grid._limits cimport should_stop
from ensemble_simplify.grid._regions cimport Node, nodes_to_array, rows_of
from ensemble_simplify._typedefs cimport (
    float64_t, int32_t, int64_t, intp_t, next_random, uint8_t, uint64_t,
)

cdef enum:
    # Cells judged at a time.
    JUDGED = 256
    MAX_NODES = 2147483646
    # Above so many labels, bounds are kept for labels instead of pairs of labels.
    MAX_PAIRED = 8

# What the width of bounds counts in the choice of a cut, beside what its halves take off them.
cdef float64_t SPREAD = 0.001

cdef enum Rule:
    ASK             # only the judge knows
    FIRST_LARGEST   # scores / scale, first argmax
    SECOND_ABOVE    # -scores[0] + scores[1] > 0 after division
    ABOVE_ZERO
    NOT_BELOW_ZERO

RULES = {
    "ask": ASK,
    "first_largest": FIRST_LARGEST,
    "second_above": SECOND_ABOVE,
    "above_zero": ABOVE_ZERO,
    "not_below_zero": NOT_BELOW_ZERO,
}


def bound_entries(value):
    """What `Certifier` bounds, for the leaf vectors of a model.

    Parameters
    ----------
    value : float64 array of shape (n_nodes, n_labels)

    Returns
    -------
    float64 array of shape (n_nodes, width)
        Differences of all ordered pairs of labels (a, b), ordered by a, then b; from nine
        labels on, the vectors and their negatives.
    """
    n_labels = value.shape[1]
    if n_labels > MAX_PAIRED:
        return np.hstack([value, -value])
    pairs = [(a, b) for a in range(n_labels) for b in range(n_labels) if a != b]
    first, second = np.array(pairs, dtype=np.intp).reshape(-1, 2).T
    return np.ascontiguousarray(value[:, first] - value[:, second])


cdef void merge_leaves(vector[Node] &tree) noexcept nogil:
    """Replace splits between leaves of one label by a leaf, from the bottom up. O(nodes)."""
    cdef intp_t i, right
    cdef intp_t n = tree.size()
    # the nodes that stay move to the end of the array, in their order
    cdef intp_t end = n
    for i in range(n - 1, -1, -1):
        end -= 1
        tree[end] = tree[i]
        if tree[end].axis < 0:
            continue
        right = end + 1 + tree[end + 1].size
        if (
            tree[end + 1].axis < 0
            and tree[right].axis < 0
            and tree[end + 1].cut == tree[right].cut
        ):
            # both leaves go, the later one stays in the place of the split
            end = right
            continue
        tree[end].size = 1 + tree[end + 1].size + tree[right].size
    tree.erase(tree.begin(), tree.begin() + end)


cdef inline void add_gain(
    Gain *gain, const float64_t *both, intp_t width, const int32_t *entries, intp_t n_entries
) noexcept nogil:
    """Add what the halves at the root of a tree take off some entries of its bound."""
    cdef const float64_t *left = both + width
    cdef const float64_t *right = left + width
    cdef float64_t off_left = 0.0, off_right = 0.0, spread = 0.0
    cdef intp_t i, k
    for i in range(n_entries):
        k = entries[i]
        off_left += both[k] - left[k]
        off_right += both[k] - right[k]
        spread += both[k]
    gain.left += off_left
    gain.right += off_right
    gain.spread += spread if spread > 0.0 else 0.0


cdef class Certifier(BoundedTrees):
    """One or two tree models on a grid of cells, ready for proofs on any box.

    Parameters
    ----------
    shape : sequence of int
        Cells on each axis; there is one axis at least.
    nodes : int32 array of shape (n_nodes, 3)
        Trees over axes: those of the first model, then those of the second. The numbers of their
        leaves are rows of `value` and `scores`.
    offsets : intp array of shape (n_trees + 1,)
        Where the trees begin.
    value : float64 array of shape (n_leaf_numbers, n_labels)
        What the leaves add for each label, in their unit; there are at least two labels.
    unit_of : intp array of shape (n_trees,)
        Unit of each tree, not falling.
    units : list of Unit
        With the labels as in `value`; each after those below it, those of the first model first.
    judge : callable
        ``judge(model, cells)``: the exact labels of rows of cells.
    exact : list of ExactRule, one a model
        How the exact label follows from ``scores``.
    scores : float64 array of shape (n_leaf_numbers, n_scores)
        What the leaves add to the scores of their model.
    twin : intp array of shape (n_nodes,) or None
        Equal numbers mark subtrees of the two models with the same splits and scores. Only for
        models that turn equal scores of their trees into equal labels.
    wrong : bool array of shape (n_labels, n_labels) or None
        Of two models: which pairs of their labels refute; never a label with itself. None: all
        others do.
    """

    def __init__(
        self,
        shape,
        nodes,
        offsets,
        value,
        unit_of,
        units,
        judge,
        exact,
        scores,
        twin=None,
        wrong=None,
    ):
        cdef intp_t n_nodes = len(nodes)
        cdef intp_t i, k, t
        cdef const intp_t[::1] unit_of_ = unit_of
        cdef const intp_t[::1] twin_
        cdef const float64_t[:, ::1] entries = bound_entries(value)
        cdef const float64_t[:, ::1] scores_ = scores
        if value.shape[1] < 2:
            raise ValueError("value must have a column for each of at least two labels")
        if n_nodes > MAX_NODES:
            raise ValueError(f"the trees have {n_nodes} nodes; at most {MAX_NODES} are possible")
        BoundedTrees.__init__(self, shape, nodes, offsets)
        self._weigh(entries)
        self.n_models = len(exact)
        self.n_labels = value.shape[1]
        self.n_units = len(units)
        self.n_scores = scores_.shape[1]
        self.paired = self.n_labels <= MAX_PAIRED
        self.judge = judge
        self.wrong_pairs = ~np.eye(self.n_labels, dtype=bool) if wrong is None else wrong
        for i in range(self.n_labels):
            for k in range(self.n_labels):
                self.wrong.push_back(self.wrong_pairs[i, k])
        self.scores.assign(n_nodes * self.n_scores, 0.0)
        for i in range(n_nodes):
            if self.nodes[i].axis >= 0:
                continue
            for k in range(self.n_scores):
                self.scores[i * self.n_scores + k] = scores_[self.nodes[i].cut, k]
        if twin is not None:
            twin_ = twin
            self.twin.resize(n_nodes)
            for i in range(n_nodes):
                self.twin[i] = <int32_t> twin_[i]
        self._read_units(units, exact)
        self.first_tree.assign(self.n_models + 1, 0)
        for t in range(self.n_trees):
            self.unit_of.push_back(<int32_t> unit_of_[t])
            self.first_tree[self.model_of[unit_of_[t]] + 1] = <int32_t> (t + 1)
        self.upper.assign(self.n_units * self.width, 0.0)
        self.alive.assign(self.n_units * self.n_labels, 0)
        self.n_alive.assign(self.n_units, 0)
        self.open.assign(self.n_units * self.width, 0)
        self.n_open.assign(self.n_units, 0)
        self.witness.assign(2 * self.n_axes + 1, 0)
        self.pending.assign(JUDGED * self.n_axes + 1, 0)
        self.sums.assign(self.n_scores, 0.0)

    def _read_units(self, units, exact):
        """Copy what the search needs of the units and rules."""
        cdef intp_t i, k
        self.top.assign(self.n_models, -1)
        for i, unit in enumerate(units):
            self.model_of.push_back(unit.model)
            self.parent.push_back(unit.parent)
            self.weight.push_back(unit.weight)
            self.tolerance.push_back(unit.tolerance)
            self.opaque.push_back(unit.opaque)
            if unit.parent < 0:
                self.top[unit.model] = <int32_t> i
            for rank in unit.rank:
                self.rank.push_back(rank)
                self.allowed.push_back(rank >= 0)
        self.label_at.assign(self.n_models * (self.n_scores + 2), 0)
        self.start.assign(self.n_models * self.n_scores, 0.0)
        for i, own in enumerate(exact):
            self.rule.push_back(RULES[own.rule])
            self.scale.push_back(own.scale)
            self.used.push_back(len(own.start))
            for k, start in enumerate(own.start):
                self.start[i * self.n_scores + k] = start
            # two labels follow from one score
            for k, label in enumerate(own.labels[: self.n_scores + 2]):
                self.label_at[i * (self.n_scores + 2) + k] = label

    # ------------------------------------------------------------------ labels that are possible

    cdef void _bound_units(self) noexcept nogil:
        """Which labels every unit may answer somewhere in the box."""
        cdef intp_t t, u, k
        cdef float64_t *upper
        cdef const float64_t *bound
        for k in range(self.n_units * self.width):
            self.upper[k] = 0.0
        for t in range(self.n_trees):
            upper = self.upper.data() + self.unit_of[t] * self.width
            bound = self.bound.data() + t * 3 * self.width
            if self.width == 2:
                # two labels are the usual case, and faster without a loop
                upper[0] += bound[0]
                upper[1] += bound[1]
            else:
                for k in range(self.width):
                    upper[k] += bound[k]
        for u in range(self.n_units):
            self._find_possible(u)
            if self.parent[u] >= 0:
                self._hand_up(u)

    cdef void _find_possible(self, intp_t unit) noexcept nogil:
        cdef intp_t n = self.n_labels
        cdef intp_t a, b, best
        cdef const float64_t *upper = self.upper.data() + unit * self.width
        cdef const uint8_t *allowed = self.allowed.data() + unit * n
        cdef const int32_t *rank = self.rank.data() + unit * n
        cdef uint8_t *alive = self.alive.data() + unit * n
        cdef float64_t slack = -self.tolerance[unit]
        cdef float64_t lead
        cdef int32_t count = 0
        for a in range(n):
            alive[a] = allowed[a]
        if self.paired and not self.opaque[unit]:
            for a in range(n):
                for b in range(n if allowed[a] else 0):
                    if b != a and allowed[b]:
                        lead = upper[a * (n - 1) + b - (b > a)]
                        if lead < slack or (lead == 0.0 and slack == 0.0 and rank[b] < rank[a]):
                            alive[a] = 0
                            break
        elif not self.opaque[unit]:
            # the label with the largest assured sum, ties to the smaller rank
            best = -1
            for b in range(n):
                if allowed[b] and (
                    best < 0
                    or upper[n + b] < upper[n + best]
                    or (upper[n + b] == upper[n + best] and rank[b] < rank[best])
                ):
                    best = b
            for a in range(n):
                if allowed[a] and a != best:
                    lead = upper[a] + upper[n + best]
                    if lead < slack or (lead == 0.0 and slack == 0.0 and rank[best] < rank[a]):
                        alive[a] = 0
        for a in range(n):
            count += alive[a]
        self.n_alive[unit] = count

    cdef void _hand_up(self, intp_t unit) noexcept nogil:
        """Add the weight of a unit's label to the bounds of the unit above."""
        cdef intp_t n = self.n_labels
        cdef intp_t a, b
        cdef float64_t weight = self.weight[unit]
        cdef float64_t *upper = self.upper.data() + self.parent[unit] * self.width
        cdef const uint8_t *alive = self.alive.data() + unit * n
        cdef bint alone = self.n_alive[unit] == 1
        for a in range(n):
            if self.paired:
                for b in range(n):
                    if b != a:
                        if alive[a]:
                            upper[a * (n - 1) + b - (b > a)] += weight
                        elif alone and alive[b]:
                            upper[a * (n - 1) + b - (b > a)] -= weight
            else:
                if alive[a]:
                    upper[a] += weight
                    if alone:
                        upper[n + a] -= weight

    # ------------------------------------------------------------------ labels of single cells

    cdef intp_t _decide(self, intp_t model) noexcept nogil:
        """Label of a box in which every tree is one leaf, in the model's arithmetic; -1: ask."""
        cdef intp_t n = self.used[model]
        cdef intp_t t, s, best = 0
        cdef float64_t *sums = self.sums.data()
        cdef const float64_t *scores
        cdef const int32_t *label = self.label_at.data() + model * (self.n_scores + 2)
        if self.rule[model] == ASK:
            return -1
        for s in range(n):
            sums[s] = 0.0
            sums[s] += self.start[model * self.n_scores + s]
        for t in range(self.first_tree[model], self.first_tree[model + 1]):
            scores = self.scores.data() + self.roots[t] * self.n_scores
            for s in range(n):
                sums[s] += scores[s]
        for s in range(n):
            sums[s] = sums[s] / self.scale[model]
        if self.rule[model] == SECOND_ABOVE:
            return label[-sums[0] + sums[1] > 0]
        if self.rule[model] == ABOVE_ZERO:
            return label[sums[0] > 0]
        if self.rule[model] == NOT_BELOW_ZERO:
            return label[sums[0] >= 0]
        for s in range(1, n):
            if sums[s] > sums[best]:
                best = s
        return label[best]

    cdef intp_t label_of(self, intp_t model, const int32_t *cell) except -1 nogil:
        cdef intp_t label
        self._load(cell, cell)
        self._bound_units()
        label = self._settled(model)
        return label if label >= 0 else self._ask(model)

    cdef int _flush(self) except -1 nogil:
        """Judge the cells put aside; 1 if one of them refutes."""
        cdef intp_t found = -1
        cdef intp_t n = self.n_pending
        if n == 0:
            return 0
        self.n_pending = 0
        with gil:
            cells = rows_of(self.pending.data(), n, self.n_axes)
            first = self.judge(0, cells)
            if self.n_models == 1:
                wrong = np.flatnonzero(first != self.target)
            else:
                wrong = np.flatnonzero(self.wrong_pairs[first, self.judge(1, cells)])
            if wrong.size:
                found = wrong[0]
        if found < 0:
            return 0
        self._point_out(self.pending.data() + found * self.n_axes)
        return 1

    cdef int _point_out(self, const int32_t *cell) except -1 nogil:
        """Keep a cell that refutes, and its labels."""
        cdef intp_t a
        cdef int32_t *kept = self.witness.data() + (2 - self.n_models) * self.n_axes
        # labels are asked of what is kept: they make another box the one that is looked at
        for a in range(self.n_axes):
            kept[a] = cell[a]
        self.witness_label[0] = self.target if self.n_models == 1 else self.label_of(0, kept)
        self.witness_label[1] = self.label_of(self.n_models - 1, kept)
        return 0

    # ------------------------------------------------------------------ the search

    cdef int _choose(self) noexcept nogil:
        """Choose the cut to halve the box at; 0 if no undecided tree is left to split."""
        cdef intp_t tree = self._lone_tree()
        cdef intp_t k
        cdef Gain *gain
        cdef const Gain *best
        self.next_side = 0
        if tree < 0:
            self._find_open()
            if self.twin.size():
                self._count_gains(True)
            if not self.n_touched:
                self._count_gains(False)
            for k in range(self.n_touched):
                gain = &self.gains[self.touched[k]]
                gain.score = gain.left + gain.right + SPREAD * gain.spread
            best = self._take_best()
            if best == NULL:
                return 0
            tree = best.tree
            self.next_side = best.right < best.left
        self.next_axis = self.nodes[self.roots[tree]].axis
        self.next_cut = self.nodes[self.roots[tree]].cut
        return 1

    cdef intp_t _lone_tree(self) noexcept nogil:
        """The tree of an undecided model of one tree, of two models; it is walked leaf by leaf."""
        cdef intp_t model, tree
        if self.n_models == 2:
            for model in range(2):
                tree = self.first_tree[model]
                if (
                    self.first_tree[model + 1] - tree == 1
                    and self.nodes[self.roots[tree]].axis >= 0
                    and self.n_alive[self.top[model]] > 1
                ):
                    return tree
        return -1

    cdef void _find_open(self) noexcept nogil:
        """List the entries of bounds that can still change the label of a model, for each unit."""
        cdef intp_t n = self.n_labels
        cdef intp_t u, a, b
        cdef const uint8_t *alive
        cdef int32_t *entry
        for u in range(self.n_units - 1, -1, -1):
            entry = self.open.data() + u * self.width
            if self.n_alive[u] > 1 and (self.parent[u] < 0 or self.n_open[self.parent[u]]):
                alive = self.alive.data() + u * n
                for a in range(n):
                    if not alive[a]:
                        continue
                    if not self.paired:
                        entry[0] = <int32_t> a
                        entry[1] = <int32_t> (a + n)
                        entry += 2
                        continue
                    for b in range(n):
                        if b != a and alive[b]:
                            entry[0] = <int32_t> (a * (n - 1) + b - (b > a))
                            entry += 1
            self.n_open[u] = <int32_t> (entry - (self.open.data() + u * self.width))

    cdef void _count_gains(self, bint only_different) noexcept nogil:
        """Add up what the halves at each cut take off the open entries of bounds.

        `only_different` leaves out trees that equal their twin in the other model; what is left
        may all belong to a model that is settled, and then there are no gains.
        """
        cdef intp_t t, unit
        cdef const Node *nodes = self.nodes.data()
        cdef const int32_t *roots = self.roots.data()
        cdef const float64_t *bound
        cdef const int32_t *entries
        for t in range(self.n_trees):
            unit = self.unit_of[t]
            if nodes[roots[t]].axis < 0 or not self.n_open[unit]:
                continue
            if only_different and self._equals_twin(t):
                continue
            bound = self.bound.data() + t * 3 * self.width
            entries = self.open.data() + unit * self.width
            if self.width == 2:
                # two labels again: a number known here lets the compiler leave out the loop
                add_gain(self._gain(t), bound, 2, entries, 2)
            else:
                add_gain(self._gain(t), bound, self.width, entries, self.n_open[unit])

    cdef inline bint _equals_twin(self, intp_t tree) noexcept nogil:
        """Whether a tree and the one at its place in the other model are the same in the box."""
        cdef intp_t n = self.first_tree[1]
        cdef intp_t other = tree + n if tree < n else tree - n
        return self.twin[self.roots[tree]] == self.twin[self.roots[other]]

    cdef int _look(self) except -1 nogil:
        """Look at the box: 0 settled, 1 to be halved, 2 refuted (`lo` is a cell that refutes)."""
        cdef intp_t n = self.n_labels
        cdef intp_t t, a, b, u, v, first, second
        cdef bint some_right, some_wrong
        self._bound_units()
        u = self.top[0]
        if self.n_models == 1:
            if not self.alive[u * n + self.target]:
                return 2
            if self.n_alive[u] == 1:
                return 0
            if self._choose():
                return 1
            first = self._decide(0)
            if first >= 0:
                return 0 if first == self.target else 2
        else:
            v = self.top[1]
            some_right = some_wrong = False
            for a in range(n):
                if not self.alive[u * n + a]:
                    continue
                for b in range(n):
                    if self.alive[v * n + b]:
                        if self.wrong[a * n + b]:
                            some_wrong = True
                        else:
                            some_right = True
                if some_right and some_wrong:
                    break
            if not some_right:
                return 2
            if not some_wrong:
                return 0
            if self.twin.size():
                for t in range(self.first_tree[1]):
                    if not self._equals_twin(t):
                        break
                else:
                    return 0
            if self._choose():
                return 1
            first = self._settled(0)
            second = self._settled(1)
            if first >= 0 and second >= 0:
                return 2 if self.wrong[first * n + second] else 0
        for a in range(self.n_axes):
            self.pending[self.n_pending * self.n_axes + a] = self.lo[a]
        self.n_pending += 1
        if self.n_pending == JUDGED and self._flush():
            return 3
        return 0

    cdef intp_t _settled(self, intp_t model) noexcept nogil:
        """Label of a model on a box that cannot be halved; -1: ask the judge."""
        cdef intp_t a
        if self.n_alive[self.top[model]] > 1:
            return self._decide(model)
        for a in range(self.n_labels):
            if self.alive[self.top[model] * self.n_labels + a]:
                return a
        return -1

    cdef int certify(
        self, const int32_t *lo, const int32_t *hi, int64_t max_boxes
    ) except -1 nogil:
        cdef intp_t a
        cdef int32_t *cell
        cdef int verdict
        self.n_boxes = 0
        self.n_pending = 0
        if self.n_models == 1:
            # two opposite cells settle most boxes of several classes
            cell = self.witness.data()
            for a in range(self.n_axes):
                cell[a] = lo[a]
                cell[self.n_axes + a] = hi[a]
            self.target = self.label_of(0, lo)
            self.witness_label[0] = self.target
            self.witness_label[1] = self.label_of(0, hi)
            if self.witness_label[1] != self.target:
                return REFUTED
        self._load(lo, hi)
        while True:
            if self._count(max_boxes):
                return UNDECIDED
            verdict = self._look()
            if verdict == 3:
                return REFUTED
            if verdict == 2:
                self._point_out(self.lo.data())
                return REFUTED
            if verdict == 1:
                self._enter(self.next_axis, self.next_cut, self.next_side)
            elif not self._turn():
                return REFUTED if self._flush() else PROVEN

    cdef int _grow(self, vector[Node] &tree, int64_t max_nodes) except -1 nogil:
        """Put the pre-order nodes of a tree of the loaded box in `tree`; 0 at a limit.

        Leaves keep their label as `cut`.
        """
        cdef intp_t label
        self.n_boxes = 0
        self.n_pending = 0
        while True:
            if self._count(min(max_nodes, MAX_NODES)):
                return 0
            self._bound_units()
            if self.n_alive[self.top[0]] > 1 and self._choose():
                tree.push_back(Node(self.next_axis, self.next_cut, 1))
                self._enter(self.next_axis, self.next_cut, 0)
                continue
            label = self._settled(0)
            label = label if label >= 0 else self._ask(0)
            tree.push_back(Node(-1, <int32_t> label, 1))
            if not self._turn():
                return 1

    cdef intp_t _descend(self, uint64_t *random) except -1 nogil:
        """Depth of the leaf of the tree of `_grow` at which a random way down ends."""
        cdef intp_t depth = 0
        while True:
            self._bound_units()
            if self.n_alive[self.top[0]] == 1 or not self._choose():
                return depth
            depth += 1
            if next_random(random) & 1:
                self._narrow(self.next_axis, self.lo[self.next_axis], self.next_cut)
            else:
                self._narrow(self.next_axis, self.next_cut + 1, self.hi[self.next_axis])

    cdef intp_t _ask(self, intp_t model) except -1 nogil:
        """What the judge says of a model at the first cell of the box."""
        with gil:
            return self.judge(model, rows_of(self.lo.data(), 1, self.n_axes))[0]

    # ------------------------------------------------------------------ from Python

    def prove(
        self, const int32_t[::1] lo, const int32_t[::1] hi,
        max_boxes=None,
    ):
        """Prove that a box has one class, or that the two models agree on it.

        Parameters
        ----------
        lo, hi : int32 arrays of shape (n_axes,)
            First and last cell on every axis.
        max_boxes : int or None
            Limit on the number of boxes to look at.

        Returns
        -------
        outcome : bool or None
            True: proven; False: refuted; None: a limit came first.
        labels : tuple of int
            For one model: its label on the box, if proven. If refuted, the labels of the two
            cells, or of the two models. Else empty.
        cells : int32 array of shape (n_cells, n_axes)
            What refutes: two cells for one model, one cell for two; else none.
        """
        cdef const int32_t *first = &lo[0]
        cdef const int32_t *last = &hi[0]
        cdef int64_t limit = (2**63 - 1) if max_boxes is None else max_boxes
        cdef int outcome
        self._check(lo, hi)
        with nogil:
            outcome = self.certify(first, last, limit)
        n_rows = 0 if outcome != REFUTED else 2 if self.n_models == 1 else 1
        cells = rows_of(self.witness.data(), n_rows, self.n_axes)
        if outcome == REFUTED:
            return False, (self.witness_label[0], self.witness_label[1]), cells
        if outcome == PROVEN:
            return True, ((self.target,) if self.n_models == 1 else ()), cells
        return None, (), cells

    def grow(
        self, const int32_t[::1] lo, const int32_t[::1] hi,
        max_leaves=None,
    ):
        """Grow a tree that equals the model on a box, by the halvings of a proof.

        Every leaf is a proven box. The tree is small for the time it takes (a microsecond a
        leaf or less), not smallest: sibling leaves of one label are merged, nothing else.

        Parameters
        ----------
        lo, hi : int32 arrays of shape (n_axes,)
            First and last cell on every axis.
        max_leaves : int or None
            Limit on the number of leaves, before any are merged.

        Returns
        -------
        nodes : int32 array of shape (n_nodes, 3), or None
            A tree over axes; the numbers of its leaves are labels. None if a limit came first.
        """
        cdef const int32_t *first = &lo[0]
        cdef const int32_t *last = &hi[0]
        cdef int64_t limit = (2**62) if max_leaves is None else 2 * max_leaves - 1
        cdef vector[Node] tree
        cdef int done
        self._check(lo, hi)
        if self.n_models != 1:
            raise ValueError("a tree is grown for one model, but two are loaded")
        with nogil:
            self._load(first, last)
            done = self._grow(tree, limit)
            if done:
                merge_leaves(tree)
        return nodes_to_array(tree) if done else None

    def sample_depths(
        self, const int32_t[::1] lo, const int32_t[::1] hi, intp_t n, uint64_t seed,
        double max_boxes=INFINITY,
    ):
        """Depths of random leaves of the tree that `grow` would grow, before leaves are merged.

        Every way down takes either half with equal probability, so that a leaf of depth d is
        met with probability 2^-d, and the mean of 2^d has the number of leaves as its
        expectation (Knuth, 1975). O(depth) boxes a leaf.

        Parameters
        ----------
        lo, hi : int32 arrays of shape (n_axes,)
            First and last cell on every axis.
        n : int
            Leaves to look at.
        seed : int
        max_boxes : float
            About how many boxes to look at, at most; at least one leaf is looked at.

        Returns
        -------
        depths : intp array of shape (at most n,)
        """
        cdef const int32_t *first = &lo[0]
        cdef const int32_t *last = &hi[0]
        cdef uint64_t random = seed
        cdef intp_t i, a, done = 0, n_boxes = 0
        self._check(lo, hi)
        if self.n_models != 1:
            raise ValueError("a tree is grown for one model, but two are loaded")
        depths = np.zeros(n, dtype=np.intp)
        cdef intp_t[::1] depths_ = depths
        with nogil:
            self._load(first, last)
            for i in range(n):
                depths_[i] = self._descend(&random)
                done += 1
                self._undo(0)
                for a in range(self.n_axes):
                    self.lo[a] = lo[a]
                    self.hi[a] = hi[a]
                n_boxes += depths_[i] + 1
                if n_boxes >= max_boxes or should_stop():
                    break
        return depths[:done]

    def _check(self, const int32_t[::1] lo, const int32_t[::1] hi):
        cdef intp_t a
        if lo.shape[0] != self.n_axes or hi.shape[0] != self.n_axes:
            raise ValueError(f"lo and hi must have {self.n_axes} entries, one an axis")
        for a in range(self.n_axes):
            if not 0 <= lo[a] <= hi[a] < self.n_cells[a]:
                raise ValueError(
                    f"cells {lo[a]}..{hi[a]} are not on axis {a}, which has {self.n_cells[a]}"
                )
