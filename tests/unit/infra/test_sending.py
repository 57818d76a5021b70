from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infra.calls import Calls, GatewayRefused
from infra.imports.batches import Batch, gather
from infra.imports.lines import Line
from infra.imports.sending import send, send_all
from tests.fakes.gateway import FakeGateway, problem


def line(number: int, *, session_id: str = "s") -> Line:
    turn = {"id": f"{session_id}-{number}", "number": number}
    return Line(number=number, size=10, session_id=session_id, user_id="u", turn=turn)


def calls_to(gateway: FakeGateway) -> Calls:
    return Calls("http://gateway", key="k", transport=gateway.transport)


def batch(numbers: Sequence[int]) -> Batch:
    return Batch(session_id="s", user_id="u", lines=[line(number) for number in numbers])


@given(st.sets(st.integers(0, 19)))
def test_wrong_lines_are_found_and_the_others_keep_their_order(wrong: set[int]) -> None:
    gateway = FakeGateway(is_wrong=lambda turn: turn["number"] in wrong)
    with calls_to(gateway) as calls:
        outcome = send(batch(range(20)), calls=calls)
    assert {bad.number for bad in outcome.refused} == wrong
    assert outcome.accepted == 20 - len(wrong)
    assert outcome.size == 200
    assert gateway.sessions.get("s", []) == [f"s-{n}" for n in range(20) if n not in wrong]


def test_what_is_there_already_is_counted_apart() -> None:
    gateway = FakeGateway()
    with calls_to(gateway) as calls:
        send(batch([1, 2]), calls=calls)
        outcome = send(batch([1, 2, 3]), calls=calls)
    assert (outcome.accepted, outcome.duplicates) == (1, 2)


def test_a_wrong_key_is_no_fault_of_a_line() -> None:
    gateway = FakeGateway()
    gateway.failures = [problem(401, detail="the key is revoked")]
    with calls_to(gateway) as calls, pytest.raises(GatewayRefused, match="the key is revoked"):
        send(batch([1, 2]), calls=calls)
    assert len(gateway.requests) == 1


def test_sessions_beside_each_other_keep_their_own_order() -> None:
    gateway = FakeGateway()
    lines = [line(number, session_id=f"s{number % 7}") for number in range(1_400)]
    with calls_to(gateway) as calls:
        outcomes = list(send_all(gather(lines, most_waiting=50), calls=calls))
    assert sum(outcome.accepted for outcome in outcomes) == 1_400
    for session in range(7):
        assert gateway.sessions[f"s{session}"] == [f"s{session}-{n}" for n in range(session, 1_400, 7)]


def test_a_failure_stops_the_reading() -> None:
    gateway = FakeGateway()
    gateway.failures = [problem(401)] * 1_000
    read = 0

    def batches() -> Iterator[Batch]:
        nonlocal read
        for number in range(1_000):
            read += 1
            yield batch([number])

    with calls_to(gateway) as calls, pytest.raises(GatewayRefused):
        list(send_all(batches(), calls=calls))
    assert read < 100
