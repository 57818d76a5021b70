"""Cursor pages: a cursor is opaque, and a wrong one is refused."""

from __future__ import annotations

import base64
import binascii
from typing import Annotated

import orjson
from fastapi import Query

from shared.domain.errors import Invalid

Limit = Annotated[int, Query(ge=1, le=200, description="Items of a page")]
Cursor = Annotated[str | None, Query(max_length=512, description="`next_cursor` of the page before")]


def cursor_of(place: object) -> str:
    return base64.urlsafe_b64encode(orjson.dumps(place)).decode()


def place_in(cursor: str | None) -> object:
    """None for the first page."""
    if cursor is None:
        return None
    try:
        return orjson.loads(base64.b64decode(cursor, altchars=b"-_", validate=True))
    except (binascii.Error, ValueError):
        raise Invalid("cursor", "this cursor is not one of ours; use `next_cursor` as it was given") from None
