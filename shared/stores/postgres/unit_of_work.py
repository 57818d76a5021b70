from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property

from sqlalchemy import Connection, Engine, text

from shared.domain.ids import TenantId
from shared.ports import Begin, Work
from shared.stores.postgres.batches import Batches
from shared.stores.postgres.condensed import Condensed
from shared.stores.postgres.debts import Debts
from shared.stores.postgres.engine import transaction
from shared.stores.postgres.erasures import Erasures
from shared.stores.postgres.failures import Failures
from shared.stores.postgres.idempotency import IdempotencyKeys
from shared.stores.postgres.memory_writes import Memories
from shared.stores.postgres.sessions import Sessions
from shared.stores.postgres.stats import Stats
from shared.stores.postgres.turns import Turns
from shared.stores.postgres.users import Users

SET_TENANT = text("select set_config('turnkeep.tenant', :tenant, true)")


class PostgresWork:
    """One transaction of one tenant. Row-level security stands behind every statement in it."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    @cached_property
    def users(self) -> Users:
        return Users(self._connection)

    @cached_property
    def sessions(self) -> Sessions:
        return Sessions(self._connection)

    @cached_property
    def turns(self) -> Turns:
        return Turns(self._connection)

    @cached_property
    def idempotency(self) -> IdempotencyKeys:
        return IdempotencyKeys(self._connection)

    @cached_property
    def batches(self) -> Batches:
        return Batches(self._connection)

    @cached_property
    def condensed(self) -> Condensed:
        return Condensed(self._connection)

    @cached_property
    def memories(self) -> Memories:
        return Memories(self._connection)

    @cached_property
    def debts(self) -> Debts:
        return Debts(self._connection)

    @cached_property
    def failures(self) -> Failures:
        return Failures(self._connection)

    @cached_property
    def erasures(self) -> Erasures:
        return Erasures(self._connection)

    @cached_property
    def stats(self) -> Stats:
        return Stats(self._connection)


def begin_on(engine: Engine) -> Begin:
    """Units of work on this engine; it must log in as the application role."""

    @contextmanager
    def begin(tenant_id: TenantId) -> Iterator[Work]:
        with transaction(engine) as connection:
            connection.execute(SET_TENANT, {"tenant": str(tenant_id)})
            yield PostgresWork(connection)

    return begin
