from __future__ import annotations

from shared.ports import TenantStats
from shared.stores.postgres.engine import Repository

# `accepted` comes from the heads and the states from the turns themselves, so that a lost turn would show.
TURNS = """
select (select coalesce(sum(next_seq - 1), 0) from session_heads) as accepted,
       count(*) filter (where not erased and state = 'done') as done,
       count(*) filter (where not erased and state = 'dead') as dead,
       count(*) filter (where not erased and state = 'pending') as pending,
       count(*) filter (where erased) as erased,
       extract(epoch from clock_timestamp() - min(accepted_at) filter (
           where not erased and state = 'pending')) as oldest
from (
    select t.state, t.accepted_at,
           t.state = 'erased' or s.epoch <> 0 or s.user_epoch <> u.epoch as erased
    from turns t
    join sessions s on s.tenant_id = t.tenant_id and s.session_key = t.session_key
    join users u on u.tenant_id = s.tenant_id and u.user_key = s.user_key) as turn
"""
MEMORIES = """
select m.tier, count(*) as memories from memories m
join users u on u.tenant_id = m.tenant_id and u.user_key = m.user_key and u.epoch = m.user_epoch
where m.state = 'live' and not exists (
    select 1 from memory_sources o
    join sessions s on s.tenant_id = o.tenant_id and s.session_key = o.session_key
    where o.tenant_id = m.tenant_id and o.memory_id = m.memory_id and s.epoch <> o.session_epoch)
group by m.tier
"""
ARCHIVED = "select count(*) as memories from archive"
OWED = "select count(*) as debts from index_debts"


class Stats(Repository):
    def read(self) -> TenantStats:
        turns = self.row(TURNS)
        tiers = {row.tier: row.memories for row in self.rows(MEMORIES)}
        archived = self.row(ARCHIVED)
        owed = self.row(OWED)
        if turns is None or archived is None or owed is None:
            raise LookupError("an aggregate gave no row")
        return TenantStats(
            accepted=int(turns.accepted),
            done=turns.done,
            dead=turns.dead,
            pending=turns.pending,
            erased=turns.erased,
            hot=tiers.get("hot", 0),
            warm=tiers.get("warm", 0),
            cold=archived.memories,
            oldest_pending_seconds=float(turns.oldest or 0),
            index_owed=owed.debts,
        )
