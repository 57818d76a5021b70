"""What each dependency answers right now."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kombu import Connection
from kombu.exceptions import OperationalError
from qdrant_client import QdrantClient
from sqlalchemy import Engine

from shared.domain.errors import IndexUnavailable
from shared.inference.deadline import BoundedThreads, Overloaded
from shared.stores.postgres.engine import revision
from shared.stores.qdrant import reaching

# Whoever takes connections and answers nothing must not make the gateway look dead too.
PROBE_SECONDS = 0.5
BROKER_PROBE = dict.fromkeys(
    ("socket_connect_timeout", "socket_timeout", "read_timeout", "write_timeout"), PROBE_SECONDS
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Probes:
    engine: Engine
    head: str
    broker_url: str
    qdrant: QdrantClient
    alias: str
    threads: BoundedThreads = field(
        default_factory=lambda: BoundedThreads(threads=1, waiting=1, name="probe")
    )

    def read(self) -> Mapping[str, str]:
        """`ok`, or what is wrong, a dependency each."""
        return {"postgres": self._postgres(), "broker": self._broker(), "vectors": self._vectors()}

    def _postgres(self) -> str:
        found = revision(self.engine)
        if found is None:
            return "does not answer"
        return "ok" if found == self.head else f"at migration {found}, not {self.head}"

    def _broker(self) -> str:
        try:
            with Connection(
                self.broker_url, connect_timeout=PROBE_SECONDS, transport_options=BROKER_PROBE
            ) as connection:
                connection.ensure_connection(max_retries=0)
        except (OperationalError, OSError) as error:
            return f"does not answer ({type(error).__name__})"
        return "ok"

    def _vectors(self) -> str:
        try:
            found = self.threads.call(self._has_collection, deadline=PROBE_SECONDS)
        except (IndexUnavailable, TimeoutError, Overloaded):
            return "does not answer"
        return "ok" if found else "has no collection yet"

    def _has_collection(self) -> bool:
        with reaching():
            return self.qdrant.collection_exists(self.alias)
