"""The best split of a node's rows.

Every column is sorted and swept. Answers are centred, so that the decrease of the variance follows
from the sums of the left side alone. A split may be asked to leave some *base rows*, the training
rows in the node, on either side: they are sorted too, and a pointer into them follows the
thresholds.
"""

from libcpp.algorithm cimport lower_bound, sort, upper_bound
from libcpp.utility cimport pair
from libcpp.vector cimport vector

from ensemble_simplify._typedefs cimport (
    float32_t, float64_t, int64_t, intp_t, uint8_t, uint64_t,
)
from ensemble_simplify.grid._sweep cimport middle, place_of, same_value, sort_column, value_of


cdef struct Best:
    double score            # decrease of the summed squares
    intp_t column           # -1: none
    intp_t n_values         # of a set of levels that goes left; 0 for a threshold
    double threshold


cdef struct Bases:
    # Training rows in the node, of one column at a time.
    intp_t at_least         # on either side of a split; 0: any split is allowed
    vector[float32_t] values


cdef double score_of(
    const vector[float64_t] &left, intp_t n_left, intp_t n_rows
) noexcept nogil:
    """Decrease of the summed squares, from the left side's sums of centred answers."""
    cdef double square = 0.0
    cdef size_t k
    for k in range(left.size()):
        square += left[k] * left[k]
    return square / n_left * n_rows / (n_rows - n_left)


cdef void centre(const float64_t[:, ::1] answers, vector[float64_t] &centred) noexcept nogil:
    cdef intp_t n_rows = answers.shape[0], n_outputs = answers.shape[1], k, m
    cdef double mean
    centred.resize(n_rows * n_outputs)
    for k in range(n_outputs):
        mean = 0.0
        for m in range(n_rows):
            mean += answers[m, k]
        mean /= n_rows
        for m in range(n_rows):
            centred[m * n_outputs + k] = answers[m, k] - mean


cdef void scan_thresholds(
    intp_t column,
    const vector[uint64_t] &keys,
    const vector[float64_t] &centred,
    const Bases &bases,
    vector[float64_t] &left,
    Best *best,
) noexcept nogil:
    """Try a threshold between any two values; `left` is working room, one number an output."""
    cdef intp_t n_rows = keys.size(), n_outputs = left.size(), n_left, k, m
    cdef intp_t n_bases = bases.values.size(), n_bases_left = 0
    cdef double score, threshold
    left.assign(n_outputs, 0.0)
    for n_left in range(1, n_rows):
        m = place_of(keys[n_left - 1])
        for k in range(n_outputs):
            left[k] += centred[m * n_outputs + k]
        if same_value(keys[n_left - 1], keys[n_left]):
            continue
        score = score_of(left, n_left, n_rows)
        if score > best.score:
            threshold = middle(keys[n_left - 1], keys[n_left])
            if bases.at_least > 0:
                while n_bases_left < n_bases and bases.values[n_bases_left] <= threshold:
                    n_bases_left += 1
                if min(n_bases_left, n_bases - n_bases_left) < bases.at_least:
                    continue
            best.score, best.column, best.n_values = score, column, 0
            best.threshold = threshold


cdef void scan_levels(
    intp_t column,
    const vector[uint64_t] &keys,
    const vector[float64_t] &centred,
    const Bases &bases,
    vector[float64_t] &left,
    Best *best,
    float64_t[::1] values,
) noexcept nogil:
    """Order the levels by their means of each output in turn, and try every start of each order.

    Base rows of levels that no row has are not counted: they may go to either side.
    """
    cdef intp_t n_rows = keys.size(), n_outputs = left.size()
    cdef intp_t n_orders = 1 if n_outputs <= 2 else n_outputs  # of two, one is the other reversed
    cdef intp_t n_levels, level, order, n_left, n_bases_left, n_bases = 0, k, m, r
    cdef double score, mean
    cdef float32_t value
    cdef const float32_t *base_values = bases.values.data()
    cdef const float32_t *bases_end = base_values + bases.values.size()
    cdef vector[intp_t] start       # of each level in `keys`
    cdef vector[intp_t] based       # base rows of each level
    cdef vector[float64_t] sums     # of each level and output
    cdef vector[pair[double, intp_t]] ordered
    for m in range(n_rows):
        if m == 0 or not same_value(keys[m - 1], keys[m]):
            start.push_back(m)
    n_levels = start.size()
    start.push_back(n_rows)
    sums.assign(n_levels * n_outputs, 0.0)
    for level in range(n_levels):
        for r in range(start[level], start[level + 1]):
            m = place_of(keys[r])
            for k in range(n_outputs):
                sums[level * n_outputs + k] += centred[m * n_outputs + k]
        value = value_of(keys[start[level]])
        based.push_back(
            upper_bound(base_values, bases_end, value)
            - lower_bound(base_values, bases_end, value)
        )
        n_bases += based[level]
    for order in range(n_orders):
        ordered.clear()
        for level in range(n_levels):
            mean = sums[level * n_outputs + order] / (start[level + 1] - start[level])
            ordered.push_back(pair[double, intp_t](mean, level))
        sort(ordered.begin(), ordered.end())
        left.assign(n_outputs, 0.0)
        n_left = n_bases_left = 0
        for r in range(n_levels - 1):
            level = ordered[r].second
            n_left += start[level + 1] - start[level]
            n_bases_left += based[level]
            for k in range(n_outputs):
                left[k] += sums[level * n_outputs + k]
            if min(n_bases_left, n_bases - n_bases_left) < bases.at_least:
                continue
            score = score_of(left, n_left, n_rows)
            if score > best.score:
                best.score, best.column, best.n_values = score, column, r + 1
                for k in range(r + 1):
                    values[k] = value_of(keys[start[ordered[k].second]])


def best_split(
    const float64_t[:, ::1] X,              # (n_rows, n_columns), compared in float32
    const float64_t[:, ::1] answers,        # (n_rows, n_outputs)
    const uint8_t[::1] categorical,         # (n_columns,)
    const float64_t[:, ::1] base_rows,      # (n_base_rows, n_columns)
    const int64_t[::1] members,             # the base rows that lie in the node
    intp_t at_least,                        # of the members on either side of a split
    float64_t[::1] values,                  # OUT (n_rows,) that go left, of a categorical column
    float64_t[:, ::1] by_column,            # OUT (n_columns, 2), or (0, 2) if not wanted
):
    """The split of the rows that lowers the variance of the answers most.

    The variance is summed over the outputs; with one-hot answers it is the Gini impurity. The
    first column and the lowest threshold win ties. A categorical column is split into two sets of
    values: every beginning of the order of its levels by mean answer, for one or two outputs; by
    the mean of every single output, for more. `by_column` receives every ordered column's own best
    decrease (0 if it has none) and threshold.

    Returns
    -------
    column : int
        -1 if no split lowers the variance.
    n_values : int
        Number of `values` that go left; 0 for a threshold.
    threshold : float
        Rows with ``float32(x) <= threshold`` go left.
    decrease : float
        Of the variance.
    """
    cdef intp_t n_rows = X.shape[0], j, m
    cdef vector[float64_t] centred, left
    cdef vector[uint64_t] keys, spare
    cdef Best best, of_column
    cdef Bases bases
    with nogil:
        best.score, best.column, best.n_values, best.threshold = 0.0, -1, 0, 0.0
        bases.at_least = at_least
        centre(answers, centred)
        left.resize(answers.shape[1])
        for j in range(X.shape[1]):
            if by_column.shape[0]:
                by_column[j, 0] = by_column[j, 1] = 0.0
            sort_column(&X[0, j], X.shape[1], NULL, n_rows, keys, spare)
            if same_value(keys[0], keys[n_rows - 1]):
                continue
            if at_least > 0:
                bases.values.resize(members.shape[0])
                for m in range(members.shape[0]):
                    bases.values[m] = <float32_t>base_rows[members[m], j]
                sort(bases.values.begin(), bases.values.end())
            if categorical[j]:
                scan_levels(j, keys, centred, bases, left, &best, values)
                continue
            if not by_column.shape[0]:
                scan_thresholds(j, keys, centred, bases, left, &best)
                continue
            of_column.score, of_column.column, of_column.threshold = 0.0, -1, 0.0
            scan_thresholds(j, keys, centred, bases, left, &of_column)
            by_column[j, 0], by_column[j, 1] = of_column.score / n_rows, of_column.threshold
            if of_column.score > best.score:
                best = of_column
    return best.column, best.n_values, best.threshold, best.score / n_rows
