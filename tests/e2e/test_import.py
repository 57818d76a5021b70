"""`turnkeep import`: every good line arrives once, every bad one is named."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from tests.e2e.commands import Ended, Up, one_sentence, turnkeep

Turn = Mapping[str, object]


def turn(session_id: str, content: str, **more: object) -> dict[str, object]:
    return {
        "session_id": session_id,
        "user_id": f"{session_id}-user",
        "role": "user",
        "content": content,
        **more,
    }


def ndjson(lines: Iterable[Turn | str]) -> bytes:
    return "".join(
        (line if isinstance(line, str) else json.dumps(line, ensure_ascii=False)) + "\n" for line in lines
    ).encode()


def table(ended: Ended) -> tuple[int, ...]:
    """Accepted, duplicates, refused."""
    row = re.search(r"│ (\d+) +│ (\d+) +│ (\d+) +│", ended.out)
    assert row is not None, ended.out + ended.err
    return tuple(int(number) for number in row.groups())


def test_a_second_import_is_all_duplicates_and_changes_nothing(shared: Up, tmp_path: Path) -> None:
    file = tmp_path / "turns.ndjson"
    sessions = ("twice-en", "twice-zh")
    lines = [turn(sessions[n % 2], f"第{n}句 line {n}") for n in range(230)]
    # The same words said twice are two turns.
    file.write_bytes(ndjson([*lines, turn("twice-en", "yes"), turn("twice-en", "yes")]))
    before = shared.turns()
    first = turnkeep("import", str(file), "--wait", environ=shared.environ)
    assert (first.code, table(first)) == (0, (232, 0, 0))
    after = shared.turns()
    assert after["done"] - before["done"] == 232
    assert after["dead"] == before["dead"]
    assert f"done {after['done']}, dead {after['dead']}" in first.out
    second = turnkeep("import", str(file), environ=shared.environ)
    assert (second.code, table(second)) == (0, (0, 232, 0))
    assert shared.turns() == after


def test_order_is_kept_within_each_session(shared: Up) -> None:
    lines = [turn(f"order-{n % 3}", f"turn {n // 3}") for n in range(360)]
    assert turnkeep("import", "-", environ=shared.environ, given=ndjson(lines)).code == 0
    for session in range(3):
        path, said = f"/v1/sessions/order-{session}/turns?limit=100", list[str]()
        cursor: str | None = ""
        while cursor is not None:
            page = shared.call("GET", path + (f"&cursor={cursor}" if cursor else "")).json()
            said += [one["content"] for one in page["turns"]]
            cursor = page["next_cursor"]
        assert said == [f"turn {n}" for n in range(120)]


def test_wrong_lines_are_named_and_do_not_stop_the_others(shared: Up) -> None:
    lines: list[Turn | str] = [
        turn("wrong", "good 1"),
        "{not json",
        turn("wrong", "good 2"),
        {"session_id": "wrong", "role": "user", "content": "nobody's"},
        "",
        turn("wrong", "of another role", role="robot"),
        turn("wrong", "good 3"),
        turn("wrong", "of another user") | {"user_id": "somebody else"},
        "[1, 2]",
        turn("wrong", "好的"),
    ]
    ended = turnkeep("import", "-", environ=shared.environ, given=ndjson(lines))
    assert (ended.code, table(ended)) == (1, (4, 0, 5))
    numbers = re.findall(r"^turnkeep: line (\d+): .+$", ended.err, re.MULTILINE)
    assert numbers == ["2", "4", "6", "8", "9"]
    assert ended.err.strip().splitlines()[-1].startswith("turnkeep: 5 lines were refused;")
    page = shared.call("GET", "/v1/sessions/wrong/turns").json()["turns"]
    assert [one["content"] for one in page] == ["good 1", "good 2", "good 3", "好的"]


def test_mending_a_line_does_not_double_the_others(shared: Up) -> None:
    lines: list[Turn | str] = [turn("mended", "one"), "{", turn("mended", "three")]
    assert table(turnkeep("import", "-", environ=shared.environ, given=ndjson(lines))) == (2, 0, 1)
    lines[1] = turn("mended", "two")
    lines.insert(0, turn("mended", "zero"))
    assert table(turnkeep("import", "-", environ=shared.environ, given=ndjson(lines))) == (2, 2, 0)


def test_a_line_too_large_for_the_gateway_is_named(shared: Up) -> None:
    lines = [turn("large", "small"), turn("large", "x" * 300_000), turn("large", "y" * 40_000)]
    ended = turnkeep("import", "-", environ=shared.environ, given=ndjson(lines))
    assert table(ended) == (1, 0, 2)
    assert "line 2: " in ended.err
    assert "line 3: " in ended.err


def test_without_a_gateway_it_is_one_sentence() -> None:
    missing = turnkeep("import", "-", given=b"")
    assert missing.code == 1
    assert one_sentence(missing.err) == "TURNKEEP_URL is not set; `turnkeep up` prints it."


def test_a_wrong_key_is_one_sentence(shared: Up) -> None:
    environ = shared.environ | {"TURNKEEP_API_KEY": "tk_0_0"}
    ended = turnkeep("import", "-", environ=environ, given=ndjson([turn("keyless", "hello")]))
    assert ended.code == 1
    assert one_sentence(ended.err).startswith("The gateway refused it (401): ")


def test_a_file_that_is_not_there_is_a_wrong_use() -> None:
    ended = turnkeep("import", "/nowhere.ndjson", environ={"TURNKEEP_URL": "x", "TURNKEEP_API_KEY": "x"})
    assert ended.code == 2
