"""Dates in English: a cheap pattern finds the phrases, and only those are read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, datetime, timedelta
from typing import Literal

import dateparser

from workers.rules.calendars import (
    add_months,
    business_days_after,
    iso_date,
    iso_minute,
    iso_month,
    iso_week,
    monday_of,
    nearest_day,
    nearest_month_day,
    safe_date,
)
from workers.rules.spans import LEFT, RIGHT, Mention

Order = Literal["MDY", "DMY", "YMD"]

_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)\.?"
)
_FULL_MONTH = r"(?:january|february|march|april|june|july|august|september|october|november|december)"
_WEEKDAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_ORDINAL = r"\d{1,2}(?:st|nd|rd|th)?"
_NUMBER = r"(?:\d{1,3}|an?|one|two|three|four|five|six|seven|eight|nine|ten|a couple of|a few)"
_TIME = (
    r"(?:,?\s*(?:at|around)?\s*\d{1,2}(?::\d{2})?\s?(?:a\.?m\.?|p\.?m\.?)(?![a-z])|,?\s+at\s+\d{1,2}:\d{2})"
)
_YEAR = r"(?:19|20)\d\d"
_MONTH_DAY = rf"(?:{_MONTH}\s?{_ORDINAL}|{_ORDINAL}\s(?:of\s)?{_MONTH})(?:,?\s+{_YEAR})?"
_NUMERIC = (
    rf"{_YEAR}-\d{{1,2}}-\d{{1,2}}(?:[T ]\d\d:\d\d)?|{_YEAR}/\d{{1,2}}/\d{{1,2}}"
    r"|\d{1,2}/\d{1,2}/(?:20)?\d\d"
)
_NAMED_DAY = (
    r"the day (?:before yesterday|after tomorrow)|yesterday|today|tomorrow"
    rf"|(?:last|this|next) {_WEEKDAY}|{_WEEKDAY}"
)
_CALENDAR = re.compile(
    rf"{LEFT}(?:(?:{_WEEKDAY},?\s+)?{_MONTH_DAY}|{_NUMERIC}|{_NAMED_DAY}){_TIME}?{RIGHT}", re.IGNORECASE
)
_MONTH_ONLY = re.compile(
    rf"{LEFT}{_MONTH},? (?:19|20)\d\d{RIGHT}|(?<=in ){_FULL_MONTH}{RIGHT}|(?<=since ){_FULL_MONTH}{RIGHT}",
    re.IGNORECASE,
)
_DAY_OF_MONTH = re.compile(
    rf"{LEFT}the (\d{{1,2}})(?:st|nd|rd|th)(?: of (last|this|next) month)?{RIGHT}"
    r"(?!\s(?:of|floor|street|avenue|time|gen|edition|century|one|item|order|day|attempt|person))",
    re.IGNORECASE,
)
_PERIOD = re.compile(rf"{LEFT}(last|this|next) (week|weekend|month|year){RIGHT}", re.IGNORECASE)
_UNIT = r"(minute|hour|(?:business|working) day|day|week|month|year)s?"
_AMOUNT = rf"(?:{_NUMBER}\s?(?:-|–|to)\s?)?({_NUMBER})\s+{_UNIT}"
_AGO = re.compile(rf"{LEFT}{_AMOUNT}\s+(ago|from now|later){RIGHT}", re.IGNORECASE)
_WITHIN = re.compile(rf"{LEFT}(within|in)\s+(?:the next\s+)?{_AMOUNT}{RIGHT}", re.IGNORECASE)
_AHEAD = re.compile(
    r"\b(?:will|by|until|next|deliver|arriv|schedul|appointment|going to|before|due|please)|'ll\b",
    re.IGNORECASE,
)
_WORD_NUMBERS = {
    "a": 1, "an": 1, "one": 1, "two": 2, "a couple of": 2, "three": 3, "a few": 3, "four": 4, "five": 5,
    "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
}  # fmt: skip
_SHIFTS = {"last": -1, "this": 0, "next": 1}


def english_dates(text: str, *, base: datetime, order: Order) -> Iterator[Mention]:
    """ISO 8601 in the precision that was said; "within 3 days" is the end of the three days."""
    for pattern, read in ((_DAY_OF_MONTH, _day), (_WITHIN, _ahead), (_AGO, _moved), (_PERIOD, _period)):
        for match in pattern.finditer(text):
            value = read(match, base)
            if value is not None:
                yield Mention(kind="date", start=match.start(), end=match.end(), value=value)
    for pattern, precise in ((_CALENDAR, None), (_MONTH_ONLY, iso_month)):
        for match in pattern.finditer(text):
            moment = _parsed(match, base=base, order=order)
            if moment is not None:
                value = precise(moment) if precise else _value(match[0], moment)
                yield Mention(kind="date", start=match.start(), end=match.end(), value=value)


def _value(phrase: str, moment: datetime) -> str:
    timed = re.search(r":\d\d|\d\s?[ap]\.?m", phrase, re.IGNORECASE)
    return iso_minute(moment) if timed else iso_date(moment)


def _parsed(match: re.Match[str], *, base: datetime, order: Order) -> datetime | None:
    phrase = match[0]
    moment = dateparser.parse(
        phrase,
        languages=["en"],
        settings={
            "RELATIVE_BASE": base.replace(tzinfo=None),
            "PREFER_DATES_FROM": "future" if _AHEAD.search(_around(match)) else "past",
            "DATE_ORDER": order,
            "RETURN_AS_TIMEZONE_AWARE": False,
        },
    )
    if moment is None or re.search(r"(?:19|20)\d\d|/\d\d$|yesterday|today|tomorrow", phrase, re.IGNORECASE):
        return moment
    return _nearest_year(moment, base=base) if re.search(rf"\b{_MONTH}", phrase, re.IGNORECASE) else moment


def _around(match: re.Match[str]) -> str:
    return match.string[max(match.start() - 60, 0) : match.end() + 30]


def _nearest_year(moment: datetime, *, base: datetime) -> datetime:
    day = nearest_month_day(base.date(), month=moment.month, day=moment.day)
    return moment if day is None else moment.replace(year=day.year, day=day.day)


def _day(match: re.Match[str], base: datetime) -> str | None:
    if match[2] is None:
        day = nearest_day(base.date(), day=int(match[1]))
        return None if day is None else iso_date(day)
    first = add_months(base.date().replace(day=1), months=_SHIFTS[match[2].lower()])
    found = None if first is None else safe_date(first.year, month=first.month, day=int(match[1]))
    return None if found is None else iso_date(found)


def _period(match: re.Match[str], base: datetime) -> str | None:
    shift, today = _SHIFTS[match[1].lower()], base.date()
    unit = match[2].lower()
    if unit == "week":
        return iso_week(today + timedelta(weeks=shift))
    if unit == "weekend":
        return iso_date(monday_of(today) + timedelta(weeks=shift, days=5))
    if unit == "year":
        return f"{today.year + shift:04}"
    month = add_months(today.replace(day=1), months=shift)
    return None if month is None else iso_month(month)


def _ahead(match: re.Match[str], base: datetime) -> str | None:
    return _shifted(match[2], unit=match[3], base=base, sign=1)


def _moved(match: re.Match[str], base: datetime) -> str | None:
    return _shifted(match[1], unit=match[2], base=base, sign=-1 if match[3].lower() == "ago" else 1)


def _shifted(written: str, *, unit: str, base: datetime, sign: int) -> str | None:
    number = _WORD_NUMBERS.get(written.lower()) or int(written)
    unit = unit.lower().split()[-1] if "day" not in unit.lower() else unit.lower()
    if unit in {"minute", "hour"}:
        return iso_minute(base + timedelta(minutes=sign * number * (60 if unit == "hour" else 1)))
    day = _shifted_day(number * sign, unit=unit, today=base.date())
    return None if day is None else iso_date(day)


def _shifted_day(number: int, *, unit: str, today: date) -> date | None:
    if unit in {"month", "year"}:
        return add_months(today, months=number * (12 if unit == "year" else 1))
    if unit in {"day", "week"}:
        return today + timedelta(days=number * (7 if unit == "week" else 1))
    return business_days_after(today, days=number) if number > 0 else None
