from __future__ import annotations

import pytest

from api_gateway.recall.budget import Parts, grants
from shared.domain.policy import BudgetSplit

SPLIT = BudgetSplit()


def parts(working: int, condensed: int, long_term: int) -> Parts:
    return Parts(working=working, condensed=condensed, long_term=long_term)


@pytest.mark.parametrize(
    ("demand", "granted"),
    [
        pytest.param((900, 900, 900), (150, 350, 500), id="each part gets its share"),
        pytest.param((50, 900, 900), (50, 450, 500), id="working memory's rest flows to condensed"),
        pytest.param((50, 100, 900), (50, 100, 850), id="both rests flow to long-term"),
        pytest.param((900, 900, 0), (650, 350, 0), id="long-term's rest flows round to working"),
        pytest.param((200, 900, 0), (200, 800, 0), id="and on to condensed"),
        pytest.param((10, 20, 30), (10, 20, 30), id="nobody gets more than it demands"),
    ],
)
def test_a_thousand_tokens(demand: tuple[int, int, int], granted: tuple[int, int, int]) -> None:
    assert grants(1_000, split=SPLIT, required=0, demand=parts(*demand)) == parts(*granted)


def test_what_working_memory_requires_is_taken_from_the_others_in_their_proportion() -> None:
    # 1,000 − 320 = 680 left, of which 35/85 are 280 and 50/85 are 400.
    assert grants(1_000, split=SPLIT, required=320, demand=parts(900, 900, 900)) == parts(320, 280, 400)


def test_a_requirement_over_the_budget_takes_all_of_it() -> None:
    assert grants(1_000, split=SPLIT, required=5_000, demand=parts(9_000, 900, 900)) == parts(1_000, 0, 0)


def test_working_memory_alone_may_be_given_everything() -> None:
    split = BudgetSplit(working=1.0, condensed=0.0, long_term=0.0)
    assert grants(100, split=split, required=0, demand=parts(60, 60, 60)) == parts(60, 40, 0)
