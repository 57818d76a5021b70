from __future__ import annotations

import re
from collections.abc import Iterator

import phonenumbers

from workers.rules.spans import Mention, group_mentions

_EMAIL = re.compile(
    r"(?<![A-Za-z0-9._%+-])[A-Za-z0-9._%+-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.){1,6}[A-Za-z]{2,24}(?![A-Za-z0-9-])"
)
_URL = re.compile(
    r"(?<![A-Za-z0-9@.])(?:https?://|www\.)[^\s<>\"'`，。；：！？、（）《》「」【】“”\u3400-\u9fff]{3,2000}",
    re.IGNORECASE,
)
_MANY_DIGITS = re.compile(r"(?:\d\D{0,3}){7}")
_PHONE_WORD = re.compile(
    r"(?:phone|mobile|cell|(?:call|reach|text|contact) me|手机号?码?|电话|联系方式|联系我|号码)[^\d+\n]{0,16}"
    r"(\+?\d[\d\s().-]{5,16}\d)(?!\d)",
    re.IGNORECASE,
)
_HOST = re.compile(r"^(https?://)?([^/?#]*)(.*)$", re.IGNORECASE | re.DOTALL)


def emails(text: str) -> Iterator[Mention]:
    yield from group_mentions(_EMAIL, text, kind="email", canonical=str.lower)


def urls(text: str) -> Iterator[Mention]:
    for match in _URL.finditer(text):
        written = _without_closing(match[0])
        end = match.start() + len(written)
        yield Mention(kind="url", start=match.start(), end=end, value=_canonical_url(written))


def _without_closing(url: str) -> str:
    url = url.rstrip(".,;:!?*_")
    while url.endswith(")") and url.count(")") > url.count("("):
        url = url[:-1].rstrip(".,;:!?*_")
    return url


def _canonical_url(url: str) -> str:
    match = _HOST.match(url)
    scheme, host, rest = match.groups() if match else ("", url, "")
    return f"{(scheme or 'https://').lower()}{host.lower()}{'' if rest == '/' else rest}"


def phones(text: str, *, region: str) -> Iterator[Mention]:
    """Numbers that are valid somewhere; behind a word for a phone also those that are merely possible."""
    if not _MANY_DIGITS.search(text):
        return
    for match in phonenumbers.PhoneNumberMatcher(text, region):
        yield Mention(kind="phone", start=match.start, end=match.end, value=_e164(match.number))
    for named in _PHONE_WORD.finditer(text):
        number = _possible(named[1], region=region)
        if number is not None:
            yield Mention(kind="phone", start=named.start(1), end=named.end(1), value=number)


def _possible(written: str, *, region: str) -> str | None:
    try:
        number = phonenumbers.parse(written, region)
    except phonenumbers.NumberParseException:
        return None
    return _e164(number) if phonenumbers.is_possible_number(number) else None


def _e164(number: phonenumbers.PhoneNumber) -> str:
    return str(phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.E164))
