"""Postgres, the broker, the vector server: reachable, new enough, and with no setting that loses data."""

from __future__ import annotations

import redis
from qdrant_client import QdrantClient
from redis.exceptions import RedisError
from sqlalchemy import text

from infra.migrate import head
from infra.preflight import check_broker, reaching_postgres
from shared import composition
from shared.domain.errors import IndexUnavailable, SettingsError
from shared.settings import Settings, require
from shared.stores import qdrant
from shared.stores.postgres.engine import check_revision, connect

OLDEST_POSTGRES = 150_000
OLDEST_REDIS = (6, 2)
CONNECT_SECONDS = 3
# A full broker must refuse and not forget, and a restarted one must still know what was rung for.
SAFE = {"maxmemory-policy": "noeviction", "appendonly": "yes"}
SERVER = text("select current_setting('server_version_num')::int, current_setting('server_version')")
BYPASSES = text("select rolbypassrls or rolsuper from pg_roles where rolname = current_user")


def application_role(settings: Settings) -> str:
    engine = composition.app_engine(settings)
    try:
        with engine.connect() as connection:
            number, name = connection.execute(SERVER).one()
        check_revision(engine, head=head())
    finally:
        engine.dispose()
    if number < OLDEST_POSTGRES:
        raise SettingsError(f"PostgreSQL {name} is too old; use {OLDEST_POSTGRES // 10_000} or newer.")
    return f"PostgreSQL {name}, migration {head()}, bound by row-level security"


def dispatch_role(settings: Settings) -> str:
    composition.dispatch(settings, pool_size=1)
    return "bound by row-level security"


def migration_role(settings: Settings) -> str:
    name = "TURNKEEP_POSTGRES__MIGRATION_URL"
    if settings.postgres.migration_url is None:
        return f"{name} is not set; `migrate` and `keys` need it, nothing else does"
    engine = connect(require(settings.postgres.migration_url, name=name), pool_size=1)
    try:
        with reaching_postgres(name), engine.connect() as connection:
            bypasses = connection.execute(BYPASSES).scalar_one()
    finally:
        engine.dispose()
    if not bypasses:
        raise SettingsError(
            f"{name} logs in as a role that row-level security binds; give it BYPASSRLS, "
            "or migrations miss rows."
        )
    return "passes row-level security"


def broker(settings: Settings) -> str:
    check_broker(settings)
    url = require(settings.broker.url, name="TURNKEEP_BROKER__URL")
    if not url.startswith(("redis", "valkey")):
        return f"{url.partition(':')[0]} answers"
    try:
        with redis.Redis.from_url(url, socket_timeout=CONNECT_SECONDS) as client:
            return _checked(client)
    except RedisError as error:
        raise SettingsError(
            f"The broker does not tell its settings ({error}); see to it that "
            + ", ".join(f"{name} is {value}" for name, value in SAFE.items())
            + "."
        ) from None


def _checked(client: redis.Redis) -> str:
    server = client.info("server")
    found = str(server.get("valkey_version") or server["redis_version"])
    if tuple(int(part) for part in found.split(".")[:2]) < OLDEST_REDIS:
        raise SettingsError(
            f"The broker is version {found}; use {'.'.join(map(str, OLDEST_REDIS))} or newer."
        )
    for name, safe in SAFE.items():
        value = client.config_get(name).get(name)
        if value != safe:
            raise SettingsError(
                f"The broker's {name} is {value}, which loses what is in the queues; run "
                f"CONFIG SET {name} {safe} and write it into its configuration file."
            )
    return f"{server.get('server_name', 'redis')} {found}, " + ", ".join(f"{k} {v}" for k, v in SAFE.items())


def vectors(settings: Settings) -> str:
    key = settings.qdrant.api_key
    client = qdrant.connect(
        require(settings.qdrant.url, name="TURNKEEP_QDRANT__URL"),
        api_key=key.get_secret_value() if key else None,
        timeout=settings.qdrant.timeout,
    )
    try:
        return _agreeing(client, settings=settings)
    except IndexUnavailable as error:
        raise SettingsError(
            f"TURNKEEP_QDRANT__URL: {error}; start the vector server or correct the URL or the key."
        ) from None
    finally:
        client.close()


def _agreeing(client: QdrantClient, *, settings: Settings) -> str:
    """With the alias there, `prepare` makes nothing and only compares."""
    alias = settings.qdrant.collection
    with qdrant.reaching():
        found = {item.alias_name: item.collection_name for item in client.get_aliases().aliases}
    if alias not in found:
        return f"answers; {alias!r} is made at the first start"
    embedder = composition.embedder(settings)
    qdrant.prepare(client, alias=alias, embedder=embedder.name, dimension=embedder.dimension)
    return f"{found[alias]!r} holds vectors of the embedder ({embedder.dimension} dimensions)"
