"""Columns of numbers as codes of bins that hold about equally many rows."""

import numpy as np

from libc.math cimport INFINITY, isnan
from libcpp.vector cimport vector

from ensemble_simplify._typedefs cimport float64_t, intp_t, should_stop, uint16_t, uint64_t
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
            should_stop(INFINITY)
        found.append(np.array(cuts))
    return found
