"""The one sentence on standard error with which every command ends that cannot do what it was asked for."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

_SAYS = "turnkeep: "
_TAIL_BYTES = 4096


def say(sentence: str) -> None:
    sys.stderr.write(f"{_SAYS}{sentence}\n")
    sys.stderr.flush()


def last_said(log: Path) -> str | None:
    """The sentence that a child's log ends with, if its last line is one."""
    lines = log.read_bytes()[-_TAIL_BYTES:].decode(errors="replace").strip().splitlines()
    return lines[-1].removeprefix(_SAYS) if lines and lines[-1].startswith(_SAYS) else None


def stop_on_signals() -> None:
    """SIGTERM and a closed terminal unwind like Ctrl-C does."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
