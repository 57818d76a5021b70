"""The Celery application and the doorbell.

Postgres is the truth and the broker a doorbell: kombu on Redis can lose a message between pop and bookkeeping
whatever the settings, so a message carries nothing, and the sweep rings again.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import BoundedSemaphore
from time import time
from typing import Literal, get_args

import structlog
from celery import Celery
from kombu import Exchange, Queue
from kombu.exceptions import OperationalError

from shared.domain.session import QueueName
from shared.settings import Broker, Worker

QUEUES: tuple[QueueName, ...] = get_args(QueueName)
TASK = "turnkeep.{}"
EXCHANGE = Exchange("turnkeep", type="direct")
RUNG_AT = "rung_at"  # a bell's header: seconds of wall clock
# A bell that nobody took within this time is rung again by the sweep.
BELL_SECONDS = 60
log = structlog.get_logger(__name__)


def celery_app(broker: Broker, *, url: str, worker: Worker) -> Celery:
    app = Celery("turnkeep", broker=url)
    app.conf.update(
        task_queues=[Queue(name, EXCHANGE, routing_key=name) for name in QUEUES],
        task_routes={TASK.format(name): {"queue": name} for name in QUEUES},
        task_default_queue="upkeep",
        task_create_missing_queues=False,  # a typo must fail, not make a queue nobody reads
        task_acks_late=True,
        task_reject_on_worker_lost=False,  # without a bound it is a hot loop
        task_retry_on_worker_lost=True,
        task_acks_on_failure=True,  # Postgres knows what is still owed
        task_acks_on_timeout=True,
        task_ignore_result=True,
        task_serializer="json",
        accept_content=["json"],
        result_accept_content=["json"],
        task_time_limit=240,
        task_soft_time_limit=210,
        task_send_sent_event=True,
        worker_send_task_events=True,
        worker_prefetch_multiplier=1,
        worker_disable_prefetch=True,
        worker_max_tasks_per_child=500,
        worker_max_memory_per_child=1_500_000,  # KiB; above the embedder's resident size
        worker_soft_shutdown_timeout=10,
        worker_enable_soft_shutdown_on_idle=True,
        worker_cancel_long_running_tasks_on_connection_loss=True,
        worker_eta_task_limit=100,
        worker_pool=worker.pool,
        worker_concurrency=worker.concurrency,
        worker_pool_start_method="spawn",
        worker_hijack_root_logger=False,
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,
        broker_pool_acquire_timeout=5,
        task_publish_retry_policy={
            "max_retries": 2,
            "interval_start": 0,
            "interval_step": 0.1,
            "interval_max": 0.3,
        },
        visibility_timeout=600,
        broker_transport_options=_transport(broker, url=url),
    )
    return app


def _transport(broker: Broker, *, url: str) -> dict[str, object]:
    if not url.startswith(("redis", "valkey")):
        return {"confirm_publish": True}
    return {
        "visibility_timeout": 600,
        "unacked_restore_interval": 10,
        "unacked_restore_throttle": 1,
        "socket_timeout": 10,
        "socket_connect_timeout": broker.publish_timeout,
        "socket_keepalive": True,
        "health_check_interval": 25,
        "retry_on_timeout": True,
        "global_keyprefix": broker.key_prefix,
    }


Outcome = Literal["rung", "failed", "dropped"]
Count = Callable[[Outcome], None]


def _uncounted(_: Outcome) -> None:
    """Where there is no metric to count on."""


class CeleryBell:
    """Rings in the caller's thread; a bell that fails is counted and forgotten."""

    def __init__(self, app: Celery, *, count: Count = _uncounted) -> None:
        self._app = app
        self._count = count

    def ring(self, *queues: QueueName) -> None:
        for queue in queues:
            try:
                headers = {RUNG_AT: time()}
                self._app.send_task(TASK.format(queue), queue=queue, expires=BELL_SECONDS, headers=headers)
            except (OperationalError, OSError) as error:
                self._count("failed")
                log.warning("bell failed", stage=queue, error=type(error).__name__)
                return
            self._count("rung")


class QuietBell:
    """Rings behind the answer: a few threads, and no more waiting bells than `depth`.

    A bell beyond that is dropped; with the broker down they would all say the same.
    """

    def __init__(
        self, bell: CeleryBell, *, count: Count = _uncounted, threads: int = 2, depth: int = 64
    ) -> None:
        self._bell = bell
        self._count = count
        self._slots = BoundedSemaphore(depth)
        self._pool = ThreadPoolExecutor(max_workers=threads, thread_name_prefix="bell")

    def ring(self, *queues: QueueName) -> None:
        if not self._slots.acquire(blocking=False):
            self._count("dropped")
            return
        self._pool.submit(self._ring, *queues)

    def _ring(self, *queues: QueueName) -> None:
        try:
            self._bell.ring(*queues)
        finally:
            self._slots.release()

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)
