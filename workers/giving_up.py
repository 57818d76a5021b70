"""Work that keeps crashing or failing: split the batch to find the turn, then park that one visibly."""

from __future__ import annotations

from shared.domain.errors import ClaimLost
from shared.domain.session import Batch, Claim, QueueName
from shared.ports import Failure, SessionRow, Work
from workers.opening import settle_head
from workers.tools import Tools


def give_up(claim: Claim, *, reason: str, error: str, tools: Tools) -> list[QueueName]:
    """Raises ClaimLost when somebody else has settled it meanwhile."""
    with tools.begin(claim.tenant_id) as work:
        batch = work.batches.find(claim.batch_id)
        if work.users.lock(batch.user_key) is None:
            raise ClaimLost("the user is gone")
        session = _locked_session(work, batch)
        work.batches.hold(claim)
        if batch.kind == "live" and session is not None and batch.last > batch.first:
            return _split(work, batch, session=session, tools=tools)
        failure = Failure(
            session_key=batch.session_key,
            sequence=batch.first if batch.kind == "live" else None,
            batch_id=batch.batch_id,
            step=claim.step,
            reason=reason,
            error=error,
            crashes=claim.crashes,
            failures=claim.failures,
        )
        return _park(work, batch, session=session, failure=failure, tools=tools)


def _locked_session(work: Work, batch: Batch) -> SessionRow | None:
    if batch.session_key is None:
        return None
    work.sessions.lock(batch.session_key)
    return work.sessions.by_key(batch.session_key)


def _split(work: Work, batch: Batch, *, session: SessionRow, tools: Tools) -> list[QueueName]:
    """Close it and open its first half; the smaller cap is remembered until batches succeed again."""
    half = (batch.last - batch.first + 1) // 2
    work.batches.close(batch.batch_id, state="split", report={"cap": half})
    settle_head(work, session, applied=batch.first - 1, fold_cap=half, tools=tools)
    return ["extract", "summarize"]


def _park(
    work: Work, batch: Batch, *, session: SessionRow | None, failure: Failure, tools: Tools
) -> list[QueueName]:
    """The turn is dead, with its reason; the session goes on behind it."""
    work.failures.add(failure)
    if session is None:
        work.memories.mark_dead(batch.batch_id)
    work.batches.close(batch.batch_id, state="parked", report={"reason": failure.reason})
    if session is None:
        return []
    applied = session.applied
    if batch.kind == "live":
        work.turns.settle(session, first=batch.first, last=batch.last, state="dead", second_pass=None)
        work.sessions.apply(session.session_key, applied=batch.last, language=None)
        applied = batch.last
    # No success: the cap stays, and what a split gave back is due at once.
    cap = work.sessions.head(session.session_key).fold_cap
    due = settle_head(work, session, applied=applied, fold_cap=cap, tools=tools)
    return ["extract", "summarize"] if due else []
