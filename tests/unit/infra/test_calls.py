from __future__ import annotations

from collections.abc import Iterator

import httpx2
import pytest
import stamina

from infra.calls import Calls, GatewayRefused, GatewayUnreachable, session_path
from tests.fakes.gateway import FakeGateway, problem

BODY = b'{"turns": [{"id": "t1"}]}'


@pytest.fixture(autouse=True)
def _no_waiting() -> Iterator[None]:
    with stamina.set_testing(True, attempts=4):
        yield


@pytest.fixture
def gateway() -> FakeGateway:
    return FakeGateway()


@pytest.fixture
def calls(gateway: FakeGateway) -> Iterator[Calls]:
    with Calls("http://gateway", key="tk_1_2", transport=gateway.transport) as made:
        yield made


def test_the_key_is_sent_as_a_bearer(gateway: FakeGateway, calls: Calls) -> None:
    calls.post(session_path("s", "turns"), BODY, headers={"Turnkeep-Lane": "bulk"})
    (request,) = gateway.requests
    assert request.headers["Authorization"] == "Bearer tk_1_2"
    assert request.headers["Turnkeep-Lane"] == "bulk"


def test_a_session_id_may_hold_anything() -> None:
    assert session_path("会话/1 ?#", "turns") == "/v1/sessions/%E4%BC%9A%E8%AF%9D%2F1%20%3F%23/turns"


@pytest.mark.parametrize(
    "failure",
    [httpx2.ConnectError("refused"), httpx2.ReadTimeout("slow"), problem(429), problem(502), problem(503)],
)
def test_what_may_pass_is_tried_again(
    gateway: FakeGateway, calls: Calls, failure: httpx2.Response | Exception
) -> None:
    gateway.failures = [failure, failure]
    assert calls.post(session_path("s", "turns"), BODY) == {"accepted": [{"id": "t1", "duplicate": False}]}
    assert len(gateway.requests) == 3


@pytest.mark.parametrize("status", [400, 401, 404, 409, 413, 422])
def test_a_refusal_is_not_tried_again_and_says_why(gateway: FakeGateway, calls: Calls, status: int) -> None:
    gateway.failures = [problem(status, detail="turns.0.role: 错误")]
    with pytest.raises(GatewayRefused) as refused:
        calls.post(session_path("s", "turns"), BODY)
    assert (refused.value.status, refused.value.detail) == (status, "turns.0.role: 错误")
    assert len(gateway.requests) == 1


def test_a_gateway_that_stays_away_is_one_sentence(gateway: FakeGateway, calls: Calls) -> None:
    gateway.failures = [httpx2.ConnectError("refused")] * 9
    with pytest.raises(
        GatewayUnreachable, match=r"^The gateway at http://gateway does not answer \(refused\);"
    ):
        calls.get("/v1/stats")


def test_a_gateway_that_stays_overloaded_is_one_sentence(gateway: FakeGateway, calls: Calls) -> None:
    gateway.failures = [problem(503, detail="Postgres does not answer")] * 9
    with pytest.raises(
        GatewayUnreachable, match=r"cannot take requests now \(503: Postgres does not answer\);"
    ):
        calls.get("/v1/stats")


def test_what_is_no_gateway_is_one_sentence(gateway: FakeGateway, calls: Calls) -> None:
    gateway.failures = [httpx2.Response(200, text="<html>")]
    with pytest.raises(GatewayUnreachable, match="start it or correct TURNKEEP_URL"):
        calls.get("/v1/stats")


@pytest.mark.parametrize(("asked", "pause"), [("7", 7.0), ("0", 0.0), (None, True), ("soon", True)])
def test_the_pause_is_what_the_gateway_asks_for(
    calls: Calls, asked: str | None, *, pause: bool | float
) -> None:
    response = problem(503, retry_after=asked)
    request = httpx2.Request("GET", "http://gateway")
    assert calls._pause(httpx2.HTTPStatusError("", request=request, response=response)) is not False
    assert calls._pause(httpx2.HTTPStatusError("", request=request, response=response)) == pause


def test_a_pause_longer_than_there_is_time_for_ends_the_call(gateway: FakeGateway) -> None:
    gateway.failures = [problem(503, retry_after="3600")] * 2
    with stamina.set_testing(False), Calls("http://gateway", key="k", transport=gateway.transport) as calls:
        with pytest.raises(GatewayUnreachable, match="503"):
            calls.post(session_path("s", "turns"), BODY)
        assert len(gateway.requests) == 1
