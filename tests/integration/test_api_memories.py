"""Memories over HTTP, with workers running: add, merge, read, edit, delete, search, history."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import uuid4

import httpx2
import pytest

from tests.integration.talking import (
    Body,
    accepted,
    add,
    await_done,
    await_live,
    post,
    problem,
    read,
    stats,
    turn,
)
from tests.running import Deployment

WRONG_EDITS: tuple[Body, ...] = (
    {},
    {"text": None},
    {"text": "  "},
    {"text": "x" * 8_001},
    {"importance": -0.1},
    {"importance": 1.1},
    {"importance": None},
    {"category": "gossip"},
    {"state": "dead"},
    {"state": "superseded"},
    {"pinned": None},
    {"valid_to": "1970-01-01T00:00:00Z"},
    {"valid_to": "2024-01-01T00:00:00"},
    {"kind": "event"},
    {"version": 7},
)


def _texts(client: httpx2.Client, user: str, **filters: str) -> list[str]:
    """Of every page, newest first."""
    found: list[str] = []
    cursor: dict[str, str] = {}
    while True:
        page = read(client, f"/v1/users/{user}/memories", limit=2, **filters, **cursor)
        found += [memory["text"] for memory in page["memories"]]
        if page["next_cursor"] is None:
            return found
        cursor = {"cursor": page["next_cursor"]}


def _found(client: httpx2.Client, query: str, *, user: str, **fields: object) -> list[str]:
    answer = client.post("/v1/memories/search", json={"user_id": user, "query": query} | fields)
    assert answer.status_code == 200, answer.text
    return [memory["text"] for memory in answer.json()["memories"]]


def _context(client: httpx2.Client, query: str, *, user: str) -> str:
    body = {"user_id": user, "query": query, "max_tokens": 2_000, "format": "text"}
    answer = client.post(f"/v1/sessions/{uuid4()}/context", json=body)
    assert answer.status_code == 200, answer.text
    text: str = answer.json()["text"]
    return text


def _edit(client: httpx2.Client, memory_id: str, *, tag: str = "*", **changes: object) -> httpx2.Response:
    return client.patch(f"/v1/memories/{memory_id}", json=changes, headers={"If-Match": tag})


def _live(client: httpx2.Client, *texts: str, user: str, **fields: object) -> list[str]:
    ids = [add(client, text, user=user, **fields) for text in texts]
    await_live(client, *ids)
    return ids


def test_a_memory_that_was_added_becomes_live_and_is_recalled(live: httpx2.Client) -> None:
    (memory_id,) = _live(
        live,
        "Prefers the blue garden hose.",
        user="add",
        kind="preference",
        category="order",
        metadata={"a": 1},
    )
    memory = read(live, f"/v1/memories/{memory_id}")
    assert (memory["state"], memory["kind"], memory["category"]) == ("live", "preference", "order")
    assert (memory["trust"], memory["metadata"], memory["turn_ids"]) == ("operator", {"a": 1}, [])
    assert _found(live, "garden hose", user="add") == ["Prefers the blue garden hose."]
    assert "blue garden hose" in _context(live, "garden hose", user="add")
    assert _texts(live, "add") == ["Prefers the blue garden hose."]


def test_a_memory_added_again_under_its_id_is_the_same_one(live: httpx2.Client) -> None:
    first = add(live, "Owns a Canon EOS R5.", user="again", id="x")
    assert add(live, "Owns a Canon EOS R5.", user="again", id="x") == first
    body = {"user_id": "again", "text": "Owns a Nikon Z6.", "id": "x"}
    problem(live.post("/v1/memories", json=body), status=422, code="id_reused")
    assert add(live, "Owns a Canon EOS R5.", user="another", id="x") != first
    await_live(live, first)
    assert _texts(live, "again") == ["Owns a Canon EOS R5."]


def test_a_memory_that_says_the_same_is_merged_into_the_first(live: httpx2.Client) -> None:
    first, second = _live(live, "Lives near the harbor.", "Lives near the harbor.", user="twin")
    assert read(live, f"/v1/memories/{second}")["merged_into"] == first
    assert read(live, f"/v1/memories/{second}")["state"] == "duplicate"
    assert _texts(live, "twin") == ["Lives near the harbor."]


def test_an_edit_is_served_and_kept_in_the_history(live: httpx2.Client) -> None:
    (memory_id,) = _live(live, "Rides a red bicycle.", user="edit")
    tag = live.get(f"/v1/memories/{memory_id}").headers["etag"]
    answer = _edit(live, memory_id, tag=tag, text="Rides a green tricycle.", importance=0.25, pinned=True)
    assert answer.status_code == 200, answer.text
    assert answer.headers["etag"] != tag
    assert answer.json()["text"] == "Rides a green tricycle."
    assert (answer.json()["importance"], answer.json()["pinned"]) == (0.25, True)
    await_live(live, memory_id)
    assert _found(live, "tricycle", user="edit") == ["Rides a green tricycle."]
    changes = read(live, f"/v1/memories/{memory_id}/history")["changes"]
    assert [change["change"] for change in changes] == ["edit", "insert"]
    assert changes[0]["actor"].startswith("key:")
    assert changes[0]["before"]["text"] == "Rides a red bicycle."
    assert f'"{changes[0]["version"]}"' == tag


def test_if_match_guards_edits_and_deletes(live: httpx2.Client) -> None:
    (memory_id,) = _live(live, "Drinks oolong tea.", user="match")
    tag = live.get(f"/v1/memories/{memory_id}").headers["etag"]
    assert _edit(live, memory_id, tag=tag, importance=0.5).status_code == 200
    for stale in (tag, '"0"', "nonsense", "", f'"{"9" * 5_000}"', f"W/{tag}"):
        problem(_edit(live, memory_id, tag=stale, importance=0.1), status=412, code="changed")
        deletion = live.delete(f"/v1/memories/{memory_id}", headers={"If-Match": stale})
        problem(deletion, status=412, code="changed")
    assert read(live, f"/v1/memories/{memory_id}")["importance"] == 0.5
    now = live.get(f"/v1/memories/{memory_id}").headers["etag"]
    assert _edit(live, memory_id, tag=f'"0", {now}', importance=0.75).status_code == 200


def test_a_wrong_edit_changes_nothing(live: httpx2.Client) -> None:
    (memory_id,) = _live(live, "Keeps bees.", user="wrong edit")
    before = read(live, f"/v1/memories/{memory_id}")
    for changes in WRONG_EDITS:
        answer = _edit(live, memory_id, **changes)
        assert answer.status_code == 422, changes
        assert read(live, f"/v1/memories/{memory_id}") == before


def test_an_importance_too_small_for_the_store_is_zero(live: httpx2.Client) -> None:
    (memory_id,) = _live(live, "Plays the oboe.", user="tiny")
    assert _edit(live, memory_id, importance=5e-324).json()["importance"] == 0


@pytest.mark.parametrize("changes", [{"wrong": True}, {"state": "quarantined"}], ids=str)
def test_a_memory_that_is_wrong_or_quarantined_is_recalled_no_more(
    live: httpx2.Client, changes: Body
) -> None:
    user = f"out {changes}"
    (memory_id,) = _live(live, "Collects zithers.", user=user)
    assert _edit(live, memory_id, **changes).status_code == 200
    await_live(live, memory_id)
    assert _found(live, "zithers", user=user) == []
    assert "zithers" not in _context(live, "zithers", user=user)
    back = {"wrong": False} if "wrong" in changes else {"state": "live"}
    assert _edit(live, memory_id, **back).status_code == 200
    await_live(live, memory_id)
    assert _found(live, "zithers", user=user) == ["Collects zithers."]


def test_a_deleted_memory_is_gone_everywhere(live: httpx2.Client) -> None:
    kept, gone = _live(live, "Breeds alpacas.", "Sails a ketch.", user="delete")
    assert live.delete(f"/v1/memories/{gone}").status_code == 204
    for answer in (
        live.get(f"/v1/memories/{gone}"),
        live.delete(f"/v1/memories/{gone}"),
        _edit(live, gone, text="x"),
    ):
        problem(answer, status=404, code="memory")
    problem(live.get(f"/v1/memories/{gone}/history"), status=404, code="memory")
    assert _texts(live, "delete") == ["Breeds alpacas."]
    assert _found(live, "ketch sail", user="delete") == ["Breeds alpacas."]
    assert "ketch" not in _context(live, "ketch", user="delete")
    assert read(live, f"/v1/memories/{kept}")["state"] == "live"


def test_an_id_is_free_again_after_its_memory_was_deleted(live: httpx2.Client) -> None:
    first = add(live, "Has a parrot.", user="free", id="p")
    assert live.delete(f"/v1/memories/{first}").status_code == 204
    second = add(live, "Has two parrots.", user="free", id="p")
    assert second != first
    await_live(live, second)
    assert _texts(live, "free") == ["Has two parrots."]


def test_a_memory_deleted_before_its_merge_stays_deleted(live: httpx2.Client, running: Deployment) -> None:
    with running.paused():
        gone = add(live, "Paints miniatures.", user="early")
        assert live.delete(f"/v1/memories/{gone}").status_code == 204
        kept = add(live, "Restores clocks.", user="early")
    await_live(live, kept)
    problem(live.get(f"/v1/memories/{gone}"), status=404, code="memory")
    assert _texts(live, "early") == ["Restores clocks."]


def test_a_memory_of_an_erased_user_is_never_merged(live: httpx2.Client, running: Deployment) -> None:
    before = stats(live)["memories"]
    with running.paused():
        gone = add(live, "Grows orchids.", user="erased")
        assert live.delete("/v1/users/erased").status_code == 202
    later = add(live, "Grows cacti.", user="erased")
    await_live(live, later)
    problem(live.get(f"/v1/memories/{gone}"), status=404, code="memory")
    assert _texts(live, "erased") == ["Grows cacti."]
    assert sum(stats(live)["memories"].values()) == sum(before.values()) + 1


def test_a_pending_memory_is_merged_as_it_was_edited(live: httpx2.Client, running: Deployment) -> None:
    with running.paused():
        memory_id = add(live, "Knits scarves.", user="pending")
        assert _edit(live, memory_id, text="Sews mittens.", pinned=True, importance=0.125).status_code == 200
        assert _texts(live, "pending", state="pending") == ["Sews mittens."]
    await_live(live, memory_id)
    memory = read(live, f"/v1/memories/{memory_id}")
    assert (memory["state"], memory["pinned"], memory["importance"]) == ("live", True, 0.125)
    assert _found(live, "mittens", user="pending") == ["Sews mittens."]
    assert "Knits" not in _context(live, "scarves mittens", user="pending")


def _kinds(texts: Sequence[str]) -> list[str]:
    return sorted(text.split()[0] for text in texts)


def test_lists_and_searches_are_filtered(live: httpx2.Client) -> None:
    sent = {"Alpha": ("fact", "order"), "Beta": ("event", "order"), "Gamma": ("event", "billing")}
    for word, (kind, category) in sent.items():
        _live(live, f"{word} went through customs.", user="filter", kind=kind, category=category)
    assert _kinds(_texts(live, "filter")) == ["Alpha", "Beta", "Gamma"]
    assert _kinds(_texts(live, "filter", kind="event")) == ["Beta", "Gamma"]
    assert _kinds(_texts(live, "filter", kind="event", category="order")) == ["Beta"]
    assert _texts(live, "filter", state="superseded") == []
    for filters, expected in [
        ({}, ["Alpha", "Beta", "Gamma"]),
        ({"category": "order"}, ["Alpha", "Beta"]),
        ({"kind": "event", "category": "order"}, ["Beta"]),
        ({"from": "2199-01-01T00:00:00Z"}, []),
        ({"to": "2001-01-01T00:00:00Z"}, []),
        ({"entity": "nothing"}, []),
        ({"session_id": "none"}, []),
    ]:
        assert _kinds(_found(live, "customs", user="filter", filters=filters)) == expected
    assert len(_found(live, "customs", user="filter", top_k=2)) == 2
    assert _found(live, "customs", user="filter", as_of="2001-01-01T00:00:00Z") == []


def test_pages_hold_each_memory_once_even_when_their_last_was_deleted(live: httpx2.Client) -> None:
    _live(live, "One swallow.", "Two magpies.", "Three geese.", "Four owls.", user="pages")
    first = read(live, "/v1/users/pages/memories", limit=2)
    assert [memory["text"] for memory in first["memories"]] == ["Four owls.", "Three geese."]
    live.delete(f"/v1/memories/{first['memories'][-1]['id']}")
    rest = read(live, "/v1/users/pages/memories", limit=2, cursor=first["next_cursor"])
    assert [memory["text"] for memory in rest["memories"]] == ["Two magpies.", "One swallow."]


def test_a_memory_from_a_turn_names_it(live: httpx2.Client) -> None:
    (receipt,) = accepted(post(live, turn("My order number is B-55512."), session="from turn", user="source"))
    live.post("/v1/sessions/from turn/flush")
    await_done(live)
    memories = read(live, "/v1/users/source/memories")["memories"]
    assert memories
    assert {tuple(memory["turn_ids"]) for memory in memories} == {(receipt["turn_id"],)}
    (episode,) = [memory for memory in memories if memory["kind"] == "episode"]
    assert (episode["text"], episode["session_id"]) == ("My order number is B-55512.", "from turn")
    problem(_edit(live, episode["id"], text="other"), status=422, code="episode")
    live.delete("/v1/sessions/from turn")
    assert read(live, "/v1/users/source/memories")["memories"] == []
    problem(live.get(f"/v1/memories/{episode['id']}"), status=404, code="memory")


def test_what_cannot_be_added(live: httpx2.Client) -> None:
    before = stats(live)
    for fields in (
        {"text": " \n "},
        {"text": "x" * 8_001},
        {"kind": "episode"},
        {"kind": "rumor"},
        {"valid_from": "2024-01-01"},
        {"id": ""},
        {"user_id": ""},
    ):
        answer = live.post("/v1/memories", json={"user_id": "no", "text": "t"} | fields)
        assert answer.status_code == 422, answer.text
    assert stats(live) == before
    problem(live.get("/v1/users/no"), status=404, code="user")
