from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from shared.domain.turn import ToolCall, Turn


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinedCall:
    """A tool call with the turn it was made in and the one that answered it; either may be unseen."""

    call_id: str
    call: ToolCall | None
    made_in: Turn | None
    answered_in: Turn | None

    @property
    def name(self) -> str:
        if self.call is not None:
            return self.call.name
        return (self.answered_in and self.answered_in.name) or ""


def joined_calls(turns: Sequence[Turn]) -> list[JoinedCall]:
    """Calls in the order they were made, each result with the call of its own id.

    An id used twice takes its results in order; a result whose call is not among `turns` stands alone.
    """
    joined: list[JoinedCall] = []
    for turn in turns:
        joined.extend(
            JoinedCall(call_id=call.id, call=call, made_in=turn, answered_in=None) for call in turn.tool_calls
        )
        if turn.role == "tool":
            _answer(joined, turn=turn)
    return joined


def _answer(joined: list[JoinedCall], *, turn: Turn) -> None:
    call_id = turn.tool_call_id or ""
    for index, one in enumerate(joined):
        if one.call_id == call_id and one.answered_in is None:
            joined[index] = JoinedCall(call_id=call_id, call=one.call, made_in=one.made_in, answered_in=turn)
            return
    joined.append(JoinedCall(call_id=call_id, call=None, made_in=None, answered_in=turn))
