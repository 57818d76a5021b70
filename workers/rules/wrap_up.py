"""What a closed session leaves behind, drawn from its own sentences: problem, attempts, outcome, promises."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from shared.domain.memory import Kind, Statement
from shared.domain.turn import Turn
from workers.rules.entities import EntityFinder
from workers.rules.gist import gist
from workers.rules.said import said_in
from workers.rules.sentences import clip
from workers.rules.statements import statements

Part = Literal["problem", "tried", "outcome", "promised", "said"]
_PART_NAMES: dict[str, dict[Part, str]] = {
    "en": {
        "problem": "Problem: {}",
        "tried": "Tried: {}",
        "outcome": "Outcome: {}",
        "promised": "Promised: {}",
        "said": "Said: {}",
    },
    "zh": {
        "problem": "问题：{}",
        "tried": "已尝试：{}",
        "outcome": "结果：{}",
        "promised": "承诺：{}",
        "said": "内容：{}",
    },
}
_MARKS = ("Agent: ", "客服：")
_LONGEST_PART = 160
_STATED_STATES = {"status", "delivery_date"}


def wrap_up(turns: Sequence[Turn], *, language: str, finder: EntityFinder) -> str:
    """A few sentences in their own words, labelled in `language`; empty when nothing was said."""
    found = statements(turns, finder=finder)
    parts: list[tuple[Part, list[str]]] = [
        ("problem", _texts(found, kind="issue")[:2]),
        ("tried", _texts(found, kind="attempt")[-2:]),
        ("outcome", _outcome(found)[-1:]),
        ("promised", _texts(found, kind="promise")[-2:]),
    ]
    if not any(texts for _, texts in parts):
        parts = [("said", [text] if (text := gist(list(said_in(turns, finder=finder)))) else [])]
    names = _PART_NAMES["zh" if language == "zh" else "en"]
    gap, between = ("", "；") if language == "zh" else (" ", "; ")
    return gap.join(
        _ended(names[part].format(between.join(texts)), language=language) for part, texts in parts if texts
    )


def _texts(found: Sequence[Statement], *, kind: Kind) -> list[str]:
    texts = (one.text for one in found if one.kind == kind)
    return [_bare(text) for text in dict.fromkeys(texts)]


def _outcome(found: Sequence[Statement]) -> list[str]:
    """What was solved, refused or done, in order: the last one is how it ended."""
    return [
        _bare(one.text)
        for one in found
        if one.metadata.get("solved")
        or (one.trust == "assistant" and one.kind == "fact")
        or (one.slot is not None and one.slot.attribute in _STATED_STATES)
    ]


def _bare(text: str) -> str:
    for mark in _MARKS:
        text = text.removeprefix(mark)
    return clip(text, limit=_LONGEST_PART).rstrip("。.;；!！ ")


def _ended(text: str, *, language: str) -> str:
    if text.endswith(("?", "？", "…")):
        return text
    return text + ("。" if language == "zh" else ".")
