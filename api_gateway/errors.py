"""Domain error to HTTP status and problem+json (RFC 9457). Statuses are decided here and nowhere else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from http import HTTPStatus

import orjson
import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from shared.domain import errors

log = structlog.get_logger(__name__)
REQUEST_ID = "X-Request-ID"
RETRY_AFTER_SECONDS = 2
STATUS: Mapping[type[errors.TurnkeepError], HTTPStatus] = {
    errors.Invalid: HTTPStatus.UNPROCESSABLE_ENTITY,
    errors.TooLarge: HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    errors.Conflict: HTTPStatus.CONFLICT,
    errors.Missing: HTTPStatus.NOT_FOUND,
    errors.Unauthorized: HTTPStatus.UNAUTHORIZED,
    errors.Forbidden: HTTPStatus.FORBIDDEN,
    errors.Stale: HTTPStatus.PRECONDITION_FAILED,
}


class ProblemBody(BaseModel):
    """What every error answers, as `application/problem+json`."""

    type: str
    title: str
    status: int
    detail: str
    instance: str
    code: str
    request_id: str
    errors: list[dict[str, str]] = []


def documented() -> dict[int | str, dict[str, object]]:
    """For the API's description: the same shape whatever the error."""
    content = {Problem.media_type: {"schema": ProblemBody.model_json_schema()}}
    statuses = [*STATUS.values(), HTTPStatus.SERVICE_UNAVAILABLE]
    return {int(status): {"description": status.phrase, "content": content} for status in statuses}


class Problem(Response):
    media_type = "application/problem+json"

    def render(self, content: object) -> bytes:
        return orjson.dumps(content)


def problem(
    status: int,
    *,
    code: str,
    detail: str,
    scope: Mapping[str, object],
    errors: Sequence[Mapping[str, object]] = (),
) -> Problem:
    """`code` is stable; `errors` names fields by path where there are several."""
    body: dict[str, object] = {
        "type": f"urn:turnkeep:problem:{code}",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
        "instance": scope.get("path", ""),
        "code": code,
        "request_id": _request_id(scope),
    }
    if errors:
        body["errors"] = list(errors)
    headers = {REQUEST_ID: _request_id(scope)}
    if status in (429, 503):
        headers["Retry-After"] = str(RETRY_AFTER_SECONDS)
    if status == HTTPStatus.UNAUTHORIZED:
        headers["WWW-Authenticate"] = "Bearer"
    return Problem(body, status_code=status, headers=headers)


def _request_id(scope: Mapping[str, object]) -> str:
    state = scope.get("state")
    return str(state.get("request_id", "")) if isinstance(state, dict) else ""


def refused(request: Request, error: Exception) -> Response:
    if not isinstance(error, errors.Refused):
        raise error
    return problem(STATUS[type(error)], code=error.code, detail=error.detail, scope=request.scope)


def unavailable(request: Request, error: Exception) -> Response:
    log.warning("dependency unavailable", error=type(error).__name__)
    detail = f"{error}; the request changed nothing or can be repeated with its id: try again"
    return problem(503, code="unavailable", detail=detail, scope=request.scope)


def malformed(request: Request, error: Exception) -> Response:
    if not isinstance(error, RequestValidationError):
        raise error
    found = [
        {"field": ".".join(str(part) for part in item["loc"]), "detail": _plain(item["msg"])}
        for item in error.errors()
    ]
    detail = f"{found[0]['field']}: {found[0]['detail']}" if found else "the request is not valid"
    return problem(422, code="invalid", detail=detail, scope=request.scope, errors=found)


def _plain(message: str) -> str:
    """Our own sentences come back from pydantic with a prefix."""
    return message.removeprefix("Value error, ")


def unrouted(request: Request, error: Exception) -> Response:
    if not isinstance(error, HTTPException):
        raise error
    code = HTTPStatus(error.status_code).phrase.lower().replace(" ", "_")
    answer = problem(error.status_code, code=code, detail=str(error.detail), scope=request.scope)
    answer.headers.update(error.headers or {})
    return answer


def failed(request: Request, error: Exception) -> Response:
    """A bug of ours; the server logs the traceback."""
    log.error("request failed", error=type(error).__name__, request_id=_request_id(request.scope))
    detail = "an error on our side; the log has it under this request_id"
    return problem(500, code="internal", detail=detail, scope=request.scope)


def install(app: FastAPI) -> None:
    app.add_exception_handler(errors.Refused, refused)
    app.add_exception_handler(errors.RetryLater, unavailable)
    app.add_exception_handler(RequestValidationError, malformed)
    app.add_exception_handler(HTTPException, unrouted)
    app.add_exception_handler(Exception, failed)
