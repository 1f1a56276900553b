"""Sums over the rows in each bin of each column: what choosing a cut needs to know of the rows."""

from libc.math cimport INFINITY

from ensemble_simplify._typedefs cimport float64_t, intp_t, should_stop, uint16_t


def sums_of_bins(
    const uint16_t[:, ::1] codes,           # (n_columns, n_rows)
    const intp_t[::1] start,                # (n_columns,): place of the first bin of each column
    const float64_t[:, ::1] values,         # (n_rows, n_values)
    float64_t[:, ::1] sums,                 # OUT (n_bins of all columns, n_values), all 0 before
):
    """Add up the values of the rows in each bin."""
    cdef intp_t n_rows = codes.shape[1], n_values = values.shape[1], j, row, k
    cdef const float64_t *own
    cdef float64_t *total
    for j in range(codes.shape[0]):
        with nogil:
            for row in range(n_rows):
                own = &values[row, 0]
                total = &sums[start[j] + codes[j, row], 0]
                for k in range(n_values):
                    total[k] += own[k]
            should_stop(INFINITY)
