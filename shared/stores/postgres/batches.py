"""Batches: opened when due, recorded step by step, closed with the effect or without."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast
from uuid import UUID, uuid4

from sqlalchemy import Row

from shared.domain.errors import ClaimLost
from shared.domain.ids import BatchId, MemoryId, SessionKey, UserKey
from shared.domain.session import Batch, BatchKind, Claim, StepName
from shared.domain.turn import Lane
from shared.ports import BatchEnd, BatchReport, Stage
from shared.stores.postgres.engine import Repository, dumps

OUTPUT_VERSION = 1
# Bulk work counts as interactive once it has waited this long, so that a flood of turns never starves it.
BULK_PATIENCE = "interval '60 seconds'"

HAS_OPEN = """
select 1 from batches where session_key = :session_key and kind = :kind and state = 'open'
"""
ADD = """
insert into batches (tenant_id, batch_id, kind, user_key, session_key, first, last, user_epoch, session_epoch,
    generation, lane)
values (turnkeep_tenant(), :batch_id, :kind, :user_key, :session_key, :first, :last, :user_epoch,
    :session_epoch, :generation, :lane)
"""
ADD_WORK = f"""
insert into work (tenant_id, batch_id, step, user_key, needs, lane, state, due_at, rank_at)
values (turnkeep_tenant(), :batch_id, :step, :user_key, :needs, :lane,
    case when cardinality(cast(:needs as text[])) = 0 then 'due' else 'waiting' end, clock_timestamp(),
    clock_timestamp() + case when :lane = 'bulk' then {BULK_PATIENCE} else interval '0' end)
"""
BATCH = """
select batch_id, kind, user_key, session_key, first, last, user_epoch, session_epoch, generation, lane
from batches where batch_id = :batch_id
"""
# Both epochs are read with the batch locked: an erasure cancels it under the same lock.
LOCK_FOR_RECORD = """
select b.state, b.user_epoch = u.epoch and coalesce(s.epoch, b.session_epoch) = b.session_epoch as current
from batches b
join users u on u.tenant_id = b.tenant_id and u.user_key = b.user_key
left join sessions s on s.tenant_id = b.tenant_id and s.session_key = b.session_key
where b.batch_id = :batch_id
for update of b
"""
HOLD = """
select 1 from work where batch_id = :batch_id and step = :step and state = 'running' and fence = :fence
for update
"""
KEEP_FIRST = """
insert into step_outputs (tenant_id, batch_id, step, output, output_version)
values (turnkeep_tenant(), :batch_id, :step, cast(:output as jsonb), :version)
on conflict (tenant_id, batch_id, step) do nothing
"""
DONE = """
update work set state = 'done', lease_until = null, error = null, finished_at = clock_timestamp()
where batch_id = :batch_id and step = :step
"""
MAKE_DUE = f"""
update work w set state = 'due', due_at = clock_timestamp(),
    rank_at = clock_timestamp() + case when w.lane = 'bulk' then {BULK_PATIENCE} else interval '0' end
where w.batch_id = :batch_id and w.state = 'waiting' and not exists (
    select 1 from unnest(w.needs) as need
    join work d on d.tenant_id = w.tenant_id and d.batch_id = w.batch_id and d.step = need
    where d.state <> 'done')
returning w.step
"""
OUTPUTS = "select step, output, output_version from step_outputs where batch_id = :batch_id"
CLOSE = """
update batches set state = :state, closed_at = clock_timestamp(), report = report || cast(:report as jsonb)
where batch_id = :batch_id and state = 'open'
"""
BLANK = "delete from step_outputs where batch_id = :batch_id"
CANCEL_WORK = """
update work set state = 'cancelled', lease_until = null
where batch_id = :batch_id and state in ('waiting', 'due', 'running')
"""
STAGES = """
select w.step, w.state, w.error, w.crashes, w.failures, w.due_at, b.state as batch_state
from batches b join work w on w.tenant_id = b.tenant_id and w.batch_id = b.batch_id
where b.batch_id = (
    select batch_id from batches where session_key = :session_key and first <= :sequence and last >= :sequence
    order by opened_at desc limit 1)
"""
DIRECT_OF = """
select b.batch_id from batches b
join step_outputs o on o.tenant_id = b.tenant_id and o.batch_id = b.batch_id and o.step = 'extract'
where b.user_key = :user_key and b.kind = 'direct' and b.state = 'open'
  and cast(o.output ->> 'memory_id' as uuid) = :memory_id
for update of b
"""
OF_SESSION = """
select batch_id, kind, first, last, state, report, opened_at, closed_at from batches
where session_key = :session_key order by opened_at desc limit :limit
"""


class Batches(Repository):
    def has_open(self, session_key: SessionKey, *, kind: BatchKind) -> bool:
        return self.row(HAS_OPEN, {"session_key": session_key, "kind": kind}) is not None

    def open(self, batch: Batch, *, steps: Mapping[StepName, Sequence[StepName]]) -> None:
        """`steps` names each step with those it needs done first."""
        self.run(ADD, _batch_params(batch))
        self.run(
            ADD_WORK,
            [
                {
                    "batch_id": batch.batch_id,
                    "step": step,
                    "user_key": batch.user_key,
                    "needs": list(needs),
                    "lane": batch.lane,
                }
                for step, needs in steps.items()
            ],
        )

    def find(self, batch_id: BatchId) -> Batch:
        row = self.row(BATCH, {"batch_id": batch_id})
        if row is None:
            raise ClaimLost("the batch is gone")
        return batch_of(row)

    def hold(self, claim: Claim) -> None:
        """Lock the batch and prove that the claim still stands: open batch, pinned epochs, own fence.

        Raises ClaimLost otherwise; nothing may be written then.
        """
        row = self.row(LOCK_FOR_RECORD, {"batch_id": claim.batch_id})
        if row is None or row.state != "open" or not row.current:
            raise ClaimLost("the batch was closed or erased")
        if self.row(HOLD, _claim_params(claim)) is None:
            raise ClaimLost("another worker took the step over")

    def record(self, claim: Claim, *, output: Mapping[str, object]) -> list[StepName]:
        """Keep the first output of the step and make due what waited for it; returns those steps."""
        self.hold(claim)
        self.run(KEEP_FIRST, _claim_params(claim) | {"output": dumps(output), "version": OUTPUT_VERSION})
        return self.finish(claim)

    def put_output(self, batch_id: BatchId, *, step: StepName, output: Mapping[str, object]) -> None:
        self.run(
            KEEP_FIRST,
            {"batch_id": batch_id, "step": step, "output": dumps(output), "version": OUTPUT_VERSION},
        )

    def finish(self, claim: Claim) -> list[StepName]:
        self.run(DONE, _claim_params(claim))
        return [cast("StepName", row.step) for row in self.rows(MAKE_DUE, {"batch_id": claim.batch_id})]

    def outputs(self, batch_id: BatchId) -> dict[str, dict[str, object]]:
        return {row.step: row.output for row in self.rows(OUTPUTS, {"batch_id": batch_id})}

    def close(self, batch_id: BatchId, *, state: BatchEnd, report: Mapping[str, object]) -> bool:
        """False when it was closed before. Outputs are blanked: what they held now lives in memories."""
        closed = self.run(CLOSE, {"batch_id": batch_id, "state": state, "report": dumps(report)}) == 1
        self.run(BLANK, {"batch_id": batch_id})
        self.run(CANCEL_WORK, {"batch_id": batch_id})
        return closed

    def cancel_direct(self, memory_id: MemoryId, *, user_key: UserKey) -> None:
        """The batch that was to merge a memory added directly, if it is still open."""
        for row in self.rows(DIRECT_OF, {"memory_id": memory_id, "user_key": user_key}):
            self.close(BatchId(row.batch_id), state="cancelled", report={})

    def stages(self, session_key: SessionKey, *, sequence: int) -> list[Stage]:
        rows = self.rows(STAGES, {"session_key": session_key, "sequence": sequence})
        return [Stage(**row._mapping) for row in rows]

    def of_session(self, session_key: SessionKey, *, limit: int) -> list[BatchReport]:
        rows = self.rows(OF_SESSION, {"session_key": session_key, "limit": limit})
        return [BatchReport(**row._mapping) for row in rows]


def new_batch_id() -> BatchId:
    return BatchId(uuid4())


def _batch_params(batch: Batch) -> dict[str, object]:
    return {
        "batch_id": batch.batch_id,
        "kind": batch.kind,
        "user_key": batch.user_key,
        "session_key": batch.session_key,
        "first": batch.first,
        "last": batch.last,
        "user_epoch": batch.user_epoch,
        "session_epoch": batch.session_epoch,
        "generation": batch.generation,
        "lane": batch.lane,
    }


def _claim_params(claim: Claim) -> dict[str, object]:
    return {"batch_id": claim.batch_id, "step": claim.step, "fence": claim.fence}


def batch_of(row: Row[tuple[object, ...]]) -> Batch:
    session_key: UUID | None = row.session_key
    lane: Lane = row.lane
    return Batch(
        batch_id=BatchId(row.batch_id),
        kind=row.kind,
        user_key=UserKey(row.user_key),
        session_key=SessionKey(session_key) if session_key else None,
        first=row.first,
        last=row.last,
        user_epoch=row.user_epoch,
        session_epoch=row.session_epoch,
        generation=row.generation,
        lane=lane,
    )
