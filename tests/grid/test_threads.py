"""Work that threads share."""

from __future__ import annotations

import threading
import warnings

import pytest

from ensemble_simplify.base import warn
from ensemble_simplify.grid import held_back, in_threads, limits, time_left


def test_results_are_in_the_order_of_the_calls():
    for n_jobs in (None, 1, 2, 5):
        assert in_threads(n_jobs, [lambda i=i: i * i for i in range(20)]) == [
            i * i for i in range(20)
        ]
    assert in_threads(2, []) == []


@pytest.mark.parametrize("n_jobs", [1, 2, 3])
def test_nested_calls_start_no_more_threads_than_the_outermost_asks_for(n_jobs):
    busy, most, lock = set(), [], threading.Lock()

    def leaf(i):
        with lock:
            busy.add(threading.get_ident())
            most.append(len(busy))
        threading.Event().wait(0.002)
        with lock:
            busy.discard(threading.get_ident())
        return i

    def outer(k):
        return in_threads(8, [lambda i=i: leaf((k, i)) for i in range(6)])

    found = in_threads(n_jobs, [lambda k=k: outer(k) for k in range(n_jobs + 1)])
    assert found == [[(k, i) for i in range(6)] for k in range(n_jobs + 1)]
    # where the outermost starts none, the calls under it share what they ask for
    assert max(most) <= (8 if n_jobs == 1 else n_jobs)


def test_a_thread_without_work_helps_with_nested_calls():
    has_ended = threading.Event()

    def part():
        has_ended.wait(60)
        threading.Event().wait(0.005)
        return threading.get_ident()

    def long():
        return in_threads(2, [part] * 60)

    threads, _ = in_threads(2, [long, has_ended.set])
    assert len(set(threads)) == 2


def test_the_first_error_is_raised_and_no_further_call_is_made():
    made = []

    def fails():
        raise ValueError("third")

    calls = [lambda: made.append(0), lambda: made.append(1), fails]
    calls += [lambda: made.append(9)] * 100
    with pytest.raises(ValueError, match="third"):
        in_threads(1, calls)
    assert made == [0, 1]
    made.clear()
    with pytest.raises(ValueError, match="third"):
        in_threads(2, [fails, fails, *calls])
    assert len(made) < 100


def test_calls_keep_the_limits_of_time_of_who_starts_them():
    with limits(1000.0):
        left = in_threads(3, [time_left] * 9)
    assert all(0 < seconds <= 1000.0 for seconds in left)
    assert time_left() == float("inf")


def test_threads_that_catch_warnings_leave_no_filters_behind():
    first_in, second_in, first_out = (threading.Event() for _ in range(3))

    def first():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            first_in.set()
            second_in.wait(60)
        first_out.set()

    def second():
        first_in.wait(60)
        with warnings.catch_warnings():
            second_in.set()
            first_out.wait(60)

    before = list(warnings.filters)
    in_threads(2, [first, second])
    assert warnings.filters == before


@pytest.mark.parametrize("n_jobs", [1, 2, 3])
def test_no_warning_is_lost_while_another_thread_ignores_all(n_jobs):
    is_ignored, has_warned = threading.Event(), threading.Event()

    def ignores():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            is_ignored.set()
            has_warned.wait(60 if n_jobs > 1 else 0)

    def warns(k):
        is_ignored.wait(60)
        warn(f"number {k}")
        has_warned.set()

    def nested():
        in_threads(3, [lambda k=k: warns(k) for k in range(5)])
        warn("after these")

    calls = [ignores, nested, lambda: warns("last")]
    expected = [*(f"number {k}" for k in range(5)), "after these", "number last"]
    with pytest.warns(UserWarning, match="number|after") as warned:
        in_threads(n_jobs, calls)
    assert [str(each.message) for each in warned] == expected
    with held_back() as held:
        in_threads(n_jobs, calls)
    assert [text for _, (text, _) in held] == expected


def test_warnings_before_an_error_are_given():
    def fails():
        warn("before")
        raise ValueError("an error")

    with pytest.warns(UserWarning, match="before"), pytest.raises(ValueError, match="an error"):
        in_threads(2, [fails, fails])
