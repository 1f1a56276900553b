"""Impurities of class weights, shared with `_ism_growth.pyx`; see `_statistics.pyx`."""

from libc.math cimport log2

from ensemble_simplify._typedefs cimport intp_t


cdef inline double impurity(const double *weights, intp_t k, bint entropy) noexcept nogil:
    """Entropy or Gini impurity, times weight."""
    cdef intp_t c
    cdef double total = 0.0, value = 0.0
    for c in range(k):
        total += weights[c]
    if total <= 0.0:
        return 0.0
    for c in range(k):
        if entropy:
            if weights[c] > 0.0:
                value -= weights[c] * log2(weights[c] / total)
        else:
            value -= weights[c] * weights[c]
    return value if entropy else total + value / total
