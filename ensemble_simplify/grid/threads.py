"""Threads that share work, under the limits of time of who starts them."""

from __future__ import annotations

import threading
import warnings
from collections import deque
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager, nullcontext
from typing import Any

from joblib import effective_n_jobs

from ensemble_simplify.grid._limits import carried

# `free` counts the threads that calls of this one may still start, if it shares some; `held` has
# what this one puts off.
_OWN = threading.local()


def in_threads(n_jobs: int | None, calls: Iterable[Callable[[], Any]]) -> list:
    """Run functions without arguments in threads; results in their order.

    It is for compiled work, which lets go of the interpreter's lock. A call may do the same: all
    share so many threads as the outermost asks for, and those that have nothing left to do help.
    """
    calls = list(calls)
    if min(len(calls), effective_n_jobs(n_jobs)) < 2:
        return [call() for call in calls]
    free = getattr(_OWN, "free", None)
    work = _Work(calls, threading.Semaphore(effective_n_jobs(n_jobs) - 1) if free is None else free)
    # filters of warnings are those of the whole process: threads leave each other's behind
    with warnings.catch_warnings() if free is None else nullcontext():
        work.run()
    return work.told()


@contextmanager
def held_back() -> Generator[list]:
    """A list of what is put off inside by `later`, as functions and their arguments."""
    outer, _OWN.held = getattr(_OWN, "held", None), []
    try:
        yield _OWN.held
    finally:
        _OWN.held = outer


def later(function: Callable, *arguments: Any) -> bool:
    """Put off a call until the thread that shared this work is alone again; whether it is put off.

    Then the calls are made in the order of the work, whatever the threads did first.
    """
    held = getattr(_OWN, "held", None)
    if held is not None:
        held.append((function, arguments))
    return held is not None


class _Work:
    """Calls that are not made yet, and the results and errors of those that are, by number."""

    def __init__(self, calls, free):
        self.left = deque((i, carried(call)) for i, call in enumerate(calls))
        self.free, self.results = free, [None] * len(calls)
        self.held = [[] for _ in calls]
        self.errors, self.helpers = {}, []

    def run(self) -> None:
        """Make all calls, with the help of threads that are free."""
        self._run()
        # who waits is no longer busy
        self.free.release()
        try:
            for helper in self.helpers:
                helper.join()
        finally:
            self.free.acquire()

    def told(self) -> list:
        """The results, after what the calls have put off; the first error is raised."""
        for function, arguments in [each for held in self.held for each in held]:
            function(*arguments)
        if self.errors:
            raise self.errors[min(self.errors)]
        return self.results

    def _run(self):
        outer, _OWN.free = getattr(_OWN, "free", None), self.free
        try:
            while self.left:
                # looked at anew before each call: others may have ended since
                if len(self.left) > 1 and self.free.acquire(blocking=False):
                    self.helpers.append(threading.Thread(target=self._help, daemon=True))
                    self.helpers[-1].start()
                self._call(*self.left.popleft())
        except IndexError:  # another thread took the last one
            return
        finally:
            _OWN.free = outer

    def _call(self, i, call):
        try:
            with held_back() as self.held[i]:
                self.results[i] = call()
        except Exception as error:
            self.errors[i] = error
            self.left.clear()
        except BaseException:  # an interrupt, which does not wait for the others
            self.left.clear()
            raise

    def _help(self):
        try:
            self._run()
        finally:
            self.free.release()
