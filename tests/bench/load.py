"""How much the embedded stack takes, and what bounds it.

    python -m tests.bench.load --embedder hashing --json hashing.json
    python -m tests.bench.load --embedder bundled --turns 480 --memories 600 --json bundled.json

Starts the stack, measures, prints a table, writes JSON and stops everything it started. The clients share the
machine with the stack; the table says how much of it each part used.
"""

from pathlib import Path
from typing import Annotated, Literal

import orjson
import typer
from rich.console import Console

from tests.bench.figures import Figure, report, table
from tests.bench.phases import Bench, accepted, contexts, done, filled, lag, searches
from tests.bench.processors import Meter
from tests.bench.stack import Stack, running

# With triggers that are never met the workers stay idle, and accepting is measured by itself.
HELD_BACK = {
    "TURNKEEP_FLUSH__ROUNDS": "1000000",
    "TURNKEEP_FLUSH__TOKENS": "1000000000",
    "TURNKEEP_FLUSH__IDLE_SECONDS": "86400",
}
BATCH = 10
REQUESTS = 320
LAGS = 20
console = Console(stderr=True)


def numbers(text: str) -> list[int]:
    try:
        found = [int(part) for part in text.split(",")]
    except ValueError:
        found = []
    if not found or min(found) < 1:
        raise typer.BadParameter("give whole numbers from 1, like 1,16")
    return found


def main(
    *,
    embedder: Annotated[Literal["bundled", "hashing"], typer.Option()] = "hashing",
    clients: Annotated[str, typer.Option(help="How many at once, one figure each")] = "1,16",
    turns: Annotated[int, typer.Option(min=64, help="Turns a figure")] = 800,
    memories: Annotated[str, typer.Option(help="Of one user, for context and search")] = "600,5000",
    workers: Annotated[int, typer.Option(min=1)] = 2,
    json: Annotated[Path | None, typer.Option(help="File for the figures")] = None,
) -> None:
    together, sizes = numbers(clients), numbers(memories)
    settings = {
        "embedder": embedder,
        "clients": together,
        "turns": turns,
        "memories": sizes,
        "workers": workers,
    }
    figures: list[Figure] = []
    with running(embedder=embedder, workers=workers, settings=HELD_BACK) as stack:
        figures += accepting(stack, clients=together, turns=turns, when="workers idle")
    with running(embedder=embedder, workers=workers, settings={}) as stack:
        figures += working(stack, clients=together, turns=turns)
        figures += recalling(stack, clients=together, sizes=sizes)
    title = f"{embedder}, {workers} workers"
    Console(width=150).print(table(figures, title=title))
    if json is not None:
        options = orjson.OPT_INDENT_2
        json.write_bytes(orjson.dumps(report(figures, settings=settings), option=options))


def accepting(stack: Stack, *, clients: list[int], turns: int, when: str) -> list[Figure]:
    figures: list[Figure] = []
    for batch in (1, BATCH):
        bench = _bench(stack, f"accept {batch}")
        warm(bench)
        for count in clients:
            console.print(f"accept, {batch} a request, {count} clients, {when}")
            figures.append(accepted(bench, clients=count, requests=turns, batch=batch, when=when))
    return figures


def working(stack: Stack, *, clients: list[int], turns: int) -> list[Figure]:
    figures: list[Figure] = []
    warm(_bench(stack, "warm"))
    console.print("from a flush to done")
    figures.append(lag(_bench(stack, "lag"), times=LAGS))
    for count in clients:
        bench = _bench(stack, f"done {count}")
        console.print(f"done, {count} clients")
        figures.append(done(bench, clients=count, count=turns))
    return figures


def recalling(stack: Stack, *, clients: list[int], sizes: list[int]) -> list[Figure]:
    """One user's memories grow from one size to the next."""
    figures: list[Figure] = []
    bench = _bench(stack, "recall")
    for size in sorted(sizes):
        console.print(f"filling to {size} memories")
        found = filled(bench, memories=size)
        for count in clients:
            console.print(f"context and search, {found} memories, {count} clients")
            figures.append(contexts(bench, clients=count, requests=REQUESTS, memories=found))
            figures.append(searches(bench, clients=count, requests=REQUESTS, memories=found))
    return figures


def warm(bench: Bench) -> None:
    """First requests and first batches load what is loaded once."""
    done(bench, clients=1, count=64)


def _bench(stack: Stack, name: str) -> Bench:
    return Bench(stack=stack, meter=Meter(stack.roots), key=stack.new_tenant(name))


if __name__ == "__main__":
    typer.run(main)
