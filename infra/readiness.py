"""Whether the gateway serves and the workers consume, asked of themselves."""

from __future__ import annotations

import http.client
from collections.abc import Sequence

from celery import Celery

PROBE_SECONDS = 2.0
PING_SECONDS = 0.25


def url_of(host: str, *, port: int) -> str:
    """Where a client on this machine reaches it."""
    reached = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, host)  # noqa: S104 — compared, not bound
    return f"http://{reached}:{port}"


def serves(url: str) -> bool:
    """Whether the gateway's /readyz says yes."""
    connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=PROBE_SECONDS)
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status == http.HTTPStatus.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


class Roll:
    """Which workers have answered a ping. Celery opens a worker's queues before it answers."""

    def __init__(self, app: Celery, *, nodes: Sequence[str]) -> None:
        self._app = app
        self._missing = set(nodes)

    def has_answered(self, node: str) -> bool:
        if node in self._missing:
            answers = self._app.control.ping(destination=sorted(self._missing), timeout=PING_SECONDS)
            self._missing -= {name for answer in answers for name in answer}
        return node not in self._missing
