"""Errors a caller is told about, as Qdrant words them.

WireError            the request cannot be answered; `status` is its HTTP status
    BadRequestError  400: the request itself is wrong, or asks for something that is not served
    MissingError     404: the collection or point does not exist
    TakenError       409: the name is in use
"""

from __future__ import annotations

from http import HTTPStatus
from typing import ClassVar


class WireError(Exception):
    status: ClassVar[HTTPStatus]


class BadRequestError(WireError):
    status = HTTPStatus.BAD_REQUEST


class MissingError(WireError):
    status = HTTPStatus.NOT_FOUND


class TakenError(WireError):
    status = HTTPStatus.CONFLICT


def no_collection(name: str) -> MissingError:
    return MissingError(f"Not found: Collection `{name}` doesn't exist!")


def no_point(point_id: int | str) -> MissingError:
    return MissingError(f"Not found: No point with id {point_id} found")
