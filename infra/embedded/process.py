"""Supervised child processes: they log to a file, are awaited by condition and end with their parent.

Errors are one branch each a decision of the caller:
    EmbeddedError        tell the person; the message is one sentence with the next step
    PortTakenError       the same, and another port may work
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

_LAUNCHER = Path(__file__).with_name("launch.py")
_GUARD = "prctl" if sys.platform == "linux" else "watch"
_POLL_SECONDS = 0.01
_TAIL_BYTES = 8192
_UNWINDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_NEEDED = ("PATH", "TMPDIR", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")


class EmbeddedError(Exception):
    """A part of the embedded stack cannot run; the message is one sentence with the next step."""


class PortTakenError(EmbeddedError):
    """Another process listens on the port."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """The user and group a child runs as."""

    uid: int
    gid: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """What to run and how to stop it. `env` is the whole environment, `stdin` is sent whole."""

    name: str
    argv: tuple[str, ...]
    cwd: Path
    log: Path
    env: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    stdin: bytes = b""
    account: Account | None = None
    stop_signal: signal.Signals = signal.SIGTERM
    stop_seconds: float = 10.0


class Child:
    """A running command. Its log of this run starts at the byte where the file ended before."""

    def __init__(self, command: Command, popen: subprocess.Popen[bytes], *, log_start: int) -> None:
        self._command = command
        self._popen = popen
        self._log_start = log_start

    @property
    def name(self) -> str:
        return self._command.name

    @property
    def pid(self) -> int:
        return self._popen.pid

    def exit_code(self) -> int | None:
        return self._popen.poll()

    def await_ready(self, is_ready: Callable[[], bool], *, seconds: float) -> None:
        """Raise EmbeddedError when the child ends, or is not ready in time."""
        deadline = time.monotonic() + seconds
        while not is_ready():
            if self.exit_code() is not None:
                raise self._ended()
            if time.monotonic() > deadline:
                raise EmbeddedError(
                    f"{self.name} was not ready within {seconds:.0f} s "
                    f"(last log line: {self._last_line()!r}); read {self._command.log} and start again."
                )
            time.sleep(_POLL_SECONDS)

    def await_success(self, *, seconds: float) -> None:
        """Wait for a command that ends by itself; raise EmbeddedError unless it ends with code 0."""
        try:
            code = self._popen.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            self.stop()
            raise EmbeddedError(
                f"{self.name} did not end within {seconds:.0f} s; read {self._command.log} and start again."
            ) from None
        if code != 0:
            raise self._ended()

    def stop(self) -> None:
        """Signal, wait, kill. Safe to call again and on a child that has ended."""
        if self.exit_code() is None:
            self._popen.send_signal(self._command.stop_signal)
        try:
            self._popen.wait(timeout=self._command.stop_seconds)
        except subprocess.TimeoutExpired:
            self._popen.kill()
            self._popen.wait()

    def _ended(self) -> EmbeddedError:
        line = self._last_line()
        if "address already in use" in self._log_tail().lower():
            return PortTakenError(
                f"{self.name} found its port already in use ({line!r}); "
                "stop the other process or choose another port."
            )
        return EmbeddedError(
            f"{self.name} ended with code {self.exit_code()} (last log line: {line!r}); "
            f"read {self._command.log} and start again."
        )

    def _log_tail(self) -> str:
        with self._command.log.open("rb") as log:
            end = log.seek(0, os.SEEK_END)
            log.seek(max(self._log_start, end - _TAIL_BYTES))
            return log.read().decode(errors="replace")

    def _last_line(self) -> str:
        lines = self._log_tail().strip().splitlines()
        return lines[-1].strip() if lines else ""


class Supervisor:
    """Spawns children and stops them in reverse order when its context ends."""

    def __init__(self) -> None:
        self._children: list[Child] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def children(self) -> tuple[Child, ...]:
        return tuple(self._children)

    def spawn(self, command: Command) -> Child:
        """Start the command in a session of its own: Ctrl-C reaches us alone, who stop them in order."""
        if threading.current_thread() is not threading.main_thread():
            # The kernel ends a child with the thread that spawned it, not with the process.
            raise RuntimeError("Spawn children from the main thread only.")
        with command.log.open("ab") as log, _uninterrupted():
            log_start = log.tell()
            popen = subprocess.Popen(
                _launched(command),
                cwd=command.cwd,
                env=command.env,
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            child = Child(command, popen, log_start=log_start)
            self._children.append(child)
            _feed(popen, command.stdin)
        return child

    def stop(self) -> None:
        while self._children:
            self._children.pop().stop()


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Signals that unwind us wait until the end of the block: nobody would stop a child that nobody knows."""
    waiting: list[int] = []
    handlers = {number: signal.getsignal(number) for number in _UNWINDING}
    caught = {number: handler for number, handler in handlers.items() if callable(handler)}
    for number in caught:
        signal.signal(number, lambda number, _frame: waiting.append(number))
    try:
        yield
    finally:
        for number, handler in caught.items():
            signal.signal(number, handler)
        for come in waiting:
            signal.raise_signal(come)


def _launched(command: Command) -> list[str]:
    account = f"{command.account.uid}:{command.account.gid}" if command.account else "same"
    launcher = [sys.executable, "-I", "-S", str(_LAUNCHER)]
    return [*launcher, str(os.getpid()), str(int(command.stop_signal)), _GUARD, account, *command.argv]


def _feed(popen: subprocess.Popen[bytes], content: bytes) -> None:
    if popen.stdin is None:
        raise RuntimeError("The child has no standard input.")
    try:
        popen.stdin.write(content)
        popen.stdin.close()
    except BrokenPipeError:
        # The child has ended already: waiting for it tells why.
        return


def bare_environment(**names: str) -> dict[str, str]:
    """What any program needs, and the given names: our own secrets are no business of a database server."""
    return {name: os.environ[name] for name in _NEEDED if name in os.environ} | names


def exit_on_sigterm() -> None:
    """Make SIGTERM unwind like Ctrl-C does, so that every context manager stops what it started."""
    signal.signal(signal.SIGTERM, lambda _number, _frame: sys.exit(128 + signal.SIGTERM))
