"""A running Turnkeep for tests: databases of their own on the one embedded stack, real processes on them.

`Databases.make()` clones a migrated template in a fraction of a second. Take one of your own wherever steps
are claimed: the dispatch role sees the work of every tenant. Within one database, take a fresh `tenant()`.
`Deployment` starts gateways, workers and beat as processes of their own, with the `hashing` embedder.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import TypeVar

import httpx2
import psutil
import psycopg
from psycopg import sql
from sqlalchemy import Engine, make_url, text

from infra.embedded.loopback import HOST, free_port
from infra.embedded.passwords import keep_passwords
from infra.embedded.process import Child, Command, bare_environment
from infra.embedded.roles import MIGRATION, SUPERUSER, PostgresUrls
from infra.embedded.stack import EmbeddedStack
from infra.migrate import migrate
from shared.domain.ids import TenantId
from shared.ports import Begin
from shared.stores.postgres import keys
from shared.stores.postgres.dispatch import Dispatch
from shared.stores.postgres.engine import connect
from shared.stores.postgres.unit_of_work import begin_on

PROJECT = Path(__file__).parent.parent
PEPPER = "tests only: a pepper that is long enough"
QUEUES = ("extract", "summarize", "embed", "merge", "index", "upkeep")
CONNECTIONS = 20  # of the application's engine in the test process, for concurrent callers
_SERVE = """
import sys, uvicorn
from api_gateway.main import create_app
from infra.migrate import head
uvicorn.run(create_app(head=head()), port=int(sys.argv[1]), log_level="warning")
"""
Value = TypeVar("Value")


def eventually(condition: Callable[[], Value], *, seconds: float = 30.0) -> Value:
    """The first true value of `condition`. Raises AssertionError when none comes in time."""
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        if time.monotonic() > deadline:
            raise AssertionError(f"still {value!r} after {seconds:.0f} s")
        time.sleep(0.02)
    return value


@dataclass(frozen=True, slots=True, kw_only=True)
class Tenant:
    """`token` has every scope."""

    tenant_id: TenantId
    name: str
    token: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Database:
    """A migrated database. `app` logs in as the application role, `owner` as the migration role."""

    name: str
    urls: PostgresUrls
    app: Engine
    owner: Engine
    dispatch: Dispatch
    names: Iterator[int] = field(default_factory=count)

    @property
    def begin(self) -> Begin:
        return begin_on(self.app)

    def tenant(self) -> Tenant:
        """A new one, with a key."""
        name = f"tenant-{next(self.names)}"
        token = keys.create(self.owner, tenant=name)
        with self.owner.connect() as connection:
            found = connection.execute(
                text("select tenant_id from tenants where name = :name"), {"name": name}
            )
            return Tenant(tenant_id=TenantId(found.scalar_one()), name=name, token=token)


class Databases:
    """The first is migrated, the next are clones of a template; their connections end with `exits`."""

    def __init__(self, stack: EmbeddedStack, *, exits: ExitStack) -> None:
        self._stack = stack
        self._exits = exits
        # The run may have joined the servers of another one.
        self._names = (f"turnkeep_{os.getpid()}_{number}" for number in count())
        self._template: str | None = None
        self._first = True

    def make(self, *, lease_seconds: float = 30.0) -> Database:
        name = self._migrated() if self._first else self._cloned()
        self._first = False
        urls = _renamed(self._stack.postgres, database=name)
        return Database(
            name=name,
            urls=urls,
            app=self._connect(urls.app_url, pool_size=CONNECTIONS),
            owner=self._connect(urls.migration_url, pool_size=2),
            dispatch=Dispatch(self._connect(urls.dispatch_url, pool_size=4), lease_seconds=lease_seconds),
        )

    def _migrated(self) -> str:
        name = next(self._names)
        self._create(name, template="template0")
        urls = _renamed(self._stack.postgres, database=name)
        migrate(urls.migration_url, app_url=urls.app_url, dispatch_url=urls.dispatch_url)
        return name

    def _cloned(self) -> str:
        """Nobody may be connected to a template, so it is used for nothing else."""
        self._template = self._template or self._migrated()
        name = next(self._names)
        self._create(name, template=self._template)
        return name

    def _create(self, name: str, *, template: str) -> None:
        home = self._stack.data_dir
        passwords = keep_passwords(home / "passwords.json", servers=home / "postgres")
        port = make_url(self._stack.postgres.app_url).port
        login = f"host={HOST} port={port} user={SUPERUSER} dbname=postgres"
        with psycopg.connect(login, password=passwords.superuser, autocommit=True) as connection:
            connection.execute(
                sql.SQL("create database {} template {} owner {}").format(
                    sql.Identifier(name), sql.Identifier(template), sql.Identifier(MIGRATION)
                )
            )

    def _connect(self, url: str, *, pool_size: int) -> Engine:
        engine = connect(url, pool_size=pool_size)
        self._exits.callback(engine.dispose)
        return engine


def _renamed(urls: PostgresUrls, *, database: str) -> PostgresUrls:
    renamed = {
        name: make_url(getattr(urls, name)).set(database=database).render_as_string(hide_password=False)
        for name in ("migration_url", "app_url", "dispatch_url")
    }
    return replace(urls, **renamed)


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewayProcess:
    url: str
    child: Child

    @contextmanager
    def client(self, tenant: Tenant | None) -> Iterator[httpx2.Client]:
        headers = {"Authorization": f"Bearer {tenant.token}"} if tenant else {}
        with httpx2.Client(base_url=self.url, headers=headers, timeout=30) as client:
            yield client


class Deployment:
    """Processes on one database, with a broker prefix and a vector collection of their own.

    They end with the stack; a test that kills one starts the next itself.
    """

    def __init__(
        self, stack: EmbeddedStack, *, database: Database, settings: Mapping[str, str] | None = None
    ) -> None:
        self._stack = stack
        self.database = database
        self.logs = stack.data_dir / "logs"
        self._workers: list[Child] = []
        self._environment = bare_environment() | _settings(stack, database=database) | dict(settings or {})

    def gateway(self) -> GatewayProcess:
        port = free_port()
        child = self._spawn("gateway", "-c", _SERVE, str(port))
        url = f"http://{HOST}:{port}"
        child.await_ready(lambda: _answers(f"{url}/livez"), seconds=60)
        return GatewayProcess(url=url, child=child)

    def worker(self, *, queues: Sequence[str] = QUEUES) -> Child:
        name = f"{'-'.join(queues)}-{free_port()}@test"
        arguments = ("worker", "-Q", ",".join(queues), "-n", name, "--without-mingle", "--without-gossip")
        child = self._spawn("worker", "-m", "celery", "-A", "workers.main", *arguments)
        self._workers.append(child)
        return child

    @contextmanager
    def paused(self) -> Iterator[None]:
        """No worker moves inside: what is posted is still pending when the block ends."""
        workers = [psutil.Process(child.pid) for child in self._workers if child.exit_code() is None]
        for worker in workers:
            worker.suspend()
        try:
            eventually(lambda: all(worker.status() == psutil.STATUS_STOPPED for worker in workers))
            yield
        finally:
            for worker in workers:
                worker.resume()

    def beat(self) -> Child:
        places = self._stack.data_dir / f"beat-{self.database.name}-{free_port()}"
        return self._spawn("beat", "-m", "celery", "-A", "workers.main", "beat", "-s", str(places))

    def _spawn(self, name: str, *arguments: str) -> Child:
        command = Command(
            name=name,
            argv=(sys.executable, *arguments),
            cwd=PROJECT,
            log=self.logs / f"{self.database.name}-{name}.log",
            env=self._environment,
            stop_signal=signal.SIGKILL,  # an orderly end takes a worker seconds, and nothing needs it here
        )
        return self._stack.supervisor.spawn(command)


def _answers(url: str) -> bool:
    try:
        return httpx2.get(url, timeout=5).is_success
    except httpx2.TransportError:
        return False


def _settings(stack: EmbeddedStack, *, database: Database) -> dict[str, str]:
    return {
        "PYTHONPATH": str(PROJECT),
        "TURNKEEP_POSTGRES__URL": database.urls.app_url,
        "TURNKEEP_POSTGRES__DISPATCH_URL": database.urls.dispatch_url,
        "TURNKEEP_BROKER__URL": stack.broker_url,
        "TURNKEEP_BROKER__KEY_PREFIX": f"{database.name}:",
        "TURNKEEP_QDRANT__URL": stack.qdrant_url,
        "TURNKEEP_QDRANT__API_KEY": stack.qdrant_api_key,
        "TURNKEEP_QDRANT__COLLECTION": database.name,
        "TURNKEEP_EMBEDDER__NAME": "hashing",
        "TURNKEEP_SECURITY__PEPPER": PEPPER,
        "TURNKEEP_WORKER__SWEEP_SECONDS": "0.5",
        "TURNKEEP_LOG__LEVEL": "WARNING",
    }
