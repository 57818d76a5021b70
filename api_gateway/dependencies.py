"""What routes are given. The adapters are imported here and in `main` only."""

import hashlib
import hmac
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated
from uuid import UUID

from fastapi import Depends, Header, Path, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from pydantic import AfterValidator, BeforeValidator
from sqlalchemy import Engine

from api_gateway.accept import AcceptPolicy
from api_gateway.usage import Usage
from shared.broker import QuietBell
from shared.domain.errors import Forbidden, Invalid, Missing, Unauthorized
from shared.domain.ids import TenantId, UserKey
from shared.domain.turn import Lane
from shared.ports import Begin, Embedder, OpenIndex, SessionRow, TokenCounter, Work
from shared.settings import Settings
from shared.stores.postgres.dispatch import Dispatch
from shared.stores.postgres.keys import Caller, authenticate
from shared.telemetry import Metrics
from shared.text.sanitize import refuse_reason

LONGEST_ID = 256
LONGEST_IDEMPOTENCY_KEY = 255


@dataclass(frozen=True, slots=True, kw_only=True)
class Gateway:
    """Everything a process of the gateway holds."""

    settings: Settings
    engine: Engine
    begin: Begin
    dispatch: Dispatch
    open_index: OpenIndex
    embedder: Embedder
    counter: TokenCounter
    counter_for: Callable[[str], TokenCounter]
    bell: QuietBell
    accept_policy: AcceptPolicy
    usage: Usage
    metrics: Metrics
    pepper: bytes

    def hmac(self, *parts: bytes) -> bytes:
        """Keyed, over the parts with their lengths, so that no two lists of parts look alike."""
        digest = hmac.new(self.pepper, digestmod=hashlib.sha256)
        for part in parts:
            digest.update(len(part).to_bytes(8, "big") + part)
        return digest.digest()

    def user_key(self, tenant_id: TenantId, *, user_id: str) -> UserKey:
        """What stands for a user in every row: it names nobody once the user's own row is blanked."""
        return UserKey(UUID(bytes=self.hmac(b"user", tenant_id.bytes, user_id.encode())[:16]))


# Dependencies that only look at the request are `async`: FastAPI takes any other to a thread and back.
async def current_gateway(request: Request) -> Gateway:
    gateway: Gateway = request.app.state.gateway
    return gateway


CurrentGateway = Annotated[Gateway, Depends(current_gateway)]


bearer = HTTPBearer(auto_error=False, description="An API key: `tk_…`")


def current_caller(
    gateway: CurrentGateway, given: Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)]
) -> Caller:
    if given is None:
        raise Unauthorized("unauthorized", "send the API key as `Authorization: Bearer tk_…`")
    return authenticate(gateway.engine, token=given.credentials.strip())


CurrentCaller = Annotated[Caller, Depends(current_caller)]


def need(caller: Caller, scope: str) -> None:
    if scope not in caller.scopes:
        raise Forbidden("scope", f"this key lacks the scope {scope!r}; make one that has it")


def storable(text: str) -> str:
    reason = refuse_reason(text)
    if reason is not None:
        raise ValueError(reason)
    return text


async def _lane(turnkeep_lane: Annotated[str, Header()] = "interactive") -> Lane:
    if turnkeep_lane == "interactive":
        return "interactive"
    if turnkeep_lane == "bulk":
        return "bulk"
    raise Invalid("lane", "Turnkeep-Lane is `interactive` or `bulk`")


async def _idempotency_key(idempotency_key: Annotated[str | None, Header()] = None) -> bytes | None:
    """The draft writes it quoted; many clients do not."""
    if idempotency_key is None:
        return None
    key = idempotency_key.strip().removeprefix('"').removesuffix('"')
    if not 0 < len(key) <= LONGEST_IDEMPOTENCY_KEY:
        raise Invalid("idempotency_key", f"an Idempotency-Key has 1 to {LONGEST_IDEMPOTENCY_KEY} characters")
    return key.encode("utf-8", "surrogateescape")


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """How a request wants its turns taken."""

    lane: Lane
    idempotency_key: bytes | None


async def current_delivery(
    lane: Annotated[Lane, Depends(_lane)], key: Annotated[bytes | None, Depends(_idempotency_key)]
) -> Delivery:
    return Delivery(lane=lane, idempotency_key=key)


CurrentDelivery = Annotated[Delivery, Depends(current_delivery)]


def unescaped(segment: str) -> str:
    """Undoes what `routable` leaves encoded."""
    return segment.replace("%2F", "/").replace("%25", "%")


Identifier = Annotated[
    str,
    Path(min_length=1, max_length=LONGEST_ID),
    BeforeValidator(unescaped),
    AfterValidator(storable),
]


def known_session(work: Work, session_id: str) -> SessionRow:
    """Raises Missing: the same answer for an unknown session, an erased one and another tenant's."""
    session = work.sessions.find(session_id)
    if session is None:
        raise Missing("session", f"there is no session {session_id!r}; post its first turn")
    return session
