"""What a deleted memory said is in no table any more, whenever it was deleted."""

from __future__ import annotations

import httpx2
from sqlalchemy import text

from tests.integration.talking import add, await_live
from tests.running import Database, Deployment

TABLES = """
select table_name from information_schema.tables where table_schema = 'public' and table_type = 'BASE TABLE'
"""
CANARY = "CANARY-2c7e"


def _holding(database: Database, said: str) -> set[str]:
    """The tables with a row in which `said` stands."""
    with database.owner.connect() as connection:
        names = connection.execute(text(TABLES)).scalars().all()
        found = {
            name: connection.execute(
                text(f'select count(*) from "{name}" as each where cast(each as text) like :said'),  # noqa: S608 -- a table's own name
                {"said": f"%{said}%"},
            ).scalar_one()
            for name in names
        }
    return {name for name, rows in found.items() if rows}


def test_a_memory_deleted_before_its_merge_leaves_no_copy(api: httpx2.Client, database: Database) -> None:
    memory_id = add(api, CANARY, id=f"id {CANARY}", metadata={"note": CANARY})
    assert _holding(database, CANARY) == {"memories", "step_outputs"}
    assert api.delete(f"/v1/memories/{memory_id}").status_code == 204
    assert _holding(database, CANARY) == set()


def test_a_memory_edited_and_deleted_leaves_no_copy(live: httpx2.Client, running: Deployment) -> None:
    memory_id = add(live, f"{CANARY} lives in Paris, order A-77120.", metadata={"note": CANARY})
    await_live(live, memory_id)
    assert live.patch(f"/v1/memories/{memory_id}", json={"text": f"{CANARY} moved."}).status_code == 200
    await_live(live, memory_id)
    assert "memory_history" in _holding(running.database, CANARY)
    assert live.delete(f"/v1/memories/{memory_id}").status_code == 204
    assert _holding(running.database, CANARY) == set()
