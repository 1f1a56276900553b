"""Columns of numbers as codes of bins that hold about equally many rows, and sums over bins."""

import numpy as np

from libc.math cimport isnan
from libcpp.vector cimport vector

from ensemble_simplify._typedefs cimport float64_t, intp_t, uint16_t, uint64_t
from ensemble_simplify.grid._limits cimport should_stop
from ensemble_simplify.grid._sweep cimport middle, place_of, same_value, sort_column, value_of


def code_columns(
    const float64_t[:, ::1] X,              # (n_rows, n_columns), compared in float32
    intp_t most,                            # bins of a column
    uint16_t[:, ::1] codes,                 # OUT (n_columns, n_rows)
):
    """Put every column into bins of about equally many rows; the cuts of each, ascending.

    Cuts stand halfway between neighbouring values. A column of fewer values than bins has a cut
    between any two. A row's code is the number of cuts below it; that of a missing value is one
    more than there are cuts.
    """
    cdef intp_t n_rows = X.shape[0], n_columns = X.shape[1], j, i, k, n_values, last
    cdef vector[uint64_t] keys, spare
    cdef vector[intp_t] present
    cdef vector[double] cuts
    found = []
    for j in range(n_columns):
        with nogil:
            present.clear()
            for i in range(n_rows):
                if not isnan(X[i, j]):
                    present.push_back(i)
            cuts.clear()
            if present.size():
                sort_column(&X[0, j], n_columns, present.data(), present.size(), keys, spare)
            else:
                keys.clear()
            n_values = 0
            for i in range(1, <intp_t>keys.size()):
                n_values += not same_value(keys[i - 1], keys[i])
            last = 0
            for i in range(1, <intp_t>keys.size()):
                if same_value(keys[i - 1], keys[i]):
                    continue
                k = i * most // <intp_t>keys.size()
                if n_values < most or k > last:
                    last = k
                    cuts.push_back(middle(keys[i - 1], keys[i]))
            k = 0
            for i in range(n_rows):
                codes[j, i] = <uint16_t>(cuts.size() + 1)
            for i in range(<intp_t>keys.size()):
                while k < <intp_t>cuts.size() and value_of(keys[i]) > cuts[k]:
                    k += 1
                codes[j, present[place_of(keys[i])]] = <uint16_t>k
            should_stop()  # for Ctrl-C alone
        found.append(np.array(cuts))
    return found


def sums_of_bins(
    const uint16_t[:, ::1] codes,           # (n_columns, n_rows)
    const intp_t[::1] start,                # (n_columns,): place of the first bin of each column
    const float64_t[:, ::1] values,         # (n_rows, n_values)
    float64_t[:, ::1] sums,                 # OUT (n_bins of all columns, n_values), all 0 before
):
    """Add up the values of the rows in each bin."""
    cdef intp_t n_rows = codes.shape[1], n_values = values.shape[1], j, row, k
    cdef const float64_t *value
    cdef float64_t *total
    for j in range(codes.shape[0]):
        with nogil:
            for row in range(n_rows):
                value = &values[row, 0]
                total = &sums[start[j] + codes[j, row], 0]
                for k in range(n_values):
                    total[k] += value[k]
            should_stop()  # for Ctrl-C alone


def sums_of_pairs(
    const uint16_t[:, ::1] codes,           # (n_columns, n_rows)
    const intp_t[::1] start,                # (n_columns,): place of the first bin of each column
    const uint16_t[:, ::1] groups,          # (n_rows, n_groupings): numbers of columns of `sums`
    const float64_t[::1] value,             # (n_rows,)
    float64_t[:, ::1] sums,                 # OUT (n_bins of all columns, n_groups), all 0 before
):
    """Add up the values of the rows in each bin that are in each group, by several groupings."""
    cdef intp_t n_rows = codes.shape[1], n_groupings = groups.shape[1], j, row, k
    cdef const uint16_t *group
    cdef float64_t *total
    cdef float64_t own
    for j in range(codes.shape[0]):
        with nogil:
            for row in range(n_rows):
                group = &groups[row, 0]
                own = value[row]
                total = &sums[start[j] + codes[j, row], 0]
                for k in range(n_groupings):
                    total[group[k]] += own
            should_stop()  # for Ctrl-C alone
