"""What is asked for, and which words of a session stand for it when no query is given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from api_gateway.recall.rank import PolicyName
from shared.domain.ids import UserKey
from shared.domain.policy import BudgetSplit
from shared.domain.turn import Turn
from shared.ports import MemoryFilter, SessionRow, TokenCounter
from shared.text.lexical import content_words
from shared.text.sanitize import clean_model_text

Format = Literal["messages", "text", "json"]
InsertMethod = Literal["user", "system"]
Section = Literal["profile", "condensed", "memories", "working"]

# From what changes least to what changes most, which is the order they are rendered in.
SECTIONS: tuple[Section, ...] = ("profile", "condensed", "memories", "working")
# How long a query waits for its embedding; then it is answered by its words alone.
EMBED_SECONDS = 0.3


@dataclass(frozen=True, slots=True, kw_only=True)
class Wording:
    """`enough_words` content words stand alone; fewer ("and the blue one?") take the turn before along.
    A query is cut to `tokens`, which is about what the bundled embedder reads at once."""

    enough_words: int = 3
    tokens: int = 480


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextRequest:
    """`session` is None before its first turn, `user_key` for a user nothing is known about.

    `language` is the user's, None when the conversation decides. `top_k` bounds the memories ranked below
    the profile; the budget usually ends sooner. `share_removed` is what a turn without a condensed entry
    loses when it must be shortened.
    """

    session: SessionRow | None
    user_key: UserKey | None
    max_tokens: int
    now: datetime
    query: str | None = None
    format: Format = "messages"
    insert_method: InsertMethod = "user"
    include: frozenset[Section] = frozenset(SECTIONS)
    split: BudgetSplit = field(default_factory=BudgetSplit)
    policy: PolicyName = "fused"
    top_k: int = 30
    share_removed: float = 0.85
    language: str | None = None
    embed_seconds: float = EMBED_SECONDS


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchRequest:
    user_key: UserKey
    query: str
    now: datetime
    only: MemoryFilter = field(default_factory=MemoryFilter)
    policy: PolicyName = "fused"
    top_k: int = 10
    embed_seconds: float = EMBED_SECONDS


def searched(explicit: str | None, *, turns: Sequence[Turn], counter: TokenCounter) -> str:
    """The text to search for; empty when there is nothing to go by."""
    wording = Wording()
    text = explicit if explicit and explicit.strip() else _asked(turns, enough=wording.enough_words)
    return counter.head(" ".join(clean_model_text(text).split()), tokens=wording.tokens)


def _asked(turns: Sequence[Turn], *, enough: int) -> str:
    said = [turn.text for turn in turns if turn.role == "user" and turn.text.strip()]
    newest = said[-1] if said else ""
    if len(said) > 1 and len(content_words(newest)) < enough:
        return f"{said[-2]}\n{newest}"
    return newest
