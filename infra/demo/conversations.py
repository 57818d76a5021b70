"""The two bundled conversations: files of `turnkeep import`, and what changes in the course of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from importlib.resources import files

from infra.imports.lines import Line, read


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A value that the customer gave first, and the one that holds since."""

    name: str
    old: str
    new: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    title: str
    file: str
    change: Change


CONVERSATIONS = (
    Conversation(
        title="English",
        file="english.ndjson",
        change=Change(name="phone", old="+1 415 555 0134", new="+1 415 555 0199"),
    ),
    Conversation(
        title="中文",
        file="chinese.ndjson",
        change=Change(name="地址", old="文三路18号3幢502室", new="江南大道288号2幢1101室"),
    ),
)


def turns_of(conversation: Conversation, *, now: datetime) -> Sequence[Line]:
    """In their order, moved in time as a whole, so that the last turn is said now."""
    raw = files("infra.demo").joinpath(conversation.file).read_bytes()
    lines = [line for line in read(raw.splitlines()) if isinstance(line, Line)]
    return [_moved(line, by=now - _said_at(lines[-1])) for line in lines]


def _said_at(line: Line) -> datetime:
    return datetime.fromisoformat(str(line.turn["created_at"]))


def _moved(line: Line, *, by: timedelta) -> Line:
    return Line(
        number=line.number,
        size=line.size,
        session_id=line.session_id,
        user_id=line.user_id,
        turn={**line.turn, "created_at": (_said_at(line) + by).isoformat()},
    )
