"""Sessions: reading back, flush, close, diagnosis, erasure."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from fastapi import APIRouter, status
from pydantic import BaseModel, Field

from api_gateway.dependencies import (
    CurrentCaller,
    CurrentGateway,
    Identifier,
    known_session,
    need,
)
from api_gateway.paging import Cursor, Limit, cursor_of, sequence_in
from api_gateway.routes.turns import Text
from shared.domain.errors import Conflict
from shared.domain.turn import Role, Speaker
from shared.ports import SessionRow, TurnRow

router = APIRouter(tags=["sessions"])
BATCHES_SHOWN = 50
LONGEST_OUTCOME = 1_000
LIST = "turns"


class SessionBody(BaseModel):
    session_id: str
    user_id: str
    created_at: datetime
    language: str | None
    applied: int = Field(description="Turns up to this sequence have become memory")
    closed_at: datetime | None
    outcome: str | None
    wrap_up: str | None


class TurnBack(BaseModel):
    turn_id: UUID
    id: str | None
    sequence: int
    role: Role
    content: str
    name: str | None
    speaker: Speaker | None
    tool_calls: list[dict[str, object]]
    tool_call_id: str | None
    images: list[dict[str, str]]
    metadata: dict[str, object]
    tokens: int
    state: Literal["pending", "done", "dead"]
    created_at: datetime
    accepted_at: datetime


class TurnsPage(BaseModel):
    turns: list[TurnBack]
    next_cursor: str | None


class Due(BaseModel):
    flush_to: int = Field(description="Turns up to this sequence are worked on now")


class CloseBody(BaseModel):
    outcome: Annotated[Text, Field(max_length=LONGEST_OUTCOME)] | None = None


class Erasure(BaseModel):
    erasure_id: UUID


class FlushReport(BaseModel):
    kind: str
    first: int
    last: int
    state: str
    report: dict[str, object]
    opened_at: datetime
    closed_at: datetime | None


class PendingReport(BaseModel):
    turns: int
    rounds: int
    tokens: int


class Diagnosis(BaseModel):
    session_id: str
    accepted: int
    applied: int
    pending: PendingReport
    fold_cap: int | None
    last_budget: int
    batches: list[FlushReport] = Field(
        description="Newest first: what each fold inserted, merged, superseded"
    )


def session_body(row: SessionRow) -> SessionBody:
    return SessionBody.model_validate(row, from_attributes=True)


@router.get("/v1/sessions/{session_id}", summary="A session, with its wrap-up once it is closed")
def get_session(session_id: Identifier, gateway: CurrentGateway, caller: CurrentCaller) -> SessionBody:
    need(caller, "context:read")
    with gateway.begin(caller.tenant_id) as work:
        return session_body(known_session(work, session_id))


@router.get("/v1/sessions/{session_id}/turns", summary="A session's turns, oldest first")
def get_turns(
    session_id: Identifier,
    gateway: CurrentGateway,
    caller: CurrentCaller,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> TurnsPage:
    need(caller, "context:read")
    after = sequence_in(cursor, of=LIST)
    with gateway.begin(caller.tenant_id) as work:
        rows = work.turns.page(known_session(work, session_id), after=after, limit=limit)
    full = len(rows) == limit
    return TurnsPage(
        turns=[turn_back(row) for row in rows],
        next_cursor=cursor_of(rows[-1].turn.sequence, of=LIST) if full else None,
    )


def turn_back(row: TurnRow) -> TurnBack:
    turn = row.turn
    return TurnBack(
        turn_id=turn.turn_id,
        id=turn.client_id,
        sequence=turn.sequence,
        role=turn.role,
        content=turn.text,
        name=turn.name,
        speaker=turn.speaker,
        tool_calls=[
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in turn.tool_calls
        ],
        tool_call_id=turn.tool_call_id,
        images=[{"url": image.url, "caption": image.caption} for image in turn.images],
        metadata=dict(turn.metadata),
        tokens=turn.tokens,
        state=row.state,
        created_at=turn.created_at,
        accepted_at=turn.accepted_at,
    )


@router.post(
    "/v1/sessions/{session_id}/flush",
    status_code=status.HTTP_202_ACCEPTED,
    summary="Work on what is pending now instead of at the next trigger",
)
def post_flush(session_id: Identifier, gateway: CurrentGateway, caller: CurrentCaller) -> Due:
    need(caller, "turns:write")
    with gateway.begin(caller.tenant_id) as work:
        session = known_session(work, session_id)
        work.sessions.flush(session.session_key)
        head = work.sessions.head(session.session_key)
    gateway.bell.ring("extract", "summarize")
    return Due(flush_to=head.flush_to)


@router.post(
    "/v1/sessions/{session_id}/close",
    status_code=status.HTTP_202_ACCEPTED,
    summary="Flush, then write the wrap-up; a later turn reopens the session",
)
def post_close(
    session_id: Identifier, gateway: CurrentGateway, caller: CurrentCaller, body: CloseBody | None = None
) -> Due:
    need(caller, "turns:write")
    with gateway.begin(caller.tenant_id) as work:
        session = known_session(work, session_id)
        work.sessions.close(session.session_key, outcome=body.outcome if body else None)
        head = work.sessions.head(session.session_key)
    gateway.bell.ring("extract", "summarize")
    return Due(flush_to=head.flush_to)


@router.get("/v1/sessions/{session_id}/diagnosis", summary="What was flushed, merged and left, and when")
def get_diagnosis(session_id: Identifier, gateway: CurrentGateway, caller: CurrentCaller) -> Diagnosis:
    need(caller, "context:read")
    with gateway.begin(caller.tenant_id) as work:
        session = known_session(work, session_id)
        head = work.sessions.head(session.session_key)
        batches = work.batches.of_session(session.session_key, limit=BATCHES_SHOWN)
    return Diagnosis(
        session_id=session_id,
        accepted=head.next_seq - 1,
        applied=session.applied,
        pending=PendingReport(
            turns=head.next_seq - 1 - session.applied, rounds=head.pending.rounds, tokens=head.pending.tokens
        ),
        fold_cap=head.fold_cap,
        last_budget=head.pending.last_budget,
        batches=[FlushReport.model_validate(batch, from_attributes=True) for batch in batches],
    )


@router.delete(
    "/v1/sessions/{session_id}",
    status_code=status.HTTP_202_ACCEPTED,
    summary="From this answer on nothing of the session is served",
)
def delete_session(session_id: Identifier, gateway: CurrentGateway, caller: CurrentCaller) -> Erasure:
    need(caller, "erase")
    with gateway.begin(caller.tenant_id) as work:
        if work.erasures.lock_user(known_session(work, session_id).user_key):
            raise Conflict("legal_hold", "this user is under legal hold; lift it first")
        # Again, now that nobody else can erase it: of several deletes at once one finds it.
        session = known_session(work, session_id)
        erasure_id = work.erasures.bury_session(session.session_key, user_key=session.user_key)
    return Erasure(erasure_id=erasure_id)
