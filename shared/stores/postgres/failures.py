from __future__ import annotations

from uuid import uuid4

from shared.domain.ids import SessionKey
from shared.ports import Failure
from shared.stores.postgres.engine import Repository

ADD = """
insert into failures (tenant_id, failure_id, session_key, sequence, batch_id, step, reason, error, crashes,
    failures)
values (turnkeep_tenant(), :failure_id, :session_key, :sequence, :batch_id, :step, :reason, :error, :crashes,
    :failures)
"""
OF_TURN = """
select session_key, sequence, batch_id, step, reason, error, crashes, failures from failures
where session_key = :session_key and sequence = :sequence and resolved_at is null
order by created_at desc limit 1
"""


class Failures(Repository):
    def add(self, failure: Failure) -> None:
        self.run(
            ADD,
            {
                "failure_id": uuid4(),
                "session_key": failure.session_key,
                "sequence": failure.sequence,
                "batch_id": failure.batch_id,
                "step": failure.step,
                "reason": failure.reason,
                "error": failure.error,
                "crashes": failure.crashes,
                "failures": failure.failures,
            },
        )

    def of_turn(self, session_key: SessionKey, *, sequence: int) -> Failure | None:
        row = self.row(OF_TURN, {"session_key": session_key, "sequence": sequence})
        return Failure(**row._mapping) if row else None
