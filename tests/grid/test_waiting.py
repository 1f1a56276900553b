"""The line that people see who wait: after a while, on a terminal alone, and once."""

from __future__ import annotations

import io
import sys
import time
from types import SimpleNamespace

from ensemble_simplify.grid import doing, waiting
from ensemble_simplify.representer import RepresenterTree

MODULE = sys.modules[waiting.__module__]


class Terminal(io.StringIO):
    def isatty(self):
        return True


def watch(monkeypatch, terminal):
    """Let a terminal be watched; pytest sets its own before each test is called."""
    monkeypatch.setattr(MODULE, "os", SimpleNamespace(environ={}))
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(MODULE, "FIRST", 0.02)
    monkeypatch.setattr(MODULE, "EACH", 0.01)
    return terminal


def wait_for(terminal, text):
    for _ in range(500):
        if text in terminal.getvalue():
            return
        time.sleep(0.01)
    raise AssertionError(f"{text!r} is not in {terminal.getvalue()!r}")


def test_who_waits_is_told_what_is_done(monkeypatch):
    watched = watch(monkeypatch, Terminal())
    with waiting("verify", 60.0):
        doing("verify: half of it")
        wait_for(watched, "[verify] 0 s, half of it, at most about 60 s more")
        with waiting("agreement"):
            time.sleep(0.1)
    assert "agreement" not in watched.getvalue()
    # the line is gone in the end
    assert watched.getvalue().endswith("\r\033[K")


def test_what_is_quick_or_tells_of_itself_says_nothing(monkeypatch):
    watched = watch(monkeypatch, Terminal())
    with waiting(""):
        time.sleep(0.1)
    monkeypatch.setattr(MODULE, "FIRST", 60.0)
    with waiting("verify"):
        pass
    assert not watched.getvalue()


def test_a_file_is_no_terminal(monkeypatch):
    file = watch(monkeypatch, io.StringIO())
    with waiting("verify"):
        time.sleep(0.1)
    assert not file.getvalue()


def test_a_fit_says_how_far_it_is(monkeypatch):
    watched = watch(monkeypatch, Terminal())

    def slow(X):
        wait_for(watched, "[RepresenterTree]")
        return X[:, 0]

    X = [[-2.0], [-1.0], [1.0], [2.0]] * 5
    RepresenterTree(slow, response="value", random_state=0).fit(X, [0, 0, 1, 1] * 5)
    assert "[RepresenterTree] 0 s" in watched.getvalue()
