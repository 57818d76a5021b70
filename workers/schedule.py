"""Beat: what is done by the clock. Every job may run twice, late or on two beats at once without harm."""

from __future__ import annotations

from collections.abc import Callable

import structlog
from celery import Celery
from celery.schedules import crontab

from shared.broker import TASK
from shared.domain.errors import StoreUnavailable
from shared.domain.session import StepName
from workers.runner import Runner

log = structlog.get_logger(__name__)
SWEEP = TASK.format("sweep")
MONTHS = TASK.format("months")
MONTHS_AHEAD = 2
# A sweep rings a queue for what is due, as many times as it has work up to this: one bell wakes one worker.
BELLS = 8
RUNG: tuple[StepName, ...] = ("extract", "summarize", "embed", "merge", "index")


def sweep(runner: Runner) -> None:
    """Open due batches, and ring for whatever is due, was lost, or whose worker is gone."""
    runner.open_due_sessions()
    for queue, bells in runner.dispatch.owed(RUNG, limit=BELLS).items():
        for _ in range(bells):
            runner.bell.ring(queue)


def make_months(runner: Runner) -> None:
    """Partitions ahead of time. Rows in the default partition mean that this did not run for long."""
    made = runner.dispatch.make_months(ahead=MONTHS_AHEAD)
    stray = runner.dispatch.turns_unpartitioned()
    log.info("months made", count=made)
    if stray:
        log.error("turns without a month of their own", count=stray)


def register(app: Celery, *, runner: Callable[[], Runner], sweep_seconds: float) -> None:
    jobs = {SWEEP: sweep, MONTHS: make_months}
    for name, job in jobs.items():
        _register(app, name, job=job, runner=runner)
    app.conf.task_routes |= {name: {"queue": "upkeep"} for name in jobs}
    app.conf.beat_schedule = {
        # A message that no worker took within one interval has no worth: the next one says the same.
        "sweep": {"task": SWEEP, "schedule": sweep_seconds, "options": {"expires": sweep_seconds}},
        "months": {"task": MONTHS, "schedule": crontab(hour="3", minute="7")},
    }


def _register(app: Celery, name: str, *, job: Callable[[Runner], None], runner: Callable[[], Runner]) -> None:
    @app.task(name=name)  # type: ignore[untyped-decorator]
    def run() -> None:
        try:
            with runner().dispatch.alone(name) as alone:
                if alone:
                    job(runner())
        except StoreUnavailable as error:
            log.warning("job skipped", job=name, error=str(error))
