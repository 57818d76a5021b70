"""What processes are started with, and what is kept for the next start."""

from __future__ import annotations

from pathlib import Path

import pytest

from infra.embedded.process import EmbeddedError
from infra.environment import set_aside
from infra.first_key import ensure_pepper
from infra.kept import data_home, keep_secret, kept_secret
from infra.processes import checked_queues, kinds_of, worker_argv, worker_environment
from infra.readiness import url_of
from infra.said import last_said
from shared.broker import QUEUES
from shared.domain.errors import SettingsError
from shared.settings import Worker


@pytest.mark.parametrize("workers", [1, 2, 3, 8])
def test_the_workers_together_leave_no_queue_alone(workers: int) -> None:
    assert {queue for number in range(workers) for queue in kinds_of(number, workers=workers)} == set(QUEUES)


def test_with_two_workers_or_more_the_kinds_are_apart() -> None:
    first, second = (set(kinds_of(number, workers=2)) for number in range(2))
    assert first & second == {"index"}
    assert kinds_of(2, workers=3) == kinds_of(0, workers=3)


def test_a_worker_is_told_its_queues_its_name_and_its_pool() -> None:
    argv = worker_argv(
        ("embed", "index"), node="w@h", worker=Worker(pool="threads", concurrency=4), level="INFO"
    )
    options = dict(
        zip(argv[argv.index("worker") + 1 :: 2], argv[argv.index("worker") + 2 :: 2], strict=False)
    )
    assert options == {
        "-Q": "embed,index",
        "-n": "w@h",
        "-P": "threads",
        "-c": "4",
        "-l": "INFO",
        "--without-mingle": "--without-gossip",
    }


def test_only_children_are_stopped_in_the_middle_of_a_task() -> None:
    prefork = worker_environment(QUEUES, worker=Worker(pool="prefork"))
    assert prefork == {"REMAP_SIGTERM": "SIGQUIT"}
    assert worker_environment(QUEUES, worker=Worker()) == {}
    assert worker_environment(("merge",), worker=Worker()) == {"OMP_NUM_THREADS": "1"}


@pytest.mark.parametrize("text", ["", " , ", "embed,nothing"])
def test_a_queue_that_nobody_rings_is_refused(text: str) -> None:
    with pytest.raises(SettingsError, match="the queues are extract, summarize, embed, merge, index, upkeep"):
        checked_queues(text)


def test_queues_may_have_spaces_between() -> None:
    assert checked_queues("embed, index") == ["embed", "index"]


def test_settings_of_other_servers_are_set_aside_and_named() -> None:
    given = {
        "TURNKEEP_POSTGRES__URL": "x",
        "TURNKEEP_postgres__dispatch_url": "x",
        "TURNKEEP_BROKER__URL_FILE": "x",
        "TURNKEEP_BROKER__KEY_PREFIX": "kept",
        "TURNKEEP_EMBEDDER__URL": "kept",
        "PATH": "kept",
    }
    kept, ignored = set_aside(given)
    assert set(kept.values()) == {"kept"}
    assert ignored == [
        "TURNKEEP_BROKER__URL_FILE",
        "TURNKEEP_POSTGRES__URL",
        "TURNKEEP_postgres__dispatch_url",
    ]


def test_a_secret_is_kept_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "api_key"
    assert kept_secret(path) is None
    assert keep_secret(path, "tk_1_2") == "tk_1_2"
    assert kept_secret(path) == "tk_1_2"
    assert path.stat().st_mode & 0o777 == 0o600
    assert keep_secret(path, "tk_3_4") == kept_secret(path)
    assert list(tmp_path.iterdir()) == [path]


def test_the_pepper_is_made_once(tmp_path: Path) -> None:
    pepper = ensure_pepper(tmp_path)
    assert len(pepper) == 64
    assert ensure_pepper(tmp_path) == pepper


def test_a_pepper_that_is_gone_from_a_used_directory_is_one_sentence(tmp_path: Path) -> None:
    keep_secret(tmp_path / "api_key", "tk_1_2")
    with pytest.raises(EmbeddedError, match="pepper of this data directory is gone; restore "):
        ensure_pepper(tmp_path)


def test_a_temporary_home_is_removed_unless_something_failed() -> None:
    with data_home(None) as home:
        assert home.is_dir()
    assert not home.exists()
    with pytest.raises(KeyboardInterrupt), data_home(None) as stopped:
        raise KeyboardInterrupt
    assert not stopped.exists()
    with pytest.raises(EmbeddedError), data_home(None) as failed:
        raise EmbeddedError("no")
    assert failed.is_dir()
    failed.rmdir()


def test_a_home_that_was_asked_for_stays(tmp_path: Path) -> None:
    with data_home(tmp_path) as home:
        assert home == tmp_path
    assert tmp_path.is_dir()


@pytest.mark.parametrize(
    ("log", "said"),
    [
        ("{}\nturnkeep: Set it back.\n", "Set it back."),
        ("turnkeep: Set it back.\nTraceback\n", None),
        ("", None),
        ("turnkeep: 端口被占用。", "端口被占用。"),
    ],
)
def test_the_sentence_a_child_ended_with(tmp_path: Path, log: str, said: str | None) -> None:
    (tmp_path / "log").write_text(log, encoding="utf-8")
    assert last_said(tmp_path / "log") == said


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("127.0.0.1", "http://127.0.0.1:80"),
        ("0.0.0.0", "http://127.0.0.1:80"),  # noqa: S104 — nothing is bound
        ("::", "http://[::1]:80"),
        ("10.0.0.7", "http://10.0.0.7:80"),
    ],
)
def test_a_gateway_on_all_addresses_is_reached_on_loopback(host: str, url: str) -> None:
    assert url_of(host, port=80) == url
