"""A circuit breaker: a server that keeps failing is left alone for a while."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING

from shared.domain.errors import ModelUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakerPolicy:
    failures: int = 5
    pause: float = 30.0
    longest_pause: float = 600.0


class Breaker:
    """Closed, it counts failures in a row. Open, it refuses. After the pause one call may try: it decides.

    A failure that names its own `retry_after` opens at once and for as long, up to the longest pause.
    Only ModelUnavailable is a failure: a server that answers nonsense is reachable.
    """

    def __init__(
        self, policy: BreakerPolicy | None = None, *, clock: Callable[[], float] = monotonic
    ) -> None:
        self._policy = policy or BreakerPolicy()
        self._clock = clock
        self._lock = Lock()
        self._failures = 0
        self._closed_from = 0.0
        self._trying = False

    @contextmanager
    def guard(self) -> Iterator[None]:
        """Raises ModelUnavailable instead of running the block while open."""
        trial = self._enter()
        try:
            yield
        except ModelUnavailable as failure:
            self._failed(failure)
            raise
        else:
            self._failures = 0
        finally:
            if trial:
                self._trying = False

    def _enter(self) -> bool:
        with self._lock:
            if self._failures < self._policy.failures:
                return False
            wait = self._closed_from - self._clock()
            if wait > 0 or self._trying:
                raise ModelUnavailable("the breaker is open", retry_after=max(wait, 0.0) or None)
            self._trying = True
            return True

    def _failed(self, failure: ModelUnavailable) -> None:
        with self._lock:
            self._failures += 1
            if failure.retry_after is not None:
                self._failures = max(self._failures, self._policy.failures)
            pause = self._policy.pause if failure.retry_after is None else failure.retry_after
            self._closed_from = self._clock() + min(pause, self._policy.longest_pause)
