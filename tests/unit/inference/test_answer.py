from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.inference.answer import Unusable, object_in, value_in

SCHEMA = {
    "type": "object",
    "properties": {"facts": {"type": "array", "items": {"type": "string"}}},
    "required": ["facts"],
}
GOOD = '{"facts": ["用户的手机是 SM-G998B"]}'


@pytest.mark.parametrize(
    "text",
    [
        GOOD,
        f"\ufeff \n{GOOD}\n",
        f"```json\n{GOOD}\n```",
        f"Here is {{what you asked}} for:\n{GOOD}\nAnything else?",
        f"好的，结果如下：{GOOD}。",
        f'<think>maybe {{"facts": []}}?</think>{GOOD}',
        f'The schema is {{"type": "object"}}, so: {GOOD}',
    ],
)
def test_the_object_is_found_whatever_stands_around_it(text: str) -> None:
    assert object_in(text, schema=SCHEMA) == {"facts": ["用户的手机是 SM-G998B"]}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no whole JSON object"),
        ("I found nothing.", "no whole JSON object"),
        ('["a"]', "no whole JSON object"),
        (GOOD[:-3], "no whole JSON object"),
        ('{"facts": [], "facts": ["x"]}', "a key stands twice"),
        ('{"facts": NaN}', "NaN is not JSON"),
        ('{"facts": [-Infinity]}', "-Infinity is not JSON"),
        ('{"facts": [1e999]}', "out of range"),
        ('{"facts": [' + "9" * 5000 + "]}", "out of range"),
        ('{"facts": "x"}', r"\$\.facts must be of type array"),
        ('{"facts": [1]}', r"\$\.facts\[0\] must be of type string"),
        ("{}", r"\$ lacks facts"),
        (GOOD + GOOD, "more than one"),
        ('{"facts": ["' + "长" * 100_000 + '"]}', "longer than"),
        ('{"a":' * 40_000, "nested too deeply"),
        ('{"facts": ' + "[" * 50 + "]" * 50 + "}", "nested too deeply"),
        ("{" * 200_000, "no whole JSON object"),
    ],
)
def test_anything_else_is_unusable_with_the_reason(text: str, reason: str) -> None:
    with pytest.raises(Unusable, match=reason):
        object_in(text, schema=SCHEMA)


def test_what_cannot_be_stored_is_replaced_in_values_and_keys() -> None:
    text = r'{"facts": ["a\ud800b", "\u0000"], "k\udc00": 1, "whole": "\ud83d\ude00"}'
    assert object_in(text, schema=SCHEMA) == {"facts": ["a\ufffdb", "\ufffd"], "k\ufffd": 1, "whole": "😀"}


@given(text=st.text(st.characters()) | st.text('{}[]":,\\ NaN1e', max_size=60))
def test_any_text_gives_an_object_that_can_be_stored_or_is_unusable(text: str) -> None:
    try:
        found = object_in(text, schema={"type": "object"})
    except Unusable:
        return
    assert "\x00" not in json.dumps(found, ensure_ascii=False).encode().decode()


@pytest.mark.parametrize("body", ["", "<html>", "[" * 100_000, '{"a": 1'])
def test_a_body_that_is_no_json_is_unusable(body: str) -> None:
    with pytest.raises(Unusable):
        value_in(body)
