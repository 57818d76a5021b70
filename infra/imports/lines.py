"""Lines of an import: one JSON object each, the body of a turn plus `session_id` and `user_id`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from uuid import UUID, uuid5

import orjson

# Of ids made for turns that have none: the same line gets the same id in every import.
NAMESPACE = UUID("6c1f0f0e-6f6b-5c0e-9d1c-0d9f4a1b7e21")


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """`number` counts from 1; `size` is in bytes."""

    number: int
    size: int
    session_id: str
    user_id: str
    turn: Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class BadLine:
    number: int
    size: int
    reason: str


def read(raw_lines: Iterable[bytes]) -> Iterator[Line | BadLine]:
    """Empty lines are passed over. Turns without `id` get one by content and place among equal lines, so that
    other lines may be added, mended or taken out before the next import of the file."""
    repeated: Counter[bytes] = Counter()
    for number, raw in enumerate(raw_lines, start=1):
        if not raw.strip():
            continue
        try:
            line = _line(raw, number=number)
        except ValueError as error:
            yield BadLine(number=number, size=len(raw), reason=str(error))
            continue
        yield line if line.turn.get("id") is not None else _with_id(line, repeated=repeated)


def _line(raw: bytes, *, number: int) -> Line:
    try:
        body = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        raise ValueError(f"not valid JSON in UTF-8: {error.msg}") from None
    if not isinstance(body, dict):
        raise ValueError("not a JSON object")  # noqa: TRY004 — the line is wrong, not a type of ours
    session_id, user_id = _taken(body, "session_id"), _taken(body, "user_id")
    return Line(number=number, size=len(raw), session_id=session_id, user_id=user_id, turn=body)


def _taken(body: dict[str, object], name: str) -> str:
    value = body.pop(name, None)
    if not isinstance(value, str) or not value:
        raise ValueError(f"{name} is missing, or not a text")
    return value


def _with_id(line: Line, *, repeated: Counter[bytes]) -> Line:
    content = orjson.dumps([line.session_id, line.user_id, line.turn], option=orjson.OPT_SORT_KEYS)
    digest = sha256(content).digest()
    place = repeated[digest]
    repeated[digest] += 1
    made = str(uuid5(NAMESPACE, f"{digest.hex()}:{place}"))
    return Line(
        number=line.number,
        size=line.size,
        session_id=line.session_id,
        user_id=line.user_id,
        turn={**line.turn, "id": made},
    )
