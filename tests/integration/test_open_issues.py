"""The open issue of a session is read from Postgres, whatever is asked and whether the index knows it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from shared.domain.memory import Statement
from tests.integration.protocol import House
from tests.integration.said import statement
from workers.steps.merge import merge


def issue(said: str) -> Statement:
    return replace(statement(said), kind="issue")


def opened(house: House, session: str) -> list[str]:
    with house.begin(house.tenant.tenant_id) as work:
        found = work.sessions.find(session)
        assert found is not None
        return [memory.text for memory in work.memories.open_issues(found.session_key, limit=5)]


def test_open_issues_are_those_of_the_session_that_have_not_ended(house: House) -> None:
    claim = house.folded("s1", issue("The Pixel 8 does not charge."), statement("I live in Leeds."))
    merge([claim], tools=house.tools)
    claim = house.folded("s2", issue("The parcel is lost."))
    merge([claim], tools=house.tools)
    assert opened(house, "s1") == ["The Pixel 8 does not charge."]
    assert opened(house, "s2") == ["The parcel is lost."]
    with house.begin(house.tenant.tenant_id) as work:
        session = work.sessions.find("s1")
        assert session is not None
        (memory,) = work.memories.open_issues(session.session_key, limit=5)
    house.edit(memory.memory_id, valid_to=datetime.now(UTC))
    assert opened(house, "s1") == []


def test_an_erased_session_has_no_open_issue(house: House) -> None:
    merge([house.folded("s", issue("The Pixel 8 does not charge."))], tools=house.tools)
    with house.begin(house.tenant.tenant_id) as work:
        session = work.sessions.find("s")
    assert session is not None
    house.erase_session("s")
    with house.begin(house.tenant.tenant_id) as work:
        assert work.memories.open_issues(session.session_key, limit=5) == []
