"""Many clients at once on the same things, while workers merge: nobody fails and nothing is counted wrong."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import httpx2

from api_gateway import direct
from shared.domain.ids import MemoryId
from tests.integration.accepting import await_blocked, user_key
from tests.integration.said import statement
from tests.integration.talking import await_done, post, read, stats, turn
from tests.running import Database, Deployment, GatewayProcess, Tenant, eventually

CLIENTS = 8
CALLS = 20


def _everything(client: httpx2.Client, *, dice: random.Random) -> list[httpx2.Response]:
    """One call of each of several kinds, in random order, on few sessions of one user."""
    session = f"/v1/sessions/s{dice.randrange(3)}"
    memories = client.get("/v1/users/u/memories", params={"limit": 5}).json().get("memories", [])
    calls = [
        *[partial(client.post, f"{session}/turns", json=_turns(dice)) for _ in range(6)],
        partial(client.post, f"{session}/flush"),
        partial(client.post, f"{session}/close", json={"outcome": "solved"}),
        partial(
            client.post, f"{session}/context", json={"user_id": "u", "query": "phone", "max_tokens": 300}
        ),
        partial(client.put, "/v1/users/u", json={"persona": dice.choice(["technical", "general"])}),
        partial(client.post, "/v1/memories", json={"user_id": "u", "text": f"fact {dice.randrange(4)}"}),
        *[
            partial(client.patch, f"/v1/memories/{each['id']}", json={"pinned": True})
            for each in memories[:2]
        ],
        *[partial(client.delete, f"/v1/memories/{each['id']}") for each in memories[2:3]],
        *([partial(client.delete, session)] if dice.random() < 0.1 else []),
        *([partial(client.delete, "/v1/users/u")] if dice.random() < 0.05 else []),
    ]
    return [call() for call in dice.sample(calls, 4)]


def _turns(dice: random.Random) -> dict[str, object]:
    number = dice.randrange(1_000)
    turns = [
        turn(f"My phone number is +1 415 555 {number:04}.", id=f"{number}"),
        turn("ok", role="assistant"),
    ]
    return {"user_id": "u", "turns": turns}


def test_whatever_many_clients_do_at_once_nothing_fails(
    running: Deployment, running_gateway: GatewayProcess
) -> None:
    tenant = running.database.tenant()

    def client(seed: int) -> set[int]:
        dice = random.Random(seed)
        with running_gateway.client(tenant) as own:
            answers = [answer for _ in range(CALLS // 4) for answer in _everything(own, dice=dice)]
        return {answer.status_code for answer in answers}

    with ThreadPoolExecutor(CLIENTS) as pool:
        seen = set().union(*pool.map(client, range(CLIENTS)))
    assert {status for status in seen if status >= 500} == set()
    with running_gateway.client(tenant) as own:
        for number in range(3):
            own.post(f"/v1/sessions/s{number}/flush")
        turns = await_done(own)["turns"]
        assert turns["accepted"] == turns["done"] + turns["erased"]
        assert turns["dead"] == 0
        for number in range(3):
            if own.get(f"/v1/sessions/s{number}").is_success:
                found = read(own, f"/v1/sessions/s{number}/turns", limit=200)["turns"]
                assert [each["sequence"] for each in found] == list(range(1, len(found) + 1))


def test_one_memory_id_from_two_clients_at_once_is_one_memory(database: Database, tenant: Tenant) -> None:
    addition = direct.Addition(
        user_id="u",
        user_key=user_key(tenant.tenant_id, user_id="u"),
        statement=statement("Has a parrot.", sequences=()),
        client_id="p",
        body_hmac=b"body",
    )

    def add() -> MemoryId:
        with database.begin(tenant.tenant_id) as work:
            return direct.add(addition, work=work, embedder="hashing")

    with database.begin(tenant.tenant_id) as work:
        work.users.join(addition.user_key, user_id="u", oldest=None)
    with ThreadPoolExecutor(1) as pool:
        with database.begin(tenant.tenant_id) as work:
            first = direct.add(addition, work=work, embedder="hashing")
            adding = pool.submit(add)
            await_blocked(database, call=adding)
        assert adding.result(timeout=30) == first


def test_one_new_user_from_many_clients_at_once_is_one_user(api: httpx2.Client) -> None:
    with ThreadPoolExecutor(CLIENTS) as pool:
        posted = list(pool.map(lambda number: post(api, turn("hi"), session=f"{number % 3}"), range(CLIENTS)))
    assert {answer.status_code for answer in posted} == {202}
    assert stats(api)["turns"]["accepted"] == CLIENTS
    assert eventually(lambda: len(read(api, "/v1/users/u/sessions")["sessions"]) == 3)


def test_of_many_deletes_at_once_one_finds_its_session_and_one_its_user(live: httpx2.Client) -> None:
    post(live, turn("hello"), session="s", user="u")
    for path in ("/v1/sessions/s", "/v1/users/u"):
        with ThreadPoolExecutor(CLIENTS) as clients:
            answers = list(clients.map(live.delete, [path] * CLIENTS))
        assert sorted(answer.status_code for answer in answers) == [202, *[404] * (CLIENTS - 1)]
