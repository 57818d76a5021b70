from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.ports import SparseVector
from shared.text.lexical import Saturation, content_words, document_vector, query_vector, terms


def score(query: str, document: str) -> float:
    weights = document_vector(document)
    by_index = dict(zip(weights.indices, weights.values, strict=True))
    asked = query_vector(query)
    return sum(by_index.get(i, 0.0) * w for i, w in zip(asked.indices, asked.values, strict=True))


@pytest.mark.parametrize("identifier", ["E-1042", "TK-88213", "v2.3.1", "SM-G998B", "10.0.0.1", "a_1"])
@pytest.mark.parametrize("around", ["Error {} again", "我的{}坏了", "（{}）"])
def test_an_identifier_stands_whole(identifier: str, around: str) -> None:
    assert identifier.lower() in terms(around.format(identifier))


def test_an_identifier_stands_in_its_parts_as_well() -> None:
    assert Counter(terms("SM-G998B")) == Counter(["sm-g998b", "sm", "g998b", "998"])


@pytest.mark.parametrize(
    ("query", "document"),
    [
        ("iPhone 15", "my iPhone15 is hot"),
        ("order 88213", "Where is TK-88213?"),
        ("returning shipments", "I returned the shipment"),
        ("ＳＭ－Ｇ９９８Ｂ", "sm-g998b"),
        ("订单号", "查一下订单号88213"),
        ("退款进度", "什么时候能退款"),
        ("华为Mate60手机", "华为手机"),
    ],
)
def test_a_query_meets_its_document(query: str, document: str) -> None:
    assert score(query, document) > 0


@pytest.mark.parametrize("text", ["what is the of and to", "我", "请问，怎么", "", "？！…", "👍"])
def test_text_that_says_nothing_has_no_terms(text: str) -> None:
    assert terms(text) == []
    assert document_vector(text) == SparseVector(indices=(), values=())


def test_content_words_hold_chinese_words_and_no_character_pairs() -> None:
    words = content_words("屏幕坏了，申请退款")
    assert {"屏幕", "退款"} <= words
    assert not words & {"幕坏", "请退"}


def test_content_words_of_english_are_stems() -> None:
    assert content_words("The screens are flickering") == {"screen", "flicker"}


@given(text=st.text())
def test_vectors_of_any_text_ascend_and_agree(text: str) -> None:
    document, query = document_vector(text), query_vector(text)
    assert list(document.indices) == sorted(set(document.indices))
    assert query.indices == document.indices
    assert set(query.values) <= {1.0}
    assert all(0 <= index < 2**32 for index in document.indices)
    assert all(0 < value < Saturation().k1 + 1 for value in document.values)


def test_a_repeated_term_weighs_more_but_less_than_twice() -> None:
    once = document_vector("refund", saturation=Saturation(b=0.0)).values[0]
    twice = document_vector("refund refund", saturation=Saturation(b=0.0)).values[0]
    assert once == pytest.approx(1.0)
    assert twice == pytest.approx(2 * 2.2 / 3.2)


def test_a_long_document_weighs_a_term_less() -> None:
    assert score("refund", "refund") > score("refund", "refund " + "battery screen cable " * 20)


def test_indices_are_the_same_in_every_process() -> None:
    assert query_vector("退款").indices == (int.from_bytes(bytes.fromhex("6018587f")),)


@pytest.mark.parametrize(
    ("asked", "said", "thanks"),
    [
        ("delivery address", "The delivery address is wrong.", "Noted, thanks!"),
        ("收货地址", "收货地址写错了。", "收到，谢谢！"),
    ],
)
def test_a_text_is_found_by_words_beside_it_but_behind_the_one_that_says_them(
    asked: str, said: str, thanks: str
) -> None:
    def found(document: SparseVector) -> float:
        weights = dict(zip(document.indices, document.values, strict=True))
        return sum(weights.get(index, 0.0) for index in query_vector(asked).indices)

    own = found(document_vector(said, beside=[thanks]))
    beside = found(document_vector(thanks, beside=[said]))
    assert found(document_vector(thanks)) == 0 < beside < own


def test_words_beside_a_text_count_their_share_and_add_up() -> None:
    flat = Saturation(b=0.0, k1=1.0, beside=0.5)
    (once,) = document_vector("", beside=["refund"], saturation=flat).values
    (twice,) = document_vector("refund", beside=["refund", "refund"], saturation=flat).values
    # tf · (k1 + 1) / (tf + k1) at tf 0.5 and 2.
    assert [once, twice] == pytest.approx([2 * 0.5 / 1.5, 2 * 2 / 3])
