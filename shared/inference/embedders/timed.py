"""A query embedding that is late is no use: recall goes on without it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shared.domain.errors import EmbedderUnavailable
from shared.inference.deadline import BoundedThreads, Overloaded

if TYPE_CHECKING:
    from collections.abc import Callable

    from shared.ports import Vector


def timed_query(threads: BoundedThreads, embed: Callable[[], Vector], *, deadline: float) -> Vector:
    """Raises EmbedderUnavailable, at the latest after `deadline` seconds."""
    try:
        return threads.call(embed, deadline=deadline)
    except TimeoutError:
        raise EmbedderUnavailable(f"no query vector within {deadline} s") from None
    except Overloaded:
        raise EmbedderUnavailable("too many query vectors are being made") from None
