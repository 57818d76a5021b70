"""Everything a context or a search reads.

The embedder and the vector server are asked first, with no transaction open; then one transaction reads all
that is served, so that nothing erased in the meantime comes along. What the index says is a hint.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import get_args

from api_gateway.recall.ask import Part, Pointers, Question, pointers, question
from api_gateway.recall.channels import channels
from api_gateway.recall.pending import episodes, waiting_candidates
from api_gateway.recall.query import ContextRequest, SearchRequest, searched
from api_gateway.recall.rank import Candidate, candidates
from shared.domain.ids import MemoryId, UserKey
from shared.domain.memory import Kind, Memory
from shared.domain.session import CondensedEntry
from shared.domain.turn import Turn
from shared.ports import (
    Embedder,
    MemoryFilter,
    RecallMemories,
    RecallTurns,
    RecallWork,
    SessionRow,
    TokenCounter,
    VectorIndex,
)
from shared.ports.recall import PendingTurn
from shared.text.lexical import content_words

Begin = Callable[[], AbstractContextManager[RecallWork]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """How many rows are read at most."""

    query_turns: int = 8
    turns: int = 64
    condensed: int = 64
    owed: int = 200
    by_text: int = 50
    issues: int = 5
    elsewhere: int = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathered:
    """`turns` and `condensed` are oldest first and may overlap: a turn can be in both.

    `open_issues` are candidates too, and so is `waiting`: what was said in other sessions and not folded
    yet. `pending` counts it as far as it is read.
    """

    turns: Sequence[Turn] = ()
    pending: int = 0
    condensed: Sequence[CondensedEntry] = ()
    profile: Sequence[Memory] = ()
    candidates: Sequence[Candidate] = ()
    open_issues: frozenset[MemoryId] = frozenset()
    waiting: frozenset[MemoryId] = frozenset()
    degraded: Sequence[Part] = ()


def gather(
    request: ContextRequest, *, begin: Begin, index: VectorIndex, embedder: Embedder, counter: TokenCounter
) -> Gathered:
    text = _query(request, begin=begin, counter=counter)
    asked = question(text, embedder=embedder, deadline=request.embed_seconds)
    pointed = pointers(asked, user_key=request.user_key, index=index)
    with begin() as work:
        # Before the memories: what is folded in between is then found twice rather than not at all.
        elsewhere = _elsewhere(work.turns, request=request)
        turns, entries = _session(work, session=request.session)
        profile = work.memories.profile(request.user_key) if request.user_key else []
        recalled = _recalled(work.memories, user_key=request.user_key, asked=asked, pointed=pointed)
        issues = _open_issues(work.memories, session=request.session)
    found = {each.memory.memory_id for each in recalled}
    unfound = [issue for issue in issues if issue.memory_id not in found]
    unfolded = [memory for memory in episodes(elsewhere) if memory.memory_id not in found]
    return Gathered(
        turns=turns,
        pending=_pending(turns, session=request.session) + len(elsewhere),
        condensed=entries,
        profile=profile,
        candidates=[
            *recalled,
            *candidates(unfound, channels={}),
            *waiting_candidates(unfolded, query=asked.lexical),
        ],
        open_issues=frozenset(issue.memory_id for issue in issues),
        waiting=frozenset(memory.memory_id for memory in unfolded),
        degraded=(*asked.degraded, *pointed.degraded),
    )


def find(
    request: SearchRequest, *, begin: Begin, index: VectorIndex, embedder: Embedder, counter: TokenCounter
) -> Gathered:
    text = searched(request.query, turns=(), counter=counter)
    asked = question(text, embedder=embedder, deadline=request.embed_seconds)
    kinds = tuple(kind for kind in get_args(Kind) if kind == request.only.kind)
    pointed = pointers(asked, user_key=request.user_key, index=index, kinds=kinds)
    with begin() as work:
        recalled = _recalled(
            work.memories, user_key=request.user_key, asked=asked, pointed=pointed, only=request.only
        )
    return Gathered(candidates=recalled, degraded=(*asked.degraded, *pointed.degraded))


def _query(request: ContextRequest, *, begin: Begin, counter: TokenCounter) -> str:
    turns: Sequence[Turn] = ()
    if request.session is not None and not (request.query and request.query.strip()):
        with begin() as work:
            turns = work.turns.newest(request.session, limit=Reach().query_turns)
    return searched(request.query, turns=turns, counter=counter)


def _session(
    work: RecallWork, *, session: SessionRow | None
) -> tuple[Sequence[Turn], Sequence[CondensedEntry]]:
    if session is None:
        return (), ()
    turns = work.turns.newest(session, limit=Reach().turns)
    end = max([session.applied, *(turn.sequence for turn in turns)]) + 1
    return turns, work.condensed.newest(session.session_key, before=end, limit=Reach().condensed)


def _elsewhere(turns: RecallTurns, *, request: ContextRequest) -> Sequence[PendingTurn]:
    if request.user_key is None:
        return ()
    here = request.session.session_key if request.session else None
    return turns.pending_elsewhere(request.user_key, here=here, limit=Reach().elsewhere)


def _pending(turns: Sequence[Turn], *, session: SessionRow | None) -> int:
    """Pending turns older than what was read are counted by their numbers, which have no gaps."""
    if session is None or not turns:
        return 0
    read = sum(1 for turn in turns if turn.sequence > session.applied)
    unread = turns[0].sequence - 1 - session.applied if len(turns) >= Reach().turns else 0
    return read + max(unread, 0)


def _recalled(
    memories: RecallMemories,
    *,
    user_key: UserKey | None,
    asked: Question,
    pointed: Pointers,
    only: MemoryFilter | None = None,
) -> list[Candidate]:
    if user_key is None or not asked.text:
        return []
    by_text = _by_text(memories, user_key=user_key, asked=asked) if pointed.hits is None else []
    owed = memories.owed(user_key, embedder=asked.embedder, limit=Reach().owed)
    made = channels(asked, pointers=pointed, owed=owed, by_text=by_text)
    hits = [hit for found in made.values() for hit in found]
    wanted = dict.fromkeys(hit.memory_id for hit in hits)
    served = memories.hydrate(list(wanted), only=only or MemoryFilter())
    return candidates(served, channels=made)


def _by_text(memories: RecallMemories, *, user_key: UserKey, asked: Question) -> list[Memory]:
    words = sorted(content_words(asked.text))
    return memories.search_text(user_key, words=words, limit=Reach().by_text) if words else []


def _open_issues(memories: RecallMemories, *, session: SessionRow | None) -> list[Memory]:
    return memories.open_issues(session.session_key, limit=Reach().issues) if session else []
