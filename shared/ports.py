"""Every Protocol that the inside speaks to the outside through, small and split by role.

A unit of work is opened for one tenant, so its repositories take no tenant argument and a query across
tenants cannot be written. The vector index is opened the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol

from shared.domain.ids import MemoryId, SessionKey, TenantId, UserKey
from shared.domain.memory import Kind, Memory, State
from shared.domain.policy import UserPolicy
from shared.domain.session import CondensedEntry
from shared.domain.turn import Turn

Vector = tuple[float, ...]


# --- models ---------------------------------------------------------------------------------------------


class TokenCounter(Protocol):
    def count(self, text: str) -> int: ...

    def head(self, text: str, *, tokens: int) -> str:
        """The longest prefix of at most `tokens` tokens, cut between characters."""
        ...


class Embedder(Protocol):
    @property
    def name(self) -> str:
        """Stored with every vector; vectors of other names are never compared."""
        ...

    @property
    def dimension(self) -> int: ...

    @property
    def same_text(self) -> float:
        """Cosine from which two statements may be restatements of each other: it proposes, never decides."""
        ...

    def passages(self, texts: Sequence[str]) -> list[Vector]:
        """One unit vector a text. Raises EmbedderUnavailable."""
        ...

    def query(self, text: str, *, deadline: float) -> Vector:
        """Raises EmbedderUnavailable, at the latest after `deadline` seconds."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    name: str
    system: str
    user: str
    schema: Mapping[str, object]


class ChatModel(Protocol):
    def complete(self, prompt: Prompt, *, deadline: float) -> Mapping[str, object]:
        """One JSON object. Raises ModelUnavailable or ModelAnswerUnusable, within `deadline` seconds."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedSpan:
    kind: Literal["person", "place", "organization"]
    text: str
    start: int
    end: int


class NameTagger(Protocol):
    def names(self, text: str) -> list[NamedSpan]:
        """Persons, places and organizations in Chinese text, in order of appearance."""
        ...


class Redactor(Protocol):
    def redact(self, text: str) -> str: ...


# --- vectors --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class SparseVector:
    """`indices` ascend without repeats."""

    indices: tuple[int, ...]
    values: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    memory_id: MemoryId
    user_key: UserKey
    version: int
    kind: Kind
    dense: Vector
    lexical: SparseVector


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    memory_id: MemoryId
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Hits:
    """The two channels apart, best first, ties by id: they are fused in recall."""

    dense: Sequence[Hit]
    lexical: Sequence[Hit]


class VectorIndex(Protocol):
    """Opened for one tenant. Every call raises IndexUnavailable when the server does not do it."""

    def upsert(self, points: Sequence[Point]) -> None: ...

    def delete(self, memory_ids: Sequence[MemoryId]) -> None: ...

    def search(
        self,
        user_key: UserKey,
        *,
        dense: Vector | None,
        lexical: SparseVector | None,
        limit: int,
        kinds: Sequence[Kind] = (),
    ) -> Hits: ...

    def versions(self, memory_ids: Sequence[MemoryId]) -> dict[MemoryId, int]: ...

    def count(self, user_key: UserKey) -> int: ...


OpenIndex = Callable[[TenantId], VectorIndex]


# --- rows -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class UserRow:
    user_key: UserKey
    user_id: str
    epoch: int
    version: int
    policy: UserPolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRow:
    session_key: SessionKey
    session_id: str
    user_key: UserKey
    user_id: str
    user_epoch: int
    epoch: int
    applied: int
    created_at: datetime
    closed_at: datetime | None
    outcome: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class OwedMemory:
    """A live memory that the index does not hold in its newest form yet; no vector before it is embedded."""

    memory: Memory
    vector: Vector | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryFilter:
    category: str | None = None
    kind: str | None = None
    entity: str | None = None
    session_id: str | None = None
    start: datetime | None = None
    end: datetime | None = None
    states: Sequence[State] = ("live",)
    as_of: datetime | None = None


class RecallTurns(Protocol):
    def newest(self, session: SessionRow, *, limit: int) -> list[Turn]:
        """The last `limit` turns, oldest first, pending ones included, dead and erased ones left out."""
        ...


class RecallCondensed(Protocol):
    def newest(self, session_key: SessionKey, *, before: int, limit: int) -> list[CondensedEntry]:
        """Entries that end before sequence `before`, the newest `limit` of them, oldest first."""
        ...


class RecallMemories(Protocol):
    def hydrate(self, memory_ids: Sequence[MemoryId], *, only: MemoryFilter) -> list[Memory]:
        """Those of the ids that may be served: live under today's epochs and passing the filter."""
        ...

    def owed(self, user_key: UserKey, *, embedder: str, limit: int) -> list[OwedMemory]: ...

    def profile(self, user_key: UserKey) -> list[Memory]:
        """The user's live slot memories, one a slot."""
        ...

    def search_text(self, user_key: UserKey, *, words: Sequence[str], limit: int) -> list[Memory]:
        """Lexical search without the index, for when the vector server is down; best first."""
        ...


class RecallWork(Protocol):
    """The part of a unit of work that the read path uses."""

    @property
    def turns(self) -> RecallTurns: ...

    @property
    def condensed(self) -> RecallCondensed: ...

    @property
    def memories(self) -> RecallMemories: ...
