"""Bring the schema to head, once, under an advisory lock."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, create_engine, make_url, text

from shared.domain.errors import SettingsError

MIGRATIONS = Path(__file__).parent / "migrations"
LOCK = 7_236_011  # any number nobody else locks; two migrations wait for each other on it


def config() -> Config:
    settings = Config()
    settings.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    return settings


def head() -> str:
    revision = ScriptDirectory.from_config(config()).get_current_head()
    return revision or ""


def migrate(migration_url: str, *, app_url: str, dispatch_url: str) -> str:
    """Returns the revision reached. Grants go to the roles that the two other URLs log in with."""
    engine = create_engine(migration_url)
    try:
        with engine.connect() as connection:
            connection.execute(text("select pg_advisory_lock(:lock)"), {"lock": LOCK})
            connection.commit()
            _upgrade(connection, roles={"app": role(app_url), "dispatch": role(dispatch_url)})
    finally:
        engine.dispose()
    return head()


def _upgrade(connection: Connection, *, roles: dict[str, str]) -> None:
    quote = connection.dialect.identifier_preparer.quote
    settings = config()
    settings.attributes["connection"] = connection
    settings.attributes["roles"] = {name: quote(login) for name, login in roles.items()}
    command.upgrade(settings, "head")
    connection.commit()


def role(url: str) -> str:
    username = make_url(url).username
    if username is None:
        raise SettingsError("A Postgres URL names no role; write postgresql+psycopg://ROLE:PASSWORD@HOST/DB.")
    return username
