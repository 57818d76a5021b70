"""A server that closed its idle connections must not cost a request."""

from __future__ import annotations

from sqlalchemy import text

from shared.stores.postgres.engine import connect, statement, transaction
from tests.running import Database

END = text("select pg_terminate_backend(:pid, 5000)")
PID = text("select pg_backend_pid()")


def test_a_connection_that_the_server_closed_is_replaced_before_it_is_used(database: Database) -> None:
    engine = connect(database.urls.app_url, pool_size=1)
    with transaction(engine) as connection:
        before = connection.execute(PID).scalar_one()
    killer = connect(database.urls.app_url, pool_size=1)
    with statement(killer) as connection:
        assert connection.execute(END, {"pid": before}).scalar_one()
    killer.dispose()
    with transaction(engine) as connection:
        assert connection.execute(PID).scalar_one() != before
    engine.dispose()


def test_a_connection_that_is_fine_is_kept(database: Database) -> None:
    engine = connect(database.urls.app_url, pool_size=1)
    pids = set()
    for _ in range(3):
        with transaction(engine) as connection:
            pids.add(connection.execute(PID).scalar_one())
    assert len(pids) == 1
    engine.dispose()


def test_a_single_statement_is_committed_and_leaves_no_mode_behind(database: Database) -> None:
    engine = connect(database.urls.app_url, pool_size=1)
    number = text("select txid_current()")
    with statement(engine) as connection:
        assert connection.execute(number).scalar_one() != connection.execute(number).scalar_one()
    with transaction(engine) as connection:
        assert connection.execute(number).scalar_one() == connection.execute(number).scalar_one()
    engine.dispose()
