from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from shared.domain.ids import TurnId

Role = Literal["user", "assistant", "tool", "system"]
Speaker = Literal["bot", "human_agent"]
Lane = Literal["interactive", "bulk"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """`arguments` is the JSON text as the caller sent it: compression keeps it, nobody evaluates it."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    url: str
    caption: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One utterance. `text` is the content with all parts joined; an image stands in it as its caption.

    `sequence` is gap-free within the session and decides order; `created_at` is the caller's clock and
    decides validity only.
    """

    turn_id: TurnId
    client_id: str | None
    sequence: int
    role: Role
    text: str
    tokens: int
    created_at: datetime
    accepted_at: datetime
    name: str | None = None
    speaker: Speaker | None = None
    tool_calls: Sequence[ToolCall] = ()
    tool_call_id: str | None = None
    images: Sequence[Image] = ()
    metadata: Mapping[str, object] = field(default_factory=dict)


def rounds(turns: Sequence[Turn]) -> list[list[Turn]]:
    """Cut before every user turn; what comes before the first user turn is a round of its own."""
    cut: list[list[Turn]] = []
    for turn in turns:
        if turn.role == "user" or not cut:
            cut.append([])
        cut[-1].append(turn)
    return cut
