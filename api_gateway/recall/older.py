"""Condensed memory: the session before its working memory, as it stood or compressed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from api_gateway.recall.elements import ELLIPSIS, compressed, said, verbatim
from api_gateway.recall.exchange import Exchange
from api_gateway.recall.rank import Ranked
from shared.domain.ids import TurnId, turn_id
from shared.domain.session import CondensedEntry
from shared.domain.turn import Turn
from shared.ports import SessionRow, TokenCounter

# A turn shortened to less than this says nothing.
_LEAST_TOKENS = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A part of the memory block, rendered. `ranked` is the memory it shows, if it shows one."""

    text: str
    tokens: int
    turn_ids: tuple[TurnId, ...]
    ranked: Ranked | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Older:
    """`brief` takes the place of `full` over the limit, and is never the longer one."""

    first: int
    full: Piece
    brief: Piece


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """What is known of a session's course: its newest turns, and the condensed entries of older ones."""

    session: SessionRow
    exchanges: Sequence[Exchange]
    entries: Sequence[CondensedEntry]

    def before(self, kept: Sequence[Exchange]) -> list[CondensedEntry | Exchange]:
        """All but `kept`, newest first and nothing twice: entries that hold no kept turn, and the turns that
        no such entry holds, because nothing folded them yet or their entry reaches into `kept`."""
        sequences = {turn.sequence for exchange in kept for turn in exchange.turns}
        entries = [each for each in self.entries if not sequences.intersection(_covered(each))]
        folded = {sequence for entry in entries for sequence in _covered(entry)}
        turns = [each for each in self.exchanges if each.turn.sequence not in sequences | folded]
        return sorted([*entries, *turns], key=_first, reverse=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Condenser:
    """`share_removed` is what shortening takes from a turn that no entry has compressed. What was rendered is
    kept: it is asked for again with another window."""

    session: SessionRow
    counter: TokenCounter
    share_removed: float
    made: dict[tuple[bool, int], Older] = field(default_factory=dict)

    def olders(self, past: Sequence[CondensedEntry | Exchange], *, limit: int) -> list[Older]:
        """In the order given, as far as `limit` tokens can reach."""
        found: list[Older] = []
        used = 0
        for each in past:
            if used > limit:
                break
            found.append(self._older(each))
            used += found[-1].brief.tokens
        return found

    def _older(self, each: CondensedEntry | Exchange) -> Older:
        key = (isinstance(each, CondensedEntry), _first(each))
        if key not in self.made:
            self.made[key] = self._entry(each) if isinstance(each, CondensedEntry) else self._exchange(each)
        return self.made[key]

    def _entry(self, entry: CondensedEntry) -> Older:
        ids = tuple(turn_id(self.session.session_key, sequence=n) for n in _covered(entry))
        return _older(
            entry.first,
            full=self._piece(verbatim(entry), turn_ids=ids),
            brief=self._piece(compressed(entry), turn_ids=ids),
        )

    def _exchange(self, exchange: Exchange) -> Older:
        return _older(
            exchange.turn.sequence, full=self._said(exchange), brief=self._said(self._shortened(exchange))
        )

    def _said(self, exchange: Exchange) -> Piece:
        return self._piece(said(exchange, session_id=self.session.session_id), turn_ids=exchange.turn_ids)

    def _piece(self, text: str, *, turn_ids: tuple[TurnId, ...]) -> Piece:
        return Piece(text=text, tokens=self.counter.count(text), turn_ids=turn_ids)

    def _shortened(self, exchange: Exchange) -> Exchange:
        results = {call_id: self._cut(result) for call_id, result in exchange.results.items()}
        return replace(exchange, turn=self._cut(exchange.turn), results=results)

    def _cut(self, turn: Turn) -> Turn:
        tokens = self.counter.count(turn.text)
        kept = max(round(tokens * (1 - self.share_removed)), _LEAST_TOKENS)
        if tokens <= kept:
            return turn
        return replace(turn, text=self.counter.head(turn.text, tokens=kept) + ELLIPSIS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Condensed:
    """Oldest first; `verbatim` are the turns that stand as they were said."""

    pieces: tuple[Piece, ...] = ()
    verbatim: frozenset[TurnId] = frozenset()

    @property
    def tokens(self) -> int:
        return sum(piece.tokens for piece in self.pieces)


def fill_condensed(olders: Sequence[Older], *, limit: int) -> Condensed:
    """`olders` newest first. Over the limit they are compressed, and if they still are, the oldest are
    dropped; then, from the newest on, they stand as they were said while that fits."""
    kept = list(_fitting(olders, limit=limit))
    left = limit - sum(each.brief.tokens for each in kept)
    pieces: list[Piece] = []
    whole: set[TurnId] = set()
    for each in kept:
        more = each.full.tokens - each.brief.tokens
        fits = more <= left
        left -= more if fits else 0
        pieces.append(each.full if fits else each.brief)
        whole.update(each.full.turn_ids if fits else ())
    return Condensed(pieces=tuple(reversed(pieces)), verbatim=frozenset(whole))


def _fitting(olders: Sequence[Older], *, limit: int) -> Iterator[Older]:
    left = limit
    for each in olders:
        if each.brief.tokens > limit:
            continue
        if each.brief.tokens > left:
            return
        left -= each.brief.tokens
        yield each


def _older(first: int, *, full: Piece, brief: Piece) -> Older:
    return Older(first=first, full=full, brief=brief if brief.tokens < full.tokens else full)


def _first(each: CondensedEntry | Exchange) -> int:
    return each.first if isinstance(each, CondensedEntry) else each.turn.sequence


def _covered(entry: CondensedEntry) -> range:
    return range(entry.first, entry.last + 1)
