"""Keys, scopes and tenants, on every route there is: a route that is added is tested or named here."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from uuid import UUID

import httpx2
import pytest
from fastapi.routing import APIRoute

from api_gateway.main import ROUTERS
from shared.stores.postgres import keys
from shared.stores.postgres.keys import ALL_SCOPES
from tests.integration.talking import Body, accepted, add, post, problem, read, stats, turn
from tests.running import Database, GatewayProcess, Tenant

Call = tuple[str, str]
SCOPES: dict[Call, str] = {
    ("POST", "/v1/sessions/{session_id}/turns"): "turns:write",
    ("GET", "/v1/sessions/{session_id}/turns/{turn_id}"): "context:read",
    ("POST", "/v1/sessions/{session_id}/context"): "context:read",
    ("GET", "/v1/sessions/{session_id}"): "context:read",
    ("GET", "/v1/sessions/{session_id}/turns"): "context:read",
    ("POST", "/v1/sessions/{session_id}/flush"): "turns:write",
    ("POST", "/v1/sessions/{session_id}/close"): "turns:write",
    ("GET", "/v1/sessions/{session_id}/diagnosis"): "context:read",
    ("DELETE", "/v1/sessions/{session_id}"): "erase",
    ("POST", "/v1/memories/search"): "memories:read",
    ("GET", "/v1/users/{user_id}/memories"): "memories:read",
    ("POST", "/v1/memories"): "memories:write",
    ("GET", "/v1/memories/{memory_id}"): "memories:read",
    ("PATCH", "/v1/memories/{memory_id}"): "memories:write",
    ("DELETE", "/v1/memories/{memory_id}"): "memories:write",
    ("GET", "/v1/memories/{memory_id}/history"): "memories:read",
    ("GET", "/v1/users/{user_id}"): "memories:read",
    ("PUT", "/v1/users/{user_id}"): "memories:write",
    ("GET", "/v1/users/{user_id}/sessions"): "context:read",
    ("DELETE", "/v1/users/{user_id}"): "erase",
    ("GET", "/v1/stats"): "context:read",
}
BODIES: dict[Call, Body] = {
    ("POST", "/v1/sessions/{session_id}/turns"): {"user_id": "stranger", "turns": [turn("theirs")]},
    ("POST", "/v1/sessions/{session_id}/context"): {"max_tokens": 500},
    ("POST", "/v1/memories/search"): {"user_id": "u", "query": "secret"},
    ("POST", "/v1/memories"): {"user_id": "u", "text": "theirs"},
    ("PATCH", "/v1/memories/{memory_id}"): {"text": "theirs"},
    ("PUT", "/v1/users/{user_id}"): {"persona": "technical"},
}
# Where another tenant's id is simply an unknown one that the call may make or asks nothing of.
FOREIGN = {
    ("POST", "/v1/sessions/{session_id}/turns"): 202,
    ("POST", "/v1/sessions/{session_id}/context"): 422,
    ("PUT", "/v1/users/{user_id}"): 200,
    ("POST", "/v1/memories"): 202,
    ("POST", "/v1/memories/search"): 200,
    ("GET", "/v1/stats"): 200,
}
ROUTES = sorted(
    (method, route.path)
    for router in ROUTERS
    for route in router.routes
    if isinstance(route, APIRoute) and route.path.startswith("/v1/")
    for method in route.methods or ()
)
SECRET = "the secret of the first tenant"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ids:
    """One of each of a tenant's things."""

    turn_id: str
    memory_id: str

    def ask(self, client: httpx2.Client, call: Call) -> httpx2.Response:
        method, path = call
        ids = {"session_id": "s", "user_id": "u", "turn_id": self.turn_id, "memory_id": self.memory_id}
        return client.request(method, path.format(**ids), json=BODIES.get(call))


def _ids(client: httpx2.Client) -> Ids:
    (receipt,) = accepted(post(client, turn(SECRET)))
    return Ids(turn_id=receipt["turn_id"], memory_id=add(client, SECRET, id="m"))


def _state(client: httpx2.Client, ids: Ids) -> list[Body]:
    paths = ("/v1/sessions/s", "/v1/sessions/s/turns", "/v1/users/u", f"/v1/memories/{ids.memory_id}")
    return [stats(client), *(read(client, path) for path in paths)]


@pytest.fixture
def with_scopes(quiet_gateway: GatewayProcess, database: Database, tenant: Tenant) -> Iterator[ScopedClients]:
    with httpx2.Client(base_url=quiet_gateway.url, timeout=30) as client:
        yield ScopedClients(client=client, database=database, tenant=tenant)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopedClients:
    client: httpx2.Client
    database: Database
    tenant: Tenant

    def use(self, *scopes: str) -> str:
        """Send a key with these scopes from now on; returns its id."""
        token = keys.create(self.database.owner, tenant=self.tenant.name, scopes=scopes)
        self.client.headers["Authorization"] = f"Bearer {token}"
        return token.split("_")[1]


def test_every_route_is_listed_with_its_scope() -> None:
    assert sorted(SCOPES) == ROUTES


@pytest.mark.parametrize("call", ROUTES, ids=" ".join)
def test_a_call_without_a_good_key_is_unauthorized(
    quiet_gateway: GatewayProcess, tenant: Tenant, call: Call
) -> None:
    nothing = Ids(turn_id=str(UUID(int=0)), memory_id=str(UUID(int=0)))
    prefix, key_id, secret = tenant.token.split("_", 2)
    wrong = [
        "",
        "Basic eA==",
        "Bearer",
        "Bearer x",
        f"Bearer {prefix}_{key_id}",
        f"Bearer {prefix}_{key_id}_",
    ]
    wrong += [f"Bearer {prefix}_{key_id}_{secret[:-1]}", f"Bearer {prefix}_{key_id[:-1]}_{secret}"]
    wrong += [f"Bearer {prefix}_%_{secret}", f"Bearer kt_{key_id}_{secret}", tenant.token]
    with httpx2.Client(base_url=quiet_gateway.url, timeout=30) as client:
        for header in wrong:
            client.headers["Authorization"] = header
            answer = nothing.ask(client, call)
            problem(answer, status=401, code="unauthorized")
            assert answer.headers["www-authenticate"] == "Bearer"


def test_a_revoked_key_is_unauthorized(with_scopes: ScopedClients) -> None:
    key_id = with_scopes.use(*ALL_SCOPES)
    assert with_scopes.client.get("/v1/stats").is_success
    keys.revoke(with_scopes.database.owner, key_id=key_id)
    problem(with_scopes.client.get("/v1/stats"), status=401, code="unauthorized")


@pytest.mark.parametrize("call", ROUTES, ids=" ".join)
def test_a_call_needs_its_scope_and_no_other(with_scopes: ScopedClients, call: Call) -> None:
    client = with_scopes.client
    with_scopes.use(*ALL_SCOPES)
    ids = _ids(client)
    before = _state(client, ids)
    with_scopes.use(*(scope for scope in ALL_SCOPES if scope != SCOPES[call]))
    problem(ids.ask(client, call), status=403, code="scope")
    with_scopes.use(*ALL_SCOPES)
    assert _state(client, ids) == before
    with_scopes.use(SCOPES[call])
    assert ids.ask(client, call).status_code != 403


@pytest.mark.parametrize("call", ROUTES, ids=" ".join)
def test_another_tenants_ids_are_unknown(
    api: httpx2.Client, quiet_gateway: GatewayProcess, database: Database, call: Call
) -> None:
    ids = _ids(api)
    before = _state(api, ids)
    with quiet_gateway.client(database.tenant()) as stranger:
        answer = ids.ask(stranger, call)
        assert answer.status_code == FOREIGN.get(call, 404), answer.text
        assert SECRET not in answer.text
        if answer.status_code == 404:
            # Word for word what an id that nobody has gets.
            nobodys = Ids(turn_id=str(UUID(int=1)), memory_id=str(UUID(int=1)))
            unknown = nobodys.ask(stranger, call)
            assert _told(unknown, nobodys) == _told(answer, ids)
    assert _state(api, ids) == before


def _told(answer: httpx2.Response, ids: Ids) -> str:
    told = {name: value for name, value in answer.json().items() if name != "request_id"}
    return json.dumps(told).replace(ids.turn_id, "ID").replace(ids.memory_id, "ID")


def test_a_tenants_key_counts_and_lists_its_own_only(
    api: httpx2.Client, quiet_gateway: GatewayProcess, database: Database
) -> None:
    _ids(api)
    with quiet_gateway.client(database.tenant()) as stranger:
        assert stats(stranger)["turns"]["accepted"] == 0
        accepted(post(stranger, turn("theirs")))
        assert len(read(stranger, "/v1/users/u/sessions")["sessions"]) == 1
        assert read(stranger, "/v1/users/u/memories", state="pending")["memories"] == []
        context = stranger.post("/v1/sessions/s/context", json={"max_tokens": 500, "query": SECRET}).text
        assert SECRET not in context


def test_a_body_is_no_way_around_the_key(api: httpx2.Client) -> None:
    """The tenant comes from the key: a field of that name is an unknown field."""
    body = {"user_id": "u", "tenant_id": str(UUID(int=0)), "turns": [turn("hi")]}
    assert api.post("/v1/sessions/s/turns", json=body).status_code == 202
    assert stats(api)["turns"]["accepted"] == 1
