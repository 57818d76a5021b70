"""Erasure against work in flight: from its commit on nothing old is written or served (ARCHITECTURE 3.9)."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest

from shared.ports import MemoryFilter
from tests.integration.between import Aside, BeforeCommit, Interleaved
from tests.integration.protocol import STEPS, House
from tests.running import eventually

SECRET = "My phone number is +1 415 555 0134 and the headset shows error E-1042."
# More than the units of work that one session takes until it is closed and indexed.
SEAMS = 24
WRITING_MEMORIES = """
select count(*) from pg_locks l join pg_class c on c.oid = l.relation
join pg_database d on d.oid = l.database and d.datname = current_database()
where c.relname = 'memories' and l.mode = 'RowExclusiveLock'
"""


def _erase(house: House, scope: str) -> None:
    house.erase_user() if scope == "user" else house.erase_session("s")


def _nothing_is_served(house: House) -> None:
    """Neither by listing, nor from the slots, the index, the text or the session."""
    key = house.user_key()
    with house.begin(house.tenant.tenant_id) as work:
        assert (
            work.memories.page(key, only=MemoryFilter(states=("pending", "live")), after=None, limit=10) == []
        )
        assert work.memories.profile(key) == []
        assert work.memories.owed(key, embedder=house.tools.embedder.name, limit=10) == []
        assert work.memories.search_text(key, words=["phone", "e-1042"], limit=10) == []
        ids = [row[0] for row in house.sql("select memory_id from memories")]
        assert work.memories.hydrate(ids, only=MemoryFilter()) == []
        assert work.sessions.find("s") is None


def _no_work_is_left(house: House) -> None:
    house.bring_forward()
    house.expire_leases()
    house.finish()
    assert house.value("select count(*) from work where state in ('waiting', 'due', 'running')") == 0
    assert house.value("select count(*) from batches where state = 'open'") == 0
    assert house.value("select count(*) from step_outputs") == 0
    assert house.value("select count(*) from failures") == 0


@pytest.mark.parametrize("scope", ["user", "session"])
def test_an_erasure_between_any_two_transactions_leaves_nothing_and_a_new_start_is_clean(
    house: House, scope: str
) -> None:
    for seam in range(SEAMS):
        tried = replace(house, tenant=house.database.tenant())
        begin = Interleaved(tried.begin, {seam: partial(_erase, tried, scope)})
        tried.say("s", SECRET, "One.", "Two.")
        tried.close("s")
        tried.finish(tried.runner(replace(tried.tools, begin=begin)))
        if begin.begun <= seam:
            break
        memories = tried.value("select count(*) from memories")
        _nothing_is_served(tried)
        _no_work_is_left(tried)
        assert tried.value("select count(*) from memories") == memories
        _starts_clean(tried)
    assert 10 < seam < SEAMS


def _starts_clean(house: House) -> None:
    old = house.value("select count(*) from sessions")
    house.say("s", "My phone number is +1 415 555 0199.")
    house.flush("s")
    house.finish()
    assert house.value("select count(*) from sessions") == old + 1
    assert [memory.slot and memory.slot.value for memory in house.memories()] == ["+14155550199"]
    assert house.turn_states("s") == ["done"]


@pytest.mark.parametrize("scope", ["user", "session"])
def test_an_erasure_waits_for_a_merge_that_is_committing_and_then_buries_what_it_wrote(
    house: House, scope: str
) -> None:
    house.say("s", SECRET)
    house.flush("s")
    for step in STEPS[:3]:
        house.runner()._once(step)
    erasures: list[Aside] = []

    def erase_beside() -> None:
        """Inside the transaction that holds the user's lock."""
        if house.value(WRITING_MEMORIES) and not erasures:
            erasures.append(Aside(lambda: _erase(house, scope)))
            eventually(house.someone_waits)

    house.runner(replace(house.tools, begin=BeforeCommit(house.begin, erase_beside)))._once("merge")
    erasures[0].outcome()
    assert house.value("select state from batches") == "merged"
    assert house.value("select count(*) from memories where kind = 'episode' and state = 'live'") == 1
    _nothing_is_served(house)
    _no_work_is_left(house)


def test_an_erasure_waits_for_a_batch_that_is_being_opened_and_cancels_it(house: House) -> None:
    house.say("s", SECRET, "Two.", "Three.")
    erasures: list[Aside] = []

    def erase_beside() -> None:
        erasures.append(Aside(house.erase_user))
        eventually(lambda: house.someone_waits() or not erasures[0].is_alive())

    runner = house.runner(replace(house.tools, begin=BeforeCommit(house.begin, erase_beside)))
    assert runner.open_due_sessions() == 1
    erasures[0].outcome()
    assert house.value("select state from batches") == "cancelled"
    _no_work_is_left(house)


def test_an_erasure_of_one_session_leaves_the_users_others_alone(house: House) -> None:
    house.say("kept", "My email is ann@example.com.")
    house.flush("kept")
    house.say("s", SECRET)
    house.flush("s")
    house.open_batches()
    house.erase_session("s")
    house.finish()
    assert [memory.slot and memory.slot.value for memory in house.memories()] == ["ann@example.com"]
    assert house.turn_states("kept") == ["done"]


def test_what_two_sessions_said_is_not_served_once_one_of_them_is_erased(house: House) -> None:
    for session in ("kept", "s"):
        house.say(session, SECRET)
        house.flush(session)
        house.finish()
    assert len(house.memories()) > 0
    house.erase_session("s")
    assert [memory for memory in house.memories() if len(memory.turn_ids) > 1] == []


def test_a_wrap_up_is_erased_with_its_session(house: House) -> None:
    house.say("s", SECRET)
    house.close("s")
    house.finish()
    assert [memory.kind for memory in house.memories() if memory.kind == "summary"] == ["summary"]
    house.erase_session("s")
    assert house.texts() == []


def test_a_memory_added_directly_outlives_a_session_but_not_its_user(house: House) -> None:
    house.say("s", "hm")
    house.add("The customer prefers a callback")
    house.erase_session("s")
    house.finish()
    assert house.texts() == ["The customer prefers a callback"]
    house.add("Added just before the erasure")
    house.erase_user()
    house.finish()
    assert house.texts(states=("pending", "live")) == []


def test_an_accept_that_waited_for_an_erasure_starts_a_new_session(house: House) -> None:
    house.say("s", SECRET)
    old = house.session_key("s")
    accepts: list[Aside] = []

    def accept_beside() -> None:
        accepts.append(Aside(lambda: house.say("s", "Hello again.")))
        eventually(house.someone_waits)

    with BeforeCommit(house.begin, accept_beside)(house.tenant.tenant_id) as work:
        work.erasures.lock_user(house.user_key())
        work.erasures.bury_user(house.user_key())
    accepts[0].outcome()
    assert house.session_key("s") != old
    assert house.turn_states("s") == ["pending"]
