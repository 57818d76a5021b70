"""Points in the vector index follow their memories."""

from __future__ import annotations

from collections.abc import Iterator

import httpx2
import pytest
from qdrant_client import QdrantClient

from infra.embedded.stack import EmbeddedStack
from shared.stores import qdrant
from tests.integration.talking import add, await_live
from tests.running import Deployment


class Points:
    def __init__(self, client: QdrantClient, *, alias: str) -> None:
        self._client = client
        self._alias = alias

    def among(self, *memory_ids: str) -> set[str]:
        found = self._client.retrieve(self._alias, list(memory_ids), with_payload=False, with_vectors=False)
        return {str(point.id) for point in found}


@pytest.fixture
def points(stack: EmbeddedStack, running: Deployment) -> Iterator[Points]:
    client = qdrant.connect(stack.qdrant_url, api_key=stack.qdrant_api_key, timeout=5)
    yield Points(client, alias=running.database.name)
    client.close()


def test_a_point_leaves_with_its_memory(live: httpx2.Client, points: Points) -> None:
    kept, gone = add(live, "Breeds alpacas."), add(live, "Sails a ketch.")
    await_live(live, kept, gone)
    assert points.among(kept, gone) == {kept, gone}
    assert live.delete(f"/v1/memories/{gone}").status_code == 204
    await_live(live, kept)
    assert points.among(kept, gone) == {kept}


def test_a_point_leaves_a_memory_in_quarantine_and_comes_back(live: httpx2.Client, points: Points) -> None:
    memory_id = add(live, "Collects zithers.")
    await_live(live, memory_id)
    for state, expected in (("quarantined", set()), ("live", {memory_id})):
        assert live.patch(f"/v1/memories/{memory_id}", json={"state": state}).status_code == 200
        await_live(live, memory_id)
        assert points.among(memory_id) == expected


def test_a_memory_deleted_before_its_merge_never_gets_a_point(
    live: httpx2.Client, points: Points, running: Deployment
) -> None:
    with running.paused():
        gone = add(live, "Paints miniatures.")
        assert live.delete(f"/v1/memories/{gone}").status_code == 204
    later = add(live, "Restores clocks.")
    await_live(live, later)
    assert points.among(gone, later) == {later}
