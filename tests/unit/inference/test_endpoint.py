from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from time import sleep

import httpx2
import openai
import pytest

from shared.inference.endpoint import AnswerTooLarge, CallFailed, Endpoint
from tests.fakes.model_server import ModelServer, Reply, status_reply

PATH = "/v1/echo"


def post(client: openai.OpenAI, timeout: httpx2.Timeout) -> str:
    return client.post("/echo", body={}, cast_to=str, options={"timeout": timeout})


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


@pytest.fixture
def endpoint(server: ModelServer) -> Iterator[Endpoint]:
    endpoint = Endpoint(base_url=server.base_url, api_key="", max_bytes=100, threads=1)
    yield endpoint
    endpoint.close()


def test_a_body_of_the_largest_size_passes_and_one_byte_more_does_not(
    server: ModelServer, endpoint: Endpoint
) -> None:
    server.script(PATH, Reply(body=b"x" * 100), Reply(body=b"x" * 101))
    assert endpoint.call(post, deadline=10) == "x" * 100
    with pytest.raises(AnswerTooLarge):
        endpoint.call(post, deadline=10)


def test_the_body_of_an_error_is_bounded_as_well(server: ModelServer, endpoint: Endpoint) -> None:
    server.script(PATH, Reply(status=500, body=b"x" * 10_000))
    with pytest.raises((AnswerTooLarge, CallFailed)):
        endpoint.call(post, deadline=10)
    server.script(PATH, Reply(body=b"ok"))
    assert endpoint.call(post, deadline=10) == "ok"


@pytest.mark.parametrize(
    ("status", "again"), [(400, False), (401, False), (404, False), (429, True), (503, True)]
)
def test_a_rejection_says_whether_to_try_again(
    server: ModelServer, endpoint: Endpoint, status: int, *, again: bool
) -> None:
    server.script(PATH, status_reply(status, retry_after="7"))
    with pytest.raises(CallFailed) as caught:
        endpoint.call(post, deadline=10)
    failed = caught.value
    assert (failed.status, failed.again, failed.retry_after) == (status, again, 7.0)


def test_a_call_left_hanging_in_its_headers_gives_its_only_thread_back(
    server: ModelServer, endpoint: Endpoint
) -> None:
    server.script(PATH, Reply(drip_headers=True, drip=0.02))
    with pytest.raises(CallFailed, match="no whole answer"):
        endpoint.call(post, deadline=0.2)
    server.script(PATH, Reply(body=b"ok"))
    assert endpoint.call(post, deadline=10) == "ok"


def test_the_proxy_of_the_environment_is_used(server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", server.base_url.removesuffix("/v1"))
    monkeypatch.setenv("no_proxy", "")
    server.respond("http://models.invalid/v1/echo", lambda _: Reply(body=b"by proxy"))
    endpoint = Endpoint(base_url="http://models.invalid/v1", api_key="k", max_bytes=100)
    assert endpoint.call(post, deadline=10) == "by proxy"
    endpoint.close()


def test_a_dripping_answer_ends_without_harm_to_a_call_beside_it(server: ModelServer) -> None:
    endpoint = Endpoint(base_url=server.base_url, api_key="k", max_bytes=10_000, threads=2)
    server.script(PATH, Reply(body=b"patient", delay=2.5))
    with ThreadPoolExecutor(1) as pool:
        beside = pool.submit(endpoint.call, post, deadline=20)
        while not server.received:
            sleep(0.01)
        server.script(PATH, Reply(body=b"x" * 10_000, drip=0.02))
        with pytest.raises(CallFailed):
            endpoint.call(post, deadline=0.3)
        assert beside.result() == "patient"
    endpoint.close()
