"""Manufactured rows inside a region, drawn from their exact conditional law; and the best split.

A row is manufactured from a base row picked in proportion to its weight; every *coordinate* (a
column, or a group of columns that move together) then keeps the base row's value or takes another
training row's. Given the base row n the coordinates are independent, so

    q[n] = P(row in region | base row n) = product over coordinates of P(value in B_i | n),

and inside a region the base row has a distribution in proportion to weight * q, after which every
coordinate is drawn inside its own B_i. Nothing is ever rejected.

Every coordinate has *levels*, its distinct values, numbered from 0. Training rows sorted by level
occupy *places* 0 .. n_rows - 1, so an interval of values is an interval of places.

A *region* is a pair of arrays: `limits` (n_coordinates, 2), the half-open interval (low, high] of
an ordered coordinate, compared in float32; and `allowed`, one flag a level of every nominal
coordinate, end to end.
"""

from cython cimport final
from libc.math cimport INFINITY
from libc.string cimport memcpy
from libcpp.algorithm cimport sort, upper_bound
from libcpp.pair cimport pair
from libcpp.vector cimport vector

from ensemble_simplify._typedefs cimport (
    float32_t, float64_t, int32_t, intp_t, next_random, should_stop, uint8_t, uint32_t, uint64_t,
)

# Laws of one coordinate.
SMEAR = 0  # the base row's value, or with probability `smearing` any training row's
NEIGHBORS = 1  # any of the training rows in a window of places around the base row
DECAYING = 2  # the same, with a probability that falls linearly with the distance in places

cdef enum:
    _NEIGHBORS = 1
    _DECAYING = 2
    _POLL = 16384  # draws between two looks at the keyboard


cdef struct Random:  # xoshiro256++
    uint64_t a
    uint64_t b
    uint64_t c
    uint64_t d


cdef inline Random _random(uint64_t seed) noexcept nogil:
    cdef Random r
    r.a = next_random(&seed)
    r.b = next_random(&seed)
    r.c = next_random(&seed)
    r.d = next_random(&seed)
    return r


cdef inline uint64_t _rotate(uint64_t x, int k) noexcept nogil:
    return (x << k) | (x >> (64 - k))


cdef inline double _uniform(Random* r) noexcept nogil:
    """A double in [0, 1)."""
    cdef uint64_t result = _rotate(r.a + r.d, 23) + r.a
    cdef uint64_t t = r.b << 17
    r.c ^= r.a
    r.d ^= r.b
    r.b ^= r.c
    r.a ^= r.d
    r.c ^= t
    r.d = _rotate(r.d, 45)
    return <double>(result >> 11) * 1.1102230246251565e-16


cdef inline intp_t _first_above(const double* table, intp_t low, intp_t high, double x) noexcept nogil:
    """First k in [low, high) with table[k] > x; high - 1 if rounding leaves none."""
    cdef intp_t k = upper_bound(table + low, table + high, x) - table
    return k if k < high else high - 1


@final
cdef class Smearer:
    """The law of manufactured rows on one training set.

    Parameters
    ----------
    X : float64 array of shape (n_rows, n_columns)
    weight : float64 array of shape (n_rows,)
        Positive.
    smearing : float
        Probability that a coordinate of law ``SMEAR`` is drawn anew.
    columns_start, columns : intp arrays
        Columns of coordinate i: ``columns[columns_start[i]:columns_start[i + 1]]``.
    law, nominal : uint8 arrays of shape (n_coordinates,)
        A nominal coordinate has law ``SMEAR``.
    level : int32 array of shape (n_coordinates, n_rows)
        Level of every training row.
    level_start : intp array of shape (n_coordinates + 1,)
        Where the levels of each coordinate begin in `level_value` and `first`.
    level_value : float64 array of shape (n_levels,)
        Ascending float32 values of the levels of an ordered coordinate; unused for a nominal one.
    first : intp array of shape (n_levels,)
        First place of a level.
    allowed_start : intp array of shape (n_coordinates + 1,)
        Where the levels of each nominal coordinate begin in a region's `allowed`.
    row : int32 array of shape (n_coordinates, n_rows)
        The training row in each place.
    mass : float64 array of shape (n_coordinates, n_rows + 1)
        Sum of the weights in the places before each.
    window : int32 array of shape (n_coordinates, n_rows, 3)
        For the laws of neighbours: first place, place after the last, and the row's own place.
        Empty in its first axis when no coordinate has such a law.
    moment : float64 array of shape (n_coordinates, n_rows + 1)
        Sum of weight times place in the places before each; empty without ``DECAYING``.
    """

    cdef readonly intp_t n_rows, n_columns, n_coordinates
    cdef readonly double total_weight, smearing
    cdef bint equal_weights
    cdef const float64_t[:, ::1] X
    cdef const float64_t[::1] weight
    cdef const intp_t[::1] columns_start, columns, level_start, first, allowed_start
    cdef const uint8_t[::1] law, nominal
    cdef const int32_t[:, ::1] level, row
    cdef const float64_t[::1] level_value
    cdef const float64_t[:, ::1] mass, moment
    cdef const int32_t[:, :, ::1] window

    def __init__(
        self,
        const float64_t[:, ::1] X,
        const float64_t[::1] weight,
        double smearing,
        *,
        const intp_t[::1] columns_start,
        const intp_t[::1] columns,
        const uint8_t[::1] law,
        const uint8_t[::1] nominal,
        const int32_t[:, ::1] level,
        const intp_t[::1] level_start,
        const float64_t[::1] level_value,
        const intp_t[::1] first,
        const intp_t[::1] allowed_start,
        const int32_t[:, ::1] row,
        const float64_t[:, ::1] mass,
        const int32_t[:, :, ::1] window,
        const float64_t[:, ::1] moment,
    ):
        self.X, self.weight, self.smearing = X, weight, smearing
        self.columns_start, self.columns = columns_start, columns
        self.law, self.nominal = law, nominal
        self.level, self.level_start, self.level_value = level, level_start, level_value
        self.first, self.allowed_start = first, allowed_start
        self.row, self.mass, self.window, self.moment = row, mass, window, moment
        self.n_rows, self.n_columns = X.shape[0], X.shape[1]
        self.n_coordinates = law.shape[0]
        cdef intp_t n
        self.total_weight = 0.0
        self.equal_weights = True
        for n in range(self.n_rows):
            self.total_weight += weight[n]
            self.equal_weights = self.equal_weights and weight[n] == weight[0]

    # ------------------------------------------------------------------ one coordinate

    cdef intp_t _n_levels(self, intp_t i) noexcept nogil:
        return self.level_start[i + 1] - self.level_start[i]

    cdef intp_t _level_after(self, intp_t i, double limit) noexcept nogil:
        """Number of levels of ordered coordinate i that are at most `limit`."""
        cdef const float64_t* values = &self.level_value[0] + self.level_start[i]
        return upper_bound(values, values + self._n_levels(i), <float64_t>limit) - values

    cdef intp_t _place(self, intp_t i, intp_t level) noexcept nogil:
        """First place of `level`, where the level after the last stands after all rows."""
        return self.n_rows if level == self._n_levels(i) else self.first[self.level_start[i] + level]

    cdef double _level_mass(self, intp_t i, intp_t level) noexcept nogil:
        return self.mass[i, self._place(i, level + 1)] - self.mass[i, self._place(i, level)]

    cdef bint _is_free(
        self, intp_t i, const float64_t[:, ::1] limits, const uint8_t[::1] allowed
    ) noexcept nogil:
        """Whether the region leaves coordinate i as it is."""
        cdef intp_t k
        if not self.nominal[i]:
            return limits[i, 0] == -INFINITY and limits[i, 1] == INFINITY
        for k in range(self.allowed_start[i], self.allowed_start[i + 1]):
            if not allowed[k]:
                return False
        return True

    cdef double _window_mass(self, intp_t i, intp_t n, intp_t low, intp_t high) noexcept nogil:
        """Mass that base row n gives to places low .. high - 1 of its window."""
        cdef intp_t begin = self.window[i, n, 0], end = self.window[i, n, 1]
        cdef intp_t own = self.window[i, n, 2]
        cdef intp_t middle
        cdef double reach, total = 0.0
        low, high = max(low, begin), min(high, end)
        if low >= high:
            return 0.0
        if self.law[i] == _NEIGHBORS:
            return self.mass[i, high] - self.mass[i, low]
        reach = max(own - begin, end - 1 - own) + 1
        if low <= own:  # places up to the row's own: weight * (1 - (own - place) / reach)
            middle = min(high, own + 1)
            total += (1.0 - own / reach) * (self.mass[i, middle] - self.mass[i, low])
            total += (self.moment[i, middle] - self.moment[i, low]) / reach
        if high > own + 1:
            middle = max(low, own + 1)
            total += (1.0 + own / reach) * (self.mass[i, high] - self.mass[i, middle])
            total -= (self.moment[i, high] - self.moment[i, middle]) / reach
        return total

    cdef void _factor(
        self, intp_t i, const float64_t[:, ::1] limits, const uint8_t[::1] allowed, float64_t* out
    ) noexcept nogil:
        """P(coordinate i in the region | base row n), for every n."""
        cdef intp_t n, k, low, high, begin, end
        cdef double share = 0.0, p = self.smearing
        if self._is_free(i, limits, allowed):
            for n in range(self.n_rows):
                out[n] = 1.0
            return
        if self.nominal[i]:
            begin = self.allowed_start[i]
            for k in range(self._n_levels(i)):
                if allowed[begin + k]:
                    share += self._level_mass(i, k)
            share /= self.total_weight
            for n in range(self.n_rows):
                out[n] = p * share + ((1.0 - p) if allowed[begin + self.level[i, n]] else 0.0)
            return
        low = self._level_after(i, limits[i, 0])
        high = max(low, self._level_after(i, limits[i, 1]))
        begin, end = self._place(i, low), self._place(i, high)
        if self.law[i] == _NEIGHBORS or self.law[i] == _DECAYING:
            for n in range(self.n_rows):
                out[n] = self._window_mass(i, n, begin, end) / self._window_mass(
                    i, n, 0, self.n_rows
                )
            return
        share = (self.mass[i, end] - self.mass[i, begin]) / self.total_weight
        for n in range(self.n_rows):
            out[n] = p * share + ((1.0 - p) if low <= self.level[i, n] < high else 0.0)

    # ------------------------------------------------------------------ regions

    def narrow(
        self,
        const float64_t[::1] q,
        intp_t coordinate,
        const float64_t[:, ::1] limits,
        const uint8_t[::1] allowed,
        const float64_t[:, ::1] new_limits,
        const uint8_t[::1] new_allowed,
        float64_t[::1] out,  # OUT
    ):
        """Probabilities q of a region turned into those of a part of it.

        The part differs from the region in one coordinate only, so one factor changes.
        """
        cdef vector[float64_t] old, new
        cdef intp_t n
        with nogil:
            old.resize(self.n_rows)
            new.resize(self.n_rows)
            self._factor(coordinate, limits, allowed, old.data())
            self._factor(coordinate, new_limits, new_allowed, new.data())
            for n in range(self.n_rows):
                out[n] = q[n] * (new[n] / old[n]) if old[n] > 0.0 else 0.0

    def draw(
        self,
        const float64_t[::1] q,
        const float64_t[:, ::1] limits,
        const uint8_t[::1] allowed,
        uint64_t seed,
        float64_t[:, ::1] out,  # OUT
    ):
        """Fill `out` (n_draws, n_columns) with rows drawn inside a region of positive probability."""
        with nogil:
            self._draw(q, limits, allowed, seed, out)

    cdef int _draw(
        self,
        const float64_t[::1] q,
        const float64_t[:, ::1] limits,
        const uint8_t[::1] allowed,
        uint64_t seed,
        float64_t[:, ::1] out,
    ) except -1 nogil:
        cdef Random random = _random(seed)
        cdef intp_t n_coordinates = self.n_coordinates, n_rows = self.n_rows
        cdef vector[float64_t] base  # cumulated weight * q
        cdef vector[intp_t] begin, end  # places of an ordered coordinate inside the region
        cdef vector[float64_t] share  # of the training rows inside the region; 1 if free
        cdef vector[float64_t] cumulated  # masses of the allowed levels of narrowed coordinates
        cdef vector[intp_t] cumulated_start
        cdef intp_t i, k, n, m, source, low, high
        cdef double p = self.smearing, u, keep, total = 0.0
        cdef uint8_t law
        cdef bint inside

        base.resize(n_rows)
        for n in range(n_rows):
            total += self.weight[n] * q[n]
            base[n] = total

        begin.resize(n_coordinates)
        end.resize(n_coordinates)
        share.resize(n_coordinates)
        cumulated_start.resize(n_coordinates)
        for i in range(n_coordinates):
            begin[i], end[i], share[i] = 0, n_rows, 1.0
            cumulated_start[i] = -1
            if self._is_free(i, limits, allowed):
                continue
            if self.nominal[i]:
                cumulated_start[i] = cumulated.size()
                u = 0.0
                for k in range(self._n_levels(i)):
                    if allowed[self.allowed_start[i] + k]:
                        u += self._level_mass(i, k)
                    cumulated.push_back(u)
                share[i] = u / self.total_weight
            else:
                begin[i] = self._place(i, self._level_after(i, limits[i, 0]))
                end[i] = self._place(i, self._level_after(i, limits[i, 1]))
                share[i] = (self.mass[i, end[i]] - self.mass[i, begin[i]]) / self.total_weight

        for m in range(out.shape[0]):
            if m % _POLL == _POLL - 1:
                should_stop(INFINITY)
            n = _first_above(base.data(), 0, n_rows, _uniform(&random) * total)
            for i in range(n_coordinates):
                law = self.law[i]
                u = _uniform(&random)
                if law == _NEIGHBORS or law == _DECAYING:
                    source = self._neighbor(i, n, begin[i], end[i], u)
                else:
                    if self.nominal[i]:
                        inside = (
                            cumulated_start[i] < 0
                            or allowed[self.allowed_start[i] + self.level[i, n]]
                        )
                    else:
                        inside = True
                        if begin[i] > 0 or end[i] < n_rows:
                            low = self._place(i, self.level[i, n])
                            inside = begin[i] <= low < end[i]
                    keep = (1.0 - p) / (1.0 - p + p * share[i]) if inside else 0.0
                    if u < keep:
                        source = n
                    else:  # what is left of u is uniform again
                        u = (u - keep) / (1.0 - keep)
                        if cumulated_start[i] < 0:
                            source = self._anyone(i, begin[i], end[i], u)
                        else:
                            low = cumulated_start[i]
                            high = low + self._n_levels(i)
                            u *= cumulated[high - 1]
                            k = _first_above(cumulated.data(), low, high, u) - low
                            if k > 0:
                                u -= cumulated[low + k - 1]
                            u = min(u / self._level_mass(i, k), 1.0)
                            source = self._anyone(i, self._place(i, k), self._place(i, k + 1), u)
                for k in range(self.columns_start[i], self.columns_start[i + 1]):
                    out[m, self.columns[k]] = self.X[source, self.columns[k]]
        return 0

    cdef intp_t _anyone(self, intp_t i, intp_t begin, intp_t end, double u) noexcept nogil:
        """Training row in places begin .. end - 1, in proportion to its weight, from a uniform u."""
        cdef intp_t place
        if self.equal_weights:
            place = begin + min(<intp_t>(u * (end - begin)), end - begin - 1)
        else:
            u = self.mass[i, begin] + u * (self.mass[i, end] - self.mass[i, begin])
            place = _first_above(&self.mass[i, 0], begin + 1, end + 1, u) - 1
        return self.row[i, place]

    cdef intp_t _neighbor(
        self, intp_t i, intp_t n, intp_t begin, intp_t end, double u
    ) noexcept nogil:
        """Training row in the window of row n and in places begin .. end - 1, from a uniform u."""
        cdef intp_t low, high, middle, origin
        low = max(begin, <intp_t>self.window[i, n, 0])
        high = min(end, <intp_t>self.window[i, n, 1])
        if self.law[i] == _NEIGHBORS:
            return self._anyone(i, low, high, u)
        origin = low
        u *= self._window_mass(i, n, low, high)
        high -= 1
        while low < high:  # first place whose cumulated mass exceeds u
            middle = (low + high) // 2
            if self._window_mass(i, n, origin, middle + 1) > u:
                high = middle
            else:
                low = middle + 1
        return self.row[i, low]


# ---------------------------------------------------------------------- the best split


cdef inline uint64_t _key(float32_t x, uint32_t m) noexcept nogil:
    """A number that sorts like x, then m."""
    cdef uint32_t bits
    x += <float32_t>0.0  # -0.0 and 0.0 are one value
    memcpy(&bits, &x, sizeof(uint32_t))
    bits = ~bits if bits >> 31 else bits | <uint32_t>0x80000000
    return (<uint64_t>bits << 32) | m


cdef double _left_score(
    const float64_t* left, intp_t n_outputs, intp_t n_left, intp_t n_draws
) noexcept nogil:
    """Decrease of the summed squares, from the left child's sums of centred answers."""
    cdef double square = 0.0
    cdef intp_t k
    for k in range(n_outputs):
        square += left[k] * left[k]
    return square / n_left * n_draws / (n_draws - n_left)


cdef int _best_split(
    const float64_t[:, ::1] X,
    const float64_t[:, ::1] answers,
    const uint8_t[::1] categorical,
    float64_t[::1] values,
    intp_t* column,
    intp_t* n_values,
    double* threshold,
    double* decrease,
) except -1 nogil:
    cdef intp_t n_draws = X.shape[0], n_columns = X.shape[1], n_outputs = answers.shape[1]
    cdef vector[float64_t] centred, sums, left
    cdef vector[uint64_t] keys
    cdef vector[intp_t] run_start
    cdef vector[pair[double, intp_t]] runs
    cdef intp_t j, k, m, r, run, n_left, n_runs, order, n_orders
    cdef double best = 0.0, score, mean
    cdef float32_t low, high

    column[0] = -1
    centred.resize(n_draws * n_outputs)
    for k in range(n_outputs):
        mean = 0.0
        for m in range(n_draws):
            mean += answers[m, k]
        mean /= n_draws
        for m in range(n_draws):
            centred[m * n_outputs + k] = answers[m, k] - mean
    left.resize(n_outputs)
    keys.resize(n_draws)

    for j in range(n_columns):
        for m in range(n_draws):
            keys[m] = _key(<float32_t>X[m, j], <uint32_t>m)
        sort(keys.begin(), keys.end())
        if keys[0] >> 32 == keys[n_draws - 1] >> 32:
            continue

        if not categorical[j]:
            for k in range(n_outputs):
                left[k] = 0.0
            for n_left in range(1, n_draws):
                m = <uint32_t>keys[n_left - 1]
                for k in range(n_outputs):
                    left[k] += centred[m * n_outputs + k]
                if keys[n_left - 1] >> 32 == keys[n_left] >> 32:
                    continue
                score = _left_score(left.data(), n_outputs, n_left, n_draws)
                if score > best:
                    best, column[0], n_values[0] = score, j, 0
                    low = <float32_t>X[m, j]
                    high = <float32_t>X[<uint32_t>keys[n_left], j]
                    threshold[0] = <double>low / 2.0 + <double>high / 2.0
            continue

        # Levels in the order of the mean of each output in turn; the best start of any order.
        run_start.clear()
        for m in range(n_draws):
            if m == 0 or keys[m - 1] >> 32 != keys[m] >> 32:
                run_start.push_back(m)
        n_runs = run_start.size()
        run_start.push_back(n_draws)
        sums.assign(n_runs * n_outputs, 0.0)
        for run in range(n_runs):
            for r in range(run_start[run], run_start[run + 1]):
                m = <uint32_t>keys[r]
                for k in range(n_outputs):
                    sums[run * n_outputs + k] += centred[m * n_outputs + k]
        n_orders = 1 if n_outputs <= 2 else n_outputs
        for order in range(n_orders):
            runs.clear()
            for run in range(n_runs):
                mean = sums[run * n_outputs + order] / (run_start[run + 1] - run_start[run])
                runs.push_back(pair[double, intp_t](mean, run))
            sort(runs.begin(), runs.end())
            for k in range(n_outputs):
                left[k] = 0.0
            n_left = 0
            for r in range(n_runs - 1):
                run = runs[r].second
                n_left += run_start[run + 1] - run_start[run]
                for k in range(n_outputs):
                    left[k] += sums[run * n_outputs + k]
                score = _left_score(left.data(), n_outputs, n_left, n_draws)
                if score > best:
                    best, column[0], n_values[0] = score, j, r + 1
                    for k in range(r + 1):
                        m = <uint32_t>keys[run_start[runs[k].second]]
                        values[k] = <float32_t>X[m, j]
    decrease[0] = best / n_draws
    return 0


def best_split(
    const float64_t[:, ::1] X,
    const float64_t[:, ::1] answers,
    const uint8_t[::1] categorical,
    float64_t[::1] values,  # OUT
):
    """The split of the draws that lowers the variance of the answers most.

    The variance is summed over the outputs; with one-hot answers it is the Gini impurity. The
    first column and the lowest threshold win ties.

    Parameters
    ----------
    X : float64 array of shape (n_draws, n_columns)
        Compared in float32.
    answers : float64 array of shape (n_draws, n_outputs)
    categorical : uint8 array of shape (n_columns,)
        A categorical column is split into two sets of values: every beginning of the order of its
        levels by mean answer, for one or two outputs; by the mean of every single output, for more.
    values : float64 array of shape (n_draws,)
        Receives the values that go left, for a categorical column.

    Returns
    -------
    column : int
        -1 if no split lowers the variance.
    n_values : int
        Number of `values` that go left; 0 for a threshold.
    threshold : float
        Rows with ``float32(x) <= threshold`` go left.
    decrease : float
        Of the variance, a draw.
    """
    cdef intp_t column = -1, n_values = 0
    cdef double threshold = 0.0, decrease = 0.0
    with nogil:
        _best_split(X, answers, categorical, values, &column, &n_values, &threshold, &decrease)
    return column, n_values, threshold, decrease


def windows(const float64_t[::1] values, intp_t width, int32_t[:, ::1] out):
    """The `width` places with the values nearest to each place's own.

    Parameters
    ----------
    values : float64 array of shape (n_rows,)
        Ascending.
    width : int
        At most n_rows.
    out : int32 array of shape (n_rows, 3)
        First place, place after the last, own place. A window lies as evenly as it can around its
        place where distances tie.
    """
    cdef intp_t n_rows = values.shape[0], begin, own
    cdef double to_left, to_right
    with nogil:
        for own in range(n_rows):
            begin = max(<intp_t>0, own - width + 1)
            while begin < own and begin + width < n_rows:
                to_left = values[own] - values[begin]
                to_right = values[begin + width] - values[own]
                if to_right > to_left:
                    break
                if to_right == to_left and own - begin <= begin + width - own:
                    break
                begin += 1
            out[own, 0] = <int32_t>begin
            out[own, 1] = <int32_t>(begin + width)
            out[own, 2] = <int32_t>own
