"""Filters as they travel, and the engine's filters made of them."""

from __future__ import annotations

from typing import Annotated, Self

import qdrant_edge as edge
from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from infra.embedded.vectors.wire import JsonPath, PointId, Wire


def _listed(value: object) -> object:
    """Qdrant takes one condition where a list of them may stand."""
    return [value] if isinstance(value, dict) else value


def _moment(text: str) -> str:
    edge.RangeDateTime(gte=text)
    return text


Moment = Annotated[str, AfterValidator(_moment)]
# Strict, so true and false are refused: the engine accepts them and never matches.
Number = Annotated[int, Field(ge=-(2**63), lt=2**63)]
Words = list[str] | list[Number]


class MatchValue(Wire):
    value: str | Number

    def to_edge(self) -> edge.MatchValue:
        return edge.MatchValue(self.value)


class MatchAny(Wire):
    any: Words

    def to_edge(self) -> edge.MatchAny:
        return edge.MatchAny(self.any)


class MatchExcept(Wire):
    except_: Annotated[Words, Field(alias="except")]

    def to_edge(self) -> edge.MatchExcept:
        return edge.MatchExcept(self.except_)


class NumberRange(Wire):
    gt: float | None = None
    gte: float | None = None
    lt: float | None = None
    lte: float | None = None

    def to_edge(self) -> edge.RangeFloat:
        return edge.RangeFloat(gt=self.gt, gte=self.gte, lt=self.lt, lte=self.lte)


class MomentRange(Wire):
    gt: Moment | None = None
    gte: Moment | None = None
    lt: Moment | None = None
    lte: Moment | None = None

    def to_edge(self) -> edge.RangeDateTime:
        return edge.RangeDateTime(gt=self.gt, gte=self.gte, lt=self.lt, lte=self.lte)


class FieldCondition(Wire):
    key: JsonPath
    match: MatchValue | MatchAny | MatchExcept | None = None
    range: NumberRange | MomentRange | None = None

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if self.match is None and self.range is None:
            raise ValueError(f"the condition on {self.key} has neither match nor range")
        return self

    def to_edge(self) -> edge.FieldCondition:
        return edge.FieldCondition(
            key=self.key,
            match=self.match.to_edge() if self.match else None,
            range=self.range.to_edge() if self.range else None,
        )


class Key(Wire):
    key: JsonPath


class IsEmpty(Wire):
    is_empty: Key

    def to_edge(self) -> edge.IsEmptyCondition:
        return edge.IsEmptyCondition(self.is_empty.key)


class IsNull(Wire):
    is_null: Key

    def to_edge(self) -> edge.IsNullCondition:
        return edge.IsNullCondition(self.is_null.key)


class HasId(Wire):
    has_id: list[PointId]

    def to_edge(self) -> edge.HasIdCondition:
        return edge.HasIdCondition(set(self.has_id))


class Filter(Wire):
    must: Conditions | None = None
    should: Conditions | None = None
    must_not: Conditions | None = None
    min_should: MinShould | None = None

    def to_edge(self) -> edge.Filter:
        return edge.Filter(
            must=conditions_to_edge(self.must),
            should=conditions_to_edge(self.should),
            must_not=conditions_to_edge(self.must_not),
            min_should=self.min_should.to_edge() if self.min_should else None,
        )


class NestedFilter(Wire):
    key: JsonPath
    filter: Filter


class Nested(Wire):
    nested: NestedFilter

    def to_edge(self) -> edge.NestedCondition:
        return edge.NestedCondition(self.nested.key, self.nested.filter.to_edge())


Condition = FieldCondition | HasId | IsEmpty | IsNull | Nested | Filter
Conditions = Annotated[list[Condition], BeforeValidator(_listed)]


class MinShould(Wire):
    conditions: list[Condition]
    min_count: int

    def to_edge(self) -> edge.MinShould:
        return edge.MinShould([condition.to_edge() for condition in self.conditions], self.min_count)


def conditions_to_edge(conditions: list[Condition] | None) -> list[edge.ConditionType] | None:
    return None if conditions is None else [condition.to_edge() for condition in conditions]


def filter_to_edge(wanted: Filter | None) -> edge.Filter | None:
    return wanted.to_edge() if wanted else None


Filter.model_rebuild()
