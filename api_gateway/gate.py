"""What every body passes before a route sees it: size, well-formed JSON, depth, text that can be stored.

A pure ASGI middleware, so that a body over the limit is never held in memory whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

import orjson
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api_gateway.errors import problem
from shared.domain.errors import Invalid, Refused, TooLarge
from shared.text.sanitize import refuse_reason

REQUEST_ID = "X-Request-ID"
LONGEST_REQUEST_ID = 128


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
            body = await self._body(scope, receive)
            check_body(body, depth_limit=self._depth_limit)
        except Refused as error:
            status = 413 if isinstance(error, TooLarge) else 422
            answer = problem(status, code=error.code, detail=error.detail, scope=scope)
            await answer(scope, receive, tagged)
            return
        await self._app(scope, _replaying(body, receive=receive), tagged)

    async def _body(self, scope: Scope, receive: Receive) -> bytes:
        headers = Headers(scope=scope)
        if headers.get("content-encoding", "identity") != "identity":
            raise Invalid("encoding", "compressed bodies are not taken; send plain JSON")
        chunks: list[bytes] = []
        size = 0
        while True:
            message = await receive()
            chunks.append(message.get("body", b""))
            size += len(chunks[-1])
            if size > self._body_limit:
                raise TooLarge(
                    "body_too_large", f"a body may have {self._body_limit} bytes; send fewer turns"
                )
            if not message.get("more_body", False):
                return b"".join(chunks)


def check_body(body: bytes, *, depth_limit: int) -> None:
    """Raises Invalid unless the body is empty, or JSON of limited depth whose every string can be stored."""
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
