"""Failures: of our own code, of a model, of an embedder, of a connection (ARCHITECTURE 3.4)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace

import pytest
from sqlalchemy import text

from shared.domain.errors import EmbedderUnavailable, StoreUnavailable
from shared.inference.chat import make_chat
from tests.fakes.model_server import CHAT, ModelServer, Reply, chat_reply, json_reply, status_reply
from tests.integration.between import BeforeCommit, Watched
from tests.integration.protocol import House
from workers.runner import Runner
from workers.tools import Tools

POISON = "poison"
ROUNDS_OF_FAILURE = 60


def _poisoned(house: House) -> Runner:
    """Its embedder cannot take the poison, whatever it stands beside."""

    def refuse(texts: Sequence[str]) -> None:
        if any(POISON in text for text in texts):
            raise ValueError("a text that our code cannot take")

    return house.runner(replace(house.tools, embedder=Watched(refuse)))


def _finish_all(house: House, runner: Runner) -> None:
    """However often something has to be tried again."""
    for _ in range(ROUNDS_OF_FAILURE):
        house.finish(runner)
        if not house.value("select count(*) from turns where state = 'pending'"):
            return
        house.bring_forward()
    raise AssertionError("turns stay pending")


def test_a_batch_that_keeps_failing_is_split_until_its_poison_is_parked_alone(house: House) -> None:
    said = [f"Turn {number}." for number in range(1, 13)]
    said[6] = f"Turn 7 is {POISON}."
    house.say("s", *said)
    _finish_all(house, _poisoned(house))
    assert house.turn_states("s") == ["done"] * 6 + ["dead"] + ["done"] * 5
    assert ("live", 1, 12, "split") in house.batches("s")
    (failure,) = house.sql("select sequence, step, reason, error, failures, crashes from failures")
    assert tuple(failure) == (7, "embed", "failed", "ValueError", 3, 0)
    assert house.value("select applied from sessions") == 12


def test_every_turn_beside_a_poison_takes_effect_once_and_in_order(house: House) -> None:
    said = [f"My order number is A-2093{number}." for number in range(8)]
    said[3] += f" {POISON}"
    house.say("s", *said)
    _finish_all(house, _poisoned(house))
    merged = [(first, last) for _, first, last, state in house.batches("s") if state in ("merged", "parked")]
    assert merged[0][0] == 1
    assert merged[-1][1] == 8
    assert [first for first, _ in merged[1:]] == [int(str(last)) + 1 for _, last in merged[:-1]]
    episodes = house.sql(
        "select sequence from memory_sources join memories using (tenant_id, memory_id)"
        " where kind = 'episode' order by sequence"
    )
    assert [row[0] for row in episodes] == [1, 2, 3, 5, 6, 7, 8]


def test_the_smaller_cap_is_remembered_and_doubled_until_it_is_the_usual_one_again(house: House) -> None:
    said = [f"Turn {number}." for number in range(16)]
    said[0] = f"Turn 0 is {POISON}."
    house.say("s", *said)
    runner = _poisoned(house)
    _finish_all(house, runner)
    assert house.value("select fold_cap from session_heads") == 16
    sizes = [last - first + 1 for _, first, last, _ in house.batches("s")]
    assert sizes == [16, 8, 4, 2, 1, 1, 2, 4, 8]


def test_the_wait_before_another_try_grows(house: House) -> None:
    house.say("s", POISON)
    house.flush("s")
    runner = _poisoned(house)
    waits = []
    for _ in range(3):
        house.finish(runner)
        row = house.sql("select due_at - clock_timestamp() from work where step = 'embed'")
        waits.append(row[0][0])
        house.bring_forward()
    assert waits == sorted(waits)
    assert house.value("select failures from work where step = 'embed'") == 3


def test_one_batch_that_fails_in_a_group_holds_up_none_of_the_others(house: House) -> None:
    for session in ("s1", "s2", "s3"):
        house.say(session, POISON if session == "s2" else "Hello.", user=session)
        house.flush(session)
    house.finish(_poisoned(house))
    assert [house.turn_states(session) for session in ("s1", "s2", "s3")] == [["done"], ["pending"], ["done"]]
    assert house.value("select sum(failures) from work") == 1


def test_a_memory_added_directly_that_keeps_failing_is_dead_and_visible(house: House) -> None:
    house.add(POISON)
    runner = _poisoned(house)
    for _ in range(4):
        house.finish(runner)
        house.bring_forward()
    assert house.texts(states=("dead",)) == [POISON]
    (failure,) = house.sql("select sequence, step, reason from failures")
    assert tuple(failure) == (None, "embed", "failed")


def test_a_step_whose_workers_keep_vanishing_is_split_and_its_turn_parked_as_crashed(house: House) -> None:
    house.say("s", "One.", "Two.", "Three.")
    runner = house.runner(max_crashes=2)
    for _ in range(2):
        house.open_batches()
        house.claim("extract")
        house.expire_leases()
    house.claim("extract")
    house.expire_leases()
    runner._once("extract")
    assert house.batches("s") == [("live", 1, 3, "split")]
    house.finish(runner)
    assert house.turn_states("s") == ["done"] * 3
    assert house.value("select count(*) from failures") == 0


def test_a_single_turn_whose_workers_keep_vanishing_is_dead_with_its_reason(house: House) -> None:
    house.say("s", "One.")
    house.flush("s")
    house.open_batches()
    for _ in range(4):
        house.claim("summarize")
        house.expire_leases()
    house.finish()
    assert house.turn_states("s") == ["dead"]
    (failure,) = house.sql("select reason, error, crashes, failures from failures")
    assert tuple(failure) == ("crashed", "WorkerLost", 4, 0)
    house.say("s", "Two.")
    house.flush("s")
    house.finish()
    assert house.turn_states("s") == ["dead", "done"]


def test_an_embedder_that_is_away_is_waited_for_and_counts_nothing(house: House) -> None:
    def away(_: Sequence[str]) -> None:
        raise EmbedderUnavailable("away")

    house.say("s", "One.", "Two.", "Three.")
    house.add("A fact")
    runner = house.runner(replace(house.tools, embedder=Watched(away)))
    for _ in range(5):
        house.finish(runner)
        house.bring_forward()
    assert house.turn_states("s") == ["pending"] * 3
    assert house.value("select sum(failures) + sum(crashes) from work") == 0
    assert house.value("select count(*) from work where error = 'EmbedderUnavailable'") == 2
    house.finish()
    assert house.turn_states("s") == ["done"] * 3


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


@contextmanager
def _with_model(house: House, model: ModelServer) -> Iterator[Tools]:
    with closing(make_chat("scripted", base_url=model.base_url, api_key="", mode="json_schema")) as chat:
        yield replace(house.tools, chat=chat, chat_deadline=2.0)


@pytest.mark.parametrize(
    "fault",
    [
        lambda _: status_reply(500),
        lambda _: status_reply(429, retry_after="3600"),
        lambda _: status_reply(401),
        lambda _: chat_reply("no JSON at all"),
        lambda _: json_reply({"statements": "none", "summaries": 3}),
    ],
    ids=["500", "429", "401", "prose", "wrong types"],
)
def test_a_failing_model_kills_no_turn_and_leaves_it_marked_for_a_second_pass(
    house: House, model: ModelServer, fault: Callable[[dict[str, object]], Reply]
) -> None:
    model.respond(CHAT, fault)
    house.say("s", "My phone number is +1 415 555 0134.")
    house.flush("s")
    with _with_model(house, model) as tools:
        house.finish(house.runner(tools))
    assert house.turn_states("s") == ["done"]
    assert house.value("select second_pass from turns") == "due"
    assert [memory.slot and memory.slot.value for memory in house.memories()] == ["+14155550134"]
    assert house.value("select sum(failures) + sum(crashes) from work") == 0
    assert model.received


def test_a_model_that_answers_leaves_no_mark(house: House, model: ModelServer) -> None:
    model.respond(CHAT, _as_asked)
    house.say("s", "My phone number is +1 415 555 0134.")
    house.flush("s")
    with _with_model(house, model) as tools:
        house.finish(house.runner(tools))
    assert house.turn_states("s") == ["done"]
    assert house.value("select second_pass from turns") is None


def _as_asked(body: dict[str, object]) -> Reply:
    if "summaries" in str(body):
        return json_reply({"summaries": [{"first": 1, "summary": "gives a phone number"}]})
    return json_reply({"statements": []})


def test_a_lost_connection_is_no_crash_and_no_failure(house: House) -> None:
    """Its work is given back at once instead of waiting for the lease to run out."""
    house.say("s", "One.", "Two.", "Three.")
    house.open_batches()
    cut: list[bool] = []

    def cut_once() -> None:
        if not cut:
            cut.append(True)
            house.cut_connections()

    house.runner(replace(house.tools, begin=BeforeCommit(house.begin, cut_once))).drain("extract")
    assert cut
    (row,) = house.sql("select state, crashes, failures from work where step = 'extract'")
    assert tuple(row) == ("due", 0, 0)
    house.finish()
    assert house.turn_states("s") == ["done"] * 3


def test_a_transaction_of_a_process_that_was_stopped_does_not_hold_its_locks_for_ever(house: House) -> None:
    for engine in (house.database.app, house.database.dispatch._engine):
        with engine.connect() as connection:
            found = connection.execute(text("show idle_in_transaction_session_timeout")).scalar_one()
            assert found == "15s"


def test_a_transaction_that_the_server_has_ended_is_a_lost_connection(house: House) -> None:
    """So its work is given back and nothing of it was written."""

    def write_and_be_cut_off() -> None:
        with house.begin(house.tenant.tenant_id) as work:
            work.users.join(house.user_key(), user_id="u", oldest=None)
            house.cut_connections()
            work.users.find(house.user_key())

    with pytest.raises(StoreUnavailable):
        write_and_be_cut_off()
    assert house.value("select count(*) from users") == 0
