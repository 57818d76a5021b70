"""Connections, and the one place where the driver's errors become ours."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from select import POLLIN, poll
from typing import Protocol

import orjson
from sqlalchemy import Connection, Engine, Row, TextClause, create_engine, event, text
from sqlalchemy.exc import (
    DBAPIError,
    InterfaceError,
    InvalidatePoolError,
    OperationalError,
    SQLAlchemyError,
)
from sqlalchemy.exc import TimeoutError as PoolTimeout

from shared.domain.errors import SettingsError, StoreUnavailable
from shared.ports import PageEnd

Params = Mapping[str, object]
ROLE = text("select rolsuper, rolbypassrls from pg_roles where rolname = current_user")
REVISION = text("select version_num from alembic_version")
# Seconds; so that nothing on the way to the server drops an idle connection, and a lost server is noticed.
KEEPALIVES = {"keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 3}
# Transactions are short. One whose process was stopped in the middle must not hold its locks, and with them
# the accepting of turns, for as long as the process is stopped.
OPTIONS = "-c timezone=UTC -c idle_in_transaction_session_timeout=15s"


def connect(url: str, *, pool_size: int) -> Engine:
    engine = create_engine(
        url,
        pool_size=pool_size,
        max_overflow=0,
        pool_timeout=5,
        hide_parameters=True,  # an error goes to the log, and what customers say must not
        # jsonb keeps 1e300 as an integer of 301 digits; this reads it back as the float that was stored.
        json_deserializer=orjson.loads,
        connect_args={"connect_timeout": 5, "options": OPTIONS} | KEEPALIVES,
    )
    event.listen(engine, "checkout", _refuse_closed)
    return engine


class DriverConnection(Protocol):
    def fileno(self) -> int: ...


def _refuse_closed(connection: DriverConnection, _record: object, _proxy: object) -> None:
    """A restarted server must not cost a request. Only a server that closes it writes to an idle connection,
    and what it wrote is here already: unlike a ping, looking for that costs no round trip."""
    socket = poll()
    socket.register(connection.fileno(), POLLIN)
    if socket.poll(0):
        raise InvalidatePoolError


@contextmanager
def transaction(engine: Engine) -> Iterator[Connection]:
    """Commits at the end, rolls back on any error. Raises StoreUnavailable when Postgres is the reason."""
    with _ours(), engine.begin() as connection:
        yield connection


@contextmanager
def statement(engine: Engine) -> Iterator[Connection]:
    """For one statement, which is a transaction by itself: it is spared the round trips to begin and commit.

    Raises StoreUnavailable when Postgres is the reason.
    """
    with _ours(), engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        yield connection


@contextmanager
def _ours() -> Iterator[None]:
    try:
        yield
    except (OperationalError, InterfaceError, PoolTimeout) as error:
        raise StoreUnavailable(f"Postgres does not answer: {type(error).__name__}") from error
    except DBAPIError as error:
        if error.connection_invalidated:
            raise StoreUnavailable("the connection to Postgres was lost") from error
        raise


def check_role(engine: Engine, *, name: str) -> None:
    """Row-level security binds neither superusers nor roles that bypass it: refuse to start with one."""
    try:
        with engine.connect() as connection:
            superuser, bypass = connection.execute(ROLE).one()
    except SQLAlchemyError as error:
        raise SettingsError(
            f"{name}: Postgres cannot be reached ({_first_line(error)}); start it or correct the URL."
        ) from None
    if superuser or bypass:
        raise SettingsError(
            f"{name} logs in as a role that row-level security does not bind; use one that is neither "
            "SUPERUSER nor BYPASSRLS."
        )


def revision(engine: Engine) -> str | None:
    try:
        with engine.connect() as connection:
            return connection.execute(REVISION).scalar_one_or_none()
    except SQLAlchemyError:
        return None


def check_revision(engine: Engine, *, head: str) -> None:
    found = revision(engine)
    if found != head:
        raise SettingsError(f"The database is at migration {found}, not {head}; run `turnkeep migrate`.")


def _first_line(error: SQLAlchemyError) -> str:
    return str(error.__cause__ or error).strip().splitlines()[0]


def page_params(end: PageEnd | None) -> dict[str, object]:
    return {"at": end and end.at, "key": end and end.key}


def dumps(value: object) -> str:
    return orjson.dumps(value).decode()


@cache
def _parsed(statement: str) -> TextClause:
    return text(statement)


class Repository:
    """SQL over one transaction. Statements are module constants; values are always parameters."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def rows(self, statement: str, params: Params | None = None) -> Sequence[Row[tuple[object, ...]]]:
        return self._connection.execute(_parsed(statement), params or {}).all()

    def row(self, statement: str, params: Params | None = None) -> Row[tuple[object, ...]] | None:
        return self._connection.execute(_parsed(statement), params or {}).first()

    def run(self, statement: str, params: Params | Sequence[Params] | None = None) -> int:
        return self._connection.execute(_parsed(statement), params or {}).rowcount
