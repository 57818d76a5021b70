"""The slow questions of a recall, asked of the embedder and the vector server while no transaction is
open."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from shared.domain.errors import EmbedderUnavailable, IndexUnavailable
from shared.domain.ids import UserKey
from shared.domain.memory import Kind
from shared.ports import Embedder, Hits, SparseVector, Vector, VectorIndex
from shared.text.lexical import query_vector

# As `degraded` names them.
Part = Literal["embedder", "vectors"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """`channel` is how many hits a channel of the index gives."""

    channel: int = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """`dense` is None when nothing is asked or the embedder did not answer in time; stored vectors of other
    names than `embedder` are not comparable with it."""

    text: str
    embedder: str
    dense: Vector | None
    lexical: SparseVector

    @property
    def degraded(self) -> tuple[Part, ...]:
        return ("embedder",) if self.text and self.dense is None else ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Pointers:
    """What the index answered: ids that may be stale, never text. `hits` is None when it did not answer."""

    hits: Hits | None

    @property
    def degraded(self) -> tuple[Part, ...]:
        return ("vectors",) if self.hits is None else ()


def question(text: str, *, embedder: Embedder, deadline: float) -> Question:
    """After `deadline` seconds without a vector the words alone have to do."""
    return Question(
        text=text,
        embedder=embedder.name,
        dense=_embedded(text, embedder=embedder, deadline=deadline),
        lexical=query_vector(text),
    )


def pointers(
    asked: Question, *, user_key: UserKey | None, index: VectorIndex, kinds: Sequence[Kind] = ()
) -> Pointers:
    return Pointers(hits=_hits(asked, user_key=user_key, index=index, kinds=kinds))


def _embedded(text: str, *, embedder: Embedder, deadline: float) -> Vector | None:
    if not text:
        return None
    try:
        return embedder.query(text, deadline=deadline)
    except EmbedderUnavailable:
        return None


def _hits(
    asked: Question, *, user_key: UserKey | None, index: VectorIndex, kinds: Sequence[Kind]
) -> Hits | None:
    if user_key is None or not asked.text:
        return Hits(dense=(), lexical=())
    lexical = asked.lexical if asked.lexical.indices else None
    if asked.dense is None and lexical is None:
        return Hits(dense=(), lexical=())
    try:
        return index.search(user_key, dense=asked.dense, lexical=lexical, limit=Asking().channel, kinds=kinds)
    except IndexUnavailable:
        return None
