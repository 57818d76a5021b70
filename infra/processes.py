"""The command lines of workers and beat, and which kinds of work stand together in one worker."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from shared.broker import QUEUES
from shared.domain.errors import SettingsError
from shared.domain.session import QueueName
from shared.settings import Worker

# With two workers or more they take turns in this order: what reads and decides, and what computes vectors.
# Both index, which is short; a killed worker is replaced at once, and its work waits for it in Postgres.
SPLIT: tuple[tuple[QueueName, ...], ...] = (
    ("extract", "summarize", "merge", "index", "upkeep"),
    ("embed", "index"),
)
# The warning for root is about pickled messages, and ours are JSON.
CELERY = (
    sys.executable,
    "-W",
    "ignore:You're running the worker",
    "-m",
    "celery",
    "-q",
    "-A",
    "workers.main",
)


def kinds_of(number: int, *, workers: int) -> Sequence[QueueName]:
    """What the worker of this number, from 0, works on."""
    return QUEUES if workers == 1 else SPLIT[number % len(SPLIT)]


def checked_queues(text: str) -> Sequence[QueueName]:
    """Raises SettingsError for a queue that does not exist: its worker would wait for ever."""
    known: dict[str, QueueName] = {name: name for name in QUEUES}
    asked = [name.strip() for name in text.split(",") if name.strip()]
    unknown = [name for name in asked if name not in known]
    if unknown or not asked:
        raise SettingsError(f"There is no queue {', '.join(unknown)!r}; the queues are {', '.join(QUEUES)}.")
    return [known[name] for name in asked]


def worker_argv(queues: Sequence[QueueName], *, node: str, worker: Worker, level: str) -> tuple[str, ...]:
    """`node` is the worker's name among all that share the broker."""
    chosen = (
        "-Q",
        ",".join(queues),
        "-n",
        node,
        "-P",
        worker.pool,
        "-c",
        str(worker.concurrency),
        "-l",
        level,
    )
    return (*CELERY, "worker", *chosen, "--without-mingle", "--without-gossip")


def beat_argv(*, level: str) -> tuple[str, ...]:
    """The schedule is kept in memory: what is missed while beat is down is due again with its next turn."""
    return (*CELERY, "beat", "-S", "celery.beat:Scheduler", "-l", level)


def worker_environment(queues: Sequence[QueueName], *, worker: Worker) -> dict[str, str]:
    environment: dict[str, str] = {}
    if "embed" not in queues:
        # Threads that only the embedder's engine would use.
        environment["OMP_NUM_THREADS"] = "1"
    if worker.pool == "prefork":
        # Only children can be stopped in the middle of a task; alone, SIGTERM waits for them without limit.
        environment["REMAP_SIGTERM"] = "SIGQUIT"
    return environment
