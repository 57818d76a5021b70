"""Dense vectors as numbers and as stored bytes."""

from __future__ import annotations

import math
import struct
from operator import mul
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shared.ports import Vector


def vector_bytes(vector: Vector) -> bytes:
    """float32, little endian, nothing around it."""
    return struct.pack(f"<{len(vector)}f", *vector)


def vector_from_bytes(data: bytes) -> Vector:
    return struct.unpack(f"<{len(data) // 4}f", data)


def unit(values: Sequence[float]) -> Vector:
    """`values` at length 1. Raises ValueError for a vector without direction (zero, NaN, infinite)."""
    length = math.hypot(*values)
    if not 0 < length < math.inf:
        raise ValueError("a vector of zeros, NaN or infinity has no direction")
    return tuple(value / length for value in values)


def cosine(left: Vector, right: Vector) -> float:
    """Of unit vectors of one dimension."""
    return math.fsum(map(mul, left, right))
