"""Users: policy, sessions, erasure."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID
from zoneinfo import available_timezones

from fastapi import APIRouter, status
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from api_gateway.dependencies import CurrentCaller, CurrentGateway, Gateway, Identifier, need
from api_gateway.paging import Cursor, Limit, cursor_of, end_in
from api_gateway.routes.sessions import Erasure, SessionBody, session_body
from shared.domain.errors import Conflict, Missing
from shared.domain.ids import UserKey
from shared.ports import UserRow, Work

router = APIRouter(tags=["users"])
LIST = "sessions"


def known_zone(name: str) -> str:
    if name not in available_timezones():
        raise ValueError(f"{name!r} is no IANA time zone such as Asia/Shanghai")
    return name


class PolicyBody(BaseModel):
    """Only what is sent is changed."""

    model_config = ConfigDict(extra="forbid")

    persona: Literal["technical", "general", "default"] | None = None
    compression: Annotated[float, Field(ge=0, lt=1)] | None = None
    language: Annotated[str, Field(pattern=r"^[a-z]{2,3}$")] | None = None
    timezone: Annotated[str, AfterValidator(known_zone)] | None = None
    legal_hold: bool | None = None

    def changes(self) -> dict[str, object]:
        """null sets a field back to its default."""
        defaults: dict[str, object] = {"persona": "default", "legal_hold": False}
        sent = self.model_dump(exclude_unset=True)
        return {name: defaults.get(name) if value is None else value for name, value in sent.items()}


class PolicyAnswer(BaseModel):
    persona: Literal["technical", "general", "default"]
    compression: float | None
    language: str | None
    timezone: str | None
    legal_hold: bool


class ProfileItem(BaseModel):
    memory_id: UUID
    subject: str
    attribute: str
    value: str
    since: datetime


class UserBody(BaseModel):
    user_id: str
    policy: PolicyAnswer
    profile: list[ProfileItem]


class SessionsPage(BaseModel):
    sessions: list[SessionBody]
    next_cursor: str | None


def known_user(work: Work, *, user_id: str, user_key: UserKey) -> UserRow:
    user = work.users.find(user_key)
    if user is None:
        raise Missing("user", f"there is no user {user_id!r}; a user begins with the first turn or memory")
    return user


def _key(gateway: Gateway, caller: CurrentCaller, user_id: str) -> UserKey:
    return gateway.user_key(caller.tenant_id, user_id=user_id)


@router.get("/v1/users/{user_id}", summary="Policy, and what is known of the user as slots")
def get_user(user_id: Identifier, gateway: CurrentGateway, caller: CurrentCaller) -> UserBody:
    need(caller, "memories:read")
    with gateway.begin(caller.tenant_id) as work:
        user = known_user(work, user_id=user_id, user_key=_key(gateway, caller, user_id))
        return _user_body(work, user)


@router.put("/v1/users/{user_id}", summary="Set policy; makes the user if unknown")
def put_user(
    user_id: Identifier, body: PolicyBody, gateway: CurrentGateway, caller: CurrentCaller
) -> UserBody:
    need(caller, "memories:write")
    user_key = _key(gateway, caller, user_id)
    with gateway.begin(caller.tenant_id) as work:
        work.users.join(user_key, user_id=user_id, oldest=None)
        work.users.set_policy(user_key, changes=body.changes())
        return _user_body(work, known_user(work, user_id=user_id, user_key=user_key))


def _user_body(work: Work, user: UserRow) -> UserBody:
    profile = [
        ProfileItem(
            memory_id=memory.memory_id,
            subject=memory.slot.subject,
            attribute=memory.slot.attribute,
            value=memory.slot.value,
            since=memory.valid_from,
        )
        for memory in work.memories.profile(user.user_key)
        if memory.slot is not None
    ]
    policy = PolicyAnswer.model_validate(user.policy, from_attributes=True)
    return UserBody(user_id=user.user_id, policy=policy, profile=profile)


@router.get("/v1/users/{user_id}/sessions", summary="The user's sessions, newest first")
def get_sessions(
    user_id: Identifier,
    gateway: CurrentGateway,
    caller: CurrentCaller,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> SessionsPage:
    need(caller, "context:read")
    after = end_in(cursor, of=LIST)
    with gateway.begin(caller.tenant_id) as work:
        user = known_user(work, user_id=user_id, user_key=_key(gateway, caller, user_id))
        rows = work.sessions.of_user(user.user_key, after=after, limit=limit)
    last = rows[-1] if len(rows) == limit else None
    return SessionsPage(
        sessions=[session_body(row) for row in rows],
        next_cursor=last and cursor_of(last.created_at, last.session_key, of=LIST),
    )


@router.delete(
    "/v1/users/{user_id}",
    status_code=status.HTTP_202_ACCEPTED,
    summary="From this answer on nothing of the user is served",
)
def delete_user(user_id: Identifier, gateway: CurrentGateway, caller: CurrentCaller) -> Erasure:
    need(caller, "erase")
    with gateway.begin(caller.tenant_id) as work:
        user_key = _key(gateway, caller, user_id)
        held = work.erasures.lock_user(user_key)
        # Under the lock: of several deletes at once one finds the user.
        known_user(work, user_id=user_id, user_key=user_key)
        if held:
            raise Conflict("legal_hold", "this user is under legal hold; lift it first")
        erasure_id = work.erasures.bury_user(user_key)
    return Erasure(erasure_id=erasure_id)
