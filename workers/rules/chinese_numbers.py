from __future__ import annotations

import re
from decimal import Decimal

DIGITS = {
    "零": 0,
    "〇": 0,
    "一": 1,
    "二": 2,
    "两": 2,
    "三": 3,
    "四": 4,
    "五": 5,
    "六": 6,
    "七": 7,
    "八": 8,
    "九": 9,
}
UNITS = {"十": 10, "百": 100, "千": 1000}
NUMERAL = r"[零〇一二两三四五六七八九十百千万]"
_ARABIC = re.compile(r"\d+(?:\.\d+)?")


def chinese_number(text: str) -> int | None:
    """十二 is 12, 两千五百 is 2500, 一万二 is 12000, 二零二六 is 2026; None for what is no number."""
    if not text or re.fullmatch(f"{NUMERAL}+", text) is None:
        return None
    if all(character in DIGITS for character in text):
        return int("".join(str(DIGITS[character]) for character in text))
    high, wan, low = text.rpartition("万")
    if wan:
        return (chinese_number(high) or 1) * 10_000 + _tail(low, unit=1_000)
    return _below_ten_thousand(text)


def _below_ten_thousand(text: str) -> int:
    total, digit, last_unit = 0, None, 1
    for character in text:
        if character in UNITS:
            last_unit = UNITS[character]
            total += (1 if digit is None else digit) * last_unit
            digit = None
        else:
            digit = DIGITS[character]
            last_unit = 1 if character in "零〇" else last_unit
    # 三百五 is 350: a last digit without its unit counts in the next unit below.
    return total + (digit or 0) * max(last_unit // 10, 1)


def _tail(text: str, *, unit: int) -> int:
    if len(text) == 1 and text in DIGITS:
        return DIGITS[text] * unit
    return (chinese_number(text) or 0) if text else 0


def amount(text: str) -> Decimal | None:
    """A number in either script, with one trailing 百, 千 or 万 allowed behind Arabic digits."""
    match = _ARABIC.match(text.replace(",", ""))
    if match is None:
        number = chinese_number(text)
        return None if number is None else Decimal(number)
    scale = {"": 1, "百": 100, "千": 1_000, "万": 10_000}.get(text.replace(",", "")[match.end() :].strip())
    return None if scale is None else Decimal(match[0]) * scale


def whole(text: str) -> int | None:
    number = amount(text)
    return None if number is None else int(number)
