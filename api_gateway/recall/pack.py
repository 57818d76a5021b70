"""What goes into a context, part by part, within its budget.

Filled in the order of what hurts most to miss: the newest user turn, the round it opened, working memory,
condensed memory, profile, memories. Rendered in the order of what changes least.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Protocol

from api_gateway.recall.budget import Parts, grants
from api_gateway.recall.exchange import Exchange
from api_gateway.recall.long_term import LongTerm, Shelf, fill_long_term, unrepeated
from api_gateway.recall.older import Condenser, Older, Past, Piece, fill_condensed
from api_gateway.recall.query import ContextRequest, Section
from api_gateway.recall.rank import Ranked
from api_gateway.recall.working import (
    fill_working,
    newest_turns,
    newest_user,
    required,
    shortened,
    window,
)
from shared.domain.ids import MemoryId, TurnId
from shared.ports import TokenCounter

# A memory may take a quarter of the long-term share, and this much of the smallest.
_MEMORIES_AT_LEAST = 4
_SHORTEST_MEMORY = 48


class Form(Protocol):
    """How a format charges for what it renders; `block` is what remembered parts cost before the first
    piece."""

    @property
    def fixed(self) -> int: ...

    @property
    def block(self) -> int: ...

    def tags(self, section: Section) -> int: ...

    def cost(self, exchange: Exchange) -> int: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Materials:
    """`profile` and `ranked` best first; `past` is None before the session's first turn."""

    past: Past | None
    profile: Sequence[Ranked]
    ranked: Sequence[Ranked]

    @property
    def window(self) -> list[Exchange]:
        return window(self.past.exchanges, applied=self.past.session.applied) if self.past else []


@dataclass(frozen=True, slots=True, kw_only=True)
class Packed:
    """Each part in the order it is read; the working part oldest first."""

    profile: tuple[Piece, ...] = ()
    condensed: tuple[Piece, ...] = ()
    memories: tuple[Piece, ...] = ()
    working: tuple[Exchange, ...] = ()

    @property
    def sections(self) -> tuple[tuple[Section, tuple[Piece, ...]], ...]:
        """The remembered ones, in the order they are rendered."""
        return (("profile", self.profile), ("condensed", self.condensed), ("memories", self.memories))


@dataclass(frozen=True, slots=True, kw_only=True)
class Packer:
    """Packs one context: rows are rendered once, though shares are granted before they are filled."""

    request: ContextRequest
    form: Form
    counter: TokenCounter
    made_olders: dict[tuple[bool, int], Older] = field(default_factory=dict)
    made_pieces: dict[MemoryId, Piece] = field(default_factory=dict)

    def pack(self, materials: Materials) -> Packed:
        """Within the budget where counts add up, but for a newest user turn that is longer by itself.

        The newest turns come first at any budget, so that a larger one never shows fewer of them; what else
        is shown may change for something better, and `used` fall by less than the piece that gave way.
        """
        spoken = materials.window if "working" in self.request.include else []
        room = self.request.max_tokens - self.form.fixed
        total = room - self._frame()
        least = self._tokens(newest_turns(spoken, cost=self.form.cost, limit=room))
        if total > least:
            packed = self._parts(materials, spoken=spoken, total=total, least=least)
            if any(pieces for _, pieces in packed.sections):
                return packed
        return Packed(working=tuple(fill_working(spoken, cost=self.form.cost, limit=room)))

    def _parts(self, materials: Materials, *, spoken: Sequence[Exchange], total: int, least: int) -> Packed:
        """What the parts leave of their grants goes to the newest turns that are not in it yet."""
        granted = self._grants(materials, spoken=spoken, total=total, least=least)
        working = fill_working(spoken, cost=self.form.cost, limit=granted.working)
        packed = self._filled(materials, working=working, total=total, long_term=granted.long_term)
        left = total - _cost(packed, form=self.form)
        more = fill_working(spoken, cost=self.form.cost, limit=self._tokens(working) + left)
        if _ids(more) == _ids(working):
            return packed
        kept = sum(piece.tokens for piece in (*packed.profile, *packed.memories))
        return self._filled(materials, working=more, total=total, long_term=kept)

    def _filled(
        self, materials: Materials, *, working: Sequence[Exchange], total: int, long_term: int
    ) -> Packed:
        """Around `working`, with `long_term` tokens kept from condensed memory."""
        left = total - self._tokens(working)
        kept = working if "working" in self.request.include else materials.window
        condensed = fill_condensed(self._olders(materials, kept=kept, total=total), limit=left - long_term)
        remembered = self._long_term(
            materials, verbatim=condensed.verbatim | _ids(working), total=total, limit=left - condensed.tokens
        )
        return Packed(
            profile=remembered.profile,
            condensed=condensed.pieces,
            memories=remembered.memories,
            working=tuple(working),
        )

    def _grants(self, materials: Materials, *, spoken: Sequence[Exchange], total: int, least: int) -> Parts:
        split = self.request.split
        window = materials.window
        olders = self._olders(materials, kept=window, total=total)
        verbatim = _ids(window)
        share = round(total * (split.working + split.condensed))
        return grants(
            total,
            split=split,
            required=max(least, required(spoken, cost=self.form.cost, limit=share)),
            demand=Parts(
                working=self._tokens(spoken),
                condensed=sum(each.full.tokens for each in olders),
                long_term=self._long_term(materials, verbatim=verbatim, total=total, limit=total).tokens,
            ),
        )

    def _olders(self, materials: Materials, *, kept: Sequence[Exchange], total: int) -> list[Older]:
        if materials.past is None or "condensed" not in self.request.include:
            return []
        condenser = Condenser(
            session=materials.past.session,
            counter=self.counter,
            share_removed=self.request.share_removed,
            made=self.made_olders,
        )
        return condenser.olders(materials.past.before(kept), limit=total)

    def _long_term(
        self, materials: Materials, *, verbatim: frozenset[TurnId], total: int, limit: int
    ) -> LongTerm:
        share = round(total * self.request.split.long_term)
        shelf = Shelf(
            counter=self.counter,
            longest=max(share // _MEMORIES_AT_LEAST, _SHORTEST_MEMORY),
            made=self.made_pieces,
        )
        profile = materials.profile if "profile" in self.request.include else ()
        ranked = materials.ranked if "memories" in self.request.include else ()
        fresh = unrepeated(ranked, verbatim=verbatim, profile=[each.memory for each in profile])
        return fill_long_term(
            shelf.pieces(profile, limit=total),
            memories=shelf.pieces(list(islice(fresh, self.request.top_k)), limit=total),
            limit=limit,
        )

    def _frame(self) -> int:
        sections: tuple[Section, ...] = ("profile", "condensed", "memories")
        wanted = [section for section in sections if section in self.request.include]
        return self.form.block + sum(map(self.form.tags, wanted))

    def _tokens(self, exchanges: Sequence[Exchange]) -> int:
        return sum(map(self.form.cost, exchanges))


def lessened(packed: Packed, *, by: int, form: Form, counter: TokenCounter) -> Packed:
    """`packed` without at least `by` tokens: the last memories go first, then the oldest of the session, then
    the profile's end; the newest user turn is cut last of all. In the end nothing is left."""
    limit = _cost(packed, form=form) - by
    while _cost(packed, form=form) > limit:
        smaller = _without_one(packed)
        if smaller is None:
            cuts = [shortened(each, cost=form.cost, limit=limit, counter=counter) for each in packed.working]
            return Packed(working=tuple(cut for cut in cuts if cut))
        packed = smaller
    return packed


def _without_one(packed: Packed) -> Packed | None:
    """None when nothing is left, or the newest user turn alone."""
    if packed.memories:
        return replace(packed, memories=packed.memories[:-1])
    if packed.condensed:
        return replace(packed, condensed=packed.condensed[1:])
    if packed.profile:
        return replace(packed, profile=packed.profile[:-1])
    user = newest_user(packed.working)
    oldest = next((each for each in packed.working if each is not user), None)
    if oldest is None:
        return None
    return replace(packed, working=tuple(each for each in packed.working if each is not oldest))


def _cost(packed: Packed, *, form: Form) -> int:
    pieces = sum(piece.tokens for _, found in packed.sections for piece in found)
    return pieces + sum(map(form.cost, packed.working))


def _ids(exchanges: Sequence[Exchange]) -> frozenset[TurnId]:
    return frozenset(turn_id for each in exchanges for turn_id in each.turn_ids)
