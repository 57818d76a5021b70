"""Imports go one way: the contracts of import-linter, and what they cannot say."""

from __future__ import annotations

import ast
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.mutation import PROJECT, mutated

LINT = (sys.executable, "-c", "from importlinter.cli import lint_imports_command; lint_imports_command()")
# For each contract an import that it must not let through.
PLANTED = {
    "infra is imported by nothing": ("shared/codec.py", "infra.kept"),
    "the gateway goes one way": ("api_gateway/accept.py", "api_gateway.routes.turns"),
    "the workers go one way": ("workers/rules/gist.py", "workers.steps.fold"),
    "shared goes one way": ("shared/ports/rows.py", "shared.text.vectors"),
    "stores are imported": ("api_gateway/routes/turns.py", "shared.stores.postgres.turns"),
    "models are imported": ("workers/steps/extract.py", "shared.inference.chat"),
    "the broker is imported": ("api_gateway/usage.py", "shared.broker"),
    "settings are read": ("workers/pipeline.py", "shared.settings"),
    "telemetry is imported": ("workers/steps/merge.py", "shared.telemetry"),
    "Celery lives": ("workers/steps/merge.py", "celery"),
    "kombu lives": ("workers/runner.py", "kombu"),
    "SQLAlchemy lives": ("workers/steps/merge.py", "sqlalchemy"),
    "qdrant-client lives": ("workers/steps/index.py", "qdrant_client"),
    "FastAPI lives": ("api_gateway/recall/pack.py", "fastapi"),
}
# What the parts without frameworks may use beside the standard library and what lies below them.
FREE = {
    "shared/domain": {"shared.domain"},
    "shared/ports": {"shared.domain", "shared.ports"},
    "shared/text": {"shared", "markupsafe", "py3langid", "rjieba", "Stemmer"},
    "api_gateway/recall": {"api_gateway.recall", "shared", "markupsafe"},
    "workers/steps": {"workers", "shared", "markupsafe", "numpy", "pydantic", "structlog"},
    "workers/rules": {
        "workers.rules",
        "shared",
        "dateparser",
        "markupsafe",
        "phonenumbers",
        "rjieba",
        "stdnum",
    },
}


def _lint(directory: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*LINT, "--no-cache"], cwd=directory, capture_output=True, text=True, timeout=120, check=False
    )


def _contracts() -> list[str]:
    settings = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))
    return [contract["name"] for contract in settings["tool"]["importlinter"]["contracts"]]


def test_every_import_contract_is_kept() -> None:
    linted = _lint(PROJECT)
    assert linted.returncode == 0, linted.stdout + linted.stderr


def test_every_import_contract_notices_what_it_forbids() -> None:
    assert [name for name in _contracts() if not any(name.startswith(planted) for planted in PLANTED)] == []
    with mutated() as copy:
        for path, module in PLANTED.values():
            target = copy / path
            target.write_text(target.read_text(encoding="utf-8") + f"\nimport {module}\n", encoding="utf-8")
        linted = _lint(copy)
    words = " ".join(linted.stdout.split())
    kept = [name for name in _contracts() if f"{name} BROKEN" not in words]
    assert kept == [], linted.stdout + linted.stderr


@pytest.mark.parametrize("package", FREE)
def test_a_part_without_frameworks_imports_nothing_but_what_it_may(package: str) -> None:
    found = {
        (path.name, module)
        for path in (PROJECT / package).rglob("*.py")
        for module in _imports(path)
        if not _is_free(module, package=package)
    }
    assert found == set()


def _imports(path: Path) -> Iterator[str]:
    """Those inside functions and type-checking blocks too."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import"
            yield node.module or ""


def _is_free(module: str, *, package: str) -> bool:
    if module.partition(".")[0] in sys.stdlib_module_names:
        return True
    return any(module == allowed or module.startswith(f"{allowed}.") for allowed in FREE[package])
