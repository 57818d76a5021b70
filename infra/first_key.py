"""The pepper, the tenant and the API key of an embedded stack, the same ones at every start."""

from __future__ import annotations

import secrets
from pathlib import Path

from infra.embedded.process import EmbeddedError
from infra.embedded.roles import PostgresUrls
from infra.kept import keep_secret, kept_secret
from shared.domain.errors import Unauthorized
from shared.stores.postgres import engine, keys

TENANT = "default"
_PEPPER_BYTES = 32


def ensure_pepper(data_dir: Path) -> str:
    """Raises EmbeddedError when it is gone from a directory that was used with it."""
    path = data_dir / "pepper"
    pepper = kept_secret(path)
    if pepper is None and (data_dir / "api_key").exists():
        raise EmbeddedError(
            f"The pepper of this data directory is gone; restore {path} or choose another directory."
        )
    return pepper or keep_secret(path, secrets.token_hex(_PEPPER_BYTES))


def ensure_key(data_dir: Path, *, postgres: PostgresUrls) -> str:
    """The kept key; a new one when there is none that is still good."""
    path = data_dir / "api_key"
    key = kept_secret(path)
    if key is not None and _is_good(key, url=postgres.app_url):
        return key
    owner = engine.connect(postgres.migration_url, pool_size=1)
    try:
        return keep_secret(path, keys.create(owner, tenant=TENANT))
    finally:
        owner.dispose()


def _is_good(key: str, *, url: str) -> bool:
    application = engine.connect(url, pool_size=1)
    try:
        keys.authenticate(application, token=key)
    except Unauthorized:
        return False
    finally:
        application.dispose()
    return True
