from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal

from workers.rules.chinese_numbers import NUMERAL, amount
from workers.rules.spans import LEFT, Mention

_FIGURE = r"\d{1,3}(?:,\d{3})+(?:\.\d{1,2})?|\d{1,12}(?:\.\d{1,4})?"
_SIGNS = {
    "US$": "USD",
    "HK$": "HKD",
    "A$": "AUD",
    "C$": "CAD",
    "$": "USD",
    "€": "EUR",
    "£": "GBP",
    "₹": "INR",
    "₩": "KRW",
}
_CODES = ("USD", "EUR", "GBP", "CNY", "RMB", "JPY", "HKD", "AUD", "CAD", "INR")
_WORDS = {
    "dollar": "USD", "buck": "USD", "euro": "EUR", "pound": "GBP", "quid": "GBP", "yuan": "CNY",
    "yen": "JPY", "rupee": "INR", "美元": "USD", "美金": "USD", "欧元": "EUR", "英镑": "GBP",
    "日元": "JPY", "港币": "HKD", "港元": "HKD", "人民币": "CNY", "元": "CNY", "块": "CNY", "圆": "CNY",
}  # fmt: skip
_SIGNED = re.compile(
    rf"{LEFT}(US\$|HK\$|A\$|C\$|\$|€|£|¥|₹|₩|{'|'.join(_CODES)})\s?({_FIGURE})(\s?(?:k|million|万|千)(?![A-Za-z]))?(?![\d])",
    re.IGNORECASE,
)
_NAMED = re.compile(
    rf"(?<![\d.,A-Za-z])({_FIGURE})\s?(k|thousand|million)?\s?({'|'.join(_CODES)}|dollars?|bucks?|euros?|pounds?|quid|yuan|yen|rupees?)(?![A-Za-z])",
    re.IGNORECASE,
)
_CHINESE = re.compile(
    rf"(?<![\d.,A-Za-z第])((?:{_FIGURE})\s?[百千万]?|{NUMERAL}{{1,9}})(?:多|来)?\s?"
    r"(美元|美金|欧元|英镑|日元|港币|港元|元人民币|人民币|元(?!素|器|件|旦|宵)|圆|块钱|块)(\d(?!\d)|[一二三四五六七八九](?![十百千万个天]))?"
)
# 块 is also a measure word (两块电池): alone it is money only where no noun follows.
_PRICE_FOLLOWS = re.compile(r"\s*(?:$|[^\u3400-\u9fff]|[的了吗吧呢多左上就也都退给差不优运邮还])")
_SCALES = {"k": 1_000, "thousand": 1_000, "million": 1_000_000, "万": 10_000, "千": 1_000}


def money(text: str, *, language: str) -> Iterator[Mention]:
    """Canonical: ISO currency and two decimals, "USD 12.50". ¥ is CNY in Chinese text and JPY elsewhere."""
    for match in _SIGNED.finditer(text):
        currency = _currency(match[1], language=language)
        figure = Decimal(match[2].replace(",", "")) * _scale(match[3])
        yield _mention(match, currency=currency, figure=figure)
    for match in _NAMED.finditer(text):
        figure = Decimal(match[1].replace(",", "")) * _scale(match[2])
        yield _mention(match, currency=_currency(match[3], language=language), figure=figure)
    yield from _chinese(text)


def _chinese(text: str) -> Iterator[Mention]:
    for match in _CHINESE.finditer(text):
        figure = amount(match[1].replace(" ", ""))
        if figure is None or _is_measure(match, text):
            continue
        tenths = amount(match[3]) if match[3] and match[2].startswith("块") else None
        yield _mention(
            match, currency=_currency(match[2], language="zh"), figure=figure + (tenths or Decimal(0)) / 10
        )


def _is_measure(match: re.Match[str], text: str) -> bool:
    if match[2] != "块" or match[3]:
        return False
    return match[1] in {"一", "1"} or _PRICE_FOLLOWS.match(text, match.end()) is None


def _currency(written: str, *, language: str) -> str:
    if written == "¥":
        return "CNY" if language == "zh" else "JPY"
    upper = written.upper()
    if upper in _CODES:
        return "CNY" if upper == "RMB" else upper
    known = _SIGNS.get(upper)
    return known or next(code for word, code in _WORDS.items() if written.lower().startswith(word))


def _scale(written: str | None) -> int:
    return _SCALES[written.strip().lower()] if written else 1


def _mention(match: re.Match[str], *, currency: str, figure: Decimal) -> Mention:
    return Mention(kind="money", start=match.start(), end=match.end(), value=f"{currency} {figure:.2f}")
