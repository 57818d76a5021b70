"""The channels that are fused: what the index found, and what the user is owed by it."""

from __future__ import annotations

from collections.abc import Sequence

from api_gateway.recall.ask import Pointers, Question
from api_gateway.recall.rank import Channel
from shared.domain.memory import Memory
from shared.ports import Hit, OwedMemory, SparseVector, Vector
from shared.text.lexical import document_vector
from shared.text.vectors import cosine

_LONGEST_CHANNEL = 50


def channels(
    asked: Question, *, pointers: Pointers, owed: Sequence[OwedMemory], by_text: Sequence[Memory]
) -> dict[Channel, list[Hit]]:
    """Each best first, ties by id, none empty. An owed memory is scored by its newest form alone, not by the
    one that the index still holds; its cosine joins the dense channel, its words make a channel of their own,
    because the index weighs words by IDF and this does not."""
    newer = {each.memory.memory_id for each in owed}
    hits = pointers.hits
    dense = [hit for hit in hits.dense if hit.memory_id not in newer] if hits else []
    lexical = [hit for hit in hits.lexical if hit.memory_id not in newer] if hits else []
    made: dict[Channel, list[Hit]] = {
        "dense": _best(dense + _by_vector(owed, query=asked.dense)),
        "lexical": _best(lexical),
        "owed": overlaps([each.memory for each in owed], query=asked.lexical),
        "text": [
            Hit(memory_id=memory.memory_id, score=1 / place)
            for place, memory in enumerate(by_text, 1)
            if memory.memory_id not in newer
        ],
    }
    return {name: found for name, found in made.items() if found}


def _best(hits: Sequence[Hit]) -> list[Hit]:
    return sorted(hits, key=lambda hit: (-hit.score, hit.memory_id))[:_LONGEST_CHANNEL]


def _by_vector(owed: Sequence[OwedMemory], *, query: Vector | None) -> list[Hit]:
    if query is None:
        return []
    return [
        Hit(memory_id=each.memory.memory_id, score=cosine(query, each.vector))
        for each in owed
        if each.vector is not None
    ]


def overlaps(memories: Sequence[Memory], *, query: SparseVector) -> list[Hit]:
    """Those that have a word of `query`, best first, without IDF: there is no collection to take it from."""
    if not query.indices:
        return []
    hits = [
        Hit(memory_id=memory.memory_id, score=_overlap(query, document_vector(memory.text)))
        for memory in memories
    ]
    return _best([hit for hit in hits if hit.score > 0])


def _overlap(query: SparseVector, document: SparseVector) -> float:
    weights = dict(zip(document.indices, document.values, strict=True))
    return sum(
        weights.get(index, 0.0) * value for index, value in zip(query.indices, query.values, strict=True)
    )
