"""One OpenAI-compatible server: calls with a total deadline, a size limit and failures sorted by remedy."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from threading import Event, Thread
from time import monotonic
from typing import TYPE_CHECKING, TypeVar
from urllib.request import getproxies, proxy_bypass

import httpx2
import openai

from shared.inference.deadline import BoundedThreads, Overloaded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

T = TypeVar("T")

_OPENAI_URL = "https://api.openai.com/v1"

_RETRIED_STATUSES = frozenset({408, 409, 425, 429})
_REASON_CHARACTERS = 300
# The call gives up a little before its caller does, so that the more telling of the two errors is seen.
_INNER_SHARE = 0.95
# How long a call may outlive its caller before its connection is closed.
_GRACE = 1.0


class CallFailed(Exception):
    """`again`: the same call may succeed later. `status` is None when no answer came.

    `said` is the server's own message. It may repeat what it was sent: show it for fixed probes only.
    """

    def __init__(self, reason: str, *, again: bool, answer: Rejection | None = None) -> None:
        super().__init__(reason)
        self.again = again
        self.status = answer.status if answer else None
        self.retry_after = answer.retry_after if answer else None
        self.said = answer.said if answer else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejection:
    status: int
    retry_after: float | None
    said: str


class AnswerTooLarge(Exception):
    pass


class Endpoint:
    """Threads may share one. `max_bytes` bounds the body of an answer."""

    def __init__(self, *, base_url: str | None, api_key: str, max_bytes: int, threads: int = 8) -> None:
        url = base_url or _OPENAI_URL
        self._threads = BoundedThreads(threads=threads, waiting=threads, name="model-call")
        self._connections = httpx2.HTTPTransport(proxy=_proxy(url))
        self._client = openai.OpenAI(
            base_url=url,
            # Servers of one's own often take no key, but the client wants one.
            api_key=api_key or "none",
            max_retries=0,
            http_client=httpx2.Client(transport=_Limited(self._connections, max_bytes=max_bytes)),
        )

    def call(self, send: Callable[[openai.OpenAI, httpx2.Timeout], T], *, deadline: float) -> T:
        """What `send` returns. Raises CallFailed or AnswerTooLarge, within `deadline` seconds."""
        inner = max(deadline * _INNER_SHARE, 0.001)
        timeout = httpx2.Timeout(inner, connect=min(5.0, inner))
        ended = Event()

        def run() -> T:
            try:
                return _sorted_failures(send, self._client, timeout)
            finally:
                ended.set()

        try:
            return self._threads.call(run, deadline=deadline)
        except TimeoutError:
            Thread(target=self._free, args=(ended,), daemon=True).start()
            raise CallFailed(f"no whole answer within {deadline:.1f} s", again=True) from None
        except Overloaded:
            raise CallFailed("too many calls are under way", again=True) from None

    def close(self) -> None:
        self._threads.close()
        self._client.close()

    def _free(self, ended: Event) -> None:
        """A server that drips headers holds its thread beyond every timeout: closing the socket frees it.

        Calls beside it lose their connections too and are tried again, so this is the last resort.
        New calls open new ones.
        """
        if not ended.wait(_GRACE):
            self._connections.close()


def _proxy(base_url: str) -> str | None:
    """The proxy that the environment names: a transport of one's own is not given it."""
    url = httpx2.URL(base_url)
    return None if proxy_bypass(url.host) else getproxies().get(url.scheme)


class _Limited(httpx2.BaseTransport):
    """Bounds the body in bytes and, by the read timeout of the request, in time as a whole."""

    def __init__(self, inner: httpx2.BaseTransport, *, max_bytes: int) -> None:
        self._inner = inner
        self._max_bytes = max_bytes

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        ends = monotonic() + request.extensions["timeout"]["read"]
        response = self._inner.handle_request(request)
        body = _LimitedBody(response.stream, max_bytes=self._max_bytes, ends=ends)
        return httpx2.Response(
            response.status_code, headers=response.headers, stream=body, extensions=response.extensions
        )

    def close(self) -> None:
        self._inner.close()


class _LimitedBody(httpx2.SyncByteStream):
    def __init__(self, inner: object, *, max_bytes: int, ends: float) -> None:
        if not isinstance(inner, httpx2.SyncByteStream):
            raise TypeError("the transport must be a synchronous one")
        self._inner = inner
        self._max_bytes = max_bytes
        self._ends = ends

    def __iter__(self) -> Iterator[bytes]:
        size = 0
        for chunk in self._inner:
            size += len(chunk)
            if size > self._max_bytes:
                raise AnswerTooLarge(f"an answer of more than {self._max_bytes} bytes")
            if monotonic() > self._ends:
                raise httpx2.ReadTimeout("the answer did not end in time")
            yield chunk

    def close(self) -> None:
        self._inner.close()


def _sorted_failures(
    send: Callable[[openai.OpenAI, httpx2.Timeout], T], client: openai.OpenAI, timeout: httpx2.Timeout
) -> T:
    try:
        return send(client, timeout)
    except openai.APIStatusError as error:
        raise _rejected(error) from None
    except openai.APITimeoutError:
        raise CallFailed("timed out", again=True) from None
    except openai.APIConnectionError as error:
        if isinstance(error.__cause__, AnswerTooLarge):
            raise error.__cause__ from None
        raise CallFailed(f"no connection ({type(error.__cause__).__name__})", again=True) from None
    except openai.OpenAIError as error:
        raise CallFailed(type(error).__name__, again=False) from None


def _rejected(error: openai.APIStatusError) -> CallFailed:
    status = error.status_code
    answer = Rejection(
        status=status,
        retry_after=_retry_after(error.response.headers.get("retry-after")),
        said=str(error.message)[:_REASON_CHARACTERS],
    )
    again = status in _RETRIED_STATUSES or status >= httpx2.codes.INTERNAL_SERVER_ERROR
    return CallFailed(f"the server answered {status}", again=again, answer=answer)


def _retry_after(header: str | None) -> float | None:
    """Seconds, from a number of seconds or an HTTP date; nonsense counts as absent."""
    if header is None:
        return None
    try:
        seconds = float(header)
    except ValueError:
        return _seconds_until(header)
    return seconds if 0 <= seconds < float("inf") else None


def _seconds_until(http_date: str) -> float | None:
    try:
        moment = parsedate_to_datetime(http_date)
    except ValueError:
        return None
    if moment.tzinfo is None:
        return None
    return max((moment - datetime.now(UTC)).total_seconds(), 0.0)
