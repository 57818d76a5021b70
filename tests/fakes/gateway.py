"""A gateway as far as an import sees it: it takes turns whole batch by whole batch, and knows what it has."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from urllib.parse import unquote

import httpx2
import orjson


class FakeGateway:
    """Refuses a batch with a turn of which `is_wrong` says so; answers `failures` first, one a request."""

    def __init__(self, *, is_wrong: Callable[[dict[str, object]], bool] = lambda _turn: False) -> None:
        self.sessions: dict[str, list[str]] = {}
        self.failures: list[httpx2.Response | Exception] = []
        self.requests: list[httpx2.Request] = []
        self._is_wrong = is_wrong
        self._one_at_a_time = Lock()

    @property
    def transport(self) -> httpx2.MockTransport:
        return httpx2.MockTransport(self._answer)

    def _answer(self, request: httpx2.Request) -> httpx2.Response:
        with self._one_at_a_time:
            self.requests.append(request)
            if self.failures:
                failure = self.failures.pop(0)
                if isinstance(failure, Exception):
                    raise failure
                return failure
            return self._accept(request)

    def _accept(self, request: httpx2.Request) -> httpx2.Response:
        turns = orjson.loads(request.content)["turns"]
        if any(self._is_wrong(turn) for turn in turns):
            return problem(422, detail="a turn is wrong")
        known = self.sessions.setdefault(unquote(request.url.path.split("/")[3]), [])
        accepted = []
        for turn in turns:
            accepted.append({"id": turn["id"], "duplicate": turn["id"] in known})
            if turn["id"] not in known:
                known.append(turn["id"])
        return httpx2.Response(202, json={"accepted": accepted})


def problem(status: int, *, detail: str = "no", retry_after: str | None = None) -> httpx2.Response:
    headers = {"Retry-After": retry_after} if retry_after else {}
    return httpx2.Response(status, json={"detail": detail, "status": status}, headers=headers)
