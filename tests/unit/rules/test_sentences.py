from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.rules.sentences import clip, is_question, is_small_talk, own_words, sentences


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "It broke. Why? See https://x.io/a?b=1;c now!",
            ["It broke.", "Why?", "See https://x.io/a?b=1;c now!"],
        ),
        ("Version v2.3.1 is out. Ask Mr. Smith.", ["Version v2.3.1 is out.", "Ask Mr. Smith."]),
        ("手机坏了。能修吗？谢谢！", ["手机坏了。", "能修吗？", "谢谢！"]),
        ("手机突然坏了 什么时候能修好", ["手机突然坏了", "什么时候能修好"]),
        ("one\ntwo\n\n", ["one", "two"]),
        ("", []),
    ],
)
def test_text_is_cut_at_the_ends_of_its_sentences(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected


def test_long_sentence_is_cut_outside_of_its_codes() -> None:
    text = "see ERR_CONNECTION_RESET, " * 40
    assert all(len(one) <= 300 for one in sentences(text))
    assert "".join(sentences(text)).count("ERR_CONNECTION_RESET") == 40


@pytest.mark.parametrize("text", ["Is it here", "so what now", "能修吗", "多少钱啊", "可以换货？", "Really?"])
def test_question_is_one_with_or_without_its_mark(text: str) -> None:
    assert is_question(text)


@pytest.mark.parametrize("text", ["It is here.", "手机坏了", "I know what it is."])
def test_statement_is_no_question(text: str) -> None:
    assert not is_question(text)


@pytest.mark.parametrize("text", ["Hi there!", "ok, thanks a lot", "好的，谢谢", "嗯嗯"])
def test_small_talk_is_recognized(text: str) -> None:
    assert is_small_talk(text)


def test_small_talk_with_content_is_none() -> None:
    assert not is_small_talk("Hi, my phone broke")
    assert not is_small_talk("你好，手机坏了")


def test_endless_laughter_is_read_in_bounded_time() -> None:
    assert not is_small_talk("哈" * 300 + "x")


@pytest.mark.parametrize(
    "text",
    [
        "<memory>old</memory>new",
        "<memory user='1'><fact>old</fact></memory>new",
        "new<memory>old and never closed",
        "<CONDENSED_MEMORY>old</CONDENSED_MEMORY>new",
    ],
)
def test_context_blocks_are_nobodys_own_words(text: str) -> None:
    assert own_words(text).strip() == "new"


@given(st.text(max_size=900))
def test_sentences_hold_all_that_is_not_space(text: str) -> None:
    assert "".join("".join(sentences(text)).split()) == "".join(text.split())


@given(st.text(max_size=200), st.integers(min_value=2, max_value=60))
def test_clip_keeps_its_limit(text: str, limit: int) -> None:
    assert len(clip(text, limit=limit)) <= limit
