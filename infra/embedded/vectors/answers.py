"""What the engine returns, as the JSON Qdrant answers with."""

from __future__ import annotations

from collections.abc import Mapping

import qdrant_edge as edge

from infra.embedded.vectors.collection import Collection

Json = Mapping[str, object]

# The engine builds no graph; these are what Qdrant reports for an untuned collection.
_HNSW = {"m": 16, "ef_construct": 100, "full_scan_threshold": 10000}
_OPTIMIZER = {
    "deleted_threshold": 0.2,
    "vacuum_min_vector_number": 1000,
    "default_segment_number": 0,
    "flush_interval_sec": 5,
}


def record(found: edge.Record) -> Json:
    answer: dict[str, object] = {"id": point_id(found.id), "payload": found.payload}
    if found.vector is not None:
        answer["vector"] = _vectors(found.vector)
    return answer


def scored(found: edge.ScoredPoint) -> Json:
    answer: dict[str, object] = {
        "id": point_id(found.id),
        "version": found.version,
        "score": found.score,
        "payload": found.payload,
    }
    if found.vector is not None:
        answer["vector"] = _vectors(found.vector)
    return answer


def point_id(found: edge.PointId) -> int | str:
    return found if isinstance(found, int) else str(found)


def description(collection: Collection) -> Json:
    state = collection.state()
    params = {
        "vectors": {name: dense.model_dump() for name, dense in collection.params.vectors.items()},
        "sparse_vectors": {
            name: sparse.model_dump(exclude_none=True)
            for name, sparse in collection.params.sparse_vectors.items()
        },
    }
    return {
        "status": "green",
        "optimizer_status": "ok",
        "points_count": state.points_count,
        "indexed_vectors_count": state.indexed_vectors_count,
        "segments_count": state.segments_count,
        "config": {"params": params, "hnsw_config": _HNSW, "optimizer_config": _OPTIMIZER},
        "payload_schema": {field: _index(index) for field, index in state.payload_schema.items()},
    }


def _index(index: edge.PayloadIndexInfo) -> Json:
    kind = str(index.data_type).rsplit(".", 1)[-1].lower()
    params: dict[str, object] = {"type": kind}
    if isinstance(index.params, edge.KeywordIndexParams | edge.UuidIndexParams):
        params["is_tenant"] = bool(index.params.is_tenant)
    return {"data_type": kind, "params": params, "points": index.points}


def _vectors(vectors: edge.Vector) -> object:
    if isinstance(vectors, dict):
        return {name: _vector(vector) for name, vector in vectors.items()}
    return vectors


def _vector(vector: edge.NamedVector) -> object:
    if isinstance(vector, edge.SparseVector):
        return {"indices": vector.indices, "values": vector.values}
    return vector
