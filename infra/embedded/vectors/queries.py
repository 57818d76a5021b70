"""Queries as they travel: nearest vectors, and the fusion of several prefetched lists."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal, Self, cast

import qdrant_edge as edge
from pydantic import BeforeValidator, Field, model_validator

from infra.embedded.vectors.filters import Filter, filter_to_edge
from infra.embedded.vectors.wire import JsonPath, Vector, Wire, vector_to_edge

_DEFAULT_LIMIT = 10
# Qdrant's own constant, where the request gives none.
_RRF_K = 2

Limit = Annotated[int, Field(ge=1)]
Selection = bool | list[JsonPath]


# The stub does not say that the variants are subclasses of Fusion.
_DBSF = cast("edge.Fusion", edge.Fusion.Dbsf())


def _rrf(*, k: int, weights: list[float] | None) -> edge.Fusion:
    return cast("edge.Fusion", edge.Fusion.Rrf(k=k, weights=weights))


class Nearest(Wire):
    nearest: Vector


class FusionQuery(Wire):
    fusion: Literal["rrf", "dbsf"]

    def to_edge(self) -> edge.Fusion:
        return _rrf(k=_RRF_K, weights=None) if self.fusion == "rrf" else _DBSF


class Rrf(Wire):
    k: Limit | None = None
    weights: list[float] | None = None


class RrfQuery(Wire):
    rrf: Rrf

    def to_edge(self) -> edge.Fusion:
        return _rrf(k=self.rrf.k or _RRF_K, weights=self.rrf.weights)


Fusing = FusionQuery | RrfQuery
Query = Nearest | FusionQuery | RrfQuery | Vector


class Idf(Wire):
    corpus: Filter | None = None


class SearchParams(Wire):
    hnsw_ef: int | None = None
    exact: bool = False
    indexed_only: bool = False
    idf: Idf | None = None

    def to_edge(self) -> edge.SearchParams:
        corpus = edge.IdfParams(corpus=filter_to_edge(self.idf.corpus)) if self.idf else None
        return edge.SearchParams(
            hnsw_ef=self.hnsw_ef, exact=self.exact, indexed_only=self.indexed_only, idf=corpus
        )


def _listed(value: object) -> object:
    return [value] if isinstance(value, dict) else value


class Search(Wire):
    """What a query and a prefetch have in common."""

    query: Query
    prefetch: Prefetches = ()
    using: str | None = None
    filter: Filter | None = None
    params: SearchParams | None = None
    score_threshold: float | None = None
    limit: Limit = _DEFAULT_LIMIT

    @model_validator(mode="after")
    def _has_lists_to_fuse(self) -> Self:
        if isinstance(self.query, Fusing) and not self.prefetch:
            raise ValueError("cannot apply Fusion without prefetches")
        weights = self.query.rrf.weights if isinstance(self.query, RrfQuery) else None
        if weights is not None and len(weights) != len(self.prefetch):
            raise ValueError("RRF needs one weight for each prefetch")
        return self

    def vectors(self) -> Iterator[tuple[str, Vector]]:
        """Every vector asked for, with the name of the one it is compared to."""
        if not isinstance(self.query, Fusing):
            yield self.using or "", _vector(self.query)
        for prefetch in self.prefetch:
            yield from prefetch.vectors()

    def _edge_query(self) -> edge.Query | edge.Fusion:
        if isinstance(self.query, Fusing):
            return self.query.to_edge()
        return edge.Query.Nearest(vector_to_edge(_vector(self.query)), using=self.using)


class Prefetch(Search):
    def to_edge(self) -> edge.Prefetch:
        return edge.Prefetch(
            limit=self.limit,
            query=self._edge_query(),
            prefetches=prefetches_to_edge(self.prefetch),
            filter=filter_to_edge(self.filter),
            score_threshold=self.score_threshold,
            params=self.params.to_edge() if self.params else None,
        )


Prefetches = Annotated[tuple[Prefetch, ...], BeforeValidator(_listed), Field(strict=False)]


class QueryRequest(Search):
    offset: Annotated[int, Field(ge=0)] = 0
    with_payload: Selection = False
    with_vector: Selection = False

    def to_edge(self) -> edge.QueryRequest:
        """The caller cuts the page: the engine orders ties at random, so a fusion would be cut at random."""
        return edge.QueryRequest(
            limit=self._reach(),
            query=self._edge_query(),
            prefetches=prefetches_to_edge(self.prefetch),
            with_payload=self.with_payload,
            with_vector=self.with_vector,
            filter=filter_to_edge(self.filter),
            score_threshold=self.score_threshold,
            params=self.params.to_edge() if self.params else None,
        )

    def _reach(self) -> int:
        page = self.offset + self.limit
        if isinstance(self.query, Fusing):
            return max(page, sum(prefetch.limit for prefetch in self.prefetch))
        return page


class QueryBatch(Wire):
    searches: list[QueryRequest]


def prefetches_to_edge(prefetches: tuple[Prefetch, ...]) -> list[edge.Prefetch] | None:
    return [prefetch.to_edge() for prefetch in prefetches] or None


def _vector(query: Nearest | Vector) -> Vector:
    return query.nearest if isinstance(query, Nearest) else query


for _model in (Search, Prefetch, QueryRequest, QueryBatch):
    _model.model_rebuild()
