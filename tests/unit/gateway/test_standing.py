"""Where a turn stands, stage by stage."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from uuid import uuid4

import pytest

from api_gateway.standing import Standings, standing
from shared.domain.ids import BatchId, SessionKey, TurnId
from shared.domain.session import StepName
from shared.domain.turn import Turn
from shared.ports import DebtState, Failure, Stage, TurnRow

NOW = datetime(2026, 5, 1, tzinfo=UTC)
PENDING = TurnRow(
    turn=Turn(
        turn_id=TurnId(uuid4()),
        client_id=None,
        sequence=1,
        role="user",
        text="hi",
        tokens=1,
        created_at=NOW,
        accepted_at=NOW,
    ),
    state="pending",
    second_pass=None,
    lane="interactive",
)
DONE = replace(PENDING, state="done")
OWED = DebtState(running=False, failures=0, error=None, due_at=NOW)
FAILURE = Failure(
    session_key=SessionKey(uuid4()),
    sequence=1,
    batch_id=BatchId(uuid4()),
    step="merge",
    reason="crashes",
    error="WorkerLost",
    crashes=3,
    failures=1,
)


def _stage(
    step: StepName,
    state: str,
    *,
    error: str | None = None,
    crashes: int = 0,
    failures: int = 0,
    due_at: datetime | None = None,
    batch_state: str = "open",
) -> Stage:
    return Stage(
        step=step,
        state=state,
        error=error,
        crashes=crashes,
        failures=failures,
        due_at=due_at,
        batch_state=batch_state,
    )


def _stand(
    row: TurnRow, *stages: Stage, debts: tuple[DebtState, ...] = (), failure: Failure | None = None
) -> Standings:
    return standing(row, stages=stages, debts=debts, failure=failure)


def _states(found: Standings) -> dict[str, str]:
    return {name: stage.state for name, stage in found.stages.items()}


def test_before_its_batch_every_stage_of_a_turn_is_pending() -> None:
    assert set(_states(_stand(PENDING)).values()) == {"pending"}


def test_the_stages_of_an_open_batch() -> None:
    found = _stand(
        PENDING,
        _stage("extract", "done"),
        _stage("summarize", "running", crashes=1),
        _stage("embed", "waiting"),
        _stage("merge", "waiting"),
    )
    assert _states(found) == {
        "extract": "done",
        "summarize": "running",
        "embed": "pending",
        "merge": "pending",
        "index": "pending",
    }
    assert found.stages["extract"].attempts == 1
    assert found.stages["summarize"].attempts == 2


@pytest.mark.parametrize(("crashes", "failures"), [(2, 0), (0, 2), (1, 1)])
def test_a_step_that_is_due_once_more_is_retrying(crashes: int, failures: int) -> None:
    stage = _stage("embed", "due", due_at=NOW, error="Timeout", crashes=crashes, failures=failures)
    found = _stand(PENDING, stage).stages["embed"]
    assert (found.state, found.error, found.attempts, found.next_try) == ("retrying", "Timeout", 2, NOW)


def test_a_step_that_waits_for_a_server_is_retrying_without_an_attempt() -> None:
    found = _stand(PENDING, _stage("embed", "due", error="EmbedderUnavailable", due_at=NOW)).stages["embed"]
    assert (found.state, found.attempts) == ("retrying", 0)


def test_a_batch_that_is_closed_says_nothing_about_a_turn_given_back() -> None:
    split = [_stage(step, "done", batch_state="split") for step in ("extract", "summarize")]
    assert set(_states(_stand(PENDING, *split)).values()) == {"pending"}


def test_a_turn_that_is_done_is_done_in_every_stage_but_what_is_owed_to_the_index() -> None:
    assert set(_states(_stand(DONE)).values()) == {"done"}
    owed = _states(_stand(DONE, debts=(OWED,)))
    assert owed.pop("index") == "pending"
    assert set(owed.values()) == {"done"}


def test_the_index_stage_is_its_worst_debt() -> None:
    running = replace(OWED, running=True)
    failed = replace(OWED, failures=2, error="IndexUnavailable")
    assert _stand(DONE, debts=(OWED, running)).stages["index"].state == "running"
    found = _stand(DONE, debts=(running, failed, OWED)).stages["index"]
    assert (found.state, found.error, found.attempts) == ("retrying", "IndexUnavailable", 2)


def test_a_dead_turn_says_where_and_why() -> None:
    dead = replace(PENDING, state="dead")
    stages = [
        _stage("extract", "done", batch_state="parked"),
        _stage("merge", "cancelled", batch_state="parked"),
    ]
    found = _stand(dead, *stages, failure=FAILURE)
    assert found.reason == "crashes"
    assert _states(found) == {
        "extract": "done",
        "summarize": "pending",
        "embed": "pending",
        "merge": "dead",
        "index": "pending",
    }
    assert (found.stages["merge"].error, found.stages["merge"].attempts) == ("WorkerLost", 4)
