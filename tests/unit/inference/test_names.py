from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from shared.inference.names import LacNameTagger
from shared.ports import NamedSpan

TAGGER = LacNameTagger()


def test_persons_places_and_organizations_are_found_where_they_stand() -> None:
    text = "您好！张三在北京市的华为公司工作。\n李雷说京东还没有发货。"
    assert TAGGER.names(text) == [
        NamedSpan(kind="person", text="张三", start=3, end=5),
        NamedSpan(kind="place", text="北京市", start=6, end=9),
        NamedSpan(kind="organization", text="华为公司", start=10, end=14),
        NamedSpan(kind="person", text="李雷", start=18, end=20),
        NamedSpan(kind="organization", text="京东", start=21, end=23),
    ]


@pytest.mark.parametrize("text", ["", "   ", "Bob met Alice in Paris.", "E-1042", "👍\x00\ud800"])
def test_text_without_chinese_has_no_names(text: str) -> None:
    assert TAGGER.names(text) == []


def test_names_in_other_scripts_are_left_out_of_chinese_text() -> None:
    assert [span.text for span in TAGGER.names("Bob 说王芳会联系 Alice")] == ["王芳"]


def test_offsets_hold_beyond_a_piece_and_around_what_has_no_names() -> None:
    text = "👍" * 150 + "啊" * 150 + "，我叫张伟。" + "。" * 300 + "他住在上海市。"
    spans = TAGGER.names(text)
    assert {"张伟", "上海市"} <= {span.text for span in spans}
    assert all(text[span.start : span.end] == span.text for span in spans)


def test_threads_share_a_tagger() -> None:
    texts = [f"第{n}位顾客王芳住在广州市。" for n in range(40)]
    tagger = LacNameTagger()
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(tagger.names, texts)) == [TAGGER.names(text) for text in texts]
