"""Memories as they are read: under today's epochs only, text from the row or, for an episode, its turn."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import Row

from shared.domain.ids import MemoryId, SessionKey, TurnId, UserKey
from shared.domain.memory import Entity, Memory, Slot
from shared.ports import MemoryFilter, OwedMemory, PageEnd
from shared.stores.postgres.engine import Repository, page_params
from shared.text.vectors import vector_from_bytes

# Every read goes through here. What an erasure touched is out from its commit on, because rows carry the
# epochs of their user and of every session they came from; blanking and purging come later.
READ = """
select m.memory_id, m.kind, m.category, coalesce(m.text, src.content) as text, m.language, m.trust, m.state,
       m.tier, m.importance, m.version, m.text_version, m.valid_from, m.valid_to, m.created_at, m.updated_at,
       m.merged_into, m.superseded_by, m.pinned, m.wrong, m.slot_subject, m.slot_attribute, m.slot_value,
       m.entities, m.metadata, m.access_count, m.valid_seq, m.user_key,
       src.turn_ids, src.session_key, src.session_id, src.sequence, src.role{columns}
from memories m
join users u on u.tenant_id = m.tenant_id and u.user_key = m.user_key and u.epoch = m.user_epoch
left join lateral (
    select array_agg(o.turn_id order by o.sequence) as turn_ids, min(o.sequence) as sequence,
           (array_agg(o.session_key order by o.sequence))[1] as session_key,
           (array_agg(s.session_id order by o.sequence))[1] as session_id,
           (array_agg(t.role order by o.sequence))[1] as role,
           (array_agg(t.content order by o.sequence))[1] as content,
           bool_or(s.epoch <> o.session_epoch or coalesce(t.state = 'erased', false)) as gone
    from memory_sources o
    join sessions s on s.tenant_id = o.tenant_id and s.session_key = o.session_key
    left join turns t on t.tenant_id = o.tenant_id and t.session_key = o.session_key
        and t.sequence = o.sequence and t.accepted_at = o.accepted_at
    where o.tenant_id = m.tenant_id and o.memory_id = m.memory_id) src on true
{joins}
where not coalesce(src.gone, false) and coalesce(m.text, src.content) is not null
"""
PLAIN = READ.format(columns="", joins="")
FILTER = """
  and m.state = any(:states) and not m.wrong
  and (cast(:category as text) is null or m.category = :category)
  and (cast(:kind as text) is null or m.kind = :kind)
  and (cast(:session_id as text) is null or src.session_id = :session_id)
  and (cast(:start as timestamptz) is null or m.valid_from >= :start)
  and (cast(:end as timestamptz) is null or m.valid_from <= :end)
  and (cast(:as_of as timestamptz) is null
       or (m.valid_from <= :as_of and (m.valid_to is null or m.valid_to > :as_of)))
  and (cast(:entity as text) is null or exists (
       select 1 from memory_entities e where e.tenant_id = m.tenant_id and e.memory_id = m.memory_id
         and (e.value = :entity or lower(e.value) = lower(:entity))))
"""
FIND = PLAIN + " and m.memory_id = :memory_id and m.state <> 'deleted'"
HYDRATE = PLAIN + " and m.memory_id = any(:ids)" + FILTER
OF_USER = (
    PLAIN
    + " and m.user_key = :user_key"
    + FILTER
    + """
  and (cast(:at as timestamptz) is null or (m.created_at, m.memory_id) < (:at, :key))
order by m.created_at desc, m.memory_id desc limit :limit
"""
)
PROFILE = (
    PLAIN
    + """
  and m.memory_id = any(array(select memory_id from slots where user_key = :user_key))
  and m.state = 'live' and not m.wrong and m.kind <> 'summary'
order by m.slot_subject, m.slot_attribute
"""
)
OPEN_ISSUES = (
    PLAIN
    + """
  and m.memory_id = any(array(select memory_id from memory_sources where session_key = :session_key))
  and m.kind = 'issue' and m.state = 'live' and not m.wrong and m.valid_to is null
order by m.valid_from desc, m.memory_id limit :limit
"""
)
OWED = READ.format(
    columns=", v.vector",
    joins="""
join index_debts d on d.tenant_id = m.tenant_id and d.memory_id = m.memory_id and d.embedder = :embedder
left join memory_vectors v on v.tenant_id = m.tenant_id and v.memory_id = m.memory_id
    and v.embedder = :embedder and v.text_version = m.text_version
""",
) + (
    " and m.user_key = :user_key and d.op = 'upsert' and m.state = 'live' and not m.wrong"
    " order by d.due_at desc, m.memory_id limit :limit"
)
STATEMENTS = READ.format(
    columns=", v.vector",
    joins="""
join memory_vectors v on v.tenant_id = m.tenant_id and v.memory_id = m.memory_id
    and v.embedder = :embedder and v.text_version = m.text_version
""",
) + (
    " and m.user_key = :user_key and m.kind <> 'episode' and m.state = 'live' and not m.wrong"
    " order by m.updated_at desc, m.memory_id limit :limit"
)
BY_SLOT = PLAIN + (
    " and m.user_key = :user_key and m.state = 'live' and not m.wrong"
    " and m.slot_subject = :subject and m.slot_attribute = :attribute order by m.memory_id"
)
# Without the index: how many of the query's words a text holds, newest first among equals.
SEARCH_TEXT = (
    PLAIN
    + """
  and m.user_key = :user_key and m.state = 'live' and not m.wrong
  and coalesce(m.text, src.content) ilike any(:patterns)
order by (select count(*) from unnest(cast(:patterns as text[])) p
          where coalesce(m.text, src.content) ilike p) desc, m.valid_from desc, m.memory_id
limit :limit
"""
)


class MemoryReads(Repository):
    def find(self, memory_id: UUID) -> Memory | None:
        row = self.row(FIND, {"memory_id": memory_id})
        return memory_of(row) if row else None

    def owner(self, memory_id: UUID) -> UserKey | None:
        row = self.row("select user_key from memories where memory_id = :memory_id", {"memory_id": memory_id})
        return UserKey(row.user_key) if row else None

    def hydrate(self, memory_ids: Sequence[MemoryId], *, only: MemoryFilter) -> list[Memory]:
        if not memory_ids:
            return []
        rows = self.rows(HYDRATE, _filter(only) | {"ids": list(memory_ids)})
        return [memory_of(row) for row in rows]

    def page(
        self, user_key: UserKey, *, only: MemoryFilter, after: PageEnd | None, limit: int
    ) -> list[Memory]:
        """Newest first, those after `after`."""
        params = _filter(only) | page_params(after) | {"user_key": user_key, "limit": limit}
        rows = self.rows(OF_USER, params)
        return [memory_of(row) for row in rows]

    def profile(self, user_key: UserKey) -> list[Memory]:
        return [memory_of(row) for row in self.rows(PROFILE, {"user_key": user_key})]

    def open_issues(self, session_key: SessionKey, *, limit: int) -> list[Memory]:
        rows = self.rows(OPEN_ISSUES, {"session_key": session_key, "limit": limit})
        return [memory_of(row) for row in rows]

    def owed(self, user_key: UserKey, *, embedder: str, limit: int) -> list[OwedMemory]:
        rows = self.rows(OWED, {"user_key": user_key, "embedder": embedder, "limit": limit})
        return [_with_vector(row) for row in rows]

    def statements(self, user_key: UserKey, *, embedder: str, limit: int) -> list[OwedMemory]:
        """The user's live statements that have a vector, the last changed `limit` of them."""
        rows = self.rows(STATEMENTS, {"user_key": user_key, "embedder": embedder, "limit": limit})
        return [_with_vector(row) for row in rows]

    def by_slot(self, user_key: UserKey, *, subject: str, attribute: str) -> list[Memory]:
        params = {"user_key": user_key, "subject": subject, "attribute": attribute}
        return [memory_of(row) for row in self.rows(BY_SLOT, params)]

    def search_text(self, user_key: UserKey, *, words: Sequence[str], limit: int) -> list[Memory]:
        if not words:
            return []
        patterns = [f"%{_literal(word)}%" for word in words]
        rows = self.rows(SEARCH_TEXT, {"user_key": user_key, "patterns": patterns, "limit": limit})
        return [memory_of(row) for row in rows]


def _literal(word: str) -> str:
    return word.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


def _filter(only: MemoryFilter) -> dict[str, object]:
    return {
        "states": list(only.states),
        "category": only.category,
        "kind": only.kind,
        "session_id": only.session_id,
        "start": only.start,
        "end": only.end,
        "as_of": only.as_of,
        "entity": only.entity,
    }


def _with_vector(row: Row[tuple[object, ...]]) -> OwedMemory:
    vector = vector_from_bytes(bytes(row.vector)) if row.vector else None
    return OwedMemory(memory=memory_of(row), vector=vector)


def memory_of(row: Row[tuple[object, ...]]) -> Memory:
    return Memory(
        memory_id=MemoryId(row.memory_id),
        kind=row.kind,
        category=row.category,
        text=row.text or "",
        language=row.language,
        trust=row.trust,
        state=row.state,
        tier=row.tier,
        importance=row.importance,
        version=row.version,
        valid_from=row.valid_from,
        created_at=row.created_at,
        updated_at=row.updated_at,
        valid_to=row.valid_to,
        merged_into=MemoryId(row.merged_into) if row.merged_into else None,
        superseded_by=MemoryId(row.superseded_by) if row.superseded_by else None,
        pinned=row.pinned,
        wrong=row.wrong,
        slot=_slot(row),
        entities=tuple(Entity(**entity) for entity in row.entities),
        turn_ids=tuple(TurnId(turn) for turn in row.turn_ids or ()),
        session_key=SessionKey(row.session_key) if row.session_key else None,
        session_id=row.session_id,
        sequence=row.sequence,
        valid_seq=row.valid_seq,
        role=row.role,
        access_count=row.access_count,
        metadata=row.metadata,
    )


def _slot(row: Row[tuple[object, ...]]) -> Slot | None:
    if row.slot_attribute is None:
        return None
    return Slot(subject=row.slot_subject, attribute=row.slot_attribute, value=row.slot_value)
