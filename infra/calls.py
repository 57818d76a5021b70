"""Calls to a running gateway, tried again while trying again can help.

GatewayRefused       it will not take the request as it stands
GatewayUnreachable   it did not answer, or not yet; the same request may be sent later
"""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote

import httpx2
import stamina
import stamina.instrumentation

from shared.domain.errors import TurnkeepError

CALL_SECONDS = 30.0
RETRY_SECONDS = 60.0
LATER = frozenset(
    {
        HTTPStatus.TOO_MANY_REQUESTS,
        HTTPStatus.BAD_GATEWAY,
        HTTPStatus.SERVICE_UNAVAILABLE,
        HTTPStatus.GATEWAY_TIMEOUT,
    }
)
Answer = dict[str, Any]


class GatewayRefused(TurnkeepError):
    def __init__(self, status: int, detail: str) -> None:
        super().__init__(f"The gateway refused it ({status}): {detail}.")
        self.status = status
        self.detail = detail


class GatewayUnreachable(TurnkeepError):
    pass


class Calls:
    """Threads may share one; `key` None is for what needs none.

    Whatever is posted carries ids, so that sending it again does no harm.
    """

    def __init__(
        self,
        url: str,
        *,
        key: str | None,
        retry_seconds: float = RETRY_SECONDS,
        transport: httpx2.BaseTransport | None = None,
    ) -> None:
        # A wait is no news to whoever looks at a progress bar.
        stamina.instrumentation.set_on_retry_hooks(())
        self._url = url
        self._retry_seconds = retry_seconds
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._client = httpx2.Client(
            base_url=url, headers=headers, timeout=CALL_SECONDS, transport=transport, trust_env=False
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._client.close()

    def post(self, path: str, body: bytes = b"{}", *, headers: Mapping[str, str] | None = None) -> Answer:
        return self._answer(
            self._client.build_request(
                "POST", path, content=body, headers={"Content-Type": "application/json", **(headers or {})}
            )
        )

    def get(self, path: str) -> Answer:
        return self._answer(self._client.build_request("GET", path))

    def _answer(self, request: httpx2.Request) -> Answer:
        try:
            for attempt in stamina.retry_context(on=self._pause, attempts=None, timeout=self._retry_seconds):
                with attempt:
                    answer: Answer = self._client.send(request).raise_for_status().json()
                    return answer
        except httpx2.HTTPStatusError as error:
            raise self._verdict(error.response) from None
        except (httpx2.HTTPError, ValueError) as error:
            raise GatewayUnreachable(
                f"The gateway at {self._url} does not answer ({_reason(error)}); "
                "start it or correct TURNKEEP_URL."
            ) from None
        raise AssertionError("retrying ended without an answer or an error")

    def _pause(self, error: Exception) -> bool | float:
        """Whether to try again, or the seconds to wait that the gateway asks for; not when it asks for too
        many, because a wait is not cut short."""
        if not isinstance(error, httpx2.HTTPStatusError):
            return isinstance(error, httpx2.TransportError)
        if error.response.status_code not in LATER:
            return False
        asked = error.response.headers.get("Retry-After", "")
        if not asked.isdecimal():
            return True
        return float(asked) if float(asked) <= self._retry_seconds else False

    def _verdict(self, response: httpx2.Response) -> TurnkeepError:
        status, detail = response.status_code, _detail(response)
        if status >= HTTPStatus.INTERNAL_SERVER_ERROR or status == HTTPStatus.TOO_MANY_REQUESTS:
            return GatewayUnreachable(
                f"The gateway at {self._url} cannot take requests now ({status}: {detail}); try again later."
            )
        return GatewayRefused(status, detail)


def session_path(session_id: str, *parts: str) -> str:
    return "/".join(("/v1/sessions", quote(session_id, safe=""), *parts))


def _detail(response: httpx2.Response) -> str:
    try:
        problem = response.json()
    except ValueError:
        return response.reason_phrase
    detail = problem.get("detail") if isinstance(problem, dict) else None
    return str(detail or response.reason_phrase)


def _reason(error: Exception) -> str:
    return str(error).strip() or type(error).__name__
