"""Plays a conversation to a running gateway and asks for the context of its last session."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from statistics import median
from typing import TypedDict

import orjson

from infra.calls import Answer, Calls, session_path
from infra.demo.conversations import Conversation, turns_of
from infra.imports.batches import Batch
from infra.imports.lines import Line
from shared.domain.errors import TurnkeepError

# Small enough that ranking has to choose.
BUDGET = 600
ASKED_TIMES = 5
DONE_SECONDS = 120.0
POLL_SECONDS = 0.05


class DemoFailed(TurnkeepError):
    pass


class Tokens(TypedDict):
    budget: int
    used: int
    sections: dict[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """A memory of the context, and where it was said."""

    text: str
    said: str
    why: str
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """`seconds` are those of each call for the context."""

    conversation: Conversation
    sessions: Sequence[str]
    turns: int
    question: str
    text: str
    tokens: Tokens
    degraded: Sequence[str]
    origins: Sequence[Origin]
    seconds: Sequence[float]

    @property
    def keeps_the_change(self) -> bool:
        """Whether what is told as known has the new value and not the old one; episodes quote."""
        change = self.conversation.change
        told = [line for line in self.text.splitlines() if not line.startswith("<episode")]
        return any(change.new in line for line in told) and not any(change.old in line for line in told)

    @property
    def quotes_the_old(self) -> bool:
        return self.conversation.change.old in self.text


@dataclass(frozen=True, slots=True, kw_only=True)
class Times:
    """In seconds; `accept` is for all turns together, `done` until the last is memory and in the index."""

    start: float
    accept: float
    done: float
    context: float
    turns: int


def post(conversation: Conversation, *, calls: Calls, now: datetime) -> Sequence[Line]:
    lines = turns_of(conversation, now=now)
    for session_id, said in groupby(lines, key=lambda line: line.session_id):
        batch = Batch(session_id=session_id, user_id=lines[0].user_id, lines=list(said))
        calls.post(session_path(session_id, "turns"), batch.body())
        calls.post(session_path(session_id, "flush"))
    return lines


def await_memories(calls: Calls) -> None:
    """Until nothing is pending and the index is told. Raises DemoFailed when turns die or time is over."""
    deadline = time.monotonic() + DONE_SECONDS
    while True:
        stats = calls.get("/v1/stats")
        if stats["turns"]["dead"]:
            raise DemoFailed(f"{stats['turns']['dead']} turns could not be worked on.")
        if not stats["turns"]["pending"] and not stats["index_owed"]:
            return
        if time.monotonic() > deadline:
            raise DemoFailed(f"The turns were not done within {DONE_SECONDS:.0f} s.")
        time.sleep(POLL_SECONDS)


def recall(conversation: Conversation, *, lines: Sequence[Line], calls: Calls) -> Played:
    sessions = list(dict.fromkeys(line.session_id for line in lines))
    body = orjson.dumps({"max_tokens": BUDGET, "format": "text"})
    seconds: list[float] = []
    answers: list[Answer] = []
    for _ in range(ASKED_TIMES):
        begun = time.monotonic()
        answers.append(calls.post(session_path(sessions[-1], "context"), body))
        seconds.append(time.monotonic() - begun)
    # On a busy machine a query may miss its deadline; such a context says so and is not the one to show.
    answer = min(answers, key=lambda one: len(one["degraded"]))
    return Played(
        conversation=conversation,
        sessions=sessions,
        turns=len(lines),
        question=str(lines[-1].turn["content"]),
        text=answer["text"],
        tokens=answer["tokens"],
        degraded=answer["degraded"],
        origins=_origins(answer["memories"], places=_places(sessions, calls=calls)),
        seconds=seconds,
    )


def times(played: Sequence[Played], *, start: float, accept: float, done: float) -> Times:
    return Times(
        start=start,
        accept=accept,
        done=done,
        context=median(second for one in played for second in one.seconds),
        turns=sum(one.turns for one in played),
    )


def _places(sessions: Sequence[str], *, calls: Calls) -> dict[str, str]:
    """Turn id to session, place and role."""
    return {
        turn["turn_id"]: f"{session_id} #{turn['sequence']} {turn['role']}"
        for session_id in sessions
        for turn in calls.get(session_path(session_id, "turns?limit=100"))["turns"]
    }


def _origins(memories: Sequence[Answer], *, places: dict[str, str]) -> Sequence[Origin]:
    return [
        Origin(
            text=memory["text"],
            said="\n".join(places[turn_id] for turn_id in memory["turn_ids"]),
            why=memory["why"],
            score=memory["score"],
        )
        for memory in memories
    ]
