from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from shared.domain.memory import Entity, Kind, Statement, Trust, importance_of
from shared.domain.turn import Role, Turn
from shared.text.lexical import content_words
from workers.rules.kinds import asks_to_remember, category_of

TRUST: dict[Role, Trust] = {"user": "user", "assistant": "assistant", "tool": "tool", "system": "operator"}
# A caller's clock may run this far ahead of ours before ours counts.
_AHEAD = timedelta(minutes=5)


def valid_from(turn: Turn) -> datetime:
    return min(turn.created_at, turn.accepted_at + _AHEAD)


def kept(turn: Turn, *, kind: Kind, text: str, language: str, entities: Sequence[Entity]) -> Statement:
    """A statement of one turn, without a slot or metadata yet."""
    importance = importance_of(
        text,
        words=sorted(content_words(text)),
        entities=len(entities),
        remember=turn.role == "user" and asks_to_remember(text),
    )
    return Statement(
        kind=kind,
        category=category_of(text, kind=kind, entities=[one.kind for one in entities]),
        text=text,
        language=language,
        trust=TRUST[turn.role],
        importance=importance,
        sequences=(turn.sequence,),
        valid_from=valid_from(turn),
        entities=tuple(entities),
    )


def remembered(statement: Statement) -> Statement:
    """As important as if its own words asked to remember it."""
    importance = importance_of(
        statement.text,
        words=sorted(content_words(statement.text)),
        entities=len(statement.entities),
        remember=True,
    )
    return replace(statement, importance=importance)
