from __future__ import annotations

import pytest

from tests.unit.rules.material import CHINESE, ENGLISH, call, talk, turn
from workers.rules.spans import has_han
from workers.rules.wrap_up import wrap_up

ENGLISH_TALK = talk(
    ("user", "Hello! My Galaxy S24 shows error E-1042."),
    ("assistant", "Did you restart it?"),
    ("user", "I already restarted it. I also tried another cable."),
    ("assistant", "We will send a replacement within 3 days."),
    ("user", "Thanks, it works now!"),
)


def test_english_session_says_problem_attempts_outcome_and_promise() -> None:
    assert wrap_up(ENGLISH_TALK, language="en", finder=ENGLISH) == (
        "Problem: My Galaxy S24 shows error E-1042."
        " Tried: I already restarted it; I also tried another cable."
        " Outcome: Thanks, it works now."
        " Promised: We will send a replacement within 3 days."
    )


def test_chinese_session_says_the_same_in_chinese() -> None:
    turns = talk(
        ("user", "你好，打印机一直报错E05"),
        ("user", "已经重启过了，没用"),
        ("assistant", "我们会在3天内给您换新"),
    )
    assert wrap_up(turns, language="zh", finder=CHINESE) == (
        "问题：你好，打印机一直报错E05。已尝试：已经重启过了，没用。承诺：我们会在3天内给您换新。"
    )


def test_state_of_an_order_is_told_as_the_orders() -> None:
    turns = [
        turn("user", "I want to return order 370795561790."),
        turn("assistant", "", sequence=2, calls=[call("c1", "refund", '{"order": "370795561790"}')]),
        turn("tool", '{"status": "refunded"}', sequence=3, answers="c1"),
    ]
    told = wrap_up(turns, language="en", finder=ENGLISH)
    assert "Order: Status of order 370795561790: refunded." in told
    assert "Outcome" not in told


def test_session_without_a_case_says_the_most_telling_thing() -> None:
    turns = talk(("user", "Do you have the WH-1000XM5 in blue?"), ("assistant", "Hello!"))
    assert wrap_up(turns, language="en", finder=ENGLISH) == "Said: Do you have the WH-1000XM5 in blue?"


def test_silent_session_has_no_wrap_up() -> None:
    assert wrap_up([], language="en", finder=ENGLISH) == ""


def test_callers_outcome_is_the_outcome() -> None:
    told = wrap_up(ENGLISH_TALK, language="en", finder=ENGLISH, outcome="replaced.")
    assert "Outcome: replaced." in told
    assert "it works now" not in told
    assert wrap_up([], language="zh", finder=CHINESE, outcome="已退款") == "结果：已退款。"


@pytest.mark.parametrize("outcome", [None, "", "  "])
def test_promise_is_told_once_and_is_no_outcome(outcome: str | None) -> None:
    turns = talk(
        ("user", "The lamp of order A-778213 is broken."),
        ("assistant", "We will deliver a new lamp on March 20th."),
    )
    told = wrap_up(turns, language="en", finder=ENGLISH, outcome=outcome)
    assert told == (
        "Problem: The lamp of order A-778213 is broken. Promised: We will deliver a new lamp on March 20th."
    )


def test_refusal_is_an_outcome_and_an_instruction_is_none() -> None:
    turns = talk(
        ("user", "The lamp is broken."),
        ("assistant", "Unfortunately we cannot replace opened items."),
        ("assistant", "To clear E-17, update the firmware to 1.0.5."),
    )
    told = wrap_up(turns, language="en", finder=ENGLISH)
    assert "Outcome: Unfortunately we cannot replace opened items." in told
    assert "firmware" not in told


def test_problem_that_came_back_is_not_solved() -> None:
    turns = talk(("user", "It works now!"), ("user", "The lamp stopped working."))
    assert "Outcome" not in wrap_up(turns, language="en", finder=ENGLISH)


@pytest.mark.parametrize(
    "attempt",
    [
        "更换过电源线，重插了网线",
        "换过三根网线，也擦拭了接口",
        "换了两个充电器",
        "I used another outlet and wiped the contacts.",
        "I've unplugged it, then cleaned the filter.",
    ],
)
def test_attempts_are_told(attempt: str) -> None:
    finder, language = (CHINESE, "zh") if has_han(attempt) else (ENGLISH, "en")
    told = wrap_up(talk(("user", attempt)), language=language, finder=finder)
    assert ("已尝试：" if language == "zh" else "Tried: ") + attempt.rstrip(".") in told


def test_what_was_not_tried_or_only_happened_is_no_attempt() -> None:
    turns = talk(("user", "我还没换电池"), ("user", "它自己关机了"), ("user", "我换了手机"))
    assert "已尝试" not in wrap_up(turns, language="zh", finder=CHINESE)


@pytest.mark.parametrize(
    ("lines", "updated"),
    [
        (("My phone is (415) 555-2671.", "Wrong number, use (415) 555-2672 instead."), "phone +14155552672"),
        (("I moved, I live at 9 Elm Road now.",), "address 9 Elm Road"),
        (("我的电话是13800138000", "我的电话是13900139000"), "电话+8613900139000"),
        (("我搬家了，新地址是中山路8号",), "地址中山路8号"),
    ],
)
def test_changed_contact_details_are_told_as_they_are_now(lines: tuple[str, ...], updated: str) -> None:
    finder, language = (CHINESE, "zh") if has_han(lines[0]) else (ENGLISH, "en")
    told = wrap_up(talk(*(("user", line) for line in lines)), language=language, finder=finder)
    assert told.count(updated) == 1
    assert "(415) 555-2671" not in told
    assert "13800138000" not in told


def test_detail_that_was_only_given_is_no_update() -> None:
    turns = talk(("user", "My phone is (415) 555-2671. The lamp is broken."))
    assert "Updated" not in wrap_up(turns, language="en", finder=ENGLISH)
