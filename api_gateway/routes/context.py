"""The context an agent's model is handed."""

from datetime import UTC, datetime
from time import perf_counter
from typing import Annotated, Literal
from uuid import UUID

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from api_gateway.dependencies import CurrentCaller, CurrentGateway, Gateway, Identifier, need
from api_gateway.recall.assemble import Context, assemble
from api_gateway.recall.query import SECTIONS, ContextRequest, Section
from api_gateway.routes.turns import Name, Text
from shared.domain.errors import Conflict, Invalid, SettingsError
from shared.domain.ids import UserKey
from shared.domain.policy import BudgetSplit, UserPolicy
from shared.ports import SessionRow, TokenCounter, UserRow, Work

router = APIRouter(tags=["context"])
SMALLEST_BUDGET = 16


class Include(BaseModel):
    """Which sections to hand out, and the shares of the budget (they add up to 1)."""

    model_config = ConfigDict(extra="ignore")

    profile: bool = True
    working: bool = True
    condensed: bool = True
    memories: bool = True
    split: dict[Literal["working", "condensed", "long_term"], float] | None = None


class ContextBody(BaseModel):
    user_id: Name | None = Field(None, description="Needed only for a session without turns yet")
    query: Text | None = None
    max_tokens: Annotated[int, Field(ge=SMALLEST_BUDGET)]
    format: Literal["messages", "text", "json"] = "messages"
    insert_method: Literal["user", "system"] = "user"
    model: str | None = Field(None, description="Whose tokens are counted; o200k_base when not named")
    include: Include = Include()


class TokensUsed(BaseModel):
    budget: int
    used: int
    sections: dict[str, int]


class RecalledBody(BaseModel):
    id: UUID
    text: str
    score: float
    tier: Literal["hot", "warm", "cold"]
    turn_ids: list[UUID]
    why: str


class ItemBody(BaseModel):
    text: str
    turn_ids: list[UUID]
    memory_id: UUID | None = None
    tokens: int


class ContextAnswer(BaseModel):
    messages: list[dict[str, object]] | None = None
    text: str | None = None
    sections: dict[str, list[ItemBody]] | None = None
    tokens: TokensUsed
    memories: list[RecalledBody]
    pending_turns: int
    degraded: list[Literal["model", "embedder", "vectors", "broker", "workers"]]


@router.post(
    "/v1/sessions/{session_id}/context",
    response_model_exclude_none=True,
    summary="A token-budgeted context; never waits for a worker",
)
def post_context(
    session_id: Identifier, body: ContextBody, gateway: CurrentGateway, caller: CurrentCaller
) -> ContextAnswer:
    need(caller, "context:read")
    limit = gateway.settings.gateway.max_tokens_limit
    if body.max_tokens > limit:
        raise Invalid("max_tokens", f"max_tokens may be {limit} at most")
    named = None if body.user_id is None else gateway.user_key(caller.tenant_id, user_id=body.user_id)
    with gateway.begin(caller.tenant_id) as work:
        session, user = _whose(work, session_id=session_id, named=named)
    request = _request(body, session=session, user=user, gateway=gateway)
    started = perf_counter()
    context = assemble(
        request,
        begin=lambda: gateway.begin(caller.tenant_id),
        index=gateway.open_index(caller.tenant_id),
        embedder=gateway.embedder,
        counter=_counter(body.model, gateway=gateway),
    )
    _measure(context, seconds=perf_counter() - started, gateway=gateway)
    gateway.usage.note(
        caller.tenant_id,
        memory_ids=context.accessed,
        session_key=session.session_key if session else None,
        budget=body.max_tokens,
    )
    return answer_of(context)


def _measure(context: Context, *, seconds: float, gateway: Gateway) -> None:
    metrics = gateway.metrics
    metrics.context_seconds.labels(",".join(context.degraded)).observe(seconds)
    for section, tokens in context.tokens.sections.items():
        metrics.context_tokens.labels(section).observe(tokens)


def _whose(work: Work, *, session_id: str, named: UserKey | None) -> tuple[SessionRow | None, UserRow | None]:
    """Raises Conflict when the session is another user's, Invalid when nobody is named."""
    session = work.sessions.find(session_id)
    if session is not None and named not in (None, session.user_key):
        raise Conflict("session_of_another_user", f"session {session_id!r} belongs to another user")
    user_key = session.user_key if session else named
    if user_key is None:
        raise Invalid("user_id", "this session has no turns yet: name its user_id")
    return session, work.users.find(user_key)


def _counter(model: str | None, *, gateway: Gateway) -> TokenCounter:
    if model is None:
        return gateway.counter
    try:
        return gateway.counter_for(model)
    except SettingsError as error:
        raise Invalid("model", str(error)) from None


def _request(
    body: ContextBody, *, session: SessionRow | None, user: UserRow | None, gateway: Gateway
) -> ContextRequest:
    wanted = body.include.model_dump()
    include: frozenset[Section] = frozenset(section for section in SECTIONS if wanted[section])
    user_policy = user.policy if user else UserPolicy()
    return ContextRequest(
        session=session,
        user_key=user.user_key if user else None,
        max_tokens=body.max_tokens,
        now=datetime.now(UTC),
        query=body.query,
        format=body.format,
        insert_method=body.insert_method,
        include=include,
        split=BudgetSplit(**body.include.split) if body.include.split else gateway.accept_policy.split,
        policy=gateway.settings.recall.policy,
        share_removed=user_policy.share_removed,
        language=user_policy.language,
        embed_seconds=gateway.settings.embedder.query_deadline,
    )


def answer_of(context: Context) -> ContextAnswer:
    return ContextAnswer.model_validate(context, from_attributes=True)
