from __future__ import annotations

from uuid import UUID

from sqlalchemy import Row

from shared.domain.errors import Conflict
from shared.domain.ids import SessionKey, UserKey
from shared.domain.session import Head, Pending
from shared.ports import PageEnd, SessionRow, UserRow
from shared.stores.postgres.engine import Repository, page_params

SESSION = """
select s.session_key, s.session_id, s.user_key, u.user_id, s.user_epoch, s.epoch, s.applied, s.language,
       s.created_at, s.closed_at, s.outcome, s.wrap_up, u.epoch as current_epoch
from sessions s join users u on u.tenant_id = s.tenant_id and u.user_key = s.user_key
"""
FIND = SESSION + " where s.session_id = :session_id and s.epoch = 0"
BY_KEY = SESSION + " where s.session_key = :session_key and s.epoch = 0"
OF_USER = (
    SESSION
    + """
where s.user_key = :user_key and s.epoch = 0 and s.user_epoch = u.epoch
  and (cast(:at as timestamptz) is null or (s.created_at, s.session_key) < (:at, :key))
order by s.created_at desc, s.session_key desc limit :limit
"""
)
# A row of an older epoch of its user counts as absent: it gives the id free and keeps its key for good.
RETIRE = "update sessions set epoch = epoch + 1 where session_key = :session_key and epoch = 0"
ADD = """
insert into sessions (tenant_id, session_key, session_id, user_key, user_epoch)
values (turnkeep_tenant(), :session_key, :session_id, :user_key, :user_epoch)
on conflict (tenant_id, session_id) where epoch = 0 do nothing
"""
ADD_HEAD = """
insert into session_heads (tenant_id, session_key)
select tenant_id, session_key from sessions where session_key = :session_key
on conflict do nothing
"""
RESUME = """
select s.session_key, s.session_id, s.user_key, u.user_id, s.user_epoch, s.epoch, s.applied, s.language,
       s.created_at, s.closed_at, s.outcome, s.wrap_up,
       h.next_seq, h.triggered, h.flush_to, h.close_requested, h.pending_rounds, h.pending_tokens,
       h.tool_finished, h.last_budget, h.fold_cap
from sessions s
join users u on u.tenant_id = s.tenant_id and u.user_key = s.user_key and u.epoch = s.user_epoch
join session_heads h on h.tenant_id = s.tenant_id and h.session_key = s.session_key
where s.session_id = :session_id and s.user_key = :user_key and s.epoch = 0 and s.closed_at is null
for update of h
"""
HEAD = """
select next_seq, due_at, triggered, flush_to, close_requested, pending_rounds, pending_tokens, tool_finished,
       last_budget, fold_cap
from session_heads where session_key = :session_key for update
"""
ADVANCE = """
update session_heads set next_seq = :next_seq, pending_rounds = :rounds, pending_tokens = :tokens,
       tool_finished = :tool_finished, triggered = triggered or :due, last_at = now(),
       due_at = case when triggered or :due then now()
                     else now() + make_interval(secs => :idle_seconds) end
where session_key = :session_key
"""
FLUSH = """
update session_heads set flush_to = next_seq - 1, triggered = true, due_at = now(),
       close_requested = close_requested or :close
where session_key = :session_key
"""
REOPEN = "update sessions set closed_at = null where session_key = :session_key and closed_at is not null"
CLOSE = """
update sessions set closed_at = now(), outcome = coalesce(:outcome, outcome) where session_key = :session_key
"""
LOCK = "select applied from sessions where session_key = :session_key for no key update"
APPLY = """
update sessions set applied = :applied, language = coalesce(:language, language)
where session_key = :session_key
"""
REST = "update session_heads set due_at = null, triggered = false where session_key = :session_key"
OPENED = """
update session_heads set due_at = null, triggered = false, pending_rounds = :rounds,
       pending_tokens = :tokens, tool_finished = :tool_finished
where session_key = :session_key
"""
CLOSING = "update session_heads set close_requested = false where session_key = :session_key"
SETTLE = """
update session_heads set pending_rounds = :rounds, pending_tokens = :tokens, tool_finished = :tool_finished,
       fold_cap = :fold_cap, triggered = :due,
       due_at = case when :due then now() when :waiting then now() + make_interval(secs => :idle_seconds) end
where session_key = :session_key
"""
WRAP_UP = "update sessions set wrap_up = :wrap_up where session_key = :session_key"
KEY_SHARE = """
select 1 from users u join sessions s on s.tenant_id = u.tenant_id and s.user_key = u.user_key
where s.session_key = :session_key for key share of u
"""
SET_BUDGET = "update session_heads set last_budget = :budget where session_key = :session_key"


class Sessions(Repository):
    def find(self, session_id: str) -> SessionRow | None:
        row = self.row(FIND, {"session_id": session_id})
        return session_row(row) if row and _current(row) else None

    def by_key(self, session_key: SessionKey) -> SessionRow | None:
        row = self.row(BY_KEY, {"session_key": session_key})
        return session_row(row) if row and _current(row) else None

    def of_user(self, user_key: UserKey, *, after: PageEnd | None, limit: int) -> list[SessionRow]:
        """Newest first, those after `after`."""
        rows = self.rows(OF_USER, page_params(after) | {"user_key": user_key, "limit": limit})
        return [session_row(row) for row in rows]

    def resume(self, session_id: str, *, user_key: UserKey) -> tuple[SessionRow, Head] | None:
        """The open session and its locked head in one statement. The user must be locked already: what an
        erasure did while it was waited for is seen only by a statement that begins afterwards.

        None when there is more to it: the session is to be made, opened again or refused.
        """
        row = self.row(RESUME, {"session_id": session_id, "user_key": user_key})
        return (session_row(row), head_row(row)) if row else None

    def join(self, session_id: str, *, user: UserRow, fresh_key: UUID) -> SessionRow:
        """The user's live session of this id, made under `fresh_key` if there is none.

        Raises Conflict when the id belongs to another user.
        """
        row = self.row(FIND, {"session_id": session_id})
        if row is not None and not _current(row):
            self.run(RETIRE, {"session_key": row.session_key})
            row = None
        if row is None:
            row = self._add(session_id, user=user, fresh_key=fresh_key)
        if row.user_key != user.user_key:
            raise Conflict(
                "session_of_another_user",
                f"session {session_id!r} belongs to another user; use a session id of its own for each user",
            )
        if row.closed_at is not None:
            # Before the head is locked: everybody locks user, session, head in this order.
            self.run(REOPEN, {"session_key": row.session_key})
        return session_row(row)

    def _add(self, session_id: str, *, user: UserRow, fresh_key: UUID) -> Row[tuple[object, ...]]:
        params = {
            "session_id": session_id,
            "session_key": fresh_key,
            "user_key": user.user_key,
            "user_epoch": user.epoch,
        }
        self.run(ADD, params)
        row = self.row(FIND, params)
        if row is None:
            raise LookupError("a session row vanished between insert and select")
        self.run(ADD_HEAD, {"session_key": row.session_key})
        return row

    def head(self, session_key: SessionKey) -> Head:
        """Locked: whoever holds it gives out the next sequence."""
        row = self.row(HEAD, {"session_key": session_key})
        if row is None:
            raise LookupError("a session has no head")
        return head_row(row)

    def advance(
        self, session_key: SessionKey, *, next_seq: int, pending: Pending, due: bool, idle_seconds: float
    ) -> None:
        """Pending turns became due now, or become so after `idle_seconds`; a met trigger stays met."""
        self.run(
            ADVANCE,
            {
                "session_key": session_key,
                "next_seq": next_seq,
                "rounds": pending.rounds,
                "tokens": pending.tokens,
                "tool_finished": pending.tool_finished,
                "due": due,
                "idle_seconds": idle_seconds,
            },
        )

    def flush(self, session_key: SessionKey) -> None:
        self.run(FLUSH, {"session_key": session_key, "close": False})

    def close(self, session_key: SessionKey, *, outcome: str | None) -> None:
        # The session before its head, in everybody's order.
        self.run(CLOSE, {"session_key": session_key, "outcome": outcome})
        self.run(FLUSH, {"session_key": session_key, "close": True})

    def set_budget(self, session_key: SessionKey, *, budget: int) -> None:
        self.run(SET_BUDGET, {"session_key": session_key, "budget": budget})

    def share_user(self, session_key: SessionKey) -> None:
        """Keep an erasure of the session's user out until this transaction ends."""
        self.row(KEY_SHARE, {"session_key": session_key})

    def lock(self, session_key: SessionKey) -> int:
        """The cursor `applied`, locked against other merges; accepting goes on."""
        row = self.row(LOCK, {"session_key": session_key})
        return row.applied if row else -1

    def apply(self, session_key: SessionKey, *, applied: int, language: str | None) -> None:
        self.run(APPLY, {"session_key": session_key, "applied": applied, "language": language})

    def rest(self, session_key: SessionKey) -> None:
        """Nothing to open: either nothing is pending, or the open batch settles the head when it closes."""
        self.run(REST, {"session_key": session_key})

    def opened(self, session_key: SessionKey, *, rest: Pending) -> None:
        """A batch was opened: only the rest behind it is pending now."""
        self.run(
            OPENED,
            {
                "session_key": session_key,
                "rounds": rest.rounds,
                "tokens": rest.tokens,
                "tool_finished": rest.tool_finished,
            },
        )

    def begin_closing(self, session_key: SessionKey) -> None:
        self.run(CLOSING, {"session_key": session_key})

    def settle(
        self,
        session_key: SessionKey,
        *,
        pending: Pending,
        due: bool,
        fold_cap: int | None,
        idle_seconds: float,
    ) -> None:
        """Recount what is pending after a batch has closed and say when it becomes due."""
        self.run(
            SETTLE,
            {
                "session_key": session_key,
                "rounds": pending.rounds,
                "tokens": pending.tokens,
                "tool_finished": pending.tool_finished,
                "fold_cap": fold_cap,
                "due": due,
                "waiting": pending.turns > 0,
                "idle_seconds": idle_seconds,
            },
        )

    def wrap_up(self, session_key: SessionKey, *, text: str) -> None:
        self.run(WRAP_UP, {"session_key": session_key, "wrap_up": text})


def _current(row: Row[tuple[object, ...]]) -> bool:
    return bool(row.user_epoch == row.current_epoch)


def session_row(row: Row[tuple[object, ...]]) -> SessionRow:
    return SessionRow(
        session_key=row.session_key,
        session_id=row.session_id,
        user_key=row.user_key,
        user_id=row.user_id or "",
        user_epoch=row.user_epoch,
        epoch=row.epoch,
        applied=row.applied,
        language=row.language,
        created_at=row.created_at,
        closed_at=row.closed_at,
        outcome=row.outcome,
        wrap_up=row.wrap_up,
    )


def head_row(row: Row[tuple[object, ...]]) -> Head:
    return Head(
        next_seq=row.next_seq,
        flush_to=row.flush_to,
        close_requested=row.close_requested,
        triggered=row.triggered,
        fold_cap=row.fold_cap,
        pending=Pending(
            rounds=row.pending_rounds,
            tokens=row.pending_tokens,
            tool_finished=row.tool_finished,
            last_budget=row.last_budget,
        ),
    )
