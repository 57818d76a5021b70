"""Slots hold one value at a time, so that a correction lands where the first statement did.

`user`: phone, email, address, residence (a town without a street), name, company, language, plan. A sort of
device ("phone", "laptop"): device_model, only when a sentence speaks of *the* device or replaces it; a
customer who has several gets none. An order: status, delivery_date, address. `appointment`: date.
A value that is denied, of before, someone else's or asked for fills no slot.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from shared.domain.memory import EntityKind, Slot
from workers.rules import slot_shapes as shapes
from workers.rules.device_names import family_of
from workers.rules.said import Said
from workers.rules.sentences import is_question, is_small_talk
from workers.rules.spans import Mention

_LONGEST_VALUE = 120
_LONGEST_ANSWER = 160
_BARE = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Stated:
    """A slot and how it was come by: `bare` values need words of ours to be understood."""

    slot: Slot
    bare: bool


def user_slots(said: Said, *, orders: Collection[str], last: Slot | None) -> list[Stated]:
    """`orders` are the batch's order numbers; a correction that names no attribute means the slot `last`."""
    if is_question(said.text) or is_small_talk(said.text) or shapes.SOMEONE_ELSE.search(said.text):
        return []
    settled = _schedule(said, orders=orders) if shapes.OWN_SCHEDULE.search(said.text) else []
    found = [*_contacts(said), *_stated(said), *_device(said), *settled]
    return found or _answered(said) or _corrected(said, last=last)


def assistant_slots(said: Said, *, orders: Collection[str]) -> list[Stated]:
    if is_question(said.text) or shapes.UNCONFIRMED.search(said.text):
        return []
    plan = [one for one in _stated(said) if one.slot.attribute == "plan"]
    return [*_status(said, orders=orders), *_schedule(said, orders=orders), *plan]


def _slot(attribute: str, *, value: str, subject: str = "user", bare: bool = False) -> Stated:
    return Stated(slot=Slot(subject=subject, attribute=attribute, value=value), bare=bare)


def current(said: Said, *, mentions: Sequence[Mention]) -> Mention | None:
    """The one value that holds after the sentence: not denied and not replaced; None when it is not clear."""
    holding = [one for one in mentions if not _is_past(said.text, mention=one)]
    if len({one.value for one in holding}) == 1:
        return holding[-1]
    return holding[-1] if holding and shapes.CORRECTION.search(said.text) else None


def _is_past(text: str, *, mention: Mention) -> bool:
    before, after = text[max(mention.start - 24, 0) : mention.start], text[mention.end : mention.end + 12]
    return bool(shapes.DENIED.search(before) or shapes.REPLACED.match(after))


def _contacts(said: Said) -> list[Stated]:
    found: list[Stated] = []
    contacts: tuple[EntityKind, ...] = ("phone", "email")
    for kind in contacts:
        named = shapes.OWN[kind].search(said.text) is not None
        value = current(said, mentions=said.of(kind))
        bare = not named and value is not None
        if value is not None and (named or _asked(said, attribute=kind) or _is_correction(said, value)):
            found.append(_slot(kind, value=value.value, bare=bare))
    return found


def _is_correction(said: Said, mention: Mention) -> bool:
    alone = len(said.text) - (mention.end - mention.start) <= _BARE
    return alone or shapes.CORRECTION.search(said.text) is not None


def _asked(said: Said, *, attribute: str) -> bool:
    before = said.before
    if before is None or attribute not in shapes.ASKED or len(said.text) > _LONGEST_ANSWER:
        return False
    return bool(shapes.ASKED[attribute].search(before.text) and _asks(before.text))


def _asks(text: str) -> bool:
    return "?" in text or "？" in text or shapes.ASKING_FOR.search(text) is not None


def _stated(said: Said) -> list[Stated]:
    found = (_first(said, attribute=attribute) for attribute in shapes.STATED)
    return [one for one in found if one is not None]


def _first(said: Said, *, attribute: str) -> Stated | None:
    for pattern in shapes.STATED[attribute]:
        match = pattern.search(said.text)
        if match is not None and match[1]:
            value = _trimmed(match[1])
            return _valued(said, attribute=attribute, value=value) if value else None
    return None


def _valued(said: Said, *, attribute: str, value: str) -> Stated | None:
    if attribute == "language":
        return _slot(attribute, value=shapes.language_code(value))
    if attribute == "address":
        orders = said.of("order")
        subject = orders[0].value if len(orders) == 1 else "user"
        exact = shapes.EXACT_PLACE.search(value) is not None
        return _slot("address" if exact else "residence", value=value, subject=subject)
    return _slot(attribute, value=value)


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
    return [
        _slot(
            "device_model",
            value=device.value,
            subject=subject,
            bare=asked and len(said.text) <= _LONGEST_VALUE,
        )
    ]


def _schedule(said: Said, *, orders: Collection[str]) -> list[Stated]:
    today = f"{said.turn.created_at:%Y-%m-%d}"
    ahead = [one for one in said.of("date") if one.value[:10] >= today[: len(one.value)]]
    date = current(said, mentions=ahead)
    if date is None:
        return []
    if shapes.APPOINTMENT.search(said.text) and not shapes.BROUGHT.search(said.text):
        return [_slot("date", value=date.value, subject="appointment")]
    if shapes.DELIVERY.search(said.text):
        return [_slot("delivery_date", value=date.value, subject=_order(said, orders=orders) or "delivery")]
    return []


def _order(said: Said, *, orders: Collection[str]) -> str | None:
    here = {one.value for one in said.of("order")} or set(orders)
    return here.pop() if len(here) == 1 else None


def _status(said: Said, *, orders: Collection[str]) -> list[Stated]:
    order = _order(said, orders=orders)
    if order is None:
        return []
    status = shapes.stated_status(said.text)
    return [] if status is None else [_slot("status", value=status, subject=order)]


def _answered(said: Said) -> list[Stated]:
    """A bare answer to what the assistant asked for: "12 Oak Street", "张伟"."""
    return [
        one
        for attribute in ("name", "address")
        if _asked(said, attribute=attribute) and (one := _bare(said, attribute=attribute)) is not None
    ]


def _corrected(said: Said, *, last: Slot | None) -> list[Stated]:
    """ "Actually it's 14 Oak Street" after an address was given."""
    if last is None or last.attribute not in {"address", "name"} or not shapes.CORRECTION.search(said.text):
        return []
    one = _bare(said, attribute=last.attribute)
    return (
        [] if one is None else [_slot(last.attribute, value=one.slot.value, subject=last.subject, bare=True)]
    )


def _bare(said: Said, *, attribute: str) -> Stated | None:
    value = _trimmed(shapes.ANSWER_LEAD.sub("", said.text))
    fits = shapes.BARE_NAME.fullmatch(value) if attribute == "name" else shapes.EXACT_PLACE.search(value)
    return _slot(attribute, value=value, bare=True) if value and fits else None
