from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.commands import Up, up


@pytest.fixture
def home() -> Iterator[Path]:
    """A place for a data directory; started by root, PostgreSQL runs as another user, who has to enter it."""
    yield from _home()


@pytest.fixture(scope="session")
def shared_data() -> Iterator[Path]:
    """The data directory of `shared`."""
    for place in _home():
        yield place / "data"


@pytest.fixture(scope="session")
def shared(shared_data: Path) -> Iterator[Up]:
    """One running stack for tests that stop nothing; each takes sessions of its own."""
    with up("--data-dir", str(shared_data)) as running:
        yield running


def _home() -> Iterator[Path]:
    place = Path(tempfile.mkdtemp(prefix="turnkeep-test-"))
    place.chmod(0o755)
    yield place
    shutil.rmtree(place)
