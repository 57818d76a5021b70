from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from shared.domain.ids import BatchId, SessionKey, TenantId, UserKey
from shared.domain.memory import Entity
from shared.domain.turn import Lane

StepName = Literal["extract", "summarize", "embed", "merge", "index"]
QueueName = Literal["extract", "summarize", "embed", "merge", "index", "upkeep"]
BatchKind = Literal["live", "close", "direct"]
TurnState = Literal["pending", "done", "dead", "erased"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FlushPolicy:
    """When pending turns become due; whichever comes first. `rounds=1` means "always flush"."""

    rounds: int = 3
    tokens: int = 300
    idle: timedelta = timedelta(seconds=30)
    tool_finished: bool = True
    working_share: float = 0.9
    fold_turns: int = 24
    fold_tokens: int = 3_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Pending:
    """What a session holds that no batch has folded yet."""

    rounds: int
    tokens: int
    tool_finished: bool
    last_budget: int
    turns: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """Where a session is written: `next_seq` is given to the next turn; turns up to `flush_to` are due."""

    next_seq: int
    flush_to: int
    close_requested: bool
    triggered: bool
    fold_cap: int | None
    pending: Pending


def is_due(pending: Pending, *, policy: FlushPolicy, working_share: float) -> bool:
    """`working_share` is working memory's share of a context budget (0.15 by default)."""
    working_limit = policy.working_share * working_share * pending.last_budget
    return (
        pending.rounds >= policy.rounds
        or pending.tokens > policy.tokens
        or (policy.tool_finished and pending.tool_finished)
        or pending.tokens > working_limit
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A step taken by a worker: `fence` is raised at every claim, and only its holder may record."""

    tenant_id: TenantId
    batch_id: BatchId
    step: StepName
    fence: int
    crashes: int
    failures: int
    error: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """A fold of turns `first..last` (none for `close` and `direct`), pinned to the epochs at its opening."""

    batch_id: BatchId
    kind: BatchKind
    user_key: UserKey
    session_key: SessionKey | None
    first: int
    last: int
    user_epoch: int
    session_epoch: int
    generation: int
    lane: Lane


@dataclass(frozen=True, slots=True, kw_only=True)
class CondensedCall:
    """One tool call of a condensed entry; `result` belongs to this call id and to no other."""

    session_id: str
    id: str
    name: str
    arguments: str
    result: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CondensedMessage:
    role: str
    text: str
    calls: Sequence[CondensedCall] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CondensedEntry:
    """One round of older turns twice over: `messages` as they stood (A1), and compressed to `entities`,
    `summary` and `calls` (B3), which takes their place once the verbatim form is over the limit."""

    first: int
    last: int
    messages: Sequence[CondensedMessage]
    summary: str
    entities: Sequence[Entity]
    calls: Sequence[CondensedCall]
    valid_from: datetime
