"""Claims and leases: who gets what next, and what becomes of a worker that is gone (ARCHITECTURE 3.3)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from uuid import uuid4

import pytest
from sqlalchemy import text

from shared.domain.errors import ClaimLost, StoreUnavailable
from shared.domain.ids import BatchId, TenantId
from shared.domain.session import Claim
from shared.stores.postgres.dispatch import Dispatch
from tests.integration.between import Aside, Watched
from tests.integration.protocol import House
from tests.running import eventually
from workers.lease import kept

TAKE_FIRST_MERGE = """
update work set state = 'running' where step = 'merge' and batch_id = (
    select batch_id from work where step = 'merge' and state = 'due' order by rank_at limit 1)
"""
FIRST_DUE = "select 1 from work where state = 'due' and step = 'extract' order by rank_at limit 1 for update"


def _due(house: House, *sessions: str, lane: str = "interactive") -> None:
    """One batch a session, whose `extract` is due."""
    for session in sessions:
        house.say(session, "One.", "Two.", "Three.", lane="bulk" if lane == "bulk" else "interactive")
        house.open_batches()


def _claim(house: House, *, limit: int = 1) -> list[Claim]:
    return house.database.dispatch.claim("extract", limit=limit)


def _sessions(house: House, claims: Sequence[Claim]) -> list[object]:
    return [
        house.value(
            "select s.session_id from batches b join sessions s using (tenant_id, session_key)"
            " where batch_id = :id",
            id=claim.batch_id,
        )
        for claim in claims
    ]


def _work(house: House, column: str) -> object:
    return house.value(f"select {column} from work where step = 'extract'")  # noqa: S608 -- a test's own words


def test_a_step_is_claimed_once_however_many_ask_at_the_same_time(house: House) -> None:
    _due(house, *(f"s{number}" for number in range(12)))

    def take() -> list[Claim]:
        taken: list[Claim] = []
        while found := _claim(house):
            taken += found
        return taken

    takers = [Aside(take) for _ in range(8)]
    taken = Counter(claim.batch_id for taker in takers for claim in taker.outcome())
    assert len(taken) == 12
    assert set(taken.values()) == {1}


def test_a_row_that_another_worker_is_taking_is_skipped_and_not_waited_for(house: House) -> None:
    _due(house, "s1", "s2")
    with house.database.owner.begin() as connection:
        connection.execute(text(FIRST_DUE))
        assert _sessions(house, _claim(house, limit=2)) == ["s2"]


def test_the_tenant_that_was_served_longest_ago_comes_first(house: House) -> None:
    other = house.other_tenant()
    _due(house, "a1", "a2")
    _due(other, "b1", "b2")
    served = [claim.tenant_id for _ in range(4) for claim in _claim(house)]
    assert served[0] != served[1]
    assert served[:2] == served[2:]


def test_interactive_work_comes_before_bulk_work_that_is_older(house: House) -> None:
    _due(house, "bulk", lane="bulk")
    _due(house, "interactive")
    assert [_sessions(house, _claim(house)) for _ in range(2)] == [["interactive"], ["bulk"]]


def test_bulk_work_that_has_waited_long_gets_through(house: House) -> None:
    _due(house, "bulk", lane="bulk")
    house.sql("update work set rank_at = rank_at - interval '61 seconds' where lane = 'bulk'")
    _due(house, "interactive")
    assert _sessions(house, _claim(house)) == ["bulk"]


def test_bulk_work_that_was_given_back_is_still_bulk(house: House) -> None:
    _due(house, "bulk", lane="bulk")
    (claim,) = _claim(house)
    house.database.dispatch.release(claim, delay=0.0, error="EmbedderUnavailable", failed=False)
    _due(house, "interactive")
    assert _sessions(house, _claim(house)) == ["interactive"]


def test_work_given_back_with_a_delay_is_not_due_before_its_time(house: House) -> None:
    _due(house, "s")
    (claim,) = _claim(house)
    house.database.dispatch.release(claim, delay=20.0, error="ValueError", failed=True)
    assert _claim(house) == []
    assert (_work(house, "failures"), _work(house, "error")) == (1, "ValueError")
    house.bring_forward()
    (again,) = _claim(house)
    assert (again.fence, again.failures, again.error) == (claim.fence + 1, 1, "ValueError")


def test_a_lease_that_ran_out_is_taken_over_with_a_higher_fence_and_counts_a_crash(house: House) -> None:
    _due(house, "s")
    (lost,) = _claim(house)
    assert _claim(house) == []
    house.expire_leases()
    (taken,) = _claim(house)
    assert (taken.batch_id, taken.fence, taken.crashes) == (lost.batch_id, lost.fence + 1, 1)


def test_nothing_is_taken_over_within_one_lease_of_the_start_of_postgres(house: House) -> None:
    _due(house, "s")
    long = Dispatch(house.database.dispatch._engine, lease_seconds=10_000_000.0)
    assert len(long.claim("extract", limit=1)) == 1
    house.expire_leases()
    assert long.claim("extract", limit=1) == []
    assert len(_claim(house)) == 1


def test_renewal_keeps_a_lease_and_revives_one_that_nobody_took(house: House) -> None:
    _due(house, "s")
    (claim,) = _claim(house)
    house.expire_leases()
    assert house.database.dispatch.renew(claim)
    assert _claim(house) == []
    assert house.record(claim) == []


def test_a_lease_that_was_taken_over_cannot_be_renewed(house: House) -> None:
    _due(house, "s")
    (claim,) = _claim(house)
    house.expire_leases()
    _claim(house)
    house.expire_leases()
    assert not house.database.dispatch.renew(claim)
    assert len(_claim(house)) == 1


def test_what_has_crashed_once_is_claimed_alone(house: House) -> None:
    _due(house, "s1", "s2", "s3")
    _claim(house)
    house.expire_leases()
    (crashed,) = _claim(house, limit=3)
    house.database.dispatch.release(crashed, delay=0.0, error=None, failed=False)
    together, alone = _claim(house, limit=3), _claim(house, limit=3)
    assert [len(together), len(alone)] == [2, 1]
    assert alone[0].batch_id == crashed.batch_id


def test_a_holder_whose_fence_was_passed_records_nothing(house: House) -> None:
    _due(house, "s")
    (stale,) = _claim(house)
    house.expire_leases()
    (taken,) = _claim(house)
    with pytest.raises(ClaimLost, match="took the step over"):
        house.record(stale, {"statements": []})
    assert house.sql("select 1 from step_outputs") == []
    house.record(taken, {"by": "the new holder"})
    assert house.value("select output ->> 'by' from step_outputs") == "the new holder"


def test_a_live_worker_that_was_passed_gives_the_crash_back(house: House) -> None:
    """It was slow, not gone: the takeover counted a crash that was none."""
    _due(house, "s")
    house.record(house.claim("extract"))
    house.record(house.claim("summarize"))
    taken: list[Claim] = []

    def pass_by(_: Sequence[str]) -> None:
        house.expire_leases()
        taken.extend(house.database.dispatch.claim("embed", limit=1))

    house.runner(replace(house.tools, embedder=Watched(pass_by)))._once("embed")
    assert [claim.crashes for claim in taken] == [1]
    assert house.value("select crashes from work where step = 'embed'") == 0
    house.record(taken[0])


def test_a_worker_that_is_killed_after_its_takeover_keeps_its_crash(house: House) -> None:
    _due(house, "s")
    (first,) = _claim(house)
    house.expire_leases()
    _claim(house)
    house.expire_leases()
    (third,) = _claim(house)
    house.database.dispatch.give_back_crash(first)
    assert (third.crashes, _work(house, "crashes")) == (2, 1)


def test_a_claim_that_meets_another_of_the_same_user_looks_again_and_takes_somebody_elses(
    house: House,
) -> None:
    """Both picked merges of one user; the unique index let the first one through."""
    for session, user in (("a1", "ann"), ("a2", "ann"), ("b1", "bob")):
        house.say(session, "One.", user=user)
        house.flush(session)
        house.open_batches()
    house.sql("update work set state = case step when 'merge' then 'due' else 'done' end")
    with house.database.dispatch._engine.begin() as connection:
        connection.execute(text(TAKE_FIRST_MERGE))
        second = Aside(lambda: house.claim("merge"))
        eventually(house.someone_waits)
    assert _sessions(house, [second.outcome()]) == ["b1"]
    assert house.database.dispatch.claim("merge", limit=1) == []


def test_a_running_step_keeps_its_lease_alive(house: House) -> None:
    _due(house, "s")
    house.record(house.claim("extract"))
    house.record(house.claim("summarize"))
    until = "select lease_until from work where step = 'embed'"

    def work_long(_: Sequence[str]) -> None:
        first = house.value(until)
        eventually(lambda: house.value(until) > first)

    runner = house.runner(replace(house.tools, embedder=Watched(work_long)))
    assert replace(runner, patience=replace(runner.patience, renew_seconds=0.02))._once("embed")
    assert house.value("select state from work where step = 'embed'") == "done"


def test_renewal_goes_on_when_postgres_was_away_for_a_moment() -> None:
    claim = Claim(
        tenant_id=TenantId(uuid4()),
        batch_id=BatchId(uuid4()),
        step="merge",
        fence=1,
        crashes=0,
        failures=0,
        error=None,
    )
    away = Away(times=2)
    with kept([claim], dispatch=away, every=0.001):
        assert eventually(lambda: away.renewed)


class Away(Dispatch):
    """Does not answer the first `times` it is asked to renew."""

    def __init__(self, *, times: int) -> None:
        self._times = times
        self.renewed = 0

    def renew(self, claim: Claim) -> bool:
        if self._times:
            self._times -= 1
            raise StoreUnavailable(f"no answer for {claim.step}")
        self.renewed += 1
        return True
