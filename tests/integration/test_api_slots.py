"""Facts added or edited over HTTP fill, replace and leave the customer's slots like those that were said."""

from __future__ import annotations

import httpx2
import pytest

from tests.integration.talking import Body, accepted, add, await_done, await_live, post, read, stats, turn


def profile(client: httpx2.Client) -> dict[str, str]:
    return {slot["attribute"]: slot["value"] for slot in read(client, "/v1/users/u")["profile"]}


def settled(client: httpx2.Client, memory_id: str) -> Body:
    await_live(client, memory_id)
    return read(client, f"/v1/memories/{memory_id}")


@pytest.mark.parametrize(
    ("first", "second", "values"),
    [
        ("My phone is +1 415 555 0134.", "My phone is +1 415 555 0199.", ("+14155550134", "+14155550199")),
        ("我的电话是13812345678。", "我的电话是13987654321。", ("+8613812345678", "+8613987654321")),
    ],
)
def test_a_fact_added_directly_supersedes_the_value_before_it(
    live: httpx2.Client, first: str, second: str, values: tuple[str, str]
) -> None:
    older = add(live, first)
    assert settled(live, older)["state"] == "live"
    assert profile(live) == {"phone": values[0]}
    newer = add(live, second)
    assert settled(live, newer)["state"] == "live"
    assert profile(live) == {"phone": values[1]}
    gone = read(live, f"/v1/memories/{older}")
    assert (gone["state"], gone["superseded_by"]) == ("superseded", newer)


def test_a_correction_by_the_operator_supersedes_what_was_said(live: httpx2.Client) -> None:
    accepted(post(live, turn("My phone is +1 415 555 0134.", created_at="2026-01-05T10:00:00Z")))
    live.post("/v1/sessions/s/flush").raise_for_status()
    await_done(live)
    assert profile(live) == {"phone": "+14155550134"}
    settled(live, add(live, "My phone is +1 415 555 0888."))
    assert profile(live) == {"phone": "+14155550888"}


def test_an_edited_text_no_longer_fills_the_slot_it_was_read_into(live: httpx2.Client) -> None:
    memory_id = add(live, "My phone is +1 415 555 0134.")
    settled(live, memory_id)
    edited = live.patch(f"/v1/memories/{memory_id}", json={"text": "My phone is out of order."})
    assert edited.status_code == 200
    assert (edited.json()["slot"], edited.json()["entities"]) == (None, [])
    assert profile(live) == {}


def test_a_turn_is_found_by_its_own_id_and_by_ours(live: httpx2.Client) -> None:
    (receipt,) = accepted(post(live, turn("还是连接不上", id="消息-1")))
    for named in ("消息-1", receipt["turn_id"]):
        assert read(live, f"/v1/sessions/s/turns/{named}")["turn_id"] == receipt["turn_id"]
    assert live.get("/v1/sessions/s/turns/unknown").status_code == 404


def test_memories_of_an_erased_session_are_counted_no_more(live: httpx2.Client) -> None:
    accepted(post(live, turn("My headphones show error E-1042.")))
    live.post("/v1/sessions/s/flush").raise_for_status()
    await_done(live)
    assert sum(stats(live)["memories"].values()) > 0
    assert live.delete("/v1/sessions/s").status_code == 202
    assert sum(stats(live)["memories"].values()) == 0
