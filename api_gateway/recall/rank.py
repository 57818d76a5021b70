"""From several ranked channels to one order, by a named policy."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from api_gateway.recall.courtesy import is_courtesy
from shared.domain.ids import MemoryId
from shared.domain.memory import Memory
from shared.ports import Hit

PolicyName = Literal["fused", "source_similarity", "source_access", "source_decay"]
Channel = Literal["dense", "lexical", "owed", "text", "words", "newest"]
Channels = Mapping[Channel, Sequence[Hit]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fusion:
    """Reciprocal rank fusion: the sum of weight / (k + rank), ranks from 1 (Cormack, Clarke and Büttcher
    2009).

    Importance and recency, 1 / (1 + days), can add at most `importance` + `recency`: less than one rank is
    worth down to rank 90, so they order what fusion leaves level and nothing else. The words of what is
    owed to the index are ranked among few and without IDF, so a place there says half as much. Turns that
    wait to be folded have no other channel than theirs: `words` counts in full, and `newest`, when no word
    of them is asked for, starts where the sixteenth of a channel stands.

    A courtesy counts `courtesy` of its places: the first of two channels falls behind the fiftieth of one.
    """

    k: int = 60
    dense: float = 1.0
    lexical: float = 1.0
    owed: float = 0.5
    text: float = 1.0
    words: float = 1.0
    newest: float = 0.8
    courtesy: float = 0.25
    importance: float = 2e-5
    recency: float = 2e-5


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceSimilarity:
    similarity: float = 0.7
    importance: float = 0.3


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceAccess:
    """`saturation` accesses count as many as any larger number."""

    importance: float = 0.6
    access: float = 0.4
    saturation: int = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceDecay:
    """Similarity × rate^(hours + 1)."""

    rate: float = 0.9


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """`similarity` is the cosine, 0 for what the dense channel did not bring. Without a dense channel it is
    the first channel's score over that channel's best. `ranks` count from 1."""

    memory: Memory
    similarity: float
    ranks: Mapping[Channel, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    memory: Memory
    score: float
    why: str


def candidates(memories: Sequence[Memory], *, channels: Channels) -> list[Candidate]:
    ranks = {
        name: {hit.memory_id: place for place, hit in enumerate(hits, 1)} for name, hits in channels.items()
    }
    similarity = _similarities(channels)
    return [
        Candidate(
            memory=memory,
            similarity=similarity.get(memory.memory_id, 0.0),
            ranks={
                name: places[memory.memory_id] for name, places in ranks.items() if memory.memory_id in places
            },
        )
        for memory in memories
    ]


def rank(found: Sequence[Candidate], *, policy: PolicyName, now: datetime) -> list[Ranked]:
    """Best first, ties by id; what was superseded stands below what took its place."""
    score = _SCORES[policy]
    ranked = [Ranked(memory=c.memory, score=score(c, now), why=_why(c)) for c in found]
    ranked.sort(key=lambda each: (-each.score, each.memory.memory_id))
    return _successors_first(ranked)


def fused(candidate: Candidate, now: datetime) -> float:
    rule = Fusion()
    weights: dict[Channel, float] = {
        "dense": rule.dense,
        "lexical": rule.lexical,
        "owed": rule.owed,
        "text": rule.text,
        "words": rule.words,
        "newest": rule.newest,
    }
    share = rule.courtesy if is_courtesy(candidate.memory) else 1.0
    days = _age(candidate.memory, now=now) / timedelta(days=1)
    nudge = rule.importance * candidate.memory.importance + rule.recency / (1 + days)
    return share * sum(weights[name] / (rule.k + place) for name, place in candidate.ranks.items()) + nudge


def source_similarity(candidate: Candidate, _now: datetime) -> float:
    rule = SourceSimilarity()
    return rule.similarity * candidate.similarity + rule.importance * candidate.memory.importance


def source_access(candidate: Candidate, _now: datetime) -> float:
    rule = SourceAccess()
    used = min(candidate.memory.access_count / rule.saturation, 1.0)
    return rule.importance * candidate.memory.importance + rule.access * used


def source_decay(candidate: Candidate, now: datetime) -> float:
    hours = _age(candidate.memory, now=now) / timedelta(hours=1)
    return candidate.similarity * math.pow(SourceDecay().rate, hours + 1)


_SCORES: dict[PolicyName, Callable[[Candidate, datetime], float]] = {
    "fused": fused,
    "source_similarity": source_similarity,
    "source_access": source_access,
    "source_decay": source_decay,
}


def _age(memory: Memory, *, now: datetime) -> timedelta:
    return max(now - memory.valid_from, timedelta())


def _similarities(channels: Channels) -> dict[MemoryId, float]:
    if "dense" in channels:
        return {hit.memory_id: hit.score for hit in channels["dense"]}
    first = next((hits for hits in channels.values() if hits), [])
    best = max((hit.score for hit in first), default=0.0)
    return {hit.memory_id: hit.score / best for hit in first} if best > 0 else {}


def _why(candidate: Candidate) -> str:
    return ", ".join(f"{name} #{place}" for name, place in candidate.ranks.items())


def _successors_first(ranked: Sequence[Ranked]) -> list[Ranked]:
    present = {each.memory.memory_id for each in ranked}
    placed: dict[MemoryId, Ranked] = {}
    waiting: dict[MemoryId, list[Ranked]] = {}

    def place(each: Ranked) -> None:
        placed[each.memory.memory_id] = each
        for replaced in waiting.pop(each.memory.memory_id, []):
            place(replaced)

    for each in ranked:
        successor = each.memory.superseded_by
        if successor is not None and successor in present and successor not in placed:
            waiting.setdefault(successor, []).append(each)
        else:
            place(each)
    return list(placed.values())
