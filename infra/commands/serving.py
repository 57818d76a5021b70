"""The processes one by one, against servers of one's own that the TURNKEEP_… settings name."""

import os
from typing import Annotated

import typer

Queues = Annotated[
    str | None,
    typer.Option(
        help="Only these, with commas: extract, summarize, embed, merge, index, upkeep.", show_default=False
    ),
]


def gateway() -> None:
    """Run the HTTP API until it is told to stop."""
    from infra.gateway import serve
    from shared.settings import load

    serve(load(), announce=lambda url: typer.echo(f"The gateway listens on {url}", err=True))


def worker(*, queues: Queues = None) -> None:
    """Run one worker: of all kinds, or of those named; start more of them to scale."""
    from infra.preflight import check_worker
    from infra.processes import checked_queues, worker_argv, worker_environment
    from shared.broker import QUEUES
    from shared.settings import load

    chosen = QUEUES if queues is None else checked_queues(queues)
    settings = load()
    check_worker(settings)
    node = f"turnkeep-{os.getpid()}@%h"
    argv = worker_argv(chosen, node=node, worker=settings.worker, level=settings.log.level)
    _become(argv, environ=worker_environment(chosen, worker=settings.worker))


def beat() -> None:
    """Run the clock that rings for what is due. One is enough; two do no harm."""
    from infra.preflight import check_broker
    from infra.processes import beat_argv
    from shared.settings import load

    settings = load()
    check_broker(settings)
    _become(beat_argv(level=settings.log.level), environ={})


def migrate() -> None:
    """Bring the database to this version's schema, with the migration role."""
    from infra.migrate import migrate as bring_to_head
    from infra.preflight import reaching_postgres
    from shared.settings import load, require

    postgres = load().postgres
    urls = [
        require(url, name=f"TURNKEEP_POSTGRES__{name}")
        for name, url in (
            ("MIGRATION_URL", postgres.migration_url),
            ("URL", postgres.url),
            ("DISPATCH_URL", postgres.dispatch_url),
        )
    ]
    with reaching_postgres("TURNKEEP_POSTGRES__MIGRATION_URL"):
        revision = bring_to_head(urls[0], app_url=urls[1], dispatch_url=urls[2])
    typer.echo(f"The database is at migration {revision}.")


def _become(argv: tuple[str, ...], *, environ: dict[str, str]) -> None:
    os.execve(argv[0], argv, {**os.environ, **environ})  # noqa: S606 — no shell is the point
