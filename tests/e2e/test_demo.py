"""`turnkeep demo`: the first command a newcomer runs, with the bundled embedder as they run it."""

from __future__ import annotations

from pathlib import Path

import psutil

from tests.e2e.commands import all_gone, started
from tests.running import eventually


def test_the_demo_shows_both_languages_and_leaves_nothing(home: Path) -> None:
    environ = {"TURNKEEP_EMBEDDER__NAME": "bundled", "TMPDIR": str(home)}
    with started("demo", errors=home / "errors", environ=environ) as process:
        own = psutil.Process(process.pid)
        eventually(lambda: len(own.children(recursive=True)) >= 7, seconds=60)
        everything = [own, *own.children(recursive=True)]
        assert process.stdout is not None
        printed = process.stdout.read().decode()
        code = process.wait(timeout=60)
    assert (code, (home / "errors").read_text()) == (0, "")
    assert all_gone(everything)
    assert list(home.glob("turnkeep-*")) == []
    assert max(map(len, printed.splitlines())) <= 100
    english, _, chinese = printed.partition(" 中文 ")
    assert "Changed fact, phone: known as “+1 415 555 0199”, no longer as “+1 415 555 0134”" in flat(english)
    assert "Changed fact, 地址: known as “江南大道288号2幢1101室”, no longer as “文三路18号3幢502室”" in flat(
        chinese
    )
    for part in (english, chinese):
        for shown in ("<profile>", "<condensed_memory>", "<long_term_memory>", "<working_memory>", "E-"):
            assert shown in part
        assert "used of 600" in part
        assert "profile, dense #" in part
    assert "demo-en-1 #9 user" in english
    assert "demo-zh-1 #9 user" in chinese
    for measured in ("start of the stack", "accepting 42 turns", "all are memory", "a context, median"):
        assert measured in chinese


def flat(printed: str) -> str:
    """A sentence may be broken into lines where the page ends."""
    return " ".join(printed.split())


def test_a_demo_that_fails_says_where_the_logs_are(home: Path) -> None:
    environ = {"TURNKEEP_EMBEDDER__NAME": "openai", "TURNKEEP_EMBEDDER__MODEL": "none", "TMPDIR": str(home)}
    environ |= {"TURNKEEP_EMBEDDER__URL": "http://127.0.0.1:9/v1"}
    errors = home / "errors"
    with started("demo", errors=errors, environ=environ) as process:
        assert process.wait(timeout=60) == 1
    said = errors.read_text().strip()
    assert "\n" not in said
    logs = Path(said.partition(" The logs are in ")[2].removesuffix("."))
    assert (logs / "gateway.log").exists()
