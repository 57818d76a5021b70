from __future__ import annotations

from typing import Literal

import pytest
from pydantic import BaseModel

from shared.inference.schema import misfit


class Fact(BaseModel):
    text: str
    kind: Literal["fact", "issue"]
    weight: float | None


class Answer(BaseModel):
    facts: list[Fact]
    count: int


SCHEMA = Answer.model_json_schema()
GOOD = {"facts": [{"text": "订单 TK-1", "kind": "fact", "weight": 1}], "count": 1}


def test_a_value_of_the_model_fits_the_schema_that_pydantic_writes() -> None:
    assert misfit(GOOD, schema=SCHEMA) is None
    assert misfit({"facts": [{**GOOD["facts"][0], "weight": None}], "count": 0}, schema=SCHEMA) is None  # type: ignore[index]  # a literal


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ([], "$ must be of type object"),
        ({"facts": []}, "$ lacks count"),
        ({"facts": [], "count": True}, "$.count must be of type integer"),
        ({"facts": [], "count": "1"}, "$.count must be of type integer"),
        ({"facts": {}, "count": 1}, "$.facts must be of type array"),
        ({"facts": ["x"], "count": 1}, "$.facts[0] must be of type object"),
        (
            {"facts": [{"text": 1, "kind": "fact", "weight": 1}], "count": 1},
            "$.facts[0].text must be of type string",
        ),
        (
            {"facts": [{"text": "x", "kind": "secret", "weight": 1}], "count": 1},
            "$.facts[0].kind must be one of fact, issue",
        ),
        (
            {"facts": [{"text": "x", "kind": "fact", "weight": "much"}], "count": 1},
            "$.facts[0].weight is none of the allowed forms",
        ),
    ],
)
def test_the_first_misfit_is_named_without_the_value(value: object, reason: str) -> None:
    assert misfit(value, schema=SCHEMA) == reason


def test_a_key_outside_a_closed_schema_is_a_misfit_that_does_not_repeat_the_key() -> None:
    closed = {"type": "object", "properties": {}, "additionalProperties": False}
    assert misfit({"身份证": "x"}, schema=closed) == "$ holds a key that is not in the schema"
    assert misfit({"身份证": "x"}, schema={"type": "object"}) is None


def test_true_is_not_one() -> None:
    assert misfit(True, schema={"const": 1}) is not None
    assert misfit(1, schema={"type": ["integer", "null"]}) is None
    assert misfit(None, schema={"type": ["integer", "null"]}) is None
