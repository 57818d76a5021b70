"""Opening batches: which pending turns of a due session are folded next."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import uuid4

from shared.domain.ids import BatchId, SessionKey
from shared.domain.session import Batch, BatchKind, FlushPolicy, Pending, is_due
from shared.domain.steps import STEPS_OF
from shared.domain.turn import Lane
from shared.ports import SessionRow, TurnSize, Work
from workers.tools import Tools

# Enough to see every trigger, and no more rows than a few batches hold.
LOOK_AHEAD = 200


def fold(sizes: Sequence[TurnSize], *, turns: int, tokens: int) -> int:
    """The last sequence of the longest run from the first on within both limits; at least the first."""
    last = sizes[0].sequence
    spent = 0
    for size in sizes[:turns]:
        spent += size.tokens
        if spent > tokens:
            break
        last = size.sequence
    return last


def pending_of(sizes: Sequence[TurnSize], *, last_budget: int) -> Pending:
    return Pending(
        rounds=sum(size.role == "user" for size in sizes),
        tokens=sum(size.tokens for size in sizes),
        tool_finished=any(size.role == "tool" for size in sizes),
        last_budget=last_budget,
        turns=len(sizes),
    )


def open_due(work: Work, session_key: SessionKey, *, flush: FlushPolicy) -> Batch | None:
    """Open the next batch of a session that is due. None when there is nothing to open, or one is open.

    The user is shared first, so that the epochs pinned here are those an erasure would raise.
    """
    work.sessions.share_user(session_key)
    head = work.sessions.head(session_key)
    session = work.sessions.by_key(session_key)
    work.sessions.rest(session_key)
    if session is None or work.batches.has_open(session_key, kind="live"):
        return None
    sizes = work.turns.sizes(session, first=session.applied + 1, limit=LOOK_AHEAD)
    if not sizes:
        return _open_close(work, session) if head.close_requested else None
    last = fold(sizes, turns=head.fold_cap or flush.fold_turns, tokens=flush.fold_tokens)
    rest = [size for size in sizes if size.sequence > last]
    work.sessions.opened(session_key, rest=pending_of(rest, last_budget=head.pending.last_budget))
    turns = (session.applied + 1, last)
    return _open(work, session, kind="live", turns=turns, lane=sizes[0].lane)


def _open_close(work: Work, session: SessionRow) -> Batch | None:
    if work.batches.has_open(session.session_key, kind="close"):
        return None
    work.sessions.begin_closing(session.session_key)
    turns = (session.applied, session.applied)
    return _open(work, session, kind="close", turns=turns, lane="interactive")


def _open(work: Work, session: SessionRow, *, kind: BatchKind, turns: tuple[int, int], lane: Lane) -> Batch:
    batch = Batch(
        batch_id=BatchId(uuid4()),
        kind=kind,
        user_key=session.user_key,
        session_key=session.session_key,
        first=turns[0],
        last=turns[1],
        user_epoch=session.user_epoch,
        session_epoch=session.epoch,
        generation=0,
        lane=lane,
    )
    work.batches.open(batch, steps=STEPS_OF[kind])
    return batch


def settle_head(work: Work, session: SessionRow, *, applied: int, fold_cap: int | None, tools: Tools) -> bool:
    """After a batch has closed: recount what is pending behind `applied`; True when more is due now."""
    head = work.sessions.head(session.session_key)
    sizes = work.turns.sizes(session, first=applied + 1, limit=LOOK_AHEAD)
    pending = pending_of(sizes, last_budget=head.pending.last_budget)
    triggered = is_due(pending, policy=tools.flush, working_share=tools.split.working)
    # After a split the rest of the batch is owed at once, whatever the triggers say.
    due = applied < head.flush_to or triggered or fold_cap is not None if sizes else head.close_requested
    work.sessions.settle(
        session.session_key,
        pending=pending,
        due=due,
        fold_cap=fold_cap,
        idle_seconds=tools.flush.idle.total_seconds(),
    )
    return due


def next_cap(cap: int | None, *, flush: FlushPolicy) -> int | None:
    """The fold limit after a success: doubled until it is the policy's own again."""
    if cap is None or cap * 2 >= flush.fold_turns:
        return None
    return cap * 2
