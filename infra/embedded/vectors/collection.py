"""One collection: the engine's shard and the checks the engine leaves out.

Every call runs to its end on the server's one thread. The engine never lets go of the interpreter, so threads
would win nothing, and one writer at a time makes each call all-or-nothing.
"""

from __future__ import annotations

from pathlib import Path

import qdrant_edge as edge

from infra.embedded.vectors.errors import BadRequestError, no_point
from infra.embedded.vectors.filters import filter_to_edge
from infra.embedded.vectors.queries import QueryRequest
from infra.embedded.vectors.requests import (
    CollectionRequest,
    CountRequest,
    DeleteRequest,
    IndexRequest,
    PayloadRequest,
    RetrieveRequest,
    ScrollRequest,
    UpsertRequest,
)
from infra.embedded.vectors.wire import Sparse, Vector

# No HNSW graph: building one stops the whole process for seconds, and exact search is quick at this size.
_NO_GRAPH = edge.EdgeOptimizersConfig(indexing_threshold=2_000_000_000)


class Collection:
    def __init__(self, shard: edge.EdgeShard, *, params: CollectionRequest) -> None:
        self._shard = shard
        self._params = params
        self._unflushed = False
        self._unvacuumed = False

    @classmethod
    def create(cls, directory: Path, *, params: CollectionRequest) -> Collection:
        config = edge.EdgeConfig(
            vectors={name: dense.to_edge() for name, dense in params.vectors.items()},
            sparse_vectors={name: sparse.to_edge() for name, sparse in params.sparse_vectors.items()},
            optimizers=_NO_GRAPH,
        )
        directory.mkdir()
        return cls(edge.EdgeShard.create(str(directory), config), params=params)

    @classmethod
    def load(cls, directory: Path, *, params: CollectionRequest) -> Collection:
        return cls(edge.EdgeShard.load(str(directory)), params=params)

    @property
    def params(self) -> CollectionRequest:
        return self._params

    def state(self) -> edge.ShardInfo:
        return self._shard.info()

    def create_index(self, request: IndexRequest) -> None:
        schema = request.field_schema.to_edge()
        self._update(edge.UpdateOperation.create_field_index(request.field_name, schema))

    def upsert(self, request: UpsertRequest) -> None:
        for point in request.points:
            for name, vector in point.vector.items():
                self._require_fit(name, vector)
        points = [point.to_edge() for point in request.points]
        condition = filter_to_edge(request.update_filter)
        self._update(edge.UpdateOperation.upsert_points(points, condition=condition))

    def set_payload(self, request: PayloadRequest) -> None:
        # The engine applies what it can before it fails on a missing point.
        found = {_key(record.id) for record in self._shard.retrieve(list(request.points), False, False)}
        for point_id in request.points:
            if point_id not in found:
                raise no_point(point_id)
        self._update(edge.UpdateOperation.set_payload(list(request.points), request.payload))

    def delete(self, request: DeleteRequest) -> None:
        self._update(edge.UpdateOperation.delete_points(list(request.points)))

    def retrieve(self, request: RetrieveRequest) -> list[edge.Record]:
        return self._shard.retrieve(list(request.ids), request.with_payload, request.with_vector)

    def scroll(self, request: ScrollRequest) -> tuple[list[edge.Record], edge.PointId | None]:
        return self._shard.scroll(
            edge.ScrollRequest(
                offset=request.offset,
                limit=request.limit,
                filter=filter_to_edge(request.filter),
                with_payload=request.with_payload,
                with_vector=request.with_vector,
            )
        )

    def count(self, request: CountRequest) -> int:
        return self._shard.count(
            edge.CountRequest(filter=filter_to_edge(request.filter), exact=request.exact)
        )

    def query(self, request: QueryRequest) -> list[edge.ScoredPoint]:
        for name, vector in request.vectors():
            self._require_fit(name, vector)
        ranked = sorted(self._shard.query(request.to_edge()), key=_rank)
        return ranked[request.offset : request.offset + request.limit]

    def flush(self) -> None:
        if self._unflushed:
            self._shard.flush()
            self._unflushed = False

    def vacuum(self) -> None:
        """Drop what deleted points left, where the engine finds it worth the pause."""
        if self._unvacuumed:
            self._shard.optimize()
            self._unvacuumed = False

    def close(self) -> None:
        self.flush()
        self._shard.close()

    def _update(self, operation: edge.UpdateOperation) -> None:
        self._shard.update(operation)
        self._unflushed = self._unvacuumed = True

    def _require_fit(self, name: str, vector: Vector) -> None:
        if isinstance(vector, Sparse):
            if name not in self._params.sparse_vectors:
                raise _no_vector(name)
            return
        dense = self._params.vectors.get(name)
        if dense is None:
            raise _no_vector(name)
        if len(vector) != dense.size:
            raise BadRequestError(
                f"Wrong input: Vector dimension error: expected dim: {dense.size}, got {len(vector)}"
            )


def _no_vector(name: str) -> BadRequestError:
    return BadRequestError(f"Wrong input: Not existing vector name error: {name}")


def _key(point_id: edge.PointId) -> int | str:
    return point_id if isinstance(point_id, int) else str(point_id)


def _rank(point: edge.ScoredPoint) -> tuple[float, bool, int | str]:
    key = _key(point.id)
    return -point.score, isinstance(key, str), key
