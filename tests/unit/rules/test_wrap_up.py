from __future__ import annotations

from tests.unit.rules.material import CHINESE, ENGLISH, call, talk, turn
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


def test_result_of_a_tool_is_an_outcome() -> None:
    turns = [
        turn("user", "I want to return order 370795561790."),
        turn("assistant", "", sequence=2, calls=[call("c1", "refund", '{"order": "370795561790"}')]),
        turn("tool", '{"status": "refunded"}', sequence=3, answers="c1"),
    ]
    assert "Outcome: Status of order 370795561790: refunded." in wrap_up(turns, language="en", finder=ENGLISH)


def test_session_without_a_case_says_the_most_telling_thing() -> None:
    turns = talk(("user", "Do you have the WH-1000XM5 in blue?"), ("assistant", "Hello!"))
    assert wrap_up(turns, language="en", finder=ENGLISH) == "Said: Do you have the WH-1000XM5 in blue?"


def test_silent_session_has_no_wrap_up() -> None:
    assert wrap_up([], language="en", finder=ENGLISH) == ""
