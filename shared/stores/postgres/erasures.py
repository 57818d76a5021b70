"""The tombstone-and-epoch transaction: from its commit on nothing of the scope is served or written."""

from __future__ import annotations

from uuid import UUID, uuid4

from shared.domain.ids import SessionKey, UserKey
from shared.stores.postgres.engine import Repository

LOCK_USER = "select policy, epoch from users where user_key = :user_key for update"
RAISE_USER = """
update users set epoch = epoch + 1, version = version + 1, user_id = null, policy = '{}',
       erased_at = clock_timestamp()
where user_key = :user_key returning epoch
"""
RAISE_SESSION = """
update sessions set epoch = epoch + 1, wrap_up = null, outcome = null
where session_key = :session_key and epoch = 0 returning epoch
"""
REST_HEADS = """
update session_heads h set due_at = null, triggered = false, close_requested = false
from sessions s
where s.tenant_id = h.tenant_id and s.session_key = h.session_key and s.user_key = :user_key
  and (cast(:session_key as uuid) is null or s.session_key = :session_key)
"""
# Each of these takes the batch's row lock, which recording a step's output holds too.
CANCEL = """
update batches set state = 'cancelled', closed_at = clock_timestamp()
where user_key = :user_key and state = 'open'
  and (cast(:session_key as uuid) is null or session_key = :session_key)
returning batch_id
"""
CANCEL_WORK = """
update work set state = 'cancelled', lease_until = null
where batch_id = any(:batch_ids) and state in ('waiting', 'due', 'running')
"""
BLANK = "delete from step_outputs where batch_id = any(:batch_ids)"
TOMBSTONE = """
insert into tombstones (tenant_id, scope, scope_key, epoch, erasure_id)
values (turnkeep_tenant(), :scope, :scope_key, :epoch, :erasure_id)
"""
ADD = """
insert into erasures (tenant_id, erasure_id, scope, state)
values (turnkeep_tenant(), :erasure_id, :scope, 'blocked')
"""


class Erasures(Repository):
    def lock_user(self, user_key: UserKey) -> bool:
        """`FOR UPDATE`: waits for accepts and merges in flight, and they for us. True under legal hold."""
        row = self.row(LOCK_USER, {"user_key": user_key})
        return bool(row is not None and row.policy.get("legal_hold"))

    def bury_user(self, user_key: UserKey) -> UUID:
        row = self.row(RAISE_USER, {"user_key": user_key})
        epoch = row.epoch if row else 0
        return self._bury("user", user_key=user_key, session_key=None, epoch=epoch)

    def bury_session(self, session_key: SessionKey, *, user_key: UserKey) -> UUID:
        row = self.row(RAISE_SESSION, {"session_key": session_key})
        epoch = row.epoch if row else 0
        return self._bury("session", user_key=user_key, session_key=session_key, epoch=epoch)

    def _bury(self, scope: str, *, user_key: UserKey, session_key: SessionKey | None, epoch: int) -> UUID:
        where = {"user_key": user_key, "session_key": session_key}
        cancelled = [row.batch_id for row in self.rows(CANCEL, where)]
        self.run(CANCEL_WORK, {"batch_ids": cancelled})
        self.run(BLANK, {"batch_ids": cancelled})
        self.run(REST_HEADS, where)
        erasure_id = uuid4()
        self.run(ADD, {"erasure_id": erasure_id, "scope": scope})
        tombstone = {"scope": scope, "scope_key": session_key or user_key, "epoch": epoch}
        self.run(TOMBSTONE, tombstone | {"erasure_id": erasure_id})
        return erasure_id
