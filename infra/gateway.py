"""Runs the gateway in this process until it is told to stop."""

from __future__ import annotations

import socket
from collections.abc import Callable

import uvicorn

from api_gateway.main import create_app
from infra.migrate import head
from infra.readiness import url_of
from shared.domain.errors import SettingsError
from shared.settings import Settings

STOP_SECONDS = 5
BACKLOG = 1_024


def serve(settings: Settings, *, announce: Callable[[str], None]) -> None:
    """`announce` is given the URL. Raises SettingsError with one sentence for what stops the start."""
    with _listening(settings.gateway.host, port=settings.gateway.port) as listener:
        # Both are named, so that a missing one stops the start and is not replaced by a slower one.
        config = uvicorn.Config(
            create_app(settings, head=head()),
            http="httptools",
            loop="uvloop",
            backlog=BACKLOG,
            access_log=False,
            log_config=None,
            timeout_graceful_shutdown=STOP_SECONDS,
        )
        announce(url_of(settings.gateway.host, port=listener.getsockname()[1]))
        uvicorn.Server(config).run(sockets=[listener])


def _listening(host: str, *, port: int) -> socket.socket:
    """Bound only: who connects before the application stands is refused and does not hang."""
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        raise SettingsError(
            f"The gateway cannot listen on {host}:{port} ({error.strerror}); stop the process that does "
            "or set TURNKEEP_GATEWAY__PORT to another port."
        ) from None
    return listener
