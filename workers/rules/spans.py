from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from shared.domain.memory import Entity, EntityKind

# Full-width ASCII is folded one character to one, so that a span found in the folded text is the same span
# of the text as written. Punctuation that ends Chinese clauses (，；？！（）) stays as it is.
_FOLDED = {
    wide: wide - 0xFEE0
    for wide in (
        *range(0xFF10, 0xFF1A),
        *range(0xFF21, 0xFF3B),
        *range(0xFF41, 0xFF5B),
        *map(ord, "＃＄％＆＋－．／：＝＠＿"),
    )
} | {ord("￥"): ord("¥"), ord("\u3000"): ord(" "), ord("–"): ord("-"), ord("’"): ord("'")}

LEFT = r"(?<![A-Za-z0-9])"
RIGHT = r"(?![A-Za-z0-9])"
HAN = re.compile(r"[\u3400-\u9fff]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mention:
    """`start` and `end` are character offsets into the text as written."""

    kind: EntityKind
    start: int
    end: int
    value: str

    def entity(self, text: str) -> Entity:
        return Entity(kind=self.kind, value=self.value, text=text[self.start : self.end])


Canonical = Callable[[str], str | None]


def fold(text: str) -> str:
    """The same length as `text`."""
    return text.translate(_FOLDED)


def has_han(text: str) -> bool:
    return HAN.search(text) is not None


def group_mentions(
    pattern: re.Pattern[str], text: str, *, kind: EntityKind, canonical: Canonical
) -> Iterator[Mention]:
    """The pattern's first group (or the whole match) as mentions; `canonical` refuses with None."""
    for match in pattern.finditer(text):
        group = 1 if pattern.groups else 0
        value = canonical(match[group])
        if value is not None:
            yield Mention(kind=kind, start=match.start(group), end=match.end(group), value=value)


def first_claims(mentions: Iterable[Mention]) -> list[Mention]:
    """Of mentions that overlap, the one that comes first in `mentions`; in text order."""
    kept: list[Mention] = []
    taken = bytearray()
    for mention in mentions:
        taken.extend(bytes(max(mention.end - len(taken), 0)))
        if taken.find(1, mention.start, mention.end) < 0:
            taken[mention.start : mention.end] = b"\x01" * (mention.end - mention.start)
            kept.append(mention)
    return sorted(kept, key=lambda mention: mention.start)
