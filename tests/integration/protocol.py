"""The pipeline by hand: real Postgres and vector server, the real runner, and no Celery.

A `House` is a tenant in a database where nobody else works. Its steps are run one at a time, so that a test
decides what happens between two of them: `Interleaved` acts before chosen units of work.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from threading import Thread
from typing import Any, Self
from uuid import UUID, uuid4, uuid5

from qdrant_client import QdrantClient
from sqlalchemy import text

from api_gateway import direct
from api_gateway.accept import Acceptance, AcceptPolicy, Submission, accept
from infra.embedded.loopback import HOST, free_port
from infra.embedded.stack import EmbeddedStack
from shared.codec import statements_to_json
from shared.domain.ids import MemoryId, SessionKey, TenantId, UserKey
from shared.domain.memory import Entity, Memory, Slot, State, Statement
from shared.domain.policy import BudgetSplit
from shared.domain.session import Claim, FlushPolicy, QueueName, StepName
from shared.domain.turn import Lane, Role
from shared.inference.embedders.hashing import HashingEmbedder
from shared.inference.tokens import counter_for
from shared.ports import Begin, MemoryFilter, NewTurn, SessionRow, UserRow, Vector, VectorIndex, Work, Writing
from shared.stores import qdrant
from shared.stores.postgres.unit_of_work import SET_TENANT
from shared.text.redaction import KeepAll
from tests.running import Database, Tenant, eventually
from workers.runner import Patience, Runner
from workers.tools import Tools

STEPS: tuple[StepName, ...] = ("extract", "summarize", "embed", "merge", "index")
FLUSH = FlushPolicy(rounds=3, tokens=300, idle=timedelta(seconds=30), fold_turns=24, fold_tokens=3_000)
# Longer than any test holds a claim without saying so, and soon passed after the start of the server.
LEASE_SECONDS = 5.0
STATES: tuple[State, ...] = ("pending", "live", "duplicate", "superseded", "dead")
PHONE = Slot(subject="user", attribute="phone", value="")
COUNTER = counter_for(None)


@dataclass(slots=True)
class ListBell:
    """Remembers what was rung."""

    rung: list[QueueName] = field(default_factory=list)

    def ring(self, *queues: QueueName) -> None:
        self.rung += queues


@dataclass(slots=True)
class Interleaved:
    """A `Begin` that runs an action each before the units of work of these numbers (from 0) are begun."""

    begin: Begin
    actions: Mapping[int, Callable[[], object]]
    begun: int = 0

    @contextmanager
    def __call__(self, tenant_id: TenantId) -> Iterator[Work]:
        action = self.actions.get(self.begun)
        self.begun += 1
        if action is not None:
            action()
        with self.begin(tenant_id) as work:
            yield work


@dataclass(slots=True)
class BeforeCommit:
    """A `Begin` that runs `action` inside every unit of work, when its body has ended."""

    begin: Begin
    action: Callable[[], object]

    @contextmanager
    def __call__(self, tenant_id: TenantId) -> Iterator[Work]:
        with self.begin(tenant_id) as work:
            yield work
            self.action()


class Watched(HashingEmbedder):
    """Runs `action` before it embeds."""

    def __init__(self, action: Callable[[Sequence[str]], object]) -> None:
        self._action = action

    def passages(self, texts: Sequence[str]) -> list[Vector]:
        self._action(texts)
        return super().passages(texts)


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
            for statement in (
                "update work set state = 'cancelled' where state in ('waiting', 'due', 'running')",
                "update session_heads set due_at = null",
                "delete from index_debts",
            ):
                connection.execute(text(statement))
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
            connection.execute(
                text(
                    "select pg_terminate_backend(pid) from pg_stat_activity"
                    " where datname = current_database() and usename = current_user"
                    " and pid <> pg_backend_pid()"
                )
            )

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
        return bool(
            self.value(
                "select count(*) from pg_locks l join pg_stat_activity a using (pid)"
                " where not l.granted and a.datname = current_database()"
            )
        )


class Aside(Thread):
    """Runs `action` beside the test; `outcome()` waits for it and gives its result or raises its error."""

    def __init__(self, action: Callable[[], object]) -> None:
        super().__init__(name="aside")
        self._action = action
        self._result: Any = None
        self._error: Exception | None = None
        self.start()

    def run(self) -> None:
        try:
            self._result = self._action()
        except Exception as error:  # noqa: BLE001 -- whatever it is, it is raised again where it is waited for
            self._error = error

    def outcome(self) -> Any:
        self.join(timeout=60)
        assert not self.is_alive(), "it never ended"
        if self._error is not None:
            raise self._error
        return self._result


def new_turn(
    said: str, *, role: Role = "user", at: datetime | None = None, client_id: str | None = None
) -> NewTurn:
    return NewTurn(
        client_id=client_id,
        role=role,
        text=said,
        tokens=COUNTER.count(said),
        body_hmac=said.encode(),
        created_at=at,
        tool_call_id="call" if role == "tool" else None,
    )


def statement(
    said: str,
    *,
    slot: Slot | None = None,
    sequences: Sequence[int] = (1,),
    at: datetime | None = None,
    entities: Sequence[Entity] = (),
) -> Statement:
    return Statement(
        kind="fact",
        category="general",
        text=said,
        language="en",
        trust="user",
        importance=0.5,
        sequences=sequences,
        valid_from=at or datetime.now(UTC),
        slot=slot,
        entities=entities,
    )


def phone(number: str, *, at: datetime | None = None, sequences: Sequence[int] = (1,)) -> Statement:
    return statement(
        f"My phone number is {number}", slot=replace(PHONE, value=number), at=at, sequences=sequences
    )
