"""Statements worth keeping beyond a session, by rule.

One statement a sentence (kinds.py says which and why), one more for every slot it fills (slots.py), one for
every answered tool call and one for every image. The text is the sentence as it was said, for a slot its
shortest clause that fills it. What the assistant said is marked as such; a bare answer ("12 Oak Street") says
what it answers.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from shared.domain.memory import Kind, Slot, Statement
from shared.domain.turn import Turn
from shared.text.language import language_of
from workers.rules.entities import EntityFinder
from workers.rules.keeping import kept, remembered
from workers.rules.kinds import asks_to_remember, assistant_kind, is_solved, user_kind
from workers.rules.said import Said, clauses, said_in
from workers.rules.slots import Stated, assistant_slots, user_slots
from workers.rules.tool_results import tool_statements

_LABELS = {
    "zh": {
        "assistant": "客服：{}",
        "phone": "用户的电话：{}",
        "email": "用户的邮箱：{}",
        "address": "用户的地址：{}",
        "name": "用户的姓名：{}",
        "device_model": "用户的设备：{}",
    },
    "en": {
        "assistant": "Agent: {}",
        "phone": "User's phone: {}",
        "email": "User's email: {}",
        "address": "User's address: {}",
        "name": "User's name: {}",
        "device_model": "User's device: {}",
    },
}


def statements(turns: Sequence[Turn], *, finder: EntityFinder) -> list[Statement]:
    """In the order of the turns. Context injected into a turn and system turns are never learnt from."""
    tools = list(tool_statements(turns, finder=finder))
    orders = {entity.value for one in tools for entity in one.entities if entity.kind == "order"}
    spoken = _spoken(turns, finder=finder, tool_orders=orders)
    found = [*spoken, *tools, *_images(turns, finder=finder)]
    return sorted(_distinct(found), key=lambda one: one.sequences[-1])


def _spoken(
    turns: Sequence[Turn], *, finder: EntityFinder, tool_orders: Collection[str]
) -> Iterator[Statement]:
    said = list(said_in(turns, finder=finder))
    orders = {mention.value for one in said for mention in one.of("order")} | set(tool_orders)
    for one, stated in filled(said, orders=orders):
        for each in stated:
            yield _slotted(each, sentence=one, orders=orders)
        yield from _plain(one, beside={each.slot.attribute for each in stated})


def filled(said: Sequence[Said], *, orders: Collection[str]) -> Iterator[tuple[Said, list[Stated]]]:
    """Each sentence with the slots that it fills."""
    last: Slot | None = None
    for one in said:
        stated = _slots(one, orders=orders, last=last)
        last = stated[-1].slot if stated else last
        yield one, stated


def _slots(said: Said, *, orders: Collection[str], last: Slot | None) -> list[Stated]:
    if said.turn.role == "user":
        return user_slots(said, orders=orders, last=last)
    return assistant_slots(said, orders=orders)


def _slotted(stated: Stated, *, sentence: Said, orders: Collection[str]) -> Statement:
    kind: Kind = "preference" if stated.slot.attribute == "language" else "fact"
    said = stated.said if stated.bare else _shortest(stated, orders=orders)
    label = stated.slot.attribute if stated.bare else ""
    found = replace(_statement(said, kind=kind, label=label), slot=stated.slot)
    # "Remember" stands in a clause of its own and counts for the ones behind it.
    asked = sentence.turn.role == "user" and asks_to_remember(sentence.text)
    return remembered(found) if asked else found


def _shortest(stated: Stated, *, orders: Collection[str]) -> Said:
    alone = (
        part
        for part in clauses(stated.said)
        if stated.slot in [one.slot for one in _slots(part, orders=orders, last=None)]
    )
    return min(alone, key=lambda part: len(part.text), default=stated.said)


def _plain(said: Said, *, beside: Collection[str]) -> Iterator[Statement]:
    """What is left to say of a sentence that filled slots of the attributes `beside`."""
    kind = _kind(said)
    is_said = (beside and kind == "fact") or ("language" in beside and kind == "preference")
    if kind is not None and not is_said:
        solved = kind == "event" and is_solved(said.text)
        yield replace(_statement(said, kind=kind), metadata={"solved": True} if solved else {})


def _kind(said: Said) -> Kind | None:
    read = user_kind if said.turn.role == "user" else assistant_kind
    return read(said.text, entities=said.kinds)


def _statement(said: Said, *, kind: Kind, label: str = "") -> Statement:
    label = label or ("assistant" if said.turn.role == "assistant" else "")
    labels = _LABELS["zh" if said.language == "zh" else "en"]
    text = labels[label].format(said.text) if label else said.text
    return kept(said.turn, kind=kind, text=text, language=said.language, entities=said.entities)


def _images(turns: Sequence[Turn], *, finder: EntityFinder) -> Iterator[Statement]:
    for turn in turns:
        for image in turn.images if turn.role != "system" else ():
            text = image.caption.strip() or image.url
            language = language_of(text, fallback=finder.language)
            entities = finder.entities(text, base=turn.created_at)
            found = kept(turn, kind="image", text=text, language=language, entities=entities)
            yield replace(found, metadata={"url": image.url})


def _distinct(found: Sequence[Statement]) -> list[Statement]:
    """A sentence said twice in one batch is one statement of both turns."""
    seen: dict[tuple[Kind, str, Slot | None, str], Statement] = {}
    for one in found:
        key = (one.kind, one.text, one.slot, f"{one.metadata} {one.trust}")
        earlier = seen.get(key)
        sequences = sorted({*one.sequences, *(earlier.sequences if earlier else ())})
        seen[key] = replace(one if earlier is None else earlier, sequences=tuple(sequences))
    return list(seen.values())
