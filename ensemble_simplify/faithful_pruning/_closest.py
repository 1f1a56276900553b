"""Few trees, and weights for them, whose numbers stay near those of all: cutting planes.

At a point, the weighted sum of what the trees say must lie between two limits. Weights of few trees
meet all demands found so far by a linear program of least weighted sum, solved again with higher
costs for small weights. Of the weights of these trees, those whose largest distance is least are
put to the promise; points that are too far off become demands, until there are none. Then trees are
left out, several at a time at first, with the others' weights found anew.
"""

from __future__ import annotations

import numpy as np

from ensemble_simplify.base import product
from ensemble_simplify.faithful_pruning._choice import (
    LazyProgram,
    Outcome,
    TreeChoice,
    descend,
    solved,
    without_specks,
)
from ensemble_simplify.grid import LinearProgram, Stopped

OWN = 400  # Rows whose demands are asked for at first, at most.
BATCH = 150  # New points a round, at most.
# Distances are shares of the tolerance: those of few trees, and those that are near enough.
SPARSE, NEAR = 1.0 - 1e-3, 1.0 - 1e-6
# From this distance on, no weights of some trees can keep the promise.
RULED_OUT = 1.0 + 1e-6
# Weights of larger size do not count where trees are said to be needed.
LARGEST_WEIGHT = 100.0
# By how much, as a share of the tolerance, a mixture of demands must be missed to rule out trees.
MISSED = 1e-3
DEMANDS = 1500  # Demands that such mixtures are made of, at most.
# Where no tree is needed, one keeps a weight that moves sums by this share of the tolerance.
TOUCH = 1e-6
# Stumps whose sides differ by less than this share of what they say cannot stand for others.
FLAT = 1e-9
# Where no stump is needed, one is kept that moves sums by this share of what they differ by.
STUMP_TOUCH = 1e-6


class NumberSearch(TreeChoice):
    """Search for few trees whose numbers stay near those of all.

    `promise` is a `NumbersNear` or a `NumbersAnywhere`; `price` is what each tree costs. Weights
    have one entry more than there are trees: what is added without any.
    """

    first_out = 0.25  # most trees can go

    def __init__(self, promise, price, rng, tell=lambda line: None):
        self.promise, self.numbers = promise, promise.numbers
        n_trees = len(price)
        self.is_free = self.numbers.mass is None
        usable = ~self.numbers.is_constant if self.is_free else np.ones(n_trees, dtype=bool)
        if not usable.any():
            usable[np.argmin(price)] = True
        weights = np.append(np.ones(n_trees), 0.0)
        super().__init__(price, usable, weights, rng, tell)
        # what trees say is measured from here, which the offset makes up for
        self.middle = self.numbers.middle if self.is_free else np.zeros(n_trees)
        self._forget()
        self.cells = promise.cells[:0]
        self.is_done = False
        # the best weights for each number of trees, where these are known
        self.steps = None
        self._build()

    def _forget(self):
        """No demands: rows, the sign of the offset in each, what they may come to, and the rest.

        A row, times the weights, may come to its `most` and as many times its `room` as the
        distance says; of the two demands of a point, one is for numbers that are too large.
        """
        self.rows = np.empty((0, len(self.price)))
        self.sign, self.most, self.room = np.empty(0), np.empty(0), np.empty(0)
        # the distance from which on no weights can keep the promise, with all rounding
        self.limit = RULED_OUT

    # ------------------------------------------------------------------ programs

    @property
    def unit(self):
        """Sums are divided by this, so that programs have numbers of moderate size."""
        return 1.0 if self.numbers.is_odds else self.numbers.tolerance

    def _build(self):
        """The programs: weights of few trees, and those of least distance."""
        n_trees = len(self.price)
        if self.is_free:
            first, total = np.zeros(2 * n_trees + 2), 0.0
        else:
            first, total = self.numbers.mass, self.numbers.mass.sum()
        bounds = {"row_lower": total, "row_upper": total}
        self.program = LazyProgram(self._costs(self.price), first[None], **bounds)
        cost = np.append(np.zeros(len(first)), 1.0)
        self.centre = LazyProgram(cost, np.append(first, 0.0)[None], **bounds)

    def _costs(self, price):
        return np.concatenate([price, price, [0.0, 0.0]]) if self.is_free else price

    def add(self, cells):
        """Ask for near numbers at some cells."""
        self.cells = np.concatenate([self.cells, cells])
        numbers = self.numbers
        rows = self.promise.rows_of(cells)
        sums = product(rows, np.ones(len(self.price))).reshape(len(cells), -1) + numbers.start
        # weights are asked for what trees add: the start is there without any
        ends = np.array([(limit - numbers.start).ravel() for limit in numbers.limits(sums)])
        beyond = numbers.limits(sums, 2.0 * numbers.margin)
        beyond = np.array([(limit - numbers.start).ravel() for limit in beyond]) / self.unit
        ends, rows = ends / self.unit, (rows - self.middle) / self.unit
        # where only one side is limited, the middle is a unit from there
        with np.errstate(invalid="ignore"):
            room = 0.5 * (ends[1] - ends[0])
        room[~np.isfinite(room)] = 1.0
        for sign, end, far in zip((-1.0, 1.0), ends, beyond, strict=True):
            some = np.isfinite(end)
            most = sign * end[some] - room[some]
            self._ask(sign * rows[some], np.full(len(most), sign), most, room[some])
            wider = (sign * far[some] - most) / room[some]
            self.limit = max(self.limit, float(wider.max(initial=0.0)))

    def _ask(self, rows, sign, most, room):
        self.rows = np.concatenate([self.rows, rows])
        self.sign, self.most = np.append(self.sign, sign), np.append(self.most, most)
        self.room = np.append(self.room, room)
        columns = rows
        if self.is_free:
            # programs have no negative columns: each weight is the difference of two, as the offset
            columns = np.hstack([rows, -rows, sign[:, None], -sign[:, None]])
        self.program.add_rows(columns, lower=-np.inf, upper=most + SPARSE * room)
        self.centre.add_rows(np.column_stack([columns, -room]), lower=-np.inf, upper=most)

    def _weights(self, x):
        """Weights, and the offset, of a solution."""
        n_trees = len(self.price)
        if not self.is_free:
            weights, mass = without_specks(x[:n_trees]), self.numbers.mass
            return np.append(weights * (mass.sum() / product(weights, mass)), 0.0)
        weights = without_specks(x[:n_trees] - x[n_trees : 2 * n_trees])
        offset = (x[2 * n_trees] - x[2 * n_trees + 1]) * self.unit
        return np.append(weights, offset - product(weights, self.middle))

    def _upper(self, allowed):
        most = np.where(allowed, np.inf, 0.0)
        return np.concatenate([most, most, [np.inf, np.inf]]) if self.is_free else most

    def nearest(self, allowed):
        """Weights of some trees of least distance, at the demands found so far, and the distance.

        The distance is a share of the tolerance; infinite where HiGHS found none.
        """
        self.centre.set_upper(np.append(self._upper(allowed), np.inf))
        solution = self.centre.solve()
        if solution.status != "optimal":
            return None, np.inf
        weights = self._weights(solution.x)
        if not weights[:-1].any():
            weights = self._touched(weights, np.flatnonzero(allowed)[0])
        return weights, solution.x[-1]

    def _touched(self, weights, t):
        """A weight for one tree, for an ensemble has one, that moves no sum by much."""
        size = np.abs(self.rows[:, t]).max(initial=1.0)
        weights = weights.copy()
        weights[t] = TOUCH / size
        weights[-1] -= weights[t] * self.middle[t]
        return weights

    # ------------------------------------------------------------------ few trees

    def run(self):
        """Search once, and leave trees out until none can go."""
        if self.numbers.tolerance <= 0.0:
            return
        self._by_stumps()
        if self.is_optimal:
            return
        self._find_telling()
        if self.is_optimal:
            return
        cells = self.promise.cells
        self.add(np.ascontiguousarray(cells[:: max(-(-len(cells) // OWN), 1)]))
        outcome, weights = self._keep_few(self.price, self.usable)
        if outcome is Outcome.KEPT:
            self._fewer(weights)
        self.is_done = True

    def _by_stumps(self):
        """The fewest stumps for every input, and weights for each number of them."""
        promise, numbers = self.promise, self.numbers
        plain = promise.outside is None and (promise.axes.missing_cells < 0).all()
        stumps = np.diff(promise.trees.offsets).max() <= 3
        if not (plain and stumps and self.is_free and not numbers.is_odds):
            return
        steps = best_of_each_number(numbers, promise.trees, promise.axes)
        if not steps:
            return
        self._take_near(steps)
        if promise.n_points == np.inf:
            self.steps = steps
            short = [
                np.count_nonzero(self.kept(weights))
                for error, weights in steps
                if error > numbers.atol + numbers.margin
            ]
            fewest = 1 + max(short, default=0)
            self.bound = max(self.bound, float(np.sort(self.price[self.usable])[:fewest].sum()))

    def _take_near(self, steps):
        """Know the weights of the fewest stumps that are near enough, if there are any."""
        for _, weights in [step for step in steps if step[0] <= self.numbers.tolerance][:1]:
            self._better(weights)

    def _chosen(self, weights):
        chosen = self.kept(weights)
        return chosen if chosen.any() else np.arange(len(chosen)) == self._cheapest(self.usable)

    def _try(self, allowed):
        """Put the nearest weights of some trees to the promise until they keep it."""
        while True:
            weights, distance = self.nearest(allowed)
            if weights is None or distance > NEAR:
                return Outcome.UNKEPT, None
            too_far = self.promise.seek(weights, self.rng)
            if not too_far.n:
                return Outcome.KEPT, weights
            before = len(self.rows)
            self.add(too_far.cells[:BATCH])
            self.tell(
                f"{np.count_nonzero(allowed)} trees for {before} demands, distance "
                f"{distance:.2g}; {too_far.n} points were too far off"
            )

    def _influence(self, weights):
        """By how much each tree moves the numbers at the demands."""
        rows = self.rows[self.sign > 0]
        spread = np.std(rows, axis=0) if len(rows) else 1.0
        return np.abs(weights[:-1]) * spread

    def mend(self, margin):
        """Keep more off the tolerance, and find weights for the same trees again, or all trees."""
        allowed, few = self.kept(self.weights), self.steps
        self.weights = np.append(np.ones(len(self.price)), 0.0)
        self.numbers.margin = margin
        if self.numbers.tolerance <= 0:
            return
        if few is not None:
            self._take_near(few)
            return
        self._forget()
        cells, self.cells = self.cells, self.cells[:0]
        self._build()
        self.add(cells if len(cells) else self.promise.cells[:OWN])
        self._try_again(allowed)

    def path(self, weights):
        """`descend` from weights that keep the promise: largest difference, weights, exceptions.

        `n` points are too far off; the largest difference of each is as small as can be found.
        """

        def seen(fitted):
            apart = self.promise.seek(fitted, self.rng, all_points=True)
            return apart, (apart.largest, fitted, apart.n)

        def tries(weights, n_trees):
            allowed = self._most_influential(weights, n_trees)
            n = None
            while n != 0:
                fitted, _ = self.nearest(allowed)
                if fitted is None:
                    raise Stopped
                apart, step = seen(fitted)
                n = apart.n
                if n:
                    self.add(apart.cells[:BATCH])
                yield step

        return descend(lambda: seen(weights)[1], tries, len(self.price))

    # ------------------------------------------------------------------ how few can be enough

    def prove(self, max_rounds):
        """See `TreeChoice.prove`; there is nothing to prove by where rounding is all there is."""
        if len(self.rows):
            super().prove(max_rounds)

    def _enough_of(self, chosen):
        """Which of some trees are enough for the demands found so far; None if all are not."""
        weights, distance = self.nearest(chosen)
        if weights is None:
            return chosen
        return None if distance > self.limit else self.kept(weights)

    def _clause(self, chosen):
        """Trees of which one must be added to some that cannot keep the promise; else None.

        A mixture of demands is missed by more than these trees can make up for; trees that change
        it are as few as can be.
        """
        if self._enough_of(chosen) is not None:
            return None
        passed = self.centre.passed[-DEMANDS:]
        rows, sign, room = self.rows[passed], self.sign[passed], self.room[passed]
        others = np.flatnonzero(self.usable & ~chosen)
        n, n_others, n_chosen = len(rows), len(others), np.count_nonzero(chosen)
        # shares of demands; then what they come to in each of the other trees
        heads = [room, self.most[passed] + self.limit * room]
        lower, upper = [1.0, -np.inf], [1.0, -MISSED]
        if self.is_free:
            heads.append(sign)
            lower.append(0.0)
            upper.append(0.0)
        heads = np.array(heads)
        A = [
            np.hstack([heads, np.zeros((len(heads), n_others))]),
            np.hstack([rows.T[chosen], np.zeros((n_chosen, n_others))]),
        ]
        signs = (1.0, -1.0) if self.is_free else (1.0,)
        A += [np.hstack([sign * rows.T[others], np.eye(n_others)]) for sign in signs]
        lower += [0.0] * (n_chosen + len(signs) * n_others)
        upper += [0.0 if self.is_free else np.inf] * n_chosen
        upper += [np.inf] * (len(signs) * n_others)
        A = np.concatenate(A)
        if not self.is_free:
            # the shares of the trees add up to the same, which counts in any number
            mass = self.numbers.mass
            more = np.concatenate([[0.0, mass.sum()], mass[chosen], mass[others]])
            A = np.column_stack([A, more, -more])
        cost = np.zeros(A.shape[1])
        cost[n : n + n_others] = 1.0
        program = LinearProgram(cost, A, row_lower=np.array(lower), row_upper=np.array(upper))
        solution = solved(program)
        if solution.status != "optimal":
            return None
        changes = np.zeros(len(self.price))
        changes[others] = solution.x[n : n + n_others]
        clause = changes > MISSED / (LARGEST_WEIGHT * len(changes))
        return clause.astype(float) if clause.any() else None


# ------------------------------------------------------------------ stumps

# The stumps of one feature add up to a step function, and with free weights and an offset, any of
# these stumps add up to any step function with their thresholds. How near it can come with so
# many thresholds is told by cutting the cells of the feature into runs: half of what the numbers
# span in the widest run. Features share nothing but the number of stumps, so that the distances
# of all add up, and a knapsack over the features finds the best for every number of stumps.


def best_of_each_number(numbers, trees, axes):
    """For each number of stumps, from one on, the largest difference and the weights.

    `numbers` are such as have a place for an offset; `trees` are coded over the `axes`, on none of
    which values can be missing, and split once at most. Returns a list of pairs; numbers of stumps
    that come no nearer than fewer do are left out. None where no tree splits.
    """
    steps = _steps_of_axes(numbers, trees, axes)
    if not steps:
        return None
    n_trees = len(trees)
    total = sum(len(step.trees) for step in steps)
    error = np.full(total + 1, np.inf)
    error[0] = 0.0
    taken = []
    # axis by axis, like a knapsack: errors of axes add up, for each is free of the others
    for step in steps:
        ways = np.full((len(step.error), total + 1), np.inf)
        for k, more in enumerate(step.error):
            ways[k, k:] = error[: total + 1 - k] + more
        taken.append(ways.argmin(axis=0))
        error = ways.min(axis=0)
    best = []
    for n in range(1, total + 1):
        # more stumps that come no nearer are worth nothing
        if best and not error[n] < best[-1][0]:
            continue
        weights, left = np.zeros(n_trees + 1), n
        for step, counts in zip(steps[::-1], taken[::-1], strict=True):
            step.put(weights, int(counts[left]))
            left -= int(counts[left])
        weights[-1] += numbers.value[_roots_of_constants(trees), 0].sum()
        more = 0.0
        # a constant is the nearest single step: an ensemble has a tree all the same
        if n == 1 and not weights.any():
            more = _touch(weights, steps, STUMP_TOUCH * float(error[0]))
        if weights[:-1].any():
            best.append((float(error[n]) + more, weights))
    return best


def _touch(weights, steps, size):
    """Give a weight to some stump, for an ensemble has a tree; it moves no sum by more than that.

    Returns by how much it does.
    """
    stumps = [stump for step in steps for stump in step.stumps]
    if not stumps:
        return 0.0
    _, t, left, right = max(stumps)
    weights[t] = 2.0 * size / (right - left)
    weights[-1] -= weights[t] * 0.5 * (left + right)
    return size


def _roots_of_constants(trees):
    return [int(trees[t][0, 1]) for t in range(len(trees)) if len(trees[t]) == 1]


def _steps_of_axes(numbers, trees, axes):
    """The step function of each axis that is split."""
    stumps = {}
    for t in range(len(trees)):
        nodes = trees[t]
        if len(nodes) == 3:
            left, right = numbers.value[nodes[1:, 1], 0].tolist()
            stumps.setdefault(int(nodes[0, 0]), []).append((int(nodes[0, 1]), t, left, right))
    return [_Steps(of_axis, axes.shape[a]) for a, of_axis in sorted(stumps.items())]


class _Steps:
    """The stumps of one axis: pairs of a threshold and a tree, and what both sides say.

    Attributes
    ----------
    trees : list of int
        One for each threshold, in rising order: that whose sides differ by most.
    error : float64 array of shape (n_trees + 1,)
        How near so many of them come to all.
    """

    def __init__(self, stumps, n_cells):
        self.values = np.zeros(n_cells)
        best = {}
        for cut, t, left, right in stumps:
            self.values[: cut + 1] += left
            self.values[cut + 1 :] += right
            size = abs(right - left)
            # of several stumps at one threshold, each can do the work of all
            if size > FLAT * max(abs(left), abs(right)) and size > best.get(cut, (0.0,))[0]:
                best[cut] = size, t, left, right
        self.cuts = np.array(sorted(best), dtype=np.intp)
        self.stumps = [best[cut] for cut in self.cuts.tolist()]
        self.trees = [t for _, t, _, _ in self.stumps]
        # pieces between neighbouring thresholds, and what the values span from one to another
        first = np.append(0, self.cuts + 1)
        low = np.minimum.reduceat(self.values, first)
        high = np.maximum.reduceat(self.values, first)
        n = len(first)
        self.low, self.high = np.full((n, n), np.inf), np.full((n, n), -np.inf)
        for i in range(n):
            self.low[i, i:] = np.minimum.accumulate(low[i:])
            self.high[i, i:] = np.maximum.accumulate(high[i:])
        self._cut_into_runs(n)

    def _cut_into_runs(self, n):
        """For each number of runs, the least half of what the widest spans, for pieces 0 to j."""
        # a run is answered by the middle of what it spans, and is off by half of that at most
        half = 0.5 * (self.high - self.low)
        error, self.begins = [half[0]], [np.zeros(n, dtype=np.intp)]
        for _ in range(1, n):
            before = error[-1]
            # the last run begins at piece i: what is before it rises with i, its own span falls
            ends = np.maximum(np.append(0.0, before[:-1])[:, None], np.maximum(half, 0.0))
            ends[np.arange(n)[:, None] > np.arange(n)] = np.inf
            self.begins.append(ends.argmin(axis=0))
            error.append(ends.min(axis=0))
        self.error = np.array([of_pieces[-1] for of_pieces in error])

    def put(self, weights, n):
        """Set the weights of `n` of the trees, and what they leave to the offset."""
        ends, last = [], len(self.cuts)
        for k in range(n, -1, -1):
            begin = int(self.begins[k][last])
            ends.append((begin, last))
            last = begin - 1
            if last < 0:
                break
        ends.reverse()
        levels = [0.5 * (self.low[i, j] + self.high[i, j]) for i, j in ends]
        weights[-1] += levels[0]
        for (begin, _), below, level in zip(ends[1:], levels, levels[1:], strict=False):
            _, t, left, right = self.stumps[begin - 1]
            weights[t] = (level - below) / (right - left)
            weights[-1] -= weights[t] * left
