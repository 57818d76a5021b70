from __future__ import annotations

from threading import Event

import pytest

from shared.inference.deadline import BoundedThreads, Overloaded


def test_a_call_in_time_gives_its_result() -> None:
    assert BoundedThreads(threads=1, waiting=0, name="t").call(lambda: "退款", deadline=30) == "退款"


def test_an_error_of_the_call_comes_through() -> None:
    with pytest.raises(KeyError):
        BoundedThreads(threads=1, waiting=0, name="t").call(lambda: dict[str, int]()["x"], deadline=30)


def test_a_late_call_times_out_and_gives_its_place_back_when_it_ends() -> None:
    threads = BoundedThreads(threads=1, waiting=0, name="t")
    go = Event()
    with pytest.raises(TimeoutError):
        threads.call(go.wait, deadline=0.01)
    with pytest.raises(Overloaded):
        threads.call(lambda: 1, deadline=30)
    go.set()
    freed = Event()
    while not freed.is_set():
        try:
            threads.call(freed.set, deadline=30)
        except Overloaded:
            freed.wait(0.01)


def test_a_call_that_never_began_is_an_overload_and_does_not_run_later() -> None:
    threads = BoundedThreads(threads=1, waiting=1, name="t")
    go, ran = Event(), Event()
    with pytest.raises(TimeoutError):
        threads.call(go.wait, deadline=0.01)
    with pytest.raises(Overloaded):
        threads.call(ran.set, deadline=0.01)
    go.set()
    threads._pool.shutdown(wait=True)
    assert not ran.is_set()
