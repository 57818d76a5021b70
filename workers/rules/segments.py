"""A sentence's clauses, and which of them claim something about the speaker.

A comma inside an address ends no clause: a clause begins where words stand that open one. What a clause
supposes, or tells of somebody else, holds for the clauses behind it until the speaker comes back.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from workers.rules.sentences import is_question, is_small_talk
from workers.rules.words import pattern

_JOINING = r"(?:(?:and|but|so|because|since|however|then|also|now|instead|anyway|or)\b,?\s+)"
_OPENING = (
    # "…, my email" only names what stands before it.
    r"(?!(?:my|our) (?:\w+ )?[\w-]+\W*$)"
    r"(?:(?:I|we)(?:['’](?:m|re|ve|d|ll))?|my|our|you|your|he|she|they|his|her|their|please|kindly"
    r"|do not|don['’]?t|never|if|suppose|when|(?:can|could|would|will) (?:you|I|we)|is (?:it|that|this)"
    r"|call|text|contact|reach|send|ship|deliver|use|update|change|liv(?:e|ing)|thanks?|thank you|sorry|wrong"
    r"|this is|for now|the (?:[\w'’-]+ ){1,3}(?:is|was|has|are|will|would))(?![\w@.-]*@)\b"
)
_HAN = r"[\u3400-\u9fff]"
_GOES_ON = r"而?是(?!不是)|也就是|改[成为到]|换[成到了]|应该是|变[成更]|不是"
_BOUNDARY = re.compile(
    rf"\s*(?:[,;:—]|\s-+\s)\s*(?={_JOINING}{{0,3}}{_OPENING})"
    rf"|\s+(?={_JOINING}{{1,3}}(?:{_OPENING}|it\b|that\b|this\b))"
    rf"|[，；,;]\s*(?={_HAN})(?!{_GOES_ON})|、(?={_HAN}{{2,6}}是)|(?<=.)(?<![不非])(?=但是?|而且|并且|另外)",
    re.IGNORECASE,
)
_JOINED = re.compile(
    rf"^(?:{_JOINING}{{1,3}}|(?:但是?|不过|可是|所以|而且|并且|另外)[，,]?\s*)", re.IGNORECASE
)
_SUPPOSED, _SOMEONE_ELSE = pattern("supposed"), pattern("someone_else")
_BACK_TO_FACTS = re.compile(
    r"^(?:and |so )*(?:but|however|anyway|for now|now|currently|at the moment)\b"
    r"|^(?:但|不过|可是|目前|现在|暂时|实际)",
    re.IGNORECASE,
)
_FIRST_PERSON = re.compile(r"\b(?:I|my|mine|our|we)\b|我|本人")
_TAG_QUESTION = re.compile(
    r"^\W*(?:right|ok(?:ay)?|is (?:that|it|this)\b.{0,24}|correct"
    r"|[对是行好]不?[对是行好]?[吗吧么]?|可以吗?|没错吧)[?？\s]*$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """Offsets into a sentence."""

    start: int
    end: int


def clause_spans(text: str) -> list[Span]:
    """In order, without the commas and conjunctions between them."""
    starts = [0]
    ends: list[int] = []
    for match in _BOUNDARY.finditer(text):
        ends.append(match.start())
        starts.append(match.end())
    ends.append(len(text.rstrip("。.!！;； ")))
    return [Span(start=start, end=end) for start, end in zip(starts, ends, strict=True) if start < end]


def claim_spans(text: str) -> list[Span]:
    """The clauses that say how things are with the speaker: they ask nothing, suppose nothing, and speak of
    nobody else."""
    spans = clause_spans(text)
    doubted = {index - 1 for index, span in enumerate(spans) if _is_tag(text, span=span)}
    told = zip(spans, _is_elsewhere(text, spans=spans), strict=True)
    return [
        _without_joint(text, span=span)
        for index, (span, elsewhere) in enumerate(told)
        if index not in doubted and not elsewhere and not _is_empty(text[span.start : _shown_end(text, span)])
    ]


def without_suppositions(text: str) -> str:
    spans = clause_spans(text)
    kept = zip(spans, _supposed(text, spans=spans), strict=True)
    return ", ".join(text[span.start : span.end] for span, supposed in kept if not supposed)


def _shown_end(text: str, span: Span) -> int:
    """With the question mark behind it."""
    return span.end + (text[span.end : span.end + 1] in {"?", "？"})


def _is_tag(text: str, *, span: Span) -> bool:
    shown = text[span.start : _shown_end(text, span)]
    return _TAG_QUESTION.match(shown) is not None and text.rstrip().endswith(("?", "？", "吗", "吧", "么"))


def _is_empty(clause: str) -> bool:
    return is_question(clause) or is_small_talk(clause)


def _is_elsewhere(text: str, *, spans: list[Span]) -> Iterator[bool]:
    foreign = False
    for span, supposed in zip(spans, _supposed(text, spans=spans), strict=True):
        clause = text[span.start : span.end]
        someone = _SOMEONE_ELSE.search(clause) is not None
        foreign = someone or (foreign and _FIRST_PERSON.search(clause) is None)
        yield foreign or supposed


def _supposed(text: str, *, spans: list[Span]) -> Iterator[bool]:
    holds = False
    for span in spans:
        clause = text[span.start : span.end]
        holds = _SUPPOSED.search(clause) is not None or (holds and not _BACK_TO_FACTS.match(clause))
        yield holds


def _without_joint(text: str, *, span: Span) -> Span:
    joint = _JOINED.match(text[span.start : span.end])
    return Span(start=span.start + joint.end(), end=span.end) if joint else span
