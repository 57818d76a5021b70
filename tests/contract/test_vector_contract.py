"""One contract for every vector server the product may talk to.

It runs on the local server, on qdrant-client's in-process mode and, where TURNKEEP_TEST_QDRANT_URL (with
TURNKEEP_TEST_QDRANT_API_KEY) names one, on a real Qdrant; all are held to the same plain calculation.

Left out, because the three differ there and the product does not rely on it: the order of equal scores;
inverse document frequencies after deletions (the engine counts deleted points until it vacuums); matching
booleans (never in a payload of ours); payload writes to missing points (the in-process mode raises KeyError).
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from qdrant_client import QdrantClient, models

from tests.contract.vector_collection import assert_ranked, create_collection, sparse, struct
from tests.fakes.vector_oracle import StoredPoint, VectorOracle, dbsf, random_points, rrf, top

pytestmark = pytest.mark.filterwarnings("ignore:Payload indexes have no effect in the local Qdrant")

_QUERY = [0.9, -0.3, 0.4, 0.1, -0.8, 0.2, 0.5, -0.1]
_TERMS = {1: 1.0, 5: 0.5, 17: 2.0, 33: 1.5}
_ACME = models.Filter(must=[models.FieldCondition(key="tenant", match=models.MatchValue(value="acme"))])


def _is_acme(point: StoredPoint) -> bool:
    return bool(point.payload["tenant"] == "acme")


def _hybrid(*, depth: int) -> list[models.Prefetch]:
    return [
        models.Prefetch(query=_QUERY, using="dense", limit=depth, filter=_ACME),
        models.Prefetch(query=sparse(_TERMS), using="lexical", limit=depth, filter=_ACME),
    ]


def test_a_collection_exists_from_creation_to_deletion(vector_client: QdrantClient) -> None:
    name = create_collection(vector_client)
    assert vector_client.collection_exists(name)
    assert name in {one.name for one in vector_client.get_collections().collections}
    vector_client.delete_collection(name)
    assert not vector_client.collection_exists(name)
    assert name not in {one.name for one in vector_client.get_collections().collections}


def test_a_collection_describes_its_vectors(vector_client: QdrantClient, filled: str) -> None:
    described = vector_client.get_collection(filled)
    assert described.points_count == 240
    params = described.config.params
    assert isinstance(params.vectors, dict)
    assert (params.vectors["dense"].size, params.vectors["dense"].distance) == (8, models.Distance.COSINE)
    assert params.sparse_vectors is not None
    assert params.sparse_vectors["lexical"].modifier == models.Modifier.IDF


def test_an_alias_reads_and_writes_its_collection(
    vector_client: QdrantClient, collection: str, alias: str
) -> None:
    _point_alias(vector_client, alias, at=collection)
    point = random_points(1, seed=1)[0]
    vector_client.upsert(alias, [struct(point)], wait=True)
    assert vector_client.count(collection, exact=True).count == 1
    assert vector_client.count(alias, exact=True).count == 1
    assert vector_client.collection_exists(alias)


def test_an_alias_switches_in_one_call(
    vector_client: QdrantClient, collection: str, filled: str, alias: str
) -> None:
    _point_alias(vector_client, alias, at=collection)
    vector_client.update_collection_aliases(
        [
            models.DeleteAliasOperation(delete_alias=models.DeleteAlias(alias_name=alias)),
            models.CreateAliasOperation(
                create_alias=models.CreateAlias(collection_name=filled, alias_name=alias)
            ),
        ]
    )
    assert vector_client.count(alias, exact=True).count == 240
    named = {one.alias_name: one.collection_name for one in vector_client.get_aliases().aliases}
    assert named[alias] == filled
    assert alias in {one.alias_name for one in vector_client.get_collection_aliases(filled).aliases}
    assert vector_client.get_collection_aliases(collection).aliases == []


@pytest.fixture
def alias(vector_client: QdrantClient, collection: str) -> Iterator[str]:
    name = f"{collection}_alias"
    yield name
    vector_client.update_collection_aliases(
        [models.DeleteAliasOperation(delete_alias=models.DeleteAlias(alias_name=name))]
    )


def _point_alias(client: QdrantClient, alias: str, *, at: str) -> None:
    created = models.CreateAlias(collection_name=at, alias_name=alias)
    client.update_collection_aliases([models.CreateAliasOperation(create_alias=created)])


def test_a_point_comes_back_as_it_was_written(
    vector_client: QdrantClient, filled: str, oracle: VectorOracle
) -> None:
    wanted = oracle.points[5]
    (found,) = vector_client.retrieve(filled, [wanted.id], with_payload=True, with_vectors=True)
    assert found.id == wanted.id
    assert found.payload == wanted.payload
    assert isinstance(found.vector, dict)
    lexical = found.vector["lexical"]
    assert isinstance(lexical, models.SparseVector)
    assert dict(zip(lexical.indices, lexical.values, strict=True)) == pytest.approx(dict(wanted.lexical))


def test_missing_points_are_left_out_of_what_is_retrieved(vector_client: QdrantClient, filled: str) -> None:
    absent = "00000000-0000-4000-8000-000000000000"
    known = random_points(1, seed=7)[0].id
    found = vector_client.retrieve(filled, [absent, known], with_payload=["city", "note"])
    assert [point.id for point in found] == [known]
    assert set(found[0].payload or ()) <= {"city", "note"}


def test_an_upsert_replaces_the_whole_point(vector_client: QdrantClient, collection: str) -> None:
    first, second = random_points(2, seed=3)
    vector_client.upsert(collection, [struct(first)], wait=True)
    replacement = StoredPoint(
        id=first.id, dense=second.dense, lexical=second.lexical, payload={"tenant": "新租户"}
    )
    vector_client.upsert(collection, [struct(replacement)], wait=True)
    (found,) = vector_client.retrieve(collection, [first.id])
    assert found.payload == {"tenant": "新租户"}
    nearest = vector_client.query_points(collection, query=second.dense, using="dense")
    assert [point.score for point in nearest.points] == pytest.approx([1.0])


def test_integer_ids_stay_integers(vector_client: QdrantClient, collection: str) -> None:
    vector = {"dense": _QUERY}
    vector_client.upsert(collection, [models.PointStruct(id=7, vector=vector, payload={})], wait=True)
    points, _ = vector_client.scroll(collection)
    assert [point.id for point in points] == [7]
    assert [
        point.id for point in vector_client.query_points(collection, query=_QUERY, using="dense").points
    ] == [7]


def test_set_payload_changes_the_named_keys_of_the_named_points(
    vector_client: QdrantClient, collection: str
) -> None:
    changed, untouched = random_points(2, seed=3)
    vector_client.upsert(collection, [struct(changed), struct(untouched)], wait=True)
    vector_client.set_payload(collection, {"city": "深圳", "extra": [1, 2]}, points=[changed.id], wait=True)
    found = {
        str(point.id): point.payload
        for point in vector_client.retrieve(collection, [changed.id, untouched.id])
    }
    assert found[changed.id] == {**changed.payload, "city": "深圳", "extra": [1, 2]}
    assert found[untouched.id] == untouched.payload


def test_deleted_points_are_gone_from_every_read(vector_client: QdrantClient, collection: str) -> None:
    points = random_points(10, seed=3)
    vector_client.upsert(collection, [struct(point) for point in points], wait=True)
    deleted = {point.id for point in points[:4]}
    vector_client.delete(collection, models.PointIdsList(points=sorted(deleted)), wait=True)
    vector_client.delete(collection, models.PointIdsList(points=sorted(deleted)), wait=True)
    assert vector_client.retrieve(collection, sorted(deleted)) == []
    assert vector_client.count(collection, exact=True).count == 6
    ranked = vector_client.query_points(collection, query=_QUERY, using="dense", limit=10)
    assert {str(point.id) for point in ranked.points} == {point.id for point in points[4:]}


def test_scrolling_pages_through_every_point_once(
    vector_client: QdrantClient, filled: str, oracle: VectorOracle
) -> None:
    seen: list[str] = []
    page, offset = vector_client.scroll(filled, limit=37)
    seen.extend(str(point.id) for point in page)
    while offset is not None:
        page, offset = vector_client.scroll(filled, limit=37, offset=offset)
        seen.extend(str(point.id) for point in page)
    assert seen == sorted(point.id for point in oracle.points)


def test_a_dense_search_ranks_by_cosine(
    vector_client: QdrantClient, filled: str, oracle: VectorOracle
) -> None:
    found = vector_client.query_points(filled, query=_QUERY, using="dense", limit=25)
    assert_ranked(found, oracle.dense(_QUERY), limit=25)


def test_a_search_can_start_further_down(
    vector_client: QdrantClient, filled: str, oracle: VectorOracle
) -> None:
    found = vector_client.query_points(filled, query=_QUERY, using="dense", limit=10, offset=10)
    assert [str(point.id) for point in found.points] == list(top(oracle.dense(_QUERY), 20))[10:]


def test_a_lexical_search_weighs_rare_terms_higher(
    vector_client: QdrantClient, filled: str, oracle: VectorOracle
) -> None:
    found = vector_client.query_points(filled, query=sparse(_TERMS), using="lexical", limit=25)
    assert_ranked(found, oracle.lexical(_TERMS), limit=25)


def test_a_lexical_search_finds_only_points_that_share_a_term(
    vector_client: QdrantClient, filled: str, oracle: VectorOracle
) -> None:
    found = vector_client.query_points(filled, query=sparse({3: 1.0}), using="lexical", limit=240)
    assert {str(point.id) for point in found.points} == oracle.ids(lambda point: 3 in point.lexical)


def test_a_threshold_cuts_the_weaker_scores(
    vector_client: QdrantClient, filled: str, oracle: VectorOracle
) -> None:
    found = vector_client.query_points(filled, query=_QUERY, using="dense", score_threshold=0.3, limit=240)
    above = {point_id: score for point_id, score in oracle.dense(_QUERY).items() if score >= 0.3}
    assert 0 < len(above) < 240
    assert_ranked(found, above, limit=240)


@pytest.mark.parametrize("limit", [5, 60])
def test_reciprocal_ranks_fuse_dense_and_lexical_lists(
    vector_client: QdrantClient, filled: str, oracle: VectorOracle, limit: int
) -> None:
    found = vector_client.query_points(
        filled, prefetch=_hybrid(depth=20), query=models.FusionQuery(fusion=models.Fusion.RRF), limit=limit
    )
    dense, lexical = oracle.dense(_QUERY, wanted=_is_acme), oracle.lexical(_TERMS, wanted=_is_acme)
    assert_ranked(found, rrf(top(dense, 20), top(lexical, 20)), limit=limit)


def test_score_distributions_fuse_dense_and_lexical_lists(
    vector_client: QdrantClient, filled: str, oracle: VectorOracle
) -> None:
    found = vector_client.query_points(
        filled, prefetch=_hybrid(depth=20), query=models.FusionQuery(fusion=models.Fusion.DBSF), limit=60
    )
    dense, lexical = oracle.dense(_QUERY, wanted=_is_acme), oracle.lexical(_TERMS, wanted=_is_acme)
    assert_ranked(found, dbsf(top(dense, 20), top(lexical, 20)), limit=60)


def test_a_batch_answers_each_search_as_it_would_alone(
    vector_client: QdrantClient, filled: str, oracle: VectorOracle
) -> None:
    dense = models.QueryRequest(query=_QUERY, using="dense", limit=5, filter=_ACME)
    lexical = models.QueryRequest(query=sparse(_TERMS), using="lexical", limit=5)
    first, second = vector_client.query_batch_points(filled, [dense, lexical])
    assert_ranked(first, oracle.dense(_QUERY, wanted=_is_acme), limit=5)
    assert_ranked(second, oracle.lexical(_TERMS), limit=5)


def test_a_search_hands_back_the_payload_that_was_asked_for(
    vector_client: QdrantClient, filled: str, oracle: VectorOracle
) -> None:
    payloads = {point.id: point.payload for point in oracle.points}
    bare = vector_client.query_points(filled, query=_QUERY, using="dense", limit=3, with_payload=False)
    whole = vector_client.query_points(filled, query=_QUERY, using="dense", limit=3, with_payload=True)
    part = vector_client.query_points(filled, query=_QUERY, using="dense", limit=3, with_payload=["city"])
    assert [point.payload or None for point in bare.points] == [None] * 3
    assert all(point.payload == payloads[str(point.id)] for point in whole.points)
    assert all(point.payload == {"city": payloads[str(point.id)]["city"]} for point in part.points)
