"""Batches to the gateway: sessions beside each other, the batches of one session one after another."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from http import HTTPStatus
from zlib import crc32

from infra.calls import Calls, GatewayRefused, session_path
from infra.imports.batches import Batch
from infra.imports.lines import BadLine

ROADS = 4
MOST_ON_THE_WAY = 16
# Refused for what the key is, not for what a line says: no other line would fare better.
OF_THE_KEY = frozenset({HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN})


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """`size` is the bytes of all its lines."""

    session_id: str
    size: int
    accepted: int = 0
    duplicates: int = 0
    refused: Sequence[BadLine] = ()


def send_all(batches: Iterable[Batch], *, calls: Calls) -> Iterator[Outcome]:
    """Raises GatewayUnreachable, or GatewayRefused for the key; what was sent before stays accepted."""
    on_the_way: deque[Future[Outcome]] = deque()
    with ExitStack() as exits:
        roads = [exits.enter_context(ThreadPoolExecutor(max_workers=1)) for _ in range(ROADS)]
        try:
            for batch in batches:
                road = roads[crc32(batch.session_id.encode()) % ROADS]
                on_the_way.append(road.submit(send, batch, calls=calls))
                if len(on_the_way) >= MOST_ON_THE_WAY:
                    yield on_the_way.popleft().result()
            while on_the_way:
                yield on_the_way.popleft().result()
        finally:
            for future in on_the_way:
                future.cancel()


def send(batch: Batch, *, calls: Calls) -> Outcome:
    """The gateway takes a batch whole or not at all, so a refused one is halved until the wrong lines stand
    alone; halves keep their order."""
    try:
        answer = calls.post(
            session_path(batch.session_id, "turns"), batch.body(), headers={"Turnkeep-Lane": "bulk"}
        )
    except GatewayRefused as error:
        if error.status in OF_THE_KEY:
            raise
        if len(batch.lines) > 1:
            return _sum(*(send(half, calls=calls) for half in batch.halves()))
        line = batch.lines[0]
        refused = BadLine(number=line.number, size=line.size, reason=error.detail)
        return Outcome(session_id=batch.session_id, size=line.size, refused=[refused])
    duplicates = sum(receipt["duplicate"] for receipt in answer["accepted"])
    return Outcome(
        session_id=batch.session_id,
        size=batch.size,
        accepted=len(batch.lines) - duplicates,
        duplicates=duplicates,
    )


def _sum(first: Outcome, second: Outcome) -> Outcome:
    return Outcome(
        session_id=first.session_id,
        size=first.size + second.size,
        accepted=first.accepted + second.accepted,
        duplicates=first.duplicates + second.duplicates,
        refused=[*first.refused, *second.refused],
    )
