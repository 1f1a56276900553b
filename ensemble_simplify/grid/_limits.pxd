"""The stop test of every kernel; see `_limits.pyx`."""

# 1 when the limit of time in force has passed; raises KeyboardInterrupt on Ctrl-C. Takes the GIL
# for a moment: poll every few milliseconds of work, not every step.
cdef int should_stop() except -1 nogil
# The same for kernels that have no answer then: it raises `Stopped`.
cdef int stop_if_late() except -1 nogil
