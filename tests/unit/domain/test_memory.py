from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.domain.memory import importance_of
from shared.text.lexical import terms


def _importance(text: str, *, entities: int = 0, remember: bool = False) -> float:
    return importance_of(text, words=terms(text), entities=entities, remember=remember)


def test_importance_is_the_mean_of_length_complexity_and_question() -> None:
    assert importance_of("", words=[], entities=0, remember=False) == pytest.approx(0.3 / 3)
    assert importance_of("x" * 500, words=["long-word"], entities=0, remember=False) == pytest.approx(2.3 / 3)
    assert importance_of("x" * 250, words=["ab", "longword"], entities=0, remember=False) == pytest.approx(
        1.3 / 3
    )


def test_a_question_counts_more_in_both_scripts() -> None:
    assert _importance("Is it broken?") - _importance("Is it broken.") == pytest.approx(0.5 / 3)
    assert _importance("坏了吗？") - _importance("坏了吗。") == pytest.approx(0.5 / 3)


def test_entities_and_an_explicit_remember_raise_it_up_to_their_limits() -> None:
    plain = _importance("short")
    assert _importance("short", entities=1) == pytest.approx(plain + 0.05)
    assert _importance("short", entities=4) == _importance("short", entities=40) == pytest.approx(plain + 0.2)
    assert _importance("short", remember=True) == pytest.approx(plain + 0.3)


@given(st.text(max_size=2_000), st.integers(0, 50), st.booleans())
def test_importance_lies_between_0_and_1(text: str, entities: int, remember: bool) -> None:  # noqa: FBT001 -- drawn by hypothesis
    assert 0.0 <= _importance(text, entities=entities, remember=remember) <= 1.0
