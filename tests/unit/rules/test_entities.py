from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.domain.memory import EntityKind
from shared.ports import NamedSpan
from tests.unit.rules.material import NOW
from workers.rules.entities import EntityFinder, find_entities

ENGLISH: list[tuple[str, EntityKind, str]] = [
    ("My order number is 112-3456789-1234567.", "order", "112-3456789-1234567"),
    ("cancel order #4521 please", "order", "4521"),
    ("about purchase 00004587345", "order", "00004587345"),
    ("it is ORD-2024-00123", "order", "ORD-2024-00123"),
    ("tracking number 1Z999AA10123456784", "tracking", "1Z999AA10123456784"),
    ("the waybill no. 61290983413220", "tracking", "61290983413220"),
    ("My Samsung SM-G998B is slow", "device", "SM-G998B"),
    ("the Sony WH-1000XM5 hums", "device", "WH-1000XM5"),
    ("an XPS 15 9520 laptop", "device", "XPS 15 9520"),
    ("an iphone15 pro here", "device", "IPHONE 15 PRO"),
    ("Galaxy S21 Ultra", "device", "GALAXY S21 ULTRA"),
    ("model number KDL-55W800C", "device", "KDL-55W800C"),
    ("since v2.3.1", "version", "2.3.1"),
    ("firmware version 1.0.4", "version", "1.0.4"),
    ("runs iOS 17.2.1", "version", "ios 17.2.1"),
    ("it says E-1042", "error_code", "E-1042"),
    ("got ERR_CONNECTION_RESET", "error_code", "ERR_CONNECTION_RESET"),
    ("stops with 0x80070005", "error_code", "0x80070005"),
    ("error code 404 again", "error_code", "404"),
    ("it raises ValueError", "error_code", "ValueError"),
    ("it cost $1,299.00", "money", "USD 1299.00"),
    ("it cost 12.5 dollars", "money", "USD 12.50"),
    ("900 EUR", "money", "EUR 900.00"),
    ("bought on March 5th", "date", "2026-03-05"),
    ("5 March 2025", "date", "2025-03-05"),
    ("bought yesterday", "date", "2026-03-10"),
    ("bought it on Friday", "date", "2026-03-06"),
    ("it will come on Friday", "date", "2026-03-13"),
    ("on March 20th", "date", "2026-03-20"),
    ("on December 28th", "date", "2025-12-28"),
    ("it will arrive next Monday at 3pm", "date", "2026-03-16T15:00"),
    ("within 3 days", "date", "2026-03-14"),
    ("in 3-5 business days", "date", "2026-03-18"),
    ("last month", "date", "2026-02"),
    ("two weeks ago", "date", "2026-02-25"),
    ("on the 15th of next month", "date", "2026-04-15"),
    ("call (415) 555-2671", "phone", "+14155552671"),
    ("call +49 30 901820", "phone", "+4930901820"),
    ("Jane.Doe@Example.com", "email", "jane.doe@example.com"),
    ("see https://Docs.example.com/a?b=1.", "url", "https://docs.example.com/a?b=1"),
    ("(www.example.com/x)", "url", "https://www.example.com/x"),
    ("IMEI 490154203237518", "identifier", "490154203237518"),
    ("serial number C02XG2JHJGH5", "identifier", "C02XG2JHJGH5"),
    ("ticket CS-40213", "identifier", "CS-40213"),
    ("set `max_tokens` higher", "identifier", "max_tokens"),
]
CHINESE: list[tuple[str, EntityKind, str]] = [
    ("我的订单号是2026030512345678", "order", "2026030512345678"),
    ("订单编号：A10422B", "order", "A10422B"),
    ("单号１２３４５６７８", "order", "12345678"),
    ("快递单号SF1234567890123", "tracking", "SF1234567890123"),
    ("运单号：773012345678901", "tracking", "773012345678901"),
    ("小米14 Pro开不了机", "device", "XIAOMI 14 PRO"),
    ("华为 Mate 60有问题", "device", "HUAWEI MATE 60"),
    ("华为Mate60有问题", "device", "HUAWEI MATE 60"),
    ("索尼WH-1000XM5耳机", "device", "WH-1000XM5"),
    ("红米Note 12 Pro+", "device", "REDMI NOTE 12 PRO+"),
    ("型号是KFR-35GW/26", "device", "KFR-35GW/26"),
    ("拯救者Y7000P很卡", "device", "拯救者Y7000P"),
    ("固件版本1.0.4", "version", "1.0.4"),
    ("升级到v2.3.1以后", "version", "2.3.1"),
    ("鸿蒙4.0系统", "version", "鸿蒙 4.0"),
    ("错误代码E05", "error_code", "E05"),
    ("屏幕显示F21", "error_code", "F21"),
    ("提示0x80070005", "error_code", "0x80070005"),
    ("花了5999元", "money", "CNY 5999.00"),
    ("三百块钱", "money", "CNY 300.00"),
    ("12块5", "money", "CNY 12.50"),
    ("1.5万元", "money", "CNY 15000.00"),
    ("￥50", "money", "CNY 50.00"),
    ("100美元", "money", "USD 100.00"),
    ("昨天买的", "date", "2026-03-10"),
    ("电话13812345678", "phone", "+8613812345678"),
    ("手机号１３８１２３４５６７８", "phone", "+8613812345678"),
    ("座机010-62345678", "phone", "+861062345678"),
    ("邮箱zhang.san@example.com谢谢", "email", "zhang.san@example.com"),
    ("看https://example.com/a这里", "url", "https://example.com/a"),
    ("工单号GD20260311001", "identifier", "GD20260311001"),
    ("序列号：ABC123456", "identifier", "ABC123456"),
    ("身份证11010519491231002X", "identifier", "11010519491231002X"),
]


@pytest.mark.parametrize(("text", "kind", "value"), ENGLISH)
def test_english_entity(text: str, kind: EntityKind, value: str) -> None:
    found = find_entities(text, language="en", base=NOW)
    assert (kind, value) in [(one.kind, one.value) for one in found]


@pytest.mark.parametrize(("text", "kind", "value"), CHINESE)
def test_chinese_entity(text: str, kind: EntityKind, value: str) -> None:
    found = find_entities(text, language="zh", base=NOW)
    assert (kind, value) in [(one.kind, one.value) for one in found]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("订单号13812345678", "phone"),
        ("order 4155552671", "phone"),
        ("快递单号13812345678901", "phone"),
        ("the price is 12345678 dollars", "order"),
        ("价格5999元", "order"),
        ("I want to order 500 units", "order"),
        ("order of 2026-03-05", "order"),
        ("三块电池和一块屏幕", "money"),
        ("5单元3楼", "money"),
        ("小米14天无理由退货", "device"),
        ("COVID-19 and UTF-8", "device"),
        ("version of 2026.3.5", "version"),
        ("IMEI 490154203237517", "identifier"),
        ("写信到a@b", "email"),
        ("it may be 5 or so", "date"),
    ],
)
def test_what_only_looks_like_an_entity_is_none(text: str, kind: EntityKind) -> None:
    found = find_entities(text, language="zh" if text[0] > "z" else "en", base=NOW)
    assert kind not in {one.kind for one in found}


def test_one_span_is_one_entity() -> None:
    text = "order 112-3456789-1234567 for $349.99, error E-1042, call (415) 555-2671 on 2026-03-05"
    found = [(one.kind, one.text) for one in find_entities(text, language="en", base=NOW)]
    assert found == [
        ("order", "112-3456789-1234567"),
        ("money", "$349.99"),
        ("error_code", "E-1042"),
        ("phone", "(415) 555-2671"),
        ("date", "2026-03-05"),
    ]


def test_yen_sign_is_yuan_in_chinese_text() -> None:
    assert [one.value for one in find_entities("¥50", language="zh", base=NOW)] == ["CNY 50.00"]
    assert [one.value for one in find_entities("¥50", language="ja", base=NOW)] == ["JPY 50.00"]


def test_region_decides_the_order_of_day_and_month() -> None:
    american = find_entities("on 03/05/2026", language="en", base=NOW)
    british = find_entities("on 03/05/2026", language="en", base=NOW, region="GB")
    assert [one.value for one in (*american, *british)] == ["2026-03-05", "2026-05-03"]


def test_relative_dates_count_from_the_customers_day() -> None:
    late = datetime(2026, 3, 11, 23, tzinfo=UTC)
    finder = EntityFinder(language="zh", zone=ZoneInfo("Asia/Shanghai"))
    assert [one.value for one in finder.entities("今天 and yesterday", base=late)] == [
        "2026-03-12",
        "2026-03-11",
    ]


class NamesOf:
    """A tagger that knows the names it was made with."""

    def __init__(self, *names: str) -> None:
        self.known = names

    def names(self, text: str) -> list[NamedSpan]:
        return [
            NamedSpan(kind="person", text=name, start=text.index(name), end=text.index(name) + len(name))
            for name in self.known
            if name in text
        ]


def test_tagger_names_are_taken_where_no_rule_claims_the_span() -> None:
    text = "我是张伟，用华为 Mate 60"
    found = find_entities(text, language="zh", base=NOW, tagger=NamesOf("张伟", "华为", "Mate"))
    assert [(one.kind, one.value) for one in found] == [("person", "张伟"), ("device", "HUAWEI MATE 60")]


def test_tagger_is_not_asked_about_text_without_chinese() -> None:
    assert find_entities("Zhang Wei", language="zh", base=NOW, tagger=NamesOf("Zhang Wei")) == []


MIXED = st.text(
    alphabet=st.one_of(
        st.sampled_from(
            "0123456789-/.:#$¥￥元块年月日号周天前后上下点 \n\0@_()（），。ASMGEXV年订单快递错误order version"
        ),
        st.characters(),
    ),
    max_size=80,
)


@given(MIXED, st.sampled_from(["en", "zh", "ja"]))
def test_any_text_gives_parts_of_itself(text: str, language: str) -> None:
    found = find_entities(text, language=language, base=NOW)
    assert all(one.text in text and one.value for one in found)


def test_long_text_without_a_break_is_read_in_bounded_time() -> None:
    assert find_entities("1-" * 50_000 + "E-1042", language="en", base=NOW) == []
