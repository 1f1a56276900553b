"""What a region of a neighbourhood holds: its points, counted along every axis, and its splits.

The points to be told apart are rows (*stars*: a row with the runs of its own class around it on
every line) and *runs*: stretches of one class on a line. A region holds the stars whose row lies in
it, and the runs that reach into it; a run of a star whose row lies elsewhere is one of its runs.
Nothing is copied but numbers of stars and runs: where a run is cut off is told by the region.
"""

import numpy as np

from libc.math cimport log
from libcpp.algorithm cimport sort

from ensemble_simplify._typedefs cimport (
    float64_t,
    int32_t,
    intp_t,
    random_unit,
    uint8_t,
    uint64_t,
)

cdef enum:
    # Up to so many cells on all axes, weights are kept, and forgotten, for every cell.
    DENSE = 16384


cdef class LineCounts:
    """A neighbourhood, whose arrays are those of `Neighbourhood`, and what is in its regions.

    Stars of class -1 count with their runs only. `star_weight` is the weight of each row, a whole
    number; every other point weighs 1. Work is in units of about a nanosecond.

    `alike` and `numbers` are for `NumberTrees`: a leaf is right for all labels from its own to the
    last one that is alike, and the numbers are what labels stand for.
    """

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

    cdef Subset *room(self, intp_t i) noexcept nogil:
        while <intp_t> self.pool.size() <= i:
            self.pool.push_back(new Subset())
            self.candidates.resize(self.pool.size())
        return self.pool[i]

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

    cdef inline void add(
        self, float64_t *columns, int32_t label, double weight
    ) noexcept nogil:
        """Add the weight of points of a label to columns."""
        if self.has_moments:
            self.add_moments(columns, label, weight)
        else:
            columns[label] += weight

    cdef void add_moments(self, float64_t *columns, int32_t label, double weight) noexcept nogil:
        cdef double moment = weight * self.numbers[label]
        columns[0] += weight
        columns[1] += moment
        columns[2] += moment * self.numbers[label]

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

    cdef inline void mark(self, const Subset *part, intp_t axis, int32_t at) noexcept nogil:
        """Note that weights change at a cell, unless it is beyond the region."""
        cdef intp_t here = self.first[axis] + at
        if at <= part.hi[axis] and not self.event[here]:
            self.event[here] = 1
            self.marks[self.first[axis] + self.n_marks[axis]] = at
            self.n_marks[axis] += 1

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

    cdef inline void begin_axis(self) noexcept nogil:
        cdef intp_t c
        for c in range(self.n_columns):
            self.left[c] = 0.0
            self.running[c] = 0.0

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

    cdef inline bint serves(self, int32_t leaf, int32_t label) noexcept nogil:
        """Whether a leaf of some label is right for points of another."""
        return leaf <= label <= self.alike[leaf]

    cdef double leaf_error(self, const Subset *part, int32_t *label) noexcept nogil:
        """Weight of the points for which the best leaf is not right; after `count`."""
        cdef intp_t c, best = 0
        cdef double others = 0.0
        for c in range(1, self.n_columns):
            if self.total[c] > self.total[best]:
                best = c
        for c in range(self.n_columns):
            if c != best:
                others += self.total[c]
        label[0] = <int32_t> best
        return others

    cdef void score_splits(self, const Subset *part) noexcept nogil:
        """All splits that part points, with their scores, less is better; after `count`."""
        cdef:
            intp_t a, c, i, n_steps, n_columns = self.n_columns
            int32_t p
            const int32_t *marks = NULL
            const float64_t *mass
            const float64_t *change
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
                mass = &self.mass[(self.first[a] + p) * n_columns]
                change = &self.change[(self.first[a] + p) * n_columns]
                for c in range(n_columns):
                    self.running[c] += change[c]
                    self.left[c] += mass[c] + self.running[c]
                if self.is_sparse:
                    # on to the last cell before the next mark
                    for c in range(n_columns):
                        self.left[c] += (marks[i + 1] - 1 - p) * self.running[c]
                    p = marks[i + 1] - 1
                elif not self.event[self.first[a] + p + 1]:
                    continue
                if not self.rate(&split.score, &error):
                    continue
                if self.noise > 0.0:
                    split.score *= 1.0 + self.noise * random_unit(&self.random)
                split.cut = p
                self.splits.push_back(split)
                if error < self.stump_error:
                    self.stump_error = error
                    self.stump = split
                self.work += <double> (4 * n_columns)

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

    cdef bint best_split(self, ScoredCut *split) noexcept nogil:
        cdef intp_t i
        if not self.splits.size():
            return False
        split[0] = self.splits[0]
        for i in range(1, <intp_t> self.splits.size()):
            if self.splits[i].score < split.score:
                split[0] = self.splits[i]
        return True
