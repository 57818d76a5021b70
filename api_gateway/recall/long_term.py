"""The long-term part: profile and memories, nothing that stands elsewhere in the context."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from api_gateway.recall.elements import ELLIPSIS, remembered
from api_gateway.recall.older import Piece
from api_gateway.recall.rank import Ranked
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
    """Without what is read already: what the profile holds, an episode of a turn that stands in the context
    or in a better episode (a long turn has several), and a statement whose turns all stand there or whose
    words a better memory has.

    A turn that stands in compressed form only may come back as an episode: it says what the summary leaves
    out.
    """
    told: set[TurnId] = set(verbatim)
    better = list(profile)
    for each in ranked:
        if _repeats(each.memory, told=told, verbatim=verbatim, better=better):
            continue
        better.append(each.memory)
        if each.memory.kind == "episode":
            told.update(each.memory.turn_ids)
        yield each


def _repeats(
    memory: Memory, *, told: set[TurnId], verbatim: frozenset[TurnId], better: Sequence[Memory]
) -> bool:
    sources = set(memory.turn_ids)
    if sources and (sources & told if memory.kind == "episode" else sources <= verbatim):
        return True
    said = _unlabeled(memory.text)
    return any(
        memory.memory_id == other.memory_id or (said in other.text and sources & set(other.turn_ids))
        for other in better
    )


def _unlabeled(text: str) -> str:
    """A statement of the agent says whose it is ("Agent: …", 「客服：…」); its turn does not."""
    _, colon, rest = text.replace("：", ": ", 1).partition(": ")
    return rest if colon and rest else text


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
