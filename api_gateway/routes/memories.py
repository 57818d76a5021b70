"""Memories: search, list, add, read, edit, delete, history."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Literal
from uuid import UUID

from fastapi import APIRouter, Depends, Header, Response, status
from fastapi.responses import JSONResponse
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints

from api_gateway import direct
from api_gateway.dependencies import CurrentCaller, CurrentGateway, Identifier, need, storable
from api_gateway.paging import Cursor, Limit, cursor_of, end_in
from api_gateway.recall.assemble import search
from api_gateway.recall.query import SearchRequest
from api_gateway.routes.turns import Moment, Name, Text, canonical
from api_gateway.routes.users import known_user
from shared.domain.errors import Conflict, Invalid
from shared.domain.memory import Category, Kind, Memory, State, Statement, Tier, Trust, importance_of
from shared.ports import MemoryFilter, PageEnd, Writing
from shared.text.language import language_of
from shared.text.lexical import terms

router = APIRouter(tags=["memories"])
LONGEST_TEXT = 8_000
HISTORY_SHOWN = 100
LONGEST_VERSION = 10
LIST = "memories"
MemoryText = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=LONGEST_TEXT),
    AfterValidator(storable),
]
EditableState = Literal["live", "quarantined"]


def _rounded(share: float) -> float:
    """Single precision holds no float near zero, and nobody means so small a difference."""
    return round(share, 6)


class SlotBody(BaseModel):
    subject: str
    attribute: str
    value: str


class EntityBody(BaseModel):
    kind: str
    value: str
    text: str


class MemoryBody(BaseModel):
    id: UUID
    kind: Kind
    category: Category
    text: str
    language: str
    trust: Trust
    state: State
    tier: Tier
    importance: float
    pinned: bool
    wrong: bool
    version: int
    slot: SlotBody | None
    entities: list[EntityBody]
    turn_ids: list[UUID]
    session_id: str | None
    merged_into: UUID | None
    superseded_by: UUID | None
    metadata: dict[str, object]
    valid_from: datetime
    valid_to: datetime | None
    created_at: datetime
    updated_at: datetime


class ScoredBody(MemoryBody):
    score: float
    why: str


class Filters(BaseModel):
    model_config = ConfigDict(extra="forbid", populate_by_name=True)

    category: Category | None = None
    kind: Kind | None = None
    entity: Text | None = None
    session_id: Text | None = None
    start: Moment | None = Field(None, alias="from")
    end: Moment | None = Field(None, alias="to")


class SearchBody(BaseModel):
    user_id: Name
    query: Annotated[str, StringConstraints(max_length=LONGEST_TEXT), AfterValidator(storable)]
    top_k: Annotated[int, Field(ge=1, le=100)] | None = None
    filters: Filters = Filters()
    include_archived: bool = False
    as_of: Moment | None = None


class SearchAnswer(BaseModel):
    memories: list[ScoredBody]
    degraded: list[str]


class MemoriesPage(BaseModel):
    memories: list[MemoryBody]
    next_cursor: str | None


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


class Change(BaseModel):
    change_id: UUID
    version: int
    actor: str
    change: str
    before: dict[str, object]
    at: datetime


class History(BaseModel):
    changes: list[Change]


def memory_body(memory: Memory) -> MemoryBody:
    return MemoryBody.model_validate(_fields(memory), from_attributes=True)


def _fields(memory: Memory) -> dict[str, object]:
    shown = {name: getattr(memory, name) for name in MemoryBody.model_fields if name != "id"}
    return shown | {"id": memory.memory_id}


def tag(memory: Memory) -> str:
    return f'"{memory.version}"'


@router.post("/v1/memories/search", summary="Search one user's memories, best first")
def post_search(body: SearchBody, gateway: CurrentGateway, caller: CurrentCaller) -> SearchAnswer:
    need(caller, "memories:read")
    user_key = gateway.user_key(caller.tenant_id, user_id=body.user_id)
    recall = gateway.settings.recall
    found = search(
        SearchRequest(
            user_key=user_key,
            query=body.query,
            now=datetime.now(UTC),
            only=_only(body),
            policy=recall.policy,
            top_k=body.top_k or recall.top_k,
            embed_seconds=gateway.settings.embedder.query_deadline,
        ),
        begin=lambda: gateway.begin(caller.tenant_id),
        index=gateway.open_index(caller.tenant_id),
        embedder=gateway.embedder,
        counter=gateway.counter,
    )
    gateway.usage.note(caller.tenant_id, memory_ids=found.accessed, session_key=None, budget=0)
    memories = [
        ScoredBody.model_validate(
            _fields(each.memory) | {"score": each.score, "why": each.why}, from_attributes=True
        )
        for each in found.memories
    ]
    return SearchAnswer(memories=memories, degraded=list(found.degraded))


def _only(body: SearchBody) -> MemoryFilter:
    wanted = body.filters
    states: tuple[State, ...] = ("live", "superseded") if body.as_of else ("live",)
    return MemoryFilter(
        category=wanted.category,
        kind=wanted.kind,
        entity=wanted.entity,
        session_id=wanted.session_id,
        start=wanted.start,
        end=wanted.end,
        states=states,
        as_of=body.as_of,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    only: MemoryFilter
    after: PageEnd | None
    limit: int


def current_page(
    limit: Limit = 50,
    cursor: Cursor = None,
    state: State = "live",
    kind: Kind | None = None,
    category: Category | None = None,
) -> Page:
    only = MemoryFilter(kind=kind, category=category, states=(state,))
    return Page(only=only, after=end_in(cursor, of=LIST), limit=limit)


CurrentPage = Annotated[Page, Depends(current_page)]


@router.get("/v1/users/{user_id}/memories", summary="A user's memories, newest first")
def get_memories(
    user_id: Identifier,
    gateway: CurrentGateway,
    caller: CurrentCaller,
    page: CurrentPage,
) -> MemoriesPage:
    need(caller, "memories:read")
    user_key = gateway.user_key(caller.tenant_id, user_id=user_id)
    with gateway.begin(caller.tenant_id) as work:
        known_user(work, user_id=user_id, user_key=user_key)
        memories = work.memories.page(user_key, only=page.only, after=page.after, limit=page.limit)
    last = memories[-1] if len(memories) == page.limit else None
    return MemoriesPage(
        memories=[memory_body(memory) for memory in memories],
        next_cursor=last and cursor_of(last.created_at, last.memory_id, of=LIST),
    )


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


@router.get("/v1/memories/{memory_id}", summary="One memory, with its ETag")
def get_memory(
    memory_id: UUID, response: Response, gateway: CurrentGateway, caller: CurrentCaller
) -> MemoryBody:
    need(caller, "memories:read")
    with gateway.begin(caller.tenant_id) as work:
        memory = direct.find(work, memory_id)
    response.headers["ETag"] = tag(memory)
    return memory_body(memory)


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
    if memory.state == "pending" and "text" in changes:
        raise Conflict("pending", "this memory is still being merged; edit its text when it is live")
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


@router.get("/v1/memories/{memory_id}/history", summary="Who or what changed a memory, newest first")
def get_history(memory_id: UUID, gateway: CurrentGateway, caller: CurrentCaller) -> History:
    need(caller, "memories:read")
    with gateway.begin(caller.tenant_id) as work:
        direct.find(work, memory_id)
        rows = work.memories.history(memory_id, limit=HISTORY_SHOWN)
    return History(changes=[Change.model_validate(row, from_attributes=True) for row in rows])
