"""Threads that share work, under the limits of time of who starts them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from joblib import Parallel, delayed, effective_n_jobs

from ensemble_simplify.grid._limits import carried


def in_threads(n_jobs: int | None, calls: Iterable[Callable[[], Any]]) -> list:
    """Run functions without arguments in threads; results in their order.

    It is for compiled work, which lets go of the interpreter's lock. In such a thread joblib counts
    one processor, so that calls in threads start no further ones.
    """
    calls = list(calls)
    if len(calls) < 2 or effective_n_jobs(n_jobs) == 1:
        return [call() for call in calls]
    return Parallel(n_jobs=n_jobs, require="sharedmem")(delayed(carried(call))() for call in calls)
