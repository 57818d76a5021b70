"""Login roles and database of the embedded PostgreSQL.

`turnkeep_migration` owns the database and passes row-level security; `turnkeep_app` and `turnkeep_dispatch`
own nothing and are bound by it. None is a superuser.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from infra.embedded.loopback import HOST
from infra.embedded.passwords import Passwords
from infra.embedded.process import EmbeddedError

if TYPE_CHECKING:
    import psycopg

SUPERUSER = "postgres"
DATABASE = "turnkeep"
MIGRATION = "turnkeep_migration"
APP = "turnkeep_app"
DISPATCH = "turnkeep_dispatch"


@dataclass(frozen=True, slots=True, kw_only=True)
class PostgresUrls:
    """SQLAlchemy URLs of the three login roles."""

    migration_url: str = field(repr=False)
    app_url: str = field(repr=False)
    dispatch_url: str = field(repr=False)


def provision(port: int, *, passwords: Passwords) -> PostgresUrls:
    """Make the roles and the database where they are missing; safe to run on every start."""
    with _connect(port, password=passwords.superuser) as connection:
        _ensure_role(connection, MIGRATION, row_security="BYPASSRLS", password=passwords.migration)
        _ensure_role(connection, APP, row_security="NOBYPASSRLS", password=passwords.app)
        _ensure_role(connection, DISPATCH, row_security="NOBYPASSRLS", password=passwords.dispatch)
        _ensure_database(connection)
    return PostgresUrls(
        migration_url=_url(MIGRATION, passwords.migration, port=port),
        app_url=_url(APP, passwords.app, port=port),
        dispatch_url=_url(DISPATCH, passwords.dispatch, port=port),
    )


def _connect(port: int, *, password: str) -> psycopg.Connection[tuple[object, ...]]:
    import psycopg

    login = f"host={HOST} port={port} user={SUPERUSER} dbname=postgres sslmode=disable"
    try:
        return psycopg.connect(login, password=password, autocommit=True)
    except psycopg.OperationalError as error:
        reason = str(error).strip().splitlines()[-1]
        raise EmbeddedError(
            f"PostgreSQL refused its own superuser ({reason}); "
            "restore the passwords.json that belongs to this data directory."
        ) from error


def _ensure_role(
    connection: psycopg.Connection[tuple[object, ...]], role: str, *, row_security: str, password: str
) -> None:
    from psycopg import sql

    if not connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (role,)).fetchone():
        connection.execute(sql.SQL("CREATE ROLE {}").format(sql.Identifier(role)))
    attributes = f"LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION {row_security}"
    connection.execute(
        sql.SQL("ALTER ROLE {} {} PASSWORD {}").format(
            sql.Identifier(role), sql.SQL(attributes), sql.Literal(password)
        )
    )


def _ensure_database(connection: psycopg.Connection[tuple[object, ...]]) -> None:
    from psycopg import sql

    if not connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", (DATABASE,)).fetchone():
        connection.execute(
            sql.SQL("CREATE DATABASE {} OWNER {}").format(sql.Identifier(DATABASE), sql.Identifier(MIGRATION))
        )


def _url(role: str, password: str, *, port: int) -> str:
    return f"postgresql+psycopg://{role}:{password}@{HOST}:{port}/{DATABASE}"
