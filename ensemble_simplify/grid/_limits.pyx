"""Limits of time as a context, so that no function hands them on.

A public call enters `limits`, most of them by the decorator `limited`; loops ask `check_time`,
`is_late` or `time_left`, kernels `should_stop`. Limits inside of others can only be tighter. Each
thread has its own: what runs in another thread or process is wrapped in `carried`.

The clock is read only where a limit of time is in force, so without one nothing depends on it.
"""

import functools
import inspect
import math
from contextlib import contextmanager
from numbers import Real

from cpython.exc cimport PyErr_CheckSignals
# the clock of Python's time.monotonic()
from cpython.time cimport monotonic
from libc.math cimport INFINITY

from ensemble_simplify.grid.waiting import waiting

cdef extern from *:
    """
    /* When the limit of time of this thread ends. */
    static thread_local double es_deadline = HUGE_VAL;
    """
    double es_deadline

# Seconds that each look at the clock takes, and those taken; 0: it is read.
cdef double es_step = 0.0
cdef double es_counted = 0.0


cdef double now() noexcept nogil:
    global es_counted
    if es_step == 0.0:
        return monotonic()
    es_counted += es_step
    return es_counted


@contextmanager
def counted_clock(step):
    """Let each look at the clock take so many seconds, whatever the machine does meanwhile.

    What a limit of time cuts off is then the same on every machine: tests of limits ask for it.
    """
    global es_step
    before, es_step = es_step, step
    try:
        yield
    finally:
        es_step = before


class Stopped(Exception):
    """The time limit was reached before the search ended."""


cdef int should_stop() except -1 nogil:
    with gil:
        PyErr_CheckSignals()
    return es_deadline != INFINITY and now() >= es_deadline


cdef int stop_if_late() except -1 nogil:
    if should_stop():
        with gil:
            raise Stopped
    return 0


@contextmanager
def _until(deadline):
    """Let the limit of time end then, for what runs inside alone."""
    global es_deadline
    before, es_deadline = es_deadline, deadline
    try:
        yield
    finally:
        es_deadline = before


def limits(time_limit=None):
    """Hold what runs inside to some seconds from now; None: as it was."""
    return _until(es_deadline if time_limit is None else min(es_deadline, now() + time_limit))


def limited(function):
    """Decorate a public call: its ``time_limit`` holds for all that runs inside.

    It is a keyword of a function, or a parameter of the estimator whose method it is. What is no
    positive number is left to the function, which says what it takes. People who wait are told.
    """
    is_keyword = "time_limit" in inspect.signature(function).parameters

    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        own = kwargs.get("time_limit") if is_keyword else getattr(args[0], "time_limit", None)
        title = function.__name__ if is_keyword else type(args[0]).__name__
        is_told = not is_keyword and getattr(args[0], "verbose", 0)
        with limits(own if isinstance(own, Real) and own > 0 else None):
            with waiting("" if is_told else title, time_left()):
                return function(*args, **kwargs)

    return wrapper


def unlimited():
    """Let something run to its end, though the clock runs on: without it there is no answer."""
    return _until(INFINITY)


@contextmanager
def uncounted():
    """Stop the clock while something runs that the limit of time does not count, as fitting models.

    Others' code cannot be interrupted, and the user has asked for it beside the limit.
    """
    global es_deadline
    begin = now()
    try:
        with unlimited():
            yield
    finally:
        es_deadline += now() - begin


def at_least(seconds):
    """Leave so many seconds, from now, to what runs inside, even where the limit ends earlier.

    It is for what has to end, as the proof without which nothing of what was found is known. The
    limit outside stays as it was.
    """
    return _until(max(es_deadline, now() + seconds))


def until(share, time_limit):
    """Limits that end when a share of a whole limit is over; None or inf: as it was.

    The whole is that in force, of which `time_limit` seconds were left when it began.
    """
    if time_limit is None or math.isinf(time_limit):
        return limits()
    return limits(time_left() - (1.0 - share) * time_limit)


def time_left():
    """Seconds until the limit of time ends, below 0 if it has; inf where there is none."""
    return es_deadline - now() if es_deadline != INFINITY else math.inf


def is_late():
    """Whether the limit of time has passed."""
    return es_deadline != INFINITY and now() >= es_deadline


def check_time():
    """Raise `Stopped` if the limit of time has passed."""
    if is_late():
        raise Stopped


class carried:
    """A function that keeps, in another thread or process, the limits in force where this is made.

    It can be pickled: another machine has another clock, so seconds go with it.
    """

    def __init__(self, function):
        self.function = function
        self._deadline = es_deadline

    def __getstate__(self):
        seconds = self._deadline - now() if self._deadline != INFINITY else math.inf
        return self.function, seconds

    def __setstate__(self, state):
        self.function, seconds = state
        self._deadline = now() + seconds

    def __call__(self, *args, **kwargs):
        with limits(self._deadline - now()):
            return self.function(*args, **kwargs)
