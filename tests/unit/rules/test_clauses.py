"""What a clause denies, supposes, asks or tells of others says nothing about the clause beside it."""

from __future__ import annotations

import pytest

from tests.unit.rules.material import chinese, english, kinds, slots, talk, user
from workers.rules.segments import clause_spans
from workers.rules.spans import has_han


def filled(text: str) -> list[tuple[str, str, str]]:
    return slots((chinese if has_han(text) else english)(user(text)))


ADDRESS, PHONE = ("user", "address", "9 Elm Road, Leeds"), ("user", "phone", "+14155552672")
HAN_ADDRESS, HAN_PHONE = ("user", "address", "中山路8号"), ("user", "phone", "+8613900139000")


@pytest.mark.parametrize(
    ("text", "slot"),
    [
        ("Do not use Oak Street any more, my new address is 9 Elm Road, Leeds.", ADDRESS),
        ("Please don't ship to the old place, I moved: my address is 9 Elm Road, Leeds.", ADDRESS),
        ("Never mind the form, I live at 9 Elm Road, Leeds.", ADDRESS),
        ("Do not ring (415) 555-2671, use (415) 555-2672.", PHONE),
        ("Not the landline, my mobile number is (415) 555-2672.", PHONE),
        ("My brother is away, my phone number is (415) 555-2672.", PHONE),
        ("My phone number is (415) 555-2672, can you note it?", PHONE),
        ("不要寄到公司，我的新地址是中山路8号", HAN_ADDRESS),
        ("别打13800138000，打13900139000", HAN_PHONE),
        ("我朋友不在，我的电话是13900139000", HAN_PHONE),
        ("我的电话是13900139000，能帮我登记一下吗？", HAN_PHONE),
    ],
)
def test_clause_beside_a_rejected_one_fills_its_slot(text: str, slot: tuple[str, str, str]) -> None:
    assert filled(text) == [slot]


@pytest.mark.parametrize(
    "text",
    [
        "If we relocated, my address would be 9 Elm Road.",
        "If I switch carriers my number is (415) 555-2671.",
        "Suppose my phone is (415) 555-2671, and my address is 9 Elm Road.",
        "My phone would be (415) 555-2671 then.",
        "My husband uses it, the phone number is (415) 555-2671.",
        "My phone number is (415) 555-2671, is that right?",
        "假如我搬家，地址就是中山路8号",
        "要是换号的话，我的电话是13900139000",
        "以后我的电话可能会是13900139000",
        "我同事用的，电话是13900139000",
        "我的电话是13900139000，对吗？",
    ],
)
def test_what_is_supposed_asked_or_somebody_elses_fills_no_slot(text: str) -> None:
    assert filled(text) == []


@pytest.mark.parametrize(
    ("text", "slot"),
    [
        ("If you need me, my phone is (415) 555-2672.", PHONE),
        ("If I moved it would be Leeds, but for now I live at 9 Elm Road, Leeds.", ADDRESS),
        ("如果有问题，请打我的电话13900139000", HAN_PHONE),
        ("如果搬家再说，不过现在住在中山路8号", HAN_ADDRESS),
    ],
)
def test_courtesy_and_what_holds_for_now_are_no_supposition(text: str, slot: tuple[str, str, str]) -> None:
    assert filled(text) == [slot]


@pytest.mark.parametrize(
    "text",
    ["If I moved my sister is near.", "If I bought the XPS 15 9520 it is slow.", "如果我住在杭州就好了"],
)
def test_supposition_is_neither_fact_nor_event(text: str) -> None:
    assert not {"fact", "event"} & set(kinds((chinese if has_han(text) else english)(user(text))))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "The order is A-778213, my mobile number is (415) 555-2672 and my address is 9 Elm Road, Leeds.",
            [(PHONE, "my mobile number is (415) 555-2672"), (ADDRESS, "my address is 9 Elm Road, Leeds")],
        ),
        (
            "订单编号MI20261101，我的手机号是13900139000，收货地址是中山路8号。",
            [(HAN_PHONE, "我的手机号是13900139000"), (HAN_ADDRESS, "收货地址是中山路8号")],
        ),
        (
            "请记住，我的电话是13900139000，地址是中山路8号",
            [(HAN_PHONE, "我的电话是13900139000"), (HAN_ADDRESS, "地址是中山路8号")],
        ),
    ],
)
def test_each_slot_beside_an_order_is_the_users_in_its_own_words(
    text: str, expected: list[tuple[tuple[str, str, str], str]]
) -> None:
    found = (chinese if has_han(text) else english)(user(text))
    assert [(slots([one])[0], one.text) for one in found if one.slot] == expected


@pytest.mark.parametrize(
    ("text", "slot"),
    [
        ("Please deliver order A-778213 to 9 Elm Road, Leeds.", ("A-778213", "address", "9 Elm Road, Leeds")),
        ("The address of order A-778213 is 9 Elm Road.", ("A-778213", "address", "9 Elm Road")),
        ("My address for order A-778213 is 9 Elm Road.", ("A-778213", "address", "9 Elm Road")),
        ("请把订单MI20261101寄到中山路8号", ("MI20261101", "address", "中山路8号")),
        ("订单MI20261101的收货地址改成中山路8号", ("MI20261101", "address", "中山路8号")),
        ("Please send it to 9 Elm Road, Leeds.", ADDRESS),
        ("麻烦寄到中山路8号", HAN_ADDRESS),
    ],
)
def test_address_is_an_orders_only_where_it_is_said_to_be(text: str, slot: tuple[str, str, str]) -> None:
    assert filled(text) == [slot]


@pytest.mark.parametrize(
    "text", ["You sent it to 9 Elm Road.", "不要寄到中山路8号", "已经寄到中山路8号了", "请寄到公司"]
)
def test_where_a_parcel_went_or_must_not_go_is_no_address(text: str) -> None:
    assert filled(text) == []


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("We moved to 9 Elm Road, Leeds two weeks ago.", "9 Elm Road, Leeds"),
        ("I moved from 14 Oak Street to 9 Elm Road, Leeds in May.", "9 Elm Road, Leeds"),
        ("I live at 9 Elm Road, Leeds since 2019.", "9 Elm Road, Leeds"),
        ("My address is 9 Elm Road, Leeds, thanks.", "9 Elm Road, Leeds"),
        ("I live at 9 May Street, Leeds.", "9 May Street, Leeds"),
        ("上周搬家了，目前住在中山路8号", "中山路8号"),
        ("我搬到了中山路8号附近", "中山路8号"),
        ("地址改成中山路8号，谢谢", "中山路8号"),
        ("我住在中山路8号上个月搬的", "中山路8号"),
    ],
)
def test_address_ends_where_it_ends(text: str, value: str) -> None:
    assert [slot[1:] for slot in filled(text)] == [("address", value)]


@pytest.mark.parametrize(
    ("lines", "text"),
    [
        (["That was wrong, use (415) 555-2672 please."], "User's phone: (415) 555-2672"),
        (["My address is 12 Oak Street.", "Sorry, it's 9 Elm Road since May."], "User's address: 9 Elm Road"),
        (["说错了，应该打13900139000"], "用户的电话：13900139000"),
    ],
)
def test_bare_correction_reads_as_its_value(lines: list[str], text: str) -> None:
    assert (chinese if has_han(lines[0]) else english)(user(*lines))[-1].text == text


def test_correction_of_something_else_does_not_fill_the_last_slot() -> None:
    assert len(slots(english(user("My address is 12 Oak Street.", "Sorry, I have 2 printers.")))) == 1
    assert len(slots(chinese(user("我的地址是中山路8号", "不对，一共有2台打印机")))) == 1


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Hello, this is Anna Novak.", "Anna Novak"),
        ("This is Anna Novak from Leeds.", "Anna Novak"),
        ("你好，我是李雷", "李雷"),
    ],
)
def test_introduction_gives_the_name(text: str, name: str) -> None:
    assert filled(text) == [("user", "name", name)]


@pytest.mark.parametrize("text", ["This is great.", "This is Galaxy S24.", "我是程序员", "我是黄金会员吗"])
def test_what_only_looks_like_an_introduction_gives_none(text: str) -> None:
    assert filled(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "Please message me via email.",
        "Please answer to me by text instead of calling.",
        "Email rather than phoning, please.",
        "发短信联系就行",
    ],
)
def test_way_to_be_reached_is_a_preference(text: str) -> None:
    assert kinds((chinese if has_han(text) else english)(user(text))) == ["preference"]


def test_comma_inside_an_address_ends_no_clause() -> None:
    text = "My address is 9 Elm Road, Leeds LS1, and my email is a@example.com"
    assert [text[span.start : span.end] for span in clause_spans(text)] == [
        "My address is 9 Elm Road, Leeds LS1",
        "and my email is a@example.com",
    ]


def test_order_of_the_users_address_is_followed_by_a_later_one() -> None:
    found = english(
        talk(
            ("user", "My order number is A-778213 and my address is 14 Oak Street."),
            ("user", "I moved to 9 Elm Road."),
        )
    )
    assert [slot[:2] for slot in slots(found)] == [("user", "address")] * 2
