"""Every guard of the pipeline is needed: without it, the test named beside it fails."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest

from infra.embedded.stack import EmbeddedStack
from tests.mutation import Mutation, Outcome, mutated, run

TESTS = "tests/integration"
AT_ONCE = 2  # copies tested beside each other
BATCHES = "shared/stores/postgres/batches.py"
DISPATCH = "shared/stores/postgres/dispatch.py"
DEBTS = "shared/stores/postgres/debts.py"
ERASURES = "shared/stores/postgres/erasures.py"
MERGE = "workers/steps/merge.py"
TABLES = "infra/migrations/versions/0001_tables.sql"
SECURITY = "infra/migrations/versions/0001_security.sql"


@dataclass(frozen=True, slots=True, kw_only=True)
class Guard:
    """`removed` takes the guard away; then every test of `caught_by` fails."""

    removed: tuple[Mutation, ...]
    module: str
    caught_by: tuple[str, ...]

    def outcome(self, stack: EmbeddedStack) -> Outcome:
        tests = (f"{TESTS}/test_{self.module}.py::{test}" for test in self.caught_by)
        with mutated(*self.removed) as copy:
            return run(copy, *tests, stack=stack)


GUARDS = {
    "fence": Guard(
        removed=(
            Mutation(
                BATCHES,
                old="and step = :step and state = 'running' and fence = :fence",
                new="and step = :step and state = 'running' and cast(:fence as bigint) > 0",
            ),
        ),
        module="protocol_merge",
        caught_by=("test_a_merge_whose_fence_was_passed_writes_nothing_and_its_successor_all_of_it",),
    ),
    "epoch": Guard(
        removed=(Mutation(BATCHES, old=" or not row.current:", new=":"),),
        module="protocol_record",
        caught_by=("test_a_step_begun_under_an_earlier_epoch_records_nothing",),
    ),
    "cancelled batches": Guard(
        removed=(
            Mutation(
                ERASURES,
                old="where user_key = :user_key and state = 'open'\n",
                new="where user_key = :user_key and state = 'none'\n",
            ),
        ),
        module="protocol_erase",
        caught_by=("test_an_erasure_between_any_two_transactions_leaves_nothing_and_a_new_start_is_clean",),
    ),
    "raised epoch": Guard(
        removed=(
            Mutation(ERASURES, old="set epoch = epoch + 1, version", new="set version"),
            Mutation(
                ERASURES,
                old="update sessions set epoch = epoch + 1, wrap_up",
                new="update sessions set epoch = 0, wrap_up",
            ),
        ),
        module="protocol_erase",
        caught_by=("test_an_erasure_between_any_two_transactions_leaves_nothing_and_a_new_start_is_clean",),
    ),
    "cursor": Guard(
        removed=(
            Mutation(
                MERGE,
                old='if batch.kind == "live" and applied != batch.first - 1:',
                new='if batch.kind == "live" and applied < 0:',
            ),
        ),
        module="protocol_merge",
        caught_by=("test_a_merge_whose_cursor_has_moved_writes_nothing",),
    ),
    "join lock": Guard(
        removed=(
            Mutation(BATCHES, old="b.batch_id = :batch_id\nfor update of b", new="b.batch_id = :batch_id"),
        ),
        module="protocol_record",
        caught_by=("test_two_steps_that_finish_at_once_make_the_next_due_and_do_not_wait_for_each_other",),
    ),
    "keep first": Guard(
        removed=(
            Mutation(
                BATCHES,
                old="on conflict (tenant_id, batch_id, step) do nothing",
                new="on conflict (tenant_id, batch_id, step) do update set output = excluded.output",
            ),
        ),
        module="protocol_record",
        caught_by=(
            "test_an_output_that_stands_is_kept",
            "test_a_step_whose_output_stands_is_not_worked_on_again",
        ),
    ),
    "version of the user": Guard(
        removed=(
            Mutation(
                MERGE,
                old="if _locked(work, folded).version == folded.user.version:",
                new="if _locked(work, folded):",
            ),
        ),
        module="protocol_merge",
        caught_by=(
            "test_an_edit_that_was_indexed_between_search_and_commit_is_seen",
            "test_edits_that_never_stop_are_seen_under_the_lock",
        ),
    ),
    "one merge a user": Guard(
        removed=(
            Mutation(TABLES, old="create unique index work_one_merge_a_user", new="create index any_merge"),
            Mutation(DISPATCH, old="and r.step = 'merge' and r.state = 'running'", new="and r.step = 'none'"),
        ),
        module="protocol_merge",
        caught_by=("test_a_users_merges_run_one_at_a_time_across_sessions",),
    ),
    "one open batch": Guard(
        removed=(
            Mutation(TABLES, old="create unique index batches_one_open", new="create index batches_any_open"),
            Mutation(
                "workers/opening.py",
                old='if session is None or work.batches.has_open(session_key, kind="live"):',
                new="if session is None:",
            ),
        ),
        module="protocol_batches",
        caught_by=("test_a_session_has_one_open_live_batch_and_the_rest_follows_when_it_closes",),
    ),
    "takeover after the start of Postgres": Guard(
        removed=(
            Mutation(
                DISPATCH,
                old="and clock_timestamp() > pg_postmaster_start_time() + make_interval(secs => :lease)",
                new="",
            ),
        ),
        module="protocol_claims",
        caught_by=("test_nothing_is_taken_over_within_one_lease_of_the_start_of_postgres",),
    ),
    "crashes given back": Guard(
        removed=(
            Mutation(
                "workers/runner.py",
                old="            self.dispatch.give_back_crash(claim)\n        except StoreUnavailable",
                new="        except StoreUnavailable",
            ),
        ),
        module="protocol_claims",
        caught_by=("test_a_live_worker_that_was_passed_gives_the_crash_back",),
    ),
    "version of a debt": Guard(
        removed=(
            Mutation(
                DEBTS,
                old="and d.embedder = c.embedder and d.fence = c.fence",
                new="and d.embedder = c.embedder",
            ),
            Mutation(DEBTS, old="and fence = :fence and version = :version", new=""),
        ),
        module="protocol_debts",
        caught_by=("test_what_is_edited_while_it_is_paid_stays_owed",),
    ),
    "look back after an upsert": Guard(
        removed=(
            Mutation("workers/steps/index.py", old="            dead |= {", new="            dead & {"),
        ),
        module="protocol_debts",
        caught_by=(
            "test_a_memory_that_dies_between_read_and_upsert_has_its_point_removed",
            "test_a_memory_erased_between_read_and_upsert_has_its_point_removed",
        ),
    ),
    "owed again": Guard(
        removed=(Mutation(DEBTS, old="        if late:\n", new="        if late is None:\n"),),
        module="protocol_debts",
        caught_by=(
            "test_a_late_payer_never_leaves_an_older_version_behind",
            "test_a_late_payer_that_deletes_never_leaves_a_hole",
        ),
    ),
    "row-level security": Guard(
        removed=(Mutation(SECURITY, old="using (tenant_id = turnkeep_tenant())'", new="using (true)'"),),
        module="row_level_security",
        caught_by=("test_without_a_tenant_the_application_sees_no_row_of_any_table",),
    ),
    "row-level security of what is written": Guard(
        removed=(
            Mutation(SECURITY, old="with check (tenant_id = turnkeep_tenant())'", new="with check (true)'"),
        ),
        module="row_level_security",
        caught_by=(
            "test_no_row_can_be_inserted_without_a_tenant_or_for_another",
            "test_a_row_cannot_be_handed_to_another_tenant",
        ),
    ),
}


@pytest.fixture(scope="module")
def outcomes(stack: EmbeddedStack) -> dict[str, Outcome]:
    with ThreadPoolExecutor(AT_ONCE) as pool:
        found = pool.map(lambda guard: guard.outcome(stack), GUARDS.values())
        return dict(zip(GUARDS, found, strict=True))


@pytest.mark.timeout(600)  # whichever comes first waits for all of them
@pytest.mark.parametrize("name", GUARDS)
def test_without_its_guard_a_test_of_the_pipeline_fails(outcomes: Mapping[str, Outcome], name: str) -> None:
    outcome = outcomes[name]
    assert outcome.failed == set(GUARDS[name].caught_by), outcome.output
