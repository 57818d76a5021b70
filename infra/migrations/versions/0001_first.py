"""The first schema: tables, row-level security, roles."""

from __future__ import annotations

from pathlib import Path

from alembic import context, op

revision = "0001"
down_revision = None

HERE = Path(__file__).parent


def upgrade() -> None:
    roles = context.config.attributes["roles"]
    run("0001_tables.sql")
    run("0001_security.sql", app=roles["app"], dispatch=roles["dispatch"])


def run(name: str, **roles: str) -> None:
    sql = (HERE / name).read_text(encoding="utf-8")
    for role, identifier in roles.items():
        sql = sql.replace("{" + role + "}", identifier)
    # The driver's own cursor: it takes a script of many statements and leaves `%` and `:` alone.
    op.get_bind().connection.cursor().execute(sql)
