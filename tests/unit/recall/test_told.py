"""One thing is told once, in its best form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from api_gateway.recall.long_term import unrepeated
from api_gateway.recall.rank import Ranked
from shared.domain.ids import turn_id
from shared.domain.memory import Kind, Memory, Trust
from tests.unit.recall.material import OTHER_SESSION, SESSION_KEY, memory

JSON = '{"order": "A-1042", "status": "shipped"}'


def of(number: int, text: str, *turns: int, kind: Kind = "episode", trust: Trust = "user") -> Memory:
    sources = [turn_id(OTHER_SESSION, sequence=sequence) for sequence in turns]
    return replace(memory(number, text, kind=kind), turn_ids=tuple(sources), trust=trust)


def told(*found: Memory, profile: Sequence[Memory] = ()) -> list[str]:
    ranked = [Ranked(memory=each, score=1 / place, why="") for place, each in enumerate(found, 1)]
    return [each.memory.text for each in unrepeated(ranked, verbatim=frozenset(), profile=profile)]


RAW = of(1, JSON, 3, trust="tool")
STATEMENT = of(2, "track(order: A-1042) → status: shipped", 2, 3, kind="tool_result", trust="tool")
CLIPPED = replace(STATEMENT, text="track(order: A-1042) → status: shi…")


def test_a_tools_statement_takes_the_place_of_its_raw_answer() -> None:
    other = of(9, "The parcel is late.", 9)
    assert told(RAW, other, STATEMENT) == [STATEMENT.text, other.text]
    assert told(STATEMENT, other, RAW) == [STATEMENT.text, other.text]
    assert told(RAW, other) == [JSON, other.text]


def test_a_statement_in_the_place_of_an_answer_keeps_the_order_of_scores() -> None:
    found = [
        Ranked(memory=RAW, score=0.9, why="dense #1"),
        Ranked(memory=STATEMENT, score=0.1, why="dense #9"),
    ]
    (shown,) = unrepeated(found, verbatim=frozenset(), profile=())
    assert (shown.score, shown.why) == (0.9, "dense #9")


def test_of_an_answer_and_its_clipped_statement_the_better_one_is_told() -> None:
    assert told(RAW, CLIPPED) == [JSON]
    assert told(CLIPPED, RAW) == [CLIPPED.text]


def test_the_answer_to_another_call_stands_beside_a_statement() -> None:
    another = of(4, '{"order": "A-2000", "status": "lost"}', 5, trust="tool")
    assert told(STATEMENT, another) == [STATEMENT.text, another.text]


def test_what_was_said_about_a_call_is_not_its_raw_answer() -> None:
    asking = of(3, "I am looking into order A-1042 for you now.", 2, trust="assistant")
    assert told(STATEMENT, asking) == [STATEMENT.text, asking.text]


@pytest.mark.parametrize(
    ("episode", "promise", "summary"),
    [
        (
            "We will send a new charger by Friday.",
            "Agent: We will send a new charger by Friday.",
            "Promised: We will send a new charger by Friday.",
        ),
        (
            "我们会在周五前寄出新的充电器。",
            "客服：我们会在周五前寄出新的充电器。",
            "承诺：我们会在周五前寄出新的充电器。",
        ),
    ],
)
def test_a_promise_is_told_once_whichever_form_was_found_first(
    episode: str, promise: str, summary: str
) -> None:
    forms = [
        of(1, episode, 4, trust="assistant"),
        of(2, promise, 4, kind="promise", trust="assistant"),
        of(3, summary, 1, 2, 3, 4, kind="summary", trust="operator"),
    ]
    for first in range(3):
        turned = forms[first:] + forms[:first]
        assert told(*turned) == [turned[0].text]
        assert told(*reversed(turned)) == [turned[-1].text]


def test_a_wrap_up_that_says_more_is_told() -> None:
    promise = of(2, "Agent: We will send a new charger.", 4, kind="promise", trust="assistant")
    summary = of(3, "Problem: It melted. Promised: We will send a new charger.", 1, 4, kind="summary")
    assert told(promise, summary) == [promise.text, summary.text]
    assert told(summary, promise) == [summary.text]


def test_the_same_words_of_another_turn_are_told_again() -> None:
    assert (
        told(of(1, "It does not charge.", 4), of(2, "It does not charge.", 8)) == ["It does not charge."] * 2
    )


@pytest.mark.parametrize("text", ["Refund 30 EUR", "退款30元"])
def test_another_number_is_something_new(text: str) -> None:
    more = of(2, text.replace("30", "45"), 4, kind="fact")
    assert told(of(1, text, 4, kind="fact"), more) == [text, more.text]


def test_an_episode_that_says_no_more_than_the_profile_is_left_out() -> None:
    phone = of(1, "My phone is a Pixel 8.", 4, kind="fact")
    assert told(of(2, "Hi! My phone is a Pixel 8.", 4), profile=[phone]) == []
    assert told(of(2, "My phone is a Pixel 8, it melted.", 4), profile=[phone]) != []


def test_a_memory_without_turns_is_compared_with_nothing() -> None:
    added = replace(memory(1, "VIP customer", kind="fact"), turn_ids=())
    assert told(added, replace(added, memory_id=memory(2, "").memory_id)) == ["VIP customer"] * 2


def test_a_raw_answer_that_stands_in_the_context_does_not_bring_its_statement() -> None:
    here = tuple(turn_id(SESSION_KEY, sequence=sequence) for sequence in (2, 3))
    found = [
        Ranked(memory=replace(RAW, turn_ids=here[1:]), score=0.9, why=""),
        Ranked(memory=replace(STATEMENT, turn_ids=here), score=0.8, why=""),
    ]
    assert list(unrepeated(found, verbatim=frozenset(here), profile=())) == []
