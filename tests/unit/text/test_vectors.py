from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.text.vectors import cosine, unit, vector_bytes, vector_from_bytes

FLOAT32 = st.floats(width=32, allow_nan=False, allow_infinity=False)


@given(values=st.lists(FLOAT32))
def test_bytes_hold_float32_exactly(values: list[float]) -> None:
    vector = tuple(values)
    assert vector_from_bytes(vector_bytes(vector)) == vector


def test_bytes_are_little_endian() -> None:
    assert vector_bytes((1.0, -2.0)) == bytes.fromhex("0000803f000000c0")


def test_a_unit_vector_keeps_its_direction() -> None:
    assert unit([3.0, 4.0]) == pytest.approx((0.6, 0.8))


@pytest.mark.parametrize("values", [[0.0, 0.0], [], [math.nan, 1.0], [math.inf, 1.0]])
def test_a_vector_without_direction_is_an_error(values: list[float]) -> None:
    with pytest.raises(ValueError, match="no direction"):
        unit(values)


def test_cosine_tells_the_same_from_the_opposite_and_the_unrelated() -> None:
    assert cosine((1.0, 0.0), (1.0, 0.0)) == 1.0
    assert cosine((1.0, 0.0), (-1.0, 0.0)) == -1.0
    assert cosine((1.0, 0.0), (0.0, 1.0)) == 0.0
