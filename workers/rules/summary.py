"""Condensed memory without a language model: a round as it stood, and the little that must stay of it.

The summary is the stretch of at most 20 characters (text with Chinese in it) or 12 words that says the most:
codes, numbers and names weigh most, then words of problems and promises, then content words; nothing is cut
inside a code or a word.
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
from workers.rules.gist import gist
from workers.rules.keeping import valid_from
from workers.rules.said import said_in
from workers.rules.sentences import clip, own_words
from workers.rules.tool_results import flat, tool_statements

_SHORTEST_RESULT, _LONGEST_PARAMETERS = 40, 120
# What is kept first when not everything fits: what a later question is about, before when and who.
_ENTITY_ORDER: tuple[EntityKind, ...] = (
    "error_code",
    "order",
    "tracking",
    "device",
    "version",
    "identifier",
    "money",
    "date",
    "phone",
    "email",
    "url",
    "organization",
    "person",
    "place",
)
_ALWAYS_KEPT: frozenset[EntityKind] = frozenset(_ENTITY_ORDER[:5])
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
    said = list(said_in(turns, finder=by.finder))
    summary = gist(said)
    answered = [entity for one in tool_statements(turns, finder=by.finder) for entity in one.entities]
    mentioned = _distinct([*(entity for one in said for entity in one.entities), *answered])
    left = _budget(turns, by=by) - by.counter.count(summary)
    entities = list(_fitting(mentioned, summary=summary, left=left // 2 if calls else left, by=by))
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


def _distinct(entities: Sequence[Entity]) -> list[Entity]:
    first: dict[tuple[EntityKind, str], Entity] = {}
    for entity in entities:
        first.setdefault((entity.kind, entity.value), entity)
    return sorted(first.values(), key=lambda entity: _ENTITY_ORDER.index(entity.kind))


def _fitting(entities: Sequence[Entity], *, summary: str, left: int, by: Condensing) -> Iterator[Entity]:
    for entity in entities:
        cost = by.counter.count(entity.text)
        must_stay = by.keeps_codes and entity.kind in _ALWAYS_KEPT
        if entity.text not in summary and (must_stay or cost <= left):
            left -= cost
            yield entity


def _short(call: CondensedCall, *, left: int, by: Condensing) -> CondensedCall:
    parameters = flat(call.arguments)
    if not by.keeps_codes:
        parameters = clip(parameters, limit=_LONGEST_PARAMETERS)
    result = flat(call.result)
    room = len(by.counter.head(result, tokens=max(left - by.counter.count(parameters), 0)))
    return replace(call, arguments=parameters, result=clip(result, limit=max(room, _SHORTEST_RESULT)))
