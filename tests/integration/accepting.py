"""Submissions to accept in this process, on the real store."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from threading import Barrier
from typing import TypeVar
from uuid import UUID, uuid4, uuid5

from sqlalchemy import text

from api_gateway.accept import Acceptance, AcceptPolicy, Submission, accept
from shared.domain.ids import TenantId, UserKey
from shared.domain.policy import BudgetSplit
from shared.domain.session import FlushPolicy
from shared.domain.turn import Lane
from shared.ports import NewTurn
from shared.text.redaction import KeepAll
from tests.running import Database, eventually

POLICY = AcceptPolicy(flush=FlushPolicy(), split=BudgetSplit(), redactor=KeepAll(), fresh_key=uuid4)
CLIENTS = 16
WAITING = """
select count(*) from pg_locks l join pg_stat_activity a using (pid)
where not l.granted and a.datname = current_database()
"""
Value = TypeVar("Value")


def said(content: str, *, id: str | None = None, created_at: datetime | None = None) -> NewTurn:  # noqa: A002 -- SPEC 2
    body = hashlib.sha256(f"{content}|{created_at}".encode()).digest()
    return NewTurn(client_id=id, role="user", text=content, tokens=1, body_hmac=body, created_at=created_at)


def user_key(tenant_id: TenantId, *, user_id: str) -> UserKey:
    return UserKey(uuid5(tenant_id, user_id))


@dataclass(frozen=True, slots=True, kw_only=True)
class Talk:
    """One session of one user, as somebody posts to it."""

    database: Database
    tenant_id: TenantId
    session_id: str = "s"
    user_id: str = "u"

    @property
    def user_key(self) -> UserKey:
        return user_key(self.tenant_id, user_id=self.user_id)

    def post(
        self, *turns: NewTurn, key: bytes | None = None, lane: Lane = "interactive", body: bytes | None = None
    ) -> Acceptance:
        """`body` stands for the whole request; one that says the same by default."""
        whole = hashlib.sha256(body or b"".join(turn.body_hmac for turn in turns)).digest()
        submission = Submission(
            tenant_id=self.tenant_id,
            session_id=self.session_id,
            user_id=self.user_id,
            user_key=self.user_key,
            turns=turns,
            lane=lane,
            body_hmac=whole,
            key_hmac=key,
        )
        return accept(submission, begin=self.database.begin, policy=POLICY)

    def stored(self) -> list[tuple[int, str]]:
        """Sequence and content of every turn of the live session."""
        with self.database.begin(self.tenant_id) as work:
            session = work.sessions.find(self.session_id)
            rows = work.turns.page(session, after=0, limit=1_000) if session else []
        return [(row.turn.sequence, row.turn.text) for row in rows]

    def erase_user(self) -> UUID:
        with self.database.begin(self.tenant_id) as work:
            work.erasures.lock_user(self.user_key)
            return work.erasures.bury_user(self.user_key)

    def erase_session(self) -> UUID:
        with self.database.begin(self.tenant_id) as work:
            session = work.sessions.find(self.session_id)
            assert session is not None
            work.erasures.lock_user(session.user_key)
            return work.erasures.bury_session(session.session_key, user_key=session.user_key)


def rows(database: Database, *, tenant_id: TenantId) -> dict[str, int]:
    """How many rows the tenant has of all that an accept writes."""
    counted = {}
    for table in ("users", "sessions", "session_heads", "turns", "turn_keys", "idempotency_keys"):
        with database.owner.connect() as connection:
            statement = text(f"select count(*) from {table} where tenant_id = :tenant_id")  # noqa: S608 -- from the tuple above
            counted[table] = connection.execute(statement, {"tenant_id": tenant_id}).scalar_one()
    return counted


def at_once(calls: Sequence[Callable[[], Value]]) -> list[Value]:
    """Every call in a thread of its own, started together."""
    barrier = Barrier(len(calls))

    def start(call: Callable[[], Value]) -> Value:
        barrier.wait()
        return call()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(start, calls))


def await_blocked(database: Database, *, call: Future[Value]) -> None:
    """Returns once `call`, running beside us, waits for a lock. Raises AssertionError if it ends instead."""
    eventually(lambda: call.done() or _waiting(database), seconds=10)
    assert not call.done(), "it did not wait"


def _waiting(database: Database) -> bool:
    with database.owner.connect() as connection:
        return bool(connection.execute(text(WAITING)).scalar_one())
