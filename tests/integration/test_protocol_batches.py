"""Opening batches: which pending turns are folded, when, and how many batches are open (ARCHITECTURE 3.2)."""

from __future__ import annotations

from dataclasses import replace

from tests.integration.between import Aside
from tests.integration.protocol import FLUSH, House
from tests.running import eventually


def test_turns_become_due_by_rounds_tokens_or_a_finished_tool_call_and_not_before(house: House) -> None:
    house.say("quiet", "Hello.")
    house.say("rounds", "One.", "Two.", "Three.")
    house.say("tokens", "word " * 301)
    house.say("tool", "Done.", role="tool")
    assert house.open_batches() == 3
    assert house.batches("quiet") == []
    assert house.batches("rounds") == [("live", 1, 3, "open")]


def test_idle_turns_become_due_when_their_time_has_come(house: House) -> None:
    house.say("s", "Hello.")
    assert house.open_batches() == 0
    wait = house.value("select extract(epoch from due_at - last_at) from session_heads")
    assert wait == FLUSH.idle.total_seconds()
    house.bring_forward()
    assert house.open_batches() == 1
    assert house.batches("s") == [("live", 1, 1, "open")]


def test_a_session_has_one_open_live_batch_and_the_rest_follows_when_it_closes(house: House) -> None:
    house.say("s", "One.", "Two.", "Three.")
    house.open_batches()
    house.say("s", "Four.", "Five.", "Six.")
    assert house.open_batches() == 0
    house.finish()
    assert house.batches("s") == [("live", 1, 3, "merged"), ("live", 4, 6, "merged")]
    assert house.turn_states("s") == ["done"] * 6


def test_two_openers_at_once_open_one_batch(house: House) -> None:
    house.say("s", "One.", "Two.", "Three.")
    key = house.session_key("s")
    with house.begin(house.tenant.tenant_id) as work:
        work.sessions.head(key)
        openers = [Aside(house.open_batches) for _ in range(2)]
        eventually(house.someone_waits)
    assert sorted(opener.outcome() for opener in openers) == [0, 1]
    assert house.batches("s") == [("live", 1, 3, "open")]


def test_a_batch_folds_no_more_turns_than_its_limit(house: House) -> None:
    house.say("s", *(f"Turn {number}." for number in range(30)))
    house.finish()
    assert house.batches("s") == [("live", 1, 24, "merged"), ("live", 25, 30, "merged")]


def test_a_batch_folds_no_more_tokens_than_its_limit_but_always_one_turn(house: House) -> None:
    house = replace(house, flush_policy=replace(FLUSH, fold_tokens=100))
    house.say("s", "word " * 200, "word " * 60, "word " * 30, "word " * 30)
    house.flush("s")
    house.finish()
    assert house.batches("s") == [
        ("live", 1, 1, "merged"),
        ("live", 2, 3, "merged"),
        ("live", 4, 4, "merged"),
    ]


def test_a_flush_during_an_open_batch_is_not_forgotten(house: House) -> None:
    house.say("s", "One.", "Two.", "Three.")
    house.open_batches()
    house.say("s", "Four.")
    house.flush("s")
    assert house.open_batches() == 0
    house.finish()
    assert house.turn_states("s") == ["done"] * 4


def test_what_is_not_due_when_a_batch_closes_becomes_due_by_idling(house: House) -> None:
    house.say("s", "One.", "Two.", "Three.")
    house.open_batches()
    house.say("s", "Four.")
    house.open_batches()
    house.finish()
    assert house.turn_states("s") == ["done", "done", "done", "pending"]
    house.bring_forward()
    house.finish()
    assert house.turn_states("s") == ["done"] * 4


def test_a_turn_without_words_that_came_during_an_open_batch_is_not_forgotten(house: House) -> None:
    """It counts neither as a round nor in tokens: an assistant's bare tool call."""
    house.say("s", "One.", "Two.", "Three.")
    house.open_batches()
    house.say("s", "", role="assistant")
    house.open_batches()
    house.finish()
    house.bring_forward()
    house.finish()
    assert house.turn_states("s") == ["done"] * 4


def test_a_close_flushes_and_writes_the_wrap_up_once_all_is_applied(house: House) -> None:
    house.say("s", "My headset shows error E-1042.")
    house.close("s")
    house.finish()
    assert house.batches("s") == [("live", 1, 1, "merged"), ("close", 1, 1, "merged")]
    assert "E-1042" in str(house.value("select wrap_up from sessions"))


def test_a_close_during_an_open_batch_is_not_forgotten(house: House) -> None:
    house.say("s", "One.", "Two.", "My headset shows error E-1042.")
    house.open_batches()
    house.close("s")
    house.open_batches()
    house.finish()
    assert [kind for kind, *_ in house.batches("s")] == ["live", "close"]


def test_a_later_turn_reopens_a_closed_session_whose_next_wrap_up_takes_the_place_of_the_first(
    house: House,
) -> None:
    house.say("s", "My headset shows error E-1042.")
    house.close("s")
    house.finish()
    house.say("s", "My charger shows error E-2077.")
    assert house.value("select closed_at from sessions") is None
    house.close("s")
    house.finish()
    summaries = [memory for memory in house.memories() if memory.kind == "summary"]
    assert [("E-2077" in summary.text) for summary in summaries] == [True]


def test_nothing_is_due_when_nothing_is_pending(house: House) -> None:
    house.say("s", "One.", "Two.", "Three.")
    house.finish()
    house.flush("s")
    house.finish()
    assert house.value("select due_at from session_heads") is None
    assert len(house.batches("s")) == 1


def test_the_due_batches_of_all_tenants_are_opened(house: House) -> None:
    other = house.other_tenant()
    house.say("s", "One.", "Two.", "Three.")
    other.say("s", "One.", "Two.", "Three.")
    assert house.open_batches() == 2
    assert other.batches("s") == [("live", 1, 3, "open")]
