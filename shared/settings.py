"""One frozen `Settings`, read in composition roots only.

A setting is spelled `TURNKEEP_<AREA>__<KEY>`; a secret may be read from a file named by `…__<KEY>_FILE`.
`TURNKEEP_PORT*` and `TURNKEEP_SERVICE_*` are left alone: Kubernetes injects them for a service of our name.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError

from shared.domain.errors import SettingsError

PREFIX = "TURNKEEP_"
NOT_SETTINGS = (
    "TURNKEEP_PORT",
    "TURNKEEP_SERVICE_",
    "TURNKEEP_TEST_",
    "TURNKEEP_URL",
    "TURNKEEP_API_KEY",
    "TURNKEEP_CACHE_DIR",
)


class Area(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Postgres(Area):
    url: SecretStr | None = Field(None, description="Application role; not set: embedded server")
    dispatch_url: SecretStr | None = Field(None, description="Dispatch role: sees work rows of all tenants")
    migration_url: SecretStr | None = Field(None, description="Owner of the schema, with BYPASSRLS")
    pool_size: int = Field(6, ge=1, le=200, description="Connections (and route threads) a process")


class Broker(Area):
    url: SecretStr | None = Field(None, description="redis:// or rediss:// server; not set: embedded Valkey")
    key_prefix: str = Field("turnkeep:", description="Keeps two applications on one broker apart")
    publish_timeout: float = Field(
        2.0, gt=0, description="Seconds a doorbell may take; never delays an answer"
    )


class Qdrant(Area):
    url: str | None = Field(None, description="Not set: embedded vector server")
    api_key: SecretStr | None = Field(None, description="Sent as api-key")
    collection: str = Field("turnkeep", min_length=1, description="Alias that reads and writes go through")
    timeout: float = Field(5.0, gt=0, description="Seconds for one call")


class Embedder(Area):
    name: Literal["bundled", "sentence-transformers", "openai", "hashing"] = Field(
        "bundled", description="`hashing` is for protocol tests and load only"
    )
    model: str | None = Field(None, description="Folder, hub name or the server's model name")
    url: str | None = Field(None, description="OpenAI-compatible base URL")
    api_key: SecretStr | None = Field(None, description="For `openai`")
    timeout: float = Field(30.0, gt=0, description="Seconds for one call of a worker")
    query_deadline: float = Field(0.3, gt=0, description="Seconds a context waits; then lexical only")


class Chat(Area):
    model: str | None = Field(None, description="Not set: rules extract, sentences are picked to summarize")
    url: str | None = Field(None, description="OpenAI-compatible base URL; not set: the client's default")
    api_key: SecretStr | None = Field(None, description="Sent as a bearer token")
    mode: Literal["auto", "json_schema", "json_object", "prompt"] = Field(
        "auto", description="How the server is asked for JSON; `auto` finds out at start"
    )
    deadline: float = Field(45.0, gt=0, le=180, description="Seconds for one step's calls, retries included")


class Flush(Area):
    rounds: int = Field(3, ge=1, description="Rounds that make a session due; 1 is always")
    tokens: int = Field(300, ge=0, description="Pending tokens over which a session is due")
    idle_seconds: float = Field(30.0, gt=0, description="Quiet time after which a session is due")
    fold_turns: int = Field(24, ge=1, le=200, description="Turns one batch folds at most")
    fold_tokens: int = Field(3_000, ge=50, description="Tokens one batch folds at most")


class Worker(Area):
    pool: Literal["solo", "prefork", "threads"] = Field("solo", description="Celery pool")
    concurrency: int = Field(1, ge=1, description="Children or threads; `solo` has one")
    lease_seconds: float = Field(30.0, ge=0.5, description="A claim nobody renews for so long is taken over")
    sweep_seconds: float = Field(2.0, ge=0.2, description="Time between two sweeps by beat")
    max_failures: int = Field(3, ge=1, description="Deterministic failures before a batch is split")
    max_crashes: int = Field(3, ge=1, description="Lost workers before a batch is split")


class Gateway(Area):
    host: str = Field("127.0.0.1", description="Address to listen on")
    port: int = Field(8080, ge=0, le=65_535, description="0 takes a free one")
    body_limit: int = Field(262_144, ge=1_024, description="Bytes of one request body")
    turn_limit: int = Field(32_768, ge=256, description="Bytes of one turn's text (UTF-8)")
    batch_limit: int = Field(100, ge=1, description="Turns of one request")
    depth_limit: int = Field(32, ge=4, description="Nesting of a JSON body")
    max_tokens_limit: int = Field(200_000, ge=16, description="Largest context budget")


class Security(Area):
    pepper: SecretStr | None = Field(
        None, description="Key of the HMACs over ids and bodies, 32 characters or more; embedded: made once"
    )


class Recall(Area):
    top_k: int = Field(10, ge=1, le=100, description="Memories a search returns by default")
    policy: Literal["fused", "source_similarity", "source_access", "source_decay"] = Field(
        "fused", description="How memories are ranked"
    )
    working: float = Field(0.15, ge=0, le=1, description="Share of a context for the last turns, verbatim")
    condensed: float = Field(0.35, ge=0, le=1, description="Share for the session's older turns")
    long_term: float = Field(0.50, ge=0, le=1, description="Share for the customer's memories")


class Log(Area):
    level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = Field("INFO", description="Lowest level written")


class Settings(Area):
    postgres: Postgres = Postgres()
    broker: Broker = Broker()
    qdrant: Qdrant = Qdrant()
    embedder: Embedder = Embedder()
    chat: Chat = Chat()
    flush: Flush = Flush()
    worker: Worker = Worker()
    gateway: Gateway = Gateway()
    security: Security = Security()
    recall: Recall = Recall()
    log: Log = Log()


def load(environ: Mapping[str, str] = os.environ) -> Settings:
    """Raises SettingsError with one sentence that names the variable and what to do."""
    areas: dict[str, dict[str, str]] = {}
    for name, value in environ.items():
        if not name.startswith(PREFIX) or name.startswith(NOT_SETTINGS):
            continue
        area, _, key = name.removeprefix(PREFIX).lower().partition("__")
        key, text = _from_file(name, key=key, value=value)
        if text:
            areas.setdefault(area, {})[key] = text
    try:
        return Settings.model_validate(areas)
    except ValidationError as error:
        raise SettingsError(_sentence(error)) from None


def _from_file(name: str, *, key: str, value: str) -> tuple[str, str]:
    if not key.endswith("_file"):
        return key, value
    try:
        return key.removesuffix("_file"), Path(value).read_text(encoding="utf-8").strip()
    except OSError as error:
        raise SettingsError(f"{name} names a file that cannot be read: {error.strerror}.") from None


def _sentence(error: ValidationError) -> str:
    first = error.errors(include_input=False, include_url=False)[0]
    name = PREFIX + "__".join(str(part) for part in first["loc"]).upper()
    if first["type"] == "extra_forbidden":
        return f"{name} is not a setting; the README's configuration table lists them all."
    return f"{name} is wrong: {first['msg']}."


def require(value: SecretStr | str | None, *, name: str) -> str:
    if value is None:
        raise SettingsError(f"{name} is not set; give it, or run `turnkeep up` for the embedded stack.")
    return value.get_secret_value() if isinstance(value, SecretStr) else value
