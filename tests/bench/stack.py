"""The embedded stack as `turnkeep up --json` starts it, in processes of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import orjson

from shared.stores.postgres import engine, keys

UP = (sys.executable, "-m", "infra.cli", "up", "--json", "--port", "0")
STOP_SECONDS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Stack:
    """`roots` names the process of each part; what it has spawned counts with it."""

    url: str
    database_url: str
    roots: Mapping[str, int]

    @property
    def port(self) -> int:
        return urlsplit(self.url).port or 80

    def new_tenant(self, name: str) -> str:
        """The token of a tenant of its own, so that what one phase leaves does not weigh on the next."""
        migration = engine.connect(self.database_url, pool_size=1)
        try:
            return keys.create(migration, tenant=name)
        finally:
            migration.dispose()


@contextmanager
def running(*, embedder: str, workers: int, settings: dict[str, str]) -> Iterator[Stack]:
    """Raises RuntimeError with its last words when the stack does not start."""
    environ = os.environ | {"TURNKEEP_EMBEDDER__NAME": embedder, "TURNKEEP_LOG__LEVEL": "WARNING"} | settings
    with tempfile.TemporaryFile() as log:
        up = subprocess.Popen(
            [*UP, "--workers", str(workers)], env=environ, stdout=subprocess.PIPE, stderr=log
        )
        try:
            yield _ready(up, log=Path(f"/proc/self/fd/{log.fileno()}"))
        finally:
            _stop(up)


def _ready(up: subprocess.Popen[bytes], *, log: Path) -> Stack:
    line = up.stdout.readline() if up.stdout else b""
    if not line:
        raise RuntimeError(f"`turnkeep up` did not start: {log.read_text(errors='replace')[-2000:]}")
    told = orjson.loads(line)
    return Stack(url=told["url"], database_url=told["database_url"], roots=dict(_parts(told["pids"])))


def _parts(pids: Mapping[str, int | list[int]]) -> Iterator[tuple[str, int]]:
    for name, found in pids.items():
        if isinstance(found, int):
            yield name, found
        else:
            yield from ((f"{name.removesuffix('s')} {place}", pid) for place, pid in enumerate(found, 1))


def _stop(up: subprocess.Popen[bytes]) -> None:
    up.terminate()
    try:
        up.wait(timeout=STOP_SECONDS)
    except subprocess.TimeoutExpired:
        up.kill()
        up.wait()
    if up.stdout:
        up.stdout.close()
