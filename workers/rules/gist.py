from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import rjieba

from shared.domain.memory import Kind
from shared.text.lexical import content_words
from workers.rules.kinds import assistant_kind, user_kind
from workers.rules.said import Said
from workers.rules.sentences import is_small_talk
from workers.rules.spans import has_han

MOST_CHARACTERS, MOST_WORDS = 20, 12
_LONGEST_WORD = 60
_ENTITY_WEIGHT, _DATE_WEIGHT, _WORD_WEIGHT, _EDGE_WEIGHT = 3.0, 1.5, 1.0, 1.0
_KIND_WEIGHTS: dict[Kind | None, float] = {"issue": 4, "promise": 2, "attempt": 2, "fact": 1, "event": 1}
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


def gist(said: Sequence[Said]) -> str:
    """The stretch that says the most of all that was said and fits; the earlier of two. Empty for silence."""
    telling = [one for one in said if not is_small_talk(one.text)] or said
    stretches = [stretch for one in telling if (stretch := _best_stretch(one)) is not None]
    best = max(stretches, key=lambda stretch: stretch.score, default=None)
    return "" if best is None else best.text


def _best_stretch(said: Said) -> _Stretch | None:
    words = list(_words(said))
    bonus = _KIND_WEIGHTS.get(_kind(said), 0.0)
    allowed = _is_brief if has_han(said.text) else _is_few_words
    found = (one for start in range(len(words)) for one in _stretches(words, start=start, allowed=allowed))
    best = max(found, key=lambda one: one.score, default=None)
    return None if best is None else replace(best, score=best.score + bonus)


def _kind(said: Said) -> Kind | None:
    read = user_kind if said.turn.role == "user" else assistant_kind
    return read(said.text, entities=said.kinds)


def _stretches(words: Sequence[_Word], *, start: int, allowed: Callable[[str], bool]) -> Iterator[_Stretch]:
    """Those from word `start` on, shortest first; a clause's edge is as good as another word."""
    begins = start == 0 or _EDGE.search(words[start - 1].text) is not None
    text, score = "", _EDGE_WEIGHT * begins
    for end, word in enumerate(words[start:], start + 1):
        text, score = text + word.text, score + word.weight
        summary = text.strip().strip(_TRIMMED)
        if not allowed(text.strip()):
            return
        ends = end == len(words) or _EDGE.search(text + words[end].text[:1]) is not None
        if summary:
            yield _Stretch(text=summary, score=score + _EDGE_WEIGHT * ends)


def _words(said: Said) -> Iterator[_Word]:
    start = 0
    for mention in said.mentions:
        yield from _plain_words(said.text[start : mention.start])
        weight = _DATE_WEIGHT if mention.kind == "date" else _ENTITY_WEIGHT
        yield _Word(text=said.text[mention.start : mention.end], weight=weight)
        start = mention.end
    yield from _plain_words(said.text[start:])


def _plain_words(text: str) -> Iterator[_Word]:
    pieces = _MIXED_WORD.findall(text) if has_han(text) else _LATIN_WORD.findall(text)
    for piece in pieces:
        for word in rjieba.cut(piece) if has_han(piece) else (piece,):
            yield _Word(text=word, weight=_WORD_WEIGHT if content_words(word) else 0.0)
