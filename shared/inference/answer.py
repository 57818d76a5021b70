"""From what a model wrote to one JSON object, or to the reason why not."""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING, NoReturn

from shared.inference.schema import misfit
from shared.text.sanitize import clean_model_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MAX_ANSWER_BYTES = 256 * 1024
_MAX_DEPTH = 32
# Each brace in prose may open an object; a text of braces alone must not be read over and over.
_MAX_BRACES = 64
_THINKING = re.compile(r"\A\s*<think>.*?</think>", re.DOTALL)


class Unusable(ValueError):
    """The message tells the model what to do better; it repeats nothing of the answer's values."""


def object_in(text: str, *, schema: Mapping[str, object]) -> dict[str, object]:
    """The one JSON object of the answer that fits `schema`, fences and prose around it set aside.

    Raises Unusable.
    """
    if len(text.encode(errors="replace")) > MAX_ANSWER_BYTES:
        raise Unusable(f"it is longer than {MAX_ANSWER_BYTES} bytes")
    found = list(_objects(_THINKING.sub("", text)))
    if not found:
        raise Unusable("it holds no whole JSON object")
    fitting = [each for each in found if misfit(each, schema=schema) is None]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        raise Unusable("it holds more than one JSON object")
    raise Unusable(misfit(found[-1], schema=schema) or "")


def value_in(body: str) -> object:
    """Any JSON value, its strings fit to be stored. Raises Unusable."""
    try:
        return _clean(json.loads(body), depth=0)
    except (ValueError, RecursionError):
        raise Unusable("it is not JSON") from None


def _objects(text: str) -> Iterator[dict[str, object]]:
    """The outermost objects, left to right."""
    start = text.find("{")
    for _ in range(_MAX_BRACES):
        if start < 0:
            return
        try:
            value, end = _DECODER.raw_decode(text, start)
        except json.JSONDecodeError:
            end = start + 1
        except RecursionError:
            raise Unusable("it is nested too deeply") from None
        else:
            cleaned = _clean(value, depth=0)
            if isinstance(cleaned, dict):
                yield cleaned
        start = text.find("{", end)


def _clean(value: object, *, depth: int) -> object:
    if depth > _MAX_DEPTH:
        raise Unusable("it is nested too deeply")
    if isinstance(value, str):
        return clean_model_text(value)
    if isinstance(value, list):
        return [_clean(each, depth=depth + 1) for each in value]
    if isinstance(value, dict):
        return {clean_model_text(key): _clean(each, depth=depth + 1) for key, each in value.items()}
    return value


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise Unusable("a key stands twice in one object")
    return result


def _no_constant(name: str) -> NoReturn:
    raise Unusable(f"{name} is not JSON")


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise Unusable("a number is out of range")
    return number


def _short(digits: str) -> int:
    if len(digits) > 100:  # noqa: PLR2004 -- far above any number meant, far below Python's own limit
        raise Unusable("a number is out of range")
    return int(digits)


_DECODER = json.JSONDecoder(
    object_pairs_hook=_unique, parse_constant=_no_constant, parse_float=_finite, parse_int=_short
)
