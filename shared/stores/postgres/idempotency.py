from __future__ import annotations

from shared.domain.errors import Conflict, Invalid
from shared.domain.ids import SessionKey
from shared.stores.postgres.engine import Repository, dumps

# Held until the transaction ends: a second request with the key meets it while the first is in flight.
TRY_LOCK = """
select pg_try_advisory_xact_lock(
    hashtextextended(turnkeep_tenant()::text || encode(:key_hmac, 'hex'), 0)) as held
"""
# An answer is good while its session lives: what is posted after an erasure is new data.
FIND = """
select k.body_hmac, k.answer -> 'answer' as answer from idempotency_keys k
join sessions s on s.tenant_id = k.tenant_id and s.epoch = 0
    and s.session_key = cast(k.answer ->> 'session_key' as uuid)
join users u on u.tenant_id = s.tenant_id and u.user_key = s.user_key and u.epoch = s.user_epoch
where k.key_hmac = :key_hmac
"""
ADD = """
insert into idempotency_keys (tenant_id, key_hmac, body_hmac, answer)
values (turnkeep_tenant(), :key_hmac, :body_hmac, cast(:answer as jsonb))
on conflict (tenant_id, key_hmac) do update
    set body_hmac = excluded.body_hmac, answer = excluded.answer, created_at = excluded.created_at
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

    def remember(self, key_hmac: bytes, *, body_hmac: bytes, answer: object, session_key: SessionKey) -> None:
        kept = dumps({"session_key": str(session_key), "answer": answer})
        self.run(ADD, {"key_hmac": key_hmac, "body_hmac": body_hmac, "answer": kept})
