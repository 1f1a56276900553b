"""Normal noise inside a box, and the rows that are read from it: the compiled part of the copula.

A box limits the scores of some columns. The score of a column is

    shift * (that of the base row) + scale * noise,

where the noise is normal with unit variances and the correlation of the columns. A row that falls
outside in one column is outside, so the chance of a base row's copies is at most that of the column
in which it is least. Base rows are drawn by that bound, and the noise of that column inside its
limits, by inversion in the tail that is precise. The noise of the others follows given those
before: either drawn freely and the row thrown away where a score falls outside, which is exact; or
drawn inside, too, with the probability of these limits as the row's weight.
"""

from cython cimport final
from libc.math cimport INFINITY, erfc, exp, log, sqrt
from libcpp.algorithm cimport upper_bound
from libcpp.vector cimport vector

from ensemble_simplify._typedefs cimport (
    float64_t, intp_t, random_unit, uint64_t,
)
from ensemble_simplify.grid._limits cimport should_stop

cdef enum:
    POLL = 16384    # rows between two looks at the keyboard

# Normal numbers beyond have no probability in float64.
cdef double FARTHEST = 38.0
# Of `random_unit`: it is never 0 with this added.
cdef double HALF_STEP = 1.0 / 18014398509481984.0
# Of twice pi.
cdef double ROOT = 2.5066282746310005024


# --------------------------------------------------------------------- the normal distribution

cdef inline double below(double x) noexcept nogil:
    """Probability of a standard normal number below x."""
    return 0.5 * erfc(-x * 0.70710678118654752440)


cdef inline double quantile(double p) noexcept nogil:
    """Standard normal number with probability p below it, to 14 digits or more.

    A quotient of polynomials is right to three digits (Abramowitz and Stegun, 26.2.23), and each
    step of Halley's method triples them.
    """
    cdef double q = min(p, 1.0 - p), r, x, error
    cdef intp_t _step
    if q <= 2.3e-308:
        return -FARTHEST if p < 0.5 else FARTHEST
    r = sqrt(-2.0 * log(q))
    x = (2.515517 + r * (0.802853 + r * 0.010328)) / (
        1.0 + r * (1.432788 + r * (0.189269 + r * 0.001308))
    ) - r
    for _step in range(2):
        error = (below(x) - q) * ROOT * exp(0.5 * x * x)
        x -= error / (1.0 + 0.5 * x * error)
    return x if p < 0.5 else -x


cdef inline double random_normal(uint64_t *state) noexcept nogil:
    return quantile(random_unit(state) + HALF_STEP)


cdef struct Limits:
    # An interval of standard normal numbers, seen from the side of the nearer tail.
    bint is_flipped
    double low
    double high
    double begin    # probability below `low`
    double mass     # between `low` and `high`


cdef inline Limits limits_of(double low, double high) noexcept nogil:
    cdef Limits limits
    limits.is_flipped = low > 0.0
    limits.low = -high if limits.is_flipped else low
    limits.high = -low if limits.is_flipped else high
    limits.begin = below(limits.low)
    limits.mass = max(below(limits.high) - limits.begin, 0.0)
    return limits


cdef inline double inside(const Limits &limits, uint64_t *state) noexcept nogil:
    """A standard normal number between limits."""
    cdef double z = quantile(limits.begin + random_unit(state) * limits.mass)
    z = min(max(max(z, -FARTHEST), limits.low), limits.high)
    return -z if limits.is_flipped else z


def normal(const float64_t[::1] x, float64_t[::1] probability, float64_t[::1] back):
    """The probability below each number, and the number of that probability again."""
    cdef intp_t i
    for i in range(x.shape[0]):
        probability[i] = below(x[i])
        back[i] = quantile(probability[i])


# --------------------------------------------------------------------- noise inside a box

@final
cdef class Box:
    """What a region leaves of the limited columns."""

    cdef const float64_t[:, ::1] scores, ends
    cdef const intp_t[:, ::1] order
    cdef const float64_t[:, :, ::1] roots
    cdef double shift, scale
    cdef intp_t n_rows, n_columns
    cdef vector[intp_t] first   # the order of each base row

    def __init__(
        self,
        const float64_t[:, ::1] scores,     # (n_rows, n_columns) of the base rows
        const float64_t[:, ::1] ends,       # (n_columns, 2): limits of the scores
        # (n_orders, n_columns): the columns in orders that begin with different ones; and for each
        # order, the lower triangular root of their correlation.
        const intp_t[:, ::1] order,
        const float64_t[:, :, ::1] roots,
        double shift,
        double scale,
    ):
        self.scores, self.ends, self.order, self.roots = scores, ends, order, roots
        self.shift, self.scale = shift, scale
        self.n_rows, self.n_columns = scores.shape[0], scores.shape[1]

    cdef inline double mean(self, intp_t n, intp_t f, intp_t k, const double *z) noexcept nogil:
        """Of the score of the k-th column of order f, given its independent noise before."""
        cdef double sum = 0.0
        cdef intp_t i
        for i in range(k):
            sum += self.roots[f, k, i] * z[i]
        return self.shift * self.scores[n, self.order[f, k]] + self.scale * sum

    cdef inline Limits limits(self, intp_t n, intp_t f, intp_t k, const double *z) noexcept nogil:
        """Of the independent noise of that column."""
        cdef double mean = self.mean(n, f, k, z), scale = self.scale * self.roots[f, k, k]
        cdef intp_t column = self.order[f, k]
        return limits_of(
            (self.ends[column, 0] - mean) / scale, (self.ends[column, 1] - mean) / scale
        )

    cdef inline void add_up(self, intp_t f, const double *z, double *noise) noexcept nogil:
        """Correlated noise of all columns from the independent one."""
        cdef intp_t k, i
        cdef double sum
        for k in range(self.n_columns):
            sum = 0.0
            for i in range(k + 1):
                sum += self.roots[f, k, i] * z[i]
            noise[self.order[f, k]] = sum

    def bound(
        self,
        float64_t[::1] masses,      # IN, OUT (n_rows,)
    ):
        """Multiply each base row's mass by the chance of the column where it is least.

        To be called once, before the others.
        """
        cdef intp_t n, f
        cdef double mass, least
        with nogil:
            self.first.resize(self.n_rows)
            for n in range(self.n_rows):
                if masses[n] == 0.0:
                    continue
                least = INFINITY
                for f in range(self.order.shape[0]):
                    mass = self.limits(n, f, 0, NULL).mass
                    if mass < least:
                        least, self.first[n] = mass, f
                masses[n] *= least

    def draw(
        self,
        const float64_t[::1] masses,    # (n_rows,) after `bound`
        uint64_t seed,
        intp_t most,                    # rows to try
        intp_t[::1] base,               # OUT (n,): base rows
        float64_t[:, ::1] noise,        # OUT (n, n_columns), n_columns > 0
    ):
        """Draw rows and keep those inside, until there are `n`. Returns how many there are."""
        cdef intp_t n_found = 0, n_wanted = base.shape[0], m, n, k, f, column
        cdef uint64_t random = seed
        cdef double score
        cdef vector[double] cumulated, z
        cdef vector[intp_t] guide
        with nogil:
            cumulate(masses, cumulated, guide)
            z.resize(self.n_columns)
            for m in range(most):
                if n_found == n_wanted:
                    break
                if m % POLL == POLL - 1:
                    should_stop()  # for Ctrl-C alone
                n = picked(cumulated, guide, random_unit(&random))
                f = self.first[n]
                z[0] = inside(self.limits(n, f, 0, NULL), &random)
                for k in range(1, self.n_columns):
                    z[k] = random_normal(&random)
                    column = self.order[f, k]
                    score = self.mean(n, f, k, z.data())
                    score += self.scale * self.roots[f, k, k] * z[k]
                    if not self.ends[column, 0] < score <= self.ends[column, 1]:
                        break
                else:
                    base[n_found] = n
                    self.add_up(f, z.data(), &noise[n_found, 0])
                    n_found += 1
        return n_found

    def weigh(
        self,
        const float64_t[::1] masses,    # (n_rows,) after `bound`
        uint64_t seed,
        float64_t[::1] weights,         # OUT (n,)
        intp_t[::1] base,               # OUT (n,)
        float64_t[:, ::1] noise,        # OUT (n, n_columns), n_columns > 0
    ):
        """Draw rows inside, each with the probability that `draw` would keep it.

        Base rows are spread evenly: one in each of `n` equal parts of their mass.
        """
        cdef intp_t m, k, f, n = 0
        cdef uint64_t random = seed
        cdef double step
        cdef Limits limits
        cdef vector[double] cumulated, z
        cdef vector[intp_t] guide
        with nogil:
            cumulate(masses, cumulated, guide)
            z.resize(self.n_columns)
            for m in range(base.shape[0]):
                if m % POLL == POLL - 1:
                    should_stop()  # for Ctrl-C alone
                step = (m + random_unit(&random)) / base.shape[0] * cumulated[self.n_rows - 1]
                while n < self.n_rows - 1 and cumulated[n] <= step:
                    n += 1
                base[m], weights[m], f = n, 1.0, self.first[n]
                for k in range(self.n_columns):
                    limits = self.limits(n, f, k, z.data())
                    if k:
                        weights[m] *= limits.mass
                    z[k] = inside(limits, &random)
                self.add_up(f, z.data(), &noise[m, 0])


cdef void cumulate(
    const float64_t[::1] masses, vector[double] &cumulated, vector[intp_t] &guide
) noexcept nogil:
    """Cumulated masses, and for equal parts of them the first place that reaches beyond each."""
    cdef intp_t n_rows = masses.shape[0], n, k = 0
    cdef double total = 0.0
    cumulated.resize(n_rows)
    guide.resize(n_rows)
    for n in range(n_rows):
        total += masses[n]
        cumulated[n] = total
    # Draws begin their search here, next to where it ends.
    for n in range(n_rows):
        while k < n_rows and cumulated[n] > k * (total / n_rows):
            guide[k] = n
            k += 1
    while k < n_rows:
        guide[k] = n_rows - 1
        k += 1


cdef inline intp_t picked(
    const vector[double] &cumulated, const vector[intp_t] &guide, double u
) noexcept nogil:
    """The place of the first cumulated mass above a share u of all."""
    cdef intp_t n_rows = cumulated.size(), n = guide[max(<intp_t>(u * n_rows) - 1, 0)]
    u *= cumulated[n_rows - 1]
    while n < n_rows - 1 and cumulated[n] <= u:
        n += 1
    return n


# --------------------------------------------------------------------- values

def read_values(
    const float64_t[:, ::1] noise,      # (n, n_ordered) of all ordered columns
    const intp_t[::1] base,             # (n,)
    const float64_t[:, ::1] scores,     # (n_rows, n_ordered)
    double shift,
    double scale,
    const float64_t[:, ::1] share,      # (n_ordered, n_rows + 1) of the rows before each place
    bint is_even,                       # whether all places have the same share
    const intp_t[:, ::1] places,        # (n_ordered, 2): the first to take, and that after the last
    const float64_t[:, ::1] value,      # (n_ordered, n_rows) in each place
    const intp_t[::1] column_of,        # (n_ordered,)
    float64_t[:, :] out,                # OUT (n, n_columns)
):
    """The value of each ordered column at the rank of its score."""
    cdef intp_t n_rows = value.shape[1], m, n, k, place, n_read = 0
    cdef double u
    with nogil:
        for m in range(noise.shape[0]):
            n = base[m]
            # what takes time are values, of which a row can have one or thousands
            n_read += noise.shape[1]
            if n_read >= POLL:
                should_stop()  # for Ctrl-C alone
                n_read = 0
            for k in range(noise.shape[1]):
                u = below(shift * scores[n, k] + scale * noise[m, k])
                if is_even:
                    place = <intp_t>(u * n_rows)
                else:
                    place = upper_bound(&share[k, 1], &share[k, 1] + n_rows, u) - &share[k, 1]
                place = min(max(place, places[k, 0]), places[k, 1] - 1)
                out[m, column_of[k]] = value[k, place]
