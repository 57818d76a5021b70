"""Debts to the index: paid by id, at their own version, by whoever comes last (ARCHITECTURE 3.7)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from shared.domain.errors import EmbedderUnavailable
from shared.domain.ids import MemoryId, TenantId
from shared.inference.embedders.hashing import HashingEmbedder
from shared.ports import DebtClaim, Point, VectorIndex
from shared.stores.qdrant import TenantIndex
from shared.text.vectors import vector_bytes
from tests.integration.between import Watched
from tests.integration.protocol import House
from tests.integration.said import statement
from workers.steps.embed import embed_owed
from workers.steps.index import index
from workers.tools import Tools

SAID = "The customer prefers a callback in the late afternoon"
OTHER = "Calls are welcome on Mondays only"


class WatchedIndex(TenantIndex):
    """Acts before or after points are written."""

    before: Callable[[], object] | None = None
    after: Callable[[], object] | None = None

    def upsert(self, points: Sequence[Point]) -> None:
        if self.before:
            self.before()
        super().upsert(points)
        if self.after:
            self.after()


def _watching(
    house: House, *, before: Callable[[], object] | None = None, after: Callable[[], object] | None = None
) -> Tools:
    def open_index(tenant_id: TenantId) -> VectorIndex:
        opened = WatchedIndex(house.client, alias=house.database.name, tenant_id=tenant_id)
        opened.before, opened.after = before, after
        return opened

    return replace(house.tools, open_index=open_index)


def _merged(house: House, said: str = SAID) -> MemoryId:
    """A live memory that is owed to the index."""
    memory_id = house.add(said)
    runner = house.runner()
    runner._once("embed")
    runner._once("merge")
    return memory_id


def _indexed(house: House, said: str = SAID) -> MemoryId:
    memory_id = house.add(said)
    house.finish()
    return memory_id


def _owed(house: House) -> list[tuple[object, ...]]:
    return [tuple(row) for row in house.sql("select op, step, version from index_debts order by memory_id")]


def _claims(house: House) -> list[DebtClaim]:
    return house.database.dispatch.claim_debts("index", limit=100)


def _version(house: House, memory_id: MemoryId) -> int:
    version: int = house.value("select version from memories where memory_id = :id", id=memory_id)
    return version


def _agrees(house: House) -> None:
    """The index holds what Postgres says is live, at its version, and nothing else; nothing is owed."""
    rows = house.sql("select memory_id, version, state from memories where not wrong")
    live = {row.memory_id: row.version for row in rows if row.state == "live"}
    assert house.index.versions([row.memory_id for row in rows]) == live
    assert house.index.count(house.user_key()) == len(live)
    assert _owed(house) == []


def test_a_merge_owes_and_the_index_pays(house: House) -> None:
    memory_id = _merged(house)
    assert _owed(house) == [("upsert", "index", 2)]
    assert house.index.versions([memory_id]) == {}
    house.finish()
    _agrees(house)
    assert house.value("select indexed_version from memory_vectors") == 2
    assert house.value("select tier from memories") == "warm"


def test_what_is_edited_while_it_is_paid_stays_owed(house: House) -> None:
    memory_id = _merged(house)
    index(_claims(house), tools=_watching(house, before=lambda: house.edit(memory_id, importance=0.9)))
    assert [row[2] for row in _owed(house)] == [_version(house, memory_id)]
    house.finish()
    _agrees(house)


def test_an_edit_of_the_text_is_embedded_before_it_is_indexed(house: House) -> None:
    memory_id = _indexed(house)
    house.edit(memory_id, text=OTHER)
    assert _owed(house)[0][:2] == ("upsert", "embed")
    house.finish()
    _agrees(house)
    vector = house.value("select vector from memory_vectors")
    assert vector == vector_bytes(HashingEmbedder().passages([OTHER])[0])


def test_a_debt_without_a_vector_goes_to_the_embedder_first(house: House) -> None:
    _merged(house)
    house.sql("delete from memory_vectors")
    house.runner()._once("index")
    assert _owed(house) == [("upsert", "embed", 2)]
    assert house.bell.rung[-1:] == ["embed"]
    house.finish()
    _agrees(house)


def test_a_deleted_memory_leaves_no_point(house: House) -> None:
    memory_id = _indexed(house)
    house.forget(memory_id)
    house.finish()
    assert house.index.versions([memory_id]) == {}
    _agrees(house)


def test_a_memory_that_dies_between_read_and_upsert_has_its_point_removed(house: House) -> None:
    memory_id = _merged(house)
    index(_claims(house), tools=_watching(house, before=lambda: house.forget(memory_id)))
    assert house.index.versions([memory_id]) == {}
    house.finish()
    _agrees(house)


@pytest.mark.parametrize("scope", ["user", "session"])
def test_a_memory_erased_between_read_and_upsert_has_its_point_removed(house: House, scope: str) -> None:
    house.folded("s", statement(SAID))
    house.sql("update work set state = 'due' where step = 'merge'")
    house.runner()._once("merge")
    claims = _claims(house)
    erase = house.erase_user if scope == "user" else (lambda: house.erase_session("s"))
    index(claims, tools=_watching(house, before=erase))
    assert house.index.versions([claim.memory_id for claim in claims]) == {}


def test_a_memory_marked_wrong_leaves_the_index_and_comes_back_when_it_is_not(house: House) -> None:
    memory_id = _indexed(house)
    house.edit(memory_id, wrong=True)
    house.finish()
    assert house.index.versions([memory_id]) == {}
    house.edit(memory_id, wrong=False)
    house.finish()
    _agrees(house)


def test_a_late_payer_never_leaves_an_older_version_behind(house: House) -> None:
    """It read the row, was overtaken by an edit that another worker paid, and then wrote what it had read."""
    memory_id = _merged(house)
    stale = _claims(house)

    def overtaken() -> None:
        house.edit(memory_id, importance=0.9)
        house.finish()
        assert house.index.versions([memory_id]) == {memory_id: 3}

    index(stale, tools=_watching(house, before=overtaken))
    house.finish()
    _agrees(house)


def test_a_late_payer_that_deletes_never_leaves_a_hole(house: House) -> None:
    memory_id = _indexed(house)
    house.edit(memory_id, wrong=True)
    stale = _claims(house)
    house.edit(memory_id, wrong=False)
    house.finish()
    house.index.delete([memory_id])
    with house.begin(house.tenant.tenant_id) as work:
        work.debts.settle(stale)
    house.finish()
    _agrees(house)


def test_two_payers_that_pass_each_other_both_end_with_the_index_right(house: House) -> None:
    memory_id = _merged(house)
    first = _claims(house)
    house.expire_leases()
    second = _claims(house)
    assert second[0].fence == first[0].fence + 1

    def first_settles() -> None:
        index(first, tools=house.tools)

    index(second, tools=_watching(house, after=first_settles))
    house.finish()
    _agrees(house)
    assert house.index.versions([memory_id]) == {memory_id: 2}


def test_a_slow_embedder_never_overwrites_the_vector_of_a_newer_text(house: House) -> None:
    memory_id = _indexed(house)
    house.edit(memory_id, text="A text in between")
    claims = house.database.dispatch.claim_debts("embed", limit=10)

    def overtaken(_: Sequence[str]) -> None:
        house.edit(memory_id, text=OTHER)
        house.finish()

    embed_owed(claims, tools=replace(house.tools, embedder=Watched(overtaken)))
    assert house.value("select text_version from memory_vectors") == 3
    house.finish()
    _agrees(house)


@pytest.mark.parametrize("act", ["forget", "erase"])
def test_a_slow_embedder_keeps_no_vector_of_what_died_meanwhile(house: House, act: str) -> None:
    memory_id = _indexed(house)
    house.edit(memory_id, text=OTHER)
    house.sql("delete from memory_vectors")
    claims = house.database.dispatch.claim_debts("embed", limit=10)

    def dies(_: Sequence[str]) -> None:
        house.forget(memory_id) if act == "forget" else house.erase_user()

    embed_owed(claims, tools=replace(house.tools, embedder=Watched(dies)))
    assert house.value("select count(*) from memory_vectors") == 0
    house.finish()
    assert house.index.versions([memory_id]) == {}


def test_with_the_vector_server_down_debts_wait_and_merges_go_on(house: House) -> None:
    runner = house.runner(house.tools_without_vectors)
    house.say("s", "My phone number is +1 415 555 0134.")
    house.flush("s")
    house.finish(runner)
    assert house.turn_states("s") == ["done"]
    assert len(house.memories()) > 0
    errors = "select error from index_debts where due_at > clock_timestamp()"
    assert {row[0] for row in house.sql(errors)} == {"IndexUnavailable"}
    assert _claims(house) == []
    house.bring_forward()
    house.finish()
    _agrees(house)


def test_with_the_embedder_down_owed_texts_wait_and_are_paid_when_it_is_back(house: House) -> None:
    memory_id = _indexed(house)
    house.edit(memory_id, text=OTHER)

    def down(_: Sequence[str]) -> None:
        raise EmbedderUnavailable("away")

    house.finish(house.runner(replace(house.tools, embedder=Watched(down))))
    assert _owed(house)[0][:2] == ("upsert", "embed")
    assert house.value("select error from index_debts") == "EmbedderUnavailable"
    house.bring_forward()
    house.finish()
    _agrees(house)


def test_a_debt_that_cannot_be_paid_holds_up_no_other_and_is_tried_less_and_less_often(house: House) -> None:
    poison = _indexed(house, "a text to be replaced")
    fine = _indexed(house, OTHER)
    house.edit(poison, text="poison")
    house.edit(fine, text="Another text that is fine")

    def refuse(texts: Sequence[str]) -> None:
        if "poison" in texts:
            raise ValueError("this text cannot be embedded")

    runner = house.runner(replace(house.tools, embedder=Watched(refuse)))
    delays = []
    for _ in range(3):
        house.finish(runner)
        (row,) = house.sql("select memory_id, error, due_at - clock_timestamp() as delay from index_debts")
        assert (row.memory_id, row.error) == (poison, "ValueError")
        delays.append(row.delay)
        house.bring_forward()
    assert delays == sorted(delays)
    assert house.index.versions([fine]) == {fine: _version(house, fine)}


def test_debts_of_many_tenants_and_users_are_paid_together(house: House) -> None:
    other = house.other_tenant()
    for place in (house, other):
        for user in ("ann", "bob"):
            place.add(SAID, user=user)
    house.finish()
    assert house.index.count(house.user_key("ann")) == 1
    assert other.index.count(other.user_key("bob")) == 1
    assert house.index.count(other.user_key("bob")) == 0
