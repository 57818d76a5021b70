from __future__ import annotations

from collections.abc import Iterator

import pytest

from infra.embedded.stack import EmbeddedStack


@pytest.fixture(scope="session")
def stack() -> Iterator[EmbeddedStack]:
    """Real servers for the whole run, in a temporary directory."""
    with EmbeddedStack(None) as started:
        yield started
