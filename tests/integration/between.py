"""Getting in between: what happens beside, before or at the end of another transaction."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Thread
from typing import Any

from shared.domain.ids import TenantId
from shared.domain.session import QueueName
from shared.inference.embedders.hashing import HashingEmbedder
from shared.ports import Begin, Vector, Work

CUT_CONNECTIONS = """
select pg_terminate_backend(pid) from pg_stat_activity
where datname = current_database() and usename = current_user and pid <> pg_backend_pid()
"""
WAITING = """
select count(*) from pg_locks l join pg_stat_activity a using (pid)
where not l.granted and a.datname = current_database()
"""


@dataclass(slots=True)
class ListBell:
    """Remembers what was rung."""

    rung: list[QueueName] = field(default_factory=list)

    def ring(self, *queues: QueueName) -> None:
        self.rung += queues


@dataclass(slots=True)
class Interleaved:
    """A `Begin` that runs an action each before the units of work of these numbers (from 0) are begun."""

    begin: Begin
    actions: Mapping[int, Callable[[], object]]
    begun: int = 0

    @contextmanager
    def __call__(self, tenant_id: TenantId) -> Iterator[Work]:
        action = self.actions.get(self.begun)
        self.begun += 1
        if action is not None:
            action()
        with self.begin(tenant_id) as work:
            yield work


@dataclass(slots=True)
class BeforeCommit:
    """A `Begin` that runs `action` inside every unit of work, when its body has ended."""

    begin: Begin
    action: Callable[[], object]

    @contextmanager
    def __call__(self, tenant_id: TenantId) -> Iterator[Work]:
        with self.begin(tenant_id) as work:
            yield work
            self.action()


class Watched(HashingEmbedder):
    """Runs `action` before it embeds."""

    def __init__(self, action: Callable[[Sequence[str]], object]) -> None:
        self._action = action

    def passages(self, texts: Sequence[str]) -> list[Vector]:
        self._action(texts)
        return super().passages(texts)


class Aside(Thread):
    """Runs `action` beside the test; `outcome()` waits for it and gives its result or raises its error."""

    def __init__(self, action: Callable[[], object]) -> None:
        super().__init__(name="aside")
        self._action = action
        self._result: Any = None
        self._error: Exception | None = None
        self.start()

    def run(self) -> None:
        try:
            self._result = self._action()
        except Exception as error:  # noqa: BLE001 -- whatever it is, it is raised again where it is waited for
            self._error = error

    def outcome(self) -> Any:
        self.join(timeout=60)
        assert not self.is_alive(), "it never ended"
        if self._error is not None:
            raise self._error
        return self._result
