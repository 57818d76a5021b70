"""Claims over all tenants, with the dispatch role: it sees ids, times and counters, never content."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import cast

from sqlalchemy import Engine, Row
from sqlalchemy.exc import IntegrityError

from shared.domain.ids import BatchId, MemoryId, SessionKey, TenantId, UserKey
from shared.domain.session import Claim, QueueName, StepName
from shared.ports import DebtClaim
from shared.stores.postgres.engine import Params, Repository, statement, transaction

# How often a claim that met another is looked for again; then the sweep rings.
LOOKS = 8
LEASE = "clock_timestamp() + make_interval(secs => :lease)"
RETURN = "returning w.tenant_id, w.batch_id, w.step, w.fence, w.crashes, w.failures, w.error"

# The lateral subquery is evaluated tenant by tenant in the order of service and stops at the limit, so a
# claim reads a few index entries however long the backlog is. A user's merges run one at a time.
CLAIM = f"""
with picked as (
    select w.batch_id, w.tenant_id
    from (select tenant_id from tenant_service where step = :step order by served_at, tenant_id) t
    cross join lateral (
        select w.batch_id, w.tenant_id from work w
        where w.step = :step and w.tenant_id = t.tenant_id and w.state = 'due'
          and w.due_at <= clock_timestamp() and (w.rank_at <= clock_timestamp() or :patient)
          and (w.crashes = 0 or :limit = 1)
          and (w.step <> 'merge' or not exists (
              select 1 from work r where r.tenant_id = w.tenant_id and r.user_key = w.user_key
                and r.step = 'merge' and r.state = 'running'))
        order by w.rank_at limit :limit for update skip locked) w
    limit :limit)
update work w
set state = 'running', fence = w.fence + 1, lease_until = {LEASE}, started_at = clock_timestamp()
from picked p where w.tenant_id = p.tenant_id and w.batch_id = p.batch_id and w.step = :step
{RETURN}
"""
# Nothing is taken over within one lease of the server's start: an outage of Postgres is no crash.
TAKE_OVER = f"""
with picked as (
    select batch_id, tenant_id from work
    where step = :step and state = 'running' and lease_until < clock_timestamp()
      and clock_timestamp() > pg_postmaster_start_time() + make_interval(secs => :lease)
    order by lease_until limit 1 for update skip locked)
update work w set fence = w.fence + 1, crashes = w.crashes + 1, lease_until = {LEASE},
    started_at = clock_timestamp()
from picked p where w.tenant_id = p.tenant_id and w.batch_id = p.batch_id and w.step = :step
{RETURN}
"""
SERVED = """
update tenant_service set served_at = clock_timestamp() where step = :step and tenant_id in (
    select tenant_id from tenant_service where step = :step and tenant_id = any(:tenants)
    for update skip locked)
"""
RENEW = f"""
update work set lease_until = {LEASE}
where tenant_id = :tenant_id and batch_id = :batch_id and step = :step and state = 'running'
  and fence = :fence
"""
RELEASE = """
update work set state = 'due', lease_until = null, error = :error, failures = failures + :failed,
    due_at = clock_timestamp() + make_interval(secs => :delay),
    rank_at = greatest(rank_at, clock_timestamp() + make_interval(secs => :delay))
where tenant_id = :tenant_id and batch_id = :batch_id and step = :step and state = 'running'
  and fence = :fence
"""
GIVE_BACK = """
update work set crashes = crashes - 1
where tenant_id = :tenant_id and batch_id = :batch_id and step = :step and fence > :fence and crashes > 0
"""
CLAIM_DEBTS = f"""
with picked as (
    select tenant_id, memory_id, embedder from index_debts
    where step = :step and due_at <= clock_timestamp()
      and (lease_until is null or lease_until < clock_timestamp())
    order by due_at limit :limit for update skip locked)
update index_debts d set fence = d.fence + 1, lease_until = {LEASE}
from picked p where d.tenant_id = p.tenant_id and d.memory_id = p.memory_id and d.embedder = p.embedder
returning d.tenant_id, d.memory_id, d.embedder, d.user_key, d.op, d.version, d.fence, d.failures
"""
RELEASE_DEBTS = """
update index_debts set lease_until = null, error = :error, failures = failures + 1,
    due_at = clock_timestamp() + make_interval(secs => :delay)
where tenant_id = :tenant_id and memory_id = :memory_id and embedder = :embedder and fence = :fence
"""
DUE_SESSIONS = """
select tenant_id, session_key from session_heads
where due_at <= clock_timestamp() order by due_at limit :limit
"""
# How many bells each queue is worth now, counted up to a limit. Each part reads its own partial index: `work`
# keeps what is done, and this runs every few seconds.
OWED = """
select s.step, (
    select count(*) from (
        select 1 from tenant_service t cross join lateral (
            select 1 from work w
            where w.step = s.step and w.tenant_id = t.tenant_id and w.state = 'due'
              and w.due_at <= clock_timestamp()
            limit :limit) w
        where t.step = s.step
        union all
        select 1 from work w
        where w.step = s.step and w.state = 'running' and w.lease_until < clock_timestamp()
        union all
        select 1 from index_debts d where d.step = s.step and d.due_at <= clock_timestamp()
          and (d.lease_until is null or d.lease_until < clock_timestamp())
        limit :limit) as due) as bells
from unnest(cast(:steps as text[])) as s(step)
"""
BACKLOG = """
select step, count(*) as waiting,
       coalesce(extract(epoch from clock_timestamp() - min(due_at)), 0) as oldest_seconds
from (select step, due_at from work where state = 'due'
      union all select step, due_at from work where state = 'running') as waiting
group by step
"""
INDEX_OWED = "select count(*) from index_debts"
TRY_ALONE = "select pg_try_advisory_xact_lock(hashtextextended(:job, 0)) as held"
MAKE_MONTHS = "select turnkeep_make_months(:ahead)"
UNPARTITIONED = "select turnkeep_turns_unpartitioned()"


class Dispatch:
    def __init__(self, engine: Engine, *, lease_seconds: float) -> None:
        self._engine = engine
        self._lease = lease_seconds

    def claim(self, step: StepName, *, limit: int) -> list[Claim]:
        """Expired leases first, one alone; else due rows: interactive and aged ones before bulk."""
        params: dict[str, object] = {"step": step, "lease": self._lease, "limit": limit}
        for _ in range(LOOKS):
            # Two workers pick merges of one user at once; the unique index lets one through. The other
            # looks again and now sees the first.
            with suppress(IntegrityError):
                return self._claim(params)
        return []

    def _claim(self, params: dict[str, object]) -> list[Claim]:
        with transaction(self._engine) as connection:
            table = Repository(connection)
            taken = table.rows(TAKE_OVER, params) or _claim_due(table, params)
            if taken:
                tenants = list({row.tenant_id for row in taken})
                table.run(SERVED, {"step": params["step"], "tenants": tenants})
        return [claim_of(row) for row in taken]

    def renew(self, claim: Claim) -> bool:
        """False when the claim is no longer ours. An expired lease that nobody took is revived."""
        return self._run(RENEW, claim_params(claim) | {"lease": self._lease}) == 1

    def release(self, claim: Claim, *, delay: float, error: str | None, failed: bool) -> None:
        """Give a step back, due again after `delay` seconds; only a failure of our own code counts."""
        changes = {"delay": delay, "error": error, "failed": int(failed)}
        self._run(RELEASE, claim_params(claim) | changes)

    def give_back_crash(self, claim: Claim) -> None:
        """We are alive, so the takeover that passed our fence counted a crash that was none."""
        self._run(GIVE_BACK, claim_params(claim))

    def claim_debts(self, step: StepName, *, limit: int) -> list[DebtClaim]:
        rows = self._rows(CLAIM_DEBTS, {"step": step, "lease": self._lease, "limit": limit})
        return [debt_of(row) for row in rows]

    def release_debts(self, claims: Sequence[DebtClaim], *, delay: float, error: str) -> None:
        with transaction(self._engine) as connection:
            changes = {"delay": delay, "error": error}
            Repository(connection).run(RELEASE_DEBTS, [debt_params(claim) | changes for claim in claims])

    def due_sessions(self, *, limit: int) -> list[tuple[TenantId, SessionKey]]:
        rows = self._rows(DUE_SESSIONS, {"limit": limit})
        return [(TenantId(row.tenant_id), SessionKey(row.session_key)) for row in rows]

    def owed(self, steps: Sequence[StepName], *, limit: int) -> dict[QueueName, int]:
        rows = self._rows(OWED, {"steps": list(steps), "limit": limit})
        return {cast("QueueName", row.step): row.bells for row in rows if row.bells}

    def backlog(self) -> dict[str, tuple[int, float]]:
        """Waiting rows and the age of the oldest in seconds, a step each."""
        return {row.step: (row.waiting, float(row.oldest_seconds)) for row in self._rows(BACKLOG, {})}

    def index_owed(self) -> int:
        return cast("int", self._rows(INDEX_OWED, {})[0][0])

    @contextmanager
    def alone(self, job: str) -> Iterator[bool]:
        with transaction(self._engine) as connection:
            row = Repository(connection).row(TRY_ALONE, {"job": job})
            yield bool(row and row.held)

    def make_months(self, *, ahead: int) -> int:
        return cast("int", self._rows(MAKE_MONTHS, {"ahead": ahead})[0][0])

    def turns_unpartitioned(self) -> int:
        return cast("int", self._rows(UNPARTITIONED, {})[0][0])

    def _rows(self, sql: str, params: Params) -> Sequence[Row[tuple[object, ...]]]:
        with statement(self._engine) as connection:
            return Repository(connection).rows(sql, params)

    def _run(self, sql: str, params: Params) -> int:
        with statement(self._engine) as connection:
            return Repository(connection).run(sql, params)


def _claim_due(table: Repository, params: dict[str, object]) -> Sequence[Row[tuple[object, ...]]]:
    """First what is interactive or aged, then bulk; then what has crashed before, which runs alone."""
    alone = [params] if params["limit"] == 1 else [params, params | {"limit": 1}]
    for attempt in alone:
        for patient in (False, True):
            taken = table.rows(CLAIM, attempt | {"patient": patient})
            if taken:
                return taken
    return ()


def claim_params(claim: Claim) -> dict[str, object]:
    return {
        "tenant_id": claim.tenant_id,
        "batch_id": claim.batch_id,
        "step": claim.step,
        "fence": claim.fence,
    }


def debt_params(claim: DebtClaim) -> dict[str, object]:
    return {
        "tenant_id": claim.tenant_id,
        "memory_id": claim.memory_id,
        "embedder": claim.embedder,
        "fence": claim.fence,
    }


def claim_of(row: Row[tuple[object, ...]]) -> Claim:
    return Claim(
        tenant_id=TenantId(row.tenant_id),
        batch_id=BatchId(row.batch_id),
        step=row.step,
        fence=row.fence,
        crashes=row.crashes,
        failures=row.failures,
        error=row.error,
    )


def debt_of(row: Row[tuple[object, ...]]) -> DebtClaim:
    return DebtClaim(
        tenant_id=TenantId(row.tenant_id),
        memory_id=MemoryId(row.memory_id),
        embedder=row.embedder,
        user_key=UserKey(row.user_key),
        op=row.op,
        version=row.version,
        fence=row.fence,
        failures=row.failures,
    )
