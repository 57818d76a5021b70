from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from uuid import UUID

from sqlalchemy import Row

from shared.domain.ids import SessionKey, TurnId, UserKey, turn_id
from shared.domain.session import TurnState
from shared.domain.turn import Image, Lane, ToolCall, Turn
from shared.ports import KnownTurn, NewTurn, SessionRow, TurnRow, TurnSize
from shared.ports.recall import PendingTurn
from shared.stores.postgres.engine import Repository, dumps

KNOWN = """
select client_id, body_hmac, sequence from turn_keys
where session_key = :session_key and client_id = any(:client_ids)
"""
ADD = """
insert into turns (tenant_id, session_key, sequence, accepted_at, turn_id, client_id, user_key, role, content,
    name, speaker, tool_calls, tool_call_id, images, metadata, tokens, lane, created_at)
values (turnkeep_tenant(), :session_key, :sequence, clock_timestamp(), :turn_id, :client_id, :user_key,
    :role, :text, :name, :speaker, cast(:tool_calls as jsonb), :tool_call_id, cast(:images as jsonb),
    cast(:metadata as jsonb), :tokens, :lane, coalesce(:created_at, clock_timestamp()))
"""
ADD_KEY = """
insert into turn_keys (tenant_id, session_key, client_id, body_hmac, sequence)
values (turnkeep_tenant(), :session_key, :client_id, :body_hmac, :sequence)
"""
COLUMNS = """
select turn_id, client_id, sequence, role, content, name, speaker, tool_calls, tool_call_id, images, metadata,
       tokens, lane, created_at, accepted_at, state, second_pass
from turns
"""
# A turn is accepted after its session was made: the bound prunes older months.
OF_SESSION = COLUMNS + " where session_key = :session_key and accepted_at >= :since"
NEWEST = OF_SESSION + " and state <> 'erased' order by sequence desc limit :limit"
RANGE = OF_SESSION + " and sequence between :first and :last and state <> 'erased' order by sequence"
PAGE = OF_SESSION + " and sequence > :after and state <> 'erased' order by sequence limit :limit"
BY_ID = OF_SESSION + " and turn_id = :turn_id"
FROM = """
select sequence, tokens, role, lane from turns
where session_key = :session_key and accepted_at >= :since and sequence >= :first
order by sequence limit :limit
"""
# Under today's epochs, so that what an erasure touched is out from its commit on.
PENDING_ELSEWHERE = """
select t.turn_id, t.client_id, t.sequence, t.role, t.content, t.name, t.speaker, t.tool_calls, t.tool_call_id,
       t.images, t.metadata, t.tokens, t.created_at, t.accepted_at, s.session_key, s.session_id
from turns t
join sessions s on s.tenant_id = t.tenant_id and s.session_key = t.session_key and s.epoch = 0
join users u on u.tenant_id = s.tenant_id and u.user_key = s.user_key and u.epoch = s.user_epoch
where t.user_key = :user_key and t.state = 'pending' and t.role <> 'system'
  and (cast(:here as uuid) is null or t.session_key <> :here)
order by t.accepted_at desc, t.sequence desc limit :limit
"""
SETTLE = """
update turns set state = :state, second_pass = coalesce(:second_pass, second_pass)
where session_key = :session_key and accepted_at >= :since and sequence between :first and :last
  and state = 'pending'
"""


class Turns(Repository):
    def known(self, session_key: SessionKey, *, client_ids: Sequence[str]) -> dict[str, KnownTurn]:
        if not client_ids:
            return {}
        rows = self.rows(KNOWN, {"session_key": session_key, "client_ids": list(client_ids)})
        return {
            row.client_id: KnownTurn(body_hmac=bytes(row.body_hmac), sequence=row.sequence) for row in rows
        }

    def add(
        self, turns: Sequence[NewTurn], *, session_key: SessionKey, user_key: UserKey, first: int, lane: Lane
    ) -> None:
        """Gives out `first`, `first + 1`, … in the order of `turns`; the head must be locked."""
        rows = [
            _new_row(turn, session_key=session_key, sequence=first + place)
            | {"user_key": user_key, "lane": lane}
            for place, turn in enumerate(turns)
        ]
        self.run(ADD, rows)
        keyed = [row for row in rows if row["client_id"] is not None]
        if keyed:
            self.run(ADD_KEY, keyed)

    def newest(self, session: SessionRow, *, limit: int) -> list[Turn]:
        rows = self.rows(NEWEST, _scope(session) | {"limit": limit})
        return [turn_of(row) for row in reversed(rows)]

    def pending_elsewhere(
        self, user_key: UserKey, *, here: SessionKey | None, limit: int
    ) -> list[PendingTurn]:
        rows = self.rows(PENDING_ELSEWHERE, {"user_key": user_key, "here": here, "limit": limit})
        return [
            PendingTurn(turn=turn_of(row), session_key=SessionKey(row.session_key), session_id=row.session_id)
            for row in rows
        ]

    def between(self, session: SessionRow, *, first: int, last: int) -> list[Turn]:
        return [turn_of(row) for row in self.rows(RANGE, _scope(session) | {"first": first, "last": last})]

    def page(self, session: SessionRow, *, after: int, limit: int) -> list[TurnRow]:
        rows = self.rows(PAGE, _scope(session) | {"after": after, "limit": limit})
        return [turn_row(row) for row in rows]

    def find(self, session: SessionRow, *, turn_id: UUID) -> TurnRow | None:
        row = self.row(BY_ID, _scope(session) | {"turn_id": turn_id})
        return turn_row(row) if row else None

    def sizes(self, session: SessionRow, *, first: int, limit: int) -> list[TurnSize]:
        rows = self.rows(FROM, _scope(session) | {"first": first, "limit": limit})
        return [TurnSize(**row._mapping) for row in rows]

    def settle(
        self, session: SessionRow, *, first: int, last: int, state: TurnState, second_pass: str | None
    ) -> int:
        return self.run(
            SETTLE,
            _scope(session) | {"first": first, "last": last, "state": state, "second_pass": second_pass},
        )


def _scope(session: SessionRow) -> dict[str, object]:
    return {"session_key": session.session_key, "since": session.created_at}


def _new_row(turn: NewTurn, *, session_key: SessionKey, sequence: int) -> dict[str, object]:
    return {
        "session_key": session_key,
        "sequence": sequence,
        "turn_id": turn_id(session_key, sequence=sequence),
        "client_id": turn.client_id,
        "body_hmac": turn.body_hmac,
        "role": turn.role,
        "text": turn.text,
        "name": turn.name,
        "speaker": turn.speaker,
        "tool_calls": dumps([asdict(call) for call in turn.tool_calls]),
        "tool_call_id": turn.tool_call_id,
        "images": dumps([asdict(image) for image in turn.images]),
        "metadata": dumps(turn.metadata),
        "tokens": turn.tokens,
        "created_at": turn.created_at,
    }


def turn_of(row: Row[tuple[object, ...]]) -> Turn:
    created_at: datetime = row.created_at
    return Turn(
        turn_id=TurnId(row.turn_id),
        client_id=row.client_id,
        sequence=row.sequence,
        role=row.role,
        text=row.content,
        tokens=row.tokens,
        created_at=created_at,
        accepted_at=row.accepted_at,
        name=row.name,
        speaker=row.speaker,
        tool_calls=tuple(ToolCall(**call) for call in row.tool_calls),
        tool_call_id=row.tool_call_id,
        images=tuple(Image(**image) for image in row.images),
        metadata=row.metadata,
    )


def turn_row(row: Row[tuple[object, ...]]) -> TurnRow:
    return TurnRow(turn=turn_of(row), state=row.state, second_pass=row.second_pass, lane=row.lane)
