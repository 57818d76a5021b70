"""Memories: search, list, read, history."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Response
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints

from api_gateway import direct
from api_gateway.dependencies import CurrentCaller, CurrentGateway, Identifier, need, storable
from api_gateway.paging import Cursor, Limit, cursor_of, end_in
from api_gateway.recall.assemble import search
from api_gateway.recall.query import SearchRequest
from api_gateway.routes.memory_bodies import LONGEST_TEXT, MemoryBody, fields_of, memory_body, tag
from api_gateway.routes.turns import Moment, Name, Text
from api_gateway.routes.users import known_user
from shared.domain.memory import Category, Kind, State
from shared.ports import MemoryFilter, PageEnd

router = APIRouter(tags=["memories"])
HISTORY_SHOWN = 100
LIST = "memories"


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


class Change(BaseModel):
    change_id: UUID
    version: int
    actor: str
    change: str
    before: dict[str, object]
    at: datetime


class History(BaseModel):
    changes: list[Change]


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
            fields_of(each.memory) | {"score": each.score, "why": each.why}, from_attributes=True
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


@router.get("/v1/memories/{memory_id}", summary="One memory, with its ETag")
def get_memory(
    memory_id: UUID, response: Response, gateway: CurrentGateway, caller: CurrentCaller
) -> MemoryBody:
    need(caller, "memories:read")
    with gateway.begin(caller.tenant_id) as work:
        memory = direct.find(work, memory_id)
    response.headers["ETag"] = tag(memory)
    return memory_body(memory)


@router.get("/v1/memories/{memory_id}/history", summary="Who or what changed a memory, newest first")
def get_history(memory_id: UUID, gateway: CurrentGateway, caller: CurrentCaller) -> History:
    need(caller, "memories:read")
    with gateway.begin(caller.tenant_id) as work:
        direct.find(work, memory_id)
        rows = work.memories.history(memory_id, limit=HISTORY_SHOWN)
    return History(changes=[Change.model_validate(row, from_attributes=True) for row in rows])
