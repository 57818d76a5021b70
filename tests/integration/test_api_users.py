"""Users and sessions over HTTP: policy, reading back, closing, erasing."""

from __future__ import annotations

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
from tests.running import eventually

DEFAULTS = {
    "persona": "default",
    "compression": None,
    "language": None,
    "timezone": None,
    "legal_hold": False,
}


def _policy(client: httpx2.Client, **changes: object) -> Body:
    answer = client.put("/v1/users/u", json=changes)
    assert answer.status_code == 200, answer.text
    policy: Body = answer.json()["policy"]
    assert read(client, "/v1/users/u")["policy"] == policy
    return policy


def test_a_policy_changes_by_what_is_sent_and_null_is_the_default(api: httpx2.Client) -> None:
    problem(api.get("/v1/users/u"), status=404, code="user")
    assert _policy(api) == DEFAULTS
    assert _policy(api, persona="technical", compression=0.5) == DEFAULTS | {
        "persona": "technical",
        "compression": 0.5,
    }
    assert _policy(api, language="zh", timezone="Asia/Shanghai")["persona"] == "technical"
    assert _policy(api, persona=None, compression=None) == DEFAULTS | {
        "language": "zh",
        "timezone": "Asia/Shanghai",
    }
    assert _policy(api, **dict.fromkeys(DEFAULTS)) == DEFAULTS


@pytest.mark.parametrize(
    "changes",
    [
        {"persona": "x"},
        {"compression": 1},
        {"compression": -0.1},
        {"language": "zh-CN"},
        {"timezone": "Mars/Base"},
        {"timezone": "../../etc/passwd"},
        {"legal_hold": "perhaps"},
        {"unknown": 1},
        [],
        None,
    ],
)
def test_a_wrong_policy_changes_nothing(api: httpx2.Client, changes: object) -> None:
    before = _policy(api, persona="general")
    problem(api.put("/v1/users/u", json=changes), status=422, code="invalid")
    assert read(api, "/v1/users/u")["policy"] == before


def test_under_legal_hold_nothing_is_erased(api: httpx2.Client) -> None:
    accepted(post(api, turn("hi")))
    memory_id = add(api, "x")
    _policy(api, legal_hold=True)
    before = stats(api)
    for path in ("/v1/users/u", "/v1/sessions/s", f"/v1/memories/{memory_id}"):
        problem(api.delete(path), status=409, code="legal_hold")
    assert stats(api) == before
    _policy(api, legal_hold=False)
    assert api.delete("/v1/users/u").status_code == 202


def test_a_session_is_read_back(api: httpx2.Client) -> None:
    accepted(post(api, turn("hi")))
    session = read(api, "/v1/sessions/s")
    assert session.pop("created_at")
    assert session == {
        "session_id": "s",
        "user_id": "u",
        "language": None,
        "applied": 0,
        "closed_at": None,
        "outcome": None,
        "wrap_up": None,
    }


def test_a_diagnosis_of_what_is_pending(api: httpx2.Client) -> None:
    accepted(post(api, turn("hi"), turn("hello", role="assistant")))
    found = read(api, "/v1/sessions/s/diagnosis")
    assert (found["accepted"], found["applied"], found["batches"]) == (2, 0, [])
    assert (found["pending"]["turns"], found["pending"]["rounds"]) == (2, 1)
    assert found["pending"]["tokens"] > 0


def test_calls_on_an_unknown_session_are_missing(api: httpx2.Client) -> None:
    for method, rest in (
        ("GET", ""),
        ("DELETE", ""),
        ("GET", "/turns"),
        ("GET", "/diagnosis"),
        ("POST", "/flush"),
        ("POST", "/close"),
    ):
        problem(api.request(method, f"/v1/sessions/none{rest}"), status=404, code="session")
    assert stats(api)["turns"]["accepted"] == 0


def test_closing_flushes_and_writes_the_wrap_up_and_a_turn_reopens(live: httpx2.Client) -> None:
    said = (
        "My washing machine W-900 shows error E18.",
        "Please clean the filter.",
        "That solved it, thank you!",
    )
    accepted(post(live, turn(said[0]), turn(said[1], role="assistant"), turn(said[2]), session="close"))
    answer = live.post("/v1/sessions/close/close", json={"outcome": "solved"})
    assert (answer.status_code, answer.json()) == (202, {"flush_to": 3})
    assert read(live, "/v1/sessions/close")["outcome"] == "solved"
    wrapped = eventually(lambda: (found := read(live, "/v1/sessions/close"))["wrap_up"] and found)
    assert wrapped["applied"] == 3
    assert wrapped["closed_at"]
    found = read(live, "/v1/sessions/close/diagnosis")
    assert [(batch["kind"], batch["state"]) for batch in found["batches"]] == [
        ("close", "merged"),
        ("live", "merged"),
    ]
    assert found["pending"] == {"turns": 0, "rounds": 0, "tokens": 0}
    accepted(post(live, turn("It broke again."), session="close"))
    reopened = read(live, "/v1/sessions/close")
    assert (reopened["closed_at"], reopened["outcome"]) == (None, "solved")


def test_an_erased_session_is_gone_and_its_id_is_new(live: httpx2.Client) -> None:
    (old,) = accepted(post(live, turn("I moved to Lisbon.", id="t"), session="gone", user="traveler"))
    accepted(post(live, turn("I like trains."), session="kept", user="traveler"))
    for session_id in ("gone", "kept"):
        live.post(f"/v1/sessions/{session_id}/flush")
    await_done(live)
    before = stats(live)["turns"]
    assert live.delete("/v1/sessions/gone").json()["erasure_id"]
    for path in ("/v1/sessions/gone", "/v1/sessions/gone/turns", f"/v1/sessions/gone/turns/{old['turn_id']}"):
        problem(live.get(path), status=404, code="session")
    after = stats(live)["turns"]
    assert (after["erased"], after["done"]) == (before["erased"] + 1, before["done"] - 1)
    assert "Lisbon" not in _everything(live, "traveler", "Where did I move? Lisbon")
    assert "trains" in _everything(live, "traveler", "trains")
    (new,) = accepted(post(live, turn("Hello again.", id="t"), session="gone", user="traveler"))
    assert (new["sequence"], new["duplicate"]) == (1, False)
    assert new["turn_id"] != old["turn_id"]


def test_an_erased_user_is_gone_and_begins_anew(live: httpx2.Client) -> None:
    (old,) = accepted(post(live, turn("My phone number is +1 415 555 0134."), session="a", user="leaver"))
    memory_id = add(live, "Wears a monocle.", user="leaver")
    live.put("/v1/users/leaver", json={"persona": "technical"})
    live.post("/v1/sessions/a/flush")
    await_live(live, memory_id)
    await_done(live)
    assert live.delete("/v1/users/leaver").json()["erasure_id"]
    for path in ("", "/memories", "/sessions"):
        problem(live.get(f"/v1/users/leaver{path}"), status=404, code="user")
    problem(live.get(f"/v1/memories/{memory_id}"), status=404, code="memory")
    problem(live.get("/v1/sessions/a"), status=404, code="session")
    problem(live.delete("/v1/users/leaver"), status=404, code="user")
    assert "monocle" not in _everything(live, "leaver", "monocle phone")
    late = turn("Old news.", created_at="2024-01-01T00:00:00Z")
    problem(post(live, late, session="a", user="leaver"), status=422, code="erased")
    (new,) = accepted(post(live, turn("Hello."), session="a", user="leaver"))
    assert new["turn_id"] != old["turn_id"]
    assert read(live, "/v1/users/leaver")["policy"] == DEFAULTS
    found = stats(live)["turns"]
    assert found["accepted"] == found["done"] + found["dead"] + found["pending"] + found["erased"]


def _everything(client: httpx2.Client, user: str, query: str) -> str:
    """What a search and a context of a new session give away."""
    asked = {"user_id": user, "query": query}
    answers = [
        client.post("/v1/memories/search", json=asked | {"top_k": 100}),
        client.post("/v1/sessions/unheard of/context", json=asked | {"max_tokens": 4_000}),
    ]
    assert [answer.status_code for answer in answers] == [200, 200]
    return "".join(str(answer.json()["memories"]) + str(answer.json().get("messages")) for answer in answers)
