"""What a decision writes: states, validity, trust and provenance."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from shared.domain.ids import MemoryId, SessionKey, TurnId, UserKey
from shared.domain.memory import Slot, Statement
from shared.domain.turn import Role, Turn
from shared.ports import SessionRow
from workers.steps.candidates import Fresh
from workers.steps.deciding import Decision, Known
from workers.steps.effects import episode_of, memory_of, said_at, source_of

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
SLOT = Slot(subject="user", attribute="phone", value="1")
SESSION = SessionRow(
    session_key=SessionKey(UUID(int=1)),
    session_id="s",
    user_key=UserKey(UUID(int=2)),
    user_id="u",
    user_epoch=0,
    epoch=0,
    applied=0,
    language="zh",
    created_at=NOON,
    closed_at=None,
    outcome=None,
    wrap_up=None,
)
OTHER = Known(
    memory_id=MemoryId(UUID(int=9)),
    text="known",
    slot=SLOT,
    entities=(),
    valid_from=NOON + timedelta(hours=2),
    valid_seq=4,
    similarity=None,
)
FRESH = Fresh(
    memory_id=MemoryId(UUID(int=3)),
    statement=Statement(
        kind="fact",
        category="account",
        text="My phone is 1",
        language="en",
        trust="user",
        importance=0.4,
        sequences=(2, 5),
        valid_from=NOON,
        slot=SLOT,
        metadata={"solved": True},
    ),
    vector=(1.0, 0.0),
    order=5,
)


def _turn(*, role: Role = "user", text: str = "Hello there", created_at: datetime = NOON) -> Turn:
    return Turn(
        turn_id=TurnId(UUID(int=7)),
        client_id=None,
        sequence=5,
        role=role,
        text=text,
        tokens=3,
        created_at=created_at,
        accepted_at=NOON,
    )


def test_a_turn_is_valid_from_its_own_time_unless_its_clock_runs_far_ahead() -> None:
    assert said_at(_turn(created_at=NOON - timedelta(days=400))) == NOON - timedelta(days=400)
    assert said_at(_turn(created_at=NOON + timedelta(minutes=4))) == NOON + timedelta(minutes=4)
    assert said_at(_turn(created_at=NOON + timedelta(days=400))) == NOON + timedelta(minutes=5)


def test_an_insert_is_live_and_keeps_what_the_statement_says() -> None:
    memory = memory_of(FRESH, sources=[], decision=Decision(verdict="insert"))
    assert (memory.state, memory.valid_from, memory.valid_to, memory.valid_seq) == ("live", NOON, None, 5)
    assert (memory.text, memory.slot, memory.vector) == ("My phone is 1", SLOT, (1.0, 0.0))
    assert (memory.category, memory.metadata) == ("account", {"solved": True})


def test_a_late_one_enters_closed_by_what_is_newer() -> None:
    memory = memory_of(FRESH, sources=[], decision=Decision(verdict="late", other=OTHER))
    assert (memory.state, memory.superseded_by) == ("superseded", OTHER.memory_id)
    assert memory.valid_to == OTHER.valid_from


def test_a_successor_is_live_and_a_duplicate_says_of_what() -> None:
    successor = memory_of(FRESH, sources=[], decision=Decision(verdict="supersede", other=OTHER))
    assert (successor.state, successor.superseded_by, successor.merged_into) == ("live", None, None)
    duplicate = memory_of(FRESH, sources=[], decision=Decision(verdict="duplicate", other=OTHER))
    assert (duplicate.state, duplicate.merged_into) == ("duplicate", OTHER.memory_id)


@pytest.mark.parametrize(
    ("role", "trust"),
    [("user", "user"), ("assistant", "assistant"), ("tool", "tool"), ("system", "operator")],
)
def test_an_episode_refers_to_its_turn_and_has_its_speakers_trust(role: Role, trust: str) -> None:
    episode = episode_of(_turn(role=role), session=SESSION, vector=None)
    assert (episode.kind, episode.text, episode.trust, episode.state) == ("episode", None, trust, "live")
    assert list(episode.sources) == [source_of(_turn(role=role), session=SESSION)]
    assert episode.sources[0].session_epoch == SESSION.epoch


def test_the_episode_of_a_turn_has_one_id_for_ever_and_no_other_turn_has_it() -> None:
    first = episode_of(_turn(), session=SESSION, vector=None)
    again = episode_of(_turn(text="Edited meanwhile"), session=SESSION, vector=None)
    assert first.memory_id == again.memory_id
