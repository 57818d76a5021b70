"""What merges, edits, deletes and direct adds write, all under the user's lock with its version raised."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Literal
from uuid import UUID, uuid4

from shared.domain.ids import BatchId, MemoryId, UserKey
from shared.domain.memory import Slot
from shared.ports import HistoryRow, NewMemory, UserRow, Vector, Writing
from shared.stores.postgres.engine import dumps
from shared.stores.postgres.memories import MemoryReads
from shared.text.vectors import vector_bytes

DebtOp = Literal["upsert", "delete"]
DebtStep = Literal["embed", "index"]

ADD = """
insert into memories (tenant_id, memory_id, user_key, user_epoch, kind, category, text, language, trust,
    state, importance, slot_subject, slot_attribute, slot_value, entities, metadata, valid_from, valid_to,
    valid_seq, merged_into, superseded_by, client_id, body_hmac)
values (turnkeep_tenant(), :memory_id, :user_key, :user_epoch, :kind, :category, :text, :language, :trust,
    :state, :importance, :subject, :attribute, :value, cast(:entities as jsonb), cast(:metadata as jsonb),
    :valid_from, :valid_to, :valid_seq, :merged_into, :superseded_by, :client_id, :body_hmac)
"""
ADD_SOURCE = """
insert into memory_sources (tenant_id, memory_id, session_key, session_epoch, sequence, accepted_at, turn_id)
values (turnkeep_tenant(), :memory_id, :session_key, :session_epoch, :sequence, :accepted_at, :turn_id)
on conflict do nothing
"""
ADD_ENTITY = """
insert into entities (tenant_id, user_key, kind, value, text, first_seen, last_seen)
values (turnkeep_tenant(), :user_key, :kind, :value, :text, :at, :at)
on conflict (tenant_id, user_key, kind, value) do update
    set last_seen = greatest(entities.last_seen, excluded.last_seen)
"""
LINK_ENTITY = """
insert into memory_entities (tenant_id, memory_id, user_key, kind, value)
values (turnkeep_tenant(), :memory_id, :user_key, :kind, :value) on conflict do nothing
"""
ADD_VECTOR = """
insert into memory_vectors (tenant_id, memory_id, embedder, text_version, vector)
values (turnkeep_tenant(), :memory_id, :embedder, :text_version, :vector)
on conflict (tenant_id, memory_id, embedder) do update
    set text_version = excluded.text_version, vector = excluded.vector
"""
OWE = """
insert into index_debts (tenant_id, memory_id, embedder, user_key, op, step, version, lane)
values (turnkeep_tenant(), :memory_id, :embedder, :user_key, :op, :step, :version, :lane)
on conflict (tenant_id, memory_id, embedder) do update
    set op = excluded.op, step = excluded.step, version = excluded.version, due_at = clock_timestamp(),
        lease_until = null, fence = index_debts.fence + 1
"""
LEARN = """
update memories set slot_subject = :subject, slot_attribute = :attribute, slot_value = :value,
    entities = cast(:entities as jsonb)
where memory_id = :memory_id
"""
REMEMBER = """
insert into memory_history (tenant_id, change_id, memory_id, version, actor, change, before)
select tenant_id, :change_id, memory_id, version, :actor, :change,
       to_jsonb(m) - 'tenant_id' - 'user_key' - 'memory_id' - 'body_hmac'
from memories m where memory_id = :memory_id
"""
CHANGE = """
update memories set version = version + 1, updated_at = clock_timestamp(),
    text_version = text_version + case when :text_changed then 1 else 0 end,
    text = case when :text_changed then :text else text end,
    slot_subject = case when :text_changed then null else slot_subject end,
    slot_attribute = case when :text_changed then null else slot_attribute end,
    slot_value = case when :text_changed then null else slot_value end,
    entities = case when :text_changed then '[]' else entities end,
    state = coalesce(:state, state), category = coalesce(:category, category),
    importance = coalesce(:importance, importance), pinned = coalesce(:pinned, pinned),
    wrong = coalesce(:wrong, wrong), edited = edited or :edited,
    valid_to = case when :valid_to_changed then :valid_to else valid_to end,
    superseded_by = coalesce(:superseded_by, superseded_by), merged_into = coalesce(:merged_into, merged_into)
where memory_id = :memory_id
returning version
"""
UNCHANGED: dict[str, object] = dict.fromkeys(
    ("text", "state", "category", "importance", "pinned", "wrong", "valid_to", "superseded_by", "merged_into")
) | {"edited": False}
HOLD_SLOT = """
insert into slots (tenant_id, user_key, subject, attribute, memory_id)
values (turnkeep_tenant(), :user_key, :subject, :attribute, :memory_id)
on conflict (tenant_id, user_key, subject, attribute) do update set memory_id = excluded.memory_id
"""
UNLINK_ENTITIES = "delete from memory_entities where memory_id = :memory_id"
FREE_SLOT = "delete from slots where memory_id = :memory_id"
HISTORY = """
select change_id, version, actor, change, before, at from memory_history
where memory_id = :memory_id order by at desc, change_id limit :limit
"""
FORGET = """
update memories set state = 'deleted', text = '', metadata = '{}', entities = '[]', slot_value = null,
       client_id = null, body_hmac = null,
       valid_to = coalesce(valid_to, clock_timestamp()), version = version + 1,
       updated_at = clock_timestamp()
where memory_id = :memory_id returning version
"""
FORGET_PARTS = (
    "delete from memory_history where memory_id = :memory_id",
    "delete from memory_entities where memory_id = :memory_id",
    "delete from memory_vectors where memory_id = :memory_id",
)
COUNT_ACCESS = """
update memories set access_count = access_count + :times, accessed_at = clock_timestamp()
where memory_id = :memory_id
"""
MARK_DEAD = """
update memories set state = 'dead', version = version + 1 where memory_id = (
    select cast(output ->> 'memory_id' as uuid) from step_outputs
    where batch_id = :batch_id and step = 'extract')
"""
BY_CLIENT_ID = """
select memory_id, body_hmac from memories
where user_key = :user_key and user_epoch = :user_epoch and client_id = :client_id
"""


class Memories(MemoryReads):
    def add(self, memory: NewMemory, *, writing: Writing) -> None:
        """The row and all that hangs on it. A live one is owed to the index from the same commit on."""
        user = writing.user
        identity = {"memory_id": memory.memory_id, "user_key": user.user_key, "user_epoch": user.epoch}
        self.run(ADD, identity | _columns(memory))
        self._hang_on(memory, version=1, writing=writing)

    def _hang_on(self, memory: NewMemory, *, version: int, writing: Writing) -> None:
        user_key = writing.user.user_key
        self.add_sources_of(memory, to=memory.memory_id)
        self._link_entities(memory, user_key=user_key)
        if memory.vector is not None:
            self.put_vector(memory.memory_id, embedder=writing.embedder, text_version=1, vector=memory.vector)
        if memory.state == "live":
            step: DebtStep = "embed" if memory.vector is None else "index"
            self.owe(memory.memory_id, op="upsert", step=step, version=version, writing=writing)
            if memory.slot is not None:
                self.hold_slot(memory.memory_id, slot=memory.slot, user_key=user_key)

    def revise(self, memory: NewMemory, *, version: int, writing: Writing) -> None:
        """Turn a `pending` row (added directly) into what the merge decided."""
        self.run(LEARN, {"memory_id": memory.memory_id} | _columns(memory))
        self._hang_on(memory, version=version, writing=writing)

    def add_sources_of(self, memory: NewMemory, *, to: MemoryId) -> None:
        """What says the same once more is one more source of `to`."""
        if memory.sources:
            self.run(ADD_SOURCE, [asdict(source) | {"memory_id": to} for source in memory.sources])

    def _link_entities(self, memory: NewMemory, *, user_key: UserKey) -> None:
        rows = [
            asdict(entity) | {"memory_id": memory.memory_id, "user_key": user_key, "at": memory.valid_from}
            # In one order for everybody: two merges must not wait for each other's entity rows.
            for entity in sorted(memory.entities, key=lambda entity: (entity.kind, entity.value))
        ]
        if rows:
            self.run(ADD_ENTITY, rows)
            self.run(LINK_ENTITY, rows)

    def put_vector(self, memory_id: MemoryId, *, embedder: str, text_version: int, vector: Vector) -> None:
        params = {"memory_id": memory_id, "embedder": embedder, "text_version": text_version}
        self.run(ADD_VECTOR, params | {"vector": vector_bytes(vector)})

    def owe(self, memory_id: MemoryId, *, op: DebtOp, step: DebtStep, version: int, writing: Writing) -> None:
        """One debt a memory: a newer one takes the older one's place and passes its fence."""
        whose = {
            "user_key": writing.user.user_key,
            "embedder": writing.embedder,
            "lane": writing.lane,
        }
        self.run(OWE, whose | {"memory_id": memory_id, "op": op, "step": step, "version": version})

    def change(self, memory_id: UUID, *, changes: Mapping[str, object], actor: str, change: str) -> int:
        """Write `changes` (column to value) after keeping what stood there; returns the new version."""
        self.run(REMEMBER, {"memory_id": memory_id, "change_id": uuid4(), "actor": actor, "change": change})
        flags = {"text_changed": "text" in changes, "valid_to_changed": "valid_to" in changes}
        row = self.row(CHANGE, UNCHANGED | dict(changes) | flags | {"memory_id": memory_id})
        if "text" in changes:
            # The slot and the entities were read off the text that is gone.
            self.run(FREE_SLOT, {"memory_id": memory_id})
            self.run(UNLINK_ENTITIES, {"memory_id": memory_id})
        if row is None:
            raise LookupError("a memory vanished under its user's lock")
        version: int = row.version
        return version

    def supersede(self, old: MemoryId, *, by: MemoryId, valid_to: datetime, writing: Writing) -> None:
        changes = {"state": "superseded", "superseded_by": by, "valid_to": valid_to}
        version = self.change(old, changes=changes, actor="merge", change="superseded")
        self.leave_index(old, version=version, writing=writing)

    def leave_index(self, memory_id: MemoryId, *, version: int, writing: Writing) -> None:
        self.run(FREE_SLOT, {"memory_id": memory_id})
        self.owe(memory_id, op="delete", step="index", version=version, writing=writing)

    def hold_slot(self, memory_id: MemoryId, *, slot: Slot, user_key: UserKey) -> None:
        place = {"user_key": user_key, "subject": slot.subject, "attribute": slot.attribute}
        self.run(HOLD_SLOT, place | {"memory_id": memory_id})

    def history(self, memory_id: UUID, *, limit: int) -> list[HistoryRow]:
        rows = self.rows(HISTORY, {"memory_id": memory_id, "limit": limit})
        return [HistoryRow(**row._mapping) for row in rows]

    def forget(self, memory_id: MemoryId, *, writing: Writing) -> None:
        """Leave an empty row that is never served, and have the index delete its point."""
        row = self.row(FORGET, {"memory_id": memory_id})
        if row is None:
            raise LookupError("a memory vanished under its user's lock")
        for statement in FORGET_PARTS:
            self.run(statement, {"memory_id": memory_id})
        self.leave_index(memory_id, version=row.version, writing=writing)

    def count_access(self, times: Mapping[MemoryId, int]) -> None:
        """In one order for everybody, so that two gateways never wait for each other's rows."""
        if times:
            rows = [{"memory_id": memory_id, "times": times[memory_id]} for memory_id in sorted(times)]
            self.run(COUNT_ACCESS, rows)

    def mark_dead(self, batch_id: BatchId) -> None:
        """The memory that a parked batch of kind `direct` was to add."""
        self.run(MARK_DEAD, {"batch_id": batch_id})

    def by_client_id(self, client_id: str, *, user: UserRow) -> tuple[MemoryId, bytes] | None:
        params = {"user_key": user.user_key, "user_epoch": user.epoch, "client_id": client_id}
        row = self.row(BY_CLIENT_ID, params)
        return (MemoryId(row.memory_id), bytes(row.body_hmac)) if row else None


def _columns(memory: NewMemory) -> dict[str, object]:
    slot = memory.slot
    return {
        "kind": memory.kind,
        "category": memory.category,
        "text": memory.text,
        "language": memory.language,
        "trust": memory.trust,
        "state": memory.state,
        "importance": memory.importance,
        "subject": slot.subject if slot else None,
        "attribute": slot.attribute if slot else None,
        "value": slot.value if slot else None,
        "entities": dumps([asdict(entity) for entity in memory.entities]),
        "metadata": dumps(memory.metadata),
        "valid_from": memory.valid_from,
        "valid_to": memory.valid_to,
        "valid_seq": memory.valid_seq,
        "merged_into": memory.merged_into,
        "superseded_by": memory.superseded_by,
        "client_id": memory.client_id,
        "body_hmac": memory.body_hmac,
    }
