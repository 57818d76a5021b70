"""Guards proven by removing them: `mutated` copies the project with exact replacements made in it, and `run`
runs chosen tests of the copy, whose processes import the copy too.

    with mutated(Mutation("api_gateway/accept.py", old="a == b", new="True")) as copy:
        assert "test_name" in run(copy, "tests/integration/test_x.py::test_name").failed
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from infra.embedded.stack import EmbeddedStack
from tests.joined import lent

PROJECT = Path(__file__).parent.parent
COPIED = ("api_gateway", "workers", "shared", "infra", "tests", "pyproject.toml")


@dataclass(frozen=True, slots=True)
class Mutation:
    """In the file `path` of the project, `old`, which stands there exactly once, becomes `new`."""

    path: str
    old: str
    new: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Names of test functions, without parameters. A test whose fixtures broke is in neither."""

    passed: frozenset[str]
    failed: frozenset[str]
    output: str


@contextmanager
def mutated(*mutations: Mutation) -> Iterator[Path]:
    """The copy's directory. Raises AssertionError when a guard no longer stands where it is looked for."""
    with tempfile.TemporaryDirectory(prefix="turnkeep-mutant-") as made:
        copy = Path(made)
        for name in COPIED:
            _copy(PROJECT / name, to=copy / name)
        for mutation in mutations:
            _apply(mutation, copy=copy)
        yield copy


def run(copy: Path, *tests: str, stack: EmbeddedStack | None = None) -> Outcome:
    """Run `tests` (node ids) of the copy in a process of their own, on the servers of `stack` if given."""
    report = copy / "report.xml"
    arguments = ("-m", "pytest", "-p", "no:cacheprovider", f"--junitxml={report}", *tests)
    finished = subprocess.run(
        [sys.executable, *arguments],
        cwd=copy,
        env=os.environ | {"PYTHONPATH": str(copy)} | (lent(stack) if stack else {}),
        capture_output=True,
        text=True,
        timeout=170,
        check=False,
    )
    assert report.exists(), finished.stdout + finished.stderr
    cases = list(ET.parse(report).iter("testcase"))  # noqa: S314 -- pytest wrote it a moment ago
    return Outcome(
        passed=_names(case for case in cases if not len(case)),
        failed=_names(case for case in cases if case.find("failure") is not None),
        output=finished.stdout,
    )


def _names(cases: Iterator[ET.Element]) -> frozenset[str]:
    return frozenset(case.attrib["name"].partition("[")[0] for case in cases)


def _copy(source: Path, *, to: Path) -> None:
    if source.is_dir():
        shutil.copytree(source, to)  # compiled files too: they are good for what stays as it is
    else:
        shutil.copy(source, to)


def _apply(mutation: Mutation, *, copy: Path) -> None:
    path = copy / mutation.path
    source = path.read_text(encoding="utf-8")
    assert source.count(mutation.old) == 1, (
        f"{mutation.path} holds {mutation.old!r} {source.count(mutation.old)}x"
    )
    path.write_text(source.replace(mutation.old, mutation.new), encoding="utf-8")
