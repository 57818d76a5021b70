from __future__ import annotations

from collections.abc import Sequence

from shared.codec import entries_from_json, entries_to_json
from shared.domain.ids import BatchId, SessionKey
from shared.domain.session import CondensedEntry
from shared.stores.postgres.engine import Repository, dumps

ADD = """
insert into condensed_entries (tenant_id, session_key, first, last, batch_id, entry)
values (turnkeep_tenant(), :session_key, :first, :last, :batch_id, cast(:entry as jsonb))
on conflict (tenant_id, session_key, first) do update
    set last = excluded.last, batch_id = excluded.batch_id, entry = excluded.entry
"""
NEWEST = """
select entry from condensed_entries where session_key = :session_key and last < :before
order by first desc limit :limit
"""


class Condensed(Repository):
    def add(self, entries: Sequence[CondensedEntry], *, session_key: SessionKey, batch_id: BatchId) -> None:
        rows = [
            {
                "session_key": session_key,
                "batch_id": batch_id,
                "first": entry.first,
                "last": entry.last,
                "entry": dumps(entries_to_json([entry])[0]),
            }
            for entry in entries
        ]
        if rows:
            self.run(ADD, rows)

    def newest(self, session_key: SessionKey, *, before: int, limit: int) -> list[CondensedEntry]:
        rows = self.rows(NEWEST, {"session_key": session_key, "before": before, "limit": limit})
        return entries_from_json([row.entry for row in reversed(rows)])
