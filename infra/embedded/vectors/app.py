"""The server: key, envelope and upkeep around the calls of `routes`.

Calls run on the event loop's own thread, one at a time (see `collection`).
"""

from __future__ import annotations

import asyncio
import hmac
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from http import HTTPStatus
from pathlib import Path

import orjson
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from infra.embedded.vectors.errors import WireError
from infra.embedded.vectors.registry import Registry
from infra.embedded.vectors.routes import ROUTES, Answer, Call

# The release whose answers are given; clients compare it with their own.
_VERSION = "1.20.0"
_FLUSH_SECONDS = 5.0
_IDLE_SECONDS = 2.0


class Server:
    """The open registry and when it was last called."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._registry: Registry | None = None
        self._called = 0.0

    @asynccontextmanager
    async def lifespan(self, _app: Starlette) -> AsyncIterator[None]:
        self._registry = Registry(self._root)
        self._schedule_upkeep()
        try:
            yield
        finally:
            self._upkeep.cancel()
            self._registry.close()

    def endpoint(self, answer: Answer) -> Callable[[Request], Awaitable[Response]]:
        async def respond(request: Request) -> Response:
            body = await request.body()
            started = time.perf_counter()
            self._called = time.monotonic()
            name = request.path_params.get("name", "")
            try:
                result = answer(Call(registry=self._open(), name=name, body=body))
            except WireError as error:
                return failed(error.status, str(error))
            return _json({"result": result, "status": "ok", "time": time.perf_counter() - started})

        return respond

    def _open(self) -> Registry:
        if self._registry is None:
            raise RuntimeError("The server has not started.")
        return self._registry

    def _schedule_upkeep(self) -> None:
        self._upkeep = asyncio.get_running_loop().call_later(_FLUSH_SECONDS, self._keep_up)

    def _keep_up(self) -> None:
        """The engine never flushes by itself, and its log grows and is replayed until somebody does."""
        # First the next turn: the loop logs what fails in this one, and goes on.
        self._schedule_upkeep()
        idle = time.monotonic() - self._called > _IDLE_SECONDS
        for collection in self._open().collections():
            collection.flush()
            if idle:
                collection.vacuum()


class KeyGuard:
    """Answers 401 without the key. The version is public, as with Qdrant."""

    def __init__(self, app: ASGIApp, *, api_key: str) -> None:
        self._app = app
        self._api_key = api_key.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] != "/":
            given = dict(scope["headers"]).get(b"api-key", b"")
            if not hmac.compare_digest(given, self._api_key):
                refusal = failed(HTTPStatus.UNAUTHORIZED, "Must provide an API key")
                await refusal(scope, receive, send)
                return
        await self._app(scope, receive, send)


def create_app(root: Path, *, api_key: str) -> ASGIApp:
    server = Server(root)
    routes = [Route(path, server.endpoint(answer), methods=[method]) for method, path, answer in ROUTES]
    app = Starlette(
        routes=[Route("/", _version), *routes],
        lifespan=server.lifespan,
        exception_handlers={HTTPException: _not_served, Exception: _broken},
    )
    return KeyGuard(app, api_key=api_key)


def failed(status: HTTPStatus, message: str) -> Response:
    return _json({"status": {"error": message}, "time": 0.0}, status=status)


def _json(content: object, *, status: HTTPStatus = HTTPStatus.OK) -> Response:
    return Response(orjson.dumps(content), status_code=status, media_type="application/json")


async def _version(_request: Request) -> Response:
    return _json({"title": "Turnkeep local vector server", "version": _VERSION})


async def _not_served(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else HTTPStatus.NOT_FOUND
    return failed(HTTPStatus(status), f"{request.method} {request.url.path} is not served")


async def _broken(_request: Request, error: Exception) -> Response:
    return failed(HTTPStatus.INTERNAL_SERVER_ERROR, f"Service internal error: {error}")
