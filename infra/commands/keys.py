"""`turnkeep keys …`: API keys, with the migration role."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from sqlalchemy import Engine

URL = "TURNKEEP_POSTGRES__MIGRATION_URL"
app = typer.Typer(
    name="keys", help="API keys: make, list, revoke.", no_args_is_help=True, rich_markup_mode="markdown"
)
Json = Annotated[bool, typer.Option("--json", help="As one JSON document.")]


@app.command(epilog="Example: turnkeep keys create --tenant acme")
def create(
    *, tenant: Annotated[str, typer.Option(help="Made when it is new.")] = "default", json: Json = False
) -> None:
    """Make a key. It is shown this once: only its hash is kept."""
    from shared.stores.postgres import keys

    with _owner() as engine:
        key = keys.create(engine, tenant=tenant)
    if json:
        import orjson

        typer.echo(orjson.dumps({"tenant": tenant, "key_id": key.split("_")[1], "key": key}))
    else:
        typer.echo(key)


@app.command("list", epilog="Example: turnkeep keys list")
def list_keys() -> None:
    """Show all keys; their secrets are not kept."""
    from rich.console import Console
    from rich.table import Table

    from shared.stores.postgres import keys

    table = Table("key id", "tenant", "scopes", "made", "revoked")
    with _owner() as engine:
        for row in keys.listed(engine):
            revoked = f"{row.revoked_at:%Y-%m-%d %H:%M}" if row.revoked_at else ""
            table.add_row(
                row.key_id, row.tenant, " ".join(row.scopes), f"{row.created_at:%Y-%m-%d %H:%M}", revoked
            )
    Console().print(table)


@app.command(epilog="Example: turnkeep keys revoke 0123456789abcdef")
def revoke(key_id: Annotated[str, typer.Argument(help="As `turnkeep keys list` shows it.")]) -> None:
    """Make a key useless, at once and for good."""
    from shared.stores.postgres import keys

    with _owner() as engine:
        keys.revoke(engine, key_id=key_id)
    typer.echo(f"Key {key_id} is revoked.")


@contextmanager
def _owner() -> "Iterator[Engine]":
    from infra.migrate import head
    from infra.preflight import reaching_postgres
    from shared.settings import load, require
    from shared.stores.postgres.engine import check_revision, connect

    url = require(load().postgres.migration_url, name=URL)
    engine = connect(url, pool_size=1)
    try:
        with reaching_postgres(URL):
            engine.connect().close()
            check_revision(engine, head=head())
            yield engine
    finally:
        engine.dispose()
