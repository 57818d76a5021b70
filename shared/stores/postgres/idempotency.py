from __future__ import annotations

from shared.domain.errors import Conflict, Invalid
from shared.stores.postgres.engine import Repository, dumps

# Held until the transaction ends: a second request with the key meets it while the first is in flight.
TRY_LOCK = """
select pg_try_advisory_xact_lock(
    hashtextextended(turnkeep_tenant()::text || encode(:key_hmac, 'hex'), 0)) as held
"""
FIND = "select body_hmac, answer from idempotency_keys where key_hmac = :key_hmac"
ADD = """
insert into idempotency_keys (tenant_id, key_hmac, body_hmac, answer)
values (turnkeep_tenant(), :key_hmac, :body_hmac, cast(:answer as jsonb))
"""


class IdempotencyKeys(Repository):
    def answer(self, key_hmac: bytes, *, body_hmac: bytes) -> dict[str, object] | None:
        """The earlier answer, or None when the key is new (and now held by this transaction).

        Raises Conflict while another request with the key is in flight, Invalid for another body.
        """
        held = self.row(TRY_LOCK, {"key_hmac": key_hmac})
        if held is None or not held.held:
            raise Conflict("in_flight", "a request with this Idempotency-Key is in flight; try again shortly")
        row = self.row(FIND, {"key_hmac": key_hmac})
        if row is None:
            return None
        if bytes(row.body_hmac) != body_hmac:
            raise Invalid("key_reused", "this Idempotency-Key came with another body before; use a new key")
        answer: dict[str, object] = row.answer
        return answer

    def remember(self, key_hmac: bytes, *, body_hmac: bytes, answer: object) -> None:
        params = {"key_hmac": key_hmac, "body_hmac": body_hmac, "answer": dumps(answer)}
        self.run(ADD, params)
