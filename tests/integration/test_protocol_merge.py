"""The merge: one commit, one at a time a user, decided on what is true when it commits (ARCHITECTURE 3.5)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy.exc import IntegrityError

from shared.codec import statements_to_json
from shared.domain.errors import ClaimLost
from shared.domain.ids import MemoryId
from shared.domain.memory import Statement
from shared.domain.session import Claim
from tests.integration.between import Aside, Interleaved
from tests.integration.protocol import STEPS, House
from tests.integration.said import phone, statement
from workers.steps.merge import merge

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
SAID = "The customer prefers a callback in the late afternoon hours"
SAID_AGAIN = "The customer prefers a callback in the late afternoon"
OTHER = "Calls are welcome on Mondays only"


def _merge(house: House, claim: Claim) -> None:
    merge([claim], tools=house.tools)


def _merge_with(house: House, claim: Claim, actions: Mapping[int, Callable[[], object]]) -> None:
    """An action with an odd number happens after a search and before the user is locked."""
    merge([claim], tools=replace(house.tools, begin=Interleaved(house.begin, actions)))


def test_a_merge_whose_cursor_has_moved_writes_nothing(house: House) -> None:
    claim = house.folded("s", statement("never to be seen"))
    house.sql("update sessions set applied = 7")
    with pytest.raises(ClaimLost, match="cursor"):
        _merge(house, claim)
    assert house.value("select count(*) from memories") == 0
    assert house.turn_states("s") == ["pending"]


def test_a_merge_whose_fence_was_passed_writes_nothing_and_its_successor_all_of_it(house: House) -> None:
    stale = house.folded("s", statement("said once"))
    house.expire_leases()
    taken = house.claim("merge")
    with pytest.raises(ClaimLost, match="took the step over"):
        _merge(house, stale)
    assert house.value("select count(*) from memories") == 0
    _merge(house, taken)
    assert house.texts() == ["said once"]


def test_a_merge_that_is_repeated_after_its_commit_changes_nothing(house: House) -> None:
    claim = house.folded("s", statement("said once"))
    _merge(house, claim)
    with pytest.raises(ClaimLost):
        _merge(house, claim)
    assert house.texts() == ["said once"]
    assert house.value("select applied from sessions") == 1


def test_a_users_merges_run_one_at_a_time_across_sessions(house: House) -> None:
    first = house.folded("s1", statement("of the first session"))
    house.say("s2", "hm")
    house.flush("s2")
    house.open_batches()
    house.record(house.claim("extract"))
    house.record(house.claim("summarize"))
    house.runner()._once("embed")
    assert house.database.dispatch.claim("merge", limit=1) == []
    with pytest.raises(IntegrityError, match="work_one_merge_a_user"):
        house.sql("update work set state = 'running' where step = 'merge' and state = 'due'")
    _merge(house, first)
    assert house.claim("merge").batch_id != first.batch_id


def test_eight_mergers_at_once_merge_every_session_of_a_user_once(house: House) -> None:
    for number in range(16):
        house.say(f"s{number}", f"My phone number is +1 415 555 01{number:02}.", user=f"u{number % 2}")
        house.flush(f"s{number}")
    while house.open_batches():
        pass
    for step in STEPS[:3]:
        house.runner().drain(step)

    def merge_all() -> None:
        runner = house.runner()
        while house.value("select count(*) from work where step = 'merge' and state <> 'done'"):
            runner._once("merge")

    for merger in [Aside(merge_all) for _ in range(8)]:
        merger.outcome()
    assert house.value("select count(*) from batches where state = 'merged'") == 16
    assert house.value("select count(*) from turns where state = 'done'") == 16
    assert house.value("select count(*) from memories where kind = 'episode'") == 16
    for user in ("u0", "u1"):
        assert len([memory for memory in house.memories(user) if memory.slot]) == 1
    assert house.value("select sum(crashes + failures) from work") == 0


def test_duplicates_of_two_sessions_that_merge_at_the_same_time_become_one_memory(house: House) -> None:
    for session, said in (("s1", SAID), ("s2", SAID_AGAIN)):
        house.say(session, "hm")
        house.flush(session)
        house.open_batches()
        house.record(house.claim("extract"), {"statements": statements_to_json([statement(said)])})
        house.record(house.claim("summarize"))
    house.runner().drain("embed")

    def merge_all() -> None:
        while house.value("select count(*) from work where step = 'merge' and state <> 'done'"):
            house.runner()._once("merge")

    for merger in [Aside(merge_all), Aside(merge_all)]:
        merger.outcome()
    (kept,) = house.memories()
    (other,) = house.memories(states=("duplicate",))
    assert {kept.text, other.text} == {SAID, SAID_AGAIN}
    assert other.merged_into == kept.memory_id
    assert len(kept.turn_ids) == 2


def test_an_edit_between_search_and_commit_is_seen(house: House) -> None:
    """What the statement would have repeated says something else by now."""
    known = _known(house, SAID)
    claim = house.folded("s2", statement(SAID_AGAIN))
    _merge_with(house, claim, {1: lambda: house.edit(known, text=OTHER)})
    assert house.texts() == sorted([OTHER, SAID_AGAIN])


def test_an_edit_that_was_indexed_between_search_and_commit_is_seen(house: House) -> None:
    """It is owed to the index no more: only searching again finds it."""
    known = _known(house, OTHER)
    claim = house.folded("s2", statement(SAID_AGAIN))
    _merge_with(house, claim, {1: lambda: _edit_and_index(house, known, said=SAID)})
    assert house.texts() == [SAID]


def test_edits_that_never_stop_are_seen_under_the_lock(house: House) -> None:
    known = _known(house, OTHER)
    claim = house.folded("s2", statement(SAID_AGAIN))
    edits = {
        1: lambda: house.edit(known, importance=0.4),
        3: lambda: house.edit(known, importance=0.6),
        5: lambda: _edit_and_index(house, known, said=SAID),
    }
    _merge_with(house, claim, edits)
    assert house.texts() == [SAID]


def test_a_memory_deleted_between_search_and_commit_takes_no_duplicate_with_it(house: House) -> None:
    known = _known(house, SAID)
    claim = house.folded("s2", statement(SAID_AGAIN))
    _merge_with(house, claim, {1: lambda: house.forget(known)})
    assert house.texts() == [SAID_AGAIN]


def test_without_the_vector_server_the_vectors_in_postgres_are_compared(house: House) -> None:
    _known(house, SAID)
    assert house.value("select count(*) from index_debts") == 0
    claim = house.folded("s2", statement(SAID_AGAIN), statement(OTHER))
    merge([claim], tools=house.tools_without_vectors)
    assert house.texts() == sorted([SAID, OTHER])


def test_statements_of_one_batch_are_held_against_each_other(house: House) -> None:
    _merge(house, house.folded("s", statement(SAID), statement(SAID_AGAIN), statement(OTHER)))
    assert house.texts() == sorted([SAID, OTHER])


def test_a_newer_value_of_a_slot_takes_the_place_of_the_older(house: House) -> None:
    _merge(house, house.folded("s1", phone("1", at=NOON)))
    _merge(house, house.folded("s2", phone("2", at=NOON + timedelta(hours=1))))
    (old,), (new,) = house.memories(states=("superseded",)), house.memories()
    assert (old.superseded_by, old.valid_to) == (new.memory_id, NOON + timedelta(hours=1))
    assert house.value("select memory_id from slots") == new.memory_id


def test_a_late_turn_enters_closed_and_changes_nothing_that_is_newer(house: House) -> None:
    _merge(house, house.folded("s1", phone("2", at=NOON + timedelta(hours=1))))
    _merge(house, house.folded("s2", phone("1", at=NOON)))
    (late,), (live,) = house.memories(states=("superseded",)), house.memories()
    assert live.text.endswith("2")
    assert (late.superseded_by, late.valid_to) == (live.memory_id, NOON + timedelta(hours=1))
    assert house.value("select memory_id from slots") == live.memory_id


@pytest.mark.parametrize(("known", "new", "live"), [(1, 2, "new"), (2, 1, "known"), (1, 1, "new")])
def test_at_the_same_time_the_later_turn_holds_the_slot(
    house: House, known: int, new: int, live: str
) -> None:
    """The newest turn that a statement rests on counts, however old the others are."""
    _merge(house, _of_turns(house, "s1", phone("known", at=NOON, sequences=(1, known))))
    _merge(house, _of_turns(house, "s2", phone("new", at=NOON, sequences=(new,))))
    (holder,) = house.memories()
    assert holder.text.endswith(live)


def test_an_earlier_value_said_again_later_holds_the_slot_again(house: House) -> None:
    for number, said in enumerate(("1", "2", "1")):
        _merge(house, house.folded(f"s{number}", phone(said, at=NOON + timedelta(hours=number))))
    (live,) = house.memories()
    assert (live.text.endswith("1"), live.valid_from) == (True, NOON + timedelta(hours=2))
    assert len(house.memories(states=("superseded",))) == 2


def test_a_memory_added_directly_is_merged_like_any_other(house: House) -> None:
    first, second = house.add(SAID), house.add(OTHER)
    assert house.texts(states=("pending",)) == sorted([SAID, OTHER])
    house.finish()
    again = house.add(SAID_AGAIN)
    house.finish()
    assert {memory.memory_id for memory in house.memories()} == {first, second}
    (duplicate,) = house.memories(states=("duplicate",))
    assert (duplicate.memory_id, duplicate.merged_into) == (again, first)


def test_a_memory_deleted_before_its_merge_stays_deleted(house: House) -> None:
    memory_id = house.add(SAID)
    house.forget(memory_id)
    house.finish()
    assert house.value("select state from memories") == "deleted"
    assert house.value("select text from memories") == ""
    assert house.value("select count(*) from memory_vectors") == 0
    assert house.index.versions([memory_id]) == {}


def test_a_memory_edited_before_its_merge_is_merged_as_edited(house: House) -> None:
    """What it said at first stands elsewhere; what it says now does not."""
    known = _known(house, SAID)
    changed = house.add(SAID_AGAIN)
    house.edit(changed, text=OTHER)
    house.finish()
    assert house.texts() == sorted([SAID, OTHER])
    versions = {memory.memory_id: memory.version for memory in house.memories()}
    assert house.index.versions([known, changed]) == versions


def _known(house: House, said: str) -> MemoryId:
    """A live memory that the index holds."""
    memory_id = house.add(said)
    house.finish()
    return memory_id


def _edit_and_index(house: House, memory_id: MemoryId, *, said: str) -> None:
    house.edit(memory_id, text=said)
    house.finish()
    assert house.value("select count(*) from index_debts") == 0


def _of_turns(house: House, session: str, said: Statement) -> Claim:
    """A claimed merge of a batch of as many turns as the statement cites."""
    house.say(session, *(f"hm {number}" for number in range(max(said.sequences))))
    house.flush(session)
    house.open_batches()
    return house.extracted(said)
