"""`turnkeep import`: turns from a file into a running gateway."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, BinaryIO

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from infra.said import say
from shared.domain.errors import SettingsError

File = Annotated[
    typer.FileBinaryRead, typer.Argument(help="One JSON object a line (NDJSON); `-` is standard input.")
]
Wait = Annotated[bool, typer.Option("--wait", help="Until every turn of the key's tenant is worked on.")]


def import_file(file: File, *, wait: Wait = False) -> None:
    """Send the turns of a file to a running gateway.

    Each line is the body of a turn plus `session_id` and `user_id`. Turns that are there already are
    duplicates and change nothing, so an import that was stopped is simply run again. A wrong line is reported
    with its number and does not stop the others. Reads TURNKEEP_URL and TURNKEEP_API_KEY.
    """
    from infra.calls import Calls
    from infra.imports.run import await_done, flush, import_turns

    with (
        Calls(_required("TURNKEEP_URL"), key=_required("TURNKEEP_API_KEY")) as calls,
        _progress() as progress,
    ):
        sending = progress.add_task("sending", total=_size(file))
        tally = import_turns(file, calls=calls, advance=lambda size: progress.advance(sending, size))
        turns = None
        if wait:
            waiting = progress.add_task("working", total=None)
            flush(tally.sessions, calls=calls)
            turns = await_done(
                calls, pending=lambda count: progress.update(waiting, description=f"{count} pending")
            )
    for line in tally.refused:
        say(f"line {line.number}: {line.reason}")
    table = Table("accepted", "duplicates", "refused")
    table.add_row(str(tally.accepted), str(tally.duplicates), str(len(tally.refused)))
    Console().print(table)
    if turns:
        typer.echo(f"Of all turns of this key's tenant: done {turns['done']}, dead {turns['dead']}.")
    if tally.refused:
        say(f"{len(tally.refused)} lines were refused; mend them and import the file again.")
        raise typer.Exit(1)


def _required(name: str) -> str:
    value = os.environ.get(name)
    if not value:
        raise SettingsError(f"{name} is not set; `turnkeep up` prints it.")
    return value


def _size(file: BinaryIO) -> int | None:
    """Unknown of a pipe."""
    return os.fstat(file.fileno()).st_size or None


@contextmanager
def _progress() -> Iterator[Progress]:
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    console = Console(file=sys.stderr)
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        yield progress
