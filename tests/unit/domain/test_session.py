from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.domain.session import FlushPolicy, Pending, is_due

NOTHING = Pending(rounds=0, tokens=0, tool_finished=False, last_budget=4_000)
POLICY = FlushPolicy()
SHARE = 0.15


@pytest.mark.parametrize(
    ("pending", "due"),
    [
        (NOTHING, False),
        (replace(NOTHING, rounds=2), False),
        (replace(NOTHING, rounds=3), True),
        (replace(NOTHING, tokens=300), False),
        (replace(NOTHING, tokens=301), True),
        (replace(NOTHING, tool_finished=True), True),
    ],
)
def test_whichever_trigger_comes_first(pending: Pending, due: object) -> None:
    assert is_due(pending, policy=POLICY, working_share=SHARE) is due


def test_working_memory_that_nearly_fills_its_share_of_a_small_budget_is_due() -> None:
    small = replace(NOTHING, last_budget=1_000)
    limit = round(0.9 * SHARE * 1_000)
    assert not is_due(replace(small, tokens=limit), policy=POLICY, working_share=SHARE)
    assert is_due(replace(small, tokens=limit + 1), policy=POLICY, working_share=SHARE)


def test_a_policy_can_be_always_or_let_tools_wait() -> None:
    always, patient = replace(POLICY, rounds=1), replace(POLICY, tool_finished=False)
    assert is_due(replace(NOTHING, rounds=1), policy=always, working_share=SHARE)
    assert not is_due(replace(NOTHING, tool_finished=True), policy=patient, working_share=SHARE)
    assert POLICY.idle == timedelta(seconds=30)


@given(st.integers(0, 10), st.integers(0, 1_000), st.booleans(), st.integers(1, 10))
def test_what_is_due_stays_due_when_more_comes(rounds: int, tokens: int, tool: bool, more: int) -> None:  # noqa: FBT001 -- drawn by hypothesis
    pending = replace(NOTHING, rounds=rounds, tokens=tokens, tool_finished=tool)
    grown = replace(pending, rounds=rounds + more, tokens=tokens + more)
    before = is_due(pending, policy=POLICY, working_share=SHARE)
    assert is_due(grown, policy=POLICY, working_share=SHARE) >= before
