"""Turns joined into what may only stand together: a call and its result."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from shared.domain.ids import TurnId
from shared.domain.turn import ToolCall, Turn
from shared.ports import TokenCounter
from shared.text.markup import neutral

Message = dict[str, object]

# OpenAI's count for a list of chat messages: 3 tokens around each, 3 that open the answer. It also charges
# each tool call for its wrapping; the JSON text of the calls, counted whole, is more than that.
MESSAGE_TOKENS = 3
PRIMING_TOKENS = 3

_PLAIN_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")
# JSON allows these raw inside a string, and `neutral` takes them for the ends of lines.
_LINE_ENDS = str.maketrans({"\u2028": "\\u2028", "\u2029": "\\u2029", "\u0085": "\\u0085"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """One turn and, when it made calls, the results that answered them, by call id."""

    turn: Turn
    results: Mapping[str, Turn] = field(default_factory=dict)

    @property
    def turns(self) -> tuple[Turn, ...]:
        return (self.turn, *self.results.values())

    @property
    def turn_ids(self) -> tuple[TurnId, ...]:
        return tuple(turn.turn_id for turn in self.turns)

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """Without repeats of an id: a second one could not be told from the first by its result."""
        first: dict[str, ToolCall] = {}
        for call in self.turn.tool_calls:
            first.setdefault(call.id, call)
        return tuple(first.values())


def exchanges(turns: Sequence[Turn]) -> list[Exchange]:
    """In order of sequence. A result joins the newest call of its id before it that has none yet; a result
    without a call stands alone. Turns with nothing to show are left out."""
    made: list[Exchange] = []
    waiting: dict[str, int] = {}
    for turn in turns:
        place = waiting.pop(turn.tool_call_id, None) if turn.role == "tool" and turn.tool_call_id else None
        if place is not None:
            made[place] = _answered(made[place], result=turn)
        elif turn.tool_calls or turn.text.strip():
            waiting.update({call.id: len(made) for call in turn.tool_calls})
            made.append(Exchange(turn=turn))
    return made


def messages(exchange: Exchange) -> list[Message]:
    """As OpenAI-compatible servers accept it: each call with its result right behind it. An unanswered call
    and a result without a call are refused there, so they are left out here."""
    turn = exchange.turn
    if turn.role == "tool":
        return []
    answered = [call for call in exchange.calls if call.id in exchange.results]
    if not answered and not turn.text.strip():
        return []
    said: Message = {"role": turn.role, "content": neutral(turn.text)}
    if turn.name and _PLAIN_NAME.match(turn.name):
        said["name"] = turn.name
    if answered:
        said["tool_calls"] = [_call(call) for call in answered]
    return [said, *(_result(call, exchange.results[call.id]) for call in answered)]


def message_tokens(message: Message, *, counter: TokenCounter) -> int:
    """What one message takes up, its role, name, ids and calls counted."""
    strings = [
        value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        for value in message.values()
    ]
    return MESSAGE_TOKENS + sum(counter.count(string) for string in strings)


def with_text(exchange: Exchange, text: str) -> Exchange:
    return replace(exchange, turn=replace(exchange.turn, text=text))


def _answered(exchange: Exchange, *, result: Turn) -> Exchange:
    return replace(exchange, results={**exchange.results, str(result.tool_call_id): result})


def _call(call: ToolCall) -> Message:
    arguments = neutral(call.arguments.translate(_LINE_ENDS))
    function = {"name": neutral(call.name), "arguments": arguments}
    return {"id": neutral(call.id), "type": "function", "function": function}


def _result(call: ToolCall, result: Turn) -> Message:
    return {"role": "tool", "tool_call_id": neutral(call.id), "content": neutral(result.text)}
