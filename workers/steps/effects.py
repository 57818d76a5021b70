"""What a decision writes."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from shared.domain.ids import episode_id
from shared.domain.memory import State, Trust, importance_of
from shared.domain.session import BatchKind
from shared.domain.turn import Role, Turn
from shared.ports import NewMemory, SessionRow, Source, Vector, Work, Writing
from shared.text.language import language_of
from shared.text.lexical import terms
from workers.steps.candidates import Fresh
from workers.steps.deciding import Decision

# A caller's clock may run ahead by this much before ours is believed instead.
CLOCK_SKEW = timedelta(minutes=5)
STATE_OF: dict[str, State] = {
    "insert": "live",
    "supersede": "live",
    "late": "superseded",
    "duplicate": "duplicate",
}
TRUST_OF: dict[Role, Trust] = {
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
    "system": "operator",
}


def said_at(turn: Turn) -> datetime:
    """The turn's own time, from which what it says is valid."""
    return min(turn.created_at, turn.accepted_at + CLOCK_SKEW)


def source_of(turn: Turn, *, session: SessionRow) -> Source:
    return Source(
        session_key=session.session_key,
        session_epoch=session.epoch,
        sequence=turn.sequence,
        accepted_at=turn.accepted_at,
        turn_id=turn.turn_id,
    )


def episode_of(turn: Turn, *, session: SessionRow, vector: Vector | None) -> NewMemory:
    """A reference to the turn: never merged, without a text of its own."""
    return NewMemory(
        memory_id=episode_id(session.session_key, sequence=turn.sequence, piece=0),
        kind="episode",
        category="general",
        text=None,
        language=language_of(turn.text, fallback=session.language or "en"),
        trust=TRUST_OF[turn.role],
        state="live",
        importance=importance_of(turn.text, words=terms(turn.text), entities=0, remember=False),
        valid_from=said_at(turn),
        valid_seq=turn.sequence,
        sources=[source_of(turn, session=session)],
        vector=vector,
    )


def memory_of(item: Fresh, *, sources: Sequence[Source], decision: Decision) -> NewMemory:
    statement, other = item.statement, decision.other
    late = decision.verdict == "late" and other is not None
    return NewMemory(
        memory_id=item.memory_id,
        kind=statement.kind,
        category=statement.category,
        text=statement.text,
        language=statement.language,
        trust=statement.trust,
        state=STATE_OF[decision.verdict],
        importance=statement.importance,
        valid_from=statement.valid_from,
        valid_seq=item.order,
        valid_to=other.valid_from if late and other else None,
        superseded_by=other.memory_id if late and other else None,
        merged_into=other.memory_id if decision.verdict == "duplicate" and other else None,
        slot=statement.slot,
        entities=statement.entities,
        metadata=statement.metadata,
        sources=sources,
        vector=item.vector,
    )


def carry_out(
    work: Work, memory: NewMemory, *, decision: Decision, kind: BatchKind, writing: Writing
) -> None:
    """The row of a memory added directly stands already, as `pending`."""
    if kind == "direct":
        changes = {"state": memory.state, "merged_into": memory.merged_into}
        version = work.memories.change(
            memory.memory_id, changes=changes, actor="merge", change=decision.verdict
        )
        work.memories.revise(memory, version=version, writing=writing)
    else:
        work.memories.add(memory, writing=writing)
    other = decision.other
    if other is None:
        return
    if decision.verdict == "duplicate":
        work.memories.add_sources_of(memory, to=other.memory_id)
    elif decision.verdict == "supersede":
        work.memories.supersede(
            other.memory_id, by=memory.memory_id, valid_to=memory.valid_from, writing=writing
        )
