"""Two small problems of weights that are not negative, solved where general solvers take long.

Weights of least squared shortfall are found by coordinate descent, mixtures of demands that bound
the share of a tree by the simplex method. Sums run in one order and products are not fused, so the
answers are the same on every processor; a general solver stops at others wherever its linear
algebra rounds otherwise.
"""

import numpy as np

from ensemble_simplify._typedefs cimport float64_t, intp_t


cdef inline double loss_at(
    const double *lead, const double *short, double step, intp_t n
) noexcept nogil:
    """Squared shortfall after a step along one column; in four sums, for speed."""
    cdef double[4] total
    cdef double left
    cdef intp_t i, k
    for k in range(4):
        total[k] = 0.0
    for i in range(n):
        left = short[i] - step * lead[i]
        left = left if left > 0.0 else 0.0
        total[i & 3] += left * left
    return (total[0] + total[1]) + (total[2] + total[3])


def fit(
    const float64_t[:, ::1] leads,
    float64_t[::1] short,
    float64_t[::1] weights,
    intp_t max_sweeps,
    double precision,
):
    """Improve weights until a sweep over them gains less than a share (`precision`) of the loss.

    `leads` is of shape (n_trees, n_demands); `short`, what the weights leave short of each demand,
    negative where they meet it, and `weights` are overwritten.
    """
    cdef intp_t n_trees = leads.shape[0], n = leads.shape[1], t, i
    cdef const double *lead
    cdef double loss, before, slope, curve, step, after
    if not n:
        return
    with nogil:
        loss = loss_at(&leads[0, 0], &short[0], 0.0, n)
        for _ in range(max_sweeps):
            before = loss
            for t in range(n_trees):
                lead = &leads[t, 0]
                slope = curve = 0.0
                for i in range(n):
                    if short[i] > 0.0:
                        slope += short[i] * lead[i]
                        curve += lead[i] * lead[i]
                if curve == 0.0:
                    continue
                step = slope / curve
                if step < -weights[t]:
                    step = -weights[t]
                # a long step can lose: past where it begins to meet other demands no more
                for _ in range(20):
                    after = loss_at(lead, &short[0], step, n)
                    if after <= loss:
                        break
                    step *= 0.5
                else:
                    continue
                loss = after
                weights[t] += step
                for i in range(n):
                    short[i] -= step * lead[i]
            if loss >= before * (1.0 - precision):
                break


cdef double PIVOT = 1e-9  # Entries of a table that are zero but for rounding are below.


cdef inline void pivot(
    float64_t[:, ::1] table, float64_t[::1] square, intp_t row, intp_t column
) noexcept nogil:
    """Solve a row of the table for another variable; the squares of the columns are found anew."""
    cdef intp_t n_rows = table.shape[0], n_columns = table.shape[1], i, j
    cdef double inverse = 1.0 / table[row, column], factor
    cdef double *own = &table[row, 0]
    cdef double *other
    for j in range(n_columns):
        own[j] *= inverse
    # the column of the variable that leaves: before this step, its entries are a unit's
    own[column] = inverse
    for j in range(n_columns):
        square[j] = 1.0 + own[j] * own[j]
    for i in range(n_rows):
        if i == row:
            continue
        other = &table[i, 0]
        factor = other[column]
        other[column] = 0.0
        for j in range(n_columns):
            other[j] -= factor * own[j]
            square[j] += other[j] * other[j]


def least_lead(float64_t[:, ::1] table, intp_t goal, intp_t max_steps):
    """A mixture of demands in which one tree leads by least while no other leads by over a limit.

    `table` is of shape (n_trees, n_demands + 1): what each tree leads by in each demand, and its
    limit, which is not negative. It is overwritten; row `goal` is the tree.

    Returns
    -------
    mixture : float64 array of shape (n_demands,)
        Not negative. A direction in which the lead falls for ever, where there is one.
    multipliers : float64 array of shape (n_trees,)
        Of the limits: by how much the least lead falls with each; of the goal, 1.
    """
    cdef intp_t n_rows = table.shape[0], n = table.shape[1] - 1, row, column, i, j, label
    cdef double best, ratio, least
    cdef bint is_ray = False
    # labels of the variables: demands come first, what is left of the limit of each tree after them
    cdef intp_t[::1] basic = np.arange(n, n + n_rows), other = np.arange(n)
    mixture, multipliers = np.zeros(n), np.zeros(n_rows)
    cdef float64_t[::1] parts = mixture, prices = multipliers
    cdef float64_t[::1] square = 1.0 + (np.asarray(table) ** 2).sum(axis=0)
    with nogil:
        for _ in range(max_steps):
            # the steepest edge: the entries of the goal's row over the length of the whole column
            column, best = -1, 0.0
            for j in range(n):
                if table[goal, j] < -PIVOT:
                    ratio = table[goal, j] * table[goal, j] / square[j]
                    if ratio > best:
                        column, best = j, ratio
            if column < 0:
                break
            least = -1.0
            for i in range(n_rows):
                if table[i, column] > PIVOT:
                    ratio = max(table[i, n], 0.0) / table[i, column]
                    if least < 0.0 or ratio < least:
                        least = ratio
            if least < 0.0:
                is_ray = True
                break
            # of rows that are met at once, that of the largest entry rounds least
            row, best = -1, 0.0
            for i in range(n_rows):
                if table[i, column] > max(PIVOT, best):
                    if max(table[i, n], 0.0) <= least * table[i, column] + PIVOT:
                        row, best = i, table[i, column]
            pivot(table, square, row, column)
            basic[row], other[column] = other[column], basic[row]
        for i in range(n_rows):
            if basic[i] < n:
                parts[basic[i]] = max(-table[i, column] if is_ray else table[i, n], 0.0)
        if is_ray and other[column] < n:
            parts[other[column]] = 1.0
        for j in range(n):
            label = other[j] - n
            if label >= 0:
                prices[label] = max(table[goal, j], 0.0)
        prices[goal] = 1.0
    return mixture, multipliers
