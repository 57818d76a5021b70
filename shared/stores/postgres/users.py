from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import cast

from sqlalchemy import Row

from shared.domain.errors import Invalid
from shared.domain.ids import UserKey
from shared.domain.policy import UserPolicy
from shared.ports import UserRow
from shared.stores.postgres.engine import Repository, dumps

COLUMNS = "user_key, user_id, epoch, version, policy, erased_at"
FIND = f"select {COLUMNS} from users where user_key = :user_key"
JOIN = FIND + " for key share"
LOCK = FIND + " for no key update"
ADD = """
insert into users (tenant_id, user_key, user_id) values (turnkeep_tenant(), :user_key, :user_id)
on conflict (tenant_id, user_key) do nothing
"""
NAME = "update users set user_id = :user_id where user_key = :user_key and user_id is null"
RAISE_VERSION = "update users set version = version + 1 where user_key = :user_key returning version"
SET_POLICY = """
update users set policy = policy || cast(:policy as jsonb), version = version + 1 where user_key = :user_key
"""


class Users(Repository):
    def find(self, user_key: UserKey) -> UserRow | None:
        row = self.row(FIND, {"user_key": user_key})
        return user_row(row) if row and row.user_id is not None else None

    def join(self, user_key: UserKey, *, user_id: str, oldest: datetime | None) -> UserRow:
        """The user, made if unknown, locked `FOR KEY SHARE`: an erasure waits, a merge does not.

        Raises Invalid when `oldest` lies before the user's erasure: such data was erased and stays so.
        """
        params = {"user_key": user_key, "user_id": user_id}
        row = self.row(JOIN, params)
        if row is None:
            self.run(ADD, params)
            row = self.row(JOIN, params)
        if row is None:
            raise LookupError("a user row vanished between insert and select")
        if row.user_id is None:
            self.run(NAME, params)
        if row.erased_at is not None and oldest is not None and oldest < row.erased_at:
            raise Invalid(
                "erased", f"user {user_id!r} was erased at {row.erased_at.isoformat()}; send newer turns only"
            )
        return user_row(row, user_id=user_id)

    def lock(self, user_key: UserKey) -> UserRow | None:
        """`FOR NO KEY UPDATE`: one merge, edit or delete at a time; accepting goes on."""
        row = self.row(LOCK, {"user_key": user_key})
        return user_row(row) if row else None

    def raise_version(self, user_key: UserKey) -> int:
        row = self.row(RAISE_VERSION, {"user_key": user_key})
        return cast("int", row.version) if row else 0

    def set_policy(self, user_key: UserKey, *, changes: Mapping[str, object]) -> None:
        self.run(SET_POLICY, {"user_key": user_key, "policy": dumps(dict(changes))})


def user_row(row: Row[tuple[object, ...]], *, user_id: str | None = None) -> UserRow:
    return UserRow(
        user_key=row.user_key,
        user_id=user_id if user_id is not None else (row.user_id or ""),
        epoch=row.epoch,
        version=row.version,
        policy=UserPolicy(**row.policy),
    )
