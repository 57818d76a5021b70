from __future__ import annotations

from collections.abc import Iterator

import httpx2
import pytest

from infra.embedded.stack import EmbeddedStack
from tests.integration.door import Door
from tests.integration.protocol import LEASE_SECONDS, House
from tests.integration.talking import accepted, post, turn
from tests.running import Database, Databases, Deployment, GatewayProcess, Tenant


@pytest.fixture
def api(quiet_gateway: GatewayProcess, tenant: Tenant) -> Iterator[httpx2.Client]:
    """A new tenant's client, where no worker runs."""
    with quiet_gateway.client(tenant) as client:
        yield client


@pytest.fixture
def door(quiet_gateway: GatewayProcess, api: httpx2.Client) -> Door:
    """For bytes of the same tenant as `api`; the user `u` has one turn in the session `s`."""
    accepted(post(api, turn("first")))
    return Door(quiet_gateway, api)


@pytest.fixture
def live(running: Deployment, running_gateway: GatewayProcess) -> Iterator[httpx2.Client]:
    """A new tenant's client, where workers run."""
    with running_gateway.client(running.database.tenant()) as client:
        yield client


@pytest.fixture(scope="session")
def workshop(databases: Databases) -> Database:
    """A database whose work is done by hand; tests leave nothing due behind."""
    return databases.make(lease_seconds=LEASE_SECONDS)


@pytest.fixture
def house(stack: EmbeddedStack, workshop: Database) -> Iterator[House]:
    """A new tenant of the workshop."""
    made = House.on(stack, database=workshop)
    yield made
    made.leave()
