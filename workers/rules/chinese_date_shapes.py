"""The shapes of Chinese dates and times, the longest and surest first."""

from __future__ import annotations

import re

from workers.rules.chinese_numbers import NUMERAL

YEAR_WORDS = {"大前年": -3, "前年": -2, "去年": -1, "今年": 0, "本年": 0, "明年": 1, "后年": 2}
DAY_WORDS = {
    "大前天": -3, "前天": -2, "前日": -2, "昨天": -1, "昨日": -1, "昨晚": -1, "昨夜": -1, "今天": 0,
    "今日": 0, "今晚": 0, "今早": 0, "今儿": 0, "当天": 0, "明天": 1, "明日": 1, "明早": 1, "明晚": 1,
    "后天": 2, "大后天": 3,
}  # fmt: skip
WEEKDAYS = {**{name: index for index, name in enumerate("一二三四五六")}, "日": 6, "天": 6, "末": 5} | {
    str(number): number - 1 for number in range(1, 8)
}
HOLIDAYS = {
    "元旦": (1, 1), "五一": (5, 1), "六一八": (6, 18), "618": (6, 18), "国庆": (10, 1), "十一国庆": (10, 1),
    "双十一": (11, 11), "双11": (11, 11), "双十二": (12, 12), "双12": (12, 12),
}  # fmt: skip

_NUMBER = rf"(?:\d{{1,4}}|{NUMERAL}{{1,5}})"
_RANGE = rf"(?:{_NUMBER}\s?[-~到至]\s?)?(?P<n>{_NUMBER}|半)\s?"
_SMALL = r"(?:\d{1,2}|[零〇一二两三四五六七八九十]{1,3})"
_YEAR_WORD = rf"(?P<yearword>{'|'.join(YEAR_WORDS)})"
_YEAR = rf"(?P<year>\d{{4}}|\d{{2}}(?=年\s?{_SMALL}月)|[零〇一二三四五六七八九]{{4}})年|{_YEAR_WORD}"
_SHIFT = r"(?P<shift>上上|下下|上|下|这|本)一?"
_EDGE = r"(?P<edge>初|中旬|底|末)"
_WEEK = r"(?:周|星期|礼拜)"
# 5号楼 and 3号线 are places.
_NO_PLACE = (
    r"(?!\s?(?:楼|店|线|门|院|机|库|口|馆|厅|桌|房|柜|键|电池|码|路|街|弄|幢|栋|室|铺|仓|台|车|位|字|报))"
)
_UNITS = rf"个?工作日|个?{_WEEK}|天|个?小时|分钟|个半?月"
_PART = r"(?P<part>凌晨|清晨|早上|早晨|早|上午|中午|午后|下午|傍晚|晚上|夜里|半夜|晚|夜)"
_HOUR = r"(?P<hour>\d{1,2}|[零一二两三四五六七八九十]{1,3})"
_QUARTERS = r"(?P<half>半)|(?P<quarter>[一1三3])刻"
_CLOCK = (
    rf"{_HOUR}(?:点钟?|时(?!候|间|代|长|不))"
    rf"(?:{_QUARTERS}|(?P<minute>\d{{1,2}}|[零一二三四五六七八九十]{{1,3}})分?|整)?"
    r"|(?P<hh>\d{1,2}):(?P<mm>\d{2})(?![\d:])"
)
# What may follow a day: "的下午3点半".
TIME = re.compile(rf"[\s的,]?\s?{_PART}?\s?(?:{_CLOCK})?")

_PATTERNS: dict[str, str] = {
    "iso": (r"(?<![\d.-])(?P<y>(?:19|20)\d\d)(?P<sep>[-/.])(?P<m>\d{1,2})(?P=sep)(?P<d>\d{1,2})(?![\d.-])"),
    "full": rf"(?:{_YEAR})?\s?的?(?P<month>{_SMALL})月\s?(?:份的?)?(?P<day>{_SMALL})(?:日|号){_NO_PLACE}",
    "month_edge": rf"(?:(?:{_YEAR})\s?的?)?(?P<month>{_SMALL})月份?{_EDGE}",
    "month": rf"(?:{_YEAR})\s?的?(?P<month>{_SMALL})月份?|(?P<lone>{_SMALL})月份",
    "holiday": (
        rf"(?:{_YEAR_WORD}的?)?(?P<holiday>(?<!\d)618(?=活动|大促|期间|买|下单)"
        r"|十一国庆|六一八|元旦|五一|国庆|双十一|双11|双十二|双12)(?!\d)"
    ),
    "shifted_month": rf"{_SHIFT}个?月份?(?:的?(?P<day>{_SMALL})(?:日|号)|{_EDGE})?",
    "month_end": r"(?<!\d)月(?P<edge>初|底|末)",
    "year_edge": rf"(?:{_YEAR_WORD}的?)?年(?P<edge>初|底|末)",
    "week": rf"{_SHIFT}个?{_WEEK}(?P<weekday>[一二三四五六日天末]|[1-7](?!\d))?",
    "weekday": rf"{_WEEK}(?P<weekday>[一二三四五六日天末])",
    "days": rf"(?P<word>{'|'.join(sorted(DAY_WORDS, key=len, reverse=True))})",
    "inside": rf"{_RANGE}(?P<unit>{_UNITS}|日)(?:之内|以内|内)",
    "distance": rf"(?P<again>再?过)?{_RANGE}(?P<unit>{_UNITS}|年)多?(?P<side>之前|以前|前|之后|以后|后)?",
    "year": _YEAR,
    "day": rf"(?<![\d月第街路巷弄道村楼幢栋座区])(?P<day>{_SMALL})(?:号|日){_NO_PLACE}",
    "clock": rf"{_PART}\s?(?:{_CLOCK})",
    "exact": rf"(?<!\d){_HOUR}点(?:{_QUARTERS}|钟|整)",
}
SHAPES = {name: re.compile(pattern) for name, pattern in _PATTERNS.items()}
HINT = re.compile(
    r"[年月日号周天]|星期|礼拜|点|刻|小时|分钟|[今昨明]|元旦|五一|国庆|双1|双十|618|(?:19|20)\d\d[-/.]"
)
