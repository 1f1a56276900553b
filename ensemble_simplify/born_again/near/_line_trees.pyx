"""Small trees for labelled rows and their lines of cells.

The points to be told apart are rows (*stars*: a row with the runs of its own class around it on
every line) and *runs*: stretches of one class on a line. A region holds the stars whose row lies in
it, and the runs that reach into it; a run of a star whose row lies elsewhere is one of its runs.
Nothing is copied but numbers of stars and runs: where a run is cut off is told by the region.
What a region holds is counted along every axis, and its splits are rated.

A tree is grown greedily, cut back where a leaf costs no more, and improved by looking ahead: each
of some splits is followed by greedy trees on both sides, and the one that costs least is taken.
The cost of a tree is the weight of the points it gets wrong, plus a price for every leaf.

Labels are classes, or places in the rising list of all numbers. Of numbers, a leaf is right for
those from its own label to the last one that is alike: to which one number is close enough. So a
leaf is a window that is moved along the numbers, and its error is the weight outside of the
heaviest window.
"""

import numpy as np

cimport cython
from libc.math cimport log
from libcpp.algorithm cimport sort
from libcpp.map cimport map
from libcpp.vector cimport vector

from ensemble_simplify._typedefs cimport (
    float64_t, int32_t, intp_t, random_below, random_unit, uint8_t, uint64_t,
)
from ensemble_simplify.grid._limits cimport should_stop
from ensemble_simplify.grid._regions cimport (
    Node, array_to_nodes, nodes_to_array, right_child, set_sizes,
)

cdef extern from *:
    """
    #define ES_TINY 1e-9
    """
    # Costs, and weights of points, that are closer than this are equal.
    const double TINY "ES_TINY"


cdef cppclass Subset:
    # stars whose row is inside, and runs that reach inside
    vector[int32_t] stars
    vector[int32_t] runs
    # first and last cell of the region
    vector[int32_t] lo
    vector[int32_t] hi


cdef struct ScoredCut:
    double score
    int32_t axis
    int32_t cut


cdef struct Run:
    int32_t star
    int32_t axis
    int32_t first
    int32_t last
    int32_t label
    int32_t joined


cdef struct Weighed:
    int32_t label
    double weight


cdef enum:
    # Up to so many cells on all axes, weights are kept, and forgotten, for every cell.
    DENSE = 16384
    # Units of work between two looks at the clock, and points that are tried for bounds.
    POLL = 1 << 20
    POINTS = 64
    # Leaves of subtrees that are searched in full now and then.
    SMALL = 7
    # Before and after all labels.
    BEFORE = -1
    AFTER = 0x7FFFFFFF

# Below this price of a leaf no point may be wrong.
cdef double NO_ERRORS = 1e-3
# Work for the search of a small subtree in full.
cdef double SMALL_WORK = 3e5
# Numbers that are stored at most for regions that are remembered not to fit.
cdef double MAX_KNOWN = 3e7


cdef bint better(const ScoredCut &one, const ScoredCut &two) noexcept nogil:
    return one.score < two.score


cdef bint is_before(const Weighed &one, const Weighed &two) noexcept nogil:
    return one.label < two.label


cdef void replace_subtree(
    vector[Node] &tree, int32_t at, const vector[Node] &fresh
) noexcept nogil:
    """Put another subtree in the place of one."""
    cdef vector[Node] changed
    changed.assign(tree.begin(), tree.begin() + at)
    changed.insert(changed.end(), fresh.begin(), fresh.end())
    changed.insert(changed.end(), tree.begin() + at + tree[at].size, tree.end())
    tree.swap(changed)
    set_sizes(tree)


cdef class LineTrees:
    """Trees for a neighbourhood, whose arrays are those of `Neighbourhood`.

    They are int32 arrays of shape (n_nodes, 3), over axes; the numbers of their leaves are classes.
    Stars of class -1 count with their runs only. `star_weight` is the weight of each row, a whole
    number; every other point weighs 1. Work is in units of about a nanosecond.

    `alike` and `numbers` are for labels that stand for numbers (else None): a leaf is right for all
    labels from its own to the last one that is alike. The numbers are in units of the tolerance,
    which is half of a window, and best near zero.
    """

    cdef:
        intp_t n_axes, n_columns, n_stars, n_others
        const int32_t[:, ::1] cells
        const int32_t[::1] labels
        const int32_t[:, ::1] own_first
        const int32_t[:, ::1] own_last
        const uint8_t[:, ::1] own_joined
        const int32_t[:, ::1] runs
        const float64_t[::1] star_weight
        const Run *run
        # the last label for which a leaf of each label is right
        const int32_t[::1] alike
        const float64_t[::1] numbers
        bint has_moments
        vector[intp_t] first
        # by position and column, what is added up: of points there, and of runs from here on
        vector[float64_t] mass
        vector[float64_t] change
        vector[uint8_t] event
        # of each axis of the region, the first cell and those with an event, in order, from
        # `first` of the axis on
        vector[int32_t] marks
        vector[intp_t] n_marks
        # whether cells are so many that only those with an event are looked at
        bint is_sparse
        vector[float64_t] total, left, running
        vector[double] reach
        vector[Subset *] pool
        vector[ScoredCut] splits
        vector[vector[ScoredCut]] candidates
        uint64_t random
        double noise
        int criterion
        # `looks`: rows and runs held against a box so far
        double work, work_limit, next_poll, looks
        bint stopped
        # whether no point may be wrong, so that errors need not be told
        bint quick
        double weight
        # the best of the splits; the one with the least error of its two sides, and that error
        ScoredCut best, stump
        double stump_error
        vector[int32_t] stamp
        int32_t stamps
        # leaves that are too few for regions, which are without ends that tell nothing apart
        map[vector[int32_t], int32_t] known
        double n_known
        # by cell of an axis: least and largest label of what begins there, and of what ends there
        vector[int32_t] begin_lo, begin_hi, end_lo, end_hi
        # labels of a subset of numbers, in their order
        vector[Weighed] found

    def __cinit__(
        self,
        const intp_t[::1] shape,
        intp_t n_labels,
        const int32_t[:, ::1] cells,
        const int32_t[::1] labels,
        const float64_t[::1] star_weight,
        const int32_t[:, ::1] own_first,
        const int32_t[:, ::1] own_last,
        const uint8_t[:, ::1] own_joined,
        const int32_t[:, ::1] runs,
        uint64_t seed,
        const int32_t[::1] alike=None,
        const float64_t[::1] numbers=None,
    ):
        cdef intp_t a, n = 0
        self.n_axes = shape.shape[0]
        # of numbers, what is added up are the weights, and the numbers and squares times weights
        self.n_columns = n_labels if numbers is None else 3
        self.numbers, self.has_moments = numbers, numbers is not None
        self.alike = np.arange(n_labels, dtype=np.int32) if alike is None else alike
        self.quick = False
        self.n_stars = cells.shape[0]
        self.n_others = runs.shape[0]
        self.cells, self.labels, self.star_weight = cells, labels, star_weight
        self.own_first, self.own_last, self.own_joined = own_first, own_last, own_joined
        self.runs = runs
        self.run = <const Run *> &runs[0, 0] if self.n_others else NULL
        self.first.resize(self.n_axes + 1)
        for a in range(self.n_axes):
            n += shape[a]
            self.first[a + 1] = n
        self.mass.resize(n * self.n_columns)
        self.change.resize((n + 1) * self.n_columns)
        self.event.resize(n + 1)
        self.marks.resize(n + 1)
        self.n_marks.resize(self.n_axes)
        self.is_sparse = n > DENSE
        self.total.resize(self.n_columns)
        self.left.resize(self.n_columns)
        self.running.resize(self.n_columns)
        self.reach.resize(self.n_axes)
        self.stamp.resize(n + 1)
        self.stamps = 0
        self.n_known = 0.0
        self.random = seed
        self.work = self.next_poll = 0.0
        self.set_limit(1e300)

    def __dealloc__(self):
        for i in range(<intp_t> self.pool.size()):
            del self.pool[i]

    cdef void set_limit(self, double work) noexcept:
        self.work_limit = self.work + work
        self.stopped = False

    # ------------------------------------------------------------- subsets

    @cython.final
    cdef Subset *room(self, intp_t i) noexcept nogil:
        while <intp_t> self.pool.size() <= i:
            self.pool.push_back(new Subset())
            self.candidates.resize(self.pool.size())
        return self.pool[i]

    @cython.final
    cdef Subset *everything(self) noexcept nogil:
        cdef Subset *all = self.room(0)
        cdef intp_t i, a
        all.stars.clear()
        all.runs.clear()
        all.lo.assign(self.n_axes, 0)
        all.hi.clear()
        for a in range(self.n_axes):
            all.hi.push_back(<int32_t> (self.first[a + 1] - self.first[a] - 1))
        for i in range(self.n_stars):
            # the row itself may be outside the domain, and only runs on its lines inside
            if self.labels[i] >= 0:
                all.stars.push_back(<int32_t> i)
        for i in range(self.n_others):
            all.runs.push_back(<int32_t> i)
        return all

    @cython.final
    cdef inline Run run_of(self, int32_t number) noexcept nogil:
        """A run by number: those of the stars' own classes stand behind the others."""
        cdef Run run
        if number < self.n_others:
            return self.run[number]
        number -= <int32_t> self.n_others
        run.star = number // <int32_t> self.n_axes
        run.axis = number % <int32_t> self.n_axes
        run.first = self.own_first[run.star, run.axis]
        run.last = self.own_last[run.star, run.axis]
        run.label = self.labels[run.star]
        run.joined = self.own_joined[run.star, run.axis]
        return run

    @cython.final
    cdef Subset *side(
        self, const Subset *whole, int32_t axis, int32_t cut, bint right, intp_t place
    ) noexcept nogil:
        """What lies on one side of a split, in room `place`."""
        cdef:
            Subset *part = self.room(place)
            intp_t i
            int32_t star, number, at
            Run run
        part.stars.clear()
        part.runs.clear()
        part.lo = whole.lo
        part.hi = whole.hi
        if right:
            part.lo[axis] = cut + 1
        else:
            part.hi[axis] = cut
        for i in range(<intp_t> whole.stars.size()):
            star = whole.stars[i]
            at = self.cells[star, axis]
            if (at > cut) == right:
                part.stars.push_back(star)
            elif (self.own_last[star, axis] > cut) if right else (
                self.own_first[star, axis] <= cut
            ):
                number = <int32_t> (self.n_others + star * self.n_axes + axis)
                part.runs.push_back(number)
        for i in range(<intp_t> whole.runs.size()):
            number = whole.runs[i]
            run = self.run_of(number)
            if run.axis == axis:
                if (run.last > cut) if right else (run.first <= cut):
                    part.runs.push_back(number)
            elif (self.cells[run.star, axis] > cut) == right:
                part.runs.push_back(number)
        self.work += 4.0 * (whole.stars.size() + whole.runs.size())
        return part

    # ------------------------------------------------------------- splits

    @cython.final
    cdef inline void add(
        self, float64_t *columns, int32_t label, double weight
    ) noexcept nogil:
        """Add the weight of points of a label to columns."""
        if self.has_moments:
            self.add_moments(columns, label, weight)
        else:
            columns[label] += weight

    @cython.final
    cdef void add_moments(self, float64_t *columns, int32_t label, double weight) noexcept nogil:
        cdef double moment = weight * self.numbers[label]
        columns[0] += weight
        columns[1] += moment
        columns[2] += moment * self.numbers[label]

    @cython.final
    cdef inline void add_point(
        self, const Subset *part, intp_t axis, int32_t at, int32_t label, double weight
    ) noexcept nogil:
        cdef intp_t here = self.first[axis] + at
        self.add(&self.mass[here * self.n_columns], label, weight)
        # a split may be worth its while just below or just above
        if self.is_sparse:
            self.mark(part, axis, at)
            self.mark(part, axis, at + 1)
        else:
            self.event[here] = 1
            self.event[here + 1] = 1

    @cython.final
    cdef inline void add_run(
        self, const Subset *part, intp_t axis, int32_t lo, int32_t hi, int32_t label
    ) noexcept nogil:
        cdef intp_t here = self.first[axis] + lo, after = self.first[axis] + hi + 1
        self.add(&self.change[here * self.n_columns], label, 1.0)
        if hi < part.hi[axis]:
            self.add(&self.change[after * self.n_columns], label, -1.0)
        if self.is_sparse:
            self.mark(part, axis, lo)
            self.mark(part, axis, hi + 1)
        else:
            self.event[here] = 1
            self.event[after] = 1

    @cython.final
    cdef inline void mark(self, const Subset *part, intp_t axis, int32_t at) noexcept nogil:
        """Note that weights change at a cell, unless it is beyond the region."""
        cdef intp_t here = self.first[axis] + at
        if at <= part.hi[axis] and not self.event[here]:
            self.event[here] = 1
            self.marks[self.first[axis] + self.n_marks[axis]] = at
            self.n_marks[axis] += 1

    @cython.final
    cdef void forget(self, const Subset *part) noexcept nogil:
        """Forget all weights of before, at least inside a region."""
        cdef intp_t a, i, k, begin, end, n_columns = self.n_columns
        for a in range(self.n_axes):
            begin, end = self.first[a] + part.lo[a], self.first[a] + part.hi[a] + 1
            self.work += <double> ((end - begin) * n_columns)
            if not self.is_sparse:
                for i in range(begin * n_columns, end * n_columns):
                    self.mass[i] = 0.0
                    self.change[i] = 0.0
                for i in range(begin, end):
                    self.event[i] = 0
                continue
            for k in range(self.n_marks[a]):
                end = self.first[a] + self.marks[self.first[a] + k]
                self.event[end] = 0
                for i in range(end * n_columns, (end + 1) * n_columns):
                    self.mass[i] = 0.0
                    self.change[i] = 0.0
            self.n_marks[a] = 0
            self.mark(part, a, part.lo[a])

    @cython.final
    cdef void sort_marks(self, const Subset *part, intp_t a) noexcept nogil:
        """Bring the marks of an axis into their order."""
        cdef:
            int32_t p
            intp_t n = 0
            int32_t *marks = self.marks.data() + self.first[a]
            const uint8_t *event = self.event.data() + self.first[a]
        if self.is_sparse:
            sort(marks, marks + self.n_marks[a])
            return
        marks[0] = part.lo[a]
        n = 1
        for p in range(part.lo[a] + 1, part.hi[a] + 1):
            marks[n] = p
            n += event[p]
        self.n_marks[a] = n

    @cython.final
    cdef inline void begin_axis(self) noexcept nogil:
        cdef intp_t c
        for c in range(self.n_columns):
            self.left[c] = 0.0
            self.running[c] = 0.0

    @cython.final
    cdef inline void walk(self, intp_t axis, int32_t p) noexcept nogil:
        """Add what stands at a cell to the left side."""
        cdef intp_t c, here = (self.first[axis] + p) * self.n_columns
        for c in range(self.n_columns):
            self.running[c] += self.change[here + c]
            self.left[c] += self.mass[here + c] + self.running[c]

    @cython.final
    cdef inline void walk_on(self, intp_t n) noexcept nogil:
        """The same for so many cells more, at which nothing changes."""
        cdef intp_t c
        for c in range(self.n_columns):
            self.left[c] += n * self.running[c]

    @cython.final
    cdef void count(self, const Subset *part) noexcept nogil:
        """Weigh the labels of a subset on every axis.

        O((stars + runs) * axes), and a sort or a look at each cell of the region's axes.
        """
        cdef:
            intp_t i, a
            int32_t star, lo, hi, label
            double weight, together = 0.0
            Run run
        self.total.assign(self.n_columns, 0.0)
        self.forget(part)
        for i in range(<intp_t> part.stars.size()):
            star = part.stars[i]
            label = self.labels[star]
            weight = self.star_weight[star]
            for a in range(self.n_axes):
                lo = max(self.own_first[star, a], part.lo[a])
                hi = min(self.own_last[star, a], part.hi[a])
                self.reach[a] = hi - lo
                weight += hi - lo
            together += weight
            self.add(self.total.data(), label, weight)
            for a in range(self.n_axes):
                if self.reach[a] == 0.0:
                    self.add_point(part, a, self.cells[star, a], label, weight)
                    continue
                lo = max(self.own_first[star, a], part.lo[a])
                hi = min(self.own_last[star, a], part.hi[a])
                self.add_point(
                    part, a, self.cells[star, a], label, weight - self.reach[a] - 1.0
                )
                self.add_run(part, a, lo, hi, label)
        for i in range(<intp_t> part.runs.size()):
            run = self.run_of(part.runs[i])
            lo, hi = max(run.first, part.lo[run.axis]), min(run.last, part.hi[run.axis])
            weight = hi - lo + 1
            together += weight
            self.add(self.total.data(), run.label, weight)
            for a in range(self.n_axes):
                if a == run.axis:
                    self.add_run(part, a, lo, hi, run.label)
                else:
                    self.add_point(part, a, self.cells[run.star, a], run.label, weight)
        self.weight = together
        self.work += <double> ((part.stars.size() + part.runs.size()) * self.n_axes) * 3.0

    @cython.final
    cdef void weigh(self, const Subset *part) noexcept nogil:
        """The weight of each label in a subset, which is all that a leaf needs of `count`."""
        cdef intp_t i
        cdef Weighed one
        self.total.assign(self.n_columns, 0.0)
        for i in range(<intp_t> (part.stars.size() + part.runs.size())):
            one = self.weighed(part, i)
            self.add(self.total.data(), one.label, one.weight)
        self.work += <double> (part.stars.size() * self.n_axes + part.runs.size())

    @cython.final
    cdef inline int32_t label_at(self, const Subset *part, intp_t i) noexcept nogil:
        """Label of a star of a subset, or of a run; these come after the stars."""
        cdef intp_t n_stars = part.stars.size()
        if i < n_stars:
            return self.labels[part.stars[i]]
        return self.run_of(part.runs[i - n_stars]).label

    @cython.final
    cdef inline Weighed weighed(self, const Subset *part, intp_t i) noexcept nogil:
        """The same with the weight of its points inside the region of the subset."""
        cdef:
            intp_t a, n_stars = part.stars.size()
            int32_t star
            Run run
            Weighed one
        if i < n_stars:
            star = part.stars[i]
            one.label, one.weight = self.labels[star], self.star_weight[star]
            for a in range(self.n_axes):
                one.weight += min(self.own_last[star, a], part.hi[a])
                one.weight -= max(self.own_first[star, a], part.lo[a])
            return one
        run = self.run_of(part.runs[i - n_stars])
        one.label = run.label
        one.weight = min(run.last, part.hi[run.axis]) - max(run.first, part.lo[run.axis]) + 1
        return one

    @cython.final
    cdef inline bint serves(self, int32_t leaf, int32_t label) noexcept nogil:
        """Whether a leaf of some label is right for points of another."""
        return leaf <= label <= self.alike[leaf]

    cdef double leaf_error(self, const Subset *part, int32_t *label) noexcept nogil:
        """Weight of the points for which the best leaf is not right; after `count`."""
        cdef intp_t c, best = 0
        cdef double others = 0.0
        if self.has_moments:
            return self.window_error(part, label)
        for c in range(1, self.n_columns):
            if self.total[c] > self.total[best]:
                best = c
        for c in range(self.n_columns):
            if c != best:
                others += self.total[c]
        label[0] = <int32_t> best
        return others

    @cython.final
    cdef void score_splits(self, const Subset *part) noexcept nogil:
        """All splits that part points, with their scores, less is better; after `count`."""
        cdef:
            intp_t a, i, n_steps
            int32_t p
            const int32_t *marks = NULL
            double error
            ScoredCut split
        self.splits.clear()
        self.stump_error = 1e300
        for a in range(self.n_axes):
            if part.lo[a] == part.hi[a]:
                continue
            self.begin_axis()
            split.axis = <int32_t> a
            n_steps = part.hi[a] - part.lo[a]
            if self.is_sparse:
                self.sort_marks(part, a)
                marks = self.marks.data() + self.first[a]
                n_steps = self.n_marks[a] - 1
            for i in range(n_steps):
                p = part.lo[a] + <int32_t> i if not self.is_sparse else marks[i]
                self.walk(a, p)
                if self.is_sparse:
                    # on to the last cell before the next mark
                    self.walk_on(marks[i + 1] - 1 - p)
                    p = marks[i + 1] - 1
                elif not self.event[self.first[a] + p + 1]:
                    continue
                if not self.rate(&split.score, &error):
                    continue
                if self.noise > 0.0:
                    split.score *= 1.0 + self.noise * random_unit(&self.random)
                split.cut = p
                if self.splits.empty() or split.score < self.best.score:
                    self.best = split
                self.splits.push_back(split)
                if error < self.stump_error:
                    self.stump_error = error
                    self.stump = split
                self.work += <double> (4 * self.n_columns)

    @cython.final
    cdef inline bint rate(self, double *score, double *error) noexcept nogil:
        """Score of a split, and the error of leaves on both sides; false if a side is empty."""
        cdef intp_t c, n_columns = self.n_columns
        cdef double n_left = 0.0, most_left = 0.0, most_right = 0.0
        if self.has_moments:
            return self.rate_moments(score, error)
        for c in range(n_columns):
            n_left += self.left[c]
            most_left = max(most_left, self.left[c])
            most_right = max(most_right, self.total[c] - self.left[c])
        if n_left <= TINY or self.weight - n_left <= TINY:
            return False
        score[0] = self.impurity()
        error[0] = self.weight - most_left - most_right
        return True

    @cython.final
    cdef bint rate_moments(self, double *score, double *error) noexcept nogil:
        """The same for numbers; what leaves would get wrong is not known.

        The score adds up the logarithm of the variance on either side of each point, which is what
        it takes to tell normal deviates; below the tolerance, which is one, there is nothing to
        gain. If `criterion` is 1, it is the variance itself.
        """
        cdef double n_left = self.left[0], n_right = self.weight - n_left, rest, one, two
        if n_left <= TINY or n_right <= TINY:
            return False
        rest = self.total[1] - self.left[1]
        one = max(self.left[2] - self.left[1] * self.left[1] / n_left, 0.0)
        two = max(self.total[2] - self.left[2] - rest * rest / n_right, 0.0)
        if self.criterion == 0:
            one = n_left * log(1.0 + one / n_left)
            two = n_right * log(1.0 + two / n_right)
        score[0] = one + two
        error[0] = 1e300
        return True

    @cython.final
    cdef inline double impurity(self) noexcept nogil:
        """Impurity of both sides of a split, each times its weight."""
        cdef intp_t c
        cdef double here, rest, n_left = 0.0, n_right = 0.0, one = 0.0, two = 0.0
        for c in range(self.n_columns):
            here = self.left[c]
            rest = self.total[c] - here
            if here > TINY:
                n_left += here
                one += here * log(here) if self.criterion == 0 else here * here
            if rest > TINY:
                n_right += rest
                two += rest * log(rest) if self.criterion == 0 else rest * rest
        if n_left <= TINY or n_right <= TINY:
            return 1e300
        if self.criterion == 0:
            return n_left * log(n_left) - one + n_right * log(n_right) - two
        return n_left - one / n_left + n_right - two / n_right

    # ------------------------------------------------------------- trees

    @cython.final
    cdef bint out_of_time(self) except -1 nogil:
        if self.work >= self.work_limit:
            self.stopped = True
        elif not self.stopped and self.work >= self.next_poll:
            self.next_poll = self.work + POLL
            if should_stop():
                self.stopped = True
        return self.stopped

    @cython.final
    cdef inline Subset *side_of(
        self, const Subset *part, ScoredCut split, bint right, intp_t place
    ) noexcept nogil:
        return self.side(part, split.axis, split.cut, right, place)

    @cython.final
    cdef inline double put_leaf(
        self, int32_t label, double error, double price, vector[Node] &out
    ) noexcept nogil:
        cdef Node leaf
        leaf.axis, leaf.cut, leaf.size = -1, label, 1
        out.push_back(leaf)
        return error + price

    @cython.final
    cdef inline void put_split(self, int32_t axis, int32_t cut, vector[Node] &out) noexcept nogil:
        cdef Node node
        node.axis, node.cut, node.size = axis, cut, 0
        out.push_back(node)

    cdef double grow(
        self, const Subset *part, intp_t place, double price, vector[Node] &out
    ) except -1.0 nogil:
        """Append a greedy tree for a subset, and return its cost. Rooms from `place` are free.

        When the work is done, what is left becomes leaves, at their cost.
        """
        cdef:
            int32_t label
            double error, cost, stump_cost
            intp_t here = out.size()
            ScoredCut split, stump
            Subset *below
            int right
        self.count(part)
        error = self.leaf_error(part, &label)
        if error <= price:
            return self.put_leaf(label, error, price, out)
        if self.out_of_time():
            # now the whole error counts
            error = self.leaf_error(part, &label)
            return self.put_leaf(label, error, price, out)
        self.score_splits(part)
        if self.splits.empty():
            return self.put_leaf(label, error, price, out)
        split, stump, stump_cost = self.best, self.stump, self.stump_error + 2.0 * price
        self.put_split(split.axis, split.cut, out)
        cost = 0.0
        for right in range(2):
            cost += self.grow(self.side_of(part, split, right, place), place + 1, price, out)
        if self.stopped and self.has_moments:
            # it was enough so far that it is not zero
            error = self.leaf_error(part, &label)
        if error + price <= min(cost, stump_cost):
            out.resize(here)
            return self.put_leaf(label, error, price, out)
        if stump_cost < cost - TINY:
            out.resize(here)
            self.put_split(stump.axis, stump.cut, out)
            cost = 0.0
            for right in range(2):
                below = self.side_of(part, stump, right, place)
                self.weigh(below)
                error = self.leaf_error(below, &label)
                cost += self.put_leaf(label, error, price, out)
        out[here].size = <int32_t> (out.size() - here)
        return cost

    cdef void choose_candidates(self, intp_t place, intp_t n, intp_t an_axis) noexcept nogil:
        """The best splits of those scored, few of one axis, into the list of a room."""
        cdef:
            intp_t i, axis
            vector[intp_t] taken
        taken.resize(self.n_axes)
        sort(self.splits.begin(), self.splits.end(), better)
        self.candidates[place].clear()
        for i in range(<intp_t> self.splits.size()):
            axis = self.splits[i].axis
            if taken[axis] < an_axis:
                taken[axis] += 1
                self.candidates[place].push_back(self.splits[i])
                if <intp_t> self.candidates[place].size() == n:
                    return

    cdef double look_ahead(
        self, const Subset *part, intp_t place, double price, intp_t width, intp_t an_axis,
        vector[Node] &out,
    ) except -1.0 nogil:
        """Append a tree for a subset, no worse than the greedy one, and return its cost.

        Of `width` splits, at most `an_axis` of one axis, the one is taken whose greedy trees
        cost least; then the same again below. When the work is done, what was found stands.
        """
        cdef:
            int32_t label
            intp_t i, best = -1
            double error, greedy, cost, best_cost
            vector[Node] tree, left, right
            ScoredCut split
            Subset *below
        self.room(place + 1)
        self.count(part)
        error = self.leaf_error(part, &label)
        if error <= price:
            return self.put_leaf(label, error, price, out)
        greedy = self.grow(part, place, price, tree)
        if greedy <= 2.0 * price or self.out_of_time():
            out.insert(out.end(), tree.begin(), tree.end())
            return greedy
        self.count(part)
        self.score_splits(part)
        self.choose_candidates(place, width, an_axis)
        best_cost = 1e300
        for i in range(<intp_t> self.candidates[place].size()):
            split = self.candidates[place][i]
            left.clear()
            cost = self.grow(self.side_of(part, split, False, place), place + 1, price, left)
            if cost + price >= best_cost:
                continue
            right.clear()
            cost += self.grow(self.side_of(part, split, True, place), place + 1, price, right)
            if cost < best_cost:
                best_cost = cost
                best = i
                if cost < greedy:
                    greedy = cost
                    tree.clear()
                    self.put_split(split.axis, split.cut, tree)
                    tree.insert(tree.end(), left.begin(), left.end())
                    tree.insert(tree.end(), right.begin(), right.end())
            if self.stopped:
                break
        if best >= 0 and not self.stopped:
            split = self.candidates[place][best]
            left.clear()
            self.put_split(split.axis, split.cut, left)
            cost = 0.0
            for i in range(2):
                below = self.side_of(part, split, i, place)
                cost += self.look_ahead(below, place + 1, price, width, an_axis, left)
            if cost < greedy:
                greedy = cost
                tree.swap(left)
        if self.stopped and self.has_moments:
            error = self.leaf_error(part, &label)
        if error + price <= greedy:
            return self.put_leaf(label, error, price, out)
        out.insert(out.end(), tree.begin(), tree.end())
        return greedy

    # ------------------------------------------------------------- better trees

    cdef double wrong_in(self, const Subset *part, int32_t leaf) noexcept nogil:
        """Weight of the points of a subset for which a leaf is not right."""
        cdef intp_t i
        cdef double weight = 0.0
        for i in range(<intp_t> (part.stars.size() + part.runs.size())):
            if not self.serves(leaf, self.label_at(part, i)):
                weight += self.weighed(part, i).weight
        self.work += <double> (part.stars.size() * self.n_axes + part.runs.size())
        return weight

    cdef double cost_of(
        self, const Subset *part, intp_t place, double price, const Node *nodes, int32_t at
    ) noexcept nogil:
        """What the subtree at a node costs on a subset."""
        cdef double cost = 0.0
        cdef int right
        if nodes[at].axis < 0:
            return price + self.wrong_in(part, nodes[at].cut)
        for right in range(2):
            cost += self.cost_of(
                self.side(part, nodes[at].axis, nodes[at].cut, right, place), place + 1, price,
                nodes, right_child(nodes, at) if right else at + 1,
            )
        return cost

    cdef int32_t choose_subtree(self, const vector[Node] &tree) noexcept nogil:
        """A random split: sizes of subtrees are equally likely by their order of magnitude."""
        cdef:
            int32_t at, best = 0
            intp_t _
            double wanted = (<double> tree.size() / 3.0) ** random_unit(&self.random) * 3.0
            double off, best_off = 1e300
        for _ in range(24):
            at = <int32_t> random_below(tree.size(), &self.random)
            if tree[at].axis < 0:
                continue
            off = max(tree[at].size / wanted, wanted / tree[at].size)
            if off < best_off:
                best, best_off = at, off
        return best

    cdef Subset *reach_node(
        self, const vector[Node] &tree, int32_t target, intp_t *place
    ) noexcept nogil:
        """The subset of a node, and the first room that is free then."""
        cdef:
            Subset *here = self.everything()
            int32_t at = 0, axis, cut
            intp_t at_place = 1
            bint right
        while at != target:
            axis, cut = tree[at].axis, tree[at].cut
            right = target >= right_child(tree.data(), at)
            # two rooms in turn: one is read while the other is filled
            here = self.side(here, axis, cut, right, at_place)
            at_place = 3 - at_place
            at = right_child(tree.data(), at) if right else at + 1
        place[0] = 3
        return here

    def improve(
        self,
        const int32_t[:, ::1] nodes,
        double price,
        intp_t width,
        intp_t an_axis,
        double work,
        double noise=0.1,
    ):
        """A tree that costs no more: random subtrees are searched again, again and again.

        The other parameters are those of `find`; a subtree gets up to `width` splits to follow, and
        the scores have at most so much noise.
        """
        cdef:
            vector[Node] tree, fresh
            Subset *part
            int32_t at
            intp_t place
            double cost, old
        self.set_limit(work)
        self.quick = price < NO_ERRORS
        array_to_nodes(nodes, tree)
        with nogil:
            while tree.size() > 1 and not self.out_of_time():
                at = self.choose_subtree(tree)
                if tree[at].axis < 0:
                    continue
                part = self.reach_node(tree, at, &place)
                if price < NO_ERRORS and tree[at].size < 2 * SMALL:
                    fresh.clear()
                    if self.fits_fewer(part, place, tree[at].size // 2, fresh):
                        replace_subtree(tree, at, fresh)
                        continue
                    part = self.reach_node(tree, at, &place)
                old = self.cost_of(part, place, price, tree.data(), at)
                self.noise = noise * random_unit(&self.random)
                self.criterion = random_unit(&self.random) < 0.3
                fresh.clear()
                cost = self.look_ahead(
                    part, place, price, 1 + random_below(width, &self.random),
                    1 + random_below(an_axis, &self.random), fresh,
                )
                if cost > old + TINY or (self.stopped and cost >= old - TINY):
                    continue
                replace_subtree(tree, at, fresh)
        return nodes_to_array(tree)

    cdef bint fits_fewer(
        self, const Subset *part, intp_t place, intp_t n_leaves, vector[Node] &out
    ) except -1 nogil:
        """Whether fewer leaves are found for a small subset, with little work: then the tree."""
        cdef double limit = self.work_limit
        cdef int outcome
        self.work_limit = min(limit, self.work + SMALL_WORK)
        outcome = self.fits(part, place, n_leaves, out)
        if self.work < limit and self.stopped and not should_stop():
            self.stopped = False
        self.work_limit = limit
        return outcome > 0

    # ------------------------------------------------------------- smaller trees

    cdef void weigh_nodes(
        self, const Subset *part, intp_t place, const Node *nodes, int32_t at,
        float64_t *errors, int32_t *labels,
    ) noexcept nogil:
        cdef int right
        self.weigh(part)
        errors[at] = self.leaf_error(part, &labels[at])
        if nodes[at].axis < 0:
            return
        for right in range(2):
            self.weigh_nodes(
                self.side(part, nodes[at].axis, nodes[at].cut, right, place), place + 1, nodes,
                right_child(nodes, at) if right else at + 1, errors, labels,
            )

    def leaf_errors(self, const int32_t[:, ::1] nodes):
        """What every node of a tree would get wrong as a leaf, and the best label there."""
        cdef vector[Node] tree
        array_to_nodes(nodes, tree)
        errors = np.empty(nodes.shape[0])
        labels = np.empty(nodes.shape[0], dtype=np.int32)
        self.quick = False
        cdef float64_t[::1] errors_ = errors
        cdef int32_t[::1] labels_ = labels
        with nogil:
            self.weigh_nodes(self.everything(), 1, tree.data(), 0, &errors_[0], &labels_[0])
        return errors, labels

    def few_leaves(self):
        """The least weight that trees of one and of two leaves get wrong (two, of numbers: 0)."""
        cdef int32_t label
        cdef double one, two
        cdef Subset *all
        with nogil:
            all = self.everything()
            self.count(all)
            one = self.leaf_error(all, &label)
            self.score_splits(all)
            two = 0.0 if self.has_moments else min(one, self.stump_error)
        return one, two

    def cost(self, const int32_t[:, ::1] nodes, double price=0.0):
        """Weight of the points that a tree gets wrong, and a price for each of its leaves."""
        cdef vector[Node] tree
        cdef double cost
        array_to_nodes(nodes, tree)
        with nogil:
            cost = self.cost_of(self.everything(), 1, price, tree.data(), 0)
        return cost

    cdef void add_wrong(
        self, const Subset *part, intp_t place, const Node *nodes, int32_t at,
        const intp_t *counts, const float64_t *before, double *wrong,
    ) noexcept nogil:
        cdef:
            intp_t i, a
            int32_t star, lo, hi
            const float64_t *held
            Run run
        if nodes[at].axis >= 0:
            for i in range(2):
                self.add_wrong(
                    self.side(part, nodes[at].axis, nodes[at].cut, i, place), place + 1, nodes,
                    right_child(nodes, at) if i else at + 1, counts, before, wrong,
                )
            return
        for i in range(<intp_t> part.stars.size()):
            star = part.stars[i]
            if self.serves(nodes[at].cut, self.labels[star]):
                continue
            wrong[0] += 1.0
            wrong[1] += counts[star]
            for a in range(self.n_axes):
                held = before + self.first[a] + a
                lo = max(self.own_first[star, a], part.lo[a])
                hi = min(self.own_last[star, a], part.hi[a])
                wrong[0] += hi - lo
                wrong[2] += held[hi + 1] - held[lo]
                wrong[2] -= held[self.cells[star, a] + 1] - held[self.cells[star, a]]
        for i in range(<intp_t> part.runs.size()):
            run = self.run_of(part.runs[i])
            if not self.serves(nodes[at].cut, run.label):
                held = before + self.first[run.axis] + run.axis
                lo, hi = max(run.first, part.lo[run.axis]), min(run.last, part.hi[run.axis])
                wrong[0] += hi - lo + 1
                wrong[2] += held[hi + 1] - held[lo]

    def wrong(
        self,
        const int32_t[:, ::1] nodes,
        const intp_t[::1] counts,
        const float64_t[::1] before,
    ):
        """What a tree gets wrong: points, rows among them, and the weight of the others.

        `counts` are the rows in each star. A point weighs what the cell does on the axis that is
        changed: `before`, of shape (n_positions + n_axes,), holds for each axis the weights of its
        cells added up, from 0 to all.
        """
        cdef vector[Node] tree
        cdef double found[3]
        found[0] = found[1] = found[2] = 0.0
        array_to_nodes(nodes, tree)
        with nogil:
            self.add_wrong(
                self.everything(), 1, tree.data(), 0, &counts[0], &before[0], found
            )
        return int(found[0]), int(found[1]), found[2]

    # ------------------------------------------------------------- proofs

    cdef intp_t n_forced(self, const Subset *part) noexcept nogil:
        """Cuts between two neighbours of different classes on a line: each needs a split."""
        cdef:
            intp_t i, a, n = 0
            int32_t star
            Run run
        self.stamps += 1
        for i in range(<intp_t> part.stars.size()):
            star = part.stars[i]
            for a in range(self.n_axes):
                if self.own_joined[star, a] and self.own_first[star, a] > part.lo[a]:
                    n += self.stamped(a, self.own_first[star, a])
        for i in range(<intp_t> part.runs.size()):
            run = self.run_of(part.runs[i])
            if run.joined and run.first > part.lo[run.axis]:
                n += self.stamped(run.axis, run.first)
        self.work += <double> (part.stars.size() * self.n_axes + part.runs.size())
        return n

    @cython.final
    cdef inline intp_t stamped(self, intp_t axis, int32_t at) noexcept nogil:
        cdef intp_t here = self.first[axis] + at
        if self.stamp[here] == self.stamps:
            return 0
        self.stamp[here] = self.stamps
        return 1

    @cython.final
    cdef void pure_ends(
        self, const Subset *part, intp_t a, int32_t *low, int32_t *high
    ) noexcept nogil:
        """Last cut of an axis below which one leaf is right, and first one above which one is."""
        cdef:
            intp_t i, n = part.hi[a] - part.lo[a] + 1
            int32_t begin, end, star, least, most
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
                begin, end = max(run.first, part.lo[a]), min(run.last, part.hi[a])
            else:
                begin = end = self.cells[run.star, a]
            self.widen(begin - part.lo[a], end - part.lo[a], run.label)
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

    @cython.final
    cdef inline void widen(self, int32_t begin, int32_t end, int32_t label) noexcept nogil:
        """Note that a label is on the cells from one to another of an axis."""
        self.begin_lo[begin] = min(self.begin_lo[begin], label)
        self.begin_hi[begin] = max(self.begin_hi[begin], label)
        self.end_lo[end] = min(self.end_lo[end], label)
        self.end_hi[end] = max(self.end_hi[end], label)

    @cython.final
    cdef void canonical(self, const Subset *part, vector[int32_t] &box) noexcept nogil:
        """The region without cells at its ends that tell nothing apart; after `count`."""
        cdef:
            intp_t a
            int32_t p
            const int32_t *marks
        for a in range(self.n_axes):
            marks = self.marks.data() + self.first[a]
            p = part.hi[a] if self.n_marks[a] == 1 else marks[1] - 1
            box.push_back(p)
            box.push_back(max(p, marks[self.n_marks[a] - 1]))

    cdef intp_t n_apart(
        self, const Subset *part, intp_t most, int32_t *label
    ) noexcept nogil:
        """Leaves that the labels of a subset need, wherever they are, and a label; after `count`.

        Where there are more than `most`, some number above it.
        """
        cdef intp_t c, n = 0
        if self.has_moments:
            return self.n_windows(part, most, label)
        for c in range(self.n_columns):
            if self.total[c] > TINY:
                n += 1
                label[0] = <int32_t> c
        return n

    cdef int fits(
        self, const Subset *part, intp_t place, intp_t n_leaves, vector[Node] &out
    ) except -2 nogil:
        """Whether a tree of so many leaves tells all classes apart: 1, 0, or -1 where time ends."""
        cdef:
            intp_t a, i, n
            int32_t label = 0
            int outcome
            vector[int32_t] box, low, high, cuts
        if self.stopped:
            return -1
        self.count(part)
        n = self.n_apart(part, n_leaves, &label)
        if n <= 1:
            self.put_leaf(label, 0.0, 0.0, out)
            return 1
        if n_leaves < n or self.n_forced(part) >= n_leaves:
            return 0
        low.resize(self.n_axes)
        high.resize(self.n_axes)
        if self.fits_two(part, place, low, high, out):
            return 1
        if n_leaves == 2:
            return 0
        if self.out_of_time():
            return -1
        for a in range(self.n_axes):
            self.sort_marks(part, a)
        # regions that differ only at ends that tell nothing apart are one
        self.canonical(part, box)
        if self.known.count(box) and n_leaves <= self.known[box]:
            return 0
        # the cuts that part points, for each axis, while the weights are at hand
        for a in range(self.n_axes):
            for i in range(1, self.n_marks[a]):
                cuts.push_back(<int32_t> self.first[a] + self.marks[self.first[a] + i] - 1)
        outcome = self.fits_split(part, place, n_leaves, low, high, cuts, out)
        if outcome == 0 and (self.n_known < MAX_KNOWN or self.known.count(box)):
            self.n_known += 0.0 if self.known.count(box) else 2.0 * self.n_axes + 24.0
            self.known[box] = <int32_t> n_leaves
        return outcome

    cdef bint fits_two(
        self, const Subset *part, intp_t place, vector[int32_t] &low, vector[int32_t] &high,
        vector[Node] &out,
    ) noexcept nogil:
        """Whether one split tells all classes apart; `pure_ends` of the axes up to it are set."""
        cdef:
            int32_t a, label = 0
            Subset *side
            int right
        for a in range(<int32_t> self.n_axes):
            self.pure_ends(part, a, &low[a], &high[a])
            if high[a] <= low[a]:
                self.put_split(a, high[a], out)
                for right in range(2):
                    side = self.side(part, a, high[a], right, place)
                    self.weigh(side)
                    self.leaf_error(side, &label)
                    self.put_leaf(label, 0.0, 0.0, out)
                return True
        return False

    cdef int fits_split(
        self, const Subset *part, intp_t place, intp_t n_leaves, const vector[int32_t] &low,
        const vector[int32_t] &high, const vector[int32_t] &cuts, vector[Node] &out,
    ) except -2 nogil:
        """`fits` for three leaves or more, by its first split.

        A part of a subset needs no more leaves than the whole. So of the splits of an axis whose
        left side fits into i leaves, the last leaves the least to the right. Where i is one, that
        is an end of the pure cuts; else it is found by bisection.
        """
        cdef:
            intp_t i
            int32_t a
            int outcome, result = 0
        for a in range(<int32_t> self.n_axes):
            if self.stopped:
                return -1
            if low[a] >= part.lo[a]:
                outcome = self.fits_below(part, place, a, low[a], 1, n_leaves - 1, out)
                if outcome > 0:
                    return 1
                result = min(result, outcome)
            if high[a] < part.hi[a]:
                outcome = self.fits_below(part, place, a, high[a], n_leaves - 1, 1, out)
                if outcome > 0:
                    return 1
                result = min(result, outcome)
        for a in range(<int32_t> self.n_axes):
            for i in range(2, n_leaves - 1):
                if self.stopped:
                    return -1
                outcome = self.fits_divided(
                    part, place, a, i, n_leaves, low[a], high[a], cuts, out
                )
                if outcome > 0:
                    return 1
                result = min(result, outcome)
        return result

    cdef int fits_below(
        self, const Subset *part, intp_t place, int32_t axis, int32_t cut,
        intp_t n_left, intp_t n_right, vector[Node] &out,
    ) except -2 nogil:
        """Whether both sides of a split fit into so many leaves."""
        cdef intp_t here = out.size()
        cdef int one, two
        self.put_split(axis, cut, out)
        # the side with fewer leaves is settled sooner, but the trees stand from left to right
        one = self.fits(self.side(part, axis, cut, False, place), place + 1, n_left, out)
        two = one
        if one > 0:
            two = self.fits(self.side(part, axis, cut, True, place), place + 1, n_right, out)
        if one <= 0 or two <= 0:
            out.resize(here)
        return min(one, two) if one != 0 and two != 0 else 0

    cdef int fits_divided(
        self, const Subset *part, intp_t place, int32_t axis, intp_t n_left, intp_t n_leaves,
        int32_t low, int32_t high, const vector[int32_t] &cuts, vector[Node] &out,
    ) except -2 nogil:
        """Whether some split of an axis has so many leaves left of it, at least two a side."""
        cdef:
            intp_t here = out.size(), first = 0, last, i, middle
            int32_t base = <int32_t> self.first[axis], best = -1
            int outcome
            vector[int32_t] between
        for i in range(<intp_t> cuts.size()):
            if base + low < cuts[i] < base + high and cuts[i] < base + part.hi[axis]:
                if cuts[i] >= base + part.lo[axis]:
                    between.push_back(cuts[i] - base)
        last = between.size()
        # between[:first] fit, between[last:] do not
        while first < last:
            middle = (first + last) // 2
            outcome = self.fits(
                self.side(part, axis, between[middle], False, place), place + 1, n_left, out
            )
            out.resize(here)
            if outcome < 0:
                return -1
            if outcome > 0:
                best = between[middle]
                first = middle + 1
            else:
                last = middle
        if best < 0:
            return 0
        return self.fits_below(part, place, axis, best, n_left, n_leaves - n_left, out)

    def prove(self, intp_t n_leaves, double work):
        """Whether a tree of so many leaves answers right on all points, and that tree, or None.

        Where the limit came first, both are None.
        """
        cdef vector[Node] tree
        cdef int outcome
        self.set_limit(work)
        with nogil:
            outcome = self.fits(self.everything(), 1, n_leaves, tree)
            set_sizes(tree)
        if outcome < 0:
            return None, None
        return (True, nodes_to_array(tree)) if outcome else (False, None)

    def forced_cuts(self):
        """Whether every tree without an error splits between a place and the one before.

        The places of axis a begin at the sum of the lengths of the axes before it.
        """
        self.n_forced(self.everything())
        return np.array(self.stamp)[: self.first[self.n_axes]] == self.stamps

    # ------------------------------------------------------------- points that need a leaf each

    # Two points need two leaves where the box that they span holds labels for which no leaf is
    # right. Points of which every two do are a *fooling set*; no tree has fewer leaves.

    @cython.final
    cdef bint in_box(
        self, intp_t star, const int32_t *lo, const int32_t *hi, intp_t but
    ) noexcept nogil:
        """Whether a row lies in a box on every axis but one."""
        cdef const int32_t *cell = &self.cells[star, 0]
        cdef intp_t a
        for a in range(self.n_axes):
            if (cell[a] < lo[a] or cell[a] > hi[a]) and a != but:
                return False
        return True

    @cython.final
    cdef inline bint widens(self, int32_t label, int32_t *least, int32_t *most) noexcept nogil:
        """Whether no leaf is right from the least to the most of some labels and one more."""
        least[0] = min(least[0], label)
        most[0] = max(most[0], label)
        return most[0] > self.alike[least[0]]

    @cython.final
    cdef bint holds_apart(
        self, const int32_t *lo, const int32_t *hi, int32_t least, int32_t most
    ) noexcept nogil:
        """Whether no leaf is right for some labels and all points of a box."""
        cdef:
            intp_t i, a, wrong, n_axes = self.n_axes
            const int32_t *cell
            const int32_t *label = &self.labels[0]
            const Run *run
        for i in range(self.n_stars):
            if least <= label[i] <= most or label[i] < 0:
                continue
            cell = &self.cells[i, 0]
            wrong = -1
            for a in range(n_axes):
                if cell[a] < lo[a] or cell[a] > hi[a]:
                    if wrong >= 0:
                        break
                    wrong = a
            else:
                if wrong < 0 or (
                    self.own_first[i, wrong] <= hi[wrong] and self.own_last[i, wrong] >= lo[wrong]
                ):
                    if self.widens(label[i], &least, &most):
                        self.looks += i
                        return True
        for i in range(self.n_others):
            run = self.run + i
            if least <= run.label <= most or run.first > hi[run.axis] or run.last < lo[run.axis]:
                continue
            if self.in_box(run.star, lo, hi, run.axis) and self.widens(run.label, &least, &most):
                self.looks += self.n_stars + i
                return True
        self.looks += self.n_stars + self.n_others
        return False

    @cython.final
    cdef bint need_two(
        self, const int32_t *one, const int32_t *two, int32_t *lo, int32_t *hi
    ) noexcept nogil:
        """Whether two points, each followed by its label, cannot share a leaf."""
        cdef intp_t a, n = self.n_axes
        cdef int32_t least = min(one[n], two[n]), most = max(one[n], two[n])
        if most > self.alike[least]:
            return True
        for a in range(n):
            lo[a] = min(one[a], two[a])
            hi[a] = max(one[a], two[a])
        return self.holds_apart(lo, hi, least, most)

    @cython.final
    cdef void draw_point(self, int32_t *point, uint64_t *random) noexcept nogil:
        """A row, or a point at an end of a run; its label goes last."""
        cdef:
            intp_t a, star, axis, n_axes = self.n_axes
            const Run *run = NULL
            double chance = random_unit(random)
        if chance < 0.3 and self.n_others:
            run = self.run + random_below(self.n_others, random)
            star = run.star
        else:
            star = random_below(self.n_stars, random)
        for a in range(n_axes):
            point[a] = self.cells[star, a]
        point[n_axes] = self.labels[star] if run == NULL else run.label
        if run != NULL:
            point[run.axis] = run.first if random_unit(random) < 0.5 else run.last
        elif chance < 0.8:
            axis = random_below(n_axes, random)
            if random_unit(random) < 0.5:
                point[axis] = self.own_first[star, axis]
            else:
                point[axis] = self.own_last[star, axis]

    def fooling_points(self, uint64_t seed, double looks):
        """A fooling set, found by trying random points: cells, and their labels in a last column.

        A point that needs a leaf of its own beside all of the set joins it; one that could share a
        leaf with a single member may take its place. `looks` limits the rows and runs to hold
        against the boxes of two points, each some nanoseconds.
        """
        cdef:
            intp_t n_axes = self.n_axes, width = n_axes + 1, done = 0
            intp_t i, k, n_shared, shared = 0, n = 0
            vector[int32_t] members, point, lo, hi
            uint64_t random = seed
        point.resize(width)
        lo.resize(n_axes)
        hi.resize(n_axes)
        with nogil:
            self.looks = 0.0
            while self.looks < looks:
                if done % POINTS == 0 and should_stop():
                    break
                done += 1
                # so that it ends where no point needs a look
                self.looks += 1.0
                self.draw_point(point.data(), &random)
                if point[n_axes] < 0:
                    continue
                n_shared = 0
                for i in range(n):
                    if not self.need_two(
                        point.data(), &members[i * width], lo.data(), hi.data()
                    ):
                        shared = i
                        n_shared += 1
                        if n_shared == 2:
                            break
                if n_shared == 0:
                    members.insert(members.end(), point.begin(), point.end())
                    n += 1
                elif n_shared == 1:
                    for k in range(width):
                        members[shared * width + k] = point[k]
        return np.array(members, dtype=np.int32).reshape(n, width)

    def find(
        self,
        double price,
        intp_t width=0,
        intp_t an_axis=2,
        int criterion=0,
        double noise=0.0,
        double work=1e300,
    ):
        """A tree for all points, after its cost.

        `price` is what a leaf costs, in the weight of points that are wrong. `width` splits are
        followed at every node (0: a greedy tree), `an_axis` of one axis among them, by entropy or,
        if `criterion` is 1, by Gini impurity. `noise` is the largest random addition to the score
        of a split, as a share of it.
        """
        cdef vector[Node] tree
        cdef double cost
        cdef Subset *all
        self.set_limit(work)
        self.criterion, self.noise, self.quick = criterion, noise, price < NO_ERRORS
        with nogil:
            all = self.everything()
            if width == 0:
                cost = self.grow(all, 1, price, tree)
            else:
                cost = self.look_ahead(all, 1, price, width, an_axis, tree)
            set_sizes(tree)
        return cost, nodes_to_array(tree)

    @property
    def work_done(self):
        """Units of work so far."""
        return self.work

    # ------------------------------------------------------------- windows of numbers

    cdef bint is_pure(self, const Subset *part, int32_t *lowest) noexcept nogil:
        """Whether one leaf is right for a subset, and the least label."""
        cdef intp_t i
        cdef int32_t label, low = AFTER, high = BEFORE
        for i in range(<intp_t> (part.stars.size() + part.runs.size())):
            label = self.label_at(part, i)
            low = min(low, label)
            high = max(high, label)
        lowest[0] = low if high >= 0 else 0
        return high < 0 or high <= self.alike[low]

    cdef void gather(self, const Subset *part) noexcept nogil:
        """Labels of a subset in their order, with weights, into `found`."""
        cdef intp_t i
        self.found.clear()
        for i in range(<intp_t> (part.stars.size() + part.runs.size())):
            self.found.push_back(self.weighed(part, i))
        sort(self.found.begin(), self.found.end(), is_before)
        self.work += 20.0 * self.found.size()

    cdef double window_error(self, const Subset *part, int32_t *label) noexcept nogil:
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

    cdef intp_t n_windows(
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
            intp_t i, right
            int32_t label
            bint is_leaf = nodes[at].axis < 0
        for i in range(<intp_t> (part.stars.size() + part.runs.size())):
            label = self.label_at(part, i)
            found[at, 0] = label if found[at, 0] < 0 else min(found[at, 0], label)
            found[at, 1] = max(found[at, 1], label)
            if is_leaf and self.serves(nodes[at].cut, label):
                found[at, 2] = label if found[at, 2] < 0 else min(found[at, 2], label)
                found[at, 3] = max(found[at, 3], label)
        for right in range(0 if is_leaf else 2):
            self.span(
                self.side(part, nodes[at].axis, nodes[at].cut, right, place), place + 1, nodes,
                right_child(nodes, at) if right else at + 1, found,
            )
