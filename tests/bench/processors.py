"""Whose processor time a measurement took, by the parts of the stack."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter

import psutil

CLIENT = "client"
OTHERS = "others"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    at: float
    busy: float
    parts: Mapping[str, float]


@dataclass(slots=True, kw_only=True)
class Split:
    """Cores in use on average, by part; `others` is everything on the machine that is not ours."""

    cores: dict[str, float] = field(default_factory=dict)


class Meter:
    def __init__(self, roots: Mapping[str, Sequence[int]]) -> None:
        self._roots = {CLIENT: [os.getpid()], **roots}

    @contextmanager
    def measured(self) -> Iterator[Split]:
        """The split is filled when the block ends."""
        split = Split()
        before = self._read()
        yield split
        split.cores |= used(before, self._read())

    def _read(self) -> Reading:
        times = psutil.cpu_times()
        busy = sum(times) - times.idle - getattr(times, "iowait", 0.0) - getattr(times, "guest", 0.0)
        parts = {
            name: sum(_seconds(pid, tree=name != CLIENT) for pid in pids)
            for name, pids in self._roots.items()
        }
        return Reading(at=perf_counter(), busy=busy, parts=parts)


def used(before: Reading, after: Reading) -> dict[str, float]:
    elapsed = after.at - before.at
    parts = {name: (after.parts[name] - before.parts[name]) / elapsed for name in after.parts}
    others = (after.busy - before.busy) / elapsed - sum(parts.values())
    return parts | {OTHERS: max(others, 0.0)}


def _seconds(pid: int, *, tree: bool) -> float:
    """Of the process, the children it has waited for and, with `tree`, those alive."""
    root = psutil.Process(pid)
    processes = [root, *root.children(recursive=True)] if tree else [root]
    return sum(_own(process) for process in processes)


def _own(process: psutil.Process) -> float:
    try:
        times = process.cpu_times()
    except psutil.NoSuchProcess:
        return 0.0
    waited: float = times.children_user + times.children_system
    own: float = times.user + times.system
    return own + waited


def bound(cores: Mapping[str, float], *, count: int, clients: int) -> str:
    """What the figure is bound by, from who used how many cores.

    A Python process runs one thread at a time, so its bound is one core; a machine without idle cores bounds
    whatever runs on it; and one client that leaves cores idle waits for its own answers.
    """
    total = sum(cores.values())
    order = sorted(cores, key=lambda name: -cores[name])
    shares = ", ".join(f"{name} {cores[name]:.2f}" for name in order if cores[name] >= SMALLEST_SHARE)
    if total >= FULL * count:
        return f"all {count} cores busy ({shares})"
    if cores.get("gateway", 0.0) >= FULL:
        return f"one core of the gateway ({shares})"
    if clients == 1:
        return f"the path of one request at a time ({shares} cores)"
    return f"waiting, not processors ({shares} cores)"


FULL = 0.85
SMALLEST_SHARE = 0.05
