from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import chain

import orjson
from hypothesis import given
from hypothesis import strategies as st

from infra.imports.batches import MOST_BYTES, MOST_TURNS, Batch, gather
from infra.imports.lines import Line


def line(number: int, *, session_id: str = "s", user_id: str = "u", size: int = 10) -> Line:
    turn = {"role": "user", "content": str(number)}
    return Line(number=number, size=size, session_id=session_id, user_id=user_id, turn=turn)


def numbers(batch: Batch) -> list[int]:
    return [one.number for one in batch.lines]


def test_a_batch_is_one_session_whatever_lies_between() -> None:
    batches = list(gather([line(1), line(2, session_id="t"), line(3)]))
    assert [numbers(batch) for batch in batches] == [[1, 3], [2]]


def test_a_batch_has_no_more_turns_and_bytes_than_a_request_may() -> None:
    batches = list(gather([line(number) for number in range(MOST_TURNS + 1)]))
    assert [len(batch.lines) for batch in batches] == [MOST_TURNS, 1]
    half = MOST_BYTES // 2
    assert len(list(gather([line(1, size=half), line(2, size=half), line(3, size=1)]))) == 2


def test_a_line_over_the_limit_stands_alone() -> None:
    batches = list(gather([line(1), line(2, size=MOST_BYTES + 1), line(3)]))
    assert [numbers(batch) for batch in batches] == [[1], [2], [3]]


def test_another_user_in_a_session_is_another_batch() -> None:
    batches = list(gather([line(1), line(2, user_id="v"), line(3)]))
    assert [(batch.user_id, numbers(batch)) for batch in batches] == [("u", [1]), ("v", [2]), ("u", [3])]


@given(
    st.lists(
        st.tuples(st.sampled_from("abcde"), st.sampled_from("uv"), st.integers(1, MOST_BYTES)), max_size=60
    ),
    st.integers(1, 8),
)
def test_every_line_is_in_one_batch_and_sessions_keep_their_order(
    drawn: list[tuple[str, str, int]], most_waiting: int
) -> None:
    lines = [
        line(number, session_id=session, user_id=user, size=size)
        for number, (session, user, size) in enumerate(drawn)
    ]
    sent: dict[str, list[int]] = defaultdict(list)
    for batch in gather(lines, most_waiting=most_waiting):
        assert batch.lines
        assert {(one.session_id, one.user_id) for one in batch.lines} == {(batch.session_id, batch.user_id)}
        assert len(batch.lines) == 1 or batch.size <= MOST_BYTES
        sent[batch.session_id] += numbers(batch)
    assert all(order == sorted(order) for order in sent.values())
    assert sorted(chain(*sent.values())) == [one.number for one in lines]


def test_lines_held_back_have_a_bound() -> None:
    taken: list[int] = []

    def lines() -> Iterator[Line]:
        for number in range(9):
            taken.append(number)
            yield line(number, session_id=str(number))

    first = next(gather(lines(), most_waiting=4))
    assert (numbers(first), len(taken)) == ([0], 5)


def test_a_body_is_what_the_gateway_takes() -> None:
    (batch,) = gather([line(1), line(2)])
    assert orjson.loads(batch.body()) == {
        "user_id": "u",
        "turns": [{"role": "user", "content": "1"}, {"role": "user", "content": "2"}],
    }
