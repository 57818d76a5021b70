"""A light load generator: threads with a kept-alive connection each, bodies encoded beforehand."""

from __future__ import annotations

import http.client
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from time import perf_counter

import orjson

OK = (200, 202)
TIMEOUT_SECONDS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    path: str
    body: bytes = b"{}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Timings:
    """Seconds: of each request, and of all of them together."""

    latencies: Sequence[float]
    elapsed: float

    @property
    def rate(self) -> float:
        return len(self.latencies) / self.elapsed

    def percentile(self, share: float) -> float:
        """The latency that `share` of the requests stayed within, interpolated."""
        ordered = sorted(self.latencies)
        place = share * (len(ordered) - 1)
        low = int(place)
        high = min(low + 1, len(ordered) - 1)
        return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


class Client:
    """One connection. Raises RuntimeError at the first answer that is no success: nothing is left out."""

    def __init__(self, *, port: int, key: str) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT_SECONDS)
        self._headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}

    def post(self, request: Request) -> bytes:
        return self._send("POST", request.path, request.body)

    def get(self, path: str) -> dict[str, object]:
        answer: dict[str, object] = orjson.loads(self._send("GET", path, None))
        return answer

    def close(self) -> None:
        self._connection.close()

    def _send(self, method: str, path: str, body: bytes | None) -> bytes:
        self._connection.request(method, path, body=body, headers=self._headers)
        answer = self._connection.getresponse()
        content = answer.read()
        if answer.status not in OK:
            raise RuntimeError(f"{method} {path}: {answer.status} {content[:500]!r}")
        return content


def drive(shares: Sequence[Sequence[Request]], *, port: int, key: str) -> Timings:
    """Every share by a client of its own, one request after the other, all shares at once."""
    begun = perf_counter()
    with ThreadPoolExecutor(max_workers=len(shares)) as pool:
        latencies = list(pool.map(lambda share: _share(share, port=port, key=key), shares))
    elapsed = perf_counter() - begun
    return Timings(latencies=[each for share in latencies for each in share], elapsed=elapsed)


def _share(requests: Sequence[Request], *, port: int, key: str) -> list[float]:
    client = Client(port=port, key=key)
    latencies: list[float] = []
    try:
        for request in requests:
            begun = perf_counter()
            client.post(request)
            latencies.append(perf_counter() - begun)
    finally:
        client.close()
    return latencies
