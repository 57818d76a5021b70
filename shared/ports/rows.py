"""What repositories take and give: plain rows, one tenant's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal
from uuid import UUID

from shared.domain.ids import BatchId, MemoryId, SessionKey, TenantId, TurnId, UserKey
from shared.domain.memory import Category, Entity, Kind, Memory, Slot, State, Trust
from shared.domain.policy import UserPolicy
from shared.domain.session import StepName, TurnState
from shared.domain.turn import Image, Lane, Role, Speaker, ToolCall, Turn
from shared.ports.models import Vector


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
    language: str | None
    created_at: datetime
    closed_at: datetime | None
    outcome: str | None
    wrap_up: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTurn:
    """A turn as it was sent, checked and counted; `created_at` is None when the caller named none.

    `body_hmac` is keyed and taken over the canonical body as sent, before anything is masked.
    """

    client_id: str | None
    role: Role
    text: str
    tokens: int
    body_hmac: bytes
    created_at: datetime | None
    name: str | None = None
    speaker: Speaker | None = None
    tool_calls: Sequence[ToolCall] = ()
    tool_call_id: str | None = None
    images: Sequence[Image] = ()
    metadata: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownTurn:
    body_hmac: bytes
    sequence: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnSize:
    """What deciding about a fold needs of a turn."""

    sequence: int
    tokens: int
    role: Role
    lane: Lane


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnRow:
    turn: Turn
    state: TurnState
    second_pass: str | None
    lane: Lane


@dataclass(frozen=True, slots=True, kw_only=True)
class OwedMemory:
    """A live memory that the index does not hold in its newest form yet; no vector before it is embedded."""

    memory: Memory
    vector: Vector | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A turn that a memory came from."""

    session_key: SessionKey
    session_epoch: int
    sequence: int
    accepted_at: datetime
    turn_id: TurnId


@dataclass(frozen=True, slots=True, kw_only=True)
class NewMemory:
    """A memory to write. `text` is None for an episode: it refers to its turn."""

    memory_id: MemoryId
    kind: Kind
    category: Category
    text: str | None
    language: str
    trust: Trust
    state: State
    importance: float
    valid_from: datetime
    valid_seq: int
    valid_to: datetime | None = None
    merged_into: MemoryId | None = None
    superseded_by: MemoryId | None = None
    slot: Slot | None = None
    entities: Sequence[Entity] = ()
    metadata: Mapping[str, object] = field(default_factory=dict)
    sources: Sequence[Source] = ()
    vector: Vector | None = None
    client_id: str | None = None
    body_hmac: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Writing:
    """On whose behalf memories are written, and for which index."""

    user: UserRow
    embedder: str
    lane: Lane


@dataclass(frozen=True, slots=True, kw_only=True)
class DebtClaim:
    """Something the index must be told, taken by a worker; paid only at the version it was taken at."""

    tenant_id: TenantId
    memory_id: MemoryId
    embedder: str
    user_key: UserKey
    op: Literal["upsert", "delete"]
    version: int
    fence: int
    failures: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Payable:
    """A live memory with what its point is made of: `neighbors` are the texts of the turns around an
    episode; `vector` is None until the text of `text_version` is embedded."""

    memory: Memory
    text_version: int
    vector: Vector | None
    neighbors: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class PageEnd:
    """The last item of a page of a list, newest first: `key` parts what was made at one time."""

    at: datetime
    key: UUID


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A dead letter: why a turn (or a memory added directly) was parked. `error` holds no content."""

    session_key: SessionKey | None
    sequence: int | None
    batch_id: BatchId
    step: StepName
    reason: str
    error: str
    crashes: int
    failures: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantStats:
    accepted: int
    done: int
    dead: int
    pending: int
    erased: int
    hot: int
    warm: int
    cold: int
    oldest_pending_seconds: float
    index_owed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """Where one step of a turn's newest batch stands."""

    step: StepName
    state: str
    error: str | None
    crashes: int
    failures: int
    due_at: datetime | None
    batch_state: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DebtState:
    running: bool
    failures: int
    error: str | None
    due_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchReport:
    batch_id: BatchId
    kind: str
    first: int
    last: int
    state: str
    report: Mapping[str, object]
    opened_at: datetime
    closed_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryRow:
    change_id: UUID
    version: int
    actor: str
    change: str
    before: Mapping[str, object]
    at: datetime
