from __future__ import annotations

import pytest

from shared.domain.errors import Invalid
from shared.domain.policy import BudgetSplit, UserPolicy


def test_shares_of_a_budget_add_up_and_are_not_negative() -> None:
    assert BudgetSplit(working=0.2, condensed=0.3, long_term=0.5).long_term == 0.5
    with pytest.raises(Invalid, match="add up to 1"):
        BudgetSplit(working=0.2, condensed=0.2, long_term=0.2)
    with pytest.raises(Invalid, match="negative"):
        BudgetSplit(working=-0.1, condensed=0.6, long_term=0.5)


def test_compression_follows_the_persona_unless_it_is_set() -> None:
    assert UserPolicy(persona="technical").share_removed == 0.7
    assert UserPolicy(persona="general").share_removed == 0.9
    assert UserPolicy().share_removed == 0.85
    assert UserPolicy(persona="technical", compression=0.0).share_removed == 0.0
