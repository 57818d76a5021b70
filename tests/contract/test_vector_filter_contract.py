"""Every kind of filter the vector contract covers, on every server; each has a plain predicate beside it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from qdrant_client import QdrantClient, models

from tests.contract.vector_collection import assert_ranked
from tests.fakes.vector_oracle import StoredPoint, VectorOracle, random_points

pytestmark = pytest.mark.filterwarnings("ignore:Payload indexes have no effect in the local Qdrant")

_QUERY = [0.9, -0.3, 0.4, 0.1, -0.8, 0.2, 0.5, -0.1]


def _field(key: str, **condition: Any) -> models.FieldCondition:
    return models.FieldCondition(key=key, **condition)


def _is(key: str, value: str | int) -> models.FieldCondition:
    return _field(key, match=models.MatchValue(value=value))


_SOME_IDS = [point.id for point in random_points(240, seed=7)[10:25]]
_FILTERS: dict[str, tuple[models.Filter, Callable[[StoredPoint], bool]]] = {
    "value": (
        models.Filter(must=[_is("tenant", "北京烤鸭店")]),
        lambda point: point.payload["tenant"] == "北京烤鸭店",
    ),
    "value without an index": (
        models.Filter(must=[_is("version", 3)]),
        lambda point: point.payload["version"] == 3,
    ),
    "value in a list": (
        models.Filter(must=[_is("entities", "退款")]),
        lambda point: "退款" in point.payload["entities"],
    ),
    "any": (
        models.Filter(must=[_field("city", match=models.MatchAny(any=["北京", "Berlin"]))]),
        lambda point: point.payload["city"] in {"北京", "Berlin"},
    ),
    "except": (
        models.Filter(must=[_field("city", match=models.MatchExcept(**{"except": ["上海"]}))]),
        lambda point: point.payload["city"] != "上海",
    ),
    "number range": (
        models.Filter(must=[_field("price", range=models.Range(gt=20, lte=60))]),
        lambda point: 20 < point.payload["price"] <= 60,
    ),
    "time range": (
        models.Filter(must=[_field("said_at", range=models.DatetimeRange(gte="2026-05-01T00:00:00Z"))]),
        lambda point: point.payload["said_at"] >= "2026-05-01",
    ),
    "ids": (
        models.Filter(must=[models.HasIdCondition(has_id=_SOME_IDS)]),
        lambda point: point.id in _SOME_IDS,
    ),
    "must not": (
        models.Filter(must=[_is("tenant", "acme")], must_not=[_is("city", "北京")]),
        lambda point: point.payload["tenant"] == "acme" and point.payload["city"] != "北京",
    ),
    "should inside must": (
        models.Filter(
            must=[
                _is("tenant", "acme"),
                models.Filter(should=[_is("city", "上海"), _field("price", range=models.Range(lt=10))]),
            ]
        ),
        lambda point: (
            point.payload["tenant"] == "acme"
            and (point.payload["city"] == "上海" or point.payload["price"] < 10)
        ),
    ),
    "at least two": (
        models.Filter(
            min_should=models.MinShould(
                conditions=[_is("tenant", "acme"), _is("city", "北京"), _is("version", 1)], min_count=2
            )
        ),
        lambda point: (
            (
                [
                    point.payload["tenant"] == "acme",
                    point.payload["city"] == "北京",
                    point.payload["version"] == 1,
                ]
            ).count(True)
            >= 2
        ),
    ),
    "one element of a list": (
        models.Filter(
            must=[
                models.NestedCondition(
                    nested=models.Nested(
                        key="items", filter=models.Filter(must=[_is("sku", "a"), _is("count", 2)])
                    )
                )
            ]
        ),
        lambda point: {"sku": "a", "count": 2} in point.payload["items"],
    ),
    "empty": (
        models.Filter(must=[models.IsEmptyCondition(is_empty=models.PayloadField(key="note"))]),
        lambda point: not point.payload.get("note"),
    ),
    "null": (
        models.Filter(must=[models.IsNullCondition(is_null=models.PayloadField(key="note"))]),
        lambda point: "note" in point.payload and point.payload["note"] is None,
    ),
}


@pytest.mark.parametrize("name", _FILTERS)
def test_a_filter_counts_and_lists_exactly_what_it_describes(
    vector_client: QdrantClient, filled: str, oracle: VectorOracle, name: str
) -> None:
    wanted, predicate = _FILTERS[name]
    expected = oracle.ids(predicate)
    points, rest = vector_client.scroll(filled, scroll_filter=wanted, limit=1000)
    assert 0 < len(expected) < len(oracle.points)
    assert {str(point.id) for point in points} == expected
    assert rest is None
    assert vector_client.count(filled, count_filter=wanted, exact=True).count == len(expected)


@pytest.mark.parametrize("name", _FILTERS)
def test_a_filtered_search_ranks_what_the_filter_describes_and_nothing_else(
    vector_client: QdrantClient, filled: str, oracle: VectorOracle, name: str
) -> None:
    wanted, predicate = _FILTERS[name]
    found = vector_client.query_points(filled, query=_QUERY, using="dense", query_filter=wanted, limit=12)
    assert_ranked(found, oracle.dense(_QUERY, wanted=predicate), limit=12)
