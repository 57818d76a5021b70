"""The vector index over the local server: one tenant's points, by id, at their version."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from uuid import UUID, uuid4

import pytest
from qdrant_client import QdrantClient

from infra.embedded.loopback import HOST, free_port
from infra.embedded.stack import EmbeddedStack
from shared.domain.errors import IndexUnavailable, SettingsError
from shared.domain.ids import MemoryId, TenantId, UserKey
from shared.domain.memory import Kind
from shared.inference.embedders.hashing import HashingEmbedder
from shared.ports import Point, VectorIndex
from shared.stores import qdrant
from shared.text.lexical import document_vector, query_vector

EMBEDDER = HashingEmbedder()
ANN = UserKey(UUID(int=1))
BOB = UserKey(UUID(int=2))


@dataclass(frozen=True, slots=True)
class Alias:
    client: QdrantClient
    name: str

    def open(self, tenant: int = 1) -> VectorIndex:
        return qdrant.index_on(self.client, alias=self.name)(TenantId(UUID(int=tenant)))

    def prepare(self, *, embedder: str = EMBEDDER.name, dimension: int = EMBEDDER.dimension) -> None:
        qdrant.prepare(self.client, alias=self.name, embedder=embedder, dimension=dimension)


@pytest.fixture
def alias(stack: EmbeddedStack) -> Iterator[Alias]:
    client = qdrant.connect(stack.qdrant_url, api_key=stack.qdrant_api_key, timeout=5)
    made = Alias(client, f"alias-{uuid4().hex[:8]}")
    made.prepare()
    yield made
    client.delete_collection(qdrant.collection_name(made.name, embedder=EMBEDDER.name))
    client.close()


def _point(
    said: str, *, user_key: UserKey = ANN, version: int = 1, kind: Kind = "fact", memory_id: int | None = None
) -> Point:
    return Point(
        memory_id=MemoryId(UUID(int=memory_id) if memory_id else uuid4()),
        user_key=user_key,
        version=version,
        kind=kind,
        dense=EMBEDDER.passages([said])[0],
        lexical=document_vector(said),
    )


def _dense(index: VectorIndex, said: str, *, kinds: Sequence[Kind] = ()) -> list[MemoryId]:
    vector = EMBEDDER.query(said, deadline=1.0)
    hits = index.search(ANN, dense=vector, lexical=None, limit=10, kinds=kinds)
    return [hit.memory_id for hit in hits.dense]


def test_an_upsert_is_there_when_it_returns_and_replaces_by_id(alias: Alias) -> None:
    index = alias.open()
    index.upsert([_point("one", memory_id=7, version=1)])
    assert index.versions([MemoryId(UUID(int=7))]) == {UUID(int=7): 1}
    index.upsert([_point("two", memory_id=7, version=2)])
    assert index.versions([MemoryId(UUID(int=7))]) == {UUID(int=7): 2}
    assert index.count(ANN) == 1


def test_a_delete_by_id_leaves_the_others_and_minds_no_unknown_id(alias: Alias) -> None:
    index = alias.open()
    kept, gone = _point("kept"), _point("gone")
    index.upsert([kept, gone])
    index.delete([gone.memory_id, MemoryId(uuid4())])
    assert index.versions([kept.memory_id, gone.memory_id]) == {kept.memory_id: 1}


def test_the_channels_come_apart_and_each_finds_its_own(alias: Alias) -> None:
    index = alias.open()
    error, battery = _point("the headset shows error E-1042"), _point("电池充不满电")
    index.upsert([error, battery])
    hits = index.search(
        ANN, dense=EMBEDDER.query("error E-1042", deadline=1.0), lexical=query_vector("电池"), limit=10
    )
    assert hits.dense[0].memory_id == error.memory_id
    assert [hit.memory_id for hit in hits.lexical] == [battery.memory_id]
    assert index.search(ANN, dense=None, lexical=None, limit=10) == type(hits)(dense=(), lexical=())


def test_equal_scores_come_in_the_order_of_their_ids(alias: Alias) -> None:
    index = alias.open()
    ids = [MemoryId(UUID(int=number)) for number in (9, 3, 7, 1)]
    index.upsert([_point("the same", memory_id=each.int) for each in ids])
    assert [_dense(index, "the same") for _ in range(5)] == [sorted(ids)] * 5


def test_a_search_finds_one_users_points_of_the_kinds_asked_for(alias: Alias) -> None:
    index = alias.open()
    fact, episode = _point("said", kind="fact"), _point("said", kind="episode")
    index.upsert([fact, episode, _point("said", user_key=BOB)])
    assert sorted(_dense(index, "said")) == sorted([fact.memory_id, episode.memory_id])
    assert _dense(index, "said", kinds=("fact",)) == [fact.memory_id]
    assert (index.count(ANN), index.count(BOB)) == (2, 1)


def test_another_tenant_finds_counts_and_reads_nothing(alias: Alias) -> None:
    point = _point("said")
    alias.open(1).upsert([point])
    other = alias.open(2)
    assert _dense(other, "said") == []
    assert other.count(ANN) == 0
    assert other.versions([point.memory_id]) == {}


def test_preparing_again_changes_nothing(alias: Alias) -> None:
    point = _point("said")
    alias.open().upsert([point])
    alias.prepare()
    assert alias.open().versions([point.memory_id]) == {point.memory_id: 1}


@pytest.mark.parametrize("other", [{"embedder": "another"}, {"dimension": 3}])
def test_the_collection_of_another_embedder_or_dimension_is_refused_with_the_next_step(
    alias: Alias, other: dict[str, object]
) -> None:
    embedder, dimension = other.get("embedder", EMBEDDER.name), other.get("dimension", EMBEDDER.dimension)
    with pytest.raises(SettingsError, match="set TURNKEEP_EMBEDDER__NAME back"):
        alias.prepare(embedder=str(embedder), dimension=int(str(dimension)))


def test_a_server_that_does_not_answer_or_knows_us_not_is_said_to_be_unavailable(
    stack: EmbeddedStack, alias: Alias
) -> None:
    """Also without an API key, which many a server of one's own does not ask for."""
    for url in (f"http://{HOST}:{free_port()}", stack.qdrant_url):
        client = qdrant.connect(url, api_key=None, timeout=1)
        index = qdrant.index_on(client, alias=alias.name)(TenantId(UUID(int=1)))
        point = _point("said")
        for call in _calls(index, point=point):
            with pytest.raises(IndexUnavailable):
                call()
        client.close()


def _calls(index: VectorIndex, *, point: Point) -> list[Callable[[], object]]:
    return [
        lambda: index.upsert([point]),
        lambda: index.delete([point.memory_id]),
        lambda: index.versions([point.memory_id]),
        lambda: index.count(ANN),
        lambda: index.search(ANN, dense=point.dense, lexical=None, limit=1),
    ]
