from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from shared.text.sanitize import clean_model_text, refuse_reason


def test_a_nul_character_is_refused_with_its_place() -> None:
    assert refuse_reason("退款\x00") == "contains a NUL character at position 2"


def test_half_of_a_surrogate_pair_is_refused() -> None:
    assert refuse_reason("a\ud83d") == "contains half of a surrogate pair at position 1"


@given(text=st.text())
def test_storable_text_is_accepted_and_kept(text: str) -> None:
    storable = text.replace("\x00", "")
    assert refuse_reason(storable) is None
    assert clean_model_text(storable) == storable


@given(text=st.text(st.characters(), max_size=50))
def test_cleaned_text_is_never_refused_and_keeps_its_length(text: str) -> None:
    cleaned = clean_model_text(text)
    assert refuse_reason(cleaned) is None
    assert len(cleaned) == len(text)
    cleaned.encode()
