"""Whose processor time a measurement took, by the parts of the stack."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter

import psutil

CLIENT = "client"
OTHERS = "others"
# Shares of a core.
FULL = 0.85
NOTABLE = 0.2


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
    def __init__(self, roots: Mapping[str, int]) -> None:
        self._roots = {CLIENT: os.getpid(), **roots}

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
        parts = {name: _seconds(pid, tree=name != CLIENT) for name, pid in self._roots.items()}
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
    """What holds a figure back, from who kept how many of `count` cores busy meanwhile.

    A Python process works on one core, so one that is busy all the time is a bound of its own while other
    cores are idle. A single client waits for each answer, and the path of one request is its bound.
    """
    if sum(cores.values()) >= FULL * count:
        others = cores.get(OTHERS, 0.0)
        shared = f", {others:.1f} of them by other programs" if others >= NOTABLE else ""
        return f"all {count} cores{shared}"
    ours = {name: share for name, share in cores.items() if name != OTHERS}
    busiest = max(ours, key=lambda name: ours[name])
    if ours[busiest] >= FULL:
        return f"the core of the {busiest}"
    return "one request at a time" if clients == 1 else "waiting, not processors"
