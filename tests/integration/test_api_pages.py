"""Cursor pages: each item once, and a cursor that is not ours is refused."""

from __future__ import annotations

import base64
from itertools import product

import httpx2
import pytest

from tests.integration.door import TURNS, Door
from tests.integration.talking import accepted, add, post, read, turn

LISTS = ("turns", "sessions", "memories")
KEY = "00000000-0000-0000-0000-000000000000"
PLACES = (
    "true",
    "-1",
    "0",
    "1.5",
    "9223372036854775808",
    "1e30",
    "null",
    "[1]",
    '"x"',
    '"\\u0000"',
    '"2024-01-01T00:00:00+00:00","x"',
    f'"2024-02-30T00:00:00+00:00","{KEY}"',
    f'17,"{KEY}"',
)
JUNK = ("[" * 300, "[]", "1", "null", '["\\ud800",1]', '["turns"]')


def _query(place: str) -> str:
    return "cursor=" + base64.urlsafe_b64encode(place.encode()).decode()


QUERIES = (
    "limit=0",
    "limit=201",
    "limit=99999999999999999999999",
    f"limit={'9' * 5_000}",
    "limit=%00",
    "limit=%ED%A0%80",
    "cursor=",
    "cursor=garbage",
    "cursor=%C3%A9",
    f"cursor={'A' * 600}",
    *(_query(place) for place in JUNK),
    *(_query(f'["{name}",{place}]') for name, place in product(LISTS, PLACES)),
)


@pytest.mark.parametrize("path", [TURNS.decode(), "/v1/users/u/sessions", "/v1/users/u/memories"])
def test_a_wrong_page_is_refused(door: Door, path: str) -> None:
    for query in QUERIES:
        assert door.send("GET", f"{path}?{query}".encode()) == 422, query


@pytest.mark.parametrize("moment", ["0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59", "2024-01-01"])
@pytest.mark.parametrize("name", ["sessions", "memories"])
def test_an_odd_time_in_a_cursor_never_fails(door: Door, name: str, moment: str) -> None:
    query = _query(f'["{name}","{moment}","{KEY}"]')
    assert door.send("GET", f"/v1/users/u/{name}?{query}".encode()) == 200


def test_a_cursor_of_another_list_is_refused(api: httpx2.Client, door: Door) -> None:
    add(api, "a")
    cursors = {
        path: read(api, path, limit=1, **extra)["next_cursor"]
        for path, extra in {
            "/v1/sessions/s/turns": {},
            "/v1/users/u/sessions": {},
            "/v1/users/u/memories": {"state": "pending"},
        }.items()
    }
    for path in cursors:
        for owner, cursor in cursors.items():
            expected = 200 if owner == path else 422
            assert door.send("GET", f"{path}?cursor={cursor}".encode()) == expected


def test_pages_of_sessions_hold_each_once_newest_first(api: httpx2.Client) -> None:
    for number in range(7):
        accepted(post(api, turn("hi"), session=f"s{number}"))
    for limit in (1, 3, 7, 200):
        found: list[str] = []
        cursor: dict[str, str] = {}
        while cursor is not None:
            page = read(api, "/v1/users/u/sessions", limit=limit, **cursor)
            found += [session["session_id"] for session in page["sessions"]]
            if page["next_cursor"] is None:
                break
            cursor = {"cursor": page["next_cursor"]}
        assert found == [f"s{number}" for number in reversed(range(7))]
