from __future__ import annotations

from datetime import UTC, datetime
from itertools import chain
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from shared.domain.ids import TurnId
from shared.domain.turn import Role, Turn, rounds

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
ROLES: st.SearchStrategy[Role] = st.sampled_from(["user", "assistant", "tool", "system"])


def _turn(role: Role, *, sequence: int) -> Turn:
    return Turn(
        turn_id=TurnId(UUID(int=sequence)),
        client_id=None,
        sequence=sequence,
        role=role,
        text="",
        tokens=0,
        created_at=NOON,
        accepted_at=NOON,
    )


def test_a_round_begins_with_a_user_turn_and_what_comes_before_the_first_is_one_too() -> None:
    roles: list[Role] = ["assistant", "tool", "user", "assistant", "user", "user"]
    turns = [_turn(role, sequence=place) for place, role in enumerate(roles)]
    assert [[turn.sequence for turn in cut] for cut in rounds(turns)] == [[0, 1], [2, 3], [4], [5]]


@given(st.lists(ROLES, max_size=30))
def test_no_turn_is_lost_or_moved(roles: list[Role]) -> None:
    turns = [_turn(role, sequence=place) for place, role in enumerate(roles)]
    assert list(chain.from_iterable(rounds(turns))) == turns
