"""Order and tracking numbers, identifiers, versions and error codes.

A number that stands behind its word ("order number", 快递单号) is believed in many shapes; one that stands
alone only in a shape nothing else has.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from stdnum import luhn
from stdnum.cn import ric

from workers.rules.spans import LEFT, RIGHT, Mention, group_mentions

_FILLER = (
    r"(?:\s|number|num\b|no\b\.?|nr\b\.?|id\b|ref(?:erence)?\b|code\b|is\b|was\b"
    r"|号码?|编号|是|为|[:#=(]){0,6}"
)
_CODE = r"(?=[A-Za-z_-]{0,20}\d)([A-Za-z0-9]+(?:[-_][A-Za-z0-9]+)*)" + RIGHT
_CARRIER = r"(?:(?:ups|fedex|usps|dhl|顺丰|圆通|中通|申通|韵达|极兔|京东|邮政|ems)\s*)?"

_ORDER_WORD = re.compile(
    rf"(?:{LEFT}(?:orders?|purc?hases?|po)(?![a-z])|订单|单号){_FILLER}{_CODE}", re.IGNORECASE
)
_ORDER_SHAPE = re.compile(
    rf"{LEFT}(\d{{3}}-\d{{7}}-\d{{7}}|(?:ORD(?:ER)?|PO|SO)[-_#]?\d{{3,}}(?:-\d+)*|\d{{14,20}}){RIGHT}"
)
_TRACKING_WORD = re.compile(
    rf"(?:{LEFT}(?:tracking|waybill|awb|shipment|parcel)(?![a-z])|快递单|快递|运单|物流单|物流|包裹)"
    rf"{_FILLER}{_CARRIER}{_CODE}",
    re.IGNORECASE,
)
_TRACKING_SHAPE = re.compile(
    rf"{LEFT}(1Z[0-9A-Z]{{16}}|(?:SF|YT|ZTO|STO|JDV?[A-Z]?|JT|YD|DPK|LP)\d{{10,15}}|[A-Z]{{2}}\d{{9}}[A-Z]{{2}}"
    rf"|9[2-5]\d{{20}}){RIGHT}"
)
_SERIAL = re.compile(
    rf"(?:{LEFT}(?:S/?N|serial)(?![A-Za-z])|序列号|序列码|机身号|出厂编号|SN码){_FILLER}{_CODE}",
    re.IGNORECASE,
)
_CASE = re.compile(
    rf"(?:{LEFT}(?:ticket|case|rma|invoice|contract|customer|member(?:ship)?)(?![a-z])"
    rf"|工单|售后单|服务单|维修单|发票|合同|客户编?|会员编?){_FILLER}{_CODE}",
    re.IGNORECASE,
)
_IMEI = re.compile(rf"IMEI[^0-9\n]{{0,8}}(\d{{15}}|\d{{2}}-\d{{6}}-\d{{6}}-\d){RIGHT}", re.IGNORECASE)
_CARD = re.compile(
    rf"(?:银行卡|卡号|card)[^0-9\n]{{0,8}}(\d{{4}}(?:[ -]?\d{{4}}){{2,3}}\d{{0,3}}){RIGHT}", re.IGNORECASE
)
_MAC = re.compile(rf"{LEFT}((?:[0-9A-Fa-f]{{2}}[:-]){{5}}[0-9A-Fa-f]{{2}}){RIGHT}")
_RESIDENT = re.compile(rf"{LEFT}(\d{{17}}[\dXx]){RIGHT}")
_PARAMETER = re.compile(
    r"`([^`\s]{2,40})`|(?<![\w/.-])(--[a-z][a-z0-9-]{1,30}|[a-z][a-z0-9]*(?:_[a-z0-9]+)+)(?![\w@])"
)

_NUMBER = r"(\d{1,5}(?:\.\d{1,6}){1,3}(?:[-+]?(?:alpha|beta|rc|b|r|p)\.?\d{0,4})?)(?![A-Za-z0-9]|\.\d)"
_VERSION = re.compile(
    rf"(?:{LEFT}(?:v|ver\.?|version|firmware|fw|release|build|driver)|固件|版本|驱动)"
    rf"(?:\s|version|版本|号|是|为|:|v){{0,5}}{_NUMBER}|(?<![\w.])(\d{{1,4}}\.\d{{1,4}}\.\d{{1,5}})(?![\w]|\.\d)",
    re.IGNORECASE,
)
_SYSTEM = re.compile(
    rf"{LEFT}((?:iOS|iPadOS|Android|Windows|macOS|HarmonyOS|MIUI|ColorOS|Ubuntu|watchOS)\s?\d{{1,3}}(?:\.\d{{1,3}}){{0,3}}"
    rf"|(?:鸿蒙|安卓|澎湃)(?:系统|OS)?\s?\d{{1,2}}(?:\.\d{{1,3}}){{0,3}}){RIGHT}",
    re.IGNORECASE,
)
_DATE_LIKE = re.compile(r"(?:19|20)\d\d[-.](?:0?[1-9]|1[0-2])[-.](?:0?[1-9]|[12]\d|3[01])")

_ERROR_WORD = re.compile(
    rf"(?:{LEFT}(?:error|err|fault|status|http)(?![a-z_])(?:\s+(?:code|message|number))?(?:\s+(?:is|was|says?))?"
    r"|(?:错误|故障|报错|异常)(?:代码|码|信息|提示)?|(?:显示|提示|代码))(?:\s|是|为|[:#\"“「(]){0,4}"
    r"([A-Za-z]{0,4}[-_]?\d{1,6}[A-Za-z]?(?:-\d{1,4})?)(?![A-Za-z0-9]|[.:]\d|\s*(?:天|元|块|%|年|月|日|号|点|次|个))",
    re.IGNORECASE,
)
_ERROR_SHAPE = re.compile(
    rf"{LEFT}(0x[0-9A-Fa-f]{{4,16}}|(?:ERR|ERROR|EXC|E)_[A-Z0-9]+(?:_[A-Z0-9]+)*|[A-Z]{{2,}}(?:_[A-Z0-9]+)+|E-?\d{{2,5}}"
    rf"|E(?:CONN|TIMED|NO|ADDR|PIPE|ACCES)[A-Z]{{0,12}}|[A-Z][A-Za-z]{{2,30}}(?:Error|Exception)){RIGHT}"
)

_LONGEST = 40


def _code(text: str, *, shortest: int) -> str | None:
    digits = sum(character.isdigit() for character in text)
    fits = shortest <= len(text) <= _LONGEST and digits >= min(shortest, 3)
    return text.upper() if fits and not _DATE_LIKE.fullmatch(text) else None


def _order_word(text: str) -> Iterator[Mention]:
    for match in _ORDER_WORD.finditer(text):
        # "order 500 units" is a wish; behind "#", "number" or 号 a short number is an order all the same.
        named = re.search(r"#|num|no|id|号|ref", match[0][: match.start(1) - match.start()], re.IGNORECASE)
        value = _code(match[1], shortest=3 if named else 5)
        if value is not None:
            yield Mention(kind="order", start=match.start(1), end=match.end(1), value=value)


def _imei(text: str) -> str | None:
    digits = text.replace("-", "")
    return digits if luhn.is_valid(digits) else None


def _card(text: str) -> str | None:
    digits = re.sub(r"\D", "", text)
    return digits if luhn.is_valid(digits) else None


def _resident(text: str) -> str | None:
    return text.upper() if ric.is_valid(text.upper()) else None


def identifiers(text: str) -> Iterator[Mention]:
    yield from group_mentions(_IMEI, text, kind="identifier", canonical=_imei)
    yield from group_mentions(_CARD, text, kind="identifier", canonical=_card)
    yield from group_mentions(_RESIDENT, text, kind="identifier", canonical=_resident)
    yield from group_mentions(
        _MAC, text, kind="identifier", canonical=lambda code: code.upper().replace("-", ":")
    )
    for pattern in (_SERIAL, _CASE):
        yield from group_mentions(
            pattern, text, kind="identifier", canonical=lambda code: _code(code, shortest=4)
        )


def parameters(text: str) -> Iterator[Mention]:
    """Names of API parameters, flags and settings: in backquotes, or with underscores, as written."""
    for match in _PARAMETER.finditer(text):
        group = 1 if match[1] else 2
        yield Mention(kind="identifier", start=match.start(group), end=match.end(group), value=match[group])


def trackings(text: str) -> Iterator[Mention]:
    yield from group_mentions(
        _TRACKING_WORD, text, kind="tracking", canonical=lambda code: _code(code, shortest=8)
    )
    yield from group_mentions(_TRACKING_SHAPE, text, kind="tracking", canonical=str)


def named_orders(text: str) -> Iterator[Mention]:
    yield from _order_word(text)


def shaped_orders(text: str) -> Iterator[Mention]:
    yield from group_mentions(
        _ORDER_SHAPE, text, kind="order", canonical=lambda code: _code(code, shortest=5)
    )


def versions(text: str) -> Iterator[Mention]:
    yield from group_mentions(_SYSTEM, text, kind="version", canonical=_system)
    for match in _VERSION.finditer(text):
        group = 1 if match[1] else 2
        if not _DATE_LIKE.fullmatch(match[group]):
            yield Mention(
                kind="version", start=match.start(group), end=match.end(group), value=match[group].lower()
            )


def _system(text: str) -> str:
    return re.sub(r"\s*(\d[\d.]*)$", r" \1", text.lower())


def _error(text: str) -> str:
    if text[:2].lower() == "0x":
        return "0x" + text[2:].upper()
    return text if text.endswith(("Error", "Exception")) else text.upper()


def errors(text: str) -> Iterator[Mention]:
    yield from group_mentions(_ERROR_SHAPE, text, kind="error_code", canonical=_error)
    yield from group_mentions(_ERROR_WORD, text, kind="error_code", canonical=_error)
