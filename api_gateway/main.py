"""Composition root of the gateway: settings in, application out."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version
from uuid import uuid4

import anyio.to_thread
import structlog
from fastapi import FastAPI
from fastapi_offline import FastAPIOffline

from api_gateway import errors
from api_gateway.accept import AcceptPolicy
from api_gateway.dependencies import Gateway
from api_gateway.gate import Gate
from api_gateway.health import Probes
from api_gateway.routes import context, health, memories, memory_changes, sessions, turns, users
from api_gateway.timing import Timing
from api_gateway.usage import Usage
from shared import composition
from shared.broker import CeleryBell, Outcome, QuietBell, celery_app
from shared.domain.errors import EmbedderUnavailable
from shared.inference.tokens import counter_for
from shared.ports import Embedder
from shared.settings import Settings, load, require
from shared.stores.postgres.engine import check_revision
from shared.stores.postgres.unit_of_work import begin_on
from shared.telemetry import Metrics, configure_logs
from shared.text.redaction import KeepAll

log = structlog.get_logger(__name__)
WARM_SECONDS = 10.0
ROUTERS = (
    turns.router,
    context.router,
    sessions.router,
    memories.router,
    memory_changes.router,
    users.router,
    health.router,
)


def create_app(settings: Settings | None = None, *, head: str) -> FastAPI:
    """Raises SettingsError with one sentence when something it needs is missing or wrong."""
    settings = settings or load()
    configure_logs(service="gateway", level=settings.log.level)
    broker_url = require(settings.broker.url, name="TURNKEEP_BROKER__URL")
    pepper = composition.pepper(settings)
    engine = composition.app_engine(settings)
    check_revision(engine, head=head)
    embedder = composition.embedder(settings)
    qdrant = composition.prepared_qdrant(settings, embedder=embedder)
    metrics = Metrics()
    begin = begin_on(engine)
    app = FastAPIOffline(
        title="Turnkeep", version=version("turnkeep"), lifespan=lifespan, responses=errors.documented()
    )
    app.state.gateway = Gateway(
        settings=settings,
        engine=engine,
        begin=begin,
        dispatch=composition.dispatch(settings, pool_size=2),
        open_index=composition.open_index(settings, client=qdrant),
        embedder=embedder,
        counter=composition.counter(),
        counter_for=counter_for,
        bell=_bell(settings, url=broker_url, metrics=metrics),
        accept_policy=AcceptPolicy(
            flush=composition.flush_policy(settings),
            split=composition.budget_split(settings),
            redactor=KeepAll(),
            fresh_key=uuid4,
        ),
        usage=Usage(begin),
        metrics=metrics,
        pepper=pepper,
    )
    app.state.probes = Probes(
        engine=engine, head=head, broker_url=broker_url, qdrant=qdrant, alias=settings.qdrant.collection
    )
    for router in ROUTERS:
        app.include_router(router)
    errors.install(app)
    limits = settings.gateway
    app.add_middleware(Gate, body_limit=limits.body_limit, depth_limit=limits.depth_limit)
    app.add_middleware(Timing, metrics=metrics)
    return app


def _bell(settings: Settings, *, url: str, metrics: Metrics) -> QuietBell:
    def count(outcome: Outcome) -> None:
        metrics.bells.labels(outcome).inc()

    bell = CeleryBell(celery_app(settings.broker, url=url, worker=settings.worker), count=count)
    return QuietBell(bell, count=count)


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Route threads and pooled connections agree in number: a thread never waits for a connection."""
    gateway: Gateway = app.state.gateway
    anyio.to_thread.current_default_thread_limiter().total_tokens = gateway.settings.postgres.pool_size
    _warm(gateway.embedder)
    gateway.usage.start()
    yield
    gateway.usage.stop()
    gateway.bell.close()
    gateway.engine.dispose()


def _warm(embedder: Embedder) -> None:
    """The first query would spend most of its deadline on loading the model."""
    try:
        embedder.query("ready", deadline=WARM_SECONDS)
    except EmbedderUnavailable as error:
        log.warning("starting without the embedder", error=str(error))
