"""Turns of made-up conversations for the tests of the rules."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from uuid import UUID

from shared.domain.ids import SessionKey, turn_id
from shared.domain.memory import Kind, Slot, Statement
from shared.domain.turn import Image, Role, ToolCall, Turn
from workers.rules.entities import EntityFinder
from workers.rules.statements import statements

# A Wednesday.
NOW = datetime(2026, 3, 11, 10, tzinfo=UTC)
SESSION_KEY = SessionKey(UUID(int=3))
ENGLISH, CHINESE = EntityFinder(language="en"), EntityFinder(language="zh")


def turn(
    role: Role,
    text: str,
    *,
    sequence: int = 1,
    calls: Sequence[ToolCall] = (),
    answers: str | None = None,
    images: Sequence[Image] = (),
    created_at: datetime | None = None,
) -> Turn:
    at = NOW + timedelta(minutes=sequence - 1)
    return Turn(
        turn_id=turn_id(SESSION_KEY, sequence=sequence),
        client_id=None,
        sequence=sequence,
        role=role,
        text=text,
        tokens=max(len(text) // 4, 1),
        created_at=created_at or at,
        accepted_at=at,
        tool_calls=tuple(calls),
        tool_call_id=answers,
        images=tuple(images),
    )


def user(*texts: str) -> list[Turn]:
    return [turn("user", text, sequence=number) for number, text in enumerate(texts, 1)]


def talk(*lines: tuple[Role, str]) -> list[Turn]:
    return [turn(role, text, sequence=number) for number, (role, text) in enumerate(lines, 1)]


def call(call_id: str, name: str, arguments: str = "{}") -> ToolCall:
    return ToolCall(id=call_id, name=name, arguments=arguments)


def english(turns: Sequence[Turn]) -> list[Statement]:
    return statements(turns, finder=ENGLISH)


def chinese(turns: Sequence[Turn]) -> list[Statement]:
    return statements(turns, finder=CHINESE)


def kinds(found: Sequence[Statement]) -> list[Kind]:
    return [one.kind for one in found]


def slots(found: Sequence[Statement]) -> list[tuple[str, str, str]]:
    return [triple(one.slot) for one in found if one.slot is not None]


def triple(slot: Slot) -> tuple[str, str, str]:
    return slot.subject, slot.attribute, slot.value
