"""Turns and statements for tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

from shared.domain.memory import Entity, Slot, Statement
from shared.domain.turn import Role
from shared.inference.tokens import counter_for
from shared.ports import NewTurn

PHONE = Slot(subject="user", attribute="phone", value="")
COUNTER = counter_for(None)


def new_turn(
    said: str, *, role: Role = "user", at: datetime | None = None, client_id: str | None = None
) -> NewTurn:
    return NewTurn(
        client_id=client_id,
        role=role,
        text=said,
        tokens=COUNTER.count(said),
        body_hmac=said.encode(),
        created_at=at,
        tool_call_id="call" if role == "tool" else None,
    )


def statement(
    said: str,
    *,
    slot: Slot | None = None,
    sequences: Sequence[int] = (1,),
    at: datetime | None = None,
    entities: Sequence[Entity] = (),
) -> Statement:
    return Statement(
        kind="fact",
        category="general",
        text=said,
        language="en",
        trust="user",
        importance=0.5,
        sequences=sequences,
        valid_from=at or datetime.now(UTC),
        slot=slot,
        entities=entities,
    )


def phone(number: str, *, at: datetime | None = None, sequences: Sequence[int] = (1,)) -> Statement:
    return statement(
        f"My phone number is {number}", slot=replace(PHONE, value=number), at=at, sequences=sequences
    )
