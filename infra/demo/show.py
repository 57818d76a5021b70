"""What the demo prints."""

from __future__ import annotations

from rich.console import Console
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from infra.demo.play import Played, Times, Tokens

NARROWEST, WIDEST = 80, 100


def paper() -> Console:
    screen = Console()
    width = screen.width if screen.is_terminal else WIDEST
    return Console(width=max(NARROWEST, min(width, WIDEST)), highlight=False)


def show(played: Played, *, on: Console) -> None:
    conversation, sessions = played.conversation, " and ".join(played.sessions)
    on.rule(Text(conversation.title, style="bold"))
    on.print(f"{played.turns} turns in {sessions}, six days apart. Asked now:")
    on.print(Text(f"“{played.question}”", style="italic"))
    on.print(Panel(Text(played.text.rstrip()), title=f"Context of {played.sessions[-1]}", title_align="left"))
    if played.degraded:
        on.print(f"Without: {', '.join(played.degraded)}.")
    on.print(_tokens(played.tokens))
    on.print(_origins(played))
    on.print(Text(f"{_verdict(played)}\n", style="bold"))


def show_times(times: Times, *, on: Console) -> None:
    table = Table("measured here", "", title="Times", title_justify="left")
    table.columns[1].justify = "right"
    table.add_row("start of the stack, until the workers consume", f"{times.start:.1f} s")
    table.add_row(f"accepting {times.turns} turns", f"{times.accept * 1_000:.0f} ms")
    table.add_row("from the last one accepted until all are memory and indexed", f"{times.done:.1f} s")
    table.add_row("a context, median", f"{times.context * 1_000:.0f} ms")
    on.print(table)


def _verdict(played: Played) -> str:
    change = played.conversation.change
    known = f"Changed fact, {change.name}: known as “{change.new}”, no longer as “{change.old}”"
    if not played.keeps_the_change:
        return f"Changed fact, {change.name}: the context does NOT tell “{change.new}” alone"
    return f"{known}, which is only quoted from its turn." if played.quotes_the_old else f"{known}."


def _tokens(tokens: Tokens) -> Table:
    table = Table("section", "tokens", title="Tokens", title_justify="left", show_footer=True)
    table.columns[0].footer = f"used of {tokens['budget']}"
    table.columns[1].footer = str(tokens["used"])
    table.columns[1].justify = "right"
    for name, count in tokens["sections"].items():
        table.add_row(name, str(count))
    return table


def _origins(played: Played) -> Table:
    table = Table(title="Where each memory came from", title_justify="left", expand=True)
    table.add_column("memory", ratio=1, no_wrap=True, overflow="ellipsis")
    for heading, width in (("session, turn, role", 22), ("why", 21), ("score", 5)):
        table.add_column(heading, min_width=width, max_width=width)
    for origin in played.origins:
        table.add_row(Text(origin.text), origin.said, origin.why, f"{origin.score:.3f}")
    return table
