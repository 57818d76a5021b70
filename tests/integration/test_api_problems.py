"""Errors in one form, request ids, and the operational endpoints."""

from __future__ import annotations

import httpx2
import pytest
from fastapi.routing import APIRoute

from api_gateway.main import ROUTERS
from tests.integration.talking import accepted, post, problem, read, turn
from tests.running import Deployment, GatewayProcess


def test_problems_have_one_form(api: httpx2.Client) -> None:
    problem(api.get("/v1/nothing"), status=404, code="not_found")
    wrong = api.put("/v1/sessions/s/turns")
    problem(wrong, status=405, code="method_not_allowed")
    assert wrong.headers["allow"]
    body = problem(api.post("/v1/memories/search", json={"query": 5}), status=422, code="invalid")
    assert {error["field"] for error in body["errors"]} == {"body.user_id", "body.query"}
    assert body["instance"] == "/v1/memories/search"
    problem(api.post("/v1/memories/search", content=b"{"), status=422, code="json")


@pytest.mark.parametrize("path", ["/v1/stats", "/v1/sessions/none", "/v1/nothing", "/livez"])
def test_a_request_id_comes_back(api: httpx2.Client, path: str) -> None:
    assert api.get(path, headers={"X-Request-ID": "abc-123"}).headers["x-request-id"] == "abc-123"
    made = {api.get(path).headers["x-request-id"] for _ in range(2)}
    assert len(made) == 2


@pytest.mark.parametrize("given", [b"x" * 129, "键".encode(), b"\xff"])
def test_an_unusable_request_id_is_replaced(api: httpx2.Client, given: bytes) -> None:
    back = api.get("/v1/stats", headers={b"X-Request-ID": given}).headers["x-request-id"]
    assert back.isascii()
    assert back.encode() != given


def test_the_description_names_every_route(api: httpx2.Client) -> None:
    described = read(api, "/openapi.json")["paths"]
    listed = {route.path for router in ROUTERS for route in router.routes if isinstance(route, APIRoute)}
    assert set(described) == listed
    assert api.get("/docs").status_code == 200


def test_operations_need_no_key_and_tell_nothing_of_tenants(
    quiet_gateway: GatewayProcess, api: httpx2.Client
) -> None:
    accepted(post(api, turn("hello"), session="secret-session", user="secret-user"))
    with quiet_gateway.client(None) as anybody:
        assert read(anybody, "/livez") == {"status": "alive"}
        ready = read(anybody, "/readyz")
        assert ready == {"ready": True, "dependencies": {"postgres": "ok", "broker": "ok", "vectors": "ok"}}
        metrics = anybody.get("/metrics").text
    assert "turnkeep_stage_backlog" in metrics
    assert 'http_route="/v1/sessions/{session_id}/turns"' in metrics
    assert "secret" not in metrics


def test_a_key_that_is_missing_is_told_before_the_body_is_judged(quiet_gateway: GatewayProcess) -> None:
    with quiet_gateway.client(None) as anybody:
        problem(anybody.post("/v1/memories", json={"wrong": 1}), status=401, code="unauthorized")


def test_what_customers_say_stays_out_of_the_log(quiet: Deployment, api: httpx2.Client) -> None:
    canary = "CANARY-5f3a"
    accepted(post(api, turn(canary, id=canary, metadata={"a": canary}), session=canary, user=canary))
    post(api, turn("other", id=canary), session=canary, user=canary)
    api.post("/v1/memories/search", json={"user_id": canary, "query": canary})
    api.post("/v1/memories", content=f'{{"user_id":"{canary}","text":5}}'.encode())
    log = (quiet.logs / f"{quiet.database.name}-gateway.log").read_text()
    assert canary not in log
