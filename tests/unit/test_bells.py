from __future__ import annotations

from workers.runner import CLOCK_SKEW, Quiet


def test_a_bell_rung_before_nothing_was_due_announces_nothing_new() -> None:
    quiet = Quiet(since=100.0)
    assert quiet.covers(99.0)
    assert not quiet.covers(101.0)


def test_a_bell_is_heard_when_clocks_could_be_the_difference() -> None:
    quiet = Quiet(since=100.0)
    assert not quiet.covers(100.0 - CLOCK_SKEW / 2)


def test_a_first_bell_and_one_of_unknown_time_are_heard() -> None:
    assert not Quiet().covers(99.0)
    assert not Quiet(since=100.0).covers(None)
