"""Fixtures of the vector contract (see test_vector_contract)."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from qdrant_client import QdrantClient

from tests.contract.vector_collection import create_collection, struct
from tests.contract.vector_local import LocalVectors
from tests.fakes.vector_oracle import VectorOracle, random_points

_REAL_URL = os.environ.get("TURNKEEP_TEST_QDRANT_URL")


def _local_client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[QdrantClient]:
    with LocalVectors(tmp_path_factory.mktemp("vector contract")) as local:
        yield local.client


def _memory_client(_factory: pytest.TempPathFactory) -> Iterator[QdrantClient]:
    yield from _closing(QdrantClient(":memory:"))


def _real_client(_factory: pytest.TempPathFactory) -> Iterator[QdrantClient]:
    key = os.environ.get("TURNKEEP_TEST_QDRANT_API_KEY")
    headers = {"api-key": key} if key else {}
    yield from _closing(QdrantClient(url=_REAL_URL, metadata=headers, prefer_grpc=False))


def _closing(client: QdrantClient) -> Iterator[QdrantClient]:
    yield client
    client.close()


_SERVERS = {"local": _local_client, "memory": _memory_client} | ({"real": _real_client} if _REAL_URL else {})


@pytest.fixture(scope="module", params=_SERVERS)
def vector_client(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[QdrantClient]:
    yield from _SERVERS[request.param](tmp_path_factory)


@pytest.fixture
def collection(vector_client: QdrantClient) -> Iterator[str]:
    """An empty collection as the product makes it."""
    name = create_collection(vector_client)
    yield name
    vector_client.delete_collection(name)


@pytest.fixture(scope="module")
def oracle() -> VectorOracle:
    return VectorOracle(random_points(240, seed=7))


@pytest.fixture(scope="module")
def filled(vector_client: QdrantClient, oracle: VectorOracle) -> Iterator[str]:
    """A collection with the oracle's points; tests read it only."""
    name = create_collection(vector_client)
    vector_client.upsert(name, [struct(point) for point in oracle.points], wait=True)
    yield name
    vector_client.delete_collection(name)
