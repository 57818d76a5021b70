"""Lines gathered into requests: turns of one session each, in the order of the file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import orjson

from infra.imports.lines import Line

# Below the gateway's own limits (100 turns, 256 KiB), with room for the envelope.
MOST_TURNS = 100
MOST_BYTES = 200_000
# Lines held back, over all sessions, in the hope of more of the same session.
MOST_WAITING = 5_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    session_id: str
    user_id: str
    lines: Sequence[Line]

    @property
    def size(self) -> int:
        return sum(line.size for line in self.lines)

    def body(self) -> bytes:
        return orjson.dumps({"user_id": self.user_id, "turns": [line.turn for line in self.lines]})

    def halves(self) -> tuple[Batch, Batch]:
        middle = len(self.lines) // 2
        return self._of(self.lines[:middle]), self._of(self.lines[middle:])

    def _of(self, lines: Sequence[Line]) -> Batch:
        return Batch(session_id=self.session_id, user_id=self.user_id, lines=lines)


def gather(lines: Iterable[Line], *, most_waiting: int = MOST_WAITING) -> Iterator[Batch]:
    """Batches of a session come in order; a session may come in several."""
    waiting: dict[str, list[Line]] = {}
    held = 0
    for line in lines:
        gathered = waiting.setdefault(line.session_id, [])
        if gathered and not _fits(line, gathered=gathered):
            held -= len(gathered)
            yield _batch(gathered)
            gathered = waiting[line.session_id] = []
        gathered.append(line)
        held += 1
        if held > most_waiting:
            oldest = waiting.pop(next(iter(waiting)))
            held -= len(oldest)
            yield _batch(oldest)
    for gathered in waiting.values():
        yield _batch(gathered)


def _fits(line: Line, *, gathered: Sequence[Line]) -> bool:
    return (
        line.user_id == gathered[0].user_id
        and len(gathered) < MOST_TURNS
        and sum(other.size for other in gathered) + line.size <= MOST_BYTES
    )


def _batch(lines: Sequence[Line]) -> Batch:
    return Batch(session_id=lines[0].session_id, user_id=lines[0].user_id, lines=lines)
