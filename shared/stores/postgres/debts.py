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
# Locked in one order for everybody, so that two workers never wait for each other's rows.
STILL_OURS = """
select d.memory_id, d.embedder from index_debts d
join unnest(cast(:ids as uuid[]), cast(:embedders as text[]), cast(:fences as bigint[]))
    as c(memory_id, embedder, fence)
    on d.memory_id = c.memory_id and d.embedder = c.embedder and d.fence = c.fence
order by d.memory_id, d.embedder for update of d
"""
# A debt goes only where its version is the one paid: what was owed meanwhile stays owed.
SETTLE = """
with paid as (
    delete from index_debts
    where memory_id = :memory_id and embedder = :embedder and fence = :fence and version = :version
    returning tenant_id, memory_id, embedder, version)
update memory_vectors v set indexed_version = p.version
from paid p where v.tenant_id = p.tenant_id and v.memory_id = p.memory_id and v.embedder = p.embedder
"""
# Whoever comes late may have written an older point over a newer one, or deleted one that lives again. The
# memory is owed once more; a payer who is at it now finds its fence passed and owes it again in turn.
OWE_AGAIN = """
insert into index_debts (tenant_id, memory_id, embedder, user_key, op, step, version, lane)
select m.tenant_id, m.memory_id, :embedder, m.user_key,
       case when m.state = 'live' and not m.wrong then 'upsert' else 'delete' end, 'index', m.version,
       'interactive'
from memories m where m.memory_id = :memory_id
on conflict (tenant_id, memory_id, embedder) do update
    set fence = index_debts.fence + 1, lease_until = null, due_at = clock_timestamp()
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
        """Strike off what was paid; what another worker took over meanwhile is owed once more."""
        if not claims:
            return
        held = self._still_ours(claims)
        ours = [claim for claim in claims if (claim.memory_id, claim.embedder) in held]
        late = [claim for claim in claims if (claim.memory_id, claim.embedder) not in held]
        if ours:
            self.run(SETTLE, [_params(claim) for claim in ours])
            self.run(WARM, {"ids": [claim.memory_id for claim in ours]})
        if late:
            self.run(OWE_AGAIN, [_params(claim) for claim in sorted(late, key=_by_memory)])

    def _still_ours(self, claims: Sequence[DebtClaim]) -> set[tuple[MemoryId, str]]:
        rows = self.rows(
            STILL_OURS,
            {
                "ids": [claim.memory_id for claim in claims],
                "embedders": [claim.embedder for claim in claims],
                "fences": [claim.fence for claim in claims],
            },
        )
        return {(MemoryId(row.memory_id), row.embedder) for row in rows}

    def move(self, claims: Sequence[DebtClaim], *, step: Literal["embed", "index"]) -> None:
        """Hand debts over to the other kind of worker."""
        if claims:
            self.run(MOVE, [_params(claim) | {"step": step} for claim in claims])

    def of_turn(self, session_key: SessionKey, *, sequence: int) -> list[DebtState]:
        rows = self.rows(OF_TURN, {"session_key": session_key, "sequence": sequence})
        return [DebtState(**row._mapping) for row in rows]


def _by_memory(claim: DebtClaim) -> tuple[MemoryId, str]:
    return claim.memory_id, claim.embedder


def _params(claim: DebtClaim) -> dict[str, object]:
    return {
        "memory_id": claim.memory_id,
        "embedder": claim.embedder,
        "fence": claim.fence,
        "version": claim.version,
    }
