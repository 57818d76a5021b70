from __future__ import annotations

import calendar
from collections.abc import Iterable
from datetime import MAXYEAR, MINYEAR, date, datetime, timedelta

_MONTHS = 12
_WEEKEND = 5


def iso_date(day: date) -> str:
    return f"{day:%Y-%m-%d}"


def iso_month(day: date) -> str:
    return f"{day:%Y-%m}"


def iso_week(day: date) -> str:
    year, week, _ = day.isocalendar()
    return f"{year:04}-W{week:02}"


def iso_minute(moment: datetime) -> str:
    return f"{moment:%Y-%m-%dT%H:%M}"


def safe_date(year: int, *, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None


def add_months(day: date, *, months: int) -> date | None:
    """The same day of the month, or the month's last one; None beyond the calendar."""
    year, month = divmod(day.year * _MONTHS + day.month - 1 + months, _MONTHS)
    if not MINYEAR <= year <= MAXYEAR:
        return None
    last = calendar.monthrange(year, month + 1)[1]
    return date(year, month + 1, min(day.day, last))


def last_of_month(day: date) -> date:
    return day.replace(day=calendar.monthrange(day.year, day.month)[1])


def monday_of(day: date) -> date:
    return day - timedelta(days=day.weekday())


def business_days_after(day: date, *, days: int) -> date:
    while days > 0:
        day += timedelta(days=1)
        days -= day.weekday() < _WEEKEND
    return day


def _nearest(base: date, *, candidates: Iterable[date | None]) -> date | None:
    """Of two equally near ones the later."""
    real = [each for each in candidates if each is not None]
    return min(real, key=lambda each: (abs(each - base), each < base), default=None)


def nearest_day(base: date, *, day: int) -> date | None:
    """The `day`-th of the month that lies nearest to `base`."""
    months = (add_months(base.replace(day=1), months=shift) for shift in (-1, 0, 1))
    return _nearest(
        base, candidates=(first and safe_date(first.year, month=first.month, day=day) for first in months)
    )


def nearest_month_day(base: date, *, month: int, day: int) -> date | None:
    years = (
        range(base.year - 4, base.year + 5)
        if (month, day) == (2, 29)
        else range(base.year - 1, base.year + 2)
    )
    return _nearest(base, candidates=(safe_date(year, month=month, day=day) for year in years))
