"""Each guard of accept removed once: the test that stands for it must then fail."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import pytest

from infra.embedded.stack import EmbeddedStack
from tests.mutation import Mutation, Outcome, mutated, run

ACCEPT = "tests/integration/test_accept.py"
KEYS = "tests/integration/test_accept_keys.py"
ERASED = "tests/integration/test_accept_erased.py"
STORE = "shared/stores/postgres"
AT_ONCE = 2  # copies tested beside each other


@dataclass(frozen=True, slots=True, kw_only=True)
class Guard:
    """`removed` is one guard, which may stand in more than one statement."""

    removed: Mutation | tuple[Mutation, ...]
    module: str
    test: str

    def outcome(self, stack: EmbeddedStack) -> Outcome:
        parts = self.removed if isinstance(self.removed, tuple) else (self.removed,)
        with mutated(*parts) as copy:
            return run(copy, f"{self.module}::{self.test}", stack=stack)


GUARDS: Mapping[str, Guard] = {
    "the bodies of one id are compared": Guard(
        removed=Mutation(
            "api_gateway/accept.py", old="elif earlier.body_hmac != turn.body_hmac:", new="elif False:"
        ),
        module=ACCEPT,
        test="test_the_same_id_with_another_body_is_refused_with_its_whole_request",
    ),
    "the bodies of one id within a request are compared": Guard(
        removed=Mutation(
            "api_gateway/accept.py",
            old="elif bodies[turn.client_id] != turn.body_hmac:",
            new="elif False:",
        ),
        module=ACCEPT,
        test="test_one_id_twice_with_other_bodies_leaves_nothing",
    ),
    "the head is locked while sequences are given out": Guard(
        removed=(
            Mutation(
                f"{STORE}/sessions.py",
                old="from session_heads where session_key = :session_key for update",
                new="from session_heads where session_key = :session_key",
            ),
            Mutation(f"{STORE}/sessions.py", old="\nfor update of h\n", new="\n"),
        ),
        module=ACCEPT,
        test="test_sequences_are_gap_free_under_concurrent_clients",
    ),
    "a session belongs to its user": Guard(
        removed=Mutation(f"{STORE}/sessions.py", old="if row.user_key != user.user_key:", new="if False:"),
        module=ACCEPT,
        test="test_a_session_of_another_user_is_a_conflict_that_leaves_nothing",
    ),
    "row-level security binds a tenant to its rows": Guard(
        removed=Mutation(
            "infra/migrations/versions/0001_security.sql",
            old="using (tenant_id = turnkeep_tenant())",
            new="using (true)",
        ),
        module=ACCEPT,
        test="test_the_store_shows_a_tenant_its_own_rows_only",
    ),
    "the bodies of one Idempotency-Key are compared": Guard(
        removed=Mutation(
            f"{STORE}/idempotency.py", old="if bytes(row.body_hmac) != body_hmac:", new="if False:"
        ),
        module=KEYS,
        test="test_another_body_under_a_known_key_is_refused",
    ),
    "a key is held while its request is in flight": Guard(
        removed=Mutation(f"{STORE}/idempotency.py", old="if held is None or not held.held:", new="if False:"),
        module=KEYS,
        test="test_a_key_in_flight_is_a_conflict",
    ),
    "an answer is good only while its session lives": Guard(
        removed=Mutation(f"{STORE}/idempotency.py", old="and u.epoch = s.user_epoch", new=""),
        module=KEYS,
        test="test_after_an_erasure_a_replay_is_new_data",
    ),
    "an accept keeps an erasure waiting": Guard(
        removed=Mutation(f"{STORE}/users.py", old='" for key share"', new='""'),
        module=ERASED,
        test="test_an_erasure_waits_for_an_accept_in_flight_and_takes_it_along",
    ),
    "a session of an older epoch counts as absent": Guard(
        removed=(
            Mutation(
                f"{STORE}/sessions.py",
                old="return bool(row.user_epoch == row.current_epoch)",
                new="return True",
            ),
            Mutation(
                f"{STORE}/sessions.py",
                old=" and u.user_key = s.user_key and u.epoch = s.user_epoch\njoin session_heads",
                new=" and u.user_key = s.user_key\njoin session_heads",
            ),
        ),
        module=ERASED,
        test="test_the_same_ids_after_an_erasure_are_new_data",
    ),
    "what is older than an erasure is refused": Guard(
        removed=Mutation(f"{STORE}/users.py", old="oldest < row.erased_at", new="False"),
        module=ERASED,
        test="test_what_is_older_than_the_erasure_is_refused_with_its_whole_request",
    ),
    "closing locks the session before its head": Guard(
        removed=Mutation(
            f"{STORE}/sessions.py",
            old='        self.run(CLOSE, {"session_key": session_key, "outcome": outcome})\n',
            new="        self.head(session_key)\n"
            '        self.run(CLOSE, {"session_key": session_key, "outcome": outcome})\n',
        ),
        module=ERASED,
        test="test_closing_locks_in_the_order_of_a_merge",
    ),
}


@pytest.fixture(scope="module")
def outcomes(stack: EmbeddedStack) -> Iterator[Mapping[str, Future[Outcome]]]:
    with ThreadPoolExecutor(AT_ONCE) as pool:
        yield {name: pool.submit(guard.outcome, stack) for name, guard in GUARDS.items()}


@pytest.mark.parametrize("name", GUARDS)
def test_without_its_guard_the_test_fails(outcomes: Mapping[str, Future[Outcome]], name: str) -> None:
    outcome = outcomes[name].result()
    assert outcome.failed == {GUARDS[name].test}, outcome.output
