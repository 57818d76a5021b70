from __future__ import annotations

import json
from uuid import UUID

import pytest

from infra.imports.lines import BadLine, Line, read

TURN = {"session_id": "s", "user_id": "u", "role": "user", "content": "你好"}


def raw(*bodies: object) -> list[bytes]:
    return [json.dumps(body, ensure_ascii=False).encode() + b"\n" for body in bodies]


def good(*bodies: object) -> list[Line]:
    return [line for line in read(raw(*bodies)) if isinstance(line, Line)]


def ids(*bodies: object) -> list[str]:
    return [str(line.turn["id"]) for line in good(*bodies)]


def test_a_line_is_a_turn_with_its_session_and_user_apart() -> None:
    (line,) = good({**TURN, "id": "t1", "metadata": {"a": 1}})
    assert (line.session_id, line.user_id, line.number) == ("s", "u", 1)
    assert line.turn == {"role": "user", "content": "你好", "id": "t1", "metadata": {"a": 1}}


def test_an_id_that_is_missing_is_the_same_in_every_import() -> None:
    (first,), (second,) = ids(TURN), ids(dict(reversed(TURN.items())))
    assert first == second == str(UUID(first))


def test_the_same_words_said_again_are_another_turn() -> None:
    assert len(set(ids(TURN, TURN, {**TURN, "session_id": "other"}, {**TURN, "role": "assistant"}))) == 4


def test_other_lines_around_it_do_not_change_a_made_id() -> None:
    other = {**TURN, "content": "something else"}
    assert ids(other, TURN, TURN)[1:] == ids(TURN, {}, TURN) == ids(TURN, TURN)


def test_an_id_that_is_null_is_made() -> None:
    assert ids({**TURN, "id": None}) != [str(None)]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"{", "not valid JSON in UTF-8: "),
        (b'{"a": "\xff"}', "not valid JSON in UTF-8: "),
        (b"[]", "not a JSON object"),
        (b'"text"', "not a JSON object"),
        (b'{"user_id": "u"}', "session_id is missing, or not a text"),
        (b'{"session_id": 7, "user_id": "u"}', "session_id is missing, or not a text"),
        (b'{"session_id": "s", "user_id": ""}', "user_id is missing, or not a text"),
    ],
)
def test_a_wrong_line_says_why_and_where(line: bytes, reason: str) -> None:
    first, bad, last = read([*raw(TURN), line, *raw(TURN)])
    assert isinstance(bad, BadLine)
    assert bad.number == 2
    assert bad.reason.startswith(reason)
    assert isinstance(first, Line)
    assert isinstance(last, Line)


def test_empty_lines_are_passed_over_and_counted() -> None:
    (line,) = read([b"\n", b"  \n", *raw(TURN)])
    assert line.number == 3
