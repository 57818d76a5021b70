from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.domain.turn import Turn
from shared.inference.tokens import counter_for
from tests.unit.rules.material import CHINESE, ENGLISH, call, talk, turn, user
from workers.rules.entities import EntityFinder
from workers.rules.gist import fits
from workers.rules.sentences import sentences
from workers.rules.summary import Condensing, condense

O200K = counter_for(None)


def condensing(*, share_removed: float = 0.85, finder: EntityFinder = ENGLISH) -> Condensing:
    return Condensing(session_id="s-1", share_removed=share_removed, counter=O200K, finder=finder)


PROBLEM = (
    "Hello there, hope you are fine. My Galaxy S24 shows error E-1042 when charging with the original cable,"
    " and I bought it on March 5th for $899 in your store in Springfield, so it cannot be the cable."
)


def test_messages_stay_as_they_stood() -> None:
    entry = condense(talk(("user", PROBLEM), ("assistant", "Let me look.")), by=condensing())
    assert [(one.role, one.text) for one in entry.messages] == [
        ("user", PROBLEM),
        ("assistant", "Let me look."),
    ]
    assert (entry.first, entry.last) == (1, 2)


def test_summary_is_the_stretch_that_says_the_most() -> None:
    assert condense(user(PROBLEM), by=condensing()).summary == (
        "My Galaxy S24 shows error E-1042 when charging with the original cable…"
    )
    chinese = user("您好，我的手机是小米14 Pro，昨天刚买的，今天开机就报错E05，怎么也开不了机")
    assert "报错E05" in condense(chinese, by=condensing(finder=CHINESE)).summary


def test_long_code_is_left_out_of_a_chinese_summary_rather_than_cut() -> None:
    summary = condense(
        user("请看ERR_CONNECTION_RESET_BY_PEER这个报错怎么处理"), by=condensing(finder=CHINESE)
    ).summary
    assert fits(summary)
    assert "ERR" not in summary


def test_result_stands_with_its_own_call_and_session() -> None:
    turns = [
        turn("user", "Where is my parcel and what did it cost?"),
        turn(
            "assistant",
            "",
            sequence=2,
            calls=[call("c1", "track", '{"id": 7}'), call("c2", "price", '{"id": 7}')],
        ),
        turn("tool", "899 USD", sequence=3, answers="c2"),
        turn("tool", "of an older round", sequence=4, answers="c0"),
    ]
    entry = condense(turns, by=condensing(share_removed=0.7))
    assert [(one.session_id, one.id, one.name, one.result) for one in entry.calls] == [
        ("s-1", "c1", "track", ""),
        ("s-1", "c2", "price", "899 USD"),
        ("s-1", "c0", "", "of an older round"),
    ]
    assert [(one.role, [call.id for call in one.calls]) for one in entry.messages] == [
        ("user", []),
        ("assistant", ["c1", "c2"]),
        ("tool", ["c0"]),
    ]
    assert entry.messages[1].calls[0].arguments == '{"id": 7}'


def test_id_used_twice_takes_its_results_in_order() -> None:
    turns = [
        turn("user", "Compare two stores"),
        turn("assistant", "", sequence=2, calls=[call("c", "stock", '{"s": 1}')]),
        turn("tool", "first", sequence=3, answers="c"),
        turn("assistant", "", sequence=4, calls=[call("c", "stock", '{"s": 2}')]),
        turn("tool", "second", sequence=5, answers="c"),
    ]
    assert [one.result for one in condense(turns, by=condensing()).calls] == ["first", "second"]


def test_technical_keeps_codes_devices_and_versions_that_general_drops() -> None:
    text = (
        "The XPS 15 9520 with v2.3.1 is here, as I said in a long call to one of your colleagues at noon,"
        " and then order 370795561790 came too late; the error is E-1042, then E-1043, on a Galaxy S24."
    )
    kept = {one.kind for one in condense(user(text), by=condensing(share_removed=0.7)).entities}
    lean = condense(user(text), by=condensing(share_removed=0.9)).entities
    assert {"version", "device"} <= kept
    assert len(lean) < len(kept)


def test_entities_of_the_summary_are_not_said_again() -> None:
    entry = condense(user(PROBLEM), by=condensing(share_removed=0.5))
    assert entry.entities
    assert not [one.text for one in entry.entities if one.text in entry.summary]


def test_long_result_is_cut_to_what_the_round_may_cost() -> None:
    result = '{"note": "' + "all is well " * 300 + '"}'
    turns = [
        turn("user", "How is it?"),
        turn("assistant", "", sequence=2, calls=[call("c1", "look")]),
        turn("tool", result, sequence=3, answers="c1"),
    ]
    entry = condense(turns, by=condensing())
    spent = sum(O200K.count(one.result) for one in entry.calls)
    assert spent <= sum(one.tokens for one in turns) * 0.15
    assert entry.messages[1].calls[0].result == result


def test_injected_context_is_not_condensed_again() -> None:
    entry = condense(user("<memory>My order is 370795561790.</memory>It is still broken."), by=condensing())
    assert entry.messages[0].text == "It is still broken."
    assert entry.entities == ()


@pytest.mark.parametrize("text", ["", "   ", "ok", "谢谢"])
def test_round_without_content_has_a_short_or_empty_summary(text: str) -> None:
    assert condense(user(text), by=condensing()).summary == text.strip()


@given(
    st.lists(
        st.text(alphabet=st.one_of(st.sampled_from("我的手机报错E05-1042。，,. abcDEF\n"), st.characters())),
        min_size=1,
        max_size=4,
    )
)
def test_summary_of_any_round_keeps_the_limits(texts: list[str]) -> None:
    summary = condense(user(*texts), by=condensing()).summary
    if any("\u3400" <= character <= "\u9fff" for character in summary):
        assert len(summary) <= 20
    else:
        assert len(summary.split()) <= 12


GREETED = talk(
    ("assistant", "Welcome to our store, I am glad to help you with everything today!"),
    (
        "user",
        "The camera stops with E-17. My order number is A-778213 and my mobile number is (415) 555-2671.",
    ),
    ("assistant", "Could you please provide the date of purchase and the shipping address?"),
)
GREETED_IN_CHINESE = talk(
    ("assistant", "您好，很高兴为您服务，请问有什么可以帮您？"),
    ("user", "路由器一直断线，报错E05。订单号是MI20261101，电话是13800138000"),
    ("assistant", "请您提供一下购买日期和收货地址"),
)


def spent(turns: Sequence[Turn]) -> list[Turn]:
    return [replace(one, tokens=O200K.count(one.text)) for one in turns]


def test_problem_is_told_before_greetings_and_questions_for_data() -> None:
    assert "E-17" in condense(GREETED, by=condensing()).summary
    assert "E05" in condense(GREETED_IN_CHINESE, by=condensing(finder=CHINESE)).summary


def test_promise_is_told_before_a_question_for_data() -> None:
    turns = talk(
        ("user", "Hi there."),
        ("assistant", "We will refund $20 tomorrow."),
        ("assistant", "Please provide your full account number, the invoice and the city of purchase."),
    )
    assert condense(turns, by=condensing()).summary == "We will refund $20 tomorrow"


@pytest.mark.parametrize(
    ("turns", "finder"), [(GREETED, ENGLISH), (GREETED_IN_CHINESE, CHINESE)], ids=["en", "zh"]
)
def test_numbers_of_a_short_round_survive(turns: Sequence[Turn], finder: EntityFinder) -> None:
    entry = condense(spent(turns), by=condensing(finder=finder))
    kept = " ".join([entry.summary, *(one.text for one in entry.entities)])
    numbers = [
        one.text
        for turn in turns
        for one in finder.entities(turn.text, base=turn.created_at)
        if one.kind in {"order", "phone", "error_code"}
    ]
    assert len(numbers) == 3
    assert not [number for number in numbers if number not in kept]


@pytest.mark.parametrize(
    ("first", "then", "new", "old"),
    [
        ("My address is 14 Oak Street.", "I moved, I live at 9 Elm Road now.", "9 Elm Road", "14 Oak Street"),
        ("My phone is (415) 555-2671.", "Sorry, use (415) 555-2672 instead.", "555-2672", "555-2671"),
        ("我的地址是世纪大道100号", "我搬家了，现在住在中山路8号", "中山路8号", "世纪大道100号"),
        ("我的电话是13800138000", "号码换了，改成13900139000", "13900139000", "13800138000"),
    ],
)
def test_newest_value_of_the_round_is_kept_and_the_old_one_is_not(
    first: str, then: str, new: str, old: str
) -> None:
    entry = condense(spent(user(first, then)), by=condensing(finder=CHINESE if "的" in first else ENGLISH))
    kept = " ".join([entry.summary, *(one.text for one in entry.entities)])
    assert new in kept
    assert old not in kept


def test_name_and_address_that_the_summary_leaves_out_are_entities() -> None:
    turns = spent(
        user("My name is Jane Doe, my address is 9 Elm Road, Leeds. The lamp broke and fails with E-17.")
    )
    entry = condense(turns, by=condensing())
    assert "E-17" in entry.summary
    assert {("person", "Jane Doe"), ("place", "9 Elm Road, Leeds")} <= {
        (one.kind, one.text) for one in entry.entities
    }


def test_whole_sentence_has_no_mark_and_a_cut_one_has() -> None:
    assert condense(user("The lamp is broken."), by=condensing()).summary == "The lamp is broken."
    cut = condense(
        user("打印机一直报错E05，客服说要等三天，可是我今天就要用，非常着急"), by=condensing(finder=CHINESE)
    )
    assert cut.summary.endswith("…")
    assert fits(cut.summary)


# Without clauses inside a sentence: a summary may begin at a clause's edge without a mark.
@given(st.text(alphabet=st.sampled_from("我的电话坏了报错E05。 abc1"), min_size=1, max_size=120))
def test_summary_that_leaves_words_of_a_plain_sentence_out_is_marked(text: str) -> None:
    summary = condense(user(text), by=condensing(finder=CHINESE)).summary
    whole = {re.sub(r"\W", "", one) for one in sentences(text)}
    assert "…" in summary or not summary or re.sub(r"\W", "", summary) in whole
