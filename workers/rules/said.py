from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from shared.domain.memory import Entity, EntityKind
from shared.domain.turn import Turn
from shared.text.language import language_of
from workers.rules.entities import EntityFinder
from workers.rules.segments import claim_spans, clause_spans
from workers.rules.sentences import own_words, sentences
from workers.rules.spans import Mention


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """One sentence of a turn; `mentions` are offsets into it, `before` is the other side's last turn."""

    turn: Turn
    text: str
    language: str
    mentions: Sequence[Mention]
    before: Turn | None

    @property
    def entities(self) -> list[Entity]:
        return [mention.entity(self.text) for mention in self.mentions]

    @property
    def kinds(self) -> set[EntityKind]:
        return {mention.kind for mention in self.mentions}

    def of(self, kind: EntityKind) -> list[Mention]:
        return [mention for mention in self.mentions if mention.kind == kind]

    def part(self, start: int, *, end: int) -> Said:
        inside = [one for one in self.mentions if start <= one.start and one.end <= end]
        moved = [replace(one, start=one.start - start, end=one.end - start) for one in inside]
        return replace(self, text=self.text[start:end], mentions=moved)


def clauses(said: Said) -> Iterator[Said]:
    for span in clause_spans(said.text):
        yield said.part(span.start, end=span.end)


def claims(said: Said) -> list[Said]:
    """The clauses that say how things are with the speaker."""
    return [said.part(span.start, end=span.end) for span in claim_spans(said.text)]


def said_in(turns: Sequence[Turn], *, finder: EntityFinder) -> Iterator[Said]:
    """Sentences of user and assistant turns; context that was injected into them is not among them."""
    last: dict[str, Turn] = {}
    for turn in turns:
        if turn.role in {"user", "assistant"}:
            before = last.get("assistant" if turn.role == "user" else "user")
            yield from _sentences(turn, before=before, finder=finder)
            last[turn.role] = turn


def _sentences(turn: Turn, *, before: Turn | None, finder: EntityFinder) -> Iterator[Said]:
    own = own_words(turn.text)
    language = language_of(own, fallback=finder.language)
    for sentence in sentences(own):
        mentions = finder.mentions(sentence, base=turn.created_at)
        yield Said(turn=turn, text=sentence, language=language, mentions=mentions, before=before)
