"""Synthetic rows inside a region, drawn from their exact conditional law.

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
from libcpp.algorithm cimport upper_bound
from libcpp.vector cimport vector

from ensemble_simplify._typedefs cimport (
    float64_t, int32_t, intp_t, random_unit, uint8_t, uint64_t,
)
from ensemble_simplify.grid._limits cimport should_stop

cpdef enum:
    # Laws of one coordinate.
    SMEAR = 0       # the base row's value, or with probability `smearing` any training row's
    NEIGHBORS = 1   # any of the training rows in a window of places around the base row

cdef enum:
    POLL = 16384    # draws between two looks at the keyboard


cdef inline intp_t first_above(
    const double* table, intp_t low, intp_t high, double x
) noexcept nogil:
    """First k in [low, high) with table[k] > x; high - 1 if rounding leaves none."""
    cdef intp_t k = upper_bound(table + low, table + high, x) - table
    return k if k < high else high - 1


# --------------------------------------------------------------------- the law

cdef struct Side:
    # What a region leaves of one coordinate.
    bint is_whole
    double share        # of the training rows that are inside
    intp_t begin        # places inside, of an ordered coordinate
    intp_t end
    intp_t table        # of a nominal one: where the cumulated masses of its allowed levels begin


@final
cdef class Smearer:
    """The law of synthetic rows on one training set."""

    cdef readonly intp_t n_rows, n_columns, n_coordinates
    cdef readonly double total_weight, smearing
    cdef bint equal_weights
    cdef const float64_t[:, ::1] X
    cdef const float64_t[::1] weight
    cdef const intp_t[::1] columns_start, columns, level_start, first, allowed_start
    cdef const uint8_t[::1] law, nominal
    cdef const int32_t[:, ::1] level, row
    cdef const float64_t[::1] level_value
    cdef const float64_t[:, ::1] mass
    cdef const int32_t[:, :, ::1] window

    def __init__(
        self,
        const float64_t[:, ::1] X,  # (n_rows, n_columns)
        const float64_t[::1] weight,  # (n_rows,), positive
        double smearing,            # probability that law SMEAR draws anew
        places,                     # `law.Places`, which says what its arrays hold
    ):
        self.X, self.weight, self.smearing = X, weight, smearing
        self.columns_start, self.columns = places.columns_start, places.columns
        self.law, self.nominal = places.law, places.nominal
        self.level, self.level_start = places.level, places.level_start
        self.level_value, self.first = places.level_value, places.first
        self.allowed_start, self.row, self.mass = places.allowed_start, places.row, places.mass
        self.window = places.window
        self.n_rows, self.n_columns = X.shape[0], X.shape[1]
        self.n_coordinates = self.law.shape[0]
        cdef intp_t n
        self.total_weight = 0.0
        self.equal_weights = True
        for n in range(self.n_rows):
            self.total_weight += weight[n]
            self.equal_weights = self.equal_weights and weight[n] == weight[0]

    # ------------------------------------------------------------------ one coordinate

    cdef intp_t n_levels(self, intp_t i) noexcept nogil:
        return self.level_start[i + 1] - self.level_start[i]

    cdef intp_t level_after(self, intp_t i, double limit) noexcept nogil:
        """Number of levels of an ordered coordinate that are at most `limit`."""
        cdef const float64_t* values = &self.level_value[0] + self.level_start[i]
        return upper_bound(values, values + self.n_levels(i), <float64_t>limit) - values

    cdef intp_t place(self, intp_t i, intp_t level) noexcept nogil:
        """First place of `level`, where the level after the last stands after all rows."""
        return self.n_rows if level == self.n_levels(i) else self.first[self.level_start[i] + level]

    cdef double level_mass(self, intp_t i, intp_t level) noexcept nogil:
        return self.mass[i, self.place(i, level + 1)] - self.mass[i, self.place(i, level)]

    cdef bint is_whole(
        self, intp_t i, const float64_t[:, ::1] limits, const uint8_t[::1] allowed
    ) noexcept nogil:
        """Whether a region holds all of coordinate i."""
        cdef intp_t k
        if not self.nominal[i]:
            return limits[i, 0] == -INFINITY and limits[i, 1] == INFINITY
        for k in range(self.allowed_start[i], self.allowed_start[i + 1]):
            if not allowed[k]:
                return False
        return True

    cdef double window_mass(self, intp_t i, intp_t n, intp_t low, intp_t high) noexcept nogil:
        """Mass of the places low .. high - 1 that are in the window of base row n."""
        low = max(low, <intp_t>self.window[i, n, 0])
        high = min(high, <intp_t>self.window[i, n, 1])
        return self.mass[i, high] - self.mass[i, low] if low < high else 0.0

    cdef void chances(
        self, intp_t i, const float64_t[:, ::1] limits, const uint8_t[::1] allowed, float64_t* out
    ) noexcept nogil:
        """P(coordinate i in the region | base row n), for every n."""
        cdef intp_t n, k, low, high, begin, end
        cdef double share = 0.0, p = self.smearing
        if self.is_whole(i, limits, allowed):
            for n in range(self.n_rows):
                out[n] = 1.0
            return
        if self.nominal[i]:
            begin = self.allowed_start[i]
            for k in range(self.n_levels(i)):
                if allowed[begin + k]:
                    share += self.level_mass(i, k)
            share /= self.total_weight
            for n in range(self.n_rows):
                out[n] = p * share + ((1.0 - p) if allowed[begin + self.level[i, n]] else 0.0)
            return
        low = self.level_after(i, limits[i, 0])
        high = max(low, self.level_after(i, limits[i, 1]))
        begin, end = self.place(i, low), self.place(i, high)
        if self.law[i] != SMEAR:
            for n in range(self.n_rows):
                out[n] = self.window_mass(i, n, begin, end) / self.window_mass(
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
            self.chances(coordinate, limits, allowed, old.data())
            self.chances(coordinate, new_limits, new_allowed, new.data())
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
        """Fill `out` (n_draws, n_columns) with rows drawn in a region of positive probability."""
        cdef uint64_t random = seed
        cdef vector[Side] sides
        cdef vector[float64_t] masses       # cumulated, of the allowed levels of nominal sides
        cdef vector[float64_t] base_masses  # cumulated weight * q
        cdef intp_t i, k, n, m, source
        cdef double u, total = 0.0
        cdef const uint8_t *flags = &allowed[0] if allowed.shape[0] else NULL
        with nogil:
            base_masses.resize(self.n_rows)
            # base rows by their chance to have copies inside, given that a row is inside
            for n in range(self.n_rows):
                total += self.weight[n] * q[n]
                base_masses[n] = total
            for i in range(self.n_coordinates):
                sides.push_back(self.side(i, limits, allowed, masses))
            for m in range(out.shape[0]):
                if m % POLL == POLL - 1:
                    should_stop()  # for Ctrl-C alone: rows are drawn to the end
                n = first_above(base_masses.data(), 0, self.n_rows, random_unit(&random) * total)
                for i in range(self.n_coordinates):
                    u = random_unit(&random)
                    if self.law[i] != SMEAR:
                        source = self.neighbor(i, n, sides[i], u)
                    else:
                        source = self.smeared(i, n, sides[i], flags, masses.data(), u)
                    for k in range(self.columns_start[i], self.columns_start[i + 1]):
                        out[m, self.columns[k]] = self.X[source, self.columns[k]]

    cdef Side side(
        self,
        intp_t i,
        const float64_t[:, ::1] limits,
        const uint8_t[::1] allowed,
        vector[float64_t] &masses,
    ) noexcept nogil:
        """What a region leaves of coordinate i; appends to the cumulated masses."""
        cdef Side side
        cdef intp_t k
        cdef double mass = 0.0
        side.is_whole = self.is_whole(i, limits, allowed)
        side.begin, side.end, side.share, side.table = 0, self.n_rows, 1.0, masses.size()
        if side.is_whole:
            return side
        if self.nominal[i]:
            for k in range(self.n_levels(i)):
                if allowed[self.allowed_start[i] + k]:
                    mass += self.level_mass(i, k)
                masses.push_back(mass)
        else:
            side.begin = self.place(i, self.level_after(i, limits[i, 0]))
            side.end = self.place(i, self.level_after(i, limits[i, 1]))
            mass = self.mass[i, side.end] - self.mass[i, side.begin]
        side.share = mass / self.total_weight
        return side

    cdef inline bint is_inside(
        self, intp_t i, intp_t n, const Side &side, const uint8_t *allowed
    ) noexcept nogil:
        """Whether row n lies on a side of coordinate i."""
        if side.is_whole:
            return True
        if self.nominal[i]:
            return allowed[self.allowed_start[i] + self.level[i, n]]
        return side.begin <= self.place(i, self.level[i, n]) < side.end

    cdef inline intp_t smeared(
        self,
        intp_t i,
        intp_t n,
        const Side &side,
        const uint8_t *allowed,
        const double *masses,
        double u,
    ) noexcept nogil:
        """Base row n, or any training row on the side, from a uniform u."""
        cdef intp_t k, begin, end
        cdef double p = self.smearing, keep = 0.0
        if self.is_inside(i, n, side, allowed):
            keep = (1.0 - p) / (1.0 - p + p * side.share)
        if u < keep:
            return n
        u = (u - keep) / (1.0 - keep)  # what is left of u is uniform again
        if side.is_whole or not self.nominal[i]:
            return self.anyone(i, side.begin, side.end, u)
        begin, end = side.table, side.table + self.n_levels(i)
        # first a level, in proportion to its mass, then any row of this level
        u *= masses[end - 1]
        k = first_above(masses, begin, end, u) - begin
        if k > 0:
            u -= masses[begin + k - 1]
        u = min(u / self.level_mass(i, k), 1.0)
        return self.anyone(i, self.place(i, k), self.place(i, k + 1), u)

    cdef inline intp_t anyone(self, intp_t i, intp_t begin, intp_t end, double u) noexcept nogil:
        """Training row in places begin .. end - 1, in proportion to its weight, from a uniform."""
        cdef intp_t place
        # without a search, which takes most of the time of a draw otherwise
        if self.equal_weights:
            place = begin + min(<intp_t>(u * (end - begin)), end - begin - 1)
        else:
            u = self.mass[i, begin] + u * (self.mass[i, end] - self.mass[i, begin])
            place = first_above(&self.mass[i, 0], begin + 1, end + 1, u) - 1
        return self.row[i, place]

    cdef intp_t neighbor(self, intp_t i, intp_t n, const Side &side, double u) noexcept nogil:
        """Training row in the window of row n and on the side, from a uniform u."""
        cdef intp_t low = max(side.begin, <intp_t>self.window[i, n, 0])
        return self.anyone(i, low, min(side.end, <intp_t>self.window[i, n, 1]), u)


# --------------------------------------------------------------------- windows

def windows(
    const float64_t[::1] values,    # ascending
    intp_t width,                   # at most n_rows
    int32_t[:, ::1] out,            # OUT (n_rows, 2)
):
    """The `width` places with the values nearest to each place's own.

    That is the first place, and the place after the last. A window lies as evenly as it can around
    its place where distances tie.
    """
    cdef intp_t n_rows = values.shape[0], begin, place
    cdef double to_left, to_right
    with nogil:
        for place in range(n_rows):
            # moved right as long as the place after the last is nearer than the first
            begin = max(<intp_t>0, place - width + 1)
            while begin < place and begin + width < n_rows:
                to_left = values[place] - values[begin]
                to_right = values[begin + width] - values[place]
                if to_right > to_left:
                    break
                if to_right == to_left and place - begin <= begin + width - place:
                    break
                begin += 1
            out[place, 0] = <int32_t>begin
            out[place, 1] = <int32_t>(begin + width)
