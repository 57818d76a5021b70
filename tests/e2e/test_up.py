"""`turnkeep up`: everything runs, is put right when it breaks, and is gone afterwards."""

from __future__ import annotations

import os
import signal
import socket
from pathlib import Path

import httpx2
import psutil
import pytest

from tests.e2e.commands import Up, all_gone, one_sentence, started, turnkeep, up
from tests.running import eventually

KEYS = {"url", "key", "database_url", "broker_url", "qdrant_url", "pids"}
PROCESSES = {"gateway", "beat", "worker-1", "worker-2", "postgres", "valkey", "vectors"}


def test_the_json_line_says_where_everything_is(shared: Up) -> None:
    assert set(shared.line) == KEYS
    assert set(shared.pids) == PROCESSES
    assert len(set(shared.pids.values())) == len(PROCESSES)
    assert all(psutil.pid_exists(pid) for pid in shared.pids.values())
    assert shared.call("GET", "/readyz").json() == {
        "ready": True,
        "dependencies": {"postgres": "ok", "broker": "ok", "vectors": "ok"},
    }


def test_secrets_are_in_no_argument_list(shared: Up) -> None:
    arguments = " ".join(" ".join(one.cmdline()) for one in shared.everything())
    assert str(shared.line["key"]) not in arguments
    for url in ("database_url", "broker_url"):
        password = str(shared.line[url]).partition("://")[2].partition("@")[0].partition(":")[2]
        assert password
        assert password not in arguments


def test_both_kinds_of_worker_have_queues_of_their_own(shared: Up) -> None:
    first, second = (psutil.Process(shared.pids[f"worker-{n}"]).cmdline() for n in (1, 2))
    assert "extract,summarize,merge,index,upkeep" in first
    assert "embed,index" in second


def test_secrets_of_a_data_directory_are_for_its_owner_alone(shared: Up, shared_data: Path) -> None:
    assert (shared_data / "api_key").read_text() == shared.line["key"]
    for name in ("api_key", "pepper", "passwords.json"):
        assert (shared_data / name).stat().st_mode & 0o077 == 0


def test_a_data_directory_in_use_is_one_sentence(shared: Up, shared_data: Path) -> None:
    ended = turnkeep("up", "--port", "0", "--data-dir", str(shared_data))
    assert ended.code == 1
    assert f"is in use by process {shared.process.pid};" in one_sentence(ended.err)
    assert shared.call("GET", "/livez").status_code == 200


def test_turns_become_memory(shared: Up) -> None:
    shared.post("up-1", turns=3)
    turns = shared.await_done()
    assert turns["accepted"] == turns["done"] >= 3
    assert turns["dead"] == 0


def test_sigterm_leaves_no_process_and_no_temporary_directory(home: Path) -> None:
    with up("--workers", "1", environ={"TMPDIR": str(home)}) as running:
        everything = running.everything()
        assert [path.name.startswith("turnkeep-") for path in home.iterdir()] == [True]
        running.process.send_signal(signal.SIGTERM)
        assert running.ended() == 0
        assert running.process.stdout is not None
        assert running.process.stdout.read() == b""
        assert one_sentence(running.said()) == "stopped."
    assert all_gone(everything)
    assert list(home.iterdir()) == []


def test_ctrl_c_while_it_starts_leaves_no_process(home: Path) -> None:
    asked = ("up", "--data-dir", str(home / "data"), "--port", "0")
    with started(*asked, errors=home / "errors") as process:
        own = psutil.Process(process.pid)
        eventually((home / "data" / "logs" / "vectors.log").exists)
        everything = [own, *own.children(recursive=True)]
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 0
        assert process.stdout is not None
        assert process.stdout.read() == b""
    assert all_gone(everything)


def test_a_killed_worker_is_replaced_while_the_rest_goes_on(home: Path) -> None:
    with up("--data-dir", str(home / "data")) as running:
        running.post("before", turns=4)
        for name in ("worker-1", "worker-2"):
            os.kill(running.pids[name], signal.SIGKILL)
        running.post("after", turns=4)
        turns = running.await_done()
        assert turns["accepted"] == turns["done"] == 8
        own = psutil.Process(running.process.pid)
        assert not {running.pids["worker-1"], running.pids["worker-2"]} & {one.pid for one in own.children()}
        assert psutil.Process(running.pids["gateway"]).is_running()
        for name in ("worker-1", "worker-2"):
            assert f"turnkeep: {name} ended with code -9; started again as process " in running.said()


def test_a_killed_gateway_and_beat_are_replaced(home: Path) -> None:
    with up("--workers", "1", "--data-dir", str(home / "data")) as running:
        for name in ("gateway", "beat"):
            os.kill(running.pids[name], signal.SIGKILL)
        eventually(lambda: running.said().count("started again") == 2)
        eventually(lambda: _is_ready(running), seconds=60)
        running.post("after", turns=2)
        assert running.await_done()["done"] == 2


def test_a_server_that_dies_ends_everything_with_one_sentence(home: Path) -> None:
    with up("--workers", "1", "--data-dir", str(home / "data")) as running:
        everything = running.everything()
        os.kill(running.pids["valkey"], signal.SIGKILL)
        assert running.ended() == 1
        said = one_sentence(running.said())
        assert said.startswith("Valkey ended with code -9 and everything was stopped;")
    assert all_gone(everything)


def test_a_second_start_after_kill_9_of_everything_keeps_the_key_and_the_data(home: Path) -> None:
    data = ("--workers", "1", "--data-dir", str(home / "data"))
    with up(*data) as first:
        first.post("kept", turns=3)
        assert first.await_done()["done"] == 3
        everything = first.everything()
        for one in everything:
            one.kill()
        first.ended()
    eventually(lambda: all_gone(everything))
    with up(*data) as second:
        assert second.line["key"] == first.line["key"]
        assert second.turns() == all_done(3)
        listed = second.call("GET", "/v1/users/ada/memories").json()["memories"]
        assert {"My code is E-0.", "My code is E-2."} <= {memory["text"] for memory in listed}
        second.post("new", turns=1)
        assert second.await_done() == all_done(4)


def all_done(turns: int) -> dict[str, int]:
    return {"accepted": turns, "done": turns, "dead": 0, "pending": 0, "erased": 0}


def test_a_port_in_use_is_one_sentence(home: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        ended = turnkeep("up", "--port", str(port), "--data-dir", str(home / "data"))
    assert ended.code == 1
    assert one_sentence(ended.err).startswith(f"Port {port} cannot be used (Address already in use);")
    assert not (home / "data").exists()


def test_vectors_of_another_embedder_are_one_sentence_and_nothing_is_left_running(home: Path) -> None:
    data = ("--workers", "1", "--data-dir", str(home / "data"))
    with up(*data):
        pass
    errors = home / "errors"
    other = {"TURNKEEP_EMBEDDER__NAME": "bundled"}
    with started("up", "--port", "0", *data, errors=errors, environ=other) as process:
        assert process.wait(timeout=60) == 1
    said = one_sentence(errors.read_text())
    assert "holds 256-dimensional vectors of another embedder" in said
    assert "set TURNKEEP_EMBEDDER__NAME back" in said
    assert not [one for one in psutil.process_iter(["cwd"]) if str(home) in str(one.info["cwd"])]


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("TURNKEEP_FLUSH__ROUNDS", "none", "TURNKEEP_FLUSH__ROUNDS is wrong: "),
        ("TURNKEEP_FLUSH__ROUND", "3", "TURNKEEP_FLUSH__ROUND is not a setting;"),
        ("TURNKEEP_CHAT__API_KEY_FILE", "/nowhere", "TURNKEEP_CHAT__API_KEY_FILE names a file that cannot"),
    ],
)
def test_a_wrong_setting_is_one_sentence(home: Path, name: str, value: str, said: str) -> None:
    ended = turnkeep("up", "--port", "0", "--data-dir", str(home / "data"), environ={name: value})
    assert ended.code == 1
    assert one_sentence(ended.err).startswith(said)
    assert not (home / "data").exists()


def test_settings_reach_the_children_but_for_other_servers_and_it_says_so(home: Path) -> None:
    environ = {
        "TURNKEEP_GATEWAY__BATCH_LIMIT": "1",
        "TURNKEEP_POSTGRES__URL": "postgresql+psycopg://nobody@127.0.0.1:1/none",
        "TURNKEEP_SECURITY__PEPPER_FILE": "/nowhere",
    }
    with up("--workers", "1", "--data-dir", str(home / "data"), environ=environ) as running:
        said = one_sentence(running.said())
        assert said.startswith("set aside: TURNKEEP_POSTGRES__URL, TURNKEEP_SECURITY__PEPPER_FILE;")
        body = {"user_id": "ada", "turns": [{"role": "user", "content": "one"}] * 2}
        answer = running.call("POST", "/v1/sessions/limited/turns", body)
    assert answer.status_code == 413
    assert answer.json()["code"] == "too_many_turns"


def _is_ready(running: Up) -> bool:
    try:
        return running.call("GET", "/readyz").status_code == 200
    except httpx2.TransportError:
        return False
