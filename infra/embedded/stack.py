"""The embedded stack: PostgreSQL, Valkey and the vector server on free loopback ports, as one context."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from infra.embedded.loopback import LoopbackServer
from infra.embedded.passwords import Passwords, keep_passwords
from infra.embedded.postgres import plan_postgres, prepare_home
from infra.embedded.process import EmbeddedError, Supervisor
from infra.embedded.roles import PostgresUrls, provision
from infra.embedded.valkey import broker_url, plan_valkey
from infra.embedded.vector_server import plan_vectors, qdrant_url


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    """The ports to use; 0 means any free one."""

    postgres: int = 0
    valkey: int = 0
    vectors: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Pids:
    postgres: int
    valkey: int
    vectors: int


class EmbeddedStack:
    """Starts the three servers on entry and stops them on exit.

    `data_dir` None means a temporary directory that is removed at the end. Enter it on the main thread.
    Raises EmbeddedError when a part cannot run; nothing is left running then. `supervisor` takes further
    children, which are stopped before the servers they use.
    """

    postgres: PostgresUrls
    broker_url: str
    qdrant_url: str
    qdrant_api_key: str
    pids: Pids
    data_dir: Path
    supervisor: Supervisor

    def __init__(self, data_dir: Path | None = None, *, ports: Ports | None = None) -> None:
        self._asked = data_dir
        self._ports = ports or Ports()
        self._exits = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as exits:
            self.data_dir = _data_dir(self._asked, exits=exits)
            _lock(self.data_dir, exits=exits)
            self.supervisor = exits.enter_context(Supervisor())
            try:
                self._start()
            except OSError as error:
                raise EmbeddedError(
                    f"The embedded servers cannot start in {self.data_dir} ({error}); "
                    "choose another directory or give it and what it names to your user."
                ) from error
            self._exits = exits.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._exits.close()

    def _start(self) -> None:
        passwords = keep_passwords(self.data_dir / "passwords.json", servers=self.data_dir / "postgres")
        logs = self.data_dir / "logs"
        logs.mkdir(mode=0o700, exist_ok=True)
        home = prepare_home(self.data_dir, log=logs / "postgres.log")
        # The vector server takes longest to load and initdb comes second, so they run beside each other.
        vectors = self._spawn_vectors(passwords, log=logs / "vectors.log")
        valkey = self._spawn_valkey(passwords, log=logs / "valkey.log")
        postgres = LoopbackServer(
            plan_postgres(home, supervisor=self.supervisor, passwords=passwords, port=self._ports.postgres),
            supervisor=self.supervisor,
        )
        postgres.await_ready()
        self.postgres = provision(postgres.port, passwords=passwords)
        valkey.await_ready()
        self.broker_url = broker_url(valkey.port, password=passwords.broker)
        vectors.await_ready()
        self.qdrant_url = qdrant_url(vectors.port)
        self.qdrant_api_key = passwords.vectors
        self.pids = Pids(postgres=postgres.pid, valkey=valkey.pid, vectors=vectors.pid)

    def _spawn_vectors(self, passwords: Passwords, *, log: Path) -> LoopbackServer:
        plan = plan_vectors(self.data_dir, log=log, api_key=passwords.vectors, port=self._ports.vectors)
        return LoopbackServer(plan, supervisor=self.supervisor)

    def _spawn_valkey(self, passwords: Passwords, *, log: Path) -> LoopbackServer:
        plan = plan_valkey(self.data_dir, log=log, password=passwords.broker, port=self._ports.valkey)
        return LoopbackServer(plan, supervisor=self.supervisor)


def _data_dir(asked: Path | None, *, exits: ExitStack) -> Path:
    if asked is None:
        temporary = Path(tempfile.mkdtemp(prefix="turnkeep-")).resolve()
        exits.callback(shutil.rmtree, temporary)
        return temporary
    try:
        asked.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise _unwritable(asked, error) from error
    return asked.resolve()


def _lock(data_dir: Path, *, exits: ExitStack) -> None:
    """Hold the directory for this process; the system lets go of it however the process ends."""
    try:
        descriptor = os.open(data_dir / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise _unwritable(data_dir, error) from error
    lock = exits.enter_context(os.fdopen(descriptor, "r+"))
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise EmbeddedError(
            f"The data directory {data_dir} is in use by process {lock.read().strip() or 'unknown'}; "
            "stop that one or choose another directory."
        ) from None
    lock.truncate(0)
    lock.write(str(os.getpid()))
    lock.flush()


def _unwritable(data_dir: Path, error: OSError) -> EmbeddedError:
    return EmbeddedError(
        f"The data directory {data_dir} cannot be written ({error.strerror}); "
        "choose another directory or give it to your user."
    )
