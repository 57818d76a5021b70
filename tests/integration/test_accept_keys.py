"""Idempotency-Key: the same request again gets the same answer, whatever became of the first answer."""

from __future__ import annotations

from dataclasses import replace

import pytest

from api_gateway.accept import Acceptance
from shared.domain.errors import Conflict, Invalid
from tests.integration.accepting import CLIENTS, Talk, at_once, rows, said
from tests.running import Database, Tenant

KEY = b"an HMAC of the key"


@pytest.fixture
def talk(database: Database, tenant: Tenant) -> Talk:
    return Talk(database=database, tenant_id=tenant.tenant_id)


def test_a_replay_gets_the_answer_of_the_first(talk: Talk) -> None:
    first = talk.post(said("a"), said("b", id="b"), key=KEY)
    talk.post(said("between"))
    again = talk.post(said("a"), said("b", id="b"), key=KEY)
    assert again.receipts == [replace(receipt, duplicate=True) for receipt in first.receipts]
    assert talk.stored() == [(1, "a"), (2, "b"), (3, "between")]


def test_another_body_under_a_known_key_is_refused(talk: Talk) -> None:
    talk.post(said("a"), key=KEY)
    with pytest.raises(Invalid) as refused:
        talk.post(said("b"), key=KEY)
    assert refused.value.code == "key_reused"
    assert talk.stored() == [(1, "a")]


def test_a_key_in_flight_is_a_conflict(talk: Talk) -> None:
    with talk.database.begin(talk.tenant_id) as work:
        assert work.idempotency.answer(KEY, body_hmac=b"") is None
        with pytest.raises(Conflict) as refused:
            talk.post(said("a"), key=KEY)
    assert refused.value.code == "in_flight"
    assert talk.stored() == []
    assert talk.post(said("a"), key=KEY).receipts[0].sequence == 1


def test_a_key_from_many_clients_at_once_is_one_turn(talk: Talk) -> None:
    def client() -> Acceptance | Conflict:
        try:
            return talk.post(said("a"), key=KEY)
        except Conflict as error:
            return error

    answers = at_once([client] * CLIENTS)
    receipts = [answer.receipts[0] for answer in answers if isinstance(answer, Acceptance)]
    assert talk.stored() == [(1, "a")]
    assert sum(not receipt.duplicate for receipt in receipts) == 1
    assert {answer.code for answer in answers if isinstance(answer, Conflict)} <= {"in_flight"}


def test_a_refused_request_leaves_its_key_free(talk: Talk) -> None:
    talk.post(said("a", id="a"))
    with pytest.raises(Invalid):
        talk.post(said("other", id="a"), key=KEY)
    assert not talk.post(said("b"), key=KEY).receipts[0].duplicate


def test_a_key_belongs_to_its_tenant(talk: Talk) -> None:
    talk.post(said("a"), key=KEY)
    stranger = replace(talk, tenant_id=talk.database.tenant().tenant_id)
    assert not stranger.post(said("b"), key=KEY).receipts[0].duplicate


@pytest.mark.parametrize("erase", [Talk.erase_user, Talk.erase_session], ids=["user", "session"])
def test_after_an_erasure_a_replay_is_new_data(talk: Talk, erase: object) -> None:
    """The first answer names turns that are gone: giving it again would lose what was posted."""
    (first,) = talk.post(said("a"), key=KEY).receipts
    assert callable(erase)
    erase(talk)
    (again,) = talk.post(said("a"), key=KEY).receipts
    assert not again.duplicate
    assert again.turn_id != first.turn_id
    assert talk.stored() == [(1, "a")]
    assert talk.post(said("a"), key=KEY).receipts == [replace(again, duplicate=True)]


def test_a_replay_of_known_ids_only_is_remembered_too(talk: Talk) -> None:
    (first,) = talk.post(said("a", id="a")).receipts
    before = rows(talk.database, tenant_id=talk.tenant_id)["turns"]
    for _ in range(2):
        assert talk.post(said("a", id="a"), key=KEY).receipts == [replace(first, duplicate=True)]
    assert rows(talk.database, tenant_id=talk.tenant_id)["turns"] == before
