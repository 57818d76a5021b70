"""Extraction with a language model, the pure half: the prompt, and what of its answer may be believed.

An answer that is no list of statements at all, or of which not one is usable, raises ModelAnswerUnusable and
the rules take over. A single statement is dropped and counted by its reason:

- `shape`: unknown kind or category, missing or wrongly typed field
- `text`: empty, or longer than 300 characters
- `sequences`: none, or a turn outside the batch, or a system turn
- `invented`: a number, code or address that stands in no cited turn
- `language`: Chinese out of turns without Chinese, or the reverse
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Literal

from markupsafe import Markup
from pydantic import BaseModel, ConfigDict, StringConstraints, ValidationError

from shared.domain.errors import ModelAnswerUnusable
from shared.domain.memory import Category, Entity, Slot, Statement, Trust
from shared.domain.turn import Turn
from shared.ports import Prompt
from shared.text import markup
from shared.text.language import language_of
from shared.text.sanitize import clean_model_text
from workers.prompts import prompt_text
from workers.rules.entities import EntityFinder
from workers.rules.grounding import is_grounded, same_script, turn_element
from workers.rules.keeping import TRUST, kept

ModelKind = Literal["fact", "preference", "event", "issue", "attempt", "promise"]
Attribute = Literal[
    "phone",
    "email",
    "address",
    "residence",
    "name",
    "company",
    "plan",
    "language",
    "device_model",
    "status",
    "delivery_date",
    "date",
]
Fault = Literal["shape", "text", "sequences", "invented", "language"]
_LONGEST_TEXT = 300
_LONGEST_VALUE = 120
_MOST_STATEMENTS = 64
_SPEAKING = ("user", "assistant", "tool")
# Of several cited turns the one that is trusted least decides.
_LEAST_TRUSTED: tuple[Trust, ...] = ("assistant", "tool", "user")

_Short = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=_LONGEST_VALUE)]


class SlotAnswer(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    subject: _Short
    attribute: Attribute
    value: _Short


class StatementAnswer(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: ModelKind
    category: Category
    text: str
    sequences: list[int]
    slot: SlotAnswer | None


class ExtractAnswer(BaseModel):
    """The form that the model is asked for; each statement is read by itself, so that one can be dropped."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    statements: list[StatementAnswer]


@dataclass(frozen=True, slots=True, kw_only=True)
class Believed:
    statements: Sequence[Statement]
    dropped: Mapping[Fault, int]


def prompt_for(turns: Sequence[Turn], *, language: str, known: Sequence[Entity] = ()) -> Prompt:
    """`known` are entities the rules found: they are shown, so that the model writes them the same way."""
    spoken = [turn_element(turn) for turn in turns if turn.role in _SPEAKING]
    parts = [markup.element("turns", children=_lines(spoken))]
    if known:
        seen = dict.fromkeys((entity.kind, entity.text) for entity in known)
        names = [markup.element("entity", attributes={"kind": kind}, children=[text]) for kind, text in seen]
        parts.append(markup.element("known", children=_lines(names)))
    return Prompt(
        name="extract",
        system=prompt_text("extract", language=language),
        user="\n".join(parts),
        schema=ExtractAnswer.model_json_schema(),
    )


def _lines(elements: Sequence[Markup]) -> list[str]:
    return [Markup("\n"), *(element + "\n" for element in elements)]


def statements_from(answer: Mapping[str, object], *, turns: Sequence[Turn], finder: EntityFinder) -> Believed:
    """Raises ModelAnswerUnusable; see the module for what is dropped instead."""
    items = answer.get("statements")
    if not isinstance(items, list):
        raise ModelAnswerUnusable("the answer holds no list of statements")
    read = [_statement(item, turns=turns, finder=finder) for item in items[:_MOST_STATEMENTS]]
    believed = [one for one in read if isinstance(one, Statement)]
    dropped = Counter(one for one in read if not isinstance(one, Statement))
    if items and not believed:
        raise ModelAnswerUnusable(f"none of {len(items)} statements can be used: {dict(dropped)}")
    return Believed(statements=believed, dropped=dropped)


def _statement(item: object, *, turns: Sequence[Turn], finder: EntityFinder) -> Statement | Fault:
    try:
        read = StatementAnswer.model_validate(item)
    except ValidationError:
        return "shape"
    text = " ".join(clean_model_text(read.text).split())
    cited = _cited(read.sequences, turns=turns)
    fault = _fault(text, cited=cited, slot=read.slot, finder=finder)
    return fault or _built(read, text=text, cited=cited, finder=finder)


def _cited(sequences: Sequence[int], *, turns: Sequence[Turn]) -> list[Turn]:
    """In order; empty when one of them is no speaking turn of the batch."""
    speaking = {turn.sequence: turn for turn in turns if turn.role in _SPEAKING}
    wanted = sorted(set(sequences))
    return [speaking[sequence] for sequence in wanted] if set(wanted) <= speaking.keys() else []


def _fault(
    text: str, *, cited: Sequence[Turn], slot: SlotAnswer | None, finder: EntityFinder
) -> Fault | None:
    if not text or len(text) > _LONGEST_TEXT:
        return "text"
    if not cited:
        return "sequences"
    claimed = text if slot is None else f"{text} {slot.subject} {slot.value}"
    if not is_grounded(claimed, turns=cited, finder=finder):
        return "invented"
    return None if same_script(text, turns=cited) else "language"


def _built(read: StatementAnswer, *, text: str, cited: Sequence[Turn], finder: EntityFinder) -> Statement:
    last = cited[-1]
    language = language_of(text, fallback=finder.language)
    entities = finder.entities(text, base=last.created_at)
    trusted = {TRUST[turn.role] for turn in cited}
    return replace(
        kept(last, kind=read.kind, text=text, language=language, entities=entities),
        category=read.category,
        trust=next(trust for trust in _LEAST_TRUSTED if trust in trusted),
        sequences=tuple(turn.sequence for turn in cited),
        slot=None if read.slot is None else _slot(read.slot, entities=entities),
    )


def _slot(read: SlotAnswer, *, entities: Sequence[Entity]) -> Slot:
    """The value as the rules would have filled it, so that both meet in one slot."""
    value = clean_model_text(read.value)
    canonical = next((entity.value for entity in entities if value in {entity.text, entity.value}), value)
    return Slot(subject=clean_model_text(read.subject), attribute=read.attribute, value=canonical)
