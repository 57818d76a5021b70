"""Accept with the broker hung, stopped and back, and with no vector server at all."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import httpx2
import psutil
import pytest
import redis
from sqlalchemy import text

from infra.embedded.loopback import HOST, LoopbackServer, free_port
from infra.embedded.process import Supervisor
from infra.embedded.stack import EmbeddedStack
from infra.embedded.valkey import broker_url, plan_valkey
from tests.integration.talking import accepted, post, problem, read, stats, turn
from tests.running import Databases, Deployment, eventually

PASSWORD = "known"
ROUNDS = [turn(f"round {number}") for number in range(3)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Broker:
    """A broker of our own, to be stopped."""

    home: Path
    port: int
    supervisor: Supervisor

    @property
    def url(self) -> str:
        return broker_url(self.port, password=PASSWORD)

    def start(self) -> None:
        plan = plan_valkey(self.home, log=self.home / "log", password=PASSWORD, port=self.port)
        LoopbackServer(plan, supervisor=self.supervisor).await_ready()

    def stop(self) -> None:
        self.supervisor.stop()

    def hang(self) -> None:
        """Connections are taken by the kernel and nobody answers."""
        psutil.Process(self.supervisor.children[0].pid).suspend()

    def wake(self) -> None:
        psutil.Process(self.supervisor.children[0].pid).resume()

    def bells(self) -> int:
        with redis.Redis.from_url(self.url) as client:
            return sum(int(client.llen(key)) for key in client.keys("*extract"))


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with ExitStack() as exits:
        home = Path(exits.enter_context(tempfile.TemporaryDirectory(prefix="turnkeep-broker-")))
        made = Broker(home=home, port=free_port(), supervisor=exits.enter_context(Supervisor()))
        made.start()
        yield made


@pytest.fixture(scope="module")
def lonely(stack: EmbeddedStack, databases: Databases, broker: Broker) -> Deployment:
    """On a broker of our own and without a vector server."""
    settings = {
        "TURNKEEP_BROKER__URL": broker.url,
        "TURNKEEP_BROKER__PUBLISH_TIMEOUT": "0.5",
        "TURNKEEP_QDRANT__URL": f"http://{HOST}:{free_port()}",
    }
    return Deployment(stack, database=databases.make(), settings=settings)


@pytest.fixture(scope="module")
def api(lonely: Deployment) -> Iterator[httpx2.Client]:
    with lonely.gateway().client(lonely.database.tenant()) as client:
        yield client


def _dependencies(api: httpx2.Client) -> dict[str, str]:
    ready = read(api, "/readyz")
    assert ready["ready"]
    dependencies: dict[str, str] = ready["dependencies"]
    return dependencies


def test_a_gateway_is_ready_without_a_vector_server_and_says_so(api: httpx2.Client) -> None:
    found = _dependencies(api)
    assert (found["postgres"], found["broker"]) == ("ok", "ok")
    assert found["vectors"] != "ok"
    assert 'turnkeep_dependency_up{dependency="vectors"} 0.0' in api.get("/metrics").text


def test_a_broker_that_hangs_delays_no_answer(api: httpx2.Client, broker: Broker) -> None:
    broker.hang()
    try:
        for number in range(100):
            accepted(post(api, *ROUNDS, session=f"hung {number}"))
        assert _dependencies(api)["broker"] != "ok"
    finally:
        broker.wake()
    eventually(lambda: _dependencies(api)["broker"] == "ok")


def test_accept_goes_on_without_a_broker_and_rings_again_when_it_is_back(
    api: httpx2.Client, broker: Broker
) -> None:
    before = stats(api)["turns"]["accepted"]
    broker.stop()
    for number in range(100):
        accepted(post(api, *ROUNDS, session=f"stopped {number}"))
    assert _dependencies(api)["broker"] != "ok"
    assert stats(api)["turns"]["accepted"] == before + 300
    broker.start()
    assert _dependencies(api)["broker"] == "ok"
    with redis.Redis.from_url(broker.url) as client:
        client.flushall()
    eventually(lambda: accepted(post(api, *ROUNDS)) and broker.bells())


def test_an_error_of_ours_is_a_problem_without_content_in_answer_or_log(
    api: httpx2.Client, lonely: Deployment
) -> None:
    """The last test here: the database is broken from now on."""
    with lonely.database.owner.begin() as connection:
        connection.execute(text("alter table turns add constraint never check (content is null) not valid"))
    answer = post(api, turn("CANARY-9b1d"), session="broken")
    problem(answer, status=500, code="internal")
    path = lonely.logs / f"{lonely.database.name}-gateway.log"
    # The traceback is written after the answer is sent.
    eventually(lambda: "CheckViolation" in path.read_text())
    log = path.read_text()
    assert answer.json()["request_id"] in log
    assert "CANARY" not in answer.text + log
