"""Accepting turns: framework-free, one transaction, committed before it is answered.

Lock order, here and everywhere: user, session, head. An accept shares the user with merges and excludes an
erasure; the head gives out sequences, so turns of one session are accepted one request at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from uuid import UUID

from shared.domain.errors import Invalid
from shared.domain.ids import TenantId, UserKey, turn_id
from shared.domain.policy import BudgetSplit
from shared.domain.session import FlushPolicy, Head, Pending, is_due
from shared.domain.turn import Lane
from shared.ports import Begin, KnownTurn, NewTurn, Redactor, SessionRow, Work


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """What one request sends; `key_hmac` and `body_hmac` stand for its Idempotency-Key and whole body."""

    tenant_id: TenantId
    session_id: str
    user_id: str
    user_key: UserKey
    turns: Sequence[NewTurn]
    lane: Lane
    body_hmac: bytes
    key_hmac: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    turn_id: UUID
    id: str | None
    sequence: int
    duplicate: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Acceptance:
    """`due` says that these turns made the session due: ring the bell. What was due before has been rung."""

    receipts: Sequence[Receipt]
    due: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptPolicy:
    flush: FlushPolicy
    split: BudgetSplit
    redactor: Redactor
    fresh_key: Callable[[], UUID]


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The session and its locked head."""

    session: SessionRow
    head: Head


def accept(submission: Submission, *, begin: Begin, policy: AcceptPolicy) -> Acceptance:
    """All of the turns or none. Raises Invalid, Conflict or StoreUnavailable; then nothing has changed."""
    turns = _distinct(submission.turns)
    with begin(submission.tenant_id) as work:
        earlier = _earlier_answer(work, submission)
        if earlier is not None:
            return earlier
        place = _join(work, submission, turns=turns, policy=policy)
        acceptance = _add_unknown(work, submission, turns=turns, place=place, policy=policy)
        _remember(work, submission, acceptance=acceptance, session=place.session)
    return acceptance


def _distinct(turns: Sequence[NewTurn]) -> list[NewTurn]:
    """The turns without repeats of one id and body. Raises Invalid for one id with two bodies."""
    bodies: dict[str, bytes] = {}
    distinct: list[NewTurn] = []
    for turn in turns:
        if turn.client_id is None or turn.client_id not in bodies:
            distinct.append(turn)
        elif bodies[turn.client_id] != turn.body_hmac:
            raise Invalid("id_reused", f"turn id {turn.client_id!r} comes twice with different bodies")
        if turn.client_id is not None:
            bodies[turn.client_id] = turn.body_hmac
    return distinct


def _earlier_answer(work: Work, submission: Submission) -> Acceptance | None:
    if submission.key_hmac is None:
        return None
    answer = work.idempotency.answer(submission.key_hmac, body_hmac=submission.body_hmac)
    if answer is None:
        return None
    receipts = [_receipt_from(entry) for entry in _entries(answer)]
    return Acceptance(receipts=receipts, due=False)


def _remember(work: Work, submission: Submission, *, acceptance: Acceptance, session: SessionRow) -> None:
    if submission.key_hmac is None:
        return
    work.idempotency.remember(
        submission.key_hmac,
        body_hmac=submission.body_hmac,
        answer={"accepted": [_entry(receipt) for receipt in acceptance.receipts]},
        session_key=session.session_key,
    )


def _join(work: Work, submission: Submission, *, turns: Sequence[NewTurn], policy: AcceptPolicy) -> Place:
    dates = [turn.created_at for turn in turns if turn.created_at is not None]
    user = work.users.join(submission.user_key, user_id=submission.user_id, oldest=min(dates, default=None))
    resumed = work.sessions.resume(submission.session_id, user_key=user.user_key)
    if resumed is not None:
        return Place(session=resumed[0], head=resumed[1])
    session = work.sessions.join(submission.session_id, user=user, fresh_key=policy.fresh_key())
    return Place(session=session, head=work.sessions.head(session.session_key))


def _add_unknown(
    work: Work, submission: Submission, *, turns: Sequence[NewTurn], place: Place, policy: AcceptPolicy
) -> Acceptance:
    ids = [turn.client_id for turn in turns if turn.client_id is not None]
    known = work.turns.known(place.session.session_key, client_ids=ids)
    new = _unknown(turns, known=known)
    due = _add(work, submission, new=new, place=place, policy=policy) if new else False
    return Acceptance(
        receipts=_receipts(submission.turns, known=known, new=new, place=place),
        due=due,
    )


def _unknown(turns: Sequence[NewTurn], *, known: Mapping[str, KnownTurn]) -> list[NewTurn]:
    new: list[NewTurn] = []
    for turn in turns:
        earlier = known.get(turn.client_id) if turn.client_id is not None else None
        if earlier is None:
            new.append(turn)
        elif earlier.body_hmac != turn.body_hmac:
            raise Invalid("id_reused", f"turn id {turn.client_id!r} was accepted with another body before")
    return new


def _add(
    work: Work,
    submission: Submission,
    *,
    new: Sequence[NewTurn],
    place: Place,
    policy: AcceptPolicy,
) -> bool:
    session, head = place.session, place.head
    redacted = [replace(turn, text=policy.redactor.redact(turn.text)) for turn in new]
    work.turns.add(
        redacted,
        session_key=session.session_key,
        user_key=submission.user_key,
        first=head.next_seq,
        lane=submission.lane,
    )
    pending = grown(head.pending, new=new)
    due = is_due(pending, policy=policy.flush, working_share=policy.split.working)
    work.sessions.advance(
        session.session_key,
        next_seq=head.next_seq + len(new),
        pending=pending,
        due=due,
        idle_seconds=policy.flush.idle / timedelta(seconds=1),
    )
    return due and not head.triggered


def grown(pending: Pending, *, new: Sequence[NewTurn]) -> Pending:
    return replace(
        pending,
        rounds=pending.rounds + sum(turn.role == "user" for turn in new),
        tokens=pending.tokens + sum(turn.tokens for turn in new),
        tool_finished=pending.tool_finished or any(turn.role == "tool" for turn in new),
    )


def _receipts(
    turns: Sequence[NewTurn],
    *,
    known: Mapping[str, KnownTurn],
    new: Sequence[NewTurn],
    place: Place,
) -> list[Receipt]:
    """One a turn as sent; of one id sent twice the first is new and the second a duplicate."""
    first = place.head.next_seq
    fresh = {id(turn): first + place for place, turn in enumerate(new)}
    sequences: dict[str | None, int] = {
        turn.client_id: first + place for place, turn in enumerate(new) if turn.client_id
    }
    sequences |= {client_id: earlier.sequence for client_id, earlier in known.items()}
    receipts: list[Receipt] = []
    for turn in turns:
        sequence = fresh.get(id(turn)) or sequences[turn.client_id]
        receipts.append(
            Receipt(
                turn_id=turn_id(place.session.session_key, sequence=sequence),
                id=turn.client_id,
                sequence=sequence,
                duplicate=id(turn) not in fresh,
            )
        )
    return receipts


def _entry(receipt: Receipt) -> dict[str, object]:
    return {"turn_id": str(receipt.turn_id), "id": receipt.id, "sequence": receipt.sequence}


def _entries(answer: Mapping[str, object]) -> list[Mapping[str, object]]:
    entries = answer["accepted"]
    if not isinstance(entries, list):
        raise TypeError("a stored answer is no list")
    return entries


def _receipt_from(entry: Mapping[str, object]) -> Receipt:
    sequence = entry["sequence"]
    client_id = entry["id"]
    if not isinstance(sequence, int) or not isinstance(client_id, str | None):
        raise TypeError("a stored receipt has the wrong shape")
    return Receipt(turn_id=UUID(str(entry["turn_id"])), id=client_id, sequence=sequence, duplicate=True)
