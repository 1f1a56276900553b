"""Limits of time and memory, and what is said when one is reached."""

from __future__ import annotations

import functools
import os
import re
import sys
import warnings
from pathlib import Path

from sklearn.exceptions import ConvergenceWarning

from ensemble_simplify.base._scikit_learn import _fit_context
from ensemble_simplify.grid import doing, later, waiting

# Frames of these packages are not the user's: warnings point beyond them.
_NOT_THE_USER = ("ensemble_simplify", "sklearn", "joblib")


class TimeLimitError(TimeoutError):
    """The time limit was reached before there was any result to return.

    Every estimator and function of this package that takes a ``time_limit`` can raise it. If there
    is a result at the limit, the result is returned with a ``ConvergenceWarning`` instead. To go
    on, raise ``time_limit``, or ask for less.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from ensemble_simplify import TimeLimitError, merge_trees
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> forest = RandomForestClassifier(random_state=0).fit(X, y)
    >>> try:
    ...     merge_trees([forest], max_leaf_nodes=10**9, time_limit=0.01)
    ... except TimeLimitError:
    ...     print("no tree in this time")
    no tree in this time
    """


def warn(message, category=UserWarning) -> None:
    """Warn at the line, outside this package and scikit-learn, from which all this was called.

    Threads that share work leave it to who started them: filters of warnings are not safe there.
    """
    if later(warn, message, category):
        return
    frame, level = sys._getframe(1), 2
    while frame is not None and frame.f_globals.get("__name__", "").split(".")[0] in _NOT_THE_USER:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def warn_out_of_time(message) -> None:
    """Say that a limit ended the search, and that what is returned is the best so far."""
    warn(message, ConvergenceWarning)


def report(estimator, message) -> None:
    """Say how far an estimator is; it is printed, too, if it is verbose."""
    name = type(estimator).__name__
    doing(f"{name}: {message}")
    if estimator.verbose:
        print(f"[{name}] {message}", flush=True)


def fit_context(**checks):
    """Decorate ``fit``: parameters are checked before, as scikit-learn's own decorator is told.

    Where it does not end (Ctrl-C, an error), the estimator is as before.
    """
    context = _fit_context(**checks)

    def decorated(fit):
        @functools.wraps(fit)
        def wrapper(self, *args, **kwargs):
            before = dict(vars(self))
            title = "" if getattr(self, "verbose", 0) else type(self).__name__
            try:
                with waiting(title, getattr(self, "time_limit", None)):
                    return fit(self, *args, **kwargs)
            except BaseException:
                vars(self).clear()
                vars(self).update(before)
                raise

        return context(wrapper)

    return decorated


def available_memory() -> int:
    """Free memory of this machine, in bytes (4 GiB where the system does not tell)."""
    limits = []
    meminfo = Path("/proc/meminfo")
    if meminfo.exists():
        match = re.search(r"MemAvailable:\s+(\d+) kB", meminfo.read_text())
        if match:
            limits.append(1024 * int(match[1]))
    elif "SC_PHYS_PAGES" in getattr(os, "sysconf_names", {}):
        # half of what is installed, where the share in use is not known
        limits.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2)
    group, used = Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory.current")
    if group.exists() and used.exists() and group.read_text().strip().isdigit():
        limits.append(max(int(group.read_text()) - int(used.read_text()), 0))
    return min(limits, default=4 << 30)
