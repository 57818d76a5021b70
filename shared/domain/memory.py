from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from shared.domain.ids import MemoryId, SessionKey, TurnId

Kind = Literal[
    "episode",
    "fact",
    "preference",
    "event",
    "issue",
    "attempt",
    "promise",
    "tool_result",
    "document",
    "summary",
    "image",
]
Category = Literal["technical", "factual", "billing", "order", "account", "complaint", "general"]
State = Literal["pending", "live", "duplicate", "superseded", "quarantined", "dead"]
Tier = Literal["hot", "warm", "cold"]
Trust = Literal["user", "assistant", "tool", "operator"]
EntityKind = Literal[
    "order",
    "tracking",
    "device",
    "version",
    "error_code",
    "money",
    "date",
    "phone",
    "email",
    "url",
    "person",
    "place",
    "organization",
    "identifier",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Entity:
    """`value` is canonical (E.164, ISO date, upper-case code) and what two mentions are compared by;
    `text` is how it was written."""

    kind: EntityKind
    value: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """A place that holds one value at a time: `subject` (the user, or an order id, a device) and
    `attribute` (phone, address, device_model, status)."""

    subject: str
    attribute: str
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """Something worth keeping beyond its session, in the language it was said in.

    `sequences` are the turns it was taken from, never empty for a live batch. Without a `slot` it is
    compared by its text; with one, by the slot.
    """

    kind: Kind
    category: Category
    text: str
    language: str
    trust: Trust
    importance: float
    sequences: Sequence[int]
    valid_from: datetime
    slot: Slot | None = None
    entities: Sequence[Entity] = ()
    metadata: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """A memory as it is read back. `text` of an episode is its turn's text.

    `sequence` is its first source's; `valid_seq` the one that breaks ties of `valid_from`.
    """

    memory_id: MemoryId
    kind: Kind
    category: Category
    text: str
    language: str
    trust: Trust
    state: State
    tier: Tier
    importance: float
    version: int
    valid_from: datetime
    created_at: datetime
    updated_at: datetime
    valid_to: datetime | None = None
    merged_into: MemoryId | None = None
    superseded_by: MemoryId | None = None
    pinned: bool = False
    wrong: bool = False
    slot: Slot | None = None
    entities: Sequence[Entity] = ()
    turn_ids: Sequence[TurnId] = ()
    session_key: SessionKey | None = None
    session_id: str | None = None
    sequence: int | None = None
    valid_seq: int = 0
    role: str | None = None
    access_count: int = 0
    metadata: Mapping[str, object] = field(default_factory=dict)


def importance_of(text: str, *, words: Sequence[str], entities: int, remember: bool) -> float:
    """The mean of length min(n/500, 1), complexity (share of words over six letters, or over two
    characters in Chinese) and question (0.8 with a question mark, else 0.3); each entity adds 0.05 up to
    0.2 and an explicit "remember" adds 0.3. Between 0 and 1."""
    length = min(len(text) / 500, 1.0)
    long_words = sum(1 for word in words if len(word) > (6 if word.isascii() else 2))
    complexity = min(long_words / len(words), 1.0) if words else 0.0
    question = 0.8 if "?" in text or "？" in text else 0.3
    raised = min(entities * 0.05, 0.2) + (0.3 if remember else 0.0)
    return min((length + complexity + question) / 3 + raised, 1.0)
