"""What other sessions say before any worker has folded it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from api_gateway.recall.assemble import Context
from shared.domain.ids import episode_id
from shared.ports import OwedMemory
from shared.ports.recall import PendingTurn
from tests.unit.recall.material import (
    NOW,
    OTHER_SESSION,
    SESSION_KEY,
    Shop,
    dialogue,
    memory,
    request,
    turn,
    waiting,
)

ENGLISH = [
    waiting(3, "Anything else?", role="assistant"),
    waiting(2, "We will send a new charger for order A-1042.", role="assistant"),
    waiting(1, "My order A-1042 arrived broken."),
]
CHINESE = [
    waiting(3, "还有别的问题吗？", role="assistant"),
    waiting(2, "我们会为订单A-1042补发充电器。", role="assistant"),
    waiting(1, "我的订单A-1042到货时坏了。"),
]


def texts(context: Context) -> list[str]:
    return [each.text for each in context.memories]


@pytest.mark.parametrize(
    ("elsewhere", "asked"), [(ENGLISH, "What about my broken order?"), (CHINESE, "我那个坏了的订单呢？")]
)
def test_what_another_session_just_said_is_in_the_context(
    elsewhere: Sequence[PendingTurn], asked: str
) -> None:
    shop = Shop()
    shop.store.turns = [turn(1, "user", asked)]
    shop.store.elsewhere = list(elsewhere)
    context = shop.context(request(format="text"))
    assert texts(context)[:2] == [elsewhere[2].turn.text, elsewhere[1].turn.text]
    assert context.memories[0].why == "pending, words #1"
    assert context.memories[0].tier == "hot"
    assert context.memories[0].id == episode_id(OTHER_SESSION, sequence=1, piece=0)
    assert context.memories[0].turn_ids == (elsewhere[2].turn.turn_id,)
    assert '<episode by="assistant" date="2026-03-10">' in (context.text or "")
    assert context.pending_turns == 4


@pytest.mark.parametrize("asked", ["Any news?", "有消息吗？", None])
def test_where_no_word_is_met_the_newest_come_first(asked: str | None) -> None:
    shop = Shop()
    shop.store.elsewhere = [waiting(2, "It is still warm."), waiting(1, "Battery 很烫.")]
    context = shop.context(request(session=None, query=asked))
    assert texts(context) == ["It is still warm.", "Battery 很烫."]
    assert [each.why for each in context.memories] == ["pending, newest #1", "pending, newest #2"]


def test_the_newest_that_meet_no_word_neither_crowd_out_what_was_found_nor_wait_behind_all_of_it() -> None:
    shop = Shop()
    shop.store.memories = [memory(n, f"express shipping question {n}") for n in range(100, 160)]
    shop.store.elsewhere = [waiting(n, f"unlike {n}") for n in range(50, 0, -1)]
    by_both = texts(shop.context(request(query="express shipping", max_tokens=8_000)))
    assert all(text.startswith("express") for text in by_both)
    by_sense_alone = texts(shop.context(request(query="parcel", max_tokens=8_000)))
    assert all(text.startswith("express") for text in by_sense_alone[:16])
    assert by_sense_alone[16] == "unlike 50"


def test_a_turn_that_is_folded_meanwhile_is_told_once_as_its_memory() -> None:
    shop = Shop()
    pending = ENGLISH[2]
    folded = replace(
        memory(1, pending.turn.text),
        memory_id=episode_id(OTHER_SESSION, sequence=1, piece=0),
        turn_ids=(pending.turn.turn_id,),
    )
    shop.store.elsewhere = [pending]
    shop.store.debts = [OwedMemory(memory=folded, vector=None)]
    context = shop.context(request(query="broken order"))
    assert [each.why for each in context.memories] == ["owed #1"]


def test_turns_of_this_session_and_turns_without_text_are_no_memories() -> None:
    shop = Shop()
    shop.store.turns = dialogue("It broke.")
    shop.store.elsewhere = [
        waiting(1, "It broke.", session_key=SESSION_KEY),
        waiting(4, " ", role="assistant"),
        waiting(3, "It burnt."),
    ]
    context = shop.context(request())
    assert texts(context) == ["It burnt."]
    assert context.pending_turns == 3


def test_nothing_waits_for_a_user_nobody_knows() -> None:
    shop = Shop()
    shop.store.elsewhere = list(ENGLISH)
    context = shop.context(request(session=None, user_key=None, query="broken order"))
    assert (context.memories, context.pending_turns) == ([], 0)


def test_at_most_so_many_are_read() -> None:
    shop = Shop()
    shop.store.elsewhere = [waiting(n, f"turn {n}") for n in range(80, 0, -1)]
    assert shop.context(request(session=None)).pending_turns == 50


def test_a_clock_that_runs_ahead_does_not_date_a_turn_into_the_future() -> None:
    shop = Shop()
    ahead = waiting(1, "It broke.")
    shop.store.elsewhere = [replace(ahead, turn=replace(ahead.turn, created_at=NOW.replace(year=2030)))]
    assert 'date="2026-03-10"' in (shop.context(request(session=None, format="text")).text or "")


def test_whom_a_pending_turn_is_by() -> None:
    shop = Shop()
    shop.store.elsewhere = [waiting(1, '{"status": "lost"}', role="tool")]
    assert '<episode by="tool"' in (shop.context(request(session=None, format="text")).text or "")
