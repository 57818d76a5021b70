"""What every request passes before a route sees it: a target that is text, and a body of limited size, in
well-formed JSON of limited depth, whose texts and numbers can be stored.

A pure ASGI middleware, so that a body over the limit is never held in memory whole.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from urllib.parse import unquote_to_bytes
from uuid import uuid4

import orjson
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api_gateway.errors import REQUEST_ID, problem
from shared.domain.errors import Invalid, Refused, TooLarge
from shared.text.sanitize import refuse_reason

LONGEST_REQUEST_ID = 128
_LONG_NUMBER = re.compile(rb"\d{19}")


class Gate:
    def __init__(self, app: ASGIApp, *, body_limit: int, depth_limit: int) -> None:
        self._app = app
        self._body_limit = body_limit
        self._depth_limit = depth_limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id = _request_id(Headers(scope=scope))
        scope.setdefault("state", {})["request_id"] = request_id
        tagged = _tagging(send, request_id=request_id)
        try:
            scope["path"] = routable(scope["raw_path"], query=scope["query_string"])
            body = await self._body(scope, receive)
            check_body(body, depth_limit=self._depth_limit)
        except ClientDisconnect:
            return
        except Refused as error:
            status = 413 if isinstance(error, TooLarge) else 422
            answer = problem(status, code=error.code, detail=error.detail, scope=scope)
            await answer(scope, receive, tagged)
            return
        await self._app(scope, _replaying(body, receive=receive), tagged)

    async def _body(self, scope: Scope, receive: Receive) -> bytes:
        headers = Headers(scope=scope)
        if headers.get("content-encoding", "").lower() not in ("", "identity"):
            raise Invalid("encoding", "compressed bodies are not taken; send plain JSON")
        chunks: list[bytes] = []
        size = 0
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise ClientDisconnect
            chunks.append(message.get("body", b""))
            size += len(chunks[-1])
            if size > self._body_limit:
                raise TooLarge(
                    "body_too_large", f"a body may have {self._body_limit} bytes; send fewer turns"
                )
            if not message.get("more_body", False):
                return b"".join(chunks)


def routable(raw_path: bytes, *, query: bytes) -> str:
    """The path to match routes with: decoded segment by segment, `/` and `%` inside of one still encoded, so
    that an id may hold both. Raises Invalid for what is not UTF-8: two ids must not become one."""
    try:
        segments = [unquote_to_bytes(segment).decode() for segment in raw_path.split(b"/")]
        unquote_to_bytes(query).decode()
    except UnicodeDecodeError:
        raise Invalid("target", "the path and query are percent-encoded UTF-8; this one is not") from None
    return "/".join(segment.replace("%", "%25").replace("/", "%2F") for segment in segments)


def check_body(body: bytes, *, depth_limit: int) -> None:
    """Raises Invalid unless the body is empty, or JSON of limited depth whose every value can be stored."""
    if not body:
        return
    try:
        data = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise Invalid("json", f"the body is not valid JSON in UTF-8: {error.msg}") from None
    for text in _texts(data, depth_limit=depth_limit):
        reason = refuse_reason(text)
        if reason is not None:
            raise Invalid("text", f"a text in the body {reason}; remove it")
    if _LONG_NUMBER.search(body):
        json.loads(body, parse_int=_bounded)


def _bounded(digits: str) -> int:
    """JSON sets integers no bounds; stores and clients agree on 64 bits at most."""
    number = int(digits)
    if not -(2**63) <= number < 2**64:
        raise Invalid("number", "an integer in the body is beyond 64 bits; send it as a text")
    return number


def _texts(data: object, *, depth_limit: int) -> Iterator[str]:
    """Every string, keys included, without recursion. Raises Invalid below `depth_limit`."""
    stack: list[tuple[object, int]] = [(data, 1)]
    while stack:
        value, depth = stack.pop()
        if depth > depth_limit:
            raise Invalid("too_deep", f"the body nests deeper than {depth_limit} levels")
        if isinstance(value, dict):
            yield from value
            stack += [(item, depth + 1) for item in value.values()]
        elif isinstance(value, list):
            stack += [(item, depth + 1) for item in value]
        elif isinstance(value, str):
            yield value


def _request_id(headers: Headers) -> str:
    given = headers.get(REQUEST_ID, "")
    usable = given.isascii() and given.isprintable() and 0 < len(given) <= LONGEST_REQUEST_ID
    return given if usable else str(uuid4())


def _tagging(send: Send, *, request_id: str) -> Send:
    async def tagged(message: Message) -> None:
        if message["type"] == "http.response.start":
            MutableHeaders(scope=message)[REQUEST_ID] = request_id
        await send(message)

    return tagged


def _replaying(body: bytes, *, receive: Receive) -> Receive:
    replayed = False

    async def replay() -> Message:
        nonlocal replayed
        if replayed:
            return await receive()
        replayed = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay
