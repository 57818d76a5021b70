from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from api_gateway.recall.rank import Candidate, candidates, rank
from shared.domain.memory import Memory
from shared.ports import Hit
from tests.unit.recall.material import NOW, memory


def hits(*found: tuple[Memory, float]) -> list[Hit]:
    return [Hit(memory_id=each.memory_id, score=score) for each, score in found]


ONE, TWO, THREE = memory(1, "one"), memory(2, "two"), memory(3, "three")


def test_a_memory_that_two_channels_found_beats_the_best_of_each() -> None:
    made = candidates(
        [ONE, TWO, THREE],
        channels={"dense": hits((ONE, 0.9), (TWO, 0.8)), "lexical": hits((THREE, 7.0), (TWO, 3.0))},
    )
    ranked = rank(made, policy="fused", now=NOW)
    assert [each.memory.text for each in ranked] == ["two", "one", "three"]
    # 1/62 + 1/62, and at most 4e-5 for importance 0.5 and nine days of age: 2e-5 · 0.5 + 2e-5 / 10.
    assert ranked[0].score == pytest.approx(1 / 62 + 1 / 62 + 1e-5 + 2e-6)
    assert ranked[0].why == "dense #2, lexical #2"


def test_what_fusion_leaves_level_is_ordered_by_importance_then_age_then_id() -> None:
    important = replace(THREE, importance=0.9)
    level: list[Memory] = [ONE, TWO, important]
    found = [Candidate(memory=each, similarity=0.5, ranks={"dense": 4}) for each in level]
    assert [each.memory.text for each in rank(found, policy="fused", now=NOW)] == ["three", "one", "two"]
    newer = replace(TWO, valid_from=NOW)
    found = [Candidate(memory=each, similarity=0.5, ranks={"dense": 4}) for each in (ONE, newer)]
    assert [each.memory.text for each in rank(found, policy="fused", now=NOW)] == ["two", "one"]


def test_importance_and_recency_never_outweigh_a_rank() -> None:
    best = Candidate(
        memory=replace(ONE, importance=0.0, valid_from=NOW - timedelta(days=3_000)),
        similarity=0.5,
        ranks={"dense": 89},
    )
    next_best = Candidate(
        memory=replace(TWO, importance=1.0, valid_from=NOW), similarity=0.5, ranks={"dense": 90}
    )
    assert rank([next_best, best], policy="fused", now=NOW)[0].memory is best.memory


def test_source_similarity() -> None:
    found = [Candidate(memory=replace(ONE, importance=0.5), similarity=0.8, ranks={"dense": 1})]
    assert rank(found, policy="source_similarity", now=NOW)[0].score == pytest.approx(0.7 * 0.8 + 0.3 * 0.5)


@pytest.mark.parametrize(("accesses", "score"), [(0, 0.3), (25, 0.4), (100, 0.7), (900, 0.7)])
def test_source_access(accesses: int, score: float) -> None:
    used = replace(ONE, importance=0.5, access_count=accesses)
    found = [Candidate(memory=used, similarity=0.8, ranks={"dense": 1})]
    assert rank(found, policy="source_access", now=NOW)[0].score == pytest.approx(score)


@pytest.mark.parametrize(("hours", "factor"), [(0, 0.9), (1, 0.81), (2, 0.729), (-5, 0.9)])
def test_source_decay(hours: int, factor: float) -> None:
    aged = replace(ONE, valid_from=NOW - timedelta(hours=hours))
    found = [Candidate(memory=aged, similarity=0.5, ranks={"dense": 1})]
    assert rank(found, policy="source_decay", now=NOW)[0].score == pytest.approx(0.5 * factor)


def test_equal_scores_are_ordered_by_id() -> None:
    found = [Candidate(memory=each, similarity=0.5, ranks={}) for each in (THREE, ONE, TWO)]
    ranked = rank(found, policy="source_similarity", now=NOW)
    assert [each.memory.text for each in ranked] == ["one", "two", "three"]


def test_without_a_dense_channel_similarity_is_the_share_of_the_best_score() -> None:
    made = candidates([ONE, TWO], channels={"lexical": hits((ONE, 8.0), (TWO, 2.0))})
    assert [each.similarity for each in made] == [1.0, 0.25]


def test_a_superseded_memory_stands_right_below_its_successor() -> None:
    oldest = replace(ONE, state="superseded", superseded_by=TWO.memory_id)
    old = replace(TWO, state="superseded", superseded_by=THREE.memory_id)
    other = memory(4, "other")
    order = (oldest, old, other, THREE)
    found = [
        Candidate(memory=each, similarity=1.0, ranks={"dense": place}) for place, each in enumerate(order, 1)
    ]
    ranked = rank(found, policy="fused", now=NOW)
    assert [each.memory.text for each in ranked] == ["other", "three", "two", "one"]


def test_a_superseded_memory_whose_successor_was_not_found_keeps_its_place() -> None:
    old = replace(ONE, state="superseded", superseded_by=memory(9, "absent").memory_id)
    found = [
        Candidate(memory=each, similarity=1.0, ranks={"dense": n}) for n, each in enumerate((old, TWO), 1)
    ]
    assert [each.memory.text for each in rank(found, policy="fused", now=NOW)] == ["one", "two"]
