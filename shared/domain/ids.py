"""Identities. Everything derived from a turn descends from its session's random key, so that an id never
comes back when a session id is used again after an erasure."""

from __future__ import annotations

from typing import NewType
from uuid import UUID, uuid5

TenantId = NewType("TenantId", UUID)
UserKey = NewType("UserKey", UUID)
SessionKey = NewType("SessionKey", UUID)
BatchId = NewType("BatchId", UUID)
TurnId = NewType("TurnId", UUID)
MemoryId = NewType("MemoryId", UUID)


def turn_id(session_key: SessionKey, *, sequence: int) -> TurnId:
    return TurnId(uuid5(session_key, f"turn|{sequence}"))


def episode_id(session_key: SessionKey, *, sequence: int, piece: int) -> MemoryId:
    return MemoryId(uuid5(session_key, f"episode|{sequence}|{piece}"))


def statement_id(session_key: SessionKey, *, first: int, generation: int, ordinal: int) -> MemoryId:
    """`first` is the batch's first sequence, `generation` its pass (0 live, more for replays), `ordinal`
    the statement's place in the recorded output of `extract`."""
    return MemoryId(uuid5(session_key, f"statement|{first}|{generation}|{ordinal}"))
