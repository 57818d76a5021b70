"""Which memories were handed out, and the budgets asked for: buffered, never written on the read path.

What a crash loses here is statistics.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from threading import Event, Lock, Thread

import structlog

from shared.domain.errors import StoreUnavailable
from shared.domain.ids import MemoryId, SessionKey, TenantId
from shared.ports import Begin

log = structlog.get_logger(__name__)
FLUSH_SECONDS = 5.0


@dataclass(slots=True)
class Used:
    times: Counter[MemoryId] = field(default_factory=Counter)
    budgets: dict[SessionKey, int] = field(default_factory=dict)


class Usage:
    def __init__(self, begin: Begin) -> None:
        self._begin = begin
        self._lock = Lock()
        self._used: dict[TenantId, Used] = {}
        self._stop = Event()
        self._thread = Thread(target=self._flush_until_stopped, name="usage", daemon=True)

    def note(
        self,
        tenant_id: TenantId,
        *,
        memory_ids: Sequence[MemoryId],
        session_key: SessionKey | None,
        budget: int,
    ) -> None:
        with self._lock:
            used = self._used.setdefault(tenant_id, Used())
            used.times.update(memory_ids)
            if session_key is not None:
                used.budgets[session_key] = budget

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()
        self.flush()

    def _flush_until_stopped(self) -> None:
        while not self._stop.wait(FLUSH_SECONDS):
            self.flush()

    def flush(self) -> None:
        with self._lock:
            taken, self._used = self._used, {}
        for tenant_id, used in taken.items():
            try:
                with self._begin(tenant_id) as work:
                    work.memories.count_access(used.times)
                    for session_key in sorted(used.budgets):
                        work.sessions.set_budget(session_key, budget=used.budgets[session_key])
            except StoreUnavailable as error:
                log.warning("usage not written", error=str(error))
