"""API keys: looked up by the application role through one function, managed by the migration role."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import uuid4

from sqlalchemy import Engine

from shared.domain.errors import Missing, Unauthorized
from shared.domain.ids import TenantId
from shared.stores.postgres.engine import Repository, statement, transaction

PREFIX = "tk"
ALL_SCOPES = ("turns:write", "context:read", "memories:read", "memories:write", "erase", "admin")
# A step's row a tenant: claims go to whoever was served longest ago.
STEPS = ("extract", "summarize", "embed", "merge")

FIND = "select tenant_id, secret_sha256, scopes from turnkeep_key(:key_id)"
ADD_TENANT = """
insert into tenants (tenant_id, name) values (:tenant_id, :name) on conflict (name) do nothing
"""
TENANT = "select tenant_id from tenants where name = :name"
ADD_SERVICE = """
insert into tenant_service (tenant_id, step) values (:tenant_id, :step) on conflict do nothing
"""
ADD = """
insert into api_keys (key_id, tenant_id, secret_sha256, scopes)
values (:key_id, :tenant_id, :secret_sha256, :scopes)
"""
LIST = """
select k.key_id, t.name as tenant, k.scopes, k.created_at, k.revoked_at
from api_keys k join tenants t on t.tenant_id = k.tenant_id order by k.created_at, k.key_id
"""
REVOKE = "update api_keys set revoked_at = now() where key_id = :key_id and revoked_at is null"


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    tenant_id: TenantId
    key_id: str
    scopes: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyRow:
    key_id: str
    tenant: str
    scopes: Sequence[str]
    created_at: datetime
    revoked_at: datetime | None


def authenticate(engine: Engine, *, token: str) -> Caller:
    """Raises Unauthorized: one answer for a malformed, an unknown and a revoked key and a wrong secret."""
    prefix, _, rest = token.partition("_")
    key_id, _, secret = rest.partition("_")
    wrong = Unauthorized(
        "unauthorized", "the API key is missing, wrong or revoked; `turnkeep keys create` makes one"
    )
    if prefix != PREFIX or not key_id.isalnum() or not secret or not token.isascii():
        raise wrong
    with statement(engine) as connection:
        row = Repository(connection).row(FIND, {"key_id": key_id})
    expected = bytes(row.secret_sha256) if row else b""
    if not hmac.compare_digest(hashlib.sha256(secret.encode()).digest(), expected) or row is None:
        raise wrong
    return Caller(tenant_id=TenantId(row.tenant_id), key_id=key_id, scopes=frozenset(row.scopes))


def create(engine: Engine, *, tenant: str, scopes: Sequence[str] = ALL_SCOPES) -> str:
    """The token, shown once: only the hash of its 256-bit secret is kept. Makes the tenant if unknown."""
    key_id = secrets.token_hex(8)
    secret = secrets.token_urlsafe(32)
    with transaction(engine) as connection:
        table = Repository(connection)
        table.run(ADD_TENANT, {"tenant_id": uuid4(), "name": tenant})
        row = table.row(TENANT, {"name": tenant})
        if row is None:
            raise LookupError("a tenant row vanished between insert and select")
        table.run(ADD_SERVICE, [{"tenant_id": row.tenant_id, "step": step} for step in STEPS])
        digest = hashlib.sha256(secret.encode()).digest()
        key = {"key_id": key_id, "tenant_id": row.tenant_id, "secret_sha256": digest, "scopes": list(scopes)}
        table.run(ADD, key)
    return f"{PREFIX}_{key_id}_{secret}"


def listed(engine: Engine) -> list[KeyRow]:
    with transaction(engine) as connection:
        return [KeyRow(**row._mapping) for row in Repository(connection).rows(LIST)]


def revoke(engine: Engine, *, key_id: str) -> None:
    with transaction(engine) as connection:
        if not Repository(connection).run(REVOKE, {"key_id": key_id}):
            raise Missing("key", f"there is no active key {key_id!r}; `turnkeep keys list` shows them")
