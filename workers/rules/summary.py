"""Condensed memory without a language model: a round as it stood, and the little that must stay of it.

The summary is the stretch of at most 20 characters (text with Chinese in it) or 12 words that says the most:
gist.py says how that is weighed; nothing is cut inside a code or a word. Beside it stand the round's numbers
and the values of its slots, then what else the budget leaves room for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from shared.domain.memory import Entity, EntityKind
from shared.domain.session import CondensedCall, CondensedEntry, CondensedMessage
from shared.domain.turn import Turn
from shared.ports import TokenCounter
from workers.rules.calls import JoinedCall, joined_calls
from workers.rules.entities import EntityFinder
from workers.rules.gist import gist, newest_slots
from workers.rules.keeping import valid_from
from workers.rules.said import Said, said_in
from workers.rules.sentences import clip, own_words
from workers.rules.slots import Stated, is_past
from workers.rules.statements import filled
from workers.rules.tool_results import flat, tool_statements

_SHORTEST_RESULT, _LONGEST_PARAMETERS = 40, 120
# What is kept first when not everything fits: what a later question is about, before when and who.
_ENTITY_ORDER: tuple[EntityKind, ...] = (
    "error_code", "order", "tracking", "identifier", "phone", "email", "device", "version", "money", "date",
    "url", "organization", "person", "place",
)  # fmt: skip
_ALWAYS_KEPT: frozenset[EntityKind] = frozenset({"error_code", "order", "tracking", "device", "version"})
_IDENTIFYING: frozenset[EntityKind] = frozenset(_ENTITY_ORDER[:6])
# A short round's budget ends with its summary; without its numbers nobody can go on from what is left.
_IDENTIFYING_TOKENS = 32
_SLOT_KINDS: dict[str, EntityKind] = {"address": "place", "name": "person"}
_REPLACEABLE: frozenset[EntityKind] = frozenset({"phone", "email"})
# With less than this removed (persona `technical`) parameters, codes and versions always stay.
_TECHNICAL_SHARE = 0.8


@dataclass(frozen=True, slots=True, kw_only=True)
class Condensing:
    """`share_removed` is the share of a round's tokens that compression takes away."""

    session_id: str
    share_removed: float
    counter: TokenCounter
    finder: EntityFinder

    @property
    def keeps_codes(self) -> bool:
        return self.share_removed < _TECHNICAL_SHARE


def condense(turns: Sequence[Turn], *, by: Condensing) -> CondensedEntry:
    """One round of at least one turn. The tokens that the summary leaves go to entities, then to calls."""
    joined = joined_calls(turns)
    calls = [_call(one, session_id=by.session_id) for one in joined]
    answered = [entity for one in tool_statements(turns, finder=by.finder) for entity in one.entities]
    told = list(
        filled(
            list(said_in(turns, finder=by.finder)),
            orders={one.value for one in answered if one.kind == "order"},
        )
    )
    summary = gist(told)
    left = _budget(turns, by=by) - by.counter.count(summary)
    named = _named(told, answered=answered)
    room = left // 2 if calls else left
    first = list(_fitting(named.identifying, said=summary, left=max(room, _IDENTIFYING_TOKENS), by=by))
    room -= sum(by.counter.count(entity.text) for entity in first)
    entities = [*first, *_fitting(named.other, said=summary, left=room, by=by)]
    left -= sum(by.counter.count(entity.text) for entity in entities)
    return CondensedEntry(
        first=turns[0].sequence,
        last=turns[-1].sequence,
        messages=tuple(_messages(turns, joined=joined, calls=calls)),
        summary=summary,
        entities=tuple(entities),
        calls=tuple(_short(call, left=left // len(calls), by=by) for call in calls),
        valid_from=max(map(valid_from, turns)),
    )


def _budget(turns: Sequence[Turn], *, by: Condensing) -> int:
    return round(sum(turn.tokens for turn in turns) * (1 - by.share_removed))


def _call(joined: JoinedCall, *, session_id: str) -> CondensedCall:
    return CondensedCall(
        session_id=session_id,
        id=joined.call_id,
        name=joined.name,
        arguments=joined.call.arguments if joined.call else "",
        result=joined.answered_in.text if joined.answered_in else "",
    )


def _messages(
    turns: Sequence[Turn], *, joined: Sequence[JoinedCall], calls: Sequence[CondensedCall]
) -> Iterator[CondensedMessage]:
    """A result stands with its call; where the call is in no turn of the round, in a message of its own."""
    for turn in turns:
        pairs = zip(joined, calls, strict=True)
        own = [call for one, call in pairs if (one.made_in or one.answered_in) is turn]
        text = "" if turn.role == "tool" else own_words(turn.text).strip()
        if text or own:
            yield CondensedMessage(role=turn.role, text=text, calls=tuple(own))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Named:
    """Entities by what they are for: `identifying` ones are numbers and the values of slots."""

    identifying: Sequence[Entity]
    other: Sequence[Entity]


def _named(told: Sequence[tuple[Said, Sequence[Stated]]], *, answered: Sequence[Entity]) -> _Named:
    """Each once; a phone or address that another one of the round replaced is not among them."""
    newest = newest_slots(told)
    stale = {one.slot.value for _, stated in told for one in stated} - {slot.value for slot in newest}
    values = [
        Entity(kind=_SLOT_KINDS[slot.attribute], value=slot.value, text=slot.value)
        for slot in newest
        if slot.attribute in _SLOT_KINDS
    ]
    mentioned = [
        one.entity(said.text)
        for said, _ in told
        for one in said.mentions
        if one.kind not in _REPLACEABLE or not (one.value in stale or is_past(said.text, mention=one))
    ]
    named = _distinct([*mentioned, *answered])
    return _Named(
        identifying=_distinct([*values, *(one for one in named if one.kind in _IDENTIFYING)]),
        other=[one for one in named if one.kind not in _IDENTIFYING],
    )


def _distinct(entities: Sequence[Entity]) -> list[Entity]:
    first: dict[tuple[EntityKind, str], Entity] = {}
    for entity in entities:
        first.setdefault((entity.kind, entity.value), entity)
    return sorted(first.values(), key=lambda entity: _ENTITY_ORDER.index(entity.kind))


def _fitting(entities: Sequence[Entity], *, said: str, left: int, by: Condensing) -> Iterator[Entity]:
    for entity in entities:
        cost = by.counter.count(entity.text)
        must_stay = by.keeps_codes and entity.kind in _ALWAYS_KEPT
        if entity.text not in said and (must_stay or cost <= left):
            left -= cost
            yield entity


def _short(call: CondensedCall, *, left: int, by: Condensing) -> CondensedCall:
    parameters = flat(call.arguments)
    if not by.keeps_codes:
        parameters = clip(parameters, limit=_LONGEST_PARAMETERS)
    result = flat(call.result)
    room = len(by.counter.head(result, tokens=max(left - by.counter.count(parameters), 0)))
    return replace(call, arguments=parameters, result=clip(result, limit=max(room, _SHORTEST_RESULT)))
