"""A child that is started again when it ends: at once, then after growing pauses while it keeps ending."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass

from infra.embedded.process import Child, Command, Supervisor


@dataclass(frozen=True, slots=True, kw_only=True)
class Pauses:
    """Seconds: none before the first new start, then `first`, doubling up to `longest`; a child that lived
    for `settled` begins anew."""

    first: float = 0.5
    longest: float = 30.0
    settled: float = 60.0

    def before(self, starts: int) -> float:
        return min(self.first * 2.0 ** (starts - 1), self.longest) if starts else 0.0


class Watched:
    """Call `tend` often, on the main thread."""

    def __init__(
        self,
        command: Command,
        *,
        supervisor: Supervisor,
        pauses: Pauses = Pauses(),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._command = command
        self._supervisor = supervisor
        self._pauses = pauses
        self._clock = clock
        self._starts = 0
        self._due: float | None = None
        self._spawn()

    @property
    def child(self) -> Child:
        return self._child

    def tend(self) -> str | None:
        """A line that says what was done, when something was."""
        code = self._child.exit_code()
        if code is None:
            return None
        now = self._clock()
        if self._due is None:
            self._due = now + self._pause(now)
        if now < self._due:
            return None
        self._starts += 1
        self._spawn()
        name, log = self._command.name, self._command.log
        return f"{name} ended with code {code}; started again as process {self._child.pid} (log: {log})"

    def ask_to_stop(self) -> None:
        """So that many stop beside each other; the supervisor waits for them."""
        if self._child.exit_code() is None:
            os.kill(self._child.pid, signal.SIGTERM)

    def _pause(self, now: float) -> float:
        if now - self._started >= self._pauses.settled:
            self._starts = 0
        return self._pauses.before(self._starts)

    def _spawn(self) -> None:
        self._due = None
        self._started = self._clock()
        self._child = self._supervisor.spawn(self._command)
