"""Texts to vectors: many batches in one call, and the texts that edits owe."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from shared.codec import statements_from_json
from shared.domain.ids import MemoryId
from shared.domain.memory import Statement
from shared.domain.session import Batch, Claim, StepName
from shared.domain.turn import Turn
from shared.ports import DebtClaim, Vector, Work
from shared.text.vectors import vector_bytes, vector_from_bytes
from workers.tools import Tools


@dataclass(frozen=True, slots=True, kw_only=True)
class Texts:
    """What one batch has embedded: its statements in order, and its turns by sequence."""

    claim: Claim
    statements: Sequence[str]
    episodes: Mapping[int, str]

    @property
    def all(self) -> list[str]:
        return [*self.statements, *self.episodes.values()]


@dataclass(frozen=True, slots=True, kw_only=True)
class Embedded:
    memory_id: MemoryId
    text_version: int
    vector: Vector


def embed(claims: Sequence[Claim], *, tools: Tools) -> list[StepName]:
    """Raises EmbedderUnavailable; then nothing was recorded."""
    asked = [_fetch(claim, tools=tools) for claim in claims]
    vectors = tools.embedder.passages([text for texts in asked for text in texts.all])
    due: list[StepName] = []
    place = 0
    for texts in asked:
        size = len(texts.all)
        due += _record(texts, vectors=vectors[place : place + size], tools=tools)
        place += size
    return due


def _fetch(claim: Claim, *, tools: Tools) -> Texts:
    with tools.begin(claim.tenant_id) as work:
        batch = work.batches.find(claim.batch_id)
        outputs = work.batches.outputs(claim.batch_id)
        turns = turns_of(work, batch) if batch.kind != "close" else []
    return Texts(
        claim=claim,
        statements=[statement.text for statement in statements_in(outputs)],
        episodes={turn.sequence: episode_text(turn) for turn in turns if turn.text.strip()},
    )


def turns_of(work: Work, batch: Batch) -> list[Turn]:
    if batch.session_key is None:
        return []
    session = work.sessions.by_key(batch.session_key)
    return work.turns.between(session, first=batch.first, last=batch.last) if session else []


def statements_in(outputs: Mapping[str, Mapping[str, object]]) -> list[Statement]:
    """Those of `extract`, and the wrap-up that `summarize` of a closing session leaves as one."""
    found: list[Statement] = []
    for step in ("extract", "summarize"):
        found += statements_from_json(outputs.get(step, {}).get("statements", []))
    return found


def episode_text(turn: Turn) -> str:
    """A turn as it is embedded: with its day, which lets "what happened in May" find it."""
    return f"{turn.created_at.date().isoformat()} {turn.name or turn.role}: {turn.text}"


def _record(texts: Texts, *, vectors: Sequence[Vector], tools: Tools) -> list[StepName]:
    cut = len(texts.statements)
    output = {
        "embedder": tools.embedder.name,
        "statements": [packed(vector) for vector in vectors[:cut]],
        "episodes": {
            str(sequence): packed(vector)
            for sequence, vector in zip(texts.episodes, vectors[cut:], strict=True)
        },
    }
    with tools.begin(texts.claim.tenant_id) as work:
        return work.batches.record(texts.claim, output=output)


def packed(vector: Vector) -> str:
    return base64.b64encode(vector_bytes(vector)).decode()


def unpacked(text: str) -> Vector:
    return vector_from_bytes(base64.b64decode(text))


def embed_owed(claims: Sequence[DebtClaim], *, tools: Tools) -> None:
    """Embed the memories whose text has changed, or whose vectors are of another embedder."""
    for tenant_id, group in groupby(sorted(claims, key=_by_user), key=lambda claim: claim.tenant_id):
        owed = list(group)
        with tools.begin(tenant_id) as work:
            payable = work.debts.payable([claim.memory_id for claim in owed], embedder=tools.embedder.name)
        vectors = tools.embedder.passages([item.memory.text for item in payable])
        embedded = [
            Embedded(memory_id=item.memory.memory_id, text_version=item.text_version, vector=vector)
            for item, vector in zip(payable, vectors, strict=True)
        ]
        for user_key, theirs in groupby(owed, key=lambda claim: claim.user_key):
            with tools.begin(tenant_id) as work:
                work.users.lock(user_key)
                _keep(work, list(theirs), embedded=embedded, embedder=tools.embedder.name)


def _by_user(claim: DebtClaim) -> tuple[int, int, int]:
    return claim.tenant_id.int, claim.user_key.int, claim.memory_id.int


def _keep(work: Work, claims: Sequence[DebtClaim], *, embedded: Sequence[Embedded], embedder: str) -> None:
    """With the user locked: only where the text still is the one that was embedded, and alive."""
    payable = work.debts.payable([claim.memory_id for claim in claims], embedder=embedder)
    standing = {(item.memory.memory_id, item.text_version) for item in payable}
    for item in embedded:
        if (item.memory_id, item.text_version) in standing:
            work.memories.put_vector(
                item.memory_id, embedder=embedder, text_version=item.text_version, vector=item.vector
            )
    work.debts.move(claims, step="index")
