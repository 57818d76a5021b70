"""What claiming costs with a long backlog of many tenants, and what statistics cost beside it.

    python -m tests.bench.claims --rows 50000 --tenants 200

Fills a database of its own with due work, half of it one tenant's, claims from it, and says how long it took.
"""

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from sqlalchemy import text

from infra.embedded.stack import EmbeddedStack
from infra.migrate import migrate
from shared.domain.ids import TenantId
from shared.domain.session import StepName
from shared.stores.postgres import engine
from shared.stores.postgres.dispatch import Dispatch
from shared.stores.postgres.unit_of_work import begin_on
from tests.bench.clients import Timings

TENANTS = """
insert into tenants (tenant_id, name)
select md5('tenant' || n)::uuid, 'tenant' || n from generate_series(1, :tenants) n
"""
SERVICE = """
insert into tenant_service (tenant_id, step)
select tenant_id, step from tenants, unnest(array['extract', 'summarize', 'embed', 'merge']) step
"""
USERS = """
insert into users (tenant_id, user_key, user_id)
select tenant_id, md5(name || n)::uuid, 'user' || n from tenants, generate_series(1, 20) n
"""
# Every second batch is the first tenant's.
BATCHES = """
insert into batches (tenant_id, batch_id, kind, user_key, session_key, first, last, user_epoch, session_epoch,
    lane)
select md5('tenant' || t)::uuid, md5('batch' || n)::uuid, 'live', md5('tenant' || t || n % 20 + 1)::uuid,
       md5('session' || n)::uuid, 1, 4, 0, 0, case when n % 3 = 0 then 'bulk' else 'interactive' end
from (select n, case when n % 2 = 0 then 1 else n % :tenants + 1 end as t
      from generate_series(1, :batches) n) of_tenant
"""
WORK = """
insert into work (tenant_id, batch_id, step, user_key, needs, lane, state, due_at, rank_at)
select tenant_id, batch_id, step, user_key, '{}', lane, 'due', clock_timestamp(), clock_timestamp()
from batches, unnest(array['extract', 'summarize', 'embed', 'merge']) step
"""
DEBTS = """
insert into index_debts (tenant_id, memory_id, embedder, user_key, op, step, version, lane)
select tenant_id, batch_id, 'hashing', user_key, 'upsert', 'index', 1, lane from batches
"""
SESSIONS = """
insert into sessions (tenant_id, session_key, session_id, user_key, user_epoch)
select tenant_id, session_key, session_key::text, user_key, 0 from batches
"""
HEADS = """
insert into session_heads (tenant_id, session_key, next_seq)
select tenant_id, session_key, 5 from batches
"""
TURNS = """
insert into turns (tenant_id, session_key, sequence, accepted_at, turn_id, user_key, role, content, tokens,
    lane, created_at, state)
select tenant_id, session_key, n, now(), md5(session_key::text || n)::uuid, user_key, 'user', 'a turn', 4,
       lane, now(), case when n = 4 then 'pending' else 'done' end
from batches, generate_series(1, 4) n
"""
FILL = (TENANTS, SERVICE, USERS, BATCHES, WORK, DEBTS, SESSIONS, HEADS, TURNS)
STEPS = 4
LEASE_SECONDS = 30.0
LARGEST = "select md5('tenant1')::uuid"


@dataclass(frozen=True, slots=True, kw_only=True)
class Backlog:
    stack: EmbeddedStack
    rows: int
    tenants: int

    def fill(self) -> None:
        postgres = self.stack.postgres
        migrate(postgres.migration_url, app_url=postgres.app_url, dispatch_url=postgres.dispatch_url)
        owner = engine.connect(postgres.migration_url, pool_size=1)
        params = {"tenants": self.tenants, "batches": self.rows // STEPS}
        for statement in FILL:
            with owner.begin() as connection:
                connection.execute(text(statement), params)
        owner.dispose()

    def analyze(self) -> None:
        owner = engine.connect(self.stack.postgres.migration_url, pool_size=1)
        with owner.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.execute(text("vacuum analyze"))
        owner.dispose()


def timed(call: Callable[[], object], *, times: int) -> Timings:
    latencies: list[float] = []
    for _ in range(times):
        started = perf_counter()
        call()
        latencies.append(perf_counter() - started)
    return Timings(latencies=latencies, elapsed=sum(latencies))


def timed_claims(dispatch: Dispatch, step: StepName, *, limit: int, times: int) -> Timings:
    """What was claimed is given back, untimed: few steps run at once, however many are due."""
    latencies: list[float] = []
    for _ in range(times):
        started = perf_counter()
        claims = dispatch.claim(step, limit=limit)
        latencies.append(perf_counter() - started)
        for claim in claims:
            dispatch.release(claim, delay=0.0, error=None, failed=False)
    return Timings(latencies=latencies, elapsed=sum(latencies))


def measured(stack: EmbeddedStack, *, times: int) -> dict[str, Timings]:
    dispatch = Dispatch(engine.connect(stack.postgres.dispatch_url, pool_size=1), lease_seconds=LEASE_SECONDS)
    limits: dict[StepName, int] = {"extract": 1, "merge": 1, "embed": 32}
    found = {
        f"claim {limit} {step}": timed_claims(dispatch, step, limit=limit, times=times)
        for step, limit in limits.items()
    }
    found["claim 128 debts"] = timed(lambda: dispatch.claim_debts("index", limit=128), times=times)
    found["due sessions"] = timed(lambda: dispatch.due_sessions(limit=16), times=times)
    found["sweep's count"] = timed(lambda: dispatch.owed(["extract", "merge", "index"], limit=8), times=times)
    found["backlog for metrics"] = timed(dispatch.backlog, times=times)
    return found | {"statistics of the largest tenant": _statistics(stack, times=times)}


def _statistics(stack: EmbeddedStack, *, times: int) -> Timings:
    app = engine.connect(stack.postgres.app_url, pool_size=1)
    with app.connect() as connection:
        tenant_id = TenantId(connection.execute(text(LARGEST)).scalar_one())

    def read() -> None:
        with begin_on(app)(tenant_id) as work:
            work.stats.read()

    return timed(read, times=times)


def main(
    rows: Annotated[int, typer.Option(min=1_000, help="Work rows that are due")] = 50_000,
    tenants: Annotated[int, typer.Option(min=2)] = 200,
    times: Annotated[int, typer.Option(min=10)] = 200,
) -> None:
    with EmbeddedStack(None) as stack:
        backlog = Backlog(stack=stack, rows=rows, tenants=tenants)
        backlog.fill()
        shown = Table("measured", "statistics", "p50 ms", "p95 ms", title=f"{rows:,} rows, {tenants} tenants")
        for state in ("none yet", "collected"):
            for name, timings in measured(stack, times=times).items():
                latencies = [f"{timings.percentile(share) * 1000:.1f}" for share in (0.5, 0.95)]
                shown.add_row(name, state, *latencies)
            backlog.analyze()
    Console(width=100).print(shown)


if __name__ == "__main__":
    typer.run(main)
