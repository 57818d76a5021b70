from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from shared.domain.ids import MemoryId, TenantId, UserKey
from shared.domain.memory import Kind
from shared.ports.models import Vector


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
