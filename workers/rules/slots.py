"""Slots hold one value at a time, so that a correction lands where the first statement did.

`user`: phone, email, address, residence (a town without a street), name, company, language, plan. A sort of
device ("phone", "laptop"): device_model, only when a sentence speaks of *the* device or replaces it; a
customer who has several gets none. An order: status, delivery_date, address. `appointment`: date.
A value that is denied, of before, someone else's or asked for fills no slot.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from shared.domain.memory import EntityKind, Slot
from workers.rules import slot_shapes as shapes
from workers.rules.device_names import family_of
from workers.rules.said import Said, claims, clauses
from workers.rules.sentences import is_question
from workers.rules.spans import Mention

_LONGEST_VALUE = 120
_LONGEST_ANSWER = 160
_BARE = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Stated:
    """A slot and the words that fill it; `bare` ones are the value alone and need words of ours."""

    slot: Slot
    said: Said
    bare: bool = False


def user_slots(said: Said, *, orders: Collection[str], last: Slot | None) -> list[Stated]:
    """`orders` are the batch's order numbers; a correction that names no attribute means the slot `last`."""
    parts = claims(said)
    found = [one for part in parts for one in _told(part, whole=said)]
    whole = [said] if len(parts) == len(list(clauses(said))) else parts
    scheduled = [
        one
        for part in whole
        if shapes.OWN_SCHEDULE.search(part.text)
        for one in _schedule(part, orders=orders)
    ]
    corrects = shapes.CORRECTION.search(said.text) is not None
    found = _settled([*found, *scheduled], corrects=corrects)
    return found or _first_of(parts, whole=said, last=last)


def _told(part: Said, *, whole: Said) -> list[Stated]:
    return [*_contacts(part, whole=whole), *_stated(part, whole=whole), *_device(part)]


def _settled(found: Sequence[Stated], *, corrects: bool) -> list[Stated]:
    """One value a slot: of two that differ the last one when the sentence corrects, else neither."""
    by_place: dict[tuple[str, str], list[Stated]] = {}
    for one in found:
        by_place.setdefault((one.slot.subject, one.slot.attribute), []).append(one)
    return [
        filled[-1] for filled in by_place.values() if corrects or len({one.slot.value for one in filled}) == 1
    ]


def _first_of(parts: Sequence[Said], *, whole: Said, last: Slot | None) -> list[Stated]:
    corrected = last if shapes.CORRECTION.search(whole.text) else None
    found = (_answered(part) or _corrected(part, last=corrected) for part in parts)
    return next((one for one in found if one), [])


def assistant_slots(said: Said, *, orders: Collection[str]) -> list[Stated]:
    if is_question(said.text) or shapes.UNCONFIRMED.search(said.text):
        return []
    plan = [one for one in _stated(said, whole=said) if one.slot.attribute == "plan"]
    return [*_status(said, orders=orders), *_schedule(said, orders=orders), *plan]


def _slot(attribute: str, *, value: str, said: Said, subject: str = "user") -> Stated:
    return Stated(slot=Slot(subject=subject, attribute=attribute, value=value), said=said)


def _bare_slot(attribute: str, *, value: str, said: Said, subject: str = "user") -> Stated:
    slot = Slot(subject=subject, attribute=attribute, value=value)
    return Stated(slot=slot, said=said, bare=True)


def _only(said: Said, *, mention: Mention) -> Said:
    return said.part(mention.start, end=mention.end)


def current(said: Said, *, mentions: Sequence[Mention]) -> Mention | None:
    """The one value that holds after the sentence: not denied and not replaced; None when it is not clear."""
    holding = [one for one in mentions if not is_past(said.text, mention=one)]
    if len({one.value for one in holding}) == 1:
        return holding[-1]
    return holding[-1] if holding and shapes.CORRECTION.search(said.text) else None


def is_past(text: str, *, mention: Mention) -> bool:
    before, after = text[max(mention.start - 24, 0) : mention.start], text[mention.end : mention.end + 12]
    return bool(shapes.DENIED.search(shapes.CLAUSE_END.sub("", before)) or shapes.REPLACED.match(after))


def _contacts(part: Said, *, whole: Said) -> list[Stated]:
    found: list[Stated] = []
    contacts: tuple[EntityKind, ...] = ("phone", "email")
    for kind in contacts:
        mention = current(part, mentions=part.of(kind))
        if mention is None:
            continue
        if shapes.OWN[kind].search(part.text):
            found.append(_slot(kind, value=mention.value, said=part))
        elif _asked(part, attribute=kind) or _corrects(whole, mention=mention):
            found.append(_bare_slot(kind, value=mention.value, said=_only(part, mention=mention)))
    return found


def _corrects(whole: Said, *, mention: Mention) -> bool:
    """It stands almost alone, beside words of correction, or beside another of its kind that is past."""
    alone = len(whole.text) - (mention.end - mention.start) <= _BARE
    replaces = any(is_past(whole.text, mention=other) for other in whole.of(mention.kind))
    return alone or replaces or shapes.CORRECTION.search(whole.text) is not None


def _asked(said: Said, *, attribute: str) -> bool:
    before = said.before
    if before is None or attribute not in shapes.ASKED or len(said.text) > _LONGEST_ANSWER:
        return False
    return bool(shapes.ASKED[attribute].search(before.text) and _asks(before.text))


def _asks(text: str) -> bool:
    return "?" in text or "？" in text or shapes.ASKING_FOR.search(text) is not None


def _stated(part: Said, *, whole: Said) -> list[Stated]:
    found = (_first(part, attribute=attribute, whole=whole) for attribute in shapes.STATED)
    return [one for one in found if one is not None]


def _first(part: Said, *, attribute: str, whole: Said) -> Stated | None:
    for pattern in shapes.STATED[attribute]:
        match = pattern.search(part.text)
        if match is not None and match[1]:
            value = _trimmed(match[1])
            return _valued(part, attribute=attribute, value=value, whole=whole) if value else None
    return None


def _valued(part: Said, *, attribute: str, value: str, whole: Said) -> Stated | None:
    if attribute == "language":
        return _slot(attribute, value=shapes.language_code(value), said=part)
    if attribute == "delivery":
        subject = _order(part, orders=()) or _order(whole, orders=()) or "user"
        clear = shapes.CLEAR_PLACE.search(value)
        return _slot("address", value=value, said=part, subject=subject) if clear else None
    if attribute == "address":
        return _place(part, value=value)
    return _slot(attribute, value=value, said=part)


def _place(part: Said, *, value: str) -> Stated | None:
    """The customer's, unless the words say that it is an order's."""
    if shapes.EXACT_PLACE.search(value) is None:
        return _slot("residence", value=value, said=part)
    order = _order(part, orders=()) if shapes.OF_ORDER.search(part.text) else None
    return _slot("address", value=value, said=part, subject=order or "user")


def _trimmed(value: str) -> str:
    value = " ".join(value.split()).strip(" .,;:，。：“”\"'")
    return value if len(value) <= _LONGEST_VALUE else ""


def _device(said: Said) -> list[Stated]:
    devices = said.of("device")
    asked = _asked(said, attribute="device_model")
    if not devices or shapes.ALSO.search(said.text) or not (asked or shapes.OWN["device"].search(said.text)):
        return []
    device = current(said, mentions=devices)
    if device is None:
        return []
    others = " ".join(one.value for one in devices)
    subject = family_of(device.value) or family_of(said.text) or family_of(others) or "user"
    if asked and len(said.text) <= _LONGEST_VALUE:
        alone = _only(said, mention=device)
        return [_bare_slot("device_model", value=device.value, said=alone, subject=subject)]
    return [_slot("device_model", value=device.value, said=said, subject=subject)]


def _schedule(said: Said, *, orders: Collection[str]) -> list[Stated]:
    today = f"{said.turn.created_at:%Y-%m-%d}"
    ahead = [one for one in said.of("date") if one.value[:10] >= today[: len(one.value)]]
    date = current(said, mentions=ahead)
    if date is None:
        return []
    if shapes.APPOINTMENT.search(said.text) and not shapes.BROUGHT.search(said.text):
        return [_slot("date", value=date.value, said=said, subject="appointment")]
    if shapes.DELIVERY.search(said.text):
        subject = _order(said, orders=orders) or "delivery"
        return [_slot("delivery_date", value=date.value, said=said, subject=subject)]
    return []


def _order(said: Said, *, orders: Collection[str]) -> str | None:
    here = {one.value for one in said.of("order")} or set(orders)
    return here.pop() if len(here) == 1 else None


def _status(said: Said, *, orders: Collection[str]) -> list[Stated]:
    order = _order(said, orders=orders)
    if order is None:
        return []
    status = shapes.stated_status(said.text)
    return [] if status is None else [_slot("status", value=status, said=said, subject=order)]


def _answered(said: Said) -> list[Stated]:
    """A bare answer to what the assistant asked for: "12 Oak Street", "张伟"."""
    return [
        one
        for attribute in ("name", "address")
        if _asked(said, attribute=attribute) and (one := _bare(said, attribute=attribute)) is not None
    ]


def _corrected(said: Said, *, last: Slot | None) -> list[Stated]:
    """ "Actually it's 14 Oak Street" after an address was given."""
    if last is None or last.attribute not in {"address", "name"}:
        return []
    one = _bare(said, attribute=last.attribute)
    return [] if one is None else [replace(one, slot=replace(one.slot, subject=last.subject))]


def _bare(said: Said, *, attribute: str) -> Stated | None:
    start = led.end() if (led := shapes.ANSWER_LEAD.match(said.text)) else 0
    value = _trimmed(shapes.without_tail(said.text[start:]))
    fits = shapes.BARE_NAME.fullmatch(value) if attribute == "name" else shapes.CLEAR_PLACE.search(value)
    if not value or not fits or shapes.SPEAKER.match(value):
        return None
    start = max(said.text.find(value), 0)
    return _bare_slot(attribute, value=value, said=said.part(start, end=start + len(value)))
