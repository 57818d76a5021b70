"""What a closed session leaves behind, drawn from its own sentences."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from shared.domain.memory import Kind, Slot, Statement
from shared.domain.turn import Turn
from workers.rules.entities import EntityFinder
from workers.rules.gist import gist
from workers.rules.kinds import is_refusal
from workers.rules.said import said_in
from workers.rules.sentences import clip, own_words, sentences
from workers.rules.slot_shapes import CORRECTION
from workers.rules.statements import filled, statements

Part = Literal["problem", "tried", "outcome", "promised", "order", "updated", "said"]
_PART_NAMES: dict[str, dict[Part, str]] = {
    "en": {
        "problem": "Problem: {}",
        "tried": "Tried: {}",
        "outcome": "Outcome: {}",
        "promised": "Promised: {}",
        "order": "Order: {}",
        "updated": "Updated: {}",
        "said": "Said: {}",
    },
    "zh": {
        "problem": "问题：{}",
        "tried": "已尝试：{}",
        "outcome": "结果：{}",
        "promised": "承诺：{}",
        "order": "订单：{}",
        "updated": "已更新：{}",
        "said": "内容：{}",
    },
}
_ATTRIBUTE_NAMES = {
    "en": {"phone": "phone {}", "email": "email {}", "address": "address {}", "residence": "residence {}"},
    "zh": {"phone": "电话{}", "email": "邮箱{}", "address": "地址{}", "residence": "住地{}"},
}
_MARKS = ("Agent: ", "客服：")
_LABEL = re.compile(r"^.*?(?::\s|：)")
_LONGEST_PART = 160
_ORDER_STATES = {"status", "delivery_date"}


def wrap_up(turns: Sequence[Turn], *, language: str, finder: EntityFinder, outcome: str | None = None) -> str:
    """A few sentences in their own words, labelled in `language`; empty when nothing was said.

    `outcome` is the caller's word for how the session ended and stands before what was said of it.
    """
    found = statements(turns, finder=finder)
    named = "zh" if language == "zh" else "en"
    promises = _texts(found, kind="promise")[-2:]
    parts: list[tuple[Part, list[str]]] = [
        ("problem", _texts(found, kind="issue")[:2]),
        ("tried", _texts(found, kind="attempt")[-3:]),
        ("outcome", [_bare(outcome)] if outcome and outcome.strip() else _outcome(found)[-1:]),
        ("promised", promises),
        ("order", _order_states(found, promises=promises)[-1:]),
        ("updated", _updated(found, turns=turns, names=_ATTRIBUTE_NAMES[named])),
    ]
    if not any(texts for _, texts in parts):
        parts = [("said", _said(turns, finder=finder))]
    return _joined(parts, named=named)


def _joined(parts: Sequence[tuple[Part, Sequence[str]]], *, named: str) -> str:
    gap, between = ("", "；") if named == "zh" else (" ", "; ")
    names = _PART_NAMES[named]
    return gap.join(
        _ended(names[part].format(between.join(texts)), language=named) for part, texts in parts if texts
    )


def _said(turns: Sequence[Turn], *, finder: EntityFinder) -> list[str]:
    text = gist(list(filled(list(said_in(turns, finder=finder)), orders=())))
    return [text] if text else []


def _texts(found: Sequence[Statement], *, kind: Kind) -> list[str]:
    texts = (one.text for one in found if one.kind == kind)
    return [_bare(text) for text in dict.fromkeys(texts)]


def _outcome(found: Sequence[Statement]) -> list[str]:
    """What was solved or refused, in order. What came to be a problem again was not solved."""
    last_problem = max((one.sequences[-1] for one in found if one.kind == "issue"), default=0)
    return [
        _bare(one.text)
        for one in found
        if (one.metadata.get("solved") and one.sequences[-1] >= last_problem)
        or (one.trust == "assistant" and one.kind == "fact" and one.slot is None and is_refusal(one.text))
    ]


def _order_states(found: Sequence[Statement], *, promises: Sequence[str]) -> list[str]:
    """What became of an order, where no promise says it already."""
    texts = [_bare(one.text) for one in found if one.slot and one.slot.attribute in _ORDER_STATES]
    return [text for text in texts if not any(text in promise or promise in text for promise in promises)]


def _updated(found: Sequence[Statement], *, turns: Sequence[Turn], names: dict[str, str]) -> list[str]:
    """The customer's contact details that took another's place in the session, as they are now."""
    newest: dict[str, Slot] = {}
    changed: set[str] = set()
    for one in found:
        slot = one.slot
        if slot is None or slot.subject != "user" or slot.attribute not in names:
            continue
        earlier = newest.get(slot.attribute)
        if _corrects(one, turns=turns) or (earlier is not None and earlier.value != slot.value):
            changed.add(slot.attribute)
        newest[slot.attribute] = slot
    return [names[name].format(slot.value) for name, slot in newest.items() if name in changed]


def _corrects(statement: Statement, *, turns: Sequence[Turn]) -> bool:
    """Whether it was said as a correction; the words of correction may stand beside the value's clause."""
    value = _LABEL.sub("", statement.text)
    said = (
        sentence
        for turn in turns
        if turn.sequence in statement.sequences
        for sentence in sentences(own_words(turn.text))
        if value in sentence
    )
    return any(CORRECTION.search(sentence) for sentence in said)


def _bare(text: str) -> str:
    for mark in _MARKS:
        text = text.removeprefix(mark)
    return clip(" ".join(text.split()), limit=_LONGEST_PART).rstrip("。.;；!！ ")


def _ended(text: str, *, language: str) -> str:
    if text.endswith(("?", "？", "…")):
        return text
    return text + ("。" if language == "zh" else ".")
