"""Memories: add, edit, delete."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Literal
from uuid import UUID

from fastapi import APIRouter, Depends, Header, status
from fastapi.responses import JSONResponse
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from api_gateway import direct
from api_gateway.dependencies import CurrentCaller, CurrentGateway, need
from api_gateway.routes.memory_bodies import MemoryText, memory_body, tag
from api_gateway.routes.turns import Moment, Name, canonical
from shared.domain.errors import Conflict, Invalid
from shared.domain.memory import Category, Kind, Memory, State, Statement, importance_of
from shared.ports import Writing
from shared.text.language import language_of
from shared.text.lexical import terms

router = APIRouter(tags=["memories"])
LONGEST_VERSION = 10
EditableState = Literal["live", "quarantined"]


def _rounded(share: float) -> float:
    """Single precision holds no float near zero, and nobody means so small a difference."""
    return round(share, 6)


class AddBody(BaseModel):
    id: Name | None = Field(None, description="Your own id: the same fact sent again is the same memory")
    user_id: Name
    text: MemoryText
    kind: Kind = "fact"
    category: Category = "general"
    metadata: dict[str, object] = {}
    valid_from: Moment | None = None


class Added(BaseModel):
    id: UUID
    state: State


class EditBody(BaseModel):
    """Only what is sent is changed."""

    model_config = ConfigDict(extra="forbid")

    text: MemoryText | None = None
    category: Category | None = None
    importance: Annotated[float, Field(ge=0, le=1), AfterValidator(_rounded)] | None = None
    pinned: bool | None = None
    wrong: bool | None = None
    valid_to: Moment | None = None
    state: EditableState | None = None


@router.post(
    "/v1/memories", status_code=status.HTTP_202_ACCEPTED, summary="Add a fact; it is merged like any other"
)
def post_memory(body: AddBody, gateway: CurrentGateway, caller: CurrentCaller) -> Added:
    need(caller, "memories:write")
    if body.kind == "episode":
        raise Invalid("kind", "an episode refers to a turn; post the turn instead")
    addition = direct.Addition(
        user_id=body.user_id,
        user_key=gateway.user_key(caller.tenant_id, user_id=body.user_id),
        statement=_statement(body),
        client_id=body.id,
        body_hmac=gateway.hmac(b"memory", canonical(body)),
    )
    with gateway.begin(caller.tenant_id) as work:
        memory_id = direct.add(addition, work=work, embedder=gateway.embedder.name)
        state = direct.find(work, memory_id).state
    gateway.bell.ring("embed")
    return Added(id=memory_id, state=state)


def _statement(body: AddBody) -> Statement:
    words = terms(body.text)
    return Statement(
        kind=body.kind,
        category=body.category,
        text=body.text,
        language=language_of(body.text, fallback="en"),
        trust="operator",
        importance=importance_of(body.text, words=words, entities=0, remember=False),
        sequences=(),
        valid_from=body.valid_from or datetime.now(UTC),
        metadata=body.metadata,
    )


def _versions(if_match: Annotated[str | None, Header()] = None) -> list[int] | None:
    """The versions an If-Match header allows; None for any."""
    if if_match is None or if_match.strip() == "*":
        return None
    tags = [item.strip().removeprefix("W/").strip('"') for item in if_match.split(",")]
    return [int(tag) for tag in tags if tag.isascii() and tag.isdigit() and len(tag) <= LONGEST_VERSION]


IfMatch = Annotated[list[int] | None, Depends(_versions)]


@router.patch("/v1/memories/{memory_id}", summary="Edit; If-Match guards against editing what has changed")
def patch_memory(
    memory_id: UUID, body: EditBody, versions: IfMatch, gateway: CurrentGateway, caller: CurrentCaller
) -> JSONResponse:
    need(caller, "memories:write")
    changes = body.model_dump(exclude_unset=True)
    if not changes:
        raise Invalid("nothing", "the body names nothing to change")
    with gateway.begin(caller.tenant_id) as work:
        memory, user = direct.lock(work, memory_id, versions=versions)
        _check_edit(memory, changes=changes)
        writing = Writing(user=user, embedder=gateway.embedder.name, lane="interactive")
        direct.edit(work, memory, changes=changes, actor=f"key:{caller.key_id}", writing=writing)
        edited = direct.find(work, memory_id)
    gateway.bell.ring("embed", "index")
    return JSONResponse(memory_body(edited).model_dump(mode="json"), headers={"ETag": tag(edited)})


def _check_edit(memory: Memory, *, changes: Mapping[str, object]) -> None:
    if any(value is None for name, value in changes.items() if name != "valid_to"):
        raise Invalid("null", "only valid_to may be null")
    if memory.kind == "episode" and "text" in changes:
        raise Invalid("episode", "an episode's text is its turn's; mark it wrong or delete it instead")
    if "state" in changes and memory.state not in ("live", "quarantined"):
        raise Invalid("state", f"a memory that is {memory.state} cannot be set to another state")
    valid_to = changes.get("valid_to")
    if isinstance(valid_to, datetime) and valid_to < memory.valid_from:
        raise Invalid("valid_to", "valid_to lies before valid_from")


@router.delete(
    "/v1/memories/{memory_id}", status_code=status.HTTP_204_NO_CONTENT, summary="Delete one memory"
)
def delete_memory(memory_id: UUID, versions: IfMatch, gateway: CurrentGateway, caller: CurrentCaller) -> None:
    need(caller, "memories:write")
    with gateway.begin(caller.tenant_id) as work:
        memory, user = direct.lock(work, memory_id, versions=versions)
        if user.policy.legal_hold:
            raise Conflict("legal_hold", "this user is under legal hold; lift it first")
        writing = Writing(user=user, embedder=gateway.embedder.name, lane="interactive")
        direct.forget(work, memory, writing=writing)
    gateway.bell.ring("index")
