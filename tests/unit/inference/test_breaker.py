from __future__ import annotations

import pytest

from shared.domain.errors import ModelAnswerUnusable, ModelUnavailable
from shared.inference.breaker import Breaker, BreakerPolicy


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


POLICY = BreakerPolicy(failures=2, pause=10.0, longest_pause=60.0)


def fail(breaker: Breaker, *, retry_after: float | None = None) -> None:
    with pytest.raises(ModelUnavailable, match="down"), breaker.guard():
        raise ModelUnavailable("down", retry_after=retry_after)


def refused(breaker: Breaker) -> ModelUnavailable:
    with pytest.raises(ModelUnavailable, match="breaker is open") as caught, breaker.guard():
        pytest.fail("an open breaker ran the call")
    return caught.value


def test_it_opens_after_failures_in_a_row_and_names_the_wait() -> None:
    breaker = Breaker(POLICY, clock=Clock())
    fail(breaker)
    fail(breaker)
    assert refused(breaker).retry_after == 10.0


def test_a_success_in_between_keeps_it_closed() -> None:
    breaker = Breaker(POLICY, clock=Clock())
    fail(breaker)
    with breaker.guard():
        pass
    fail(breaker)
    with breaker.guard():
        pass


def test_after_the_pause_one_success_closes_it() -> None:
    clock = Clock()
    breaker = Breaker(POLICY, clock=clock)
    fail(breaker)
    fail(breaker)
    clock.now += 10
    with breaker.guard():
        pass
    fail(breaker)
    with breaker.guard():
        pass


def test_after_the_pause_one_failure_opens_it_again() -> None:
    clock = Clock()
    breaker = Breaker(POLICY, clock=clock)
    fail(breaker)
    fail(breaker)
    clock.now += 10
    fail(breaker)
    assert refused(breaker).retry_after == 10.0


def test_only_one_call_tries_after_the_pause() -> None:
    clock = Clock()
    breaker = Breaker(POLICY, clock=clock)
    fail(breaker)
    fail(breaker)
    clock.now += 10
    with breaker.guard():
        refused(breaker)


def test_another_error_is_no_failure_and_frees_the_trial() -> None:
    clock = Clock()
    breaker = Breaker(POLICY, clock=clock)
    fail(breaker)
    fail(breaker)
    clock.now += 10
    with pytest.raises(ModelAnswerUnusable), breaker.guard():
        raise ModelAnswerUnusable("prose")
    with breaker.guard():
        pass


def test_a_server_that_names_its_wait_is_left_alone_for_as_long() -> None:
    clock = Clock()
    breaker = Breaker(POLICY, clock=clock)
    fail(breaker, retry_after=30.0)
    assert refused(breaker).retry_after == 30.0
    clock.now += 29
    refused(breaker)
    clock.now += 1
    with breaker.guard():
        pass


def test_a_wait_without_reason_is_cut() -> None:
    breaker = Breaker(POLICY, clock=Clock())
    fail(breaker, retry_after=1e9)
    assert refused(breaker).retry_after == 60.0
