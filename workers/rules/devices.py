from __future__ import annotations

import re
from collections.abc import Iterator

from workers.rules.device_names import (
    CHINESE_BRANDS,
    LATIN_BRANDS,
    OTHER_CODES,
    OWN_SERIES,
    SERIES,
    SUFFIXES,
    WHOLE_NAMES,
)
from workers.rules.spans import LEFT, RIGHT, Mention

# "小米14天无理由" and "Apple 3 times" are no models: a number that counts something is refused.
_COUNTS_NOTHING = (
    r"(?!\d|[.:]\d|\s?(?:天|月|日|号|年|元|块|个|点|台|部|折|周|小时|分钟|%|倍|次|人|家|款|件|时|英寸|寸|万|千"
    r"|GB?\b|TB|mAh|Hz|days?\b|weeks?\b|months?\b|years?\b|hours?\b|times?\b|am\b|pm\b|units?\b|dollars?\b))"
)
_BRANDS = f"{LATIN_BRANDS}|{'|'.join(CHINESE_BRANDS)}"
_MODEL = rf"[A-Za-z]{{0,3}}-?\d{{1,5}}[A-Za-z]{{0,3}}\d{{0,2}}(?![A-Za-z0-9]){_COUNTS_NOTHING}"
_BETWEEN = rf"\s?(?:(?:{SERIES}|{SUFFIXES}|[A-Z])\s?)"
_MORE = rf"(?:\s?(?:{SUFFIXES})(?![a-z])|\s(?:\d{{2,4}}|[A-Z]\d{{1,4}}[A-Z]?){RIGHT}{_COUNTS_NOTHING})"
_BRANDED = re.compile(
    rf"(?<![A-Za-z])((?:(?:{_BRANDS}){_BETWEEN}{{0,3}}|(?:{OWN_SERIES}){_BETWEEN}{{0,2}}){_MODEL}{_MORE}{{0,3}})",
    re.IGNORECASE,
)
_WHOLE_NAME = re.compile(rf"(?<![A-Za-z])((?:{WHOLE_NAMES}){_MORE}{{0,2}}){RIGHT}", re.IGNORECASE)
_MAKER_CODE = re.compile(
    rf"{LEFT}(?!(?:{OTHER_CODES})-)([A-Z]{{2,4}}-(?:[A-Z]{{1,4}}\d{{1,5}}|\d{{2,5}})[A-Z0-9]{{0,6}}"
    r"(?:/[A-Z0-9]{1,6})?)(?![A-Za-z0-9-])"
)
_AFTER_WORD = re.compile(
    rf"(?:型号(?:是|为|:|\s){{0,3}}|{LEFT}model(?:\s?(?:number|no\.?|name|is|:|#)){{0,3}}\s?)"
    rf"((?=[A-Za-z0-9/-]{{0,23}}\d)[A-Za-z0-9][A-Za-z0-9/-]{{1,23}}){RIGHT}{_COUNTS_NOTHING}",
    re.IGNORECASE,
)
_KNOWN_WORD = re.compile(
    rf"{'|'.join(CHINESE_BRANDS)}|(?<![A-Z])(?:{SERIES}|{SUFFIXES}|{LATIN_BRANDS})(?![A-Z])", re.IGNORECASE
)


def devices(text: str) -> Iterator[Mention]:
    """A brand or series with a model behind it, a manufacturer's code, or what stands after 型号."""
    for pattern in (_MAKER_CODE, _BRANDED, _WHOLE_NAME, _AFTER_WORD):
        for match in pattern.finditer(text):
            written = match[1].rstrip()
            end = match.start(1) + len(written)
            yield Mention(kind="device", start=match.start(1), end=end, value=_canonical(written))


def _canonical(written: str) -> str:
    """Upper case, known words apart, a Chinese brand by its Latin name: 华为Mate60 is HUAWEI MATE 60."""
    apart = _KNOWN_WORD.sub(lambda word: f" {CHINESE_BRANDS.get(word[0], word[0])} ", written.upper())
    return " ".join(apart.split())
