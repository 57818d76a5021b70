"""The read path's ports in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import blake2b

from shared.domain.errors import EmbedderUnavailable, IndexUnavailable
from shared.domain.ids import MemoryId, SessionKey, UserKey
from shared.domain.memory import Kind, Memory
from shared.domain.session import CondensedEntry
from shared.domain.turn import Turn
from shared.ports import Hit, Hits, MemoryFilter, OwedMemory, SessionRow, SparseVector, Vector
from shared.ports.recall import PendingTurn
from shared.text.lexical import content_words, document_vector, terms
from shared.text.vectors import cosine, unit


class CharacterCounter:
    """A token a character: sums can be worked by hand."""

    def count(self, text: str) -> int:
        return len(text)

    def head(self, text: str, *, tokens: int) -> str:
        return text[:tokens]


@dataclass
class RecallStore:
    """One user's rows, `elsewhere` newest first. `open_units` is how many units of work are open now."""

    turns: list[Turn] = field(default_factory=list)
    elsewhere: list[PendingTurn] = field(default_factory=list)
    entries: list[CondensedEntry] = field(default_factory=list)
    memories: list[Memory] = field(default_factory=list)
    slots: list[Memory] = field(default_factory=list)
    debts: list[OwedMemory] = field(default_factory=list)
    open_units: int = 0

    @contextmanager
    def begin(self) -> Iterator[StoredWork]:
        self.open_units += 1
        try:
            yield StoredWork(self)
        finally:
            self.open_units -= 1


class StoredWork:
    def __init__(self, store: RecallStore) -> None:
        self.turns = StoredTurns(store)
        self.condensed = StoredCondensed(store)
        self.memories = StoredMemories(store)


@dataclass
class StoredTurns:
    store: RecallStore

    def newest(self, session: SessionRow, *, limit: int) -> list[Turn]:
        del session
        return self.store.turns[-limit:]

    def pending_elsewhere(
        self, user_key: UserKey, *, here: SessionKey | None, limit: int
    ) -> list[PendingTurn]:
        del user_key
        return [each for each in self.store.elsewhere if each.session_key != here][:limit]


@dataclass
class StoredCondensed:
    store: RecallStore

    def newest(self, session_key: SessionKey, *, before: int, limit: int) -> list[CondensedEntry]:
        del session_key
        return [entry for entry in self.store.entries if entry.last < before][-limit:]


@dataclass
class StoredMemories:
    store: RecallStore

    def hydrate(self, memory_ids: Sequence[MemoryId], *, only: MemoryFilter) -> list[Memory]:
        rows = {memory.memory_id: memory for memory in self._rows()}
        return [
            rows[memory_id]
            for memory_id in memory_ids
            if memory_id in rows and _passes(rows[memory_id], only=only)
        ]

    def owed(self, user_key: UserKey, *, embedder: str, limit: int) -> list[OwedMemory]:
        del user_key, embedder
        return self.store.debts[:limit]

    def profile(self, user_key: UserKey) -> list[Memory]:
        del user_key
        return list(self.store.slots)

    def open_issues(self, session_key: SessionKey, *, limit: int) -> list[Memory]:
        issues = [row for row in self._rows() if row.kind == "issue" and row.state == "live"]
        found = [row for row in issues if row.session_key == session_key and row.valid_to is None]
        return sorted(found, key=lambda row: row.valid_from, reverse=True)[:limit]

    def search_text(self, user_key: UserKey, *, words: Sequence[str], limit: int) -> list[Memory]:
        del user_key
        scored = [(len(content_words(memory.text) & set(words)), memory) for memory in self._rows()]
        found = [(score, memory) for score, memory in scored if score]
        found.sort(key=lambda each: (-each[0], each[1].memory_id))
        return [memory for _, memory in found[:limit]]

    def _rows(self) -> list[Memory]:
        owed = {each.memory.memory_id: each.memory for each in self.store.debts}
        known = [*self.store.memories, *self.store.slots]
        return [owed.pop(memory.memory_id, memory) for memory in known] + list(owed.values())


def _passes(memory: Memory, *, only: MemoryFilter) -> bool:
    return (
        memory.state in only.states
        and only.kind in (None, memory.kind)
        and only.category in (None, memory.category)
        and only.session_id in (None, memory.session_id)
    )


@dataclass
class TermEmbedder:
    """Texts that share terms are near each other. `down` is an embedder that misses every deadline."""

    store: RecallStore | None = None
    down: bool = False
    deadlines: list[float] = field(default_factory=list)
    name: str = "terms"
    dimension: int = 64
    same_text: float = 0.9

    def passages(self, texts: Sequence[str]) -> list[Vector]:
        return [self._vector(text) for text in texts]

    def query(self, text: str, *, deadline: float) -> Vector:
        _refuse_open_unit(self.store)
        self.deadlines.append(deadline)
        if self.down:
            raise EmbedderUnavailable("too late")
        return self._vector(text)

    def _vector(self, text: str) -> Vector:
        values = [0.001] * self.dimension
        for term in terms(text):
            values[int.from_bytes(blake2b(term.encode(), digest_size=4).digest()) % self.dimension] += 1
        return unit(values)


@dataclass
class MemoryIndex:
    """Holds points for the store's memories; `stale` ids stay in it whatever the rows say."""

    embedder: TermEmbedder
    store: RecallStore
    down: bool = False
    stale: list[Memory] = field(default_factory=list)

    def search(
        self,
        user_key: UserKey,
        *,
        dense: Vector | None,
        lexical: SparseVector | None,
        limit: int,
        kinds: Sequence[Kind] = (),
    ) -> Hits:
        del user_key
        _refuse_open_unit(self.store)
        if self.down:
            raise IndexUnavailable("down")
        held = [m for m in [*self.store.memories, *self.stale] if not kinds or m.kind in kinds]
        return Hits(
            dense=_best([(m, self._near(m, dense)) for m in held] if dense else [], limit=limit),
            lexical=_best([(m, _overlap(m, lexical)) for m in held] if lexical else [], limit=limit),
        )

    def _near(self, memory: Memory, dense: Vector) -> float:
        return cosine(dense, self.embedder.passages([memory.text])[0])

    def upsert(self, points: Sequence[object]) -> None:
        raise NotImplementedError(points)

    def delete(self, memory_ids: Sequence[MemoryId]) -> None:
        raise NotImplementedError(memory_ids)

    def versions(self, memory_ids: Sequence[MemoryId]) -> dict[MemoryId, int]:
        raise NotImplementedError(memory_ids)

    def count(self, user_key: UserKey) -> int:
        raise NotImplementedError(user_key)


def _overlap(memory: Memory, query: SparseVector) -> float:
    document = document_vector(memory.text)
    weights = dict(zip(document.indices, document.values, strict=True))
    return sum(weights.get(index, 0.0) for index in query.indices)


def _best(scored: Sequence[tuple[Memory, float]], *, limit: int) -> list[Hit]:
    hits = [Hit(memory_id=memory.memory_id, score=score) for memory, score in scored if score > 0]
    return sorted(hits, key=lambda hit: (-hit.score, hit.memory_id))[:limit]


def _refuse_open_unit(store: RecallStore | None) -> None:
    if store is not None and store.open_units:
        raise AssertionError("a transaction is open over a slow call")
