"""The calls, each a function of the registry and one request. Anything else is 404."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import from_json

from infra.embedded.vectors import answers
from infra.embedded.vectors.collection import Collection
from infra.embedded.vectors.errors import BadRequestError
from infra.embedded.vectors.queries import QueryBatch, QueryRequest
from infra.embedded.vectors.registry import Registry
from infra.embedded.vectors.requests import (
    AliasRequest,
    CollectionRequest,
    CountRequest,
    DeleteRequest,
    IndexRequest,
    PayloadRequest,
    RetrieveRequest,
    ScrollRequest,
    UpsertRequest,
)

Body = TypeVar("Body", bound=BaseModel)
# Every write is applied before it is answered, so there is nothing to look up by this number.
_COMPLETED = {"operation_id": 0, "status": "completed"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One request: the collection its path names ("" for none) and its body."""

    registry: Registry
    name: str
    body: bytes

    @property
    def collection(self) -> Collection:
        return self.registry.get(self.name)

    def parse(self, model: type[Body]) -> Body:
        try:
            return model.model_validate(from_json(self.body, allow_inf_nan=False))
        except ValidationError as error:
            raise BadRequestError(f"Format error in JSON body: {_reason(error)}") from None
        except ValueError as error:
            raise BadRequestError(f"Format error in JSON body: {error}") from None


def _reason(error: ValidationError) -> str:
    """One of the reasons, where every branch of a union gives its own; our own checks say most."""
    reasons = error.errors(include_input=False, include_url=False)
    telling = next((reason for reason in reasons if reason["type"] == "value_error"), reasons[0])
    place = ".".join(str(part) for part in telling["loc"])
    return f"{place}: {telling['msg']}"


def list_collections(call: Call) -> object:
    return {"collections": [{"name": name} for name in call.registry.names()]}


def collection_exists(call: Call) -> object:
    return {"exists": call.registry.has(call.name)}


def get_collection(call: Call) -> object:
    return answers.description(call.collection)


def create_collection(call: Call) -> object:
    call.registry.create(call.name, params=call.parse(CollectionRequest))
    return True


def delete_collection(call: Call) -> object:
    return call.registry.delete(call.name)


def create_index(call: Call) -> object:
    call.collection.create_index(call.parse(IndexRequest))
    return _COMPLETED


def change_aliases(call: Call) -> object:
    call.registry.change_aliases(call.parse(AliasRequest))
    return True


def list_aliases(call: Call) -> object:
    return {
        "aliases": [
            {"alias_name": alias, "collection_name": target}
            for alias, target in call.registry.aliases.items()
            if call.name in ("", target)
        ]
    }


def upsert(call: Call) -> object:
    call.collection.upsert(call.parse(UpsertRequest))
    return _COMPLETED


def retrieve(call: Call) -> object:
    return [answers.record(found) for found in call.collection.retrieve(call.parse(RetrieveRequest))]


def delete_points(call: Call) -> object:
    call.collection.delete(call.parse(DeleteRequest))
    return _COMPLETED


def set_payload(call: Call) -> object:
    call.collection.set_payload(call.parse(PayloadRequest))
    return _COMPLETED


def query(call: Call) -> object:
    return _ranked(call.collection, call.parse(QueryRequest))


def query_batch(call: Call) -> object:
    collection = call.collection
    return [_ranked(collection, search) for search in call.parse(QueryBatch).searches]


def scroll(call: Call) -> object:
    found, offset = call.collection.scroll(call.parse(ScrollRequest))
    return {
        "points": [answers.record(point) for point in found],
        "next_page_offset": None if offset is None else answers.point_id(offset),
    }


def count(call: Call) -> object:
    return {"count": call.collection.count(call.parse(CountRequest))}


def _ranked(collection: Collection, request: QueryRequest) -> object:
    return {"points": [answers.scored(found) for found in collection.query(request)]}


Answer = Callable[[Call], object]
_ONE = "/collections/{name}"
ROUTES: tuple[tuple[str, str, Answer], ...] = (
    ("GET", "/collections", list_collections),
    ("POST", "/collections/aliases", change_aliases),
    ("GET", "/aliases", list_aliases),
    ("GET", _ONE, get_collection),
    ("PUT", _ONE, create_collection),
    ("DELETE", _ONE, delete_collection),
    ("GET", f"{_ONE}/exists", collection_exists),
    ("GET", f"{_ONE}/aliases", list_aliases),
    ("PUT", f"{_ONE}/index", create_index),
    ("PUT", f"{_ONE}/points", upsert),
    ("POST", f"{_ONE}/points", retrieve),
    ("POST", f"{_ONE}/points/delete", delete_points),
    ("POST", f"{_ONE}/points/payload", set_payload),
    ("POST", f"{_ONE}/points/query", query),
    ("POST", f"{_ONE}/points/query/batch", query_batch),
    ("POST", f"{_ONE}/points/scroll", scroll),
    ("POST", f"{_ONE}/points/count", count),
)
