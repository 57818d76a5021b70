"""What passes the gate, without a server around it."""

from __future__ import annotations

import json
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.types import Message, Receive, Scope, Send

from api_gateway.dependencies import unescaped
from api_gateway.gate import Gate, check_body, routable
from shared.domain.errors import Invalid

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
)


@dataclass(slots=True)
class Application:
    """Reads its body and answers 200."""

    path: str = ""
    body: bytes = b""
    called: bool = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.called = True
        self.path = scope["path"]
        self.body = (await receive())["body"]
        await send({"type": "http.response.start", "status": 200, "headers": []})


@dataclass(slots=True)
class Client:
    """Sends `messages` one by one and keeps what comes back."""

    messages: list[Message]
    answers: list[Message] = field(default_factory=list)

    async def receive(self) -> Message:
        return self.messages.pop(0)

    async def send(self, message: Message) -> None:
        self.answers.append(message)


def _drive(coroutine: Coroutine[Any, Any, None]) -> None:
    """Nothing here waits, so no event loop is needed."""
    with pytest.raises(StopIteration):
        coroutine.send(None)


def _pass(messages: Sequence[Message], **scope: object) -> tuple[Application, Client]:
    application, client = Application(), Client(messages=list(messages))
    whole = {"type": "http", "raw_path": b"/", "path": "/", "query_string": b"", "headers": []} | scope
    gate = Gate(application, body_limit=32, depth_limit=4)
    _drive(gate(whole, client.receive, client.send))
    return application, client


def _chunk(body: bytes, *, more: bool = False) -> Message:
    return {"type": "http.request", "body": body, "more_body": more}


def test_a_body_in_chunks_reaches_the_application_whole() -> None:
    application, client = _pass([_chunk(b'{"a"', more=True), _chunk(b":1}")])
    assert application.body == b'{"a":1}'
    assert client.answers[0]["status"] == 200


def test_reading_stops_at_the_limit() -> None:
    rest = _chunk(b" " * 20)
    application, client = _pass([_chunk(b" " * 20, more=True), _chunk(b" " * 20, more=True), rest])
    assert client.messages == [rest]
    assert client.answers[0]["status"] == 413
    assert not application.called


def test_a_client_that_is_gone_gets_nothing_done() -> None:
    """What had come of the body may be valid JSON by itself."""
    application, client = _pass([_chunk(b"1", more=True), {"type": "http.disconnect"}])
    assert not application.called
    assert client.answers == []


def test_what_is_no_request_passes_untouched() -> None:
    class Lifespan:
        seen: Scope | None = None

        async def __call__(self, scope: Scope, _receive: Receive, _send: Send) -> None:
            self.seen = scope

    application, client = Lifespan(), Client(messages=[])
    scope = {"type": "lifespan"}
    _drive(Gate(application, body_limit=1, depth_limit=1)(scope, client.receive, client.send))
    assert application.seen is scope


@pytest.mark.parametrize(
    ("raw", "path"),
    [
        (b"/v1/users/a", "/v1/users/a"),
        (b"/v1/users/%E9%94%AE", "/v1/users/键"),
        (b"/v1/users/a%2Fb/sessions", "/v1/users/a%2Fb/sessions"),
        (b"/v1/users/a%252Fb", "/v1/users/a%252Fb"),
        (b"/v1/users/100%25", "/v1/users/100%25"),
        (b"/v1/users/100%", "/v1/users/100%25"),
    ],
)
def test_slashes_inside_a_segment_stay_encoded(raw: bytes, path: str) -> None:
    assert routable(raw, query=b"") == path


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1))
def test_every_segment_comes_back_from_its_path(segment: str) -> None:
    path = routable(b"/" + quote(segment, safe="").encode(), query=b"")
    assert path.count("/") == 1
    assert unescaped(path[1:]) == segment


@pytest.mark.parametrize(
    ("raw", "query"), [(b"/%ff", b""), (b"/%ED%A0%80", b""), (b"/", b"a=%ff"), (b"/%E9", b"%94%AE")]
)
def test_what_is_no_utf8_is_refused(raw: bytes, query: bytes) -> None:
    with pytest.raises(Invalid):
        routable(raw, query=query)


@given(st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=4))
def test_a_body_passes_exactly_if_all_of_it_can_be_stored(value: object) -> None:
    body = json.dumps(value).encode()
    storable = "\\u0000" not in json.dumps(value).replace("\\\\", "") and _depth(value) <= 4
    if storable:
        check_body(body, depth_limit=4)
    else:
        with pytest.raises(Invalid):
            check_body(body, depth_limit=4)


def _depth(value: object) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + max((_depth(item) for item in inner), default=0)


@pytest.mark.parametrize("number", [2**64 - 1, -(2**63), 10**18])
def test_integers_of_64_bits_pass(number: int) -> None:
    check_body(json.dumps([number]).encode(), depth_limit=4)


@pytest.mark.parametrize("number", [2**64, -(2**63) - 1, 10**300])
def test_integers_beyond_are_refused(number: int) -> None:
    with pytest.raises(Invalid) as refused:
        check_body(json.dumps([number]).encode(), depth_limit=4)
    assert refused.value.code == "number"


def test_digits_in_a_text_are_no_number() -> None:
    check_body(json.dumps(["9" * 40, {"9" * 40: 1.5}]).encode(), depth_limit=4)
