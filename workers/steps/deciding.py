"""Whether a new statement is new, a repetition, or the successor of one that is known.

Similarity only proposes. On real service questions it alone reaches 11 to 18 % recall at 90 % precision, and
a negation scores almost like a restatement; so slots, numbers, negation and entities decide.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from shared.domain.ids import MemoryId
from shared.domain.memory import Entity, Memory, Slot, Statement
from shared.text.lexical import content_words

NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
NEGATION = re.compile(
    r"\b(?:not|no|never|none|without|cannot|can't|won't|don't|doesn't|didn't|isn't|wasn't|haven't|hasn't)\b"
    r"|n't\b|[不没未无别勿非]",
    re.IGNORECASE,
)
# Two statements restate each other only if they share this part of the smaller one's content words.
SHARED_WORDS = 0.75


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """A live statement that the new one is held against; `similarity` is None where none was measured."""

    memory_id: MemoryId
    text: str
    slot: Slot | None
    entities: Sequence[Entity]
    valid_from: datetime
    valid_seq: int
    similarity: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """`insert` alone, `duplicate` of or `supersede` `other`; `late`: it enters already closed by `other`."""

    verdict: Literal["insert", "duplicate", "supersede", "late"]
    other: Known | None = None


def decide(new: Statement, *, order: int, known: Sequence[Known], same_text: float) -> Decision:
    """`order` is the new statement's sequence, which breaks ties of validity. Pure and deterministic:
    candidates are tried in the order of their ids."""
    for other in sorted(known, key=lambda candidate: candidate.memory_id.int):
        if new.slot is not None and _same_place(new.slot, other.slot):
            return _in_slot(new, order=order, other=other)
    for other in sorted(known, key=lambda candidate: candidate.memory_id.int):
        if restates(new, other=other, same_text=same_text):
            return Decision(verdict="duplicate", other=other)
    return Decision(verdict="insert")


def _same_place(new: Slot, other: Slot | None) -> bool:
    return other is not None and (new.subject, new.attribute) == (other.subject, other.attribute)


def _in_slot(new: Statement, *, order: int, other: Known) -> Decision:
    if new.slot is not None and other.slot is not None and folded(new.slot.value) == folded(other.slot.value):
        return Decision(verdict="duplicate", other=other)
    if (new.valid_from, order) < (other.valid_from, other.valid_seq):
        return Decision(verdict="late", other=other)
    return Decision(verdict="supersede", other=other)


def restates(new: Statement, *, other: Known, same_text: float) -> bool:
    """The same text, or a similar one with the same numbers, negation, entities and most of its words."""
    if new.slot is not None or other.slot is not None:
        return False
    if folded(new.text) == folded(other.text):
        return True
    return (
        other.similarity is not None
        and other.similarity >= same_text
        and NUMBER.findall(folded(new.text)) == NUMBER.findall(folded(other.text))
        and bool(NEGATION.search(new.text)) == bool(NEGATION.search(other.text))
        and _values(new.entities) == _values(other.entities)
        and _overlap(new.text, other.text) >= SHARED_WORDS
    )


def folded(text: str) -> str:
    """One form for all that differs in width, case and white space only."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def _values(entities: Sequence[Entity]) -> set[tuple[str, str]]:
    return {(entity.kind, entity.value) for entity in entities}


def _overlap(left: str, right: str) -> float:
    ours, theirs = content_words(left), content_words(right)
    smaller = min(len(ours), len(theirs))
    return len(ours & theirs) / smaller if smaller else 0.0


def known_of(memory: Memory, *, similarity: float | None) -> Known:
    return Known(
        memory_id=memory.memory_id,
        text=memory.text,
        slot=memory.slot,
        entities=memory.entities,
        valid_from=memory.valid_from,
        valid_seq=memory.valid_seq,
        similarity=similarity,
    )
