"""The vector index: one collection behind an alias, opened for one tenant, every filter bound to it.

Points hold ids and versions only; text is never served from here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from uuid import UUID

from qdrant_client import QdrantClient, models
from qdrant_client.common.client_exceptions import QdrantException
from qdrant_client.http.exceptions import ApiException

from shared.domain.errors import IndexUnavailable, SettingsError
from shared.domain.ids import MemoryId, TenantId, UserKey
from shared.domain.memory import Kind
from shared.ports import Hit, Hits, OpenIndex, Point, SparseVector, Vector, VectorIndex

DENSE = "dense"
LEXICAL = "lexical"


def connect(url: str, *, api_key: str | None, timeout: float) -> QdrantClient:
    # As metadata: given as `api_key` the client warns about plain HTTP, which is what loopback speaks.
    headers = {"api-key": api_key} if api_key else {}
    return QdrantClient(
        url=url,
        metadata=headers,
        timeout=max(1, round(timeout)),
        prefer_grpc=False,
        check_compatibility=False,
    )


@contextmanager
def reaching() -> Iterator[None]:
    try:
        yield
    except (ApiException, QdrantException, OSError) as error:
        raise IndexUnavailable(f"the vector server did not do it: {type(error).__name__}") from error


def collection_name(alias: str, *, embedder: str) -> str:
    return f"{alias}__" + "".join(char if char.isalnum() else "-" for char in embedder)


def prepare(client: QdrantClient, *, alias: str, embedder: str, dimension: int) -> None:
    """Make the collection and its alias if they are not there. Raises SettingsError for another embedder's
    collection behind the alias, or another dimension."""
    wanted = collection_name(alias, embedder=embedder)
    with reaching():
        found = {item.alias_name: item.collection_name for item in client.get_aliases().aliases}
        if alias not in found:
            _create(client, wanted, dimension=dimension)
            client.update_collection_aliases(
                [
                    models.CreateAliasOperation(
                        create_alias=models.CreateAlias(collection_name=wanted, alias_name=alias)
                    )
                ]
            )
            return
        _check(client, found[alias], wanted=wanted, dimension=dimension)


def _create(client: QdrantClient, name: str, *, dimension: int) -> None:
    if client.collection_exists(name):
        return
    client.create_collection(
        name,
        vectors_config={DENSE: models.VectorParams(size=dimension, distance=models.Distance.COSINE)},
        sparse_vectors_config={LEXICAL: models.SparseVectorParams(modifier=models.Modifier.IDF)},
    )
    tenant = models.KeywordIndexParams(type=models.KeywordIndexType.KEYWORD, is_tenant=True)
    client.create_payload_index(name, "tenant", field_schema=tenant)
    client.create_payload_index(name, "user", field_schema=models.PayloadSchemaType.KEYWORD)


def _check(client: QdrantClient, name: str, *, wanted: str, dimension: int) -> None:
    vectors = client.get_collection(name).config.params.vectors
    size = vectors[DENSE].size if isinstance(vectors, dict) and DENSE in vectors else None
    if name != wanted or size != dimension:
        raise SettingsError(
            f"The index {name!r} holds {size}-dimensional vectors of another embedder than {wanted!r} "
            f"({dimension}); set TURNKEEP_EMBEDDER__NAME back, or TURNKEEP_QDRANT__COLLECTION to a new name."
        )


def index_on(client: QdrantClient, *, alias: str) -> OpenIndex:
    def open_index(tenant_id: TenantId) -> VectorIndex:
        return TenantIndex(client, alias=alias, tenant_id=tenant_id)

    return open_index


class TenantIndex:
    """Every filter carries the tenant. It narrows the search; Postgres checks again when it hydrates."""

    def __init__(self, client: QdrantClient, *, alias: str, tenant_id: TenantId) -> None:
        self._client = client
        self._alias = alias
        self._tenant = str(tenant_id)

    def upsert(self, points: Sequence[Point]) -> None:
        structs = [
            models.PointStruct(
                id=str(point.memory_id),
                vector={DENSE: list(point.dense), LEXICAL: _sparse(point.lexical)},
                payload={
                    "tenant": self._tenant,
                    "user": str(point.user_key),
                    "version": point.version,
                    "kind": point.kind,
                },
            )
            for point in points
        ]
        with reaching():
            _completed(self._client.upsert(self._alias, structs, wait=True))

    def delete(self, memory_ids: Sequence[MemoryId]) -> None:
        """By id: a server's delete by filter can silently skip points."""
        ids: list[models.ExtendedPointId] = [str(memory_id) for memory_id in memory_ids]
        with reaching():
            _completed(self._client.delete(self._alias, models.PointIdsList(points=ids), wait=True))

    def search(
        self,
        user_key: UserKey,
        *,
        dense: Vector | None,
        lexical: SparseVector | None,
        limit: int,
        kinds: Sequence[Kind] = (),
    ) -> Hits:
        scope = self._scope(user_key, kinds=kinds)
        asked: list[tuple[str, models.QueryRequest]] = []
        if dense is not None:
            asked.append((DENSE, _request(list(dense), using=DENSE, scope=scope, limit=limit)))
        if lexical is not None and lexical.indices:
            asked.append((LEXICAL, _request(_sparse(lexical), using=LEXICAL, scope=scope, limit=limit)))
        if not asked:
            return Hits(dense=(), lexical=())
        with reaching():
            answers = self._client.query_batch_points(self._alias, [request for _, request in asked])
        hits = {name: _ranked(answer.points) for (name, _), answer in zip(asked, answers, strict=True)}
        return Hits(dense=hits.get(DENSE, ()), lexical=hits.get(LEXICAL, ()))

    def versions(self, memory_ids: Sequence[MemoryId]) -> dict[MemoryId, int]:
        ids: list[models.ExtendedPointId] = [str(memory_id) for memory_id in memory_ids]
        with reaching():
            records = self._client.retrieve(self._alias, ids, with_payload=["version", "tenant"])
        return {
            MemoryId(UUID(str(record.id))): record.payload["version"]
            for record in records
            if record.payload and record.payload.get("tenant") == self._tenant
        }

    def count(self, user_key: UserKey) -> int:
        with reaching():
            return self._client.count(
                self._alias, count_filter=self._scope(user_key, kinds=()), exact=True
            ).count

    def _scope(self, user_key: UserKey, *, kinds: Sequence[Kind]) -> models.Filter:
        must: list[models.Condition] = [
            models.FieldCondition(key="tenant", match=models.MatchValue(value=self._tenant)),
            models.FieldCondition(key="user", match=models.MatchValue(value=str(user_key))),
        ]
        if kinds:
            must.append(models.FieldCondition(key="kind", match=models.MatchAny(any=list(kinds))))
        return models.Filter(must=must)


def _completed(result: models.UpdateResult) -> None:
    """`acknowledged` and `wait_timeout` are not done: the write stands in a log and may not be there yet."""
    if result.status != models.UpdateStatus.COMPLETED:
        raise IndexUnavailable(f"the vector server only answered {result.status.value}")


def _request(
    query: list[float] | models.SparseVector, *, using: str, scope: models.Filter, limit: int
) -> models.QueryRequest:
    return models.QueryRequest(query=query, using=using, filter=scope, limit=limit, with_payload=False)


def _ranked(points: Sequence[models.ScoredPoint]) -> list[Hit]:
    hits = [Hit(memory_id=MemoryId(UUID(str(point.id))), score=point.score) for point in points]
    return sorted(hits, key=lambda hit: (-hit.score, hit.memory_id.int))


def _sparse(vector: SparseVector) -> models.SparseVector:
    return models.SparseVector(indices=list(vector.indices), values=list(vector.values))
