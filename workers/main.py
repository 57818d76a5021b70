"""Composition root of the workers: `celery -A workers.main worker`, and beat beside it."""

from __future__ import annotations

from functools import cache

from celery import Celery
from celery.signals import setup_logging

from shared import composition
from shared.broker import CeleryBell, celery_app
from shared.inference.names import LacNameTagger
from shared.ports import ChatModel
from shared.settings import Settings, load, require
from shared.stores.postgres.unit_of_work import begin_on
from shared.telemetry import configure_logs
from workers import runner as tasks
from workers import schedule
from workers.runner import Patience, Runner
from workers.tools import Tools

RENEWALS_A_LEASE = 3
DISPATCH_CONNECTIONS = 3


def create_app(settings: Settings) -> Celery:
    app = celery_app(
        settings.broker,
        url=require(settings.broker.url, name="TURNKEEP_BROKER__URL"),
        worker=settings.worker,
    )

    # Built where the work is done, not where a pool of children is started: connections and the embedder's
    # threads do not survive a fork.
    @cache
    def runner() -> Runner:
        return _runner(app, settings=settings)

    tasks.register(app, runner=runner)
    schedule.register(app, runner=runner, sweep_seconds=settings.worker.sweep_seconds)
    return app


def _runner(app: Celery, *, settings: Settings) -> Runner:
    embedder = composition.embedder(settings)
    client = composition.prepared_qdrant(settings, embedder=embedder)
    tools = Tools(
        begin=begin_on(composition.app_engine(settings)),
        open_index=composition.open_index(settings, client=client),
        embedder=embedder,
        counter=composition.counter(),
        tagger=LacNameTagger(),
        chat=_chat(settings),
        chat_deadline=settings.chat.deadline,
        flush=composition.flush_policy(settings),
        split=composition.budget_split(settings),
    )
    return Runner(
        tools=tools,
        dispatch=composition.dispatch(settings, pool_size=DISPATCH_CONNECTIONS),
        bell=CeleryBell(app),
        patience=Patience(
            max_failures=settings.worker.max_failures,
            max_crashes=settings.worker.max_crashes,
            renew_seconds=settings.worker.lease_seconds / RENEWALS_A_LEASE,
        ),
    )


def _chat(settings: Settings) -> ChatModel | None:
    chosen = settings.chat
    if chosen.model is None:
        return None
    from shared.inference.chat import make_chat

    key = chosen.api_key.get_secret_value() if chosen.api_key else ""
    return make_chat(chosen.model, base_url=chosen.url, api_key=key, mode=chosen.mode)


@setup_logging.connect  # type: ignore[untyped-decorator]
def _our_logs(**_: object) -> None:
    """Celery's own lines would come in another form beside ours."""


settings = load()
configure_logs(service="worker", level=settings.log.level)
app = create_app(settings)
