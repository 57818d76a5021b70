from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.domain.ids import SessionKey, episode_id, statement_id, turn_id

KEY = SessionKey(UUID(int=1))
OTHER = SessionKey(UUID(int=2))
NUMBER = st.integers(0, 10**6)


def test_ids_of_one_turn_differ_by_what_they_name() -> None:
    named = {
        turn_id(KEY, sequence=1),
        episode_id(KEY, sequence=1, piece=0),
        episode_id(KEY, sequence=1, piece=1),
        statement_id(KEY, first=1, generation=0, ordinal=0),
        statement_id(KEY, first=1, generation=1, ordinal=0),
        statement_id(KEY, first=1, generation=0, ordinal=1),
        statement_id(KEY, first=2, generation=0, ordinal=0),
    }
    assert len(named) == 7


def test_ids_are_the_same_in_every_process_and_release() -> None:
    assert str(turn_id(KEY, sequence=1)) == "a4c9014d-50c1-5d77-8e56-431ca6a15bdc"


@pytest.mark.parametrize(
    "made",
    [
        lambda key, number: turn_id(key, sequence=number),
        lambda key, number: episode_id(key, sequence=number, piece=0),
        lambda key, number: statement_id(key, first=number, generation=0, ordinal=0),
    ],
)
@given(NUMBER, NUMBER)
def test_no_two_numbers_and_no_two_sessions_share_an_id(
    made: Callable[[SessionKey, int], UUID], one: int, two: int
) -> None:
    assert (made(KEY, one) == made(KEY, two)) is (one == two)
    assert made(KEY, one) != made(OTHER, one)
