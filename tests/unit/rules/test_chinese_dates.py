from __future__ import annotations

from datetime import datetime
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.rules.material import NOW
from workers.rules.chinese_dates import chinese_dates

GOLDEN = {
    "2026年3月5日": "2026-03-05",
    "二零二六年三月五日": "2026-03-05",
    "26年3月5日": "2026-03-05",
    "2026-03-05": "2026-03-05",
    "2026/3/5": "2026-03-05",
    "3月5号": "2026-03-05",
    "十二月三十一日": "2025-12-31",
    "今天": "2026-03-11",
    "昨天": "2026-03-10",
    "前天": "2026-03-09",
    "大前天": "2026-03-08",
    "明天": "2026-03-12",
    "后天": "2026-03-13",
    "大后天": "2026-03-14",
    "上周五": "2026-03-06",
    "这周三": "2026-03-11",
    "下周一": "2026-03-16",
    "上个星期三": "2026-03-04",
    "下礼拜天": "2026-03-22",
    "上上周二": "2026-02-24",
    "下周": "2026-W12",
    "上个月": "2026-02",
    "下个月5号": "2026-04-05",
    "去年": "2025",
    "明年3月": "2027-03",
    "去年12月25日": "2025-12-25",
    "前年": "2024",
    "三天前": "2026-03-08",
    "3天后": "2026-03-14",
    "两周前": "2026-02-25",
    "两个月前": "2026-01-11",
    "一个半月前": "2026-01-27",
    "半年后": "2026-09-11",
    "一年前": "2025-03-11",
    "5天之内": "2026-03-16",
    "十五天内": "2026-03-26",
    "3-5个工作日内": "2026-03-18",
    "24小时内": "2026-03-12T10:00",
    "月底": "2026-03-31",
    "月初": "2026-03-01",
    "上月底": "2026-02-28",
    "3月底": "2026-03-31",
    "年底": "2026-12-31",
    "明天下午3点半": "2026-03-12T15:30",
    "昨天晚上八点": "2026-03-10T20:00",
    "下周三14:30": "2026-03-18T14:30",
    "明早8点": "2026-03-12T08:00",
    "下午三点一刻": "2026-03-11T15:15",
    "凌晨1点": "2026-03-11T01:00",
    "中午12点": "2026-03-11T12:00",
    "晚上12点": "2026-03-12T00:00",
    "去年双十一": "2025-11-11",
    "今年国庆": "2026-10-01",
    "过两天": "2026-03-13",
}


@pytest.mark.parametrize(("phrase", "value"), GOLDEN.items())
def test_phrase_resolves_against_the_moment_it_was_said(phrase: str, value: str) -> None:
    [found] = chinese_dates(f"我想说{phrase}，可以", base=NOW)
    assert (found.text, found.value) == (phrase, value)


@pytest.mark.parametrize(
    "phrase",
    [
        "7天无理由退货",
        "住在5号楼",
        "坐3号线",
        "一共10个月",
        "第3天",
        "3点建议",
        "年轻人",
        "2月30日",
        "25点整",
        "一百天",
    ],
)
def test_what_is_no_date_is_left_alone(phrase: str) -> None:
    assert chinese_dates(phrase, base=NOW) == []


def test_weekday_lies_ahead_unless_the_words_behind_it_say_that_it_is_past() -> None:
    assert [one.value for one in chinese_dates("周一给您发货", base=NOW)] == ["2026-03-16"]
    assert [one.value for one in chinese_dates("周一买的", base=NOW)] == ["2026-03-09"]


def test_missing_year_is_the_nearest_one() -> None:
    new_year = datetime(2026, 1, 3, tzinfo=NOW.tzinfo)
    assert [one.value for one in chinese_dates("12月28日下单，1月10日到", base=new_year)] == [
        "2025-12-28",
        "2026-01-10",
    ]


def test_full_width_digits_are_read_and_reported_as_written() -> None:
    [found] = chinese_dates("２０２６年３月５日", base=NOW)
    assert (found.text, found.value) == ("２０２６年３月５日", "2026-03-05")


@given(st.text(alphabet="0123456789一二两三十半年月日号周上下这个天前后点刻内之-:今明昨 的", max_size=40))
def test_any_text_gives_spans_of_itself_apart_from_each_other(text: str) -> None:
    found = chinese_dates(text, base=NOW)
    assert all(text[one.start : one.end] == one.text for one in found)
    assert all(left.end <= right.start for left, right in pairwise(found))
