"""Going on with a session in one statement: it locks and sees what joining step by step does."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from tests.integration.accepting import Talk, await_blocked, said
from tests.running import Database, Tenant


@pytest.fixture
def talk(database: Database, tenant: Tenant) -> Talk:
    return Talk(database=database, tenant_id=tenant.tenant_id)


def test_an_accept_waits_for_the_erasure_of_its_session_and_lands_in_a_new_one(talk: Talk) -> None:
    (first,) = talk.post(said("a", id="t")).receipts
    with ThreadPoolExecutor(1) as pool:
        with talk.database.begin(talk.tenant_id) as work:
            session = work.sessions.find("s")
            assert session is not None
            work.erasures.lock_user(talk.user_key)
            posting = pool.submit(talk.post, said("a", id="t"))
            await_blocked(talk.database, call=posting)
            work.erasures.bury_session(session.session_key, user_key=talk.user_key)
        (again,) = posting.result(timeout=30).receipts
    assert again.turn_id != first.turn_id
    assert (again.sequence, again.duplicate) == (1, False)


def test_a_resumed_session_is_what_joining_finds(talk: Talk) -> None:
    talk.post(said("a"))
    with talk.database.begin(talk.tenant_id) as work:
        user = work.users.join(talk.user_key, user_id="u", oldest=None)
        session = work.sessions.join("s", user=user, fresh_key=talk.user_key)
        head = work.sessions.head(session.session_key)
        assert work.sessions.resume("s", user_key=talk.user_key) == (session, head)


def test_the_head_is_read_after_whoever_held_it(talk: Talk) -> None:
    talk.post(said("a"))
    with ThreadPoolExecutor(1) as pool:
        with talk.database.begin(talk.tenant_id) as work:
            work.users.join(talk.user_key, user_id="u", oldest=None)
            found = work.sessions.resume("s", user_key=talk.user_key)
            assert found is not None
            session, head = found
            posting = pool.submit(talk.post, said("b"))
            await_blocked(talk.database, call=posting)
            work.sessions.advance(
                session.session_key, next_seq=7, pending=head.pending, due=False, idle_seconds=30
            )
        (receipt,) = posting.result(timeout=30).receipts
    assert receipt.sequence == 7


def test_a_merge_is_not_waited_for(talk: Talk) -> None:
    talk.post(said("a"))
    with talk.database.begin(talk.tenant_id) as merge:
        session = merge.sessions.find("s")
        assert session is not None
        merge.users.lock(talk.user_key)
        merge.sessions.lock(session.session_key)
        with ThreadPoolExecutor(1) as pool:
            (receipt,) = pool.submit(talk.post, said("b")).result(timeout=30).receipts
    assert receipt.sequence == 2


def test_what_needs_more_than_going_on_is_left_to_joining(talk: Talk) -> None:
    stranger = replace(talk, user_id="somebody else")
    talk.post(said("a"))
    with talk.database.begin(talk.tenant_id) as work:
        session = work.sessions.find("s")
        assert session is not None
        assert work.sessions.resume("unknown", user_key=talk.user_key) is None
        assert work.sessions.resume("s", user_key=stranger.user_key) is None
        work.sessions.close(session.session_key, outcome=None)
        assert work.sessions.resume("s", user_key=talk.user_key) is None
