"""Point ids, vectors and points as they travel: the parts that every request shares.

Validation is strict where the engine is not: it stores NaN and repeated sparse indices without a word.
"""

from __future__ import annotations

from typing import Annotated, Self
from uuid import UUID

import qdrant_edge as edge
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    JsonValue,
    Tag,
    model_validator,
)

_FLOAT32_MAX = 3.4028234663852886e38
_UINT32_MAX = 2**32 - 1
_UINT64_MAX = 2**64 - 1


def _canonical(text: str) -> str:
    try:
        return str(UUID(text))
    except ValueError:
        raise ValueError(
            f"value {text} is not a valid point ID, valid values are either an unsigned integer or a UUID"
        ) from None


def _path(text: str) -> str:
    """The engine's own parser raises ValueError on what is no path."""
    edge.IsNullCondition(text)
    return text


def _storable(payload: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """The engine raises ValueError on a number it has no room for."""
    edge.Point(id=0, vector={}, payload=payload)
    return payload


JsonPath = Annotated[str, AfterValidator(_path)]
PointId = Annotated[int, Field(ge=0, le=_UINT64_MAX)] | Annotated[str, AfterValidator(_canonical)]
Component = Annotated[float, Field(ge=-_FLOAT32_MAX, le=_FLOAT32_MAX, allow_inf_nan=False)]
Index = Annotated[int, Field(ge=0, le=_UINT32_MAX)]
Dense = Annotated[list[Component], Field(min_length=1)]
Payload = Annotated[dict[str, JsonValue], AfterValidator(_storable)]


class Wire(BaseModel):
    """A request or a part of one. What is not served is refused, never dropped: a filter must not relax."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class Sparse(Wire):
    indices: list[Index]
    values: list[Component]

    @model_validator(mode="after")
    def _pairs(self) -> Self:
        if len(self.indices) != len(self.values):
            raise ValueError("indices and values of a sparse vector must have the same length")
        if len(set(self.indices)) != len(self.indices):
            raise ValueError("indices of a sparse vector must be unique")
        return self

    def to_edge(self) -> edge.SparseVector:
        return edge.SparseVector(indices=self.indices, values=self.values)


def _shape(vector: object) -> str:
    return "dense" if isinstance(vector, list) else "sparse"


Vector = Annotated[
    Annotated[Dense, Tag("dense")] | Annotated[Sparse, Tag("sparse")],
    Discriminator(_shape),
]


class Point(Wire):
    id: PointId
    vector: dict[str, Vector]
    payload: Payload | None = None

    def to_edge(self) -> edge.Point:
        vectors: dict[str, edge.NamedVector] = {
            name: vector_to_edge(vector) for name, vector in self.vector.items()
        }
        return edge.Point(id=self.id, vector=vectors, payload=self.payload)


def vector_to_edge(vector: Vector) -> list[float] | edge.SparseVector:
    return vector.to_edge() if isinstance(vector, Sparse) else vector
