"""The servers of one test run lent to another: a run started inside it need not start its own."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from infra.embedded.process import Supervisor
from infra.embedded.roles import PostgresUrls
from infra.embedded.stack import EmbeddedStack

VARIABLE = "TURNKEEP_TEST_STACK"


def lent(stack: EmbeddedStack) -> dict[str, str]:
    """The environment with which a test run uses the servers of `stack`."""
    urls = stack.postgres
    said = {
        "data_dir": str(stack.data_dir),
        "urls": [urls.migration_url, urls.app_url, urls.dispatch_url],
        "broker_url": stack.broker_url,
        "qdrant_url": stack.qdrant_url,
        "qdrant_api_key": stack.qdrant_api_key,
    }
    return {VARIABLE: json.dumps(said)}


@contextmanager
def servers() -> Iterator[EmbeddedStack]:
    """Those that were lent to us, else new ones that end with the block."""
    described = os.environ.get(VARIABLE)
    if described is None:
        with EmbeddedStack(None) as started:
            yield started
        return
    with Supervisor() as supervisor:
        yield _joined(json.loads(described), supervisor=supervisor)


def _joined(said: dict[str, Any], *, supervisor: Supervisor) -> EmbeddedStack:
    """Never entered, so it stops nothing but what `supervisor` spawns for us."""
    migration, app, dispatch = said["urls"]
    stack = EmbeddedStack(None)
    stack.postgres = PostgresUrls(migration_url=migration, app_url=app, dispatch_url=dispatch)
    stack.broker_url = said["broker_url"]
    stack.qdrant_url = said["qdrant_url"]
    stack.qdrant_api_key = said["qdrant_api_key"]
    stack.data_dir = Path(said["data_dir"])
    stack.supervisor = supervisor
    return stack
