"""Errors as problems."""

from __future__ import annotations

import json

import pytest
from starlette.requests import Request

from api_gateway.errors import STATUS, failed, problem, refused, unavailable
from shared.domain import errors

SCOPE = {"type": "http", "method": "GET", "path": "/v1/x", "headers": [], "state": {"request_id": "r-1"}}


@pytest.mark.parametrize("kind", errors.Refused.__subclasses__())
def test_every_refusal_has_a_status(kind: type[errors.Refused]) -> None:
    answer = refused(Request(SCOPE), kind("some_code", "what to do"))
    body = json.loads(bytes(answer.body))
    assert answer.status_code == STATUS[kind] == body["status"]
    assert 400 <= answer.status_code < 500
    assert (body["code"], body["detail"], body["request_id"]) == ("some_code", "what to do", "r-1")
    assert body["type"] == "urn:turnkeep:problem:some_code"


@pytest.mark.parametrize(
    "kind", [errors.StoreUnavailable, errors.IndexUnavailable, errors.EmbedderUnavailable]
)
def test_what_passes_by_itself_says_when_to_try_again(kind: type[errors.RetryLater]) -> None:
    answer = unavailable(Request(SCOPE), kind("Postgres does not answer"))
    assert answer.status_code == 503
    assert int(answer.headers["retry-after"]) > 0


def test_an_error_of_ours_tells_nothing_but_where_to_look() -> None:
    answer = failed(Request(SCOPE), ValueError("what a customer said"))
    assert answer.status_code == 500
    assert answer.headers["x-request-id"] == "r-1"
    assert b"customer" not in bytes(answer.body)


def test_a_problem_names_its_fields() -> None:
    named = [{"field": "body.a", "detail": "wrong"}]
    answer = problem(422, code="invalid", detail="d", scope=SCOPE, errors=named)
    assert json.loads(bytes(answer.body))["errors"] == named
    assert "errors" not in json.loads(bytes(problem(404, code="x", detail="d", scope=SCOPE).body))
