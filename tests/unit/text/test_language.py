from __future__ import annotations

import pytest

from shared.text.language import language_of


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("我的订单什么时候到？", "zh"),
        ("好的", "zh"),
        ("我的 Samsung Galaxy Ultra 坏了", "zh"),
        ("Where is the order that I placed last week?", "en"),
        ("What does 退款 mean in this message please", "en"),
        ("Wo ist mein Paket geblieben, ich warte schon lange", "de"),
        ("注文した商品はどこですか", "ja"),
        ("제 주문은 어디에 있나요", "ko"),
        ("Где мой заказ, я жду уже две недели", "ru"),
    ],
)
def test_script_or_enough_text_decides_against_the_fallback(text: str, language: str) -> None:
    assert language_of(text, fallback="zh") == language
    assert language_of(text, fallback="en") == language


@pytest.mark.parametrize("text", ["", "ok", "ok thanks", "12345", "TK-88213", "👍", "SM-G998B v2.3.1"])
@pytest.mark.parametrize("fallback", ["zh", "en"])
def test_text_too_short_to_tell_takes_the_fallback(text: str, fallback: str) -> None:
    assert language_of(text, fallback=fallback) == fallback
