"""The whole stack under one process: three servers, the gateway, beat and workers, each a process of its own.

`up` is the embedded stack and nothing else: settings that name other servers are set aside, and it says so.
A gateway, beat or worker that ends is started again. When a server ends, everything is stopped, and the next
start on the same data directory recovers it.
"""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import NoReturn, Self

from infra.embedded.loopback import free_port, require_free_port
from infra.embedded.process import Child, Command, EmbeddedError, PortTakenError
from infra.embedded.stack import EmbeddedStack
from infra.environment import embedded_settings, set_aside
from infra.first_key import ensure_key, ensure_pepper
from infra.migrate import migrate
from infra.processes import beat_argv, kinds_of, worker_argv, worker_environment
from infra.readiness import Roll, serves, url_of
from infra.said import last_said
from infra.watch import Watched
from shared.broker import celery_app
from shared.domain.errors import SettingsError
from shared.settings import Settings, load

READY_SECONDS = 60.0
STOP_SECONDS = 15.0
TEND_SECONDS = 0.1
PORT_TRIES = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What `up` was asked for, checked before anything starts. `port` 0 is any free one."""

    port: int
    workers: int
    settings: Settings
    environ: Mapping[str, str] = field(repr=False)
    ignored: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pids:
    gateway: int
    beat: int
    workers: Sequence[int]
    postgres: int
    valkey: int
    vectors: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Where the running stack is reached; `database_url` is the migration role's."""

    url: str
    key: str = field(repr=False)
    database_url: str = field(repr=False)
    broker_url: str = field(repr=False)
    qdrant_url: str
    pids: Pids


def plan(environ: Mapping[str, str], *, port: int | None, workers: int) -> Plan:
    """`port` None is the setting's. Raises SettingsError for a wrong one, PortTakenError for one in use."""
    kept, ignored = set_aside(environ)
    settings = load(kept)
    chosen = settings.gateway.port if port is None else port
    if chosen:
        require_free_port(chosen)
    return Plan(port=chosen, workers=workers, settings=settings, environ=kept, ignored=ignored)


class RunningStack:
    """Ready on entry: the gateway serves and every worker consumes. Everything is stopped on exit.

    Enter it on the main thread. Raises EmbeddedError or SettingsError, each one sentence.
    """

    def __init__(self, data_dir: Path, *, plan: Plan) -> None:
        self._data_dir = data_dir
        self._plan = plan
        self._exits = ExitStack()
        self._watched: list[Watched] = []

    def __enter__(self) -> Self:
        with ExitStack() as exits:
            self._stack = exits.enter_context(EmbeddedStack(self._data_dir))
            exits.callback(self._ask_to_stop)
            self._servers = _servers(self._stack)
            self._start()
            self._exits = exits.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._exits.close()

    @property
    def address(self) -> Address:
        stack = self._stack
        return Address(
            url=self._url,
            key=self._key,
            database_url=stack.postgres.migration_url,
            broker_url=stack.broker_url,
            qdrant_url=stack.qdrant_url,
            pids=Pids(
                gateway=self._gateway.child.pid,
                beat=self._beat.child.pid,
                workers=[worker.child.pid for worker in self._workers],
                postgres=stack.pids.postgres,
                valkey=stack.pids.valkey,
                vectors=stack.pids.vectors,
            ),
        )

    def tend_forever(self, *, say: Callable[[str], None]) -> NoReturn:
        """Raises EmbeddedError when a server ends."""
        while True:
            for line in self.tend():
                say(line)
            time.sleep(TEND_SECONDS)

    def tend(self) -> Sequence[str]:
        """What was done about children that ended."""
        for server in self._servers:
            if server.exit_code() is not None:
                raise EmbeddedError(
                    f"{server.name} ended with code {server.exit_code()} and everything was stopped; read "
                    f"{self._logs} and start again with the same data directory."
                )
        return [line for watched in self._watched if (line := watched.tend())]

    @property
    def _logs(self) -> Path:
        return self._stack.data_dir / "logs"

    def _start(self) -> None:
        data_dir, postgres = self._stack.data_dir, self._stack.postgres
        migrate(postgres.migration_url, app_url=postgres.app_url, dispatch_url=postgres.dispatch_url)
        pepper = ensure_pepper(data_dir)
        self._key = ensure_key(data_dir, postgres=postgres)
        (data_dir / "run").mkdir(mode=0o700, exist_ok=True)
        self._environ = {**self._plan.environ, **embedded_settings(self._stack, pepper=pepper)}
        self._spawn_gateway()
        self._spawn_workers()
        self._await_gateway()
        self._await_workers()
        # Last: until now it would have taken time from those that are waited for.
        level = self._plan.settings.log.level
        self._beat = self._watch("beat", argv=beat_argv(level=level), environ={})

    def _spawn_gateway(self) -> None:
        port = self._plan.port or free_port()
        self._url = url_of(self._plan.settings.gateway.host, port=port)
        argv = (sys.executable, "-m", "infra.cli", "gateway")
        self._gateway = self._watch("gateway", argv=argv, environ={"TURNKEEP_GATEWAY__PORT": str(port)})

    def _spawn_workers(self) -> None:
        chosen = self._plan.settings.worker
        self._nodes = [f"worker-{number + 1}@turnkeep" for number in range(self._plan.workers)]
        self._workers = []
        for number, node in enumerate(self._nodes):
            queues = kinds_of(number, workers=self._plan.workers)
            argv = worker_argv(queues, node=node, worker=chosen, level=self._plan.settings.log.level)
            environ = worker_environment(queues, worker=chosen)
            self._workers.append(self._watch(node.partition("@")[0], argv=argv, environ=environ))

    def _watch(self, name: str, *, argv: tuple[str, ...], environ: Mapping[str, str]) -> Watched:
        command = Command(
            name=name,
            argv=argv,
            cwd=self._stack.data_dir / "run",
            log=self._logs / f"{name}.log",
            env={**self._environ, **environ},
            stop_seconds=STOP_SECONDS,
        )
        watched = Watched(command, supervisor=self._stack.supervisor)
        self._watched.append(watched)
        return watched

    def _await_gateway(self) -> None:
        for _ in range(PORT_TRIES):
            try:
                self._gateway.child.await_ready(lambda: serves(self._url), seconds=READY_SECONDS)
            except PortTakenError:
                if self._plan.port:
                    raise
                self._watched.remove(self._gateway)
                self._spawn_gateway()
            except EmbeddedError as error:
                sentence = last_said(self._logs / "gateway.log")
                raise SettingsError(sentence) if sentence else error from error
            else:
                return
        raise EmbeddedError("No free port was found for the gateway; give one with --port.")

    def _await_workers(self) -> None:
        settings = self._plan.settings
        with celery_app(settings.broker, url=self._stack.broker_url, worker=settings.worker) as app:
            roll = Roll(app, nodes=self._nodes)
            for node, worker in zip(self._nodes, self._workers, strict=True):
                worker.child.await_ready(partial(roll.has_answered, node), seconds=READY_SECONDS)

    def _ask_to_stop(self) -> None:
        # A second Ctrl-C must not leave half of them running; every wait below has an end.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        for watched in self._watched:
            watched.ask_to_stop()


def _servers(stack: EmbeddedStack) -> Sequence[Child]:
    pids = {stack.pids.postgres, stack.pids.valkey, stack.pids.vectors}
    return [child for child in stack.supervisor.children if child.pid in pids]
