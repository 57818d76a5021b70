"""Bodies of the other calls: collections, aliases, indexes, points."""

from __future__ import annotations

from typing import Annotated, Literal

import qdrant_edge as edge
from pydantic import BeforeValidator, ConfigDict, Field

from infra.embedded.vectors.filters import Filter
from infra.embedded.vectors.queries import Limit, Selection
from infra.embedded.vectors.wire import JsonPath, Payload, Point, PointId, Wire

Distance = Literal["Cosine", "Dot", "Euclid", "Manhattan"]
IndexKind = Literal["keyword", "integer", "float", "datetime", "uuid"]


class DenseParams(Wire):
    model_config = ConfigDict(extra="ignore")

    size: Annotated[int, Field(ge=1, le=65536)]
    distance: Distance

    def to_edge(self) -> edge.EdgeVectorParams:
        return edge.EdgeVectorParams(size=self.size, distance=getattr(edge.Distance, self.distance))


class SparseParams(Wire):
    model_config = ConfigDict(extra="ignore")

    modifier: Literal["idf", "none"] | None = None

    def to_edge(self) -> edge.EdgeSparseVectorParams:
        return edge.EdgeSparseVectorParams(modifier=edge.Modifier.Idf if self.modifier == "idf" else None)


class CollectionRequest(Wire):
    """Tuning (HNSW, shards, replicas) is accepted and has no effect: every search here is exact."""

    model_config = ConfigDict(extra="ignore")

    vectors: dict[str, DenseParams] = Field(default_factory=dict)
    sparse_vectors: dict[str, SparseParams] = Field(default_factory=dict)


class CreateAlias(Wire):
    collection_name: str
    alias_name: Annotated[str, Field(min_length=1, max_length=255)]


class DeleteAlias(Wire):
    alias_name: str


class CreateAliasAction(Wire):
    create_alias: CreateAlias


class DeleteAliasAction(Wire):
    delete_alias: DeleteAlias


class AliasRequest(Wire):
    actions: list[CreateAliasAction | DeleteAliasAction]


def _with_type(schema: object) -> object:
    """A schema may be the bare name of its type."""
    return {"type": schema} if isinstance(schema, str) else schema


class IndexSchema(Wire):
    model_config = ConfigDict(extra="ignore")

    type: IndexKind
    is_tenant: bool | None = None

    def to_edge(self) -> edge.PayloadSchemaParams:
        match self.type:
            case "keyword":
                return edge.KeywordIndexParams(is_tenant=self.is_tenant)
            case "uuid":
                return edge.UuidIndexParams(is_tenant=self.is_tenant)
            case "integer":
                return edge.IntegerIndexParams()
            case "float":
                return edge.FloatIndexParams()
            case "datetime":
                return edge.DatetimeIndexParams()


class IndexRequest(Wire):
    field_name: JsonPath
    field_schema: Annotated[IndexSchema, BeforeValidator(_with_type)]


class UpsertRequest(Wire):
    points: list[Point]
    update_filter: Filter | None = None


class RetrieveRequest(Wire):
    ids: list[PointId]
    with_payload: Selection = True
    with_vector: Selection = False


class DeleteRequest(Wire):
    """By id only: a deletion by filter can skip points in silence."""

    points: list[PointId]


class PayloadRequest(Wire):
    payload: Payload
    points: list[PointId]


class ScrollRequest(Wire):
    offset: PointId | None = None
    limit: Limit = 10
    filter: Filter | None = None
    with_payload: Selection = True
    with_vector: Selection = False


class CountRequest(Wire):
    filter: Filter | None = None
    exact: bool = True
