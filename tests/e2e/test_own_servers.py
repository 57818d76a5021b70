"""The commands one by one, on servers that the settings name; here those of a running `up`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import httpx2
import psycopg
import pytest
import redis

from infra.processes import checked_queues
from tests.e2e.commands import Up, one_sentence, started, turnkeep
from tests.running import eventually


@pytest.fixture(scope="module")
def own(shared: Up) -> Mapping[str, str]:
    """The settings that `up` gave to its own children."""
    import psutil

    given = psutil.Process(shared.pids["worker-1"]).environ()
    return {name: value for name, value in given.items() if name.startswith("TURNKEEP_")}


def test_migrate_again_changes_nothing_and_says_where_it_is(own: Mapping[str, str]) -> None:
    ended = turnkeep("migrate", environ=own)
    assert (ended.code, ended.out) == (0, "The database is at migration 0001.\n")


def test_a_gateway_of_ones_own_serves_the_same_tenant(
    own: Mapping[str, str], shared: Up, tmp_path: Path
) -> None:
    errors = tmp_path / "errors"
    with started("gateway", errors=errors, environ={**own, "TURNKEEP_GATEWAY__PORT": "0"}):
        eventually(lambda: "listens on" in errors.read_text(), seconds=60)
        url = errors.read_text().rpartition("listens on ")[2].strip()
        headers = {"Authorization": f"Bearer {shared.line['key']}"}
        eventually(lambda: _status(f"{url}/livez") == 200)
        assert httpx2.get(f"{url}/v1/stats", headers=headers).status_code == 200


def _status(url: str) -> int:
    try:
        return httpx2.get(url).status_code
    except httpx2.TransportError:
        return 0


def test_a_worker_consumes_only_the_queues_it_was_given(own: Mapping[str, str], tmp_path: Path) -> None:
    from shared.broker import celery_app
    from shared.settings import load

    settings = load(own)
    assert settings.broker.url is not None
    with (
        started("worker", "--queues", "embed,index", errors=tmp_path / "errors", environ=own) as process,
        celery_app(
            settings.broker, url=settings.broker.url.get_secret_value(), worker=settings.worker
        ) as app,
    ):
        inspect = app.control.inspect(timeout=0.5, pattern=f"turnkeep-{process.pid}@*")
        found = eventually(inspect.active_queues, seconds=60)
    ((name, queues),) = found.items()
    assert name.startswith(f"turnkeep-{process.pid}@")
    assert {queue["name"] for queue in queues} == set(checked_queues("embed,index"))


def test_a_queue_that_does_not_exist_is_one_sentence() -> None:
    ended = turnkeep("worker", "--queues", "embed,embeded")
    assert ended.code == 1
    assert one_sentence(ended.err).startswith("There is no queue 'embeded'; the queues are extract,")


@pytest.mark.parametrize("command", ["gateway", "worker", "beat", "migrate", "keys list"])
def test_without_settings_each_command_is_one_sentence(command: str) -> None:
    ended = turnkeep(*command.split())
    assert ended.code == 1
    assert " is not set; give it, or run `turnkeep up`" in one_sentence(ended.err)


@pytest.mark.parametrize("command", ["gateway", "worker"])
def test_a_role_that_row_security_does_not_bind_is_refused(own: Mapping[str, str], command: str) -> None:
    ended = turnkeep(
        command, environ={**own, "TURNKEEP_POSTGRES__URL": own["TURNKEEP_POSTGRES__MIGRATION_URL"]}
    )
    assert ended.code == 1
    assert "logs in as a role that row-level security does not bind" in one_sentence(ended.err)


@pytest.mark.parametrize(
    ("command", "setting", "url"),
    [
        ("gateway", "TURNKEEP_POSTGRES__URL", "postgresql+psycopg://x:y@127.0.0.1:9/z"),
        ("migrate", "TURNKEEP_POSTGRES__MIGRATION_URL", "postgresql+psycopg://x:y@127.0.0.1:9/z"),
        ("keys list", "TURNKEEP_POSTGRES__MIGRATION_URL", "postgresql+psycopg://x:y@127.0.0.1:9/z"),
        ("worker", "TURNKEEP_BROKER__URL", "redis://127.0.0.1:9/0"),
        ("beat", "TURNKEEP_BROKER__URL", "redis://127.0.0.1:9/0"),
    ],
)
def test_a_server_that_cannot_be_reached_is_one_sentence(
    own: Mapping[str, str], command: str, setting: str, url: str
) -> None:
    ended = turnkeep(*command.split(), environ={**own, setting: url})
    assert ended.code == 1
    assert one_sentence(ended.err).startswith(f"{setting}: ")


def test_a_key_is_made_listed_and_revoked(own: Mapping[str, str], shared: Up) -> None:
    made = json.loads(turnkeep("keys", "create", "--tenant", "acme", "--json", environ=own).out)
    headers = {"Authorization": f"Bearer {made['key']}"}
    assert httpx2.get(f"{shared.url}/v1/stats", headers=headers).json()["turns"]["accepted"] == 0
    listed = turnkeep("keys", "list", environ=own).out
    assert made["key_id"] in listed
    assert made["key"] not in listed
    assert turnkeep("keys", "revoke", made["key_id"], environ=own).code == 0
    assert httpx2.get(f"{shared.url}/v1/stats", headers=headers).status_code == 401
    again = turnkeep("keys", "revoke", made["key_id"], environ=own)
    assert again.code == 1
    assert "there is no active key" in one_sentence(again.err)


def test_the_doctor_finds_nothing_wrong(own: Mapping[str, str], shared: Up) -> None:
    ended = turnkeep("doctor", environ={**own, "TURNKEEP_URL": shared.url})
    assert ended.code == 0, ended.out
    assert "PROBLEM" not in ended.out
    subjects = [line.removeprefix("ok      ").partition(": ")[0] for line in ended.out.splitlines()]
    assert {"postgres, application role", "broker", "vectors", "embedder", "pepper", "gateway"} <= set(
        subjects
    )


def test_the_doctor_finds_what_loses_data(own: Mapping[str, str]) -> None:
    with redis.Redis.from_url(own["TURNKEEP_BROKER__URL"]) as client:
        for name, unsafe, safe in (
            ("maxmemory-policy", "allkeys-lru", "noeviction"),
            ("appendonly", "no", "yes"),
        ):
            client.config_set(name, unsafe)
            ended = turnkeep("doctor", environ=own)
            client.config_set(name, safe)
            assert ended.code == 1
            (problem,) = [line for line in ended.out.splitlines() if line.startswith("PROBLEM")]
            assert f"CONFIG SET {name} {safe}" in problem


def test_the_doctor_finds_another_embedder_and_a_bound_migration_role(own: Mapping[str, str]) -> None:
    environ = {
        **own,
        "TURNKEEP_EMBEDDER__NAME": "bundled",
        "TURNKEEP_POSTGRES__MIGRATION_URL": own["TURNKEEP_POSTGRES__URL"],
    }
    problems = [line for line in turnkeep("doctor", environ=environ).out.splitlines() if "PROBLEM" in line]
    assert [line.partition(": ")[0].split(maxsplit=1)[1] for line in problems] == [
        "postgres, migration role",
        "vectors",
    ]


def test_the_doctor_finds_a_database_that_was_not_migrated(own: Mapping[str, str]) -> None:
    url = own["TURNKEEP_POSTGRES__MIGRATION_URL"].replace("+psycopg", "")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("update alembic_version set version_num = 'older'")
        ended = turnkeep("doctor", environ=own)
        gateway = turnkeep("gateway", environ={**own, "TURNKEEP_GATEWAY__PORT": "0"})
        connection.execute("update alembic_version set version_num = '0001'")
    assert "is at migration older, not 0001; run `turnkeep migrate`" in ended.out
    assert gateway.code == 1
    assert "run `turnkeep migrate`" in gateway.err


def test_without_settings_the_doctor_looks_at_what_up_needs() -> None:
    ended = turnkeep("doctor")
    assert ended.code == 0
    assert ended.out.count("`turnkeep up` brings one") == 3
