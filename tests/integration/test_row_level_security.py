"""What each role may see and do, table by table as the catalog lists them, and none of our code between."""

# ruff: noqa: S608 -- the names of tables and columns come from the catalog

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from uuid import uuid4

import pytest
from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import DBAPIError

from tests.integration.protocol import House
from tests.running import Tenant

# Rows of no tenant, or of all: the application reaches none of them but the revision of the schema.
NOT_A_TENANTS = {"tenants", "api_keys", "tenant_service", "alembic_version"}
DISPATCHED = {"session_heads", "batches", "work", "index_debts"}
# Columns of the dispatched tables: ids, kinds, times and counters, nothing a customer wrote.
HARMLESS_TEXT = {
    ("batches", "kind"),
    ("batches", "lane"),
    ("batches", "state"),
    ("work", "step"),
    ("work", "lane"),
    ("work", "state"),
    ("work", "error"),
    ("index_debts", "embedder"),
    ("index_debts", "op"),
    ("index_debts", "step"),
    ("index_debts", "lane"),
    ("index_debts", "error"),
}
TABLES = """
select c.relname as name, c.relispartition as partition, c.relrowsecurity as secured,
       c.relforcerowsecurity as forced
from pg_class c join pg_namespace n on n.oid = c.relnamespace
where n.nspname = 'public' and c.relkind in ('r', 'p') order by c.relname
"""
COLUMNS = """
select column_name as name, case when column_name = 'tenant_id' then 'tenant' else udt_name end as type
from information_schema.columns where table_schema = 'public' and table_name = :table
"""
VALUES = {
    "tenant": "cast(:tenant_id as uuid)",
    "uuid": "gen_random_uuid()",
    "timestamptz": "now()",
    "jsonb": "'{}'",
    "_text": "'{}'",
    "bool": "false",
    "int4": "0",
    "int8": "0",
    "float4": "0",
}


@pytest.fixture
def ours(house: House) -> House:
    """A tenant with a row of nearly everything; its neighbor has none."""
    house.say(
        "s", "My phone number is +1 415 555 0134.", "It shows error E-1042.", "My email is a@example.com."
    )
    house.close("s")
    house.finish()
    house.say("s", "My phone number is +1 415 555 0199.", "Two.", "Three.")
    house.open_batches()
    house.record(house.claim("extract"))
    house.add("A fact")
    (memory, *_) = house.memories()
    house.edit(memory.memory_id, importance=0.9)
    house.say("gone", "hm", user="gone")
    house.erase_user("gone")
    return house


def _tables(house: House, *, partitions: bool = False) -> list[str]:
    with house.database.owner.connect() as connection:
        rows = connection.execute(text(TABLES)).all()
    return [row.name for row in rows if row.partition is partitions]


def _tenants_tables(house: House) -> list[str]:
    return [name for name in _tables(house) if name not in NOT_A_TENANTS]


@contextmanager
def _as(engine: Engine, tenant: Tenant | None) -> Iterator[Connection]:
    """A transaction that is rolled back."""
    with engine.connect() as connection:
        if tenant is not None:
            setting = {"tenant": str(tenant.tenant_id)}
            connection.execute(text("select set_config('turnkeep.tenant', :tenant, true)"), setting)
        yield connection
        connection.rollback()


def _count(connection: Connection, table: str, *, where: str = "true") -> int:
    count: int = connection.execute(text(f"select count(*) from {table} where {where}")).scalar_one()
    return count


def _refused(connection: Connection, statement: str, **params: object) -> bool:
    with pytest.raises(DBAPIError) as caught, connection.begin_nested():
        connection.execute(text(statement), params)
    return getattr(caught.value.orig, "sqlstate", None) == "42501"  # insufficient_privilege


def test_every_table_of_a_tenant_has_forced_row_level_security(house: House) -> None:
    with house.database.owner.connect() as connection:
        rows = connection.execute(text(TABLES)).all()
    of_tenants = [row for row in rows if row.name not in NOT_A_TENANTS and not row.partition]
    assert len(of_tenants) > 20
    assert [row.name for row in of_tenants if not (row.secured and row.forced)] == []


def test_a_table_of_a_tenant_names_it_in_every_row(house: House) -> None:
    columns = "select table_name from information_schema.columns where column_name = 'tenant_id'"
    with house.database.owner.connect() as connection:
        named = {row[0] for row in connection.execute(text(f"{columns} and is_nullable = 'NO'"))}
    assert set(_tenants_tables(house)) <= named


def test_without_a_tenant_the_application_sees_no_row_of_any_table(ours: House) -> None:
    with _as(ours.database.app, None) as connection:
        assert {name: _count(connection, name) for name in _tenants_tables(ours)} == dict.fromkeys(
            _tenants_tables(ours), 0
        )


def test_the_rows_of_a_tenant_are_there_for_itself(ours: House) -> None:
    """Else the tests beside this one would prove nothing."""
    with _as(ours.database.app, ours.tenant) as connection:
        empty = {name for name in _tenants_tables(ours) if not _count(connection, name)}
    assert empty <= {"tenant_policies", "archive", "failures", "idempotency_keys", "turn_keys"}


def test_no_row_can_be_inserted_without_a_tenant_or_for_another(ours: House) -> None:
    neighbor = ours.database.tenant()
    tables = _tenants_tables(ours)
    for tenant in (None, neighbor):
        with _as(ours.database.app, tenant) as connection:
            assert [name for name in tables if not _refused_insert(ours, connection, name)] == []


def _refused_insert(house: House, connection: Connection, table: str) -> bool:
    """A row of this tenant with values of the right types: nothing but the policy can be in its way."""
    with house.database.owner.connect() as owner:
        columns = owner.execute(text(COLUMNS), {"table": table}).all()
    names = ", ".join(column.name for column in columns)
    values = ", ".join(VALUES.get(column.type, f"''::{column.type}") for column in columns)
    statement = f"insert into {table} ({names}) values ({values})"
    return _refused(connection, statement, tenant_id=house.tenant.tenant_id)


def test_the_rows_of_another_tenant_cannot_be_read_updated_or_deleted(ours: House) -> None:
    neighbor = ours.database.tenant()
    with _as(ours.database.app, neighbor) as connection:
        for name in _tenants_tables(ours):
            theirs = f"tenant_id = '{ours.tenant.tenant_id}'"
            assert _count(connection, name, where=theirs) == 0, name
            same = f"update {name} set tenant_id = tenant_id where {theirs}"
            assert connection.execute(text(same)).rowcount == 0, name
            assert connection.execute(text(f"delete from {name} where {theirs}")).rowcount == 0, name


def test_a_row_cannot_be_handed_to_another_tenant(ours: House) -> None:
    neighbor = ours.database.tenant()
    given = f"set tenant_id = '{neighbor.tenant_id}'"
    with _as(ours.database.app, ours.tenant) as connection:
        for name in ("users", "memories", "turns", "work"):
            with pytest.raises(DBAPIError), connection.begin_nested():
                connection.execute(text(f"update {name} {given}"))


def test_the_application_reaches_neither_tenants_nor_keys_nor_single_months(ours: House) -> None:
    hidden = [*(NOT_A_TENANTS - {"alembic_version"}), *_tables(ours, partitions=True)]
    assert len(hidden) > 5
    with _as(ours.database.app, ours.tenant) as connection:
        for name in hidden:
            assert _refused(connection, f"select 1 from {name}"), name
            assert _refused(connection, f"delete from {name}"), name


def test_a_key_is_looked_up_by_its_id_alone(ours: House) -> None:
    key_id = ours.tenant.token.split("_")[1]
    with _as(ours.database.app, None) as connection:
        found = connection.execute(text("select tenant_id from turnkeep_key(:id)"), {"id": key_id})
        assert found.scalar_one() == ours.tenant.tenant_id
        assert connection.execute(text("select 1 from turnkeep_key('%')")).all() == []


def test_the_dispatch_role_sees_every_tenants_claims_and_nothing_else(ours: House) -> None:
    seen = DISPATCHED | {"tenant_service", "alembic_version"}
    with _as(ours.database.dispatch._engine, None) as connection:
        for name in [*_tables(ours), *_tables(ours, partitions=True)]:
            if name in seen:
                assert _count(connection, name) > 0, name
            else:
                assert _refused(connection, f"select 1 from {name}"), name


def test_the_dispatch_role_can_neither_make_nor_remove_work(ours: House) -> None:
    with _as(ours.database.dispatch._engine, None) as connection:
        for name in DISPATCHED:
            assert _refused(connection, f"delete from {name}"), name
            assert _refused(connection, f"insert into {name} (tenant_id) values (:id)", id=uuid4()), name
        assert _refused(connection, "update batches set state = 'open'")


def test_what_the_dispatch_role_sees_holds_no_content(house: House) -> None:
    columns = """
        select table_name, column_name from information_schema.columns
        where table_schema = 'public' and table_name = any(:tables)
          and data_type in ('text', 'ARRAY', 'bytea', 'json')
    """
    with house.database.owner.connect() as connection:
        found = connection.execute(text(columns), {"tables": sorted(DISPATCHED)}).all()
    assert {(row[0], row[1]) for row in found} - HARMLESS_TEXT == {("work", "needs")}


def test_no_role_of_the_product_passes_row_level_security_or_owns_a_table(house: House) -> None:
    roles = "select rolsuper, rolbypassrls from pg_roles where rolname = current_user"
    owned = "select count(*) from pg_tables where schemaname = 'public' and tableowner = current_user"
    for engine in (house.database.app, house.database.dispatch._engine):
        with engine.connect() as connection:
            assert tuple(connection.execute(text(roles)).one()) == (False, False)
            assert connection.execute(text(owned)).scalar_one() == 0


def test_a_tenant_set_for_one_transaction_is_gone_in_the_next(house: House) -> None:
    house.say("s", "Hello.")
    with house.database.app.connect() as connection:
        for tenant in (house.tenant, None):
            if tenant is not None:
                setting = {"tenant": str(tenant.tenant_id)}
                connection.execute(text("select set_config('turnkeep.tenant', :tenant, true)"), setting)
            assert (_count(connection, "turns") > 0) is (tenant is not None)
            connection.commit()
