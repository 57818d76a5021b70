from __future__ import annotations

import gzip
from datetime import UTC, datetime
from pathlib import Path

import orjson
import pytest
from typer import BadParameter

from api_gateway.routes.turns import TurnBody
from tests.bench.locomo import Conversation, content_of, lines, main, read, session_date
from tests.bench.locomo import Utterance as Said

WALK = {"speaker": "Ana", "dia_id": "D1:1", "text": "我们昨天去散步了。"}
REPLY = {
    "speaker": "Bo",
    "dia_id": "D1:2",
    "text": "Look!",
    "img_url": ["https://img.example/dog.jpg"],
    "blip_caption": "a dog",
}
LATER = {"speaker": "Bo", "dia_id": "D10:1", "text": "Hi again.", "blip_caption": "a cat", "query": "cat"}


def conversation() -> dict[str, object]:
    return {
        "sample_id": "c1",
        "qa": [],
        "conversation": {
            "speaker_a": "Ana",
            "speaker_b": "Bo",
            "session_10_date_time": "12:05 am on 3 June, 2023",
            "session_10": [LATER],
            "session_2_date_time": "1:56 pm on 8 May, 2023",
            "session_2": [WALK, REPLY],
            "session_11_date_time": "9:00 am on 4 June, 2023",
        },
    }


def converted() -> list[dict[str, object]]:
    return list(lines(Conversation.model_validate(conversation())))


def test_sessions_come_in_the_order_of_their_numbers_under_one_user() -> None:
    assert [line["session_id"] for line in converted()] == ["c1/2", "c1/2", "c1/10"]
    assert {line["user_id"] for line in converted()} == {"c1"}


def test_turns_keep_the_ids_that_evidence_names_and_their_speakers() -> None:
    kept = [(line["id"], line["role"], line["name"]) for line in converted()]
    assert kept == [("D1:1", "user", "Ana"), ("D1:2", "assistant", "Bo"), ("D10:1", "assistant", "Bo")]


def test_times_start_at_the_session_date_in_utc_and_increase() -> None:
    times = [datetime.fromisoformat(str(line["created_at"])) for line in converted()]
    assert times[0] == datetime(2023, 5, 8, 13, 56, tzinfo=UTC)
    assert times[2] == datetime(2023, 6, 3, 0, 5, tzinfo=UTC)
    assert times == sorted(set(times))


def test_a_picture_becomes_a_part_with_its_caption() -> None:
    parts = content_of(Said.model_validate(REPLY))
    assert parts == [
        {"type": "text", "text": "Look!"},
        {"type": "image_url", "image_url": {"url": "https://img.example/dog.jpg"}, "caption": "a dog"},
    ]


def test_a_picture_without_an_address_is_told_by_its_caption() -> None:
    assert content_of(Said.model_validate(LATER)) == "Hi again.\n[image: a cat]"


def test_noon_and_midnight_are_told_apart() -> None:
    assert session_date("12:05 am on 3 June, 2023").hour == 0
    assert session_date("12:05 pm on 3 June, 2023").hour == 12


def test_every_line_is_a_turn_the_gateway_takes() -> None:
    turns = [TurnBody.model_validate(line) for line in converted()]
    assert [turn.text() for turn in turns] == [
        "我们昨天去散步了。",
        "Look!\na dog",
        "Hi again.\n[image: a cat]",
    ]


@pytest.mark.parametrize("name", ["locomo.json", "locomo.json.gz"])
def test_a_file_is_read_gzipped_or_not_and_one_conversation_written(tmp_path: Path, name: str) -> None:
    content = orjson.dumps([conversation(), conversation() | {"sample_id": "c2"}])
    data = tmp_path / name
    data.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    out = tmp_path / "turns.ndjson"
    main(data=data, out=str(out), conversation=1)
    written = [orjson.loads(line) for line in out.read_bytes().splitlines()]
    assert written == list(lines(read(data)[1]))
    assert {line["user_id"] for line in written} == {"c2"}


def test_a_conversation_that_is_not_there_is_refused(tmp_path: Path) -> None:
    data = tmp_path / "locomo.json"
    data.write_bytes(orjson.dumps([conversation()]))
    with pytest.raises(BadParameter):
        main(data=data, conversation=1)
