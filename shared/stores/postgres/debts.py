"""What a worker reads to pay an index debt, and how it is settled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from shared.domain.ids import MemoryId, SessionKey
from shared.ports import DebtClaim, DebtState, Payable
from shared.stores.postgres.engine import Repository
from shared.stores.postgres.memories import PLAIN, READ, memory_of
from shared.text.vectors import vector_from_bytes

LIVE = PLAIN + " and m.memory_id = any(:ids) and m.state = 'live' and not m.wrong"
PAYABLE = READ.format(
    columns=", v.vector, before.content as content_before, after.content as content_after",
    joins="""
left join memory_vectors v on v.tenant_id = m.tenant_id and v.memory_id = m.memory_id
    and v.embedder = :embedder and v.text_version = m.text_version
left join turns before on m.kind = 'episode' and before.tenant_id = m.tenant_id
    and before.session_key = src.session_key and before.sequence = src.sequence - 1
    and before.state <> 'erased'
left join turns after on m.kind = 'episode' and after.tenant_id = m.tenant_id
    and after.session_key = src.session_key and after.sequence = src.sequence + 1
    and after.state <> 'erased'
""",
) + (" and m.memory_id = any(:ids) and m.state = 'live' and not m.wrong")
# A debt goes only where its version is the one paid: what was owed meanwhile stays owed.
SETTLE = """
with paid as (
    delete from index_debts
    where memory_id = :memory_id and embedder = :embedder and fence = :fence and version = :version
    returning tenant_id, memory_id, embedder, version)
update memory_vectors v set indexed_version = p.version
from paid p where v.tenant_id = p.tenant_id and v.memory_id = p.memory_id and v.embedder = p.embedder
"""
WARM = """
update memories m set tier = 'warm'
where memory_id = any(:ids) and state = 'live' and tier = 'hot' and slot_attribute is null
  and not exists (
    select 1 from index_debts d where d.tenant_id = m.tenant_id and d.memory_id = m.memory_id)
"""
MOVE = """
update index_debts set step = :step, lease_until = null, due_at = clock_timestamp()
where memory_id = :memory_id and embedder = :embedder and fence = :fence
"""
OF_TURN = """
select coalesce(d.lease_until > clock_timestamp(), false) as running, d.failures, d.error, d.due_at
from index_debts d
join memory_sources o on o.tenant_id = d.tenant_id and o.memory_id = d.memory_id
where o.session_key = :session_key and o.sequence = :sequence
"""


class Debts(Repository):
    def payable(self, memory_ids: Sequence[MemoryId], *, embedder: str) -> list[Payable]:
        """The live ones among them; what died since is for deletion."""
        rows = self.rows(PAYABLE, {"ids": list(memory_ids), "embedder": embedder})
        return [
            Payable(
                memory=memory_of(row),
                text_version=row.text_version,
                vector=vector_from_bytes(bytes(row.vector)) if row.vector else None,
                neighbors=tuple(text for text in (row.content_before, row.content_after) if text),
            )
            for row in rows
        ]

    def alive(self, memory_ids: Sequence[MemoryId]) -> set[MemoryId]:
        return {MemoryId(row.memory_id) for row in self.rows(LIVE, {"ids": list(memory_ids)})}

    def settle(self, claims: Sequence[DebtClaim]) -> None:
        """In one order for everybody, so that two workers never wait for each other's rows."""
        rows = [_params(claim) for claim in sorted(claims, key=lambda claim: claim.memory_id)]
        if not rows:
            return
        self.run(SETTLE, rows)
        self.run(WARM, {"ids": [row["memory_id"] for row in rows]})

    def move(self, claims: Sequence[DebtClaim], *, step: Literal["embed", "index"]) -> None:
        """Hand debts over to the other kind of worker."""
        if claims:
            self.run(MOVE, [_params(claim) | {"step": step} for claim in claims])

    def of_turn(self, session_key: SessionKey, *, sequence: int) -> list[DebtState]:
        rows = self.rows(OF_TURN, {"session_key": session_key, "sequence": sequence})
        return [DebtState(**row._mapping) for row in rows]


def _params(claim: DebtClaim) -> dict[str, object]:
    return {
        "memory_id": claim.memory_id,
        "embedder": claim.embedder,
        "fence": claim.fence,
        "version": claim.version,
    }
