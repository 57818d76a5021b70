from __future__ import annotations

import pytest

from tests.unit.rules.material import chinese, english, slots, talk, user
from workers.rules.spans import has_han

ENGLISH = [
    ("My phone number is (415) 555-2671.", ("user", "phone", "+14155552671")),
    ("You can reach me at jane@example.com, my email.", ("user", "email", "jane@example.com")),
    ("My shipping address is 12 Oak Street, Springfield.", ("user", "address", "12 Oak Street, Springfield")),
    ("I live in Berlin now.", ("user", "residence", "Berlin")),
    ("My name is Jane Doe.", ("user", "name", "Jane Doe")),
    ("I work at Acme Corp.", ("user", "company", "Acme Corp")),
    ("I'm on the Premium plan.", ("user", "plan", "Premium")),
    ("Please reply in Spanish.", ("user", "language", "es")),
    ("My phone is a Galaxy S21.", ("phone", "device_model", "GALAXY S21")),
    ("I use an XPS 15 9520.", ("laptop", "device_model", "XPS 15 9520")),
    ("My appointment is on March 20th.", ("appointment", "date", "2026-03-20")),
]
CHINESE = [
    ("我的手机号是13812345678", ("user", "phone", "+8613812345678")),
    ("邮箱是zhang@example.com", ("user", "email", "zhang@example.com")),
    ("收货地址是世纪大道100号", ("user", "address", "世纪大道100号")),
    ("我住在杭州", ("user", "residence", "杭州")),
    ("我叫张伟", ("user", "name", "张伟")),
    ("我在海尔集团上班", ("user", "company", "海尔集团")),
    ("我是黄金会员", ("user", "plan", "黄金会员")),
    ("请用中文回复", ("user", "language", "zh")),
    ("我的手机是小米14 Pro", ("phone", "device_model", "XIAOMI 14 PRO")),
    ("我用的电脑是XPS 15 9520", ("laptop", "device_model", "XPS 15 9520")),
    ("上门时间约在3月20号", ("appointment", "date", "2026-03-20")),
]


@pytest.mark.parametrize(("text", "slot"), ENGLISH)
def test_english_statement_fills_its_slot(text: str, slot: tuple[str, str, str]) -> None:
    assert slots(english(user(text))) == [slot]


@pytest.mark.parametrize(("text", "slot"), CHINESE)
def test_chinese_statement_fills_its_slot(text: str, slot: tuple[str, str, str]) -> None:
    assert slots(chinese(user(text))) == [slot]


CORRECTIONS = [
    ("My phone number is (415) 555-2671.", "Actually it's (415) 555-2672."),
    ("My phone number is (415) 555-2671.", "I have a new number: (415) 555-2672."),
    ("My address is 12 Oak Street.", "I moved to 14 Elm Road, please note it."),
    ("My address is 12 Oak Street.", "Sorry, it's 14 Oak Street."),
    ("My address is 12 Oak Street.", "My address isn't 12 Oak Street, it's 14 Oak Street."),
    ("My phone is a Galaxy S21.", "I replaced the Galaxy S21 with a Galaxy S24."),
    ("My phone is a Galaxy S21.", "It's actually the Galaxy S22, not the Galaxy S21."),
    ("I'm on the Basic plan.", "I upgraded to the Premium plan."),
    ("我的手机号是13812345678", "手机号改成13912345678"),
    ("我的手机号是13812345678", "号码说错了，应该是13912345678"),
    ("我的地址是世纪大道100号", "我搬家了，新地址是中山路8号"),
    ("我的地址是世纪大道100号", "地址不是世纪大道100号，是中山路8号"),
    ("我的手机是小米14 Pro", "不是小米14 Pro，是小米14 Ultra"),
    ("我的手机是小米14 Pro", "我换成了华为 Mate 60"),
    ("我的套餐是畅享版", "套餐改成尊享版"),
]


@pytest.mark.parametrize(("first", "then"), CORRECTIONS)
def test_correction_lands_in_the_slot_of_what_it_corrects(first: str, then: str) -> None:
    before, after = slots(english(user(first, then)))
    assert before[:2] == after[:2]
    assert before[2] != after[2]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Change my address from 12 Oak Street to 14 Elm Road.", "14 Elm Road"),
        ("My phone is not the Galaxy S21 but the Galaxy S24.", "GALAXY S24"),
        ("My phone is a Galaxy S24 instead of the Galaxy S21.", "GALAXY S24"),
        ("手机从小米14换成了小米15", "XIAOMI 15"),
    ],
)
def test_of_two_values_the_one_that_holds_now_is_taken(text: str, value: str) -> None:
    assert [slot[2] for slot in slots(english(user(text)))] == [value]


@pytest.mark.parametrize(
    "text",
    [
        "My phone number is not (415) 555-2671.",
        "I no longer use (415) 555-2671.",
        "My wife's number is (415) 555-2671.",
        "Is my phone number (415) 555-2671?",
        "I have an iPhone 15 and a Galaxy S21.",
        "I also use a Galaxy S21.",
        "I use a Galaxy S21 as a second phone.",
        "I want the delivery on March 20th.",
        "I don't have an iPhone 15.",
        "Your hotline (415) 555-2671 was busy.",
        "Please call me back.",
        "我老婆的电话是13812345678",
        "我的手机号不是13812345678",
        "地址可以改成中山路8号吗",
        "我叫了快递",
        "请帮我叫一辆出租车",
    ],
)
def test_denied_asked_foreign_or_several_values_fill_no_slot(text: str) -> None:
    assert slots(english(user(text))) == []


ANSWERS = [
    ("Could you tell me your phone number?", "(415) 555-2671", ("user", "phone", "+14155552671"), "phone"),
    (
        "What is your shipping address?",
        "Sure, 12 Oak Street",
        ("user", "address", "12 Oak Street"),
        "address",
    ),
    ("May I have your name?", "Jane Doe", ("user", "name", "Jane Doe"), "name"),
    ("Which model do you have?", "Galaxy S21", ("phone", "device_model", "GALAXY S21"), "device"),
    ("麻烦留一下手机号", "13812345678", ("user", "phone", "+8613812345678"), "电话"),
    ("请提供收货地址", "世纪大道100号", ("user", "address", "世纪大道100号"), "地址"),
    ("请问怎么称呼您？", "张伟", ("user", "name", "张伟"), "姓名"),
]


@pytest.mark.parametrize(("question", "answer", "slot", "text"), ANSWERS)
def test_bare_answer_fills_the_slot_that_was_asked_for_and_says_so(
    question: str, answer: str, slot: tuple[str, str, str], text: str
) -> None:
    read = chinese if has_han(question) else english
    [found] = [one for one in read(talk(("assistant", question), ("user", answer))) if one.slot]
    assert slots([found]) == [slot]
    assert text in found.text
    assert found.sequences == (2,)


@pytest.mark.parametrize("answer", ["没有了谢谢", "没人代收", "不用了", "Why do you ask?"])
def test_what_answers_no_question_for_a_name_is_no_name(answer: str) -> None:
    assert slots(chinese(talk(("assistant", "请问您的姓名是？"), ("user", answer)))) == []


def test_address_ends_where_the_next_field_begins() -> None:
    found = slots(chinese(user("收货地址：上海市世纪大道100号 电话：13812345678 收件人：张伟")))
    assert ("user", "address", "上海市世纪大道100号") in found


def test_status_of_an_order_is_the_agents_word() -> None:
    found = english(talk(("assistant", "Your order 370795561790 has been shipped."), ("user", "ok")))
    assert slots(found) == [("370795561790", "status", "shipped")]
    assert slots(chinese(talk(("assistant", "订单370795561790已经签收了")))) == [
        ("370795561790", "status", "delivered")
    ]


def test_status_without_a_number_belongs_to_the_only_order_spoken_of() -> None:
    turns = talk(("user", "Where is order 370795561790?"), ("assistant", "It has been delivered."))
    assert slots(english(turns)) == [("370795561790", "status", "delivered")]
    two = talk(
        ("user", "Where are order 370795561790 and order 370795561791?"),
        ("assistant", "It has been delivered."),
    )
    assert slots(english(two)) == []


def test_order_that_has_not_shipped_has_no_such_status() -> None:
    assert slots(english(talk(("assistant", "Order 370795561790 has not been shipped.")))) == []


def test_what_the_agent_only_asks_to_confirm_is_not_settled() -> None:
    ask, settle = (
        "Please confirm the appointment on March 20th.",
        "Your appointment is booked for March 20th.",
    )
    assert slots(english(talk(("assistant", ask)))) == []
    assert slots(english(talk(("assistant", settle)))) == [("appointment", "date", "2026-03-20")]


def test_address_of_an_order_is_not_the_customers() -> None:
    found = english(user("The shipping address is 14 Elm Road for order 370795561790."))
    assert [slot[:2] for slot in slots(found)] == [("370795561790", "address")]


def test_slot_statement_is_the_clause_that_fills_it() -> None:
    found = english(user("My phone is a Galaxy S21 and it shows error E-1042."))
    assert [(one.kind, one.text) for one in found] == [
        ("fact", "My phone is a Galaxy S21"),
        ("issue", "My phone is a Galaxy S21 and it shows error E-1042."),
    ]
