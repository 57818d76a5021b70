from __future__ import annotations

import pytest

from api_gateway.recall.query import searched
from tests.fakes.recall_store import CharacterCounter
from tests.unit.recall.material import O200K, dialogue, turn


def test_an_explicit_query_wins_over_the_session() -> None:
    assert searched("warranty", turns=dialogue("Where is my parcel?"), counter=O200K) == "warranty"


@pytest.mark.parametrize("blank", [None, "", "  \n"])
def test_without_a_query_the_newest_user_turn_is_searched_for(blank: str | None) -> None:
    turns = dialogue("My parcel is late.", "Sorry!", "The charger cable broke after two weeks")
    assert searched(blank, turns=turns, counter=O200K) == "The charger cable broke after two weeks"


def test_a_turn_of_few_words_takes_the_user_turn_before_along() -> None:
    turns = dialogue("The charger cable broke after two weeks", "Which color?", "and the blue one?")
    asked = searched(None, turns=turns, counter=O200K)
    assert asked == "The charger cable broke after two weeks and the blue one?"


def test_a_short_chinese_turn_takes_the_one_before_along_and_a_full_one_does_not() -> None:
    assert searched(None, turns=dialogue("耳机左边没有声音了", "好的", "那个呢？"), counter=O200K) == (
        "耳机左边没有声音了 那个呢？"
    )
    asked = searched(None, turns=dialogue("你好", "您好", "我的扫地机器人回不了充电座"), counter=O200K)
    assert asked == "我的扫地机器人回不了充电座"


def test_nothing_said_is_nothing_searched() -> None:
    assert searched(None, turns=[turn(1, "assistant", "Welcome!")], counter=O200K) == ""


def test_what_no_model_can_read_is_replaced_and_length_is_bounded() -> None:
    assert searched("a\x00b\ud800", turns=(), counter=O200K) == "a\ufffdb\ufffd"
    assert len(searched("word " * 5_000, turns=(), counter=CharacterCounter())) == 480
