"""Cursor pages: a cursor is opaque, belongs to one list, and a wrong one is refused."""

from __future__ import annotations

import base64
import binascii
from datetime import datetime
from typing import Annotated
from uuid import UUID

import orjson
from fastapi import Query

from shared.domain.errors import Invalid
from shared.ports import PageEnd

LARGEST_SEQUENCE = 2**63 - 1
Limit = Annotated[int, Query(ge=1, le=200, description="Items of a page")]
Cursor = Annotated[str | None, Query(max_length=512, description="`next_cursor` of the page before")]


def cursor_of(*place: object, of: str) -> str:
    """`of` names the list."""
    return base64.urlsafe_b64encode(orjson.dumps([of, *place])).decode()


def sequence_in(cursor: str | None, *, of: str) -> int:
    """0 for the first page."""
    match _place_in(cursor, of=of):
        case []:
            return 0
        case [int(sequence)] if 0 < sequence <= LARGEST_SEQUENCE and sequence is not True:
            return sequence
        case _:
            raise _foreign()


def end_in(cursor: str | None, *, of: str) -> PageEnd | None:
    """None for the first page."""
    match _place_in(cursor, of=of):
        case []:
            return None
        case [str(at), str(key)]:
            return _end(at, key)
        case _:
            raise _foreign()


def _end(at: str, key: str) -> PageEnd:
    try:
        return PageEnd(at=datetime.fromisoformat(at), key=UUID(key))
    except ValueError:
        raise _foreign() from None


def _place_in(cursor: str | None, *, of: str) -> list[object]:
    if cursor is None:
        return []
    try:
        match orjson.loads(base64.b64decode(cursor, altchars=b"-_", validate=True)):
            case [str(name), *place] if name == of and place:
                return place
    except (binascii.Error, ValueError):
        pass
    raise _foreign()


def _foreign() -> Invalid:
    return Invalid("cursor", "this cursor is not one of this list's; use `next_cursor` as it was given")
