"""Number types, random numbers, bits, the clock and the stop test that every kernel shares."""

from cpython.exc cimport PyErr_CheckSignals
# the clock of Python's time.monotonic(), on which all deadlines are
from cpython.time cimport monotonic as now

ctypedef unsigned char uint8_t
ctypedef unsigned short uint16_t
ctypedef unsigned int uint32_t
ctypedef unsigned long long uint64_t
ctypedef int int32_t
ctypedef long long int64_t
ctypedef float float32_t
ctypedef double float64_t
ctypedef Py_ssize_t intp_t

cdef enum:
    # Class of cells whose class is free: outside the domain. No class has this number.
    FREE = 0xFFFF

cdef extern from *:
    """
    /* In plain arithmetic: without special CPU flags the compiler's own is a call. */
    static inline int es_bit_count(unsigned long long x) {
        x = x - ((x >> 1) & 0x5555555555555555ULL);
        x = (x & 0x3333333333333333ULL) + ((x >> 2) & 0x3333333333333333ULL);
        x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0fULL;
        return (int)((x * 0x0101010101010101ULL) >> 56);
    }
    """
    # Number of bits that are set.
    int popcount "es_bit_count"(uint64_t) noexcept nogil


cdef inline uint64_t scramble(uint64_t x) noexcept nogil:
    """A bijection of 64-bit numbers without visible pattern: what splitmix64 ends with."""
    x = (x ^ (x >> 30)) * <uint64_t> 0xBF58476D1CE4E5B9
    x = (x ^ (x >> 27)) * <uint64_t> 0x94D049BB133111EB
    return x ^ (x >> 31)


cdef inline uint64_t next_random(uint64_t *state) noexcept nogil:
    """The next number of splitmix64."""
    state[0] += <uint64_t> 0x9E3779B97F4A7C15
    return scramble(state[0])


cdef inline double random_unit(uint64_t *state) noexcept nogil:
    """A random number from 0 to 1, without 1."""
    return <double> (next_random(state) >> 11) * (1.0 / 9007199254740992.0)


cdef inline intp_t random_below(intp_t n, uint64_t *state) noexcept nogil:
    """A random integer from 0 to n - 1."""
    return <intp_t> (random_unit(state) * <double> n)


cdef inline int should_stop(double deadline) except -1 nogil:
    """1 when ``now()`` has passed ``deadline`` (inf: never); raises KeyboardInterrupt on Ctrl-C.

    Takes the GIL for a moment: poll every few milliseconds of work, not every step.
    """
    with gil:
        PyErr_CheckSignals()
    return now() >= deadline
