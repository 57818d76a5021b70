from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shared.domain.errors import SettingsError
from shared.inference.tokens import counter_for

COUNTER = counter_for(None)


@pytest.mark.parametrize(
    ("text", "tokens"), [("", 0), ("hello world", 2), ("你好，世界", 3), ("<|endoftext|>", 7), ("\ud800", 1)]
)
def test_counts_are_those_of_o200k_with_control_tokens_as_text(text: str, tokens: int) -> None:
    assert COUNTER.count(text) == tokens


def test_a_model_has_its_own_encoding_and_an_unknown_one_the_default() -> None:
    text = "电池充不进电怎么办"
    assert counter_for("gpt-4").count(text) > COUNTER.count(text)
    assert counter_for("some-model-of-mine") is COUNTER
    assert counter_for("gpt-oss-20b") is COUNTER


def test_an_encoding_that_is_not_at_hand_is_a_settings_error() -> None:
    with pytest.raises(SettingsError, match="r50k_base is not part of this installation"):
        counter_for("davinci")


@given(text=st.text(max_size=60) | st.text("👨‍👩‍👧😀订单a ", max_size=40), tokens=st.integers(0, 30))
@example(text="😀" * 10, tokens=1)
@example(text="的" * 50, tokens=7)
def test_a_head_is_a_prefix_within_the_tokens(text: str, tokens: int) -> None:
    head = COUNTER.head(text, tokens=tokens)
    assert text.startswith(head)
    assert COUNTER.count(head) <= tokens
    if COUNTER.count(text) <= tokens:
        assert head == text


def test_a_head_wastes_no_more_than_one_character_of_several_tokens() -> None:
    text = "我的手机昨天坏了。My phone broke yesterday. " * 200
    assert COUNTER.count(COUNTER.head(text, tokens=500)) >= 497


def test_a_head_of_half_a_surrogate_pair_keeps_what_was_there() -> None:
    assert COUNTER.head("a\ud800b" * 3, tokens=2) == "a\ud800"


def encoding_in_new_process(cache: Path) -> subprocess.Popen[bytes]:
    script = (
        "import socket; socket.socket = None\n"
        "from shared.inference.tokens import counter_for\n"
        "assert counter_for(None).count('hello world') == 2"
    )
    return subprocess.Popen(
        [sys.executable, "-c", script], env=os.environ | {"TIKTOKEN_CACHE_DIR": str(cache)}
    )


def test_many_processes_may_make_the_cache_at_once_and_without_a_network(tmp_path: Path) -> None:
    started = [encoding_in_new_process(tmp_path / "new" / "cache") for _ in range(4)]
    assert [process.wait(timeout=60) for process in started] == [0, 0, 0, 0]
    assert len(list((tmp_path / "new" / "cache").iterdir())) == 1


def test_a_damaged_file_in_the_cache_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "fb374d419588a4632f3f557e76b4b70aebbca790").write_bytes(b"half a fi")
    assert encoding_in_new_process(tmp_path).wait(timeout=60) == 0


def test_a_cache_directory_that_cannot_be_made_is_a_settings_error(tmp_path: Path) -> None:
    blocked = tmp_path / "a file"
    blocked.write_bytes(b"")
    script = (
        "from shared.domain.errors import SettingsError\n"
        "from shared.inference.tokens import counter_for\n"
        "try:\n    counter_for(None)\nexcept SettingsError as error:\n    print(error)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=os.environ | {"TIKTOKEN_CACHE_DIR": str(blocked / "cache")},
        check=True,
        capture_output=True,
        text=True,
    )
    assert "set TIKTOKEN_CACHE_DIR to one that can" in done.stdout


def test_a_head_that_loses_half_a_character_still_keeps_within_the_tokens() -> None:
    # The first token ends inside the last character; the whole ones before that are two tokens.
    text = " \u0926\u093f\u0900"
    assert COUNTER.count(text) == COUNTER.count(text[:-1]) == 2
    assert COUNTER.head(text, tokens=1) == text[:2]
