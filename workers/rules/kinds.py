"""What a sentence is, by its words: the first kind that fits, or nothing worth keeping.

Of the user: an explicit "remember"; a problem solved; an attempt; a problem or open request; an event with a
date, order, device or sum; a preference; a fact about themselves. Of the assistant: an answer with a link; a
promise; a refusal; an instruction that names a code, version or parameter. A question is kept only as a
problem or request of its own (it names what it is about).
"""

from __future__ import annotations

from collections.abc import Collection

from shared.domain.memory import Category, EntityKind, Kind
from workers.rules.segments import without_suppositions
from workers.rules.sentences import is_question, is_short, is_small_talk
from workers.rules.words import pattern

_REMEMBER, _NOT_REMEMBER = pattern("remember"), pattern("not_remember")
_SOLVED, _NOT_SOLVED = pattern("solved"), pattern("not_solved")
_ATTEMPT, _NOT_TRIED = pattern("attempt"), pattern("not_tried")
_PROBLEM, _NO_PROBLEM = pattern("problem"), pattern("no_problem")
_REQUEST, _EVENT, _PREFERENCE, _FACT = map(pattern, ("request", "event", "preference", "fact"))
_PROMISE, _REFUSAL, _INSTRUCTION = map(pattern, ("promise", "refusal", "instruction"))
_CATEGORY_NAMES: tuple[Category, ...] = ("complaint", "billing", "technical", "order", "account")
_CATEGORIES = {name: pattern(f"category_{name}") for name in _CATEGORY_NAMES}
_ABOUT_DEVICES: frozenset[EntityKind] = frozenset({"device", "error_code", "version"})
_ABOUT_A_CASE: frozenset[EntityKind] = frozenset({"device", "error_code", "order", "tracking", "identifier"})
_DATED: frozenset[EntityKind] = frozenset({"date", "order", "device", "tracking", "money"})


def asks_to_remember(sentence: str) -> bool:
    return bool(_REMEMBER.search(sentence)) and not _NOT_REMEMBER.search(sentence)


def is_solved(sentence: str) -> bool:
    return bool(_SOLVED.search(sentence)) and not _NOT_SOLVED.search(sentence)


def is_refusal(sentence: str) -> bool:
    return _REFUSAL.search(sentence) is not None


def user_kind(sentence: str, *, entities: Collection[EntityKind]) -> Kind | None:
    kinds = set(entities)
    if is_question(sentence):
        return "issue" if _is_case(sentence) and kinds & _ABOUT_A_CASE else None
    if is_small_talk(sentence) or (is_short(sentence) and not kinds):
        return None
    if asks_to_remember(sentence):
        return "preference" if _PREFERENCE.search(sentence) else "fact"
    return _told(sentence, kinds=kinds)


def _told(sentence: str, *, kinds: set[EntityKind]) -> Kind | None:
    if is_solved(sentence):
        return "event"
    if _ATTEMPT.search(sentence) and not _NOT_TRIED.search(sentence):
        return "attempt"
    if "error_code" in kinds or _is_case(sentence):
        return "issue"
    real = without_suppositions(sentence)
    if _EVENT.search(real) and kinds & _DATED:
        return "event"
    if _PREFERENCE.search(sentence):
        return "preference"
    return "fact" if _FACT.search(real) else None


def _is_case(sentence: str) -> bool:
    trouble = _PROBLEM.search(sentence) and not _NO_PROBLEM.search(sentence)
    return bool(trouble or _REQUEST.search(sentence))


def assistant_kind(sentence: str, *, entities: Collection[EntityKind]) -> Kind | None:
    kinds = set(entities)
    if is_question(sentence) or is_small_talk(sentence):
        return None
    if "url" in kinds:
        return "document"
    if _PROMISE.search(sentence):
        return "promise"
    names_code = kinds & (_ABOUT_DEVICES | {"identifier"})
    answers = _REFUSAL.search(sentence) or (names_code and _INSTRUCTION.search(sentence))
    return "fact" if answers else None


def category_of(text: str, *, kind: Kind, entities: Collection[EntityKind]) -> Category:
    found = next((name for name, words in _CATEGORIES.items() if words.search(text)), None)
    if found is not None:
        return found
    if _ABOUT_DEVICES & set(entities):
        return "technical"
    return "factual" if kind in {"fact", "document", "event"} else "general"
