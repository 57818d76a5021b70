"""New, a repetition, or a successor: by slots, numbers, negation and entities, never by likeness alone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.domain.ids import MemoryId
from shared.domain.memory import Entity, Slot, Statement
from workers.steps.deciding import Known, decide, folded, restates

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
SAME_TEXT = 0.8
ORDER = Entity(kind="order", value="A-1", text="A-1")


def _slot(value: str, *, attribute: str = "phone", subject: str = "user") -> Slot:
    return Slot(subject=subject, attribute=attribute, value=value)


def _new(
    said: str, *, slot: Slot | None = None, at: datetime = NOON, entities: tuple[Entity, ...] = ()
) -> Statement:
    return Statement(
        kind="fact",
        category="general",
        text=said,
        language="en",
        trust="user",
        importance=0.5,
        sequences=(1,),
        valid_from=at,
        slot=slot,
        entities=entities,
    )


def _known(
    said: str,
    *,
    number: int = 1,
    slot: Slot | None = None,
    at: datetime = NOON,
    order: int = 1,
    similarity: float | None = 1.0,
    entities: tuple[Entity, ...] = (),
) -> Known:
    return Known(
        memory_id=MemoryId(UUID(int=number)),
        text=said,
        slot=slot,
        entities=entities,
        valid_from=at,
        valid_seq=order,
        similarity=similarity,
    )


@pytest.mark.parametrize(
    ("new", "known"),
    [
        ("Delivery takes 3 days", "Delivery takes 5 days"),
        ("订单需要3天送达", "订单需要5天送达"),
        ("The charger works with the headset", "The charger does not work with the headset"),
        ("这个型号支持快充", "这个型号不支持快充"),
        ("Meet at 10:30 by the door", "Meet at 11:30 by the door"),
        ("The price was 1.99 per month", "The price was 19.9 per month"),
        ("I can return the lamp", "I can't return the lamp"),
    ],
)
def test_other_numbers_or_a_negation_make_another_statement_however_similar(new: str, known: str) -> None:
    assert not restates(_new(new), other=_known(known), same_text=SAME_TEXT)
    assert not restates(_new(known), other=_known(new), same_text=SAME_TEXT)


@pytest.mark.parametrize(
    ("new", "known"),
    [
        ("The headset shows an error", "the  headset shows\tAN ERROR"),
        ("型号是ＷＨ－1000", "型号是WH-1000"),
        ("The customer prefers a late callback", "The customer prefers a very late callback"),
    ],
)
def test_the_same_in_other_width_case_space_or_with_a_word_more_is_a_repetition(new: str, known: str) -> None:
    assert restates(_new(new), other=_known(known), same_text=SAME_TEXT)


def test_the_same_words_need_no_measured_likeness_and_other_words_do() -> None:
    assert restates(_new("One thing"), other=_known("one thing", similarity=None), same_text=SAME_TEXT)
    assert not restates(
        _new("One thing"), other=_known("One thing more", similarity=None), same_text=SAME_TEXT
    )


def test_likeness_below_the_embedders_mark_is_no_repetition() -> None:
    known = _known("The customer prefers a very late callback", similarity=SAME_TEXT - 0.01)
    assert not restates(_new("The customer prefers a late callback"), other=known, same_text=SAME_TEXT)


def test_another_entity_makes_another_statement() -> None:
    known = _known("The order is late", entities=(ORDER,))
    assert not restates(_new("The order is late again"), other=known, same_text=SAME_TEXT)
    assert restates(_new("The order is late again", entities=(ORDER,)), other=known, same_text=SAME_TEXT)


def test_likeness_alone_with_few_words_shared_is_no_repetition() -> None:
    known = _known("The lamp is broken", similarity=0.99)
    assert not restates(_new("My garden needs water"), other=known, same_text=SAME_TEXT)


def test_a_statement_with_a_slot_and_one_without_never_repeat_each_other() -> None:
    assert not restates(_new("same", slot=_slot("1")), other=_known("same"), same_text=SAME_TEXT)
    assert not restates(_new("same"), other=_known("same", slot=_slot("1")), same_text=SAME_TEXT)


def test_nothing_known_is_an_insert() -> None:
    assert decide(_new("a"), order=1, known=[], same_text=SAME_TEXT).verdict == "insert"


def test_the_same_value_in_a_slot_is_a_duplicate_whenever_it_was_said() -> None:
    known = _known("My phone is 1", slot=_slot("１"), at=NOON + timedelta(days=1))
    decision = decide(_new("phone: 1", slot=_slot("1")), order=1, known=[known], same_text=SAME_TEXT)
    assert (decision.verdict, decision.other) == ("duplicate", known)


@pytest.mark.parametrize(
    ("at", "order", "verdict"),
    [
        (NOON + timedelta(seconds=1), 1, "supersede"),
        (NOON - timedelta(seconds=1), 9, "late"),
        (NOON, 6, "supersede"),
        (NOON, 5, "supersede"),
        (NOON, 4, "late"),
    ],
)
def test_in_a_slot_the_later_time_wins_and_on_ties_the_later_turn(
    at: datetime, order: int, verdict: str
) -> None:
    known = _known("My phone is 1", slot=_slot("1"), order=5)
    decision = decide(
        _new("My phone is 2", slot=_slot("2"), at=at), order=order, known=[known], same_text=1.0
    )
    assert decision.verdict == verdict


def test_slots_of_other_subjects_or_attributes_do_not_meet() -> None:
    known = [
        _known("a", slot=_slot("1", attribute="email")),
        _known("b", slot=_slot("1", subject="order:A-1")),
    ]
    assert decide(_new("c", slot=_slot("2")), order=1, known=known, same_text=SAME_TEXT).verdict == "insert"


@given(st.permutations(range(1, 6)))
def test_the_order_of_the_candidates_makes_no_difference(numbers: list[int]) -> None:
    known = [_known("the very same", number=number) for number in numbers]
    decision = decide(_new("the very same"), order=1, known=known, same_text=SAME_TEXT)
    assert decision.other is not None
    assert decision.other.memory_id.int == 1


@given(st.text())
def test_folding_twice_is_folding_once_and_knows_no_case(said: str) -> None:
    assert folded(folded(said)) == folded(said)
    assert folded(f"  {said} ") == folded(said)
