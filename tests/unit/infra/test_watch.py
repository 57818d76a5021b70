from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from infra.embedded.process import Command, Supervisor
from infra.watch import Pauses, Watched
from tests.running import eventually


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def supervisor() -> Iterator[Supervisor]:
    with Supervisor() as running:
        yield running


def watched(code: str, *, at: Path, supervisor: Supervisor, clock: Clock) -> Watched:
    command = Command(name="worker", argv=(sys.executable, "-c", code), cwd=at, log=at / "log")
    return Watched(command, supervisor=supervisor, clock=clock)


def await_end(one: Watched) -> None:
    eventually(lambda: one.child.exit_code() is not None)


def test_pauses_double_up_to_the_longest() -> None:
    pauses = Pauses(first=1, longest=10)
    assert [pauses.before(starts) for starts in range(7)] == [0, 1, 2, 4, 8, 10, 10]


def test_a_killed_child_is_started_again_at_once_and_it_says_so(
    tmp_path: Path, supervisor: Supervisor, clock: Clock
) -> None:
    one = watched("import signal; signal.pause()", at=tmp_path, supervisor=supervisor, clock=clock)
    assert one.tend() is None
    first = one.child.pid
    psutil.Process(first).kill()
    await_end(one)
    line = one.tend()
    assert one.child.pid != first
    assert line == (
        f"worker ended with code -9; started again as process {one.child.pid} (log: {tmp_path / 'log'})"
    )
    assert one.tend() is None


def test_a_child_that_keeps_ending_is_started_ever_later(
    tmp_path: Path, supervisor: Supervisor, clock: Clock
) -> None:
    one = watched("raise SystemExit(3)", at=tmp_path, supervisor=supervisor, clock=clock)
    for pause in (0.0, 0.5, 1.0, 2.0):
        await_end(one)
        if pause:
            assert one.tend() is None
            clock.now += pause - 0.01
            assert one.tend() is None
            clock.now += 0.01
        assert "ended with code 3" in (one.tend() or "")


def test_a_child_that_had_settled_is_started_at_once(
    tmp_path: Path, supervisor: Supervisor, clock: Clock
) -> None:
    one = watched("raise SystemExit(3)", at=tmp_path, supervisor=supervisor, clock=clock)
    for _ in range(4):
        await_end(one)
        clock.now += 60
        assert one.tend() is not None


def test_asking_to_stop_does_not_wait_and_may_be_repeated(
    tmp_path: Path, supervisor: Supervisor, clock: Clock
) -> None:
    one = watched("import signal; signal.pause()", at=tmp_path, supervisor=supervisor, clock=clock)
    one.ask_to_stop()
    await_end(one)
    one.ask_to_stop()
    assert one.child.exit_code() == -signal.SIGTERM
