"""Accept after and beside an erasure: nothing old comes back, and the same ids are new data."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest
from sqlalchemy import text

from shared.domain.errors import Invalid
from shared.domain.ids import SessionKey
from tests.integration.accepting import Talk, at_once, await_blocked, rows, said
from tests.running import Database, Tenant


@pytest.fixture
def talk(database: Database, tenant: Tenant) -> Talk:
    return Talk(database=database, tenant_id=tenant.tenant_id)


def _erased_at(talk: Talk) -> datetime:
    with talk.database.owner.connect() as connection:
        found = connection.execute(
            text("select erased_at from users where user_key = :user_key"), {"user_key": talk.user_key}
        )
        erased_at: datetime = found.scalar_one()
        return erased_at


def test_what_is_older_than_the_erasure_is_refused_with_its_whole_request(talk: Talk) -> None:
    talk.post(said("a"))
    talk.erase_user()
    before = rows(talk.database, tenant_id=talk.tenant_id)
    old = _erased_at(talk) - timedelta(microseconds=1)
    with pytest.raises(Invalid) as refused:
        talk.post(said("new"), said("old", created_at=old))
    assert refused.value.code == "erased"
    assert rows(talk.database, tenant_id=talk.tenant_id) == before


def test_what_is_newer_than_the_erasure_is_accepted(talk: Talk) -> None:
    talk.post(said("a"))
    talk.erase_user()
    talk.post(said("b", created_at=_erased_at(talk)), said("c", created_at=datetime.now(UTC)), said("d"))
    assert talk.stored() == [(1, "b"), (2, "c"), (3, "d")]


def test_an_erased_user_keeps_no_name_until_the_next_turn(talk: Talk) -> None:
    talk.post(said("a"))
    talk.erase_user()
    with talk.database.begin(talk.tenant_id) as work:
        assert work.users.find(talk.user_key) is None
    talk.post(said("b"))
    with talk.database.begin(talk.tenant_id) as work:
        user = work.users.find(talk.user_key)
    assert user is not None
    assert (user.user_id, user.epoch) == ("u", 1)


@pytest.mark.parametrize("scope", ["user", "session"])
def test_the_same_ids_after_an_erasure_are_new_data(talk: Talk, scope: str) -> None:
    (first,) = talk.post(said("a", id="t")).receipts
    _ = talk.erase_user() if scope == "user" else talk.erase_session()
    assert talk.stored() == []
    (again,) = talk.post(said("another body", id="t")).receipts
    assert (again.sequence, again.duplicate) == (1, False)
    assert again.turn_id != first.turn_id
    assert talk.stored() == [(1, "another body")]


def test_erasing_a_session_leaves_the_users_others(talk: Talk) -> None:
    other = replace(talk, session_id="other")
    talk.post(said("a", id="t"))
    (kept,) = other.post(said("b", id="t")).receipts
    talk.erase_session()
    assert other.post(said("b", id="t")).receipts == [replace(kept, duplicate=True)]


@pytest.mark.parametrize("scope", ["user", "session"])
def test_an_erased_session_id_is_free_for_another_user(talk: Talk, scope: str) -> None:
    talk.post(said("a"))
    _ = talk.erase_user() if scope == "user" else talk.erase_session()
    stranger = replace(talk, user_id="somebody else")
    stranger.post(said("b"))
    assert stranger.stored() == [(1, "b")]


def test_clients_that_meet_in_an_erased_session_make_one_new_one(talk: Talk) -> None:
    talk.post(said("before"))
    talk.erase_user()
    posted = at_once([partial(talk.post, said(f"{number}")) for number in range(8)])
    assert sorted(acceptance.receipts[0].sequence for acceptance in posted) == list(range(1, 9))
    assert [sequence for sequence, _ in talk.stored()] == list(range(1, 9))


def test_an_accept_waits_for_an_erasure_in_flight_and_lands_after_it(talk: Talk) -> None:
    (first,) = talk.post(said("a", id="t")).receipts
    with ThreadPoolExecutor(1) as pool:
        with talk.database.begin(talk.tenant_id) as work:
            work.erasures.lock_user(talk.user_key)
            posting = pool.submit(talk.post, said("a", id="t"))
            await_blocked(talk.database, call=posting)
            work.erasures.bury_user(talk.user_key)
        (again,) = posting.result(timeout=30).receipts
    assert not again.duplicate
    assert again.turn_id != first.turn_id
    assert talk.stored() == [(1, "a")]


def test_an_erasure_waits_for_an_accept_in_flight_and_takes_it_along(talk: Talk) -> None:
    talk.post(said("a"))
    with ThreadPoolExecutor(1) as pool:
        with talk.database.begin(talk.tenant_id) as work:
            work.users.join(talk.user_key, user_id="u", oldest=None)
            erasing = pool.submit(talk.erase_user)
            await_blocked(talk.database, call=erasing)
        erasing.result(timeout=30)
    assert talk.stored() == []


def test_closing_locks_in_the_order_of_a_merge(talk: Talk) -> None:
    """A merge holds the session when it asks for the head; closing the other way round would deadlock."""
    talk.post(said("a"))
    with ThreadPoolExecutor(1) as pool:
        with talk.database.begin(talk.tenant_id) as merge:
            session = merge.sessions.find("s")
            assert session is not None
            merge.sessions.lock(session.session_key)
            closing = pool.submit(_close, talk, session.session_key)
            await_blocked(talk.database, call=closing)
            assert merge.sessions.head(session.session_key).next_seq == 2
        closing.result(timeout=30)


def _close(talk: Talk, session_key: SessionKey) -> None:
    with talk.database.begin(talk.tenant_id) as work:
        work.sessions.close(session_key, outcome=None)
