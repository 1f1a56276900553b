"""A line on a terminal, or in a notebook, that tells people who wait what is being done."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from threading import Event, Thread
from time import monotonic

# Seconds until the line is shown, and until it is written anew.
FIRST, EACH = 2.0, 1.0

_now: list[str] = []  # what the outermost call does, while it runs


def is_watched() -> bool:
    """Whether somebody sees what is written to stderr, as it is written."""
    if "PYTEST_CURRENT_TEST" in os.environ or sys.stderr is None:
        return False
    return sys.stderr.isatty() or type(sys.stderr).__module__.startswith("ipykernel")


def doing(what: str) -> None:
    """Say what is being done now, for the line of the call that runs."""
    _now[1:] = [what] if _now else []


@contextmanager
def waiting(title: str, seconds_left: float | None = None):
    """Show a line while what runs inside takes long; calls inside of it show none of their own.

    Without a title, what runs inside tells of itself.
    """
    if _now or not title or not is_watched():
        yield
        return
    done, begin = Event(), monotonic()

    def tell():
        pause, is_shown = FIRST, False
        while not done.wait(pause):
            passed = monotonic() - begin
            parts = [f"{passed:.0f} s", *(what.removeprefix(f"{title}: ") for what in _now[1:])]
            if seconds_left is not None and seconds_left < float("inf"):
                parts.append(f"at most about {max(0.0, seconds_left - passed):.0f} s more")
            sys.stderr.write(f"\r[{title}] {', '.join(parts)}\033[K")
            sys.stderr.flush()
            pause, is_shown = EACH, True
        if is_shown:
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()

    thread = Thread(target=tell, daemon=True)
    _now.append(title)
    thread.start()
    try:
        yield
    finally:
        _now.clear()
        done.set()
        thread.join()
