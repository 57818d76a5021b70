"""Runs the local vector server (`infra.embedded.vectors`) as a child process."""

from __future__ import annotations

import http.client
import os
import signal
import sys
from pathlib import Path

from infra.embedded.leftovers import end_leftovers
from infra.embedded.loopback import HOST, ServerPlan
from infra.embedded.process import Child, Command

API_KEY_VARIABLE = "TURNKEEP_VECTORS_API_KEY"
_PROBE_SECONDS = 1.0


def plan_vectors(data_dir: Path, *, log: Path, api_key: str, port: int = 0) -> ServerPlan:
    """End what an earlier start left and say how to run the server; the key travels in the environment."""
    home = data_dir / "vectors"
    home.mkdir(mode=0o700, exist_ok=True)
    end_leftovers(home, stop_signal=signal.SIGTERM)

    def command(port: int) -> Command:
        module = (sys.executable, "-m", "infra.embedded.vectors")
        return Command(
            name="The vector server",
            argv=(*module, "--data-dir", str(home), "--port", str(port)),
            cwd=home,
            log=log,
            env={**os.environ, API_KEY_VARIABLE: api_key},
        )

    def is_ready(port: int, _child: Child) -> bool:
        return _answers(port, api_key=api_key)

    return ServerPlan(command=command, is_ready=is_ready, port=port)


def qdrant_url(port: int) -> str:
    return f"http://{HOST}:{port}"


def _answers(port: int, *, api_key: str) -> bool:
    connection = http.client.HTTPConnection(HOST, port, timeout=_PROBE_SECONDS)
    try:
        connection.request("GET", "/collections", headers={"api-key": api_key})
        return connection.getresponse().status == http.HTTPStatus.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
