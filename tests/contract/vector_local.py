from __future__ import annotations

import os
import signal
from pathlib import Path
from types import TracebackType
from typing import Self

from qdrant_client import QdrantClient

from infra.embedded.loopback import LoopbackServer
from infra.embedded.process import Supervisor
from infra.embedded.vector_server import plan_vectors, qdrant_url

API_KEY = "local-test-key"


class LocalVectors:
    """The local vector server alone, as a real child process, with a client of it."""

    def __init__(self, home: Path) -> None:
        self._home = home

    def __enter__(self) -> Self:
        self._supervisor = Supervisor()
        plan = plan_vectors(self._home, log=self._home / "vectors.log", api_key=API_KEY)
        self._server = LoopbackServer(plan, supervisor=self._supervisor)
        self._server.await_ready()
        # A key given as such over plain HTTP is warned about; as a header it is not.
        self.client = QdrantClient(url=self.url, metadata={"api-key": API_KEY}, prefer_grpc=False)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.client.close()
        self._supervisor.stop()

    @property
    def url(self) -> str:
        return qdrant_url(self._server.port)

    def kill(self) -> None:
        os.kill(self._server.pid, signal.SIGKILL)
