"""Every check that reads the code: `python -m tests.checks`. Exit code 1 when one of them finds something."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
BIN = Path(sys.executable).parent
CHECKS = (
    ("ruff", "check", "."),
    ("ruff", "format", "--check", "."),
    ("mypy",),
    ("lint-imports",),
)


def main() -> int:
    failed = [name for name, *rest in CHECKS if not _passes(name, *rest)]
    sys.stdout.write(f"checks failed: {', '.join(failed)}\n" if failed else "all checks passed\n")
    return 1 if failed else 0


def _passes(name: str, *arguments: str) -> bool:
    sys.stdout.write(f"== {name} {' '.join(arguments)}\n")
    sys.stdout.flush()
    return subprocess.run([BIN / name, *arguments], cwd=ROOT, check=False).returncode == 0


if __name__ == "__main__":
    sys.exit(main())
