"""Domain values as JSON and back, for step outputs and condensed entries. Wrong JSON raises ValueError."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from pydantic import TypeAdapter

from shared.domain.memory import Statement
from shared.domain.session import CondensedEntry

_STATEMENTS = TypeAdapter(list[Statement])
_ENTRIES = TypeAdapter(list[CondensedEntry])


def statements_to_json(statements: Sequence[Statement]) -> list[dict[str, object]]:
    return cast("list[dict[str, object]]", _STATEMENTS.dump_python(list(statements), mode="json"))


def statements_from_json(data: object) -> list[Statement]:
    return _STATEMENTS.validate_python(data)


def entries_to_json(entries: Sequence[CondensedEntry]) -> list[dict[str, object]]:
    return cast("list[dict[str, object]]", _ENTRIES.dump_python(list(entries), mode="json"))


def entries_from_json(data: object) -> list[CondensedEntry]:
    return _ENTRIES.validate_python(data)
