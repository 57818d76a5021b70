"""Children end with their parent, are stopped in order and say why they died."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import psutil
import pytest

from infra.embedded import launch
from infra.embedded.leftovers import end_leftovers
from infra.embedded.loopback import LoopbackServer, ServerPlan, free_port, require_free_port
from infra.embedded.postgres import PostgresHome
from infra.embedded.process import Child, Command, EmbeddedError, PortTakenError, Supervisor
from infra.embedded.valkey import plan_valkey

_SLEEP = "import signal; print('begun', flush=True); signal.pause()"
_DEAF = (
    "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('begun', flush=True); signal.pause()"
)


@pytest.fixture
def supervisor() -> Iterator[Supervisor]:
    with Supervisor() as running:
        yield running


def _python(code: str, *, at: Path, name: str = "child", stop_seconds: float = 10.0) -> Command:
    return Command(
        name=name,
        argv=(sys.executable, "-c", code),
        cwd=at,
        log=at / f"{name}.log",
        stop_seconds=stop_seconds,
    )


def _has_begun(at: Path, *, name: str = "child") -> Callable[[], bool]:
    return lambda: (at / f"{name}.log").read_text() == "begun\n"


def test_a_child_that_dies_at_start_is_reported_with_its_last_log_line(
    supervisor: Supervisor, tmp_path: Path
) -> None:
    child = supervisor.spawn(_python("import sys; print('first'); sys.exit('磁盘已满')", at=tmp_path))
    with pytest.raises(EmbeddedError) as failed:
        child.await_ready(lambda: False, seconds=30)
    message = str(failed.value)
    assert message.startswith("child ended with code 1 (last log line: '磁盘已满'); read ")
    assert "\n" not in message


def test_lines_of_an_earlier_run_are_not_blamed(supervisor: Supervisor, tmp_path: Path) -> None:
    (tmp_path / "child.log").write_text("Address already in use\n")
    child = supervisor.spawn(_python("raise SystemExit('other')", at=tmp_path))
    with pytest.raises(EmbeddedError, match="'other'") as failed:
        child.await_ready(lambda: False, seconds=30)
    assert not isinstance(failed.value, PortTakenError)


def test_a_child_that_is_never_ready_is_given_up(supervisor: Supervisor, tmp_path: Path) -> None:
    child = supervisor.spawn(_python(_SLEEP, at=tmp_path))
    with pytest.raises(EmbeddedError, match="was not ready within 0 s"):
        child.await_ready(lambda: False, seconds=0.2)


def test_a_program_that_does_not_exist_is_named(supervisor: Supervisor, tmp_path: Path) -> None:
    absent = tmp_path / "absent"
    child = supervisor.spawn(Command(name="server", argv=(str(absent),), cwd=tmp_path, log=tmp_path / "log"))
    with pytest.raises(EmbeddedError, match=f"cannot run {absent}"):
        child.await_ready(lambda: False, seconds=30)


def test_children_are_stopped_last_first(tmp_path: Path) -> None:
    order = tmp_path / "order"
    code = (
        "import signal, sys\n"
        f"def end(*_): open({str(order)!r}, 'a').write('{{name}}'); sys.exit()\n"
        "signal.signal(signal.SIGTERM, end); print('begun', flush=True); signal.pause()"
    )
    with Supervisor() as supervisor:
        for name in "abc":
            child = supervisor.spawn(_python(code.replace("{name}", name), at=tmp_path, name=name))
            child.await_ready(_has_begun(tmp_path, name=name), seconds=30)
    assert order.read_text() == "cba"


def test_a_child_that_ignores_the_signal_is_killed(tmp_path: Path) -> None:
    with Supervisor() as supervisor:
        child = supervisor.spawn(_python(_DEAF, at=tmp_path, stop_seconds=0.2))
        child.await_ready(_has_begun(tmp_path), seconds=30)
    assert child.exit_code() == -signal.SIGKILL


def test_only_the_main_thread_spawns(supervisor: Supervisor, tmp_path: Path) -> None:
    errors: list[str] = []

    def spawn() -> None:
        try:
            supervisor.spawn(_python(_SLEEP, at=tmp_path))
        except RuntimeError as error:
            errors.append(str(error))

    thread = threading.Thread(target=spawn)
    thread.start()
    thread.join()
    assert errors == ["Spawn children from the main thread only."]


@pytest.mark.parametrize("guard", ["prctl", "watch"])
def test_a_server_ends_when_its_parent_is_killed(tmp_path: Path, guard: str) -> None:
    """The parent is a process of its own, which starts a server by the launcher and waits."""
    server = [sys.executable, "-c", _SLEEP]
    code = (
        "import os, signal, subprocess, sys\n"
        f"how = [str(os.getpid()), '15', {guard!r}, 'same']\n"
        f"argv = [sys.executable, {launch.__file__!r}, *how, *{server!r}]\n"
        f"child = subprocess.Popen(argv, stdout=open({str(tmp_path / 'child.log')!r}, 'wb'))\n"
        "print(child.pid, flush=True); signal.pause()"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        orphan = psutil.Process(int(parent.stdout.readline()))
        family = [orphan, *_children_once_begun(orphan, at=tmp_path, guard=guard)]
        parent.kill()
    _, alive = psutil.wait_procs(family, timeout=30)
    assert alive == []


def _children_once_begun(server: psutil.Process, *, at: Path, guard: str) -> list[psutil.Process]:
    begun = threading.Event()
    while not (at / "child.log").exists() or not _has_begun(at)():
        begun.wait(0.01)
    children: list[psutil.Process] = server.children()
    assert len(children) == (1 if guard == "watch" else 0)
    return children


def test_leftovers_are_found_by_where_they_work(supervisor: Supervisor, tmp_path: Path) -> None:
    here, elsewhere = tmp_path / "h e r e", tmp_path / "elsewhere"
    here.mkdir()
    elsewhere.mkdir()
    left = supervisor.spawn(_python(_SLEEP, at=here))
    other = supervisor.spawn(_python(_SLEEP, at=elsewhere))
    left.await_ready(_has_begun(here), seconds=30)
    other.await_ready(_has_begun(elsewhere), seconds=30)
    reaper = threading.Thread(target=os.waitpid, args=(left.pid, os.WUNTRACED))
    reaper.start()
    end_leftovers(here, stop_signal=signal.SIGTERM)
    reaper.join()
    assert not psutil.pid_exists(left.pid)
    assert other.exit_code() is None


def test_a_port_that_was_asked_for_and_is_taken_is_named() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(PortTakenError, match=f"Port {port} cannot be used"):
            require_free_port(port)


def test_a_lost_port_race_is_run_again_on_another_port(supervisor: Supervisor, tmp_path: Path) -> None:
    """The first port is taken between being found free and being listened on."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        lost = taken.getsockname()[1]
        ports = iter([lost, free_port()])
        used: list[int] = []

        def command(_port: int) -> Command:
            used.append(next(ports))
            code = (
                "import signal, socket\n"
                f"server = socket.socket(); server.bind(('127.0.0.1', {used[-1]})); server.listen()\n"
                "print('begun', flush=True); signal.pause()"
            )
            return _python(code, at=tmp_path)

        def is_ready(_port: int, _child: Child) -> bool:
            return (tmp_path / "child.log").read_text().endswith("begun\n")

        server = LoopbackServer(ServerPlan(command=command, is_ready=is_ready), supervisor=supervisor)
        server.await_ready()
    assert len(used) == 2
    assert psutil.pid_exists(server.pid)


def test_the_database_servers_are_given_none_of_our_secrets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TURNKEEP_CHAT__API_KEY", "sk-secret")
    monkeypatch.setenv("PATH", "/bin")
    valkey = plan_valkey(tmp_path, log=tmp_path / "log", password="word").command(1)
    home = PostgresHome(home=tmp_path, log=tmp_path / "log", account=None)
    for command in (valkey, home.command("postgres", binaries=tmp_path)):
        assert command.env["PATH"] == "/bin"
        assert "sk-secret" not in command.env.values()


def test_a_signal_waits_until_the_child_that_is_being_started_is_known(tmp_path: Path) -> None:
    """The signal comes while the environment is read, in the middle of the start."""

    class Interrupting(Mapping[str, str]):
        def __getitem__(self, name: str) -> str:
            return os.environ[name]

        def __iter__(self) -> Iterator[str]:
            os.kill(os.getpid(), signal.SIGINT)
            return iter(os.environ)

        def __len__(self) -> int:
            return len(os.environ)

    command = Command(
        name="child",
        argv=(sys.executable, "-c", _SLEEP),
        cwd=tmp_path,
        log=tmp_path / "log",
        env=Interrupting(),
    )
    with Supervisor() as supervisor:
        with pytest.raises(KeyboardInterrupt):
            supervisor.spawn(command)
        (child,) = supervisor.children
        assert child.exit_code() is None
    assert child.exit_code() is not None
