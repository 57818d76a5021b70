"""Working memory: the last turns, and all that no batch has folded yet."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from api_gateway.recall.elements import ELLIPSIS
from api_gateway.recall.exchange import Exchange, with_text
from shared.ports import TokenCounter

Cost = Callable[[Exchange], int]

# Working memory is the last three to five turns.
_LEAST_TURNS = 3
_MOST_TURNS = 5
_CLOSE_TRIES = 4
_NEWEST = 2


def newest_user(exchanges: Sequence[Exchange]) -> Exchange | None:
    return next((each for each in reversed(exchanges) if each.turn.role == "user"), None)


def window(exchanges: Sequence[Exchange], *, applied: int) -> list[Exchange]:
    """The last turns, from a user turn on where one is near; all pending turns, numbered above `applied`; and
    the round that the newest user turn opened."""
    newest = max((turn.sequence for each in exchanges for turn in each.turns), default=0)
    opened = [each.turn.sequence for each in exchanges if each.turn.role == "user"]
    first = min([_recent(opened, newest=newest), applied + 1, *opened[-1:]])
    return [each for each in exchanges if max(turn.sequence for turn in each.turns) >= first]


def _recent(opened: Sequence[int], *, newest: int) -> int:
    earliest = newest - _MOST_TURNS + 1
    within = [first for first in opened if earliest <= first <= newest - _LEAST_TURNS + 1]
    before = [first for first in opened if first < earliest]
    return min(within) if within else max(before, default=earliest)


def required(exchanges: Sequence[Exchange], *, cost: Cost, limit: int) -> int:
    """What the newest user turn needs whatever it takes, and the round it opened as far as `limit`."""
    user = newest_user(exchanges)
    if user is None:
        return 0
    opened = exchanges[exchanges.index(user) :]
    return max(cost(user), min(sum(map(cost, opened)), limit))


def newest_turns(exchanges: Sequence[Exchange], *, cost: Cost, limit: int) -> list[Exchange]:
    """Those that come before anything remembered: the newest user turn and the newest two of all, as far as
    `limit` reaches."""
    last = [each for each in exchanges if cost(each)][-_NEWEST:]
    user = newest_user(exchanges)
    kept = {each.turn.sequence for each in (*last, *([user] if user else []))}
    return fill_working([each for each in exchanges if each.turn.sequence in kept], cost=cost, limit=limit)


def fill_working(exchanges: Sequence[Exchange], *, cost: Cost, limit: int) -> list[Exchange]:
    """The newest user turn, then from the newest on. In the round it opened, what does not fit is passed
    over; before that, the first that does not fit is the last that is tried. What costs nothing is what the
    format cannot show: it is passed over too."""
    user = newest_user(exchanges)
    kept = [user] if user else []
    left = limit - (cost(user) if user else 0)
    for each in reversed(exchanges):
        tokens = cost(each)
        if each is user or tokens == 0:
            continue
        if tokens <= left:
            kept.append(each)
            left -= tokens
        elif user is None or each.turn.sequence < user.turn.sequence:
            break
    return sorted(kept, key=lambda each: each.turn.sequence)


def shortened(exchange: Exchange, *, cost: Cost, limit: int, counter: TokenCounter) -> Exchange | None:
    """`exchange` with the longest head of its text found to cost at most `limit`; None when no head does."""
    tokens, tries = limit, 0
    while tokens > 0:
        head = counter.head(exchange.turn.text, tokens=tokens)
        cut = with_text(exchange, head + ELLIPSIS)
        over = cost(cut) - limit
        if head and over <= 0:
            return cut
        tries += 1
        tokens = tokens - over if tries <= _CLOSE_TRIES and 0 < over < tokens else tokens // 2
    return None
