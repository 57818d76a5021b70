"""`turnkeep demo`: the whole path on real parts, from a conversation to a context, and then all is gone."""

import os
import time
from datetime import UTC, datetime
from pathlib import Path

import typer

from infra.embedded.process import EmbeddedError
from infra.said import say, stop_on_signals
from shared.domain.errors import TurnkeepError

WORKERS = 2


def demo() -> None:
    """Play an English and a Chinese conversation and show the context that comes of them.

    Starts the whole stack in a temporary directory, waits until every turn has become memory, asks for the
    context of a second session six days later, and stops and removes all it started. Needs no network.
    """
    from infra.demo.play import DemoFailed
    from infra.kept import data_home

    stop_on_signals()
    try:
        with data_home(None) as home:
            try:
                _play(home)
            except (TurnkeepError, EmbeddedError) as error:
                raise DemoFailed(f"{error} The logs are in {home / 'logs'}.") from error
    except KeyboardInterrupt:
        say("stopped.")
        raise typer.Exit(130) from None


def _play(home: Path) -> None:
    from infra.calls import Calls
    from infra.demo.conversations import CONVERSATIONS
    from infra.demo.play import DemoFailed, await_memories, post, recall, times
    from infra.demo.show import paper, show, show_times
    from infra.up import RunningStack, plan

    on = paper()
    on.print("Starting PostgreSQL, Valkey, the vector server, the gateway, beat and two workers …")
    begun = time.monotonic()
    with RunningStack(home, plan=plan(os.environ, port=0, workers=WORKERS)) as running:
        started = time.monotonic()
        with Calls(running.address.url, key=running.address.key) as calls:
            now = datetime.now(UTC)
            said = [(one, post(one, calls=calls, now=now)) for one in CONVERSATIONS]
            accepted = time.monotonic()
            await_memories(calls)
            done = time.monotonic()
            played = [recall(one, lines=lines, calls=calls) for one, lines in said]
    for one in played:
        show(one, on=on)
    taken = times(played, start=started - begun, accept=accepted - started, done=done - accepted)
    show_times(taken, on=on)
    if not all(one.keeps_the_change for one in played):
        raise DemoFailed("A context tells a value that was corrected.")
