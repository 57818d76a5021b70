"""Liveness, readiness, metrics, statistics."""

from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Request, Response, status
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from pydantic import BaseModel

from api_gateway.dependencies import CurrentCaller, CurrentGateway, need
from api_gateway.health import Probes

router = APIRouter(tags=["operations"])


def current_probes(request: Request) -> Probes:
    probes: Probes = request.app.state.probes
    return probes


class Ready(BaseModel):
    ready: bool
    dependencies: dict[str, str]


class TurnCounts(BaseModel):
    accepted: int
    done: int
    dead: int
    pending: int
    erased: int


class MemoryCounts(BaseModel):
    hot: int
    warm: int
    cold: int


class StatsBody(BaseModel):
    turns: TurnCounts
    memories: MemoryCounts
    oldest_pending_seconds: float
    index_owed: int


@router.get("/livez", summary="The process answers; no I/O")
def livez() -> dict[Literal["status"], str]:
    return {"status": "alive"}


@router.get("/readyz", summary="Postgres at the right migration; the rest is reported without failing")
def readyz(probes: Annotated[Probes, Depends(current_probes)], response: Response) -> Ready:
    found = dict(probes.read())
    ready = found["postgres"] == "ok"
    if not ready:
        response.status_code = status.HTTP_503_SERVICE_UNAVAILABLE
    return Ready(ready=ready, dependencies=found)


@router.get("/metrics", summary="Prometheus")
def metrics(gateway: CurrentGateway, probes: Annotated[Probes, Depends(current_probes)]) -> Response:
    for dependency, state in probes.read().items():
        gateway.metrics.dependency_up.labels(dependency).set(state == "ok")
    for stage, (waiting, oldest) in gateway.dispatch.backlog().items():
        gateway.metrics.backlog.labels(stage).set(waiting)
        gateway.metrics.oldest.labels(stage).set(oldest)
    gateway.metrics.index_owed.set(gateway.dispatch.index_owed())
    gateway.metrics.unpartitioned.set(gateway.dispatch.turns_unpartitioned())
    return Response(generate_latest(gateway.metrics.registry), media_type=CONTENT_TYPE_LATEST)


@router.get("/v1/stats", summary="Turns by state, memories by tier, of the key's tenant")
def get_stats(gateway: CurrentGateway, caller: CurrentCaller) -> StatsBody:
    need(caller, "context:read")
    with gateway.begin(caller.tenant_id) as work:
        stats = work.stats.read()
    return StatsBody(
        turns=TurnCounts.model_validate(stats, from_attributes=True),
        memories=MemoryCounts.model_validate(stats, from_attributes=True),
        oldest_pending_seconds=stats.oldest_pending_seconds,
        index_owed=stats.index_owed,
    )
