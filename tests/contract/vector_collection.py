"""The collection of the vector contract, made as the product makes its own."""

from __future__ import annotations

import os
from itertools import count

import pytest
from qdrant_client import QdrantClient, models

from tests.fakes.vector_oracle import DIMENSION, Scores, StoredPoint, top

_NUMBERS = count()


def create_collection(client: QdrantClient) -> str:
    name = f"contract_{os.getpid()}_{next(_NUMBERS)}"
    client.create_collection(
        name,
        vectors_config={"dense": models.VectorParams(size=DIMENSION, distance=models.Distance.COSINE)},
        sparse_vectors_config={"lexical": models.SparseVectorParams(modifier=models.Modifier.IDF)},
    )
    tenant_index = models.KeywordIndexParams(type=models.KeywordIndexType.KEYWORD, is_tenant=True)
    client.create_payload_index(name, "tenant", tenant_index, wait=True)
    client.create_payload_index(name, "city", models.PayloadSchemaType.KEYWORD, wait=True)
    client.create_payload_index(name, "said_at", models.PayloadSchemaType.DATETIME, wait=True)
    return name


def sparse(terms: dict[int, float]) -> models.SparseVector:
    return models.SparseVector(indices=list(terms), values=list(terms.values()))


def struct(point: StoredPoint) -> models.PointStruct:
    vector = {"dense": point.dense, "lexical": sparse(dict(point.lexical))}
    return models.PointStruct(id=point.id, vector=vector, payload=point.payload)


def assert_ranked(found: models.QueryResponse, expected: Scores, *, limit: int) -> None:
    """The right scores in the right order; which of several equal ones stands first is left open."""
    scores = [point.score for point in found.points]
    assert scores == pytest.approx(list(top(expected, limit).values()), abs=1e-5)
    ids = [str(point.id) for point in found.points]
    assert len(set(ids)) == len(ids)
    assert scores == pytest.approx([expected[point_id] for point_id in ids], abs=1e-5)
