from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from hypothesis import settings

from infra.embedded.stack import EmbeddedStack
from tests.joined import servers
from tests.running import Database, Databases, Deployment, GatewayProcess, Tenant


def pytest_configure() -> None:
    # A run in the background of a shell ignores Ctrl-C, and so would every process that it tests.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    # The same examples in every run: what passed here passes there.
    settings.register_profile("repeatable", derandomize=True)
    settings.load_profile("repeatable")


@pytest.fixture(scope="session")
def stack() -> Iterator[EmbeddedStack]:
    """Real servers for the whole run, in a temporary directory."""
    with servers() as started:
        yield started


@pytest.fixture(scope="session")
def databases(stack: EmbeddedStack) -> Iterator[Databases]:
    """`databases.make()` is a migrated database nobody else uses."""
    with ExitStack() as exits:
        yield Databases(stack, exits=exits)


@pytest.fixture(scope="session")
def quiet(stack: EmbeddedStack, databases: Databases) -> Deployment:
    """A database on which no worker ever runs: what is pending stays pending."""
    return Deployment(stack, database=databases.make())


@pytest.fixture(scope="session")
def quiet_gateway(quiet: Deployment) -> GatewayProcess:
    return quiet.gateway()


@pytest.fixture(scope="session")
def running(stack: EmbeddedStack, databases: Databases) -> Deployment:
    """A database with a worker of every kind and beat on it, each a process."""
    deployment = Deployment(stack, database=databases.make())
    deployment.worker()
    deployment.beat()
    return deployment


@pytest.fixture(scope="session")
def running_gateway(running: Deployment) -> GatewayProcess:
    return running.gateway()


@pytest.fixture
def database(quiet: Deployment) -> Database:
    """The shared one without workers; tests keep apart by tenant."""
    return quiet.database


@pytest.fixture
def tenant(quiet: Deployment) -> Tenant:
    """A new tenant of `database`."""
    return quiet.database.tenant()
