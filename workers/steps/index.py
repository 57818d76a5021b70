"""Debts to the vector index are paid by id, and only at the version they were taken at."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from shared.domain.ids import MemoryId, TenantId
from shared.ports import DebtClaim, Payable, Point
from shared.text.lexical import document_vector
from workers.tools import Tools


def index(claims: Sequence[DebtClaim], *, tools: Tools) -> bool:
    """True when some must be embedded first. Raises IndexUnavailable; what was sent then is sent again."""
    moved = False
    for tenant_id, group in groupby(sorted(claims, key=_by_tenant), key=lambda claim: claim.tenant_id):
        moved |= _pay(list(group), tenant_id=tenant_id, tools=tools)
    return moved


def _by_tenant(claim: DebtClaim) -> tuple[int, int]:
    return claim.tenant_id.int, claim.memory_id.int


def _pay(claims: Sequence[DebtClaim], *, tenant_id: TenantId, tools: Tools) -> bool:
    with tools.begin(tenant_id) as work:
        found = work.debts.payable([claim.memory_id for claim in claims], embedder=tools.embedder.name)
    payable = {item.memory.memory_id: item for item in found}
    without_vector = [c for c in claims if c.memory_id in payable and payable[c.memory_id].vector is None]
    ready = [claim for claim in claims if claim not in without_vector]
    _send(ready, payable=payable, tenant_id=tenant_id, tools=tools)
    with tools.begin(tenant_id) as work:
        work.debts.settle(ready)
        work.debts.move(without_vector, step="embed")
    return bool(without_vector)


def _send(
    claims: Sequence[DebtClaim],
    *,
    payable: dict[MemoryId, Payable],
    tenant_id: TenantId,
    tools: Tools,
) -> None:
    points = [_point(claim, item=payable[claim.memory_id]) for claim in claims if claim.memory_id in payable]
    dead = {claim.memory_id for claim in claims} - payable.keys()
    vectors = tools.open_index(tenant_id)
    if points:
        vectors.upsert(points)
        # What died between reading the row and writing the point would come back to life here.
        with tools.begin(tenant_id) as work:
            dead |= {point.memory_id for point in points} - work.debts.alive(
                [point.memory_id for point in points]
            )
    if dead:
        vectors.delete(sorted(dead))


def _point(claim: DebtClaim, *, item: Payable) -> Point:
    if item.vector is None:
        raise ValueError("a point needs a vector")
    memory = item.memory
    return Point(
        memory_id=memory.memory_id,
        user_key=claim.user_key,
        version=claim.version,
        kind=memory.kind,
        dense=item.vector,
        # With its neighbors and its day an episode is found by words that stand beside it.
        lexical=document_vector(
            f"{memory.valid_from.date().isoformat()}\n{memory.text}", beside=item.neighbors
        ),
    )
