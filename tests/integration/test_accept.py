"""What accept promises: sequences without gaps, one turn an id, all of a request or none of it."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest

from shared.domain.errors import Conflict, Invalid
from tests.integration.accepting import CLIENTS, Talk, at_once, rows, said
from tests.running import Database, Tenant


@pytest.fixture
def talk(database: Database, tenant: Tenant) -> Talk:
    return Talk(database=database, tenant_id=tenant.tenant_id)


def test_sequences_are_gap_free_under_concurrent_clients(talk: Talk) -> None:
    def client(number: int) -> list[list[int]]:
        posted = [
            talk.post(*(said(f"{number}.{request}.{turn}") for turn in range(1 + request % 3)))
            for request in range(6)
        ]
        return [[receipt.sequence for receipt in acceptance.receipts] for acceptance in posted]

    requests = [
        sequences
        for found in at_once([partial(client, number) for number in range(CLIENTS)])
        for sequences in found
    ]
    given = sorted(sequence for sequences in requests for sequence in sequences)
    assert given == list(range(1, CLIENTS * 12 + 1))
    assert [sequence for sequence, _ in talk.stored()] == given
    for sequences in requests:
        assert sequences == list(range(sequences[0], sequences[0] + len(sequences)))


def test_turns_of_a_request_keep_their_order(talk: Talk) -> None:
    talk.post(said("a"), said("b"))
    talk.post(said("c"), said("d"))
    assert talk.stored() == [(1, "a"), (2, "b"), (3, "c"), (4, "d")]


def test_turns_without_an_id_are_never_taken_for_each_other(talk: Talk) -> None:
    again = [talk.post(said("same")).receipts[0] for _ in range(2)]
    assert [receipt.sequence for receipt in again] == [1, 2]
    assert not any(receipt.duplicate for receipt in again)


def test_the_same_id_again_is_the_same_answer_flagged(talk: Talk) -> None:
    (first,) = talk.post(said("hello", id="t1")).receipts
    (again,) = talk.post(said("hello", id="t1")).receipts
    assert not first.duplicate
    assert again == replace(first, duplicate=True)
    assert talk.stored() == [(1, "hello")]


def test_one_id_from_many_clients_at_once_is_one_turn(talk: Talk) -> None:
    receipts = [
        acceptance.receipts[0]
        for acceptance in at_once([lambda: talk.post(said("hello", id="t1"))] * CLIENTS)
    ]
    assert talk.stored() == [(1, "hello")]
    assert len({receipt.turn_id for receipt in receipts}) == 1
    assert sum(not receipt.duplicate for receipt in receipts) == 1


def test_the_same_id_with_another_body_is_refused_with_its_whole_request(talk: Talk) -> None:
    talk.post(said("hello", id="t1"))
    with pytest.raises(Invalid) as refused:
        talk.post(said("new", id="t2"), said("other", id="t1"))
    assert refused.value.code == "id_reused"
    assert talk.stored() == [(1, "hello")]
    assert talk.post(said("next")).receipts[0].sequence == 2


def test_a_partly_known_batch_is_accepted_with_flags(talk: Talk) -> None:
    known = talk.post(said("a", id="a"), said("b", id="b")).receipts
    receipts = talk.post(said("b", id="b"), said("c", id="c"), said("a", id="a"), said("d")).receipts
    assert [(receipt.sequence, receipt.duplicate) for receipt in receipts] == [
        (2, True),
        (3, False),
        (1, True),
        (4, False),
    ]
    assert receipts[0].turn_id == known[1].turn_id
    assert talk.stored() == [(1, "a"), (2, "b"), (3, "c"), (4, "d")]


def test_one_id_twice_in_a_request_is_one_turn(talk: Talk) -> None:
    receipts = talk.post(said("a", id="a"), said("b"), said("a", id="a")).receipts
    assert [(receipt.sequence, receipt.duplicate) for receipt in receipts] == [
        (1, False),
        (2, False),
        (1, True),
    ]
    assert receipts[0].turn_id == receipts[2].turn_id
    assert talk.stored() == [(1, "a"), (2, "b")]


def test_one_id_twice_with_other_bodies_leaves_nothing(talk: Talk) -> None:
    before = rows(talk.database, tenant_id=talk.tenant_id)
    with pytest.raises(Invalid) as refused:
        talk.post(said("a", id="a"), said("other", id="a"), key=b"key")
    assert refused.value.code == "id_reused"
    assert rows(talk.database, tenant_id=talk.tenant_id) == before


def test_a_session_of_another_user_is_a_conflict_that_leaves_nothing(talk: Talk) -> None:
    talk.post(said("mine"))
    before = rows(talk.database, tenant_id=talk.tenant_id)
    with pytest.raises(Conflict) as refused:
        replace(talk, user_id="somebody else").post(said("theirs"), key=b"key")
    assert refused.value.code == "session_of_another_user"
    assert rows(talk.database, tenant_id=talk.tenant_id) == before
    assert talk.stored() == [(1, "mine")]


def test_ids_belong_to_their_session(talk: Talk) -> None:
    (one,) = talk.post(said("a", id="t")).receipts
    (two,) = replace(talk, session_id="other").post(said("b", id="t")).receipts
    assert not two.duplicate
    assert one.turn_id != two.turn_id


def test_tenants_with_the_same_names_never_meet(talk: Talk) -> None:
    stranger = replace(talk, tenant_id=talk.database.tenant().tenant_id)
    (one,) = talk.post(said("mine", id="t")).receipts
    (two,) = stranger.post(said("theirs", id="t")).receipts
    assert one.turn_id != two.turn_id
    assert talk.stored() == [(1, "mine")]
    assert stranger.stored() == [(1, "theirs")]


def test_the_store_shows_a_tenant_its_own_rows_only(talk: Talk) -> None:
    """Row-level security alone: no statement here names a tenant."""
    (receipt,) = talk.post(said("mine")).receipts
    stranger = talk.database.tenant()
    with talk.database.begin(talk.tenant_id) as work:
        session = work.sessions.find("s")
    assert session is not None
    with talk.database.begin(stranger.tenant_id) as work:
        assert work.sessions.by_key(session.session_key) is None
        assert work.turns.find(session, turn_id=receipt.turn_id) is None
        assert work.users.find(talk.user_key) is None


def test_the_turn_that_meets_a_trigger_makes_the_session_due(talk: Talk) -> None:
    due = [talk.post(said(f"round {number}")).due for number in range(4)]
    assert due == [False, False, True, False]
    with talk.database.begin(talk.tenant_id) as work:
        session = work.sessions.find("s")
    assert session is not None
    assert (talk.tenant_id, session.session_key) in talk.database.dispatch.due_sessions(limit=1_000)
