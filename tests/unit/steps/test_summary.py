from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from uuid import UUID
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.domain.errors import ModelAnswerUnusable
from shared.domain.ids import BatchId, UserKey
from shared.domain.policy import UserPolicy
from shared.domain.session import Batch
from shared.domain.turn import Turn, rounds
from shared.inference.schema import misfit
from shared.inference.tokens import counter_for
from shared.ports import SessionRow, UserRow
from tests.unit.rules.material import ENGLISH, NOW, SESSION_KEY, talk
from workers.rules.summary import Condensing, condense
from workers.steps.fold import Fold
from workers.steps.summarize import wrap_up_of
from workers.steps.summary import Condensed, prompt_for, summaries_from

ROUNDS = rounds(
    talk(
        ("user", "My Galaxy S24 shows error E-1042 when I charge it."),
        ("assistant", "Please update it."),
        ("user", "手机还是报错E05"),
    )
)
BY = Condensing(session_id="s-1", share_removed=0.85, counter=counter_for(None), finder=ENGLISH)
ENTRIES = [condense(turns, by=BY) for turns in ROUNDS]
GOOD = {"first": 1, "summary": "Galaxy S24 fails with E-1042 while charging"}


def read(*items: object) -> Condensed:
    return summaries_from({"summaries": list(items)}, rounds=ROUNDS, entries=ENTRIES, finder=ENGLISH)


def test_good_summary_takes_the_place_of_the_rules_one() -> None:
    found = read(GOOD, {"first": 3, "summary": "更新后仍报错E05"})
    assert [one.summary for one in found.entries] == [GOOD["summary"], "更新后仍报错E05"]
    assert found.replaced == 2


def test_everything_but_the_summary_stays() -> None:
    [first, second] = read(GOOD).entries
    assert (first.messages, first.entities, first.calls) == (
        ENTRIES[0].messages,
        ENTRIES[0].entities,
        ENTRIES[0].calls,
    )
    assert second is ENTRIES[1]


@pytest.mark.parametrize(
    "item",
    [
        {"first": 3, "summary": "手机报错E05，升级以后还是没有任何用处，客户很着急"},
        {"first": 3, "summary": "报错E06"},
        {"first": 3, "summary": "phone still fails"},
        {"first": 3, "summary": " "},
        {"first": 99, "summary": "报错"},
        {"first": "3", "text": "报错"},
        None,
    ],
)
def test_summary_that_is_over_the_limit_or_not_of_the_round_leaves_the_rules_one(item: object) -> None:
    found = read(GOOD, item)
    assert found.entries[1] is ENTRIES[1]
    assert found.replaced == 1


def test_more_than_twelve_words_are_over_the_limit() -> None:
    with pytest.raises(ModelAnswerUnusable):
        read({"first": 1, "summary": "the phone that was bought shows an error when it is being charged"})


@pytest.mark.parametrize("answer", [{}, {"summaries": None}, {"summaries": "x"}, {"summaries": []}])
def test_answer_without_one_usable_summary_is_unusable(answer: Mapping[str, object]) -> None:
    with pytest.raises(ModelAnswerUnusable):
        summaries_from(answer, rounds=ROUNDS, entries=ENTRIES, finder=ENGLISH)


def test_prompt_frames_each_round_with_its_first_sequence() -> None:
    root = ET.fromstring(prompt_for(ROUNDS, language="en").user)  # noqa: S314 -- our own XML
    assert [(one.get("first"), len(one)) for one in root] == [("1", 2), ("3", 1)]


@given(st.text())
def test_prompt_is_well_formed_for_any_text(text: str) -> None:
    root = ET.fromstring(prompt_for([talk(("user", text))], language="zh").user)  # noqa: S314 -- our own XML
    assert [len(one) for one in root] == [1]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_example_of_the_prompt_fits_its_own_schema_and_limits(language: str) -> None:
    prompt = prompt_for(ROUNDS, language=language)
    example = prompt.system.partition("示例" if language == "zh" else "Example")[2]
    answer = json.loads(example[example.index('{"summaries"') :])
    frame = ET.fromstring(example[example.index("<rounds>") : example.index("</rounds>") + 9])  # noqa: S314 -- our file
    turns = talk(*(("user", one.text or "") for one in frame[0]))
    entry = condense(turns, by=BY)
    renumbered = {"summaries": [{"first": 1, "summary": one["summary"]} for one in answer["summaries"]]}
    found = summaries_from(renumbered, rounds=[turns], entries=[entry], finder=ENGLISH)
    assert misfit(answer, schema=prompt.schema) is None
    assert found.replaced == 1


def closed(turns: Sequence[Turn], *, outcome: str | None) -> Fold:
    key = UserKey(UUID(int=2))
    return Fold(
        batch=Batch(
            batch_id=BatchId(UUID(int=1)),
            kind="close",
            user_key=key,
            session_key=SESSION_KEY,
            first=1,
            last=len(turns),
            user_epoch=0,
            session_epoch=0,
            generation=0,
            lane="interactive",
        ),
        user=UserRow(user_key=key, user_id="u-1", epoch=0, version=1, policy=UserPolicy()),
        session=SessionRow(
            session_key=SESSION_KEY,
            session_id="s-1",
            user_key=key,
            user_id="u-1",
            user_epoch=0,
            epoch=0,
            applied=0,
            language="en",
            created_at=NOW,
            closed_at=NOW,
            outcome=outcome,
            wrap_up=None,
        ),
        turns=turns,
        recorded=False,
    )


@pytest.mark.parametrize(("outcome", "told"), [("lamp replaced", True), (None, False)])
def test_wrap_up_tells_the_outcome_that_the_caller_closed_with(outcome: str | None, *, told: bool) -> None:
    turns = talk(("user", "The lamp is broken."), ("assistant", "We will send a new one."))
    [found] = wrap_up_of(closed(turns, outcome=outcome), finder=ENGLISH)
    assert ("Outcome: lamp replaced." in found.text) is told
    assert ("Outcome" in found.text) is told


def test_session_without_turns_leaves_no_wrap_up() -> None:
    assert wrap_up_of(closed([], outcome="lamp replaced"), finder=ENGLISH) == []
