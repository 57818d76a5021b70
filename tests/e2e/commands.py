"""The real command line as processes of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2
import psutil

from tests.running import eventually

TURNKEEP = (sys.executable, "-m", "infra.cli")
# The hashing embedder: nothing here asks what a text means.
SETTINGS = {"TURNKEEP_EMBEDDER__NAME": "hashing", "TURNKEEP_WORKER__SWEEP_SECONDS": "0.5", "COLUMNS": "100"}
SECONDS = 150


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    code: int
    out: str
    err: str


def environment(**names: str) -> dict[str, str]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("TURNKEEP_")}
    return inherited | SETTINGS | names


def turnkeep(*arguments: str, environ: Mapping[str, str] | None = None, given: bytes = b"") -> Ended:
    done = subprocess.run(
        [*TURNKEEP, *arguments],
        env=environment(**(environ or {})),
        input=given,
        capture_output=True,
        timeout=SECONDS,
        check=False,
    )
    return Ended(code=done.returncode, out=done.stdout.decode(), err=done.stderr.decode())


@dataclass(frozen=True, slots=True, kw_only=True)
class Up:
    """A running `turnkeep up --json`; `line` is what it printed when it was ready."""

    process: subprocess.Popen[bytes]
    errors: Path
    line: Mapping[str, object]

    @property
    def url(self) -> str:
        return str(self.line["url"])

    @property
    def environ(self) -> dict[str, str]:
        """For commands that talk to the gateway."""
        return {"TURNKEEP_URL": self.url, "TURNKEEP_API_KEY": str(self.line["key"])}

    @property
    def pids(self) -> dict[str, int]:
        pids = self.line["pids"]
        assert isinstance(pids, dict)
        workers = {f"worker-{number}": pid for number, pid in enumerate(pids["workers"], 1)}
        return {name: pid for name, pid in pids.items() if name != "workers"} | workers

    def said(self) -> str:
        return self.errors.read_text(encoding="utf-8")

    def everything(self) -> Sequence[psutil.Process]:
        own = psutil.Process(self.process.pid)
        return [own, *own.children(recursive=True)]

    def call(self, method: str, path: str, body: object = None) -> httpx2.Response:
        headers = {"Authorization": f"Bearer {self.line['key']}"}
        return httpx2.request(method, self.url + path, json=body, headers=headers, timeout=30)

    def post(self, session_id: str, *, turns: int, user_id: str = "ada") -> None:
        body = {
            "user_id": user_id,
            "turns": [
                {"id": f"{session_id}-{n}", "role": "user", "content": f"My code is E-{n}."}
                for n in range(turns)
            ],
        }
        assert self.call("POST", f"/v1/sessions/{session_id}/turns", body).status_code == 202
        assert self.call("POST", f"/v1/sessions/{session_id}/flush").status_code == 202

    def turns(self) -> dict[str, int]:
        counts: dict[str, int] = self.call("GET", "/v1/stats").json()["turns"]
        return counts

    def await_done(self) -> dict[str, int]:
        eventually(lambda: self.turns()["pending"] == 0, seconds=90)
        return self.turns()

    def ended(self) -> int:
        return self.process.wait(timeout=60)


@contextmanager
def started(
    *arguments: str, errors: Path, environ: Mapping[str, str] | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """A command that is stopped at the end of the block."""
    with (
        errors.open("wb") as stream,
        subprocess.Popen(
            [*TURNKEEP, *arguments],
            env=environment(**(environ or {})),
            stdout=subprocess.PIPE,
            stderr=stream,
        ) as process,
    ):
        try:
            yield process
        finally:
            process.send_signal(signal.SIGTERM)


@contextmanager
def up(*arguments: str, environ: Mapping[str, str] | None = None) -> Iterator[Up]:
    with tempfile.TemporaryDirectory() as place:
        errors = Path(place) / "errors"
        asked = ("up", "--json", "--port", "0", *arguments)
        with started(*asked, errors=errors, environ=environ) as process:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert line, errors.read_text()
            yield Up(process=process, errors=errors, line=json.loads(line))


def all_gone(processes: Sequence[psutil.Process]) -> bool:
    return not any(one.is_running() and one.status() != psutil.STATUS_ZOMBIE for one in processes)


def one_sentence(said: str) -> str:
    """What is on standard error, if it is one line that says who speaks."""
    lines = said.strip().splitlines()
    assert len(lines) == 1, said
    assert lines[0].startswith("turnkeep: ")
    return lines[0].removeprefix("turnkeep: ")
