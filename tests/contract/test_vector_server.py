"""What the local vector server promises beyond the contract: refusals, order of ties, what a kill leaves."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from qdrant_client import QdrantClient, models
from qdrant_client.http.exceptions import UnexpectedResponse

from tests.contract.vector_collection import create_collection, sparse, struct
from tests.contract.vector_local import API_KEY, LocalVectors
from tests.fakes.vector_oracle import random_points

_UNIT = [1.0, 0, 0, 0, 0, 0, 0, 0]


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalVectors]:
    with LocalVectors(tmp_path_factory.mktemp("vector server")) as running:
        yield running


@pytest.fixture
def name(local: LocalVectors) -> Iterator[str]:
    created = create_collection(local.client)
    yield created
    local.client.delete_collection(created)


def _send(
    local: LocalVectors, method: str, path: str, *, body: str = "", key: str = API_KEY
) -> tuple[int, Any]:
    connection = HTTPConnection(urlsplit(local.url).netloc)
    try:
        connection.request(method, path, body.encode(), {"api-key": key})
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())
    finally:
        connection.close()


@pytest.mark.parametrize("key", ["", "wrong", API_KEY + "x"])
def test_without_the_key_nothing_is_answered(local: LocalVectors, name: str, key: str) -> None:
    status, answer = _send(local, "GET", f"/collections/{name}", key=key)
    assert status == 401
    assert "result" not in answer


@pytest.mark.parametrize(
    ("point", "reason"),
    [
        ('{"id": 1, "vector": {"dense": [1, 0]}}', "expected dim: 8, got 2"),
        ('{"id": 1, "vector": {"dense": [NaN, 0, 0, 0, 0, 0, 0, 0]}}', "Format error"),
        ('{"id": 1, "vector": {"dense": [1e999, 0, 0, 0, 0, 0, 0, 0]}}', "finite"),
        ('{"id": 1, "vector": {"dense": [1e39, 0, 0, 0, 0, 0, 0, 0]}}', "less than or equal"),
        ('{"id": 1, "vector": {"dense": ["1", 0, 0, 0, 0, 0, 0, 0]}}', "valid number"),
        ('{"id": 1, "vector": {"dense": {"indices": [1], "values": [1]}}}', "Not existing vector name"),
        ('{"id": 1, "vector": {"other": [1, 0]}}', "Not existing vector name error: other"),
        ('{"id": 1, "vector": {"lexical": {"indices": [1, 1], "values": [1, 2]}}}', "unique"),
        ('{"id": 1, "vector": {"lexical": {"indices": [1], "values": [1, 2]}}}', "same length"),
        ('{"id": 1, "vector": {"lexical": {"indices": [-1], "values": [1]}}}', "greater than or equal"),
        ('{"id": "客户", "vector": {}}', "not a valid point ID"),
        ('{"id": -1, "vector": {}}', "greater than or equal"),
        ('{"id": true, "vector": {}}', "valid"),
        ('{"id": 1, "vector": {}, "payload": {"text": "\\ud800"}}', "Format error"),
        ('{"id": 1, "vector": {}, "payload": {"price": 1e999}}', "number"),
        ('{"id": 1, "vector": {}, "payload": "北京"}', "valid dictionary"),
        ('{"id": 1}', "Field required"),
    ],
)
def test_a_bad_point_is_refused_and_so_is_the_good_one_beside_it(
    local: LocalVectors, name: str, point: str, reason: str
) -> None:
    good = '{"id": 2, "vector": {}, "payload": {"tenant": "acme"}}'
    body = f'{{"points": [{good}, {point}]}}'
    status, answer = _send(local, "PUT", f"/collections/{name}/points?wait=true", body=body)
    assert status == 400
    assert reason in answer["status"]["error"]
    assert local.client.count(name, exact=True).count == 0


@pytest.mark.parametrize(
    "wanted",
    [
        '{"must": [{"key": "open", "match": {"value": true}}]}',
        '{"must": [{"key": "open", "match": {"any": [true]}}]}',
        '{"must": [{"key": "tenant"}]}',
        '{"must": [{"key": "tenant", "match": {"text": "acme"}}]}',
        '{"must": [{"key": "a..[", "match": {"value": "acme"}}]}',
        '{"must": [{"key": "at", "range": {"gte": "yesterday"}}]}',
        '{"must": [{"key": "n", "match": {"value": 9223372036854775808}}]}',
        '{"must": [{"has_id": ["nobody"]}]}',
        '{"must": [{"key": "place", "geo_radius": {"center": {"lat": 1, "lon": 1}, "radius": 1}}]}',
        '{"mustt": []}',
    ],
)
def test_a_filter_that_is_not_served_is_refused_rather_than_dropped(
    local: LocalVectors, name: str, wanted: str
) -> None:
    path = f"/collections/{name}/points"
    assert _send(local, "POST", f"{path}/count", body=f'{{"filter": {wanted}}}')[0] == 400
    assert _send(local, "POST", f"{path}/scroll", body=f'{{"filter": {wanted}}}')[0] == 400


@pytest.mark.parametrize(
    "query",
    [
        '{"query": [1, 0], "using": "dense"}',
        '{"query": [1, 0, 0, 0, 0, 0, 0, 0]}',
        '{"query": [1, 0, 0, 0, 0, 0, 0, 0], "using": "lexical"}',
        '{"query": {"indices": [1], "values": [1]}, "using": "dense"}',
        '{"prefetch": [{"query": [1, 0], "using": "dense"}], "query": {"fusion": "rrf"}}',
        '{"query": {"fusion": "rrf"}}',
        (
            '{"prefetch": {"query": {"indices": [1], "values": [1]}, "using": "lexical"},'
            ' "query": {"rrf": {"weights": []}}}'
        ),
        '{"query": [1, 0, 0, 0, 0, 0, 0, 0], "using": "dense", "limit": 0}',
        "{",
        '{"filter": ' * 2000 + "{}" + "}" * 2000,
    ],
)
def test_a_bad_query_is_refused(local: LocalVectors, name: str, query: str) -> None:
    assert _send(local, "POST", f"/collections/{name}/points/query", body=query)[0] == 400


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/collections/absent"),
        ("PUT", "/collections/absent/points"),
        ("POST", "/collections/absent/points/scroll"),
        ("POST", "/collections/absent/facet"),
        ("GET", "/metrics"),
    ],
)
def test_what_does_not_exist_is_404(local: LocalVectors, method: str, path: str) -> None:
    status, answer = _send(local, method, path, body='{"points": []}' if method == "PUT" else "{}")
    assert status == 404
    assert answer["status"]["error"]


def test_a_collection_is_not_created_twice(local: LocalVectors, name: str) -> None:
    assert _send(local, "PUT", f"/collections/{name}", body="{}")[0] == 409


def test_payload_is_set_on_all_the_points_or_on_none(local: LocalVectors, name: str) -> None:
    point = random_points(1, seed=3)[0]
    local.client.upsert(name, [struct(point)], wait=True)
    absent = "00000000-0000-4000-8000-000000000000"
    with pytest.raises(UnexpectedResponse, match=absent) as refused:
        local.client.set_payload(name, {"city": "深圳"}, points=[point.id, absent])
    assert refused.value.status_code == 404
    assert local.client.retrieve(name, [point.id])[0].payload == point.payload


def test_points_are_not_deleted_by_filter(local: LocalVectors, name: str) -> None:
    local.client.upsert(name, [struct(random_points(1, seed=3)[0])], wait=True)
    with pytest.raises(UnexpectedResponse, match="400"):
        local.client.delete(name, models.FilterSelector(filter=models.Filter()))
    assert local.client.count(name, exact=True).count == 1


def test_alias_changes_happen_together_or_not_at_all(local: LocalVectors, name: str) -> None:
    _alias(local.client, "kept", at=name)
    with pytest.raises(UnexpectedResponse, match="Collection `absent`"):
        local.client.update_collection_aliases(
            [
                models.DeleteAliasOperation(delete_alias=models.DeleteAlias(alias_name="kept")),
                models.CreateAliasOperation(
                    create_alias=models.CreateAlias(collection_name="absent", alias_name="kept")
                ),
            ]
        )
    assert [one.alias_name for one in local.client.get_collection_aliases(name).aliases] == ["kept"]


def test_the_tenant_index_is_reported(local: LocalVectors, name: str) -> None:
    schema = local.client.get_collection(name).payload_schema
    assert isinstance(schema["tenant"].params, models.KeywordIndexParams)
    assert schema["tenant"].params.is_tenant is True
    assert {field: index.data_type for field, index in schema.items()} == {
        "tenant": models.PayloadSchemaType.KEYWORD,
        "city": models.PayloadSchemaType.KEYWORD,
        "said_at": models.PayloadSchemaType.DATETIME,
    }


def test_equal_scores_stand_in_the_order_of_their_ids(local: LocalVectors, name: str) -> None:
    points = [
        models.PointStruct(id=number, vector={"dense": _UNIT}, payload={}) for number in range(30, 0, -1)
    ]
    local.client.upsert(name, points, wait=True)
    found = local.client.query_points(name, query=_UNIT, using="dense", limit=30)
    assert [point.id for point in found.points] == list(range(1, 31))


def test_a_fusion_gives_the_same_order_each_time(local: LocalVectors, name: str) -> None:
    local.client.upsert(name, [struct(point) for point in random_points(60, seed=5)], wait=True)
    prefetch = [
        models.Prefetch(query=_UNIT, using="dense", limit=20),
        models.Prefetch(query=sparse({1: 1.0, 5: 1.0, 9: 1.0}), using="lexical", limit=20),
    ]
    fusion = models.FusionQuery(fusion=models.Fusion.RRF)
    orders = {
        tuple(point.id for point in local.client.query_points(name, prefetch=prefetch, query=fusion).points)
        for _ in range(30)
    }
    assert len(orders) == 1


def test_all_that_was_answered_survives_a_kill(tmp_path: Path) -> None:
    points = random_points(50, seed=11)
    with LocalVectors(tmp_path) as first:
        kept, dropped = create_collection(first.client), create_collection(first.client)
        _alias(first.client, "current", at=kept)
        first.client.upsert(kept, [struct(point) for point in points], wait=True)
        first.client.set_payload(kept, {"city": "深圳"}, points=[points[0].id])
        first.client.delete(kept, models.PointIdsList(points=[points[1].id]))
        first.client.delete_collection(dropped)
        first.kill()
    _folders(tmp_path).joinpath("unfinished").mkdir()
    with LocalVectors(tmp_path) as second:
        assert [one.name for one in second.client.get_collections().collections] == [kept]
        found, _ = second.client.scroll("current", limit=100)
        assert {point.id for point in found} == {point.id for point in points} - {points[1].id}
        assert second.client.retrieve("current", [points[0].id])[0].payload == {
            **points[0].payload,
            "city": "深圳",
        }
        assert second.client.get_collection(kept).payload_schema["tenant"].points == 49
    assert len(list(_folders(tmp_path).iterdir())) == 1


def _folders(home: Path) -> Path:
    return home / "vectors" / "collections"


def _alias(client: QdrantClient, alias: str, *, at: str) -> None:
    created = models.CreateAlias(collection_name=at, alias_name=alias)
    client.update_collection_aliases([models.CreateAliasOperation(create_alias=created)])
