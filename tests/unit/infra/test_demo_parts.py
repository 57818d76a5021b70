from __future__ import annotations

from datetime import UTC, datetime, timedelta
from io import StringIO

import pytest
from rich.console import Console

from infra.demo.conversations import CONVERSATIONS, Conversation, turns_of
from infra.demo.play import Origin, Played
from infra.demo.show import show
from infra.imports.lines import Line
from shared.text.language import language_of

NOW = datetime(2030, 1, 7, 12, tzinfo=UTC)
BOTH = pytest.mark.parametrize("conversation", CONVERSATIONS, ids=lambda one: one.file)


def said(conversation: Conversation) -> str:
    return "\n".join(str(line.turn["content"]) for line in turns_of(conversation, now=NOW))


def test_one_is_english_and_one_chinese() -> None:
    assert [language_of(said(one), fallback="en") for one in CONVERSATIONS] == ["en", "zh"]


@BOTH
def test_the_second_session_is_days_later_and_ends_with_a_question_of_now(conversation: Conversation) -> None:
    lines = turns_of(conversation, now=NOW)
    sessions = list(dict.fromkeys(line.session_id for line in lines))
    assert len(sessions) == 2
    times = [datetime.fromisoformat(str(line.turn["created_at"])) for line in lines]
    assert times == sorted(times)
    assert times[-1] == NOW
    first = max(time for time, line in zip(times, lines, strict=True) if line.session_id == sessions[0])
    assert NOW - first > timedelta(days=5)
    assert lines[-1].turn["role"] == "user"
    assert str(lines[-1].turn["content"]).endswith(("?", "？"))


def calls_of(line: Line) -> list[dict[str, object]]:
    calls = line.turn.get("tool_calls", [])
    assert isinstance(calls, list)
    return calls


@BOTH
def test_every_call_is_answered_and_the_old_value_is_said_before_the_new(conversation: Conversation) -> None:
    lines = turns_of(conversation, now=NOW)
    made = [call["id"] for line in lines for call in calls_of(line)]
    answered = [line.turn["tool_call_id"] for line in lines if line.turn["role"] == "tool"]
    assert made == answered
    assert len(made) == 3
    whole = said(conversation)
    assert 0 <= whole.find(conversation.change.old) < whole.find(conversation.change.new)


def played(text: str) -> Played:
    return Played(
        conversation=CONVERSATIONS[0],
        sessions=["s-1", "s-2"],
        turns=2,
        question="Which?",
        text=text,
        tokens={"budget": 600, "used": 70, "sections": {"profile": 50, "memories": 20}},
        degraded=[],
        origins=[Origin(text="[bold]not markup[/bold]", said="s-1 #3 user", why="dense #1", score=0.03)],
        seconds=[0.01],
    )


NEW = '<fact by="user">my number is +1 415 555 0199</fact>\n'
OLD = '<fact by="user">my number is +1 415 555 0134</fact>\n'
QUOTED = '<episode by="user">My number is +1 415 555 0134.</episode>\n'


@pytest.mark.parametrize(
    ("text", "keeps", "quotes"),
    [(NEW, True, False), (NEW + QUOTED, True, True), (NEW + OLD, False, True), (QUOTED, False, True)],
)
def test_a_changed_fact_is_kept_when_only_the_new_value_is_told(
    text: str, *, keeps: bool, quotes: bool
) -> None:
    one = played(text)
    assert (one.keeps_the_change, one.quotes_the_old) == (keeps, quotes)


def printed(text: str, *, width: int) -> str:
    page = StringIO()
    show(played(text), on=Console(file=page, width=width))
    return page.getvalue()


@pytest.mark.parametrize("width", [80, 100])
def test_the_page_shows_all_parts_and_keeps_within_its_width(width: int) -> None:
    page = printed(NEW + QUOTED, width=width)
    assert max(map(len, page.splitlines())) <= width
    for part in ("<fact by=", "profile", "used of 600", "70", "s-1 #3 user", "dense #1", "0.030", "[bold]"):
        assert part in page
    assert "only quoted from its turn" in " ".join(page.split())
    assert "does NOT tell" in printed(OLD, width=width)
