"""What each dependency answers right now."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kombu import Connection
from kombu.exceptions import OperationalError
from qdrant_client import QdrantClient
from sqlalchemy import Engine

from shared.domain.errors import IndexUnavailable
from shared.stores.postgres.engine import revision
from shared.stores.qdrant import reaching

# A broker that takes connections and answers nothing must not make the gateway look dead.
BROKER_PROBE = {"socket_connect_timeout": 0.5, "socket_timeout": 0.5}


@dataclass(frozen=True, slots=True, kw_only=True)
class Probes:
    engine: Engine
    head: str
    broker_url: str
    qdrant: QdrantClient
    alias: str

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
            with Connection(self.broker_url, transport_options=BROKER_PROBE) as connection:
                connection.ensure_connection(max_retries=0)
        except (OperationalError, OSError) as error:
            return f"does not answer ({type(error).__name__})"
        return "ok"

    def _vectors(self) -> str:
        try:
            with reaching():
                found = self.qdrant.collection_exists(self.alias)
        except IndexUnavailable:
            return "does not answer"
        return "ok" if found else "has no collection yet"
