"""Servers on loopback ports: a port that was asked for, or any free one with another try when it is lost."""

from __future__ import annotations

import socket
from collections.abc import Callable
from dataclasses import dataclass

from infra.embedded.process import Child, Command, PortTakenError, Supervisor

HOST = "127.0.0.1"
_PORT_TRIES = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerPlan:
    """How to run a server on a port and how to tell that it answers. `port` 0 means any free one."""

    command: Callable[[int], Command]
    is_ready: Callable[[int, Child], bool]
    port: int = 0
    ready_seconds: float = 30.0


class LoopbackServer:
    """A server that was spawned; `await_ready` moves it to another port when somebody took its port first."""

    def __init__(self, plan: ServerPlan, *, supervisor: Supervisor) -> None:
        self._plan = plan
        self._supervisor = supervisor
        if plan.port:
            require_free_port(plan.port)
        self._spawn()

    @property
    def pid(self) -> int:
        return self._child.pid

    def await_ready(self) -> None:
        for _ in range(_PORT_TRIES):
            try:
                self._await_child()
            except PortTakenError:
                if self._plan.port:
                    raise
                self._spawn()
            else:
                return
        self._await_child()

    def _spawn(self) -> None:
        self.port = self._plan.port or free_port()
        self._child = self._supervisor.spawn(self._plan.command(self.port))

    def _await_child(self) -> None:
        port, child = self.port, self._child
        child.await_ready(lambda: self._plan.is_ready(port, child), seconds=self._plan.ready_seconds)


def free_port() -> int:
    """A port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


def require_free_port(port: int) -> None:
    """Raise PortTakenError when somebody listens on the port."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            raise PortTakenError(
                f"Port {port} cannot be used ({error.strerror}); stop the process that listens on it "
                "or choose another port."
            ) from error
