"""Posting turns, and where each of them stands."""

from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Annotated, Literal
from uuid import UUID

import orjson
from fastapi import APIRouter, status
from pydantic import AfterValidator, AwareDatetime, BaseModel, Field, model_validator

from api_gateway.accept import Receipt, Submission, accept
from api_gateway.dependencies import (
    LONGEST_ID,
    CurrentCaller,
    CurrentDelivery,
    CurrentGateway,
    Gateway,
    Identifier,
    known_session,
    need,
    storable,
)
from api_gateway.standing import StageState, standing
from shared.domain.errors import Missing, TooLarge
from shared.domain.ids import TenantId, turn_id
from shared.domain.turn import Image, Role, Speaker, ToolCall
from shared.ports import NewTurn, SessionRow, TurnRow, Work

router = APIRouter(tags=["turns"])
EARLIEST = datetime(1970, 1, 1, tzinfo=UTC)
LATEST = datetime(2200, 1, 1, tzinfo=UTC)
Text = Annotated[str, AfterValidator(storable)]
Name = Annotated[str, Field(min_length=1, max_length=LONGEST_ID), AfterValidator(storable)]


def plausible(moment: datetime) -> datetime:
    if not EARLIEST <= moment < LATEST:
        raise ValueError("a time lies between 1970 and 2200")
    return moment.astimezone(UTC)


Moment = Annotated[AwareDatetime, AfterValidator(plausible)]


class ImageUrl(BaseModel):
    url: Text
    caption: Text | None = None


class TextPart(BaseModel):
    type: Literal["text"]
    text: Text

    def said(self) -> str:
        return self.text


class ImagePart(BaseModel):
    """OpenAI's shape; the caption may stand beside or inside. The image is never fetched."""

    type: Literal["image_url"]
    image_url: ImageUrl
    caption: Text | None = None

    def said(self) -> str:
        return self.image().caption or "[image]"

    def image(self) -> Image:
        return Image(url=self.image_url.url, caption=self.caption or self.image_url.caption or "")


class FunctionBody(BaseModel):
    name: Name
    arguments: Text | Mapping[str, object] = "{}"


class ToolCallBody(BaseModel):
    """OpenAI's shape."""

    id: Name
    type: Literal["function"] = "function"
    function: FunctionBody

    def call(self) -> ToolCall:
        arguments = self.function.arguments
        text = arguments if isinstance(arguments, str) else orjson.dumps(arguments).decode()
        return ToolCall(id=self.id, name=self.function.name, arguments=text)


class TurnBody(BaseModel):
    id: Name | None = Field(None, description="Your own id: the same turn sent again is a duplicate")
    role: Role
    content: Text | list[Annotated[TextPart | ImagePart, Field(discriminator="type")]] | None = None
    name: Name | None = None
    speaker: Speaker | None = None
    tool_calls: list[ToolCallBody] = []
    tool_call_id: Name | None = None
    created_at: Moment | None = None
    metadata: dict[str, object] = {}

    @model_validator(mode="after")
    def says_something(self) -> "TurnBody":
        if self.role == "tool":
            if self.tool_call_id is None:
                raise ValueError("a tool turn names the tool_call_id it answers")
        elif not self.text().strip() and not self.tool_calls:
            raise ValueError("a turn has content or tool_calls")
        if self.tool_calls and self.role != "assistant":
            raise ValueError("only an assistant turn has tool_calls")
        return self

    def text(self) -> str:
        if self.content is None or isinstance(self.content, str):
            return self.content or ""
        return "\n".join(part.said() for part in self.content)

    def images(self) -> list[Image]:
        parts = self.content if isinstance(self.content, list) else []
        return [part.image() for part in parts if isinstance(part, ImagePart)]


class TurnsBody(BaseModel):
    user_id: Name
    turns: Annotated[list[TurnBody], Field(min_length=1)]


class AcceptedTurn(BaseModel):
    turn_id: UUID
    id: str | None
    sequence: int
    duplicate: bool


class Accepted(BaseModel):
    accepted: list[AcceptedTurn]


@router.post(
    "/v1/sessions/{session_id}/turns",
    status_code=status.HTTP_202_ACCEPTED,
    summary="Accept turns: all of them or none, committed before the answer",
)
def post_turns(
    session_id: Identifier,
    body: TurnsBody,
    gateway: CurrentGateway,
    caller: CurrentCaller,
    delivery: CurrentDelivery,
) -> Accepted:
    need(caller, "turns:write")
    if len(body.turns) > gateway.settings.gateway.batch_limit:
        limit = gateway.settings.gateway.batch_limit
        raise TooLarge("too_many_turns", f"a request may have {limit} turns; send the rest in another")
    user_key = gateway.user_key(caller.tenant_id, user_id=body.user_id)
    submission = Submission(
        tenant_id=caller.tenant_id,
        session_id=session_id,
        user_id=body.user_id,
        user_key=user_key,
        turns=[new_turn(turn, gateway=gateway, tenant_id=caller.tenant_id) for turn in body.turns],
        lane=delivery.lane,
        body_hmac=gateway.hmac(b"body", session_id.encode(), canonical(body)),
        key_hmac=delivery.idempotency_key and gateway.hmac(b"key", delivery.idempotency_key),
    )
    acceptance = accept(submission, begin=gateway.begin, policy=gateway.accept_policy)
    for receipt in acceptance.receipts:
        gateway.metrics.accepted.labels("duplicate" if receipt.duplicate else "new").inc()
    if acceptance.due:
        gateway.bell.ring("extract", "summarize")
    return Accepted(accepted=[accepted_turn(receipt) for receipt in acceptance.receipts])


def new_turn(turn: TurnBody, *, gateway: Gateway, tenant_id: TenantId) -> NewTurn:
    text = turn.text()
    calls = [call.call() for call in turn.tool_calls]
    limit = gateway.settings.gateway.turn_limit
    if len(text.encode()) + sum(len(call.arguments.encode()) for call in calls) > limit:
        raise TooLarge(
            "turn_too_large", f"a turn's text and arguments may have {limit} bytes; split or shorten them"
        )
    return NewTurn(
        client_id=turn.id,
        role=turn.role,
        text=text,
        tokens=gateway.counter.count(text),
        body_hmac=gateway.hmac(b"turn", tenant_id.bytes, canonical(turn)),
        created_at=turn.created_at,
        name=turn.name,
        speaker=turn.speaker,
        tool_calls=calls,
        tool_call_id=turn.tool_call_id,
        images=turn.images(),
        metadata=turn.metadata,
    )


def canonical(body: BaseModel) -> bytes:
    """One form for bodies that say the same: keys sorted, what is unset left out."""
    return orjson.dumps(body.model_dump(mode="json", exclude_unset=True), option=orjson.OPT_SORT_KEYS)


def accepted_turn(receipt: Receipt) -> AcceptedTurn:
    return AcceptedTurn(
        turn_id=receipt.turn_id, id=receipt.id, sequence=receipt.sequence, duplicate=receipt.duplicate
    )


def _turn(work: Work, session: SessionRow, *, named: str) -> TurnRow | None:
    known = work.turns.known(session.session_key, client_ids=[named]).get(named)
    if known is not None:
        return work.turns.find(session, turn_id=turn_id(session.session_key, sequence=known.sequence))
    try:
        return work.turns.find(session, turn_id=UUID(named))
    except ValueError:
        return None


class StageStatus(BaseModel):
    state: StageState
    error: str | None
    attempts: int
    next_try: datetime | None


class TurnStatus(BaseModel):
    turn_id: UUID
    id: str | None
    sequence: int
    state: Literal["pending", "done", "dead"]
    reason: str | None
    stages: dict[str, StageStatus]
    second_pass: Literal["due", "done"] | None
    accepted_at: datetime


@router.get("/v1/sessions/{session_id}/turns/{turn_id}", summary="Where a turn stands, stage by stage")
def get_turn(
    session_id: Identifier, turn_id: Identifier, gateway: CurrentGateway, caller: CurrentCaller
) -> TurnStatus:
    """By the `turn_id` of the answer, or by the id you gave it."""
    need(caller, "context:read")
    with gateway.begin(caller.tenant_id) as work:
        session = known_session(work, session_id)
        row = _turn(work, session, named=turn_id)
        if row is None or row.state == "erased":
            raise Missing("turn", f"session {session_id!r} has no turn {turn_id!r}")
        sequence = row.turn.sequence
        stood = standing(
            row,
            stages=work.batches.stages(session.session_key, sequence=sequence),
            debts=work.debts.of_turn(session.session_key, sequence=sequence),
            failure=work.failures.of_turn(session.session_key, sequence=sequence),
        )
    return TurnStatus(
        turn_id=row.turn.turn_id,
        id=row.turn.client_id,
        sequence=sequence,
        state=row.state,
        reason=stood.reason,
        stages={name: StageStatus(**asdict(stage)) for name, stage in stood.stages.items()},
        second_pass=row.second_pass,
        accepted_at=row.turn.accepted_at,
    )
