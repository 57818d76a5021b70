"""A memory on the wire."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from pydantic import AfterValidator, BaseModel, StringConstraints

from api_gateway.dependencies import storable
from shared.domain.memory import Category, Kind, Memory, State, Tier, Trust

LONGEST_TEXT = 8_000
MemoryText = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=LONGEST_TEXT),
    AfterValidator(storable),
]


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


def memory_body(memory: Memory) -> MemoryBody:
    return MemoryBody.model_validate(fields_of(memory), from_attributes=True)


def fields_of(memory: Memory) -> dict[str, object]:
    shown = {name: getattr(memory, name) for name in MemoryBody.model_fields if name != "id"}
    return shown | {"id": memory.memory_id}


def tag(memory: Memory) -> str:
    return f'"{memory.version}"'
