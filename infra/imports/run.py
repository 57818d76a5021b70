"""An import from file to table."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from infra.calls import Calls, session_path
from infra.imports.batches import gather
from infra.imports.lines import BadLine, Line, read
from infra.imports.sending import send_all

POLL_SECONDS = 0.2


@dataclass(slots=True, kw_only=True)
class Tally:
    """Grows while the import runs; `sessions` are those that got turns which were not there."""

    accepted: int = 0
    duplicates: int = 0
    refused: list[BadLine] = field(default_factory=list)
    sessions: set[str] = field(default_factory=set)


def import_turns(raw_lines: Iterable[bytes], *, calls: Calls, advance: Callable[[int], None]) -> Tally:
    """`advance` is told the bytes that were dealt with."""
    tally = Tally()

    def good() -> Iterator[Line]:
        for line in read(raw_lines):
            if isinstance(line, Line):
                yield line
            else:
                tally.refused.append(line)
                advance(line.size)

    for outcome in send_all(gather(good()), calls=calls):
        tally.accepted += outcome.accepted
        tally.duplicates += outcome.duplicates
        tally.refused += outcome.refused
        if outcome.accepted:
            tally.sessions.add(outcome.session_id)
        advance(outcome.size)
    tally.refused.sort(key=lambda line: line.number)
    return tally


def flush(sessions: Iterable[str], *, calls: Calls) -> None:
    """Work on what is there; without it the last turns of a session wait until it was idle for a while."""
    for session_id in sessions:
        calls.post(session_path(session_id, "flush"))


def await_done(calls: Calls, *, pending: Callable[[int], None]) -> dict[str, int]:
    """The tenant's turns by state once none is pending; `pending` is told how many still are."""
    while True:
        turns: dict[str, int] = calls.get("/v1/stats")["turns"]
        pending(turns["pending"])
        if not turns["pending"]:
            return turns
        time.sleep(POLL_SECONDS)
