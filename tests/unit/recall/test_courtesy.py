from __future__ import annotations

from dataclasses import replace

import pytest

from api_gateway.recall.courtesy import is_courtesy
from api_gateway.recall.rank import Candidate, candidates, rank
from shared.domain.memory import importance_of
from shared.ports import Hit
from shared.text.lexical import terms
from tests.unit.recall.material import NOW, Shop, memory, request, waiting

COURTESIES = [
    "Noted, thanks!",
    "No, thanks, bye",
    "Thank you so much for your help",
    "OK great, have a nice day",
    "You're welcome! Is there anything else I can help you with?",
    "Sure, no problem",
    "Good morning",
    "Hi there",
    "👍",
    "好的谢谢",
    "没问题，谢谢您！再见",
    "不客气，还有什么可以帮您的吗？",
    "嗯嗯，知道了",
    "收到，麻烦您了",
    "感谢您的耐心等待",
    "早上好",
]
TOLD = [
    "My phone is cracked",
    "It broke again",
    "There is a problem",
    "Morning",
    "42",
    "Noted: 12 Oak Street",
    "Thanks, and the refund?",
    "Please cancel",
    "电池坏了",
    "退款",
    "有问题",
    "下午",
    "好的，我的订单呢",
    "谢谢，但是还没收到货",
    "ありがとう、届きません",
]


@pytest.mark.parametrize("text", COURTESIES)
def test_courtesies_are_told_apart_as_they_are_weighed(text: str) -> None:
    importance = importance_of(text, words=terms(text), entities=0, remember=False)
    assert is_courtesy(replace(memory(1, text), importance=importance))


@pytest.mark.parametrize("text", TOLD)
def test_short_is_not_yet_a_courtesy(text: str) -> None:
    assert not is_courtesy(replace(memory(1, text), importance=0.1))


def test_what_somebody_found_important_or_chose_to_keep_is_no_courtesy() -> None:
    thanks = replace(memory(1, "Noted, thanks!"), importance=0.1)
    assert is_courtesy(thanks)
    assert not is_courtesy(replace(thanks, importance=0.5))
    assert not is_courtesy(replace(thanks, kind="preference"))
    assert not is_courtesy(replace(thanks, text="Thanks! " * 40))


@pytest.mark.parametrize(
    ("thanks", "issue"), [("Noted, thanks!", "It broke again"), ("好的谢谢", "电池坏了")]
)
def test_a_courtesy_found_first_stands_behind_what_was_found_at_all(thanks: str, issue: str) -> None:
    first = Candidate(
        memory=replace(memory(1, thanks), importance=0.1), similarity=0.9, ranks={"dense": 1, "lexical": 1}
    )
    last = Candidate(memory=replace(memory(2, issue), importance=0.1), similarity=0.1, ranks={"dense": 50})
    assert [each.memory.text for each in rank([first, last], policy="fused", now=NOW)] == [issue, thanks]


def test_a_courtesy_is_still_found() -> None:
    thanks = replace(memory(1, "Noted, thanks!"), importance=0.1)
    made = candidates([thanks], channels={"dense": [Hit(memory_id=thanks.memory_id, score=0.5)]})
    assert [each.memory for each in rank(made, policy="fused", now=NOW)] == [thanks]


@pytest.mark.parametrize(
    ("thanks", "issue", "asked"),
    [("Noted, thanks!", "The parcel is lost.", "delivery"), ("好的谢谢", "包裹丢了。", "快递")],
)
def test_of_what_waits_to_be_folded_courtesies_come_last_too(thanks: str, issue: str, asked: str) -> None:
    shop = Shop()
    shop.store.elsewhere = [waiting(2, thanks), waiting(1, issue)]
    assert [each.text for each in shop.context(request(query=asked)).memories] == [issue, thanks]
