"""Turns over HTTP: posting, where they stand, reading back."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from uuid import uuid4

import httpx2
import pytest

from tests.integration.accepting import await_blocked
from tests.integration.talking import Body, accepted, await_done, post, problem, read, stats, turn
from tests.running import Database, GatewayProcess, Tenant

STAGES = ("extract", "summarize", "embed", "merge", "index")


def _pages(client: httpx2.Client, path: str, *, of: str, limit: int) -> list[Body]:
    """Every item of a list, page by page."""
    found: list[Body] = []
    cursor: dict[str, str] = {}
    while True:
        page = read(client, path, limit=limit, **cursor)
        assert len(page[of]) <= limit
        found += page[of]
        if page["next_cursor"] is None:
            return found
        cursor = {"cursor": page["next_cursor"]}


def test_accepted_turns_are_there_when_the_answer_comes(api: httpx2.Client) -> None:
    receipts = accepted(post(api, turn("hello", id="a"), turn("你好", role="assistant")))
    assert [(receipt["id"], receipt["sequence"], receipt["duplicate"]) for receipt in receipts] == [
        ("a", 1, False),
        (None, 2, False),
    ]
    back = read(api, "/v1/sessions/s/turns")["turns"]
    assert [(each["turn_id"], each["content"]) for each in back] == [
        (receipts[0]["turn_id"], "hello"),
        (receipts[1]["turn_id"], "你好"),
    ]


def test_sixteen_clients_get_sequences_without_gaps(quiet_gateway: GatewayProcess, tenant: Tenant) -> None:
    def client(number: int) -> list[int]:
        with quiet_gateway.client(tenant) as own:
            answers = [post(own, turn(f"{number}.{request}"), turn("more")) for request in range(4)]
        return [receipt["sequence"] for answer in answers for receipt in accepted(answer)]

    with ThreadPoolExecutor(16) as pool:
        given = sorted(chain.from_iterable(pool.map(client, range(16))))
    assert given == list(range(1, 129))


def test_a_turn_comes_back_as_it_was_sent(api: httpx2.Client) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "find", "arguments": '{"b":1, "a":"中"}'}}
    sent = {
        "id": "t",
        "role": "assistant",
        "content": [
            {"type": "text", "text": "see 👩‍👩‍👧 e\u0301"},
            {"type": "image_url", "image_url": {"url": "https://example.com/x.png"}, "caption": "a cat"},
        ],
        "name": "Ada",
        "speaker": "human_agent",
        "tool_calls": [call],
        "created_at": "2024-05-01T10:00:00+08:00",
        "metadata": {"": {"n": [1, 2.5, None, True, 18446744073709551615, 1e300]}, "键": "值"},
    }
    (receipt,) = accepted(post(api, sent))
    (back,) = read(api, "/v1/sessions/s/turns")["turns"]
    assert back["content"] == "see 👩‍👩‍👧 e\u0301\na cat"
    assert back["images"] == [{"url": "https://example.com/x.png", "caption": "a cat"}]
    assert back["tool_calls"] == [call]
    assert back["created_at"] == "2024-05-01T02:00:00Z"
    assert back["turn_id"] == receipt["turn_id"]
    for name in ("id", "role", "name", "speaker", "metadata"):
        assert back[name] == sent[name]


def test_the_same_body_in_another_spelling_is_the_same_turn(api: httpx2.Client) -> None:
    first = turn("hi", id="t", metadata={"a": 1, "b": 2}, created_at="2024-05-01T10:00:00+08:00")
    again = turn("hi", created_at="2024-05-01T02:00:00Z", metadata={"b": 2, "a": 1}, id="t", unknown=1)
    accepted(post(api, first))
    (receipt,) = accepted(post(api, again))
    assert receipt["duplicate"]


@pytest.mark.parametrize(
    "change", [{"content": "ho"}, {"metadata": {"a": 2}}, {"name": "x"}, {"role": "system"}]
)
def test_another_body_under_a_known_id_is_refused(api: httpx2.Client, change: Body) -> None:
    first = turn("hi", id="t", metadata={"a": 1})
    accepted(post(api, first))
    before = stats(api)
    problem(post(api, turn("new"), first | change), status=422, code="id_reused")
    assert stats(api) == before


def test_normal_forms_of_an_id_are_two_ids(api: httpx2.Client) -> None:
    """Ids are the tenant's own strings: nobody folds them."""
    receipts = accepted(post(api, turn("a", id="é"), turn("b", id="e\u0301")))
    assert [receipt["sequence"] for receipt in receipts] == [1, 2]


def test_a_session_of_another_user_is_a_conflict(api: httpx2.Client) -> None:
    accepted(post(api, turn("hi")))
    problem(post(api, turn("hi"), user="other"), status=409, code="session_of_another_user")
    problem(
        api.post("/v1/sessions/s/context", json={"user_id": "other", "max_tokens": 100}),
        status=409,
        code="session_of_another_user",
    )


@pytest.mark.parametrize("again", ["key-1", '"key-1"'])
def test_an_idempotency_key_counts_quoted_or_not(api: httpx2.Client, again: str) -> None:
    (first,) = accepted(post(api, turn("hi"), headers={"Idempotency-Key": "key-1"}))
    (second,) = accepted(post(api, turn("hi"), headers={"Idempotency-Key": again}))
    assert second == first | {"duplicate": True}
    problem(post(api, turn("ho"), headers={"Idempotency-Key": again}), status=422, code="key_reused")
    problem(
        post(api, turn("hi"), session="x", headers={"Idempotency-Key": again}), status=422, code="key_reused"
    )
    assert stats(api)["turns"]["accepted"] == 1


def test_a_key_in_flight_is_a_conflict(api: httpx2.Client, database: Database, tenant: Tenant) -> None:
    accepted(post(api, turn("first")))
    key = {"Idempotency-Key": "k"}
    with ThreadPoolExecutor(1) as pool:
        with database.begin(tenant.tenant_id) as work:
            session = work.sessions.find("s")
            assert session is not None
            work.sessions.head(session.session_key)
            posting = pool.submit(post, api, turn("hi"), headers=key)
            await_blocked(database, call=posting)
            problem(post(api, turn("hi"), headers=key), status=409, code="in_flight")
        (receipt,) = accepted(posting.result(timeout=30))
    assert accepted(post(api, turn("hi"), headers=key)) == [receipt | {"duplicate": True}]


def test_lanes(api: httpx2.Client, database: Database, tenant: Tenant) -> None:
    accepted(post(api, turn("a"), session="one"))
    accepted(post(api, turn("b"), session="two", headers={"Turnkeep-Lane": "bulk"}))
    problem(post(api, turn("c"), headers={"Turnkeep-Lane": "fast"}), status=422, code="lane")
    with database.begin(tenant.tenant_id) as work:
        found = {}
        for session_id in ("one", "two"):
            session = work.sessions.find(session_id)
            assert session is not None
            found[session_id] = [row.lane for row in work.turns.page(session, after=0, limit=9)]
    assert found == {"one": ["interactive"], "two": ["bulk"]}


def test_a_pending_turn_shows_every_stage(api: httpx2.Client) -> None:
    (receipt,) = accepted(post(api, turn("hi", id="t")))
    status = read(api, f"/v1/sessions/s/turns/{receipt['turn_id']}")
    assert (status["state"], status["id"], status["sequence"]) == ("pending", "t", 1)
    assert list(status["stages"]) == list(STAGES)
    for stage in status["stages"].values():
        assert (stage["state"], stage["error"], stage["attempts"]) == ("pending", None, 0)
    assert status["second_pass"] is None


def test_a_turn_that_is_done_has_every_stage_behind_it(live: httpx2.Client) -> None:
    (receipt,) = accepted(post(live, turn("My order A-20931 has not arrived."), session="done"))
    live.post("/v1/sessions/done/flush")
    found = await_done(live)
    assert found["turns"]["done"] == found["turns"]["accepted"]
    status = read(live, f"/v1/sessions/done/turns/{receipt['turn_id']}")
    assert status["state"] == "done"
    assert {stage["state"] for stage in status["stages"].values()} == {"done"}
    assert read(live, "/v1/sessions/done")["applied"] == 1


def test_unknown_turns_and_sessions_are_missing(api: httpx2.Client) -> None:
    (receipt,) = accepted(post(api, turn("hi")))
    accepted(post(api, turn("ho"), session="other"))
    problem(api.get(f"/v1/sessions/s/turns/{uuid4()}"), status=404, code="turn")
    problem(api.get(f"/v1/sessions/other/turns/{receipt['turn_id']}"), status=404, code="turn")
    problem(api.get(f"/v1/sessions/none/turns/{receipt['turn_id']}"), status=404, code="session")


def test_pages_of_turns_hold_each_once_in_order(api: httpx2.Client) -> None:
    accepted(post(api, *(turn(f"{number}") for number in range(7))))
    for limit in (1, 3, 7, 200):
        found = _pages(api, "/v1/sessions/s/turns", of="turns", limit=limit)
        assert [each["sequence"] for each in found] == list(range(1, 8))


def test_the_limits_of_a_request(api: httpx2.Client) -> None:
    accepted(post(api, *[turn("x")] * 100))
    problem(post(api, *[turn("x")] * 101), status=413, code="too_many_turns")
    accepted(post(api, turn("中" * 10_922)))
    problem(post(api, turn("中" * 10_923)), status=413, code="turn_too_large")
    call = {"id": "1", "function": {"name": "f", "arguments": "x" * 40_000}}
    problem(post(api, turn("", role="assistant", tool_calls=[call])), status=413, code="turn_too_large")
    assert stats(api)["turns"]["accepted"] == 101
