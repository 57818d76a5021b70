"""`turnkeep up`: the whole stack in the foreground."""

import os
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from infra.said import say, stop_on_signals

DataDir = Annotated[Path | None, typer.Option(help="Kept for the next start; without it, a fresh one.")]
Port = Annotated[
    int | None,
    typer.Option(
        min=0, max=65_535, help="Of the gateway, 8080 unless set; 0 is any free one.", show_default=False
    ),
]
Workers = Annotated[int, typer.Option(min=1, max=64, help="Worker processes; two or more split the kinds.")]
Json = Annotated[bool, typer.Option("--json", help="One JSON line when ready, and nothing else.")]


def up(*, data_dir: DataDir = None, port: Port = None, workers: Workers = 2, json: Json = False) -> None:
    """Run the whole stack embedded, in the foreground, until Ctrl-C.

    PostgreSQL, Valkey, a vector server, the gateway, beat and the workers are processes of their own.
    Settings TURNKEEP_… reach them, except those that name servers of yours: `up` uses its own.
    With two workers or more, one computes vectors where the next extracts, summarizes and merges.
    """
    from infra.kept import data_home
    from infra.up import RunningStack, plan

    planned = plan(os.environ, port=port, workers=workers)
    if planned.ignored:
        names = ", ".join(planned.ignored)
        say(f"set aside: {names}; `up` runs its own servers, `gateway`, `worker` and `beat` use yours.")
    stop_on_signals()
    try:
        with data_home(data_dir) as home, RunningStack(home, plan=planned) as running:
            show = _as_json if json else _as_text
            show(asdict(running.address))
            running.tend_forever(say=say)
    except KeyboardInterrupt:
        say("stopped.")


def _as_json(address: dict[str, object]) -> None:
    import orjson

    typer.echo(orjson.dumps(address))


def _as_text(address: dict[str, object]) -> None:
    typer.echo(f"Turnkeep is ready at {address['url']} (API: {address['url']}/docs); Ctrl-C stops it.")
    typer.echo(f"export TURNKEEP_URL={address['url']} TURNKEEP_API_KEY={address['key']}")
