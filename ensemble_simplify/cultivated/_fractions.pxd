"""Fractions of rows: the one rule by which growing and routing divide them."""

from libc.math cimport fabs
from libc.string cimport memcpy

from ensemble_simplify._typedefs cimport uint8_t

cdef enum:
    MISSING_BIN = 65535     # code of a missing value among bins


cdef extern from "<algorithm>" namespace "std" nogil:
    # The first of sorted numbers that is at least (lower) or above (upper) a value.
    Iterator lower_bound[Iterator, T](Iterator first, Iterator last, T value) noexcept
    Iterator upper_bound[Iterator, T](Iterator first, Iterator last, T value) noexcept


cdef inline double negligible() noexcept nogil:
    # Fractions below this count as 0.
    return 1e-12


cdef inline double smallest_fraction(double min_fraction) noexcept nogil:
    return max(min_fraction, 2.0 * negligible())


cdef inline double left_part(double fraction, double share, double smallest) noexcept nogil:
    # What of a row's fraction goes left; too small a part goes with the larger one. Equal parts
    # are kept, however small: preferring a side would make the labels' order matter.
    cdef double to_left = fraction * share
    cdef double to_right = fraction - to_left
    if to_left >= smallest - negligible() and to_right >= smallest - negligible():
        return to_left
    if fabs(to_left - to_right) <= 1e-9 * fraction:
        return to_left
    return 0.0 if to_left < to_right else fraction


cdef inline object filled(object array, const void* data):
    # A one-dimensional NumPy array, filled with as many bytes from `data`.
    cdef uint8_t[::1] target = array.view("u1")
    if target.shape[0]:
        memcpy(&target[0], data, target.shape[0])
    return array
