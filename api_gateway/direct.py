"""Adding, editing and deleting single memories: framework-free, each in the caller's transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal
from uuid import UUID, uuid4

from shared.codec import statements_to_json
from shared.domain.errors import Invalid, Missing, Stale
from shared.domain.ids import BatchId, MemoryId, UserKey
from shared.domain.memory import Memory, Statement
from shared.domain.session import Batch
from shared.domain.steps import STEPS_OF
from shared.ports import NewMemory, UserRow, Work, Writing


@dataclass(frozen=True, slots=True, kw_only=True)
class Addition:
    """A fact added over HTTP; `client_id` makes it the same one when it is sent again."""

    user_id: str
    user_key: UserKey
    statement: Statement
    client_id: str | None
    body_hmac: bytes


def add(addition: Addition, *, work: Work, embedder: str) -> MemoryId:
    """A pending row and a batch of kind `direct` that merges it like any other. Raises Invalid for a known
    id with another body."""
    user = work.users.join(addition.user_key, user_id=addition.user_id, oldest=None)
    # Two requests with one id must not both find it unknown.
    work.users.lock(user.user_key)
    known = work.memories.by_client_id(addition.client_id, user=user) if addition.client_id else None
    if known is not None:
        memory_id, body_hmac = known
        if body_hmac != addition.body_hmac:
            raise Invalid("id_reused", f"memory id {addition.client_id!r} was added with another body before")
        return memory_id
    memory_id = MemoryId(uuid4())
    writing = Writing(user=user, embedder=embedder, lane="interactive")
    work.memories.add(_pending(addition, memory_id=memory_id), writing=writing)
    _open(work, addition.statement, memory_id=memory_id, user=user)
    return memory_id


def _pending(addition: Addition, *, memory_id: MemoryId) -> NewMemory:
    statement = addition.statement
    return NewMemory(
        memory_id=memory_id,
        kind=statement.kind,
        category=statement.category,
        text=statement.text,
        language=statement.language,
        trust=statement.trust,
        state="pending",
        importance=statement.importance,
        valid_from=statement.valid_from,
        valid_seq=0,
        metadata=statement.metadata,
        client_id=addition.client_id,
        body_hmac=addition.body_hmac,
    )


def _open(work: Work, statement: Statement, *, memory_id: MemoryId, user: UserRow) -> None:
    batch = Batch(
        batch_id=BatchId(uuid4()),
        kind="direct",
        user_key=user.user_key,
        session_key=None,
        first=0,
        last=0,
        user_epoch=user.epoch,
        session_epoch=0,
        generation=0,
        lane="interactive",
    )
    work.batches.open(batch, steps=STEPS_OF["direct"])
    output = {"memory_id": str(memory_id), "statements": statements_to_json([statement])}
    work.batches.put_output(batch.batch_id, step="extract", output=output)


def find(work: Work, memory_id: UUID) -> Memory:
    """Raises Missing: the same for unknown, erased, deleted and another tenant's."""
    memory = work.memories.find(memory_id)
    if memory is None:
        raise Missing("memory", f"there is no memory {memory_id}")
    return memory


def lock(work: Work, memory_id: UUID, *, versions: Sequence[int] | None) -> tuple[Memory, UserRow]:
    """The memory with its user locked. Raises Stale unless its version is among `versions` (If-Match)."""
    owner = work.memories.owner(memory_id)
    user = work.users.lock(owner) if owner is not None else None
    memory = find(work, memory_id)
    if user is None:
        raise Missing("memory", f"there is no memory {memory_id}")
    if versions is not None and memory.version not in versions:
        raise Stale("changed", f"the memory is at version {memory.version} now; read it again")
    return memory, user


def edit(work: Work, memory: Memory, *, changes: Mapping[str, object], actor: str, writing: Writing) -> None:
    """Write `changes` and owe the index what follows from them."""
    version = work.memories.change(
        memory.memory_id, changes=dict(changes) | {"edited": True}, actor=actor, change="edit"
    )
    work.users.raise_version(writing.user.user_key)
    state = changes.get("state", memory.state)
    wrong = changes.get("wrong", memory.wrong)
    if state == "live" and not wrong:
        step: Literal["embed", "index"] = "embed" if "text" in changes else "index"
        work.memories.owe(memory.memory_id, op="upsert", step=step, version=version, writing=writing)
    else:
        work.memories.leave_index(memory.memory_id, version=version, writing=writing)


def forget(work: Work, memory: Memory, *, writing: Writing) -> None:
    """No copy of it is kept, not even with the merge still to come, and its client's id is free again."""
    if memory.state == "pending":
        work.batches.cancel_direct(memory.memory_id, user_key=writing.user.user_key)
    work.memories.forget(memory.memory_id, writing=writing)
    work.users.raise_version(writing.user.user_key)
