"""The table of steps, its retry policy, and how vectors travel between steps."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.domain.steps import STEPS_OF
from workers.pipeline import DEBTS, OPENERS, STEPS, RetryPolicy
from workers.steps.embed import packed, unpacked


def test_the_wait_doubles_up_to_the_longest() -> None:
    policy = RetryPolicy(first=1.0, longest=10.0)
    assert [policy.delay(failures) for failures in range(6)] == [1.0, 2.0, 4.0, 8.0, 10.0, 10.0]


def test_the_wait_stays_the_longest_however_often_a_debt_failed() -> None:
    assert RetryPolicy().delay(5_000) == RetryPolicy().longest


@pytest.mark.parametrize("needs", STEPS_OF.values(), ids=STEPS_OF)
def test_every_step_of_a_batch_can_be_done_and_ends_in_the_merge(needs: dict[str, tuple[str, ...]]) -> None:
    assert set(needs) <= set(STEPS)
    done: set[str] = set()
    while ready := {step for step in needs if step not in done and set(needs[step]) <= done}:
        done |= ready
    assert done == set(needs)
    assert [step for step in needs if not any(step in others for others in needs.values())] == ["merge"]


def test_what_opens_batches_is_what_a_new_batch_has_due() -> None:
    first = {step for needs in STEPS_OF.values() for step, before in needs.items() if not before}
    assert first & OPENERS == OPENERS
    assert all(DEBTS[name].name == name for name in DEBTS)


@given(st.lists(st.floats(-1, 1, width=32), max_size=64))
def test_a_vector_comes_out_of_its_package_as_it_went_in(values: list[float]) -> None:
    assert unpacked(packed(tuple(values))) == tuple(values)
