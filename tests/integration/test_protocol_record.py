"""Recording: first output kept, next steps made due once, nothing under another epoch (ARCHITECTURE 3.3)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from shared.codec import statements_to_json
from shared.domain.errors import ClaimLost
from shared.domain.session import StepName
from tests.integration.between import Aside
from tests.integration.protocol import House
from tests.integration.said import statement
from tests.running import eventually


@pytest.fixture
def house(house: House) -> House:
    """With one batch open."""
    house.say("s", "One.", "Two.", "Three.")
    house.open_batches()
    return house


def _states(house: House) -> dict[object, object]:
    return {row[0]: row[1] for row in house.sql("select step, state from work")}


def test_a_batch_begins_with_extract_and_summarize_due_and_the_rest_waiting(house: House) -> None:
    assert _states(house) == {
        "extract": "due",
        "summarize": "due",
        "embed": "waiting",
        "merge": "waiting",
    }


@pytest.mark.parametrize("order", [("extract", "summarize"), ("summarize", "extract")])
def test_embed_is_due_after_both_and_not_after_one(house: House, order: tuple[StepName, StepName]) -> None:
    assert house.record(house.claim(order[0])) == []
    assert _states(house)["embed"] == "waiting"
    assert house.record(house.claim(order[1])) == ["embed"]
    assert _states(house)["embed"] == "due"


def test_two_steps_that_finish_at_once_make_the_next_due_and_do_not_wait_for_each_other(house: House) -> None:
    first, second = house.claim("extract"), house.claim("summarize")
    with house.begin(first.tenant_id) as work:
        assert work.batches.record(first, output={}) == []
        other = Aside(lambda: house.record(second))
        eventually(lambda: house.someone_waits() or not other.is_alive())
    assert other.outcome() == ["embed"]
    assert _states(house)["embed"] == "due"


def test_an_output_that_stands_is_kept(house: House) -> None:
    """A worker was gone after it had recorded, as far as anybody could see: its successor's is not taken."""
    claim = house.claim("extract")
    house.record(claim, {"statements": statements_to_json([statement("the first")])})
    house.sql("update work set state = 'running', fence = fence + 1 where step = 'extract'")
    house.record(replace(claim, fence=claim.fence + 1), {"statements": []})
    assert house.value("select output -> 'statements' -> 0 ->> 'text' from step_outputs") == "the first"


def test_a_step_whose_output_stands_is_not_worked_on_again(house: House) -> None:
    house.record(house.claim("extract"), {"statements": statements_to_json([statement("kept by hand")])})
    house.sql("update work set state = 'due' where step = 'extract'")
    house.finish()
    assert house.texts() == ["kept by hand"]


def test_outputs_are_gone_when_the_batch_has_closed(house: House) -> None:
    house.record(house.claim("extract"), {"statements": statements_to_json([statement("private words")])})
    assert house.value("select count(*) from step_outputs") == 1
    house.finish()
    assert house.value("select count(*) from step_outputs") == 0
    assert house.value("select state from batches") == "merged"


def test_a_closed_batch_takes_no_output(house: House) -> None:
    claim = house.claim("extract")
    house.sql("update batches set state = 'split'")
    with pytest.raises(ClaimLost, match="closed or erased"):
        house.record(claim)


@pytest.mark.parametrize("row", ["users", "sessions"])
def test_a_step_begun_under_an_earlier_epoch_records_nothing(house: House, row: str) -> None:
    claim = house.claim("extract")
    house.sql(f"update {row} set epoch = epoch + 1")  # noqa: S608 -- one of two names above
    with pytest.raises(ClaimLost, match="closed or erased"):
        house.record(claim, {"statements": []})
    assert house.value("select count(*) from step_outputs") == 0


def test_a_step_that_is_not_running_records_nothing(house: House) -> None:
    claim = house.claim("extract")
    house.database.dispatch.release(claim, delay=0.0, error=None, failed=False)
    with pytest.raises(ClaimLost, match="took the step over"):
        house.record(claim)
