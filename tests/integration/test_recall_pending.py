"""What waits to be folded in a user's other sessions, read from Postgres."""

from __future__ import annotations

from sqlalchemy import text

from shared.domain.ids import episode_id
from tests.integration.protocol import House
from tests.integration.said import new_turn, statement
from workers.steps.merge import merge

PLAN = """
explain select t.sequence from turns t
where t.tenant_id = '00000000-0000-0000-0000-000000000001' and t.user_key = '{user_key}'
  and t.state = 'pending' order by t.accepted_at desc, t.sequence desc limit 50
"""


def elsewhere(house: House, here: str | None = None, *, user: str = "u", limit: int = 50) -> list[str]:
    with house.begin(house.tenant.tenant_id) as work:
        session = work.sessions.find(here) if here else None
        found = work.turns.pending_elsewhere(
            house.user_key(user), here=session.session_key if session else None, limit=limit
        )
    return [f"{each.session_id}: {each.turn.text}" for each in found]


def test_pending_turns_of_the_users_other_sessions_come_newest_first(house: House) -> None:
    house.say("s1", "My order arrived broken.")
    house.say("s2", "你好", "我的充电器坏了。")
    house.say("s3", "Somebody else's.", user="v")
    assert elsewhere(house) == ["s2: 我的充电器坏了。", "s2: 你好", "s1: My order arrived broken."]
    assert elsewhere(house, "s2") == ["s1: My order arrived broken."]
    assert elsewhere(house, limit=1) == ["s2: 我的充电器坏了。"]
    assert elsewhere(house, user="v") == ["s3: Somebody else's."]
    assert elsewhere(house.other_tenant()) == []


def test_system_turns_do_not_come_along(house: House) -> None:
    house.post("s1", new_turn("Be brief.", role="system"), new_turn("It broke."))
    assert elsewhere(house) == ["s1: It broke."]


def test_what_is_folded_is_pending_no_more_and_has_the_id_it_was_shown_under(house: House) -> None:
    claim = house.folded("s1", statement("I live in Leeds."))
    with house.begin(house.tenant.tenant_id) as work:
        (before, *_) = work.turns.pending_elsewhere(house.user_key(), here=None, limit=50)
    merge([claim], tools=house.tools)
    assert elsewhere(house) == []
    shown = episode_id(before.session_key, sequence=before.turn.sequence, piece=0)
    with house.begin(house.tenant.tenant_id) as work:
        memory = work.memories.find(shown)
    assert memory is not None
    assert (memory.text, list(memory.turn_ids)) == (before.turn.text, [before.turn.turn_id])


def test_what_was_erased_is_gone_at_once(house: House) -> None:
    house.say("s1", "It broke.")
    house.say("s2", "It burnt.")
    house.erase_session("s1")
    assert elsewhere(house) == ["s2: It burnt."]
    house.erase_user()
    assert elsewhere(house) == []
    house.say("s2", "Hello again.")
    assert elsewhere(house) == ["s2: Hello again."]


def test_a_closed_session_counts_until_it_is_folded(house: House) -> None:
    house.say("s1", "It broke.")
    house.close("s1")
    assert elsewhere(house) == ["s1: It broke."]


def test_the_read_has_an_index_of_its_own(house: House) -> None:
    house.say("s1", "It broke.")
    with house.database.owner.begin() as connection:
        connection.execute(text("set local enable_seqscan = off"))
        plan = connection.execute(text(PLAN.format(user_key=house.user_key()))).scalars().all()
    assert any("turns_default_tenant_id_user_key_accepted_at" in line for line in plan), plan
