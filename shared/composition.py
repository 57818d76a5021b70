"""Settings to adapters: what both composition roots, the gateway's and the workers', build the same way."""

from __future__ import annotations

from datetime import timedelta

import structlog
from qdrant_client import QdrantClient
from sqlalchemy import Engine

from shared.domain.errors import IndexUnavailable, Invalid, SettingsError
from shared.domain.policy import BudgetSplit
from shared.domain.session import FlushPolicy
from shared.inference.embedders import make_embedder
from shared.inference.tokens import counter_for
from shared.ports import Embedder, OpenIndex, TokenCounter
from shared.settings import Settings, require
from shared.stores import qdrant
from shared.stores.postgres import engine
from shared.stores.postgres.dispatch import Dispatch

log = structlog.get_logger(__name__)
SHORTEST_PEPPER = 32


def pepper(settings: Settings) -> bytes:
    text = require(settings.security.pepper, name="TURNKEEP_SECURITY__PEPPER")
    if len(text) < SHORTEST_PEPPER:
        raise SettingsError(
            f"TURNKEEP_SECURITY__PEPPER has {len(text)} characters; make one of {SHORTEST_PEPPER} or more, "
            "for example with `openssl rand -hex 32`, and keep it: ids cannot be found without it."
        )
    return text.encode()


def app_engine(settings: Settings) -> Engine:
    url = require(settings.postgres.url, name="TURNKEEP_POSTGRES__URL")
    return _checked(url, name="TURNKEEP_POSTGRES__URL", pool_size=settings.postgres.pool_size)


def dispatch(settings: Settings, *, pool_size: int) -> Dispatch:
    url = require(settings.postgres.dispatch_url, name="TURNKEEP_POSTGRES__DISPATCH_URL")
    made = _checked(url, name="TURNKEEP_POSTGRES__DISPATCH_URL", pool_size=pool_size)
    return Dispatch(made, lease_seconds=settings.worker.lease_seconds)


def _checked(url: str, *, name: str, pool_size: int) -> Engine:
    made = engine.connect(url, pool_size=pool_size)
    engine.check_role(made, name=name)
    return made


def embedder(settings: Settings) -> Embedder:
    chosen = settings.embedder
    if chosen.name == "hashing":
        log.warning("the hashing embedder knows no meaning: for protocol tests and load only")
    return make_embedder(
        chosen.name,
        model=chosen.model,
        base_url=chosen.url,
        api_key=chosen.api_key.get_secret_value() if chosen.api_key else "",
        timeout=chosen.timeout,
    )


def counter() -> TokenCounter:
    return counter_for(None)


def prepared_qdrant(settings: Settings, *, embedder: Embedder) -> QdrantClient:
    """A vector server that is down does not stop the start: contexts say so, and debts wait."""
    key = settings.qdrant.api_key
    client = qdrant.connect(
        require(settings.qdrant.url, name="TURNKEEP_QDRANT__URL"),
        api_key=key.get_secret_value() if key else None,
        timeout=settings.qdrant.timeout,
    )
    alias = settings.qdrant.collection
    try:
        qdrant.prepare(client, alias=alias, embedder=embedder.name, dimension=embedder.dimension)
    except IndexUnavailable as error:
        log.warning("starting without the vector server", error=str(error))
    return client


def open_index(settings: Settings, *, client: QdrantClient) -> OpenIndex:
    return qdrant.index_on(client, alias=settings.qdrant.collection)


def budget_split(settings: Settings) -> BudgetSplit:
    chosen = settings.recall
    try:
        return BudgetSplit(working=chosen.working, condensed=chosen.condensed, long_term=chosen.long_term)
    except Invalid as error:
        names = "TURNKEEP_RECALL__WORKING, …__CONDENSED and …__LONG_TERM"
        raise SettingsError(f"{names}: {error.detail}.") from None


def flush_policy(settings: Settings) -> FlushPolicy:
    chosen = settings.flush
    return FlushPolicy(
        rounds=chosen.rounds,
        tokens=chosen.tokens,
        idle=timedelta(seconds=chosen.idle_seconds),
        fold_turns=chosen.fold_turns,
        fold_tokens=chosen.fold_tokens,
    )
