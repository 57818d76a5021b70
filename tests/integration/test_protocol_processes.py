"""Real worker processes: killed by what they work on, deaf for a while, and two beats at once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import redis

from infra.embedded.stack import EmbeddedStack
from tests.integration.between import Aside
from tests.integration.protocol import House
from tests.running import Databases, Deployment, eventually
from workers.schedule import SWEEP, sweep

SETTINGS = {"TURNKEEP_WORKER__LEASE_SECONDS": "0.5", "TURNKEEP_WORKER__MAX_CRASHES": "2"}


@pytest.fixture
def alone(stack: EmbeddedStack, databases: Databases) -> Iterator[House]:
    """In a database of its own, so that processes may work on it."""
    house = House.on(stack, database=databases.make())
    yield house
    house.leave()


def test_a_turn_that_kills_every_worker_is_dead_as_crashed_and_its_session_goes_on(
    stack: EmbeddedStack, alone: House
) -> None:
    alone.say("s", "One.", "This one is lethal.", "Three.")
    hands = Deployment(stack, database=alone.database, settings=SETTINGS)._spawn(
        "hands", "-m", "tests.integration.hands", "1"
    )
    eventually(lambda: not alone.value("select count(*) from turns where state = 'pending'"), seconds=60)
    assert alone.turn_states("s") == ["done", "dead", "done"]
    (failure,) = alone.sql("select sequence, step, reason, error, failures from failures")
    assert tuple(failure) == (2, "embed", "crashed", "WorkerLost", 0)
    assert alone.value("select max(crashes) from failures") >= 2
    hands.stop()


def test_after_the_broker_has_lost_everything_all_is_worked_on_still(
    stack: EmbeddedStack, alone: House
) -> None:
    """Posted turns, edits and a close whose bells are gone: the sweep finds what Postgres knows."""
    deployment = Deployment(stack, database=alone.database)
    deployment.worker()
    deployment.beat()
    alone.say("before", "My phone number is +1 415 555 0134.", "Two.", "Three.")
    eventually(lambda: alone.turn_states("before") == ["done"] * 3, seconds=60)
    with deployment.paused(), redis.Redis.from_url(stack.broker_url) as broker:
        alone.say("after", "My phone number is +1 415 555 0199.", "Two.", "Three.")
        alone.close("before")
        memory_id = alone.add("A fact added directly")
        for key in broker.scan_iter(f"{alone.database.name}:*"):
            broker.delete(key)
    eventually(lambda: alone.turn_states("after") == ["done"] * 3, seconds=60)
    eventually(lambda: alone.value("select wrap_up from sessions where session_id = 'before'"))
    eventually(lambda: not alone.value("select count(*) from index_debts"))
    assert alone.index.versions([memory_id]) != {}


def test_a_sweep_rings_for_what_is_due_was_lost_or_is_owed_and_for_nothing_else(house: House) -> None:
    runner = house.runner()
    sweep(runner)
    assert house.bell.rung == []
    house.say("s", "One.", "Two.", "Three.")
    sweep(runner)
    assert sorted(house.bell.rung) == ["extract", "extract", "summarize", "summarize"]
    house.claim("extract")
    house.claim("summarize")
    house.bell.rung.clear()
    sweep(runner)
    assert house.bell.rung == []
    house.expire_leases()
    sweep(runner)
    assert sorted(house.bell.rung) == ["extract", "summarize"]
    house.bring_forward()
    house.finish()
    house.add("A fact")
    runner._once("embed")
    runner._once("merge")
    house.bell.rung.clear()
    sweep(runner)
    assert house.bell.rung == ["index"]


def test_of_two_beats_at_once_one_does_the_job(house: House) -> None:
    dispatch = house.database.dispatch

    def second() -> bool:
        with dispatch.alone(SWEEP) as held:
            return held

    with dispatch.alone(SWEEP) as first:
        assert first
        assert Aside(second).outcome() is False
        with dispatch.alone("another job") as other:
            assert other
    assert second()
