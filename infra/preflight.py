"""What a process needs before it starts, so that it ends with one sentence and not over and over."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from kombu import Connection
from kombu.exceptions import OperationalError as BrokerError
from sqlalchemy.exc import SQLAlchemyError

from infra.migrate import head
from shared import composition
from shared.domain.errors import SettingsError
from shared.settings import Settings, require
from shared.stores.postgres.engine import check_revision
from shared.telemetry import configure_logs

CONNECT_SECONDS = 3


def check_worker(settings: Settings) -> None:
    configure_logs(service="worker", level=settings.log.level)
    check_broker(settings)
    engine = composition.app_engine(settings)
    check_revision(engine, head=head())
    engine.dispose()
    composition.dispatch(settings, pool_size=1)
    composition.prepared_qdrant(settings, embedder=composition.embedder(settings)).close()


def check_broker(settings: Settings) -> None:
    url = require(settings.broker.url, name="TURNKEEP_BROKER__URL")
    try:
        with Connection(url, connect_timeout=CONNECT_SECONDS) as connection:
            connection.ensure_connection(max_retries=1, timeout=CONNECT_SECONDS)
    except (BrokerError, OSError) as error:
        raise SettingsError(
            f"TURNKEEP_BROKER__URL: the broker cannot be reached ({error}); start it or correct the URL."
        ) from None


@contextmanager
def reaching_postgres(name: str) -> Iterator[None]:
    """`name` is the setting whose URL is used within."""
    try:
        yield
    except SQLAlchemyError as error:
        reason = str(error.__cause__ or error).strip().splitlines()[0]
        raise SettingsError(
            f"{name}: Postgres did not do it ({reason}); correct the URL or the server."
        ) from None
