"""A small, slow and obvious vector search: what every server under the contract must answer."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from statistics import mean, stdev
from typing import Any
from uuid import NAMESPACE_URL, uuid5

DIMENSION = 8
_TERMS = 40
_CITIES = ("北京", "上海", "Berlin", "広州")

Scores = dict[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredPoint:
    id: str
    dense: list[float]
    lexical: Mapping[int, float]
    payload: dict[str, Any]


class VectorOracle:
    """Scores by the published formulas; `wanted` is the filter as a plain predicate on a point."""

    def __init__(self, points: Iterable[StoredPoint]) -> None:
        self.points = list(points)

    def ids(self, wanted: Callable[[StoredPoint], bool]) -> set[str]:
        return {point.id for point in self.points if wanted(point)}

    def dense(self, query: list[float], *, wanted: Callable[[StoredPoint], bool] = lambda _: True) -> Scores:
        """Cosine."""
        return {point.id: _cosine(query, point.dense) for point in self.points if wanted(point)}

    def lexical(
        self, query: Mapping[int, float], *, wanted: Callable[[StoredPoint], bool] = lambda _: True
    ) -> Scores:
        """Sum over shared terms of both weights times ln(1 + (N - n + 0.5) / (n + 0.5))."""
        return {
            point.id: math.fsum(
                weight * point.lexical[term] * self._idf(term)
                for term, weight in query.items()
                if term in point.lexical
            )
            for point in self.points
            if wanted(point) and not query.keys().isdisjoint(point.lexical)
        }

    def _idf(self, term: int) -> float:
        having = sum(term in point.lexical for point in self.points)
        return math.log(1 + (len(self.points) - having + 0.5) / (having + 0.5))


def top(scores: Scores, limit: int) -> Scores:
    ranked = sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))
    return dict(ranked[:limit])


def rrf(*lists: Scores, k: int = 2) -> Scores:
    """Sum of 1 / (k + rank), ranks from 0."""
    fused: Scores = {}
    for scores in lists:
        for rank, point_id in enumerate(top(scores, len(scores))):
            fused[point_id] = fused.get(point_id, 0.0) + 1 / (k + rank)
    return fused


def dbsf(*lists: Scores) -> Scores:
    """Sum of the scores, each list stretched from three deviations below its mean (0) to three above (1)."""
    fused: Scores = {}
    for scores in lists:
        center, spread = mean(scores.values()), 3 * stdev(scores.values())
        for point_id, score in scores.items():
            fused[point_id] = fused.get(point_id, 0.0) + (score - center + spread) / (2 * spread)
    return fused


def random_points(count: int, *, seed: int) -> list[StoredPoint]:
    source = random.Random(seed)
    return [_random_point(number, source) for number in range(count)]


def _random_point(number: int, source: random.Random) -> StoredPoint:
    payload: dict[str, Any] = {
        "tenant": source.choice(["acme", "北京烤鸭店"]),
        "city": source.choice(_CITIES),
        "version": number % 7,
        "price": source.uniform(0, 100),
        "said_at": f"2026-{1 + number % 12:02d}-15T08:00:00Z",
        "entities": source.sample(["SKU-1", "退款", "E42", "WiFi"], 2),
        "items": [{"sku": source.choice(["a", "b"]), "count": source.randrange(3)} for _ in range(2)],
    }
    if number % 5 == 0:
        payload["note"] = None if number % 10 == 0 else "含中文 and English"
    return StoredPoint(
        id=str(uuid5(NAMESPACE_URL, f"point-{number}")),
        dense=[source.gauss(0, 1) for _ in range(DIMENSION)],
        lexical={term: source.uniform(0.1, 2) for term in source.sample(range(_TERMS), 6)},
        payload=payload,
    )


def _cosine(left: list[float], right: list[float]) -> float:
    product = math.fsum(a * b for a, b in zip(left, right, strict=True))
    return product / (math.hypot(*left) * math.hypot(*right))
