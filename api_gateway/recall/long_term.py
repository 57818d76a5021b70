"""The long-term part: profile and memories, nothing that stands elsewhere in the context."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from api_gateway.recall.elements import ELLIPSIS, remembered
from api_gateway.recall.older import Piece
from api_gateway.recall.rank import Ranked
from api_gateway.recall.told import Told, is_raw_answer
from shared.domain.ids import MemoryId, TurnId
from shared.domain.memory import Memory
from shared.ports import TokenCounter


@dataclass(frozen=True, slots=True, kw_only=True)
class LongTerm:
    profile: tuple[Piece, ...] = ()
    memories: tuple[Piece, ...] = ()

    @property
    def tokens(self) -> int:
        return sum(piece.tokens for piece in (*self.profile, *self.memories))


@dataclass(frozen=True, slots=True, kw_only=True)
class Shelf:
    """A memory longer than `longest` tokens is cut to its head, so that one does not crowd out the others.
    What was rendered once is kept."""

    counter: TokenCounter
    longest: int
    made: dict[MemoryId, Piece] = field(default_factory=dict)

    def pieces(self, ranked: Sequence[Ranked], *, limit: int) -> tuple[Piece, ...]:
        """In the order given, as far as `limit` tokens can reach."""
        found: list[Piece] = []
        used = 0
        for each in ranked:
            if used > limit:
                break
            found.append(self._kept(each))
            used += found[-1].tokens
        return tuple(found)

    def _kept(self, ranked: Ranked) -> Piece:
        memory_id = ranked.memory.memory_id
        if memory_id not in self.made:
            self.made[memory_id] = self._piece(ranked)
        return self.made[memory_id]

    def _piece(self, ranked: Ranked) -> Piece:
        text = ranked.memory.text
        head = self.counter.head(text, tokens=self.longest)
        shown = remembered(ranked.memory, text=text if head == text else head + ELLIPSIS)
        return Piece(
            text=shown,
            tokens=self.counter.count(shown),
            turn_ids=tuple(ranked.memory.turn_ids),
            ranked=ranked,
        )


def unrepeated(
    ranked: Sequence[Ranked], *, verbatim: frozenset[TurnId], profile: Sequence[Memory]
) -> Iterator[Ranked]:
    """Without what is read already, which `Told` says. The raw answer of a tool gives its place to the
    statement that tells it.

    A turn that stands in compressed form only may come back as an episode: it says what the summary leaves
    out.
    """
    told = Told(verbatim=verbatim, memories=list(profile))
    statements = _tool_statements(ranked)
    for each in ranked:
        if told.repeats(each.memory):
            continue
        statement = statements.get(each.memory.turn_ids[0]) if is_raw_answer(each.memory) else None
        shown = replace(statement, score=each.score) if statement else each
        if statement is None or not told.repeats(statement.memory):
            told.memories.append(shown.memory)
            yield shown


def _tool_statements(ranked: Sequence[Ranked]) -> dict[TurnId, Ranked]:
    """The best of each turn. One that was clipped leaves something out, so it takes nobody's place."""
    found: dict[TurnId, Ranked] = {}
    for each in ranked:
        if each.memory.kind == "tool_result" and not each.memory.text.endswith(ELLIPSIS):
            for turn_id in each.memory.turn_ids:
                found.setdefault(turn_id, each)
    return found


def fill_long_term(profile: Sequence[Piece], *, memories: Sequence[Piece], limit: int) -> LongTerm:
    """The profile first, then the memories in their order; what does not fit is passed over."""
    kept = tuple(_fitting(profile, limit=limit))
    left = limit - sum(piece.tokens for piece in kept)
    return LongTerm(profile=kept, memories=tuple(_fitting(memories, limit=left)))


def _fitting(pieces: Sequence[Piece], *, limit: int) -> Iterator[Piece]:
    left = limit
    for piece in pieces:
        if piece.tokens <= left:
            left -= piece.tokens
            yield piece
