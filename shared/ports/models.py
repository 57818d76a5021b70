from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

Vector = tuple[float, ...]


class TokenCounter(Protocol):
    def count(self, text: str) -> int: ...

    def head(self, text: str, *, tokens: int) -> str:
        """The longest prefix of at most `tokens` tokens, cut between characters."""
        ...


class Embedder(Protocol):
    @property
    def name(self) -> str:
        """Stored with every vector; vectors of other names are never compared."""
        ...

    @property
    def dimension(self) -> int: ...

    @property
    def same_text(self) -> float:
        """Cosine from which two statements may be restatements of each other: it proposes, never decides."""
        ...

    def passages(self, texts: Sequence[str]) -> list[Vector]:
        """One unit vector a text. Raises EmbedderUnavailable."""
        ...

    def query(self, text: str, *, deadline: float) -> Vector:
        """Raises EmbedderUnavailable, at the latest after `deadline` seconds."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    name: str
    system: str
    user: str
    schema: Mapping[str, object]


class ChatModel(Protocol):
    def complete(self, prompt: Prompt, *, deadline: float) -> Mapping[str, object]:
        """One JSON object. Raises ModelUnavailable or ModelAnswerUnusable, within `deadline` seconds."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedSpan:
    kind: Literal["person", "place", "organization"]
    text: str
    start: int
    end: int


class NameTagger(Protocol):
    def names(self, text: str) -> list[NamedSpan]:
        """Persons, places and organizations in Chinese text, in order of appearance."""
        ...


class Redactor(Protocol):
    def redact(self, text: str) -> str: ...
