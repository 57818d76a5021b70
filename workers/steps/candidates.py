"""What new statements are held against: neighbors in the index, rows owed to it, rows of their slots."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import get_args

import numpy as np

from shared.domain.errors import IndexUnavailable
from shared.domain.ids import MemoryId, TenantId, UserKey
from shared.domain.memory import Kind, Memory, Statement
from shared.ports import MemoryFilter, Vector, Work, Writing
from shared.text.vectors import cosine
from workers.steps.deciding import Decision, Known, known_of
from workers.tools import Tools

NEIGHBORS = 8
OWED_LIMIT = 2_000
# A user's capacity by default.
STORED_LIMIT = 10_000
STATEMENT_KINDS: tuple[Kind, ...] = tuple(kind for kind in get_args(Kind) if kind != "episode")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fresh:
    """A statement about to be merged, under the id it will have; `order` is its newest turn's sequence."""

    memory_id: MemoryId
    statement: Statement
    vector: Vector | None
    order: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbors:
    """Per fresh statement, in order: ids with their similarity. None where the index was not asked."""

    found: Sequence[dict[MemoryId, float]] | None


NOT_ASKED = Neighbors(found=None)


def neighbors(fresh: Sequence[Fresh], *, user_key: UserKey, tenant_id: TenantId, tools: Tools) -> Neighbors:
    """Outside any transaction. With the vector server down, Postgres alone has to do (see `gather`)."""
    vectors = tools.open_index(tenant_id)
    try:
        return Neighbors(
            found=[
                {
                    hit.memory_id: hit.score
                    for hit in vectors.search(
                        user_key,
                        dense=item.vector,
                        lexical=None,
                        limit=NEIGHBORS,
                        kinds=STATEMENT_KINDS,
                    ).dense
                }
                if _is_compared(item)
                else {}
                for item in fresh
            ]
        )
    except IndexUnavailable:
        return NOT_ASKED


def _is_compared(item: Fresh) -> bool:
    """A statement with a slot is held against that slot alone."""
    return item.vector is not None and item.statement.slot is None


@dataclass(slots=True, kw_only=True)
class Candidates:
    """Live rows read under the user's lock, and what the batch itself has added to them so far."""

    rows: dict[MemoryId, Memory]
    owed: dict[MemoryId, Vector | None]
    found: Sequence[dict[MemoryId, float]]
    added: list[Fresh] = field(default_factory=list)

    def known(self, item: Fresh, *, place: int) -> list[Known]:
        # A text that was edited after the search has no vector, and what was found is not near it.
        similar = self.found[place] if item.vector is not None else {}
        return [
            known_of(memory, similarity=_similarity(item, self.owed.get(memory_id), similar.get(memory_id)))
            for memory_id, memory in self.rows.items()
            if memory_id in similar or memory_id in self.owed or memory.slot is not None
        ] + [_known_fresh(other, to=item) for other in self.added]

    def follow(self, item: Fresh, *, decision: Decision) -> None:
        """Hold later statements of the batch against this one, and no longer against what it replaced."""
        if decision.verdict in ("insert", "supersede"):
            self.added.append(item)
        if decision.verdict == "supersede" and decision.other is not None:
            self.rows.pop(decision.other.memory_id, None)
            self.added = [other for other in self.added if other.memory_id != decision.other.memory_id]


def _similarity(item: Fresh, owed: Vector | None, found: float | None) -> float | None:
    if owed is not None and item.vector is not None and len(owed) == len(item.vector):
        return cosine(owed, item.vector)
    return found


def _known_fresh(other: Fresh, *, to: Fresh) -> Known:
    statement = other.statement
    return Known(
        memory_id=other.memory_id,
        text=statement.text,
        slot=statement.slot,
        entities=statement.entities,
        valid_from=statement.valid_from,
        valid_seq=other.order,
        similarity=_similarity(to, other.vector, None),
    )


def gather(work: Work, fresh: Sequence[Fresh], *, near: Neighbors, writing: Writing) -> Candidates:
    """Hydrate under the user's lock: what changed since the search is owed to the index, and so is here."""
    user_key = writing.user.user_key
    owed = work.memories.owed(user_key, embedder=writing.embedder, limit=OWED_LIMIT)
    statements = [item for item in owed if item.memory.kind != "episode"]
    found = _nearest(work, fresh, writing=writing) if near.found is None else near.found
    ids = sorted({memory_id for similar in found for memory_id in similar})
    rows = work.memories.hydrate(ids, only=MemoryFilter())
    for slot in {item.statement.slot for item in fresh if item.statement.slot is not None}:
        rows += work.memories.by_slot(user_key, subject=slot.subject, attribute=slot.attribute)
    return Candidates(
        rows={memory.memory_id: memory for memory in (*rows, *(item.memory for item in statements))},
        owed={item.memory.memory_id: item.vector for item in statements},
        found=found,
    )


def _nearest(work: Work, fresh: Sequence[Fresh], *, writing: Writing) -> list[dict[MemoryId, float]]:
    """What the index would have answered, found by comparing with every vector that Postgres keeps."""
    compared = [place for place, item in enumerate(fresh) if _is_compared(item)]
    stored = work.memories.statements(writing.user.user_key, embedder=writing.embedder, limit=STORED_LIMIT)
    found: list[dict[MemoryId, float]] = [{} for _ in fresh]
    if not compared or not stored:
        return found
    ours = np.array([fresh[place].vector for place in compared], dtype=np.float32)
    theirs = np.array([item.vector for item in stored], dtype=np.float32)
    for place, scores in zip(compared, ours @ theirs.T, strict=True):
        nearest = np.argsort(-scores, kind="stable")[:NEIGHBORS]
        found[place] = {stored[at].memory.memory_id: float(scores[at]) for at in nearest}
    return found
