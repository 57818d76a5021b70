"""The one step with effects: everything of a batch becomes memory in one commit, or nothing does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from shared.codec import entries_from_json
from shared.domain.errors import ClaimLost
from shared.domain.ids import MemoryId, SessionKey, statement_id
from shared.domain.memory import Memory
from shared.domain.session import Batch, Claim, QueueName
from shared.domain.turn import Turn
from shared.ports import NameTagger, SessionRow, Source, UserRow, Vector, Work, Writing
from shared.text.language import language_of
from workers.opening import next_cap, settle_head
from workers.steps.candidates import NOT_ASKED, Fresh, Neighbors, gather, neighbors
from workers.steps.deciding import decide
from workers.steps.effects import carry_out, episode_of, memory_of, source_of
from workers.steps.embed import statements_in, unpacked
from workers.steps.fold import first_read
from workers.steps.learning import learned
from workers.tools import Tools

# How often is searched; then the vectors in Postgres stand in for the index, under the lock.
ROUNDS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Folded:
    """A batch as its steps left it; `turns` are those it was read from."""

    batch: Batch
    user: UserRow
    session: SessionRow | None
    turns: Sequence[Turn]
    outputs: Mapping[str, Mapping[str, object]]
    fresh: Sequence[Fresh]
    episodes: Mapping[int, Vector]

    @property
    def language(self) -> str | None:
        said = " ".join(turn.text for turn in self.turns if turn.role == "user")
        return language_of(said, fallback=(self.session and self.session.language) or "en") if said else None

    def sources(self, item: Fresh) -> list[Source]:
        if self.session is None:
            return []
        cited = set(item.statement.sequences)
        return [source_of(turn, session=self.session) for turn in self.turns if turn.sequence in cited]


def merge(claims: Sequence[Claim], *, tools: Tools) -> list[QueueName]:
    """Raises ClaimLost when the batch was closed, taken over or erased meanwhile."""
    (claim,) = claims
    for _ in range(ROUNDS):
        folded = _fetch(claim, tools=tools)
        near = neighbors(folded.fresh, user_key=folded.user.user_key, tenant_id=claim.tenant_id, tools=tools)
        with tools.begin(claim.tenant_id) as work:
            if _locked(work, folded).version == folded.user.version:
                return _effect(work, claim, folded=folded, near=near, tools=tools)
    folded = _fetch(claim, tools=tools)
    with tools.begin(claim.tenant_id) as work:
        _locked(work, folded)
        return _effect(work, claim, folded=folded, near=NOT_ASKED, tools=tools)


def _locked(work: Work, folded: Folded) -> UserRow:
    user = work.users.lock(folded.user.user_key)
    if user is None:
        raise ClaimLost("the user is gone")
    return user


def _fetch(claim: Claim, *, tools: Tools) -> Folded:
    with tools.begin(claim.tenant_id) as work:
        batch = work.batches.find(claim.batch_id)
        user = work.users.find(batch.user_key)
        session = work.sessions.by_key(batch.session_key) if batch.session_key else None
        outputs = work.batches.outputs(claim.batch_id)
        turns = work.turns.between(session, first=first_read(batch), last=batch.last) if session else []
    if user is None or (batch.session_key is not None and session is None):
        raise ClaimLost("the user or session was erased")
    vectors = outputs.get("embed", {})
    usable = vectors.get("embedder") == tools.embedder.name
    return Folded(
        batch=batch,
        user=user,
        session=session,
        turns=turns,
        outputs=outputs,
        fresh=_fresh(
            batch,
            outputs=outputs,
            vectors=_statement_vectors(vectors) if usable else [],
            tagger=tools.tagger,
        ),
        episodes=_episode_vectors(vectors) if usable else {},
    )


def _fresh(
    batch: Batch,
    *,
    outputs: Mapping[str, Mapping[str, object]],
    vectors: Sequence[Vector],
    tagger: NameTagger | None,
) -> list[Fresh]:
    return [
        Fresh(
            memory_id=_fresh_id(batch, ordinal=ordinal, outputs=outputs),
            statement=learned(statement, tagger=tagger) if batch.kind == "direct" else statement,
            vector=vectors[ordinal] if ordinal < len(vectors) else None,
            order=max(statement.sequences, default=0),
        )
        for ordinal, statement in enumerate(statements_in(outputs))
    ]


def _fresh_id(batch: Batch, *, ordinal: int, outputs: Mapping[str, Mapping[str, object]]) -> MemoryId:
    if batch.session_key is None:
        return MemoryId(UUID(str(outputs["extract"]["memory_id"])))
    # A session that is closed, reopened and closed again has a wrap-up each time.
    root = batch.batch_id if batch.kind == "close" else batch.session_key
    return statement_id(
        SessionKey(root),
        first=batch.first,
        generation=batch.generation,
        ordinal=ordinal,
    )


def _statement_vectors(vectors: Mapping[str, object]) -> list[Vector]:
    packed = vectors.get("statements", [])
    return [unpacked(text) for text in packed] if isinstance(packed, list) else []


def _episode_vectors(vectors: Mapping[str, object]) -> dict[int, Vector]:
    packed = vectors.get("episodes", {})
    if not isinstance(packed, dict):
        return {}
    return {int(sequence): unpacked(text) for sequence, text in packed.items()}


def _effect(work: Work, claim: Claim, *, folded: Folded, near: Neighbors, tools: Tools) -> list[QueueName]:
    """Under the user's lock: prove that the claim still stands, write, move the cursor, close."""
    batch, session = folded.batch, folded.session
    if session is not None:
        applied = work.sessions.lock(session.session_key)
        if batch.kind == "live" and applied != batch.first - 1:
            raise ClaimLost("the session's cursor is elsewhere")
    work.batches.hold(claim)
    writing = Writing(user=folded.user, embedder=tools.embedder.name, lane=batch.lane)
    report = Counter(_write_episodes(work, folded, writing=writing))
    report += _write_statements(work, folded, near=near, writing=writing, tools=tools)
    work.users.raise_version(writing.user.user_key)
    work.batches.finish(claim)
    return ["index", *_close(work, folded, report=report, tools=tools)]


def _write_episodes(work: Work, folded: Folded, *, writing: Writing) -> Counter[str]:
    if folded.session is None or folded.batch.kind == "close":
        return Counter()
    spoken = [turn for turn in folded.turns if turn.role != "system" and turn.text.strip()]
    for turn in spoken:
        vector = folded.episodes.get(turn.sequence)
        work.memories.add(episode_of(turn, session=folded.session, vector=vector), writing=writing)
    return Counter(episodes=len(spoken))


def _write_statements(
    work: Work, folded: Folded, *, near: Neighbors, writing: Writing, tools: Tools
) -> Counter[str]:
    """In the order of the statements, each held against those before it too."""
    fresh = _standing(work, folded)
    candidates = gather(work, fresh, near=near, writing=writing)
    report: Counter[str] = Counter()
    for place, item in enumerate(fresh):
        decision = decide(
            item.statement,
            order=item.order,
            known=candidates.known(item, place=place),
            same_text=tools.embedder.same_text,
        )
        memory = memory_of(item, sources=folded.sources(item), decision=decision)
        carry_out(work, memory, decision=decision, kind=folded.batch.kind, writing=writing)
        candidates.follow(item, decision=decision)
        report[decision.verdict] += 1
    return report


def _standing(work: Work, folded: Folded) -> Sequence[Fresh]:
    """What a memory added directly says by now: its row may have been edited or deleted meanwhile."""
    if folded.batch.kind != "direct":
        return folded.fresh
    rows = ((item, work.memories.find(item.memory_id)) for item in folded.fresh)
    return [_as_edited(item, row=row) for item, row in rows if row is not None and row.state == "pending"]


def _as_edited(item: Fresh, *, row: Memory) -> Fresh:
    if row.text == item.statement.text:
        return item
    return replace(item, statement=replace(item.statement, text=row.text), vector=None)


def _close(work: Work, folded: Folded, *, report: Counter[str], tools: Tools) -> list[QueueName]:
    batch, session = folded.batch, folded.session
    second_pass = "due" if any(output.get("second_pass") for output in folded.outputs.values()) else None
    work.batches.close(batch.batch_id, state="merged", report=dict(report) | {"second_pass": second_pass})
    if session is None:
        return []
    if batch.kind == "close":
        work.sessions.wrap_up(session.session_key, text=_wrap_up(folded))
        due = settle_head(work, session, applied=session.applied, fold_cap=None, tools=tools)
        return ["extract", "summarize"] if due else []
    entries = entries_from_json(folded.outputs.get("summarize", {}).get("entries", []))
    work.condensed.add(entries, session_key=session.session_key, batch_id=batch.batch_id)
    work.turns.settle(session, first=batch.first, last=batch.last, state="done", second_pass=second_pass)
    work.sessions.apply(session.session_key, applied=batch.last, language=folded.language)
    cap = next_cap(work.sessions.head(session.session_key).fold_cap, flush=tools.flush)
    due = settle_head(work, session, applied=batch.last, fold_cap=cap, tools=tools)
    return ["extract", "summarize"] if due else []


def _wrap_up(folded: Folded) -> str:
    return "\n".join(item.statement.text for item in folded.fresh)
