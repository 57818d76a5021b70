"""Finds the server binaries inside installed packages without importing those packages."""

from __future__ import annotations

import platform
from importlib.util import find_spec
from pathlib import Path

from infra.embedded.process import EmbeddedError


def packaged_binary(package: str, pattern: str) -> Path:
    """The one file of the package that matches the pattern; EmbeddedError when there is none."""
    spec = find_spec(package)
    homes = (spec.submodule_search_locations or []) if spec else []
    for home in homes:
        for found in sorted(Path(home).glob(pattern)):
            return found
    name = pattern.rsplit("/", 1)[-1]
    raise EmbeddedError(
        f"The package {package.replace('_', '-')} brings no {name} for {platform.system()} "
        f"{platform.machine()}; use a platform it supports, or give the URL of a server of your own."
    )
