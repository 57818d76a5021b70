"""Calls that end at their deadline, whatever the called does."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import BoundedSemaphore
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future

T = TypeVar("T")


class Overloaded(Exception):
    """Every thread is taken, and so is every place to wait."""


class BoundedThreads:
    """A few threads with a short queue. A call past its deadline is left to end by itself in its thread."""

    def __init__(self, *, threads: int, waiting: int, name: str) -> None:
        self._pool = ThreadPoolExecutor(max_workers=threads, thread_name_prefix=name)
        self._places = BoundedSemaphore(threads + waiting)

    def call(self, function: Callable[[], T], *, deadline: float) -> T:
        """Raises TimeoutError after `deadline` seconds, Overloaded if the call did not even begin."""
        if not self._places.acquire(blocking=False):
            raise Overloaded
        future = self._pool.submit(function)
        future.add_done_callback(self._leave)
        try:
            return future.result(timeout=deadline)
        except TimeoutError:
            if future.cancel():
                raise Overloaded from None
            raise

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _leave(self, _: Future[T]) -> None:
        self._places.release()
