"""What the rules read off a fact that was added as a bare text."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

from shared.domain.ids import TurnId
from shared.domain.memory import Statement
from shared.domain.turn import Turn
from shared.ports import NameTagger
from workers.rules.entities import EntityFinder
from workers.rules.statements import statements

NO_TURN = TurnId(UUID(int=0))


def learned(statement: Statement, *, tagger: NameTagger | None) -> Statement:
    """With its entities, and with its slot where the text fills exactly one: so it is merged like any other.

    The rules read it as if the customer had said it.
    """
    finder = EntityFinder(language=statement.language, tagger=tagger)
    slots = {found.slot for found in statements([_said(statement)], finder=finder) if found.slot is not None}
    entities = finder.entities(statement.text, base=statement.valid_from)
    return replace(statement, slot=slots.pop() if len(slots) == 1 else None, entities=tuple(entities))


def _said(statement: Statement) -> Turn:
    return Turn(
        turn_id=NO_TURN,
        client_id=None,
        sequence=0,
        role="user",
        text=statement.text,
        tokens=0,
        created_at=statement.valid_from,
        accepted_at=statement.valid_from,
    )
