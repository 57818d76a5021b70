"""A larger budget for the same materials."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from api_gateway.recall.assemble import Context
from api_gateway.recall.query import Format
from shared.domain.turn import Role, Turn
from tests.unit.recall.material import Shop, dialogue, entry, memory, request, session, turn

ROLES: tuple[Role, Role] = ("user", "assistant")
SIZES = st.lists(st.integers(1, 60), min_size=2, max_size=8)
BUDGETS = st.lists(st.integers(16, 900), min_size=2, max_size=12, unique=True).map(sorted)


def spoken(sizes: Sequence[int], *, roles: Sequence[Role]) -> list[Turn]:
    """Numbered from 9 on: what is condensed is older."""
    return [
        turn(number, roles[number % len(roles)], f"n{number} " + "charger 充电 " * size)
        for number, size in enumerate(sizes, 9)
    ]


def full_shop(turns: Sequence[Turn], *, sizes: Sequence[int]) -> Shop:
    shop = Shop()
    shop.store.turns = list(turns)
    shop.store.entries = [entry(n, n + 1, "asked " * 3 * n, "told " * 5 * n) for n in range(1, 9, 2)]
    shop.store.memories = [memory(n, f"charger {n} " * size) for n, size in enumerate(sizes, 100)]
    shop.store.slots = [memory(n, f"slot {n}", kind="fact") for n in range(1, 4)]
    return shop


def working(context: Context) -> set[str]:
    """The turns that stand as messages or in the working section, cut or whole."""
    if context.messages is not None:
        told = [str(message["content"]).rpartition("</memory>\n\n")[2] for message in context.messages]
    elif context.sections is not None:
        told = [item.text.partition(">")[2] for item in context.sections["working"]]
    else:
        lines = (context.text or "").partition("<working_memory>\n")[2].splitlines()
        told = [line.partition(">")[2] for line in lines]
    return {found.group() for text in told if (found := re.match(r"n\d+", text))}


@settings(max_examples=60, deadline=None)
@given(
    sizes=SIZES,
    remembered=SIZES,
    budgets=BUDGETS,
    roles=st.sampled_from([ROLES, ("user", "assistant", "assistant"), ("assistant",)]),
    form=st.sampled_from(["messages", "text", "json"]),
)
def test_a_larger_budget_never_shows_fewer_of_the_newest_turns(
    sizes: Sequence[int],
    remembered: Sequence[int],
    budgets: Sequence[int],
    roles: Sequence[Role],
    form: Format,
) -> None:
    turns = spoken(sizes, roles=roles)
    shop = full_shop(turns, sizes=remembered)
    users = [each for each in turns if each.role == "user"][-1:]
    newest = [f"n{each.sequence}" for each in users + [t for t in reversed(turns[-2:]) if t not in users]]
    shown = [
        working(shop.context(request(max_tokens=budget, format=form, session=session(applied=8))))
        for budget in budgets
    ]
    # The user's first, then the newest: one gives way only to what comes before it.
    kept = [[name in names for name in newest] for names in shown]
    assert kept == sorted(kept)
    if len(newest) == 2:
        assert all(less & set(newest) <= more for less, more in pairwise(shown))


@pytest.mark.parametrize("form", ["messages", "text", "json"])
@pytest.mark.parametrize(
    "turns",
    [
        dialogue("n1 Which charger fits my phone?", "n2 The 30 W one does."),
        dialogue("n1 哪个充电器适合我的手机？", "n2 30瓦的那个适合。"),
    ],
)
def test_a_short_dialogue_is_whole_at_any_budget_that_holds_it(form: Format, turns: list[Turn]) -> None:
    shop = Shop()
    shop.store.turns = turns
    shop.store.memories = [memory(100, "n0 charger broke in May")]
    at = {budget: shop.context(request(max_tokens=budget, format=form)) for budget in range(16, 400, 4)}
    whole = next(budget for budget, context in at.items() if len(working(context)) == 2)
    assert whole <= 64
    assert all(len(working(context)) == 2 for budget, context in at.items() if budget >= whole)
    used = [context.tokens.used for budget, context in at.items() if budget >= whole]
    assert used == sorted(used)
    assert at[396].memories != []
