"""Ends processes that an earlier, killed start left behind in a data directory.

They are found by their working directory: a server's backends leave its process group, and a pid file may
name a pid that belongs to somebody else by now. Only Linux tells working directories (/proc); elsewhere
nothing is found, and the servers' own locks decide.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

from infra.embedded.process import EmbeddedError

_PROC = Path("/proc")
_POLL_SECONDS = 0.01


def can_find_leftovers() -> bool:
    return (_PROC / "self" / "cwd").exists()


def end_leftovers(directory: Path, *, stop_signal: signal.Signals, seconds: float = 10.0) -> None:
    """Stop every process that works in the directory; kill what is left after the deadline."""
    for ending in (stop_signal, signal.SIGKILL):
        for pid in _pids_in(directory):
            _send(pid, ending)
        if _await_empty(directory, seconds=seconds):
            return
    raise EmbeddedError(f"Processes of an earlier start still work in {directory}; end them and start again.")


def _await_empty(directory: Path, *, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while any(_pids_in(directory)):
        if time.monotonic() > deadline:
            return False
        time.sleep(_POLL_SECONDS)
    return True


def _pids_in(directory: Path) -> Iterator[int]:
    place = directory.resolve()
    for entry in _PROC.glob("[0-9]*"):
        try:
            works_here = (entry / "cwd").readlink() == place
        except OSError:
            # Ended meanwhile, or not ours to look at.
            continue
        if works_here and int(entry.name) != os.getpid():
            yield int(entry.name)


def _send(pid: int, ending: signal.Signals) -> None:
    try:
        os.kill(pid, ending)
    except ProcessLookupError:
        return
