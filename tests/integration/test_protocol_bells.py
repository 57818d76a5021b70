from __future__ import annotations

from time import time

from tests.integration.protocol import House


def test_a_drain_says_since_when_nothing_is_due(house: House) -> None:
    house.say("s", "Hello there.")
    house.flush("s")
    before = time()
    since = house.runner().drain("extract")
    assert since is not None
    assert before <= since <= time()
    assert house.value("select count(*) from work where step = 'extract' and state = 'done'") == 1
    for step in ("summarize", "embed", "merge", "index"):
        house.runner().drain(step)
