"""Workers as processes of their own, without a broker: `python -m tests.integration.hands NUMBER`.

They are forked from one process that has imported everything, so that a killed one is replaced at once. Each
builds the runner as the product does, works on whatever is due, dawdles now and then between two units of
work, and dies on the spot when it is to embed a text with the word `lethal` in it.
"""

from __future__ import annotations

import ctypes
import os
import random
import signal
import sys
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace

from shared.domain.ids import TenantId
from shared.domain.session import QueueName, StepName
from shared.inference.embedders.hashing import HashingEmbedder
from shared.ports import Begin, Vector, Work
from workers.main import _runner, app, settings
from workers.runner import Runner

STEPS: tuple[StepName, ...] = ("extract", "summarize", "embed", "merge", "index")
LETHAL = "lethal"
IDLE_SECONDS = 0.02
PARENT_DEATH_SIGNAL = 1
DAWDLES = 0.15  # of all units of work
DAWDLE_SECONDS = 0.15


class LethalEmbedder(HashingEmbedder):
    def passages(self, texts: Sequence[str]) -> list[Vector]:
        if any(LETHAL in text for text in texts):
            os.kill(os.getpid(), signal.SIGKILL)
        return super().passages(texts)


@dataclass(frozen=True, slots=True)
class Dawdling:
    """A `Begin` that sometimes comes late, so that others get in between."""

    begin: Begin

    def __call__(self, tenant_id: TenantId) -> AbstractContextManager[Work]:
        if random.random() < DAWDLES:
            time.sleep(random.uniform(0, DAWDLE_SECONDS))
        return self.begin(tenant_id)


class NoBell:
    def ring(self, *queues: QueueName) -> None:
        """Nobody waits for bells here."""


def work(runner: Runner, *, parent: int) -> None:
    """Until the parent is gone."""
    order = list(STEPS)
    while os.getppid() == parent:
        random.shuffle(order)
        if not sum(runner._once(step) for step in order):
            time.sleep(IDLE_SECONDS)


def hired(parent: int) -> int:
    pid = os.fork()
    if pid == 0:
        if sys.platform == "linux":
            # Also when it is stopped, and so would never see that its parent is gone.
            ctypes.CDLL(None).prctl(PARENT_DEATH_SIGNAL, signal.SIGKILL)
        random.seed()
        made = _runner(app, settings=settings)
        tools = replace(made.tools, embedder=LethalEmbedder(), begin=Dawdling(made.tools.begin))
        work(replace(made, bell=NoBell(), tools=tools), parent=parent)
        os._exit(0)
    return pid


def main(number: int) -> None:
    for _ in range(number):
        hired(os.getpid())
    while True:
        os.wait()
        hired(os.getpid())


if __name__ == "__main__":
    main(int(sys.argv[1]))
