"""Keeping leases alive while a step runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Event, Thread

import structlog

from shared.domain.errors import StoreUnavailable
from shared.domain.session import Claim
from shared.ports import Dispatch

log = structlog.get_logger(__name__)


@contextmanager
def kept(claims: Sequence[Claim], *, dispatch: Dispatch, every: float) -> Iterator[None]:
    """Renew the claims' leases every `every` seconds until the block ends.

    Renewal is tried again whatever happens: a lease that ran out but that nobody took comes back to life.
    The fence, not the lease, keeps a late result out.
    """
    ended = Event()
    thread = Thread(target=_renew_until, args=(ended, claims, dispatch, every), name="lease", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _renew_until(ended: Event, claims: Sequence[Claim], dispatch: Dispatch, every: float) -> None:
    while not ended.wait(every):
        for claim in claims:
            try:
                dispatch.renew(claim)
            except StoreUnavailable:
                log.warning("lease not renewed", stage=claim.step)
