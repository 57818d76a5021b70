"""Random bodies and targets: nothing answers 5xx, and what is refused changes nothing."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any
from urllib.parse import quote

import httpx2
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.integration.door import Door
from tests.integration.talking import Body, add

BOUNDED = settings(
    max_examples=150,
    deadline=None,
    database=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
CALLS: dict[str, Body] = {
    "POST /v1/sessions/fuzz/turns": {
        "user_id": "fuzz",
        "turns": [
            {
                "id": "1",
                "role": "assistant",
                "content": [{"type": "text", "text": "a"}],
                "name": "n",
                "speaker": "bot",
                "tool_calls": [
                    {"id": "c", "type": "function", "function": {"name": "f", "arguments": {"a": 1}}}
                ],
                "created_at": "2024-05-01T10:00:00Z",
                "metadata": {"a": 1},
            },
            {"role": "tool", "content": "x", "tool_call_id": "c"},
        ],
    },
    "POST /v1/sessions/s/context": {
        "query": "x",
        "max_tokens": 200,
        "format": "json",
        "insert_method": "user",
        "model": "gpt-4o",
        "include": {"working": True, "split": {"working": 0.2, "condensed": 0.3, "long_term": 0.5}},
    },
    "POST /v1/memories/search": {
        "user_id": "u",
        "query": "x",
        "top_k": 3,
        "as_of": "2024-05-01T10:00:00Z",
        "filters": {
            "category": "order",
            "kind": "fact",
            "entity": "x",
            "session_id": "s",
            "from": "2024-05-01T10:00:00Z",
        },
    },
    "POST /v1/memories": {
        "id": "m",
        "user_id": "fuzz",
        "text": "x",
        "kind": "fact",
        "category": "order",
        "metadata": {"a": 1},
        "valid_from": "2024-05-01T10:00:00Z",
    },
    "PATCH /v1/memories/{memory_id}": {
        "text": "x",
        "category": "order",
        "importance": 0.5,
        "pinned": True,
        "wrong": False,
        "valid_to": "2024-05-01T10:00:00Z",
        "state": "live",
    },
    "PUT /v1/users/fuzz": {
        "persona": "general",
        "compression": 0.5,
        "language": "zh",
        "timezone": "Asia/Shanghai",
        "legal_hold": False,
    },
    "POST /v1/sessions/s/close": {"outcome": "solved"},
}
TEXTS = st.text(st.characters(codec=None), max_size=12) | st.sampled_from(
    ["\x00", "\ud800", "x" * 300, "2024-02-30T00:00:00Z", "9" * 400, "NaN", "null", "%s", "../x", "\u202e"]
)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from([2**63, 2**64, -(2**63) - 1, 10**400])
    | st.floats()
    | TEXTS
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)


def _paths(value: object, *, before: tuple[object, ...] = ()) -> list[tuple[object, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [before, *(path for key, item in items for path in _paths(item, before=(*before, key)))]


@st.composite
def spoiled(draw: st.DrawFn) -> tuple[str, object]:
    """A good call with one part of its body, anywhere in it, replaced by anything."""
    call = draw(st.sampled_from(sorted(CALLS)))
    body: Any = deepcopy(CALLS[call])
    *way, last = draw(st.sampled_from([path for path in _paths(body) if path]))
    place = body
    for key in way:
        place = place[key]
    place[last] = draw(VALUES)
    return call, body


@BOUNDED
@given(spoiled())
@example(("PATCH /v1/memories/{memory_id}", {"importance": 5e-324}))
@example(("POST /v1/memories", {"user_id": "fuzz", "text": " "}))
@example(("PUT /v1/users/fuzz", {"compression": 5e-324}))
def test_no_body_makes_the_gateway_fail(
    door: Door, api: httpx2.Client, call_and_body: tuple[str, object]
) -> None:
    call, body = call_and_body
    method, path = call.split(" ")
    target = path.format(memory_id=add(api, "to edit", id="to edit"))
    door.send(method, target.encode(), json.dumps(body).encode())


@BOUNDED
@given(
    method=st.sampled_from(["GET", "POST", "PUT", "PATCH", "DELETE"]),
    segments=st.lists(st.binary(max_size=6), max_size=3),
    query=st.binary(max_size=12),
    body=st.binary(max_size=40),
)
def test_no_target_makes_the_gateway_fail(
    door: Door, method: str, segments: list[bytes], query: bytes, body: bytes
) -> None:
    path = "/".join(quote(segment) for segment in segments)
    door.send(method, f"/v1/{path}?{quote(query)}".encode(), body)
