"""Whether what a model wrote rests on what was said. Its answer is untrusted, like every caller's text."""

from __future__ import annotations

import re
from collections.abc import Sequence

from markupsafe import Markup

from shared.domain.turn import Turn
from shared.text import markup
from workers.rules.calls import joined_calls
from workers.rules.entities import EntityFinder
from workers.rules.sentences import own_words
from workers.rules.spans import fold, has_han

# A code, number, address or amount: anything with a digit in it, as far as it is written without a space.
_WITH_DIGIT = re.compile(r"(?=[A-Za-z_./:@+-]*\d)[A-Za-z0-9]+(?:[._/:@+,-][A-Za-z0-9]+)*")
_ADDRESS = re.compile(r"[^\s@，。]+@[A-Za-z0-9.-]+|https?://[^\s\u3400-\u9fff，。]+", re.IGNORECASE)


def turn_element(turn: Turn) -> Markup:
    """`<turn>` with the turn's own words, escaped: nothing in them can end the element."""
    attributes = {"seq": str(turn.sequence), "role": turn.role, "time": f"{turn.created_at:%Y-%m-%dT%H:%M}"}
    return markup.element("turn", attributes=attributes, children=[own_words(turn.text).strip()])


def is_grounded(text: str, *, turns: Sequence[Turn], finder: EntityFinder) -> bool:
    """Each code, number and address of `text` stands in `turns` or is what a date or sum in them comes to."""
    wanted = {token.lower() for token in codes(text)}
    said = fold(" ".join(_texts(turns))).lower()
    missing = {token for token in wanted if not stands_in(token, text=said)}
    return not missing or missing <= _derived(turns, finder=finder)


def codes(text: str) -> set[str]:
    folded = fold(text)
    return {
        match[0].rstrip(".,") for pattern in (_WITH_DIGIT, _ADDRESS) for match in pattern.finditer(folded)
    }


def stands_in(token: str, *, text: str) -> bool:
    """As a whole: 042 does not stand in 1042."""
    return re.search(rf"(?<![a-z0-9]){re.escape(token)}(?![a-z0-9])", text) is not None


def same_script(text: str, *, turns: Sequence[Turn]) -> bool:
    """A memory keeps the language it was said in: no Chinese out of turns without any, and the reverse."""
    said = [has_han(turn.text) for turn in turns]
    return any(said) if has_han(text) else not all(said)


def _texts(turns: Sequence[Turn]) -> list[str]:
    calls = [joined.call.arguments for joined in joined_calls(turns) if joined.call is not None]
    return [*(own_words(turn.text) for turn in turns), *calls]


def _derived(turns: Sequence[Turn], *, finder: EntityFinder) -> set[str]:
    found = [
        entity for turn in turns for entity in finder.entities(own_words(turn.text), base=turn.created_at)
    ]
    values = {entity.value.lower() for entity in found}
    return values | {token.lower() for value in values for token in codes(value)}
