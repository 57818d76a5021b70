"""Summaries with a language model, the pure half. What it writes takes the place of the rules' summary of the
same round only where it fits the limits and rests on the round; else the rules' stays, round by round.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from markupsafe import Markup
from pydantic import BaseModel, ConfigDict, ValidationError

from shared.domain.errors import ModelAnswerUnusable
from shared.domain.session import CondensedEntry
from shared.domain.turn import Turn
from shared.ports import Prompt
from shared.text import markup
from shared.text.sanitize import clean_model_text
from workers.prompts import prompt_text
from workers.rules.entities import EntityFinder
from workers.rules.gist import fits
from workers.rules.grounding import is_grounded, same_script, turn_element


class SummaryAnswer(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    first: int
    summary: str


class SummariesAnswer(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    summaries: list[SummaryAnswer]


@dataclass(frozen=True, slots=True, kw_only=True)
class Condensed:
    """`replaced` counts the entries whose summary is the model's."""

    entries: Sequence[CondensedEntry]
    replaced: int


def prompt_for(rounds: Sequence[Sequence[Turn]], *, language: str) -> Prompt:
    elements = [
        markup.element(
            "round",
            attributes={"first": str(turns[0].sequence)},
            children=[turn_element(turn) for turn in turns if turn.role != "system"],
        )
        for turns in rounds
    ]
    return Prompt(
        name="summarize",
        system=prompt_text("summarize", language=language),
        user=str(markup.element("rounds", children=[Markup("\n"), *(one + "\n" for one in elements)])),
        schema=SummariesAnswer.model_json_schema(),
    )


def summaries_from(
    answer: Mapping[str, object],
    *,
    rounds: Sequence[Sequence[Turn]],
    entries: Sequence[CondensedEntry],
    finder: EntityFinder,
) -> Condensed:
    """`entries` are the rules' own, one a round. Raises ModelAnswerUnusable when no summary can be used."""
    items = answer.get("summaries")
    if not isinstance(items, list):
        raise ModelAnswerUnusable("the answer holds no list of summaries")
    written = dict(pair for item in items if (pair := _read(item)) is not None)
    result = [
        _better(entry, summary=written.get(entry.first, ""), turns=turns, finder=finder)
        for entry, turns in zip(entries, rounds, strict=True)
    ]
    replaced = sum(new is not old for new, old in zip(result, entries, strict=True))
    if entries and not replaced:
        raise ModelAnswerUnusable(f"none of {len(items)} summaries can be used")
    return Condensed(entries=result, replaced=replaced)


def _read(item: object) -> tuple[int, str] | None:
    try:
        read = SummaryAnswer.model_validate(item)
    except ValidationError:
        return None
    return read.first, " ".join(clean_model_text(read.summary).split())


def _better(
    entry: CondensedEntry, *, summary: str, turns: Sequence[Turn], finder: EntityFinder
) -> CondensedEntry:
    usable = summary and fits(summary) and same_script(summary, turns=turns)
    if not usable or not is_grounded(summary, turns=turns, finder=finder):
        return entry
    return replace(entry, summary=summary)
