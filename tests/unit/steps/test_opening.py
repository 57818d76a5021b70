"""Which pending turns are folded into one batch, and how what is pending is counted."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.domain.session import FlushPolicy
from shared.domain.turn import Role
from shared.ports import TurnSize
from workers.opening import fold, next_cap, pending_of

POLICY = FlushPolicy(fold_turns=24)


def _sizes(*tokens: int, first: int = 1) -> list[TurnSize]:
    return [
        TurnSize(sequence=first + place, tokens=size, role="user", lane="interactive")
        for place, size in enumerate(tokens)
    ]


def test_as_many_turns_as_fit_both_limits() -> None:
    assert fold(_sizes(10, 10, 10), turns=24, tokens=100) == 3
    assert fold(_sizes(10, 10, 10), turns=2, tokens=100) == 2
    assert fold(_sizes(10, 10, 10), turns=24, tokens=20) == 2
    assert fold(_sizes(5, 5, first=41), turns=24, tokens=100) == 42


def test_one_turn_at_least_however_long() -> None:
    assert fold(_sizes(5_000, 1), turns=24, tokens=100) == 1


@given(st.lists(st.integers(0, 500), min_size=1, max_size=60), st.integers(1, 24), st.integers(1, 3_000))
def test_a_fold_is_a_prefix_within_the_limits_that_cannot_take_one_turn_more(
    tokens: list[int], turns: int, limit: int
) -> None:
    last = fold(_sizes(*tokens), turns=turns, tokens=limit)
    assert 1 <= last <= min(turns, len(tokens))
    assert last == 1 or sum(tokens[:last]) <= limit
    if last < min(turns, len(tokens)):
        assert sum(tokens[: last + 1]) > limit


@pytest.mark.parametrize(
    ("role", "rounds", "tool_finished"),
    [("user", 1, False), ("assistant", 0, False), ("tool", 0, True), ("system", 0, False)],
)
def test_rounds_are_counted_by_user_turns_and_tools_by_their_results(
    role: Role, rounds: int, tool_finished: object
) -> None:
    sizes = [TurnSize(sequence=1, tokens=0, role=role, lane="bulk")]
    pending = pending_of(sizes, last_budget=4_000)
    assert (pending.rounds, pending.tokens, pending.tool_finished) == (rounds, 0, tool_finished)
    assert (pending.turns, pending.last_budget) == (1, 4_000)


def test_a_cap_doubles_until_it_is_the_policys_own() -> None:
    caps = [1]
    while (cap := next_cap(caps[-1], flush=POLICY)) is not None:
        caps.append(cap)
    assert caps == [1, 2, 4, 8, 16]
    assert next_cap(None, flush=POLICY) is None
