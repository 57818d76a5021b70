"""The pipeline by hand: real Postgres and vector server, the real runner, and no Celery.

A `House` is a tenant in a database where nobody else works. Its steps are run one at a time, so that a test
decides what happens between two of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Self
from uuid import UUID, uuid4, uuid5

from qdrant_client import QdrantClient
from sqlalchemy import text

from api_gateway import direct
from api_gateway.accept import Acceptance, AcceptPolicy, Submission, accept
from infra.embedded.loopback import HOST, free_port
from infra.embedded.stack import EmbeddedStack
from shared.codec import statements_to_json
from shared.domain.ids import MemoryId, SessionKey, UserKey
from shared.domain.memory import Memory, State, Statement
from shared.domain.policy import BudgetSplit
from shared.domain.session import Claim, FlushPolicy, StepName
from shared.domain.turn import Lane, Role
from shared.inference.embedders.hashing import HashingEmbedder
from shared.ports import Begin, MemoryFilter, NewTurn, SessionRow, UserRow, VectorIndex, Work, Writing
from shared.stores import qdrant
from shared.stores.postgres.unit_of_work import SET_TENANT
from shared.text.redaction import KeepAll
from tests.integration.between import CUT_CONNECTIONS, WAITING, ListBell
from tests.integration.said import COUNTER, new_turn, statement
from tests.running import Database, Tenant, eventually
from workers.runner import Patience, Runner
from workers.tools import Tools

STEPS: tuple[StepName, ...] = ("extract", "summarize", "embed", "merge", "index")
FLUSH = FlushPolicy(rounds=3, tokens=300, idle=timedelta(seconds=30), fold_turns=24, fold_tokens=3_000)
# Longer than any test holds a claim without saying so, and soon passed after the start of the server.
LEASE_SECONDS = 5.0

NOTHING_DUE = (
    "update work set state = 'cancelled' where state in ('waiting', 'due', 'running')",
    "update session_heads set due_at = null",
    "delete from index_debts",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class House:
    database: Database
    tenant: Tenant
    client: QdrantClient
    bell: ListBell
    flush_policy: FlushPolicy

    @classmethod
    def on(cls, stack: EmbeddedStack, *, database: Database) -> Self:
        client = qdrant.connect(stack.qdrant_url, api_key=stack.qdrant_api_key, timeout=5)
        embedder = HashingEmbedder()
        qdrant.prepare(client, alias=database.name, embedder=embedder.name, dimension=embedder.dimension)
        return cls(
            database=database,
            tenant=database.tenant(),
            client=client,
            bell=ListBell(),
            flush_policy=FLUSH,
        )

    def leave(self) -> None:
        """Nothing of any tenant is due any more: the next one finds an idle database."""
        with self.database.owner.begin() as connection:
            for act in NOTHING_DUE:
                connection.execute(text(act))
        self.client.close()

    @property
    def begin(self) -> Begin:
        return self.database.begin

    @property
    def index(self) -> VectorIndex:
        return qdrant.index_on(self.client, alias=self.database.name)(self.tenant.tenant_id)

    @property
    def tools(self) -> Tools:
        return Tools(
            begin=self.begin,
            open_index=qdrant.index_on(self.client, alias=self.database.name),
            embedder=HashingEmbedder(),
            counter=COUNTER,
            tagger=None,
            chat=None,
            chat_deadline=5.0,
            flush=self.flush_policy,
            split=BudgetSplit(),
        )

    def runner(self, tools: Tools | None = None, *, max_failures: int = 3, max_crashes: int = 3) -> Runner:
        return Runner(
            tools=tools or self.tools,
            dispatch=self.database.dispatch,
            bell=self.bell,
            patience=Patience(max_failures=max_failures, max_crashes=max_crashes, renew_seconds=1.0),
        )

    @property
    def tools_without_vectors(self) -> Tools:
        """The vector server does not answer."""
        nobody = qdrant.connect(f"http://{HOST}:{free_port()}", api_key=None, timeout=1)
        return replace(self.tools, open_index=qdrant.index_on(nobody, alias=self.database.name))

    def other_tenant(self) -> House:
        return replace(self, tenant=self.database.tenant())

    # What a caller does

    def user_key(self, user: str = "u") -> UserKey:
        return UserKey(uuid5(self.tenant.tenant_id, user))

    def say(
        self,
        session: str,
        *texts: str,
        user: str = "u",
        role: Role = "user",
        lane: Lane = "interactive",
        at: datetime | None = None,
    ) -> Acceptance:
        """Post turns of one role; none of them has an id."""
        turns = [new_turn(said, role=role, at=at) for said in texts]
        return self.post(session, *turns, user=user, lane=lane)

    def post(self, session: str, *turns: NewTurn, user: str = "u", lane: Lane = "interactive") -> Acceptance:
        submission = Submission(
            tenant_id=self.tenant.tenant_id,
            session_id=session,
            user_id=user,
            user_key=self.user_key(user),
            turns=turns,
            lane=lane,
            body_hmac=uuid4().bytes,
        )
        policy = AcceptPolicy(
            flush=self.flush_policy, split=BudgetSplit(), redactor=KeepAll(), fresh_key=uuid4
        )
        return accept(submission, begin=self.begin, policy=policy)

    def flush(self, session: str) -> None:
        with self.begin(self.tenant.tenant_id) as work:
            work.sessions.flush(self._session(work, session).session_key)

    def close(self, session: str) -> None:
        with self.begin(self.tenant.tenant_id) as work:
            work.sessions.close(self._session(work, session).session_key, outcome="solved")

    def erase_user(self, user: str = "u") -> None:
        with self.begin(self.tenant.tenant_id) as work:
            work.erasures.lock_user(self.user_key(user))
            work.erasures.bury_user(self.user_key(user))

    def erase_session(self, session: str) -> None:
        with self.begin(self.tenant.tenant_id) as work:
            found = self._session(work, session)
            work.erasures.lock_user(found.user_key)
            work.erasures.bury_session(found.session_key, user_key=found.user_key)

    def add(self, said: str, *, user: str = "u") -> MemoryId:
        """A memory added directly."""
        addition = direct.Addition(
            user_id=user,
            user_key=self.user_key(user),
            statement=statement(said, sequences=()),
            client_id=None,
            body_hmac=b"body",
        )
        with self.begin(self.tenant.tenant_id) as work:
            return direct.add(addition, work=work, embedder=HashingEmbedder.name)

    def edit(self, memory_id: UUID, **changes: object) -> None:
        with self.begin(self.tenant.tenant_id) as work:
            memory, user = direct.lock(work, memory_id, versions=None)
            direct.edit(work, memory, changes=changes, actor="test", writing=self._writing(user))

    def forget(self, memory_id: UUID) -> None:
        with self.begin(self.tenant.tenant_id) as work:
            memory, user = direct.lock(work, memory_id, versions=None)
            direct.forget(work, memory, writing=self._writing(user))

    def _writing(self, user: UserRow) -> Writing:
        return Writing(user=user, embedder=HashingEmbedder.name, lane="interactive")

    # What workers do

    def claim(self, step: StepName) -> Claim:
        (claim,) = self.database.dispatch.claim(step, limit=1)
        return claim

    def open_batches(self) -> int:
        return self.runner().open_due_sessions()

    def record(self, claim: Claim, output: Mapping[str, object] | None = None) -> list[StepName]:
        with self.begin(claim.tenant_id) as work:
            return work.batches.record(claim, output=output or {})

    def folded(self, session: str, *statements: Statement, user: str = "u") -> Claim:
        """Say something and work up to a claimed merge of `statements`."""
        self.say(session, "hm", user=user)
        self.flush(session)
        self.open_batches()
        return self.extracted(*statements)

    def extracted(self, *statements: Statement) -> Claim:
        """Take the batch that was opened last up to a claimed merge; `extract` found `statements`."""
        self.record(self.claim("extract"), {"statements": statements_to_json(statements)})
        self.record(self.claim("summarize"))
        runner = self.runner()
        assert runner._once("embed")
        return self.claim("merge")

    def finish(self, runner: Runner | None = None) -> None:
        """Work until nothing is due."""
        runner = runner or self.runner()
        while sum(runner._once(step) for step in STEPS):
            pass

    def expire_leases(self) -> None:
        """Every holder seems gone."""
        eventually(self.takes_over)
        past = "set lease_until = clock_timestamp() - interval '1 second' where lease_until is not null"
        self.sql(f"update work {past}")
        self.sql(f"update index_debts {past}")

    def cut_connections(self) -> None:
        """Every connection of the application role to this database is gone."""
        with self.database.app.connect() as connection:
            connection.execute(text(CUT_CONNECTIONS))

    def bring_forward(self) -> None:
        """Make due now what is due later."""
        self.sql("update work set due_at = now(), rank_at = now() where state = 'due'")
        self.sql("update index_debts set due_at = clock_timestamp()")
        self.sql("update session_heads set due_at = clock_timestamp() where due_at is not null")

    # What can be seen

    def sql(self, statement: str, **params: object) -> Sequence[Any]:
        """As the application role, which sees this tenant's rows only."""
        with self.database.app.begin() as connection:
            connection.execute(SET_TENANT, {"tenant": str(self.tenant.tenant_id)})
            result = connection.execute(text(statement), params)
            return result.all() if result.returns_rows else ()

    def value(self, statement: str, **params: object) -> Any:
        return self.sql(statement, **params)[0][0]

    def session_key(self, session: str) -> SessionKey:
        with self.begin(self.tenant.tenant_id) as work:
            return self._session(work, session).session_key

    def _session(self, work: Work, session: str) -> SessionRow:
        found = work.sessions.find(session)
        assert found is not None
        return found

    def turn_states(self, session: str) -> list[object]:
        """By sequence."""
        states = "select state from turns where session_key = :key order by sequence"
        return [row[0] for row in self.sql(states, key=self.session_key(session))]

    def memories(self, user: str = "u", *, states: Sequence[State] = ("live",)) -> list[Memory]:
        """What is served of the user, oldest first, episodes left out."""
        only = MemoryFilter(states=states)
        with self.begin(self.tenant.tenant_id) as work:
            page = work.memories.page(self.user_key(user), only=only, after=None, limit=1_000)
        return [memory for memory in reversed(page) if memory.kind != "episode"]

    def texts(self, user: str = "u", *, states: Sequence[State] = ("live",)) -> list[str]:
        return sorted(memory.text for memory in self.memories(user, states=states))

    def batches(self, session: str) -> list[tuple[Any, ...]]:
        """Kind, first, last, state, in the order of opening."""
        rows = self.sql(
            "select kind, first, last, state from batches where session_key = :key order by opened_at",
            key=self.session_key(session),
        )
        return [tuple(row) for row in rows]

    def takes_over(self) -> bool:
        """The server has run for longer than a lease: before that nobody takes anything over."""
        age = self.value("select extract(epoch from clock_timestamp() - pg_postmaster_start_time())")
        return float(str(age)) > LEASE_SECONDS

    def someone_waits(self) -> bool:
        """A connection to this database waits for a lock that another holds."""
        return bool(self.value(WAITING))
