"""What tools answered: one statement a call, and the state of an order in its slots."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from shared.domain.memory import Entity, Kind, Slot, Statement
from shared.domain.turn import Turn
from shared.text.language import language_of
from workers.rules.calls import JoinedCall, joined_calls
from workers.rules.entities import EntityFinder
from workers.rules.keeping import kept
from workers.rules.sentences import clip
from workers.rules.slot_shapes import status_named

_LONGEST_PARAMETERS, _LONGEST_RESULT = 200, 400
_READ_CHARACTERS = 50_000
_DEEPEST = 3
_ORDER_KEYS = {"order", "orderid", "ordernumber", "orderno", "ordernum", "订单", "订单号", "订单编号"}
_SLOT_KEYS = {
    "status": {"status", "orderstatus", "orderstate", "state", "状态", "订单状态"},
    "delivery_date": {"deliverydate", "eta", "estimateddelivery", "expecteddelivery", "预计送达", "送达日期"},
}  # fmt: skip
_SLOT_TEXT = {
    "zh": {"status": "订单{}的状态：{}", "delivery_date": "订单{}的送达日期：{}"},
    "en": {"status": "Status of order {}: {}", "delivery_date": "Delivery date of order {}: {}"},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Fields:
    """A JSON object's leaves as (key, value) in their order, or the text as it was."""

    leaves: Sequence[tuple[str, str]]
    text: str

    @property
    def keys(self) -> set[str]:
        return {key for key, _ in self.leaves}

    def value_of(self, keys: set[str]) -> str | None:
        return next((value for key, value in self.leaves if _plain(key) in keys and value), None)


def tool_statements(turns: Sequence[Turn], *, finder: EntityFinder) -> Iterator[Statement]:
    """Calls that were answered; each carries its own call's id and nothing of another's."""
    for joined in joined_calls(turns):
        answer = joined.answered_in
        if answer is not None and answer.text.strip():
            parameters = _fields(joined.call.arguments if joined.call else "")
            yield from _told(joined, answer=answer, parameters=parameters, finder=finder)


def flat(text: str) -> str:
    """A JSON text as "key: value, key: value", any other on one line."""
    return _fields(text).text


def _told(
    joined: JoinedCall, *, answer: Turn, parameters: _Fields, finder: EntityFinder
) -> Iterator[Statement]:
    result = _fields(answer.text)
    name = joined.name or "tool"
    given, got = clip(parameters.text, limit=_LONGEST_PARAMETERS), clip(result.text, limit=_LONGEST_RESULT)
    language = language_of(result.text, fallback=finder.language)
    sequences = tuple(sorted({turn.sequence for turn in (joined.made_in, answer) if turn is not None}))

    def told(text: str, *, kind: Kind) -> Statement:
        found = _entities(text, turn=answer, finder=finder)
        entities = [one for one in found if one.value not in {name, *parameters.keys, *result.keys}]
        made = kept(answer, kind=kind, text=text, language=language, entities=entities)
        return replace(made, sequences=sequences, metadata={"tool_call_id": joined.call_id, "tool": name})

    yield told(f"{name}({given}) → {got}", kind="tool_result")
    for slot, written in _slots(parameters, result=result):
        words = _SLOT_TEXT["zh" if language == "zh" else "en"][slot.attribute]
        yield replace(told(words.format(slot.subject, written), kind="fact"), slot=slot)


def _entities(text: str, *, turn: Turn, finder: EntityFinder) -> list[Entity]:
    # "order_id: A-1042" names an order only when the key is read as words.
    spaced = text.replace("_id", " id").replace("_number", " number").replace("_no", " no")
    return [mention.entity(text) for mention in finder.mentions(spaced, base=turn.created_at)]


def _slots(parameters: _Fields, *, result: _Fields) -> Iterator[tuple[Slot, str]]:
    order = result.value_of(_ORDER_KEYS) or parameters.value_of(_ORDER_KEYS)
    for attribute, keys in _SLOT_KEYS.items():
        value = result.value_of(keys)
        if order and value:
            named = status_named(value) if attribute == "status" else value
            yield Slot(subject=order.upper(), attribute=attribute, value=named), value


def _plain(key: str) -> str:
    return key.rpartition(".")[2].replace("_", "").replace("-", "").replace(" ", "").lower()


def _fields(text: str) -> _Fields:
    try:
        value = json.loads(text[:_READ_CHARACTERS]) if text.lstrip()[:1] in {"{", "["} else None
    except (ValueError, RecursionError):
        value = None
    if value is None:
        return _Fields(leaves=(), text=" ".join(text.split()))
    leaves = list(_leaves(value, path="", depth=0))
    return _Fields(leaves=leaves, text=", ".join(f"{key}: {leaf}" if key else leaf for key, leaf in leaves))


def _leaves(value: object, *, path: str, depth: int) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping) and depth < _DEEPEST:
        for key, inner in value.items():
            yield from _leaves(inner, path=f"{path}.{key}" if path else str(key), depth=depth + 1)
    elif isinstance(value, list) and depth < _DEEPEST:
        for inner in value:
            yield from _leaves(inner, path=path, depth=depth + 1)
    else:
        yield path, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
