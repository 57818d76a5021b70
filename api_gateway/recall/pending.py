"""What the user's other sessions say that no batch has folded yet, taken for the episodes it will become."""

from __future__ import annotations

from collections.abc import Sequence

from api_gateway.recall.channels import overlaps
from api_gateway.recall.rank import Candidate, Channel, candidates
from shared.domain.ids import episode_id
from shared.domain.memory import Memory, Trust, importance_of
from shared.domain.turn import Role
from shared.ports import Hit, SparseVector
from shared.ports.recall import PendingTurn
from shared.text.language import language_of
from shared.text.lexical import terms

_TRUST: dict[Role, Trust] = {
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
    "system": "operator",
}


def episodes(waiting: Sequence[PendingTurn]) -> list[Memory]:
    """Under the ids the episodes will have, so that one which is folded meanwhile is not told twice. A turn
    without text becomes none."""
    return [_episode(each) for each in waiting if each.turn.text.strip()]


def waiting_candidates(found: Sequence[Memory], *, query: SparseVector) -> list[Candidate]:
    """`found` newest first. Nothing of it is embedded: it is ranked by its own words, or where no word is
    asked for, by its age."""
    said = overlaps(found, query=query)
    newest = [] if said else [Hit(memory_id=memory.memory_id, score=0.0) for memory in found]
    named: list[tuple[Channel, list[Hit]]] = [("words", said), ("newest", newest)]
    return candidates(found, channels={name: hits for name, hits in named if hits})


def _episode(waiting: PendingTurn) -> Memory:
    turn = waiting.turn
    return Memory(
        memory_id=episode_id(waiting.session_key, sequence=turn.sequence, piece=0),
        kind="episode",
        category="general",
        text=turn.text,
        language=language_of(turn.text, fallback="en"),
        trust=_TRUST[turn.role],
        state="pending",
        tier="hot",
        importance=importance_of(turn.text, words=terms(turn.text), entities=0, remember=False),
        version=1,
        valid_from=min(turn.created_at, turn.accepted_at),
        created_at=turn.accepted_at,
        updated_at=turn.accepted_at,
        turn_ids=(turn.turn_id,),
        session_key=waiting.session_key,
        session_id=waiting.session_id,
        sequence=turn.sequence,
        valid_seq=turn.sequence,
        role=turn.role,
    )
