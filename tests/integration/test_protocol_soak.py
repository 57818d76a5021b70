"""Everything at once: four workers killed and stopped at random, turns sent twice, erasures in between.

Afterwards the client's ledger is held against what stands in the stores: every accepted turn took effect
exactly once and in order, what was erased is gone, and the index says what Postgres says.
"""

from __future__ import annotations

import random
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import pairwise
from threading import Timer

import psutil
import pytest

from infra.embedded.process import Child
from infra.embedded.stack import EmbeddedStack
from shared.domain.memory import Memory
from shared.ports import MemoryFilter
from tests.integration.protocol import FLUSH, House
from tests.integration.said import new_turn
from tests.running import Databases, Deployment, eventually

SEED = 20_260_301
SESSIONS = [f"s{number}" for number in range(12)]
TURNS = 25
WORKERS = 4
ERASE_EVERY = 15  # posts
MEAN_PAUSE = 0.04
HURTS = 0.08  # of all posts
STOPPED_SECONDS = 0.7  # longer than a lease
ALWAYS = replace(FLUSH, rounds=1)
SETTINGS = {
    "TURNKEEP_FLUSH__ROUNDS": str(ALWAYS.rounds),
    "TURNKEEP_WORKER__LEASE_SECONDS": "0.5",
    # Many kills may meet one step by chance, and a turn is not to die of that here.
    "TURNKEEP_WORKER__MAX_CRASHES": "50",
}

LOOKS_FOR_MERGES = 50
MERGING = """
select s.session_id from work w
join batches b using (tenant_id, batch_id) join sessions s using (tenant_id, session_key)
where w.step = 'merge' and w.state = 'running' and b.kind = 'live' and s.epoch = 0 limit 1
"""
OF_NO_MERGE = """
select count(*) from memory_sources o where not exists (
    select 1 from batches b where b.session_key = o.session_key and b.state = 'merged' and b.kind = 'live'
      and o.sequence between b.first and b.last)
"""
MERGED_AFTER_ERASURE = """
select count(*) from batches b
join tombstones t on t.tenant_id = b.tenant_id and t.erased_at < b.closed_at
where b.state = 'merged'
  and (t.scope = 'session' and t.scope_key = b.session_key
       or t.scope = 'user' and t.scope_key = b.user_key and t.epoch > b.user_epoch)
"""


@dataclass(slots=True)
class Ledger:
    """What the client was told: per session the texts by sequence, since it was last erased."""

    accepted: dict[str, dict[int, str]] = field(default_factory=lambda: defaultdict(dict))
    erased: set[str] = field(default_factory=set)

    def note(self, session: str, *, sequence: int, said: str) -> None:
        assert self.accepted[session].setdefault(sequence, said) == said

    def erase(self, *sessions: str) -> None:
        for session in sessions:
            self.erased.update(self.accepted.pop(session, {}).values())


@pytest.fixture
def alone(stack: EmbeddedStack, databases: Databases) -> Iterator[House]:
    made = House.on(stack, database=databases.make(lease_seconds=0.5))
    house = replace(made, flush_policy=ALWAYS)
    yield house
    house.leave()


def _user(session: str) -> str:
    """Two sessions a user."""
    return f"u{int(session[1:]) // 2}"


@dataclass(slots=True)
class Soak:
    house: House
    hands: Child
    dice: random.Random
    ledger: Ledger = field(default_factory=Ledger)
    killed: int = 0
    stopped: list[psutil.Process] = field(default_factory=list)
    waking: list[Timer] = field(default_factory=list)

    def run(self) -> None:
        posts = [session for session in SESSIONS for _ in range(TURNS)]
        self.dice.shuffle(posts)
        for number, session in enumerate(posts, start=1):
            self._post(session, number=number)
            if number % ERASE_EVERY == 0:
                self._erase(self._merging() or self.dice.choice(SESSIONS))
            if self.dice.random() < HURTS:
                self._hurt_a_worker()
            time.sleep(self.dice.expovariate(1 / MEAN_PAUSE))
        for session in list(self.ledger.accepted):
            self.house.flush(session)

    def _post(self, session: str, *, number: int) -> None:
        """Now and then twice, as a client does that heard no answer."""
        said = f"Case {number} of {session}: my device shows error E-{1_000 + number}."
        turn = new_turn(said, client_id=f"{session}-{number}")
        for _ in range(self.dice.choice([1, 1, 1, 1, 2])):
            (receipt,) = self.house.post(session, turn, user=_user(session)).receipts
            self.ledger.note(session, sequence=receipt.sequence, said=said)

    def _merging(self) -> str | None:
        """A session that is being merged right now, where an erasure is most unwelcome."""
        for _ in range(LOOKS_FOR_MERGES):
            rows = self.house.sql(MERGING)
            if rows:
                session: str = rows[0].session_id
                return session
        return None

    def _erase(self, session: str) -> None:
        if session not in self.ledger.accepted:
            return
        if self.dice.random() < 0.5:
            self.house.erase_session(session)
            self.ledger.erase(session)
        else:
            self.house.erase_user(_user(session))
            self.ledger.erase(*(other for other in SESSIONS if _user(other) == _user(session)))

    def _hurt_a_worker(self) -> None:
        children = [each for each in psutil.Process(self.hands.pid).children() if each not in self.stopped]
        if not children:
            return
        chosen = self.dice.choice(children)
        if self.dice.random() < 0.3:
            self._stop(chosen)
        else:
            chosen.kill()
            self.killed += 1

    def _stop(self, process: psutil.Process) -> None:
        """For longer than a lease. It is woken beside us: it may hold a lock that we wait for next."""
        process.suspend()
        self.stopped.append(process)
        waking = Timer(STOPPED_SECONDS, self._wake, [process])
        self.waking.append(waking)
        waking.start()

    def _wake(self, process: psutil.Process) -> None:
        with suppress(psutil.NoSuchProcess):  # it had been killed, only nobody knew
            process.resume()
        self.stopped.remove(process)

    def settle(self) -> None:
        for waking in self.waking:
            waking.join()
        eventually(lambda: self._stats() == {"pending": 0, "debts": 0}, seconds=60)

    def _stats(self) -> dict[str, int]:
        with self.house.begin(self.house.tenant.tenant_id) as work:
            stats = work.stats.read()
        assert stats.accepted == stats.done + stats.dead + stats.pending + stats.erased
        return {"pending": stats.pending, "debts": stats.index_owed}


def test_a_soak_with_kills_stops_duplicates_and_erasures_keeps_every_promise(
    stack: EmbeddedStack, alone: House
) -> None:
    deployment = Deployment(stack, database=alone.database, settings=SETTINGS)
    hands = deployment._spawn("hands", "-m", "tests.integration.hands", str(WORKERS))
    eventually(lambda: len(psutil.Process(hands.pid).children()) == WORKERS)
    soak = Soak(house=alone, hands=hands, dice=random.Random(SEED))
    soak.run()
    soak.settle()
    hands.stop()
    assert soak.killed > 10
    assert soak.ledger.erased
    for session, said in soak.ledger.accepted.items():
        _took_effect_once_in_order(alone, session, said=said)
    for user in sorted({_user(session) for session in SESSIONS}):
        _serves_what_stands(alone, user, ledger=soak.ledger)
    assert alone.value(MERGED_AFTER_ERASURE) == 0
    assert alone.value(OF_NO_MERGE) == 0
    assert alone.value("select count(*) from failures") == 0


def _took_effect_once_in_order(house: House, session: str, *, said: dict[int, str]) -> None:
    assert sorted(said) == list(range(1, len(said) + 1))
    assert house.turn_states(session) == ["done"] * len(said)
    key = house.session_key(session)
    texts = house.sql("select content from turns where session_key = :key order by sequence", key=key)
    assert [row.content for row in texts] == [said[sequence] for sequence in sorted(said)]
    folded = house.sql(
        "select first, last from batches where session_key = :key and kind = 'live' and state = 'merged'"
        " order by closed_at",
        key=key,
    )
    assert (folded[0].first, folded[-1].last) == (1, len(said))
    assert all(later.first == earlier.last + 1 for earlier, later in pairwise(folded))
    entries = house.sql("select first, last from condensed_entries where session_key = :key", key=key)
    assert sorted(at for row in entries for at in range(row.first, row.last + 1)) == sorted(said)


def _serves_what_stands(house: House, user: str, *, ledger: Ledger) -> None:
    """Every accepted turn is one episode, no erased one is anything, and the index agrees."""
    served = _served(house, user)
    stand = [
        text for session, said in ledger.accepted.items() if _user(session) == user for text in said.values()
    ]
    episodes = [memory.text for memory in served if memory.kind == "episode"]
    assert sorted(episodes) == sorted(stand)
    assert not [memory for memory in served if any(text in memory.text for text in ledger.erased)]
    versions = {memory.memory_id: memory.version for memory in served}
    assert house.index.versions(list(versions)) == versions


def _served(house: House, user: str) -> list[Memory]:
    with house.begin(house.tenant.tenant_id) as work:
        return work.memories.page(house.user_key(user), only=MemoryFilter(), after=None, limit=5_000)
