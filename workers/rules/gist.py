"""The stretch of a round that says the most and fits.

Problems, error codes, promises and the newest value of a slot come before everything else; greetings, the
agent's questions for data and values that were replaced come last. "…" stands where a sentence goes on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import rjieba

from shared.domain.memory import Kind, Slot
from shared.text.lexical import content_words
from workers.rules.kinds import assistant_kind, user_kind
from workers.rules.said import Said
from workers.rules.sentences import is_question, is_small_talk
from workers.rules.slots import Stated, is_past
from workers.rules.spans import Mention, has_han
from workers.rules.words import pattern

MOST_CHARACTERS, MOST_WORDS = 20, 12
_LONGEST_WORD = 60
_ENTITY_WEIGHT, _DATE_WEIGHT, _WORD_WEIGHT, _EDGE_WEIGHT = 3.0, 1.5, 1.0, 2.0
_KIND_WEIGHTS: dict[Kind | None, float] = {
    "issue": 16, "promise": 14, "attempt": 6, "event": 5, "preference": 5, "fact": 4, "document": 4,
}  # fmt: skip
_NEWEST_WEIGHT, _VALUE_WEIGHT, _PAST_WEIGHT, _EMPTY_WEIGHT = 8.0, 5.0, -3.0, -8.0
_COURTESY, _ASKS_FOR = pattern("courtesy"), pattern("asks_for")
_LONG_VALUES = {"address", "residence", "name", "company"}
_LATIN_WORD = re.compile(r"\s*\S+|\s+")
_MIXED_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9_./:@+'-]*|[\u3400-\u9fff]+|\s+|.", re.DOTALL)
_TRIMMED = "，,、;；:： "
_EDGE = re.compile(r"[,，、;；:：。.!！?？]\s*$")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Word:
    """What a summary never cuts: a word or a whole code."""

    text: str
    weight: float


@dataclass(frozen=True, slots=True, kw_only=True)
class _Piece:
    """Offsets of what is never cut, and what it weighs."""

    start: int
    end: int
    weight: float


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stretch:
    text: str
    score: float


def fits(summary: str) -> bool:
    """At most 20 characters with Chinese in them, or 12 words."""
    return _is_brief(summary) if has_han(summary) else _is_few_words(summary)


def _is_brief(summary: str) -> bool:
    return len(summary) <= MOST_CHARACTERS


def _is_few_words(summary: str) -> bool:
    words = summary.split()
    return len(words) <= MOST_WORDS and all(len(word) <= _LONGEST_WORD for word in words)


def gist(told: Sequence[tuple[Said, Sequence[Stated]]]) -> str:
    """`told` is each sentence with the slots that it fills. Of two equal stretches the earlier; empty for
    silence."""
    newest = newest_slots(told)
    telling = [one for one in told if not is_small_talk(one[0].text)] or told
    found = (_best_stretch(said, slots=stated, newest=newest) for said, stated in telling)
    stretches = [stretch for stretch in found if stretch is not None]
    best = max(stretches, key=lambda stretch: stretch.score, default=None)
    return "" if best is None else best.text


def newest_slots(told: Sequence[tuple[Said, Sequence[Stated]]]) -> list[Slot]:
    places = {(one.slot.subject, one.slot.attribute): one.slot for _, stated in told for one in stated}
    return list(places.values())


def _best_stretch(said: Said, *, slots: Sequence[Stated], newest: Sequence[Slot]) -> _Stretch | None:
    current = [one.slot for one in slots if one.slot in newest]
    words = list(_words(said, pieces=_pieces(said, current=current)))
    found = (one for start in range(len(words)) for one in _stretches(words, start=start))
    best = max(found, key=lambda one: one.score, default=None)
    bonus = _bonus(said, replaced=bool(slots) and not current, newest=bool(current))
    return None if best is None else replace(best, score=best.score + bonus)


def _bonus(said: Said, *, replaced: bool, newest: bool) -> float:
    agent = said.turn.role == "assistant"
    asks = agent and (is_question(said.text) or _ASKS_FOR.search(said.text))
    if replaced or asks or _COURTESY.search(said.text):
        return _EMPTY_WEIGHT
    read = assistant_kind if agent else user_kind
    kind = _KIND_WEIGHTS.get(read(said.text, entities=said.kinds), 0.0)
    return max(kind, _NEWEST_WEIGHT if newest else 0.0)


def _stretches(words: Sequence[_Word], *, start: int) -> Iterator[_Stretch]:
    """Those from word `start` on, shortest first; a clause's edge is worth more than another word."""
    begins = start == 0 or _EDGE.search(words[start - 1].text) is not None
    text, score = "", _EDGE_WEIGHT * begins
    for end, word in enumerate(words[start:], start + 1):
        text, score = text + word.text, score + word.weight
        summary = text.strip().strip(_TRIMMED)
        if not fits(text.strip()):
            return
        goes_on = any(map(str.isalnum, "".join(one.text for one in words[end:])))
        ends = end == len(words) or _EDGE.search(text + words[end].text[:1]) is not None
        marked = f"{'' if begins else '…'}{summary}{'…' if goes_on else ''}"
        if summary and fits(marked):
            yield _Stretch(text=marked, score=score + _EDGE_WEIGHT * ends)


def _pieces(said: Said, *, current: Sequence[Slot]) -> list[_Piece]:
    """Entities, and values of slots in one piece where they fit; apart from each other and in text order."""
    values = [slot.value for slot in current if slot.attribute in _LONG_VALUES and fits(f"…{slot.value}…")]
    found = [
        _Piece(start=start, end=start + len(value), weight=_VALUE_WEIGHT)
        for value in values
        if (start := said.text.find(value)) >= 0
    ]
    for mention in said.mentions:
        if not any(mention.start < one.end and one.start < mention.end for one in found):
            found.append(_Piece(start=mention.start, end=mention.end, weight=_weight(said, mention=mention)))
    return sorted(found, key=lambda one: one.start)


def _weight(said: Said, *, mention: Mention) -> float:
    if mention.kind in {"phone", "email"} and is_past(said.text, mention=mention):
        return _PAST_WEIGHT
    return _DATE_WEIGHT if mention.kind == "date" else _ENTITY_WEIGHT


def _words(said: Said, *, pieces: Sequence[_Piece]) -> Iterator[_Word]:
    start = 0
    for piece in pieces:
        yield from _plain_words(said.text[start : piece.start])
        yield _Word(text=said.text[piece.start : piece.end], weight=piece.weight)
        start = piece.end
    yield from _plain_words(said.text[start:])


def _plain_words(text: str) -> Iterator[_Word]:
    pieces = _MIXED_WORD.findall(text) if has_han(text) else _LATIN_WORD.findall(text)
    for piece in pieces:
        for word in rjieba.cut(piece) if has_han(piece) else (piece,):
            yield _Word(text=word, weight=_WORD_WEIGHT if content_words(word) else 0.0)
