"""Dates and times in Chinese, resolved against the moment they were said.

Values are ISO 8601 in the precision that was said: 2026, 2026-03, 2026-W11, 2026-03-05, 2026-03-05T15:00.
A date without its year (or a day without its month) is the one nearest to `base`; weeks begin on Monday;
a bare 周五 lies ahead unless the words behind it say that it is past; 三天内 is the end of the three days.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta

from workers.rules.calendars import (
    add_months,
    business_days_after,
    iso_date,
    iso_minute,
    iso_month,
    iso_week,
    last_of_month,
    monday_of,
    nearest_day,
    nearest_month_day,
    safe_date,
)
from workers.rules.chinese_date_shapes import DAY_WORDS, HINT, HOLIDAYS, SHAPES, TIME, WEEKDAYS, YEAR_WORDS
from workers.rules.chinese_numbers import whole
from workers.rules.spans import Mention, first_claims, fold


@dataclass(frozen=True, slots=True, kw_only=True)
class DateMention:
    start: int
    end: int
    value: str
    text: str


_SHIFTS = {"上上": -2, "上": -1, "这": 0, "本": 0, "下": 1, "下下": 2}
_MONTHS_OF = {"月": 1, "年": 12, "半年": 6}
_DAYS_OF = {"天": 1, "日": 1, "周": 7, "星期": 7, "礼拜": 7, "半天": 0, "半月": 15}
_HOURS, _NOON, _MINUTES = 24, 12, 60
_EVENING, _MORNING = 5, 6
_CENTURY, _TWO_DIGITS = 2000, 100
_FARTHEST = 1_000
_PAST = re.compile(r"[^，。！？；,\n]{0,6}?(?:买|购|下单|收到|收的|坏|开始|到的|签收|发的|付|[了过])")

Match = re.Match[str]


def chinese_dates(text: str, *, base: datetime) -> list[DateMention]:
    """In text order and apart from each other; `base` is the moment of speech in the speaker's zone."""
    folded = fold(text)
    if not HINT.search(folded):
        return []
    found = (
        mention
        for name, pattern in SHAPES.items()
        for match in pattern.finditer(folded)
        if (mention := _mention(name, match, base=base)) is not None
    )
    return [
        DateMention(start=one.start, end=one.end, value=one.value, text=text[one.start : one.end])
        for one in first_claims(found)
    ]


def _mention(name: str, match: Match, *, base: datetime) -> Mention | None:
    resolved = _RESOLVERS[name](match, base)
    if resolved is None:
        return None
    end, value = match.end(), resolved if isinstance(resolved, str) else iso_date(resolved)
    if isinstance(resolved, date) and name not in {"clock", "exact", "inside", "distance"}:
        end, value = _with_time(match.string, end=end, day=resolved, said=match[0])
    return Mention(kind="date", start=match.start(), end=end, value=value)


def _with_time(text: str, *, end: int, day: date, said: str) -> tuple[int, str]:
    time = TIME.match(text, end)
    if time is None or not (time["part"] or time["hour"] or time["hh"]):
        return end, iso_date(day)
    part = time["part"] or ("晚" if said[-1] in "晚夜" else "早" if said[-1] == "早" else "")
    clock = _clock(time, part=part, day=day)
    if clock is None:
        return (time.end("part"), iso_date(day)) if time["part"] else (end, iso_date(day))
    return time.end(), clock


def _clock(match: Match, *, part: str, day: date) -> str | None:
    """The minute that a matched clock time means on `day`; None without an hour or for 25点."""
    names = match.groupdict()
    hour = whole(names.get("hour") or names.get("hh") or "")
    minute = _minute(names)
    if hour is None or minute is None or hour > _HOURS or minute >= _MINUTES:
        return None
    return iso_minute(datetime.combine(day, time()) + timedelta(hours=_hour(hour, part=part), minutes=minute))


def _minute(names: dict[str, str | None]) -> int | None:
    if names.get("half"):
        return 30
    quarter = names.get("quarter")
    if quarter:
        return 45 if quarter in "3三" else 15
    written = names.get("minute") or names.get("mm")
    return whole(written) if written else 0


def _hour(hour: int, *, part: str) -> int:
    if part in {"晚上", "晚", "夜", "夜里", "半夜"} and hour == _NOON:
        return _HOURS
    if part == "凌晨" and hour == _NOON:
        return 0
    later = part in {"下午", "午后", "傍晚"} or (part in {"晚上", "晚", "夜", "夜里"} and hour >= _EVENING)
    early_afternoon = part == "中午" and hour < _MORNING
    return hour + _NOON if (later or early_afternoon) and hour < _NOON else hour


def _year(match: Match, base: datetime) -> int | None:
    names = match.groupdict()
    word = names.get("yearword")
    if word:
        return base.year + YEAR_WORDS[word]
    written = names.get("year")
    if not written:
        return None
    year = whole(written) or 0
    return year + _CENTURY if year < _TWO_DIGITS else year


def _month_day(match: Match, base: datetime) -> date | None:
    month, day = whole(match["month"]) or 0, whole(match["day"]) or 0
    year = _year(match, base)
    if year is None:
        return nearest_month_day(base.date(), month=month, day=day)
    return safe_date(year, month=month, day=day)


def _month_start(match: Match, base: datetime) -> date | None:
    month = whole(match["month"] or match.groupdict().get("lone") or "") or 0
    year = _year(match, base)
    if year is None:
        return nearest_month_day(base.date(), month=month, day=1)
    return safe_date(year, month=month, day=1)


def _edge(first: date | None, edge: str | None) -> date | None:
    if first is None or edge == "初":
        return first
    return first.replace(day=15) if edge == "中旬" else last_of_month(first)


def _shifted_month(match: Match, base: datetime) -> date | str | None:
    first = add_months(base.date().replace(day=1), months=_SHIFTS[match["shift"]])
    if first is None:
        return None
    if match["day"]:
        return safe_date(first.year, month=first.month, day=whole(match["day"]) or 0)
    return _edge(first, match["edge"]) if match["edge"] else iso_month(first)


def _holiday(match: Match, base: datetime) -> date | None:
    month, day = HOLIDAYS[match["holiday"]]
    year = _year(match, base)
    if year is None:
        return nearest_month_day(base.date(), month=month, day=day)
    return safe_date(year, month=month, day=day)


def _year_edge(match: Match, base: datetime) -> date | None:
    year = base.year if match["yearword"] is None else base.year + YEAR_WORDS[match["yearword"]]
    return safe_date(year, month=1, day=1) if match["edge"] == "初" else safe_date(year, month=12, day=31)


def _week(match: Match, base: datetime) -> date | str:
    monday = monday_of(base.date()) + timedelta(weeks=_SHIFTS[match["shift"]])
    weekday = match["weekday"]
    return iso_week(monday) if weekday is None else monday + timedelta(days=WEEKDAYS[weekday])


def _weekday(match: Match, base: datetime) -> date:
    today, weekday = base.date(), WEEKDAYS[match["weekday"]]
    if _PAST.match(match.string, match.end()):
        return today - timedelta(days=(today.weekday() - weekday) % 7)
    return today + timedelta(days=(weekday - today.weekday()) % 7)


def _inside(match: Match, base: datetime) -> str | None:
    return _moved(match["n"], unit=match["unit"], base=base, sign=1)


def _distance(match: Match, base: datetime) -> str | None:
    side = match["side"] or ""
    if not side and not match["again"]:
        return None
    return _moved(match["n"], unit=match["unit"], base=base, sign=-1 if side.endswith("前") else 1)


def _moved(written: str, *, unit: str, base: datetime, sign: int) -> str | None:
    half = written == "半"
    number = 1 if half else whole(written)
    unit = unit if unit == "个半月" else unit.removeprefix("个")
    if number is None or not 0 < number <= _FARTHEST:
        return None
    if unit in {"小时", "分钟"}:
        minutes = number * (60 if unit == "小时" else 1) // (2 if half else 1)
        return iso_minute(base + timedelta(minutes=sign * minutes))
    day = _moved_day(number * sign, unit=f"半{unit}" if half else unit, today=base.date())
    return None if day is None else iso_date(day)


def _moved_day(number: int, *, unit: str, today: date) -> date | None:
    if unit == "工作日":
        return business_days_after(today, days=number) if number > 0 else None
    if unit == "个半月":
        whole_months = add_months(today, months=number)
        return whole_months and whole_months + timedelta(days=15 if number > 0 else -15)
    if unit in _MONTHS_OF:
        return add_months(today, months=number * _MONTHS_OF[unit])
    days = _DAYS_OF.get(unit)
    return None if days is None else today + timedelta(days=number * days)


def _lone_day(match: Match, base: datetime) -> date | None:
    return nearest_day(base.date(), day=whole(match["day"]) or 0)


def _today_clock(match: Match, base: datetime) -> str | None:
    return _clock(match, part=match.groupdict().get("part") or "", day=base.date())


def _iso(match: Match, _base: datetime) -> date | None:
    return safe_date(int(match["y"]), month=int(match["m"]), day=int(match["d"]))


def _whole_month(match: Match, base: datetime) -> str | None:
    first = _month_start(match, base)
    return None if first is None else iso_month(first)


def _whole_year(match: Match, base: datetime) -> str | None:
    year = _year(match, base)
    return None if year is None else f"{year:04}"


_RESOLVERS: dict[str, Callable[[Match, datetime], date | str | None]] = {
    "iso": _iso,
    "full": _month_day,
    "month_edge": lambda match, base: _edge(_month_start(match, base), match["edge"]),
    "month": _whole_month,
    "holiday": _holiday,
    "shifted_month": _shifted_month,
    "month_end": lambda match, base: _edge(base.date().replace(day=1), match["edge"]),
    "year_edge": _year_edge,
    "week": _week,
    "weekday": _weekday,
    "days": lambda match, base: base.date() + timedelta(days=DAY_WORDS[match["word"]]),
    "inside": _inside,
    "distance": _distance,
    "year": _whole_year,
    "day": _lone_day,
    "clock": _today_clock,
    "exact": _today_clock,
}
