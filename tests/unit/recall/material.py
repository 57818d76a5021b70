"""Turns, memories and requests for the tests of the read path."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from api_gateway.recall.assemble import Context, assemble
from api_gateway.recall.query import ContextRequest
from shared.domain.ids import MemoryId, SessionKey, UserKey, turn_id
from shared.domain.memory import Entity, Kind, Memory
from shared.domain.session import CondensedCall, CondensedEntry, CondensedMessage
from shared.domain.turn import Role, ToolCall, Turn
from shared.inference.tokens import counter_for
from shared.ports import SessionRow, TokenCounter
from shared.ports.recall import PendingTurn
from tests.fakes.recall_store import MemoryIndex, RecallStore, TermEmbedder

NOW = datetime(2026, 3, 10, 12, tzinfo=UTC)
THEN = datetime(2026, 3, 1, 12, tzinfo=UTC)
USER = UserKey(UUID(int=7))
SESSION_KEY = SessionKey(UUID(int=8))
OTHER_SESSION = SessionKey(UUID(int=9))
O200K = counter_for(None)


def session(*, applied: int = 0) -> SessionRow:
    return SessionRow(
        session_key=SESSION_KEY,
        session_id="s-1",
        user_key=USER,
        user_id="u-1",
        user_epoch=0,
        epoch=0,
        applied=applied,
        language=None,
        created_at=THEN,
        closed_at=None,
        outcome=None,
        wrap_up=None,
    )


def turn(
    sequence: int,
    role: Role,
    text: str,
    *,
    calls: Sequence[ToolCall] = (),
    answers: str | None = None,
    name: str | None = None,
) -> Turn:
    return Turn(
        turn_id=turn_id(SESSION_KEY, sequence=sequence),
        client_id=None,
        sequence=sequence,
        role=role,
        text=text,
        tokens=O200K.count(text),
        created_at=NOW,
        accepted_at=NOW,
        name=name,
        tool_calls=calls,
        tool_call_id=answers,
    )


def waiting(
    sequence: int, text: str, *, role: Role = "user", session_key: SessionKey = OTHER_SESSION
) -> PendingTurn:
    """A pending turn of another session."""
    said = replace(turn(sequence, role, text), turn_id=turn_id(session_key, sequence=sequence))
    return PendingTurn(turn=said, session_key=session_key, session_id="s-0")


def call(call_id: str, *, name: str = "track", arguments: str = "{}") -> ToolCall:
    return ToolCall(id=call_id, name=name, arguments=arguments)


def dialogue(*texts: str) -> list[Turn]:
    """User and assistant in turn."""
    roles: tuple[Role, Role] = ("user", "assistant")
    return [turn(number, roles[(number + 1) % 2], text) for number, text in enumerate(texts, 1)]


def memory(number: int, text: str, *, kind: Kind = "episode", at: datetime = THEN) -> Memory:
    return Memory(
        memory_id=MemoryId(UUID(int=number)),
        kind=kind,
        category="general",
        text=text,
        language="en",
        trust="user",
        state="live",
        tier="warm",
        importance=0.5,
        version=1,
        valid_from=at,
        created_at=at,
        updated_at=at,
        turn_ids=(turn_id(OTHER_SESSION, sequence=number),),
        session_key=OTHER_SESSION,
        session_id="s-0",
    )


def said_here(made: Memory, *, sequence: int) -> Memory:
    """`made`, taken from a turn of the session that the context is for."""
    return replace(
        made,
        turn_ids=(turn_id(SESSION_KEY, sequence=sequence),),
        session_key=SESSION_KEY,
        session_id="s-1",
    )


def entry(
    first: int, last: int, *texts: str, summary: str = "short", calls: Sequence[CondensedCall] = ()
) -> CondensedEntry:
    roles = ("user", "assistant")
    messages = [CondensedMessage(role=roles[n % 2], text=text) for n, text in enumerate(texts)]
    if calls:
        messages.append(CondensedMessage(role="assistant", text="", calls=calls))
    return CondensedEntry(
        first=first,
        last=last,
        messages=messages,
        summary=summary,
        entities=(Entity(kind="order", value="A100234", text="A100234"),),
        calls=calls,
        valid_from=THEN,
    )


def request(**changes: Any) -> ContextRequest:
    made = ContextRequest(session=session(), user_key=USER, max_tokens=4_000, now=NOW)
    return replace(made, **changes)


@dataclass
class Shop:
    """A store with its index and embedder."""

    store: RecallStore = field(default_factory=RecallStore)
    embedder: TermEmbedder = field(init=False)
    index: MemoryIndex = field(init=False)

    def __post_init__(self) -> None:
        self.embedder = TermEmbedder(store=self.store)
        self.index = MemoryIndex(embedder=self.embedder, store=self.store)

    def context(self, asked: ContextRequest, *, counter: TokenCounter = O200K) -> Context:
        return assemble(
            asked, begin=self.store.begin, index=self.index, embedder=self.embedder, counter=counter
        )
